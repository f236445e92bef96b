//! How comments begin, and words that the glossary has replaced.
//!
//! The list counts by crate those that are there; a count may shrink and never grows. Sources of crates and
//! the C headers are looked at; tests are not.

use super::Problem;
use crate::comments::{self, Comment};
use crate::house::House;
use crate::rules::{WORDS, Words};
use crate::{File, Tree};
use std::collections::BTreeMap;

/// One comment or word that the list forbids.
#[derive(Clone, Debug)]
pub struct Hit {
    pub path: String,
    /// One-based.
    pub line: usize,
    pub message: String,
}

/// Everything that the list forbids, by kind of count and then by crate.
#[derive(Default)]
pub struct Hits {
    pub comments: BTreeMap<String, Vec<Hit>>,
    pub words: BTreeMap<String, Vec<Hit>>,
}

impl Hits {
    pub fn find(tree: &Tree, words: &Words) -> Hits {
        let mut hits = Hits::default();
        let dictionary = Dictionary::new(words);
        for file in &tree.files {
            let Some(room) = room(file) else { continue };
            let (comments, code) = comments::split(&file.text);
            for comment in &comments {
                if let Some(message) = bad_beginning(comment, words) {
                    let hit = Hit { path: file.path.clone(), line: comment.line, message };
                    hits.comments.entry(room.to_string()).or_default().push(hit);
                }
            }
            let lines = code.lines().enumerate().map(|(i, line)| (i + 1, line, true));
            let lines = lines.chain(comments.iter().map(|c| (c.line, c.text.as_str(), false)));
            for (line, text, is_code) in lines {
                for (old, new) in identifiers(text).filter_map(|name| dictionary.replaced(name, is_code)) {
                    let message = format!("`{old}`: the word is {new}");
                    let hit = Hit { path: file.path.clone(), line, message };
                    hits.words.entry(room.to_string()).or_default().push(hit);
                }
            }
        }
        hits
    }
}

/// The name under which the file is counted.
fn room(file: &File) -> Option<&str> {
    let is_header = file.path.starts_with("rt/")
        && !file.path.starts_with("rt/tests/")
        && (file.path.ends_with(".h") || file.path.ends_with(".c"));
    if is_header {
        return Some("rt");
    }
    let is_rust = file.is_source() && file.path.ends_with(".rs") && !file.is_generated();
    file.crate_name().filter(|_| is_rust)
}

fn bad_beginning(comment: &Comment, words: &Words) -> Option<String> {
    let sentence = comment.text.split_inclusive(". ").next().unwrap_or("");
    let has_clause = sentence.contains([',', ':', ';']);
    let begins = |beginning: &&String| comment.text.starts_with(beginning.as_str());
    let beginning = words.beginnings.iter().find(begins);
    let fragment = words.fragments.iter().filter(|_| !has_clause).find(begins);
    let beginning = beginning.or(fragment)?;
    let start: String = comment.text.chars().take(50).collect();
    Some(format!("a comment begins with \"{}\": {start}", beginning.trim_end()))
}

fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|name| !name.is_empty())
}

/// The list by old word.
struct Dictionary<'words> {
    /// Whole identifiers, in code and in comments.
    whole: BTreeMap<&'words str, &'words str>,
    /// Parts of identifiers in code.
    parts: BTreeMap<&'words str, &'words str>,
}

impl<'words> Dictionary<'words> {
    fn new(words: &'words Words) -> Dictionary<'words> {
        let mut dictionary = Dictionary { whole: BTreeMap::new(), parts: BTreeMap::new() };
        for word in &words.word {
            let list = if word.parts { &mut dictionary.parts } else { &mut dictionary.whole };
            list.extend(word.old.iter().map(|old| (old.as_str(), word.new.as_str())));
        }
        dictionary
    }

    /// The old word in the identifier, and the new one.
    fn replaced(&self, name: &str, is_code: bool) -> Option<(&'words str, &'words str)> {
        let find = |list: &BTreeMap<&'words str, &'words str>, word: &str| {
            list.get_key_value(word).map(|(old, new)| (*old, *new))
        };
        let in_parts = || {
            let parts = if is_code { parts(name) } else { Vec::new() };
            find(&self.parts, name)
                .filter(|_| is_code)
                .or(parts.iter().find_map(|part| find(&self.parts, part)))
        };
        find(&self.whole, name).or_else(in_parts)
    }
}

/// The words of an identifier in lower case: `is_lean`, `SD_LEAN` and `LeanTable` have the part `lean`, `clean` does not.
fn parts(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        if c == '_' || (c.is_uppercase() && was_lower) {
            parts.push(String::new());
        }
        was_lower = c.is_lowercase();
        if let (Some(part), true) = (parts.last_mut(), c != '_') {
            part.extend(c.to_lowercase());
        }
    }
    parts
}

pub(super) fn words(house: &House, problems: &mut Vec<Problem>) {
    let hits = Hits::find(house, &house.rules.words);
    let counts = &house.rules.words.count;
    for (kind, hits, counts) in
        [("comments", &hits.comments, &counts.comments), ("words", &hits.words, &counts.words)]
    {
        for (room, hits) in hits {
            let listed = counts.get(room).copied().unwrap_or(0);
            if hits.len() > listed {
                let message = format!(
                    "{} {kind} that the rules forbid, at most {listed} are allowed; `cargo xtask words {room}` \
                     lists them, such as {}:{}: {}",
                    hits.len(),
                    hits[0].path,
                    hits[0].line,
                    hits[0].message
                );
                problems.push(Problem { path: house_of(room), line: 0, message, is_shrunk: false });
            }
        }
        for (room, listed) in counts {
            let n = hits.get(room).map_or(0, Vec::len);
            if n < *listed {
                let message = format!(
                    "{kind}: `{room}` has {n}, the list says {listed}: `cargo xtask tidy --bless` lowers it"
                );
                problems.push(Problem::shrunk(WORDS, message));
            }
        }
    }
}

fn house_of(room: &str) -> String {
    if room == "rt" { "rt".into() } else { format!("crates/{room}") }
}

/// The text of the list with counts lowered to what is there, and never raised.
pub fn bless(tree: &Tree) -> Option<String> {
    let file = tree.get(WORDS)?;
    let words: Words = crate::rules::read(tree, WORDS, &mut Vec::new());
    let hits = Hits::find(tree, &words);
    let mut section = "";
    let mut blessed = String::new();
    for line in file.text.lines() {
        if line.starts_with('[') {
            section = line;
        }
        let counted = match section {
            "[count.comments]" => Some(&hits.comments),
            "[count.words]" => Some(&hits.words),
            _ => None,
        };
        let entry = line.split_once(" = ").and_then(|(k, v)| Some((k, v.parse::<usize>().ok()?)));
        match (counted, entry) {
            (Some(hits), Some((room, listed))) => {
                let n = hits.get(room).map_or(0, Vec::len).min(listed);
                if n > 0 {
                    blessed += &format!("{room} = {n}\n");
                }
            }
            (Some(_) | None, _) => {
                blessed += line;
                blessed += "\n";
            }
        }
    }
    Some(blessed)
}
