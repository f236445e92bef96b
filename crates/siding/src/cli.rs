//! The command line as clap sees it. Flags that p4c users type by habit keep p4c's spelling.

mod answers;
mod complete;
mod config;
mod entries;
mod examples;
mod habits;
mod help;
mod latency;
mod live;
mod migrate;
mod model;
mod model_packets;
mod native;
mod number;
mod own_extern;
mod p4rt;
mod shims;
mod sim;
mod sweep;
mod traffic;

pub use self::native::{BuildArgs, DoctorArgs, EmitArg, RunBackendArg};
pub use self::sweep::{MergeArgs, SweepArgs};
pub use self::traffic::{
    TrafficArgs, TrafficCommand, TrafficPort, TrafficPortArgs, TrafficReplayArgs, TrafficRunArgs,
    TrafficSearchArgs,
};
pub use answers::answer;
pub use complete::{Candidate, Wanted, complete};
pub use config::expand;
pub use entries::{ConvertArgs, EntriesCheckArgs, EntriesCommand};
pub use examples::of as examples_of;
pub use habits::{normalise_compat_flags, other_command};
pub use help::{command, page};
pub use latency::{ArrivalsArg, ModelLatencyArgs, SizesArg};
pub use live::{
    Address, AsyncModeArg, AsyncOrderArg, CtlArgs, CtlCommand, GrpcArgs, LiveArgs, LiveBackendArg, LogLevel,
    PortCommand, ShmArgs, ShowArg, WaitModeArg,
};
pub use migrate::{EndArg, MigrateArgs};
pub use model::{ModelAsicArgs, ModelCommand, ModelCpuArgs, ModelExternArgs};
pub use model_packets::ModelPacketsArgs;
pub use own_extern::{ExternCommand, ExternHeaderArgs, ExternKindArg, ExternNewArgs};
pub use p4rt::{
    AtomicityArg, GetArgs, P4rtArgs, P4rtCommand, PacketOutArgs, PipelineActionArg, ReadArgs, SetArgs,
    WatchArgs, WriteArgs, WriteKindArg,
};
pub use shims::{CliArgs, P4RuntimeFormatArg, P4cArgs, ShimsArgs};
pub use sim::{AlphaModelArg, FigureArg, LengthArg, LengthList, MetricArg, PolicyArg, SimArgs};

pub use console::{CcArgs, ExternArgs};

use crate::output::{ColorChoice, ErrorFormat};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use driver::Architecture;
use std::path::PathBuf;

/// Exit codes of all commands.
pub const EXIT_CODES: &str =
    "Exit codes: 0 ok, 1 a test failed, 2 usage, 3 compile error, 4 environment, 70 internal bug";

