//! A switch that runs the program of the lines, with updates and questions in protobuf's text format.
//!
//! `$name` stands for the id of an object of P4Info. Parts that are long in the text format have short forms:
//! `exact(1,\x01)`, `lpm(1,\x0a,8)`, `ternary(1,\x01,\xff)`, `range(1,\x01,\x02)`, `optional(1,\x01)` for matches by the
//! id of the field, `do(forward,\x01)` for the action of an entry, and `call(forward,\x01)` for an action alone.

use crate::bench::{Bench, DEVICE, code, details, uint128};
use control::Code;
use grpc::ServerOptions;
use p4info::proto::p4::v1 as pb;
use p4info::{Format, P4Info, decode_write_request};
use pb::set_forwarding_pipeline_config_request::Action;
use std::ops::Deref;

pub const LINES: &str = include_str!("lines.p4");

/// The program with a register of each type besides, from which it reads: `memory0`, `memory1`, ... There are headers `Long`, with a
/// varbit, and `Signed`.
pub fn lines_with_registers(types: &[&str]) -> String {
    let registers = types.iter().zip(0..);
    let used = |(ty, i): (&&str, i32)| format!("{ty} value{i};\nmemory{i}.read(value{i}, 0);\n");
    let used: String = registers.clone().map(used).collect();
    let declared: String = registers.map(|(ty, i)| format!("register<{ty}>(4) memory{i};\n")).collect();
    let headers = "header Long { bit<8> kind; varbit<32> rest; }\nheader Signed { int<12> level; }\n";
    let (state, control) = ("register<bit<12>>(8) memory;", "control Work(");
    LINES
        .replace(state, &format!("{state}\n{declared}"))
        .replace("fixed.apply();", &format!("{used}fixed.apply();"))
        .replace(control, &format!("{headers}\n{control}"))
}

/// A bench with its program. Anybody writes, as long as nobody arbitrates.
pub struct Desk {
    pub bench: Bench,
    pub p4info: P4Info,
    /// The election id of requests.
    pub election_id: Option<u64>,
    pub role: &'static str,
}

impl Deref for Desk {
    type Target = Bench;

    fn deref(&self) -> &Bench {
        &self.bench
    }
}

/// The parts of a text before, inside and after its first short form, with the word in front of it.
fn short_form(text: &str) -> Option<(&str, &str, &str, &str)> {
    let open = text.find('(')?;
    let close = open + text[open..].find(')').expect("a short form ends");
    let begin = text[..open].rfind(|c: char| !c.is_ascii_alphabetic()).map_or(0, |at| at + 1);
    Some((&text[..begin], &text[begin..open], &text[open + 1..close], &text[close + 1..]))
}

/// An action with its parameters in order.
fn call(parts: &[&str]) -> String {
    let params = parts[1..].iter().zip(1..);
    let params = params.map(|(value, id)| format!(" params {{ param_id: {id} value: \"{value}\" }}"));
    format!("action_id: ${}{}", parts[0], params.collect::<String>())
}

fn long_form(word: &str, inside: &str) -> String {
    let parts: Vec<&str> = inside.split(',').map(str::trim).collect();
    let one = |kind: &str, body: String| format!("match {{ field_id: {} {kind} {{ {body} }} }}", parts[0]);
    match word {
        "exact" | "optional" => one(word, format!("value: \"{}\"", parts[1])),
        "lpm" => one(word, format!("value: \"{}\" prefix_len: {}", parts[1], parts[2])),
        "ternary" => one(word, format!("value: \"{}\" mask: \"{}\"", parts[1], parts[2])),
        "range" => one(word, format!("low: \"{}\" high: \"{}\"", parts[1], parts[2])),
        "do" => format!("action {{ action {{ {} }} }}", call(&parts)),
        "call" => call(&parts),
        _ => panic!("`{word}` is no short form"),
    }
}

