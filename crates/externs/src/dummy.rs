//! `dummy(cycles)`: takes that many cycles of the time stamp counter, including those of its own loop; the
//! cost of the call is extra.

use crate::abi;
use crate::library::{BuiltIn, PacketUse};
use std::ffi::c_void;
use std::sync::OnceLock;

pub(crate) const EXTERNS: &[BuiltIn] = &[BuiltIn {
    name: "dummy",
    declaration: "void dummy(in bit<32> cycles)",
    packet: PacketUse::Unused,
    open: Some(open),
    close: Some(close),
    run,
    run_batch: None,
}];

/// Calls of each length that calibration measures.
const N_CALIBRATING: usize = 201;

/// Overhead in cycles: from the call to the first clock read, from the last clock read to the return, and the
/// delay of the last clock read.
#[derive(Clone, Copy, Debug)]
struct Overhead(u64);

/// Returns the time stamp counter; nanoseconds on processors without one.
pub(crate) fn now() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has the instruction.
    #[expect(unsafe_code, reason = "an instruction")]
    unsafe {
        core::arch::x86_64::_rdtsc()
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        static START: OnceLock<std::time::Instant> = OnceLock::new();
        u64::try_from(START.get_or_init(std::time::Instant::now).elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

#[inline(never)]
fn burn(cycles: u64, overhead: Overhead) {
    let start = now();
    let Some(cycles) = cycles.checked_sub(overhead.0) else { return };
    while now().wrapping_sub(start) < cycles {}
}

fn median(values: &mut [u64]) -> u64 {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}

/// Measures the overhead: the median excess of calls of several lengths, without the cost of reading the
/// clock before and after.
fn calibrate() -> Overhead {
    let mut looks: Vec<u64> = (0..N_CALIBRATING)
        .map(|_| {
            let before = now();
            now().wrapping_sub(before)
        })
        .collect();
    let look = median(&mut looks);
    // Lengths without a common divisor, because the delay of the last clock read depends on the length.
    let mut late: Vec<u64> = [331u64, 457, 613, 811, 997]
        .into_iter()
        .flat_map(|wanted| (0..N_CALIBRATING / 3).map(move |_| wanted))
        .map(|wanted| {
            let before = now();
            burn(wanted, Overhead(0));
            now().wrapping_sub(before).saturating_sub(look + wanted)
        })
        .collect();
    Overhead(median(&mut late))
}

fn overhead() -> Overhead {
    static OVERHEAD: OnceLock<Overhead> = OnceLock::new();
    *OVERHEAD.get_or_init(calibrate)
}

extern "C" fn open(_opening: *const abi::Opening) -> *mut c_void {
    Box::into_raw(Box::new(overhead())).cast()
}

/// # Safety
///
/// `state` comes from [`open`] and is not used any more.
#[expect(unsafe_code, reason = "called as C functions are")]
unsafe extern "C" fn close(state: *mut c_void) {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(state.cast::<Overhead>()) });
}

/// # Safety
///
/// `call` is a call of the declaration above, with a state of [`open`].
#[expect(unsafe_code, reason = "called as C functions are")]
unsafe extern "C" fn run(call: *mut abi::Call) -> u32 {
    // SAFETY: the caller's promise: the arguments are one `bit<32>`, which may be unaligned.
    let (cycles, overhead) =
        unsafe { ((*call).args.cast::<u32>().read_unaligned(), *(*call).state.cast::<Overhead>()) };
    burn(u64::from(cycles), overhead);
    abi::status::OK
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_as_long_as_it_is_told() {
        let overhead = overhead();
        for wanted in [500u64, 2000, 10_000, 50_000] {
            let mut took: Vec<u64> = (0..101)
                .map(|_| {
                    let before = now();
                    burn(wanted, overhead);
                    now().wrapping_sub(before)
                })
                .collect();
            let took = median(&mut took);
            // Looking at the clock takes tens of cycles.
            assert!(took + 60 >= wanted && took <= wanted + wanted / 10 + 60, "{took} for {wanted}");
        }
    }
}
