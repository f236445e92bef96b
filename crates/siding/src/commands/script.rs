//! Test scripts on one executor, or on several that must do the same.

use super::backends::{Backends, Way};
use super::in_bursts::{self, Failure};
use crate::cli::FrontEndArgs;
use crate::output::{self, ErrorFormat, Exit};
use control::{Data, DigestId};
use diagnostics::render::{self, Style};
use diagnostics::{Diagnostic, SourceMap};
use interp::Interpreter;
use native::{Native, Observing};
use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use target::{Config, Device};
use trace::Variables;
use trace::{Event, Observer, Story, StoryBuilder, render as prose};

/// Bytes of a packet shown where executors differ.
const BYTES_SHOWN: usize = 256;

/// Whose stories are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stories {
    None,
    /// At most so many, as they happen.
    Told(usize),
    /// All, when the test has failed.
    IfFailed,
}

/// What came of a test script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tested {
    Passed,
    Failed,
    /// The script could not be run.
    Broken(Exit),
}

/// Runs a script on all executors, one after the other, and shows what went wrong.
pub fn test(
    backends: Backends,
    script: &Path,
    stories: Stories,
    json: bool,
    front_end: &FrontEndArgs,
) -> Tested {
    let text = match std::fs::read(script) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) => {
            output::error_line(&format!("cannot read {}: {error}", script.display()));
            return Tested::Broken(Exit::Environment);
        }
    };
    let parsed = stf::parse(&script.to_string_lossy(), &text);
    let (plan, unresolved) = stf::resolve(&parsed.script, &backends.schema);
    let faults: Vec<Diagnostic> =
        parsed.diagnostics.into_vec().into_iter().chain(unresolved.into_vec()).collect();
    show(&faults, &parsed.sources, front_end);
    if faults.iter().any(Diagnostic::is_error) {
        return Tested::Broken(Exit::Usage);
    }
    let mut trial = Trial {
        script: &parsed.script,
        plan: &plan,
        sources: &parsed.sources,
        schema: Arc::clone(&backends.schema),
    };
    let Backends { interpreter, native, in_bursts, sources, config, .. } = backends;
    let mut is_success = true;
    let mut transcripts = Vec::new();
    if let Some(interpreter) = interpreter {
        let (report, transcript) = trial.interpret(interpreter, &sources, stories, json);
        show(&report.faults, trial.sources, front_end);
        is_success &= report.is_success();
        transcripts.push(("the interpreter", transcript));
    }
    for (way, device) in native {
        let (report, transcript) = trial.run_native(way, device, &sources, &config, (stories, json));
        if !report.is_success() {
            output::err(&format!("{}, on {}:\n", script.display(), way.text()));
        }
        show(&report.faults, trial.sources, front_end);
        is_success &= report.is_success();
        transcripts.push((way.text(), transcript));
    }
    let mut others = transcripts.iter();
    if let Some((first, expected)) = others.next() {
        for (name, transcript) in others {
            if let Some(difference) = first_difference(expected, transcript) {
                output::error_line(&format!(
                    "{}: {name} differs from {first} {difference}",
                    script.display()
                ));
                is_success = false;
            }
        }
    }
    // What fails packet by packet says enough.
    if let (true, Some(compiled), Some((first, expected))) = (is_success, &in_bursts, transcripts.first()) {
        let failures = match in_bursts::failures(&mut trial, compiled, &config, expected) {
            Ok(failures) => failures,
            Err(exit) => return Tested::Broken(exit),
        };
        for Failure { path, n_max, faults, difference } in failures {
            let name = path.name();
            output::err(&format!("{}, in bursts of {n_max} (SIDING_BURSTS={name}):\n", script.display()));
            show(&faults, trial.sources, front_end);
            if let Some(difference) = difference {
                output::error_line(&format!("it differs from {first} {difference}"));
            }
            is_success = false;
        }
    }
    if is_success { Tested::Passed } else { Tested::Failed }
}

/// A script that makes sense for a program.
pub(super) struct Trial<'a> {
    pub(super) script: &'a stf::Script,
    pub(super) plan: &'a stf::Plan,
    pub(super) sources: &'a SourceMap,
    pub(super) schema: Arc<control::Schema>,
}

