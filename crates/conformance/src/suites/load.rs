//! Samples in both backends, with random packets.

use crate::corpus::{Corpus, Program};
use crate::front_end;
use crate::runner::Verdict;
use control::Schema;
use driver::{Architecture, Checked, Source};
use interp::traffic::Config;
use std::sync::Arc;
use target::traffic::{Output, Totals};
use testkit::{Arriving, BlockByBlock, Dut, FastPath};
use trace::Silent;

const PACKETS: usize = 200;
/// Packets that arrive together.
const BURST: usize = 8;
const BYTES_MAX: usize = 200;
const PORT_MAX: u32 = 9;

/// Stand-alone samples. Those of targets that Siding does not run pass without a packet; among programs of one's own they fail.
pub(super) fn cases(corpus: &Corpus) -> Vec<Program> {
    corpus.samples()
}

/// Runs the program in the interpreter, before and after the passes.
pub(super) fn judge(corpus: &Corpus, case: &Program) -> Verdict {
    verdict(run(corpus, case, false))
}

/// Runs it in compiled code as well.
pub(super) fn judge_native(corpus: &Corpus, case: &Program) -> Verdict {
    verdict(run(corpus, case, true))
}

fn verdict(result: Result<(), String>) -> Verdict {
    match result {
        Ok(()) => Verdict::Pass,
        Err(reason) => Verdict::Fail(reason.replace('\n', " ")),
    }
}

fn run(corpus: &Corpus, case: &Program, is_native: bool) -> Result<(), String> {
    run_source(corpus, &front_end::read(&case.path)?, is_native)
}

fn run_source(corpus: &Corpus, source: &Source, is_native: bool) -> Result<(), String> {
    let mut checked = front_end::check_source(corpus, source);
    if corpus.preprocessing().is_none() && !is_of_known_architecture(&checked) {
        return Ok(());
    }
    let Some(mut runnable) = driver::runnable(&mut checked, None) else {
        return Err(front_end::first_error(&checked).unwrap_or_default());
    };
    let schema = Arc::new(Schema::new(&runnable.control_plane.p4info).map_err(|e| e.to_string())?);
    let packets = packets(&source.name);
    let interpreted = |program: &ir::Program| {
        let device = interp::interpreter(program.clone(), Arc::clone(&schema), Config::default());
        let mut device = device.map_err(|e| e.to_string())?;
        let externs = &mut device.switch.runner.externs;
        super::externs::supply(&mut |name, function| externs.supply(name, function));
        Ok::<_, String>(transcript(&mut BlockByBlock::new(device), &packets))
    };
    let expected = interpreted(&runnable.program)?;
    ir::passes::run(&mut runnable.program, ir::passes::DEFAULT).map_err(|e| e.to_string())?;
    same(&expected, &interpreted(&runnable.program)?, "the interpreter after the passes")?;
    if !is_native {
        return Ok(());
    }
    let mut options = native::BuildOptions::default();
    options.generate.program_name.clone_from(&source.name);
    options.compile.optimise = native::Optimise::Little;
    options.compile.machine = native::Machine::Any;
    let built = native::build(&runnable.program, &checked.sources, &options).map_err(|e| e.to_string())?;
    let program = Arc::new(runnable.program);
    let fresh = || {
        let (built, program, schema) = (Arc::clone(&built), Arc::clone(&program), Arc::clone(&schema));
        let device = native::native_device(built, program, schema, Config::default());
        let mut device = device.map_err(|e| e.to_string())?;
        super::externs::supply(&mut |name, function| device.switch.runner.supply(name, function));
        Ok::<_, String>(device)
    };
    let blocks = transcript(&mut BlockByBlock::new(fresh()?), &packets);
    same(&expected, &blocks, "compiled code, block by block")?;
    let bursts = transcript(&mut FastPath::new(fresh()?), &packets);
    same(&expected, &bursts, "compiled code in bursts")
}

/// Packets that leave for each that arrives, and the counts at the end.
struct Transcript(Vec<Vec<Output>>, Totals);

fn transcript(dut: &mut dyn Dut, packets: &[(u32, Vec<u8>)]) -> Transcript {
    let mut all = Vec::new();
    for burst in packets.chunks(BURST) {
        all.push(dut.advance_clock(1_000_000, &mut Silent));
        let arriving: Vec<Arriving<'_>> =
            burst.iter().map(|(port, bytes)| Arriving { port: *port, bytes }).collect();
        all.extend(dut.receive(&arriving, &mut Silent));
    }
    let totals = dut.totals();
    Transcript(all, totals)
}

