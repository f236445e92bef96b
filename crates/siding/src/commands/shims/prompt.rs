//! `simple_switch_CLI`: commands of BMv2's command line from standard input.

use crate::cli::CliArgs;
use crate::commands::bmv2;
use crate::output::{self, Exit};
use clap::Parser;
use ctl::Answer;
use std::ffi::OsString;
use std::io::BufRead;
use std::path::Path;

const PROMPT: &str = "RuntimeCmd: ";

pub fn run(args: &[OsString]) -> Exit {
    let args = match CliArgs::try_parse_from(args) {
        Ok(args) => args,
        Err(error) => {
            let text = error.render().to_string();
            if error.use_stderr() {
                output::err(&text);
                return Exit::Failed;
            }
            output::out(&text);
            return Exit::Ok;
        }
    };
    let socket = ctl::thrift_path(args.thrift_port);
    if let Err(error) = ctl::connect(&socket) {
        output::out(&format!(
            "Could not connect to a switch on port {}: {error}\n\
             It is found by its --thrift-port; {} is where it listens\n",
            args.thrift_port,
            socket.display()
        ));
        return Exit::Failed;
    }
    output::out("Control utility for runtime P4 table manipulation\n");
    output::out(PROMPT);
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let line = line.trim();
        if matches!(line, "EOF" | "quit" | "exit") {
            break;
        }
        if !line.is_empty() && !line.starts_with('#') {
            say(&socket, line);
        }
        output::out(PROMPT);
    }
    output::out("\n");
    Exit::Ok
}

/// Does one command, and prints what comes of it.
fn say(socket: &Path, line: &str) {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let request = match bmv2::request(&words) {
        Ok(request) => request,
        Err(message) => return output::out(&format!("Error: {message}\n")),
    };
    output::out(&match ctl::ask(socket, &request) {
        Ok(Answer { error: Some(refusal), .. }) => format!("Error: {}\n", refusal.message.trim_end()),
        Ok(Answer { result, .. }) => ctl::render(&request, &result.unwrap_or_default()),
        Err(message) => format!("Error: {message}\n"),
    });
}
