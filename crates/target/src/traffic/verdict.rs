//! Verdicts on a packet that the architecture's metadata fields give.

use arch::FieldRole;
use arch::flow::Verdict;
use ir::{Program, Type};

/// The verdicts of an architecture, by value of the field.
#[derive(Clone, Debug, Default)]
pub(super) struct Verdicts(Vec<Option<Verdict>>);

impl Verdicts {
    pub(super) fn new(program: &Program) -> Verdicts {
        let ty = program.field(FieldRole::OutputAction).and_then(|place| {
            let ty = program.variables[place.var].ty.clone();
            place.path.iter().try_fold(ty, |ty, step| program.step_type(&ty, step))
        });
        match ty {
            Some(Type::Enum(id)) => {
                Verdicts(program.enums[id].members.iter().map(|(name, _)| of_member(name)).collect())
            }
            _ => Verdicts::default(),
        }
    }

    pub(super) fn get(&self, value: u64) -> Option<Verdict> {
        *self.0.get(usize::try_from(value).ok()?)?
    }

    /// The value that means a verdict.
    pub(super) fn value_of(&self, verdict: Verdict) -> Option<u64> {
        self.0.iter().position(|v| *v == Some(verdict)).map(|i| i as u64)
    }
}

/// By the name of the member of an enum of actions, without the prefix of its architecture.
fn of_member(name: &str) -> Option<Verdict> {
    Some(match name.rsplit('_').next()? {
        "ABORT" | "ABORTED" => Verdict::Abort,
        "DROP" => Verdict::Drop,
        "PASS" => Verdict::Pass,
        "TX" => Verdict::Reflect,
        "REDIRECT" => Verdict::Redirect,
        _ => return None,
    })
}
