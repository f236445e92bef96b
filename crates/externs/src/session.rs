//! One thread's states, and the calls themselves.

use crate::abi::{self, status};
use crate::library::PacketUse;
use crate::packet::{PacketPlace, PacketView};
use crate::set::{Bound, BoundCall};
use smol_str::SmolStr;
use std::ffi::{CStr, c_char, c_void};
use std::ptr;
use std::sync::Arc;

/// What a function can say about not being opened.
const MESSAGE_BYTES: usize = 512;

/// Why packets end whose extern has left no packet.
const FAULT: &str = "extern_fault";

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the extern `{name}` cannot be used: {message}")]
pub struct OpenError {
    pub name: SmolStr,
    pub message: String,
}

/// How a call ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    Next,
    /// The packet goes no further, for the reason with this name.
    Stop(SmolStr),
    /// There is no function for the call.
    NotBound,
}

/// The states of externs for one user at a time: a worker, or a thread that runs externs.
pub struct Session {
    bound: Arc<Bound>,
    states: Vec<*mut c_void>,
    /// Of the packet under way.
    headers: Vec<u8>,
    memory: BatchMemory,
}

/// Memory for calls of several packets.
#[derive(Default)]
struct BatchMemory {
    calls: Vec<abi::Call>,
    packets: Vec<abi::Packet>,
    status: Vec<u32>,
    /// Of all packets, one after the other.
    headers: Vec<u8>,
    /// Calls that cannot be made.
    left_out: Vec<usize>,
}

impl BatchMemory {
    fn clear(&mut self) {
        self.calls.clear();
        self.packets.clear();
        self.status.clear();
        self.headers.clear();
        self.left_out.clear();
    }
}

// SAFETY: states are used by one thread at a time, which is what functions of externs have to be made for
// (rt/siding_extern.h); pointers of a batch are gone when its call ends.
#[expect(unsafe_code, reason = "raw pointers make it none")]
unsafe impl Send for Session {}

/// One of several calls of the same function.
#[derive(Debug)]
pub struct BatchCall<'a> {
    pub args: &'a mut [u8],
    pub result: &'a mut [u8],
    pub packet: PacketView<'a>,
    pub now_ns: u64,
    /// Set by the call.
    pub ended: Ended,
}

/// Several calls of the same function, wherever their values are.
pub trait Batch {
    fn n_calls(&self) -> usize;

    /// Of one of them; the same each time until [`end`](Self::end).
    fn parts(&mut self, call: usize) -> BatchParts<'_>;

    /// How one has ended, and where its packet is now, unless it has not been touched.
    fn end(&mut self, call: usize, place: Option<PacketPlace>, ended: Ended);
}

/// What one call of several is made with.
#[derive(Debug)]
pub struct BatchParts<'a> {
    pub args: &'a mut [u8],
    pub result: &'a mut [u8],
    pub packet: PacketView<'a>,
    pub now_ns: u64,
}

impl Batch for [BatchCall<'_>] {
    fn n_calls(&self) -> usize {
        self.len()
    }

    fn parts(&mut self, call: usize) -> BatchParts<'_> {
        let BatchCall { args, result, packet, now_ns, .. } = &mut self[call];
        BatchParts { args, result, packet: packet.again(), now_ns: *now_ns }
    }

    fn end(&mut self, call: usize, place: Option<PacketPlace>, ended: Ended) {
        let one = &mut self[call];
        if let Some(PacketPlace { start, length, payload_at }) = place {
            (one.packet.start, one.packet.length, one.packet.payload_at) = (start, length, payload_at);
        }
        one.ended = ended;
    }
}

impl Session {
    /// Opens the states that the calls need; `thread` tells threads apart.
    pub fn open(bound: Arc<Bound>, thread: u32) -> Result<Session, OpenError> {
        let mut session = Session {
            bound: Arc::clone(&bound),
            states: Vec::new(),
            headers: Vec::new(),
            memory: BatchMemory::default(),
        };
        for number in &bound.states {
            let Some(Some(call)) = bound.calls.get(*number) else { continue };
            session.states.push(open_state(call, thread)?);
        }
        Ok(session)
    }

    /// For a program that calls nothing.
    pub fn none() -> Session {
        Session {
            bound: Arc::new(Bound::none()),
            states: Vec::new(),
            headers: Vec::new(),
            memory: BatchMemory::default(),
        }
    }

    pub fn bound(&self) -> &Arc<Bound> {
        &self.bound
    }

    /// Calls the function for the call with this number. Arguments and result lie as its signature says.
    #[inline]
    pub fn call(
        &mut self,
        number: usize,
        args: &mut [u8],
        result: &mut [u8],
        packet: &mut PacketView<'_>,
        now_ns: u64,
    ) -> Ended {
        let Some(Some(call)) = self.bound.calls.get(number) else { return Ended::NotBound };
        if !has_room(call, args, result) || !packet.is_whole() {
            return Ended::Stop(FAULT.into());
        }
        let state = call.state.and_then(|i| self.states.get(i)).copied().unwrap_or(ptr::null_mut());
        let mut raw = packet.raw();
        let mut one = abi::Call {
            state,
            args: args.as_mut_ptr(),
            result: result.as_mut_ptr(),
            packet: if call.function.packet == PacketUse::Unused { ptr::null_mut() } else { &raw mut raw },
            signature: call.raw.as_ptr(),
            now_ns,
        };
        if call.function.packet == PacketUse::Changed {
            self.headers.clear();
            self.headers.extend_from_slice(&packet.bytes()[..packet.payload_at]);
        }
        // SAFETY: the state is that of this session, which is borrowed mutably; arguments and result have the sizes that
        // the signature says, the packet lies in its buffer, and nobody else uses any of them meanwhile.
        #[expect(unsafe_code, reason = "a function of an extern")]
        let status = unsafe { (call.function.run)(&raw mut one) };
        if call.function.packet == PacketUse::Changed && packet.take(&raw, &self.headers).is_err() {
            return Ended::Stop(FAULT.into());
        }
        ended(call, status)
    }

