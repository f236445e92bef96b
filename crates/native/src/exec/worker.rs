//! A pipeline worker: the state with which one thread runs packets.

use crate::abi;
use crate::exec::host::HostContext;
use crate::exec::packet::Packet;
use crate::exec::trace::Tracing;
use crate::instance::Instance;
use crate::instance::state::State;
use crate::offload::channel::ChannelEnd;
use externs::{OpenError, Session};
use smol_str::SmolStr;
use std::collections::BTreeMap;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use target::UserExtern;

/// A worker of an instance, owned exclusively.
#[derive(Debug)]
pub struct PipelineWorker {
    /// `host` in it points to `host` here, and that to the context.
    raw: NonNull<abi::PipelineWorker>,
    number: u32,
    instance: Arc<Instance>,
    host: NonNull<abi::Host>,
    context: NonNull<HostContext>,
    /// Channels to offload workers; `raw` has their addresses.
    pub(crate) channels: Vec<ChannelEnd>,
    /// Packets that were abandoned, by block; a block is here if its offload worker is hung.
    pub(crate) abandoned: BTreeMap<usize, u64>,
}

// SAFETY: whoever has a PipelineWorker has alone what its pointers lead to; nothing there belongs to a thread: the functions
// that users supply are `Send`.
#[expect(unsafe_code, reason = "raw pointers make it none")]
unsafe impl Send for PipelineWorker {}

impl PipelineWorker {
    /// # Safety
    ///
    /// `raw` is a worker of the instance and nobody else uses it until this is dropped.
    #[expect(unsafe_code, reason = "what is promised here, methods rely on")]
    pub(crate) unsafe fn new(
        raw: NonNull<abi::PipelineWorker>,
        number: u32,
        instance: Arc<Instance>,
    ) -> PipelineWorker {
        let context =
            Box::new(HostContext::new(Arc::clone(instance.pipeline()), instance.program().architecture));
        let context = NonNull::from(Box::leak(context));
        let host = Box::new(abi::Host {
            context: context.as_ptr().cast(),
            call: Some(crate::exec::host::call),
            call_batch: Some(crate::exec::host::call_batch),
            trace: None,
        });
        let host = NonNull::from(Box::leak(host));
        let mut worker = PipelineWorker {
            raw,
            number,
            instance,
            host,
            context,
            channels: Vec::new(),
            abandoned: BTreeMap::new(),
        };
        worker.raw_mut().host = host.as_ptr();
        worker
    }

    pub fn instance(&self) -> &Arc<Instance> {
        &self.instance
    }

    pub fn number(&self) -> u32 {
        self.number
    }

    /// Supplies a user's implementation of extern functions and methods (`type.method`), by name.
    pub fn supply(&mut self, name: impl Into<SmolStr>, function: UserExtern) {
        self.context_mut().user.insert(name.into(), function);
    }

    /// Opens what externs of the program need in this worker.
    pub(crate) fn open_externs(&mut self) -> Result<(), OpenError> {
        let bound = Arc::clone(self.instance.pipeline().externs());
        let number = self.number;
        self.context_mut().externs = Session::open(bound, number)?;
        Ok(())
    }

    pub(crate) fn raw(&self) -> &abi::PipelineWorker {
        // SAFETY: alive as long as the instance, ours alone; C uses it only during calls that borrow `self` mutably.
        #[expect(unsafe_code, reason = "memory of the compiled program")]
        unsafe {
            self.raw.as_ref()
        }
    }

    pub(crate) fn raw_mut(&mut self) -> &mut abi::PipelineWorker {
        // SAFETY: as above.
        #[expect(unsafe_code, reason = "memory of the compiled program")]
        unsafe {
            self.raw.as_mut()
        }
    }

    pub(crate) fn context_mut(&mut self) -> &mut HostContext {
        // SAFETY: leaked from a box in `new`, freed when `self` is dropped; C reaches it through the host only during
        // calls that borrow `self` mutably.
        #[expect(unsafe_code, reason = "C has a pointer to it")]
        unsafe {
            self.context.as_mut()
        }
    }

    /// Hears every step of code that tells it.
    pub(crate) fn set_tracing(&mut self, tracing: Tracing) {
        self.context_mut().tracing = Some(tracing);
        // SAFETY: leaked from a box in `new`, freed when `self` is dropped; C reads it only during calls that borrow
        // `self` mutably.
        #[expect(unsafe_code, reason = "C has a pointer to it")]
        unsafe {
            self.host.as_mut().trace = Some(crate::exec::trace::trace);
        }
    }

    pub(crate) fn raw_ptr(&self) -> *mut abi::PipelineWorker {
        self.raw.as_ptr()
    }

    /// Sets the members of `struct sd_worker` that C reads when it runs packets.
    pub(crate) fn prepare(&mut self, step_budget: u32, now_ns: u64) {
        let context = self.context_mut();
        context.now_ns = now_ns;
        context.stopped.clear();
        let raw = self.raw_mut();
        raw.now_ns = now_ns;
        raw.steps_left = step_budget;
    }

