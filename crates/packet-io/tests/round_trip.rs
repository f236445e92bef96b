//! What is written is read again.

use packet_io::{
    BufPool, BufPoolOptions, CaptureWriter, FilePort, LINK_TYPE_ETHERNET, MemoryPort, Packet, PacketReader,
    PcapMirror, PcapWriter, PcapngWriter, Port, PortId,
};
use proptest::prelude::*;

fn packets(n_interfaces: u32) -> impl Strategy<Value = Vec<Packet>> {
    let data = prop_oneof![
        9 => prop::collection::vec(any::<u8>(), 0..200),
        1 => (0usize..300_000, any::<u8>()).prop_map(|(n, b)| vec![b; n]),
    ];
    // The years that pcap can express.
    let time = 0..(u64::from(u32::MAX) + 1) * 1_000_000_000;
    let packet =
        (data, time, 0u32..1000, 0..n_interfaces).prop_map(|(data, timestamp_ns, cut, interface)| {
            let original_len_bytes = data.len() as u32 + cut;
            Packet { data, timestamp_ns, original_len_bytes, interface }
        });
    prop::collection::vec(packet, 0..20)
}

fn read(bytes: &[u8]) -> Vec<Packet> {
    PacketReader::new("test", bytes).unwrap().collect::<Result<_, _>>().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn pcap(packets in packets(1)) {
        let mut writer = PcapWriter::new("test", Vec::new(), LINK_TYPE_ETHERNET).unwrap();
        for packet in &packets {
            writer.write(packet).unwrap();
        }
        prop_assert_eq!(read(&writer.finish().unwrap()), packets);
    }

    #[test]
    fn pcapng(packets in packets(3), comment in prop::option::of(".{0,80}")) {
        let mut writer = PcapngWriter::new("test", Vec::new()).unwrap();
        for name in ["a", "bc", ""] {
            writer.add_interface(name, LINK_TYPE_ETHERNET).unwrap();
        }
        for packet in &packets {
            writer.write(packet, comment.as_deref()).unwrap();
        }
        let bytes = writer.finish().unwrap();
        prop_assert_eq!(bytes.len() % 4, 0);
        let mut reader = PacketReader::new("test", &bytes[..]).unwrap();
        let found: Vec<_> = reader.by_ref().collect::<Result<_, _>>().unwrap();
        prop_assert_eq!(found, packets);
        let names: Vec<_> = reader.interfaces().iter().map(|i| i.name.as_deref()).collect();
        prop_assert_eq!(names, [Some("a"), Some("bc"), Some("")]);
    }

    /// Cut anywhere, a file gives a prefix of its packets and at most one error at the end.
    #[test]
    fn truncated_anywhere(packets in packets(1), cut in any::<prop::sample::Index>(), ng in any::<bool>()) {
        let bytes = if ng {
            let mut writer = PcapngWriter::new("test", Vec::new()).unwrap();
            writer.add_interface("a", LINK_TYPE_ETHERNET).unwrap();
            packets.iter().for_each(|p| writer.write(p, None).unwrap());
            writer.finish().unwrap()
        } else {
            let mut writer = PcapWriter::new("test", Vec::new(), LINK_TYPE_ETHERNET).unwrap();
            packets.iter().for_each(|p| writer.write(p).unwrap());
            writer.finish().unwrap()
        };
        let cut = &bytes[..cut.index(bytes.len())];
        if let Ok(reader) = PacketReader::new("test", cut) {
            let found: Vec<_> = reader.collect();
            let n_errors = found.iter().filter(|r| r.is_err()).count();
            prop_assert!(n_errors <= 1 && found.iter().take(found.len() - n_errors).all(|r| r.is_ok()));
            for (found, expected) in found.iter().flatten().zip(&packets) {
                prop_assert_eq!(found, expected);
            }
        } else {
            prop_assert!(cut.len() < 24);
        }
    }

    /// Bytes that begin like a capture and go on at random.
    #[test]
    fn noise(start in 0usize..6, noise in prop::collection::vec(any::<u8>(), 0..400)) {
        let starts: [&[u8]; 6] = [
            b"",
            &[0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0],
            &[0xa1, 0xb2, 0x3c, 0x4d, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 1],
            &[0x0a, 0x0d, 0x0d, 0x0a],
            &[0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 28, 0, 0, 0],
            &[0x0a, 0x0d, 0x0d, 0x0a, 0, 0, 0, 28, 0x1a, 0x2b, 0x3c, 0x4d, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 28],
        ];
        let bytes = [starts[start], &noise].concat();
        if let Ok(reader) = PacketReader::new("test", &bytes[..]) {
            prop_assert!(reader.count() <= bytes.len());
        }
    }

    /// One byte of a good file changed.
    #[test]
    fn one_wrong_byte(at in any::<prop::sample::Index>(), value in any::<u8>()) {
        let mut writer = PcapngWriter::new("test", Vec::new()).unwrap();
        writer.add_interface("eth0", LINK_TYPE_ETHERNET).unwrap();
        for n in 0..3u8 {
            writer.write(&Packet::new(vec![n; 60]), Some("why")).unwrap();
        }
        let mut bytes = writer.finish().unwrap();
        let at = at.index(bytes.len());
        bytes[at] = value;
        if let Ok(reader) = PacketReader::new("test", &bytes[..]) {
            prop_assert!(reader.count() <= 4);
        }
    }
}

