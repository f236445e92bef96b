//! `siding shims`, and the command lines of the commands that it makes.

use super::FrontEndArgs;
use clap::{Args, Parser, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct ShimsArgs {
    /// The directory for the commands; it is made if it is not there. Put it first on your PATH
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Remove the commands
    #[arg(long)]
    pub remove: bool,
}

/// Compiles P4-16 for a switch that is started as simple_switch or simple_switch_grpc. Siding runs behind the name of p4c.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100, args_override_self = true)]
#[command(after_help = "Exit codes: 0 ok, 1 an error")]
pub struct P4cArgs {
    /// The program
    #[arg(value_name = "PROGRAM.p4")]
    pub program: PathBuf,
    /// p4c-bm2-ss: write the program to this file. p4c: write it to this directory, as PROGRAM.json
    #[arg(short = 'o', value_name = "PATH")]
    pub output: Option<PathBuf>,
    /// Write P4Info to these files; .txtpb, .txt, .json or .bin says how
    #[arg(long, value_name = "FILES", value_delimiter = ',')]
    pub p4runtime_files: Vec<PathBuf>,
    /// Write P4Info to this file, in the format of --p4runtime-format
    #[arg(long, value_name = "FILE")]
    pub p4runtime_file: Option<PathBuf>,
    /// Format of --p4runtime-file
    #[arg(long, value_enum, default_value = "text", value_name = "FORMAT")]
    pub p4runtime_format: P4RuntimeFormatArg,
    /// Write the initial entries to these files
    #[arg(long, value_name = "FILES", value_delimiter = ',')]
    pub p4runtime_entries_files: Vec<PathBuf>,
    /// Only preprocess and print the result
    #[arg(short = 'E')]
    pub preprocess_only: bool,
    /// Write the program as it was parsed to this file
    #[arg(long, value_name = "FILE")]
    pub pp: Option<PathBuf>,
    /// No effect; accepted for the sake of habit
    #[arg(long, hide = true)]
    pub emit_externs: bool,
    /// No effect; accepted for the sake of habit
    #[arg(short = 'g', long, hide = true)]
    pub debug: bool,
    /// No effect; accepted for the sake of habit
    #[arg(short = 'T', hide = true, value_name = "LEVELS")]
    pub log: Option<String>,
    #[command(flatten)]
    pub front_end: FrontEndArgs,
}

/// Formats of P4Info.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum P4RuntimeFormatArg {
    Text,
    Json,
    Binary,
}

/// Runs commands of BMv2's command line, which are read from standard input, on a switch. Siding runs behind the name of
/// simple_switch_CLI.
#[derive(Debug, Parser)]
#[command(name = "simple_switch_CLI", version, max_term_width = 100, args_override_self = true)]
pub struct CliArgs {
    /// The switch that was started with this --thrift-port
    #[arg(long, value_name = "N", default_value_t = 9090)]
    pub thrift_port: u16,
    /// The host of the switch; only this one
    #[arg(long, value_name = "ADDRESS", default_value = "localhost", value_parser = ["localhost", "127.0.0.1"])]
    pub thrift_ip: String,
    /// No effect; accepted for the sake of habit
    #[arg(long, hide = true, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// No effect; accepted for the sake of habit
    #[arg(long, hide = true, value_name = "KIND")]
    pub pre: Option<String>,
}
