//! Colours of stories: what became of the packet, and the lookups that missed.

use crate::output::ColorChoice;

const RESET: &str = "\x1b[0m";
const BOLD_RED: &str = "\x1b[1;31m";
const BOLD_GREEN: &str = "\x1b[1;32m";
const YELLOW: &str = "\x1b[33m";

/// The story with colours, if standard output gets them. The first line is the summary.
pub fn tint(story: &str, color: ColorChoice) -> String {
    if color.for_stdout() { tinted(story) } else { story.to_owned() }
}

fn tinted(story: &str) -> String {
    let mut out = String::with_capacity(story.len() + 64);
    for (i, line) in story.lines().enumerate() {
        let start = match i {
            0 if line.starts_with("sent") => BOLD_GREEN,
            0 if line.contains("dropped") => BOLD_RED,
            0 => "",
            _ if line.contains(" missed") => YELLOW,
            _ => "",
        };
        out.push_str(start);
        out.push_str(line);
        out.push_str(if start.is_empty() { "" } else { RESET });
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_and_misses_are_coloured() {
        let story = "dropped: t missed 1 (0 entries): drop\nTable t missed.\nAction drop.\n";
        assert_eq!(
            tint(story, ColorChoice::Always),
            "\x1b[1;31mdropped: t missed 1 (0 entries): drop\x1b[0m\n\x1b[33mTable t missed.\x1b[0m\nAction drop.\n"
        );
        assert_eq!(tint("sent to port 1\n", ColorChoice::Always), "\x1b[1;32msent to port 1\x1b[0m\n");
        assert_eq!(tint(story, ColorChoice::Never), story);
    }
}
