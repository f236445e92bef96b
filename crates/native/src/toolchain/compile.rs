//! From C text to a shared object.

use crate::toolchain::cache::{
    CONTROL, Cache, CacheError, CacheOptions, Cached, HEADERS, Key, OBJECT, SOURCE, WorkDir,
};
use crate::toolchain::compiler::{Compiler, CompilerError};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

/// Variable of the environment with more flags for the C compiler, after all others.
pub const FLAGS_VARIABLE: &str = "SIDING_CFLAGS";

/// The file of the runtime that is compiled on its own.
const CONTROL_SOURCE: &str = "sd_control.c";

/// Defined for every program.
pub const PROGRAM_DEFINE: &str = "-DSD_CONTROL_ELSEWHERE";

/// Path below `rt/` and text of each file of the runtime.
pub const RUNTIME: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/headers.rs"));

/// Writes the files of the runtime below `dir`, which exists.
pub fn write_runtime(dir: &Path) -> io::Result<()> {
    for (name, text) in RUNTIME {
        let path = dir.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, text)?;
    }
    Ok(())
}

/// How C is compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileOptions {
    /// `None`: what the variable CC says, or the first of cc, gcc and clang.
    pub compiler: Option<PathBuf>,
    pub optimise: Optimise,
    pub machine: Machine,
    pub trace: Trace,
    /// Names as in `-fsanitize=`; what they need at run time has to be there before the program is loaded.
    pub sanitizers: Vec<String>,
    /// After all others.
    pub extra_flags: Vec<String>,
    /// For programs, not for what is the same for all of them: before the others.
    pub program_flags: Vec<String>,
    pub time_limit: Duration,
    /// Address space that each process of the compiler may have, in bytes.
    pub memory_limit_bytes: u64,
    pub cache: CacheOptions,
}

