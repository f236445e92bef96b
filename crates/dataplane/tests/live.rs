//! Hosts in namespaces of their own, joined by a switch: what the kernels at both ends say is what counts.

#![cfg(target_os = "linux")]

mod common;
#[path = "common/net.rs"]
mod net;

use common::{compile, configure, settled, until};
use dataplane::{Options, PortKind, PortSpec, Switch};
use net::{Lab, PATIENCE, transfer};
use packet_io::{LinkState, XdpOptions};
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

const L2_SWITCH: &str = "examples/02-l2-switch/l2_switch.p4";
const PSA_SWITCH: &str = "examples/13-psa-switch/switch_psa.p4";
const ROUTER: &str = "examples/01-router/router.p4";

/// How the switch has its ports.
#[derive(Clone, Copy, Debug)]
enum Kind {
    AfPacket,
    AfXdp,
}

impl Kind {
    fn of(self, interface: String) -> PortKind {
        match self {
            Kind::AfPacket => PortKind::Interface(interface),
            Kind::AfXdp => PortKind::Xdp { name: interface, options: XdpOptions::JUMBO },
        }
    }
}

/// A switch in the lab's namespace, with a port for each host.
fn switch(lab: &Lab, kind: Kind, n_hosts: u32, options: Options, program: &str) -> Arc<Switch> {
    let compiled = compile(program);
    let start = move || {
        let switch = Switch::start(options).unwrap();
        switch.replace(compiled).unwrap();
        for number in 1..=n_hosts {
            let spec = PortSpec { number, kind: kind.of(format!("port{number}")) };
            switch.add_port(&spec, None).unwrap();
        }
        switch
    };
    let switch = Lab::inside(&lab.switch(), start).join().unwrap();
    // A cable that was just plugged in takes a moment to be seen.
    until("links everywhere", || {
        let report = switch.report().unwrap();
        report.ports.iter().all(|port| port.link == LinkState::Up)
    });
    switch
}

/// Runs a test over each kind of port: results and counts do not depend on it.
fn on_all_kinds(test: fn(Kind)) {
    if net::is_possible() {
        [Kind::AfPacket, Kind::AfXdp].into_iter().for_each(test);
    }
}

fn flood_to(switch: &Switch, ports: &str) {
    configure(switch, &format!("mc_mgrp_create 1\nmc_node_create 0 {ports}\nmc_node_associate 1 0"));
}

/// Answers have to come.
fn ping(lab: &Lab, switch: &Switch, from: u32, to: &str) {
    if let Err(said) = lab.ping(from, to) {
        panic!("{said}\n{:#?}", switch.report());
    }
}

/// Plays the controller: stations that the program tells of are known from then on.
fn learn(switch: &Switch) -> usize {
    let digests = switch.take_digests().unwrap();
    let mut seen = Vec::new();
    for digest in digests {
        let [station, port] = digest.values.as_slice() else { panic!("{digest:?}") };
        let (station, port) = (format!("{station:#014x}"), port.to_u64().unwrap());
        if !seen.contains(&station) {
            configure(
                switch,
                &format!(
                    "add smac source:{station} port:{port} known()\nadd dmac destination:{station} forward(port:{port})"
                ),
            );
            seen.push(station);
        }
    }
    seen.len()
}

#[test]
fn three_hosts_find_each_other() {
    on_all_kinds(hosts_find_each_other);
}

fn hosts_find_each_other(kind: Kind) {
    let lab = Lab::new(3);
    (1..=3).for_each(|n| lab.address(n, &format!("10.0.0.{n}/24")));
    let switch = switch(&lab, kind, 3, Options { n_workers: 2, ..Options::default() }, L2_SWITCH);
    flood_to(&switch, "1 2 3");
    // ARP goes to all, and everything else as well, since nobody is known.
    ping(&lab, &switch, 1, "10.0.0.2");
    ping(&lab, &switch, 2, "10.0.0.3");
    transfer(&lab, 1, 3, "10.0.0.3", 1 << 20);
    assert_eq!(learn(&switch), 3);
    let heard_before = settled(&switch).ports[1].stats.tx_packets;
    transfer(&lab, 1, 3, "10.0.0.3", 8 << 20);
    let report = settled(&switch);
    let n_overheard = report.ports[1].stats.tx_packets - heard_before;
    assert!(n_overheard < 20, "host 2 overhears {n_overheard} packets");
    multicast(&lab);
    let report = settled(&switch);
    assert!(report.ports.iter().all(|port| port.stats.rx_dropped() == 0), "{report:#?}");
    let end = switch.shut_down().unwrap();
    assert!(end.is_balanced(), "{end:#?}");
}

