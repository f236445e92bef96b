//! Tables: keys, action lists, default actions, entries and other properties.

use crate::call::{BoundArgs, CallKind};
use crate::checker::Checker;
use crate::codes;
use crate::expr::list_names;
use crate::program::*;
use crate::scope::{Place, Res};
use crate::subst::Subst;
use crate::types::{TyKind, Types};
use crate::value::Value;
use diagnostics::{Diagnostic, Span, suggest};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use syntax::ast;

impl Checker<'_> {
    pub fn table_decl(&mut self, t: &ast::TableDecl, annotations: Annotations) -> Option<TableId> {
        let id = self.p.tables.push(TableDef {
            name: t.name.name.clone(),
            span: t.name.span,
            annotations,
            key: None,
            actions: Vec::new(),
            default_action: None,
            entries: None,
            size: None,
            properties: Vec::new(),
        });
        let saved = self.ctx.clone();
        self.ctx.place = Place::ControlApply;
        self.ctx.table = Some(t.name.name.clone());
        // Visible inside only to be refused with a better message.
        self.declare(&t.name, Res::Table(id));
        let mut seen: FxHashMap<&str, Span> = FxHashMap::default();
        let mut has_actions = false;
        for p in &t.properties {
            if let Some(&earlier) = seen.get(p.name.name.as_str()) {
                self.report(
                    Diagnostic::new(
                        &codes::TABLE_PROPERTY,
                        p.name.span,
                        format!("table property `{}` is given twice", p.name.name),
                    )
                    .label("given again here")
                    .also(earlier, "first given here"),
                );
                continue;
            }
            seen.insert(&p.name.name, p.name.span);
            let annotations = self.annotations(&p.annotations);
            match &p.kind {
                ast::TablePropertyKind::Key(keys) => {
                    let keys = keys.iter().filter_map(|k| self.key(k)).collect();
                    self.p.tables[id].key = Some(keys);
                }
                ast::TablePropertyKind::Actions(list) => {
                    has_actions = true;
                    self.action_list(id, list);
                }
                ast::TablePropertyKind::Entries(entries) => self.entries(id, t, p, entries),
                ast::TablePropertyKind::Other(value) => self.property(id, t, p, value, annotations),
            }
        }
        if !has_actions {
            self.report(
                Diagnostic::new(
                    &codes::TABLE_PROPERTY,
                    t.name.span,
                    format!("table `{}` has no list of actions", t.name.name),
                )
                .label("lacks `actions = { ... }`")
                .help("add `actions = { NoAction; }`"),
            );
        } else if !seen.contains_key("default_action") {
            self.implicit_default(id, t);
        }
        self.ctx = saved;
        Some(id)
    }

    // -- key --------------------------------------------------------------------------------------

    fn key(&mut self, k: &ast::KeyElement) -> Option<KeyElement> {
        let annotations = self.annotations(&k.annotations);
        // Keys are evaluated when the table is applied, so a key may call everything that a statement may call.
        let table = self.ctx.table.take();
        let own_name = table.clone();
        self.key_of = own_name;
        let expr = self.expr(&k.expr);
        self.key_of = None;
        self.ctx.table = table;
        let known = self.p.match_kinds.position(&k.match_kind.name).is_some();
        if !known {
            let names = self.names_to_suggest(|p| p.match_kinds.iter().map(|m| m.name.to_string()).collect());
            let mut d = Diagnostic::new(
                &codes::MATCH_KIND,
                k.match_kind.span,
                format!("there is no match kind `{}`", k.match_kind.name),
            )
            .label("not declared");
            d = match suggest::closest(&k.match_kind.name, names.iter().map(String::as_str)) {
                Some(s) => d.fix(format!("did you mean `{s}`?"), k.match_kind.span, s),
                None if self.include_of(&k.match_kind.name).is_some() => {
                    let file = self.include_of(&k.match_kind.name).unwrap_or_default();
                    d.help(format!("add `#include <{file}>`"))
                }
                None if self.p.match_kinds.is_empty() => {
                    d.help("declare match kinds with `match_kind { ... }`, or include an architecture")
                }
                None if names.is_empty() => d,
                None => d.note(format!("declared are {}", list_names(&names))),
            };
            self.report(d);
        }
        if self.is_error(expr.ty) {
            return None;
        }
        let plain = self.strip_newtype(expr.ty);
        let ok = matches!(
            self.kind(plain),
            TyKind::Bit(_) | TyKind::Signed(_) | TyKind::Bool | TyKind::Enum(_) | TyKind::ErrorCode
        );
        if !ok {
            let shown = self.quote(expr.ty);
            let mut d = Diagnostic::new(
                &codes::KEY_TYPE,
                expr.span,
                format!("a table key cannot be of type {shown}"),
            )
            .label("expected an integer, a bool, an enum or an error");
            d = match self.kind(plain) {
                TyKind::Int => d.help("give the literal a width, as in `8w5`"),
                TyKind::Struct(..) => d.help("list the fields as separate keys"),
                _ => d,
            };
            self.report(d);
            return None;
        }
        // Prefixes and ranges need an order of the values.
        if matches!(k.match_kind.name.as_str(), "lpm" | "range")
            && matches!(self.kind(plain), TyKind::Bool | TyKind::ErrorCode)
        {
            let shown = self.quote(expr.ty);
            self.report(
                Diagnostic::new(
                    &codes::MATCH_KIND,
                    k.match_kind.span,
                    format!("match kind `{}` needs an integer key, not {shown}", k.match_kind.name),
                )
                .label("not for this key")
                .also(expr.span, format!("of type {shown}"))
                .help("use `exact` or `ternary`"),
            );
            return None;
        }
        if annotation(&annotations, "name").is_none() && !has_key_name(&k.expr) {
            let text = self.sources.text(k.expr.span).to_string();
            self.report(
                Diagnostic::new(&codes::KEY_NAME, expr.span, "this key has no name for the control plane")
                    .label("neither a field nor made of fields by index, slice or isValid()")
                    .help(format!("give it one: `{text} : {} @name(\"...\");`", k.match_kind.name)),
            );
            return None;
        }
        let name = crate::key_names::key_name(&self.p, self.sources, &expr, &annotations);
        Some(KeyElement { name, expr, match_kind: k.match_kind.name.clone(), annotations, span: k.span })
    }

    // -- actions ----------------------------------------------------------------------------------

    fn action_ref(&mut self, a: &ast::ActionRef) -> Option<ActionId> {
        let binding = self.lookup(&a.path)?;
        match binding.res {
            Res::Action(id) => Some(id),
            Res::Error => None,
            _ => {
                self.report(
                    Diagnostic::new(
                        &codes::ACTION_NOT_LISTED,
                        a.path.span(),
                        format!("`{}` is not an action", a.path.name.name),
                    )
                    .label("an action is expected here")
                    .also(binding.span, "declared here as something else"),
                );
                None
            }
        }
    }

    fn action_list(&mut self, id: TableId, list: &[ast::ActionRef]) {
        let mut seen: FxHashMap<SmolStr, Span> = FxHashMap::default();
        for a in list {
            let annotations = self.annotations(&a.annotations);
            let Some(action) = self.action_ref(a) else { continue };
            let name = self.p.actions[action].name.clone();
            if let Some(&earlier) = seen.get(&name) {
                self.report_duplicate(&name, a.span, earlier);
                continue;
            }
            seen.insert(name.clone(), a.span);
            let args = a.args.clone().unwrap_or_default();
            let (params, decl) = (self.p.actions[action].params.clone(), self.p.actions[action].span);
            let bound = self.typed_args(&args).and_then(|typed| {
                self.bind_args(&name, &params, &Subst::default(), typed, CallKind::ActionList, decl, a.span)
            });
            // An element with a fault stays in the list, so that its uses are not faults as well.
            let args = match bound {
                Some(bound) => {
                    self.check_bound_args(&bound);
                    // Defaults of action data do not apply here: the control plane gives them.
                    let given = bound.args.into_iter().zip(&params);
                    given.map(|(a, p)| a.filter(|_| self.p.direction(*p) != Direction::None)).collect()
                }
                None => params.iter().map(|_| None).collect(),
            };
            let position = self.p.tables[id].actions.len() as u32;
            self.positions.listed_actions.entry((id, action)).or_insert(position);
            self.p.tables[id].actions.push(ActionListElement { action, args, annotations, span: a.span });
        }
    }

    /// Arguments bound in a list are evaluated when the action runs: nothing that needs a statement.
    fn check_bound_args(&mut self, bound: &BoundArgs) {
        for a in bound.args.iter().flatten() {
            if let Some(span) = find_apply(a) {
                self.report(
                    Diagnostic::new(
                        &codes::CALL_NOT_ALLOWED,
                        span,
                        "a table cannot be applied in the argument of an action",
                    )
                    .label("application"),
                );
            }
        }
    }

    /// Finds the action in the table's list and binds the remaining arguments.
    fn action_instance(
        &mut self,
        id: TableId,
        a: &ast::ActionRef,
        what: &str,
    ) -> Option<(u32, Vec<Option<Expr>>)> {
        let action = self.action_ref(a)?;
        let name = self.p.actions[action].name.clone();
        let (params, decl) = (self.p.actions[action].params.clone(), self.p.actions[action].span);
        let Some(&index) = self.positions.listed_actions.get(&(id, action)) else {
            let may_look = self.may_suggest();
            let elements = self.p.tables[id].actions.iter().filter(|_| may_look);
            let same_name = elements.clone().find(|e| self.p.actions[e.action].name == name).map(|e| e.span);
            let names: Vec<String> = elements.map(|e| self.p.actions[e.action].name.to_string()).collect();
            let mut d = Diagnostic::new(
                &codes::ACTION_NOT_LISTED,
                a.span,
                format!("{what} `{name}` is not in the table's list of actions"),
            )
            .label("not in the list");
            if let Some(span) = same_name {
                d = d.also(span, "this is a different action of the same name");
            } else if self.p.tables[id].actions.is_empty() {
                d = d.help("give `actions` before it");
            } else if may_look {
                d = d
                    .note(format!("the list has {}", list_names(&names)))
                    .help(format!("add `{name};` to `actions`"));
            }
            self.report(d);
            return None;
        };
        let args = a.args.clone().unwrap_or_default();
        let typed = self.typed_args(&args)?;
        // Bound arguments must be repeated as they stand in the list.
        let bound =
            self.bind_args(&name, &params, &Subst::default(), typed, CallKind::ActionInstance, decl, a.span)?;
        let listed = self.p.tables[id].actions[index as usize].args.clone();
        let list_span = self.p.tables[id].actions[index as usize].span;
        for ((given, listed), param) in bound.args.iter().zip(&listed).zip(&params) {
            if self.p.direction(*param) == Direction::None {
                continue;
            }
            if let (Some(g), Some(l)) = (given, listed)
                && !same_expr(g, l)
            {
                let text = self.sources.text(l.span).to_string();
                self.report(
                    Diagnostic::new(
                        &codes::ACTION_ARGUMENTS,
                        g.span,
                        format!("this argument of `{name}` differs from the one in the list of actions"),
                    )
                    .label("differs")
                    .also(list_span, "bound here")
                    .help(format!("repeat it as it stands there: `{text}`")),
                );
                return None;
            }
        }
        Some((index, bound.args))
    }

    fn property(
        &mut self,
        id: TableId,
        t: &ast::TableDecl,
        p: &ast::TableProperty,
        value: &ast::Expr,
        annotations: Annotations,
    ) {
        match p.name.name.as_str() {
            "default_action" => self.default_action(id, p, value, annotations),
            "size" => {
                let e = self.expr(value);
                let plain = self.strip_enum(e.ty);
                if self.is_error(e.ty) {
                    return;
                }
                if !(e.is_compile_time && (self.is_fixed_int(plain) || plain == Types::INT)) {
                    self.report(
                        Diagnostic::new(
                            &codes::TABLE_PROPERTY,
                            e.span,
                            "the size of a table must be an integer known at compile time",
                        )
                        .label("not a constant integer"),
                    );
                    return;
                }
                if e.int_value().is_some_and(|v| v.sign() == num_bigint::Sign::Minus) {
                    let d = Diagnostic::new(
                        &codes::TABLE_PROPERTY,
                        e.span,
                        "the size of a table cannot be negative",
                    )
                    .label("negative");
                    self.report(d);
                    return;
                }
                self.p.tables[id].size = Some(e);
            }
            "largest_priority_wins" | "priority_delta" => {
                let e = self.expr(value);
                let is_flag = p.name.name == "largest_priority_wins";
                let fits = match e.value.as_deref() {
                    Some(Value::Bool(_)) => is_flag,
                    Some(Value::Int(_)) => !is_flag,
                    _ => false,
                };
                if self.is_error(e.ty) {
                    return;
                }
                if !fits {
                    self.report(
                        Diagnostic::new(
                            &codes::TABLE_PROPERTY,
                            e.span,
                            format!(
                                "`{}` must be {}",
                                p.name.name,
                                if is_flag { "true or false" } else { "a positive integer constant" }
                            ),
                        )
                        .label(if is_flag {
                            "expected a bool constant"
                        } else {
                            "expected an integer constant"
                        }),
                    );
                    return;
                }
                if !is_flag && e.int_value().is_some_and(|v| v.sign() != num_bigint::Sign::Plus) {
                    self.error(&codes::TABLE_PROPERTY, e.span, "`priority_delta` must be positive");
                    return;
                }
                self.push_property(id, p, e, annotations);
            }
            _ => {
                let e = self.expr_or_name(value);
                if self.is_error(e.ty) {
                    return;
                }
                if matches!(self.kind(e.ty), TyKind::TypeName(_)) {
                    self.error(&codes::NOT_A_VALUE, e.span, "a type cannot be the value of a table property");
                    return;
                }
                let _ = t;
                self.push_property(id, p, e, annotations);
            }
        }
    }

    fn push_property(&mut self, id: TableId, p: &ast::TableProperty, value: Expr, annotations: Annotations) {
        self.p.tables[id].properties.push(TableProperty {
            name: p.name.name.clone(),
            is_const: p.is_const,
            value,
            annotations,
            span: p.span,
        });
    }

    fn default_action(
        &mut self,
        id: TableId,
        p: &ast::TableProperty,
        value: &ast::Expr,
        annotations: Annotations,
    ) {
        let (path, args) = match &value.kind {
            ast::ExprKind::Name(path) => (path.clone(), None),
            ast::ExprKind::Call { callee, args, .. } => match &callee.kind {
                ast::ExprKind::Name(path) => (path.clone(), Some(args.clone())),
                _ => return self.not_an_action(value),
            },
            _ => return self.not_an_action(value),
        };
        let action = ast::ActionRef { annotations: Vec::new(), path, args, span: value.span };
        let Some((element, args)) = self.action_instance(id, &action, "default action") else { return };
        let listed = &self.p.tables[id].actions[element as usize];
        if let Some(a) = first_annotation(&listed.annotations, &["tableonly", "groupaction"]) {
            let (aspan, lspan) = (a.span, listed.span);
            self.report(
                Diagnostic::new(
                    &codes::ACTION_ARGUMENTS,
                    value.span,
                    format!("an action marked @{} cannot be the default action", a.name),
                )
                .label("used as default action")
                .also(lspan, "in the list of actions")
                .also(aspan, "marked here"),
            );
            return;
        }
        self.p.tables[id].default_action = Some(DefaultAction {
            element,
            args,
            is_const: p.is_const,
            annotations,
            span: p.span,
            is_implicit: false,
        });
    }

    fn not_an_action(&mut self, value: &ast::Expr) {
        self.report(
            Diagnostic::new(
                &codes::TABLE_PROPERTY,
                value.span,
                "the default action must be an action of the table's list",
            )
            .label("not an action"),
        );
    }

    /// Without the property the default action is `NoAction`, which joins the list.
    fn implicit_default(&mut self, id: TableId, t: &ast::TableDecl) {
        let found = match self.scopes.lookup("NoAction", true) {
            Some(b) => match b.res {
                Res::Action(a) => Some((a, b.span)),
                _ => {
                    let span = b.span;
                    self.late_error(
                        Diagnostic::new(
                            &codes::NO_ACTION_MISSING,
                            t.name.span,
                            format!("table `{}` needs the action `NoAction`", t.name.name),
                        )
                        .label("has no default action")
                        .also(span, "`NoAction` is declared here as something else")
                        .help("add `#include <core.p4>`, or a `default_action`"),
                    );
                    None
                }
            },
            None => {
                self.late_error(
                    Diagnostic::new(
                        &codes::NO_ACTION_MISSING,
                        t.name.span,
                        format!("table `{}` needs the action `NoAction`, which is not declared", t.name.name),
                    )
                    .label("has no default action")
                    .note("a table without `default_action` does `NoAction` on a miss (P4-16, \"Default action\")")
                    .help("add `#include <core.p4>`, or a `default_action`"),
                );
                None
            }
        };
        let Some((action, span)) = found else { return };
        if !self.p.actions[action].params.is_empty() {
            self.late_error(
                Diagnostic::new(
                    &codes::NO_ACTION_MISSING,
                    t.name.span,
                    format!("table `{}` needs a `NoAction` without parameters", t.name.name),
                )
                .label("has no default action")
                .also(span, "this `NoAction` has parameters"),
            );
            return;
        }
        let element = match self.positions.listed_actions.get(&(id, action)) {
            Some(i) => *i,
            None => {
                // Not by the control plane for entries: only as default.
                let annotations = std::rc::Rc::new(vec![Annotation {
                    name: "defaultonly".into(),
                    body: AnnotationBody::Empty,
                    span: Span::NONE,
                }]);
                self.p.tables[id].actions.push(ActionListElement {
                    action,
                    args: Vec::new(),
                    annotations,
                    span: Span::NONE,
                });
                let position = self.p.tables[id].actions.len() as u32 - 1;
                self.positions.listed_actions.insert((id, action), position);
                position
            }
        };
        self.p.tables[id].default_action = Some(DefaultAction {
            element,
            args: Vec::new(),
            is_const: false,
            annotations: self.no_annotations.clone(),
            span: t.name.span,
            is_implicit: true,
        });
    }

    // -- entries ----------------------------------------------------------------------------------

    fn entries(&mut self, id: TableId, t: &ast::TableDecl, p: &ast::TableProperty, entries: &[ast::Entry]) {
        let key_types: Option<Vec<(crate::types::Ty, SmolStr)>> = self.p.tables[id]
            .key
            .as_ref()
            .map(|k| k.iter().map(|k| (k.expr.ty, k.match_kind.clone())).collect());
        let n_keys_written = t.properties.iter().find_map(|q| match &q.kind {
            ast::TablePropertyKind::Key(k) => Some((k.len(), q.span)),
            _ => None,
        });
        let Some(key_types) = key_types else {
            if let Some((_, span)) = n_keys_written {
                self.report(
                    Diagnostic::new(&codes::TABLE_PROPERTY, p.name.span, "`entries` must come after `key`")
                        .label("too early")
                        .also(span, "the key is here"),
                );
            } else if !entries.is_empty() {
                self.report(
                    Diagnostic::new(
                        &codes::TABLE_ENTRY,
                        p.name.span,
                        format!("table `{}` has no key and so can have no entries", t.name.name),
                    )
                    .label("entries without a key"),
                );
            }
            return;
        };
        if n_keys_written.is_some_and(|(n, _)| n != key_types.len()) {
            return;
        }
        let mut list = Vec::with_capacity(entries.len());
        for e in entries {
            if let Some(e) = self.entry(id, p, e, &key_types) {
                list.push(e);
            }
        }
        self.check_priorities(id, p, &list, &key_types);
        self.check_duplicate_entries(&list, &key_types);
        self.p.tables[id].entries = Some(EntryList { is_const: p.is_const, entries: list, span: p.span });
    }

    fn entry(
        &mut self,
        id: TableId,
        p: &ast::TableProperty,
        e: &ast::Entry,
        key_types: &[(crate::types::Ty, SmolStr)],
    ) -> Option<Entry> {
        let annotations = self.annotations(&e.annotations);
        let mut elements: Vec<Expr> = e.keyset.elements.iter().map(|k| self.expr(k)).collect();
        let failed = elements.iter().any(|k| self.is_error(k.ty));
        // `{a, b}` as a single element stands for the whole key.
        if let [one] = elements.as_slice()
            && let ExprKind::List(items) = &one.kind
            && (key_types.len() != 1 || (items.len() == 1 && !self.options.strict))
        {
            elements = items.clone();
        }
        if elements.len() == 1 && key_types.len() > 1 && elements[0].ty == Types::DONT_CARE {
            let one = elements[0].clone();
            elements = key_types.iter().map(|_| one.clone()).collect();
        }
        let mut ok = !failed;
        let key_span = match self.p.tables[id].key.as_deref() {
            Some([first, .., last]) => first.span.to(last.span),
            Some([one]) => one.span,
            _ => Span::NONE,
        };
        if !failed && elements.len() != key_types.len() {
            self.report(
                Diagnostic::new(
                    &codes::TABLE_ENTRY,
                    e.keyset.span,
                    format!(
                        "the table has {} key{}, the entry gives {}",
                        key_types.len(),
                        crate::unify::plural(key_types.len()),
                        elements.len()
                    ),
                )
                .label("wrong number of keys")
                .also(
                    key_span,
                    format!("{} here", if key_types.len() == 1 { "one key" } else { "the keys" }),
                ),
            );
            ok = false;
        }
        let mut keyset = Vec::with_capacity(elements.len());
        if ok {
            for (k, (ty, kind)) in elements.into_iter().zip(key_types) {
                if !k.is_compile_time {
                    self.report(
                        Diagnostic::new(
                            &codes::TABLE_ENTRY,
                            k.span,
                            "a key of an entry must be known at compile time",
                        )
                        .label("not a constant"),
                    );
                    ok = false;
                    continue;
                }
                let k = self.key_element(k, *ty, &codes::TABLE_ENTRY);
                ok &= !self.is_error(k.ty);
                if ok {
                    ok &= self.check_key_kind(&k, kind);
                }
                keyset.push(k);
            }
        }
        let priority = e.priority.as_ref().map(|pr| self.expr(pr));
        if let Some(pr) = &priority {
            if p.is_const {
                self.report(
                    Diagnostic::new(
                        &codes::ENTRY_PRIORITY,
                        pr.span,
                        "`const entries` take no priorities: their order decides",
                    )
                    .label("priority not expected")
                    .also(p.name.span, "these entries are const"),
                );
                ok = false;
            } else if !pr.is_compile_time || !(pr.ty == Types::INT || self.is_fixed_int(pr.ty)) {
                self.error(
                    &codes::ENTRY_PRIORITY,
                    pr.span,
                    "a priority must be an integer known at compile time",
                );
                ok = false;
            } else if pr.int_value().is_some_and(|v| v.sign() == num_bigint::Sign::Minus) {
                self.error(&codes::ENTRY_PRIORITY, pr.span, "a priority cannot be negative");
                ok = false;
            }
        }
        let (element, args) = self.action_instance(id, &e.action, "action")?;
        let listed = &self.p.tables[id].actions[element as usize];
        if let Some(a) = first_annotation(&listed.annotations, &["defaultonly", "groupaction"]) {
            let (aspan, lspan) = (a.span, listed.span);
            self.report(
                Diagnostic::new(
                    &codes::ACTION_ARGUMENTS,
                    e.action.span,
                    format!("an action marked @{} cannot be used in an entry", a.name),
                )
                .label("used in an entry")
                .also(lspan, "in the list of actions")
                .also(aspan, "marked here"),
            );
            return None;
        }
        if !ok {
            return None;
        }
        Some(Entry {
            is_const: e.is_const || p.is_const,
            priority,
            keyset,
            element,
            args,
            annotations,
            span: e.span,
        })
    }

    /// A mask or range where the match kind has none.
    fn check_key_kind(&mut self, k: &Expr, kind: &str) -> bool {
        let (is_mask, is_range) =
            (matches!(k.kind, ExprKind::Mask { .. }), matches!(k.kind, ExprKind::Range { .. }));
        if !is_mask && !is_range {
            return true;
        }
        let known = matches!(kind, "exact" | "lpm" | "ternary" | "range" | "optional");
        let fits = match kind {
            "ternary" | "lpm" => is_mask,
            "range" => is_range,
            "exact" | "optional" => false,
            _ => true,
        };
        if known && !fits && self.options.strict {
            let what = if is_mask { "a mask" } else { "a range" };
            self.report(
                Diagnostic::new(
                    &codes::TABLE_ENTRY,
                    k.span,
                    format!("{what} cannot be given for a key of match kind `{kind}`"),
                )
                .label(what.to_string()),
            );
            return false;
        }
        true
    }

    /// Two entries with equal keys where nothing decides between them.
    fn check_duplicate_entries(&mut self, entries: &[Entry], key_types: &[(crate::types::Ty, SmolStr)]) {
        if key_types.is_empty() || key_types.iter().any(|(_, kind)| kind != "exact") {
            return;
        }
        let mut seen: FxHashMap<String, Span> = FxHashMap::default();
        for e in entries {
            let values: Option<Vec<&Value>> = e.keyset.iter().map(|k| k.value.as_deref()).collect();
            let Some(values) = values else { continue };
            let key = format!("{values:?}");
            let first = e.keyset.first().map_or(e.span, |k| k.span);
            let span = first.to(e.keyset.last().map_or(e.span, |k| k.span));
            if let Some(earlier) = seen.get(&key) {
                let earlier = *earlier;
                self.report(
                    Diagnostic::new(&codes::TABLE_ENTRY, span, "two entries have the same key")
                        .label("can never be matched")
                        .also(earlier, "the same key"),
                );
            } else {
                seen.insert(key, span);
            }
        }
    }

    /// P4-16, "Entries": if the first entry has no priority, none may; const entries have none.
    fn check_priorities(
        &mut self,
        id: TableId,
        p: &ast::TableProperty,
        entries: &[Entry],
        key_types: &[(crate::types::Ty, SmolStr)],
    ) {
        let with = entries.iter().filter(|e| e.priority.is_some()).count();
        if with == 0 {
            return;
        }
        let needs = key_types.iter().any(|(_, k)| k != "exact" && k != "lpm");
        if !needs {
            let span = entries.iter().find_map(|e| e.priority.as_ref()).map_or(p.span, |e| e.span);
            self.report(
                Diagnostic::new(
                    &codes::ENTRY_PRIORITY,
                    span,
                    "priorities have no meaning for a table with only exact and lpm keys",
                )
                .label("priority not expected"),
            );
            return;
        }
        let wins = self.p.tables[id]
            .properties
            .iter()
            .find(|q| q.name == "largest_priority_wins")
            .and_then(|q| q.value.value.as_deref())
            .and_then(Value::as_bool)
            .unwrap_or(true);
        let delta = self.p.tables[id]
            .properties
            .iter()
            .find(|q| q.name == "priority_delta")
            .and_then(|q| q.value.int_value().cloned())
            .unwrap_or_else(|| 1.into());
        let mut current: Option<num_bigint::BigInt> = None;
        for e in entries {
            current = match (e.priority.as_ref().and_then(|p| p.int_value()), current) {
                (Some(v), _) => Some(v.clone()),
                (None, Some(c)) => Some(if wins { c - &delta } else { c + &delta }),
                (None, None) => None,
            };
            let bad = current.as_ref().is_some_and(|c| *c < 0.into() || c.bits() > 31);
            if bad {
                let d = Diagnostic::new(
                    &codes::ENTRY_PRIORITY,
                    e.span,
                    "the priority of this entry is out of range",
                )
                .label("its priority follows from the entry before it")
                .note("priorities are numbers from 0 to 2147483647");
                self.report(d);
                return;
            }
        }
        if entries[0].priority.is_none() && !wins {
            let d = Diagnostic::new(
                &codes::ENTRY_PRIORITY,
                entries[0].span,
                "the first entry must have a priority when others have one",
            )
            .label("has no priority");
            self.report(d);
        } else if entries[0].priority.is_none() {
            let other = entries.iter().find_map(|e| e.priority.as_ref()).map_or(Span::NONE, |e| e.span);
            self.report(
                Diagnostic::new(
                    &codes::ENTRY_PRIORITY,
                    entries[0].span,
                    "the first entry must have a priority when others have one",
                )
                .label("has no priority")
                .also(other, "this one has"),
            );
        }
    }
}

