//! From a problem to its answer: greedy placement, the bound, and the integer program where the two differ.

use super::bound::{lower_bound, slack};
use super::exact::{Answer, place};
use super::greedy::{Shortage, greedy, partial};
use super::placement::{Placement, Problem, Stage};

/// Seconds that the integer program may take.
pub const SECONDS: f64 = 10.0;

#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    Fits(Solution),
    DoesNotFit(Refusal),
}

/// A placement within the stages of the chip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Solution {
    pub placement: Placement,
    pub n_stages: u32,
    /// No placement has fewer stages than this.
    pub n_stages_min: u32,
}

/// No placement was found within the stages of the chip.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    pub reason: Reason,
    /// No placement has fewer stages; `None` if no number of stages is enough.
    pub n_stages_min: Option<u32>,
    /// Stages of the best placement on a longer chip.
    pub n_stages_found: Option<u32>,
    /// The parts that the chip holds.
    pub placement: Placement,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Reason {
    /// These nodes, or their smallest parts, are larger than a stage.
    Stage(Vec<Shortage>),
    /// Dependencies make a circle.
    Circle,
    /// Some nodes are not placed, or not entirely.
    Stages(Vec<Shortage>),
}

/// Longer chips are not tried.
const N_STAGES_MAX: u32 = 1_024;

/// Places a program, with so many seconds for the integer program; 0: without it.
pub fn solve(problem: &Problem, seconds: f64) -> Verdict {
    let refuse = |reason| {
        let placement = Placement::default();
        Verdict::DoesNotFit(Refusal { reason, n_stages_min: None, n_stages_found: None, placement })
    };
    if problem.order().is_none() {
        return refuse(Reason::Circle);
    }
    let large = too_large(problem);
    if !large.is_empty() {
        return refuse(Reason::Stage(large));
    }
    let (Some(slack), Some(bound)) = (slack(problem), lower_bound(problem)) else {
        return refuse(Reason::Circle);
    };
    let found = greedy(problem, N_STAGES_MAX);
    let mut best = found.map(|placement| (placement.n_stages(problem), placement));
    let mut n_stages_min = bound;
    // Only numbers of stages that the chip has are of interest, and those that greedy placement does not reach.
    let high = best.as_ref().map_or(problem.n_stages + 1, |(n, _)| *n).min(problem.n_stages + 1);
    let share = seconds / f64::from(high.saturating_sub(bound).max(1));
    for n_stages in bound..high {
        if seconds <= 0.0 {
            break;
        }
        match place(problem, n_stages, share) {
            Answer::Fits(placement) => {
                best = Some((n_stages, placement));
                break;
            }
            // Nor in fewer, whatever the answer for them was.
            Answer::DoesNotFit => n_stages_min = n_stages + 1,
            Answer::Unknown => {}
        }
    }
    match best {
        Some((n_stages, placement)) if n_stages <= problem.n_stages => {
            Verdict::Fits(Solution { placement, n_stages, n_stages_min: n_stages_min.min(n_stages) })
        }
        best => {
            let (placement, left) = partial(problem, &slack, problem.n_stages);
            Verdict::DoesNotFit(Refusal {
                reason: Reason::Stages(left),
                n_stages_min: Some(n_stages_min),
                n_stages_found: best.map(|(n, _)| n),
                placement,
            })
        }
    }
}

/// Nodes for which an empty stage is too small.
fn too_large(problem: &Problem) -> Vec<Shortage> {
    let empty = Stage::new();
    let nodes = (0..problem.nodes.len()).filter_map(|i| {
        let node = &problem.nodes[i];
        let least = if node.packed.is_none() { node.n_units() } else { node.n_units_min().max(1) };
        let resource = empty.shortage(problem, i, least)?;
        Some(Shortage { node: i, n_units: 0, resource: Some(resource) })
    });
    nodes.collect()
}
