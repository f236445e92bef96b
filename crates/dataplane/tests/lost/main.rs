//! An offload worker that hangs: what it has is given up, and the switch lives.

#[path = "../common/mod.rs"]
mod common;

use common::{Wire, compile_with, configure, settled, until};
use dataplane::{Compiled, Options, ShutdownError, Switch, SwitchError, reason};
use externs::ExternSet;
use native::{AsyncMode, load_extern_library};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const TIMEOUT: Duration = Duration::from_millis(300);

/// How the extern wants to be called.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Calls {
    OneByOne,
    Together,
}

struct Lab {
    dir: TempDir,
    compiled: Compiled,
    switch: Arc<Switch>,
    wires: Vec<Wire>,
}

impl Lab {
    /// Two workers and their offload worker; wires 0 and 2 are at the first worker, wire 1 at the second.
    fn new(full: &str, mode: AsyncMode, calls: Calls) -> Lab {
        let dir = tempfile::tempdir().unwrap();
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let library = dir.path().join("hang.so");
        let made = Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".into()))
            .args(["-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"])
            .args((calls == Calls::Together).then_some("-DHANG_TOGETHER"))
            .arg("-I")
            .args([&here.join("../../rt"), Path::new("-o"), &library, &here.join("tests/lost/hang.c")])
            .status()
            .unwrap();
        assert!(made.success());
        let mut externs = ExternSet::new();
        externs.add(load_extern_library(&library).unwrap()).unwrap();
        externs.set_option("hang", dir.path().join("go").to_str().unwrap());
        let text = std::fs::read_to_string(here.join("tests/lost/hang.p4")).unwrap();
        let program = dir.path().join("hang.p4");
        std::fs::write(&program, text.replace("backpressure", full)).unwrap();
        let compiled = compile_with(program.to_str().unwrap(), externs);
        let options = Options {
            n_workers: 2,
            async_mode: Some(mode),
            n_offload_workers: Some(1),
            hang_timeout: TIMEOUT,
            shutdown_timeout: TIMEOUT,
            ..Options::default()
        };
        let switch = Switch::start(options).unwrap();
        switch.replace(compiled.clone()).unwrap();
        let wires: Vec<Wire> = (0..3).map(|_| Wire::default()).collect();
        for (number, wire) in (0..).zip(&wires) {
            switch.add_open_port(number, format!("wire {number}"), wire.port(number)).unwrap();
        }
        Lab { dir, compiled, switch, wires }
    }

    fn send(&self, wire: usize, kind: u8, n: u8) {
        (0..n).for_each(|serial| self.wires[wire].send(&[kind, 7, 0, serial]));
    }

    /// That many arrive.
    fn expect(&self, n: usize) {
        until("packets that leave", || self.wires[2].n_received() >= n);
        assert_eq!(self.wires[2].take().len(), n);
    }
}

fn a_hang(full: &str, mode: AsyncMode, calls: Calls) {
    let lab = Lab::new(full, mode, calls);
    let Lab { switch, wires, .. } = &lab;
    lab.send(0, 0, 10);
    lab.send(1, 0, 10);
    lab.expect(20);
    // Those behind the one that hangs wait for the same offload worker, and those of the other worker do.
    lab.send(0, 1, 1);
    lab.send(0, 0, 20);
    until("a packet that hangs", || switch.report().unwrap().asyncs[0].n_in_flight > 0);
    lab.send(1, 0, 5);
    let begin = Instant::now();
    until("a packet that is given up", || {
        switch.report().unwrap().n_dropped_for(reason::OFFLOAD_TIMEOUT) > 0
    });
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    let report = settled(switch);
    let [block] = &report.asyncs[..] else { panic!("{report:#?}") };
    assert!(block.is_hung && block.n_in_flight == 0 && report.n_queued == 0, "{report:#?}");
    assert_eq!(report.n_dropped_for(reason::OFFLOAD_TIMEOUT), block.n_lost, "{report:#?}");
    assert_eq!(block.n_sent, block.n_done + block.n_waited + block.n_lost, "{block:?}");
    let metrics = switch.metrics(&[]).unwrap();
    assert!(metrics.contains("siding_async_worker_hung{block=\"HangIngress.async1\"} 1\n"), "{metrics}");
    // What comes to the block now: either the worker does it, or nobody.
    let n_received = report.n_received;
    wires[2].take();
    lab.send(0, 0, 30);
    lab.send(1, 0, 30);
    until("packets", || switch.report().unwrap().n_received == n_received + 60);
    let report = settled(switch);
    match full {
        "inline" => {
            lab.expect(60);
            assert_eq!(report.n_dropped_for("async_full"), 0, "{report:#?}");
        }
        _ => assert!(report.n_dropped_for("async_full") >= 60, "{report:#?}"),
    }
    // Others leave as ever, and the control plane writes.
    lab.send(0, 2, 50);
    lab.expect(50);
    configure(switch, "add HangIngress.kinds kind:3 forward(port:1)");
    lab.send(0, 3, 5);
    until("packets by the new entry", || wires[1].n_received() == 5);
    // The extern comes back: too late.
    let before = settled(switch);
    std::fs::write(lab.dir.path().join("go"), "").unwrap();
    std::thread::sleep(Duration::from_millis(100));
    let after = settled(switch);
    assert_eq!((after.n_sent, &after.n_dropped), (before.n_sent, &before.n_dropped));
    // With the program comes another offload worker.
    switch.replace(lab.compiled.clone()).unwrap();
    lab.send(0, 0, 10);
    lab.expect(10);
    assert!(!switch.report().unwrap().asyncs[0].is_hung);
    assert!(switch.shut_down().unwrap().is_balanced());
}

