//! Shared memory for controllers of the same machine.

use crate::cli::ShmArgs;
use shm::{Server, ServerOptions};
use shm_client::wire::{N_SLOTS_DEFAULT, Sizes};

/// Starts what the command line asks for.
pub(super) fn start(args: &ShmArgs, controllers: &grpc::Server) -> Result<Option<Server>, String> {
    let Some(path) = args.shm_socket.clone() else { return Ok(None) };
    let sizes = Sizes { n_slots: N_SLOTS_DEFAULT, slot_bytes: args.shm_size / N_SLOTS_DEFAULT };
    let options = ServerOptions { path, group: args.shm_group, sizes, slots_bytes_max: args.shm_size };
    Server::start(controllers.local(), options).map(Some).map_err(|error| error.to_string())
}
