//! Random programs on several backends in each test run; the generator writes what it should.

use fuzz::differential::cases::{N_SIZES, Sample, Source, dialect, generated};
use fuzz::differential::transcript::{Observed, Transcript};
use fuzz::differential::{Case, Event, Outcome, compile, interpreted, run, script, transcript};
use fuzz::runnable::Dialect;
use fuzz::{Corpus, oracle, runnable};
use std::collections::{BTreeMap, BTreeSet};

const SEED: u64 = 20;

/// Every program is accepted, and does the same before and after the passes.
#[test]
fn programs_do_the_same_after_passes() {
    oracle::catch_panics();
    let corpus = Corpus::default();
    let source = Source { seed: SEED, n_generated: 100, ..Source::default() };
    let (mut n_sent, mut n_accepted, mut n_writes, mut n_dropped) = (0, 0, 0, 0);
    for index in 0..source.len() {
        let sample = source.sample(index, &corpus).unwrap_or_else(|why| panic!("{index}: {why:?}"));
        let case = source.case(index, &sample, 20);
        let outcome = run(&sample.compiled, &case.events, [interpreted::ELABORATED, interpreted::PASSES]);
        let transcript = match outcome {
            Outcome::Same(transcript) => transcript,
            Outcome::Undecided(_) => continue,
            Outcome::Differs(found) => panic!("{index}: {}\n{}", found.key, found.details),
        };
        let totals = &transcript.observed.last().unwrap().totals;
        n_sent += totals["sent"];
        n_dropped += totals.iter().filter(|(k, _)| k.starts_with("dropped")).map(|(_, n)| n).sum::<u64>();
        let n_faults = transcript.observed.iter().filter(|o| o.fault.is_some()).count();
        n_writes += case.n_writes();
        n_accepted += case.n_writes() - n_faults;
    }
    // Otherwise nothing was tested.
    assert!(n_sent > 1000, "{n_sent} packets sent");
    assert!(n_dropped > 50, "{n_dropped} packets dropped");
    assert!(n_accepted * 2 > n_writes, "{n_accepted} of {n_writes} writes accepted");
}

#[test]
fn all_constructs_are_written() {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for index in 0..600 {
        for construct in runnable::coverage::constructs(&generated(SEED, index, dialect(index))) {
            *counts.entry(construct).or_default() += 1;
        }
    }
    let missing: Vec<&str> = runnable::coverage::CONSTRUCTS
        .iter()
        .map(|c| c.name)
        .filter(|name| counts.get(name).is_none_or(|n| *n < 3))
        .collect();
    assert!(missing.is_empty(), "hardly any program has {missing:?}");
}

/// The generator makes actions for each way in which workers keep changes apart.
#[test]
fn actions_change_entries_in_all_ways() {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let (corpus, source) = (Corpus::default(), Source { seed: SEED, n_generated: 300, ..Source::default() });
    for index in 0..source.len() {
        let sample = source.sample(index, &corpus).unwrap_or_else(|why| panic!("{index}: {why:?}"));
        for action in sample.compiled.program.tables.iter().flat_map(|(_, table)| &table.actions) {
            *counts.entry(action.sync.word()).or_default() += 1;
        }
    }
    for way in [ir::Sync::Atomic, ir::Sync::Sequence, ir::Sync::Sharded] {
        assert!(counts.get(way.word()).is_some_and(|n| *n > 2), "{way:?}: {counts:?}");
    }
}

#[test]
fn architectures_have_programs_of_all_sizes() {
    for wanted in [Dialect::V1model, Dialect::Psa, Dialect::Pna] {
        let sizes: BTreeSet<u64> = (0..32).filter(|i| dialect(*i) == wanted).map(|i| i % N_SIZES).collect();
        assert_eq!(sizes.len() as u64, N_SIZES, "{wanted:?} has programs of sizes {sizes:?}");
    }
}

#[test]
fn cases_depend_on_seed_and_index_alone() {
    let corpus = Corpus::default();
    let source = Source { seed: SEED, n_generated: 4, ..Source::default() };
    let case = || {
        let sample = source.sample(3, &corpus).unwrap();
        source.case(3, &sample, 10)
    };
    let (first, second) = (case(), case());
    assert_eq!(first.text, second.text);
    assert_eq!(first.events, second.events);
    let text = |seed| generated(seed, 3, Dialect::Psa);
    assert_ne!(text(SEED), text(SEED + 1));
}

