//! The tree with everything that several rules need of it.

use crate::rules::Rules;
use crate::source::Source;
use crate::{File, Tree};
use std::collections::{BTreeMap, BTreeSet};

/// The tree, its Rust files parsed, and the lists of the rules.
pub struct House<'tree> {
    pub tree: &'tree Tree,
    /// Sources of crates by path; tests, generated files and files for tests are left out.
    pub sources: BTreeMap<&'tree str, Source>,
    /// Files that `syn` cannot read, with its message.
    pub unreadable: Vec<(&'tree File, String)>,
    pub rules: Rules,
    /// Mistakes in the lists of the rules: path and message.
    pub faults: Vec<(String, String)>,
}

impl<'tree> House<'tree> {
    pub fn new(tree: &'tree Tree) -> House<'tree> {
        let (rules, faults) = Rules::read(tree);
        let mut house = House { tree, sources: BTreeMap::new(), unreadable: Vec::new(), rules, faults };
        for file in tree.rust().filter(|f| f.is_source() && !f.is_generated()) {
            match Source::parse(&file.text) {
                Ok(source) => drop(house.sources.insert(&file.path, source)),
                Err(error) => house.unreadable.push((file, error.to_string())),
            }
        }
        house.drop_test_modules();
        house
    }

    fn drop_test_modules(&mut self) {
        let mut stems = BTreeSet::new();
        for (path, source) in &self.sources {
            let folder = module_folder(path);
            stems.extend(source.test_modules.iter().map(|name| format!("{folder}{name}")));
        }
        self.sources.retain(|path, _| {
            !stems.iter().any(|stem| {
                path.strip_prefix(stem.as_str()).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
            })
        });
    }
}

impl std::ops::Deref for House<'_> {
    type Target = Tree;

    fn deref(&self) -> &Tree {
        self.tree
    }
}

/// The folder in which the modules lie that the file declares, with `/` at the end.
fn module_folder(path: &str) -> String {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    match name {
        "lib.rs" | "main.rs" | "mod.rs" => format!("{folder}/"),
        _ => format!("{}/", path.trim_end_matches(".rs")),
    }
}
