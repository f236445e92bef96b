//! Lists of objects, found by id and by name.

use std::fmt;
use std::sync::LazyLock;

use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use super::*;
use crate::fault::{Fault, Problem};

/// Kinds of objects of P4Info.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectKind {
    Table,
    Action,
    ActionProfile,
    Counter,
    DirectCounter,
    Meter,
    DirectMeter,
    Register,
    Digest,
    ValueSet,
    ControllerHeader,
    Extern,
}

impl ObjectKind {
    /// Returns the top byte of ids of this kind; that of an extern is its type.
    pub fn id_prefix(self) -> Option<u8> {
        match self {
            ObjectKind::Action => Some(0x01),
            ObjectKind::Table => Some(0x02),
            ObjectKind::ValueSet => Some(0x03),
            ObjectKind::ControllerHeader => Some(0x04),
            ObjectKind::ActionProfile => Some(0x11),
            ObjectKind::Counter => Some(0x12),
            ObjectKind::DirectCounter => Some(0x13),
            ObjectKind::Meter => Some(0x14),
            ObjectKind::DirectMeter => Some(0x15),
            ObjectKind::Register => Some(0x16),
            ObjectKind::Digest => Some(0x17),
            ObjectKind::Extern => None,
        }
    }
}

impl fmt::Display for ObjectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ObjectKind::Table => "table",
            ObjectKind::Action => "action",
            ObjectKind::ActionProfile => "action profile",
            ObjectKind::Counter => "counter",
            ObjectKind::DirectCounter => "direct counter",
            ObjectKind::Meter => "meter",
            ObjectKind::DirectMeter => "direct meter",
            ObjectKind::Register => "register",
            ObjectKind::Digest => "digest",
            ObjectKind::ValueSet => "value set",
            ObjectKind::ControllerHeader => "controller header",
            ObjectKind::Extern => "extern",
        })
    }
}

/// Identity that every object has.
pub trait Object {
    type Id: Copy + Eq;
    const KIND: ObjectKind;
    fn id(&self) -> Self::Id;
    fn raw(id: Self::Id) -> u32;
    fn names(&self) -> &Names;
}

macro_rules! objects {
    ($($object:ty, $id:ident, $kind:ident;)*) => {$(
        impl Object for $object {
            type Id = $id;
            const KIND: ObjectKind = ObjectKind::$kind;
            fn id(&self) -> $id {
                self.id
            }
            fn raw(id: $id) -> u32 {
                id.0
            }
            fn names(&self) -> &Names {
                &self.names
            }
        }
    )*};
}

objects! {
    Table, TableId, Table;
    Action, ActionId, Action;
    ActionProfile, ProfileId, ActionProfile;
    Counter, CounterId, Counter;
    DirectCounter, DirectCounterId, DirectCounter;
    Meter, MeterId, Meter;
    DirectMeter, DirectMeterId, DirectMeter;
    Register, RegisterId, Register;
    Digest, DigestId, Digest;
    ValueSet, ValueSetId, ValueSet;
    ControllerHeader, ControllerHeaderId, ControllerHeader;
    Extern, ExternId, Extern;
}

/// All objects of one kind, in the order of P4Info.
#[derive(Clone, Debug)]
pub struct Objects<T> {
    items: Vec<T>,
    by_id: FxHashMap<u32, usize>,
    /// Index by full name and by alias. A full name wins.
    by_name: FxHashMap<SmolStr, usize>,
}

impl<T> Default for Objects<T> {
    fn default() -> Objects<T> {
        Objects { items: Vec::new(), by_id: FxHashMap::default(), by_name: FxHashMap::default() }
    }
}

impl<T: Object> Objects<T> {
    /// Builds the list. The ids must be distinct.
    pub(super) fn new(items: Vec<T>) -> Objects<T> {
        let by_id = items.iter().enumerate().map(|(i, item)| (T::raw(item.id()), i)).collect();
        let mut by_name = FxHashMap::default();
        for (i, item) in items.iter().enumerate() {
            by_name.entry(item.names().name.clone()).or_insert(i);
        }
        for (i, item) in items.iter().enumerate() {
            by_name.entry(item.names().alias.clone()).or_insert(i);
        }
        by_name.remove("");
        Objects { items, by_id, by_name }
    }

    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.items.iter()
    }

    pub fn len(&self) -> usize {
        self.items.len()
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub fn get(&self, id: T::Id) -> Option<&T> {
        self.by_id.get(&T::raw(id)).map(|&i| &self.items[i])
    }

    /// Finds an object by full name, by alias, or by a dotted suffix of the full name that is unique.
    pub fn find(&self, name: &str) -> Result<&T, Fault> {
        if let Some(&i) = self.by_name.get(name) {
            return Ok(&self.items[i]);
        }
        let names = self.items.iter().map(|item| item.names().name.as_str());
        Ok(&self.items[find_suffix(T::KIND, "", name, names)?])
    }
}

