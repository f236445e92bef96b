//! `--figure shm`: records through shared memory. The client fills slots while the switch applies others.

use super::controller::Controller;
use super::{failed, rate, switch};
use crate::args::BenchControlArgs;
use crate::frontend::median;
use crate::harness::{Goal, Judged};
use crate::report;
use console::output::{self, Exit};
use grpc::Client;
use serde_json::{Value, json};
use shm_client::wire::{Op, Sizes};
use shm_client::{Error, FieldLayout, Options, Session, TableLayout};
use std::collections::VecDeque;
use std::time::Instant;

/// Bytes of all slots.
const RINGS: [usize; 5] = [64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20];
const N_SLOTS: usize = 4;
const N_ENTRIES: usize = 1_000_000;
const N_ENTRIES_QUICK: usize = 50_000;
/// The goal is for inserts into rings of so many bytes or more.
const RING_OF_GOAL: usize = 1 << 20;

/// One figure.
struct Figure {
    ring: usize,
    work: &'static str,
    entries: usize,
    /// Millions of entries a second, one for each run.
    rates: Vec<f64>,
}

pub(super) fn measure(args: &BenchControlArgs) -> Result<(), Exit> {
    let dir = tempfile::tempdir().map_err(failed)?;
    let path = dir.path().join("shm");
    let shm = Some((path.as_path(), RINGS[RINGS.len() - 1]));
    let (_switch, address) = switch::start(dir.path(), "127.0.0.1:0", shm, args)?;
    let client = Client::connect(&address, None).map_err(failed)?;
    let controller = Controller::new(&client)?;
    let n = args.entries.unwrap_or(if args.measure.quick { N_ENTRIES_QUICK } else { N_ENTRIES });
    let mut figures = Vec::new();
    for (ring, election_id) in RINGS.into_iter().zip(2u128..) {
        let sizes = Some(Sizes { n_slots: N_SLOTS, slot_bytes: ring / N_SLOTS });
        let options = Options { sizes, ..Options::new(election_id) };
        let mut session = Session::open(&path, &options).map_err(failed)?;
        figures.extend(of_ring(&mut session, &controller, ring, n, args)?);
    }
    let goals = judge(&figures);
    match args.measure.json {
        true => output::out(&format!("{}\n", json_of(&figures, &goals, args))),
        false => output::out(&text_of(&figures, &goals)),
    }
    let mut series = Vec::new();
    for figure in &figures {
        super::add_point(&mut series, figure.work, (figure.ring >> 10) as f64, &figure.rates);
    }
    super::draw(args, "Records through shared memory", "KiB of the ring", series)
}

/// Inserts, modifies and deletes the same entries in each run.
fn of_ring(
    session: &mut Session,
    controller: &Controller<'_>,
    ring: usize,
    n: usize,
    args: &BenchControlArgs,
) -> Result<Vec<Figure>, Exit> {
    let tables = session.tables(0).map_err(failed)?;
    let table = tables.table("flows").map_err(failed)?;
    session.reserve(tables.program, table, n as u64).map_err(failed)?;
    let flows = Flows::new(table).map_err(failed)?;
    let mut rates = [const { Vec::new() }; 3];
    for _ in 0..args.measure.n_runs() {
        for (rates, (op, port)) in rates.iter_mut().zip([(Op::Insert, 1), (Op::Modify, 2), (Op::Delete, 2)]) {
            rates.push(write(session, tables.program, &flows, op, n, port).map_err(failed)?);
            let n_expected = if op == Op::Delete { 0 } else { n };
            let (n_read, _) = controller.read().map_err(failed)?;
            if n_read != n_expected {
                return Err(failed(format!("{n_expected} entries should be there, and {n_read} are read")));
            }
        }
    }
    let works = ["insert", "modify", "delete"];
    Ok(works.into_iter().zip(rates).map(|(work, rates)| Figure { ring, work, entries: n, rates }).collect())
}

/// Places in the records of the benchmark's table.
struct Flows<'t> {
    table: &'t TableLayout,
    source: usize,
    destination: usize,
    protocol: usize,
    source_port: usize,
    destination_port: usize,
    action: (usize, u8),
    port: usize,
}

