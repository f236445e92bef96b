//! How little an idle switch costs. Alone in its process, whose time on all cores it measures.

#![cfg(target_os = "linux")]

mod common;
#[path = "common/net.rs"]
mod net;

use common::{Wire, compile, until};
use dataplane::{Options, PortKind, PortSpec, Switch, Wait};
use net::Lab;
use packet_io::LinkState;
use std::sync::Arc;
use std::time::Duration;

/// Time that the process has had on all cores.
fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time is writable during the call.
    #[expect(unsafe_code, reason = "a system call")]
    let result = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Share of one core that the process uses during a second.
fn cpu_share() -> f64 {
    let begin = cpu_time();
    std::thread::sleep(Duration::from_secs(1));
    (cpu_time() - begin).as_secs_f64()
}

#[test]
fn an_idle_switch_sleeps() {
    let compiled = compile("examples/02-l2-switch/l2_switch.p4");
    for wait in [Wait::Adaptive, Wait::Interrupt] {
        let options = Options { n_workers: 2, wait, ..Options::default() };
        // Ports without a descriptor are polled, which costs more.
        let switch = Switch::start(options.clone()).unwrap();
        switch.replace(compiled.clone()).unwrap();
        for number in 0..2 {
            let port = Wire::default().port(number);
            switch.add_open_port(number, format!("wire {number}"), port).unwrap();
        }
        let share = cpu_share();
        println!("{}, ports without a descriptor: {:.2} % of a core", wait.name(), share * 100.0);
        assert!(share < 0.2, "{} % of a core", share * 100.0);
        switch.shut_down().unwrap();
        if !net::is_possible() {
            continue;
        }
        let lab = Lab::new(2);
        let compiled = compiled.clone();
        let start = move || {
            let switch = Switch::start(options).unwrap();
            switch.replace(compiled).unwrap();
            for number in 1..=2 {
                let spec = PortSpec { number, kind: PortKind::Interface(format!("port{number}")) };
                switch.add_port(&spec, None).unwrap();
            }
            switch
        };
        let switch: Arc<Switch> = Lab::inside(&lab.switch(), start).join().unwrap();
        until("links everywhere", || {
            switch.report().unwrap().ports.iter().all(|port| port.link == LinkState::Up)
        });
        let share = cpu_share();
        println!("{}, interfaces: {:.2} % of a core", wait.name(), share * 100.0);
        assert!(share < 0.05, "{} % of a core", share * 100.0);
        switch.shut_down().unwrap();
    }
}
