//! Arbitration and roles, by the numbers of the checklist for P4Runtime, and against a model.

use control::session::{
    AnnotatedRoles, Arbitration, Effect, MetadataFilter, N_ROLES_MAX, N_STREAMS_MAX, Notice, Role,
    RoleConfig, RoleName, SessionFault, Sessions, StreamId, WriteTicket, WriterClaim,
};
use control::{
    Code, CounterEntry, CounterId, Entity, MulticastGroup, MulticastGroupId, Schema, TableEntry, TableId,
};
use p4info::{Format, P4Info, decode_p4info};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const DEVICE: u64 = 7;
const A: StreamId = StreamId(1);
const B: StreamId = StreamId(2);
const C: StreamId = StreamId(3);

fn p4info(text: &str) -> P4Info {
    decode_p4info(text.as_bytes(), Format::Text).unwrap()
}

fn role(name: &str) -> RoleName {
    RoleName(name.into())
}

fn bid(name: &str, election_id: Option<u128>) -> Arbitration {
    Arbitration { device_id: DEVICE, role: role(name), election_id, config: None }
}

fn claim(name: &str, election_id: Option<u128>) -> WriterClaim {
    WriterClaim { device_id: DEVICE, role: role(name), election_id }
}

fn notices(effects: &[Effect]) -> Vec<(StreamId, Option<u128>, Option<Code>)> {
    let notice = |effect: &Effect| match effect {
        Effect::Notify { stream, notice } => Some((*stream, notice.election_id, notice.status)),
        Effect::NewPrimary { .. } => None,
    };
    effects.iter().filter_map(notice).collect()
}

const OK: Option<Code> = None;
const TAKEN: Option<Code> = Some(Code::AlreadyExists);
const NONE: Option<Code> = Some(Code::NotFound);

#[test]
fn a1_reads_need_no_stream() {
    let sessions = Sessions::new(DEVICE);
    assert_eq!(sessions.check_device(DEVICE), Ok(()));
    assert_eq!(sessions.check_device(8).unwrap_err().code(), Code::NotFound);
    assert!(sessions.role(&role(""), Arc::default()).sees(&entities()[0]));
    assert!(sessions.role(&role("never seen"), Arc::default()).sees(&entities()[0]));
}

#[test]
fn a2_a_stream_for_an_unknown_device_ends() {
    let mut sessions = Sessions::new(DEVICE);
    let fault = sessions.arbitrate(A, Arbitration { device_id: 8, ..bid("", Some(1)) }).unwrap_err();
    assert_eq!(fault.code(), Code::NotFound);
    assert_eq!(
        Sessions::new(0).arbitrate(A, Arbitration { device_id: 0, ..bid("", None) }).unwrap().len(),
        1
    );
}

#[test]
fn a3_an_election_id_is_used_once_in_a_role() {
    let mut sessions = Sessions::new(DEVICE);
    sessions.arbitrate(A, bid("", Some(1))).unwrap();
    let fault = sessions.arbitrate(B, bid("", Some(1))).unwrap_err();
    assert_eq!(fault.code(), Code::InvalidArgument);
    assert!(fault.to_string().contains("election id 1 is already used"), "{fault}");
    sessions.arbitrate(C, bid("other", Some(1))).unwrap();
    sessions.arbitrate(B, bid("both", Some(1 << 64))).unwrap();
    let fault = sessions.arbitrate(StreamId(9), bid("both", Some(1 << 64))).unwrap_err();
    assert!(fault.to_string().contains("election id {high: 1, low: 0} is already used"), "{fault}");
    sessions.close(B);
    // Nobody is stopped from having none.
    sessions.arbitrate(B, bid("", None)).unwrap();
    sessions.arbitrate(StreamId(4), bid("", None)).unwrap();
}

#[test]
fn a4_a_role_has_a_number_of_streams_at_most() {
    let mut sessions = Sessions::new(DEVICE);
    for i in 0..N_STREAMS_MAX as u64 {
        sessions.arbitrate(StreamId(i), bid("", Some(u128::from(i)))).unwrap();
    }
    let fault = sessions.arbitrate(StreamId(1000), bid("", Some(1000))).unwrap_err();
    assert_eq!(fault.code(), Code::ResourceExhausted);
    sessions.arbitrate(StreamId(1000), bid("other", Some(1000))).unwrap();
    sessions.close(StreamId(3));
    sessions.arbitrate(StreamId(1001), bid("", Some(1001))).unwrap();
}

