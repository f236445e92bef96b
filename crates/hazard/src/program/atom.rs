//! Stateful operations that hardware can do in one cycle.

use super::costs::Costs;
use super::operations::{Kind, OperationId, Operations, State};
use rustc_hash::FxHashMap;
use std::fmt;

/// Circuits that read, change and write state within a cycle, each able to do what those before it do (after
/// Sivaraman et al., "Packet Transactions", 2016, table 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Atom {
    /// Reads, or writes a value of the packet.
    ReadWrite,
    /// Adds to the state, or replaces it.
    ReadAddWrite,
    /// `ReadAddWrite` under one condition, which may read the state.
    PredicatedReadAddWrite,
    /// Two conditions, one within the other.
    Nested,
    /// Two conditions, and two values that depend on each other.
    Pairs,
}

/// The reason why no atom implements an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoAtom {
    /// An operation that no atom has.
    Operation { operation: OperationId },
    /// More arithmetic in a row than an atom has.
    Arithmetic { n: u32 },
    /// More conditions in a row.
    Conditions { n: u32 },
    /// More values that depend on each other.
    States { n: usize },
    /// Entries are added to a table.
    Table,
}

impl fmt::Display for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Atom::ReadWrite => "read/write",
            Atom::ReadAddWrite => "read-add-write",
            Atom::PredicatedReadAddWrite => "predicated read-add-write",
            Atom::Nested => "nested conditions",
            Atom::Pairs => "pairs",
        })
    }
}

/// Operations of a kind that follow each other.
#[derive(Clone, Copy, Default)]
struct Depth {
    arithmetic: u32,
    conditions: u32,
}

impl Atom {
    pub(super) fn of(
        operations: &Operations,
        circle: &[OperationId],
        n_states: usize,
        costs: &Costs,
    ) -> Result<Atom, NoAtom> {
        let mut depths: FxHashMap<OperationId, Depth> = FxHashMap::default();
        let (mut deepest, mut n_built_in) = (Depth::default(), 0);
        for id in circle {
            let operation = &operations.all[*id];
            let mut depth = operations.needs(*id).filter_map(|need| depths.get(&need)).fold(
                Depth::default(),
                |most, need| Depth {
                    arithmetic: most.arithmetic.max(need.arithmetic),
                    conditions: most.conditions.max(need.conditions),
                },
            );
            match operation.kind {
                Kind::Read(State::Table(_)) | Kind::Write(State::Table(_)) => return Err(NoAtom::Table),
                Kind::Field | Kind::Wire | Kind::Read(_) | Kind::Write(_) => {}
                Kind::Update(_) => n_built_in += 1,
                // An operation wider than the ALU counts as several.
                Kind::Add | Kind::Logic => {
                    depth.arithmetic += operation.cycles.div_ceil(costs.add.max(1)).max(1)
                }
                Kind::Select => depth.conditions += 1,
                // The comparison is part of the atom's selection.
                Kind::Compare => {}
                Kind::Shift
                | Kind::Multiply
                | Kind::Divide
                | Kind::Hash
                | Kind::Random
                | Kind::Table(_)
                | Kind::Call => return Err(NoAtom::Operation { operation: *id }),
            }
            // A write under a condition on the state selects between the old and the new value.
            let is_guarded = matches!(operation.kind, Kind::Write(_))
                && operation.conditions.iter().any(|need| depths.contains_key(need));
            depth.conditions += u32::from(is_guarded);
            deepest.arithmetic = deepest.arithmetic.max(depth.arithmetic);
            deepest.conditions = deepest.conditions.max(depth.conditions);
            depths.insert(*id, depth);
        }
        if n_built_in > 0 {
            return Ok(Atom::ReadAddWrite);
        }
        if deepest.arithmetic > 1 {
            return Err(NoAtom::Arithmetic { n: deepest.arithmetic });
        }
        match (n_states, deepest.conditions) {
            (0 | 1, 0) if deepest.arithmetic == 0 => Ok(Atom::ReadWrite),
            (0 | 1, 0) => Ok(Atom::ReadAddWrite),
            (0 | 1, 1) => Ok(Atom::PredicatedReadAddWrite),
            (0 | 1, 2) => Ok(Atom::Nested),
            (2, 0..=2) => Ok(Atom::Pairs),
            (0..=2, n) => Err(NoAtom::Conditions { n }),
            (n, _) => Err(NoAtom::States { n }),
        }
    }
}
