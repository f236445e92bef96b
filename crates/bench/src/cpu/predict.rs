//! `siding model cpu`: what a program's packets would cost on a core, before anything is compiled.

use super::subject::{Counted, Subject};
use super::ways::name_shares;
use crate::report;
use console::Loaded;
use console::output::Exit;
use control::{Schema, Update};
use diagnostics::SourceMap;
use model::cpu::{Component, Prediction, Profile};
use serde_json::{Value, json};
use std::sync::Arc;

/// Lines of a program that are shown.
const N_LINES: usize = 8;

/// A question about a program.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// Entries of tables by the ends of their names, in the place of those that they have; packets come to all of them.
    pub entries: Vec<(String, u64)>,
    /// Sizes of the table of each row of a grid.
    pub what_if: Vec<(String, Vec<u64>)>,
    /// Shares of ways, in place of what packets do; they apply to all packets alike.
    pub shares: Vec<(String, f64)>,
    pub cores: Vec<u32>,
    /// Cycles of a second; `None`: as on the machine of the profile.
    pub ghz: Option<f64>,
}

/// A program, and what its packets would cost.
pub struct Answer {
    program: String,
    profile: Profile,
    counted: Counted,
    prediction: Prediction,
    what_if: Vec<(String, u64, f64)>,
    cores: Vec<u32>,
    ghz: f64,
    sources: Arc<SourceMap>,
    n_packets: usize,
    classes: Vec<Class>,
    has_named_shares: bool,
}

/// Packets that go the same way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Class {
    pub cycles: f64,
    /// Share of all packets.
    pub share: f64,
}

/// Entries of a program, and packets with the ports that they come in by.
pub type Traffic = (Vec<Update>, Vec<(u32, Vec<u8>)>);

/// Why there is no answer: a sentence about the question.
pub type Misunderstood = String;

/// Predicts the cycles of a program's packets. `updates` are its entries, `packets` go their way through the interpreter; without
/// any all ways have equal shares.
pub fn predict(
    name: &str,
    loaded: Loaded,
    schema: Arc<Schema>,
    traffic: Traffic,
    profile: Profile,
    question: &Question,
) -> Result<Result<Answer, Misunderstood>, Exit> {
    let (sources, n_packets) = (Arc::clone(&loaded.sources), traffic.1.len());
    let subject = Subject::of(name, loaded, schema, traffic);
    let mut observed = subject.observe()?;
    let line = |span| sources.locate(span).map(|location| location.line);
    if let Err(sentence) = name_shares(&mut observed.all, subject.program(), &line, &question.shares) {
        return Ok(Err(sentence));
    }
    let mut counted = subject.work_of(&observed, &observed.all)?;
    let mut sizes = Vec::new();
    for (wanted, n) in &question.entries {
        match find(&counted, wanted) {
            Ok(i) if sizes.iter().any(|(known, other)| *known == i && other != n) => {
                return Ok(Err(format!("--entries gives `{wanted}` two sizes")));
            }
            Ok(i) => sizes.push((i, *n)),
            Err(sentence) => return Ok(Err(format!("--entries {wanted}: {sentence}"))),
        }
    }
    sizes.iter().for_each(|(i, n)| set_entries(&mut counted, *i, *n));
    let prediction = profile.predict(&counted.work, &counted.tables);
    // Shares that were named are of packets in the mean.
    let has_classes = n_packets > 0 && question.shares.is_empty();
    let mut classes = Vec::new();
    for (decisions, n) in observed.ways.iter().filter(|_| has_classes) {
        let mut one = subject.work_of(&observed, decisions)?;
        sizes.iter().for_each(|(i, n)| set_entries(&mut one, *i, *n));
        let cycles = profile.predict_with(prediction.costs.clone(), &one.work, &one.tables).cycles;
        classes.push(Class { cycles, share: *n as f64 / n_packets as f64 });
    }
    // The processor foresees branches of a single way; surprises of the mix are those of all packets alike.
    let mean: f64 = classes.iter().map(|class| class.cycles * class.share).sum();
    classes.iter_mut().for_each(|class| class.cycles += prediction.cycles - mean);
    classes.sort_by(|one, other| one.cycles.total_cmp(&other.cycles));
    let mut what_if = Vec::new();
    for (wanted, sizes) in &question.what_if {
        let i = match find(&counted, wanted) {
            Ok(i) => i,
            Err(sentence) => return Ok(Err(format!("--what-if {wanted}: {sentence}"))),
        };
        for n in sizes {
            let mut other = Counted { work: counted.work.clone(), tables: counted.tables.clone() };
            set_entries(&mut other, i, *n);
            let cycles = profile.predict(&other.work, &other.tables).cycles;
            what_if.push((counted.tables[i].name.clone(), *n, cycles));
        }
    }
    let ghz = question.ghz.unwrap_or(profile.machine.tsc_ghz);
    let cores = if question.cores.is_empty() { vec![1] } else { question.cores.clone() };
    Ok(Ok(Answer {
        program: name.to_owned(),
        profile,
        counted,
        prediction,
        what_if,
        cores,
        ghz,
        sources,
        n_packets,
        classes,
        has_named_shares: !question.shares.is_empty(),
    }))
}

