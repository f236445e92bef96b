//! `siding fmt`.

use crate::cli::FmtArgs;
use crate::output::{self, Exit};

pub fn run(_args: &FmtArgs) -> Exit {
    output::error_line("formatting is not there yet");
    Exit::Bug
}
