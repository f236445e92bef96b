//! A socket on which people and scripts look into a running switch and tell it things.
//!
//! - [`Request`] and [`Answer`]: what travels, one JSON object per line;
//! - [`Server`]: the socket, its clients, and their limits;
//! - [`Language`]: what the switch itself cannot understand, such as programs and scripts;
//! - `answer`: what is done; `show`: entities in words.
//!
//! Invariants: every line gets exactly one answer, whatever is in it. A client that stalls, vanishes or talks nonsense
//! costs nothing but its own thread; there are at most [`N_CLIENTS_MAX`], and lines are at most [`LINE_BYTES_MAX`].
//! No client makes a worker wait.
//!
//! Non-goals: other machines; protecting users from themselves, beyond the mode 0600 of the socket.

mod answer;
mod server;
mod show;
mod words;

pub use server::{Server, ServerError};
pub use show::{entity as entity_to_json, totals as totals_to_json};

use crate::options::Compiled;
use crate::switch::Switch;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Of requests and answers. What has a meaning keeps it; new things may be added.
pub const VERSION: u32 = 1;

pub const LINE_BYTES_MAX: usize = 16 << 20;
pub const N_CLIENTS_MAX: usize = 64;

/// One line of a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    pub version: u32,
    #[serde(flatten)]
    pub request: Request,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "snake_case")]
pub enum Request {
    /// Answered as soon as there is a program.
    WaitReady {
        timeout_ms: u64,
    },
    Show {
        what: What,
        /// Only of this table, counter or register.
        #[serde(default)]
        name: Option<String>,
    },
    /// What test scripts write and read, one command per line; tables by any unambiguous end of their names.
    Commands {
        text: String,
    },
    /// A P4Runtime `WriteRequest` as protobuf text.
    Write {
        text: String,
    },
    /// The stories of the next packets.
    Trace {
        n_packets: u64,
        /// `ipv4.dst==10.0.0.1`, `port==3`, `bytes[12..14]==0800`; joined by `&&`.
        #[serde(default)]
        filter: Option<String>,
        timeout_ms: u64,
    },
    /// Takes packets for the controller.
    PacketIn {
        n_max: usize,
    },
    /// A packet from the controller, or as if it had arrived at a port.
    PacketOut {
        hex: String,
        #[serde(default)]
        port: Option<u32>,
    },
    /// Digests since they were taken last.
    Digests,
    /// Entries whose idle timeout is over, since they were taken last.
    Expired,
    Replace {
        program: PathBuf,
        #[serde(default)]
        keep_entries: bool,
    },
    /// `PORT@INTERFACE`.
    AddPort {
        port: String,
    },
    RemovePort {
        port: u32,
    },
    SetPort {
        port: u32,
        is_enabled: bool,
    },
    /// Without a rate there is no limit.
    SetRate {
        port: u32,
        #[serde(default)]
        rate_pps: Option<u64>,
    },
    Shutdown,
}

/// What can be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    Ports,
    Tables,
    Entries,
    Drops,
    Workers,
    Async,
    Pre,
    Counters,
    Registers,
    Totals,
    Program,
}

/// One line of the switch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    pub version: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Refusal>,
}

/// Why something was not done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    pub kind: RefusalKind,
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalKind {
    /// The request makes no sense.
    Usage,
    /// It makes sense, but the switch cannot do it now.
    Refused,
    /// The program has errors.
    Program,
    /// Something outside is missing or forbidden.
    Environment,
    /// It took too long.
    Timeout,
}

impl Refusal {
    pub fn new(kind: RefusalKind, message: impl Into<String>) -> Refusal {
        Refusal { kind, message: message.into() }
    }

    pub fn usage(message: impl Into<String>) -> Refusal {
        Refusal::new(RefusalKind::Usage, message)
    }
}

/// What the switch itself does not understand.
pub trait Language: Send + Sync {
    /// Compiles a program.
    fn compile(&self, program: &Path) -> Result<Compiled, Refusal>;

    /// Does what the commands of a script say; gives what they show.
    fn commands(&self, switch: &Switch, text: &str) -> Result<Value, Refusal>;

    /// Applies a `WriteRequest`; gives how many updates it has.
    fn write(&self, switch: &Switch, text: &str) -> Result<u64, Refusal>;
}
