//! Reads how extern functions decide, and the conditions that they compute.

use super::fault::Fault;
use super::names::{Names, fault_at};
use crate::{
    Answer, AssignedValue, Assignment, CallArgument, Decision, ExternCall, FieldRole, PredicateTerm,
};
use indexmap::IndexMap;
use serde::Deserialize;
use toml::Spanned;

/// An assignment as it is written: `{ to = "mirror_0", value = "argument 1", when = "argument 0 == 0" }`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AssignmentText {
    to: Spanned<String>,
    value: Spanned<AssignedText>,
    when: Option<Spanned<String>>,
}

/// A call of an extern function as it is written: `{ function = "f", arguments = [...], failed = "...", done = "..." }`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CallText {
    function: String,
    arguments: Vec<ArgumentText>,
    failed: Spanned<String>,
    done: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ArgumentText {
    width_bits: Spanned<u32>,
    fields: Vec<Spanned<String>>,
}

/// An answer as it is written: `{ result = "...", arguments = ["..."] }`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AnswerText {
    result: Spanned<String>,
    #[serde(default)]
    arguments: Vec<Spanned<String>>,
}

/// Reads the call of an accelerator.
pub(super) fn call(text: &CallText, names: &Names) -> Result<ExternCall, Fault> {
    let mut arguments = Vec::new();
    for argument in &text.arguments {
        if !(1..=u64::BITS).contains(argument.width_bits.get_ref()) {
            return fault_at(argument.width_bits.span(), "an argument has 1 to 64 bits");
        }
        arguments.push(CallArgument {
            width_bits: *argument.width_bits.get_ref(),
            fields: fields(&argument.fields, names)?,
        });
    }
    let (failed, done) = (names.field(&text.failed)?, names.field(&text.done)?);
    Ok(ExternCall { function: text.function.clone(), arguments, failed, done })
}

/// Reads what methods answer.
pub(super) fn answers(
    texts: &IndexMap<Spanned<String>, AnswerText>,
    names: &Names,
) -> Result<Vec<(String, Answer)>, Fault> {
    let answer = |text: &AnswerText| {
        Ok(Answer { result: names.field(&text.result)?, arguments: fields(&text.arguments, names)? })
    };
    texts.iter().map(|(method, text)| Ok((method.get_ref().clone(), answer(text)?))).collect()
}

fn fields(texts: &[Spanned<String>], names: &Names) -> Result<Vec<FieldRole>, Fault> {
    texts.iter().map(|text| names.field(text)).collect()
}

#[derive(Deserialize)]
#[serde(untagged)]
enum AssignedText {
    Flag(bool),
    Number(u64),
    Word(String),
}

/// A number that an argument cannot be, as it is written: `{ value = "argument 1", number = 0 }`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReservedText {
    value: Spanned<String>,
    number: u64,
}

/// The numbers that arguments of a function cannot be, by the argument's position.
type Reserved = Vec<(usize, u64)>;

/// Reads the numbers that are reserved.
pub(super) fn reserved(
    texts: &IndexMap<Spanned<String>, Vec<ReservedText>>,
) -> Result<Vec<(String, Reserved)>, Fault> {
    let one = |text: &ReservedText| match argument(text.value.get_ref()) {
        Some(position) => Ok((position, text.number)),
        None => fault_at(text.value.span(), "a value here is `argument N`"),
    };
    let of_function = |(function, texts): (&Spanned<String>, &Vec<ReservedText>)| {
        Ok((function.get_ref().clone(), texts.iter().map(one).collect::<Result<_, _>>()?))
    };
    texts.iter().map(of_function).collect()
}

