//! Processes of what is measured.

use crate::network::run;
use packet_io::XdpForwarder;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Processes and interfaces of a subject. They end with this value.
#[derive(Debug, Default)]
pub struct Running {
    children: Vec<Child>,
    /// Commands that undo what was set up.
    pub undo: Vec<Vec<String>>,
    /// Programs in the kernel, which forward while this is held.
    pub forwarder: Option<XdpForwarder>,
}

impl Drop for Running {
    fn drop(&mut self) {
        for child in self.children.iter_mut().rev() {
            let _ = child.kill();
            let _ = child.wait();
        }
        for command in self.undo.iter().filter(|command| !command.is_empty()) {
            let _ = run(Command::new(&command[0]).args(&command[1..]), &command.join(" "), "");
        }
    }
}

impl Running {
    /// Fails with the last line of the log if a process has ended.
    pub fn check(&mut self, log: &Path) -> Result<(), String> {
        for child in &mut self.children {
            if child.try_wait().is_ok_and(|ended| ended.is_some()) {
                let said = fs::read_to_string(log).unwrap_or_default();
                let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it has ended");
                return Err(last.trim().to_owned());
            }
        }
        Ok(())
    }

    pub fn start(&mut self, command: &mut Command, log: &Path) -> Result<(), String> {
        let file = fs::OpenOptions::new().create(true).append(true).open(log).map_err(|e| e.to_string())?;
        let also = file.try_clone().map_err(|e| e.to_string())?;
        // Testpmd ends at the end of its input.
        command.stdin(Stdio::piped()).stdout(file).stderr(also);
        let program = command.get_program().to_string_lossy().into_owned();
        self.children.push(command.spawn().map_err(|error| format!("cannot start {program}: {error}"))?);
        Ok(())
    }

    /// Writes a line to the input of the process that was started last.
    pub fn say(&mut self, line: &str) -> Result<(), String> {
        let input = self.children.last_mut().and_then(|child| child.stdin.as_mut());
        let input = input.ok_or("nothing has been started")?;
        writeln!(input, "{line}").map_err(|error| format!("cannot write `{line}` to its input: {error}"))
    }
}

pub fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}
