//! Two ports at the ends of a cable.

use crate::namespace::{Driven, in_namespace, ip, is_ours, open, open_with, packet, veth_pair};
use packet_io::{
    AfPacketOptions, AfPacketPort, BufPool, BufPoolOptions, LinkState, PacketReader, PcapMirror, Port,
    PortId, wait_for_input,
};
use std::time::Duration;

#[test]
fn bursts_cross_a_cable_byte_for_byte() {
    in_namespace(|| {
        veth_pair("va", "vb", 9000);
        let (mut a, mut b) = (open(1, "va"), open(2, "vb"));
        let lengths = (14..200).chain([1499, 1500, 1514, 2047, 2048, 4095, 9000, 9014]);
        let packets: Vec<_> = lengths.enumerate().map(|(n, n_bytes)| packet(n_bytes, n)).collect();
        for burst in packets.chunks(50) {
            assert_eq!(a.send(burst), burst.len());
            assert!(b.receive_n(burst.len(), is_ours) == burst);
            assert_eq!(b.send(burst), burst.len());
            assert!(a.receive_n(burst.len(), is_ours) == burst);
        }
        // Nothing that was sent is received by its sender.
        assert!(a.receive(is_ours).is_empty() && b.receive(is_ours).is_empty());
        let n_bytes: usize = packets.iter().map(Vec::len).sum();
        for port in [&mut a, &mut b] {
            let stats = port.port.stats();
            assert_eq!((stats.tx_packets, stats.tx_bytes), (packets.len() as u64, n_bytes as u64));
            assert!(stats.rx_packets >= packets.len() as u64);
            assert_eq!((stats.rx_dropped(), stats.tx_dropped()), (0, 0), "{stats:?}");
            port.assert_all_buffers_are_back();
        }
    });
}

#[test]
fn vlan_tags_stay_in_their_place() {
    in_namespace(|| {
        veth_pair("va", "vb", 1500);
        let (mut a, mut b) = (open(1, "va"), open(2, "vb"));
        let tagged = |tags: &[u8]| {
            let plain = packet(100, 5);
            [&plain[..12], tags, &plain[12..]].concat()
        };
        let packets = [
            tagged(&[0x81, 0x00, 0x00, 0x64]),
            // Priority 7, drop eligible, VLAN 4095.
            tagged(&[0x81, 0x00, 0xff, 0xff]),
            // Priority only.
            tagged(&[0x81, 0x00, 0xe0, 0x00]),
            tagged(&[0x88, 0xa8, 0x20, 0x07, 0x81, 0x00, 0x00, 0x64]),
            tagged(&[0x81, 0x00, 0x00, 0x01, 0x81, 0x00, 0x00, 0x02, 0x81, 0x00, 0x00, 0x03]),
            // As long as a tagged packet can be.
            [&packet(1514, 9)[..12], &[0x81, 0, 0, 9], &packet(1514, 9)[12..]].concat(),
        ];
        assert_eq!(a.send(&packets), packets.len());
        assert_eq!(b.receive_n(packets.len(), is_ours), packets);
        assert_eq!((a.port.stats().rx_dropped(), b.port.stats().rx_dropped()), (0, 0));
    });
}

#[test]
fn what_does_not_fit_is_counted() {
    in_namespace(|| {
        veth_pair("va", "vb", 1500);
        ip("link set dev vb mtu 3000");
        let options = AfPacketOptions { packet_bytes_max: 1000, ..AfPacketOptions::JUMBO };
        let mut a = open_with(1, "va", options);
        let mut b = open(2, "vb");
        assert_eq!(a.send([packet(1514, 0), packet(1515, 1), vec![2; 13], packet(60, 3)]), 2);
        let stats = a.port.stats();
        assert_eq!((stats.tx_packets, stats.tx_too_long, stats.tx_errors), (2, 1, 1), "{stats:?}");
        assert_eq!(b.receive_n(2, is_ours), [packet(1514, 0), packet(60, 3)]);

        let tagged = [&packet(1000, 9)[..12], &[0x81, 0, 0, 9], &packet(1000, 9)[12..]].concat();
        b.send([packet(1000, 0), packet(1001, 1), tagged, packet(1400, 2), packet(999, 3)]);
        assert_eq!(a.receive_n(2, is_ours), [packet(1000, 0), packet(999, 3)]);
        let stats = a.port.stats();
        assert_eq!((stats.rx_too_long, stats.rx_dropped()), (3, 3), "{stats:?}");
        a.assert_all_buffers_are_back();
    });
}

