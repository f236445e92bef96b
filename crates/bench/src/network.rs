//! Commands that set up networks.

use console::output::{self, Exit};
use std::io::Write;
use std::process::{Command, Stdio};

/// `ip ...`, with words separated by blanks.
pub fn ip(command: &str) -> Result<(), Exit> {
    let made = run(Command::new("ip").args(command.split_whitespace()), &format!("ip {command}"), "");
    made.map_err(|why| {
        output::error_line(&why);
        Exit::Failed
    })
}

/// Gives a text to a command and waits for its end; the error has the command as it is `shown`, and what it says.
pub fn run(command: &mut Command, shown: &str, input: &str) -> Result<(), String> {
    let failed = |error: String| format!("`{shown}` in a network namespace: {}", error.trim());
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that does not read its input says why itself.
        let _ = stdin.write_all(input.as_bytes());
    }
    let ended = child.wait_with_output().map_err(|error| failed(error.to_string()))?;
    match ended.status.success() {
        true => Ok(()),
        false => Err(failed(String::from_utf8_lossy(&ended.stderr).into_owned())),
    }
}
