//! The program is accepted: no error of any kind.

use crate::corpus::{Corpus, Program};
use crate::front_end;
use crate::runner::Verdict;

pub(super) fn judge(corpus: &Corpus, program: &Program) -> Verdict {
    match front_end::check(corpus, program) {
        Err(reason) => Verdict::Fail(reason),
        Ok(checked) => match front_end::first_error(&checked) {
            None => Verdict::Pass,
            Some(error) => Verdict::Fail(error),
        },
    }
}