/// True if the control plane's name of a key can be made from its expression (P4-16, "Control-plane names of
/// keys"; the reference compiler also takes masked keys `a & b`).
fn has_key_name(e: &ast::Expr) -> bool {
    match &e.kind {
        ast::ExprKind::Name(_) | ast::ExprKind::Int(_) | ast::ExprKind::Bool(_) => true,
        ast::ExprKind::Member { base, .. } => has_key_name(base),
        ast::ExprKind::Index { base, index } => has_key_name(base) && has_key_name(index),
        // Bounds are constants, however they are written.
        ast::ExprKind::Slice { base, hi: _, lo: _ } => has_key_name(base),
        ast::ExprKind::Binary { op: BinaryOp::BitAnd, lhs, rhs, .. } => {
            has_key_name(lhs) && has_key_name(rhs)
        }
        ast::ExprKind::Call { callee, args, .. } => match &callee.kind {
            ast::ExprKind::Member { base, member } => {
                member.name == "isValid" && args.is_empty() && has_key_name(base)
            }
            _ => false,
        },
        _ => false,
    }
}

/// An application of a table inside an expression.
fn find_apply(e: &Expr) -> Option<Span> {
    let mut found = None;
    e.walk(&mut |e| {
        if let ExprKind::Call(call) = &e.kind
            && matches!(call.callee, Callee::TableApply(_))
        {
            found.get_or_insert(e.span);
        }
    });
    found
}

