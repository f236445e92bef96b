//! The front end as the suites call it.

use crate::Corpus;
use crate::corpus::Program;
use diagnostics::{Diagnostic, SourceMap, render};
use driver::{Architecture, Checked, ControlPlane, FileLoader, Options, Source};
use std::path::Path;
use syntax::{IncludeKind, LoadedFile, Loader, MacroOption};

/// Siding's include files, and p4c's for targets that Siding does not define.
struct CorpusLoader<'a> {
    files: FileLoader,
    corpus: &'a Corpus,
}

impl<'a> CorpusLoader<'a> {
    fn new(corpus: &'a Corpus) -> CorpusLoader<'a> {
        let mut files = FileLoader::default();
        if let Some(preprocessing) = corpus.preprocessing() {
            files.include_dirs.clone_from(&preprocessing.include_dirs);
        }
        CorpusLoader { files, corpus }
    }
}

impl Loader for CorpusLoader<'_> {
    fn load(&self, name: &str, kind: IncludeKind, from: &str) -> Option<LoadedFile> {
        self.files.load(name, kind, from).or_else(|| {
            let path = self.corpus.target_include(name)?;
            let text = driver::read_source(&path).ok()?.text;
            Some(LoadedFile { name: path.to_string_lossy().into_owned(), text, is_system: true })
        })
    }
}

/// Checks a program of the corpus. `Err` when it cannot be read.
pub(crate) fn check(corpus: &Corpus, program: &Program) -> Result<Checked, String> {
    Ok(check_source(corpus, &read(&program.path)?))
}

pub(crate) fn check_source(corpus: &Corpus, source: &Source) -> Checked {
    let mut options = Options::default();
    // p4c writes these out after it has replaced `type` declarations by what they are over, while the
    // architecture's include file keeps them: only without the distinction do the two fit together.
    options.check.transparent_newtypes = source.name.ends_with("-midend.p4");
    options.syntax.macros.extend(macros(corpus));
    driver::check(source, &CorpusLoader::new(corpus), &options)
}

pub(crate) fn parse(corpus: &Corpus, source: &Source) -> syntax::Parsed {
    let mut options = Options::default();
    options.syntax.macros.extend(macros(corpus));
    driver::parse(source, &CorpusLoader::new(corpus), &options)
}

/// The macros that the user defines for programs of one's own.
fn macros(corpus: &Corpus) -> Vec<MacroOption> {
    let defines = corpus.preprocessing().map_or(&[][..], |preprocessing| &preprocessing.defines);
    let define = |text: &String| match text.split_once('=') {
        Some((name, value)) => MacroOption::Define(name.to_owned(), value.to_owned()),
        None => MacroOption::Define(text.clone(), "1".to_owned()),
    };
    defines.iter().map(define).collect()
}

pub(crate) fn read(path: &Path) -> Result<Source, String> {
    driver::read_source(path).map_err(|e| e.to_string())
}

/// The first error as one line; places are named below the corpus.
pub(crate) fn first_error(checked: &Checked) -> Option<String> {
    first_error_diagnostic(checked).map(|d| short(d, &checked.sources))
}

pub(crate) fn first_error_diagnostic(checked: &Checked) -> Option<&Diagnostic> {
    checked.diagnostics.iter().find(|d| d.is_error())
}

pub(crate) fn short(d: &Diagnostic, sources: &SourceMap) -> String {
    let text = render::short(d, sources);
    match text.split_once("/testdata/") {
        Some((_, rest)) => rest.split_once('/').map_or(rest, |(_, r)| r).to_string(),
        None => text,
    }
}

/// Checks, and if nothing is wrong makes P4Info, which may find out more; `None` after errors.
pub(crate) fn check_and_make_p4info(
    corpus: &Corpus,
    program: &Program,
) -> Result<(Checked, Option<ControlPlane>), String> {
    let source = read(&program.path)?;
    let mut checked = check_source(corpus, &source);
    // p4c's own tests name it on the command line; elsewhere it is that of `main`.
    let arch = match corpus.preprocessing() {
        None => Some(included_architecture(&source.text).unwrap_or_else(Architecture::v1model)),
        Some(_) => None,
    };
    let made = driver::control_plane(&mut checked, arch);
    Ok((checked, made))
}

/// The architecture that p4c's tests name on the command line: that of the first include file that has one. By default
/// p4c assumes v1model.
fn included_architecture(text: &str) -> Option<Architecture> {
    text.lines().find_map(|line| {
        let (_, after) = line.split_once("include")?;
        let name = ["v1model", "pna", "psa", "ubpf"]
            .into_iter()
            .find(|name| Architecture::of_name(name).is_some_and(|a| after.contains(&a.include)));
        name.and_then(Architecture::of_name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn include_files_tell_the_architecture() {
        assert_eq!(
            included_architecture("#include <core.p4>\n#include <bmv2/psa.p4>"),
            Architecture::of_name("psa")
        );
        assert_eq!(
            included_architecture("#include \"pna.p4\"\n#include <psa.p4>"),
            Architecture::of_name("pna")
        );
        assert_eq!(included_architecture("#include <core.p4>\n// v1model.p4"), None);
    }
}
