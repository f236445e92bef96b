//! Generated C as it was reviewed: `tests/golden` has one program for each kind of code.

#[path = "common/scripts.rs"]
#[expect(dead_code, reason = "programs without their scripts")]
mod scripts;

use codegen::Options;
use scripts::{load, root};
use std::{env, fs};

/// What `siding build --emit c` writes in the directory of the program.
fn generated(program: &str) -> String {
    let path = root().join(program);
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
    let mut case = load(&path, Vec::new());
    ir::passes::run(&mut case.runnable.program, ir::passes::DEFAULT).unwrap();
    let file_name = format!("{stem}.c");
    let options = Options { program_name: name, file_name, ..Options::default() };
    let text = codegen::generate(&case.runnable.program, &case.sources, &options);
    // `#line` has the path by which this test reads the program.
    let directory = path.parent().unwrap().to_string_lossy().into_owned();
    text.replace(&format!("{directory}/"), "")
}

fn check(program: &str, golden: &str) {
    let found = generated(program);
    let golden = root().join("tests/golden").join(golden);
    if env::var_os("SIDING_BLESS").is_some() {
        fs::write(&golden, &found).unwrap();
    }
    let expected = fs::read_to_string(&golden).unwrap_or_default();
    let difference = expected.lines().zip(found.lines()).enumerate().find(|(_, (a, b))| a != b);
    if let Some((i, (a, b))) = difference {
        let golden = golden.display();
        panic!("{golden}: line {} was\n{a}\nand is\n{b}\n(SIDING_BLESS=1 takes it over)", i + 1);
    }
    assert_eq!(expected.lines().count(), found.lines().count(), "SIDING_BLESS=1 takes it over");
}

#[test]
fn a_router_looks_tables_up_in_stages() {
    check("examples/01-router/router.p4", "router.c");
}

#[test]
fn a_learning_switch_sends_digests_and_floods() {
    check("examples/02-l2-switch/l2_switch.p4", "l2_switch.c");
}

#[test]
fn an_asynchronous_block_suspends_packets() {
    check("examples/03-slow-work/slow_work.p4", "slow_work.c");
}

#[test]
fn groups_of_a_selector_spread_packets() {
    check("tests/programs/profiles/program.p4", "profiles.c");
}

#[test]
fn ternary_keys_choose_members_of_a_profile() {
    check("tests/programs/spread/program.p4", "spread.c");
}

/// Each name that a program could give to what the generator owns.
#[test]
fn names_of_the_program_and_of_the_generator_differ() {
    let text = generated("tests/programs/names/program.p4");
    let heads = text.lines().filter(|line| line.starts_with("SD_") && !line.ends_with(';'));
    let mut names: Vec<&str> = heads
        .filter_map(|line| line.split('(').next()?.rsplit([' ', '*']).next())
        .filter(|name| name.starts_with("p4"))
        .collect();
    assert!(names.contains(&"p4_stage_0") && names.contains(&"p4x_stage"), "{names:?}");
    let n_functions = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), n_functions);
}
