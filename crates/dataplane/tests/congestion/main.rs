//! Links that do not take all packets: where the program reads how many packets wait, they wait in the switch.

#[path = "../common/mod.rs"]
mod common;

use common::{Wire, compile, settled, until};
use dataplane::{Options, Switch};

const N_PACKETS: u32 = 100;

fn packet(number: u32) -> Vec<u8> {
    [number.to_be_bytes(), [0; 4]].concat()
}

fn numbers(packets: &[Vec<u8>], offset: usize) -> Vec<u32> {
    packets.iter().map(|packet| u32::from_be_bytes(packet[offset..][..4].try_into().unwrap())).collect()
}

/// A switch with two ports; packets from the first go to the second.
fn switch_between(program: &str, from: &Wire, to: &Wire) -> std::sync::Arc<Switch> {
    let switch = Switch::start(Options { n_workers: 1, ..Options::default() }).unwrap();
    switch.replace(compile(program)).unwrap();
    switch.add_open_port(0, "from".to_owned(), from.port(0)).unwrap();
    switch.add_open_port(1, "to".to_owned(), to.port(1)).unwrap();
    switch
}

#[test]
fn packets_wait_for_a_congested_link() {
    let (from, to) = (Wire::default(), Wire::default());
    let switch = switch_between("crates/dataplane/tests/congestion/depth.p4", &from, &to);
    to.set_room(0);
    // The first packets find out that the link is congested.
    (0..10).for_each(|number| from.send(&packet(number)));
    until("that the first packets are taken", || from.n_offered() == 0);
    (10..N_PACKETS).for_each(|number| from.send(&packet(number)));
    until("that all packets are taken", || from.n_offered() == 0);
    let waiting = settled(&switch);
    assert_eq!(to.n_received(), 0);
    assert!(waiting.n_queued > u64::from(N_PACKETS) / 2, "{waiting:#?}");
    // The link takes some, and then all that come.
    to.set_room(20);
    until("that the link is congested again", || to.n_received() == 20);
    to.set_room(usize::MAX);
    until("that all packets have left", || to.n_received() == N_PACKETS as usize);
    let (report, left) = (settled(&switch), to.take());
    assert_eq!((report.n_queued, report.n_sent, report.n_dropped.len()), (0, u64::from(N_PACKETS), 0));
    assert_eq!(numbers(&left, 0), (0..N_PACKETS).collect::<Vec<_>>());
    let deepest = numbers(&left, 4).into_iter().max();
    assert!(deepest > Some(N_PACKETS / 2), "{deepest:?}");
    // Nothing waits any more.
    from.send(&packet(0));
    until("that a packet has left", || to.n_received() == 1);
    assert_eq!(numbers(&to.take(), 4), [0]);
}

#[test]
fn a_program_is_replaced_while_packets_wait_for_a_link() {
    let (from, to) = (Wire::default(), Wire::default());
    let program = "crates/dataplane/tests/congestion/depth.p4";
    let switch = switch_between(program, &from, &to);
    to.set_room(0);
    (0..N_PACKETS).for_each(|number| from.send(&packet(number)));
    until("that all packets are taken", || from.n_offered() == 0);
    switch.replace(compile(program)).unwrap();
    // Packets that the link has not taken wait at the port while the program changes.
    let report = settled(&switch);
    assert_eq!((report.n_queued, report.n_sent), (u64::from(N_PACKETS), 0), "{report:#?}");
    to.set_room(usize::MAX);
    until("that all packets have left", || to.n_received() == N_PACKETS as usize);
}

/// `mark_to_drop` takes all of the standard metadata; that is no question about queues.
#[test]
fn packets_of_a_program_that_asks_for_no_queue_are_lost_at_the_link() {
    let (from, to) = (Wire::default(), Wire::default());
    let switch = switch_between("crates/dataplane/tests/congestion/marks.p4", &from, &to);
    to.set_room(0);
    (0..N_PACKETS).for_each(|number| from.send(&packet(number)));
    until("that all packets are taken", || from.n_offered() == 0);
    let report = settled(&switch);
    let lost = report.ports.iter().find(|port| port.number == 1).unwrap().stats.tx_dropped_full;
    assert_eq!((report.n_queued, report.n_sent, lost), (0, 0, u64::from(N_PACKETS)), "{report:#?}");
}
