//! Comparing packets with what a script expects, and how differences are shown.
//!
//! `SIDING_BLESS=1 cargo test -p stf` rewrites the golden; review the difference before committing.

use diagnostics::render::{Style, human};
use proptest::prelude::*;
use std::collections::BTreeMap;
use stf::expect::{Fault, Mismatch, compare};

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.chars().filter_map(|c| c.to_digit(16)).map(|d| d as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// Which packets left which ports: `1:0a0b 1:0c`.
fn sent(text: &str) -> BTreeMap<u32, Vec<Vec<u8>>> {
    let mut sent: BTreeMap<u32, Vec<Vec<u8>>> = BTreeMap::new();
    for packet in text.split_whitespace() {
        let (port, data) = packet.split_once(':').unwrap();
        sent.entry(port.parse().unwrap()).or_default().push(hex(data));
    }
    sent
}

/// Each fault in a word.
fn faults(script: &str, packets: &str) -> Vec<String> {
    let parsed = stf::parse("x.stf", script);
    assert!(!parsed.diagnostics.has_errors(), "{script}");
    let sent = sent(packets);
    compare(&parsed.script, &sent)
        .iter()
        .map(|fault| match fault {
            Fault::Missing { expectation, .. } => {
                format!("missing line {}", parsed.sources.locate(expectation.span).unwrap().line)
            }
            Fault::Unexpected { port, packet_idx, .. } => format!("unexpected {port}:{packet_idx}"),
            Fault::Differs { expectation, packet_idx, mismatch, .. } => {
                let line = parsed.sources.locate(expectation.span).unwrap().line;
                let what = match mismatch {
                    Mismatch::Nibble { offset, expected, got } => format!("{offset}: {expected:x} {got:x}"),
                    Mismatch::TooShort { .. } => "short".to_string(),
                    Mismatch::TooLong { .. } => "long".to_string(),
                };
                format!("differs line {line} packet {packet_idx} {what}")
            }
        })
        .collect()
}

#[test]
fn patterns() {
    let good = [
        ("expect 1 0102", "1:0102"),
        ("expect 1 0102", "1:010203"),
        ("expect 1 0102 $", "1:0102"),
        ("expect 1 0*0* 0", "1:01020f"),
        ("expect 1 01 02 0", "1:01020f"),
        ("expect 1 ABcd", "1:abcd"),
        ("expect 1", "1:"),
        ("expect 1", "1:ffff"),
        ("expect 1 $", "1:"),
        ("", "1:00"),
        ("no_packet 1", "2:00"),
        ("expect 1 01\nexpect 2 02\nexpect 1 03", "1:01 2:02 1:03"),
        ("packet 1 00", "3:00"),
    ];
    for (script, packets) in good {
        assert_eq!(faults(script, packets), [""; 0], "{script} / {packets}");
    }
    let bad: [(&str, &str, &[&str]); 15] = [
        ("expect 1 0102", "1:0103", &["differs line 1 packet 0 3: 2 3"]),
        ("expect 1 0102", "1:01", &["differs line 1 packet 0 short"]),
        ("expect 1 01**", "1:01", &["differs line 1 packet 0 short"]),
        ("expect 1 0102$", "1:010203", &["differs line 1 packet 0 long"]),
        ("expect 1 01*$", "1:0102", &["differs line 1 packet 0 long"]),
        ("expect 1 0102", "1:11", &["differs line 1 packet 0 0: 0 1"]),
        ("expect 1 01", "", &["missing line 1"]),
        ("expect 1", "", &["missing line 1"]),
        ("packet 1 00", "1:00", &["unexpected 1:0"]),
        ("no_packet 1", "1:00", &["unexpected 1:0"]),
        ("no_packet", "7:00", &["unexpected 7:0"]),
        // A lost packet is one fault, and so is a packet too many.
        ("expect 1 01\nexpect 1 02\nexpect 1 03", "1:01 1:03", &["missing line 2"]),
        ("expect 1 01\nexpect 1 03", "1:01 1:02 1:03", &["unexpected 1:1"]),
        (
            "expect 1 01\nexpect 1 02",
            "1:02 1:01",
            &["differs line 1 packet 0 1: 1 2", "differs line 2 packet 1 1: 2 1"],
        ),
        (
            "expect 1 01\nexpect 1 02\nexpect 1 03",
            "1:09 1:03",
            &["differs line 1 packet 0 1: 1 9", "missing line 2"],
        ),
    ];
    for (script, packets, expected) in bad {
        assert_eq!(faults(script, packets), expected, "{script} / {packets}");
    }
}

#[test]
fn differences_are_shown() {
    let long = "00112233 44556677 8899aabb ccddeeff ".repeat(4);
    let script = format!(
        "packet 0 00
expect 1 ffffffffffff 000000000000 0800 45 00 # the header
expect 1 {long} 01020304 ** ** 05 $
expect 2 0102$
expect 2 010203
expect 2 01
expect 3
"
    );
    let parsed = stf::parse("x.stf", &script);
    let mut other = hex(&long);
    other.extend(hex("01020304 aabb 06"));
    let mut sent = sent("0:00 1:ffffffffffff000000000001080045 2:010203 2:0102 2:01");
    sent.get_mut(&1).unwrap().push(other);
    sent.insert(0, vec![vec![0x55; 200]]);
    let decode = |packet: &[u8], bit: usize| {
        assert!(!packet.is_empty());
        ((48..96).contains(&bit)).then(|| "ethernet.srcAddr".to_string())
    };
    let shown: String = compare(&parsed.script, &sent)
        .iter()
        .map(|fault| {
            human(&fault.diagnostic(&parsed.sources, &decode), &parsed.sources, Style::default()) + "\n"
        })
        .collect();
    let golden = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/expect.txt");
    if std::env::var_os("SIDING_BLESS").is_some() {
        std::fs::write(&golden, &shown).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&golden).unwrap_or_default(), shown);
}

