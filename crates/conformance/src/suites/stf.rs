//! Test scripts of the samples: packets in, packets out.

use crate::corpus::{Corpus, Program};
use crate::front_end;
use crate::runner::Verdict;
use control::Schema;
use diagnostics::{Diagnostic, SourceMap, render};
use driver::Runnable;
use interp::traffic::Config;
use native::BurstPath;
use std::path::Path;
use std::sync::Arc;
use testkit::{BURST_MAX, BlockByBlock, Dut, FastPath};

const SAMPLES: &str = "testdata/p4_16_samples";
const SAMPLES_OUT: &str = "testdata/p4_16_samples_outputs";
/// Older programs, whose conversions by p4c lie among the outputs.
const CONVERTED: &str = "testdata/p4_14_samples";
const CONVERTED_OUT: &str = "testdata/p4_14_samples_outputs";

/// Suffixes of the programs that p4c prints after its passes.
const PASSES: [&str; 3] = ["-first", "-frontend", "-midend"];

/// Scripts of ours for samples that BMv2's compiler refuses, by the name of the sample.
const OWN: &[(&str, &str)] = &[
    ("hashing-non-tuple-bmv2", include_str!("../../scripts/hashing-non-tuple-bmv2.stf")),
    ("issue1062-bmv2", include_str!("../../scripts/issue1062-bmv2.stf")),
    ("issue1193-bmv2", include_str!("../../scripts/issue1193-bmv2.stf")),
    ("issue1765-1-bmv2", include_str!("../../scripts/issue1765-1-bmv2.stf")),
    ("issue1765-bmv2", include_str!("../../scripts/issue1765-bmv2.stf")),
    ("issue1882-1-bmv2", include_str!("../../scripts/issue1882-1-bmv2.stf")),
    ("issue1882-bmv2", include_str!("../../scripts/issue1882-bmv2.stf")),
    ("issue2664-bmv2", include_str!("../../scripts/issue2664-bmv2.stf")),
    ("issue584-1-bmv2", include_str!("../../scripts/issue584-1-bmv2.stf")),
    ("issue692-bmv2", include_str!("../../scripts/issue692-bmv2.stf")),
    ("issue907-bmv2", include_str!("../../scripts/issue907-bmv2.stf")),
    ("issue986-bmv2", include_str!("../../scripts/issue986-bmv2.stf")),
];
const OWN_PREFIX: &str = "own/";

/// Returns the scripts of the samples and of the conversions that have a program. A case has the name of its script
/// and the path of its program.
pub(super) fn cases(corpus: &Corpus) -> Vec<Program> {
    if corpus.preprocessing().is_some() {
        let with_program = |script: Program| {
            let path = script.path.with_extension("p4");
            let path = if path.is_file() { path } else { script.path.with_file_name("program.p4") };
            Some(Program { name: script.name, path })
                .filter(|case| case.path.is_file() && is_ours(&case.path))
        };
        return corpus.scripts("").into_iter().filter_map(with_program).collect();
    }
    let mut cases = Vec::new();
    for script in corpus.scripts(SAMPLES) {
        let path = script.path.with_extension("p4");
        if path.is_file() && is_ours(&path) {
            cases.push(Program { name: script.name, path });
        }
    }
    for (sample, _) in OWN {
        let path = corpus.sample_path(&format!("{sample}.p4"));
        cases.push(Program { name: format!("{OWN_PREFIX}{sample}.stf"), path });
    }
    for script in corpus.scripts(CONVERTED) {
        let name = Path::new(&script.name).with_extension("p4");
        let path = corpus.file(CONVERTED_OUT).join(name);
        if path.is_file() {
            cases.push(Program { name: format!("p4_14_samples/{}", script.name), path });
        }
    }
    cases
}

