//! `simple_switch_CLI`: commands of BMv2's command line from standard input.

use super::nodes::Nodes;
use crate::cli::CliArgs;
use crate::commands::bmv2;
use crate::output::{self, Exit};
use clap::Parser;
use ctl::{Answer, Request, What};
use serde_json::Value as Json;
use std::ffi::OsString;
use std::io::BufRead;
use std::path::PathBuf;

const PROMPT: &str = "RuntimeCmd: ";

const HELP: &str = "\
Tables:      table_add TABLE ACTION KEY... => PARAMETER... [PRIORITY], table_set_default TABLE ACTION PARAMETER...,
             table_reset_default TABLE, table_modify TABLE ACTION HANDLE PARAMETER..., table_delete TABLE HANDLE,
             table_dump TABLE, table_dump_entry TABLE HANDLE, table_clear TABLE, table_info TABLE,
             table_num_entries TABLE, table_indirect_add TABLE KEY... => MEMBER [PRIORITY],
             table_indirect_add_with_group TABLE KEY... => GROUP [PRIORITY], table_indirect_delete TABLE HANDLE
Profiles:    act_prof_create_member PROFILE ACTION PARAMETER..., act_prof_delete_member PROFILE MEMBER,
             act_prof_modify_member PROFILE ACTION MEMBER PARAMETER..., act_prof_create_group PROFILE,
             act_prof_delete_group PROFILE GROUP, act_prof_add_member_to_group PROFILE MEMBER GROUP,
             act_prof_remove_member_from_group PROFILE MEMBER GROUP, act_prof_dump PROFILE,
             act_prof_dump_member PROFILE MEMBER, act_prof_dump_group PROFILE GROUP
Replication: mc_mgrp_create GROUP, mc_mgrp_destroy GROUP, mc_node_create INSTANCE PORT..., mc_node_associate GROUP NODE,
             mc_dump, mirroring_add SESSION PORT, mirroring_add_mc, mirroring_delete, mirroring_get
State:       counter_read, counter_write, counter_reset, register_read, register_write, register_reset,
             meter_set_rates, meter_array_set_rates, meter_get_rates
Queues:      set_queue_rate PACKETS_PER_SECOND [PORT], set_queue_depth PACKETS
Others:      show_tables, show_actions, show_ports, switch_info, help, quit
";

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
             It is found by its --thrift-port; {} is where it would listen\n",
            args.thrift_port,
            socket.display()
        ));
        return Exit::Failed;
    }
    let mut session = Session { socket, nodes: Nodes::default() };
    output::out("Control utility for runtime P4 table manipulation\n");
    output::out(PROMPT);
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let line = line.trim();
        if matches!(line, "EOF" | "quit" | "exit") {
            break;
        }
        if !line.is_empty() && !line.starts_with('#') {
            output::out(&session.answer(line).unwrap_or_else(|message| format!("Error: {message}\n")));
        }
        output::out(PROMPT);
    }
    output::out("\n");
    Exit::Ok
}

struct Session {
    socket: PathBuf,
    nodes: Nodes,
}

