//! `siding switch --config FILE`: options of a file, as if they stood on the command line before the others.
//!
//! The file is TOML. Its keys are the long options of `siding switch`, and `program` and `ports`. Paths are relative to the
//! file. Options of the command line win over those of the file; lists of both are joined.

use clap::CommandFactory;
use diagnostics::suggest;
use std::ffi::OsString;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Options that name files.
const PATHS: &[&str] = &["program", "entries", "state", "pcap", "ctl-socket", "log-file", "extern"];

/// Replaces `--config FILE` of `siding switch` by the options of the file. The error is a message for people.
pub fn expand(args: Vec<OsString>) -> Result<Vec<OsString>, String> {
    if args.get(1).is_none_or(|command| command != "switch") {
        return Ok(args);
    }
    let mut args = args.into_iter();
    let (mut expanded, mut rest) = (args.by_ref().take(2).collect::<Vec<_>>(), Vec::new());
    while let Some(arg) = args.next() {
        let file = match arg.to_str().and_then(|text| text.strip_prefix("--config")) {
            Some("") => args.next().ok_or("--config needs a file")?,
            Some(file) if file.starts_with('=') => file[1..].into(),
            Some(_) | None => {
                rest.push(arg);
                continue;
            }
        };
        let path = Path::new(&file);
        let text = crate::output::read_file(path)
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        expanded.extend(options(path, &text)?.into_iter().map(OsString::from));
    }
    expanded.extend(rest);
    Ok(expanded)
}

/// The options of a file.
fn options(path: &Path, text: &str) -> Result<Vec<String>, String> {
    let at = |offset: usize, message: String| {
        let line = text[..offset.min(text.len())].matches('\n').count() + 1;
        format!("{}:{line}: {message}", path.display())
    };
    let table = DeTable::parse(text)
        .map_err(|error| at(error.span().map_or(0, |span| span.start), error.message().to_owned()))?;
    let known = known_options();
    let mut options = Vec::new();
    for (key, value) in table.get_ref() {
        let name = key.get_ref().replace('_', "-");
        let faulty = |message: String| at(value.span().start, message);
        match name.as_str() {
            "ports" => options.extend(ports(value).map_err(faulty)?),
            "program" => {
                options.push("--program".to_owned());
                options.push(scalar(&name, value, path).map_err(faulty)?.unwrap_or_default());
            }
            _ if known.contains(&name) => {
                for value in values(value) {
                    match scalar(&name, value, path).map_err(|message| at(value.span().start, message))? {
                        Some(text) => options.push(format!("--{name}={text}")),
                        None if value.get_ref().as_bool() == Some(true) => options.push(format!("--{name}")),
                        None => {}
                    }
                }
            }
            _ => {
                let words = known.iter().map(String::as_str).chain(["ports", "program"]);
                let message = match suggest::closest(&name, words) {
                    Some(meant) => {
                        format!("`{name}` is no option of `siding switch`; did you mean `{meant}`?")
                    }
                    None => {
                        format!("`{name}` is no option of `siding switch`; `siding switch --help` lists them")
                    }
                };
                return Err(at(key.span().start, message));
            }
        }
    }
    Ok(options)
}

/// The long options of `siding switch`.
fn known_options() -> Vec<String> {
    let command = super::Cli::command();
    let switch = command.find_subcommand("switch");
    let longs = switch.into_iter().flat_map(clap::Command::get_arguments).filter_map(clap::Arg::get_long);
    longs.filter(|long| *long != "config").map(str::to_owned).collect()
}

/// The elements of a list, or the one value.
fn values<'v, 't>(value: &'v Spanned<DeValue<'t>>) -> Vec<&'v Spanned<DeValue<'t>>> {
    match value.get_ref() {
        DeValue::Array(items) => items.iter().collect(),
        _ => vec![value],
    }
}

/// The text of an option's value; `None` for truth values.
fn scalar(name: &str, value: &Spanned<DeValue<'_>>, path: &Path) -> Result<Option<String>, String> {
    let text = match value.get_ref() {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(_) => return Ok(None),
        DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => {
            return Err(format!("`{name}` is a text, a number or true"));
        }
    };
    let dir = path.parent().unwrap_or(Path::new(""));
    let is_path = PATHS.contains(&name) && text != "-";
    Ok(Some(if is_path { dir.join(text).display().to_string() } else { text }))
}

/// `[ports]` with `1 = "veth0"`, or a list of `"1@veth0"`.
fn ports(value: &Spanned<DeValue<'_>>) -> Result<Vec<String>, String> {
    let wrong = || "expected a table such as `1 = \"veth0\"`, or a list such as [\"1@veth0\"]".to_owned();
    let text = |value: &Spanned<DeValue<'_>>| value.get_ref().as_str().map(str::to_owned).ok_or_else(wrong);
    match value.get_ref() {
        DeValue::Table(table) => {
            let port = |(number, name): (&Spanned<std::borrow::Cow<'_, str>>, &Spanned<DeValue<'_>>)| {
                Ok(format!("--interface={}@{}", number.get_ref(), text(name)?))
            };
            table.iter().map(port).collect()
        }
        DeValue::Array(items) => {
            items.iter().map(|item| Ok(format!("--interface={}", text(item)?))).collect()
        }
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_options() {
        let text = "program = \"router.p4\"\nentries = [\"a.stf\", \"/b.json\"]\nworkers = 2\ncpu_port = 63\njson = true\n\
                    no_p4 = false\nmetrics-addr = \"off\"\n[ports]\n1 = \"veth0\"\n2 = \"tap:x\"\n";
        let found = options(Path::new("etc/pod.toml"), text).unwrap();
        for wanted in [
            "--program",
            "etc/router.p4",
            "--entries=etc/a.stf",
            "--entries=/b.json",
            "--workers=2",
            "--cpu-port=63",
            "--json",
            "--metrics-addr=off",
            "--interface=1@veth0",
            "--interface=2@tap:x",
        ] {
            assert!(found.iter().any(|option| option == wanted), "{wanted}: {found:?}");
        }
        assert!(!found.iter().any(|option| option.contains("no-p4")));
    }

    #[test]
    fn faults_have_a_line() {
        for (text, said) in [
            (
                "workers = 1\nworkres = 2\n",
                "x.toml:2: `workres` is no option of `siding switch`; did you mean `workers`?",
            ),
            ("workers = \n", "x.toml:1: "),
            ("a = 1\n", "lists them"),
            ("ports = 3\n", "x.toml:1: expected a table"),
            ("\n[ports]\n1 = 2\n", "expected a table"),
            ("workers = { a = 1 }\n", "is a text, a number or true"),
        ] {
            let error = options(Path::new("x.toml"), text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
