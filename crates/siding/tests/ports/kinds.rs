//! The kinds of ports: how a switch names them, and what is at their far ends.

use std::path::Path;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    AfPacket,
    AfXdp,
    Tap,
    /// Both ends are Siding's own.
    Memif,
    /// The client is DPDK's.
    MemifServer,
    /// The server is DPDK's.
    MemifClient,
    NetMemif,
    VhostUser,
    VirtioUser,
    NetTap,
    NetAfPacket,
    NetAfXdp,
}

/// The far end of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FarEnd {
    /// The other end of a cable, in the namespace of a host.
    Cable,
    /// The port is an interface of the system of this name, which vanishes with the switch.
    Interface(String),
    /// A port of the tester's process that needs no interface, as after `-i NUMBER@`.
    Device(String),
}

impl Kind {
    /// The port with a number, as after `-i NUMBER@`; `place` counts the ports of a bench from 1.
    pub fn port(self, dir: &Path, place: u32) -> String {
        let path = self.socket(dir, place);
        match self {
            Kind::AfPacket => format!("port{place}"),
            Kind::AfXdp => format!("afxdp:port{place}"),
            Kind::Tap => format!("tap:tap{place}"),
            Kind::Memif | Kind::MemifServer => format!("memif:{path},role=server"),
            Kind::MemifClient => format!("memif:{path}"),
            Kind::NetMemif => format!("dpdk:net_memif{place},role=server,socket={path},socket-abstract=no"),
            Kind::VhostUser => format!("dpdk:net_vhost{place},iface={path}"),
            Kind::VirtioUser => format!("dpdk:net_virtio_user{place},path={path}"),
            Kind::NetTap => format!("dpdk:net_tap{place},iface=tap{place}"),
            Kind::NetAfPacket => format!("dpdk:net_af_packet{place},iface=port{place}"),
            Kind::NetAfXdp => format!("dpdk:net_af_xdp{place},iface=port{place}"),
        }
    }

    /// `serial` tells devices of one process apart.
    pub fn far_end(self, dir: &Path, place: u32, serial: u32) -> FarEnd {
        let path = self.socket(dir, place);
        match self {
            Kind::AfPacket | Kind::AfXdp | Kind::NetAfPacket | Kind::NetAfXdp => FarEnd::Cable,
            Kind::Tap | Kind::NetTap => FarEnd::Interface(format!("tap{place}")),
            Kind::Memif => FarEnd::Device(format!("memif:{path}")),
            Kind::NetMemif | Kind::MemifServer => FarEnd::Device(format!(
                "dpdk:net_memif_far{serial},role=client,socket={path},socket-abstract=no"
            )),
            Kind::MemifClient => FarEnd::Device(format!(
                "dpdk:net_memif_far{serial},role=server,socket={path},socket-abstract=no"
            )),
            Kind::VhostUser => FarEnd::Device(format!("dpdk:net_virtio_user{serial},path={path}")),
            Kind::VirtioUser => FarEnd::Device(format!("dpdk:net_vhost{serial},iface={path}")),
        }
    }

    fn socket(self, dir: &Path, place: u32) -> String {
        dir.join(format!("socket{place}")).display().to_string()
    }

    pub fn has_cables(self) -> bool {
        matches!(self, Kind::AfPacket | Kind::AfXdp | Kind::NetAfPacket | Kind::NetAfXdp)
    }

    pub fn needs_dpdk(self) -> bool {
        !matches!(self, Kind::AfPacket | Kind::AfXdp | Kind::Tap | Kind::Memif)
    }

    /// The far end listens, and the port of the switch connects.
    pub fn far_end_is_first(self) -> bool {
        self == Kind::VirtioUser
    }

    /// The far end is of no more use when the switch has ended.
    pub fn far_end_goes_with_switch(self) -> bool {
        matches!(self, Kind::Tap | Kind::NetTap | Kind::VhostUser)
    }

    /// Why the port does not find what has come back, and has to be removed and added.
    pub fn needs_operator(self) -> Option<&'static str> {
        match self {
            Kind::NetTap | Kind::NetAfPacket | Kind::NetAfXdp => {
                Some("the driver of DPDK does not look for its interface again")
            }
            Kind::VirtioUser => Some("the driver of a guest connects once"),
            _ => None,
        }
    }

    /// Why an interface can be opened once by a switch.
    pub fn opens_once(self) -> Option<&'static str> {
        match self {
            Kind::NetAfXdp => {
                Some("the driver of DPDK 22.11 does not open an interface again that it has closed")
            }
            _ => None,
        }
    }

    /// Why a port that is being opened receives packets of other interfaces.
    pub fn hears_others(self) -> Option<&'static str> {
        match self {
            Kind::NetAfPacket => {
                Some("the driver of DPDK opens its socket for all interfaces before it binds it to one")
            }
            _ => None,
        }
    }

    /// Why the link may be up although its far end is gone.
    pub fn has_stale_link(self) -> Option<&'static str> {
        match self {
            Kind::NetTap | Kind::NetAfPacket | Kind::NetAfXdp => {
                Some("the driver of DPDK does not notice the end of its interface")
            }
            Kind::AfPacket
            | Kind::AfXdp
            | Kind::Tap
            | Kind::Memif
            | Kind::MemifServer
            | Kind::MemifClient
            | Kind::NetMemif
            | Kind::VhostUser
            | Kind::VirtioUser => None,
        }
    }

    /// Why fragments of packets do not come as they were sent.
    pub fn joins_fragments(self) -> Option<&'static str> {
        match self {
            Kind::NetAfPacket => Some("the driver of DPDK lets the kernel put fragments together"),
            _ => None,
        }
    }

    /// Why packets that the kernel drops before the port are not in the port's counts.
    pub fn leaves_losses_uncounted(self) -> Option<&'static str> {
        match self {
            Kind::NetAfPacket | Kind::NetAfXdp => Some("the driver of DPDK 22.11 does not count them"),
            _ => None,
        }
    }

    /// Why hosts on cables have to compute checksums themselves.
    pub fn needs_checksums(self) -> Option<&'static str> {
        match self {
            Kind::NetAfPacket | Kind::NetAfXdp => {
                Some("the driver of DPDK does not complete checksums that senders leave to hardware")
            }
            _ => None,
        }
    }
}
