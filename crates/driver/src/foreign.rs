//! Recognises files that are no P4-16 programs, so that they get one message instead of many syntax errors.

/// Says what a file is if it is surely no P4-16 program, and what to type instead. `path` is for the command lines in
/// the message. Only signs that no P4-16 program has are taken, because a wrong guess would hide its real errors.
pub fn recognise(text: &str, path: &str) -> Option<String> {
    let start = text.trim_start_matches('\u{feff}').trim_start();
    if text.contains('\0') {
        return Some("it is not text; give the source of a P4-16 program".to_string());
    }
    if let Some(inside) = start.strip_prefix('{') {
        if text.contains("\"header_types\"") && text.contains("\"pipelines\"") {
            return Some(
                "it is the BMv2 JSON that p4c writes; give the P4 program from which it was made".to_string(),
            );
        }
        if text.contains("\"pkgInfo\"") || text.contains("\"pkg_info\"") {
            return Some(P4INFO.to_string());
        }
        if inside.trim_start().starts_with(['"', '}']) {
            return Some(
                "it is JSON; give the source of a P4-16 program, or the program from which p4c made it"
                    .to_string(),
            );
        }
    }
    if start.starts_with("pkg_info {") || start.starts_with("pkg_info: {") {
        return Some(P4INFO.to_string());
    }
    is_p4_14(text).then(|| {
        format!(
            "it is a P4-14 program, and Siding reads P4-16; p4c translates it: \
             p4test --std p4-14 --pp out.p4 {path}"
        )
    })
}

const P4INFO: &str = "it is P4Info, which describes a program for controllers; give the P4 program itself";

/// Says where an include file comes from that belongs to another compiler.
pub fn origin_of_include(name: &str) -> Option<&'static str> {
    match name {
        "tna.p4" | "t2na.p4" | "tofino.p4" | "tofino2.p4" | "tofino1arch.p4" | "tofino2arch.p4" => {
            Some("it describes Intel's Tofino and comes with the SDE and with open-p4studio")
        }
        "xsa.p4" => Some("it describes AMD's Vitis Networking P4 and comes with that tool"),
        "spectrum_model.p4" => Some("it describes NVIDIA's Spectrum and comes with its SDK"),
        _ => None,
    }
}

/// Declares a `header_type`, or a table with `reads`, and includes nothing of P4-16.
fn is_p4_14(text: &str) -> bool {
    if text.contains("core.p4") {
        return false;
    }
    let text = without_comments(text).replace('{', " { ");
    let words: Vec<&str> = text.split_whitespace().collect();
    let opens = |at: usize| words.get(at) == Some(&"{");
    words.iter().enumerate().any(|(at, word)| match *word {
        "header_type" => opens(at + 2),
        "reads" => opens(at + 1),
        _ => false,
    })
}

/// The text with a space in place of each comment. Every byte is looked at once: programs may consist of comments.
fn without_comments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('/') {
        let (before, comment) = rest.split_at(at);
        kept.push_str(before);
        let end = if comment.starts_with("//") {
            comment.find('\n')
        } else if let Some(inside) = comment.strip_prefix("/*") {
            inside.find("*/").map(|end| end + 4)
        } else {
            kept.push('/');
            rest = &comment[1..];
            continue;
        };
        kept.push(' ');
        rest = end.map_or("", |end| &comment[end..]);
    }
    kept + rest
}
