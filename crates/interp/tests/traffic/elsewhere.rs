//! Packets that somebody else takes in and runs for a while: the switch goes on as if they had been its own.

use super::switch;
use arch::{BlockRole, FieldRole};
use interp::{PacketState, Silent, Switch};
use target::traffic::{CloneSession, EgressPorts, MulticastGroup, Output, Replica, Totals};
use target::{BlockEnd, BlockRunner};

const INGRESS_PORT: u32 = 3;

fn prepared() -> Switch {
    let switch = switch("stages.p4");
    let replicas = vec![Replica::new(1, 10), Replica::new(2, 20)];
    switch.pre().update(|pre| {
        let session = CloneSession { replicas: replicas.clone(), ..Default::default() };
        pre.insert_session(7, session).unwrap();
        pre.insert_group(4, MulticastGroup { replicas, ..Default::default() }).unwrap();
    });
    switch
}

fn run(switch: &mut Switch, role: BlockRole, packet: &mut PacketState) -> BlockEnd {
    let block = switch.program().architecture.pipeline().and_then(|model| model.block(role)).unwrap();
    switch.runner.run(block, packet, 0, &mut Silent)
}

/// What a switch does before ingress has ended.
fn parser_to_ingress(switch: &mut Switch, bytes: &[u8]) -> PacketState {
    let mut packet = switch.runner.arrive(bytes);
    let runner = &mut switch.runner;
    runner.set_field(&mut packet, FieldRole::IngressPort, INGRESS_PORT.into());
    runner.set_field(&mut packet, FieldRole::PacketLength, bytes.len() as u64);
    runner.begin_pass();
    if let BlockEnd::Rejected(error) = run(switch, BlockRole::Parser, &mut packet) {
        switch.runner.set_field(&mut packet, FieldRole::ParserError, error.into());
    }
    for role in [BlockRole::VerifyChecksum, BlockRole::Ingress] {
        assert_eq!(run(switch, role, &mut packet), BlockEnd::Done);
    }
    packet
}

/// Of a packet that goes to one port, what happens before egress has ended.
fn egress(switch: &mut Switch, packet: &mut PacketState, egress_port: u32) {
    let spec = switch.program().architecture.pipeline().and_then(|p| p.drop_port).unwrap() + 1;
    switch.runner.set_field(packet, FieldRole::EgressPort, egress_port.into());
    switch.runner.set_field(packet, FieldRole::EgressSpec, spec.into());
    switch.runner.begin_pass();
    assert_eq!(run(switch, BlockRole::Egress, packet), BlockEnd::Done);
}

/// The same bytes to two switches.
fn compare(ops: &[[u8; 2]], elsewhere: impl Fn(&mut Switch, &[u8]) -> Vec<Output>) {
    for [op, arg] in ops {
        let bytes = [*op, 2, 0, *arg, 0xaa, 0xbb];
        let (mut one, mut other) = (prepared(), prepared());
        let expected = one.inject(INGRESS_PORT, &bytes, &mut Silent);
        assert_eq!(elsewhere(&mut other, &bytes), expected, "operation {op}");
        assert_eq!(other.totals(), one.totals(), "operation {op}");
    }
}

#[test]
fn after_ingress() {
    let ops = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 15, 16, 0xee].map(|op| [op, 4]);
    compare(&ops, |switch, bytes| {
        let packet = parser_to_ingress(switch, bytes);
        let requests = switch.runner.take_requests();
        switch.continue_after_ingress(packet, INGRESS_PORT, requests, &mut Silent)
    });
}

#[test]
fn after_egress() {
    let ops = [1, 5, 7, 8, 9, 16, 0xee].map(|op| [op, 6]);
    compare(&ops, |switch, bytes| {
        let mut packet = parser_to_ingress(switch, bytes);
        let by_ingress = switch.runner.take_requests();
        let egress_port = 6;
        egress(switch, &mut packet, egress_port);
        let mut requests = switch.runner.take_requests();
        requests.truncate_bytes = requests.truncate_bytes.or(by_ingress.truncate_bytes);
        let ports = EgressPorts { ingress_port: INGRESS_PORT, egress_port };
        switch.continue_after_egress(packet, ports, requests, &mut Silent)
    });
}

#[test]
fn what_others_have_done_is_counted() {
    let mut switch = prepared();
    switch.inject(INGRESS_PORT, &[6, 0, 0, 4], &mut Silent);
    let mut others = Totals { n_received: 5, n_sent: 2, n_to_controller: 1, ..Totals::default() };
    others.drop_for("ingress_drop");
    others.drop_for("elsewhere");
    switch.add_totals(&others);
    let totals = switch.totals();
    assert_eq!((totals.n_received, totals.n_sent, totals.n_to_controller), (6, 2, 1));
    assert_eq!((totals.n_dropped_for("ingress_drop"), totals.n_dropped_for("elsewhere")), (2, 1));
    assert!(totals.is_balanced(0));
}
