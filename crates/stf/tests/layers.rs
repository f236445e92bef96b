//! Packets of scripts that are written as layers.

use diagnostics::render::{Style, human};
use std::collections::BTreeMap;
use stf::CommandKind;
use stf::expect::compare;

/// The bytes that the `packet` line of a script sends.
fn sent(line: &str) -> Vec<u8> {
    let parsed = stf::parse("x.stf", line);
    assert!(!parsed.diagnostics.has_errors(), "{line}: {:?}", parsed.diagnostics.iter().next());
    match &parsed.script.commands[..] {
        [command] => match &command.kind {
            CommandKind::Packet { data, .. } => data.clone(),
            other => panic!("{line}: {other:?}"),
        },
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn layers_and_digits_are_told_apart() {
    let udp = craft::packet("eth/ipv4(ttl=3)/udp/\"a#b\"").unwrap();
    assert_eq!(sent("packet 0 eth/ipv4(ttl=3)/udp/\"a#b\" # a comment"), udp);
    assert_eq!(sent("packet 0 eth / ipv4( ttl = 3 ) / udp / \"a#b\""), udp);
    assert_eq!(sent("packet 0 \"a\\\"#b\" # \"c\""), b"a\"#b");
    assert_eq!(sent("packet 0 0x0a0b/zeros(1)"), [10, 11, 0]);
    assert_eq!(sent("packet 0 arp").len(), 28);
    assert_eq!(sent("packet 0 ABcd # eth"), [0xab, 0xcd]);
    assert_eq!(sent("packet 0 0a 0b"), [10, 11]);
}

#[test]
fn wrong_layers_are_shown_where_they_stand() {
    let cases = [
        ("packet 0 eth/ipv4(dts=1)", "dts", "`ipv4` has no field `dts`", "did you mean `dst`?"),
        ("expect 0 eth/ipv5 $", "ipv5", "there is no layer `ipv5`", "did you mean `ipv4`?"),
        ("packet 0 eth/01", "01", "neither a layer nor payload", "0x"),
        ("expect 0 eth(dst=**)", "*", "expected an address", ""),
        ("packet 0 eht", "eht", "there is no layer `eht`", "did you mean `eth`?"),
    ];
    for (line, place, message, help) in cases {
        let parsed = stf::parse("x.stf", line);
        let fault = parsed.diagnostics.iter().next().unwrap_or_else(|| panic!("{line}: no fault"));
        assert_eq!((fault.code.id, parsed.sources.text(fault.primary.span)), ("P2514", place), "{line}");
        let shown = human(fault, &parsed.sources, Style::default());
        assert!(shown.contains(message) && shown.contains(help), "{shown}");
    }
}

#[test]
fn an_expected_packet_of_layers_is_compared_by_its_bytes() {
    let script = "expect 1 eth/ipv4(ttl=63)/udp/\"x\"$\nexpect 1 eth/ipv4\n";
    let parsed = stf::parse("x.stf", script);
    assert!(!parsed.diagnostics.has_errors());
    let packet = |text: &str| craft::packet(text).unwrap();
    let good = vec![packet("eth/ipv4(ttl=63)/udp/\"x\""), packet("eth/ipv4/zeros(0)/0x01")];
    let faults = |packets: Vec<Vec<u8>>| {
        let sent = BTreeMap::from([(1, packets)]);
        let faults = compare(&parsed.script, &sent);
        let shown = |fault: &stf::expect::Fault<'_>| {
            human(&fault.diagnostic(&parsed.sources, &|_, _| None), &parsed.sources, Style::default())
        };
        faults.iter().map(shown).collect::<Vec<_>>()
    };
    // The second expectation is the beginning of a longer packet, whose length differs.
    let with_length = faults(good.clone());
    assert_eq!(with_length.len(), 1, "{with_length:?}");
    assert!(with_length[0].contains("packet 2 of port 1 differs at byte 17"), "{}", with_length[0]);
    let other_ttl = faults(vec![packet("eth/ipv4(ttl=62)/udp/\"x\""), packet("eth/ipv4")]);
    assert_eq!(other_ttl.len(), 1, "{other_ttl:?}");
    let place = "expect 1 eth/ipv4(ttl=63)/udp/\"x\"$\n  |          ^^^^^^^^^^^^^^^^^^^^^^^^^ ";
    assert!(other_ttl[0].contains("byte 22") && other_ttl[0].contains(place), "{}", other_ttl[0]);
}
