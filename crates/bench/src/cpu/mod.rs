//! `siding model calibrate` and `siding model check`: cycles of components on this machine, and how far predictions with them
//! are from measurements.
//!
//! - `formula`: `siding model formula`;
//! - `micro`: programs that are measured to find the cycles of components, one after the other;
//! - `mixed`: the same with many components at once;
//! - `predict`: `siding model cpu`;
//! - `subject`: one program, counted in the interpreter and measured in compiled code;
//! - `turns`: several programs measured by turns;
//! - `ways`: names of ways through a program.
//!
//! Fits and predictions are those of `model::cpu`.

mod formula;
mod micro;
mod mixed;
mod predict;
mod subject;
mod turns;
mod ways;

pub use self::formula::formula;
pub use self::predict::{Answer, Class, Question, Traffic, predict};

use self::micro::Micro;
use self::predict::label;
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
use model::cpu::formula::Curve;
use model::cpu::tables::{self, Latencies};
use model::cpu::{Component, Counts, Machine, Prediction, Profile};
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

/// Parts of the programs that are left out of the fit by turns.
const N_FOLDS: usize = 10;

/// Goals of `check`: half of the errors, and all.
const ERROR_MEDIAN_MAX: f64 = 0.10;
const ERROR_MAX: f64 = 0.25;

pub fn calibrate(args: &CalibrateArgs) -> Exit {
    calibrated(args).unwrap_or_else(|exit| exit)
}

fn calibrated(args: &CalibrateArgs) -> Result<Exit, Exit> {
    // Read before minutes of measuring.
    let earlier = args.compare.as_deref().map(read_profile).transpose()?;
    let profile = make(args.quick, args.state.as_deref(), &args.cc)?;
    let text = serde_json::to_string_pretty(&profile).unwrap_or_default() + "\n";
    output::replace_file(&args.output, text.as_bytes()).map_err(|error| {
        output::error_line(&format!("{}: {error}", args.output.display()));
        Exit::Environment
    })?;
    output::out(&match args.json {
        true => text,
        false => described(&profile, &args.output),
    });
    let Some(earlier) = earlier else { return Ok(Exit::Ok) };
    let differing = profile.disagreements(&earlier);
    for (now, then) in &differing {
        output::err(&format!(
            "`{}` takes {:.2} to {:.2} cycles, and {:.2} to {:.2} in the other profile\n",
            now.component.name(),
            now.ci95[0],
            now.ci95[1],
            then.ci95[0],
            then.ci95[1]
        ));
    }
    if differing.is_empty() {
        output::err("both profiles agree within their intervals\n");
    }
    Ok(if differing.is_empty() { Exit::Ok } else { Exit::Failed })
}

