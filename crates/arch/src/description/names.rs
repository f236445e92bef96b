//! The names that a description declares, and those that every one knows.

use super::fault::Fault;
use super::flow::snake_case;
use crate::{BlockIndex, FieldRole, ParamRole, SpecialPort};
use serde::Deserialize;
use serde::de::value::{Error as WordError, StrDeserializer};
use std::ops::Range;
use toml::Spanned;

/// The names and their meaning.
#[derive(Default)]
pub(super) struct Names {
    variables: Vec<String>,
    meanings: Vec<String>,
    pub(super) blocks: Vec<String>,
    /// The meanings that a field or a decision has.
    pub(super) fields: Vec<FieldRole>,
    pub(super) special_ports: Vec<SpecialPort>,
    pub(super) has_drop_port: bool,
}

/// An error at a place in the text.
pub(super) fn fault_at<T>(place: Range<usize>, message: impl Into<String>) -> Result<T, Fault> {
    Err(Fault { message: message.into(), place: Some(place) })
}

/// A word of an enumeration.
pub(super) fn word<'t, T: Deserialize<'t>>(text: &'t str, place: Range<usize>) -> Result<T, Fault> {
    T::deserialize(StrDeserializer::<WordError>::new(text))
        .or_else(|error| fault_at(place, error.to_string()))
}

/// Says where names of one's own are declared.
fn of_own(fault: Fault, list: &str) -> Fault {
    Fault { message: format!("{}; names of your own are declared in `{list}`", fault.message), ..fault }
}

impl Names {
    /// With the variables and meanings that the description declares.
    pub(super) fn new(variables: &[Spanned<String>], meanings: &[Spanned<String>]) -> Result<Names, Fault> {
        let mut names = Names::default();
        for (texts, is_variable) in [(variables, true), (meanings, false)] {
            for text in texts {
                let (name, place) = (text.get_ref(), text.span());
                let is_known = match is_variable {
                    true => word::<ParamRole>(name, place.clone()).is_ok(),
                    false => word::<FieldRole>(name, place.clone()).is_ok(),
                };
                let declared = if is_variable { &mut names.variables } else { &mut names.meanings };
                if is_known || declared.contains(name) {
                    return fault_at(place, format!("`{name}` is there already"));
                }
                if declared.len() == usize::from(u8::MAX) {
                    return fault_at(place, "there are too many names");
                }
                declared.push(name.clone());
            }
        }
        Ok(names)
    }

    /// The variable of a parameter.
    pub(super) fn variable(&self, name: &Spanned<String>) -> Result<ParamRole, Fault> {
        match self.variables.iter().position(|declared| declared == name.get_ref()) {
            Some(i) => Ok(ParamRole::Named(i as u8)),
            None => word(name.get_ref(), name.span()).map_err(|fault| of_own(fault, "variables")),
        }
    }

    pub(super) fn meaning(&self, name: &Spanned<String>) -> Result<FieldRole, Fault> {
        self.meaning_at(name.get_ref(), name.span())
    }

    pub(super) fn meaning_at(&self, name: &str, place: Range<usize>) -> Result<FieldRole, Fault> {
        match self.meanings.iter().position(|declared| declared == name) {
            Some(i) => Ok(FieldRole::Named(i as u8)),
            None => word(name, place).map_err(|fault| of_own(fault, "meanings")),
        }
    }

    /// A meaning that a field or a decision has.
    pub(super) fn field(&self, name: &Spanned<String>) -> Result<FieldRole, Fault> {
        self.field_at(name.get_ref(), name.span())
    }

    pub(super) fn field_at(&self, name: &str, place: Range<usize>) -> Result<FieldRole, Fault> {
        let role = self.meaning_at(name, place.clone())?;
        match self.fields.contains(&role) {
            true => Ok(role),
            false => {
                fault_at(place, format!("`fields` has no field with the meaning {}", self.name_of(role)))
            }
        }
    }

    fn name_of(&self, role: FieldRole) -> String {
        match role {
            FieldRole::Named(i) => self.meanings.get(usize::from(i)).cloned().unwrap_or_default(),
            known => snake_case(&known),
        }
    }

    pub(super) fn block(&self, name: &Spanned<String>) -> Result<BlockIndex, Fault> {
        match self.blocks.iter().position(|block| block == name.get_ref()) {
            Some(block) => Ok(block),
            None => fault_at(name.span(), format!("`blocks` has no block `{}`", name.get_ref())),
        }
    }

    pub(super) fn special_port(&self, name: &Spanned<String>) -> Result<u32, Fault> {
        match self.special_port_at(name.get_ref()) {
            Some(number) => Ok(number),
            None => fault_at(name.span(), format!("`ports.special` has no port `{}`", name.get_ref())),
        }
    }

    pub(super) fn special_port_at(&self, name: &str) -> Option<u32> {
        self.special_ports.iter().find(|port| port.name == name).map(|port| port.number)
    }
}
