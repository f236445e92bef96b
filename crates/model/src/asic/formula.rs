//! The bits of an entry as a line over the bits of its key.

use super::chip::Chip;
use super::demand::{KeyField, TableDemand};
use super::packing::{Lookup, PackOptions, pack};

/// Memory of a table of `n` entries with keys of `k` bits and `a` bits of action data: `n (p k + q + a)` bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Formula {
    pub p: f64,
    pub q: f64,
    /// Largest difference between the line and the blocks, as a share of the blocks.
    pub error_max: f64,
}

/// Key bits that the line is fitted to.
const KEY_BITS: std::ops::RangeInclusive<u64> = 8..=256;

/// Fits the line to the blocks of exact tables without action data, by least squares. `None` if the chip has no such table.
pub fn fit(chip: &Chip, n_entries: u64) -> Option<Formula> {
    let block_bits = (chip.sram.words * chip.sram.word_bits) as f64;
    let mut points = Vec::new();
    for key_bits in KEY_BITS {
        let table = TableDemand::new("", vec![KeyField::exact(key_bits)], n_entries);
        // Short keys have fewer values than there are entries.
        if key_bits < 64 && 1u64 << key_bits < n_entries {
            continue;
        }
        // A key that is the address is not stored: the line is that of hash tables.
        if let Ok(packed) = pack(chip, &table, PackOptions::default())
            && packed.lookup == Lookup::Hash
        {
            points.push((key_bits as f64, packed.total().sram as f64 * block_bits / n_entries as f64));
        }
    }
    let n = points.len() as f64;
    let mean = |f: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(f).sum::<f64>() / n;
    let (x, y) = (mean(&|(x, _)| *x), mean(&|(_, y)| *y));
    let spread = mean(&|(px, _)| (px - x).powi(2));
    if points.len() < 2 || spread <= 0.0 {
        return None;
    }
    let p = mean(&|(px, py)| (px - x) * (py - y)) / spread;
    let q = y - p * x;
    let error_max = points.iter().map(|(px, py)| ((p * px + q - py) / py).abs()).fold(0.0, f64::max);
    Some(Formula { p, q, error_max })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_bit_costs_little_more_than_a_bit() {
        let chip = Chip::built_in("generic-12").unwrap();
        let Formula { p, q, error_max } = fit(&chip, 65_536).unwrap();
        assert!((1.0..1.2).contains(&p), "{p}");
        assert!((-10.0..10.0).contains(&q), "{q}");
        // Short keys cost more than their bits: a word has five entries at most.
        assert!((0.2..0.5).contains(&error_max), "{error_max}");
    }
}
