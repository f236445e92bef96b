//! Arrays of counters, meters and registers. Cells exist from the first time that something is in them.

use crate::meter::{Colour, Meter, MeterRates};
use arch::Unit;
use ir::Bits;
use rustc_hash::FxHashMap;
pub use target::store::{ColourCounts, Count, OutOfRange};

fn check(index: u64, size: u64) -> Result<(), OutOfRange> {
    if index < size { Ok(()) } else { Err(OutOfRange { index, size }) }
}

#[derive(Clone, Debug)]
pub struct CounterArray {
    pub size: u64,
    pub unit: Unit,
    /// Value of all cells without an entry in `cells`.
    common: Count,
    cells: FxHashMap<u64, Count>,
}

impl CounterArray {
    pub fn new(size: u64, unit: Unit) -> CounterArray {
        CounterArray { size, unit, common: Count::default(), cells: FxHashMap::default() }
    }

    pub fn get(&self, index: u64) -> Result<Count, OutOfRange> {
        check(index, self.size)?;
        Ok(self.cells.get(&index).copied().unwrap_or(self.common))
    }

    pub fn set(&mut self, index: u64, count: Count) -> Result<(), OutOfRange> {
        check(index, self.size)?;
        self.cells.insert(index, count);
        Ok(())
    }

    pub fn set_all(&mut self, count: Count) {
        self.cells.clear();
        self.common = count;
    }

    /// Counts in the array's unit: what it does not count stays zero.
    pub fn count(&mut self, index: u64, n_packets: u64, n_bytes: u64) -> Result<(), OutOfRange> {
        check(index, self.size)?;
        let cell = self.cells.entry(index).or_insert(self.common);
        if self.unit != Unit::Bytes {
            cell.n_packets = cell.n_packets.wrapping_add(n_packets);
        }
        if self.unit != Unit::Packets {
            cell.n_bytes = cell.n_bytes.wrapping_add(n_bytes);
        }
        Ok(())
    }
}

#[derive(Clone, Debug)]
pub struct MeterArray {
    pub size: u64,
    pub unit: Unit,
    /// The meter of all cells without an entry in `cells`.
    common: Meter,
    cells: FxHashMap<u64, Meter>,
}

impl MeterArray {
    pub fn new(size: u64, unit: Unit) -> MeterArray {
        MeterArray { size, unit, common: Meter::default(), cells: FxHashMap::default() }
    }

    pub fn rates(&self, index: u64) -> Result<Option<MeterRates>, OutOfRange> {
        Ok(self.get(index)?.rates())
    }

    pub fn colours(&self, index: u64) -> Result<ColourCounts, OutOfRange> {
        Ok(self.get(index)?.colours)
    }

    fn get(&self, index: u64) -> Result<&Meter, OutOfRange> {
        check(index, self.size)?;
        Ok(self.cells.get(&index).unwrap_or(&self.common))
    }

    fn get_mut(&mut self, index: u64) -> Result<&mut Meter, OutOfRange> {
        check(index, self.size)?;
        Ok(self.cells.entry(index).or_insert(self.common))
    }

    /// All meters that there are.
    fn all(&mut self) -> impl Iterator<Item = &mut Meter> {
        self.cells.values_mut().chain([&mut self.common])
    }

    /// Both buckets begin full.
    pub fn set_rates(
        &mut self,
        index: u64,
        rates: Option<MeterRates>,
        now_ns: u64,
    ) -> Result<(), OutOfRange> {
        self.get_mut(index)?.set_rates(rates, now_ns);
        Ok(())
    }

    pub fn set_all_rates(&mut self, rates: Option<MeterRates>, now_ns: u64) {
        self.all().for_each(|meter| meter.set_rates(rates, now_ns));
    }

    pub fn set_colours(&mut self, index: u64, colours: ColourCounts) -> Result<(), OutOfRange> {
        self.get_mut(index)?.colours = colours;
        Ok(())
    }

    pub fn set_all_colours(&mut self, colours: ColourCounts) {
        self.all().for_each(|meter| meter.colours = colours);
    }

    /// Meters a packet of the colour `before` in the array's unit.
    pub fn execute(
        &mut self,
        index: u64,
        before: Colour,
        n_bytes: u64,
        now_ns: u64,
    ) -> Result<Colour, OutOfRange> {
        let unit = self.unit;
        Ok(self.get_mut(index)?.execute(before, unit, n_bytes, now_ns))
    }
}

/// Cells of any type: the leaves of a value without validity bits and indices.
#[derive(Clone, Debug)]
pub struct RegisterArray {
    pub size: u64,
    /// The widths of the leaves; `None` for a `varbit`.
    widths: Vec<Option<u32>>,
    /// The value of cells that were not written individually.
    common: Vec<Bits>,
    cells: FxHashMap<u64, Vec<Bits>>,
}

