//! The bytes of a payload before its signature.

/// Returns the first `len` bytes of the pattern.
pub(crate) fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(byte).collect()
}

/// Not periodic in any power of two, so that bytes that moved are found.
fn byte(i: usize) -> u8 {
    ((i as u32).wrapping_mul(0x9e37_79b1) >> 24) as u8
}

/// Compares payloads with the pattern, of which it keeps as much as was needed.
#[derive(Debug, Default)]
pub(crate) struct Checker {
    pattern: Vec<u8>,
}

impl Checker {
    pub(crate) fn is_pattern(&mut self, bytes: &[u8]) -> bool {
        // The pattern may have no memory yet, and masked loads from nowhere take some processors hundreds of cycles.
        if bytes.is_empty() {
            return true;
        }
        if self.pattern.len() < bytes.len() {
            self.pattern = pattern(bytes.len().next_power_of_two());
        }
        self.pattern.starts_with(bytes)
    }
}
