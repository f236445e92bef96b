//! Cases by seed and index.

use super::{Case, Compiled, Event, NotCompiled, compile, compile_file, events};
use crate::runnable::{self, Dialect};
use crate::{Choices, Corpus};
use std::path::{Path, PathBuf};

/// Decisions of one program: enough for most, so that few end early.
const PROGRAM_BYTES: usize = 6 << 10;
/// Sizes of programs, one after the other.
pub const N_SIZES: u64 = 4;
/// Decisions about entries and packets.
const EVENTS_BYTES: usize = 256 << 10;

/// Four times what a switch takes at once: a burst becomes several of those that compiled code takes.
pub use testkit::BURST_MAX;
/// Odd, so that all sizes come. Of the odd numbers it is the one that spreads best what any few programs have that follow
/// each other, and any few of every fourth, eighth and sixteenth.
const BURST_STEP: u64 = 217;
const BURST_SEED_STEP: u64 = 101;

/// The source of programs: generated ones first, then files.
#[derive(Clone, Debug, Default)]
pub struct Source {
    pub seed: u64,
    pub n_generated: u64,
    /// The architecture of generated programs; `None` for all in turns.
    pub dialect: Option<Dialect>,
    pub files: Vec<PathBuf>,
}

/// A program of a source.
#[derive(Clone, Debug)]
pub struct Sample {
    pub text: String,
    pub compiled: Compiled,
    /// Included files are known, so that parts of the text can be compiled as well.
    pub is_generated: bool,
}

impl Source {
    /// The `.p4` files of a directory, in order.
    pub fn add_dir(&mut self, dir: &Path) {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.path());
        let mut files: Vec<PathBuf> = entries.filter(|p| p.extension().is_some_and(|e| e == "p4")).collect();
        files.sort();
        self.files.extend(files);
    }

    pub fn len(&self) -> u64 {
        self.n_generated + self.files.len() as u64
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the name of a case for reports.
    pub fn name(&self, index: u64) -> String {
        match self.file(index) {
            Some(path) => path.file_stem().map_or(String::new(), |s| s.to_string_lossy().into_owned()),
            None => format!("seed{}-{index}", self.seed),
        }
    }

    /// A hash of the content of all files.
    pub fn fingerprint(&self) -> u64 {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in (self.n_generated..self.len()).flat_map(|index| self.text(index).into_bytes()) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        hash
    }

    fn file(&self, index: u64) -> Option<&PathBuf> {
        self.files.get(usize::try_from(index.checked_sub(self.n_generated)?).ok()?)
    }

    /// The text of a program.
    pub fn text(&self, index: u64) -> String {
        match self.file(index) {
            Some(path) => String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned(),
            None => self.generated(index),
        }
    }

    fn generated(&self, index: u64) -> String {
        generated(self.seed, index, self.dialect.unwrap_or_else(|| dialect(index)))
    }

    pub fn sample(&self, index: u64, corpus: &Corpus) -> Result<Sample, NotCompiled> {
        let text = self.text(index);
        let (compiled, is_generated) = match self.file(index) {
            Some(path) => (compile_file(path)?, false),
            None => (compile(&text, corpus)?, true),
        };
        Ok(Sample { text, compiled, is_generated })
    }

    /// Returns the events for a program, with at least `n_packets` packets.
    pub fn case(&self, index: u64, sample: &Sample, n_packets: usize) -> Case {
        let data = bytes(self.seed ^ 0x5eed, index, EVENTS_BYTES);
        let options = events::Options { n_packets, burst_max: self.burst_max(index) };
        let events: Vec<Event> = events::events(&mut Choices::new(&data), &sample.compiled, options);
        Case { text: sample.text.clone(), events }
    }

    /// Returns the longest burst for a program. Successive programs get different numbers, small and large in turn,
    /// until all have occurred. A program's number depends on the seed.
    pub fn burst_max(&self, index: u64) -> usize {
        let place = index.wrapping_mul(BURST_STEP).wrapping_add(self.seed.wrapping_mul(BURST_SEED_STEP));
        let place = place as usize % BURST_MAX;
        // The low bits alone would correlate with those of the index, and so with program sizes and compilers.
        1 + (place ^ place >> 4)
    }
}

/// The program of a seed and an index, for an architecture.
pub fn generated(seed: u64, index: u64, dialect: Dialect) -> String {
    // Mostly of medium size.
    let n_bytes = PROGRAM_BYTES >> (index % N_SIZES);
    runnable::program(&mut Choices::new(&bytes(seed, index, n_bytes)), dialect)
}

/// Returns the architecture of the program at an index: v1model for half of any 32 successive programs.
pub fn dialect(index: u64) -> Dialect {
    // The low bits alone would correlate with program sizes.
    match (index + index / N_SIZES) % 8 {
        1 | 5 | 7 => Dialect::Psa,
        3 => Dialect::Pna,
        _ => Dialect::V1model,
    }
}

fn bytes(seed: u64, index: u64, n: usize) -> Vec<u8> {
    let mut rng = fastrand::Rng::with_seed(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ index);
    rng.u64(..);
    (0..n).map(|_| rng.u8(..)).collect()
}
