//! `siding ir`.

use super::check::write_file;
use crate::cli::IrArgs;
use crate::output::{self, Exit};
use crate::program::load_to_show;
use clap::ArgMatches;
use std::path::Path;

pub fn run(args: &IrArgs, matches: &ArgMatches) -> Exit {
    let loaded = match load_to_show(&args.program, &args.front_end, matches) {
        Ok(loaded) => loaded,
        Err(exit) => return exit,
    };
    let text = ir::text::print(&loaded.program);
    match write_file(args.output.as_deref().unwrap_or(Path::new("-")), text.as_bytes()) {
        Ok(()) => Exit::Ok,
        Err(error) => {
            output::error_line(&error);
            Exit::Environment
        }
    }
}
