//! Failures of a program that should begin to run.

use native::NativeError;

/// Why a program cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum StartFault {
    #[error(transparent)]
    Native(#[from] NativeError),
    #[error(transparent)]
    Instance(#[from] native::InstanceError),
    #[error("the instance has no worker left for asynchronous blocks")]
    NoWorker,
    #[error(transparent)]
    Extern(#[from] native::OpenError),
    #[error(transparent)]
    Async(#[from] native::AsyncError),
    #[error("cannot start a thread for asynchronous blocks: {0}")]
    Thread(std::io::Error),
}
