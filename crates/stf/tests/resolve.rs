//! What scripts mean for a program, step by step, and what is said about those that mean nothing.
//!
//! `SIDING_BLESS=1 cargo test -p stf` rewrites the goldens; review the difference before committing.

use control::{Data, Entity, Schema, TableAction, Update};
use diagnostics::render::{Style, human};
use ir::Bits;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use stf::{StepKind, resolve};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/resolve")
}

fn schema() -> Schema {
    let text = std::fs::read(folder().join("program.p4info.txtpb")).unwrap();
    Schema::new(&p4info::decode_p4info(&text, p4info::Format::Text).unwrap()).unwrap()
}

fn golden(name: &str, found: &str) {
    let path = folder().join(name);
    if std::env::var_os("SIDING_BLESS").is_some() {
        std::fs::write(&path, found).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap_or_default(), found);
}

/// An update in words, with what it writes.
fn describe(schema: &Schema, update: &Update) -> String {
    let mut out = format!("{} {}", update.kind.name(), schema.describe(&update.entity));
    let action = |action: &control::Action| {
        let values: Vec<String> = action.params.iter().map(|p| format!("{}={}", p.id, p.value)).collect();
        format!("{}({})", schema.name_of(action.id.0), values.join(", "))
    };
    let replicas = |replicas: &[control::Replica]| {
        let replicas: Vec<String> =
            replicas.iter().map(|r| format!("{}/{}", r.egress_port, r.instance)).collect();
        replicas.join(" ")
    };
    let _ = match &update.entity {
        Entity::TableEntry(of) => match &of.action {
            Some(control::TableAction::Action(of)) => write!(out, ": {}", action(of)),
            Some(other) => write!(out, ": {other:?}"),
            None => Ok(()),
        },
        Entity::ActionProfileMember(of) => match &of.action {
            Some(of) => write!(out, ": {}", action(of)),
            None => Ok(()),
        },
        Entity::ActionProfileGroup(of) => {
            let members: Vec<String> =
                of.members.iter().map(|m| format!("{}:{}", m.member, m.weight)).collect();
            write!(out, ": {}", members.join(" "))
        }
        Entity::Meter(of) => write!(out, ": {:?}", of.config.unwrap()),
        Entity::Counter(of) => write!(out, ": {:?}", of.data.unwrap()),
        Entity::Register(of) => write!(out, ": {:?}", of.data),
        Entity::MulticastGroup(of) => write!(out, ": {}", replicas(&of.replicas)),
        Entity::CloneSession(of) => write!(out, ": {}", replicas(&of.replicas)),
        Entity::ValueSet(of) => {
            let members: Vec<String> = of.members.iter().map(|m| m.matches[0].value.to_string()).collect();
            write!(out, ": {}", members.join(" "))
        }
        _ => Ok(()),
    };
    out
}

#[test]
fn steps() {
    let schema = schema();
    let text = std::fs::read_to_string(folder().join("good.stf")).unwrap();
    let parsed = stf::parse("good.stf", &text);
    let (plan, found) = resolve(&parsed.script, &schema);
    let faults: Vec<_> = parsed
        .diagnostics
        .iter()
        .chain(found.iter())
        .map(|d| human(d, &parsed.sources, Style::default()))
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let mut out = String::new();
    for step in &plan.steps {
        let _ = writeln!(out, "{}", parsed.sources.text(step.span));
        match &step.kind {
            StepKind::Write(updates) => {
                for update in updates {
                    let _ = writeln!(out, "    {}", describe(&schema, update));
                }
            }
            StepKind::Check(check) => {
                let (quantity, sign) = (check.quantity, check.comparison.symbol());
                let _ = writeln!(out, "    {quantity:?} {sign} {}: {:?}", check.value, check.query);
            }
            other => {
                let _ = writeln!(out, "    {other:?}");
            }
        }
    }
    golden("good.txt", &out);
}

