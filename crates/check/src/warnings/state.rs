//! Facts about the cells at one point of the program.

/// Knowledge about one cell. For scalars "good" means written, for validity cells valid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Fact {
    pub may_be_good: bool,
    pub may_be_bad: bool,
}

impl Fact {
    pub const GOOD: Fact = Fact { may_be_good: true, may_be_bad: false };
    pub const BAD: Fact = Fact { may_be_good: false, may_be_bad: true };
    /// The cell is not tracked; treated as good.
    pub const UNKNOWN: Fact = Fact { may_be_good: false, may_be_bad: false };

    pub fn or(self, other: Fact) -> Fact {
        Fact {
            may_be_good: self.may_be_good || other.may_be_good,
            may_be_bad: self.may_be_bad || other.may_be_bad,
        }
    }

    pub fn is_certainly_bad(self) -> bool {
        self.may_be_bad && !self.may_be_good
    }
}

#[derive(Clone, Default, PartialEq, Eq, Debug)]
struct Bits(Vec<u64>);

impl Bits {
    fn get(&self, i: u32) -> bool {
        self.0.get(i as usize / 64).is_some_and(|w| w >> (i % 64) & 1 == 1)
    }

    fn set(&mut self, i: u32, value: bool) {
        let word = i as usize / 64;
        if word >= self.0.len() {
            if !value {
                return;
            }
            self.0.resize(word + 1, 0);
        }
        let mask = 1 << (i % 64);
        if value {
            self.0[word] |= mask;
        } else {
            self.0[word] &= !mask;
        }
    }

    /// True when this changed.
    fn union(&mut self, other: &Bits) -> bool {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        let mut changed = false;
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            changed |= *b & !*a != 0;
            *a |= *b;
        }
        changed
    }

    fn intersect(&mut self, other: &Bits) -> bool {
        let mut changed = false;
        for (i, a) in self.0.iter_mut().enumerate() {
            let b = other.0.get(i).copied().unwrap_or(0);
            changed |= *a & !b != 0;
            *a &= b;
        }
        changed
    }
}

/// Facts about all cells. Cells that were never set are `UNKNOWN`.
#[derive(Clone, Default, Debug)]
pub(super) struct State {
    good: Bits,
    bad: Bits,
    /// Headers whose validity the program has tested on this path; it handles them itself.
    asked: Bits,
}

impl State {
    pub fn get(&self, cell: u32) -> Fact {
        Fact { may_be_good: self.good.get(cell), may_be_bad: self.bad.get(cell) }
    }

    /// True if one of `n` cells from `start` may be bad.
    pub fn any_bad(&self, start: u32, n: u32) -> bool {
        let end = start.saturating_add(n);
        let mut i = start;
        while i < end {
            let word = self.bad.0.get(i as usize / 64).copied().unwrap_or(0);
            if word >> (i % 64) == 0 {
                i = (i / 64 + 1) * 64;
            } else if self.bad.get(i) {
                return true;
            } else {
                i += 1;
            }
        }
        false
    }

    /// Sets a fact and forgets earlier validity tests of the cell.
    pub fn set(&mut self, cell: u32, fact: Fact) {
        self.good.set(cell, fact.may_be_good);
        self.bad.set(cell, fact.may_be_bad);
        self.asked.set(cell, false);
    }

    pub fn was_asked(&self, cell: u32) -> bool {
        self.asked.get(cell)
    }

    pub fn ask(&mut self, cell: u32) {
        self.asked.set(cell, true);
    }

    /// Forgets the validity tests that `before` does not have.
    pub fn forget_questions_since(&mut self, before: &State) {
        self.asked.intersect(&before.asked);
    }

    /// The state where two paths meet. True when this changed.
    pub fn join(&mut self, other: &State) -> bool {
        let good = self.good.union(&other.good);
        let bad = self.bad.union(&other.bad);
        let asked = self.asked.intersect(&other.asked);
        good | bad | asked
    }

    /// Cost of copying and joining, in words.
    pub fn n_words(&self) -> usize {
        self.good.0.len() + self.bad.0.len() + self.asked.0.len()
    }
}

/// Joins the states of two points, each of which may be unreachable.
pub(super) fn join(a: Option<State>, b: Option<State>) -> Option<State> {
    match (a, b) {
        (Some(mut a), Some(b)) => {
            a.join(&b);
            Some(a)
        }
        (a, None) => a,
        (None, b) => b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_meet_in_the_union_of_what_may_be() {
        let (mut a, mut b) = (State::default(), State::default());
        a.set(3, Fact::GOOD);
        b.set(3, Fact::BAD);
        b.set(200, Fact::BAD);
        a.ask(3);
        assert!(a.join(&b));
        assert_eq!(a.get(3), Fact { may_be_good: true, may_be_bad: true });
        assert!(a.get(200).is_certainly_bad());
        assert!(!a.was_asked(3));
        assert!(!a.join(&b), "joining again changes nothing");
        assert_eq!(a.get(7), Fact::UNKNOWN);
        assert!(a.any_bad(0, 4) && !a.any_bad(4, 196) && a.any_bad(4, 197));
    }
}
