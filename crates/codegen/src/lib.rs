//! From the IR to C that a person can read.
//!
//! The folders are layers; each imports only from itself and from those below it:
//!
//! - [`generate`]: one file of C for one program;
//! - [`plan()`]: the decisions alone, as data ([`plan::Plan`]) and as text;
//! - `file`: the parts of the file: `program` (the file as a whole), `fast_path` (from arrival to verdict), `sections` (the same
//!   by the architecture's description), `burst` (the
//!   stages of a burst), `offload` and `offload_batch` (blocks that offload workers run), `descriptors` (what the host
//!   reads);
//! - `function`: statements and expressions of one function: `graph` turns a control-flow graph into `if`, `switch` and
//!   labels; `expr`, `place`, `parse`, `emit`, `tables`, `externs`, `checksum` write the rest;
//! - `suspend`: where packets suspend and what they save: `plan`, `prefetch_groups`;
//! - `facts`: analyses of the program: `storage` (where each variable lives), `in_packet_fields` (fields that stay in the
//!   packet), `common_case` (which packets take the exception path);
//! - `text`: lines of C, names, types.
//!
//! The file includes `sd_runtime.h` (folder `rt`) and exports what `rt/sd_abi.h` says. Names are those of the P4
//! program: table `MyIngress.ipv4_lpm` is `p4_MyIngress__ipv4_lpm`, field `ttl` is `ttl`. `#line` leads back to the
//! P4 program.
//!
//! Invariants: the same program gives the same text. What the code does is what the interpreter does, bit for
//! bit. A valid program gives C without warnings (gcc and clang, `-Wall -Wextra`).
//!
//! Non-goals: running a compiler (crate `native`); what lies between blocks beyond the straight path (crate
//! `target`).
//!
//! Start reading at [`generate`], then `program`.

mod facts;
mod file;
mod function;
pub mod plan;
mod suspend;
mod text;

use diagnostics::SourceMap;
use facts::Facts;
use ir::Program;
use plan::Plan;
use suspend::Suspension;
pub use text::options::Options;

/// The C text of a valid program.
pub fn generate(program: &Program, sources: &SourceMap, options: &Options) -> String {
    let suspension = Suspension::new(program, options.trace);
    let program = suspension.program(program);
    let facts = Facts::new(program, suspension.mode());
    let cx = function::cx::Cx::new(program, options, &facts, &suspension);
    let code = file::program::write(&cx, sources);
    code.render(options.line_directives.then_some(sources), &options.file_name)
}

/// The decisions about a valid program before C is written.
pub fn plan(program: &Program, options: &Options) -> Plan {
    let suspension = Suspension::new(program, options.trace);
    let program = suspension.program(program);
    Plan::new(program, &Facts::new(program, suspension.mode()), &suspension)
}
