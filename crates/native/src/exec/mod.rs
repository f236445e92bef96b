//! Packets run through compiled code: one worker, bursts of packets, the block runner of a target.

pub(crate) mod burst;
pub(crate) mod host;
pub(crate) mod native;
pub(crate) mod native_store;
pub(crate) mod packet;
pub(crate) mod suspended;
pub(crate) mod trace;
pub(crate) mod worker;
