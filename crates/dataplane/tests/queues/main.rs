//! Ports with several queues, each for a worker of its own.

#[path = "../common/mod.rs"]
mod common;
#[cfg(target_os = "linux")]
mod hosts;
#[cfg(target_os = "linux")]
#[path = "../common/net.rs"]
mod net;

use common::{Wire, compile, configure, settled, until};
use dataplane::{Options, PortSpec, Queues, Switch, Wait, reason};
use std::num::NonZeroUsize;
use std::sync::Arc;

const L2_SWITCH: &str = "examples/02-l2-switch/l2_switch.p4";

fn options(n_workers: usize) -> Options {
    let queues = Queues::Fixed(NonZeroUsize::new(2).unwrap());
    Options { n_workers, queues, ..Options::default() }
}

/// Adds a port, with a wire for each of its queues.
fn add_port(switch: &Switch, number: u32, n_queues: usize) -> Vec<Wire> {
    let wires: Vec<Wire> = (0..n_queues).map(|_| Wire::default()).collect();
    let queues = wires.iter().map(|wire| wire.port(number)).collect();
    switch.add_open_queues(number, format!("wires {number}"), queues).unwrap();
    wires
}

/// The number of a table whose entries stay, in tests/programs/state/program.p4.
const LASTING: u8 = 2;

fn frame(destination: u8, number: u16) -> Vec<u8> {
    let mut bytes = vec![2, 0, 0, 0, 0, destination, 2, 0, 0, 0, 0, 9, 0x12, 0x34];
    bytes.extend(number.to_be_bytes());
    bytes.resize(60, 0);
    bytes
}

fn l2_switch(options: Options) -> Arc<Switch> {
    let switch = Switch::start(options).unwrap();
    switch.replace(compile(L2_SWITCH)).unwrap();
    configure(
        &switch,
        "add dmac destination:0x020000000001 forward(port:1)
         add dmac destination:0x020000000002 forward(port:2)
         add dmac destination:0x020000000003 forward(port:3)",
    );
    switch
}

#[test]
fn a_worker_sends_through_its_own_queue() {
    let switch = l2_switch(options(2));
    let (from, to, one) = (add_port(&switch, 1, 2), add_port(&switch, 2, 2), add_port(&switch, 3, 1));
    for n in 0..100 {
        from[0].send(&frame(2, n));
        from[1].send(&frame(2, 1000 + n));
        // Port 3 has one queue, at worker 0: packets of worker 1 go through the ring.
        from[1].send(&frame(3, n));
    }
    until("all packets", || to.iter().chain(&one).all(|wire| wire.n_received() == 100));
    let expected = |first: u16, station: u8| (0..100).map(|n| frame(station, first + n)).collect::<Vec<_>>();
    assert_eq!(to[0].take(), expected(0, 2));
    assert_eq!(to[1].take(), expected(1000, 2));
    assert_eq!(one[0].take(), expected(0, 3));
    let report = settled(&switch);
    let port = &report.ports[0];
    let queues: Vec<_> = port.queues.iter().map(|q| (q.number, q.worker, q.stats.rx_packets)).collect();
    assert_eq!(queues, [(0, 0, 100), (1, 1, 200)]);
    assert_eq!((port.stats.rx_packets, report.ports.len()), (300, 3));
    let metrics = switch.metrics(&[]).unwrap();
    for line in [
        "siding_queue_rx_packets_total{port=\"1\",queue=\"1\"} 200\n",
        "siding_queue_tx_packets_total{port=\"2\",queue=\"0\"} 100\n",
        "siding_queue_tx_dropped_packets_total{port=\"2\",queue=\"0\"} 0\n",
        "siding_port_tx_packets_total{port=\"2\"} 200\n",
    ] {
        assert!(metrics.contains(line), "{line}{metrics}");
    }
    assert!(
        !metrics.contains("queue_rx_packets_total{port=\"3\""),
        "a port with one queue has no counts of queues"
    );
    assert!(switch.shut_down().unwrap().is_balanced());
}

/// Two of the three workers have a queue of each port, and one worker has two queues of a port with four.
#[test]
fn there_may_be_more_workers_than_queues_and_fewer() {
    let switch = l2_switch(options(3));
    let (from, to) = (add_port(&switch, 1, 4), add_port(&switch, 2, 2));
    for (q, wire) in from.iter().enumerate() {
        for n in 0..50 {
            wire.send(&frame(2, 100 * q as u16 + n));
        }
    }
    let n_received = || to.iter().map(Wire::n_received).sum::<usize>();
    until("all packets", || n_received() == 200);
    let report = settled(&switch);
    let workers: Vec<usize> = report.ports[0].queues.iter().map(|queue| queue.worker).collect();
    assert_eq!(workers, [0, 1, 2, 0]);
    // Worker 2 has no queue of port 2, and sends through the first one.
    assert_eq!([to[0].n_received(), to[1].n_received()], [150, 50]);
    switch.enable_port(2, false).unwrap();
    from[1].send(&frame(2, 1));
    from[2].send(&frame(2, 1));
    until("drops at both queues", || switch.report().unwrap().n_dropped_for(reason::PORT_DOWN) == 2);
    switch.enable_port(2, true).unwrap();
    switch.remove_port(1).unwrap();
    let report = settled(&switch);
    assert_eq!((report.n_received, report.n_sent), (202, 200));
    assert!(switch.shut_down().unwrap().is_balanced());
}

