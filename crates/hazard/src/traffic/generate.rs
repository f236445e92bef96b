//! Traffic made up from a distribution of sizes and one of flows.

use super::{Batch, Chance, Flows, Key, SizeError, Sizes};
use std::fmt;

/// Traffic that comes with Siding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Half of the packets full, most of the others minimal, as on a link between providers. The mean is 10.26
    /// chunks of 80 bytes: what the published curves for a link of that kind follow from (see
    /// `docs/how-to/stateful-actions.md`).
    Backbone,
    /// Mostly short packets, as between caches and web servers.
    DataCentre,
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
            "`{}` is no profile; expected backbone, datacenter, imix, or a length as fixed:64 (1 to {} bytes)",
            self.word,
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

const DATA_CENTRE: &[Range] = &[
    (64, 64, 0.10),
    (65, 128, 0.35),
    (129, 256, 0.25),
    (257, 512, 0.12),
    (513, 1024, 0.06),
    (1025, 1499, 0.04),
    (1500, 1500, 0.08),
];

const IMIX: &[Range] = &[(64, 64, 7.0), (594, 594, 4.0), (1518, 1518, 1.0)];

impl Profile {
    pub fn parse(text: &str) -> Result<Profile, ProfileError> {
        let wrong = || ProfileError { word: text.to_string() };
        match text {
            "backbone" => Ok(Profile::Backbone),
            "datacenter" | "datacentre" | "data-center" | "data-centre" => Ok(Profile::DataCentre),
            "imix" => Ok(Profile::Imix),
            _ => {
                let length = text.strip_prefix("fixed:").ok_or_else(wrong)?;
                let length = length.parse().map_err(|_| wrong())?;
                if Sizes::fixed(length).is_err() {
                    return Err(wrong());
                }
                Ok(Profile::Fixed(length))
            }
        }
    }

    /// Fails for a fixed length that no packet has.
    pub fn sizes(self) -> Result<Sizes, SizeError> {
        Sizes::of_ranges(match self {
            Profile::Backbone => BACKBONE,
            Profile::DataCentre => DATA_CENTRE,
            Profile::Imix => IMIX,
            Profile::Fixed(len) => return Sizes::fixed(len),
        })
    }

    /// Number of flows, exponent of their popularity, chance that a packet continues a train.
    pub fn flow_numbers(self) -> (u32, f64, f64) {
        match self {
            Profile::Backbone => (1 << 16, 1.0, 0.05),
            Profile::DataCentre => (1 << 15, 1.1, 0.15),
            Profile::Imix | Profile::Fixed(_) => (1 << 16, 1.0, 0.0),
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Profile::Backbone => f.write_str("backbone"),
            Profile::DataCentre => f.write_str("datacenter"),
            Profile::Imix => f.write_str("imix"),
            Profile::Fixed(length) => write!(f, "fixed:{length}"),
        }
    }
}

/// Packets without end; the same seed, the same packets.
#[derive(Clone, Debug)]
pub struct Generator {
    sizes: Sizes,
    flows: Flows,
    /// For each key, the hash of every flow.
    hashes: Vec<Vec<u64>>,
    chance: Chance,
    flow: u32,
}

impl Generator {
    pub fn new(sizes: Sizes, flows: Flows, keys: &[Key], seed: u64) -> Generator {
        let fields: Vec<_> = (0..flows.n_flows()).map(|flow| flows.fields(flow, seed)).collect();
        let hashes = keys.iter().map(|key| fields.iter().map(|fields| key.hash(fields)).collect()).collect();
        Generator { sizes, flows, hashes, chance: Chance::new(super::mixed(seed)), flow: 0 }
    }

    /// Puts the next packets into a batch with columns for the generator's keys.
    pub fn fill(&mut self, batch: &mut Batch, n_packets: usize) {
        batch.clear();
        for _ in 0..n_packets {
            batch.len_bytes.push(self.sizes.draw(&mut self.chance));
        }
        batch.time_ns.resize(n_packets, 0);
        for _ in 0..n_packets {
            self.flow = self.flows.draw(&mut self.chance, self.flow);
            for (column, hashes) in batch.keys.iter_mut().zip(&self.hashes) {
                column.push(hashes[self.flow as usize]);
            }
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
    fn mean_lengths_rise_with_alpha() {
        for profile in [Profile::Backbone, Profile::DataCentre, Profile::Imix, Profile::Fixed(1500)] {
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
        for text in ["backbone", "datacenter", "imix", "fixed:64"] {
            assert_eq!(Profile::parse(text).unwrap().to_string(), text);
        }
        for text in ["", "fixed:0", "fixed:x", "fixed:70000"] {
            assert!(Profile::parse(text).unwrap_err().to_string().contains("is no profile"), "{text}");
        }
    }
}
