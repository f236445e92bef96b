//! Configuration of a simulation: the switch, its action pipeline, queues and locks.

use std::fmt;

/// The longest action, in cycles. It exceeds any real design and bounds the memory of a model.
pub const CYCLES_MAX: u32 = 1 << 16;
/// Queues of a scheduler.
pub const QUEUES_MAX: u32 = 1 << 16;
/// Locks of a scheduler.
pub const LOCKS_MAX: u32 = 1 << 20;
/// Packets that all queues of a scheduler together have room for.
pub const ROOM_PACKETS_MAX: u64 = 1 << 24;
/// Bytes that the input takes in one cycle.
pub const CHUNK_BYTES_MAX: u32 = 1 << 16;
/// Different actions in one pipeline.
pub const ACTIONS_MAX: usize = 64;

/// A store-and-forward switch as its action pipeline sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Switch {
    /// Bytes that arrive in one cycle when the line is busy.
    pub chunk_bytes: u32,
    pub clock_ghz: f64,
}

impl Default for Switch {
    /// 80 bytes at 1 GHz: 640 Gb/s.
    fn default() -> Switch {
        Switch { chunk_bytes: 80, clock_ghz: 1.0 }
    }
}

impl Switch {
    pub fn check(&self) -> Result<(), ConfigError> {
        in_range("chunk", u64::from(self.chunk_bytes), u64::from(CHUNK_BYTES_MAX))?;
        if !(self.clock_ghz.is_finite() && self.clock_ghz > 0.0) {
            return Err(ConfigError::Clock { ghz: self.clock_ghz });
        }
        Ok(())
    }

    pub fn line_rate_gbps(&self) -> f64 {
        f64::from(self.chunk_bytes) * 8.0 * self.clock_ghz
    }
}

/// The action of a packet: its time in the pipeline, and its part under the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Action {
    /// Time from entering the pipeline to leaving it.
    pub cycles: u32,
    /// Time from the read of the state to the end of its write, during which no other packet may use the same state.
    /// 0 if the action only reads.
    pub lock_cycles: u32,
}

impl Action {
    /// Reads in its first cycle and writes in its last.
    pub fn new(cycles: u32) -> Action {
        Action { cycles, lock_cycles: cycles }
    }

    pub fn read_only(cycles: u32) -> Action {
        Action { cycles, lock_cycles: 0 }
    }
}

/// The actions of a pipeline and how often they run.
#[derive(Clone, Debug, PartialEq)]
pub struct Actions {
    actions: Vec<Action>,
    /// End of each action's interval within the numbers below 2^32; ascending.
    ends: Vec<u64>,
}

impl Actions {
    /// All packets do the same.
    pub fn one(action: Action) -> Result<Actions, ConfigError> {
        Actions::mixed(&[(action, 1.0)])
    }

    /// Weights are relative to their sum.
    pub fn mixed(mix: &[(Action, f64)]) -> Result<Actions, ConfigError> {
        if mix.is_empty() || mix.len() > ACTIONS_MAX {
            return Err(ConfigError::NumberOfActions { n: mix.len() });
        }
        for (action, weight) in mix {
            in_range("cycles", u64::from(action.cycles), u64::from(CYCLES_MAX))?;
            if action.lock_cycles > action.cycles {
                return Err(ConfigError::LockedLonger { action: *action });
            }
            if !(weight.is_finite() && *weight >= 0.0) {
                return Err(ConfigError::Weight { weight: *weight });
            }
        }
        let sum: f64 = mix.iter().map(|(_, weight)| weight).sum();
        if sum <= 0.0 || !sum.is_finite() {
            return Err(ConfigError::Weight { weight: sum });
        }
        let mut so_far = 0.0;
        let mut ends: Vec<u64> = mix
            .iter()
            .map(|(_, weight)| {
                so_far += weight;
                (so_far / sum * 2f64.powi(32)).round() as u64
            })
            .collect();
        if let Some(last) = ends.last_mut() {
            *last = 1 << 32;
        }
        Ok(Actions { actions: mix.iter().map(|(action, _)| *action).collect(), ends })
    }

    /// Returns the action of the packet with this number: a pseudo-random draw that depends on the number only.
    #[inline]
    pub fn of_packet(&self, packet: u64) -> Action {
        let [only] = self.actions.as_slice() else {
            let draw = u64::from((crate::traffic::mixed(packet ^ 0x5eed_ac71) >> 32) as u32);
            let at = self.ends.partition_point(|end| *end <= draw);
            return self.actions[at.min(self.actions.len() - 1)];
        };
        *only
    }

