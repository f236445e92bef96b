//! The interpreter as a subject. Only this file uses its interface.

use super::{Compiled, Subject, SubjectKind};
use ir::passes;
use std::sync::Arc;
use testkit::BlockByBlock;

/// The program as elaborated, with which all others are compared.
pub const ELABORATED: SubjectKind = SubjectKind { name: "elaborated", make: |c| interpreter(c, &c.program) };

/// After all passes.
pub const PASSES: SubjectKind = SubjectKind { name: "passes", make: |c| interpreter(c, &passed(c)?) };

/// With all values overwritten that liveness analysis calls dead.
pub const OVERWRITTEN: SubjectKind = SubjectKind {
    name: "overwritten",
    make: |c| {
        let program = ir::oracle::overwrite_dead(&c.program).map_err(|_| "too large".to_string())?;
        interpreter(c, &Arc::new(program))
    },
};

/// After all passes, with dead values overwritten.
pub const PASSES_OVERWRITTEN: SubjectKind = SubjectKind {
    name: "passes-overwritten",
    make: |c| {
        let program = ir::oracle::overwrite_dead(&*passed(c)?).map_err(|_| "too large".to_string())?;
        interpreter(c, &Arc::new(program))
    },
};

/// Cut before every table and after externs; the pieces in place.
pub const CUT: SubjectKind = SubjectKind {
    name: "cut",
    make: |c| {
        let cut = ir::segments::segments(&c.program, &may_wait).map_err(|_| "too large".to_string())?;
        interpreter(c, &Arc::new(cut.program))
    },
};

fn may_wait(_: &ir::Program, _: &ir::segments::Wait) -> bool {
    true
}

/// Written to text and read again.
pub const REREAD: SubjectKind = SubjectKind {
    name: "reread",
    make: |c| {
        let text = ir::text::print(&c.program);
        let program = ir::text::parse(&text).unwrap_or_else(|e| panic_with(&format!("{e:?}")));
        interpreter(c, &Arc::new(program))
    },
};

/// The variants with which the interpreter is compared.
pub const ALL: &[SubjectKind] = &[PASSES, OVERWRITTEN, PASSES_OVERWRITTEN, CUT, REREAD];

pub(super) fn passed(compiled: &Compiled) -> Result<Arc<ir::Program>, String> {
    let mut program = ir::Program::clone(&compiled.program);
    passes::run(&mut program, passes::DEFAULT).unwrap_or_else(|e| panic_with(&e.to_string()));
    ir::validate(&program).unwrap_or_else(|v| panic_with(&format!("the passes broke the program: {v:?}")));
    Ok(Arc::new(program))
}

/// A broken program is a finding, as a panic is.
pub(super) fn panic_with(what: &str) -> ! {
    std::panic::panic_any(what.to_string())
}

fn interpreter(compiled: &Compiled, program: &Arc<ir::Program>) -> Result<Subject, String> {
    let device = new(compiled, program)?;
    Ok(Subject { dut: Box::new(BlockByBlock::new(device)), burst_max: 1 })
}

fn new(compiled: &Compiled, program: &Arc<ir::Program>) -> Result<interp::InterpretedDevice, String> {
    interp::interpreter(Arc::clone(program), Arc::clone(&compiled.schema), super::config())
        .map_err(|e| e.to_string())
}

/// Runs a script on the interpreter; returns its faults.
pub fn replay(compiled: &Compiled, script: &str) -> Vec<String> {
    let stf::Parsed { script, diagnostics, sources } = stf::parse("test.stf", script);
    let shown = |d: &diagnostics::Diagnostic| diagnostics::render::short(d, &sources);
    let mut faults: Vec<String> = diagnostics.iter().map(shown).collect();
    let (plan, diagnostics) = stf::resolve(&script, &compiled.schema);
    faults.extend(diagnostics.iter().filter(|d| d.is_error()).map(shown));
    match new(compiled, &compiled.program) {
        Err(why) => faults.push(why),
        Ok(device) => {
            let mut dut = BlockByBlock::new(device);
            let report = stf::run(&script, &plan, &sources, &compiled.schema, &mut dut, &|_, _| None);
            faults.extend(report.faults.iter().map(shown));
        }
    }
    faults
}
