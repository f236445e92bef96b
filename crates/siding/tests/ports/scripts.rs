//! The program suite: test scripts, packet by packet, over the far ends of ports.

use crate::bench::Bench;
use crate::kinds::Kind;
use crate::patience::until;
use crate::switch::{CPU_PORT, n, siding_root};
use ctl::{Request, What};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use stf::script::CommandKind;

/// A test script, and the counts of the switch after it.
struct Suite {
    program: &'static str,
    script: &'static str,
    totals: fn() -> Value,
    has_fragments: bool,
}

/// Ports that the scripts name.
const PORTS: [u32; 6] = [0, 1, 2, 3, 4, 7];

const SUITE: [Suite; 7] = [
    // Rewriting, drops, and packets for the controller.
    Suite {
        program: "examples/01-router/router.p4",
        script: "examples/01-router/router.stf",
        totals: || json!({ "received": 7, "sent": 3, "to_controller": 1, "dropped ingress_drop": 3 }),
        has_fragments: false,
    },
    // Multicast.
    Suite {
        program: "examples/02-l2-switch/l2_switch.p4",
        script: "examples/02-l2-switch/l2_switch.stf",
        totals: || json!({ "received": 7, "copied": 4, "sent": 8, "dropped egress_drop": 3 }),
        has_fragments: false,
    },
    // Tags that are added and removed, and mirrored packets.
    Suite {
        program: "examples/13-psa-switch/switch_psa.p4",
        script: "examples/13-psa-switch/switch_psa.stf",
        totals: || json!({ "received": 6, "copied": 6, "sent": 7, "dropped ingress_drop": 3, "dropped egress_drop": 2 }),
        has_fragments: false,
    },
    // Headers and trailers that are added and removed, by offload workers.
    Suite {
        program: "examples/05-tunnel/tunnel.p4",
        script: "examples/05-tunnel/tunnel.stf",
        totals: || json!({ "received": 28, "sent": 10, "dropped ingress_drop": 18 }),
        has_fragments: true,
    },
    // Clones to several ports.
    Suite {
        program: "tests/programs/copies/program.p4",
        script: "tests/programs/copies/session_with_several_ports.stf",
        totals: || json!({ "received": 1, "copied": 4, "sent": 5 }),
        has_fragments: false,
    },
    // Packets that are cut.
    Suite {
        program: "tests/programs/copies/program.p4",
        script: "tests/programs/copies/truncate_and_clone.stf",
        totals: || json!({ "received": 1, "copied": 1, "sent": 2 }),
        has_fragments: false,
    },
    // Packets that grow when they come again.
    Suite {
        program: "tests/programs/packet_length/program.p4",
        script: "tests/programs/packet_length/recirculated.stf",
        totals: || json!({ "received": 1, "sent": 1 }),
        has_fragments: false,
    },
];

/// Drivers take no shorter packets: an Ethernet header.
const BYTES_MIN: usize = 14;

/// Runs all scripts, each on a switch whose ports are as new.
pub fn run(kind: Kind) {
    let mut bench = Bench::new(kind, &PORTS);
    let mut before = BTreeMap::new();
    for (i, suite) in SUITE.iter().enumerate() {
        if suite.has_fragments
            && let Some(why) = kind.joins_fragments()
        {
            println!("{kind:?}: without {}, because {why}", suite.script);
            continue;
        }
        match i {
            0 => bench.start(suite.program, &PORTS),
            _ => {
                let program = siding_root().join(suite.program);
                bench.switch().ask(&Request::Replace { program, keep_entries: false });
            }
        }
        run_script(&mut bench, suite.script);
        let after = counts(&bench.switch().totals());
        let added: BTreeMap<String, u64> = after
            .iter()
            .map(|(name, n)| (name.clone(), n - before.get(name).unwrap_or(&0)))
            .filter(|(_, n)| *n > 0)
            .collect();
        let expected: BTreeMap<String, u64> = serde_json::from_value((suite.totals)()).unwrap();
        assert_eq!(added, expected, "{kind:?}, {}", suite.script);
        before = after;
    }
    let totals = bench.take_switch().end(|| ());
    assert_eq!(totals["balanced"], true, "{totals}");
}

