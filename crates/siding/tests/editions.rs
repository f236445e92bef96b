//! The editions of PSA and PNA that targets have.

use std::io::Write;
use std::process::{Command, Stdio};

/// Exit code and messages of checking a program.
fn check(program: &str) -> (Option<i32>, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_siding"))
        .args(["check", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(program.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn editions_have_what_their_targets_have() {
    let in_control = |file: &str, declarations: &str, statements: &str| {
        format!(
            "#include <core.p4>\n#include <{file}>\ncontrol C(inout bit<32> x) {{ {declarations} apply {{ {statements} }} }}"
        )
    };
    let psa_meter = "Meter<bit<8>>(4, PSA_MeterType_t.BYTES) m;";
    let psa_execute = "if (m.dpdk_execute(1, x) == PSA_MeterColor_t.RED) { x = 0; }";
    let pna_counter = "Counter<bit<32>, bit<8>>(4, PNA_CounterType_t.BYTES) c;";
    let hash = "Hash<bit<32>>(PNA_HashAlgorithm_t.TOEPLITZ) h;";
    let ipsec = "ipsec_accelerator() a; ipsec_status s;";
    let from = "if (a.from_ipsec(s)) { x = 1; } a.set_sa_index<bit<32>>(x); a.enable();";
    let update = "update_expire_info(true, false, (ExpireTimeProfileId_t) 1); if (is_net_port((PortId_t) x)) { x = 1; }";
    for (files, declarations, statements) in [
        (["dpdk/psa.p4", "psa.p4"], psa_meter, psa_execute),
        (["dpdk/pna.p4", "bmv2/pna.p4"], hash, "x = h.get_hash(x);"),
        (["dpdk/pna.p4", "pna.p4"], ipsec, from),
        (["bmv2/pna.p4", "pna.p4"], "", update),
        (["bmv2/pna.p4", "dpdk/pna.p4"], "", update),
    ] {
        let [has, has_not] = files.map(|file| check(&in_control(file, declarations, statements)));
        assert_eq!(has.0, Some(0), "{}: {}", files[0], has.1);
        assert_eq!(has_not.0, Some(3), "{}: {}", files[1], has_not.1);
    }
    for file in ["pna.p4", "dpdk/pna.p4", "bmv2/pna.p4"] {
        let found = check(&in_control(file, pna_counter, "c.count((bit<8>) 1, x);"));
        assert_eq!(found.0, Some(0), "{file}: {}", found.1);
    }
}