/// Ports 1 and 2 are of one VLAN, port 3 hears what comes from port 2.
#[test]
fn a_psa_switch_joins_hosts_and_mirrors() {
    on_all_kinds(hosts_are_mirrored);
}

fn hosts_are_mirrored(kind: Kind) {
    let lab = Lab::new(3);
    (1..=3).for_each(|n| lab.address(n, &format!("10.0.0.{n}/24")));
    let switch = switch(&lab, kind, 3, Options { n_workers: 2, ..Options::default() }, PSA_SWITCH);
    let mut script = "mc_mgrp_create 5\nmc_node_create 0 1 2\nmc_node_associate 5 0\nmirroring_add 20 3\n\
        add floods meta.vlan:10 flood(group:5)\n\
        add mirrors 1 istd.ingress_port:2&&&0xffffffff frame.ethernet.source:0&&&0 \
        frame.ethernet.ether_type:0&&&0 mirror(session:20, rule:1)\n"
        .to_owned();
    for port in [1, 2] {
        script.push_str(&format!(
            "add ports istd.ingress_port:{port} frame.vlan.$valid$:0 set_vlan(vlan:10)\n\
             add members istd.egress_port:{port} meta.vlan:10 without_tag()\n"
        ));
    }
    configure(&switch, &script);
    ping(&lab, &switch, 1, "10.0.0.2");
    transfer(&lab, 1, 2, "10.0.0.2", 1 << 20);
    let report = settled(&switch);
    let [sent_by_2, heard_by_3] = [report.ports[1].stats.rx_packets, report.ports[2].stats.tx_packets];
    assert!(
        sent_by_2 > 3 && heard_by_3 == sent_by_2,
        "{sent_by_2} packets, {heard_by_3} mirrored: {report:#?}"
    );
    let end = switch.shut_down().unwrap();
    assert!(end.is_balanced(), "{end:#?}");
}

/// One sends to a group, the two others have joined.
fn multicast(lab: &Lab) {
    let group = Ipv4Addr::new(239, 1, 1, 1);
    let (ready, is_ready) = channel();
    let listen = |n: u8| {
        let ready = ready.clone();
        Lab::inside(&lab.host(u32::from(n)), move || {
            let socket = UdpSocket::bind((group, 5002)).unwrap();
            socket.join_multicast_v4(&group, &Ipv4Addr::new(10, 0, 0, n)).unwrap();
            socket.set_read_timeout(Some(PATIENCE)).unwrap();
            ready.send(()).unwrap();
            let mut bytes = [0; 100];
            let n = socket.recv(&mut bytes).unwrap();
            bytes[..n].to_vec()
        })
    };
    let listeners = [listen(2), listen(3)];
    (0..2).for_each(|_| is_ready.recv_timeout(PATIENCE).unwrap());
    net::run(&format!("-n {} route add 239.0.0.0/8 dev eth0", lab.host(1)));
    let sender = Lab::inside(&lab.host(1), move || {
        let socket = UdpSocket::bind(("10.0.0.1", 0)).unwrap();
        socket.send_to(b"hello, group", (group, 5002)).unwrap();
    });
    sender.join().unwrap();
    for listener in listeners {
        assert_eq!(listener.join().unwrap(), b"hello, group");
    }
}

#[test]
fn two_networks_are_routed() {
    on_all_kinds(networks_are_routed);
}

