//! Pages as tests: the commands of blocks fenced as `console` are run, and what they print is compared.
//!
//! A line `$ COMMAND`, with lines `> MORE` that continue it, is run by bash in the root of the repository, with
//! `siding` in the path and a directory for scratch files in `TMPDIR`; all commands of a page share one shell. The lines below it must be in the command's output (standard
//! output and error) in this order. A line `...` stands for any lines. The first line must be the first of the
//! output, and each line must follow the one before, unless `...` stands between. Times (`in 1.2 s`) are not
//! compared. A block fenced as `console net` is run only where network namespaces can be made.

use super::{pages, read, root};
use std::fmt::Write as _;
use std::process::Command;

#[derive(Debug)]
struct Step {
    line: usize,
    command: String,
    expected: Vec<String>,
}

fn steps(text: &str, is_net: bool) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut is_inside = false;
    for (i, line) in text.lines().enumerate() {
        if is_inside && line == "```" {
            is_inside = false;
        } else if is_inside {
            match (line.strip_prefix("$ "), line.strip_prefix("> "), steps.last_mut()) {
                (Some(command), _, _) => {
                    steps.push(Step { line: i + 1, command: command.to_owned(), expected: Vec::new() });
                }
                (None, Some(more), Some(step)) if step.expected.is_empty() => {
                    step.command.push('\n');
                    step.command.push_str(more);
                }
                (None, _, Some(step)) => step.expected.push(line.to_owned()),
                (None, _, None) => panic!("line {}: a block begins with a command", i + 1),
            }
        } else if line == "```console" || (is_net && line == "```console net") {
            is_inside = true;
        }
    }
    steps
}

/// Without times; a run of spaces is one.
fn plain(line: &str) -> String {
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.rsplit_once(" in ") {
        Some((before, time)) if time.ends_with(" s") => format!("{before} in T s"),
        _ => line,
    }
}

/// What is wrong with an output, if anything is.
fn difference(expected: &[String], found: &[String]) -> Option<String> {
    let mut at = 0;
    let mut may_skip = false;
    for wanted in expected {
        if wanted == "..." {
            may_skip = true;
            continue;
        }
        let wanted = plain(wanted);
        let rest = found.get(at..).unwrap_or_default();
        let place = if may_skip {
            rest.iter().position(|line| *line == wanted)
        } else {
            rest.first().is_some_and(|line| *line == wanted).then_some(0)
        };
        let Some(place) = place else { return Some(format!("expected `{wanted}`")) };
        at += place + 1;
        may_skip = false;
    }
    None
}

const MARK: &str = "--- end of the command: ";

fn run_page(page: &str, is_net: bool, problems: &mut String) -> usize {
    let steps = steps(&read(page), is_net);
    if steps.is_empty() {
        return 0;
    }
    let mut script = String::from("exec 2>&1\n");
    for step in &steps {
        writeln!(script, "{}\necho; echo \"{MARK}$?\"", step.command).unwrap();
    }
    // Background processes of a page do not outlive it.
    script.push_str("jobs -p | xargs -r kill\n");
    let scratch = tempfile::tempdir().unwrap();
    let siding = std::path::Path::new(env!("CARGO_BIN_EXE_siding"));
    let path = format!("{}:{}", siding.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let output = Command::new("bash")
        .args(["-c", &script])
        .current_dir(root())
        .env("PATH", path)
        .env("TMPDIR", scratch.path())
        // Compiled programs are kept between runs of the test.
        .env("XDG_CACHE_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/documents"))
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut lines = text.lines();
    for step in &steps {
        let mut found: Vec<String> = Vec::new();
        let mut code = "none";
        for line in lines.by_ref() {
            if let Some(status) = line.strip_prefix(MARK) {
                code = status;
                break;
            }
            found.push(plain(line));
        }
        let fault = difference(&step.expected, &found);
        let fault = fault.or_else(|| (code != "0").then(|| format!("exit code {code}")));
        if let Some(fault) = fault {
            let shown = found.join("\n    ");
            writeln!(problems, "{page}:{}: {fault}\n  $ {}\n    {shown}", step.line, step.command).unwrap();
        }
    }
    steps.len()
}

fn can_make_networks() -> bool {
    let name = format!("siding-pages-{}", std::process::id());
    let ip = |args: &[&str]| Command::new("ip").args(args).output().is_ok_and(|o| o.status.success());
    let can = ip(&["netns", "add", &name]) && ip(&["netns", "delete", &name]);
    assert!(can || std::env::var_os("SIDING_REQUIRE_NET").is_none(), "no network namespaces can be made");
    can
}

#[test]
fn pages_print_what_they_say() {
    let is_net = can_make_networks();
    let mut problems = String::new();
    let mut n_steps = 0;
    for page in pages() {
        n_steps += run_page(&page, is_net, &mut problems);
    }
    assert!(problems.is_empty(), "\n{problems}");
    assert!(n_steps > 20, "only {n_steps} commands were found");
}

#[test]
fn differences_are_seen() {
    let lines = |text: &str| -> Vec<String> { text.lines().map(str::to_owned).collect() };
    let found = lines("a\nb\nc");
    for good in ["", "a", "a\nb", "...\nc", "a\n...\nc", "...\nb\n..."] {
        assert_eq!(difference(&lines(good), &found), None, "{good}");
    }
    for bad in ["b", "a\nc", "...\nd", "a\nb\nc\nd", "...\nc\n...\na"] {
        assert!(difference(&lines(bad), &found).is_some(), "{bad}");
    }
    let page = "```console\n$ echo \\\n> a\na\n```\n```console net\n$ true\n```\n";
    assert_eq!((steps(page, false).len(), steps(page, true).len()), (1, 2));
}