impl RegisterArray {
    /// `widths` are those of the leaves, `None` of a `varbit`. All cells begin with zeros.
    pub fn new(size: u64, widths: Vec<Option<u32>>) -> RegisterArray {
        let common = widths.iter().map(|w| Bits::zero(w.unwrap_or(0))).collect();
        RegisterArray { size, widths, common, cells: FxHashMap::default() }
    }

    pub fn get(&self, index: u64) -> Result<&[Bits], OutOfRange> {
        check(index, self.size)?;
        Ok(self.cells.get(&index).unwrap_or(&self.common))
    }

    /// Missing leaves keep what they held; widths are those of the register.
    pub fn set(&mut self, index: u64, value: &[Bits]) -> Result<(), OutOfRange> {
        check(index, self.size)?;
        let cell = self.cells.entry(index).or_insert_with(|| self.common.clone());
        assign(&self.widths, cell, value);
        Ok(())
    }

    pub fn set_all(&mut self, value: &[Bits]) {
        self.cells.clear();
        assign(&self.widths, &mut self.common, value);
    }
}

fn assign(widths: &[Option<u32>], cell: &mut [Bits], value: &[Bits]) {
    for ((old, new), width) in cell.iter_mut().zip(value).zip(widths) {
        *old = width.map_or_else(|| new.clone(), |width| new.resize(width));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_count_in_their_unit() {
        let mut counts = Vec::new();
        for unit in [Unit::Packets, Unit::Bytes, Unit::PacketsAndBytes] {
            let mut array = CounterArray::new(2, unit);
            array.count(1, 1, 64).unwrap();
            array.count(1, 1, 100).unwrap();
            assert_eq!(array.count(2, 1, 64), Err(OutOfRange { index: 2, size: 2 }));
            assert_eq!(array.get(0), Ok(Count::default()));
            counts.push(array.get(1).map(|c| (c.n_packets, c.n_bytes)));
            array.set_all(Count { n_packets: 3, n_bytes: 4 });
            assert_eq!(array.get(0), Ok(Count { n_packets: 3, n_bytes: 4 }));
        }
        assert_eq!(counts, [Ok((2, 0)), Ok((0, 164)), Ok((2, 164))]);
    }

    #[test]
    fn cells_of_registers_are_their_own() {
        let mut register = RegisterArray::new(4_000_000_000, vec![Some(8), Some(1)]);
        register.set(3_999_999_999, &[Bits::new(16, 0x1ff), Bits::TRUE]).unwrap();
        assert_eq!(register.get(3_999_999_999), Ok(&[Bits::new(8, 0xff), Bits::TRUE][..]));
        assert_eq!(register.get(0), Ok(&[Bits::zero(8), Bits::FALSE][..]));
        assert!(register.set(4_000_000_000, &[]).is_err());
        register.set_all(&[Bits::new(8, 7)]);
        assert_eq!(register.get(3_999_999_999), Ok(&[Bits::new(8, 7), Bits::FALSE][..]));
    }

    #[test]
    fn all_meters_can_have_one_rate() {
        let rates = MeterRates { committed_burst: 1, peak_burst: 2, ..MeterRates::default() };
        let mut meters = MeterArray::new(2, Unit::Packets);
        assert_eq!(meters.execute(0, Colour::Green, 64, 0), Ok(Colour::Green));
        meters.set_all_rates(Some(rates), 0);
        let marks: Vec<_> = (0..3).map(|_| meters.execute(0, Colour::Green, 64, 1)).collect();
        assert_eq!(marks, [Ok(Colour::Green), Ok(Colour::Yellow), Ok(Colour::Red)]);
        assert_eq!(meters.execute(1, Colour::Green, 64, 1), Ok(Colour::Green));
        assert_eq!(meters.rates(1), Ok(Some(rates)));
        assert!(meters.execute(2, Colour::Green, 64, 1).is_err());
        let mut bytes = MeterArray::new(1, Unit::Bytes);
        bytes.set_rates(0, Some(MeterRates { committed_burst: 100, peak_burst: 100, ..rates }), 0).unwrap();
        assert_eq!(bytes.execute(0, Colour::Green, 101, 0), Ok(Colour::Red));
        assert_eq!(bytes.execute(0, Colour::Green, 100, 0), Ok(Colour::Green));
    }

    #[test]
    fn counts_of_colours_go_on_when_rates_change() {
        let mut meters = MeterArray::new(2, Unit::Packets);
        meters.execute(1, Colour::Green, 64, 0).unwrap();
        meters.set_all_rates(Some(MeterRates::default()), 0);
        meters.execute(1, Colour::Green, 60, 0).unwrap();
        let count = |n_packets, n_bytes| Count { n_packets, n_bytes };
        let counted = ColourCounts { green: count(1, 64), yellow: count(0, 0), red: count(1, 60) };
        assert_eq!(meters.colours(1), Ok(counted));
        meters.set_all_colours(ColourCounts::default());
        assert_eq!(meters.colours(1), Ok(ColourCounts::default()));
        meters.set_colours(0, counted).unwrap();
        assert_eq!(meters.colours(0), Ok(counted));
        assert!(meters.colours(2).is_err());
    }
}
