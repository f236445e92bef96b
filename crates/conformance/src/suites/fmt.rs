use crate::corpus::{Corpus, Program};
use crate::runner::Verdict;

pub(super) fn judge(_corpus: &Corpus, _program: &Program) -> Verdict {
    Verdict::Fail("not judged yet".to_string())
}
