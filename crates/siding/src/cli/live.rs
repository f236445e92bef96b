//! Commands around a switch on live traffic. Flags that BMv2's users type by habit keep BMv2's spelling.

use super::{CcArgs, ExternArgs, FrontEndArgs};
use clap::{Args, Subcommand, ValueEnum};
use dataplane::{PortSpec, Queues, SHUTDOWN_TIMEOUT_DEFAULT};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Fan-out groups and TAP devices of Linux have so many.
const N_QUEUES_MAX: usize = 256;

#[derive(Debug, Args)]
pub struct LiveArgs {
    /// A program; without one all packets are dropped until `siding ctl replace` brings one
    #[arg(conflicts_with = "no_p4")]
    pub program: Option<PathBuf>,
    /// The program of a configuration file, unless the command line names one
    #[arg(long = "program", hide = true, value_name = "PROGRAM")]
    pub configured_program: Option<PathBuf>,
    /// Options of a file (TOML): the long options of this command, `program` and `ports`; the command line wins
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// A port: an interface, `tap:NAME`, `memif:SOCKET`, `dpdk:DEVICE` or `file:NAME` (NAME_in.pcap to NAME_out.pcap) (repeatable)
    #[arg(short = 'i', long = "interface", value_name = "PORT@INTERFACE", value_parser = PortSpec::parse)]
    pub ports: Vec<PortSpec>,
    /// Interfaces are captures NAME_in.pcap and NAME_out.pcap, read after so many seconds
    #[arg(long, value_name = "SECONDS")]
    pub use_files: Option<u64>,
    /// Copy what passes each port into captures in this directory
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true, default_missing_value = ".")]
    pub pcap: Option<PathBuf>,
    /// Backend that runs the program
    #[arg(long, alias = "engine", value_name = "BACKEND", value_enum, default_value = "auto")]
    pub backend: LiveBackendArg,
    /// Names this switch among others
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub device_id: u64,
    /// Packets to this port go to the controller
    #[arg(long, value_name = "PORT")]
    pub cpu_port: Option<u32>,
    /// This port is at the host's side of a network card, for PNA programs (repeatable)
    #[arg(long = "host-port", value_name = "PORT", hide_short_help = true)]
    pub host_ports: Vec<u32>,
    /// Packets to this port are dropped
    #[arg(long, value_name = "PORT", default_value_t = 511)]
    pub drop_port: u32,
    /// Write these entries first (repeatable): a test script, commands for BMv2's command line, the P4 tutorials'
    /// sX-runtime.json, or a P4Runtime WriteRequest as .txtpb, .json or .bin
    #[arg(long, value_name = "FILE")]
    pub entries: Vec<PathBuf>,
    /// Keep entries, default actions, groups, sessions and rates in this file when the switch ends, and begin with them when it
    /// starts again; --entries is for the first start
    #[arg(long, value_name = "FILE.txtpb")]
    pub state: Option<PathBuf>,
    /// Threads that run packets; ports are theirs in turn
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub workers: u16,
    /// Keep the workers on these cores, in turn
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub cores: Vec<usize>,
    /// Queues of each port, or `auto`: one per worker
    #[arg(long, value_name = "N", default_value = "1", value_parser = queues)]
    pub queues: Queues,
    /// Idle workers poll, sleep, or do both in turn
    #[arg(long, value_name = "MODE", value_enum, default_value = "adaptive", hide_short_help = true)]
    pub wait: WaitModeArg,
    /// Run asynchronous blocks so, whatever the program says
    #[arg(long = "async", value_name = "MODE", value_enum)]
    pub async_mode: Option<AsyncModeArg>,
    /// Order in which packets leave that come to asynchronous blocks, whatever the program says
    #[arg(long = "async-order", value_name = "ORDER", value_enum, hide_short_help = true)]
    pub async_order: Option<AsyncOrderArg>,
    /// Threads that run asynchronous blocks [default: one for each worker name in the program's `@async` annotations]
    #[arg(long, alias = "executors", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub offload_workers: Option<u16>,
    /// Pin offload workers to these cores, in turn
    #[arg(
        long,
        alias = "executor-cores",
        value_name = "LIST",
        value_delimiter = ',',
        hide_short_help = true
    )]
    pub offload_cores: Vec<usize>,
    /// Largest batch of packets whose calls of an extern an offload worker makes at once; overrides the program
    #[arg(long, alias = "executor-batch", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=32))]
    pub offload_batch: Option<u32>,
    /// Treat an offload worker as hung after this long without progress while packets wait for it
    #[arg(long, alias = "executor-timeout", value_name = "SECONDS", default_value_t = 2.0, value_parser = seconds)]
    pub hang_timeout: f64,
    /// End with an error when workers have not ended this long after SIGINT, SIGTERM or `ctl shutdown`: an extern hangs
    #[arg(long, value_name = "SECONDS", default_value_t = SHUTDOWN_TIMEOUT_DEFAULT.as_secs_f64(), value_parser = seconds)]
    pub shutdown_timeout: f64,
    /// Let `simple_switch_CLI --thrift-port N` and `siding ctl --thrift-port N` find this switch, and listen on this port for
    /// tools that wait until BMv2 does
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub thrift_port: Option<u16>,
    /// Serve metrics (OpenMetrics) on this address, or `off`
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9560", value_parser = address)]
    pub metrics_addr: Address,
    /// Serve P4Runtime at this address: ADDRESS:PORT (127.0.0.1:9559) or unix:PATH
    #[arg(long, value_name = "ADDRESS")]
    pub grpc_server_addr: Option<grpc::Address>,
    #[command(flatten)]
    pub grpc: GrpcArgs,
    #[command(flatten)]
    pub shm: ShmArgs,
    /// The socket of `siding ctl` [default: DEVICE_ID.ctl in a directory of the user's own]
    #[arg(long, value_name = "PATH")]
    pub ctl_socket: Option<PathBuf>,
    /// Least severe events to log
    #[arg(short = 'L', long, value_name = "LEVEL", value_enum, default_value = "info")]
    pub log_level: LogLevel,
    /// Log to standard output instead of standard error
    #[arg(long)]
    pub log_console: bool,
    /// Log to this file, too
    #[arg(long, value_name = "FILE")]
    pub log_file: Option<PathBuf>,
    /// Start without a program
    #[arg(long)]
    pub no_p4: bool,
    /// Seed of random numbers
    #[arg(long, default_value_t = 0, value_name = "N", hide_short_help = true)]
    pub seed: u64,
    /// One JSON object per line
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub compat: CompatFlags,
    #[command(flatten)]
    pub externs: ExternArgs,
    #[command(flatten)]
    pub cc: CcArgs,
    #[command(flatten)]
    pub front_end: FrontEndArgs,
}

