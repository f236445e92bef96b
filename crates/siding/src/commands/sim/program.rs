//! `siding sim prog.p4`: what of a program is stateful, said in words and simulated.

use super::grid::{Frame, Point, grid, mixes, usage};
use super::output::{heading, number, points_json, run_json, tables};
use super::paths::Shares;
use super::sweep::Sweep;
use super::traffic::{Problem, Survey, Traffic};
use crate::cli::{PolicyArg, SimArgs};
use crate::output::Exit;
use crate::program::Analysable;
use diagnostics::{SourceMap, Span};
use hazard::Action;
use hazard::program::{
    Analysis, AtomicBlock, Codelet, CodeletKind, Costs, NoAtom, OperationId, Part, analyse,
};
use hazard::traffic::Key;
use serde_json::{Value, json};
use std::fmt::Write;

/// A program and what was found in it.
pub struct Explained<'a> {
    pub analysis: Analysis,
    sources: &'a SourceMap,
    program: String,
    costs: Costs,
    shares: Shares,
}

pub fn costs(args: &SimArgs) -> Result<Costs, Problem> {
    let Some(path) = &args.costs else { return Ok(Costs::default()) };
    let at = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = std::fs::read_to_string(path).map_err(|e| (at(&e), Exit::Environment))?;
    Costs::parse(&text).map_err(|e| (at(&e), Exit::Usage))
}

