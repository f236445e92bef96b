//! `docs/reference/architectures.md` has what `siding arch` prints.

use crate::{read, root};
use std::process::Command;

const PAGE: &str = "docs/reference/architectures.md";
const MARK: &str = "<!-- Generated below: SIDING_BLESS=1 cargo test -p siding --test documents -->\n";

#[test]
fn architectures_are_shown_as_they_are() {
    let mut generated = String::new();
    for name in ["v1model", "psa", "pna", "ubpf", "ebpf", "xdp"] {
        let shown = Command::new(env!("CARGO_BIN_EXE_siding")).args(["arch", name]).output().unwrap();
        assert!(shown.status.success());
        let text = String::from_utf8(shown.stdout).unwrap();
        // One level deeper than on a page of its own.
        let deeper = text
            .lines()
            .map(|line| if line.starts_with('#') { format!("#{line}\n") } else { format!("{line}\n") });
        generated.push('\n');
        generated.extend(deeper);
    }
    let page = read(PAGE);
    let (written, found) = page.split_once(MARK).unwrap_or_else(|| panic!("{PAGE}: there is no line {MARK}"));
    if std::env::var_os("SIDING_BLESS").is_some() {
        std::fs::write(root().join(PAGE), format!("{written}{MARK}{generated}")).unwrap();
        return;
    }
    assert!(generated == found, "{PAGE} is not current; SIDING_BLESS=1 rewrites it");
}
