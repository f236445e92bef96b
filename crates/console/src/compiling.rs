//! From a program to a compiled one, and what to say when there is none.

use crate::CcArgs;
use crate::Loaded;
use crate::output::{self, Exit};
use diagnostics::SourceMap;
use externs::ExternSet;
use ir::Program;
use native::{
    BuildError, CacheOptions, Cached, CompileError, CompileOptions, CompilerError, Machine, Optimise,
    Pipeline, Refused,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Lines shown of what a compiler says.
const MESSAGES_SHOWN: usize = 30;

/// C lines shown of what a compiler refuses.
const LINES_SHOWN: usize = 5;

/// A program as C is made from it.
#[derive(Clone)]
pub struct Prepared {
    pub program: Arc<Program>,
    pub sources: Arc<SourceMap>,
    /// Name of the program: that of its file without suffix.
    pub name: String,
    pub externs: ExternSet,
}

impl Prepared {
    /// Without passes: every step is one of the program's own.
    pub fn as_written(loaded: &Loaded, name: &str) -> Prepared {
        let program = Arc::new(loaded.runnable.program.clone());
        let externs = loaded.externs.clone();
        Prepared { program, sources: Arc::clone(&loaded.sources), name: name.to_string(), externs }
    }

    /// After the passes.
    pub fn new(loaded: &Loaded, name: &str) -> Result<Prepared, Exit> {
        let mut program = loaded.runnable.program.clone();
        ir::passes::run(&mut program, ir::passes::DEFAULT).map_err(|error| {
            output::error_line(&format!("internal bug: {error}"));
            Exit::Bug
        })?;
        let sources = Arc::clone(&loaded.sources);
        let externs = loaded.externs.clone();
        Ok(Prepared { program: Arc::new(program), sources, name: name.to_string(), externs })
    }

    pub fn c_text(&self, options: codegen::Options) -> String {
        let options = codegen::Options { program_name: self.name.clone(), ..options };
        codegen::generate(&self.program, &self.sources, &options)
    }

    /// Compiles and loads it.
    pub fn pipeline(&self, compiling: &Compiling) -> Result<Arc<Pipeline>, Exit> {
        self.pipeline_of(&self.c_text(codegen::Options::default()), compiling)
    }

    /// Compiles and loads C text that was generated for it.
    pub fn pipeline_of(&self, text: &str, compiling: &Compiling) -> Result<Arc<Pipeline>, Exit> {
        native::build_text_with(text, &compiling.options, &self.externs, self.program.architecture)
            .map_err(|error| show(&error, compiling))
    }
}

/// How to compile, and where to.
pub struct Compiling {
    pub options: CompileOptions,
    /// Instead of the cache.
    scratch: Option<ScratchDir>,
    /// The user names neither the compiler nor flags, so whatever goes wrong is ours.
    is_usual: bool,
}

impl Compiling {
    pub fn new(args: &CcArgs) -> Result<Compiling, Exit> {
        let scratch = match args.no_cache {
            true => Some(ScratchDir::new().map_err(|error| {
                output::error_line(&format!("cannot make a directory for temporary files: {error}"));
                Exit::Environment
            })?),
            false => None,
        };
        let options = CompileOptions {
            compiler: args.cc.clone(),
            optimise: match args.optimise {
                0 => Optimise::Nothing,
                1 => Optimise::Little,
                _ => Optimise::Most,
            },
            machine: if args.portable { Machine::Any } else { Machine::ThisOne },
            extra_flags: extra_flags(args),
            cache: CacheOptions {
                dir: scratch.as_ref().map(|scratch| scratch.path.clone()),
                ..CacheOptions::default()
            },
            ..CompileOptions::default()
        };
        if let Some(note) = native::cache_note(&options.cache) {
            output::warning_line(&note);
        }
        let is_usual = args.cc.is_none() && args.cflags.is_empty() && std::env::var_os("CC").is_none();
        Ok(Compiling { options, scratch, is_usual })
    }

    /// Says what is wrong when C text cannot be compiled.
    pub fn compile(&self, text: &str) -> Result<Cached, Exit> {
        native::compile(text, &self.options).map_err(|error| show(&error.into(), self))
    }

    /// Compiles and loads C text; says what is wrong with it.
    pub fn pipeline(&self, text: &str) -> Result<Arc<Pipeline>, Exit> {
        native::build_text(text, &self.options).map_err(|error| show(&error, self))
    }
}

/// The last of several levels of optimisation counts.
fn extra_flags(args: &CcArgs) -> Vec<String> {
    let level = (args.optimise == 2).then(|| "-O2".to_string());
    let typed = args.cflags.iter().flat_map(|flags| flags.split_whitespace()).map(str::to_string);
    level.into_iter().chain(typed).collect()
}

/// A directory for temporary files with a name that nobody can foresee; it goes when it is dropped. Directories that
/// processes have left which were killed go when the next one is made.
pub struct ScratchDir {
    pub path: PathBuf,
    _dir: tempfile::TempDir,
}

/// Directories begin so; the number of the process and something random follow.
const SCRATCH: &str = "siding-build-";

impl ScratchDir {
    pub fn new() -> std::io::Result<ScratchDir> {
        let parent = std::env::temp_dir();
        remove_leftovers(&parent);
        let prefix = format!("{SCRATCH}{}-", std::process::id());
        let dir = tempfile::Builder::new().prefix(&prefix).tempdir_in(parent)?;
        Ok(ScratchDir { path: dir.path().to_owned(), _dir: dir })
    }
}

/// Removes scratch directories of processes that are gone. Those of other users stay: they cannot be removed.
fn remove_leftovers(parent: &Path) {
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid =
            name.to_str().and_then(|name| name.strip_prefix(SCRATCH)?.split('-').next()?.parse::<u32>().ok());
        let is_gone = pid.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists());
        if is_gone && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// Says why there is no compiled program.
pub fn show(error: &BuildError, compiling: &Compiling) -> Exit {
    match error {
        BuildError::Compile(CompileError::Refused(refused)) => {
            show_refused(refused, compiling);
            // Flags and compilers that the user names are the user's.
            if compiling.is_usual { Exit::Bug } else { Exit::Environment }
        }
        BuildError::Compile(CompileError::Compiler(error)) => {
            output::error_line(&error.to_string());
            if let CompilerError::NotFound { .. } | CompilerError::CannotRun { .. } = error {
                output::err(INSTALL);
            }
            Exit::Environment
        }
        BuildError::Compile(CompileError::Cache(_)) | BuildError::Load(_) => {
            output::error_line(&error.to_string());
            Exit::Environment
        }
        BuildError::Externs(error) => {
            output::error_line(&error.to_string());
            Exit::CompileError
        }
    }
}

const INSTALL: &str = "To install one: `apt-get install gcc` (Debian, Ubuntu), `dnf install gcc` (Fedora), \
    `apk add gcc musl-dev` (Alpine); `siding doctor` says what else is missing\n";

/// A fault in what Siding generates, unless the user's own flags are to blame.
fn show_refused(refused: &Refused, compiling: &Compiling) {
    let Refused { compiler, source_file, messages, p4_line } = refused;
    let flags = &compiling.options.extra_flags;
    let whose = if compiling.is_usual { "internal bug: " } else { "" };
    output::error_line(&format!("{whose}{} does not accept the generated C", compiler.display()));
    for line in messages.lines().take(MESSAGES_SHOWN) {
        output::err(&format!("{line}\n"));
    }
    let n_left = messages.lines().count().saturating_sub(MESSAGES_SHOWN);
    if n_left > 0 {
        output::err(&format!("({n_left} more lines)\n"));
    }
    let kept = match &compiling.scratch {
        // The directory goes, so the text is kept beside it.
        Some(scratch) => {
            let kept = PathBuf::from(format!("{}.c", scratch.path.display()));
            std::fs::copy(source_file, &kept).map_or_else(|_| source_file.clone(), |_| kept)
        }
        None => source_file.clone(),
    };
    match kept.is_file() {
        true => output::err(&format!("The C text is kept in {}\n", kept.display())),
        false => output::err("It is the part of the runtime that all programs share\n"),
    }
    if let Some(place) = p4_line {
        output::err(&format!("It is about {}, line {}, which is in C:\n", place.file, place.line));
        let text = std::fs::read_to_string(&kept).unwrap_or_default();
        for (number, line) in c_lines(&text, &place.file, place.line).iter().take(LINES_SHOWN) {
            output::err(&format!("{number:6} | {line}\n"));
        }
    }
    if !flags.is_empty() {
        output::err(&format!("These flags are not Siding's: {}\n", flags.join(" ")));
    } else if compiling.is_usual {
        output::err("Please report it together with the P4 program.\n");
    } else {
        output::err("Siding is tested with gcc and clang; --cc or the variable CC names another compiler\n");
    }
}

/// The lines of a C text that `#line` says are those of a line of another file, with their numbers.
fn c_lines<'t>(text: &'t str, file: &str, line: u32) -> Vec<(usize, &'t str)> {
    let mut found = Vec::new();
    let mut presumed: Option<(u32, bool)> = None;
    for (number, c_line) in text.lines().enumerate().map(|(i, c_line)| (i + 1, c_line)) {
        if let Some(rest) = c_line.trim_start().strip_prefix("#line ") {
            let (next, name) = rest.split_once(' ').unwrap_or((rest, ""));
            let is_file = match name.trim().trim_matches('"') {
                "" => presumed.is_some_and(|(_, is_file)| is_file),
                name => name == file,
            };
            presumed = next.parse().ok().map(|next| (next, is_file));
            continue;
        }
        if presumed == Some((line, true)) {
            found.push((number, c_line));
        }
        presumed = presumed.map(|(next, is_file)| (next + 1, is_file));
    }
    found
}

