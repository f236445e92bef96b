//! New keys learned by a controller that digests tell of them, beside packets that add the entries themselves.
//!
//! A worker on one core sends the packets of ten stations in turn, a microsecond apart, until each has had a hit; then ten new
//! stations begin. A controller on another core gets the digests through a bounded queue and writes an entry after a delay: that
//! of a round trip, or of a slow controller. At saturation each packet is of a new station.

use crate::args::MeasureArgs;
use crate::examples::Example;
use crate::frontend::median;
use crate::native::{device, processor_mhz};
use crate::report::{self, Line};
use console::output::{self, Exit};
use control::records::{RecordOp, RecordParts, RecordPlan};
use control::{Schema, Target};
use native::{BurstPacket, Bursts, Control, Fate, Native, Path};
use serde_json::json;
use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::time::{Duration, Instant};
use target::entities::Entities;
use target::traffic::SharedPre;
use target::{Config, Device, Store};

const NAME: &str = "latency_digest.p4";
const P4: &str = include_str!("../../../programs/latency_digest.p4");
const DIGEST: &str = "digest<Unknown>(1, { headers.ethernet.source });";
const ADD: &str = "add_entry(\"forward\", (Forward){ destination = headers.ethernet.source }, 3);";

const DELAYS: [Duration; 3] = [Duration::ZERO, Duration::from_millis(1), Duration::from_secs(1)];
const N_STATIONS: usize = 10;
const PACE: Duration = Duration::from_micros(1);
/// The measurement fails if a station is not learned so long after the delay of the controller.
const TIME_LIMIT: Duration = Duration::from_secs(10);
const N_GROUPS: usize = 100;
const N_GROUPS_QUICK: usize = 5;
/// Groups that wait for a second each.
const N_GROUPS_SLOW: usize = 3;
const SATURATED: Duration = Duration::from_millis(100);
/// Digests that wait for the controller; those that find no room are lost.
const N_WAITING: usize = 1024;
/// Entries of one write.
const N_WRITTEN: usize = 256;

const BURST: usize = 32;
const HEADROOM_BYTES: usize = 128;
const PACKET_BYTES: usize = 84;
const SLOT_BYTES: usize = 256;

/// Digests and entries of one measurement.
#[derive(Debug, Default)]
struct Counts {
    sent: AtomicU64,
    lost: AtomicU64,
    /// Those whose key the controller knew.
    duplicates: AtomicU64,
    written: AtomicU64,
}

#[derive(Debug, Default)]
struct Outcome {
    /// For each station, in microseconds and in packets.
    first_hits_us: Vec<f64>,
    missed: Vec<f64>,
}

fn failed(message: impl std::fmt::Display) -> Exit {
    output::error_line(&message.to_string());
    Exit::Failed
}

pub(super) fn measure(measure: &MeasureArgs) -> Result<Vec<Line>, Exit> {
    let added = P4.replace(DIGEST, ADD).replace(
        "        size =",
        "        add_on_miss = true;\n        idle_timeout_with_auto_delete = true;\n        size =",
    );
    let mut lines = vec![of_delay(&added, "add_entry", Duration::ZERO, measure)?];
    for delay in DELAYS {
        lines.push(of_delay(P4, "digest", delay, measure)?);
    }
    Ok(lines)
}

