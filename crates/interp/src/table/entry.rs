//! The entries of a table.

use crate::meter::Meter;
use arch::Unit;
use target::store::{Count, DirectCells, EntryAction, EntryHandle, Matches, NewEntry, Origin, StoredAction};
use trace::HitEntry;

/// An entry in a table.
#[derive(Clone, Debug)]
pub struct StoredEntry {
    pub handle: EntryHandle,
    pub matches: Matches,
    pub priority: i32,
    pub action: EntryAction,
    /// 0: never. Entries with a profile have its timeout.
    pub idle_timeout_ns: u64,
    pub profile: Option<u8>,
    pub origin: Origin,
    /// True if the entry can be neither modified nor deleted.
    pub is_const: bool,
    pub n_hits: u64,
    /// Time of the last hit, or of the insertion before the first hit.
    pub last_hit_ns: u64,
    pub direct: Direct,
    /// Time of the last report of its expiry.
    pub(super) reported_ns: Option<u64>,
}

impl StoredEntry {
    /// The entry as the control plane reads it.
    pub fn read(&self) -> target::store::StoredEntry {
        target::store::StoredEntry {
            handle: self.handle,
            matches: self.matches.clone(),
            priority: self.priority,
            action: match &self.action {
                EntryAction::Action(action) => StoredAction::Action(action.clone()),
                EntryAction::Member(member) => StoredAction::Member(*member),
                EntryAction::Group(group) => StoredAction::Group(*group),
                EntryAction::OneShot(_) => StoredAction::OneShot,
            },
            idle_timeout_ns: self.idle_timeout_ns,
            profile: self.profile,
            origin: self.origin,
            is_const: self.is_const,
            last_hit_ns: self.last_hit_ns,
            direct: self.direct.read(),
        }
    }
}

/// The cells of an entry in the table's direct counter and meter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Direct {
    pub n_packets: u64,
    pub n_bytes: u64,
    pub meter: Meter,
}

impl Direct {
    /// Counts a packet. A quantity that the unit does not have stays zero.
    pub fn count(&mut self, unit: Unit, n_bytes: u64) {
        if unit != Unit::Bytes {
            self.n_packets = self.n_packets.wrapping_add(1);
        }
        if unit != Unit::Packets {
            self.n_bytes = self.n_bytes.wrapping_add(n_bytes);
        }
    }

    /// Sets the cells as the control plane writes an entry; without a count the counter goes on.
    pub(super) fn write(&mut self, new: &NewEntry, now_ns: u64) {
        if let Some(count) = new.count {
            (self.n_packets, self.n_bytes) = (count.n_packets, count.n_bytes);
        }
        self.meter.set_rates(new.rates, now_ns);
        self.meter.colours = new.colours.unwrap_or(self.meter.colours);
    }

    /// The cells as the control plane reads them.
    pub fn read(&self) -> DirectCells {
        let count = Count { n_packets: self.n_packets, n_bytes: self.n_bytes };
        DirectCells { count, rates: self.meter.rates(), colours: self.meter.colours }
    }
}

impl<'a> From<&'a StoredEntry> for HitEntry<'a> {
    fn from(entry: &'a StoredEntry) -> HitEntry<'a> {
        HitEntry {
            serial: entry.handle.serial,
            matches: &entry.matches,
            priority: entry.priority,
            is_const: entry.is_const,
            n_hits: entry.n_hits,
        }
    }
}
