//! Lookups: how many bytes their tables take, and for how long packets wait for them.

use super::work::{Component, Counts};
use serde::{Deserialize, Serialize};

/// How a table is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Structure {
    None,
    Exact,
    Direct,
    Lpm,
    /// One hash index for each prefix length.
    PrefixHash,
    Ternary,
    Flow,
}

impl Structure {
    /// By its name in plans.
    pub fn from_name(name: &str) -> Option<Structure> {
        Some(match name {
            "none" => Structure::None,
            "exact" => Structure::Exact,
            "direct" => Structure::Direct,
            "lpm" => Structure::Lpm,
            "prefix_hash" => Structure::PrefixHash,
            "ternary" => Structure::Ternary,
            "flow" => Structure::Flow,
            _ => return None,
        })
    }
}

/// A table's contents, and how packets use it.
#[derive(Clone, Debug, PartialEq)]
pub struct TableUse {
    pub name: String,
    pub structure: Structure,
    /// Lookups per packet.
    pub lookups: f64,
    pub key_bytes: u32,
    /// Bytes of the parameters of its largest action.
    pub data_bytes: u32,
    /// Bytes of parameters on average over the actions that lookups end with.
    pub data_bytes_read: f64,
    /// A lookup ends with a read of an entry outside of the structure.
    pub has_records: bool,
    /// A hit writes to its entry.
    pub writes_records: bool,
    /// All packets of a burst wait for its memory at once.
    pub is_staged: bool,
    /// They are put aside for it, and for tables whose memory is prefetched with it.
    pub suspends: bool,
    pub n_entries: u64,
    /// Entries that packets come to.
    pub n_touched: u64,
    /// Masks of its entries: prefix lengths, combinations of masks and ranges.
    pub n_masks: u64,
    /// Levels below the root that a lookup of prefixes reads ([`super::prefixes::mean_levels`]).
    pub n_levels: f64,
}

/// Cycles from a load to its value, where loads depend on each other, by the bytes that they are spread over.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latencies {
    /// Bytes and cycles, ascending.
    pub points: Vec<(f64, f64)>,
}

impl Latencies {
    /// Cycles for a working set; between points on a straight line over the logarithm of the size.
    pub fn cycles(&self, bytes: f64) -> f64 {
        let Some(first) = self.points.first() else { return 0.0 };
        let above = self.points.partition_point(|(size, _)| *size < bytes);
        match (above.checked_sub(1).map(|i| self.points[i]), self.points.get(above)) {
            (None, _) => first.1,
            (Some(last), None) => last.1,
            (Some((low, from)), Some((high, to))) => {
                from + (to - from) * (bytes / low).ln() / (high / low).ln()
            }
        }
    }

    /// Cycles beyond those of the smallest size.
    pub fn wait(&self, bytes: f64) -> f64 {
        (self.cycles(bytes) - self.points.first().map_or(0.0, |point| point.1)).max(0.0)
    }
}

/// Longest keys that are hashed as one number.
const WORD_BYTES: u32 = 8;
const LINE: f64 = 64.0;
/// Load of a hash table that has grown.
const LOAD: f64 = 0.55;

impl TableUse {
    /// Bytes that packets touch: all of a table whose entries they come to, or the lines of those that they do.
    pub fn working_set(&self) -> f64 {
        let slot = f64::from((self.key_bytes + self.data_bytes).next_multiple_of(8) + 8);
        let record =
            if self.has_records { f64::from(self.data_bytes.next_multiple_of(8)) + LINE } else { 0.0 };
        let entry = match self.structure {
            Structure::None => return 0.0,
            Structure::Exact | Structure::Flow => (slot + 32.0 / 15.0) / LOAD,
            Structure::Direct => 8.0,
            Structure::Lpm | Structure::PrefixHash => LINE / 4.0,
            Structure::Ternary => 2.0 * f64::from(self.key_bytes),
        };
        let all = self.n_entries as f64 * (entry + record);
        match self.structure {
            // Each lookup goes through all of it.
            Structure::Ternary => all,
            _ => all.min(self.n_touched as f64 * self.lines() * LINE),
        }
    }

    /// Lines that one lookup reads, with that of a separate entry.
    pub fn lines(&self) -> f64 {
        self.structure_lines() + f64::from(u8::from(self.has_records))
    }

    fn structure_lines(&self) -> f64 {
        match self.structure {
            Structure::None => 0.0,
            // Tags and entry.
            Structure::Exact | Structure::Flow => 2.0,
            Structure::Direct => 1.0,
            Structure::Lpm => 1.0 + self.n_levels,
            Structure::PrefixHash => 2.0 * self.n_masks as f64,
            Structure::Ternary => self.n_masks as f64,
        }
    }

    fn lookup(&self) -> Option<Component> {
        Some(match self.structure {
            Structure::None => return None,
            Structure::Exact if self.key_bytes > WORD_BYTES => Component::LookupWide,
            Structure::Exact => Component::LookupExact,
            Structure::Direct => Component::LookupDirect,
            Structure::Lpm | Structure::PrefixHash => Component::LookupLpm,
            Structure::Ternary => Component::LookupTernary,
            Structure::Flow => Component::LookupFlow,
        })
    }
}

