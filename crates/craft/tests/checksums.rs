//! Packets of random layers: their lengths and checksums are right when a receiver computes them anew.

use craft::packet;
use proptest::prelude::*;

/// The checksum of RFC 1071 over bytes that contain it: 0 when it is right.
fn verify(parts: &[&[u8]]) -> u16 {
    let bytes = parts.concat();
    let sum = bytes.chunks(2).fold(0u32, |sum, pair| {
        let word = u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
        // End-around carry after each word.
        let sum = sum + word;
        (sum & 0xffff) + (sum >> 16)
    });
    !(sum as u16)
}

fn u16_at(bytes: &[u8], at: usize) -> usize {
    usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]))
}

/// Checks a segment of IP, whose pseudo header is given by the addresses.
fn check_segment(protocol: u8, addresses: &[u8], segment: &[u8]) {
    let length = (segment.len() as u32).to_be_bytes();
    let pseudo = [addresses, &length, &[0, 0, 0, protocol]].concat();
    match protocol {
        17 => {
            assert_eq!(u16_at(segment, 4), segment.len());
            assert_ne!(u16_at(segment, 6), 0, "0 means that there is no checksum");
            assert_eq!(verify(&[&pseudo, segment]), 0);
            if u16_at(segment, 2) == 4789 {
                check_frame(&segment[16..]);
            }
        }
        6 | 58 => assert_eq!(verify(&[&pseudo, segment]), 0),
        1 => assert_eq!(verify(&[segment]), 0),
        4 => check_ipv4(segment),
        41 => check_ipv6(segment),
        47 => check_by_ether_type(u16_at(segment, 2), &segment[4..]),
        253 => {}
        _ => panic!("protocol {protocol}"),
    }
}

fn check_ipv4(bytes: &[u8]) {
    assert_eq!(bytes[0], 0x45);
    assert_eq!(u16_at(bytes, 2), bytes.len());
    assert_eq!(verify(&[&bytes[..20]]), 0);
    check_segment(bytes[9], &bytes[12..20], &bytes[20..]);
}

fn check_ipv6(bytes: &[u8]) {
    assert_eq!(bytes[0] >> 4, 6);
    assert_eq!(u16_at(bytes, 4), bytes.len() - 40);
    check_segment(bytes[6], &bytes[8..40], &bytes[40..]);
}

fn check_by_ether_type(ether_type: usize, bytes: &[u8]) {
    match ether_type {
        0x0800 => check_ipv4(bytes),
        0x86dd => check_ipv6(bytes),
        0x8100 => check_by_ether_type(u16_at(bytes, 2), &bytes[4..]),
        0x6558 => check_frame(bytes),
        0x88b5 => {}
        _ => panic!("EtherType {ether_type:#x}"),
    }
}

fn check_frame(bytes: &[u8]) {
    check_by_ether_type(u16_at(bytes, 12), &bytes[14..]);
}

fn payload() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 1..60)
            .prop_map(|bytes| format!("/0x{}", bytes.iter().map(|b| format!("{b:02x}")).collect::<String>())),
        (0usize..200).prop_map(|n| format!("/zeros({n})")),
        "[a-z#/ ]{0,20}".prop_map(|text| format!("/\"{text}\"")),
        Just(String::new()),
    ]
}

/// A continuation of an IP header, with its `/`.
fn segment(frame: BoxedStrategy<String>) -> impl Strategy<Value = String> {
    let ports = (any::<u16>(), any::<u16>());
    prop_oneof![
        (ports, payload())
            .prop_map(|((s, d), p)| format!("/udp(sport={s},dport={})", if d == 4789 { 1 } else { d }) + &p),
        (ports, any::<u32>(), any::<u8>(), payload()).prop_map(|((s, d), seq, flags, p)| format!(
            "/tcp(sport={s},dport={d},seq={seq},flags={flags})"
        ) + &p),
        (any::<u8>(), any::<u16>(), payload())
            .prop_map(|(code, id, p)| format!("/icmp(code={code},id={id})") + &p),
        (any::<u16>(), payload()).prop_map(|(seq, p)| format!("/icmpv6(seq={seq})") + &p),
        frame.clone().prop_map(|frame| format!("/udp/vxlan(vni=77)/{frame}")),
        frame.prop_map(|frame| format!("/gre/{frame}")),
        payload(),
    ]
}

fn frames() -> impl Strategy<Value = String> {
    let leaf =
        (any::<u64>(), payload()).prop_map(|(mac, p)| format!("eth(dst={:#x})", mac >> 16) + &p).boxed();
    leaf.prop_recursive(3, 12, 2, |frame| {
        let frame = frame.boxed();
        let v4 = (any::<[u8; 4]>(), any::<u8>(), 0u16..8192, segment(frame.clone())).prop_map(
            |([a, b, c, d], ttl, frag, next)| {
                format!("ipv4(dst={a}.{b}.{c}.{d},ttl={ttl},frag={frag}){next}")
            },
        );
        let v6 = (any::<u128>(), 0u32..1 << 20, segment(frame)).prop_map(|(dst, flow, next)| {
            format!("ipv6(dst={},flow={flow}){next}", std::net::Ipv6Addr::from(dst))
        });
        (prop_oneof![Just("eth/"), Just("eth/vlan(id=7)/"), Just("eth/vlan/vlan/")], prop_oneof![v4, v6])
            .prop_map(|(outer, ip)| format!("{outer}{ip}"))
    })
}

proptest! {
    #[test]
    fn valid_text_makes_a_packet_that_verifies(text in frames()) {
        let bytes = packet(&text).unwrap_or_else(|fault| panic!("{}", fault.render(&text)));
        check_frame(&bytes);
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,60}") {
        if let Err(fault) = packet(&text) {
            prop_assert!(text.get(fault.at.clone()).is_some());
            fault.render(&text);
        }
    }

    /// Texts of the right words in the wrong order come further than random characters.
    #[test]
    fn no_words_panic(words in prop::collection::vec(prop::sample::select(vec![
        "eth", "ipv4", "udp", "vxlan", "icmp", "(", ")", "/", ",", "=", "dst", "flags", "df", "+", "::1", "10.0.0.1",
        "0x", "0x1", "0b1", "99999999999999999999999999999999999999999", "\"", "\\", "é", "zeros", "_", " ",
    ]), 0..12)) {
        let text = words.concat();
        if let Err(fault) = packet(&text) {
            prop_assert!(text.get(fault.at.clone()).is_some());
            fault.render(&text);
        }
        let _ = craft::hex(&text);
    }
}
