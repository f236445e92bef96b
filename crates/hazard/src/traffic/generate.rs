//! Traffic made up from a distribution of sizes and one of flows.

use super::{Batch, Chance, Flows, Key, SizeError, SizeRuns, Sizes};
use std::fmt;

/// Traffic that comes with Siding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Half of the packets full, most of the others minimal, as on a link between providers. The mean is 10.26
    /// chunks of 80 bytes: what the published curves for a link of that kind follow from (see
    /// `docs/how-to/stateful-actions.md`).
    Backbone,
    /// Mostly short packets, 2.75 cycles in the mean: fitted to published curves of hazards and throughput of a cluster of
    /// Facebook's.
    Facebook,
    /// A link in San Jose in 2012, 3.03 cycles in the mean. Only the mean is known: the shape is the backbone's with fewer long
    /// packets, here and in the next three.
    SanJose,
    /// A link of the MAWI archive, 5.24 cycles in the mean.
    Mawi,
    /// A data centre of a university, 6.38 cycles in the mean.
    University1,
    /// A second one, 4.74 cycles in the mean.
    University2,
    /// 64, 594 and 1518 bytes, 7 : 4 : 1.
    Imix,
    /// All of one length.
    Fixed(u32),
}

/// An unknown profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileError {
    word: String,
}

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is no profile; expected {}, or a length as fixed:64 (1 to {} bytes)",
            self.word,
            NAMES.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "),
            super::LEN_BYTES_MAX
        )
    }
}

impl std::error::Error for ProfileError {}

/// First and last length in bytes, and share.
type Range = (u32, u32, f64);

const BACKBONE: &[Range] = &[
    (64, 64, 0.30),
    (65, 80, 0.105),
    (81, 160, 0.05),
    (161, 240, 0.02),
    (321, 400, 0.01),
    (561, 640, 0.01),
    (1041, 1120, 0.005),
    (1361, 1440, 0.01),
    (1441, 1499, 0.02),
    (1500, 1500, 0.47),
];

/// Shares up to each length of cycles are the published hazards times the mean.
const FACEBOOK: &[Range] = &[
    (64, 80, 0.2338),
    (81, 160, 0.4317),
    (161, 240, 0.198),
    (241, 320, 0.0385),
    (321, 560, 0.0632),
    (561, 720, 0.011),
    (721, 1440, 0.0045),
    (1441, 1500, 0.0193),
];

const IMIX: &[Range] = &[(64, 64, 7.0), (594, 594, 4.0), (1518, 1518, 1.0)];

/// Profiles by name, without [`Profile::Fixed`].
const NAMES: &[(&str, Profile)] = &[
    ("backbone", Profile::Backbone),
    ("facebook", Profile::Facebook),
    ("sj12", Profile::SanJose),
    ("mawi", Profile::Mawi),
    ("uni1", Profile::University1),
    ("uni2", Profile::University2),
    ("imix", Profile::Imix),
];

/// Packets of the backbone that are longer than this are fewer in the profiles of which the mean is known.
const LONG_ABOVE_BYTES: u32 = 1040;

/// The backbone's packets, with so many long ones that the mean is `mean_cycles` of 80 bytes.
fn backbone_with_mean(mean_cycles: f64) -> Vec<Range> {
    let is_long = |range: &Range| range.0 > LONG_ABOVE_BYTES;
    // Weight and mean cycles of the short or of the long ones.
    let part = |of_long: bool| {
        let (mut sum, mut cycles) = (0.0, 0.0);
        for range in BACKBONE.iter().filter(|range| is_long(range) == of_long) {
            let (first, last, weight) = *range;
            let all: u32 = (first..=last).map(|len| len.div_ceil(80)).sum();
            sum += weight;
            cycles += weight * f64::from(all) / f64::from(last - first + 1);
        }
        (sum, cycles / sum)
    };
    let ((short, short_cycles), (long, long_cycles)) = (part(false), part(true));
    let share = (mean_cycles - short_cycles) / (long_cycles - short_cycles);
    let weight = |range: &Range| range.2 * if is_long(range) { share / long } else { (1.0 - share) / short };
    BACKBONE.iter().map(|range| (range.0, range.1, weight(range))).collect()
}

