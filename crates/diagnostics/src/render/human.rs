//! The layout that people read: rustc's, drawn by `annotate-snippets`.

use super::excerpt::{Excerpt, Place, excerpts};
use super::{Style, one_line};
use crate::{Diagnostic, FileId, Fix, Label, Resolved, Severity, SourceMap, Span};
use annotate_snippets::{AnnotationKind, Group, Level, Patch, Renderer, Snippet};

/// Macros named in a backtrace; the rest is counted.
const MACROS_MAX: usize = 5;
/// Files named in a chain of includes; the rest is left out.
const INCLUDES_MAX: usize = 5;
/// Places drawn; a message that has more is not helped by them.
const LABELS_MAX: usize = 24;
/// Bytes of a label, message or replacement that are shown.
const TEXT_BYTES_MAX: usize = 2000;

/// A diagnostic with source excerpts, notes, helps and fixes, ending in a line break.
pub fn human(d: &Diagnostic, sources: &SourceMap, style: Style) -> String {
    let renderer = if style.color { Renderer::styled() } else { Renderer::plain() }.term_width(style.width);
    let level = match d.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Info => Level::INFO,
    };
    let mut group = Group::with_title(level.primary_title(bounded(&d.message)).id(d.code.id));

    let mut columns = Vec::new();
    for excerpt in label_excerpts(d, sources) {
        if excerpt.is_cut {
            columns.push(wrong_and_true_column(&excerpt, d, sources));
        }
        group = group.element(
            Snippet::source(excerpt.text)
                .path(one_line(&excerpt.path))
                .line_start(excerpt.line_start)
                .annotations(excerpt.places.into_iter().map(|(range, (is_primary, text))| {
                    let kind = if is_primary { AnnotationKind::Primary } else { AnnotationKind::Context };
                    kind.span(range).label((!text.is_empty()).then(|| bounded(&text)))
                })),
        );
    }
    let resolved = sources.resolve(d.primary.span);
    for place in resolved.as_ref().map(|r| included_from(sources, r.file)).unwrap_or_default() {
        group = group.element(Level::NOTE.message(format!("included from {place}")));
    }
    for note in &d.notes {
        group = group.element(Level::NOTE.message(bounded(note)));
    }
    for help in &d.helps {
        group = group.element(Level::HELP.message(bounded(help)));
    }
    let mut groups = vec![group];
    for fix in &d.fixes {
        groups.push(fix_group(fix, sources));
    }
    for group in resolved.iter().flat_map(|r| macro_groups(r, sources)) {
        groups.push(group);
    }
    let mut text = renderer.render(&groups);
    for (wrong, right) in columns.into_iter().flatten() {
        text = text.replacen(&wrong, &right, 1);
    }
    text.push('\n');
    text
}

/// The tag of a drawn place: whether it is the primary one, and its text.
type Tag = (bool, String);

/// The excerpts of all labels, the one with the primary place first.
fn label_excerpts(d: &Diagnostic, sources: &SourceMap) -> Vec<Excerpt<Tag>> {
    let mut files: Vec<(FileId, Vec<Place<Tag>>)> = Vec::new();
    let labels = std::iter::once((true, &d.primary)).chain(d.labels.iter().map(|l| (false, l)));
    for (is_primary, Label { span, text }) in labels.take(LABELS_MAX) {
        let Some(r) = sources.resolve(*span) else { continue };
        let place = Place { lo: r.lo, hi: r.hi, tag: (is_primary, text.clone()) };
        match files.iter_mut().find(|(f, _)| *f == r.file) {
            Some((_, places)) => places.push(place),
            None => files.push((r.file, vec![place])),
        }
    }
    let mut all: Vec<_> =
        files.into_iter().flat_map(|(file, places)| excerpts(sources, file, &places)).collect();
    // Stable: other excerpts keep the order of their labels.
    all.sort_by_key(|e| !e.places.iter().any(|(_, (is_primary, _))| *is_primary));
    all
}

/// The drawing library derives the column from the excerpt; in a cut line that is not the file's column.
fn wrong_and_true_column(
    excerpt: &Excerpt<Tag>,
    d: &Diagnostic,
    sources: &SourceMap,
) -> Option<(String, String)> {
    let (range, (is_primary, _)) = excerpt.places.iter().find(|(_, (is_primary, _))| *is_primary)?;
    debug_assert!(is_primary);
    let at = sources.locate(d.primary.span)?;
    let before = excerpt.text.get(..range.start)?;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
    let path = one_line(&excerpt.path);
    Some((format!("{path}:{}:{column}", at.line), format!("{path}:{}:{}", at.line, at.column)))
}

