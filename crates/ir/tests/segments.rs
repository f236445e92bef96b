//! What survives each wait: `tests/segments/<name>.ir` is reported as in `<name>.out`. `SIDING_BLESS=1` writes
//! the latter.

use ir::segments::{PointKind, SegmentEntry, Segments, Wait, segments};
use ir::{Program, text, validate};
use std::path::Path;

fn parse(text: &str) -> Program {
    let program = text::parse(text).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(validate(&program), Ok(()));
    program
}

fn cut(program: &Program, waits: &dyn Fn(&Program, &Wait) -> bool) -> Segments {
    let segments = segments(program, waits).unwrap();
    assert_eq!(validate(&segments.program), Ok(()));
    segments
}

fn everything_waits(_: &Program, wait: &Wait) -> bool {
    match wait {
        Wait::Table(_) => true,
        Wait::Extern { op, .. } => *op == arch::ExternOp::User,
    }
}

#[test]
fn reports() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/segments");
    let input = std::fs::read_to_string(folder.join("router.ir")).unwrap();
    let found = cut(&parse(&input), &everything_waits).to_string();
    let golden = folder.join("router.out");
    if std::env::var_os("SIDING_BLESS").is_some() {
        std::fs::write(&golden, &found).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&golden).unwrap_or_default(), found);
}

/// Another action of the same lookup follows, so the action of a group runs where its table does.
#[test]
fn no_packet_waits_in_the_action_of_a_group() {
    let input = include_str!("segments/router.ir");
    let forward = "action MyIngress.forward = MyIngress.forward";
    let marked = input.replace(forward, &format!("{forward} group_action"));
    assert_ne!(marked, input);
    let [plain, marked] = [input, &marked].map(|text| cut(&parse(text), &everything_waits));
    let n_waits = |segments: &Segments| {
        segments.points.iter().filter(|p| !matches!(p.kind, PointKind::Table(_))).count()
    };
    assert_eq!((n_waits(&plain), n_waits(&marked)), (3, 2));
    // Its code stays in the procedure.
    let of = |segments: &Segments| {
        let (_, found) =
            segments.program.procedures.iter().find(|(_, p)| p.name == "MyIngress.forward").unwrap();
        found.graph.nodes.iter().map(|(_, node)| node.stmts.len()).sum::<usize>()
    };
    assert_eq!((of(&plain), of(&marked)), (0, 5));
}

#[test]
fn nothing_waits_in_a_plain_program() {
    let mut program = parse(include_str!("segments/router.ir"));
    program.pipeline.retain(|(role, _)| *role != arch::BlockRole::Egress);
    program.field_lists.clear();
    let graph = &mut program.procedures.iter_mut().next().unwrap().1.graph;
    assert_eq!(graph.nodes.len(), 1);
    for (_, block) in program.blocks.iter_mut() {
        block.graph.nodes.iter_mut().for_each(|(_, node)| {
            node.stmts.retain(|stmt| !matches!(stmt.kind, ir::StmtKind::Extern { .. }));
        });
    }
    let segments = cut_unchecked(&program);
    assert!(segments.points.is_empty());
    assert!(segments.segments.iter().all(|segment| segment.entry == SegmentEntry::Start));
    assert!(segments.to_string().ends_with("no packet ever waits\n"));
}

fn cut_unchecked(program: &Program) -> Segments {
    segments(program, &|_, _| false).unwrap()
}

const HEAD: &str = "architecture v1model
    errors NoError, PacketTooShort, NoMatch, StackOutOfBounds, HeaderTooShort, ParserTimeout, ParserInvalidArgument
    header h_t { a: bit<8> b: bit<8> }
    struct headers_t { s: stack<h_t, 2> }
    var hdr: headers_t in pipeline Headers
    var x: bit<8> in block C
    var y: bit<8> in block C
    var z: bit<8> in block C
    var w: bit<32> in block C
    pipeline Ingress = C
    shared Headers = hdr\n";

/// What must survive a call of the extern `wait` in a control with this code.
fn live(code: &str) -> Vec<String> {
    let program = parse(&format!("{HEAD}{code}"));
    let segments = cut(&program, &everything_waits);
    assert_eq!(segments.points.len(), 1);
    segments.report().remove(0).live
}

#[test]
fn overwritten_values_need_not_survive() {
    let code = "block C: Ingress(hdr = hdr) {
        n0: x = 8w1  y = 8w1  extern user wait()  y = 8w2  z = x + y  w = bit<32>(z)
            hdr.s.$next = w  return }";
    // What is computed is never sent: the architecture reads only its own fields.
    assert_eq!(live(code), ["x"]);
}

