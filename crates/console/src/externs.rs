//! Extern functions that the command line names.

use crate::ExternArgs;
use crate::output::{self, Exit};
use externs::ExternSet;

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
