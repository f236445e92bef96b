//! A crash in a library of externs: a line names the extern, and the process dies of the signal.

use crate::Bench;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};
use std::{fs, thread, time};

/// Makes the library `mix.so` with two externs, `other` and `mix`. `mix` calls a function in front of both, which does
/// `crash`; `other` is called before, and comes back.
fn library(bench: &Bench, crash: &str) {
    let source = format!(
        "#include \"siding_extern.h\"\n#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n\
         struct args {{ uint32_t value; }} __attribute__((packed));\n\
         __attribute__((noinline)) static uint32_t helper(volatile uint32_t *at, uint32_t zero)\n\
         {{ (void)zero; if (at != NULL) return *at; {crash}; return 1; }}\n\
         static uint32_t other(struct siding_call *call)\n\
         {{ uint32_t one = 1; siding_set_result(call, helper(&one, 0) + 1); return SIDING_OK; }}\n\
         static uint32_t mix(struct siding_call *call)\n\
         {{ const struct args *args = (const struct args *)call->args; \
            siding_set_result(call, helper(NULL, args->value) + 1); return SIDING_OK; }}\n\
         static const struct siding_extern externs[] = {{ {{ .name = \"other\", .run = other }}, \
         {{ .name = \"mix\", .run = mix }} }};\n\
         const struct siding_extern_library siding_extern_library = {{ SIDING_EXTERN_ABI_VERSION, 2, externs }};\n"
    );
    let path = bench.write("mix.c", source);
    bench.shared_object("mix.so", &path);
}

/// Makes `mix.p4`, whose packets carry zeros, and `mix.stf`.
fn program(bench: &Bench, call: &str) {
    let (code, _, err) = bench.siding(&["extern", "new", "mix", "--dir", "made"]);
    assert_eq!(code, Some(0), "{err}");
    let text = fs::read_to_string(bench.path("made/mix.p4")).unwrap();
    let text =
        text.replace("extern bit<32> mix", "extern bit<32> other(in bit<32> value);\nextern bit<32> mix");
    let made = "hdr.request.result = mix(hdr.request.value);";
    assert!(text.contains(made), "{text}");
    bench.write(
        "mix.p4",
        text.replace(made, &format!("hdr.request.result = other(hdr.request.value);\n{call}")),
    );
    bench.write("mix.stf", "packet 0 00000000 00000000\nexpect 1 00000000 00000000\n");
}

fn siding(bench: &Bench, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_siding"))
        .args(args)
        .current_dir(bench.dir.path())
        .env("XDG_CACHE_HOME", bench.dir.path())
        .output()
        .unwrap()
}

const DIRECT: &str = "hdr.request.result = mix(hdr.request.value);";

#[test]
fn a_crash_names_the_extern_and_keeps_the_signal() {
    // SIGSEGV 11, SIGFPE 8, SIGILL 4, SIGABRT 6. The third one crashes in the C library, the fourth at address 0.
    let crashes = [
        ("*(volatile uint32_t *)0 = 1", 11, "segmentation fault at address 0x0"),
        ("*(volatile uint32_t *)0x123000 = 1", 11, "segmentation fault at address 0x123000"),
        ("abort()", 6, "abort"),
        ("((void (*volatile)(void))0)()", 11, "segmentation fault at address 0x0"),
        ("__builtin_trap()", 4, "illegal instruction"),
        #[cfg(target_arch = "x86_64")]
        (
            "volatile uint32_t n = 100; return n / zero",
            8,
            "arithmetic fault: a division by zero, or an overflow",
        ),
    ];
    let bench = Bench::new();
    program(&bench, DIRECT);
    for (crash, signal, what) in crashes {
        library(&bench, crash);
        for backend in ["interp", "native"] {
            let args = ["stf", "--backend", backend, "-O", "0", "--extern", "./mix.so", "mix.p4", "mix.stf"];
            let output = siding(&bench, &args);
            let err = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.signal(), Some(signal), "{crash}, {backend}: {err}");
            let exe = env!("CARGO_BIN_EXE_siding");
            let expected = format!(
                "error: the extern `mix` of ./mix.so crashed ({what}); to see where: gdb -ex run -ex bt --args {exe} {}\n",
                args.join(" ")
            );
            assert_eq!(err, expected, "{crash}, {backend}");
        }
    }
}

#[test]
fn a_crash_at_an_offload_worker_names_the_extern() {
    let bench = Bench::new();
    program(&bench, &format!("@async {{ {DIRECT} }}"));
    library(&bench, "*(volatile uint32_t *)0 = 1");
    fs::write(bench.path("a_in.pcap"), capture(&[0; 8])).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_siding"))
        .args(["switch", "-O", "0", "--backend", "native", "--async", "suspend", "--extern", "./mix.so"])
        .args(["-i", "0@file:a", "--", "mix.p4"])
        .current_dir(bench.dir.path())
        .env("XDG_CACHE_HOME", bench.dir.path())
        .stdout(fs::File::create(bench.path("out")).unwrap())
        .stderr(fs::File::create(bench.path("err")).unwrap())
        .spawn()
        .unwrap();
    let err = || fs::read_to_string(bench.path("err")).unwrap();
    // A switch that does not crash runs on.
    let end = time::Instant::now() + time::Duration::from_secs(120);
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if time::Instant::now() > end => {
                child.kill().unwrap();
                child.wait().unwrap();
                panic!("no crash: {}", err());
            }
            None => thread::sleep(time::Duration::from_millis(20)),
        }
    };
    assert_eq!(status.signal(), Some(11), "{}", err());
    let begin = "error: the extern `mix` of ./mix.so crashed (segmentation fault at address 0x0); ";
    assert!(err().lines().any(|line| line.starts_with(begin)), "{}", err());
}

/// A capture with one packet.
fn capture(packet: &[u8]) -> Vec<u8> {
    let len = u32::try_from(packet.len()).unwrap();
    let words = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 0x0001_0000, 1, 1, 0, len, len];
    [words.map(u32::to_le_bytes).concat(), packet.to_vec()].concat()
}

#[test]
fn a_crash_elsewhere_is_none_of_an_extern() {
    let bench = Bench::new();
    program(&bench, DIRECT);
    library(&bench, "return 5");
    bench.write("mix.stf", "packet 0 00000000 00000000\nexpect 1 00000000 00000006\n");
    let args = ["stf", "--backend", "both", "-O", "0", "--extern", "./mix.so", "mix.p4", "mix.stf"];
    let output = siding(&bench, &args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    // A signal from outside, while the extern waits.
    library(&bench, "fclose(fopen(\"here\", \"w\")); for (;;) pause()");
    let mut child = Command::new(env!("CARGO_BIN_EXE_siding"))
        .args(["stf", "--extern", "./mix.so", "mix.p4", "mix.stf"])
        .current_dir(bench.dir.path())
        .stderr(fs::File::create(bench.path("err")).unwrap())
        .spawn()
        .unwrap();
    while !bench.path("here").exists() {
        assert!(child.try_wait().unwrap().is_none());
        thread::sleep(time::Duration::from_millis(20));
    }
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-ABRT", &pid]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().signal(), Some(6));
    assert_eq!(fs::read_to_string(bench.path("err")).unwrap(), "");
}
