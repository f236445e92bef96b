//! Messages for what people write out of habit: other languages' syntax and misspelt keywords.

use super::types::Typeness;
use super::*;
use diagnostics::suggest::nearest_word;

/// Type names of other languages and what to write instead.
const FOREIGN_TYPES: &[(&str, &str)] = &[
    ("uint8_t", "bit<8>"),
    ("uint16_t", "bit<16>"),
    ("uint32_t", "bit<32>"),
    ("uint64_t", "bit<64>"),
    ("int8_t", "int<8>"),
    ("int16_t", "int<16>"),
    ("int32_t", "int<32>"),
    ("int64_t", "int<64>"),
    ("u8", "bit<8>"),
    ("u16", "bit<16>"),
    ("u32", "bit<32>"),
    ("u64", "bit<64>"),
    ("uint8", "bit<8>"),
    ("uint16", "bit<16>"),
    ("uint32", "bit<32>"),
    ("uint64", "bit<64>"),
    ("unsigned", "bit<32>"),
    ("uint", "bit<32>"),
    ("char", "bit<8>"),
    ("byte", "bit<8>"),
    ("short", "int<16>"),
    ("long", "int<64>"),
    ("boolean", "bool"),
    ("size_t", "bit<32>"),
    ("float", ""),
    ("double", ""),
];

/// Operators of other languages, as words.
const FOREIGN_OPERATORS: &[(&str, &str)] = &[("and", "&&"), ("or", "||"), ("mod", "%"), ("xor", "^")];

