//! Errors of network interfaces.

use std::fmt;
use std::io;

/// An interface that cannot be used.
#[derive(Debug)]
pub struct InterfaceError {
    /// Name of the interface as the user typed it.
    pub interface: String,
    pub cause: InterfaceCause,
}

/// Reasons why an interface cannot be used.
#[derive(Debug)]
pub enum InterfaceCause {
    /// No interface has that name; `interfaces` lists the existing ones.
    NotFound { interfaces: Vec<String> },
    /// The name is empty, longer than 15 bytes, or has an invalid character.
    BadName,
    /// Packets of the interface have no Ethernet header. `kind` is a number of linux/if_arp.h.
    NotEthernet { kind: u16 },
    /// The process lacks a privilege. `capabilities` are those needed, in the syntax of `setcap`.
    NotPermitted { step: &'static str, capabilities: &'static str },
    /// The kernel has no TAP devices, or they are hidden from the process.
    NoTunDevice { error: io::Error },
    /// Another program holds the TAP interface, or the interface is not a TAP interface.
    Busy,
    /// The TAP interface was made for one queue, and several are wanted.
    OneQueue,
    /// An option is out of range.
    BadOption { option: &'static str, value: usize, min: usize, max: usize },
    /// The interface has an XDP program of somebody else.
    OtherXdpProgram,
    /// Packets may be longer than an XDP program can get.
    XdpMtu,
    /// The other end of a veth pair sends on more queues than this end receives on.
    XdpPeerQueues,
    /// The interface has fewer queues to receive from than are wanted.
    TooFewQueues { n_queues: u32, n_wanted: u32 },
    /// Another program has an AF_XDP socket on the queue.
    QueueInUse,
    /// The driver copies packets.
    NoZeroCopy,
    /// The process may not lock so much memory.
    MemoryLimit { n_bytes: usize },
    /// Something that AF_XDP needs is missing in the kernel or the driver.
    NoXdp { step: &'static str, error: io::Error },
    /// A system call failed.
    System { step: &'static str, error: io::Error },
}

impl fmt::Display for InterfaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.interface;
        match &self.cause {
            InterfaceCause::NotFound { interfaces } => {
                write!(f, "there is no interface `{name}`; ")?;
                match interfaces.as_slice() {
                    [] => write!(f, "there is none at all")?,
                    [only] => write!(f, "there is only {only}")?,
                    many => write!(f, "there are {}", many.join(", "))?,
                }
                write!(f, ". To make a pair of virtual interfaces, type: ")?;
                write!(f, "sudo ip link add {name} type veth peer name {}", peer_name(name))
            }
            InterfaceCause::BadName => {
                write!(f, "`{name}` cannot be the name of an interface: 1 to 15 bytes without `/`, `:` ")?;
                write!(f, "and white space; `ip link` shows those there are")
            }
            InterfaceCause::NotEthernet { kind } => {
                write!(
                    f,
                    "interface `{name}` does not carry Ethernet (its ARP hardware type is {kind}, not 1); "
                )?;
                write!(f, "`ip link` shows as link/ether those that do")
            }
            InterfaceCause::NotPermitted { step, capabilities } => {
                write!(f, "interface `{name}`: not permitted to {step}. Run as root, or allow it to this ")?;
                write!(f, "program once and for all: sudo setcap {capabilities}+ep {}", Program)
            }
            InterfaceCause::NoTunDevice { error } => {
                write!(f, "interface `{name}`: cannot open /dev/net/tun: {error}. ")?;
                write!(f, "Type `sudo modprobe tun`; for a container, start it with --device=/dev/net/tun ")?;
                write!(f, "--cap-add=NET_ADMIN")
            }
            InterfaceCause::Busy => {
                write!(
                    f,
                    "interface `{name}` is no TAP interface, or another program uses it. Take another "
                )?;
                write!(f, "name, or end that program; `ip -d link show {name}` tells what it is")
            }
            InterfaceCause::OneQueue => {
                write!(
                    f,
                    "interface `{name}` is a TAP interface with one queue. Use one queue, or make it with "
                )?;
                write!(f, "several: sudo ip tuntap del {name} mode tap; ")?;
                write!(f, "sudo ip tuntap add {name} mode tap multi_queue")
            }
            InterfaceCause::BadOption { option, value, min, max } => {
                write!(f, "interface `{name}`: {option} is {value}; it can be {min} to {max}")
            }
            InterfaceCause::OtherXdpProgram => {
                write!(f, "interface `{name}` has another XDP program, which is left alone. ")?;
                write!(
                    f,
                    "`ip link show dev {name}` tells which; end the program that attached it, or take "
                )?;
                write!(f, "it off: sudo ip link set dev {name} xdp off. Without XDP, the port is {name} ")?;
                write!(f, "instead of afxdp:{name}")
            }
            InterfaceCause::XdpMtu => {
                write!(
                    f,
                    "interface `{name}`: its packets, or those of its peer, are too long for XDP with "
                )?;
                write!(
                    f,
                    "this driver. Make the MTU of both ends smaller: sudo ip link set dev {name} mtu 1500"
                )
            }
            InterfaceCause::XdpPeerQueues => {
                write!(
                    f,
                    "interface `{name}` has fewer queues to receive from than its peer has to send on. "
                )?;
                write!(f, "Type: sudo ethtool -L {name} rx N, with the tx number of the peer")
            }
            InterfaceCause::TooFewQueues { n_queues, n_wanted } => {
                write!(f, "interface `{name}` receives in {n_queues} queue{}, ", plural(*n_queues))?;
                write!(
                    f,
                    "and {n_wanted} are wanted. Take `--queues auto`, or give the interface more, if "
                )?;
                write!(f, "`ethtool -l {name}` shows that it can have them: ethtool -L {name} combined ")?;
                write!(f, "{n_wanted} (for veth: rx {n_wanted}, and numrxqueues when the pair is made)")
            }
            InterfaceCause::QueueInUse => {
                write!(f, "another program has an AF_XDP socket on a queue of interface `{name}`. End it; ")?;
                write!(f, "`ss --xdp -p` shows who it is")
            }
            InterfaceCause::NoZeroCopy => {
                write!(f, "interface `{name}`: its driver cannot receive without a copy. Leave out ")?;
                write!(f, "`zerocopy`: the port is afxdp:{name}")
            }
            InterfaceCause::MemoryLimit { n_bytes } => {
                write!(
                    f,
                    "interface `{name}`: the process may not lock {} MiB of memory for ",
                    n_bytes >> 20
                )?;
                write!(f, "packets. Raise the limit (ulimit -l unlimited, LimitMEMLOCK= of systemd), or ")?;
                write!(f, "allow it to this program: sudo setcap cap_ipc_lock+ep {}", Program)
            }
            InterfaceCause::NoXdp { step, error } => {
                write!(
                    f,
                    "interface `{name}`: cannot {step}: {error}. AF_XDP needs Linux 5.9 or later with "
                )?;
                write!(f, "CONFIG_XDP_SOCKETS and CONFIG_BPF_SYSCALL; without it, the port is {name} ")?;
                write!(f, "instead of afxdp:{name}")
            }
            InterfaceCause::System { step, error } => {
                write!(f, "interface `{name}`: cannot {step}: {error}")
            }
        }
    }
}

impl std::error::Error for InterfaceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.cause {
            InterfaceCause::NoTunDevice { error }
            | InterfaceCause::NoXdp { error, .. }
            | InterfaceCause::System { error, .. } => Some(error),
            InterfaceCause::NotFound { .. }
            | InterfaceCause::BadName
            | InterfaceCause::NotEthernet { .. }
            | InterfaceCause::NotPermitted { .. }
            | InterfaceCause::Busy
            | InterfaceCause::OneQueue
            | InterfaceCause::OtherXdpProgram
            | InterfaceCause::XdpMtu
            | InterfaceCause::XdpPeerQueues
            | InterfaceCause::TooFewQueues { .. }
            | InterfaceCause::QueueInUse
            | InterfaceCause::NoZeroCopy
            | InterfaceCause::MemoryLimit { .. }
            | InterfaceCause::BadOption { .. } => None,
        }
    }
}

fn plural(n: u32) -> &'static str {
    if n == 1 { "" } else { "s" }
}

/// Returns a name for the other end of a veth pair, within the length limit.
fn peer_name(name: &str) -> String {
    let kept: String = name.chars().filter(char::is_ascii).take(10).collect();
    format!("{kept}-peer")
}

/// Prints the path of the running program, for commands that the user can copy.
struct Program;

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match std::env::current_exe() {
            Ok(path) => write!(f, "{}", path.display()),
            Err(_) => write!(f, "PROGRAM"),
        }
    }
}
