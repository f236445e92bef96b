//! `siding graph`.

use super::check::write_file;
use crate::cli::{GraphArgs, WaitArg};
use crate::output::{self, Exit};
use crate::program::load;
use arch::{BlockRole, ExternOp};
use clap::ArgMatches;
use ir::dot::{Picture, control_flow, parser_states, table_graph};
use ir::segments::{Segments, Wait, segments};
use ir::{BlockId, Program, passes};
use std::path::Path;

pub fn run(args: &GraphArgs, matches: &ArgMatches) -> Exit {
    let loaded = match load(&args.program, &args.front_end, matches) {
        Ok(loaded) => loaded,
        Err(exit) => return exit,
    };
    let mut program = loaded.runnable.program;
    if let Err(broken) = passes::run(&mut program, passes::DEFAULT) {
        output::error_line(&broken.to_string());
        return Exit::Bug;
    }
    let text = match text(args, &program) {
        Ok(text) => text,
        Err(message) => {
            output::error_line(&message);
            return Exit::Usage;
        }
    };
    match write_file(args.output.as_deref().unwrap_or(Path::new("-")), text.as_bytes()) {
        Ok(()) => Exit::Ok,
        Err(error) => {
            output::error_line(&error);
            Exit::Environment
        }
    }
}

fn text(args: &GraphArgs, program: &Program) -> Result<String, String> {
    let is_svg = args.output.as_ref().is_some_and(|path| path.extension().is_some_and(|e| e == "svg"));
    if args.what.segments {
        if is_svg {
            return Err("segments are a table, not a picture; give -o another suffix than .svg".to_string());
        }
        let cut = segments(program, &|_, wait| waits(args.wait, wait)).map_err(|e| e.to_string())?;
        return if args.json { json(&cut) } else { Ok(cut.to_string()) };
    }
    let picture = picture(args, program)?;
    if is_svg {
        return picture.to_svg().ok_or_else(|| {
            "the graph is too large to draw; give -o the suffix .dot and use Graphviz".to_string()
        });
    }
    Ok(picture.to_dot())
}

fn picture(args: &GraphArgs, program: &Program) -> Result<Picture, String> {
    let role = if args.what.parser { BlockRole::Parser } else { BlockRole::Ingress };
    let block = block(args.block.as_deref(), role, program)?;
    let is_parser = program.blocks[block].role == BlockRole::Parser;
    match (args.what.tables, is_parser) {
        (true, false) => table_graph(program, block).map_err(|e| e.to_string()),
        (true, true) => Err("parsers have no tables".to_string()),
        (false, true) => Ok(parser_states(program, block)),
        (false, false) => Ok(control_flow(program, block)),
    }
}

/// The block with a name, or the one with a role.
fn block(name: Option<&str>, role: BlockRole, program: &Program) -> Result<BlockId, String> {
    let Some(name) = name else {
        return program.block(role).ok_or_else(|| format!("the program has no {role:?}"));
    };
    let found = program.blocks.iter().find(|(_, block)| block.name == name);
    found.map(|(id, _)| id).ok_or_else(|| {
        let names: Vec<&str> = program.blocks.iter().map(|(_, block)| block.name.as_str()).collect();
        format!("the program has no block `{name}`; there are {}", names.join(", "))
    })
}

fn waits(tables: WaitArg, wait: &Wait) -> bool {
    match wait {
        Wait::Table(_) => tables == WaitArg::Tables,
        // Only externs that users supply can take long.
        Wait::Extern { op, .. } => *op == ExternOp::User,
    }
}

fn json(cut: &Segments) -> Result<String, String> {
    let points: Vec<serde_json::Value> = cut
        .report()
        .into_iter()
        .map(|point| {
            serde_json::json!({
                "size_bytes": point.size_bytes(),
                "construct": point.construct,
                "block": point.block,
                "live": point.live,
                "live_bits": point.live_bits,
                "request": point.request,
                "request_bits": point.request_bits,
            })
        })
        .collect();
    let n = cut.segments.len();
    let value = serde_json::json!({ "n_segments": n, "points": points });
    serde_json::to_string(&value).map(|text| text + "\n").map_err(|e| e.to_string())
}
