//! Messages that are written in other ways than usual, or damaged.

use fastrand::Rng;

/// Depth of messages in an update.
const DEPTH_MAX: u32 = 7;

/// A field as it lies in a message.
#[derive(Clone, Debug)]
struct Field {
    number: u64,
    wire_type: u64,
    /// The value of a varint.
    varint: u64,
    contents: Vec<u8>,
}

/// Changes a message in one place.
pub(super) fn damage(rng: &mut Rng, message: &[u8]) -> Vec<u8> {
    changed(rng, message, 0)
}

fn changed(rng: &mut Rng, message: &[u8], depth: u32) -> Vec<u8> {
    let Some(mut fields) = split(message).filter(|fields| !fields.is_empty()) else {
        return noise(rng, message);
    };
    let i = rng.usize(..fields.len());
    // Mostly deep inside.
    if fields[i].wire_type == 2 && depth < DEPTH_MAX && rng.u8(..4) > 0 {
        fields[i].contents = changed(rng, &fields[i].contents, depth + 1);
        return join(rng, &fields, None);
    }
    let mut overlong = None;
    match rng.u8(..12) {
        0 => rng.shuffle(&mut fields),
        1 => {
            let field = fields[i].clone();
            let at = rng.usize(..=fields.len());
            fields.insert(at, field);
        }
        2 => {
            fields.remove(i);
        }
        3 => {
            // Protobuf merges messages that come in parts.
            if let Some(mut parts) = split(&fields[i].contents).filter(|_| fields[i].wire_type == 2) {
                let rest = parts.split_off(rng.usize(..=parts.len()));
                let second = Field { contents: join(rng, &rest, None), ..fields[i].clone() };
                fields[i].contents = join(rng, &parts, None);
                fields.insert(i + 1, second);
            }
        }
        4 => overlong = Some(i),
        5 => {
            let number = [13, 15, 16, 100, 5000][rng.usize(..5)];
            let wire_type = [0, 1, 2, 5][rng.usize(..4)];
            let n_bytes = [0, 8, rng.usize(..5), 0, 0, 4][wire_type as usize];
            let contents = (0..n_bytes).map(|_| rng.u8(..)).collect();
            let at = rng.usize(..=fields.len());
            fields.insert(at, Field { number, wire_type, varint: rng.u64(..), contents });
        }
        6 => {
            let mut bytes = join(rng, &fields, None);
            bytes.truncate(rng.usize(..=bytes.len()));
            return bytes;
        }
        7 => fields[i].number = rng.u64(0..16),
        8 => fields[i].wire_type = rng.u64(0..8),
        9 => {
            let any = rng.u64(..);
            let all = [0, 1, 2, 3, 127, 128, u64::from(u32::MAX), 1 << 32, u64::MAX, 1 << 63, any];
            fields[i].varint = all[rng.usize(..all.len())];
        }
        10 => {
            let zeros = vec![0; rng.usize(1..4)];
            fields[i].contents.splice(0..0, zeros);
        }
        _ => return noise(rng, message),
    }
    join(rng, &fields, overlong)
}

fn noise(rng: &mut Rng, message: &[u8]) -> Vec<u8> {
    let mut bytes = message.to_vec();
    match (rng.u8(..4), bytes.is_empty()) {
        (0, _) | (_, true) => bytes.insert(rng.usize(..=bytes.len()), rng.u8(..)),
        (1, _) => {
            bytes.remove(rng.usize(..bytes.len()));
        }
        (2, _) => {
            let at = rng.usize(..bytes.len());
            bytes[at] ^= 1 << rng.u8(..8);
        }
        _ => bytes.clear(),
    }
    bytes
}

/// The fields of a message; `None` if the bytes are none.
fn split(mut bytes: &[u8]) -> Option<Vec<Field>> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes)?;
        let (number, wire_type) = (key >> 3, key & 7);
        let mut field = Field { number, wire_type, varint: 0, contents: Vec::new() };
        let n_bytes = match wire_type {
            0 => {
                field.varint = varint(&mut bytes)?;
                0
            }
            1 => 8,
            2 => usize::try_from(varint(&mut bytes)?).ok()?,
            5 => 4,
            _ => return None,
        };
        let (contents, rest) = bytes.split_at_checked(n_bytes)?;
        field.contents = contents.to_vec();
        bytes = rest;
        fields.push(field);
    }
    Some(fields)
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for i in 0..10 {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << (7 * i);
        if *byte < 0x80 {
            return Some(value);
        }
    }
    None
}

/// The bytes of fields. Of one of them, a number takes more bytes than it needs.
fn join(rng: &mut Rng, fields: &[Field], overlong: Option<usize>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (i, field) in fields.iter().enumerate() {
        let which = (overlong == Some(i)).then(|| rng.u8(..2));
        put_varint(field.number << 3 | field.wire_type, which == Some(0), &mut bytes);
        match field.wire_type {
            0 => put_varint(field.varint, which == Some(1), &mut bytes),
            2 => put_varint(field.contents.len() as u64, which == Some(1), &mut bytes),
            _ => {}
        }
        bytes.extend_from_slice(&field.contents);
    }
    bytes
}

pub(super) fn put_varint(mut value: u64, is_overlong: bool, bytes: &mut Vec<u8>) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    if is_overlong {
        bytes.extend([value as u8 | 0x80, 0]);
    } else {
        bytes.push(value as u8);
    }
}