/// Options of the P4Runtime server, as simple_switch_grpc has them.
#[derive(Debug, Args)]
pub struct GrpcArgs {
    /// Encrypt P4Runtime with TLS; --grpc-server-cert and --grpc-server-key are needed
    #[arg(long, hide_short_help = true, requires = "grpc_server_cert", requires = "grpc_server_key")]
    pub grpc_server_ssl: bool,
    /// Certificate of the P4Runtime server (PEM)
    #[arg(long, hide_short_help = true, value_name = "FILE")]
    pub grpc_server_cert: Option<PathBuf>,
    /// Private key of the P4Runtime server (PEM)
    #[arg(long, hide_short_help = true, value_name = "FILE")]
    pub grpc_server_key: Option<PathBuf>,
    /// Certificates that clients of P4Runtime must have signed theirs with (PEM), with --grpc-server-with-client-auth
    #[arg(long, hide_short_help = true, value_name = "FILE")]
    pub grpc_server_cacert: Option<PathBuf>,
    /// Take clients of P4Runtime only with a certificate
    #[arg(long, hide_short_help = true, requires = "grpc_server_cacert", requires = "grpc_server_ssl")]
    pub grpc_server_with_client_auth: bool,
    /// How values of P4Runtime are translated that the program annotates with `@p4runtime_translation` (TOML)
    #[arg(long, hide_short_help = true, value_name = "FILE", requires = "grpc_server_addr")]
    pub translation: Option<PathBuf>,
    /// Ask clients of P4Runtime that have said nothing for so long whether they are there; they have half as long to answer
    #[arg(long, hide_short_help = true, value_name = "SECONDS", default_value_t = 20.0, value_parser = seconds)]
    pub grpc_keepalive: f64,
    /// Take writes over P4Runtime from clients that have not arbitrated, as simple_switch_grpc does
    #[arg(long, hide_short_help = true)]
    pub no_arbitration: bool,
    /// Decode writes over P4Runtime as whole messages, without the short way for usual entries; to compare the two
    #[arg(long, hide_short_help = true)]
    pub grpc_full_decoder: bool,
}

