//! Tables.

use super::types::width;
use super::{Builder, Named};
use crate::codes;
use crate::ids::ObjectKind;
use crate::proto::p4::config::v1::match_field::{Match, MatchType};
use crate::proto::p4::config::v1::{ActionRef, MatchField, Table, TableActionCall, action_ref, table};
use arch::{ControlPlaneExtern, ExternRole, IdleTimeout, IdleTimeoutProperty, table_state};
use check::evaluate::is_hidden;
use check::program::*;
use check::types::TyKind;
use check::value::Value;
use diagnostics::{Diagnostic, Span};
use num_traits::ToPrimitive;

/// Size of a table that declares none.
const SIZE_DEFAULT: i64 = 1024;

/// Returns the match type of a match kind in P4Info.
pub(super) fn match_type(kind: &str) -> Match {
    let known = match kind {
        "exact" => MatchType::Exact,
        "lpm" => MatchType::Lpm,
        "ternary" => MatchType::Ternary,
        "range" => MatchType::Range,
        "optional" => MatchType::Optional,
        _ => return Match::OtherMatchType(kind.to_string()),
    };
    Match::MatchType(known as i32)
}

/// Match kind of keys that select members; the control plane does not see them.
pub(super) const SELECTOR: &str = "selector";

impl Builder<'_> {
    pub fn table(&mut self, scope: NodeId, id: TableId) {
        let p = self.p;
        let def = &p.tables[id];
        let name = p.control_plane_name_of_table(scope, id);
        let table_id = self.id(ObjectKind::Table, &name);
        let key_ids = self.key_ids(id);
        if is_hidden(&def.annotations) {
            self.table_entries(scope, id, table_id, &key_ids);
            return;
        }
        let named = Named {
            kind: ObjectKind::Table,
            name: name.clone(),
            annotations: &def.annotations,
            except: &[],
            span: def.span,
        };
        let Some(preamble) = self.preamble(&named) else { return };
        self.has_type_info = true;
        let mut out =
            Table { preamble: Some(preamble), size: self.table_size(scope, id), ..Default::default() };
        for (key, id) in def.key.iter().flatten().zip(&key_ids) {
            out.match_fields.extend(self.match_field(scope, key, *id));
        }
        out.action_refs = self.action_refs(scope, id);
        if let Some(default) = &def.default_action {
            let action = def.actions[default.element as usize].action;
            let action_id = self.id(ObjectKind::Action, &p.control_plane_name_of_action(scope, action));
            let arguments = self.action_arguments(action, &default.args, Some(scope));
            out.initial_default_action = Some(TableActionCall { action_id, arguments });
            if default.is_const {
                out.const_default_action_id = action_id;
            }
        }
        if let Some(entries) = &def.entries {
            out.is_const_table = entries.is_const;
            out.has_initial_entries = !entries.entries.is_empty();
        }
        self.properties(scope, id, &name, &mut out);
        self.info.tables.push(out);
        self.table_entries(scope, id, table_id, &key_ids);
    }

    fn table_size(&mut self, scope: NodeId, id: TableId) -> i64 {
        let p = self.p;
        let default = self.size_default(scope, id);
        let Some(size) = &p.tables[id].size else { return default };
        match p.eval(size, Some(scope)).and_then(|v| v.as_int()?.to_i64()) {
            Some(0) => default,
            Some(n) => n,
            None => {
                self.report(
                    Diagnostic::new(
                        &codes::EXTERN_ARGUMENT,
                        size.span,
                        "the size of this table is not known, or does not fit into 64 bits",
                    )
                    .label("not a usable number"),
                );
                SIZE_DEFAULT
            }
        }
    }

    /// The size of a table that does not say it.
    fn size_default(&self, scope: NodeId, id: TableId) -> i64 {
        let mut properties = self.p.tables[id].properties.iter();
        let adds = properties.find(|property| property.name == table_state::ADD_ON_MISS);
        match adds.and_then(|property| self.p.eval(&property.value, Some(scope))) {
            Some(Value::Bool(true)) => table_state::SIZE_DEFAULT as i64,
            _ => SIZE_DEFAULT,
        }
    }

    fn key_ids(&mut self, id: TableId) -> Vec<u32> {
        let p = self.p;
        let parts: Vec<(&Annotations, Span)> =
            p.tables[id].key.iter().flatten().map(|k| (&k.annotations, k.span)).collect();
        self.member_ids(&parts)
    }

    /// Returns `None` for keys that the control plane does not see.
    fn match_field(&mut self, scope: NodeId, key: &KeyElement, id: u32) -> Option<MatchField> {
        if key.match_kind == SELECTOR {
            return None;
        }
        let name = key.name.as_ref().map(|n| n.to_string());
        if name.is_none() {
            self.report(
                Diagnostic::new(&check::codes::KEY_NAME, key.expr.span, "this key has no name")
                    .label("not a variable or field")
                    .help("give it one: `... : exact @name(\"key\");`"),
            );
        }
        let ty = self.ty_in(key.expr.ty, Some(scope));
        if let TyKind::Enum(e) = self.kind(ty)
            && self.p.enums[*e].underlying.is_none()
        {
            let allowed = "`bit`, `int`, `bool`, `error`, enums over `bit`, and `type`s over these";
            self.unsupported(ty, key.expr.span, "a key of a table", allowed);
        }
        let wire = self.wire(ty);
        let copied = self.annotations(&key.annotations, &[]);
        Some(MatchField {
            id,
            name: name.unwrap_or_default(),
            annotations: copied.text,
            bitwidth: width(wire.width_bits),
            doc: super::annotations::documentation(&key.annotations),
            type_name: wire.type_name,
            structured_annotations: copied.structured,
            annotation_locations: Vec::new(),
            r#match: Some(match_type(&key.match_kind)),
        })
    }

    fn action_refs(&mut self, scope: NodeId, id: TableId) -> Vec<ActionRef> {
        let p = self.p;
        let mut refs = Vec::new();
        for element in &p.tables[id].actions {
            let name = p.control_plane_name_of_action(scope, element.action);
            let scopes = [
                ("tableonly", action_ref::Scope::TableOnly, "this excludes the default action"),
                ("defaultonly", action_ref::Scope::DefaultOnly, "this excludes entries"),
                (
                    "groupaction",
                    action_ref::Scope::GroupAction,
                    "this excludes entries and the default action",
                ),
            ];
            let marked: Vec<_> = (scopes.into_iter())
                .filter_map(|(name, scope, why)| Some((annotation(&element.annotations, name)?, scope, why)))
                .collect();
            let scope = match marked.as_slice() {
                [] => action_ref::Scope::TableAndDefault,
                [(_, scope, _)] => *scope,
                [(a, _, why), (b, ..), ..] => {
                    self.report(
                        Diagnostic::new(
                            &codes::ACTION_SCOPE,
                            b.span,
                            format!("an action cannot be both @{} and @{}", a.name, b.name),
                        )
                        .label("then nothing could use it")
                        .also(a.span, *why),
                    );
                    action_ref::Scope::TableAndDefault
                }
            };
            let copied = self.annotations(&element.annotations, &[]);
            refs.push(ActionRef {
                id: self.id(ObjectKind::Action, &name),
                annotations: copied.text,
                scope: scope as i32,
                structured_annotations: copied.structured,
                annotation_locations: Vec::new(),
            });
        }
        refs
    }

    /// The properties that attach externs.
    fn properties(&mut self, scope: NodeId, id: TableId, name: &str, out: &mut Table) {
        let p = self.p;
        let Some(names) = self.arch.map(|a| &a.description().table_properties) else { return };
        let table_id = out.preamble.as_ref().map_or(0, |p| p.id);
        let position = |wanted: &Option<String>| {
            let wanted = wanted.as_ref()?;
            p.tables[id].properties.iter().position(|q| q.name == *wanted)
        };
        // The kind of map behind a table is nothing that a control plane need know.
        if let Some(i) = position(&names.implementation).filter(|_| !names.implementation_is_map)
            && let Some((node, _)) =
                self.attached(scope, id, i, &[ExternRole::ActionProfile, ExternRole::ActionSelector])
        {
            if matches!(p.nodes[node].origin, Origin::Property(..)) {
                self.extern_object(node);
            }
            out.implementation_id = self.id(ObjectKind::ActionProfile, &self.extern_name(node));
            self.implemented.push((out.implementation_id, name.to_string(), table_id));
        }
        for (property, role, kind) in [
            (&names.direct_counter, ExternRole::DirectCounter, ObjectKind::DirectCounter),
            (&names.direct_meter, ExternRole::DirectMeter, ObjectKind::DirectMeter),
        ] {
            if let Some(i) = position(property)
                && let Some((node, found)) = self.attached(scope, id, i, &[role])
            {
                self.direct_object(node, found, table_id);
                out.direct_resource_ids.push(self.id(kind, &self.extern_name(node)));
            }
        }
        if let Some(IdleTimeoutProperty { name: property, value: wanted }) = &names.idle_timeout
            && let Some(i) = p.tables[id].properties.iter().position(|q| q.name == *property)
        {
            let asked = match (wanted, p.eval(&p.tables[id].properties[i].value, Some(scope))) {
                (IdleTimeout::Flag(wanted), Some(Value::Bool(b))) => b == *wanted,
                (IdleTimeout::Member(name), Some(Value::EnumMember(e, m))) => {
                    p.enums[e].members.get(m as usize).is_some_and(|m| m.name == *name)
                }
                _ => {
                    let q = &p.tables[id].properties[i];
                    let expected = match wanted {
                        IdleTimeout::Flag(_) => "true or false",
                        IdleTimeout::Member(_) => "a member of the enum for it",
                    };
                    self.report(
                        Diagnostic::new(
                            &codes::EXTERN_PROPERTY,
                            q.value.span,
                            format!("`{property}` must be {expected}"),
                        )
                        .label("something else"),
                    );
                    false
                }
            };
            if asked {
                out.idle_timeout_behavior = table::IdleTimeoutBehavior::NotifyControl as i32;
            }
        }
    }

    /// Returns the object of a property if it has one of these roles.
    fn attached(
        &mut self,
        scope: NodeId,
        id: TableId,
        index: usize,
        roles: &[ExternRole],
    ) -> Option<(NodeId, &'static ControlPlaneExtern)> {
        let p = self.p;
        let property = &p.tables[id].properties[index];
        let node = self.property_object(scope, id, index);
        let found = node.and_then(|n| Some((n, self.extern_role(n)?)));
        match found {
            Some((node, found)) if roles.contains(&found.role) => {
                let is_anonymous = matches!(p.nodes[node].origin, Origin::Property(..))
                    && annotation(&property.annotations, "name").is_none();
                if is_anonymous {
                    self.report(
                        Diagnostic::new(
                            &codes::EXTERN_PROPERTY,
                            property.span,
                            format!("the object that `{}` constructs has no name", property.name),
                        )
                        .label("constructed here")
                        .help("name it: `@name(\"...\")` before the property"),
                    );
                }
                Some((node, found))
            }
            _ => {
                self.report(
                    Diagnostic::new(
                        &codes::EXTERN_PROPERTY,
                        property.value.span,
                        format!("this is nothing that `{}` can take", property.name),
                    )
                    .label("not a fitting extern object"),
                );
                None
            }
        }
    }
}
