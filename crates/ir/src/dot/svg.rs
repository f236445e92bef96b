//! Draws a picture in layers: arrows point downwards, long ones and those with text pass through places of their
//! own.

use super::{Picture, Shape, Style};
use std::fmt::Write as _;

/// Larger pictures are of no use, and take long.
const N_ITEMS_MAX: usize = 20_000;

const CHAR_WIDTH: f64 = 7.0;
const LINE_HEIGHT: f64 = 15.0;
const GAP: f64 = 24.0;
const LAYER_GAP: f64 = 22.0;
const MARGIN: f64 = 16.0;
const TITLE_HEIGHT: f64 = 24.0;

/// A box, or where an arrow passes a layer.
struct Item {
    layer: usize,
    width: f64,
    height: f64,
    /// The horizontal position of the centre.
    x: f64,
    y: f64,
}

/// The items an arrow passes, from its upper end to its lower end.
struct Route {
    items: Vec<usize>,
    /// Index in `items` of where its text stands.
    label: Option<usize>,
    is_reversed: bool,
}

pub(super) fn draw(picture: &Picture) -> Option<String> {
    let layers = layers(picture);
    let mut items: Vec<Item> = picture
        .boxes
        .iter()
        .zip(&layers)
        .map(|(b, layer)| {
            let (w, h) = text_size(&b.lines);
            // A diamond's text needs room at its sides.
            let room = if b.shape == Shape::Condition { 48.0 } else { 20.0 };
            Item { layer: *layer, width: w + room, height: h + 14.0, x: 0.0, y: 0.0 }
        })
        .collect();
    let mut routes = Vec::new();
    for arrow in &picture.arrows {
        let is_reversed = layers[arrow.from] > layers[arrow.to];
        let (top, bottom) = if is_reversed { (arrow.to, arrow.from) } else { (arrow.from, arrow.to) };
        let mut route = Route { items: vec![top], label: None, is_reversed };
        let between = layers[top] + 1..layers[bottom];
        if items.len() + between.len() > N_ITEMS_MAX {
            return None;
        }
        let middle = layers[top] + between.len().div_ceil(2);
        for layer in between {
            let (mut width, mut height) = (6.0, 4.0);
            if layer == middle && !arrow.lines.is_empty() {
                (width, height) = text_size(&arrow.lines);
                route.label = Some(route.items.len());
            }
            items.push(Item { layer, width, height, x: 0.0, y: 0.0 });
            route.items.push(items.len() - 1);
        }
        route.items.push(bottom);
        routes.push(route);
    }
    let n_layers = items.iter().map(|item| item.layer + 1).max().unwrap_or(0);
    let mut rows: Vec<Vec<usize>> = vec![Vec::new(); n_layers];
    for (i, item) in items.iter().enumerate() {
        rows[item.layer].push(i);
    }
    let (above, below) = neighbours(items.len(), &routes);
    order(&mut rows, &above, &below);
    place(&mut items, picture.boxes.len(), &rows, &above, &below);
    Some(write(picture, &items, &routes))
}

fn text_size(lines: &[String]) -> (f64, f64) {
    let columns = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
    (columns as f64 * CHAR_WIDTH, lines.len().max(1) as f64 * LINE_HEIGHT)
}

/// A layer for each box, such that arrows point downwards but for those that close a circle. Layers between are
/// left for the texts of arrows.
fn layers(picture: &Picture) -> Vec<usize> {
    let n = picture.boxes.len();
    let mut successors = vec![Vec::new(); n];
    for arrow in &picture.arrows {
        if arrow.from != arrow.to {
            successors[arrow.from].push(arrow.to);
        }
    }
    // Depth first: arrows back to what is still open close a circle.
    let mut state = vec![0u8; n];
    let mut finished = Vec::new();
    let mut forward = vec![Vec::new(); n];
    for root in 0..n {
        if state[root] != 0 {
            continue;
        }
        state[root] = 1;
        let mut stack = vec![(root, 0)];
        while let Some((at, next)) = stack.last_mut() {
            let at = *at;
            let Some(to) = successors[at].get(*next).copied() else {
                state[at] = 2;
                finished.push(at);
                stack.pop();
                continue;
            };
            *next += 1;
            if state[to] != 1 {
                forward[at].push(to);
            }
            if state[to] == 0 {
                state[to] = 1;
                stack.push((to, 0));
            }
        }
    }
    let mut layer = vec![0; n];
    for at in finished.iter().rev() {
        for to in &forward[*at] {
            layer[*to] = layer[*to].max(layer[*at] + 2);
        }
    }
    layer
}

