//! Packets in hexadecimal.

use super::line::{Line, Result};
use crate::codes;
use crate::expect::{Expectation, Pattern};
use diagnostics::{Diagnostic, Span};

impl Line<'_> {
    /// The bytes of a packet to send, and where they stand.
    pub(super) fn packet_data(&mut self) -> Result<(Vec<u8>, Span)> {
        let (text, lo) = self.rest();
        if text.is_empty() {
            return self.unexpected("the bytes of the packet in hexadecimal");
        }
        let span = self.span(lo, lo + text.len());
        let mut nibbles = Vec::with_capacity(text.len());
        for (at, c) in text.char_indices() {
            match c.to_digit(16) {
                Some(digit) => nibbles.push(digit as u8),
                None if c == ' ' || c == '\t' => {}
                None => return Err(Box::new(self.wrong_digit(lo + at, c, Kind::Sent))),
            }
        }
        if !nibbles.len().is_multiple_of(2) {
            let message = format!("a packet has an odd number of digits, {}", nibbles.len());
            let last = self.span(lo + text.len() - 1, lo + text.len());
            let diagnostic = Diagnostic::new(&codes::HALF_BYTE, last, message)
                .label("expected one more hexadecimal digit")
                .note("a packet consists of bytes of two digits each");
            return Err(Box::new(diagnostic));
        }
        self.take_rest();
        Ok((nibbles.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect(), span))
    }

    /// Port and pattern of an expected packet.
    pub(super) fn expectation(&mut self) -> Result<Expectation> {
        let port = self.port()?;
        let (text, lo) = self.rest();
        let data_span = self.span(lo, lo + text.len());
        let span = if text.is_empty() { port.span } else { port.span.to(data_span) };
        if text.is_empty() {
            return Ok(Expectation { port, pattern: None, span });
        }
        let mut nibbles = Vec::with_capacity(text.len());
        let mut is_exact = false;
        for (at, c) in text.char_indices() {
            if is_exact && !matches!(c, ' ' | '\t') {
                let place = self.span(lo + at, lo + text.len());
                let diagnostic = Diagnostic::new(&codes::UNEXPECTED, place, "something follows the `$`")
                    .label("expected the end of the line")
                    .note("`$` says that the packet ends here");
                return Err(Box::new(diagnostic));
            }
            match c {
                ' ' | '\t' => {}
                '*' => nibbles.push(None),
                '$' => is_exact = true,
                _ => match c.to_digit(16) {
                    Some(digit) => nibbles.push(Some(digit as u8)),
                    None => return Err(Box::new(self.wrong_digit(lo + at, c, Kind::Expected))),
                },
            }
        }
        self.take_rest();
        Ok(Expectation { port, pattern: Some(Pattern { nibbles, is_exact, span: data_span }), span })
    }

    fn wrong_digit(&self, at: usize, c: char, kind: Kind) -> Diagnostic {
        let place = self.span(at, at + c.len_utf8());
        let message = format!("`{}` is no hexadecimal digit", c.escape_debug());
        let diagnostic = Diagnostic::new(&codes::PACKET_DATA, place, message);
        let diagnostic = match kind {
            Kind::Sent => diagnostic.label("expected digits 0 to 9 and a to f"),
            Kind::Expected => diagnostic.label("expected digits 0 to 9 and a to f, `*` for any, or `$`"),
        };
        match (c, kind) {
            ('x' | 'X', _) => diagnostic.note("packets are written without `0x`"),
            ('*', Kind::Sent) => diagnostic.note("only an expected packet can leave digits open with `*`"),
            ('$', Kind::Sent) => {
                diagnostic.note("`$` ends an expected packet; a packet that is sent always ends")
            }
            _ => diagnostic,
        }
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Sent,
    Expected,
}
