//! Descriptions as text for people.

use super::Description;
use super::flow::{Atom, Condition, Contents, Effect, Onward, SendPort, Step, snake_case};
use crate::{AssignedValue, FieldRole, IntrinsicValue, IntrinsicWrites, PipelineModel};
use std::fmt::Write;

impl Description {
    /// Everything that people may want to know of the architecture: Markdown with tables.
    pub fn show(&self) -> String {
        let mut out = format!("# {}\n\n", self.name);
        let _ = writeln!(out, "Package `{}`, declared by `{}`.", self.package, self.include);
        match &self.pipeline {
            None => out.push_str(
                "Programs are checked; the description does not say how packets go through them.\n",
            ),
            Some(_) if self.only_for_analysis => {
                out.push_str("Programs are checked and analysed; they do not run.\n");
            }
            Some(model) => ports(model, &mut out),
        }
        if let Some(model) = &self.pipeline {
            blocks(model, &mut out);
            fields(model, &mut out);
            sections(model, &mut out);
            functions(model, &mut out);
        }
        self.externs(&mut out);
        out
    }

    fn externs(&self, out: &mut String) {
        let methods = self.methods.iter().flat_map(|(object, methods)| {
            methods.iter().map(move |(method, op)| (format!("{object}.{method}"), op.name()))
        });
        let functions = self.functions.iter().map(|(name, op)| (name.clone(), op.name()));
        let mut all: Vec<(String, &str)> = functions.chain(methods).collect();
        all.sort();
        let rows = all.into_iter().map(|(name, op)| [format!("`{name}`"), op.replace('_', " ")]);
        table("Externs", ["extern", "operation"], rows, out);
        let rows =
            self.externs.iter().map(|e| [format!("`{}`", e.name), snake_case(&e.role).replace('_', " ")]);
        table("Objects of the control plane", ["extern", "kind"], rows, out);
        if let Some(known) = self.table_properties.known.as_ref().filter(|known| !known.is_empty()) {
            let _ = writeln!(out, "\nTable properties: `{}`.", known.join("`, `"));
        }
    }
}

fn ports(model: &PipelineModel, out: &mut String) {
    let _ = write!(out, "Ports have {} bits", model.port_width_bits);
    if let Some(port) = model.drop_port {
        let _ = write!(out, "; packets to port {port} are dropped");
    }
    for port in &model.special_ports {
        let _ = write!(out, "; port {:#x} is `{}`", port.number, port.name);
    }
    out.push_str(".\n");
}

fn blocks(model: &PipelineModel, out: &mut String) {
    let rows = model.blocks.iter().map(|block| {
        let params: Vec<String> = match &block.call {
            None => block.params.iter().map(|param| model.variable_name(*param)).collect(),
            Some(call) => {
                let names =
                    |fields: &[FieldRole]| fields.iter().map(|field| model.meaning_name(*field)).collect();
                let arguments = call.arguments.iter().map(|argument| {
                    let fields: Vec<String> = names(&argument.fields);
                    fields.join(" or ")
                });
                let arguments: Vec<String> = arguments.collect();
                vec![format!("calls `{}({})`", call.function, arguments.join(", "))]
            }
        };
        [block.name.clone(), params.join(", ")]
    });
    table("Blocks", ["block", "parameters"], rows, out);
}

/// The text of what is written to a field; empty where nothing is.
fn written(writes: &IntrinsicWrites, role: FieldRole) -> String {
    match writes.iter().find(|(field, _)| *field == role) {
        Some((_, IntrinsicValue::Number(number))) => number.to_string(),
        Some((_, value)) => snake_case(value).replace('_', " "),
        None => String::new(),
    }
}

