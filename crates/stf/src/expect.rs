//! Expected packets, and messages about packets that differ.
//!
//! Start at [`compare`], which holds the packets that left the ports against what a script expects, and
//! [`Fault::diagnostic`], which shows a difference.

use crate::codes;
use crate::script::{CommandKind, Port, Script};
use diagnostics::{Diagnostic, SourceMap, Span};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// A packet that has to leave a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectation {
    pub port: Port,
    /// `None`: a packet of any content.
    pub pattern: Option<Pattern>,
    /// From the port to the end of the pattern.
    pub span: Span,
}

/// The beginning of a packet, or all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// `None` is a `*`.
    pub nibbles: Vec<Option<u8>>,
    /// Nothing may follow (`$`).
    pub is_exact: bool,
    pub notation: Notation,
    pub span: Span,
}

/// How a pattern is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation {
    /// One character for each nibble.
    Digits,
    /// Layers with fields, see crate `craft`.
    Layers,
}

/// The first difference between a packet and a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mismatch {
    Nibble {
        /// In nibbles from the start of the packet; the upper half of a byte comes first.
        offset: usize,
        expected: u8,
        got: u8,
    },
    /// The packet ends before the pattern does.
    TooShort { expected_nibbles: usize, got_nibbles: usize },
    /// The packet goes on although the pattern says that it ends.
    TooLong { expected_nibbles: usize, got_nibbles: usize },
}

impl Mismatch {
    /// In nibbles: the first that is wrong, missing or too many.
    pub fn offset(self) -> usize {
        match self {
            Mismatch::Nibble { offset, .. } => offset,
            Mismatch::TooShort { got_nibbles, .. } => got_nibbles,
            Mismatch::TooLong { expected_nibbles, .. } => expected_nibbles,
        }
    }
}

/// The `i`th half of a byte.
fn nibble(packet: &[u8], i: usize) -> Option<u8> {
    packet.get(i / 2).map(|byte| if i.is_multiple_of(2) { byte >> 4 } else { byte & 15 })
}

impl Pattern {
    /// The first difference; `None` when the packet is as expected.
    pub fn mismatch(&self, packet: &[u8]) -> Option<Mismatch> {
        let (expected_nibbles, got_nibbles) = (self.nibbles.len(), packet.len() * 2);
        for (offset, expected) in self.nibbles.iter().enumerate() {
            match (*expected, nibble(packet, offset)) {
                (_, None) => return Some(Mismatch::TooShort { expected_nibbles, got_nibbles }),
                (Some(expected), Some(got)) if expected != got => {
                    return Some(Mismatch::Nibble { offset, expected, got });
                }
                _ => {}
            }
        }
        (self.is_exact && got_nibbles > expected_nibbles)
            .then_some(Mismatch::TooLong { expected_nibbles, got_nibbles })
    }
}

impl Expectation {
    pub fn mismatch(&self, packet: &[u8]) -> Option<Mismatch> {
        self.pattern.as_ref().and_then(|pattern| pattern.mismatch(packet))
    }
}

/// Which ports of the switch a test looks at.
///
/// A port that the script does not name is not attached: what is sent to it is lost, which is how many scripts
/// test that a packet is dropped. A port that is named must send exactly what is expected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attached {
    pub ports: BTreeSet<u32>,
    /// `no_packet` without port: ports that are not named must be silent, too.
    pub others_are_silent: bool,
}

impl Script {
    pub fn attached(&self) -> Attached {
        let mut attached = Attached::default();
        for command in &self.commands {
            match &command.kind {
                CommandKind::Packet { port, .. } | CommandKind::NoPacket { port: Some(port) } => {
                    attached.ports.insert(port.number);
                }
                CommandKind::Expect(expectation) => {
                    attached.ports.insert(expectation.port.number);
                }
                CommandKind::NoPacket { port: None } => attached.others_are_silent = true,
                _ => {}
            }
        }
        attached
    }

