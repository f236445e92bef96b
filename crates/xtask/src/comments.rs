//! Comments and code of a Rust or C file, apart from each other.

/// A comment: consecutive lines of `//` of one kind, or one `/* */`. A paragraph of documentation counts by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    /// One-based line of its beginning.
    pub line: usize,
    /// Without markers; lines joined by spaces.
    pub text: String,
}

/// The comments of the file and its code, in which comments and literals are blank.
pub fn split(text: &str) -> (Vec<Comment>, String) {
    let mut splitter = Splitter { text, at: 0, line: 1, code: String::new(), pieces: Vec::new() };
    splitter.run();
    (join(splitter.pieces), splitter.code)
}

/// One line of a comment.
struct Piece {
    line: usize,
    /// `//`, `///`, `//!` or `/*`; pieces of different kinds are different comments.
    marker: &'static str,
    /// Nothing but the comment is on the line.
    is_alone: bool,
    text: String,
}

struct Splitter<'text> {
    text: &'text str,
    at: usize,
    line: usize,
    code: String,
    pieces: Vec<Piece>,
}

impl Splitter<'_> {
    fn run(&mut self) {
        while self.at < self.text.len() {
            let rest = &self.text[self.at..];
            if rest.starts_with("//") {
                let end = rest.find('\n').unwrap_or(rest.len());
                self.comment_line(&rest[..end]);
                self.skip(end);
            } else if rest.starts_with("/*") {
                let end = rest.find("*/").map_or(rest.len(), |e| e + 2);
                self.comment_block(&rest[..end]);
                self.skip(end);
            } else if let Some(n) = literal_length(rest, self.code.chars().next_back()) {
                self.skip(n);
            } else {
                let next = rest.chars().next().unwrap_or('\n');
                self.code.push(next);
                self.line += usize::from(next == '\n');
                self.at += next.len_utf8();
            }
        }
    }

    /// Leaves out some bytes, so that lines keep their numbers.
    fn skip(&mut self, n_bytes: usize) {
        let skipped = &self.text[self.at..self.at + n_bytes];
        let n_lines = skipped.matches('\n').count();
        self.code.push(' ');
        self.code.extend(std::iter::repeat_n('\n', n_lines));
        self.line += n_lines;
        self.at += n_bytes;
    }

    fn is_alone(&self) -> bool {
        self.code.rsplit('\n').next().unwrap_or("").trim().is_empty()
    }

    fn comment_line(&mut self, text: &str) {
        let marker = ["///", "//!"].into_iter().find(|m| text.starts_with(m)).unwrap_or("//");
        let piece = Piece {
            line: self.line,
            marker,
            is_alone: self.is_alone(),
            text: text[marker.len()..].trim().to_string(),
        };
        self.pieces.push(piece);
    }

    fn comment_block(&mut self, text: &str) {
        let inside = text.trim_start_matches("/*").trim_end_matches("*/");
        let is_alone = self.is_alone();
        for (i, line) in inside.lines().enumerate() {
            let text = line.trim().trim_start_matches('*').trim().to_string();
            self.pieces.push(Piece { line: self.line + i, marker: "/*", is_alone, text });
        }
        // Two blocks that follow each other are two comments.
        self.pieces.push(Piece { line: 0, marker: "/*", is_alone, text: String::new() });
    }
}

fn join(pieces: Vec<Piece>) -> Vec<Comment> {
    let mut comments: Vec<Comment> = Vec::new();
    let mut last: Option<Piece> = None;
    for piece in pieces {
        let continues = last.as_ref().is_some_and(|l| {
            l.marker == piece.marker
                && l.line + 1 == piece.line
                && l.is_alone
                && piece.is_alone
                && !l.text.is_empty()
        });
        if !piece.text.is_empty() {
            match comments.last_mut().filter(|_| continues) {
                Some(comment) => comment.text = format!("{} {}", comment.text, piece.text),
                None => comments.push(Comment { line: piece.line, text: piece.text.clone() }),
            }
        }
        last = Some(piece);
    }
    comments
}

/// Bytes of the string or character literal at the beginning of the text.
fn literal_length(text: &str, before: Option<char>) -> Option<usize> {
    let continues_word = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    if text.starts_with('r') && !continues_word {
        let n_hashes = text[1..].bytes().take_while(|b| *b == b'#').count();
        if text[1 + n_hashes..].starts_with('"') {
            let end = format!("\"{}", "#".repeat(n_hashes));
            let from = n_hashes + 2;
            return Some(text[from..].find(&end).map_or(text.len(), |e| from + e + end.len()));
        }
    }
    let bytes = text.as_bytes();
    let quote = bytes.first().copied().filter(|b| matches!(b, b'"' | b'\''))?;
    if quote == b'\'' {
        // A lifetime: no quote behind its first character.
        let length = text[1..].chars().next().map_or(1, char::len_utf8);
        if bytes.get(1) != Some(&b'\\') && bytes.get(1 + length) != Some(&b'\'') {
            return None;
        }
    }
    let mut at = 1;
    while at < bytes.len() && bytes[at] != quote {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    Some((at + 1).min(text.len()))
}
