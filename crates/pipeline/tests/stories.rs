//! The stories of the packets of all scripts: compiled code that tells every step tells what the interpreter tells.
//!
//! `PROGRAM=name` takes only programs with such a name, `STORIES=all` takes all of them.

mod common;

use common::TestDir;
use control::Schema;
use device::{Config, Device, Executor, Store};
use diagnostics::SourceMap;
use driver::Runnable;
use interp::{Event, Executable, Observer, Story, Teller};
use pipeline::{BuildOptions, Observing, Trace, build, native_device};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::{env, fs};

/// Of the programs under `tests/programs`; more take too long for every day.
const EVERY: usize = 4;

struct Case {
    name: String,
    runnable: Runnable,
    sources: SourceMap,
    scripts: Vec<PathBuf>,
}

/// A program and the scripts beside it.
fn load(program: &Path, scripts: Vec<PathBuf>) -> Option<Case> {
    if scripts.is_empty() {
        return None;
    }
    let source = driver::read_source(program).unwrap();
    let mut checked = driver::check(&source, &driver::FileLoader::default(), &driver::Options::default());
    let runnable =
        driver::runnable(&mut checked, None).unwrap_or_else(|| panic!("{:?}", checked.diagnostics));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let name = program.strip_prefix(&root).unwrap_or(program).display().to_string();
    Some(Case { name, runnable, sources: checked.sources, scripts })
}

fn files(dir: &Path, extension: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == extension));
    files.sort();
    files
}

fn cases() -> Vec<Case> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let only = env::var("PROGRAM").ok();
    let is_wanted = |path: &Path| only.as_ref().is_none_or(|only| path.to_string_lossy().contains(only));
    let all = only.is_some() || env::var("STORIES").is_ok_and(|wanted| wanted == "all");
    let mut dirs: Vec<PathBuf> =
        fs::read_dir(root.join("tests/programs")).unwrap().map(|entry| entry.unwrap().path()).collect();
    dirs.retain(|dir| dir.is_dir() && is_wanted(dir));
    dirs.sort();
    let programs = dirs
        .iter()
        .step_by(if all { 1 } else { EVERY })
        .filter_map(|dir| load(&dir.join("program.p4"), files(dir, "stf")));
    let examples = files(&root.join("examples"), "stf");
    let examples = examples.into_iter().filter(|script| is_wanted(script));
    let examples = examples.filter_map(|script| load(&script.with_extension("p4"), vec![script.clone()]));
    programs.chain(examples).collect()
}

/// One story for each packet that arrives, and for what happens when time passes.
#[derive(Default)]
struct Stories<'s> {
    done: Vec<Story>,
    current: Option<Teller<'s>>,
}

#[derive(Clone)]
struct Shared<'s>(Rc<RefCell<Stories<'s>>>);

impl Observer for Shared<'_> {
    fn event(&mut self, exe: &Executable, span: diagnostics::Span, event: Event<'_>) {
        if let Some(teller) = &mut self.0.borrow_mut().current {
            teller.event(exe, span, event);
        }
    }
}

struct Told<'a, 's> {
    device: &'a mut dyn stf::Device,
    sources: &'s SourceMap,
    stories: Shared<'s>,
}

impl Told<'_, '_> {
    fn next(&mut self) {
        let mut stories = self.stories.0.borrow_mut();
        let before = stories.current.replace(Teller::new(Some(self.sources)));
        stories.done.extend(before.map(Teller::finish));
    }
}

impl control::Target for Told<'_, '_> {
    fn write(&mut self, update: &control::Update) -> Result<(), control::Fault> {
        self.device.write(update)
    }

    fn read(&self, query: &control::Query) -> Result<Vec<control::Entity>, control::Fault> {
        self.device.read(query)
    }
}

impl stf::Device for Told<'_, '_> {
    fn receive(&mut self, port: u32, bytes: &[u8], sent: &mut dyn FnMut(u32, &[u8])) {
        self.next();
        self.device.receive(port, bytes, sent);
    }

    fn advance_clock(&mut self, duration_ns: u64, sent: &mut dyn FnMut(u32, &[u8])) {
        self.next();
        self.device.advance_clock(duration_ns, sent);
    }

    fn take_digests(&mut self) -> Vec<(control::DigestId, control::Data)> {
        self.device.take_digests()
    }
}

