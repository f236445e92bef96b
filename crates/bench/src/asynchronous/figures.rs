//! Figures of `siding bench async`: measurements with one worker and one offload worker, and simulations of more of
//! them, calibrated by the measurements.

use crate::harness::{Goal, Report, Upwards};
use crate::report::Line;
use model::asynchronous::{Outcome, Scene, Way, lossless_cycles, predict, simulate};
use serde_json::json;

/// Maximum number of packets in flight; equal to `CAPACITY` in `crates/bench/c/async/stations.h`.
const CAPACITY: u32 = 1000;
const N_PACKETS: u64 = 200_000;
const SEED: u64 = 1;
const WORKERS: [u32; 7] = [1, 2, 3, 4, 6, 8, 16];
/// Maximum time in milliseconds until a worker reacts to a change of the block's cost.
const STEP_MS_MAX: f64 = 100.0;
/// Maximum share of its time that an unsaturated offload worker is busy.
const LOAD_MAX: f64 = 0.9;

/// Lines of one share, in percent.
struct Share<'a> {
    percent: u64,
    lines: Vec<&'a Line>,
}

fn shares(lines: &[Line]) -> Vec<Share<'_>> {
    let mut all: Vec<Share<'_>> = Vec::new();
    for line in lines {
        let percent = line.all["share"].as_u64().unwrap_or(0);
        match all.iter_mut().find(|share| share.percent == percent) {
            Some(share) => share.lines.push(line),
            None => all.push(Share { percent, lines: vec![line] }),
        }
    }
    all
}

impl Share<'_> {
    fn way(&self, way: &str) -> Vec<(u64, f64)> {
        self.lines.iter().filter(|l| l.word("path") == way).map(|l| (l.size, l.cycles)).collect()
    }

    /// Returns the ratio of `a` to `b` in cycles, for each size.
    fn over(&self, a: &str, b: &str) -> Vec<(u64, f64)> {
        let of = self.way(b);
        let other = |size| of.iter().find(|(n, _)| *n == size).map(|(_, cycles)| *cycles);
        self.way(a).into_iter().filter_map(|(size, cycles)| Some((size, cycles / other(size)?))).collect()
    }

    fn name(&self, what: &str) -> String {
        format!("{what}_{}_percent", self.percent)
    }

    /// Costs, from where the cheapest block is measured: what is not the block's is the way's.
    fn scene(&self) -> Option<Scene> {
        let share = self.percent as f64 / 100.0;
        let first = |way: &str| self.way(way).into_iter().min_by_key(|(size, _)| *size);
        let (_, base_cycles) = first("none")?;
        let (least, suspend) = first("suspend")?;
        let (_, wait) = first("wait")?;
        Some(Scene {
            base_cycles,
            share,
            block_cycles: least as f64,
            suspend_cycles: ((suspend - base_cycles) / share).max(1.0),
            round_trip_cycles: ((wait - base_cycles) / share - least as f64).max(1.0),
            n_workers: 1,
            n_offload_workers: 1,
            capacity: CAPACITY,
        })
    }

    /// Returns whether the offload worker has time for a block of `cost` cycles.
    fn is_free(&self, cost: u64) -> bool {
        self.scene().is_some_and(|scene| {
            let scene = Scene { block_cycles: cost as f64, ..scene };
            predict(&scene, Way::Suspend).offload_load < LOAD_MAX
        })
    }
}

fn ghz(lines: &[Line]) -> f64 {
    lines.first().and_then(|line| line.number("tsc_ghz")).unwrap_or(1.0)
}

/// Makes a line in the harness's format from a simulation.
fn simulated(work: &str, size: u64, way: Way, cycles: f64, ghz: f64, outcome: Option<&Outcome>) -> Line {
    let mut all = json!({
        "peer": "simulated", "version": env!("CARGO_PKG_VERSION"), "work": work, "size": size, "path": way.name(),
        "cycles": cycles, "cycles_min": cycles, "cycles_max": cycles, "mpps": ghz * 1e3 / cycles, "tsc_ghz": ghz,
        "unit": "packet", "capacity": CAPACITY,
    });
    if let Some(outcome) = outcome {
        all["offload_load"] = json!(outcome.offload_load);
        all["waited_cycles"] = json!(outcome.waited_cycles);
    }
    let (peer, work) = ("simulated".to_owned(), work.to_owned());
    Line { peer, work, size, cycles, cycles_min: cycles, all }
}

