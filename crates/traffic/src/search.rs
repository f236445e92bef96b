//! The highest rate without loss, as RFC 2544 looks for it.

use crate::TrafficError;
use crate::frames::FlowOptions;
use crate::generator::{Content, GeneratorOptions};
use crate::rate::Rate;
use crate::signature::N_STREAMS_MAX;
use crate::sizes::Sizes;
use crate::trial::{Totals, TrialResult};
use serde::Serialize;
use std::time::Duration;

#[derive(Clone, Debug)]
pub struct SearchOptions {
    pub flows: FlowOptions,
    /// Length of a trial; RFC 2544, section 24, wants 60 s.
    pub trial: Duration,
    /// Loss that is tolerated, as a part of the packets sent, 0 to 1.
    pub loss_max: f64,
    /// A search ends when the rate is known to this part of itself, above 0 and below 1.
    pub resolution: f64,
    /// The rate of the first trial, which no other exceeds.
    pub rate_max: Rate,
    /// Packets per call of the port, at most.
    pub burst_max: usize,
}

/// One trial of a search.
#[derive(Clone, Debug, Serialize)]
pub struct SearchTrial {
    pub rate: Rate,
    pub totals: Totals,
    /// No more was lost than is tolerated.
    pub has_passed: bool,
    /// The generators sent less than 99 % of the rate.
    pub is_below_rate: bool,
}

/// Result for one frame size.
#[derive(Clone, Debug, Serialize)]
pub struct SearchPoint {
    /// Frame sizes in bytes with the check sequence, or `IMIX`.
    pub sizes: String,
    /// Packets/s of all generators in the fastest trial that passed.
    pub packets_per_s: Option<f64>,
    /// Bits/s on the lines in that trial.
    pub line_bits_per_s: Option<f64>,
    /// No trial at a higher rate was possible: the device under test may do more.
    pub is_limited_by_generator: bool,
    /// The search has ended early: nothing of its first trials arrived.
    pub is_silent: bool,
    /// The trial at half of that rate, for its latency.
    pub half: Option<SearchTrial>,
    /// All trials but that one, in their order.
    pub trials: Vec<SearchTrial>,
}

/// A search ends without a result below this part of the rate of its first trial.
const RATE_PART_MIN: f64 = 1e-4;

/// A search ends without a result after so many trials in a row of which nothing arrived.
const N_SILENT_MAX: usize = 2;

/// A generator keeps a rate if it sends at least this part of it.
const KEPT_PART: f64 = 0.99;

/// Runs a trial with these options for each generator. Returns `None` when somebody has stopped the search.
pub type RunTrial<'a> = dyn FnMut(GeneratorOptions) -> Result<Option<TrialResult>, TrafficError> + 'a;

/// Searches the highest rate for frames of these sizes. `tell` hears of each trial. Returns `None` if somebody stopped it.
pub fn search(
    options: &SearchOptions,
    sizes: &Sizes,
    run: &mut RunTrial<'_>,
    tell: &mut dyn FnMut(&SearchTrial),
) -> Result<Option<SearchPoint>, TrafficError> {
    Search { options, sizes, run, tell, n_run: 0 }.find()
}

struct Search<'a, 'r> {
    options: &'a SearchOptions,
    sizes: &'a Sizes,
    run: &'a mut RunTrial<'r>,
    tell: &'a mut dyn FnMut(&SearchTrial),
    n_run: usize,
}

