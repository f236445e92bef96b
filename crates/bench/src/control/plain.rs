//! `--figure plain`: Write and Read of P4Runtime.

use super::controller::{self, Controller, p4info};
use super::{bmv2, failed, switch};
use crate::args::BenchControlArgs;
use crate::frontend::median;
use crate::harness::{Goal, Judged};
use crate::report;
use console::output::{self, Exit};
use grpc::{Client, Writer};
use p4info::proto::p4::v1::update::Type;
use serde_json::{Value, json};

/// Updates in one request.
const BATCHES: [u32; 4] = [1, 100, 1_000, 10_000];
/// Requests that a client has under way at a time.
const AT_A_TIME: [usize; 2] = [1, 4];
/// Requests of one run with small batches, and entries with large ones.
const N_REQUESTS: usize = 2_000;
const N_ENTRIES: usize = 1_000_000;
/// Sizes with --quick.
const N_REQUESTS_QUICK: usize = 100;
const N_ENTRIES_QUICK: usize = 50_000;
/// The goal is for batches of so many updates or more, in millions a second.
const BATCH_OF_GOAL: usize = 1_000;
const GOAL: f64 = 10.0;

/// Batches of which BMv2 writes too, with its entries and runs: it is slower.
const BMV2_BATCHES: [u32; 2] = [1, 1_000];
const BMV2_ENTRIES: usize = 20_000;
const BMV2_RUNS: u32 = 3;
/// Goals as multiples of BMv2's rate, for single updates and for batches.
const BMV2_GOALS: [f64; 2] = [3.0, 10.0];

/// One figure.
struct Figure {
    peer: &'static str,
    transport: &'static str,
    work: &'static str,
    batch: usize,
    n_at_a_time: usize,
    entries: usize,
    /// Millions of entries a second, one for each run.
    rates: Vec<f64>,
}

pub(super) fn measure(args: &BenchControlArgs) -> Result<(), Exit> {
    let batches = if args.batches.is_empty() { &BATCHES[..] } else { &args.batches };
    let mut figures = Vec::new();
    for transport in ["tcp", "unix"] {
        let dir = tempfile::tempdir().map_err(failed)?;
        let (_switch, address) = switch::start_by(transport, dir.path(), args)?;
        let client = Client::connect(&address, None).map_err(failed)?;
        let controller = Controller::new(&client)?;
        let writer = Writer::connect(&address).map_err(failed)?;
        let sizes = Sizes::of(args);
        for batch in batches.iter().map(|batch| *batch as usize) {
            for n_at_a_time in AT_A_TIME {
                figures.extend(of_batch(
                    &controller,
                    &writer,
                    ("siding", transport),
                    (batch, n_at_a_time),
                    &sizes,
                )?);
            }
        }
        if transport == "tcp" {
            let batches = BMV2_BATCHES.into_iter().filter(|batch| batches.contains(batch));
            figures.extend(of_bmv2(batches, &client)?);
        }
    }
    let goals = judge(&figures);
    match args.measure.json {
        true => output::out(&format!("{}\n", json_of(&figures, &goals, args))),
        false => output::out(&text_of(&figures, &goals)),
    }
    let mut series = Vec::new();
    for figure in figures.iter().filter(|figure| figure.work == "insert") {
        let Figure { peer, transport, batch, n_at_a_time, rates, .. } = figure;
        let name = format!("{peer}, {transport}, {n_at_a_time} at a time");
        super::add_point(&mut series, &name, *batch as f64, rates);
    }
    super::draw(args, "Inserting by P4Runtime", "updates in a request", series)
}

/// Figures of BMv2 with the program of the client; none if it is not installed.
fn of_bmv2(batches: impl Iterator<Item = u32>, client: &Client) -> Result<Vec<Figure>, Exit> {
    let mut batches = batches.peekable();
    let (Some(_), Some(bmv2)) = (batches.peek(), bmv2::start()?) else { return Ok(Vec::new()) };
    let controller = Controller::with(&bmv2.client, Some(bmv2::config(p4info(client)?)))?;
    let writer = Writer::connect(&bmv2.address).map_err(failed)?;
    let sizes = Sizes { n_requests: N_REQUESTS, n_entries: BMV2_ENTRIES, n_runs: BMV2_RUNS };
    let mut figures = Vec::new();
    for batch in batches {
        for n_at_a_time in AT_A_TIME {
            let batch = (batch as usize, n_at_a_time);
            figures.extend(of_batch(&controller, &writer, ("bmv2", "tcp"), batch, &sizes)?);
        }
    }
    Ok(figures)
}

struct Sizes {
    n_requests: usize,
    n_entries: usize,
    n_runs: u32,
}

