//! The native block runner: blocks are functions of a compiled program.

use crate::abi::{self, end, request};
use crate::exec::host::read_digests;
use crate::exec::packet::Packet;
use crate::exec::trace::Tracing;
use crate::exec::worker::PipelineWorker;
use crate::instance::control::Control;
use crate::instance::state::State;
use crate::instance::{BurstPath, Instance, InstanceError, InstanceOptions};
use crate::toolchain::load::Pipeline;
use crate::values::{decode_u64, encode_u64};
use arch::{BlockIndex, BlockRole, FieldRole};
use control::Schema;
use diagnostics::Span;
use ir::{BlockId, Program};
use smol_str::SmolStr;
use std::ops::Range;
use std::sync::Arc;
use target::Store;
use target::traffic::Unrunnable;
use target::{
    BlockEnd, BlockRunner, CloneKind, CloneRequest, Config, Device, PortState, Preserve, Requests,
    StopReason, TrafficEvent, UserExtern,
};
use trace::{Event, Follow, Observer, Variables};

/// Receives the events of packets and the messages of the program.
pub trait Listener {
    /// The traffic manager does something with a packet.
    fn traffic(&mut self, event: TrafficEvent<'_>) {
        let _ = event;
    }

    /// The program logs a message.
    fn message(&mut self, text: &str) {
        let _ = text;
    }

    /// Receives the events of traced code that is followed ([`Native::follow`]).
    fn observer(&mut self) -> Option<&mut dyn Observer> {
        None
    }
}

/// Ignores everything.
impl Listener for () {}

/// An observer of the interpreter's events as one of compiled code; see [`Listener::observer`].
pub struct Observing<'o>(pub &'o mut dyn Observer);

impl Listener for Observing<'_> {
    fn observer(&mut self) -> Option<&mut dyn Observer> {
        Some(self.0)
    }
}

/// Runs blocks with one worker of an instance.
#[derive(Debug)]
pub struct Native {
    pub(crate) worker: PipelineWorker,
    pub(crate) control: Control,
    program: Arc<Program>,
    /// By their index in the description of the architecture: the role, and the block if the program has it.
    blocks: Vec<(BlockRole, Option<BlockId>)>,
    step_budget: u32,
    /// Variables of traced code; `None` unless it is followed.
    variables: Option<Arc<Variables>>,
}

