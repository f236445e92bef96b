//! The thread of a port: sends, receives, or both.

use crate::clock;
use crate::generator::{Counts, Generator, GeneratorResult};
use crate::replay::{Recording, RecordingResult, Replay};
use crate::sink::{Sink, SinkResult};
use crate::stalls::{StallMeter, Stalls};
use crate::{TrafficError, latency::Latencies};
use packet_io::limits::BURST_MAX;
use packet_io::{BufPool, BufPoolOptions, PacketBuf, Port, PortStats, Waiter};
use serde::Serialize;
use std::sync::Barrier;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::time::Duration;

/// Time between two looks at whether to stop, and two updates of the progress.
const LOOK_NS: u64 = 1_000_000;

/// A thread that waits for packets looks around this often.
const WAIT: Duration = Duration::from_millis(10);

/// Packets that a port may have received before a trial, and that are thrown away.
const N_OLD_PACKETS_MAX: usize = 1 << 20;

/// Sends packets.
#[derive(Debug)]
pub enum Sender {
    Generator(Box<Generator>),
    Replay(Box<Replay>),
}

impl Sender {
    fn start(&mut self, now_ns: u64) {
        match self {
            Sender::Generator(generator) => generator.start(now_ns),
            Sender::Replay(replay) => replay.start(now_ns),
        }
    }

    fn is_done(&self, now_ns: u64) -> bool {
        match self {
            Sender::Generator(generator) => generator.is_done(now_ns),
            Sender::Replay(replay) => replay.is_done(),
        }
    }

    fn due_ns(&self) -> u64 {
        match self {
            Sender::Generator(generator) => generator.due_ns(),
            Sender::Replay(replay) => replay.due_ns(),
        }
    }

    fn counts(&self) -> &Counts {
        match self {
            Sender::Generator(generator) => generator.counts(),
            Sender::Replay(replay) => replay.counts(),
        }
    }

    fn poll(&mut self, port: &mut dyn Port, pool: &mut BufPool, now_ns: u64) -> Result<usize, TrafficError> {
        Ok(match self {
            Sender::Generator(generator) => generator.poll(port, pool, now_ns)?,
            Sender::Replay(replay) => replay.poll(port, pool, now_ns)?,
        })
    }

    fn finish(self, pool: &mut BufPool) -> GeneratorResult {
        match self {
            Sender::Generator(generator) => generator.finish(pool),
            Sender::Replay(replay) => replay.finish(pool),
        }
    }
}

/// Takes received packets.
#[derive(Debug)]
pub enum Receiver {
    Sink(Box<Sink>),
    Recording(Box<Recording>),
}

impl Receiver {
    fn take(&mut self, burst: &[PacketBuf], now_ns: u64) -> Result<(), TrafficError> {
        match self {
            Receiver::Sink(sink) => sink.take(burst, now_ns),
            Receiver::Recording(recording) => recording.take(burst)?,
        }
        Ok(())
    }

    /// Packets that were expected, each counted once.
    fn n_received(&self) -> u64 {
        match self {
            Receiver::Sink(sink) => sink.n_received_all(),
            Receiver::Recording(recording) => recording.n_packets(),
        }
    }

    fn show(&self, progress: &PortProgress) {
        let (n_packets, n_bytes, n_missing) = match self {
            Receiver::Sink(sink) => (sink.n_packets(), sink.n_bytes(), sink.n_missing()),
            Receiver::Recording(recording) => (recording.n_packets(), recording.n_bytes(), 0),
        };
        progress.n_received.store(n_packets, Relaxed);
        progress.n_bytes_received.store(n_bytes, Relaxed);
        progress.n_missing.store(n_missing, Relaxed);
    }
}

/// A thread without work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleMode {
    /// Polls, so that packets are seen at once.
    Spin,
    /// Polls, and lets other threads of its core run in between.
    Yield,
    /// Sleeps until a packet arrives, and leaves its core to others.
    Wait,
}

/// A port with what sends and receives on it, and the core of its thread.
#[derive(Debug)]
pub struct Station<'p> {
    pub port: &'p mut dyn Port,
    pub sender: Option<Sender>,
    pub receiver: Option<Receiver>,
    pub core: Option<usize>,
    pub idle: IdleMode,
}

/// Counts of a port while it runs.
#[derive(Debug, Default)]
pub struct PortProgress {
    pub n_sent: AtomicU64,
    pub n_bytes_sent: AtomicU64,
    pub n_received: AtomicU64,
    pub n_bytes_received: AtomicU64,
    /// Sequence numbers that are missing so far; packets in flight are not among them.
    pub n_missing: AtomicU64,
    /// Packets that were expected, each counted once.
    n_unique: AtomicU64,
}

/// Lets other threads watch and stop a trial.
#[derive(Debug)]
pub struct Control {
    stop: AtomicBool,
    /// A station has failed.
    abort: AtomicBool,
    /// In the order of the stations.
    pub ports: Vec<PortProgress>,
    n_sending: AtomicUsize,
    n_sent: AtomicU64,
    /// When the last sender ended.
    sent_at_ns: AtomicU64,
}

