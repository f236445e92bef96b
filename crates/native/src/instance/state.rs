//! Memory for the variables of one packet.

use crate::toolchain::load::STATE_ALIGN_MAX;
use std::ffi::c_void;

#[repr(C, align(64))]
#[derive(Clone, Copy, Debug)]
struct Line([u8; 64]);

const _: () = assert!(align_of::<Line>() >= STATE_ALIGN_MAX);

/// Bytes aligned for any program's state: zeros on arrival.
#[derive(Clone, Debug)]
pub(crate) struct State {
    lines: Vec<Line>,
    n_bytes: usize,
}

impl State {
    pub(crate) fn new(n_bytes: usize) -> State {
        State { lines: vec![Line([0; 64]); n_bytes.div_ceil(size_of::<Line>())], n_bytes }
    }

    pub(crate) fn clear(&mut self) {
        self.lines.fill(Line([0; 64]));
    }

    pub(crate) fn as_mut_ptr(&mut self) -> *mut c_void {
        self.lines.as_mut_ptr().cast()
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: the lines are at least this many initialised bytes without padding.
        #[expect(unsafe_code, reason = "aligned memory as bytes")]
        unsafe {
            std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.n_bytes)
        }
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above; any bytes are valid lines.
        #[expect(unsafe_code, reason = "aligned memory as bytes")]
        unsafe {
            std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.n_bytes)
        }
    }
}
