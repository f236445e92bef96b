//! `siding trace`.

use crate::cli::TraceArgs;
use crate::output::{self, Exit};
use crate::program::{Simulation, check_port};
use clap::ArgMatches;
use trace::{StoryBuilder, render};

pub fn run(args: &TraceArgs, matches: &ArgMatches) -> Exit {
    let packet = match from_hex(&args.packet) {
        Ok(packet) => packet,
        Err(message) => {
            output::error_line(&message);
            return Exit::Usage;
        }
    };
    let mut simulation =
        match Simulation::new(&args.program, &args.switch, &args.externs, &args.front_end, matches) {
            Ok(simulation) => simulation,
            Err(exit) => return exit,
        };
    if let Err(exit) = check_port(simulation.interpreter.switch.program(), args.port, "--port") {
        return exit;
    }
    let mut story_builder = StoryBuilder::new(Some(&simulation.sources));
    simulation.interpreter.switch.inject(args.port, &packet, &mut story_builder);
    let story = story_builder.finish();
    if args.json {
        match serde_json::to_string(&story) {
            Ok(json) => output::out(&format!("{json}\n")),
            Err(error) => {
                output::error_line(&error.to_string());
                return Exit::Bug;
            }
        }
    } else {
        output::out(&render(&story));
    }
    Exit::Ok
}

/// Bytes from hexadecimal digits; blanks do not count.
fn from_hex(text: &str) -> Result<Vec<u8>, String> {
    let text = text.strip_prefix("0x").unwrap_or(text);
    let mut digits = Vec::with_capacity(text.len());
    for (at, c) in text.chars().enumerate().filter(|(_, c)| !c.is_whitespace()) {
        match c.to_digit(16) {
            Some(digit) => digits.push(digit as u8),
            None => {
                return Err(format!(
                    "the packet has `{c}` at position {}, which is no hexadecimal digit",
                    at + 1
                ));
            }
        }
    }
    if !digits.len().is_multiple_of(2) {
        return Err(format!("the packet has {} hexadecimal digits; a byte has two", digits.len()));
    }
    Ok(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

#[cfg(test)]
mod tests {
    use super::from_hex;

    #[test]
    fn digits_make_bytes() {
        assert_eq!(from_hex("0x0a 0B\tff"), Ok(vec![10, 11, 255]));
        assert_eq!(from_hex(""), Ok(Vec::new()));
        assert!(from_hex("0a0").unwrap_err().contains("3 hexadecimal digits"));
        assert!(from_hex("0g").unwrap_err().contains("`g` at position 2"));
    }
}
