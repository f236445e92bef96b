//! All translations of a switch.

use num_bigint::BigUint;
use smol_str::SmolStr;

use super::inward::Inward;
use super::map::{Map, Meaning, Name, Others, map_name};
use super::outward::Outward;
use super::places::{self, Parts, Translate};
use super::rules::{Rule, Rules, number};
use crate::data::Data;
use crate::entity::{Entity, Port, Value};
use crate::fault::{Fault, Problem};
use crate::query::Query;
use crate::schema::{DataType, IndexSpace, Schema, ValueForm, ValueType};
use crate::update::{Update, UpdateKind};

/// Controller's number of the port to the CPU, if ports are translated numbers.
const CPU_PORT: u32 = 0xffff_fffd;

/// Controller's number of the port that sends packets through the program again.
const RECIRCULATE_PORT: u32 = 0xffff_fffa;

/// Choices of the user, and facts about the ports of the switch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    pub rules: Rules,
    /// The translation whose values are ports; `None`: that of each program, see [`port_translation`].
    pub ports: Option<SmolStr>,
    /// Names of ports with their numbers in the program. Used where ports are strings.
    pub port_names: Vec<(SmolStr, u64)>,
    /// Numbers in the program of the ports that have numbers of their own in P4Runtime.
    pub cpu_port: Option<u64>,
    pub recirculate_port: Option<u64>,
}

/// A program whose types cannot be translated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TranslationError {
    #[error("translation \"{by}\": the program has {width_bits} bits, too few for {value}, which is {name}")]
    TooNarrow { by: SmolStr, width_bits: u32, name: String, value: String },
    #[error("translation \"{by}\": `{name}` is no number of {width_bits} bits, as controllers write it")]
    NotNumber { by: SmolStr, name: SmolStr, width_bits: u32 },
    #[error("translation \"{by}\": {name} with {value} contradicts another pair of values")]
    Contradiction { by: SmolStr, name: String, value: String },
    #[error("translation \"{by}\": controllers have strings for one type and numbers for another")]
    Mixed { by: SmolStr },
}

/// All translations of a switch. They outlive programs.
#[derive(Clone, Debug, Default)]
pub struct Translator {
    options: Options,
    maps: Vec<Map>,
}

impl Translator {
    /// Creates a translator that knows no program yet.
    pub fn new(options: Options) -> Translator {
        Translator { options, maps: Vec::new() }
    }

    /// Prepares for a program, whose values have `width_bits` of a translation, see [`Widths`](super::Widths); for `None` numbers are as wide as the controller's, and strings have 32 bits. All values of
    /// earlier programs are kept. An error leaves everything as it was.
    pub fn adopt(
        &mut self,
        schema: &Schema,
        width_bits: impl Fn(&str) -> Option<u32>,
    ) -> Result<(), TranslationError> {
        let mut maps = self.maps.clone();
        let ports = self.options.ports.clone().or_else(|| port_translation(schema));
        let meaning = |by: &SmolStr| if ports.as_ref() == Some(by) { Meaning::Port } else { Meaning::Other };
        maps.iter_mut().for_each(|map| map.meaning = meaning(&map.by));
        let mut seen: Vec<(SmolStr, ValueForm)> = Vec::new();
        for (by, form) in translations(schema) {
            let mixed = || TranslationError::Mixed { by: by.clone() };
            if let Some((_, first)) = seen.iter().find(|(known, _)| *known == by) {
                match (first, form) {
                    (ValueForm::Text, ValueForm::Text) | (ValueForm::Bits { .. }, ValueForm::Bits { .. }) => {
                    }
                    _ => return Err(mixed()),
                }
                continue;
            }
            seen.push((by.clone(), form));
            let width = width_bits(&by).unwrap_or(match form {
                ValueForm::Bits { width_bits } => width_bits,
                ValueForm::Text | ValueForm::None => u32::BITS,
            });
            match maps.iter_mut().find(|map| map.by == by) {
                Some(map) => {
                    (map.form, map.width_bits) = (form, width);
                    let map = &*map;
                    map.pairs().try_for_each(|(name, value)| fits(map, name, value))?;
                }
                None => {
                    let meaning = meaning(&by);
                    maps.push(self.map(by, form, width, meaning)?);
                }
            }
        }
        self.maps = maps;
        Ok(())
    }

