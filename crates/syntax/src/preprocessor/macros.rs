//! Macro definitions.

use super::{Preprocessor, Tok};
use crate::codes;
use crate::lexer::RawKind;
use crate::token::TokenKind;
use diagnostics::{Diagnostic, Span};
use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;
use std::rc::Rc;

/// A token of a macro body.
#[derive(Clone, Debug)]
pub(super) struct BodyTok {
    pub tok: Tok,
    /// Index of the parameter that the token names.
    pub param: Option<usize>,
    /// True if `#` precedes the parameter.
    pub stringify: bool,
    /// True if `##` follows.
    pub paste: bool,
}

/// Macros whose value depends on the place of use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Builtin {
    File,
    Line,
    Counter,
    IncludeLevel,
    /// Constant, because no clock is read: equal input gives equal output.
    Date,
    Time,
    One,
}

#[derive(Debug)]
pub(super) struct Macro {
    pub name: SmolStr,
    /// Index for the source map, assigned at the first use.
    pub name_id: Option<u32>,
    /// Parameters; `None` for an object-like macro.
    pub params: Option<Vec<SmolStr>>,
    /// True if the last parameter takes all further arguments.
    pub variadic: bool,
    pub body: Rc<[BodyTok]>,
    /// Span of the name in the definition.
    pub span: Span,
    pub builtin: Option<Builtin>,
    /// Number of its expansions in progress: not expanded again while above 0.
    pub n_active: u32,
}

/// All macros. A definition keeps its index; `#undef` only removes the name.
pub(super) struct MacroTable {
    names: FxHashMap<SmolStr, usize>,
    all: Vec<Macro>,
    /// First bytes of all names ever defined, which avoids most look-ups.
    first_bytes: [bool; 256],
    pub counter: u64,
}

impl MacroTable {
    pub fn new() -> MacroTable {
        let mut t = MacroTable {
            names: FxHashMap::default(),
            all: Vec::new(),
            first_bytes: [false; 256],
            counter: 0,
        };
        for (name, builtin) in [
            ("__FILE__", Builtin::File),
            ("__BASE_FILE__", Builtin::File),
            ("__LINE__", Builtin::Line),
            ("__COUNTER__", Builtin::Counter),
            ("__INCLUDE_LEVEL__", Builtin::IncludeLevel),
            ("__DATE__", Builtin::Date),
            ("__TIME__", Builtin::Time),
            // Predefined by `cpp -undef -x assembler-with-cpp`.
            ("__ASSEMBLER__", Builtin::One),
            ("__STDC__", Builtin::One),
            ("__STDC_HOSTED__", Builtin::One),
        ] {
            t.insert(Macro {
                name: name.into(),
                name_id: None,
                params: None,
                variadic: false,
                body: Rc::new([]),
                span: Span::NONE,
                builtin: Some(builtin),
                n_active: 0,
            });
        }
        t
    }

    pub fn get(&self, name: &str) -> Option<usize> {
        if !self.first_bytes[*name.as_bytes().first()? as usize] {
            return None;
        }
        self.names.get(name).copied()
    }

    pub fn at(&self, index: usize) -> &Macro {
        &self.all[index]
    }

    pub fn at_mut(&mut self, index: usize) -> &mut Macro {
        &mut self.all[index]
    }

    pub fn insert(&mut self, m: Macro) {
        if let Some(b) = m.name.as_bytes().first() {
            self.first_bytes[*b as usize] = true;
        }
        self.names.insert(m.name.clone(), self.all.len());
        self.all.push(m);
    }

    pub fn remove(&mut self, name: &str) -> Option<usize> {
        self.names.remove(name)
    }
}

impl Macro {
    /// Returns whether parameters and body are equal, apart from the amount of white space (C17, 6.10.3).
    fn same_as(&self, other: &Macro) -> bool {
        let same = |(i, (a, b)): (usize, (&BodyTok, &BodyTok))| {
            a.tok.kind == b.tok.kind
                && a.tok.text == b.tok.text
                && (i == 0 || a.tok.space == b.tok.space)
                && (a.param, a.stringify, a.paste) == (b.param, b.stringify, b.paste)
        };
        self.params == other.params
            && self.variadic == other.variadic
            && self.builtin == other.builtin
            && self.body.len() == other.body.len()
            && self.body.iter().zip(other.body.iter()).enumerate().all(same)
    }
}