#[test]
fn a4_the_number_of_roles_is_bounded() {
    let mut sessions = Sessions::new(DEVICE);
    for i in 0..N_ROLES_MAX as u64 {
        sessions.arbitrate(StreamId(i), bid(&i.to_string(), None)).unwrap();
        sessions.close(StreamId(i));
    }
    let fault = sessions.arbitrate(A, bid("one more", None)).unwrap_err();
    assert_eq!(fault.code(), Code::ResourceExhausted);
    sessions.arbitrate(A, bid("1", None)).unwrap();
    sessions.arbitrate(B, bid("", None)).unwrap();
    let fault = sessions.arbitrate(C, bid(&"n".repeat(300), None)).unwrap_err();
    assert_eq!(fault.code(), Code::InvalidArgument);
}

#[test]
fn a4_configs_that_contradict_are_refused() {
    let mut sessions = Sessions::new(DEVICE);
    let with = |name, id, config: &RoleConfig| Arbitration {
        config: Some(Arc::new(config.clone())),
        ..bid(name, Some(id))
    };
    let ids = |of: &[u32]| of.iter().copied().collect::<BTreeSet<u32>>();
    let exclusive = RoleConfig { exclusive_ids: ids(&[1, 2]), ..RoleConfig::default() };
    let shared = RoleConfig { ids: ids(&[2]), ..RoleConfig::default() };
    let read_only = RoleConfig { read_only_ids: ids(&[2]), ..RoleConfig::default() };
    let harmless = RoleConfig { ids: ids(&[3]), ..RoleConfig::default() };
    sessions.arbitrate(A, with("a", 1, &exclusive)).unwrap();
    for config in [&exclusive, &shared, &read_only] {
        let fault = sessions.arbitrate(B, with("b", 1, config)).unwrap_err();
        assert_eq!(fault.code(), Code::InvalidArgument);
        assert!(fault.to_string().contains("role `a` names 0x0000000"), "{fault}");
    }
    sessions.arbitrate(B, with("b", 1, &harmless)).unwrap();
    // That of a successor counts before it is accepted, and as long as nobody replaces it.
    let write = sessions.begin_write(&claim("b", Some(1))).unwrap();
    let takes_3 = RoleConfig { exclusive_ids: ids(&[3]), ..RoleConfig::default() };
    assert!(sessions.arbitrate(C, with("c", 1, &takes_3)).is_err());
    sessions.arbitrate(B, bid("b", Some(2))).unwrap();
    assert_eq!(sessions.end_write(write).len(), 1);
    sessions.arbitrate(C, with("c", 1, &takes_3)).unwrap();
    sessions.close(C);
    assert!(sessions.arbitrate(B, with("b", 2, &harmless)).is_err());
    // The default role needs no config; filters have to filter.
    let filter =
        |value: &[u8]| Some(MetadataFilter { metadata_id: 1, values: BTreeSet::from([value.to_vec()]) });
    let silent = RoleConfig { packet_filter: filter(&[1]), ..RoleConfig::default() };
    let empty = RoleConfig { receives_packets: true, packet_filter: filter(&[]), ..RoleConfig::default() };
    for (name, config) in [("", &harmless), ("d", &silent), ("d", &empty)] {
        let fault = sessions.arbitrate(StreamId(9), with(name, 1, config)).unwrap_err();
        assert_eq!(fault.code(), Code::InvalidArgument);
    }
}

#[test]
fn a5_a_stream_stays_with_its_device_and_role() {
    let mut sessions = Sessions::new(DEVICE);
    sessions.arbitrate(A, bid("", Some(5))).unwrap();
    sessions.arbitrate(B, bid("", Some(4))).unwrap();
    for other in [bid("x", Some(5)), Arbitration { device_id: 8, ..bid("", Some(5)) }] {
        assert_eq!(sessions.arbitrate(A, other).unwrap_err().code(), Code::FailedPrecondition);
    }
    // Again with the same id: announced, and nothing changes.
    let again = sessions.arbitrate(A, bid("", Some(5))).unwrap();
    assert_eq!(notices(&again), [(B, Some(5), TAKEN), (A, Some(5), OK)]);
    assert!(!again.iter().any(|effect| matches!(effect, Effect::NewPrimary { .. })));
    // With a lower one it steps down.
    let lower = sessions.arbitrate(A, bid("", Some(3))).unwrap();
    assert_eq!(notices(&lower), [(A, Some(5), NONE), (B, Some(5), NONE)]);
}

