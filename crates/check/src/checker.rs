//! The checker's state and what all its parts share: lookup, messages, declaring names.

use crate::Options;
use crate::codes;
use crate::members::Positions;
use crate::program::*;
use crate::scope::{Binding, Context, FrameKind, Res, Scopes, TypeRes};
use crate::types::{Ty, TyKind, Types};
use crate::value::{STRING_BYTES_MAX, Value};
use diagnostics::{Code, Diagnostic, Diagnostics, SourceMap, Span, suggest};
use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;
use std::rc::Rc;
use syntax::ast;

/// Unknown names for which a suggestion is looked for in one run.
const SUGGESTIONS_MAX: u32 = 100;

pub(crate) struct Checker<'a> {
    pub p: Program,
    pub sources: &'a SourceMap,
    pub diags: Diagnostics,
    pub options: &'a Options,
    pub scopes: Scopes,
    pub ctx: Context,
    /// Inference variables: their binding, if any.
    pub infer: Vec<Option<Ty>>,
    /// Top-level names with the place of their first declaration, for "declared later".
    pub top_level: FxHashMap<SmolStr, Span>,
    /// Errors that are reported only if there are no others.
    pub late: Vec<Diagnostic>,
    /// Actions and functions whose bodies are being checked; they cannot call themselves.
    pub declaring: Vec<(SmolStr, Span)>,
    /// Suggestions looked for so far.
    pub n_suggestions: u32,
    /// Leaves of types whose size was asked for.
    pub leaves: FxHashMap<Ty, u64>,
    /// Bytes of the strings that `++` has made.
    pub n_string_bytes: usize,
    /// The table whose key is being checked, which it cannot mention.
    pub key_of: Option<SmolStr>,
    /// Controls and parsers of one name, told apart by their constructor parameters.
    pub overloads: FxHashMap<SmolStr, Vec<Ty>>,
    pub positions: Positions,
    /// Parameters of actions without a direction.
    pub action_data: FxHashSet<VarId>,
    pub no_annotations: Annotations,
}

