//! Files made by hand: every way in which a capture can be damaged, and formats that we do not write ourselves.

use packet_io::{Packet, PacketReader};

/// Bytes in a chosen order.
#[derive(Clone, Copy)]
enum Order {
    Little,
    Big,
}

#[derive(Clone)]
struct Bytes(Order, Vec<u8>);

impl Bytes {
    fn u16(mut self, v: u16) -> Bytes {
        self.1.extend(match self.0 {
            Order::Little => v.to_le_bytes(),
            Order::Big => v.to_be_bytes(),
        });
        self
    }

    fn u32(mut self, v: u32) -> Bytes {
        self.1.extend(match self.0 {
            Order::Little => v.to_le_bytes(),
            Order::Big => v.to_be_bytes(),
        });
        self
    }

    fn u64(mut self, v: u64) -> Bytes {
        self.1.extend(match self.0 {
            Order::Little => v.to_le_bytes(),
            Order::Big => v.to_be_bytes(),
        });
        self
    }

    fn raw(mut self, bytes: &[u8]) -> Bytes {
        self.1.extend(bytes);
        self
    }

    fn option(self, code: u16, value: &[u8]) -> Bytes {
        let padding = vec![0; value.len().next_multiple_of(4) - value.len()];
        self.u16(code).u16(value.len() as u16).raw(value).raw(&padding)
    }

    /// A pcapng block around a body.
    fn block(self, kind: u32, body: impl FnOnce(Bytes) -> Bytes) -> Bytes {
        let body = body(Bytes(self.0, Vec::new())).1;
        let len = body.len() as u32 + 12;
        self.u32(kind).u32(len).raw(&body).u32(len)
    }

    fn section(self) -> Bytes {
        self.block(0x0a0d_0d0a, |b| b.u32(0x1a2b_3c4d).u16(1).u16(0).u64(u64::MAX))
    }

    fn interface(self, snap: u32, options: impl FnOnce(Bytes) -> Bytes) -> Bytes {
        self.block(1, |b| options(b.u16(1).u16(0).u32(snap)))
    }

    fn enhanced(self, interface: u32, ticks: u64, data: &[u8]) -> Bytes {
        let padding = vec![0xee; data.len().next_multiple_of(4) - data.len()];
        let len = data.len() as u32;
        self.block(6, |b| {
            b.u32(interface)
                .u32((ticks >> 32) as u32)
                .u32(ticks as u32)
                .u32(len)
                .u32(len)
                .raw(data)
                .raw(&padding)
        })
    }
}

fn pcap(order: Order, magic: u32) -> Bytes {
    Bytes(order, Vec::new()).u32(magic).u16(2).u16(4).u32(0).u32(0).u32(65535).u32(1)
}

fn ng(order: Order) -> Bytes {
    Bytes(order, Vec::new()).section()
}

/// One line per packet and for the error.
fn story(bytes: &[u8]) -> Vec<String> {
    match PacketReader::new("x.pcap", bytes) {
        Ok(reader) => reader
            .map(|r| match r {
                Ok(p) => format!(
                    "{:?} at {} of {} from {}",
                    p.data, p.timestamp_ns, p.original_len_bytes, p.interface
                ),
                Err(e) => e.to_string(),
            })
            .collect(),
        Err(e) => vec![e.to_string()],
    }
}

fn check(bytes: Bytes, expected: &[&str]) {
    assert_eq!(story(&bytes.1), expected);
}

const ORDERS: [Order; 2] = [Order::Little, Order::Big];

#[test]
fn pcap_in_both_orders_and_resolutions() {
    for order in ORDERS {
        let record = |b: Bytes| b.u32(1).u32(500).u32(2).u32(9).raw(&[7, 8]);
        check(record(pcap(order, 0xa1b2_c3d4)), &["[7, 8] at 1000500000 of 9 from 0"]);
        check(record(pcap(order, 0xa1b2_3c4d)), &["[7, 8] at 1000000500 of 9 from 0"]);
        check(pcap(order, 0xa1b2_c3d4), &[]);
    }
}

