//! `--figure interference`: packets a second beside updates at full speed, one core for each.

use super::controller::{Controller, Key};
use super::failed;
use crate::args::BenchControlArgs;
use crate::frontend::median;
use crate::harness::{Goal, Judged};
use crate::native::{Ring, device};
use crate::report;
use console::Loaded;
use console::output::{self, Exit};
use control::records::{N_RECORDS_OF_STEP, RecordMatch, RecordOp, RecordParts, RecordPlan};
use control::{Schema, Target};
use driver::{FileLoader, Options, Source};
use externs::ExternSet;
use native::{Bursts, Control, Native};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use target::entities::Entities;
use target::traffic::SharedPre;
use target::{Config, Device, Store};

const P4: &str = include_str!("../../programs/control.p4");
/// Entries of a table: packets hit one half, and updates change the other.
const N_ENTRIES: usize = 2_000_000;
const N_ENTRIES_QUICK: usize = 200_000;
/// The name of the table with masks, which has a part of the entries: such tables are smaller.
const TERNARY: &str = "ternary";
const PART_OF_TERNARY: usize = 50;
/// Masks of the destination address leave out up to so many bits.
const N_OPEN_BITS: usize = 8;
const N_PACKETS: usize = 4096;
/// Time without updates, beside which the time with them is judged.
const QUIET_TIME: Duration = Duration::from_millis(200);
/// Goal: packets lose less, in percent.
const GOAL: f64 = 10.0;

/// Packets with and without updates.
struct Figure {
    table: &'static str,
    work: &'static str,
    /// Entries of the table.
    n: usize,
    /// Packets a second that are lost, in percent, one for each run: of those with an idle core beside, and of those with a core
    /// that makes the same records and writes none. Where two cores share their parts, the second one is what updates cost.
    losses: Vec<f64>,
    losses_of_updates: Vec<f64>,
    /// Millions of updates a second.
    rates: Vec<f64>,
    /// Millions of packets a second without updates.
    packets: Vec<f64>,
}

