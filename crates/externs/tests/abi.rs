//! The mirrors of `rt/siding_extern.h` against what a C compiler says.

use externs::abi::{self, LAYOUTS, direction, packet_use, status};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

#[test]
fn mirrors_agree_with_c() {
    let numbers = [
        ("SIDING_EXTERN_ABI_VERSION", abi::VERSION),
        ("SIDING_IN", direction::IN),
        ("SIDING_INOUT", direction::INOUT),
        ("SIDING_TEXT", direction::TEXT),
        ("SIDING_ABSENT", direction::ABSENT),
        ("SIDING_OK", status::OK),
        ("SIDING_DROP", status::DROP),
        ("SIDING_PACKET_UNUSED", packet_use::UNUSED),
        ("SIDING_PACKET_READ", packet_use::READ),
        ("SIDING_PACKET_CHANGED", packet_use::CHANGED),
    ];
    let mut text = String::from("#include \"siding_extern.h\"\n#include <stddef.h>\n");
    for (name, size, fields) in LAYOUTS {
        let _ = writeln!(text, "_Static_assert(sizeof(struct {name}) == {size}, \"{name}\");");
        for (field, offset) in *fields {
            let _ = writeln!(
                text,
                "_Static_assert(offsetof(struct {name}, {field}) == {offset}, \"{name}.{field}\");"
            );
        }
    }
    for (name, number) in numbers {
        let _ = writeln!(text, "_Static_assert({name} == {number}, \"{name}\");");
    }
    let dir = env::temp_dir().join(format!("siding-externs-abi-{}", std::process::id()));
    fs::create_dir_all(&dir).unwrap();
    let source = dir.join("layout.c");
    fs::write(&source, text).unwrap();
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".into());
    let output = Command::new(compiler)
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I"])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../rt"))
        .arg(&source)
        .output()
        .unwrap();
    fs::remove_dir_all(&dir).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