fn set_entries(counted: &mut Counted, table: usize, n: u64) {
    let table = &mut counted.tables[table];
    // Prefixes that are not known are told apart one level below the root.
    if table.n_entries == 0 {
        table.n_levels = 1.0;
    }
    (table.n_entries, table.n_touched) = (n, n);
    table.n_masks = table.n_masks.max(1);
}

/// The table of this name, or the only one whose name ends so.
fn find(counted: &Counted, wanted: &str) -> Result<usize, String> {
    let is_it =
        |name: &str| name == wanted || name.strip_suffix(wanted).is_some_and(|rest| rest.ends_with('.'));
    let found: Vec<usize> =
        counted.tables.iter().enumerate().filter(|(_, table)| is_it(&table.name)).map(|(i, _)| i).collect();
    let names = || counted.tables.iter().map(|table| table.name.as_str()).collect::<Vec<_>>().join(", ");
    match found.as_slice() {
        [one] => Ok(*one),
        [] if counted.tables.is_empty() => Err("the program has no tables".to_owned()),
        [] => Err(format!("there is no such table; the program has {}", names())),
        _ => Err(format!("several tables end so; the program has {}", names())),
    }
}

impl Answer {
    /// Packets by what they cost, the cheapest first; empty if no packets were given, or if shares were named.
    pub fn classes(&self) -> &[Class] {
        &self.classes
    }

    /// Cycles of a packet in the mean.
    pub fn cycles(&self) -> f64 {
        self.prediction.cycles
    }

    /// Cycles of a nanosecond.
    pub fn ghz(&self) -> f64 {
        self.ghz
    }

    pub fn machine(&self) -> &str {
        &self.profile.machine.model
    }

    fn mpps(&self, cycles: f64, n_cores: u32) -> f64 {
        self.ghz * 1e3 / cycles.max(1e-9) * f64::from(n_cores)
    }

    /// Lines of the program with their cycles, the most first; lookups are not in them.
    fn lines(&self) -> Vec<(u32, f64)> {
        let mut lines = std::collections::BTreeMap::<u32, f64>::new();
        for (span, counts) in &self.counted.work.places {
            if let Some(location) = self.sources.locate(*span) {
                *lines.entry(location.line).or_default() +=
                    model::cpu::fit::cycles(&self.prediction.costs, counts);
            }
        }
        let mut lines: Vec<(u32, f64)> = lines.into_iter().filter(|(_, cycles)| *cycles > 0.0).collect();
        lines.sort_by(|one, other| other.1.total_cmp(&one.1));
        lines.truncate(N_LINES);
        lines
    }