#[test]
fn a6_the_highest_election_id_ever_is_the_bar() {
    let mut sessions = Sessions::new(DEVICE);
    assert_eq!(notices(&sessions.arbitrate(A, bid("", None)).unwrap()), [(A, None, NONE)]);
    assert_eq!(notices(&sessions.arbitrate(A, bid("", Some(0))).unwrap()), [(A, Some(0), OK)]);
    sessions.arbitrate(B, bid("", Some(9))).unwrap();
    sessions.close(B);
    assert_eq!(notices(&sessions.arbitrate(A, bid("", Some(8))).unwrap()), [(A, Some(9), NONE)]);
    assert_eq!(notices(&sessions.arbitrate(A, bid("", Some(9))).unwrap()), [(A, Some(9), OK)]);
    assert_eq!(sessions.primary(&role("")), Some(A));
}

#[test]
fn a7_a_lost_primary_promotes_nobody() {
    let mut sessions = Sessions::new(DEVICE);
    sessions.arbitrate(A, bid("", Some(9))).unwrap();
    sessions.arbitrate(B, bid("", Some(8))).unwrap();
    assert_eq!(notices(&sessions.close(A)), [(B, Some(9), NONE)]);
    assert_eq!(sessions.primary(&role("")), None);
    assert!(sessions.begin_write(&claim("", Some(8))).is_err());
    assert_eq!(
        notices(&sessions.arbitrate(C, bid("", Some(9))).unwrap()),
        [(B, Some(9), TAKEN), (C, Some(9), OK)]
    );
    assert_eq!(sessions.close(B), []);
}

/// The fault of the default role.
fn not_primary(elected: Option<u128>, highest: Option<u128>) -> SessionFault {
    SessionFault::NotPrimary { role: role(""), elected, highest }
}

#[test]
fn d1_refused_writers_hear_who_is_primary() {
    let mut sessions = Sessions::new(DEVICE);
    let text = |fault: SessionFault| fault.to_string();
    let begin = "only the primary of the default role may do this, and ";
    assert_eq!(
        text(sessions.begin_write(&claim("", Some(1))).unwrap_err()),
        format!("{begin}there is none: send a MasterArbitrationUpdate with an election id first")
    );
    sessions.arbitrate(A, bid("", Some(7))).unwrap();
    assert_eq!(
        text(sessions.begin_write(&claim("", Some(1))).unwrap_err()),
        format!("{begin}that is the controller with election id 7")
    );
    sessions.close(A);
    sessions.arbitrate(B, bid("", Some(5))).unwrap();
    assert_eq!(
        text(sessions.begin_write(&claim("", Some(5))).unwrap_err()),
        format!(
            "{begin}there is none: send a MasterArbitrationUpdate with election id 7 or a higher one first"
        )
    );
}

#[test]
fn a8_a_new_primary_waits_for_writes_that_are_under_way() {
    let mut sessions = Sessions::new(DEVICE);
    sessions.arbitrate(A, bid("", Some(1))).unwrap();
    let first = sessions.begin_write(&claim("", Some(1))).unwrap();
    let second = sessions.begin_write(&claim("", Some(1))).unwrap();
    // Others are told, the new one is not, and neither of them may write.
    assert_eq!(notices(&sessions.arbitrate(B, bid("", Some(2))).unwrap()), [(A, Some(2), TAKEN)]);
    for id in [1, 2] {
        assert_eq!(sessions.begin_write(&claim("", Some(id))), Err(not_primary(Some(2), Some(2))));
    }
    assert_eq!(sessions.end_write(first), []);
    let accepted = sessions.end_write(second);
    assert_eq!(accepted[0], Effect::NewPrimary { role: role("") });
    assert_eq!(notices(&accepted), [(B, Some(2), OK)]);
    assert!(sessions.begin_write(&claim("", Some(2))).is_ok());
}

