//! The command line of `siding bench`.

use clap::{Args, Subcommand, ValueEnum};
use console::CcArgs;
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// Time the front end over the samples of p4lang/p4c
    Frontend(BenchFrontendArgs),
    /// Count packets a second through the interpreter
    Interp(BenchInterpArgs),
    /// Time compilation from P4 to native code, and how long the first packet waits
    Compile(BenchCompileArgs),
    /// Count packets a second through compiled code
    Native(BenchNativeArgs),
    /// Time packets that need no table, beside hand-written code
    Forward(BenchForwardArgs),
    /// Time a layer-2 switch with two exact tables, beside hand-written code and other switches
    L2(BenchL2Args),
    /// Time lookups in exact tables, beside rte_hash
    Exact(BenchTablesArgs),
    /// Time inserts into exact tables and their memory, beside rte_hash: growing, and with room reserved as rte_hash has it
    Table(BenchTablesArgs),
    /// Time longest prefix match, beside rte_fib
    Lpm(BenchTablesArgs),
    /// Time ternary tables, beside rte_acl
    Ternary(BenchTablesArgs),
    /// Time ternary tables with access lists like real ones
    Acl(BenchTablesArgs),
    /// Count packets a second through whole programs: a router, SRv6, GTP-U, a firewall, a data-centre switch
    Programs(BenchProgramsArgs),
    /// Count instructions that compiled code executes for a packet, with valgrind
    Instructions(BenchInstructionsArgs),
    /// Time packets that wait for another core, beside other ways of calling an extern
    Async(BenchAsyncArgs),
    /// Count updates of registers that workers lose, and what locks cost, beside what `siding sim` says
    Registers(BenchRegistersArgs),
    /// Time packets that add entries to a table, beside DPDK's learner table and rte_hash
    State(BenchStateArgs),
    /// Count simulated packets a second through the models of `siding sim`
    Sim(BenchSimArgs),
    /// Count entries a second that controllers write and read
    Control(BenchControlArgs),
    /// Count packets a second through real ports, and their delay, beside other switches in the same place
    Live(BenchLiveArgs),
}

/// The way between the switch and the generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MediumArg {
    /// Virtual interfaces of the kernel, in a network namespace of their own
    Veth,
    /// Shared memory between processes (DPDK)
    Memif,
    /// Shared memory of a virtual machine's network card (DPDK)
    Vhost,
}

/// Programs of `bench live`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LiveProgramArg {
    /// A layer-2 switch: two exact tables
    L2,
    /// A router: the longest prefix, new addresses, time to live and checksum
    Router,
    /// An access list: a ternary table over the five-tuple, then forwarding
    Acl,
    /// Address translation: another source address and port, with both checksums
    Nat,
}

#[derive(Debug, Args)]
pub struct BenchLiveArgs {
    /// The way between the switch and the generator
    #[arg(long, value_enum, value_name = "MEDIUM", default_value = "veth")]
    pub over: MediumArg,
    /// Program of the switch; the others get equal rules where they have any
    #[arg(long, value_enum, value_name = "PROGRAM", default_value = "l2")]
    pub program: LiveProgramArg,
    /// Stations, routes, rules or translations that the switch knows [default: 10,100000, with --quick 10]
    #[arg(long = "entries", value_name = "N,...", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub entries: Vec<u32>,
    /// Lengths of frames in bytes, with check sequence, or `imix` (repeatable) [default: 64, 512, 1518 and imix, with --quick 64]
    #[arg(long = "size", value_name = "SIZE")]
    pub sizes: Vec<String>,
    /// Measure only those whose name begins so (repeatable)
    #[arg(long = "only", value_name = "NAME")]
    pub only: Vec<String>,
    /// Length of a trial in seconds [default: 2, with --quick 0.5]
    #[arg(long, value_name = "SECONDS")]
    pub trial: Option<f64>,
    /// Core of the generator and sink
    #[arg(long, value_name = "CORE", default_value_t = 0)]
    pub generator_core: usize,
    /// Core of what is measured, and the first of several
    #[arg(long, value_name = "CORE", default_value_t = 1)]
    pub core: usize,
    /// Threads of what is measured, on cores from --core on; each has a queue of each port
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=16))]
    pub workers: u8,
    /// Search the highest rate without loss (RFC 2544), too, and measure delays at half of it
    #[arg(long)]
    pub zero_loss: bool,
    /// With --over memif: let 256 packets circulate in the switch, so that nothing else limits their rate
    #[arg(long, conflicts_with = "zero_loss")]
    pub circulate: bool,
    #[command(flatten)]
    pub measure: MeasureArgs,
}

