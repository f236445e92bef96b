//! Answers to command lines that clap refuses, in words of people who do not write Rust.

use super::examples;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};
use std::error::Error as _;
use std::ffi::OsString;

/// Limits of whole numbers that are those of a type, not of an option.
const TYPE_LIMIT: u64 = u32::MAX as u64;

/// The message for an error of clap's: tips that lead nowhere are left out, and faulty values are told what is expected.
pub fn answer(mut error: Error, command: &Command, args: &[OsString], is_coloured: bool) -> String {
    let mut tips = match error.remove(ContextKind::Suggested) {
        Some(ContextValue::StyledStrs(tips)) => tips,
        _ => Vec::new(),
    };
    // Clap takes whatever begins with a dash for a value that was meant.
    tips.retain(|tip| !tip.to_string().contains("as a value, use"));
    tips.extend(product(&error, command, args));
    tips.extend(block(&error, args));
    if !tips.is_empty() {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
    let text = error.render();
    let text = if is_coloured { text.ansi().to_string() } else { text.to_string() };
    let text = match error.kind() {
        ErrorKind::MissingRequiredArgument => with_example(text, command, args),
        _ => text,
    };
    match error.source() {
        Some(source) if error.kind() == ErrorKind::ValueValidation => {
            let source = source.to_string();
            text.replacen(&format!(": {source}"), &format!(": {}", expected(&source)), 1)
        }
        _ => text,
    }
}

/// Adds the first example of the command whose arguments are missing.
fn with_example(text: String, command: &Command, args: &[OsString]) -> String {
    let mut command = command;
    let mut path = Vec::new();
    for word in args.iter().skip(1) {
        let Some(sub) = command.find_subcommand(word) else { break };
        path.push(sub.get_name());
        command = sub;
    }
    match examples::of(&path.join(" ")).first() {
        Some((line, _)) => text.replacen(
            "\n\nFor more information",
            &format!("\n\nExample: {line}\n\nFor more information"),
            1,
        ),
        None => text,
    }
}

/// A tip for options of `siding build` that somebody gives to `siding check`.
fn product(error: &Error, command: &Command, args: &[OsString]) -> Option<StyledStr> {
    let is_check = args.get(1).is_some_and(|command| command == "check");
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else { return None };
    if !is_check || error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let mut options = command.find_subcommand("build")?.get_arguments();
    let is_of_build = options.any(|option| {
        option.get_long().is_some_and(|long| *unknown == format!("--{long}"))
            || option.get_short().is_some_and(|short| *unknown == format!("-{short}"))
    });
    is_of_build.then(|| format!("to compile the program: siding build {unknown} ...").into())
}

/// A tip for the name of a block behind `siding graph --control`, which takes none.
fn block(error: &Error, args: &[OsString]) -> Option<StyledStr> {
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else { return None };
    let is_graph = args.get(1).is_some_and(|command| command == "graph");
    let is_meant = error.kind() == ErrorKind::UnknownArgument && unknown.ends_with(".p4");
    let kinds = ["--control", "--parser", "--tables"];
    let name = args.windows(2).find(|pair| kinds.iter().any(|kind| pair[0] == *kind)).map(|pair| &pair[1])?;
    (is_graph && is_meant).then(|| format!("to name a block: --block {}", name.display()).into())
}

/// The value that an option expects, by the error of Rust's parser.
fn expected(source: &str) -> String {
    let number = match source {
        "invalid digit found in string" | "cannot parse integer from empty string" => "a whole number",
        "number too large to fit in target type" => "a smaller number",
        "number too small to fit in target type" => "a larger number",
        "invalid float literal" | "cannot parse float from empty string" => "a number",
        _ => return range(source).unwrap_or_else(|| source.to_owned()),
    };
    format!("expected {number}")
}

/// From `300 is not in 1..=256`.
fn range(source: &str) -> Option<String> {
    let (_, range) = source.split_once(" is not in ")?;
    let (least, most) = range.split_once("..")?;
    let (most, is_included) = match most.strip_prefix('=') {
        Some(most) => (most, true),
        None => (most, false),
    };
    let (least, most): (i128, i128) = (least.parse().ok()?, most.parse().ok()?);
    let most = if is_included { most } else { most - 1 };
    Some(match most < i128::from(TYPE_LIMIT) {
        true => format!("expected a whole number from {least} to {most}"),
        false => format!("expected a whole number, {least} or more"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Arg, ArgAction};

    fn said(args: &[&str]) -> String {
        let args: Vec<OsString> =
            super::super::normalise_compat_flags(args.iter().map(|arg| OsString::from(*arg)));
        let error = super::super::command().try_get_matches_from(&args).unwrap_err();
        answer(error, &super::super::command(), &args, false)
    }

    #[test]
    fn options_of_build_are_known() {
        let text = said(&["siding", "check", "-o", "x.json", "a.p4"]);
        assert!(text.contains("tip: to compile the program: siding build -o ..."), "{text}");
        let text = said(&["siding", "check", "--emit", "c", "a.p4"]);
        assert!(text.contains("siding build --emit ..."), "{text}");
        let text = said(&["siding", "check", "--nonsense", "a.p4"]);
        assert!(!text.contains("tip:") && text.contains("unexpected argument '--nonsense'"), "{text}");
        let text = said(&["siding", "check", "--wdisable", "a.p4"]);
        assert!(text.contains("a similar argument exists"), "{text}");
    }

    #[test]
    fn values_are_told_what_is_expected() {
        for (args, wanted) in [
            (&["trace", "a.p4", "-p", "00", "--port", "x"][..], "'--port <N>': expected a whole number\n"),
            (
                &["trace", "a.p4", "-p", "00", "--port", "-5"],
                "'--port <N>': expected a whole number, 0 or more\n",
            ),
            (&["switch", "--workers", "0"], "'--workers <N>': expected a whole number from 1 to 256\n"),
            (&["switch", "--workers", "-1"], "'--workers <N>': expected a whole number from 1 to 256\n"),
            (&["build", "-O", "7", "a.p4"], "expected a whole number from 0 to 3\n"),
            (&["sim", "--zipf", "often"], "expected a number\n"),
            (&["sim", "-n", "0"], "expected a whole number, 1 or more\n"),
            (&["model", "extern", "--share", "-3"], "expected a number from 0 to 100\n"),
        ] {
            let args = [&["siding"], args].concat();
            let text = said(&args);
            assert!(text.contains(wanted), "{args:?}: {text}");
        }
    }

    #[test]
    fn missing_arguments_are_shown_in_an_example() {
        let text = said(&["siding", "trace", "router.p4"]);
        assert!(
            text.contains("--packet <PACKET>") && text.contains("\nExample: siding trace router.p4 -p "),
            "{text}"
        );
        let text = said(&["siding", "ctl", "mc-group", "1"]);
        assert!(text.contains("\nExample: siding ctl mc-group 1 2 3 4\n"), "{text}");
    }

    /// The words of Rust's own parsers.
    const RUST: &[&str] =
        &["invalid digit", "float literal", "target type", "is not in", "from empty string", "..="];

    fn try_all(root: &mut Command, command: &Command, path: &[&str], n_tried: &mut usize) {
        let options = command.get_arguments().filter(|arg| {
            matches!(arg.get_action(), ArgAction::Set | ArgAction::Append) && arg.get_long().is_some()
        });
        for option in options.filter_map(Arg::get_long) {
            for value in ["x", "-5", "-x", "", "1.5", "99999999999999999999999", "1e999"] {
                let option = format!("--{option}");
                let given = [path, &[option.as_str(), value]].concat();
                let args: Vec<OsString> = given.iter().map(OsString::from).collect();
                let Err(error) = root.try_get_matches_from_mut(&args) else { continue };
                let text = answer(error, root, &args, false);
                let found = RUST.iter().find(|word| text.contains(**word));
                assert!(found.is_none(), "{given:?}: {text}");
                assert!(!text.contains("as a value, use"), "{given:?}: {text}");
                *n_tried += 1;
            }
        }
        for sub in command.get_subcommands() {
            try_all(root, sub, &[path, &[sub.get_name()]].concat(), n_tried);
        }
    }

    #[test]
    fn no_option_answers_in_rust() {
        let mut n_tried = 0;
        let command = super::super::command();
        try_all(&mut command.clone(), &command, &["siding"], &mut n_tried);
        assert!(n_tried > 200, "{n_tried}");
    }
}