#[test]
fn pcap_damages() {
    let header = || pcap(Order::Little, 0xa1b2_3c4d);
    let good = || header().u32(0).u32(5).u32(1).u32(1).raw(&[9]);
    let first = "[9] at 5 of 1 from 0";
    check(
        Bytes(Order::Little, vec![]),
        &["x.pcap: byte 0: the file is empty; expected the header of a pcap or pcapng file"],
    );
    check(
        Bytes(Order::Little, b"PK\x03\x04".to_vec()),
        &[
            "x.pcap: byte 0: not a capture: found 50 4b 03 04, expected the magic number of pcap (a1 b2 c3 d4, \
           a1 b2 3c 4d or either reversed) or pcapng (0a 0d 0d 0a)",
        ],
    );
    check(
        Bytes(Order::Little, header().1[..23].to_vec()),
        &["x.pcap: byte 0: the file ends inside the header of the file: expected 24 bytes, found 23"],
    );
    check(
        Bytes(Order::Little, Vec::new()).u32(0xa1b2_c3d4).u16(7).u16(1).raw(&[0; 16]),
        &["x.pcap: byte 0: version 7.1 of the format is unknown; expected 2.x (pcap) or 1.x (pcapng)"],
    );
    check(
        good().raw(&[0; 15]),
        &[first, "x.pcap: byte 41: the file ends inside the header of a packet: expected 16 bytes, found 15"],
    );
    check(
        good().u32(0).u32(0).u32(10).u32(10).raw(&[0; 9]),
        &[first, "x.pcap: byte 41: the file ends inside a packet: expected 26 bytes, found 25"],
    );
    check(
        good().u32(0).u32(0).u32(0xffff_fff0).u32(0xffff_ffff),
        &[first, "x.pcap: byte 41: a packet claims 4294967280 bytes; expected at most 1048576"],
    );
    check(
        good().u32(0).u32(0).u32(3).u32(2).raw(&[1, 2, 3]),
        &[
            first,
            "x.pcap: byte 41: a packet has 3 captured bytes but an original length of 2; expected no more than that",
        ],
    );
}

#[test]
fn pcapng_sections_interfaces_and_clocks() {
    for (first, second) in [(Order::Little, Order::Big), (Order::Big, Order::Little)] {
        let mut bytes = ng(first)
            .interface(0, |b| b)
            .interface(0, |b| b.option(2, b"eth1").option(9, &[9]).option(0, &[]))
            .interface(0, |b| b.option(9, &[0x80 | 20]))
            .interface(0, |b| {
                let order = b.0;
                b.option(14, &Bytes(order, Vec::new()).u64(10).1)
            })
            // A name after the end of the options is none.
            .interface(0, |b| b.option(0, &[]).option(9, &[0]))
            .enhanced(0, 3, &[1])
            .enhanced(1, 3 << 32, &[2, 2])
            .enhanced(2, 1 << 20, &[3, 3, 3])
            .enhanced(3, 1, &[])
            .enhanced(4, 1, &[4])
            // Statistics, and something from the future.
            .block(5, |b| b.raw(&[0; 12]))
            .block(0x0bad_cafe, |b| b.raw(&[0xff; 300_000]));
        bytes.0 = second;
        let bytes = bytes
            .section()
            .interface(3, |b| b)
            .enhanced(0, 4, &[5])
            .block(3, |b| b.u32(7).raw(&[6, 6, 6, 0]))
            .block(3, |b| b.u32(2).raw(&[7, 7, 0, 0]));
        check(
            bytes.clone(),
            &[
                "[1] at 3000 of 1 from 0",
                "[2, 2] at 12884901888 of 2 from 1",
                "[3, 3, 3] at 1000000000 of 3 from 2",
                "[] at 10000001000 of 0 from 3",
                "[4] at 1000 of 1 from 4",
                "[5] at 4000 of 1 from 5",
                "[6, 6, 6] at 0 of 7 from 5",
                "[7, 7] at 0 of 2 from 5",
            ],
        );
        let mut reader = PacketReader::new("x", &bytes.1[..]).unwrap();
        assert_eq!(reader.by_ref().count(), 8);
        assert_eq!(reader.interfaces().len(), 6);
        assert_eq!(reader.interfaces()[1].name.as_deref(), Some("eth1"));
    }
}

