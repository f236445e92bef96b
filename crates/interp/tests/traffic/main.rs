//! Packets through whole switches: what leaves, what is dropped and why, what extern objects hold then.

mod elsewhere;
mod externs;
mod filters;
mod stages;
mod waiting;

use interp::Silent;
use interp::Switch;
use interp::traffic::{Config, Output};
use std::path::Path;

fn compile(name: &str, text: &str) -> ir::Program {
    let source = driver::Source { name: name.to_owned(), text: text.into() };
    let mut checked = driver::check(&source, &driver::FileLoader::default(), &driver::Options::default());
    let runnable = driver::runnable(&mut checked, None);
    runnable.unwrap_or_else(|| panic!("{name}: {:#?}", checked.diagnostics)).program
}

/// A switch with a program of `programs`.
fn switch_with(name: &str, config: Config) -> Switch {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/traffic/programs").join(name);
    let text = std::fs::read_to_string(&path).unwrap();
    interp::switch(compile(name, &text), config).unwrap()
}

fn switch(name: &str) -> Switch {
    switch_with(name, Config::default())
}

/// Ports and bytes of what leaves; every packet is accounted for.
fn inject(switch: &mut Switch, port: u32, bytes: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let outputs = switch.inject(port, bytes, &mut Silent);
    assert!(switch.totals().is_balanced(switch.n_queued()), "{:?}", switch.totals());
    outputs.into_iter().map(sent).collect()
}

fn advance(switch: &mut Switch, ns: u64) -> Vec<(u32, Vec<u8>)> {
    let outputs = switch.advance_clock(ns, &mut Silent);
    assert!(switch.totals().is_balanced(switch.n_queued()), "{:?}", switch.totals());
    outputs.into_iter().map(sent).collect()
}

fn sent(output: Output) -> (u32, Vec<u8>) {
    (output.port().unwrap_or(u32::MAX), output.bytes)
}