fn of_delay(p4: &str, work: &str, delay: Duration, measure: &MeasureArgs) -> Result<Line, Exit> {
    let loaded = Example { name: NAME, text: p4 }.load()?;
    let schema = Arc::new(Schema::new(&loaded.runnable.control_plane.p4info).map_err(failed)?);
    let config = Config { digests_max: 1 << 20, ..Config::default() };
    let mut switch = device(&loaded, NAME, &measure.cc, &schema, &config)?;
    let mut controller = Controller::new(&switch, &schema, delay)?;
    let (sender, receiver) = sync_channel(N_WAITING);
    let (counts, is_over) = (Counts::default(), AtomicBool::new(false));
    let n_groups = match measure.quick {
        _ if delay >= Duration::from_secs(1) => {
            if measure.quick {
                1
            } else {
                N_GROUPS_SLOW
            }
        }
        true => N_GROUPS_QUICK,
        false => N_GROUPS,
    };
    let (outcome, rate, totals) = std::thread::scope(|scope| {
        let (counts, is_over) = (&counts, &is_over);
        let controls = scope.spawn(move || controller.run(&receiver, counts, is_over));
        let mut worker = Worker::new(&mut switch, sender, counts);
        let outcome = (0..n_groups).try_fold(Outcome::default(), |mut outcome, group| {
            worker.learn(group, delay + TIME_LIMIT, &mut outcome).map(|()| outcome)
        });
        let totals = [&counts.sent, &counts.lost, &counts.duplicates].map(|n| n.load(Ordering::Relaxed));
        let rate = worker.saturate(work == "add_entry", delay + SATURATED);
        is_over.store(true, Ordering::Relaxed);
        controls.join().unwrap_or_else(|_| Err(failed("internal bug: the controller has failed")))?;
        Ok::<_, Exit>((outcome?, rate, totals))
    })?;
    let [sent, lost, duplicates] = totals;
    let of_all = [&counts.sent, &counts.lost].map(|n| n.load(Ordering::Relaxed));
    let lost_saturated = (of_all[1] - lost) as f64 / (of_all[0] - sent).max(1) as f64;
    let (first, missed) = (&outcome.first_hits_us, &outcome.missed);
    let most = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    let cycles = median(first.clone()).max(1e-3) * processor_mhz().unwrap_or(1000.0);
    let text = json!({
        "peer": "siding", "version": env!("CARGO_PKG_VERSION"), "work": work, "series": "learning",
        "size": first.len(), "cycles": report::rounded(cycles), "cycles_min": report::rounded(cycles),
        "delay_ms": delay.as_millis() as u64, "first_hit_us_p50": report::rounded(median(first.clone())),
        "first_hit_us_max": report::rounded(most(first)), "missed_p50": median(missed.clone()),
        "missed_max": most(missed), "digests_sent": sent, "digests_lost": lost, "digests_duplicate": duplicates,
        "flows_per_second": rate.round(), "lost_at_saturation": report::rounded(lost_saturated),
        "written": counts.written.load(Ordering::Relaxed),
    });
    Line::parse(&text.to_string()).map_err(failed)
}

/// The core that packets go through.
struct Worker<'w> {
    switch: &'w mut Device<Native>,
    bursts: Bursts,
    slots: Vec<Vec<u8>>,
    sender: SyncSender<u64>,
    counts: &'w Counts,
    /// Stations so far.
    n_stations: u64,
}

