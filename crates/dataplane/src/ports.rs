//! Which interface, device or file a port is.

use packet_io::{
    AfPacketOptions, AfPacketPort, FilePort, MemifOptions, MemifPort, PcapMirror, Port, PortError, PortId,
    TapOptions, TapPort, XdpCopy, XdpOptions, XdpPort, n_rx_queues,
};
use std::fmt;
use std::path::{Path, PathBuf};

/// A port to be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortSpec {
    pub number: u32,
    pub kind: PortKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PortKind {
    /// An interface of the system, through AF_PACKET.
    Interface(String),
    /// An interface of the system, through AF_XDP.
    Xdp { name: String, options: XdpOptions },
    /// An interface of the system, through AF_XDP where that is possible, otherwise through AF_PACKET.
    Auto(String),
    /// A TAP device, made where there is none.
    Tap(String),
    /// Shared memory with another process.
    Memif(MemifOptions),
    /// A device of DPDK, in DPDK's own syntax (`net_memif0,role=server`, `0000:00:04.0`).
    Dpdk(String),
    /// Captures: packets come from `NAME_in.pcap` and go to `NAME_out.pcap`.
    File(PathBuf),
    /// Anything else that somebody has opened.
    Other(String),
}

impl PortKind {
    /// `veth0`, `afxdp:veth0[,OPTION...]`, `auto:veth0`, `tap:NAME`, `memif:SOCKET[,OPTION...]`, `dpdk:DEVICE` or
    /// `file:NAME`.
    pub fn parse(text: &str) -> Result<PortKind, String> {
        Ok(match text.split_once(':') {
            Some(("auto" | "tap", name)) if name.contains(',') => {
                return Err(format!("`{text}`: only afxdp, memif and dpdk ports have options"));
            }
            Some(("tap", name)) => PortKind::Tap(name.to_owned()),
            Some(("afpacket", name)) => PortKind::Interface(name.to_owned()),
            Some(("afxdp", text)) => {
                let (name, options) = text.split_once(',').unwrap_or((text, ""));
                PortKind::Xdp { name: name.to_owned(), options: xdp_options(options)? }
            }
            Some(("auto", name)) => PortKind::Auto(name.to_owned()),
            Some(("memif", text)) => PortKind::Memif(MemifOptions::parse(text)?),
            Some(("dpdk", device)) => PortKind::Dpdk(device.to_owned()),
            Some(("file", name)) => PortKind::File(name.into()),
            Some((kind, _)) => {
                return Err(format!(
                    "there is no kind of port `{kind}:`; there are afpacket, afxdp, auto, tap, memif, dpdk and file"
                ));
            }
            None => PortKind::Interface(text.to_owned()),
        })
    }

    /// Whether both are the same interface, device or file.
    pub fn is_same_device(&self, other: &PortKind) -> bool {
        match (self, other) {
            (PortKind::File(one), PortKind::File(other)) => one == other,
            (PortKind::Memif(one), PortKind::Memif(other)) => {
                let end = |options: &MemifOptions| (options.socket.clone(), options.id, options.is_server);
                end(one) == end(other)
            }
            (PortKind::Dpdk(one), PortKind::Dpdk(other)) => dpdk_device(one) == dpdk_device(other),
            _ => self.interface().is_some_and(|name| other.interface() == Some(name)),
        }
    }

    /// The name of the interface of the system.
    pub fn interface(&self) -> Option<&str> {
        match self {
            PortKind::Interface(name)
            | PortKind::Xdp { name, .. }
            | PortKind::Auto(name)
            | PortKind::Tap(name) => Some(name),
            PortKind::Memif(_) | PortKind::Dpdk(_) | PortKind::File(_) | PortKind::Other(_) => None,
        }
    }

    /// Queues that such a port may have, at most.
    pub fn n_queues_max(&self) -> usize {
        match self {
            PortKind::Interface(_) | PortKind::Tap(_) | PortKind::Dpdk(_) => usize::MAX,
            PortKind::Memif(_) => MemifPort::N_QUEUES_MAX,
            // Each needs a queue of the interface.
            PortKind::Xdp { name, .. } | PortKind::Auto(name) => n_rx_queues(name),
            PortKind::File(_) | PortKind::Other(_) => 1,
        }
    }

    /// For files beside it.
    pub fn name(&self) -> String {
        match self {
            PortKind::Interface(name)
            | PortKind::Xdp { name, .. }
            | PortKind::Auto(name)
            | PortKind::Tap(name)
            | PortKind::Other(name) => name.clone(),
            PortKind::Dpdk(device) => dpdk_device(device).to_owned(),
            PortKind::Memif(options) => {
                let path = options.socket.trim_start_matches(['@', '/']).replace('/', "-");
                let end = if options.is_server { "server" } else { "client" };
                format!("memif-{path}-{}-{end}", options.id)
            }
            PortKind::File(path) => {
                path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
            }
        }
    }
}