impl<'a, T> IntoIterator for &'a Objects<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.items.iter()
    }
}

/// Kinds of things with names, for [`Fault`]s about a name that was not found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    Object(ObjectKind),
    Key,
    Param,
    Field,
    /// A constant, or a member of an enum.
    Value,
}

impl From<ObjectKind> for Part {
    fn from(kind: ObjectKind) -> Part {
        Part::Object(kind)
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Part::Object(kind) => kind.fmt(f),
            Part::Key => f.write_str("key element"),
            Part::Param => f.write_str("parameter"),
            Part::Field => f.write_str("field"),
            Part::Value => f.write_str("constant"),
        }
    }
}

/// Number of candidates that the error about an ambiguous name lists.
const N_CANDIDATES_MAX: usize = 5;

/// Returns the index of the only name that is `wanted` or ends in it after a dot.
fn find_suffix<'a>(
    part: impl Into<Part>,
    owner: &str,
    wanted: &str,
    names: impl Iterator<Item = &'a str> + Clone,
) -> Result<usize, Fault> {
    let part = part.into();
    if let Some(i) = names.clone().position(|name| name == wanted) {
        return Ok(i);
    }
    let is_suffix =
        |name: &str| name.strip_suffix(wanted).is_some_and(|rest| rest.ends_with('.')) && !wanted.is_empty();
    let mut found = names.clone().enumerate().filter(|(_, name)| is_suffix(name));
    match (found.next(), found.next()) {
        (Some((i, _)), None) => Ok(i),
        (Some(_), Some(_)) => {
            let mut all = names.filter(|name| is_suffix(name));
            let mut candidates: Vec<SmolStr> =
                all.by_ref().take(N_CANDIDATES_MAX).map(SmolStr::new).collect();
            let n_more = all.count();
            if n_more > 0 {
                candidates.push(format!("{n_more} more").into());
            }
            Err(Problem::AmbiguousName { part, name: wanted.into(), candidates }.into())
        }
        (None, _) => {
            // Users often type only the last part of the name, so suggestions compare with that too.
            let tails = names.clone().map(|name| name.rsplit('.').next().unwrap_or(name));
            let known = names.clone().take(N_CANDIDATES_MAX).map(SmolStr::new).collect();
            let suggestion = diagnostics::suggest::closest(wanted, names.chain(tails));
            Err(Problem::UnknownName {
                part,
                name: wanted.into(),
                owner: owner.into(),
                suggestion: suggestion.map(SmolStr::new),
                known,
            }
            .into())
        }
    }
}

impl Table {
    pub fn key(&self, id: FieldId) -> Option<&KeyElement> {
        self.keys.iter().find(|key| key.id == id)
    }

    /// Finds a key element by name or by a unique suffix of the name.
    pub fn find_key(&self, name: &str) -> Result<&KeyElement, Fault> {
        let owner = format!("table `{}`", self.names.name);
        let names = self.keys.iter().map(|key| key.name.as_str());
        Ok(&self.keys[find_suffix(Part::Key, &owner, name, names)?])
    }

    /// Finds one of the table's own actions by name.
    pub fn find_action<'s>(&self, schema: &'s Schema, name: &str) -> Result<&'s Action, Fault> {
        let actions: Vec<&Action> = self.actions.iter().filter_map(|a| schema.actions.get(a.id)).collect();
        if let Some(action) = actions.iter().find(|a| a.names.name == name || a.names.alias == name) {
            return Ok(action);
        }
        let owner = format!("table `{}`", self.names.name);
        let names = actions.iter().map(|action| action.names.name.as_str());
        Ok(actions[find_suffix(ObjectKind::Action, &owner, name, names)?])
    }
}