/// Figure 3.
pub(super) fn rates(lines: Vec<Line>) -> Report {
    let mut report = Report {
        title: "Packets of which some wait for an extern, TSC cycles per packet of the worker".to_string(),
        size_is: "extern's cycles",
        upwards: Upwards::Rate,
        ..Report::default()
    };
    let mut further = Vec::new();
    for share in shares(&lines) {
        report.judge(&share.name("wait_over_suspend"), share.over("wait", "suspend"), Goal::AtLeast(1.0));
        let inline = share.over("inline", "suspend");
        if share.percent >= 50 {
            // From 250 cycles on, until the offload worker has no more time.
            let is_judged = |(cost, _): &(u64, f64)| *cost >= 250 && share.is_free(*cost);
            let judged = inline.iter().copied().filter(is_judged).collect();
            report.judge(&share.name("inline_over_suspend_free"), judged, Goal::AtLeast(1.0));
        }
        report.notes.extend(behind(&share.name("inline_over_suspend"), &inline));
        report.ratios.push((share.name("inline_over_suspend"), inline));
        let Some(scene) = share.scene() else { continue };
        let none = share.over("none", "suspend");
        let kept = none.into_iter().filter(|(cost, _)| share.is_free(*cost)).collect();
        report.judge(&share.name("none_over_suspend_free"), kept, Goal::AtLeast(0.9));
        let mut off = Vec::new();
        for (way, name) in [(Way::Inline, "inline"), (Way::Wait, "wait"), (Way::Suspend, "suspend")] {
            for (cost, cycles) in share.way(name) {
                let scene = Scene { block_cycles: cost as f64, ..scene };
                let outcome = simulate(&scene, way, 0.0, N_PACKETS, SEED);
                let work = format!("{} percent", share.percent);
                further.push(simulated(&work, cost, way, outcome.cycles, ghz(&lines), Some(&outcome)));
                if way == Way::Suspend {
                    off.push((cost, outcome.cycles / cycles));
                }
            }
        }
        report.ratios.push((share.name("simulated_over_measured"), off));
    }
    report.notes.push(
        "Percent is the share of packets that call the extern. Goals on wait_over_suspend compare with a worker that waits for \
         the other core, those on inline_over_suspend_free with one that does the work itself, from 250 cycles on and while \
         the offload worker has time. Lines of \"simulated\" are a model with the measured costs."
            .to_string(),
    );
    report.lines = lines;
    report.lines.extend(further);
    report
}

/// Says at which costs suspending was slower than calling the extern on the worker itself, which goals may leave out.
fn behind(name: &str, over: &[(u64, f64)]) -> Option<String> {
    let costs: Vec<String> =
        over.iter().filter(|(_, ratio)| *ratio < 1.0).map(|(cost, _)| crate::report::short(*cost)).collect();
    let costs = costs.join(", ");
    (!costs.is_empty())
        .then(|| format!("Suspending is slower than inline ({name} below 1) at these costs: {costs}."))
}

/// How near the choice comes to the best of the ways between which it chooses.
pub(super) fn auto(lines: Vec<Line>) -> Report {
    let mut report = Report {
        title: "The worker's own choice beside the ways that it chooses from, TSC cycles per packet"
            .to_string(),
        size_is: "extern's cycles",
        upwards: Upwards::Rate,
        ..Report::default()
    };
    for share in shares(&lines).iter().filter(|share| share.percent > 0) {
        let ways = ["inline", "wait", "suspend"].map(|way| share.way(way));
        let best = |size: u64| {
            let of = ways.iter().flatten().filter(|(n, _)| *n == size).map(|(_, cycles)| *cycles);
            of.fold(f64::INFINITY, f64::min)
        };
        let over = share.way("auto").into_iter().map(|(size, cycles)| (size, cycles / best(size))).collect();
        report.judge(&share.name("auto_over_best"), over, Goal::AtMost(1.05));
    }
    let ghz = ghz(&lines);
    let steps: Vec<&Line> = lines.iter().filter(|line| line.word("unit") == "step").collect();
    let ms = steps.iter().map(|line| (line.size, line.cycles / (ghz * 1e6))).collect();
    report.judge("step_followed_ms", ms, Goal::AtMost(STEP_MS_MAX));
    let lost = steps.iter().filter_map(|line| Some((line.size, line.number("lost")?))).collect();
    report.judge("step_lost_packets", lost, Goal::AtMost(0.0));
    report.lines = lines.into_iter().filter(|line| line.word("unit") != "step").collect();
    report
}