#[derive(Debug, Parser)]
#[command(name = "siding", version, about = "A P4-16 compiler and software switch", max_term_width = 100)]
#[command(propagate_version = true, arg_required_else_help = true, args_override_self = true)]
#[command(
    after_help = EXIT_CODES
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Check programs and show what is wrong with them
    Check(Box<CheckArgs>),
    /// Compile a program
    Build(Box<BuildArgs>),
    /// Check entries, or write them in another format
    #[command(subcommand)]
    Entries(EntriesCommand),
    /// Make the P4Info and the initial entries of a program
    P4info(Box<P4InfoArgs>),
    /// Run a program on packets: of a test script, or of capture files
    Run(Box<RunArgs>),
    /// Run a program on live traffic
    Switch(Box<LiveArgs>),
    /// Look into a running switch, or tell it something
    Ctl(CtlArgs),
    /// Control any switch over P4Runtime, with names in the place of ids
    P4rt(Box<P4rtArgs>),
    /// Copy table entries to another switch and keep up with changes, or to a file and back
    Migrate(Box<MigrateArgs>),
    /// Tell the story of one packet
    Trace(Box<TraceArgs>),
    /// Say what becomes of one packet and where that is decided, then tell its story
    Why(Box<TraceArgs>),
    /// Run test scripts and say which fail
    Stf(Box<StfArgs>),
    /// Print the intermediate representation of a program
    Ir(Box<IrArgs>),
    /// Simulate stateful actions that take many cycles: hazards, and what locks cost
    Sim(Box<SimArgs>),
    /// Put together the points files of a sweep that was divided into shards
    Merge(MergeArgs),
    /// Predict what packets cost
    #[command(subcommand)]
    Model(ModelCommand),
    /// Draw a parser, a control or its tables, or say what survives where packets wait
    Graph(Box<GraphArgs>),
    /// Format programs
    Fmt(FmtArgs),
    /// Explain a diagnostic code or a drop reason, or list all
    Explain(ExplainArgs),
    /// Show what Siding knows of an architecture: blocks, metadata, externs, the way of packets
    Arch(ArchArgs),
    /// Judge Siding against a checkout of p4lang/p4c
    Conformance(ConformanceArgs),
    /// Measure Siding itself
    #[command(subcommand)]
    Bench(bench::Command),
    /// Send and receive packets at a rate, and say what was lost and how long it took
    Traffic(Box<TrafficArgs>),
    /// Make every published figure on this machine, on one page
    Reproduce(reproduce::ReproduceArgs),
    /// Begin an extern of your own in C
    #[command(subcommand)]
    Extern(ExternCommand),
    /// Make commands with the names of p4c and BMv2, behind which Siding runs
    Shims(ShimsArgs),
    /// Say what of the system is missing, and how to mend it
    Doctor(DoctorArgs),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: ShellArg,
    },
    /// Print the words that may stand at the end of a command line; for the scripts of `siding completions`
    #[command(hide = true)]
    CompleteWords {
        /// The words after `siding`; the last one may be empty
        #[arg(allow_hyphen_values = true, trailing_var_arg = true)]
        words: Vec<String>,
    },
    /// Print the manual page of a command, or write those of all commands
    Man(ManArgs),
    /// Print help on a command, or on the compiler options
    Help {
        /// A command, as `ctl show`, or `compiler-options`
        #[arg(value_name = "COMMAND")]
        words: Vec<String>,
    },
}

/// How to read and check P4 programs; shared by all commands that do.
#[derive(Debug, Args)]
pub struct FrontEndArgs {
    /// Search this directory for included files (repeatable)
    #[arg(short = 'I', value_name = "DIR")]
    pub include_dirs: Vec<PathBuf>,
    /// Define a macro (repeatable)
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    pub defines: Vec<String>,
    /// Undefine a macro (repeatable)
    #[arg(short = 'U', value_name = "NAME")]
    pub undefines: Vec<String>,
    /// Follow the letter of the specification where p4c is laxer
    #[arg(long)]
    pub strict: bool,
    /// Treat parameters without direction that actions assign as if they were declared `rmw`
    #[arg(long)]
    pub assignable_action_data: bool,
    /// How to show messages
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub error_format: ErrorFormat,
    /// When to use colour
    #[arg(long, value_enum, default_value = "auto", value_name = "WHEN")]
    pub color: ColorChoice,
    /// Treat all warnings, or this one, as errors
    #[arg(long = "Werror", value_name = "DIAGNOSTIC", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub w_error: Vec<String>,
    /// Treat all warnings, or this one, as warnings
    #[arg(long = "Wwarn", value_name = "DIAGNOSTIC", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub w_warn: Vec<String>,
    /// Treat all warnings, or this one, as information
    #[arg(long = "Winfo", value_name = "DIAGNOSTIC", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub w_info: Vec<String>,
    /// Disable all warnings, or this one
    #[arg(long = "Wdisable", value_name = "DIAGNOSTIC", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub w_disable: Vec<String>,
    /// Which warnings to show [default: `show` with `siding check`, `count` with all other commands]
    #[arg(long, value_enum, value_name = "WHICH")]
    pub warnings: Option<WarningsArg>,
    /// Show at most this many errors [default: 20 for people, all for programs]
    #[arg(long = "maxErrorCount", visible_alias = "max-error-count", value_name = "N")]
    pub max_error_count: Option<usize>,
    /// The architecture that P4Info is made for [default: that of the package of `main`]
    #[arg(short = 'a', long, value_name = "NAME", value_parser = architecture())]
    pub arch: Option<Architecture>,
    /// Make an architecture of your own known, by its description
    #[arg(long, value_name = "FILE", value_parser = arch_description)]
    pub arch_description: Vec<Architecture>,
    /// The target is not needed for checking; accepted for the sake of habit
    #[arg(short = 'b', long, value_name = "NAME", hide = true)]
    pub target: Option<String>,
    /// The language; only P4-16
    #[arg(long = "std", value_name = "STANDARD", value_parser = habits::standard)]
    pub standard: Option<String>,
    /// The language; only 16
    #[arg(long = "p4v", value_name = "VERSION", value_parser = habits::version)]
    pub p4v: Option<String>,
    /// No effect; accepted for the sake of habit
    #[arg(long, hide = true)]
    pub ndebug: bool,
    /// Say more about what happens
    #[arg(short = 'v', long, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

/// Warnings that are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WarningsArg {
    /// One line with their number
    Count,
    /// In full, except for unused declarations in included files
    Show,
    /// In full
    All,
}

