//! Line charts as SVG.
//!
//! Series differ in colour, marker and dashes, so that they can be told apart in print and with any colour vision. A
//! vertical axis whose figures span more than a decade is logarithmic. Charts follow the light or dark theme of the viewer.

mod axis;

use axis::{Axis, label};
use std::fmt::Write;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chart {
    pub title: String,
    pub x: String,
    /// The quantity and its unit.
    pub y: String,
    pub series: Vec<Series>,
    pub across: Across,
    pub upwards: Upwards,
    /// Sentences under the legend.
    pub notes: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Across {
    /// With a mark at every point.
    #[default]
    Logarithmic,
    /// From 0, with round marks.
    Linear,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Upwards {
    /// Logarithmic if the largest figure is more than ten times the smallest positive one, otherwise linear. Points at zero
    /// are not drawn on a logarithmic axis; a note says so.
    #[default]
    BySpan,
    /// From 0: for shares, which are compared with the whole.
    Linear,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    pub name: String,
    /// Ascending; both positive.
    pub points: Vec<(f64, f64)>,
    pub origin: Origin,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    #[default]
    Ours,
    /// Figures that others have published: points with a thin line.
    Published,
}

/// Width of the area of the lines.
const PLOT: f64 = 540.0;
const HEIGHT: f64 = 430.0;
const LEFT: f64 = 76.0;
const TOP: f64 = 50.0;
const BOTTOM: f64 = 60.0;
const LEGEND_LINE: f64 = 18.0;
const CHAR_WIDTH: f64 = 7.0;
/// Length of the lines of notes, in characters.
const N_NOTE_COLUMNS: usize = 36;

/// Points of a line that are drawn one by one; longer lines have a few markers.
const DOTS_MAX: usize = 40;
const DOTS_OF_LONG_LINES: usize = 8;

const N_COLOURS: usize = 8;
const DASHES: [&str; 4] = ["", "7 4", "2 3", "9 3 2 3"];

/// Colours that are distinguishable with any colour vision (Okabe, Ito); black is white on dark pages.
pub const STYLE: &str = "<style>
text { fill: #222 } .page { fill: #fff } .grid { stroke: #ddd } .axis { stroke: #777 }
.line { fill: none; stroke: currentColor; stroke-width: 2 } .mark { fill: currentColor; stroke: currentColor }
.published .line { stroke-width: 1 } .published .mark { fill: none; stroke-width: 2 } .note { font-size: 12px }
.c0 { color: #0072b2 } .c1 { color: #d55e00 } .c2 { color: #009e73 } .c3 { color: #cc79a7 }
.c4 { color: #56b4e9 } .c5 { color: #e69f00 } .c6 { color: #000 } .c7 { color: #888 }
@media (prefers-color-scheme: dark) {
  text { fill: #ddd } .page { fill: #111 } .grid { stroke: #333 } .axis { stroke: #999 }
  .c0 { color: #3aa0e0 } .c6 { color: #fff }
}
</style>
";

/// Text as content or attribute. Control characters, which XML does not have, become question marks.
fn escaped(text: &str) -> String {
    let text = text.replace(|c: char| c.is_control() && c != '\n' && c != '\t', "?");
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn text(svg: &mut String, [x, y]: [f64; 2], anchor: &str, words: &str) {
    let _ =
        writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>", escaped(words));
}

pub fn svg(chart: &Chart) -> String {
    let drawn = drawing(chart);
    let title = format!("<title>{}</title>\n{STYLE}", escaped(&chart.title));
    framed("", &title, (drawn.width, drawn.height), &drawn.marks)
}

/// A chart for an HTML page that has [`STYLE`] in its head, with a description for readers who do not see it.
pub fn inline(chart: &Chart, description: &str) -> String {
    let drawn = drawing(chart);
    let label = format!(" aria-label=\"{}\"", escaped(description));
    framed(&label, "", (drawn.width, drawn.height), &drawn.marks)
}

/// Several charts below each other, as one picture.
pub fn page(title: &str, charts: &[Chart]) -> String {
    let (mut width, mut height, mut all) = (0f64, 0.0, String::new());
    for drawn in charts.iter().map(drawing) {
        let _ = writeln!(all, "<g transform=\"translate(0 {height:.0})\">\n{}</g>", drawn.marks);
        (width, height) = (width.max(drawn.width), height + drawn.height);
    }
    framed("", &format!("<title>{}</title>\n{STYLE}", escaped(title)), (width, height), &all)
}

/// The picture around marks: attributes, and what comes before the marks.
fn framed(attributes: &str, head: &str, (width, height): (f64, f64), marks: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"sans-serif\" \
         font-size=\"13\" role=\"img\"{attributes}>\n{head}<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n\
         {marks}</svg>\n"
    )
}

/// A chart without the frame of a picture.
struct Drawing {
    width: f64,
    height: f64,
    marks: String,
}

fn drawing(chart: &Chart) -> Drawing {
    let points = || chart.series.iter().flat_map(|s| &s.points);
    let is_logarithmic = axis::is_logarithmic(points().map(|p| p.1), chart.upwards);
    let has_zeros = is_logarithmic && points().any(|p| p.1 <= 0.0);
    let notes = has_zeros.then_some("Points at 0 are not drawn: the axis is logarithmic.");
    let notes = notes.into_iter().chain(chart.notes.iter().map(String::as_str));
    let notes: Vec<String> = notes.flat_map(wrapped).collect();
    let lines = chart.series.iter().map(name).chain(notes.iter().cloned());
    let columns = lines.map(|line| line.chars().count()).max().unwrap_or(0);
    let n_lines = chart.series.len() + if notes.is_empty() { 0 } else { notes.len() + 1 };
    let height = HEIGHT.max(TOP + n_lines as f64 * LEGEND_LINE + 20.0);
    let legend = LEFT + PLOT + 20.0;
    let title = chart.title.chars().count() as f64 * (CHAR_WIDTH + 1.5) + LEFT + 10.0;
    let width = (legend + 46.0 + columns as f64 * CHAR_WIDTH).max(title);

    let across = Axis::across(points().map(|p| p.0), chart.across, [LEFT, LEFT + PLOT]);
    let up = Axis::upwards(points().map(|p| p.1), chart.upwards, [height - BOTTOM, TOP]);

    let mut svg = String::new();
    let _ = writeln!(
        svg,
        "<text x=\"{LEFT}\" y=\"28\" font-size=\"15\" font-weight=\"bold\">{}</text>",
        escaped(&chart.title)
    );
    text(&mut svg, [LEFT + PLOT / 2.0, height - 16.0], "middle", &chart.x);
    let middle = (TOP + height - BOTTOM) / 2.0;
    let scale = if up.is_logarithmic { " (logarithmic)" } else { "" };
    let _ = writeln!(
        svg,
        "<text transform=\"translate(18 {middle:.1}) rotate(-90)\" text-anchor=\"middle\">{}{scale}</text>",
        escaped(&chart.y)
    );
    for mark in &up.marks {
        let (at, right) = (up.at(*mark), LEFT + PLOT);
        let _ = writeln!(svg, "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{right}\"/>");
        text(&mut svg, [LEFT - 8.0, at + 4.0], "end", &label(*mark));
    }
    let bottom = height - BOTTOM;
    let _ = writeln!(svg, "<path class=\"axis\" d=\"M{LEFT} {bottom:.1}h{PLOT}\"/>");
    let mut free_from = f64::NEG_INFINITY;
    for mark in &across.marks {
        let words = crate::report::short(*mark as u64);
        let (x, half) = (across.at(*mark), words.chars().count() as f64 * CHAR_WIDTH / 2.0 + 3.0);
        // Labels that would touch the one before are left out.
        if x - half >= free_from {
            let _ = writeln!(svg, "<path class=\"axis\" d=\"M{x:.1} {bottom:.1}v5\"/>");
            text(&mut svg, [x, bottom + 20.0], "middle", &words);
            free_from = x + half;
        }
    }
    for (i, series) in chart.series.iter().enumerate() {
        draw(&mut svg, series, i, [&across, &up]);
        let y = TOP + LEGEND_LINE * i as f64;
        open(&mut svg, series, i);
        let (to, mid) = (legend + 28.0, legend + 14.0);
        let _ = writeln!(svg, "<path class=\"line\"{} d=\"M{legend:.1} {y:.1}H{to:.1}\"/>", dashes(i));
        let _ = writeln!(svg, "{}</g>", marker(i, mid, y, ""));
        text(&mut svg, [legend + 36.0, y + 4.0], "start", &name(series));
    }
    for (i, line) in notes.iter().enumerate() {
        let y = TOP + LEGEND_LINE * (chart.series.len() + 1 + i) as f64;
        let _ = writeln!(svg, "<text class=\"note\" x=\"{legend:.1}\" y=\"{y:.1}\">{}</text>", escaped(line));
    }
    Drawing { width, height, marks: svg }
}

fn name(series: &Series) -> String {
    match series.origin {
        Origin::Ours => series.name.clone(),
        Origin::Published => format!("{} (published)", series.name),
    }
}

fn open(svg: &mut String, series: &Series, i: usize) {
    let published = if series.origin == Origin::Published { " published" } else { "" };
    let _ = writeln!(svg, "<g class=\"c{}{published}\">", i % N_COLOURS);
}

fn dashes(i: usize) -> String {
    // The second round of colours has other dashes than the first.
    match DASHES[(i + i / N_COLOURS) % DASHES.len()] {
        "" => String::new(),
        dashes => format!(" stroke-dasharray=\"{dashes}\""),
    }
}

/// Draws the line and the markers, with the figures as tooltips.
fn draw(svg: &mut String, series: &Series, i: usize, [across, up]: [&Axis; 2]) {
    open(svg, series, i);
    let is_drawn = |(_, y): &&(f64, f64)| *y > 0.0 || !up.is_logarithmic;
    let points: Vec<(f64, f64)> = series.points.iter().filter(is_drawn).copied().collect();
    let at: Vec<(f64, f64)> = points.iter().map(|(x, y)| (across.at(*x), up.at(*y))).collect();
    let joined: Vec<String> = at.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let _ = writeln!(svg, "<polyline class=\"line\"{} points=\"{}\"/>", dashes(i), joined.join(" "));
    // Lines of many points would be nothing but points.
    let step = if at.len() <= DOTS_MAX { 1 } else { at.len() / DOTS_OF_LONG_LINES };
    for ((x, y), (value_x, value_y)) in at.iter().zip(&points).step_by(step) {
        let words = format!("{}: {} at {}", name(series), label(*value_y), label(*value_x));
        let _ = writeln!(svg, "{}", marker(i, *x, *y, &words));
    }
    svg.push_str("</g>\n");
}

/// The marker of the series with index `i`.
fn marker(i: usize, x: f64, y: f64, tooltip: &str) -> String {
    let shape = match i % 5 {
        0 => "m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z",
        1 => "m-3 -3h6v6h-6z",
        2 => "m0 -4l4 7h-8z",
        3 => "m0 -4.5l4.5 4.5l-4.5 4.5l-4.5 -4.5z",
        _ => "m0 4l4 -7h-8z",
    };
    let title =
        if tooltip.is_empty() { String::new() } else { format!("<title>{}</title>", escaped(tooltip)) };
    format!("<path class=\"mark\" d=\"M{x:.1} {y:.1}{shape}\">{title}</path>")
}

/// Breaks a sentence into lines.
fn wrapped(sentence: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in sentence.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= N_NOTE_COLUMNS => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(name: &str, points: Vec<(f64, f64)>) -> Vec<Series> {
        vec![Series { name: name.to_owned(), points, ..Series::default() }]
    }

    #[test]
    fn lines_go_up_with_the_figures() {
        let series = one("a<b", vec![(10.0, 1.0), (1000.0, 4.0)]);
        let svg = svg(&Chart { series, ..Chart::default() });
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
        // From the left to the right edge, a quarter and the whole of the height.
        assert!(svg.contains("points=\"76.0,290.0 616.0,50.0\""), "{svg}");
        assert!(svg.contains(">a&lt;b<") && svg.contains(">1k<"), "{svg}");
        assert!(svg.contains("<title>a&lt;b: 4 at 1000</title>"), "{svg}");
    }

    #[test]
    fn figures_of_more_than_a_decade_are_logarithmic() {
        let points = vec![(1.0, 1.0), (2.0, 10.0), (3.0, 100.0)];
        let chart = Chart { series: one("", points), across: Across::Linear, ..Chart::default() };
        // The middle of the decades is the middle of the height.
        assert!(svg(&chart).contains(",370.0 ") && svg(&chart).contains(",210.0 "), "{}", svg(&chart));
        assert!(svg(&chart).contains("(logarithmic)"));
        let shares = Chart { upwards: Upwards::Linear, ..chart.clone() };
        assert!(!svg(&shares).contains("(logarithmic)"));
        let with_zero =
            Chart { series: one("", vec![(1.0, 0.0), (2.0, 1.0), (3.0, 100.0)]), ..chart.clone() };
        assert!(svg(&with_zero).contains(">Points at 0 are not drawn: the axis<"), "{}", svg(&with_zero));
        let near = Chart { series: one("", vec![(1.0, 0.0), (2.0, 100.0)]), ..chart };
        assert!(!svg(&near).contains("(logarithmic)") && !svg(&near).contains("not drawn"));
    }

    #[test]
    fn numbers_can_be_equally_far_apart() {
        let series = one("", vec![(5.0, 1.0), (10.0, 1.0)]);
        let svg = svg(&Chart { series, across: Across::Linear, ..Chart::default() });
        // The middle and the right edge.
        assert!(svg.contains("points=\"346.0,50.0 616.0,50.0\""), "{svg}");
        assert!(svg.contains(">0<") && svg.contains(">2<") && svg.contains(">10<"), "{svg}");
    }

    #[test]
    fn series_differ_in_more_than_colour() {
        let series = |origin| Series { name: "s".to_owned(), points: vec![(1.0, 1.0)], origin };
        let series = vec![series(Origin::Ours), series(Origin::Ours), series(Origin::Published)];
        let svg = svg(&Chart { series, ..Chart::default() });
        assert_eq!(svg.matches("stroke-dasharray").count(), 4, "{svg}");
        let shapes: std::collections::BTreeSet<_> = (0..5).map(|i| marker(i, 0.0, 0.0, "")).collect();
        assert_eq!(shapes.len(), 5);
        assert!(svg.contains(">s (published)<") && svg.contains("prefers-color-scheme: dark"), "{svg}");
    }

    #[test]
    fn legends_and_notes_fit() {
        let series = (0..40).map(|i| Series { name: format!("series {i}"), ..Series::default() }).collect();
        // 34 columns of notes, and 40 names, an empty line and three lines of notes.
        let svg = svg(&Chart { series, notes: vec!["word ".repeat(20)], ..Chart::default() });
        assert!(svg.contains("viewBox=\"0 0 920 862\""), "{svg}");
        assert_eq!(wrapped(&"word ".repeat(20)).len(), 3);
    }

    #[test]
    fn charts_of_a_page_are_below_each_other() {
        let chart = |name| Chart { series: one(name, vec![(10.0, 1.0)]), ..Chart::default() };
        let page = page("both", &[chart("a"), chart("b")]);
        assert_eq!((page.matches("<svg ").count(), page.matches("<style>").count()), (1, 1), "{page}");
        assert!(page.contains("translate(0 0)") && page.contains("translate(0 430)"), "{page}");
        assert!(page.contains(" 860\"") && page.contains(">a<") && page.contains(">b<"), "{page}");
    }

    #[test]
    fn charts_of_html_pages_share_a_style() {
        let chart = Chart { series: one("", vec![(10.0, 1.0)]), ..Chart::default() };
        let svg = inline(&chart, "a \"line\"");
        assert!(svg.contains("aria-label=\"a &quot;line&quot;\">") && !svg.contains("<style>"), "{svg}");
        assert!(!svg[..svg.find("<g").unwrap()].contains("<title>"), "{svg}");
    }

    #[test]
    fn nothing_is_drawn_of_nothing() {
        let svg = svg(&Chart { series: vec![Series::default()], ..Chart::default() });
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}
