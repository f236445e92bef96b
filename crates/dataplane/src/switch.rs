//! The switch: workers and their control plane.

use crate::ageing::take_expired;
use crate::clock::Clock;
use crate::controller_queues::{ControllerQueues, PacketIn};
use crate::mailbox::Mailbox;
use crate::migration::{configuration, copy_entities};
use crate::options::{Compiled, Options};
use crate::plane::RunningProgram;
use crate::ports::{PortKind, PortSpec};
use crate::report::{Report, WorkerStatus};
use crate::start_fault::StartFault;
use crate::warning::{self, Links, Warning};
use crate::worker::{Place, Running, Worker};
use crate::worker_loop;
use arch::PortFault;
use control::sync::Migration;
use control::{Entity, Fault, Query, Schema, Target, Update};
use ir::Timeout;
use packet_io::{CoreError, LinkState, Port, PortError};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use target::Store;
use target::traffic::{Pacer, Totals};
use target::{DigestMessage, PortState};

/// A worker that says nothing for so long is stuck.
const ANSWER_TIME: Duration = Duration::from_secs(10);
/// How soon a caller that waits for a worker sees that the switch ends.
const END_POLL: Duration = Duration::from_millis(50);
/// How often a thread is looked at that is to end.
const JOIN_POLL: Duration = Duration::from_millis(1);
/// A worker or thread gets so long even after a deadline that was used up by one that hangs.
const GRACE: Duration = Duration::from_secs(1);
/// Enough to empty the rings.
const N_LAST_TURNS: usize = 8;
/// A link that takes no packet for so long takes none any more.
const DRAIN_TIME: Duration = Duration::from_millis(200);
/// How often somebody looks after links and captures.
const ROUND: Duration = Duration::from_millis(100);
/// How often somebody looks for idle entries, while there are entries that may become idle.
const SCAN: Duration = Duration::from_millis(10);
/// Least pause between two scans, in times that one takes: nobody else changes entries meanwhile.
const SCAN_PAUSE_PER_SCAN: u32 = 20;

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("a switch needs at least one worker")]
    NoWorker,
    #[error("cannot start a worker: {0}")]
    Thread(io::Error),
    #[error(transparent)]
    Core(#[from] CoreError),
}

#[derive(Debug, thiserror::Error)]
pub enum SwitchError {
    #[error(transparent)]
    Program(#[from] StartFault),
    #[error(transparent)]
    Port(#[from] PortError),
    #[error("port {0} exists")]
    PortExists(u32),
    #[error("there is no port {0}")]
    NoSuchPort(u32),
    #[error("{kind} is port {port} already")]
    DeviceInUse { kind: PortKind, port: u32 },
    #[error("port {port} cannot be used: {fault}")]
    BadPort { port: u32, fault: PortFault },
    #[error("port {0} leads to the controller: it cannot be an interface")]
    CpuPort(u32),
    #[error("there is no program")]
    NoProgram,
    #[error(
        "there is no port for the controller's packets: start the switch with --cpu-port, or name a port to send from with --port"
    )]
    NoCpuPort,
    #[error("there is no room for the packet")]
    NoRoom,
    #[error("the switch has ended")]
    Ended,
    #[error("worker {0} does not answer")]
    Stuck(usize),
}

/// A program that could run: it takes entries, and no packets.
pub struct Prepared(RunningProgram);

impl std::fmt::Debug for Prepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Prepared").field(&self.0.compiled.name).finish()
    }
}

/// Why [`Switch::shut_down`] has no complete counts.
#[derive(Debug, thiserror::Error)]
pub enum ShutdownError {
    #[error("the switch has ended")]
    Ended,
    /// These workers did not end in time, for example because they run an extern that hangs. Their threads are
    /// abandoned; their counts are not in the report.
    #[error("workers {workers:?} did not end within {} s: they may run an extern that hangs", timeout.as_secs_f64())]
    Stuck { workers: Vec<usize>, timeout: Duration, report: Box<Report> },
}

/// Workers, their ports and the program that they run. Ends with the last reference.
pub struct Switch {
    pub(crate) shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

pub(crate) struct Shared {
    pub(crate) options: Options,
    pub(crate) clock: Clock,
    mailboxes: Vec<Arc<Mailbox>>,
    pub(crate) plane: Mutex<Plane>,
    /// Messages of workers and of the housekeeper for controllers.
    queues: Arc<ControllerQueues>,
    /// True if the housekeeper has something new to look after; changed with the plane locked.
    house: Mutex<bool>,
    house_calls: Condvar,
    /// The housekeeper looks for idle entries often. Changed with the plane locked.
    is_scanning: AtomicBool,
    /// Warnings for the operator; few, since each port can add one.
    warnings: Mutex<Vec<Warning>>,
    /// Nobody asks workers any more.
    is_ended: AtomicBool,
    /// Workers end.
    stop: Arc<AtomicBool>,
}

/// State of the control plane, changed under one lock.
#[derive(Default)]
pub(crate) struct Plane {
    pub(crate) generation: Option<RunningProgram>,
    ports: BTreeMap<u32, PortEntry>,
    pub(crate) ports_down: BTreeSet<u32>,
    links: Links,
    /// The worker that gets the next port.
    next_worker: usize,
    /// Rises whenever the program, its entries or its ports may have changed.
    pub(crate) n_changes: u64,
}

/// A port as the control plane knows it.
struct PortEntry {
    /// The worker that has its first queue, and sends the packets of workers without a queue.
    owner: usize,
    /// All workers that have a queue.
    workers: BTreeSet<usize>,
    kind: PortKind,
}

impl Plane {
    pub(crate) fn port_numbers(&self) -> impl Iterator<Item = u32> {
        self.ports.keys().copied()
    }