#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Programs; `-` is standard input
    #[arg(required = true, value_name = "PROGRAM")]
    pub programs: Vec<PathBuf>,
    #[command(flatten)]
    pub front_end: FrontEndArgs,
    /// Only preprocess and print the result
    #[arg(short = 'E')]
    pub preprocess_only: bool,
    /// Write the program as it was parsed to this file; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub pp: Option<PathBuf>,
    /// Write P4Info to these files; .txtpb, .txt, .json or .bin says how
    #[arg(long, value_name = "FILES", value_delimiter = ',')]
    pub p4runtime_files: Vec<PathBuf>,
    /// Write the initial entries to these files
    #[arg(long, value_name = "FILES", value_delimiter = ',')]
    pub p4runtime_entries_files: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FormatArg {
    Text,
    Json,
    Binary,
}

#[derive(Debug, Args)]
pub struct P4InfoArgs {
    /// A program; `-` is standard input
    pub program: PathBuf,
    #[command(flatten)]
    pub front_end: FrontEndArgs,
    /// How to write [default: by the file's suffix, else text]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub format: Option<FormatArg>,
    /// Write P4Info to this file [default: standard output]
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write the initial entries to this file; `-` is standard output, instead of P4Info
    #[arg(long, value_name = "FILE")]
    pub entries: Option<PathBuf>,
}

/// Initial state of the switch; shared by `run` and `trace`.
#[derive(Clone, Debug, Args)]
pub struct SwitchArgs {
    /// Write these entries first (repeatable): a test script, commands for BMv2's command line, the P4 tutorials'
    /// sX-runtime.json, or a P4Runtime WriteRequest as .txtpb, .json or .bin
    #[arg(long, value_name = "FILE")]
    pub entries: Vec<PathBuf>,
    /// Seed of random numbers
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub seed: u64,
    /// Packets to this port go to the controller
    #[arg(long, value_name = "PORT")]
    pub cpu_port: Option<u32>,
    /// This port is at the host's side of a network card, for PNA programs (repeatable)
    #[arg(long = "host-port", value_name = "PORT")]
    pub host_ports: Vec<u32>,
}

