//! The outer part of a `WriteRequest`.

use super::cursor::{BYTES, Cursor, VARINT};
use control::session::{RoleName, WriterClaim};

/// A `WriteRequest` whose updates are not decoded yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireRequest<'b> {
    pub claim: WriterClaim,
    /// Bytes of each update.
    pub updates: Vec<&'b [u8]>,
}

impl<'b> WireRequest<'b> {
    /// Looks through a request. `None` if it has to be decoded as a whole: it is damaged, has fields that are unknown or come
    /// twice, names its role by a number, or its updates belong together.
    pub fn scan(bytes: &'b [u8]) -> Option<WireRequest<'b>> {
        let mut cursor = Cursor::new(bytes);
        let (mut device_id, mut election_id, mut role) = (None, None, None);
        let mut updates = Vec::new();
        while !cursor.is_empty() {
            match cursor.key()? {
                (4, BYTES) => updates.push(cursor.bytes()?),
                (1, VARINT) if device_id.is_none() => device_id = Some(cursor.varint()?),
                (3, BYTES) if election_id.is_none() => election_id = Some(uint128(cursor.bytes()?)?),
                (5, VARINT) => (cursor.varint()? == 0).then_some(())?,
                (6, BYTES) if role.is_none() => role = Some(std::str::from_utf8(cursor.bytes()?).ok()?),
                _ => return None,
            }
        }
        let role = RoleName(role.unwrap_or_default().into());
        let claim = WriterClaim { device_id: device_id.unwrap_or_default(), role, election_id };
        Some(WireRequest { claim, updates })
    }
}

fn uint128(bytes: &[u8]) -> Option<u128> {
    let mut cursor = Cursor::new(bytes);
    let high = if cursor.has(1, VARINT) { cursor.varint()? } else { 0 };
    let low = if cursor.has(2, VARINT) { cursor.varint()? } else { 0 };
    cursor.is_empty().then_some(u128::from(high) << 64 | u128::from(low))
}
