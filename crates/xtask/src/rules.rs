//! The lists that the rules read: `crates/xtask/rules/*.toml`.
//!
//! A list of what breaks a rule may shrink and never grows by itself; each entry gives its reason.

use crate::Tree;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;

pub const ROOMS: &str = "crates/xtask/rules/rooms.toml";
pub const CIRCLES: &str = "crates/xtask/rules/circles.toml";
pub const WORDS: &str = "crates/xtask/rules/words.toml";
pub const COMMITS: &str = "crates/xtask/rules/commits.toml";

/// All lists.
#[derive(Default)]
pub struct Rules {
    pub rooms: Rooms,
    pub circles: Circles,
    pub words: Words,
}

/// Uses that the Rooms table forbids and that are there.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rooms {
    #[serde(default)]
    pub exception: Vec<RoomException>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoomException {
    #[serde(rename = "crate")]
    pub of_crate: String,
    /// A name of the column "must not use".
    pub uses: String,
    /// The only file that may use it; any file of the crate without it.
    pub file: Option<String>,
    pub reason: String,
}

/// Circles of modules that stay.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Circles {
    #[serde(default)]
    pub circle: Vec<Circle>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Circle {
    #[serde(rename = "crate")]
    pub of_crate: String,
    /// Modules without `crate::`, the root as `crate`; `*` alone stands for any circle of the crate.
    pub modules: Vec<String>,
    pub reason: String,
}

/// Beginnings of comments and words that are not used.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Words {
    /// No comment begins with one of these.
    #[serde(default)]
    pub beginnings: Vec<String>,
    /// No comment whose first sentence has no comma begins with one of these: such a sentence has no main clause.
    #[serde(default)]
    pub fragments: Vec<String>,
    #[serde(default)]
    pub word: Vec<Word>,
    #[serde(default)]
    pub count: Counts,
}

/// Identifiers that the glossary has replaced.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Word {
    pub old: Vec<String>,
    pub new: String,
    /// Also finds the words as parts of identifiers in code, such as `lean` in `is_lean`; not in comments.
    #[serde(default)]
    pub parts: bool,
}

/// How many of them are there, by crate; `rt` for the C headers.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counts {
    #[serde(default)]
    pub comments: BTreeMap<String, usize>,
    #[serde(default)]
    pub words: BTreeMap<String, usize>,
}

/// From where on subjects of commits are judged.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Commits {
    pub base: String,
}

impl Rules {
    /// The lists and what is wrong with them. A list that is absent is empty.
    pub fn read(tree: &Tree) -> (Rules, Vec<(String, String)>) {
        let mut faults = Vec::new();
        let rules = Rules {
            rooms: read(tree, ROOMS, &mut faults),
            circles: read(tree, CIRCLES, &mut faults),
            words: read(tree, WORDS, &mut faults),
        };
        (rules, faults)
    }
}

pub fn read<T: Default + DeserializeOwned>(tree: &Tree, path: &str, faults: &mut Vec<(String, String)>) -> T {
    let Some(file) = tree.get(path) else { return T::default() };
    match toml::from_str(&file.text) {
        Ok(list) => list,
        Err(error) => {
            faults.push((path.to_string(), error.message().to_string()));
            T::default()
        }
    }
}
