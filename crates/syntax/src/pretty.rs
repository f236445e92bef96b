//! Prints the syntax tree as P4 text, with as few parentheses as precedence allows.
//!
//! Printing a tree and parsing the text gives an equal tree (see [`crate::same_tree`]), if the tree has no
//! `Error` nodes. Comments and layout are not in the tree; [`crate::fmt`] formats source text.

use crate::ast::*;
use crate::parser::precedence;
use std::fmt::Write as _;

/// Prints a whole program.
pub fn program(program: &Program) -> String {
    let mut p = Printer::default();
    for (i, d) in program.decls.iter().enumerate() {
        if i > 0 {
            p.line();
        }
        p.decl(d);
        p.line();
    }
    p.out
}

/// Prints one expression on one line.
pub fn expr(e: &Expr) -> String {
    let mut p = Printer::default();
    p.expr(e, Level::Any);
    p.out
}

/// Prints one type on one line.
pub fn ty(t: &Type) -> String {
    let mut p = Printer::default();
    p.ty(t);
    p.out
}

/// Binding strength that an expression needs to stand without parentheses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Any,
    /// Operands of binary operators of this precedence; see [`precedence`].
    Binary(u8),
    /// Operands of prefix operators and casts.
    Prefix,
    /// Operands of `.`, `[`, `(` and type arguments.
    Postfix,
    /// Always in parentheses.
    Closed,
}

#[derive(Default)]
struct Printer {
    out: String,
    indent: usize,
    /// True within `bit<...>`, where `>` needs parentheses.
    no_gt: bool,
}

impl Printer {
    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// Begins a new line.
    fn line(&mut self) {
        self.out.push('\n');
        for _ in 0..self.indent {
            self.out.push_str("    ");
        }
    }

    fn list<T>(&mut self, items: &[T], mut item: impl FnMut(&mut Self, &T)) {
        for (i, x) in items.iter().enumerate() {
            if i > 0 {
                self.put(", ");
            }
            item(self, x);
        }
    }

    /// `{`, each item on a line, `}`.
    fn braces<T>(&mut self, items: &[T], mut item: impl FnMut(&mut Self, &T)) {
        if items.is_empty() {
            self.put("{ }");
            return;
        }
        self.put("{");
        self.indent += 1;
        for x in items {
            self.line();
            item(self, x);
        }
        self.indent -= 1;
        self.line();
        self.put("}");
    }

    /// Prints with `>` allowed again.
    fn bracketed(&mut self, f: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.no_gt, false);
        f(self);
        self.no_gt = outer;
    }
}

// Names, annotations, types.
impl Printer {
    fn path(&mut self, path: &Path) {
        if path.absolute {
            self.put(".");
        }
        self.put(&path.name.name);
    }

    fn string(&mut self, text: &str) {
        self.out.push_str(&crate::lexer::escape(text));
    }

    fn int(&mut self, i: &IntLiteral) {
        if let Some((width, sign)) = i.width {
            let sign = match sign {
                Signedness::Unsigned => 'w',
                Signedness::Signed => 's',
            };
            // Writing to a string cannot fail.
            let _ = write!(self.out, "{width}{sign}");
        }
        let prefix = match i.base {
            2 => "0b",
            8 => "0o",
            16 => "0x",
            _ => "",
        };
        self.put(prefix);
        let digits = i.value.to_str_radix(u32::from(i.base));
        self.put(&digits);
    }

    /// Annotations, each followed by a space.
    fn annotations(&mut self, annotations: &[Annotation]) {
        for a in annotations {
            self.put("@");
            self.put(&a.name.name);
            match &a.body {
                AnnotationBody::Empty => {}
                AnnotationBody::Free(tokens) => {
                    self.put("(");
                    for (i, t) in tokens.iter().enumerate() {
                        if i > 0 {
                            self.put(" ");
                        }
                        match t.kind {
                            AnnotationTokenKind::Str => self.string(&t.text),
                            _ => self.put(&t.text),
                        }
                    }
                    self.put(")");
                }
                AnnotationBody::List(values) => {
                    self.put("[");
                    self.bracketed(|p| p.list(values, |p, e| p.expr(e, Level::Any)));
                    self.put("]");
                }
                AnnotationBody::KeyValue(pairs) => {
                    self.put("[");
                    self.bracketed(|p| p.list(pairs, Self::named_expr));
                    self.put("]");
                }
            }
            self.put(" ");
        }
    }