/// Options of shared memory for controllers of the same machine.
#[derive(Debug, Args)]
pub struct ShmArgs {
    /// Unix socket for controllers in shared memory
    #[arg(long, value_name = "PATH", requires = "grpc_server_addr")]
    pub shm_socket: Option<PathBuf>,
    /// Members of this group (name or number) may connect to --shm-socket, too
    #[arg(long, hide_short_help = true, value_name = "GROUP", requires = "shm_socket", value_parser = group)]
    pub shm_group: Option<u32>,
    /// Bytes that a controller has at most for what it writes through --shm-socket: 64KiB to 16GiB
    #[arg(long, hide_short_help = true, value_name = "SIZE", default_value = "4MiB", value_parser = shm_size)]
    pub shm_size: usize,
}

/// Options of BMv2 that are accepted for compatibility and have no effect.
#[derive(Debug, Args)]
pub struct CompatFlags {
    #[arg(long, hide = true, value_name = "ADDRESS")]
    pub nanolog: Option<String>,
    #[arg(long, hide = true, value_name = "ADDRESS", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub debugger: Option<String>,
    #[arg(long, hide = true, value_name = "ADDRESS")]
    pub notifications_addr: Option<String>,
    #[arg(long, hide = true)]
    pub log_flush: bool,
    #[arg(long, hide = true, value_name = "FILE")]
    pub restore_state: Option<PathBuf>,
    #[arg(long, hide = true, value_name = "N")]
    pub dump_packet_data: Option<u64>,
    #[arg(long, hide = true, value_name = "N")]
    pub max_port_count: Option<u64>,
    #[arg(long, hide = true, value_name = "N")]
    pub priority_queues: Option<u64>,
    #[arg(long, hide = true, value_name = "FILES")]
    pub load_modules: Option<String>,
}

impl CompatFlags {
    /// The flags that were given and have no effect, and why.
    pub fn without_effect(&self) -> Vec<(&'static str, &'static str)> {
        const CTL: &str = "`siding ctl` tells a running switch things";
        const ALWAYS: &str = "it is always so";
        let given = [
            (self.nanolog.is_some(), "--nanolog", "`siding ctl trace` tells the stories of packets"),
            (self.debugger.is_some(), "--debugger", "`siding ctl trace` tells the stories of packets"),
            (self.notifications_addr.is_some(), "--notifications-addr", CTL),
            (self.log_flush, "--log-flush", ALWAYS),
            (self.restore_state.is_some(), "--restore-state", "--entries FILE writes entries"),
            (self.dump_packet_data.is_some(), "--dump-packet-data", "--pcap keeps packets"),
            (self.max_port_count.is_some(), "--max-port-count", "there is no limit"),
            (self.priority_queues.is_some(), "--priority-queues", "there are 8 queues for each port"),
            (self.load_modules.is_some(), "--load-modules", "externs cannot be loaded yet"),
        ];
        given.into_iter().filter(|(is_given, ..)| *is_given).map(|(_, flag, why)| (flag, why)).collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LiveBackendArg {
    /// Compiled C; the interpreter serves until it is there
    Auto,
    /// Compiled C alone: packets wait for it
    Native,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum LogLevel {
    Trace,
    Debug,
    Info,
    Warn,
    Error,
    Off,
}

/// Idle behaviour of workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WaitModeArg {
    /// Poll all the time: shortest latency, a whole core for each worker
    Busy,
    /// Poll for some microseconds after each packet, then sleep
    Adaptive,
    /// Sleep at once
    Interrupt,
}

/// Address to listen on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    At(SocketAddr),
    Off,
}

fn queues(text: &str) -> Result<Queues, String> {
    if matches!(text, "auto" | "0") {
        return Ok(Queues::PerWorker);
    }
    let n: Option<NonZeroUsize> = text.parse().ok().filter(|n: &NonZeroUsize| n.get() <= N_QUEUES_MAX);
    n.map(Queues::Fixed).ok_or_else(|| format!("write a number of queues, 1 to {N_QUEUES_MAX}, or auto"))
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.001..=1e6).contains(seconds));
    seconds.ok_or_else(|| "write seconds, 0.001 to 1000000".to_owned())
}

/// A group by its name in /etc/group, or by its number.
fn group(text: &str) -> Result<u32, String> {
    if let Ok(number) = text.parse() {
        return Ok(number);
    }
    let groups = std::fs::read_to_string("/etc/group").unwrap_or_default();
    let number = groups.lines().find_map(|line| {
        let mut parts = line.split(':');
        (parts.next() == Some(text)).then(|| parts.nth(1)?.parse().ok()).flatten()
    });
    number.ok_or_else(|| format!("there is no group `{text}`"))
}

