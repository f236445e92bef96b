//! `siding graph`.

use super::check::write_file;
use crate::cli::{GraphArgs, WaitArg};
use crate::output::{self, Exit};
use crate::program::load_to_show;
use arch::{BlockRole, ExternOp};
use clap::ArgMatches;
use diagnostics::SourceMap;
use ir::dot::{Picture, Source, control_flow, parser_states, table_graph};
use ir::segments::{Segments, Wait, segments};
use ir::{BlockId, Program, passes};
use std::path::{Component, Path, PathBuf};

/// The format of a written picture.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Dot,
    Svg,
}

pub fn run(args: &GraphArgs, matches: &ArgMatches) -> Exit {
    // First, because compiling takes long and a mistyped suffix does not depend on it.
    let format = match format(args) {
        Ok(format) => format,
        Err(message) => {
            output::error_line(&message);
            return Exit::Usage;
        }
    };
    let loaded = match load_to_show(&args.program, &args.front_end, matches) {
        Ok(loaded) => loaded,
        Err(exit) => return exit,
    };
    let sources = loaded.sources;
    let mut program = loaded.program;
    if let Err(broken) = passes::run(&mut program, passes::DEFAULT) {
        output::error_line(&broken.to_string());
        return Exit::Bug;
    }
    let text = match text(args, format, &program, &sources) {
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

/// The format that the suffix of the output asks for.
fn format(args: &GraphArgs) -> Result<Format, String> {
    let Some(path) = args.output.as_deref().filter(|path| *path != Path::new("-")) else {
        return Ok(Format::Dot);
    };
    if args.what.segments {
        return match suffix(path).as_str() {
            "svg" | "dot" | "gv" | "png" => Err(format!(
                "{}: --segments writes a table, not a picture; give -o a suffix such as .txt or .json",
                path.display()
            )),
            _ => Ok(Format::Dot),
        };
    }
    match suffix(path).as_str() {
        "svg" => Ok(Format::Svg),
        "dot" | "gv" | "txt" => Ok(Format::Dot),
        "png" => {
            let svg = path.with_extension("svg");
            Err(format!(
                "{}: siding does not write PNG; write -o {} and convert it with `rsvg-convert {} -o {}`",
                path.display(),
                svg.display(),
                svg.display(),
                path.display()
            ))
        }
        _ => Err(format!(
            "{}: unknown kind of picture; -o takes files that end in .svg (drawn) or .dot, .gv or .txt (Graphviz text)",
            path.display()
        )),
    }
}

fn suffix(path: &Path) -> String {
    path.extension().map(|suffix| suffix.to_string_lossy().to_lowercase()).unwrap_or_default()
}

fn text(args: &GraphArgs, format: Format, program: &Program, sources: &SourceMap) -> Result<String, String> {
    if args.what.segments {
        let cut = segments(program, &|_, wait| waits(args.wait, wait)).map_err(|e| e.to_string())?;
        return if args.json { json(&cut) } else { Ok(cut.to_string()) };
    }
    let mut picture = picture(args, program, Source::new(sources))?;
    match format {
        Format::Dot => Ok(picture.to_dot()),
        Format::Svg => {
            let folder = args.output.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
            for link in picture.boxes.iter_mut().filter_map(|b| b.link.as_mut()) {
                link.file = seen_from(folder, Path::new(&link.file));
            }
            picture.to_svg().ok_or_else(|| {
                "the graph is too large to draw; give -o the suffix .dot and use Graphviz".to_string()
            })
        }
    }
}

/// A path as a link in a file of `folder`. Both are relative to one folder; a path that is not stays as it is.
fn seen_from(folder: &Path, path: &Path) -> String {
    let is_plain =
        |path: &Path| path.components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir));
    if !is_plain(folder) || !is_plain(path) {
        return path.display().to_string();
    }
    let parts = |path: &Path| -> Vec<PathBuf> {
        let parts = path.components().filter(|c| matches!(c, Component::Normal(_)));
        parts.map(|c| PathBuf::from(c.as_os_str())).collect()
    };
    let (folder, path) = (parts(folder), parts(path));
    let n_same = folder.iter().zip(&path).take_while(|(a, b)| a == b).count();
    let up = folder.iter().skip(n_same).map(|_| PathBuf::from(".."));
    up.chain(path.iter().skip(n_same).cloned()).collect::<PathBuf>().display().to_string()
}

fn picture(args: &GraphArgs, program: &Program, source: Source<'_>) -> Result<Picture, String> {
    let role = if args.what.parser { BlockRole::Parser } else { BlockRole::Ingress };
    let block = block(args.block.as_deref(), role, program)?;
    let is_parser = program.blocks[block].role == BlockRole::Parser;
    if args.what.parser && !is_parser {
        return Err(format!("{} is no parser; leave --parser out", program.blocks[block].name));
    }
    match (args.what.tables, is_parser) {
        (true, false) => table_graph(program, block, source).map_err(|e| e.to_string()),
        (true, true) => Err("parsers have no tables".to_string()),
        (false, true) => Ok(parser_states(program, block, source)),
        (false, false) => Ok(control_flow(program, block, source)),
    }
}

/// The block with a name, or the one with a role.
fn block(name: Option<&str>, role: BlockRole, program: &Program) -> Result<BlockId, String> {
    let Some(name) = name else {
        // A program may have several, such as an ingress and an egress: the first one with tables is meant.
        let of_role = || program.blocks.iter().filter(|(_, block)| block.role == role).map(|(id, _)| id);
        let has_table = |id: &BlockId| program.tables.iter().any(|(_, table)| table.block == *id);
        let found = of_role().find(has_table).or_else(|| of_role().next());
        return found.ok_or_else(|| format!("the program has no {role:?}"));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_from_the_picture_to_the_program() {
        let link = |folder, path| seen_from(Path::new(folder), Path::new(path));
        assert_eq!(link("", "a/b.p4"), "a/b.p4");
        assert_eq!(link("docs/pictures", "examples/b.p4"), "../../examples/b.p4");
        assert_eq!(link("a/c", "./a/b.p4"), "../b.p4");
        assert_eq!(link("/tmp", "a/b.p4"), "a/b.p4");
    }
}
