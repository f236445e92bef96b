//! Stretches of time in which a core does not run the worker.

use super::arrivals::excess;

/// No window of `t` nanoseconds has more than `tau_ns + share * t` nanoseconds of stalls.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stalls {
    pub tau_ns: f64,
    /// 0 to 1.
    pub share: f64,
}

impl Stalls {
    /// The worker is never interrupted.
    pub const NONE: Stalls = Stalls { tau_ns: 0.0, share: 0.0 };

    /// Stalls with their beginnings and lengths, in order: `tau_ns` is what they take beyond the share of the time.
    pub fn of(gaps: &[(f64, f64)], share: f64) -> Stalls {
        Stalls { tau_ns: excess(gaps.iter().copied(), share), share }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tau_is_the_longest_stall_or_several_in_a_row() {
        assert_eq!(Stalls::of(&[], 0.01), Stalls { tau_ns: 0.0, share: 0.01 });
        assert_eq!(Stalls::of(&[(0.0, 5.0), (1e6, 30.0), (2e6, 4.0)], 0.01).tau_ns, 30.0);
        // 300 ns later a hundredth of that is granted.
        assert_eq!(Stalls::of(&[(0.0, 20.0), (300.0, 30.0)], 0.01).tau_ns, 47.0);
    }
}
