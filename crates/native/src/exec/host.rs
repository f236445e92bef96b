//! Requests of compiled programs to their host: calls of user externs, log messages, digests.

use crate::abi;
use crate::abi::layout::{ArgLayout, CallLayout, ValueLayout};
use crate::exec::trace::Tracing;
use crate::offload::watchdog::OffloadWatchdog;
use crate::toolchain::load::Pipeline;
use crate::values::{decode, encode};
use arch::{Architecture, ExternOp};
use externs::{Batch, BatchParts, Ended, PacketPlace, PacketView, Session};
use ir::Bits;
use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use std::collections::VecDeque;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use target::{DigestMessage, ExternArgs, ExternEnd, StopReason, UserExtern};

/// Messages of one block that are kept for whoever listens.
const N_MESSAGES_MAX: usize = 1024;

/// The host of one worker.
pub(crate) struct HostContext {
    pub(crate) pipeline: Arc<Pipeline>,
    architecture: Architecture,
    pub(crate) user: FxHashMap<SmolStr, UserExtern>,
    /// Functions behind the C interface.
    pub(crate) externs: Session,
    pub(crate) now_ns: u64,
    /// Why users' externs have stopped packets, in order.
    pub(crate) stopped: VecDeque<StopReason>,
    /// Messages that the program has logged.
    pub(crate) messages: Vec<String>,
    /// Set for traced code, which reports every step.
    pub(crate) tracing: Option<Tracing>,
    /// Set for offload workers, whose externs may hang.
    pub(crate) watchdog: Option<Arc<OffloadWatchdog>>,
}

impl HostContext {
    pub(crate) fn new(pipeline: Arc<Pipeline>, architecture: Architecture) -> HostContext {
        let user = FxHashMap::default();
        HostContext {
            pipeline,
            architecture,
            user,
            externs: Session::none(),
            now_ns: 0,
            stopped: VecDeque::new(),
            messages: Vec::new(),
            tracing: None,
            watchdog: None,
        }
    }

    /// An extern behind the C interface; `None` when there is none for the call.
    ///
    /// # Safety
    ///
    /// The packet lies in a buffer with the room that it says, which nobody else uses; so do arguments and result.
    #[expect(unsafe_code, reason = "memory of C")]
    unsafe fn call_extern(
        &mut self,
        index: u32,
        packet: &mut abi::Packet,
        args: &mut [u8],
        result: &mut [u8],
    ) -> Option<u32> {
        // SAFETY: the caller's promise.
        let mut view = unsafe { view(packet) };
        let ended = self.externs.call(index as usize, args, result, &mut view, self.now_ns);
        let (start, length) = (view.start, view.length);
        move_to(packet, start, length);
        match ended {
            Ended::Next => Some(abi::end::DONE),
            Ended::Stop(name) => Some(self.stop(StopReason::Extern(name))),
            Ended::NotBound => None,
        }
    }

    /// Whether the extern of these calls takes several at once, and is not one that the user has replaced.
    fn takes_batches(&self, index: u32) -> bool {
        let name = self.pipeline.layout().calls.get(index as usize).map(|call| &call.name);
        self.externs.bound().has_batch(index as usize)
            && !name.is_some_and(|name| self.user.contains_key(name))
    }

    /// Several calls of an extern that takes them.
    ///
    /// # Safety
    ///
    /// That of [`call_extern`](Self::call_extern) for each of them, and no two share anything.
    #[expect(unsafe_code, reason = "memory of C")]
    unsafe fn call_together(&mut self, index: u32, calls: &mut [abi::HostCall]) {
        let Some(call) = self.pipeline.layout().calls.get(index as usize) else { return };
        let result_bytes = call.result.map_or(0, |result| result.size);
        let (args_bytes, now_ns, stopped) = (call.args_bytes, self.now_ns, &mut self.stopped);
        let mut together = Together { calls, args_bytes, result_bytes, now_ns, stopped };
        self.externs.call_batch(index as usize, &mut together);
    }

    /// Gives `SD_END_*`.
    fn call(&mut self, index: u32, args: &mut [u8], result: &mut [u8], packet_length: u64) -> u32 {
        let pipeline = Arc::clone(&self.pipeline);
        let Some(call) = pipeline.layout().calls.get(index as usize) else { return abi::end::DONE };
        let mut access = CallAccess { call, args, result, now_ns: self.now_ns, packet_length };
        if let Some(function) = self.user.get_mut(&call.name) {
            // Nothing of what a panic leaves half done is looked at but the function's own.
            let ended = catch_unwind(AssertUnwindSafe(|| function(&mut access)));
            return match ended {
                Ok(ExternEnd::Next) => abi::end::DONE,
                Ok(ExternEnd::Stop(reason)) => self.stop(reason),
                Err(_) => self.stop(StopReason::Extern("extern_panicked".into())),
            };
        }
        if self.architecture.function(&call.name) == ExternOp::LogMessage {
            if self.messages.len() < N_MESSAGES_MAX {
                let text = target::format_message(access.text(0).unwrap_or(""), &access.values(1));
                self.messages.push(text);
            }
            return abi::end::DONE;
        }
        abi::end::EXTERN_NOT_SUPPLIED
    }

