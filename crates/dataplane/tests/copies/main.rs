//! Packets that make thousands of copies: the worker goes on with them turn by turn.

#[path = "../common/mod.rs"]
mod common;

use common::{Wire, compile, settled, until};
use control::{CloneSession, CloneSessionId, Entity, Port, Replica, Update, UpdateKind};
use dataplane::{Options, Switch};
use std::sync::Arc;

const N_PACKETS: u64 = 1000;
const N_ROUNDS: u8 = 4;

fn start() -> (Arc<Switch>, [Wire; 2]) {
    let switch = Switch::start(Options::default()).unwrap();
    let wires = [Wire::default(), Wire::default()];
    for (number, wire) in (0..).zip(&wires) {
        switch.add_open_port(number, format!("wire {number}"), wire.port(number)).unwrap();
    }
    switch.replace(compile("crates/dataplane/tests/copies/bomb.p4")).unwrap();
    let session = CloneSession {
        session: CloneSessionId(1),
        replicas: vec![Replica { egress_port: Port::number(1), instance: 0, backups: Vec::new() }],
        class_of_service: 0,
        packet_length_bytes: 0,
    };
    let update = Update { kind: UpdateKind::Insert, entity: Entity::CloneSession(session) };
    switch.with_target(|_, target| target.write(&update)).unwrap().unwrap();
    (switch, wires)
}

#[test]
fn a_worker_does_other_things_between_copies() {
    let (switch, wires) = start();
    wires[0].send(&[N_ROUNDS, 1, 2, 3]);
    until("the packet", || switch.report().unwrap().n_received == 1);
    until("its last copy", || switch.report().unwrap().n_queued == 0);
    let one = settled(&switch);
    assert!(one.n_copied > 50 && one.n_dropped.is_empty(), "{one:#?}");
    assert_eq!(one.n_sent, one.n_copied + 1);
    (0..N_PACKETS).for_each(|_| wires[0].send(&[N_ROUNDS, 1, 2, 3]));
    // A report is made between two turns: copies and packets behind them wait meanwhile.
    until("copies that wait", || {
        let report = switch.report().unwrap();
        assert!(report.is_balanced(), "{report:#?}");
        report.n_queued > 0
    });
    let n = N_PACKETS + 1;
    until("the last packet", || switch.report().unwrap().n_received == n);
    until("the last copy", || switch.report().unwrap().n_queued == 0);
    let report = settled(&switch);
    assert_eq!((report.n_copied, report.n_sent), (n * one.n_copied, n * one.n_sent), "{report:#?}");
    assert!(report.n_dropped.is_empty(), "{report:#?}");
    assert!(wires[1].take().iter().all(|packet| packet[..] == [0, 1, 2, 3]));
    assert!(switch.shut_down().unwrap().is_balanced());
}

#[test]
fn a_switch_ends_in_the_middle_of_copies() {
    let (switch, wires) = start();
    (0..N_PACKETS).for_each(|_| wires[0].send(&[N_ROUNDS, 1, 2, 3]));
    until("the packets are taken", || wires[0].n_offered() == 0);
    let report = switch.shut_down().unwrap();
    assert!(report.is_balanced(), "{report:#?}");
    assert_eq!(report.n_received, N_PACKETS);
}
