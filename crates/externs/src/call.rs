//! Safe view of a call for built-in externs.

use crate::abi::{self, direction, status};
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Values and packet of a call.
pub(crate) struct CallView<'a> {
    args: &'a [u8],
    /// Layout of the values, by argument.
    signature: &'a [abi::Arg],
    result: &'a mut [u8],
    packet: Option<&'a mut abi::Packet>,
}

/// The payload and the room behind it; the first `length` bytes are the payload.
pub(crate) struct Payload<'a> {
    pub(crate) room: &'a mut [u8],
    pub(crate) length: usize,
}

impl<'a> CallView<'a> {
    /// # Safety
    ///
    /// `call` is one of [`Session::call`](crate::Session::call), under way.
    #[expect(unsafe_code, reason = "memory that C functions are given")]
    pub(crate) unsafe fn new(call: *mut abi::Call) -> CallView<'a> {
        // SAFETY: the caller's promise: signature, arguments and result exist with the sizes in the
        // signature, and nothing else uses them during the call.
        unsafe {
            let signature = &*(*call).signature;
            let n_result = signature.result.size_bytes as usize;
            CallView {
                args: slice((*call).args, signature.args_bytes as usize),
                signature: slice(signature.args, signature.n_args as usize),
                result: if n_result == 0 {
                    &mut []
                } else {
                    std::slice::from_raw_parts_mut((*call).result, n_result)
                },
                packet: (*call).packet.as_mut(),
            }
        }
    }

    fn values(&self, arg: usize) -> &'a [abi::Value] {
        let Some(arg) = self.signature.get(arg) else { return &[] };
        if arg.direction != direction::IN && arg.direction != direction::INOUT {
            return &[];
        }
        // SAFETY: a signature says how many values there are, and lives longer than the call.
        #[expect(unsafe_code, reason = "memory that C functions are given")]
        unsafe {
            slice(arg.values, arg.n_values as usize)
        }
    }

    fn bytes(&self, value: &abi::Value) -> &'a [u8] {
        let first = value.offset as usize;
        self.args.get(first..first + value.size_bytes as usize).unwrap_or_default()
    }

    /// Returns the values of an argument; values beyond 64 bits saturate.
    pub(crate) fn numbers(&self, arg: usize) -> impl Iterator<Item = u64> {
        let args = self.args;
        self.values(arg).iter().map(move |value| {
            let first = value.offset as usize;
            let bytes = args.get(first..first + value.size_bytes as usize).unwrap_or_default();
            number(bytes)
        })
    }

    /// Returns the first value of an argument; 0 if there is none.
    pub(crate) fn number(&self, arg: usize) -> u64 {
        self.numbers(arg).next().unwrap_or(0)
    }

    /// Writes a value of an argument to `to` in network byte order. Returns the number of bytes written, at
    /// most the length of `to`.
    pub(crate) fn big_endian(&self, arg: usize, to: &mut [u8]) -> usize {
        let Some(value) = self.values(arg).first() else { return 0 };
        let n = (value.width_bits as usize).div_ceil(8).min(to.len());
        let bytes = self.bytes(value);
        let n = n.min(bytes.len());
        // Words instead of bytes: a later wide load would stall on byte stores (no store forwarding).
        let words = bytes[..n].rchunks_exact(8);
        let (first, rest) = (words.remainder(), n - n % 8);
        let (swapped, last) = to[..n].split_at_mut(rest);
        for (to, from) in swapped.chunks_exact_mut(8).zip(words) {
            to.copy_from_slice(from);
            to.reverse();
        }
        last.copy_from_slice(first);
        last.reverse();
        n
    }

    pub(crate) fn set_result(&mut self, n: u64) {
        for (to, from) in self.result.iter_mut().zip(n.to_le_bytes().into_iter().chain(std::iter::repeat(0)))
        {
            *to = from;
        }
    }

    /// Returns the payload, which the parser has not read, and the room behind it.
    pub(crate) fn payload(&mut self) -> Option<Payload<'_>> {
        let packet = self.packet.as_mut()?;
        let length = (packet.length_bytes as usize).checked_sub(packet.payload_at as usize)?;
        let n = length + packet.tailroom_bytes as usize;
        // SAFETY: `Session::call` has checked that the packet lies in its buffer, from `data` to the end of the room;
        // the packet, and with it the buffer, is borrowed mutably as long as the result.
        #[expect(unsafe_code, reason = "memory that C functions are given")]
        let room = unsafe {
            std::slice::from_raw_parts_mut(packet.data.wrapping_add(packet.payload_at as usize), n)
        };
        Some(Payload { room, length })
    }

    /// Sets the new length of the payload, which must not exceed the room.
    pub(crate) fn set_payload_length(&mut self, length: usize) {
        if let Some(packet) = &mut self.packet {
            packet.length_bytes = packet.payload_at + length as u32;
        }
    }
}

