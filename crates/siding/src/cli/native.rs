//! Commands around compiled programs.

use super::{CcArgs, FrontEndArgs};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Backend that runs packets.
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

/// Product of a build.
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
    /// Decisions that shape the C: tables, suspension points, offload blocks, fast path
    Plan,
    /// Records of tables as structs of C, for controllers in shared memory
    ShmHeader,
}

#[derive(Debug, Args)]
pub struct BuildArgs {
    /// A program; `-` is standard input
    pub program: PathBuf,
    /// Write to this file; `-` is standard output [default: named as the program, with the suffix of what it is]
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// The product
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
