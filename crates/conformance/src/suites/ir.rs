//! The intermediate representation of every sample that can run: valid, the same after it was printed and read
//! back, and valid after every pass.

use crate::corpus::{Corpus, Program};
use crate::front_end;
use crate::runner::Verdict;

/// The code of programs for architectures that cannot be run: nothing to judge.
const NO_PIPELINE: &str = "P2300";

pub(super) fn judge(corpus: &Corpus, program: &Program) -> Verdict {
    match run(corpus, program) {
        Ok(()) => Verdict::Pass,
        Err(reason) => Verdict::Fail(reason.replace('\n', " ")),
    }
}

fn run(corpus: &Corpus, program: &Program) -> Result<(), String> {
    let checked = front_end::check(corpus, program)?;
    if let Some(error) = front_end::first_error(&checked) {
        return Err(error);
    }
    let mut ir = match elaborate::elaborate(&checked.program) {
        Ok(ir) => ir,
        Err(faults) if faults.iter().all(|d| d.code.id == NO_PIPELINE) => return Ok(()),
        Err(faults) => {
            return Err(faults.first().map_or(String::new(), |d| front_end::short(d, &checked.sources)));
        }
    };
    valid(&ir, "after elaboration")?;
    let text = ::ir::text::print(&ir);
    let again = ::ir::text::parse(&text).map_err(|e| format!("the printed program cannot be read: {e}"))?;
    if again != ir {
        return Err("the printed program reads as another".to_string());
    }
    ::ir::passes::run(&mut ir, ::ir::passes::DEFAULT).map_err(|e| e.to_string())?;
    valid(&ir, "after the passes")
}

fn valid(ir: &::ir::Program, when: &str) -> Result<(), String> {
    ::ir::validate(ir).map_err(|violations| match violations.first() {
        Some(first) => format!("{when}: {first}"),
        None => when.to_string(),
    })
}
