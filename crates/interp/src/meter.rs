//! Meters, colour-blind and colour-aware: two rates and three colours (RFC 2698), one rate and three colours (RFC 2697), one
//! rate and two colours. Packets are counted by their colours.

use arch::Unit;
use target::store::ColourCounts;
pub use target::store::{MeterRates, MeterType};

/// The colour of a packet. The numbers are those of `MeterColor_t` and `V1MODEL_METER_COLOR_*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Colour {
    #[default]
    Green = 0,
    Yellow = 1,
    Red = 2,
}

impl Colour {
    /// By the number; green if there is none.
    pub fn of_number(number: Option<u64>) -> Colour {
        match number {
            Some(1) => Colour::Yellow,
            Some(2) => Colour::Red,
            _ => Colour::Green,
        }
    }
}

/// Tokens are counted in billionths of the unit: rates per second times nanoseconds.
const SCALE: u128 = 1_000_000_000;

/// One meter cell. A cell without rates colours all packets green.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Meter {
    rates: Option<MeterRates>,
    committed_tokens: u128,
    /// Tokens of the second bucket: the peak bucket of two rates, the excess bucket of one.
    second_tokens: u128,
    filled_ns: u64,
    pub colours: ColourCounts,
}

impl Meter {
    pub fn rates(&self) -> Option<MeterRates> {
        self.rates
    }

    /// Both buckets begin full. The counts of colours go on.
    pub fn set_rates(&mut self, rates: Option<MeterRates>, now_ns: u64) {
        let full = rates.unwrap_or_default();
        *self = Meter {
            rates,
            committed_tokens: u128::from(full.committed_burst) * SCALE,
            second_tokens: match full.meter_type {
                MeterType::TwoRateThreeColor => u128::from(full.peak_burst) * SCALE,
                MeterType::SingleRateThreeColor | MeterType::SingleRateTwoColor => {
                    u128::from(full.excess_burst) * SCALE
                }
            },
            filled_ns: now_ns,
            colours: self.colours,
        };
    }

    /// Meters a packet in this unit and counts it. The packet is of the colour `before`, which is green in colour-blind mode.
    pub fn execute(&mut self, before: Colour, unit: Unit, n_bytes: u64, now_ns: u64) -> Colour {
        let colour = self.mark(before, if unit == Unit::Bytes { n_bytes } else { 1 }, now_ns);
        let count = match colour {
            Colour::Green => &mut self.colours.green,
            Colour::Yellow => &mut self.colours.yellow,
            Colour::Red => &mut self.colours.red,
        };
        count.n_packets = count.n_packets.wrapping_add(1);
        count.n_bytes = count.n_bytes.wrapping_add(n_bytes);
        colour
    }

    /// Meters `n` units: 1 packet, or the bytes of it.
    fn mark(&mut self, before: Colour, n: u64, now_ns: u64) -> Colour {
        let Some(rates) = self.rates else { return Colour::Green };
        let elapsed_ns = u128::from(now_ns.saturating_sub(self.filled_ns));
        self.filled_ns = self.filled_ns.max(now_ns);
        let cost = u128::from(n) * SCALE;
        match rates.meter_type {
            MeterType::TwoRateThreeColor => self.mark_two_rates(rates, before, cost, elapsed_ns),
            MeterType::SingleRateThreeColor | MeterType::SingleRateTwoColor => {
                self.mark_single_rate(rates, before, cost, elapsed_ns)
            }
        }
    }

    /// RFC 2698: a packet takes peak tokens, and committed ones if it is green.
    fn mark_two_rates(&mut self, rates: MeterRates, before: Colour, cost: u128, elapsed_ns: u128) -> Colour {
        let fill = |tokens: u128, rate: u64, burst: u64| {
            let new = tokens.saturating_add(elapsed_ns.saturating_mul(u128::from(rate)));
            new.min(u128::from(burst) * SCALE)
        };
        self.committed_tokens = fill(self.committed_tokens, rates.committed_rate, rates.committed_burst);
        self.second_tokens = fill(self.second_tokens, rates.peak_rate, rates.peak_burst);
        if before == Colour::Red || self.second_tokens < cost {
            return Colour::Red;
        }
        self.second_tokens -= cost;
        if before == Colour::Yellow || self.committed_tokens < cost {
            return Colour::Yellow;
        }
        self.committed_tokens -= cost;
        Colour::Green
    }