/// The name of `path` without directories and suffix.
pub fn stem(path: &Path) -> String {
    let stem = path.file_stem().filter(|_| path != Path::new("-"));
    stem.map_or_else(|| "program".to_string(), |stem| stem.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leftovers_of_dead_processes_go() {
        let parent = tempfile::tempdir().unwrap();
        // Larger than any number of a process.
        let dead = parent.path().join("siding-build-4294967295-abc");
        let own = parent.path().join(format!("siding-build-{}-abc", std::process::id()));
        let other = parent.path().join("siding-build-x");
        for dir in [&dead, &own, &other] {
            std::fs::create_dir(dir).unwrap();
        }
        remove_leftovers(parent.path());
        assert_eq!([&dead, &own, &other].map(|dir| dir.exists()), [false, true, true]);
    }

    #[test]
    fn lines_of_c_are_found() {
        let text = "a\n#line 7 \"x.p4\"\nb\nc\n#line 8 \"y.p4\"\nd\n#line 7 \"x.p4\"\ne\n#line 8\nf\n";
        assert_eq!(c_lines(text, "x.p4", 7), [(3, "b"), (8, "e")]);
        assert_eq!(c_lines(text, "x.p4", 8), [(4, "c"), (10, "f")]);
        assert_eq!(c_lines(text, "y.p4", 8), [(6, "d")]);
        assert_eq!(c_lines(text, "y.p4", 7), []);
    }
}