impl Preprocessor<'_> {
    fn macro_syntax(&mut self, span: Span, message: impl Into<String>, help: &str) {
        let d = Diagnostic::new(&codes::MACRO_SYNTAX, span, message);
        self.report(if help.is_empty() { d } else { d.help(help) });
    }

    /// Executes `#define`, given the tokens after it.
    pub(super) fn define(&mut self, directive: Span, line: Vec<Tok>) {
        let mut toks = line.into_iter().peekable();
        let Some(name_tok) = toks.next() else {
            return self.macro_syntax(directive, "`#define` without a name", "write `#define NAME value`");
        };
        let Some(name) = name_tok.word().map(SmolStr::new) else {
            let message = format!("`{}` is not a macro name", name_tok.spelling());
            return self.macro_syntax(name_tok.span, message, "");
        };
        if name == "defined" {
            return self.macro_syntax(name_tok.span, "`defined` cannot be a macro", "");
        }
        let (mut params, mut variadic) = (None, false);
        if let Some(open) = toks.next_if(|t| t.is(TokenKind::LParen) && !t.space) {
            let Some((list, v)) = self.macro_params(open.span, &mut toks) else { return };
            (params, variadic) = (Some(list), v);
        }
        let body: Vec<Tok> = toks.collect();
        let Some(body) = self.macro_body(body, params.as_deref()) else { return };
        let new = Macro {
            name,
            name_id: None,
            params,
            variadic,
            body: body.into(),
            span: name_tok.span,
            builtin: None,
            n_active: 0,
        };
        if let Some(old) = self.macros.get(&new.name).map(|i| self.macros.at(i)) {
            if old.same_as(&new) {
                return;
            }
            let what = if old.builtin.is_some() { "predefined macro" } else { "macro" };
            let d = Diagnostic::new(
                &codes::MACRO_REDEFINED,
                new.span,
                format!("{what} `{}` redefined", new.name),
            )
            .also(old.span, "first defined here")
            .help(format!("write `#undef {}` first if this is meant", new.name));
            self.report(d);
        }
        self.macros.insert(new);
    }

    /// The parameters after `(`, and whether the last one is variadic.
    fn macro_params(
        &mut self,
        open: Span,
        toks: &mut impl Iterator<Item = Tok>,
    ) -> Option<(Vec<SmolStr>, bool)> {
        let mut params: Vec<SmolStr> = Vec::new();
        let mut names: FxHashSet<SmolStr> = FxHashSet::default();
        let mut variadic = false;
        let mut last = open;
        let mut want_param = true;
        for t in toks {
            last = t.span;
            match t.kind {
                RawKind::Token(TokenKind::RParen) if !want_param || params.is_empty() => {
                    return Some((params, variadic));
                }
                RawKind::Token(TokenKind::Comma) if !want_param && !variadic => want_param = true,
                RawKind::Token(TokenKind::Dots) if want_param => {
                    params.push("__VA_ARGS__".into());
                    (variadic, want_param) = (true, false);
                }
                // `args...` names the variable arguments.
                RawKind::Token(TokenKind::Dots) if !variadic => variadic = true,
                _ => {
                    let name = t.word().map(SmolStr::new).filter(|_| want_param);
                    let Some(name) = name else {
                        let message = format!("unexpected `{}` among macro parameters", t.spelling());
                        self.macro_syntax(t.span, message, "write `#define NAME(a, b) body`");
                        return None;
                    };
                    if !names.insert(name.clone()) {
                        self.macro_syntax(t.span, format!("macro parameter `{name}` appears twice"), "");
                        return None;
                    }
                    params.push(name);
                    want_param = false;
                }
            }
        }
        self.report(
            Diagnostic::new(&codes::MACRO_SYNTAX, last.shrink_to_hi(), "macro parameters without `)`")
                .label("`)` expected")
                .also(open, "opened here"),
        );
        None
    }

    /// Resolves parameters, `#` and `##` of a body.
    fn macro_body(&mut self, toks: Vec<Tok>, params: Option<&[SmolStr]>) -> Option<Vec<BodyTok>> {
        let is_function = params.is_some();
        let params: FxHashMap<&str, usize> =
            params.unwrap_or_default().iter().enumerate().map(|(i, p)| (p.as_str(), i)).collect();
        let find = |t: &Tok| params.get(t.word()?).copied();
        let mut body: Vec<BodyTok> = Vec::with_capacity(toks.len());
        let n = toks.len();
        let mut stringify: Option<Tok> = None;
        for (i, tok) in toks.into_iter().enumerate() {
            let param = find(&tok);
            if let Some(hash) = stringify.take() {
                match param {
                    Some(_) => {
                        let tok = Tok { span: hash.span.to(tok.span), space: hash.space, ..tok };
                        body.push(BodyTok { tok, param, stringify: true, paste: false });
                        continue;
                    }
                    // A `#` without a following parameter is an ordinary token, like in assembler mode of
                    // cpp.
                    None => body.push(BodyTok { tok: hash, param: None, stringify: false, paste: false }),
                }
            }
            match tok.kind {
                RawKind::HashHash => match body.last_mut() {
                    Some(before) if i + 1 < n => before.paste = true,
                    _ => {
                        let place = if body.is_empty() { "beginning" } else { "end" };
                        let message = format!("`##` at the {place} of a macro body");
                        self.macro_syntax(tok.span, message, "`##` joins the tokens on both sides of it");
                        return None;
                    }
                },
                RawKind::Hash if is_function => stringify = Some(tok),
                _ => body.push(BodyTok { tok, param, stringify: false, paste: false }),
            }
        }
        if let Some(tok) = stringify {
            body.push(BodyTok { tok, param: None, stringify: false, paste: false });
        }
        Some(body)
    }
}
