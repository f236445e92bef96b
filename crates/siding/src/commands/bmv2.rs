//! Commands of BMv2's command line as words of `siding ctl`.

use crate::cli::Cli;
use clap::CommandFactory;
use ctl::{Request, What};
use diagnostics::suggest::nearest_word;

/// Commands that change entries. They are read as a file of them is.
const WRITES: &[&str] = &[
    "counter_write",
    "meter_array_set_rates",
    "meter_set_rates",
    "table_add",
    "table_indirect_add",
    "table_indirect_add_with_group",
    "table_reset_default",
    "table_set_default",
];

/// Commands that test scripts have, too.
const SCRIPTED: &[&str] = &[
    "counter_read",
    "mc_mgrp_create",
    "mirroring_add",
    "mirroring_add_mc",
    "meter_get_rates",
    "mirroring_get",
    "register_read",
    "register_reset",
    "register_write",
];

/// Commands that show something, with what.
const SHOWN: &[(&str, What)] = &[
    ("table_dump", What::Entries),
    ("table_info", What::Tables),
    ("table_num_entries", What::Tables),
    ("show_tables", What::Tables),
    ("show_actions", What::Names),
    ("show_ports", What::Ports),
    ("mc_dump", What::Pre),
];

/// Commands that name an entry by its number.
const BY_NUMBER: &[(&str, &str)] = &[
    ("table_delete", "siding ctl delete TABLE KEY..."),
    ("table_modify", "siding ctl modify TABLE KEY... 'ACTION(ARGUMENT, ...)'"),
    ("table_indirect_delete", "siding ctl delete TABLE KEY..."),
];

const MEMBERS: &str = "siding ctl do member_add PROFILE NUMBER 'ACTION(...)', since you choose the numbers; and \
    member_modify, member_remove; or a file: siding ctl write FILE";
const GROUPS: &str = "siding ctl do group_add PROFILE NUMBER MEMBER..., since you choose the numbers; and \
    group_modify, group_remove; or a file: siding ctl write FILE";

/// Commands for which there is another way, and why they do not work as they are.
const INSTEAD: &[(&str, &str)] = &[
    (
        "mc_node_create",
        "siding ctl mc-group GROUP PORT..., since nodes have no handles; or a file: siding ctl write FILE",
    ),
    (
        "mc_node_associate",
        "siding ctl mc-group GROUP PORT..., since nodes have no handles; or a file: siding ctl write FILE",
    ),
    ("mc_node_dissociate", "siding ctl mc-group GROUP PORT... gives a group its ports"),
    ("act_prof_create_member", MEMBERS),
    ("act_prof_modify_member", MEMBERS),
    ("act_prof_delete_member", MEMBERS),
    ("act_prof_create_group", GROUPS),
    ("act_prof_delete_group", GROUPS),
    ("act_prof_add_member_to_group", GROUPS),
    ("act_prof_remove_member_from_group", GROUPS),
    ("act_prof_dump", "siding ctl show profiles"),
    ("act_prof_dump_member", "siding ctl show profiles"),
    ("act_prof_dump_group", "siding ctl show profiles"),
    ("table_indirect_set_default", "a table with an action profile has the default action of its program"),
    (
        "table_indirect_set_default_with_group",
        "a table with an action profile has the default action of its program",
    ),
    ("table_indirect_reset_default", "a table with an action profile has the default action of its program"),
    ("table_dump_entry", "siding ctl show entries TABLE, since entries have no numbers"),
    ("mc_node_update", "siding ctl mc-group GROUP PORT... gives a group its ports"),
    ("mc_node_destroy", "siding ctl mc-group GROUP PORT... gives a group its ports"),
    ("port_add", "siding ctl port add PORT@INTERFACE"),
    ("port_remove", "siding ctl port remove PORT"),
    ("set_queue_rate", "siding ctl set-rate PORT RATE"),
    ("set_queue_depth", "depths of queues are fixed"),
    ("load_new_config_file", "siding ctl replace PROGRAM.p4"),
    ("swap_configs", "siding ctl replace PROGRAM.p4"),
    ("reset_state", "siding ctl delete TABLE all, for each table"),
    ("switch_info", "siding ctl show program"),
    ("help", "siding ctl --help"),
    ("counter_reset", "counter_write COUNTER INDEX 0 0"),
];

