//! `siding model calibrate` and `siding model check`: cycles of components on this machine, and how far predictions with them
//! are from measurements.
//!
//! - `micro`: programs that are measured to find the cycles of components, one after the other;
//! - `mixed`: the same with many components at once;
//! - `predict`: `siding model cpu`;
//! - `subject`: one program, counted in the interpreter and measured in compiled code;
//! - `turns`: several programs measured by turns.
//!
//! What is fitted and predicted is in `model::cpu`.

mod micro;
mod mixed;
mod predict;
mod subject;
mod turns;

pub use self::predict::{Answer, Question, predict};

use self::micro::Micro;
use self::subject::Subject;
use crate::args::{CalibrateArgs, ModelCheckArgs};
use crate::harness;
use crate::native::processor_mhz;
use crate::programs;
use crate::report;
use crate::scenes;
use console::CcArgs;
use console::compiling::Compiling;
use console::output::{self, Exit};
use model::cpu::fit::{self, Point};
use model::cpu::tables::{self, Latencies};
use model::cpu::{Machine, Prediction, Profile};
use serde_json::{Value, json};
use std::io::IsTerminal;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

const CHASE: &str = "crates/bench/c/model/chase.c";
/// Programs with many components.
const N_MIXED: usize = 300;
const N_MIXED_QUICK: usize = 120;
/// Passes over all programs.
const N_PASSES: usize = 200;
const N_PASSES_QUICK: usize = 50;

/// Goals of `check`: half of the errors, and all.
const ERROR_MEDIAN_MAX: f64 = 0.10;
const ERROR_MAX: f64 = 0.25;

pub fn calibrate(args: &CalibrateArgs) -> Exit {
    let made = || {
        let profile = make(args.quick, &args.cc)?;
        let text = serde_json::to_string_pretty(&profile).unwrap_or_default() + "\n";
        output::replace_file(&args.output, text.as_bytes()).map_err(|error| {
            output::error_line(&format!("{}: {error}", args.output.display()));
            Exit::Environment
        })?;
        output::out(&match args.json {
            true => text,
            false => described(&profile, &args.output),
        });
        Ok(())
    };
    made().map_or_else(|exit: Exit| exit, |()| Exit::Ok)
}

/// Measures the machine and all programs, and fits.
fn make(is_quick: bool, cc: &CcArgs) -> Result<Profile, Exit> {
    let compiling = Compiling::new(cc)?;
    let chase = harness::compile(CHASE, &[(CHASE, include_str!("../../c/model/chase.c"))], &compiling)?;
    let lines = harness::run(&chase, &[])?;
    let points = lines.iter().map(|line| (line.size as f64, line.cycles_min)).collect();
    let latencies = Latencies { points: ascending(points) };
    let subjects: Vec<Subject> = micro::all(is_quick)
        .into_iter()
        .chain(mixed::all(if is_quick { N_MIXED_QUICK } else { N_MIXED }))
        .enumerate()
        .map(|(i, micro)| Subject::new(&format!("micro{i}"), micro))
        .collect::<Result<_, Exit>>()?;
    let mut counted = Vec::new();
    for subject in &subjects {
        let found = subject.count()?;
        let mut counts = found.work.total;
        tables::work(&found.tables, &latencies).iter().for_each(|more| counts.add_scaled(more, 1.0));
        counted.push(counts);
    }
    let n_passes = if is_quick { N_PASSES_QUICK } else { N_PASSES };
    let turns = turns::measure(&subjects, n_passes, cc)?;
    let points: Vec<Point> = subjects
        .iter()
        .zip(counted)
        .zip(&turns.cycles)
        .map(|((subject, counts), cycles)| Point { name: subject.title.clone(), counts, cycles: *cycles })
        .collect();
    let components = fit::fit(&points);
    let residual =
        |costs: &[fit::Cost], point: &Point| fit::cycles(costs, &point.counts) / point.cycles - 1.0;
    let all: Vec<f64> = points.iter().map(|point| residual(&components, point)).collect();
    let held_out = (0..points.len()).map(|i| {
        let others: Vec<Point> =
            points.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, p)| p.clone()).collect();
        residual(&fit::fit_once(&others), &points[i])
    });
    let held_out: Vec<f64> = held_out.collect();
    Ok(Profile {
        version: model::cpu::VERSION,
        siding: env!("CARGO_PKG_VERSION").to_owned(),
        made_at: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs()),
        machine: machine(latencies, &compiling),
        components,
        n_points: points.len(),
        rmse_relative: rmse(&all),
        held_out_relative: rmse(&held_out),
        anchor_drift: turns.drift,
        points,
    })
}