    fn stop(&mut self, reason: StopReason) -> u32 {
        self.stopped.push_back(reason);
        abi::end::STOPPED_BY_EXTERN
    }
}

/// `sd_host.call`.
///
/// # Safety
///
/// `context` is that of the worker's host, used by nobody else meanwhile; `args` and `result` have the sizes that
/// the call's type says.
#[expect(unsafe_code, reason = "called by C")]
pub(crate) unsafe extern "C" fn call(
    context: *mut c_void,
    _worker: *mut abi::PipelineWorker,
    packet: *mut abi::Packet,
    index: u32,
    args: *mut u8,
    result: *mut u8,
) -> u32 {
    // SAFETY: the caller's promise; the worker that is borrowed mutably by the call of C has the context alone.
    let context = unsafe { &mut *context.cast::<HostContext>() };
    let Some(call) = context.pipeline.layout().calls.get(index as usize) else { return abi::end::DONE };
    let (n_args, n_result) = (call.args_bytes, call.result.map_or(0, |result| result.size));
    // SAFETY: the caller's promise.
    let (args, result, packet) = unsafe { (bytes(args, n_args), bytes(result, n_result), &mut *packet) };
    let Some(watchdog) = context.watchdog.take() else {
        // SAFETY: the packet is the one that runs, which C has for itself (rt/sd_abi.h).
        return unsafe { context.run(index, packet, args, result) };
    };
    // SAFETY: as above.
    let end = watchdog.call(|| unsafe { context.run(index, packet, args, result) });
    context.watchdog = Some(watchdog);
    end
}

/// `sd_host.call_batch`.
///
/// # Safety
///
/// That of [`call`] for each of the `n` calls, which share nothing with each other.
#[expect(unsafe_code, reason = "called by C")]
pub(crate) unsafe extern "C" fn call_batch(
    context: *mut c_void,
    worker: *mut abi::PipelineWorker,
    index: u32,
    calls: *mut abi::HostCall,
    n: u32,
) {
    if calls.is_null() || n == 0 {
        return;
    }
    // SAFETY: the caller's promise.
    let calls = unsafe { std::slice::from_raw_parts_mut(calls, n as usize) };
    {
        // SAFETY: as in `call`.
        let context = unsafe { &mut *context.cast::<HostContext>() };
        if context.takes_batches(index) {
            match context.watchdog.take() {
                // SAFETY: the caller's promise.
                None => unsafe { context.call_together(index, calls) },
                Some(watchdog) => {
                    // SAFETY: the caller's promise.
                    watchdog.call(|| unsafe { context.call_together(index, calls) });
                    context.watchdog = Some(watchdog);
                }
            }
            return;
        }
    }
    for one in calls {
        // SAFETY: the caller's promise.
        one.end = unsafe { call(context, worker, one.packet, index, one.args, one.result) };
    }
}

/// Calls of C that are made together.
struct Together<'a> {
    calls: &'a mut [abi::HostCall],
    args_bytes: usize,
    result_bytes: usize,
    now_ns: u64,
    stopped: &'a mut VecDeque<StopReason>,
}

impl Batch for Together<'_> {
    fn n_calls(&self) -> usize {
        self.calls.len()
    }

    fn parts(&mut self, call: usize) -> BatchParts<'_> {
        let one = &self.calls[call];
        // SAFETY: there is one only within `call_together`, whose caller promises that the values and the packet of each
        // call are there, of these sizes, and used by nobody else; what is given is borrowed of `self`, one at a time.
        #[expect(unsafe_code, reason = "memory of C")]
        let (args, result, packet) = unsafe {
            (bytes(one.args, self.args_bytes), bytes(one.result, self.result_bytes), view(&*one.packet))
        };
        BatchParts { args, result, packet, now_ns: self.now_ns }
    }

    fn end(&mut self, call: usize, place: Option<PacketPlace>, ended: Ended) {
        let one = &mut self.calls[call];
        if let Some(place) = place {
            // SAFETY: as above.
            #[expect(unsafe_code, reason = "memory of C")]
            move_to(unsafe { &mut *one.packet }, place.start, place.length);
        }
        one.end = match ended {
            Ended::Next => abi::end::DONE,
            Ended::Stop(name) => {
                self.stopped.push_back(StopReason::Extern(name));
                abi::end::STOPPED_BY_EXTERN
            }
            Ended::NotBound => abi::end::EXTERN_NOT_SUPPLIED,
        };
    }
}

