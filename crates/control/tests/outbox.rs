//! Messages for controllers that read slowly.

use control::outbox::{MessageKind, Outbox, STUCK_NS};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

fn all(outbox: &mut Outbox<u32>) -> Vec<u32> {
    std::iter::from_fn(|| outbox.pop(0)).collect()
}

#[test]
fn l2_the_order_is_kept() {
    let mut outbox = Outbox::new(100);
    for (n, kind) in (0..).zip(MessageKind::ALL.into_iter().rev()) {
        assert!(outbox.push(kind, n, 10, 0));
    }
    assert_eq!(outbox.n_bytes(), 50);
    assert_eq!(all(&mut outbox), [0, 1, 2, 3, 4]);
    assert_eq!((outbox.is_empty(), outbox.n_bytes()), (true, 0));
}

#[test]
fn l2_packets_are_left_out_first_and_counted() {
    let mut outbox = Outbox::new(30);
    assert!(outbox.push(MessageKind::Digest, 1, 10, 0));
    assert!(outbox.push(MessageKind::Packet, 2, 10, 0));
    assert!(outbox.push(MessageKind::Packet, 3, 10, 0));
    // A packet makes no room for a packet.
    assert!(!outbox.push(MessageKind::Packet, 4, 10, 0));
    assert!(outbox.push(MessageKind::IdleNotice, 5, 10, 0));
    assert!(outbox.push(MessageKind::Error, 6, 10, 0));
    assert_eq!(outbox.n_left_out(MessageKind::Packet), 3);
    assert!(!outbox.push(MessageKind::Packet, 7, 10, 0));
    // No packets are left: notices go before digests.
    assert!(outbox.push(MessageKind::Digest, 8, 10, 0));
    assert_eq!(outbox.n_left_out(MessageKind::IdleNotice), 1);
    assert!(!outbox.push(MessageKind::Digest, 9, 10, 0));
    assert_eq!(outbox.n_left_out(MessageKind::Digest), 1);
    assert_eq!(all(&mut outbox), [1, 6, 8]);
}

/// Nothing is left out for a message that has no room all the same.
#[test]
fn l2_a_message_that_is_too_long_costs_no_other() {
    let mut outbox = Outbox::new(30);
    assert!(outbox.push(MessageKind::Error, 1, 20, 0));
    assert!(outbox.push(MessageKind::Packet, 2, 10, 0));
    assert!(!outbox.push(MessageKind::Digest, 3, 11, 0));
    assert!(!outbox.push(MessageKind::Error, 4, 31, 0));
    assert_eq!(all(&mut outbox), [1, 2]);
}

#[test]
fn l2_arbitration_always_gets_through() {
    let mut outbox = Outbox::new(10);
    assert!(outbox.push(MessageKind::Error, 1, 10, 0));
    for n in 2..5 {
        assert!(outbox.push(MessageKind::Arbitration, n, 10, 0));
    }
    assert_eq!(outbox.n_left_out(MessageKind::Error), 1);
    assert_eq!(outbox.n_left_out(MessageKind::Arbitration), 0);
    assert_eq!(all(&mut outbox), [2, 3, 4]);
    assert!(outbox.push(MessageKind::Packet, 5, 10, 0));
}

#[test]
fn l2_a_controller_that_takes_nothing_is_stuck() {
    let mut outbox = Outbox::new(100);
    assert!(!outbox.is_stuck(u64::MAX));
    outbox.push(MessageKind::Packet, 1, 1, 5);
    outbox.push(MessageKind::Packet, 2, 1, STUCK_NS);
    assert!(!outbox.is_stuck(STUCK_NS + 4));
    assert!(outbox.is_stuck(STUCK_NS + 5));
    // Each message that it takes gives it time.
    outbox.pop(STUCK_NS + 5);
    assert!(!outbox.is_stuck(2 * STUCK_NS + 4));
    assert!(outbox.is_stuck(2 * STUCK_NS + 5));
    outbox.pop(2 * STUCK_NS + 5);
    assert!(!outbox.is_stuck(u64::MAX));
}

proptest! {
    /// Against a list from which the messages that matter least are removed.
    #[test]
    fn l2_what_waits_is_what_matters_most(
        steps in vec((select(&MessageKind::ALL[..]), 0usize..40, any::<bool>()), 0..80),
    ) {
        const N_BYTES_MAX: usize = 100;
        let mut outbox = Outbox::new(N_BYTES_MAX);
        let mut model: Vec<(MessageKind, usize, usize)> = Vec::new();
        let mut n_left_out = 0;
        for (n, (kind, n_bytes, is_pop)) in steps.into_iter().enumerate() {
            if is_pop {
                let expected = (!model.is_empty()).then(|| model.remove(0).1);
                prop_assert_eq!(outbox.pop(0), expected);
                continue;
            }
            let sum = |model: &[(MessageKind, usize, usize)]| model.iter().map(|(_, _, n)| n).sum::<usize>();
            let more: usize = model.iter().filter(|(other, ..)| *other <= kind).map(|(_, _, n)| n).sum();
            let waits = kind == MessageKind::Arbitration || more + n_bytes <= N_BYTES_MAX;
            while waits && sum(&model) + n_bytes > N_BYTES_MAX {
                let least = model.iter().map(|(kind, ..)| *kind).max().filter(|least| *least > kind);
                let Some(least) = least else { break };
                let at = model.iter().position(|(kind, ..)| *kind == least).unwrap();
                model.remove(at);
                n_left_out += 1;
            }
            prop_assert_eq!(outbox.push(kind, n, n_bytes, 0), waits);
            if waits {
                model.push((kind, n, n_bytes));
            } else {
                n_left_out += 1;
            }
            prop_assert_eq!(outbox.n_bytes(), sum(&model));
            prop_assert_eq!(MessageKind::ALL.map(|kind| outbox.n_left_out(kind)).iter().sum::<u64>(), n_left_out);
        }
        let rest: Vec<_> = std::iter::from_fn(|| outbox.pop(0)).collect();
        prop_assert_eq!(rest, model.into_iter().map(|(_, n, _)| n).collect::<Vec<_>>());
    }
}

#[test]
fn of_many_outcomes_of_elections_the_last_ones_wait() {
    for n_bytes_max in [100, 1 << 30] {
        let mut outbox = Outbox::new(n_bytes_max);
        assert!(outbox.push(MessageKind::Error, 0, 10, 0));
        for n in 1..=100_000 {
            assert!(outbox.push(MessageKind::Arbitration, n, 10, 0));
            // Others come between, as long as they have room.
            outbox.push(MessageKind::Error, n, 10, 0);
            if n % 5 == 0 {
                outbox.pop(0);
            }
        }
        let left = all(&mut outbox);
        assert!(left.windows(2).all(|pair| pair[0] <= pair[1]), "{n_bytes_max}: the order is kept");
        assert_eq!(left.last(), Some(&100_000));
        assert_eq!(outbox.n_bytes(), 0);
    }
    let mut outbox = Outbox::new(1 << 30);
    assert!(outbox.push(MessageKind::Error, 0, 10, 0));
    (1..=100_000).for_each(|n| assert!(outbox.push(MessageKind::Arbitration, n, 10, 0)));
    assert_eq!(outbox.n_left_out(MessageKind::Arbitration), 100_000 - 1024);
    assert_eq!(outbox.n_bytes(), 1025 * 10);
    let left = all(&mut outbox);
    assert_eq!(left[0], 0);
    assert_eq!(left[1..], (100_001 - 1024..=100_000).collect::<Vec<u32>>());
}
