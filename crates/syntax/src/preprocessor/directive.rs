//! Directives: the lines that begin with `#`.

use super::{Condition, Preprocessor, Source, Tok};
use crate::lexer::{self, Lexer, Quotes, RawKind, RawToken};
use crate::token::TokenKind;
use crate::{Advice, IncludeKind, codes, limits};
use diagnostics::{Diagnostic, Span};

const DIRECTIVES: [&str; 15] = [
    "define", "undef", "include", "if", "ifdef", "ifndef", "elif", "elifdef", "elifndef", "else", "endif",
    "error", "warning", "line", "pragma",
];

/// The rest of a directive's line.
struct Line<'s, 'a> {
    src: &'s mut Source<'a>,
    ended: bool,
}

impl Line<'_, '_> {
    /// The next token of the line, and whether a comment without end was met.
    fn next(&mut self) -> (Option<Tok>, Option<RawToken>) {
        let mut space = false;
        while !self.ended {
            match self.src.lexer.next() {
                None => self.ended = true,
                Some(raw) => match raw.kind {
                    RawKind::Newline => self.ended = true,
                    RawKind::Splice => {}
                    RawKind::Space | RawKind::LineComment | RawKind::BlockComment => space = true,
                    RawKind::UnterminatedComment => {
                        self.ended = true;
                        return (None, Some(raw));
                    }
                    RawKind::Token(_)
                    | RawKind::Number
                    | RawKind::Hash
                    | RawKind::HashHash
                    | RawKind::UnterminatedString => return (Some(self.src.tok(&raw, space)), None),
                },
            }
        }
        (None, None)
    }

    /// Returns the text up to the end of the line, without recognising comments.
    fn rest(&mut self) -> (String, Span) {
        let (lo, hi) = (self.src.lexer.pos(), self.src.lexer.line_end());
        let text = self.src.lexer.text().get(lo as usize..hi as usize).unwrap_or("");
        let trimmed = text.trim();
        let skipped = (text.len() - text.trim_start().len()) as u32;
        let span = self.src.span(lo + skipped, lo + skipped + trimmed.len() as u32);
        self.src.lexer.seek(hi);
        (trimmed.replace("\\\r\n", "").replace("\\\n", ""), span)
    }
}

