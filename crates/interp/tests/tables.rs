//! The table engine against the most naive model there is, and single rules of writing to tables.

use interp::load::Config;
use interp::table::{EntryAction, Group, NewEntry, TableError, Tables, Weighted, is_match, normalised};
use interp::{EntryRef, Executable};
use ir::{Action, Bits, Match, TableId};
use proptest::prelude::*;

/// Table `t` with keys of these match kinds, 4 bits each.
fn program(kinds: &[&str], more: &str) -> Executable {
    let keys: String = kinds.iter().enumerate().map(|(i, k)| format!("    key k{i}: bit<4> {k}\n")).collect();
    let text = format!(
        "architecture v1model
errors NoError
var value: bit<16> in procedure set
var other: bit<16> in procedure only
procedure set: action(value) in I {{
    entry n0
    n0:
        return
}}
procedure only: action(other) in I {{
    entry n0
    n0:
        return
}}
object selector: action_selector(algorithm = member crc16, size = 32w0x8, outputWidth = 32w0x10)
object profile: action_profile(size = 32w0x2)
table t in I {{
{keys}    action set = set
    action only = only default_only
    default set(16w0xffff)
{more}}}
block I: Ingress() {{
    entry n0
    n0:
        return
}}
"
    );
    let program = ir::text::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    Executable::new(program, Config::default()).unwrap()
}

fn tables(kinds: &[&str], more: &str) -> (Tables, TableId) {
    let exe = program(kinds, more);
    let tables = Tables::new(&exe, Config::default()).unwrap();
    let id = exe.program.tables.iter().next().unwrap().0;
    (tables, id)
}

fn set(value: u128) -> Action {
    Action { index: 0, data: vec![Bits::new(16, value)] }
}

fn nibble(value: u8) -> Bits {
    Bits::new(4, value.into())
}

fn exact(value: u8) -> Option<Match> {
    Some(Match::Exact(nibble(value)))
}

/// What the tables answer: the datum of the action, and whether an entry was hit.
fn ask(tables: &mut Tables, id: TableId, key: &[u8]) -> (bool, Option<u64>) {
    let key: Vec<Bits> = key.iter().map(|k| nibble(*k)).collect();
    let found = tables.lookup(id, &key, 0, &mut || 0);
    (found.stored.is_some(), found.action.and_then(|(_, data)| data.first()?.to_u64()))
}

fn some_match(kind: &str, a: u8, b: u8) -> Option<Match> {
    match kind {
        "exact" => exact(a),
        "lpm" => Some(Match::Lpm { value: nibble(a), prefix_len: u32::from(b % 5) }),
        "ternary" => Some(Match::Ternary { value: nibble(a), mask: nibble(b) }),
        "range" => Some(Match::Range { low: nibble(a.min(b)), high: nibble(a.max(b)) }),
        _ if b.is_multiple_of(3) => None,
        _ => Some(Match::Optional(nibble(a))),
    }
}

#[derive(Clone, Debug)]
enum Op {
    Insert { parts: Vec<(u8, u8)>, priority: i32, value: u16 },
    Modify { nth: usize, value: u16 },
    Delete { nth: usize },
    Lookup { key: Vec<u8> },
}

fn op() -> impl Strategy<Value = Op> {
    let parts = proptest::collection::vec((0u8..16, 0u8..16), 3);
    prop_oneof![
        3 => (parts, 1i32..4, any::<u16>()).prop_map(|(parts, priority, value)| Op::Insert { parts, priority, value }),
        1 => (0usize..64, any::<u16>()).prop_map(|(nth, value)| Op::Modify { nth, value }),
        1 => (0usize..64).prop_map(|nth| Op::Delete { nth }),
        4 => proptest::collection::vec(0u8..16, 3).prop_map(|key| Op::Lookup { key }),
    ]
}

const SHAPES: &[&[&str]] = &[
    &["exact"],
    &["exact", "exact", "exact"],
    &["lpm"],
    &["exact", "lpm"],
    &["ternary", "ternary"],
    &["range"],
    &["optional", "optional"],
    &["exact", "range", "ternary"],
    &["lpm", "ternary"],
    &["lpm", "optional"],
];

/// Entries in the order of insertion; asked one after the other.
#[derive(Default)]
struct Model {
    entries: Vec<(Vec<Option<Match>>, i32, u16)>,
    has_priority: bool,
}