fn same(expected: &Transcript, found: &Transcript, name: &str) -> Result<(), String> {
    let differs = expected.0.iter().zip(&found.0).position(|(expected, found)| expected != found);
    if let Some(i) = differs {
        let (expected, found) = (&expected.0[i], &found.0[i]);
        return Err(format!("{name} differs in step {i}: {found:?} instead of {expected:?}"));
    }
    match expected.1 == found.1 {
        true => Ok(()),
        false => Err(format!("{name} counts {:?} instead of {:?}", found.1, expected.1)),
    }
}

/// True if `main` is of a package that an architecture has, from the include file of that architecture, and that can run.
/// Tests of the front end declare packages of their own, some with such a name.
fn is_of_known_architecture(checked: &Checked) -> bool {
    let program = &checked.program;
    let Some(check::program::NodeKind::Package(id)) = program.main.map(|main| &program.nodes[main].kind)
    else {
        return false;
    };
    let package = &program.block_types[*id];
    let place = checked.sources.resolve(package.span);
    let is_included = place.is_some_and(|place| checked.sources.file(place.file).is_system);
    let architecture = Architecture::of_package(&package.name);
    is_included && architecture.is_some_and(|architecture| architecture.pipeline().is_some())
}

/// Packets that are the same in every run: random bytes, and such behind the first fields of common headers.
fn packets(case: &str) -> Vec<(u32, Vec<u8>)> {
    const BEGINNINGS: [&[u8]; 5] = [
        &[],
        &[0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 2, 0x08, 0x00, 0x45, 0, 0, 60, 0, 0, 0, 0, 64, 6],
        &[0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 2, 0x08, 0x00, 0x46, 0, 0, 60, 0, 0, 0, 0, 64, 17],
        &[0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 2, 0x86, 0xdd, 0x60, 0, 0, 0, 0, 20, 6, 64],
        &[0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 2, 0x81, 0x00, 0, 1, 0x08, 0x00, 0x45, 0, 0, 60],
    ];
    let mut rng = super::models::seeded(case);
    let mut packet = || {
        let mut bytes = super::models::one_of(&mut rng, &BEGINNINGS).to_vec();
        let fill = super::models::one_of(&mut rng, &[None, None, Some(0), Some(1), Some(0xff)]);
        bytes.extend((0..rng.usize(0..BYTES_MAX)).map(|_| fill.unwrap_or_else(|| rng.u8(..))));
        (rng.u32(0..=PORT_MAX), bytes)
    };
    (0..PACKETS).map(|_| packet()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDS_ENTRIES: &str = r#"
#include <pna.p4>
header First { bit<8> kind; }
struct Headers { First first; }
struct Metadata {}
parser P(packet_in packet, out Headers headers, inout Metadata meta, in pna_main_parser_input_metadata_t istd) {
    state start {
        packet.extract(headers.first);
        transition accept;
    }
}
control Pre(
    in Headers headers, inout Metadata meta, in pna_pre_input_metadata_t istd, inout pna_pre_output_metadata_t ostd
) {
    apply {}
}
control Main(
    inout Headers headers, inout Metadata meta, in pna_main_input_metadata_t istd, inout pna_main_output_metadata_t ostd
) {
    action known() { drop_packet(); }
    action unknown() { add_entry("known", {}, (ExpireTimeProfileId_t)0); }
    table kinds {
        key = { headers.first.kind: exact; }
        actions = { @tableonly known; @defaultonly unknown; }
        const default_action = unknown();
        add_on_miss = true;
    }
    apply {
        if (headers.first.isValid()) {
            kinds.apply();
        }
    }
}
control D(packet_out packet, in Headers headers, in Metadata meta, in pna_main_output_metadata_t ostd) {
    apply { packet.emit(headers); }
}
PNA_NIC(P(), Pre(), Main(), D()) main;
"#;

    #[test]
    fn packets_stop_at_functions_without_a_body() {
        let source = Source { name: "adds_entries.p4".to_owned(), text: ADDS_ENTRIES.into() };
        assert_eq!(run_source(&Corpus::none(), &source, true), Ok(()));
    }
}