proptest! {
    /// A packet meets its own expectation, in whatever way that is written.
    #[test]
    fn packets_meet_themselves(
        packets in prop::collection::vec((0u32..3, prop::collection::vec(any::<u8>(), 0..40)), 0..6),
        stars in any::<u64>(),
        exact in any::<bool>(),
    ) {
        let mut script = String::new();
        let mut sent: BTreeMap<u32, Vec<Vec<u8>>> = BTreeMap::new();
        for (port, data) in packets {
            let digits: String = data
                .iter()
                .flat_map(|b| [b >> 4, b & 15])
                .enumerate()
                .map(|(i, n)| if stars >> (i % 64) & 1 == 1 { "*".to_string() } else { format!("{n:x}") })
                .collect();
            script.push_str(&format!("expect {port} {digits}{}\n", if exact { " $" } else { "" }));
            sent.entry(port).or_default().push(data);
        }
        let parsed = stf::parse("x.stf", &script);
        prop_assert!(!parsed.diagnostics.has_errors());
        prop_assert_eq!(compare(&parsed.script, &sent), vec![]);
    }

    /// Whatever is read, nothing panics, messages can be shown, and every line is one command or one fault.
    #[test]
    fn any_text(text in "([a-z_]{2,15} )?([0-9a-fx*$:.,()\\[\\]&/=<>\"# \u{e4}]{0,30}\n){0,4}") {
        let parsed = stf::parse("x.stf", &text);
        for d in parsed.diagnostics.iter() {
            human(d, &parsed.sources, Style::default());
        }
        prop_assert!(parsed.script.commands.len() + parsed.diagnostics.iter().count() <= text.lines().count());
    }

    #[test]
    fn mutated_lines(
        command in prop::sample::select(stf::keywords::KEYWORDS.iter().map(|k| k.0).collect::<Vec<_>>()),
        parts in prop::collection::vec(prop::sample::select(vec![
            "t", "a.b", "x[2]", "$A", "k:1", "k:0x1*", "k:1/2", "k:1&&&3", "k:1..2", "k:_", "k:\"x\"", "10", "0b1*",
            "a()", "a(x:1)", "a(x:1, y:0xff)", "member", "group", "oneshot", "= A", "packets", "==", "5ms", "1.5:3",
            ":", "(", ")", "\"", "#", "$", "00", "ä", "h.isValid():1",
        ]), 0..6),
    ) {
        let text = format!("{command} {}", parts.join(" "));
        let parsed = stf::parse("x.stf", &text);
        for d in parsed.diagnostics.iter() {
            human(d, &parsed.sources, Style::default());
        }
        prop_assert_eq!(parsed.script.commands.len() + parsed.diagnostics.iter().count(), 1);
    }
}