/// Figure 4.
pub(super) fn drops(lines: Vec<Line>) -> Report {
    let mut report = Report {
        title: "Packets dropped because too many are under way, of those that come to the block".to_string(),
        size_is: "extern's cycles",
        upwards: Upwards::Dropped,
        ..Report::default()
    };
    for share in shares(&lines) {
        let off = |line: &&Line| {
            Some((line.size, (line.number("dropped")? - line.number("expected")?).abs() * 100.0))
        };
        let points = share.lines.iter().filter_map(off).collect();
        report.judge(&share.name("percent_off_expected"), points, Goal::AtMost(2.0));
    }
    report.lines = lines;
    report
}

/// Figure 5: one worker is measured, more are simulated.
pub(super) fn workers(lines: Vec<Line>) -> Report {
    let mut report = Report {
        title: "Packets a second of workers that share an offload worker, one in ten packets waiting"
            .to_string(),
        size_is: "workers",
        upwards: Upwards::Rate,
        ..Report::default()
    };
    let ghz = ghz(&lines);
    for share in shares(&lines) {
        let Some(scene) = share.scene() else { continue };
        let mut off = Vec::new();
        for (cost, measured) in share.way("suspend").into_iter().skip(1) {
            let work = format!("{cost} cycles");
            for line in share.lines.iter().filter(|l| l.size == cost && l.word("path") == "suspend") {
                let mut line = (*line).clone();
                (line.work, line.size) = (work.clone(), 1);
                line.all["work"] = json!(work);
                line.all["size"] = json!(1);
                report.lines.push(line);
            }
            for n_workers in WORKERS {
                let scene = Scene { block_cycles: cost as f64, n_workers, ..scene };
                let outcome = simulate(&scene, Way::Suspend, 0.0, N_PACKETS, SEED);
                if n_workers == 1 {
                    off.push((cost, outcome.cycles / measured));
                }
                let (n, cycles) = (u64::from(n_workers), outcome.cycles);
                report.lines.push(simulated(&work, n, Way::Suspend, cycles, ghz, Some(&outcome)));
            }
        }
        report.ratios.push(("simulated_over_measured".to_owned(), off));
    }
    report
}

