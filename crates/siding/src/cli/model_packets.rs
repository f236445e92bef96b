//! Arguments of commands that predict costs of a program's packets.

use super::parse_port_file;
use clap::Args;
use std::path::PathBuf;

/// The entries of a program, its packets, and the machine.
#[derive(Debug, Args)]
pub struct ModelPacketsArgs {
    /// A test script: its entries are written, and its packets say how packets go; or a file of entries, in any format
    pub script: Option<PathBuf>,
    /// Packets of this capture say how packets go, in place of those of the script; the first 100000 count (repeatable)
    #[arg(long, value_name = "[PORT=]FILE", requires = "program", value_parser = parse_port_file)]
    pub pcap: Vec<(u32, PathBuf)>,
    /// A profile of `siding model calibrate`
    #[arg(long, value_name = "FILE.json", default_value = "siding-profile.json")]
    pub profile: PathBuf,
}
