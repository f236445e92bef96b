//! The places where packets suspend, and the state that they save.

pub(crate) mod offload;
pub(crate) mod offload_batch;
pub(crate) mod plan;
pub(crate) mod prefetch_groups;
pub(crate) mod saved_state;

use crate::facts::Mode;
use ir::Program;
use offload::OffloadPlan;
use plan::{BurstPlan, NoSuspension};

/// The places where the packets of a program suspend.
pub(crate) enum Suspension {
    None(NoSuspension),
    /// At tables, while their memory is fetched.
    Tables(BurstPlan),
    /// At asynchronous blocks. Packets of such programs do not suspend at tables.
    Offload(OffloadPlan),
}

impl Suspension {
    pub(crate) fn new(program: &Program, is_traced: bool) -> Suspension {
        if is_traced {
            return Suspension::None(NoSuspension::Traced);
        }
        match offload::plan(program) {
            Some(plan) => Suspension::Offload(plan),
            None => plan::plan(program).map_or_else(Suspension::None, Suspension::Tables),
        }
    }

    /// The program with its points in blocks; `original` where there are none.
    pub(crate) fn program<'p>(&'p self, original: &'p Program) -> &'p Program {
        match self {
            Suspension::None(_) => original,
            Suspension::Tables(plan) => &plan.program,
            Suspension::Offload(plan) => &plan.program,
        }
    }

    pub(crate) fn mode(&self) -> Mode {
        match self {
            Suspension::None(NoSuspension::Traced) => Mode::Traced,
            Suspension::None(_) | Suspension::Tables(_) => Mode::Fast,
            Suspension::Offload(_) => Mode::Offload,
        }
    }
}
