//! Records of one batch.

use crate::error::Error;
use crate::session::{Session, Slots};
use crate::table::{ActionLayout, FieldLayout, KeyLayout, MatchKind, TableLayout};
use crate::wire::{Op, REPORT_CODES, REPORT_TEXT, Request, kind};
use std::time::Instant;

/// Records in a slot, before they are submitted. Dropped, nothing has happened.
#[derive(Debug)]
pub struct Batch<'s> {
    session: &'s mut Session,
    slots: Option<Slots>,
    program: u64,
    table: &'s TableLayout,
    op: Op,
    n: usize,
}

impl Session {
    /// Begins a batch of `n` records, which are zero; waits for a free slot.
    pub fn begin<'s>(
        &'s mut self,
        program: u64,
        table: &'s TableLayout,
        op: Op,
        n: usize,
    ) -> Result<Batch<'s>, Error> {
        let deadline = Instant::now() + self.timeout;
        self.begin_until(program, table, op, n, deadline)
    }

    /// Like [`begin`](Self::begin), but fails with [`Error::NoSlot`] instead of waiting.
    pub fn try_begin<'s>(
        &'s mut self,
        program: u64,
        table: &'s TableLayout,
        op: Op,
        n: usize,
    ) -> Result<Batch<'s>, Error> {
        self.begin_until(program, table, op, n, Instant::now())
    }

    fn begin_until<'s>(
        &'s mut self,
        program: u64,
        table: &'s TableLayout,
        op: Op,
        n: usize,
        deadline: Instant,
    ) -> Result<Batch<'s>, Error> {
        if table.record_bytes == 0 {
            return Err(Error::Invalid(format!("entries of `{}` cannot be records", table.name)));
        }
        let slots = self.take_slots(n.saturating_mul(table.record_bytes as usize).max(1), deadline)?;
        Ok(Batch::new(self, slots, program, table, op, n))
    }
}

impl<'s> Batch<'s> {
    pub(crate) fn new(
        session: &'s mut Session,
        slots: Slots,
        program: u64,
        table: &'s TableLayout,
        op: Op,
        n: usize,
    ) -> Batch<'s> {
        let mut batch = Batch { session, slots: Some(slots), program, table, op, n };
        batch.bytes().fill(0);
        batch
    }

    /// The records, one after the other.
    pub fn bytes(&mut self) -> &mut [u8] {
        let sizes = self.session.sizes();
        let at = sizes.slots_at() + self.slots.unwrap_or_default().slot * sizes.slot_bytes;
        let n_bytes = self.n * self.table.record_bytes as usize;
        self.session.rings.connected.c.bytes_mut(at, n_bytes)
    }

    /// One record.
    pub fn record(&mut self, i: usize) -> Record<'_> {
        let (table, record_bytes) = (self.table, self.table.record_bytes as usize);
        Record { bytes: &mut self.bytes()[i * record_bytes..][..record_bytes], table }
    }

    /// Publishes the first `n` records, and returns the number of the request.
    pub fn submit_first(mut self, n: usize) -> Result<u64, Error> {
        self.n = self.n.min(n);
        self.submit()
    }

    /// Publishes the records, and returns the number of the request.
    pub fn submit(mut self) -> Result<u64, Error> {
        let request = Request {
            program: self.program,
            hash: self.table.hash(),
            n: self.n as u64,
            kind: kind::RECORDS,
            op: self.op as u32,
            table: self.table.id,
            parts: self.table.parts,
            record_bytes: self.table.record_bytes,
            report: REPORT_CODES | REPORT_TEXT,
            ..Request::default()
        };
        let slots = self.slots;
        let number = self.session.submit(request, slots)?;
        // The completion frees them.
        self.slots = None;
        Ok(number)
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        if let Some(slots) = self.slots.take() {
            self.session.free_slots(slots);
        }
    }
}

/// A record that is being filled. Values are big-endian bytes of any length, as in P4Runtime, or integers.
#[derive(Debug)]
pub struct Record<'r> {
    bytes: &'r mut [u8],
    table: &'r TableLayout,
}

