//! From text to commands.

mod address;
mod bmv2;
mod data;
mod line;
mod names;
mod number;

use crate::keywords::{KEYWORDS, Keyword};
use crate::limits::N_FAULTS_MAX;
use crate::script::*;
use crate::{Script, codes};
use diagnostics::{Diagnostic, Diagnostics, FileId, SourceMap, Span, suggest};
use line::{Line, Result, Token, shorten};
use rustc_hash::FxHashMap;

pub use bmv2::{is_bmv2_command, parse_bmv2};
pub use number::parse_value;

/// A script, its text for showing messages, and the messages.
#[derive(Debug)]
pub struct Parsed {
    pub script: Script,
    pub sources: SourceMap,
    pub diagnostics: Diagnostics,
}

/// Understands a script. Lines that cannot be understood are left out and reported.
pub fn parse(file_name: &str, text: &str) -> Parsed {
    parse_form(file_name, text, Form::Script)
}

/// Understands commands that may be short ([`Form::Short`]), such as those of `siding ctl`.
pub fn parse_short(file_name: &str, text: &str) -> Parsed {
    parse_form(file_name, text, Form::Short)
}

fn parse_form(file_name: &str, text: &str, form: Form) -> Parsed {
    let mut handles = FxHashMap::default();
    parse_lines(file_name, text, &mut |line, base| one_line(line, base, form, &mut handles))
}

/// Understands a script among other files.
pub fn parse_file(sources: &SourceMap, file: FileId) -> (Script, Diagnostics) {
    let mut handles = FxHashMap::default();
    lines(sources, file, &mut |line, base| one_line(line, base, Form::Script, &mut handles))
}

/// Reads one line, which begins at a global position: the commands that it stands for.
type ReadLine<'r> = dyn FnMut(&str, u32) -> Result<Vec<Command>> + 'r;

fn parse_lines(file_name: &str, text: &str, read: &mut ReadLine<'_>) -> Parsed {
    let mut sources = SourceMap::new();
    let (script, diagnostics) = match sources.add_file(file_name, text, None, false) {
        Some(file) => lines(&sources, file, read),
        None => {
            let mut diagnostics = Diagnostics::new();
            let message = format!("{file_name} is too large");
            diagnostics.push(Diagnostic::new(&codes::TOO_MUCH, Span::NONE, message));
            (Script::default(), diagnostics)
        }
    };
    Parsed { script, sources, diagnostics }
}

fn lines(sources: &SourceMap, file: FileId, read: &mut ReadLine<'_>) -> (Script, Diagnostics) {
    let file = sources.file(file);
    let (mut script, mut diagnostics) = (Script::default(), Diagnostics::new());
    let mut base = file.start;
    for text in file.text.split('\n') {
        match read(text, base) {
            Ok(commands) => script.commands.extend(commands),
            Err(diagnostic) => diagnostics.push(*diagnostic),
        }
        if diagnostics.n_errors() >= N_FAULTS_MAX {
            let message = format!("more than {N_FAULTS_MAX} faults; the rest of the script is not read");
            diagnostics.push(Diagnostic::new(&codes::TOO_MUCH, Span::new(base, base), message));
            break;
        }
        base += text.len() as u32 + 1;
    }
    (script, diagnostics)
}

fn one_line(
    text: &str,
    base: u32,
    form: Form,
    handles: &mut FxHashMap<String, Span>,
) -> Result<Vec<Command>> {
    let mut line = Line::new(text, base, form);
    let lo = line.start();
    let kind = command(&mut line, handles)?;
    Ok(kind.map(|kind| Command { span: line.span_from(lo), kind }).into_iter().collect())
}

/// Reads a line; `None` when there is nothing in it.
fn command(line: &mut Line<'_>, handles: &mut FxHashMap<String, Span>) -> Result<Option<CommandKind>> {
    let word = match line.peek()? {
        Token::End => return Ok(None),
        Token::Word(word) => word,
        _ => {
            return line.unexpected("a command").map_err(|mut diagnostic| {
                diagnostic.code = &codes::UNKNOWN_COMMAND;
                Box::new(
                    (*diagnostic).note("a line begins with a command, such as `packet`, `expect` or `add`"),
                )
            });
        }
    };
    let (_, span) = line.next()?;
    let is_delete = line.form() == Form::Short && word.eq_ignore_ascii_case("delete");
    let Some(keyword) = Keyword::find(if is_delete { "remove" } else { word }) else {
        let message = format!("unknown command `{}`", shorten(word));
        let diagnostic = Diagnostic::new(&codes::UNKNOWN_COMMAND, span, message).label("no command");
        let words = KEYWORDS.iter().map(|(word, ..)| *word);
        return Err(Box::new(match suggest::nearest_word(word, words) {
            Some(meant) => diagnostic.fix(format!("did you mean `{meant}`?"), span, meant),
            None => diagnostic.note("a line begins with a command, such as `packet`, `expect` or `add`"),
        }));
    };
    let kind = arguments(line, keyword, handles).and_then(|kind| line.expect_end().map(|()| kind)).map_err(
        |diagnostic| Box::new((*diagnostic).help(format!("write: {}", usage(keyword, line.form())))),
    )?;
    Ok(Some(kind))
}

