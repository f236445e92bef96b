//! `siding completions`, and the hidden command that its scripts call.

use super::output::{self, Exit};
use crate::cli::{self, Candidate, ShellArg, Wanted};
use clap_complete::Generator;
use clap_complete::aot::{Elvish, PowerShell};
use ctl::{Answer, Request, What};
use serde_json::Value as Json;
use siding::{Options, codes, explain};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

/// A switch that does not answer in time offers no names: nobody waits for a completion.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(500);

/// Prints the script of a shell. Those of bash, zsh and fish ask `siding complete-words`.
pub fn script(shell: ShellArg) -> Exit {
    let text = match shell {
        ShellArg::Bash => include_str!("complete/bash.sh").to_owned(),
        ShellArg::Zsh => include_str!("complete/zsh.sh").to_owned(),
        ShellArg::Fish => include_str!("complete/fish.sh").to_owned(),
        ShellArg::Elvish => generated(Elvish),
        ShellArg::PowerShell => generated(PowerShell),
    };
    output::out(&text);
    Exit::Ok
}

/// A script that knows the commands and options, but no names.
fn generated(shell: impl Generator) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut cli::command(), "siding", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// Prints the candidates for the last word, each with its description after a tab.
pub fn words(words: &[String]) -> Exit {
    for Candidate { word, what } in cli::complete(cli::command(), words, &names) {
        let line = format!("{word}\t{what}").replace(['\n', '\r'], " ");
        output::out(&format!("{}\n", line.trim_end()));
    }
    Exit::Ok
}

/// The values of an argument that clap does not know.
fn names(wanted: &Wanted<'_>) -> Vec<Candidate> {
    let first = wanted.before.first().map(String::as_str);
    match (wanted.command, wanted.arg) {
        ("ctl add" | "ctl modify" | "ctl setdefault", "words") => match first {
            None => tables(wanted),
            Some(table) => actions(wanted, table),
        },
        ("ctl delete", "words") if first.is_none() => tables(wanted),
        ("ctl wait-entries", "table") => tables(wanted),
        ("ctl show", "name") => match first {
            Some("tables" | "entries") => tables(wanted),
            Some(kind @ ("counters" | "registers")) => {
                let names = ask(wanted, What::Names).unwrap_or_default();
                texts(&names[kind]).map(|name| Candidate::new(name, "")).collect()
            }
            _ => Vec::new(),
        },
        ("ctl port remove" | "ctl port up" | "ctl port down" | "ctl set-rate" | "ctl packet-out", "port")
        | ("ctl mc-group", "ports") => ports(wanted),
        ("graph", "block") => first.map_or_else(Vec::new, |program| blocks(Path::new(program), wanted)),
        ("explain", "code") => {
            let reasons = explain::drop_reasons().map(|reason| Candidate::new(reason, "drop reason"));
            codes::all().iter().map(|code| Candidate::new(code.id, code.summary)).chain(reasons).collect()
        }
        (_, "w_error" | "w_warn" | "w_info" | "w_disable") => {
            let is_warning =
                |code: &&diagnostics::Code| code.default_severity == diagnostics::Severity::Warning;
            let warnings = codes::all().into_iter().filter(|code| is_warning(&code));
            warnings.map(|code| Candidate::new(code.name, code.summary)).collect()
        }
        ("help" | "man", "words") => {
            let mut command = &cli::command();
            for word in wanted.before {
                match command.find_subcommand(word) {
                    Some(sub) => command = sub,
                    None => return Vec::new(),
                }
            }
            let about = |sub: &clap::Command| sub.get_about().map(ToString::to_string).unwrap_or_default();
            command.get_subcommands().map(|sub| Candidate::new(sub.get_name(), about(sub))).collect()
        }
        _ => Vec::new(),
    }
}

fn texts(list: &Json) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Json::as_str)
}

/// Asks the switch that the options name; `None` if there is none.
fn ask(wanted: &Wanted<'_>, what: What) -> Option<Json> {
    let device = wanted.option("device_id").and_then(|id| id.parse().ok()).unwrap_or(0);
    let thrift_port = wanted.option("thrift_port").and_then(|port| port.parse().ok());
    let named = || thrift_port.map_or_else(|| ctl::default_path(device), ctl::thrift_path);
    let socket = wanted.option("ctl_socket").map_or_else(named, PathBuf::from);
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(ctl::ask(&socket, &Request::Show { what, name: None })));
    match receiver.recv_timeout(ANSWER_TIMEOUT) {
        Ok(Ok(Answer { result: Some(result), error: None, .. })) => Some(result),
        Ok(_) | Err(_) => None,
    }
}

fn tables(wanted: &Wanted<'_>) -> Vec<Candidate> {
    let names = ask(wanted, What::Names).unwrap_or_default();
    let tables = names["tables"].as_array().into_iter().flatten();
    let keys = |table: &Json| texts(&table["keys"]).collect::<Vec<_>>().join(", ");
    tables.filter_map(|table| Some(Candidate::new(table["table"].as_str()?, keys(table)))).collect()
}

/// The actions of a table. One with parameters ends in the parenthesis behind which they go.
fn actions(wanted: &Wanted<'_>, table: &str) -> Vec<Candidate> {
    let names = ask(wanted, What::Names).unwrap_or_default();
    let mut tables = names["tables"].as_array().into_iter().flatten();
    // Names may be shortened from the left.
    let is_meant = |name: &str| name == table || table.ends_with(&format!(".{name}"));
    let table = tables.find(|found| found["table"].as_str().is_some_and(is_meant));
    let actions = table.and_then(|table| table["actions"].as_array()).into_iter().flatten();
    let candidate = |action: &Json| {
        let (name, params) =
            (action["name"].as_str()?, texts(&action["params"]).collect::<Vec<_>>().join(", "));
        let end = if params.is_empty() { ")" } else { "" };
        Some(Candidate::new(format!("{name}({end}"), format!("{name}({params})")))
    };
    actions.filter_map(candidate).collect()
}

fn ports(wanted: &Wanted<'_>) -> Vec<Candidate> {
    let ports = ask(wanted, What::Ports).unwrap_or_default();
    let ports = ports.as_array().into_iter().flatten();
    ports
        .map(|port| Candidate::new(port["port"].to_string(), port["name"].as_str().unwrap_or_default()))
        .collect()
}

/// The parsers and controls of a program; none if it has errors.
fn blocks(program: &Path, wanted: &Wanted<'_>) -> Vec<Candidate> {
    let Ok(source) = siding::read_source(program) else { return Vec::new() };
    let include_dirs =
        wanted.options.iter().filter(|(id, _)| id == "include_dirs").map(|(_, dir)| dir.into()).collect();
    let loader = siding::FileLoader { include_dirs };
    let mut checked = driver::check(&source, &loader, &Options::default());
    let runnable = driver::runnable(&mut checked, None);
    let program = runnable.map(|runnable| runnable.program);
    let blocks = program.iter().flat_map(|program| program.blocks.iter());
    blocks.map(|(_, block)| Candidate::new(block.name.as_str(), format!("{:?}", block.role))).collect()
}
