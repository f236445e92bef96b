//! Errors of traffic.

use packet_io::{CoreError, PortError, ReadError, WriteError};
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
    #[error(transparent)]
    Core(#[from] CoreError),
    #[error("internal bug: a thread of the trial panicked")]
    Thread,
}
