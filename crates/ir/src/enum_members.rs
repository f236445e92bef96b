//! Members of enums that stand for verdicts on a packet, for its path, and for its direction.
//!
//! The value of a field of such a type is the position of the member in the enum.

use crate::{EnumId, Program, Type};
use arch::flow::{SectionId, Verdict};
use arch::{FieldRole, IntrinsicValue, IntrinsicWrites, PassKind, PipelineModel};

/// The verdicts of an architecture, by value of the field.
#[derive(Clone, Debug, Default)]
pub struct Verdicts(Vec<Option<Verdict>>);

impl Verdicts {
    /// Those of the program's field of actions; none without one.
    pub fn new(program: &Program) -> Verdicts {
        match enum_of(program, FieldRole::OutputAction) {
            Some(id) => Verdicts(program.enums[id].members.iter().map(|(name, _)| of_member(name)).collect()),
            None => Verdicts::default(),
        }
    }

    /// The verdict that a value of the field means.
    pub fn get(&self, value: u64) -> Option<Verdict> {
        *self.0.get(usize::try_from(value).ok()?)?
    }

    /// The value that means a verdict, the first if there are several.
    pub fn value_of(&self, verdict: Verdict) -> Option<u64> {
        self.values_of(verdict).next()
    }

    /// All values that mean a verdict.
    pub fn values_of(&self, verdict: Verdict) -> impl Iterator<Item = u64> + '_ {
        (0..).zip(&self.0).filter(move |(_, v)| **v == Some(verdict)).map(|(i, _)| i)
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

/// The enum of a field; `None` of other types, and of fields that the program lacks.
fn enum_of(program: &Program, role: FieldRole) -> Option<EnumId> {
    match program.place_type(program.field(role)?)? {
        Type::Enum(id) => Some(id),
        _ => None,
    }
}

/// The value of a member, by its name.
fn member(program: &Program, id: EnumId, name: &str) -> Option<u64> {
    program.enums[id].members.iter().position(|(member, _)| member == name).map(|i| i as u64)
}

/// The enum of the field to which `wanted` is written.
fn enum_written(program: &Program, writes: &IntrinsicWrites, wanted: IntrinsicValue) -> Option<EnumId> {
    writes.iter().find(|(_, value)| *value == wanted).and_then(|(field, _)| enum_of(program, *field))
}

/// The members of an enum for the ways on which packets come to sections.
#[derive(Clone, Debug, Default)]
pub struct Paths(Vec<(SectionId, PassKind, u64)>);

impl Paths {
    /// Those of the fields to which the sections write the path.
    pub fn new(program: &Program, model: &PipelineModel) -> Paths {
        let mut paths = Vec::new();
        for (i, section) in model.sections.iter().enumerate() {
            let writes = section.writes.as_ref();
            let Some(id) = writes.and_then(|writes| enum_written(program, writes, IntrinsicValue::Path))
            else {
                continue;
            };
            for (kind, name) in &section.paths {
                paths.extend(member(program, id, name).map(|value| (i, *kind, value)));
            }
        }
        Paths(paths)
    }

    /// Packets that come from the controller have another value in the section than packets from ports.
    pub fn depend_on_controller(&self, section: SectionId) -> bool {
        self.member(section, PassKind::Normal) != self.member(section, PassKind::FromController)
    }

    /// The value for a packet in a section; 0 if the description has none.
    pub fn member(&self, section: SectionId, kind: PassKind) -> u64 {
        let found = self.0.iter().find(|(of, when, _)| (*of, *when) == (section, kind));
        found.map_or(0, |(.., value)| *value)
    }
}

/// The members of the enum of directions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Directions {
    from_network: u64,
    from_host: u64,
}

impl Directions {
    /// Those of the field to which a section writes the direction.
    pub fn new(program: &Program, model: &PipelineModel) -> Directions {
        let all = model.sections.iter().filter_map(|section| section.writes.as_ref());
        let id = all.into_iter().find_map(|writes| enum_written(program, writes, IntrinsicValue::Direction));
        match (id, &model.directions) {
            (Some(id), Some([network, host])) => Directions {
                from_network: member(program, id, network).unwrap_or(0),
                from_host: member(program, id, host).unwrap_or(0),
            },
            _ => Directions::default(),
        }
    }

    /// The value for a packet from a port.
    pub fn of_port(self, is_host_port: bool) -> u64 {
        if is_host_port { self.from_host } else { self.from_network }
    }
}