/// Ways of controllers to a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ControlFigureArg {
    /// P4Runtime's Write and Read, over TCP and over a Unix socket
    Plain,
    /// Entries in columns, written over TCP and over a Unix socket
    Bulk,
    /// The time of single updates, also beside a writer at full speed
    Latency,
    /// Packets on one core beside updates on another, for exact tables and for prefixes
    Interference,
    /// Entries in columns: dumps, also by a slow client, and their loading; memory of each entry
    Read,
    /// Records through shared memory, in rings of several sizes
    Shm,
}

#[derive(Debug, Args)]
pub struct BenchControlArgs {
    /// The way of the entries
    #[arg(long, value_enum, value_name = "WAY", default_value = "plain")]
    pub figure: ControlFigureArg,
    /// Entries of a run at most [default: 1000000, with --quick 50000]
    #[arg(long, value_name = "N")]
    pub entries: Option<usize>,
    /// With --figure plain: updates in one request (repeatable) [default: 1, 100, 1000 and 10000]
    #[arg(long = "batch", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub batches: Vec<u32>,
    #[command(flatten)]
    pub measure: MeasureArgs,
}

#[derive(Debug, Args)]
pub struct BenchInterpArgs {
    /// Stations that the learning switch knows
    #[arg(long, default_value_t = 1000, value_name = "N")]
    pub entries: u64,
    /// Packets of a run
    #[arg(long, default_value_t = 200_000, value_name = "N")]
    pub packets: usize,
    /// Runs; the median counts
    #[arg(long, default_value_t = 5, value_name = "N")]
    pub runs: usize,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct BenchFrontendArgs {
    /// A checkout of p4lang/p4c [default: the environment's P4C]
    #[arg(long, value_name = "DIR")]
    pub p4c: Option<PathBuf>,
    /// Runs over the corpus; the median counts
    #[arg(long, default_value_t = 5, value_name = "N")]
    pub runs: usize,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct BenchCompileArgs {
    /// A checkout of p4lang/p4c: its samples, too [default: the environment's P4C]
    #[arg(long, value_name = "DIR")]
    pub p4c: Option<PathBuf>,
    /// Runs; the median counts
    #[arg(long, default_value_t = 5, value_name = "N")]
    pub runs: usize,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub cc: CcArgs,
}

#[derive(Debug, Args)]
pub struct BenchNativeArgs {
    /// Stations that the learning switch knows
    #[arg(long, default_value_t = 1000, value_name = "N")]
    pub entries: u64,
    /// Packets of a run of compiled code; the interpreter gets a tenth of them
    #[arg(long, default_value_t = 2_000_000, value_name = "N")]
    pub packets: usize,
    /// Runs; the median counts
    #[arg(long, default_value_t = 5, value_name = "N")]
    pub runs: usize,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub cc: CcArgs,
}

#[derive(Debug, Args)]
pub struct BenchSimArgs {
    /// Packets of a run
    #[arg(short = 'n', long, value_name = "N", default_value_t = 4_000_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub packets: u64,
    /// Runs; the median counts
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=101))]
    pub runs: u32,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
}

