//! States of externs in one thread, and the calls.

use crate::abi::{self, status};
use crate::library::PacketUse;
use crate::packet::{PacketPlace, PacketView};
use crate::set::{Bound, BoundCall};
use smol_str::SmolStr;
use std::ffi::{CStr, c_char, c_void};
use std::ptr;
use std::sync::Arc;

/// Size of the message with which a function explains why it cannot be opened.
const MESSAGE_BYTES: usize = 512;

/// Drop reason of packets that an extern left invalid.
const FAULT: &str = "extern_fault";

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the extern `{name}` cannot be used: {message}")]
pub struct OpenError {
    pub name: SmolStr,
    pub message: String,
}

/// Outcome of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    Next,
    /// The packet ends, for the reason with this name.
    Stop(SmolStr),
    /// The call has no function.
    NotBound,
}

/// States of externs for one user at a time: a worker or an offload worker.
pub struct Session {
    bound: Arc<Bound>,
    states: Vec<*mut c_void>,
    /// Headers of the present packet, to restore them after the call.
    headers: Vec<u8>,
    memory: BatchMemory,
}

/// Memory for calls of several packets.
#[derive(Default)]
struct BatchMemory {
    calls: Vec<abi::Call>,
    packets: Vec<abi::Packet>,
    status: Vec<u32>,
    /// Headers of all packets, concatenated.
    headers: Vec<u8>,
    /// Numbers of the calls that cannot be made.
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

// SAFETY: one thread at a time uses the states, which rt/siding_extern.h requires functions of externs to
// support; pointers of a batch are cleared when its call ends.
#[expect(unsafe_code, reason = "raw pointers make it none")]
unsafe impl Send for Session {}

/// One of several calls of the same function.
#[derive(Debug)]
pub struct BatchCall<'a> {
    pub args: &'a mut [u8],
    pub result: &'a mut [u8],
    pub packet: PacketView<'a>,
    pub now_ns: u64,
    /// Outcome, set by the call.
    pub ended: Ended,
}

/// Several calls of one function, with values at any address.
pub trait Batch {
    fn n_calls(&self) -> usize;

    /// Parts of one call; constant until [`end`](Self::end).
    fn parts(&mut self, call: usize) -> BatchParts<'_>;

    /// Ends one call: stores its outcome, and the position of its packet unless the packet is unchanged.
    fn end(&mut self, call: usize, place: Option<PacketPlace>, ended: Ended);
}

/// Inputs of one call of a batch.
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
    /// Opens the states that the calls need; `thread` is the number of the thread.
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

    /// A session for a program without extern calls.
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

    /// Calls the function with this number. Its signature defines the layout of arguments and result.
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
        // SAFETY: the state is that of this session, which is borrowed mutably; arguments and result have the
        // sizes in the signature, the packet lies in its buffer, and nothing else uses any of them meanwhile.
        #[expect(unsafe_code, reason = "a function of an extern")]
        let status = unsafe { (call.function.run)(&raw mut one) };
        if call.function.packet == PacketUse::Changed && packet.take(&raw, &self.headers).is_err() {
            return Ended::Stop(FAULT.into());
        }
        ended(call, status)
    }

    /// Like [`call`](Self::call) for several calls at once, in one C call if the function supports it.
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
            // The vector is complete, so its elements do not move any more.
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
        // Pointers must not outlive the memory that they point to.
        batch.clear();
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let bound = Arc::clone(&self.bound);
        for (state, number) in self.states.iter().zip(&bound.states) {
            let Some(Some(call)) = bound.calls.get(*number) else { continue };
            if let Some(close) = call.function.close {
                // SAFETY: the state comes from `open` of the same extern and is closed once.
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
        // Includes invalid values: a function that returns one cannot be trusted with the packet.
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
    // SAFETY: everything that it points to lives as long as `call`, except the message, which is valid for
    // this call only.
    #[expect(unsafe_code, reason = "a function of an extern")]
    let state = unsafe { open(&raw const opening) };
    if !state.is_null() {
        return Ok(state);
    }
    let message = CStr::from_bytes_until_nul(&message).map(CStr::to_string_lossy).unwrap_or_default();
    let message = if message.is_empty() { "it does not say why".to_owned() } else { message.into_owned() };
    Err(OpenError { name: call.signature.name.clone(), message })
}
