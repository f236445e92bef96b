//! `--figure bulk` and `--figure read`: entries in columns, written, read and read back.

use super::controller::{Controller, Key};
use super::{failed, rate, switch};
use crate::args::BenchControlArgs;
use crate::frontend::median;
use crate::harness::{Goal, Judged};
use crate::report;
use console::output::{self, Exit};
use grpc::{Client, Failure, ServerAddress};
use p4info::proto::siding::bulk::v1 as pb;
use prost::bytes::Bytes;
use serde_json::json;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Entries of one set.
const N_OF_SET: usize = 1 << 14;
const N_ENTRIES: usize = 1_000_000;
const N_ENTRIES_QUICK: usize = 100_000;
/// Goals in millions a second, and in bytes.
const READ_GOAL: f64 = 10.0;
const BYTES_GOAL: f64 = 60.0;
/// The goal of a large table. Smaller ones carry more that no entry uses, and have no goal for bytes, either.
const LARGE_GROWING_GOAL: f64 = 12.0;
/// A slow client waits so long after each chunk.
const SLOW_TIME: Duration = Duration::from_micros(200);

/// Rates of one kind of work, in millions a second.
struct Figure {
    transport: &'static str,
    work: &'static str,
    rates: Vec<f64>,
}

/// The time at which a table gets room for entries.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Room {
    /// The first set says how many entries come.
    MadeAhead,
    Growing,
}

/// Chunks that write the entries, with one set each.
fn chunks(controller: &Controller<'_>, program: u64, op: pb::Op, n: usize, room: Room) -> Vec<pb::Chunk> {
    let fixed = |bytes: Vec<u8>| {
        let values = Some(pb::column::Values::Fixed(bytes.into()));
        Some(pb::Column { values, ends: Bytes::new() })
    };
    let key =
        |field_id, bytes: Vec<u8>| pb::KeyColumn { field_id, value: fixed(bytes), ..Default::default() };
    let set = |first: usize| {
        let numbers: Vec<usize> = (first..(first + N_OF_SET).min(n)).collect();
        let mut columns: [Vec<u8>; 5] = Default::default();
        for i in &numbers {
            let Key { from, to, protocol, from_port, to_port } = Controller::key(*i);
            let values: [&[u8]; 5] = [&from, &to, &protocol, &from_port, &to_port];
            columns.iter_mut().zip(values).for_each(|(column, value)| column.extend_from_slice(value));
        }
        let port = Some(pb::column::Values::Same(vec![0, 1].into()));
        let port = Some(pb::Column { values: port, ends: Bytes::new() });
        let action = pb::ActionSet {
            kind: Some(pb::action_set::Kind::ActionId(controller.action_id)),
            params: vec![pb::ParamColumn { param_id: 1, value: port }],
        };
        pb::TableSet {
            table_id: controller.table_id,
            n: numbers.len() as u32,
            op: op.into(),
            keys: columns.into_iter().zip(1..).map(|(bytes, id)| key(id, bytes)).collect(),
            actions: vec![action],
            n_expected: if first == 0 && room == Room::MadeAhead { n as u64 } else { 0 },
            ..pb::TableSet::default()
        }
    };
    let chunk = |first| pb::Chunk {
        program,
        election_id: Some(controller.election_id),
        sets: vec![set(first)],
        ..pb::Chunk::default()
    };
    (0..n).step_by(N_OF_SET).map(chunk).collect()
}

/// Writes chunks, and returns millions of entries a second. All of them succeed.
fn write(client: &Client, chunks: Vec<pb::Chunk>, n: usize) -> Result<f64, Exit> {
    let (mut n_ok, mut wrong) = (0, None);
    let begin = Instant::now();
    let written = client.bulk_write(chunks.into_iter(), |done| {
        n_ok += done.n_ok;
        wrong = done.status.map(|status| status.message).or(done
            .failures
            .into_iter()
            .next()
            .map(|of| of.message));
        wrong.is_none()
    });
    let rate = rate(n, begin);
    written.map_err(failed)?;
    match wrong {
        Some(message) => Err(failed(message)),
        None if n_ok == n as u64 => Ok(rate),
        None => Err(failed(format!("{n_ok} of {n} entries were written"))),
    }
}

