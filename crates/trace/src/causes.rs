//! Follows a packet to know, when it is dropped, which statement and which decision led there.

use crate::{Event, Slot, Variables};
use arch::{ExternOp, FieldRole, ParamRole};
use diagnostics::Span;
use target::traffic::reason::NO_REPLICA;

/// The statement that may have dropped a packet, and the decision that led to it. `D` is a decision: a lookup, a condition,
/// a `switch` or a failure of the parser.
#[derive(Clone, Debug)]
pub(crate) struct Causes<D> {
    cause: Option<(Span, Option<D>)>,
    /// The cause is a failure of the parser, or the program's `reject`.
    is_of_parser: bool,
    /// The last lookup, whose action may be called next.
    looked_up: Option<D>,
    /// For each call under way the lookup that chose it.
    calls: Vec<Option<D>>,
    /// The last lookup, condition or `switch` in the block.
    last: Option<D>,
}

impl<D> Default for Causes<D> {
    fn default() -> Causes<D> {
        Causes { cause: None, is_of_parser: false, looked_up: None, calls: Vec::new(), last: None }
    }
}

impl<D: Clone> Causes<D> {
    /// Hears an event, which is `decision` if it is one.
    pub(crate) fn event(
        &mut self,
        variables: &Variables,
        span: Span,
        event: &Event<'_>,
        decision: impl FnOnce() -> Option<D>,
    ) {
        match event {
            Event::BlockEntered { .. } => {
                self.calls.clear();
                (self.looked_up, self.last) = (None, None);
            }
            Event::Lookup { .. } => {
                let decision = decision();
                (self.looked_up, self.last) = (decision.clone(), decision);
            }
            Event::Branch { .. } | Event::Switched { .. } => {
                if let Some(decision) = decision() {
                    self.last = Some(decision);
                }
            }
            Event::ParserFailed { .. } | Event::Rejected { .. } => {
                self.cause = Some((span, decision()));
                self.is_of_parser = true;
            }
            Event::Called { .. } => self.calls.push(self.looked_up.take()),
            Event::Returned { .. } => {
                self.calls.pop();
            }
            Event::Changed { slot, .. } if may_drop(variables, *slot) => self.causes(span),
            Event::Extern { call, .. } if call.op == ExternOp::MarkToDrop => self.causes(span),
            // The statement itself stops the packet, whatever led to it.
            Event::Stopped { .. } => {
                self.cause = Some((span, None));
                self.is_of_parser = false;
            }
            _ => {}
        }
    }

    /// The packet begins another round.
    pub(crate) fn begin(&mut self) {
        self.cause = None;
    }

    /// The statement that dropped the packet for `reason`, and the decision.
    ///
    /// A failure of the parser drops no packet of which a replica is missing: the control after it has run.
    pub(crate) fn take(&mut self, reason: &str) -> Option<(Span, Option<D>)> {
        let cause = self.cause.take();
        cause.filter(|_| !(self.is_of_parser && reason == NO_REPLICA))
    }

    /// The statement that chose the port, and the decision.
    pub(crate) fn peek(&self) -> Option<(Span, Option<D>)> {
        self.cause.clone()
    }

    fn causes(&mut self, span: Span) {
        let decided = self.calls.iter().rev().find_map(Option::as_ref).or(self.last.as_ref());
        self.cause = Some((span, decided.cloned()));
        self.is_of_parser = false;
    }
}

/// True for variables whose value decides whether a packet is dropped.
fn may_drop(variables: &Variables, slot: Slot) -> bool {
    let roles = [FieldRole::EgressSpec, FieldRole::OutputAction];
    variables.shared(ParamRole::Accept).is_some_and(|range| range.contains(slot))
        || roles.iter().any(|role| variables.field(*role) == Some(slot))
}
