//! `siding model asic`: a program on a switch chip.

use super::asic_report::{Largest, Report, StateFit};
use crate::cli::ModelAsicArgs;
use crate::output::{self, Exit, error_line, out, replace_file};
use crate::program::{Analysable, load_for_analysis};
use clap::ArgMatches;
use hazard::program::{CodeletKind, Costs, analyse};
use ir::passes;
use model::asic::chip::{BUILT_IN, Chip};
use model::asic::largest::{N_ENTRIES_MAX, largest, roomier};
use model::asic::program::{Design, DesignError, Options, design};
use model::asic::{PackOptions, Reason, Verdict, formula, report, solve, svg};
use std::path::Path;

/// A message, empty if it has been printed, and how the command ends.
type Problem = (String, Exit);

/// Entries of the table that the formula is fitted for.
const N_ENTRIES_OF_FORMULA: u64 = 65_536;

pub fn run(args: &ModelAsicArgs, matches: &ArgMatches) -> Exit {
    match model(args, matches) {
        Ok(exit) => exit,
        Err((message, exit)) => {
            if !message.is_empty() {
                error_line(&message);
            }
            exit
        }
    }
}

fn model(args: &ModelAsicArgs, matches: &ArgMatches) -> Result<Exit, Problem> {
    let text = chip_text(&args.chip)?;
    let chip = Chip::parse(&text).map_err(|error| (format!("{}: {error}", args.chip), Exit::Usage))?;
    if args.print_chip {
        out(&text);
        return Ok(Exit::Ok);
    }
    let Some(path) = &args.program else { return Ok(Exit::Usage) };
    let loaded = load_for_analysis(path, &args.front_end, matches).map_err(|exit| (String::new(), exit))?;
    let states = states(&loaded);
    let mut program = loaded.program;
    passes::run(&mut program, passes::DEFAULT).map_err(|broken| (broken.to_string(), Exit::Bug))?;
    let line = |span| loaded.sources.locate(span).map(|location| location.line);
    let pack = PackOptions { range_share: args.range_share / 100.0 };
    let mut options = Options { pack, ..Options::default() };
    for (table, n) in &args.entries {
        if options.entries.insert(table.clone(), *n).is_some_and(|before| before != *n) {
            return Err((format!("--entries gives `{table}` two sizes"), Exit::Usage));
        }
    }
    let make = |options: &Options| design(&program, &chip, options, &line);
    let mut made = make(&options).map_err(usage)?;
    let mut verdict = solve(&made.problem, args.search);
    let mut roomier = Vec::new();
    if let Some((table, n, design)) = with_room(&made, &verdict, &options, &make).map_err(usage)? {
        verdict = solve(&design.problem, args.search);
        made = design;
        roomier.push((table, n));
    }
    let largest = match &args.max {
        Some(table) => Some(search(args.search, table, &options, &make)?),
        None => None,
    };
    let formula = formula::fit(&chip, N_ENTRIES_OF_FORMULA);
    let report = Report {
        program: path.display().to_string(),
        chip: &chip,
        design: &made,
        verdict,
        states,
        largest,
        roomier,
        formula,
    };
    if let Some(path) = &args.svg {
        draw(path, &report)?;
    }
    out(&if args.json { format!("{}\n", report.json()) } else { report.text() });
    Ok(if report.fits() { Exit::Ok } else { Exit::Failed })
}

fn usage(error: DesignError) -> Problem {
    (error.to_string(), Exit::Usage)
}

/// The description of a chip: of one that comes with Siding, or from a file.
fn chip_text(name: &str) -> Result<String, Problem> {
    if let Some((_, text)) = BUILT_IN.iter().find(|(known, _)| *known == name) {
        return Ok((*text).to_string());
    }
    let path = Path::new(name);
    let bytes = output::read_file(path).map_err(|error| {
        let known: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
        let is_name = !path.exists() && !name.contains(['/', '.']);
        let message = match is_name {
            true => format!("there is no chip `{name}`; Siding comes with {}", known.join(" and ")),
            false => format!("cannot read {name}: {error}"),
        };
        (message, if is_name { Exit::Usage } else { Exit::Environment })
    })?;
    String::from_utf8(bytes).map_err(|_| (format!("{name} is not text in UTF-8"), Exit::Usage))
}

/// The program's stateful actions with atoms of a pipeline, as `siding sim` finds them. A program that is too large for that
/// has none.
fn states(loaded: &Analysable) -> Vec<StateFit> {
    let Ok(analysis) = analyse(&loaded.program, &Costs::default()) else { return Vec::new() };
    let codelets = analysis.codelets.iter();
    let changed = codelets
        .filter(|codelet| matches!(codelet.kind, CodeletKind::ReadModifyWrite | CodeletKind::AddOnMiss));
    changed
        .map(|codelet| StateFit {
            names: codelet.objects.iter().map(|(_, name)| name.to_string()).collect(),
            atom: codelet.atom.as_ref().ok().map(|atom| atom.to_string()),
        })
        .collect()
}

