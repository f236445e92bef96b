//! The cores that threads of this process may use.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io;

/// Threads of this process may not run on a core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoreError {
    pub core: usize,
    /// The cores that they may run on, in order.
    pub allowed: Vec<usize>,
}

impl std::error::Error for CoreError {}

impl std::fmt::Display for CoreError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let CoreError { core, allowed } = self;
        write!(f, "core {core} is not for this process, which may use {}", ranges(allowed))
    }
}

/// Numbers in order as Linux writes lists of cores: `0-3,8`.
fn ranges(cores: &[usize]) -> String {
    let runs = cores.chunk_by(|one, next| one + 1 == *next);
    let texts: Vec<String> = runs
        .filter_map(|run| match run {
            [] => None,
            [one] => Some(one.to_string()),
            [first, .., last] => Some(format!("{first}-{last}")),
        })
        .collect();
    texts.join(",")
}

/// The cores that the calling thread may run on, in order.
pub fn allowed_cores() -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core)).collect())
}

/// Fails if the calling thread may not run on one of the cores. Where the kernel does not say, all are allowed.
pub fn check_cores(cores: &[usize]) -> Result<(), CoreError> {
    let Ok(allowed) = allowed_cores() else { return Ok(()) };
    match cores.iter().find(|core| !allowed.contains(core)) {
        Some(core) => Err(CoreError { core: *core, allowed }),
        None => Ok(()),
    }
}

/// Keeps the calling thread on one core.
pub fn pin(core: usize) -> Result<(), CoreError> {
    let mut set = CpuSet::new();
    let is_pinned = core < CpuSet::MAX_CPU && {
        set.set(core);
        sched_setaffinity(None, &set).is_ok()
    };
    if is_pinned { Ok(()) } else { Err(CoreError { core, allowed: allowed_cores().unwrap_or_default() }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_short() {
        assert_eq!(ranges(&[0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
        let error = CoreError { core: 9, allowed: vec![0, 1] };
        assert_eq!(error.to_string(), "core 9 is not for this process, which may use 0-1");
    }

    #[test]
    fn a_thread_stays_on_its_core() {
        let allowed = allowed_cores().unwrap();
        check_cores(&allowed).unwrap();
        assert_eq!(check_cores(&[usize::MAX]), Err(CoreError { core: usize::MAX, allowed: allowed.clone() }));
        let last = *allowed.last().unwrap();
        std::thread::spawn(move || {
            pin(last).unwrap();
            assert_eq!(allowed_cores().unwrap(), [last]);
            pin(usize::MAX).unwrap_err();
        })
        .join()
        .unwrap();
    }
}