#[test]
fn a8_the_last_of_several_successors_is_accepted() {
    let mut sessions = Sessions::new(DEVICE);
    sessions.arbitrate(A, bid("", Some(1))).unwrap();
    let write = sessions.begin_write(&claim("", Some(1))).unwrap();
    sessions.arbitrate(B, bid("", Some(2))).unwrap();
    assert_eq!(
        notices(&sessions.arbitrate(C, bid("", Some(3))).unwrap()),
        [(A, Some(3), TAKEN), (B, Some(3), TAKEN)]
    );
    assert_eq!(notices(&sessions.end_write(write)), [(C, Some(3), OK)]);
    // A successor that goes leaves nobody.
    let write = sessions.begin_write(&claim("", Some(3))).unwrap();
    sessions.arbitrate(A, bid("", Some(4))).unwrap();
    assert_eq!(notices(&sessions.close(A)), [(B, Some(4), NONE), (C, Some(4), NONE)]);
    assert_eq!(sessions.end_write(write), []);
    assert_eq!(sessions.primary(&role("")), None);
    // Others have heard of its id, so that counts: the old primary has to bid higher.
    assert_eq!(notices(&sessions.arbitrate(C, bid("", Some(3))).unwrap()), [(C, Some(4), NONE)]);
}

#[test]
fn a8_a_primary_that_raises_its_own_id_waits_too() {
    let mut sessions = Sessions::new(DEVICE);
    sessions.arbitrate(A, bid("", Some(1))).unwrap();
    sessions.arbitrate(B, bid("", None)).unwrap();
    let write = sessions.begin_write(&claim("", Some(1))).unwrap();
    assert_eq!(notices(&sessions.arbitrate(A, bid("", Some(2))).unwrap()), [(B, Some(2), TAKEN)]);
    for id in [1, 2] {
        assert!(sessions.begin_write(&claim("", Some(id))).is_err());
    }
    // It is told when it is accepted, and has not lost its digests.
    let accepted = sessions.end_write(write);
    assert_eq!(accepted.len(), 1);
    assert_eq!(notices(&accepted), [(A, Some(2), OK)]);
    assert!(sessions.begin_write(&claim("", Some(1))).is_err());
    let write = sessions.begin_write(&claim("", Some(2))).unwrap();
    // With the id that it has, nothing waits.
    assert_eq!(
        notices(&sessions.arbitrate(A, bid("", Some(2))).unwrap()),
        [(B, Some(2), TAKEN), (A, Some(2), OK)]
    );
    let second = sessions.begin_write(&claim("", Some(2))).unwrap();
    assert_eq!(sessions.end_write(write), []);
    assert_eq!(sessions.end_write(second), []);
}

#[test]
fn a8_a_successor_that_steps_down_leaves_nobody() {
    let mut sessions = Sessions::new(DEVICE);
    sessions.arbitrate(A, bid("", Some(1))).unwrap();
    let write = sessions.begin_write(&claim("", Some(1))).unwrap();
    sessions.arbitrate(B, bid("", Some(2))).unwrap();
    // A newcomer between is told of the one that comes.
    assert_eq!(notices(&sessions.arbitrate(C, bid("", None)).unwrap()), [(C, Some(2), TAKEN)]);
    assert_eq!(
        notices(&sessions.arbitrate(B, bid("", None)).unwrap()),
        [(A, Some(2), NONE), (B, Some(2), NONE), (C, Some(2), NONE)]
    );
    assert_eq!(sessions.end_write(write), []);
    assert_eq!(notices(&sessions.arbitrate(A, bid("", Some(2))).unwrap()).last(), Some(&(A, Some(2), OK)));
}

#[test]
fn a8_writes_of_a_primary_that_is_gone_hold_up_the_next() {
    let mut sessions = Sessions::new(DEVICE);
    sessions.arbitrate(A, bid("", Some(1))).unwrap();
    let write = sessions.begin_write(&claim("", Some(1))).unwrap();
    assert_eq!(sessions.close(A), []);
    assert_eq!(sessions.arbitrate(B, bid("", Some(1))).unwrap(), []);
    assert_eq!(sessions.primary(&role("")), None);
    assert_eq!(notices(&sessions.end_write(write)), [(B, Some(1), OK)]);
}

#[test]
fn a10_highest_ids_outlive_all_streams() {
    let mut sessions = Sessions::new(DEVICE);
    sessions.arbitrate(A, bid("r", Some(7))).unwrap();
    sessions.close(A);
    assert_eq!(notices(&sessions.arbitrate(B, bid("r", Some(6))).unwrap()), [(B, Some(7), NONE)]);
    assert_eq!(notices(&sessions.arbitrate(B, bid("r", Some(7))).unwrap()), [(B, Some(7), OK)]);
    // The next device knows nothing of them.
    let started_again = Sessions::new(DEVICE).arbitrate(A, bid("r", Some(1))).unwrap();
    assert_eq!(notices(&started_again), [(A, Some(1), OK)]);
}

