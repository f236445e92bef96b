//! Histories of one entry: whether some order of its operations explains what they have answered.

use std::collections::HashSet;

/// An operation on an entry, which is absent or has a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Insert(u8),
    Modify(u8),
    Delete,
    Read,
}

/// The answer of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Done,
    AlreadyExists,
    NotFound,
    Value(Option<u8>),
}

/// An operation with the moments before and after it.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    pub operation: Operation,
    pub answer: Answer,
    pub begin: u64,
    pub end: u64,
}

/// The state after an operation on a state, and the answer.
fn step(state: Option<u8>, operation: Operation) -> (Option<u8>, Answer) {
    match (operation, state) {
        (Operation::Insert(_), Some(_)) => (state, Answer::AlreadyExists),
        (Operation::Insert(value), None) | (Operation::Modify(value), Some(_)) => (Some(value), Answer::Done),
        (Operation::Modify(_) | Operation::Delete, None) => (None, Answer::NotFound),
        (Operation::Delete, Some(_)) => (None, Answer::Done),
        (Operation::Read, _) => (state, Answer::Value(state)),
    }
}

/// Returns whether the events, 128 at most, could have happened one after the other, each at a moment between its begin and
/// its end, beginning without the entry.
pub fn is_serialisable(events: &[Event]) -> bool {
    assert!(events.len() <= 128);
    let mut seen = HashSet::new();
    let mut open = vec![(0_u128, None)];
    while let Some((done, state)) = open.pop() {
        let is_open = |i: &usize| done & 1 << *i == 0;
        let Some(first_end) = (0..events.len()).filter(is_open).map(|i| events[i].end).min() else {
            return true;
        };
        for i in (0..events.len()).filter(is_open) {
            let Event { operation, answer, begin, .. } = events[i];
            let (next, expected) = step(state, operation);
            if begin < first_end && answer == expected && seen.insert((done | 1 << i, next)) {
                open.push((done | 1 << i, next));
            }
        }
    }
    false
}

#[test]
fn histories_that_cannot_be_are_found() {
    let event = |operation, answer, begin, end| Event { operation, answer, begin, end };
    let insert = event(Operation::Insert(1), Answer::Done, 0, 4);
    let read = |value, begin, end| event(Operation::Read, Answer::Value(value), begin, end);
    // Beside each other, either order will do.
    assert!(is_serialisable(&[insert, read(None, 1, 3)]));
    assert!(is_serialisable(&[insert, read(Some(1), 1, 3)]));
    // Read after the end of the insertion, or twice in the wrong order.
    assert!(!is_serialisable(&[insert, read(None, 5, 6)]));
    assert!(!is_serialisable(&[insert, read(Some(1), 1, 2), read(None, 3, 4)]));
    assert!(!is_serialisable(&[insert, read(Some(2), 1, 3)]));
    let lost = event(Operation::Modify(2), Answer::Done, 5, 6);
    assert!(!is_serialisable(&[insert, lost, read(Some(1), 7, 8)]));
    assert!(!is_serialisable(&[event(Operation::Delete, Answer::Done, 0, 1)]));
}