impl<'a> Checker<'a> {
    pub fn new(sources: &'a SourceMap, options: &'a Options) -> Checker<'a> {
        Checker {
            p: Program::default(),
            sources,
            diags: Diagnostics::new(),
            options,
            scopes: Scopes::new(),
            ctx: Context::new(),
            infer: Vec::new(),
            top_level: FxHashMap::default(),
            late: Vec::new(),
            declaring: Vec::new(),
            n_suggestions: 0,
            leaves: FxHashMap::default(),
            n_string_bytes: 0,
            key_of: None,
            overloads: FxHashMap::default(),
            positions: Positions::default(),
            action_data: FxHashSet::default(),
            no_annotations: Rc::new(Vec::new()),
        }
    }

    // -- messages ---------------------------------------------------------------------------

    pub fn report(&mut self, d: Diagnostic) {
        self.diags.push(d);
    }

    pub fn error(&mut self, code: Code, span: Span, message: impl Into<String>) {
        self.report(Diagnostic::new(code, span, message));
    }

    pub fn show(&self, ty: Ty) -> String {
        crate::display::ty(&self.p, ty)
    }

    /// A type in backquotes for messages.
    pub fn quote(&self, ty: Ty) -> String {
        format!("`{}`", self.show(ty))
    }

    // -- types ------------------------------------------------------------------------------

    pub fn kind(&self, ty: Ty) -> &TyKind {
        self.p.types.kind(ty)
    }

    pub fn intern(&mut self, kind: TyKind) -> Ty {
        self.p.types.intern(kind)
    }

    pub fn is_error(&self, ty: Ty) -> bool {
        ty == Types::ERROR
    }

    /// The type below all newtypes.
    pub fn strip_newtype(&self, mut ty: Ty) -> Ty {
        while let TyKind::Newtype(id) = self.kind(ty) {
            ty = self.p.newtypes[*id].underlying;
        }
        ty
    }

    /// The underlying type of a serializable enum, other types unchanged.
    pub fn strip_enum(&self, ty: Ty) -> Ty {
        match self.kind(ty) {
            TyKind::Enum(id) => self.p.enums[*id].underlying.unwrap_or(ty),
            _ => ty,
        }
    }

    pub fn is_serializable_enum(&self, ty: Ty) -> bool {
        matches!(self.kind(ty), TyKind::Enum(id) if self.p.enums[*id].underlying.is_some())
    }

    pub fn is_fixed_int(&self, ty: Ty) -> bool {
        matches!(self.kind(ty), TyKind::Bit(_) | TyKind::Signed(_))
    }

    pub fn is_header(&self, ty: Ty) -> bool {
        matches!(self.kind(ty), TyKind::Struct(id, _) if self.p.structs[*id].kind == StructKind::Header)
    }

    pub fn is_header_union(&self, ty: Ty) -> bool {
        matches!(self.kind(ty), TyKind::Struct(id, _) if self.p.structs[*id].kind == StructKind::HeaderUnion)
    }

    /// Fields of a struct-like type with type arguments put in. `None` for other types.
    pub fn fields(&mut self, ty: Ty) -> Option<Vec<(SmolStr, Ty)>> {
        let TyKind::Struct(id, args) = self.kind(ty).clone() else { return None };
        let fields: Vec<(SmolStr, Ty)> =
            self.p.structs[id].fields.iter().map(|f| (f.name.clone(), f.ty)).collect();
        if args.is_empty() {
            return Some(fields);
        }
        let params = self.p.structs[id].type_params.clone();
        let map = crate::subst::Subst::new(&params, &args);
        Some(fields.into_iter().map(|(n, t)| (n, self.subst(t, &map))).collect())
    }

    /// Type and position of one field.
    pub fn field(&mut self, ty: Ty, name: &str) -> Option<(u32, Ty)> {
        let TyKind::Struct(id, args) = self.kind(ty).clone() else { return None };
        let i = *self.positions.fields.get(&(id, SmolStr::new(name)))?;
        let field_ty = self.p.structs[id].fields.get(i as usize)?.ty;
        if args.is_empty() {
            return Some((i, field_ty));
        }
        let params = self.p.structs[id].type_params.clone();
        let map = crate::subst::Subst::new(&params, &args);
        Some((i, self.subst(field_ty, &map)))
    }

    // -- names ------------------------------------------------------------------------------

    /// Declares a name in the innermost frame; reports duplicates and shadowing.
    pub fn declare(&mut self, name: &ast::Ident, res: Res) {
        // The parser has refused these.
        if matches!(name.name.as_str(), "" | "_") {
            return;
        }
        if let Some(existing) = self.scopes.current().names.get(&name.name) {
            if matches!(existing.res, Res::Error) {
                // Reported already, as unknown or as declared wrongly.
                let binding = Binding { res, span: name.span, used: true };
                self.scopes.current().names.insert(name.name.clone(), binding);
                return;
            }
            if matches!(existing.res, Res::Type(TypeRes::ExternForward))
                && matches!(res, Res::Type(TypeRes::Extern(_) | TypeRes::ExternForward))
            {
                let binding = Binding { res, span: name.span, used: true };
                self.scopes.current().names.insert(name.name.clone(), binding);
                return;
            }
            let earlier = existing.span;
            self.report_duplicate(&name.name, name.span, earlier);
            return;
        }
        self.check_shadowing(name);
        let binding = Binding { res, span: name.span, used: false };
        self.scopes.current().names.insert(name.name.clone(), binding);
    }

    pub fn report_duplicate(&mut self, name: &str, span: Span, earlier: Span) {
        self.report(
            Diagnostic::new(
                &codes::DUPLICATE_DECLARATION,
                span,
                format!("`{name}` is declared more than once"),
            )
            .label("declared again here")
            .also(earlier, "first declared here")
            .help("rename or remove one of the two"),
        );
    }

    /// Reports a declaration in a block that hides a parameter. (That other names are hidden is a warning: see
    /// `warnings/tree.rs`.)
    fn check_shadowing(&mut self, name: &ast::Ident) {
        let here = self.scopes.current().kind;
        if here == FrameKind::Program {
            return;
        }
        let Some((outer, kind)) = self.scopes.peek(&name.name) else { return };
        let earlier = outer.span;
        let is_param = kind == FrameKind::Params && matches!(outer.res, Res::Var(_));
        // Inside a block the parameter would still be in use around it; the reference compiler refuses that.
        if here == FrameKind::Block && is_param {
            self.report(
                Diagnostic::new(
                    &codes::DUPLICATE_DECLARATION,
                    name.span,
                    format!("`{}` hides a parameter of the same name", name.name),
                )
                .label("declared here")
                .also(earlier, "the parameter")
                .help("rename one of the two"),
            );
        }
    }

    /// Finds a name; reports it when it is not there.
    pub fn lookup(&mut self, path: &ast::Path) -> Option<Binding> {
        if let Some(b) = self.scopes.lookup(&path.name.name, path.absolute) {
            return Some(b.clone());
        }
        self.report_unknown(path);
        None
    }

    /// The include file that declares a name, when the caller knows.
    pub fn include_of(&self, name: &str) -> Option<&'static str> {
        self.options.include_of.and_then(|f| f(name))
    }

    /// True if a suggestion may be searched for. The number of searches is limited, for each walks all candidates.
    pub fn may_suggest(&mut self) -> bool {
        self.n_suggestions += 1;
        self.n_suggestions <= SUGGESTIONS_MAX
    }

    /// Returns the candidates for a suggestion; none once the limit on searches is reached.
    pub fn names_to_suggest(&mut self, names: impl FnOnce(&Program) -> Vec<String>) -> Vec<String> {
        if self.may_suggest() { names(&self.p) } else { Vec::new() }
    }

    fn report_unknown(&mut self, path: &ast::Path) {
        let name = &path.name;
        if name.name.is_empty() {
            return;
        }
        if let Some((_, decl)) = self.declaring.iter().find(|(n, _)| *n == name.name) {
            let decl = *decl;
            self.report(
                Diagnostic::new(
                    &codes::SELF_REFERENCE,
                    name.span,
                    format!("`{}` cannot call itself", name.name),
                )
                .label("inside its own body")
                .also(decl, "declared here")
                .note("P4 has no recursion"),
            );
            return;
        }
        if let Some(&later) = self.top_level.get(&name.name) {
            self.report(
                Diagnostic::new(
                    &codes::USED_BEFORE_DECLARATION,
                    name.span,
                    format!("`{}` is used before its declaration", name.name),
                )
                .label("not declared yet")
                .also(later, "declared here")
                .note("P4 names can be used only after their declaration")
                .help("move the declaration up"),
            );
            return;
        }
        let mut d =
            Diagnostic::new(&codes::UNKNOWN_NAME, name.span, format!("`{}` is not declared", name.name))
                .label("not found in this scope");
        let suggestion = if self.may_suggest() {
            suggest::closest(&name.name, self.scopes.names().map(|(n, _)| n.as_str())).map(str::to_string)
        } else {
            None
        };
        if let Some(s) = suggestion {
            d = d.fix(format!("did you mean `{s}`?"), name.span, s);
        } else if let Some(file) = self.include_of(&name.name) {
            d = d
                .note(format!("`{}` is declared in {file}", name.name))
                .help(format!("add `#include <{file}>`"));
        }
        self.report(d);
        // One message per name is enough in a scope.
        let binding = Binding { res: Res::Error, span: name.span, used: true };
        let frame = self.scopes.frames.len() - 1;
        self.scopes.frames[frame].names.insert(name.name.clone(), binding);
    }

    // -- annotations ------------------------------------------------------------------------

    pub fn annotations(&mut self, list: &[ast::Annotation]) -> Annotations {
        if list.is_empty() {
            return self.no_annotations.clone();
        }
        let mut out: Vec<Annotation> = Vec::with_capacity(list.len());
        let is_structured = |a: &ast::Annotation| {
            matches!(a.body, ast::AnnotationBody::List(_) | ast::AnnotationBody::KeyValue(_))
        };
        let mut first: FxHashMap<&str, &ast::Annotation> = FxHashMap::default();
        for a in list {
            let other = *first.entry(&a.name.name).or_insert(a);
            if other.span != a.span && (is_structured(a) || is_structured(other)) {
                self.report(
                    Diagnostic::new(
                        &codes::DUPLICATE_ANNOTATION,
                        a.span,
                        format!("annotation `@{}` is given twice", a.name.name),
                    )
                    .label("given again here")
                    .also(other.span, "first given here")
                    .note("a structured annotation can be given only once to a declaration (P4-16, \"Structured annotations\")"),
                );
                continue;
            }
            let body = match &a.body {
                ast::AnnotationBody::Empty => AnnotationBody::Empty,
                ast::AnnotationBody::Free(tokens) => match self.joined_string(&a.name.name, tokens) {
                    Some(joined) => AnnotationBody::Free(Rc::new(vec![joined])),
                    None => AnnotationBody::Free(Rc::new(tokens.clone())),
                },
                ast::AnnotationBody::List(exprs) => {
                    AnnotationBody::List(exprs.iter().filter_map(|e| self.annotation_value(e)).collect())
                }
                ast::AnnotationBody::KeyValue(pairs) => {
                    let mut values: Vec<(SmolStr, Value)> = Vec::new();
                    let mut seen: FxHashSet<&str> = FxHashSet::default();
                    for pair in pairs {
                        if !seen.insert(&pair.name.name) {
                            self.error(
                                &codes::DUPLICATE_ANNOTATION,
                                pair.name.span,
                                format!("key `{}` is given twice", pair.name.name),
                            );
                            continue;
                        }
                        if let Some(v) = self.annotation_value(&pair.value) {
                            values.push((pair.name.name.clone(), v));
                        }
                    }
                    AnnotationBody::KeyValue(values)
                }
            };
            self.check_known_annotation(a);
            out.push(Annotation { name: a.name.name.clone(), body, span: a.span });
        }
        Rc::new(out)
    }

    /// `@name("a" ++ B)`: strings and string constants joined.
    fn joined_string(&mut self, name: &str, tokens: &[ast::AnnotationToken]) -> Option<ast::AnnotationToken> {
        use ast::AnnotationTokenKind as K;
        if !matches!(name, "name" | "deprecated" | "noWarn")
            || tokens.len() < 2 && tokens.iter().all(|t| t.kind == K::Str)
        {
            return None;
        }
        let mut text = String::new();
        for (i, t) in tokens.iter().enumerate() {
            match (&t.kind, i % 2) {
                // Beyond the limit only the form matters.
                (K::Str | K::Word, 0) if i > 0 && text.len() > STRING_BYTES_MAX => {}
                (K::Str, 0) => text.push_str(&t.text),
                (K::Word, 0) => {
                    let binding = self.scopes.lookup(&t.text, false)?;
                    let Res::Const(id) = binding.res else { return None };
                    match self.p.constants[id].init.value.as_deref() {
                        Some(Value::Str(s)) => text.push_str(s),
                        _ => return None,
                    }
                }
                (K::Punct, 1) if t.text == "++" => {}
                _ => return None,
            }
        }
        let first = tokens.first()?;
        let span = first.span.to(tokens.last()?.span);
        let text = match tokens.len() == 1 || self.string_fits(text.len(), span) {
            true => text.into(),
            // The error is reported; some text spares another about the missing string.
            false => first.text.clone(),
        };
        (tokens.len() % 2 == 1).then_some(ast::AnnotationToken { text, kind: K::Str, span })
    }

    fn annotation_value(&mut self, e: &ast::Expr) -> Option<Value> {
        let typed = self.expr(e);
        if self.is_error(typed.ty) {
            return None;
        }
        let fits = matches!(self.kind(typed.ty), TyKind::Int | TyKind::Str | TyKind::Bool);
        match (&typed.value, fits) {
            (Some(v), true) => Some((**v).clone()),
            (_, false) => {
                let ty = self.quote(typed.ty);
                self.report(
                    Diagnostic::new(
                        &codes::ANNOTATION,
                        typed.span,
                        format!("a structured annotation cannot hold a value of type {ty}"),
                    )
                    .label("must be an int, a string or a bool"),
                );
                None
            }
            (None, true) => {
                self.error(
                    &codes::ANNOTATION,
                    typed.span,
                    "a value of a structured annotation must be known at compile time",
                );
                None
            }
        }
    }

    /// Arguments of the annotations that the language itself defines.
    fn check_known_annotation(&mut self, a: &ast::Annotation) {
        use ast::AnnotationTokenKind as K;
        let wants: &str = match a.name.name.as_str() {
            "name" | "deprecated" | "noWarn" => "a string",
            "hidden" | "optional" | "tableonly" | "defaultonly" | "groupaction" | "pure"
            | "noSideEffects" => "nothing",
            "priority" | "id" => "an integer",
            "pkginfo" => "pairs of a name and a value",
            _ => return,
        };
        let ok = match (&a.body, wants) {
            (ast::AnnotationBody::Empty, "nothing") => true,
            (ast::AnnotationBody::Free(t), "nothing") => t.is_empty(),
            (ast::AnnotationBody::Free(t), "a string") => {
                matches!(t.as_slice(), [t] if t.kind == K::Str)
                    || self.joined_string(&a.name.name, t).is_some()
                    || a.name.name == "deprecated" && !t.is_empty() && t.iter().all(|t| t.kind == K::Str)
            }
            (ast::AnnotationBody::Free(t), "pairs of a name and a value") => !t.is_empty(),
            (ast::AnnotationBody::Free(t), "an integer") => {
                matches!(t.as_slice(), [t] if matches!(t.kind, K::Int(_)))
                    || matches!(t.as_slice(), [m, t] if m.text == "-" && matches!(t.kind, K::Int(_)))
                    || t.len() > 1
            }
            (ast::AnnotationBody::List(_) | ast::AnnotationBody::KeyValue(_), _) => true,
            (ast::AnnotationBody::Empty | ast::AnnotationBody::Free(_), _) => false,
        };
        if !ok {
            self.report(
                Diagnostic::new(
                    &codes::ANNOTATION,
                    a.span,
                    format!("annotation `@{}` takes {wants}", a.name.name),
                )
                .label(format!("expected {wants}"))
                .help(match wants {
                    "a string" => format!("write `@{}(\"...\")`", a.name.name),
                    "an integer" => format!("write `@{}(1)`", a.name.name),
                    "pairs of a name and a value" => format!("write `@{}(name = \"...\")`", a.name.name),
                    _ => format!("write `@{}`", a.name.name),
                }),
            );
        }
    }
}