/// A packet as externs see it.
///
/// # Safety
///
/// It lies in a buffer with the room that it says, which nobody else uses while the result lives.
#[expect(unsafe_code, reason = "memory of C")]
unsafe fn view<'a>(packet: &abi::Packet) -> PacketView<'a> {
    let (start, length) = (packet.headroom_bytes as usize, packet.length_bytes as usize);
    let n_bytes = start + length + packet.tailroom_bytes as usize;
    PacketView {
        // SAFETY: the caller's promise.
        storage: unsafe { bytes(packet.data.wrapping_sub(start), n_bytes) },
        start,
        length,
        payload_at: (packet.cursor_bits.div_ceil(8) as usize).min(length),
        ingress_port: packet.ingress_port,
    }
}

/// It begins there in its buffer now, and is that long: no further than the buffer reaches, which is no larger than
/// numbers of the packet can tell.
fn move_to(packet: &mut abi::Packet, start: usize, length: usize) {
    let first = packet.data.wrapping_sub(packet.headroom_bytes as usize);
    let n_bytes = [packet.headroom_bytes, packet.length_bytes, packet.tailroom_bytes]
        .map(|n| n as usize)
        .iter()
        .sum::<usize>();
    packet.tailroom_bytes = n_bytes.saturating_sub(start + length) as u32;
    (packet.headroom_bytes, packet.length_bytes) = (start as u32, length as u32);
    packet.data = first.wrapping_add(start);
}

impl HostContext {
    /// Any extern; gives `SD_END_*`.
    ///
    /// # Safety
    ///
    /// That of [`call_extern`](Self::call_extern).
    #[expect(unsafe_code, reason = "memory of C")]
    unsafe fn run(
        &mut self,
        index: u32,
        packet: &mut abi::Packet,
        args: &mut [u8],
        result: &mut [u8],
    ) -> u32 {
        let packet_length = packet.length_bytes;
        let is_supplied = !self.user.is_empty()
            && self
                .pipeline
                .layout()
                .calls
                .get(index as usize)
                .is_some_and(|call| self.user.contains_key(&call.name));
        if !is_supplied && self.externs.bound().has(index as usize) {
            // SAFETY: the caller's promise.
            if let Some(end) = unsafe { self.call_extern(index, packet, args, result) } {
                return end;
            }
        }
        self.call(index, args, result, u64::from(packet_length))
    }
}

/// # Safety
///
/// Requires `n` bytes at `first`, unless it is null, that nothing else uses.
#[expect(unsafe_code, reason = "memory of C")]
unsafe fn bytes<'a>(first: *mut u8, n: usize) -> &'a mut [u8] {
    if first.is_null() || n == 0 {
        return &mut [];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts_mut(first, n) }
}

/// A call as its extern sees it.
struct CallAccess<'a> {
    call: &'a CallLayout,
    args: &'a mut [u8],
    result: &'a mut [u8],
    now_ns: u64,
    packet_length: u64,
}

/// The single values of an argument.
fn leaves(arg: Option<&ArgLayout>) -> &[ValueLayout] {
    match arg {
        Some(ArgLayout::In(value)) => std::slice::from_ref(value),
        Some(ArgLayout::Fields(leaves) | ArgLayout::Ref(leaves)) => leaves,
        Some(ArgLayout::Str(_) | ArgLayout::Absent) | None => &[],
    }
}

impl ExternArgs for CallAccess<'_> {
    fn value(&self, arg: usize) -> Option<Bits> {
        match self.call.args.get(arg)? {
            ArgLayout::In(value) => Some(decode(value, self.args)),
            ArgLayout::Fields(_) | ArgLayout::Ref(_) | ArgLayout::Str(_) | ArgLayout::Absent => None,
        }
    }

    fn values(&self, arg: usize) -> Vec<Bits> {
        leaves(self.call.args.get(arg)).iter().map(|leaf| decode(leaf, self.args)).collect()
    }

    fn text(&self, arg: usize) -> Option<&str> {
        match self.call.args.get(arg)? {
            ArgLayout::Str(text) => Some(text),
            ArgLayout::In(_) | ArgLayout::Fields(_) | ArgLayout::Ref(_) | ArgLayout::Absent => None,
        }
    }

    fn is_absent(&self, arg: usize) -> bool {
        matches!(self.call.args.get(arg), Some(ArgLayout::Absent) | None)
    }

    fn width(&self, arg: usize) -> u32 {
        leaves(self.call.args.get(arg)).first().map_or(0, |leaf| decode(leaf, self.args).width())
    }

    fn set(&mut self, arg: usize, values: &[Bits]) {
        let Some(ArgLayout::Ref(leaves)) = self.call.args.get(arg) else { return };
        for (leaf, value) in leaves.iter().zip(values) {
            // A varbit keeps its width.
            let width = decode(leaf, self.args).width();
            encode(leaf, &value.resize(width), self.args);
        }
    }

    fn result_width(&self) -> u32 {
        self.call.result.as_ref().map_or(0, |result| decode(result, self.result).width())
    }

    fn result(&self) -> Bits {
        self.call.result.as_ref().map_or(Bits::zero(0), |result| decode(result, self.result))
    }

    fn set_result(&mut self, value: &Bits) {
        if let Some(result) = &self.call.result {
            let width = decode(result, self.result).width();
            encode(result, &value.resize(width), self.result);
        }
    }

    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn packet_length(&self) -> u64 {
        self.packet_length
    }

    fn object(&self) -> Option<u32> {
        self.call.object
    }
}

