//! Test scripts in bursts of every size: what holds packet by packet holds in each of them.

use super::backends::Compiled;
use super::script::{Step, Trial, first_difference};
use crate::output::Exit;
use diagnostics::Diagnostic;
use native::BurstPath;
use std::ops::RangeInclusive;
use target::Config;

/// Four times what a switch takes at once: a burst becomes several of those that compiled code takes.
const SIZE_MAX: usize = 256;

/// What goes wrong in bursts.
#[derive(Debug)]
pub struct Failure {
    pub path: BurstPath,
    /// The smallest size at which it does.
    pub n_max: usize,
    pub faults: Vec<Diagnostic>,
    /// From what single packets do.
    pub difference: Option<String>,
}

/// Lets a script run on a device that is fresh.
type OnFresh<'f> = &'f mut dyn FnMut(&mut dyn FnMut(&mut dyn stf::Device)) -> Result<(), Exit>;

/// Runs a script in bursts on every path that the program has; gives what goes wrong first on each of them. Larger
/// bursts than the longest row of packets are the same as one of that size.
pub fn failures(
    trial: &mut Trial<'_>,
    compiled: &Compiled,
    config: &Config,
    expected: &[Step],
) -> Result<Vec<Failure>, Exit> {
    let mut found = Vec::new();
    for path in BurstPath::of(compiled.layout()) {
        // Packets alone have gone as the program likes it best.
        let first = if *path == BurstPath::Auto { 2 } else { 1 };
        let sizes = first..=trial.plan.longest_burst().min(SIZE_MAX);
        let schema = std::sync::Arc::clone(&trial.schema);
        let on_fresh: OnFresh<'_> = &mut |run| {
            let mut device = compiled.device_on(&schema, config, *path)?;
            run(&mut stf::Straight::new(&mut device, &mut (), config));
            Ok(())
        };
        let failure = first_failure(trial, sizes, expected, on_fresh)?;
        found.extend(failure.map(|failure| Failure { path: *path, ..failure }));
    }
    Ok(found)
}

fn first_failure(
    trial: &mut Trial<'_>,
    sizes: RangeInclusive<usize>,
    expected: &[Step],
    on_fresh: OnFresh<'_>,
) -> Result<Option<Failure>, Exit> {
    for n_max in sizes {
        let mut result = None;
        on_fresh(&mut |device| result = Some(trial.run(device, n_max)))?;
        let Some((report, steps)) = result else { continue };
        let difference = first_difference(expected, &steps);
        if !report.is_success() || difference.is_some() {
            let path = BurstPath::Auto;
            return Ok(Some(Failure { path, n_max, faults: report.faults, difference }));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use control::{Data, DigestId};
    use stf::Arriving;

    /// Sends each packet back where it came from. The last of a burst of three and more goes out twice, or changes
    /// places with the one before.
    struct Echo {
        swaps: bool,
    }

    impl control::Target for Echo {
        fn write(&mut self, _update: &control::Update) -> Result<(), control::Fault> {
            Ok(())
        }

        fn read(&self, _query: &control::Query) -> Result<Vec<control::Entity>, control::Fault> {
            Ok(Vec::new())
        }
    }

    impl stf::Device for Echo {
        fn receive(&mut self, burst: &[Arriving<'_>], sent: &mut dyn FnMut(usize, u32, &[u8])) {
            let mut packets = burst.to_vec();
            if let (true, [.., _, a, b]) = (self.swaps, &mut packets[..]) {
                std::mem::swap(a, b);
            }
            for (i, packet) in packets.iter().enumerate() {
                sent(i, packet.port, packet.bytes);
            }
            if let (false, [.., _, _, last]) = (self.swaps, &packets[..]) {
                sent(packets.len() - 1, last.port, last.bytes);
            }
        }

        fn advance_clock(&mut self, _duration_ns: u64, _sent: &mut dyn FnMut(u32, &[u8])) {}

        fn take_digests(&mut self) -> Vec<(DigestId, Data)> {
            Vec::new()
        }
    }

    /// The size at which it fails, whether expectations do, and what differs.
    fn tried(text: &str, swaps: bool) -> Option<(usize, bool, Option<String>)> {
        let parsed = stf::parse("test.stf", text);
        let schema = std::sync::Arc::new(control::Schema::new(&Default::default()).unwrap());
        let (plan, faults) = stf::resolve(&parsed.script, &schema);
        assert!(faults.iter().next().is_none());
        let mut trial = Trial { script: &parsed.script, plan: &plan, sources: &parsed.sources, schema };
        let (alone, expected) = trial.run(&mut Echo { swaps }, 1);
        assert!(alone.is_success());
        let on_fresh: OnFresh<'_> = &mut |run| {
            run(&mut Echo { swaps });
            Ok(())
        };
        let failure = first_failure(&mut trial, 1..=plan.longest_burst(), &expected, on_fresh).unwrap();
        failure.map(|failure| (failure.n_max, !failure.faults.is_empty(), failure.difference))
    }

    #[test]
    fn faults_of_bursts_are_found() {
        let script = "packet 1 0a\nexpect 1 0a\npacket 1 0b\nexpect 1 0b\npacket 1 0c\nexpect 1 0c\n";
        let difference = "after packet 2\n  first: port 1: 0b\n  now:   port 1: 0c";
        assert_eq!(tried(script, true), Some((3, true, Some(difference.to_string()))));
        let difference = "after packet 3\n  first: port 1: 0c\n  now:   port 1: 0c, port 1: 0c";
        assert_eq!(tried(script, false), Some((3, true, Some(difference.to_string()))));
        // Neither is there in bursts of two.
        let script = "packet 1 0a\nexpect 1 0a\nwait\npacket 1 0b\nexpect 1 0b\npacket 1 0c\nexpect 1 0c\n";
        assert_eq!((tried(script, true), tried(script, false)), (None, None));
        // Who sent it is seen where expectations are not that precise.
        let script = "packet 1 0a\nexpect 1\npacket 1 0b\nexpect 1\npacket 1 0c\nexpect 1\n";
        assert!(matches!(tried(script, true), Some((3, false, Some(_)))));
    }
}
