//! `siding trace -p`: a packet in digits, as layers, and from a capture.

use packet_io::{CaptureWriter, LINK_TYPE_ETHERNET, Packet};
use std::path::Path;
use std::process::{Command, Stdio};

const DIGITS: &str =
    "020000000000 020000000099 0800 4500001c000000004011ae24c0a800010a010203 1388003500080000";
const LAYERS: &str = "eth(dst=02:00:00:00:00:00, src=02:00:00:00:00:99)/ipv4(src=192.168.0.1, dst=10.1.2.3)\
                      /udp(sport=5000, dport=53, checksum=0)";

/// Exit code, standard output and standard error of tracing a packet through the router.
fn trace(packet: &str) -> (i32, String, String) {
    let run = Command::new(env!("CARGO_BIN_EXE_siding"))
        .args(["trace", "examples/01-router/router.p4", "--entries", "examples/01-router/entries.txtpb"])
        .args(["-p", packet])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (run.status.code().unwrap_or(-1), text(&run.stdout), text(&run.stderr))
}

fn story(packet: &str) -> String {
    let (code, story, errors) = trace(packet);
    assert_eq!((code, errors.as_str()), (0, ""), "{packet}");
    story
}

fn fails(packet: &str, code: i32, message: &str) {
    let (got, _, errors) = trace(packet);
    assert_eq!(got, code, "{packet}: {errors}");
    assert!(errors.contains(message), "{packet}: {errors}");
}

#[test]
fn layers_are_the_packet_of_the_digits() {
    let wanted = story(DIGITS);
    assert!(wanted.contains("10.1.2.3"), "{wanted}");
    assert_eq!(story(LAYERS), wanted);
    assert_eq!(story(&format!("0x{DIGITS}")), wanted);
}

#[test]
fn a_wrong_packet_is_shown_with_its_place() {
    fails("eth/ipv4(dts=10.0.0.1)", 2, "eth/ipv4(dts=10.0.0.1)\n           ^^^\n  help: did you mean `dst`?");
    fails("0a0", 2, "odd number of hexadecimal digits");
    fails("eth/ip", 2, "there is no layer `ip`");
}

#[test]
fn packets_of_captures_have_numbers() {
    let dir = tempfile::tempdir().unwrap();
    let wanted = story(DIGITS);
    let packet = craft::bytes(LAYERS).unwrap();
    for name in ["c.pcap", "c.pcapng"] {
        let path = dir.path().join(name);
        let mut writer = CaptureWriter::create(&path, "eth0", LINK_TYPE_ETHERNET).unwrap();
        writer.write(&Packet::new([0; 20]), None).unwrap();
        writer.write(&Packet::new(packet.clone()), None).unwrap();
        writer.write(&Packet { original_len_bytes: 1500, ..Packet::new([0; 20]) }, None).unwrap();
        writer.flush().unwrap();
        let path = path.display();
        assert_eq!(story(&format!("{path}:2")), wanted);
        let (code, _, errors) = trace(&format!("{path}:3"));
        assert!(code == 0 && errors.contains("only 20 of the 1500 bytes of packet 3"), "{errors}");
        fails(&format!("{path}:4"), 2, "has 3 packets, and no packet 4");
        fails(&format!("{path}:0"), 2, "packets are counted from 1");
        fails(&format!("{path}:x"), 2, "packets are counted from 1");
        fails(&path.to_string(), 2, "say which of its packets");
    }
    fails("none.pcap:1", 4, "none.pcap");
}

/// `siding stf` says where a missing packet went, on both backends, and warns of scripts that check nothing.
#[test]
fn scripts_say_where_packets_went() {
    let dir = tempfile::tempdir().unwrap();
    let stf = |script: &str, options: &[&str]| {
        let path = dir.path().join("t.stf");
        std::fs::write(&path, script).unwrap();
        let run = Command::new(env!("CARGO_BIN_EXE_siding"))
            .args(["stf", "examples/01-router/router.p4"])
            .arg(path)
            .args(options)
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        (run.status.code().unwrap_or(-1), String::from_utf8_lossy(&run.stderr).into_owned())
    };
    for backend in ["interp", "native"] {
        let (code, errors) = stf(&format!("packet 0 {LAYERS}\nexpect 3\n"), &["--backend", backend]);
        let message = "no packet left port 3; the packet of line 1 was dropped: ingress_drop";
        assert!(code == 1 && errors.contains(message), "{backend}: {errors}");
    }
    let (code, errors) = stf(&format!("packet 0 {LAYERS}\n"), &[]);
    assert!(code == 0 && errors.contains("warning[P2515]: the script checks nothing"), "{errors}");
    let (code, errors) = stf(&format!("packet 0 {LAYERS}\nno_packet\n"), &[]);
    assert_eq!((code, errors.as_str()), (0, ""));
}