impl Action {
    pub fn param(&self, id: ParamId) -> Option<&ActionParam> {
        self.params.iter().find(|param| param.id == id)
    }

    /// Finds a parameter by name or by a unique suffix of the name.
    pub fn find_param(&self, name: &str) -> Result<&ActionParam, Fault> {
        let owner = format!("action `{}`", self.names.name);
        let names = self.params.iter().map(|param| param.name.as_str());
        Ok(&self.params[find_suffix(Part::Param, &owner, name, names)?])
    }
}

impl ValueSet {
    pub fn field(&self, id: FieldId) -> Option<&KeyElement> {
        self.fields.iter().find(|field| field.id == id)
    }

    /// Finds a field by name or by a unique suffix of the name.
    pub fn find_field(&self, name: &str) -> Result<&KeyElement, Fault> {
        let owner = format!("value set `{}`", self.names.name);
        let names = self.fields.iter().map(|field| field.name.as_str());
        Ok(&self.fields[find_suffix(Part::Field, &owner, name, names)?])
    }
}

impl ControllerHeader {
    pub fn field(&self, id: FieldId) -> Option<&ControllerField> {
        self.fields.iter().find(|field| field.id == id)
    }

    pub fn find_field(&self, name: &str) -> Result<&ControllerField, Fault> {
        let owner = format!("controller header `{}`", self.names.name);
        let names = self.fields.iter().map(|field| field.name.as_str());
        Ok(&self.fields[find_suffix(Part::Field, &owner, name, names)?])
    }
}

impl Schema {
    /// Adds the program's constants and members of enums.
    pub fn with_values(self, values: &[(String, BigUint)]) -> Schema {
        let values = values.iter().map(|(name, value)| (SmolStr::new(name), value.clone()));
        Schema { values: values.collect(), ..self }
    }

    /// Sets the widths of the program's fields for replication, which P4Info does not have.
    pub fn with_replication(self, replication: ReplicationWidths) -> Schema {
        Schema { replication, ..self }
    }

    /// Finds a constant or a member of an enum by its name, or by a unique end of it. `true` is 1 and `false` is 0, as
    /// P4Runtime writes values of type `bool`.
    pub fn find_value(&self, name: &str) -> Result<&BigUint, Fault> {
        static BOOLS: LazyLock<[BigUint; 2]> = LazyLock::new(|| [BigUint::ZERO, BigUint::from(1_u8)]);
        match name {
            "false" => return Ok(&BOOLS[0]),
            "true" => return Ok(&BOOLS[1]),
            _ => {}
        }
        let names = self.values.iter().map(|(name, _)| name.as_str());
        Ok(&self.values[find_suffix(Part::Value, "the program", name, names)?].1)
    }

    /// Returns the kind and the name of the object with this id.
    pub fn object(&self, id: u32) -> Option<(ObjectKind, &str)> {
        fn look<T: Object>(objects: &Objects<T>, id: u32) -> Option<(ObjectKind, &str)> {
            let item = &objects.items[*objects.by_id.get(&id)?];
            Some((T::KIND, &item.names().name))
        }
        look(&self.tables, id)
            .or_else(|| look(&self.actions, id))
            .or_else(|| look(&self.profiles, id))
            .or_else(|| look(&self.counters, id))
            .or_else(|| look(&self.direct_counters, id))
            .or_else(|| look(&self.meters, id))
            .or_else(|| look(&self.direct_meters, id))
            .or_else(|| look(&self.registers, id))
            .or_else(|| look(&self.digests, id))
            .or_else(|| look(&self.value_sets, id))
            .or_else(|| look(&self.controller_headers, id))
            .or_else(|| look(&self.externs, id))
    }

    /// Returns the name to show for an id, or the id itself if no object has it.
    pub fn name_of(&self, id: u32) -> SmolStr {
        match self.object(id) {
            Some((_, name)) => name.into(),
            None => format!("{id:#010x}").into(),
        }
    }

    /// Finds an object by its id; the fault says what the id is instead.
    pub fn require<'s, T: Object>(&self, objects: &'s Objects<T>, id: T::Id) -> Result<&'s T, Fault> {
        objects.get(id).ok_or_else(|| {
            let id = T::raw(id);
            let actual = self.object(id).map(|(kind, name)| (kind, SmolStr::new(name)));
            Problem::UnknownId { kind: T::KIND, id, actual }.into()
        })
    }
}
