//! Checks on the syntax tree alone: shadowed names, `@noWarn`, states and programs without an end.

use crate::codes;
use diagnostics::{Diagnostic, Diagnostics, Severity, SourceMap, Span, suggest};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use syntax::ast::*;

/// Names of p4c's warnings that Siding has not; annotations that name them are no mistakes.
const FOREIGN_NAMES: &[&str] =
    &["branch", "duplicate", "expr", "failed", "ignore", "legacy", "type-inference", "unsupported"];

/// A stretch of source in which some warnings are off.
struct Silence {
    extent: Span,
    name: String,
}

struct Walk<'a> {
    sources: &'a SourceMap,
    out: &'a mut Diagnostics,
    scopes: Vec<FxHashMap<SmolStr, Span>>,
    silences: Vec<Silence>,
}

/// Warns of what the tree tells, then drops all warnings that annotations switch off.
pub(super) fn run(ast: &Program, sources: &SourceMap, out: &mut Diagnostics) {
    let mut walk = Walk { sources, out, scopes: vec![FxHashMap::default()], silences: Vec::new() };
    walk.decls(&ast.decls);
    let has_main =
        ast.decls.iter().any(|d| matches!(&d.kind, DeclKind::Instantiation(i) if i.name.name == "main"));
    if !has_main && !walk.out.has_errors() {
        let last = ast.decls.iter().rev().map(|d| d.span).find(|s| !sources.is_system(*s));
        walk.out.push(
            Diagnostic::new(
                &codes::MISSING,
                last.map_or(Span::NONE, Span::shrink_to_hi),
                "the program has no `main`",
            )
            .label("expected by here")
            .note("a program is what the package instance `main` is made of; without it nothing runs")
            .help("instantiate the architecture's package, e.g. `V1Switch(...) main;`"),
        );
    }
    let silences = walk.silences;
    silence(&silences, sources, out);
}

fn silence(silences: &[Silence], sources: &SourceMap, out: &mut Diagnostics) {
    if silences.is_empty() {
        return;
    }
    // Resolved: tokens from macros have positions of their own.
    let extents: Vec<_> = silences
        .iter()
        .filter_map(|s| {
            let lo = sources.resolve(s.extent.shrink_to_lo())?;
            let hi = sources.resolve(s.extent.shrink_to_hi())?;
            (lo.file == hi.file).then_some((lo.file, lo.lo, hi.hi, s.name.as_str()))
        })
        .collect();
    out.reclassify(|d| {
        let name = d.code.name.replace('_', "-");
        let is_off = d.severity != Severity::Error
            && sources.resolve(d.primary.span).is_some_and(|at| {
                extents.iter().any(|(file, lo, hi, off)| {
                    at.file == *file
                        && *lo <= at.lo
                        && at.hi <= *hi
                        && (*off == name || off.eq_ignore_ascii_case(d.code.id))
                })
            });
        (!is_off).then_some(d.severity)
    });
}

