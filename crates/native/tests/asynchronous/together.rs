//! Offload workers that make the calls of several packets together: what comes of each is what comes of it alone.

use super::common::TestDir;
use super::{Built, Runner, alone, built_with, config};
use control::Schema;
use externs::ExternSet;
use interp::Silent;
use native::{AsyncMode, BATCH_MAX, OffloadPolicy, OffloadWorker, Path, WhenFull, load_extern_library};
use std::collections::BTreeMap;
use std::path::Path as FilePath;
use std::process::Command;
use std::sync::Arc;
use target::traffic::Destination;

/// Blocks that are cut at their calls, with their ways; the last one's extern takes one call at a time.
const CUT: [(&str, u8); 8] = [
    ("usual", 1),
    ("around", 2),
    ("represented", 3),
    ("counting", 4),
    ("slice", 5),
    ("egress", 6),
    ("bare", 7),
    ("single", 13),
];
const ONE_BY_ONE: [(&str, u8); 5] =
    [("conditional", 8), ("several", 9), ("ordered", 10), ("looping", 11), ("elsewhere", 12)];

/// What the extern does that depends on the calls before.
const COUNTS: u8 = 7;

fn library(dir: &TestDir) -> ExternSet {
    let library = dir.path.join("together.so");
    let source = FilePath::new(env!("CARGO_MANIFEST_DIR")).join("tests/asynchronous/together.c");
    let runtime = FilePath::new(env!("CARGO_MANIFEST_DIR")).join("../../rt");
    let status = Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".into()))
        .args(["-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-I"])
        .arg(runtime)
        .arg("-o")
        .args([&library, &source])
        .status()
        .unwrap();
    assert!(status.success());
    let mut set = ExternSet::new();
    set.add(load_extern_library(&library).unwrap()).unwrap();
    set
}

fn packet(way: u8, serial: u32, what: u8) -> Vec<u8> {
    let mut bytes = vec![way];
    bytes.extend(serial.to_be_bytes());
    bytes.push(what);
    bytes.extend(serial.wrapping_mul(2_654_435_761).to_be_bytes());
    bytes.extend([0, 0, 0, 0, 0, serial as u8]);
    bytes.extend((0..serial % 9).map(|i| i as u8));
    bytes
}

/// Packets of all blocks, in each burst several of one block; `whats` are what the extern is asked for.
fn packets(n: u32, whats: &[u8]) -> Vec<Vec<u8>> {
    let ways: Vec<u8> = CUT.iter().chain(&ONE_BY_ONE).map(|(_, way)| *way).collect();
    let pick = |serial: u32, n: usize| (serial.wrapping_mul(0x9e37_79b9) >> 12) as usize % n;
    let mut all: Vec<Vec<u8>> = (0..n)
        .map(|serial| {
            // Every other burst is of one block.
            let burst = serial / 32;
            let way = match burst % 2 {
                0 => ways[burst as usize / 2 % ways.len()],
                _ => ways[pick(serial, ways.len())],
            };
            let what = whats[pick(serial.wrapping_add(77), whats.len())];
            packet(way, serial, what | ((serial % 3 == 0) as u8) << 7)
        })
        .collect();
    // With a second header.
    for bytes in all.iter_mut().filter(|bytes| bytes[5] & 0x80 != 0) {
        bytes.splice(16..16, [0x12, bytes[4]]);
    }
    all
}

/// What left by the number of the packet, how many were dropped, and of each block how many calls were made together, and how
/// often.
struct Outcome {
    sent: BTreeMap<Vec<u8>, (Destination, Vec<u8>)>,
    n_dropped: usize,
    batches: BTreeMap<String, (u64, u64)>,
}

