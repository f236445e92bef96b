//! Compilers and caches that misbehave: each gets a clear error, and nothing is left running or kept.

mod common;

use common::TestDir;
use native::{BuildError, CompileError, CompileOptions, CompilerError, build_text, compile};
use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const C: &str = "#include \"base/sd_base.h\"\nint answer(void) { return 42; }\n";

/// The directory in which [`compiles_when_asked`] works.
const DIR_VARIABLE: &str = "SIDING_TEST_COMPILES_IN";

/// Long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A compiler that tells a version and otherwise runs `body`.
fn script(dir: &Path, body: &str) -> PathBuf {
    let path = dir.join("cc-script");
    let text = format!("#!/bin/sh\ncase \"$1\" in --version) echo script 1; exit 0 ;; esac\n{body}\n");
    // Another process writes it: a descriptor that a process started meanwhile has inherited would keep it from running.
    let mut install = Command::new("install");
    install.args(["-m", "755", "/dev/stdin"]).arg(&path).stdin(Stdio::piped());
    let mut child = install.spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    path
}

fn with_compiler(dir: &TestDir, body: &str) -> CompileOptions {
    CompileOptions { compiler: Some(script(&dir.path, body)), ..dir.options() }
}

fn compiler_error(options: &CompileOptions) -> CompilerError {
    match compile(C, options).unwrap_err() {
        CompileError::Compiler(error) => error,
        other => panic!("{other}"),
    }
}

fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn is_running(pid: &str) -> bool {
    fs::read_to_string(Path::new("/proc").join(pid).join("stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// Not a test of its own: what other tests start as a process, with a directory whose `cc-script` is the compiler.
#[test]
fn compiles_when_asked() {
    let Some(dir) = std::env::var_os(DIR_VARIABLE).map(PathBuf::from) else { return };
    let options = CompileOptions {
        compiler: Some(dir.join("cc-script")),
        cache: native::CacheOptions { dir: Some(dir.join("cache")), ..Default::default() },
        ..Default::default()
    };
    let _ = compile(C, &options);
}

fn compiling_process(dir: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "compiles_when_asked"]).env(DIR_VARIABLE, dir).stdout(Stdio::null());
    command.spawn().unwrap()
}

#[test]
fn a_compiler_does_not_outlive_the_process_that_started_it() {
    let dir = TestDir::new();
    let child = dir.path.join("child");
    // As cc starts cc1.
    script(&dir.path, &format!("sleep 600 &\necho $! > {0}.new; mv {0}.new {0}\nwait", child.display()));
    let mut process = compiling_process(&dir.path);
    let pid = wait_for("the compiler starts", || fs::read_to_string(&child).ok());
    assert!(is_running(pid.trim()));
    process.kill().unwrap();
    assert_eq!(process.wait().unwrap().signal(), Some(9));
    wait_for("the compiler's child goes on", || (!is_running(pid.trim())).then_some(()));
}

#[test]
fn a_compiler_that_hangs_at_its_version_is_given_up() {
    let dir = TestDir::new();
    for body in ["sleep 600", "yes"] {
        let path = script(&dir.path, "");
        let text = fs::read_to_string(&path).unwrap().replace("echo script 1; exit 0", body);
        // In place: the file's mode stays.
        let other = path.with_file_name(format!("cc-{}", &body[..3]));
        let mut install = Command::new("install");
        let mut child =
            install.args(["-m", "755", "/dev/stdin"]).arg(&other).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        assert!(child.wait().unwrap().success());
        let time_limit = Duration::from_millis(300);
        let options = CompileOptions { compiler: Some(other), time_limit, ..dir.options() };
        let error = compiler_error(&options);
        assert!(matches!(error, CompilerError::TimedOut { .. }), "{body}: {error}");
    }
}

#[test]
fn a_compiler_that_the_system_kills_is_not_our_bug() {
    let dir = TestDir::new();
    let as_gcc_says = "echo 'gcc: fatal error: Killed signal terminated program cc1' >&2; exit 1";
    for body in ["kill -KILL $$", as_gcc_says] {
        let error = compiler_error(&with_compiler(&dir, body));
        assert!(matches!(error, CompilerError::Killed { .. }), "{body}: {error}");
        assert!(error.to_string().contains("memory"), "{error}");
    }
}

#[test]
fn a_compiler_has_a_limit_of_memory() {
    let dir = TestDir::new();
    let options = CompileOptions { memory_limit_bytes: 24 << 20, ..dir.options() };
    // Neither the program nor what all programs share can be compiled in it.
    let error = compile(C, &options).unwrap_err();
    assert!(compile(C, &dir.options()).is_ok());
    assert!(!matches!(error, CompileError::Cache(_)), "{error}");
}

#[test]
fn messages_of_a_compiler_cannot_drive_a_terminal() {
    let dir = TestDir::new();
    let options = with_compiler(&dir, "printf 'error: \\033]0;title\\007\\tx\\n' >&2; exit 1");
    let CompileError::Refused(refused) = compile(C, &options).unwrap_err() else { panic!() };
    assert_eq!(refused.messages, "error: \\u{1b}]0;title\\u{7}\tx\n");
}

#[test]
fn a_compiler_that_writes_nothing_is_told() {
    let dir = TestDir::new();
    let error = compiler_error(&with_compiler(&dir, "exit 0"));
    assert!(matches!(error, CompilerError::NoOutput { .. }), "{error}");
    assert!(error.to_string().contains("cc-script"), "{error}");
}

#[test]
fn an_object_that_cannot_be_loaded_does_not_stay_in_the_cache() {
    let dir = TestDir::new();
    // Objects for what all programs share are good; of the program it writes something else.
    let body = "for a in \"$@\"; do last=\"$out\"; out=\"$a\"; done\n\
                case \" $* \" in *' -shared '*) ;; *) exec cc \"$@\" ;; esac\n\
                echo 'no ELF file' > pipeline.so";
    let options = with_compiler(&dir, body);
    for _ in 0..2 {
        let error = build_text(C, &options).unwrap_err();
        assert!(matches!(error, BuildError::Load(_)), "{error}");
    }
    let objects = fs::read_dir(dir.path.join("cache")).unwrap().flatten();
    let n_programs = objects.filter(|entry| entry.path().join("pipeline.so").exists()).count();
    assert_eq!(n_programs, 0);
}

#[test]
fn a_cache_that_cannot_be_written_is_named() {
    let dir = TestDir::new();
    let file = dir.path.join("file");
    fs::write(&file, "").unwrap();
    let cache = native::CacheOptions { dir: Some(file.join("cache")), ..Default::default() };
    let error = compile(C, &CompileOptions { cache, ..dir.options() }).unwrap_err();
    assert!(matches!(error, CompileError::Cache(_)));
    assert!(error.to_string().contains("file/cache"), "{error}");
}