/// Reads all entries, keeps the chunks, and returns millions a second.
fn read(
    client: &Client,
    mode: pb::read_request::Mode,
    pause: Duration,
) -> Result<(Vec<pb::Chunk>, f64), Failure> {
    let request = pb::ReadRequest { mode: mode.into(), ..pb::ReadRequest::default() };
    let mut chunks = Vec::new();
    let begin = Instant::now();
    client.bulk_read(request, |chunk| {
        chunks.push(chunk);
        if !pause.is_zero() {
            std::thread::sleep(pause);
        }
        true
    })?;
    let n = chunks.iter().flat_map(|chunk| &chunk.sets).map(|set| set.n as usize).sum();
    Ok((chunks, rate(n, begin)))
}

pub(super) fn measure(args: &BenchControlArgs, reads: bool) -> Result<(), Exit> {
    let n = args.entries.unwrap_or(if args.measure.quick { N_ENTRIES_QUICK } else { N_ENTRIES }).max(1);
    let works: &[&'static str] = match reads {
        true => &["insert", "read", "read by a slow client", "migrate", "load", "delete"],
        false => &["insert", "modify", "delete", "insert, growing"],
    };
    let (mut figures, mut bytes) = (Vec::new(), Vec::new());
    for transport in ["tcp", "unix"] {
        let dir = tempfile::tempdir().map_err(failed)?;
        let (process, address) = switch::start_by(transport, dir.path(), args)?;
        let client = Client::connect(&address, None).map_err(failed)?;
        let controller = Controller::new(&client)?;
        let program = client.bulk_layout(0).map_err(failed)?.program;
        let write_all = |op: pb::Op| {
            let chunks = chunks(&controller, program, op, n, Room::MadeAhead);
            write(&client, chunks, n)
        };
        let mut rates = vec![Vec::new(); works.len()];
        for _ in 0..args.measure.n_runs() {
            let before = process.resident_bytes();
            for (work, rates) in works.iter().zip(&mut rates) {
                rates.push(match *work {
                    "insert" => {
                        let mut first = chunks(&controller, program, pb::Op::Insert, n, Room::MadeAhead);
                        let others = first.split_off(1);
                        let n_first = N_OF_SET.min(n);
                        let of_first = write(&client, first, n_first)?;
                        // A table of one set is written with the first.
                        let rate = if n > n_first { write(&client, others, n - n_first)? } else { of_first };
                        let grown = process.resident_bytes().saturating_sub(before);
                        bytes.push(grown as f64 / n as f64);
                        rate
                    }
                    "modify" => write_all(pb::Op::Modify)?,
                    "delete" => write_all(pb::Op::Delete)?,
                    "insert, growing" => growing(transport, n, args)?,
                    "migrate" => migrate(&address, transport, n, args)?,
                    "load" => {
                        write_all(pb::Op::Delete)?;
                        let dumped = dump(&client, &controller, program, n)?;
                        write(&client, dumped, n)?
                    }
                    _ => {
                        let pause = if *work == "read" { Duration::ZERO } else { SLOW_TIME };
                        let mode = pb::read_request::Mode::Snapshot;
                        let (chunks, rate) = read(&client, mode, pause).map_err(failed)?;
                        let found: usize =
                            chunks.iter().flat_map(|chunk| &chunk.sets).map(|set| set.n as usize).sum();
                        if found != n {
                            return Err(failed(format!("{n} entries were written, and {found} are read")));
                        }
                        rate
                    }
                });
            }
            has_entries(&controller, 0)?;
        }
        figures.extend(works.iter().zip(rates).map(|(work, rates)| Figure { transport, work, rates }));
    }
    show(&figures, bytes, n, reads, args);
    Ok(())
}

/// Fails unless the table has so many entries.
fn has_entries(controller: &Controller<'_>, n: usize) -> Result<(), Exit> {
    match controller.read().map_err(failed)?.0 {
        found if found == n => Ok(()),
        found => Err(failed(format!("the table should have {n} entries, and {found} are read"))),
    }
}

/// Millions of entries a second that a new switch takes whose table has no room yet.
fn growing(transport: &str, n: usize, args: &BenchControlArgs) -> Result<f64, Exit> {
    let dir = tempfile::tempdir().map_err(failed)?;
    let (_process, address) = switch::start_by(transport, dir.path(), args)?;
    let client = Client::connect(&address, None).map_err(failed)?;
    let controller = Controller::new(&client)?;
    let program = client.bulk_layout(0).map_err(failed)?.program;
    let chunks = chunks(&controller, program, pb::Op::Insert, n, Room::Growing);
    let rate = write(&client, chunks, n)?;
    has_entries(&controller, n)?;
    Ok(rate)
}

