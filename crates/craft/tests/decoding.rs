//! Packets as text: `packet` makes the same bytes of what `layers` writes.

use craft::{layers, packet};

#[test]
fn frames_are_written_as_people_write_them() {
    for (text, written) in [
        (
            "eth/ipv4(dst=10.0.2.2, ttl=1)/udp(dport=53)/\"hello\"",
            "eth(dst=02:00:00:00:00:02, src=02:00:00:00:00:01)/ipv4(ttl=1, src=10.0.0.1, dst=10.0.2.2)/\
             udp(sport=49152, dport=53)/\"hello\"",
        ),
        (
            "eth/vlan(id=7)/ipv6/tcp(flags=syn+ack)",
            "eth(dst=02:00:00:00:00:02, src=02:00:00:00:00:01)/vlan(id=7)/ipv6(src=2001:db8::1, \
             dst=2001:db8::2)/tcp(sport=49152, dport=80, flags=syn+ack)",
        ),
        (
            "eth(type=0x1234)/zeros(20)",
            "eth(dst=02:00:00:00:00:02, src=02:00:00:00:00:01, type=0x1234)/zeros(20)",
        ),
        (
            "eth/arp(op=reply)",
            "eth(dst=02:00:00:00:00:02, src=02:00:00:00:00:01)/arp(op=reply, sender_mac=02:00:00:00:00:01, \
             sender_ip=10.0.0.1, target_mac=00:00:00:00:00:00, target_ip=10.0.0.2)",
        ),
        // Wrong lengths and checksums are shown.
        (
            "eth/ipv4(len=99, checksum=1)/0x00ff",
            "eth(dst=02:00:00:00:00:02, src=02:00:00:00:00:01)/ipv4(len=99, checksum=1, src=10.0.0.1, \
             dst=10.0.0.2)/0x00ff",
        ),
    ] {
        let bytes = packet(text).unwrap();
        assert_eq!(layers(&bytes), written);
        assert_eq!(packet(written).unwrap(), bytes, "{written}");
    }
    assert_eq!(layers(&[0, 1]), "0x0001");
    assert_eq!(layers(&[]), "");
}

/// A generator of numbers that look random (Knuth's constants).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u8 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 56) as u8
    }
}

#[test]
fn any_bytes_come_back() {
    let mut numbers = Numbers(7);
    let starts = [
        "eth/ipv4/udp/\"x\"",
        "eth/vlan/mpls(s=0)/mpls/ipv4/icmp",
        "eth/ipv6/icmpv6",
        "eth/ipv4/udp/vxlan/eth/ipv6/tcp",
        "eth/ipv4/gre/ipv6",
        "eth/arp/zeros(18)",
        "zeros(3)",
    ];
    for round in 0..3000 {
        let mut bytes = packet(starts[round % starts.len()]).unwrap();
        for _ in 0..round % 5 {
            let at = usize::from(numbers.next()) % bytes.len();
            bytes[at] = numbers.next();
        }
        bytes.truncate(bytes.len().saturating_sub(usize::from(numbers.next()) % 20).max(1));
        let text = layers(&bytes);
        assert_eq!(packet(&text).as_deref(), Ok(&bytes[..]), "{text}");
    }
}