impl fmt::Display for PortKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PortKind::Interface(name) | PortKind::Other(name) => write!(f, "{name}"),
            PortKind::Xdp { name, options } => {
                write!(f, "afxdp:{name}")?;
                let XdpOptions { packet_bytes_max: _, copy, is_busy_polling, is_generic } = options;
                match copy {
                    XdpCopy::Auto => {}
                    XdpCopy::Copy => write!(f, ",copy")?,
                    XdpCopy::ZeroCopy => write!(f, ",zerocopy")?,
                }
                for (name, is_on) in [("busy-poll", is_busy_polling), ("generic", is_generic)] {
                    if *is_on {
                        write!(f, ",{name}")?;
                    }
                }
                Ok(())
            }
            PortKind::Auto(name) => write!(f, "auto:{name}"),
            PortKind::Tap(name) => write!(f, "tap:{name}"),
            PortKind::Memif(options) => write!(f, "memif:{options}"),
            PortKind::Dpdk(device) => write!(f, "dpdk:{device}"),
            PortKind::File(path) => write!(f, "file:{}", path.display()),
        }
    }
}

/// The device's name without its arguments.
fn dpdk_device(device: &str) -> &str {
    device.split_once(',').map_or(device, |(name, _)| name)
}

fn xdp_options(text: &str) -> Result<XdpOptions, String> {
    let mut options = XdpOptions::JUMBO;
    for option in text.split(',').filter(|option| !option.is_empty()) {
        match option {
            "copy" | "zerocopy" if options.copy != XdpCopy::Auto => {
                return Err("copy and zerocopy exclude each other".to_owned());
            }
            "copy" => options.copy = XdpCopy::Copy,
            "zerocopy" => options.copy = XdpCopy::ZeroCopy,
            "busy-poll" => options.is_busy_polling = true,
            "generic" => options.is_generic = true,
            _ => {
                return Err(format!(
                    "AF_XDP ports have no option `{option}`; there are copy, zerocopy, busy-poll and generic"
                ));
            }
        }
    }
    Ok(options)
}

impl PortSpec {
    /// `PORT@INTERFACE`, as BMv2 writes it.
    pub fn parse(text: &str) -> Result<PortSpec, String> {
        let (number, kind) =
            text.split_once('@').ok_or_else(|| format!("`{text}` has no `@`; write PORT@INTERFACE"))?;
        let number = number.parse().map_err(|_| {
            format!("`{number}` is no port number; write PORT@INTERFACE, for example 0@veth0")
        })?;
        if kind.is_empty() {
            return Err(format!("the name of the interface is missing; write {number}@INTERFACE"));
        }
        Ok(PortSpec { number, kind: PortKind::parse(kind)? })
    }

    /// Opens the port, with one queue. [`open_queues`](Self::open_queues) says more.
    pub fn open(&self, mirror: Option<&Path>) -> Result<Box<dyn Port>, PortError> {
        let mut queues = self.open_queues(1, mirror)?;
        queues.pop().ok_or_else(|| PortError::Device(format!("{} has no queue", self.kind).into()))
    }

    /// Opens the port in the calling thread's network namespace, with so many queues, all of the port's number, each for one
    /// worker. The packets of a flow come through one queue. With `mirror`, what passes is copied into captures in that
    /// directory: of one queue `NAME_in.pcap` and `NAME_out.pcap`, of several `NAME-q0_in.pcap` and so on.
    pub fn open_queues(
        &self,
        n_queues: usize,
        mirror: Option<&Path>,
    ) -> Result<Vec<Box<dyn Port>>, PortError> {
        let id = PortId(self.number);
        let queues: Vec<Box<dyn Port>> = match &self.kind {
            PortKind::Interface(name) | PortKind::Other(name) => {
                boxed(AfPacketPort::open_queues(id, name, AfPacketOptions::JUMBO, n_queues)?)
            }
            PortKind::Tap(name) => boxed(TapPort::open_queues(id, name, TapOptions::JUMBO, n_queues)?),
            PortKind::Xdp { name, options } => boxed(XdpPort::open_queues(id, name, *options, n_queues)?),
            PortKind::Auto(name) => match XdpPort::open_queues(id, name, XdpOptions::JUMBO, n_queues) {
                Ok(queues) => boxed(queues),
                Err(reason) => {
                    let mut queues = AfPacketPort::open_queues(id, name, AfPacketOptions::JUMBO, n_queues)?;
                    queues.iter_mut().for_each(|queue| queue.set_fallback(reason.to_string()));
                    boxed(queues)
                }
            },
            PortKind::Memif(options) => boxed(MemifPort::open_queues(id, options.clone(), n_queues)?),
            PortKind::Dpdk(device) => {
                let n_queues = u32::try_from(n_queues).unwrap_or(u32::MAX);
                let queues = dpdk::open_queues(id, device, n_queues);
                boxed(queues.map_err(|error| PortError::Device(error.into()))?)
            }
            PortKind::File(path) if n_queues == 1 => vec![Box::new(FilePort::open_named(id, path)?)],
            PortKind::File(_) => {
                let why = format!(
                    "port {} ({}) has one queue only, not {n_queues}; with --queues auto the other ports have several",
                    self.number, self.kind
                );
                return Err(PortError::Device(why.into()));
            }
        };
        let name_of = |queue: usize| match n_queues {
            1 => self.kind.name(),
            _ => format!("{}-q{queue}", self.kind.name()),
        };
        let named = queues.into_iter().enumerate();
        named.map(|(q, queue)| PortSpec::mirrored(queue, mirror, name_of(q))).collect()
    }

