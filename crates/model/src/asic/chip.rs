//! Descriptions of switch chips.
//!
//! A description is a TOML file; `docs/reference/chips.md` explains its fields, which are those of [`Chip`]. Two come with the
//! crate. Every number is per stage unless its name says otherwise.

use super::resource::{N_RESOURCES, Resource};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A chip as its description has it.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Chip {
    pub name: String,
    #[serde(default)]
    pub about: String,
    /// Stages that a packet passes on its way in, and again on its way out: both ways share them.
    pub stages: u32,
    pub clock_ghz: f64,
    pub sram: Sram,
    pub tcam: Tcam,
    pub map_ram: MapRam,
    pub tables: Tables,
    pub crossbar: Crossbar,
    pub hash: Hash,
    pub gateways: Gateways,
    pub actions: Actions,
    pub units: Units,
    pub latency: Latency,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Sram {
    pub blocks: u64,
    /// Words of a block: a power of two.
    pub words: u64,
    pub word_bits: u64,
    /// Key bytes that one word can compare.
    pub match_bytes: u64,
    /// Bits of one word that can leave the match, which are action data and pointers.
    pub overhead_bits: u64,
    pub entries_per_word_max: u64,
    /// Entries that a group of blocks read together can have side by side.
    pub entries_max: u64,
    /// Blocks that are read together at most.
    pub words_max: u64,
    /// Independent hash functions of a hash table.
    pub ways_min: u64,
    pub version_bits: u64,
    /// Key bits that follow from the row and are not stored.
    pub hidden_bits: u64,
    /// Key bits beyond the hidden ones for which the key itself may be the address.
    pub identity_bits: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Tcam {
    pub blocks: u64,
    pub rows: u64,
    /// Key bytes of one block.
    pub block_bytes: u64,
    /// Key bytes of two blocks side by side, which share a byte.
    pub pair_bytes: u64,
    /// Nibbles of the widest key that is matched as a range; 0 if ranges become prefixes.
    pub range_nibbles: u64,
    /// Rows of an entry with a range at most.
    pub range_rows_max: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct MapRam {
    pub blocks: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Tables {
    pub logical: u64,
    pub ternary: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Crossbar {
    pub exact_bytes: u64,
    pub ternary_bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Hash {
    pub bits: u64,
    /// Bits that select among the blocks of the ways in one hash group.
    pub way_bits: u64,
    /// Slices of hashes for actions: indices, selectors.
    pub distribution: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Gateways {
    pub rows: u64,
    /// Bits that the condition of one gateway reads.
    pub condition_bits: u64,
    /// Entries of the largest table that one gateway holds in the place of memory. The entries are constant.
    #[serde(default)]
    pub table_entries: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Actions {
    pub instructions: u64,
    pub data_bytes: u64,
    /// Action data of an entry that its word can hold.
    pub immediate_bits: u64,
    /// Bits that name an action where a table has more than eight.
    pub full_address_bits: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Units {
    /// Units for registers, meters and selectors.
    pub registers: u64,
    pub counters: u64,
    /// Widest register cell.
    pub register_bits: u64,
}

/// Cycles.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Latency {
    pub base: u64,
    /// A stage that needs nothing of the stage before.
    pub independent: u64,
    /// A stage whose actions need results of the stage before.
    pub action: u64,
    /// A stage whose keys need results of the stage before. The next three are added to it.
    #[serde(rename = "match")]
    pub matching: u64,
    pub tcam: u64,
    pub selector: u64,
    pub state: u64,
}

/// A description that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChipError {
    /// The text is no description: the message names the line and the field.
    Syntax(String),
    /// A value that makes no sense.
    Field { name: &'static str, reason: String },
}

impl fmt::Display for ChipError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChipError::Syntax(message) => f.write_str(message.trim_end()),
            ChipError::Field { name, reason } => write!(f, "`{name}`: {reason}"),
        }
    }
}

impl std::error::Error for ChipError {}

/// The descriptions that come with the crate: name and text.
pub const BUILT_IN: [(&str, &str); 2] = [
    ("generic-12", include_str!("../../chips/generic-12.toml")),
    ("generic-20", include_str!("../../chips/generic-20.toml")),
];

/// Most entries side by side: each number of them is a layout that is tried.
const ENTRIES_MAX: u64 = 1024;
/// Most stages of a chip, and largest value of any other field.
const STAGES_MAX: u32 = 256;
const VALUE_MAX: u64 = 1 << 24;

/// Sections of a description.
const SECTIONS: [&str; 10] =
    ["sram", "tcam", "map_ram", "tables", "crossbar", "hash", "gateways", "actions", "units", "latency"];
const PRINTS_ONE: &str = "`siding model asic --print-chip` prints a whole description";

/// The message of the parser, with ranges in the place of types of Rust, and with a remedy for what is missing.
fn explained(error: &toml::de::Error) -> String {
    let missing = error.message().strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`'));
    if let Some(name) = missing {
        // The parser has no place for a field that is missing at the top, and points to the first line.
        match name {
            "sram" | "tcam" => {
                return format!(
                    "the section `[{name}]` is missing: add it with all its fields, with `blocks = 0` if the chip has none; {PRINTS_ONE}"
                );
            }
            _ if SECTIONS.contains(&name) => {
                return format!(
                    "the section `[{name}]` is missing: add it with all its fields; {PRINTS_ONE}"
                );
            }
            "name" | "stages" | "clock_ghz" => {
                return format!(
                    "`{name}` is missing: add `{name} = ...` above the first section; {PRINTS_ONE}"
                );
            }
            _ => {}
        }
    }
    let ranges = [
        ("u32", format!("a whole number from 1 to {STAGES_MAX}")),
        ("u64", format!("a whole number from 0 to {VALUE_MAX}")),
        ("f64", "a number".to_string()),
    ];
    let text = error.to_string().trim_end().replace("` as i128", "`").replace("` as u128", "`");
    let named = ranges.iter().find_map(|(name, range)| {
        Some(format!("{}expected {range}", text.strip_suffix(&format!("expected {name}"))?))
    });
    match missing {
        Some(_) => format!("{text}; {PRINTS_ONE}"),
        None => named.unwrap_or(text),
    }
}

impl Chip {
    /// A chip that comes with the crate.
    pub fn built_in(name: &str) -> Option<Chip> {
        let (_, text) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
        Chip::parse(text).ok()
    }

    /// Reads and checks a description.
    pub fn parse(text: &str) -> Result<Chip, ChipError> {
        let chip: Chip = toml::from_str(text).map_err(|error| ChipError::Syntax(explained(&error)))?;
        chip.check()?;
        Ok(chip)
    }

    fn check(&self) -> Result<(), ChipError> {
        let fault = |name, reason: &str| Err(ChipError::Field { name, reason: reason.to_string() });
        if self.stages == 0 {
            return fault("stages", "a chip has at least one stage");
        }
        if self.stages > STAGES_MAX {
            return fault("stages", &format!("at most {STAGES_MAX} stages are modelled"));
        }
        if !(self.clock_ghz.is_finite() && self.clock_ghz > 0.0) {
            return fault("clock_ghz", "the clock is a positive number");
        }
        if self.sram.blocks == 0 && self.tcam.blocks == 0 {
            return fault("sram.blocks", "a chip without SRAM and without TCAM has no tables");
        }
        for (name, value) in self.values() {
            if value > VALUE_MAX {
                return fault(
                    name,
                    &format!("{value} is above {VALUE_MAX}, the largest value that is modelled"),
                );
            }
        }
        let positive = [
            ("sram.words", self.sram.words),
            ("sram.word_bits", self.sram.word_bits),
            ("sram.match_bytes", self.sram.match_bytes),
            ("sram.overhead_bits", self.sram.overhead_bits),
            ("sram.entries_per_word_max", self.sram.entries_per_word_max),
            ("sram.entries_max", self.sram.entries_max),
            ("sram.words_max", self.sram.words_max),
            ("sram.ways_min", self.sram.ways_min),
            ("tcam.rows", self.tcam.rows),
            ("tcam.block_bytes", self.tcam.block_bytes),
            ("tables.logical", self.tables.logical),
            ("gateways.condition_bits", self.gateways.condition_bits),
        ];
        if let Some((name, _)) = positive.iter().find(|(_, value)| *value == 0) {
            return fault(name, "must be at least 1");
        }
        if !self.sram.words.is_power_of_two() {
            return fault("sram.words", "must be a power of two");
        }
        if self.tcam.pair_bytes < self.tcam.block_bytes {
            return fault("tcam.pair_bytes", "two blocks hold at least as much as one (`tcam.block_bytes`)");
        }
        if self.sram.entries_max > ENTRIES_MAX {
            return fault(
                "sram.entries_max",
                &format!("at most {ENTRIES_MAX} entries side by side are modelled"),
            );
        }
        if self.sram.identity_bits > 32 || self.sram.hidden_bits > 32 {
            let name = if self.sram.hidden_bits > 32 { "sram.hidden_bits" } else { "sram.identity_bits" };
            return fault(name, "must be at most 32");
        }
        Ok(())
    }

    /// Whole numbers other than the stages, with the names of their fields.
    fn values(&self) -> Vec<(&'static str, u64)> {
        let Chip { sram, tcam, map_ram, tables, crossbar, hash, gateways, actions, units, latency, .. } =
            self;
        vec![
            ("sram.blocks", sram.blocks),
            ("sram.words", sram.words),
            ("sram.word_bits", sram.word_bits),
            ("sram.match_bytes", sram.match_bytes),
            ("sram.overhead_bits", sram.overhead_bits),
            ("sram.entries_per_word_max", sram.entries_per_word_max),
            ("sram.entries_max", sram.entries_max),
            ("sram.words_max", sram.words_max),
            ("sram.ways_min", sram.ways_min),
            ("sram.version_bits", sram.version_bits),
            ("sram.hidden_bits", sram.hidden_bits),
            ("sram.identity_bits", sram.identity_bits),
            ("tcam.blocks", tcam.blocks),
            ("tcam.rows", tcam.rows),
            ("tcam.block_bytes", tcam.block_bytes),
            ("tcam.pair_bytes", tcam.pair_bytes),
            ("tcam.range_nibbles", tcam.range_nibbles),
            ("tcam.range_rows_max", tcam.range_rows_max),
            ("map_ram.blocks", map_ram.blocks),
            ("tables.logical", tables.logical),
            ("tables.ternary", tables.ternary),
            ("crossbar.exact_bytes", crossbar.exact_bytes),
            ("crossbar.ternary_bytes", crossbar.ternary_bytes),
            ("hash.bits", hash.bits),
            ("hash.way_bits", hash.way_bits),
            ("hash.distribution", hash.distribution),
            ("gateways.rows", gateways.rows),
            ("gateways.condition_bits", gateways.condition_bits),
            ("gateways.table_entries", gateways.table_entries),
            ("actions.instructions", actions.instructions),
            ("actions.data_bytes", actions.data_bytes),
            ("actions.immediate_bits", actions.immediate_bits),
            ("actions.full_address_bits", actions.full_address_bits),
            ("units.registers", units.registers),
            ("units.counters", units.counters),
            ("units.register_bits", units.register_bits),
            ("latency.base", latency.base),
            ("latency.independent", latency.independent),
            ("latency.action", latency.action),
            ("latency.match", latency.matching),
            ("latency.tcam", latency.tcam),
            ("latency.selector", latency.selector),
            ("latency.state", latency.state),
        ]
    }

    /// The amount of each resource in a stage.
    pub fn capacity(&self) -> [u64; N_RESOURCES] {
        let mut capacity = [0; N_RESOURCES];
        for resource in Resource::ALL {
            capacity[resource as usize] = match resource {
                Resource::Sram => self.sram.blocks,
                Resource::Tcam => self.tcam.blocks,
                Resource::MapRam => self.map_ram.blocks,
                Resource::LogicalTables => self.tables.logical,
                Resource::TernaryTables => self.tables.ternary,
                Resource::ExactBytes => self.crossbar.exact_bytes,
                Resource::TernaryBytes => self.crossbar.ternary_bytes,
                Resource::HashBits => self.hash.bits,
                Resource::HashDistribution => self.hash.distribution,
                Resource::Gateways => self.gateways.rows,
                Resource::Instructions | Resource::EgressInstructions => self.actions.instructions,
                Resource::ActionBytes => self.actions.data_bytes,
                Resource::RegisterUnits => self.units.registers,
                Resource::CounterUnits => self.units.counters,
            };
        }
        capacity
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(from: &str, to: &str) -> String {
        let text = BUILT_IN[0].1;
        assert!(text.contains(from), "{from}");
        Chip::parse(&text.replacen(from, to, 1)).unwrap_err().to_string()
    }

    #[test]
    fn the_chips_of_the_crate_are_valid() {
        for (name, _) in BUILT_IN {
            let chip = Chip::built_in(name).unwrap();
            assert_eq!(chip.name, name);
            assert_eq!((chip.sram.blocks, chip.tcam.blocks), (80, 24), "{name}");
        }
        assert_eq!(Chip::built_in("generic-12").unwrap().stages, 12);
        assert_eq!(Chip::built_in("generic-20").unwrap().stages, 20);
        assert_eq!(Chip::built_in("generic-13"), None);
    }

    #[test]
    fn faults_name_the_field() {
        assert_eq!(fault("stages = 12", "stages = 0"), "`stages`: a chip has at least one stage");
        assert!(fault("stages = 12", "stages = 1000").starts_with("`stages`: at most 256"));
        assert!(
            fault("blocks = 80", "blocks = 80000000000").starts_with("`sram.blocks`: 80000000000 is above")
        );
        assert!(fault("words = 1024", "words = 1000").contains("`sram.words`: must be a power of two"));
        assert!(fault("rows = 512", "rows = 0").contains("`tcam.rows`: must be at least 1"));
        assert!(fault("clock_ghz = 1.22", "clock_ghz = nan").contains("`clock_ghz`"));
        assert!(fault("pair_bytes = 11", "pair_bytes = 3").contains("`tcam.pair_bytes`"));
        assert!(fault("hidden_bits = 10", "hidden_bits = 64").contains("`sram.hidden_bits`"));
        let none =
            BUILT_IN[0].1.replacen("blocks = 80", "blocks = 0", 1).replacen("blocks = 24", "blocks = 0", 1);
        assert!(Chip::parse(&none).unwrap_err().to_string().contains("has no tables"));
    }

    #[test]
    fn unknown_and_missing_fields_are_named() {
        let unknown = fault("blocks = 24", "bloks = 24");
        assert!(unknown.contains("unknown field `bloks`"), "{unknown}");
        let missing = fault("blocks = 24\n", "");
        assert!(missing.contains("missing field `blocks`"), "{missing}");
        let negative = fault("blocks = 24", "blocks = -1");
        assert!(negative.contains("-1"), "{negative}");
        assert!(negative.ends_with("expected a whole number from 0 to 16777216"), "{negative}");
        for (from, to, expected) in [
            ("stages = 12", "stages = -12", "expected a whole number from 1 to 256"),
            ("stages = 12", "stages = 5000000000", "expected a whole number from 1 to 256"),
            ("blocks = 24", "blocks = 99999999999999999999", "expected a whole number from 0 to 16777216"),
            ("clock_ghz = 1.22", "clock_ghz = \"fast\"", "expected a number"),
        ] {
            let message = fault(from, to);
            assert!(message.ends_with(expected) && !message.contains("128"), "{message}");
        }
        assert!(fault("[tcam]", "[tkam]").contains("tkam"));
    }

    #[test]
    fn missing_sections_have_a_remedy() {
        for name in SECTIONS {
            let text = BUILT_IN[0].1;
            let start = text.find(&format!("\n[{name}]")).unwrap();
            let end = text[start + 1..].find("\n[").map_or(text.len(), |n| start + 1 + n);
            let message = Chip::parse(&[&text[..start], &text[end..]].concat()).unwrap_err().to_string();
            assert!(message.starts_with(&format!("the section `[{name}]` is missing: add it")), "{message}");
            assert_eq!(message.contains("`blocks = 0`"), ["sram", "tcam"].contains(&name), "{message}");
        }
        let name = fault("stages = 12\n", "");
        assert!(
            name.starts_with("`stages` is missing: add `stages = ...` above the first section"),
            "{name}"
        );
    }
}