/// Reads the assignments of extern functions.
pub(super) fn assignments(
    texts: &IndexMap<Spanned<String>, Vec<Spanned<AssignmentText>>>,
    decisions: &[Decision],
    names: &Names,
) -> Result<Vec<(String, Vec<Assignment>)>, Fault> {
    let mut all = Vec::new();
    for (function, texts) in texts {
        let mut of_function = Vec::new();
        for text in texts {
            let AssignmentText { to, value, when } = text.get_ref();
            let field = names.field(to)?;
            let assigned = match value.get_ref() {
                AssignedText::Flag(is_set) => AssignedValue::Number(u64::from(*is_set)),
                AssignedText::Number(number) => AssignedValue::Number(*number),
                AssignedText::Word(word) => match argument(word) {
                    Some(position) => AssignedValue::Argument(position),
                    None => return fault_at(value.span(), "a value is a number or `argument N`"),
                },
            };
            let width = decisions.iter().find(|d| d.field == field).map_or(u64::BITS, |d| d.width_bits);
            if let AssignedValue::Number(number) = assigned
                && number > u64::MAX >> (u64::BITS - width)
            {
                let message =
                    format!("`{}` assigns {number} to a decision of {width} bits", function.get_ref());
                return fault_at(value.span(), message);
            }
            let when = match when {
                None => None,
                Some(text) => {
                    let sides = text.get_ref().split_once("==");
                    let read = sides.and_then(|(argument_text, number)| {
                        Some((argument(argument_text.trim())?, number.trim().parse().ok()?))
                    });
                    match read {
                        Some(when) => Some(when),
                        None => return fault_at(text.span(), "a condition here is `argument N == NUMBER`"),
                    }
                }
            };
            of_function.push(Assignment { field, value: assigned, when });
        }
        all.push((function.get_ref().clone(), of_function));
    }
    Ok(all)
}

/// The position in `argument N`.
fn argument(text: &str) -> Option<usize> {
    text.strip_prefix("argument ")?.trim().parse().ok()
}

