//! `tree_classify(features)`: a decision tree over numbers of the program, read from a file.
//!
//! The file is JSON: `{"nodes": [{"feature": 0, "threshold": 100, "below": 1, "above": 2}, {"class": 3},
//! ...]}`. A packet begins at node 0. It continues at `below` if the feature with that number (from 0) is
//! less than the threshold, otherwise at `above`, until it reaches a node with a class. Both must have a
//! larger number than the node itself, so every tree ends.

use crate::abi::{self, status};
use crate::call::{CallView, State, c_function, close, open};
use crate::library::{BuiltIn, PacketUse};
use serde::Deserialize;

pub(crate) const EXTERNS: &[BuiltIn] = &[BuiltIn {
    name: "tree_classify",
    declaration: "bit<8> tree_classify(in _ features)",
    packet: PacketUse::Unused,
    open: Some(open::<Tree>),
    close: Some(close::<Tree>),
    run: run_one,
    run_batch: Some(run_batch),
}];

/// Number of nodes at most; a larger file is a mistake.
const N_NODES_MAX: usize = 1 << 20;

/// Number of calls that traverse the tree in parallel.
const N_ABREAST: usize = 32;
/// Calls with more features are run one by one.
const N_FEATURES_ABREAST: usize = 16;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    nodes: Vec<FileNode>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum FileNode {
    Split { feature: u32, threshold: u64, below: u32, above: u32 },
    Leaf { class: u8 },
}

/// 24 bytes: the data of a step is adjacent in memory.
#[derive(Clone, Copy, Debug)]
struct Node {
    threshold: u64,
    /// Index of the next node below the threshold; in a leaf, its own index.
    below: u32,
    above: u32,
    feature: u32,
    class: u8,
}

struct Tree {
    nodes: Vec<Node>,
    /// Number of steps to the deepest leaf.
    depth: u32,
}

impl State for Tree {
    fn open(option: Option<&str>) -> Result<Tree, String> {
        let path = option.ok_or(
            "it needs the file of its model: `--extern-option tree_classify=FILE`, see docs/how-to/externs.md",
        )?;
        let text = std::fs::read_to_string(path).map_err(|error| format!("cannot read {path}: {error}"))?;
        Tree::parse(&text).map_err(|error| format!("{path}: {error}"))
    }
}

impl Tree {
    fn parse(text: &str) -> Result<Tree, String> {
        let file: File = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let n = file.nodes.len();
        if n == 0 || n > N_NODES_MAX {
            return Err(format!("a tree has 1 to {N_NODES_MAX} nodes, and this one {n}"));
        }
        let mut nodes = Vec::with_capacity(n);
        for (i, node) in file.nodes.iter().enumerate() {
            let here = i as u32;
            nodes.push(match *node {
                FileNode::Leaf { class } => {
                    Node { threshold: 0, below: here, above: here, feature: 0, class }
                }
                FileNode::Split { feature, threshold, below, above } => {
                    if let Some(next) =
                        [below, above].into_iter().find(|next| *next <= here || *next as usize >= n)
                    {
                        return Err(format!("node {i} leads to node {next}, which is none further on"));
                    }
                    Node { threshold, below, above, feature, class: 0 }
                }
            });
        }
        // Every node points to later nodes, so depths are computed from the last node to the first.
        let mut depths = vec![0u32; n];
        for i in (0..n).rev() {
            let Node { below, above, .. } = nodes[i];
            if below as usize != i {
                depths[i] = 1 + depths[below as usize].max(depths[above as usize]);
            }
        }
        Ok(Tree { nodes, depth: depths[0] })
    }

    /// Returns the next node, or `at` itself for a leaf. A missing feature is 0.
    #[inline]
    fn step(&self, at: u32, feature: impl Fn(u32) -> u64) -> u32 {
        let Some(node) = self.nodes.get(at as usize) else { return at };
        if feature(node.feature) < node.threshold { node.below } else { node.above }
    }

    fn class(&self, at: u32) -> u64 {
        self.nodes.get(at as usize).map_or(0, |node| u64::from(node.class))
    }
}

c_function!(run_one, Tree, classify);

fn classify(tree: &mut Tree, call: &mut CallView<'_>) {
    let mut at = 0;
    for _ in 0..tree.depth {
        at = tree.step(at, |feature| call.numbers(0).nth(feature as usize).unwrap_or(0));
    }
    call.set_result(tree.class(at));
}

/// Runs calls through the tree level by level, so that the memory accesses of their nodes overlap.
///
/// # Safety
///
/// The caller keeps the contract of `run_batch` in `struct siding_extern`.
#[expect(unsafe_code, reason = "called as C functions are")]
unsafe extern "C" fn run_batch(calls: *mut abi::Call, statuses: *mut u32, n: u32) {
    // SAFETY: the caller's promise: `n` calls and statuses, for this call only, with states of `open`.
    let (calls, statuses) = unsafe {
        if n == 0 {
            return;
        }
        (
            std::slice::from_raw_parts_mut(calls, n as usize),
            std::slice::from_raw_parts_mut(statuses, n as usize),
        )
    };
    for (calls, statuses) in calls.chunks_mut(N_ABREAST).zip(statuses.chunks_mut(N_ABREAST)) {
        let mut features = [[0u64; N_FEATURES_ABREAST]; N_ABREAST];
        let mut is_small = true;
        for (features, call) in features.iter_mut().zip(calls.iter_mut()) {
            // SAFETY: as above.
            let view = unsafe { CallView::new(call) };
            let mut numbers = view.numbers(0);
            features.iter_mut().zip(&mut numbers).for_each(|(to, from)| *to = from);
            is_small &= numbers.next().is_none();
        }
        if !is_small {
            for (call, to) in calls.iter_mut().zip(statuses) {
                // SAFETY: as above.
                *to = unsafe { run_one(call) };
            }
            continue;
        }
        // SAFETY: as above; all calls of a batch share one state, which is constant.
        let tree = unsafe { &*calls[0].state.cast::<Tree>() };
        let mut at = [0u32; N_ABREAST];
        let at = &mut at[..calls.len()];
        for _ in 0..tree.depth {
            for (at, features) in at.iter_mut().zip(&features) {
                *at = tree.step(*at, |feature| features.get(feature as usize).copied().unwrap_or(0));
            }
        }
        for ((at, call), to) in at.iter().zip(calls.iter_mut()).zip(statuses) {
            // SAFETY: as above.
            unsafe { CallView::new(call) }.set_result(tree.class(*at));
            *to = status::OK;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_are_judged() {
        let tree = Tree::parse(
            r#"{"nodes": [{"feature": 0, "threshold": 10, "below": 2, "above": 1},
                {"feature": 1, "threshold": 5, "below": 2, "above": 3}, {"class": 7}, {"class": 9}]}"#,
        )
        .unwrap();
        assert_eq!(tree.depth, 2);
        for (text, message) in [
            ("{}", "missing field `nodes` at line 1 column 2"),
            (r#"{"nodes": []}"#, "a tree has 1 to 1048576 nodes, and this one 0"),
            (
                r#"{"nodes": [{"feature": 0, "threshold": 1, "below": 0, "above": 1}, {"class": 1}]}"#,
                "node 0 leads to node 0, which is none further on",
            ),
            (
                r#"{"nodes": [{"feature": 0, "threshold": 1, "below": 1, "above": 2}, {"class": 1}]}"#,
                "node 0 leads to node 2, which is none further on",
            ),
        ] {
            assert_eq!(Tree::parse(text).map(|_| ()), Err(message.to_owned()), "{text}");
        }
    }
}