#[derive(Debug, Args)]
pub struct RunArgs {
    /// A program; `-` is standard input
    pub program: PathBuf,
    /// A test script; with --pcap its entries alone
    #[arg(value_name = "TEST.stf")]
    pub script: Option<PathBuf>,
    /// Packets that arrive at a port: a pcap or pcapng file (repeatable)
    #[arg(long, value_name = "[PORT=]FILE", value_parser = parse_port_file)]
    pub pcap: Vec<(u32, PathBuf)>,
    /// Compare what leaves a port with a capture, packet by packet (repeatable)
    #[arg(long, value_name = "[PORT=]FILE", value_parser = parse_port_file, requires = "pcap")]
    pub expect: Vec<(u32, PathBuf)>,
    /// Take the packets of captures as they are, whatever their link type [default: Ethernet only]
    #[arg(long, requires = "pcap")]
    pub any_link_type: bool,
    /// Write what leaves to PORT.pcap in this directory [default: only count]
    #[arg(short = 'o', long, value_name = "DIR", requires = "pcap")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub switch: SwitchArgs,
    /// Backend that runs the program
    #[arg(long, alias = "engine", value_name = "BACKEND", value_enum, default_value = "interp")]
    pub backend: RunBackendArg,
    /// Compile C that tells every step, and tell the story of each packet from it; with --backend native
    #[arg(long, conflicts_with = "quiet")]
    pub trace: bool,
    /// Do not tell the story of each packet
    #[arg(short = 'q', long)]
    pub quiet: bool,
    /// Tell the story of at most this many packets [default: all of a script, 10 of captures]
    #[arg(long, value_name = "N", conflicts_with = "quiet")]
    pub stories: Option<usize>,
    /// Tell the stories only of packets of captures that meet conditions joined by `&&`: port==3, HEADER.FIELD==10.0.0.1,
    /// bytes[12..14]==0800, dropped, dropped==REASON, sent, sent==PORT, controller
    #[arg(long = "match", value_name = "FILTER", value_parser = trace::Filter::parse, requires = "pcap")]
    #[arg(conflicts_with = "quiet")]
    pub filter: Option<trace::Filter>,
    /// One JSON object per line
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub cc: CcArgs,
    #[command(flatten)]
    pub externs: ExternArgs,
    #[command(flatten)]
    pub front_end: FrontEndArgs,
}

#[derive(Debug, Args)]
pub struct TraceArgs {
    /// A program; `-` is standard input
    pub program: PathBuf,
    /// In hexadecimal digits, as layers such as 'eth/ipv4(dst=10.0.2.2)/udp', or FILE.pcap:N; several arrive one after the other (repeatable)
    #[arg(short = 'p', long = "packet", value_name = "PACKET", required = true)]
    pub packets: Vec<String>,
    /// Port on which it arrives
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub port: u32,
    #[command(flatten)]
    pub switch: SwitchArgs,
    /// The story as JSON
    #[arg(long)]
    pub json: bool,
    /// Print only the first line, which says what becomes of the packet
    #[arg(long, conflicts_with_all = ["full", "json"])]
    pub brief: bool,
    /// Print places with the paths of their files
    #[arg(long, conflicts_with = "json")]
    pub full: bool,
    #[command(flatten)]
    pub externs: ExternArgs,
    #[command(flatten)]
    pub front_end: FrontEndArgs,
}

#[derive(Debug, Args)]
pub struct StfArgs {
    /// `prog.p4 test.stf...`, or directories: of each script the program beside it, of the same name or `program.p4`
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Name the tests that pass, too
    #[arg(long)]
    pub all: bool,
    /// Tell the story of the packets of failed tests
    #[arg(long)]
    pub story: bool,
    /// Backend of the tests; with `both`, the two must agree
    #[arg(long, alias = "engine", value_name = "BACKEND", value_enum, default_value = "interp")]
    pub backend: BackendArg,
    /// With compiled code: send packets that follow each other in bursts, too, of every size and in every way
    #[arg(long)]
    pub bursts: bool,
    /// One JSON object per line
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub cc: CcArgs,
    #[command(flatten)]
    pub externs: ExternArgs,
    #[command(flatten)]
    pub front_end: FrontEndArgs,
}

