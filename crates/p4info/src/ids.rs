//! Numbers for the objects of P4Info, and for the parts of objects.
//!
//! An object's id is one byte for its kind and three bytes from its name, so
//! that it survives most changes of the program. The algorithm is p4c's: a
//! controller with hard-coded ids must not notice which compiler was used.
//! P4Runtime, "ID Allocation for P4Info Objects", fixes the layout only.

use std::collections::{BTreeMap, BTreeSet};

use crate::alias::SuffixSet;
use crate::proto::p4::config::v1::p4_ids::Prefix;

/// Kind of an object; its discriminant is the top byte of the object's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectKind {
    Action = Prefix::Action as isize,
    Table = Prefix::Table as isize,
    ValueSet = Prefix::ValueSet as isize,
    ControllerHeader = Prefix::ControllerHeader as isize,
    /// Action profiles and action selectors.
    ActionProfile = Prefix::ActionProfile as isize,
    Counter = Prefix::Counter as isize,
    DirectCounter = Prefix::DirectCounter as isize,
    Meter = Prefix::Meter as isize,
    DirectMeter = Prefix::DirectMeter as isize,
    Register = Prefix::Register as isize,
    Digest = Prefix::Digest as isize,
}

impl ObjectKind {
    /// The top byte of an id, in place.
    pub fn prefix(self) -> u32 {
        (self as u32) << 24
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// The annotation's top byte is that of another kind of object.
    #[error(
        "`@id({id:#010x})` on `{name}`: the top byte must be 0 or {:#04x}",
        *.kind as u32
    )]
    WrongPrefix { kind: ObjectKind, name: String, id: u32 },
    /// Two objects ask for the same id.
    #[error("`@id({id:#010x})` is on both `{first}` and `{second}`")]
    Taken { id: u32, first: String, second: String },
    /// All 2^24 ids of a kind are in use.
    #[error("no id is left for `{name}`")]
    Exhausted { kind: ObjectKind, name: String },
    /// An `@id` of 0 on a part of an object.
    #[error("`@id(0)` is not valid: ids start at 1")]
    Zero,
    /// Two parts of an object ask for the same id.
    #[error("`@id({id})` is used twice")]
    TakenMember { id: u32 },
}

/// Collects the names of a program before any id is known: which id a name
/// gets may depend on all other names.
#[derive(Debug, Default)]
pub struct SymbolTable {
    /// `None` until [`SymbolTable::assign`].
    symbols: BTreeMap<ObjectKind, BTreeMap<String, Option<u32>>>,
    /// Ids in use, with the name to blame.
    taken: BTreeMap<u32, String>,
    suffixes: SuffixSet,
}

impl SymbolTable {
    /// Adds an object. A name that is already there is left as it is, which
    /// lets an action be added once per table that uses it.
    ///
    /// `id` is the argument of `@id`, with or without its top byte. If it
    /// cannot be honoured the object is added without it.
    pub fn add(&mut self, kind: ObjectKind, name: &str, id: Option<u32>) -> Result<(), IdError> {
        let of_kind = self.symbols.entry(kind).or_default();
        if of_kind.contains_key(name) {
            return Ok(());
        }
        self.suffixes.insert(name);
        of_kind.insert(name.to_owned(), None);
        let Some(id) = id else { return Ok(()) };

        if id >> 24 != 0 && id & 0xff00_0000 != kind.prefix() {
            return Err(IdError::WrongPrefix { kind, name: name.to_owned(), id });
        }
        let id = id | kind.prefix();
        if let Some(first) = self.taken.get(&id) {
            return Err(IdError::Taken { id, first: first.clone(), second: name.to_owned() });
        }
        self.taken.insert(id, name.to_owned());
        of_kind.insert(name.to_owned(), Some(id));
        Ok(())
    }

    /// Assigns ids to the objects that have none: the hash of the name, or the
    /// next free number. Names are visited in byte order, after all `@id`s, so
    /// that the result does not depend on the order of [`SymbolTable::add`].
    pub fn assign(mut self) -> Result<Symbols, IdError> {
        let mut ids = BTreeMap::new();
        for (kind, names) in self.symbols {
            for (name, id) in names {
                let id = match id {
                    Some(id) => id,
                    None => probe(kind, &name, &self.taken)?,
                };
                self.taken.insert(id, name.clone());
                ids.insert((kind, name), id);
            }
        }
        Ok(Symbols { ids, suffixes: self.suffixes })
    }
}

fn probe(kind: ObjectKind, name: &str, taken: &BTreeMap<u32, String>) -> Result<u32, IdError> {
    const MASK: u32 = 0x00ff_ffff;
    let hash = one_at_a_time(name.as_bytes());
    (0..=MASK)
        .map(|step| kind.prefix() | (hash.wrapping_add(step) & MASK))
        .find(|id| !taken.contains_key(id))
        .ok_or_else(|| IdError::Exhausted { kind, name: name.to_owned() })
}

/// The ids and aliases of a program.
#[derive(Debug, Default)]
pub struct Symbols {
    ids: BTreeMap<(ObjectKind, String), u32>,
    suffixes: SuffixSet,
}

impl Symbols {
    pub fn id(&self, kind: ObjectKind, name: &str) -> Option<u32> {
        self.ids.get(&(kind, name.to_owned())).copied()
    }

    /// The shortest dotted suffix that no other object shares, of any kind;
    /// see [`SuffixSet::shortest_unique`].
    pub fn alias<'n>(&self, name: &'n str) -> &'n str {
        self.suffixes.shortest_unique(name)
    }
}