#[test]
fn a9_notices_go_to_those_whom_they_concern() {
    let mut sessions = Sessions::new(DEVICE);
    let config = |may_send_packets| Some(Arc::new(RoleConfig { may_send_packets, ..RoleConfig::default() }));
    let with = |config, id| Arbitration { config, ..bid("r", id) };
    let first = sessions.arbitrate(A, with(config(true), Some(5))).unwrap();
    let notice = Notice {
        device_id: DEVICE,
        role: role("r"),
        config: config(true),
        election_id: Some(5),
        status: None,
    };
    let expected =
        [Effect::NewPrimary { role: role("r") }, Effect::Notify { stream: A, notice: notice.clone() }];
    assert_eq!(first, expected);
    // A newcomer that is a backup is told alone, of the config of the primary.
    let backup = sessions.arbitrate(B, with(config(false), Some(4))).unwrap();
    assert_eq!(backup, [Effect::Notify { stream: B, notice: Notice { status: TAKEN, ..notice.clone() } }]);
    // A new config of the primary is told to all.
    let changed = sessions.arbitrate(A, with(config(false), Some(5))).unwrap();
    let notice = Notice { config: config(false), ..notice };
    assert_eq!(
        changed,
        [
            Effect::Notify { stream: B, notice: Notice { status: TAKEN, ..notice.clone() } },
            Effect::Notify { stream: A, notice },
        ]
    );
    // Others of another role hear nothing.
    assert_eq!(notices(&sessions.arbitrate(C, bid("", Some(9))).unwrap()), [(C, Some(9), OK)]);
}

#[test]
fn b1_the_default_role_has_no_name() {
    assert!(RoleName::default().is_default() && role("").is_default());
    let default = Role::default();
    assert!(default.check_packet_out().is_ok() && default.check_pipeline().is_ok());
    assert!(default.receives(std::iter::empty()));
}

#[test]
fn b2_roles_have_primaries_of_their_own() {
    let mut sessions = Sessions::new(DEVICE);
    assert_eq!(sessions.begin_write(&claim("r", Some(1))), Err(SessionFault::UnknownRole(role("r"))));
    assert_eq!(sessions.begin_write(&claim("", Some(1))), Err(not_primary(None, None)));
    sessions.arbitrate(A, bid("r", Some(1))).unwrap();
    sessions.arbitrate(B, bid("", Some(2))).unwrap();
    assert!(sessions.begin_write(&claim("r", Some(1))).is_ok());
    assert!(sessions.begin_write(&claim("", Some(2))).is_ok());
    assert_eq!(sessions.begin_write(&claim("", Some(1))), Err(not_primary(Some(2), Some(2))));
    assert_eq!(sessions.begin_write(&claim("", None)), Err(not_primary(Some(2), Some(2))));
    let elsewhere = WriterClaim { device_id: 8, ..claim("r", Some(1)) };
    assert_eq!(sessions.begin_write(&elsewhere).unwrap_err().code(), Code::NotFound);
}

#[test]
fn b4_what_a_role_may_do_is_in_its_config() {
    let filter = MetadataFilter { metadata_id: 1, values: BTreeSet::from([vec![4]]) };
    let config = RoleConfig { receives_packets: true, packet_filter: Some(filter), ..RoleConfig::default() };
    let of = |config| Role { name: role("r"), config: Some(Arc::new(config)), ..Role::default() };
    let filtered = of(config.clone());
    assert!(filtered.receives([(2, [4].as_slice()), (1, [4].as_slice())].into_iter()));
    assert!(filtered.receives([(1, [0, 4].as_slice())].into_iter()));
    assert!(!filtered.receives([(1, [5].as_slice())].into_iter()));
    assert!(of(RoleConfig { packet_filter: None, ..config }).receives(std::iter::empty()));
    assert!(!of(RoleConfig::default()).receives(std::iter::empty()));
    assert_eq!(of(RoleConfig::default()).check_packet_out().unwrap_err().code(), Code::PermissionDenied);
    assert_eq!(
        of(RoleConfig::default()).check_pipeline().unwrap_err().to_string(),
        "role `r` may not set the forwarding pipeline"
    );
}

