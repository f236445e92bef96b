//! Packets whose bytes are known, and what is said of texts that are wrong.

use craft::{Fault, hex, packet};

fn bytes(text: &str) -> String {
    let bytes = packet(text).unwrap_or_else(|fault| panic!("{}", fault.render(text)));
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn fault(text: &str) -> Fault {
    match packet(text) {
        Ok(bytes) => panic!("{text}: no fault, but {bytes:02x?}"),
        Err(fault) => fault,
    }
}

/// Each layer with its defaults.
#[test]
fn defaults() {
    let eth = "020000000002020000000001";
    assert_eq!(bytes("eth"), format!("{eth}88b5"));
    assert_eq!(bytes("eth()"), format!("{eth}88b5"));
    assert_eq!(bytes("eth / vlan(pcp=5, dei=1, id=0xabc) / vlan"), format!("{eth}8100babc8100000188b5"));
    let arp = "0001080006040001020000000001".to_string() + "0a000001" + "000000000000" + "0a000002";
    assert_eq!(bytes("eth/arp"), format!("{eth}0806{arp}"));
    assert_eq!(bytes("eth/mpls/mpls(label=0xabcde,tc=3,ttl=1)/0xff"), format!("{eth}884700010040abcde701ff"));
    assert_eq!(bytes("vxlan(vni=0x123456)/eth"), format!("0800000012345600{eth}88b5"));
    assert_eq!(bytes("gre/ipv6(len=0)"), bytes("0x000086dd") + &bytes("ipv6"));
    assert_eq!(bytes("tcp(flags=syn+ack)"), bytes("tcp(flags=0x12)"));
    assert_eq!(bytes("ipv4(flags=df+mf)"), bytes("ipv4(flags=0b11)"));
}

/// The header has the checksum b861, computed by hand.
#[test]
fn ipv4_checksum() {
    let text = "ipv4(len=115, flags=df, ttl=64, proto=17, src=192.168.0.1, dst=192.168.0.199)";
    assert_eq!(bytes(text), "450000730000400040".to_string() + "11" + "b861" + "c0a80001" + "c0a800c7");
    assert!(bytes("ipv4(checksum=0x1234)").contains("1234"));
}

/// A packet of `docs/reference/stf.md`, and checksums computed by hand.
#[test]
fn known_packets() {
    assert_eq!(
        bytes("ipv4(ttl=64, src=192.168.0.1, dst=10.1.2.3, proto=17)/udp(sport=5000, dport=53, checksum=0)"),
        "4500001c000000004011ae24c0a800010a010203138800350008".to_string() + "0000"
    );
    // 0 would mean that there is no checksum, so a sum of 0 is sent as 0xffff.
    let zero = bytes("ipv4(src=0.0.0.0,dst=0.0.0.0)/udp(sport=0,dport=0)/0xffda");
    assert!(zero.ends_with("00000000000affffffda"), "{zero}");
    // Echo with identifier 1 and sequence number 1.
    assert_eq!(bytes("icmp(id=1,seq=1)"), "0800f7fd00010001");
    assert_eq!(bytes("icmp(type=echo_reply,id=1,seq=1)"), "0000fffd00010001");
}

/// The next layer gives the number before it.
#[test]
fn next_protocols() {
    for (text, ether_type) in [
        ("eth/ipv4", "0800"),
        ("eth/ipv6", "86dd"),
        ("eth/arp", "0806"),
        ("eth/vlan", "8100"),
        ("eth/mpls", "8847"),
    ] {
        assert_eq!(&bytes(text)[24..28], ether_type, "{text}");
    }
    for (text, protocol) in [
        ("icmp", "01"),
        ("tcp", "06"),
        ("udp", "11"),
        ("gre", "2f"),
        ("icmpv6", "3a"),
        ("ipv4", "04"),
        ("\"x\"", "fd"),
    ] {
        assert_eq!(&bytes(&format!("ipv4/{text}"))[18..20], protocol, "{text}");
        assert_eq!(&bytes(&format!("ipv6/{text}"))[12..14], protocol, "{text}");
    }
    assert!(bytes("udp/vxlan").starts_with("c00012b5"));
    assert_eq!(&bytes("eth(type=0x1234)/ipv4")[24..28], "1234");
}

#[test]
fn payload() {
    assert_eq!(bytes(r#""a\n\"\\\0\té#/""#), "610a225c0009c3a9232f");
    assert_eq!(bytes("0xDEADbeef / zeros(3)/\"\""), "deadbeef000000");
    assert_eq!(bytes("eth(type=0x1234)/0x0001/ipv4").len(), 2 * (14 + 2 + 20));
    assert_eq!(packet("zeros(65535)").unwrap().len(), craft::BYTES_MAX);
}

#[test]
fn faults_say_where() {
    let cases: &[(&str, &str, &str, &str)] = &[
        ("", "", "expected a layer or payload, found the end", "the layers are eth, vlan"),
        ("eth/", "", "found the end", "zeros(NUMBER)"),
        ("eth/ipv5", "ipv5", "there is no layer `ipv5`", "did you mean `ipv"),
        ("eth/ipv4(dest=1)", "dest", "`ipv4` has no field `dest`", "did you mean `dst`"),
        ("eth/ipv4(dst=10.0.0)", "10.0.0", "expected an address as 10.0.0.1 for `dst`", ""),
        ("eth(src=1:2:3:4:5)", "1:2:3:4:5", "expected an address as 02:00", ""),
        ("vlan(id=4096)", "4096", "`id`, which has 12 bits", "at most 4095"),
        ("mpls(s=2)", "2", "which has 1 bit", "at most 1"),
        ("tcp(flags=syn+akc)", "syn+akc", "(fin, syn, rst", ""),
        ("arp(op=reqest)", "reqest", "expected a number for `op` (request, reply)", "did you mean `request`"),
        ("udp(len=1,len=2)", "len", "given twice", ""),
        ("udp(len)", ")", "expected `=`", ""),
        ("udp(len=", "", "expected a number for `len`, found the end", ""),
        ("udp len", "l", "expected `/` and the next layer", ""),
        ("eth/udp", "udp", "`eth` has no number for `udp` in `type`", "eth(type=NUMBER)"),
        ("eth/12", "12", "neither a layer nor payload", "hexadecimal"),
        ("0x123", "3", "odd number", "two digits"),
        ("0x12g4", "g", "no hexadecimal digit", ""),
        ("\"abc", "\"", "does not end", "single quotes"),
        ("\"a\\q\"", "\\q", "means nothing", "0x"),
        ("zeros(65536)", "65536", "at most 65535 bytes", ""),
        ("zeros(65530)/ipv4", "ipv4", "at most 65535 bytes", ""),
        ("zeros", "", "expected `(`", ""),
    ];
    for (text, place, message, help) in cases {
        let fault = fault(text);
        assert_eq!(&text[fault.at.clone()], *place, "{text}: {}", fault.render(text));
        assert!(fault.message.contains(message), "{text}: {}", fault.render(text));
        assert!(fault.help.as_deref().unwrap_or("").contains(help), "{text}: {}", fault.render(text));
    }
    let many = vec!["0x00"; craft::LAYERS_MAX + 1].join("/");
    assert!(fault(&many).message.contains("at most 64 layers"));
}

#[test]
fn a_fault_is_shown_below_the_text() {
    let text = "eth/ipv4(dts=10.0.0.1)";
    let shown = fault(text).render(text);
    let expected =
        "`ipv4` has no field `dts`\n  eth/ipv4(dts=10.0.0.1)\n           ^^^\n  help: did you mean `dst`?";
    assert!(shown.starts_with(expected), "{shown}");
    let long = format!("0x{}/x", "00".repeat(100));
    let shown = fault(&long).render(&long);
    let (line, marks) = (shown.lines().nth(1).unwrap(), shown.lines().nth(2).unwrap());
    assert_eq!(line.chars().nth(marks.chars().count() - 1), Some('x'), "{shown}");
}

#[test]
fn hexadecimal_digits() {
    assert_eq!(hex(" 0x0a 0B\tff"), Ok(vec![10, 11, 255]));
    assert_eq!(hex(""), Ok(Vec::new()));
    assert!(hex("0a0").unwrap_err().message.contains("hexadecimal digits, 3"));
    assert_eq!(hex("0g").unwrap_err().at, 1..2);
    assert!(hex(&"0".repeat(2 * craft::BYTES_MAX)).is_ok());
    assert!(hex(&"0".repeat(2 * craft::BYTES_MAX + 2)).is_err());
    assert!(craft::LAYERS.iter().all(|layer| !craft::is_hex(layer.name)));
}
