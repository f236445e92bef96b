//! Commands around compiled programs.

use super::FrontEndArgs;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// How C is compiled; shared by all commands that do.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Compiling C")]
pub struct CcArgs {
    /// Optimise: 0 compiles fastest, 3 runs fastest
    #[arg(short = 'O', value_name = "LEVEL", value_parser = clap::value_parser!(u8).range(0..=3), default_value_t = 3)]
    pub optimise: u8,
    /// The C compiler [default: the variable CC, else cc, gcc or clang]
    #[arg(long, value_name = "PATH")]
    pub cc: Option<PathBuf>,
    /// More flags for the C compiler, separated by blanks (repeatable)
    #[arg(long, value_name = "FLAGS", allow_hyphen_values = true)]
    pub cflags: Vec<String>,
    /// For any machine of this kind, not with all instructions that this one has
    #[arg(long)]
    pub portable: bool,
    /// Compile anew, whatever was compiled before
    #[arg(long)]
    pub no_cache: bool,
}

/// Who runs packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RunBackendArg {
    /// The interpreter
    Interp,
    /// Compiled C
    Native,
    /// Both, with the same results
    Both,
    /// The interpreter, until the program is compiled
    Auto,
}

/// What a build gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EmitArg {
    /// All below in one file
    Sdp,
    /// C text
    C,
    /// A shared object
    So,
    /// P4Info as text
    P4info,
    /// The initial entries as text
    Entries,
    /// Where everything lies in memory, as JSON
    Layout,
}

#[derive(Debug, Args)]
pub struct BuildArgs {
    /// A program; `-` is standard input
    pub program: PathBuf,
    /// Write to this file; `-` is standard output [default: named as the program, with the suffix of what it is]
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// What to write
    #[arg(long, value_enum, value_name = "WHAT", default_value = "sdp")]
    pub emit: EmitArg,
    /// Write P4Info to these files, too; .txtpb, .txt, .json or .bin says how
    #[arg(long, value_name = "FILES", value_delimiter = ',')]
    pub p4runtime_files: Vec<PathBuf>,
    /// Write the initial entries to these files, too
    #[arg(long, value_name = "FILES", value_delimiter = ',')]
    pub p4runtime_entries_files: Vec<PathBuf>,
    /// Code that tells its host every step
    #[arg(long)]
    pub trace: bool,
    /// Code that checks itself: names as in -fsanitize=
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub sanitize: Vec<String>,
    /// Leave `#line` out: places in messages and debuggers are those in C
    #[arg(long)]
    pub no_line: bool,
    /// Say what was made, as one JSON object
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub cc: CcArgs,
    #[command(flatten)]
    pub front_end: FrontEndArgs,
}

#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// The C compiler [default: the variable CC, else cc, gcc or clang]
    #[arg(long, value_name = "PATH")]
    pub cc: Option<PathBuf>,
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
