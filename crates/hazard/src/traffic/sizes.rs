//! Distributions of packet lengths.

use super::Alias;
use crate::alpha::{Alpha, Shrink};
use crate::timeline::Timeline;
use std::fmt;

/// The largest length that is counted separately.
pub const LEN_BYTES_MAX: u32 = 65_535;

/// A distribution of packet lengths.
#[derive(Clone, Debug)]
pub struct Sizes {
    /// First and last length of ranges, within which lengths are equally frequent.
    ranges: Vec<(u32, u32)>,
    weights: Vec<f64>,
    slots: Vec<Slot>,
}

/// First length of a range, and number of its lengths.
type Span = (u32, u32);

/// A slot of Walker's alias method with its two ranges, so that a draw is one access without branches.
#[derive(Clone, Copy, Debug)]
struct Slot {
    keep_below: u32,
    own: Span,
    other: Span,
}

/// A list of sizes that cannot be used.
#[derive(Clone, Debug, PartialEq)]
pub enum SizeError {
    /// 1 is the first line.
    Line {
        line: usize,
        text: String,
    },
    /// Lengths or shares that do not ascend.
    NotAscending {
        line: usize,
    },
    Length {
        line: usize,
        len_bytes: u32,
    },
    /// The last share; it has to be 1 (or 100).
    NotWhole {
        last: f64,
    },
    Empty,
}

impl fmt::Display for SizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SizeError::Line { line, text } => {
                write!(
                    f,
                    "line {line}: expected a length in bytes and a share, as `1500 0.97`, found `{text}`"
                )
            }
            SizeError::NotAscending { line } => {
                write!(
                    f,
                    "line {line}: lengths have to ascend, and shares must not fall: they are cumulative"
                )
            }
            SizeError::Length { line, len_bytes } => {
                write!(f, "line {line}: a packet of {len_bytes} bytes; expected from 1 to {LEN_BYTES_MAX}")
            }
            SizeError::NotWhole { last } => {
                write!(f, "the last share is {last}; expected 1 (or 100, in percent)")
            }
            SizeError::Empty => write!(f, "no sizes; expected lines as `1500 0.97`"),
        }
    }
}

impl std::error::Error for SizeError {}

impl Sizes {
    /// Always the same; from 1 to [`LEN_BYTES_MAX`].
    pub fn fixed(len_bytes: u32) -> Result<Sizes, SizeError> {
        Sizes::of_ranges(&[(len_bytes, len_bytes, 1.0)])
    }

    /// First and last length, and weight.
    pub fn of_ranges(ranges: &[(u32, u32, f64)]) -> Result<Sizes, SizeError> {
        for (i, (first, last, _)) in ranges.iter().enumerate() {
            for len_bytes in [*first, *last] {
                if !(1..=LEN_BYTES_MAX).contains(&len_bytes) {
                    return Err(SizeError::Length { line: i + 1, len_bytes });
                }
            }
            if first > last {
                return Err(SizeError::NotAscending { line: i + 1 });
            }
        }
        let weights: Vec<f64> = ranges.iter().map(|(_, _, weight)| *weight).collect();
        let alias = Alias::new(&weights).ok_or(SizeError::Empty)?;
        let span = |at: usize| (ranges[at].0, ranges[at].1 - ranges[at].0 + 1);
        let slots = alias.slots().iter().enumerate();
        let slots = slots.map(|(at, (keep_below, other))| Slot {
            keep_below: *keep_below,
            own: span(at),
            other: span(*other as usize),
        });
        Ok(Sizes {
            ranges: ranges.iter().map(|(a, b, _)| (*a, *b)).collect(),
            weights,
            slots: slots.collect(),
        })
    }