impl Trial<'_> {
    /// With at most so many packets at once.
    pub(super) fn run(&mut self, device: &mut dyn stf::Device, n_max: usize) -> (stf::Report, Vec<Step>) {
        let decode = |_: &[u8], _: usize| None;
        let mut recorded = Recorded { device, steps: Vec::new() };
        let Trial { script, plan, sources, schema } = self;
        let report = stf::run_in_bursts(script, plan, sources, schema, &mut recorded, &decode, n_max);
        (report, recorded.steps)
    }

    fn interpret(
        &mut self,
        mut interpreter: Box<Device<Interpreter>>,
        program: &SourceMap,
        stories: Stories,
        json: bool,
    ) -> (stf::Report, Vec<Step>) {
        let story_builder = Storyteller::new(program, stories);
        let mut observer = Shared(Rc::clone(&story_builder));
        self.tell(
            &mut stf::Driven { device: &mut interpreter, observer: &mut observer },
            &story_builder,
            stories,
            json,
        )
    }

    /// Runs what a story_builder listens to, and tells its stories.
    fn tell(
        &mut self,
        device: &mut dyn stf::Device,
        story_builder: &Rc<RefCell<Storyteller<'_>>>,
        stories: Stories,
        json: bool,
    ) -> (stf::Report, Vec<Step>) {
        let (report, transcript) = self.run(&mut Told { device, stories: Rc::clone(story_builder) }, 1);
        story_builder.borrow_mut().next();
        if stories != Stories::IfFailed || !report.is_success() {
            tell(&story_builder.borrow().stories, json);
        }
        (report, transcript)
    }

    fn run_native(
        &mut self,
        way: Way,
        mut device: Box<Device<Native>>,
        program: &SourceMap,
        config: &Config,
        (stories, json): (Stories, bool),
    ) -> (stf::Report, Vec<Step>) {
        let mut nobody = ();
        match way {
            Way::Straight => self.run(&mut stf::Straight::new(&mut device, &mut nobody, config), 1),
            Way::BlockByBlock => self.run(&mut stf::Driven { device: &mut device, observer: &mut nobody }, 1),
            Way::Told => {
                let story_builder = Storyteller::new(program, stories);
                let mut observer = Shared(Rc::clone(&story_builder));
                let mut observer = Observing(&mut observer);
                self.tell(
                    &mut stf::Driven { device: &mut device, observer: &mut observer },
                    &story_builder,
                    stories,
                    json,
                )
            }
        }
    }
}

/// What happened, and what came of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Step {
    what: What,
    sent: Vec<(u32, Vec<u8>)>,
    digests: Vec<(DigestId, Data)>,
}

#[derive(Debug, PartialEq, Eq)]
enum What {
    Received(u32),
    Waited(u64),
    AskedForDigests,
}

/// Writes down what a device does.
struct Recorded<'a> {
    device: &'a mut dyn stf::Device,
    steps: Vec<Step>,
}

impl Recorded<'_> {
    fn step(&mut self, what: What) -> &mut Step {
        self.steps.push(Step { what, sent: Vec::new(), digests: Vec::new() });
        let last = self.steps.len() - 1;
        &mut self.steps[last]
    }
}

impl control::Target for Recorded<'_> {
    fn write(&mut self, update: &control::Update) -> Result<(), control::Fault> {
        self.device.write(update)
    }

    fn write_many(&mut self, updates: &[&control::Update]) -> Vec<Result<(), control::Fault>> {
        self.device.write_many(updates)
    }

    fn read(&self, query: &control::Query) -> Result<Vec<control::Entity>, control::Fault> {
        self.device.read(query)
    }

    fn is_batch_atomic(&self) -> bool {
        self.device.is_batch_atomic()
    }
}

impl stf::Device for Recorded<'_> {
    fn receive(&mut self, burst: &[stf::Arriving<'_>], sent: &mut dyn FnMut(usize, u32, &[u8])) {
        let mut seen = vec![Vec::new(); burst.len()];
        self.device.receive(burst, &mut |i, port, bytes| {
            seen[i].push((port, bytes.to_vec()));
            sent(i, port, bytes);
        });
        for (packet, seen) in burst.iter().zip(seen) {
            self.step(What::Received(packet.port)).sent = seen;
        }
    }

    fn advance_clock(&mut self, duration_ns: u64, sent: &mut dyn FnMut(u32, &[u8])) {
        let mut seen = Vec::new();
        self.device.advance_clock(duration_ns, &mut |port, bytes| {
            seen.push((port, bytes.to_vec()));
            sent(port, bytes);
        });
        self.step(What::Waited(duration_ns)).sent = seen;
    }

    fn take_digests(&mut self) -> Vec<(DigestId, Data)> {
        let digests = self.device.take_digests();
        self.step(What::AskedForDigests).digests.clone_from(&digests);
        digests
    }
}

/// Where two runs part, in words that follow their names.
pub(super) fn first_difference(expected: &[Step], found: &[Step]) -> Option<String> {
    let mut n_packets = 0;
    for (expected, found) in expected.iter().zip(found) {
        n_packets += usize::from(matches!(expected.what, What::Received(_)));
        if expected != found {
            let sides = format!("\n  first: {}\n  now:   {}", shown(expected), shown(found));
            return Some(format!("after packet {n_packets}{sides}"));
        }
    }
    (expected.len() != found.len()).then(|| format!("after packet {n_packets}: one ends before the other"))
}

fn shown(step: &Step) -> String {
    let mut parts: Vec<String> = Vec::new();
    for (port, bytes) in &step.sent {
        let hex: String = bytes.iter().take(BYTES_SHOWN).map(|b| format!("{b:02x}")).collect();
        parts.push(format!("port {port}: {hex}"));
    }
    for (digest, data) in &step.digests {
        parts.push(format!("{digest:?}: {data:?}"));
    }
    if parts.is_empty() { "nothing".to_string() } else { parts.join(", ") }
}

