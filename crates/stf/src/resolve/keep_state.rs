//! Calls that leave out the parameters that their action changes in the entry: `modify_keep_state`.

use super::{Resolver, Result, error};
use crate::codes;
use crate::script::{Argument, Name, Target};
use control::schema::ValueForm;
use control::{Param, TableAction};
use ir::Bits;

impl Resolver<'_> {
    /// The action. Values that the entry keeps are zero in the call: the switch puts in its own.
    pub(super) fn target_keeping_state(&mut self, name: &Name, target: &Target) -> Result<TableAction> {
        let table = self.table(name)?;
        let Target::Action(call) = target else { return self.target(name, target) };
        let action = self.action(table, &call.name)?;
        let mut call = call.clone();
        let mut given = action.params.iter().filter(|param| !param.is_updatable);
        for value in std::mem::take(&mut call.in_order) {
            let Some(param) = given.next() else {
                let message = format!("one value too many: action `{}` keeps its state", action.names.name);
                return error(&codes::ARGUMENTS, value.span(), message, "too many");
            };
            call.arguments
                .push(Argument { name: Name { text: param.name.to_string(), span: value.span() }, value });
        }
        for argument in &call.arguments {
            if action.find_param(&argument.name.text).is_ok_and(|param| param.is_updatable) {
                let message = format!("`{}` keeps its value: leave it out", argument.name.text);
                return error(&codes::ARGUMENTS, argument.name.span, message, "is changed by its action");
            }
        }
        let kept = action.params.iter().filter(|param| param.is_updatable);
        let kept = kept.filter_map(|param| match param.value.form {
            ValueForm::Bits { width_bits } => {
                Some(Param { id: param.id, value: Bits::zero(width_bits).into() })
            }
            ValueForm::Text | ValueForm::None => None,
        });
        let called =
            self.action_call(table, &call, super::values::Dialect::of(table, name), kept.collect())?;
        Ok(TableAction::Action(called))
    }
}