    /// A new map, with the pairs that the options have for it.
    fn map(
        &self,
        by: SmolStr,
        form: ValueForm,
        width_bits: u32,
        meaning: Meaning,
    ) -> Result<Map, TranslationError> {
        let options = &self.options;
        let rule = options.rules.0.get(&by).cloned().unwrap_or_default();
        let mut map = Map::new(by, form, width_bits, default_rule(&rule, form, meaning), meaning);
        for (text, value) in &rule.values {
            let name = match form {
                ValueForm::Bits { width_bits } => {
                    let outer = number(text).filter(|number| number.bits() <= width_bits.into());
                    let (by, name) = (map.by.clone(), text.clone());
                    Name::Number(outer.ok_or(TranslationError::NotNumber { by, name, width_bits })?)
                }
                ValueForm::Text | ValueForm::None => Name::Text(text.clone()),
            };
            fits(&map, &name, value)?;
            if !map.add(name.clone(), value.clone()) {
                let (name, value) = (name.to_string(), format!("{value:#x}"));
                return Err(TranslationError::Contradiction { by: map.by, name, value });
            }
        }
        if meaning == Meaning::Port {
            let special = [(CPU_PORT, options.cpu_port), (RECIRCULATE_PORT, options.recirculate_port)];
            let special = special.into_iter().filter_map(|(outer, inner)| Some((outer, inner?)));
            let pairs: Vec<(Name, BigUint)> = match form {
                // A pair of equal numbers is none.
                ValueForm::Bits { .. } => special
                    .filter(|(outer, inner)| u64::from(*outer) != *inner)
                    .map(|(outer, inner)| (Name::Number(outer.into()), inner.into()))
                    .collect(),
                ValueForm::Text | ValueForm::None => {
                    let named = options.port_names.iter();
                    named.map(|(name, port)| (Name::Text(name.clone()), (*port).into())).collect()
                }
            };
            // The rules of the user come first.
            for (name, value) in pairs {
                if fits(&map, &name, &value).is_ok() {
                    map.add(name, value);
                }
            }
        }
        Ok(map)
    }

    /// Returns whether no program that was adopted has a translation: all values are the same on both sides.
    pub fn is_empty(&self) -> bool {
        self.maps.is_empty()
    }

    /// Translates an update of a controller, which has passed [`validate()`](crate::validate()). A deletion allocates
    /// nothing.
    pub fn update(&mut self, schema: &Schema, update: &Update) -> Result<Update, Fault> {
        let mut inner = update.clone();
        match update.kind {
            UpdateKind::Insert | UpdateKind::Modify => self.entity(schema, &mut inner.entity)?,
            UpdateKind::Delete => {
                let by = &mut Inward::LookUp(&self.maps);
                match places::entity(by, schema, Parts::Key, &mut inner.entity) {
                    // Nothing has a key that was never written.
                    Err(fault) if is_absent(&fault) => {
                        let what = schema.describe(&update.entity);
                        return Err(Problem::DoesNotExist { what }.into());
                    }
                    result => result?,
                }
            }
        }
        Ok(inner)
    }

    /// Translates a whole entity of a controller.
    pub fn entity(&mut self, schema: &Schema, entity: &mut Entity) -> Result<(), Fault> {
        if self.maps.is_empty() {
            return Ok(());
        }
        places::entity(&mut Inward::Allocate(&mut self.maps), schema, Parts::All, entity)
    }

