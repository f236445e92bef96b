//! Threads on cores of their own.

use std::io;

/// Keeps the calling thread on one core.
pub(crate) fn pin(core: usize) -> io::Result<()> {
    if core >= libc::CPU_SETSIZE as usize {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    // SAFETY: a set of cores is plain bits, of which none is a valid value; `core` is within it (see above).
    #[expect(unsafe_code, reason = "a system call")]
    let result = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The cores that the calling thread may run on, in order.
pub(crate) fn allowed() -> Vec<usize> {
    // SAFETY: a set of cores is plain bits, of which none is a valid value; the kernel writes no more than its size.
    #[expect(unsafe_code, reason = "a system call")]
    let (result, set) = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        let result = libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set);
        (result, set)
    };
    if result != 0 {
        return Vec::new();
    }
    // SAFETY: the numbers are within the set.
    #[expect(unsafe_code, reason = "how libc looks into a set")]
    let is_set = |core: &usize| unsafe { libc::CPU_ISSET(*core, &set) };
    (0..libc::CPU_SETSIZE as usize).filter(is_set).collect()
}
