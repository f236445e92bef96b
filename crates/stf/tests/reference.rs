//! `docs/reference/stf.md` lists every command with its arguments.

use stf::keywords::KEYWORDS;

#[test]
fn every_command_is_on_the_page() {
    let page = include_str!("../../../docs/reference/stf.md");
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
    for (word, _, arguments) in KEYWORDS {
        let usage = format!("{word} {arguments}").trim_end().replace('|', "\\|");
        let start = format!("| `{usage}` | ");
        assert!(rows.iter().any(|row| row.starts_with(&start)), "docs/reference/stf.md has no row `{usage}`");
    }
}