    /// Sentences about what the prediction does not know.
    fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.n_packets == 0 {
            warnings
                .push("no packets were given: all ways have equal shares, and all lookups hit".to_owned());
        }
        if self.has_named_shares && self.n_packets > 0 {
            warnings.push(
                "shares were named, so that the cycles of each way of packets are not known".to_owned(),
            );
        }
        if !self.prediction.unknown.is_empty() {
            let names: Vec<&str> = self.prediction.unknown.iter().map(|component| component.name()).collect();
            warnings
                .push(format!("the profile has no cycles for {}, which count as nothing", names.join(", ")));
        }
        let is_hidden = |(component, _, _): &&(Component, f64, f64)| self.profile.cost(*component).is_none();
        if self.prediction.components.iter().any(|row| is_hidden(&row)) {
            warnings.push(
                "rows without cycles are of components that the profile does not tell apart; the sum has them".to_owned(),
            );
        }
        if self.cores.iter().any(|n| *n > 1) {
            warnings.push(
                "several cores are taken to be as fast as one each: they share caches and memory".to_owned(),
            );
        }
        warnings
    }

    pub fn json(&self) -> Value {
        let rounded = report::rounded;
        let components = self.prediction.components.iter().map(|(component, n, cycles)| {
            let cycles = self.profile.cost(*component).map(|_| rounded(*cycles));
            json!({ "component": component, "per_packet": rounded(*n), "cycles": cycles })
        });
        let tables = self.counted.tables.iter().zip(&self.prediction.tables).map(|(table, cycles)| {
            json!({
                "table": table.name, "lookups": rounded(table.lookups), "entries": table.n_entries,
                "working_set_bytes": table.working_set().round(), "cycles": rounded(*cycles),
            })
        });
        let lines = self.lines();
        let lines = lines.iter().map(|(line, cycles)| json!({ "line": line, "cycles": rounded(*cycles) }));
        let cores = self
            .cores
            .iter()
            .map(|n| json!({ "cores": n, "mpps": rounded(self.mpps(self.prediction.cycles, *n)) }));
        let what_if = self.what_if.iter().map(|(table, n, cycles)| {
            json!({ "table": table, "entries": n, "cycles": rounded(*cycles), "mpps": rounded(self.mpps(*cycles, 1)) })
        });
        let classes = self
            .classes
            .iter()
            .map(|class| json!({ "cycles": rounded(class.cycles), "share": report::share(class.share) }));
        let [low, high] = self.prediction.ci95;
        json!({
            "version": 1, "program": self.program, "machine": self.profile.machine.model, "ghz": self.ghz,
            "cycles": { "value": rounded(self.prediction.cycles), "lo": rounded(low), "hi": rounded(high) },
            "components": components.collect::<Vec<_>>(), "tables": tables.collect::<Vec<_>>(),
            "lines": lines.collect::<Vec<_>>(), "classes": classes.collect::<Vec<_>>(), "cores": cores.collect::<Vec<_>>(),
            "what_if": what_if.collect::<Vec<_>>(), "warnings": self.warnings(),
        })
    }

    pub fn text(&self) -> String {
        let prediction = &self.prediction;
        let share = |cycles: f64| format!("{:.0} %", 100.0 * cycles / prediction.cycles.max(1e-9));
        // A component that the profile does not tell apart has no figure of its own.
        let told = |component: Component, figure: String| match self.profile.cost(component) {
            Some(_) => figure,
            None => "-".to_owned(),
        };
        let [low, high] = prediction.ci95;
        let mut text = format!(
            "{}: {:.0} cycles a packet ({low:.0} to {high:.0}) on {}, {:.2} GHz\n\n",
            self.program, prediction.cycles, self.profile.machine.model, self.ghz
        );
        let mut rows = vec![["component", "per packet", "cycles", "share"].map(str::to_owned).to_vec()];
        for (component, n, cycles) in &prediction.components {
            let figures = [format!("{cycles:.1}"), share(*cycles)].map(|figure| told(*component, figure));
            rows.push([label(*component), format!("{n:.2}")].into_iter().chain(figures).collect());
        }
        text += &report::aligned(&rows);
        let used =
            || self.counted.tables.iter().zip(&prediction.tables).filter(|(table, _)| table.lookups > 0.0);
        if used().next().is_some() {
            let head = ["table", "structure", "entries", "working set", "lookups", "cycles", "share"];
            let mut rows = vec![head.map(str::to_owned).to_vec()];
            for (table, cycles) in used() {
                rows.push(vec![
                    table.name.clone(),
                    format!("{:?}", table.structure).to_lowercase(),
                    report::short(table.n_entries),
                    bytes(table.working_set()),
                    format!("{:.2}", table.lookups),
                    format!("{cycles:.1}"),
                    share(*cycles),
                ]);
            }
            text += &format!("\n{}", report::aligned(&rows));
        }
        let lines = self.lines();
        if !lines.is_empty() {
            let mut rows = vec![["line", "cycles"].map(str::to_owned).to_vec()];
            rows.extend(lines.iter().map(|(line, cycles)| vec![line.to_string(), format!("{cycles:.1}")]));
            text += &format!("\n{}", report::aligned(&rows));
        }
        if let [first, .., last] = self.classes.as_slice() {
            text += &format!(
                "\n{} ways of packets, of {:.0} to {:.0} cycles\n",
                self.classes.len(),
                first.cycles,
                last.cycles
            );
        }
        text.push('\n');
        for n in &self.cores {
            let cores = if *n == 1 { "1 core".to_owned() } else { format!("{n} cores") };
            text += &format!("{:.2} million packets a second on {cores}\n", self.mpps(prediction.cycles, *n));
        }
        if !self.what_if.is_empty() {
            let mut rows = vec![["table", "entries", "cycles", "M/s"].map(str::to_owned).to_vec()];
            rows.extend(self.what_if.iter().map(|(table, n, cycles)| {
                vec![
                    table.clone(),
                    report::short(*n),
                    format!("{cycles:.0}"),
                    format!("{:.2}", self.mpps(*cycles, 1)),
                ]
            }));
            text += &format!("\n{}", report::aligned(&rows));
        }
        for warning in self.warnings() {
            text += &format!("\nnote: {warning}\n");
        }
        text
    }
}

pub(super) fn label(component: Component) -> String {
    component.name().replace('_', " ")
}

fn bytes(n: f64) -> String {
    match n {
        n if n >= 1024.0 * 1024.0 => format!("{:.1} MiB", n / 1024.0 / 1024.0),
        n if n >= 1024.0 => format!("{:.0} KiB", n / 1024.0),
        n => format!("{n:.0} B"),
    }
}