impl Record<'_> {
    pub fn bytes(&mut self) -> &mut [u8] {
        self.bytes
    }

    fn put(&mut self, offset: u32, field: &FieldLayout, value: &[u8]) -> Result<(), Error> {
        let to = &mut self.bytes[offset as usize..][..field.n_bytes as usize];
        let value = &value[value.iter().take_while(|byte| **byte == 0).count()..];
        if value.len() > to.len() {
            return Err(Error::Invalid(format!("`{}` has {} bits", field.name, field.n_bits)));
        }
        to.fill(0);
        to.iter_mut().zip(value.iter().rev()).for_each(|(to, byte)| *to = *byte);
        Ok(())
    }

    /// The value of an exact or optional element; optional ones match just it.
    pub fn set_exact(&mut self, key: &KeyLayout, value: &[u8]) -> Result<(), Error> {
        self.put(key.field.offset, &key.field, value)?;
        match (key.kind, key.second_at) {
            (MatchKind::Optional, Some(at)) => self.put_prefix(at, &key.field, key.field.n_bits),
            _ => Ok(()),
        }
    }

    fn put_prefix(&mut self, at: u32, field: &FieldLayout, prefix_bits: u32) -> Result<(), Error> {
        let low = field.n_bits.checked_sub(prefix_bits);
        let low = low.ok_or_else(|| Error::Invalid(format!("`{}` has {} bits", field.name, field.n_bits)))?;
        for (i, byte) in (0u32..).zip(&mut self.bytes[at as usize..][..field.n_bytes as usize]) {
            let ones = |n_bits: u32| ((1u16 << n_bits.saturating_sub(8 * i).min(8)) - 1) as u8;
            *byte = ones(field.n_bits) & !ones(low);
        }
        Ok(())
    }

    /// The value of an LPM element, whose bits behind the prefix are zero.
    pub fn set_lpm(&mut self, key: &KeyLayout, value: &[u8], prefix_bits: u32) -> Result<(), Error> {
        self.put(key.field.offset, &key.field, value)?;
        self.put_prefix(second(key)?, &key.field, prefix_bits)
    }

    /// Value and mask, or the two ends of a range.
    pub fn set_pair(&mut self, key: &KeyLayout, value: &[u8], second_value: &[u8]) -> Result<(), Error> {
        self.put(key.field.offset, &key.field, value)?;
        self.put(second(key)?, &key.field, second_value)
    }

    /// Ternary, LPM and optional elements that are not set match anything; ranges must be set.
    pub fn set_action(&mut self, action: &ActionLayout) {
        self.set_action_number(action.index);
    }

    fn set_action_number(&mut self, number: u32) {
        let n_bytes = self.table.action_bytes as usize;
        self.bytes[self.table.action_at as usize..][..n_bytes]
            .copy_from_slice(&number.to_le_bytes()[..n_bytes]);
    }

    /// The entry names a member of the table's profile.
    pub fn set_member(&mut self, id: u32) {
        self.set_of_profile(1, id);
    }

    /// The entry names a group of the table's profile.
    pub fn set_group(&mut self, id: u32) {
        self.set_of_profile(2, id);
    }

    fn set_of_profile(&mut self, kind: u8, id: u32) {
        if let Some(at) = self.table.kind_at {
            self.bytes[at as usize] = kind;
            self.set_action_number(id);
        }
    }

    pub fn set_param(&mut self, param: &FieldLayout, value: &[u8]) -> Result<(), Error> {
        self.put(param.offset, param, value)
    }

    /// Without effect in tables without priorities.
    pub fn set_priority(&mut self, priority: i32) {
        if let Some(at) = self.table.priority_at {
            self.bytes[at as usize..][..4].copy_from_slice(&priority.to_le_bytes());
        }
    }

    /// Nanoseconds; without effect unless the layout has the part.
    pub fn set_idle_timeout(&mut self, timeout_ns: u64) {
        if let Some(at) = self.table.idle_timeout_at {
            self.bytes[at as usize..][..8].copy_from_slice(&timeout_ns.to_le_bytes());
        }
    }

    /// Without effect unless the layout has the part.
    pub fn set_count(&mut self, n_packets: u64, n_bytes: u64) {
        if let Some(at) = self.table.count_at {
            let to = &mut self.bytes[at as usize..][..16];
            to[..8].copy_from_slice(&n_packets.to_le_bytes());
            to[8..].copy_from_slice(&n_bytes.to_le_bytes());
        }
    }
}

fn second(key: &KeyLayout) -> Result<u32, Error> {
    key.second_at.ok_or_else(|| Error::Invalid(format!("`{}` is matched exactly", key.field.name)))
}