const PROGRAM: &str = r#"
tables {
  preamble { id: 0x02000001 name: "mine" annotations: "@p4runtime_role(\"r\")" }
  match_fields { id: 1 name: "k" bitwidth: 8 match_type: EXACT }
  action_refs { id: 0x01000001 }
}
tables {
  preamble {
    id: 0x02000002 name: "theirs"
    structured_annotations { name: "p4runtime_role" expression_list { expressions { string_value: "s" } } }
  }
  match_fields { id: 1 name: "k" bitwidth: 8 match_type: EXACT }
  action_refs { id: 0x01000001 }
}
tables {
  preamble { id: 0x02000003 name: "nobodys" annotations: "@p4runtime_role()" }
  match_fields { id: 1 name: "k" bitwidth: 8 match_type: EXACT }
  action_refs { id: 0x01000001 }
}
actions { preamble { id: 0x01000001 name: "drop" } }
counters { preamble { id: 0x12000001 name: "hits" } spec { unit: BOTH } size: 4 }
"#;

/// Entities of `PROGRAM`: one of each table, a cell of the counter, a multicast group.
fn entities() -> [Entity; 5] {
    let entry = |id| Entity::TableEntry(TableEntry::new(TableId(id), Vec::new(), 0));
    let cell = CounterEntry { counter: CounterId(0x1200_0001), index: Some(0), data: None };
    let group = MulticastGroup { group: MulticastGroupId(1), replicas: Vec::new(), metadata: Vec::new() };
    let [mine, theirs, nobodys] = [0x0200_0001, 0x0200_0002, 0x0200_0003].map(entry);
    [mine, theirs, nobodys, Entity::Counter(cell), Entity::MulticastGroup(group)]
}

/// Returns which of [`entities`] a role writes and which it sees.
fn rights(sessions: &Sessions, name: &str) -> ([bool; 5], [bool; 5]) {
    let info = p4info(PROGRAM);
    let schema = Schema::new(&info).unwrap();
    let role = sessions.role(&role(name), Arc::new(AnnotatedRoles::of(&info)));
    (
        entities().map(|entity| role.check_write(&schema, &entity).is_ok()),
        entities().map(|entity| role.sees(&entity)),
    )
}

#[test]
fn b3_updates_outside_of_the_role_are_denied_and_reads_leave_out() {
    let mut sessions = Sessions::new(DEVICE);
    assert_eq!(rights(&sessions, ""), ([true; 5], [true; 5]));
    let by_annotation = [true, false, false, true, true];
    assert_eq!(rights(&sessions, "r"), (by_annotation, by_annotation));
    let schema = Schema::new(&p4info(PROGRAM)).unwrap();
    let annotated = Arc::new(AnnotatedRoles::of(&p4info(PROGRAM)));
    let r = sessions.role(&role("r"), annotated.clone());
    let fault = r.check_write(&schema, &entities()[1]).unwrap_err();
    assert_eq!(fault.code(), Code::PermissionDenied);
    assert_eq!(fault.to_string(), "role `r` may not write the entry of table `theirs` that matches anything");
    // A config lists more, but not what the program gives to others.
    let config = RoleConfig {
        ids: BTreeSet::from([0x0200_0001, 0x0200_0002]),
        read_only_ids: BTreeSet::from([0x1200_0001]),
        ..RoleConfig::default()
    };
    sessions.arbitrate(A, Arbitration { config: Some(Arc::new(config)), ..bid("r", Some(1)) }).unwrap();
    let seen = [true, false, false, true, false];
    assert_eq!(rights(&sessions, "r"), ([true, false, false, false, false], seen));
    // Validation says what is wrong with an id that nothing has.
    let r = sessions.role(&role("r"), annotated);
    let unknown = Entity::TableEntry(TableEntry::new(TableId(0x0200_0099), Vec::new(), 0));
    assert_eq!(r.check_write(&schema, &unknown), Ok(()));
}

#[test]
fn b4_what_a_config_reserves_is_kept_from_roles_without_one() {
    let mut sessions = Sessions::new(DEVICE);
    let config = RoleConfig { exclusive_ids: BTreeSet::from([0x1200_0001]), ..RoleConfig::default() };
    sessions.arbitrate(A, Arbitration { config: Some(Arc::new(config)), ..bid("s", Some(1)) }).unwrap();
    let kept = [true, false, false, false, true];
    assert_eq!(rights(&sessions, "r"), (kept, kept));
    let owned = [false, false, false, true, false];
    assert_eq!(rights(&sessions, "s"), (owned, owned));
    assert_eq!(rights(&sessions, ""), ([true; 5], [true; 5]));
    // Until its primary gives it up.
    sessions.arbitrate(A, bid("s", Some(1))).unwrap();
    assert_eq!(rights(&sessions, "r").0, [true, false, false, true, true]);
}

