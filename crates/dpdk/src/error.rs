//! Errors of DPDK ports, each with what mends it.

use crate::installation::InstallationError;
use std::fmt;
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DpdkError {
    #[error(transparent)]
    Installation(#[from] InstallationError),
    #[error("the part of Siding that is compiled against DPDK does not compile: {reason}")]
    CannotBuild { reason: String },
    #[error("`{}`, which calls DPDK, cannot be loaded: {reason}", object.display())]
    CannotLoad { object: PathBuf, reason: String },
    #[error(
        "DPDK does not start: {reason}{}. Its arguments are `{args}`; SIDING_DPDK_ARGS adds to them. Start the program anew: DPDK \
         starts once in a process",
        quoted(log)
    )]
    CannotStart { args: String, reason: String, log: String },
    #[error("DPDK device `{device}`: {failure}")]
    Device { device: String, failure: Failure },
}

/// Why a device cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The name is missing, or has a character that C ends at.
    BadName,
    /// No driver has a name that the device's begins with. `drivers` are those of virtual devices.
    UnknownDriver {
        drivers: Vec<String>,
    },
    /// No device has that PCI address, or it has no driver of DPDK.
    NoPciDevice {
        log: String,
    },
    /// A port of this process has it.
    InUse,
    /// Another program has it.
    Busy {
        log: String,
    },
    NotPermitted {
        log: String,
    },
    /// The driver's hardware reaches huge pages only.
    NoHugePages,
    /// All mbufs are taken, or memory for more is missing.
    NoMemory {
        has_huge_pages: bool,
    },
    TooManyQueues {
        n_wanted: u32,
        n_max: u32,
    },
    /// The driver would take no argument at all because of this one, and not say so.
    UnknownArgument {
        argument: String,
        known: &'static [&'static str],
    },
    /// The driver refuses the arguments.
    BadArguments {
        log: String,
    },
    Other {
        step: String,
        reason: String,
        log: String,
    },
}

/// The log's lines in parentheses.
fn quoted(log: &str) -> String {
    let lines: Vec<&str> = log.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    if lines.is_empty() { String::new() } else { format!(" ({})", lines.join("; ")) }
}

const HUGE_PAGES: &str = "sysctl -w vm.nr_hugepages=512 (as root), and start the program anew";

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::BadName => {
                write!(f, "that is no name of a device. Write DRIVER and a number with arguments, such as ")?;
                write!(
                    f,
                    "dpdk:net_memif0,role=server,socket=/run/memif.sock, or a PCI address, such as dpdk:0000:00:04.0"
                )
            }
            Failure::UnknownDriver { drivers } if drivers.is_empty() => {
                write!(
                    f,
                    "no driver has such a name, and none is installed. Type: apt install librte-meta-net"
                )
            }
            Failure::UnknownDriver { drivers } => {
                write!(
                    f,
                    "no driver has such a name; there are {}. Write one of them and a number, ",
                    drivers.join(", ")
                )?;
                write!(f, "such as {}0", drivers[0])
            }
            Failure::NoPciDevice { log } if log.is_empty() => {
                write!(
                    f,
                    "the system has no PCI device of that address. `dpdk-devbind.py --status` lists those that there are"
                )
            }
            Failure::NoPciDevice { log } => {
                write!(f, "no driver of DPDK has taken a device of that address{}. ", quoted(log))?;
                write!(
                    f,
                    "`dpdk-devbind.py --status` lists devices and their drivers; bind it to vfio-pci: "
                )?;
                write!(f, "dpdk-devbind.py --bind=vfio-pci ADDRESS (as root)")
            }
            Failure::InUse => {
                write!(f, "a port of this switch has a device of that name; take another number")
            }
            Failure::Busy { log } => {
                write!(f, "another program uses it{}. End that program, or take another device", quoted(log))
            }
            Failure::NotPermitted { log } => {
                write!(
                    f,
                    "not permitted{}. Run as root; sockets and files have to be accessible",
                    quoted(log)
                )
            }
            Failure::NoHugePages => {
                write!(f, "its hardware needs huge pages, and none are free. Type: {HUGE_PAGES}")
            }
            Failure::NoMemory { has_huge_pages: true } => {
                write!(f, "there are too few huge pages for its packets. Type: {HUGE_PAGES}")
            }
            Failure::NoMemory { has_huge_pages: false } => {
                write!(
                    f,
                    "DPDK's memory is used up. Start the program with SIDING_DPDK_ARGS=\"--no-huge -m 2048\", "
                )?;
                write!(f, "which is in MiB, or with huge pages: {HUGE_PAGES}")
            }
            Failure::TooManyQueues { n_wanted, n_max } => {
                write!(f, "{n_wanted} queues are wanted, and the device has {n_max}")
            }
            Failure::UnknownArgument { argument, known } => {
                write!(f, "its driver has no argument `{argument}`; it has {}", known.join(", "))
            }
            Failure::BadArguments { log } => {
                write!(f, "its driver does not accept the arguments{}. ", quoted(log))?;
                write!(f, "doc.dpdk.org/guides/nics has a page for each driver")
            }
            Failure::Other { step, reason, log } => write!(f, "cannot {step}: {reason}{}", quoted(log)),
        }
    }
}
