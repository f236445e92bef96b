//! Compiling and the cache: hits, concurrency, damage, size, and what goes wrong.

mod common;

use common::TestDir;
use native::{CompileError, CompileOptions, CompilerError, P4Line, Trace, compile};
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

const C: &str = "#include \"base/sd_base.h\"\nint answer(void) { return 42; }\n";

/// A compiler that writes down that it ran, and then runs another.
fn counting_compiler(dir: &Path) -> (PathBuf, PathBuf) {
    let (script, log) = (dir.join("counting-cc"), dir.join("runs"));
    let text = format!(
        "#!/bin/sh\ncase \"$1\" in --version) ;; *) echo run >> {} ;; esac\nexec cc \"$@\"\n",
        log.display()
    );
    write_script(&script, &text);
    (script, log)
}

/// Another process writes it: a program that another test starts meanwhile would hold this process's descriptor, and
/// what somebody may write to cannot be run.
fn write_script(path: &Path, text: &str) {
    let mut install = Command::new("install");
    let mut child =
        install.args(["-m", "755", "/dev/stdin"]).arg(path).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
}

fn n_runs(log: &Path) -> usize {
    fs::read_to_string(log).map_or(0, |text| text.lines().count())
}

/// What the cache holds: what all programs share, and programs.
fn n_left(dir: &TestDir) -> usize {
    fs::read_dir(dir.path.join("cache")).unwrap().count()
}

fn counted(dir: &TestDir) -> (CompileOptions, PathBuf) {
    let (compiler, log) = counting_compiler(&dir.path);
    (CompileOptions { compiler: Some(compiler), ..dir.options() }, log)
}

fn age(path: &Path, by: Duration) {
    fs::File::open(path).unwrap().set_modified(SystemTime::now() - by).unwrap();
}

#[test]
fn the_same_content_is_compiled_once() {
    let dir = TestDir::new();
    let (options, log) = counted(&dir);
    let first = compile(C, &options).unwrap();
    assert_eq!(compile(C, &options).unwrap(), first);
    // What all programs share, and the program.
    assert_eq!(n_runs(&log), 2);
    assert_eq!(fs::read_to_string(&first.source).unwrap(), C);
    // Anything else that decides what comes out makes it another program, and another text no other flags.
    let others = [
        (format!("{C}\n"), options.clone(), 3),
        (C.to_owned(), CompileOptions { trace: Trace::On, ..options.clone() }, 5),
        (C.to_owned(), CompileOptions { extra_flags: vec!["-DX".into()], ..options.clone() }, 7),
    ];
    for (text, options, n) in &others {
        assert_ne!(compile(text, options).unwrap().object, first.object);
        assert_eq!(n_runs(&log), *n);
    }
}

#[test]
fn warnings_are_kept_with_the_program() {
    let dir = TestDir::new();
    let warned = "int f(int unused) { return 0; }\n";
    let first = compile(warned, &dir.options()).unwrap();
    assert!(first.messages.contains("unused"), "{}", first.messages);
    assert_eq!(compile(warned, &dir.options()).unwrap(), first);
    assert_eq!(compile(C, &dir.options()).unwrap().messages, "");
}

#[test]
fn a_damaged_object_is_made_anew() {
    let dir = TestDir::new();
    let (options, log) = counted(&dir);
    let object = compile(C, &options).unwrap().object;
    let good = fs::read(&object).unwrap();
    let mut turned = good.clone();
    turned[good.len() / 2] ^= 1;
    let damages = [Vec::new(), good[..good.len() / 2].to_vec(), turned];
    for (i, damage) in damages.iter().enumerate() {
        fs::write(&object, damage).unwrap();
        assert_eq!(compile(C, &options).unwrap().object, object);
        assert_eq!(fs::read(&object).unwrap(), good, "damage {i}");
        assert_eq!(n_runs(&log), i + 3);
    }
    fs::remove_file(object.with_file_name("sha256")).unwrap();
    compile(C, &options).unwrap();
    fs::remove_file(&object).unwrap();
    compile(C, &options).unwrap();
    assert_eq!(n_runs(&log), damages.len() + 4);
    assert_eq!(n_left(&dir), 2);
}

#[test]
fn many_may_compile_the_same_at_once() {
    let dir = TestDir::new();
    let options = dir.options();
    let cached: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..6).map(|_| scope.spawn(|| compile(C, &options).unwrap())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(cached.iter().all(|c| *c == cached[0]));
    assert!(fs::metadata(&cached[0].object).unwrap().len() > 0);
    assert_eq!(n_left(&dir), 2);
}

