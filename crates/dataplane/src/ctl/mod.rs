//! The control socket: people and scripts inspect and change a running switch through it.
//!
//! - [`Request`] and [`Answer`]: the protocol, one JSON object per line;
//! - [`Server`]: the listener; [`Limits`] bounds its clients; `client` is one connection;
//! - `socket`: paths, and the check of the other end's user; [`connect`] is the client's side;
//! - [`Language`]: compiles programs and runs scripts for the switch;
//! - `answer`: executes requests; `show`: entities in words.
//!
//! Invariants: every line gets exactly one answer, whatever is in it. Only root and the user of the switch are served.
//! A client that stalls, vanishes or sends nonsense costs nothing but its own thread, and it is closed in time. There
//! are at most [`N_CLIENTS_MAX`]: one more closes the client that was idle for longest, and `shutdown` is taken even
//! when all are busy. Lines have at most [`LINE_BYTES_MAX`] bytes. No client makes a worker wait.
//!
//! Non-goals: other machines; protecting users from themselves.

mod answer;
mod client;
mod server;
mod show;
mod socket;
mod words;

pub use server::{Limits, Server, ServerError};
pub use show::{entity as entity_to_json, totals as totals_to_json};
pub use socket::{claim_default_path, connect, default_path};

use crate::options::Compiled;
use crate::switch::Switch;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Version of requests and answers. Within a version, meanings stay and fields may be added.
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
    /// Commands as in test scripts, one per line; tables by any unambiguous end of their names.
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

/// A part of the switch that can be shown.
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

/// Compiles programs and runs scripts, which the switch itself cannot.
pub trait Language: Send + Sync {
    /// Compiles a program.
    fn compile(&self, program: &Path) -> Result<Compiled, Refusal>;

    /// Does what the commands of a script say; gives what they show.
    fn commands(&self, switch: &Switch, text: &str) -> Result<Value, Refusal>;

    /// Applies a `WriteRequest`; gives how many updates it has.
    fn write(&self, switch: &Switch, text: &str) -> Result<u64, Refusal>;
}
