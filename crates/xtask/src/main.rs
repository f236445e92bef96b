//! `cargo xtask`: see `USAGE`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use xtask::{Tree, commits, rules};

const USAGE: &str = "usage: cargo xtask tidy [--exact | --bless]
       cargo xtask words [CRATE]
       cargo xtask commits [BASE..HEAD]
       cargo xtask check
       cargo xtask test [--jobs N]

tidy     checks the house rules; with --exact also that no list of exceptions is longer than needed; --bless lowers
         the counts of crates/xtask/rules/words.toml to what is there, and never raises one
words    lists comments and words that the rules forbid, of one crate (or `rt`) or of all
commits  judges subjects of commits, by default those since the base in crates/xtask/rules/commits.toml
check    the inner loop: format, lints, house rules and the fast tests
test     all tests, N executables at a time (default: one more than cores), and those alone that cannot share the machine";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let result = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["tidy"] => tidy(&root, false),
        ["tidy", "--exact"] => tidy(&root, true),
        ["tidy", "--bless"] => bless(&root),
        ["words"] => list_words(&root, None),
        ["words", name] => list_words(&root, Some(name)),
        ["commits"] => commits_since_base(&root),
        ["commits", range] => commits_of(&root, range),
        ["check"] => xtask::check::run(&root).map_err(|error| format!("cargo cannot be run: {error}")),
        ["test"] => test(&root, xtask::suite::default_jobs()),
        ["test", "--jobs", n] => match n.parse::<std::num::NonZeroUsize>() {
            Ok(n_jobs) => test(&root, n_jobs.get()),
            Err(error) => Err(format!("--jobs {n}: {error}")),
        },
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(is_fine) => ExitCode::from(u8::from(!is_fine)),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(4)
        }
    }
}

fn test(root: &Path, n_jobs: usize) -> Result<bool, String> {
    xtask::suite::run(root, n_jobs).map_err(|error| format!("the tests cannot be run: {error}"))
}

fn read(root: &Path) -> Result<Tree, String> {
    Tree::read(root).map_err(|error| format!("cannot read {}: {error}", root.display()))
}

fn tidy(root: &Path, is_exact: bool) -> Result<bool, String> {
    let tree = read(root)?;
    let (shrunk, problems): (Vec<_>, Vec<_>) = xtask::tidy(&tree).into_iter().partition(|p| p.is_shrunk);
    for problem in &problems {
        println!("{problem}");
    }
    for problem in &shrunk {
        println!("{}{problem}", if is_exact { "" } else { "note: " });
    }
    let n = problems.len() + if is_exact { shrunk.len() } else { 0 };
    println!("{} files, {n} problems", tree.files.len());
    Ok(n == 0)
}

fn bless(root: &Path) -> Result<bool, String> {
    if let Some(text) = xtask::bless(&read(root)?) {
        let path: PathBuf = root.join(rules::WORDS);
        std::fs::write(&path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    tidy(root, true)
}

fn list_words(root: &Path, name: Option<&str>) -> Result<bool, String> {
    let tree = read(root)?;
    let list: rules::Words = rules::read(&tree, rules::WORDS, &mut Vec::new());
    let hits = xtask::Hits::find(&tree, &list);
    for (kind, hits) in [("comments", &hits.comments), ("words", &hits.words)] {
        for (room, hits) in hits.iter().filter(|(room, _)| name.is_none_or(|n| n == room.as_str())) {
            for hit in hits {
                println!("{}:{}: {}", hit.path, hit.line, hit.message);
            }
            println!("{kind}: {room} = {}", hits.len());
        }
    }
    Ok(true)
}

fn commits_since_base(root: &Path) -> Result<bool, String> {
    let base = rules::read::<rules::Commits>(&read(root)?, rules::COMMITS, &mut Vec::new()).base;
    match commits::range(root, &format!("{base}..HEAD")) {
        Ok(judgement) => Ok(report(&judgement)),
        Err(error) => {
            println!(
                "note: subjects of commits are not judged, the history since {base} is not here: {error}"
            );
            Ok(true)
        }
    }
}

fn commits_of(root: &Path, range: &str) -> Result<bool, String> {
    commits::range(root, range).map(|judgement| report(&judgement))
}

fn report(judgement: &commits::Judgement) -> bool {
    for problem in &judgement.problems {
        println!("{problem}");
    }
    println!("{} commits, {} problems", judgement.n_commits, judgement.problems.len());
    judgement.problems.is_empty()
}
