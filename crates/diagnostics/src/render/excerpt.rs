//! Chooses which source lines are shown and cuts them to a bearable length.
//!
//! The drawing library wants contiguous source text. An [`Excerpt`] is such a text made up for one run of
//! lines: lines that nobody points at are left empty (they are folded anyway), long lines are cut around
//! the places that labels point at. So the cost of drawing depends on the labels, not on the file.

use crate::{FileId, SourceFile, SourceMap};
use std::ops::Range;

/// Bytes of one source line that are handed to the drawing library.
const LINE_BYTES_MAX: usize = 400;
/// Context kept before the first place of a line that has to be cut.
const LEAD_BYTES: usize = 80;
/// A place that covers more lines is shown by its first line only.
const SPAN_LINES_MAX: usize = 8;
/// A longer run of lines without a label divides an excerpt.
const GAP_LINES_MAX: usize = 40;
/// Gaps up to this size are shown instead of folded.
const GAP_LINES_SHOWN: usize = 2;
const ELLIPSIS: &str = "…";

/// A place inside one file.
#[derive(Clone, Debug)]
pub(super) struct Place<T> {
    pub lo: u32,
    pub hi: u32,
    pub tag: T,
}

/// A run of source lines fit for drawing.
#[derive(Debug)]
pub(super) struct Excerpt<T> {
    /// Presumed file name.
    pub path: String,
    /// Presumed number of the first line.
    pub line_start: usize,
    pub text: String,
    /// Byte ranges within `text`.
    pub places: Vec<(Range<usize>, T)>,
    /// True when a line with a place was cut: columns within `text` are not those of the file.
    pub is_cut: bool,
}

struct Line {
    /// Part of the file's text that is shown.
    shown: Range<usize>,
    /// Offset of `shown` in the excerpt.
    at: usize,
}

/// Divides the places of one file into excerpts, in order of lines.
pub(super) fn excerpts<T: Clone>(sources: &SourceMap, file: FileId, places: &[Place<T>]) -> Vec<Excerpt<T>> {
    let source = sources.file(file);
    let mut sound: Vec<(Range<usize>, Range<usize>, T)> = places
        .iter()
        .map(|p| {
            let (bytes, lines) = sound_range(source, p.lo, p.hi);
            (bytes, lines, p.tag.clone())
        })
        .collect();
    sound.sort_by_key(|(bytes, ..)| (bytes.start, bytes.end));

    let presumed = |line: usize| {
        let at = source.line_start(line);
        sources
            .locate(sources.span(file, at, at))
            .map_or((source.name.clone(), line), |l| (l.file, l.line as usize))
    };
    let mut runs: Vec<(usize, Vec<_>)> = Vec::new();
    for place in sound {
        let (first, last) = (place.1.start, place.1.end);
        let joins = runs.last().is_some_and(|(end, members): &(usize, Vec<(_, Range<usize>, T)>)| {
            let start = members[0].1.start;
            let (a, b) = (presumed(start), presumed(last));
            first <= end + GAP_LINES_MAX && a.0 == b.0 && b.1.checked_sub(a.1) == Some(last - start)
        });
        match runs.last_mut() {
            Some((end, members)) if joins => {
                *end = (*end).max(last);
                members.push(place);
            }
            _ => runs.push((last, vec![place])),
        }
    }
    runs.into_iter()
        .map(|(_, members)| {
            let (path, line_start) = presumed(members[0].1.start);
            excerpt(source, path, line_start, members)
        })
        .collect()
}

/// Clamps offsets to the file and to character boundaries; gives the bytes and the (inclusive) lines.
fn sound_range(source: &SourceFile, lo: u32, hi: u32) -> (Range<usize>, Range<usize>) {
    let lo = floor_boundary(&source.text, lo as usize);
    let hi = floor_boundary(&source.text, hi as usize).max(lo);
    let line_end = |line: usize| source.line_start(line) as usize + source.line_text(line).len();
    let first = source.line_index(lo as u32);
    // An end at the very beginning of a line belongs to the line before.
    let last = source.line_index((hi.max(lo + 1) - 1) as u32).max(first);
    // A place on a line break stands just behind the last character of its line.
    let lo = lo.min(line_end(first));
    if last - first >= SPAN_LINES_MAX {
        (lo..line_end(first), first..first)
    } else {
        (lo..hi.min(line_end(last)).max(lo), first..last)
    }
}

fn excerpt<T>(
    source: &SourceFile,
    path: String,
    line_start: usize,
    members: Vec<(Range<usize>, Range<usize>, T)>,
) -> Excerpt<T> {
    let first = members[0].1.start;
    let last = members.iter().map(|m| m.1.end).max().unwrap_or(first);
    let wanted = |line: usize| members.iter().any(|m| m.1.start <= line && line <= m.1.end);
    let (mut text, mut lines, mut is_cut) = (String::new(), Vec::new(), false);
    let mut next_wanted = first;
    for index in first..=last {
        if next_wanted < index {
            next_wanted = (index..=last).find(|l| wanted(*l)).unwrap_or(last);
        }
        let near = |l: usize| l <= last && wanted(l);
        let shown = wanted(index)
            || (next_wanted - index <= GAP_LINES_SHOWN
                && (1..=GAP_LINES_SHOWN).any(|d| index.checked_sub(d).is_some_and(near)));
        let start = source.line_start(index) as usize;
        let full = start..start + source.line_text(index).len();
        let window = if shown { window(source, &full, index, &members) } else { start..start };
        if window.start > full.start {
            text.push_str(ELLIPSIS);
            is_cut = true;
        }
        lines.push(Line { shown: window.clone(), at: text.len() });
        text.push_str(source.text.get(window.clone()).unwrap_or(""));
        if shown && window.end < full.end {
            text.push_str(ELLIPSIS);
            is_cut = true;
        }
        if index < last {
            text.push('\n');
        }
    }
    let map = |offset: usize, line: usize| {
        let line = &lines[line - first];
        line.at + offset.clamp(line.shown.start, line.shown.end) - line.shown.start
    };
    let places = members
        .into_iter()
        .map(|(bytes, line, tag)| {
            let lo = map(bytes.start, line.start);
            (lo..map(bytes.end, line.end).max(lo), tag)
        })
        .collect();
    Excerpt { path, line_start, text, places, is_cut }
}

/// The part of a line that is shown: all of it, or what surrounds the places when it is long.
fn window<T>(
    source: &SourceFile,
    full: &Range<usize>,
    index: usize,
    members: &[(Range<usize>, Range<usize>, T)],
) -> Range<usize> {
    if full.len() <= LINE_BYTES_MAX {
        return full.clone();
    }
    let from = members
        .iter()
        .filter(|m| m.1.start <= index && index <= m.1.end)
        .map(|m| m.0.start.clamp(full.start, full.end))
        .min()
        .unwrap_or(full.start);
    let lo = floor_boundary(&source.text, from.saturating_sub(LEAD_BYTES).max(full.start));
    let hi = floor_boundary(&source.text, (lo + LINE_BYTES_MAX).min(full.end));
    lo..hi.max(lo)
}

fn floor_boundary(text: &str, offset: usize) -> usize {
    let mut at = offset.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
