//! Macro expansion, as C defines it: arguments are expanded before substitution, and a macro is not expanded
//! again inside its own expansion.

use super::macros::{BodyTok, Builtin};
use super::{Preprocessor, Source, Tok};
use crate::lexer::{self, Lexer, RawKind};
use crate::token::TokenKind;
use crate::{codes, limits};
use diagnostics::{Diagnostic, Span};
use smol_str::SmolStr;
use std::collections::VecDeque;

/// Bytes per token in the limit, for long spellings that `#` and `##` make.
pub(super) const BYTES_PER_TOKEN: usize = 16;

/// Tokens to scan again; `active` is the macro that they came from.
struct Frame {
    toks: VecDeque<Tok>,
    active: Option<usize>,
}

/// Input of expansion: pending tokens, then (while expanding in a file) the file.
struct Input<'s, 'a> {
    frames: Vec<Frame>,
    source: Option<&'s mut Source<'a>>,
    /// True if a frame ended since the last token.
    fresh: bool,
    /// True if white space preceded a macro that expanded to nothing since the last token.
    space: bool,
}

impl Preprocessor<'_> {
    /// Expands the macro that `tok`, just read from `src`, names. Returns whether white space precedes the
    /// next token of the file because of a macro that expanded to nothing.
    pub(super) fn expand_in_source(
        &mut self,
        tok: Tok,
        index: usize,
        src: &mut Source,
        out: &mut Vec<Tok>,
    ) -> bool {
        // Fast path for the common case: `W` in `bit<W>`, whose body is one token that names no macro.
        let m = self.macros.at(index);
        if let (None, None, [only]) = (&m.params, m.builtin, &*m.body)
            && only.tok.word().and_then(|w| self.macros.get(w)).is_none()
        {
            let mut t = only.tok.clone();
            let name = self.macro_name_id(index);
            t.span = self.sources.add_expansion(t.span, tok.span, name);
            (t.space, t.fresh) = (tok.space, true);
            self.spend(1, tok.span);
            out.push(t);
            return false;
        }
        let frame = Frame { toks: VecDeque::from([tok]), active: None };
        let mut input = Input { frames: vec![frame], source: Some(src), fresh: false, space: false };
        self.expand(&mut input, false, out);
        input.space
    }

    /// Expands all macros in a list of tokens. In a condition the operand of `defined` is left alone.
    pub(super) fn expand_list(&mut self, toks: Vec<Tok>, in_condition: bool) -> Vec<Tok> {
        let mut out = Vec::with_capacity(toks.len());
        let mut input = Input {
            frames: vec![Frame { toks: toks.into(), active: None }],
            source: None,
            fresh: false,
            space: false,
        };
        self.expand(&mut input, in_condition, &mut out);
        out
    }

    pub(super) fn spend(&mut self, n: usize, at: Span) {
        match self.expansion_budget.checked_sub(n) {
            Some(left) => self.expansion_budget = left,
            None => {
                if !self.stopped {
                    self.stopped = true;
                    self.report(
                        Diagnostic::new(&codes::MACRO_LIMIT, at, "macros expand to too many tokens")
                            .label("the limit is reached while this is expanded")
                            .note(format!(
                                "Macro expansion may handle {} tokens in all.",
                                limits::EXPANSION_TOKENS_MAX
                            )),
                    );
                }
            }
        }
    }

    fn macro_name_id(&mut self, index: usize) -> u32 {
        if let Some(id) = self.macros.at(index).name_id {
            return id;
        }
        let id = self.sources.add_macro_name(&self.macros.at(index).name);
        self.macros.at_mut(index).name_id = Some(id);
        id
    }

    /// Drops finished frames, whose macros may be expanded again.
    fn drop_ended(&mut self, input: &mut Input) {
        while input.frames.last().is_some_and(|f| f.toks.is_empty()) {
            if let Some(m) = input.frames.pop().and_then(|f| f.active) {
                self.macros.at_mut(m).n_active -= 1;
            }
            input.fresh = true;
        }
    }

    /// Returns the next pending token; `None` if there is none.
    fn next_pending(&mut self, input: &mut Input) -> Option<Tok> {
        self.drop_ended(input);
        let mut tok = input.frames.last_mut()?.toks.pop_front()?;
        tok.fresh |= std::mem::take(&mut input.fresh);
        tok.space |= std::mem::take(&mut input.space);
        Some(tok)
    }

    /// The next token, pending or from the file.
    fn next_input(&mut self, input: &mut Input) -> Option<Tok> {
        if let Some(t) = self.next_pending(input) {
            return Some(t);
        }
        let mut tok = self.next_from_source(input.source.as_deref_mut()?)?;
        tok.fresh |= std::mem::take(&mut input.fresh);
        tok.space |= std::mem::take(&mut input.space);
        Some(tok)
    }

    /// Returns whether the next token is `(`. Consumes nothing.
    fn paren_follows(&self, input: &Input) -> bool {
        for f in input.frames.iter().rev() {
            if let Some(t) = f.toks.front() {
                return t.is(TokenKind::LParen);
            }
        }
        let Some(src) = &input.source else { return false };
        let mut after = src.lexer.clone().skip_while(|r| r.is_trivia());
        after.next().is_some_and(|r| r.kind == RawKind::Token(TokenKind::LParen))
    }

    fn expand(&mut self, input: &mut Input, in_condition: bool, out: &mut Vec<Tok>) {
        // Arguments within arguments recurse here.
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.expand_pending(input, in_condition, out));
        while let Some(f) = input.frames.pop() {
            if let Some(m) = f.active {
                self.macros.at_mut(m).n_active -= 1;
            }
        }
    }

    fn expand_pending(&mut self, input: &mut Input, in_condition: bool, out: &mut Vec<Tok>) {
        while !self.stopped {
            let Some(mut tok) = self.next_pending(input) else { return };
            let index = match tok.word() {
                Some("defined") if in_condition => {
                    out.push(tok);
                    let operand = self.next_pending(input);
                    let paren = operand.as_ref().is_some_and(|t| t.is(TokenKind::LParen));
                    out.extend(operand);
                    if paren {
                        out.extend(self.next_pending(input));
                    }
                    continue;
                }
                Some(word) if !tok.painted => self.macros.get(word),
                _ => None,
            };
            let Some(index) = index else {
                out.push(tok);
                continue;
            };
            let m = self.macros.at(index);
            if m.n_active > 0 {
                tok.painted = true;
                out.push(tok);
                continue;
            }
            let toks = match (m.builtin, &m.params) {
                (Some(b), _) => vec![self.builtin(b, &tok)],
                (None, None) => {
                    let body = m.body.clone();
                    self.substitute(index, &body, &[], tok.span)
                }
                (None, Some(_)) if !self.paren_follows(input) => {
                    out.push(tok);
                    continue;
                }
                (None, Some(_)) => {
                    let body = m.body.clone();
                    let Some((args, close)) = self.arguments(index, &tok, input) else { return };
                    self.substitute(index, &body, &args, tok.span.to(close))
                }
            };
            self.spend(toks.len() + 1, tok.span);
            let mut toks = VecDeque::from(toks);
            match toks.front_mut() {
                Some(first) => (first.space, first.fresh) = (first.space || tok.space, true),
                None => (input.fresh, input.space) = (true, input.space || tok.space),
            }
            self.macros.at_mut(index).n_active += 1;
            input.frames.push(Frame { toks, active: Some(index) });
        }
    }

    fn builtin(&mut self, builtin: Builtin, at: &Tok) -> Tok {
        let place = self.sources.locate(at.span);
        let (kind, text) = match builtin {
            Builtin::File => (TokenKind::Str, lexer::escape(place.as_ref().map_or("", |p| p.file.as_str()))),
            Builtin::Line => (TokenKind::Int, place.map_or(0, |p| p.line).to_string()),
            Builtin::Counter => {
                self.macros.counter += 1;
                (TokenKind::Int, (self.macros.counter - 1).to_string())
            }
            Builtin::IncludeLevel => {
                let mut level = 0;
                let mut at = Some(at.span);
                while let Some(r) = at.and_then(|s| self.sources.resolve(s)) {
                    at = self.sources.file(r.file).included_from;
                    level += usize::from(at.is_some());
                }
                (TokenKind::Int, level.to_string())
            }
            Builtin::Date => (TokenKind::Str, "\"??? ?? ????\"".to_string()),
            Builtin::Time => (TokenKind::Str, "\"??:??:??\"".to_string()),
            Builtin::One => (TokenKind::Int, "1".to_string()),
        };
        Tok::new(RawKind::Token(kind), at.span, text.into())
    }

    /// Reads the arguments of macro `index`, from its `(` to its `)`, and returns them with the span of `)`.
    /// There is one argument per parameter, even after an error.
    fn arguments(&mut self, index: usize, name: &Tok, input: &mut Input) -> Option<(Vec<Vec<Tok>>, Span)> {
        let (n_params, variadic) = {
            let m = self.macros.at(index);
            (m.params.as_ref().map_or(0, Vec::len), m.variadic)
        };
        let outer = self.collecting.replace(name.span);
        let open = loop {
            // Inside a string comments are tokens.
            match self.next_input(input) {
                Some(t) if matches!(t.kind, RawKind::LineComment | RawKind::BlockComment) => {}
                t => break t,
            }
        };
        let mut args: Vec<Vec<Tok>> = vec![Vec::new()];
        let mut depth = 0usize;
        let mut close = None;
        let mut n_read = 0;
        while let Some(t) = self.next_input(input) {
            n_read += 1;
            match t.kind {
                RawKind::Token(TokenKind::LParen) => depth += 1,
                RawKind::Token(TokenKind::RParen) if depth == 0 => {
                    close = Some(t.span);
                    break;
                }
                RawKind::Token(TokenKind::RParen) => depth -= 1,
                RawKind::Token(TokenKind::Comma) if depth == 0 && !(variadic && args.len() >= n_params) => {
                    args.push(Vec::new());
                    continue;
                }
                _ => {}
            }
            if let Some(last) = args.last_mut() {
                last.push(t);
            }
        }
        self.collecting = outer;
        self.spend(n_read, name.span);
        let m = self.macros.at(index);
        let Some(close) = close else {
            if !self.stopped {
                let d = Diagnostic::new(
                    &codes::MACRO_UNTERMINATED,
                    name.span,
                    format!("the arguments of macro `{}` have no end", m.name),
                )
                .label("`)` is missing")
                .also(open.map_or(Span::NONE, |t| t.span), "the arguments begin here")
                .also(m.span, "macro defined here");
                self.report(d);
            }
            return None;
        };
        let none_given = args.len() == 1 && args[0].is_empty();
        let n_given = if none_given && n_params == 0 { 0 } else { args.len() };
        // The variable arguments may be omitted together with their comma.
        let enough = n_given == n_params || (variadic && n_given + 1 == n_params);
        if !enough {
            let d = Diagnostic::new(
                &codes::MACRO_ARGUMENTS,
                name.span.to(close),
                format!(
                    "macro `{}` takes {}{n_params} argument{}, found {n_given}",
                    m.name,
                    if variadic { "at least " } else { "" },
                    if n_params == 1 { "" } else { "s" }
                ),
            )
            .also(m.span, "macro defined here");
            self.report(d);
        }
        args.resize_with(n_params, Vec::new);
        Some((args, close))
    }

    /// Returns the body with arguments substituted and `#` and `##` applied, not yet scanned for further
    /// macros. White space precedes its first token only in addition to that of the macro's name.
    fn substitute(&mut self, index: usize, body: &[BodyTok], args: &[Vec<Tok>], call: Span) -> Vec<Tok> {
        let name = self.macro_name_id(index);
        let mut expanded: Vec<Option<Vec<Tok>>> = vec![None; args.len()];
        let mut out: Vec<Tok> = Vec::with_capacity(body.len());
        let mut paste = false;
        let mut fresh = false;
        for (i, b) in body.iter().enumerate() {
            if self.stopped {
                break;
            }
            let before_paste = std::mem::replace(&mut paste, b.paste);
            let mut piece: Vec<Tok> = match b.param.and_then(|p| Some((p, args.get(p)?))) {
                None => {
                    let mut t = b.tok.clone();
                    t.span = self.sources.add_expansion(t.span, call, name);
                    t.fresh = std::mem::take(&mut fresh);
                    vec![t]
                }
                Some((_, arg)) if b.stringify => {
                    let span = self.sources.add_expansion(b.tok.span, call, name);
                    let text = stringify(arg);
                    self.spend(arg.len() + text.len() / BYTES_PER_TOKEN, call);
                    let mut t = Tok::new(RawKind::Token(TokenKind::Str), span, text);
                    t.space = b.tok.space;
                    vec![t]
                }
                Some((p, arg)) => {
                    // `, ## __VA_ARGS__`: the comma is removed if there are no variable arguments.
                    let gnu_comma = before_paste
                        && self.macros.at(index).variadic
                        && p + 1 == args.len()
                        && body[i - 1].tok.is(TokenKind::Comma)
                        && body[i - 1].param.is_none();
                    if gnu_comma && arg.is_empty() {
                        out.pop();
                        continue;
                    }
                    let mut toks = if (before_paste && !gnu_comma) || b.paste {
                        arg.clone()
                    } else {
                        if expanded[p].is_none() {
                            expanded[p] = Some(self.expand_list(arg.clone(), false));
                        }
                        expanded[p].clone().unwrap_or_default()
                    };
                    self.spend(toks.len(), call);
                    match toks.first_mut() {
                        Some(first) => (first.space, first.fresh) = (b.tok.space, true),
                        None => toks.push(Tok {
                            space: b.tok.space,
                            ..Tok::new(RawKind::Space, b.tok.span, SmolStr::default())
                        }),
                    }
                    fresh = true;
                    if gnu_comma {
                        out.extend(toks);
                        continue;
                    }
                    toks
                }
            };
            if before_paste && let Some(left) = out.pop() {
                let right = piece.remove(0);
                self.paste(left, right, &mut out);
            }
            out.append(&mut piece);
        }
        // The white space before an operand without tokens goes to the next token. That before the first token is the
        // macro name's, unless such an operand stands before it.
        let mut space = None;
        out.retain_mut(|t| {
            let before = space.replace(t.kind == RawKind::Space && (t.space || space == Some(true)));
            t.space = t.space && before.is_some() || before == Some(true);
            t.kind != RawKind::Space
        });
        out
    }

    /// Applies `##`: lexes the concatenated spellings.
    fn paste(&mut self, left: Tok, right: Tok, out: &mut Vec<Tok>) {
        if right.kind == RawKind::Space {
            return out.push(left);
        }
        if left.kind == RawKind::Space {
            return out.push(Tok { space: left.space, ..right });
        }
        let text = format!("{}{}", left.spelling(), right.spelling());
        self.spend(text.len() / BYTES_PER_TOKEN, left.span);
        let raws: Vec<_> = Lexer::new(&text).collect();
        if raws.iter().any(|r| r.is_trivia()) {
            self.report(
                Diagnostic::new(
                    &codes::MACRO_PASTE,
                    left.span,
                    format!("`##` of `{}` and `{}` makes no token", left.spelling(), right.spelling()),
                )
                .label("left operand")
                .also(right.span, "right operand"),
            );
            out.push(left);
            out.push(right);
            return;
        }
        // If the result is several tokens, they are adjacent, like cpp in assembler mode.
        for (i, r) in raws.iter().enumerate() {
            let span = if i == 0 { left.span } else { right.span };
            let mut t = Tok::from_raw(r, &text, span);
            if i == 0 {
                (t.space, t.fresh) = (left.space, left.fresh);
            }
            out.push(t);
        }
    }
}

/// Applies `#`: returns the spelling of an argument as a string literal.
fn stringify(arg: &[Tok]) -> SmolStr {
    let mut text = String::from("\"");
    for (i, t) in arg.iter().enumerate() {
        if i > 0 && t.space {
            text.push(' ');
        }
        if t.is(TokenKind::Str) {
            text.extend(
                t.spelling().chars().flat_map(|c| {
                    matches!(c, '"' | '\\').then_some('\\').into_iter().chain(std::iter::once(c))
                }),
            );
        } else {
            text.push_str(t.spelling());
        }
    }
    text.push('"');
    text.into()
}
