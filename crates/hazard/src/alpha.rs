//! The factor alpha: how much of the packets' original lengths is left.

use crate::config::ConfigError;
use crate::traffic::mixed;
use std::fmt;
use std::sync::OnceLock;

/// Length of the shortest Ethernet frame, to which alpha = 0 reduces every packet.
pub const LEN_BYTES_MIN: u32 = 64;

/// The function that reduces lengths by alpha.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AlphaModel {
    /// A share `alpha` of the packets keeps its length. The others become short: around `64 + 300 alpha` bytes.
    #[default]
    Mix,
    /// Each packet keeps a share `alpha` of its length beyond 64 bytes.
    Scale,
}

impl AlphaModel {
    pub fn name(self) -> &'static str {
        match self {
            AlphaModel::Mix => "mix",
            AlphaModel::Scale => "scale",
        }
    }
}

impl fmt::Display for AlphaModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A value of alpha from 0 (all packets minimal) to 1 (as they are), and the function that applies it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Alpha {
    model: AlphaModel,
    value: f64,
    /// Selects the packets that keep their length.
    seed: u64,
}

impl Alpha {
    /// All packets as they are.
    pub const ONE: Alpha = Alpha { model: AlphaModel::Scale, value: 1.0, seed: 0 };

    pub fn new(model: AlphaModel, value: f64, seed: u64) -> Result<Alpha, ConfigError> {
        if !(0.0..=1.0).contains(&value) {
            return Err(ConfigError::Alpha { alpha: value });
        }
        Ok(Alpha { model, value, seed })
    }
}

/// Lengths under an [`Alpha`], by packet number: the same number gives the same length.
///
/// Under either model no packet of 64 bytes or more grows, and no packet shrinks when alpha rises.
#[derive(Clone, Debug)]
pub struct Shrink {
    rule: Rule,
    seed: u64,
}

#[derive(Clone, Debug)]
enum Rule {
    Keep,
    /// Share of the length beyond the minimum in units of 2^-16.
    Scale {
        parts: u32,
    },
    Mix {
        alpha: f64,
        /// Draws of 32 bits below this keep the length.
        keep_below: u64,
        /// Packets of at most this many bytes keep their length.
        short_bytes: u32,
        /// Equally probable lengths of packets that do not keep theirs; ascending.
        lengths: Vec<u32>,
    },
}

/// Number of equally probable lengths of shortened packets.
const DRAWS: usize = 1 << 12;

impl Shrink {
    pub fn new(alpha: Alpha) -> Shrink {
        let rule = match alpha.model {
            _ if alpha.value == 1.0 => Rule::Keep,
            AlphaModel::Scale => Rule::Scale { parts: (alpha.value * 65_536.0).round() as u32 },
            AlphaModel::Mix => Rule::Mix {
                alpha: alpha.value,
                keep_below: (alpha.value * 2f64.powi(32)) as u64,
                short_bytes: (1000.0 * alpha.value) as u32,
                lengths: normal_quantiles().iter().map(|z| short_len_bytes(alpha.value, *z)).collect(),
            },
        };
        Shrink { rule, seed: mixed(alpha.seed ^ 0xa1fa_5eed) }
    }

    /// Returns the length of the packet with this number.
    #[inline]
    pub fn len_bytes(&self, len_bytes: u32, packet: u64) -> u32 {
        match &self.rule {
            Rule::Keep => len_bytes,
            Rule::Scale { parts } => scaled(len_bytes, *parts),
            Rule::Mix { keep_below, short_bytes, lengths, .. } => {
                let draw = mixed(packet ^ self.seed);
                if u64::from(draw as u32) < *keep_below {
                    len_bytes
                } else if len_bytes > *short_bytes {
                    lengths[(draw >> 32) as usize % DRAWS].min(len_bytes.max(LEN_BYTES_MIN))
                } else {
                    len_bytes.max(LEN_BYTES_MIN)
                }
            }
        }
    }

    /// Calls `each` with the lengths that packets of one length get, and their shares, which add up to 1.
    pub fn for_each_len(&self, len_bytes: u32, mut each: impl FnMut(u32, f64)) {
        match &self.rule {
            Rule::Keep => each(len_bytes, 1.0),
            Rule::Scale { parts } => each(scaled(len_bytes, *parts), 1.0),
            Rule::Mix { alpha, short_bytes, lengths, .. } => {
                if *alpha > 0.0 {
                    each(len_bytes, *alpha);
                }
                let at_most = len_bytes.max(LEN_BYTES_MIN);
                if len_bytes <= *short_bytes {
                    each(at_most, 1.0 - alpha);
                    return;
                }
                let runs = lengths.chunk_by(|a, b| a.min(&at_most) == b.min(&at_most));
                runs.for_each(|run| {
                    each(run[0].min(at_most), run.len() as f64 / DRAWS as f64 * (1.0 - alpha));
                });
            }
        }
    }
}

/// `64 + alpha (len - 64)`, rounded. Packets that are shorter than any frame grow to it as alpha falls.
#[inline]
fn scaled(len_bytes: u32, parts: u32) -> u32 {
    let beyond = i64::from(len_bytes) - i64::from(LEN_BYTES_MIN);
    let kept = (beyond * i64::from(parts) + (1 << 15)) >> 16;
    (i64::from(LEN_BYTES_MIN) + kept) as u32
}

