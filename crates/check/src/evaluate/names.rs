//! Control-plane names (P4-16, "Control-plane names"): paths of instances, `@name`, `@hidden`.

use crate::codes;
use crate::evaluate::Scope;
use crate::program::*;
use diagnostics::{Diagnostic, Span};
use rustc_hash::FxHashMap;

/// Returns the local name (that of `@name`, else the declared one, without a leading dot), and true if it is
/// absolute (`@name(".x")`).
pub fn local_name<'a>(declared: &'a str, annotations: &'a Annotations) -> (&'a str, bool) {
    let name = annotation(annotations, "name").and_then(Annotation::string).unwrap_or(declared);
    match name.strip_prefix('.') {
        Some(absolute) => (absolute, true),
        None => (name, false),
    }
}

/// Returns the name of a declaration in an object whose name is `path`.
pub fn full_name(path: &str, declared: &str, annotations: &Annotations) -> String {
    match local_name(declared, annotations) {
        (name, true) => name.to_string(),
        (name, false) if path.is_empty() => name.to_string(),
        (name, false) => format!("{path}.{name}"),
    }
}

/// True if `@hidden` keeps the declaration from the control plane.
pub fn is_hidden(annotations: &Annotations) -> bool {
    annotation(annotations, "hidden").is_some()
}

impl Program {
    fn path(&self, scope: Scope) -> &str {
        scope.map_or("", |id| &self.nodes[id].control_plane_name)
    }

    pub fn control_plane_name_of_table(&self, scope: NodeId, table: TableId) -> String {
        let t = &self.tables[table];
        full_name(self.path(Some(scope)), &t.name, &t.annotations)
    }

    /// Actions of the top level have no path.
    pub fn control_plane_name_of_action(&self, scope: NodeId, action: ActionId) -> String {
        let a = &self.actions[action];
        let path = if a.is_global { "" } else { self.path(Some(scope)) };
        full_name(path, &a.name, &a.annotations)
    }

    pub fn control_plane_name_of_value_set(&self, scope: NodeId, set: ValueSetId) -> String {
        let v = &self.value_sets[set];
        full_name(self.path(Some(scope)), &v.name, &v.annotations)
    }
}

/// Reports actions that share a name, which the control plane cannot tell apart. This is not part of checking: it
/// matters only for programs with a control plane.
pub fn duplicate_action_names(p: &Program) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    // An action of a control exists once per instance of the control; a top-level action exists once.
    let mut seen: FxHashMap<String, (Scope, ActionId)> = FxHashMap::default();
    for node in p.live_blocks() {
        for action in &p.nodes[node].live.actions {
            let def = &p.actions[*action];
            let this = (if def.is_global { None } else { Some(node) }, *action);
            let name = p.control_plane_name_of_action(node, *action);
            let first = *seen.entry(name.clone()).or_insert(this);
            if first != this {
                let d = Diagnostic::new(
                    &codes::CONTROL_PLANE_NAME,
                    def.span,
                    format!("two actions have the control-plane name `{name}`"),
                )
                .note("the control plane tells actions apart by their names");
                let instance = |scope: Scope| scope.map_or(Span::NONE, |id| p.nodes[id].span);
                diagnostics.push(if first.1 == *action {
                    d.label("in two instances of its control")
                        .also(instance(first.0), "the first instance")
                        .also(instance(this.0), "the second instance")
                        .help("let its name depend on the instance: no leading dot in `@name`")
                } else {
                    d.label("the same name again")
                        .also(p.actions[first.1].span, "the first one")
                        .help("give one of them another name with `@name(\"...\")`")
                });
            }
        }
    }
    diagnostics
}