    pub fn cycles_max(&self) -> u32 {
        self.actions.iter().map(|action| action.cycles).max().unwrap_or(1)
    }

    pub fn lock_cycles_max(&self) -> u32 {
        self.actions.iter().map(|action| action.lock_cycles).max().unwrap_or(0)
    }

    pub fn all(&self) -> &[Action] {
        &self.actions
    }
}

/// Queues in front of the pipeline, and what they lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queues {
    /// Number of queues. The hash of the lookup key, modulo this, selects a packet's queue.
    pub n_queues: u32,
    /// Number of locks. The hash of the update key, modulo this, selects a packet's lock.
    pub n_locks: u32,
    /// Packets of one queue; more are dropped.
    pub queue_packets_max: u32,
}

impl Queues {
    /// One lock for everything.
    pub fn global(queue_packets_max: u32) -> Queues {
        Queues { n_queues: 1, n_locks: 1, queue_packets_max }
    }

    pub fn check(&self) -> Result<(), ConfigError> {
        in_range("queues", u64::from(self.n_queues), u64::from(QUEUES_MAX))?;
        in_range("locks", u64::from(self.n_locks), u64::from(LOCKS_MAX))?;
        let room = ROOM_PACKETS_MAX / u64::from(self.n_queues);
        in_range("queue capacity", u64::from(self.queue_packets_max), room)
    }
}

/// A configuration that makes no sense.
#[derive(Clone, Debug, PartialEq)]
pub enum ConfigError {
    /// A quantity that must lie between 1 and `max`.
    OutOfRange {
        what: &'static str,
        value: u64,
        max: u64,
    },
    Clock {
        ghz: f64,
    },
    Alpha {
        alpha: f64,
    },
    Utilisation {
        utilisation: f64,
    },
    Weight {
        weight: f64,
    },
    NumberOfActions {
        n: usize,
    },
    LockedLonger {
        action: Action,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigError::OutOfRange { what, value, max } => {
                write!(f, "{what} = {value}: expected a number from 1 to {max}")
            }
            ConfigError::Clock { ghz } => write!(f, "a clock of {ghz} GHz: expected more than 0"),
            ConfigError::Alpha { alpha } => {
                write!(
                    f,
                    "alpha = {alpha}: expected a number from 0 (all packets minimal) to 1 (as they are)"
                )
            }
            ConfigError::Utilisation { utilisation } => {
                write!(f, "a utilisation of {utilisation}: expected more than 0 and at most 1")
            }
            ConfigError::Weight { weight } => {
                write!(f, "a weight of {weight}: expected numbers from 0, and not all 0")
            }
            ConfigError::NumberOfActions { n } => {
                write!(f, "{n} actions in one pipeline: expected from 1 to {ACTIONS_MAX}")
            }
            ConfigError::LockedLonger { action } => write!(
                f,
                "an action of {} cycles cannot lock its state for {}",
                action.cycles, action.lock_cycles
            ),
        }
    }
}

impl std::error::Error for ConfigError {}

pub(crate) fn in_range(what: &'static str, value: u64, max: u64) -> Result<(), ConfigError> {
    if (1..=max).contains(&value) { Ok(()) } else { Err(ConfigError::OutOfRange { what, value, max }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_takes_no_time() {
        let error = Actions::one(Action::new(0)).unwrap_err();
        assert_eq!(error.to_string(), "cycles = 0: expected a number from 1 to 65536");
        let none = Queues { n_queues: 0, n_locks: 1, queue_packets_max: 1 };
        assert_eq!(none.check().unwrap_err().to_string(), "queues = 0: expected a number from 1 to 65536");
        assert!(Actions::one(Action { cycles: 2, lock_cycles: 3 }).is_err());
        assert!(Actions::mixed(&[(Action::new(1), 0.0)]).is_err());
    }

    #[test]
    fn actions_come_as_often_as_they_should() {
        let (short, long) = (Action::new(2), Action::new(9));
        let actions = Actions::mixed(&[(short, 3.0), (long, 1.0)]).unwrap();
        let n = (0..100_000).filter(|packet| actions.of_packet(*packet) == long).count();
        assert!((24_000..26_000).contains(&n), "{n}");
        assert_eq!(actions.cycles_max(), 9);
    }

    #[test]
    fn eighty_bytes_a_nanosecond_are_640_gigabits() {
        assert_eq!(Switch::default().line_rate_gbps(), 640.0);
    }
}
