//! From programs to nodes and edges.

use ir::passes;
use model::asic::program::{CircleKind, Design, DesignError, NodeKind, Options, SizeSource, design};
use model::asic::{Chip, EdgeKind, Resource, Verdict, solve};
use std::collections::BTreeMap;

const EDGES: &str = include_str!("programs/edges.ir");

fn made(text: &str, entries: &[(&str, u64)]) -> Result<Design, DesignError> {
    let mut program = ir::text::parse(text).unwrap();
    passes::run(&mut program, passes::DEFAULT).unwrap();
    let chip = Chip::built_in("generic-12").unwrap();
    let entries: BTreeMap<String, u64> = entries.iter().map(|(name, n)| (name.to_string(), *n)).collect();
    design(&program, &chip, &Options { entries, ..Options::default() }, &|_| None)
}

fn position(design: &Design, name: &str) -> usize {
    design.problem.nodes.iter().position(|node| node.name == name).unwrap_or_else(|| panic!("{name}"))
}

/// The kinds of edges between two nodes.
fn edges(design: &Design, from: &str, to: &str) -> Vec<EdgeKind> {
    let (from, to) = (position(design, from), position(design, to));
    design
        .problem
        .edges
        .iter()
        .filter(|edge| edge.from == from && edge.to == to)
        .map(|edge| edge.kind)
        .collect()
}

#[test]
fn edges_follow_from_fields_and_results() {
    let design = made(EDGES, &[]).unwrap();
    let condition = design.nodes.iter().position(|node| node.kind == NodeKind::Condition).unwrap();
    let condition = design.problem.nodes[condition].name.clone();
    let edges = |from: &str, to: &str| edges(&design, from, to);
    // The key of the second table is what the first wrote, and its hit decides.
    assert_eq!(edges("I.classes", "I.weights"), [EdgeKind::Match, EdgeKind::Successor]);
    assert_eq!(edges("I.weights", &condition), [EdgeKind::Match]);
    assert_eq!(edges(&condition, "I.marks"), [EdgeKind::Successor]);
    assert_eq!(edges(&condition, "I.others"), [EdgeKind::Successor]);
    // Only one of them runs.
    assert_eq!(edges("I.marks", "I.others"), []);
    // Routes write the address, which they match on themselves, and the port, which the last table matches on.
    assert_eq!(edges("I.routes", "I.last"), [EdgeKind::Match]);
    assert_eq!(edges("I.routes", "I.paths"), [EdgeKind::Successor]);
    assert_eq!(edges("I.paths", "I.last"), [EdgeKind::Match]);
    assert_eq!(edges("I.classes", "I.routes"), []);
    assert!(design.circles.is_empty() && design.impossible.is_empty() && design.refused.is_empty());
}

#[test]
fn nodes_take_what_the_rules_say() {
    let design = made(EDGES, &[]).unwrap();
    let part = |name: &str, resource: Resource| {
        design.problem.nodes[position(&design, name)].part[resource as usize]
    };
    let need = |name: &str, resource: Resource| {
        let node = &design.problem.nodes[position(&design, name)];
        node.need(node.n_units())[resource as usize]
    };
    // Registers of 32 bits, four in a word: a block and a spare one.
    assert_eq!((part("I.totals", Resource::Sram), part("I.totals", Resource::MapRam)), (2, 2));
    assert_eq!(part("I.totals", Resource::RegisterUnits), 1);
    // Members with 41 bits: two in a word.
    assert_eq!(part("I.paths", Resource::Sram), 1);
    // A quarter of 512 entries in seven rows each.
    assert_eq!(need("I.others", Resource::Tcam), 3);
    assert_eq!(need("I.marks", Resource::Tcam), 1);
    // Nine bits of pointer and one that names the action.
    assert_eq!((need("I.routes", Resource::Tcam), need("I.routes", Resource::Sram)), (2, 1));
    let Verdict::Fits(solution) = solve(&design.problem, 0.0) else { panic!() };
    assert_eq!((solution.n_stages, solution.n_stages_min), (4, 4));
}

#[test]
fn sizes_come_from_options_then_from_the_program() {
    let facts = |entries: &[(&str, u64)]| {
        let design = made(EDGES, entries).unwrap();
        let node = position(&design, "I.classes");
        design.nodes[node].table.clone().map(|facts| (facts.n_entries, facts.source))
    };
    assert_eq!(facts(&[]), Some((4_096, SizeSource::Program)));
    assert_eq!(facts(&[("classes", 100)]), Some((100, SizeSource::Option)));
    assert_eq!(facts(&[("I.classes", 7)]), Some((7, SizeSource::Option)));
    let without = EDGES.replacen("size 4096", "", 1);
    let design = made(&without, &[]).unwrap();
    let assumed = design.nodes.iter().filter_map(|node| node.table.as_ref());
    assert_eq!(assumed.filter(|facts| facts.source == SizeSource::Assumed).count(), 1);
}

#[test]
fn options_that_fit_no_table_are_refused() {
    let refused = |entries: &[(&str, u64)]| made(EDGES, entries).unwrap_err().to_string();
    assert_eq!(
        refused(&[("clases", 1)]),
        "the program has no table `clases` in its ingress and egress; did you mean `classes`?"
    );
    assert!(refused(&[("classes", 0)]).starts_with("table `I.classes` has room for 0 entries"));
    let zero = EDGES.replacen("size 4096", "size 0", 1);
    assert!(matches!(made(&zero, &[]), Err(DesignError::ZeroEntries { .. })));
    let none = EDGES.replacen("register<bit<32>>(size = 32w0x400)", "register<bit<32>>(size = 32w0x0)", 1);
    assert_ne!(none, EDGES);
    assert_eq!(made(&none, &[]).unwrap_err(), DesignError::ZeroSize { object: "I.totals".to_string() });
    let twin = EDGES.replace("I.marks", "I.other.classes");
    assert!(made(&twin, &[("other.classes", 1)]).is_ok());
    let ambiguous = made(&twin, &[("classes", 1)]).unwrap_err();
    assert!(matches!(ambiguous, DesignError::Ambiguous { .. }), "{ambiguous}");
}

#[test]
fn wide_cells_are_refused() {
    let wide = EDGES.replacen("register<bit<32>>", "register<bit<256>>", 1);
    // The program's own variables stay narrow: only the object is judged here.
    let design = made(&wide, &[]).unwrap();
    assert_eq!(design.refused, ["`I.totals`: cells of 256 bits, and those of the chip have 64 at most"]);
}

#[test]
fn code_that_passes_a_stage_twice_is_refused() {
    // The first table is applied once more, in the place of another one.
    let text = EDGES.replacen("apply I.marks(h.probe.second)", "apply I.classes(h.probe.second)", 1);
    assert_ne!(text, EDGES);
    let design = made(&text, &[]).unwrap();
    assert_eq!(design.circles.len(), 1);
    assert_eq!(design.circles[0].kind, CircleKind::Twice);
    assert!(design.circles[0].text().contains("`I.classes` is applied more than once on a path"));
}
