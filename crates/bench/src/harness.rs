//! Parts shared by benchmarks of the fast path: executables of our own, peers, and how a report is made.

use crate::args::MeasureArgs;
use crate::chart::{self, Chart, Series};
use crate::report::{self, Line};
use console::compiling::{self, Compiling};
use console::output::{self, Exit};
use native::executable::{self, Texts};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Where peers are, when the variable `SIDING_PEERS` does not say it.
const PEERS: &str = "target/peers";

/// Files that every executable may include: path and text.
pub const SHARED: [(&str, &str); 2] = [
    ("crates/bench/peers/workload.h", include_str!("../peers/workload.h")),
    ("crates/bench/c/ceiling/ceiling.h", include_str!("../c/ceiling/ceiling.h")),
];

/// Include paths of these files.
const INCLUDES: [&str; 2] = ["-Icrates/bench/peers", "-Icrates/bench/c/ceiling"];

impl MeasureArgs {
    pub fn n_runs(&self) -> u32 {
        self.runs.unwrap_or(if self.quick { 5 } else { 9 })
    }
}

/// Compiles a program of ours and the files that it includes.
pub fn compile(main: &str, files: &[(&str, &str)], compiling: &Compiling) -> Result<PathBuf, Exit> {
    let texts = Texts { main, files: files.iter().chain(&SHARED).copied().collect() };
    let mut options = compiling.options.clone();
    options.program_flags.extend(INCLUDES.map(str::to_owned));
    let built = executable::executable(&texts, &options)
        .map_err(|error| compiling::show(&error.into(), compiling))?;
    Ok(built.path)
}

/// Runs a program of ours.
pub fn run(program: &std::path::Path, args: &[String]) -> Result<Vec<Line>, Exit> {
    let lines = executable::run(program, args).map_err(|error| {
        output::error_line(&error.to_string());
        Exit::Failed
    })?;
    report::parse(&lines).map_err(|error| {
        output::error_line(&format!("internal bug: {error}"));
        Exit::Bug
    })
}

/// Runs a peer and returns its lines, or the reason why it could not be measured.
pub fn run_peer(name: &str, args: &[String]) -> Result<Vec<Line>, String> {
    let dir = std::env::var_os("SIDING_PEERS").filter(|dir| !dir.is_empty());
    let path = dir.map_or_else(|| PathBuf::from(PEERS), PathBuf::from).join(format!("peer-{name}"));
    if !path.is_file() {
        return Err(format!(
            "{name} is not measured: there is no {}; crates/bench/peers/build.sh makes it where the project is installed",
            path.display()
        ));
    }
    // The last line of its output has the reason.
    let reason = |error: executable::RunError| {
        let text = error.to_string();
        format!("{name} is not measured: {}", text.lines().last().unwrap_or_default())
    };
    let lines = executable::run(&path, args).map_err(reason)?;
    report::parse(&lines).map_err(|error| format!("{name} is not measured: {error}"))
}

/// A comparison that there is a goal for.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    pub name: String,
    pub size: u64,
    pub value: f64,
    pub goal: Goal,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    AtMost(f64),
    AtLeast(f64),
}

impl Judged {
    pub fn is_met(&self) -> bool {
        match self.goal {
            Goal::AtMost(limit) => self.value <= limit,
            Goal::AtLeast(limit) => self.value >= limit,
        }
    }

    pub fn json(&self) -> Value {
        let (key, limit) = match self.goal {
            Goal::AtMost(limit) => ("at_most", limit),
            Goal::AtLeast(limit) => ("at_least", limit),
        };
        let value = report::rounded(self.value);
        json!({ "name": self.name, "size": self.size, "value": value, key: limit, "met": self.is_met() })
    }

    pub fn cells(&self) -> Vec<String> {
        let goal = match self.goal {
            Goal::AtMost(limit) => format!("at most {limit}"),
            Goal::AtLeast(limit) => format!("at least {limit}"),
        };
        let verdict = if self.is_met() { "met" } else { "missed" };
        vec![
            self.name.clone(),
            report::short(self.size),
            format!("{:.2}", self.value),
            goal,
            verdict.to_owned(),
        ]
    }
}

