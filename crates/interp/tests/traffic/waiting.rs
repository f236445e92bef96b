//! Packets that wait at asynchronous blocks, in every order in which they may go on.

use super::{inject, sent, switch};
use interp::{Silent, Switch};
use std::collections::BTreeSet;

fn waiting(kinds: &[u8]) -> Switch {
    let mut switch = switch("order.p4");
    switch.let_packets_wait(true);
    for (id, kind) in (0..).zip(kinds) {
        assert_eq!(inject(&mut switch, 0, &[*kind, 10 * id, 0, 0, 0]), []);
    }
    assert_eq!((switch.n_waiting(), switch.n_queued()), (kinds.len(), kinds.len() as u64));
    switch
}

/// What leaves when packets go on as `choices` say; later choices are 0. Gives how many there were at each choice.
fn ended(kinds: &[u8], choices: &[usize]) -> (Vec<Vec<u8>>, Vec<usize>) {
    let mut switch = waiting(kinds);
    let mut of = Vec::new();
    let mut choose = |n: usize| {
        of.push(n);
        choices.get(of.len() - 1).copied().unwrap_or(0)
    };
    let outputs = switch.resume_all(&mut choose, &mut Silent);
    assert!(switch.totals().is_balanced(0), "{:?}", switch.totals());
    (outputs.into_iter().map(|output| sent(output).1).collect(), of)
}

/// All choices, one after the other.
fn each_order(kinds: &[u8]) -> Vec<Vec<Vec<u8>>> {
    let (mut all, mut choices) = (Vec::new(), Vec::new());
    loop {
        let (left, of) = ended(kinds, &choices);
        all.push(left);
        choices.resize(of.len(), 0);
        // The last choice that has not been the last one.
        while choices.last().is_some_and(|last| last + 1 == of[choices.len() - 1]) {
            choices.pop();
        }
        match choices.last_mut() {
            Some(last) => *last += 1,
            None => return all,
        }
    }
}

#[test]
fn every_order_of_three_packets_is_another_one() {
    let all = each_order(&[0, 0, 0]);
    // Of six steps, two are of each packet, one after the other: 6! / 2^3.
    assert_eq!(all.len(), 90);
    let different: BTreeSet<_> = all.iter().collect();
    assert_eq!(different.len(), 90);
    for left in &all {
        assert_eq!(left.len(), 3);
        let mut numbers = Vec::new();
        for packet in left {
            let [_, id, before, within, behind] = packet[..] else { panic!("{packet:?}") };
            assert!(before <= 3 && 3 < within && within < behind && behind <= 9, "{packet:?}");
            // What belongs to the packet is as if it had not waited.
            assert_eq!(id, 10 * (before - 1) + before, "{packet:?}");
            numbers.extend([before, within, behind]);
        }
        numbers.sort_unstable();
        assert_eq!(numbers, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
        // They leave in the order in which they end.
        assert!(left.windows(2).all(|pair| pair[0][4] < pair[1][4]), "{left:?}");
    }
}

#[test]
fn the_order_of_arrival_is_among_them() {
    let mut alone = switch("order.p4");
    let unsuspended: Vec<_> = [[0, 0], [1, 10]]
        .iter()
        .flat_map(|[kind, id]| inject(&mut alone, 0, &[*kind, *id, 0, 0, 0]))
        .map(|(_, bytes)| bytes)
        .collect();
    // Packets that arrive while none waits.
    let mut one_by_one = switch("order.p4");
    one_by_one.let_packets_wait(true);
    let mut left = Vec::new();
    for [kind, id] in [[0, 0], [1, 10]] {
        assert_eq!(inject(&mut one_by_one, 0, &[kind, id, 0, 0, 0]), []);
        assert!(one_by_one.resume(0, &mut Silent).is_empty());
        assert!(one_by_one.resume(7, &mut Silent).is_empty());
        left.extend(one_by_one.resume(0, &mut Silent).into_iter().map(|output| sent(output).1));
    }
    assert_eq!(left, unsuspended);
}

#[test]
fn packets_wait_in_egress_too() {
    let all = each_order(&[3, 3]);
    assert_eq!(all.len(), 6);
    for mut left in all {
        left.sort();
        // Nothing depends on the order.
        assert_eq!(left, [[3, 0, 1, 101, 2], [3, 10, 3, 103, 4]]);
    }
}
