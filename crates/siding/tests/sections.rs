//! Descriptions whose sections are connected in unusual ways: the interpreter and compiled code, block by block and in bursts,
//! must do the same.

use std::path::Path;
use std::process::Command;

#[test]
fn packets_go_the_same_way_through_described_sections() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sections");
    let files = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let descriptions: Vec<_> = files.filter(|path| path.extension().is_some_and(|e| e == "toml")).collect();
    assert_eq!(descriptions.len(), 8);
    for description in descriptions {
        let found = Command::new(env!("CARGO_BIN_EXE_siding"))
            .args(["stf", "--Wdisable", "--backend", "both", "--bursts", "-O1", "--arch-description"])
            .args([&description, &folder.join("pipelines.p4"), &description.with_extension("stf")])
            .output()
            .unwrap();
        let said = [found.stdout, found.stderr].concat();
        assert!(found.status.success(), "{}: {}", description.display(), String::from_utf8_lossy(&said));
    }
}
