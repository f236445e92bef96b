//! The result of `siding model asic` as text and as JSON.

use bench::report::{aligned, rounded};
use model::asic::chip::Chip;
use model::asic::formula::Formula;
use model::asic::greedy::Shortage;
use model::asic::packing::{Lookup, Packed};
use model::asic::placement::Placement;
use model::asic::program::{Circle, Design, NodeKind, TableFacts};
use model::asic::report::{self, Link};
use model::asic::{Reason, Resource, Verdict};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

/// Shortages and circles that are told at most.
const N_TOLD: usize = 5;

pub struct Report<'a> {
    pub program: String,
    pub chip: &'a Chip,
    pub design: &'a Design,
    pub verdict: Verdict,
    pub states: Vec<StateFit>,
    pub largest: Option<Largest>,
    /// Tables with the layout of a larger size, and that size.
    pub roomier: Vec<(String, u64)>,
    pub formula: Option<Formula>,
}

/// A stateful action, and the smallest atom of a pipeline that does it.
pub struct StateFit {
    pub names: Vec<String>,
    pub atom: Option<String>,
}

pub struct Largest {
    pub table: String,
    pub found: model::asic::largest::Largest,
    /// The table has an entry for every key.
    pub is_all_keys: bool,
}

impl Report<'_> {
    pub fn fits(&self) -> bool {
        self.refusals().is_empty()
    }

    /// False if more time might find a placement.
    fn is_certain(&self) -> bool {
        let is_open = |n: Option<u32>| n.is_some_and(|n| n <= self.chip.stages);
        let is_refused =
            self.design.impossible.len() + self.design.refused.len() + self.design.circles.len() > 0;
        is_refused || !matches!(&self.verdict, Verdict::DoesNotFit(refusal) if is_open(refusal.n_stages_min))
    }

    fn placement(&self) -> &Placement {
        match &self.verdict {
            Verdict::Fits(solution) => &solution.placement,
            Verdict::DoesNotFit(refusal) => &refusal.placement,
        }
    }

    /// Why the program does not fit; none if it does.
    fn refusals(&self) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        for (table, n_entries, error) in &self.design.impossible {
            all.push(format!("`{table}`, 0 of {} entries: {error}", grouped(*n_entries)));
        }
        all.extend(self.design.refused.iter().cloned());
        all.extend(self.design.circles.iter().take(N_TOLD).map(Circle::text));
        if let Verdict::DoesNotFit(refusal) = &self.verdict {
            match &refusal.reason {
                Reason::Circle if self.design.circles.is_empty() => {
                    all.push("its tables depend on each other in a circle".to_string());
                }
                Reason::Circle => {}
                Reason::Stage(large) => {
                    let text = |shortage| format!("{}: more than a whole stage has", self.shortage(shortage));
                    all.extend(large.iter().map(text));
                }
                Reason::Stages(left) if left.is_empty() => {
                    let has = self.chip.stages;
                    let least = refusal.n_stages_min.filter(|n| *n > has);
                    all.push(match (least, refusal.n_stages_found) {
                        (Some(n), _) => format!("it needs at least {n} stages, and the chip has {has}"),
                        (None, Some(n)) => format!("the best placement found takes {n} of {}", stages(has)),
                        (None, None) => format!("no placement was found in {}", stages(has)),
                    });
                }
                Reason::Stages(left) => {
                    // Nodes without a resource only wait for those with one.
                    let named = left.iter().filter(|shortage| shortage.resource.is_some());
                    let mut told: Vec<String> = named.map(|shortage| self.shortage(shortage)).collect();
                    if told.is_empty() {
                        told.extend(left.iter().take(1).map(|shortage| self.shortage(shortage)));
                    }
                    told.truncate(N_TOLD);
                    all.extend(told);
                }
            }
        }
        all
    }

    /// `` `t`, 12,288 of 24,000 entries, TCAM ``
    fn shortage(&self, shortage: &Shortage) -> String {
        let node = &self.design.problem.nodes[shortage.node];
        let resource = shortage.resource.map_or("stages", Resource::name);
        match &node.packed {
            Some(packed) => {
                let n = placed_entries(packed, shortage.n_units);
                format!(
                    "`{}`, {} of {} entries, {resource}",
                    node.name,
                    grouped(n),
                    grouped(packed.n_entries)
                )
            }
            None => format!("`{}`, {resource}", node.name),
        }
    }

    /// Tables that have no place, or not for all of their entries.
    fn unplaced(&self) -> impl Iterator<Item = &str> {
        let left: &[Shortage] = match &self.verdict {
            Verdict::DoesNotFit(refusal) => match &refusal.reason {
                Reason::Stage(left) | Reason::Stages(left) => left,
                Reason::Circle => &[],
            },
            Verdict::Fits(_) => &[],
        };
        let is_left = |i: usize| left.iter().any(|shortage| shortage.node == i);
        let is_unplaced = move |i: &usize| self.is_impossible(*i) || is_left(*i);
        self.tables().map(|(i, _)| i).filter(is_unplaced).map(|i| self.design.problem.nodes[i].name.as_str())
    }

    /// The verdict in a line.
    pub fn headline(&self) -> String {
        if let Some(first) = self.refusals().first() {
            let others: Vec<String> = self
                .unplaced()
                .map(|name| format!("`{name}`"))
                .filter(|name| !first.contains(name))
                .collect();
            let others = match others.as_slice() {
                [] => String::new(),
                names => format!("; also not placed: {}", names.join(", ")),
            };
            return match self.is_certain() {
                true => format!("does not fit: {first}{others}"),
                false => format!("no placement was found, though there may be one: {first}{others}"),
            };
        }
        match &self.verdict {
            Verdict::Fits(solution) => {
                let (n, least, of) = (solution.n_stages, solution.n_stages_min, self.chip.stages);
                let certainty = match least == n {
                    true => "no placement has fewer".to_string(),
                    false => format!("no placement has fewer than {least}"),
                };
                format!("fits in {n} of {}; {certainty}", stages(of))
            }
            Verdict::DoesNotFit(_) => "does not fit".to_string(),
        }
    }

    pub fn text(&self) -> String {
        let chip = self.chip;
        let mut text = format!(
            "{} on {}: {} of {} SRAM and {} TCAM blocks\n{}\n",
            self.program,
            chip.name,
            stages(chip.stages),
            chip.sram.blocks,
            chip.tcam.blocks,
            self.headline()
        );
        for more in self.refusals().iter().skip(1) {
            let _ = writeln!(text, "moreover: {more}");
        }
        if let Verdict::DoesNotFit(refusal) = &self.verdict
            && let Some(least) = refusal.n_stages_min
        {
            let found = refusal.n_stages_found.filter(|found| *found != least);
            let found =
                found.map_or(String::new(), |found| format!("; the best placement found takes {found}"));
            let verb = if least == 1 { "is" } else { "are" };
            let _ = writeln!(
                text,
                "at least {} {verb} needed with these layouts of tables{found}",
                stages(least)
            );
        }
        if let Some(largest) = &self.largest {
            let _ = writeln!(text, "{}", largest.text());
        }
        text += &self.tables_text();
        text += &self.others_text();
        text += &self.stages_text();
        text += &self.path_text();
        for (block, cycles) in self.latencies() {
            let _ = writeln!(
                text,
                "latency of {block}: {cycles} cycles, {:.0} ns",
                cycles as f64 / chip.clock_ghz
            );
        }
        if let Some(Formula { p, q, error_max }) = self.formula {
            let _ = writeln!(
                text,
                "memory of an exact table by the line through these rules: n ({p:.2} k {q:+.1} + a) bits, at most {:.0} % off",
                error_max * 100.0
            );
        }
        for state in &self.states {
            let names = state.names.join(", ");
            let _ = match &state.atom {
                Some(atom) => writeln!(text, "state {names}: the atom `{atom}` can do it"),
                None => writeln!(
                    text,
                    "state {names}: no atom of a pipeline can do it, so that the program does not run at full rate; \
                     `siding sim --explain` says why"
                ),
            };
        }
        for (table, n) in &self.roomier {
            let _ = writeln!(
                text,
                "note: `{table}` has the layout of {} entries: that with the fewest blocks does not fit",
                grouped(*n)
            );
        }
        for note in &self.design.notes {
            let _ = writeln!(text, "note: {note}");
        }
        text += "not modelled: allocation of header fields to containers, rows of the crossbar and of instructions, buses\n";
        text
    }

    fn tables_text(&self) -> String {
        let mut rows = vec![
            [
                "table",
                "entries",
                "key bits",
                "lookup",
                "SRAM",
                "TCAM",
                "map RAM",
                "stages",
                "entries a word",
                "empty",
            ]
            .map(str::to_string)
            .to_vec(),
        ];
        for (i, facts) in self.tables() {
            let node = &self.design.problem.nodes[i];
            let blocks = report::blocks(&self.design.problem, self.placement(), i);
            let (lookup, words, empty) = match &node.packed {
                Some(packed) => (packed.lookup.name(), per_word(packed), self.empty(packed, facts)),
                None => ("none", "-".to_string(), "-".to_string()),
            };
            rows.push(vec![
                node.name.clone(),
                if facts.key_bits == 0 { "-".to_string() } else { grouped(facts.n_entries) },
                facts.key_bits.to_string(),
                lookup.to_string(),
                blocks.sram.to_string(),
                blocks.tcam.to_string(),
                blocks.map_ram.to_string(),
                self.span(i),
                words,
                empty,
            ]);
        }
        if rows.len() == 1 { "\nno tables\n".to_string() } else { format!("\n{}", aligned(&rows)) }
    }

    fn empty(&self, packed: &Packed, facts: &TableFacts) -> String {
        format!("{:.0} %", report::waste(self.chip, packed, facts.key_bits) * 100.0)
    }

    /// Memories, conditions and statements.
    fn others_text(&self) -> String {
        let mut rows = Vec::new();
        for (i, described) in self.design.nodes.iter().enumerate() {
            if described.kind == NodeKind::Memory {
                let blocks = report::blocks(&self.design.problem, self.placement(), i);
                rows.push(vec![
                    self.design.problem.nodes[i].name.clone(),
                    blocks.sram.to_string(),
                    blocks.map_ram.to_string(),
                    self.span(i),
                ]);
            }
        }
        let mut text = String::new();
        if !rows.is_empty() {
            rows.insert(0, ["memory", "SRAM", "map RAM", "stages"].map(str::to_string).to_vec());
            let _ = write!(text, "\n{}", aligned(&rows));
        }
        let n = |kind| self.design.nodes.iter().filter(|node| node.kind == kind).count();
        let (conditions, statements) = (n(NodeKind::Condition), n(NodeKind::Statements));
        let _ = writeln!(
            text,
            "\nbeside them: conditions: {conditions}, statements outside of tables: {statements}"
        );
        text
    }

    fn stages_text(&self) -> String {
        let used = report::usage(&self.design.problem, self.placement(), self.chip.stages);
        let capacity = self.design.problem.capacity;
        // Resources that no stage uses are left out.
        let shown: Vec<Resource> =
            Resource::ALL.into_iter().filter(|r| used.iter().any(|stage| stage[*r as usize] > 0)).collect();
        let mut rows = vec![
            std::iter::once("stage").chain(shown.iter().map(|r| short(*r))).map(str::to_string).collect(),
        ];
        let row = |name: String, amounts: &[u64]| {
            std::iter::once(name).chain(shown.iter().map(|r| amounts[*r as usize].to_string())).collect()
        };
        rows.push(row("of".to_string(), &capacity));
        for (i, stage) in used.iter().enumerate().filter(|(_, stage)| stage.iter().any(|n| *n > 0)) {
            rows.push(row(i.to_string(), stage));
        }
        if rows.len() == 2 { String::new() } else { format!("\n{}", aligned(&rows)) }
    }

    fn path_text(&self) -> String {
        let path = report::critical_path(&self.design.problem);
        let n: u32 = self.length(&path);
        let mut text = format!("\ncritical path ({}): ", stages(n));
        for link in &path {
            if let Some(kind) = link.kind {
                let _ = write!(text, " -{}-> ", kind.name());
            }
            let _ = write!(text, "{}", self.design.problem.nodes[link.node].name);
        }
        if path.is_empty() { String::new() } else { text + "\n" }
    }

    fn length(&self, path: &[Link]) -> u32 {
        let nodes = &self.design.problem.nodes;
        let mut n = 0;
        for (i, link) in path.iter().enumerate() {
            // A node that shares the stage of the one before takes none of its own.
            let shares = i > 0 && link.kind.is_some_and(|kind| kind.is_weak());
            n += link.span - u32::from(shares);
            let next_waits = path.get(i + 1).is_none_or(|next| next.kind.is_some_and(|kind| !kind.is_weak()));
            n += if next_waits { nodes[link.node].depth.max(1) - 1 } else { 0 };
        }
        n
    }

    fn tables(&self) -> impl Iterator<Item = (usize, &TableFacts)> {
        self.design.nodes.iter().enumerate().filter_map(|(i, node)| Some((i, node.table.as_ref()?)))
    }

    /// The table has no layout, so that its place in the placement means nothing.
    fn is_impossible(&self, node: usize) -> bool {
        let name = &self.design.problem.nodes[node].name;
        self.design.nodes[node].table.is_some()
            && self.design.impossible.iter().any(|(table, ..)| table == name)
    }

    fn span(&self, node: usize) -> String {
        if self.is_impossible(node) {
            return "-".to_string();
        }
        match self.placement().span(node) {
            Some((first, last)) if first == last => first.to_string(),
            Some((first, last)) => format!("{first}..{last}"),
            None => "-".to_string(),
        }
    }

    /// Cycles by block; none if the program does not fit.
    fn latencies(&self) -> Vec<(String, u64)> {
        if !self.fits() {
            return Vec::new();
        }
        let blocks = self.design.blocks.iter().enumerate();
        let cycles = |i| report::latency(self.chip, self.design, self.placement(), i);
        blocks.map(|(i, name)| (name.clone(), cycles(i))).collect()
    }

    pub fn json(&self) -> Value {
        let amounts = |amounts: &[u64]| {
            let pairs = Resource::ALL.into_iter().map(|r| (r.key().to_string(), json!(amounts[r as usize])));
            Value::Object(pairs.collect::<Map<_, _>>())
        };
        let problem = &self.design.problem;
        let (n_stages, n_stages_min) = match &self.verdict {
            Verdict::Fits(solution) => (Some(solution.n_stages), Some(solution.n_stages_min)),
            Verdict::DoesNotFit(refusal) => (refusal.n_stages_found, refusal.n_stages_min),
        };
        let nodes = self.design.nodes.iter().enumerate().map(|(i, described)| {
            let node = &problem.nodes[i];
            let blocks = report::blocks(problem, self.placement(), i);
            let parts = self.placement().parts_of(i).filter(|_| !self.is_impossible(i));
            let parts: Vec<Value> = parts.map(|part| json!({"stage": part.stage, "units": part.n_units})).collect();
            let mut value = json!({
                "name": node.name, "kind": described.kind.name(), "block": self.design.blocks[described.block],
                "sram": blocks.sram, "tcam": blocks.tcam, "map_ram": blocks.map_ram, "parts": parts,
            });
            if let Some(facts) = &described.table {
                value["entries"] = json!(facts.n_entries);
                value["size_from"] = json!(facts.source.name());
                value["key_bits"] = json!(facts.key_bits);
                value["data_bits"] = json!(facts.data_bits);
                value["actions"] = json!(facts.n_actions);
            }
            if let Some(packed) = &node.packed {
                let largest = self.placement().parts_of(i).map(|part| part.n_units).max().unwrap_or(0);
                value["lookup"] = json!(packed.lookup.name());
                value["data"] = json!(packed.data.name());
                value["entry_bits"] = json!(packed.entry_bits);
                value["entries_side_by_side"] = json!(packed.n_abreast);
                value["words"] = json!(packed.n_words);
                value["ways"] = json!(packed.ways(largest));
                value["units"] = json!(packed.n_units);
                let key_bits = described.table.as_ref().map_or(0, |facts| facts.key_bits);
                value["waste"] = json!(rounded(report::waste(self.chip, packed, key_bits)));
            }
            value
        });
        let path = report::critical_path(problem);
        let links = path.iter().map(|link| {
            json!({"name": problem.nodes[link.node].name, "dependency": link.kind.map(|kind| kind.name())})
        });
        let used = report::usage(problem, self.placement(), self.chip.stages);
        let latency = self.latencies().into_iter().map(|(block, cycles)| {
            json!({"block": block, "cycles": cycles, "ns": rounded(cycles as f64 / self.chip.clock_ghz)})
        });
        let mut value = json!({
            "version": 1, "program": self.program, "chip": self.chip.name, "chip_stages": self.chip.stages,
            "fits": self.fits(), "certain": self.is_certain(), "verdict": self.headline(), "reasons": self.refusals(),
            "stages": n_stages, "stages_min": n_stages_min,
            "capacity": amounts(&problem.capacity),
            "stages_used": used.iter().map(|stage| amounts(stage)).collect::<Vec<_>>(),
            "nodes": nodes.collect::<Vec<_>>(),
            "critical_path": links.collect::<Vec<_>>(),
            "latency": latency.collect::<Vec<_>>(),
            "state": self.states.iter().map(|s| json!({"objects": s.names, "atom": s.atom})).collect::<Vec<_>>(),
            "notes": self.design.notes,
            "roomier": self.roomier.iter().map(|(table, n)| json!({"table": table, "entries": n})).collect::<Vec<_>>(),
        });
        if let Some(Formula { p, q, error_max }) = self.formula {
            value["formula"] = json!({"p": rounded(p), "q": rounded(q), "error_max": rounded(error_max)});
        }
        if let Some(Largest { table, found, is_all_keys }) = &self.largest {
            value["max"] = json!({"table": table, "fits": found.fits, "at_most": found.at_most, "all_keys": is_all_keys});
        }
        value
    }
}

