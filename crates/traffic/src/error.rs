//! Errors of traffic.

use packet_io::{PortError, ReadError, WriteError};
use thiserror::Error;

/// Options that contradict each other or cannot be met; a sentence.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct OptionsError(pub String);

#[derive(Debug, Error)]
pub enum TrafficError {
    #[error(transparent)]
    Options(#[from] OptionsError),
    #[error(transparent)]
    Port(#[from] PortError),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error("cannot keep a thread on core {core}: {error}; `taskset -p $$` shows the cores of this shell")]
    Core { core: usize, error: std::io::Error },
    #[error("internal bug: a thread of the trial panicked")]
    Thread,
}
