//! `siding trace` and `siding why`.

use crate::cli::TraceArgs;
use crate::output::{self, Exit};
use crate::program::{Simulation, check_port, read_packet, tint};
use clap::ArgMatches;
use trace::{StoryBuilder, render, render_full};

pub fn run(args: &TraceArgs, matches: &ArgMatches) -> Exit {
    let packets: Result<Vec<_>, Exit> = args.packets.iter().map(|packet| read_packet(packet)).collect();
    let packets = match packets {
        Ok(packets) => packets,
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
    for (i, packet) in packets.iter().enumerate() {
        let mut story_builder = StoryBuilder::new(Some(&simulation.sources));
        simulation.interpreter.switch.inject(args.port, packet, &mut story_builder);
        let story = story_builder.finish();
        if args.json {
            match serde_json::to_string(&story) {
                Ok(json) => output::out(&format!("{json}\n")),
                Err(error) => {
                    output::error_line(&error.to_string());
                    return Exit::Bug;
                }
            }
            continue;
        }
        let text = match (args.brief, args.full) {
            (true, _) => format!("{}\n", story.summary),
            (false, true) => render_full(&story),
            (false, false) => render(&story),
        };
        let gap = if i > 0 && !args.brief { "\n" } else { "" };
        output::out(&tint(&format!("{gap}{text}"), args.front_end.color));
    }
    Exit::Ok
}