    fn named_expr(&mut self, e: &NamedExpr) {
        self.put(&e.name.name);
        self.put(" = ");
        self.expr(&e.value, Level::Any);
    }

    fn ty(&mut self, t: &Type) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.type_kind(&t.kind));
    }

    fn type_kind(&mut self, kind: &TypeKind) {
        match kind {
            TypeKind::Void => self.put("void"),
            TypeKind::Bool => self.put("bool"),
            TypeKind::ErrorType => self.put("error"),
            TypeKind::MatchKind => self.put("match_kind"),
            TypeKind::Str => self.put("string"),
            TypeKind::Int => self.put("int"),
            TypeKind::Bit(None) => self.put("bit"),
            TypeKind::Bit(Some(w)) => self.width("bit", w),
            TypeKind::Signed(w) => self.width("int", w),
            TypeKind::Varbit(w) => self.width("varbit", w),
            TypeKind::Name(path) => self.path(path),
            TypeKind::Specialized(path, args) => {
                self.path(path);
                self.type_args(args);
            }
            TypeKind::Array(element, size) => {
                self.ty(element);
                self.array_suffix(size);
            }
            TypeKind::List(element) => {
                self.put("list");
                self.type_args(std::slice::from_ref(element));
            }
            TypeKind::Tuple(elements) => {
                self.put("tuple");
                self.type_args(elements);
            }
            TypeKind::DontCare => self.put("_"),
            TypeKind::Error => self.put("/* error */"),
        }
    }

    fn array_suffix(&mut self, size: &Expr) {
        self.put("[");
        self.bracketed(|p| p.expr(size, Level::Any));
        self.put("]");
    }

    fn width(&mut self, name: &str, width: &Expr) {
        self.put(name);
        self.put("<");
        let outer = std::mem::replace(&mut self.no_gt, true);
        self.expr(width, Level::Any);
        self.no_gt = outer;
        self.put(">");
    }

    fn type_args<T: std::borrow::Borrow<Type>>(&mut self, args: &[T]) {
        self.put("<");
        self.list(args, |p, t| p.ty(t.borrow()));
        self.put(">");
    }
}

// Expressions.
impl Printer {
    fn level(e: &Expr) -> Level {
        match &e.kind {
            ExprKind::Conditional { .. } => Level::Any,
            ExprKind::Binary { op, .. } => precedence(*op).map_or(Level::Any, Level::Binary),
            ExprKind::Unary { .. } | ExprKind::Cast { .. } => Level::Prefix,
            _ => Level::Postfix,
        }
    }