/// A run may be of programs for one architecture alone.
#[test]
fn programs_of_one_architecture_can_be_wanted() {
    for (wanted, package) in
        [(Dialect::V1model, "V1Switch("), (Dialect::Psa, "PSA_Switch("), (Dialect::Pna, "PNA_NIC(")]
    {
        assert_eq!(Dialect::named(wanted.name()), Some(wanted));
        let source = Source { seed: SEED, n_generated: 8, dialect: Some(wanted), ..Source::default() };
        let others = (0..source.len()).filter(|index| !source.text(*index).contains(package));
        assert_eq!(others.count(), 0, "programs that are not for {wanted:?}");
    }
}

/// What is known of a place does not grow when it is assigned to itself.
#[test]
fn packets_are_made_for_parsers_that_loop() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/itself.p4").into();
    let source = Source { seed: SEED, files: vec![file], ..Source::default() };
    let sample = source.sample(0, &Corpus::default()).unwrap();
    let case = source.case(0, &sample, 10);
    assert!(case.events.iter().filter(|event| matches!(event, Event::Packet { .. })).count() >= 10);
}

/// Where a program is cut, actions of tables keep the direct counter and the direct meter of the entry that runs them.
#[test]
fn direct_objects_survive_cuts() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/direct.p4").into();
    let source = Source { seed: SEED, files: vec![file], ..Source::default() };
    let sample = source.sample(0, &Corpus::default()).unwrap();
    let packet = |key: u8| Event::Packet { port: 0, bytes: vec![key, 0] };
    let events = [1, 2, 2, 3].map(packet);
    let Outcome::Same(transcript) =
        run(&sample.compiled, &events, [interpreted::ELABORATED, interpreted::CUT])
    else {
        panic!("a program that was cut does something else");
    };
    let sent: Vec<&[u8]> =
        transcript.observed.iter().flat_map(|o| &o.sent).map(|sent| sent.bytes.as_slice()).collect();
    assert_eq!(sent, [[0xff, 10], [2, 21], [2, 21], [3, 31]]);
    let (_, entries) = transcript.state.iter().find(|(what, _)| *what == "entries").unwrap();
    let counted = |n: u32| entries.iter().any(|entry| entry.contains(&format!("n_packets: {n} }}")));
    assert!(counted(1) && counted(4), "{entries:?}");
}

/// A difference is seen wherever it is.
#[test]
fn differences_are_found() {
    let corpus = Corpus::default();
    let source = Source { seed: SEED, n_generated: 40, ..Source::default() };
    // A case in which something is sent.
    let cases = (0..source.len()).map(|index| {
        let sample = source.sample(index, &corpus).unwrap();
        let case = source.case(index, &sample, 10);
        (sample, case)
    });
    fn record_case(sample: &Sample, case: &Case) -> Transcript {
        transcript::record(&sample.compiled, &case.events, interpreted::ELABORATED).unwrap()
    }
    let sends = |good: &Transcript| good.observed.iter().any(|o| !o.sent.is_empty());
    let mut cases = cases.filter(|(sample, case)| sends(&record_case(sample, case)));
    let (sample, case) = cases.next().unwrap();
    let record = || record_case(&sample, &case);
    let good = record();
    assert!(transcript::compare(&good, &record()).is_none());

    let at = good.observed.iter().position(|o| !o.sent.is_empty()).unwrap();
    let mut other = record();
    other.observed[at].sent[0].bytes.push(0);
    let found = transcript::compare(&good, &other).unwrap();
    assert_eq!(found.event_idx, Some(at));
    assert!(found.key.ends_with("packets"), "{}", found.key);

    let mut other = record();
    other.observed[at].totals.insert("dropped".to_string(), 1);
    assert!(transcript::compare(&good, &other).unwrap().key.ends_with("totals"));

    let mut other = record();
    other.observed[at].fault = Some(control::Code::Internal);
    assert!(transcript::compare(&good, &other).unwrap().key.ends_with("writes"));

    let mut other = record();
    other.state[0].1.push("one more".to_string());
    let found = transcript::compare(&good, &other).unwrap();
    assert_eq!((found.event_idx, found.key.ends_with("entries")), (None, true));

    let mut other = record();
    other.panic = Some(("here".to_string(), "why".to_string()));
    assert!(transcript::compare(&good, &other).unwrap().key.contains("panic"));
}

