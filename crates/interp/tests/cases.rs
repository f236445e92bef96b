//! Programs in the text form of the IR, with what they are to do in comments that begin with `//>`:
//!
//! - `packet 0102 ...`: a packet of these bytes arrives; `packet zeros 262144`: of so many zeros;
//! - `set NAME VALUE`: a variable holds a value;
//! - `run ROLE END`: the block with a role runs and ends so: `done`, `accepted`, `rejected ERROR`, `stopped REASON`;
//! - `NAME = VALUE`: a variable holds a value now, with `$valid` and `$next` as in programs;
//! - `departs 0102 ...`: what the deparser wrote, and the payload.

use interp::load::{Config, Leaf};
use interp::{BlockEnd, Executable, Machine, NoExterns, PacketState, Silent, Slot, StopReason, Tables};
use ir::{Bits, BlockId, Program};
use std::collections::BTreeMap;
use std::path::Path;
use trace::StoryBuilder;

struct Case {
    exe: Executable,
    tables: Tables,
    packet: PacketState,
    names: BTreeMap<String, Slot>,
}

fn number(text: &str) -> u128 {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u128::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.unwrap_or_else(|_| panic!("{text} is no number"))
}

fn bytes(text: &str) -> Vec<u8> {
    if let Some(n) = text.strip_prefix("zeros ") {
        return vec![0; number(n) as usize];
    }
    let digits: Vec<u8> = text.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    assert!(digits.len().is_multiple_of(2), "{text}");
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

fn block(program: &Program, role: &str) -> BlockId {
    let found = program.blocks.iter().find(|(_, b)| format!("{:?}", b.role) == role);
    found.unwrap_or_else(|| panic!("no block {role}")).0
}

fn end(program: &Program, end: &BlockEnd) -> String {
    match end {
        BlockEnd::Done => "done".to_string(),
        BlockEnd::Accepted => "accepted".to_string(),
        BlockEnd::Rejected(code) => format!("rejected {}", program.errors[*code as usize]),
        BlockEnd::Stopped(reason) => format!("stopped {}", reason.name()),
        BlockEnd::Waiting => "waiting".to_string(),
    }
}

impl Case {
    fn new(text: &str) -> Case {
        let program = ir::text::parse(text).unwrap_or_else(|e| panic!("{e}"));
        let config = Config { step_budget: 1 << 20, ..Config::default() };
        let exe = Executable::new(program, config).unwrap_or_else(|e| panic!("{e}"));
        let tables = Tables::new(&exe, config).unwrap_or_else(|e| panic!("{e}"));
        let packet = PacketState::new(&exe);
        let mut names = BTreeMap::new();
        for slot in 0..exe.n_variable_slots() {
            let info = exe.slot_info(slot).unwrap();
            let name = match info.leaf {
                Leaf::Value(_) => info.name,
                Leaf::Valid => format!("{}.$valid", info.name),
                Leaf::NextIndex => format!("{}.$next", info.name),
            };
            names.insert(name, slot);
        }
        Case { exe, tables, packet, names }
    }

    fn slot(&self, name: &str) -> Slot {
        *self.names.get(name).unwrap_or_else(|| panic!("no variable {name}: {:?}", self.names.keys()))
    }

    fn run(&mut self, role: &str) -> String {
        let block = block(&self.exe.program, role);
        let mut machine =
            Machine { exe: &self.exe, tables: &mut self.tables, externs: &mut NoExterns, now_ns: 0 };
        // Whoever listens changes nothing.
        let mut told = self.packet.clone();
        let mut story_builder = StoryBuilder::new(None);
        let with_story = machine.run_block(block, &mut told, &mut story_builder);
        let silent = machine.run_block(block, &mut self.packet, &mut Silent);
        assert_eq!(with_story, silent);
        assert_eq!(told.frame.range(self.all()), self.packet.frame.range(self.all()));
        assert_eq!(told.deparsed_bytes(), self.packet.deparsed_bytes());
        end(&self.exe.program, &silent)
    }

    fn all(&self) -> interp::SlotRange {
        interp::SlotRange { first: 0, len: self.exe.n_variable_slots() }
    }

    fn step(&mut self, line: &str) -> Result<(), String> {
        let same = |expected: &str, found: &str| match expected == found {
            true => Ok(()),
            false => Err(format!("expected {expected}, found {found}")),
        };
        if let Some(rest) = line.strip_prefix("packet") {
            self.packet.arrive(&self.exe, &bytes(rest.trim()));
            return Ok(());
        }
        if let Some(rest) = line.strip_prefix("departs") {
            return same(&format!("{:02x?}", bytes(rest)), &format!("{:02x?}", self.packet.deparsed_bytes()));
        }
        if let Some(rest) = line.strip_prefix("set ") {
            let (name, value) = rest.split_once(' ').unwrap();
            let slot = self.slot(name);
            let width = self.packet.frame.get(slot).width();
            self.packet.frame.set(slot, Bits::new(width, number(value)));
            return Ok(());
        }
        if let Some(rest) = line.strip_prefix("run ") {
            let (role, expected) = rest.split_once(' ').unwrap();
            return same(expected, &self.run(role));
        }
        let (name, value) = line.split_once(" = ").unwrap_or_else(|| panic!("{line}"));
        let found = self.packet.frame.get(self.slot(name));
        match value.starts_with("0x") {
            true => same(value, &format!("{found:#x}")),
            false => same(value, &found.to_string()),
        }
    }
}

#[test]
fn programs_do_what_they_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty());
    let mut failures = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let mut case = std::panic::catch_unwind(|| Case::new(&text)).unwrap_or_else(|_| panic!("{name}"));
        let mut n_steps = 0;
        for (n, line) in text.lines().enumerate() {
            if let Some(step) = line.strip_prefix("//> ") {
                n_steps += 1;
                if let Err(e) = case.step(step.trim()) {
                    failures.push(format!("{name}:{}: {step}: {e}", n + 1));
                }
            }
        }
        assert!(n_steps > 0, "{name} says nothing");
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

#[test]
fn a_budget_of_no_steps_ends_at_the_first_branch() {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/endless.ir"));
    let mut case = Case::new(&text.unwrap());
    case.packet.steps_left = 0;
    let block = block(&case.exe.program, "Ingress");
    let mut machine =
        Machine { exe: &case.exe, tables: &mut case.tables, externs: &mut NoExterns, now_ns: 0 };
    let end = machine.run_block(block, &mut case.packet, &mut Silent);
    assert_eq!(end, BlockEnd::Stopped(StopReason::StepBudget));
}