    /// First and last lengths, and weights.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = (u32, u32, f64)> + '_ {
        self.ranges.iter().zip(&self.weights).map(|((first, last), weight)| (*first, *last, *weight))
    }

    /// Reads a cumulative distribution: lines with a length in bytes and the share of packets that are not longer, in
    /// parts of 1 or in percent; `#` begins a comment. Between two lines lengths are equally frequent.
    pub fn of_cdf(text: &str) -> Result<Sizes, SizeError> {
        let mut points: Vec<(usize, u32, f64)> = Vec::new();
        for (i, line) in text.lines().enumerate() {
            let content = line.split('#').next().unwrap_or("").trim();
            if content.is_empty() {
                continue;
            }
            let wrong = || SizeError::Line { line: i + 1, text: content.chars().take(60).collect() };
            let words: Vec<&str> =
                content.split([' ', '\t', ',', ';']).filter(|word| !word.is_empty()).collect();
            let [length, share] = words.as_slice() else { return Err(wrong()) };
            let len_bytes: u32 = length.parse().map_err(|_| wrong())?;
            let share: f64 = share.trim_end_matches('%').parse().map_err(|_| wrong())?;
            if !share.is_finite() || share < 0.0 {
                return Err(wrong());
            }
            if !(1..=LEN_BYTES_MAX).contains(&len_bytes) {
                return Err(SizeError::Length { line: i + 1, len_bytes });
            }
            if points.last().is_some_and(|(_, before, less)| *before >= len_bytes || *less > share) {
                return Err(SizeError::NotAscending { line: i + 1 });
            }
            points.push((i + 1, len_bytes, share));
        }
        let Some(&(_, _, whole)) = points.last() else { return Err(SizeError::Empty) };
        if (whole - 1.0).abs() > 0.001 && (whole - 100.0).abs() > 0.1 {
            return Err(SizeError::NotWhole { last: whole });
        }
        let mut ranges = Vec::new();
        let (mut before, mut less) = (None, 0.0);
        for (_, len_bytes, share) in points {
            ranges.push((before.map_or(len_bytes, |before: u32| before + 1), len_bytes, share - less));
            (before, less) = (Some(len_bytes), share);
        }
        Sizes::of_ranges(&ranges)
    }

    /// Draws a length from 64 random bits.
    #[inline]
    pub(crate) fn draw(&self, random: u64) -> u32 {
        let scaled = (random >> 32) * self.slots.len() as u64;
        let slot = &self.slots[(scaled >> 32) as usize];
        let (first, n) = if (scaled as u32) < slot.keep_below { slot.own } else { slot.other };
        first + ((u64::from(random as u32) * u64::from(n)) >> 32) as u32
    }

    pub fn mean_bytes(&self) -> f64 {
        let sum: f64 = self.weights.iter().sum();
        let each = self.ranges.iter().zip(&self.weights);
        each.map(|((a, b), w)| f64::from(a + b) / 2.0 * w).sum::<f64>() / sum
    }
}

/// Number of packets of each length.
#[derive(Clone, Debug)]
pub struct SizeCounts {
    counts: Vec<u64>,
    n: u64,
}

impl Default for SizeCounts {
    fn default() -> SizeCounts {
        SizeCounts { counts: vec![0; LEN_BYTES_MAX as usize + 1], n: 0 }
    }
}

impl SizeCounts {
    /// Longer packets count as the longest.
    #[inline]
    pub fn record(&mut self, len_bytes: u32) {
        self.counts[len_bytes.min(LEN_BYTES_MAX) as usize] += 1;
        self.n += 1;
    }

    pub fn n(&self) -> u64 {
        self.n
    }

    pub fn mean_bytes(&self) -> f64 {
        let sum: f64 = self.counts.iter().enumerate().map(|(len, n)| len as f64 * *n as f64).sum();
        sum / (self.n.max(1)) as f64
    }

    fn lengths(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        (0..).zip(&self.counts).filter(|(_, n)| **n > 0).map(|(len, n)| (len, *n))
    }

    /// Returns the cycles that all packets occupy the line: expected ones, where alpha draws lengths.
    pub fn line_cycles(&self, line: &Timeline) -> u64 {
        let cycles: f64 = self.lengths().map(|(len, n)| n as f64 * line.mean_cycles_of(len)).sum();
        cycles.round() as u64
    }

