//! Control-plane names (P4-16, "Control-plane names"): paths of instances, `@name`, `@hidden`.

use crate::evaluate::Scope;
use crate::program::*;

/// The local name: what `@name` says, else the declared one; and whether it is absolute (`@name(".x")`), then
/// without the dot.
pub fn local_name<'a>(declared: &'a str, annotations: &'a Annotations) -> (&'a str, bool) {
    let name = annotation(annotations, "name").and_then(Annotation::string).unwrap_or(declared);
    match name.strip_prefix('.') {
        Some(absolute) => (absolute, true),
        None => (name, false),
    }
}

/// The name of something declared in an object whose name is `path`.
pub fn full_name(path: &str, declared: &str, annotations: &Annotations) -> String {
    match local_name(declared, annotations) {
        (name, true) => name.to_string(),
        (name, false) if path.is_empty() => name.to_string(),
        (name, false) => format!("{path}.{name}"),
    }
}

/// Not for the control plane.
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
