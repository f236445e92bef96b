//! Short names: the alias of an object is the shortest dotted suffix of its
//! name that tells it from all others.

use std::collections::{BTreeMap, BTreeSet};

/// A set of dotted names that counts how many of them share each suffix.
///
/// A suffix is made of whole components: `b.c` is one of `a.b.c`, `.c` and `bc`
/// are not.
#[derive(Debug, Default)]
pub struct SuffixSet {
    names: BTreeSet<String>,
    n_with_suffix: BTreeMap<String, usize>,
}

impl SuffixSet {
    /// Adds a name; twice is the same as once.
    pub fn insert(&mut self, name: &str) {
        if self.names.insert(name.to_owned()) {
            for suffix in suffixes(name) {
                *self.n_with_suffix.entry(suffix.to_owned()).or_default() += 1;
            }
        }
    }

    /// The shortest suffix of `name` that no other name in the set has; all of
    /// `name` if each one is shared (of `c` and `a.c`, the first keeps `c` and
    /// the second gets `a.c`) or if `name` is not in the set.
    pub fn shortest_unique<'n>(&self, name: &'n str) -> &'n str {
        suffixes(name).find(|suffix| self.n_with_suffix.get(*suffix) == Some(&1)).unwrap_or(name)
    }
}

/// From the shortest to the whole.
fn suffixes(name: &str) -> impl Iterator<Item = &str> {
    name.rmatch_indices('.').map(|(dot, _)| &name[dot + 1..]).chain([name])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases() {
        let mut set = SuffixSet::default();
        for name in ["a.b.c", "a.b.c", "d.b.c", "e.c", "f", "g.f", "x.y", "x.yy", "t[1].u"] {
            set.insert(name);
        }
        let aliases = [
            ("a.b.c", "a.b.c"),
            ("d.b.c", "d.b.c"),
            ("e.c", "e.c"),
            ("f", "f"),
            ("g.f", "g.f"),
            ("x.y", "y"),
            ("x.yy", "yy"),
            ("t[1].u", "u"),
        ];
        for (name, alias) in aliases {
            assert_eq!(set.shortest_unique(name), alias);
        }
    }
}
