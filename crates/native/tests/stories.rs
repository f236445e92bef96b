//! The stories of the packets of all scripts: compiled code that tells every step tells what the interpreter tells.
//!
//! `PROGRAM=name` takes only programs with such a name, `STORIES=all` takes all of them.

mod common;
#[path = "common/scripts.rs"]
mod scripts;

use common::TestDir;
use control::Schema;
use interp::Follower;
use native::{BuildOptions, Native, Observing, Trace, build, native_device};
use scripts::{Case, cases_in, dirs, files, load, root};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{env, fs};
use target::{BlockRunner, Config, Device, Store};
use testkit::{BlockByBlock, Observed, Trial};
use trace::{Story, StoryBuilder};

/// One of so many programs under `tests/programs` is run; all take too long for every day.
const EVERY: usize = 6;

fn cases() -> Vec<Case> {
    let only = env::var("PROGRAM").ok();
    let is_wanted = |path: &Path| only.as_ref().is_none_or(|only| path.to_string_lossy().contains(only));
    let all = only.is_some() || env::var("STORIES").is_ok_and(|wanted| wanted == "all");
    let dirs: Vec<PathBuf> = dirs().into_iter().filter(|dir| is_wanted(dir)).collect();
    let programs = dirs.iter().step_by(if all { 1 } else { EVERY }).flat_map(|dir| cases_in(dir));
    let folders = std::fs::read_dir(root().join("examples")).unwrap().map(|folder| folder.unwrap().path());
    let mut examples: Vec<PathBuf> =
        folders.filter(|path| path.is_dir()).flat_map(|folder| files(&folder, "stf")).collect();
    examples.sort();
    let examples = examples.into_iter().filter(|script| is_wanted(script));
    let examples = examples.map(|script| {
        // Descriptions of architectures are beside the programs.
        for description in script.parent().map(|folder| files(folder, "toml")).unwrap_or_default() {
            arch::Architecture::add(&std::fs::read_to_string(description).unwrap()).unwrap();
        }
        load(&script.with_extension("p4"), vec![script.clone()])
    });
    programs.chain(examples).collect()
}

const HEAD: &str = "
#include <core.p4>
#include <v1model.p4>
extern bit<8> mystery(in bit<8> x);
header h_t { bit<8> f; }
struct hdr_t { h_t h; }
struct m_t { bit<8> x; }
parser P(packet_in b, out hdr_t hdr, inout m_t m, inout standard_metadata_t s) {
";

const TAIL: &str = "
}
control C(inout hdr_t hdr, inout m_t m) { apply {} }
control E(inout hdr_t hdr, inout m_t m, inout standard_metadata_t s) { apply {} }
control D(packet_out b, in hdr_t hdr) { apply { b.emit(hdr); } }
V1Switch(P(), C(), I(), E(), C(), D()) main;
";

/// The stories of one packet to a program that no script is for: of the interpreter, and of compiled code.
fn of_one_packet(dir: &TestDir, name: &str, middle: &str) -> [Story; 2] {
    let path = dir.path.join(format!("{name}.p4"));
    fs::write(&path, format!("{HEAD}{middle}{TAIL}")).unwrap();
    let Case { runnable, sources, .. } = load(&path, vec![path.clone()]);
    let schema = || Schema::new(&runnable.control_plane.p4info).unwrap();
    let mut expected = StoryBuilder::new(Some(&sources));
    let mut device = interp::interpreter(runnable.program.clone(), schema(), Config::default()).unwrap();
    device.switch.inject(1, &[7, 8], &mut expected);
    let pipeline = build(&runnable.program, &sources, &telling(dir)).unwrap();
    let mut found = StoryBuilder::new(Some(&sources));
    let mut device = native_device(pipeline, runnable.program.clone(), schema(), Config::default()).unwrap();
    follow(&mut device);
    device.switch.inject(1, &[7, 8], &mut Observing(&mut found));
    [expected.finish(), found.finish()]
}

fn follow(device: &mut Device<Native>) {
    let program = Arc::clone(device.switch.runner.program());
    let follower = Follower::of_program(program, Config::default().load).unwrap();
    device.switch.runner.follow(Box::new(follower)).unwrap();
}