/// Counts by name; drops by reason.
fn counts(totals: &Value) -> BTreeMap<String, u64> {
    let totals = totals.as_object().unwrap();
    let numbers = |(name, value): (&String, &Value)| match value {
        Value::Number(_) => vec![(name.clone(), n(value))],
        Value::Object(values) => {
            values.iter().map(|(reason, value)| (format!("{name} {reason}"), n(value))).collect()
        }
        _ => Vec::new(),
    };
    totals.iter().flat_map(numbers).collect()
}

fn run_script(bench: &mut Bench, path: &str) {
    let text = fs::read_to_string(siding_root().join(path)).unwrap();
    let parsed = stf::parse(path, &text);
    assert!(!parsed.diagnostics.has_errors(), "{path}");
    let (mut writes, mut sent, mut expected) = (String::new(), None, Vec::new());
    for command in &parsed.script.commands {
        match &command.kind {
            CommandKind::Packet { port, data, .. } => {
                check(bench, path, sent.take(), std::mem::take(&mut expected));
                bench.switch().commands(&std::mem::take(&mut writes));
                if data.len() >= BYTES_MIN {
                    let n_before = n(&bench.switch().totals()["received"]);
                    bench.far(port.number).send(std::slice::from_ref(data));
                    sent = Some(n_before + 1);
                }
            }
            CommandKind::Expect(expectation) => expected.push(expectation.clone()),
            CommandKind::NoPacket { .. }
            | CommandKind::ExpectDigest { .. }
            | CommandKind::CheckCounter { .. }
            | CommandKind::RegisterRead { .. } => {}
            _ => {
                check(bench, path, sent.take(), std::mem::take(&mut expected));
                writes.push_str(parsed.sources.text(command.span));
                writes.push('\n');
            }
        }
    }
    check(bench, path, sent, expected);
}

/// Waits until the switch has received so many packets and has nothing to do, and compares what has left it.
fn check(bench: &mut Bench, path: &str, n_received: Option<u64>, expected: Vec<stf::expect::Expectation>) {
    let Some(n_received) = n_received else {
        assert!(expected.is_empty(), "{path}: a packet that was not sent has an answer");
        return;
    };
    let mut left: Vec<(u32, Vec<u8>)> = Vec::new();
    // Peers that do not poll take no packets.
    let mut poll = |bench: &mut Bench| {
        for (number, far) in &mut bench.fars {
            far.poll(|bytes| left.push((*number, bytes.to_vec())));
        }
    };
    until(&format!("end of packet {n_received}, {path}"), || {
        poll(bench);
        let totals = bench.switch().totals();
        n(&totals["received"]) == n_received && totals["queued"] == 0 && totals["balanced"] == true
    });
    until("packets at the far ends", || {
        poll(bench);
        let ports = bench.switch().ask(&Request::Show { what: What::Ports, name: None });
        ports.as_array().unwrap().iter().all(|port| {
            let number = n(&port["port"]) as u32;
            bench.far(number).n_received() == n(&port["stats"]["tx_packets"])
        })
    });
    let packet_ins = bench.switch().ask(&Request::PacketIn { n_max: 100 });
    for packet in packet_ins["packets"].as_array().unwrap() {
        left.push((CPU_PORT, craft::bytes(packet["hex"].as_str().unwrap()).unwrap()));
    }
    let ports: BTreeSet<u32> =
        left.iter().map(|(port, _)| *port).chain(expected.iter().map(|e| e.port.number)).collect();
    for port in ports {
        let left: Vec<&Vec<u8>> =
            left.iter().filter(|(from, _)| *from == port).map(|(_, bytes)| bytes).collect();
        let expected: Vec<_> = expected.iter().filter(|expected| expected.port.number == port).collect();
        let is_same = left.len() == expected.len()
            && left.iter().zip(&expected).all(|(packet, expected)| expected.mismatch(packet).is_none());
        assert!(
            is_same,
            "{:?}, {path}: port {port} sent {left:02x?}, and should send {expected:?}",
            bench.kind
        );
    }
}