    /// Fails if such a port cannot be added now.
    fn check_port(&self, number: u32, kind: &PortKind, options: &Options) -> Result<(), SwitchError> {
        if self.ports.contains_key(&number) {
            return Err(SwitchError::PortExists(number));
        }
        if let Some((port, _)) = self.ports.iter().find(|(_, port)| port.kind.is_same_device(kind)) {
            return Err(SwitchError::DeviceInUse { kind: kind.clone(), port: *port });
        }
        if options.cpu_port == Some(number) {
            return Err(SwitchError::CpuPort(number));
        }
        if options.drop_port == Some(number) {
            return Err(SwitchError::BadPort { port: number, fault: PortFault::IsDropPort });
        }
        self.generation.as_ref().map_or(Ok(()), |running| check_number(&running.compiled, number))
    }
}

/// Whether packets can arrive at a port of that number, in the program's architecture.
fn check_number(compiled: &Compiled, port: u32) -> Result<(), SwitchError> {
    let model = compiled.program.architecture.pipeline();
    let checked = model.map_or(Ok(()), |model| model.check_port(port));
    checked.map_err(|fault| SwitchError::BadPort { port, fault })
}

impl Switch {
    /// Workers without ports and without a program.
    pub fn start(options: Options) -> Result<Arc<Switch>, StartError> {
        crate::keep_freed_memory();
        if options.n_workers == 0 {
            return Err(StartError::NoWorker);
        }
        let clock = Clock::start();
        let queues = ControllerQueues::new(options.n_waiting_max).map_err(StartError::Thread)?;
        let queues = Arc::new(queues);
        let stop = Arc::new(AtomicBool::new(false));
        let mailboxes = (0..options.n_workers)
            .map(|_| Mailbox::new(options.n_ring_max).map(Arc::new).map_err(StartError::Thread))
            .collect::<Result<Vec<_>, _>>()?;
        packet_io::check_cores(&options.cores)?;
        packet_io::check_cores(&options.offload_cores)?;
        let mut threads = Vec::new();
        for (number, mailbox) in mailboxes.iter().enumerate() {
            let mut worker = Worker::new(number, clock, Arc::clone(mailbox), Arc::clone(&queues), &options);
            let core = options.cores.get(number % options.cores.len().max(1)).copied();
            core.into_iter().for_each(|core| worker.set_core(core));
            let stop = Arc::clone(&stop);
            let run = move || {
                if let Some(core) = core {
                    // Allowed a moment ago; elsewhere the worker works, too.
                    let _ = packet_io::pin(core);
                }
                worker_loop::run(worker, &stop);
            };
            let builder = std::thread::Builder::new().name(format!("worker {number}"));
            threads.push(builder.spawn(run).map_err(StartError::Thread)?);
        }
        let shared = Arc::new(Shared {
            options,
            clock,
            mailboxes,
            plane: Mutex::default(),
            queues,
            house: Mutex::new(false),
            house_calls: Condvar::new(),
            is_scanning: AtomicBool::new(false),
            warnings: Mutex::default(),
            is_ended: AtomicBool::new(false),
            stop,
        });
        let looked_after = Arc::clone(&shared);
        let builder = std::thread::Builder::new().name("housekeeper".to_owned());
        threads.push(builder.spawn(move || looked_after.keep_house()).map_err(StartError::Thread)?);
        Ok(Arc::new(Switch { shared, threads: Mutex::new(threads) }))
    }

    pub fn options(&self) -> &Options {
        &self.shared.options
    }

    /// Nanoseconds since the switch began.
    pub fn now_ns(&self) -> u64 {
        self.shared.clock.now_ns()
    }

