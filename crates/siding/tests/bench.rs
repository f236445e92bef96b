//! `siding bench` of the fast path, as programs see it.

use std::process::Command;

#[test]
fn forwarding_is_measured_beside_hand_written_code() {
    let dir = tempfile::tempdir().unwrap();
    let svg = dir.path().join("forward.svg");
    let output = Command::new(env!("CARGO_BIN_EXE_siding"))
        .args(["bench", "forward", "--quick", "--json", "--runs", "3", "-O1", "--svg"])
        .arg(&svg)
        .env("SIDING_PEERS", dir.path())
        .output()
        .unwrap();
    let messages = String::from_utf8_lossy(&output.stderr);
    if messages.contains("no C compiler was found") {
        return;
    }
    assert!(output.status.success(), "{messages}");
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let peers = ["ceiling", "siding"]
        .map(|peer| value["lines"].as_array().unwrap().iter().filter(|line| line["peer"] == peer).count());
    // Two ways of the ceiling and one of the program, over few packets and over many.
    assert_eq!(peers, [4, 2], "{value}");
    let ratio = value["ratio_to_ceiling"][0].as_f64().unwrap();
    assert!(ratio > 0.5 && ratio < 100.0, "{value}");
    assert_eq!(value["goals"].as_array().unwrap().len(), 2);
    // The peer is not there, and that is said.
    assert!(value["absent"][0].as_str().unwrap().starts_with("dpdk_swx is not measured"), "{value}");
    assert!(std::fs::read_to_string(svg).unwrap().starts_with("<svg "));
}
