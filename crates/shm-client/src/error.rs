//! Errors of sessions.

use std::io;

/// Why something has failed. [`code`](Error::code) is a canonical code of gRPC.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot connect to {path}: {error}")]
    Connect { path: String, error: io::Error },
    /// The switch has refused the session or a request.
    #[error("{message}")]
    Refused {
        code: u32,
        message: String,
        /// An encoded `google.rpc.Status`, if there are details.
        details: Vec<u8>,
    },
    /// The session is over. Requests that were not answered may have been carried out or not.
    #[error("the switch has ended the session{0}; what was not answered is unknown, so read it back")]
    Ended(String),
    #[error("no slot is free")]
    NoSlot,
    #[error("a request has {0} bytes of slots, which {1} do not fit")]
    TooLong(usize, usize),
    #[error("no answer within the time")]
    Timeout,
    #[error("{0}")]
    Invalid(String),
    #[error("the switch does not follow the protocol: {0}")]
    Protocol(&'static str),
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl Error {
    /// The canonical code.
    pub fn code(&self) -> u32 {
        match self {
            Error::Refused { code, .. } => *code,
            Error::Connect { .. } | Error::Ended(_) | Error::Io(_) => 14,
            Error::NoSlot | Error::TooLong(..) => 8,
            Error::Timeout => 4,
            Error::Invalid(_) => 3,
            Error::Protocol(_) => 13,
        }
    }
}

/// The message of an encoded `google.rpc.Status`; empty if it has none.
pub(crate) fn status_message(status: &[u8]) -> String {
    let mut rest = status;
    while let Some((tag, after)) = varint(rest) {
        let Some((value, after)) = varint(after) else { break };
        match tag & 7 {
            0 => rest = after,
            2 if value as usize <= after.len() => {
                let (bytes, next) = after.split_at(value as usize);
                if tag == 2 << 3 | 2 {
                    return String::from_utf8_lossy(bytes).into_owned();
                }
                rest = next;
            }
            _ => break,
        }
    }
    String::new()
}

fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0;
    for (i, byte) in bytes.iter().enumerate().take(10) {
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte & 0x80 == 0 {
            return Some((value, &bytes[i + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::status_message;

    #[test]
    fn the_message_of_a_status_is_found() {
        assert_eq!(status_message(b"\x08\x05\x12\x03abc\x1a\x01x"), "abc");
        assert_eq!(status_message(b"\x08\x05"), "");
        assert_eq!(status_message(b"\x12\x7fabc"), "");
    }
}