#[test]
fn computed_indices_keep_all_elements() {
    let code = "block C: Ingress(hdr = hdr) {
        n0: extern user wait()  hdr.s[x].a = y  z = hdr.s[z].b  return }";
    assert_eq!(live(code), ["hdr.s[0]", "hdr.s[1]", "x", "y", "z"]);
}

#[test]
fn slices_keep_the_rest_of_a_value() {
    let code = "block C: Ingress(hdr = hdr) {
        n0: extern user wait()  x[3:0] = 4w1  y = x  if y == 8w1 then n1 else n1
        n1: return }";
    assert_eq!(live(code), ["x"]);
}

#[test]
fn results_are_not_kept_but_their_indices_are() {
    let code = "block C: Ingress(hdr = hdr) {
        n0: x = extern user wait(y)  z = x + y  if z == 8w1 then n1 else n1
        n1: return }";
    assert_eq!(live(code), ["y"]);
    let code = "block C: Ingress(hdr = hdr) {
        n0: hdr.s[x].a = extern user wait(y)  return }";
    assert_eq!(live(code), ["x"]);
}

#[test]
fn procedures_pass_through_what_they_do_not_write() {
    let code = "var p: bit<8> in procedure f
    procedure f: control(p) in C {
        n0: if p == 8w1 then n1 else n2
        n1: y = 8w1 return
        n2: z = 8w1 exit }
    block C: Ingress(hdr = hdr) {
        n0: extern user wait()  p = x  goto n1
        n1: call f then n2 exit n3
        n2: if y == z then n4 else n4
        n3: if y == z then n4 else n4
        n4: return }";
    // `y` is written only where it returns, `z` only where it exits.
    assert_eq!(live(code), ["x", "y", "z"]);
    let only_return = code.replace("n3: if y == z then n4 else n4", "n3: goto n4");
    assert_eq!(live(&only_return), ["x", "z"]);
}

#[test]
fn loops_reach_a_fixed_point() {
    let code = "block C: Ingress(hdr = hdr) {
        n0: extern user wait()  goto n1
        n1: x = y  y = z  z = x  if x == 8w1 then n2 else n1
        n2: return }";
    assert_eq!(live(code), ["y", "z"]);
}

#[test]
fn segments_end_where_packets_wait() {
    let code = "block C: Ingress(hdr = hdr) {
        n0: if x == 8w1 then n1 else n2
        n1: extern user wait()  y = 8w1  goto n2
        n2: return }";
    let segments = cut(&parse(&format!("{HEAD}{code}")), &everything_waits);
    let nodes = |i: usize| -> Vec<u32> {
        segments.segments[i].nodes.iter().map(|id| u32::from(id.into_raw())).collect()
    };
    assert_eq!(segments.segments.len(), 2);
    assert_eq!(nodes(0), [0, 1, 2]);
    assert_eq!(segments.segments[1].entry, SegmentEntry::Resume(0));
    assert_eq!(nodes(1), [2, 3]);
}

#[test]
fn what_is_dead_is_overwritten() {
    let program = parse(include_str!("segments/router.ir"));
    let overwritten = ir::oracle::overwrite_dead(&program).unwrap();
    assert_eq!(validate(&overwritten), Ok(()));
    let text = text::print(&overwritten);
    // Of what egress finds, all but what it and the deparser read.
    let egress = text.split("block MyEgress").nth(1).unwrap();
    let first = egress.split("meta.nexthop = standard_metadata").next().unwrap();
    assert!(
        first.contains("meta.not_read = 8w0xff") && first.contains("meta.nexthop = 16w0xffff"),
        "{first}"
    );
    assert!(!first.contains("hdr.") && !first.contains("meta.scratch"), "{first}");
}

#[test]
fn variables_of_a_block_do_not_wait_for_it() {
    let program = |code: &str| {
        format!(
            "{HEAD}    pipeline Egress = E
            var e: bit<8> in block E
            block C: Ingress(hdr = hdr) {{ n0: x = 8w1  return }}
            block E: Egress(hdr = hdr) {{
                n0: if e == 8w1 then n1 else n1
                n1: {code} return }}"
        )
    };
    let live_in_queue = |code: &str| {
        let cut = cut(&parse(&program(code)), &|_, _| false);
        let queue = cut.points.iter().position(|p| p.kind == PointKind::Queue).unwrap();
        cut.report().remove(queue).live
    };
    // What `e` held when egress ran before, for another copy perhaps, is gone: it holds zero when egress begins.
    assert_eq!(live_in_queue("e = 8w2"), [""; 0]);
    assert_eq!(live_in_queue("e = hdr.s[0].a"), ["hdr.s[0].a"]);
}
