//! Reads what the architecture writes to fields.

use super::fault::Fault;
use super::names::{Names, fault_at, word};
use crate::{IntrinsicValue, IntrinsicWrites};
use indexmap::IndexMap;
use serde::Deserialize;
use toml::Spanned;

/// Writes to fields, by their meaning.
pub(super) type WritesText = IndexMap<Spanned<String>, Spanned<ValueText>>;

#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum ValueText {
    Flag(bool),
    Number(u64),
    Word(String),
}

/// Reads what is written to fields.
pub(super) fn writes(text: &WritesText, names: &Names) -> Result<IntrinsicWrites, Fault> {
    let mut writes = Vec::new();
    for (meaning, value) in text {
        let field = names.meaning(meaning)?;
        if !names.fields.contains(&field) {
            let message = format!("`writes` names {}, which `fields` does not", meaning.get_ref());
            return fault_at(meaning.span(), message);
        }
        let value = match value.get_ref() {
            ValueText::Flag(is_set) => IntrinsicValue::Number(u64::from(*is_set)),
            ValueText::Number(number) => IntrinsicValue::Number(*number),
            ValueText::Word(name) => word(name, value.span())?,
        };
        writes.push((field, value));
    }
    Ok(writes)
}
