//! Lists the pages of `docs/diagnostics` so that the binary carries them.

use std::path::Path;

fn main() {
    let dir =
        Path::new(&std::env::var("CARGO_MANIFEST_DIR").expect("set by cargo")).join("../../docs/diagnostics");
    println!("cargo::rerun-if-changed={}", dir.display());
    let mut pages: Vec<_> = std::fs::read_dir(&dir)
        .expect("docs/diagnostics exists")
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.extension().is_some_and(|e| e == "md"))
        .collect();
    pages.sort();
    let items: String = pages
        .iter()
        .filter_map(|path| {
            let id = path.file_stem()?.to_str()?;
            (id != "README").then(|| format!("Page {{ id: {id:?}, text: include_str!({path:?}) }},\n"))
        })
        .collect();
    let out = Path::new(&std::env::var("OUT_DIR").expect("set by cargo")).join("pages.rs");
    std::fs::write(out, format!("&[\n{items}]")).expect("OUT_DIR is writable");
}