impl<'w> Worker<'w> {
    fn new(switch: &'w mut Device<Native>, sender: SyncSender<u64>, counts: &'w Counts) -> Worker<'w> {
        let slots = vec![vec![0; SLOT_BYTES]; BURST];
        Worker { switch, bursts: Bursts::default(), slots, sender, counts, n_stations: 0 }
    }

    /// Sends one packet of each station. Returns for each whether it has found an entry.
    fn process(&mut self, stations: &[u64]) -> Vec<bool> {
        let mut outputs = Vec::new();
        let mut burst: Vec<BurstPacket<'_>> = Vec::with_capacity(stations.len());
        for (slot, station) in self.slots.iter_mut().zip(stations) {
            let packet = &mut slot[HEADROOM_BYTES..HEADROOM_BYTES + PACKET_BYTES];
            packet[..6].fill(0);
            packet[6..12].copy_from_slice(&station.to_be_bytes()[2..]);
            burst.push(BurstPacket::new(slot, HEADROOM_BYTES, PACKET_BYTES, 1));
        }
        let now_ns = self.switch.switch.now_ns() + PACE.as_nanos() as u64;
        self.bursts.process(
            &mut self.switch.switch,
            now_ns,
            &mut burst,
            Path::Straight,
            &mut (),
            &mut outputs,
        );
        let hits = burst
            .iter()
            .map(|packet| {
                matches!(packet.fate(), Fate::Sent(_)) && packet.bytes()[..6] == packet.bytes()[6..12]
            })
            .collect();
        for digest in self.switch.switch.take_digests() {
            let station = digest.values.first().map_or(0, ir::Bits::low_u64);
            self.counts.sent.fetch_add(1, Ordering::Relaxed);
            if self.sender.try_send(station).is_err() {
                self.counts.lost.fetch_add(1, Ordering::Relaxed);
            }
        }
        hits
    }

    /// Sends packets of new stations in turn until each has had a hit.
    fn learn(&mut self, group: usize, time_limit: Duration, outcome: &mut Outcome) -> Result<(), Exit> {
        let first = self.n_stations;
        self.n_stations += N_STATIONS as u64;
        let begin = Instant::now();
        let mut missed = [0u64; N_STATIONS];
        let mut hit_at = [None; N_STATIONS];
        let mut n_sent = 0u32;
        while hit_at.iter().any(Option::is_none) {
            let now = begin.elapsed();
            if now > time_limit {
                return Err(failed(format!("the stations of group {group} are not learned")));
            }
            let n_due = (now.as_nanos() / PACE.as_nanos()) as u32 + 1 - n_sent;
            let numbers: Vec<u32> = (n_sent..n_sent + n_due.min(BURST as u32)).collect();
            if numbers.is_empty() {
                std::hint::spin_loop();
                continue;
            }
            n_sent += numbers.len() as u32;
            let at = |number: u32| number as usize % N_STATIONS;
            let stations: Vec<u64> = numbers.iter().map(|n| station(first + at(*n) as u64)).collect();
            let hits = self.process(&stations);
            for (number, is_hit) in numbers.into_iter().zip(hits) {
                let i = at(number);
                if is_hit && hit_at[i].is_none() {
                    // From when the first packet should have been sent.
                    hit_at[i] = Some(begin.elapsed().saturating_sub(PACE * i as u32));
                }
                missed[i] += u64::from(hit_at[i].is_none());
            }
        }
        outcome.missed.extend(missed.iter().map(|n| *n as f64));
        outcome.first_hits_us.extend(hit_at.iter().flatten().map(|time| time.as_secs_f64() * 1e6));
        Ok(())
    }

    /// Sends packets of new stations as fast as it goes. Returns how many stations are learned in a second.
    fn saturate(&mut self, adds: bool, time: Duration) -> f64 {
        let written = self.counts.written.load(Ordering::Relaxed);
        let (begin, first) = (Instant::now(), self.n_stations);
        while begin.elapsed() < time && self.n_stations < MAX_STATIONS {
            let stations: Vec<u64> = (0..BURST as u64).map(|i| station(self.n_stations + i)).collect();
            self.n_stations += BURST as u64;
            self.process(&stations);
        }
        let n = match adds {
            true => self.n_stations - first,
            false => self.counts.written.load(Ordering::Relaxed) - written,
        };
        n as f64 / begin.elapsed().as_secs_f64().max(1e-9)
    }
}

/// The table has room for so many.
const MAX_STATIONS: u64 = 0x1f_0000;

/// The address of a station.
fn station(number: u64) -> u64 {
    0x0200_0000_0000 | u64::from((number as u32).wrapping_mul(2_654_435_761))
}

/// The core that writes entries.
struct Controller {
    control: Control,
    entities: Entities,
    pre: SharedPre,
    plan: Arc<RecordPlan>,
    delay: Duration,
    known: HashSet<u64>,
    /// Stations whose entries are due at these times.
    due: VecDeque<(Instant, u64)>,
}

