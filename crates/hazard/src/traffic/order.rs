//! Times that have to ascend.

use std::fmt;

/// A packet that is earlier than the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderError {
    /// From 1.
    pub packet: u64,
    pub time_ns: u64,
    pub before_ns: u64,
}

impl fmt::Display for OrderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "packet {} is {} ns earlier than the one before it; a trace has to be in the order of time \
             (`reordercap` of Wireshark sorts one)",
            self.packet,
            self.before_ns - self.time_ns
        )
    }
}

impl std::error::Error for OrderError {}

/// Checks that times do not decrease.
#[derive(Clone, Copy, Debug, Default)]
pub struct TimeOrder {
    n_packets: u64,
    first_ns: u64,
    last_ns: u64,
}

impl TimeOrder {
    pub fn check(&mut self, time_ns: u64) -> Result<(), OrderError> {
        self.n_packets += 1;
        if self.n_packets == 1 {
            self.first_ns = time_ns;
        } else if time_ns < self.last_ns {
            return Err(OrderError { packet: self.n_packets, time_ns, before_ns: self.last_ns });
        }
        self.last_ns = time_ns;
        Ok(())
    }

    /// From the first packet to the last.
    pub fn duration_ns(&self) -> u64 {
        self.last_ns - self.first_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_does_not_go_back() {
        let mut order = TimeOrder::default();
        assert!([5, 5, 9].into_iter().all(|ns| order.check(ns).is_ok()));
        assert_eq!(order.duration_ns(), 4);
        let error = order.check(7).unwrap_err();
        assert_eq!(error, OrderError { packet: 4, time_ns: 7, before_ns: 9 });
        assert!(error.to_string().starts_with("packet 4 is 2 ns earlier than the one before it"));
    }
}