    /// Translates a query of a controller, which has passed [`validate_query()`](crate::validate_query()). `None`: nothing
    /// can have this key, because one of its values has no translation.
    pub fn query(&self, schema: &Schema, query: &Query) -> Result<Option<Query>, Fault> {
        let mut inner = query.clone();
        if self.maps.is_empty() {
            return Ok(Some(inner));
        }
        match places::query(&mut Inward::LookUp(&self.maps), schema, &mut inner) {
            Ok(()) => Ok(Some(inner)),
            Err(fault) if is_absent(&fault) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    /// Translates an entity of the program, an answer to a query.
    pub fn answer(&self, schema: &Schema, entity: &mut Entity) -> Result<(), Fault> {
        if self.maps.is_empty() {
            return Ok(());
        }
        places::entity(&mut Outward { maps: &self.maps }, schema, Parts::All, entity)
    }

    /// Translates a value of the program with any type, such as a digest; `name` is for messages.
    pub fn data(&self, name: &str, ty: &DataType, data: &mut Data) -> Result<(), Fault> {
        places::data(&mut Outward { maps: &self.maps }, name, ty, data)
    }

    /// Translates one value of a controller, such as a field of a packet's metadata. The result is as wide as the
    /// program's values of the translation, and unchanged without one.
    pub fn to_program(&mut self, name: &str, ty: &ValueType, value: &mut Value) -> Result<(), Fault> {
        Inward::Allocate(&mut self.maps).value(name, ty, value)
    }

    /// Like [`to_program`](Self::to_program), and allocates nothing.
    pub fn look_up(&self, name: &str, ty: &ValueType, value: &mut Value) -> Result<(), Fault> {
        Inward::LookUp(&self.maps).value(name, ty, value)
    }

    /// Translates one value of the program, such as a field of a packet's metadata.
    pub fn to_controller(&self, name: &str, ty: &ValueType, value: &mut Value) -> Result<(), Fault> {
        Outward { maps: &self.maps }.value(name, ty, value)
    }

    /// Translates a port of a controller.
    pub fn port_to_program(&self, port: &mut Port) -> Result<(), Fault> {
        Inward::LookUp(&self.maps).port(port)
    }

    /// Translates a port of the program.
    pub fn port_to_controller(&self, port: &mut Port) -> Result<(), Fault> {
        Outward { maps: &self.maps }.port(port)
    }
}

/// Returns the translation of ports: the one whose name ends in `PortId_t` or `port_id_t`.
pub fn port_translation(schema: &Schema) -> Option<SmolStr> {
    let last = |by: &SmolStr| by.rsplit(['/', '.']).next().map(|last| last.replace('_', "").to_lowercase());
    translations(schema).into_iter().map(|(by, _)| by).find(|by| last(by).as_deref() == Some("portidt"))
}

fn default_rule(rule: &Rule, form: ValueForm, meaning: Meaning) -> Others {
    match (rule.others, form) {
        (Some(others), _) => others,
        (None, _) if !rule.values.is_empty() => Others::Refuse,
        (None, ValueForm::Text) if meaning == Meaning::Other => Others::Allocate,
        (None, ValueForm::Text | ValueForm::Bits { .. } | ValueForm::None) => Others::Identity,
    }
}

fn fits(map: &Map, name: &Name, value: &BigUint) -> Result<(), TranslationError> {
    let fits_outside = match (name, map.form) {
        (Name::Number(number), ValueForm::Bits { width_bits }) => number.bits() <= width_bits.into(),
        (Name::Text(_), ValueForm::Text) => true,
        (Name::Number(_), ValueForm::Text) | (Name::Text(_), ValueForm::Bits { .. }) => {
            return Err(TranslationError::Mixed { by: map.by.clone() });
        }
        (_, ValueForm::None) => true,
    };
    if fits_outside && value.bits() <= map.width_bits.into() {
        return Ok(());
    }
    let (name, value) = (name.to_string(), format!("{value:#x}"));
    Err(TranslationError::TooNarrow { by: map.by.clone(), width_bits: map.width_bits, name, value })
}

/// Returns whether a value has no translation, so that nothing can have it.
fn is_absent(fault: &Fault) -> bool {
    matches!(fault.problem(), Problem::NotTranslated { .. } | Problem::NoPort { .. })
}

/// All translations in a schema, with the form of the controller's values.
fn translations(schema: &Schema) -> Vec<(SmolStr, ValueForm)> {
    let mut found = Vec::new();
    let mut add = |ty: &ValueType| found.extend(ty.translation.clone().map(|by| (by, ty.form)));
    let keys = schema.tables.iter().flat_map(|of| &of.keys);
    keys.chain(schema.value_sets.iter().flat_map(|of| &of.fields)).for_each(|key| add(&key.value));
    schema.actions.iter().flat_map(|of| &of.params).for_each(|param| add(&param.value));
    schema.controller_headers.iter().flat_map(|of| &of.fields).for_each(|field| add(&field.value));
    let indices = (schema.counters.iter().map(|of| &of.index))
        .chain(schema.meters.iter().map(|of| &of.index))
        .chain(schema.registers.iter().map(|of| &of.index));
    let indices = indices.filter_map(|space: &IndexSpace| space.translation.clone());
    found.extend(indices.map(|translation| (translation.uri, translation.form)));
    let types =
        (schema.registers.iter().map(|of| &of.cell)).chain(schema.digests.iter().map(|of| &of.message));
    types.for_each(|ty| in_type(ty, &mut found));
    found.into_iter().map(|(by, form)| (map_name(&by), form)).collect()
}

/// Adds the translations inside of a type, whose depth is bounded.
fn in_type(ty: &DataType, found: &mut Vec<(SmolStr, ValueForm)>) {
    match ty {
        DataType::Translated { uri, form } => found.push((uri.clone(), *form)),
        DataType::Tuple(members) => members.iter().for_each(|ty| in_type(ty, found)),
        DataType::Struct(of) => of.members.iter().for_each(|(_, ty)| in_type(ty, found)),
        DataType::Bits { .. }
        | DataType::Int { .. }
        | DataType::Varbit { .. }
        | DataType::Bool
        | DataType::Header(_)
        | DataType::HeaderUnion(_)
        | DataType::HeaderStack { .. }
        | DataType::HeaderUnionStack { .. }
        | DataType::Enum(_)
        | DataType::Error(_)
        | DataType::SerializableEnum { .. } => {}
    }
}
