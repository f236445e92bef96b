//! Pieces of HTML.

use crate::json::short;
use crate::part::Bars;
use std::fmt::Write;

/// Text as content or as the value of an attribute in quotes. Control characters that neither HTML nor XML has become
/// question marks.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() => out.push('?'),
            c => out.push(c),
        }
    }
    out
}

/// A table; the first row is its head. Numbers are aligned to the right.
pub fn table(caption: &str, rows: &[Vec<String>]) -> String {
    let mut out = String::from("<div class=\"wide\"><table>\n");
    if !caption.is_empty() {
        let _ = writeln!(out, "<caption>{}</caption>", escaped(caption));
    }
    if let Some((head, rows)) = rows.split_first() {
        let cells: String =
            head.iter().map(|cell| format!("<th scope=\"col\">{}</th>", escaped(cell))).collect();
        let _ = writeln!(out, "<thead><tr>{cells}</tr></thead>\n<tbody>");
        for row in rows {
            let cells: String = row
                .iter()
                .map(|cell| {
                    let class = if is_number(cell) { " class=\"number\"" } else { "" };
                    format!("<td{class}>{}</td>", escaped(cell))
                })
                .collect();
            let _ = writeln!(out, "<tr>{cells}</tr>");
        }
        out.push_str("</tbody>\n");
    }
    out.push_str("</table></div>\n");
    out
}

/// Names and values, a row each.
pub fn facts(rows: &[(String, String)]) -> String {
    let row = |(name, value): &(String, String)| {
        format!("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", escaped(name), escaped(value))
    };
    let rows: String = rows.iter().map(row).collect();
    format!("<div class=\"wide\"><table>\n<tbody>\n{rows}</tbody>\n</table></div>\n")
}

fn is_number(text: &str) -> bool {
    let text = text.trim_start_matches(['-', '−']);
    text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_digit() || ",.%e-+ ".contains(c))
}

const BAR_LINE: f64 = 24.0;
const BAR_LEFT: f64 = 400.0;
const BAR_WIDTH: f64 = 380.0;
const BAR_TOP: f64 = 34.0;
const CHAR_WIDTH: f64 = 7.2;

/// Horizontal bars as SVG. Published numbers are dashed frames, so that they differ in print.
pub fn bars(bars: &Bars, description: &str) -> String {
    let most = bars.bars.iter().map(|bar| bar.1).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let longest = bars.bars.iter().map(|bar| bar.0.chars().count()).max().unwrap_or(0);
    let left = (longest as f64 * CHAR_WIDTH + 16.0).max(BAR_LEFT);
    let (width, height) = (left + BAR_WIDTH + 130.0, BAR_TOP + BAR_LINE * bars.bars.len() as f64 + 8.0);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"sans-serif\" font-size=\"13\" \
         role=\"img\" aria-label=\"{}\">\n<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n\
         <text x=\"8\" y=\"20\" font-size=\"15\" font-weight=\"bold\">{}, {}</text>\n",
        escaped(description),
        escaped(&bars.title),
        escaped(&bars.unit)
    );
    for (i, (name, number, is_published)) in bars.bars.iter().enumerate() {
        let y = BAR_TOP + BAR_LINE * i as f64;
        let length = (number.max(0.0) / most * BAR_WIDTH).clamp(1.0, BAR_WIDTH);
        let class = if *is_published { "bar theirs" } else { "bar" };
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text><rect class=\"{class}\" x=\"{left:.1}\" y=\"{y:.1}\" \
             width=\"{length:.1}\" height=\"17\"/><text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            left - 8.0,
            y + 13.0,
            escaped(name),
            left + length + 6.0,
            y + 13.0,
            escaped(&short(*number))
        );
    }
    out.push_str("</svg>\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped() {
        assert_eq!(escaped("<a href=\"x\" b='y'>&\u{7}"), "&lt;a href=&quot;x&quot; b=&#39;y&#39;&gt;&amp;?");
        let rows = [vec!["a<".to_owned()], vec!["1,234.5".to_owned()], vec!["<script>".to_owned()]];
        let table = table("b>", &rows);
        assert!(
            table.contains("<th scope=\"col\">a&lt;</th>")
                && table.contains("<td class=\"number\">1,234.5</td>")
        );
        assert!(table.contains("&lt;script&gt;") && table.contains("b&gt;"), "{table}");
    }

    #[test]
    fn bars_are_as_long_as_their_numbers() {
        let bars = Bars {
            title: "t&".to_owned(),
            unit: "u".to_owned(),
            bars: vec![
                ("a".to_owned(), 10.0, false),
                ("b<".to_owned(), 5.0, true),
                ("none".to_owned(), 0.0, false),
            ],
        };
        let svg = super::bars(&bars, "d");
        assert!(
            svg.contains("width=\"380.0\"")
                && svg.contains("width=\"190.0\"")
                && svg.contains("width=\"1.0\""),
            "{svg}"
        );
        assert!(
            svg.contains("class=\"bar theirs\"") && svg.contains("t&amp;, u") && svg.contains("b&lt;"),
            "{svg}"
        );
    }
}