/// Measures the machine and all programs, and fits.
fn make(is_quick: bool, state: Option<&Path>, cc: &CcArgs) -> Result<Profile, Exit> {
    let compiling = Compiling::new(cc)?;
    let chase = harness::compile(CHASE, &[(CHASE, include_str!("../../c/model/chase.c"))], &compiling)?;
    let lines = harness::run(&chase, &[])?;
    let points = lines.iter().map(|line| (line.size as f64, line.cycles_min)).collect();
    let machine = machine(Latencies { points: ascending(points) }, &compiling);
    let n_mixed = if is_quick { N_MIXED_QUICK } else { N_MIXED };
    let (sizes, curve): (Vec<u32>, Vec<Micro>) = micro::curve(is_quick).into_iter().unzip();
    let programs: Vec<Micro> = micro::all(is_quick).into_iter().chain(mixed::all(n_mixed)).collect();
    let n_points = programs.len();
    let subjects: Vec<Subject> = programs
        .into_iter()
        .chain(curve)
        .enumerate()
        .map(|(i, micro)| Subject::new(&format!("micro{i}"), micro))
        .collect::<Result<_, Exit>>()?;
    let mut counted = Vec::new();
    for subject in &subjects[..n_points] {
        progress(&format!("counting {}/{n_points}: {}", counted.len() + 1, subject.title));
        let found = subject.count()?;
        let mut counts = found.work.total;
        tables::work(&found.tables, &machine.latencies).iter().for_each(|more| counts.add_scaled(more, 1.0));
        counted.push(counts);
    }
    let n_passes = if is_quick { N_PASSES_QUICK } else { N_PASSES };
    let turns = turns::measure(&subjects, n_passes, state, &machine.model, cc)?;
    let points: Vec<Point> = subjects
        .iter()
        .zip(counted)
        .zip(&turns.cycles)
        .map(|((subject, counts), cycles)| Point { name: subject.title.clone(), counts, cycles: *cycles })
        .collect();
    let components = fit::fit(&points);
    let residual = |known: &[Point], costs: &[fit::Cost], point: &Point| {
        fit::cycles(&fit::fit_near(known, costs, &point.counts), &point.counts) / point.cycles - 1.0
    };
    let all: Vec<f64> = points.iter().map(|point| residual(&points, &components, point)).collect();
    let mut held_out = Vec::new();
    for fold in 0..N_FOLDS {
        let (others, left): (Vec<_>, Vec<_>) =
            points.iter().cloned().enumerate().partition(|(i, _)| i % N_FOLDS != fold);
        let others: Vec<Point> = others.into_iter().map(|(_, point)| point).collect();
        let costs = fit::fit_once(&others);
        held_out.extend(left.iter().map(|(_, point)| residual(&others, &costs, point)));
    }
    let curve = Curve {
        key_bytes: micro::CURVE_KEY_BYTES,
        data_bytes: micro::CURVE_DATA_BYTES,
        points: sizes.iter().zip(&turns.cycles[n_points..]).map(|(n, c)| (f64::from(*n), *c)).collect(),
    };
    Ok(Profile {
        version: model::cpu::VERSION,
        siding: env!("CARGO_PKG_VERSION").to_owned(),
        made_at: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs()),
        machine,
        components,
        n_points: points.len(),
        rmse_relative: rmse(&all),
        held_out_relative: rmse(&held_out),
        drift: turns.drift,
        points,
        curve,
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
        let figures = match cost.is_told_apart {
            true => [cost.cycles, cost.ci95[0], cost.ci95[1]].map(|n| format!("{n:.2}")),
            false => ["not told apart".to_owned(), String::new(), String::new()],
        };
        let [cycles, from, to] = figures;
        rows.push(vec![label(cost.component), cycles, from, to, cost.n_points.to_string()]);
    }
    format!(
        "{}, {:.2} GHz\n\n{}\n{} programs; residuals {:.1} % of the cycles, {:.1} % where programs were left out of the fit; the two least medians of a program differ by {:.1} % or less.\n{} has it all.\n",
        profile.machine.model,
        profile.machine.tsc_ghz,
        report::aligned(&rows),
        profile.n_points,
        100.0 * profile.rmse_relative,
        100.0 * profile.held_out_relative,
        100.0 * profile.drift,
        path.display(),
    )
}

/// Reads a profile.
pub fn read_profile(path: &Path) -> Result<Profile, Exit> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        let hint = match error.kind() {
            std::io::ErrorKind::NotFound => "; `siding model calibrate` makes one",
            std::io::ErrorKind::IsADirectory => {
                "; `--profile` wants the file that `siding model calibrate` has written"
            }
            std::io::ErrorKind::InvalidData => "; this is no profile of `siding model calibrate`",
            _ => "",
        };
        output::error_line(&format!("{}: {error}{hint}", path.display()));
        Exit::Environment
    })?;
    Profile::parse(&text).map_err(|error| {
        output::error_line(&format!("{}: {error}", path.display()));
        Exit::Usage
    })
}

/// Most stations of the held-out `l2`.
const L2_SIZE_MAX: u32 = 1_000_000;

/// `l2` with room for as many stations.
fn l2_text() -> String {
    include_str!("../../peers/l2.p4").replace("size = 131072;", &format!("size = {L2_SIZE_MAX};"))
}