impl<'t> Flows<'t> {
    fn new(table: &'t TableLayout) -> Result<Flows<'t>, Error> {
        let at = |name: &str, n_bytes: u32| {
            let field = &table.key(name)?.field;
            place(field, n_bytes)
        };
        let forward = table.action("forward")?;
        Ok(Flows {
            source: at("srcAddr", 4)?,
            destination: at("dstAddr", 4)?,
            protocol: at("protocol", 1)?,
            source_port: at("srcPort", 2)?,
            destination_port: at("dstPort", 2)?,
            action: (table.action_at as usize, forward.index as u8),
            port: place(forward.param("port")?, 2)?,
            table,
        })
    }

    /// The record of the entry with this number.
    fn fill(&self, record: &mut [u8], i: u32, port: u16) {
        put(record, self.source, (0x0a00_0000 | i >> 8).to_le_bytes());
        put(record, self.destination, (0xc0a8_0000 ^ i.wrapping_mul(0x9e37_79b1)).to_le_bytes());
        put(record, self.protocol, [6]);
        put(record, self.source_port, (0x8000 | i as u16 & 0x7fff).to_le_bytes());
        put(record, self.destination_port, 443u16.to_le_bytes());
        put(record, self.action.0, [self.action.1]);
        put(record, self.port, port.to_le_bytes());
    }
}

fn place(field: &FieldLayout, n_bytes: u32) -> Result<usize, Error> {
    match field.n_bytes == n_bytes {
        true => Ok(field.offset as usize),
        false => Err(Error::Invalid(format!("`{}` has {} bytes", field.name, field.n_bytes))),
    }
}

fn put<const N: usize>(record: &mut [u8], at: usize, value: [u8; N]) {
    record[at..at + N].copy_from_slice(&value);
}

/// Writes all entries, and returns millions a second, with the time to fill the records.
fn write(
    session: &mut Session,
    program: u64,
    flows: &Flows<'_>,
    op: Op,
    n: usize,
    port: u16,
) -> Result<f64, Error> {
    let record_bytes = flows.table.record_bytes as usize;
    let n_of_slot = session.sizes().slot_bytes / record_bytes;
    let mut waiting = VecDeque::new();
    let begin = Instant::now();
    let check = |session: &mut Session, number: u64| {
        let outcome = session.wait(number)?;
        match outcome.n_failed == 0 && outcome.code == 0 {
            true => Ok(()),
            false => {
                Err(Error::Invalid(format!("{} entries have failed: {}", outcome.n_failed, outcome.message)))
            }
        }
    };
    for first in (0..n).step_by(n_of_slot) {
        let n_now = n_of_slot.min(n - first);
        if waiting.len() == N_SLOTS
            && let Some(number) = waiting.pop_front()
        {
            check(session, number)?;
        }
        let mut batch = session.begin(program, flows.table, op, n_now)?;
        for (record, i) in batch.bytes().chunks_exact_mut(record_bytes).zip(first as u32..) {
            flows.fill(record, i, port);
        }
        waiting.push_back(batch.submit()?);
    }
    for number in waiting {
        check(session, number)?;
    }
    Ok(rate(n, begin))
}

fn judge(figures: &[Figure]) -> Vec<Judged> {
    let judged = figures.iter().filter(|figure| figure.ring >= RING_OF_GOAL && figure.work == "insert");
    judged
        .map(|figure| Judged {
            name: format!("shm_{}_mps", figure.work),
            size: figure.ring as u64,
            value: median(figure.rates.clone()),
            goal: Goal::AtLeast(super::write_goal(figure.entries)),
        })
        .collect()
}

fn json_of(figures: &[Figure], goals: &[Judged], args: &BenchControlArgs) -> Value {
    let lines = figures.iter().map(|figure| {
        json!({
            "peer": "siding",
            "transport": "shm",
            "work": figure.work,
            "ring_bytes": figure.ring,
            "slots": N_SLOTS,
            "entries": figure.entries,
            "entries_per_second": (median(figure.rates.clone()) * 1e6).round(),
            "runs": figure.rates.iter().map(|rate| (rate * 1e6).round()).collect::<Vec<f64>>(),
        })
    });
    super::json_of("shm", args, goals, lines.collect())
}

fn text_of(figures: &[Figure], goals: &[Judged]) -> String {
    let head = ["ring", "work", "entries", "entries/s", "least", "most"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for figure in figures {
        let [usual, least, most] = super::spread(&figure.rates);
        rows.push(vec![
            format!("{} KiB", figure.ring >> 10),
            figure.work.to_owned(),
            report::short(figure.entries as u64),
            usual,
            least,
            most,
        ]);
    }
    let mut text = format!(
        "Records through shared memory, {N_SLOTS} slots; filling and a code for each entry count\n\n{}",
        report::aligned(&rows)
    );
    text += &super::text_of_goals(goals, |goal| {
        (format!("{}, a ring of {} KiB", goal.name, goal.size >> 10), "million entries/s")
    });
    text
}