impl Controller {
    fn new(switch: &Device<Native>, schema: &Arc<Schema>, delay: Duration) -> Result<Controller, Exit> {
        let instance = Arc::clone(switch.switch.runner.instance());
        let mut control = Control::new(Arc::clone(&instance));
        let shapes = Arc::clone(control.table_shapes());
        let mut entities = Entities::new(Arc::clone(instance.program()), Arc::clone(schema), shapes);
        let pre = SharedPre::default();
        let id = schema.tables.find("stations").map_err(failed)?.id;
        let plan = entities.at(&mut control, &pre, 0).record_plan(id, RecordParts::default());
        let plan = plan.ok_or_else(|| failed("internal bug: the table has no records"))?;
        let (known, due) = (HashSet::new(), VecDeque::new());
        Ok(Controller { control, entities, pre, plan, delay, known, due })
    }

    /// Takes digests and writes entries until it is over.
    fn run(&mut self, receiver: &Receiver<u64>, counts: &Counts, is_over: &AtomicBool) -> Result<(), Exit> {
        while !is_over.load(Ordering::Relaxed) {
            let now = Instant::now();
            for _ in 0..N_WRITTEN {
                match receiver.try_recv() {
                    Ok(station) if self.known.insert(station) => {
                        self.due.push_back((now + self.delay, station))
                    }
                    Ok(_) => {
                        counts.duplicates.fetch_add(1, Ordering::Relaxed);
                    }
                    Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
                }
            }
            let n = self.due.iter().take(N_WRITTEN).take_while(|(due, _)| *due <= now).count();
            if n > 0 {
                self.write(n)?;
                counts.written.fetch_add(n as u64, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    /// Writes the first `n` entries that are due.
    fn write(&mut self, n: usize) -> Result<(), Exit> {
        let layout = &self.plan.layout;
        let (key, action) = (&layout.keys[0].value, 0);
        let data = layout.actions[action][0].offset;
        let mut records = vec![0; n * layout.record_bytes];
        for (record, (_, station)) in records.chunks_exact_mut(layout.record_bytes).zip(self.due.drain(..n)) {
            record[key.offset..key.offset + 6].copy_from_slice(&station.to_le_bytes()[..6]);
            layout.set_action(record, action as u32);
            record[data..data + 6].copy_from_slice(&station.to_le_bytes()[..6]);
            if self.plan.check(RecordOp::Insert, record).is_err() {
                return Err(failed("internal bug: a record is wrong"));
            }
        }
        let mut at = self.entities.at(&mut self.control, &self.pre, 0);
        let done = at.write_records(&self.plan, RecordOp::Insert, &mut records, &[]);
        match done.n_failed {
            0 => Ok(()),
            n => Err(failed(format!("{n} entries were not written"))),
        }
    }
}

/// The table of the lines of this series.
pub(super) fn text(lines: &[Line]) -> String {
    let head = ["learned by", "delay", "first hit p50", "max", "missed p50", "max"];
    let head = head.into_iter().chain([
        "digests",
        "lost",
        "duplicate",
        "flows/s at saturation",
        "lost at saturation",
    ]);
    let mut rows = vec![head.map(str::to_owned).collect::<Vec<_>>()];
    for line in lines.iter().filter(|line| line.word("series") == "learning") {
        let number = |key: &str| line.number(key).unwrap_or(0.0);
        let mut row = vec![line.work.clone(), format!("{} ms", number("delay_ms"))];
        row.extend(["first_hit_us_p50", "first_hit_us_max"].map(|key| format!("{:.1} us", number(key))));
        let counts = ["missed_p50", "missed_max", "digests_sent", "digests_lost", "digests_duplicate"];
        row.extend(counts.map(|key| format!("{:.0}", number(key))));
        row.push(format!("{:.0}", number("flows_per_second")));
        row.push(format!("{:.0} %", number("lost_at_saturation") * 100.0));
        rows.push(row);
    }
    report::aligned(&rows)
}