    /// True if a command expects or compares something.
    pub fn has_check(&self) -> bool {
        self.commands.iter().any(|command| match &command.kind {
            CommandKind::Expect(_)
            | CommandKind::NoPacket { .. }
            | CommandKind::ExpectDigest { .. }
            | CommandKind::CheckTable { .. } => true,
            CommandKind::CheckCounter { check, .. } | CommandKind::CounterRead { check, .. } => {
                check.is_some()
            }
            CommandKind::CheckMeter { check, .. } => check.is_some(),
            CommandKind::RegisterRead { check, .. } => check.is_some(),
            _ => false,
        })
    }

    /// The warning that a script checks nothing, `None` if it does.
    pub fn check_missing(&self, sources: &SourceMap) -> Option<Diagnostic> {
        if self.has_check() {
            return None;
        }
        let place = self.commands.last().map_or_else(|| last_line(sources), |command| command.span);
        let diagnostic = Diagnostic::new(&codes::NO_CHECK, place, "the script checks nothing")
            .note("no line is `expect`, `no_packet`, `expect_digest`, `check_table` or a comparison of a counter or register")
            .help("after `packet`, write `expect PORT` for a packet that leaves, or `no_packet` if none may leave");
        Some(diagnostic)
    }

    /// All expectations in order.
    pub fn expectations(&self) -> Vec<&Expectation> {
        self.commands
            .iter()
            .filter_map(|command| match &command.kind {
                CommandKind::Expect(expectation) => Some(expectation),
                _ => None,
            })
            .collect()
    }
}

/// An expectation that was not met, or a packet that nobody expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault<'a> {
    /// No packet was left for this expectation; `n_sent` is the number of packets that the port sent.
    Missing {
        expectation: &'a Expectation,
        n_expected: usize,
        n_sent: usize,
    },
    Differs {
        expectation: &'a Expectation,
        /// Which of the port's packets, from 0.
        packet_idx: usize,
        packet: &'a [u8],
        mismatch: Mismatch,
    },
    Unexpected {
        port: u32,
        packet_idx: usize,
        packet: &'a [u8],
        n_expected: usize,
        n_sent: usize,
    },
}

/// Holds what the ports sent, each in its order, against the expectations, each port's in their order.
pub fn compare<'a>(script: &'a Script, sent: &'a BTreeMap<u32, Vec<Vec<u8>>>) -> Vec<Fault<'a>> {
    let attached = script.attached();
    let mut expected: BTreeMap<u32, Vec<&Expectation>> = BTreeMap::new();
    for expectation in script.expectations() {
        expected.entry(expectation.port.number).or_default().push(expectation);
    }
    let ports: BTreeSet<u32> = match attached.others_are_silent {
        true => attached.ports.iter().chain(sent.keys()).copied().collect(),
        false => attached.ports,
    };
    let mut faults = Vec::new();
    for port in ports {
        let expected = expected.get(&port).map_or(&[][..], Vec::as_slice);
        let sent = sent.get(&port).map_or(&[][..], Vec::as_slice);
        compare_port(port, expected, sent, &mut faults);
    }
    faults
}

/// When the numbers agree, packets are compared one by one. Otherwise a packet that is as a later expectation
/// wants it shows that the earlier one was not met, and the other way round: one lost packet is one fault.
fn compare_port<'a>(
    port: u32,
    expected: &[&'a Expectation],
    sent: &'a [Vec<u8>],
    faults: &mut Vec<Fault<'a>>,
) {
    let (n_expected, n_sent) = (expected.len(), sent.len());
    let missing = |expectation| Fault::Missing { expectation, n_expected, n_sent };
    let unexpected = |packet_idx: usize, packet: &'a Vec<u8>| Fault::Unexpected {
        port,
        packet_idx,
        packet,
        n_expected,
        n_sent,
    };
    let (mut e, mut s) = (0, 0);
    while let (Some(expectation), Some(packet)) = (expected.get(e), sent.get(s)) {
        let Some(mismatch) = expectation.mismatch(packet) else {
            (e, s) = (e + 1, s + 1);
            continue;
        };
        let (left_expected, left_sent) = (n_expected - e, n_sent - s);
        let surplus = left_expected.saturating_sub(left_sent);
        let later = expected[e..].iter().take(surplus + 1).position(|x| x.mismatch(packet).is_none());
        if let Some(n) = later {
            faults.extend(expected[e..e + n].iter().map(|x| missing(x)));
            e += n;
            continue;
        }
        let surplus = left_sent.saturating_sub(left_expected);
        let later = sent[s..].iter().take(surplus + 1).position(|p| expectation.mismatch(p).is_none());
        if let Some(n) = later {
            faults.extend(sent[s..s + n].iter().enumerate().map(|(i, p)| unexpected(s + i, p)));
            s += n;
            continue;
        }
        faults.push(Fault::Differs { expectation, packet_idx: s, packet, mismatch });
        (e, s) = (e + 1, s + 1);
    }
    faults.extend(expected[e..].iter().map(|x| missing(x)));
    faults.extend(sent[s..].iter().enumerate().map(|(i, p)| unexpected(s + i, p)));
}

