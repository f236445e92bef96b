//! Subjects of commits: `component: what changes`, at most 72 characters, one subject.

use std::path::Path;
use std::process::Command;

const CHARACTERS_MAX: usize = 72;

/// The rule that the subject breaks, if any.
pub fn judge(subject: &str) -> Option<String> {
    let n = subject.chars().count();
    if n > CHARACTERS_MAX {
        return Some(format!("{n} characters, at most {CHARACTERS_MAX} are allowed"));
    }
    let Some((component, what)) = subject.split_once(": ") else {
        return Some("does not begin with `component: `".into());
    };
    let is_name = |name: &str| {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "/_-.{}*,".contains(c);
        !name.is_empty() && name.chars().all(is_part)
    };
    if !component.split(", ").all(is_name) {
        return Some(format!(
            "`{component}` is no component: a crate, a folder or a tool, such as `rt/exact`"
        ));
    }
    if what.trim().is_empty() {
        return Some("does not say what changes".into());
    }
    if what.contains("; ") {
        return Some("has more than one subject".into());
    }
    if what.ends_with('.') {
        return Some("ends with a full stop".into());
    }
    None
}

/// Subjects that break the rule, each with its reason.
pub struct Judgement {
    pub n_commits: usize,
    pub problems: Vec<String>,
}

/// Judges the commits of a range such as `BASE..HEAD`, merges left out. An error says why the range cannot be read.
pub fn range(root: &Path, range: &str) -> Result<Judgement, String> {
    let output = Command::new("git")
        .args(["log", "--no-merges", "--format=%h %s", range, "--"])
        .current_dir(root)
        .output()
        .map_err(|error| format!("git cannot be run: {error}"))?;
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr);
        return Err(error.lines().next().unwrap_or("git failed").to_string());
    }
    let log = String::from_utf8_lossy(&output.stdout);
    let problems = log.lines().filter_map(|line| {
        let (hash, subject) = line.split_once(' ').unwrap_or((line, ""));
        judge(subject).map(|reason| format!("{hash} \"{subject}\": {reason}"))
    });
    Ok(Judgement { n_commits: log.lines().count(), problems: problems.collect() })
}
