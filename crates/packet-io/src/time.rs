//! Times of capture files in nanoseconds.

const NS_PER_S: u128 = 1_000_000_000;

/// Clock of an interface of a pcapng file (options `if_tsresol` and `if_tsoffset`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Clock {
    /// A tick is `10^-resolution` seconds, or with the upper bit set `2^-(resolution & 0x7f)`.
    pub(crate) resolution: u8,
    /// Seconds to add.
    pub(crate) offset_s: i64,
}

impl Default for Clock {
    /// Microseconds, the default of the option.
    fn default() -> Clock {
        Clock { resolution: 6, offset_s: 0 }
    }
}

impl Clock {
    /// Converts ticks to nanoseconds since 1970, clamped to the range.
    pub(crate) fn ns(self, ticks: u64) -> u64 {
        let ticks = u128::from(ticks);
        let exponent = u32::from(self.resolution & 0x7f);
        let ns = if self.resolution & 0x80 != 0 {
            // At most 94 bits before the shift.
            (ticks * NS_PER_S) >> exponent
        } else if exponent <= 9 {
            ticks * 10u128.pow(9 - exponent)
        } else {
            10u128.checked_pow(exponent - 9).map_or(0, |d| ticks / d)
        };
        let offset_ns = i128::from(self.offset_s) * NS_PER_S as i128;
        let ns = i128::try_from(ns).unwrap_or(i128::MAX).saturating_add(offset_ns);
        u64::try_from(ns.max(0)).unwrap_or(u64::MAX)
    }
}

/// Returns the present time in nanoseconds since 1970.
pub(crate) fn now_ns() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |t| u64::try_from(t.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resolutions() {
        let ns = |resolution, offset_s, ticks| Clock { resolution, offset_s }.ns(ticks);
        assert_eq!(ns(6, 0, 1_500_000), 1_500_000_000);
        assert_eq!(ns(9, 0, 7), 7);
        assert_eq!(ns(0, 0, 2), 2_000_000_000);
        assert_eq!(ns(12, 0, 5_999), 5);
        assert_eq!(ns(0x80 | 10, 0, 512), 500_000_000);
        assert_eq!(ns(0x80, 0, 3), 3_000_000_000);
        assert_eq!(ns(9, -1, 1_000_000_007), 7);
        assert_eq!(ns(9, -2, 1_000_000_007), 0);
    }

    #[test]
    fn nonsense_is_clamped() {
        for resolution in 0..=255 {
            for offset_s in [i64::MIN, -1, 0, 1, i64::MAX] {
                for ticks in [0, 1, u64::MAX] {
                    Clock { resolution, offset_s }.ns(ticks);
                }
            }
        }
        assert_eq!(Clock { resolution: 0, offset_s: 0 }.ns(u64::MAX), u64::MAX);
        assert_eq!(Clock { resolution: 0x7f, offset_s: 0 }.ns(u64::MAX), 0);
    }
}
