//! Compression of payloads with LZ4: blocks without frames (the LZ4 block format).
//!
//! A call whose result exceeds the room behind the packet, or whose input is not a block, returns `false` and
//! leaves the packet unchanged.

use crate::call::{CallView, State, c_function, close, open};
use crate::library::{BuiltIn, PacketUse};

pub(crate) const EXTERNS: &[BuiltIn] = &[
    BuiltIn {
        name: "lz4_compress",
        declaration: "bool lz4_compress(in bit<16> offset)",
        packet: PacketUse::Changed,
        open: Some(open::<Scratch>),
        close: Some(close::<Scratch>),
        run: run_compress,
        run_batch: None,
    },
    BuiltIn {
        name: "lz4_decompress",
        declaration: "bool lz4_decompress(in bit<16> offset)",
        packet: PacketUse::Changed,
        open: Some(open::<Scratch>),
        close: Some(close::<Scratch>),
        run: run_decompress,
        run_batch: None,
    },
];

c_function!(run_compress, Scratch, compress);
c_function!(run_decompress, Scratch, decompress);

/// Output buffer; grows to the largest result.
struct Scratch(Vec<u8>);

impl State for Scratch {
    fn open(_option: Option<&str>) -> Result<Scratch, String> {
        Ok(Scratch(Vec::new()))
    }
}

impl Scratch {
    fn bytes(&mut self, n: usize) -> &mut [u8] {
        if self.0.len() < n {
            self.0.resize(n, 0);
        }
        &mut self.0[..n]
    }
}

fn compress(scratch: &mut Scratch, call: &mut CallView<'_>) {
    replace(scratch, call, |text, _, scratch| {
        let to = scratch.bytes(lz4_flex::block::get_maximum_output_size(text.len()));
        lz4_flex::block::compress_into(text, to).ok()
    });
}

fn decompress(scratch: &mut Scratch, call: &mut CallView<'_>) {
    replace(scratch, call, |block, n_max, scratch| {
        lz4_flex::block::decompress_into(block, scratch.bytes(n_max)).ok()
    });
}

/// Replaces the bytes from an offset on by the result of `work`, whose length is limited by the room.
fn replace(
    scratch: &mut Scratch,
    call: &mut CallView<'_>,
    work: impl FnOnce(&[u8], usize, &mut Scratch) -> Option<usize>,
) {
    let offset = usize::try_from(call.number(0)).unwrap_or(usize::MAX);
    let replaced = || {
        let payload = call.payload()?;
        let from = payload.room.get(..payload.length)?.get(offset..)?;
        let n = work(from, payload.room.len() - offset, scratch)?;
        payload.room.get_mut(offset..)?.get_mut(..n)?.copy_from_slice(scratch.0.get(..n)?);
        Some(offset + n)
    };
    let length = replaced();
    if let Some(length) = length {
        call.set_payload_length(length);
    }
    call.set_result(u64::from(length.is_some()));
}