/// How to write a command.
fn usage(keyword: Keyword, form: Form) -> String {
    match form {
        Form::Script => keyword.usage(),
        Form::Short => {
            keyword.usage().replace("KEY:VALUE", "[KEY:]VALUE").replace("NAME:VALUE", "[NAME:]VALUE")
        }
    }
}

/// Reads the rest of the line after the command's word.
fn arguments(
    line: &mut Line<'_>,
    keyword: Keyword,
    handles: &mut FxHashMap<String, Span>,
) -> Result<CommandKind> {
    Ok(match keyword {
        Keyword::Packet => {
            let port = line.port()?;
            let (data, data_span) = line.packet_data()?;
            CommandKind::Packet { port, data, data_span }
        }
        Keyword::Expect => CommandKind::Expect(line.expectation()?),
        Keyword::NoPacket => {
            let port = if line.peek()? == Token::End { None } else { Some(line.port()?) };
            CommandKind::NoPacket { port }
        }
        Keyword::Wait => CommandKind::Wait,
        Keyword::Port => {
            let port = line.port()?;
            let side = line.name("the side of the port: `host` or `network`")?;
            let is_host = match side.text.as_str() {
                "host" => true,
                "network" | "net" => false,
                _ => {
                    let message = "a port is at the side of the `host` or of the `network`";
                    return Err(Box::new(Diagnostic::new(&codes::UNEXPECTED, side.span, message)));
                }
            };
            CommandKind::Port { port, is_host }
        }
        Keyword::CheckTable => {
            let table = line.name("a table")?;
            let word = line.name("what to compare")?;
            let known = TableCount::ALL.iter().find(|(name, _)| word.text.eq_ignore_ascii_case(name));
            let Some((_, count)) = known else {
                let names = TableCount::ALL.map(|(name, _)| format!("`{name}`")).join(", ");
                let message = format!("`{}` is no number of entries", word.text);
                return Err(Box::new(
                    Diagnostic::new(&codes::UNEXPECTED, word.span, message)
                        .note(format!("known are {names}")),
                ));
            };
            let comparison = line.comparison()?;
            CommandKind::CheckTable {
                table,
                count: *count,
                comparison,
                value: line.exact_number("a number")?,
            }
        }
        Keyword::TimeoutWrite => CommandKind::TimeoutWrite {
            table: line.name("a table")?,
            profile: line.exact_number("the number of a profile")?,
            timeout_ns: line.duration_ns()?,
        },
        Keyword::Clock => CommandKind::Clock { duration_ns: line.duration_ns()? },

        Keyword::Add => {
            let table = line.name("a table")?;
            let key = line.key()?;
            let target = line.target()?;
            let handle = if line.eat("=")? { Some(new_handle(line, handles)?) } else { None };
            CommandKind::Add { table, key, target, handle }
        }
        Keyword::Modify | Keyword::ModifyKeepState => {
            let table = line.name("a table")?;
            let entry = line.entry_ref()?;
            let keeps_state = keyword == Keyword::ModifyKeepState;
            CommandKind::Modify { table, entry, target: line.target()?, keeps_state }
        }
        Keyword::Remove => {
            let is_all = matches!(line.peek()?, Token::Word(word) if word.eq_ignore_ascii_case("all"));
            if is_all && line.peek_second()? == Token::End {
                line.next()?;
                CommandKind::RemoveAll
            } else {
                CommandKind::Remove { table: line.name("`all` or a table")?, entry: line.entry_ref()? }
            }
        }
        Keyword::SetDefault => {
            CommandKind::SetDefault { table: line.name("a table")?, target: line.target()? }
        }
        Keyword::ResetDefault => CommandKind::ResetDefault { table: line.name("a table")? },

        Keyword::MemberAdd => {
            let (profile, member) = line.profile_and_number("the number of a member")?;
            CommandKind::MemberAdd { profile, member, action: line.action_call()? }
        }
        Keyword::MemberModify => {
            let (profile, member) = line.profile_and_number("the number of a member")?;
            CommandKind::MemberModify { profile, member, action: line.action_call()? }
        }
        Keyword::MemberRemove => {
            let (profile, member) = line.profile_and_number("the number of a member")?;
            CommandKind::MemberRemove { profile, member }
        }
        Keyword::GroupAdd => {
            let (profile, group) = line.profile_and_number("the number of a group")?;
            CommandKind::GroupAdd { profile, group, members: line.members()? }
        }
        Keyword::GroupModify => {
            let (profile, group) = line.profile_and_number("the number of a group")?;
            CommandKind::GroupModify { profile, group, members: line.members()? }
        }
        Keyword::GroupRemove => {
            let (profile, group) = line.profile_and_number("the number of a group")?;
            CommandKind::GroupRemove { profile, group }
        }

        Keyword::ValueSetAdd => {
            CommandKind::ValueSetAdd { value_set: line.name("a value set")?, matches: line.matches()? }
        }
        Keyword::ValueSetRemove => {
            CommandKind::ValueSetRemove { value_set: line.name("a value set")?, matches: line.matches()? }
        }
        Keyword::ValueSetClear => CommandKind::ValueSetClear { value_set: line.name("a value set")? },
        Keyword::ExpectDigest => {
            CommandKind::ExpectDigest { digest: line.name("a digest")?, values: line.matches()? }
        }

        Keyword::CheckCounter => {
            let counter = line.name("a counter")?;
            line.expect_sign("(")?;
            let cell = line.cell()?;
            line.expect_sign(")")?;
            CommandKind::CheckCounter { counter, cell, check: line.counter_check()? }
        }
        Keyword::CheckMeter => {
            let meter = line.name("a meter")?;
            line.expect_sign("(")?;
            let cell = line.cell()?;
            line.expect_sign(")")?;
            CommandKind::CheckMeter { meter, cell, check: line.colour_check()? }
        }
        Keyword::CounterRead => CommandKind::CounterRead {
            counter: line.name("a counter")?,
            cell: line.cell()?,
            check: line.counter_check()?,
        },
        Keyword::CounterWrite => CommandKind::CounterWrite {
            counter: line.name("a counter")?,
            index: line.exact_number("an index")?,
            n_packets: line.exact_number("a number of packets")?,
            n_bytes: line.exact_number("a number of bytes")?,
        },
        Keyword::RegisterRead => {
            let register = line.name("a register")?;
            let index = line.exact_number("an index")?;
            let check = match line.peek()? {
                Token::End => None,
                _ => Some((line.comparison()?, line.exact_number("a value")?)),
            };
            CommandKind::RegisterRead { register, index, check }
        }
        Keyword::RegisterWrite => CommandKind::RegisterWrite {
            register: line.name("a register")?,
            index: line.exact_number("an index")?,
            value: line.exact_number("a value")?,
        },
        Keyword::RegisterReset => CommandKind::RegisterReset { register: line.name("a register")? },
        Keyword::MeterGetRates => {
            CommandKind::MeterGetRates { meter: line.name("a meter")?, index: line.exact_number("an index")? }
        }
        Keyword::MeterSetRates => CommandKind::MeterSetRates {
            meter: line.name("a meter")?,
            index: line.exact_number("an index")?,
            rates: line.rates()?,
        },
        Keyword::MeterArraySetRates => {
            CommandKind::MeterArraySetRates { meter: line.name("a meter")?, rates: line.rates()? }
        }

        Keyword::MirroringAdd => CommandKind::MirroringAdd {
            session: line.small_number("a session")?,
            port: line.small_number("a port")?,
        },
        Keyword::MirroringAddMc => CommandKind::MirroringAddMc {
            session: line.small_number("a session")?,
            group: line.small_number("a multicast group")?,
        },
        Keyword::MirroringDelete => CommandKind::MirroringDelete { session: line.small_number("a session")? },
        Keyword::MirroringGet => CommandKind::MirroringGet { session: line.small_number("a session")? },
        Keyword::McMgrpCreate => CommandKind::McMgrpCreate { group: line.small_number("a multicast group")? },
        Keyword::McNodeCreate => CommandKind::McNodeCreate {
            instance: line.small_number("an instance (the `egress_rid` of the copies)")?,
            ports: line.ports()?,
        },
        Keyword::McNodeUpdate => {
            CommandKind::McNodeUpdate { node: line.small_number("a node")?, ports: line.ports()? }
        }
        Keyword::McNodeAssociate => CommandKind::McNodeAssociate {
            group: line.small_number("a multicast group")?,
            node: line.small_number("a node")?,
        },
        Keyword::McNodeDissociate => CommandKind::McNodeDissociate {
            group: line.small_number("a multicast group")?,
            node: line.small_number("a node")?,
        },
        Keyword::McNodeDestroy => CommandKind::McNodeDestroy { node: line.small_number("a node")? },
        Keyword::McMgrpDestroy => {
            CommandKind::McMgrpDestroy { group: line.small_number("a multicast group")? }
        }
    })
}

