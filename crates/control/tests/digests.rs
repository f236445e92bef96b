//! Lists of digests.

use control::digests::{Digests, LIST_SIZE_DEFAULT, N_UNACKNOWLEDGED_MAX};
use control::*;
use ir::Bits;
use p4info::{Format, decode_p4info};
use proptest::collection::vec;
use proptest::prelude::*;

const LEARN: DigestId = DigestId(0x1700_0001);
const OTHER: DigestId = DigestId(0x1700_0002);

fn schema() -> Schema {
    let digest = |id: u32, name: &str| {
        format!(
            r#"digests {{ preamble {{ id: {id} name: "{name}" }} type_spec {{ bitstring {{ bit {{ bitwidth: 32 }} }} }} }}"#
        )
    };
    let text = digest(LEARN.0, "learn") + &digest(OTHER.0, "other");
    Schema::new(&decode_p4info(text.as_bytes(), Format::Text).unwrap()).unwrap()
}

fn config(max_timeout_ns: i64, max_list_size: i32, ack_timeout_ns: i64) -> DigestConfig {
    DigestConfig { max_timeout_ns, max_list_size, ack_timeout_ns }
}

fn message(n: u32) -> Data {
    Data::Bits(Bits::new(32, n.into()))
}

fn numbers(list: &DigestList) -> Vec<u64> {
    let number = |data: &Data| match data {
        Data::Bits(bits) => bits.low_u64(),
        other => panic!("{other:?}"),
    };
    list.messages.iter().map(number).collect()
}

fn configured(config: DigestConfig) -> Digests {
    let mut digests = Digests::default();
    digests.configure(LEARN, config);
    digests
}

#[test]
fn k1_nothing_is_sent_before_the_digest_is_configured() {
    let mut digests = Digests::default();
    assert_eq!(digests.push(LEARN, message(1), 5), None);
    assert_eq!((digests.due(u64::MAX), digests.next_due_ns()), (vec![], None));
    digests.configure(LEARN, config(0, 0, 0));
    assert_eq!(digests.push(OTHER, message(1), 5), None);
    assert!(digests.push(LEARN, message(1), 5).is_some());
    digests.remove(LEARN);
    assert_eq!(digests.push(LEARN, message(2), 5), None);
}

#[test]
fn k1_a_list_goes_out_when_it_is_full() {
    let mut digests = configured(config(1_000, 3, 0));
    assert_eq!(digests.push(LEARN, message(1), 10), None);
    // Equal messages count once.
    assert_eq!(digests.push(LEARN, message(1), 20), None);
    assert_eq!(digests.push(LEARN, message(2), 30), None);
    let list = digests.push(LEARN, message(3), 40).unwrap();
    assert_eq!((list.digest, list.list, numbers(&list), list.timestamp_ns), (LEARN, 1, vec![1, 2, 3], 40));
    assert_eq!(digests.next_due_ns(), None);
}

#[test]
fn k1_a_list_goes_out_when_its_first_message_is_old_enough() {
    let mut digests = configured(config(1_000, 3, 0));
    assert_eq!(digests.push(LEARN, message(1), 10), None);
    assert_eq!(digests.push(LEARN, message(2), 500), None);
    assert_eq!(digests.next_due_ns(), Some(1_010));
    assert_eq!(digests.due(1_009), vec![]);
    let lists = digests.due(1_010);
    assert_eq!(lists.iter().map(numbers).collect::<Vec<_>>(), [[1, 2]]);
    assert_eq!((digests.due(5_000), digests.next_due_ns()), (vec![], None));
}

#[test]
fn k1_without_a_timeout_or_with_size_one_each_message_goes_at_once() {
    for config in [config(0, 9, 0), config(1_000, 1, 0), config(0, 0, 0)] {
        let mut digests = configured(config);
        for n in 1..4 {
            let list = digests.push(LEARN, message(n), 7).unwrap();
            assert_eq!((list.list, numbers(&list)), (n.into(), vec![n.into()]));
        }
    }
}

#[test]
fn k1_lists_without_a_size_have_a_thousand_messages() {
    let mut digests = configured(config(i64::MAX, 0, 0));
    let n_last = LIST_SIZE_DEFAULT as u32;
    assert!((1..n_last).all(|n| digests.push(LEARN, message(n), 7).is_none()));
    assert_eq!(digests.push(LEARN, message(n_last), 7).unwrap().messages.len(), 1000);
}

#[test]
fn k1_equal_messages_come_again_when_acknowledged_or_old() {
    let schema = schema();
    let mut digests = configured(config(0, 1, 100));
    let first = digests.push(LEARN, message(1), 10).unwrap();
    assert_eq!(digests.push(LEARN, message(1), 20), None);
    // Other messages and other lists are not concerned.
    let second = digests.push(LEARN, message(2), 30).unwrap();
    assert_eq!(digests.acknowledge(&schema, DigestAck { digest: LEARN, list: second.list }), Ok(()));
    assert_eq!(digests.push(LEARN, message(1), 40), None);
    assert_eq!(digests.acknowledge(&schema, DigestAck { digest: LEARN, list: first.list }), Ok(()));
    assert!(digests.push(LEARN, message(1), 50).is_some());
    assert_eq!(digests.push(LEARN, message(1), 149), None);
    assert!(digests.push(LEARN, message(1), 150).is_some());
    // Late and twice: nothing happens.
    for list in [first.list, 77] {
        assert_eq!(digests.acknowledge(&schema, DigestAck { digest: LEARN, list }), Ok(()));
        assert_eq!(digests.acknowledge(&schema, DigestAck { digest: OTHER, list }), Ok(()));
    }
    assert_eq!(digests.push(LEARN, message(1), 160), None);
    let unknown = DigestAck { digest: DigestId(0x1700_0003), list: 1 };
    assert_eq!(digests.acknowledge(&schema, unknown), Err(StreamError::unknown_digest(unknown)));
}