    /// Ends all workers, after they have sent what they have, and returns the last counts. Workers that
    /// hang are abandoned after [`Options::shutdown_timeout`], with some seconds more for offload workers.
    pub fn shut_down(&self) -> Result<Report, ShutdownError> {
        let timeout = self.shared.options.shutdown_timeout;
        // Housekeeping and clients give up their questions to workers.
        if self.shared.is_ended.swap(true, Ordering::AcqRel) {
            return Err(ShutdownError::Ended);
        }
        let mut stuck = BTreeSet::new();
        let deadline = Instant::now() + timeout;
        // Nothing more comes in; packets under way between workers arrive.
        self.shared.ask_all(&mut stuck, deadline, |worker| worker.pause(true));
        let offload_deadline = deadline + self.shared.options.hang_timeout;
        self.shared.ask_all(&mut stuck, offload_deadline, Worker::wait_for_offload_workers);
        for _ in 0..N_LAST_TURNS {
            self.shared.ask_all(&mut stuck, deadline, Worker::poll);
        }
        self.drain_queues(&mut stuck, deadline);
        self.shared.ask_all(&mut stuck, deadline, Worker::flush_ports);
        let errors = self.shared.ask_all(&mut stuck, deadline, Worker::take_capture_errors);
        self.shared.warn_of_captures(errors);
        let reports = self.shared.ask_all(&mut stuck, deadline, Worker::report);
        // Somebody who writes entries may wait for a worker that hangs.
        let plane = lock_by(&self.shared.plane, Instant::now() + GRACE);
        let report = sum(reports, plane.as_ref().and_then(|plane| plane.generation.as_ref()));
        drop(plane);
        self.stop(if stuck.is_empty() { deadline } else { Instant::now() });
        if stuck.is_empty() {
            return Ok(report);
        }
        let workers = stuck.into_iter().collect();
        Err(ShutdownError::Stuck { workers, timeout, report: Box::new(report) })
    }

    /// Packets that wait for congested links leave as their peers take them. Those of a link that takes none stay.
    fn drain_queues(&self, stuck: &mut BTreeSet<usize>, deadline: Instant) {
        let (mut n_before, mut drain_end) = (u64::MAX, Instant::now() + DRAIN_TIME);
        loop {
            let n_queued = |worker: &mut Worker| {
                worker.poll();
                worker.report().n_queued
            };
            let n_left = self.shared.ask_all(stuck, deadline, n_queued).into_iter().sum();
            let now = Instant::now();
            if n_left < n_before {
                (n_before, drain_end) = (n_left, now + DRAIN_TIME);
            }
            if n_left == 0 || now >= drain_end.min(deadline) {
                return;
            }
            std::thread::sleep(JOIN_POLL);
        }
    }

    /// Ends all threads. Those that do not end by then are abandoned.
    fn stop(&self, deadline: Instant) {
        self.shared.is_ended.store(true, Ordering::Release);
        self.shared.wake_housekeeper();
        let mut threads = std::mem::take(&mut *lock(&self.threads));
        // The housekeeper asks workers, so it ends before them.
        if let Some(housekeeper) = threads.pop() {
            join_by(housekeeper, deadline);
        }
        self.shared.stop.store(true, Ordering::Release);
        self.shared.mailboxes.iter().for_each(|mailbox| mailbox.wake());
        for thread in threads {
            join_by(thread, deadline);
        }
    }

    /// From now on ports send but receive nothing: what arrives waits where it is. So that ports may be added
    /// before the first packet looks for one of them.
    pub fn pause(&self) -> Result<(), SwitchError> {
        self.shared.on_all(|worker| worker.pause(true)).map(|_| ())
    }

    pub fn resume(&self) -> Result<(), SwitchError> {
        self.shared.on_all(|worker| worker.pause(false)).map(|_| ())
    }

    // Ports.

    pub fn add_port(&self, spec: &PortSpec, mirror: Option<&Path>) -> Result<(), SwitchError> {
        // Opening takes time, but none of the workers'; asked twice, so that no interface is taken for nothing.
        lock(&self.shared.plane).check_port(spec.number, &spec.kind, &self.shared.options)?;
        let queues = spec.open_queues(self.shared.options.n_queues_of(&spec.kind), mirror)?;
        self.add_port_of_kind(spec.number, spec.kind.clone(), queues)
    }

    /// Counts packets that something else has processed for this switch, on ports that are its own now.
    pub fn add_past(&self, totals: Totals) -> Result<(), SwitchError> {
        self.shared.on_lane(0, move |worker| worker.add_past(&totals))
    }

    /// A port that is open already, by its queues.
    pub fn add_opened(&self, spec: &PortSpec, queues: Vec<Box<dyn Port>>) -> Result<(), SwitchError> {
        self.add_port_of_kind(spec.number, spec.kind.clone(), queues)
    }

    /// Any other kind of port.
    pub fn add_open_port(&self, number: u32, name: String, port: Box<dyn Port>) -> Result<(), SwitchError> {
        self.add_open_queues(number, name, vec![port])
    }

    /// Any other kind of port, by its queues.
    pub fn add_open_queues(
        &self,
        number: u32,
        name: String,
        queues: Vec<Box<dyn Port>>,
    ) -> Result<(), SwitchError> {
        self.add_port_of_kind(number, PortKind::Other(name), queues)
    }

