//! Sets of leaves, by their numbers in a [`Layout`](crate::layout::Layout).

use std::ops::Range;

#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct LeafSet {
    words: Vec<u64>,
}

impl LeafSet {
    /// The empty subset of `n_leaves` leaves.
    pub fn none(n_leaves: usize) -> LeafSet {
        LeafSet { words: vec![0; n_leaves.div_ceil(64)] }
    }

    pub fn all(n_leaves: usize) -> LeafSet {
        let mut set = LeafSet::none(n_leaves);
        set.insert(0..n_leaves);
        set
    }

    fn change(&mut self, leaves: Range<usize>, f: impl Fn(&mut u64, u64)) {
        let end = leaves.end.min(self.words.len() * 64);
        let mut at = leaves.start;
        while at < end {
            let stop = end.min((at / 64 + 1) * 64);
            let n = stop - at;
            let bits = if n == 64 { u64::MAX } else { ((1 << n) - 1) << (at % 64) };
            f(&mut self.words[at / 64], bits);
            at = stop;
        }
    }

    pub fn insert(&mut self, leaves: Range<usize>) {
        self.change(leaves, |word, bits| *word |= bits);
    }

    pub fn remove(&mut self, leaves: Range<usize>) {
        self.change(leaves, |word, bits| *word &= !bits);
    }

    pub fn contains(&self, leaf: usize) -> bool {
        self.words.get(leaf / 64).is_some_and(|word| word >> (leaf % 64) & 1 == 1)
    }

    /// Adds the leaves of another set of the same size. Gives true when that adds a leaf.
    pub fn union(&mut self, other: &LeafSet) -> bool {
        let mut is_new = false;
        for (word, more) in self.words.iter_mut().zip(&other.words) {
            is_new |= more & !*word != 0;
            *word |= more;
        }
        is_new
    }

    pub fn intersect(&mut self, other: &LeafSet) {
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word &= other);
    }

    pub fn subtract(&mut self, other: &LeafSet) {
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word &= !other);
    }

    /// True when the two sets have a leaf in common.
    pub fn meets(&self, other: &LeafSet) -> bool {
        self.words.iter().zip(&other.words).any(|(word, other)| word & other != 0)
    }

    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(i, word)| {
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| i * 64 + bit)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::LeafSet;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn behaves_like_a_set(changes in proptest::collection::vec((any::<bool>(), 0usize..200, 0usize..100), 0..20)) {
            let mut set = LeafSet::none(200);
            let mut model = BTreeSet::new();
            for (add, start, n) in changes {
                let range = start..(start + n).min(200);
                if add {
                    set.insert(range.clone());
                    model.extend(range);
                } else {
                    set.remove(range.clone());
                    model.retain(|leaf| !range.contains(leaf));
                }
            }
            prop_assert_eq!(set.iter().collect::<Vec<_>>(), model.iter().copied().collect::<Vec<_>>());
            prop_assert_eq!(set.is_empty(), model.is_empty());
            prop_assert!((0..200).all(|leaf| set.contains(leaf) == model.contains(&leaf)));
            let mut all = LeafSet::all(200);
            prop_assert!(!all.union(&set));
            prop_assert_eq!(all.meets(&set), !set.is_empty());
            all.intersect(&set);
            prop_assert_eq!(&all, &set);
            all.subtract(&set);
            prop_assert!(all.is_empty());
        }
    }
}
