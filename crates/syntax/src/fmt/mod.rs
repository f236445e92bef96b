//! The formatter: lays out one source file without changing a token.
//!
//! It works on the raw tokens of the unpreprocessed file, so directives, macro uses and comments survive. The
//! text is cut into logical lines ([`lines`]: statements, declaration heads, closing braces), which are
//! nested by their braces; each line is then spaced ([`spacing`]) and broken if it is too long ([`layout`]).
//!
//! Invariants: the result has the same tokens, comments and directives in the same order
//! ([`check_same_tokens`] verifies it before anything is returned), and formatting it again changes nothing.
//!
//! Non-goals: aligning columns, reordering, wrapping comments.
//!
//! Start reading at [`format`].

mod doc;
mod items;
mod layout;
mod lines;
mod spacing;

use crate::codes;
use crate::token::TokenKind;
use diagnostics::{Diagnostic, Span};
use items::{Bodies, Item, ItemKind};

/// Options of the layout.
#[derive(Clone, Debug)]
pub struct FormatOptions {
    /// Blanks per level.
    pub indent: usize,
    /// Column limit, kept if the line can be broken.
    pub width: usize,
}

impl Default for FormatOptions {
    fn default() -> Self {
        FormatOptions { indent: 4, width: 100 }
    }
}

/// Lays out one file.
///
/// Text with lexical errors is refused. Spans of the messages are those that a fresh
/// [`diagnostics::SourceMap`] gives to `text` as its first file.
pub fn format(text: &str, options: &FormatOptions) -> Result<String, Vec<Diagnostic>> {
    if text.len() > crate::limits::FILE_BYTES_MAX {
        return Err(vec![Diagnostic::new(&codes::SOURCE_TOO_LARGE, Span::NONE, "the file is too large")]);
    }
    let mut out = lay_out(text, options)?;
    // Text that is not a valid program may need more passes: a brace that does not open a block reads
    // differently after its line was broken.
    for _ in 0..PASSES_MAX {
        let again = lay_out(&out, options)?;
        if again == out {
            break;
        }
        out = again;
    }
    if check_same_tokens(text, &out) {
        Ok(out)
    } else {
        let at = Span::new(1, 1);
        Err(vec![
            Diagnostic::new(&codes::FORMAT_INTERNAL, at, "the formatter would have changed the program")
                .note("The text is left as it is. This is a fault of the formatter: please report it."),
        ])
    }
}

/// Number of further passes until a fixed point; valid programs need none.
const PASSES_MAX: usize = 4;

fn lay_out(text: &str, options: &FormatOptions) -> Result<String, Vec<Diagnostic>> {
    let items = items::items(text, Bodies::Whole)?;
    let mut out = lines::format_items(text, &items, options);
    // A backslash at the very end would remove a line break behind it.
    if out.ends_with("\\\n") && text.ends_with('\\') {
        out.pop();
    }
    Ok(out)
}

/// Returns whether both texts consist of the same tokens, comments and directives, apart from white space.
pub fn check_same_tokens(a: &str, b: &str) -> bool {
    let cut = |text| items::items(text, Bodies::Tokens);
    let (Ok(a), Ok(b)) = (cut(a), cut(b)) else { return false };
    a.len() == b.len()
        && a.iter().zip(&b).enumerate().all(|(i, (x, y))| {
            let same_text = match x.kind {
                ItemKind::LineComment | ItemKind::BlockComment | ItemKind::Directive | ItemKind::Pragma => {
                    same_lines(x.text, y.text)
                }
                ItemKind::Token(_) | ItemKind::AnnotationBody => x.text == y.text,
            };
            // `>>` is two tokens that stand side by side.
            let angles = |items: &[Item]| {
                i > 0
                    && items[i - 1].kind == ItemKind::Token(TokenKind::Gt)
                    && matches!(items[i].kind, ItemKind::Token(TokenKind::Gt | TokenKind::Ge))
                    && !items[i].space
            };
            x.kind == y.kind && same_text && angles(&a) == angles(&b)
        })
}

/// Equal up to white space at both ends of each line.
fn same_lines(a: &str, b: &str) -> bool {
    a.trim_end().lines().map(str::trim).eq(b.trim_end().lines().map(str::trim))
}
