//! From the IR to C that a person can read.
//!
//! - [`generate`]: one file of C for one program;
//! - `types`: how values lie in C; `homes`: where each variable lives; `carried`: which fields stay in the packet;
//! - `graph`: from a control-flow graph to `if`, `switch` and labels; `expr`, `place`: expressions and places;
//! - `parse`, `emit`, `tables`, `externs`, `checksum`: what packets, tables and extern objects need;
//! - `straight`: from arrival to a verdict; `settled`: which packets have a way of their own; `plan`: where packets wait
//!   for memory; `early`: for how much at once; `burst`: the code between;
//! - `asynchronous`: blocks that other cores run;
//! - `program`: the file as a whole; `descriptors`: what a host reads.
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

mod asynchronous;
mod batch;
mod burst;
mod carried;
mod checksum;
mod code;
mod cx;
mod descriptors;
mod early;
mod emit;
mod expr;
mod externs;
mod func;
mod graph;
mod homes;
mod names;
mod parse;
mod place;
mod plan;
mod program;
mod settled;
mod straight;
mod tables;
mod trace;
mod types;

use diagnostics::SourceMap;
use ir::Program;

/// How C is generated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// What the program is called in comments.
    pub program_name: String,
    /// What the file is called in `#line`.
    pub file_name: String,
    /// Lead back to the P4 program.
    pub line_directives: bool,
    /// Tell the host of every step, when compiled with `-DSD_TRACE`.
    pub trace: bool,
    /// Entries of tables that do not say their size.
    pub table_size: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            program_name: "program.p4".to_string(),
            file_name: "program.c".to_string(),
            line_directives: true,
            trace: false,
            table_size: 1024,
        }
    }
}

/// The C text of a valid program.
pub fn generate(program: &Program, sources: &SourceMap, options: &Options) -> String {
    // Packets of a program with asynchronous blocks wait there, not for tables.
    let asynchronous = if options.trace { None } else { asynchronous::plan(program) };
    let program = asynchronous.as_ref().map_or(program, |plan| &plan.program);
    let plan = if options.trace || asynchronous.is_some() { None } else { plan::plan(program) };
    let program = plan.as_ref().map_or(program, |plan| &plan.program);
    let cx = cx::Cx::new(program, options, plan.as_ref(), asynchronous.as_ref());
    let code = program::write(&cx, sources);
    code.render(options.line_directives.then_some(sources), &options.file_name)
}
