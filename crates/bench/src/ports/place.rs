//! The place between generator and sink: what the ports of both sides are called.

use crate::args::MediumArg;
use crate::network::{ip, run};
use console::output::{self, Exit};
use nix::sched::{CloneFlags, unshare};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A medium with numbered ports, and a directory for sockets.
#[derive(Debug)]
pub struct Place {
    pub medium: MediumArg,
    pub dir: PathBuf,
    /// Queues of each interface.
    pub n_queues: usize,
}

impl Place {
    /// Moves the calling thread, and what it starts, into a network of its own.
    pub fn enter(medium: MediumArg, dir: &Path, n_queues: usize) -> Result<Place, Exit> {
        unshare(CloneFlags::CLONE_NEWNET).map_err(|error| {
            output::error_line(&format!(
                "cannot make a network namespace: {error}; real ports need root (CAP_SYS_ADMIN and CAP_NET_ADMIN)"
            ));
            Exit::Environment
        })?;
        ip("link set lo up")?;
        Ok(Place { medium, dir: dir.to_owned(), n_queues })
    }

    /// Makes new interfaces, or removes old sockets, before a subject starts.
    pub fn prepare(&self, n_ports: usize) -> Result<(), Exit> {
        if self.medium != MediumArg::Veth {
            for socket in (0..n_ports).map(|i| self.socket(i)) {
                let _ = std::fs::remove_file(socket);
            }
            return Ok(());
        }
        (0..n_ports).try_for_each(|i| self.make_interface(i))
    }

    /// Makes a new pair of interfaces, whatever the medium is.
    pub fn make_interface(&self, i: usize) -> Result<(), Exit> {
        let (near, far) = (self.near_interface(i), self.far_interface(i));
        let _ = run(Command::new("ip").args(["link", "del", &near]), "ip link del", "");
        let queues = format!("numrxqueues {0} numtxqueues {0}", self.n_queues);
        ip(&format!("link add {near} {queues} type veth peer name {far} {queues}"))?;
        for end in [&near, &far] {
            // Nobody but the generator talks.
            ip(&format!("link set dev {end} addrgenmode none arp off"))?;
            ip(&format!("link set dev {end} up"))?;
        }
        Ok(())
    }

    /// An interface at the switch.
    pub fn near_interface(&self, i: usize) -> String {
        format!("s{i}")
    }

    /// The other end of that interface, at the generator or sink.
    pub fn far_interface(&self, i: usize) -> String {
        format!("g{i}")
    }

    /// The socket of a pair of ports in shared memory.
    pub fn socket(&self, i: usize) -> PathBuf {
        self.dir.join(format!("port{i}"))
    }

    /// A port of the generator or sink, as [`dataplane::PortKind::parse`] reads it.
    pub fn far(&self, i: usize) -> String {
        let socket = self.socket(i).display().to_string();
        match self.medium {
            MediumArg::Veth => format!("afxdp:{}", self.far_interface(i)),
            MediumArg::Memif => format!("memif:{socket}"),
            MediumArg::Vhost => format!("dpdk:net_virtio_user{i},path={socket},queue_size=1024"),
        }
    }

    /// A port of Siding's switch: AF_XDP over interfaces, otherwise DPDK.
    pub fn near(&self, i: usize) -> String {
        match self.medium {
            MediumArg::Veth => format!("afxdp:{}", self.near_interface(i)),
            MediumArg::Memif | MediumArg::Vhost => format!("dpdk:{}", self.near_device(i, "")),
        }
    }

    /// A device of DPDK at the switch, with the driver for interfaces of the kernel.
    pub fn near_device(&self, i: usize, driver: &str) -> String {
        let socket = self.socket(i).display().to_string();
        match self.medium {
            MediumArg::Veth => {
                let queues = match (driver, self.n_queues) {
                    (_, 1) => String::new(),
                    ("net_af_packet", n) => format!(",qpairs={n}"),
                    (_, n) => format!(",queue_count={n}"),
                };
                format!("{driver}{i},iface={}{queues}", self.near_interface(i))
            }
            MediumArg::Memif => format!("net_memif{i},role=server,socket={socket},socket-abstract=no"),
            MediumArg::Vhost => format!("net_vhost{i},iface={socket}"),
        }
    }
}

impl MediumArg {
    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            MediumArg::Veth => "veth",
            MediumArg::Memif => "memif",
            MediumArg::Vhost => "vhost-user",
        }
    }
}