impl Walk<'_> {
    // -- scopes ----------------------------------------------------------------------------------

    /// Declares a name; one that an outer scope has too is hidden from here on.
    fn declare(&mut self, name: &Ident) {
        if name.name.is_empty() || name.name == "_" {
            return;
        }
        let (current, outer) = match self.scopes.split_last_mut() {
            Some(split) => split,
            None => return,
        };
        let hidden = outer.iter().rev().find_map(|s| s.get(&name.name));
        if let Some(hidden) = hidden
            && !current.contains_key(&name.name)
            && !self.sources.is_system(name.span)
        {
            self.out.push(
                Diagnostic::new(
                    &codes::SHADOW,
                    name.span,
                    format!("`{}` hides an outer declaration", name.name),
                )
                .label("this declaration")
                .also(*hidden, "hidden here")
                .note("from here on the name means the inner declaration")
                .help("rename one of the two"),
            );
        }
        current.entry(name.name.clone()).or_insert(name.span);
    }

    fn scope(&mut self, f: impl FnOnce(&mut Self)) {
        self.scopes.push(FxHashMap::default());
        f(self);
        self.scopes.pop();
    }

    // -- annotations -----------------------------------------------------------------------------

    /// Notes the warnings that a declaration switches off.
    fn annotations(&mut self, list: &[Annotation], extent: Span) {
        for a in list.iter().filter(|a| a.name.name == "noWarn") {
            let names: Vec<&str> = match &a.body {
                AnnotationBody::Free(tokens) => tokens
                    .iter()
                    .filter(|t| t.kind == AnnotationTokenKind::Str)
                    .map(|t| t.text.as_str())
                    .collect(),
                AnnotationBody::List(values) => values
                    .iter()
                    .filter_map(|e| match &e.kind {
                        ExprKind::Str(s) => Some(s.as_str()),
                        _ => None,
                    })
                    .collect(),
                AnnotationBody::Empty | AnnotationBody::KeyValue(_) => Vec::new(),
            };
            for written in names {
                let name = written.replace('_', "-");
                let is_code = name.len() == 5
                    && name.starts_with(['P', 'p', 'R'])
                    && name[1..].bytes().all(|b| b.is_ascii_digit());
                let is_ours = codes::ALL
                    .iter()
                    .any(|c| c.default_severity != Severity::Error && c.name.replace('_', "-") == name);
                // Like p4c, require hyphens in the name.
                let is_known =
                    is_code || FOREIGN_NAMES.contains(&name.as_str()) || is_ours && *written == name;
                if !is_known {
                    let all =
                        codes::ALL.iter().filter(|c| c.default_severity != Severity::Error).map(|c| c.name);
                    let mut d = Diagnostic::new(
                        &codes::UNKNOWN_WARNING,
                        a.span,
                        format!("no warning is named `{written}`"),
                    )
                    .label("switches nothing off");
                    d = d.note("names are those of `--Wdisable=...`; errors cannot be switched off");
                    if is_ours {
                        d = d.help(format!("write `@noWarn(\"{name}\")`"));
                    } else if let Some(near) = suggest::closest(&name, all) {
                        d = d.help(format!("did you mean `@noWarn(\"{near}\")`?"));
                    }
                    self.out.push(d);
                }
                self.silences.push(Silence { extent, name });
            }
        }
    }

    // -- the walk --------------------------------------------------------------------------------

    fn decls(&mut self, decls: &[Decl]) {
        decls.iter().for_each(|d| self.decl(d));
    }

    fn decl(&mut self, d: &Decl) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.decl_kind(d));
    }

    fn decl_kind(&mut self, d: &Decl) {
        self.annotations(&d.annotations, d.span);
        match &d.kind {
            DeclKind::Const(c) => self.declare(&c.name),
            DeclKind::Variable(v) => self.declare(&v.name),
            DeclKind::Instantiation(i) => {
                self.declare(&i.name);
                if let Some(inner) = &i.initializer {
                    // The methods' names are the extern's; they hide nothing.
                    for d in inner {
                        self.annotations(&d.annotations, d.span);
                        match &d.kind {
                            DeclKind::Function(f) => self.scope(|w| {
                                w.names(&f.proto.type_params);
                                w.params(&f.proto.params);
                                w.block(&f.body);
                            }),
                            _ => self.scope(|w| w.decl(d)),
                        }
                    }
                }
            }
            DeclKind::Extern(e) => {
                self.declare_again(&e.name);
                self.scope(|w| {
                    w.names(&e.type_params);
                    for m in &e.methods {
                        w.annotations(&m.annotations, m.span);
                        // Parameters of methods are seen nowhere.
                        w.scope(|w| w.names(&m.proto.type_params));
                    }
                });
            }
            DeclKind::ExternForward(name) => self.declare_again(name),
            DeclKind::ExternFunction(f) => {
                self.declare_again(&f.name);
                self.scope(|w| w.names(&f.type_params));
            }
            DeclKind::Function(f) => {
                self.declare_again(&f.proto.name);
                self.scope(|w| {
                    w.names(&f.proto.type_params);
                    w.params(&f.proto.params);
                    w.block(&f.body);
                });
            }
            DeclKind::Action(a) => {
                self.declare(&a.name);
                self.scope(|w| {
                    w.params(&a.params);
                    w.block(&a.body);
                });
            }
            DeclKind::Parser(p) => {
                self.declare(&p.head.name);
                self.scope(|w| {
                    w.head(&p.head, p.ctor_params.as_deref());
                    w.scope(|w| {
                        w.decls(&p.locals);
                        p.states.iter().for_each(|s| w.state(s));
                    });
                });
            }
            DeclKind::Control(c) => {
                self.declare(&c.head.name);
                self.scope(|w| {
                    w.head(&c.head, c.ctor_params.as_deref());
                    w.scope(|w| {
                        w.decls(&c.locals);
                        w.block(&c.apply);
                    });
                });
            }
            DeclKind::ParserType(b) | DeclKind::ControlType(b) | DeclKind::Package(b) => {
                self.declare_again(&b.name);
                // Only the type parameters of a block type are in scope: it has no body.
                self.scope(|w| w.names(&b.type_params));
            }
            DeclKind::Struct(s) => {
                self.declare(&s.name);
                s.fields.iter().for_each(|f| self.annotations(&f.annotations, f.span));
                self.scope(|w| w.names(&s.type_params));
            }
            DeclKind::Enum(e) => {
                self.declare(&e.name);
                e.members.iter().for_each(|m| self.annotations(&m.annotations, m.name.span));
            }
            DeclKind::Typedef(t) | DeclKind::Newtype(t) => {
                self.declare(&t.name);
                if let TypedefTarget::Decl(d) = &t.target {
                    self.decl(d);
                }
            }
            DeclKind::Error(_) | DeclKind::MatchKind(_) => {}
            DeclKind::Table(t) => {
                self.declare(&t.name);
                for p in &t.properties {
                    self.annotations(&p.annotations, p.span);
                    match &p.kind {
                        TablePropertyKind::Key(keys) => {
                            keys.iter().for_each(|k| self.annotations(&k.annotations, k.span));
                        }
                        TablePropertyKind::Actions(list) => {
                            list.iter().for_each(|a| self.annotations(&a.annotations, a.span));
                        }
                        TablePropertyKind::Entries(list) => {
                            list.iter().for_each(|e| self.annotations(&e.annotations, e.span));
                        }
                        TablePropertyKind::Other(_) => {}
                    }
                }
            }
            DeclKind::ValueSet(v) => self.declare(&v.name),
        }
    }

    /// Declares what may be overloaded or declared forward.
    fn declare_again(&mut self, name: &Ident) {
        if self.scopes.last().is_some_and(|s| s.contains_key(&name.name)) {
            return;
        }
        self.declare(name);
    }

    fn head(&mut self, head: &BlockType, ctor_params: Option<&[Param]>) {
        self.names(&head.type_params);
        self.params(&head.params);
        self.params(ctor_params.unwrap_or_default());
    }

    fn names(&mut self, names: &[Ident]) {
        names.iter().for_each(|n| self.declare(n));
    }

    fn params(&mut self, params: &[Param]) {
        for p in params {
            self.annotations(&p.annotations, p.span);
            self.declare(&p.name);
        }
    }

    fn state(&mut self, s: &ParserState) {
        self.annotations(&s.annotations, s.span);
        if s.transition.is_none() && !self.sources.is_system(s.name.span) {
            self.out.push(
                Diagnostic::new(
                    &codes::UNREACHABLE,
                    s.name.span,
                    format!("state `{}` has no transition and rejects the packet", s.name.name),
                )
                .label("goes to `reject`")
                .note("a state without transition statement goes to `reject` (P4-16, \"Transition statements\")")
                .help("write `transition reject;` if that is meant, else `transition accept;`"),
            );
        }
        self.scope(|w| w.stmts(&s.stmts));
    }

    fn block(&mut self, b: &Block) {
        self.annotations(&b.annotations, b.span);
        self.scope(|w| w.stmts(&b.stmts));
    }

    fn stmts(&mut self, stmts: &[Stmt]) {
        stmts.iter().for_each(|s| self.stmt(s));
    }

    fn stmt(&mut self, s: &Stmt) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.stmt_kind(s));
    }

    fn stmt_kind(&mut self, s: &Stmt) {
        match &s.kind {
            StmtKind::Decl(d) => self.decl(d),
            StmtKind::Block(b) => self.block(b),
            StmtKind::If { annotations, then, otherwise, .. } => {
                self.annotations(annotations, s.span);
                self.scope(|w| w.stmt(then));
                if let Some(o) = otherwise {
                    self.scope(|w| w.stmt(o));
                }
            }
            StmtKind::Switch { cases, .. } => {
                for c in cases {
                    if let Some(b) = &c.body {
                        self.block(b);
                    }
                }
                if let Some(last) = cases.last()
                    && last.body.is_none()
                    && !self.sources.is_system(last.span)
                {
                    self.out.push(
                        Diagnostic::new(
                            &codes::MISSING,
                            last.span,
                            "the last case of a switch has no statement",
                        )
                        .label("falls through to nothing")
                        .note("a case without block goes on with the next one (P4-16, \"Switch statement\")")
                        .help("write `{}` after it"),
                    );
                }
            }
            StmtKind::For { annotations, init, update, body, .. } => {
                self.annotations(annotations, s.span);
                self.scope(|w| {
                    w.stmts(init);
                    w.stmts(update);
                    w.scope(|w| w.stmt(body));
                });
            }
            StmtKind::ForIn { annotations, var_annotations, name, body, .. } => {
                self.annotations(annotations, s.span);
                self.annotations(var_annotations, name.span);
                self.scope(|w| {
                    w.declare(name);
                    w.scope(|w| w.stmt(body));
                });
            }
            StmtKind::Empty
            | StmtKind::Assign { .. }
            | StmtKind::Call(_)
            | StmtKind::Return(_)
            | StmtKind::Exit
            | StmtKind::Break
            | StmtKind::Continue => {}
        }
    }
}
