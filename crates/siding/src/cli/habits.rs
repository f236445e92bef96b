//! Command lines that people of other tools type by habit: commands, with the one of Siding that does it, and spellings of
//! options.

use super::Cli;
use clap::CommandFactory;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// The answer to a first word that is no command of Siding but a command elsewhere.
pub fn other_command(word: &str) -> Option<String> {
    let instead = match word {
        "compile" | "p4c" | "p4c-bm2-ss" | "p4c-dpdk" | "p4c-ebpf" => {
            "to compile a program: siding build PROGRAM\nTo check it only: siding check PROGRAM\n\
             To have p4c and p4c-bm2-ss as commands: siding shims DIR"
        }
        "p4test" => "to check a program: siding check PROGRAM",
        "test" => "to run test scripts: siding stf PROGRAM TEST.stf",
        "simulate" => {
            "to run a program on packets: siding run PROGRAM --pcap FILE\n\
             To simulate its stateful actions: siding sim PROGRAM"
        }
        "simple_switch" | "simple_switch_grpc" => {
            "to run a program on live traffic: siding switch PROGRAM -i 0@INTERFACE\n\
             To have simple_switch_grpc as a command: siding shims DIR"
        }
        "simple_switch_CLI" => "to talk to a running switch: siding ctl --help",
        "table_add" | "table_set_default" | "mc_mgrp_create" | "mirroring_add" | "register_write" => {
            "siding ctl takes it for a running switch: siding ctl table_add TABLE ACTION KEY... '=>' PARAMETER...\n\
             To start with a file of such commands: siding run PROGRAM --entries FILE"
        }
        "version" => "to see the version: siding --version",
        "table_delete" => "to remove an entry of a running switch: siding ctl delete TABLE KEY...",
        "table_dump" => "to see the entries of a running switch: siding ctl show entries",
        _ => return None,
    };
    Some(format!("Siding has no command `{word}`; {instead}"))
}

/// The standards that `--std` takes.
pub fn standard(name: &str) -> Result<String, String> {
    match name {
        "p4-16" | "p4_16" => Ok(name.to_string()),
        "p4-14" | "p4_14" => Err("Siding reads P4-16 only; p4c translates P4-14: \
             p4test --std p4-14 --pp out.p4 in.p4"
            .to_string()),
        _ => Err("it is no standard of P4; p4-16 is known".to_string()),
    }
}

/// The versions that `--p4v` takes.
pub fn version(name: &str) -> Result<String, String> {
    match name {
        "16" | "1.2" => Ok(name.to_string()),
        "14" | "1.0" | "1.1" => standard("p4-14"),
        _ => Err("it is no version of P4; 16 is known".to_string()),
    }
}

/// Long options that p4c and C compilers take with a single dash.
const SINGLE_DASH: &[&str] = &["-std", "-p4v", "-Werror", "-Wwarn", "-Winfo", "-Wdisable"];

/// All warnings, in the spelling of C compilers.
const ALL_WARNINGS: &[&str] = &["-Wall", "-Wextra"];

/// An option whose value may look like another option.
const VERBATIM: &str = "--cflags";

/// Suffixes of files that are programs, as the one behind `--pcap` may be.
const PROGRAMS: &[&str] = &["p4", "p4i", "sdp", "json"];

/// Rewrites spellings that p4c, BMv2 and C compilers accept and clap does not.
pub fn normalise_compat_flags(args: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut args: Vec<OsString> = args.into_iter().collect();
    if args.get(2).is_some_and(|word| word == "help") && has_commands(&args[1]) {
        // `siding ctl help show`
        args.swap(1, 2);
    }
    if args.len() > 3 && args[1] == "arch" && args[2] == "show" {
        args.remove(2);
    }
    let is_switch = args.get(1).is_some_and(|command| command == "switch");
    if is_switch {
        // BMv2 has a `--` between two kinds of options.
        args.retain(|arg| arg != "--");
    }
    let reads_programs = args.iter().any(|arg| is_one_of(arg, ALL_WARNINGS)) && reads_programs(&args);
    let mut rewritten: Vec<OsString> = Vec::with_capacity(args.len());
    for arg in args {
        let last = rewritten.last().map(OsString::as_os_str);
        let is_directory = is_switch && last == Some(OsStr::new("--pcap")) && may_be_directory(&arg);
        if last == Some(OsStr::new(VERBATIM)) {
            rewritten.push(arg);
        } else if is_directory {
            // The value of this option is optional, so clap wants it after `=`.
            rewritten.pop();
            let mut joined = OsString::from("--pcap=");
            joined.push(arg);
            rewritten.push(joined);
        } else if reads_programs && is_one_of(&arg, ALL_WARNINGS) {
            rewritten.push("--warnings=all".into());
        } else if is_one_of(&arg, SINGLE_DASH) {
            let mut doubled = OsString::from("-");
            doubled.push(arg);
            rewritten.push(doubled);
        } else {
            rewritten.push(arg);
        }
    }
    rewritten
}

/// True if the part of an argument before its `=` is one of these.
fn is_one_of(arg: &OsStr, names: &[&str]) -> bool {
    arg.to_str().is_some_and(|text| names.contains(&text.split('=').next().unwrap_or(text)))
}

/// True for commands that have the options of the front end.
fn reads_programs(args: &[OsString]) -> bool {
    let mut command = &Cli::command();
    for word in args.iter().skip(1) {
        match word.to_str().and_then(|word| command.find_subcommand(word)) {
            Some(sub) => command = sub,
            None => break,
        }
    }
    command.get_arguments().any(|arg| arg.get_long() == Some("warnings"))
}

/// True for commands that have commands of their own.
fn has_commands(command: &OsStr) -> bool {
    Cli::command().find_subcommand(command).is_some_and(clap::Command::has_subcommands)
}

/// True if an argument can name a directory: neither an option, nor a file, nor a program.
fn may_be_directory(arg: &OsStr) -> bool {
    let path = Path::new(arg);
    let is_program =
        path.extension().and_then(OsStr::to_str).is_some_and(|suffix| PROGRAMS.contains(&suffix));
    !arg.as_encoded_bytes().starts_with(b"-") && !is_program && !path.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(line: &str) -> String {
        let args = normalise_compat_flags(line.split(' ').map(OsString::from));
        args.join(OsStr::new(" ")).into_string().unwrap()
    }

    #[test]
    fn spellings_of_other_tools_are_rewritten() {
        for (typed, meant) in [
            ("siding check -std=p4-16 a.p4", "siding check --std=p4-16 a.p4"),
            ("siding build -Werror -Wdisable=unused a.p4", "siding build --Werror --Wdisable=unused a.p4"),
            ("siding build -Wall a.p4", "siding build --warnings=all a.p4"),
            ("siding entries check -Wextra a.p4 b", "siding entries check --warnings=all a.p4 b"),
            ("siding build --cflags -Wall a.p4", "siding build --cflags -Wall a.p4"),
            ("siding ctl -Wall shutdown", "siding ctl -Wall shutdown"),
            ("siding switch -- --pcap out a.p4", "siding switch --pcap=out a.p4"),
            ("siding switch --pcap a.p4", "siding switch --pcap a.p4"),
            ("siding switch --pcap -i 1@veth0 a.p4", "siding switch --pcap -i 1@veth0 a.p4"),
            ("siding run a.p4 --pcap out", "siding run a.p4 --pcap out"),
            ("siding ctl help show", "siding help ctl show"),
            ("siding check help", "siding check help"),
            ("siding arch show psa", "siding arch psa"),
            ("siding arch show", "siding arch show"),
        ] {
            assert_eq!(rewritten(typed), meant);
        }
    }
}