impl Largest {
    fn text(&self) -> String {
        let (fits, at_most) = (self.found.fits, self.found.at_most);
        let n = grouped(fits);
        match (fits, self.is_all_keys) {
            (_, true) => format!("largest `{}`: an entry for each of its {n} keys fits", self.table),
            (0, _) if at_most == 0 => format!("largest `{}`: not even one entry fits", self.table),
            (0, _) => format!("largest `{}`: no size was found that fits", self.table),
            _ if fits == at_most => {
                format!("largest `{}`: {n} entries are the largest size found that fits", self.table)
            }
            _ => format!(
                "largest `{}`: {n} entries are the largest size found that fits; a longer search may find more, up to {}",
                self.table,
                grouped(at_most)
            ),
        }
    }
}

/// Entries of the units that are placed.
fn placed_entries(packed: &Packed, n_units: u64) -> u64 {
    packed.entries_in(n_units).min(packed.n_entries)
}

/// `9 in 2`: entries in as many words.
fn per_word(packed: &Packed) -> String {
    match packed.lookup {
        Lookup::None | Lookup::Gateway => "-".to_string(),
        Lookup::Ternary => format!("1 in {}", packed.n_words),
        Lookup::Index | Lookup::Hash => format!("{} in {}", packed.n_abreast, packed.n_words),
    }
}

/// Headings of the table of stages.
fn short(resource: Resource) -> &'static str {
    match resource {
        Resource::Sram => "SRAM",
        Resource::Tcam => "TCAM",
        Resource::MapRam => "map",
        Resource::LogicalTables => "tables",
        Resource::TernaryTables => "ternary",
        Resource::ExactBytes => "exact B",
        Resource::TernaryBytes => "ternary B",
        Resource::HashBits => "hash",
        Resource::HashDistribution => "dist",
        Resource::Gateways => "gateways",
        Resource::Instructions => "instr",
        Resource::EgressInstructions => "egress instr",
        Resource::ActionBytes => "data B",
        Resource::RegisterUnits => "registers",
        Resource::CounterUnits => "counters",
    }
}

/// `1 stage`, `12 stages`.
fn stages(n: u32) -> String {
    format!("{n} {}", if n == 1 { "stage" } else { "stages" })
}

/// A number with commas between thousands.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