#[test]
fn faults() {
    let schema = schema();
    let text = std::fs::read_to_string(folder().join("faults.stf")).unwrap();
    let parsed = stf::parse("faults.stf", &text);
    assert!(!parsed.diagnostics.has_errors());
    let (plan, found) = resolve(&parsed.script, &schema);
    let shown: String = found.iter().map(|d| human(d, &parsed.sources, Style::default()) + "\n").collect();
    golden("faults.txt", &shown);
    // Every command gives a step or an error; nodes alone are no step.
    let n_commands = parsed.script.commands.len();
    assert_eq!(plan.steps.len() + found.n_errors() + 1, n_commands);
    let codes: BTreeSet<_> = found.iter().map(|d| d.code.id).filter(|id| *id >= "P2520").collect();
    // Not said of a script alone: files of entries, and ports of an architecture.
    let others = [stf::codes::NOT_AN_ENTRY.id, stf::codes::PORT.id];
    let all = stf::codes::ALL.iter().map(|c| c.id);
    let all: BTreeSet<_> = all.filter(|id| *id >= "P2520" && !others.contains(id)).collect();
    assert_eq!(codes, all);
}

/// Each short command does what the one in full does.
#[test]
fn short_commands() {
    let schema = schema();
    let updates = |parsed: &stf::Parsed| -> Vec<Update> {
        let (plan, found) = resolve(&parsed.script, &schema);
        let faults = parsed.diagnostics.iter().chain(found.iter());
        let faults: Vec<_> = faults.map(|d| human(d, &parsed.sources, Style::default())).collect();
        assert!(faults.is_empty(), "{}", faults.join("\n"));
        let writes = plan.steps.into_iter().map(|step| match step.kind {
            StepKind::Write(updates) => updates,
            other => panic!("{other:?}"),
        });
        // The order of matches and of parameters means nothing.
        let sorted = |mut update: Update| {
            let Entity::TableEntry(entry) = &mut update.entity else { return update };
            entry.matches.sort_by_key(|field| field.field.0);
            if let Some(TableAction::Action(action)) = &mut entry.action {
                action.params.sort_by_key(|param| param.id.0);
            }
            update
        };
        writes.flatten().map(sorted).collect()
    };
    for (short, full) in [
        ("add route 10.0.0.0/8 NoAction", "add ingress.route hdr.ipv4.dst:0x0a000000/8 NoAction()"),
        ("add route 10.1.2.3 NoAction()", "add ingress.route hdr.ipv4.dst:0x0a010203 NoAction()"),
        (
            "add mac 02:00:00:00:00:aa 1 5 forward(3, dst:02:00:00:00:00:01)",
            "add mac eth.dst:0x0200000000aa vlan.valid:1 stack[0].tag:5 forward(port:3, dst:0x020000000001)",
        ),
        (
            "add mac stack[0].tag:5 ::ff 1 forward(dst:::1, 3)",
            "add mac eth.dst:255 vlan.valid:1 stack[0].tag:5 forward(port:3, dst:1)",
        ),
        (
            "add ingress.acl 10 10.1.0.0&&&255.255.0.0 80..443 _ drop # ten",
            "add ingress.acl 10 src:0x0a010000&&&0xffff0000 port:80..443 drop()",
        ),
        ("add ingress.acl 7 port:80 10.0.0.1 drop", "add ingress.acl 7 src:0x0a000001 port:80 drop()"),
        ("add egress.acl 7 drop", "add egress.acl port:7 drop()"),
        ("add next_hop 1 member 3", "add next_hop meta.nh:1 member 3"),
        ("add next_hop 1 group 4", "add next_hop meta.nh:1 group 4"),
        (
            "add next_hop 1 oneshot forward(1, 2):3 forward(2, 5)",
            "add next_hop meta.nh:1 oneshot forward(port:1, dst:2):3 forward(port:2, dst:5)",
        ),
        (
            "add route 10.0.0.0/8 NoAction = A\nmodify route $A forward(1, 2)\ndelete route $A",
            "add route dst:0x0a000000/8 NoAction()\nmodify route dst:0x0a000000/8 forward(port:1, dst:2)\n\
             remove route dst:0x0a000000/8",
        ),
        ("delete ingress.acl 7 10.0.0.1", "remove ingress.acl 7 src:0x0a000001"),
        ("setdefault route forward(1, 2)", "setdefault ingress.route forward(port:1, dst:2)"),
        ("register_write state 1 5", "register_write ingress.state 1 5"),
    ] {
        assert_eq!(updates(&stf::parse_short("short", short)), updates(&stf::parse("full", full)), "{short}");
        if short.lines().count() == 1 && short.contains("10.") {
            assert!(stf::parse("script", short).diagnostics.has_errors(), "{short}: is no script");
        }
    }
}