#[test]
fn b5_digests_and_idle_notices_go_by_object() {
    let role = Sessions::new(DEVICE).role(&role("r"), Arc::new(AnnotatedRoles::of(&p4info(PROGRAM))));
    assert!(role.sees_object(0x0200_0001) && role.sees_object(0x1200_0001));
    assert!(!role.sees_object(0x0200_0002));
}

#[test]
fn d1_a_write_is_checked_in_order() {
    let mut sessions = Sessions::new(DEVICE);
    sessions.arbitrate(A, bid("r", Some(3))).unwrap();
    let code = |sessions: &mut Sessions, claim: WriterClaim| {
        sessions.begin_write(&claim).map(drop).unwrap_err().code()
    };
    let elsewhere = WriterClaim { device_id: 8, ..claim("unknown", None) };
    let fault = sessions.begin_write(&elsewhere).unwrap_err();
    assert_eq!(fault, SessionFault::UnknownDevice { device_id: 8, known: DEVICE });
    assert_eq!(code(&mut sessions, claim("unknown", None)), Code::NotFound);
    for id in [None, Some(2), Some(4)] {
        assert_eq!(code(&mut sessions, claim("r", id)), Code::PermissionDenied);
    }
    // Clients look for this text.
    assert!(SessionFault::NoPipeline.to_string().contains("no forwarding pipeline config"));
    assert_eq!(SessionFault::NoPipeline.code(), Code::FailedPrecondition);
}

#[test]
fn c1_a_switch_may_take_writes_without_arbitration() {
    let mut sessions = Sessions::new(DEVICE).without_arbitration();
    let write = sessions.begin_write(&claim("", None)).unwrap();
    assert_eq!(sessions.end_write(write), []);
    assert!(sessions.begin_write(&claim("", Some(1))).is_err());
    // Named roles are for those who arbitrate.
    assert_eq!(sessions.begin_write(&claim("r", None)), Err(SessionFault::UnknownRole(role("r"))));
    let write = sessions.begin_write(&claim("", None)).unwrap();
    assert_eq!(sessions.arbitrate(A, bid("", Some(1))).unwrap(), []);
    assert!(sessions.begin_write(&claim("", None)).is_err());
    assert_eq!(notices(&sessions.end_write(write)), [(A, Some(1), OK)]);
}

/// The highest id of a primary, the primary, the one that waits to be.
type ModelRole = (Option<u128>, Option<StreamId>, Option<StreamId>);

/// Arbitration as a list of what has happened.
#[derive(Default)]
struct Model {
    live: BTreeMap<StreamId, (RoleName, Option<u128>)>,
    roles: BTreeMap<RoleName, ModelRole>,
    n_writes: BTreeMap<RoleName, usize>,
}

impl Model {
    /// Returns whether the stream may live on.
    fn arbitrate(&mut self, stream: StreamId, role: &RoleName, id: Option<u128>) -> bool {
        if self.live.get(&stream).is_some_and(|(known, _)| known != role) {
            return false;
        }
        let same = |(other, (its, other_id)): (&StreamId, &(RoleName, Option<u128>))| {
            *other != stream && its == role && id.is_some() && *other_id == id
        };
        if self.live.iter().any(same) {
            return false;
        }
        let before = self.live.insert(stream, (role.clone(), id)).and_then(|(_, id)| id);
        let (highest, primary, waiting) = self.roles.get(role).copied().unwrap_or_default();
        let leads = primary.or(waiting) == Some(stream);
        let next = if id.is_none() || id < highest {
            if leads { (highest, None, None) } else { (highest, primary, waiting) }
        } else if primary == Some(stream) && before == id {
            (id, primary, None)
        } else {
            (id, None, Some(stream))
        };
        self.roles.insert(role.clone(), next);
        self.settle(role);
        true
    }

    fn close(&mut self, stream: StreamId) {
        if let Some((role, _)) = self.live.remove(&stream)
            && let Some((_, primary, waiting)) = self.roles.get_mut(&role)
        {
            *primary = primary.filter(|s| *s != stream);
            *waiting = waiting.filter(|s| *s != stream);
        }
    }

