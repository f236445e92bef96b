//! `siding bench control`: entries a second that controllers write and read, through a switch in a process of its own.

use crate::args::{BenchControlArgs, ControlFigureArg};
use crate::frontend::median;
use crate::harness::{Goal, Judged};
use crate::report;
use console::output::{self, Exit};
use control::Schema;
use grpc::{Client, Failure, Next, ServerAddress, Stream};
use p4info::proto::p4::v1 as pb;
use pb::stream_message_request::Update as ToServer;
use pb::stream_message_response::Update as FromServer;
use pb::update::Type;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const NAME: &str = "control.p4";
const P4: &str = include_str!("../programs/control.p4");
const TABLE: &str = "FlowIngress.flows";
const ACTION: &str = "FlowIngress.forward";

/// Updates in one request.
const BATCHES: [usize; 3] = [1, 100, 10_000];
/// Requests of one run with small batches, and entries with large ones.
const N_REQUESTS: usize = 2_000;
const N_ENTRIES: usize = 1_000_000;
/// Sizes with --quick.
const N_REQUESTS_QUICK: usize = 100;
const N_ENTRIES_QUICK: usize = 50_000;
/// The goal is for batches of so many updates or more, in millions a second.
const BATCH_OF_GOAL: usize = 1_000;
const GOAL: f64 = 10.0;
/// Time for the switch to answer.
const ANSWER_TIME: Duration = Duration::from_secs(60);

/// One figure.
struct Figure {
    transport: &'static str,
    work: &'static str,
    batch: usize,
    entries: usize,
    /// Millions of entries a second, one for each run.
    rates: Vec<f64>,
}

pub fn run(args: &BenchControlArgs) -> Exit {
    match args.figure {
        ControlFigureArg::Plain => measure(args).map_or_else(|exit| exit, |()| Exit::Ok),
    }
}

fn failed(message: impl std::fmt::Display) -> Exit {
    output::error_line(&message.to_string());
    Exit::Failed
}

/// A switch that ends with this.
struct Switch(Child);

impl Drop for Switch {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts this program as a switch, and waits for its address.
fn start(dir: &Path, address: &str, args: &BenchControlArgs) -> Result<(Switch, ServerAddress), Exit> {
    let environment = |error: String| {
        output::error_line(&error);
        Exit::Environment
    };
    let program = dir.join(NAME);
    std::fs::write(&program, P4).map_err(|error| environment(format!("cannot write a program: {error}")))?;
    let own = std::env::current_exe().map_err(|error| environment(format!("cannot find siding: {error}")))?;
    let mut command = Command::new(own);
    command
        .args(["switch", "--json", "--metrics-addr", "off", "--backend", "native", "--log-level", "error"])
        .args(["-O", &args.measure.cc.optimise.to_string(), "--grpc-server-addr", address, "--ctl-socket"])
        .arg(dir.join("ctl"))
        .arg(&program)
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let child = command.spawn().map_err(|error| environment(format!("cannot start a switch: {error}")))?;
    let mut switch = Switch(child);
    let out = switch.0.stdout.take().map(BufReader::new);
    for line in out.into_iter().flat_map(BufRead::lines).map_while(Result::ok) {
        let event: Value = serde_json::from_str(&line).unwrap_or_default();
        if let (Some("ready"), Some(address)) = (event["event"].as_str(), event["p4runtime"].as_str()) {
            return Ok((switch, address.parse().map_err(failed)?));
        }
    }
    Err(environment("the switch has ended before it was ready".to_owned()))
}

/// The primary controller of a switch.
struct Controller<'c> {
    client: &'c Client,
    election_id: pb::Uint128,
    table_id: u32,
    action_id: u32,
    _stream: Stream<'c>,
}