impl Preprocessor<'_> {
    fn line_tok(&mut self, line: &mut Line) -> Option<Tok> {
        let (tok, broken) = line.next();
        if let Some(raw) = broken {
            let span = line.src.raw_span(&raw);
            self.report_lexical(raw.kind, "", span);
        }
        tok
    }

    fn line_toks(&mut self, line: &mut Line) -> Vec<Tok> {
        let mut all = Vec::new();
        while let Some(t) = self.line_tok(line) {
            all.push(t);
        }
        all
    }

    /// Skips to the end of the line; warns if anything is left there.
    fn finish_line(&mut self, line: &mut Line, directive: &str) {
        let extra = self.line_tok(line);
        self.extra_tokens(extra.as_ref(), directive);
        while self.line_tok(line).is_some() {}
    }

    fn extra_tokens(&mut self, extra: Option<&Tok>, directive: &str) {
        if let Some(t) = extra {
            self.report(
                Diagnostic::new(&codes::DIRECTIVE_EXTRA, t.span, format!("extra text after `#{directive}`"))
                    .label("ignored from here")
                    .help("make it a comment: `// ...`"),
            );
        }
    }

    /// Executes the directive that begins with `hash`, including the end of its line. `##` begins none.
    pub(super) fn directive(&mut self, src: &mut Source, hash: &RawToken) {
        let span = src.raw_span(hash);
        src.lexer.quotes = Quotes::OneLine;
        let mut line = Line { src, ended: false };
        if hash.kind == RawKind::HashHash {
            self.unknown_directive(span, "#", span);
        } else if let Some(name) = self.line_tok(&mut line) {
            self.named_directive(&mut line, span, &name);
        }
        while self.line_tok(&mut line).is_some() {}
    }

    /// Warns of a line that begins with `#` and `name`, which is not a directive. p4c accepts such lines too.
    fn unknown_directive(&mut self, line: Span, name: &str, name_span: Span) {
        let message = format!("`#{name}` is not a preprocessor directive");
        let d = Diagnostic::new(&codes::UNKNOWN_DIRECTIVE, line, message).label("the line is ignored");
        self.report(match DIRECTIVES.iter().find(|d| is_close(d, name)) {
            Some(meant) => d.fix(format!("did you mean `#{meant}`?"), name_span, *meant),
            None => d,
        });
    }

    fn named_directive(&mut self, line: &mut Line, hash: Span, name: &Tok) {
        let span = hash.to(name.span);
        if name.is(TokenKind::Int) {
            let marker = name.clone();
            return self.line_directive(line, span, Some(marker));
        }
        match name.spelling() {
            "define" => {
                let toks = self.line_toks(line);
                self.define(span, toks);
            }
            "undef" => self.undef(line, span),
            "include" => self.include(line, span),
            "if" => {
                let toks = self.line_toks(line);
                let value = self.condition(span, toks);
                self.open_condition(line, span, value);
            }
            which @ ("ifdef" | "ifndef") => {
                let value = self.is_defined(line, span, which) == (which == "ifdef");
                self.open_condition(line, span, value);
            }
            which @ ("elif" | "elifdef" | "elifndef" | "else") => {
                // The group before was read, so all that follow are skipped.
                if self.other_group(line, span, which) {
                    while self.line_tok(line).is_some() {}
                    self.skip_groups(line);
                }
            }
            "endif" => {
                self.finish_line(line, "endif");
                if line.src.conditions.pop().is_none() {
                    self.unbalanced(span, "endif");
                }
            }
            "error" => self.user_message(line, span, true),
            "warning" => self.user_message(line, span, false),
            "line" => self.line_directive(line, span, None),
            "pragma" => {
                if self.line_tok(line).is_some_and(|t| t.spelling() == "once") {
                    let file = self.sources.file(line.src.file).name.clone();
                    self.once.insert(file);
                }
            }
            "ident" | "sccs" => {}
            other => self.unknown_directive(span, other, name.span),
        }
    }

    fn undef(&mut self, line: &mut Line, span: Span) {
        match self.line_tok(line) {
            Some(t) if t.word().is_some() => {
                self.macros.remove(t.spelling());
                self.finish_line(line, "undef");
            }
            t => {
                let at = t.map_or(span, |t| t.span);
                let d = Diagnostic::new(&codes::MACRO_SYNTAX, at, "`#undef` without a macro name");
                self.report(d.help("write `#undef NAME`"));
            }
        }
    }

    fn user_message(&mut self, line: &mut Line, span: Span, is_error: bool) {
        let (text, rest) = line.rest();
        let code = if is_error { &codes::USER_ERROR } else { &codes::USER_WARNING };
        let text = if text.is_empty() {
            if is_error { "`#error` reached".to_string() } else { "`#warning` reached".to_string() }
        } else {
            text
        };
        self.report(Diagnostic::new(code, if rest.lo < rest.hi { span.to(rest) } else { span }, text));
    }

    /// `#line N "file"`, or `# N "file" flags` when `marker` (the number) is given.
    fn line_directive(&mut self, line: &mut Line, span: Span, marker: Option<Tok>) {
        let mut toks = self.line_toks(line);
        let is_marker = marker.is_some();
        match marker {
            Some(n) => toks.insert(0, n),
            None => toks = self.expand_list(toks, false),
        }
        let number = toks
            .first()
            .filter(|t| t.is(TokenKind::Int))
            .and_then(|t| t.text.parse::<u32>().ok().filter(|n| *n <= i32::MAX as u32));
        let name_ok = toks.get(1).is_none_or(|t| t.is(TokenKind::Str));
        let (Some(number), true) = (number, name_ok) else {
            // A line such as `# 8w0 ...`, which only resembles a line marker, is ignored.
            if !is_marker {
                let at = toks.get(usize::from(number.is_some())).map_or(span, |t| t.span);
                self.report(
                    Diagnostic::new(&codes::LINE_SYNTAX, at, "malformed `#line`")
                        .help("write `#line NUMBER` or `#line NUMBER \"FILE\"`"),
                );
            }
            return;
        };
        if !is_marker {
            self.extra_tokens(toks.get(2), "line");
        }
        if let Some(t) = toks.get(1) {
            line.src.presumed = lexer::unescape(&t.text).as_str().into();
        }
        let name = Some(line.src.presumed.clone());
        self.sources.add_line_directive(line.src.file, line.src.lexer.pos(), number, name);
    }

    // Conditions.

    fn unbalanced(&mut self, span: Span, which: &str) {
        self.report(
            Diagnostic::new(&codes::CONDITION_UNBALANCED, span, format!("`#{which}` without `#if`"))
                .note("A condition must begin and end in the same file."),
        );
    }

    fn is_defined(&mut self, line: &mut Line, span: Span, which: &str) -> bool {
        match self.line_tok(line) {
            Some(t) if t.word().is_some() => {
                let defined = self.macros.get(t.spelling()).is_some();
                self.finish_line(line, which);
                defined
            }
            t => {
                let at = t.map_or(span, |t| t.span);
                let message = format!("`#{which}` without a macro name");
                self.report(
                    Diagnostic::new(&codes::CONDITION_SYNTAX, at, message)
                        .help(format!("write `#{which} NAME`")),
                );
                false
            }
        }
    }

    fn open_condition(&mut self, line: &mut Line, span: Span, taken: bool) {
        line.src.conditions.push(Condition { span, taken, seen_else: None });
        if !taken {
            while self.line_tok(line).is_some() {}
            self.skip_groups(line);
        }
    }

    /// Checks `#else` and similar directives; returns false if there is no open condition.
    fn other_group(&mut self, line: &mut Line, span: Span, which: &str) -> bool {
        let Some(c) = line.src.conditions.last_mut() else {
            self.unbalanced(span, which);
            return false;
        };
        if let Some(before) = c.seen_else {
            let d = Diagnostic::new(&codes::CONDITION_UNBALANCED, span, format!("`#{which}` after `#else`"))
                .also(before, "`#else` is here")
                .also(c.span, "the condition begins here");
            self.report(d);
        }
        if which == "else" {
            c.seen_else = Some(span);
            self.finish_line(line, which);
        }
        true
    }

    /// Skips groups of the innermost condition up to the one to be read, or past `#endif`.
    fn skip_groups(&mut self, line: &mut Line) {
        let mut nested = 0usize;
        loop {
            // At the start of a line. Skipped text needs no messages.
            line.src.lexer.quotes = Quotes::OneLine;
            let Some(hash) = first_of_line(line.src) else {
                line.ended = true;
                return;
            };
            line.ended = false;
            if hash.kind == RawKind::Hash
                && let (Some(name), _) = line.next()
            {
                let span = line.src.raw_span(&hash).to(name.span);
                match name.spelling() {
                    "if" | "ifdef" | "ifndef" => nested += 1,
                    "endif" if nested > 0 => nested -= 1,
                    "endif" => {
                        line.src.conditions.pop();
                        self.finish_line(line, "endif");
                        return;
                    }
                    which @ ("else" | "elif" | "elifdef" | "elifndef") if nested == 0 => {
                        self.other_group(line, span, which);
                        let take = !line.src.conditions.last().is_none_or(|c| c.taken)
                            && match which {
                                "elif" => {
                                    let toks = self.line_toks(line);
                                    self.condition(span, toks)
                                }
                                "elifdef" => self.is_defined(line, span, which),
                                "elifndef" => !self.is_defined(line, span, which),
                                _ => true,
                            };
                        if take {
                            if let Some(c) = line.src.conditions.last_mut() {
                                c.taken = true;
                            }
                            while self.line_tok(line).is_some() {}
                            return;
                        }
                    }
                    _ => {}
                }
            }
            if !line.ended {
                line.src.lexer.skip_line();
            }
        }
    }

    // Includes.

    fn include(&mut self, line: &mut Line, span: Span) {
        let Some((name, kind, at)) = self.include_name(line, span) else { return };
        self.finish_line(line, "include");
        if let Some(open) = &self.open {
            let begins = open.begins_at();
            self.report(
                Diagnostic::new(&codes::INCLUDE_SYNTAX, span, "`#include` inside a string")
                    .also(begins, "the string begins here"),
            );
            return;
        }
        if let Some(call) = self.collecting {
            self.report(
                Diagnostic::new(&codes::INCLUDE_SYNTAX, span, "`#include` inside the arguments of a macro")
                    .also(call, "the macro is used here"),
            );
            return;
        }
        if line.src.depth >= limits::INCLUDE_DEPTH_MAX {
            // Reported once, because every further including file would repeat it.
            if self.n_includes < limits::INCLUDES_MAX {
                self.n_includes = limits::INCLUDES_MAX + 1;
                self.report(
                    Diagnostic::new(
                        &codes::INCLUDE_DEPTH,
                        span.to(at),
                        format!("`{name}` is included too deeply"),
                    )
                    .label("not included")
                    .note(format!("Includes may be nested {} deep.", limits::INCLUDE_DEPTH_MAX))
                    .help("if the file includes itself, guard it with `#ifndef`, `#define` and `#endif`"),
                );
            }
            return;
        }
        if self.n_includes >= limits::INCLUDES_MAX {
            if self.n_includes == limits::INCLUDES_MAX {
                self.n_includes += 1;
                self.report(
                    Diagnostic::new(&codes::TOO_MANY_INCLUDES, span.to(at), "too many included files")
                        .label("not included")
                        .note(format!("A program may include {} files.", limits::INCLUDES_MAX)),
                );
            }
            return;
        }
        let from = self.sources.file(line.src.file).name.clone();
        let Some(found) = self.loader.load(&name, kind, &from) else {
            if let Some(why) = self.loader.refusal(&name, kind, &from) {
                self.report(
                    Diagnostic::new(&codes::INCLUDE_UNREADABLE, at, format!("cannot read `{name}`: {why}"))
                        .label("not included"),
                );
                return;
            }
            let d = Diagnostic::new(&codes::INCLUDE_NOT_FOUND, at, format!("cannot find `{name}`"));
            let d = d.note(match kind {
                IncludeKind::Local => {
                    "The directory of the including file and the include path were searched."
                }
                IncludeKind::System => {
                    "The include path was searched, and the files that come with the compiler."
                }
            });
            self.report(match (self.loader.advice(&name, kind, &from), kind) {
                (Advice::None, _) => d.help("name the directory that holds it with `-I`"),
                (Advice::Origin(origin), _) => {
                    d.help(format!("{origin}; name the directory that holds it with `-I`"))
                }
                (Advice::Nearest(name), IncludeKind::Local) => {
                    d.fix(format!("a similar name exists: `{name}`"), at, format!("\"{name}\""))
                }
                (Advice::Nearest(name), IncludeKind::System) => {
                    d.fix(format!("a similar name exists: `{name}`"), at, format!("<{name}>"))
                }
            });
            return;
        };
        if self.once.contains(&found.name) {
            return;
        }
        self.n_includes += 1;
        if let Some(file) = self.add_file(&found.name, found.text, Some(span.to(at)), found.is_system) {
            self.run_file(file, line.src.depth + 1);
        }
    }

    fn include_name(&mut self, line: &mut Line, span: Span) -> Option<(String, IncludeKind, Span)> {
        // `<name>` is not made of tokens.
        let mut ahead = line.src.lexer.clone();
        let mut at = ahead.pos();
        while let Some(r) = ahead.next()
            && r.is_trivia()
            && r.kind != RawKind::Newline
        {
            at = r.hi;
        }
        let (text, end) = (line.src.lexer.text(), line.src.lexer.line_end());
        let rest = text.get(at as usize..end as usize).unwrap_or("");
        if rest.starts_with('<')
            && let Some(close) = rest.find('>')
        {
            let hi = at + close as u32 + 1;
            line.src.lexer.seek(hi);
            return Some((rest[1..close].to_string(), IncludeKind::System, line.src.span(at, hi)));
        }
        let mut toks = self.line_toks(line);
        if toks.first().is_some_and(|t| t.word().is_some()) {
            toks = self.expand_list(toks, false);
        }
        let place = match (toks.first(), toks.last()) {
            (Some(a), Some(b)) => a.span.to(b.span),
            _ => span,
        };
        match toks.as_slice() {
            [name, extra @ ..] if name.is(TokenKind::Str) => {
                self.extra_tokens(extra.first(), "include");
                let text = name.text.trim_matches('"').to_string();
                return Some((text, IncludeKind::Local, name.span));
            }
            [open, name @ .., close] if open.is(TokenKind::Lt) && close.is(TokenKind::Gt) => {
                let text: String = name.iter().map(Tok::spelling).collect();
                return Some((text, IncludeKind::System, place));
            }
            _ => {}
        }
        let d = Diagnostic::new(&codes::INCLUDE_SYNTAX, place, "`#include` needs a file name");
        self.report(d.help("write `#include <core.p4>` or `#include \"file.p4\"`"));
        None
    }
}

