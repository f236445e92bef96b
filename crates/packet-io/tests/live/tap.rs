//! The network stack of the system at the other end.

use crate::namespace::{Driven, in_namespace, ip, is_ours, packet};
use packet_io::{LinkState, Port, PortId, TapOptions, TapPort};
use std::net::UdpSocket;
use std::time::Duration;

fn open(id: u32, interface: &str) -> Driven<TapPort> {
    let mut tap = Driven::new(TapPort::open(PortId(id), interface, TapOptions::JUMBO).unwrap());
    tap.wait_for(LinkState::Up);
    tap
}

/// An Ethernet packet with IPv4 and UDP; the checksum of UDP is left out, which is allowed.
fn udp_packet(destination: [u8; 6], ports: [u16; 2], payload: &[u8]) -> Vec<u8> {
    let mut ip = vec![0x45, 0, 0, 0, 0, 1, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 2, 10, 0, 0, 1];
    ip[2..4].copy_from_slice(&(28 + payload.len() as u16).to_be_bytes());
    let mut sum: u32 = ip.chunks(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]]))).sum();
    sum = (sum & 0xffff) + (sum >> 16);
    ip[10..12].copy_from_slice(&(!((sum + (sum >> 16)) as u16)).to_be_bytes());
    let mut packet = [&destination[..], &[2, 0, 0, 0, 0, 2, 8, 0], &ip].concat();
    packet.extend(ports.iter().flat_map(|p| p.to_be_bytes()));
    packet.extend((8 + payload.len() as u16).to_be_bytes());
    packet.extend([0, 0]);
    packet.extend(payload);
    packet
}

#[test]
fn the_stack_sends_and_receives() {
    in_namespace(|| {
        let mut tap = open(1, "tap1");
        ip("link set dev tap1 address 02:00:00:00:00:01");
        ip("link set dev tap1 mtu 9000");
        ip("addr add 10.0.0.1/24 dev tap1");
        ip("neigh add 10.0.0.2 lladdr 02:00:00:00:00:02 dev tap1");
        let socket = UdpSocket::bind("10.0.0.1:5000").unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        for n_bytes in [0, 1, 100, 1400, 8000] {
            let payload: Vec<u8> = (0..n_bytes).map(|i| i as u8).collect();
            socket.send_to(&payload, "10.0.0.2:6000").unwrap();
            let is_udp = |p: &[u8]| p.len() == 42 + n_bytes && p[12..14] == [8, 0] && p[23] == 17;
            let packet = tap.receive_n(1, is_udp).remove(0);
            assert_eq!(packet[..14], [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]);
            assert_eq!(packet[34..38], [0x13, 0x88, 0x17, 0x70]);
            assert!(packet[42..] == payload);

            assert_eq!(tap.send([udp_packet([2, 0, 0, 0, 0, 1], [6000, 5000], &payload)]), 1);
            let mut buf = [0; 9000];
            let (n, from) = socket.recv_from(&mut buf).unwrap();
            assert_eq!((n, from), (n_bytes, "10.0.0.2:6000".parse().unwrap()));
            assert!(buf[..n] == payload);
        }
        let stats = tap.port.stats();
        assert_eq!((stats.tx_packets, stats.tx_dropped(), stats.rx_dropped()), (5, 0, 0), "{stats:?}");
        tap.assert_all_buffers_are_back();
    });
}

#[test]
fn what_does_not_fit_is_counted() {
    in_namespace(|| {
        let options = TapOptions { packet_bytes_max: 1000 };
        let mut tap = Driven::new(TapPort::open(PortId(1), "tap1", options).unwrap());
        tap.wait_for(LinkState::Up);
        ip("addr add 10.0.0.1/24 dev tap1");
        ip("neigh add 10.0.0.2 lladdr 02:00:00:00:00:02 dev tap1");
        let socket = UdpSocket::bind("10.0.0.1:5000").unwrap();
        for n_bytes in [958, 959, 1400, 957] {
            socket.send_to(&vec![7; n_bytes], "10.0.0.2:6000").unwrap();
        }
        let found = tap.receive_n(2, |p| p[12..14] == [8, 0] && p[23] == 17);
        assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [1000, 999]);
        assert_eq!(tap.port.stats().rx_too_long, 2);
        assert_eq!(tap.send([vec![0; 13], packet(60, 1)]), 1);
        assert_eq!(tap.port.stats().tx_errors, 1);
    });
}

#[test]
fn it_can_be_switched_off_deleted_and_made_again() {
    in_namespace(|| {
        let mut tap = open(1, "tap1");
        assert_eq!(tap.send([packet(60, 1)]), 1);
        ip("link set dev tap1 down");
        assert_eq!(tap.send([packet(60, 2), packet(60, 3)]), 0);
        assert_eq!(tap.port.stats().tx_dropped_down, 2);
        tap.wait_for(LinkState::Down);
        ip("link set dev tap1 up");
        tap.wait_for(LinkState::Up);
        assert_eq!(tap.send([packet(60, 4)]), 1);

        ip("link del dev tap1");
        assert_eq!(tap.send([packet(60, 5)]), 0);
        assert!(tap.receive(is_ours).is_empty());
        tap.wait_for(LinkState::Gone);
        assert_eq!(tap.port.fd(), None);
        ip("tuntap add dev tap1 mode tap");
        ip("link set dev tap1 up");
        tap.wait_for(LinkState::Up);
        assert_eq!(tap.send([packet(60, 6)]), 1);
        let stats = tap.port.stats();
        assert_eq!((stats.tx_packets, stats.tx_dropped_down, stats.tx_dropped()), (3, 3, 3), "{stats:?}");
        // The interface was made by someone else and remains.
        drop(tap);
        ip("link show dev tap1");
    });
}
