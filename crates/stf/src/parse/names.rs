//! Names, keys, actions.

use super::line::{Line, Result, Token};
use crate::codes;
use crate::script::*;
use diagnostics::{Diagnostic, Span};

impl Line<'_> {
    /// `a.b[2].c`, each part quoted or not. `what` is for messages.
    pub(super) fn name(&mut self, what: &str) -> Result<Name> {
        let lo = self.start();
        let mut text = String::new();
        loop {
            match self.peek()? {
                Token::Word(part) | Token::Quoted(part) if !part.is_empty() => text.push_str(part),
                _ if text.is_empty() => return self.unexpected(what),
                _ => return self.unexpected("a name after `.`"),
            }
            self.next()?;
            if self.eat("[")? {
                let index = self.small_number("an index")?;
                self.expect_sign("]")?;
                text.push_str(&format!("[{}]", index.value));
            }
            if !self.eat(".")? {
                return Ok(Name { text, span: self.span_from(lo) });
            }
            text.push('.');
        }
    }

    /// `$A`: an entry that got a name when it was added.
    pub(super) fn handle(&mut self) -> Result<Option<Name>> {
        let Token::Word(text) = self.peek()? else {
            return Ok(None);
        };
        // A name may contain `$`, and be the beginning of a longer one.
        let is_name = matches!(self.peek_second()?, Token::Sign(":" | "." | "[" | "("));
        match text.strip_prefix('$') {
            Some(handle) if !handle.is_empty() && !is_name => {
                let (_, span) = self.next()?;
                Ok(Some(Name { text: handle.to_string(), span }))
            }
            _ => Ok(None),
        }
    }

    pub(super) fn match_value(&mut self) -> Result<MatchValue> {
        match self.peek()? {
            Token::Word("_") => return Ok(MatchValue::Any(self.next()?.1)),
            Token::Quoted(text) => {
                let text = text.to_string();
                let (_, span) = self.next()?;
                return Ok(MatchValue::Text(Name { text, span }));
            }
            Token::Word(_) if !self.is_address() => {
                if let Some(diagnostic) = self.mistyped_address() {
                    return Err(diagnostic);
                }
                return Ok(MatchValue::Constant(self.name("a value")?));
            }
            _ => {}
        }
        let value = self.number("a value")?;
        Ok(if self.eat("/")? {
            MatchValue::Prefix { value, prefix_len: self.small_number("a prefix length")? }
        } else if self.eat("&&&")? {
            let mask = self.exact_number("a mask")?;
            MatchValue::Mask { value: no_wildcards(value, "a value with a mask")?, mask }
        } else if self.eat("..")? {
            let high = self.exact_number("the end of a range")?;
            MatchValue::Range { low: no_wildcards(value, "the start of a range")?, high }
        } else {
            MatchValue::Number(value)
        })
    }

    /// `name:value` when that is next; what follows a name tells.
    fn try_match(&mut self) -> Result<Option<Match>> {
        let mut ahead = self.clone();
        let lo = ahead.start();
        let mut name = match ahead.peek()? {
            // The field of a value set has no name if the set is one of numbers.
            Token::Quoted("") => Name { text: String::new(), span: ahead.next()?.1 },
            _ => ahead.name("the name of a key")?,
        };
        // A key is often `hdr.isValid()`.
        let mut parens = ahead.clone();
        if parens.eat("(")? && parens.eat(")")? && parens.peek()? == Token::Sign(":") {
            ahead = parens;
            name = Name { text: name.text + "()", span: ahead.span_from(lo) };
        }
        if !ahead.eat(":")? {
            return Ok(None);
        }
        let value = ahead.match_value()?;
        let span = ahead.span_from(lo);
        *self = ahead;
        Ok(Some(Match { name, value, span }))
    }

    /// `name:value` as long as there are any.
    pub(super) fn matches(&mut self) -> Result<Vec<Match>> {
        let mut matches: Vec<Match> = Vec::new();
        while matches!(self.peek()?, Token::Word(_) | Token::Quoted(_)) {
            let Some(found) = self.try_match()? else {
                break;
            };
            if let Some(first) = matches.iter().find(|m| m.name.text == found.name.text) {
                return repeated("key", &found.name, first.name.span);
            }
            matches.push(found);
        }
        Ok(matches)
    }

    /// Values with and without names, in any order, as long as there are any.
    fn short_key(&mut self) -> Result<Key> {
        let mut key = Key { priority: None, matches: Vec::new(), in_order: Vec::new() };
        loop {
            if self.is_unnamed()? {
                let value = self.match_value()?;
                key.in_order.push(value);
                continue;
            }
            let n_before = key.matches.len();
            if matches!(self.peek()?, Token::Word(_) | Token::Quoted(_)) {
                key.matches.extend(self.try_match()?);
            }
            if key.matches.len() == n_before {
                return Ok(key);
            }
        }
    }

    /// True before a value of the short form that has no name.
    fn is_unnamed(&mut self) -> Result<bool> {
        if self.form() == Form::Script {
            return Ok(false);
        }
        Ok(self.is_address()
            || match self.peek()? {
                Token::Number(_) => true,
                Token::Word("_") | Token::Quoted(_) => {
                    !matches!(self.peek_second()?, Token::Sign(":" | "." | "[" | "("))
                }
                Token::Word(_) | Token::Sign(_) | Token::Other(_) | Token::End => false,
            })
    }

    /// `[priority] name:value...`
    pub(super) fn key(&mut self) -> Result<Key> {
        if self.form() == Form::Short {
            return self.short_key();
        }
        let priority = match self.peek()? {
            _ if self.is_address() => {
                return self.unexpected("the name of a key").map_err(|diagnostic| {
                    Box::new((*diagnostic).note("keys have names in scripts: `hdr.ipv4.dst:10.0.0.0/8`"))
                });
            }
            Token::Number(_) => Some(self.small_number("a priority")?),
            _ => None,
        };
        Ok(Key { priority, matches: self.matches()?, in_order: Vec::new() })
    }

    /// `$A` or a key.
    pub(super) fn entry_ref(&mut self) -> Result<EntryRef> {
        match self.handle()? {
            Some(handle) => Ok(EntryRef::Handle(handle)),
            None => Ok(EntryRef::Key(self.key()?)),
        }
    }

    /// An action, a member, a group, or actions with weights.
    pub(super) fn target(&mut self) -> Result<Target> {
        let is_name = matches!(self.peek_second()?, Token::Sign("." | "[" | "("));
        let word = match self.peek()? {
            Token::Word(word) if !is_name => word,
            _ => "",
        };
        match word {
            "member" => {
                self.next()?;
                Ok(Target::Member(self.small_number("the number of a member")?))
            }
            "group" => {
                self.next()?;
                Ok(Target::Group(self.small_number("the number of a group")?))
            }
            "oneshot" => {
                self.next()?;
                let mut actions = Vec::new();
                loop {
                    let item = self.action_call()?;
                    actions.push(Weighted { item, weight: self.weight()? });
                    if matches!(self.peek()?, Token::End | Token::Sign("=")) {
                        return Ok(Target::OneShot(actions));
                    }
                }
            }
            _ => match self.peek()? {
                Token::Word(_) | Token::Quoted(_) => Ok(Target::Action(self.action_call()?)),
                Token::End if self.form() == Form::Short => Ok(Target::Missing(self.end_of_last())),
                _ => self.unexpected("a key or an action"),
            },
        }
    }

    /// `:weight` if there is one.
    pub(super) fn weight(&mut self) -> Result<Option<Number>> {
        Ok(if self.eat(":")? { Some(self.small_number("a weight")?) } else { None })
    }

    pub(super) fn action_call(&mut self) -> Result<ActionCall> {
        let lo = self.start();
        let name = self.name("an action")?;
        if !self.eat("(")? {
            return match self.peek()? {
                Token::End | Token::Sign("=") if self.form() == Form::Short => {
                    let span = name.span;
                    Ok(ActionCall { name, arguments: Vec::new(), in_order: Vec::new(), span })
                }
                // Behind keys, it may have been meant as one.
                Token::Sign(_) => self.unexpected("`(` after the name of an action"),
                next => {
                    let end = name.span.shrink_to_hi();
                    let message = format!("expected `(` or `:` after `{}`", name.text);
                    let diagnostic = Diagnostic::new(&codes::UNEXPECTED, name.span, message)
                        .label("an action needs `(...)`, a key needs `:value`");
                    Err(Box::new(match next {
                        Token::Word(_) | Token::Number(_) | Token::Quoted(_) => {
                            let usage = format!("{}(ARGUMENT, ...)", name.text);
                            let quotes = match self.form() {
                                Form::Short => format!("; in a shell, in quotes: '{usage}'"),
                                _ => String::new(),
                            };
                            diagnostic.help(format!("arguments stand in parentheses: {usage}{quotes}"))
                        }
                        Token::Other(operator) => diagnostic.help(format!(
                            "a key that is an expression stands in quotes, as in the P4Info: \"{} {operator} ...\":VALUE",
                            name.text
                        )),
                        _ => diagnostic.fix("an action without arguments", end, "()"),
                    }))
                }
            };
        }
        let mut arguments: Vec<Argument> = Vec::new();
        let mut in_order = Vec::new();
        if !self.eat(")")? {
            loop {
                if self.is_unnamed()? || self.is_constant()? {
                    in_order.push(self.argument_value()?);
                } else {
                    let argument = self.argument()?;
                    if let Some(first) = arguments.iter().find(|a| a.name.text == argument.name.text) {
                        return repeated("argument", &argument.name, first.name.span);
                    }
                    arguments.push(argument);
                }
                if self.eat(")")? {
                    break;
                }
                if matches!(self.peek()?, Token::Word(_)) {
                    let before = self.end_of_last();
                    return self.unexpected("`,` or `)`").map_err(|diagnostic| {
                        Box::new((*diagnostic).fix("separate arguments by commas", before, ","))
                    });
                }
                if !self.eat(",")? {
                    return self.unexpected("`,` or `)`");
                }
            }
        }
        Ok(ActionCall { name, arguments, in_order, span: self.span_from(lo) })
    }

    /// True before a constant as an argument of the short form.
    fn is_constant(&mut self) -> Result<bool> {
        if self.form() == Form::Script || !matches!(self.peek()?, Token::Word(_)) {
            return Ok(false);
        }
        let mut ahead = self.clone();
        Ok(ahead.name("a constant").is_ok() && matches!(ahead.peek()?, Token::Sign("," | ")")))
    }

    fn argument(&mut self) -> Result<Argument> {
        if matches!(self.peek()?, Token::Number(_)) {
            return self.unexpected("the name of an argument").map_err(|diagnostic| {
                Box::new((*diagnostic).note("arguments have names: `set_port(port:2)`"))
            });
        }
        let name = self.name("the name of an argument")?;
        self.expect_sign(":")?;
        Ok(Argument { name, value: self.argument_value()? })
    }

    fn argument_value(&mut self) -> Result<ArgumentValue> {
        Ok(match self.peek()? {
            Token::Quoted(text) => {
                let text = text.to_string();
                let (_, span) = self.next()?;
                ArgumentValue::Text(Name { text, span })
            }
            Token::Word(_) if !self.is_address() => {
                if let Some(diagnostic) = self.mistyped_address() {
                    return Err(diagnostic);
                }
                ArgumentValue::Constant(self.name("the value of an argument")?)
            }
            _ => ArgumentValue::Number(self.exact_number("the value of an argument")?),
        })
    }
}

fn no_wildcards(number: Number, what: &str) -> Result<Number> {
    if !number.has_wildcards() {
        return Ok(number);
    }
    let message = format!("{what} cannot have wildcards");
    let diagnostic = Diagnostic::new(&codes::WILDCARD, number.span, message).label("has a `*`");
    Err(Box::new(diagnostic))
}

/// The error for a name that is given for the second time.
fn repeated<T>(what: &str, name: &Name, first: Span) -> Result<T> {
    let message = format!("the {what} `{}` is given twice", name.text);
    let diagnostic =
        Diagnostic::new(&codes::REPEATED, name.span, message).label("given again").also(first, "given first");
    Err(Box::new(diagnostic))
}
