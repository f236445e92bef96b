//! Architectures with queues.

use super::{advance, inject, switch, switch_with};
use interp::traffic::{
    CloneSession, Config, Destination, MulticastGroup, Ports, QueueConfig, Replica, reason,
};
use interp::{Silent, Switch};

/// What egress has seen, and the header before it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    port: u32,
    count: u8,
    instance_type: u8,
    ingress_port: u8,
    egress_port: u8,
    egress_spec: u8,
    instance: u8,
    packet_length: u8,
    kept: u8,
    lost: u8,
    is_unwanted: u8,
    depth_before: u8,
    depth_after: u8,
    waited_us: u16,
    arrived_us: u16,
    egress_us: u16,
    payload: Vec<u8>,
}

fn seen((port, bytes): (u32, Vec<u8>)) -> Seen {
    let word = |i: usize| u16::from_be_bytes([bytes[i], bytes[i + 1]]);
    Seen {
        port,
        count: bytes[1],
        instance_type: bytes[4],
        ingress_port: bytes[5],
        egress_port: bytes[6],
        egress_spec: bytes[7],
        instance: bytes[8],
        packet_length: bytes[9],
        kept: bytes[10],
        lost: bytes[11],
        is_unwanted: bytes[12],
        depth_before: bytes[13],
        depth_after: bytes[14],
        waited_us: word(15),
        arrived_us: word(17),
        egress_us: word(19),
        payload: bytes[21..].to_vec(),
    }
}

const PAYLOAD: [u8; 3] = [0xaa, 0xbb, 0xcc];

fn packet(op: u8, count: u8, arg: u8) -> Vec<u8> {
    [&[op, count, 0, arg][..], &PAYLOAD].concat()
}

/// On port 3.
fn send(switch: &mut Switch, op: u8, count: u8, arg: u8) -> Vec<Seen> {
    inject(switch, 3, &packet(op, count, arg)).into_iter().map(seen).collect()
}

/// A packet that nothing special happens to.
fn plain(port: u32) -> Seen {
    Seen {
        port,
        ingress_port: 3,
        egress_port: port as u8,
        packet_length: 7,
        lost: 0x55,
        payload: PAYLOAD.to_vec(),
        ..Seen::default()
    }
}

fn with_session(switch: &mut Switch, replicas: Vec<Replica>) {
    switch
        .pre()
        .update(|pre| pre.insert_session(7, CloneSession { replicas, ..Default::default() }))
        .unwrap();
}

fn with_group(switch: &mut Switch, group: u32, replicas: Vec<Replica>) {
    switch
        .pre()
        .update(|pre| pre.insert_group(group, MulticastGroup { replicas, ..Default::default() }))
        .unwrap();
}

#[test]
fn a_packet_goes_where_egress_spec_says() {
    let mut switch = switch("stages.p4");
    assert_eq!(send(&mut switch, 1, 0, 5), [plain(5)]);
    assert_eq!(switch.totals().n_sent, 1);
}

#[test]
fn drops_have_reasons() {
    let mut switch = switch("stages.p4");
    assert!(send(&mut switch, 6, 0, 5).is_empty());
    assert!(send(&mut switch, 7, 0, 5).is_empty());
    assert!(inject(&mut switch, 3, &[1, 0, 1, 255]).is_empty());
    assert!(send(&mut switch, 13, 1, 5).is_empty());
    assert_eq!(send(&mut switch, 13, 0, 5), [plain(5)]);
    let totals = switch.totals();
    assert_eq!(totals.n_dropped_for(reason::INGRESS_DROP), 2);
    assert_eq!(totals.n_dropped_for(reason::EGRESS_DROP), 1);
    assert_eq!(totals.n_dropped_for("assertion_failed"), 1);
    assert_eq!((totals.n_received, totals.n_sent), (5, 1));
}

#[test]
fn marking_to_drop_can_be_undone_and_ends_multicast() {
    let mut switch = switch("stages.p4");
    assert_eq!(send(&mut switch, 15, 0, 5), [plain(5)]);
}

#[test]
fn rejected_packets_go_on_with_the_error() {
    let mut switch = switch("stages.p4");
    assert_eq!(send(&mut switch, 0xee, 0, 5), [Seen { lost: 0, is_unwanted: 1, ..plain(5) }]);
    // Too short for the header: it stays invalid, and so does egress_spec's source.
    let outputs = inject(&mut switch, 3, &[1, 2]);
    assert_eq!(outputs.len(), 1);
    assert_eq!(outputs[0].1[outputs[0].1.len() - 2..], [1, 2]);
}

#[test]
fn multicast_copies_to_every_replica() {
    let mut switch = switch("stages.p4");
    with_group(&mut switch, 4, vec![Replica::new(1, 10), Replica::new(2, 20), Replica::new(1, 30)]);
    let copy = |port, instance, depth_before, depth_after| Seen {
        instance_type: 5,
        instance,
        depth_before,
        depth_after,
        ..plain(port)
    };
    assert_eq!(send(&mut switch, 2, 0, 4), [copy(1, 10, 0, 1), copy(2, 20, 0, 0), copy(1, 30, 1, 0)]);
    switch.set_port(1, target::PortState::Down);
    assert_eq!(send(&mut switch, 2, 0, 4), [copy(2, 20, 0, 0)]);
    assert!(send(&mut switch, 2, 0, 8).is_empty());
    assert_eq!(switch.totals().n_dropped_for(reason::NO_REPLICA), 1);
    assert_eq!(switch.totals().n_copied, 2);
}

