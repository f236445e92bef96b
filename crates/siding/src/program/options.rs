//! Options as they were typed, and as they are to be typed again.

use crate::cli::FrontEndArgs;
use clap::ArgMatches;

/// The values of options in the order in which they were typed.
pub fn in_order<'m>(matches: &'m ArgMatches, ids: &[&'static str]) -> Vec<(&'static str, &'m str)> {
    let mut found = Vec::new();
    for id in ids {
        let values = matches.get_many::<String>(id).into_iter().flatten();
        found.extend(
            matches.indices_of(id).into_iter().flatten().zip(values).map(|(i, v)| (i, *id, v.as_str())),
        );
    }
    found.sort_by_key(|(i, ..)| *i);
    found.into_iter().map(|(_, id, value)| (id, value)).collect()
}

/// `siding check` with the options of `args` that decide what it finds; programs are left out.
pub fn check_command(args: &FrontEndArgs, matches: &ArgMatches) -> String {
    let mut words = vec!["siding check".to_owned()];
    words.extend(args.include_dirs.iter().map(|dir| format!("-I {}", quoted(&dir.to_string_lossy()))));
    let macros = in_order(matches, &["defines", "undefines"]);
    words.extend(macros.into_iter().map(|(id, value)| {
        let flag = if id == "defines" { "-D" } else { "-U" };
        format!("{flag} {}", quoted(value))
    }));
    words.extend(args.strict.then(|| "--strict".to_owned()));
    words.extend(args.assignable_action_data.then(|| "--assignable-action-data".to_owned()));
    for (id, name) in in_order(matches, &["w_error", "w_warn", "w_info", "w_disable"]) {
        let flag = match id {
            "w_error" => "--Werror",
            "w_warn" => "--Wwarn",
            "w_info" => "--Winfo",
            _ => "--Wdisable",
        };
        let name = if name.is_empty() { String::new() } else { format!("={}", quoted(name)) };
        words.push(format!("{flag}{name}"));
    }
    words.join(" ")
}

/// A word as a POSIX shell reads it back.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@+%".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_the_shell() {
        assert_eq!(quoted("dir/a-b.p4"), "dir/a-b.p4");
        assert_eq!(quoted("my program.p4"), "'my program.p4'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
