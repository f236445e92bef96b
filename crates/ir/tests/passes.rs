//! Passes: `tests/passes/<pass>.ir` becomes `tests/passes/<pass>.out`. `SIDING_BLESS=1` writes the latter.

use ir::passes::{self, Pass};
use ir::{Program, text};
use std::path::Path;

fn parse(name: &str, text: &str) -> Program {
    let program = text::parse(text).unwrap_or_else(|e| panic!("{name}:{e}"));
    if let Err(violations) = ir::validate(&program) {
        panic!("{name}: {violations:#?}");
    }
    program
}

fn check(pass: Pass) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/passes");
    let input = std::fs::read_to_string(folder.join(pass.name).with_extension("ir")).unwrap();
    let mut program = parse(pass.name, &input);
    passes::run(&mut program, &[pass]).unwrap();
    let found = text::print(&program);
    let golden = folder.join(pass.name).with_extension("out");
    if std::env::var_os("SIDING_BLESS").is_some() {
        std::fs::write(&golden, &found).unwrap();
    }
    let expected = std::fs::read_to_string(&golden).unwrap_or_default();
    for (n, (expected, found)) in expected.lines().zip(found.lines()).enumerate() {
        assert_eq!(expected, found, "{}:{}", golden.display(), n + 1);
    }
    assert_eq!(expected, found);
    let mut again = program.clone();
    passes::run(&mut again, &[pass]).unwrap();
    if pass.name != "inline_called_once" {
        assert_eq!(text::print(&again), found, "{} does not settle", pass.name);
    }
}

#[test]
fn straight_lines_are_merged() {
    check(passes::SIMPLIFY_CFG);
}

#[test]
fn constants_are_computed() {
    check(passes::FOLD_CONSTANTS);
}

#[test]
fn unread_temporaries_go() {
    check(passes::REMOVE_DEAD);
}

#[test]
fn headers_that_are_assigned_are_not_zeroed() {
    check(passes::REMOVE_ZEROS);
}

#[test]
fn copies_are_read_at_their_source() {
    check(passes::PROPAGATE_COPIES);
}

#[test]
fn what_is_copied_in_and_out_is_used_where_it_is() {
    check(passes::PASS_BY_REFERENCE);
}

#[test]
fn procedures_called_once_are_inlined() {
    check(passes::INLINE_CALLED_ONCE);
}

#[test]
fn the_default_passes_keep_programs_valid() {
    let passes = [
        "simplify_cfg",
        "fold_constants",
        "remove_dead",
        "remove_zeros",
        "propagate_copies",
        "inline_called_once",
        "pass_by_reference",
    ];
    for name in passes {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/passes").join(name).with_extension("ir");
        let mut program = parse(name, &std::fs::read_to_string(file).unwrap());
        passes::run(&mut program, passes::DEFAULT).unwrap();
    }
    let mut router = parse("router", include_str!("text/router.ir"));
    passes::run(&mut router, passes::DEFAULT).unwrap();
}

#[test]
#[cfg(debug_assertions)]
fn a_broken_pass_is_named() {
    fn forget_an_error(program: &mut Program) {
        program.errors.remove(0);
    }
    let broken = Pass { name: "forget_an_error", run: forget_an_error };
    let mut program = parse("router", include_str!("text/router.ir"));
    let e = passes::run(&mut program, &[passes::SIMPLIFY_CFG, broken, passes::FOLD_CONSTANTS]).unwrap_err();
    assert_eq!(e.name, "forget_an_error");
    assert!(
        e.to_string().starts_with("the pass `forget_an_error` broke the program:\n  program: its errors"),
        "{e}"
    );
}

#[test]
fn copies_of_copies_have_an_end() {
    use std::fmt::Write;
    let mut text = String::from(
        "architecture v1model
        errors NoError, PacketTooShort, NoMatch, StackOutOfBounds, HeaderTooShort, ParserTimeout, ParserInvalidArgument
        block C: Ingress() {\n n0:\n call p0 then n1 exit n1 n1: return }
        pipeline Ingress = C\n",
    );
    for i in 0..40 {
        let callee = if i == 39 { 39 } else { i + 1 };
        let code = if i == 39 {
            "n0: return".to_string()
        } else {
            format!("n0: call p{callee} then n1 exit n2 n1: call p{callee} then n2 exit n2 n2: return")
        };
        writeln!(text, "procedure p{i}: control() in C {{ {code} }}").unwrap();
    }
    let mut program = parse("doubling", &text);
    assert!(!passes::inline_procedures(&mut program, &|_, _| true));
    assert_eq!(ir::validate(&program), Ok(()));
}