    /// Prints `e`, in parentheses when it binds less tightly than `min`.
    fn expr(&mut self, e: &Expr, min: Level) {
        let has_gt = matches!(&e.kind, ExprKind::Binary { op: BinaryOp::Gt | BinaryOp::Shr, .. });
        let parentheses = Self::level(e) < min || self.no_gt && has_gt;
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            if parentheses {
                self.put("(");
                self.bracketed(|p| p.expr_kind(&e.kind));
                self.put(")");
            } else {
                self.expr_kind(&e.kind);
            }
        });
    }

    fn expr_kind(&mut self, kind: &ExprKind) {
        match kind {
            ExprKind::Int(i) => self.int(i),
            ExprKind::Bool(b) => self.put(if *b { "true" } else { "false" }),
            ExprKind::Str(s) => self.string(s),
            ExprKind::This => self.put("this"),
            ExprKind::Dots => self.put("..."),
            ExprKind::InvalidHeader => self.put("{#}"),
            ExprKind::Default => self.put("default"),
            ExprKind::DontCare => self.put("_"),
            ExprKind::Name(path) => self.path(path),
            ExprKind::Type(t) => self.ty(t),
            ExprKind::Member { base, member } => {
                self.expr(base, Level::Postfix);
                self.put(".");
                self.put(&member.name);
            }
            ExprKind::Index { base, index } => {
                self.expr(base, Level::Postfix);
                self.array_suffix(index);
            }
            ExprKind::Slice { base, hi, lo } => self.slice(base, hi, ":", lo),
            ExprKind::PlusSlice { base, lo, width } => self.slice(base, lo, " +: ", width),
            ExprKind::List(values) => {
                self.put("{");
                self.bracketed(|p| p.list(values, |p, e| p.expr(e, Level::Any)));
                self.put("}");
            }
            ExprKind::Struct { fields, dots } => {
                self.put("{");
                self.bracketed(|p| p.list(fields, Self::named_expr));
                if dots.is_some() {
                    self.put(", ...");
                }
                self.put("}");
            }
            ExprKind::Unary { op, operand } => {
                self.put(op.as_str());
                if matches!(operand.kind, ExprKind::Unary { op: UnaryOp::Plus, .. }) {
                    // `++` is another operator.
                    self.put(" ");
                }
                self.expr(operand, Level::Prefix);
            }
            ExprKind::Binary { op, op_span: _, lhs, rhs } => self.binary(*op, lhs, rhs),
            ExprKind::Conditional { condition, then, otherwise } => {
                // Groups to the right: a conditional may stand last, not first.
                self.expr(condition, Level::Binary(0));
                self.put(" ? ");
                self.bracketed(|p| p.expr(then, Level::Any));
                self.put(" : ");
                self.expr(otherwise, Level::Any);
            }
            ExprKind::Cast { ty, operand } => {
                self.put("(");
                self.bracketed(|p| p.ty(ty));
                self.put(")");
                self.expr(operand, if reads_on(operand) { Level::Closed } else { Level::Prefix });
            }
            ExprKind::Call { callee, type_args, args } => {
                self.expr(callee, Level::Postfix);
                if !type_args.is_empty() {
                    self.type_args(type_args);
                }
                self.args(args);
            }
            ExprKind::Error => self.put("/* error */"),
        }
    }

    fn slice(&mut self, base: &Expr, first: &Expr, between: &str, second: &Expr) {
        self.expr(base, Level::Postfix);
        self.put("[");
        self.bracketed(|p| {
            p.expr(first, Level::Any);
            p.put(between);
            p.expr(second, Level::Any);
        });
        self.put("]");
    }

    fn binary(&mut self, op: BinaryOp, lhs: &Expr, rhs: &Expr) {
        let (left, right) = match precedence(op) {
            // `a < b > (c)` could be read as a call of `a`.
            Some(n) if op == BinaryOp::Gt => (Level::Binary(n + 1), Level::Binary(n + 1)),
            Some(n) => (Level::Binary(n), Level::Binary(n + 1)),
            None => (Level::Any, Level::Any),
        };
        self.expr(lhs, left);
        self.put(" ");
        self.put(op.as_str());
        self.put(" ");
        self.expr(rhs, right);
    }

    fn args(&mut self, args: &[Arg]) {
        self.put("(");
        self.bracketed(|p| {
            p.list(args, |p, a| {
                if let Some(name) = &a.name {
                    p.put(&name.name);
                    p.put(" = ");
                }
                p.expr(&a.value, Level::Any);
            });
        });
        self.put(")");
    }
}