type Neighbours = Vec<Vec<usize>>;

fn neighbours(n: usize, routes: &[Route]) -> (Neighbours, Neighbours) {
    let (mut above, mut below) = (vec![Vec::new(); n], vec![Vec::new(); n]);
    for pair in routes.iter().flat_map(|route| route.items.windows(2)) {
        if let [a, b] = pair
            && a != b
        {
            above[*b].push(*a);
            below[*a].push(*b);
        }
    }
    (above, below)
}

/// Orders the items of each layer by the mean position of their neighbours, downwards and upwards in turn.
fn order(rows: &mut [Vec<usize>], above: &Neighbours, below: &Neighbours) {
    let n = above.len();
    let mut position = vec![0.0; n];
    let renumber = |row: &[usize], position: &mut Vec<f64>| {
        row.iter().enumerate().for_each(|(i, item)| position[*item] = i as f64);
    };
    rows.iter().for_each(|row| renumber(row, &mut position));
    for round in 0..12 {
        let downwards = round % 2 == 0;
        let neighbours = if downwards { above } else { below };
        let mut visit: Vec<usize> = (0..rows.len()).collect();
        if !downwards {
            visit.reverse();
        }
        for r in visit {
            let mean = |item: &usize| match neighbours[*item].len() {
                0 => position[*item],
                n => neighbours[*item].iter().map(|i| position[*i]).sum::<f64>() / n as f64,
            };
            let mut keyed: Vec<(f64, usize)> = rows[r].iter().map(|item| (mean(item), *item)).collect();
            keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
            rows[r] = keyed.into_iter().map(|(_, item)| item).collect();
            renumber(&rows[r], &mut position);
        }
    }
}