    fn settle(&mut self, role: &RoleName) {
        if self.n_writes.get(role).copied().unwrap_or(0) > 0 {
            return;
        }
        if let Some((highest, primary, waiting)) = self.roles.get_mut(role)
            && let Some(stream) = waiting.take()
        {
            assert_eq!(*highest, self.live[&stream].1);
            *primary = Some(stream);
        }
    }

    fn may_write(&self, role: &RoleName, id: Option<u128>) -> bool {
        let primary = self.roles.get(role).and_then(|(_, primary, _)| *primary);
        id.is_some() && primary.is_some_and(|stream| self.live[&stream].1 == id)
    }
}

/// Random bids, losses and writes of some controllers in two roles.
#[test]
fn sessions_behave_like_their_model() {
    for seed in 1..=200_u64 {
        let mut state = seed;
        let mut below = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        let (mut sessions, mut model) = (Sessions::new(DEVICE), Model::default());
        let mut writes: Vec<WriteTicket> = Vec::new();
        // The notice that a stream has had last.
        let mut told: BTreeMap<StreamId, Notice> = BTreeMap::new();
        let mut announced: BTreeMap<RoleName, Option<u128>> = BTreeMap::new();
        let mut highest: BTreeMap<RoleName, Option<u128>> = BTreeMap::new();
        for _ in 0..300 {
            let stream = StreamId(below(5));
            let name = if below(3) == 0 { role("r") } else { role("") };
            let id = if below(6) == 0 { None } else { Some(u128::from(below(8))) };
            let mut effects = Vec::new();
            match below(6) {
                0..=2 => {
                    let request = Arbitration { role: name.clone(), ..bid("", id) };
                    let outcome = sessions.arbitrate(stream, request);
                    assert_eq!(outcome.is_ok(), model.arbitrate(stream, &name, id), "seed {seed}");
                    match outcome {
                        Ok(done) => effects = done,
                        Err(_) => {
                            effects = sessions.close(stream);
                            model.close(stream);
                            told.remove(&stream);
                        }
                    }
                }
                3 => {
                    effects = sessions.close(stream);
                    model.close(stream);
                    told.remove(&stream);
                }
                4 => {
                    let begun = sessions.begin_write(&WriterClaim { role: name.clone(), ..claim("", id) });
                    assert_eq!(begun.is_ok(), model.may_write(&name, id), "seed {seed}");
                    if let Ok(ticket) = begun {
                        *model.n_writes.entry(name.clone()).or_default() += 1;
                        writes.push(ticket);
                    }
                }
                _ => {
                    if let Some(ticket) = writes.pop() {
                        let of = ticket.role().clone();
                        effects = sessions.end_write(ticket);
                        *model.n_writes.entry(of.clone()).or_default() -= 1;
                        model.settle(&of);
                    }
                }
            }
            for effect in effects {
                if let Effect::Notify { stream, notice } = effect {
                    assert_eq!(sessions.role_of(stream), Some(&notice.role), "seed {seed}");
                    let before = announced.insert(notice.role.clone(), notice.election_id).flatten();
                    assert!(notice.election_id >= before, "seed {seed}: the announced id fell");
                    told.insert(stream, notice);
                }
            }
            for (name, (known, primary, waiting)) in &model.roles {
                assert_eq!(sessions.primary(name), *primary, "seed {seed}");
                let before = highest.insert(name.clone(), *known).flatten();
                assert!(*known >= before, "seed {seed}: the highest id fell");
                let leads = primary.or(*waiting);
                for (stream, (of, _)) in model.live.iter().filter(|(_, (of, _))| of == name) {
                    if *waiting == Some(*stream) {
                        continue;
                    }
                    // The last notice of each stream is true.
                    let status = match leads {
                        Some(leads) if leads == *stream => OK,
                        Some(_) => TAKEN,
                        None => NONE,
                    };
                    let notice =
                        told.get(stream).unwrap_or_else(|| panic!("seed {seed}: {stream:?} of {of}"));
                    assert_eq!(notice.status, status, "seed {seed}: {stream:?}");
                    assert!(notice.election_id <= *known, "seed {seed}: {stream:?}");
                    // Those who are not told of each change know at least the id of the one who leads.
                    if leads.is_some() {
                        assert_eq!(notice.election_id, *known, "seed {seed}: {stream:?}");
                    }
                }
            }
        }
    }
}