// Declarations.
impl Printer {
    fn decl(&mut self, d: &Decl) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            self.annotations(&d.annotations);
            self.decl_kind(&d.kind);
        });
    }

    fn decl_kind(&mut self, kind: &DeclKind) {
        match kind {
            DeclKind::Const(c) => {
                self.put("const ");
                self.typed(&c.ty, &c.name);
                self.put(" = ");
                self.expr(&c.init, Level::Any);
                self.put(";");
            }
            DeclKind::Variable(v) => {
                self.variable(v);
                self.put(";");
            }
            DeclKind::Instantiation(i) => self.instantiation(i),
            DeclKind::Extern(e) => {
                self.put("extern ");
                self.put(&e.name.name);
                self.type_params(&e.type_params);
                self.put(" ");
                self.braces(&e.methods, Self::method);
            }
            DeclKind::ExternForward(name) => {
                self.put("extern ");
                self.put(&name.name);
                self.put(";");
            }
            DeclKind::ExternFunction(proto) => {
                self.put("extern ");
                self.prototype(proto);
                self.put(";");
            }
            DeclKind::Function(f) => {
                self.prototype(&f.proto);
                self.put(" ");
                self.block(&f.body);
            }
            DeclKind::Action(a) => {
                self.put("action ");
                self.put(&a.name.name);
                self.params(&a.params);
                self.put(" ");
                self.block(&a.body);
            }
            DeclKind::Parser(p) => {
                self.block_type("parser", &p.head);
                self.ctor_params(&p.ctor_params);
                self.put(" {");
                self.indent += 1;
                for d in &p.locals {
                    self.line();
                    self.decl(d);
                }
                for s in &p.states {
                    self.line();
                    self.state(s);
                }
                self.indent -= 1;
                self.line();
                self.put("}");
            }
            DeclKind::Control(c) => {
                self.block_type("control", &c.head);
                self.ctor_params(&c.ctor_params);
                self.put(" {");
                self.indent += 1;
                for d in &c.locals {
                    self.line();
                    self.decl(d);
                }
                self.line();
                self.put("apply ");
                self.block(&c.apply);
                self.indent -= 1;
                self.line();
                self.put("}");
            }
            DeclKind::ParserType(t) => {
                self.block_type("parser", t);
                self.put(";");
            }
            DeclKind::ControlType(t) => {
                self.block_type("control", t);
                self.put(";");
            }
            DeclKind::Package(t) => {
                self.block_type("package", t);
                self.put(";");
            }
            DeclKind::Struct(s) => {
                self.put(match s.kind {
                    StructKind::Header => "header ",
                    StructKind::Struct => "struct ",
                    StructKind::HeaderUnion => "header_union ",
                });
                self.put(&s.name.name);
                self.type_params(&s.type_params);
                self.put(" ");
                self.braces(&s.fields, |p, f| {
                    p.annotations(&f.annotations);
                    p.typed(&f.ty, &f.name);
                    p.put(";");
                });
            }
            DeclKind::Enum(e) => {
                self.put("enum ");
                if let Some(t) = &e.underlying {
                    self.ty(t);
                    self.put(" ");
                }
                self.put(&e.name.name);
                self.put(" ");
                self.braces(&e.members, |p, m| {
                    p.annotations(&m.annotations);
                    p.put(&m.name.name);
                    if let Some(value) = &m.value {
                        p.put(" = ");
                        p.expr(value, Level::Any);
                    }
                    p.put(",");
                });
            }
            DeclKind::Typedef(t) => self.type_decl("typedef ", t),
            DeclKind::Newtype(t) => self.type_decl("type ", t),
            DeclKind::Error(names) => self.members("error {", names),
            DeclKind::MatchKind(names) => self.members("match_kind {", names),
            DeclKind::Table(t) => {
                self.put("table ");
                self.put(&t.name.name);
                self.put(" ");
                self.braces(&t.properties, Self::table_property);
            }
            DeclKind::ValueSet(v) => {
                self.put("value_set<");
                self.ty(&v.ty);
                self.put(">(");
                self.expr(&v.size, Level::Any);
                self.put(") ");
                self.put(&v.name.name);
                self.put(";");
            }
        }
    }

    /// `T name`
    fn typed(&mut self, ty: &Type, name: &Ident) {
        self.ty(ty);
        self.put(" ");
        self.put(&name.name);
    }

    fn variable(&mut self, v: &VariableDecl) {
        self.typed(&v.ty, &v.name);
        if let Some(init) = &v.init {
            self.put(" = ");
            self.expr(init, Level::Any);
        }
    }

    fn instantiation(&mut self, i: &Instantiation) {
        // `T(args) name[n]`: the sizes stand behind the name.
        let (mut ty, mut sizes) = (&i.ty, Vec::new());
        while let TypeKind::Array(element, size) = &ty.kind {
            sizes.push(size);
            ty = element;
        }
        self.ty(ty);
        self.args(&i.args);
        self.put(" ");
        self.put(&i.name.name);
        sizes.iter().rev().for_each(|s| self.array_suffix(s));
        if let Some(decls) = &i.initializer {
            self.put(" = ");
            self.braces(decls, Self::decl);
        }
        self.put(";");
    }

    fn type_decl(&mut self, keyword: &str, t: &TypedefDecl) {
        self.put(keyword);
        match &t.target {
            TypedefTarget::Type(ty) => self.ty(ty),
            TypedefTarget::Decl(d) => self.decl(d),
        }
        self.put(" ");
        self.put(&t.name.name);
        self.put(";");
    }

    fn members(&mut self, head: &str, names: &[Ident]) {
        self.put(head);
        self.put(" ");
        self.list(names, |p, n| p.put(&n.name));
        self.put(" }");
    }

    fn method(&mut self, m: &MethodProto) {
        self.annotations(&m.annotations);
        if m.is_abstract {
            self.put("abstract ");
        }
        if m.is_constructor {
            self.put(&m.proto.name.name);
            self.params(&m.proto.params);
        } else {
            self.prototype(&m.proto);
        }
        self.put(";");
    }

    fn prototype(&mut self, proto: &FunctionProto) {
        self.typed(&proto.return_type, &proto.name);
        self.type_params(&proto.type_params);
        self.params(&proto.params);
    }

    fn type_params(&mut self, names: &[Ident]) {
        if !names.is_empty() {
            self.put("<");
            self.list(names, |p, n| p.put(&n.name));
            self.put(">");
        }
    }

    fn params(&mut self, params: &[Param]) {
        self.put("(");
        self.list(params, |p, param| {
            p.annotations(&param.annotations);
            p.put(match param.direction {
                Direction::None if param.is_rmw => "rmw ",
                Direction::None => "",
                Direction::In => "in ",
                Direction::Out => "out ",
                Direction::InOut => "inout ",
            });
            p.typed(&param.ty, &param.name);
            if let Some(default) = &param.default {
                p.put(" = ");
                p.expr(default, Level::Any);
            }
        });
        self.put(")");
    }

    fn ctor_params(&mut self, params: &Option<Vec<Param>>) {
        if let Some(params) = params {
            self.params(params);
        }
    }

    fn block_type(&mut self, keyword: &str, t: &BlockType) {
        self.put(keyword);
        self.put(" ");
        self.put(&t.name.name);
        self.type_params(&t.type_params);
        self.params(&t.params);
    }

    fn state(&mut self, s: &ParserState) {
        self.annotations(&s.annotations);
        self.put("state ");
        self.put(&s.name.name);
        self.put(" {");
        self.indent += 1;
        for stmt in &s.stmts {
            self.line();
            self.stmt(stmt);
        }
        if let Some(t) = &s.transition {
            self.line();
            self.put("transition ");
            match &t.kind {
                TransitionKind::Direct(name) => {
                    self.put(&name.name);
                    self.put(";");
                }
                TransitionKind::Select { exprs, cases } => {
                    self.put("select(");
                    self.list(exprs, |p, e| p.expr(e, Level::Any));
                    self.put(") ");
                    self.braces(cases, |p, c| {
                        p.keyset(&c.keyset);
                        p.put(": ");
                        p.put(&c.state.name);
                        p.put(";");
                    });
                }
            }
        }
        self.indent -= 1;
        self.line();
        self.put("}");
    }

    fn keyset(&mut self, k: &Keyset) {
        if k.is_tuple {
            self.put("(");
        }
        self.list(&k.elements, |p, e| p.expr(e, Level::Any));
        if k.is_tuple {
            self.put(")");
        }
    }

    fn table_property(&mut self, property: &TableProperty) {
        self.annotations(&property.annotations);
        if property.is_const {
            self.put("const ");
        }
        self.put(&property.name.name);
        self.put(" = ");
        match &property.kind {
            TablePropertyKind::Key(keys) => self.braces(keys, |p, k| {
                p.expr(&k.expr, Level::Any);
                p.put(": ");
                p.put(&k.match_kind.name);
                p.trailing_annotations(&k.annotations);
                p.put(";");
            }),
            TablePropertyKind::Actions(actions) => self.braces(actions, |p, a| {
                p.action_ref(a);
                p.put(";");
            }),
            TablePropertyKind::Entries(entries) => self.braces(entries, |p, e| {
                if e.is_const {
                    p.put("const ");
                }
                if let Some(priority) = &e.priority {
                    p.put("priority = ");
                    let number = matches!(&priority.kind, ExprKind::Int(_));
                    p.put(if number { "" } else { "(" });
                    p.expr(priority, Level::Any);
                    p.put(if number { ": " } else { "): " });
                }
                p.keyset(&e.keyset);
                p.put(": ");
                p.action_ref(&e.action);
                p.trailing_annotations(&e.annotations);
                p.put(";");
            }),
            TablePropertyKind::Other(value) => {
                self.expr(value, Level::Any);
                self.put(";");
            }
        }
    }

    /// Annotations, each after a space.
    fn trailing_annotations(&mut self, annotations: &[Annotation]) {
        if !annotations.is_empty() {
            self.put(" ");
            self.annotations(annotations);
            self.out.pop();
        }
    }

    fn action_ref(&mut self, a: &ActionRef) {
        self.annotations(&a.annotations);
        self.path(&a.path);
        if let Some(args) = &a.args {
            self.args(args);
        }
    }
}

