//! `cargo xtask tidy`

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["tidy"] => {}
        _ => {
            eprintln!("usage: cargo xtask tidy");
            return ExitCode::from(2);
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let tree = match xtask::Tree::read(&root) {
        Ok(tree) => tree,
        Err(error) => {
            eprintln!("error: cannot read {}: {error}", root.display());
            return ExitCode::from(4);
        }
    };
    let problems = xtask::tidy(&tree);
    for problem in &problems {
        println!("{problem}");
    }
    println!("{} files, {} problems", tree.files.len(), problems.len());
    ExitCode::from(u8::from(!problems.is_empty()))
}