fn networks_are_routed(kind: Kind) {
    let lab = Lab::new(2);
    for n in 1..=2 {
        lab.address(n, &format!("10.{n}.0.1/24"));
        let host = lab.host(n);
        // The router does not answer ARP: that is the controller's matter.
        net::run(&format!("-n {host} neigh add 10.{n}.0.254 lladdr 02:00:00:00:01:0{n} dev eth0"));
        net::run(&format!("-n {host} route add default via 10.{n}.0.254"));
    }
    let switch = switch(&lab, kind, 2, Options { cpu_port: Some(63), ..Options::default() }, ROUTER);
    configure(
        &switch,
        "add next_hops meta.next_hop:1 forward(port:1, source:0x020000000101, destination:0x020000000001)
         add next_hops meta.next_hop:2 forward(port:2, source:0x020000000102, destination:0x020000000002)
         add routes headers.ipv4.destination:0x0a010000/16 set_next_hop(next_hop:1)
         add routes headers.ipv4.destination:0x0a020000/16 set_next_hop(next_hop:2)",
    );
    ping(&lab, &switch, 1, "10.2.0.1");
    transfer(&lab, 1, 2, "10.2.0.1", 4 << 20);
    transfer(&lab, 2, 1, "10.1.0.1", 4 << 20);
    // A host asks for somebody who is not there: the router understands IPv4 only, and gives ARP to its controller.
    let asking = Lab::inside(&lab.host(1), || {
        let socket = UdpSocket::bind(("10.1.0.1", 0)).unwrap();
        let _ = socket.send_to(b"?", ("10.1.0.77", 9));
    });
    asking.join().unwrap();
    let mut packet_ins = Vec::new();
    until("a packet for the controller", || {
        packet_ins.extend(switch.take_packet_ins(10));
        !packet_ins.is_empty()
    });
    assert_eq!(packet_ins[0].bytes[12..14], [8, 6], "ARP");
    let report = settled(&switch);
    assert!(report.n_to_controller > 0);
    assert!(switch.shut_down().unwrap().is_balanced());
}

/// Numbered packets from host 1 to host 2, until told to stop; gives how many were sent, and the numbers that came.
struct Numbered {
    stop: Arc<AtomicBool>,
    sender: std::thread::JoinHandle<u64>,
    receiver: std::thread::JoinHandle<Vec<u64>>,
}