/// Results of a benchmark.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub title: String,
    /// Unit of sizes: entries, routes, rules.
    pub size_is: &'static str,
    pub lines: Vec<Line>,
    /// Ratios as lists over sizes, by name.
    pub ratios: Vec<(String, Vec<(u64, f64)>)>,
    pub goals: Vec<Judged>,
    /// Sentences about what was not measured.
    pub absent: Vec<String>,
    /// Sentences that say how figures and goals are to be read.
    pub notes: Vec<String>,
    pub upwards: Upwards,
}

/// Vertical axis of a chart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Upwards {
    #[default]
    Cycles,
    /// Millions a second.
    Rate,
    /// `dropped`, in percent.
    Dropped,
}

impl Report {
    /// A ratio of all sizes that have one, and its goal.
    pub fn judge(&mut self, name: &str, values: Vec<(u64, f64)>, goal: Goal) {
        if values.is_empty() {
            return;
        }
        let judged = |&(size, value): &(u64, f64)| Judged { name: name.to_owned(), size, value, goal };
        self.goals.extend(values.iter().map(judged));
        self.ratios.push((name.to_owned(), values));
    }

    pub fn json(&self, work: &str, args: &MeasureArgs) -> Value {
        let mut value = json!({
            "version": 1,
            "siding": env!("CARGO_PKG_VERSION"),
            "optimise": args.cc.optimise,
            "work": work,
            "quick": args.quick,
            "runs": args.n_runs(),
            "goals": self.goals.iter().map(Judged::json).collect::<Vec<_>>(),
            "absent": self.absent,
            "notes": self.notes,
            "isolated_cores": isolated_cores(),
            "lines": self.lines.iter().map(|line| line.all.clone()).collect::<Vec<_>>(),
        });
        for (name, values) in &self.ratios {
            value[name] = values.iter().map(|(_, ratio)| report::rounded(*ratio)).collect();
            value[format!("{name}_sizes")] = values.iter().map(|(size, _)| *size).collect();
        }
        value
    }

    pub fn text(&self) -> String {
        let shows_drops = self.upwards == Upwards::Dropped;
        let head = ["peer", "work", self.size_is, "cycles", "least", "M/s", "spread"];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        if shows_drops {
            rows[0].extend(["dropped", "expected"].map(str::to_owned));
        }
        for line in &self.lines {
            let further =
                ["path", "mix", "set"].map(|key| line.word(key)).into_iter().find(|word| !word.is_empty());
            let packets = match line.n_packets() {
                0 => String::new(),
                n => format!(" {} packets", report::short(n)),
            };
            let most = line.number("cycles_max").unwrap_or(line.cycles);
            rows.push(vec![
                further.map_or_else(|| line.peer.clone(), |word| format!("{} ({word})", line.peer)),
                format!("{}{packets}", line.work),
                report::short(line.size),
                format!("{:.1}", line.cycles),
                format!("{:.1}", line.cycles_min),
                format!("{:.2}", line.number("mpps").unwrap_or(0.0)),
                format!("{:.0} %", (most - line.cycles_min) / line.cycles.abs() * 100.0),
            ]);
            if shows_drops {
                let percent = |key| format!("{:.1} %", line.number(key).unwrap_or(0.0) * 100.0);
                rows.last_mut().into_iter().for_each(|row| row.extend(["dropped", "expected"].map(percent)));
            }
        }
        let mut text = format!("{}\n\n{}", self.title, report::aligned(&rows));
        if !self.goals.is_empty() {
            let head = ["goal", self.size_is, "value", "wanted", ""].map(str::to_owned).to_vec();
            let rows: Vec<_> = std::iter::once(head).chain(self.goals.iter().map(Judged::cells)).collect();
            text += &format!("\n{}", report::aligned(&rows));
        }
        for sentence in &self.absent {
            text += &format!("\n{sentence}");
        }
        for sentence in &self.notes {
            text += &format!("\n{sentence}");
        }
        if !self.absent.is_empty() || !self.notes.is_empty() {
            text.push('\n');
        }
        text
    }

    /// Writes it where it is wanted; lines of a chart are one for each peer, work and word under `key`.
    pub fn show(&self, work: &str, key: &str, args: &MeasureArgs) -> Result<(), Exit> {
        match args.json {
            true => output::out(&format!("{}\n", self.json(work, args))),
            false => {
                let shared = shared_cores().map(|sentence| format!("\n{sentence}\n")).unwrap_or_default();
                output::out(&(self.text() + &shared));
            }
        }
        args.svg.as_deref().map_or(Ok(()), |path| draw(path, &self.chart(key)))
    }

