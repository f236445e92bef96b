//! Output of a run for people and for programs, and its exit code.

use diagnostics::render::{self, Style, Tool};
use diagnostics::{Diagnostic, Severity, SourceMap};
use std::io::{IsTerminal, Write};
use std::sync::Arc;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    Ok,
    /// A test or assertion failed.
    Failed,
    /// The command line makes no sense.
    Usage,
    /// The program has errors.
    CompileError,
    /// Something outside is missing or forbidden.
    Environment,
    /// A bug in Siding.
    Bug,
}

impl Exit {
    pub fn code(self) -> u8 {
        match self {
            Exit::Ok => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::CompileError => 3,
            Exit::Environment => 4,
            Exit::Bug => 70,
        }
    }
}

/// Writes to standard output. A reader that went away is not our fault.
pub fn out(text: &str) {
    out_bytes(text.as_bytes());
}

pub fn out_bytes(bytes: &[u8]) {
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(bytes).and_then(|()| stdout.flush());
}

pub fn err(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// `error: ...` without a code: about the run, not about the program.
pub fn error_line(message: &str) {
    err(&format!("error: {message}\n"));
}

pub fn warning_line(message: &str) {
    err(&format!("warning: {message}\n"));
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ErrorFormat {
    /// Excerpts with labels, notes and fixes
    Human,
    /// One line per message
    Short,
    /// One JSON object per line, on standard output
    Json,
    /// A SARIF 2.1.0 log, on standard output
    Sarif,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ColorChoice {
    Auto,
    Always,
    Never,
}

impl ColorChoice {
    /// Colour for people only: on a terminal, and neither `NO_COLOR` (https://no-color.org) nor a dumb terminal.
    pub fn for_stderr(self) -> bool {
        match self {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => {
                let no_color = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
                let is_dumb = std::env::var_os("TERM").is_some_and(|t| t == "dumb");
                std::io::stderr().is_terminal() && !no_color && !is_dumb
            }
        }
    }
}

/// Prints the diagnostics of a run over several programs.
pub struct Printer {
    pub format: ErrorFormat,
    pub color: bool,
    /// Errors shown; `None` shows all.
    pub n_errors_max: Option<usize>,
    n_errors_shown: usize,
    n_errors_hidden: usize,
    counted: Vec<Diagnostic>,
    log: Vec<(Diagnostic, Arc<SourceMap>)>,
}

impl Printer {
    pub fn new(format: ErrorFormat, color: bool, n_errors_max: Option<usize>) -> Printer {
        Printer {
            format,
            color,
            n_errors_max,
            n_errors_shown: 0,
            n_errors_hidden: 0,
            counted: Vec::new(),
            log: Vec::new(),
        }
    }

    /// Shows what one program gave.
    pub fn show(&mut self, diagnostics: Vec<Diagnostic>, sources: SourceMap) {
        self.show_shared(diagnostics, &Arc::new(sources));
    }

    /// Shows what one program gave, for sources that others need, too.
    pub fn show_shared(&mut self, diagnostics: Vec<Diagnostic>, sources: &Arc<SourceMap>) {
        for d in diagnostics {
            if d.severity == Severity::Error {
                if self.n_errors_max.is_some_and(|max| self.n_errors_shown >= max) {
                    self.n_errors_hidden += 1;
                    self.counted.push(d);
                    continue;
                }
                self.n_errors_shown += 1;
            }
            match self.format {
                ErrorFormat::Human => {
                    let style = Style { color: self.color, ..Style::default() };
                    err(&format!("{}\n", render::human(&d, sources, style)));
                }
                ErrorFormat::Short => err(&format!("{}\n", render::short(&d, sources))),
                ErrorFormat::Json => out(&format!("{}\n", render::json(&d, sources))),
                ErrorFormat::Sarif => self.log.push((d.clone(), Arc::clone(sources))),
            }
            self.counted.push(d);
        }
    }

    /// Ends the run: closing line or log.
    pub fn finish(self) {
        match self.format {
            ErrorFormat::Human | ErrorFormat::Short => {
                if self.n_errors_hidden > 0 {
                    let n = self.n_errors_hidden;
                    err(&format!("{n} more errors are not shown; --maxErrorCount raises the limit\n"));
                }
                let summary = render::summary(&self.counted);
                if !summary.is_empty() {
                    err(&format!("{summary}\n"));
                }
            }
            ErrorFormat::Json => {}
            ErrorFormat::Sarif => {
                let tool = Tool { name: "siding", version: env!("CARGO_PKG_VERSION") };
                out(&render::sarif(self.log.iter().map(|(d, s)| (d, &**s)), tool));
            }
        }
    }
}
