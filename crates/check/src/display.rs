//! Display of types in P4 syntax.

use crate::program::Program;
use crate::types::{Ty, TyKind};

/// Most parts of a type that are written out; the rest is `...`.
const PARTS_MAX: u32 = 64;

/// The type in P4 syntax where it has one.
pub fn ty(p: &Program, t: Ty) -> String {
    let mut budget = PARTS_MAX;
    part(p, t, &mut budget)
}

fn part(p: &Program, t: Ty, budget: &mut u32) -> String {
    if *budget == 0 {
        return "...".into();
    }
    *budget -= 1;
    let mut args = |name: &str, args: &[Ty]| {
        if args.is_empty() {
            name.to_string()
        } else {
            let list: Vec<String> = args.iter().map(|a| part(p, *a, budget)).collect();
            format!("{name}<{}>", list.join(", "))
        }
    };
    match p.types.kind(t) {
        TyKind::Error => "<unknown>".into(),
        TyKind::Void => "void".into(),
        TyKind::Bool => "bool".into(),
        TyKind::ErrorCode => "error".into(),
        TyKind::MatchKind => "match_kind".into(),
        TyKind::Str => "string".into(),
        TyKind::Int => "int".into(),
        TyKind::Bit(w) => format!("bit<{w}>"),
        TyKind::Signed(w) => format!("int<{w}>"),
        TyKind::Varbit(w) => format!("varbit<{w}>"),
        TyKind::Struct(id, a) => args(&p.structs[*id].name, a),
        TyKind::Enum(id) => p.enums[*id].name.to_string(),
        TyKind::Newtype(id) => p.newtypes[*id].name.to_string(),
        TyKind::Extern(id, a) => args(&p.externs[*id].name, a),
        TyKind::Block(id, a) => args(&p.block_types[*id].name, a),
        TyKind::Parser(id, a) => args(&p.parsers[*id].name, a),
        TyKind::Control(id, a) => args(&p.controls[*id].name, a),
        TyKind::Array(t, n) => format!("{}[{n}]", part(p, *t, budget)),
        TyKind::Tuple(items) => {
            if items.is_empty() {
                "tuple<>".into()
            } else {
                args("tuple", items)
            }
        }
        TyKind::List(t) => format!("list<{}>", part(p, *t, budget)),
        TyKind::Var(id) => p.type_vars[*id].name.to_string(),
        TyKind::Infer(_) | TyKind::DontCare => "_".into(),
        TyKind::ListLiteral(items) => {
            let list: Vec<String> = items.iter().map(|a| part(p, *a, budget)).collect();
            format!("{{{}}}", list.join(", "))
        }
        TyKind::StructLiteral(fields) => {
            let list: Vec<String> =
                fields.iter().map(|(n, t)| format!("{n}: {}", part(p, *t, budget))).collect();
            format!("{{{}}}", list.join(", "))
        }
        TyKind::Dots => "...".into(),
        TyKind::InvalidHeader => "{#}".into(),
        TyKind::Set(t) => format!("set<{}>", part(p, *t, budget)),
        TyKind::State => "state".into(),
        TyKind::Table(id) => format!("table {}", p.tables[*id].name),
        TyKind::Action(id) => format!("action {}", p.actions[*id].name),
        TyKind::ApplyResult(id) => format!("result of applying {}", p.tables[*id].name),
        TyKind::ActionRun(id) => format!("actions of {}", p.tables[*id].name),
        TyKind::TypeName(t) => format!("type {}", part(p, *t, budget)),
        TyKind::Callable => "function".into(),
    }
}
