//! Many entries at once do what one after the other does: compiled tables against those of the interpreter.

mod common;

use common::TestDir;
use ir::{Action, Bits, Match, MatchKind, Program, TableId};
use native::{BuildOptions, BurstPath, Instance, InstanceOptions, Native, build};
use std::path::Path;
use std::sync::Arc;
use target::store::{EntryAction, Matches, NewEntry, StoredEntry};
use target::{Store, TableError};

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let v = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let v = (v ^ v >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (v ^ v >> 31) % n
    }
}

fn random_match(kind: MatchKind, width: u32, random: &mut Random) -> Option<Match> {
    let value = Bits::new(width, random.below(6).into());
    // What is refused: a key that is left out, a mask that the value goes beyond.
    if random.below(16) == 0 {
        return None;
    }
    Some(match kind {
        MatchKind::Lpm => {
            let prefix_len = width - random.below(4) as u32;
            let value = value.and(&Bits::prefix_mask(width, prefix_len));
            Match::Lpm { value, prefix_len }
        }
        MatchKind::Ternary => {
            let mask = Bits::new(width, random.below(8).into());
            let value = if random.below(8) == 0 { value } else { value.and(&mask) };
            Match::Ternary { value, mask }
        }
        _ => Match::Exact(value),
    })
}

/// Few keys, so that they meet; now and then what no table accepts.
fn random_entry(program: &Program, table: TableId, random: &mut Random) -> NewEntry {
    let table = &program.tables[table];
    let keys = table.keys.iter().map(|key| (key.match_kind, key.ty.width_bits().unwrap_or_default()));
    let matches: Matches = keys.map(|(kind, width)| random_match(kind, width, random)).collect();
    let index = random.below(2) as u32;
    let mut data = vec![Bits::new(12, random.below(4096).into()); index as usize];
    if random.below(16) == 0 {
        data.clear();
    }
    let index = if random.below(16) == 0 { 9 } else { index };
    let action = match table.implementation {
        Some(_) if random.below(8) > 0 => EntryAction::Member(random.below(4) as u32),
        _ => EntryAction::Action(Action { index, data }),
    };
    let has_priority = table.keys.iter().any(|key| key.match_kind == MatchKind::Ternary);
    let priority = if has_priority { random.below(3) as i32 } else { 0 };
    NewEntry { priority, action, ..NewEntry::new(matches, 0, Action { index: 0, data: Vec::new() }) }
}

/// Without what depends on how entries are kept.
fn entries(store: &dyn Store, table: TableId) -> Vec<StoredEntry> {
    let mut entries = Vec::new();
    store.visit_entries(table, &mut |mut entry| {
        entry.handle.slot = 0;
        entry.last_hit_ns = 0;
        entries.push(entry);
    });
    entries
}

#[test]
fn batches_do_what_single_inserts_do() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/batches/tables.p4");
    let source = driver::read_source(&path).unwrap();
    let mut checked = driver::check(&source, &driver::FileLoader::default(), &driver::Options::default());
    let runnable =
        driver::runnable(&mut checked, None).unwrap_or_else(|| panic!("{:?}", checked.diagnostics));
    let program = Arc::new(runnable.program);
    let dir = TestDir::new();
    let options = BuildOptions { compile: dir.options(), ..Default::default() };
    let pipeline = build(&program, &checked.sources, &options).unwrap();
    let mut random = Random(3);
    let (mut n_ok, mut problems) = (0, Vec::<TableError>::new());
    for round in 0..12 {
        let options = InstanceOptions { n_workers: 1, seed: 1, path: BurstPath::Auto, table_size: 1024 };
        let instance = Instance::new(Arc::clone(&pipeline), Arc::clone(&program), options).unwrap();
        let mut native = Native::new(&instance, 100).unwrap();
        let mut model = interp::Interpreter::new(Arc::clone(&program), &target::Config::default()).unwrap();
        let profile = program.tables.iter().find_map(|(_, table)| table.implementation).unwrap();
        for member in 0..3 {
            let action = Action { index: 0, data: Vec::new() };
            native.insert_member(profile, member, action.clone()).unwrap();
            model.insert_member(profile, member, action).unwrap();
        }
        for (table, _) in program.tables.iter() {
            for _ in 0..4 {
                let n = random.below(if round == 0 { 80 } else { 20 });
                let batch: Vec<_> = (0..n).map(|_| random_entry(&program, table, &mut random)).collect();
                let expected: Vec<_> =
                    batch.iter().map(|entry| model.insert(table, entry.clone(), round)).collect();
                let found = native.insert_many(table, batch.clone(), round);
                assert_eq!(found.len(), expected.len());
                for ((entry, found), expected) in batch.iter().zip(&found).zip(&expected) {
                    let serial = |handle: &target::EntryHandle| handle.serial;
                    let name = &program.tables[table].name;
                    assert_eq!(
                        found.as_ref().map(serial),
                        expected.as_ref().map(serial),
                        "{name}: {entry:?}"
                    );
                    n_ok += usize::from(found.is_ok());
                    problems.extend(found.as_ref().err().filter(|e| !problems.contains(e)).cloned());
                }
                assert_eq!(entries(&native, table), entries(&model, table));
            }
        }
        let used = (0..3).filter(|member| native.delete_member(profile, *member).is_err()).count();
        assert!(used > 0, "members that entries use can be deleted");
    }
    assert!(n_ok > 300 && problems.len() >= 4, "{n_ok} {problems:?}");
    assert!(problems.contains(&TableError::Exists) && problems.contains(&TableError::Full { size: 30 }));
}