impl Session {
    /// Does one command. Returns the text that it prints.
    fn answer(&mut self, line: &str) -> Result<String, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let Some((command, rest)) = words.split_first() else { return Ok(String::new()) };
        let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
        match (command.as_str(), rest.as_slice()) {
            ("help" | "?", _) => Ok(HELP.to_owned()),
            ("table_add" | "table_indirect_add" | "table_indirect_add_with_group", [_, ..]) => {
                let result = self.ask(&Request::WriteWithHandles { text: line.to_owned() })?;
                let handles = result["handles"].as_array().into_iter().flatten();
                Ok(handles.map(|handle| format!("Entry has been added with handle {handle}\n")).collect())
            }
            ("table_delete" | "table_indirect_delete", [table, handle]) => {
                let (table, handle) = ((*table).to_owned(), number(handle)?);
                self.done(&Request::RemoveHandle { table, handle })
            }
            ("table_modify", [table, action, handle, arguments @ ..]) => {
                let arguments: Vec<&str> = arguments.iter().copied().filter(|word| *word != "=>").collect();
                let action = [&[*action], arguments.as_slice()].concat().join(" ");
                let (table, handle) = ((*table).to_owned(), number(handle)?);
                self.done(&Request::ModifyHandle { table, handle, action })
            }
            ("act_prof_create_member", _) => self.created("Member", line),
            ("act_prof_create_group", _) => self.created("Group", line),
            (
                "act_prof_modify_member"
                | "act_prof_delete_member"
                | "act_prof_delete_group"
                | "act_prof_add_member_to_group"
                | "act_prof_remove_member_from_group",
                _,
            ) => self.done(&Request::ProfileCommand { text: line.to_owned() }),
            ("act_prof_dump", [profile]) => {
                self.shown(&Request::ProfileHandles { profile: (*profile).to_owned() })
            }
            ("act_prof_dump_member", [profile, handle]) => {
                let member = self.one_of_profile(profile, "members", handle)?;
                Ok(ctl::profile_member(&member))
            }
            ("act_prof_dump_group", [profile, handle]) => {
                let group = self.one_of_profile(profile, "groups", handle)?;
                Ok(ctl::profile_group(&group))
            }
            ("table_dump", [table]) => self.shown(&Request::Handles { table: (*table).to_owned() }),
            ("table_dump_entry", [table, handle]) => {
                let handle = number(handle)?;
                let mut result = self.ask(&Request::Handles { table: (*table).to_owned() })?;
                if let Some(entries) = result["entries"].as_array_mut() {
                    entries.retain(|entry| entry["handle"].as_u64() == Some(handle));
                }
                Ok(ctl::render(&Request::Handles { table: String::new() }, &result))
            }
            ("set_queue_rate", [rate]) => {
                let rate = number(rate)?;
                let all = self.ask(&Request::Show { what: What::Ports, name: None })?;
                let ports = all.as_array().into_iter().flatten();
                let ports = ports.filter_map(|port| u32::try_from(port["port"].as_u64()?).ok());
                for port in ports {
                    self.ask(&Request::SetRate { port, rate_pps: Some(rate) })?;
                }
                Ok(String::new())
            }
            ("set_queue_rate", [rate, port, ..]) => {
                let (rate, port) = (number(rate)?, number(port)?);
                let port = u32::try_from(port).map_err(|_| format!("{port} is no port"))?;
                self.done(&Request::SetRate { port, rate_pps: Some(rate) })
            }
            ("set_queue_depth", [depth, ..]) => {
                let n_packets_max = usize::try_from(number(depth)?).map_err(|error| error.to_string())?;
                self.done(&Request::SetQueueDepth { n_packets_max })
            }
            ("switch_info", _) => self.shown(&Request::Show { what: What::Program, name: None }),
            ("counter_reset", [counter]) => {
                // Cells are written one by one; those that are zero already are not shown.
                let name = Some((*counter).to_owned());
                let cells = self.ask(&Request::Show { what: What::Counters, name })?;
                for index in cells.as_array().into_iter().flatten().filter_map(|cell| cell["index"].as_u64())
                {
                    let text = format!("counter_write {counter} {index} 0 0");
                    self.ask(&Request::Write { text, name: Some("command".to_owned()) })?;
                }
                Ok(String::new())
            }
            _ => match self.nodes.command(command, &rest)? {
                Some((requests, text)) => {
                    for request in requests {
                        self.ask(&request)?;
                    }
                    Ok(text)
                }
                None => self.shown(&bmv2::request(&words)?),
            },
        }
    }

    fn ask(&self, request: &Request) -> Result<Json, String> {
        match ctl::ask(&self.socket, request)? {
            Answer { error: Some(refusal), .. } => Err(refusal.message.trim_end().to_owned()),
            Answer { result, .. } => Ok(result.unwrap_or_default()),
        }
    }

    /// Creates a member or a group.
    fn created(&self, what: &str, line: &str) -> Result<String, String> {
        let result = self.ask(&Request::ProfileCommand { text: line.to_owned() })?;
        Ok(format!("{what} has been created with handle {}\n", result["handle"]))
    }

    /// A member or a group of a profile, which is one of these.
    fn one_of_profile(&self, profile: &str, these: &str, handle: &str) -> Result<Json, String> {
        let handle = number(handle)?;
        let mut result = self.ask(&Request::ProfileHandles { profile: profile.to_owned() })?;
        let all = result[these].as_array_mut().map(std::mem::take).unwrap_or_default();
        let found = all.into_iter().find(|one| one["handle"].as_u64() == Some(handle));
        found.ok_or_else(|| {
            format!("{profile} has no {} with the handle {handle}", these.trim_end_matches('s'))
        })
    }

    fn done(&self, request: &Request) -> Result<String, String> {
        self.ask(request).map(|_| String::new())
    }

    fn shown(&self, request: &Request) -> Result<String, String> {
        Ok(ctl::render(request, &self.ask(request)?))
    }
}

fn number(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix("0x").map(|digits| u64::from_str_radix(digits, 16));
    digits.unwrap_or_else(|| text.parse()).map_err(|_| format!("`{text}` is no number"))
}
