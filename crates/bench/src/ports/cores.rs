//! Cores of this machine.

use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;

/// Cores that this process may use.
pub fn allowed_cores() -> Vec<usize> {
    let Ok(set) = sched_getaffinity(Pid::from_raw(0)) else { return vec![0] };
    (0..CpuSet::count()).filter(|core| set.is_set(*core).unwrap_or(false)).collect()
}
