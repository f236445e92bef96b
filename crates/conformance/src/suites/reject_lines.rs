//! The first error stands on a line, or beside one, that p4c names.

use crate::corpus::{Corpus, Program};
use crate::front_end;
use crate::runner::Verdict;
use regex_lite::Regex;
use std::sync::OnceLock;

/// Lines by which the places may differ.
const TOLERANCE: u32 = 1;

pub(super) fn judge(corpus: &Corpus, program: &Program) -> Verdict {
    let checked = match front_end::check_and_make_p4info(corpus, program) {
        Err(reason) => return Verdict::Fail(reason),
        Ok((checked, _)) => checked,
    };
    let Some(first) = front_end::first_error_diagnostic(&checked) else {
        return Verdict::Fail("accepted".to_string());
    };
    let Some(output) = corpus.error_output(&program.name) else {
        return Verdict::Fail("p4c's messages are missing".to_string());
    };
    let base = base_name(&program.name);
    let golden = golden_lines(&output, base);
    // Without a place of its own (`main` missing, say) there is no line to compare.
    if golden.is_empty() {
        return Verdict::Pass;
    }
    let ours = front_end::first_error(&checked).unwrap_or_default();
    match checked.sources.locate(first.primary.span) {
        Some(at)
            if base_name(&at.file) == base && golden.iter().any(|g| g.abs_diff(at.line) <= TOLERANCE) =>
        {
            Verdict::Pass
        }
        _ => {
            let lines: Vec<String> = golden.iter().map(u32::to_string).collect();
            Verdict::Fail(format!("{ours} (p4c: line {})", lines.join(", ")))
        }
    }
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Lines that p4c's output names in the program itself, in order, each once.
fn golden_lines(output: &str, base: &str) -> Vec<u32> {
    static PLACE: OnceLock<Option<Regex>> = OnceLock::new();
    let place = PLACE.get_or_init(|| Regex::new(r"(?m)^([^\s()]+)\((\d+)\)").ok());
    let mut lines = Vec::new();
    for found in place.iter().flat_map(|p| p.captures_iter(output)) {
        if base_name(&found[1]) == base
            && let Ok(line) = found[2].parse()
            && !lines.contains(&line)
        {
            lines.push(line);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_program_itself() {
        let output = "dir/x.p4(11): error: bad\n  a(3);\nx.p4(4)\ncore.p4(9): here\nx.p4(11)\n";
        assert_eq!(golden_lines(output, "x.p4"), [11, 4]);
        assert!(golden_lines("error: no main\n", "x.p4").is_empty());
    }
}