fn fields(model: &PipelineModel, out: &mut String) {
    let decisions = model.decisions.iter().map(|d| ("a decision".to_owned(), d.field));
    let fields = model
        .fields
        .iter()
        .map(|(param, name, role)| (format!("`{}.{name}`", model.variable_name(*param)), *role))
        .chain(decisions);
    if model.begins_anew() {
        let sections: Vec<_> = model.sections.iter().filter(|section| section.writes.is_some()).collect();
        let rows: Vec<Vec<String>> = fields
            .map(|(place, role)| {
                let values = sections.iter().map(|s| written(s.writes.as_ref().unwrap_or(&Vec::new()), role));
                [place, model.meaning_name(role)].into_iter().chain(values).collect()
            })
            .collect();
        let head = sections.iter().map(|section| format!("into `{}`", section.name));
        let head: Vec<String> = ["field".to_owned(), "meaning".to_owned()].into_iter().chain(head).collect();
        return wide_table("Fields, and what the architecture writes to them", &head, &rows, out);
    }
    let rows = fields.map(|(place, role)| {
        [
            place,
            model.meaning_name(role),
            written(&model.at_arrival, role),
            written(&model.at_enqueue, role),
            written(&model.at_dequeue, role),
        ]
    });
    let head = ["field", "meaning", "at arrival", "into a queue", "out of a queue"];
    table("Fields, and what the architecture writes to them", head, rows, out);
}

fn sections(model: &PipelineModel, out: &mut String) {
    for section in &model.sections {
        let rows = section
            .steps
            .iter()
            .enumerate()
            .map(|(i, step)| [(i + 1).to_string(), condition(model, &step.when), effect(model, step)]);
        table(&format!("Section `{}`", section.name), ["step", "when", "what"], rows, out);
        let rows =
            section.paths.iter().map(|(pass, member)| [snake_case(pass).replace('_', " "), member.clone()]);
        table(&format!("Paths into `{}`", section.name), ["pass", "value"], rows, out);
    }
}

/// Extern functions that decide, and those that tell.
fn functions(model: &PipelineModel, out: &mut String) {
    let rows = model.assignments.iter().map(|(function, assignments)| {
        let texts = assignments.iter().map(|assignment| {
            let value = match assignment.value {
                AssignedValue::Number(number) => number.to_string(),
                AssignedValue::Argument(position) => format!("argument {position}"),
            };
            let when = match assignment.when {
                Some((position, number)) => format!(" if argument {position} is {number}"),
                None => String::new(),
            };
            format!("{} = {value}{when}", model.meaning_name(assignment.field))
        });
        [format!("`{function}`"), texts.collect::<Vec<_>>().join("; ")]
    });
    table("Functions that decide", ["function", "what it sets"], rows, out);
    let rows = model.predicates.iter().map(|(function, terms)| {
        let texts = terms.iter().map(|term| {
            let port = model.special_ports.iter().find(|port| Some(port.number) == term.number);
            let port = port.map_or(String::new(), |port| format!(" == {}", port.name));
            format!("{}{}{port}", if term.is_negated { "!" } else { "" }, term.field)
        });
        [format!("`{function}`"), texts.collect::<Vec<_>>().join(" && ")]
    });
    table("Functions that tell", ["function", "condition on its arguments"], rows, out);
    let rows = model.reserved.iter().map(|(function, reserved)| {
        let texts = reserved.iter().map(|(position, number)| format!("argument {position} is not {number}"));
        [format!("`{function}`"), texts.collect::<Vec<_>>().join("; ")]
    });
    table("Reserved arguments", ["function", "rule"], rows, out);
    let rows = model.only_in.iter().map(|(function, blocks)| [format!("`{function}`"), blocks.join(", ")]);
    table("Functions of some blocks", ["function", "blocks that may call it"], rows, out);
    let rows = model.answers.iter().map(|(method, answer)| {
        let fields = std::iter::once(&answer.result).chain(&answer.arguments);
        let names: Vec<String> = fields.map(|field| model.meaning_name(*field)).collect();
        [format!("`{method}`"), names.join(", ")]
    });
    table("Methods that answer", ["method", "result and arguments"], rows, out);
}

