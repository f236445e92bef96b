//! Ports of devices within this process.

mod common;

use common::{buffer, has_dpdk, packet, pool, port, receive, send, until, until_up};
use dpdk::{DpdkError, Failure, open, open_queues};
use packet_io::{LinkState, Port, PortId, PortStats};

/// Longer packets have several segments.
#[test]
fn rings_give_back_the_bytes_they_got() {
    if !has_dpdk() {
        return;
    }
    let (mut port, mut pool) = (port("net_ring_bytes"), pool());
    assert_eq!(port.link_state(), LinkState::Up);
    let (mut n_packets, mut n_bytes) = (0, 0);
    for (number, size) in (60..=9000).chain([9216]).enumerate() {
        let sent = packet(size, number);
        let mut burst = vec![buffer(&mut pool, &sent)];
        assert_eq!(port.tx_burst(&mut pool, &mut burst).unwrap(), 1);
        let mut received = receive(&mut port, &mut pool, 1);
        assert_eq!(received[0].port, PortId(1));
        assert!(received[0].headroom() >= 256 && received[0].raw().storage.addr().is_multiple_of(64));
        assert!(received[0].data() == sent, "{size} bytes");
        // Again, as a frame: it is not copied.
        let is_frame = received[0].is_frame();
        assert_eq!(is_frame, size <= 2048, "{size} bytes");
        let place = received[0].raw().storage;
        assert_eq!(port.tx_burst(&mut pool, &mut received).unwrap(), 1);
        let mut again = receive(&mut port, &mut pool, 1);
        assert!(again[0].data() == sent, "{size} bytes");
        assert!(!is_frame || again[0].raw().storage == place);
        again.drain(..).for_each(|buf| pool.give_back(buf));
        (n_packets, n_bytes) = (n_packets + 2, n_bytes + 2 * size as u64);
    }
    let expected = PortStats {
        rx_packets: n_packets,
        rx_bytes: n_bytes,
        tx_packets: n_packets,
        tx_bytes: n_bytes,
        ..PortStats::default()
    };
    assert_eq!(port.stats(), expected);
}

/// Programs add and remove headers; data that begins in the private bytes of an mbuf is moved.
#[test]
fn packets_grow_and_shrink_at_their_start() {
    if !has_dpdk() {
        return;
    }
    let (mut port, mut pool) = (port("net_ring_start"), pool());
    for n_added in [0, 1, 64, 127, 128, 129, 200, 256] {
        for n_removed in [0, 1, 60, 1000, 1900] {
            let sent = packet(2000, n_added);
            send(&mut port, &mut pool, std::slice::from_ref(&sent));
            let mut burst = receive(&mut port, &mut pool, 1);
            assert!(burst[0].advance(n_removed));
            burst[0].prepend(n_added).unwrap().fill(0xaa);
            let expected = [vec![0xaa; n_added].as_slice(), &sent[n_removed..]].concat();
            assert_eq!(port.tx_burst(&mut pool, &mut burst).unwrap(), 1);
            let changed = receive(&mut port, &mut pool, 1);
            assert!(changed[0].data() == expected, "{n_added} added, {n_removed} removed");
        }
    }
}

/// Behind the data of a full mbuf there is no room for what moves out of the private bytes.
#[test]
fn packets_that_fill_the_whole_storage_are_copied() {
    if !has_dpdk() {
        return;
    }
    let (mut port, mut pool) = (port("net_ring_full"), pool());
    send(&mut port, &mut pool, &[packet(2048, 0)]);
    let mut burst = receive(&mut port, &mut pool, 1);
    burst[0].prepend(256).unwrap().fill(3);
    let expected = burst[0].data().to_vec();
    assert_eq!((burst[0].headroom(), burst[0].tailroom(), expected.len()), (0, 0, 2304));
    assert_eq!(port.tx_burst(&mut pool, &mut burst).unwrap(), 1);
    assert!(receive(&mut port, &mut pool, 1)[0].data() == expected);
}

#[test]
fn every_packet_is_counted_once() {
    if !has_dpdk() {
        return;
    }
    let (mut port, mut pool) = (port("net_ring_counts"), pool());
    let mut burst: Vec<_> = [13, 14, 9216, 60].map(|size| buffer(&mut pool, &packet(size, 0))).into();
    let mut long = packet_io::PacketBuf::new(16384, 256);
    assert!(long.set_data(&packet(9217, 0)));
    burst.insert(1, long);
    assert_eq!(port.tx_burst(&mut pool, &mut burst).unwrap(), 3);
    let stats = port.stats();
    assert_eq!((stats.tx_packets, stats.tx_errors, stats.tx_too_long), (3, 1, 1));
    let n_bytes = receive(&mut port, &mut pool, 3).iter().map(|buf| buf.len()).collect::<Vec<_>>();
    assert_eq!(n_bytes, [14, 9216, 60]);

    // A ring takes no more than 1023 packets; with back pressure the others stay in the burst.
    let fill =
        |pool: &mut packet_io::BufPool| (0..2000).map(|i| buffer(pool, &packet(60, i))).collect::<Vec<_>>();
    let mut burst = fill(&mut pool);
    let n_sent = port.tx_burst(&mut pool, &mut burst).unwrap();
    let stats = port.stats();
    assert!(burst.is_empty() && n_sent < 2000);
    assert_eq!((stats.tx_packets, stats.tx_dropped_full), (3 + n_sent as u64, 2000 - n_sent as u64));
    receive(&mut port, &mut pool, n_sent);
    port.set_back_pressure(true);
    let mut burst = fill(&mut pool);
    assert_eq!(port.tx_burst(&mut pool, &mut burst).unwrap(), n_sent);
    assert_eq!(burst.len(), 2000 - n_sent);
    let mut received = receive(&mut port, &mut pool, n_sent);
    while !burst.is_empty() {
        port.tx_burst(&mut pool, &mut burst).unwrap();
        port.rx_burst(&mut pool, &mut received, 64).unwrap();
    }
    while port.rx_burst(&mut pool, &mut received, 64).unwrap() > 0 {}
    assert!(received.iter().map(|buf| buf.data().to_vec()).eq((0..2000).map(|i| packet(60, i))));
    assert_eq!(port.stats().tx_dropped_full, 2000 - n_sent as u64);

    // Longer than a buffer of the pool.
    let short = packet_io::BufPoolOptions { packet_bytes_max: 4000, ..packet_io::BufPoolOptions::JUMBO };
    let mut short = packet_io::BufPool::new(short);
    send(&mut port, &mut pool, &[packet(4001, 0)]);
    until("a count", || {
        assert_eq!(port.rx_burst(&mut short, &mut received, 64).unwrap(), 0);
        port.stats().rx_too_long == 1
    });
}