/// Digests as the runtime appends them: the call, the length of what follows, the values of its arguments.
pub(crate) fn read_digests(calls: &[CallLayout], mut bytes: &[u8]) -> Vec<DigestMessage> {
    let mut digests = Vec::new();
    while let Some((head, rest)) = bytes.split_first_chunk::<8>() {
        let [c0, c1, c2, c3, l0, l1, l2, l3] = *head;
        let index = u32::from_le_bytes([c0, c1, c2, c3]);
        let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
        let Some((args, rest)) = rest.split_at_checked(length) else { break };
        bytes = rest;
        let Some(call) = calls.get(index as usize) else { continue };
        let values = |arg| leaves(call.args.get(arg)).iter().map(|leaf| decode(leaf, args)).collect();
        let receiver: Vec<Bits> = values(0);
        digests.push(DigestMessage {
            name: call.name.clone(),
            receiver: receiver.first().map_or(0, |value| value.to_u64().unwrap_or(u64::MAX)),
            values: values(1),
        });
    }
    digests
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn byte(offset: usize) -> ValueLayout {
        ValueLayout { offset, size: 1, width: Some(8) }
    }

    fn call(args: Vec<ArgLayout>, args_bytes: usize) -> CallLayout {
        let result = Some(ValueLayout { offset: 0, size: 2, width: Some(12) });
        CallLayout { name: "f".into(), object: None, args, args_bytes, result }
    }

    #[test]
    fn arguments_are_seen_by_their_kinds() {
        let varbit = ValueLayout { offset: 3, size: 6, width: None };
        let call = call(
            vec![
                ArgLayout::In(byte(0)),
                ArgLayout::Fields(vec![byte(0), byte(1)]),
                ArgLayout::Ref(vec![byte(2), varbit]),
                ArgLayout::Str("text".into()),
                ArgLayout::Absent,
            ],
            9,
        );
        let (mut args, mut result) = ([7, 8, 9, 16, 0, 0, 0, 0xab, 0xcd], [0; 2]);
        let (args, result) = (&mut args[..], &mut result[..]);
        let mut access = CallAccess { call: &call, args, result, now_ns: 5, packet_length: 60 };
        assert_eq!((access.number(0), access.value(1), access.value(9)), (Some(7), None, None));
        assert_eq!(access.values(1), [Bits::new(8, 7), Bits::new(8, 8)]);
        assert_eq!(access.values(2), [Bits::new(8, 9), Bits::new(16, 0xabcd)]);
        assert_eq!((access.text(3), access.text(0)), (Some("text"), None));
        assert_eq!([3, 4, 5].map(|arg| access.is_absent(arg)), [false, true, true]);
        assert_eq!([0, 2, 3].map(|arg| access.width(arg)), [8, 8, 0]);
        access.set(0, &[Bits::new(8, 1)]);
        access.set(2, &[Bits::new(16, 0x1ff), Bits::new(8, 0x12)]);
        access.set_result(&Bits::new(16, 0xffff));
        assert_eq!((access.result_width(), access.now_ns(), access.packet_length()), (12, 5, 60));
        assert_eq!(access.args, [7, 8, 0xff, 16, 0, 0, 0, 0x00, 0x12]);
        assert_eq!(access.result, [0xff, 0x0f]);
    }

    #[test]
    fn digests_follow_each_other() {
        let calls = [call(vec![ArgLayout::In(byte(0)), ArgLayout::Fields(vec![byte(1)])], 2)];
        let one = |call: u8, receiver, value| vec![call, 0, 0, 0, 2, 0, 0, 0, receiver, value];
        let mut bytes = [one(0, 3, 4), one(9, 0, 0), one(0, 5, 6)].concat();
        let digest =
            |receiver, value| DigestMessage { name: "f".into(), receiver, values: vec![Bits::new(8, value)] };
        assert_eq!(read_digests(&calls, &bytes), [digest(3, 4), digest(5, 6)]);
        bytes.pop();
        assert_eq!(read_digests(&calls, &bytes), [digest(3, 4)]);
    }
}
