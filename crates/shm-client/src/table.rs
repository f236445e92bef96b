//! Layouts of records as they travel to clients.
//!
//! A description is a list of 32-bit numbers and names; a name is its length and its bytes, filled to a multiple of 4. The hash
//! is FNV-1a over all that follows it.

use crate::error::Error;
use crate::wire::part;

/// A value in a record: an integer, little-endian, in so many bytes. Bits above its width are zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldLayout {
    pub id: u32,
    pub name: String,
    pub offset: u32,
    pub n_bytes: u32,
    pub n_bits: u32,
}

/// A key element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyLayout {
    pub field: FieldLayout,
    pub kind: MatchKind,
    /// The mask, or the high end of a range; as long as the value.
    pub second_at: Option<u32>,
}

/// Kinds of matches, with the numbers of `p4.config.v1.MatchField.MatchType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchKind {
    Exact = 2,
    Lpm = 3,
    Ternary = 4,
    Range = 5,
    Optional = 6,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionLayout {
    pub id: u32,
    pub name: String,
    /// The number of the action in records.
    pub index: u32,
    pub params: Vec<FieldLayout>,
}

/// The layout of the records of one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableLayout {
    pub id: u32,
    pub name: String,
    /// 0: entries of the table cannot be records.
    pub record_bytes: u32,
    /// Parts that the records have, and those that they could have.
    pub parts: u32,
    pub parts_available: u32,
    pub keys: Vec<KeyLayout>,
    /// One byte that says what entries of a table with a profile name: 1 a member, 2 a group.
    pub kind_at: Option<u32>,
    /// The index of the action, or the id of the member or group.
    pub action_at: u32,
    pub action_bytes: u32,
    /// Four bytes.
    pub priority_at: Option<u32>,
    pub idle_timeout_at: Option<u32>,
    pub count_at: Option<u32>,
    pub rates_at: Option<u32>,
    pub actions: Vec<ActionLayout>,
}

/// Layouts for one program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tables {
    pub program: u64,
    pub tables: Vec<TableLayout>,
}

const NONE: u32 = u32::MAX;
const FNV_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

struct Writer(Vec<u8>);

impl Writer {
    fn number(&mut self, number: u32) {
        self.0.extend(number.to_le_bytes());
    }

    fn name(&mut self, name: &str) {
        self.number(name.len() as u32);
        self.0.extend(name.as_bytes());
        self.0.resize(self.0.len().next_multiple_of(4), 0);
    }

    fn field(&mut self, field: &FieldLayout) {
        [field.id, field.offset, field.n_bytes, field.n_bits].into_iter().for_each(|n| self.number(n));
        self.name(&field.name);
    }
}

impl TableLayout {
    fn body(&self) -> Vec<u8> {
        let mut to = Writer(Vec::new());
        let or_none = |at: Option<u32>| at.unwrap_or(NONE);
        let numbers = [
            self.id,
            self.record_bytes,
            self.parts,
            self.parts_available,
            or_none(self.kind_at),
            self.action_at,
            self.action_bytes,
            or_none(self.priority_at),
            or_none(self.idle_timeout_at),
            or_none(self.count_at),
            or_none(self.rates_at),
            self.keys.len() as u32,
            self.actions.len() as u32,
        ];
        numbers.into_iter().for_each(|n| to.number(n));
        to.name(&self.name);
        for key in &self.keys {
            to.number(key.kind as u32);
            to.number(or_none(key.second_at));
            to.field(&key.field);
        }
        for action in &self.actions {
            to.number(action.id);
            to.number(action.index);
            to.number(action.params.len() as u32);
            to.name(&action.name);
            action.params.iter().for_each(|param| to.field(param));
        }
        to.0
    }

    /// Stands for the whole layout: requests name it, and layouts compiled into programs are compared by it.
    pub fn hash(&self) -> u64 {
        self.body().iter().fold(FNV_BASIS, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(FNV_PRIME))
    }

    /// Bytes of the description, the hash, the description.
    pub fn encode(&self, to: &mut Vec<u8>) {
        let body = self.body();
        to.extend((body.len() as u64).to_le_bytes());
        to.extend(self.hash().to_le_bytes());
        to.extend(body);
        to.resize(to.len().next_multiple_of(8), 0);
    }

    fn decode(body: &[u8]) -> Option<TableLayout> {
        let mut from = Reader(body);
        let mut next = || from.number();
        let [id, record_bytes, parts, parts_available] = [next()?, next()?, next()?, next()?];
        let [kind_at, action_at, action_bytes, priority_at] = [next()?, next()?, next()?, next()?];
        let [idle_timeout_at, count_at, rates_at] = [next()?, next()?, next()?];
        let [n_keys, n_actions] = [next()?, next()?];
        let some = |at: u32| (at != NONE).then_some(at);
        let name = from.name()?;
        let mut keys = Vec::new();
        for _ in 0..n_keys {
            let (kind, second_at) = (MatchKind::of_number(from.number()?)?, some(from.number()?));
            keys.push(KeyLayout { kind, second_at, field: from.field()? });
        }
        let mut actions = Vec::new();
        for _ in 0..n_actions {
            let [id, index, n_params] = [from.number()?, from.number()?, from.number()?];
            let name = from.name()?;
            let params = (0..n_params).map(|_| from.field()).collect::<Option<_>>()?;
            actions.push(ActionLayout { id, name, index, params });
        }
        Some(TableLayout {
            id,
            name,
            record_bytes,
            parts,
            parts_available,
            keys,
            kind_at: some(kind_at),
            action_at,
            action_bytes,
            priority_at: some(priority_at),
            idle_timeout_at: some(idle_timeout_at),
            count_at: some(count_at),
            rates_at: some(rates_at),
            actions,
        })
    }

