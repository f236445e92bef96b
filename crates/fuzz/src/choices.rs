//! Decisions read from bytes.

/// A source of decisions. When the bytes run out every decision is the first one.
#[derive(Clone, Debug)]
pub struct Choices<'a> {
    data: &'a [u8],
    at: usize,
}

impl<'a> Choices<'a> {
    pub fn new(data: &'a [u8]) -> Choices<'a> {
        Choices { data, at: 0 }
    }

    pub fn is_empty(&self) -> bool {
        self.at >= self.data.len()
    }

    pub fn byte(&mut self) -> u8 {
        let byte = self.data.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        byte
    }

    /// A number below `n`; 0 when `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        if n <= 1 {
            return 0;
        }
        let mut value = 0usize;
        let mut reach = 1usize;
        while reach < n {
            value = (value << 8) | self.byte() as usize;
            reach <<= 8;
        }
        value % n
    }

    /// From `lo` to `hi`, both included.
    pub fn range(&mut self, lo: usize, hi: usize) -> usize {
        lo + self.below(hi.saturating_sub(lo) + 1)
    }

    /// True about once in `n` times, never when the bytes have run out.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == n - 1
    }

    pub fn pick<'b, T>(&mut self, from: &'b [T]) -> Option<&'b T> {
        if from.is_empty() {
            return None;
        }
        from.get(self.below(from.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::Choices;

    #[test]
    fn exhausted_choices_are_zero() {
        let mut choices = Choices::new(&[7, 1, 2]);
        assert_eq!(choices.below(5), 2);
        assert_eq!(choices.below(1000), 258);
        assert!(choices.is_empty());
        assert_eq!((choices.below(1000), choices.range(3, 9)), (0, 3));
        assert!(!choices.one_in(2));
        assert_eq!(choices.pick::<u8>(&[]), None);
    }
}
