//! Whatever the program, and whatever the packet: no panic, no endless run.

use interp::load::{Config, LoadError};
use interp::{Executable, Machine, NoExterns, PacketState, Silent, Tables};
use proptest::prelude::*;
use trace::{LayoutError, StoryBuilder};

const ERRORS: &str = "errors NoError, PacketTooShort, NoMatch, StackOutOfBounds, HeaderTooShort\n";

fn load(text: &str) -> Result<Executable, LoadError> {
    let text = format!("architecture v1model\n{ERRORS}{text}");
    let program = ir::text::parse(&text).unwrap_or_else(|e| panic!("{e}"));
    Executable::new(program, Config::default())
}

#[test]
fn programs_that_cannot_be_run_are_refused() {
    let graph = |body: &str| format!("block I: Ingress() {{\n    entry n0\n    n0:\n        {body}\n}}\n");
    let refused = |text: String| load(&text).err();
    let malformed = |why| Some(LoadError::Malformed(why));
    let own = "struct s {\n    inner: s\n}\nvar x: s in pipeline Metadata\n";
    assert_eq!(
        refused(format!("{own}{}", graph("return"))),
        Some(LayoutError::Malformed("a struct contains itself").into())
    );
    assert_eq!(refused(graph("goto n9")), malformed("an unknown node"));
    assert_eq!(refused(graph("reject")), malformed("a parser without a place for its error"));
    let x = "var x: bit<8> in pipeline Metadata\n";
    assert_eq!(
        refused(format!("{x}{}", graph("emit x\n        return"))),
        malformed("a header that is none")
    );
    let huge = "struct s {\n    a: array<array<bit<8>, 65536>, 65536>\n}\nvar x: s in pipeline Metadata\n";
    assert_eq!(refused(format!("{huge}{}", graph("return"))), Some(LayoutError::TooLarge.into()));
    let deep = format!("{}bit<8>{}", "array<".repeat(2000), ", 1>".repeat(2000));
    assert!(load(&format!("var x: {deep} in pipeline Metadata\n{}", graph("return"))).is_ok());
}

const PROGRAM: &str = include_str!("cases/extract.ir");
const TABLES: &str = include_str!("cases/tables.ir");
const ELEMENTS: &str = include_str!("cases/elements.ir");
const SELECT: &str = include_str!("cases/select.ir");

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn changed_programs_run_on_any_packet(
        which in 0usize..4,
        changes in proptest::collection::vec((any::<prop::sample::Index>(), b'0'..=b'9'), 0..4),
        packet in proptest::collection::vec(any::<u8>(), 0..40),
    ) {
        let mut text = [PROGRAM, TABLES, ELEMENTS, SELECT][which].as_bytes().to_vec();
        let digits: Vec<usize> = (0..text.len()).filter(|i| text[*i].is_ascii_digit()).collect();
        for (at, digit) in changes {
            text[digits[at.index(digits.len())]] = digit;
        }
        let text = String::from_utf8(text).unwrap();
        let Ok(program) = ir::text::parse(&text) else { return Ok(()) };
        if ir::validate(&program).is_err() {
            return Ok(());
        }
        let config = Config { step_budget: 1000, ..Config::default() };
        let Ok(exe) = Executable::new(program, config) else { return Ok(()) };
        let Ok(mut tables) = Tables::new(&exe, config) else { return Ok(()) };
        let mut state = PacketState::new(&exe);
        state.arrive(&exe, &packet);
        let mut told = state.clone();
        let mut story_builder = StoryBuilder::new(None);
        let blocks: Vec<_> = exe.program.blocks.iter().map(|(id, _)| id).collect();
        for block in blocks {
            let mut machine = Machine { exe: &exe, tables: &mut tables, externs: &mut NoExterns, now_ns: 0 };
            let silent = machine.run_block(block, &mut state, &mut Silent);
            let listening = machine.run_block(block, &mut told, &mut story_builder);
            prop_assert_eq!(silent, listening);
            prop_assert_eq!(state.deparsed_bytes(), told.deparsed_bytes());
        }
        let story = story_builder.finish();
        prop_assert!(!trace::render(&story).is_empty());
    }
}