impl Default for CompileOptions {
    fn default() -> CompileOptions {
        CompileOptions {
            compiler: None,
            optimise: Optimise::Most,
            machine: Machine::ThisOne,
            trace: Trace::Off,
            sanitizers: Vec::new(),
            extra_flags: Vec::new(),
            program_flags: Vec::new(),
            time_limit: Duration::from_secs(300),
            memory_limit_bytes: 8 << 30,
            cache: CacheOptions::default(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Optimise {
    /// `-O0`: compiles fastest.
    Nothing,
    /// `-O1`
    Little,
    /// `-O3`
    Most,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Machine {
    /// With all instructions that this machine has.
    ThisOne,
    /// Any that the compiler makes code for.
    Any,
}

/// Selects code that reports every step to its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Trace {
    Off,
    On,
}

#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    #[error(transparent)]
    Compiler(#[from] CompilerError),
    #[error(transparent)]
    Refused(Box<Refused>),
    #[error(transparent)]
    Cache(#[from] CacheError),
}

/// The C compiler refuses the C text, which is a bug of the code generator.
#[derive(Debug, thiserror::Error)]
#[error("the C compiler `{}` refuses {}{}:\n{messages}", compiler.display(), source_file.display(), at(p4_line))]
pub struct Refused {
    pub compiler: PathBuf,
    /// The C text, left for inspection in one directory with the runtime's headers.
    pub source_file: PathBuf,
    pub messages: String,
    /// Place of the first error, if that is a line of P4.
    pub p4_line: Option<P4Line>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct P4Line {
    pub file: String,
    /// From 1.
    pub line: u32,
}

fn at(p4_line: &Option<P4Line>) -> String {
    p4_line.as_ref().map_or(String::new(), |p4| format!(" (at {}, line {})", p4.file, p4.line))
}

/// Compiles C text that includes `sd_runtime.h`, or finds what was compiled before.
pub fn compile(c_text: &str, options: &CompileOptions) -> Result<Cached, CompileError> {
    let compiler = Compiler::find(options.compiler.as_deref(), options.time_limit)?;
    let cache = Cache::open(&options.cache)?;
    let flags = options.flags();
    let program_flags = [options.program_flags.as_slice(), &flags].concat();
    let key = key_of(c_text, &compiler, &program_flags, options.machine);
    if let Some(cached) = cache.get(&key, OBJECT) {
        return Ok(cached);
    }
    let control = compile_control(&compiler, &cache, &flags, options)?;
    let work = cache.work_dir()?;
    work.write(Path::new(SOURCE), c_text)?;
    let mut args: Vec<OsString> = program_flags.iter().map(OsString::from).collect();
    args.extend(["-shared", PROGRAM_DEFINE].map(OsString::from));
    args.push(control.object.into_os_string());
    run(&compiler, &cache, work, &key, [Path::new(SOURCE), Path::new(OBJECT)], args, options)
}

/// The part of the runtime that is the same for all programs. Compiled once for each set of flags.
fn compile_control(
    compiler: &Compiler,
    cache: &Cache,
    flags: &[String],
    options: &CompileOptions,
) -> Result<Cached, CompileError> {
    let key = key_of(CONTROL, compiler, flags, options.machine);
    if let Some(cached) = cache.get(&key, CONTROL) {
        return Ok(cached);
    }
    let work = cache.work_dir()?;
    let mut args: Vec<OsString> = flags.iter().map(OsString::from).collect();
    args.push("-c".into());
    let source = Path::new(HEADERS).join(CONTROL_SOURCE);
    run(compiler, cache, work, &key, [&source, Path::new(CONTROL)], args, options)
}

/// Compiles `source`, a file in `work`, to `object` beside it, and makes that known.
pub(crate) fn run(
    compiler: &Compiler,
    cache: &Cache,
    work: WorkDir,
    key: &str,
    [source, object]: [&Path; 2],
    mut args: Vec<OsString>,
    options: &CompileOptions,
) -> Result<Cached, CompileError> {
    for (name, text) in RUNTIME {
        work.write(&Path::new(HEADERS).join(name), text)?;
    }
    args.extend(["-I", HEADERS, "-o"].map(OsString::from));
    args.extend([object, source].map(|path| path.as_os_str().to_owned()));
    let outcome = compiler.run(&args, &work.path, options.time_limit, options.memory_limit_bytes)?;
    if !outcome.status.success() {
        let kept = cache.keep(work, key);
        return Err(CompileError::Refused(Box::new(Refused {
            compiler: compiler.path.clone(),
            source_file: kept.join(source),
            p4_line: p4_line(&outcome.messages),
            messages: outcome.messages,
        })));
    }
    if !work.path.join(object).is_file() {
        return Err(CompilerError::NoOutput { path: compiler.path.clone() }.into());
    }
    Ok(cache.publish(work, key, &object.to_string_lossy(), &outcome.messages)?)
}

impl CompileOptions {
    /// Returns the flags for programs and for their shared code.
    pub fn flags(&self) -> Vec<String> {
        let optimise = match self.optimise {
            Optimise::Nothing => "-O0",
            Optimise::Little => "-O1",
            Optimise::Most => "-O3",
        };
        let fixed =
            ["-std=gnu11", optimise, "-fPIC", "-fno-plt", "-fno-semantic-interposition", "-Wall", "-Wextra"];
        let mut flags = fixed.map(str::to_owned).to_vec();
        if self.machine == Machine::ThisOne {
            flags.push("-march=native".to_owned());
        }
        if self.trace == Trace::On {
            flags.push("-DSD_TRACE".to_owned());
        }
        flags.extend(self.sanitizers.iter().map(|name| format!("-fsanitize={name}")));
        flags.extend(self.extra_flags.iter().cloned());
        // The user's flags for all programs, like `CFLAGS` of `make`.
        let wanted = std::env::var(FLAGS_VARIABLE).unwrap_or_default();
        flags.extend(wanted.split_whitespace().map(str::to_owned));
        flags
    }
}

pub(crate) fn key_of(c_text: &str, compiler: &Compiler, flags: &[String], machine: Machine) -> String {
    let mut key = Key::default();
    key.add(c_text.as_bytes());
    for (name, text) in RUNTIME {
        key.add(name.as_bytes());
        key.add(text.as_bytes());
    }
    key.add(compiler.path.as_os_str().as_encoded_bytes());
    key.add(compiler.version.as_bytes());
    for flag in flags {
        key.add(flag.as_bytes());
    }
    if machine == Machine::ThisOne {
        key.add(processor().as_bytes());
    }
    key.finish()
}

/// Returns the processor's model and instruction sets.
fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let first = text.split("\n\n").next().unwrap_or("");
    let tells =
        |line: &&str| ["model name", "flags", "Features", "CPU part"].iter().any(|w| line.starts_with(w));
    first.lines().filter(tells).collect::<Vec<_>>().join("\n")
}

/// Returns the place of the first error, unless that is in C.
fn p4_line(messages: &str) -> Option<P4Line> {
    let place_of = |line: &str| {
        let place = line.split_once(": error: ").or_else(|| line.split_once(": fatal error: "));
        place.map(|(place, _)| place.to_owned())
    };
    let place = messages.lines().find_map(place_of)?;
    // file:line:column, where the file may have colons, too.
    let (place, _column) = place.rsplit_once(':')?;
    let (file, line) = place.rsplit_once(':')?;
    let is_c = Path::new(file).extension().is_some_and(|e| e == "c" || e == "h");
    let line = line.parse().ok()?;
    (!is_c).then(|| P4Line { file: file.to_owned(), line })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_where_the_compiler_says() {
        let p4 = |file: &str, line| Some(P4Line { file: file.to_owned(), line });
        let cases = [
            ("a.p4:3:18: error: unknown type name 'x'\n", p4("a.p4", 3)),
            ("In file included from x\nc:/b.p4:41:1: fatal error: no\n", p4("c:/b.p4", 41)),
            ("a.p4: In function 'f':\na.p4:1:2: warning: w\na.p4:7:2: error: e\n", p4("a.p4", 7)),
            ("pipeline.c:3:18: error: unknown\na.p4:1:1: error: later\n", None),
            ("cc1: error: bad option\n", None),
            ("collect2: error: ld returned 1 exit status\n", None),
            ("", None),
        ];
        for (messages, expected) in cases {
            assert_eq!(p4_line(messages), expected, "{messages}");
        }
    }

    #[test]
    fn options_are_flags() {
        let options = CompileOptions {
            trace: Trace::On,
            sanitizers: vec!["address".into()],
            extra_flags: vec!["-g".into()],
            machine: Machine::Any,
            ..Default::default()
        };
        let flags = options.flags();
        assert!(flags.ends_with(&["-DSD_TRACE".into(), "-fsanitize=address".into(), "-g".into()]));
        assert!(!flags.contains(&"-march=native".to_owned()));
        assert!(CompileOptions::default().flags().contains(&"-march=native".to_owned()));
    }
}
