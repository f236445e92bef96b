//! Packets of a script that follow each other arrive together.

use control::{Data, DigestId, Entity, Fault, Query, Schema, Target, Update};
use stf::{Arriving, Dut, Report};
use target::traffic::{Destination, Output, Totals};
use trace::Observer;

/// Sends packets back to their port and once more to the port that the first byte names, and remembers the lengths of
/// bursts.
#[derive(Default)]
struct Echo {
    bursts: Vec<usize>,
    /// Outputs leave from the last packet to the first.
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

impl Dut for Echo {
    fn target(&mut self) -> &mut dyn Target {
        self
    }

    fn receive(&mut self, burst: &[Arriving<'_>], _observer: &mut dyn Observer) -> Vec<Vec<Output>> {
        self.bursts.push(burst.len());
        let output = |port, bytes: &[u8]| Output {
            destination: Destination::Port(port),
            bytes: bytes.to_vec(),
            at_ns: 0,
        };
        let both = |p: &Arriving<'_>| vec![output(p.port, p.bytes), output(u32::from(p.bytes[0]), p.bytes)];
        let mut outputs: Vec<Vec<Output>> = burst.iter().map(both).collect();
        if self.is_wrong {
            outputs.reverse();
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
        Totals::default()
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
