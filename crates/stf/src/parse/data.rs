//! Packets: hexadecimal digits, or layers with fields.

use super::line::{Line, Result};
use crate::codes;
use crate::expect::{Expectation, Notation, Pattern};
use diagnostics::{Diagnostic, Span};

impl Line<'_> {
    /// The bytes of a packet to send, and where they stand.
    pub(super) fn packet_data(&mut self) -> Result<(Vec<u8>, Span)> {
        let (text, lo) = self.rest();
        if text.is_empty() {
            return self.unexpected("the bytes of the packet in hexadecimal");
        }
        let span = self.span(lo, lo + text.len());
        if is_layers(text) {
            let bytes = craft::packet(text).map_err(|fault| self.wrong_layers(lo, &fault))?;
            self.take_rest();
            return Ok((bytes, span));
        }
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
        if is_layers(text) {
            let (layers, is_exact) = match text.strip_suffix('$') {
                Some(layers) => (layers, true),
                None => (text, false),
            };
            let bytes = craft::packet(layers).map_err(|fault| self.wrong_layers(lo, &fault))?;
            let nibbles = bytes.iter().flat_map(|byte| [Some(byte >> 4), Some(byte & 15)]).collect();
            self.take_rest();
            let pattern = Pattern { nibbles, is_exact, notation: Notation::Layers, span: data_span };
            return Ok(Expectation { port, pattern: Some(pattern), span });
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
        Ok(Expectation {
            port,
            pattern: Some(Pattern { nibbles, is_exact, notation: Notation::Digits, span: data_span }),
            span,
        })
    }

    /// The fault of layers that begin at `lo`.
    fn wrong_layers(&self, lo: usize, fault: &craft::Fault) -> Box<Diagnostic> {
        let place = self.span(lo + fault.at.start, lo + fault.at.end);
        let diagnostic = Diagnostic::new(&codes::LAYERS, place, fault.message.clone());
        Box::new(match &fault.help {
            Some(help) => diagnostic.help(help.clone()),
            None => diagnostic,
        })
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

/// True if the text is meant as layers: it has a sign of theirs, or begins with a word that is no digits. No layer has a
/// name of hexadecimal digits.
fn is_layers(text: &str) -> bool {
    let word = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next().unwrap_or("");
    let is_name = word.starts_with(|c: char| c.is_ascii_alphabetic()) && !craft::is_hex(word);
    is_name || text.contains(['/', '(', '"'])
}

#[derive(Clone, Copy)]
enum Kind {
    Sent,
    Expected,
}
