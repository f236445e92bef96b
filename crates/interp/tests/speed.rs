//! How many packets a second go through a bridge with one exact table: the goal is 200,000 on one core.
//!
//! `cargo test --release -p interp --test speed -- --ignored --nocapture`

use interp::Silent;
use interp::table::NewEntry;
use interp::traffic::Config;
use ir::{Action, Bits, Match};
use std::path::Path;
use std::time::Instant;

#[test]
#[ignore = "measures; says something in release builds on a quiet machine only"]
fn a_bridge_is_fast_enough() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stories/l2.p4");
    let text = std::fs::read_to_string(path).unwrap();
    let source =
        driver::Source { name: "l2.p4".to_string(), text: text.replace("const entries", "entries").into() };
    let loader = driver::FileLoader::default();
    let mut checked = driver::check(&source, &loader, &driver::Options::default());
    let runnable =
        driver::runnable(&mut checked, None).unwrap_or_else(|| panic!("{:?}", checked.diagnostics));
    let mut switch = interp::switch(runnable.program, Config::default()).unwrap();
    let table = switch.program().tables.iter().find(|(_, t)| t.name == "I.macs").unwrap().0;
    for i in 1..1000u128 {
        let matches = vec![Some(Match::Exact(Bits::new(48, i << 8)))];
        let action = Action { index: 0, data: vec![Bits::new(9, i % 500)] };
        switch.runner.tables.insert(table, NewEntry::new(matches, 0, action), 0).unwrap();
    }
    let mut packet = vec![0u8; 64];
    packet[12] = 0x08;
    packet[13] = 0x06;
    let n = 200_000u32;
    let mut n_sent = 0;
    let start = Instant::now();
    for i in 0..n {
        let id = (i % 999 + 1) as u16;
        packet[3..5].copy_from_slice(&id.to_be_bytes());
        n_sent += switch.inject(1, &packet, &mut Silent).len();
    }
    let rate = f64::from(n) / start.elapsed().as_secs_f64();
    println!("{rate:.0} packets a second, {n_sent} of {n} sent");
    assert!(n_sent > 0);
    assert!(rate > 200_000.0, "{rate:.0} packets a second");
}
