//! Scripts in bursts of every size: what holds packet by packet holds in each of them.

use crate::{Dut, Run, Step, Trial, first_difference};
use diagnostics::Diagnostic;
use native::{BurstPath, Layout};
use std::ops::RangeInclusive;

/// The largest burst of a sweep, in packets: four times as many as a worker receives at once, so that it becomes several
/// bursts of compiled code.
pub const BURST_MAX: usize = 256;

/// A script fails in bursts.
#[derive(Debug)]
pub struct Failure {
    pub path: BurstPath,
    /// The smallest size at which it does, in packets.
    pub n_max: usize,
    pub faults: Vec<Diagnostic>,
    /// The first difference from single packets, in words.
    pub difference: Option<String>,
}

/// Runs a script in bursts of every size on every path of a program; returns the first failure on each of them.
/// `expected` is the transcript of single packets. Bursts larger than the longest row of packets are equal to one of
/// that size, so the sweep ends there.
pub fn sweep<E>(
    trial: &Trial<'_>,
    layout: &Layout,
    expected: &[Step],
    fresh: &mut dyn FnMut(BurstPath) -> Result<Box<dyn Dut>, E>,
) -> Result<Vec<Failure>, E> {
    let mut failures = Vec::new();
    for path in BurstPath::of(layout).iter().copied() {
        // Single packets have taken the path that the program chooses.
        let first = if path == BurstPath::Auto { 2 } else { 1 };
        let sizes = first..=trial.plan.longest_burst().min(BURST_MAX);
        failures.extend(first_failure(trial, path, sizes, expected, fresh)?);
    }
    Ok(failures)
}

fn first_failure<E>(
    trial: &Trial<'_>,
    path: BurstPath,
    sizes: RangeInclusive<usize>,
    expected: &[Step],
    fresh: &mut dyn FnMut(BurstPath) -> Result<Box<dyn Dut>, E>,
) -> Result<Option<Failure>, E> {
    for n_max in sizes {
        let Run { report, steps } = trial.run(&mut *fresh(path)?, n_max);
        let difference = first_difference(expected, &steps);
        if !report.is_success() || difference.is_some() {
            return Ok(Some(Failure { path, n_max, faults: report.faults, difference }));
        }
    }
    Ok(None)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::Arriving;
    use control::{Data, DigestId, Entity, Fault, Query, Schema, Target, Update};
    use std::convert::Infallible;
    use std::sync::Arc;
    use target::traffic::{Destination, Output, Totals};
    use trace::Observer;

    /// Sends each packet back to its port.
    #[derive(Clone, Default)]
    pub(crate) struct Echo {
        /// The last two of a burst of three and more change places.
        pub swaps: bool,
        /// The last of a burst of three and more leaves once more.
        pub repeats: bool,
        /// Copies of every packet.
        pub n_copies: usize,
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
            let output = |p: &Arriving<'_>| Output {
                destination: Destination::Port(p.port),
                bytes: p.bytes.to_vec(),
                at_ns: 0,
            };
            let copies = |p: &Arriving<'_>| vec![output(p); 1 + self.n_copies];
            let mut outputs: Vec<Vec<Output>> = burst.iter().map(copies).collect();
            if let (true, [.., _, a, b]) = (self.swaps, &mut outputs[..]) {
                std::mem::swap(a, b);
            }
            if let (true, [.., _, _, last]) = (self.repeats, &mut outputs[..]) {
                last.push(last[0].clone());
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

    const SWAPS: Echo = Echo { swaps: true, repeats: false, n_copies: 0 };
    const REPEATS: Echo = Echo { swaps: false, repeats: true, n_copies: 0 };

    /// The size at which a script fails, whether its expectations do, and the difference.
    fn tried(text: &str, echo: &Echo) -> Option<(usize, bool, Option<String>)> {
        let parsed = stf::parse("test.stf", text);
        let schema = Arc::new(Schema::new(&Default::default()).unwrap());
        let (plan, faults) = stf::resolve(&parsed.script, &schema);
        assert!(faults.iter().next().is_none());
        let trial = Trial { script: &parsed.script, plan: &plan, sources: &parsed.sources, schema };
        let alone = trial.run(&mut echo.clone(), 1);
        assert!(alone.report.is_success());
        let mut fresh = |_| Ok::<Box<dyn Dut>, Infallible>(Box::new(echo.clone()));
        let sizes = 1..=plan.longest_burst();
        let Ok(failure) = first_failure(&trial, BurstPath::Auto, sizes, &alone.steps, &mut fresh);
        failure.map(|failure| (failure.n_max, !failure.faults.is_empty(), failure.difference))
    }

    #[test]
    fn faults_of_bursts_are_found() {
        let script = "packet 1 0a\nexpect 1 0a\npacket 1 0b\nexpect 1 0b\npacket 1 0c\nexpect 1 0c\n";
        let difference = "after packet 2\n  first: port 1: 0b\n  now:   port 1: 0c";
        assert_eq!(tried(script, &SWAPS), Some((3, true, Some(difference.to_string()))));
        let difference = "after packet 3\n  first: port 1: 0c\n  now:   port 1: 0c, port 1: 0c";
        assert_eq!(tried(script, &REPEATS), Some((3, true, Some(difference.to_string()))));
        // Neither happens in bursts of two.
        let script = "packet 1 0a\nexpect 1 0a\nwait\npacket 1 0b\nexpect 1 0b\npacket 1 0c\nexpect 1 0c\n";
        assert_eq!((tried(script, &SWAPS), tried(script, &REPEATS)), (None, None));
        // The transcript shows an order that the expectations leave open.
        let script = "packet 1 0a\nexpect 1\npacket 1 0b\nexpect 1\npacket 1 0c\nexpect 1\n";
        assert!(matches!(tried(script, &SWAPS), Some((3, false, Some(_)))));
    }
}