/// A backend that takes bursts tells digests and totals at the end of each.
#[test]
fn digests_and_totals_of_bursts_are_compared_at_their_end() {
    let digest = |n: u32| (control::DigestId(n), control::Data::Struct(Vec::new()));
    let totals = |n: u64| [("sent".to_string(), n)].into();
    let alone = |n: u64, digests| Observed { digests, totals: totals(n), ..Observed::default() };
    let within = || Observed { is_within_burst: true, ..Observed::default() };
    let of = |observed| Transcript { observed, ..Transcript::default() };
    let first =
        of(vec![alone(1, vec![digest(1)]), alone(2, vec![]), alone(3, vec![digest(2)]), alone(4, vec![])]);
    let second = |digests, n| of(vec![within(), within(), alone(n, digests), alone(4, vec![])]);
    let compare = |digests, n| transcript::compare(&first, &second(digests, n)).map(|d| (d.key, d.event_idx));
    assert_eq!(compare(vec![digest(1), digest(2)], 3), None);
    let differ = |what: &str| Some((format!(" and : {what}"), Some(2)));
    assert_eq!(compare(vec![digest(1), digest(2), digest(2)], 3), differ("digests"));
    assert_eq!(compare(vec![digest(2)], 3), differ("digests"));
    assert_eq!(compare(vec![digest(2), digest(1)], 3), differ("digests"));
    assert_eq!(compare(vec![digest(1), digest(2)], 2), differ("totals"));
}

/// Each size of bursts is the largest of a case.
#[test]
fn bursts_have_all_sizes() {
    let corpus = Corpus::default();
    let source = Source { seed: SEED, n_generated: 60, ..Source::default() };
    for first in [0, 77, 1000] {
        let sizes: BTreeSet<usize> = (first..first + 256).map(|index| source.burst_max(index)).collect();
        assert_eq!((sizes.len(), sizes.first(), sizes.last()), (256, Some(&1), Some(&256)));
    }
    // Of programs of each size some few have small, middle and large ones.
    for size in 0..4 {
        let sizes = (0..12).map(|i| source.burst_max(4 * i + size));
        let thirds: BTreeSet<usize> = sizes.map(|n| n / 86).collect();
        assert_eq!(thirds, [0, 1, 2].into());
    }
    for index in 0..source.len() {
        let sample = source.sample(index, &corpus).unwrap();
        let case = source.case(index, &sample, 100);
        let is_packet = |event: &Event| matches!(event, Event::Packet { .. });
        assert!(case.events.iter().filter(|e| is_packet(e)).count() >= 100);
        let longest = case.events.split(|event| !is_packet(event)).map(<[Event]>::len).max();
        assert_eq!(longest, Some(source.burst_max(index)));
    }
}

/// What is written down as a script is what happened.
#[test]
fn scripts_replay() {
    let corpus = Corpus::default();
    let source = Source { seed: SEED, n_generated: 40, ..Source::default() };
    let mut n_complete = 0;
    for index in 0..source.len() {
        let sample = source.sample(index, &corpus).unwrap();
        let mut case = source.case(index, &sample, 4);
        // Of many packets some are empty, which scripts have no words for.
        let packets = case.events.iter().enumerate().filter(|(_, e)| matches!(e, Event::Packet { .. }));
        let fifth = packets.map(|(at, _)| at).nth(4);
        case.events.truncate(fifth.unwrap_or(usize::MAX));
        let observed = transcript::record(&sample.compiled, &case.events, interpreted::ELABORATED).unwrap();
        let written = script::script(&sample.compiled, &case.events, &observed);
        if !written.is_complete {
            continue;
        }
        n_complete += 1;
        let failed = interpreted::replay(&compile(&case.text, &corpus).unwrap(), &written.text);
        assert!(failed.is_empty(), "{index}: {failed:?}\n{}\n{}", case.text, written.text);
    }
    assert!(n_complete > 0);
}
