//! Latency through a running switch: a cable between two network namespaces, frames at a constant rate from one end, the switch
//! at the other. What it measures is mostly the kernel's way through the cable, twice.

use super::UDP;
use super::figures::SHARES;
use crate::args::MeasureArgs;
use crate::report::{self, Line};
use crate::state::apps::{Cores, Ends, INSIDE, Lab, Side};
use console::output::Exit;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const PACE: Duration = Duration::from_micros(25);
const N_KEYS: u32 = 1 << 14;
const N_KEYS_QUICK: u32 = 1 << 11;
/// Lookups for each key.
const N_CYCLES: u32 = 4;
/// One packet in so many has a new key, and one in so many is not for the table.
const ONE_IN: u32 = 100;
const PLAIN_OF: u32 = 64;
/// A frame that has not come back after this is lost.
const TIME_LIMIT: Duration = Duration::from_secs(1);

const KEY_AT: usize = 42;
const VALUE_AT: usize = 46;
const NUMBER_AT: usize = 52;
const FRAME_BYTES: usize = 84;
const PORT: u16 = 7000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Insert,
    Hit,
    Plain,
}

impl Class {
    const ALL: [(Class, &'static str); 3] =
        [(Class::Insert, "insert"), (Class::Hit, "hit"), (Class::Plain, "plain")];
}

/// Measures runs; a sentence where this machine cannot.
pub(super) fn measure(measure: &MeasureArgs) -> Result<Vec<Line>, String> {
    let n_keys = if measure.quick { N_KEYS_QUICK } else { N_KEYS };
    let mut lines = Vec::new();
    for run in 1..=measure.n_runs() {
        lines.extend(of_run(n_keys, run, measure)?);
    }
    Ok(lines)
}

fn absent(why: impl std::fmt::Display) -> String {
    format!("veth is not measured: {why}")
}

fn of_run(n_keys: u32, run: u32, measure: &MeasureArgs) -> Result<Vec<Line>, String> {
    let why = |_: Exit| absent("the message above says why");
    let lab = Lab::new().map_err(why)?;
    let cores = Cores::of_this_machine();
    cores.steer(&lab).map_err(why)?;
    let _switch = Switch::start(&lab, cores.middle, measure).map_err(absent)?;
    let mut ends = Ends::open(&lab).map_err(why)?;
    let _pinned = cores.pin();
    let mut lines = Vec::new();
    let classes: Vec<(u32, Class)> = (0..n_keys).map(|key| (key, Class::Insert)).collect();
    lines.extend(of_phase(&mut ends, "learn", &classes, n_keys, run)?);
    let mut n_new = 0;
    let lookups = (0..n_keys * N_CYCLES).map(|i| {
        let key = i.wrapping_mul(2_654_435_761) % n_keys;
        match scrambled(i / ONE_IN) % ONE_IN == i % ONE_IN {
            true => {
                n_new += 1;
                (n_keys + n_new, Class::Insert)
            }
            false if scrambled(!(i / PLAIN_OF)) % PLAIN_OF == i % PLAIN_OF => (key, Class::Plain),
            false => (key, Class::Hit),
        }
    });
    let lookups: Vec<(u32, Class)> = lookups.collect();
    lines.extend(of_phase(&mut ends, "lookup", &lookups, n_keys, run)?);
    Ok(lines)
}

fn scrambled(number: u32) -> u32 {
    let mixed = (number ^ number >> 15).wrapping_add(1).wrapping_mul(2_246_822_519);
    mixed ^ mixed >> 13
}

/// Different for each number.
fn key_of(number: u32) -> u32 {
    number.wrapping_mul(2_654_435_761)
}

fn frame(number: u32, key: u32, class: Class) -> [u8; FRAME_BYTES] {
    let mut frame = [0; FRAME_BYTES];
    frame[..6].copy_from_slice(&Lab::gateway(Side::Inside));
    frame[6..12].copy_from_slice(&crate::state::apps::CLIENT);
    frame[12..18].copy_from_slice(&[8, 0, 0x45, 0, 0, (FRAME_BYTES - 14) as u8]);
    frame[22..24].copy_from_slice(&[64, 17]);
    frame[26..34].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
    let port = if class == Class::Plain { PORT + 1 } else { PORT };
    frame[34..36].copy_from_slice(&[0x20, 0]);
    frame[36..38].copy_from_slice(&port.to_be_bytes());
    frame[39] = (FRAME_BYTES - 34) as u8;
    let key = key_of(key);
    frame[KEY_AT..KEY_AT + 4].copy_from_slice(&key.to_be_bytes());
    let value = if class == Class::Insert { !key } else { 0 };
    frame[VALUE_AT..VALUE_AT + 4].copy_from_slice(&value.to_be_bytes());
    frame[NUMBER_AT..NUMBER_AT + 4].copy_from_slice(&number.to_be_bytes());
    frame
}

fn word(frame: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(frame.get(at..at + 4)?.try_into().ok()?))
}

/// Sends frames at the pace, and takes what comes back.
fn of_phase(
    ends: &mut Ends,
    phase: &str,
    packets: &[(u32, Class)],
    n_keys: u32,
    run: u32,
) -> Result<Vec<Line>, String> {
    let why = |_: Exit| absent("the message above says why");
    let (mut n_sent, mut n_wrong, mut seen) = (0, 0u32, HashSet::new());
    let mut latencies: Vec<(Class, f64)> = Vec::with_capacity(packets.len());
    let begin = Instant::now();
    let mut last = begin;
    while seen.len() < packets.len() && last.elapsed() < TIME_LIMIT {
        let n_due = (begin.elapsed().as_nanos() / PACE.as_nanos()) as usize + 1;
        if n_sent < packets.len().min(n_due) {
            let (key, class) = packets[n_sent];
            let frame = frame(n_sent as u32, key, class);
            n_sent += ends.send(Side::Inside, std::iter::once(&frame[..])).map_err(why)?;
            last = Instant::now();
        }
        ends.receive(Side::Inside, |frame| {
            let now = begin.elapsed();
            // Other frames are the kernel's own.
            let Some(number) = word(frame, NUMBER_AT) else { return };
            let Some((key, class)) = packets.get(number as usize) else { return };
            if word(frame, KEY_AT) != Some(key_of(*key)) || !seen.insert(number) {
                return;
            }
            let expected = if *class == Class::Plain { 0 } else { !key_of(*key) };
            n_wrong += u32::from(word(frame, VALUE_AT) != Some(expected));
            latencies.push((*class, now.saturating_sub(PACE * number).as_nanos() as f64));
            last = Instant::now();
        })
        .map_err(why)?;
    }
    let tags = |mut line: Value| {
        line["peer"] = json!("veth");
        line["version"] = json!(env!("CARGO_PKG_VERSION"));
        line["phase"] = json!(phase);
        line["run"] = json!(run);
        line["bytes"] = json!(FRAME_BYTES);
        line["one_in"] = json!(if phase == "learn" { 1 } else { ONE_IN });
        line["keys"] = json!(n_keys);
        // Cycles of other lines are those of the time stamp counter; here a cycle is a nanosecond.
        line["tsc_ghz"] = json!(1.0);
        Line::parse(&line.to_string()).map_err(absent)
    };
    let mut lines = Vec::new();
    for (class, name) in Class::ALL {
        let mut ns: Vec<f64> =
            latencies.iter().filter(|(other, _)| *other == class).map(|(_, ns)| *ns).collect();
        ns.sort_by(f64::total_cmp);
        let Some(most) = ns.len().checked_sub(1) else { continue };
        let at = |share: f64| ns[((share * ns.len() as f64) as usize).min(most)];
        let quantiles: Vec<f64> = SHARES.iter().map(|share| report::rounded(at(*share))).collect();
        lines.push(tags(json!({
            "work": name, "size": ns.len(), "unmarked": ns.len(), "cycles": at(0.5).max(1.0),
            "cycles_min": ns[0].max(1.0), "ns": quantiles, "ns_with_marked": quantiles,
        }))?);
    }
    let pace = PACE.as_nanos() as f64;
    lines.push(tags(json!({
        "work": "run", "size": packets.len(), "cycles": pace, "cycles_min": pace, "mpps": 1e3 / pace, "sent": n_sent,
        "received": seen.len(), "wrong": n_wrong,
    }))?);
    Ok(lines)
}

/// A switch in a process of its own, which ends with this.
struct Switch {
    process: Child,
    _dir: TempDir,
}

impl Drop for Switch {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Switch {
    fn start(lab: &Lab, core: Option<usize>, measure: &MeasureArgs) -> Result<Switch, String> {
        let failed = |error: std::io::Error| format!("cannot start a switch: {error}");
        let dir = tempfile::tempdir().map_err(failed)?;
        let path = dir.path().join(UDP.name);
        std::fs::write(&path, UDP.text).map_err(failed)?;
        let mut command = lab.switch(&measure.cc, &dir.path().join("ctl")).map_err(failed)?;
        command.args(["-i", &format!("1@{INSIDE}")]);
        if let Some(core) = core {
            command.args(["--cores", &core.to_string()]);
        }
        command.arg(path).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let process = command.spawn().map_err(failed)?;
        let mut switch = Switch { process, _dir: dir };
        let out = switch.process.stdout.take().map(BufReader::new);
        let mut lines = out.into_iter().flat_map(BufRead::lines).map_while(Result::ok);
        let is_ready =
            |line: String| serde_json::from_str::<Value>(&line).is_ok_and(|event| event["event"] == "ready");
        if lines.any(is_ready) {
            return Ok(switch);
        }
        let mut said = String::new();
        if let Some(mut stderr) = switch.process.stderr.take() {
            let _ = stderr.read_to_string(&mut said);
        }
        Err(format!("the switch has ended before it was ready: {}", said.trim()))
    }
}