/// Shows how far the work is, on a terminal; an empty text clears it.
fn progress(text: &str) {
    if std::io::stderr().is_terminal() {
        output::err(&format!("\r\x1b[K{text}"));
    }
}

fn rmse(errors: &[f64]) -> f64 {
    (errors.iter().map(|error| error * error).sum::<f64>() / errors.len().max(1) as f64).sqrt()
}

/// Noise makes some larger size look faster.
fn ascending(mut points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    for i in (1..points.len()).rev() {
        points[i - 1].1 = points[i - 1].1.min(points[i].1);
    }
    points
}

fn machine(latencies: Latencies, compiling: &Compiling) -> Machine {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpuinfo = read("/proc/cpuinfo");
    let field = |name: &str| {
        let line = cpuinfo.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let cache = |i: usize| {
        let size = read(&format!("/sys/devices/system/cpu/cpu0/cache/index{i}/size"));
        let kind = read(&format!("/sys/devices/system/cpu/cpu0/cache/index{i}/type"));
        let kib: u64 = size.trim().trim_end_matches('K').parse().ok()?;
        (kind.trim() != "Instruction").then_some(kib * 1024)
    };
    let siblings = read("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list");
    Machine {
        model: field("model name").unwrap_or_default(),
        cores: std::thread::available_parallelism().map_or(1, |n| n.get() as u32),
        siblings: siblings.trim().split([',', '-']).filter(|part| !part.is_empty()).count().max(1) as u32,
        tsc_ghz: processor_mhz().map_or(0.0, |mhz| mhz / 1e3),
        cache_bytes: (0..8).filter_map(cache).collect(),
        latencies,
        is_virtual: field("flags").is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor")),
        load_average: read("/proc/loadavg").split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0.0),
        compiler: compiling.options.program_flags.join(" "),
    }
}

fn described(profile: &Profile, path: &Path) -> String {
    let mut rows = vec![["component", "cycles", "from", "to", "programs"].map(str::to_owned).to_vec()];
    for cost in &profile.components {
        rows.push(vec![
            cost.component.name().to_owned(),
            format!("{:.2}", cost.cycles),
            format!("{:.2}", cost.ci95[0]),
            format!("{:.2}", cost.ci95[1]),
            cost.n_points.to_string(),
        ]);
    }
    format!(
        "{}, {:.2} GHz\n\n{}\n{} programs; residuals {:.1} % of the cycles, {:.1} % where a program was left out of the fit; the anchor moved by {:.1} %.\n{} has it all.\n",
        profile.machine.model,
        profile.machine.tsc_ghz,
        report::aligned(&rows),
        profile.n_points,
        100.0 * profile.rmse_relative,
        100.0 * profile.held_out_relative,
        100.0 * profile.anchor_drift,
        path.display(),
    )
}

/// Reads a profile.
pub fn read_profile(path: &Path) -> Result<Profile, Exit> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        output::error_line(&format!("{}: {error}; `siding model calibrate` makes one", path.display()));
        Exit::Environment
    })?;
    Profile::parse(&text).map_err(|error| {
        output::error_line(&format!("{}: {error}", path.display()));
        Exit::Usage
    })
}

