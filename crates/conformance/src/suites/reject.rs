//! The program is rejected. Some faults only show in the control plane's view (duplicate names, entries
//! out of range), so P4Info is made too, as p4c's own test does.

use crate::corpus::{Corpus, Program};
use crate::front_end;
use crate::runner::Verdict;

pub(super) fn judge(corpus: &Corpus, program: &Program) -> Verdict {
    match front_end::check_and_make_p4info(corpus, program) {
        Err(reason) => Verdict::Fail(reason),
        Ok((checked, _)) if checked.diagnostics.has_errors() => Verdict::Pass,
        Ok(_) => Verdict::Fail("accepted".to_string()),
    }
}
