//! From a checked program to one that executors take.

use crate::{Checked, ControlPlane};
use arch::Architecture;
use diagnostics::{Code, Severity};

/// Actions that a controller cannot tell apart (where each table lists one of them at most there is nothing to
/// tell), keys and parameters of types that P4Runtime does not have, and entries with such keys.
static ABOUT_CONTROLLERS: &[Code] =
    &[&check::codes::CONTROL_PLANE_NAME, &p4info::codes::CONTROL_PLANE_TYPE, &p4info::codes::ENTRY_KEY];

/// A program and what its control plane knows of it.
#[derive(Clone, Debug)]
pub struct Runnable {
    pub program: ir::Program,
    pub control_plane: ControlPlane,
}

/// Elaborates a program. What is found on the way joins the diagnostics; `None` after errors.
///
/// What only a controller has no words for is warned of: packets can be run all the same.
pub fn runnable(checked: &mut Checked, arch: Option<Architecture>) -> Option<Runnable> {
    if checked.diagnostics.has_errors() {
        return None;
    }
    let p4info::Built { p4info, entries, diagnostics } =
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
        Ok(program) => Some(Runnable { program, control_plane: ControlPlane { p4info, entries } }),
        Err(faults) => {
            checked.diagnostics.extend(faults);
            None
        }
    }
}

/// The program to be looked at and not run: with marks that do not matter to executors. `None` when it has errors; those
/// found here are added to what was said.
pub fn analysable(checked: &mut Checked) -> Option<ir::Program> {
    if checked.diagnostics.has_errors() {
        return None;
    }
    match elaborate::elaborate_for(&checked.program, elaborate::Purpose::Analysis) {
        Ok(program) => Some(program),
        Err(faults) => {
            checked.diagnostics.extend(faults);
            None
        }
    }
}
