//! Passes: each simplifies the code of a program without changing its meaning, for any contents of its tables.
//!
//! Start reading at [`run`].

mod fold_constants;
mod inline_procedures;
mod pass_by_reference;
mod propagate_copies;
mod remove_dead;
mod remove_zeros;
mod simplify_cfg;

pub use fold_constants::fold_constants;
pub use inline_procedures::{inline_called_once, inline_procedures};
pub use pass_by_reference::pass_by_reference;
pub use propagate_copies::propagate_copies;
pub use remove_dead::remove_dead;
pub use remove_zeros::remove_zeros;
pub use simplify_cfg::simplify_cfg;

use crate::{Program, Violation, validate};

/// A change of the whole program, by name.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    pub name: &'static str,
    pub run: fn(&mut Program),
}

pub const SIMPLIFY_CFG: Pass = Pass { name: "simplify_cfg", run: simplify_cfg };
pub const FOLD_CONSTANTS: Pass = Pass { name: "fold_constants", run: fold_constants };
pub const PROPAGATE_COPIES: Pass = Pass { name: "propagate_copies", run: propagate_copies };
pub const REMOVE_DEAD: Pass = Pass { name: "remove_dead", run: remove_dead };
pub const INLINE_CALLED_ONCE: Pass = Pass { name: "inline_called_once", run: inline_called_once };
pub const REMOVE_ZEROS: Pass = Pass { name: "remove_zeros", run: remove_zeros };
pub const PASS_BY_REFERENCE: Pass = Pass { name: "pass_by_reference", run: pass_by_reference };

/// The passes of every compilation, in this order.
pub const DEFAULT: &[Pass] = &[
    INLINE_CALLED_ONCE,
    PASS_BY_REFERENCE,
    FOLD_CONSTANTS,
    SIMPLIFY_CFG,
    PROPAGATE_COPIES,
    FOLD_CONSTANTS,
    REMOVE_DEAD,
    SIMPLIFY_CFG,
    REMOVE_ZEROS,
];

/// A pass that made an invalid program of a valid one: a mistake in the pass.
#[derive(Clone, Debug)]
pub struct BrokenPass {
    pub name: &'static str,
    pub violations: Vec<Violation>,
}

impl std::fmt::Display for BrokenPass {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the pass `{}` broke the program:", self.name)?;
        self.violations.iter().try_for_each(|violation| write!(f, "\n  {violation}"))
    }
}

impl std::error::Error for BrokenPass {}

/// Runs passes one after the other. Builds with debug assertions validate the program after each.
pub fn run(program: &mut Program, passes: &[Pass]) -> Result<(), BrokenPass> {
    for pass in passes {
        (pass.run)(program);
        if cfg!(debug_assertions) {
            validate(program).map_err(|violations| BrokenPass { name: pass.name, violations })?;
        }
    }
    Ok(())
}