impl Search<'_, '_> {
    fn find(&mut self) -> Result<Option<SearchPoint>, TrafficError> {
        let mut point = SearchPoint {
            sizes: self.sizes.to_string(),
            packets_per_s: None,
            line_bits_per_s: None,
            is_limited_by_generator: false,
            is_silent: false,
            half: None,
            trials: Vec::new(),
        };
        let Some((first, first_per_s)) = self.trial(self.options.rate_max)? else { return Ok(None) };
        // Packets/s of each generator: `low` passed, `high` did not.
        let (mut low, mut high) =
            if first.has_passed { (first_per_s, first_per_s) } else { (0.0, first_per_s) };
        let least = first_per_s * RATE_PART_MIN;
        point.keep(first);
        while high - low > self.options.resolution * high && high > least {
            point.is_silent = point.trials.len() == N_SILENT_MAX
                && point.trials.iter().all(|trial| trial.totals.n_lost >= trial.totals.n_sent);
            if point.is_silent {
                break;
            }
            let middle = ((low + high) / 2.0).round().max(1.0);
            let Some((trial, per_s)) = self.trial(Rate::PacketsPerS(middle as u64))? else { return Ok(None) };
            match (trial.has_passed, trial.is_below_rate) {
                (true, false) => low = middle,
                // Faster ones are no faster.
                (true, true) => (low, high) = (per_s.max(low), middle.min(per_s.max(low))),
                (false, _) if middle >= high => high = low,
                (false, _) => high = middle,
            }
            point.keep(trial);
        }
        if point.packets_per_s.is_some() && low > 0.0 {
            let Some((half, _)) = self.trial(Rate::PacketsPerS((low / 2.0).round().max(1.0) as u64))? else {
                return Ok(None);
            };
            point.half = Some(half);
        }
        Ok(Some(point))
    }

    /// Returns the trial, and packets/s of each generator.
    fn trial(&mut self, rate: Rate) -> Result<Option<(SearchTrial, f64)>, TrafficError> {
        let generator = GeneratorOptions {
            content: Content::Flows { flows: self.options.flows.clone(), sizes: self.sizes.clone() },
            rate,
            n_packets: None,
            duration: Some(self.options.trial),
            // Late packets of the trial before are of another stream.
            stream: (self.n_run % N_STREAMS_MAX) as u8,
            burst_max: self.options.burst_max,
        };
        self.n_run += 1;
        let Some(result) = (self.run)(generator)? else { return Ok(None) };
        let sent: Vec<_> = result.stations.iter().filter_map(|station| station.sent.as_ref()).collect();
        let n_generators = sent.len().max(1) as f64;
        let is_kept = |wanted: f64, found: f64| found >= KEPT_PART * wanted;
        let is_below_rate = !sent.iter().all(|sent| match rate {
            Rate::Unlimited => true,
            Rate::PacketsPerS(n) => is_kept(n as f64, sent.packets_per_s),
            Rate::BitsPerS(n) => is_kept(n as f64, sent.line_bits_per_s),
        });
        let has_passed = result.totals.n_sent > 0 && result.totals.loss_ratio <= self.options.loss_max;
        let per_s = result.totals.sent_packets_per_s / n_generators;
        let trial = SearchTrial { rate, totals: result.totals, has_passed, is_below_rate };
        (self.tell)(&trial);
        Ok(Some((trial, per_s)))
    }
}