/// Tables by what updates find in them.
fn programs() -> [(&'static str, String); 4] {
    let counted = P4
        .replace(
            "    action forward(bit<9> port) {",
            "    direct_counter(CounterType.packets_and_bytes) hits;\n    action forward(bit<9> port) {",
        )
        .replace("        size =", "        counters = hits;\n        size =");
    let from = P4.find("        key = {").unwrap_or_default();
    let to = from + P4[from..].find("        actions").unwrap_or_default();
    let with_key = |key: &str| format!("{}        key = {{ {key} }}\n{}", &P4[..from], &P4[to..]);
    let lpm = with_key("hdr.ipv4.dstAddr: lpm;");
    let ternary = with_key("hdr.ipv4.srcAddr: ternary; hdr.ipv4.dstAddr: ternary;");
    [("exact", P4.to_owned()), ("exact with counters", counted), ("lpm", lpm), (TERNARY, ternary)]
}

/// A packet that hits the entry with this number.
fn packet(i: usize) -> (u32, Vec<u8>) {
    let Key { from, to, protocol, from_port, to_port } = Controller::key(i);
    let mut packet = vec![0; 64];
    packet[12..14].copy_from_slice(&[8, 0]);
    packet[14] = 0x45;
    packet[23..24].copy_from_slice(&protocol);
    packet[26..30].copy_from_slice(&from);
    packet[30..34].copy_from_slice(&to);
    packet[34..36].copy_from_slice(&from_port);
    packet[36..38].copy_from_slice(&to_port);
    (1, packet)
}

/// The record of the entry with this number.
fn record(plan: &RecordPlan, i: usize, record: &mut [u8]) {
    let Key { from, to, protocol, from_port, to_port } = Controller::key(i);
    let values: Vec<&[u8]> = match plan.layout.keys[0].kind {
        RecordMatch::Lpm => vec![&to],
        RecordMatch::Ternary => vec![&from, &to],
        _ => vec![&from, &to, &protocol, &from_port, &to_port],
    };
    for (key, value) in plan.layout.keys.iter().zip(values) {
        let place = &mut record[key.value.offset..key.value.end()];
        place.iter_mut().zip(value.iter().rev()).for_each(|(to, from)| *to = *from);
        if let Some(mask) = plan.layout.mask(key) {
            record[mask.offset..mask.end()].fill(0xff);
        }
    }
    if let [_, to] = &plan.layout.keys[..]
        && let Some(mask) = plan.layout.mask(to)
    {
        // The lowest byte.
        let mask_of_byte = 0xff << (i % N_OPEN_BITS);
        record[mask.offset] = mask_of_byte as u8;
        record[to.value.offset] &= mask_of_byte as u8;
    }
    plan.layout.set_priority(record, 1);
    // The first action is `forward`; its port is 1.
    plan.layout.set_action(record, 0);
    record[plan.layout.data_at] = 1;
}

/// The records of entries, checked.
fn records_of(plan: &RecordPlan, numbers: std::ops::Range<usize>, op: RecordOp) -> Vec<u8> {
    let n_bytes = plan.layout.record_bytes;
    let mut records = vec![0; numbers.len() * n_bytes];
    for (i, bytes) in numbers.zip(records.chunks_exact_mut(n_bytes)) {
        record(plan, i, bytes);
        let _ = plan.check(op, bytes);
    }
    records
}

pub(super) fn measure(args: &BenchControlArgs) -> Result<(), Exit> {
    let default = if args.measure.quick { N_ENTRIES_QUICK } else { N_ENTRIES };
    let n = args.entries.unwrap_or(default).max(2 * N_PACKETS);
    let mut figures = Vec::new();
    for (table, text) in programs() {
        let n = if table == TERNARY { (n / PART_OF_TERNARY).max(2 * N_PACKETS) } else { n };
        figures.extend(of_table(table, &text, n, args)?);
    }
    show(&figures, args);
    Ok(())
}

fn of_table(table: &'static str, text: &str, n: usize, args: &BenchControlArgs) -> Result<Vec<Figure>, Exit> {
    let source = Source { name: "control.p4".to_owned(), text: text.into() };
    let mut checked = driver::check(&source, &FileLoader::default(), &Options::default());
    let runnable = driver::runnable(&mut checked, None);
    let mut runnable = runnable.ok_or_else(|| failed("internal bug: the program cannot be compiled"))?;
    for (_, table) in runnable.program.tables.iter_mut() {
        table.size = Some(n as u64 + 1);
    }
    let schema = Arc::new(Schema::new(&runnable.control_plane.p4info).map_err(failed)?);
    let sources = Arc::new(checked.sources);
    let loaded =
        Loaded { runnable, sources, includes: Vec::new(), macros: Vec::new(), externs: ExternSet::new() };
    let mut switch = device(&loaded, "control.p4", &args.measure.cc, &schema, &Config::default())?;
    let instance = Arc::clone(switch.switch.runner.instance());
    let mut control = Control::new(Arc::clone(&instance));
    let shapes = Arc::clone(control.table_shapes());
    let mut entities = Entities::new(Arc::clone(instance.program()), Arc::clone(&schema), shapes);
    let pre = SharedPre::default();
    let id = schema.tables.find("flows").map_err(failed)?.id;
    let plan = entities.at(&mut control, &pre, 0).record_plan(id, RecordParts::default());
    let plan = plan.ok_or_else(|| failed("internal bug: the table has no records"))?;
    let mut write = |op: RecordOp, numbers: std::ops::Range<usize>| {
        let (mut n_ok, mut time) = (0, Duration::ZERO);
        for first in numbers.clone().step_by(N_RECORDS_OF_STEP) {
            let last = numbers.end.min(first + N_RECORDS_OF_STEP);
            let mut records = records_of(&plan, first..last, op);
            let begin = Instant::now();
            let done = entities.at(&mut control, &pre, 0).write_records(&plan, op, &mut records, &[]);
            time += begin.elapsed();
            n_ok += done.codes.len() - done.n_failed;
        }
        (n_ok, time)
    };
    let half = n / 2;
    if write(RecordOp::Insert, 0..half).0 != half {
        return Err(failed("internal bug: entries are missing"));
    }
    let (n_done, is_over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let works = [("insert", RecordOp::Insert), ("modify", RecordOp::Modify), ("delete", RecordOp::Delete)];
    let mut figures = works.map(|(work, _)| {
        let [losses, losses_of_updates, rates, packets] = [const { Vec::new() }; 4];
        Figure { table, work, n, losses, losses_of_updates, rates, packets }
    });
    let packets = (0..N_PACKETS).map(|i| packet(i * (half / N_PACKETS))).collect::<Vec<_>>();
    let outcome = std::thread::scope(|scope| {
        let (counted, over) = (Arc::clone(&n_done), Arc::clone(&is_over));
        let worker = scope.spawn(move || forward(&mut switch, &packets, &counted, &over));
        let rate = |work: &mut dyn FnMut()| {
            let (before, begin) = (n_done.load(Ordering::Relaxed), Instant::now());
            work();
            (n_done.load(Ordering::Relaxed) - before) as f64 / begin.elapsed().as_secs_f64() / 1e6
        };
        std::thread::sleep(QUIET_TIME);
        let mut wrong = None;
        for _ in 0..args.measure.n_runs() {
            for (figure, (_, op)) in figures.iter_mut().zip(works) {
                let quiet = rate(&mut || std::thread::sleep(QUIET_TIME));
                let computing = rate(&mut || {
                    let begin = Instant::now();
                    while begin.elapsed() < QUIET_TIME {
                        std::hint::black_box(records_of(
                            &plan,
                            half..half + N_RECORDS_OF_STEP.min(n - half),
                            op,
                        ));
                    }
                });
                let mut written = (0, Duration::ZERO);
                let busy = rate(&mut || written = write(op, half..n));
                figure.packets.push(quiet);
                let loss = |of: f64| (1.0 - busy / of.max(1e-9)) * 100.0;
                figure.losses.push(loss(quiet));
                figure.losses_of_updates.push(loss(computing));
                figure.rates.push(written.0 as f64 / written.1.as_secs_f64().max(1e-9) / 1e6);
                if written.0 != n - half {
                    wrong = Some(format!("{} of {} entries were written", written.0, n - half));
                }
            }
        }
        is_over.store(true, Ordering::Relaxed);
        let forwarded = worker.join().unwrap_or_else(|_| Err(failed("internal bug: the worker has failed")));
        forwarded.and(wrong.map_or(Ok(()), |wrong| Err(failed(wrong))))
    });
    outcome.map(|()| figures.into())
}

/// Processes packets until it is over.
fn forward(
    switch: &mut Device<Native>,
    packets: &[(u32, Vec<u8>)],
    n_done: &AtomicU64,
    is_over: &AtomicBool,
) -> Result<(), Exit> {
    let mut ring = Ring::new(packets);
    let mut bursts = Bursts::default();
    while !is_over.load(Ordering::Relaxed) {
        ring.run(switch, &mut bursts, packets.len())?;
        n_done.fetch_add(packets.len() as u64, Ordering::Relaxed);
    }
    Ok(())
}

fn show(figures: &[Figure], args: &BenchControlArgs) {
    let goals: Vec<Judged> = figures
        .iter()
        .map(|figure| Judged {
            name: format!("{}_{}_loss_percent", figure.table.replace(' ', "_"), figure.work),
            size: figure.n as u64,
            value: median(figure.losses.clone()),
            goal: Goal::AtMost(GOAL),
        })
        .collect();
    if args.measure.json {
        let lines = figures.iter().map(|figure| {
            json!({
                "peer": "siding",
                "table": figure.table,
                "work": figure.work,
                "entries": figure.n,
                "packets_per_second": (median(figure.packets.clone()) * 1e6).round(),
                "loss_percent": median(figure.losses.clone()),
                "loss_of_updates_percent": median(figure.losses_of_updates.clone()),
                "updates_per_second": (median(figure.rates.clone()) * 1e6).round(),
            })
        });
        let json = super::json_of("interference", args, &goals, lines.collect());
        output::out(&format!("{json}\n"));
        return;
    }
    let head = ["table", "work", "entries", "packets/s", "lost", "lost to updates", "updates/s"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for figure in figures {
        rows.push(vec![
            figure.table.to_owned(),
            figure.work.to_owned(),
            report::short(figure.n as u64),
            format!("{:.0}", median(figure.packets.clone()) * 1e6),
            format!("{:.1} %", median(figure.losses.clone())),
            format!("{:.1} %", median(figure.losses_of_updates.clone())),
            format!("{:.0}", median(figure.rates.clone()) * 1e6),
        ]);
    }
    let mut text = format!(
        "Packets on one core beside updates in steps of {N_RECORDS_OF_STEP} on another\n\n{}",
        report::aligned(&rows)
    );
    text += &super::text_of_goals(&goals, |goal| (goal.name.clone(), "%"));
    output::out(&text);
}