impl Parser<'_> {
    /// Another language's syntax at the cursor, in any place where reading failed.
    pub(super) fn foreign_syntax(&self) -> Option<Diagnostic> {
        use TokenKind::*;
        let foreign = |message: &str, label: &str| self.here(&codes::FOREIGN_SYNTAX, message).label(label);
        let after_minus = self.pos > 0 && self.tokens.get(self.pos - 1).is_some_and(|t| t.kind == Minus);
        match self.kind() {
            Gt if self.tok().joined && after_minus => {
                let arrow = self.prev_span().to(self.span());
                let mut d = foreign("P4 has no pointers and no `->`", "not an operator");
                d.primary.span = arrow;
                Some(d.help("select a member with `.`").fix("write `.`", arrow, "."))
            }
            Assign if self.kind_at(1) == Assign && self.ahead(1).joined => None,
            Assign => Some(
                foreign("`=` is no operator within an expression", "assignment is a statement")
                    .help("compare with `==`")
                    .fix("write `==`", self.span(), "=="),
            ),
            Amp => Some(
                foreign("P4 has no pointers: nothing has an address", "`&` needs a left operand")
                    .help("pass what is to be changed to an `inout` or `out` parameter"),
            ),
            Star => {
                Some(foreign("P4 has no pointers: nothing can be dereferenced", "`*` needs a left operand"))
            }
            PlusPlus => Some(
                foreign("P4 has no `++` that increments", "`++` concatenates two bit strings")
                    .help("write `x = x + 1;`"),
            ),
            Ident => {
                let text = self.tok().text.as_str();
                let (_, op) = FOREIGN_OPERATORS.iter().find(|(w, _)| *w == text)?;
                Some(
                    foreign(&format!("P4 has no operator `{text}`"), "not an operator")
                        .help(format!("write `{op}`"))
                        .fix(format!("write `{op}`"), self.span(), *op),
                )
            }
            _ => None,
        }
    }

    /// A type of another language that was not declared here.
    pub(super) fn foreign_type(&self) -> Option<Diagnostic> {
        if self.typeness(0) != Typeness::Unknown {
            return None;
        }
        let text = self.tok().text.as_str();
        let (_, ours) = FOREIGN_TYPES.iter().find(|(w, _)| *w == text)?;
        let d = self.here(&codes::FOREIGN_SYNTAX, format!("P4 has no type `{text}`")).label("unknown type");
        Some(match *ours {
            "" => d.note("P4 has integers of fixed width only: `bit<W>` and `int<W>`"),
            ours => d.help(format!("write `{ours}`")).fix(format!("write `{ours}`"), self.span(), ours),
        })
    }

    /// At `++` after an operand: `x++` rather than a concatenation?
    pub(super) fn is_increment(&self) -> bool {
        matches!(self.kind_at(1), TokenKind::Semicolon | TokenKind::RParen | TokenKind::RBrace)
    }

    pub(super) fn fail_increment<T>(&mut self) -> Parse<T> {
        let d = self
            .here(&codes::FOREIGN_SYNTAX, "P4 has no `++` that increments")
            .label("`++` concatenates two bit strings")
            .help("write `x = x + 1`");
        let result = self.fail(d);
        self.bump();
        result
    }

    /// A statement of another language at the cursor.
    pub(super) fn foreign_statement(&self) -> Option<Diagnostic> {
        use TokenKind::*;
        let next = self.kind_at(1);
        let foreign = |message: String, label: &str| self.here(&codes::FOREIGN_SYNTAX, message).label(label);
        let decrement =
            |n| self.kind_at(n) == Minus && self.kind_at(n + 1) == Minus && self.ahead(n + 1).joined;
        match self.kind() {
            PlusPlus => Some(
                foreign("P4 has no `++` that increments".into(), "not a statement")
                    .help("write `x = x + 1;`"),
            ),
            Minus if decrement(0) => Some(
                foreign("P4 has no `--` that decrements".into(), "not a statement")
                    .help("write `x = x - 1;`"),
            ),
            Else => Some(
                foreign("`else` without `if`".into(), "no `if` before this")
                    .note("an `if` takes one statement or a block, then `else`"),
            ),
            Default => Some(foreign("a label outside of `switch`".into(), "not a statement")),
            Ident => {
                let text = self.tok().text.as_str();
                let known = self.names.lookup(text).is_some();
                match text {
                    _ if known => None,
                    "while" if next == LParen => Some(
                        foreign("P4 has no `while`".into(), "not a statement")
                            .help("write `for (; condition; ) { ... }`"),
                    ),
                    "do" if next == LBrace => Some(
                        foreign("P4 has no `do` loop".into(), "not a statement")
                            .help("write `for (; condition; ) { ... }`"),
                    ),
                    "elif" | "elsif" | "elseif" => Some(
                        foreign(format!("P4 has no `{text}`"), "not a statement")
                            .help("write `else if`")
                            .fix("write `else if`", self.span(), "else if"),
                    ),
                    "goto" if next == Ident => Some(
                        foreign("P4 has no `goto`".into(), "not a statement")
                            .help("parser states go on with `transition`"),
                    ),
                    "case" if next != Assign && next != Dot => Some(
                        foreign("P4 has no `case`".into(), "not a statement")
                            .help("a label of `switch` stands alone: `label: { ... }`"),
                    ),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// An identifier in the place and company of a keyword that begins a statement.
    pub(super) fn misspelt_statement(&self) -> Option<TokenKind> {
        use TokenKind::*;
        if !self.at(Ident) {
            return None;
        }
        let words: &[TokenKind] = match self.kind_at(1) {
            Semicolon => &[Return, Exit, Break, Continue],
            Int | Str | True | False | This | Not | Tilde => &[Return],
            LBrace => &[Else],
            LParen if self.scan_to(2, RParen).is_some_and(|end| self.kind_at(end) == LBrace) => {
                &[If, Switch, For]
            }
            k if is_name(k) => &[Return, Const],
            _ => return None,
        };
        self.misspelt(words)
    }

    /// The keyword among `words` that the identifier at the cursor was probably meant to be.
    pub(super) fn misspelt(&self, words: &[TokenKind]) -> Option<TokenKind> {
        if !self.at(TokenKind::Ident) || self.names.lookup(&self.tok().text).is_some() {
            return None;
        }
        let meant = nearest_word(&self.tok().text, words.iter().map(|k| k.as_str()))?;
        words.iter().copied().find(|k| k.as_str() == meant)
    }

    /// Reports a misspelt keyword and reads on as if it were right.
    pub(super) fn did_you_mean(&mut self, keyword: TokenKind) -> Diagnostic {
        let word = keyword.as_str();
        let what = if self.at(TokenKind::Ident) { "unknown word" } else { "unexpected" };
        self.here(&codes::MISSPELT_KEYWORD, format!("{what} {}", self.found()))
            .label(format!("did you mean `{word}`?"))
            .fix(format!("write `{word}`"), self.span(), word)
    }
}