/// Steps are counted otherwise in compiled code, see LIMITATIONS.md.
#[test]
fn what_never_ends_is_told_as_far_as_stories_go() {
    let dir = TestDir::new();
    let middle =
        "    state start { m.x = m.x + 1; transition select(hdr.h.f) { 1: accept; default: start; } }
}
control I(inout hdr_t hdr, inout m_t m, inout standard_metadata_t s) { apply {}";
    let [expected, found] = of_one_packet(&dir, "endless", middle);
    assert!(expected.n_left_out > 0 && found.n_left_out > 0);
    assert_eq!((&found.steps, &found.verdicts), (&expected.steps, &expected.verdicts));
}

#[test]
fn calls_that_stop_a_packet_are_told() {
    let dir = TestDir::new();
    let middle = |statement: &str| {
        format!(
            "    state start {{ b.extract(hdr.h); transition accept; }}
}}
control I(inout hdr_t hdr, inout m_t m, inout standard_metadata_t s) {{
    action a(bit<8> n) {{ m.x = n; {statement} m.x = 9; }}
    table t {{ key = {{ hdr.h.f: exact; }} actions = {{ a; }} const entries = {{ 7: a(3); }} }}
    apply {{ t.apply(); s.egress_spec = 1; }}"
        )
    };
    let statements = [
        ("supplied_by_nobody", "m.x = mystery(hdr.h.f);", "extern_not_supplied"),
        ("asserted", "assert(hdr.h.f == 8);", "assertion_failed"),
        ("assumed", "assume(m.x == 4);", "assumption_failed"),
    ];
    for (name, statement, reason) in statements {
        let [expected, found] = of_one_packet(&dir, name, &middle(statement));
        assert!(format!("{:?}", expected.verdicts).contains(reason), "{name}: {:?}", expected.verdicts);
        assert_eq!(found, expected, "{name}");
    }
}

/// The stories of the packets of a script, as JSON.
fn tell<B: Observed + Store>(case: &Case, script: &Path, device: Device<B>) -> Vec<String> {
    let text = fs::read_to_string(script).unwrap();
    let parsed = stf::parse(&script.to_string_lossy(), &text);
    let schema = Arc::clone(&device.entities.schema);
    let (plan, _) = stf::resolve(&parsed.script, &schema);
    let trial = Trial { script: &parsed.script, plan: &plan, sources: &parsed.sources, schema };
    let (_, stories) = trial.run_with_stories(&mut BlockByBlock::new(device), &case.sources, usize::MAX);
    stories.iter().map(|story| serde_json::to_string(story).unwrap()).collect()
}

fn interpreted(case: &Case, script: &Path) -> Vec<String> {
    let schema = Schema::new(&case.runnable.control_plane.p4info).unwrap();
    let mut device = interp::interpreter(case.runnable.program.clone(), schema, Config::default()).unwrap();
    let engine = &mut device.switch.runner;
    let mut supply = |name, function| engine.externs.supply(name, function);
    externs::supply(&externs::ExternSet::new(), &case.runnable.program, &mut supply).unwrap();
    tell(case, script, device)
}

fn compiled(case: &Case, script: &Path, pipeline: &Arc<native::Pipeline>) -> Vec<String> {
    let schema = Schema::new(&case.runnable.control_plane.p4info).unwrap();
    let program = case.runnable.program.clone();
    let mut device = native_device(Arc::clone(pipeline), program, schema, Config::default()).unwrap();
    follow(&mut device);
    tell(case, script, device)
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

fn telling(dir: &TestDir) -> BuildOptions {
    let mut options = BuildOptions { compile: dir.options(), ..Default::default() };
    options.compile.trace = Trace::On;
    options.generate.trace = true;
    options
}

#[test]
fn compiled_code_tells_the_stories_of_the_interpreter() {
    let dir = TestDir::new();
    let (mut faults, mut n_stories) = (Vec::new(), 0);
    for case in cases() {
        let pipeline = match build(&case.runnable.program, &case.sources, &telling(&dir)) {
            Ok(pipeline) => pipeline,
            Err(error) => {
                faults.push(format!("{}: {error}", case.name));
                continue;
            }
        };
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