/// `3=in.pcap`, or `in.pcap` for port 0.
fn parse_port_file(text: &str) -> Result<(u32, PathBuf), String> {
    match text.split_once('=') {
        Some((port, file)) if !file.is_empty() => {
            let port = port.parse().map_err(|_| format!("`{port}` is no port number; write PORT=FILE"))?;
            Ok((port, file.into()))
        }
        Some(_) => Err("the name of the file is missing; write PORT=FILE".to_string()),
        None => Ok((0, text.into())),
    }
}

#[derive(Debug, Args)]
pub struct IrArgs {
    /// A program; `-` is standard input
    pub program: PathBuf,
    #[command(flatten)]
    pub front_end: FrontEndArgs,
    /// Write to this file [default: standard output]
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// The graph to show; exactly one.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub struct GraphWhat {
    /// The states of the parser
    #[arg(long)]
    pub parser: bool,
    /// The control flow of a control [default]
    #[arg(long)]
    pub control: bool,
    /// The dependencies between the tables of a control
    #[arg(long)]
    pub tables: bool,
    /// Where packets wait and what must survive that, as a table
    #[arg(long)]
    pub segments: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WaitArg {
    /// Each lookup in a table, as if all tables were too large for the cache
    Tables,
    /// Only externs that the architecture does not have
    Externs,
}

#[derive(Debug, Args)]
pub struct GraphArgs {
    /// A program; `-` is standard input
    pub program: PathBuf,
    #[command(flatten)]
    pub what: GraphWhat,
    /// Show the block with this name [default: the parser, or the ingress control]
    #[arg(long, value_name = "NAME", conflicts_with = "segments")]
    pub block: Option<String>,
    /// With --segments: what packets wait for within a block
    #[arg(long, value_enum, value_name = "WHAT", default_value = "tables", requires = "segments")]
    pub wait: WaitArg,
    /// With --segments: one JSON object
    #[arg(long, requires = "segments")]
    pub json: bool,
    /// Write to this file: .svg is drawn, .dot, .gv and .txt are Graphviz text [default: DOT text to standard output]
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub front_end: FrontEndArgs,
}

#[derive(Debug, Args)]
pub struct FmtArgs {
    /// Programs; `-` is standard input, formatted to standard output
    #[arg(required = true, value_name = "PROGRAM")]
    pub programs: Vec<PathBuf>,
    /// Change nothing; fail if a file is not formatted
    #[arg(long, conflicts_with_all = ["write", "diff"])]
    pub check: bool,
    /// Write formatted text back to the files
    #[arg(short = 'w', long, conflicts_with = "diff")]
    pub write: bool,
    /// Show what would change
    #[arg(long)]
    pub diff: bool,
}

#[derive(Debug, Args)]
pub struct ArchArgs {
    /// An architecture, or the description of one (FILE.toml); without one all are listed
    #[arg(value_name = "NAME", value_parser = architecture_or_description)]
    pub architecture: Option<Architecture>,
}

#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// A code, a name or a drop reason as shown in messages: P1308, ingress_drop; without it all are listed
    pub code: Option<String>,
}

/// Shells that have a completion script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ShellArg {
    Bash,
    Zsh,
    Fish,
    Elvish,
    #[value(name = "powershell")]
    PowerShell,
}

