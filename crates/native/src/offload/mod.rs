//! Asynchronous blocks on other threads: channels, the watchdog, and all of it in one thread for tests.

pub(crate) mod channel;
pub(crate) mod inline_offload;
pub(crate) mod watchdog;