/// A program that does not fit may do so with the layout that one of its tables has with more entries. Returned are the table, that
/// number, and the design.
fn with_room(
    made: &Design,
    verdict: &Verdict,
    options: &Options,
    make: &dyn Fn(&Options) -> Result<Design, DesignError>,
) -> Result<Option<(String, u64, Design)>, DesignError> {
    let Verdict::DoesNotFit(refusal) = verdict else { return Ok(None) };
    let Reason::Stages(left) = &refusal.reason else { return Ok(None) };
    // Another layout saves a few stages, not most of them.
    let is_near = refusal.n_stages_found.is_some_and(|n| n <= made.problem.n_stages.saturating_mul(2));
    if !is_near || !made.impossible.is_empty() || !made.refused.is_empty() || !made.circles.is_empty() {
        return Ok(None);
    }
    for node in left.iter().filter(|shortage| shortage.resource.is_some()).map(|shortage| shortage.node) {
        let (name, facts) = (&made.problem.nodes[node].name, &made.nodes[node].table);
        let Some(facts) = facts.as_ref().filter(|facts| facts.key_bits > 0) else { continue };
        let sized = |n: u64| {
            let mut options = options.clone();
            options.entries.retain(|table, _| table != name && !name.ends_with(&format!(".{table}")));
            options.entries.insert(name.clone(), n);
            make(&options)
        };
        let Some(n) = roomier(name, facts.n_entries, &mut |n| sized(n).map(|design| Some(design.problem)))?
        else {
            continue;
        };
        let mut design = sized(n)?;
        let facts_now = design.nodes[node].table.as_mut();
        if let (Some(packed), Some(now)) = (design.problem.nodes[node].packed.as_mut(), facts_now) {
            *packed = packed.with_entries(facts.n_entries);
            now.n_entries = facts.n_entries;
            now.source = facts.source;
        }
        return Ok(Some((name.clone(), n, design)));
    }
    Ok(None)
}

/// The largest size of a table.
fn search(
    seconds: f64,
    table: &str,
    options: &Options,
    make: &dyn Fn(&Options) -> Result<Design, DesignError>,
) -> Result<Largest, Problem> {
    let sized = |n: u64| {
        let mut options = options.clone();
        options.entries.insert(table.to_string(), n);
        make(&options)
    };
    // The whole name of the table, and the number of its keys.
    let one = sized(1).map_err(usage)?;
    let is_it = |i: &usize| {
        one.problem.nodes[*i].name == table || one.problem.nodes[*i].name.ends_with(&format!(".{table}"))
    };
    let node = (0..one.nodes.len()).filter(|i| one.nodes[*i].table.is_some()).find(is_it);
    let Some((node, facts)) = node.and_then(|i| Some((i, one.nodes[i].table.as_ref()?))) else {
        return Err((format!("`{table}` is never applied"), Exit::Usage));
    };
    if facts.key_bits == 0 {
        return Err((format!("`{table}` has no key: it has no size"), Exit::Usage));
    }
    let is_exact = one.problem.nodes[node].ternary_bytes.is_empty();
    let n_keys = if is_exact && facts.key_bits < 40 { 1u64 << facts.key_bits } else { N_ENTRIES_MAX };
    let name = one.problem.nodes[node].name.clone();
    let mut problem = |n: u64| {
        let design = sized(n)?;
        Ok((design.impossible.is_empty() && design.circles.is_empty()).then_some(design.problem))
    };
    let found = largest(&name, n_keys, seconds.min(2.0), &mut problem).map_err(usage)?;
    let is_all_keys = found.fits == n_keys && is_exact;
    Ok(Largest { table: name, found, is_all_keys })
}

fn draw(path: &Path, report: &Report<'_>) -> Result<(), Problem> {
    let placement = match &report.verdict {
        Verdict::Fits(solution) => &solution.placement,
        Verdict::DoesNotFit(refusal) => &refusal.placement,
    };
    let problem = &report.design.problem;
    let title = format!("{} on {}: {}", report.program, report.chip.name, report.headline());
    let picture = svg::draw(&title, problem, placement, &report::critical_path(problem))
        .ok_or_else(|| ("the chip has too many blocks to be drawn".to_string(), Exit::Usage))?;
    replace_file(path, picture.as_bytes())
        .map_err(|error| (format!("{}: {error}", path.display()), Exit::Environment))
}
