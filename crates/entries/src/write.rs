//! Writing entries.

use crate::detect::Format;
use crate::file::Written;
use crate::script::{self, Language};
use crate::{named, runtime_json};
use control::{Schema, Update};
use p4info::proto::p4::v1 as pb;

/// Writes updates in a format. With `names`, P4Runtime text and JSON have names and readable values, which [`crate::read()`]
/// understands and other programs do not; the other formats have names always.
pub fn write(format: Format, updates: &[Update], schema: &Schema, names: bool) -> Written {
    match format {
        Format::Script => script::write(Language::Script, updates, schema),
        Format::Bmv2 => script::write(Language::Bmv2, updates, schema),
        Format::RuntimeJson => runtime_json::write(updates, schema),
        Format::P4RuntimeText | Format::P4RuntimeJson | Format::P4RuntimeBinary => {
            let updates = updates.iter().map(|update| pb::Update {
                r#type: match update.kind {
                    control::UpdateKind::Insert => pb::update::Type::Insert,
                    control::UpdateKind::Modify => pb::update::Type::Modify,
                    control::UpdateKind::Delete => pb::update::Type::Delete,
                }
                .into(),
                entity: Some(p4runtime::encode_entity(schema, &update.entity)),
            });
            let request = pb::WriteRequest { updates: updates.collect(), ..pb::WriteRequest::default() };
            Written { bytes: named::encode(format, &request, schema, names), left_out: Vec::new() }
        }
    }
}
