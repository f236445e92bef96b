//! Lists the files of `twins/` so that the binary carries them.

use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=twins");
    let dir = Path::new(&std::env::var("CARGO_MANIFEST_DIR").expect("set by cargo")).join("twins");
    let mut paths: Vec<_> = std::fs::read_dir(&dir)
        .expect("twins/ exists")
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.extension().is_some_and(|e| e == "toml"))
        .collect();
    paths.sort();
    let items: String = paths
        .iter()
        .map(|p| format!("({:?}, include_str!({:?})),\n", p.file_name().expect("a file"), p))
        .collect();
    let out = Path::new(&std::env::var("OUT_DIR").expect("set by cargo")).join("twins.rs");
    std::fs::write(out, format!("&[\n{items}]")).expect("OUT_DIR is writable");
}