#[test]
fn packets_can_be_as_long_as_any() {
    in_namespace(|| {
        veth_pair("va", "vb", 65_521);
        let options = AfPacketOptions { packet_bytes_max: 65_535, ..AfPacketOptions::JUMBO };
        let (mut a, mut b) = (open_with(1, "va", options), open_with(2, "vb", options));
        for port in [&mut a, &mut b] {
            let options = BufPoolOptions { packet_bytes_max: 65_535, ..BufPoolOptions::JUMBO };
            port.pool = BufPool::new(options);
        }
        let packets = [packet(65_535, 1), packet(60_000, 2), packet(14, 3)];
        assert_eq!(a.send(&packets), 3);
        assert!(b.receive_n(3, is_ours) == packets);
    });
}

#[test]
fn an_interface_can_be_switched_off_and_on() {
    in_namespace(|| {
        veth_pair("va", "vb", 1500);
        let (mut a, mut b) = (open(1, "va"), open(2, "vb"));
        a.send([packet(60, 1)]);
        assert_eq!(b.receive_n(1, is_ours), [packet(60, 1)]);
        ip("link set dev va down");
        // At once, before the port knows.
        assert_eq!(a.send([packet(60, 2), packet(60, 3)]), 0);
        assert_eq!(a.port.stats().tx_dropped_down, 2);
        a.wait_for(LinkState::Down);
        // No link on the other side either.
        b.wait_for(LinkState::Down);
        assert_eq!(b.send([packet(60, 4)]), 0);
        assert_eq!(b.port.stats().tx_dropped_down, 1);
        assert!(a.receive(is_ours).is_empty() && b.receive(is_ours).is_empty());
        ip("link set dev va up");
        a.wait_for(LinkState::Up);
        b.wait_for(LinkState::Up);
        a.send([packet(60, 5)]);
        b.send([packet(60, 6)]);
        assert_eq!(b.receive_n(1, is_ours), [packet(60, 5)]);
        assert_eq!(a.receive_n(1, is_ours), [packet(60, 6)]);
    });
}

#[test]
fn an_interface_can_be_deleted_and_made_again() {
    in_namespace(|| {
        veth_pair("va", "vb", 1500);
        let mut a = open(1, "va");
        for round in 0..3 {
            let mut b = open(2, "vb");
            a.wait_for(LinkState::Up);
            a.send([packet(60, round)]);
            assert_eq!(b.receive_n(1, is_ours), [packet(60, round)]);
            b.send([packet(61, round)]);
            assert_eq!(a.receive_n(1, is_ours), [packet(61, round)]);
            let n_dropped = a.port.stats().tx_dropped_down;
            ip("link del dev va");
            assert_eq!(a.send([packet(60, 9)]), 0);
            a.wait_for(LinkState::Gone);
            assert_eq!(a.port.fd(), None);
            assert_eq!(a.send([packet(60, 9), packet(60, 9)]), 0);
            assert!(a.receive(is_ours).is_empty());
            assert_eq!(a.port.stats().tx_dropped_down, n_dropped + 3);
            veth_pair("va", "vb", 1500);
            if round == 1 {
                // Once more, between two looks.
                ip("link del dev va");
                veth_pair("va", "vb", 1500);
            }
        }
        let stats = a.port.stats();
        assert_eq!((stats.tx_packets, stats.tx_dropped()), (3, 9), "{stats:?}");
        a.assert_all_buffers_are_back();
    });
}

