//! `siding entries`.

use super::FrontEndArgs;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub enum EntriesCommand {
    /// Check files of entries against a program
    Check(Box<EntriesCheckArgs>),
    /// Write entries in another format
    Convert(Box<ConvertArgs>),
}

/// A program, or what controllers know of it.
#[derive(Debug, Args)]
pub struct EntriesCheckArgs {
    /// A program, or its P4Info (.txtpb)
    pub program: PathBuf,
    /// Files of entries; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The format of the files [default: by their contents]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub from: Option<EntriesFormatArg>,
    #[command(flatten)]
    pub front_end: FrontEndArgs,
}

#[derive(Debug, Args)]
pub struct ConvertArgs {
    /// A program, or its P4Info (.txtpb)
    pub program: PathBuf,
    /// The file to read; `-` is standard input
    pub input: PathBuf,
    /// The file to write; `-` is standard output
    #[arg(default_value = "-")]
    pub output: PathBuf,
    /// The format of the input [default: by its contents]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub from: Option<EntriesFormatArg>,
    /// The format of the output [default: by its name]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub to: Option<EntriesFormatArg>,
    /// In P4Runtime text and JSON: names and readable values instead of ids and bytes; Siding reads them
    #[arg(long)]
    pub names: bool,
    #[command(flatten)]
    pub front_end: FrontEndArgs,
}

/// How entries are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EntriesFormatArg {
    /// Commands of test scripts
    Script,
    /// Commands for BMv2's command line
    Bmv2,
    /// The P4 tutorials' sX-runtime.json
    RuntimeJson,
    /// A P4Runtime WriteRequest as text
    #[value(name = "p4runtime-text")]
    P4RuntimeText,
    /// A P4Runtime WriteRequest as JSON
    #[value(name = "p4runtime-json")]
    P4RuntimeJson,
    /// A P4Runtime WriteRequest on the wire
    #[value(name = "p4runtime-binary")]
    P4RuntimeBinary,
}

impl EntriesFormatArg {
    pub fn format(self) -> entries::Format {
        match self {
            EntriesFormatArg::Script => entries::Format::Script,
            EntriesFormatArg::Bmv2 => entries::Format::Bmv2,
            EntriesFormatArg::RuntimeJson => entries::Format::RuntimeJson,
            EntriesFormatArg::P4RuntimeText => entries::Format::P4RuntimeText,
            EntriesFormatArg::P4RuntimeJson => entries::Format::P4RuntimeJson,
            EntriesFormatArg::P4RuntimeBinary => entries::Format::P4RuntimeBinary,
        }
    }
}