/// `main.p4:3:1` for each `#include` that leads to the file, innermost first.
pub(super) fn included_from(sources: &SourceMap, file: FileId) -> Vec<String> {
    let mut places = Vec::new();
    let mut next = sources.file(file).included_from;
    while let (Some(span), true) = (next, places.len() < INCLUDES_MAX) {
        let (Some(r), Some(at)) = (sources.resolve(span), sources.locate(span)) else { break };
        places.push(format!("{}:{}:{}", one_line(&at.file), at.line, at.column));
        next = sources.file(r.file).included_from;
    }
    places
}

/// One note per macro that the primary place went through, with its spelling in the definition.
fn macro_groups<'a>(resolved: &Resolved, sources: &SourceMap) -> Vec<Group<'a>> {
    let n = resolved.macros.len();
    let mut groups = Vec::new();
    for (name, spelling) in resolved.macros.iter().take(MACROS_MAX) {
        let mut group =
            Group::with_title(Level::NOTE.secondary_title(format!("in expansion of macro `{name}`")));
        for excerpt in excerpts_of(sources, *spelling) {
            group = group.element(
                Snippet::source(excerpt.text)
                    .path(one_line(&excerpt.path))
                    .line_start(excerpt.line_start)
                    .annotations(
                        excerpt.places.into_iter().map(|(range, ())| AnnotationKind::Primary.span(range)),
                    ),
            );
        }
        groups.push(group);
    }
    if n > MACROS_MAX {
        let rest = n - MACROS_MAX;
        groups.push(Group::with_title(Level::NOTE.secondary_title(format!("and {rest} more macros"))));
    }
    groups
}

fn excerpts_of(sources: &SourceMap, span: Span) -> Vec<Excerpt<()>> {
    match sources.resolve(span) {
        Some(r) => excerpts(sources, r.file, &[Place { lo: r.lo, hi: r.hi, tag: () }]),
        None => Vec::new(),
    }
}

/// A fix drawn as a patch, or in words where its places cannot be edited (macros, several files, cut lines).
fn fix_group<'a>(fix: &Fix, sources: &SourceMap) -> Group<'a> {
    let title = |text: String| Level::HELP.secondary_title(bounded(&text));
    let resolved: Vec<_> = fix.edits.iter().map(|(span, text)| (sources.resolve(*span), text)).collect();
    let editable = |r: &Option<Resolved>| r.as_ref().is_some_and(|r| r.macros.is_empty());
    let file = resolved.first().and_then(|(r, _)| r.as_ref()).map(|r| r.file);
    let same_file = resolved.iter().all(|(r, _)| editable(r) && r.as_ref().map(|r| r.file) == file);
    let small = fix.edits.iter().all(|(_, text)| text.len() <= TEXT_BYTES_MAX);
    if let (Some(file), true, true) = (file, same_file, small) {
        let places: Vec<_> = resolved
            .iter()
            .filter_map(|(r, text)| {
                let r = r.as_ref()?;
                Some(Place { lo: r.lo, hi: r.hi, tag: ((r.lo, r.hi), (*text).clone()) })
            })
            .collect();
        let mut parts = excerpts(sources, file, &places);
        let whole = |e: &Excerpt<((u32, u32), String)>| {
            !e.is_cut
                && e.places.iter().all(|(range, ((lo, hi), _))| range.len() == (hi - lo) as usize)
                && e.places.windows(2).all(|w| w[0].0.end <= w[1].0.start)
        };
        if parts.len() == 1 && parts.iter().all(whole) {
            let e = parts.remove(0);
            return Group::with_title(title(fix.message.clone())).element(
                Snippet::source(e.text)
                    .path(one_line(&e.path))
                    .line_start(e.line_start)
                    .patches(e.places.into_iter().map(|(range, (_, text))| Patch::new(range, text))),
            );
        }
    }
    let texts: Vec<String> = fix.edits.iter().map(|(_, t)| format!("`{}`", bounded(t))).collect();
    Group::with_title(title(format!("{}: {}", fix.message, texts.join(", "))))
}

/// Cuts text that would swamp the terminal.
fn bounded(text: &str) -> String {
    if text.len() <= TEXT_BYTES_MAX {
        return text.to_string();
    }
    let end = (0..=TEXT_BYTES_MAX).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0);
    format!("{}…", &text[..end])
}