/// Reads the conditions that extern functions compute: `!drop && egress_port == recirculate`.
pub(super) fn predicates(
    texts: &IndexMap<Spanned<String>, Spanned<String>>,
    names: &Names,
) -> Result<Vec<(String, Vec<PredicateTerm>)>, Fault> {
    let mut all = Vec::new();
    for (function, text) in texts {
        let mut terms = Vec::new();
        for term in text.get_ref().split("&&").map(str::trim) {
            let (is_negated, term) =
                term.strip_prefix('!').map_or((false, term), |rest| (true, rest.trim_start()));
            let (field, number) = match term.split_once("==") {
                None => (term, None),
                Some((field, port)) => match names.special_port_at(port.trim()) {
                    Some(number) => (field.trim(), Some(number)),
                    None => {
                        return fault_at(text.span(), "a field is compared with a port of `ports.special`");
                    }
                },
            };
            if field.is_empty() || !field.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
                return fault_at(text.span(), format!("`{field}` is no name of a field"));
            }
            terms.push(PredicateTerm { is_negated, field: field.to_owned(), number });
        }
        all.push((function.get_ref().clone(), terms));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::super::read;

    const HEAD: &str = "
name = \"n\"
package = \"P\"
include = \"n.p4\"
only_for_analysis = true
meanings = [\"port\", \"drop_it\"]
blocks = [{ role = \"parser\", parameters = [\"packet\", \"headers\"] }]
ports.width_bits = 16
ports.special.cpu.number = 64
";

    #[test]
    fn faults_have_their_place() {
        for (text, message, place) in [
            ("decisions = { port = 0 }", "a decision has 1 to 64 bits", "0"),
            ("decisions = { port = 65 }", "a decision has 1 to 64 bits", "65"),
            ("decisions = { prot = 8 }", "unknown variant `prot`", "prot"),
            (
                "assignments = { f = [{ to = \"port\", value = 1 }] }",
                "`fields` has no field with the meaning port",
                "\"port\"",
            ),
            (
                "decisions = { port = 8 }\nassignments = { f = [{ to = \"port\", value = \"arg 0\" }] }",
                "a value is a number or `argument N`",
                "\"arg 0\"",
            ),
            (
                "decisions = { port = 8 }\nassignments = { f = [{ to = \"port\", value = 1, when = \"x\" }] }",
                "a condition here is `argument N == NUMBER`",
                "\"x\"",
            ),
            (
                "predicates = { f = \"a == nowhere\" }",
                "a field is compared with a port of `ports.special`",
                "\"a == nowhere\"",
            ),
            (
                "reserved = { f = [{ value = \"arg 0\", number = 0 }] }",
                "a value here is `argument N`",
                "\"arg 0\"",
            ),
            ("predicates = { f = \"a && !\" }", "`` is no name of a field", "\"a && !\""),
            ("session = { id = 0, port = \"cup\" }", "`ports.special` has no port `cup`", "\"cup\""),
            ("ports.special.big.number = 65536", "ports have 16 bits: the largest is 65535", "65536"),
            (
                "decisions = { port = 8, priority = 8 }\nfields.headers.p = \"priority\"",
                "`priority` is the meaning of a field already",
                "priority",
            ),
            ("variables = [\"v\"]\naliases = { v = \"v\" }", "`v` is an alias itself", "\"v\""),
            ("variables = [\"headers\"]", "`headers` is there already", "\"headers\""),
            ("variables = [\"a\", \"a\"]", "`a` is there already", "\"a\"]"),
        ] {
            let text = format!("{HEAD}{text}\n");
            let fault = read(&text).unwrap_err();
            let found = &text[fault.place.unwrap_or_default()];
            assert!(fault.message.contains(message), "{text}: {}", fault.message);
            assert!(place.starts_with(found) && !found.is_empty(), "{text}: {found:?}");
        }
    }

    #[test]
    fn numbers_fit() {
        let fault = |text: &str| read(&format!("{HEAD}{text}\n")).unwrap_err().message;
        let text = "decisions = { port = 8 }\nassignments = { f = [{ to = \"port\", value = 256 }] }";
        assert_eq!(fault(text), "`f` assigns 256 to a decision of 8 bits");
        assert_eq!(
            fault("ports.drop = 65536"),
            "the drop port is 65536, and ports have 16 bits: the largest is 65535"
        );
        assert!(fault("decisions = { prot = 8 }").ends_with("names of your own are declared in `meanings`"));
    }

    #[test]
    fn what_is_written_is_read() {
        let text = format!(
            "{HEAD}decisions = {{ port = 16, drop_it = 1 }}\n\
             assignments = {{ f = [{{ to = \"port\", value = \"argument 1\", when = \"argument 0 == 3\" }}] }}\n\
             predicates = {{ g = \"!a && b == cpu\" }}\n"
        );
        let model = read(&text).unwrap().pipeline.unwrap();
        let explained: Vec<_> = model.explained.iter().map(|f| (f.name.as_str(), f.list.as_str())).collect();
        assert_eq!(explained, [("f", "assignments"), ("g", "predicates")]);
        let line = |function: &str| text.lines().position(|line| line.contains(function)).unwrap() + 1;
        let lines: Vec<_> = model.explained.iter().map(|f| f.line).collect();
        assert_eq!(lines, [line("assignments = "), line("predicates = ")]);
        let (function, assignments) = &model.assignments[0];
        assert_eq!((function.as_str(), assignments[0].when), ("f", Some((0, 3))));
        assert_eq!(assignments[0].value, crate::AssignedValue::Argument(1));
        let (function, terms) = &model.predicates[0];
        let terms: Vec<_> = terms.iter().map(|t| (t.is_negated, t.field.as_str(), t.number)).collect();
        assert_eq!((function.as_str(), terms), ("g", vec![(true, "a", None), (false, "b", Some(64))]));
        assert_eq!(model.decisions.iter().map(|d| d.width_bits).collect::<Vec<_>>(), [16, 1]);
    }
}
