//! Files that a command reads are not written by it.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Standard error of a command that has to fail.
fn refused(dir: &Path, args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_siding")).args(args).current_dir(dir).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(4), "{args:?}: {said}");
    said
}

#[test]
fn inputs_are_not_overwritten() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let dir = tempfile::tempdir().unwrap();
    for name in ["router.p4", "router.stf", "entries.txtpb"] {
        fs::copy(root.join("examples/01-router").join(name), dir.path().join(name)).unwrap();
    }
    fs::create_dir(dir.path().join("out")).unwrap();
    fs::create_dir(dir.path().join("include")).unwrap();
    for file in fs::read_dir(root.join("examples/include")).unwrap().map(Result::unwrap) {
        fs::copy(file.path(), dir.path().join("include").join(file.file_name())).unwrap();
    }
    let program = fs::read_to_string(dir.path().join("router.p4")).unwrap();
    fs::write(dir.path().join("router.p4"), program.replace("../include", "include")).unwrap();
    let capture = dir.path().join("out/1.pcap");
    let mut writer =
        packet_io::CaptureWriter::create(&capture, "eth0", packet_io::LINK_TYPE_ETHERNET).unwrap();
    let packet = craft::bytes("eth/ipv4(dst=10.1.2.3, ttl=9)/udp").unwrap();
    writer.write(&packet_io::Packet::new(packet), None).unwrap();
    writer.flush().unwrap();
    drop(writer);
    let files = ["router.p4", "entries.txtpb", "out/1.pcap"].map(|name| dir.path().join(name));
    let before = files.clone().map(|file| fs::read(file).unwrap());
    for args in [
        &["p4info", "router.p4", "-o", "router.p4"][..],
        &["build", "router.p4", "--emit", "c", "-o", "router.p4"],
        &["ir", "router.p4", "-o", "./router.p4"],
        &["entries", "convert", "router.p4", "entries.txtpb", "router.p4", "--to", "script"],
        &["entries", "convert", "router.p4", "entries.txtpb", "entries.txtpb", "--to", "script"],
        &["run", "router.p4", "--entries", "entries.txtpb", "--pcap", "0=out/1.pcap", "-o", "out", "-q"],
        &["switch", "router.p4", "--metrics-addr", "off", "--log-file", "router.p4"],
    ] {
        let said = refused(dir.path(), args);
        assert!(said.contains("this command reads that file"), "{args:?}: {said}");
    }
    for (file, before) in files.iter().zip(&before) {
        assert!(fs::read(file).unwrap() == *before, "{} has changed", file.display());
    }
}
