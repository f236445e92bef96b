//! A profile: cycles of components on one machine, with the machine they were measured on.

use super::fit::{self, Cost, Point, fit_near};
use super::formula::Curve;
use super::tables::{self, Latencies, TableUse};
use super::work::{Component, Counts, Work};
use serde::{Deserialize, Serialize};

/// Version of the format.
pub const VERSION: u32 = 3;

/// Nothing that is measured is as large: cycles of a packet, counts, bytes.
const FIGURE_MAX: f64 = 1e15;

/// The machine, and what compiled the programs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Name of the processor.
    pub model: String,
    /// Cores that the system shows.
    pub cores: u32,
    /// Cores that share one physical core with the first, itself included.
    pub siblings: u32,
    /// Cycles are those of this counter.
    pub tsc_ghz: f64,
    /// Bytes of the levels of the cache, as the system says.
    pub cache_bytes: Vec<u64>,
    /// Cycles from a load to its value by working set, as measured.
    pub latencies: Latencies,
    pub is_virtual: bool,
    pub load_average: f64,
    /// First line of what the compiler says of itself, and its flags.
    pub compiler: String,
}

/// Cycles of components.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    pub version: u32,
    /// Version of Siding.
    pub siding: String,
    /// Seconds since 1970.
    pub made_at: u64,
    pub machine: Machine,
    pub components: Vec<Cost>,
    /// Programs that were measured.
    pub n_points: usize,
    /// Root of the mean squared relative residual of these programs.
    pub rmse_relative: f64,
    /// That of programs that were left out of the fit, a tenth at a time.
    pub held_out_relative: f64,
    /// The largest relative distance between the two least medians of a program.
    pub drift: f64,
    /// The measured programs.
    pub points: Vec<Point>,
    /// An exact table over its number of entries.
    pub curve: Curve,
}

/// Cycles of a program's packets by component and by table.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    pub cycles: f64,
    /// Cycles of each component in programs of about this size.
    pub costs: Vec<Cost>,
    /// Work with lookups.
    pub counts: Counts,
    /// Bounds from the intervals of all components, as if they were independent.
    pub ci95: [f64; 2],
    /// Cycles without lookups.
    pub components: Vec<(Component, f64, f64)>,
    /// Cycles of each table, in their order.
    pub tables: Vec<f64>,
    /// Components that the profile has no cycles for.
    pub unknown: Vec<Component>,
}

impl Profile {
    /// Reads a profile; the error is a sentence, with the remedy.
    pub fn parse(text: &str) -> Result<Profile, String> {
        Profile::read(text).map_err(|fault| {
            format!("{fault}; `siding model calibrate` makes a new profile, in about three minutes")
        })
    }

    fn read(text: &str) -> Result<Profile, String> {
        let value: serde_json::Value =
            serde_json::from_str(text).map_err(|error| format!("this is no profile: {error}"))?;
        match value.get("version").and_then(serde_json::Value::as_u64) {
            Some(version) if version == u64::from(VERSION) => {}
            Some(version) => {
                return Err(format!("this profile has version {version}, and {VERSION} is expected"));
            }
            None if value.get("version").is_some() => {
                return Err(format!("this is no profile: its `version` is not the number {VERSION}"));
            }
            None => return Err("this is no profile: it has no `version`".to_string()),
        }
        let profile: Profile =
            serde_json::from_value(value).map_err(|error| format!("this is no profile: {error}"))?;
        if let Some(fault) = profile.fault_of_measurements() {
            return Err(format!("{fault} in this profile"));
        }
        let is_sound = |cost: &Cost| cost.cycles.is_finite() && cost.cycles >= 0.0;
        match profile.components.iter().find(|cost| !is_sound(cost)) {
            Some(cost) => {
                Err(format!("`{}` takes {} cycles in this profile", cost.component.name(), cost.cycles))
            }
            None if profile.components.is_empty() => Err("this profile has no components".to_string()),
            None => Ok(profile),
        }
    }

    /// Something that was never measured.
    fn fault_of_measurements(&self) -> Option<String> {
        let is_measured = |n: f64| (0.0..FIGURE_MAX).contains(&n);
        let is_sound = |point: &&Point| {
            is_measured(point.cycles) && Component::ALL.iter().all(|c| is_measured(point.counts[*c]))
        };
        if let Some(point) = self.points.iter().find(|point| !is_sound(point)) {
            return Some(format!(
                "`{}` takes {} cycles, or some of its counts are no counts,",
                point.name, point.cycles
            ));
        }
        let latencies = &self.machine.latencies.points;
        let is_sound =
            |(bytes, cycles): &(f64, f64)| *bytes >= 1.0 && is_measured(*bytes) && is_measured(*cycles);
        if let Some((bytes, cycles)) = latencies.iter().find(|point| !is_sound(point)) {
            return Some(format!("a load within {bytes} bytes takes {cycles} cycles"));
        }
        let is_ascending = latencies.is_sorted_by(|one, other| one.0 < other.0);
        (!is_ascending).then(|| "sizes of loads do not ascend".to_owned())
    }

    /// Cycles of a component; `None`: the measured programs do not tell it apart from others.
    pub fn cost(&self, component: Component) -> Option<&Cost> {
        let is_it = |cost: &&Cost| cost.component == component && cost.is_told_apart;
        self.components.iter().find(is_it)
    }