#[test]
fn long_packets() {
    let packet = Packet::new(vec![7; 1 << 20]);
    let mut writer = PcapWriter::new("test", Vec::new(), LINK_TYPE_ETHERNET).unwrap();
    writer.write(&packet).unwrap();
    let error = writer.write(&Packet::new(vec![7; (1 << 20) + 1])).unwrap_err();
    assert_eq!(error.to_string(), "test: a packet of 1048577 bytes; at most 1048576 can be written");
    assert_eq!(read(&writer.finish().unwrap()), std::slice::from_ref(&packet));

    let mut writer = PcapngWriter::new("test", Vec::new()).unwrap();
    writer.add_interface("a", LINK_TYPE_ETHERNET).unwrap();
    writer.write(&packet, Some(&"ä".repeat(50_000))).unwrap();
    assert_eq!(read(&writer.finish().unwrap()), [packet]);
}

#[test]
fn what_cannot_be_written_is_refused() {
    let mut writer = PcapWriter::new("a.pcap", Vec::new(), LINK_TYPE_ETHERNET).unwrap();
    let late = Packet::new([1]).at(u64::MAX);
    assert!(writer.write(&late).unwrap_err().to_string().contains("too late for pcap"));
    let mut writer = PcapngWriter::new("a.pcapng", Vec::new()).unwrap();
    let error = writer.write(&late, None).unwrap_err().to_string();
    assert_eq!(error, "a.pcapng: a packet of interface 0, which was not added to the file");
    writer.add_interface("a", LINK_TYPE_ETHERNET).unwrap();
    writer.write(&late, None).unwrap();
    assert_eq!(read(&writer.finish().unwrap()), [late]);
}

