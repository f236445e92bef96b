//! The tree of objects, written out: one line for each, with its control-plane name, its arguments and, after
//! `|`, what is live in it.

use super::{OBJECTS_MAX, Scope};
use crate::program::*;
use crate::value::Value;
use diagnostics::SourceMap;
use syntax::{IncludeKind, LoadedFile, Loader};

struct NoFiles;

impl Loader for NoFiles {
    fn load(&self, _: &str, _: IncludeKind, _: &str) -> Option<LoadedFile> {
        None
    }
}

fn check(text: &str) -> (Program, SourceMap, Vec<String>) {
    let parsed = syntax::parse("test.p4", text.to_string(), &NoFiles, &syntax::Options::default());
    let checked = crate::check(parsed, &crate::Options::default());
    let errors = checked.diagnostics.iter().filter(|d| d.is_error());
    let errors = errors.map(|d| format!("{}: {}", d.code.id, d.message)).collect();
    (checked.program, checked.sources, errors)
}

fn tree(text: &str) -> String {
    let (p, _, errors) = check(text);
    assert_eq!(errors, Vec::<String>::new());
    let mut out = String::new();
    for node in &p.top_level {
        write(&p, *node, 0, &mut out);
    }
    out
}

fn write(p: &Program, id: NodeId, depth: usize, out: &mut String) {
    let node = &p.nodes[id];
    let kind = match node.kind {
        NodeKind::Package(_) => "package",
        NodeKind::Parser(_) => "parser",
        NodeKind::Control(_) => "control",
        NodeKind::Extern(_) => "extern",
    };
    let args: Vec<String> =
        node.args.iter().map(|a| a.as_ref().map_or("-".into(), |v| value(p, v))).collect();
    out.push_str(&format!("{:depth$}{kind} {}({})", "", node.control_plane_name, args.join(", ")));
    let mut live: Vec<String> =
        node.live.tables.iter().map(|t| p.control_plane_name_of_table(id, *t)).collect();
    live.extend(node.live.actions.iter().map(|a| p.control_plane_name_of_action(id, *a)));
    live.extend(node.live.value_sets.iter().map(|s| p.control_plane_name_of_value_set(id, *s)));
    live.extend(node.live.applied.iter().map(|n| format!("apply {}", p.nodes[*n].control_plane_name)));
    if !live.is_empty() {
        out.push_str(&format!(" | {}", live.join(", ")));
    }
    out.push('\n');
    node.children.iter().for_each(|c| write(p, *c, depth + 2, out));
}

fn value(p: &Program, v: &Value) -> String {
    match v {
        Value::Int(i) => i.to_string(),
        Value::Bool(b) => b.to_string(),
        Value::Str(s) => format!("{s:?}"),
        Value::Object(node) => format!("->{}", p.nodes[*node].control_plane_name),
        Value::Aggregate(items) => {
            format!("[{}]", items.iter().map(|i| value(p, i)).collect::<Vec<_>>().join(" "))
        }
        other => format!("{other:?}"),
    }
}