/// Faults of short commands, with places in what was typed.
#[test]
fn faults_of_short_commands() {
    let schema = schema();
    let text = std::fs::read_to_string(folder().join("short.stf")).unwrap();
    let mut shown = String::new();
    for line in text.lines() {
        let parsed = stf::parse_short("command", line);
        let (_, found) = resolve(&parsed.script, &schema);
        let errors: Vec<_> = parsed.diagnostics.iter().chain(found.iter()).filter(|d| d.is_error()).collect();
        assert!(!errors.is_empty(), "{line}");
        for error in errors {
            shown.push_str(&human(error, &parsed.sources, Style::default()));
            shown.push('\n');
        }
    }
    golden("short.txt", &shown);
}

/// Priority 0 becomes 1; a script that uses both for a table has all priorities of that table raised, and no others.
#[test]
fn priorities_begin_at_one() {
    let schema = schema();
    let priorities = |text: &str| -> Vec<i32> {
        let parsed = stf::parse("x.stf", text);
        let (plan, found) = resolve(&parsed.script, &schema);
        assert!(!found.has_errors());
        let updates = plan.steps.iter().flat_map(|step| match &step.kind {
            StepKind::Write(updates) => updates.as_slice(),
            _ => &[],
        });
        updates
            .map(|update| match &update.entity {
                Entity::TableEntry(entry) => entry.priority,
                other => panic!("{other:?}"),
            })
            .collect()
    };
    assert_eq!(priorities("add ingress.acl 5 drop()\nadd ingress.acl 1 src:7 drop()"), [5, 1]);
    assert_eq!(priorities("add ingress.acl 5 drop()\nadd ingress.acl 0 src:7 drop()"), [5, 1]);
    let both = "add ingress.acl 5 drop()\nadd ingress.acl 0 src:7 drop()\nadd ingress.acl 1 src:8 drop()";
    assert_eq!(priorities(both), [6, 1, 2]);
    // Keys without order have no priorities.
    assert_eq!(priorities("add mac 5 dst:1 NoAction()\nadd mac 0 dst:2 NoAction()"), [0, 0]);
}

#[test]
fn checks_compare_what_the_switch_answers() {
    let schema = schema();
    let parsed = stf::parse(
        "x.stf",
        "register_read state 1 == 0x10\nregister_read state 1 < 16\nexpect_digest learn src:0x0a** port:_",
    );
    let (plan, found) = resolve(&parsed.script, &schema);
    assert!(!found.has_errors());
    let register = schema.registers.find("state").unwrap().id;
    let answer = |value| {
        let data = Some(Data::Bits(Bits::new(16, value)));
        [Entity::Register(control::RegisterEntry { register, index: Some(1), data })]
    };
    let StepKind::Check(equal) = &plan.steps[0].kind else { panic!() };
    let StepKind::Check(less) = &plan.steps[1].kind else { panic!() };
    let StepKind::ExpectDigest(digest) = &plan.steps[2].kind else { panic!() };
    assert!(equal.evaluate(&schema, &answer(16)).is_ok());
    assert!(less.evaluate(&schema, &answer(15)).is_ok());
    let fault = equal.evaluate(&schema, &answer(17)).unwrap_err();
    assert_eq!(fault.message, "cell 1 of register `ingress.state` has 17");
    assert_eq!(fault.primary.text, "expected == 16");
    assert!(equal.evaluate(&schema, &[]).is_err());
    let message =
        |src, port| Data::Struct(vec![Data::Bits(Bits::new(48, src)), Data::Bits(Bits::new(9, port))]);
    assert_eq!(digest.mismatch(&message(0x0a77, 3)), None);
    assert_eq!(digest.mismatch(&message(0x1_0a77, 3)).unwrap(), "`src` is 0x10a77, expected 0xa00");
    assert!(digest.mismatch(&Data::Bool(true)).is_some());
}