impl Profile {
    /// Reads a name. `datacenter` is another name of `facebook`.
    pub fn parse(text: &str) -> Result<Profile, ProfileError> {
        let wrong = || ProfileError { word: text.to_string() };
        if let Some((_, profile)) = NAMES.iter().find(|(name, _)| *name == text) {
            return Ok(*profile);
        }
        if matches!(text, "datacenter" | "datacentre" | "data-center" | "data-centre") {
            return Ok(Profile::Facebook);
        }
        let length = text.strip_prefix("fixed:").ok_or_else(wrong)?;
        let length = length.parse().map_err(|_| wrong())?;
        if Sizes::fixed(length).is_err() {
            return Err(wrong());
        }
        Ok(Profile::Fixed(length))
    }

    /// Fails for a fixed length that no packet has.
    pub fn sizes(self) -> Result<Sizes, SizeError> {
        match self {
            Profile::Backbone => Sizes::of_ranges(BACKBONE),
            Profile::Facebook => Sizes::of_ranges(FACEBOOK),
            Profile::SanJose => Sizes::of_ranges(&backbone_with_mean(3.03)),
            Profile::Mawi => Sizes::of_ranges(&backbone_with_mean(5.24)),
            Profile::University1 => Sizes::of_ranges(&backbone_with_mean(6.38)),
            Profile::University2 => Sizes::of_ranges(&backbone_with_mean(4.74)),
            Profile::Imix => Sizes::of_ranges(IMIX),
            Profile::Fixed(len) => Sizes::fixed(len),
        }
    }

    /// Number of flows, exponent of their popularity, chance that a packet continues a train.
    pub fn flow_numbers(self) -> (u32, f64, f64) {
        match self {
            Profile::Backbone
            | Profile::SanJose
            | Profile::Mawi
            | Profile::University1
            | Profile::University2 => (1 << 16, 1.0, 0.05),
            Profile::Facebook => (1 << 15, 1.1, 0.15),
            Profile::Imix | Profile::Fixed(_) => (1 << 16, 1.0, 0.0),
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, NAMES.iter().find(|(_, profile)| profile == self)) {
            (Profile::Fixed(length), _) => write!(f, "fixed:{length}"),
            (_, name) => f.write_str(name.map_or("", |(name, _)| name)),
        }
    }
}

/// Packets without end; the same seed, the same packets.
#[derive(Clone, Debug)]
pub struct Generator {
    lengths: Lengths,
    flows: Flows,
    /// For each key, the hash of every flow.
    hashes: Vec<Vec<u64>>,
    /// One sequence for lengths and one for flows, so that lengths do not depend on whether there are keys.
    chances: [Chance; 2],
    flow: u32,
    /// Flows of the batch that is filled.
    drawn: Vec<u32>,
}

#[derive(Clone, Debug)]
enum Lengths {
    Independent(Sizes),
    Runs(Box<SizeRuns>),
}

impl Generator {
    pub fn new(sizes: Sizes, flows: Flows, keys: &[Key], seed: u64) -> Generator {
        let fields: Vec<_> = (0..flows.n_flows()).map(|flow| flows.fields(flow, seed)).collect();
        let hashes = keys.iter().map(|key| fields.iter().map(|fields| key.hash(fields)).collect()).collect();
        Generator {
            lengths: Lengths::Independent(sizes),
            flows,
            hashes,
            chances: [Chance::new(super::mixed(seed)), Chance::new(super::mixed(!seed))],
            flow: 0,
            drawn: Vec::new(),
        }
    }

    /// Draws lengths that stay alike, instead of independent ones.
    pub fn with_size_runs(self, runs: SizeRuns) -> Generator {
        Generator { lengths: Lengths::Runs(Box::new(runs)), ..self }
    }

