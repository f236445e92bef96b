//! Reads the sections of a description.

use super::fault::Fault;
use super::flow::{
    Atom, Condition, Contents, Effect, Onward, Request, Section, SectionId, SendPort, Step, Term, Verdict,
};
use super::names::{Names, fault_at as fault, word};
use super::read_writes::{WritesText, writes};
use crate::PassKind;
use indexmap::IndexMap;
use serde::Deserialize;
use toml::Spanned;

/// A section as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SectionText {
    name: Spanned<String>,
    writes: Option<WritesText>,
    #[serde(default)]
    paths: IndexMap<PassKind, String>,
    steps: Vec<Spanned<StepText>>,
}

/// A step as it is written: a condition, and one of the effects.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StepText {
    when: Option<Spanned<String>>,
    run: Option<Spanned<String>>,
    digests: Option<Digests>,
    copy: Option<Copy>,
    again: Option<Again>,
    multicast: Option<Multicast>,
    queue: Option<Queue>,
    next: Option<Next>,
    send: Option<Send>,
    drop: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Digests {
    Send,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Copy {
    contents: Contents,
    to: Spanned<String>,
    pass: PassKind,
    session: Option<Spanned<String>>,
    carry: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Again {
    contents: Contents,
    to: Spanned<String>,
    pass: PassKind,
    carry: Option<Spanned<String>>,
    port: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Multicast {
    group: Spanned<String>,
    priority: Spanned<String>,
    to: Spanned<String>,
    contents: Option<Contents>,
    carry: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Queue {
    port: Spanned<String>,
    priority: Spanned<String>,
    to: Spanned<String>,
    contents: Option<Contents>,
    carry: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Next {
    to: Spanned<String>,
    contents: Option<Contents>,
    carry: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Send {
    port: Spanned<String>,
    contents: Contents,
}

/// Reads the sections, which name each other.
pub(super) fn sections(texts: &[SectionText], names: &Names) -> Result<Vec<Section>, Fault> {
    let reader = Reader { texts, names };
    for (i, text) in texts.iter().enumerate() {
        if texts.iter().take(i).any(|other| other.name.get_ref() == text.name.get_ref()) {
            return fault(text.name.span(), format!("there are two sections `{}`", text.name.get_ref()));
        }
    }
    texts.iter().enumerate().map(|(at, text)| reader.section(at, text)).collect()
}

struct Reader<'a> {
    texts: &'a [SectionText],
    names: &'a Names,
}

impl Reader<'_> {
    fn section(&self, at: SectionId, text: &SectionText) -> Result<Section, Fault> {
        let mut steps: Vec<Step> = Vec::new();
        for step in &text.steps {
            if steps.last().is_some_and(always_ends) {
                return fault(step.span(), "no packet comes to this step: the one before it always ends");
            }
            steps.push(self.step(at, step)?);
        }
        if !steps.last().is_some_and(always_ends) {
            let what =
                "its last step must end the way of every packet: queue, next, again, multicast, send or drop";
            return fault(text.name.span(), format!("section `{}`: {what}", text.name.get_ref()));
        }
        Ok(Section {
            name: text.name.get_ref().clone(),
            writes: text.writes.as_ref().map(|text| writes(text, self.names)).transpose()?,
            paths: text.paths.iter().map(|(pass, member)| (*pass, member.clone())).collect(),
            steps,
        })
    }

    /// A step of the section with the index `at`.
    fn step(&self, at: SectionId, text: &Spanned<StepText>) -> Result<Step, Fault> {
        let StepText { when, run, digests, copy, again, multicast, queue, next, send, drop } = text.get_ref();
        if let (Some(when), Some(_)) = (when, run) {
            self.check_condition_of_run(when)?;
        }
        let when = when.as_ref().map_or(Ok(Condition::default()), |when| self.condition(when))?;
        let mut effects = Vec::new();
        if let Some(block) = run {
            effects.push(Effect::Run(self.names.block(block)?));
        }
        if let Some(Digests::Send) = digests {
            effects.push(Effect::SendDigests);
        }
        let carried =
            |name: &Option<Spanned<String>>| name.as_ref().map(|name| self.names.variable(name)).transpose();
        if let Some(Copy { contents, to, pass, session, carry }) = copy {
            if self.texts[self.target(to)?].writes.is_some() {
                bytes_only(*contents, to.span(), "a section with `writes` parses anew")?;
            }
            effects.push(Effect::Copy {
                contents: *contents,
                to: self.target(to)?,
                pass: *pass,
                session: session.as_ref().map(|name| self.names.field(name)).transpose()?,
                carry: carried(carry)?,
            });
        }
        if let Some(Again { contents, to, pass, carry, port }) = again {
            bytes_only(*contents, to.span(), "a packet that begins again is parsed anew")?;
            effects.push(Effect::Again {
                contents: *contents,
                to: self.target(to)?,
                pass: *pass,
                carry: carried(carry)?,
                port: port.as_ref().map(|name| self.names.special_port(name)).transpose()?,
            });
        }
        if let Some(Multicast { group, priority, to, contents, carry }) = multicast {
            let (group, priority) = (self.names.field(group)?, self.names.field(priority)?);
            let onward = self.onward(to, *contents, carried(carry)?)?;
            effects.push(Effect::Multicast { group, priority, onward });
        }
        if let Some(Queue { port, priority, to, contents, carry }) = queue {
            let (port, priority) = (self.names.field(port)?, self.names.field(priority)?);
            let onward = self.onward(to, *contents, carried(carry)?)?;
            effects.push(Effect::Queue { port, priority, onward });
        }
        if let Some(Next { to, contents, carry }) = next {
            let onward = self.onward(to, *contents, carried(carry)?)?;
            if onward.to <= at {
                return fault(to.span(), "packets go on at once in later sections only; `again` leads back");
            }
            effects.push(Effect::Next(onward));
        }
        if let Some(Send { port, contents }) = send {
            effects.push(Effect::Send { port: self.send_port(port)?, contents: *contents });
        }
        if let Some(reason) = drop {
            let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            if reason.get_ref().is_empty() || !reason.get_ref().chars().all(is_name) {
                return fault(reason.span(), "a reason is a name of small letters, digits and `_`");
            }
            effects.push(Effect::Drop(reason.get_ref().clone()));
        }
        match <[Effect; 1]>::try_from(effects) {
            Ok([effect]) => Ok(Step { when, effect }),
            Err(effects) if effects.is_empty() => {
                let known = "run, digests, copy, again, multicast, queue, next, send, drop";
                fault(text.span(), format!("this step has no effect; known are {known}"))
            }
            Err(_) => fault(text.span(), "a step has one effect; write two steps"),
        }
    }

    /// Blocks that not all packets run are known to analyses only where sections begin anew; packets do not wait in blocks of
    /// such architectures.
    fn check_condition_of_run(&self, when: &Spanned<String>) -> Result<(), Fault> {
        let may_be = |term: &Term| matches!(term.atom, Atom::FromHost | Atom::Field(_));
        if !self.condition(when)?.0.iter().all(may_be) {
            return fault(when.span(), "a block runs for all packets, or by `from_host` and fields");
        }
        if self.texts.iter().all(|text| text.writes.is_none()) {
            return fault(when.span(), "a block that only some packets run needs sections with `writes`");
        }
        Ok(())
    }

    fn target(&self, name: &Spanned<String>) -> Result<SectionId, Fault> {
        match self.texts.iter().position(|text| text.name.get_ref() == name.get_ref()) {
            Some(i) => Ok(i),
            None => fault(name.span(), format!("there is no section `{}`", name.get_ref())),
        }
    }

    fn onward(
        &self,
        to: &Spanned<String>,
        contents: Option<Contents>,
        carry: Option<crate::ParamRole>,
    ) -> Result<Onward, Fault> {
        let onward = Onward { to: self.target(to)?, contents: contents.unwrap_or(Contents::Headers), carry };
        // Without new contents the packet goes on as it is.
        let begins_anew = self.texts[onward.to].writes.is_some();
        if onward.contents != Contents::Headers {
            bytes_only(onward.contents, to.span(), "a section with `writes` parses anew")?;
        }
        if begins_anew != (onward.contents != Contents::Headers) {
            let name = to.get_ref();
            return fault(
                to.span(),
                match begins_anew {
                    true => format!("section `{name}` begins anew: say with which `contents`"),
                    false => format!("section `{name}` has no `writes`, so packets come there as they are"),
                },
            );
        }
        Ok(onward)
    }

    fn send_port(&self, port: &Spanned<String>) -> Result<SendPort, Fault> {
        Ok(match port.get_ref().as_str() {
            "arrival" => SendPort::Arrival,
            "queue" => SendPort::Queue,
            name => SendPort::Field(self.names.field_at(name, port.span())?),
        })
    }

    /// `!a && b == drop_port`.
    fn condition(&self, text: &Spanned<String>) -> Result<Condition, Fault> {
        let terms = text.get_ref().split("&&").map(|term| self.term(term.trim(), text.span()));
        Ok(Condition(terms.collect::<Result<_, _>>()?))
    }

    fn term(&self, text: &str, place: std::ops::Range<usize>) -> Result<Term, Fault> {
        let (is_negated, text) =
            text.strip_prefix('!').map_or((false, text), |rest| (true, rest.trim_start()));
        let call = text.strip_suffix(')').and_then(|text| text.split_once('('));
        let atom = match (call, text.split_once("==")) {
            (Some(("requested", name)), _) => Atom::Requested(word::<Request>(name.trim(), place)?),
            (Some(("verdict", name)), _) => Atom::Verdict(word::<Verdict>(name.trim(), place)?),
            (Some((name, _)), _) => return fault(place, format!("`{name}(...)` is no condition")),
            (None, Some((field, value))) => {
                let role = self.names.field_at(field.trim(), place.clone())?;
                match (value.trim(), self.names.special_port_at(value.trim())) {
                    ("drop_port", _) if self.names.has_drop_port => Atom::IsDropPort(role),
                    ("drop_port", _) => return fault(place, "`ports` names no drop port"),
                    (_, Some(number)) => Atom::IsPort(role, number),
                    (_, None) => {
                        let what =
                            "a field can be compared with `drop_port` and ports of `ports.special` only";
                        return fault(place, what);
                    }
                }
            }
            (None, None) if text == "rejected" => Atom::Rejected,
            (None, None) if text == "from_host" => Atom::FromHost,
            (None, None) if text == "accepted" => Atom::Accepted,
            (None, None) => Atom::Field(self.names.field_at(text, place)?),
        };
        Ok(Term { is_negated, atom })
    }
}

/// Fails unless the contents are bytes.
fn bytes_only(contents: Contents, place: std::ops::Range<usize>, why: &str) -> Result<(), Fault> {
    match contents {
        Contents::AsReceived | Contents::Deparsed => Ok(()),
        Contents::ParsedAgain | Contents::Headers => {
            fault(place, format!("{why}: its `contents` are `as_received` or `deparsed`"))
        }
    }
}

fn always_ends(step: &Step) -> bool {
    step.when.0.is_empty() && step.effect.ends()
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::super::show::condition;

    const HEAD: &str = r#"
name = "n"
package = "P"
include = "n.p4"
blocks = [{ role = "parser", parameters = ["packet", "headers", "metadata"] }]
fields.metadata = { to = "egress_port", also = "priority" }
"#;

    /// The message for a description with one section of these steps, and the text at its place.
    fn fault(steps: &str) -> (String, String) {
        let text = format!("{HEAD}[[sections]]\nname = \"all\"\nsteps = [{steps}]\n");
        let fault = read(&text).unwrap_err();
        let place = fault.place.unwrap_or_default();
        (fault.message, text[place].to_string())
    }

    #[test]
    fn wrong_sections_are_errors_with_their_place() {
        for (steps, message, place) in [
            ("{ run = \"ingress\" }", "`blocks` has no block `ingress`", "\"ingress\""),
            ("{}", "this step has no effect", "{}"),
            ("{ run = \"parser\", drop = \"x\" }", "a step has one effect; write two steps", "{ run"),
            ("{ drop = \"No way\" }", "a reason is a name of small letters", "\"No way\""),
            ("{ drop = \"x\" }, { drop = \"y\" }", "no packet comes to this step", "{ drop = \"y\" }"),
            ("{ run = \"parser\" }", "section `all`: its last step must end", "\"all\""),
            (
                "{ queue = { port = \"egress_port\", priority = \"priority\", to = \"egress\" } }",
                "there is no section `egress`",
                "\"egress\"",
            ),
            (
                "{ when = \"egress_spec\", drop = \"x\" }",
                "`fields` has no field with the meaning",
                "\"egress_spec\"",
            ),
            ("{ when = \"rejected\", run = \"parser\" }", "a block runs for all packets, or", "\"rejected\""),
            ("{ when = \"from_host\", run = \"parser\" }", "needs sections with `writes`", "\"from_host\""),
            ("{ when = \"colour\", drop = \"x\" }", "unknown variant `colour`", "\"colour\""),
            ("{ when = \"asked(x)\", drop = \"x\" }", "`asked(...)` is no condition", "\"asked(x)\""),
            ("{ when = \"priority == 3\", drop = \"x\" }", "compared with `drop_port`", "\"priority"),
            (
                "{ when = \"priority == drop_port\", drop = \"x\" }",
                "`ports` names no drop port",
                "\"priority",
            ),
            ("{ next = { to = \"all\" } }", "packets go on at once in later sections only", "\"all\""),
            (
                "{ next = { to = \"all\", contents = \"deparsed\" } }",
                "section `all` has no `writes`, so packets come there as they are",
                "\"all\"",
            ),
            (
                "{ again = { contents = \"headers\", to = \"all\", pass = \"resubmitted\" } }",
                "a packet that begins again is parsed anew",
                "\"all\"",
            ),
            (
                "{ copy = { session = \"colour\", contents = \"headers\", to = \"all\", pass = \"mirrored\" } }",
                "unknown variant `colour`",
                "\"colour\"",
            ),
            (
                "{ again = { contents = \"as_received\", to = \"all\", pass = \"resubmitted\", port = \"x\" } }",
                "`ports.special` has no port `x`",
                "\"x\"",
            ),
            ("{ send = { port = \"nowhere\", contents = \"deparsed\" } }", "unknown variant", "\"nowhere\""),
        ] {
            let found = fault(steps);
            assert!(found.0.contains(message) && found.1.starts_with(place), "{steps}: {found:?}");
        }
    }

    #[test]
    fn conditions_are_printed_as_they_are_written() {
        let when = "!requested(clone) && verdict(drop) && priority && rejected && !accepted && !from_host";
        let steps = format!("{{ when = \"{when}\", drop = \"x\" }}, {{ drop = \"y\" }}");
        let text = format!("{HEAD}[[sections]]\nname = \"all\"\nsteps = [{steps}]\n");
        let description = read(&text).unwrap();
        let model = description.pipeline.unwrap();
        assert_eq!(condition(&model, &model.sections[0].steps[0].when), when);
    }
}
