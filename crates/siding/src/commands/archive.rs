//! Compiled programs as one file: an archive as `tar` makes it, with names and texts that tell what is what.
//!
//! The same content gives the same bytes: there are no times and no owners in it.

use std::io;

/// Of files in an archive.
const MODE: u32 = 0o644;

/// What is in the archive, and where.
pub mod member {
    /// What follows, and what made it.
    pub const MANIFEST: &str = "manifest.json";
    pub const P4INFO: &str = "p4info.txtpb";
    pub const P4INFO_BINARY: &str = "p4info.bin";
    pub const ENTRIES: &str = "entries.txtpb";
    pub const ENTRIES_BINARY: &str = "entries.bin";
    pub const LAYOUT: &str = "layout.json";
    pub const C_TEXT: &str = "pipeline.c";
    pub const OBJECT: &str = "pipeline.so";
    /// A directory for the P4 texts: `0.p4`, `1.p4` and so on. The manifest has their names.
    pub const SOURCES: &str = "src";
}

/// An archive of these files, in this order.
pub fn pack(files: &[(String, Vec<u8>)]) -> io::Result<Vec<u8>> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, bytes) in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(MODE);
        header.set_mtime(0);
        builder.append_data(&mut header, name, bytes.as_slice())?;
    }
    builder.into_inner()
}