/// What a script makes a device tell, as JSON.
fn tell<E: Executor + Store>(
    case: &Case,
    script: &Path,
    device: &mut Device<E>,
    run: impl FnOnce(&mut Device<E>, &mut Shared<'_>, &mut dyn FnMut(&mut dyn stf::Device)),
) -> Vec<String> {
    let text = fs::read_to_string(script).unwrap();
    let parsed = stf::parse(&script.to_string_lossy(), &text);
    let schema = Arc::clone(&device.entities.schema);
    let (plan, _) = stf::resolve(&parsed.script, &schema);
    let stories = Shared(Rc::default());
    run(device, &mut stories.clone(), &mut |device| {
        let mut told = Told { device, sources: &case.sources, stories: stories.clone() };
        stf::run(&parsed.script, &plan, &parsed.sources, &schema, &mut told, &|_, _| None);
        told.next();
    });
    let done = std::mem::take(&mut stories.0.borrow_mut().done);
    done.iter().map(|story| serde_json::to_string(story).unwrap()).collect()
}

fn interpreted(case: &Case, script: &Path) -> Vec<String> {
    let schema = Schema::new(&case.runnable.control_plane.p4info).unwrap();
    let mut device = interp::interpreter(case.runnable.program.clone(), schema, Config::default()).unwrap();
    tell(case, script, &mut device, |device, observer, run| run(&mut stf::Driven { device, observer }))
}

fn compiled(case: &Case, script: &Path, pipeline: &Arc<pipeline::Pipeline>) -> Vec<String> {
    let schema = Schema::new(&case.runnable.control_plane.p4info).unwrap();
    let program = case.runnable.program.clone();
    let mut device = native_device(Arc::clone(pipeline), program, schema, Config::default()).unwrap();
    tell(case, script, &mut device, |device, observer, run| {
        run(&mut stf::Driven { device, observer: &mut Observing(observer) });
    })
}

/// Where two stories part, and the steps there.
fn difference(expected: &str, found: &str) -> Option<String> {
    if expected == found {
        return None;
    }
    let parts = |json: &str| -> Vec<String> {
        let story: Story = serde_json::from_str(json).unwrap();
        let steps = story.steps.iter().map(|step| format!("{step:?}"));
        steps.chain(story.verdicts.iter().map(|verdict| format!("{verdict:?}"))).collect()
    };
    let (expected, found) = (parts(expected), parts(found));
    let n = expected.len().max(found.len());
    let differs = (0..n).find(|i| expected.get(*i) != found.get(*i)).unwrap_or(n);
    Some(format!(
        "at step {differs}\n  interpreter: {:?}\n  compiled:    {:?}",
        expected.get(differs),
        found.get(differs)
    ))
}

#[test]
fn compiled_code_tells_the_stories_of_the_interpreter() {
    let dir = TestDir::new();
    let (mut faults, mut n_stories) = (Vec::new(), 0);
    for case in cases() {
        let mut options = BuildOptions { compile: dir.options(), ..Default::default() };
        options.compile.trace = Trace::On;
        options.generate.trace = true;
        let pipeline = match build(&case.runnable.program, &case.sources, &options) {
            Ok(pipeline) => pipeline,
            Err(error) => {
                faults.push(format!("{}: {error}", case.name));
                continue;
            }
        };
        if !pipeline.messages().is_empty() {
            faults.push(format!("{}: warnings: {}", case.name, pipeline.messages()));
        }
        for script in &case.scripts {
            let (expected, found) = (interpreted(&case, script), compiled(&case, script, &pipeline));
            n_stories += expected.len();
            let script = script.file_stem().unwrap_or_default().to_string_lossy();
            if expected.len() != found.len() {
                faults.push(format!(
                    "{}, {script}: {} and {} stories",
                    case.name,
                    expected.len(),
                    found.len()
                ));
            }
            for (i, (expected, found)) in expected.iter().zip(&found).enumerate() {
                if let Some(what) = difference(expected, found) {
                    faults.push(format!("{}, {script}, story {i}: {what}", case.name));
                }
            }
        }
    }
    assert!(n_stories > 0);
    assert!(faults.is_empty(), "{}\n{} faults in {n_stories} stories", faults.join("\n"), faults.len());
}
