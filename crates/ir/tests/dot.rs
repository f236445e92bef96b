//! Pictures: of each program in `tests/segments` and `tests/text` the DOT text is as in `tests/dot`.
//! `SIDING_BLESS=1` writes it.

use arch::BlockRole;
use ir::dot::{
    Arrow, Box, Dependency, Picture, Shape, Source, Style, control_flow, parser_states, table_dependencies,
    table_graph,
};
use ir::{Program, text};
use std::path::Path;

fn parse(text: &str) -> Program {
    let program = text::parse(text).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(ir::validate(&program), Ok(()));
    program
}

fn check(name: &str, picture: &Picture) {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dot").join(name);
    let found = picture.to_dot();
    if std::env::var_os("SIDING_BLESS").is_some() {
        std::fs::write(&golden, &found).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&golden).unwrap_or_default(), found, "{name}");
    is_well_formed(&picture.to_svg().unwrap());
}

/// Tags are closed in order, and nothing is unescaped.
fn is_well_formed(svg: &str) {
    let mut open = Vec::new();
    for piece in svg.split('<').skip(1) {
        let (tag, text) = piece.split_once('>').expect("a tag ends");
        assert!(!text.contains('>') || open.last() == Some(&"style"), "{text}");
        assert!(!tag.contains("NaN") && !tag.contains("inf"), "{tag}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.ends_with('/') {
            open.push(tag.split_whitespace().next().unwrap_or(tag));
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn programs_are_drawn() {
    let sources = [("router", include_str!("segments/router.ir")), ("stack", include_str!("text/router.ir"))];
    for (name, source) in sources {
        let program = parse(source);
        let block = |role| program.block(role).unwrap();
        check(
            &format!("{name}.parser.dot"),
            &parser_states(&program, block(BlockRole::Parser), Source::default()),
        );
        check(
            &format!("{name}.control.dot"),
            &control_flow(&program, block(BlockRole::Ingress), Source::default()),
        );
        check(
            &format!("{name}.tables.dot"),
            &table_graph(&program, block(BlockRole::Ingress), Source::default()).unwrap(),
        );
    }
}

const HEAD: &str = "architecture v1model
    errors NoError, PacketTooShort, NoMatch, StackOutOfBounds, HeaderTooShort, ParserTimeout, ParserInvalidArgument
    struct m_t { a: bit<8> b: bit<8> c: bit<8> d: bit<8> }
    var m: m_t in pipeline Metadata
    var $hit: bool in block C
    var v: bit<8> in procedure set_a
    procedure set_a: action(v) in C { n0: m.a = v return }
    procedure set_c: action() in C { n0: m.c = m.a return }
    procedure nothing: action() in C { n0: return }
    procedure leave: action() in C { n0: exit }
    shared Metadata = m
    pipeline Ingress = C\n";

fn table(name: &str, action: &str) -> String {
    format!(
        "table {name} in C {{ key k: bit<8> exact action x = {action} default x({}) }}\n",
        match action {
            "set_a" => "8w0",
            _ => "",
        }
    )
}

/// Dependencies between tables `t` and `u` in a control.
fn dependencies(t: &str, u: &str, code: &str) -> Vec<Dependency> {
    let program = parse(&format!("{HEAD}{}{}block C: Ingress() {{ {code} }}", table("t", t), table("u", u)));
    let found = table_dependencies(&program, ir::lookup::id_at(0)).unwrap();
    assert!(found.len() <= 1);
    found.into_iter().flat_map(|dependency| dependency.kinds).collect()
}

#[test]
fn tables_depend_on_what_others_write() {
    let plain =
        |key: &str| format!("n0: apply t(m.d) then n1 exit n2 n1: apply u({key}) then n2 exit n2 n2: return");
    assert_eq!(dependencies("set_a", "nothing", &plain("m.a")), [Dependency::Match]);
    assert_eq!(dependencies("set_a", "nothing", &plain("m.a + m.b")), [Dependency::Match]);
    assert_eq!(dependencies("set_a", "set_c", &plain("m.b")), [Dependency::Action]);
    assert_eq!(dependencies("set_a", "set_a", &plain("m.b")), [Dependency::Action]);
    assert_eq!(dependencies("set_a", "set_c", &plain("m.a")), [Dependency::Match, Dependency::Action]);
    assert_eq!(dependencies("set_c", "set_a", &plain("m.b")), [Dependency::Reverse]);
    assert_eq!(dependencies("nothing", "nothing", &plain("m.a")), []);
    assert_eq!(dependencies("leave", "nothing", &plain("m.b")), [Dependency::Successor]);
}

#[test]
fn what_happens_between_tables_counts() {
    let copied = "n0: apply t(m.d) then n1 exit n2 n1: m.b = m.a apply u(m.b) then n2 exit n2 n2: return";
    assert_eq!(dependencies("set_a", "nothing", copied), [Dependency::Match]);
    let overwritten =
        "n0: apply t(m.d) then n1 exit n2 n1: m.a = m.b apply u(m.a) then n2 exit n2 n2: return";
    assert_eq!(dependencies("set_a", "nothing", overwritten), []);
    let on_hit = "n0: apply t(m.d) hit $hit then n1 exit n3 n1: if $hit then n2 else n3
        n2: apply u(m.b) then n3 exit n3 n3: return";
    assert_eq!(dependencies("nothing", "nothing", on_hit), [Dependency::Successor]);
    let on_both = "n0: apply t(m.d) hit $hit then n1 exit n3 n1: if $hit then n2 else n4
        n4: m.d = 8w1 goto n2
        n2: apply u(m.b) then n3 exit n3 n3: return";
    let reordered = on_both.replace("n4: m.d = 8w1 goto n2\n", "").replace("else n4", "else n2");
    assert_eq!(dependencies("nothing", "nothing", &reordered), []);
}

#[test]
fn any_picture_is_drawn() {
    let boxes = |n: usize| -> Vec<Box> {
        (0..n).map(|i| Box::new(Shape::Statements, vec![format!("<{i}> & \"x\"")])).collect()
    };
    let arrow = |from, to| Arrow { from, to, lines: vec!["a > b".to_string()], style: Style::Dashed };
    is_well_formed(&Picture::default().to_svg().unwrap());
    let circle = Picture {
        title: "<t>".to_string(),
        boxes: boxes(3),
        arrows: vec![arrow(0, 1), arrow(1, 0), arrow(2, 2)],
        legend: vec!["a < b".to_string()],
    };
    is_well_formed(&circle.to_svg().unwrap());
    assert!(circle.to_dot().contains("b1 -> b0 [label=\"a > b\", style=dashed];"));
    let mut many = Picture { title: String::new(), boxes: boxes(400), ..Picture::default() };
    many.arrows = (0..800).map(|i| arrow(i * 7919 % 400, i * 104_729 % 397)).collect();
    many.to_svg().iter().for_each(|svg| is_well_formed(svg));
    let line = Picture {
        title: String::new(),
        boxes: boxes(3000),
        arrows: (1..3000).map(|i| arrow(i - 1, i)).collect(),
        legend: Vec::new(),
    };
    is_well_formed(&line.to_svg().unwrap());
}
