//! A picture of a placement: a column per stage, its blocks as cells in the colours of their tables, bars for the other
//! resources, the critical path above.

use super::placement::{Placement, Problem};
use super::report::{Link, usage};
use super::resource::Resource;
use std::fmt::Write as _;

const CELL: u64 = 9;
const PER_ROW: u64 = 10;
const COLUMN: u64 = PER_ROW * CELL + 22;
const LEFT: u64 = 130;
const TOP: u64 = 66;
const LINE: u64 = 14;
/// Larger pictures are of no use.
const CELLS_MAX: u64 = 100_000;

/// Resources that are shown as bars.
const BARS: [Resource; 13] = [
    Resource::MapRam,
    Resource::LogicalTables,
    Resource::TernaryTables,
    Resource::ExactBytes,
    Resource::TernaryBytes,
    Resource::HashBits,
    Resource::HashDistribution,
    Resource::Gateways,
    Resource::Instructions,
    Resource::EgressInstructions,
    Resource::ActionBytes,
    Resource::RegisterUnits,
    Resource::CounterUnits,
];

/// Draws a placement; `None` if the chip has too many blocks to be drawn.
pub fn draw(title: &str, problem: &Problem, placement: &Placement, path: &[Link]) -> Option<String> {
    let capacity = |resource: Resource| problem.capacity[resource as usize];
    let n_stages = u64::from(problem.n_stages);
    if n_stages * (capacity(Resource::Sram) + capacity(Resource::Tcam)) > CELLS_MAX {
        return None;
    }
    let coloured: Vec<usize> = (0..problem.nodes.len()).filter(|i| has_blocks(problem, *i)).collect();
    let rows = |resource: Resource| capacity(resource).div_ceil(PER_ROW);
    let sram_top = TOP + LINE;
    let tcam_top = sram_top + rows(Resource::Sram) * CELL + LINE;
    let bars_top = tcam_top + rows(Resource::Tcam) * CELL + LINE;
    let legend_top = bars_top + BARS.len() as u64 * LINE + 2 * LINE;
    let n_columns = (n_stages * COLUMN / 260).max(1);
    let height = legend_top + (coloured.len() as u64).div_ceil(n_columns) * LINE + LINE;
    let width = LEFT + n_stages * COLUMN + 10;
    let mut out = String::new();
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"11\">"
    );
    let _ = writeln!(out, "<rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>");
    text(&mut out, 10, 18, title, "");
    text(&mut out, 10, sram_top + CELL, "SRAM", "");
    text(&mut out, 10, tcam_top + CELL, "TCAM", "");
    for (i, resource) in BARS.into_iter().enumerate() {
        text(&mut out, 10, bars_top + i as u64 * LINE + 9, resource.name(), "");
    }
    critical(&mut out, problem, placement, path);
    let used = usage(problem, placement, problem.n_stages);
    for stage in 0..n_stages {
        let x = LEFT + stage * COLUMN;
        text(&mut out, x, TOP + 8, &format!("stage {stage}"), "");
        for (resource, top) in [(Resource::Sram, sram_top), (Resource::Tcam, tcam_top)] {
            cells(&mut out, problem, placement, (stage as u32, resource), (x, top), &coloured);
        }
        for (i, resource) in BARS.into_iter().enumerate() {
            let y = bars_top + i as u64 * LINE;
            let (n, of) = (used[stage as usize][resource as usize], capacity(resource));
            let full = PER_ROW * CELL;
            let filled = n.saturating_mul(full).checked_div(of).unwrap_or(0).min(full);
            let _ = writeln!(
                out,
                "<g><title>{}: {n} of {of}</title><rect x=\"{x}\" y=\"{y}\" width=\"{full}\" height=\"10\" fill=\"#eeeeee\"/>\
                 <rect x=\"{x}\" y=\"{y}\" width=\"{filled}\" height=\"10\" fill=\"#7f8c9b\"/></g>",
                resource.name()
            );
        }
    }
    for (i, node) in coloured.iter().enumerate() {
        let (column, row) = (i as u64 % n_columns, i as u64 / n_columns);
        let (x, y) = (LEFT + column * 260, legend_top + row * LINE);
        let _ =
            writeln!(out, "<rect x=\"{x}\" y=\"{y}\" width=\"10\" height=\"10\" fill=\"{}\"/>", colour(i));
        text(&mut out, x + 14, y + 9, &problem.nodes[*node].name, "");
    }
    out.push_str("</svg>\n");
    Some(out)
}