const ARCH: &str = "
match_kind { exact }
@noWarn(\"unused\") action NoAction() {}
extern Reg<T> { Reg(bit<32> n); Reg(bit<32> n, T init); T get(); abstract void on(in T x); }
extern Ext { Ext(bit<32> n); void touch(); }
control C(inout bit<8> x);
package Top(C c);
package Two(C a, C b);
";

#[test]
fn arguments_are_evaluated_inside_their_owner() {
    let program = format!(
        "{ARCH}
        const bit<32> K = 3;
        control inner(inout bit<8> x)(bit<32> n, tuple<bit<8>, bool> t) {{
            Ext(n << 1) e;
            apply {{ e.touch(); x = t[0]; }}
        }}
        control c(inout bit<8> x)(bit<32> m) {{
            inner(m + K, {{ 7, m == 4 }}) i;
            apply {{ i.apply(x); }}
        }}
        Top(c(4)) main;"
    );
    assert_eq!(
        tree(&program),
        "package main(->c)\n  control c(4) | apply c.i\n    control c.i(7, [7 true])\n      extern c.i.e(14)\n"
    );
}

#[test]
fn names_follow_instances_types_and_annotations() {
    let program = format!(
        "{ARCH}
        action g(inout bit<8> y) {{ y = 1; }}
        control leaf(inout bit<8> x) {{
            action a() {{ x = 1; }}
            @name(\".abs\") action b() {{ x = 2; }}
            @name(\"tt\") table t {{ actions = {{ a; b; g(x); NoAction; }} }}
            apply {{ t.apply(); }}
        }}
        @name(\"ignored\") control c(inout bit<8> x) {{
            @name(\"renamed\") leaf() l;
            @name(\".root\") leaf() m;
            apply {{ l.apply(x); m.apply(x); leaf.apply(x); leaf.apply(x); }}
        }}
        Ext(9) shared;
        Top(c()) main;"
    );
    let inside = |path: &str| format!("    control {path}() | {path}.tt, {path}.a, abs, g, NoAction\n");
    let leaf = inside("c.leaf");
    assert_eq!(
        tree(&program),
        format!(
            "extern shared(9)\npackage main(->c)\n  control c() | apply c.renamed, apply root, apply c.leaf, \
             apply c.leaf\n{}{}{leaf}{leaf}",
            inside("c.renamed"),
            inside("root"),
        )
    );
}

#[test]
fn packages_share_instances_and_make_their_own() {
    let program = format!(
        "{ARCH}
        control c(inout bit<8> x)(Ext e) {{ apply {{ e.touch(); }} }}
        Ext(1) shared;
        Two(c(shared), c(Ext(2))) main;"
    );
    assert_eq!(
        tree(&program),
        "extern shared(1)\npackage main(->c, ->c)\n  control c(->shared)\n  control c(->c.e)\n    extern c.e(2)\n"
    );
}

#[test]
fn constant_conditions_decide_what_is_live() {
    let program = format!(
        "{ARCH}
        control c(inout bit<8> x)(bool on, bit<8> n) {{
            action a() {{ x = 1; }}
            action called(bit<8> v) {{ x = v; }}
            action only_called() {{ called(2); }}
            table t {{ actions = {{ a; }} default_action = a; }}
            table u {{ actions = {{ a; }} default_action = a; }}
            table v {{ key = {{ u.apply().hit: exact @name(\"k\"); }} actions = {{ a; }} default_action = a; }}
            apply {{
                if (on) {{ t.apply(); }} else {{ v.apply(); }}
                if (n > 3 && t.apply().hit) {{ only_called(); }}
                bool dead = false && t.apply().hit;
                x = n == 2 ? 8w1 : (t.apply().hit ? 8w2 : 8w3);
            }}
        }}
        Two(c(true, 4), c(false, 2)) main;"
    );
    assert_eq!(
        tree(&program),
        "package main(->c, ->c)\n  control c(true, 4) | c.t, c.a, c.only_called, c.called\n  \
         control c(false, 2) | c.v, c.u, c.a\n"
    );
}

#[test]
fn parsers_count_reachable_states() {
    let program = "
        extern Ext { Ext(); }
        parser P(inout bit<8> x);
        package Top(P p);
        parser sub(inout bit<8> x) {
            value_set<bit<8>>(4) s;
            value_set<bit<8>>(4) dead;
            state start { transition select(x) { s: accept; default: reject; } }
            state never { transition select(x) { dead: accept; default: reject; } }
        }
        parser p(inout bit<8> x) {
            sub() q;
            state start { q.apply(x); transition accept; }
        }
        Top(p()) main;";
    assert_eq!(tree(program), "package main(->p)\n  parser p() | apply p.q\n    parser p.q() | p.q.s\n");
}

#[test]
fn abstract_methods_bring_their_objects() {
    let program = format!(
        "{ARCH}
        control c(inout bit<8> x) {{
            Reg<bit<8>>(8, 8w1) r = {{
                Ext(4) helper;
                void on(in bit<8> y) {{ helper.touch(); }}
            }};
            apply {{ x = r.get(); }}
        }}
        Top(c()) main;"
    );
    assert_eq!(
        tree(&program),
        "package main(->c)\n  control c()\n    extern c.r(8, 1)\n      extern c.r.helper(4)\n"
    );
}

#[test]
fn type_arguments_reach_inner_objects() {
    let (p, _, errors) = check(&format!(
        "{ARCH}
        extern Box<T> {{ Box(T first); }}
        control g<T>(inout T x)(T first) {{
            Box<T>(first) b;
            apply {{}}
        }}
        control c(inout bit<8> x) {{
            g<bit<8>>(300 - 1) h;
            apply {{ h.apply(x); }}
        }}
        Top(c()) main;"
    ));
    assert_eq!(errors, Vec::<String>::new());
    let (id, node) = p.nodes.iter().find(|(_, n)| n.name == "b").unwrap();
    assert_eq!(crate::display::ty(&p, node.ty), "Box<bit<8>>");
    assert_eq!(p.extern_argument(id, "first"), Some(&Value::Int(43.into())));
}

#[test]
fn objects_are_counted() {
    // Each control holds two of the one before: 2^20 at the end.
    let mut program = String::from(ARCH);
    program.push_str("control c0(inout bit<8> x) { apply {} }\n");
    for i in 1..=20 {
        let before = i - 1;
        program.push_str(&format!(
            "control c{i}(inout bit<8> x) {{ c{before}() a; c{before}() b; apply {{ a.apply(x); b.apply(x); }} }}\n"
        ));
    }
    program.push_str("Top(c20()) main;\n");
    let (p, _, errors) = check(&program);
    assert_eq!(errors, [format!("P3002: the program has more than {OBJECTS_MAX} objects")]);
    assert!(p.nodes.len() <= OBJECTS_MAX);
}

#[test]
fn expressions_without_a_value_have_none() {
    let (p, _, errors) = check(&format!("{ARCH} control c(inout bit<8> x) {{ apply {{ x = x + 1; }} }}"));
    assert_eq!(errors, Vec::<String>::new());
    let (_, control) = p.controls.iter().next().unwrap();
    let StmtKind::Assign { rhs, .. } = &control.apply.stmts[0].kind else { panic!("an assignment") };
    let scope: Scope = None;
    assert_eq!(p.eval(rhs, scope), None);
    assert!(p.main.is_none() && p.nodes.is_empty());
}