    /// RFC 2697: tokens that the committed bucket has no room for go to the excess bucket, and a packet takes from one of
    /// them. With two colours there is no second bucket.
    fn mark_single_rate(
        &mut self,
        rates: MeterRates,
        before: Colour,
        cost: u128,
        elapsed_ns: u128,
    ) -> Colour {
        let new = elapsed_ns.saturating_mul(u128::from(rates.committed_rate));
        let into_committed = new.min(u128::from(rates.committed_burst) * SCALE - self.committed_tokens);
        self.committed_tokens += into_committed;
        let excess = self.second_tokens.saturating_add(new - into_committed);
        self.second_tokens = excess.min(u128::from(rates.excess_burst) * SCALE);
        if before == Colour::Green && self.committed_tokens >= cost {
            self.committed_tokens -= cost;
            return Colour::Green;
        }
        let has_yellow = rates.meter_type == MeterType::SingleRateThreeColor;
        if before == Colour::Red || !has_yellow || self.second_tokens < cost {
            return Colour::Red;
        }
        self.second_tokens -= cost;
        Colour::Yellow
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_come_back_with_time() {
        let mut meter = Meter::default();
        assert_eq!(meter.mark(Colour::Green, 1_000_000, 5), Colour::Green);
        let rates = MeterRates {
            committed_rate: 1,
            committed_burst: 1,
            peak_rate: 2,
            peak_burst: 2,
            ..MeterRates::default()
        };
        meter.set_rates(Some(rates), 0);
        let colours: Vec<Colour> = (0..3).map(|_| meter.mark(Colour::Green, 1, 0)).collect();
        assert_eq!(colours, [Colour::Green, Colour::Yellow, Colour::Red]);
        assert_eq!(meter.mark(Colour::Green, 1, 500_000_000), Colour::Yellow);
        assert_eq!(meter.mark(Colour::Green, 1, 2_000_000_000), Colour::Green);
        // Time that runs backwards gives nothing.
        assert_eq!(meter.mark(Colour::Green, 2, 0), Colour::Red);
    }

    #[test]
    fn packets_do_not_get_a_better_colour() {
        let mut meter = Meter::default();
        assert_eq!(meter.mark(Colour::Red, 1, 0), Colour::Green, "without rates all are green");
        let rates = MeterRates { committed_burst: 1, peak_burst: 2, ..MeterRates::default() };
        meter.set_rates(Some(rates), 0);
        // A red packet takes no tokens, a yellow one takes peak tokens alone.
        let before = [Colour::Red, Colour::Yellow, Colour::Green, Colour::Green];
        let after = before.map(|before| meter.mark(before, 1, 0));
        assert_eq!(after, [Colour::Red, Colour::Yellow, Colour::Green, Colour::Red]);
    }

    /// RFC 2697: what the committed bucket has no room for fills the excess bucket.
    #[test]
    fn one_rate_fills_two_buckets() {
        let mut meter = Meter::default();
        let rates = MeterRates {
            meter_type: MeterType::SingleRateThreeColor,
            committed_rate: 1,
            committed_burst: 2,
            excess_burst: 1,
            ..MeterRates::default()
        };
        meter.set_rates(Some(rates), 0);
        let mut colours_at = |now_ns: u64| [0; 4].map(|_: u8| meter.mark(Colour::Green, 1, now_ns));
        assert_eq!(colours_at(0), [Colour::Green, Colour::Green, Colour::Yellow, Colour::Red]);
        // One token goes to the committed bucket; after three seconds it is full, and so is the excess bucket.
        assert_eq!(colours_at(1_000_000_000), [Colour::Green, Colour::Red, Colour::Red, Colour::Red]);
        assert_eq!(colours_at(4_000_000_000), [Colour::Green, Colour::Green, Colour::Yellow, Colour::Red]);
        assert_eq!(colours_at(u64::MAX), [Colour::Green, Colour::Green, Colour::Yellow, Colour::Red]);
    }

    #[test]
    fn one_rate_knows_the_colour_of_a_packet() {
        let rates = MeterRates { committed_burst: 1, excess_burst: 1, ..MeterRates::default() };
        let marks = |meter_type: MeterType, before: [Colour; 4]| {
            let mut meter = Meter::default();
            meter.set_rates(Some(MeterRates { meter_type, ..rates }), 0);
            before.map(|before| meter.mark(before, 1, 0))
        };
        use Colour::{Green, Red, Yellow};
        // A yellow packet takes from the excess bucket alone, a red one from none.
        let three = MeterType::SingleRateThreeColor;
        assert_eq!(marks(three, [Red, Yellow, Yellow, Green]), [Red, Yellow, Red, Green]);
        assert_eq!(marks(three, [Green, Green, Green, Yellow]), [Green, Yellow, Red, Red]);
        // Two colours: what is not green is red.
        let two = MeterType::SingleRateTwoColor;
        assert_eq!(marks(two, [Red, Yellow, Green, Green]), [Red, Red, Green, Red]);
    }

    #[test]
    fn colours_are_counted() {
        let mut meter = Meter::default();
        let rates = MeterRates { committed_burst: 10, peak_burst: 20, ..MeterRates::default() };
        assert_eq!(meter.execute(Colour::Green, Unit::Bytes, 60, 0), Colour::Green);
        meter.set_rates(Some(rates), 0);
        let colours = [10, 10, 10].map(|n| meter.execute(Colour::Green, Unit::Bytes, n, 0));
        assert_eq!(colours, [Colour::Green, Colour::Yellow, Colour::Red]);
        let count = |n_packets, n_bytes| target::store::Count { n_packets, n_bytes };
        let counted = ColourCounts { green: count(2, 70), yellow: count(1, 10), red: count(1, 10) };
        assert_eq!(meter.colours, counted);
    }
}