impl Numbered {
    fn start(lab: &Lab, rate_pps: u64) -> Numbered {
        let stop = Arc::new(AtomicBool::new(false));
        let is_over = Arc::new(AtomicBool::new(false));
        let (ready, is_ready) = channel();
        let over = Arc::clone(&is_over);
        let receiver = Lab::inside(&lab.host(2), move || {
            let socket = UdpSocket::bind(("10.0.0.2", 5003)).unwrap();
            enlarge(&socket);
            socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
            ready.send(()).unwrap();
            let (mut numbers, mut bytes) = (Vec::new(), [0; 8]);
            loop {
                match socket.recv(&mut bytes) {
                    Ok(8) => numbers.push(u64::from_be_bytes(bytes)),
                    Ok(n) => panic!("{n} bytes"),
                    Err(_) if over.load(Ordering::SeqCst) => return numbers,
                    Err(_) => {}
                }
            }
        });
        is_ready.recv_timeout(PATIENCE).unwrap();
        let stopped = Arc::clone(&stop);
        let sender = Lab::inside(&lab.host(1), move || {
            let socket = UdpSocket::bind(("10.0.0.1", 0)).unwrap();
            let (begin, mut n_sent) = (Instant::now(), 0_u64);
            while !stopped.load(Ordering::SeqCst) {
                // Never more than a tenth of a second's packets at once, however late this thread is.
                let due = begin.elapsed().as_millis() as u64 * rate_pps / 1000;
                let burst = due.saturating_sub(n_sent).min(rate_pps / 10);
                for _ in 0..burst {
                    // While the interface is gone it is refused, and lost.
                    let _ = socket.send_to(&n_sent.to_be_bytes(), ("10.0.0.2", 5003));
                    n_sent += 1;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            is_over.store(true, Ordering::SeqCst);
            n_sent
        });
        Numbered { stop, sender, receiver }
    }

    fn finish(self) -> (u64, Vec<u64>) {
        self.stop.store(true, Ordering::SeqCst);
        (self.sender.join().unwrap(), self.receiver.join().unwrap())
    }
}

/// Room for a receiver that gets no time for a while.
fn enlarge(socket: &UdpSocket) {
    let n_bytes: libc::c_int = 16 << 20;
    // SAFETY: the option is a number, which is there during the call.
    #[expect(unsafe_code, reason = "a system call")]
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_RCVBUFFORCE,
            (&raw const n_bytes).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
}

/// Neighbours that are known need no ARP, which could lose packets.
fn introduce(lab: &Lab) {
    net::run(&format!("-n {} neigh replace 10.0.0.2 lladdr 02:00:00:00:00:02 dev eth0", lab.host(1)));
    net::run(&format!("-n {} neigh replace 10.0.0.1 lladdr 02:00:00:00:00:01 dev eth0", lab.host(2)));
}

#[test]
fn another_program_under_load_costs_no_packet() {
    if !net::is_possible() {
        return;
    }
    for kind in [Kind::AfPacket, Kind::AfXdp] {
        replace_under_load(kind, Duration::from_secs(2), 5000);
    }
}

/// The long form, for when there is time: SIDING_LOAD_SECONDS=60 cargo test -p dataplane --test live -- --ignored
#[test]
#[ignore = "takes a minute"]
fn another_program_under_load_for_a_minute() {
    if !net::is_possible() {
        return;
    }
    let seconds = std::env::var("SIDING_LOAD_SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(60);
    replace_under_load(Kind::AfXdp, Duration::from_secs(seconds), 5000);
}

fn replace_under_load(kind: Kind, duration: Duration, rate_pps: u64) {
    let lab = Lab::new(2);
    (1..=2).for_each(|n| lab.address(n, &format!("10.0.0.{n}/24")));
    introduce(&lab);
    let switch = switch(&lab, kind, 2, Options::default(), L2_SWITCH);
    flood_to(&switch, "1 2");
    let other = compile(L2_SWITCH);
    let numbered = Numbered::start(&lab, rate_pps);
    let (begin, mut n_replaced) = (Instant::now(), 0);
    while begin.elapsed() < duration {
        let kept = switch.replace_keeping(other.clone()).unwrap();
        assert_eq!((kept.n_copied, kept.n_refused), (1, 0), "{kept:?}");
        n_replaced += 1;
        std::thread::sleep(Duration::from_millis(50));
    }
    let (n_sent, numbers) = numbered.finish();
    let report = settled(&switch);
    println!("{n_sent} packets, {n_replaced} replacements");
    assert!(n_sent > 1000 && n_replaced > 5, "{n_sent} packets, {n_replaced} replacements");
    assert!(numbers == (0..n_sent).collect::<Vec<_>>(), "{} of {n_sent} came; {report:#?}", numbers.len());
}

#[test]
fn an_interface_may_go_and_come_back() {
    on_all_kinds(interface_goes_and_comes_back);
}

fn interface_goes_and_comes_back(kind: Kind) {
    let lab = Lab::new(2);
    (1..=2).for_each(|n| lab.address(n, &format!("10.0.0.{n}/24")));
    introduce(&lab);
    let switch = switch(&lab, kind, 2, Options::default(), L2_SWITCH);
    flood_to(&switch, "1 2");
    let link = |number: usize| switch.report().unwrap().ports[number - 1].link;
    let numbered = Numbered::start(&lab, 2000);
    std::thread::sleep(Duration::from_millis(300));
    lab.unplug(1);
    until("the loss of the interface", || link(1) == LinkState::Gone);
    assert_eq!(link(2), LinkState::Up);
    std::thread::sleep(Duration::from_millis(200));
    lab.plug(1);
    lab.address(1, "10.0.0.1/24");
    introduce(&lab);
    until("the return of the interface", || link(1) == LinkState::Up);
    let before = switch.report().unwrap().ports[0].stats.rx_packets;
    until("packets after the return", || switch.report().unwrap().ports[0].stats.rx_packets > before + 100);
    let (n_sent, numbers) = numbered.finish();
    assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "in order");
    assert!(numbers.last().is_some_and(|last| last + 100 > n_sent), "{:?} of {n_sent}", numbers.last());
    settled(&switch);
    assert!(switch.shut_down().unwrap().is_balanced());
}