/// Cuts what is heard into one story for each packet that arrives.
struct Storyteller<'s> {
    sources: &'s SourceMap,
    stories: Vec<Story>,
    n_max: usize,
    current: Option<StoryBuilder<'s>>,
}

impl<'s> Storyteller<'s> {
    fn new(sources: &'s SourceMap, stories: Stories) -> Rc<RefCell<Storyteller<'s>>> {
        let n_max = match stories {
            Stories::None => 0,
            Stories::Told(n) => n,
            Stories::IfFailed => usize::MAX,
        };
        Rc::new(RefCell::new(Storyteller { sources, stories: Vec::new(), n_max, current: None }))
    }

    /// The next packet begins; gives the story of the one before.
    fn next(&mut self) {
        self.stories.extend(self.current.take().map(StoryBuilder::finish));
        if self.stories.len() < self.n_max {
            self.current = Some(StoryBuilder::new(Some(self.sources)));
        }
    }
}

impl Observer for Storyteller<'_> {
    fn listens(&self) -> bool {
        self.current.is_some()
    }

    fn event(&mut self, variables: &Variables, span: diagnostics::Span, event: Event<'_>) {
        if let Some(story_builder) = &mut self.current {
            story_builder.event(variables, span, event);
        }
    }
}

/// A device whose packets each begin a story.
struct Told<'a, 's> {
    device: &'a mut dyn stf::Device,
    stories: Rc<RefCell<Storyteller<'s>>>,
}

struct Shared<'s>(Rc<RefCell<Storyteller<'s>>>);

impl Observer for Shared<'_> {
    fn listens(&self) -> bool {
        self.0.borrow().listens()
    }

    fn event(&mut self, variables: &Variables, span: diagnostics::Span, event: Event<'_>) {
        self.0.borrow_mut().event(variables, span, event);
    }
}

impl control::Target for Told<'_, '_> {
    fn write(&mut self, update: &control::Update) -> Result<(), control::Fault> {
        self.device.write(update)
    }

    fn write_many(&mut self, updates: &[&control::Update]) -> Vec<Result<(), control::Fault>> {
        self.device.write_many(updates)
    }

    fn read(&self, query: &control::Query) -> Result<Vec<control::Entity>, control::Fault> {
        self.device.read(query)
    }
}

impl stf::Device for Told<'_, '_> {
    fn receive(&mut self, burst: &[stf::Arriving<'_>], sent: &mut dyn FnMut(usize, u32, &[u8])) {
        for (i, packet) in burst.iter().enumerate() {
            self.stories.borrow_mut().next();
            self.device.receive(&[*packet], &mut |_, port, bytes| sent(i, port, bytes));
        }
    }

    fn advance_clock(&mut self, duration_ns: u64, sent: &mut dyn FnMut(u32, &[u8])) {
        self.device.advance_clock(duration_ns, sent);
    }

    fn take_digests(&mut self) -> Vec<(control::DigestId, control::Data)> {
        self.device.take_digests()
    }
}

fn tell(stories: &[Story], json: bool) {
    for (i, story) in stories.iter().enumerate() {
        match (json, serde_json::to_string(story)) {
            (true, Ok(line)) => output::out(&format!("{line}\n")),
            (true, Err(error)) => output::error_line(&error.to_string()),
            (false, _) => output::out(&format!("Packet {}\n{}\n", i + 1, prose(story))),
        }
    }
}

fn show(faults: &[Diagnostic], sources: &SourceMap, front_end: &FrontEndArgs) {
    let style = Style { color: front_end.color.for_stderr(), ..Style::default() };
    for fault in faults {
        match front_end.error_format {
            ErrorFormat::Human => output::err(&format!("{}\n", render::human(fault, sources, style))),
            ErrorFormat::Short => output::err(&format!("{}\n", render::short(fault, sources))),
            ErrorFormat::Json | ErrorFormat::Sarif => {
                output::out(&format!("{}\n", render::json(fault, sources)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(port: u32, bytes: &[u8]) -> Step {
        Step { what: What::Received(0), sent: vec![(port, bytes.to_vec())], digests: Vec::new() }
    }

    #[test]
    fn differences_are_found() {
        let run = || vec![sent(1, &[1, 2]), sent(2, &[3])];
        assert_eq!(first_difference(&run(), &run()), None);
        let cases = [
            (
                vec![sent(1, &[1, 2]), sent(3, &[3])],
                "after packet 2\n  first: port 2: 03\n  now:   port 3: 03",
            ),
            (
                vec![sent(1, &[1, 3]), sent(2, &[3])],
                "after packet 1\n  first: port 1: 0102\n  now:   port 1: 0103",
            ),
            (vec![sent(1, &[1, 2])], "after packet 1: one ends before the other"),
        ];
        for (found, expected) in cases {
            assert_eq!(first_difference(&run(), &found).as_deref(), Some(expected));
        }
    }
}
