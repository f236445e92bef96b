//! Extern functions that the command line names.

use crate::ExternArgs;
use crate::output::{self, Exit};
use arch::ExternOp;
use externs::ExternSet;
use ir::{Program, StmtKind};
use std::collections::BTreeSet;

/// Loads the libraries; says which of them cannot be used.
pub fn load(args: &ExternArgs) -> Result<ExternSet, Exit> {
    let mut set = ExternSet::new();
    for path in &args.libraries {
        let library = native::load_extern_library(path).map_err(|error| {
            output::error_line(&error.to_string());
            Exit::Environment
        })?;
        set.add(library).map_err(|error| {
            output::error_line(&error.to_string());
            Exit::Usage
        })?;
    }
    for (name, text) in &args.options {
        if set.find(name).is_none() {
            output::error_line(&format!("--extern-option {name}={text}: there is no extern `{name}`"));
            return Err(Exit::Usage);
        }
        set.set_option(name.as_str(), text);
    }
    Ok(set)
}

/// Warns of extern functions that the program calls and nobody supplies: packets that come there are dropped. With
/// libraries of the user it is an error instead, which binding reports.
pub fn warn_of_missing(program: &Program, set: &ExternSet) {
    if set.has_libraries() {
        return;
    }
    let stmts = program.graphs().flat_map(|graph| graph.nodes.iter()).flat_map(|(_, node)| &node.stmts);
    let called: BTreeSet<&str> = stmts
        .filter_map(|stmt| match &stmt.kind {
            StmtKind::Extern { op: ExternOp::User, name, .. } => Some(name.as_str()),
            StmtKind::Extern { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Emit(_)
            | StmtKind::ZeroIfInvalid(_) => None,
        })
        .collect();
    for name in called.into_iter().filter(|name| set.find(name).is_none()) {
        output::warning_line(&format!(
            "nobody supplies the extern `{name}`: packets that come to it are dropped (extern_not_supplied); \
             --extern LIBRARY supplies it"
        ));
    }
}
