//! The page: one HTML file with all figures, without scripts and without anything to fetch.

mod data;
mod html;

use crate::json::{joined, list, number, short, word};
use crate::part::{Agreement, Figure, Part, Reading, Research, Shown, Size};
use crate::progress::duration;
use crate::runner::Missing;
use crate::store::Record;
use crate::{json, machine};
use base64::Engine;
use bench::chart::{self, Chart, Origin};
use console::tools;
use html::escaped;
use serde_json::Value;
use std::ffi::OsStr;
use std::fmt::Write;

const STYLE: &str = include_str!("style.css");
/// Lines of a chart that its description names one by one.
const SERIES_MAX: usize = 12;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    Done,
    Failed(String),
    /// It cannot run here.
    Missing(Missing),
    /// Its turn has not come yet.
    Waiting,
    /// It was not asked for.
    LeftOut,
}

impl Status {
    pub fn name(&self) -> &'static str {
        match self {
            Status::Done => "done",
            Status::Failed(_) => "failed",
            Status::Missing(_) => "missing",
            Status::Waiting => "waiting",
            Status::LeftOut => "left-out",
        }
    }

    pub fn reason(&self) -> Option<&str> {
        match self {
            Status::Failed(reason) => Some(reason),
            Status::Missing(missing) => Some(&missing.reason),
            Status::Done | Status::Waiting | Status::LeftOut => None,
        }
    }

    fn words(&self) -> &'static str {
        match self {
            Status::Done => "made",
            Status::Failed(_) => "failed",
            Status::Missing(_) => "missing here",
            Status::Waiting => "not yet run",
            Status::LeftOut => "not asked for",
        }
    }
}

/// A part with what there is of it.
pub struct Entry {
    pub part: &'static Part,
    pub status: Status,
    pub record: Option<Record>,
    pub shown: Shown,
}

impl Entry {
    fn outputs(&self) -> impl Iterator<Item = &(String, Value)> {
        let is_done = self.status == Status::Done;
        self.record.iter().filter(move |_| is_done).flat_map(|record| &record.outputs)
    }

    pub fn goals(&self) -> Vec<&Value> {
        self.outputs().flat_map(|(_, value)| list(value, "goals")).collect()
    }

    fn n_of(&self, agreement: Agreement) -> usize {
        self.shown.readings.iter().filter(|reading| reading.agreement == agreement).count()
    }
}

pub struct Page {
    pub size: Size,
    /// Names and values.
    pub machine: Value,
    /// Seconds since 1970.
    pub date: u64,
    pub entries: Vec<Entry>,
}

pub struct Counts {
    pub n_done: usize,
    pub n_goals: usize,
    pub n_met: usize,
    /// In the order of [`Agreement::ALL`].
    pub readings: [usize; 4],
}

impl Page {
    pub fn counts(&self) -> Counts {
        let goals: Vec<&Value> = self.entries.iter().flat_map(Entry::goals).collect();
        Counts {
            n_done: self.entries.iter().filter(|entry| entry.status == Status::Done).count(),
            n_goals: goals.len(),
            n_met: goals.iter().filter(|goal| goal["met"] == true).count(),
            readings: Agreement::ALL
                .map(|agreement| self.entries.iter().map(|entry| entry.n_of(agreement)).sum()),
        }
    }

