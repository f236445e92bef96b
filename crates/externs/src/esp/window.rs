//! The window against replay (RFC 4303, section 3.4.3).

/// Sequence numbers that have been received: the highest one, and those shortly before it.
#[derive(Debug)]
pub(super) struct Window {
    highest: u32,
    /// Bit `n % bits` is set when sequence number `n` has been received.
    words: Vec<u64>,
}

impl Window {
    /// A window for this many sequence numbers, rounded up to whole words.
    pub(super) fn new(n_numbers: u32) -> Window {
        Window { highest: 0, words: vec![0; n_numbers.div_ceil(u64::BITS).max(1) as usize] }
    }

    fn n_numbers(&self) -> u32 {
        self.words.len() as u32 * u64::BITS
    }

    fn place(&self, sequence: u32) -> (usize, u64) {
        let bit = sequence % self.n_numbers();
        ((bit / u64::BITS) as usize, 1 << (bit % u64::BITS))
    }

    /// Returns whether the sequence number is new: neither received before nor too old to tell.
    pub(super) fn is_new(&self, sequence: u32) -> bool {
        if sequence > self.highest {
            return true;
        }
        let (word, bit) = self.place(sequence);
        sequence != 0 && self.highest - sequence < self.n_numbers() && self.words[word] & bit == 0
    }

    /// Marks a sequence number as received; false if it is not new.
    pub(super) fn mark(&mut self, sequence: u32) -> bool {
        if !self.is_new(sequence) {
            return false;
        }
        if sequence > self.highest {
            let n = (sequence - self.highest).min(self.n_numbers());
            for passed in 0..n {
                let (word, bit) = self.place(sequence - passed);
                self.words[word] &= !bit;
            }
            self.highest = sequence;
        }
        let (word, bit) = self.place(sequence);
        self.words[word] |= bit;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_new_once() {
        let mut window = Window::new(64);
        assert!(!window.is_new(0));
        for (sequence, is_new) in
            [(1, true), (1, false), (3, true), (2, true), (66, true), (2, false), (3, false), (4, true)]
        {
            assert_eq!(window.mark(sequence), is_new, "{sequence}");
        }
        assert!(window.mark(u32::MAX) && window.mark(u32::MAX - 63));
        assert!(!window.mark(u32::MAX - 64) && !window.mark(u32::MAX));
    }

    #[test]
    fn a_window_behaves_like_a_list_of_all_numbers() {
        let (mut window, mut received) = (Window::new(128), Vec::new());
        let mut state = 7_u64;
        for _ in 0..5000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let highest = received.iter().max().copied().unwrap_or(0_u32);
            let sequence = (highest + 40).saturating_sub((state >> 33) as u32 % 200);
            let is_new =
                sequence != 0 && highest.saturating_sub(sequence) < 128 && !received.contains(&sequence);
            assert_eq!(window.mark(sequence), is_new, "{sequence} of {highest}");
            if is_new {
                received.push(sequence);
            }
        }
    }
}
