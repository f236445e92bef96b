//! The rules for updates as documents: every case of `cases/*.md` comes out as it says.
//!
//! A block fenced as `updates` is a list of cases: `insert`, `modify`, `delete` or `unspecified`, an entity in
//! protobuf's text format, and a line that starts with `=` and says `OK` or the code and the message of the fault.
//! The program is `cases/schema.txtpb`; the target takes whatever is valid.
//!
//! `UPDATE=1 cargo test -p p4runtime --test cases` writes what comes out into the documents, to be reviewed.

use std::fs;
use std::path::Path;

use control::{Entity, Fault, Query, Schema, Target, Update, Writer};
use p4info::{Format, decode_p4info, decode_write_request};

/// Enough cases that no rule can have been lost by a slip of the reader.
const N_CASES_MIN: usize = 180;

struct Anything;

impl Target for Anything {
    fn write(&mut self, _: &Update) -> Result<(), Fault> {
        Ok(())
    }

    fn read(&self, _: &Query) -> Result<Vec<Entity>, Fault> {
        Ok(Vec::new())
    }
}

fn run(schema: &Schema, case: &str) -> String {
    let (kind, entity) = case.split_once(' ').unwrap_or((case, ""));
    let text = match entity.trim() {
        "" => format!("updates {{ type: {} }}", kind.trim().to_uppercase()),
        entity => format!("updates {{ type: {} entity {{ {entity} }} }}", kind.to_uppercase()),
    };
    let request = match decode_write_request(text.as_bytes(), Format::Text) {
        Ok(request) => request,
        Err(error) => panic!("{case}\n{error}"),
    };
    let results = p4runtime::write(schema, &mut Anything, &request, Writer::Controller);
    match results.as_slice() {
        [Ok(())] => "OK".to_owned(),
        [Err(fault)] => format!("{}: {fault}", fault.code().name()).replace("updates[0].", ""),
        results => panic!("{} results for one update", results.len()),
    }
}

#[test]
fn every_case_comes_out_as_it_says() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let schema = fs::read(dir.join("schema.txtpb")).unwrap();
    let schema = Schema::new(&decode_p4info(&schema, Format::Text).unwrap()).unwrap();
    let update = std::env::var_os("UPDATE").is_some();
    let mut n_cases = 0;
    let mut wrong = String::new();
    for file in ["tables.md", "profiles.md", "others.md"] {
        let text = fs::read_to_string(dir.join(file)).unwrap();
        let mut out = String::new();
        let mut is_case = false;
        let mut case = String::new();
        for (i, line) in text.lines().enumerate() {
            let mut line = line.to_owned();
            if line.starts_with("```") {
                is_case = line == "```updates";
                assert!(case.is_empty(), "{file}:{}: a case has no result", i + 1);
            } else if is_case && line.starts_with('=') {
                let found = format!("= {}", run(&schema, &case));
                if found != line {
                    wrong += &format!("{file}:{}:\n  expected {line}\n  found    {found}\n", i + 1);
                    line = found;
                }
                case.clear();
                n_cases += 1;
            } else if is_case {
                case += &line;
                case.push('\n');
            }
            out += &line;
            out.push('\n');
        }
        if update {
            fs::write(dir.join(file), out).unwrap();
        }
    }
    assert!(n_cases >= N_CASES_MIN, "{n_cases} cases");
    assert!(update || wrong.is_empty(), "{wrong}");
}