/// Programs that no profile is made from.
fn held_out(is_quick: bool) -> Vec<Micro> {
    let sizes: &[u32] = if is_quick { &[10, 1000, 100_000] } else { &[10, 100_000, L2_SIZE_MAX] };
    let l2 = sizes.iter().map(|size| Micro {
        name: format!("l2, {}", report::short(u64::from(*size))),
        text: l2_text(),
        scene: scenes::l2(*size),
    });
    let others = programs::held_out().into_iter();
    l2.chain(others.map(|(name, text, scene)| Micro { name: name.to_owned(), text: text.to_owned(), scene }))
        .collect()
}

/// Two simple models that a prediction has to be better than.
struct Yardsticks {
    /// Cycles of a program without lookups, and of each lookup.
    line: (f64, f64),
    /// Mean cycles of all programs.
    mean: f64,
}

impl Yardsticks {
    fn new(points: &[Point]) -> Yardsticks {
        let n = points.len().max(1) as f64;
        let mean = points.iter().map(|point| point.cycles).sum::<f64>() / n;
        let mean_lookups = points.iter().map(|point| n_lookups(&point.counts)).sum::<f64>() / n;
        let (mut both, mut square) = (0.0, 0.0);
        for point in points {
            let distance = n_lookups(&point.counts) - mean_lookups;
            both += distance * (point.cycles - mean);
            square += distance * distance;
        }
        let slope = if square > 0.0 { both / square } else { 0.0 };
        Yardsticks { line: (mean - slope * mean_lookups, slope), mean }
    }

    fn by_lookups(&self, counts: &Counts) -> f64 {
        self.line.0 + self.line.1 * n_lookups(counts)
    }
}

fn n_lookups(counts: &Counts) -> f64 {
    Component::LOOKUPS.iter().map(|component| counts[*component]).sum()
}

pub fn check(args: &ModelCheckArgs) -> Exit {
    checked(args).unwrap_or_else(|exit| exit)
}

fn checked(args: &ModelCheckArgs) -> Result<Exit, Exit> {
    let given = args.profile.as_deref().map(read_profile).transpose()?;
    let subjects: Vec<Subject> = held_out(args.quick)
        .into_iter()
        .enumerate()
        .map(|(i, program)| Subject::new(&format!("held_out{i}"), program))
        .collect::<Result<_, Exit>>()?;
    // A program that cannot be counted shows before minutes of calibration.
    let mut counted = Vec::new();
    for subject in &subjects {
        progress(&format!("{}: counting", subject.title));
        counted.push(subject.count()?);
    }
    let profile = match given {
        Some(profile) => profile,
        None => make(args.quick, None, &args.cc)?,
    };
    let predicted: Vec<Prediction> =
        counted.iter().map(|counted| profile.predict(&counted.work, &counted.tables)).collect();
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
    let n_passes = if args.quick { N_PASSES_QUICK } else { N_PASSES };
    let turns = turns::measure(&subjects, n_passes, None, &profile.machine.model, &args.cc)?;
    let yardsticks = Yardsticks::new(&profile.points);
    let head = ["program", "predicted", "measured", "error", "by lookups", "by the mean"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
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
            format!("{:+.1} %", 100.0 * (yardsticks.by_lookups(&prediction.counts) / cycles - 1.0)),
            format!("{:+.1} %", 100.0 * (yardsticks.mean / cycles - 1.0)),
        ]);
        lines.push(json!({
            "program": subject.title, "predicted": report::rounded(prediction.cycles),
            "measured": report::rounded(*cycles), "error": report::rounded(error), "counts": prediction.counts,
            "by_lookups": report::rounded(yardsticks.by_lookups(&prediction.counts)), "by_mean": report::rounded(yardsticks.mean),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn held_out_programs_have_room_for_their_entries() {
        let largest = held_out(false).into_iter().nth(2).unwrap();
        assert!(largest.scene.entries.lines().count() as u32 == 2 * L2_SIZE_MAX);
        let loaded = programs::load("l2", &largest.text).unwrap();
        let sizes: Vec<Option<u64>> =
            loaded.runnable.program.tables.iter().map(|(_, table)| table.size).collect();
        assert_eq!(sizes, [Some(u64::from(L2_SIZE_MAX)); 2]);
    }
}
