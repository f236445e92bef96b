//! What another backend does is told as it did it, also where the program would have done something else.

use diagnostics::Span;
use interp::{BlockEnd, Executable, Follower};
use ir::lookup::id_at;
use ir::{Bits, Match};
use std::sync::Arc;
use trace::{
    Did, Event, Follow, HitEntry, LookedUp, Observer, Seen, Slot, StatementEnd, StopReason, Values, Variables,
};

const PROGRAM: &str = "architecture v1model
errors NoError, PacketTooShort
header h_t {
    f: bit<8>
}
struct hdr_t {
    h: h_t
}
var hdr: hdr_t in pipeline Headers
var x: bit<16> in pipeline Metadata
var $error: error in block P
block P: Parser(packet, hdr = hdr) error $error {
    entry n0
    n0: state start
        x = 16w0x1
        extract hdr.h then n1 fail n2
    n1:
        select (x + 16w0x1) {
            (16w0x2): n2
            else: n2
        }
    n2:
        accept
}
";

/// Every variable holds this.
struct All(u32);

impl Values for All {
    fn value(&self, _: Slot) -> Bits {
        Bits::new(16, u128::from(self.0))
    }
}

#[derive(Default)]
struct Heard(Vec<String>);

impl Observer for Heard {
    fn event(&mut self, variables: &Variables, _: Span, event: Event<'_>) {
        let name = |slot| variables.slot_info(slot).map(|info| info.name).unwrap_or_default();
        self.0.push(match event {
            Event::Changed { slot, old, new } => format!("{}: {old} to {new}", name(slot)),
            Event::Extracted { header, frame, .. } => {
                format!("{}: {}", name(header), frame[header as usize + 1])
            }
            Event::Selected { keys, case, .. } => format!("select on {} takes {case:?}", keys[0]),
            Event::ParserFailed { error, wanted_bits, left_bits, .. } => {
                format!("error {error}: {wanted_bits} of {left_bits}")
            }
            Event::Stopped { reason } => format!("stopped: {}", reason.name()),
            other => format!("{other:?}").split([' ', '{']).next().unwrap_or_default().to_string(),
        });
    }
}

fn follower(text: &str) -> Follower {
    let program = ir::text::parse(text).unwrap_or_else(|e| panic!("{e}"));
    Follower::new(Arc::new(Executable::new(program, interp::load::Config::default()).unwrap()))
}

#[test]
fn what_is_told_is_what_was_done() {
    let mut follower = follower(PROGRAM);
    let mut heard = Heard::default();
    let block = id_at(0);
    follower.begin_block(block, &All(0), &mut heard);
    let mut step = |point: u32, did: Did, all: u32| {
        let seen = Seen { bytes: &[0xff, 0xff], cursor_bits: 8, values: &All(all) };
        follower.step(point, &did, seen, &mut heard);
    };
    step(0, Did::Begin, 0);
    step(1, Did::Statement(StatementEnd::Next), 7);
    step(2, Did::Choose(0), 9);
    step(3, Did::Begin, 9);
    // The key is computed of what the variable held when it was written.
    step(4, Did::Choose(1), 9);
    step(4, Did::Choose(u64::MAX), 9);
    step(2, Did::Choose(1), 9);
    step(6, Did::Choose(0), 9);
    step(1_000_000, Did::Choose(0), 9);
    follower.end_block(block, &BlockEnd::Stopped(StopReason::StepBudget), &mut heard);
    let expected = [
        "BlockEntered",
        "ParserState",
        "x: 0 to 7",
        "hdr.h: 9",
        "select on 8 takes Some(1)",
        "select on 8 takes None",
        "error 1: 8 of 8",
        "Accepted",
        "stopped: step_budget",
        "BlockLeft",
    ];
    assert_eq!(heard.0, expected);
}

const TABLE: &str = "architecture v1model
errors NoError
var x: bit<16> in pipeline Metadata
var n: bit<16> in procedure a
procedure a: action(n) in I {
    entry n0
    n0:
        return
}
table t in I {
    key x: bit<16> exact
    action a = a
    default a(16w0x0)
}
block I: Ingress(x = x) {
    entry n0
    n0:
        apply t(x) then n1 exit n1
    n1:
        return
}
";

#[test]
fn a_table_tells_what_it_found() {
    let mut follower = follower(TABLE);
    struct Last(String);
    impl Observer for Last {
        fn event(&mut self, _: &Variables, _: Span, event: Event<'_>) {
            self.0 = format!("{event:?}");
        }
    }
    let mut last = Last(String::new());
    follower.begin_block(id_at(0), &All(3), &mut last);
    let seen = Seen { bytes: &[], cursor_bits: 0, values: &All(5) };
    let matches = vec![Some(Match::Exact(Bits::new(16, 4)))];
    let hit = HitEntry { serial: 8, matches: &matches, priority: 0, is_const: false, n_hits: 2 };
    let found = LookedUp {
        keys: &[Bits::new(16, 4)],
        hit: Some(hit),
        action: Some(0),
        member: None,
        n_entries: 1,
        has_expired: false,
    };
    // The first point is that of the node.
    follower.lookup(1, &found, seen, &mut last);
    // The key is the one that was looked up, not the variable.
    assert!(last.0.contains("serial: 8") && last.0.contains("n_hits: 2"), "{}", last.0);
    assert!(last.0.contains("keys: [16w0x4]"), "{}", last.0);
    follower.step(u32::MAX, &Did::Call(id_at(0)), seen, &mut last);
    assert!(last.0.starts_with("Called") && last.0.contains("data: [16w0x5]"), "{}", last.0);
}
