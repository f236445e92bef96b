//! `siding extern`.

use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub enum ExternCommand {
    /// Make a folder with an extern in C, a program that calls it, a test and a Makefile
    New(ExternNewArgs),
    /// Print the C header that externs include
    Header(ExternHeaderArgs),
}

#[derive(Debug, Args)]
pub struct ExternNewArgs {
    /// Name of the extern in P4 and in C
    pub name: String,
    /// The folder to make; it must not exist [default: NAME]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Declare a function or an object
    #[arg(long, value_enum, default_value = "function", value_name = "KIND")]
    pub kind: ExternKindArg,
}

/// Kinds of externs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExternKindArg {
    /// A function without state: its result depends on its arguments only
    Function,
    /// A type with a constructor and a method; each object has state
    Object,
}

#[derive(Debug, Args)]
pub struct ExternHeaderArgs {
    /// Write siding_extern.h to this directory [default: standard output]
    #[arg(short = 'o', long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}
