//! The place between generator and sink: what the ports of both sides are called.

use crate::args::MediumArg;
use crate::network::{ip, run};
use console::output::{self, Exit};
use nix::sched::{CloneFlags, unshare};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Interfaces at the switch.
pub(super) const NEAR: [&str; 2] = ["s0", "s1"];
/// Interfaces of the generator, which sends on the first and receives on the second.
const FAR: [&str; 2] = ["g0", "g1"];

/// A medium, with a directory for sockets.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) medium: MediumArg,
    pub(super) dir: PathBuf,
}

impl Place {
    /// Moves the calling thread, and what it starts, into a network of its own.
    pub(super) fn enter(medium: MediumArg, dir: &Path) -> Result<Place, Exit> {
        unshare(CloneFlags::CLONE_NEWNET).map_err(|error| {
            output::error_line(&format!(
                "cannot make a network namespace: {error}; `siding bench live` needs root (CAP_SYS_ADMIN and CAP_NET_ADMIN)"
            ));
            Exit::Environment
        })?;
        ip("link set lo up")?;
        Ok(Place { medium, dir: dir.to_owned() })
    }

    /// Makes what has to be there before a subject starts. Interfaces are new for each one.
    pub(super) fn prepare(&self) -> Result<(), Exit> {
        if self.medium != MediumArg::Veth {
            for socket in (0..2).map(|i| self.socket(i)) {
                let _ = std::fs::remove_file(socket);
            }
            return Ok(());
        }
        for (near, far) in NEAR.iter().zip(FAR) {
            let _ = run(Command::new("ip").args(["link", "del", near]), "ip link del", "");
            ip(&format!("link add {near} type veth peer name {far}"))?;
            for end in [near, far] {
                // Nobody but the generator talks.
                ip(&format!("link set dev {end} addrgenmode none arp off"))?;
                ip(&format!("link set dev {end} up"))?;
            }
        }
        Ok(())
    }

    /// The socket of a pair of ports in shared memory.
    pub(super) fn socket(&self, i: usize) -> PathBuf {
        self.dir.join(format!("port{i}"))
    }

    /// The port of the generator (0) or of the sink (1), as [`dataplane::PortKind::parse`] reads it.
    pub(super) fn far(&self, i: usize) -> String {
        let socket = self.socket(i).display().to_string();
        match self.medium {
            MediumArg::Veth => format!("afxdp:{}", FAR[i]),
            MediumArg::Memif => format!("dpdk:net_memif{i},role=client,socket={socket},socket-abstract=no"),
            MediumArg::Vhost => format!("dpdk:net_virtio_user{i},path={socket},queue_size=1024"),
        }
    }

    /// A device of DPDK at the switch, with the driver for interfaces of the kernel.
    pub(super) fn near_device(&self, i: usize, driver: &str) -> String {
        let socket = self.socket(i).display().to_string();
        match self.medium {
            MediumArg::Veth => format!("{driver}{i},iface={}", NEAR[i]),
            MediumArg::Memif => format!("net_memif{i},role=server,socket={socket},socket-abstract=no"),
            MediumArg::Vhost => format!("net_vhost{i},iface={socket}"),
        }
    }
}
