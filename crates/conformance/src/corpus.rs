//! The programs that are judged: those of a checkout of p4lang/p4c, or programs of one's own.

use std::collections::HashMap;
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

/// Programs to judge.
#[derive(Clone, Debug)]
pub struct Corpus {
    root: PathBuf,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    /// A checkout of p4lang/p4c.
    Checkout,
    /// A directory with programs, and p4c's output beside them.
    Programs(Preprocessing),
}

/// How programs of one's own find their includes.
#[derive(Clone, Debug, Default)]
pub struct Preprocessing {
    pub include_dirs: Vec<PathBuf>,
    /// In the form of the option `-D`: `NAME`, `NAME=VALUE`.
    pub defines: Vec<String>,
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
        Ok(Corpus { root, kind: Kind::Checkout })
    }

    /// The programs of a directory and those below.
    pub fn of_programs(root: impl Into<PathBuf>, preprocessing: Preprocessing) -> std::io::Result<Corpus> {
        let root = root.into();
        std::fs::read_dir(&root)?;
        Ok(Corpus { root, kind: Kind::Programs(preprocessing) })
    }

    /// No programs, for suites that bring their own ([`Suite::needs_corpus`](crate::Suite::needs_corpus)).
    pub fn none() -> Corpus {
        Corpus { root: PathBuf::new(), kind: Kind::Programs(Preprocessing::default()) }
    }

    /// How programs of one's own find their includes; `None` for a checkout.
    pub(crate) fn preprocessing(&self) -> Option<&Preprocessing> {
        match &self.kind {
            Kind::Checkout => None,
            Kind::Programs(preprocessing) => Some(preprocessing),
        }
    }

    /// The stand-alone programs that must be accepted. In a directory of programs these are the files that
    /// have or include a `main` and that no other file includes.
    pub fn samples(&self) -> Vec<Program> {
        if let Some(preprocessing) = self.preprocessing() {
            return stand_alone(self.programs("", ".p4"), preprocessing);
        }
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
        if self.preprocessing().is_some() {
            return self.samples().into_iter().filter_map(|sample| kept_output(&sample, suffix)).collect();
        }
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
        match self.kind {
            Kind::Checkout => self.root.join(SAMPLES).join(name),
            Kind::Programs(_) => self.root.join(name),
        }
    }

    /// Include files of targets whose architectures are not ours to define.
    pub(crate) fn target_include(&self, name: &str) -> Option<PathBuf> {
        if self.preprocessing().is_some() {
            return None;
        }
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

/// The files that have or include a `main` and that no other one includes.
fn stand_alone(files: Vec<Program>, preprocessing: &Preprocessing) -> Vec<Program> {
    let text = |file: &Program| {
        let bytes = std::fs::read(&file.path).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let texts: Vec<String> = files.iter().map(text).collect();
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let numbers: HashMap<PathBuf, usize> =
        files.iter().enumerate().map(|(i, file)| (real(&file.path), i)).collect();
    let includes_of = |(file, text): (&Program, &String)| {
        let others = preprocessing.include_dirs.iter().map(PathBuf::as_path);
        let dirs: Vec<&Path> = file.path.parent().into_iter().chain(others).collect();
        let find = |name: &str| dirs.iter().find_map(|dir| numbers.get(&real(&dir.join(name))).copied());
        included(text).filter_map(find).collect()
    };
    let includes: Vec<Vec<usize>> = files.iter().zip(&texts).map(includes_of).collect();
    let is_included = |i: usize| includes.iter().enumerate().any(|(from, all)| from != i && all.contains(&i));
    let reaches_main = |i: usize| {
        let (mut seen, mut stack) = (vec![false; texts.len()], vec![i]);
        while let Some(i) = stack.pop() {
            if has_main(&texts[i]) {
                return true;
            }
            if !std::mem::replace(&mut seen[i], true) {
                stack.extend(&includes[i]);
            }
        }
        false
    };
    let wanted: Vec<bool> = (0..texts.len()).map(|i| !is_included(i) && reaches_main(i)).collect();
    files.into_iter().zip(wanted).filter(|(_, is_wanted)| *is_wanted).map(|(file, _)| file).collect()
}

/// The names in the `#include` directives of a text.
fn included(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?.trim_start();
        let end = match rest.chars().next()? {
            '"' => '"',
            '<' => '>',
            _ => return None,
        };
        rest[1..].split(end).next()
    })
}

/// True for a text that instantiates `main`.
fn has_main(text: &str) -> bool {
    let mut lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.any(|line| {
        let before =
            line.trim_end().strip_suffix(';').map(str::trim_end).and_then(|l| l.strip_suffix("main"));
        before.is_some_and(|before| before.is_empty() || before.ends_with([' ', ')']))
    })
}

/// A file of p4c's output for a program: `x.p4.p4info.txtpb` or `x.p4info.txtpb`, or the same with `.txt`. It gets the name
/// that it has among p4c's outputs. `suffix` begins with `.p4`.
fn kept_output(sample: &Program, suffix: &str) -> Option<Program> {
    let what = suffix.strip_prefix(".p4").unwrap_or(suffix);
    let stem = sample.path.with_extension("");
    let with_suffix = |path: &Path, what: &str| PathBuf::from(format!("{}{what}", path.display()));
    let older = what.replace(".txtpb", ".txt");
    let candidates = [what, &older].map(|what| [with_suffix(&sample.path, what), with_suffix(&stem, what)]);
    let path = candidates.into_iter().flatten().find(|path| path.is_file())?;
    Some(Program { name: format!("{}{what}", sample.name), path })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_told_from_what_they_include() {
        for (text, is_program) in [
            ("V1Switch(P(), C()) main;\n", true),
            ("V1Switch(P(), C())\n main ;  // the switch\n", true),
            ("// V1Switch(P(), C()) main;\n", false),
            ("control domain;\n", false),
            ("", false),
        ] {
            assert_eq!(has_main(text), is_program, "{text}");
        }
    }

    #[test]
    fn kept_output_is_found() {
        let dir = std::env::temp_dir().join(format!("siding-corpus-{}", std::process::id()));
        std::fs::create_dir_all(dir.join("sub")).unwrap();
        let main = "S() main;";
        let files = [
            ("a.p4", main),
            ("sub/b.p4", main),
            ("c.p4", "x"),
            ("d.p4", "#include <core.p4>\n  # include \"sub/e.p4\"\n"),
            ("sub/e.p4", main),
            ("a.p4info.txt", ""),
            ("sub/b.p4.p4info.txtpb", ""),
        ];
        for (name, text) in files {
            std::fs::write(dir.join(name), text).unwrap();
        }
        let corpus = Corpus::of_programs(&dir, Preprocessing::default()).unwrap();
        let names = |programs: Vec<Program>| programs.into_iter().map(|p| p.name).collect::<Vec<_>>();
        assert_eq!(names(corpus.samples()), ["a.p4", "d.p4", "sub/b.p4"]);
        assert_eq!(
            names(corpus.sample_outputs(".p4.p4info.txtpb")),
            ["a.p4.p4info.txtpb", "sub/b.p4.p4info.txtpb"]
        );
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
