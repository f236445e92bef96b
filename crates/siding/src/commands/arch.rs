//! `siding arch`.

use crate::cli::ArchArgs;
use crate::output::{self, Exit};
use driver::Architecture;

pub fn run(args: &ArchArgs) -> Exit {
    match args.architecture {
        Some(architecture) => output::out(&architecture.show()),
        None => {
            for architecture in Architecture::all() {
                let runs = if architecture.pipeline().is_some() { "runs" } else { "checked only" };
                let (name, package, include) =
                    (&architecture.name, &architecture.package, &architecture.include);
                output::out(&format!("{name:8}  {package:12}  {include:16}  {runs}\n"));
            }
        }
    }
    Exit::Ok
}