#[test]
fn null_devices_send_without_end_and_take_everything() {
    if !has_dpdk() {
        return;
    }
    let (mut port, mut pool, mut burst) = (port("net_null_1,size=100"), pool(), Vec::new());
    for _ in 0..1000 {
        assert_eq!(port.rx_burst(&mut pool, &mut burst, 32).unwrap(), 32);
        assert!(burst.iter().all(|buf| buf.len() == 100));
        assert_eq!(port.tx_burst(&mut pool, &mut burst).unwrap(), 32);
    }
    let stats = port.stats();
    assert_eq!((stats.rx_packets, stats.tx_packets, stats.rx_dropped()), (32_000, 32_000, 0));
}

#[test]
fn memif_connects_a_server_and_a_client() {
    if !has_dpdk() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let device = |role: &str, number: u32| {
        // The driver takes one role for each spelling of a path.
        let socket = dir.path().join(if role == "client" { "./memif.sock" } else { "memif.sock" });
        format!("net_memif_pair{number},role={role},socket={},socket-abstract=no", socket.display())
    };
    // The client finds nobody at first.
    let mut client = port(&device("client", 0));
    assert_eq!(client.link_state(), LinkState::Down);
    let mut pool = pool();
    send(&mut client, &mut pool, &[packet(60, 0)]);
    assert_eq!(client.stats().tx_dropped_down, 1);
    for round in 0..2 {
        let mut server = port(&device("server", 1));
        until_up(&server);
        until_up(&client);
        // The client has buffers for its server before it is asked for packets.
        let first = packet(60, 2 + round);
        assert_eq!(send(&mut server, &mut pool, std::slice::from_ref(&first)), 1);
        assert_eq!(server.stats().tx_dropped(), 0);
        assert!(receive(&mut client, &mut pool, 1)[0].data() == first);
        for size in [60, 64, 65, 1514, 2048, 2049, 9000] {
            let sent = packet(size, round);
            send(&mut client, &mut pool, std::slice::from_ref(&sent));
            let mut at_server = receive(&mut server, &mut pool, 1);
            assert!(at_server[0].data() == sent, "{size} bytes");
            assert_eq!(server.tx_burst(&mut pool, &mut at_server).unwrap(), 1);
            assert!(receive(&mut client, &mut pool, 1)[0].data() == sent, "{size} bytes");
        }
        // The server goes, and another one comes.
        drop(server);
        until("end of the link", || client.link_state() == LinkState::Down);
    }
}

/// Mbufs that are with others when their device closes are still good.
#[test]
fn packets_outlive_their_device() {
    if !has_dpdk() {
        return;
    }
    let mut pool = pool();
    let mut first = port("net_ring_first");
    let sent: Vec<_> = (0..64).map(|i| packet(100, i)).collect();
    send(&mut first, &mut pool, &sent);
    let mut held = receive(&mut first, &mut pool, 64);
    drop(first);
    assert!(held.iter().zip(&sent).all(|(buf, bytes)| buf.data() == bytes));
    let mut second = port("net_ring_second");
    assert_eq!(second.tx_burst(&mut pool, &mut held).unwrap(), 64);
    let again = receive(&mut second, &mut pool, 64);
    assert!(again.iter().zip(&sent).all(|(buf, bytes)| buf.data() == bytes));
}

#[test]
fn a_device_has_a_port_for_each_queue() {
    if !has_dpdk() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let device = |role: &str, number: u32| {
        let socket = dir.path().join(if role == "client" { "./memif.sock" } else { "memif.sock" });
        format!("net_memif_queues{number},role={role},socket={},socket-abstract=no", socket.display())
    };
    let mut servers = open_queues(PortId(1), &device("server", 0), 2).unwrap();
    let mut clients = open_queues(PortId(2), &device("client", 1), 2).unwrap();
    until_up(&servers[0]);
    until_up(&clients[1]);
    let mut pool = pool();
    for (number, client) in clients.iter_mut().enumerate() {
        send(client, &mut pool, &[packet(60, number)]);
        let received = receive(&mut servers[number], &mut pool, 1);
        assert!(received[0].data() == packet(60, number));
        assert_eq!(servers[number].stats().rx_packets, 1);
    }
    // The device is there until the last of them goes.
    servers.remove(0);
    assert_eq!(servers[0].link_state(), LinkState::Up);
    drop(servers);
    until("end of the link", || clients[0].link_state() == LinkState::Down);
    let error = open_queues(PortId(1), "net_ring_queues", 99).unwrap_err();
    let DpdkError::Device { failure: Failure::TooManyQueues { n_wanted: 99, n_max: 1..=16 }, .. } = error
    else {
        panic!("{error}")
    };
    // The failure left no device behind.
    drop(open(PortId(1), "net_ring_queues").unwrap());
}
