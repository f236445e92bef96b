//! From text to parts: layers with the values that are given, and payload.

use crate::hex::too_long;
use crate::{BYTES_MAX, Fault, Field, LAYERS, LAYERS_MAX, Layer, value};
use diagnostics::suggest;
use std::ops::Range;

/// A piece of a packet.
#[derive(Debug)]
pub(crate) enum Part {
    Layer(Header),
    Payload { bytes: Vec<u8>, at: Range<usize> },
}

/// A layer and the values that the text gives.
#[derive(Debug)]
pub(crate) struct Header {
    pub layer: &'static Layer,
    /// One for each field of the layer.
    pub given: Vec<Option<u128>>,
    /// The name of the layer in the text.
    pub at: Range<usize>,
}

impl Part {
    pub(crate) fn at(&self) -> Range<usize> {
        match self {
            Part::Layer(header) => header.at.clone(),
            Part::Payload { at, .. } => at.clone(),
        }
    }

    pub(crate) fn n_bytes(&self) -> usize {
        match self {
            Part::Layer(header) => header.layer.n_bytes(),
            Part::Payload { bytes, .. } => bytes.len(),
        }
    }
}

const PAYLOADS: &str = "payload is \"text\", 0x with hexadecimal digits, or zeros(NUMBER)";

/// The parts of a packet, at least one.
pub(crate) fn parse(text: &str) -> Result<Vec<Part>, Fault> {
    let mut parser = Parser { text, pos: 0 };
    let mut parts = Vec::new();
    let mut n_bytes = 0;
    loop {
        let part = parser.part()?;
        n_bytes += part.n_bytes();
        if n_bytes > BYTES_MAX {
            return Err(Fault::new(part.at(), too_long(n_bytes)));
        }
        if parts.len() == LAYERS_MAX {
            return Err(Fault::new(part.at(), format!("a packet has at most {LAYERS_MAX} layers")));
        }
        parts.push(part);
        match parser.next_sign() {
            None => return Ok(parts),
            Some('/') => parser.pos += 1,
            Some(_) => return Err(parser.unexpected("`/` and the next layer, or the end")),
        }
    }
}

struct Parser<'t> {
    text: &'t str,
    pos: usize,
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