/// Gives items their coordinates: near the mean of their neighbours, without overlaps.
fn place(items: &mut [Item], n_boxes: usize, rows: &[Vec<usize>], above: &Neighbours, below: &Neighbours) {
    let mut y = MARGIN + TITLE_HEIGHT;
    for row in rows {
        let height = row.iter().map(|i| items[*i].height).fold(0.0, f64::max);
        let mut x = MARGIN;
        for i in row {
            items[*i].y = y + height / 2.0;
            // Arrows pass boxes straight downwards.
            if *i >= n_boxes {
                items[*i].height = height;
            }
            items[*i].x = x + items[*i].width / 2.0;
            x += items[*i].width + GAP;
        }
        y += height + LAYER_GAP;
    }
    for round in 0..16 {
        let downwards = round % 2 == 0;
        let mut visit: Vec<usize> = (0..rows.len()).collect();
        if !downwards {
            visit.reverse();
        }
        for r in visit {
            let row = &rows[r];
            let wanted: Vec<f64> = row
                .iter()
                .map(|i| {
                    let of = if downwards { &above[*i] } else { &below[*i] };
                    match of.len() {
                        0 => items[*i].x,
                        n => of.iter().map(|j| items[*j].x).sum::<f64>() / n as f64,
                    }
                })
                .collect();
            let apart = |a: usize, b: usize| (items[a].width + items[b].width) / 2.0 + GAP;
            // A box lies between the position that its left neighbours allow and the one that its right neighbours allow.
            let mut left = wanted.clone();
            for k in 1..row.len() {
                left[k] = left[k].max(left[k - 1] + apart(row[k - 1], row[k]));
            }
            let mut right = wanted;
            for k in (1..row.len()).rev() {
                right[k - 1] = right[k - 1].min(right[k] - apart(row[k - 1], row[k]));
            }
            for (k, i) in row.iter().enumerate() {
                items[*i].x = (left[k] + right[k]) / 2.0;
            }
        }
    }
    let leftmost = items.iter().map(|item| item.x - item.width / 2.0).fold(f64::INFINITY, f64::min);
    if leftmost.is_finite() {
        items.iter_mut().for_each(|item| item.x += MARGIN - leftmost);
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn text(out: &mut String, class: &str, x: f64, y: f64, lines: &[String]) {
    let top = y - (lines.len() as f64 - 1.0) / 2.0 * LINE_HEIGHT;
    for (i, line) in lines.iter().enumerate() {
        // Half the height of a letter: not every viewer knows of baselines.
        let y = top + i as f64 * LINE_HEIGHT + 4.0;
        let _ = writeln!(out, r#"<text class="{class}" x="{x:.1}" y="{y:.1}">{}</text>"#, escaped(line));
    }
}

/// Begins a box: a link to the source where it is known, with a tooltip.
fn open(out: &mut String, b: &super::Box) {
    match &b.link {
        Some(link) => {
            let _ = writeln!(out, r#"<a href="{}#L{}">"#, escaped(&link.file), link.line);
        }
        None => out.push_str("<g>\n"),
    }
    let mut tooltip = b.tooltip.clone();
    tooltip.extend(b.link.as_ref().map(|link| format!("{}:{}", link.file, link.line)));
    if !tooltip.is_empty() {
        let _ = writeln!(out, "<title>{}</title>", escaped(&tooltip.join("\n")));
    }
}

fn write(picture: &Picture, items: &[Item], routes: &[Route]) -> String {
    let words = std::iter::once(&picture.title).chain(&picture.legend);
    let caption =
        words.map(|line| line.chars().count()).max().unwrap_or(0) as f64 * CHAR_WIDTH + 2.0 * MARGIN;
    let right = items.iter().map(|item| item.x + item.width / 2.0).fold(0.0, f64::max) + MARGIN + 40.0;
    let right = right.max(caption);
    let bottom = items.iter().map(|item| item.y + item.height / 2.0).fold(0.0, f64::max) + MARGIN;
    let legend = bottom + LINE_HEIGHT;
    let bottom =
        if picture.legend.is_empty() { bottom } else { legend + picture.legend.len() as f64 * LINE_HEIGHT };
    let mut out = String::new();
    let _ = writeln!(
        out,
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{right:.0}" height="{bottom:.0}" viewBox="0 0 {right:.0} {bottom:.0}" role="img">"#
    );
    let _ = writeln!(out, "<title>{}</title>", escaped(&picture.title));
    out.push_str(STYLE);
    let _ = writeln!(out, r#"<rect class="page" width="100%" height="100%"/>"#);
    let title = std::slice::from_ref(&picture.title);
    text(&mut out, "title", MARGIN, MARGIN, title);
    for (i, line) in picture.legend.iter().enumerate() {
        text(&mut out, "legend", MARGIN, legend + i as f64 * LINE_HEIGHT, std::slice::from_ref(line));
    }
    for (arrow, route) in picture.arrows.iter().zip(routes) {
        let class = match arrow.style {
            Style::Solid => "arrow",
            Style::Dashed => "arrow dashed",
        };
        let path = if arrow.from == arrow.to { loop_path(&items[arrow.from]) } else { path(items, route) };
        let marker = if route.is_reversed { "marker-start" } else { "marker-end" };
        let _ = writeln!(out, r#"<path class="{class}" {marker}="url(#head)" d="{path}"/>"#);
        match route.label.and_then(|i| route.items.get(i)) {
            Some(i) => text(&mut out, "label", items[*i].x, items[*i].y, &arrow.lines),
            None if arrow.from == arrow.to => {
                let item = &items[arrow.from];
                text(&mut out, "loop", item.x + item.width / 2.0 + 24.0, item.y, &arrow.lines);
            }
            None => {}
        }
    }
    for (b, item) in picture.boxes.iter().zip(items) {
        let (w, h) = (item.width, item.height);
        let (x, y) = (item.x - w / 2.0, item.y - h / 2.0);
        open(&mut out, b);
        let _ = match b.shape {
            Shape::Condition => writeln!(
                out,
                r#"<polygon class="condition" points="{:.1},{:.1} {:.1},{:.1} {:.1},{:.1} {:.1},{:.1} {:.1},{:.1} {:.1},{:.1}"/>"#,
                x,
                item.y,
                x + 14.0,
                y,
                x + w - 14.0,
                y,
                x + w,
                item.y,
                x + w - 14.0,
                y + h,
                x + 14.0,
                y + h
            ),
            shape => {
                let (class, radius) = match shape {
                    Shape::Terminal => ("terminal", h / 2.0),
                    Shape::State => ("state", 8.0),
                    Shape::Table => ("table", 0.0),
                    Shape::Statements | Shape::Condition => ("statements", 0.0),
                };
                writeln!(
                    out,
                    r#"<rect class="{class}" x="{x:.1}" y="{y:.1}" width="{w:.1}" height="{h:.1}" rx="{radius:.1}"/>"#
                )
            }
        };
        text(&mut out, "box", item.x, item.y, &b.lines);
        out.push_str(if b.link.is_some() { "</a>\n" } else { "</g>\n" });
    }
    out.push_str("</svg>\n");
    out
}

/// Readable on light and on dark pages.
const STYLE: &str = r##"<style>
text { font: 11px ui-monospace, monospace; text-anchor: middle; fill: #222 }
.loop, .title, .legend { text-anchor: start }
.title { font-size: 14px; font-weight: bold }
a:hover rect, a:hover polygon { stroke-width: 3 }
.label, .loop { font-size: 10px; fill: #555; paint-order: stroke; stroke: #fff; stroke-width: 3px }
rect, polygon { fill: #fff; stroke: #444 }
.page { fill: #fff; stroke: none }
.terminal { fill: #f2f2f2 }
.table { fill: #eaf2fb; stroke-width: 2 }
.condition { fill: #fdf6e3 }
.state { fill: #eef7ee }
.arrow { fill: none; stroke: #666 }
.dashed { stroke-dasharray: 5 4 }
@media (prefers-color-scheme: dark) {
  text { fill: #ddd } .label, .loop { fill: #aaa; stroke: #111 }
  rect, polygon { fill: #222; stroke: #999 } .page { fill: #111; stroke: none } .terminal { fill: #2a2a2a }
  .table { fill: #1d2b3a } .condition { fill: #332d18 } .state { fill: #1c2c1c } .arrow { stroke: #888 }
}
</style>
<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto-start-reverse"><path d="M0,0 L8,4 L0,8 z" fill="#777"/></marker></defs>
"##;

/// From the lower side of the upper box through the items between to the upper side of the lower box.
fn path(items: &[Item], route: &Route) -> String {
    let mut points: Vec<(f64, f64)> = Vec::new();
    let last = route.items.len().saturating_sub(1);
    for (k, i) in route.items.iter().enumerate() {
        let item = &items[*i];
        if k > 0 {
            points.push((item.x, item.y - item.height / 2.0));
        }
        if k < last {
            points.push((item.x, item.y + item.height / 2.0));
        }
    }
    let mut out = String::new();
    for (k, (x, y)) in points.iter().enumerate() {
        match k.checked_sub(1).and_then(|before| points.get(before)) {
            None => {
                let _ = write!(out, "M{x:.1},{y:.1}");
            }
            Some((x0, y0)) => {
                let bend = (y - y0) / 2.0;
                let _ = write!(out, " C{x0:.1},{:.1} {x:.1},{:.1} {x:.1},{y:.1}", y0 + bend, y - bend);
            }
        }
    }
    out
}

/// From the right side of a box back to it.
fn loop_path(item: &Item) -> String {
    let (x, y) = (item.x + item.width / 2.0, item.y);
    format!(
        "M{x:.1},{:.1} C{:.1},{:.1} {:.1},{:.1} {x:.1},{:.1}",
        y - 6.0,
        x + 28.0,
        y - 16.0,
        x + 28.0,
        y + 16.0,
        y + 6.0
    )
}