    fn add_port_of_kind(
        &self,
        number: u32,
        kind: PortKind,
        queues: Vec<Box<dyn Port>>,
    ) -> Result<(), SwitchError> {
        let mut plane = lock(&self.shared.plane);
        plane.n_changes += 1;
        plane.check_port(number, &kind, &self.shared.options)?;
        let n_workers = self.shared.mailboxes.len();
        let owner = match queues.len() {
            1 => plane.next_worker % n_workers,
            _ => 0,
        };
        if queues.len() == 1 {
            plane.next_worker = owner + 1;
        }
        let name = kind.to_string();
        let worker_of = |queue: usize| (owner + queue) % n_workers;
        let workers: BTreeSet<usize> = (0..queues.len()).map(worker_of).collect();
        plane.ports.insert(number, PortEntry { owner, workers: workers.clone(), kind });
        for (queue, port) in queues.into_iter().enumerate() {
            let name = name.clone();
            self.shared
                .on_lane(worker_of(queue), move |worker| worker.add_port(number, queue, name, port))?;
        }
        let there = Arc::clone(&self.shared.mailboxes[owner]);
        self.shared.tell_others(&workers, move |worker| {
            worker.set_place(number, Some(Place::There(Arc::clone(&there))));
        })
    }

    pub fn remove_port(&self, number: u32) -> Result<(), SwitchError> {
        let mut plane = lock(&self.shared.plane);
        plane.n_changes += 1;
        let removed = plane.ports.remove(&number).ok_or(SwitchError::NoSuchPort(number))?;
        // First nobody sends to it any more but workers with a queue of their own.
        self.shared.tell_others(&removed.workers, move |worker| worker.set_place(number, None))?;
        let mut closing = Vec::new();
        for worker in removed.workers {
            closing.extend(self.shared.on_lane(worker, move |worker| {
                // First send the packets that other workers have handed over.
                worker.poll();
                worker.remove_port(number)
            })?);
        }
        drop(plane);
        drop(closing);
        Ok(())
    }

    /// A port that is switched off takes nothing and sends nothing; both are counted.
    pub fn enable_port(&self, number: u32, is_enabled: bool) -> Result<(), SwitchError> {
        let mut plane = lock(&self.shared.plane);
        plane.n_changes += 1;
        let port = plane.ports.get(&number).ok_or(SwitchError::NoSuchPort(number))?;
        for worker in &port.workers {
            self.shared.on_lane(*worker, move |worker| worker.enable_port(number, is_enabled))?;
        }
        self.shared.look_at_ports(&mut plane)
    }

    /// Packets that each queue of each port holds.
    pub fn set_queue_depth(&self, n_packets_max: usize) -> Result<(), SwitchError> {
        self.shared.on_all(move |worker| worker.set_queue_depth(n_packets_max)).map(|_| ())
    }

    /// Packets per second that a port takes from all workers together; `None` is no limit.
    pub fn set_port_rate(&self, number: u32, rate_pps: Option<u64>) -> Result<(), SwitchError> {
        let plane = lock(&self.shared.plane);
        if !plane.ports.contains_key(&number) {
            return Err(SwitchError::NoSuchPort(number));
        }
        let pacer = Pacer::default();
        self.shared.on_all(move |worker| worker.set_rate(number, rate_pps, &pacer)).map(|_| ())
    }

    // Packets from and to the controller.

    /// The oldest packets for the controller.
    pub fn take_packet_ins(&self, n_max: usize) -> Vec<PacketIn> {
        std::iter::from_fn(|| self.shared.queues.pop_packet()).take(n_max).collect()
    }

    /// A packet comes from the controller.
    pub fn packet_out(&self, bytes: Vec<u8>) -> Result<(), SwitchError> {
        let port = self.shared.options.cpu_port.ok_or(SwitchError::NoCpuPort)?;
        self.inject(port, bytes)
    }

    /// A packet arrives as if at a port.
    pub fn inject(&self, port: u32, bytes: Vec<u8>) -> Result<(), SwitchError> {
        let owner = lock(&self.shared.plane).ports.get(&port).map(|port| port.owner);
        let owner = match owner {
            None if self.shared.options.cpu_port != Some(port) => return Err(SwitchError::NoSuchPort(port)),
            owner => owner.unwrap_or(0),
        };
        let is_taken = self.shared.on_lane(owner, move |worker| worker.inject(port, &bytes))?;
        if is_taken { Ok(()) } else { Err(SwitchError::NoRoom) }
    }

    /// Takes the digests since the last call.
    pub fn take_digests(&self) -> Result<Vec<DigestMessage>, SwitchError> {
        self.shared.collect_digests()?;
        Ok(self.shared.queues.take_digests())
    }

    /// Does the work of [`take_digests`](Self::take_digests), and leaves workers alone that have none.
    pub fn take_announced_digests(&self) -> Result<Vec<DigestMessage>, SwitchError> {
        if self.shared.queues.begin_digests() {
            self.shared.collect_digests()?;
        }
        Ok(self.shared.queues.take_digests())
    }