/// Returns whether the text after a `#` makes it a directive. `#pragma` inside a string does not: the C
/// preprocessor ignores it there.
pub(super) fn is_directive(after_hash: &Lexer) -> bool {
    let mut rest = after_hash.clone().skip_while(|r| r.is_trivia() && r.kind != RawKind::Newline);
    match rest.next() {
        None => true,
        Some(r) if r.kind == RawKind::Newline => true,
        Some(r) => {
            let name = r.spelling(after_hash.text());
            name != "pragma" && (DIRECTIVES.contains(&&*name) || matches!(&*name, "ident" | "sccs"))
        }
    }
}

/// The first raw token of the line that is neither blank nor a comment (a line break, perhaps).
fn first_of_line(src: &mut Source) -> Option<RawToken> {
    loop {
        let before = src.lexer.pos();
        let raw = src.lexer.next()?;
        match raw.kind {
            RawKind::Space | RawKind::BlockComment | RawKind::Splice | RawKind::Newline => {}
            RawKind::Hash => return Some(raw),
            _ => {
                // `skip_line` reads it again.
                src.lexer.seek(before);
                return Some(raw);
            }
        }
    }
}

/// Returns whether at most two letters differ (and not all letters of a short word).
fn is_close(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len().abs_diff(b.len()) > 2 || b.len() > 16 {
        return false;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let cost = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = cost.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()] <= 2.min(a.len() / 2)
}
