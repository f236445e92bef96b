//! The protocol: requests and answers, one JSON object per line.

use crate::refusal::Refusal;
use dataplane::Compiled;
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
    /// Answered as soon as a table has at least `n_entries` entries, or with `is_below` fewer than that. Entries are counted, not
    /// read.
    WaitEntries {
        table: String,
        n_entries: u64,
        #[serde(default)]
        is_below: bool,
        timeout_ms: u64,
    },
    Show {
        what: What,
        /// The table, counter or register to show; `None` shows all.
        #[serde(default)]
        name: Option<String>,
    },
    /// Commands of test scripts, one per line; `add`, `modify`, `delete` and `setdefault` have a short form.
    Commands {
        text: String,
    },
    /// Entries in any format of text that crate `entries` reads.
    Write {
        text: String,
        /// Name of the file, for messages.
        #[serde(default)]
        name: Option<String>,
    },
    /// Removes all entries of a table that a controller may remove.
    ClearTable {
        table: String,
    },
    /// Makes a multicast group, or gives it other ports.
    SetGroup {
        group: u32,
        ports: Vec<u32>,
    },
    RemoveGroup {
        group: u32,
    },
    RemoveSession {
        session: u32,
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
        /// Hexadecimal digits, or layers with fields as crate `craft` reads them.
        #[serde(alias = "hex")]
        packet: String,
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
    /// Sets the timeout that a profile of a table stands for.
    SetProfile {
        table: String,
        profile: u8,
        timeout_ns: u64,
    },
    /// The timeouts of the profiles of a table, or of one of them.
    ShowProfiles {
        table: String,
        #[serde(default)]
        profile: Option<u8>,
    },
    /// Packets that each queue of each port holds.
    SetQueueDepth {
        n_packets_max: usize,
    },
    /// The entries of a table with their handles, which are numbers that entries keep. Entries have some as soon as
    /// somebody asks for them.
    Handles {
        table: String,
    },
    /// Commands of BMv2's command line that write entries; the answer has the handles of entries that are new.
    WriteWithHandles {
        text: String,
    },
    /// Removes the entry with a handle.
    RemoveHandle {
        table: String,
        handle: u64,
    },
    /// Gives the entry with a handle another action, `ACTION ARGUMENT...`.
    ModifyHandle {
        table: String,
        handle: u64,
        action: String,
    },
    /// A command of BMv2's command line that changes an action profile (`act_prof_...`). The answer has the handle of the
    /// member or the group that it creates.
    ProfileCommand {
        text: String,
    },
    /// The members and groups of an action profile with their handles.
    ProfileHandles {
        profile: String,
    },
    Shutdown,
}

/// A part of the switch that can be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    Ports,
    Queues,
    Tables,
    /// Entries that packets have added, and what became of them.
    State,
    Entries,
    Drops,
    Workers,
    Async,
    Pre,
    Counters,
    Registers,
    Meters,
    ValueSets,
    /// Members and groups of action profiles and selectors.
    Profiles,
    Totals,
    Program,
    /// The names that requests may contain.
    Names,
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

/// Compiles programs for the server, which has no compiler itself.
pub trait Compiler: Send + Sync {
    fn compile(&self, program: &Path) -> Result<Compiled, Refusal>;
}