    /// A key element by its name, or the end of its name.
    pub fn key(&self, name: &str) -> Result<&KeyLayout, Error> {
        find(&self.keys, "key element", name, |key| &key.field.name)
    }

    pub fn action(&self, name: &str) -> Result<&ActionLayout, Error> {
        find(&self.actions, "action", name, |action| &action.name)
    }

    pub fn has_part(&self, part: u32) -> bool {
        self.parts & part != 0 && part & part::ALL == part
    }
}

impl ActionLayout {
    pub fn param(&self, name: &str) -> Result<&FieldLayout, Error> {
        find(&self.params, "parameter", name, |param| &param.name)
    }
}

impl MatchKind {
    fn of_number(number: u32) -> Option<MatchKind> {
        use MatchKind::*;
        [Exact, Lpm, Ternary, Range, Optional].into_iter().find(|kind| *kind as u32 == number)
    }
}

impl Tables {
    pub fn encode(&self) -> Vec<u8> {
        let mut to = Vec::new();
        to.extend(self.program.to_le_bytes());
        to.extend((self.tables.len() as u64).to_le_bytes());
        self.tables.iter().for_each(|table| table.encode(&mut to));
        to
    }

    /// `None` if the bytes are no layouts.
    pub fn decode(bytes: &[u8]) -> Option<Tables> {
        let mut from = Reader(bytes);
        let (program, n_tables) = (from.word()?, from.word()?);
        let mut tables = Vec::new();
        for _ in 0..n_tables {
            let (n_bytes, hash) = (from.word()? as usize, from.word()?);
            let table = TableLayout::decode(from.take(n_bytes)?)?;
            from.take(n_bytes.next_multiple_of(8) - n_bytes)?;
            tables.push(Some(table).filter(|table| table.hash() == hash)?);
        }
        Some(Tables { program, tables })
    }

    /// A table by its name, or the end of its name.
    pub fn table(&self, name: &str) -> Result<&TableLayout, Error> {
        find(&self.tables, "table", name, |table| &table.name)
    }
}

struct Reader<'b>(&'b [u8]);

impl<'b> Reader<'b> {
    fn take(&mut self, n_bytes: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(n_bytes)?;
        self.0 = rest;
        Some(taken)
    }

    fn word(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(*self.take(8)?.first_chunk()?))
    }

    fn number(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(*self.take(4)?.first_chunk()?))
    }

    fn name(&mut self) -> Option<String> {
        let n_bytes = self.number()? as usize;
        let bytes = self.take(n_bytes.checked_next_multiple_of(4)?)?;
        String::from_utf8(bytes.get(..n_bytes)?.to_vec()).ok()
    }

    fn field(&mut self) -> Option<FieldLayout> {
        let [id, offset, n_bytes, n_bits] = [self.number()?, self.number()?, self.number()?, self.number()?];
        Some(FieldLayout { id, offset, n_bytes, n_bits, name: self.name()? })
    }
}

/// The only one whose name is `name` or ends in it after a dot.
fn find<'i, T>(items: &'i [T], what: &str, name: &str, of: impl Fn(&T) -> &str) -> Result<&'i T, Error> {
    if let Some(item) = items.iter().find(|item| of(item) == name) {
        return Ok(item);
    }
    let is_end = |full: &str| full.strip_suffix(name).is_some_and(|rest| rest.ends_with('.'));
    let mut found = items.iter().filter(|item| is_end(of(item)));
    match (found.next(), found.next()) {
        (Some(item), None) => Ok(item),
        (Some(_), Some(_)) => Err(Error::Invalid(format!("several names of a {what} end in `{name}`"))),
        (None, _) => {
            let names: Vec<&str> = items.iter().take(8).map(&of).collect();
            Err(Error::Invalid(format!("no {what} `{name}`; there are {}", names.join(", "))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(name: &str, offset: u32) -> FieldLayout {
        FieldLayout { id: 1, name: name.to_owned(), offset, n_bytes: 4, n_bits: 32 }
    }

    #[test]
    fn layouts_are_read_as_they_are_written() {
        let key = KeyLayout { field: field("ipv4.dst", 0), kind: MatchKind::Lpm, second_at: Some(4) };
        let action = ActionLayout { id: 5, name: "In.set".into(), index: 1, params: vec![field("port", 9)] };
        let table = TableLayout {
            id: 7,
            name: "In.routes".into(),
            record_bytes: 16,
            parts: 0,
            parts_available: part::COUNT,
            keys: vec![key],
            kind_at: None,
            action_at: 8,
            action_bytes: 1,
            priority_at: None,
            idle_timeout_at: None,
            count_at: None,
            rates_at: None,
            actions: vec![action],
        };
        let tables = Tables { program: 3, tables: vec![table.clone(), table] };
        let bytes = tables.encode();
        assert_eq!(Tables::decode(&bytes), Some(tables));
        for n_bytes in 0..bytes.len() {
            assert_eq!(Tables::decode(&bytes[..n_bytes]), None, "{n_bytes}");
        }
    }

    #[test]
    fn names_are_found_by_their_ends() {
        let names = ["a.b.c", "x.c", "d"];
        let of = |name: &&'static str| -> &'static str { name };
        assert_eq!(*find(&names, "name", "b.c", |n| of(n)).unwrap(), "a.b.c");
        assert_eq!(*find(&names, "name", "d", |n| of(n)).unwrap(), "d");
        assert!(find(&names, "name", "c", |n| of(n)).is_err());
        assert!(find(&names, "name", "e", |n| of(n)).is_err());
    }
}
