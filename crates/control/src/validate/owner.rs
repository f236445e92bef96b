//! Owners of the parts of a message, for faults, and sets of positions in lists of parts.

use smol_str::SmolStr;
use std::fmt;

/// The owner of key elements, parameters or actions. Prints as in a sentence; nothing is printed for what succeeds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Owner<'n> {
    Table(&'n SmolStr),
    ActionProfile(&'n SmolStr),
    Action(&'n SmolStr),
    ValueSet(&'n SmolStr),
}

impl fmt::Display for Owner<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Owner::Table(name) => write!(f, "table `{name}`"),
            Owner::ActionProfile(name) => write!(f, "action profile `{name}`"),
            Owner::Action(name) => write!(f, "action `{name}`"),
            Owner::ValueSet(name) => write!(f, "value set `{name}`"),
        }
    }
}

impl From<Owner<'_>> for SmolStr {
    fn from(owner: Owner<'_>) -> SmolStr {
        smol_str::format_smolstr!("{owner}")
    }
}

/// A set of positions. It needs memory only for positions from 128 on.
#[derive(Clone, Debug, Default)]
pub(super) struct Positions {
    first: u128,
    rest: Vec<bool>,
}

/// Number of positions that are bits.
const N_FIRST: usize = 128;

impl Positions {
    /// Creates the empty set of positions below `n`.
    pub(super) fn new(n: usize) -> Positions {
        Positions { first: 0, rest: vec![false; n.saturating_sub(N_FIRST)] }
    }

    /// Adds a position. Returns false if it was there already.
    pub(super) fn insert(&mut self, position: usize) -> bool {
        match position.checked_sub(N_FIRST) {
            None => {
                let bit = 1 << position;
                let is_new = self.first & bit == 0;
                self.first |= bit;
                is_new
            }
            Some(i) => self.rest.get_mut(i).is_some_and(|seen| !std::mem::replace(seen, true)),
        }
    }

    /// Returns whether the position is in the set.
    pub(super) fn contains(&self, position: usize) -> bool {
        match position.checked_sub(N_FIRST) {
            None => self.first & (1 << position) != 0,
            Some(i) => self.rest.get(i).copied().unwrap_or(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_found_again() {
        let mut all = Positions::new(300);
        for position in [0, 1, 63, 64, 127, 128, 129, 299] {
            assert!(!all.contains(position));
            assert!(all.insert(position), "{position} is new");
            assert!(!all.insert(position), "{position} is there");
            assert!(all.contains(position));
        }
        assert!(!all.contains(2) && !all.contains(130));
        assert_eq!(Positions::new(128).rest.capacity(), 0);
    }
}