fn has_blocks(problem: &Problem, node: usize) -> bool {
    let node = &problem.nodes[node];
    let need = node.need(node.n_units());
    need[Resource::Sram as usize] + need[Resource::Tcam as usize] > 0
}

/// The nodes of the critical path at their first stages, joined by arrows.
fn critical(out: &mut String, problem: &Problem, placement: &Placement, path: &[Link]) {
    let mut last: Option<(u64, u64)> = None;
    for (i, link) in path.iter().enumerate() {
        let Some((first, _)) = placement.span(link.node) else { continue };
        let x = LEFT + u64::from(first) * COLUMN;
        let y = 34 + (i as u64 % 2) * LINE;
        if let Some((from_x, from_y)) = last {
            let _ = writeln!(
                out,
                "<line x1=\"{from_x}\" y1=\"{from_y}\" x2=\"{x}\" y2=\"{}\" stroke=\"#c0392b\"/>",
                y + 3
            );
        }
        let _ = writeln!(out, "<circle cx=\"{x}\" cy=\"{}\" r=\"3\" fill=\"#c0392b\"/>", y + 3);
        let name: String = problem.nodes[link.node].name.chars().rev().take(16).collect();
        let name: String = name.chars().rev().collect();
        text(out, x + 6, y + 7, &name, " fill=\"#c0392b\"");
        last = Some((x, y + 3));
    }
}

/// The blocks of one kind in a stage.
fn cells(
    out: &mut String,
    problem: &Problem,
    placement: &Placement,
    (stage, resource): (u32, Resource),
    (x, top): (u64, u64),
    coloured: &[usize],
) {
    let n_blocks = problem.capacity[resource as usize];
    let mut owners: Vec<Option<usize>> = Vec::new();
    for part in placement.parts.iter().filter(|part| part.stage == stage) {
        let n = problem.nodes[part.node].need(part.n_units)[resource as usize];
        owners.extend(std::iter::repeat_n(Some(part.node), n.min(n_blocks) as usize));
    }
    owners.resize(n_blocks as usize, None);
    for (i, owner) in owners.into_iter().enumerate() {
        let (cx, cy) = (x + i as u64 % PER_ROW * CELL, top + i as u64 / PER_ROW * CELL);
        let size = CELL - 1;
        let shape = |fill: &str| {
            format!("<rect x=\"{cx}\" y=\"{cy}\" width=\"{size}\" height=\"{size}\" fill=\"{fill}\"")
        };
        let _ = match owner {
            None => writeln!(out, "{}/>", shape("#eeeeee")),
            Some(node) => {
                let fill = colour(coloured.iter().position(|other| *other == node).unwrap_or(0));
                let name = escaped(&problem.nodes[node].name);
                writeln!(out, "{}><title>{name}</title></rect>", shape(&fill))
            }
        };
    }
}

/// Colours that stay apart: steps of the golden angle, in three shades.
fn colour(i: usize) -> String {
    let hue = (i as f64 * 137.508) % 360.0;
    let light = [45, 60, 35][i % 3];
    format!("hsl({hue:.0},60%,{light}%)")
}

fn text(out: &mut String, x: u64, y: u64, text: &str, style: &str) {
    let _ = writeln!(out, "<text x=\"{x}\" y=\"{y}\"{style}>{}</text>", escaped(text));
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::super::placement::{Node, Part};
    use super::*;

    #[test]
    fn every_block_has_a_cell() {
        let chip = super::super::chip::Chip::built_in("generic-12").unwrap();
        let mut node = Node::new("a<b>");
        node.part[Resource::Sram as usize] = 7;
        let problem =
            Problem { nodes: vec![node], edges: Vec::new(), capacity: chip.capacity(), n_stages: 12 };
        let placement = Placement { parts: vec![Part { node: 0, stage: 2, n_units: 1 }] };
        let path = [Link { node: 0, kind: None, span: 1 }];
        let svg = draw("a & b", &problem, &placement, &path).unwrap();
        assert_eq!(svg.matches("width=\"8\" height=\"8\"").count(), 12 * 104);
        assert_eq!(svg.matches("<title>a&lt;b&gt;</title>").count(), 7);
        assert!(svg.contains("a &amp; b") && svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
        let large = Problem { n_stages: 256, capacity: problem.capacity.map(|n| n * 100), ..problem };
        assert_eq!(draw("", &large, &placement, &path), None);
    }
}