impl SearchPoint {
    /// Takes the trial as the result if it is the fastest that passed.
    fn keep(&mut self, trial: SearchTrial) {
        let per_s = trial.totals.sent_packets_per_s;
        if trial.has_passed && self.packets_per_s.is_none_or(|best| per_s > best) {
            self.packets_per_s = Some(per_s);
            self.line_bits_per_s = Some(trial.totals.sent_line_bits_per_s);
            self.is_limited_by_generator = trial.rate == Rate::Unlimited || trial.is_below_rate;
        }
        self.trials.push(trial);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator::GeneratorResult;
    use crate::stalls::Stalls;
    use crate::station::StationResult;

    /// A device that forwards `capacity` packets/s, behind a generator that sends `fastest` at most.
    fn simulated(
        capacity: f64,
        fastest: f64,
    ) -> impl FnMut(GeneratorOptions) -> Result<Option<TrialResult>, TrafficError> {
        move |options| {
            let wanted = match options.rate {
                Rate::Unlimited => fastest,
                Rate::PacketsPerS(n) => n as f64,
                Rate::BitsPerS(_) => panic!("searches are in packets/s"),
            };
            let per_s = wanted.min(fastest);
            let n_lost = (per_s - capacity).max(0.0) as u64;
            let sent = GeneratorResult {
                stream: options.stream,
                rate: options.rate,
                n_sent: per_s as u64,
                n_refused: 0,
                n_bytes: 64 * per_s as u64,
                duration_ns: 1_000_000_000,
                packets_per_s: per_s,
                line_bits_per_s: 84.0 * 8.0 * per_s,
                packets_per_call: 1.0,
                n_calls_blocked: 0,
                left_out_ns: 0,
                late_max_ns: 0,
            };
            let totals = Totals {
                n_sent: sent.n_sent,
                n_lost,
                loss_ratio: n_lost as f64 / per_s,
                sent_packets_per_s: per_s,
                sent_line_bits_per_s: sent.line_bits_per_s,
                ..Totals::default()
            };
            let station = StationResult {
                port: 0,
                sent: Some(sent),
                received: None,
                recorded: None,
                stalls: Stalls::default(),
                rx_dropped: Vec::new(),
                tx_dropped: Vec::new(),
                latencies: None,
            };
            Ok(Some(TrialResult { totals, stations: vec![station] }))
        }
    }

    fn options(loss_max: f64) -> SearchOptions {
        SearchOptions {
            flows: FlowOptions::ipv4(),
            trial: Duration::from_secs(1),
            loss_max,
            resolution: 0.01,
            rate_max: Rate::Unlimited,
            burst_max: 32,
        }
    }

    fn found(capacity: f64, fastest: f64, loss_max: f64) -> SearchPoint {
        let mut n_told = 0;
        let mut run = simulated(capacity, fastest);
        let point = search(&options(loss_max), &Sizes::fixed(64), &mut run, &mut |_| n_told += 1);
        let point = point.unwrap().unwrap();
        assert_eq!(n_told, point.trials.len() + usize::from(point.half.is_some()));
        point
    }

    #[test]
    fn the_capacity_is_found_to_the_resolution() {
        for capacity in [900_000.0, 1_234_567.0, 3_999_999.0, 10_000.0] {
            let point = found(capacity, 4e6, 0.0);
            let per_s = point.packets_per_s.unwrap();
            assert!(per_s <= capacity && per_s > 0.985 * capacity, "{per_s} of {capacity}");
            assert!(!point.is_limited_by_generator && point.trials.len() < 25);
            let half = point.half.unwrap();
            assert!((half.totals.sent_packets_per_s - per_s / 2.0).abs() <= 1.0);
        }
    }

    #[test]
    fn some_loss_can_be_tolerated() {
        let per_s = found(1e6, 4e6, 0.1).packets_per_s.unwrap();
        assert!((1.09e6..1.12e6).contains(&per_s), "{per_s}");
    }

    #[test]
    fn limits_of_the_generator_are_told() {
        let point = found(1e9, 4e6, 0.0);
        assert_eq!((point.packets_per_s, point.trials.len()), (Some(4e6), 1));
        assert!(point.is_limited_by_generator && point.half.is_some());
    }

    #[test]
    fn a_device_that_always_loses_has_no_rate() {
        let point = found(1.0, 4e6, 0.0);
        assert!(point.packets_per_s.is_none() && point.half.is_none() && !point.is_silent);
        assert!((3..30).contains(&point.trials.len()));
    }

    #[test]
    fn a_search_ends_soon_if_nothing_arrives() {
        let point = found(0.0, 4e6, 0.0);
        assert!(point.packets_per_s.is_none() && point.is_silent);
        assert_eq!(point.trials.len(), N_SILENT_MAX);
    }

    #[test]
    fn a_stopped_search_has_no_result() {
        let mut run = |_| Ok(None);
        assert!(search(&options(0.0), &Sizes::imix(), &mut run, &mut |_| {}).unwrap().is_none());
    }
}
