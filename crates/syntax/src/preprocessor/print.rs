//! Preprocessed tokens as text, for `-E`.

use crate::lexer;
use crate::token::{Token, TokenKind};
use diagnostics::SourceMap;
use std::fmt::Write;

/// Longest gap that is filled with blank lines; a longer one gets a line marker.
const BLANK_LINES_MAX: u32 = 8;

/// Returns the tokens as text with line markers (`# 12 "file"`): reading it again gives the same tokens with
/// the same presumed file names and line numbers.
pub fn print_preprocessed(tokens: &[Token], sources: &SourceMap) -> String {
    let mut out = String::new();
    let (mut file, mut line) = (String::new(), 0u32);
    let mut at_line_start = true;
    let mut in_pragma = false;
    for t in tokens {
        if t.kind == TokenKind::Eof {
            break;
        }
        if t.kind == TokenKind::EndPragma {
            out.push('\n');
            line += 1;
            at_line_start = true;
            in_pragma = false;
            continue;
        }
        let place = sources.locate(t.span);
        if in_pragma {
            // Its end is the end of the line.
            while place.as_ref().is_some_and(|p| p.file == file && line < p.line) {
                out.push_str(" \\\n");
                line += 1;
            }
        } else if let Some(place) = place {
            if place.file != file || place.line < line || place.line > line + BLANK_LINES_MAX {
                if !at_line_start {
                    out.push('\n');
                }
                let _ = writeln!(out, "# {} {}", place.line, lexer::escape(&place.file));
                file = place.file;
                line = place.line;
                at_line_start = true;
            }
            while line < place.line {
                out.push('\n');
                line += 1;
                at_line_start = true;
            }
            if at_line_start {
                out.extend(std::iter::repeat_n(' ', (place.column.saturating_sub(1)).min(200) as usize));
            }
        }
        if !at_line_start && !t.joined {
            out.push(' ');
        }
        at_line_start = false;
        in_pragma |= t.kind == TokenKind::Pragma;
        match t.kind {
            TokenKind::Str => {
                let written = sources.text(t.span);
                if written.len() >= 2 && written.starts_with('"') && lexer::unescape(written) == t.text {
                    out.push_str(written);
                    line += written.bytes().filter(|b| *b == b'\n').count() as u32;
                } else {
                    out.push_str(&lexer::escape(&t.text));
                }
            }
            k if t.text.is_empty() => out.push_str(k.as_str()),
            _ => out.push_str(&t.text),
        }
    }
    if !at_line_start {
        out.push('\n');
    }
    out
}