fn shm_size(text: &str) -> Result<usize, String> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let shift = match unit {
        "" | "B" => 0,
        "K" | "KiB" => 10,
        "M" | "MiB" => 20,
        "G" | "GiB" => 30,
        _ => return Err(format!("`{unit}` is no unit: KiB, MiB or GiB")),
    };
    let n_bytes = number.parse::<usize>().ok().and_then(|n| n.checked_mul(1 << shift));
    let n_bytes = n_bytes.filter(|n| (64 << 10..=16 << 30).contains(n) && n.is_multiple_of(32 << 10));
    n_bytes.ok_or_else(|| "write a multiple of 32KiB, 64KiB to 16GiB".to_owned())
}

fn address(text: &str) -> Result<Address, String> {
    match text {
        "off" => Ok(Address::Off),
        _ => text.parse().map(Address::At).map_err(|_| "write ADDRESS:PORT, or off".to_owned()),
    }
}

#[derive(Debug, Args)]
pub struct CtlArgs {
    /// Which switch
    #[arg(long, value_name = "N", default_value_t = 0, global = true)]
    pub device_id: u64,
    /// The switch with this --thrift-port, instead of --device-id
    #[arg(long, value_name = "N", global = true, conflicts_with = "ctl_socket")]
    pub thrift_port: Option<u16>,
    /// The socket of the switch, instead of --device-id
    #[arg(long, value_name = "PATH", global = true)]
    pub ctl_socket: Option<PathBuf>,
    /// One JSON object
    #[arg(long, global = true)]
    pub json: bool,
    #[command(subcommand)]
    pub what: CtlCommand,
}

#[derive(Debug, Subcommand)]
pub enum CtlCommand {
    /// Show what the switch has
    Show {
        /// The objects to show
        #[arg(value_enum)]
        what: ShowArg,
        /// Only of this table, counter or register
        name: Option<String>,
    },
    /// Add an entry: TABLE [PRIORITY] KEY... ACTION(ARGUMENT, ...)
    Add {
        /// TABLE [PRIORITY] KEY... ACTION(ARGUMENT, ...)
        words: Vec<String>,
    },
    /// Change the action of an entry: TABLE [PRIORITY] KEY... ACTION(ARGUMENT, ...)
    Modify {
        /// Keep the values that actions have changed in the entry (`@__ref`); the call gives the others only
        #[arg(long)]
        keep_state: bool,
        /// TABLE [PRIORITY] KEY... ACTION(ARGUMENT, ...)
        words: Vec<String>,
    },
    /// Delete an entry: TABLE [PRIORITY] KEY..., or all of a table: TABLE all
    Delete {
        /// TABLE [PRIORITY] KEY..., or TABLE all
        words: Vec<String>,
    },
    /// Change a default action: TABLE ACTION(ARGUMENT, ...)
    Setdefault {
        /// TABLE ACTION(ARGUMENT, ...)
        words: Vec<String>,
    },
    /// Make a multicast group, or give it other ports
    McGroup {
        /// The number of the group
        group: u32,
        /// Ports that get a copy
        #[arg(required = true)]
        ports: Vec<u32>,
    },
    /// Do any command of a test script, as `register_read r 5`
    Do {
        /// The command
        words: Vec<String>,
    },
    /// Write the entries of a file, in any format that --entries takes
    Write {
        /// `-` is standard input
        file: PathBuf,
    },
    /// Tell the stories of the next packets
    Trace {
        /// Stories to tell
        #[arg(long, default_value_t = 1, value_name = "N")]
        count: u64,
        /// Only packets that meet conditions joined by `&&`: port==3, bytes[12..14]==0800, HEADER.FIELD==10.0.0.1,
        /// dropped, dropped==REASON, sent, sent==PORT, controller. Ends with 1 if none comes
        #[arg(long = "match", value_name = "FILTER")]
        filter: Option<String>,
        /// Seconds to wait for packets
        #[arg(long, default_value_t = 60, value_name = "SECONDS")]
        timeout: u64,
    },
    /// Take packets for the controller
    PacketIn {
        /// Packets to take at most
        #[arg(long, default_value_t = 100, value_name = "N")]
        count: usize,
    },
    /// Send a packet as the controller does, or as if it had arrived at a port
    PacketOut {
        /// In hexadecimal digits, or as layers such as 'eth/ipv4(dst=10.0.2.2)/udp'
        packet: String,
        /// The port at which it arrives; without one it is the controller's
        #[arg(long, value_name = "N")]
        port: Option<u32>,
    },
    /// Take what the program has told the controller
    Digests,
    /// Take the entries whose idle timeout is over
    Expired,
    /// Run another program, without losing a packet
    Replace {
        /// The other program
        program: PathBuf,
        /// Carry over entries, groups and counts that the other program has a place for
        #[arg(long)]
        keep_entries: bool,
    },
    /// Add, remove or switch ports
    #[command(subcommand)]
    Port(PortCommand),
    /// Limit the packets per second that a port takes
    SetRate {
        /// The number of the port
        port: u32,
        /// Packets per second, at least 1; `port down` stops a port [default: no limit]
        #[arg(value_parser = clap::value_parser!(u64).range(1..))]
        rate: Option<u64>,
    },
    /// Show or set the timeouts that the profiles of a table stand for
    Expire {
        /// The table
        table: String,
        /// The number of a profile, 0 to 255
        profile: Option<u8>,
        /// Entries of the profile end when they were not hit for so many seconds, as 30 or 0.5
        seconds: Option<f64>,
    },
    /// Wait until a program runs
    WaitReady {
        /// Seconds to wait
        #[arg(long, default_value_t = 60, value_name = "SECONDS")]
        timeout: u64,
        /// Give up as soon as this process has ended
        #[arg(long, value_name = "PID")]
        pid: Option<u32>,
    },
    /// Wait until a table has so many entries; they are counted, not read
    WaitEntries {
        /// The table, or the end of its name
        table: String,
        /// Entries that it has at least
        n_entries: u64,
        /// Wait until it has fewer
        #[arg(long)]
        below: bool,
        /// Seconds to wait
        #[arg(long, default_value_t = 60, value_name = "SECONDS")]
        timeout: u64,
    },
    /// End the switch
    Shutdown,
    /// A command of BMv2's command line
    #[command(external_subcommand)]
    Bmv2(Vec<String>),
}

