//! C that is not generated, over the runtime's headers: programs that benchmarks time, and libraries that fit another
//! project's headers to this one.
//!
//! Compiled with the compiler and the flags that programs are compiled with, and kept in the same cache.

use crate::toolchain::cache::{Cache, Cached};
use crate::toolchain::compile::{self, CompileError, CompileOptions};
use crate::toolchain::compiler::Compiler;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const EXECUTABLE: &str = "program";
const LIBRARY: &str = "library.so";
const LIBRARY_SOURCE: &str = "library.c";

/// The texts of a program, by their paths; `main` is the one that is compiled, which may include the others and the
/// runtime's headers.
#[derive(Clone, Debug)]
pub struct Texts<'t> {
    pub main: &'t str,
    pub files: Vec<(&'t str, &'t str)>,
}

/// A program that was compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Executable {
    pub path: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("`{}` cannot be run: {source}", path.display())]
    CannotRun { path: PathBuf, source: io::Error },
    #[error("`{}` has failed: {messages}", path.display())]
    Failed { path: PathBuf, messages: String },
}

/// Compiles and links a program, or finds what was compiled before.
pub fn executable(texts: &Texts<'_>, options: &CompileOptions) -> Result<Executable, CompileError> {
    let compiler = Compiler::find(options.compiler.as_deref(), options.time_limit)?;
    let cache = Cache::open(&options.cache)?;
    let flags = [options.program_flags.as_slice(), &options.flags()].concat();
    let parts = texts.files.iter().flat_map(|(name, text)| [*name, "\0", *text, "\0"]);
    let all: String = [texts.main, "\0"].into_iter().chain(parts).collect();
    let key = compile::key_of(&all, &compiler, &flags, options.machine);
    if let Some(cached) = cache.get(&key, EXECUTABLE) {
        return Ok(Executable { path: cached.object });
    }
    let work = cache.work_dir()?;
    for (name, text) in &texts.files {
        work.write(Path::new(name), text)?;
    }
    let args: Vec<OsString> = flags.iter().map(OsString::from).collect();
    let places = [Path::new(texts.main), Path::new(EXECUTABLE)];
    let cached = compile::run(&compiler, &cache, work, &key, places, args, options)?;
    Ok(Executable { path: cached.object })
}

/// Compiles C text to a shared object, or finds what was compiled before. `flags` come before those of the options; they say
/// everything that the result depends on, such as versions of other projects' headers.
pub fn library(text: &str, flags: &[String], options: &CompileOptions) -> Result<Cached, CompileError> {
    let compiler = Compiler::find(options.compiler.as_deref(), options.time_limit)?;
    let cache = Cache::open(&options.cache)?;
    let flags = [flags, options.flags().as_slice(), &["-shared".to_owned()]].concat();
    let key = compile::key_of(text, &compiler, &flags, options.machine);
    if let Some(cached) = cache.get(&key, LIBRARY) {
        return Ok(cached);
    }
    let work = cache.work_dir()?;
    work.write(Path::new(LIBRARY_SOURCE), text)?;
    let args: Vec<OsString> = flags.iter().map(OsString::from).collect();
    let places = [Path::new(LIBRARY_SOURCE), Path::new(LIBRARY)];
    compile::run(&compiler, &cache, work, &key, places, args, options)
}

/// Runs a program to its end; gives the lines that it prints.
pub fn run(path: &Path, args: &[String]) -> Result<Vec<String>, RunError> {
    let output = Command::new(path).args(args).stdin(Stdio::null()).output();
    let output = output.map_err(|source| RunError::CannotRun { path: path.to_owned(), source })?;
    if !output.status.success() {
        let messages = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        let messages = if messages.is_empty() { output.status.to_string() } else { messages };
        return Err(RunError::Failed { path: path.to_owned(), messages });
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}
