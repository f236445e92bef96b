//! `siding trace` and `siding why`.

use crate::cli::TraceArgs;
use crate::output::{self, Exit};
use crate::program::{Simulation, check_port, read_packet, tint};
use clap::ArgMatches;
use trace::{StoryBuilder, render, render_full};

pub fn run(args: &TraceArgs, matches: &ArgMatches) -> Exit {
    let packet = match read_packet(&args.packet) {
        Ok(packet) => packet,
        Err(exit) => return exit,
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
    } else if args.brief {
        output::out(&tint(&format!("{}\n", story.summary), args.front_end.color));
    } else if args.full {
        output::out(&tint(&render_full(&story), args.front_end.color));
    } else {
        output::out(&tint(&render(&story), args.front_end.color));
    }
    Exit::Ok
}
