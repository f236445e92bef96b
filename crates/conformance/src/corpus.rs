//! The programs of a checkout of p4lang/p4c.

use std::fmt;
use std::path::{Path, PathBuf};

/// A directory that holds no checkout.
#[derive(Debug)]
pub struct NotACheckout {
    pub root: PathBuf,
    pub missing: PathBuf,
}

impl fmt::Display for NotACheckout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} is no checkout of p4lang/p4c: there is no {}",
            self.root.display(),
            self.missing.display()
        )
    }
}

impl std::error::Error for NotACheckout {}

/// The reason why there is no corpus.
#[derive(Debug)]
pub enum NoCorpus {
    /// Neither the command line nor the environment names a checkout.
    NotNamed,
    NotACheckout(NotACheckout),
}

impl fmt::Display for NoCorpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoCorpus::NotNamed => f.write_str(
                "no checkout of p4lang/p4c is named\n\
                 Its test programs are needed, nothing has to be built:\n\n    \
                 git clone --depth 1 https://github.com/p4lang/p4c\n    \
                 siding conformance --p4c p4c accept\n\nThe environment's P4C can name it too.",
            ),
            NoCorpus::NotACheckout(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for NoCorpus {}

/// A checkout of p4lang/p4c.
#[derive(Clone, Debug)]
pub struct Corpus {
    root: PathBuf,
}

const SAMPLES: &str = "testdata/p4_16_samples";
const ERRORS: &str = "testdata/p4_16_errors";
/// Files below are parts of other programs.
const FRAGMENTS: &str = "fabric_20190420/include";

impl Corpus {
    /// The checkout that is named, or that the environment's `P4C` names.
    pub fn find(named: Option<&Path>) -> Result<Corpus, NoCorpus> {
        let root = named.map(Path::to_path_buf).or_else(|| std::env::var_os("P4C").map(PathBuf::from));
        Corpus::open(root.ok_or(NoCorpus::NotNamed)?).map_err(NoCorpus::NotACheckout)
    }

    pub fn open(root: impl Into<PathBuf>) -> Result<Corpus, NotACheckout> {
        let root = root.into();
        for dir in [SAMPLES, ERRORS] {
            if !root.join(dir).is_dir() {
                return Err(NotACheckout { missing: PathBuf::from(dir), root });
            }
        }
        Ok(Corpus { root })
    }

    /// The stand-alone programs that must be accepted.
    pub fn samples(&self) -> Vec<Program> {
        let mut programs = self.programs(SAMPLES, ".p4");
        programs.retain(|p| !p.name.starts_with(FRAGMENTS));
        programs
    }

    /// The programs that must be rejected.
    pub fn errors(&self) -> Vec<Program> {
        self.programs(ERRORS, ".p4")
    }

    /// The outputs of p4c's passes for the samples: programs again.
    pub fn rewritten(&self) -> Vec<Program> {
        let mut programs = self.programs("testdata/p4_16_samples_outputs", ".p4");
        programs.retain(|p| ["-first.p4", "-frontend.p4", "-midend.p4"].iter().any(|s| p.name.ends_with(s)));
        programs
    }

    /// Golden files of the samples by the end of their names.
    pub fn sample_outputs(&self, suffix: &str) -> Vec<Program> {
        self.programs("testdata/p4_16_samples_outputs", suffix)
    }

    /// p4c's messages for a program of [`Corpus::errors`].
    pub fn error_output(&self, name: &str) -> Option<String> {
        let path = self.root.join(format!("{ERRORS}_outputs/{name}-stderr"));
        let bytes = std::fs::read(path).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The test scripts below a directory of the checkout.
    pub(crate) fn scripts(&self, dir: &str) -> Vec<Program> {
        self.programs(dir, ".stf")
    }

    /// A file or directory of the checkout.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub fn sample_path(&self, name: &str) -> PathBuf {
        self.root.join(SAMPLES).join(name)
    }

    /// Include files of targets whose architectures are not ours to define.
    pub(crate) fn target_include(&self, name: &str) -> Option<PathBuf> {
        let is_target = name.starts_with("dpdk/") || name.starts_with("tc/");
        is_target.then(|| self.root.join("p4include").join(name))
    }

    /// Files of a directory and those below, by name.
    fn programs(&self, dir: &str, suffix: &str) -> Vec<Program> {
        let base = self.root.join(dir);
        let (mut found, mut dirs) = (Vec::new(), vec![base.clone()]);
        while let Some(dir) = dirs.pop() {
            let Ok(entries) = std::fs::read_dir(&dir) else { continue };
            for path in entries.flatten().map(|e| e.path()) {
                if path.is_dir() {
                    dirs.push(path);
                } else if path.to_string_lossy().ends_with(suffix) {
                    found.push(Program { name: relative(&path, &base), path });
                }
            }
        }
        found.sort_by(|a, b| a.name.cmp(&b.name));
        found
    }
}

fn relative(path: &Path, base: &Path) -> String {
    path.strip_prefix(base).unwrap_or(path).to_string_lossy().into_owned()
}

/// One file to judge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Path below the directory of its suite, with forward slashes.
    pub name: String,
    pub path: PathBuf,
}