    /// Entries that no packet has hit for as long as they say, since this was asked last; they stay.
    pub fn take_expired(&self) -> Vec<Entity> {
        self.shared.queues.take_expired()
    }

    /// Sleeps until there are packets, digests or expired entries for controllers, until
    /// [`call_controllers`](Self::call_controllers), or for as long as `timeout` says. May return early. For one thread.
    pub fn wait_for_messages(&self, timeout: Option<Duration>) {
        self.shared.queues.wait(timeout);
    }

    /// Ends [`wait_for_messages`](Self::wait_for_messages), this call or the next.
    pub fn call_controllers(&self) {
        self.shared.queues.call();
    }

    /// Digests and expired entries of which nobody can be told any more: there were too many.
    pub fn n_untold(&self) -> u64 {
        self.shared.queues.n_untold()
    }

    /// Entries of a table whose timeout is over and of which nobody can be told any more.
    pub fn n_lost_notices(&self, table: control::TableId) -> u64 {
        self.shared.queues.n_lost_notices(table)
    }

    /// Warnings since this was asked last.
    pub fn take_warnings(&self) -> Vec<Warning> {
        std::mem::take(&mut *lock(&self.shared.warnings))
    }

    // The program and what it keeps.

    /// Lets all workers run another program, without losing a packet. The old one's entries end with it.
    pub fn replace(&self, compiled: Compiled) -> Result<(), SwitchError> {
        self.run_prepared(self.prepare(compiled)?)
    }

    /// Makes a program that takes entries, and no packets before [`run_prepared`](Self::run_prepared).
    pub fn prepare(&self, compiled: Compiled) -> Result<Prepared, SwitchError> {
        let ports_down = {
            let plane = lock(&self.shared.plane);
            plane.ports.keys().try_for_each(|port| check_number(&compiled, *port))?;
            plane.ports_down.clone()
        };
        Ok(Prepared(RunningProgram::new(compiled, &self.shared.options, &ports_down)?))
    }

    /// Lets `f` write and read entities of a prepared program.
    pub fn with_prepared<T>(
        &self,
        of: &mut Prepared,
        f: impl FnOnce(&Arc<Schema>, &mut dyn Target) -> T,
    ) -> T {
        let schema = Arc::clone(of.0.schema());
        f(&schema, &mut of.0.at(self.shared.clock.now_ns()))
    }

    /// Lets `copy` copy entities of the running program, which is first, into a prepared one, with nobody else writing meanwhile.
    /// `None` if there is no program.
    pub fn copy_entities<T>(
        &self,
        of: &mut Prepared,
        copy: impl FnOnce(&Arc<Schema>, &mut dyn Target, &Arc<Schema>, &mut dyn Target) -> T,
    ) -> Option<T> {
        let (mut plane, now_ns) = (lock(&self.shared.plane), self.shared.clock.now_ns());
        let before = plane.generation.as_mut()?;
        let (from_schema, schema) = (Arc::clone(before.schema()), Arc::clone(of.0.schema()));
        Some(copy(&from_schema, &mut before.at(now_ns), &schema, &mut of.0.at(now_ns)))
    }

    /// Lets all workers run a prepared program, without losing a packet. The old one's entries end with it.
    pub fn run_prepared(&self, Prepared(next): Prepared) -> Result<(), SwitchError> {
        let mut plane = lock(&self.shared.plane);
        plane.ports.keys().try_for_each(|port| check_number(&next.compiled, *port))?;
        // Ports whose links have changed meanwhile.
        for port in plane.ports_down.iter() {
            next.control.set_port(*port, PortState::Down);
        }
        self.shared.run(&mut plane, next)
    }

    /// Does the work of [`replace`](Self::replace), and copies the entities that the control plane has written, as far as the other
    /// program accepts them. What packets write while the program is replaced may be lost.
    pub fn replace_keeping(&self, compiled: Compiled) -> Result<Migration, SwitchError> {
        let mut plane = lock(&self.shared.plane);
        plane.ports.keys().try_for_each(|port| check_number(&compiled, *port))?;
        let mut next = RunningProgram::new(compiled, &self.shared.options, &plane.ports_down)?;
        let now_ns = self.shared.clock.now_ns();
        let schema = Arc::clone(next.schema());
        let migration = plane
            .generation
            .as_mut()
            .map(|before| copy_entities(before, &schema, &mut next.at(now_ns), now_ns))
            .unwrap_or_default();
        self.shared.run(&mut plane, next)?;
        Ok(migration)
    }

    /// The names and ids of the program that runs.
    pub fn schema(&self) -> Option<Arc<Schema>> {
        lock(&self.shared.plane).generation.as_ref().map(|generation| Arc::clone(generation.schema()))
    }

    /// The program that runs.
    pub fn program(&self) -> Option<Compiled> {
        lock(&self.shared.plane).generation.as_ref().map(|generation| generation.compiled.clone())
    }