/// Figure 6: one worker is measured, more are simulated.
pub(super) fn lossless(lines: Vec<Line>) -> Report {
    let mut report = Report {
        title: "Highest rate without loss with 1024 packets in front of each worker, TSC cycles between two packets"
            .to_string(),
        size_is: "workers",
        upwards: Upwards::Rate,
        ..Report::default()
    };
    let ghz = ghz(&lines);
    for share in shares(&lines) {
        let least = |way: &str| share.way(way).into_iter().min_by_key(|(cost, _)| *cost);
        let most = |way: &str| share.way(way).into_iter().max_by_key(|(cost, _)| *cost);
        let (Some((low, inline)), Some((_, suspend)), Some((_, wait)), Some((cost, measured))) =
            (least("inline"), least("suspend"), least("wait"), most("suspend"))
        else {
            continue;
        };
        let part = share.percent as f64 / 100.0;
        let base_cycles = (inline - part * low as f64).max(1.0);
        let scene = Scene {
            base_cycles,
            share: part,
            block_cycles: cost as f64,
            suspend_cycles: ((suspend - base_cycles) / part).max(1.0),
            round_trip_cycles: ((wait - base_cycles) / part - low as f64).max(1.0),
            n_workers: 1,
            n_offload_workers: 1,
            capacity: CAPACITY,
        };
        for line in share.lines.iter().filter(|line| line.size == cost) {
            let mut line = (*line).clone();
            line.size = 1;
            line.all["size"] = json!(1);
            report.lines.push(line);
        }
        for n_workers in WORKERS {
            let scene = Scene { n_workers, ..scene };
            for way in [Way::Inline, Way::Wait, Way::Suspend] {
                let cycles = lossless_cycles(&scene, way, N_PACKETS / 4, SEED);
                if n_workers == 1 && way == Way::Suspend {
                    report
                        .ratios
                        .push((share.name("simulated_over_measured"), vec![(cost, cycles / measured)]));
                }
                let (work, n) = (format!("{} percent", share.percent), u64::from(n_workers));
                report.lines.push(simulated(&work, n, way, cycles, ghz, None));
            }
        }
    }
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(share: u64, size: u64, path: &str, cycles: f64) -> Line {
        let text = json!({
            "peer": "siding", "version": "0", "work": format!("{share} percent"), "share": share, "size": size,
            "cycles": cycles, "cycles_min": cycles, "cycles_max": cycles, "mpps": 1.0, "runs": 1, "tsc_ghz": 1.0,
            "unit": "packet", "path": path, "dropped": 0.5, "expected": 0.51,
        });
        Line::parse(&text.to_string()).unwrap()
    }

    /// 100 cycles, 40 to send, 300 there and back.
    fn measured() -> Vec<Line> {
        let mut lines = Vec::new();
        for share in [10, 100] {
            let q = share as f64 / 100.0;
            for cost in [50, 250, 5000] {
                let k = cost as f64;
                let ways = [
                    ("none", 100.0),
                    ("inline", 100.0 + q * k),
                    ("wait", 100.0 + q * (k + 300.0)),
                    ("suspend", (100.0 + q * 40.0).max(q * k)),
                    ("auto", (100.0 + q * 40.0).max(q * k / 2.0)),
                ];
                lines.extend(ways.map(|(path, cycles)| line(share, cost, path, cycles)));
            }
        }
        lines
    }

    #[test]
    fn costs_at_which_suspending_is_slower_are_told() {
        let report = rates(measured());
        let told = |share: u64| {
            let name = format!("inline_over_suspend_{share}_percent");
            report.notes.iter().find(|note| note.contains(&name)).cloned()
        };
        // 100 + 0.1 * 50 cycles inline, 104 suspended; 100 + 50 inline, 140 suspended.
        let slower = |share: u64| {
            ratio(&report, &format!("inline_over_suspend_{share}_percent"))
                .iter()
                .any(|(_, ratio)| *ratio < 1.0)
        };
        for share in [10, 100] {
            assert_eq!(told(share).is_some(), slower(share), "{:?}", report.notes);
        }
        assert_eq!(
            behind("r", &[(50, 0.9), (250, 1.0), (5000, 0.5)]).unwrap(),
            "Suspending is slower than inline (r below 1) at these costs: 50, 5k."
        );
        assert!(report.notes.iter().any(|note| note.contains("compare with a worker that waits")));
    }

    fn ratio(report: &Report, name: &str) -> Vec<(u64, f64)> {
        report.ratios.iter().find(|(n, _)| n == name).unwrap_or_else(|| panic!("no {name}")).1.clone()
    }

    #[test]
    fn the_simulation_is_calibrated_by_what_was_measured() {
        let report = rates(measured());
        for name in ["simulated_over_measured_10_percent", "simulated_over_measured_100_percent"] {
            for (cost, off) in ratio(&report, name) {
                assert!((off - 1.0).abs() < 0.05, "{name} at {cost}: {off}");
            }
        }
        assert_eq!(ratio(&report, "wait_over_suspend_100_percent")[0], (50, 450.0 / 140.0));
        // At 5000 cycles the offload worker has no more time; nor at 250 if all packets wait.
        assert_eq!(ratio(&report, "none_over_suspend_free_100_percent"), [(50, 100.0 / 140.0)]);
        let missed: Vec<&str> =
            report.goals.iter().filter(|g| !g.is_met()).map(|g| g.name.as_str()).collect();
        assert_eq!(missed, ["none_over_suspend_free_100_percent"]);
    }

    #[test]
    fn the_choice_is_compared_with_the_best_way() {
        let over = ratio(&auto(measured()), "auto_over_best_10_percent");
        assert_eq!(over, [(50, 104.0 / 104.0), (250, 1.0), (5000, 250.0 / 500.0)]);
    }

    #[test]
    fn drops_are_compared_with_what_the_offload_worker_cannot_do() {
        let report = drops(vec![line(50, 5000, "drop", 100.0)]);
        let off = ratio(&report, "percent_off_expected_50_percent");
        assert!((off[0].1 - 1.0).abs() < 1e-9);
        assert!(report.text().contains("50.0 %"));
    }

    #[test]
    fn workers_are_as_quick_as_the_offload_worker_lets_them() {
        let report = workers(measured().into_iter().filter(|l| l.all["share"] == json!(10)).collect());
        let rate = |work: &str, n: u64| {
            report
                .lines
                .iter()
                .find(|l| l.peer == "simulated" && l.work == work && l.size == n)
                .unwrap()
                .cycles
        };
        assert!((rate("250 cycles", 1) / rate("250 cycles", 3) - 3.0).abs() < 0.1);
        // 0.1 times 5000 cycles for each packet, independent of its worker.
        assert!((rate("5000 cycles", 16) / 500.0 - 1.0).abs() < 0.05);
    }

    #[test]
    fn no_rate_without_loss_is_above_the_offload_worker() {
        let mut lines = measured();
        lines.retain(|l| l.word("path") != "none" && l.size != 250);
        let report = lossless(lines);
        for l in report.lines.iter().filter(|l| l.peer == "simulated" && l.word("path") == "suspend") {
            let share = if l.work == "10 percent" { 0.1 } else { 1.0 };
            assert!(l.cycles > 5000.0 * share * 0.9, "{l:?}");
        }
    }
}
