//! From a checked program to one that executors take.

use crate::{Checked, ControlPlane};
use arch::Architecture;
use check::codes::CONTROL_PLANE_NAME;
use diagnostics::Severity;

/// A program and what its control plane knows of it.
#[derive(Clone, Debug)]
pub struct Runnable {
    pub program: ir::Program,
    pub control_plane: ControlPlane,
}

/// Elaborates a program. What is found on the way joins the diagnostics; `None` after errors.
///
/// Actions with one control-plane name are only warned of: a controller cannot tell them apart, but where each
/// table lists one of them at most there is nothing to tell.
pub fn runnable(checked: &mut Checked, arch: Option<Architecture>) -> Option<Runnable> {
    if checked.diagnostics.has_errors() {
        return None;
    }
    let p4info::Built { p4info, entries, diagnostics } =
        p4info::build(&checked.program, &checked.sources, arch);
    checked.diagnostics.extend(diagnostics.into_vec().into_iter().map(|mut d| {
        if d.code.id == CONTROL_PLANE_NAME.id {
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