#[test]
fn pcapng_damages() {
    for order in ORDERS {
        let good = || ng(order).interface(0, |b| b).enhanced(0, 0, &[9]);
        let at = good().1.len();
        assert_eq!(at, 28 + 20 + 36);
        let after = |bytes: Bytes, error: &str| {
            check(bytes, &["[9] at 0 of 1 from 0", &format!("x.pcap: byte {at}: {error}")]);
        };
        after(
            good().u32(6).u32(40),
            "the file ends inside the header of a block: expected 12 bytes, found 8",
        );
        after(
            good().u32(6).u32(40).raw(&[0; 20]),
            "the file ends inside a block: expected 40 bytes, found 28",
        );
        after(
            good().u32(77).u32(40).raw(&[0; 31]),
            "the file ends inside a block: expected 40 bytes, found 39",
        );
        after(
            good().u32(77).u32(0xffff_fff0).raw(&[0; 4]),
            "the file ends inside a block: expected 4294967280 bytes, found 12",
        );
        after(
            good().u32(77).u32(16).u32(0).u32(20),
            "a block begins with length 16 and ends with length 20; expected the same twice",
        );
        after(
            good().u32(6).u32(32).raw(&[0; 20]).u32(36),
            "a block begins with length 32 and ends with length 36; expected the same twice",
        );
        after(
            good().u32(6).u32(28).raw(&[0; 16]).u32(28),
            "an enhanced packet block claims 28 bytes; expected a multiple of 4 from 32 to 5242880",
        );
        after(
            good().u32(77).u32(13).raw(&[0; 16]),
            "a block claims 13 bytes; expected a multiple of 4 from 12 to 4294967292",
        );
        after(
            good().u32(6).u32(0x7fff_fffc).raw(&[0; 16]),
            "an enhanced packet block claims 2147483644 bytes; expected a multiple of 4 from 32 to 5242880",
        );
        after(
            good().u32(77).u32(0).raw(&[0; 16]),
            "a block claims 0 bytes; expected a multiple of 4 from 12 to 4294967292",
        );
        after(
            good().enhanced(3, 0, &[1]),
            "a packet came from interface 3; expected one of the 1 described, from 0",
        );
        after(
            good().block(6, |b| b.u32(0).u64(0).u32(9).u32(9).raw(&[0; 8])),
            "a packet claims 9 captured bytes in a block with room for 8",
        );
        after(
            good().block(6, |b| b.u32(0).u64(0).u32(u32::MAX).u32(u32::MAX).raw(&[0; 8])),
            "a packet claims 4294967295 bytes; expected at most 1048576",
        );
        after(
            good().block(6, |b| b.u32(0).u64(0).u32(8).u32(7).raw(&[0; 8])),
            "a packet has 8 captured bytes but an original length of 7; expected no more than that",
        );
        after(
            good().block(3, |b| b.u32(9).raw(&[0; 8])),
            "a packet claims 9 captured bytes in a block with room for 8",
        );
        after(
            good().u32(0x0a0d_0d0a).u32(28).raw(&[1, 2, 3, 4]).raw(&[0; 16]),
            "a section has the byte-order magic 01 02 03 04; expected 1a 2b 3c 4d in either order",
        );
        after(
            good().block(0x0a0d_0d0a, |b| b.u32(0x1a2b_3c4d).u16(2).u16(1).u64(0)),
            "version 2.1 of the format is unknown; expected 2.x (pcap) or 1.x (pcapng)",
        );
        check(
            ng(order).enhanced(0, 0, &[]),
            &[
                "x.pcap: byte 28: a packet came from interface 0, but the section describes no interface before it",
            ],
        );
        // A new section forgets the interfaces of the one before.
        check(
            good().section().enhanced(0, 0, &[]),
            &[
                "[9] at 0 of 1 from 0",
                "x.pcap: byte 112: a packet came from interface 0, but the section describes no interface before it",
            ],
        );
    }
}

#[test]
fn lengths_are_not_believed() {
    // 1 MiB at most is claimed, 30 bytes are there: what is held is what is there.
    let bytes = pcap(Order::Little, 0xa1b2_c3d4).u32(0).u32(0).u32(1 << 20).u32(1 << 20).raw(&[0; 30]);
    check(bytes, &["x.pcap: byte 24: the file ends inside a packet: expected 1048592 bytes, found 46"]);
}

#[test]
fn errors_of_the_system_are_passed_on() {
    struct Failing(u32);
    impl std::io::Read for Failing {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            self.0 += 1;
            match self.0 {
                1 => Err(std::io::ErrorKind::Interrupted.into()),
                2 => {
                    let mut w = packet_io::PcapWriter::new("", Vec::new(), 1).unwrap();
                    w.write(&Packet::new([1])).unwrap();
                    let bytes = w.finish().unwrap();
                    buffer[..bytes.len()].copy_from_slice(&bytes);
                    Ok(bytes.len())
                }
                _ => Err(std::io::Error::other("the cable was pulled")),
            }
        }
    }
    let found: Vec<_> = PacketReader::new("tape", Failing(0)).unwrap().collect();
    assert_eq!(found[0].as_ref().unwrap(), &Packet::new([1]));
    assert_eq!(found[1].as_ref().unwrap_err().to_string(), "tape: byte 41: the cable was pulled");
    assert_eq!(found.len(), 2);
}

/// A capture of raw IP (pcap), and one whose second interface is a cooked capture (pcapng).
#[test]
fn other_link_types_are_named_where_ethernet_is_expected() {
    let ethernet_only = |bytes: &[u8]| -> Vec<Result<usize, String>> {
        let reader = PacketReader::new("x.pcap", bytes).unwrap().ethernet_only();
        reader.map(|p| p.map(|p| p.data.len()).map_err(|e| e.to_string())).collect()
    };
    for order in ORDERS {
        let header = Bytes(order, Vec::new()).u32(0xa1b2_c3d4).u16(2).u16(4).u32(0).u32(0).u32(65535);
        let record = |header: Bytes| header.u32(0).u32(0).u32(1).u32(1).raw(&[0x45]).1;
        let expected = "x.pcap: byte 24: the packets are of link type 101 (raw IP); expected 1 (Ethernet)";
        assert_eq!(ethernet_only(&record(header.clone().u32(101))), [Err(expected.to_string())]);
        let expected = "x.pcap: byte 24: the packets are of link type 999; expected 1 (Ethernet)";
        assert_eq!(ethernet_only(&record(header.clone().u32(999))), [Err(expected.to_string())]);
        assert_eq!(ethernet_only(&record(header.clone().u32(1))), [Ok(1)]);
        assert_eq!(story(&record(header.u32(101))), ["[69] at 0 of 1 from 0"]);
    }
}
