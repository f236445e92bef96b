//! `siding switch` as a process.

use super::{Running, write};
use std::path::Path;
use std::process::Command;

/// A program with its entries, and where it runs.
#[derive(Debug)]
pub struct OwnSwitch<'a> {
    /// A directory for its files.
    pub dir: &'a Path,
    /// P4 text.
    pub program: &'a str,
    /// Names and texts of files that the program includes.
    pub includes: &'a [(&'a str, &'a str)],
    /// Entries as a test script has them.
    pub entries: &'a str,
    /// Numbered from 0, as `siding switch -i` names them.
    pub ports: &'a [String],
    /// A worker on each.
    pub cores: &'a [usize],
    /// Optimisation of the compiled code.
    pub optimise: u8,
    /// Further options of `siding switch`.
    pub options: &'a [String],
}

impl OwnSwitch<'_> {
    pub fn start(&self, log: &Path, running: &mut Running) -> Result<(), String> {
        let (program, entries) = (self.dir.join("program.p4"), self.dir.join("entries.stf"));
        write(&program, self.program)?;
        write(&entries, self.entries)?;
        for (name, text) in self.includes {
            write(&self.dir.join(name), text)?;
        }
        let own = std::env::current_exe().map_err(|error| error.to_string())?;
        let cores: Vec<String> = self.cores.iter().map(usize::to_string).collect();
        let mut command = Command::new(own);
        command
            .arg("switch")
            .arg(&program)
            .args(["--backend", "native", "--metrics-addr", "off", "--log-level", "error", "--entries"])
            .arg(&entries)
            .arg("--ctl-socket")
            .arg(self.dir.join("ctl"));
        for (number, port) in self.ports.iter().enumerate() {
            command.args(["-i", &format!("{number}@{port}")]);
        }
        command
            .args(["--workers", &cores.len().to_string(), "--cores", &cores.join(","), "--wait", "busy"])
            .args(["-O", &self.optimise.to_string()])
            .args(self.options);
        running.start(&mut command, log)
    }
}
