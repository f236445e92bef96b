//! Programs and the test scripts beside them.

use diagnostics::SourceMap;
use driver::Runnable;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

pub struct Case {
    /// From the root of the project on.
    pub name: String,
    pub runnable: Runnable,
    pub sources: SourceMap,
    pub scripts: Vec<PathBuf>,
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub fn load(program: &Path, scripts: Vec<PathBuf>) -> Case {
    let source = driver::read_source(program).unwrap();
    let mut checked = driver::check(&source, &driver::FileLoader::default(), &driver::Options::default());
    let runnable =
        driver::runnable(&mut checked, None).unwrap_or_else(|| panic!("{:?}", checked.diagnostics));
    let name = program.strip_prefix(root()).unwrap_or(program).display().to_string();
    Case { name, runnable, sources: checked.sources, scripts }
}

/// Each script of a directory with the program of its name, or with `program.p4`.
pub fn cases_in(dir: &Path) -> Vec<Case> {
    let mut scripts_of: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
    for script in files(dir, "stf") {
        let named = script.with_extension("p4");
        let program = if named.is_file() { named } else { dir.join("program.p4") };
        scripts_of.entry(program).or_default().push(script);
    }
    scripts_of.into_iter().map(|(program, scripts)| load(&program, scripts)).collect()
}

/// The directories of the programs that are there for tests.
pub fn dirs() -> Vec<PathBuf> {
    let all = fs::read_dir(root().join("tests/programs")).unwrap();
    let mut dirs: Vec<PathBuf> =
        all.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
    dirs.sort();
    dirs
}

pub fn files(dir: &Path, extension: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == extension));
    files.sort();
    files
}
