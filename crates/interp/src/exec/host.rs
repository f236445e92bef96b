//! The seam between programs and extern functions and objects.

use super::state::Missed;
use super::{Frame, PacketState};
use crate::load::{Executable, ExternArg, ExternCall, SlotRange, index_of};
use crate::table::{EntryRef, Tables};
use arch::FieldRole;
use ir::{Bits, TableId};
use target::{ExternArgs, ExternEnd, PacketParts};

/// Does what extern functions and methods do.
pub trait ExternHost {
    /// Results and `out` arguments go through `access`; without them they keep what they held.
    fn call(&mut self, call: &ExternCall, access: &mut Access<'_>) -> ExternEnd;

    /// A random number for a group that selects at random.
    fn random(&mut self) -> u64 {
        0
    }

    /// A table with a direct counter or meter was looked up; the action of the entry runs next.
    fn looked_up(&mut self, looked_up: LookedUp<'_>) {
        let _ = looked_up;
    }
}

/// A lookup of a table with a direct counter or meter: the entry that it found, or the default entry.
pub struct LookedUp<'a> {
    pub exe: &'a Executable,
    pub tables: &'a mut Tables,
    pub table: TableId,
    pub entry: EntryRef,
    /// The length of the packet on arrival.
    pub n_bytes: u64,
    pub now_ns: u64,
}

/// Accepts every call and does nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoExterns;

impl ExternHost for NoExterns {
    fn call(&mut self, _: &ExternCall, _: &mut Access<'_>) -> ExternEnd {
        ExternEnd::Next
    }
}

/// The view of an extern call: the values that it can see and change.
pub struct Access<'a> {
    pub exe: &'a Executable,
    pub packet: &'a mut PacketState,
    pub tables: &'a mut Tables,
    /// The table whose action runs, and its entry.
    pub entry: Option<(TableId, EntryRef)>,
    /// The table that was missed last, and the values of its keys.
    pub missed: Option<&'a Missed>,
    pub now_ns: u64,
    /// Notes of the call for the story.
    pub notes: Vec<String>,
    pub(crate) call: &'a ExternCall,
}

impl Frame {
    /// An argument of an extern: the leaves of an aggregate without validity bits and indices, or a single value.
    pub(super) fn values_of(&self, arg: &ExternArg) -> Vec<Bits> {
        match arg {
            ExternArg::In(slot) => vec![self.get(*slot).clone()],
            ExternArg::Fields { range, .. } => self.range(*range).to_vec(),
            ExternArg::Ref { values, .. } => values.iter().map(|s| self.get(*s).clone()).collect(),
            ExternArg::Str(_) | ExternArg::Table { .. } | ExternArg::Absent => Vec::new(),
        }
    }
}

