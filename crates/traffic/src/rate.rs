//! Rates, and when the next packet is due.

use serde::Serialize;
use std::fmt;
use std::str::FromStr;

const NS_PER_S: u128 = 1_000_000_000;

/// Bytes of a packet on an Ethernet line beside the frame: preamble, start delimiter and the gap between frames.
pub const LINE_OVERHEAD_BYTES: usize = 20;

/// The frame check sequence, which frame sizes include and ports do not carry.
pub const FCS_BYTES: usize = 4;

/// Time that a generator makes up for after it was held up. It leaves out the packets of longer delays.
const CATCH_UP_NS: u64 = 1_000_000;

/// Offered load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rate {
    /// No limit but the port's.
    Unlimited,
    PacketsPerS(u64),
    /// Bits on the line: frames with their check sequence, and [`LINE_OVERHEAD_BYTES`] for each.
    BitsPerS(u64),
}

impl FromStr for Rate {
    type Err = String;

    /// `1M`, `1.5Mpps`, `10Gbps`.
    fn from_str(text: &str) -> Result<Rate, String> {
        let number_end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(number_end);
        let (factor, unit) = match unit.as_bytes().first() {
            Some(b'k' | b'K') => (1e3, &unit[1..]),
            Some(b'M') => (1e6, &unit[1..]),
            Some(b'G') => (1e9, &unit[1..]),
            _ => (1.0, unit),
        };
        let make: fn(u64) -> Rate = match unit {
            "" | "pps" => Rate::PacketsPerS,
            "bps" | "bit/s" => Rate::BitsPerS,
            _ => {
                return Err(format!(
                    "`{unit}` is no unit of a rate; write packets/s as 1M or bits/s as 10Gbps"
                ));
            }
        };
        let value: f64 = number
            .parse()
            .map_err(|_| "write a rate in packets/s, such as 1M, or in bits/s, such as 10Gbps".to_owned())?;
        let value = (value * factor).round();
        match value {
            0.0 => Err("a rate of zero sends nothing; write a larger one".to_owned()),
            1.0..=1e15 => Ok(make(value as u64)),
            _ => Err("a rate can be 1 to 1e15".to_owned()),
        }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rate::Unlimited => write!(f, "as fast as the port takes"),
            Rate::PacketsPerS(n) => write!(f, "{}packets/s", Scaled(*n as f64)),
            Rate::BitsPerS(n) => write!(f, "{}bit/s", Scaled(*n as f64)),
        }
    }
}

/// A number with three digits and the prefix of its unit, for people: `14.9 M`.
#[derive(Clone, Copy, Debug)]
pub struct Scaled(pub f64);

impl fmt::Display for Scaled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefixes = [(1e9, "G"), (1e6, "M"), (1e3, "k")];
        let (factor, prefix) =
            prefixes.into_iter().find(|(factor, _)| self.0 >= 0.9995 * factor).unwrap_or((1.0, ""));
        let value = self.0 / factor;
        let n_digits = match value {
            100.0.. => 0,
            10.0.. => 1,
            _ if prefix.is_empty() && value.fract() == 0.0 => 0,
            _ => 2,
        };
        write!(f, "{value:.n_digits$} {prefix}")
    }
}

/// Decides when packets are due. Times are derived from the number of packets or bits sent, so errors do not add up.
#[derive(Clone, Debug)]
pub struct Pacer {
    rate: Rate,
    start_ns: u64,
    /// Packets or bits sent so far, by the unit of the rate.
    spent: u64,
    /// Packets or bits that may have been sent by the time of the last [`Pacer::refill`].
    budget: u64,
    forgiven_ns: u64,
    late_max_ns: u64,
}

impl Pacer {
    pub fn new(rate: Rate, start_ns: u64) -> Pacer {
        Pacer { rate, start_ns, spent: 0, budget: 0, forgiven_ns: 0, late_max_ns: 0 }
    }

    fn per_s(&self) -> Option<u128> {
        match self.rate {
            Rate::Unlimited => None,
            Rate::PacketsPerS(n) | Rate::BitsPerS(n) => Some(u128::from(n)),
        }
    }

    /// Takes note of the time. Delays of more than 1 ms move the schedule instead of making a long burst.
    pub fn refill(&mut self, now_ns: u64) {
        let Some(per_s) = self.per_s() else { return };
        let late_ns = now_ns.saturating_sub(self.due_ns());
        self.late_max_ns = self.late_max_ns.max(late_ns);
        if late_ns > CATCH_UP_NS {
            self.start_ns += late_ns - CATCH_UP_NS;
            self.forgiven_ns += late_ns - CATCH_UP_NS;
        }
        let elapsed_ns = u128::from(now_ns.saturating_sub(self.start_ns));
        self.budget = u64::try_from(elapsed_ns * per_s / NS_PER_S).unwrap_or(u64::MAX);
    }