impl Model {
    fn best(&self, key: &[u8]) -> Option<u16> {
        let prefix = |m: &[Option<Match>]| match self.has_priority {
            true => 0,
            false => m
                .iter()
                .flatten()
                .map(|m| if let Match::Lpm { prefix_len, .. } = m { *prefix_len } else { 0 })
                .sum::<u32>(),
        };
        let mut best: Option<(i32, u32, u16)> = None;
        for (matches, priority, value) in &self.entries {
            let hit = matches.iter().zip(key).all(|(m, k)| is_match(m.as_ref(), &nibble(*k), false));
            let rank = (*priority, prefix(matches));
            if hit && best.is_none_or(|(p, l, _)| rank > (p, l)) {
                best = Some((rank.0, rank.1, *value));
            }
        }
        best.map(|(_, _, value)| value)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn tables_do_what_the_model_does(
        shape in 0..SHAPES.len(),
        ops in proptest::collection::vec(op(), 1..60),
    ) {
        let kinds = SHAPES[shape];
        let (mut tables, id) = tables(kinds, "    size 12\n");
        let has_priority = kinds.iter().any(|k| matches!(*k, "ternary" | "range" | "optional"));
        let mut model = Model { has_priority, ..Model::default() };
        for op in ops {
            match op {
                Op::Insert { parts, priority, value } => {
                    let matches = kinds.iter().zip(&parts).map(|(k, (a, b))| some_match(k, *a, *b)).collect::<Vec<_>>();
                    let priority = if has_priority { priority } else { 0 };
                    let normal: Vec<_> = matches.iter().map(|m| normalised(m.clone(), false)).collect();
                    let exists = model.entries.iter().any(|(m, p, _)| *m == normal && *p == priority);
                    let expected = match (exists, model.entries.len()) {
                        (true, _) => Err(TableError::Exists),
                        (false, 12) => Err(TableError::Full { size: 12 }),
                        (false, _) => Ok(()),
                    };
                    let entry = NewEntry::new(matches, priority, set(value.into()));
                    prop_assert_eq!(tables.insert(id, entry, 0).map(|_| ()), expected.clone());
                    if expected.is_ok() {
                        model.entries.push((normal, priority, value));
                    }
                }
                Op::Modify { nth, value } if !model.entries.is_empty() => {
                    let nth = nth % model.entries.len();
                    let entry = &mut model.entries[nth];
                    entry.2 = value;
                    let new = NewEntry::new(entry.0.clone(), entry.1, set(value.into()));
                    prop_assert!(tables.modify(id, new, 0).is_ok());
                }
                Op::Delete { nth } if !model.entries.is_empty() => {
                    let nth = nth % model.entries.len();
                    let (matches, priority, _) = model.entries.remove(nth);
                    prop_assert!(tables.delete(id, &matches, priority).is_ok());
                    prop_assert_eq!(tables.delete(id, &matches, priority).err(), Some(TableError::NotFound));
                }
                Op::Lookup { key } => {
                    let expected = model.best(&key[..kinds.len()]);
                    let found = ask(&mut tables, id, &key[..kinds.len()]);
                    prop_assert_eq!(found, (expected.is_some(), Some(expected.map_or(0xffff, u64::from))));
                }
                Op::Modify { .. } | Op::Delete { .. } => {}
            }
            prop_assert_eq!(tables.table(id).unwrap().n_entries(), model.entries.len());
        }
        let order: Vec<_> = model.entries.iter().map(|(m, p, _)| (m.clone(), *p)).collect();
        let entries = tables.table(id).unwrap().entries_after(None, usize::MAX);
        let found: Vec<_> = entries.iter().map(|e| (e.matches.clone(), e.priority)).collect();
        prop_assert_eq!(found, order);
    }
}

#[test]
fn entries_of_the_program_keep_their_order_among_equals() {
    let more = "    entry (4w0x1 &&& 4w0x1) -> set(16w0x1)
    entry (4w0x3 &&& 4w0x3) -> set(16w0x2)
    entry (4w0x0 &&& 4w0x1) priority -5 -> set(16w0x3)
    entry (_) priority 9 -> set(16w0x4)
";
    let (mut tables, id) = tables(&["ternary"], more);
    assert_eq!(ask(&mut tables, id, &[3]), (true, Some(4)));
    let entry = tables.delete(id, &vec![None], 9).unwrap();
    assert_eq!(entry.n_hits, 1);
    assert_eq!(ask(&mut tables, id, &[3]), (true, Some(1)));
    assert_eq!(ask(&mut tables, id, &[2]), (true, Some(3)));
}

#[test]
fn writes_are_checked() {
    let (mut tables, id) = tables(&["exact", "lpm"], "    const entry (4w0x1, 4w0x0 / 0) -> set(16w0x1)\n");
    let lpm = |value, prefix_len| Some(Match::Lpm { value: nibble(value), prefix_len });
    let mut insert =
        |matches, priority, action| tables.insert(id, NewEntry::new(matches, priority, action), 0).err();
    assert_eq!(
        insert(vec![exact(1)], 0, set(1)),
        Some(TableError::WrongNumberOfKeys { expected: 2, found: 1 })
    );
    assert_eq!(insert(vec![None, None], 0, set(1)), Some(TableError::MissingMatch { key: "k0".into() }));
    assert_eq!(
        insert(vec![exact(1), exact(1)], 0, set(1)),
        Some(TableError::WrongMatch { key: "k1".into() })
    );
    assert_eq!(
        insert(vec![exact(1), lpm(1, 5)], 0, set(1)),
        Some(TableError::WrongMatch { key: "k1".into() })
    );
    let wide = Some(Match::Exact(Bits::new(5, 1)));
    assert_eq!(insert(vec![wide, None], 0, set(1)), Some(TableError::WrongMatch { key: "k0".into() }));
    assert_eq!(insert(vec![exact(1), lpm(9, 0)], 0, set(1)), Some(TableError::Exists));
    assert_eq!(insert(vec![exact(2), None], 1, set(1)), Some(TableError::NoPriorities));
    let action = |index, data| Action { index, data };
    assert_eq!(insert(vec![exact(2), None], 0, action(7, vec![])), Some(TableError::UnknownAction));
    let wrong = Some(TableError::WrongData { action: "set".into() });
    assert_eq!(insert(vec![exact(2), None], 0, action(0, vec![])), wrong);
    assert_eq!(insert(vec![exact(2), None], 0, action(0, vec![Bits::new(15, 0)])), wrong);
    let only = Some(TableError::DefaultOnly { action: "only".into() });
    assert_eq!(insert(vec![exact(2), None], 0, action(1, vec![Bits::new(16, 0)])), only);
    let matches = vec![exact(1), None];
    assert_eq!(tables.delete(id, &matches, 0).err(), Some(TableError::ConstEntry));
    let entry = NewEntry::new(matches, 0, set(1));
    assert_eq!(tables.modify(id, entry, 0).err(), Some(TableError::ConstEntry));
    assert_eq!(tables.set_default(id, Some(action(1, vec![Bits::new(16, 5)]))), Ok(()));
    assert_eq!(ask(&mut tables, id, &[9, 9]), (false, Some(5)));
    assert_eq!(tables.set_default(id, None), Ok(()));
    assert_eq!(ask(&mut tables, id, &[9, 9]), (false, Some(0xffff)));
}

#[test]
fn tables_without_keys_have_no_entries() {
    let (mut tables, id) = tables(&[], "");
    let entry = NewEntry::new(vec![], 0, set(1));
    assert_eq!(tables.insert(id, entry, 0).err(), Some(TableError::NoKeys));
    assert_eq!(ask(&mut tables, id, &[]), (false, Some(0xffff)));
}

#[test]
fn a_table_that_says_no_size_has_the_usual_one() {
    let exe = program(&["exact"], "");
    let id = exe.program.tables.iter().next().unwrap().0;
    let config = Config { table_size: 2, ..Config::default() };
    let mut tables = Tables::new(&exe, config).unwrap();
    for key in 0..2 {
        tables.insert(id, NewEntry::new(vec![exact(key)], 0, set(key.into())), 0).unwrap();
    }
    let third = NewEntry::new(vec![exact(2)], 0, set(2));
    assert_eq!(tables.insert(id, third.clone(), 0).err(), Some(TableError::Full { size: 2 }));
    tables.delete(id, &vec![exact(0)], 0).unwrap();
    tables.insert(id, third, 0).unwrap();
}

#[test]
fn idle_entries_expire_once_per_timeout() {
    let (mut tables, id) = tables(&["exact"], "    timeout notify\n");
    let mut entry = NewEntry::new(vec![exact(1)], 0, set(1));
    entry.idle_timeout_ns = 100;
    let handle = tables.insert(id, entry, 50).unwrap();
    tables.insert(id, NewEntry::new(vec![exact(2)], 0, set(2)), 50).unwrap();
    assert_eq!(tables.take_expired(149), []);
    tables.lookup(id, &[nibble(1)], 120, &mut || 0);
    assert_eq!(tables.take_expired(219), []);
    assert_eq!(tables.take_expired(220), [(id, handle)]);
    assert_eq!(tables.take_expired(319), []);
    assert_eq!(tables.take_expired(320), [(id, handle)]);
}

#[test]
fn direct_cells_live_as_long_as_their_entry() {
    let (mut tables, id) = tables(&["exact"], "");
    let handle = tables.insert(id, NewEntry::new(vec![exact(1)], 0, set(1)), 0).unwrap();
    tables.direct(id, EntryRef::Entry(handle)).unwrap().n_packets = 5;
    tables.modify(id, NewEntry::new(vec![exact(1)], 0, set(2)), 0).unwrap();
    assert_eq!(tables.direct(id, EntryRef::Entry(handle)).unwrap().n_packets, 5);
    tables.delete(id, &vec![exact(1)], 0).unwrap();
    let next = tables.insert(id, NewEntry::new(vec![exact(1)], 0, set(1)), 0).unwrap();
    assert!(tables.direct(id, EntryRef::Entry(handle)).is_none());
    assert_eq!(tables.direct(id, EntryRef::Entry(next)).unwrap().n_packets, 0);
    assert!(tables.direct(id, EntryRef::Default).is_some());
}

#[test]
fn selectors_choose_by_the_keys_that_are_not_matched_on() {
    let (mut tables, id) = tables(&["exact", "selector"], "    implementation selector\n");
    let exe = program(&["exact", "selector"], "    implementation selector\n");
    let object = exe.program.objects.iter().next().unwrap().0;
    let direct = NewEntry::new(vec![exact(1)], 0, set(1));
    assert_eq!(tables.insert(id, direct, 0).err(), Some(TableError::WantsMember));
    let group = |action| NewEntry { action, ..NewEntry::new(vec![exact(1)], 0, set(1)) };
    let unknown = tables.insert(id, group(EntryAction::Group(7)), 0).err();
    assert_eq!(unknown, Some(TableError::UnknownGroup(7)));
    for (member, value) in [(1, 10), (2, 20)] {
        tables.insert_member(object, member, set(value)).unwrap();
    }
    assert_eq!(tables.insert_member(object, 2, set(1)).err(), Some(TableError::MemberExists(2)));
    let weighted = |what, weight, watch_port| Weighted { what, weight, watch_port };
    let members = vec![weighted(1, 1, None), weighted(2, 3, Some(9))];
    let too_many = Group { members: vec![weighted(5, 1, None)] };
    assert_eq!(tables.insert_group(object, 7, too_many).err(), Some(TableError::UnknownMember(5)));
    tables.insert_group(object, 7, Group { members }).unwrap();
    tables.insert(id, group(EntryAction::Group(7)), 0).unwrap();
    assert_eq!(tables.delete_group(object, 7).err(), Some(TableError::InUse));
    assert_eq!(tables.delete_member(object, 1).err(), Some(TableError::InUse));
    let answers: Vec<_> = (0..16).map(|s| ask(&mut tables, id, &[1, s]).1).collect();
    assert!(answers.contains(&Some(10)) && answers.contains(&Some(20)));
    let again: Vec<_> = (0..16).map(|s| ask(&mut tables, id, &[1, s]).1).collect();
    assert_eq!(answers, again);
    tables.ports_down.insert(9);
    assert!((0..16).all(|s| ask(&mut tables, id, &[1, s]) == (true, Some(10))));
    // An empty group hits and runs nothing.
    tables.modify_group(object, 7, Group::default()).unwrap();
    assert_eq!(ask(&mut tables, id, &[1, 0]), (true, None));
    tables.delete(id, &vec![exact(1)], 0).unwrap();
    tables.delete_group(object, 7).unwrap();
    tables.delete_member(object, 1).unwrap();
}

#[test]
fn action_profiles_are_limited_and_have_no_groups() {
    let (mut tables, id) = tables(&["exact"], "    implementation profile\n");
    let exe = program(&["exact"], "    implementation profile\n");
    let object = exe.program.objects.iter().nth(1).unwrap().0;
    tables.insert_member(object, 1, set(1)).unwrap();
    tables.insert_member(object, 2, set(2)).unwrap();
    assert_eq!(tables.insert_member(object, 3, set(3)).err(), Some(TableError::ProfileFull { size: 2 }));
    assert_eq!(tables.insert_group(object, 1, Group::default()).err(), Some(TableError::NoSelector));
    let entry = NewEntry { action: EntryAction::Member(2), ..NewEntry::new(vec![exact(1)], 0, set(1)) };
    tables.insert(id, entry, 0).unwrap();
    assert_eq!(ask(&mut tables, id, &[1]), (true, Some(2)));
    tables.modify_member(object, 2, set(9)).unwrap();
    assert_eq!(ask(&mut tables, id, &[1]), (true, Some(9)));
    assert_eq!(tables.delete_member(object, 2).err(), Some(TableError::InUse));
}