impl<'a> Explained<'a> {
    pub fn new(loaded: &'a Analysable, args: &SimArgs, costs: Costs) -> Result<Explained<'a>, Problem> {
        let analysis = analyse(&loaded.program, &costs).map_err(|e| (e.to_string(), Exit::Environment))?;
        let program = args.program.as_ref().map_or(String::new(), |path| path.display().to_string());
        let line = |span: Span| loaded.sources.locate(span).map(|location| location.line);
        let shares = Shares::new(&analysis, &line, &args.path_share)?;
        Ok(Explained { analysis, sources: &loaded.sources, program, costs, shares })
    }

    fn line(&self, span: Span) -> Option<u32> {
        self.sources.locate(span).map(|location| location.line)
    }

    /// `add (line 40)`.
    fn step(&self, id: OperationId) -> String {
        let Some(operation) = self.analysis.operations.get(id) else { return String::new() };
        let place = self.line(operation.span).map_or(String::new(), |line| format!(" (line {line})"));
        let cycles =
            if operation.cycles > 1 { format!(", {} cycles", operation.cycles) } else { String::new() };
        format!("{}{place}{cycles}", operation.kind.name())
    }

    /// Steps that cost something.
    fn steps(&self, codelet: &Codelet) -> Vec<String> {
        codelet.steps.iter().filter(|step| step.cycles > 0).map(|step| self.step(step.operation)).collect()
    }

    fn no_atom(&self, reason: NoAtom) -> String {
        match reason {
            NoAtom::Operation { operation } => {
                let name = self.analysis.operations.get(operation).map_or("", |o| o.kind.name());
                format!(
                    "{} is between the read and the write, and no atom has a `{name}`",
                    self.step(operation)
                )
            }
            NoAtom::Arithmetic { n } => {
                format!("{n} operations in a row between the read and the write, and atoms have one")
            }
            NoAtom::Conditions { n } => format!("{n} conditions in a row, and atoms have two at most"),
            NoAtom::Table => "atoms are for values, not for entries of tables".to_string(),
            NoAtom::States { n } => format!("{n} values depend on each other, and atoms have two at most"),
        }
    }

    fn words(&self, codelet: &Codelet) -> String {
        let names: Vec<&str> = codelet.objects.iter().map(|(_, name)| name.as_str()).collect();
        let place = self.line(codelet.span).map_or(String::new(), |line| format!(":{line}"));
        let mut text = format!("{} ({}{place})\n", names.join(", "), self.program);
        let what = match codelet.kind {
            CodeletKind::ReadOnly => "only read: packets do not meet",
            CodeletKind::WriteOnly => "only written: the last packet wins",
            CodeletKind::ReadModifyWrite if codelet.objects.len() > 1 && codelet.parts.is_empty() => {
                "read and written; what is written to one depends on what was read from the others, so they are one action"
            }
            CodeletKind::ReadModifyWrite => "read and written",
            CodeletKind::AddOnMiss => {
                "looked up, and what is not found is added: until then the next packet of the same key does not find it either"
            }
            CodeletKind::BuiltIn => "counted or metered by the architecture, in a block of its own",
        };
        let _ = writeln!(text, "  state   {what}");
        if !codelet.parts.is_empty() {
            let _ = writeln!(text, "  atomic  {}", self.atomic_words(codelet));
        }
        let _ = writeln!(text, "  key     {}", key_words(codelet));
        let steps = self.steps(codelet);
        let steps = if steps.is_empty() { "nothing but memory".to_string() } else { steps.join(", ") };
        let _ = writeln!(text, "  from the read to the write: {}: {steps}", plural(codelet.cycles));
        let _ = writeln!(text, "  atoms   {}", self.atom_words(codelet));
        if codelet.cycles > 1 {
            text.push_str(&self.shares.words(&self.analysis, codelet));
        }
        text
    }

    fn atomic_blocks<'c>(&'c self, codelet: &'c Codelet) -> impl Iterator<Item = &'c AtomicBlock> {
        codelet.atomic.iter().filter_map(|block| self.analysis.atomic_blocks.get(*block))
    }

    fn atomic_words(&self, codelet: &Codelet) -> String {
        let blocks: Vec<String> = self
            .atomic_blocks(codelet)
            .map(|block| {
                let place = self.line(block.span).map_or(String::new(), |line| format!(" (line {line})"));
                format!("`{}`{place}", block.name)
            })
            .collect();
        let parts: Vec<String> = codelet
            .parts
            .iter()
            .map(|part| {
                let names: Vec<&str> = part.objects.iter().map(|(_, name)| name.as_str()).collect();
                format!("{} ({})", names.join(" and "), plural(part.cycles))
            })
            .collect();
        format!(
            "held together by `@atomic` {}, from the first read to the last write;\n          apart it would be {} \
             actions: {}",
            blocks.join(" and "),
            parts.len(),
            parts.join(", ")
        )
    }

    fn atom_words(&self, codelet: &Codelet) -> String {
        match (codelet.kind, codelet.atom) {
            (CodeletKind::ReadOnly | CodeletKind::BuiltIn, _) => "runs at line rate".to_string(),
            (_, Ok(atom)) if !codelet.parts.is_empty() => format!(
                "{atom} for each part: runs at line rate on a chip with such atoms; packets keep their order in a \
                 pipeline,\n          so that parts one behind the other are as good as one step"
            ),
            (_, Ok(atom)) => {
                format!("{atom}: runs at line rate on a chip with such atoms, whatever the traffic")
            }
            (_, Err(reason)) => format!("none does it in a cycle: {}", self.no_atom(reason)),
        }
    }

    pub fn text(&self) -> String {
        if self.analysis.codelets.is_empty() {
            return format!(
                "{}: nothing is left behind for other packets: it runs at line rate\n",
                self.program
            );
        }
        let mut text = String::new();
        for codelet in &self.analysis.codelets {
            text.push_str(&self.words(codelet));
            text.push('\n');
        }
        for note in self.notes() {
            let _ = writeln!(text, "note: {note}");
        }
        text
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.analysis.has_loops {
            notes.push("a loop was followed once: what it repeats takes longer".to_string());
        }
        for name in &self.analysis.unknown_externs {
            let cycles = self.costs.call;
            notes.push(format!("the extern `{name}` is not known: taken as {cycles} cycles without state"));
        }
        notes
    }

    pub fn json(&self) -> Value {
        let codelets = self.analysis.codelets.iter().map(|codelet| {
            let steps = codelet.steps.iter().filter_map(|step| {
                let operation = self.analysis.operations.get(step.operation)?;
                let line = self.line(operation.span);
                Some(json!({ "operation": operation.kind.name(), "cycles": step.cycles, "line": line }))
            });
            json!({
                "state": codelet.objects.iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>(),
                "kind": match codelet.kind {
                    CodeletKind::ReadOnly => "read-only",
                    CodeletKind::WriteOnly => "write-only",
                    CodeletKind::ReadModifyWrite => "read-modify-write",
                    CodeletKind::AddOnMiss => "add-on-miss",
                    CodeletKind::BuiltIn => "built-in",
                },
                "line": self.line(codelet.span),
                "key": codelet.key.key().to_string(),
                "key_fields": codelet.key.names.iter().map(|n| n.as_str()).collect::<Vec<_>>(),
                "key_fields_not_in_traffic": codelet.key.unknown.iter().map(|n| n.as_str()).collect::<Vec<_>>(),
                "key_is_hashed": codelet.key.is_hashed,
                "key_is_looked_up": codelet.key.is_looked_up,
                "cycles": codelet.cycles,
                "steps": steps.collect::<Vec<_>>(),
                "atom": codelet.atom.ok().map(|atom| atom.to_string()),
                "no_atom": codelet.atom.err().map(|reason| self.no_atom(reason)),
                "needs_lock": needs_lock(codelet),
                "paths": self.shares.json(&self.analysis, codelet),
                "atomic": self.atomic_blocks(codelet).map(|block| block.name.as_str()).collect::<Vec<_>>(),
                "parts": codelet.parts.iter().map(part_json).collect::<Vec<_>>(),
            })
        });
        json!({ "program": self.program, "actions": codelets.collect::<Vec<_>>(), "notes": self.notes() })
    }

    /// Simulates each action that takes longer than a cycle, or what the options ask for instead. `None` for a shard.
    pub fn simulate(
        &self,
        args: &SimArgs,
        traffic: &Traffic,
        survey: &Survey,
        frame: &Frame,
        sweep: &Sweep,
    ) -> Result<Option<(Value, String)>, Problem> {
        let mut value = run_json(traffic, survey, frame);
        let by_path = args.switch.mix == ["program"] || !args.path_share.is_empty();
        if by_path && (args.switch.read_only > 0.0 || args.switch.lock_cycles.is_some()) {
            return Err(usage(
                "the program's paths say which packets only read, and for how long others lock",
            ));
        }
        let ip_share = 1.0 - survey.n_other as f64 / survey.sizes.n().max(1) as f64;
        value["program"] = self.json();
        let mut text = self.text();
        let mut runs: Vec<(&Codelet, Vec<Point>)> = Vec::new();
        let mut done: Vec<(Vec<(Action, f64)>, Key)> = Vec::new();
        let has_cycles = args.switch.cycles.is_some() || !(args.switch.mix.is_empty() || by_path);
        for codelet in &self.analysis.codelets {
            let of_paths = by_path.then(|| self.shares.mix(&self.analysis, codelet, ip_share)).flatten();
            let own_mix = of_paths.clone().unwrap_or_else(|| vec![(codelet.action(), 1.0)]);
            let action = (own_mix, codelet.key.key());
            let is_slow = codelet.cycles > 1 && codelet.kind != CodeletKind::ReadOnly;
            if done.contains(&action) || !(is_slow || has_cycles) {
                continue;
            }
            let mixes = match of_paths {
                Some(mix) => vec![mix],
                None => mixes(args, &[codelet.cycles])?,
            };
            runs.push((codelet, grid(args, &mixes, &action.1)?));
            done.push(action);
        }
        // All at once: they are one sweep.
        let points: Vec<Point> = runs.iter().flat_map(|(_, points)| points.clone()).collect();
        let Some(results) = sweep.run(&points)? else { return Ok(None) };
        let mut left = results.as_slice();
        let mut runs_json = Vec::new();
        for (codelet, points) in &runs {
            let (results, rest) = left.split_at(points.len());
            left = rest;
            let names: Vec<&str> = codelet.objects.iter().map(|(_, name)| name.as_str()).collect();
            if runs_json.is_empty() {
                text.push_str(&heading(traffic, survey, frame));
            }
            let _ = write!(
                text,
                "\n{}, {} cycles:\n{}{}",
                names.join(", "),
                points.first().map_or(codelet.cycles, Point::cycles),
                verdict(codelet, points, results),
                tables(points, results)
            );
            runs_json.push(json!({ "state": names, "points": points_json(points, results) }));
        }
        if runs.is_empty() && !self.analysis.codelets.is_empty() {
            text.push_str(
                "every action is done in one cycle: no packet can come between, and nothing needs a lock\n",
            );
        }
        value["runs"] = Value::Array(runs_json);
        Ok(Some((value, text)))
    }
}

/// `30.0 % take 5 cycles, 20.0 % only read`.
fn mix_words(mix: &[(Action, f64)]) -> String {
    let sum: f64 = mix.iter().map(|(_, weight)| weight).sum();
    let each = mix.iter().map(|(action, weight)| {
        let share = weight / sum * 100.0;
        match action.lock_cycles {
            0 => format!("{share:.1} % need no lock"),
            n => format!("{share:.1} % hold it for {}", plural(n)),
        }
    });
    each.collect::<Vec<_>>().join(", ")
}

fn part_json(part: &Part) -> Value {
    json!({
        "state": part.objects.iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>(),
        "cycles": part.cycles,
        "atom": part.atom.ok().map(|atom| atom.to_string()),
    })
}

fn plural(cycles: u32) -> String {
    format!("{cycles} {}", if cycles == 1 { "cycle" } else { "cycles" })
}

fn needs_lock(codelet: &Codelet) -> bool {
    codelet.cycles > 1 && codelet.atom.is_err() && codelet.kind != CodeletKind::ReadOnly
}

fn key_words(codelet: &Codelet) -> String {
    let key = &codelet.key;
    if key.is_constant() {
        return "global: all packets share it".to_string();
    }
    let mut text = key.key().to_string();
    if key.is_hashed {
        text.push_str(", through a hash: flows that collide share state");
    }
    if key.is_looked_up {
        text.push_str(", by the entry of a table");
    }
    let _ = write!(text, "\n          of {}", key.names.join(", "));
    if !key.unknown.is_empty() {
        let _ = write!(
            text,
            "\n          simulated packets have no {}: more of them share state than in the program; --key names another key",
            key.unknown.join(", ")
        );
    }
    text
}

/// Describes the simulation's result for the first point of each policy.
fn verdict(codelet: &Codelet, points: &[Point], results: &[Value]) -> String {
    let mut text = String::new();
    for policy in [PolicyArg::None, PolicyArg::GlobalLock, PolicyArg::PerFlowLock] {
        let mut of_policy = points.iter().zip(results).filter(|(point, _)| point.policy == policy);
        let Some((point, result)) = of_policy.next() else { continue };
        let percent = |name: &str| number(result, name) * 100.0;
        let passed = format!(
            "{:.2} % get through, 99 % of them wait for at most {} cycles and have left after {}",
            percent("throughput"),
            number(result, "wait_cycles_p99"),
            number(result, "latency_cycles_p99"),
        );
        let _ = match policy {
            PolicyArg::None => writeln!(
                text,
                "  without locks   {:.2} % of packets find that another of their state is not done",
                percent("same_key_share_of_packets")
            ),
            PolicyArg::GlobalLock => writeln!(text, "  with one lock   {passed}"),
            PolicyArg::PerFlowLock => {
                writeln!(text, "  with {:<10} {passed}", format!("{} locks", point.queues.n_locks))
            }
        };
    }
    if let Some(point) = points.first().filter(|point| point.mix.len() > 1) {
        let _ = writeln!(text, "  of the packets  {}", mix_words(&point.mix));
    }
    if codelet.atom.is_ok() {
        let what = if codelet.parts.is_empty() { "it takes" } else { "each part takes" };
        let _ = writeln!(text, "  with atoms      {what} one cycle, and needs none of that");
    }
    text
}
