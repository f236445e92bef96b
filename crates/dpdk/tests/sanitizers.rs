//! The shim, compiled without warnings by each compiler that is there and run under AddressSanitizer and UBSan.

mod common;

use common::has_dpdk;
use dpdk::Installation;
use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn the_shim_is_clean() {
    if !has_dpdk() {
        return;
    }
    let flags = Installation::find().unwrap().flags;
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("c/test_shim.c");
    let dir = tempfile::tempdir().unwrap();
    let mut n_compilers = 0;
    for compiler in ["gcc", "clang"] {
        let version =
            Command::new(compiler).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        if !version.is_ok_and(|status| status.success()) {
            eprintln!("skipped: {compiler} is not there");
            continue;
        }
        n_compilers += 1;
        let program = dir.path().join(compiler);
        let warnings = ["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror"];
        let sanitizers = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
        let mut command = Command::new(compiler);
        command.args(warnings).args(sanitizers).args(&flags).arg("-o").arg(&program).arg(&source);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{compiler}: {}", String::from_utf8_lossy(&output.stderr));
        // EAL keeps memory until the process ends.
        let output = Command::new(&program).env("ASAN_OPTIONS", "detect_leaks=0").output().unwrap();
        assert!(output.status.success(), "{compiler}: {}", String::from_utf8_lossy(&output.stderr));
    }
    assert!(n_compilers > 0, "no C compiler");
}