#[derive(Debug, Subcommand)]
pub enum PortCommand {
    /// Add a port
    Add {
        /// PORT@INTERFACE, in the form that `siding switch -i` takes
        port: String,
    },
    /// Remove a port
    Remove {
        /// The number of the port
        port: u32,
    },
    /// Take and send packets again on a port that is down
    Up {
        /// The number of the port
        port: u32,
    },
    /// Drop the packets that come to or leave a port
    Down {
        /// The number of the port
        port: u32,
    },
}

/// Offload policy for asynchronous blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AsyncModeArg {
    /// Workers run them
    Inline,
    /// Workers wait while others run them
    Wait,
    /// Workers go on with other packets meanwhile
    Suspend,
    /// Workers run them or go on meanwhile, whichever costs them less
    Auto,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AsyncOrderArg {
    /// Packets of a flow leave as they came
    Flow,
    /// Packets leave when they are ready
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ShowArg {
    /// Packets and bytes in and out of each port
    Ports,
    /// Packets in and out of each queue of each port, and the worker that has the queue
    Queues,
    /// Tables: how many entries, hits and misses
    Tables,
    /// Entries that packets have added, and what became of them
    State,
    /// Entries of tables
    Entries,
    /// Dropped packets by reason
    Drops,
    /// Threads that run packets
    Workers,
    /// Asynchronous blocks
    Async,
    /// Multicast groups and clone sessions
    #[value(name = "replication", alias = "pre")]
    Replication,
    /// Values of counters
    Counters,
    /// Values of registers
    Registers,
    /// Rates of meters that somebody has set
    Meters,
    /// Value sets, with the number of their members
    ValueSets,
    /// Members and groups of action profiles and selectors
    Profiles,
    /// Packets of all ports together
    Totals,
    /// The program that runs
    Program,
    /// Names of tables with keys and actions, of counters and of registers
    Names,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_queues() {
        assert_eq!(queues("1"), Ok(Queues::ONE));
        assert_eq!((queues("auto"), queues("0")), (Ok(Queues::PerWorker), Ok(Queues::PerWorker)));
        for wrong in ["257", "-1", "two", ""] {
            assert_eq!(queues(wrong).unwrap_err(), "write a number of queues, 1 to 256, or auto");
        }
    }
}
