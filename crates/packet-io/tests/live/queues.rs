//! Several queues of one port, each of which could be another worker's.

use crate::namespace::{Driven, in_namespace, ip, open, veth_pair};
use packet_io::{
    AfPacketOptions, AfPacketPort, LinkState, Port, PortError, PortId, TapOptions, TapPort, wait_for_input,
};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::time::{Duration, Instant};

const N_FLOWS: u16 = 64;
const N_ROUNDS: u8 = 5;

/// An Ethernet packet with IPv4 and UDP from a port of its own for each flow.
fn udp_packet(flow: u16, round: u8) -> Vec<u8> {
    let mut packet = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
    packet.extend([0x45, 0, 0, 32, 0, 1, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 2, 10, 0, 0, 1]);
    packet.extend((6000 + flow).to_be_bytes());
    packet.extend([0x13, 0x88, 0, 12, 0, 0, round, 0, 0, 0]);
    packet
}

fn flow_and_round(packet: &[u8]) -> (u16, u8) {
    (u16::from_be_bytes([packet[34], packet[35]]) - 6000, packet[42])
}

fn is_udp(packet: &[u8]) -> bool {
    packet.len() >= 43 && packet[12..14] == [8, 0] && packet[23] == 17
}

fn drive<P: Port>(queues: Result<Vec<P>, PortError>) -> Vec<Driven<P>> {
    queues.unwrap().into_iter().map(Driven::new).collect()
}

fn open_queues(interface: &str, n_queues: usize) -> Vec<Driven<AfPacketPort>> {
    let options = AfPacketOptions::JUMBO;
    let mut queues = drive(AfPacketPort::open_queues(PortId(1), interface, options, n_queues));
    queues.iter_mut().for_each(|queue| queue.wait_for(LinkState::Up));
    queues
}

/// Receives all rounds of all flows: each packet once, each flow in order and from one queue, and something from each
/// queue.
fn receive_all<P: Port>(queues: &mut [Driven<P>]) {
    let begin = Instant::now();
    let mut queue_of: BTreeMap<u16, usize> = BTreeMap::new();
    let mut rounds = vec![0; usize::from(N_FLOWS)];
    while rounds.iter().any(|round| *round < N_ROUNDS) {
        assert!(begin.elapsed() < crate::namespace::DEADLINE, "{rounds:?}");
        wait_for_input(queues.iter().filter_map(|queue| queue.port.fd()), Duration::from_millis(20)).unwrap();
        for (q, queue) in queues.iter_mut().enumerate() {
            for packet in queue.receive(is_udp) {
                let (flow, round) = flow_and_round(&packet);
                assert_eq!(rounds[usize::from(flow)], round, "flow {flow}");
                assert_eq!(*queue_of.entry(flow).or_insert(q), q, "flow {flow}");
                rounds[usize::from(flow)] += 1;
            }
        }
    }
    for q in 0..queues.len() {
        assert!(queue_of.values().any(|queue| *queue == q), "nothing for queue {q}");
    }
}

#[test]
fn packets_of_a_flow_come_from_one_queue() {
    in_namespace(|| {
        veth_pair("va", "vb", 1500);
        let (mut queues, mut peer) = (open_queues("va", 3), open(2, "vb"));
        for round in 0..N_ROUNDS {
            let packets: Vec<_> = (0..N_FLOWS).map(|flow| udp_packet(flow, round)).collect();
            assert_eq!(peer.send(packets), usize::from(N_FLOWS));
        }
        receive_all(&mut queues);
        // Each queue sends, and none receives what another has sent.
        for queue in &mut queues {
            assert_eq!(queue.send([udp_packet(0, 0)]), 1);
        }
        assert_eq!(peer.receive_n(3, is_udp), vec![udp_packet(0, 0); 3]);
        for queue in &mut queues {
            assert!(queue.receive(is_udp).is_empty());
            queue.assert_all_buffers_are_back();
        }
    });
}

/// Packets that another program sends there are not received.
#[test]
fn what_others_send_is_not_received() {
    in_namespace(|| {
        veth_pair("va", "vb", 1500);
        let (mut queues, mut peer) = (open_queues("va", 2), open(2, "vb"));
        let mut other = open(3, "va");
        let packets: Vec<_> = (0..N_FLOWS).map(|flow| udp_packet(flow, 0)).collect();
        assert_eq!(other.send(packets), usize::from(N_FLOWS));
        peer.receive_n(usize::from(N_FLOWS), is_udp);
        for queue in &mut queues {
            assert!(queue.receive(is_udp).is_empty());
            assert_eq!(queue.port.stats().rx_packets, 0);
        }
    });
}