    /// Lets `f` call compiled code with the worker; what the code finds in tables stays until it returns.
    pub(crate) fn run<T>(&mut self, f: impl FnOnce(*mut abi::PipelineWorker) -> T) -> T {
        let _inside = self.instance.enter(self.number);
        f(self.raw.as_ptr())
    }

    /// Bytes that the deparser wrote.
    pub(crate) fn emitted(&self) -> &[u8] {
        bytes_of(&self.raw().emitted)
    }

    pub(crate) fn digests(&self) -> &[u8] {
        bytes_of(&self.raw().digests)
    }

    /// Nothing is requested, no meter has marked a packet.
    pub(crate) fn begin_pass(&mut self) {
        let n_tables = self.instance.pipeline().layout().tables.len();
        let raw = self.raw_mut();
        raw.requests = abi::Requests::default();
        raw.digests.length = 0;
        if !raw.direct_colours.is_null() {
            // SAFETY: one byte for each table (rt/sd_abi.h), ours alone.
            #[expect(unsafe_code, reason = "memory of the compiled program")]
            unsafe {
                ptr::write_bytes(raw.direct_colours, 0, n_tables);
            }
        }
    }

    /// Runs one block; gives `SD_END_*`.
    pub(crate) fn run_block(&mut self, block: u32, packet: &mut Packet, now_ns: u64) -> u32 {
        let run_block = self.instance.pipeline().functions().run_block;
        let context = self.context_mut();
        context.now_ns = now_ns;
        context.stopped.clear();
        let raw = self.raw_mut();
        raw.now_ns = now_ns;
        raw.steps_left = packet.steps_left;
        let mut view = packet.view();
        let state = packet.state.as_mut_ptr();
        // SAFETY: worker and packet are ours alone, the state has the size and alignment that the program wants
        // (`State::new`), the packet's bytes and headroom are where the view says, and we are within the gate.
        #[expect(unsafe_code, reason = "a function of the compiled program")]
        let end = self.run(|worker| unsafe { run_block(block, worker, &mut view, state) });
        packet.move_to(&view);
        packet.cursor_bits = view.cursor_bits;
        packet.steps_left = self.raw().steps_left;
        end
    }

    /// Runs packets on the fast path; returns how many of them have a verdict. `port_flags` are those of the switch.
    pub(crate) fn process(
        &mut self,
        packets: &mut [abi::Packet],
        port_flags: &[u8],
        step_budget: u32,
        now_ns: u64,
    ) -> usize {
        let Some(process) = self.instance.pipeline().functions().process else { return 0 };
        self.prepare(step_budget, now_ns);
        let raw = self.raw_mut();
        // C reads them only during this call.
        (raw.port_flags, raw.n_port_flags) = (port_flags.as_ptr(), port_flags.len() as u32);
        let n = u32::try_from(packets.len()).unwrap_or(u32::MAX);
        // SAFETY: the worker is ours alone, and so are the packets, whose bytes and headroom are where they say
        // (`BurstPacket`); we are within the gate.
        #[expect(unsafe_code, reason = "a function of the compiled program")]
        let done = self.run(|worker| unsafe { process(worker, packets.as_mut_ptr(), n) });
        (done as usize).min(packets.len())
    }

    /// A copy of the state that [`process`](Self::process) has stopped with.
    pub(crate) fn stopped_state(&self) -> State {
        let layout = self.instance.pipeline().layout();
        let mut state = State::new(layout.state_bytes);
        if !self.raw().state.is_null() {
            // SAFETY: after `process` has stopped for a packet, its state is there, of the program's size; the copy
            // has that size, too.
            #[expect(unsafe_code, reason = "memory of the compiled program")]
            unsafe {
                ptr::copy_nonoverlapping(
                    self.raw().state.cast::<u8>(),
                    state.as_mut_ptr().cast(),
                    layout.state_bytes,
                );
            }
        }
        state
    }
}

fn bytes_of(buffer: &abi::Buffer) -> &[u8] {
    if buffer.bytes.is_null() {
        return &[];
    }
    // SAFETY: a buffer of the worker, which is borrowed as long as the result, has this many bytes.
    #[expect(unsafe_code, reason = "memory of the compiled program")]
    unsafe {
        std::slice::from_raw_parts(buffer.bytes, buffer.length as usize)
    }
}

impl Drop for PipelineWorker {
    fn drop(&mut self) {
        self.disconnect();
        self.raw_mut().host = ptr::null();
        // SAFETY: leaked from boxes in `new`; the worker no longer points to the host, and nobody else to the context.
        #[expect(unsafe_code, reason = "C had pointers to them")]
        unsafe {
            drop(Box::from_raw(self.host.as_ptr()));
            drop(Box::from_raw(self.context.as_ptr()));
        }
        self.instance.give_back(self.number);
    }
}