fn served(built: &Built, all: &[Vec<u8>], batch: u32) -> Outcome {
    let instance = built.instance(2);
    let mut device = built.device(&instance);
    let mut offload_worker = OffloadWorker::new(instance.take_worker().unwrap()).unwrap();
    let blocks = &built.pipeline.layout().asyncs;
    for i in 0..blocks.len() {
        let worker = device.switch.runner.worker_mut();
        offload_worker.connect(worker, i, 64).unwrap();
        worker.set_offload_policy(i, OffloadPolicy { mode: AsyncMode::Suspend, full: WhenFull::Inline });
        offload_worker.set_batch(i, batch);
    }
    let mut runner = Runner::new(device);
    for chunk in all.chunks(32) {
        runner.process(chunk, Path::Straight);
        while !runner.waiting.is_empty() {
            assert!(offload_worker.serve(100_000, 1000) > 0);
            runner.resume();
        }
    }
    let totals = runner.device.switch.totals();
    assert_eq!(totals.n_received, all.len() as u64);
    assert!(totals.is_balanced(0), "{totals:?}");
    let name = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    for (i, block) in blocks.iter().enumerate() {
        let served = offload_worker.served(i);
        assert_eq!(served.buckets.iter().sum::<u64>(), served.n, "{}", block.name);
    }
    let batches = blocks.iter().enumerate().map(|(i, block)| (name(&block.name), offload_worker.batches(i)));
    Outcome { batches: batches.collect(), sent: runner.sent, n_dropped: runner.n_dropped }
}

#[test]
fn calls_that_are_made_together_end_as_those_made_one_by_one() {
    let dir = TestDir::new();
    let built = built_with("together.p4", library(&dir));
    for block in &built.pipeline.layout().asyncs {
        let name = block.name.rsplit('.').next().unwrap();
        let is_cut = CUT.iter().any(|(cut, _)| *cut == name);
        assert_eq!(block.batched_call.is_some(), is_cut, "{}", block.name);
        assert!(is_cut || ONE_BY_ONE.iter().any(|(other, _)| *other == name), "{name}");
    }
    let all = packets(4000, &[0, 1, 2, 3, 4, 5, 6]);
    let expected = alone(&built, &all, Path::Slow);
    assert!(expected.0.len() > 2000 && expected.1 > 500, "{} {}", expected.0.len(), expected.1);
    assert_eq!(alone(&built, &all, Path::Straight), expected);
    assert_eq!(interpreted(&built, &all), expected);
    for batch in [1, 2, 5, BATCH_MAX] {
        let outcome = served(&built, &all, batch);
        assert_eq!(outcome.n_dropped, expected.1, "{batch}");
        assert_eq!(outcome.sent, expected.0, "{batch}");
        for (name, (n_batches, n_calls)) in &outcome.batches {
            let together = batch > 1 && name != "single" && CUT.iter().any(|(cut, _)| cut == name);
            assert_eq!(*n_batches > 0, together, "{name}: {n_batches} of {n_calls}");
            assert!(*n_calls <= n_batches * u64::from(batch), "{name}: {n_batches} of {n_calls}");
            if together && batch == BATCH_MAX {
                assert!(*n_calls > 2 * n_batches, "{name}: {n_batches} of {n_calls}");
            }
        }
    }
}

/// The calls of a block are made in the order in which its packets came.
#[test]
fn an_extern_sees_calls_in_order() {
    let dir = TestDir::new();
    let built = built_with("together.p4", library(&dir));
    let all = packets(1500, &[COUNTS, 0, COUNTS, 5]);
    let expected = served(&built, &all, 1);
    let outcome = served(&built, &all, BATCH_MAX);
    assert!(outcome.batches["usual"].0 > 0);
    assert_eq!((outcome.sent, outcome.n_dropped), (expected.sent, expected.n_dropped));
}

fn interpreted(built: &Built, all: &[Vec<u8>]) -> (super::Sent, usize) {
    let program = Arc::new(built.runnable.program.clone());
    let schema = Schema::new(&built.runnable.control_plane.p4info).unwrap();
    let mut interpreter = interp::interpreter(program, schema, config()).unwrap();
    let engine = &mut interpreter.switch.runner;
    let program = Arc::clone(&engine.executable().program);
    externs::supply(&built.externs, &program, &mut |name, f| engine.externs.supply(name, f)).unwrap();
    let (mut sent, mut n_dropped) = (super::Sent::new(), 0);
    for bytes in all {
        match interpreter.switch.inject(0, bytes, &mut Silent).pop() {
            Some(output) => {
                sent.insert(bytes[..5].to_vec(), (output.destination, output.bytes));
            }
            None => n_dropped += 1,
        }
    }
    (sent, n_dropped)
}
