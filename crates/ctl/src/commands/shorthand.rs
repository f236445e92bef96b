//! Short commands for tables as the language of test scripts has them.
//!
//! `add routes 10.0.0.0/8 set_next_hop(1)` becomes
//! `add Router.routes headers.ipv4.destination:0x0a000000/8 set_next_hop(next_hop:1)`: keys and arguments may be
//! without names, in the order of the program, and values may be addresses.

use control::Schema;
use control::schema::{Action, Table};
use std::net::{Ipv4Addr, Ipv6Addr};

/// Expands a short command; other commands stay as they are.
pub fn expand(schema: &Schema, line: &str) -> Result<String, String> {
    let words = words(line);
    let mut rest = words.iter().map(String::as_str);
    let verb = rest.next().unwrap_or_default();
    let (verb, has_keys, has_action) = match verb.to_ascii_lowercase().as_str() {
        "add" => ("add", true, true),
        "modify" => ("modify", true, true),
        "delete" | "remove" => ("remove", true, false),
        "setdefault" => ("setdefault", false, true),
        _ => return Ok(line.to_owned()),
    };
    let Some(name) = rest.next() else { return Err(format!("`{verb}` needs the name of a table")) };
    if name == "all" {
        return Ok(line.to_owned());
    }
    let table = find_table(schema, name)?;
    let mut out = vec![verb.to_owned(), table.names.name.to_string()];
    let mut rest: Vec<&str> = rest.collect();
    let action = if has_action { rest.pop() } else { None };
    if has_action && action.is_none() {
        return Err(format!("`{verb} {name}` needs an action: {}", actions(schema, table)));
    }
    let mut keys = table.keys.iter();
    for (i, word) in rest.into_iter().enumerate() {
        let is_priority = i == 0 && table.needs_priority() && word.parse::<u32>().is_ok();
        if !has_keys || is_priority || word.starts_with('$') {
            out.push(word.to_owned());
            continue;
        }
        let named = word.split_once(':').filter(|(name, _)| {
            table.keys.iter().any(|key| key.name == *name || key.name.ends_with(&format!(".{name}")))
        });
        let (key, value) = match named {
            Some(named) => named,
            None => match keys.next() {
                Some(key) => (key.name.as_str(), word),
                None => {
                    let n = table.keys.len();
                    return Err(format!("`{word}` is one too many: `{}` has {n} keys", table.names.name));
                }
            },
        };
        out.push(format!("{key}:{}", number_of(value)));
    }
    out.extend(action.map(|action| call(schema, table, action)).transpose()?);
    Ok(out.join(" "))
}

/// Separated by blanks that are not in parentheses; a word may begin with them.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut depth) = (Vec::new(), String::new(), 0_u32);
    for c in line.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if c.is_whitespace() && depth == 0 {
            if !word.is_empty() {
                words.push(std::mem::take(&mut word));
            }
        } else {
            word.push(c);
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// By its name, its alias, or an end of its name that no other table has.
fn find_table<'s>(schema: &'s Schema, name: &str) -> Result<&'s Table, String> {
    let is_named = |table: &&Table| table.names.name == name || table.names.alias == name;
    if let Some(table) = schema.tables.iter().find(is_named) {
        return Ok(table);
    }
    let end = format!(".{name}");
    let mut ending = schema.tables.iter().filter(|table| table.names.name.ends_with(&end));
    match (ending.next(), ending.next()) {
        (Some(table), None) => Ok(table),
        (Some(_), Some(_)) => Err(format!("more than one table is called `{name}`")),
        (None, _) => {
            let known = schema.tables.iter().map(|table| table.names.name.as_str());
            let ends = known.clone().map(|known| known.rsplit('.').next().unwrap_or(known));
            let nearest = diagnostics::suggest::nearest_word(name, known.clone().chain(ends));
            Err(match nearest {
                Some(nearest) => format!("there is no table `{name}`; did you mean `{nearest}`?"),
                None => {
                    format!("there is no table `{name}`; there are {}", known.collect::<Vec<_>>().join(", "))
                }
            })
        }
    }
}

fn actions(schema: &Schema, table: &Table) -> String {
    let names = table.actions.iter().map(|action| schema.name_of(action.id.0).to_string());
    names.collect::<Vec<_>>().join(", ")
}

