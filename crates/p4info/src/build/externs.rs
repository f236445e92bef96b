//! Counters, meters, registers, action profiles, digests.

use super::survey::{Block, Item};
use super::types::named;
use super::{Builder, Named};
use crate::codes;
use crate::ids::ObjectKind;
use crate::proto::p4::config::v1::*;
use action_profile::{SelectorSizeSemantics, SumOfMembers, SumOfWeights};
use arch::{ControlPlaneExtern, DigestFunction, ExternRole, Unit};
use check::evaluate::{Scope, local_name};
use check::program::{
    ActionId, Annotation, Annotations, Block as Code, Call, Callee, ExprKind, NodeId, NodeKind, Origin,
    TableId, annotation,
};
use check::types::{Ty, TyKind};
use check::value::Value;
use diagnostics::{Diagnostic, Span};
use num_traits::ToPrimitive;
use rustc_hash::FxHashSet;

impl Builder<'_> {
    /// Returns the control-plane role of an object, if it has one.
    pub fn extern_role(&self, node: NodeId) -> Option<&'static ControlPlaneExtern> {
        let NodeKind::Extern(id) = self.p.nodes[node].kind else { return None };
        self.arch?.control_plane_extern(&self.p.externs[id].name)
    }

    pub fn extern_kind(&self, node: NodeId) -> Option<ObjectKind> {
        Some(match self.extern_role(node)?.role {
            ExternRole::Counter => ObjectKind::Counter,
            ExternRole::DirectCounter => ObjectKind::DirectCounter,
            ExternRole::Meter => ObjectKind::Meter,
            ExternRole::DirectMeter => ObjectKind::DirectMeter,
            ExternRole::Register => ObjectKind::Register,
            ExternRole::ActionProfile | ExternRole::ActionSelector => ObjectKind::ActionProfile,
            ExternRole::Digest => ObjectKind::Digest,
        })
    }

    /// Returns the name of an object. Objects that are constructed in a table's property have the `@name` of
    /// the property alone.
    pub fn extern_name(&self, node: NodeId) -> String {
        let n = &self.p.nodes[node];
        match n.origin {
            Origin::Property(..) => (annotation(&n.annotations, "name").and_then(Annotation::string))
                .map_or_else(|| n.control_plane_name.clone(), str::to_string),
            Origin::Declared(_) | Origin::Argument(_) | Origin::DirectApply(_) => {
                n.control_plane_name.clone()
            }
        }
    }

    /// Returns the objects that are constructed in the properties of a table.
    pub fn property_objects(&self, scope: NodeId, table: TableId) -> Vec<NodeId> {
        (self.p.nodes[scope].children.iter().copied())
            .filter(|c| matches!(self.p.nodes[*c].origin, Origin::Property(t, _) if t == table))
            .collect()
    }

    fn named<'a>(&self, node: NodeId, kind: ObjectKind, annotations: &'a Annotations) -> Named<'a> {
        let span = self.p.nodes[node].span;
        Named { kind, name: self.extern_name(node), annotations, except: &[], span }
    }

    /// Lists an object. Direct counters and meters are listed with their table instead.
    pub fn extern_object(&mut self, node: NodeId) {
        let p = self.p;
        let is_declared = matches!(p.nodes[node].origin, Origin::Declared(_));
        self.has_type_info |= is_declared && self.arch.is_some();
        let Some(found) = self.extern_role(node) else { return };
        let annotations = &p.nodes[node].annotations;
        match found.role {
            ExternRole::Counter => {
                let named = self.named(node, ObjectKind::Counter, annotations);
                let Some(preamble) = self.preamble(&named) else { return };
                let counter = Counter {
                    preamble: Some(preamble),
                    spec: Some(self.counter_spec(node, found)),
                    size: self.size(node, found),
                    index_type_name: self.index_type(node, found),
                };
                self.info.counters.push(counter);
            }
            ExternRole::Meter => {
                let named = self.named(node, ObjectKind::Meter, annotations);
                let Some(preamble) = self.preamble(&named) else { return };
                let meter = Meter {
                    preamble: Some(preamble),
                    spec: Some(self.meter_spec(node, found)),
                    size: self.size(node, found),
                    index_type_name: self.index_type(node, found),
                };
                self.info.meters.push(meter);
            }
            ExternRole::Register => {
                let named = self.named(node, ObjectKind::Register, annotations);
                let Some(preamble) = self.preamble(&named) else { return };
                let size = i32::try_from(self.size(node, found)).unwrap_or(i32::MAX);
                let data = self.type_argument(node, found.data_type);
                let register = Register {
                    preamble: Some(preamble),
                    type_spec: data.map(|ty| self.data_type(ty)),
                    size,
                    index_type_name: self.index_type(node, found),
                };
                self.info.registers.push(register);
            }
            ExternRole::ActionProfile | ExternRole::ActionSelector => self.action_profile(node, found),
            ExternRole::Digest => {
                let named = self.named(node, ObjectKind::Digest, annotations);
                let Some(preamble) = self.preamble(&named) else { return };
                let data = self.type_argument(node, found.data_type);
                let digest =
                    Digest { preamble: Some(preamble), type_spec: data.map(|ty| self.data_type(ty)) };
                self.info.digests.push(digest);
            }
            ExternRole::DirectCounter | ExternRole::DirectMeter => {}
        }
    }

    /// Lists the direct counter or meter of a table.
    pub fn direct_object(&mut self, node: NodeId, found: &'static ControlPlaneExtern, table: u32) {
        let p = self.p;
        let annotations = &p.nodes[node].annotations;
        match found.role {
            ExternRole::DirectCounter => {
                let named = self.named(node, ObjectKind::DirectCounter, annotations);
                let Some(preamble) = self.preamble(&named) else { return };
                let spec = Some(self.counter_spec(node, found));
                let object = DirectCounter { preamble: Some(preamble), spec, direct_table_id: table };
                self.info.direct_counters.push(object);
            }
            ExternRole::DirectMeter => {
                let named = self.named(node, ObjectKind::DirectMeter, annotations);
                let Some(preamble) = self.preamble(&named) else { return };
                let spec = Some(self.meter_spec(node, found));
                let object = DirectMeter { preamble: Some(preamble), spec, direct_table_id: table };
                self.info.direct_meters.push(object);
            }
            ExternRole::Counter
            | ExternRole::Meter
            | ExternRole::Register
            | ExternRole::ActionProfile
            | ExternRole::ActionSelector
            | ExternRole::Digest => {}
        }
    }

    // -- arguments --------------------------------------------------------------------------------

    fn size(&mut self, node: NodeId, found: &ControlPlaneExtern) -> i64 {
        let Some(param) = &found.size else { return 0 };
        let p = self.p;
        let size = p.extern_argument(node, param).and_then(|v| v.as_int()?.to_u32());
        if size.is_none() {
            self.unknown_argument(node, param, "a number of 32 bits");
        }
        size.map_or(0, i64::from)
    }

    fn unknown_argument(&mut self, node: NodeId, param: &str, expected: &str) {
        let span = self.p.nodes[node].span;
        self.report(
            Diagnostic::new(
                &codes::EXTERN_ARGUMENT,
                span,
                format!("the argument `{param}` of this object is not known"),
            )
            .label(format!("`{param}` must be {expected}")),
        );
    }

    fn unit(&mut self, node: NodeId, found: &ControlPlaneExtern) -> Option<Unit> {
        // A counter whose increments the program chooses counts events, listed as packets.
        let Some(param) = &found.unit else { return Some(Unit::Packets) };
        let unit = match self.p.extern_argument(node, param) {
            Some(Value::EnumMember(id, i)) => {
                (self.p.enums[*id].members.get(*i as usize)).and_then(|m| Unit::of_member(&m.name))
            }
            _ => None,
        };
        if unit.is_none() {
            self.unknown_argument(node, param, "packets, bytes or both");
        }
        unit
    }

    fn counter_spec(&mut self, node: NodeId, found: &ControlPlaneExtern) -> CounterSpec {
        let unit = match self.unit(node, found) {
            Some(Unit::Packets) => counter_spec::Unit::Packets,
            Some(Unit::Bytes) => counter_spec::Unit::Bytes,
            Some(Unit::PacketsAndBytes) => counter_spec::Unit::Both,
            None => counter_spec::Unit::Unspecified,
        };
        CounterSpec { unit: unit as i32 }
    }

    fn meter_spec(&mut self, node: NodeId, found: &ControlPlaneExtern) -> MeterSpec {
        let unit = match self.unit(node, found) {
            Some(Unit::Packets) => meter_spec::Unit::Packets,
            Some(Unit::Bytes) => meter_spec::Unit::Bytes,
            Some(Unit::PacketsAndBytes) => {
                self.unknown_argument(node, "type", "packets or bytes");
                meter_spec::Unit::Unspecified
            }
            None => meter_spec::Unit::Unspecified,
        };
        MeterSpec { unit: unit as i32, ..Default::default() }
    }

    fn type_argument(&self, node: NodeId, position: Option<usize>) -> Option<Ty> {
        let mut ty = self.p.nodes[node].ty;
        while let TyKind::Array(element, _) = self.kind(ty) {
            ty = *element;
        }
        match self.kind(ty) {
            TyKind::Extern(_, args) => args.get(position?).copied(),
            _ => None,
        }
    }

    /// Returns the name of the index type, if it is a `type`. Any index type is added to `type_info`.
    fn index_type(&mut self, node: NodeId, found: &ControlPlaneExtern) -> Option<P4NamedType> {
        let ty = self.type_argument(node, found.index_type)?;
        self.reach(ty);
        match self.kind(ty) {
            TyKind::Newtype(id) => Some(named(self.p.newtypes[*id].name.as_str())),
            _ => None,
        }
    }

    // -- action profiles --------------------------------------------------------------------------

    fn action_profile(&mut self, node: NodeId, found: &ControlPlaneExtern) {
        let p = self.p;
        let annotations = &p.nodes[node].annotations;
        let named = Named {
            except: &["max_group_size", "selector_size_semantics", "max_member_weight"],
            ..self.named(node, ObjectKind::ActionProfile, annotations)
        };
        let Some(preamble) = self.preamble(&named) else { return };
        let mut profile = ActionProfile {
            preamble: Some(preamble),
            with_selector: found.role == ExternRole::ActionSelector,
            size: self.size(node, found),
            ..Default::default()
        };
        if profile.with_selector {
            self.selector_annotations(annotations, &mut profile);
        } else {
            for name in ["max_group_size", "selector_size_semantics", "max_member_weight"] {
                self.ignored(annotations, name, "only action selectors have it");
            }
        }
        self.info.action_profiles.push(profile);
    }

    fn selector_annotations(&mut self, annotations: &Annotations, profile: &mut ActionProfile) {
        profile.max_group_size = self.int32_annotation(annotations, "max_group_size").unwrap_or(0);
        let semantics = annotation(annotations, "selector_size_semantics");
        let word = semantics.and_then(Annotation::string).map(str::to_ascii_lowercase);
        profile.selector_size_semantics = match (word.as_deref(), semantics) {
            (Some("sum_of_weights"), _) => Some(SelectorSizeSemantics::SumOfWeights(SumOfWeights {})),
            (Some("sum_of_members"), _) => {
                let max_member_weight = self.int32_annotation(annotations, "max_member_weight").unwrap_or(0);
                Some(SelectorSizeSemantics::SumOfMembers(SumOfMembers { max_member_weight }))
            }
            (_, Some(a)) => {
                self.report(
                    Diagnostic::new(
                        &codes::SELECTOR_ANNOTATION,
                        a.span,
                        "`@selector_size_semantics` takes \"sum_of_weights\" or \"sum_of_members\"",
                    )
                    .label("neither of them"),
                );
                None
            }
            (_, None) => None,
        };
        if !matches!(profile.selector_size_semantics, Some(SelectorSizeSemantics::SumOfMembers(_))) {
            let why = "it goes with `@selector_size_semantics(\"sum_of_members\")`";
            self.ignored(annotations, "max_member_weight", why);
        }
    }

    fn ignored(&mut self, annotations: &Annotations, name: &str, why: &str) {
        if let Some(a) = annotation(annotations, name) {
            self.report(
                Diagnostic::new(&codes::IGNORED_ANNOTATION, a.span, format!("`@{name}` has no effect here"))
                    .label(why),
            );
        }
    }

    /// Fills in the tables of each action profile, after all tables are known.
    pub fn finish_action_profiles(&mut self) {
        let mut implemented = std::mem::take(&mut self.implemented);
        implemented.sort();
        for profile in &mut self.info.action_profiles {
            let id = profile.preamble.as_ref().map_or(0, |p| p.id);
            profile.table_ids = implemented.iter().filter(|(p, ..)| *p == id).map(|(.., t)| *t).collect();
        }
    }

    // -- digests by call --------------------------------------------------------------------------

    /// Calls in what survives of a block: in actions, with the actions that they call, and in bodies.
    fn calls_of(&self, block: &Block) -> Vec<(&'_ Call, NodeId)> {
        let mut calls = Vec::new();
        for item in &block.items {
            if let Item::Action(node, action, _) = item {
                self.calls_of_action(*action, *node, &mut FxHashSet::default(), &mut calls);
            }
        }
        for node in &block.nodes {
            if let NodeKind::Control(c) = self.p.nodes[*node].kind {
                self.calls_of_code(&self.p.controls[c].apply, *node, &mut calls);
            }
        }
        calls
    }

    fn calls_of_code<'s>(&'s self, code: &'s Code, node: NodeId, calls: &mut Vec<(&'s Call, NodeId)>) {
        calls.extend(self.p.live_calls(code, Some(node)).into_iter().map(|(_, call)| (call, node)));
    }

    fn calls_of_action<'s>(
        &'s self,
        action: ActionId,
        node: NodeId,
        seen: &mut FxHashSet<ActionId>,
        calls: &mut Vec<(&'s Call, NodeId)>,
    ) {
        if !seen.insert(action) {
            return;
        }
        for (_, call) in self.p.live_calls(&self.p.actions[action].body, Some(node)) {
            calls.push((call, node));
            if let Callee::Action(inner) = call.callee {
                self.calls_of_action(inner, node, seen, calls);
            }
        }
    }

    /// The extern function of the architecture whose calls send digests.
    fn digest_function(&self) -> Option<&'static DigestFunction> {
        self.arch?.description().digest_function.as_ref()
    }

    /// Returns name, type and place of each digest that a block sends by calling a function.
    pub fn digests_of(&mut self, block: &Block) -> Vec<(String, Ty, Span)> {
        let Some(digest) = self.digest_function() else { return Vec::new() };
        let found: Vec<(Ty, Scope, Span)> = (self.calls_of(block).into_iter())
            .filter_map(|(call, node)| match call.callee {
                Callee::Function(f) if self.p.functions[f].name == digest.name => {
                    let data = call.args.get(digest.argument)?.as_ref()?;
                    let ty = call.type_args.first().copied().unwrap_or(data.ty);
                    Some((ty, Some(node), data.span))
                }
                _ => None,
            })
            .collect();
        let mut digests = Vec::new();
        for (ty, scope, span) in found {
            let ty = self.ty_in(ty, scope);
            let name = match self.kind(ty) {
                TyKind::Struct(id, args) if args.is_empty() => {
                    let def = &self.p.structs[*id];
                    local_name(&def.name, &def.annotations).0.to_string()
                }
                TyKind::Struct(..) => self.type_name(ty),
                _ => {
                    let n = self.unnamed_digests.iter().position(|s| *s == span).unwrap_or_else(|| {
                        self.unnamed_digests.push(span);
                        self.unnamed_digests.len() - 1
                    });
                    format!("digest_{n}")
                }
            };
            digests.push((name, ty, span));
        }
        digests
    }

    /// Lists digests that are sent by calling a function, and records whether `type_info` is needed.
    pub fn digest_calls(&mut self, block: &Block) {
        if self.digest_function().is_none() {
            return;
        }
        let calls_extern = self.calls_of(block).iter().any(
            |(call, _)| matches!(call.callee, Callee::Function(f) if self.p.functions[f].body.is_none()),
        );
        self.has_type_info |= calls_extern;
        let no_annotations = Annotations::default();
        for (name, ty, span) in self.digests_of(block) {
            if self.listed.contains_key(&(ObjectKind::Digest, name.clone())) {
                continue;
            }
            if !matches!(self.kind(ty), TyKind::Struct(..)) {
                self.report(
                    Diagnostic::new(
                        &codes::UNNAMED_DIGEST,
                        span,
                        format!("the type of this digest has no name, so the digest is called `{name}`"),
                    )
                    .label("not of a struct type")
                    .help("declare a struct for what is sent"),
                );
            }
            let annotations = &no_annotations;
            let named = Named { kind: ObjectKind::Digest, name, annotations, except: &[], span };
            let Some(preamble) = self.preamble(&named) else { continue };
            let type_spec = Some(self.data_type(ty));
            self.info.digests.push(Digest { preamble: Some(preamble), type_spec });
        }
    }

    /// Returns the object that a table property names.
    pub fn property_object(&self, scope: NodeId, table: TableId, index: usize) -> Option<NodeId> {
        let value = &self.p.tables[table].properties[index].value;
        match &value.kind {
            ExprKind::Call(_) => {
                self.p.find(Origin::Property(table, u32::try_from(index).ok()?), Some(scope))
            }
            _ => self.p.object(value, Some(scope)),
        }
    }
}
