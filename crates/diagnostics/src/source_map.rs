//! Files, macro expansions and the global position space they share.

use std::collections::BTreeMap;
use std::sync::Arc;

/// A half-open range `lo..hi` of global byte positions.
///
/// `lo` and `hi` may lie in different files or expansions when a construct begins in one and ends in
/// another (a macro that opens a block, say); [`SourceMap::resolve`] copes with that.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct Span {
    pub lo: u32,
    pub hi: u32,
}

impl std::fmt::Debug for Span {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}..{}", self.lo, self.hi)
    }
}

impl Span {
    /// The span of built-ins, which have no source text.
    pub const NONE: Span = Span { lo: 0, hi: 0 };

    pub fn new(lo: u32, hi: u32) -> Span {
        Span { lo, hi }
    }

    pub fn is_none(self) -> bool {
        self == Span::NONE
    }

    /// Returns the span from the start of `self` to the end of `end`.
    pub fn to(self, end: Span) -> Span {
        if self.is_none() {
            end
        } else if end.is_none() {
            self
        } else {
            Span { lo: self.lo, hi: end.hi }
        }
    }

    /// The empty span just before `self`.
    pub fn shrink_to_lo(self) -> Span {
        Span { lo: self.lo, hi: self.lo }
    }

    /// The empty span just after `self`.
    pub fn shrink_to_hi(self) -> Span {
        Span { lo: self.hi, hi: self.hi }
    }
}

/// Index of a file in its [`SourceMap`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct FileId(pub u32);

/// One loaded file.
#[derive(Debug)]
pub struct SourceFile {
    /// Name for messages, as it was given or found on the include path.
    pub name: String,
    pub text: Arc<str>,
    /// Global position of the first byte.
    pub start: u32,
    /// Position of the `#include` that brought the file in; `None` for the main file.
    pub included_from: Option<Span>,
    /// True for files that come with the compiler or from a system include path: warnings inside are not shown.
    pub is_system: bool,
    line_starts: Vec<u32>,
    /// `#line` directives: (offset of the first byte of the following line, line number it claims, file name it claims).
    line_directives: Vec<(u32, u32, Option<Arc<str>>)>,
}

impl SourceFile {
    /// Zero-based line that holds the byte at `offset` of this file.
    pub fn line_index(&self, offset: u32) -> usize {
        self.line_starts.partition_point(|&s| s <= offset).saturating_sub(1)
    }

    /// Offset of the first byte of the zero-based line, clamped to the end of the file.
    pub fn line_start(&self, line: usize) -> u32 {
        self.line_starts.get(line).copied().unwrap_or(self.text.len() as u32)
    }

    /// Text of the zero-based line without its line break.
    pub fn line_text(&self, line: usize) -> &str {
        let lo = self.line_start(line) as usize;
        let hi = self.line_start(line + 1) as usize;
        self.text.get(lo..hi).unwrap_or("").trim_end_matches(['\n', '\r'])
    }

    pub fn n_lines(&self) -> usize {
        self.line_starts.len()
    }
}

/// A token that a macro produced.
#[derive(Debug, Clone, Copy)]
struct Expansion {
    start: u32,
    len: u32,
    /// Place where the token's characters were written (macro body or macro argument).
    spelling: Span,
    /// Place where the macro was used.
    call_site: Span,
    /// Index into `macro_names`.
    name: u32,
}

/// A span reduced to one file, plus the macros it went through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    pub file: FileId,
    /// Byte offsets in the file.
    pub lo: u32,
    pub hi: u32,
    /// Innermost first: the name of the macro and where the token is spelled in its definition.
    pub macros: Vec<(String, Span)>,
}

/// A place for messages: presumed file (after `#line`), one-based line and column.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    pub file: String,
    pub line: u32,
    /// Columns count Unicode scalar values.
    pub column: u32,
    pub end_line: u32,
    pub end_column: u32,
}

/// All files and expansions of one compilation.
#[derive(Debug)]
pub struct SourceMap {
    files: Vec<SourceFile>,
    expansions: Vec<Expansion>,
    macro_names: Vec<String>,
    /// String literals that the preprocessor has changed, by the ends of their spans.
    literals: BTreeMap<(u32, u32), Arc<str>>,
    /// Order of allocation: starts of files and runs of expansions, ascending.
    next: u32,
}

impl Default for SourceMap {
    fn default() -> Self {
        SourceMap::new()
    }
}

impl SourceMap {
    /// Limit of positions in all files and expansions; files beyond it are refused.
    pub const POSITIONS_MAX: u32 = u32::MAX - 16;

