//! The control socket: people and scripts inspect and change a running switch through it.
//!
//! - [`Request`] and [`Answer`]: the protocol, one JSON object per line;
//! - [`Server`]: the listener; `clients`: the table of clients, bounded by [`Limits`]; `connection`: one of them;
//! - [`ask`]: the client's side, one request and its answer; [`render()`]: an answer as text;
//! - `socket`: paths, and the check of the other end's user;
//! - `answer`: executes requests on a [`dataplane::Switch`]; `show`: entities and counts as JSON;
//! - `commands`: the command language, test scripts with short forms for tables;
//! - [`Compiler`]: compiles programs for the server, the only thing that it cannot do itself.
//!
//! Invariants: every line gets exactly one answer, whatever is in it. Only root and the user of the switch are served.
//! A client that stalls, vanishes or sends nonsense costs nothing but its own thread, and it is closed in time. There
//! are at most [`N_CLIENTS_MAX`]: one more closes the client that was idle for longest, and `shutdown` is taken even
//! when all are busy. Lines have at most [`LINE_BYTES_MAX`] bytes. No client makes a worker wait.
//!
//! Non-goals: other machines; protecting users from themselves.
//!
//! Start reading at [`Request`], then `answer`.

mod answer;
mod client;
mod clients;
mod commands;
mod connection;
mod edit;
mod handles;
mod profiles;
mod protocol;
mod refusal;
mod render;
mod server;
mod show;
mod socket;

pub use client::{ask, ask_while};
pub use clients::Limits;
pub use protocol::{Answer, Compiler, LINE_BYTES_MAX, Line, N_CLIENTS_MAX, Request, VERSION, What};
pub use refusal::{Refusal, RefusalKind};
pub use render::{profile_group, profile_member, render};
pub use server::Server;
pub use show::totals as totals_to_json;
pub use socket::{
    ServerError, check_unused, claim_default_path, claim_thrift_path, connect, default_path, thrift_path,
};
