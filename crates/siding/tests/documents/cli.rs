//! `docs/reference/cli.md` below its mark is what `-h` prints for every command, and the page of compiler options.

use super::{read, root};
use std::fmt::Write as _;
use std::process::Command;

const PAGE: &str = "docs/reference/cli.md";
const MARK: &str = "<!-- Generated below: SIDING_BLESS=1 cargo test -p siding --test documents -->\n";

fn help(command: &[String]) -> String {
    let words: Vec<&str> = command.iter().map(String::as_str).chain(["-h"]).collect();
    printed(&words)
}

fn printed(command: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_siding"))
        .args(command)
        .env("COLUMNS", "100")
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{command:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

/// The names under `Commands:`.
fn commands(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    lines
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .map(str::to_owned)
        .collect()
}

fn describe(command: &[String], text: &mut String) {
    let help = help(command);
    let level = "#".repeat(command.len() + 1);
    let name = if command.is_empty() {
        "All commands".to_owned()
    } else {
        format!("`siding {}`", command.join(" "))
    };
    write!(text, "\n{level}{} {name}\n\n```\n{help}\n```\n", if command.is_empty() { "#" } else { "" })
        .unwrap();
    for sub in commands(&help) {
        let path: Vec<String> = command.iter().cloned().chain([sub]).collect();
        describe(&path, text);
    }
}

#[test]
fn the_page_of_the_command_line_is_current() {
    let mut generated = String::new();
    describe(&[], &mut generated);
    let options = printed(&["help", "compiler-options"]);
    write!(generated, "\n## Compiler options\n\n```\n{options}\n```\n").unwrap();
    assert!(
        generated.contains("## `siding check`") && generated.contains("### `siding bench l2`"),
        "{generated}"
    );
    let page = read(PAGE);
    let (written, found) = page.split_once(MARK).unwrap_or_else(|| panic!("{PAGE}: there is no line {MARK}"));
    if std::env::var_os("SIDING_BLESS").is_some() {
        std::fs::write(root().join(PAGE), format!("{written}{MARK}{generated}")).unwrap();
        return;
    }
    let place = generated.lines().zip(found.lines()).position(|(new, old)| new != old);
    let place = place.map(|i| generated.lines().nth(i).unwrap());
    assert!(generated == found, "{PAGE} is not current, first at {place:?}; SIDING_BLESS=1 rewrites it");
}
