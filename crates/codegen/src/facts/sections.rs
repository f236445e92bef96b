//! The sections of an architecture's description on the fast path: those that packets reach without a copy, a further round,
//! or a group.

use crate::facts::requests;
use arch::flow::{Atom, Condition, Contents, Effect, Request, Section, SectionId, Step};
use arch::{BlockRole, FieldRole, IntrinsicValue, PipelineModel};
use ir::Program;
use ir::enum_members::Paths;

/// Drop reasons that the runtime knows, and their constants.
const DROPS: [(&str, &str); 6] = [
    ("ingress_drop", "SD_DROP_INGRESS"),
    ("egress_drop", "SD_DROP_EGRESS"),
    ("parser_rejected", "SD_DROP_PARSER_REJECTED"),
    ("aborted", "SD_DROP_ABORTED"),
    ("packet_dropped", "SD_DROP_PACKET_DROPPED"),
    ("no_destination", "SD_DROP_NO_DESTINATION"),
];

/// The sections of a program whose fast path follows its architecture's description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FastSections {
    /// Sections that packets of the description reach with and without a queue.
    both: Vec<SectionId>,
    /// In ascending order; the first is the one of arrival.
    pub(crate) reached: Vec<SectionId>,
    /// Some packets are left to the host.
    pub(crate) may_punt: bool,
    /// Steps or values depend on the flags of the port of arrival.
    pub(crate) reads_arrival_flags: bool,
}

impl FastSections {
    /// `None` where packets go block by block: the architecture has the steps of the reference switch, or fields that are
    /// wider than 64 bits.
    pub(crate) fn new(program: &Program) -> Option<FastSections> {
        let model = program.architecture.pipeline()?;
        if program.architecture.has_steps_of_reference() || model.sections.is_empty() {
            return None;
        }
        let is_narrow = |role: &FieldRole| {
            let place = program.field(*role);
            place.is_none_or(|place| {
                let width = program.place_type(place).and_then(|ty| ty.width_bits());
                width.is_some_and(|width| (1..=64).contains(&width))
            })
        };
        if !model.fields_read().iter().all(is_narrow) {
            return None;
        }
        // Positions are 15 and 16 bits.
        if model.sections.len() > 0x7fff || model.sections.iter().any(|section| section.steps.len() > 0xffff)
        {
            return None;
        }
        let without_queue = model.sections_without_queue();
        let mut both = model.sections_behind_queue();
        both.retain(|id| without_queue.contains(id));
        let mut found = FastSections { both, reached: vec![0], may_punt: false, reads_arrival_flags: false };
        for (id, section) in model.sections.iter().enumerate() {
            if found.reached.contains(&id) {
                let next = section.steps.iter().filter_map(|step| found.next_section(id, &step.effect));
                let next: Vec<SectionId> = next.collect();
                found.reached.extend(next);
            }
        }
        found.reached.sort_unstable();
        found.reached.dedup();
        let sections = || found.reached.iter().filter_map(|id| Some((*id, model.sections.get(*id)?)));
        let steps = || sections().flat_map(|(id, section)| section.steps.iter().map(move |step| (id, step)));
        let makes_requests = requests::makes_requests_in(program, BlockRole::Egress);
        let may_punt = makes_requests || steps().any(|(id, step)| found.punts(program, model, id, step));
        let reads_side = |step: &Step| step.when.0.iter().any(|term| term.atom == Atom::FromHost);
        let paths = Paths::new(program, model);
        let writes_flags = sections().any(|(id, section)| {
            let depends = without_queue.contains(&id) && paths.depend_on_controller(id);
            all_writes(model, section).any(|(_, value)| match value {
                IntrinsicValue::Direction => true,
                IntrinsicValue::Path => depends,
                _ => false,
            })
        });
        let reads_arrival_flags = writes_flags || steps().any(|(_, step)| reads_side(step));
        let may_punt = may_punt || reads_arrival_flags;
        Some(FastSections { may_punt, reads_arrival_flags, ..found })
    }

    /// The section in which a packet goes on, if it stays on the fast path. Sections that lead back to themselves are a matter of
    /// the host, which counts rounds. To sections that packets reach with and without a queue they come through the queue only,
    /// so that the section tells which it was.
    pub(crate) fn next_section(&self, from: SectionId, effect: &Effect) -> Option<SectionId> {
        let to = match effect {
            Effect::Queue { onward, .. } => onward.to,
            Effect::Next(onward) if !self.both.contains(&onward.to) => onward.to,
            _ => return None,
        };
        (to > from).then_some(to)
    }

    /// Packets for which the step is done may be left to the host.
    fn punts(&self, program: &Program, model: &PipelineModel, from: SectionId, step: &Step) -> bool {
        if !may_hold(program, &step.when) {
            return false;
        }
        match &step.effect {
            Effect::Run(_) | Effect::SendDigests | Effect::Send { .. } => false,
            Effect::Copy { .. } | Effect::Multicast { .. } | Effect::Again { .. } => true,
            Effect::Queue { priority, onward, .. } => {
                model.queue.checks_port
                    || onward.contents == Contents::Deparsed
                    || program.field(*priority).is_some()
                    || self.next_section(from, &step.effect).is_none()
            }
            Effect::Next(onward) => {
                // Packets that a parser has rejected are left if the program has no field for the error.
                program.field(FieldRole::ParserError).is_none()
                    || onward.contents == Contents::Deparsed
                    || self.next_section(from, &step.effect).is_none()
            }
            Effect::Drop(reason) => drop_constant(reason).is_none(),
        }
    }
}

/// Everything that the architecture may write to packets that come to a section.
pub(crate) fn all_writes<'m>(
    model: &'m PipelineModel,
    section: &'m Section,
) -> impl Iterator<Item = &'m (FieldRole, IntrinsicValue)> {
    let own = section.writes.as_ref().unwrap_or(&model.at_arrival);
    own.iter().chain(&model.at_enqueue).chain(&model.at_dequeue)
}

/// The constant of the runtime for a drop reason, if it has one.
pub(crate) fn drop_constant(reason: &str) -> Option<&'static str> {
    DROPS.iter().find(|(name, _)| *name == reason).map(|(_, constant)| *constant)
}

/// False for conditions that never hold on the fast path: packets whose program has asked for copies or rounds leave it before
/// they are judged.
pub(crate) fn may_hold(program: &Program, condition: &Condition) -> bool {
    condition.0.iter().all(|term| {
        term.is_negated
            || match term.atom {
                Atom::Requested(Request::Clone | Request::Resubmit | Request::Recirculate) => false,
                Atom::Field(role) | Atom::IsDropPort(role) | Atom::IsPort(role, _) => {
                    program.field(role).is_some()
                }
                Atom::Requested(Request::Drop)
                | Atom::Rejected
                | Atom::FromHost
                | Atom::Accepted
                | Atom::Verdict(_) => true,
            }
    })
}

/// The blocks that a section runs, by their index in the description.
pub(crate) fn blocks_run(section: &Section) -> impl Iterator<Item = usize> + '_ {
    section.steps.iter().filter_map(|step| match step.effect {
        Effect::Run(block) => Some(block),
        _ => None,
    })
}