/// Arguments of all benchmarks of the fast path.
#[derive(Clone, Debug, Args)]
pub struct MeasureArgs {
    /// Small sizes, few runs
    #[arg(long)]
    pub quick: bool,
    /// Runs; the median counts [default: 9, with --quick 5]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=101))]
    pub runs: Option<u32>,
    /// Draw the figures to this file
    #[arg(long, value_name = "FILE", value_parser = console::svg_file)]
    pub svg: Option<PathBuf>,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub cc: CcArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FlowsArg {
    /// Each as often as any other
    Random,
    /// Some much more often than others
    Zipf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LengthsArg {
    /// 64 bytes
    #[value(name = "64")]
    Short,
    /// 64, 594 and 1518 bytes, about as in the Internet
    Imix,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AddressesArg {
    /// Any
    Random,
    /// One after the other, as a maker gives them to its devices
    Counted,
}

/// Arguments that describe the packets.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Packets")]
pub struct TrafficArgs {
    /// How often flows come
    #[arg(long, value_enum, value_name = "HOW", default_value = "random")]
    pub flows: FlowsArg,
    /// How long packets are
    #[arg(long, value_enum, value_name = "WHICH", default_value = "64")]
    pub lengths: LengthsArg,
    /// Which addresses stations have
    #[arg(long, value_enum, value_name = "WHICH", default_value = "random")]
    pub addresses: AddressesArg,
    /// Packets of a burst
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub burst: u32,
}

#[derive(Debug, Args)]
pub struct BenchForwardArgs {
    #[command(flatten)]
    pub measure: MeasureArgs,
    #[command(flatten)]
    pub traffic: TrafficArgs,
}

#[derive(Debug, Args)]
pub struct BenchL2Args {
    /// Entries of each table [default: 10,1000,100000,1000000,10000000, with --quick the first three]
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = clap::value_parser!(u64).range(1..=16_000_000))]
    pub entries: Vec<u64>,
    #[command(flatten)]
    pub measure: MeasureArgs,
    #[command(flatten)]
    pub traffic: TrafficArgs,
}

/// Experiments of "The Price for Asynchronous Execution of Extern Functions in Programmable Software Data Planes".
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AsyncFigureArg {
    /// Packets a second over the cost of the extern, for shares of packets and ways of calling it
    #[value(name = "3")]
    Three,
    /// Packets dropped when the offload worker cannot keep up
    #[value(name = "4")]
    Four,
    /// Packets a second over the number of workers that share an offload worker, one in ten packets waiting
    #[value(name = "5")]
    Five,
    /// The highest rate without loss over the number of workers, with 5000 cycles
    #[value(name = "6")]
    Six,
    /// Figure 3 with the worker's own choice, compared with the best fixed policy
    Auto,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AsyncExternArg {
    AesGcm,
}

#[derive(Debug, Args)]
pub struct BenchAsyncArgs {
    /// Cost of suspending and resuming a packet (the default)
    #[arg(long, conflicts_with = "figure")]
    pub breakdown: bool,
    /// A figure of the paper; takes two cores
    #[arg(long, value_enum, value_name = "N")]
    pub figure: Option<AsyncFigureArg>,
    /// With --figure 5 or 6: measure rates without loss through ports of this kind, too, as root; a switch in a process of its own
    #[arg(long, value_enum, value_name = "MEDIUM", requires = "figure")]
    pub over: Option<MediumArg>,
    /// With --over: length of a trial in seconds [default: 0.5, with --quick 0.05]
    #[arg(long, value_name = "SECONDS")]
    pub trial: Option<f64>,
    /// A real extern at an offload worker, compared with its library alone; takes two cores
    #[arg(long = "extern", value_enum, value_name = "NAME", conflicts_with_all = ["figure", "breakdown"])]
    pub with_extern: Option<AsyncExternArg>,
    /// Another extern of that name to compare, such as that of examples/06-crypto-device
    #[arg(long = "library", value_name = "FILE.so", requires = "with_extern")]
    pub other_extern: Option<PathBuf>,
    #[command(flatten)]
    pub measure: MeasureArgs,
}

#[derive(Debug, Args)]
pub struct BenchRegistersArgs {
    /// Products, each of the one before, between the read and the write [default: 0,10,100, with --quick 0,100]
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = clap::value_parser!(u64).range(0..=100_000))]
    pub steps: Vec<u64>,
    #[command(flatten)]
    pub measure: MeasureArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StateFigureArg {
    /// Cycles of a packet that adds an entry and of one that finds it, over the number of flows
    Throughput,
    /// The time that packets take in an open loop, and what is missed while a controller learns; takes two cores
    Latency,
}

/// Applications of `examples/state` that the kernel has, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AppArg {
    /// Address translation, beside masquerading by nftables
    Nat,
    /// The firewall with the states of TCP, beside `ct state` of nftables
    Firewall,
    /// The load balancer, beside ipvs, or nftables where there is no ipvs
    Lb,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PeerArg {
    /// The kernel, as a router with rules of nftables
    Kernel,
}

#[derive(Debug, Args)]
pub struct BenchStateArgs {
    /// The experiment
    #[arg(long, value_enum, value_name = "WHAT", default_value = "throughput")]
    pub figure: StateFigureArg,
    /// Flows (repeatable); not with --figure latency [default: 1000, 100000, 1000000 and 10000000; with --app 1000, 10000,
    /// 100000 and 1000000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=12_000_000))]
    pub flows: Vec<u64>,
    /// With --figure throughput: packets that come together
    #[arg(long, default_value_t = 32, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub burst: u32,
    /// An application between network namespaces, beside the kernel's own: verdicts about the same packets, and rates
    #[arg(long, value_enum, value_name = "NAME", conflicts_with_all = ["figure", "burst"])]
    pub app: Option<AppArg>,
    /// With --app: who does the same
    #[arg(long, value_enum, value_name = "WHO", default_value = "kernel", requires = "app")]
    pub peer: PeerArg,
    #[command(flatten)]
    pub measure: MeasureArgs,
}

#[derive(Debug, Args)]
pub struct BenchTablesArgs {
    #[command(flatten)]
    pub measure: MeasureArgs,
}

#[derive(Args, Debug)]
pub struct BenchProgramsArgs {
    /// Only this one (repeatable)
    #[arg(long, value_name = "NAME", value_parser = ["l3_router", "psa_router", "srv6", "gtpu", "firewall", "sai"])]
    pub program: Vec<String>,
    /// Times that all packets are run in a run
    #[arg(long, value_name = "N", hide = true, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub rounds: Option<u32>,
    #[command(flatten)]
    pub measure: MeasureArgs,
}

#[derive(Args, Debug)]
pub struct CalibrateArgs {
    /// Fewer programs, smaller tables and fewer passes: some two minutes in the place of thirty
    #[arg(long)]
    pub quick: bool,
    /// Write the profile to this file
    #[arg(short, long, value_name = "FILE.json", default_value = "siding-profile.json")]
    pub output: PathBuf,
    /// Keep what was measured in this file; an interrupted run goes on with it
    #[arg(long, value_name = "FILE.jsonl")]
    pub state: Option<PathBuf>,
    /// Say which cycles differ from those of this profile; exit code 1 if some do by more than their intervals
    #[arg(long, value_name = "FILE.json")]
    pub compare: Option<PathBuf>,
    /// Print the profile
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub cc: CcArgs,
}

#[derive(Args, Debug)]
pub struct ModelFormulaArgs {
    /// A profile of `siding model calibrate`
    #[arg(long, value_name = "FILE.json", default_value = "siding-profile.json")]
    pub profile: PathBuf,
    /// Draw the formula over the measured cycles to this SVG file
    #[arg(long, value_name = "FILE", value_parser = console::svg_file)]
    pub svg: Option<PathBuf>,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub struct ModelCheckArgs {
    /// Calibrate in short, and measure smaller tables
    #[arg(long)]
    pub quick: bool,
    /// Use this profile [default: calibrate first]
    #[arg(long, value_name = "FILE.json")]
    pub profile: Option<PathBuf>,
    /// Write the predictions to this file before anything is measured
    #[arg(long, value_name = "FILE.json")]
    pub predictions: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub cc: CcArgs,
}

#[derive(Args, Debug)]
pub struct BenchInstructionsArgs {
    /// Not those of whole programs with full tables, which take most of the time
    #[arg(long, conflicts_with = "record")]
    pub quick: bool,
    /// Compare with the figures in this file; more than 4 % above is an error
    #[arg(long, value_name = "FILE")]
    pub check: Option<PathBuf>,
    /// Write the figures to this file
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub cc: CcArgs,
}
