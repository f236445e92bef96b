//! Two gateways with an encrypted tunnel between them: hosts behind them talk as if there were none, and whoever listens
//! in between understands nothing.

#![cfg(target_os = "linux")]

mod common;
#[path = "common/net.rs"]
mod net;

use common::{compile, configure, settled, until};
use dataplane::{Options, PortKind, PortSpec, Switch};
use native::AsyncMode;
use net::{Lab, pattern, transfer};
use packet_io::{LinkState, PacketReader};
use std::path::Path;
use std::sync::Arc;

const TUNNEL: &str = "examples/05-tunnel/tunnel.p4";
const N_BYTES: usize = 4 << 20;
const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_ESP: u8 = 50;

/// Gateway `number` is at `port<number>` of the lab, with host `number` behind it, and at one end of the cable `middle1` to
/// `middle2`. What passes is captured.
fn gateway(lab: &Lab, number: u32, options: Options, captures: &Path) -> Arc<Switch> {
    let (compiled, captures) = (compile(TUNNEL), captures.to_owned());
    let start = move || {
        let switch = Switch::start(options).unwrap();
        switch.replace(compiled).unwrap();
        for (port, name) in [(1, format!("port{number}")), (2, format!("middle{number}"))] {
            let spec = PortSpec { number: port, kind: PortKind::Interface(name) };
            switch.add_port(&spec, Some(&captures)).unwrap();
        }
        switch
    };
    let switch = Lab::inside(&lab.switch(), start).join().unwrap();
    until("links everywhere", || {
        let report = switch.report().unwrap();
        report.ports.iter().all(|port| port.link == LinkState::Up)
    });
    // The association from gateway n has the index and the number n.
    let other = 3 - number;
    let key = |n: u32| format!("key:{}, salt:{}", u128::from(n) * 0x0123_4567_89ab_cdef, n * 0x0101);
    configure(
        &switch,
        &format!(
            "add next_hops meta.next_hop:1 forward(port:1, source:0x02000000010{number}, destination:0x02000000000{number})
             add next_hops meta.next_hop:2 forward(port:2, source:0x02000000020{number}, destination:0x02000000020{other})
             add outside_ports standard.ingress_port:2 outside()
             add routes headers.ipv4.destination:0x0a0{number}0000/16 set_next_hop(next_hop:1)
             add routes headers.ipv4.destination:0x0a0{other}0000/16 protect(next_hop:2, association:{number})
             add associations_out meta.association:{number} seal(spi:{number}, {}, source:{number}, destination:{other}, mtu:1500)
             add associations_in headers.esp.spi:{other} open(association:{other}, {}, prefix:0x0a0{other}0000, mask:0xffff0000)",
            key(number),
            key(other)
        ),
    );
    switch
}

/// What a port has received and sent.
fn captured(captures: &Path, interface: &str) -> Vec<Vec<u8>> {
    ["in", "out"]
        .iter()
        .flat_map(|way| PacketReader::open(captures.join(format!("{interface}_{way}.pcap"))).unwrap())
        .map(|packet| packet.unwrap().data)
        .collect()
}

/// How many pieces of what was sent can be seen.
fn n_readable(packets: &[Vec<u8>]) -> usize {
    let sent = pattern(N_BYTES);
    let pieces = (1..=16).map(|i| &sent[i * N_BYTES / 17..][..24]);
    pieces.filter(|piece| packets.iter().any(|bytes| bytes.windows(24).any(|seen| seen == *piece))).count()
}

fn is_of(protocol: u8) -> impl Fn(&Vec<u8>) -> bool {
    // Behind 14 bytes of Ethernet.
    move |bytes| bytes.len() > 34 && bytes[12..14] == [8, 0] && bytes[23] == protocol
}

fn through_a_tunnel(mode: AsyncMode) {
    if !net::is_possible() {
        return;
    }
    let captures = tempfile::tempdir().unwrap();
    let lab = Lab::new(2);
    net::run(&format!("-n {} link add middle1 type veth peer name middle2", lab.switch()));
    for n in 1..=2 {
        net::run(&format!("-n {} link set middle{n} up", lab.switch()));
        lab.address(n, &format!("10.{n}.0.1/24"));
        let host = lab.host(n);
        // A gateway does not answer ARP. What is sent must have room for the tunnel's 44 bytes.
        net::run(&format!("-n {host} link set eth0 mtu 1456"));
        net::run(&format!("-n {host} neigh add 10.{n}.0.254 lladdr 02:00:00:00:01:0{n} dev eth0"));
        net::run(&format!("-n {host} route add default via 10.{n}.0.254"));
    }
    let options = || Options { async_mode: Some(mode), ..Options::default() };
    let gateways = [1, 2].map(|n| gateway(&lab, n, options(), captures.path()));
    for (from, to) in [(1, "10.2.0.1"), (2, "10.1.0.1")] {
        if let Err(said) = lab.ping(from, to) {
            panic!("{said}\n{:#?}\n{:#?}", gateways[0].report(), gateways[1].report());
        }
    }
    transfer(&lab, 1, 2, "10.2.0.1", N_BYTES);
    transfer(&lab, 2, 1, "10.1.0.1", 1 << 20);
    for gateway in &gateways {
        let report = settled(gateway);
        assert_eq!(report.asyncs.len(), 2);
        for block in &report.asyncs {
            let n_here = block.n_inline + block.n_full + block.n_no_room;
            let (n_there, n_waited) = (block.n_done + block.n_waited, block.n_waited);
            assert!(n_here + n_there > 500, "{report:#?}");
            match mode {
                AsyncMode::Inline => assert_eq!(n_there, 0, "{block:?}"),
                // A packet whose worker lost patience, because the other core was busy, comes back as `n_done`.
                AsyncMode::Wait => assert!(n_here == 0 && n_waited > 0, "{block:?}"),
                AsyncMode::Suspend => assert!(block.n_no_room == 0 && n_waited == 0, "{block:?}"),
                AsyncMode::Auto => assert!(n_waited == 0 && block.choices.len() == 1, "{block:?}"),
            }
        }
        gateway.shut_down().unwrap();
    }
    let (middle, clear) = (captured(captures.path(), "middle1"), captured(captures.path(), "port1"));
    assert!(middle.len() > 1000 && middle.iter().all(is_of(PROTOCOL_ESP)), "{} packets", middle.len());
    assert_eq!(n_readable(&middle), 0);
    // What is seen where nothing is encrypted shows that the test can see.
    assert!(clear.iter().any(is_of(PROTOCOL_TCP)) && n_readable(&clear) > 8, "{}", n_readable(&clear));
}

#[test]
fn hosts_talk_through_an_encrypted_tunnel() {
    through_a_tunnel(AsyncMode::Suspend);
}

#[test]
fn gateways_may_encrypt_in_their_workers() {
    through_a_tunnel(AsyncMode::Inline);
}

#[test]
fn gateways_may_choose() {
    through_a_tunnel(AsyncMode::Auto);
}

#[test]
fn gateways_may_wait_for_the_other_core() {
    through_a_tunnel(AsyncMode::Wait);
}