/// Programs that no profile is made from.
fn held_out(is_quick: bool) -> Vec<Micro> {
    let sizes: &[u32] = if is_quick { &[10, 1000, 100_000] } else { &[10, 100_000, 1_000_000] };
    let l2 = sizes.iter().map(|size| Micro {
        name: format!("l2, {}", report::short(u64::from(*size))),
        text: include_str!("../../peers/l2.p4").to_owned(),
        scene: scenes::l2(*size),
    });
    let others = programs::held_out().into_iter();
    l2.chain(others.map(|(name, text, scene)| Micro { name: name.to_owned(), text: text.to_owned(), scene }))
        .collect()
}

pub fn check(args: &ModelCheckArgs) -> Exit {
    checked(args).unwrap_or_else(|exit| exit)
}

fn checked(args: &ModelCheckArgs) -> Result<Exit, Exit> {
    let profile = match &args.profile {
        Some(path) => read_profile(path)?,
        None => make(args.quick, &args.cc)?,
    };
    let subjects: Vec<Subject> = held_out(args.quick)
        .into_iter()
        .enumerate()
        .map(|(i, program)| Subject::new(&format!("held_out{i}"), program))
        .collect::<Result<_, Exit>>()?;
    let mut predicted: Vec<Prediction> = Vec::new();
    for subject in &subjects {
        progress(&format!("{}: counting", subject.title));
        let counted = subject.count()?;
        predicted.push(profile.predict(&counted.work, &counted.tables));
    }
    // Before anything is measured.
    let written: Vec<Value> = subjects
        .iter()
        .zip(&predicted)
        .map(|(subject, prediction)| json!({ "program": subject.title, "cycles": report::rounded(prediction.cycles) }))
        .collect();
    if let Some(path) = &args.predictions {
        let text = format!("{}\n", json!({ "version": 1, "predictions": written }));
        output::replace_file(path, text.as_bytes()).map_err(|error| {
            output::error_line(&format!("{}: {error}", path.display()));
            Exit::Environment
        })?;
    }
    let turns = turns::measure(&subjects, if args.quick { N_PASSES_QUICK } else { N_PASSES }, &args.cc)?;
    let mut rows = vec![["program", "predicted", "measured", "error"].map(str::to_owned).to_vec()];
    let mut errors = Vec::new();
    let mut lines = Vec::new();
    for ((subject, prediction), cycles) in subjects.iter().zip(&predicted).zip(&turns.cycles) {
        let error = prediction.cycles / cycles - 1.0;
        errors.push(error.abs());
        rows.push(vec![
            subject.title.clone(),
            format!("{:.0}", prediction.cycles),
            format!("{cycles:.0}"),
            format!("{:+.1} %", 100.0 * error),
        ]);
        lines.push(json!({
            "program": subject.title, "predicted": report::rounded(prediction.cycles),
            "measured": report::rounded(*cycles), "error": report::rounded(error), "counts": prediction.counts,
        }));
    }
    errors.sort_by(f64::total_cmp);
    let (median, worst) = (errors[errors.len() / 2], errors[errors.len() - 1]);
    let is_met = median <= ERROR_MEDIAN_MAX && worst <= ERROR_MAX;
    output::out(&match args.json {
        true => format!(
            "{}\n",
            json!({
                "version": 1, "machine": profile.machine.model, "programs": lines, "median_error": report::rounded(median),
                "worst_error": report::rounded(worst), "met": is_met,
            })
        ),
        false => format!(
            "{}\nHalf of the errors are at most {:.1} %, all at most {:.1} %; wanted are {:.0} % and {:.0} %.\n",
            report::aligned(&rows),
            100.0 * median,
            100.0 * worst,
            100.0 * ERROR_MEDIAN_MAX,
            100.0 * ERROR_MAX
        ),
    });
    Ok(if is_met { Exit::Ok } else { Exit::Failed })
}