    fn mirrored(
        port: Box<dyn Port>,
        mirror: Option<&Path>,
        name: String,
    ) -> Result<Box<dyn Port>, PortError> {
        Ok(match mirror {
            Some(dir) => Box::new(PcapMirror::create(port, dir, &name)?),
            None => port,
        })
    }
}

fn boxed<P: Port + 'static>(queues: Vec<P>) -> Vec<Box<dyn Port>> {
    queues.into_iter().map(|queue| Box::new(queue) as Box<dyn Port>).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_read_as_they_are_written() {
        for text in [
            "0@veth0",
            "1@afxdp:veth0",
            "2@afxdp:veth0,zerocopy,busy-poll",
            "3@afxdp:veth0,copy,generic",
            "4@auto:veth0",
            "5@tap:tap0",
            "6@dpdk:net_memif0,role=server,socket=/run/m",
            "7@file:dir/name",
            "8@memif:/run/m.sock,role=server,id=3,rsize=11,bsize=4096",
            "9@memif:@name",
        ] {
            let spec = PortSpec::parse(text).unwrap();
            assert_eq!(format!("{}@{}", spec.number, spec.kind), text);
        }
        let secret = PortSpec::parse("0@memif:/m,secret=x").unwrap();
        assert_eq!(secret.kind.to_string(), "memif:/m,secret=***");
        let packet = PortSpec::parse("0@afpacket:veth0").unwrap();
        assert_eq!(packet.kind, PortKind::Interface("veth0".to_owned()));
    }

    #[test]
    fn what_is_no_port_is_refused_with_a_reason() {
        for (text, reason) in [
            ("veth0", "`veth0` has no `@`; write PORT@INTERFACE"),
            ("x@veth0", "`x` is no port number; write PORT@INTERFACE, for example 0@veth0"),
            ("0@", "the name of the interface is missing; write 0@INTERFACE"),
            (
                "0@xdp:veth0",
                "there is no kind of port `xdp:`; there are afpacket, afxdp, auto, tap, memif, dpdk and file",
            ),
            ("0@tap:tap0,x", "`tap:tap0,x`: only afxdp, memif and dpdk ports have options"),
            ("0@memif:", "memif ports need the path of a socket: memif:/run/m.sock,role=server"),
            ("0@memif:/m,rsize=15", "memif: rsize is `15`; it can be 1 to 14"),
            ("0@memif:/m,id=1,id=2", "memif: id is there twice"),
            ("0@memif:/m,role=master", "memif: role is `master`; it can be server or client"),
            (
                "0@memif:/m,fast",
                "memif ports have no option `fast`; there are role=, id=, secret=, rsize= and bsize=",
            ),
            ("0@afxdp:veth0,copy,zerocopy", "copy and zerocopy exclude each other"),
            (
                "0@afxdp:veth0,fast",
                "AF_XDP ports have no option `fast`; there are copy, zerocopy, busy-poll and generic",
            ),
        ] {
            assert_eq!(PortSpec::parse(text).unwrap_err(), reason);
        }
    }

    #[test]
    fn a_device_has_one_name() {
        let kind = |text| PortKind::parse(text).unwrap();
        assert!(kind("veth0").is_same_device(&kind("afxdp:veth0,copy")));
        assert!(kind("dpdk:net_memif0,role=server").is_same_device(&kind("dpdk:net_memif0,socket=/x")));
        assert!(!kind("dpdk:net_memif0").is_same_device(&kind("dpdk:net_memif1")));
        assert!(kind("memif:/m,rsize=9").is_same_device(&kind("memif:/m")));
        assert!(!kind("memif:/m,role=server").is_same_device(&kind("memif:/m")));
        assert!(!kind("dpdk:veth0").is_same_device(&kind("veth0")));
    }
}
