//! Initial entries are the messages that p4c makes.

use super::golden_and_made;
use crate::corpus::{Corpus, Program};
use crate::runner::Verdict;
use p4info::Format;

pub(super) const SUFFIX: &str = ".entries.txtpb";

pub(super) fn judge(corpus: &Corpus, golden: &Program) -> Verdict {
    golden_and_made(corpus, golden, SUFFIX, |bytes, made| {
        let expected = p4info::decode_write_request(bytes, Format::Text).map_err(|e| e.to_string())?;
        Ok(p4info::compare_write_requests(&expected, &made.entries))
    })
}
