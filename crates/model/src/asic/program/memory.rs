//! Memories that are reached by an index: counters, meters, registers, action profiles and selectors.

use super::tables::{bits, counter_cell, size};
use super::{Described, DesignError, Making, NodeKind};
use crate::asic::packing::data_words;
use crate::asic::placement::Node;
use crate::asic::resource::Resource;
use ir::ObjectId;
use ir::lookup::index;

/// Members of a selector's group in a word.
const MEMBERS_PER_WORD: u64 = 120;

impl Making<'_> {
    /// The node of a memory. `data_bits` is the action data of a profile's members.
    pub fn memory(&mut self, block: usize, object: ObjectId, data_bits: u64) -> Result<usize, DesignError> {
        if let Some(node) = self.memories.get(&index(object)) {
            let node = *node;
            self.design.nodes[node].block = self.design.nodes[node].block.min(block);
            return Ok(node);
        }
        let chip = self.chip;
        let found = &self.program.objects[object];
        let n = size(found)?;
        let kind = found.type_name.to_lowercase();
        let mut node = Node::new(self.object_name(object));
        let mut add = |resource: Resource, amount: u64| {
            let slot = &mut node.part[resource as usize];
            *slot = slot.saturating_add(amount);
        };
        let blocks = |per_word: u64| n.div_ceil(chip.sram.words.saturating_mul(per_word.max(1)));
        if kind.contains("profile") || kind.contains("selector") {
            if data_bits > 0 {
                let (per_word, n_words) = data_words(chip, data_bits);
                add(Resource::Sram, blocks(per_word).saturating_mul(n_words));
            }
            if kind.contains("selector") {
                let lines = n.div_ceil(MEMBERS_PER_WORD);
                let n_blocks = lines.div_ceil(chip.sram.words) + 1;
                add(Resource::Sram, n_blocks);
                add(Resource::MapRam, n_blocks);
                add(Resource::RegisterUnits, 1);
                add(Resource::HashDistribution, 1);
            }
        } else {
            let (per_word, unit) = if kind.contains("counter") {
                (counter_cell(found).per_word(), Resource::CounterUnits)
            } else if kind.contains("register") {
                let width = found.type_args.first().map_or(32, |ty| bits(self.program, ty)).max(8);
                let cell = width.min(chip.sram.word_bits).next_power_of_two();
                (chip.sram.word_bits / cell.max(1), Resource::RegisterUnits)
            } else {
                (1, Resource::RegisterUnits)
            };
            let n_blocks = blocks(per_word).saturating_add(1);
            add(Resource::Sram, n_blocks);
            add(Resource::MapRam, n_blocks);
            add(unit, 1);
        }
        if kind.contains("register") {
            let width = found.type_args.first().map_or(32, |ty| bits(self.program, ty));
            let most = chip.units.register_bits;
            if width > most {
                let name = self.object_name(object);
                self.design.refused.push(format!(
                    "`{name}`: cells of {width} bits, and those of the chip have {most} at most"
                ));
            }
        }
        let position = self.design.problem.nodes.len();
        self.design.problem.nodes.push(node);
        self.design.nodes.push(Described { kind: NodeKind::Memory, block, table: None });
        self.memories.insert(index(object), position);
        Ok(position)
    }
}
