//! Columns: the values of one part of all entries of a set.

use control::{Fault, Problem};
use p4info::proto::siding::bulk::v1 as pb;
use prost::bytes::Bytes;

/// A column whose length has been checked.
#[derive(Clone, Copy, Debug)]
pub(super) enum Slots<'c> {
    Same(&'c [u8]),
    /// So many bytes for each entry.
    Fixed(&'c [u8], usize),
    Var(&'c [u8], &'c [u8]),
}

pub(super) fn bad(why: impl Into<String>) -> Fault {
    Problem::BadColumn { why: why.into() }.into()
}

impl<'c> Slots<'c> {
    /// The slots of a column of `n` values, each of `n_bytes` or fewer; `None`: of any length.
    pub(super) fn new(
        column: Option<&'c pb::Column>,
        n: usize,
        n_bytes: Option<usize>,
    ) -> Result<Slots<'c>, Fault> {
        let column = column.ok_or_else(|| bad("the column is missing"))?;
        let values = column.values.as_ref().ok_or_else(|| bad("the column has no values"))?;
        if !matches!(values, pb::column::Values::Var(_)) && !column.ends.is_empty() {
            return Err(bad("`ends` belongs to `var`"));
        }
        match (values, n_bytes) {
            (pb::column::Values::Same(one), Some(n_bytes)) if one.len() != n_bytes => {
                Err(bad(format!("a value has {n_bytes} bytes, not {}", one.len())))
            }
            (pb::column::Values::Same(one), _) => Ok(Slots::Same(one)),
            (pb::column::Values::Fixed(all), Some(n_bytes)) if n.checked_mul(n_bytes) != Some(all.len()) => {
                Err(bad(format!(
                    "{n} values of {n_bytes} bytes are {} bytes, not {}",
                    n * n_bytes,
                    all.len()
                )))
            }
            (pb::column::Values::Fixed(all), Some(n_bytes)) => Ok(Slots::Fixed(all, n_bytes)),
            (pb::column::Values::Fixed(all), None) if n == 0 || !all.len().is_multiple_of(n) => {
                Err(bad(format!("{} bytes cannot be divided among {n} values", all.len())))
            }
            (pb::column::Values::Fixed(all), None) => Ok(Slots::Fixed(all, all.len() / n)),
            (pb::column::Values::Var(all), _) => {
                if n.checked_mul(4) != Some(column.ends.len()) {
                    return Err(bad(format!("`ends` has {} bytes, not {}", column.ends.len(), n * 4)));
                }
                let slots = Slots::Var(all, &column.ends);
                let mut start = 0;
                for i in 0..n {
                    let end = slots.end(i);
                    if end < start || end > all.len() || n_bytes.is_some_and(|n_bytes| end - start > n_bytes)
                    {
                        return Err(bad(format!("value {i} ends at {end}, which is no place for it")));
                    }
                    start = end;
                }
                if start == all.len() { Ok(slots) } else { Err(bad("bytes are left behind the last value")) }
            }
        }
    }

    fn end(&self, i: usize) -> usize {
        let Slots::Var(_, ends) = self else { return 0 };
        let end = &ends[4 * i..4 * i + 4];
        u32::from_le_bytes([end[0], end[1], end[2], end[3]]) as usize
    }

    pub(super) fn get(&self, i: usize) -> &'c [u8] {
        match self {
            Slots::Same(one) => one,
            Slots::Fixed(all, n_bytes) => &all[i * n_bytes..(i + 1) * n_bytes],
            Slots::Var(all, _) => {
                let start = if i == 0 { 0 } else { self.end(i - 1) };
                &all[start..self.end(i)]
            }
        }
    }

    /// Writes values into records as little-endian numbers, the value of slot `first` into the first record.
    pub(super) fn fill(&self, first: usize, records: &mut [u8], record_bytes: usize, offset: usize) {
        match *self {
            Slots::Fixed(all, 1) => each::<1>(&all[first..], records, record_bytes, offset),
            Slots::Fixed(all, 2) => each::<2>(&all[2 * first..], records, record_bytes, offset),
            Slots::Fixed(all, 3) => each::<3>(&all[3 * first..], records, record_bytes, offset),
            Slots::Fixed(all, 4) => each::<4>(&all[4 * first..], records, record_bytes, offset),
            Slots::Fixed(all, 6) => each::<6>(&all[6 * first..], records, record_bytes, offset),
            Slots::Fixed(all, 8) => each::<8>(&all[8 * first..], records, record_bytes, offset),
            Slots::Fixed(all, 16) => each::<16>(&all[16 * first..], records, record_bytes, offset),
            slots => {
                for (i, record) in records.chunks_exact_mut(record_bytes).enumerate() {
                    put(slots.get(first + i), &mut record[offset..]);
                }
            }
        }
    }
}

/// Writes the values of a column of `N` bytes each.
fn each<const N: usize>(all: &[u8], records: &mut [u8], record_bytes: usize, offset: usize) {
    // Once for all records.
    assert!(offset + N <= record_bytes);
    for (record, value) in records.chunks_exact_mut(record_bytes).zip(all.as_chunks::<N>().0) {
        let mut number = *value;
        number.reverse();
        record[offset..offset + N].copy_from_slice(&number);
    }
}

/// Writes a value as a little-endian number.
pub(super) fn put(value: &[u8], to: &mut [u8]) {
    to.iter_mut().zip(value.iter().rev()).for_each(|(to, from)| *to = *from);
}

/// A column of values of one size.
pub(super) fn fixed(bytes: Vec<u8>) -> Option<pb::Column> {
    Some(pb::Column { values: Some(pb::column::Values::Fixed(bytes.into())), ends: Bytes::new() })
}

/// A column of strings.
pub(super) fn var<'v>(values: impl Iterator<Item = &'v [u8]>) -> Option<pb::Column> {
    let (mut all, mut ends) = (Vec::new(), Vec::new());
    for value in values {
        all.extend_from_slice(value);
        ends.extend_from_slice(&u32::try_from(all.len()).unwrap_or(u32::MAX).to_le_bytes());
    }
    Some(pb::Column { values: Some(pb::column::Values::Var(all.into())), ends: ends.into() })
}
