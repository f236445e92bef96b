//! Line charts as SVG: figures upwards, and across sizes on a logarithmic scale, or numbers on a linear one.

use std::fmt::Write;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chart {
    pub title: String,
    pub x: String,
    pub y: String,
    pub series: Vec<Series>,
    pub across: Across,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Across {
    /// With a mark at every point.
    #[default]
    Logarithmic,
    /// From 0, with round marks.
    Linear,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    pub name: String,
    /// Ascending; both positive.
    pub points: Vec<(f64, f64)>,
}

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 480.0;
const LEFT: f64 = 70.0;
const TOP: f64 = 50.0;
const BOTTOM: f64 = 60.0;
/// With the names of the series.
const RIGHT: f64 = 290.0;

/// Points of a line that are drawn one by one.
const DOTS_MAX: usize = 40;

/// Distinguishable with any colour vision (Okabe, Ito).
const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#999999"];

/// Returns the top of the vertical axis and its step.
fn top_of(chart: &Chart) -> (f64, f64) {
    round_steps(chart.series.iter().flat_map(|s| &s.points).map(|p| p.1).fold(1.0, f64::max))
}

/// Rounds up to a multiple of a round step; returns it and the step.
fn round_steps(most: f64) -> (f64, f64) {
    let power = 10f64.powf(most.log10().floor());
    let step = [0.2, 0.5, 1.0, 2.0].map(|s| s * power).into_iter().find(|s| most / s <= 8.0).unwrap_or(power);
    ((most / step).ceil() * step, step)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn text(svg: &mut String, [x, y]: [f64; 2], anchor: &str, words: &str) {
    let _ =
        writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>", escaped(words));
}

pub fn svg(chart: &Chart) -> String {
    let scaled = |x: f64| match chart.across {
        Across::Logarithmic => x.max(1.0).log10(),
        Across::Linear => x,
    };
    let xs = || chart.series.iter().flat_map(|s| &s.points).map(|p| p.0);
    let (right, right_step) = round_steps(xs().fold(1.0, f64::max));
    let (first, last) = match chart.across {
        Across::Logarithmic => {
            (xs().map(scaled).fold(f64::INFINITY, f64::min), xs().map(scaled).fold(0.0, f64::max))
        }
        Across::Linear => (0.0, right),
    };
    let first = if first.is_finite() { first } else { 0.0 };
    let (top, step) = top_of(chart);
    let across = |x: f64| {
        let part = if last > first { (scaled(x) - first) / (last - first) } else { 0.5 };
        LEFT + part * (WIDTH - LEFT - RIGHT)
    };
    let up = |y: f64| HEIGHT - BOTTOM - y / top * (HEIGHT - TOP - BOTTOM);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
         font-size=\"13\">\n<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n"
    );
    text(&mut svg, [LEFT, 28.0], "start", &chart.title);
    text(&mut svg, [(LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 16.0], "middle", &chart.x);
    text(&mut svg, [10.0, TOP - 8.0], "start", &chart.y);
    let mut y = 0.0;
    while y <= top + step / 2.0 {
        let (at, right) = (up(y), WIDTH - RIGHT);
        let _ = writeln!(svg, "<path d=\"M{LEFT} {at:.1}H{right}\" stroke=\"#dddddd\"/>");
        text(&mut svg, [LEFT - 8.0, at + 4.0], "end", &format!("{}", (y * 100.0).round() / 100.0));
        y += step;
    }
    let mut marks: Vec<u64> = match chart.across {
        Across::Logarithmic => xs().map(|x| x as u64).collect(),
        Across::Linear => {
            (0..=(right / right_step).round() as u64).map(|i| (i as f64 * right_step) as u64).collect()
        }
    };
    marks.sort_unstable();
    marks.dedup();
    for mark in marks {
        let words = crate::report::short(mark);
        text(&mut svg, [across(mark as f64), HEIGHT - BOTTOM + 18.0], "middle", &words);
    }
    for (i, (series, colour)) in chart.series.iter().zip(COLOURS.iter().cycle()).enumerate() {
        let points: Vec<String> =
            series.points.iter().map(|(x, y)| format!("{:.1},{:.1}", across(*x), up(*y))).collect();
        // The colours go round: then lines are broken.
        let dashes = if i < COLOURS.len() { "" } else { " stroke-dasharray=\"6 4\"" };
        let joined = points.join(" ");
        let _ = writeln!(
            svg,
            "<polyline points=\"{joined}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{dashes}/>"
        );
        // Lines of many points would be nothing but points.
        let is_dotted = series.points.len() <= DOTS_MAX;
        for (x, y) in series.points.iter().filter(|_| is_dotted) {
            let (x, y) = (across(*x), up(*y));
            let _ = writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>");
        }
        let (x, y) = (WIDTH - RIGHT + 16.0, TOP + 18.0 * i as f64);
        let to = x + 20.0;
        let _ = writeln!(
            svg,
            "<path d=\"M{x:.1} {y:.1}H{to:.1}\" stroke=\"{colour}\" stroke-width=\"2\"{dashes}/>"
        );
        text(&mut svg, [x + 26.0, y + 4.0], "start", &series.name);
    }
    svg + "</svg>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_go_up_with_the_figures() {
        let points = vec![(10.0, 1.0), (1000.0, 4.0)];
        let chart = Chart { series: vec![Series { name: "a<b".to_owned(), points }], ..Chart::default() };
        let svg = svg(&chart);
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
        // From the left to the right edge, a quarter and the whole of the height.
        assert!(svg.contains("points=\"70.0,327.5 610.0,50.0\""), "{svg}");
        assert!(svg.contains(">a&lt;b<") && svg.contains(">1k<"), "{svg}");
    }

    #[test]
    fn scales_are_round() {
        let of = |most| {
            let series = vec![Series { name: String::new(), points: vec![(1.0, most)] }];
            top_of(&Chart { series, ..Chart::default() })
        };
        assert_eq!(of(4.0), (4.0, 0.5));
        assert_eq!(of(37.0), (40.0, 5.0));
        assert_eq!(of(99.0), (100.0, 20.0));
    }

    #[test]
    fn numbers_can_be_equally_far_apart() {
        let points = vec![(5.0, 1.0), (10.0, 1.0)];
        let series = vec![Series { name: String::new(), points }];
        let svg = svg(&Chart { series, across: Across::Linear, ..Chart::default() });
        // The middle and the right edge.
        assert!(svg.contains("points=\"340.0,50.0 610.0,50.0\""), "{svg}");
        assert!(svg.contains(">0<") && svg.contains(">2<") && svg.contains(">10<"), "{svg}");
    }

    #[test]
    fn nothing_is_drawn_of_nothing() {
        let svg = svg(&Chart { series: vec![Series::default()], ..Chart::default() });
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}
