//! Rules of translations, as a user writes them.

use std::collections::BTreeMap;

use num_bigint::BigUint;
use serde::Deserialize;
use smol_str::SmolStr;

use super::map::Others;

/// Rules by name of the translation: its URI, or the name of the type if the URI is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules(pub BTreeMap<SmolStr, Rule>);

/// Rule of one translation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// Values of the controller with those of the program. Numbers are decimal or begin with `0x`.
    pub values: Vec<(SmolStr, BigUint)>,
    /// Rule for all other values. Without one they are refused if there are `values`.
    pub others: Option<Others>,
}

/// The text is not a list of rules.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RulesError {
    #[error("{0}")]
    Syntax(String),
    #[error("`{value}` of `{name}` in \"{translation}\" is no number; write 7 or \"0x7\"")]
    Number { translation: SmolStr, name: SmolStr, value: String },
}

/// One rule in the text.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    values: BTreeMap<String, toml::Value>,
    others: Option<Others>,
}

impl Rules {
    /// Reads rules from a text in TOML with one table per translation, such as `["p4.org/psa/v1/PortId_t"]`. Its keys are
    /// `values`, such as `{ "Ethernet0" = 1, "Ethernet4" = 2 }`, and `others`: `"refuse"`, `"identity"` or `"allocate"`.
    pub fn parse(text: &str) -> Result<Rules, RulesError> {
        let written: BTreeMap<String, Written> =
            toml::from_str(text).map_err(|error| RulesError::Syntax(error.to_string()))?;
        let mut rules = BTreeMap::new();
        for (translation, Written { values, others }) in written {
            let mut rule = Rule { values: Vec::new(), others };
            for (name, value) in values {
                let (found, shown) = match &value {
                    toml::Value::Integer(integer) => (BigUint::try_from(*integer).ok(), integer.to_string()),
                    // Strings hold numbers beyond the integers of TOML.
                    toml::Value::String(text) => (number(text), text.clone()),
                    other => (None, other.type_str().to_owned()),
                };
                let Some(number) = found else {
                    let (translation, name) = (translation.into(), name.into());
                    return Err(RulesError::Number { translation, name, value: shown });
                };
                rule.values.push((name.into(), number));
            }
            rules.insert(translation.into(), rule);
        }
        Ok(Rules(rules))
    }
}

/// Reads a decimal number, or a hexadecimal one after `0x`.
pub(super) fn number(text: &str) -> Option<BigUint> {
    let (digits, radix) = match text.strip_prefix("0x") {
        Some(digits) => (digits, 16),
        None => (text, 10),
    };
    digits
        .chars()
        .all(|digit| digit.is_digit(radix))
        .then(|| BigUint::parse_bytes(digits.as_bytes(), radix))?
}