/// # Safety
///
/// `first` points to `n` elements that live as long as the result, or is null.
#[expect(unsafe_code, reason = "memory that C functions are given")]
unsafe fn slice<'a, T>(first: *const T, n: usize) -> &'a [T] {
    if n == 0 || first.is_null() {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(first, n) }
}

fn number(little_endian: &[u8]) -> u64 {
    let (low, high) = little_endian.split_at(little_endian.len().min(8));
    if high.iter().any(|byte| *byte != 0) {
        return u64::MAX;
    }
    low.iter().rev().fold(0, |n, byte| n << 8 | u64::from(*byte))
}

/// State of a built-in extern in one thread.
pub(crate) trait State: Sized {
    /// Creates the state. `option` is the text that the user gave; `Err` explains why there is no state.
    fn open(option: Option<&str>) -> Result<Self, String>;
}

/// Implements `open` of `struct siding_extern` for a state.
///
/// # Safety
///
/// The caller keeps the contract of `open` in `struct siding_extern`.
#[expect(unsafe_code, reason = "called as C functions are")]
pub(crate) unsafe extern "C" fn open<S: State>(opening: *const abi::Opening) -> *mut c_void {
    // SAFETY: the caller's promise; the option is a string, or null.
    let option = unsafe {
        let option = (*opening).option;
        if option.is_null() { None } else { Some(std::ffi::CStr::from_ptr(option).to_string_lossy()) }
    };
    match catch_unwind(|| S::open(option.as_deref())) {
        Ok(Ok(state)) => Box::into_raw(Box::new(state)).cast(),
        Ok(Err(why)) => {
            // SAFETY: the caller's promise.
            let room = unsafe { (*opening).message_bytes } as usize;
            let n = why.len().min(room.saturating_sub(1));
            // SAFETY: the caller's promise: there is room for so many bytes, and a zero behind them.
            unsafe {
                std::ptr::copy_nonoverlapping(why.as_ptr(), (*opening).message.cast(), n);
                (*opening).message.add(n).write(0);
            }
            std::ptr::null_mut()
        }
        Err(_) => std::ptr::null_mut(),
    }
}

/// Implements `close` of `struct siding_extern` for a state.
///
/// # Safety
///
/// `state` was made by [`open`] of the same type, and is not used any more.
#[expect(unsafe_code, reason = "called as C functions are")]
pub(crate) unsafe extern "C" fn close<S: State>(state: *mut c_void) {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(state.cast::<S>()) });
}

/// Runs a call with its state; a panic ends the packet only.
///
/// # Safety
///
/// `call` is a call of [`Session::call`](crate::Session::call) in progress, with a state of [`open`] for `S`.
#[expect(unsafe_code, reason = "called as C functions are")]
pub(crate) unsafe fn run<S: State>(
    call: *mut abi::Call,
    work: impl FnOnce(&mut S, &mut CallView<'_>),
) -> u32 {
    // SAFETY: the caller's promise.
    let (state, mut view) = unsafe { (&mut *(*call).state.cast::<S>(), CallView::new(call)) };
    match catch_unwind(AssertUnwindSafe(|| work(state, &mut view))) {
        Ok(()) => status::OK,
        Err(_) => status::DROP,
    }
}

/// Defines a C function for `struct siding_extern` from a Rust function of a state and a call.
macro_rules! c_function {
    ($name:ident, $state:ty, $work:path) => {
        /// # Safety
        ///
        /// The caller keeps the contract of `run` in `struct siding_extern`.
        #[expect(unsafe_code, reason = "called as C functions are")]
        unsafe extern "C" fn $name(call: *mut crate::abi::Call) -> u32 {
            // SAFETY: the caller's promise; the extern is opened with this state.
            unsafe { crate::call::run::<$state>(call, $work) }
        }
    };
}
pub(crate) use c_function;
