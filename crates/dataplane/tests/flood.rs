//! More packets than offload workers can work on: whatever becomes of those that are too many, each is accounted for at any
//! moment.

mod common;

use common::{Wire, compile, configure, root, settled, until};
use dataplane::{Options, Report, Switch};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const CAPACITY: u64 = 100;
const N_WORKERS: usize = 2;
/// Packets that wait in a wire, so that a worker never has to wait for the test.
const N_OFFERED: usize = 1024;

/// To the station behind a port, which costs work.
fn frame(port: u8, n: u16) -> Vec<u8> {
    let [high, low] = n.to_be_bytes();
    vec![2, 0, 0, 0, 0, port, 2, 0, 0, 0, 0, 0xaa, 0x88, 0xb5, high, low]
}

/// The example with another policy.
fn switch(policy: &str, dir: &tempfile::TempDir) -> Arc<Switch> {
    let text = std::fs::read_to_string(root().join("examples/03-slow-work/slow_work.p4")).unwrap();
    let changed = text
        .replace("@async(capacity = 500)", &format!("@async(capacity = {CAPACITY}, full = \"{policy}\")"));
    assert_ne!(text, changed);
    let path = dir.path().join("flood.p4");
    std::fs::write(&path, changed).unwrap();
    let options = Options { n_workers: N_WORKERS, n_offload_workers: Some(1), ..Options::default() };
    let switch = Switch::start(options).unwrap();
    switch.replace(compile(path.to_str().unwrap())).unwrap();
    switch
}

/// What must hold at any moment.
fn check(report: &Report, policy: &str) {
    assert!(report.is_balanced(), "{report:#?}");
    let n_arrived: u64 = report.ports.iter().map(|port| port.stats.rx_packets).sum();
    assert_eq!(report.n_received, n_arrived, "{report:#?}");
    let [block] = report.asyncs.as_slice() else { panic!("{:?}", report.asyncs) };
    assert_eq!(report.n_queued, block.n_in_flight, "{report:#?}");
    assert!(block.n_in_flight <= CAPACITY * N_WORKERS as u64, "{block:?}");
    assert_eq!(block.n_sent, block.n_in_flight + block.n_done, "{block:?}");
    // All packets come to the block, and there is no other reason.
    let n_here = block.n_inline + block.n_no_room + block.n_full;
    assert_eq!(report.n_received, block.n_sent + n_here + block.n_dropped, "{report:#?}");
    assert_eq!(report.n_dropped_for("async_full"), block.n_dropped, "{report:#?}");
    assert_eq!(report.n_dropped.values().sum::<u64>(), block.n_dropped, "{report:#?}");
    match policy {
        "drop" => assert_eq!(n_here, 0, "{block:?}"),
        "inline" => assert_eq!(block.n_dropped, 0, "{block:?}"),
        "backpressure" => assert_eq!((n_here, block.n_dropped), (0, 0), "{block:?}"),
        _ => panic!("{policy}"),
    }
}

fn flood(policy: &str, n_seconds: u64) {
    let dir = tempfile::tempdir().unwrap();
    let switch = switch(policy, &dir);
    // A worker's ports are every second one: its packets come and go without a ring between workers, in which nobody
    // could count them at the same moment as the rest.
    let wires: Vec<Wire> = (0..4).map(|_| Wire::default()).collect();
    for (number, wire) in (0..).zip(&wires) {
        switch.add_open_port(number, format!("wire {number}"), wire.port(number)).unwrap();
    }
    configure(
        &switch,
        "add WorkIngress.stations destination:0x020000000002 work_and_forward(port:2,rounds:10000)
         add WorkIngress.stations destination:0x020000000003 work_and_forward(port:3,rounds:10000)",
    );
    let is_over = Arc::new(AtomicBool::new(false));
    let senders: Vec<_> = (2..)
        .zip(&wires[..2])
        .map(|(port, wire)| {
            let (wire, is_over) = (wire.clone(), Arc::clone(&is_over));
            std::thread::spawn(move || {
                let mut n_sent = 0_u64;
                while !is_over.load(Ordering::SeqCst) {
                    for _ in wire.n_offered()..N_OFFERED {
                        wire.send(&frame(port, n_sent as u16));
                        n_sent += 1;
                    }
                    std::thread::sleep(Duration::from_millis(1));
                }
                n_sent
            })
        })
        .collect();
    let begin = Instant::now();
    let (mut n_left, mut most_under_way) = (0, 0);
    for second in 1..=n_seconds {
        while begin.elapsed() < Duration::from_secs(second) {
            n_left += wires.iter().map(|wire| wire.take().len()).sum::<usize>();
            std::thread::sleep(Duration::from_millis(10));
        }
        let report = switch.report().unwrap();
        check(&report, policy);
        most_under_way = most_under_way.max(report.n_queued);
    }
    let report = switch.report().unwrap();
    is_over.store(true, Ordering::SeqCst);
    let n_sent: u64 = senders.into_iter().map(|sender| sender.join().unwrap()).sum();
    until("the last packet", || {
        n_left += wires.iter().map(|wire| wire.take().len()).sum::<usize>();
        switch.report().unwrap().n_received == n_sent
    });
    let end = settled(&switch);
    n_left += wires.iter().map(|wire| wire.take().len()).sum::<usize>();
    check(&end, policy);
    assert_eq!((end.n_queued, end.n_sent), (0, n_left as u64), "{end:#?}");
    let block = &report.asyncs[0];
    println!(
        "{policy}, {n_seconds} s: {} received, {} sent, {} dropped, {} by offload workers, {} by workers, at most {most_under_way} under way",
        end.n_received, end.n_sent, block.n_dropped, block.n_done, block.n_full
    );
    // It was a flood: what the policy is for has happened.
    match policy {
        "drop" => assert!(block.n_dropped > 100, "{block:?}"),
        "inline" => assert!(block.n_full > 100, "{block:?}"),
        _ => assert!(most_under_way >= CAPACITY / 2, "{most_under_way}"),
    }
    assert!(block.n_done > 100, "{block:?}");
    switch.shut_down().unwrap();
}

#[test]
fn packets_that_are_too_many_are_dropped_and_counted() {
    flood("drop", 3);
}

#[test]
fn packets_that_are_too_many_wait_in_front_of_the_switch() {
    flood("backpressure", 3);
}

#[test]
fn packets_that_are_too_many_are_the_workers_work() {
    flood("inline", 3);
}

/// The long form: cargo test -p dataplane --test flood -- --ignored --nocapture --test-threads 1
#[test]
#[ignore = "takes three minutes"]
fn every_packet_is_accounted_for_during_a_minute() {
    let seconds = std::env::var("SIDING_LOAD_SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(60);
    ["drop", "backpressure", "inline"].into_iter().for_each(|policy| flood(policy, seconds));
}