/// For each table the bytes that compete with it for the caches: what packets touch of all tables between two reads of one of its
/// lines, on the scale on which a table alone has its own working set. A small table that each packet reads keeps its lines beside
/// a large one, whose lines come seldom.
///
/// Reads are taken to be independent and evenly spread over a table, as in Che's approximation (Che, Tung, Wang 2002): of `L` lines
/// with `a` reads a packet, `L (1 - exp(-a t / L))` are touched in `t` packets.
pub fn competing_bytes(tables: &[TableUse]) -> Vec<f64> {
    /// A table alone: the share of its lines that are touched between two reads of one.
    const ALONE: f64 = 1.0 - 1.0 / std::f64::consts::E;
    // Bytes, and the share of them that a packet reads.
    let uses: Vec<(f64, f64)> = (tables.iter())
        .map(|table| {
            let bytes = if table.lookups > 0.0 { table.working_set() } else { 0.0 };
            let read = match table.structure {
                Structure::Ternary => bytes,
                _ => (table.lines() * LINE).min(bytes),
            };
            (bytes, table.lookups * read / bytes.max(1.0))
        })
        .collect();
    let total: f64 = uses.iter().map(|(bytes, _)| bytes).sum();
    let of = |(_, share): &(f64, f64)| {
        if *share <= 0.0 {
            return 0.0;
        }
        let n_packets = 1.0 / share;
        let touched: f64 = uses.iter().map(|(bytes, share)| bytes * -(-share * n_packets).exp_m1()).sum();
        (touched / ALONE).min(total)
    };
    uses.iter().map(of).collect()
}

/// Work of each table's lookups.
pub fn work(tables: &[TableUse], latencies: &Latencies) -> Vec<Counts> {
    let bytes = competing_bytes(tables);
    let of = |(table, bytes): (&TableUse, &f64)| {
        let Some(lookup) = table.lookup() else { return Counts::default() };
        let wait = latencies.wait(*bytes);
        let n = table.lookups;
        let masks = match table.structure {
            Structure::Ternary | Structure::PrefixHash if table.n_entries > 0 => table.n_masks as f64,
            _ => 0.0,
        };
        let levels = if table.structure == Structure::Lpm { table.n_levels } else { 0.0 };
        [
            (lookup, n),
            (Component::KeyByte, n * f64::from(table.key_bytes)),
            (Component::Mask, n * masks),
            (Component::Level, n * levels),
            (Component::Entry, n * f64::from(u8::from(table.has_records))),
            (Component::DataByte, n * table.data_bytes_read),
            (Component::Suspension, n * f64::from(u8::from(table.suspends))),
            (Component::Record, n * f64::from(u8::from(table.writes_records))),
            (
                if table.is_staged { Component::BatchWait } else { Component::Wait },
                n * table.structure_lines() * wait,
            ),
            (Component::EntryWait, n * f64::from(u8::from(table.has_records)) * wait),
        ]
        .into_iter()
        .collect()
    };
    tables.iter().zip(&bytes).map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latency_grows_between_points() {
        let latencies = Latencies { points: vec![(1024.0, 4.0), (4096.0, 16.0)] };
        assert_eq!(
            [1.0, 1024.0, 2048.0, 4096.0, 1e9].map(|size| latencies.cycles(size)),
            [4.0, 4.0, 10.0, 16.0, 16.0]
        );
        assert_eq!(latencies.wait(2048.0), 6.0);
        assert_eq!(Latencies::default().wait(1e6), 0.0);
    }

    fn table(n_entries: u64, lookups: f64) -> TableUse {
        TableUse {
            name: "t".to_owned(),
            structure: Structure::Exact,
            lookups,
            key_bytes: 4,
            data_bytes: 4,
            data_bytes_read: 4.0,
            has_records: false,
            writes_records: false,
            is_staged: false,
            suspends: false,
            n_entries,
            n_touched: n_entries,
            n_masks: 1,
            n_levels: 0.0,
        }
    }

    #[test]
    fn small_tables_stay_near_where_others_are_large() {
        let near = |one: f64, other: f64| (one / other - 1.0).abs() < 0.01;
        let (small, large) = (table(100, 1.0), table(10_000_000, 1.0));
        let own = |table: &TableUse| table.working_set();
        assert!(near(competing_bytes(std::slice::from_ref(&large))[0], own(&large)));
        // Two equal tables are one of twice the size.
        let both = competing_bytes(&[large.clone(), large.clone()]);
        assert!(both.iter().all(|bytes| near(*bytes, 2.0 * own(&large))), "{both:?}");
        // While a line of the small table is not read, the large one brings some hundred lines.
        let mixed = competing_bytes(&[small.clone(), large.clone()]);
        assert!(mixed[0] < 4.0 * own(&small) && near(mixed[1], own(&small) + own(&large)), "{mixed:?}");
        // A small table that few packets read is as far as the rest.
        let seldom = competing_bytes(&[table(100, 1e-7), large.clone()]);
        assert!(near(seldom[0], own(&small) + own(&large)), "{seldom:?}");
        // A table that nobody reads takes no room.
        assert_eq!(competing_bytes(&[table(1000, 0.0)]), [0.0]);
    }

    #[test]
    fn lines_that_are_prefetched_in_one_go_all_count() {
        let latencies = Latencies { points: vec![(1024.0, 4.0), (1e9, 304.0)] };
        let waits = |tables: &[TableUse]| -> f64 {
            work(tables, &latencies).iter().map(|counts| counts[Component::BatchWait]).sum()
        };
        let first = TableUse { is_staged: true, suspends: true, ..table(1_000_000, 1.0) };
        let second = TableUse { suspends: false, ..first.clone() };
        let (one, both) = (waits(std::slice::from_ref(&first)), waits(&[first, second]));
        assert!(both > 2.0 * one, "{one}, {both}");
    }

    #[test]
    fn each_level_of_prefixes_is_a_line() {
        let of = |n_levels| TableUse { structure: Structure::Lpm, n_levels, ..table(1000, 1.0) };
        assert_eq!([0.0, 1.5].map(|n_levels| of(n_levels).lines()), [1.0, 2.5]);
        assert_eq!(work(&[of(1.5)], &Latencies::default())[0][Component::Level], 1.5);
    }
}
