//! Embeds the files of the C runtime in the crate: a list of paths relative to `rt/` and their texts.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let manifest = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
    let runtime = Path::new(&manifest).join("../../rt").canonicalize()?;
    let mut paths = Vec::new();
    collect(&runtime, &mut paths)?;
    paths.sort();
    let mut list = String::from("&[\n");
    for path in paths {
        println!("cargo::rerun-if-changed={}", path.display());
        let name = path.strip_prefix(&runtime).unwrap_or(&path).display().to_string();
        let _ = writeln!(list, "    ({name:?}, include_str!({path:?})),");
    }
    list += "]\n";
    let out = env::var_os("OUT_DIR").unwrap_or_default();
    fs::write(Path::new(&out).join("headers.rs"), list)
}

/// Adds the headers and sources below `dir`, except those of the runtime's own tests.
fn collect(dir: &Path, paths: &mut Vec<PathBuf>) -> io::Result<()> {
    println!("cargo::rerun-if-changed={}", dir.display());
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            if !path.ends_with("tests") {
                collect(&path, paths)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "h" || extension == "c") {
            paths.push(path);
        }
    }
    Ok(())
}
