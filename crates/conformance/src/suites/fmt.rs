//! Formatting keeps the syntax tree, and formatting what was formatted changes nothing.

use crate::corpus::{Corpus, Program};
use crate::front_end;
use crate::runner::Verdict;
use syntax::fmt::{FormatOptions, format};

pub(super) fn judge(corpus: &Corpus, program: &Program) -> Verdict {
    match judge_formatted(corpus, program) {
        Ok(()) => Verdict::Pass,
        Err(reason) => Verdict::Fail(reason),
    }
}

fn judge_formatted(corpus: &Corpus, program: &Program) -> Result<(), String> {
    let mut source = front_end::read(&program.path)?;
    let before = front_end::parse(corpus, &source);
    let formatted = formatted(&source.text)?;
    if formatted == *source.text {
        return Ok(());
    }
    if self::formatted(&formatted)? != formatted {
        return Err("formatting again changes the text".to_string());
    }
    source.text = formatted.into();
    let after = front_end::parse(corpus, &source);
    if !syntax::same_tree::same(&before.program, &after.program) {
        return Err("the formatted text has another syntax tree".to_string());
    }
    Ok(())
}

fn formatted(text: &str) -> Result<String, String> {
    format(text, &FormatOptions::default())
        .map_err(|messages| messages.first().map_or("no text".to_string(), |d| d.message.clone()))
}