/// `max(64, 64 + 300 alpha X)`, where X is normal with mean 1 and standard deviation 1.5, and `z` the standard normal
/// number behind it.
fn short_len_bytes(alpha: f64, z: f64) -> u32 {
    let beyond = (1.0 + 1.5 * z) * 300.0 * alpha;
    LEN_BYTES_MIN + beyond.max(0.0) as u32
}

/// Returns the middles of [`DRAWS`] equally probable ranges of the standard normal distribution; ascending.
fn normal_quantiles() -> &'static [f64] {
    static QUANTILES: OnceLock<Vec<f64>> = OnceLock::new();
    QUANTILES.get_or_init(|| {
        let density = |x: f64| (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
        // The distribution function above its middle: density times x + x^3/3 + x^5/(3*5) + ...
        let above_middle = |x: f64| {
            let (mut term, mut sum, mut divisor) = (x, x, 1.0);
            while term > 1e-12 {
                divisor += 2.0;
                term *= x * x / divisor;
                sum += term;
            }
            density(x) * sum
        };
        let mut upper = Vec::with_capacity(DRAWS / 2);
        let mut x = 0.0f64;
        for i in 0..DRAWS / 2 {
            let wanted = (i as f64 + 0.5) / DRAWS as f64;
            // Newton's method from the quantile before, below the root of a concave function: it does not overshoot.
            for _ in 0..50 {
                let step = (wanted - above_middle(x)) / density(x);
                x += step;
                if step < 1e-9 {
                    break;
                }
            }
            upper.push(x);
        }
        upper.iter().rev().map(|x| -x).chain(upper.iter().copied()).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shrink(model: AlphaModel, alpha: f64) -> Shrink {
        Shrink::new(Alpha::new(model, alpha, 1).unwrap())
    }

    #[test]
    fn scaling_shrinks_what_is_beyond_the_minimum() {
        let of = |alpha, len| shrink(AlphaModel::Scale, alpha).len_bytes(len, 0);
        assert_eq!([of(1.0, 1500), of(0.5, 1500), of(0.2, 1500), of(0.0, 1500)], [1500, 782, 351, 64]);
        assert_eq!([of(1.0, 40), of(0.5, 40), of(0.0, 40)], [40, 52, 64]);
    }

    #[test]
    fn no_packet_shrinks_when_alpha_rises() {
        for model in [AlphaModel::Mix, AlphaModel::Scale] {
            let all: Vec<Shrink> = (0..=50).map(|step| shrink(model, f64::from(step) / 50.0)).collect();
            for len in [64, 65, 100, 200, 500, 1000, 1500, 65_535] {
                for packet in 0..200 {
                    let lens: Vec<u32> = all.iter().map(|shrink| shrink.len_bytes(len, packet)).collect();
                    assert!(lens.is_sorted(), "{model} {len} {packet}: {lens:?}");
                    assert_eq!((lens[0], lens[50]), (64, len), "{model} {len} {packet}");
                }
            }
        }
    }

    #[test]
    fn mixing_keeps_a_share_of_the_packets() {
        let mix = shrink(AlphaModel::Mix, 0.2);
        let lens: Vec<u32> = (0..100_000).map(|packet| mix.len_bytes(1500, packet)).collect();
        let n = |count: &dyn Fn(u32) -> bool| lens.iter().filter(|len| count(**len)).count();
        assert!((19_500..20_500).contains(&n(&|len| len == 1500)));
        // A quarter of the others: X is below 0 where its normal number is below -2/3, with a chance of 0.2525.
        assert!((19_700..20_700).contains(&n(&|len| len == 64)));
        // Half of the others are below the middle, 64 + 60 bytes.
        assert!((39_300..40_700).contains(&n(&|len| len < 124)));
        // Those of at most 200 bytes stay as they are.
        assert!((0..1000).all(|packet| mix.len_bytes(200, packet) == 200));
        assert!((0..1000).any(|packet| mix.len_bytes(201, packet) < 201));
    }

    #[test]
    fn shares_are_those_of_the_draws() {
        for (model, alpha) in [(AlphaModel::Mix, 0.3), (AlphaModel::Mix, 0.0), (AlphaModel::Scale, 0.3)] {
            let shrink = shrink(model, alpha);
            for len in [40, 90, 320, 1500] {
                let (mut sum, mut mean) = (0.0, 0.0);
                shrink.for_each_len(len, |len, share| {
                    sum += share;
                    mean += f64::from(len) * share;
                });
                assert!((sum - 1.0).abs() < 1e-9, "{model} {alpha} {len}: {sum}");
                let drawn = (0..100_000).map(|packet| f64::from(shrink.len_bytes(len, packet))).sum::<f64>();
                assert!((drawn / 100_000.0 / mean - 1.0).abs() < 0.02, "{model} {alpha} {len}: {mean}");
            }
        }
    }

    #[test]
    fn quantiles_are_of_the_normal_distribution() {
        let quantiles = normal_quantiles();
        assert!(quantiles.is_sorted() && quantiles.len() == DRAWS);
        // 84.13 % are below one standard deviation, 97.72 % below two.
        for (below, share) in [(0.0, 0.5), (1.0, 0.8413), (2.0, 0.9772), (-1.0, 0.1587)] {
            let found = quantiles.partition_point(|z| *z < below) as f64 / DRAWS as f64;
            assert!((found - share).abs() < 0.0005, "{below}: {found}");
        }
    }

    #[test]
    fn alpha_is_a_share() {
        for alpha in [1.1, -0.1, f64::NAN] {
            assert!(Alpha::new(AlphaModel::Mix, alpha, 1).is_err(), "{alpha}");
        }
    }
}
