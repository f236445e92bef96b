//! From the checked program to the IR of one architecture.
//!
//! Key items: [`elaborate()`] does all of it; [`Elaborator`](elaborator::Elaborator) holds the IR as it grows;
//! [`Body`](body::Body) writes the graph of one block or procedure; [`Names`](names::Names) says what the names in
//! a body stand for.
//!
//! How the parts of the language come out:
//!
//! - **Objects.** A block of the package becomes an [`ir::Block`]; each control or parser object inside it, each
//!   action of such an object, and each function that it calls (per type arguments and compile-time arguments)
//!   becomes one [`ir::Procedure`]. Parameters and local variables of an object become variables of its
//!   procedure, or of its block.
//! - **Calls** are copy-in, call, copy-out. Places of `out` and `inout` arguments are fixed before later arguments
//!   are evaluated (computed indices go to temporaries). Copy-out happens from left to right, on the way of
//!   [`Exit`](ir::TerminatorKind::Exit) too.
//! - **Order.** An operand whose value later operands can change is saved in a temporary.
//!
//! Invariants: what comes out passes [`ir::validate`](fn@ir::validate). Where a procedure cannot exit, both
//! successors of its calls are the same node. What is written is bounded
//! ([`WRITTEN_MAX`](elaborator::WRITTEN_MAX)): a program that would be larger is a fault.
//!
//! Non-goals: judging the program (crate `check` has), optimising it (passes of crate `ir` do).
//!
//! Start reading at [`elaborate()`].

mod accelerator;
mod assign;
mod asynchronous;
mod atomic;
pub mod body;
mod call;
mod captures;
mod cells;
mod checks;
pub mod codes;
mod decisions;
mod direct_registers;
pub mod elaborator;
mod entries;
mod expr;
mod extern_objects;
mod length;
pub mod names;
mod objects;
mod operators;
mod owners;
mod parser;
mod pipeline;
mod place;
mod procedure;
mod stmt;
mod table;
mod table_state;
mod types;
mod updates;
mod value_set;
mod values;

use check::program::Program;
use diagnostics::Diagnostic;
pub use elaborator::Purpose;

/// Elaborates a program that has no errors. Faults: no `main`, an architecture whose pipeline is not known, or
/// what it cannot run.
pub fn elaborate(program: &Program) -> Result<ir::Program, Vec<Diagnostic>> {
    elaborate_for(program, Purpose::Execution)
}

/// Elaborates a program for a purpose. For [`Purpose::Analysis`], blocks marked `@atomic` are enclosed in markers, and
/// architectures without a backend are accepted. Faults are those of [`elaborate()`].
pub fn elaborate_for(program: &Program, purpose: Purpose) -> Result<ir::Program, Vec<Diagnostic>> {
    let ir = pipeline::run(program, purpose)?;
    let faults = too_large(&ir);
    if !faults.is_empty() {
        return Err(faults);
    }
    debug_assert!(ir::validate(&ir).is_ok(), "{:#?}", ir::validate(&ir).err().map(|v| v[0].to_string()));
    Ok(ir)
}

/// Variables of more values than a backend can lay out.
fn too_large(ir: &ir::Program) -> Vec<Diagnostic> {
    let mut faults = Vec::new();
    for (_, var) in ir.variables.iter() {
        let n = ir::layout::n_leaves(ir, &var.ty);
        if n > ir::layout::N_LEAVES_MAX {
            let message = format!("`{}` is too large to run", var.name);
            faults.push(
                Diagnostic::new(&codes::VALUE_TOO_LARGE, var.span, message)
                    .label(format!("holds {n} values"))
                    .note(format!("at most {} are possible", ir::layout::N_LEAVES_MAX)),
            );
        }
    }
    faults
}
