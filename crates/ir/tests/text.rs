//! The text form: programs that are printed as they were read, and texts that are no programs.

use ir::{BinaryOp, Bits, Expr, ExprKind, Place, Program, Step, Type, UnaryOp};
use proptest::prelude::*;
use std::path::{Path, PathBuf};

fn files(folder: &str) -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty());
    paths.into_iter().map(|path| (path.clone(), std::fs::read_to_string(path).unwrap())).collect()
}

#[test]
fn canonical_texts_are_printed_as_they_were_read() {
    for (path, text) in files("text") {
        let program = ir::text::parse(&text).unwrap_or_else(|e| panic!("{}:{e}", path.display()));
        let printed = ir::text::print(&program);
        for (n, (expected, found)) in text.lines().zip(printed.lines()).enumerate() {
            assert_eq!(expected, found, "{}:{}", path.display(), n + 1);
        }
        assert_eq!(text, printed, "{}", path.display());
    }
}

#[test]
fn mistakes_are_reported_where_they_are() {
    for (path, text) in files("text_errors") {
        let expected = text.lines().next().and_then(|line| line.strip_prefix("// ")).unwrap_or_default();
        let found = match ir::text::parse(&text) {
            Ok(_) => "no error".to_string(),
            Err(e) => e.to_string(),
        };
        assert_eq!(expected, found, "{}", path.display());
    }
}

#[test]
fn deep_expressions_are_printed_and_read() {
    let (mut program, _) = fixture();
    let mut e = Expr::bool(true);
    for _ in 0..3_000 {
        e = Expr::unary(UnaryOp::Not, e).and(Expr::bool(false));
    }
    set_condition(&mut program, e);
    let text = ir::text::print(&program);
    let read = ir::text::parse(&text).unwrap();
    assert_eq!(ir::text::print(&read), text);
    // The tree is too deep for the recursion of `Drop`.
    std::mem::forget((program, read));
}

/// A program, and places in it with their types.
fn fixture() -> (Program, Vec<(Place, Type)>) {
    let text = "
        architecture v1model
        errors NoError, PacketTooShort
        enum Color { red green }
        header h_t { a: bit<8> b: bit<200> s: int<16> v: varbit<64> }
        struct s_t { h: h_t f: bool c: Color e: error n: stack<h_t, 3> m: array<bit<8>, 2> }
        var s: s_t in pipeline Headers
        block Main: Ingress(hdr = s) {
            n0:
                if s.f then n1 else n1
            n1:
                return
        }";
    let program = ir::text::parse(text).unwrap();
    let s = Place::var(ir::lookup::id_at(0));
    let h = s.field(0);
    let index = Expr::read(h.field(0), Type::Bit(8));
    let places = [
        h.field(0),
        h.field(1),
        h.field(2),
        h.field(3),
        h.valid(),
        s.field(1),
        s.field(2),
        s.field(3),
        s.field(4).next_index(),
        s.field(4).element(2).field(1).then(Step::Slice { lo: 8, width: 8 }),
        s.field(5).then(Step::Index(Box::new(index.clone()))),
        h.field(1).then(Step::SliceAt { lo: Box::new(index), width: 8 }),
    ];
    let typed = |place: Place| {
        let ty = program.place_type(&place).unwrap();
        (place, ty)
    };
    let places = places.into_iter().map(typed).collect();
    (program, places)
}

fn set_condition(program: &mut Program, e: Expr) {
    let ir::TerminatorKind::Branch { condition, .. } =
        &mut program.blocks[ir::lookup::id_at(0)].graph.nodes[ir::lookup::id_at(0)].terminator.kind
    else {
        panic!("the fixture branches");
    };
    *condition = e;
}

fn types() -> impl Strategy<Value = Type> {
    prop_oneof![
        Just(Type::Bool),
        (0u32..300).prop_map(Type::Bit),
        (1u32..300).prop_map(Type::Int),
        Just(Type::Error),
        Just(Type::Enum(ir::lookup::id_at(0))),
        Just(Type::Enum(ir::lookup::id_at(9))),
        Just(Type::Varbit(8)),
    ]
}

/// Any expression at all, well-typed or not.
fn exprs() -> impl Strategy<Value = Expr> {
    let (_, places) = fixture();
    let constant = (types(), 0u32..300, any::<u64>()).prop_map(|(ty, width, value)| {
        let width = if value % 3 == 0 { width } else { ty.width_bits().unwrap_or(width) };
        Expr::new(ExprKind::Const(Bits::new(width, u128::from(value % 5))), ty)
    });
    let read = (proptest::sample::select(places)).prop_map(|(place, ty)| Expr::read(place, ty));
    let leaf = prop_oneof![
        constant,
        read,
        Just(Expr::new(ExprKind::PacketLength, Type::Bit(32))),
        Just(Expr::read(Place::var(ir::lookup::id_at(77)).field(3), Type::Bool)),
    ];
    leaf.prop_recursive(6, 64, 3, |inner| {
        let ops = [
            BinaryOp::Add,
            BinaryOp::SatAdd,
            BinaryOp::SatSub,
            BinaryOp::BitAnd,
            BinaryOp::And,
            BinaryOp::Shr,
            BinaryOp::Shl,
            BinaryOp::Lt,
            BinaryOp::Ge,
            BinaryOp::Concat,
            BinaryOp::Sub,
            BinaryOp::Div,
        ];
        let unary = [UnaryOp::Not, UnaryOp::Complement, UnaryOp::Negate];
        let boxed = || inner.clone().prop_map(Box::new);
        prop_oneof![
            (proptest::sample::select(unary.to_vec()), inner.clone()).prop_map(|(op, e)| Expr::unary(op, e)),
            (proptest::sample::select(ops.to_vec()), inner.clone(), inner.clone(), any::<bool>()).prop_map(
                |(op, a, b, odd)| {
                    let ty = if odd { Type::Bool } else { a.ty.clone() };
                    Expr::binary(op, a, b, ty)
                }
            ),
            (boxed(), boxed(), boxed()).prop_map(|(c, a, b)| {
                let ty = a.ty.clone();
                Expr::new(ExprKind::Mux(c, a, b), ty)
            }),
            (inner.clone(), types()).prop_map(|(e, ty)| e.cast(ty)),
            (boxed(), 0u32..40, types())
                .prop_map(|(value, lo, ty)| Expr::new(ExprKind::Slice { value, lo }, ty)),
            (boxed(), boxed(), types())
                .prop_map(|(value, lo, ty)| Expr::new(ExprKind::SliceAt { value, lo }, ty)),
        ]
    })
}

proptest! {
    #[test]
    fn every_expression_survives_printing(e in exprs()) {
        let (mut program, _) = fixture();
        set_condition(&mut program, e);
        let text = ir::text::print(&program);
        let read = ir::text::parse(&text);
        prop_assert_eq!(read.as_ref(), Ok(&program), "{}", text);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[ -~\n]{0,200}") {
        let _ = ir::text::parse(&text);
    }

    #[test]
    fn damaged_texts_are_read_or_refused(cut in 0usize..6000, insert in "[ -~]{0,3}") {
        let mut text = include_str!("text/router.ir").to_string();
        let at = cut.min(text.len());
        text.replace_range(at..(at + 2).min(text.len()), &insert);
        let _ = ir::text::parse(&text);
    }
}

#[test]
fn spans_do_not_count() {
    let (program, _) = fixture();
    let mut other = program.clone();
    other.variables[ir::lookup::id_at(0)].span = diagnostics::Span::new(1, 2);
    assert_eq!(program, other);
    other.variables[ir::lookup::id_at(0)].name = "t".into();
    assert_ne!(program, other);
}