impl Sizes {
    fn of(args: &BenchControlArgs) -> Sizes {
        let (n_requests, n_entries) = match args.measure.quick {
            true => (N_REQUESTS_QUICK, N_ENTRIES_QUICK),
            false => (N_REQUESTS, N_ENTRIES),
        };
        Sizes { n_requests, n_entries: args.entries.unwrap_or(n_entries), n_runs: args.measure.n_runs() }
    }
}

/// Inserts, modifies, reads and deletes the same entries in each run.
fn of_batch(
    controller: &Controller<'_>,
    writer: &Writer,
    (peer, transport): (&'static str, &'static str),
    (batch, n_at_a_time): (usize, usize),
    sizes: &Sizes,
) -> Result<Vec<Figure>, Exit> {
    let n = (sizes.n_requests * batch).min(sizes.n_entries).max(1);
    let requests =
        [Type::Insert, Type::Modify, Type::Delete].map(|kind| controller.requests_of(kind, n, batch));
    let write = |requests| controller::write(writer, requests, n, n_at_a_time).map_err(failed);
    let mut rates = [const { Vec::new() }; 4];
    for _ in 0..sizes.n_runs {
        rates[0].push(write(&requests[0])?);
        rates[1].push(write(&requests[1])?);
        let (n_read, read) = controller.read().map_err(failed)?;
        if n_read != n {
            return Err(failed(format!("{n} entries were written, and {n_read} are read")));
        }
        rates[2].push(read);
        rates[3].push(write(&requests[2])?);
        let (left, _) = controller.read().map_err(failed)?;
        if left != 0 {
            return Err(failed(format!("all entries were deleted, and {left} are read")));
        }
    }
    let works = ["insert", "modify", "read", "delete"];
    Ok(works
        .into_iter()
        .zip(rates)
        .map(|(work, rates)| Figure { peer, transport, work, batch, n_at_a_time, entries: n, rates })
        .collect())
}

fn judge(figures: &[Figure]) -> Vec<Judged> {
    let inserts = || figures.iter().filter(|figure| figure.work == "insert");
    let own = inserts().filter(|figure| figure.peer == "siding");
    let judged = own.clone().filter(|figure| figure.batch >= BATCH_OF_GOAL);
    let ratios = own.filter_map(|figure| {
        let bmv2 = inserts().find(|of| {
            let is_alike = (of.transport, of.batch, of.n_at_a_time);
            of.peer == "bmv2" && is_alike == (figure.transport, figure.batch, figure.n_at_a_time)
        })?;
        Some(Judged {
            name: format!("{}_{}_{}_to_bmv2", figure.transport, figure.work, figure.n_at_a_time),
            size: figure.batch as u64,
            value: median(figure.rates.clone()) / median(bmv2.rates.clone()),
            goal: Goal::AtLeast(bmv2_goal(figure.batch as u64)),
        })
    });
    judged
        .map(|figure| Judged {
            name: format!("{}_{}_{}_mps", figure.transport, figure.work, figure.n_at_a_time),
            size: figure.batch as u64,
            value: median(figure.rates.clone()),
            goal: Goal::AtLeast(GOAL),
        })
        .chain(ratios)
        .collect()
}

fn bmv2_goal(batch: u64) -> f64 {
    BMV2_GOALS[usize::from(batch > 1)]
}

fn json_of(figures: &[Figure], goals: &[Judged], args: &BenchControlArgs) -> Value {
    let lines = figures.iter().map(|figure| {
        json!({
            "peer": figure.peer,
            "transport": figure.transport,
            "work": figure.work,
            "batch": figure.batch,
            "at_a_time": figure.n_at_a_time,
            "entries": figure.entries,
            "entries_per_second": (median(figure.rates.clone()) * 1e6).round(),
            "runs": figure.rates.iter().map(|rate| (rate * 1e6).round()).collect::<Vec<f64>>(),
        })
    });
    super::json_of("plain", args, goals, lines.collect())
}

fn text_of(figures: &[Figure], goals: &[Judged]) -> String {
    let head = ["switch", "transport", "work", "batch", "at a time", "entries", "entries/s", "least", "most"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for figure in figures {
        let [usual, least, most] = super::spread(&figure.rates);
        rows.push(vec![
            figure.peer.to_owned(),
            figure.transport.to_owned(),
            figure.work.to_owned(),
            report::short(figure.batch as u64),
            figure.n_at_a_time.to_string(),
            report::short(figure.entries as u64),
            usual,
            least,
            most,
        ]);
    }
    let mut text = format!(
        "P4Runtime over a socket, one client, whose requests are encoded before\n\n{}",
        report::aligned(&rows)
    );
    text += &super::text_of_goals(goals, |goal| {
        let what = format!("{}, batches of {}", goal.name, report::short(goal.size));
        let is_rate = goal.name.ends_with("_mps");
        (what, if is_rate { "million entries/s" } else { "times the rate of BMv2" })
    });
    text
}
