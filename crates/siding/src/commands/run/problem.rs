//! Captures that cannot be read, and other reasons to end.

use crate::output::Exit;
use packet_io::{Damage, PacketReader, ReadError};
use std::fs::File;
use std::path::Path;

/// Message and exit code.
pub type Problem = (String, Exit);

pub fn environment(error: impl std::fmt::Display) -> Problem {
    (error.to_string(), Exit::Environment)
}

/// Opens a capture, of Ethernet unless any link type is welcome.
pub fn open_capture(path: &Path, any_link_type: bool) -> Result<PacketReader<File>, Problem> {
    let reader = PacketReader::<File>::open(path).map_err(environment)?;
    Ok(if any_link_type { reader } else { reader.ethernet_only() })
}

/// A capture that cannot be read further, with the option that helps.
pub fn damaged(error: ReadError) -> Problem {
    let help = match error.damage {
        Damage::NotEthernet { .. } => "; --any-link-type takes the packets as they are",
        _ => "",
    };
    environment(format!("{error}{help}"))
}
