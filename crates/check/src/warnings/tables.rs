//! Tables: keys that do not vary, entries that hide others, unknown properties.

use super::selects::empty_range;
use super::sets::{self, Set};
use crate::Options;
use crate::codes;
use crate::program::*;
use crate::value::Value;
use diagnostics::{Diagnostic, Diagnostics, Span, suggest};
use num_bigint::BigInt;
use rustc_hash::FxHashMap;

/// Entries kept for comparison with later ones, and comparisons made in one table.
const KEPT_MAX: usize = 512;
const COMPARED_MAX: usize = 1 << 20;

/// Properties that the language gives to all tables (P4-16, "Tables").
const LANGUAGE_PROPERTIES: [&str; 3] = ["size", "largest_priority_wins", "priority_delta"];

pub(super) fn run(p: &Program, is_system: &dyn Fn(Span) -> bool, options: &Options, out: &mut Diagnostics) {
    let package = p.main.and_then(|main| match p.nodes[main].kind {
        NodeKind::Package(id) => Some(p.block_types[id].name.as_str()),
        NodeKind::Parser(_) | NodeKind::Control(_) | NodeKind::Extern(_) => None,
    });
    let known = package.and_then(|name| Some((name, options.table_properties?(name)?)));
    for (_, table) in p.tables.iter().filter(|(_, d)| !is_system(d.span)) {
        for key in table.key.iter().flatten() {
            constant_key(table, key, out);
        }
        table_config(table, out);
        if let Some((package, known)) = known {
            table.properties.iter().for_each(|q| unknown_property(table, q, package, known, out));
        }
        if let Some(list) = &table.entries {
            for e in &list.entries {
                e.keyset.iter().for_each(|k| empty_range(p, k, out));
                surplus_bits(p, table, e, out);
                priority_annotation(e, out);
            }
            priorities(table, list, out);
            covered(p, table, list, out);
        }
    }
}

/// `@tableconfig(impl = ..., store = ..., synced = ...)`, which tells T4P4S how to keep a table.
fn table_config(table: &TableDef, out: &mut Diagnostics) {
    let Some(mark) = annotation(&table.annotations, "tableconfig") else { return };
    let has = |word: &str| match &mark.body {
        AnnotationBody::Free(tokens) => tokens.iter().any(|token| token.text == word),
        AnnotationBody::KeyValue(pairs) => pairs.iter().any(|(name, _)| name == word),
        AnnotationBody::Empty | AnnotationBody::List(_) => false,
    };
    let message = format!("`@tableconfig` has no effect on table `{}`", table.name);
    let mut d = Diagnostic::new(&codes::TABLE_CONFIG, mark.span, message).label("read by T4P4S only");
    for (word, instead) in [
        ("impl", "`impl`: the keys, the size and the actions of a table decide how it is kept"),
        ("store", "`store`: the data of an entry are always in the entry itself"),
        ("synced", "`synced`: workers always keep their changes of an entry apart"),
    ] {
        if has(word) {
            d = d.note(instead);
        }
    }
    if has("synced") {
        d = d.help("where all packets of an entry come to one worker, `@siding_sync(\"none\")` in front of an action saves the cost");
    }
    out.push(d.help("remove the annotation"));
}

fn constant_key(table: &TableDef, key: &KeyElement, out: &mut Diagnostics) {
    if key.expr.is_compile_time || key.expr.value.is_some() {
        out.push(
            Diagnostic::new(
                &codes::IGNORED_PROPERTY,
                key.expr.span,
                format!("a key of table `{}` is a constant", table.name),
            )
            .label("the same for every packet")
            .note("such a key does not tell packets apart")
            .help("remove the key element, or match on a header field or metadata"),
        );
    }
}

fn unknown_property(
    table: &TableDef,
    q: &TableProperty,
    package: &str,
    known: &[String],
    out: &mut Diagnostics,
) {
    let all = || LANGUAGE_PROPERTIES.into_iter().chain(known.iter().map(String::as_str));
    if all().any(|name| q.name == name) {
        return;
    }
    let mut d = Diagnostic::new(
        &codes::IGNORED_PROPERTY,
        q.span,
        format!("property `{}` of table `{}` has no effect", q.name, table.name),
    )
    .label(format!("not known to the architecture of `{package}`"));
    d = match suggest::closest(&q.name, all()) {
        Some(s) => d.help(format!("did you mean `{s}`?")),
        None => d.note(format!("it knows `size` and `{}`", known.join("`, `"))),
    };
    out.push(d);
}

/// Bits of a value that its mask throws away.
fn surplus_bits(p: &Program, table: &TableDef, e: &Entry, out: &mut Diagnostics) {
    for (k, key) in e.keyset.iter().zip(table.key.iter().flatten()) {
        let k = sets::strip_casts(k);
        let ExprKind::Mask { value, mask } = &k.kind else { continue };
        let int = |e: &Expr| e.value.as_deref().and_then(Value::as_int).cloned();
        let (Some(v), Some(m), Some(_)) = (int(value), int(mask), sets::width_bits(p, key.expr.ty)) else {
            continue;
        };
        let kept: BigInt = &v & &m;
        if kept != v {
            out.push(
                Diagnostic::new(
                    &codes::MISMATCH,
                    value.span,
                    format!("bits of {v:#x} are cut off by the mask {m:#x}"),
                )
                .label(format!("means {kept:#x}"))
                .also(mask.span, "only these bits count")
                .note("P4Runtime asks for values without masked-off bits; the control plane sees the shortened value")
                .fix("write the value that is meant", value.span, format!("{kept:#x}")),
            );
        }
    }
}