#[test]
fn ports_take_and_give_bursts() {
    let dir = std::env::temp_dir().join(format!("packet-io-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let input: Vec<_> = (0..10u8).map(|n| Packet::new(vec![n; 64]).at(u64::from(n))).collect();
    for extension in ["pcap", "pcapng"] {
        let (a, b) = (dir.join("in").with_extension(extension), dir.join("out").with_extension(extension));
        let mut writer = CaptureWriter::create(&a, "in", LINK_TYPE_ETHERNET).unwrap();
        input.iter().for_each(|p| writer.write(p, None).unwrap());
        writer.flush().unwrap();
        // Damage after the last packet.
        let mut bytes = std::fs::read(&a).unwrap();
        bytes.extend([1, 2, 3]);
        std::fs::write(&a, bytes).unwrap();

        let mut port = FilePort::open(PortId(1), Some(&a), Some(&b)).unwrap();
        let mut pool = BufPool::new(BufPoolOptions::JUMBO);
        let (mut burst, mut n_all) = (Vec::new(), 0);
        loop {
            match port.rx_burst(&mut pool, &mut burst, 4) {
                Ok(0) => break,
                Ok(n) => n_all += n,
                Err(e) => {
                    assert!(e.to_string().contains("the file ends inside the header"), "{e}");
                    assert_eq!(n_all, 10);
                }
            }
            assert!(
                burst
                    .iter()
                    .all(|p| p.port == PortId(1) && p.headroom() == BufPoolOptions::JUMBO.headroom_bytes)
            );
            port.tx_burst(&mut pool, &mut burst).unwrap();
        }
        assert!(port.is_exhausted());
        port.flush().unwrap();
        let found: Vec<_> = PacketReader::open(&b).unwrap().map(Result::unwrap).collect();
        assert_eq!(found, input);
        let stats = port.stats();
        assert_eq!((stats.rx_packets, stats.rx_bytes, stats.tx_packets, stats.tx_bytes), (10, 640, 10, 640));
        assert!(pool.n_made() == 4 && pool.n_free() == 4, "the buffers were used again: {pool:?}");
    }
    std::fs::remove_dir_all(&dir).unwrap();
    let error = FilePort::open(PortId(1), Some(&dir.join("none")), None).unwrap_err();
    assert!(error.to_string().ends_with("/none: No such file or directory (os error 2)"), "{error}");
}

#[test]
fn memory_ports_keep_order() {
    let mut port = MemoryPort::new(PortId(7), (0..3).map(|n| Packet::new([n])));
    port.rx.push_back(Packet::new([3; 101]));
    let mut pool = BufPool::new(BufPoolOptions { headroom_bytes: 28, packet_bytes_max: 100, n_max: 3 });
    let mut burst = Vec::new();
    assert_eq!(port.rx_burst(&mut pool, &mut burst, 2).unwrap(), 2);
    assert_eq!(port.rx_burst(&mut pool, &mut burst, 2).unwrap(), 1);
    // The other waits for a buffer.
    assert_eq!(port.rx_burst(&mut pool, &mut burst, 2).unwrap(), 0);
    assert_eq!(pool.n_exhausted(), 2);
    assert_eq!(port.tx_burst(&mut pool, &mut burst).unwrap(), 3);
    assert!(burst.is_empty());
    assert_eq!(port.rx_burst(&mut pool, &mut burst, 2).unwrap(), 0);
    assert!(port.is_exhausted());
    assert_eq!(port.tx.iter().map(|p| p.data[0]).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!((port.stats().rx_packets, port.stats().rx_too_long), (3, 1));
}

#[test]
fn mirrored_ports_leave_files_that_can_be_replayed() {
    let dir = std::env::temp_dir().join(format!("packet-io-mirror-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let mut pool = BufPool::new(BufPoolOptions::JUMBO);
    let input: Vec<_> = (0..10u8).map(|n| Packet::new(vec![n; 64]).at(u64::from(n))).collect();
    let port: Box<dyn Port> = Box::new(MemoryPort::new(PortId(2), input.clone()));
    let mut port = PcapMirror::create(port, &dir, "veth2").unwrap();
    let mut burst = Vec::new();
    while port.rx_burst(&mut pool, &mut burst, 4).unwrap() > 0 {
        burst.iter_mut().for_each(|p| p.data_mut()[0] += 1);
        port.tx_burst(&mut pool, &mut burst).unwrap();
    }
    port.flush().unwrap();
    let found: Vec<_> = PacketReader::open(dir.join("veth2_in.pcap")).unwrap().map(Result::unwrap).collect();
    assert_eq!(found, input);
    let found = PacketReader::open(dir.join("veth2_out.pcap")).unwrap().map(|p| p.unwrap().data);
    assert_eq!(
        found.map(|d| (d[0], d[1])).collect::<Vec<_>>(),
        (0..10).map(|n| (n + 1, n)).collect::<Vec<_>>()
    );

    let mut port = FilePort::open_named(PortId(2), &dir.join("veth2")).unwrap();
    assert_eq!(port.rx_burst(&mut pool, &mut burst, 100).unwrap(), 10);
    assert_eq!(burst[9].data(), input[9].data);
    port.tx_burst(&mut pool, &mut burst).unwrap();
    port.flush().unwrap();
    let found: Vec<_> = PacketReader::open(dir.join("veth2_out.pcap")).unwrap().map(Result::unwrap).collect();
    assert_eq!(found, input);
    std::fs::remove_dir_all(&dir).unwrap();
}

/// A file of which the disk is full ends the copies, not the traffic.
#[cfg(target_os = "linux")]
#[test]
fn a_mirror_that_fails_lets_packets_pass() {
    let dir = std::env::temp_dir().join(format!("packet-io-full-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    std::os::unix::fs::symlink("/dev/full", dir.join("eth_out.pcap")).unwrap();
    let mut pool = BufPool::new(BufPoolOptions::JUMBO);
    let input: Vec<_> = (0..200u8).map(|n| Packet::new(vec![n; 1000])).collect();
    let mut port =
        PcapMirror::create(Box::new(MemoryPort::new(PortId(2), input.clone())), &dir, "eth").unwrap();
    let mut burst = Vec::new();
    while port.rx_burst(&mut pool, &mut burst, 32).unwrap() > 0 {
        port.tx_burst(&mut pool, &mut burst).unwrap();
        port.idle().unwrap();
    }
    assert!(port.inner().tx == input);
    port.flush().unwrap();
    let error = port.capture_error().unwrap();
    assert!(error.contains("eth_out.pcap: ") && error.contains("No space left"), "{error}");
    // All that left is missing in one file, and nothing in the other.
    assert_eq!(port.stats().capture_missed, 200);
    let found: Vec<_> = PacketReader::open(dir.join("eth_in.pcap")).unwrap().map(Result::unwrap).collect();
    assert!(found == input);
    std::fs::remove_dir_all(&dir).unwrap();
}
