//! Smaller inputs that break the same promise.

use crate::{Corpus, Finding, Input, Target, judge};
use std::time::{Duration, Instant};
use syntax::lexer::Lexer;

/// A finding, with the smallest input found for it.
#[derive(Clone, Debug)]
pub struct Minimised {
    pub finding: Finding,
    pub text: String,
}

/// Reduces the input of `data` for at most `time`.
pub fn minimise(target: Target, data: &[u8], finding: Finding, corpus: &Corpus, time: Duration) -> Minimised {
    let end = Instant::now() + time;
    let text = target.input(data, corpus).text;
    let judged = |text: &str| judge(&Input { text: text.to_string(), is_valid: false }, corpus).err();
    let mut best = Minimised { finding, text };
    if judged(&best.text).is_some_and(|f| f.key == best.finding.key) {
        for cut in [lines, tokens, tokens] {
            let parts = cut(&best.text);
            let parts = reduce(parts, end, |parts| {
                judged(&parts.concat())
                    .filter(|f| f.key == best.finding.key)
                    .map(|f| best.finding = f)
                    .is_some()
            });
            best.text = parts.concat();
        }
        return best;
    }
    // The promise is about valid programs, so only smaller programs of the generator will do.
    let mut check = |data: &[u8]| {
        let input = target.input(data, corpus);
        let found = judge(&input, corpus).err().filter(|f| f.key == best.finding.key);
        let is_same = found.is_some();
        if let Some(finding) = found {
            best = Minimised { finding, text: input.text };
        }
        is_same
    };
    let data = reduce(data.to_vec(), end, |data| check(data));
    zero(data, end, check);
    best
}

pub(crate) fn lines(text: &str) -> Vec<String> {
    text.split_inclusive('\n').map(str::to_string).collect()
}

pub(crate) fn tokens(text: &str) -> Vec<String> {
    Lexer::new(text).map(|t| t.text(text).to_string()).collect()
}

/// Leaves out ever smaller runs of parts while `is_same` holds of the rest.
pub(crate) fn reduce<T: Clone>(
    mut parts: Vec<T>,
    end: Instant,
    mut is_same: impl FnMut(&[T]) -> bool,
) -> Vec<T> {
    let mut size = parts.len() / 2;
    while size > 0 {
        let mut at = 0;
        let mut has_shrunk = false;
        while at < parts.len() && Instant::now() < end {
            let mut rest = parts[..at].to_vec();
            rest.extend_from_slice(&parts[parts.len().min(at + size)..]);
            if is_same(&rest) {
                parts = rest;
                has_shrunk = true;
            } else {
                at += size;
            }
        }
        if Instant::now() >= end {
            break;
        }
        if !has_shrunk || size > parts.len() {
            size /= 2;
        }
    }
    parts
}

/// Makes bytes zero, which picks the simplest choice.
fn zero(mut data: Vec<u8>, end: Instant, mut is_same: impl FnMut(&[u8]) -> bool) {
    for i in 0..data.len() {
        if data[i] != 0 && Instant::now() < end {
            let byte = std::mem::replace(&mut data[i], 0);
            if !is_same(&data) {
                data[i] = byte;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reducing_keeps_what_matters() {
        let end = Instant::now() + Duration::from_secs(10);
        let parts: Vec<u32> = (0..100).collect();
        let rest = reduce(parts, end, |p| p.contains(&17) && p.contains(&83));
        assert_eq!(rest, [17, 83]);
    }
}