/// Returns the samples' scripts with the programs that p4c prints after its passes.
pub(super) fn rewritten_cases(corpus: &Corpus) -> Vec<Program> {
    let mut cases = Vec::new();
    for Program { name, path } in cases_of_samples(corpus) {
        let Some(stem) = name.strip_suffix(".stf") else { continue };
        for pass in PASSES {
            let rewritten = corpus.file(SAMPLES_OUT).join(format!("{stem}{pass}.p4"));
            if rewritten.is_file() && path.is_file() {
                cases.push(Program { name: format!("{name}{pass}"), path: rewritten });
            }
        }
    }
    cases
}

fn cases_of_samples(corpus: &Corpus) -> impl Iterator<Item = Program> {
    let of_sample =
        |case: &Program| !case.name.starts_with("p4_14_samples/") && !case.name.starts_with(OWN_PREFIX);
    cases(corpus).into_iter().filter(of_sample)
}

/// True if the program can run: it has a `main` or includes files.
fn is_ours(program: &Path) -> bool {
    let text = std::fs::read(program).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let main = text.lines().any(|line| line.contains("main;") || line.contains(") main"));
    main || text.contains("#include")
}

fn text_of(corpus: &Corpus, name: &str) -> Result<String, String> {
    if corpus.preprocessing().is_some() {
        let bytes = std::fs::read(corpus.file(name)).map_err(|e| e.to_string())?;
        return Ok(String::from_utf8_lossy(&bytes).into_owned());
    }
    let name = PASSES.iter().find_map(|pass| name.strip_suffix(pass)).unwrap_or(name);
    if let Some(own) = name.strip_prefix(OWN_PREFIX) {
        let text = OWN.iter().find(|(sample, _)| own.strip_suffix(".stf") == Some(sample));
        return text.map(|(_, text)| text.to_string()).ok_or_else(|| format!("no script {own}"));
    }
    let path = match name.strip_prefix("p4_14_samples/") {
        Some(name) => corpus.file(CONVERTED).join(name),
        None => corpus.file(SAMPLES).join(name),
    };
    let bytes = std::fs::read(&path).map_err(|e| e.to_string())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

pub(super) fn judge(corpus: &Corpus, case: &Program) -> Verdict {
    match run(corpus, case) {
        Ok(()) => Verdict::Pass,
        Err(reason) => Verdict::Fail(reason.replace('\n', " ")),
    }
}

/// Runs the script on the program as elaborated, after the passes, and with dead values overwritten; the three must
/// agree.
fn run(corpus: &Corpus, case: &Program) -> Result<(), String> {
    let mut checked = front_end::check(corpus, case)?;
    let Some(mut runnable) = driver::runnable(&mut checked, None) else {
        return Err(front_end::first_error(&checked).unwrap_or_default());
    };
    run_program(corpus, case, &runnable)?;
    let elaborated = runnable.program.clone();
    ::ir::passes::run(&mut runnable.program, ::ir::passes::DEFAULT).map_err(|e| e.to_string())?;
    run_program(corpus, case, &runnable).map_err(|e| format!("after the passes: {e}"))?;
    // The oracle overwrites values that liveness analysis calls dead, which must not change the result.
    let Ok(overwritten) = ::ir::oracle::overwrite_dead(&elaborated) else { return Ok(()) };
    runnable.program = overwritten;
    run_program(corpus, case, &runnable).map_err(|e| format!("with dead values overwritten: {e}"))
}

/// Runs a case in native code: block by block, and on each burst path of the program in bursts of several lengths.
pub(super) fn judge_native(corpus: &Corpus, case: &Program) -> Verdict {
    match run_native(corpus, case) {
        Ok(()) => Verdict::Pass,
        Err(reason) => Verdict::Fail(reason.replace('\n', " ")),
    }
}

fn run_native(corpus: &Corpus, case: &Program) -> Result<(), String> {
    let mut checked = front_end::check(corpus, case)?;
    let Some(mut runnable) = driver::runnable(&mut checked, None) else {
        return Err(front_end::first_error(&checked).unwrap_or_default());
    };
    ::ir::passes::run(&mut runnable.program, ::ir::passes::DEFAULT).map_err(|e| e.to_string())?;
    let schema = Schema::new(&runnable.control_plane.p4info).map_err(|e| e.to_string())?;
    let schema = Arc::new(schema);
    // Compiled to be tested, not to be fast.
    let mut options = native::BuildOptions::default();
    options.generate.program_name.clone_from(&case.name);
    options.compile.optimise = native::Optimise::Little;
    options.compile.machine = native::Machine::Any;
    let built = native::build(&runnable.program, &checked.sources, &options).map_err(|e| e.to_string())?;

    let parsed = stf::parse(&case.name, &text_of(corpus, &case.name)?);
    first(parsed.diagnostics.iter(), &parsed.sources)?;
    let (plan, faults) = stf::resolve(&parsed.script, &schema);
    first(faults.iter(), &parsed.sources)?;
    let config = Config::default();
    let program = Arc::new(runnable.program);
    let fresh = |path: BurstPath| {
        let (built, program, schema) = (Arc::clone(&built), Arc::clone(&program), Arc::clone(&schema));
        let device = native::native_device_on(built, program, schema, config.clone(), path);
        let mut device = device.map_err(|e| e.to_string())?;
        super::externs::supply(&mut |name, function| device.switch.runner.supply(name, function));
        Ok::<_, String>(device)
    };
    let run = |dut: &mut dyn Dut, n_max: usize| {
        let stf::Parsed { script, sources, .. } = &parsed;
        let report = stf::run_in_bursts(script, &plan, sources, &schema, dut, &|_, _| None, n_max);
        first(report.faults.iter(), sources)
    };
    run(&mut BlockByBlock::new(fresh(BurstPath::Auto)?), 1).map_err(|e| format!("block by block: {e}"))?;
    for path in BurstPath::of(built.layout()) {
        for n_max in 1..=plan.longest_burst().clamp(1, BURST_MAX) {
            run(&mut FastPath::new(fresh(*path)?), n_max)
                .map_err(|e| format!("in bursts of {n_max} (SIDING_BURSTS={}): {e}", path.name()))?;
        }
    }
    Ok(())
}

fn run_program(corpus: &Corpus, case: &Program, runnable: &Runnable) -> Result<(), String> {
    let schema = Schema::new(&runnable.control_plane.p4info).map_err(|e| e.to_string())?;
    let mut interpreter = interp::interpreter(runnable.program.clone(), schema, Config::default())
        .map_err(|e| e.to_string())?;
    let runner = &mut interpreter.switch.runner;
    match corpus.preprocessing() {
        None => super::externs::supply(&mut |name, function| runner.externs.supply(name, function)),
        Some(_) => {
            let built_in = ::externs::ExternSet::new();
            ::externs::supply(&built_in, &runnable.program, &mut |name, function| {
                runner.externs.supply(name, function);
            })
            .map_err(|e| e.to_string())?;
        }
    }
    let schema = Arc::clone(&interpreter.entities.schema);

    let parsed = stf::parse(&case.name, &text_of(corpus, &case.name)?);
    first(parsed.diagnostics.iter(), &parsed.sources)?;
    let (plan, faults) = stf::resolve(&parsed.script, &schema);
    first(faults.iter(), &parsed.sources)?;
    let mut dut = BlockByBlock::new(interpreter);
    let report = stf::run(&parsed.script, &plan, &parsed.sources, &schema, &mut dut, &|_, _| None);
    first(report.faults.iter(), &parsed.sources)
}

/// The first error as one line.
fn first<'a>(mut faults: impl Iterator<Item = &'a Diagnostic>, sources: &SourceMap) -> Result<(), String> {
    match faults.find(|d| d.is_error()) {
        Some(fault) => Err(render::short(fault, sources)),
        None => Ok(()),
    }
}