    /// Components with cycles in both profiles whose intervals have nothing in common.
    pub fn disagreements<'a>(&'a self, other: &'a Profile) -> Vec<(&'a Cost, &'a Cost)> {
        let pairs = self.components.iter().filter_map(|cost| {
            let cost = self.cost(cost.component)?;
            Some((cost, other.cost(cost.component)?))
        });
        pairs.filter(|(a, b)| a.ci95[1] < b.ci95[0] || b.ci95[1] < a.ci95[0]).collect()
    }

    /// Predicts the cycles of a program's packets.
    pub fn predict(&self, work: &Work, tables: &[TableUse]) -> Prediction {
        let mut total = work.total;
        tables::work(tables, &self.machine.latencies).iter().for_each(|counts| total.add_scaled(counts, 1.0));
        self.predict_with(fit_near(&self.points, &self.components, &total), work, tables)
    }

    /// Predicts with the costs of another prediction: for some of its packets, so that they add up to it.
    pub fn predict_with(&self, costs: Vec<Cost>, work: &Work, tables: &[TableUse]) -> Prediction {
        let lookups = tables::work(tables, &self.machine.latencies);
        let mut total = work.total;
        lookups.iter().for_each(|counts| total.add_scaled(counts, 1.0));
        let of = |counts: &Counts| fit::cycles(&costs, counts);
        let variance: f64 = self
            .components
            .iter()
            .map(|cost| ((cost.ci95[1] - cost.ci95[0]) / 2.0 * total[cost.component]).powi(2))
            .sum();
        let cycles = of(&total);
        let known = |component: Component| costs.iter().find(|cost| cost.component == component);
        let components = Component::ALL
            .iter()
            .filter(|component| work.total[**component] > 0.0)
            .map(|component| {
                let n = work.total[*component];
                (*component, n, known(*component).map_or(0.0, |cost| cost.cycles * n))
            })
            .collect();
        let unknown = Component::ALL
            .iter()
            .copied()
            .filter(|component| total[*component] > 0.0 && known(*component).is_none())
            .collect();
        Prediction {
            cycles,
            counts: total,
            components,
            tables: lookups.iter().map(of).collect(),
            unknown,
            costs,
            ci95: [(cycles - variance.sqrt()).max(0.0), cycles + variance.sqrt()],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fit::fit;
    use super::*;
    use crate::random::Random;

    /// Cycles of the three components of made-up programs.
    const COSTS: [(Component, f64); 3] =
        [(Component::Packet, 20.0), (Component::Operation, 1.5), (Component::Header, 6.0)];

    /// A profile of eighty programs, each measured with an error of up to 5 %.
    fn measured(costs: [(Component, f64); 3], seed: u64) -> Profile {
        let mut random = Random(seed);
        let mut unit = move || (random.next() >> 11) as f64 / (1u64 << 53) as f64;
        let mut shapes = Random(99);
        let points: Vec<Point> = (0..80)
            .map(|i| {
                let counts = [1.0, (shapes.next() % 9) as f64, (shapes.next() % 4) as f64];
                let exact: f64 = costs.iter().zip(counts).map(|((_, cycles), n)| cycles * n).sum();
                Point {
                    name: format!("program {i}"),
                    counts: costs.iter().map(|(component, _)| *component).zip(counts).collect(),
                    cycles: exact * (0.95 + 0.1 * unit()),
                }
            })
            .collect();
        Profile {
            version: VERSION,
            siding: String::new(),
            made_at: 0,
            machine: Machine::default(),
            components: fit(&points),
            n_points: points.len(),
            rmse_relative: 0.0,
            held_out_relative: 0.0,
            drift: 0.0,
            points,
            curve: Curve::default(),
        }
    }

    #[test]
    fn figures_that_nobody_has_measured_are_refused() {
        let good = measured(COSTS, 1);
        let parsed = |change: &dyn Fn(&mut Profile)| {
            let mut profile = good.clone();
            change(&mut profile);
            Profile::parse(&serde_json::to_string(&profile).unwrap())
        };
        assert!(parsed(&|_| {}).is_ok());
        let refused = |change: &dyn Fn(&mut Profile), expected: &str| {
            let fault = parsed(change).unwrap_err();
            assert!(fault.contains(expected), "{fault}");
        };
        refused(&|profile| profile.points[3].cycles = -1.0, "`program 3` takes -1 cycles");
        refused(&|profile| profile.points[4].counts[Component::Packet] = 1e300, "`program 4`");
        let loads = |points: &[(f64, f64)]| {
            let points = points.to_vec();
            move |profile: &mut Profile| profile.machine.latencies.points = points.clone()
        };
        refused(&loads(&[(0.0, 4.0)]), "a load within 0 bytes");
        refused(&loads(&[(64.0, -4.0)]), "takes -4 cycles");
        refused(&loads(&[(64.0, 4.0), (64.0, 5.0)]), "do not ascend");
    }

    #[test]
    fn two_calibrations_of_a_machine_agree_within_their_intervals() {
        let first = measured(COSTS, 1);
        assert!(first.components.iter().all(|cost| cost.is_told_apart), "{:?}", first.components);
        // An interval holds nineteen of twenty samples, so that two of them seldom have nothing in common.
        let disagrees = |seed: &u64| !first.disagreements(&measured(COSTS, *seed)).is_empty();
        let n_differing = (2..102).filter(disagrees).count();
        assert!(n_differing <= 5, "{n_differing} of 100");
    }

    #[test]
    fn calibrations_of_other_machines_disagree() {
        let mut slower = COSTS;
        slower[1].1 *= 1.5;
        let (first, other) = (measured(COSTS, 1), measured(slower, 2));
        let differing: Vec<Component> =
            first.disagreements(&other).into_iter().map(|(cost, _)| cost.component).collect();
        assert_eq!(differing, [Component::Operation]);
    }
}
