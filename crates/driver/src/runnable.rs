//! From a checked program to one that executors take.

use crate::{Checked, ControlPlane, control_plane};
use arch::Architecture;

/// A program and what its control plane knows of it.
#[derive(Clone, Debug)]
pub struct Runnable {
    pub program: ir::Program,
    pub control_plane: ControlPlane,
}

/// Elaborates a program. What is found on the way joins the diagnostics; `None` after errors.
pub fn runnable(checked: &mut Checked, arch: Option<Architecture>) -> Option<Runnable> {
    let control_plane = control_plane(checked, arch)?;
    match elaborate::elaborate(&checked.program) {
        Ok(program) => Some(Runnable { program, control_plane }),
        Err(faults) => {
            checked.diagnostics.extend(faults);
            None
        }
    }
}
