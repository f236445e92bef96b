//! The program's own text for parts of the elaborated program.

use super::Link;
use diagnostics::{SourceMap, Span};

/// Finds the text that a span stands for. Without a source map, or where a program came from IR text, it finds nothing
/// and pictures show the text of the IR.
#[derive(Clone, Copy, Default)]
pub struct Source<'s> {
    sources: Option<&'s SourceMap>,
}

/// A `select` expression or a `switch` statement as the program writes it.
pub(super) struct Cases {
    /// The text between the parentheses.
    pub subject: String,
    /// The labels in order, `default` included.
    pub labels: Vec<String>,
}

impl<'s> Source<'s> {
    pub fn new(sources: &'s SourceMap) -> Source<'s> {
        Source { sources: Some(sources) }
    }

    /// The text on one line, without comments; `None` for spans of no file and empty ones.
    pub(super) fn text(&self, span: Span) -> Option<String> {
        let text = on_one_line(self.sources?.text(span));
        (!text.is_empty()).then_some(text)
    }

    /// The lines of a declaration from the one with its name to the closing brace, as the program has them.
    pub(super) fn body(&self, name: Span) -> Vec<String> {
        let Some((sources, at)) = self.sources.and_then(|sources| Some((sources, sources.resolve(name)?)))
        else {
            return Vec::new();
        };
        let file = sources.file(at.file);
        let start = file.line_start(file.line_index(at.lo)) as usize;
        declaration(file.text.get(start..).unwrap_or(""))
    }

    /// The file and the line, unless it is a file that comes with the compiler.
    pub(super) fn link(&self, span: Span) -> Option<Link> {
        let sources = self.sources?;
        if sources.is_system(span) {
            return None;
        }
        sources.locate(span).map(|at| Link { file: at.file, line: at.line })
    }

    /// A simple statement without its semicolon. Statements with blocks have no such text.
    pub(super) fn statement(&self, span: Span) -> Option<String> {
        let text = self.text(span)?;
        let text = text.trim_end_matches(';').trim_end();
        let is_simple = !text.contains(['{', ';']) && !text.starts_with("if ") && !text.starts_with("if(");
        is_simple.then(|| text.to_string())
    }

    /// The condition of an `if` statement, or the text of a condition that stands for itself.
    pub(super) fn condition(&self, span: Span) -> Option<String> {
        let text = self.text(span)?;
        match text.strip_prefix("if").map(str::trim_start) {
            Some(rest) if rest.starts_with('(') => {
                parenthesised(rest).map(|(inside, _)| inside.trim().to_string())
            }
            _ => (!text.contains(['{', ';'])).then_some(text),
        }
    }

    /// The cases of a `select` or a `switch`.
    pub(super) fn cases(&self, span: Span) -> Option<Cases> {
        let text = self.text(span)?;
        let at = text.find("select").or_else(|| text.find("switch"))?;
        let (subject, rest) = parenthesised(text.get(at + "select".len()..)?.trim_start())?;
        let body = rest.trim_start().strip_prefix('{')?;
        let is_select = text[at..].starts_with("select");
        let labels = if is_select { select_labels(body) } else { Vec::new() };
        Some(Cases { subject: subject.trim().to_string(), labels })
    }
}

/// The lines up to the brace that closes the first one, without the common indent.
fn declaration(text: &str) -> Vec<String> {
    let mut depth = 0usize;
    let end = text.char_indices().find_map(|(i, c)| {
        match c {
            '{' => depth += 1,
            '}' if depth <= 1 => return Some(i + 1),
            '}' => depth -= 1,
            _ => {}
        }
        None
    });
    let Some(text) = end.and_then(|end| text.get(..end)) else { return Vec::new() };
    let indent = text.len() - text.trim_start().len();
    let unindented = |line: &str| {
        let n = line.bytes().take(indent).take_while(u8::is_ascii_whitespace).count();
        line.get(n..).unwrap_or("").to_string()
    };
    text.lines().map(unindented).collect()
}

/// The labels of cases `label: state;` up to the closing brace.
fn select_labels(body: &str) -> Vec<String> {
    let body = body.rsplit_once('}').map_or(body, |(body, _)| body);
    let cases = body.split(';').filter_map(|case| case.rsplit_once(':'));
    cases.map(|(label, _)| label.trim().to_string()).collect()
}

/// Splits a text that begins with a parenthesis into what it encloses and the rest.
fn parenthesised(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0usize;
    for (i, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth <= 1 => return Some((text.get(1..i)?, text.get(i + 1..)?)),
            ')' => depth -= 1,
            _ if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

/// Removes comments and replaces white space by single spaces.
fn on_one_line(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    loop {
        let comment = [rest.find("//"), rest.find("/*")].into_iter().flatten().min();
        let Some(at) = comment else {
            out.push_str(rest);
            break;
        };
        out.push_str(&rest[..at]);
        out.push(' ');
        let end = if rest[at..].starts_with("//") { "\n" } else { "*/" };
        match rest[at + 2..].find(end) {
            Some(n) => rest = &rest[at + 2 + n + end.len()..],
            None => break,
        }
    }
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The text of an expression of the IR in the words of P4.
pub(super) fn in_p4(text: &str) -> String {
    without_numbers(text).replace(".$valid", ".isValid()").replace(".$next", ".nextIndex")
}

/// Without the numbers that tell variables of one name apart, as in `headers#1.eth`: a picture shows one block.
fn without_numbers(text: &str) -> String {
    let mut parts = text.split('#');
    let mut out = parts.next().unwrap_or("").to_string();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_number = rest.len() < part.len() && out.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        if !is_number {
            out.push('#');
        }
        out.push_str(if is_number { rest } else { part });
    }
    out
}

/// The text of a statement of the IR in the words of P4.
pub(super) fn statement_in_p4(text: &str) -> String {
    match text.split_once(".$valid = ") {
        Some((header, "true")) => format!("{}.setValid()", in_p4(header)),
        Some((header, "false")) => format!("{}.setInvalid()", in_p4(header)),
        _ => in_p4(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_found_in_the_text() {
        let body = "{ (A, 0x8000 &&& 0xff00): a; B .. C: b; default: accept; }";
        assert_eq!(select_labels(&body[1..]), ["(A, 0x8000 &&& 0xff00)", "B .. C", "default"]);
        assert_eq!(parenthesised("(f(a), b) { }"), Some(("f(a), b", " { }")));
        assert_eq!(parenthesised("a(b)"), None);
        assert_eq!(parenthesised("(b"), None);
    }

    #[test]
    fn numbers_of_variables_are_left_out() {
        assert_eq!(in_p4("headers#1.eth.$valid = x#12 + #3"), "headers.eth.isValid() = x + #3");
        assert_eq!(in_p4("a # b#"), "a # b#");
    }

    #[test]
    fn comments_and_breaks_are_left_out() {
        assert_eq!(on_one_line("a // b\n  /* c\n d */ + e"), "a + e");
        assert_eq!(on_one_line("a /* b"), "a");
    }

    #[test]
    fn declarations_end_with_their_brace() {
        let text = "    action a() {\n        if (b) { c(); }\n    }\n    action d() {}";
        assert_eq!(declaration(text), ["action a() {", "    if (b) { c(); }", "}"]);
        assert!(declaration("a {").is_empty());
    }

    #[test]
    fn validity_is_a_method() {
        assert_eq!(in_p4("!h.$valid && x"), "!h.isValid() && x");
        assert_eq!(statement_in_p4("h.$valid = true"), "h.setValid()");
    }
}
