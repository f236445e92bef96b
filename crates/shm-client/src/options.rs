//! Options of a session.

use crate::wire::Sizes;
use std::time::Duration;

/// How a session begins.
#[derive(Clone, Debug)]
pub struct Options {
    pub device_id: u64,
    /// Empty: the default role.
    pub role: String,
    /// `None`: reads only.
    pub election_id: Option<u128>,
    /// `None`: as the switch likes.
    pub sizes: Option<Sizes>,
    /// Time for each answer of the switch.
    pub timeout: Duration,
}

impl Options {
    /// Device 0 and the default role.
    pub fn new(election_id: u128) -> Options {
        Options {
            device_id: 0,
            role: String::new(),
            election_id: Some(election_id),
            sizes: None,
            timeout: Duration::from_secs(30),
        }
    }
}
