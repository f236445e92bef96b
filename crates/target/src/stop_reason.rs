//! Reasons for which packets end in the middle of a block.

use smol_str::SmolStr;

/// Why a packet ends in the middle of a block.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum StopReason {
    /// A parser or loop that does not end.
    StepBudget,
    AssertionFailed,
    /// An extern stopped the packet, for the reason it names.
    Extern(SmolStr),
}

impl StopReason {
    /// The name of the reason in statistics.
    pub fn name(&self) -> &str {
        match self {
            StopReason::StepBudget => "step_budget",
            StopReason::AssertionFailed => "assertion_failed",
            StopReason::Extern(name) => name,
        }
    }
}
