//! Plain hexadecimal digits.

use crate::{BYTES_MAX, Fault};

/// True if a text is hexadecimal digits, with or without `0x`, and blanks. No layer has such a name.
pub fn is_hex(text: &str) -> bool {
    digits_of(text).1.chars().all(|c| c.is_ascii_hexdigit() || c.is_whitespace())
}

/// The text without `0x`, and how many bytes stand before it.
fn digits_of(text: &str) -> (usize, &str) {
    let rest = text.trim_start();
    let blanks = text.len() - rest.len();
    match rest.strip_prefix("0x") {
        Some(digits) => (blanks + 2, digits),
        None => (blanks, rest),
    }
}

/// Bytes from hexadecimal digits, with or without `0x`; blanks do not count.
///
/// # Errors
///
/// A character that is no digit, an odd number of digits, or more than [`BYTES_MAX`] bytes.
pub fn hex(text: &str) -> Result<Vec<u8>, Fault> {
    let (base, text) = digits_of(text);
    let mut bytes = Vec::with_capacity(text.len() / 2);
    let mut upper: Option<(usize, u8)> = None;
    for (at, c) in text.char_indices().filter(|(_, c)| !c.is_whitespace()) {
        let Some(digit) = c.to_digit(16) else {
            let message = format!("`{}` is no hexadecimal digit", c.escape_debug());
            return Err(Fault::new(base + at..base + at + c.len_utf8(), message));
        };
        let digit = digit as u8;
        match upper.take() {
            Some((_, upper)) => bytes.push(upper << 4 | digit),
            None => upper = Some((base + at, digit)),
        }
        if bytes.len() > BYTES_MAX {
            return Err(Fault::new(base + at..base + at + 1, too_long(bytes.len())));
        }
    }
    match upper {
        Some((at, _)) => {
            let message = format!("an odd number of hexadecimal digits, {}", 2 * bytes.len() + 1);
            Err(Fault::new(at..at + 1, message).help("each byte has two digits"))
        }
        None => Ok(bytes),
    }
}

pub(crate) fn too_long(n_bytes: usize) -> String {
    format!("a packet has at most {BYTES_MAX} bytes, this one has {n_bytes} or more")
}