/// `@priority(n)` on an entry: what programs wrote before entries had priorities.
fn priority_annotation(e: &Entry, out: &mut Diagnostics) {
    if let Some(a) = annotation(&e.annotations, "priority") {
        out.push(
            Diagnostic::new(&codes::DEPRECATED, a.span, "`@priority` on an entry has no effect")
                .label("ignored")
                .note("neither P4-16 nor P4Runtime knows this annotation")
                .help("write `priority = N:` before the entry"),
        );
    }
}

fn priorities(table: &TableDef, list: &EntryList, out: &mut Diagnostics) {
    if list.entries.iter().all(|e| e.priority.is_none()) {
        return;
    }
    let property = |name: &str| table.properties.iter().find(|q| q.name == name).map(|q| &q.value);
    let largest_wins = property("largest_priority_wins")
        .and_then(|e| e.value.as_deref())
        .and_then(Value::as_bool)
        .unwrap_or(true);
    let delta = property("priority_delta")
        .and_then(|e| e.value.as_deref())
        .and_then(Value::as_int)
        .cloned()
        .unwrap_or_else(|| 1.into());
    let mut seen: FxHashMap<BigInt, Span> = FxHashMap::default();
    let mut previous: Option<(BigInt, Span)> = None;
    let mut is_out_of_order = false;
    for e in &list.entries {
        let span = entry_span(e);
        let written = e.priority.as_ref().and_then(|p| p.value.as_deref()).and_then(Value::as_int).cloned();
        let priority = match (written, &previous) {
            (Some(v), _) => v,
            (None, Some((v, _))) if largest_wins => v - &delta,
            (None, Some((v, _))) => v + &delta,
            (None, None) => return,
        };
        if let Some(other) = seen.get(&priority) {
            out.push(
                Diagnostic::new(
                    &codes::DUPLICATE_PRIORITIES,
                    span,
                    format!("two entries of table `{}` have priority {priority}", table.name),
                )
                .label(if e.priority.is_some() { "this entry" } else { "follows from the entry before" })
                .also(*other, "the other entry")
                .note("when both match it is not defined which one is taken")
                .help("give one of them another `priority = ...:`"),
            );
        } else {
            seen.insert(priority.clone(), span);
        }
        if let Some((before, other)) = &previous
            && !is_out_of_order
            && if largest_wins { priority > *before } else { priority < *before }
        {
            is_out_of_order = true;
            out.push(
                Diagnostic::new(
                    &codes::ENTRIES_OUT_OF_ORDER,
                    span,
                    format!(
                        "entries of table `{}` do not stand in the order of their priorities",
                        table.name
                    ),
                )
                .label(format!("priority {priority}"))
                .also(*other, format!("priority {before}"))
                .note(if largest_wins {
                    "entries with larger priorities are tried first"
                } else {
                    "entries with smaller priorities are tried first (`largest_priority_wins = false`)"
                })
                .help("write the entries in the order in which they are tried"),
            );
        }
        previous = Some((priority, span));
    }
}

/// The keyset of an entry.
fn entry_span(e: &Entry) -> Span {
    match (e.keyset.first(), e.keyset.last()) {
        (Some(a), Some(b)) => a.span.to(b.span),
        _ => e.span,
    }
}

/// Ternary entries that an earlier one hides. Only where the order of entries decides.
fn covered(p: &Program, table: &TableDef, list: &EntryList, out: &mut Diagnostics) {
    let Some(keys) = &table.key else { return };
    let is_ordered = keys.iter().any(|k| matches!(k.match_kind.as_str(), "ternary" | "range" | "optional"));
    let is_comparable =
        keys.iter().all(|k| matches!(k.match_kind.as_str(), "exact" | "ternary" | "range" | "optional"));
    if !is_ordered || !is_comparable || list.entries.iter().any(|e| e.priority.is_some()) {
        return;
    }
    let mut seen: Vec<(Vec<Set>, Span)> = Vec::new();
    let mut n_compared = 0;
    for e in &list.entries {
        n_compared += seen.len();
        if n_compared > COMPARED_MAX {
            return;
        }
        if e.keyset.len() != keys.len() {
            continue;
        }
        let sets: Vec<Set> = e.keyset.iter().zip(keys).map(|(k, key)| sets::of(p, k, key.expr.ty)).collect();
        let covers = |earlier: &Vec<Set>| earlier.iter().zip(&sets).all(|(a, b)| a.covers(b));
        let span = entry_span(e);
        if let Some((_, by)) = seen.iter().find(|(earlier, _)| covers(earlier)) {
            out.push(
                Diagnostic::new(
                    &codes::COVERED_ENTRY,
                    span,
                    format!("this entry of table `{}` never matches", table.name),
                )
                .label("hidden")
                .also(*by, "this earlier entry matches all of it")
                .note("entries without priorities are tried from top to bottom")
                .help("remove the entry, move it up, or give the entries priorities"),
            );
        } else if seen.len() < KEPT_MAX {
            seen.push((sets, span));
        }
    }
}
