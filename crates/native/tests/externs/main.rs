//! Externs behind the C interface, called by compiled programs and by the interpreter.

#[path = "../common/mod.rs"]
mod common;

use common::TestDir;
use control::Schema;
use driver::Runnable;
use externs::{BatchCall, Ended, ExternSet, PacketView, Session, calls_of};
use interp::InterpretedDevice;
use native::{
    BuildError, BuildOptions, BurstPacket, Bursts, Native, Path, Pipeline, build, load_extern_library,
    native_device,
};
use std::path::{Path as FilePath, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;
use target::{Config, Device};

fn path_of(file: &str) -> PathBuf {
    FilePath::new(env!("CARGO_MANIFEST_DIR")).join("tests/externs").join(file)
}

fn text_of(file: &str) -> String {
    std::fs::read_to_string(path_of(file)).unwrap()
}

/// The functions of tool.c.
fn tool(dir: &TestDir) -> ExternSet {
    let library = dir.path.join("tool.so");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let runtime = FilePath::new(env!("CARGO_MANIFEST_DIR")).join("../../rt");
    let status = Command::new(compiler)
        .args(["-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-I"])
        .arg(runtime)
        .arg("-o")
        .args([&library, &path_of("tool.c")])
        .status()
        .unwrap();
    assert!(status.success());
    let mut set = ExternSet::new();
    set.add(load_extern_library(&library).unwrap()).unwrap();
    set
}

struct Built {
    runnable: Runnable,
    pipeline: Arc<Pipeline>,
    externs: ExternSet,
}

fn built(text: &str, externs: ExternSet, dir: &TestDir) -> Result<Built, BuildError> {
    let path = dir.path.join("program.p4");
    std::fs::write(&path, text).unwrap();
    let source = driver::read_source(&path).unwrap();
    let mut checked = driver::check(&source, &driver::FileLoader::default(), &driver::Options::default());
    let runnable =
        driver::runnable(&mut checked, None).unwrap_or_else(|| panic!("{:?}", checked.diagnostics));
    let options = BuildOptions { compile: dir.options(), externs: externs.clone(), ..Default::default() };
    let pipeline = build(&runnable.program, &checked.sources, &options)?;
    Ok(Built { runnable, pipeline, externs })
}

impl Built {
    fn schema(&self) -> Schema {
        Schema::new(&self.runnable.control_plane.p4info).unwrap()
    }

    fn native(&self) -> Device<Native> {
        let program = self.runnable.program.clone();
        native_device(Arc::clone(&self.pipeline), program, self.schema(), Config::default()).unwrap()
    }

    fn interpreter(&self) -> InterpretedDevice {
        let program = self.runnable.program.clone();
        let mut interpreter = interp::interpreter(program, self.schema(), Config::default()).unwrap();
        let engine = &mut interpreter.switch.runner;
        let program = Arc::clone(&engine.executable().program);
        externs::supply(&self.externs, &program, &mut |name, f| engine.externs.supply(name, f)).unwrap();
        interpreter
    }
}

/// Runs one packet from port 3 through compiled code; gives what leaves, and the reasons of drops.
fn run(device: &mut Device<Native>, bytes: &[u8], way: Path) -> (Option<Vec<u8>>, Vec<String>) {
    let before = device.switch.totals().clone();
    let mut storage = vec![0; 64];
    storage.extend_from_slice(bytes);
    storage.resize(64 + bytes.len().max(9216), 0);
    let mut packets = [BurstPacket::new(&mut storage, 64, bytes.len(), 3)];
    let mut outputs = Vec::new();
    let mut bursts = Bursts::default();
    bursts.process(&mut device.switch, 0, &mut packets, way, &mut (), &mut outputs);
    let left = match packets[0].fate() {
        native::Fate::Sent(_) => Some(packets[0].bytes().to_vec()),
        native::Fate::Dropped | native::Fate::Elsewhere | native::Fate::Suspended => {
            outputs.first().map(|output| output.bytes.clone())
        }
    };
    (left, new_reasons(&before, device.switch.totals()))
}

fn new_reasons(before: &target::traffic::Totals, after: &target::traffic::Totals) -> Vec<String> {
    let grew = |(reason, n): &(&String, &u64)| before.n_dropped.get(*reason).copied().unwrap_or(0) < **n;
    after.n_dropped.iter().filter(grew).map(|(reason, _)| reason.clone()).collect()
}

#[test]
fn dummy_takes_as_long_as_it_is_told() {
    let dir = TestDir::new();
    let mut device = built(&text_of("dummy.p4"), ExternSet::new(), &dir).unwrap().native();
    let mut took = |cycles: u32| {
        let mut best = u128::MAX;
        for _ in 0..5 {
            let start = Instant::now();
            let (left, _) = run(&mut device, &cycles.to_be_bytes(), Path::Straight);
            best = best.min(start.elapsed().as_nanos());
            assert_eq!(left, Some(cycles.to_be_bytes().to_vec()));
        }
        best
    };
    let (nothing, ten_million) = (took(0), took(10_000_000));
    // Between a tenth of a gigahertz and ten of them.
    let passed = ten_million.saturating_sub(nothing);
    assert!((1_000_000..100_000_000).contains(&passed), "{passed} ns for ten million cycles");
}

#[test]
fn a_declaration_that_differs_is_refused() {
    let dir = TestDir::new();
    let text = text_of("dummy.p4").replace("in bit<32> cycles", "inout bit<32> cycles");
    let error = built(&text, ExternSet::new(), &dir).map(|_| ()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the program and Siding differ about the extern `dummy`\n  \
         the program calls: void dummy(inout bit<32>)\n  \
         Siding has:        void dummy(in bit<32> cycles)"
    );
}

/// Header: way, amount (2), result (2), more; payload 01 02 03 04.
#[test]
fn what_a_function_leaves_of_a_packet_is_the_packet() {
    let dir = TestDir::new();
    let built = built(&text_of("tool.p4"), tool(&dir), &dir).unwrap();
    let (mut native, mut interpreter) = (built.native(), built.interpreter());
    let payload = [1u8, 2, 3, 4];
    let sent = |way, amount, result: u16, more, rest: &[u8]| {
        Some([&[way, 0, amount], &result.to_be_bytes()[..], &[more], rest].concat())
    };
    let cases = [
        (0, 0, 0, sent(0, 0, 4, 0, &payload), ""),
        (1, 2, 0, sent(1, 2, 4, 0, &[1, 2, 3, 4, 0xaa, 0xaa]), ""),
        (1, 1, 1, sent(1, 1, 4, 1, &[0xe0, 0xe1, 0xe2, 0xe3, 1, 2, 3, 4, 0xaa]), ""),
        (1, 1, 2, sent(1, 5, 4, 2, &[1, 2, 3, 4, 0xaa]), ""),
        (1, 1, 3, sent(1, 1, 5, 3, &[1, 2, 3, 4, 0xaa, 0xaa]), ""),
        (2, 4, 0, sent(2, 4, 4, 0, &[]), ""),
        (2, 3, 1, sent(2, 3, 4, 1, &[0xe0, 0xe1, 0xe2, 0xe3, 1]), ""),
        (2, 1, 3, sent(2, 1, 3, 3, &[1, 2]), ""),
        (3, 1, 0, sent(3, 1, 4, 0, &[2, 3, 4]), ""),
        (3, 4, 2, sent(3, 0, 4, 2, &[]), ""),
        (4, 2, 0, sent(4, 2, 4, 0, &[0xbb, 0xbb, 1, 2, 3, 4]), ""),
        (4, 2, 1, sent(4, 2, 4, 1, &[0xe0, 0xe1, 0xe2, 0xe3, 0xbb, 0xbb, 1, 2, 3, 4]), ""),
        (5, 0, 0, sent(5, 0, 4, 0, &payload), ""),
        (5, 0, 1, sent(5, 0, 4, 1, &[0xe0, 0xe1, 0xe2, 0xe3, 1, 2, 3, 4]), ""),
        (6, 0, 0, None, "extern_fault"),
        (7, 0, 0, None, "extern_fault"),
        (8, 0, 0, None, "extern_fault"),
        (9, 0, 0, None, "extern_fault"),
        (10, 0, 0, None, "tool"),
        (11, 0, 0, sent(11, 0, 3, 0, &payload), ""),
    ];
    for (way, amount, more, expected, reason) in cases {
        let bytes = [&[way, 0, amount, 0, 0, more], &payload[..]].concat();
        let what = format!("way {way}, amount {amount}, more {more}");
        let reasons: Vec<&str> = [reason].into_iter().filter(|r| !r.is_empty()).collect();
        for path in [Path::Straight, Path::Slow] {
            let (left, dropped) = run(&mut native, &bytes, path);
            assert_eq!((left.as_ref(), dropped), (expected.as_ref(), owned(&reasons)), "{path:?}: {what}");
        }
        let before = interpreter.switch.totals().clone();
        let outputs = interpreter.switch.inject(3, &bytes, &mut interp::Silent);
        let left = outputs.first().map(|output| &output.bytes);
        let dropped = new_reasons(&before, interpreter.switch.totals());
        assert_eq!((left, dropped), (expected.as_ref(), owned(&reasons)), "interpreter: {what}");
    }
}

fn owned(reasons: &[&str]) -> Vec<String> {
    reasons.iter().map(|reason| (*reason).to_owned()).collect()
}

#[test]
fn packets_grow_to_a_bound() {
    let dir = TestDir::new();
    let built = built(&text_of("tool.p4"), tool(&dir), &dir).unwrap();
    let (mut native, mut interpreter) = (built.native(), built.interpreter());
    // With 6 bytes of header 9210 of payload.
    for (amount, length) in [(9210u16, 9216), (9211, 6)] {
        let [high, low] = amount.to_be_bytes();
        let bytes = [1, high, low, 0, 0, 0];
        for path in [Path::Straight, Path::Slow] {
            assert_eq!(run(&mut native, &bytes, path).0.map(|left| left.len()), Some(length), "{path:?}");
        }
        let outputs = interpreter.switch.inject(3, &bytes, &mut interp::Silent);
        assert_eq!(outputs.first().map(|output| output.bytes.len()), Some(length));
    }
}

#[test]
fn several_calls_are_handed_over_together() {
    let dir = TestDir::new();
    let text = text_of("tool.p4").replace("std.egress_spec = 1;", "hdr.extra.bytes = told();");
    let text = text.replace("header request_t", "extern bit<32> told();\nheader request_t");
    let built = built(&text, tool(&dir), &dir).unwrap();
    let bound = Arc::clone(built.pipeline.externs());
    let number = |name: &str| built.pipeline.signatures().iter().position(|call| call.name == name).unwrap();
    let (tool, told) = (number("tool"), number("told"));
    assert_eq!((bound.has_batch(tool), bound.has_batch(told)), (true, false));
    let mut session = Session::open(bound, 0).unwrap();
    let mut storages = [[0u8; 40]; 5];
    // Ways 1, 5, 6, 10 and 4, each with an amount of 2; headers of 6 bytes from byte 10 on.
    let mut args: Vec<[u8; 3]> = [1u8, 5, 6, 10, 4].iter().map(|way| [*way, 2, 0]).collect();
    let mut results = [[0u8; 2]; 5];
    let mut calls: Vec<BatchCall<'_>> = storages
        .iter_mut()
        .zip(&mut args)
        .zip(&mut results)
        .map(|((storage, args), result)| {
            storage[10..20].copy_from_slice(&[9, 9, 9, 9, 9, 9, 1, 2, 3, 4]);
            let packet = PacketView { storage, start: 10, length: 10, payload_at: 6, ingress_port: 0 };
            BatchCall { args, result, packet, now_ns: 0, ended: Ended::NotBound }
        })
        .collect();
    session.call_batch(tool, calls.as_mut_slice());
    let seen: Vec<(Ended, Vec<u8>)> =
        calls.iter().map(|call| (call.ended.clone(), call.packet.bytes().to_vec())).collect();
    let whole = |rest: &[u8]| [&[9; 6], rest].concat();
    assert_eq!(
        seen,
        [
            (Ended::Next, whole(&[1, 2, 3, 4, 0xaa, 0xaa])),
            (Ended::Next, whole(&[1, 2, 3, 4])),
            (Ended::Stop("extern_fault".into()), whole(&[1, 2, 3, 4])),
            (Ended::Stop("tool".into()), whole(&[1, 2, 3, 4])),
            (Ended::Next, whole(&[0xbb, 0xbb, 1, 2, 3, 4])),
        ]
    );
    drop(calls);
    assert_eq!(results, [[4, 0]; 5]);
    // One batch of five.
    let mut result = [0u8; 4];
    let mut none = [];
    let mut packet = PacketView { storage: &mut none, start: 0, length: 0, payload_at: 0, ingress_port: 0 };
    let mut args = vec![0; built.pipeline.signatures()[told].args_bytes as usize];
    assert_eq!(session.call(told, &mut args, &mut result, &mut packet, 0), Ended::Next);
    assert_eq!(u32::from_le_bytes(result), 1 << 16 | 5);
}

/// What the IR says of calls is what compiled programs say.
#[test]
fn calls_are_laid_out_as_compiled_programs_have_them() {
    let dir = TestDir::new();
    let mut text = text_of("tool.p4").replace(
        "header request_t",
        "struct inner_t { bit<3> a; bool b; int<9> c; }\n\
         header vary_t { varbit<72> v; bit<8> w; }\n\
         struct all_t { inner_t i; bit<128> d; bit<129> e; bit<200> f; error g; bit<17> h; bit<64> j; }\n\
         extern bit<5> first(in all_t a, inout inner_t b, out bit<65> c, in bool d);\n\
         extern bool second(inout vary_t v, in bit<256> k, string s);\n\
         extern Thing { Thing(bit<8> n); bit<16> turn(in bit<12> by); }\n\
         header request_t",
    );
    text = text.replace(
        "apply {\n        hdr.request.result = tool",
        "Thing(1) one;\n    Thing(2) two;\n    apply {\n\
         all_t a;\n inner_t b;\n bit<65> c;\n vary_t v;\n v.setValid();\n\
         a.i.a = 1;\n a.i.b = true;\n a.i.c = 2;\n a.d = 1;\n a.e = 1;\n a.f = 1;\n a.g = error.NoMatch;\n a.h = 1;\n\
         a.j = 1;\n b = a.i;\n\
         hdr.request.amount = (bit<16>)(bit<5>)first(a, b, c, true);\n\
         if (second(v, 5, \"text\")) { hdr.request.amount = one.turn(3) + two.turn(4) + one.turn(5); }\n\
         hdr.request.result = tool",
    );
    let built = built(&text, ExternSet::new(), &dir).unwrap();
    let mut compiled = built.pipeline.signatures();
    let mut derived = calls_of(&built.runnable.program);
    let order = |call: &externs::Signature| (call.name.clone(), call.object);
    compiled.sort_by_key(order);
    derived.sort_by_key(order);
    let names: Vec<&str> = derived.iter().map(|call| call.name.as_str()).collect();
    assert_eq!(names, ["Thing.turn", "Thing.turn", "first", "second", "tool"]);
    assert_eq!(compiled, derived);
}
