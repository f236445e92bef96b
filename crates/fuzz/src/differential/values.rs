//! Values that are likely to matter: those that the program mentions, and the ends of ranges.

use crate::Choices;
use ir::{Bits, Expr, ExprKind, Program};
use std::collections::BTreeSet;

/// Values to choose from, the same for entries and for packets, so that packets hit entries.
#[derive(Clone, Debug, Default)]
pub struct Pool {
    values: Vec<Bits>,
}

/// Constants of a program that are remembered.
const N_VALUES_MAX: usize = 400;

impl Pool {
    /// The constants of a program.
    pub fn of(program: &Program) -> Pool {
        let mut seen = BTreeSet::new();
        let mut values = Vec::new();
        let mut add = |bits: &Bits| {
            if bits.width() > 1 && values.len() < N_VALUES_MAX && seen.insert(bits.to_bytes_be()) {
                values.push(bits.clone());
            }
        };
        // Expressions are visited to be changed; this is a copy.
        let mut copy = program.clone();
        for graph in copy.graphs_mut() {
            for (_, node) in graph.nodes.iter_mut() {
                node.for_each_expr_mut(&mut |e| constants(e, &mut add));
            }
        }
        for (_, table) in program.tables.iter() {
            for found in table.entries.iter().flat_map(|e| e.matches.iter().flatten()) {
                match found {
                    ir::Match::Exact(v) | ir::Match::Optional(v) => add(v),
                    ir::Match::Lpm { value, .. } | ir::Match::Ternary { value, .. } => add(value),
                    ir::Match::Range { low, high } => {
                        add(low);
                        add(high);
                    }
                }
            }
        }
        Pool { values }
    }

    /// A value of a width, mostly one of few.
    pub fn value(&self, choices: &mut Choices, width: u32) -> Bits {
        match choices.below(10) {
            0..=2 => Bits::new(width, choices.below(4) as u128),
            3..=5 => match choices.pick(&self.values) {
                Some(value) => value.resize(width),
                None => Bits::new(width, choices.below(8) as u128),
            },
            6 => match choices.below(4) {
                0 => Bits::ones(width),
                1 => Bits::ones(width).sub(&Bits::new(width, 1)),
                2 => Bits::new(width, 1).shl(width.saturating_sub(1)),
                _ => Bits::ones(width.saturating_sub(1)).resize(width),
            },
            7 => Bits::new(width, choices.below(256) as u128),
            8 => Bits::new(width, 1).shl(choices.below(width.max(1) as usize) as u32),
            _ => random(choices, width),
        }
    }
}

/// Expressions of the language are not deep.
fn constants(e: &mut Expr, add: &mut dyn FnMut(&Bits)) {
    if let ExprKind::Const(bits) = &e.kind {
        add(bits);
    }
    e.for_each_operand_mut(&mut |operand| constants(operand, add));
}

/// Any value.
pub fn random(choices: &mut Choices, width: u32) -> Bits {
    let bytes: Vec<u8> = (0..width.div_ceil(8)).map(|_| choices.byte()).collect();
    Bits::from_bytes_be(width, &bytes)
}
