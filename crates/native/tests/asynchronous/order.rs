//! Blocks that share a register, in every order: compiled code and the interpreter see the same.

use super::{Built, Runner, built_of, config};
use control::Schema;
use interp::Silent;
use native::{AsyncMode, OffloadPolicy, OffloadWorker, Path, WhenFull};
use std::sync::Arc;

/// One packet for each block of `order.p4`.
const KINDS: [u8; 3] = [0, 1, 2];

fn packet(kind: u8) -> Vec<u8> {
    vec![kind, 10 * kind, 0, 0, 0]
}

/// A step: a block is run, or the packets whose blocks have been run go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Serve(usize),
    Resume,
}

/// What has left, by kind.
type Left = Vec<Vec<u8>>;

fn native(built: &Built, steps: &[Step]) -> Left {
    let instance = built.instance(4);
    let mut device = built.device(&instance);
    let mut offload_workers: Vec<OffloadWorker> =
        KINDS.iter().map(|_| OffloadWorker::new(instance.take_worker().unwrap()).unwrap()).collect();
    let worker = device.switch.runner.worker_mut();
    for (block, offload_worker) in offload_workers.iter_mut().enumerate() {
        offload_worker.connect(worker, block, 8).unwrap();
        worker.set_offload_policy(block, OffloadPolicy { mode: AsyncMode::Suspend, full: WhenFull::Inline });
    }
    let mut runner = Runner::new(device);
    runner.process(&KINDS.map(packet), Path::Straight);
    assert_eq!(runner.waiting.len(), KINDS.len());
    for step in steps {
        match step {
            Step::Serve(block) => assert_eq!(offload_workers[*block].serve(100_000, 1000), 1),
            Step::Resume => runner.resume(),
        }
    }
    assert!(runner.waiting.is_empty());
    runner.sent.into_values().map(|(_, bytes)| bytes).collect()
}

fn interpreted(built: &Built, steps: &[Step]) -> Left {
    let program = Arc::new(built.runnable.program.clone());
    let schema = Schema::new(&built.runnable.control_plane.p4info).unwrap();
    let mut switch = interp::interpreter(program, schema, config()).unwrap().switch;
    switch.let_packets_wait(true);
    // Kinds of those that wait, as the switch has them, and whether their blocks have been run.
    let mut waiting: Vec<(u8, bool)> = Vec::new();
    for kind in KINDS {
        assert!(switch.inject(0, &packet(kind), &mut Silent).is_empty());
        waiting.push((kind, false));
    }
    let mut left = Vec::new();
    for step in steps {
        match step {
            Step::Serve(block) => {
                let which = waiting.iter().position(|(kind, _)| usize::from(*kind) == *block).unwrap();
                assert!(switch.resume(which, &mut Silent).is_empty());
                let (kind, _) = waiting.remove(which);
                waiting.push((kind, true));
            }
            // The worker looks at one ring after the other, in the order of the blocks.
            Step::Resume => {
                for kind in KINDS {
                    let Some(which) = waiting.iter().position(|one| *one == (kind, true)) else { continue };
                    left.extend(switch.resume(which, &mut Silent).into_iter().map(|output| output.bytes));
                    waiting.remove(which);
                }
            }
        }
    }
    assert_eq!(switch.n_waiting(), 0);
    left.sort();
    left
}

/// Three blocks in each order, and packets going on after any of them, but after the last one in any case.
fn all_steps() -> Vec<Vec<Step>> {
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    let with = |order: [usize; 3], early: u8| {
        let mut steps = Vec::new();
        for (i, block) in order.into_iter().enumerate() {
            steps.push(Step::Serve(block));
            if i == 2 || early >> i & 1 == 1 {
                steps.push(Step::Resume);
            }
        }
        steps
    };
    orders.into_iter().flat_map(|order| (0..4).map(move |early| with(order, early))).collect()
}

#[test]
fn blocks_that_share_a_register_run_in_the_same_orders() {
    let built = built_of("../../../interp/tests/traffic/programs/order.p4");
    assert_eq!(built.pipeline.layout().asyncs.len(), 4);
    let mut different = std::collections::BTreeSet::new();
    for steps in all_steps() {
        let (expected, found) = (interpreted(&built, &steps), native(&built, &steps));
        assert_eq!(found, expected, "{steps:?}");
        different.insert(found);
    }
    // With two blocks run before any packet goes on, and so on, some orders come to the same.
    assert!(different.len() >= 18, "{}", different.len());
}