/// The name that an entry gets. Entries and names are one to one.
fn new_handle(line: &mut Line<'_>, handles: &mut FxHashMap<String, Span>) -> Result<Name> {
    let name = match line.peek()? {
        Token::Word(_) => {
            let (token, span) = line.next()?;
            match token {
                Token::Word(text) => Name { text: text.to_string(), span },
                _ => return line.unexpected("a name for the entry"),
            }
        }
        _ => return line.unexpected("a name for the entry"),
    };
    if let Some(first) = handles.get(&name.text) {
        let message = format!("the handle `{}` is given twice", name.text);
        let diagnostic = Diagnostic::new(&codes::REPEATED, name.span, message)
            .label("given again")
            .also(*first, "given first");
        return Err(Box::new(diagnostic));
    }
    handles.insert(name.text.clone(), name.span);
    Ok(name)
}

impl Line<'_> {
    fn profile_and_number(&mut self, what: &str) -> Result<(Name, Number)> {
        Ok((self.name("an action profile or action selector")?, self.small_number(what)?))
    }

    fn members(&mut self) -> Result<Vec<Weighted<Number>>> {
        let mut members = Vec::new();
        while self.peek()? != Token::End {
            let item = self.small_number("the number of a member")?;
            members.push(Weighted { item, weight: self.weight()? });
        }
        Ok(members)
    }

    fn ports(&mut self) -> Result<Vec<Number>> {
        let mut ports = vec![self.small_number("a port")?];
        while self.peek()? != Token::End {
            ports.push(self.small_number("a port")?);
        }
        Ok(ports)
    }

    fn rates(&mut self) -> Result<Vec<Rate>> {
        let mut rates = vec![self.rate()?];
        while self.peek()? != Token::End {
            rates.push(self.rate()?);
        }
        Ok(rates)
    }

    fn cell(&mut self) -> Result<Cell> {
        match self.peek()? {
            Token::Number(_) => Ok(Cell::Index(self.exact_number("an index")?)),
            Token::Word("default") => Ok(Cell::Default(self.next()?.1)),
            Token::Word(word) => {
                let (_, span) = self.next()?;
                let text = word.strip_prefix('$').unwrap_or(word).to_string();
                Ok(Cell::Entry(Name { text, span }))
            }
            _ => self.unexpected("an index or the handle of an entry"),
        }
    }

    fn counter_check(&mut self) -> Result<Option<CounterCheck>> {
        let unit = match self.peek()? {
            Token::End => return Ok(None),
            Token::Word(word) if word.eq_ignore_ascii_case("bytes") => CounterUnit::Bytes,
            Token::Word(word) if word.eq_ignore_ascii_case("packets") => CounterUnit::Packets,
            _ => return self.unexpected("`packets` or `bytes`"),
        };
        self.next()?;
        let comparison = self.comparison()?;
        Ok(Some(CounterCheck { unit, comparison, value: self.exact_number("a number")? }))
    }

    fn colour_check(&mut self) -> Result<Option<(Colour, CounterCheck)>> {
        let colour = match self.peek()? {
            Token::End => return Ok(None),
            Token::Word(word) if word.eq_ignore_ascii_case("green") => Colour::Green,
            Token::Word(word) if word.eq_ignore_ascii_case("yellow") => Colour::Yellow,
            Token::Word(word) if word.eq_ignore_ascii_case("red") => Colour::Red,
            _ => return self.unexpected("`green`, `yellow` or `red`"),
        };
        self.next()?;
        match self.counter_check()? {
            Some(check) => Ok(Some((colour, check))),
            None => self.unexpected("`packets` or `bytes`"),
        }
    }

    fn comparison(&mut self) -> Result<Comparison> {
        let comparison = match self.peek()? {
            Token::Sign("==") => Comparison::Equal,
            Token::Sign("!=") => Comparison::NotEqual,
            Token::Sign("<") => Comparison::Less,
            Token::Sign("<=") => Comparison::LessOrEqual,
            Token::Sign(">") => Comparison::Greater,
            Token::Sign(">=") => Comparison::GreaterOrEqual,
            _ => return self.unexpected("`==`, `!=`, `<`, `<=`, `>` or `>=`"),
        };
        self.next()?;
        Ok(comparison)
    }
}
