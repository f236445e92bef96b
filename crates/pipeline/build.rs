//! Makes the files of the C runtime part of the crate: a list of names and texts.

use std::fmt::Write;
use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let manifest = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
    let runtime = Path::new(&manifest).join("../../rt").canonicalize()?;
    println!("cargo::rerun-if-changed={}", runtime.display());
    let mut names: Vec<String> = fs::read_dir(&runtime)?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.ends_with(".h") || name.ends_with(".c"))
        .collect();
    names.sort();
    let mut list = String::from("&[\n");
    for name in names {
        let path = runtime.join(&name);
        println!("cargo::rerun-if-changed={}", path.display());
        let _ = writeln!(list, "    ({name:?}, include_str!({path:?})),");
    }
    list += "]\n";
    let out = env::var_os("OUT_DIR").unwrap_or_default();
    fs::write(Path::new(&out).join("headers.rs"), list)
}
