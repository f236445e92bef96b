//! `siding p4rt`: a client of P4Runtime servers.

use super::FrontEndArgs;
use super::entries::EntriesFormatArg;
use clap::{Args, Subcommand, ValueEnum};
use grpc::ServerAddress;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct P4rtArgs {
    /// Address of the P4 server: HOST:PORT or unix:PATH
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9559", global = true)]
    pub server: ServerAddress,
    /// Which switch of the server
    #[arg(long, value_name = "N", default_value_t = 0, global = true)]
    pub device_id: u64,
    /// Bid this to become primary, as a number or HIGH,LOW [default: the highest of before if nobody is primary]
    #[arg(long, value_name = "N", value_parser = election_id, global = true)]
    pub election_id: Option<u128>,
    /// Act for this role [default: the role that may do everything]
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true, global = true)]
    pub role: String,
    /// The program of the switch, for its names [default: the P4Info that the server has]
    #[arg(long, value_name = "FILE", conflicts_with = "p4info", global = true)]
    pub program: Option<PathBuf>,
    /// The P4Info of the switch, for its names [default: the one that the server has]
    #[arg(long, value_name = "FILE", global = true)]
    pub p4info: Option<PathBuf>,
    /// Encrypt with TLS, and trust servers that this authority has signed (PEM)
    #[arg(long, value_name = "FILE", hide_short_help = true, global = true)]
    pub tls_ca: Option<PathBuf>,
    /// Certificate of this client (PEM)
    #[arg(long, value_name = "FILE", hide_short_help = true, requires = "tls_ca", requires = "tls_key")]
    #[arg(global = true)]
    pub tls_cert: Option<PathBuf>,
    /// Private key of this client (PEM)
    #[arg(long, value_name = "FILE", hide_short_help = true, requires = "tls_cert", global = true)]
    pub tls_key: Option<PathBuf>,
    /// Name in the certificate of the server [default: its host]
    #[arg(long, value_name = "NAME", hide_short_help = true, requires = "tls_ca", global = true)]
    pub tls_name: Option<String>,
    #[command(flatten)]
    pub front_end: FrontEndArgs,
    #[command(subcommand)]
    pub what: P4rtCommand,
}

fn election_id(text: &str) -> Result<u128, String> {
    let wrong = || format!("`{text}` is no election id; write a number, or two as HIGH,LOW");
    match text.split_once(',') {
        Some((high, low)) => {
            let half = |half: &str| half.trim().parse::<u64>().map_err(|_| wrong());
            Ok(u128::from(half(high)?) << 64 | u128::from(half(low)?))
        }
        None => text.parse().map_err(|_| wrong()),
    }
}

#[derive(Debug, Subcommand)]
pub enum P4rtCommand {
    /// Print the version of P4Runtime that the server has
    Capabilities,
    /// Print the P4Info of the program that runs, and its cookie
    Get(GetArgs),
    /// Run a program
    Set(SetArgs),
    /// Print entries and other entities
    Read(ReadArgs),
    /// Write the entries of files
    Write(WriteArgs),
    /// Delete all entries, members, groups, sessions and digests, and reset default actions
    DeleteAll,
    /// Print what the switch tells its controller: packets, digests, idle entries, elections
    Watch(WatchArgs),
    /// Send a packet as the controller does
    PacketOut(PacketOutArgs),
}

#[derive(Debug, Args)]
pub struct GetArgs {
    /// Print the cookie alone
    #[arg(long)]
    pub cookie: bool,
    /// Write `p4_device_config` to this file
    #[arg(long, value_name = "FILE")]
    pub device_config: Option<PathBuf>,
}

/// Actions of `SetForwardingPipelineConfig`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PipelineActionArg {
    /// Say whether the switch could run the program
    Verify,
    /// Keep the program; entries are then written to it, and the old one runs
    VerifyAndSave,
    /// Run the program, without entries
    VerifyAndCommit,
    /// Run the program that was saved
    Commit,
    /// Run the program with all entries of the old one
    ReconcileAndCommit,
}

#[derive(Debug, Args)]
pub struct SetArgs {
    /// A program (.p4), an archive (.sdp), or bytes for another switch, with --p4info
    #[arg(value_name = "PROGRAM")]
    pub file: Option<PathBuf>,
    /// Action of the switch
    #[arg(long, value_enum, value_name = "ACTION", default_value = "verify-and-commit")]
    pub action: PipelineActionArg,
    /// A number that `get` gives back
    #[arg(long, value_name = "N")]
    pub cookie: Option<u64>,
}

#[derive(Debug, Args)]
pub struct ReadArgs {
    /// A name or a kind (tables, defaults, members, groups, counters, meters, registers, direct-counters, direct-meters,
    /// multicast-groups, clone-sessions, value-sets, digests, all), then conditions: KEY:PATTERN, priority=N, action=NAME,
    /// index=N, id=N [default: tables, members, groups, multicast groups, sessions, value sets and digests]
    #[arg(value_name = "ENTITY")]
    pub what: Vec<String>,
    /// The format to print
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "script")]
    pub format: EntriesFormatArg,
    /// In P4Runtime text and JSON: names and readable values instead of ids and bytes
    #[arg(long)]
    pub names: bool,
    /// Ask for counters, rates and idle times of entries, which only the formats of P4Runtime have
    #[arg(long)]
    pub extras: bool,
}

/// Kind of the update for each entry of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WriteKindArg {
    /// Keep the kinds of the file
    File,
    /// Insert all
    Insert,
    /// Modify all
    Modify,
    /// Delete all, the last one first
    Delete,
    /// Insert, or modify where it exists
    Upsert,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AtomicityArg {
    /// Write all that can be written
    Continue,
    /// Write all or nothing
    Rollback,
    /// All or nothing, also for packets
    Dataplane,
}

#[derive(Debug, Args)]
pub struct WriteArgs {
    /// Files of entries; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The format of the files [default: by their contents]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub format: Option<EntriesFormatArg>,
    /// Kind of update for each entry
    #[arg(long = "as", value_enum, value_name = "KIND", default_value = "file")]
    pub kind: WriteKindArg,
    /// Fate of a file one of whose entries cannot be written [default: the one in the file]
    #[arg(long, value_enum, value_name = "ATOMICITY")]
    pub atomicity: Option<AtomicityArg>,
    /// Entries in one request, unless they belong together
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub batch: u32,
}

#[derive(Debug, Args)]
pub struct WatchArgs {
    /// Acknowledge digests
    #[arg(long)]
    pub ack: bool,
    /// End after so many packets, digest lists and notices of idle entries
    #[arg(long, value_name = "N")]
    pub count: Option<u64>,
    /// End after so many seconds; fails if --count says that more should have come
    #[arg(long, value_name = "SECONDS")]
    pub timeout: Option<u64>,
}

#[derive(Debug, Args)]
pub struct PacketOutArgs {
    /// In hexadecimal digits, as layers such as 'eth/ipv4(dst=10.0.2.2)/udp', or FILE.pcap:N
    pub packet: String,
    /// Fields of the header packet_out: NAME=VALUE
    #[arg(value_name = "FIELD=VALUE")]
    pub fields: Vec<String>,
}
