//! Messages about missing packets say where the packets went.

use control::{Data, DigestId, Entity, Fault, Query, Schema, Target, Update};
use stf::{Arriving, Dut};
use target::traffic::{Destination, Output, Totals};
use trace::Observer;

/// Sends a packet to the port of each of its bytes. `fe` is the controller; `f0` and above are reasons to drop it.
#[derive(Default)]
struct Spread(Totals);

impl Target for Spread {
    fn write(&mut self, _update: &Update) -> Result<(), Fault> {
        Ok(())
    }

    fn read(&self, _query: &Query) -> Result<Vec<Entity>, Fault> {
        Ok(Vec::new())
    }
}

impl Dut for Spread {
    fn target(&mut self) -> &mut dyn Target {
        self
    }

    fn receive(&mut self, burst: &[Arriving<'_>], _observer: &mut dyn Observer) -> Vec<Vec<Output>> {
        let mut outputs = Vec::new();
        for packet in burst {
            let mut left = Vec::new();
            for byte in packet.bytes {
                let destination = match byte {
                    0xfe => Destination::Controller,
                    0xf0.. => {
                        self.0.drop_for(&format!("reason_{byte:x}"));
                        continue;
                    }
                    _ => Destination::Port(u32::from(*byte)),
                };
                left.push(Output { destination, bytes: packet.bytes.to_vec(), at_ns: 0 });
            }
            outputs.push(left);
        }
        outputs
    }

    fn advance_clock(&mut self, _duration_ns: u64, _observer: &mut dyn Observer) -> Vec<Output> {
        Vec::new()
    }

    fn take_digests(&mut self) -> Vec<(DigestId, Data)> {
        Vec::new()
    }

    fn now_ns(&self) -> u64 {
        0
    }

    fn n_queued(&self) -> u64 {
        0
    }

    fn totals(&self) -> Totals {
        self.0.clone()
    }
}

/// The messages of a script with their notes, with so many packets at once.
fn faults(text: &str, n_max: usize) -> Vec<String> {
    let parsed = stf::parse("x.stf", text);
    assert!(!parsed.diagnostics.has_errors(), "{text}");
    let schema = Schema::new(&Default::default()).unwrap();
    let (plan, unresolved) = stf::resolve(&parsed.script, &schema);
    assert!(!unresolved.has_errors(), "{text}");
    let dut = &mut Spread::default();
    let report =
        stf::run_in_bursts(&parsed.script, &plan, &parsed.sources, &schema, dut, &|_, _| None, n_max);
    let shown = |fault: &diagnostics::Diagnostic| {
        [std::slice::from_ref(&fault.message), &fault.notes[1..]].concat().join("; ")
    };
    report.faults.iter().map(shown).collect()
}

#[test]
fn a_missing_packet_is_followed() {
    let cases = [
        ("packet 1 02\nexpect 3", "no packet left port 3; the packet of line 1 left port 2"),
        ("packet 1 0204\nexpect 3", "no packet left port 3; the packet of line 1 left ports 2 and 4"),
        ("packet 1 f0\nexpect 3", "no packet left port 3; the packet of line 1 was dropped: reason_f0"),
        ("packet 1 fe\nexpect 3", "no packet left port 3; the packet of line 1 went to the controller"),
        (
            "packet 1 02f1\nexpect 3",
            "no packet left port 3; the packet of line 1 left port 2, and was dropped: reason_f1",
        ),
        ("packet 1\u{20}zeros(0)\nexpect 3", "no packet left port 3; the packet of line 1 left no port"),
        // The packet before the expectation counts, and without one that after it.
        (
            "packet 1 f1\npacket 1 02\nexpect 2\npacket 1 f2\nexpect 3",
            "no packet left port 3; the packet of line 4 was dropped: reason_f2",
        ),
        ("expect 3\npacket 1 02", "no packet left port 3; the packet of line 2 left port 2"),
        (
            "packet 1 03\nexpect 3\npacket 1 f3\nexpect 3",
            "no packet left port 3 as expected; the packet of line 3 was dropped: reason_f3",
        ),
        // Several packets, of which one went astray, or two.
        (
            "packet 1 03\npacket 1 f3\nexpect 3\nexpect 3",
            "no packet left port 3 as expected; the packet of line 2 was dropped: reason_f3",
        ),
        (
            "packet 1 02\npacket 1 f3\nexpect 3",
            "no packet left port 3 as expected; the packet of line 1 left port 2; the packet of line 2 was dropped: reason_f3",
        ),
        ("packet 1 03\nexpect 3\nexpect 3", "no packet left port 3 as expected"),
    ];
    for (script, message) in cases {
        assert_eq!(faults(script, 1), [message], "{script}");
    }
}

/// The switch says why packets were dropped in a burst, not which.
#[test]
fn reasons_of_a_burst_are_told_when_there_is_one() {
    let one = faults("packet 1 02\npacket 1 f3\nexpect 2\nexpect 3", 2);
    assert_eq!(
        one,
        [
            "no packet left port 3 as expected; the packet of line 1 left port 2; the packet of line 2 was dropped: reason_f3"
        ]
    );
    let two = faults("packet 1 f2\npacket 1 f3\nexpect 3", 2);
    assert_eq!(
        two,
        [
            "no packet left port 3 as expected; the packet of line 1 left no port; the packet of line 2 left no port"
        ]
    );
}

#[test]
fn scripts_without_a_check_are_told() {
    for (text, has_check) in [
        ("packet 1 00", false),
        ("", false),
        ("packet 1 00\nexpect 1", true),
        ("no_packet", true),
        ("check_counter c(1)", false),
        ("check_counter c(1) packets == 2", true),
        ("register_read r 1", false),
        ("register_read r 1 == 2", true),
        ("counter_read c 1 packets == 2", true),
        ("expect_digest d a:1", true),
    ] {
        let parsed = stf::parse("x.stf", text);
        let warning = parsed.script.check_missing(&parsed.sources);
        assert_eq!(warning.is_none(), has_check, "{text}");
        assert!(warning.is_none_or(|w| w.code.id == "P2515" && !w.is_error()), "{text}");
    }
}