#[test]
fn an_interface_with_queues_can_be_deleted_and_made_again() {
    in_namespace(|| {
        veth_pair("va", "vb", 1500);
        let mut queues = open_queues("va", 2);
        for round in 0..3 {
            ip("link del dev va");
            queues.iter_mut().for_each(|queue| queue.wait_for(LinkState::Gone));
            veth_pair("va", "vb", 1500);
            if round == 1 {
                // One queue finds the next interface before the other has seen that the last one is gone.
                queues[0].wait_for(LinkState::Up);
                ip("link del dev va");
                veth_pair("va", "vb", 1500);
            }
            queues.iter_mut().rev().for_each(|queue| queue.wait_for(LinkState::Up));
            // The state may be that of the interface before.
            let begin = Instant::now();
            while begin.elapsed() < Duration::from_millis(300) {
                queues.iter_mut().for_each(|queue| queue.port.idle().unwrap());
                std::thread::sleep(Duration::from_millis(20));
            }
            let mut peer = open(2, "vb");
            for round in 0..N_ROUNDS {
                peer.send((0..N_FLOWS).map(|flow| udp_packet(flow, round)));
            }
            receive_all(&mut queues);
        }
    });
}

#[test]
fn an_interface_that_is_off_takes_queues() {
    in_namespace(|| {
        veth_pair("va", "vb", 1500);
        ip("link set dev va down");
        let options = AfPacketOptions::JUMBO;
        let mut queues = drive(AfPacketPort::open_queues(PortId(1), "va", options, 2));
        assert!(queues.iter().all(|queue| queue.port.link_state() == LinkState::Down));
        ip("link set dev va up");
        queues.iter_mut().for_each(|queue| queue.wait_for(LinkState::Up));
        let mut peer = open(2, "vb");
        for round in 0..N_ROUNDS {
            peer.send((0..N_FLOWS).map(|flow| udp_packet(flow, round)));
        }
        receive_all(&mut queues);
    });
}

#[test]
fn a_tap_interface_has_queues() {
    in_namespace(|| {
        let mut queues = drive(TapPort::open_queues(PortId(1), "tap1", TapOptions::JUMBO, 2));
        queues.iter_mut().for_each(|queue| queue.wait_for(LinkState::Up));
        ip("link set dev tap1 address 02:00:00:00:00:01");
        ip("addr add 10.0.0.2/24 dev tap1");
        ip("neigh add 10.0.0.1 lladdr 02:00:00:00:00:02 dev tap1");
        let socket =
            |flow| UdpSocket::bind(SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 2), 6000 + flow)).unwrap();
        let sockets: Vec<UdpSocket> = (0..N_FLOWS).map(socket).collect();
        for round in 0..N_ROUNDS {
            for socket in &sockets {
                socket.send_to(&[round, 0, 0, 0], "10.0.0.1:5000").unwrap();
            }
        }
        receive_all(&mut queues);
        // Packets of a flow that goes through one queue come back through the same one.
        sockets[7].set_read_timeout(Some(crate::namespace::DEADLINE)).unwrap();
        for q in [1, 0] {
            let mut answer = udp_packet(7, 0);
            answer[26..34].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
            answer[34..38].copy_from_slice(&[0x13, 0x88, 0x17, 0x77]);
            // The checksum of the header.
            answer[24..26].copy_from_slice(&[0x26, 0xca]);
            assert_eq!(queues[q].send([answer]), 1);
            assert_eq!(sockets[7].recv_from(&mut [0; 9]).unwrap().0, 4);
            sockets[7].send_to(&[9, 0, 0, 0], "10.0.0.1:5000").unwrap();
            let packets = queues[q].receive_n(1, is_udp);
            assert_eq!(flow_and_round(&packets[0]), (7, 9));
        }
        drop(queues.pop());
        assert_eq!(queues[0].port.link_state(), LinkState::Up);
        drop(queues);
        let is_there = || {
            let shown = std::process::Command::new("ip").args(["link", "show", "tap1"]).output().unwrap();
            !shown.stdout.is_empty()
        };
        let begin = Instant::now();
        while is_there() {
            assert!(begin.elapsed() < crate::namespace::DEADLINE, "the interface goes with the last queue");
        }
    });
}

#[test]
fn a_tap_interface_of_others_needs_queues() {
    in_namespace(|| {
        let open = |n_queues| TapPort::open_queues(PortId(1), "tap1", TapOptions::JUMBO, n_queues);
        ip("tuntap add dev tap1 mode tap");
        assert_eq!(
            open(2).unwrap_err().to_string(),
            "interface `tap1` is a TAP interface with one queue. Use one queue, or make it with several: \
             sudo ip tuntap del tap1 mode tap; sudo ip tuntap add tap1 mode tap multi_queue"
        );
        // Processes that other tests are about to start may have the device a moment longer.
        let open_soon = |n_queues| {
            let begin = Instant::now();
            loop {
                match open(n_queues) {
                    Ok(queues) => return queues.len(),
                    Err(error) => assert!(begin.elapsed() < crate::namespace::DEADLINE, "{error}"),
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        };
        assert_eq!(open_soon(1), 1);
        // An interface that is made so takes both numbers.
        ip("link del dev tap1");
        ip("tuntap add tap1 mode tap multi_queue");
        assert_eq!((open_soon(2), open_soon(1)), (2, 1));
        veth_pair("va", "vb", 1500);
        let error = TapPort::open_queues(PortId(1), "va", TapOptions::JUMBO, 2).unwrap_err().to_string();
        assert!(error.starts_with("interface `va` is no TAP interface"), "{error}");
    });
}