/// Names the header field at an offset in bits of a packet, as in `ipv4.ttl`.
pub type Decode<'a> = &'a dyn Fn(&[u8], usize) -> Option<String>;

impl Fault<'_> {
    /// The fault with the place in the script, the two packets below each other, and the name of the field
    /// that `decode` finds there.
    pub fn diagnostic(&self, sources: &SourceMap, decode: Decode<'_>) -> Diagnostic {
        match self {
            Fault::Missing { expectation, n_expected, n_sent } => {
                let port = expectation.port.number;
                let message = format!("no packet left port {port} as expected");
                Diagnostic::new(&codes::PACKET_MISSING, expectation.span, message)
                    .label("expected this")
                    .note(numbers(port, *n_expected, *n_sent))
            }
            Fault::Unexpected { port, packet_idx, packet, n_expected, n_sent } => {
                let message = format!("port {port} sent a packet that was not expected");
                let mut note = format!("packet {} of port {port}:\n", packet_idx + 1);
                note.push_str(&hex_lines("sent", packet));
                let place = last_line(sources);
                Diagnostic::new(&codes::PACKET_UNEXPECTED, place, message)
                    .note(numbers(*port, *n_expected, *n_sent))
                    .note(note.trim_end())
            }
            Fault::Differs { expectation, packet_idx, packet, mismatch } => {
                let port = expectation.port.number;
                let offset = mismatch.offset();
                let at = position(offset, decode(packet, offset * 4));
                let (what, label) = match mismatch {
                    Mismatch::Nibble { expected, got, .. } => {
                        (format!("differs at {at}"), format!("expected `{expected:x}`, got `{got:x}`"))
                    }
                    Mismatch::TooShort { expected_nibbles, got_nibbles } => (
                        "is too short".to_string(),
                        format!("expected {}, got {}", length(*expected_nibbles), length(*got_nibbles)),
                    ),
                    Mismatch::TooLong { expected_nibbles, got_nibbles } => (
                        "is too long".to_string(),
                        format!("expected {}, got {}", length(*expected_nibbles), length(*got_nibbles)),
                    ),
                };
                let message = format!("packet {} of port {port} {what}", packet_idx + 1);
                let place = nibble_span(sources, expectation, offset);
                let mut diagnostic = Diagnostic::new(&codes::PACKET_DIFFERS, place, message).label(label);
                if let Some(pattern) = &expectation.pattern {
                    diagnostic = diagnostic.note(side_by_side(pattern, packet, *mismatch));
                }
                diagnostic
            }
        }
    }
}

fn numbers(port: u32, n_expected: usize, n_sent: usize) -> String {
    let packets = |n: usize| if n == 1 { "1 packet".to_string() } else { format!("{n} packets") };
    format!("port {port} was to send {} and sent {}", packets(n_expected), packets(n_sent))
}

fn length(n_nibbles: usize) -> String {
    match (n_nibbles / 2, n_nibbles % 2) {
        (1, 0) => "1 byte".to_string(),
        (n, 0) => format!("{n} bytes"),
        (n, _) => format!("{n}.5 bytes"),
    }
}