/// Millions of entries a second that `siding migrate` copies to a new switch.
fn migrate(from: &ServerAddress, transport: &str, n: usize, args: &BenchControlArgs) -> Result<f64, Exit> {
    let dir = tempfile::tempdir().map_err(failed)?;
    let (_process, to) = switch::start_by(transport, dir.path(), args)?;
    let own = std::env::current_exe().map_err(|error| failed(format!("cannot find siding: {error}")))?;
    let mut command = Command::new(own);
    command.args(["migrate", "--json", &from.to_string(), &to.to_string()]).stdin(Stdio::null());
    let begin = Instant::now();
    let output = command.output().map_err(|error| failed(format!("cannot start siding migrate: {error}")))?;
    let rate = rate(n, begin);
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).trim()));
    }
    let client = Client::connect(&to, None).map_err(failed)?;
    has_entries(&Controller::new(&client)?, n)?;
    Ok(rate)
}

/// Chunks of a dump of entries that are inserted for it and deleted again.
fn dump(
    client: &Client,
    controller: &Controller<'_>,
    program: u64,
    n: usize,
) -> Result<Vec<pb::Chunk>, Exit> {
    write(client, chunks(controller, program, pb::Op::Insert, n, Room::MadeAhead), n)?;
    let (read, _) = read(client, pb::read_request::Mode::Snapshot, Duration::ZERO).map_err(failed)?;
    write(client, chunks(controller, program, pb::Op::Delete, n, Room::MadeAhead), n)?;
    let election_id = Some(controller.election_id);
    Ok(read.into_iter().map(|chunk| pb::Chunk { program, election_id, ..chunk }).collect())
}

fn show(figures: &[Figure], bytes: Vec<f64>, n: usize, reads: bool, args: &BenchControlArgs) {
    // Later runs find the memory of the first.
    let bytes = bytes.into_iter().fold(0.0, f64::max);
    let is_large = n >= super::N_LARGE;
    let goal_of = |work: &str| match (reads, work) {
        (true, "read" | "load") => Some(READ_GOAL),
        (false, "insert") => Some(super::write_goal(n)),
        (false, "insert, growing") => is_large.then_some(LARGE_GROWING_GOAL),
        _ => None,
    };
    let mut goals: Vec<Judged> = figures
        .iter()
        .filter_map(|figure| {
            Some(Judged {
                name: format!("{}_{}_mps", figure.transport, figure.work.replace(", ", "_")),
                size: n as u64,
                value: median(figure.rates.clone()),
                goal: Goal::AtLeast(goal_of(figure.work)?),
            })
        })
        .collect();
    if reads && is_large {
        let name = "bytes_per_entry".to_owned();
        goals.push(Judged { name, size: n as u64, value: bytes, goal: Goal::AtMost(BYTES_GOAL) });
    }
    if args.measure.json {
        let lines = figures.iter().map(|figure| {
            json!({
                "peer": "siding",
                "transport": figure.transport,
                "work": figure.work,
                "entries": n,
                "entries_per_second": (median(figure.rates.clone()) * 1e6).round(),
                "runs": figure.rates.iter().map(|rate| (rate * 1e6).round()).collect::<Vec<f64>>(),
            })
        });
        let mut json = super::json_of(if reads { "read" } else { "bulk" }, args, &goals, lines.collect());
        json["bytes_per_entry"] = bytes.into();
        output::out(&format!("{json}\n"));
        return;
    }
    let mut rows = vec![["transport", "work", "entries", "entries/s"].map(str::to_owned).to_vec()];
    for figure in figures {
        rows.push(vec![
            figure.transport.to_owned(),
            figure.work.to_owned(),
            report::short(n as u64),
            format!("{:.0}", median(figure.rates.clone()) * 1e6),
        ]);
    }
    let mut text = format!("Entries in columns over gRPC, sets of {N_OF_SET}\n\n{}", report::aligned(&rows));
    text += &format!("\n{bytes:.0} bytes of memory for each entry");
    if reads && !is_large {
        let n = report::short(super::N_LARGE as u64);
        text += &format!("; the goal of {BYTES_GOAL} bytes is for {n} entries, --entries {}", super::N_LARGE);
    }
    text.push('\n');
    text += &super::text_of_goals(&goals, |goal| match goal.name.ends_with("_mps") {
        true => (goal.name.clone(), "million entries/s"),
        false => (goal.name.clone(), "bytes"),
    });
    output::out(&text);
}