/// An action with named arguments.
fn call(schema: &Schema, table: &Table, text: &str) -> Result<String, String> {
    let Some((name, args)) = text.split_once('(') else {
        // A member or a group is two words, of which this is the second; an action without arguments needs none.
        let is_action = find_action(schema, table, text).is_some();
        return Ok(if is_action { format!("{text}()") } else { text.to_owned() });
    };
    let action = find_action(schema, table, name).ok_or_else(|| {
        format!("`{}` has no action `{name}`; it has {}", table.names.name, actions(schema, table))
    })?;
    let args = args.trim_end().trim_end_matches(')');
    let mut params = action.params.iter();
    let mut full = Vec::new();
    for arg in args.split(',').map(str::trim).filter(|arg| !arg.is_empty()) {
        let named = arg.split_once(':').filter(|(name, _)| action.params.iter().any(|p| p.name == *name));
        let (param, value) = match named {
            Some((param, value)) => (param, value.trim()),
            None => match params.next() {
                Some(param) => (param.name.as_str(), arg),
                None => return Err(format!("`{arg}` is one too many: `{name}` has {}", action.params.len())),
            },
        };
        full.push(format!("{param}:{}", number_of(value)));
    }
    Ok(format!("{}({})", action.names.name, full.join(", ")))
}

fn find_action<'s>(schema: &'s Schema, table: &Table, name: &str) -> Option<&'s Action> {
    let known = || table.actions.iter().filter_map(|action| schema.actions.get(action.id));
    let end = format!(".{name}");
    known()
        .find(|action| action.names.name == name || action.names.alias == name)
        .or_else(|| known().find(|action| action.names.name.ends_with(&end)))
}

/// Addresses as numbers; what else there is (masks, ranges, lengths) as it is.
fn number_of(value: &str) -> String {
    for joint in ["&&&", "..", "/"] {
        if let Some((first, second)) = value.split_once(joint) {
            let second = if joint == "/" { second.to_owned() } else { number_of(second) };
            return format!("{}{joint}{second}", number_of(first));
        }
    }
    let bytes: Vec<&str> = value.split(':').collect();
    let is_mac = bytes.len() == 6 && bytes.iter().all(|b| b.len() == 2 && u8::from_str_radix(b, 16).is_ok());
    if is_mac {
        format!("0x{}", bytes.concat())
    } else if let Ok(address) = value.parse::<Ipv4Addr>() {
        format!("0x{:08x}", address.to_bits())
    } else if let Ok(address) = value.parse::<Ipv6Addr>() {
        format!("0x{:032x}", address.to_bits())
    } else {
        value.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Schema {
        let path =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/01-router/router.p4");
        let source = driver::read_source(&path).unwrap_or_else(|e| panic!("{e}"));
        let mut checked = driver::check(&source, &driver::FileLoader::default(), &driver::Options::default());
        let plane = driver::control_plane(&mut checked, None).unwrap_or_else(|| panic!("no control plane"));
        Schema::new(&plane.p4info).unwrap_or_else(|e| panic!("{e}"))
    }

    #[test]
    fn short_commands_in_full() {
        let schema = schema();
        for (short, full) in [
            (
                "add routes 10.0.0.0/8 set_next_hop(1)",
                "add Router.routes headers.ipv4.destination:0x0a000000/8 Router.set_next_hop(next_hop:1)",
            ),
            (
                "add next_hops 1 forward(1, 02:00:00:00:00:01, destination:02:00:00:00:00:aa)",
                "add Router.next_hops meta.next_hop:1 Router.forward(port:1, source:0x020000000001, \
                 destination:0x0200000000aa)",
            ),
            (
                "add access_list 10 protocol:6 destination_port:23..23 drop",
                "add Router.access_list 10 protocol:6 destination_port:23..23 drop()",
            ),
            (
                "add access_list 10 10.1.0.0&&&255.255.0.0 _ 6 permit()",
                "add Router.access_list 10 source:0x0a010000&&&0xffff0000 destination:_ protocol:6 Router.permit()",
            ),
            ("delete routes 10.0.0.0/8", "remove Router.routes headers.ipv4.destination:0x0a000000/8"),
            ("setdefault routes drop()", "setdefault Router.routes Router.drop()"),
            ("register_read r 5", "register_read r 5"),
        ] {
            assert_eq!(expand(&schema, short).as_deref(), Ok(full), "{short}");
        }
        for (wrong, why) in [
            ("add route 1 drop()", "did you mean"),
            ("add routes", "set_next_hop"),
            ("add routes 1 2 drop()", "too many"),
            ("add routes 1 nothing()", "no action `nothing`"),
            ("add routes 1 set_next_hop(1, 2)", "too many"),
            ("add", "name of a table"),
        ] {
            let error = expand(&schema, wrong).expect_err(wrong);
            assert!(error.contains(why), "{wrong}: {error}");
        }
    }
}
