//! `siding bench`.

use crate::cli::BenchFrontendArgs;
use crate::output::{self, Exit};

pub fn frontend(_args: &BenchFrontendArgs) -> Exit {
    output::error_line("benchmarks are not there yet");
    Exit::Bug
}
