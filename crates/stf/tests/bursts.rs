//! Which packets of a script come together.

use control::{Data, DigestId, Entity, Fault, Query, Schema, Target, Update};
use stf::{Arriving, Device, Report};

/// Sends packets back where they came from, each to the port that its first byte names once more, and remembers how
/// many came together.
#[derive(Default)]
struct Echo {
    bursts: Vec<usize>,
    /// What packets have led to goes out from the last one to the first.
    is_wrong: bool,
}

impl Target for Echo {
    fn write(&mut self, _update: &Update) -> Result<(), Fault> {
        Ok(())
    }

    fn read(&self, _query: &Query) -> Result<Vec<Entity>, Fault> {
        Ok(Vec::new())
    }
}

impl Device for Echo {
    fn receive(&mut self, burst: &[Arriving<'_>], sent: &mut dyn FnMut(usize, u32, &[u8])) {
        self.bursts.push(burst.len());
        let mut packets: Vec<_> = burst.iter().enumerate().collect();
        if self.is_wrong {
            packets.reverse();
        }
        for (i, packet) in packets {
            sent(i, packet.port, packet.bytes);
            sent(i, u32::from(packet.bytes[0]), packet.bytes);
        }
    }

    fn advance_clock(&mut self, _duration_ns: u64, _sent: &mut dyn FnMut(u32, &[u8])) {}

    fn take_digests(&mut self) -> Vec<(DigestId, Data)> {
        Vec::new()
    }
}

/// Rows of three, one, and four packets.
const SCRIPT: &str = "
packet 1 0500
expect 1 0500
expect 5 0500
packet 1 0501
expect 1 0501
# Between packets of a row.
expect 5 0501
packet 2 0502
wait
packet 1 0600
expect 1 0600
clock 1ms
packet 1 0503
packet 1 0504
packet 1 0505
packet 1 0506
expect 5 0502
expect 2 0502
expect 1 0503
expect 1 0504
expect 1 0505
expect 1 0506
expect 5 0503
expect 5 0504
expect 5 0505
expect 5 0506
";

fn run(echo: &mut Echo, n_max: usize) -> (Report, usize) {
    let parsed = stf::parse("bursts.stf", SCRIPT);
    let schema = Schema::new(&Default::default()).unwrap();
    let (plan, faults) = stf::resolve(&parsed.script, &schema);
    assert!(parsed.diagnostics.iter().chain(faults.iter()).next().is_none());
    let stf::Parsed { script, sources, .. } = &parsed;
    let report = stf::run_in_bursts(script, &plan, sources, &schema, echo, &|_, _| None, n_max);
    (report, plan.longest_burst())
}

#[test]
fn rows_of_packets_come_together() {
    let cases: [(usize, &[usize]); 5] =
        [(1, &[1; 8]), (2, &[2, 1, 1, 2, 2]), (3, &[3, 1, 3, 1]), (4, &[3, 1, 4]), (256, &[3, 1, 4])];
    for (n_max, expected) in cases {
        let mut echo = Echo::default();
        let (report, longest) = run(&mut echo, n_max);
        assert_eq!((echo.bursts.as_slice(), longest), (expected, 4));
        assert_eq!((report.n_received, report.is_success()), (8, true));
    }
}

#[test]
fn expectations_hold_in_each_size_or_in_none() {
    for n_max in 1..=4 {
        let (report, _) = run(&mut Echo { is_wrong: true, ..Echo::default() }, n_max);
        assert_eq!(report.is_success(), n_max == 1);
    }
}