    /// Puts the next packets into a batch with columns for the generator's keys.
    pub fn fill(&mut self, batch: &mut Batch, n_packets: usize) {
        batch.clear();
        let [chance, chance_of_flows] = &mut self.chances;
        match &mut self.lengths {
            Lengths::Independent(sizes) => {
                batch.len_bytes.extend((0..n_packets).map(|_| sizes.draw(chance.next())));
            }
            Lengths::Runs(runs) => batch.len_bytes.extend((0..n_packets).map(|_| runs.draw(chance))),
        }
        batch.time_ns.resize(n_packets, 0);
        if batch.keys.is_empty() {
            return;
        }
        let (flows, flow) = (&self.flows, &mut self.flow);
        self.drawn.clear();
        self.drawn.extend((0..n_packets).map(|_| {
            *flow = flows.draw(chance_of_flows.next(), *flow);
            *flow
        }));
        // A loop of its own for each column, in which accesses to the table of hashes do not wait for each other.
        for (column, hashes) in batch.keys.iter_mut().zip(&self.hashes) {
            column.extend(self.drawn.iter().map(|flow| hashes[*flow as usize]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alpha::{Alpha, AlphaModel};
    use crate::config::Switch;
    use crate::timeline::{Pace, Timeline};

    fn mean_cycles(profile: Profile, model: AlphaModel, alpha: f64) -> f64 {
        let flows = Flows::zipf(16, 1.0, 0.0).unwrap();
        let mut generator = Generator::new(profile.sizes().unwrap(), flows, &[], 1);
        let mut batch = Batch::new(0);
        generator.fill(&mut batch, 200_000);
        let alpha = Alpha::new(model, alpha, 1).unwrap();
        let mut line = Timeline::new(&Switch::default(), alpha, Pace::BackToBack).unwrap();
        batch.len_bytes.iter().for_each(|len| {
            line.receive(*len, 0);
        });
        line.line_cycles() as f64 / 200_000.0
    }

    #[test]
    fn the_backbone_is_as_busy_as_the_published_one() {
        assert!((mean_cycles(Profile::Backbone, AlphaModel::Mix, 1.0) - 10.26).abs() < 0.05);
        let scaled = mean_cycles(Profile::Backbone, AlphaModel::Scale, 0.2);
        assert!(scaled > 3.0 && scaled < 3.2, "{scaled}");
    }

    #[test]
    fn profiles_of_known_means_have_them() {
        let published = [
            (Profile::Facebook, 2.745),
            (Profile::SanJose, 3.03),
            (Profile::Mawi, 5.24),
            (Profile::University1, 6.38),
            (Profile::University2, 4.74),
        ];
        for (profile, published) in published {
            let mean = mean_cycles(profile, AlphaModel::Mix, 1.0);
            assert!((mean / published - 1.0).abs() < 0.01, "{profile}: {mean}, published {published}");
        }
    }

    #[test]
    fn mean_lengths_rise_with_alpha() {
        for profile in [Profile::Backbone, Profile::Facebook, Profile::Imix, Profile::Fixed(1500)] {
            for model in [AlphaModel::Mix, AlphaModel::Scale] {
                let of = |step| mean_cycles(profile, model, f64::from(step) / 10.0);
                let means: Vec<f64> = (0..=10).map(of).collect();
                assert!(means.is_sorted() && means[0] == 1.0, "{profile} {model}: {means:?}");
            }
        }
        // Published for the backbone; there, at alpha = 0, one packet in a hundred stays long.
        for (alpha, published) in [(0.2, 3.5), (0.4, 5.5), (0.6, 7.3), (0.8, 8.9), (1.0, 10.3)] {
            let mean = mean_cycles(Profile::Backbone, AlphaModel::Mix, alpha);
            assert!((mean / published - 1.0f64).abs() < 0.035, "{alpha}: {mean}, published {published}");
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_packets() {
        let keys = [Key::five_tuple(), Key::parse("dst").unwrap()];
        let batches = [1, 1, 2].map(|seed| {
            let flows = Flows::zipf(1000, 1.0, 0.1).unwrap();
            let mut generator = Generator::new(Profile::Imix.sizes().unwrap(), flows, &keys, seed);
            let mut batch = Batch::new(2);
            generator.fill(&mut batch, 100);
            generator.fill(&mut batch, 100);
            batch
        });
        assert_eq!(batches[0], batches[1]);
        assert_ne!(batches[0], batches[2]);
        assert_eq!((batches[0].len(), batches[0].keys[1].len()), (100, 100));
    }

    #[test]
    fn profiles_are_read_as_they_are_shown() {
        let names = NAMES.iter().map(|(name, _)| *name).chain(["fixed:64"]);
        names.for_each(|text| assert_eq!(Profile::parse(text).unwrap().to_string(), text));
        assert_eq!(Profile::parse("datacenter"), Ok(Profile::Facebook));
        for text in ["", "fixed:0", "fixed:x", "fixed:70000"] {
            assert!(Profile::parse(text).unwrap_err().to_string().contains("is no profile"), "{text}");
        }
    }
}
