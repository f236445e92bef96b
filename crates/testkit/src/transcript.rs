//! The record of a run, and the first difference between two of them.

use crate::{Arriving, Dut};
use control::{Data, DigestId, Target};
use target::store::TableUse;
use target::traffic::{Output, Totals};
use trace::Observer;

/// Bytes of a packet shown where backends differ.
const BYTES_SHOWN: usize = 256;

/// Something that happened to a switch, and its effects.
#[derive(Debug, PartialEq, Eq)]
pub struct Step {
    event: Event,
    /// Packets that left, with their ports.
    sent: Vec<(u32, Vec<u8>)>,
    digests: Vec<(DigestId, Data)>,
}

#[derive(Debug, PartialEq, Eq)]
enum Event {
    /// On a port.
    Received(u32),
    /// Nanoseconds passed.
    Waited(u64),
    DigestsTaken,
}

/// A switch under test that records what happens to it.
pub(crate) struct Recorded<'d> {
    dut: &'d mut dyn Dut,
    pub(crate) steps: Vec<Step>,
}

impl<'d> Recorded<'d> {
    pub(crate) fn new(dut: &'d mut dyn Dut) -> Recorded<'d> {
        Recorded { dut, steps: Vec::new() }
    }

    fn record(&mut self, event: Event, outputs: &[Output], digests: &[(DigestId, Data)]) {
        let sent = outputs.iter().filter_map(|output| Some((output.port()?, output.bytes.clone()))).collect();
        self.steps.push(Step { event, sent, digests: digests.to_vec() });
    }
}

impl Dut for Recorded<'_> {
    fn target(&mut self) -> &mut dyn Target {
        self.dut.target()
    }

    fn receive(&mut self, burst: &[Arriving<'_>], observer: &mut dyn Observer) -> Vec<Vec<Output>> {
        let outputs = self.dut.receive(burst, observer);
        for (packet, outputs) in burst.iter().zip(&outputs) {
            self.record(Event::Received(packet.port), outputs, &[]);
        }
        outputs
    }

    fn advance_clock(&mut self, duration_ns: u64, observer: &mut dyn Observer) -> Vec<Output> {
        let outputs = self.dut.advance_clock(duration_ns, observer);
        self.record(Event::Waited(duration_ns), &outputs, &[]);
        outputs
    }

    fn set_host_port(&mut self, port: u32, is_host: bool) {
        self.dut.set_host_port(port, is_host);
    }

    fn table_use(&self, table: &str) -> Option<TableUse> {
        self.dut.table_use(table)
    }

    fn set_profile(&mut self, table: &str, profile: u8, timeout_ns: u64) -> bool {
        self.dut.set_profile(table, profile, timeout_ns)
    }

    fn notify_of_idle_entries(&mut self) {
        self.dut.notify_of_idle_entries();
    }

    fn take_digests(&mut self) -> Vec<(DigestId, Data)> {
        let digests = self.dut.take_digests();
        self.record(Event::DigestsTaken, &[], &digests);
        digests
    }

    fn now_ns(&self) -> u64 {
        self.dut.now_ns()
    }

    fn n_queued(&self) -> u64 {
        self.dut.n_queued()
    }

    fn totals(&self) -> Totals {
        self.dut.totals()
    }
}

/// The first difference between two runs, in words that follow their names; `None` if there is none.
pub fn first_difference(expected: &[Step], found: &[Step]) -> Option<String> {
    let mut n_packets = 0;
    for (expected, found) in expected.iter().zip(found) {
        n_packets += usize::from(matches!(expected.event, Event::Received(_)));
        if expected != found {
            let sides = format!("\n  first: {}\n  now:   {}", shown(expected), shown(found));
            return Some(format!("after packet {n_packets}{sides}"));
        }
    }
    (expected.len() != found.len()).then(|| format!("after packet {n_packets}: one ends before the other"))
}

fn shown(step: &Step) -> String {
    let mut parts: Vec<String> = Vec::new();
    for (port, bytes) in &step.sent {
        let hex: String = bytes.iter().take(BYTES_SHOWN).map(|b| format!("{b:02x}")).collect();
        parts.push(format!("port {port}: {hex}"));
    }
    for (digest, data) in &step.digests {
        parts.push(format!("{digest:?}: {data:?}"));
    }
    if parts.is_empty() { "nothing".to_string() } else { parts.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(port: u32, bytes: &[u8]) -> Step {
        Step { event: Event::Received(0), sent: vec![(port, bytes.to_vec())], digests: Vec::new() }
    }

    #[test]
    fn differences_are_found() {
        let run = || vec![sent(1, &[1, 2]), sent(2, &[3])];
        assert_eq!(first_difference(&run(), &run()), None);
        let cases = [
            (
                vec![sent(1, &[1, 2]), sent(3, &[3])],
                "after packet 2\n  first: port 2: 03\n  now:   port 3: 03",
            ),
            (
                vec![sent(1, &[1, 3]), sent(2, &[3])],
                "after packet 1\n  first: port 1: 0102\n  now:   port 1: 0103",
            ),
            (vec![sent(1, &[1, 2])], "after packet 1: one ends before the other"),
        ];
        for (found, expected) in cases {
            assert_eq!(first_difference(&run(), &found).as_deref(), Some(expected));
        }
    }
}