    pub fn html(&self) -> String {
        let mut out = String::from("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
        out.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
        out.push_str("<title>Siding: published figures on this machine</title>\n");
        // An icon of its own, as browsers would ask a server for one.
        out.push_str("<link rel=\"icon\" href=\"data:,\">\n");
        let _ = write!(out, "{}<style>\n{STYLE}</style>\n</head>\n<body>\n", chart::STYLE);
        self.head(&mut out);
        out.push_str("<main>\n");
        self.summary(&mut out);
        self.missed(&mut out);
        self.absent(&mut out);
        for research in Research::ALL {
            self.section(&mut out, research);
        }
        out.push_str("</main>\n");
        let _ = write!(
            out,
            "<footer><p>Made by <code>siding reproduce{}</code> on {}. Published numbers are facts from the papers and data that each \
             section names, in our words. Each figure is made by the command below it, which prints the same data as JSON.</p>\
             </footer>\n</body>\n</html>\n",
            self.size.option(),
            machine::date(self.date)
        );
        out
    }

    fn head(&self, out: &mut String) {
        let fact = |name: &str| {
            let facts = self.machine.as_array().into_iter().flatten();
            facts
                .filter(|fact| fact[0] == name)
                .find_map(|fact| fact[1].as_str())
                .unwrap_or("unknown")
                .to_owned()
        };
        let _ = write!(
            out,
            "<header>\n<h1>Published figures, made on this machine</h1>\n<p class=\"lead\">{}; {} processors, {}; {}</p>\n",
            escaped(&fact("processor")),
            escaped(&fact("processors")),
            escaped(&fact("memory")),
            machine::date(self.date)
        );
        let size = match self.size {
            Size::Full => "",
            Size::Quick => {
                "This is a quick run: smaller tables and fewer repetitions. Shapes can be compared; single numbers are coarse."
            }
            Size::Smoke => "This run only shows that everything works. Its numbers say nothing.",
        };
        if !size.is_empty() {
            let _ = writeln!(out, "<p class=\"notice\">{size}</p>");
        }
        if fact("Siding").contains(machine::DEVELOPMENT) {
            out.push_str(
                "<p class=\"notice\">This build of Siding is one for development: what it does itself is slow. Generated C is not \
                 concerned.</p>\n",
            );
        }
        if machine::has_shared_cores(&self.machine) {
            out.push_str(
                "<p class=\"notice\">No processor is kept free from other programs. Compare numbers within a figure, not with those of \
                 another run.</p>\n",
            );
        }
        out.push_str("<nav aria-label=\"Contents\"><ul>\n");
        for research in Research::ALL {
            let _ =
                writeln!(out, "<li><a href=\"#{}\">{}</a></li>", research.name(), escaped(research.title()));
        }
        out.push_str("<li><a href=\"#goals\">Goals</a></li>\n<li><a href=\"#missing\">What is missing</a></li>\n</ul></nav>\n</header>\n");
    }

    fn summary(&self, out: &mut String) {
        let counts = self.counts();
        let [same, beyond, differs, _] = counts.readings;
        out.push_str("<ul class=\"tiles\">\n");
        for (number, words) in [
            (format!("{} of {}", counts.n_done, self.entries.len()), "parts made"),
            (same.to_string(), "shapes as published"),
            (beyond.to_string(), "shapes beyond what was published"),
            (differs.to_string(), "shapes that differ"),
            (format!("{} of {}", counts.n_met, counts.n_goals), "of our goals met"),
        ] {
            let _ = writeln!(out, "<li><strong>{number}</strong><span>{words}</span></li>");
        }
        out.push_str("</ul>\n<h2 class=\"stays\" id=\"summary\">Summary</h2>\n<div class=\"wide\"><table>\n");
        out.push_str(
            "<thead><tr><th scope=\"col\">part</th><th scope=\"col\"></th><th scope=\"col\">as published</th><th scope=\"col\">beyond</th>\
             <th scope=\"col\">differs</th><th scope=\"col\">goals met</th><th scope=\"col\">took</th></tr></thead>\n<tbody>\n",
        );
        let mut research = None;
        for entry in &self.entries {
            if research.replace(entry.part.research) != Some(entry.part.research) {
                let title = escaped(entry.part.research.title());
                let _ = writeln!(out, "<tr><th scope=\"colgroup\" colspan=\"7\">{title}</th></tr>");
            }
            let goals = entry.goals();
            let n_met = goals.iter().filter(|goal| goal["met"] == true).count();
            let is_done = entry.status == Status::Done;
            let count = |agreement| if is_done { entry.n_of(agreement).to_string() } else { String::new() };
            let took = entry
                .record
                .as_ref()
                .filter(|_| is_done)
                .map_or(String::new(), |record| duration(record.seconds));
            let goals = if goals.is_empty() { String::new() } else { format!("{n_met} of {}", goals.len()) };
            let _ = writeln!(
                out,
                "<tr><td><a href=\"#{}\">{}</a></td><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td>\
                 <td class=\"number\">{}</td><td class=\"number\">{goals}</td><td class=\"number\">{took}</td></tr>",
                entry.part.name,
                escaped(entry.part.title),
                tag(entry.status.name(), entry.status.words()),
                count(Agreement::Same),
                count(Agreement::Beyond),
                count(Agreement::Differs),
            );
        }
        out.push_str("</tbody></table></div>\n<h3 id=\"machine\">The machine</h3>\n");
        let facts = self.machine.as_array().into_iter().flatten();
        let rows: Vec<(String, String)> =
            facts.map(|fact| (word_at(fact, 0).to_owned(), word_at(fact, 1).to_owned())).collect();
        out.push_str(&html::facts(&rows));
    }

    /// Goals that are missed; those that are met are with their parts.
    fn missed(&self, out: &mut String) {
        out.push_str("<h2 class=\"stays\" id=\"goals\">Goals that are missed here</h2>\n");
        let mut rows = String::new();
        for entry in &self.entries {
            for goal in entry.goals().into_iter().filter(|goal| goal["met"] != true) {
                let _ = writeln!(
                    rows,
                    "<tr><td><a href=\"#{}\">{}</a></td>{}</tr>",
                    entry.part.name,
                    escaped(entry.part.name),
                    cells_of_goal(goal)
                );
            }
        }
        match rows.is_empty() {
            true => out.push_str("<p>None.</p>\n"),
            false => {
                let _ = write!(
                    out,
                    "<div class=\"wide\"><table>\n<thead><tr><th scope=\"col\">part</th>{HEAD_OF_GOALS}</tr></thead>\n<tbody>\n{rows}</tbody>\
                     </table></div>\n"
                );
            }
        }
    }

    fn absent(&self, out: &mut String) {
        out.push_str("<h2 class=\"stays\" id=\"missing\">What is missing</h2>\n");
        let mut rows = vec![["part", "why", "what to do"].map(str::to_owned).to_vec()];
        for entry in &self.entries {
            let name = entry.part.name.to_owned();
            match &entry.status {
                Status::Missing(missing) => {
                    rows.push(vec![name, missing.reason.clone(), missing.remedy.clone()])
                }
                Status::Failed(_) => {
                    rows.push(vec![
                        name,
                        "it has failed; its section has the message".to_owned(),
                        again(entry.part, self.size),
                    ]);
                }
                Status::Waiting => rows.push(vec![
                    name,
                    "its turn has not come yet".to_owned(),
                    again(entry.part, self.size),
                ]),
                Status::LeftOut => {
                    rows.push(vec![name, "it was not asked for".to_owned(), again(entry.part, self.size)])
                }
                Status::Done => {}
            }
        }
        if rows.len() > 1 {
            out.push_str(&html::table("Parts", &rows));
        }
        let peers = self.peers();
        if peers.len() > 1 {
            out.push_str(&html::table("Other projects that are not measured beside Siding", &peers));
        }
        if rows.len() == 1 && peers.len() == 1 {
            out.push_str("<p>Nothing.</p>\n");
        }
    }

    /// Peers that are not there.
    fn peers(&self) -> Vec<Vec<String>> {
        let mut rows = vec![["project", "parts", "what to do"].map(str::to_owned).to_vec()];
        let absent: Vec<&str> = self
            .entries
            .iter()
            .filter(|entry| {
                entry.outputs().any(|(_, value)| list(value, "absent").iter().any(|s| names_peer(s)))
            })
            .map(|entry| entry.part.name)
            .collect();
        if !absent.is_empty() {
            let names: Vec<String> = absent.iter().map(|name| (*name).to_owned()).collect();
            let remedy = "apt-get install libdpdk-dev; crates/bench/peers/build.sh in the sources, or SIDING_PEERS=DIR with what it made";
            rows.push(vec!["DPDK: learner table, rte_hash".to_owned(), joined(&names), remedy.to_owned()]);
        }
        if tools::find(OsStr::new("simple_switch_grpc")).is_none() {
            let remedy = "install BMv2 with simple_switch_grpc, so that it is on the search path";
            rows.push(["BMv2", "control-plain", remedy].map(str::to_owned).to_vec());
        }
        rows
    }

    fn section(&self, out: &mut String, research: Research) {
        let _ = write!(
            out,
            "<section>\n<h2 id=\"{}\">{}</h2>\n<p class=\"paper\">{}</p>\n<p class=\"question\">{}</p>\n",
            research.name(),
            escaped(research.title()),
            escaped(research.paper()),
            escaped(research.question())
        );
        for entry in self.entries.iter().filter(|entry| entry.part.research == research) {
            self.entry(out, entry);
        }
        out.push_str("</section>\n");
    }

    fn entry(&self, out: &mut String, entry: &Entry) {
        let part = entry.part;
        let _ = writeln!(
            out,
            "<article>\n<h3 id=\"{}\">{}<span class=\"name\">{}</span></h3>",
            part.name,
            escaped(part.title),
            escaped(part.name)
        );
        match part.published.is_empty() {
            true => out.push_str("<p>Ours only: no figure of the paper.</p>\n"),
            false => {
                let _ = writeln!(
                    out,
                    "<p><strong>Published</strong> ({}): {}</p>",
                    escaped(part.source),
                    escaped(part.published)
                );
            }
        }
        match &entry.status {
            Status::Done => {}
            Status::Failed(reason) => {
                let _ = writeln!(
                    out,
                    "<p class=\"notice problem\">This part has failed.</p>\n<pre>{}</pre>",
                    escaped(reason)
                );
            }
            Status::Missing(missing) => {
                let _ = writeln!(
                    out,
                    "<p class=\"notice\">Missing here: {}. To have it: <code>{}</code></p>",
                    escaped(&missing.reason),
                    escaped(&missing.remedy)
                );
            }
            Status::Waiting | Status::LeftOut => {
                let _ = writeln!(
                    out,
                    "<p class=\"notice\">{}: <code>{}</code></p>",
                    match entry.status {
                        Status::Waiting => "Not yet run",
                        _ => "Not asked for",
                    },
                    escaped(&again(part, self.size))
                );
            }
        }
        if entry.status == Status::Done {
            self.result(out, entry);
        }
        out.push_str("<details><summary>The command</summary>\n<pre>");
        for (_, words) in (part.commands)(self.size) {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let _ = writeln!(
                out,
                "siding {}",
                escaped(&words.join(" ").replace(crate::part::STATE, self.size.name()))
            );
        }
        out.push_str("</pre></details>\n</article>\n");
    }

    fn result(&self, out: &mut String, entry: &Entry) {
        if !entry.shown.readings.is_empty() {
            readings(out, &entry.shown.readings);
        }
        for figure in &entry.shown.figures {
            let drawn = match figure {
                Figure::Chart(chart) => chart::inline(chart, &description(chart)),
                Figure::Bars(bars) => {
                    let numbers =
                        bars.bars.iter().take(SERIES_MAX).map(|bar| format!("{}: {}", bar.0, short(bar.1)));
                    let numbers: Vec<String> = numbers.collect();
                    html::bars(bars, &format!("Bars. {}, {}. {}.", bars.title, bars.unit, numbers.join("; ")))
                }
            };
            let _ = writeln!(out, "<figure>\n{drawn}</figure>");
        }
        for (_, value) in entry.outputs() {
            for sentence in ["absent", "notes", "warnings"].iter().flat_map(|key| list(value, key)) {
                let _ = writeln!(out, "<p class=\"lead\">{}</p>", escaped(sentence.as_str().unwrap_or("")));
            }
        }
        let goals = entry.goals();
        if !goals.is_empty() {
            let n_met = goals.iter().filter(|goal| goal["met"] == true).count();
            let rows: String =
                goals.iter().map(|goal| format!("<tr>{}</tr>\n", cells_of_goal(goal))).collect();
            let _ = write!(
                out,
                "<details><summary>Our goals: {n_met} of {} met</summary>\n<div class=\"wide\"><table>\n<thead><tr>{HEAD_OF_GOALS}</tr>\
                 </thead>\n<tbody>\n{rows}</tbody></table></div></details>\n",
                goals.len()
            );
        }
        let Some(record) = &entry.record else { return };
        out.push_str("<details><summary>The data</summary>\n");
        let _ = write!(out, "<p>Measured {}, {}.", machine::date(record.begun), duration(record.seconds));
        if is_other(&record.machine, &self.machine) {
            let facts = record.machine.as_array().into_iter().flatten();
            let facts: Vec<String> =
                facts.map(|fact| format!("{} {}", word_at(fact, 0), word_at(fact, 1))).collect();
            let _ = write!(out, " On another machine: {}.", escaped(&facts.join("; ")));
        }
        out.push_str("</p>\n");
        for (label, value) in &record.outputs {
            if !label.is_empty() {
                let _ = writeln!(out, "<h4>{}</h4>", escaped(label));
            }
            out.push_str(&data::tables(value));
            let text = base64::engine::general_purpose::STANDARD.encode(value.to_string());
            let name = if label.is_empty() {
                entry.part.name.to_owned()
            } else {
                format!("{}-{label}", entry.part.name)
            };
            let _ = writeln!(
                out,
                "<p class=\"download\"><a download=\"{}.json\" href=\"data:application/json;base64,{text}\">The JSON</a></p>",
                escaped(&name)
            );
        }
        out.push_str("</details>\n");
    }
}

fn word_at(fact: &Value, i: usize) -> &str {
    fact[i].as_str().unwrap_or("")
}

/// True when the processors of two machines differ. Clocks and loads differ on one machine as well.
fn is_other(one: &Value, other: &Value) -> bool {
    let fact = |facts: &Value, name: &str| {
        facts.as_array().into_iter().flatten().find(|fact| fact[0] == name).map(|fact| fact[1].clone())
    };
    ["processor", "processors", "memory", "kernel"].iter().any(|name| fact(one, name) != fact(other, name))
}

/// The command line that runs a part.
fn again(part: &Part, size: Size) -> String {
    format!("siding reproduce{} --only {}", size.option(), part.name)
}

/// True for a sentence that says that a project is not installed.
fn names_peer(sentence: &Value) -> bool {
    sentence.as_str().is_some_and(|sentence| sentence.contains("is not measured"))
}

fn tag(class: &str, words: &str) -> String {
    format!("<span class=\"tag {class}\">{}</span>", escaped(words))
}

fn readings(out: &mut String, readings: &[Reading]) {
    out.push_str(
        "<div class=\"wide\"><table>\n<thead><tr><th scope=\"col\">shape</th><th scope=\"col\">published</th><th scope=\"col\">here</th>\
         <th scope=\"col\">verdict</th></tr></thead>\n<tbody>\n",
    );
    for reading in readings {
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            escaped(&reading.aspect),
            escaped(&reading.published),
            escaped(&reading.here),
            tag(reading.agreement.name(), reading.agreement.words())
        );
    }
    out.push_str("</tbody></table></div>\n");
}