#[test]
fn packets_of_an_offload_worker_that_hangs_are_dropped() {
    a_hang("backpressure", AsyncMode::Suspend, Calls::OneByOne);
}

#[test]
fn workers_take_over_from_an_offload_worker_that_hangs() {
    a_hang("inline", AsyncMode::Suspend, Calls::OneByOne);
}

#[test]
fn who_waits_for_an_offload_worker_that_hangs_waits_no_more() {
    a_hang("drop", AsyncMode::Wait, Calls::OneByOne);
}

/// One call of several hangs: none of their packets comes back.
#[test]
fn packets_that_call_together_are_dropped_together() {
    a_hang("backpressure", AsyncMode::Suspend, Calls::Together);
}

/// Each buffer is back in the pool, or is no longer one of the pool's because an offload worker may still write to it.
#[test]
fn buffers_return_to_the_pool_after_packets_were_abandoned() {
    let lab = Lab::new("backpressure", AsyncMode::Suspend, Calls::OneByOne);
    // All packets stay with the first worker, as do their buffers.
    let buffers = || {
        let report = settled(&lab.switch);
        let worker = &report.workers[0];
        (worker.n_buffers, worker.n_free_buffers)
    };
    lab.send(0, 0, 30);
    lab.expect(30);
    let (n_before, n_free) = buffers();
    assert!(n_before > 0);
    assert_eq!(n_free, n_before);
    lab.send(0, 1, 1);
    lab.send(0, 0, 20);
    until("packets that are given up", || {
        lab.switch.report().unwrap().n_dropped_for(reason::OFFLOAD_TIMEOUT) > 0
    });
    let (n_after, n_free) = buffers();
    assert_eq!(n_free, n_after);
    let n_lost = settled(&lab.switch).asyncs[0].n_lost;
    assert!(n_lost > 0);
    lab.send(0, 2, 50);
    lab.expect(50);
    // A program is replaced while a packet is at an offload worker that hangs.
    lab.switch.replace(lab.compiled.clone()).unwrap();
    lab.send(0, 1, 1);
    until("a packet that hangs", || lab.switch.report().unwrap().asyncs[0].n_in_flight > 0);
    let n_dropped = n_timeouts(&lab.switch);
    lab.switch.replace(lab.compiled.clone()).unwrap();
    assert_eq!(n_timeouts(&lab.switch), n_dropped + 1);
    let (n_made, n_free) = buffers();
    assert_eq!(n_free, n_made);
    assert!(lab.switch.shut_down().unwrap().is_balanced());
}

fn n_timeouts(switch: &Switch) -> u64 {
    switch.report().unwrap().n_dropped_for(reason::OFFLOAD_TIMEOUT)
}

/// The control plane does not wait for ever, though offload workers must be outside of blocks while it writes.
#[test]
fn the_control_plane_writes_while_an_offload_worker_hangs() {
    let lab = Lab::new("backpressure", AsyncMode::Suspend, Calls::OneByOne);
    lab.send(0, 1, 1);
    until("a packet that hangs", || lab.switch.report().unwrap().asyncs[0].n_in_flight > 0);
    let begin = Instant::now();
    configure(&lab.switch, "add HangIngress.kinds kind:3 forward(port:1)");
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    lab.send(0, 3, 5);
    until("packets by the new entry", || lab.wires[1].n_received() == 5);
    until("a packet that is given up", || {
        lab.switch.report().unwrap().n_dropped_for(reason::OFFLOAD_TIMEOUT) == 1
    });
    settled(&lab.switch);
    // Nobody waits for it at the end.
    let begin = Instant::now();
    assert!(lab.switch.shut_down().unwrap().is_balanced());
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
}

/// A worker that runs the extern itself hangs: the switch ends all the same, without its counts.
#[test]
fn a_switch_ends_though_a_worker_hangs() {
    let lab = Lab::new("backpressure", AsyncMode::Inline, Calls::OneByOne);
    lab.send(1, 0, 5);
    lab.expect(5);
    lab.send(0, 1, 1);
    until("the worker hangs", || lab.dir.path().join("go.awaited").exists());
    // Somebody who asks the worker learns that the switch ends.
    let (switch, ended) = (Arc::clone(&lab.switch), lab.switch.clone());
    let asking = std::thread::spawn(move || switch.report());
    let error = ended.shut_down().unwrap_err();
    let ShutdownError::Stuck { workers, report, .. } = error else { panic!("{error}") };
    assert_eq!(workers, [0]);
    // Wire 1 is at the other worker; its packets have left by the one that hangs.
    assert_eq!((report.n_received, report.workers.len()), (5, 1), "{report:#?}");
    assert!(matches!(asking.join().unwrap(), Err(SwitchError::Ended)));
    assert!(matches!(ended.shut_down(), Err(ShutdownError::Ended)));
    std::fs::write(lab.dir.path().join("go"), "").unwrap();
}
