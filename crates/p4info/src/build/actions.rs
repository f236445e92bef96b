//! Actions and their parameters.

use super::survey::Use;
use super::{Builder, Named};
use crate::codes;
use crate::ids::ObjectKind;
use crate::proto::p4::config::v1::{Action, action, table_action_call};
use check::evaluate::{Scope, is_hidden, local_name};
use check::program::*;
use check::types::TyKind;
use diagnostics::{Diagnostic, Span};

impl Builder<'_> {
    /// Lists an action unless it is hidden or listed already.
    pub fn action(&mut self, scope: NodeId, id: ActionId, used: Use) {
        let p = self.p;
        let def = &p.actions[id];
        let name = p.control_plane_name_of_action(scope, id);
        let object_id = self.id(ObjectKind::Action, &name);
        if is_hidden(&def.annotations) || !self.listed_actions.insert(object_id) {
            return;
        }
        let named = Named {
            kind: ObjectKind::Action,
            name,
            annotations: &def.annotations,
            except: &[],
            span: def.span,
        };
        let Some(preamble) = self.preamble(&named) else { return };
        let ids = self.param_ids(id);
        let mut params = Vec::new();
        for (var, id) in def.params.iter().zip(ids) {
            let (Some(id), Use::Listed) = (id, used) else { continue };
            params.push(self.param(*var, id, Some(scope)));
        }
        self.has_type_info |= !params.is_empty();
        self.info.actions.push(Action { preamble: Some(preamble), params });
    }

    /// Returns, for each parameter, its id if the control plane supplies it.
    pub fn param_ids(&mut self, id: ActionId) -> Vec<Option<u32>> {
        if let Some(ids) = self.param_ids.get(&id) {
            return ids.clone();
        }
        let p = self.p;
        let params = &p.actions[id].params;
        let is_data = |v: &VarId| p.direction(*v) == Direction::None;
        let data: Vec<(&Annotations, Span)> = (params.iter())
            .filter(|v| is_data(v))
            .map(|v| (&p.vars[*v].annotations, p.vars[*v].span))
            .collect();
        let mut ids = self.member_ids(&data).into_iter();
        let ids: Vec<Option<u32>> =
            params.iter().map(|v| if is_data(v) { ids.next() } else { None }).collect();
        self.param_ids.insert(id, ids.clone());
        ids
    }

    fn param(&mut self, var: VarId, id: u32, scope: Scope) -> action::Param {
        let p = self.p;
        let def = &p.vars[var];
        let ty = self.ty_in(def.ty, scope);
        if !matches!(
            self.kind(ty),
            TyKind::Bit(_) | TyKind::Signed(_) | TyKind::Bool | TyKind::Newtype(_) | TyKind::Enum(_)
        ) {
            self.unsupported(
                ty,
                def.span,
                "a parameter of an action",
                "`bit`, `int`, `bool`, enums and `type`s over these",
            );
        }
        let wire = self.wire(ty);
        let copied = self.annotations(&def.annotations, &[]);
        action::Param {
            id,
            name: local_name(&def.name, &def.annotations).0.to_string(),
            annotations: copied.text,
            bitwidth: super::types::width(wire.width_bits),
            doc: super::annotations::documentation(&def.annotations),
            type_name: wire.type_name,
            structured_annotations: copied.structured,
            annotation_locations: Vec::new(),
        }
    }

    /// Arguments for the parameters that the control plane supplies: ids and padded values.
    pub fn action_arguments(
        &mut self,
        action: ActionId,
        args: &[Option<Expr>],
        scope: Scope,
    ) -> Vec<table_action_call::Argument> {
        let p = self.p;
        let ids = self.param_ids(action);
        let mut out = Vec::new();
        for ((var, id), arg) in p.actions[action].params.iter().zip(ids).zip(args) {
            let (Some(param_id), Some(arg)) = (id, arg) else { continue };
            let ty = self.ty_in(p.vars[*var].ty, scope);
            let bits = self.bits(ty).unwrap_or(0);
            match p.eval(arg, scope).and_then(|v| super::types::to_bytes(&v, bits)) {
                Some(value) => out.push(table_action_call::Argument { param_id, value }),
                None => self.report(
                    Diagnostic::new(
                        &codes::ENTRY_ARGUMENT,
                        arg.span,
                        "the value of this argument is not known as a string of bits",
                    )
                    .label("the control plane cannot be told")
                    .also(p.vars[*var].span, "for this parameter"),
                ),
            }
        }
        out
    }
}