const HEAD_OF_GOALS: &str = "<th scope=\"col\">goal</th><th scope=\"col\">size</th><th scope=\"col\">value</th>\
                             <th scope=\"col\">wanted</th><th scope=\"col\"></th>";

fn cells_of_goal(goal: &Value) -> String {
    let wanted = match (number(goal, "at_most"), number(goal, "at_least")) {
        (Some(limit), _) => format!("at most {}", short(limit)),
        (None, Some(limit)) => format!("at least {}", short(limit)),
        (None, None) => String::new(),
    };
    let is_met = goal["met"] == true;
    let figure = |key: &str| number(goal, key).map_or(String::new(), json::short);
    format!(
        "<td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td>{wanted}</td><td>{}</td>",
        escaped(&word(goal, "name").replace('_', " ")),
        figure("size"),
        figure("value"),
        tag(if is_met { "met" } else { "missed" }, if is_met { "met" } else { "missed" })
    )
}

/// A chart in words, for readers who do not see it.
fn description(chart: &Chart) -> String {
    let mut text = format!("Line chart. {}. Across: {}; upwards: {}.", chart.title, chart.x, chart.y);
    for series in chart.series.iter().filter(|series| !series.points.is_empty()).take(SERIES_MAX) {
        let published = if series.origin == Origin::Published { " (published)" } else { "" };
        let (Some(first), Some(last)) = (series.points.first(), series.points.last()) else { continue };
        let _ = write!(
            text,
            " {}{published}: {} at {} to {} at {}.",
            series.name,
            short(first.1),
            short(first.0),
            short(last.1),
            short(last.0)
        );
    }
    text
}
