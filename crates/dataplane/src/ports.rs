//! Which interface, device or file a port is.

use packet_io::{
    AfPacketOptions, AfPacketPort, FilePort, PcapMirror, Port, PortError, PortId, TapOptions, TapPort,
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
    /// An interface of the system.
    Interface(String),
    /// A TAP device, made where there is none.
    Tap(String),
    /// Captures: packets come from `NAME_in.pcap` and go to `NAME_out.pcap`.
    File(PathBuf),
    /// Anything else that somebody has opened.
    Other(String),
}

impl PortKind {
    /// `veth0`, `tap:NAME` or `file:NAME`.
    pub fn parse(text: &str) -> PortKind {
        match text.split_once(':') {
            Some(("tap", name)) => PortKind::Tap(name.to_owned()),
            Some(("file", name)) => PortKind::File(name.into()),
            _ => PortKind::Interface(text.to_owned()),
        }
    }

    /// Whether both are the same interface, device or file.
    pub fn is_same_device(&self, other: &PortKind) -> bool {
        match (self, other) {
            (PortKind::File(one), PortKind::File(other)) => one == other,
            _ => self.interface().is_some_and(|name| other.interface() == Some(name)),
        }
    }

    /// The name of the interface of the system.
    pub fn interface(&self) -> Option<&str> {
        match self {
            PortKind::Interface(name) | PortKind::Tap(name) => Some(name),
            PortKind::File(_) | PortKind::Other(_) => None,
        }
    }

    /// For files beside it.
    pub fn name(&self) -> String {
        match self {
            PortKind::Interface(name) | PortKind::Tap(name) | PortKind::Other(name) => name.clone(),
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
            PortKind::Tap(name) => write!(f, "tap:{name}"),
            PortKind::File(path) => write!(f, "file:{}", path.display()),
        }
    }
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
        Ok(PortSpec { number, kind: PortKind::parse(kind) })
    }

    /// In the calling thread's network namespace; with `mirror`, what passes is copied into that directory.
    pub fn open(&self, mirror: Option<&Path>) -> Result<Box<dyn Port>, PortError> {
        let id = PortId(self.number);
        let port: Box<dyn Port> = match &self.kind {
            PortKind::Interface(name) | PortKind::Other(name) => {
                Box::new(AfPacketPort::open(id, name, AfPacketOptions::JUMBO)?)
            }
            PortKind::Tap(name) => Box::new(TapPort::open(id, name, TapOptions::JUMBO)?),
            PortKind::File(path) => Box::new(FilePort::open_named(id, path)?),
        };
        Ok(match mirror {
            Some(dir) => Box::new(PcapMirror::create(port, dir, &self.kind.name())?),
            None => port,
        })
    }
}