    /// Lets `f` write and read entities, with nobody else doing so meanwhile.
    pub fn with_target<T>(
        &self,
        f: impl FnOnce(&Arc<Schema>, &mut dyn Target) -> T,
    ) -> Result<T, SwitchError> {
        let mut plane = lock(&self.shared.plane);
        plane.n_changes += 1;
        let generation = plane.generation.as_mut().ok_or(SwitchError::NoProgram)?;
        let schema = Arc::clone(generation.schema());
        let result = f(&schema, &mut generation.at(self.shared.clock.now_ns()));
        if schema.tables.iter().any(|table| table.has_idle_timeout) {
            self.shared.call_housekeeper();
        }
        Ok(result)
    }

    /// Returns whether [`with_target`](Self::with_target) would have to wait now.
    pub fn is_busy(&self) -> bool {
        matches!(self.shared.plane.try_lock(), Err(TryLockError::WouldBlock))
    }

    /// A number that rises whenever the program, its entries or the state of its ports may have changed.
    pub fn n_changes(&self) -> u64 {
        lock(&self.shared.plane).n_changes
    }

    /// The updates that bring a fresh switch of the running program to the configuration of this one: entries, default actions, groups, sessions and rates. Values of counters and registers are left out.
    pub fn configuration(&self) -> Result<Result<Vec<Update>, Fault>, SwitchError> {
        let mut plane = lock(&self.shared.plane);
        let generation = plane.generation.as_mut().ok_or(SwitchError::NoProgram)?;
        Ok(configuration(generation, self.shared.clock.now_ns()))
    }

    /// How each table of the running program has been used, by its name.
    pub fn table_uses(&self) -> Option<Vec<(String, target::store::TableUse)>> {
        let plane = lock(&self.shared.plane);
        let generation = plane.generation.as_ref()?;
        let names = generation.compiled.program.tables.iter().map(|(_, table)| table.name.to_string());
        Some(names.zip(generation.control.table_uses()).collect())
    }

    /// Names of the tables of the running program that packets write, or whose entries end.
    pub fn tables_with_state(&self) -> Vec<String> {
        let plane = lock(&self.shared.plane);
        let Some(generation) = plane.generation.as_ref() else { return Vec::new() };
        let tables = generation.compiled.program.tables.iter();
        let with_state = tables.filter(|(_, table)| table.has_state() || table.timeout != Timeout::Never);
        with_state.map(|(_, table)| table.name.to_string()).collect()
    }

    /// Sets the timeout that a profile of a table stands for, in nanoseconds; 0: its entries end at once. False if there is no
    /// such table, or if its entries have no profiles.
    pub fn set_profile(&self, table: &str, profile: u8, timeout_ns: u64) -> Result<bool, SwitchError> {
        let mut plane = lock(&self.shared.plane);
        let generation = plane.generation.as_mut().ok_or(SwitchError::NoProgram)?;
        let found = generation.compiled.program.tables.iter().find(|(_, declared)| declared.name == table);
        let id = found.map(|(id, _)| id);
        // A longer timeout brings no entry back.
        generation.control.remove_ended(self.shared.clock.now_ns());
        Ok(id.is_some_and(|id| generation.control.set_profile(id, profile, timeout_ns)))
    }

    /// The timeouts of the profiles of a table, in nanoseconds; `None` if it has none.
    pub fn profiles(&self, table: &str) -> Result<Option<Vec<u64>>, SwitchError> {
        let plane = lock(&self.shared.plane);
        let generation = plane.generation.as_ref().ok_or(SwitchError::NoProgram)?;
        let mut tables = generation.compiled.program.tables.iter();
        let found = tables.find(|(_, declared)| declared.name == table && declared.timeout != Timeout::Never);
        let timeouts =
            |id| (0..=u8::MAX).map(|profile| generation.control.profile_timeout(id, profile)).collect();
        Ok(found.and_then(|(id, _)| timeouts(id)))
    }

    /// The answer to a query, which is valid.
    pub fn read(&self, query: &Query) -> Result<Result<Vec<Entity>, Fault>, SwitchError> {
        self.with_target(|_, target| target.read(query))
    }

    /// All counts.
    pub fn report(&self) -> Result<Report, SwitchError> {
        self.shared.report()
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        self.stop(Instant::now() + self.shared.options.shutdown_timeout);
    }
}

/// Waits for the end of a thread until the deadline and [`GRACE`] more.
fn join_by(thread: JoinHandle<()>, deadline: Instant) {
    while !thread.is_finished() {
        if Instant::now() >= deadline + GRACE {
            return;
        }
        std::thread::sleep(JOIN_POLL);
    }
    // A panic was reported where it happened.
    let _ = thread.join();
}

impl std::fmt::Debug for Switch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Switch").field("options", &self.shared.options).finish_non_exhaustive()
    }
}