/// A condition as descriptions write it.
pub(super) fn condition(model: &PipelineModel, condition: &Condition) -> String {
    let terms = condition.0.iter().map(|term| {
        let text = match term.atom {
            Atom::Requested(request) => format!("requested({})", snake_case(&request)),
            Atom::Rejected => "rejected".to_owned(),
            Atom::FromHost => "from_host".to_owned(),
            Atom::Accepted => "accepted".to_owned(),
            Atom::Verdict(verdict) => format!("verdict({})", snake_case(&verdict)),
            Atom::Field(field) => model.meaning_name(field),
            Atom::IsDropPort(field) => format!("{} == drop_port", model.meaning_name(field)),
            Atom::IsPort(field, number) => {
                let port = model.special_ports.iter().find(|port| port.number == number);
                format!("{} == {}", model.meaning_name(field), port.map_or("", |port| &port.name))
            }
        };
        if term.is_negated { format!("!{text}") } else { text }
    });
    terms.collect::<Vec<_>>().join(" && ")
}

/// One effect in words.
fn effect(model: &PipelineModel, step: &Step) -> String {
    let section = |id: &usize| model.sections.get(*id).map_or("", |section| section.name.as_str());
    let words = |variant: &dyn std::fmt::Debug| snake_case(variant).replace('_', " ");
    let carried =
        step.effect.carried().map_or(String::new(), |role| format!(", with {}", model.variable_name(role)));
    let anew = |onward: &Onward| match onward.contents {
        Contents::Headers => String::new(),
        contents => format!(", {}", words(&contents)),
    };
    match &step.effect {
        Effect::Run(block) => format!("run {}", model.blocks.get(*block).map_or("", |block| &block.name)),
        Effect::SendDigests => "send digests".to_owned(),
        Effect::Copy { contents, to, pass, session, .. } => {
            let session =
                session.map_or(String::new(), |role| format!(", session {}", model.meaning_name(role)));
            format!("copy to `{}`: {}, {}{session}{carried}", section(to), words(contents), words(pass))
        }
        Effect::Multicast { group, priority, onward } => format!(
            "multicast to `{}`: group {}, priority {}{}{carried}",
            section(&onward.to),
            model.meaning_name(*group),
            model.meaning_name(*priority),
            anew(onward),
        ),
        Effect::Queue { port, priority, onward } => format!(
            "queue for `{}`: port {}, priority {}{}{carried}",
            section(&onward.to),
            model.meaning_name(*port),
            model.meaning_name(*priority),
            anew(onward),
        ),
        Effect::Next(onward) => {
            format!("go on in `{}`{}{carried}", section(&onward.to), anew(onward))
        }
        Effect::Again { contents, to, pass, port, .. } => {
            let special =
                port.and_then(|number| model.special_ports.iter().find(|port| port.number == number));
            let port = special.map_or(String::new(), |port| format!(", on port {}", port.name));
            format!("again from `{}`: {}, {}{port}{carried}", section(to), words(contents), words(pass))
        }
        Effect::Send { port, contents } => {
            let port = match port {
                SendPort::Arrival => "the port of arrival".to_owned(),
                SendPort::Queue => "the port of the queue".to_owned(),
                SendPort::Field(role) => model.meaning_name(*role),
            };
            format!("send to {port}: {}", words(contents))
        }
        Effect::Drop(reason) => format!("drop ({reason})"),
    }
}

/// A Markdown table with a heading; nothing without rows.
fn wide_table(heading: &str, head: &[String], rows: &[Vec<String>], out: &mut String) {
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n## {heading}\n\n| {} |\n|{}", head.join(" | "), "---|".repeat(head.len()));
    for row in rows {
        let _ = writeln!(out, "| {} |", row.join(" | "));
    }
}

/// A table whose number of columns is fixed.
fn table<const N: usize>(
    heading: &str,
    head: [&str; N],
    rows: impl Iterator<Item = [String; N]>,
    out: &mut String,
) {
    let rows: Vec<Vec<String>> = rows.map(Vec::from).collect();
    wide_table(heading, &head.map(str::to_owned), &rows, out);
}