/// The id of an object of P4Info by its alias or its whole name.
fn id_of(p4info: &P4Info, name: &str) -> u32 {
    let all = (p4info.tables.iter().map(|of| &of.preamble))
        .chain(p4info.actions.iter().map(|of| &of.preamble))
        .chain(p4info.action_profiles.iter().map(|of| &of.preamble))
        .chain(p4info.counters.iter().map(|of| &of.preamble))
        .chain(p4info.direct_counters.iter().map(|of| &of.preamble))
        .chain(p4info.meters.iter().map(|of| &of.preamble))
        .chain(p4info.direct_meters.iter().map(|of| &of.preamble))
        .chain(p4info.registers.iter().map(|of| &of.preamble))
        .chain(p4info.value_sets.iter().map(|of| &of.preamble))
        .chain(p4info.digests.iter().map(|of| &of.preamble));
    let mut all = all.flatten();
    all.find(|of| of.alias == name || of.name == name).unwrap_or_else(|| panic!("`{name}`")).id
}

impl Desk {
    pub fn new() -> Desk {
        Desk::with(LINES, |_| {})
    }

    /// With another program, and a P4Info of the controller.
    pub fn with(program: &str, change: impl FnOnce(&mut P4Info)) -> Desk {
        let bench = Bench::with(|options| ServerOptions { without_arbitration: true, ..options });
        let desk = Desk { bench, p4info: P4Info::default(), election_id: None, role: "" };
        desk.set(Action::VerifyAndCommit, program, None).unwrap();
        let mut desk = Desk::on(desk.bench);
        let mut p4info = desk.p4info.clone();
        change(&mut p4info);
        if p4info != desk.p4info {
            desk.set(Action::VerifyAndCommit, program, Some(p4info.clone())).unwrap();
            desk.p4info = p4info;
        }
        desk
    }

    /// With the program that runs.
    pub fn on(bench: Bench) -> Desk {
        let p4info = bench.get(0).unwrap().unwrap().p4info.unwrap();
        Desk { bench, p4info, election_id: None, role: "" }
    }

    pub fn set(&self, action: Action, program: &str, p4info: Option<P4Info>) -> Result<(), tonic::Status> {
        let config = pb::ForwardingPipelineConfig {
            p4_device_config: program.as_bytes().to_vec(),
            p4info,
            ..pb::ForwardingPipelineConfig::default()
        };
        self.set_request(pb::SetForwardingPipelineConfigRequest {
            device_id: DEVICE,
            election_id: self.election_id.map(uint128),
            action: action.into(),
            config: (config != pb::ForwardingPipelineConfig::default()).then_some(config),
            ..pb::SetForwardingPipelineConfigRequest::default()
        })
    }