impl Shared {
    /// Does something on a worker, between two bursts.
    fn on_lane<T: Send + 'static>(
        &self,
        worker: usize,
        f: impl FnOnce(&mut Worker) -> T + Send + 'static,
    ) -> Result<T, SwitchError> {
        if self.is_ended.load(Ordering::Acquire) {
            return Err(SwitchError::Ended);
        }
        let (sender, answer) = sync_channel(1);
        let mailbox = self.mailboxes.get(worker).ok_or(SwitchError::Stuck(worker))?;
        // A caller that has stopped waiting needs no answer.
        mailbox.post(Box::new(move |worker| drop(sender.send(f(worker)))));
        self.wait_for(worker, &answer)
    }

    /// The answer of a worker, unless the switch ends meanwhile.
    fn wait_for<T>(&self, worker: usize, answer: &Receiver<T>) -> Result<T, SwitchError> {
        let deadline = Instant::now() + ANSWER_TIME;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match answer.recv_timeout(left.min(END_POLL)) {
                Ok(answer) => return Ok(answer),
                Err(RecvTimeoutError::Timeout) if self.is_ended.load(Ordering::Acquire) => {
                    return Err(SwitchError::Ended);
                }
                Err(RecvTimeoutError::Timeout) if !left.is_zero() => {}
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    return Err(SwitchError::Stuck(worker));
                }
            }
        }
    }

    /// Does something on all workers but those that are stuck, also while the switch ends. Workers that do not
    /// answer in time are stuck from now on; each has at least [`GRACE`].
    fn ask_all<T: Send + 'static>(
        &self,
        stuck: &mut BTreeSet<usize>,
        deadline: Instant,
        f: impl Fn(&mut Worker) -> T + Clone + Send + 'static,
    ) -> Vec<T> {
        let mut answers = Vec::new();
        for (worker, mailbox) in self.mailboxes.iter().enumerate().filter(|(i, _)| !stuck.contains(i)) {
            let (sender, answer) = sync_channel(1);
            let f = f.clone();
            mailbox.post(Box::new(move |worker| drop(sender.send(f(worker)))));
            answers.push((worker, answer));
        }
        let deadline = deadline.max(Instant::now() + GRACE);
        let mut all = Vec::new();
        for (worker, answer) in answers {
            match answer.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(answer) => all.push(answer),
                Err(_) => drop(stuck.insert(worker)),
            }
        }
        all
    }

    /// Runs a function on all workers at the same time.
    pub(crate) fn on_all<T: Send + 'static>(
        &self,
        f: impl Fn(&mut Worker) -> T + Clone + Send + 'static,
    ) -> Result<Vec<T>, SwitchError> {
        if self.is_ended.load(Ordering::Acquire) {
            return Err(SwitchError::Ended);
        }
        let mut answers = Vec::new();
        for mailbox in &self.mailboxes {
            let (sender, answer) = sync_channel(1);
            let f = f.clone();
            mailbox.post(Box::new(move |worker| drop(sender.send(f(worker)))));
            answers.push(answer);
        }
        answers.iter().enumerate().map(|(worker, answer)| self.wait_for(worker, answer)).collect()
    }

    /// Does something on all workers but those that have a queue of a port.
    fn tell_others(
        &self,
        with_queue: &BTreeSet<usize>,
        f: impl Fn(&mut Worker) + Clone + Send + 'static,
    ) -> Result<(), SwitchError> {
        for other in (0..self.mailboxes.len()).filter(|other| !with_queue.contains(other)) {
            self.on_lane(other, f.clone())?;
        }
        Ok(())
    }

    /// Lets all workers run what is ready to run.
    fn run(&self, plane: &mut Plane, mut next: RunningProgram) -> Result<(), SwitchError> {
        plane.n_changes += 1;
        let mut parts = Vec::new();
        for _ in 0..self.mailboxes.len() {
            let part = next.worker_share(&plane.ports_down)?;
            parts.push(Running::new(part, next.offload_workers.keep_order()));
        }
        let cores = &self.options.offload_cores;
        next.offload_workers.start(cores, self.clock).map_err(StartFault::Thread)?;
        let mut before = Vec::new();
        for (worker, part) in parts.into_iter().enumerate() {
            let (old, digests) = self.on_lane(worker, move |worker| worker.replace(Some(part)))?;
            before.push(old);
            self.queues.keep_digests(digests);
        }
        plane.generation = Some(next);
        self.call_housekeeper();
        Ok(())
    }

    /// Entries with idle timeouts may have come. The plane is locked.
    fn call_housekeeper(&self) {
        if !self.is_scanning.load(Ordering::Relaxed) {
            self.wake_housekeeper();
        }
    }

    fn wake_housekeeper(&self) {
        *lock(&self.house) = true;
        self.house_calls.notify_one();
    }

    fn collect_digests(&self) -> Result<(), SwitchError> {
        for digests in self.on_all(Worker::take_digests)? {
            self.queues.keep_digests(digests);
        }
        Ok(())
    }

    fn report(&self) -> Result<Report, SwitchError> {
        let reports = self.on_all(Worker::report)?;
        Ok(sum(reports, lock(&self.plane).generation.as_ref()))
    }

    fn keep_house(&self) {
        let mut next_round = Instant::now() + ROUND;
        while !self.is_ended.load(Ordering::Acquire) {
            let begin = Instant::now();
            let is_scanning = self.look_for_idle_entries();
            let next_scan = Instant::now() + SCAN.max(begin.elapsed() * SCAN_PAUSE_PER_SCAN);
            if Instant::now() >= next_round {
                // A worker that does not answer now may do so the next time.
                let _ = self.look_at_ports(&mut lock(&self.plane));
                next_round = Instant::now() + ROUND;
            }
            let next = if is_scanning { next_round.min(next_scan) } else { next_round };
            let timeout = next.saturating_duration_since(Instant::now());
            let waited =
                self.house_calls.wait_timeout_while(lock(&self.house), timeout, |is_called| !*is_called);
            *waited.unwrap_or_else(PoisonError::into_inner).0 = false;
        }
    }

    /// Removes entries whose time is over, and takes note of those that are idle. Returns whether there may be more.
    fn look_for_idle_entries(&self) -> bool {
        let (mut plane, now_ns) = (lock(&self.plane), self.clock.now_ns());
        if let Some(generation) = plane.generation.as_mut() {
            generation.control.remove_ended(now_ns);
        }
        let expired = plane.generation.as_mut().map(|generation| take_expired(generation, now_ns));
        self.queues.keep_expired(expired.unwrap_or_default());
        let is_scanning = plane.generation.as_ref().is_some_and(|generation| {
            generation.control.has_timed_entries() || generation.control.removes_ended()
        });
        self.is_scanning.store(is_scanning, Ordering::Relaxed);
        is_scanning
    }

    fn warn_of_captures(&self, errors: Vec<Vec<(u32, String)>>) {
        let errors = errors.into_iter().flatten();
        lock(&self.warnings).extend(errors.map(|(port, error)| Warning::CaptureEnded { port, error }));
    }

    /// Leaves out replicas and group members for ports without a link, and warns of links that change and captures that have
    /// ended.
    fn look_at_ports(&self, plane: &mut Plane) -> Result<(), SwitchError> {
        let looked = self.on_all(|worker| (worker.link_states(), worker.take_capture_errors()))?;
        let (links, errors): (Vec<_>, Vec<_>) = looked.into_iter().unzip();
        self.warn_of_captures(errors);
        let enabled = links.iter().flatten().filter(|(_, _, is_enabled)| *is_enabled);
        for (port, link) in plane.links.see(enabled.map(|(port, link, _)| (*port, *link))) {
            let name = plane.ports.get(&port).map_or_else(String::new, |entry| entry.kind.to_string());
            let reason = match link {
                LinkState::Up => None,
                _ => self.on_all(move |worker| worker.down_reason(port))?.into_iter().flatten().next(),
            };
            warning::add(&mut lock(&self.warnings), Warning::LinkChanged { port, name, link, reason });
        }
        let is_down = |(number, link, is_enabled): (u32, LinkState, bool)| {
            (link != LinkState::Up || !is_enabled).then_some(number)
        };
        let down: BTreeSet<u32> = links.into_iter().flatten().filter_map(is_down).collect();
        let changed: Vec<(u32, PortState)> =
            (down.difference(&plane.ports_down).map(|p| (*p, PortState::Down)))
                .chain(plane.ports_down.difference(&down).map(|p| (*p, PortState::Up)))
                .collect();
        if !changed.is_empty() {
            plane.ports_down = down;
            self.on_all(move |worker| {
                changed.iter().for_each(|(port, state)| worker.set_port_state(*port, *state))
            })?;
        }
        Ok(())
    }
}