impl Access<'_> {
    fn arg(&self, i: usize) -> Option<&ExternArg> {
        self.call.args.get(i)
    }

    /// An `in` argument of a single value.
    pub fn value(&self, arg: usize) -> Option<&Bits> {
        match self.arg(arg)? {
            ExternArg::In(slot) => Some(self.packet.frame.get(*slot)),
            ExternArg::Fields { .. }
            | ExternArg::Ref { .. }
            | ExternArg::Str(_)
            | ExternArg::Table { .. }
            | ExternArg::Absent => None,
        }
    }

    /// The argument as a number; it saturates.
    pub fn number(&self, arg: usize) -> Option<u64> {
        self.value(arg).map(|v| v.to_u64().unwrap_or(u64::MAX))
    }

    /// The values of an argument: leaves of an aggregate without validity bits and indices, or a single value.
    pub fn values(&self, arg: usize) -> Vec<Bits> {
        self.arg(arg).map_or_else(Vec::new, |arg| self.packet.frame.values_of(arg))
    }

    pub fn text(&self, arg: usize) -> Option<&str> {
        match self.arg(arg)? {
            ExternArg::Str(text) => Some(text),
            ExternArg::In(_)
            | ExternArg::Fields { .. }
            | ExternArg::Ref { .. }
            | ExternArg::Table { .. }
            | ExternArg::Absent => None,
        }
    }

    /// The table that an operation of tables works on, and the action that it names.
    pub fn table(&self, arg: usize) -> Option<(TableId, Option<u32>)> {
        match self.arg(arg)? {
            ExternArg::Table { table, action } => Some((*table, *action)),
            ExternArg::In(_)
            | ExternArg::Fields { .. }
            | ExternArg::Ref { .. }
            | ExternArg::Str(_)
            | ExternArg::Absent => None,
        }
    }

    /// The entry of a table whose action runs.
    pub fn entry_of(&self, table: TableId) -> Option<EntryRef> {
        self.entry.filter(|(of, _)| *of == table).map(|(_, entry)| entry)
    }

    pub fn is_absent(&self, arg: usize) -> bool {
        matches!(self.arg(arg), Some(ExternArg::Absent) | None)
    }

    /// The slots of an `out` or `inout` argument, validity bits and indices included.
    pub fn reference(&self, arg: usize) -> Option<SlotRange> {
        match self.arg(arg)? {
            ExternArg::Ref { range, .. } => Some(*range),
            ExternArg::In(_)
            | ExternArg::Fields { .. }
            | ExternArg::Str(_)
            | ExternArg::Table { .. }
            | ExternArg::Absent => None,
        }
    }

    /// The width of a single value, or of the first of several; 0 when there is none.
    pub fn width(&self, arg: usize) -> u32 {
        let frame = &self.packet.frame;
        match self.arg(arg) {
            Some(ExternArg::In(slot)) => frame.get(*slot).width(),
            Some(ExternArg::Fields { range, .. }) => frame.range(*range).first().map_or(0, Bits::width),
            Some(ExternArg::Ref { values, .. }) => values.first().map_or(0, |s| frame.get(*s).width()),
            Some(ExternArg::Str(_) | ExternArg::Table { .. } | ExternArg::Absent) | None => 0,
        }
    }

    /// Assigns an `out` argument: one value for each leaf, of any width (cut or extended by zeros). Validity
    /// bits and indices stay.
    pub fn set(&mut self, arg: usize, values: &[Bits]) {
        let Some(ExternArg::Ref { values: slots, .. }) = self.call.args.get(arg) else { return };
        for (slot, value) in slots.iter().zip(values) {
            let width = self.packet.frame.get(*slot).width();
            self.packet.frame.set(*slot, value.resize(width));
        }
    }

    /// The width of the result; 0 when there is none.
    pub fn result_width(&self) -> u32 {
        self.call.result.map_or(0, |r| self.packet.frame.get(r.first).width())
    }

    /// Sets the result to a value of any width: it is cut or extended by zeros.
    pub fn set_result(&mut self, value: &Bits) {
        if let Some(range) = self.call.result.filter(|r| r.len > 0) {
            let width = self.packet.frame.get(range.first).width();
            self.packet.frame.set(range.first, value.resize(width));
        }
    }

    /// A field of the architecture's metadata.
    pub fn field(&self, role: FieldRole) -> Option<&Bits> {
        self.exe.field(role).map(|slot| self.packet.frame.get(slot))
    }

    /// Sets a field of the architecture's metadata. Has no effect when there is no such field.
    pub fn set_field(&mut self, role: FieldRole, value: u64) {
        if let Some(slot) = self.exe.field(role) {
            let width = self.packet.frame.get(slot).width();
            self.packet.frame.set(slot, Bits::new(width, u128::from(value)));
        }
    }
}

/// The view of a user's extern: the values that it may see and change.
impl ExternArgs for Access<'_> {
    fn value(&self, arg: usize) -> Option<Bits> {
        Access::value(self, arg).cloned()
    }

    fn number(&self, arg: usize) -> Option<u64> {
        Access::number(self, arg)
    }

    fn values(&self, arg: usize) -> Vec<Bits> {
        Access::values(self, arg)
    }

    fn text(&self, arg: usize) -> Option<&str> {
        Access::text(self, arg)
    }

    fn is_absent(&self, arg: usize) -> bool {
        Access::is_absent(self, arg)
    }

    fn width(&self, arg: usize) -> u32 {
        Access::width(self, arg)
    }

    fn set(&mut self, arg: usize, values: &[Bits]) {
        Access::set(self, arg, values);
    }

    fn result_width(&self) -> u32 {
        Access::result_width(self)
    }

    fn result(&self) -> Bits {
        self.call.result.map_or(Bits::zero(0), |r| self.packet.frame.get(r.first).clone())
    }

    fn set_result(&mut self, value: &Bits) {
        Access::set_result(self, value);
    }

    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn packet_length(&self) -> u64 {
        self.packet.bytes.len() as u64
    }

    fn object(&self) -> Option<u32> {
        self.call.object.map(|id| index_of(id) as u32)
    }

    fn packet(&self) -> PacketParts<'_> {
        let port = self.field(FieldRole::IngressPort).and_then(Bits::to_u64).unwrap_or(0);
        PacketParts {
            bytes: &self.packet.bytes,
            payload_at: self.packet.payload_at(),
            ingress_port: u32::try_from(port).unwrap_or(u32::MAX),
        }
    }

    fn set_payload(&mut self, payload: &[u8]) {
        let from = self.packet.payload_at();
        self.packet.bytes.truncate(from);
        self.packet.bytes.extend_from_slice(payload);
    }
}
