//! Programs to mutate: our examples, the programs in tests and explanations, and a directory of one's own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use syntax::{IncludeKind, LoadedFile, Loader};

/// Programs in a fixed order, and the files that they may include.
#[derive(Debug, Default)]
pub struct Corpus {
    pub programs: Vec<String>,
    includes: BTreeMap<String, String>,
}

/// Programs longer than this make every execution slow and find nothing new.
const PROGRAM_BYTES_MAX: usize = 64 << 10;

impl Corpus {
    /// The programs of this repository; none where it is not at hand.
    pub fn own() -> Corpus {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut corpus = Corpus::default();
        corpus.add_dir(&root.join("examples"));
        for dir in ["docs", "crates/syntax/tests", "crates/check/tests", "crates/siding/tests"] {
            corpus.add_dir(&root.join(dir));
        }
        corpus
    }

    /// Adds all `.p4` files and the `p4` blocks of all `.md` files below a directory.
    pub fn add_dir(&mut self, dir: &Path) {
        for path in files(dir) {
            let Ok(bytes) = std::fs::read(&path) else { continue };
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
            match extension {
                "p4" => {
                    if let Some(name) = path.file_name().and_then(|n| n.to_str()) {
                        self.includes.insert(name.to_string(), text.clone());
                    }
                    self.add(text);
                }
                "md" => blocks(&text).into_iter().for_each(|block| self.add(block)),
                _ => {}
            }
        }
    }

    fn add(&mut self, text: String) {
        if text.len() <= PROGRAM_BYTES_MAX && !text.trim().is_empty() {
            self.programs.push(text);
        }
    }
}

/// [`Corpus::own`], loaded once.
pub fn own() -> &'static Corpus {
    static OWN: OnceLock<Corpus> = OnceLock::new();
    OWN.get_or_init(Corpus::own)
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut dirs = vec![dir.to_path_buf()];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() { dirs.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    found
}

/// Code blocks whose information string begins with `p4`; `core` in it stands for the include.
fn blocks(markdown: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut block: Option<String> = None;
    for line in markdown.lines() {
        match (&mut block, line.strip_prefix("```")) {
            (None, Some(info)) => {
                let words: Vec<&str> = info.split_whitespace().collect();
                if words.first() == Some(&"p4") {
                    let include = if words.contains(&"core") { "#include <core.p4>\n" } else { "" };
                    block = Some(include.to_string());
                }
            }
            (Some(_), Some(_)) => blocks.extend(block.take()),
            (Some(text), None) => {
                text.push_str(line);
                text.push('\n');
            }
            (None, None) => {}
        }
    }
    blocks
}

/// The compiler's own include files, then those of the corpus.
impl Loader for Corpus {
    fn load(&self, name: &str, kind: IncludeKind, _from: &str) -> Option<LoadedFile> {
        let last = name.rsplit('/').next().unwrap_or(name);
        let text = arch::include_file(name).or_else(|| self.includes.get(last).map(String::as_str))?;
        Some(LoadedFile { name: name.to_string(), text: text.into(), is_system: kind == IncludeKind::System })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_has_programs() {
        let corpus = own();
        assert!(corpus.programs.len() > 100, "{}", corpus.programs.len());
        assert!(corpus.load("headers.p4", IncludeKind::Local, "").is_some());
    }

    #[test]
    fn blocks_are_cut_out() {
        let text = "# T\n\n```p4 core\na\nb\n```\ntext\n```\nno\n```\n```p4\nc\n```\n";
        assert_eq!(blocks(text), ["#include <core.p4>\na\nb\n", "c\n"]);
    }
}
