//! The test programs with their scripts, natively: expectations that the interpreter meets hold for compiled programs.

mod common;
#[path = "common/scripts.rs"]
mod scripts;

use common::TestDir;
use control::Schema;
use diagnostics::render;
use native::{BuildOptions, Native, build, native_device};
use scripts::{Case, cases_in, dirs};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{env, fs};
use target::{Config, Device};
use testkit::{BlockByBlock, Dut, FastPath};

fn cases() -> Vec<Case> {
    let only = env::var("PROGRAM").ok();
    let is_wanted = |dir: &&PathBuf| only.as_ref().is_none_or(|only| dir.to_string_lossy().contains(only));
    // Some of them, and the one whose names could clash in C: `siding stf --backend both tests/programs` runs all.
    let is_chosen = |(i, dir): &(usize, &PathBuf)| only.is_some() || i % 15 == 0 || dir.ends_with("names");
    let chosen = dirs();
    let chosen = chosen.iter().enumerate().filter(is_chosen).map(|(_, dir)| dir);
    chosen.filter(is_wanted).flat_map(|dir| cases_in(dir)).collect()
}

fn device(case: &Case, pipeline: &Arc<native::Pipeline>) -> Result<Device<Native>, String> {
    let schema = Schema::new(&case.runnable.control_plane.p4info).map_err(|e| e.to_string())?;
    native_device(Arc::clone(pipeline), case.runnable.program.clone(), schema, Config::default())
        .map_err(|e| e.to_string())
}

/// The faults that a script finds.
fn run_script(dut: &mut dyn Dut, schema: &Schema, path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    let parsed = stf::parse(&path.to_string_lossy(), &text);
    let (plan, faults) = stf::resolve(&parsed.script, schema);
    let short = |d: &diagnostics::Diagnostic| render::short(d, &parsed.sources);
    let mut found: Vec<String> =
        parsed.diagnostics.iter().chain(faults.iter()).filter(|d| d.is_error()).map(short).collect();
    let report = stf::run(&parsed.script, &plan, &parsed.sources, schema, dut, &|_, _| None);
    found.extend(report.faults.iter().map(short));
    found
}

#[test]
fn scripts_hold_natively() {
    let dir = TestDir::new();
    let mut faults = Vec::new();
    let mut n_scripts = 0;
    for case in cases() {
        let options = BuildOptions { compile: dir.options(), ..Default::default() };
        let pipeline = match build(&case.runnable.program, &case.sources, &options) {
            Ok(pipeline) => pipeline,
            Err(error) => {
                let text = error.to_string();
                faults.push(format!(
                    "{}: {}",
                    case.name,
                    text.lines().take(5).collect::<Vec<_>>().join(" | ")
                ));
                continue;
            }
        };
        if !pipeline.messages().is_empty() {
            faults.push(format!("{}: warnings: {}", case.name, pipeline.messages()));
        }
        for script in &case.scripts {
            n_scripts += 1;
            for is_fast in [false, true] {
                let found = match device(&case, &pipeline) {
                    Ok(device) => {
                        let schema = Arc::clone(&device.entities.schema);
                        let mut dut: Box<dyn Dut> = match is_fast {
                            false => Box::new(BlockByBlock::new(device)),
                            true => Box::new(FastPath::new(device)),
                        };
                        run_script(&mut *dut, &schema, script)
                    }
                    Err(error) => vec![error],
                };
                let path = if is_fast { "fast path" } else { "block by block" };
                faults.extend(found.into_iter().map(|fault| format!("{} ({path}): {fault}", case.name)));
            }
        }
    }
    assert!(n_scripts > 0);
    assert!(faults.is_empty(), "{}\n{} faults", faults.join("\n"), faults.len());
}