#[test]
fn ingress_clones_are_the_packet_as_it_came() {
    let mut switch = switch("stages.p4");
    with_session(&mut switch, vec![Replica::new(8, 80), Replica::new(9, 90)]);
    let clone = |port, instance| Seen { instance_type: 1, instance, kept: 2, lost: 0, ..plain(port) };
    let original = Seen { count: 6, kept: 2, lost: 1, ..plain(5) };
    assert_eq!(
        send(&mut switch, 3, 5, 5),
        [Seen { count: 5, ..clone(8, 80) }, Seen { count: 5, ..clone(9, 90) }, original]
    );
    // A clone outlives its packet, and needs no field list.
    let clones = send(&mut switch, 14, 5, 5);
    assert_eq!(clones.iter().map(|c| (c.port, c.kept)).collect::<Vec<_>>(), [(8, 0), (9, 0)]);
    assert_eq!(switch.totals().n_dropped_for(reason::INGRESS_DROP), 1);
    // Without a session nothing is cloned.
    switch.pre().update(|pre| pre.delete_session(7)).unwrap();
    assert_eq!(send(&mut switch, 3, 5, 5).len(), 1);
}

#[test]
fn egress_clones_are_the_packet_as_it_is() {
    let mut switch = switch("stages.p4");
    with_session(&mut switch, vec![Replica::new(8, 80)]);
    let original = Seen { count: 6, ..plain(5) };
    // Its length counts the 17 bytes of the header that egress has made valid.
    let clone = Seen {
        count: 6,
        instance_type: 2,
        instance: 80,
        packet_length: 7 + 17,
        kept: 4,
        lost: 0,
        ..plain(8)
    };
    assert_eq!(send(&mut switch, 8, 5, 5), [original, clone]);
}

#[test]
fn clone_sessions_cut_and_choose_the_queue() {
    let config =
        Config { queue: QueueConfig { n_priorities: 4, ..Default::default() }, ..Default::default() };
    let mut switch = switch_with("stages.p4", config);
    let session = CloneSession {
        replicas: vec![Replica::new(5, 0)],
        class_of_service: 3,
        truncate_bytes: 22,
        group: None,
    };
    switch.pre().update(|pre| pre.insert_session(7, session.clone())).unwrap();
    let outputs = send(&mut switch, 3, 0, 5);
    assert_eq!(outputs[0].payload, [0xaa]);
    assert_eq!(outputs[1].payload, PAYLOAD);
    switch
        .pre()
        .update(|pre| pre.modify_session(7, CloneSession { class_of_service: 4, ..session }))
        .unwrap();
    assert_eq!(send(&mut switch, 3, 0, 5).len(), 1);
    assert_eq!(switch.totals().n_dropped_for(reason::NO_SUCH_QUEUE), 1);
}

#[test]
fn resubmitted_packets_begin_as_they_came() {
    let mut switch = switch("stages.p4");
    // Unicast packets are normal in egress, whatever they were before.
    assert_eq!(send(&mut switch, 4, 5, 5), [Seen { count: 5, kept: 9, ..plain(5) }]);
    assert_eq!(switch.totals().n_copied, 0);
}

#[test]
fn recirculated_packets_are_parsed_as_they_leave() {
    let mut switch = switch("stages.p4");
    assert_eq!(send(&mut switch, 5, 5, 5), [Seen { count: 5, kept: 3, ..plain(5) }]);
}

#[test]
fn endless_rounds_and_copies_end() {
    let config = Config { rounds_max: 10, copies_max: 20, ..Config::default() };
    let mut switch = switch_with("stages.p4", config);
    assert!(send(&mut switch, 10, 0, 5).is_empty());
    assert_eq!(switch.totals().n_dropped_for(reason::TOO_MANY_ROUNDS), 1);
    with_group(&mut switch, 2, vec![Replica::new(1, 1), Replica::new(2, 2)]);
    assert!(send(&mut switch, 11, 0, 2).is_empty());
    assert!(switch.totals().n_dropped_for(reason::TOO_MANY_COPIES) > 0);
    with_session(&mut switch, vec![Replica::new(8, 80)]);
    // Every clone clones itself again.
    let n_before = switch.totals().n_dropped_for(reason::TOO_MANY_ROUNDS);
    assert_eq!(send(&mut switch, 16, 0, 5).len(), 11);
    assert_eq!(switch.totals().n_dropped_for(reason::TOO_MANY_ROUNDS), n_before + 1);
}

