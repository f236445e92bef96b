//! Two-rate three-colour meters (RFC 2698), colour-blind and colour-aware.

pub use target::store::MeterRates;

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
    peak_tokens: u128,
    filled_ns: u64,
}

impl Meter {
    pub fn rates(&self) -> Option<MeterRates> {
        self.rates
    }

    /// Both buckets begin full.
    pub fn set_rates(&mut self, rates: Option<MeterRates>, now_ns: u64) {
        let full = rates.unwrap_or_default();
        *self = Meter {
            rates,
            committed_tokens: u128::from(full.committed_burst) * SCALE,
            peak_tokens: u128::from(full.peak_burst) * SCALE,
            filled_ns: now_ns,
        };
    }

    /// Meters `n` units: 1 packet, or the bytes of it. The packet is of the colour `before`, which is green in
    /// colour-blind mode.
    pub fn mark(&mut self, before: Colour, n: u64, now_ns: u64) -> Colour {
        let Some(rates) = self.rates else { return Colour::Green };
        let elapsed = u128::from(now_ns.saturating_sub(self.filled_ns));
        self.filled_ns = self.filled_ns.max(now_ns);
        let fill = |tokens: u128, rate: u64, burst: u64| {
            let new = tokens.saturating_add(elapsed.saturating_mul(u128::from(rate)));
            new.min(u128::from(burst) * SCALE)
        };
        self.committed_tokens = fill(self.committed_tokens, rates.committed_rate, rates.committed_burst);
        self.peak_tokens = fill(self.peak_tokens, rates.peak_rate, rates.peak_burst);
        let cost = u128::from(n) * SCALE;
        if before == Colour::Red || self.peak_tokens < cost {
            return Colour::Red;
        }
        self.peak_tokens -= cost;
        if before == Colour::Yellow || self.committed_tokens < cost {
            return Colour::Yellow;
        }
        self.committed_tokens -= cost;
        Colour::Green
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_come_back_with_time() {
        let mut meter = Meter::default();
        assert_eq!(meter.mark(Colour::Green, 1_000_000, 5), Colour::Green);
        let rates = MeterRates { committed_rate: 1, committed_burst: 1, peak_rate: 2, peak_burst: 2 };
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
        let rates = MeterRates { committed_rate: 0, committed_burst: 1, peak_rate: 0, peak_burst: 2 };
        meter.set_rates(Some(rates), 0);
        // A red packet takes no tokens, a yellow one takes peak tokens alone.
        let before = [Colour::Red, Colour::Yellow, Colour::Green, Colour::Green];
        let after = before.map(|before| meter.mark(before, 1, 0));
        assert_eq!(after, [Colour::Red, Colour::Yellow, Colour::Green, Colour::Red]);
    }
}