/// The request of a command, given as words. Fails with a message for people.
pub fn request(words: &[String]) -> Result<Request, String> {
    let Some((command, rest)) = words.split_first() else { return Err("no command is given".to_owned()) };
    let is_one = |known: &[&str]| known.contains(&command.as_str());
    if let Some((_, what)) = SHOWN.iter().find(|(name, _)| name == command) {
        return Ok(Request::Show { what: *what, name: rest.first().cloned() });
    }
    if let Some((_, instead)) = BY_NUMBER.iter().find(|(name, _)| name == command) {
        return Err(format!(
            "entries of a running switch have no numbers, which {command} needs; name the entry by its key: {instead}"
        ));
    }
    if let Some((_, instead)) = INSTEAD.iter().find(|(name, _)| name == command) {
        return Err(format!("{command} is BMv2's; here: {instead}"));
    }
    match (command.as_str(), rest) {
        ("table_clear", [table]) => return Ok(Request::ClearTable { table: table.clone() }),
        ("table_clear", _) => return Err("table_clear takes the name of a table".to_owned()),
        ("mc_mgrp_destroy", [group]) => return Ok(Request::RemoveGroup { group: number(group)? }),
        ("mirroring_delete", [session]) => return Ok(Request::RemoveSession { session: number(session)? }),
        ("mc_mgrp_destroy" | "mirroring_delete", _) => return Err(format!("{command} takes one number")),
        ("register_read", [register]) => {
            return Ok(Request::Show { what: What::Registers, name: Some(register.clone()) });
        }
        _ => {}
    }
    if matches!(command.as_str(), "table_add" | "table_indirect_add" | "table_indirect_add_with_group")
        && !rest.iter().any(|word| word == "=>")
    {
        return Err(format!(
            "{command} has no `=>`; write it in quotes, since shells redirect output at `>`: '=>'"
        ));
    }
    let text = words.join(" ");
    if is_one(WRITES) {
        return Ok(Request::Write { text, name: Some("command".to_owned()) });
    }
    if is_one(SCRIPTED) {
        return Ok(Request::Commands { text });
    }
    let commands = Cli::command();
    let ours = commands.find_subcommand("ctl").into_iter().flat_map(clap::Command::get_subcommands);
    let ours = ours.map(clap::Command::get_name);
    let shown = SHOWN.iter().map(|(name, _)| *name);
    let more = ["table_clear", "mc_mgrp_destroy", "mirroring_delete"];
    let known = ours.chain(more).chain(WRITES.iter().copied()).chain(SCRIPTED.iter().copied()).chain(shown);
    let nearest = nearest_word(command, known).map(|name| format!("; did you mean `{name}`?"));
    Err(format!("siding ctl has no command `{command}`{}", nearest.unwrap_or_default()))
}

fn number(text: &str) -> Result<u32, String> {
    let digits = text.strip_prefix("0x").map(|digits| u32::from_str_radix(digits, 16));
    digits.unwrap_or_else(|| text.parse()).map_err(|_| format!("`{text}` is no number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(line: &str) -> Result<Request, String> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        request(&words)
    }

    #[test]
    fn commands_become_requests() {
        let line = "table_add ipv4_lpm forward 10.0.1.1/32 => 2";
        let write = Request::Write { text: line.to_owned(), name: Some("command".to_owned()) };
        assert_eq!(asked(line), Ok(write));
        let shown = Request::Show { what: What::Entries, name: Some("ipv4_lpm".to_owned()) };
        assert_eq!(asked("table_dump ipv4_lpm"), Ok(shown));
        assert_eq!(asked("table_clear t"), Ok(Request::ClearTable { table: "t".to_owned() }));
        assert_eq!(asked("mirroring_delete 0x10"), Ok(Request::RemoveSession { session: 16 }));
        assert_eq!(asked("mc_mgrp_destroy 7"), Ok(Request::RemoveGroup { group: 7 }));
        let line = "register_write r 3 4";
        assert_eq!(asked(line), Ok(Request::Commands { text: line.to_owned() }));
    }

    #[test]
    fn commands_that_cannot_work_say_what_does() {
        for (line, message) in [
            ("table_add t a 10.0.1.1/32", "write it in quotes"),
            ("table_delete t 3", "siding ctl delete TABLE KEY..."),
            ("table_modify t a 3 => 4", "siding ctl modify TABLE"),
            ("tabel_add t", "did you mean `table_add`?"),
            ("shwo ports", "did you mean `show`?"),
            ("mc_node_create 0 1 2", "siding ctl mc-group"),
            ("mirroring_delete x", "`x` is no number"),
            ("port_add e 3", "siding ctl port add"),
            ("fly", "siding ctl has no command `fly`"),
        ] {
            let found = asked(line).unwrap_err();
            assert!(found.contains(message), "{line}: {found}");
        }
    }
}