#[test]
fn the_oldest_programs_go_when_there_are_too_many() {
    let dir = TestDir::new();
    let mut options = dir.options();
    let compile_nth = |n: u32, options: &CompileOptions| {
        let cached = compile(&format!("int f{n}(void) {{ return {n}; }}\n"), options).unwrap();
        cached.object.parent().unwrap().to_owned()
    };
    let hour = Duration::from_secs(3600);
    let first: Vec<PathBuf> = (0..3).map(|n| compile_nth(n, &options)).collect();
    let cache = first[0].parent().unwrap();
    let leftover = cache.join("tmp-1-1");
    fs::create_dir(&leftover).unwrap();
    age(&leftover, 48 * hour);
    for (n, dir) in first.iter().enumerate() {
        age(dir, hour * (9 - n as u32));
    }
    // Who is used is young again.
    assert_eq!(compile_nth(0, &options), first[0]);
    options.cache.size_bytes_max = 1;
    let newest = compile_nth(7, &options);
    assert!(newest.exists() && first[0].exists(), "what is in use stays");
    assert!(!first[1].exists() && !first[2].exists() && !leftover.exists());
}

#[test]
fn a_missing_compiler_is_told_with_what_to_do() {
    let dir = TestDir::new();
    let options = CompileOptions { compiler: Some("no-such-compiler".into()), ..dir.options() };
    let error = compile(C, &options).unwrap_err();
    assert!(matches!(error, CompileError::Compiler(CompilerError::NotFound { .. })));
    let text = error.to_string();
    assert!(text.contains("no-such-compiler") && text.contains("install gcc or clang"), "{text}");
}

#[test]
fn a_refusal_tells_where_in_p4() {
    let dir = TestDir::new();
    let text = "int f(void)\n{\n#line 41 \"dir/ipv4.p4\"\n    return missing;\n}\n";
    let CompileError::Refused(refused) = compile(text, &dir.options()).unwrap_err() else { panic!() };
    assert_eq!(refused.p4_line, Some(P4Line { file: "dir/ipv4.p4".into(), line: 41 }));
    assert_eq!(fs::read_to_string(&refused.source_file).unwrap(), text);
    assert!(refused.source_file.with_file_name("rt").join("sd_abi.h").exists());
    assert!(refused.messages.contains("missing"));
    let told = refused.to_string();
    assert!(told.contains("pipeline.c (at dir/ipv4.p4, line 41)"), "{told}");
    // Once more: what was kept does not stand in the way.
    assert!(matches!(compile(text, &dir.options()), Err(CompileError::Refused(_))));
}

#[test]
fn a_compiler_that_does_not_end_is_ended_with_its_children() {
    let dir = TestDir::new();
    let script = dir.path.join("slow-cc");
    let child = dir.path.join("child");
    let text = format!(
        "#!/bin/sh\ncase \"$1\" in --version) exit 0 ;; esac\nsleep 60 &\necho $! > {}\nwait\n",
        child.display()
    );
    write_script(&script, &text);
    let limit = Duration::from_millis(500);
    let options = CompileOptions { compiler: Some(script), time_limit: limit, ..dir.options() };
    let began = Instant::now();
    let error = compile(C, &options).unwrap_err();
    assert!(matches!(error, CompileError::Compiler(CompilerError::TimedOut { .. })), "{error}");
    assert!(began.elapsed() < Duration::from_secs(20));
    let id = fs::read_to_string(child).unwrap();
    let status = Path::new("/proc").join(id.trim()).join("stat");
    let is_running = || {
        // Ended, or ended and not yet waited for.
        fs::read_to_string(&status).is_ok_and(|stat| !stat.contains(") Z "))
    };
    while is_running() {
        assert!(began.elapsed() < Duration::from_secs(20), "the compiler's child goes on");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_cache_that_others_can_write_to_is_not_used() {
    let dir = TestDir::new();
    let options = dir.options();
    let cache = options.cache.dir.clone().unwrap();
    fs::create_dir(&cache).unwrap();
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o777)).unwrap();
    assert!(matches!(compile(C, &options), Err(CompileError::Cache(_))));
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o755)).unwrap();
    compile(C, &options).unwrap();
}