    /// Lengths with the share of packets that are not longer, under alpha: ascending, the last share 1. At most
    /// `n_points_max` where the curve rises, and both ends of every step.
    pub fn cdf(&self, alpha: Alpha, n_points_max: usize) -> Vec<(u32, f64)> {
        let shrink = Shrink::new(alpha);
        let mut shares = vec![0.0; LEN_BYTES_MAX as usize + 1];
        for (len, n) in self.lengths() {
            shrink.for_each_len(len, |len, share| {
                shares[len.min(LEN_BYTES_MAX) as usize] += n as f64 / self.n as f64 * share;
            });
        }
        let last = shares.iter().rposition(|share| *share > 0.0).unwrap_or(0);
        let step = 1.0 / n_points_max.max(1) as f64;
        let mut points: Vec<(u32, f64)> = Vec::new();
        let (mut so_far, mut pending) = (0.0, None);
        for (len, own) in shares.iter().enumerate().filter(|(_, share)| **share > 0.0) {
            let before = so_far;
            so_far += own;
            let is_last = len == last;
            // Rounding must not leave the end of the curve below or above 1.
            let share = if is_last { 1.0 } else { so_far };
            let len = len as u32;
            let is_step = points.last().is_none_or(|(_, shown)| share - shown >= step);
            if is_step || is_last {
                // The last point left out before a step is the foot of the step.
                points.extend(pending.take());
                if points.last().is_none_or(|(shown, _)| *shown < len) && *own >= step {
                    points.push((len, before));
                }
                points.push((len, share));
                pending = None;
            } else {
                pending = Some((len, share));
            }
        }
        points
    }
}

#[cfg(test)]
mod tests {
    use super::super::Chance;
    use super::*;
    use crate::alpha::AlphaModel;

    fn shares(sizes: &Sizes, up_to: &[u32]) -> Vec<f64> {
        let mut chance = Chance::new(7);
        let drawn: Vec<u32> = (0..100_000).map(|_| sizes.draw(chance.next())).collect();
        up_to.iter().map(|len| drawn.iter().filter(|d| *d <= len).count() as f64 / 100_000.0).collect()
    }

    #[test]
    fn lengths_come_as_the_distribution_says() {
        let sizes = Sizes::of_cdf("# bytes share\n64 0.4\n\n164, 0.5\n1500 1.0\n").unwrap();
        let found = shares(&sizes, &[63, 64, 114, 164, 832, 1500]);
        for (found, wanted) in found.iter().zip([0.0, 0.4, 0.45, 0.5, 0.75, 1.0]) {
            assert!((found - wanted).abs() < 0.01, "{found} {wanted}");
        }
        let percent = Sizes::of_cdf("64 40%\n164 50%\n1500 100%").unwrap();
        assert!((percent.mean_bytes() - sizes.mean_bytes()).abs() < 1e-9);
    }

    #[test]
    fn what_is_no_distribution_is_refused() {
        let message = |text| Sizes::of_cdf(text).unwrap_err().to_string();
        assert_eq!(
            message("64 0.5\nx 1"),
            "line 2: expected a length in bytes and a share, as `1500 0.97`, found `x 1`"
        );
        assert!(message("64 0.5\n63 1").starts_with("line 2: lengths have to ascend"));
        assert!(message("64 0.5\n65 0.4").starts_with("line 2: lengths have to ascend"));
        assert!(message("64 0.5\n65 0.9").starts_with("the last share is 0.9"));
        assert!(message("0 1").contains("a packet of 0 bytes"));
        assert!(message("70000 1").contains("a packet of 70000 bytes"));
        assert!(message("# nothing").starts_with("no sizes"));
        assert!(message("64 nan").contains("found `64 nan`"));
    }

    #[test]
    fn curves_end_at_one_and_keep_their_steps() {
        let mut counts = SizeCounts::default();
        for (len, n) in [(64, 50), (65, 1), (66, 1), (1500, 48)] {
            (0..n).for_each(|_| counts.record(len));
        }
        let cdf = counts.cdf(Alpha::ONE, 10);
        assert_eq!(cdf, [(64, 0.0), (64, 0.5), (66, 0.52), (1500, 0.52), (1500, 1.0)]);
        assert_eq!(counts.cdf(Alpha::new(AlphaModel::Mix, 0.0, 1).unwrap(), 10), [(64, 0.0), (64, 1.0)]);
    }
}