#[test]
fn a_worker_can_sleep_until_something_happens() {
    in_namespace(|| {
        veth_pair("va", "vb", 1500);
        let (mut a, mut b) = (open(1, "va"), open(2, "vb"));
        let long = Duration::from_secs(120);
        while !b.receive(|_| true).is_empty() {}
        assert!(!wait_for_input([b.port.fd().unwrap()], Duration::ZERO).unwrap());
        a.send([packet(60, 1)]);
        assert!(wait_for_input([a.port.fd(), b.port.fd()].into_iter().flatten(), long).unwrap());
        assert_eq!(b.receive_n(1, is_ours), [packet(60, 1)]);
        ip("link del dev va");
        // Once the port knows, there is nothing left that would wake the worker at once again and again.
        assert!(wait_for_input(b.port.fd(), long).unwrap());
        b.receive(|_| true);
        assert_eq!((b.port.link_state(), b.port.fd()), (LinkState::Gone, None));
        assert!(!wait_for_input(b.port.fd(), Duration::ZERO).unwrap());
    });
}

#[test]
fn a_full_queue_is_counted() {
    in_namespace(|| {
        veth_pair("va", "vb", 1500);
        let options = AfPacketOptions { queue_bytes: 4096, ..AfPacketOptions::JUMBO };
        let (mut a, mut b) = (open(1, "va"), open_with(2, "vb", options));
        let mut n_sent = 0;
        for _ in 0..50 {
            n_sent += a.send((0..10).map(|n| packet(1000, n)));
        }
        a.send([packet(14, 0)]);
        let mut n_received = 0;
        loop {
            let n = b.receive(is_ours).len();
            n_received += n;
            if n == 0 && n_received as u64 + b.port.stats().rx_dropped_kernel >= n_sent as u64 {
                break;
            }
        }
        assert!(n_received < n_sent, "{n_received} of {n_sent}");
    });
}

#[test]
fn buffers_that_are_in_use_are_not_needed() {
    in_namespace(|| {
        veth_pair("va", "vb", 1500);
        let (mut a, mut b) = (open(1, "va"), open(2, "vb"));
        a.send((0..10).map(|n| packet(60, n)));
        let options = BufPoolOptions { headroom_bytes: 64, packet_bytes_max: 100, n_max: 4 };
        let mut small = BufPool::new(options);
        let (mut burst, mut kept) = (Vec::new(), Vec::new());
        while kept.len() < 4 {
            b.port.rx_burst(&mut small, &mut burst, 32).unwrap();
            for buf in burst.drain(..) {
                assert_eq!(buf.headroom(), 64);
                if is_ours(buf.data()) { kept.push(buf) } else { small.give_back(buf) }
            }
        }
        assert_eq!(b.port.rx_burst(&mut small, &mut burst, 32).unwrap(), 0);
        assert!(small.n_exhausted() > 0);
        // The others wait.
        let rest = b.receive_n(6, is_ours);
        assert_eq!(rest, (4..10).map(|n| packet(60, n)).collect::<Vec<_>>());
        assert_eq!(kept[3].data(), packet(60, 3));
    });
}

#[test]
fn a_mirror_copies_what_passes() {
    in_namespace(|| {
        veth_pair("va", "vb", 1500);
        let dir = std::env::temp_dir().join(format!("packet-io-live-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let inner = AfPacketPort::open(PortId(1), "va", AfPacketOptions::JUMBO).unwrap();
        let mut a = Driven::new(PcapMirror::create(Box::new(inner), &dir, "va").unwrap());
        a.wait_for(LinkState::Up);
        let mut b = open(2, "vb");
        a.send([packet(60, 1), packet(61, 2)]);
        b.receive_n(2, is_ours);
        b.send([packet(62, 3)]);
        a.receive_n(1, is_ours);
        // Up to date as soon as nothing happens.
        while !a.receive(|_| true).is_empty() {}
        let read = |name: &str| -> Vec<_> {
            let packets = PacketReader::open(dir.join(name)).unwrap().map(|p| p.unwrap().data);
            packets.filter(|p| is_ours(p)).collect()
        };
        assert_eq!(read("va_out.pcap"), [packet(60, 1), packet(61, 2)]);
        assert_eq!(read("va_in.pcap"), [packet(62, 3)]);
        assert_eq!(a.port.stats().tx_packets, 2);
        std::fs::remove_dir_all(&dir).unwrap();
    });
}