#[test]
fn queues_are_removed_and_added_under_load() {
    let switch = l2_switch(options(2));
    let from = add_port(&switch, 1, 2);
    let mut to = add_port(&switch, 2, 2);
    let (stop, is_over) = std::sync::mpsc::channel::<()>();
    let sender = std::thread::spawn({
        let from = from.clone();
        move || {
            let mut n = 0u16;
            while is_over.try_recv().is_err() {
                for wire in &from {
                    wire.send(&frame(2, n));
                }
                n = n.wrapping_add(1);
                if n.is_multiple_of(64) {
                    std::thread::sleep(std::time::Duration::from_micros(500));
                }
            }
        }
    });
    for _ in 0..10 {
        until("packets in both queues", || to.iter().all(|wire| wire.n_received() > 0));
        switch.remove_port(2).unwrap();
        let n_lost = || switch.report().unwrap().n_dropped_for(reason::NO_SUCH_PORT);
        let before = n_lost();
        until("packets without a port", || n_lost() > before);
        to = add_port(&switch, 2, 2);
    }
    stop.send(()).unwrap();
    sender.join().unwrap();
    until("the last packet", || from.iter().all(|wire| wire.n_offered() == 0));
    let report = settled(&switch);
    assert_eq!(report.n_received, report.n_sent + report.n_dropped_for(reason::NO_SUCH_PORT), "{report:?}");
    assert!(switch.shut_down().unwrap().is_balanced());
}

/// Packets of two workers add the same entries; each is there once.
#[test]
fn packets_of_two_workers_add_entries() {
    let switch = Switch::start(options(2)).unwrap();
    switch.replace(compile("tests/programs/state/program.p4")).unwrap();
    let (from, to) = (add_port(&switch, 0, 2), add_port(&switch, 1, 2));
    let (n_keys, n_rounds) = (4, 100);
    for round in 0..n_rounds {
        for key in 0..n_keys {
            for (q, wire) in from.iter().enumerate() {
                // A miss in this table adds an entry with the value of the packet.
                wire.send(&[LASTING, key, 128 * q as u8 + round, 0, 0, 0, 0]);
            }
        }
    }
    let n_all = usize::from(n_rounds) * usize::from(n_keys);
    until("all packets", || to.iter().all(|wire| wire.n_received() == n_all));
    let uses = switch.table_uses().unwrap();
    let (_, learned) = uses.iter().find(|(table, _)| table == "I.lasting").unwrap();
    assert_eq!((learned.n_entries, learned.packets.n_added), (4, 4), "{learned:?}");
    // A hit gives the value of the entry. It is the same one for both workers.
    let last = |wire: &Wire| -> Vec<u8> {
        let all = wire.take();
        all[all.len() - usize::from(n_keys)..].iter().map(|packet| packet[2]).collect()
    };
    let [one, other] = [last(&to[0]), last(&to[1])];
    assert_eq!(one, other);
    let report = settled(&switch);
    assert!(report.ports[0].queues.iter().all(|queue| queue.stats.rx_packets == n_all as u64));
    assert!(switch.shut_down().unwrap().is_balanced());
}

#[test]
fn packets_come_through_however_workers_wait() {
    for wait in [Wait::Busy, Wait::Adaptive, Wait::Interrupt] {
        let switch = l2_switch(Options { wait, ..options(2) });
        let (from, to) = (add_port(&switch, 1, 2), add_port(&switch, 2, 2));
        for n in 0..20 {
            from.iter().for_each(|wire| wire.send(&frame(2, n)));
            until("a packet for each queue", || {
                to.iter().all(|wire| wire.n_received() == usize::from(n) + 1)
            });
        }
        let report = settled(&switch);
        for worker in &report.workers {
            assert_eq!((worker.wait, worker.n_packets), (wait, 20));
            assert_eq!(worker.n_sleeps == 0, wait == Wait::Busy, "{worker:?}");
        }
        switch.shut_down().unwrap();
    }
}

#[test]
fn captures_have_one_queue() {
    let dir = tempfile::tempdir().unwrap();
    let header = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 0x0001_0000, 1].map(u32::to_le_bytes).concat();
    std::fs::write(dir.path().join("a_in.pcap"), header).unwrap();
    let spec = PortSpec::parse(&format!("8@file:{}", dir.path().join("a").display())).unwrap();
    let switch = Switch::start(options(2)).unwrap();
    let error = switch.add_port(&spec, None).unwrap_err().to_string();
    assert!(error.contains("has one queue only, not 2; with --queues auto"), "{error}");
    let switch = Switch::start(Options { queues: Queues::PerWorker, ..options(2) }).unwrap();
    switch.add_port(&spec, None).unwrap();
}
