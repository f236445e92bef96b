//! `siding model cpu`: a program on a core of this machine or of another.

use super::predicted;
use crate::cli::ModelCpuArgs;
use crate::output::{Exit, out};
use bench::cpu::Question;
use clap::ArgMatches;

pub fn run(args: &ModelCpuArgs, matches: &ArgMatches) -> Exit {
    let question = Question {
        entries: args.entries.clone(),
        what_if: args.what_if.clone(),
        shares: args.path_share.clone(),
        cores: args.cores.clone(),
        ghz: args.ghz,
    };
    match predicted::answer(&args.program, &args.packets, &args.front_end, matches, &question) {
        Ok(answer) => {
            out(&if args.json { format!("{}\n", answer.json()) } else { answer.text() });
            Exit::Ok
        }
        Err(exit) => exit,
    }
}