    fn chart(&self, key: &str) -> Chart {
        let mut series: Vec<Series> = Vec::new();
        for line in &self.lines {
            let packets = match line.n_packets() {
                0 => String::new(),
                n => format!(", {} packets", report::short(n)),
            };
            let word = line.word(key);
            let name = format!(
                "{} {}{}{word}{packets}",
                line.peer,
                line.work,
                if word.is_empty() { "" } else { ", " }
            );
            let value = match self.upwards {
                Upwards::Cycles => Some(line.cycles),
                Upwards::Rate => line.number("mpps"),
                Upwards::Dropped => line.number("dropped").map(|share| share * 100.0),
            };
            let Some(value) = value else { continue };
            let point = (line.size.max(1) as f64, value);
            match series.iter_mut().find(|s| s.name == name) {
                Some(series) => series.points.push(point),
                None => series.push(Series { name, points: vec![point], ..Series::default() }),
            }
        }
        // A title that names the unit of the figures names it for the table; the axis has its own.
        let (title, unit) = match self.title.split_once(", TSC cycles") {
            Some((title, rest)) => (title.to_owned(), format!("TSC cycles{rest}")),
            None => (self.title.clone(), "TSC cycles".to_owned()),
        };
        let y = match self.upwards {
            Upwards::Cycles => unit,
            Upwards::Rate => "million packets a second".to_owned(),
            Upwards::Dropped => "percent dropped".to_owned(),
        };
        let x = self.size_is.to_string();
        let notes = shared_cores().into_iter().chain(self.notes.iter().cloned()).collect();
        Chart { title, x, y, series, notes, ..Chart::default() }
    }
}

/// The cores that Linux keeps other processes from, as it writes them; empty when there are none.
fn isolated_cores() -> String {
    std::fs::read_to_string("/sys/devices/system/cpu/isolated").unwrap_or_default().trim().to_owned()
}

/// The warning that cores are shared with other processes.
fn shared_cores() -> Option<String> {
    isolated_cores().is_empty().then(|| {
        "The cores are not isolated: figures are not comparable with those of other runs, only ratios within this run."
            .to_owned()
    })
}

/// Draws a chart to a file.
pub fn draw(path: &Path, chart: &Chart) -> Result<(), Exit> {
    output::replace_file(path, chart::svg(chart).as_bytes()).map_err(|error| {
        output::error_line(&format!("cannot write {}: {error}", path.display()));
        Exit::Environment
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_are_judged() {
        let judged = |value, goal| Judged { name: "r".to_owned(), size: 10, value, goal }.is_met();
        assert!(judged(1.5, Goal::AtMost(1.5)) && !judged(1.51, Goal::AtMost(1.5)));
        assert!(judged(4.0, Goal::AtLeast(4.0)) && !judged(3.9, Goal::AtLeast(4.0)));
        assert!(!judged(f64::NAN, Goal::AtMost(1.0)));
    }

    #[test]
    fn ratios_are_lists_over_the_sizes() {
        let mut report = Report { size_is: "entries", ..Report::default() };
        report.judge("ratio_to_ceiling", vec![(10, 1.2345), (1000, 2.0)], Goal::AtMost(1.5));
        report.judge("ratio_to_none", Vec::new(), Goal::AtMost(1.0));
        report.absent.push("x is not measured".to_owned());
        let args = MeasureArgs {
            quick: true,
            runs: None,
            svg: None,
            json: true,
            cc: console::CcArgs {
                optimise: 3,
                cc: None,
                cflags: Vec::new(),
                portable: false,
                no_cache: false,
            },
        };
        let value = report.json("l2", &args);
        assert_eq!(value["ratio_to_ceiling"], json!([1.23, 2.0]));
        assert_eq!(value["ratio_to_ceiling_sizes"], json!([10, 1000]));
        assert!(value.get("ratio_to_none").is_none());
        assert_eq!(value["goals"][0]["met"], json!(true));
        assert_eq!(value["goals"][1]["met"], json!(false));
        assert!(report.text().contains("missed") && report.text().ends_with("x is not measured\n"));
    }
}