/// Ids for match fields, action parameters, or controller header fields, given
/// the argument of each one's `@id`.
///
/// Without annotations they are 1, 2, 3 and so on. An annotated part still uses
/// up its position: of three parts with `@id(7)` on the first, the others get
/// 2 and 3, not 1 and 2. That is p4c's rule.
pub fn assign_member_ids(wanted: &[Option<u32>]) -> Result<Vec<u32>, IdError> {
    let mut taken = BTreeSet::new();
    for &id in wanted.iter().flatten() {
        if id == 0 {
            return Err(IdError::Zero);
        }
        if !taken.insert(id) {
            return Err(IdError::TakenMember { id });
        }
    }
    let mut next = 1;
    let mut ids = Vec::with_capacity(wanted.len());
    for &id in wanted {
        ids.push(id.unwrap_or_else(|| {
            while !taken.insert(next) {
                next += 1;
            }
            next
        }));
        // A free position is skipped by the loop above; an annotated one is not.
        next += u32::from(id.is_some());
    }
    Ok(ids)
}

/// Bob Jenkins's one-at-a-time hash.
fn one_at_a_time(key: &[u8]) -> u32 {
    let mut hash = 0u32;
    for &byte in key {
        hash = hash.wrapping_add(u32::from(byte));
        hash = hash.wrapping_add(hash << 10);
        hash ^= hash >> 6;
    }
    hash = hash.wrapping_add(hash << 3);
    hash ^= hash >> 11;
    hash.wrapping_add(hash << 15)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbols(names: &[(ObjectKind, &str, Option<u32>)]) -> Symbols {
        let mut table = SymbolTable::default();
        for &(kind, name, id) in names {
            table.add(kind, name, id).unwrap();
        }
        table.assign().unwrap()
    }

    #[test]
    fn ids_are_those_of_p4c() {
        // From p4c's expected outputs.
        let known = include_str!("../tests/known_ids.txt");
        for line in known.lines().filter(|line| !line.starts_with('#')) {
            let (id, name) = line.split_once(' ').unwrap();
            let id: u32 = id.parse().unwrap();
            let kind = match id >> 24 {
                0x01 => ObjectKind::Action,
                0x02 => ObjectKind::Table,
                0x03 => ObjectKind::ValueSet,
                0x04 => ObjectKind::ControllerHeader,
                0x11 => ObjectKind::ActionProfile,
                0x12 => ObjectKind::Counter,
                0x13 => ObjectKind::DirectCounter,
                0x14 => ObjectKind::Meter,
                0x15 => ObjectKind::DirectMeter,
                0x16 => ObjectKind::Register,
                0x17 => ObjectKind::Digest,
                other => panic!("{other:#x} in {line}"),
            };
            assert_eq!(symbols(&[(kind, name, None)]).id(kind, name), Some(id), "{name}");
        }
    }

    #[test]
    fn an_annotation_wins_and_a_collision_moves_on() {
        let hash = symbols(&[(ObjectKind::Table, "a", None)]).id(ObjectKind::Table, "a").unwrap();
        let both =
            symbols(&[(ObjectKind::Table, "a", None), (ObjectKind::Table, "b", Some(hash & 0xff_ffff))]);
        assert_eq!(both.id(ObjectKind::Table, "b"), Some(hash));
        assert_eq!(both.id(ObjectKind::Table, "a"), Some(hash + 1));
        assert_eq!(both.id(ObjectKind::Action, "a"), None);
    }

    #[test]
    fn bad_annotations() {
        let mut table = SymbolTable::default();
        table.add(ObjectKind::Table, "a", Some(1)).unwrap();
        table.add(ObjectKind::Action, "a", Some(1)).unwrap();
        let taken = table.add(ObjectKind::Table, "b", Some(0x0200_0001));
        assert_eq!(taken.unwrap_err().to_string(), "`@id(0x02000001)` is on both `a` and `b`");
        let wrong = table.add(ObjectKind::Table, "c", Some(0x0100_0001));
        assert_eq!(
            wrong.unwrap_err().to_string(),
            "`@id(0x01000001)` on `c`: the top byte must be 0 or 0x02"
        );
        // A second mention of a name changes nothing.
        table.add(ObjectKind::Table, "a", Some(0x0100_0001)).unwrap();
        let symbols = table.assign().unwrap();
        assert_eq!(symbols.id(ObjectKind::Table, "a"), Some(0x0200_0001));
        assert_ne!(symbols.id(ObjectKind::Table, "b"), None);
    }

    #[test]
    fn member_ids() {
        let ids = |wanted: &[u32]| {
            let wanted: Vec<_> = wanted.iter().map(|&id| (id != 0).then_some(id)).collect();
            assign_member_ids(&wanted).unwrap()
        };
        assert!(ids(&[]).is_empty());
        assert_eq!(ids(&[0, 0, 0]), [1, 2, 3]);
        assert_eq!(ids(&[7, 0, 0]), [7, 2, 3]);
        assert_eq!(ids(&[0, 7, 0, 0]), [1, 7, 2, 3]);
        assert_eq!(ids(&[2, 0, 0]), [2, 3, 4]);
        assert_eq!(ids(&[0, 1]), [2, 1]);
        assert_eq!(assign_member_ids(&[Some(0)]), Err(IdError::Zero));
        assert_eq!(assign_member_ids(&[Some(3), Some(3)]), Err(IdError::TakenMember { id: 3 }));
    }
}