    /// Returns true if the next packet is due at the time of the last refill.
    pub fn is_due(&self) -> bool {
        self.rate == Rate::Unlimited || self.spent <= self.budget
    }

    /// Counts a packet whose frame has `frame_bytes`, with its check sequence.
    pub fn spend(&mut self, frame_bytes: usize) {
        self.spent += match self.rate {
            Rate::Unlimited => 0,
            Rate::PacketsPerS(_) => 1,
            Rate::BitsPerS(_) => 8 * (frame_bytes + LINE_OVERHEAD_BYTES) as u64,
        };
    }

    /// Time at which the next packet is due.
    pub fn due_ns(&self) -> u64 {
        let Some(per_s) = self.per_s() else { return self.start_ns };
        let after_ns = (u128::from(self.spent) * NS_PER_S).div_ceil(per_s);
        self.start_ns.saturating_add(u64::try_from(after_ns).unwrap_or(u64::MAX))
    }

    /// The longest time that a packet was late.
    pub fn late_max_ns(&self) -> u64 {
        self.late_max_ns
    }

    /// Time by which the schedule was moved, since the generator could not keep to it.
    pub fn forgiven_ns(&self) -> u64 {
        self.forgiven_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rates_are_read() {
        let cases = [
            ("1", Rate::PacketsPerS(1)),
            ("1M", Rate::PacketsPerS(1_000_000)),
            ("1.5Mpps", Rate::PacketsPerS(1_500_000)),
            ("250kpps", Rate::PacketsPerS(250_000)),
            ("10Gbps", Rate::BitsPerS(10_000_000_000)),
            ("64kbit/s", Rate::BitsPerS(64_000)),
        ];
        for (text, rate) in cases {
            assert_eq!(text.parse(), Ok(rate), "{text}");
        }
        for (text, why) in [
            ("0", "sends nothing"),
            ("0Gbps", "sends nothing"),
            ("0.2", "sends nothing"),
            ("10Gb", "`b` is no unit"),
            ("fast", "`fast` is no unit"),
            ("1.2.3M", "write a rate"),
            ("M", "write a rate"),
            ("1e9", "`e9` is no unit"),
            ("10000000G", "1 to 1e15"),
        ] {
            let error = text.parse::<Rate>().unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn numbers_for_people() {
        let cases = [
            (0.0, "0 "),
            (7.0, "7 "),
            (999.6, "1.00 k"),
            (14_880_952.0, "14.9 M"),
            (2.5, "2.50 "),
            (1e10, "10.0 G"),
        ];
        for (value, text) in cases {
            assert_eq!(Scaled(value).to_string(), text);
        }
        assert_eq!(Rate::PacketsPerS(1_000_000).to_string(), "1.00 Mpackets/s");
    }

    #[test]
    fn a_line_of_10_gbit_carries_14_880_952_short_frames() {
        let mut pacer = Pacer::new(Rate::BitsPerS(10_000_000_000), 0);
        let mut n = 0u64;
        for ms in 0..=1000 {
            pacer.refill(ms * 1_000_000);
            while pacer.is_due() {
                pacer.spend(64);
                n += 1;
            }
        }
        assert_eq!((n, pacer.forgiven_ns()), (14_880_953, 0));
    }

    #[test]
    fn long_delays_make_no_long_bursts() {
        let mut pacer = Pacer::new(Rate::PacketsPerS(1_000_000), 0);
        pacer.refill(500_000_000);
        let mut n = 0;
        while pacer.is_due() {
            pacer.spend(64);
            n += 1;
        }
        assert_eq!((n, pacer.forgiven_ns()), (1001, 499_000_000));
    }

    proptest! {
        /// However often it is asked, a generator sends packet `k` when `k / rate` has passed, and no earlier.
        #[test]
        fn packets_are_due_by_their_number(
            per_s in 10_000..50_000_000u64,
            steps in prop::collection::vec(1..900_000u64, 1..50),
        ) {
            let mut pacer = Pacer::new(Rate::PacketsPerS(per_s), 1000);
            let (mut now, mut n) = (1000u64, 0u64);
            for step in steps {
                now += step;
                pacer.refill(now);
                while pacer.is_due() {
                    pacer.spend(64);
                    n += 1;
                }
                let passed = u128::from(now - 1000) * u128::from(per_s) / NS_PER_S;
                prop_assert_eq!(u128::from(n), passed + 1);
                prop_assert!(pacer.due_ns() > now);
            }
            prop_assert_eq!(pacer.forgiven_ns(), 0);
        }
    }
}