#[derive(Debug, thiserror::Error)]
pub enum NativeError {
    #[error(transparent)]
    Instance(#[from] InstanceError),
    #[error("all workers of the instance are in use")]
    NoWorker,
    #[error(transparent)]
    Extern(#[from] externs::OpenError),
    #[error(transparent)]
    Unrunnable(#[from] Unrunnable),
}

/// A compiled program in a switch of its own, with its control plane. Bursts take [`BurstPath::Auto`].
pub fn native_device(
    pipeline: Arc<Pipeline>,
    program: impl Into<Arc<Program>>,
    schema: impl Into<Arc<Schema>>,
    config: Config,
) -> Result<Device<Native>, NativeError> {
    native_device_on(pipeline, program, schema, config, BurstPath::Auto)
}

/// A compiled program in a switch of its own, whose bursts take `path`.
pub fn native_device_on(
    pipeline: Arc<Pipeline>,
    program: impl Into<Arc<Program>>,
    schema: impl Into<Arc<Schema>>,
    config: Config,
    path: BurstPath,
) -> Result<Device<Native>, NativeError> {
    let options =
        InstanceOptions { n_workers: 1, seed: config.seed, path, table_size: config.load.table_size };
    let instance = Instance::new(pipeline, program.into(), options)?;
    let native = Native::new(&instance, config.load.step_budget)?;
    Ok(Device::new(native, schema, config)?)
}

impl Native {
    /// With the next worker that is free.
    pub fn new(instance: &Arc<Instance>, step_budget: u32) -> Result<Native, NativeError> {
        let mut worker = instance.take_worker().ok_or(NativeError::NoWorker)?;
        worker.open_externs()?;
        Ok(Native {
            worker,
            control: Control::new(Arc::clone(instance)),
            blocks: described_blocks(instance.program()),
            program: Arc::clone(instance.program()),
            step_budget,
            variables: None,
        })
    }

    /// Gives what traced code passes to a follower of the same program, which makes events of it: see
    /// [`Listener::observer`]. Without one nothing is told; code that is not traced tells nothing in any case.
    pub fn follow(&mut self, follower: Box<dyn Follow>) -> Result<(), InstanceError> {
        if let Some(tracing) = Tracing::new(self.worker.instance(), follower)? {
            self.variables = Some(Arc::clone(tracing.variables()));
            self.worker.set_tracing(tracing);
        }
        Ok(())
    }

    pub fn instance(&self) -> &Arc<Instance> {
        self.worker.instance()
    }

    /// Supplies a user's implementation of extern functions and methods (`type.method`), by name.
    pub fn supply(&mut self, name: impl Into<SmolStr>, function: UserExtern) {
        self.worker.supply(name, function);
    }

    /// The worker, to connect it to offload workers.
    pub fn worker_mut(&mut self) -> &mut PipelineWorker {
        &mut self.worker
    }

    pub(crate) fn step_budget(&self) -> u32 {
        self.step_budget
    }

    fn pipeline(&self) -> &Pipeline {
        self.worker.instance().pipeline()
    }

    /// Bytes of room that a packet needs, including its own, so that externs can make it longer.
    fn room(&self) -> usize {
        if self.pipeline().externs().changes_packets() { externs::PACKET_BYTES_MAX } else { 0 }
    }

    fn new_state(&self) -> State {
        State::new(self.pipeline().layout().state_bytes)
    }

    /// A packet that has been straight through as far as the worker says.
    pub(crate) fn stopped_packet(&self, bytes: &[u8], cursor_bits: u64) -> Packet {
        let mut packet =
            Packet::new(bytes, self.room(), self.worker.stopped_state(), self.worker.raw().steps_left);
        packet.cursor_bits = cursor_bits;
        packet
    }

    pub(crate) fn read_requests(&self) -> Requests {
        let raw = self.worker.raw().requests;
        let has = |flag: u32| raw.flags & flag != 0;
        let digests = match has(request::DIGEST) {
            true => read_digests(&self.pipeline().layout().calls, self.worker.digests()),
            false => Vec::new(),
        };
        Requests {
            clone: has(request::CLONE).then(|| CloneRequest {
                kind: if raw.clone_kind == 1 { CloneKind::Egress } else { CloneKind::Ingress },
                session: raw.clone_session,
                preserve: preserve(raw.clone_list),
            }),
            resubmit: has(request::RESUBMIT).then(|| preserve(raw.resubmit_list)),
            recirculate: has(request::RECIRCULATE).then(|| preserve(raw.recirculate_list)),
            truncate_bytes: has(request::TRUNCATE).then_some(raw.truncate_bytes),
            drop: match (has(request::DROP), has(request::PASS)) {
                (true, _) => Some(true),
                (false, true) => Some(false),
                (false, false) => None,
            },
            digests,
        }
    }

    /// The end of a block from `SD_END_*`.
    fn block_end(&mut self, role: BlockRole, how: u32) -> BlockEnd {
        let stop = |name: &str| BlockEnd::Stopped(StopReason::Extern(name.into()));
        match how {
            end::DONE if role == BlockRole::Parser => BlockEnd::Accepted,
            end::DONE => BlockEnd::Done,
            end::STEP_BUDGET => BlockEnd::Stopped(StopReason::StepBudget),
            end::ASSERTION_FAILED => BlockEnd::Stopped(StopReason::AssertionFailed),
            end::ASSUMPTION_FAILED => stop("assumption_failed"),
            end::EXTERN_NOT_SUPPLIED => stop("extern_not_supplied"),
            end::TOO_LONG => stop("too_long"),
            end::STOPPED_BY_EXTERN => match self.stopped() {
                Some(reason) => BlockEnd::Stopped(reason),
                None => stop("stopped_by_extern"),
            },
            end::REJECTED.. => BlockEnd::Rejected(how - end::REJECTED),
            _ => stop("unknown_end"),
        }
    }

    /// Why a user's extern has stopped the oldest packet that is not asked for yet.
    pub(crate) fn stopped(&mut self) -> Option<StopReason> {
        self.worker.context_mut().stopped.pop_front()
    }

    pub(crate) fn tell_messages(&mut self, listener: &mut (dyn Listener + '_)) {
        let messages = &mut self.worker.context_mut().messages;
        if !messages.is_empty() {
            std::mem::take(messages).iter().for_each(|text| listener.message(text));
        }
    }
}

fn described_blocks(program: &Program) -> Vec<(BlockRole, Option<BlockId>)> {
    let model = program.architecture.pipeline();
    let roles = model.into_iter().flat_map(|model| &model.blocks).map(|block| block.role);
    roles.zip(program.described_blocks()).collect()
}

fn preserve(list: u32) -> Preserve {
    if list == abi::NO_FIELD_LIST { Preserve::Nothing } else { Preserve::FieldList(list) }
}

impl BlockRunner for Native {
    type Packet = Packet;
    /// Parts of the state.
    type Saved = Vec<(Range<usize>, Vec<u8>)>;
    type Observer<'o> = dyn Listener + 'o;

    fn program(&self) -> &Arc<Program> {
        &self.program
    }

    fn arrive(&mut self, bytes: &[u8]) -> Packet {
        Packet::new(bytes, self.room(), self.new_state(), self.step_budget)
    }

    fn clock_advanced(&mut self, now_ns: u64) {
        self.control.remove_ended(now_ns);
    }

    fn restart(&mut self, packet: &mut Packet) {
        packet.restart();
    }

    fn bytes<'p>(&self, packet: &'p Packet) -> &'p [u8] {
        packet.bytes()
    }

    fn take_bytes(&mut self, packet: Packet) -> Vec<u8> {
        packet.bytes().to_vec()
    }

    fn set_bytes(&mut self, packet: &mut Packet, bytes: Vec<u8>) {
        packet.set_bytes(&bytes);
    }

    fn deparsed_bytes(&self, packet: &Packet) -> Vec<u8> {
        [&packet.emitted, packet.payload()].concat()
    }

    fn reset_metadata(&mut self, packet: &mut Packet) {
        let state = packet.state.bytes_mut();
        for range in &self.pipeline().layout().metadata {
            if let Some(part) = state.get_mut(range.clone()) {
                part.fill(0);
            }
        }
    }

    fn field(&self, packet: &Packet, role: FieldRole) -> Option<u64> {
        let layout = self.pipeline().layout().fields.get(role.number())?.first()?;
        Some(decode_u64(layout, packet.state.bytes()))
    }

    fn set_field(&self, packet: &mut Packet, role: FieldRole, value: u64) {
        for layout in self.pipeline().layout().fields.get(role.number()).into_iter().flatten() {
            encode_u64(layout, value, packet.state.bytes_mut());
        }
    }

    fn accepted(&self, packet: &Packet) -> Option<bool> {
        let layout = self.pipeline().layout().accept.as_ref()?;
        Some(decode_u64(layout, packet.state.bytes()) != 0)
    }

    fn save(&self, packet: &Packet, preserve: &Preserve) -> Self::Saved {
        let Preserve::FieldList(index) = preserve else { return Vec::new() };
        let lists = &self.pipeline().layout().field_lists;
        let ranges = lists.iter().find(|list| list.index == *index).map(|list| list.ranges.as_slice());
        let state = packet.state.bytes();
        let part = |range: &Range<usize>| Some((range.clone(), state.get(range.clone())?.to_vec()));
        ranges.unwrap_or_default().iter().filter_map(part).collect()
    }

    fn restore(&self, packet: &mut Packet, saved: &Self::Saved) {
        let state = packet.state.bytes_mut();
        for (range, bytes) in saved {
            if let Some(part) = state.get_mut(range.clone()) {
                part.copy_from_slice(bytes);
            }
        }
    }

    fn begin_pass(&mut self) {
        self.worker.begin_pass();
    }

    fn run(
        &mut self,
        block: BlockIndex,
        packet: &mut Packet,
        now_ns: u64,
        observer: &mut (dyn Listener + '_),
    ) -> BlockEnd {
        let Some(&(role, id)) = self.blocks.get(block) else { return BlockEnd::Done };
        if role == BlockRole::Deparser {
            // A program without a deparser emits nothing.
            self.worker.raw_mut().emitted.length = 0;
        }
        if let Some(id) = id {
            self.worker.context_mut().begin_trace(id, packet.state.bytes(), observer.observer());
        }
        let port = self.field(packet, FieldRole::IngressPort).unwrap_or(0);
        packet.ingress_port = u32::try_from(port).unwrap_or(u32::MAX);
        let how = self.worker.run_block(block as u32, packet, now_ns);
        if role == BlockRole::Deparser {
            packet.emitted.clear();
            packet.emitted.extend_from_slice(self.worker.emitted());
        }
        let end = self.block_end(role, how);
        if let Some(id) = id {
            self.worker.context_mut().end_trace(id, &end, observer.observer());
        }
        self.tell_messages(observer);
        end
    }

    fn take_requests(&mut self) -> Requests {
        let requests = self.read_requests();
        let raw = self.worker.raw_mut();
        raw.requests = abi::Requests::default();
        raw.digests.length = 0;
        requests
    }

    fn supply(&mut self, name: &str, function: UserExtern) {
        self.worker.supply(name, function);
    }

    fn set_port(&mut self, port: u32, state: PortState) {
        self.control.set_port(port, state);
    }

    fn tell(&self, observer: &mut (dyn Listener + '_), event: TrafficEvent<'_>) {
        if let (Some(variables), Some(observer)) = (&self.variables, observer.observer())
            && observer.listens()
        {
            observer.event(variables, Span::NONE, Event::Traffic(event.clone()));
        }
        observer.traffic(event);
    }
}