impl Control {
    pub fn new(n_ports: usize) -> Control {
        Control {
            stop: AtomicBool::new(false),
            abort: AtomicBool::new(false),
            ports: (0..n_ports).map(|_| PortProgress::default()).collect(),
            n_sending: AtomicUsize::new(0),
            n_sent: AtomicU64::new(0),
            sent_at_ns: AtomicU64::new(0),
        }
    }

    /// Ends the generators soon; the trial ends as if they had been done. A trial without generators ends at once.
    pub fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    pub(crate) fn set_n_senders(&self, n: usize) {
        self.n_sending.store(n, Relaxed);
    }
}

/// When a station that receives ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ending {
    /// Time to wait for packets after the last sender has ended.
    pub(crate) drain_ns: u64,
    /// Without senders: time to receive for.
    pub(crate) duration_ns: Option<u64>,
    /// Without senders: packets to wait for.
    pub(crate) n_packets: Option<u64>,
    pub(crate) has_senders: bool,
    /// Senders and receivers count the same packets.
    pub(crate) is_closed: bool,
}

/// Results of a station.
#[derive(Clone, Debug, Serialize)]
pub struct StationResult {
    pub port: u32,
    pub sent: Option<GeneratorResult>,
    pub received: Option<SinkResult>,
    pub recorded: Option<RecordingResult>,
    pub stalls: Stalls,
    /// Packets that arrived at the port and were dropped there, since the thread was too slow, by reason.
    pub rx_dropped: Vec<(&'static str, u64)>,
    /// Packets that the port did not send, by reason.
    pub tx_dropped: Vec<(&'static str, u64)>,
    #[serde(skip)]
    pub(crate) latencies: Option<Latencies>,
}

/// Thread of a station from its start to its end.
pub(crate) fn run(
    station: Station<'_>,
    number: usize,
    control: &Control,
    ending: Ending,
    ready: &Barrier,
) -> Result<StationResult, TrafficError> {
    let prepared = prepare(station, number, control);
    // All threads come here, also those that have failed.
    ready.wait();
    let (mut running, pinned) = prepared;
    let result = pinned.and_then(|()| running.work(&ending));
    if result.is_err() {
        control.abort.store(true, Relaxed);
    }
    result?;
    running.finish()
}

struct Running<'a, 'p> {
    station: Station<'p>,
    control: &'a Control,
    progress: &'a PortProgress,
    pool: BufPool,
    burst: Vec<PacketBuf>,
    stats_before: PortStats,
    stalls: Stalls,
    sent: Option<GeneratorResult>,
}

fn prepare<'a, 'p>(
    station: Station<'p>,
    number: usize,
    control: &'a Control,
) -> (Running<'a, 'p>, Result<(), TrafficError>) {
    let mut pinned = station.core.map_or(Ok(()), |core| packet_io::pin(core).map_err(TrafficError::from));
    let mut pool = BufPool::new(BufPoolOptions::JUMBO);
    let mut burst = Vec::with_capacity(BURST_MAX);
    // Packets that the port does not take stay with the generator, which sends them with a new time.
    station.port.set_back_pressure(true);
    if station.receiver.is_some() {
        let discarded = discard_old(station.port, &mut pool, &mut burst);
        pinned = pinned.and(discarded);
    }
    let stats_before = station.port.stats();
    let progress = &control.ports[number];
    let running = Running {
        station,
        control,
        progress,
        pool,
        burst,
        stats_before,
        stalls: Stalls::default(),
        sent: None,
    };
    (running, pinned)
}

/// Throws away what has arrived before the trial.
fn discard_old(
    port: &mut dyn Port,
    pool: &mut BufPool,
    burst: &mut Vec<PacketBuf>,
) -> Result<(), TrafficError> {
    // A capture has no earlier packets.
    if port.fd().is_none() {
        return Ok(());
    }
    let mut n = 0;
    while n < N_OLD_PACKETS_MAX {
        let n_more = port.rx_burst(pool, burst, BURST_MAX)?;
        burst.drain(..).for_each(|buf| pool.give_back(buf));
        n += n_more;
        if n_more == 0 {
            break;
        }
    }
    Ok(())
}

impl Running<'_, '_> {
    fn work(&mut self, ending: &Ending) -> Result<(), TrafficError> {
        let start_ns = clock::now_ns();
        let mut meter = StallMeter::start(start_ns);
        if let Some(sender) = &mut self.station.sender {
            sender.start(start_ns);
        }
        let mut looked_ns = start_ns;
        let mut waiter = Waiter::default();
        loop {
            let mut now_ns = clock::now_ns();
            meter.step(now_ns);
            if now_ns - looked_ns >= LOOK_NS {
                looked_ns = now_ns;
                self.show();
                self.station.port.idle()?;
                let is_aborted = self.control.abort.load(Relaxed);
                if is_aborted || self.control.stop.load(Relaxed) {
                    self.end_sender()?;
                    if is_aborted || !ending.has_senders {
                        break;
                    }
                }
            }
            let mut n_done = 0;
            if let Some(sender) = &mut self.station.sender {
                if sender.is_done(now_ns) {
                    self.end_sender()?;
                } else {
                    n_done += sender.poll(self.station.port, &mut self.pool, now_ns)?;
                    now_ns = clock::now_ns();
                    meter.skip(now_ns);
                }
            }
            if let Some(receiver) = &mut self.station.receiver {
                n_done += self.station.port.rx_burst(&mut self.pool, &mut self.burst, BURST_MAX)?;
                now_ns = clock::now_ns();
                meter.skip(now_ns);
                receiver.take(&self.burst, now_ns)?;
                self.burst.drain(..).for_each(|buf| self.pool.give_back(buf));
                if n_done == 0 && self.is_over(ending, start_ns, now_ns) {
                    break;
                }
            } else if self.station.sender.is_none() {
                break;
            }
            if n_done == 0 {
                self.idle(&mut waiter, now_ns);
                meter.skip(clock::now_ns());
            }
        }
        self.stalls = meter.finish();
        Ok(())
    }

    /// Nothing to send or receive.
    fn idle(&self, waiter: &mut Waiter, now_ns: u64) {
        match (&self.station.sender, &self.station.receiver) {
            (Some(sender), None) if sender.due_ns() > now_ns => clock::wait_towards(now_ns, sender.due_ns()),
            // The link is full.
            (Some(sender), _) if sender.due_ns() <= now_ns => std::thread::yield_now(),
            (None, Some(_)) if self.station.idle == IdleMode::Wait => match self.station.port.fd() {
                // An error shows in the next call of the port.
                Some(fd) => drop(waiter.wait([fd], WAIT)),
                None => std::thread::sleep(Duration::from_micros(100)),
            },
            _ if self.station.idle == IdleMode::Yield => std::thread::yield_now(),
            _ => std::hint::spin_loop(),
        }
    }

    fn end_sender(&mut self) -> Result<(), TrafficError> {
        if let Some(sender) = self.station.sender.take() {
            let sent = sender.finish(&mut self.pool);
            self.station.port.flush()?;
            self.control.n_sent.fetch_add(sent.n_sent, Relaxed);
            self.progress.n_sent.store(sent.n_sent, Relaxed);
            self.control.sent_at_ns.fetch_max(clock::now_ns(), Relaxed);
            self.control.n_sending.fetch_sub(1, Release);
            self.sent = Some(sent);
        }
        Ok(())
    }

    /// Returns true if no more packets are expected.
    fn is_over(&self, ending: &Ending, start_ns: u64, now_ns: u64) -> bool {
        let n_received = self.station.receiver.as_ref().map_or(0, Receiver::n_received);
        if self.station.sender.is_some() {
            return false;
        }
        self.progress.n_unique.store(n_received, Relaxed);
        if self.station.port.is_exhausted() {
            return true;
        }
        if !ending.has_senders {
            let is_late = ending.duration_ns.is_some_and(|duration_ns| now_ns - start_ns >= duration_ns);
            return is_late || ending.n_packets.is_some_and(|n| n_received >= n);
        }
        if self.control.n_sending.load(Acquire) > 0 {
            return false;
        }
        let drained_ns = now_ns.saturating_sub(self.control.sent_at_ns.load(Relaxed));
        let n_received_all: u64 = self.control.ports.iter().map(|port| port.n_unique.load(Relaxed)).sum();
        let is_complete = ending.is_closed && n_received_all >= self.control.n_sent.load(Relaxed);
        is_complete || drained_ns >= ending.drain_ns
    }

    fn show(&self) {
        if let Some(sender) = &self.station.sender {
            self.progress.n_sent.store(sender.counts().n_sent, Relaxed);
            self.progress.n_bytes_sent.store(sender.counts().n_bytes, Relaxed);
        }
        if let Some(receiver) = &self.station.receiver {
            receiver.show(self.progress);
        }
    }

    fn finish(self) -> Result<StationResult, TrafficError> {
        let stats = self.station.port.stats();
        let since = |now: Vec<(&'static str, u64)>, before: Vec<(&'static str, u64)>| {
            let earlier = |name| before.iter().find(|(n, _)| *n == name).map_or(0, |(_, n)| *n);
            now.into_iter()
                .map(|(name, n)| (name, n - earlier(name)))
                .filter(|(_, n)| *n > 0)
                .collect::<Vec<_>>()
        };
        let before = &self.stats_before;
        let (mut received, mut recorded, mut latencies) = (None, None, None);
        match self.station.receiver {
            Some(Receiver::Sink(sink)) => {
                received = Some(sink.result());
                latencies = Some(sink.latencies());
            }
            Some(Receiver::Recording(recording)) => recorded = Some(recording.finish()?),
            None => {}
        }
        Ok(StationResult {
            port: self.station.port.id().0,
            sent: self.sent,
            received,
            recorded,
            stalls: self.stalls,
            rx_dropped: since(stats.rx_losses().collect(), before.rx_losses().collect()),
            tx_dropped: since(stats.tx_losses().collect(), before.tx_losses().collect()),
            latencies,
        })
    }
}