/// The counts of workers, with what offload workers of the program have counted.
fn sum(workers: Vec<WorkerStatus>, running: Option<&RunningProgram>) -> Report {
    let mut report = Report::default();
    workers.into_iter().for_each(|worker| report.add(worker));
    let Some(running) = running else { return report };
    let names = running.compiled.pipeline.layout().asyncs.iter().map(|block| &block.name);
    for (i, (block, name)) in report.asyncs.iter_mut().zip(names).enumerate() {
        block.name = name.to_string();
        let served = running.offload_workers.served(i);
        (block.served, block.n_batches, block.n_batched) = (served.times, served.n_batches, served.n_batched);
    }
    report
}

/// Locks a mutex unless somebody else has it until the deadline.
fn lock_by<T>(mutex: &Mutex<T>, deadline: Instant) -> Option<MutexGuard<'_, T>> {
    loop {
        match mutex.try_lock() {
            Ok(guard) => return Some(guard),
            Err(TryLockError::Poisoned(error)) => return Some(error.into_inner()),
            Err(TryLockError::WouldBlock) if Instant::now() >= deadline => return None,
            Err(TryLockError::WouldBlock) => std::thread::sleep(JOIN_POLL),
        }
    }
}

/// Locks a mutex. A panic of another thread leaves its value good: all changes are made in one step.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