#[test]
fn k1_without_time_for_acknowledgements_nothing_is_remembered() {
    let mut digests = configured(config(0, 1, 0));
    assert!((0..3).all(|_| digests.push(LEARN, message(1), 10).is_some()));
}

#[test]
fn k1_a_new_primary_hears_all_anew() {
    let mut digests = configured(config(0, 1, i64::MAX));
    assert!(digests.push(LEARN, message(1), 10).is_some());
    assert_eq!(digests.push(LEARN, message(1), 11), None);
    digests.forget_sent();
    let list = digests.push(LEARN, message(1), 12).unwrap();
    assert_eq!(list.list, 2);
}

#[test]
fn k1_a_new_config_counts_for_messages_that_wait() {
    let mut digests = configured(config(i64::MAX, 9, 0));
    assert!((1..6).all(|n| digests.push(LEARN, message(n), 10).is_none()));
    digests.configure(LEARN, config(i64::MAX, 2, 0));
    let lists: Vec<_> = digests.due(11).iter().map(numbers).collect();
    assert_eq!(lists, [[1, 2], [3, 4]]);
    digests.configure(LEARN, config(0, 2, 0));
    assert_eq!(digests.due(11).iter().map(numbers).collect::<Vec<_>>(), [[5]]);
}

/// A controller that never acknowledges costs a bounded amount of memory.
#[test]
fn k1_the_oldest_list_is_forgotten_when_there_are_too_many() {
    let mut digests = configured(config(0, 1, i64::MAX));
    let n = u32::try_from(N_UNACKNOWLEDGED_MAX).unwrap();
    assert!((0..n).all(|i| digests.push(LEARN, message(i), 1).is_some()));
    assert_eq!(digests.push(LEARN, message(0), 2), None);
    assert!(digests.push(LEARN, message(n), 3).is_some());
    assert!(digests.push(LEARN, message(0), 4).is_some());
    assert_eq!(digests.push(LEARN, message(n), 5), None);
}

#[derive(Clone, Debug)]
enum Step {
    Push { other: bool, n: u32 },
    Due,
    Acknowledge(usize),
    NewPrimary,
}

fn step() -> impl Strategy<Value = (u64, Step)> {
    let step = prop_oneof![
        8 => (any::<bool>(), 0u32..6).prop_map(|(other, n)| Step::Push { other, n }),
        2 => Just(Step::Due),
        2 => (0usize..20).prop_map(Step::Acknowledge),
        1 => Just(Step::NewPrimary),
    ];
    (0u64..40, step)
}

proptest! {
    /// Against a model that keeps all that was ever sent.
    #[test]
    fn k1_lists_obey_their_config(
        steps in vec(step(), 0..60),
        timeout in 0i64..60, size in 0i32..5, ack_timeout in 0i64..100,
    ) {
        let schema = schema();
        let mut digests = Digests::default();
        for digest in [LEARN, OTHER] {
            digests.configure(digest, config(timeout, size, ack_timeout));
        }
        let mut now = 1;
        // Lists that were sent, and whether their messages may come again.
        let mut sent: Vec<(DigestList, bool)> = Vec::new();
        // Arrival of messages that wait.
        let mut waiting: Vec<(DigestId, Data, u64)> = Vec::new();
        for (delay, step) in steps {
            now += delay;
            let is_known = |sent: &[(DigestList, bool)], digest, data: &Data| {
                sent.iter().any(|(list, is_free)| {
                    let is_young = list.timestamp_ns + ack_timeout > now as i64;
                    !is_free && is_young && list.digest == digest && list.messages.contains(data)
                })
            };
            let lists = match step {
                Step::Push { other, n } => {
                    let digest = if other { OTHER } else { LEARN };
                    let waits = waiting.iter().any(|(d, data, _)| *d == digest && *data == message(n));
                    if !waits && !is_known(&sent, digest, &message(n)) {
                        waiting.push((digest, message(n), now));
                    }
                    digests.push(digest, message(n), now).into_iter().collect()
                }
                Step::Due => digests.due(now),
                Step::Acknowledge(i) => {
                    let ack = sent.get_mut(i).map(|(list, is_free)| {
                        *is_free = true;
                        DigestAck { digest: list.digest, list: list.list }
                    });
                    let ack = ack.unwrap_or(DigestAck { digest: LEARN, list: u64::MAX });
                    prop_assert_eq!(digests.acknowledge(&schema, ack), Ok(()));
                    vec![]
                }
                Step::NewPrimary => {
                    digests.forget_sent();
                    sent.iter_mut().for_each(|(_, is_free)| *is_free = true);
                    vec![]
                }
            };
            for list in lists {
                prop_assert!(sent.last().is_none_or(|(last, _)| last.list < list.list));
                prop_assert!(!list.messages.is_empty());
                prop_assert!(size == 0 || list.messages.len() <= size as usize);
                for data in &list.messages {
                    prop_assert!(!is_known(&sent, list.digest, data), "sent again too early");
                    let at = waiting.iter().position(|(d, waits, _)| *d == list.digest && waits == data);
                    prop_assert!(at.is_some(), "sent, but it did not wait");
                    waiting.remove(at.unwrap());
                }
                sent.push((list, ack_timeout == 0));
            }
            let next = waiting.iter().map(|(_, _, arrival)| arrival + timeout as u64).min();
            prop_assert_eq!(digests.next_due_ns(), next);
        }
    }
}