/// Syntactic equality of checked expressions.
pub(crate) fn same_expr(a: &Expr, b: &Expr) -> bool {
    if a.ty != b.ty {
        return false;
    }
    if let (Some(x), Some(y)) = (&a.value, &b.value) {
        return x == y;
    }
    let all = |x: &[Expr], y: &[Expr]| x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same_expr(x, y));
    match (&a.kind, &b.kind) {
        (ExprKind::Var(x), ExprKind::Var(y)) => x == y,
        (ExprKind::ConstRef(x), ExprKind::ConstRef(y)) => x == y,
        (ExprKind::Instance(x), ExprKind::Instance(y)) => x == y,
        (ExprKind::Field { base: x, field: i }, ExprKind::Field { base: y, field: j })
        | (ExprKind::TupleElement { base: x, index: i }, ExprKind::TupleElement { base: y, index: j }) => {
            i == j && same_expr(x, y)
        }
        (ExprKind::Index { base: x, index: i }, ExprKind::Index { base: y, index: j }) => {
            same_expr(x, y) && same_expr(i, j)
        }
        (ExprKind::Slice { base: x, hi: h, lo: l }, ExprKind::Slice { base: y, hi: g, lo: m }) => {
            h == g && l == m && same_expr(x, y)
        }
        (ExprKind::Stack { base: x, member: i }, ExprKind::Stack { base: y, member: j }) => {
            i == j && same_expr(x, y)
        }
        (ExprKind::Unary { op: o, operand: x }, ExprKind::Unary { op: p, operand: y }) => {
            o == p && same_expr(x, y)
        }
        (ExprKind::Binary { op: o, lhs: a, rhs: b }, ExprKind::Binary { op: p, lhs: c, rhs: d }) => {
            o == p && same_expr(a, c) && same_expr(b, d)
        }
        (ExprKind::Cast { operand: x, .. }, ExprKind::Cast { operand: y, .. }) => same_expr(x, y),
        (ExprKind::List(x), ExprKind::List(y)) | (ExprKind::Struct(x), ExprKind::Struct(y)) => all(x, y),
        (ExprKind::Call(x), ExprKind::Call(y)) => {
            let same_callee = match (&x.callee, &y.callee) {
                (Callee::Function(f), Callee::Function(g)) => f == g,
                (Callee::Builtin { object: o, method: m }, Callee::Builtin { object: p, method: n }) => {
                    m == n && same_expr(o, p)
                }
                (
                    Callee::Method { object: o, method: m, .. },
                    Callee::Method { object: p, method: n, .. },
                ) => m == n && same_expr(o, p),
                _ => false,
            };
            same_callee
                && x.args.len() == y.args.len()
                && x.args.iter().zip(&y.args).all(|(a, b)| match (a, b) {
                    (Some(a), Some(b)) => same_expr(a, b),
                    (None, None) => true,
                    _ => false,
                })
        }
        (ExprKind::DontCare, ExprKind::DontCare) => true,
        (ExprKind::This, ExprKind::This) => true,
        _ => false,
    }
}