#[test]
fn truncation_cuts_what_leaves() {
    let mut switch = switch("stages.p4");
    assert_eq!(send(&mut switch, 9, 23, 5)[0].payload, [0xaa, 0xbb]);
    assert_eq!(send(&mut switch, 9, 200, 5)[0].payload, PAYLOAD);
    assert_eq!(inject(&mut switch, 3, &packet(9, 2, 5)), [(5, vec![9, 2])]);
}

#[test]
fn slow_ports_queue_and_priorities_overtake() {
    let queue = QueueConfig { n_priorities: 8, n_packets_max: 2, rate_pps: Some(1000) };
    let mut switch = switch_with("stages.p4", Config { queue, ..Config::default() });
    advance(&mut switch, 5_000_000);
    assert_eq!(send(&mut switch, 12, 0, 1).len(), 1);
    for count in [0, 0, 7, 0] {
        assert!(send(&mut switch, 12, count, 1).is_empty());
    }
    assert_eq!(switch.n_queued(), 3);
    assert_eq!(switch.totals().n_dropped_for(reason::QUEUE_FULL), 1);
    assert!(advance(&mut switch, 999_999).is_empty());
    let next: Vec<Seen> = advance(&mut switch, 1).into_iter().map(seen).collect();
    let waited = |count, depth_before, depth_after, waited_us| Seen {
        count,
        depth_before,
        depth_after,
        waited_us,
        arrived_us: 5000,
        egress_us: 5000 + waited_us,
        ..plain(1)
    };
    assert_eq!(next, [waited(7, 0, 0, 1000)]);
    let rest: Vec<Seen> = advance(&mut switch, 10_000_000).into_iter().map(seen).collect();
    assert_eq!(rest, [waited(0, 0, 1, 2000), waited(0, 1, 0, 3000)]);
    assert_eq!((switch.n_queued(), switch.now_ns()), (0, 16_000_000));
}

#[test]
fn only_ports_that_exist_send_and_receive() {
    let config = Config { ports: Ports::Listed([3, 5].into()), cpu_port: Some(100), ..Config::default() };
    let mut switch = switch_with("stages.p4", config);
    assert_eq!(send(&mut switch, 1, 0, 5).len(), 1);
    assert!(send(&mut switch, 1, 0, 6).is_empty());
    assert!(inject(&mut switch, 4, &packet(1, 0, 5)).is_empty());
    let to_controller = switch.inject(3, &packet(1, 0, 100), &mut Silent);
    assert_eq!(to_controller[0].destination, Destination::Controller);
    let from_controller = inject(&mut switch, 100, &packet(1, 0, 5));
    assert_eq!(seen(from_controller[0].clone()).ingress_port, 100);
    let totals = switch.totals();
    assert_eq!(totals.n_dropped_for(reason::NO_SUCH_PORT), 1);
    assert_eq!(totals.n_dropped_for(reason::NO_SUCH_INGRESS_PORT), 1);
    assert_eq!((totals.n_received, totals.n_sent, totals.n_to_controller), (5, 2, 1));
}

/// A switch where everything is configured.
fn full_switch(seed: u64) -> Switch {
    let queue = QueueConfig { n_priorities: 4, n_packets_max: 3, rate_pps: None };
    let config = Config {
        seed,
        queue,
        ports: Ports::Listed((0..20).collect()),
        cpu_port: Some(19),
        rounds_max: 5,
        copies_max: 50,
        ..Config::default()
    };
    let mut switch = switch_with("stages.p4", config);
    switch.set_port_rate(2, Some(1_000_000));
    with_group(&mut switch, 1, vec![Replica::new(1, 1), Replica::new(2, 2), Replica::new(30, 3)]);
    let group = (0..10).map(|port| Replica::new(port, port)).collect();
    with_group(&mut switch, 2, group);
    let replicas = vec![Replica::new(2, 8), Replica::new(9, 9), Replica::new(2, 8)];
    let session = CloneSession { replicas, class_of_service: 1, truncate_bytes: 25, group: Some(1) };
    switch.pre().update(|pre| pre.insert_session(7, session)).unwrap();
    switch
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(24))]

    /// `inject` and `advance` check the balance after each step.
    #[test]
    fn every_copy_has_one_end_and_runs_repeat(
        steps in proptest::collection::vec((0u8..18, 0u8..8, 0u8..4, 0u32..22, 0u64..3_000), 1..60)
    ) {
        let run = || {
            let mut switch = full_switch(1);
            let mut outputs = Vec::new();
            for (op, count, arg, port, ns) in &steps {
                let n_bytes = usize::from(*count).min(7);
                let bytes = packet(*op, *count, *arg);
                let bytes = if *op == 17 { &bytes[..n_bytes] } else { &bytes[..] };
                outputs.extend(inject(&mut switch, *port, bytes));
                outputs.extend(advance(&mut switch, *ns));
            }
            outputs.extend(advance(&mut switch, 1_000_000_000_000));
            assert_eq!(switch.n_queued(), 0);
            (outputs, switch.totals().clone())
        };
        let (outputs, totals) = run();
        proptest::prop_assert_eq!(outputs.len() as u64, totals.n_sent + totals.n_to_controller);
        proptest::prop_assert_eq!((outputs, totals), run());
    }
}
