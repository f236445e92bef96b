//! Random damage to good programs: whatever comes of it, the front end answers, in time, and its promises hold.
//!
//! `SIDING_FUZZ_SECONDS` (default 3) says for how long, `SIDING_FUZZ_SEED` where to start; a failure names its
//! seed. The program in hand is kept in `fuzz-artifacts/current.p4` of the target directory, so that even a
//! crash that ends the process leaves it behind.

use siding::explain::PAGES;
use siding::render::{self, Style, Tool};
use siding::{FileLoader, Loader, Source};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use syntax::IncludeKind;
use syntax::fmt::{FormatOptions, format};

/// Far beyond what any of these small programs needs, even without optimisation.
const CASE_MAX: Duration = Duration::from_secs(10);
const MUTATIONS_MAX: usize = 8;

/// Xorshift64*: good enough to pick damage, and the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Below `n`; 0 for `n` = 0.
    fn below(&mut self, n: usize) -> usize {
        if n == 0 { 0 } else { (self.next() >> 16) as usize % n }
    }
}

/// Examples, the programs of the diagnostic pages, the include files.
fn seeds() -> Vec<String> {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut seeds: Vec<String> = std::fs::read_dir(examples)
        .unwrap()
        .flatten()
        .flat_map(|folder| std::fs::read_dir(folder.path()).into_iter().flatten().flatten())
        .filter_map(|file| std::fs::read_to_string(file.path()).ok())
        .collect();
    assert!(seeds.len() > 20, "the examples were not found");
    seeds.sort();
    for page in PAGES {
        for role in ["error", "fixed"] {
            seeds.extend(page.blocks(role).into_iter().map(|(_, text)| text));
        }
    }
    for name in
        ["core.p4", "v1model.p4", "psa.p4", "pna.p4", "ebpf_model.p4", "ubpf_model.p4", "xdp_model.p4"]
    {
        seeds.extend(FileLoader::default().load(name, IncludeKind::System, "").map(|f| f.text.to_string()));
    }
    seeds
}

/// Cuts text into words, numbers, punctuation and white space.
fn pieces(text: &str) -> Vec<&str> {
    let kind = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' => 0,
        c if c.is_whitespace() => 1,
        _ => 2,
    };
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut previous = None;
    for (i, c) in text.char_indices() {
        let k = kind(c);
        if previous.is_some_and(|p| p != k || k == 2) {
            pieces.push(&text[start..i]);
            start = i;
        }
        previous = Some(k);
    }
    pieces.push(&text[start..]);
    pieces
}

const WORDS: &[&str] = &[
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    "<",
    ">",
    ">>",
    ";",
    ",",
    ":",
    ".",
    "...",
    "..",
    "&&&",
    "++",
    "=",
    "==",
    "{#}",
    "_",
    "default",
    "bit",
    "int",
    "varbit",
    "bool",
    "void",
    "tuple",
    "list",
    "header",
    "struct",
    "header_union",
    "enum",
    "error",
    "match_kind",
    "extern",
    "parser",
    "control",
    "package",
    "table",
    "action",
    "state",
    "transition",
    "select",
    "switch",
    "if",
    "else",
    "for",
    "in",
    "out",
    "inout",
    "return",
    "exit",
    "const",
    "typedef",
    "type",
    "this",
    "apply",
    "key",
    "actions",
    "entries",
    "priority",
    "0",
    "1",
    "-1",
    "8w255",
    "4s1",
    "0xffffffffffffffff",
    "99999999999999999999",
    "\"",
    "/*",
    "//",
    "#if",
    "#endif",
    "#define X X X",
    "#include <core.p4>",
    "@name(\"x\")",
    "@",
    "\\\n",
    "\u{0}",
    "é",
];

/// Damages a program.
fn mutate(random: &mut Random, seeds: &[String]) -> String {
    let base = &seeds[random.below(seeds.len())];
    let mut parts: Vec<String> = pieces(base).into_iter().map(str::to_string).collect();
    for _ in 0..1 + random.below(MUTATIONS_MAX) {
        let at = random.below(parts.len());
        let len_max = if random.below(4) == 0 { 40 } else { 3 };
        let len = 1 + random.below(len_max);
        let end = (at + len).min(parts.len());
        match random.below(7) {
            0 => drop(parts.drain(at..end)),
            1 => {
                let copy = parts[at..end].to_vec();
                let to = random.below(parts.len());
                parts.splice(to..to, copy);
            }
            2 => parts.insert(at, WORDS[random.below(WORDS.len())].to_string()),
            3 if at < parts.len() => parts[at] = WORDS[random.below(WORDS.len())].to_string(),
            4 => {
                let other = random.below(parts.len());
                if at < parts.len() && other < parts.len() {
                    parts.swap(at, other);
                }
            }
            5 => {
                let donor = pieces(&seeds[random.below(seeds.len())]).into_iter().map(str::to_string);
                let donor: Vec<String> = donor.collect();
                let from = random.below(donor.len());
                let to = (from + len * 4).min(donor.len());
                parts.splice(at..at, donor[from..to].to_vec());
            }
            _ => {
                // Names of one program used for each other: what the checker is there for.
                let words: Vec<usize> = (0..parts.len()).filter(|i| parts[*i].len() > 1).collect();
                if let (Some(a), Some(b)) =
                    (words.get(random.below(words.len())), words.get(random.below(words.len())))
                {
                    parts[*a] = parts[*b].clone();
                }
            }
        }
        if parts.is_empty() {
            break;
        }
    }
    parts.concat()
}

/// Runs everything that takes a program. Panics when a promise is broken.
fn exercise(text: &str) {
    let source = Source { name: "fuzz.p4".to_string(), text: text.into() };
    let checked = siding::check(&source, &FileLoader::default());
    for d in checked.diagnostics.iter() {
        assert!(!render::human(d, &checked.sources, Style::default()).is_empty());
        assert!(!render::short(d, &checked.sources).contains('\n'));
        let json = render::json(d, &checked.sources);
        assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok(), "{json}");
    }
    let all = checked.diagnostics.iter().map(|d| (d, &checked.sources));
    render::sarif(all, Tool { name: "siding", version: "0" });
    let is_readable = !checked.diagnostics.iter().any(|d| d.is_error() && d.code.id.starts_with("P0"));
    if let Ok(formatted) = format(text, &FormatOptions::default())
        && is_readable
    {
        let again = format(&formatted, &FormatOptions::default());
        assert_eq!(again.ok().as_deref(), Some(formatted.as_str()), "formatting again changes the text");
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn damaged_programs_are_answered() {
    let seeds = seeds();
    assert!(seeds.len() > 50);
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("fuzz-artifacts");
    std::fs::create_dir_all(&dir).unwrap();
    let current = dir.join("current.p4");
    let until = Instant::now() + Duration::from_secs(number("SIDING_FUZZ_SECONDS").unwrap_or(3));
    let mut seed = number("SIDING_FUZZ_SEED").unwrap_or(1);
    let mut n_cases = 0u64;
    while Instant::now() < until {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let text = mutate(&mut random, &seeds);
        std::fs::write(&current, &text).unwrap();
        let start = Instant::now();
        let result = catch_unwind(AssertUnwindSafe(|| exercise(&text)));
        let time = start.elapsed();
        assert!(result.is_ok() && time < CASE_MAX, "SIDING_FUZZ_SEED={seed} after {time:?}:\n{text}");
        seed += 1;
        n_cases += 1;
    }
    println!("{n_cases} programs");
}