impl<'t> Parser<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.pos..]
    }

    /// The next character that is not blank; the position is at it.
    fn next_sign(&mut self) -> Option<char> {
        self.pos = self.text.len() - self.rest().trim_start().len();
        self.rest().chars().next()
    }

    fn eat(&mut self, sign: char) -> bool {
        let found = self.next_sign() == Some(sign);
        self.pos += if found { sign.len_utf8() } else { 0 };
        found
    }

    /// Takes the characters that are wanted; maybe none.
    fn take(&mut self, is_wanted: impl Fn(char) -> bool) -> (&'t str, Range<usize>) {
        self.next_sign();
        let rest = self.rest();
        let len = rest.find(|c| !is_wanted(c)).unwrap_or(rest.len());
        let at = self.pos..self.pos + len;
        self.pos += len;
        (&rest[..len], at)
    }

    fn unexpected(&mut self, expected: &str) -> Fault {
        match self.next_sign() {
            Some(c) => {
                let at = self.pos..self.pos + c.len_utf8();
                Fault::new(at, format!("expected {expected}, found `{}`", c.escape_debug()))
            }
            None => {
                let end = self.text.len();
                Fault::new(end..end, format!("expected {expected}, found the end"))
            }
        }
    }

    fn part(&mut self) -> Result<Part, Fault> {
        match self.next_sign() {
            Some('"') => self.quoted(),
            Some(c) if c.is_ascii_digit() => {
                let (digits, at) = self.take(is_name);
                Ok(Part::Payload { bytes: hex_payload(digits, at.clone())?, at })
            }
            Some(c) if is_name(c) => {
                let (name, at) = self.take(is_name);
                if name == "zeros" { self.zeros(at) } else { self.layer(name, at) }
            }
            Some(_) | None => Err(self.unexpected("a layer or payload").help(layers_there_are())),
        }
    }

    fn zeros(&mut self, at: Range<usize>) -> Result<Part, Fault> {
        if !self.eat('(') {
            return Err(self.unexpected("`(` and the number of zero bytes"));
        }
        let (word, word_at) = self.take(is_name);
        let n_bytes = match value::number(word) {
            Some(n) => usize::try_from(n).unwrap_or(usize::MAX),
            None if word.is_empty() => return Err(self.unexpected("the number of zero bytes")),
            None => return Err(Fault::new(word_at, format!("`{word}` is no number"))),
        };
        if n_bytes > BYTES_MAX {
            return Err(Fault::new(word_at, too_long(n_bytes)));
        }
        if !self.eat(')') {
            return Err(self.unexpected("`)`"));
        }
        Ok(Part::Payload { bytes: vec![0; n_bytes], at: at.start..self.pos })
    }

    /// A payload in quotes, with the position at the first quote.
    fn quoted(&mut self) -> Result<Part, Fault> {
        let start = self.pos;
        let mut bytes = Vec::new();
        let mut chars = self.rest().char_indices().skip(1);
        while let Some((i, c)) = chars.next() {
            match c {
                '"' => {
                    self.pos = start + i + 1;
                    return Ok(Part::Payload { bytes, at: start..self.pos });
                }
                '\\' => match chars.next() {
                    Some((_, 'n')) => bytes.push(b'\n'),
                    Some((_, 'r')) => bytes.push(b'\r'),
                    Some((_, 't')) => bytes.push(b'\t'),
                    Some((_, '0')) => bytes.push(0),
                    Some((_, c @ ('"' | '\\'))) => bytes.push(c as u8),
                    Some((j, c)) => {
                        let at = start + i..start + j + c.len_utf8();
                        let message = format!("`\\{}` means nothing in a text", c.escape_debug());
                        return Err(Fault::new(at, message).help(
                            "there are \\n, \\r, \\t, \\0, \\\" and \\\\; write other bytes as 0x and digits",
                        ));
                    }
                    None => break,
                },
                c => bytes.extend(c.encode_utf8(&mut [0; 4]).bytes()),
            }
        }
        let message = "a text does not end";
        Err(Fault::new(start..start + 1, message)
            .help("close it with `\"`; in a shell, put the packet in single quotes"))
    }

    fn layer(&mut self, name: &str, at: Range<usize>) -> Result<Part, Fault> {
        let Some(layer) = Layer::named(name) else {
            let fault = Fault::new(at, format!("there is no layer `{name}`"));
            return Err(match suggest::nearest_word(name, LAYERS.iter().map(|l| l.name)) {
                Some(meant) => fault.help(format!("did you mean `{meant}`? {}", layers_there_are())),
                None => fault.help(layers_there_are()),
            });
        };
        let mut given = vec![None; layer.fields.len()];
        if self.eat('(') && !self.eat(')') {
            loop {
                let (i, value) = self.assignment(layer, &given)?;
                given[i] = Some(value);
                if self.eat(')') {
                    break;
                }
                if !self.eat(',') {
                    return Err(self.unexpected("`,` or `)`"));
                }
            }
        }
        Ok(Part::Layer(Header { layer, given, at }))
    }

    /// `name=value`: the index of the field, and its value.
    fn assignment(&mut self, layer: &'static Layer, given: &[Option<u128>]) -> Result<(usize, u128), Fault> {
        let (name, at) = self.take(is_name);
        if name.is_empty() {
            return Err(self.unexpected("the name of a field").help(fields_there_are(layer)));
        }
        let Some((i, field)) = layer.fields.iter().enumerate().find(|(_, f)| f.name == name) else {
            let fault = Fault::new(at, format!("`{}` has no field `{name}`", layer.name));
            return Err(match suggest::nearest_word(name, layer.named_fields().map(|f| f.name)) {
                Some(meant) => fault.help(format!("did you mean `{meant}`? {}", fields_there_are(layer))),
                None => fault.help(fields_there_are(layer)),
            });
        };
        if given[i].is_some() {
            return Err(Fault::new(at, format!("`{name}` of `{}` is given twice", layer.name)));
        }
        if !self.eat('=') {
            return Err(self.unexpected(&format!("`=` and the value of `{name}`")));
        }
        Ok((i, self.value(field)?))
    }

    fn value(&mut self, field: &'static Field) -> Result<u128, Fault> {
        let (word, at) = self.take(|c| is_name(c) || matches!(c, '.' | ':' | '+'));
        match word {
            "" => Err(self.unexpected(&value::expected(field))),
            _ => value::of_field(field, word, at),
        }
    }
}

fn hex_payload(digits: &str, at: Range<usize>) -> Result<Vec<u8>, Fault> {
    if !digits.starts_with("0x") {
        return Err(Fault::new(at, format!("`{digits}` is neither a layer nor payload")).help(PAYLOADS));
    }
    crate::hex(digits).map_err(|fault| {
        let range = at.start + fault.at.start..at.start + fault.at.end;
        Fault { at: range, ..fault }
    })
}

fn layers_there_are() -> String {
    let names: Vec<&str> = LAYERS.iter().map(|layer| layer.name).collect();
    format!("the layers are {}; {PAYLOADS}", names.join(", "))
}

fn fields_there_are(layer: &Layer) -> String {
    let names: Vec<&str> = layer.named_fields().map(|field| field.name).collect();
    format!("the fields of `{}` are {}", layer.name, names.join(", "))
}
