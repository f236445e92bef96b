//! Frame sizes and their order.

use std::fmt;
use std::str::FromStr;

/// The longest frame: jumbo frames of 9216 bytes without the check sequence.
pub const FRAME_BYTES_MAX: usize = packet_io::limits::JUMBO_BYTES_MAX + crate::FCS_BYTES;

/// Sizes of frames with their check sequence, as RFC 2544 counts them: 64 to 1518 for Ethernet. They come in a fixed order,
/// which has each size as often as its weight says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Sizes in bytes and their weights.
    weighted: Vec<(usize, u32)>,
    is_imix: bool,
}

impl Sizes {
    /// Frame sizes of RFC 2544, section 9.1.
    pub const RFC2544: [usize; 7] = [64, 128, 256, 512, 1024, 1280, 1518];

    /// All frames of one size.
    pub fn fixed(frame_bytes: usize) -> Sizes {
        Sizes { weighted: vec![(frame_bytes, 1)], is_imix: false }
    }

    /// Simple IMIX: 7 frames of 64 bytes, 4 of 594, 1 of 1518.
    pub fn imix() -> Sizes {
        Sizes { weighted: vec![(64, 7), (594, 4), (1518, 1)], is_imix: true }
    }

    /// Each size, without duplicates.
    pub fn distinct(&self) -> impl Iterator<Item = usize> + '_ {
        self.weighted.iter().map(|(size, _)| *size)
    }

    /// Mean size in bytes.
    pub fn mean_bytes(&self) -> f64 {
        let n: u32 = self.weighted.iter().map(|(_, weight)| weight).sum();
        let sum: f64 = self.weighted.iter().map(|(size, weight)| *size as f64 * f64::from(*weight)).sum();
        sum / f64::from(n)
    }

    /// The order of sizes, as indices into [`Sizes::distinct`]: each as evenly spread as possible.
    pub(crate) fn order(&self) -> Vec<usize> {
        let n: u32 = self.weighted.iter().map(|(_, weight)| weight).sum();
        let mut credits = vec![0i64; self.weighted.len()];
        (0..n)
            .map(|_| {
                for (credit, (_, weight)) in credits.iter_mut().zip(&self.weighted) {
                    *credit += i64::from(*weight);
                }
                let most = (0..credits.len()).max_by_key(|i| (credits[*i], usize::MAX - i)).unwrap_or(0);
                credits[most] -= i64::from(n);
                most
            })
            .collect()
    }
}

impl FromStr for Sizes {
    type Err = String;

    /// `64`, `64,512,1518` or `imix`.
    fn from_str(text: &str) -> Result<Sizes, String> {
        if text.eq_ignore_ascii_case("imix") {
            return Ok(Sizes::imix());
        }
        let mut weighted: Vec<(usize, u32)> = Vec::new();
        for word in text.split(',') {
            let size: usize = word
                .trim()
                .parse()
                .map_err(|_| format!("`{word}` is no frame size; write bytes, bytes,bytes,... or imix"))?;
            if size > FRAME_BYTES_MAX {
                return Err(format!("frames of {size} bytes are too long; the limit is {FRAME_BYTES_MAX}"));
            }
            match weighted.iter_mut().find(|(known, _)| *known == size) {
                Some((_, weight)) => *weight += 1,
                None => weighted.push((size, 1)),
            }
        }
        Ok(Sizes { weighted, is_imix: false })
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_imix {
            return write!(f, "IMIX");
        }
        for (i, (size, weight)) in self.weighted.iter().enumerate() {
            for j in 0..*weight {
                write!(f, "{}{size}", if i == 0 && j == 0 { "" } else { "," })?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imix_has_its_ratio_in_each_cycle() {
        let order = Sizes::imix().order();
        let n = |i| order.iter().filter(|j| **j == i).count();
        assert_eq!((order.len(), n(0), n(1), n(2)), (12, 7, 4, 1));
        assert!(order.windows(3).all(|three| three.contains(&0)), "{order:?}");
        assert!((Sizes::imix().mean_bytes() - 361.83).abs() < 0.01);
    }

    #[test]
    fn sizes_are_read() {
        let sizes: Sizes = "64,1518,64".parse().unwrap();
        assert_eq!(sizes.distinct().collect::<Vec<_>>(), [64, 1518]);
        assert_eq!(sizes.order(), [0, 1, 0]);
        assert_eq!(sizes.to_string(), "64,64,1518");
        assert_eq!("IMIX".parse::<Sizes>().unwrap().to_string(), "IMIX");
        assert!("64,".parse::<Sizes>().unwrap_err().contains("no frame size"));
        assert!("10000".parse::<Sizes>().unwrap_err().contains("the limit is 9220"));
    }
}