impl<'c> Controller<'c> {
    fn new(client: &'c Client) -> Result<Controller<'c>, Exit> {
        let election_id = pb::Uint128 { high: 0, low: 1 };
        let bid = pb::MasterArbitrationUpdate { election_id: Some(election_id), ..Default::default() };
        let mut stream = client.stream(ToServer::Arbitration(bid)).map_err(failed)?;
        match stream.next(ANSWER_TIME).map_err(failed)? {
            Next::Message(FromServer::Arbitration(_)) => {}
            Next::Message(_) | Next::Nothing | Next::End => return Err(failed("the switch does not answer")),
        }
        let parts = pb::get_forwarding_pipeline_config_request::ResponseType::P4infoAndCookie;
        let config = client.pipeline_config(0, parts).map_err(failed)?;
        let p4info = config.and_then(|config| config.p4info).unwrap_or_default();
        let schema = Schema::new(&p4info).map_err(failed)?;
        let table_id = schema.tables.find(TABLE).map_err(failed)?.id.0;
        let action_id = schema.actions.find(ACTION).map_err(failed)?.id.0;
        Ok(Controller { client, election_id, table_id, action_id, _stream: stream })
    }

    /// The update of the entry with this number.
    fn update(&self, kind: Type, i: usize, port: u8) -> pb::Update {
        let i = i as u32;
        let exact = |field_id, value: Vec<u8>| pb::FieldMatch {
            field_id,
            field_match_type: Some(pb::field_match::FieldMatchType::Exact(pb::field_match::Exact { value })),
        };
        let action = pb::Action {
            action_id: self.action_id,
            params: vec![pb::action::Param { param_id: 1, value: vec![port] }],
        };
        let entry = pb::TableEntry {
            table_id: self.table_id,
            r#match: vec![
                exact(1, (0x0a00_0000 | i >> 8).to_be_bytes().to_vec()),
                exact(2, (0xc0a8_0000 ^ i.wrapping_mul(0x9e37_79b1)).to_be_bytes().to_vec()),
                exact(3, vec![6]),
                exact(4, (0x8000 | i as u16 & 0x7fff).to_be_bytes().to_vec()),
                exact(5, vec![0x01, 0xbb]),
            ],
            action: Some(pb::TableAction { r#type: Some(pb::table_action::Type::Action(action)) }),
            ..pb::TableEntry::default()
        };
        let entity = pb::Entity { entity: Some(pb::entity::Entity::TableEntry(entry)) };
        pb::Update { r#type: kind.into(), entity: Some(entity) }
    }

    /// Writes entries in batches, and returns millions a second. Requests are made before.
    fn write(&self, kind: Type, n: usize, batch: usize, port: u8) -> Result<f64, Failure> {
        let numbers: Vec<usize> = (0..n).collect();
        let requests = numbers.chunks(batch).map(|chunk| pb::WriteRequest {
            election_id: Some(self.election_id),
            updates: chunk.iter().map(|i| self.update(kind, *i, port)).collect(),
            ..pb::WriteRequest::default()
        });
        let requests: Vec<pb::WriteRequest> = requests.collect();
        let begin = Instant::now();
        for request in requests {
            self.client.write(request)?;
        }
        Ok(rate(n, begin))
    }

    /// Reads all entries, and returns their number and millions a second.
    fn read(&self) -> Result<(usize, f64), Failure> {
        let entry = pb::TableEntry { table_id: self.table_id, ..pb::TableEntry::default() };
        let entity = pb::Entity { entity: Some(pb::entity::Entity::TableEntry(entry)) };
        let request = pb::ReadRequest { entities: vec![entity], ..pb::ReadRequest::default() };
        let mut n = 0;
        let begin = Instant::now();
        self.client.read(request, |entities| n += entities.len())?;
        Ok((n, rate(n, begin)))
    }
}

/// Millions a second.
fn rate(n: usize, begin: Instant) -> f64 {
    n as f64 / begin.elapsed().as_secs_f64().max(1e-9) / 1e6
}

fn measure(args: &BenchControlArgs) -> Result<(), Exit> {
    let mut figures = Vec::new();
    for transport in ["tcp", "unix"] {
        let dir = tempfile::tempdir().map_err(failed)?;
        let address = match transport {
            "tcp" => "127.0.0.1:0".to_owned(),
            _ => format!("unix:{}", dir.path().join("p4runtime").display()),
        };
        let (_switch, address) = start(dir.path(), &address, args)?;
        let client = Client::connect(&address, None).map_err(failed)?;
        let controller = Controller::new(&client)?;
        for batch in BATCHES {
            figures.extend(of_batch(&controller, transport, batch, args)?);
        }
    }
    let goals = judge(&figures);
    match args.measure.json {
        true => output::out(&format!("{}\n", json_of(&figures, &goals, args))),
        false => output::out(&text_of(&figures, &goals)),
    }
    Ok(())
}

/// Inserts, modifies, reads and deletes the same entries in each run.
fn of_batch(
    controller: &Controller<'_>,
    transport: &'static str,
    batch: usize,
    args: &BenchControlArgs,
) -> Result<Vec<Figure>, Exit> {
    let (n_requests, n_entries) = match args.measure.quick {
        true => (N_REQUESTS_QUICK, N_ENTRIES_QUICK),
        false => (N_REQUESTS, N_ENTRIES),
    };
    let n = (n_requests * batch).min(args.entries.unwrap_or(n_entries)).max(1);
    let mut rates = [const { Vec::new() }; 4];
    for _ in 0..args.measure.n_runs() {
        rates[0].push(controller.write(Type::Insert, n, batch, 1).map_err(failed)?);
        rates[1].push(controller.write(Type::Modify, n, batch, 2).map_err(failed)?);
        let (n_read, read) = controller.read().map_err(failed)?;
        if n_read != n {
            return Err(failed(format!("{n} entries were written, and {n_read} are read")));
        }
        rates[2].push(read);
        rates[3].push(controller.write(Type::Delete, n, batch, 2).map_err(failed)?);
        let (left, _) = controller.read().map_err(failed)?;
        if left != 0 {
            return Err(failed(format!("all entries were deleted, and {left} are read")));
        }
    }
    let works = ["insert", "modify", "read", "delete"];
    Ok(works
        .into_iter()
        .zip(rates)
        .map(|(work, rates)| Figure { transport, work, batch, entries: n, rates })
        .collect())
}

fn judge(figures: &[Figure]) -> Vec<Judged> {
    let judged = figures.iter().filter(|figure| figure.batch >= BATCH_OF_GOAL);
    judged
        .map(|figure| Judged {
            name: format!("{}_{}_mps", figure.transport, figure.work),
            size: figure.batch as u64,
            value: median(figure.rates.clone()),
            goal: Goal::AtLeast(GOAL),
        })
        .collect()
}

fn json_of(figures: &[Figure], goals: &[Judged], args: &BenchControlArgs) -> Value {
    let lines = figures.iter().map(|figure| {
        json!({
            "peer": "siding",
            "transport": figure.transport,
            "work": figure.work,
            "batch": figure.batch,
            "entries": figure.entries,
            "entries_per_second": (median(figure.rates.clone()) * 1e6).round(),
            "runs": figure.rates.iter().map(|rate| (rate * 1e6).round()).collect::<Vec<f64>>(),
        })
    });
    json!({
        "version": 1,
        "siding": env!("CARGO_PKG_VERSION"),
        "optimise": args.measure.cc.optimise,
        "work": "control",
        "figure": "plain",
        "quick": args.measure.quick,
        "runs": args.measure.n_runs(),
        "goals": goals.iter().map(Judged::json).collect::<Vec<_>>(),
        "lines": lines.collect::<Vec<_>>(),
    })
}

fn text_of(figures: &[Figure], goals: &[Judged]) -> String {
    let head = ["transport", "work", "batch", "entries", "entries/s", "least", "most"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for figure in figures {
        let per_second = |rate: f64| format!("{:.0}", rate * 1e6);
        let least = figure.rates.iter().copied().fold(f64::INFINITY, f64::min);
        let most = figure.rates.iter().copied().fold(0.0, f64::max);
        rows.push(vec![
            figure.transport.to_owned(),
            figure.work.to_owned(),
            report::short(figure.batch as u64),
            report::short(figure.entries as u64),
            per_second(median(figure.rates.clone())),
            per_second(least),
            per_second(most),
        ]);
    }
    let mut text = format!(
        "P4Runtime over a socket, one client that waits for each answer; its encoding counts\n\n{}",
        report::aligned(&rows)
    );
    for goal in goals.iter().filter(|goal| !goal.is_met()) {
        text += &format!("\n{}: {:.2} million a second, and {GOAL} is the goal", goal.name, goal.value);
    }
    text + "\n"
}
