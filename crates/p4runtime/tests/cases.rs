//! The rules for updates and queries as documents: every case of `cases/*.md` comes out as it says.
//!
//! A block fenced as `updates` is a list of cases: `insert`, `modify`, `delete`, `unspecified` or `read`, an entity in
//! protobuf's text format, and a line that starts with `=` and says `OK` or the code and the message of the fault.
//! The program is `cases/schema.txtpb`; the target takes whatever is valid. A heading names the rules that its cases are
//! about in parentheses, by their numbers in the project's list: `(G2, F1)`.
//!
//! `UPDATE=1 cargo test -p p4runtime --test cases` writes what comes out into the documents, to be reviewed.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use control::schema::ReplicationWidths;
use control::{Entity, Fault, Query, Schema, Target, Update};
use p4info::proto::p4::v1 as pb;
use p4info::{Format, decode_p4info, decode_write_request};

/// Enough cases that no rule can have been lost by a slip of the reader.
const N_CASES_MIN: usize = 260;

/// Rules that are decided without the contents of a switch. Each has cases that are accepted and cases that are refused.
const RULES: [&str; 26] = [
    "D5", "D6", "E1", "E4", "F1", "F2", "G1", "G2", "G3", "G4", "G5", "G6", "G7", "G8", "G10", "H1", "H2",
    "H3", "H4", "I1", "I2", "I4", "J1", "J2", "J3", "K1",
];

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
    let (kind, entity) = (kind.trim(), entity.trim());
    let kind_text = if kind == "read" { "UNSPECIFIED".to_owned() } else { kind.to_uppercase() };
    let text = match entity {
        "" => format!("updates {{ type: {kind_text} }}"),
        entity => format!("updates {{ type: {kind_text} entity {{ {entity} }} }}"),
    };
    let request = match decode_write_request(text.as_bytes(), Format::Text) {
        Ok(request) => request,
        Err(error) => panic!("{case}\n{error}"),
    };
    let outcome = if kind == "read" {
        let entities = request.updates.iter().map(|update| update.entity.clone().unwrap_or_default());
        let request = pb::ReadRequest { entities: entities.collect(), ..pb::ReadRequest::default() };
        p4runtime::read(schema, &mut Anything, &request).remove(0).map(|_| ())
    } else {
        let results = p4runtime::write(schema, &mut Anything, &request).unwrap();
        assert_eq!(results.len(), 1, "results for one update");
        results.into_iter().next().unwrap()
    };
    match outcome {
        Ok(()) => {
            if kind != "read" {
                comes_back(schema, &request.updates[0]);
            }
            "OK".to_owned()
        }
        Err(fault) => {
            let shown = format!("{}: {fault}", fault.code().name());
            shown.replace("updates[0].", "").replace("entities[0].", "")
        }
    }
}

/// A valid entity that is sent back is the same entity, and sending it once more changes no byte.
fn comes_back(schema: &Schema, update: &pb::Update) {
    let entity = p4runtime::decode_update(schema, update).unwrap().entity;
    let message = p4runtime::encode_entity(schema, &entity);
    let again = pb::Update { r#type: pb::update::Type::Modify.into(), entity: Some(message.clone()) };
    let decoded = p4runtime::decode_update(schema, &again).unwrap().entity;
    assert_eq!(decoded, entity);
    assert_eq!(p4runtime::encode_entity(schema, &decoded), message);
}

/// Returns the numbers in the parentheses at the end of a heading.
fn rules_of(heading: &str) -> Vec<String> {
    let inside = heading.strip_suffix(')').and_then(|rest| rest.rsplit_once('('));
    inside.map_or(Vec::new(), |(_, rules)| rules.split(", ").map(str::to_owned).collect())
}

#[test]
fn every_case_comes_out_as_it_says() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let schema = fs::read(dir.join("schema.txtpb")).unwrap();
    let schema = Schema::new(&decode_p4info(&schema, Format::Text).unwrap()).unwrap();
    let schema =
        schema.with_replication(ReplicationWidths { multicast_group: 16, instance: 16, class_of_service: 3 });
    let update = std::env::var_os("UPDATE").is_some();
    let mut n_cases = 0;
    let mut wrong = String::new();
    // Numbers of cases that are accepted, and that are refused.
    let mut n_by_rule = BTreeMap::<String, [usize; 2]>::new();
    for file in ["tables.md", "profiles.md", "others.md", "queries.md"] {
        let text = fs::read_to_string(dir.join(file)).unwrap();
        let mut out = String::new();
        let mut is_case = false;
        let mut case = String::new();
        let mut rules = Vec::new();
        for (i, line) in text.lines().enumerate() {
            let mut line = line.to_owned();
            if line.starts_with("```") {
                is_case = line == "```updates";
                assert!(case.is_empty(), "{file}:{}: a case has no result", i + 1);
            } else if line.starts_with("## ") {
                rules = rules_of(&line);
            } else if is_case && line.starts_with('=') {
                let found = format!("= {}", run(&schema, &case));
                for rule in &rules {
                    n_by_rule.entry(rule.clone()).or_default()[usize::from(found != "= OK")] += 1;
                }
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
    for rule in RULES {
        let [n_accepted, n_refused] = n_by_rule.get(rule).copied().unwrap_or_default();
        assert!(n_accepted > 0 && n_refused > 0, "{rule}: {n_accepted} accepted, {n_refused} refused");
    }
}