    /// The same for several calls, which the function sees together where it can.
    pub fn call_batch(&mut self, number: usize, calls: &mut (impl Batch + ?Sized)) {
        let bound = Arc::clone(&self.bound);
        let n = calls.n_calls();
        let Some(Some(call)) = bound.calls.get(number) else {
            return (0..n).for_each(|i| calls.end(i, None, Ended::NotBound));
        };
        let Some(run_batch) = call.function.run_batch else {
            for i in 0..n {
                let BatchParts { args, result, mut packet, now_ns } = calls.parts(i);
                let ended = self.call(number, args, result, &mut packet, now_ns);
                let place = packet.place();
                calls.end(i, Some(place), ended);
            }
            return;
        };
        let state = call.state.and_then(|i| self.states.get(i)).copied().unwrap_or(ptr::null_mut());
        let (uses, changes) =
            (call.function.packet != PacketUse::Unused, call.function.packet == PacketUse::Changed);
        let batch = &mut self.memory;
        batch.clear();
        for i in 0..n {
            let mut one = calls.parts(i);
            if !has_room(call, one.args, one.result) || !one.packet.is_whole() {
                batch.left_out.push(i);
                continue;
            }
            if uses {
                batch.packets.push(one.packet.raw());
            }
            if changes {
                batch.headers.extend_from_slice(&one.packet.bytes()[..one.packet.payload_at]);
            }
            batch.calls.push(abi::Call {
                state,
                args: one.args.as_mut_ptr(),
                result: one.result.as_mut_ptr(),
                packet: ptr::null_mut(),
                signature: call.raw.as_ptr(),
                now_ns: one.now_ns,
            });
        }
        if uses {
            // All packets are there, so that none of them moves any more.
            let first = batch.packets.as_mut_ptr();
            for (i, one) in batch.calls.iter_mut().enumerate() {
                one.packet = first.wrapping_add(i);
            }
        }
        batch.status.resize(batch.calls.len(), status::OK);
        // SAFETY: as in `call`, for each of them; there are as many numbers as calls.
        #[expect(unsafe_code, reason = "a function of an extern")]
        unsafe {
            run_batch(batch.calls.as_mut_ptr(), batch.status.as_mut_ptr(), batch.calls.len() as u32);
        }
        let (mut headers, mut left_out) = (batch.headers.as_slice(), batch.left_out.iter().peekable());
        let mut at = 0;
        for i in 0..n {
            if left_out.next_if_eq(&&i).is_some() {
                calls.end(i, None, Ended::Stop(FAULT.into()));
                continue;
            }
            let status = batch.status.get(at).copied().unwrap_or(status::DROP);
            let mut how = ended(call, status);
            let mut place = None;
            if let Some(raw) = batch.packets.get(at).filter(|_| changes) {
                let mut packet = calls.parts(i).packet;
                let (its, rest) = headers.split_at_checked(packet.payload_at).unwrap_or((headers, &[]));
                headers = rest;
                if packet.take(raw, its).is_err() {
                    how = Ended::Stop(FAULT.into());
                }
                place = Some(packet.place());
            }
            calls.end(i, place, how);
            at += 1;
        }
        // Pointers do not outlive what they point to.
        batch.clear();
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let bound = Arc::clone(&self.bound);
        for (state, number) in self.states.iter().zip(&bound.states) {
            let Some(Some(call)) = bound.calls.get(*number) else { continue };
            if let Some(close) = call.function.close {
                // SAFETY: what `open` of the same extern has given, closed once.
                #[expect(unsafe_code, reason = "a function of an extern")]
                unsafe {
                    close(*state);
                }
            }
        }
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("bound", &self.bound).finish_non_exhaustive()
    }
}

fn has_room(call: &BoundCall, args: &[u8], result: &[u8]) -> bool {
    args.len() >= call.signature.args_bytes as usize
        && result.len() >= call.signature.result.map_or(0, |value| value.size_bytes as usize)
}

fn ended(call: &BoundCall, status: u32) -> Ended {
    match status {
        status::OK => Ended::Next,
        // Also what is none of its values: the packet is not to be trusted.
        _ => Ended::Stop(call.signature.name.clone()),
    }
}

fn open_state(call: &BoundCall, thread: u32) -> Result<*mut c_void, OpenError> {
    let Some(open) = call.function.open else { return Ok(ptr::null_mut()) };
    let mut message = [0u8; MESSAGE_BYTES];
    let opening = abi::Opening {
        signature: call.raw.as_ptr(),
        option: call.option.as_ref().map_or(ptr::null(), |option| option.as_ptr()),
        message: message.as_mut_ptr().cast::<c_char>(),
        message_bytes: MESSAGE_BYTES as u32,
        thread,
    };
    // SAFETY: all that it points to lives as long as `call`, but for the message, which is for this call only.
    #[expect(unsafe_code, reason = "a function of an extern")]
    let state = unsafe { open(&raw const opening) };
    if !state.is_null() {
        return Ok(state);
    }
    let message = CStr::from_bytes_until_nul(&message).map(CStr::to_string_lossy).unwrap_or_default();
    let message = if message.is_empty() { "it does not say why".to_owned() } else { message.into_owned() };
    Err(OpenError { name: call.signature.name.clone(), message })
}
