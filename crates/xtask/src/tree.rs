//! The text files of the repository.

use std::path::Path;

/// A text file, by its path from the root with `/` between the parts.
#[derive(Clone, Debug)]
pub struct File {
    pub path: String,
    pub text: String,
}

/// All text files that are under version control, or could be.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    pub files: Vec<File>,
}

/// Folders with what was built, found or fetched.
const NOT_OURS: &[&str] = &["target", ".git", "fuzz-artifacts", "corpus", "node_modules"];

impl Tree {
    pub fn read(root: &Path) -> std::io::Result<Tree> {
        let mut files = Vec::new();
        let mut folders = vec![(root.to_path_buf(), String::new())];
        while let Some((folder, prefix)) = folders.pop() {
            for entry in std::fs::read_dir(&folder)? {
                let entry = entry?;
                let name = entry.file_name().to_string_lossy().into_owned();
                let (path, kind) = (format!("{prefix}{name}"), entry.file_type()?);
                let is_ours = !NOT_OURS.contains(&name.as_str()) || prefix == "crates/";
                if kind.is_dir() && is_ours {
                    folders.push((entry.path(), format!("{path}/")));
                } else if kind.is_file() && !NOT_OURS.contains(&name.as_str()) {
                    // A file that is not UTF-8 is not text.
                    if let Ok(text) = std::fs::read_to_string(entry.path()) {
                        files.push(File { path, text });
                    }
                }
            }
        }
        // Folders of crates that are no members (any more) are of no interest.
        let workspace = std::fs::read_to_string(root.join("Cargo.toml"))?;
        files.retain(|f: &File| match f.crate_name() {
            Some(name) => workspace.contains(&format!("\"crates/{name}\"")),
            None => true,
        });
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Tree { files })
    }

    pub fn get(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|f| f.path == path)
    }

    pub fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|f| f.path.ends_with(".rs"))
    }
}

impl File {
    /// The crate that the file belongs to.
    pub fn crate_name(&self) -> Option<&str> {
        self.path.strip_prefix("crates/")?.split('/').next()
    }

    /// Written by a program.
    pub fn is_generated(&self) -> bool {
        self.path.contains("/generated/")
    }

    /// Part of the crate itself: neither test nor example nor build script.
    pub fn is_source(&self) -> bool {
        self.path.split('/').nth(2) == Some("src")
    }

    /// Lines of Rust by number, without comments, and without modules for tests. What stands in strings counts
    /// as code; what looks like a comment in a string does not.
    pub fn code_lines(&self) -> Vec<(usize, &str)> {
        let mut lines = Vec::new();
        let mut in_tests = false;
        for (i, line) in self.text.lines().enumerate() {
            if line == "#[cfg(test)]" {
                in_tests = true;
            } else if in_tests && (line == "}" || (line.starts_with("mod ") && line.ends_with(';'))) {
                in_tests = false;
                continue;
            }
            let code = line.split("//").next().unwrap_or("");
            if !in_tests && !code.trim().is_empty() {
                lines.push((i + 1, code));
            }
        }
        lines
    }
}
