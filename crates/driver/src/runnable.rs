//! Conversion of a checked program to one that backends run.

use crate::{Checked, ControlPlane};
use arch::Architecture;
use diagnostics::{Code, Diagnostic, Severity};

/// Errors that concern only a controller: actions with equal names (harmless if each table lists one of them
/// at most), keys and parameters of types that P4Runtime does not have, and entries with such keys.
static ABOUT_CONTROLLERS: &[Code] =
    &[&check::codes::CONTROL_PLANE_NAME, &p4info::codes::CONTROL_PLANE_TYPE, &p4info::codes::ENTRY_KEY];

/// A program and its control-plane description.
#[derive(Clone, Debug)]
pub struct Runnable {
    pub program: ir::Program,
    pub control_plane: ControlPlane,
}

/// Elaborates a program. Adds its findings to the diagnostics; returns `None` after errors.
///
/// Errors that concern only a controller become warnings, because the program can still process packets.
pub fn runnable(checked: &mut Checked, arch: Option<Architecture>) -> Option<Runnable> {
    if checked.diagnostics.has_errors() {
        return None;
    }
    let p4info::Built { p4info, entries, controller_headers, diagnostics } =
        p4info::build(&checked.program, &checked.sources, arch);
    checked.diagnostics.extend(diagnostics.into_vec().into_iter().map(|mut d| {
        if ABOUT_CONTROLLERS.iter().any(|code| code.id == d.code.id) {
            d.severity = Severity::Warning;
        }
        d
    }));
    if checked.diagnostics.has_errors() {
        return None;
    }
    match elaborate::elaborate(&checked.program) {
        Ok(program) => {
            let values = crate::named_values(&checked.program);
            Some(Runnable {
                program,
                control_plane: ControlPlane { p4info, entries, values, controller_headers },
            })
        }
        Err(faults) => {
            checked.diagnostics.extend(faults);
            None
        }
    }
}

/// Elaborates a program for analysis, with markers that backends do not need. Returns `None` after errors;
/// adds its findings to the diagnostics.
pub fn analysable(checked: &mut Checked) -> Option<ir::Program> {
    elaborated(checked, |program| elaborate::elaborate_for(program, elaborate::Purpose::Analysis))
}

/// Elaborates a program as it runs, or as for analysis if no architecture here can run it. Returns `None` after errors;
/// adds its findings to the diagnostics.
pub fn presentable(checked: &mut Checked) -> Option<ir::Program> {
    elaborated(checked, |program| {
        elaborate::elaborate(program).or_else(|faults| {
            let cannot_run = faults.iter().all(|fault| fault.code.id == elaborate::codes::NO_PIPELINE.id);
            match cannot_run {
                true => elaborate::elaborate_for(program, elaborate::Purpose::Analysis),
                false => Err(faults),
            }
        })
    })
}

fn elaborated(
    checked: &mut Checked,
    elaborate: impl FnOnce(&check::program::Program) -> Result<ir::Program, Vec<Diagnostic>>,
) -> Option<ir::Program> {
    if checked.diagnostics.has_errors() {
        return None;
    }
    match elaborate(&checked.program) {
        Ok(program) => Some(program),
        Err(faults) => {
            checked.diagnostics.extend(faults);
            None
        }
    }
}