#[derive(Debug, Args)]
pub struct ManArgs {
    /// A command, as `check` or `ctl show` [default: `siding` itself]
    #[arg(value_name = "COMMAND", conflicts_with = "dir")]
    pub words: Vec<String>,
    /// Write the pages of all commands to this directory, as siding-check.1
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// Backend that runs a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BackendArg {
    /// The interpreter
    Interp,
    /// Compiled C
    Native,
    /// One after the other, with the same results
    Both,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SuiteArg {
    /// Programs that p4c accepts are accepted
    Accept,
    /// Programs that p4c refuses are refused
    Reject,
    /// P4Info is that of p4c
    P4info,
    /// Initial entries are those of p4c
    Entries,
    /// Programs as p4c's passes print them are accepted
    Rewritten,
    /// Formatted programs are the same programs
    Fmt,
    /// The intermediate representation is valid, and its text can be read back
    Ir,
    /// Test scripts pass
    Stf,
    /// Programs take random packets, with equal results in all backends
    Load,
    /// Packets go through PSA as a model of the specification says, in both backends; needs no checkout
    PsaModel,
    /// Packets go through PNA as a model of the specification says, in both backends; needs no checkout
    PnaModel,
    /// Every suite
    All,
}

#[derive(Debug, Args)]
pub struct ConformanceArgs {
    /// Suites to run
    #[arg(value_enum, value_name = "SUITE")]
    pub suites: Vec<SuiteArg>,
    /// A checkout of p4lang/p4c [default: the environment's P4C]
    #[arg(long, value_name = "DIR")]
    pub p4c: Option<PathBuf>,
    /// Judge the programs of this directory instead: they are accepted, their P4Info and initial entries are those of
    /// p4c in X.p4info.txtpb and X.entries.txtpb beside X.p4, and their test scripts X.stf pass
    #[arg(long, value_name = "DIR", conflicts_with = "p4c")]
    pub programs: Option<PathBuf>,
    /// With --programs: search this directory for included files (repeatable)
    #[arg(short = 'I', value_name = "DIR", requires = "programs")]
    pub include_dirs: Vec<PathBuf>,
    /// With --programs: define a macro (repeatable)
    #[arg(short = 'D', value_name = "NAME[=VALUE]", requires = "programs")]
    pub defines: Vec<String>,
    /// With `reject`: compare the place of the first error
    #[arg(long)]
    pub lines: bool,
    /// With `reject`: judge the mended programs, which must be accepted
    #[arg(long, conflicts_with = "lines")]
    pub twins: bool,
    /// With `stf`: use what p4c's passes print of the programs
    #[arg(long, conflicts_with_all = ["lines", "twins"])]
    pub rewritten: bool,
    /// With `stf` and `load`: what runs the programs
    #[arg(long, alias = "engine", value_name = "BACKEND", value_enum, default_value = "interp")]
    pub backend: BackendArg,
    /// Only programs whose name contains this
    #[arg(long, value_name = "SUBSTRING")]
    pub filter: Option<String>,
    /// Threads [default: one per core]
    #[arg(short = 'j', long, value_name = "N")]
    pub jobs: Option<usize>,
    /// One JSON object per line
    #[arg(long)]
    pub json: bool,
    /// Name every program and the slowest ones
    #[arg(short = 'v', long)]
    pub verbose: bool,
}

/// Reads the description of an architecture, and makes it known.
fn arch_description(file: &str) -> Result<Architecture, String> {
    let bytes = crate::output::read_file(std::path::Path::new(file)).map_err(|error| error.to_string())?;
    let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    Architecture::add(&text).map_err(|fault| match &fault.place {
        Some(place) => {
            let before = text.get(..place.start).unwrap_or(&text);
            let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
            let (line, column) = (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1);
            format!("{file}:{line}:{column}: {fault}")
        }
        None => format!("{file}: {fault}"),
    })
}

/// An architecture by its name, or by the file of its description.
fn architecture_or_description(name: &str) -> Result<Architecture, String> {
    match Architecture::of_name(name) {
        Some(architecture) => Ok(architecture),
        None if name.ends_with(".toml") => arch_description(name),
        None => {
            let known: Vec<&str> = Architecture::names().collect();
            Err(format!("known are {}, and descriptions in files that end with .toml", known.join(", ")))
        }
    }
}

/// The names of all architectures.
fn architecture() -> impl TypedValueParser<Value = Architecture> {
    PossibleValuesParser::new(Architecture::names())
        .try_map(|name| Architecture::of_name(&name).ok_or("no architecture"))
}
