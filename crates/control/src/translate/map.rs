//! The map of one translation, which is one to one.

use num_bigint::BigUint;
use rustc_hash::FxHashMap;
use serde::Deserialize;
use smol_str::{SmolStr, ToSmolStr, format_smolstr};

use crate::fault::{Fault, Problem};
use crate::schema::ValueForm;

/// Number of names that a message shows at most.
const N_SHOWN_MAX: usize = 4;

/// Rule for values that are in no pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Others {
    /// They do not exist.
    Refuse,
    /// Numbers are the same on both sides where they fit. As strings they are decimal.
    Identity,
    /// Each gets a free number of the program on its first use, its own if possible.
    Allocate,
}

/// A value of the controller.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Name {
    Number(BigUint),
    Text(SmolStr),
}

impl Name {
    /// Returns the number of the program that has this name if no pair says otherwise.
    fn natural(&self) -> Option<BigUint> {
        match self {
            Name::Number(number) => Some(number.clone()),
            Name::Text(text) => {
                let is_canonical = text == "0" || !text.starts_with('0');
                let is_number = !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
                (is_canonical && is_number).then(|| BigUint::parse_bytes(text.as_bytes(), 10))?
            }
        }
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Name::Number(number) => write!(f, "{number:#x}"),
            Name::Text(text) => write!(f, "{text:?}"),
        }
    }
}

/// Whether values of a translation are ports, which have codes of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    Port,
    Other,
}

#[derive(Clone, Debug)]
pub(super) struct Map {
    /// Name of the translation.
    pub by: SmolStr,
    /// Form of the controller's values.
    pub form: ValueForm,
    /// Width of the program's values.
    pub width_bits: u32,
    pub others: Others,
    pub meaning: Meaning,
    to_program: FxHashMap<Name, BigUint>,
    to_controller: FxHashMap<BigUint, Name>,
    /// Smaller numbers are taken. 0 is left for the name `0`, because programs often give it a meaning.
    next: u64,
}

/// Returns the name of the map for a translation. PSA and PNA have a type of their own for ports in headers, whose values
/// are those of other ports.
pub(super) fn map_name(by: &SmolStr) -> SmolStr {
    by.strip_suffix("PortIdInHeader_t").map_or_else(|| by.clone(), |stem| format_smolstr!("{stem}PortId_t"))
}

impl Map {
    pub fn new(by: SmolStr, form: ValueForm, width_bits: u32, others: Others, meaning: Meaning) -> Map {
        Map {
            by,
            form,
            width_bits,
            others,
            meaning,
            to_program: FxHashMap::default(),
            to_controller: FxHashMap::default(),
            next: 1,
        }
    }

    /// Returns whether all values are the same on both sides, so that parts of them are too.
    pub fn is_identity(&self) -> bool {
        let is_number = match self.form {
            ValueForm::Bits { .. } => true,
            ValueForm::Text | ValueForm::None => false,
        };
        is_number && self.others == Others::Identity && self.to_program.is_empty()
    }

    pub fn pairs(&self) -> impl Iterator<Item = (&Name, &BigUint)> {
        self.to_program.iter()
    }

    /// Adds a pair; returns false if one of the two has another partner.
    pub fn add(&mut self, name: Name, value: BigUint) -> bool {
        match (self.to_program.get(&name), self.to_controller.get(&value)) {
            (None, None) => {
                self.to_program.insert(name.clone(), value.clone());
                self.to_controller.insert(value, name);
                true
            }
            (Some(known), _) => *known == value,
            (None, Some(_)) => false,
        }
    }

    /// Returns the program's value for one of the controller; `place` is what has it, for messages.
    pub fn look_up(&self, place: &str, name: &Name) -> Result<BigUint, Fault> {
        self.check_port(name)?;
        if let Some(value) = self.to_program.get(name) {
            return Ok(value.clone());
        }
        let natural = name.natural().filter(|_| self.others != Others::Refuse);
        let is_port = self.meaning == Meaning::Port;
        if let Some(value) = natural {
            if value.bits() <= self.width_bits.into() {
                if !self.to_controller.contains_key(&value) {
                    return Ok(value);
                }
            } else if self.others == Others::Identity && !is_port {
                let (name, value) = (place.into(), format!("{value:#x}"));
                return Err(Problem::TooWide { name, value, width_bits: self.width_bits }.into());
            }
        }
        Err(if is_port {
            Problem::NoPort { port: name.to_string(), why: self.known_ports() }
        } else {
            Problem::NotTranslated { name: place.into(), value: name.to_string(), by: self.by.clone() }
        }
        .into())
    }

    /// Like [`look_up`](Self::look_up), and allocates a value if the rule for others says so.
    pub fn look_up_or_allocate(&mut self, place: &str, name: &Name) -> Result<BigUint, Fault> {
        let found = self.look_up(place, name);
        match self.others {
            Others::Refuse | Others::Identity => return found,
            Others::Allocate => self.check_port(name)?,
        }
        let value = match found {
            Ok(value) => value,
            Err(_) => self.free()?,
        };
        self.add(name.clone(), value.clone());
        Ok(value)
    }

    /// Says which ports there are.
    fn known_ports(&self) -> String {
        let mut names: Vec<String> = self.to_program.keys().map(Name::to_string).collect();
        names.sort();
        names.truncate(N_SHOWN_MAX);
        if self.others == Others::Identity {
            names.push(format!("numbers of {} bits", self.width_bits));
        }
        format!("{} has {}", self.by, names.join(", "))
    }

    fn check_port(&self, name: &Name) -> Result<(), Fault> {
        if self.meaning == Meaning::Port && *name == Name::Number(BigUint::ZERO) {
            return Err(Problem::NoPort { port: name.to_string(), why: "port 0 is none".into() }.into());
        }
        Ok(())
    }

    /// Returns the controller's value for one of the program.
    pub fn outward(&self, value: &BigUint) -> Result<Name, Fault> {
        if let Some(name) = self.to_controller.get(value) {
            return Ok(name.clone());
        }
        let name = match (self.others, self.form) {
            (Others::Refuse, _) | (_, ValueForm::None) => None,
            (_, ValueForm::Bits { width_bits }) if value.bits() > width_bits.into() => None,
            (_, ValueForm::Bits { .. }) => Some(Name::Number(value.clone())),
            (_, ValueForm::Text) => Some(Name::Text(value.to_smolstr())),
        };
        name.filter(|name| !self.to_program.contains_key(name))
            .ok_or_else(|| Problem::NoName { value: format!("{value:#x}"), by: self.by.clone() }.into())
    }

    /// Returns the smallest number of the program that has no name, from 1.
    fn free(&mut self) -> Result<BigUint, Fault> {
        let last = if self.width_bits >= u64::BITS { u64::MAX } else { (1 << self.width_bits) - 1 };
        match (self.next..=last).find(|value| !self.to_controller.contains_key(&BigUint::from(*value))) {
            Some(value) => {
                self.next = value;
                Ok(value.into())
            }
            None => Err(Problem::TranslationFull { by: self.by.clone(), n_values: last }.into()),
        }
    }
}