fn position(offset: usize, field: Option<String>) -> String {
    let half = if offset.is_multiple_of(2) { "upper" } else { "lower" };
    match field {
        Some(field) => format!("byte {} ({half} half, in `{field}`)", offset / 2),
        None => format!("byte {} ({half} half)", offset / 2),
    }
}

/// Where an expectation writes its `offset`th nibble; its end when there are not so many. All of it when it is written as
/// layers.
fn nibble_span(sources: &SourceMap, expectation: &Expectation, offset: usize) -> Span {
    let Some(pattern) = &expectation.pattern else {
        return expectation.span;
    };
    match pattern.notation {
        Notation::Layers => return pattern.span,
        Notation::Digits => {}
    }
    let text = sources.text(pattern.span);
    let mut places = text.char_indices().filter(|(_, c)| !matches!(c, ' ' | '\t'));
    let at = match places.nth(offset) {
        Some((at, c)) => at..at + c.len_utf8(),
        None => text.len()..text.len(),
    };
    Span::new(pattern.span.lo + at.start as u32, pattern.span.lo + at.end as u32)
}

/// The end of the script: where an expectation would be added.
fn last_line(sources: &SourceMap) -> Span {
    sources.files().next().map_or(Span::NONE, |(id, file)| {
        let end = file.text.trim_end().len() as u32;
        sources.span(id, end, end)
    })
}

/// Nibbles of a packet that a line shows.
const LINE_NIBBLES: usize = 32;

/// Lines shown before and after the line of interest.
const LINES_BEFORE: usize = 2;
const LINES_AFTER: usize = 1;

/// A line of digits in groups of 8.
fn line(digits: impl Iterator<Item = char>) -> String {
    let mut line = String::new();
    for (i, digit) in digits.enumerate() {
        if i > 0 && i.is_multiple_of(8) {
            line.push(' ');
        }
        line.push(digit);
    }
    line
}

fn digit(nibble: u8) -> char {
    char::from_digit(u32::from(nibble), 16).unwrap_or('?')
}

/// The first bytes of a packet, each line with its offset in bytes.
fn hex_lines(what: &str, packet: &[u8]) -> String {
    let mut text = String::new();
    let n_lines = (packet.len() * 2).div_ceil(LINE_NIBBLES).max(1);
    for n in 0..n_lines.min(LINES_BEFORE + 1 + LINES_AFTER) {
        let digits = (n * LINE_NIBBLES..(n + 1) * LINE_NIBBLES).map_while(|i| nibble(packet, i)).map(digit);
        let _ = writeln!(text, "{what:<8} {:>4}: {}", n * LINE_NIBBLES / 2, line(digits));
    }
    if n_lines > LINES_BEFORE + 1 + LINES_AFTER {
        let _ = writeln!(text, "({} bytes in all)", packet.len());
    }
    text
}

/// Expected and sent lines below each other, with a caret below the first difference.
fn side_by_side(pattern: &Pattern, packet: &[u8], mismatch: Mismatch) -> String {
    let offset = mismatch.offset();
    let n_nibbles = pattern.nibbles.len().max(packet.len() * 2).max(offset + 1);
    let the_line = offset / LINE_NIBBLES;
    let first = the_line.saturating_sub(LINES_BEFORE);
    let last = (the_line + LINES_AFTER).min((n_nibbles - 1) / LINE_NIBBLES);
    let expected = |i: usize| match pattern.nibbles.get(i) {
        Some(nibble) => Some(nibble.map_or('*', digit)),
        None => (i == pattern.nibbles.len() && pattern.is_exact).then_some('$'),
    };
    let mut text = String::new();
    for n in first..=last {
        let nibbles = n * LINE_NIBBLES..(n + 1) * LINE_NIBBLES;
        let at = n * LINE_NIBBLES / 2;
        let _ = writeln!(text, "expected {at:>4}: {}", line(nibbles.clone().map_while(expected)));
        let _ =
            writeln!(text, "got      {at:>4}: {}", line(nibbles.map_while(|i| nibble(packet, i)).map(digit)));
        if n == the_line {
            let column = offset % LINE_NIBBLES;
            let _ = writeln!(text, "               {:>1$}", '^', column + column / 8 + 1);
        }
    }
    text.trim_end().to_string()
}
