//! Differential testing: two backends of one program get equal packets and writes, and must show equal behaviour.
//!
//! - [`Subject`]: a switch under test; [`SubjectKind`] makes one from a [`Compiled`] program;
//! - [`events`]: random entries, packets and other events for any program, from its schema and its parser;
//! - [`transcript`]: what was observed, and where two transcripts first differ;
//! - [`reduce`]: a case that differs made smaller; [`script`] writes it down as a test script;
//! - [`interpreted`]: the interpreter on a program as it is, and on the results of passes and oracles; [`native`]:
//!   generated C.
//!
//! Invariants: a [`Case`] determines a run completely, so two runs give equal results. Every write in it is valid for
//! the schema of its program, but may be refused by a backend; both must then refuse it.
//!
//! Non-goals: deciding which of two different backends is right.
//!
//! Start reading at [`run`].

pub mod cases;
pub mod events;
pub mod interpreted;
pub mod native;
mod packets;
pub mod reduce;
pub mod script;
pub mod transcript;
mod values;

use crate::Corpus;
use control::{Schema, Update};
use diagnostics::Diagnostics;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use testkit::Dut;
use transcript::{Difference, Transcript};

/// The configuration of all subjects: few rounds and copies, so that programs may send packets round and round.
pub(crate) fn config() -> target::Config {
    target::Config { rounds_max: 8, copies_max: 64, ..target::Config::default() }
}

/// A packet that left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// `None`: to the controller.
    pub port: Option<u32>,
    pub bytes: Vec<u8>,
}

/// Counts of verdicts, by the names of statistics: `sent`, `dropped ingress_drop`, ...
pub type Totals = BTreeMap<String, u64>;

/// A switch under test: a backend with one program.
pub struct Subject {
    pub dut: Box<dyn Dut>,
    /// The most packets that arrive together.
    pub burst_max: usize,
}

/// A way to execute programs.
#[derive(Clone, Copy)]
pub struct SubjectKind {
    pub name: &'static str,
    /// Fails if it cannot execute this program, which is no finding.
    pub make: fn(&Compiled) -> Result<Subject, String>,
}

/// A program that can be executed.
#[derive(Clone, Debug)]
pub struct Compiled {
    pub program: Arc<ir::Program>,
    pub schema: Arc<Schema>,
}

/// Something that happens to a switch.
#[expect(
    clippy::large_enum_variant,
    reason = "lists of events are short, and boxes in the way of whoever reads them"
)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Write(Update),
    /// Comes in one burst with the packets next to it, if the backend takes bursts.
    Packet {
        port: u32,
        bytes: Vec<u8>,
    },
    /// The packets before and behind it do not come together, whatever is between them.
    EndOfBurst,
    Clock {
        ns: u64,
    },
    /// Puts a port at the side of the host, or of the network.
    PortSide {
        port: u32,
        is_host: bool,
    },
}

/// A program and what happens to it.
#[derive(Clone, Debug)]
pub struct Case {
    pub text: String,
    pub events: Vec<Event>,
}

impl Case {
    pub fn n_writes(&self) -> usize {
        self.events.iter().filter(|e| matches!(e, Event::Write(_))).count()
    }
}

/// The reason why a program cannot be executed.
#[derive(Clone, Debug)]
pub enum NotCompiled {
    /// With the codes of the errors, and their text.
    Refused { code: &'static str, text: String },
    /// Its P4Info makes no sense to the control plane.
    Schema(String),
}

/// Compiles a program from text.
pub fn compile(text: &str, corpus: &Corpus) -> Result<Compiled, NotCompiled> {
    let parsed = syntax::parse("program.p4", text, corpus, &syntax::Options::default());
    of_checked(check::check(parsed, &crate::oracle::check_options()))
}

/// Compiles a program from a file and its includes.
pub fn compile_file(path: &Path) -> Result<Compiled, NotCompiled> {
    let source = driver::read_source(path).map_err(|e| NotCompiled::Schema(e.to_string()))?;
    let loader = driver::FileLoader::default();
    of_checked(driver::check(&source, &loader, &driver::Options::default()))
}

fn of_checked(mut checked: check::Checked) -> Result<Compiled, NotCompiled> {
    let Some(runnable) = driver::runnable(&mut checked, None) else {
        let first = checked.diagnostics.iter().find(|d| d.is_error());
        let code = first.map_or("", |d| d.code.id);
        return Err(NotCompiled::Refused { code, text: errors(&checked.diagnostics, &checked.sources) });
    };
    let schema =
        Schema::new(&runnable.control_plane.p4info).map_err(|e| NotCompiled::Schema(e.to_string()))?;
    Ok(Compiled { program: Arc::new(runnable.program), schema: Arc::new(schema) })
}

fn errors(diagnostics: &Diagnostics, sources: &diagnostics::SourceMap) -> String {
    crate::oracle::first_errors(diagnostics, sources)
}

/// The result of running a case on two backends.
#[derive(Debug)]
pub enum Outcome {
    Same(Transcript),
    Differs(Difference),
    /// One of the backends cannot run the program, or the program exceeded the step budget, which backends count
    /// differently.
    Undecided(String),
}

/// Runs a case on both and compares.
pub fn run(compiled: &Compiled, events: &[Event], kinds: [SubjectKind; 2]) -> Outcome {
    let mut transcripts = Vec::new();
    for kind in kinds {
        match transcript::record(compiled, events, kind) {
            Ok(transcript) => transcripts.push(transcript),
            Err(why) => return Outcome::Undecided(format!("{}: {why}", kind.name)),
        }
    }
    let (Some(second), Some(first)) = (transcripts.pop(), transcripts.pop()) else {
        return Outcome::Undecided("nothing was run".to_string());
    };
    if first.has_spent_budget() || second.has_spent_budget() {
        return Outcome::Undecided("a packet ran longer than it may".to_string());
    }
    match transcript::compare(&first, &second) {
        None => Outcome::Same(first),
        Some(difference) => Outcome::Differs(difference),
    }
}