// Statements.
impl Printer {
    fn block(&mut self, b: &Block) {
        self.annotations(&b.annotations);
        self.braces(&b.stmts, Self::stmt);
    }

    fn stmt(&mut self, s: &Stmt) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.stmt_kind(&s.kind));
    }

    fn stmt_kind(&mut self, kind: &StmtKind) {
        match kind {
            StmtKind::Empty => self.put(";"),
            StmtKind::Decl(d) => self.decl(d),
            StmtKind::Assign { .. } | StmtKind::Call(_) => {
                self.simple(kind);
                self.put(";");
            }
            StmtKind::Block(b) => self.block(b),
            StmtKind::If { annotations, condition, then, otherwise } => {
                self.annotations(annotations);
                self.put("if (");
                self.expr(condition, Level::Any);
                self.put(") ");
                // A branch that ends in an `if` of its own would take this `else`.
                let dangling = otherwise.is_some() && ends_in_open_if(then);
                if dangling {
                    self.put("{ ");
                }
                self.stmt(then);
                if dangling {
                    self.put(" }");
                }
                if let Some(s) = otherwise {
                    self.put(" else ");
                    self.stmt(s);
                }
            }
            StmtKind::Return(None) => self.put("return;"),
            StmtKind::Return(Some(e)) => {
                self.put("return ");
                self.expr(e, Level::Any);
                self.put(";");
            }
            StmtKind::Exit => self.put("exit;"),
            StmtKind::Break => self.put("break;"),
            StmtKind::Continue => self.put("continue;"),
            StmtKind::Switch { subject, cases } => {
                self.put("switch (");
                self.expr(subject, Level::Any);
                self.put(") ");
                self.braces(cases, |p, c| {
                    p.expr(&c.label, Level::Any);
                    p.put(":");
                    if let Some(b) = &c.body {
                        p.put(" ");
                        p.block(b);
                    }
                });
            }
            StmtKind::For { annotations, init, condition, update, body } => {
                self.annotations(annotations);
                self.put("for (");
                self.list(init, |p, s| p.simple(&s.kind));
                self.put("; ");
                self.expr(condition, Level::Any);
                self.put("; ");
                self.list(update, |p, s| p.simple(&s.kind));
                self.put(") ");
                self.stmt(body);
            }
            StmtKind::ForIn { annotations, var_annotations, ty, name, collection, body } => {
                self.annotations(annotations);
                self.put("for (");
                self.annotations(var_annotations);
                self.typed(ty, name);
                self.put(" in ");
                self.expr(collection, Level::Any);
                self.put(") ");
                self.stmt(body);
            }
        }
    }

    /// Assignment, call or variable without `;`.
    fn simple(&mut self, kind: &StmtKind) {
        match kind {
            StmtKind::Assign { lhs, op, rhs } => {
                self.expr(lhs, Level::Postfix);
                self.put(" ");
                self.put(op.map_or("", BinaryOp::as_str));
                self.put("= ");
                self.expr(rhs, Level::Any);
            }
            StmtKind::Call(e) => self.expr(e, Level::Any),
            StmtKind::Decl(d) => {
                self.annotations(&d.annotations);
                match &d.kind {
                    DeclKind::Variable(v) => self.variable(v),
                    kind => self.decl_kind(kind),
                }
            }
            kind => self.stmt_kind(kind),
        }
    }
}