    pub fn new() -> SourceMap {
        // Position 0 is reserved for `Span::NONE`.
        SourceMap {
            files: Vec::new(),
            expansions: Vec::new(),
            macro_names: Vec::new(),
            literals: BTreeMap::new(),
            next: 1,
        }
    }

    /// Registers a file. `None` when the position space is exhausted.
    pub fn add_file(
        &mut self,
        name: impl Into<String>,
        text: impl Into<Arc<str>>,
        included_from: Option<Span>,
        is_system: bool,
    ) -> Option<FileId> {
        let text: Arc<str> = text.into();
        let len = u32::try_from(text.len()).ok()?;
        let end = self.next.checked_add(len)?.checked_add(1)?;
        if end > Self::POSITIONS_MAX {
            return None;
        }
        let start = self.next;
        self.next = end;
        // Includes lead outwards; a later place would make chains of includes endless.
        let included_from = included_from.filter(|s| s.lo < start && s.hi < start);
        let mut line_starts = vec![0u32];
        line_starts.extend(text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i as u32 + 1));
        self.files.push(SourceFile {
            name: name.into(),
            text,
            start,
            included_from,
            is_system,
            line_starts,
            line_directives: Vec::new(),
        });
        Some(FileId(self.files.len() as u32 - 1))
    }

    pub fn file(&self, id: FileId) -> &SourceFile {
        &self.files[id.0 as usize]
    }

    pub fn files(&self) -> impl Iterator<Item = (FileId, &SourceFile)> {
        self.files.iter().enumerate().map(|(i, f)| (FileId(i as u32), f))
    }

    /// Span of bytes `lo..hi` of a file.
    pub fn span(&self, file: FileId, lo: u32, hi: u32) -> Span {
        let start = self.file(file).start;
        Span { lo: start + lo, hi: start + hi }
    }

    /// Remembers a macro's name for [`SourceMap::add_expansion`].
    pub fn add_macro_name(&mut self, name: &str) -> u32 {
        self.macro_names.push(name.to_string());
        self.macro_names.len() as u32 - 1
    }

    /// Issues a span for a token that macro `name` produced: spelled at `spelling`, standing for text at `call_site`.
    /// When the position space is exhausted the call site itself is returned.
    pub fn add_expansion(&mut self, spelling: Span, call_site: Span, name: u32) -> Span {
        let len = spelling.hi.saturating_sub(spelling.lo).max(1);
        let Some(end) = self.next.checked_add(len + 1).filter(|e| *e <= Self::POSITIONS_MAX) else {
            return call_site;
        };
        let start = self.next;
        // Each call site must be older than its expansion, so that following call sites ends.
        if call_site.lo >= start || call_site.hi >= start {
            return Span::NONE;
        }
        self.next = end;
        self.expansions.push(Expansion { start, len, spelling, call_site, name });
        Span { lo: start, hi: start + len }
    }

    /// Records `#line`: the line that starts at `offset` of `file` claims to be `line` of `name`.
    pub fn add_line_directive(&mut self, file: FileId, offset: u32, line: u32, name: Option<Arc<str>>) {
        self.files[file.0 as usize].line_directives.push((offset, line, name));
    }

    /// Records the text, with quotes, of a string literal that differs from the file's text at its span.
    pub fn add_literal(&mut self, span: Span, text: impl Into<Arc<str>>) {
        self.literals.insert((span.lo, span.hi), text.into());
    }

    /// The text, with quotes, of the string literal at `span`, after preprocessing.
    pub fn literal(&self, span: Span) -> &str {
        match self.literals.get(&(span.lo, span.hi)) {
            Some(text) => text,
            None => self.text(span),
        }
    }

    fn file_at(&self, pos: u32) -> Option<FileId> {
        let i = self.files.partition_point(|f| f.start <= pos).checked_sub(1)?;
        let f = &self.files[i];
        (pos - f.start <= f.text.len() as u32).then_some(FileId(i as u32))
    }

    fn expansion_at(&self, pos: u32) -> Option<&Expansion> {
        let i = self.expansions.partition_point(|e| e.start <= pos).checked_sub(1)?;
        let e = &self.expansions[i];
        (pos - e.start <= e.len).then_some(e)
    }

    /// Follows expansions outwards until a file position is reached. `at_end` selects the end of a call site.
    fn outermost(
        &self,
        mut pos: u32,
        at_end: bool,
        macros: &mut Vec<(String, Span)>,
    ) -> Option<(FileId, u32)> {
        // Call sites are always older than the expansion, so this ends.
        loop {
            if let Some(e) = self.expansion_at(pos) {
                macros.push((self.macro_names[e.name as usize].clone(), e.spelling));
                pos = if at_end { e.call_site.hi } else { e.call_site.lo };
            } else {
                let file = self.file_at(pos)?;
                return Some((file, pos - self.file(file).start));
            }
        }
    }

    /// Reduces a span to byte offsets in one file; `None` for [`Span::NONE`] and nonsense.
    pub fn resolve(&self, span: Span) -> Option<Resolved> {
        if span.is_none() {
            return None;
        }
        let mut macros = Vec::new();
        let (file, lo) = self.outermost(span.lo, false, &mut macros)?;
        let hi = match self.outermost(span.hi, true, &mut Vec::new()) {
            Some((f, hi)) if f == file && hi >= lo => hi,
            _ => match self.expansion_at(span.lo) {
                Some(_) => {
                    let start = Span { lo: span.lo, hi: span.lo };
                    self.outermost(start.lo, true, &mut Vec::new())
                        .map_or(lo, |(f, h)| if f == file { h } else { lo })
                }
                None => lo,
            },
        };
        Some(Resolved { file, lo, hi: hi.max(lo), macros })
    }

    /// Presumed place of a span.
    pub fn locate(&self, span: Span) -> Option<Location> {
        let r = self.resolve(span)?;
        let f = self.file(r.file);
        let (name, line, column) = self.presumed(f, r.lo);
        let (_, end_line, end_column) = self.presumed(f, r.hi);
        Some(Location { file: name.to_string(), line, column, end_line, end_column })
    }

    /// True when `first` ends on the line of a file on which `second` begins.
    pub fn ends_on_line_of(&self, first: Span, second: Span) -> bool {
        match (self.resolve(first), self.resolve(second)) {
            (Some(a), Some(b)) if a.file == b.file => {
                let file = self.file(a.file);
                file.line_index(a.hi) == file.line_index(b.lo)
            }
            (a, b) => a.is_none() && b.is_none(),
        }
    }

    fn presumed<'a>(&self, f: &'a SourceFile, offset: u32) -> (&'a str, u32, u32) {
        let line = f.line_index(offset);
        let start = f.line_start(line) as usize;
        let column = f.text.get(start..offset as usize).map_or(0, |t| t.chars().count()) as u32 + 1;
        let d = f
            .line_directives
            .partition_point(|d| d.0 <= offset)
            .checked_sub(1)
            .map(|i| &f.line_directives[i]);
        match d {
            None => (&f.name, line as u32 + 1, column),
            Some((at, claimed, name)) => {
                let base = f.line_index(*at);
                (name.as_deref().unwrap_or(&f.name), claimed.saturating_add((line - base) as u32), column)
            }
        }
    }

    /// The source text of a span when it lies in one file; empty otherwise.
    pub fn text(&self, span: Span) -> &str {
        match self.resolve(span) {
            Some(r) => self.file(r.file).text.get(r.lo as usize..r.hi as usize).unwrap_or(""),
            None => "",
        }
    }

    /// True when the span lies in a file that came with the compiler or from a system include path.
    pub fn is_system(&self, span: Span) -> bool {
        self.resolve(span).is_some_and(|r| self.file(r.file).is_system)
    }

    /// True when the span lies in a file that another one includes.
    pub fn is_included(&self, span: Span) -> bool {
        self.resolve(span).is_some_and(|r| self.file(r.file).included_from.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_resolve_through_expansions() {
        let mut map = SourceMap::new();
        let f = map.add_file("a.p4", "#define W 8\nbit<W> x;\n", None, false).unwrap();
        let call = map.span(f, 16, 17);
        let spelling = map.span(f, 10, 11);
        let name = map.add_macro_name("W");
        let span = map.add_expansion(spelling, call, name);
        let r = map.resolve(span).unwrap();
        assert_eq!((r.lo, r.hi), (16, 17));
        assert_eq!(r.macros, vec![("W".to_string(), spelling)]);
        assert_eq!(map.locate(span).unwrap().line, 2);
        assert_eq!(map.text(map.span(f, 12, 18)), "bit<W>");
    }

    #[test]
    fn line_directives_change_presumed_place() {
        let mut map = SourceMap::new();
        let f = map.add_file("a.p4", "x\n#line 40 \"b.p4\"\ny\nz\n", None, false).unwrap();
        map.add_line_directive(f, 18, 40, Some("b.p4".into()));
        let at = |o| map.locate(map.span(f, o, o + 1)).unwrap();
        assert_eq!((at(0).file.as_str(), at(0).line), ("a.p4", 1));
        assert_eq!((at(20).file.as_str(), at(20).line), ("b.p4", 41));
    }
}
