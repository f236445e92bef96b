//! Stories of those packets that are meant.

use packet_io::{CaptureWriter, LINK_TYPE_ETHERNET, Packet};
use std::path::Path;
use std::process::Command;

/// Three packets for the router: one that it forwards, one without a route, one that is no IPv4.
fn capture(path: &Path) {
    let mut writer = CaptureWriter::create(path, "eth0", LINK_TYPE_ETHERNET).unwrap();
    let ends = "dst=02:00:00:00:00:00, src=02:00:00:00:00:99";
    for layers in [
        format!("eth({ends})/ipv4(src=192.168.0.1, dst=10.1.2.3)/udp(dport=53)"),
        format!("eth({ends})/ipv4(src=192.168.0.1, dst=99.1.2.3)/udp(dport=53)"),
        format!("eth({ends})/arp"),
    ] {
        writer.write(&Packet::new(craft::bytes(&layers).unwrap()), None).unwrap();
    }
    writer.flush().unwrap();
}

/// Exit code, standard output and standard error of running the capture through the router.
fn run(filter: &str) -> (i32, String, String) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("in.pcap");
    capture(&file);
    let run = Command::new(env!("CARGO_BIN_EXE_siding"))
        .args(["run", "examples/01-router/router.p4", "--entries", "examples/01-router/entries.txtpb"])
        .arg("--pcap")
        .arg(&file)
        .args(["--match", filter])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (run.status.code().unwrap_or(-1), text(&run.stdout), text(&run.stderr))
}

/// The numbers of the packets whose stories are told.
fn told(filter: &str) -> Vec<u32> {
    let (code, stories, errors) = run(filter);
    assert_eq!(code, 0, "{errors}");
    stories.lines().filter_map(|line| line.strip_prefix("Packet ")?.parse().ok()).collect()
}

#[test]
fn stories_are_of_packets_that_meet_the_conditions() {
    assert_eq!(told("sent"), [1, 3]);
    assert_eq!(told("sent && ipv4.destination==10.1.2.3"), [1]);
    assert_eq!(told("dropped"), [2]);
    assert_eq!(told("dropped==ingress_drop && ipv4.destination==99.1.2.3"), [2]);
    assert_eq!(told("ipv4.destination==10.1.2.3"), [1]);
    assert_eq!(told("bytes[12..14]==0806"), [3]);
    assert_eq!(told("port==0"), [1, 2, 3]);
    let (code, stories, _) = run("dropped==egress_drop");
    assert!(code == 0 && stories.contains("(no packet meets the conditions of --match)"), "{stories}");
}

#[test]
fn drops_are_counted_by_their_place() {
    let (code, text, _) = run("sent");
    let line = "           1  dropped: Router.routes (router.p4:166) missed: drop, router.p4:96";
    assert!(code == 0 && text.lines().any(|found| found == line), "{text}");
}

#[test]
fn unknown_drop_reasons_are_refused() {
    let (code, _, errors) = run("dropped==ingress_dorp");
    assert!(code == 2 && errors.contains("did you mean `ingress_drop`?"), "{errors}");
}

#[test]
fn conditions_name_fields_of_the_program() {
    for (filter, message) in [
        ("ipv4.dst==10.9.9.9", "no header has a field `ipv4.dst`"),
        ("ipv4.destinatoin==1", "did you mean `ipv4.destination`?"),
        ("nonsense.x==3", "no header has a field `nonsense.x`; write HEADER.FIELD==VALUE"),
        ("ipv4.ttl==300", "`ipv4.ttl` has 8 bits, too few for 0x12c"),
        ("port=3", "`port=3` has no `==`"),
    ] {
        let (code, _, errors) = run(filter);
        assert!(code == 2 && errors.contains(message), "{filter}: {code} {errors}");
    }
}
