//! Externs behind the C interface, called by compiled programs.

#[path = "../common/mod.rs"]
mod common;

use common::TestDir;
use control::Schema;
use device::{Config, Device};
use pipeline::{BuildError, BuildOptions, BurstPacket, Bursts, Fate, Native, Path, build, native_device};
use std::path::Path as FilePath;
use std::time::Instant;

fn text_of(file: &str) -> String {
    let path = FilePath::new(env!("CARGO_MANIFEST_DIR")).join("tests/externs").join(file);
    std::fs::read_to_string(path).unwrap()
}

fn device(text: &str, dir: &TestDir) -> Result<Device<Native>, BuildError> {
    let path = dir.path.join("program.p4");
    std::fs::write(&path, text).unwrap();
    let source = driver::read_source(&path).unwrap();
    let mut checked = driver::check(&source, &driver::FileLoader::default(), &driver::Options::default());
    let runnable =
        driver::runnable(&mut checked, None).unwrap_or_else(|| panic!("{:?}", checked.diagnostics));
    let options = BuildOptions { compile: dir.options(), ..Default::default() };
    let pipeline = build(&runnable.program, &checked.sources, &options)?;
    let schema = Schema::new(&runnable.control_plane.p4info).unwrap();
    Ok(native_device(pipeline, runnable.program, schema, Config::default()).unwrap())
}

/// Runs one packet; gives what is left of it in its buffer.
fn run(device: &mut Device<Native>, bytes: &[u8], way: Path) -> (Fate, Vec<u8>) {
    let mut storage = [&[0; 64], bytes, &[0; 64]].concat();
    let mut packets = [BurstPacket::new(&mut storage, 64, bytes.len(), 0)];
    let mut outputs = Vec::new();
    let mut bursts = Bursts::new(&Config::default());
    bursts.process(&mut device.switch, 0, &mut packets, way, &mut (), &mut outputs);
    let left = outputs.first().map_or(packets[0].bytes().to_vec(), |output| output.bytes.clone());
    (packets[0].fate(), left)
}

#[test]
fn dummy_takes_as_long_as_it_is_told() {
    let dir = TestDir::new();
    let mut device = device(&text_of("dummy.p4"), &dir).unwrap();
    let mut took = |cycles: u32| {
        let mut best = u128::MAX;
        for _ in 0..5 {
            let start = Instant::now();
            let (fate, left) = run(&mut device, &cycles.to_be_bytes(), Path::Straight);
            best = best.min(start.elapsed().as_nanos());
            assert!(matches!(fate, Fate::Sent(_)), "{fate:?}");
            assert_eq!(left, cycles.to_be_bytes());
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
    let error = device(&text, &dir).map(|_| ()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the program and Siding differ about the extern `dummy`\n  \
         the program calls: void dummy(inout bit<32>)\n  \
         Siding has:        void dummy(in bit<32> cycles)"
    );
}
