//! P4Info is the message that p4c makes: the same objects with the same ids in the same order.

use super::golden_and_made;
use crate::corpus::{Corpus, Program};
use crate::runner::Verdict;
use p4info::Format;

pub(super) const SUFFIX: &str = ".p4info.txtpb";

pub(super) fn judge(corpus: &Corpus, golden: &Program) -> Verdict {
    golden_and_made(corpus, golden, SUFFIX, |bytes, made| {
        let expected = p4info::decode_p4info(bytes, Format::Text).map_err(|e| e.to_string())?;
        Ok(p4info::compare(&expected, &made.p4info))
    })
}