/// Returns whether the operand would be parsed as a continuation of `(T)`, with `T` an undeclared name.
fn reads_on(mut e: &Expr) -> bool {
    loop {
        e = match &e.kind {
            ExprKind::Unary { op: UnaryOp::Neg | UnaryOp::Plus, .. } => return true,
            ExprKind::Name(path) => return path.absolute,
            ExprKind::Type(ty) => {
                return matches!(
                    &ty.kind,
                    TypeKind::Name(Path { absolute: true, .. })
                        | TypeKind::Specialized(Path { absolute: true, .. }, _)
                );
            }
            ExprKind::Member { base: e, .. }
            | ExprKind::Index { base: e, .. }
            | ExprKind::Slice { base: e, .. }
            | ExprKind::PlusSlice { base: e, .. }
            | ExprKind::Call { callee: e, .. } => e,
            _ => return false,
        };
    }
}

/// Returns whether an `else` after this statement would belong to an `if` at its end.
fn ends_in_open_if(mut s: &Stmt) -> bool {
    loop {
        s = match &s.kind {
            StmtKind::If { otherwise: None, .. } => return true,
            StmtKind::If { otherwise: Some(s), .. } => s,
            StmtKind::For { body, .. } | StmtKind::ForIn { body, .. } => body,
            _ => return false,
        };
    }
}
