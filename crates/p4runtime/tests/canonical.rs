//! Answers are canonical: what a controller wrote in any form comes back in one (P4Runtime, "Read-Write Symmetry").

use control::{Entity, Fault, Query, Schema, Target, Update};
use p4info::proto::p4::v1 as pb;
use p4info::{Format, decode_p4info, decode_write_request};

/// Gives back all that was written, whatever is asked for.
#[derive(Default)]
struct Store(Vec<Entity>);

impl Target for Store {
    fn write(&mut self, update: &Update) -> Result<(), Fault> {
        self.0.push(update.entity.clone());
        Ok(())
    }

    fn read(&self, _: &Query) -> Result<Vec<Entity>, Fault> {
        Ok(self.0.clone())
    }
}

fn update(kind: &str, entity: &str) -> pb::Update {
    let text = format!("updates {{ type: {kind} entity {{ {entity} }} }}");
    decode_write_request(text.as_bytes(), Format::Text).unwrap().updates.remove(0)
}

/// Each with what comes back.
const CASES: &[(&str, &str, &str)] = &[
    // All match kinds, in the order of P4Info; parameters keep theirs.
    (
        "INSERT",
        r#"table_entry { table_id: 0x02000001 priority: 1
            match { field_id: 1 exact { value: "\x00\x00\x01" } }
            match { field_id: 2 lpm { value: "\x00\x0a\x00\x00\x00" prefix_len: 8 } }
            match { field_id: 3 ternary { value: "\x00\x00\x00\x01" mask: "\x00\x00\x00\xff" } }
            match { field_id: 4 range { low: "\x00\x00" high: "\x00\x09" } }
            match { field_id: 5 optional { value: "\x00\x07" } }
            action { action { action_id: 0x01000001 params { param_id: 2 value: "\x00\x00" } params { param_id: 1 value: "\x00\x01" } } }
            metadata: "\x00x" controller_metadata: 4 idle_timeout_ns: 3 counter_data { packet_count: 2 } meter_config { cir: 1 pir: 2 } }"#,
        r#"table_entry { table_id: 0x02000001 priority: 1
            match { field_id: 1 exact { value: "\x01" } }
            match { field_id: 2 lpm { value: "\x0a\x00\x00\x00" prefix_len: 8 } }
            match { field_id: 3 ternary { value: "\x01" mask: "\xff" } }
            match { field_id: 4 range { low: "\x00" high: "\x09" } }
            match { field_id: 5 optional { value: "\x07" } }
            action { action { action_id: 0x01000001 params { param_id: 2 value: "\x00" } params { param_id: 1 value: "\x01" } } }
            metadata: "\x00x" controller_metadata: 4 idle_timeout_ns: 3 counter_data { packet_count: 2 } meter_config { cir: 1 pir: 2 } }"#,
    ),
    // Strings are not numbers: every byte counts. A value of 32 bits is one of the translated type.
    (
        "INSERT",
        r#"table_entry { table_id: 0x02000007 priority: 1 match { field_id: 1 exact { value: "\x00a" } }
            action { action { action_id: 0x01000005 params { param_id: 1 value: "" } params { param_id: 2 value: "\x00\x00\x00\x00\x07" } } } }"#,
        r#"table_entry { table_id: 0x02000007 priority: 1 match { field_id: 1 exact { value: "\x00a" } }
            action { action { action_id: 0x01000005 params { param_id: 1 value: "" } params { param_id: 2 value: "\x07" } } } }"#,
    ),
    // One-shots are not merged; the older field for ports becomes the newer one.
    (
        "INSERT",
        r#"table_entry { table_id: 0x02000005 match { field_id: 1 lpm { value: "\x0a\x00\x00\x00" prefix_len: 8 } }
            action { action_profile_action_set {
              action_profile_actions { action { action_id: 0x01000001 params { param_id: 1 value: "\x01" } params { param_id: 2 value: "\x02" } } weight: 1 watch: 5 }
              action_profile_actions { action { action_id: 0x01000001 params { param_id: 1 value: "\x01" } params { param_id: 2 value: "\x00\x02" } } weight: 1 watch_port: "\x00\x05" }
              action_profile_actions { action { action_id: 0x01000001 params { param_id: 1 value: "\x01" } params { param_id: 2 value: "\x02" } } weight: 2 watch_port: "" }
              action_selection_mode: RANDOM size_semantics: SUM_OF_MEMBERS group_action { action_id: 0x01000004 } } } }"#,
        r#"table_entry { table_id: 0x02000005 match { field_id: 1 lpm { value: "\x0a\x00\x00\x00" prefix_len: 8 } }
            action { action_profile_action_set {
              action_profile_actions { action { action_id: 0x01000001 params { param_id: 1 value: "\x01" } params { param_id: 2 value: "\x02" } } weight: 1 watch_port: "\x05" }
              action_profile_actions { action { action_id: 0x01000001 params { param_id: 1 value: "\x01" } params { param_id: 2 value: "\x02" } } weight: 1 watch_port: "\x05" }
              action_profile_actions { action { action_id: 0x01000001 params { param_id: 1 value: "\x01" } params { param_id: 2 value: "\x02" } } weight: 2 }
              action_selection_mode: RANDOM size_semantics: SUM_OF_MEMBERS group_action { action_id: 0x01000004 } } } }"#,
    ),
    (
        "MODIFY",
        r#"table_entry { table_id: 0x02000001 is_default_action: true metadata: "m" action { action { action_id: 0x01000003 } } }"#,
        r#"table_entry { table_id: 0x02000001 is_default_action: true metadata: "m" action { action { action_id: 0x01000003 } } }"#,
    ),
    (
        "INSERT",
        r#"action_profile_member { action_profile_id: 0x11000002 member_id: 9 action { action_id: 0x01000001 params { param_id: 1 value: "\x00\x01" } params { param_id: 2 value: "\x00\x00\x00\x00\x00\x00\x02" } } }"#,
        r#"action_profile_member { action_profile_id: 0x11000002 member_id: 9 action { action_id: 0x01000001 params { param_id: 1 value: "\x01" } params { param_id: 2 value: "\x02" } } }"#,
    ),
    (
        "INSERT",
        r#"action_profile_group { action_profile_id: 0x11000001 group_id: 9 max_size: 8 members { member_id: 2 weight: 1 watch: 3 } members { member_id: 1 weight: 2 watch_port: "\x00\x03" } }"#,
        r#"action_profile_group { action_profile_id: 0x11000001 group_id: 9 max_size: 8 members { member_id: 2 weight: 1 watch_port: "\x03" } members { member_id: 1 weight: 2 watch_port: "\x03" } }"#,
    ),
    (
        "MODIFY",
        r#"meter_entry { meter_id: 0x14000002 index { index: 0 } config { cir: 1 pir: 1 eburst: 7 } }"#,
        r#"meter_entry { meter_id: 0x14000002 index { index: 0 } config { cir: 1 pir: 1 eburst: 7 } }"#,
    ),
    (
        "MODIFY",
        r#"direct_meter_entry { table_entry { table_id: 0x02000001 priority: 1 match { field_id: 1 exact { value: "\x00\x01" } } } config { cir: 1 pir: 2 } }"#,
        r#"direct_meter_entry { table_entry { table_id: 0x02000001 priority: 1 match { field_id: 1 exact { value: "\x01" } } } config { cir: 1 pir: 2 } }"#,
    ),
    (
        "MODIFY",
        r#"counter_entry { counter_id: 0x12000001 index {} data { byte_count: 1 } }"#,
        r#"counter_entry { counter_id: 0x12000001 index {} data { byte_count: 1 } }"#,
    ),
    (
        "MODIFY",
        r#"direct_counter_entry { table_entry { table_id: 0x02000001 is_default_action: true } data { packet_count: 1 } }"#,
        r#"direct_counter_entry { table_entry { table_id: 0x02000001 is_default_action: true } data { packet_count: 1 } }"#,
    ),
    (
        "MODIFY",
        r#"register_entry { register_id: 0x16000001 index { index: 3 } data { bitstring: "\x00\x00\x05" } }"#,
        r#"register_entry { register_id: 0x16000001 index { index: 3 } data { bitstring: "\x05" } }"#,
    ),
    // A negative number of 12 bits loses copies of its sign; a varbit of no bits has no bytes.
    (
        "MODIFY",
        r#"register_entry { register_id: 0x16000002 index { index: 3 } data { struct {
            members { bitstring: "\xff\xff\x80" } members { bool: true } members { enum: "OPEN" } members { enum_value: "\x00\x11" }
            members { header { is_valid: true bitstrings: "\x00\x00\x08" } } members { header_union {} }
            members { header_stack { entries {} entries { is_valid: true bitstrings: "\x00\x01" } } }
            members { bitstring: "\x00e1" } members { error: "NoError" }
            members { tuple { members { bool: false } members { bitstring: "\x00\x01" } } }
            members { varbit { bitstring: "\x00\x01" bitwidth: 9 } } } } }"#,
        r#"register_entry { register_id: 0x16000002 index { index: 3 } data { struct {
            members { bitstring: "\x80" } members { bool: true } members { enum: "OPEN" } members { enum_value: "\x11" }
            members { header { is_valid: true bitstrings: "\x08" } } members { header_union {} }
            members { header_stack { entries {} entries { is_valid: true bitstrings: "\x01" } } }
            members { bitstring: "\x00e1" } members { error: "NoError" }
            members { tuple { members { bool: false } members { bitstring: "\x01" } } }
            members { varbit { bitstring: "\x01" bitwidth: 9 } } } } }"#,
    ),
    (
        "MODIFY",
        r#"value_set_entry { value_set_id: 0x03000001 members { match { field_id: 1 exact { value: "\x00\x01" } } match { field_id: 2 ternary { value: "\x00\x01" mask: "\x00\x03" } } } }"#,
        r#"value_set_entry { value_set_id: 0x03000001 members { match { field_id: 1 exact { value: "\x01" } } match { field_id: 2 ternary { value: "\x01" mask: "\x03" } } } }"#,
    ),
    (
        "INSERT",
        r#"digest_entry { digest_id: 0x17000001 config { max_timeout_ns: 1 max_list_size: 2 ack_timeout_ns: 3 } }"#,
        r#"digest_entry { digest_id: 0x17000001 config { max_timeout_ns: 1 max_list_size: 2 ack_timeout_ns: 3 } }"#,
    ),
    // Replicas and backups keep their order; ports come back as bytes.
    (
        "INSERT",
        r#"packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 7 metadata: "\x00m"
            replicas { egress_port: 258 instance: 2 backup_replicas { port: "\x00\x03" instance: 1 } backup_replicas { port: "\x02" instance: 1 } }
            replicas { port: "\x00\x00" } } }"#,
        r#"packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 7 metadata: "\x00m"
            replicas { port: "\x01\x02" instance: 2 backup_replicas { port: "\x03" instance: 1 } backup_replicas { port: "\x02" instance: 1 } }
            replicas { port: "\x00" } } }"#,
    ),
    (
        "INSERT",
        r#"packet_replication_engine_entry { clone_session_entry { session_id: 7 class_of_service: 2 packet_length_bytes: 64 replicas { egress_port: 1 } replicas { port: "\x00\x02" instance: 5 } } }"#,
        r#"packet_replication_engine_entry { clone_session_entry { session_id: 7 class_of_service: 2 packet_length_bytes: 64 replicas { port: "\x01" } replicas { port: "\x02" instance: 5 } } }"#,
    ),
    (
        "MODIFY",
        r#"extern_entry { extern_type_id: 0x81 extern_id: 0x81000001 entry { type_url: "a/b" value: "\x00\x01" } }"#,
        r#"extern_entry { extern_type_id: 0x81 extern_id: 0x81000001 entry { type_url: "a/b" value: "\x00\x01" } }"#,
    ),
];

#[test]
fn e4_what_was_written_comes_back_in_canonical_form() {
    let info = decode_p4info(include_bytes!("cases/schema.txtpb"), Format::Text).unwrap();
    let schema = Schema::new(&info).unwrap();
    for (kind, written, expected) in CASES {
        let mut store = Store::default();
        let request = pb::WriteRequest { updates: vec![update(kind, written)], ..Default::default() };
        let results = p4runtime::write(&schema, &mut store, &request).unwrap();
        assert_eq!(results, [Ok(())], "{written}");
        let asked = update("INSERT", "counter_entry {}").entity.unwrap();
        let request = pb::ReadRequest { entities: vec![asked], ..Default::default() };
        let answer = p4runtime::read(&schema, &mut store, &request).remove(0).unwrap();
        assert_eq!(answer, [update(kind, expected).entity.unwrap()], "{written}");
        // An answer can be written as it is, and is then the same.
        let mut again = Store::default();
        let request = pb::WriteRequest { updates: vec![update(kind, expected)], ..Default::default() };
        assert_eq!(p4runtime::write(&schema, &mut again, &request).unwrap(), [Ok(())], "{expected}");
        assert_eq!(again.0, store.0);
    }
}
