//! Descriptions as text for people.

use super::Description;
use super::flow::{Effect, SendPort, Step, snake_case};
use crate::{FieldRole, IntrinsicWrites, PipelineModel};
use std::fmt::Write;

impl Description {
    /// Everything that people may want to know of the architecture: Markdown with tables.
    pub fn show(&self) -> String {
        let mut out = format!("# {}\n\n", self.name);
        let _ = writeln!(out, "Package `{}`, declared by `{}`.", self.package, self.include);
        match &self.pipeline {
            None => out.push_str("Programs are checked; they do not run yet.\n"),
            Some(_) if self.only_for_analysis => {
                out.push_str("Programs are checked and analysed; they do not run yet.\n");
            }
            Some(model) => ports(model, &mut out),
        }
        if let Some(model) = &self.pipeline {
            blocks(model, &mut out);
            fields(model, &mut out);
            sections(model, &mut out);
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
    match model.drop_port {
        Some(port) => out.push_str(&format!("; packets to port {port} are dropped.\n")),
        None => out.push_str(".\n"),
    }
}

fn blocks(model: &PipelineModel, out: &mut String) {
    let rows = model.blocks.iter().map(|block| {
        let params: Vec<String> = block.params.iter().map(|param| snake_case(param)).collect();
        [snake_case(&block.role), params.join(", ")]
    });
    table("Blocks", ["block", "parameters"], rows, out);
}

fn fields(model: &PipelineModel, out: &mut String) {
    let written = |writes: &IntrinsicWrites, role: FieldRole| {
        let value = writes.iter().find(|(field, _)| *field == role).map(|(_, value)| snake_case(value));
        value.unwrap_or_default().replace('_', " ")
    };
    let rows = model.fields.iter().map(|(param, name, role)| {
        [
            format!("`{}.{name}`", snake_case(param)),
            snake_case(role),
            written(&model.at_arrival, *role),
            written(&model.at_enqueue, *role),
            written(&model.at_dequeue, *role),
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
            .map(|(i, step)| [(i + 1).to_string(), step.when.to_string(), effect(model, step)]);
        table(&format!("Section `{}`", section.name), ["step", "when", "what"], rows, out);
    }
}

/// One effect in words.
fn effect(model: &PipelineModel, step: &Step) -> String {
    let section = |id: &usize| model.sections.get(*id).map_or("", |section| section.name.as_str());
    let words = |variant: &dyn std::fmt::Debug| snake_case(variant).replace('_', " ");
    match &step.effect {
        Effect::Run(role) => format!("run {}", snake_case(role)),
        Effect::SendDigests => "send digests".to_owned(),
        Effect::Copy { contents, to, pass } => {
            format!("copy to `{}`: {}, {}", section(to), words(contents), words(pass))
        }
        Effect::Multicast { group, priority, to } => format!(
            "multicast to `{}`: group {}, priority {}",
            section(to),
            snake_case(group),
            snake_case(priority)
        ),
        Effect::Queue { port, priority, to } => format!(
            "queue for `{}`: port {}, priority {}",
            section(to),
            snake_case(port),
            snake_case(priority)
        ),
        Effect::Again { contents, to, pass } => {
            format!("again from `{}`: {}, {}", section(to), words(contents), words(pass))
        }
        Effect::Send { port, contents } => {
            let port = match port {
                SendPort::Arrival => "the port of arrival".to_owned(),
                SendPort::Queue => "the port of the queue".to_owned(),
                SendPort::Field(role) => snake_case(role),
            };
            format!("send to {port}: {}", words(contents))
        }
        Effect::Drop(reason) => format!("drop ({reason})"),
    }
}

/// A Markdown table with a heading; nothing without rows.
fn table<const N: usize>(
    heading: &str,
    head: [&str; N],
    rows: impl Iterator<Item = [String; N]>,
    out: &mut String,
) {
    let mut rows = rows.peekable();
    if rows.peek().is_none() {
        return;
    }
    let _ = writeln!(out, "\n## {heading}\n\n| {} |\n|{}", head.join(" | "), "---|".repeat(N));
    for row in rows {
        let _ = writeln!(out, "| {} |", row.join(" | "));
    }
}
