//! Value sets of parsers.

use super::types::{named, width};
use super::{Builder, Named};
use crate::codes;
use crate::ids::ObjectKind;
use crate::proto::p4::config::v1::{MatchField, ValueSet, match_field::Match, match_field::MatchType};
use check::evaluate::local_name;
use check::program::*;
use check::types::TyKind;
use diagnostics::{Diagnostic, Span};
use num_traits::ToPrimitive;

impl Builder<'_> {
    pub fn value_set(&mut self, scope: NodeId, id: ValueSetId) {
        let p = self.p;
        let def = &p.value_sets[id];
        let named = Named {
            kind: ObjectKind::ValueSet,
            name: p.control_plane_name_of_value_set(scope, id),
            annotations: &def.annotations,
            except: &[],
            span: def.span,
        };
        let Some(preamble) = self.preamble(&named) else { return };
        let size = p.eval(&def.size, Some(scope)).and_then(|v| v.as_int()?.to_i32()).filter(|n| *n >= 0);
        if size.is_none() {
            self.report(
                Diagnostic::new(
                    &codes::EXTERN_ARGUMENT,
                    def.size.span,
                    "the size of a value set must be a number from 0 to 2147483647",
                )
                .label("not such a number"),
            );
        }
        let fields = self.value_set_fields(scope, id);
        self.info.value_sets.push(ValueSet {
            preamble: Some(preamble),
            r#match: fields,
            size: size.unwrap_or(0),
        });
    }

    fn value_set_fields(&mut self, scope: NodeId, id: ValueSetId) -> Vec<MatchField> {
        let p = self.p;
        let def = &p.value_sets[id];
        let ty = self.ty_in(def.element, Some(scope));
        let exact = Some(Match::MatchType(MatchType::Exact as i32));
        match self.kind(ty).clone() {
            TyKind::Bit(w) => {
                vec![MatchField { id: 1, bitwidth: width(w), r#match: exact, ..Default::default() }]
            }
            TyKind::Newtype(_) if self.bits(ty).is_some() => {
                let wire = self.wire(ty);
                vec![MatchField {
                    id: 1,
                    bitwidth: width(wire.width_bits),
                    type_name: wire.type_name,
                    r#match: exact,
                    ..Default::default()
                }]
            }
            TyKind::Struct(..) => {
                let fields = self.fields(ty);
                let parts: Vec<(&Annotations, Span)> =
                    fields.iter().map(|f| (&f.annotations, f.span)).collect();
                let ids = self.member_ids(&parts);
                fields.iter().zip(ids).map(|(f, id)| self.value_set_field(f, id)).collect()
            }
            TyKind::Enum(e) if p.enums[e].underlying.is_some() => {
                let bits = self.bits(ty).unwrap_or(0);
                (p.enums[e].members.iter().zip(1..))
                    .map(|(m, id)| MatchField {
                        id,
                        name: local_name(&m.name, &m.annotations).0.to_string(),
                        bitwidth: width(bits),
                        r#match: exact.clone(),
                        ..Default::default()
                    })
                    .collect()
            }
            _ => {
                let allowed = "`bit`, structs of `bit`, and enums over `bit`";
                self.unsupported(ty, def.span, "a value set", allowed);
                Vec::new()
            }
        }
    }

    fn value_set_field(&mut self, f: &FieldDef, id: u32) -> MatchField {
        let wire = self.wire_unlisted(f);
        let kind = annotation(&f.annotations, "match").map(|a| {
            let word = a.tokens().first().map(|t| t.text.to_string()).unwrap_or_default();
            (word, a.span)
        });
        if let Some((word, span)) = &kind
            && word == "selector"
        {
            self.report(
                Diagnostic::new(
                    &codes::CONTROL_PLANE_TYPE,
                    *span,
                    "a field of a value set cannot be matched as `selector`",
                )
                .label("not a match"),
            );
        }
        let copied = self.annotations(&f.annotations, &["match"]);
        MatchField {
            id,
            name: local_name(&f.name, &f.annotations).0.to_string(),
            annotations: copied.text,
            bitwidth: width(wire.0),
            doc: super::annotations::documentation(&f.annotations),
            type_name: wire.1.map(named),
            structured_annotations: copied.structured,
            annotation_locations: Vec::new(),
            r#match: Some(super::tables::match_type(kind.as_ref().map_or("exact", |(w, _)| w))),
        }
    }

    /// Width and type name of a member; value sets do not add to `type_info`.
    fn wire_unlisted(&mut self, f: &FieldDef) -> (u32, Option<String>) {
        match self.kind(f.ty) {
            TyKind::Bit(w) => (*w, None),
            TyKind::Newtype(_) if self.bits(f.ty).is_some() => {
                let wire = self.wire(f.ty);
                (wire.width_bits, wire.type_name.map(|n| n.name))
            }
            _ => {
                self.unsupported(f.ty, f.span, "a field of a value set", "`bit`");
                (0, None)
            }
        }
    }
}