    fn message(&self, kind: &str, entity: &str) -> pb::Update {
        let mut text = entity.to_owned();
        while let Some((before, word, inside, after)) = short_form(&text) {
            text = format!("{before}{}{after}", long_form(word, inside));
        }
        while let Some((before, rest)) = text.split_once('$') {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && !"_.".contains(c));
            let (name, after) = rest.split_at(end.unwrap_or(rest.len()));
            text = format!("{before}{}{after}", id_of(&self.p4info, name));
        }
        let text = format!("updates {{ type: {kind} entity {{ {text} }} }}");
        let request = decode_write_request(text.as_bytes(), Format::Text);
        request.unwrap_or_else(|error| panic!("{text}\n{error}")).updates.remove(0)
    }

    pub fn entity(&self, text: &str) -> pb::Entity {
        self.message("UNSPECIFIED", text).entity.unwrap()
    }

    /// `insert ENTITY`, `modify ENTITY` or `delete ENTITY`.
    pub fn update(&self, text: &str) -> pb::Update {
        let (kind, entity) = text.trim().split_once(' ').unwrap();
        self.message(&kind.to_uppercase(), entity)
    }

    pub fn request(&self, updates: &[&str]) -> pb::WriteRequest {
        pb::WriteRequest {
            device_id: DEVICE,
            role: self.role.to_owned(),
            election_id: self.election_id.map(uint128),
            updates: updates.iter().map(|text| self.update(text)).collect(),
            ..pb::WriteRequest::default()
        }
    }

    /// Writes all in one request, which succeeds.
    pub fn write(&self, updates: &[&str]) {
        if let Err(status) = self.write_request(self.request(updates)) {
            panic!("{status}: {:?}", details(&status));
        }
    }

    /// Writes all in one request, with the code and the text of each update.
    pub fn outcomes(&self, updates: &[&str]) -> Vec<(Code, String)> {
        outcomes_of(self.write_request(self.request(updates)), updates.len())
    }

    /// The code of each update of one request.
    pub fn codes(&self, updates: &[&str]) -> Vec<Code> {
        self.outcomes(updates).into_iter().map(|(code, _)| code).collect()
    }

    /// Each update alone is refused with the code and a text that has the words, and none of them changes anything.
    pub fn refuses(&self, code: Code, cases: &[(&str, &str)]) {
        let before = self.dump();
        let mut wrong = String::new();
        for (update, words) in cases {
            let (found, text) = self.outcomes(&[update]).remove(0);
            if found != code || !text.contains(words) {
                wrong += &format!("{update}\n  expected {code:?}: {words}\n  found    {found:?}: {text}\n");
            }
        }
        assert!(wrong.is_empty(), "{wrong}");
        self.still_has(&before);
    }

    pub fn read(&self, question: &str) -> Vec<pb::Entity> {
        let entities = vec![self.entity(question)];
        let role = self.role.to_owned();
        let found = self.read_request(pb::ReadRequest { device_id: DEVICE, role, entities });
        found.unwrap_or_else(|(_, status)| panic!("{question}: {status}: {:?}", details(&status)))
    }

    /// The question is answered with just these entities.
    pub fn reads(&self, question: &str, expected: &[&str]) {
        let expected: Vec<pb::Entity> = expected.iter().map(|text| self.entity(text)).collect();
        assert_eq!(self.read(question), expected, "{question}");
    }

    /// The question is refused with the code, and a text that has the words.
    pub fn refuses_to_read(&self, code: Code, cases: &[(&str, &str)]) {
        for (question, words) in cases {
            let entities = vec![self.entity(question)];
            let request = pb::ReadRequest { device_id: DEVICE, entities, ..pb::ReadRequest::default() };
            let (found, text) = match self.read_request(request) {
                Ok(found) => panic!("{question}: answered with {found:?}"),
                Err((_, status)) => outcomes_of(Err(status), 1).remove(0),
            };
            assert!(found == code && text.contains(words), "{question}\n  {found:?}: {text}");
        }
    }

    /// Everything is as before.
    pub fn still_has(&self, before: &[pb::Entity]) {
        let now = self.dump();
        let gone: Vec<&pb::Entity> = before.iter().filter(|entity| !now.contains(entity)).collect();
        let new: Vec<&pb::Entity> = now.iter().filter(|entity| !before.contains(entity)).collect();
        assert!(gone.is_empty() && new.is_empty(), "gone: {gone:#?}\nnew: {new:#?}");
        assert_eq!(now.len(), before.len());
    }

    /// Everything that controllers have written, and what packets have counted.
    pub fn dump(&self) -> Vec<pb::Entity> {
        let mut all = Vec::new();
        for question in [
            "table_entry {}",
            "action_profile_member {}",
            "action_profile_group {}",
            "counter_entry {}",
            "direct_counter_entry { table_entry {} }",
            "direct_meter_entry { table_entry {} }",
            "meter_entry {}",
            "register_entry {}",
            "value_set_entry {}",
            "digest_entry {}",
            "packet_replication_engine_entry { multicast_group_entry {} }",
            "packet_replication_engine_entry { clone_session_entry {} }",
        ] {
            all.extend(self.read(question));
        }
        for table in &self.p4info.tables {
            let id = table.preamble.as_ref().unwrap().id;
            all.extend(self.read(&format!("table_entry {{ table_id: {id} is_default_action: true }}")));
        }
        all
    }
}

/// The code and the text of each update or question. A status as a whole is OK, or UNKNOWN with details.
pub fn outcomes_of(result: Result<(), tonic::Status>, n: usize) -> Vec<(Code, String)> {
    let Err(status) = result else { return vec![(Code::Ok, String::new()); n] };
    assert_eq!(code(&status), Code::Unknown, "{status}");
    let found = details(&status);
    assert_eq!(found.len(), n);
    let outcome = |(number, text): (i32, String)| (Code::of_number(number), text);
    found.into_iter().map(outcome).collect()
}
