//! Properties that hold for every input, and those that hold for every valid one.

use crate::{Corpus, Input};
use diagnostics::render::{self, Style, Tool};
use diagnostics::{Diagnostic, Diagnostics, SourceMap, Span};
use p4info::Format;
use rustix::time::{ClockId, clock_gettime};
use std::panic::AssertUnwindSafe;
use std::time::Duration;
use syntax::fmt::{FormatOptions, check_same_tokens};
use syntax::{NoIncludes, Options, Parsed};

/// Processor time that one input may take, in all its steps.
const TIME_MAX: Duration = Duration::from_secs(if cfg!(debug_assertions) { 20 } else { 4 });
/// Diagnostics of one input that are rendered; the rest look alike.
const N_RENDERED_MAX: usize = 40;

/// A broken promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Identifies a finding: the promise, and the place where it was broken, if that is known.
    pub key: String,
    pub details: String,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}\n{}", self.key, self.details)
    }
}

impl Finding {
    pub fn new(key: impl Into<String>, details: impl Into<String>) -> Finding {
        Finding { key: key.into(), details: details.into() }
    }
}

fn require(holds: bool, key: &str, details: impl FnOnce() -> String) -> Result<(), Finding> {
    if holds { Ok(()) } else { Err(Finding::new(key, details())) }
}

fn cpu_time() -> Duration {
    let t = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(t.tv_sec.unsigned_abs(), t.tv_nsec.unsigned_abs() as u32)
}

thread_local! {
    static PANIC: std::cell::RefCell<Option<(String, String)>> = const { std::cell::RefCell::new(None) };
}

/// Notes panics of this thread instead of printing them.
pub fn catch_panics() {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map_or(String::new(), |l| format!("{}:{}", l.file(), l.line()));
        PANIC.with(|p| *p.borrow_mut() = Some((place, info.to_string())));
    }));
}

/// Place and text of the last panic of this thread that was noted.
pub(crate) fn take_panic() -> Option<(String, String)> {
    PANIC.with(|p| p.borrow_mut().take())
}

/// The result, or place and text of the panic instead.
pub fn unless_panic<T>(f: impl FnOnce() -> T) -> Result<T, (String, String)> {
    std::panic::catch_unwind(AssertUnwindSafe(f)).map_err(|_| take_panic().unwrap_or_default())
}

/// Does the front end keep its promises on this input?
pub fn judge(input: &Input, corpus: &Corpus) -> Result<(), Finding> {
    let start = cpu_time();
    match unless_panic(|| promises(input, corpus)) {
        Ok(result) => result?,
        Err((place, message)) => return Err(Finding::new(format!("panic at {place}"), message)),
    }
    let spent = cpu_time().saturating_sub(start);
    require(spent <= TIME_MAX, "too slow", || format!("{spent:?}"))
}

fn promises(input: &Input, corpus: &Corpus) -> Result<(), Finding> {
    let parsed = parse(&input.text, corpus)?;
    let parses = !parsed.diagnostics.has_errors();
    let printed = if parses { Some(prints_the_same(&parsed)?) } else { None };
    if input.is_valid && !parses {
        return Err(not_accepted("a valid program does not parse", &parsed.diagnostics, &parsed.sources));
    }
    formats(input, corpus, parses.then_some(&parsed))?;
    let checked = check::check(parsed, &check_options());
    can_be_shown(&checked.diagnostics, &checked.sources)?;
    let accepted = !checked.diagnostics.has_errors();
    if input.is_valid && !accepted {
        return Err(not_accepted("a valid program is refused", &checked.diagnostics, &checked.sources));
    }
    let control_plane = if accepted { control_plane(&checked, input.is_valid)? } else { None };
    if let Some(printed) = printed {
        means_the_same(&checked, control_plane.as_ref(), &printed, input.text.contains("#include"))?;
    }
    Ok(())
}

fn parse(text: &str, corpus: &Corpus) -> Result<Parsed, Finding> {
    let (mut sources, mut diagnostics) = (SourceMap::new(), Diagnostics::new());
    let options = Options::default();
    let tokens = syntax::preprocess("fuzz.p4", text, corpus, &options, &mut sources, &mut diagnostics);
    for token in &tokens {
        in_range(token.span, &sources, "a token")?;
    }
    // Must not panic; its text has line markers and so need not parse to the same places.
    syntax::print_preprocessed(&tokens, &sources);
    let program = syntax::parser::parse_tokens(&tokens, &sources, &mut diagnostics);
    can_be_shown(&diagnostics, &sources)?;
    Ok(Parsed { program, sources, diagnostics })
}

fn in_range(span: Span, sources: &SourceMap, of: &str) -> Result<(), Finding> {
    let is_good = span.is_none()
        || sources
            .resolve(span)
            .is_some_and(|r| sources.file(r.file).text.get(r.lo as usize..r.hi as usize).is_some());
    require(is_good, &format!("span of {of} out of range"), || format!("{span:?}"))
}

fn can_be_shown(diagnostics: &Diagnostics, sources: &SourceMap) -> Result<(), Finding> {
    for d in diagnostics.iter().take(N_RENDERED_MAX) {
        let id = d.code.id;
        in_range(d.primary.span, sources, id)?;
        for label in &d.labels {
            in_range(label.span, sources, id)?;
        }
        for (span, _) in d.fixes.iter().flat_map(|fix| &fix.edits) {
            in_range(*span, sources, id)?;
        }
        render::human(d, sources, Style { color: true, width: 80 });
        let human = render::human(d, sources, Style::default());
        require(human.contains(id), &format!("human rendering without code {id}"), || human.clone())?;
        let short = render::short(d, sources);
        require(!short.contains('\n'), &format!("short rendering of {id} has lines"), || short.clone())?;
        is_json(&render::json(d, sources), id)?;
    }
    let all = diagnostics.iter().take(N_RENDERED_MAX).map(|d| (d, sources));
    is_json(&render::sarif(all, Tool { name: "fuzz", version: "0" }), "SARIF")
}

fn is_json(text: &str, of: &str) -> Result<(), Finding> {
    match serde_json::from_str::<serde_json::Value>(text) {
        Ok(_) => Ok(()),
        Err(error) => Err(Finding::new(format!("rendering of {of} is not JSON"), format!("{error}\n{text}"))),
    }
}

/// A tree without errors, printed and parsed again, is the same tree. Gives the printed text.
fn prints_the_same(parsed: &Parsed) -> Result<String, Finding> {
    let text = syntax::pretty::program(&parsed.program);
    let again = syntax::parse("printed.p4", text.as_str(), &NoIncludes, &Options::default());
    if again.diagnostics.has_errors() {
        let mut finding =
            not_accepted("a printed program does not parse", &again.diagnostics, &again.sources);
        finding.details += &format!("\n--- printed ---\n{text}");
        return Err(finding);
    }
    require(
        syntax::same_tree::same(&parsed.program, &again.program),
        "a printed program is another",
        || format!("--- printed ---\n{text}"),
    )?;
    Ok(text)
}

/// Formatting keeps all tokens, changes nothing the second time, and leaves the tree as it was.
fn formats(input: &Input, corpus: &Corpus, parsed: Option<&Parsed>) -> Result<(), Finding> {
    let options = FormatOptions::default();
    let formatted = match syntax::fmt::format(&input.text, &options) {
        Ok(text) => text,
        Err(diagnostics) => {
            require(!diagnostics.is_empty(), "format refuses without a reason", String::new)?;
            let mut sources = SourceMap::new();
            sources.add_file("fuzz.p4", input.text.as_str(), None, false);
            let internal = diagnostics.iter().find(|d| d.code.id == syntax::codes::FORMAT_INTERNAL.id);
            if let Some(d) = internal {
                return Err(Finding::new("format would change the program", d.message.clone()));
            }
            let mut all = Diagnostics::new();
            all.extend(diagnostics);
            can_be_shown(&all, &sources)?;
            return require(!input.is_valid, "a valid program is not formatted", || {
                first_errors(&all, &sources)
            });
        }
    };
    let show = || format!("--- formatted ---\n{formatted}");
    require(check_same_tokens(&input.text, &formatted), "format changed tokens", show)?;
    match syntax::fmt::format(&formatted, &options) {
        Ok(again) if again == formatted => {}
        Ok(again) => {
            return Err(Finding::new(
                "format is not idempotent",
                format!("{}\n--- again ---\n{again}", show()),
            ));
        }
        Err(_) => return Err(Finding::new("format refuses its own result", show())),
    }
    // These see the layout.
    if input.text.contains("__LINE__") {
        return Ok(());
    }
    if let Some(parsed) = parsed {
        let again = parse(&formatted, corpus)?;
        require(!again.diagnostics.has_errors(), "a formatted program does not parse", || {
            format!("{}\n{}", first_errors(&again.diagnostics, &again.sources), show())
        })?;
        require(
            syntax::same_tree::same(&parsed.program, &again.program),
            "a formatted program is another",
            show,
        )?;
    }
    Ok(())
}

/// The checker judges a printed program as it judges the program.
fn means_the_same(
    checked: &check::Checked,
    control_plane: Option<&p4info::P4Info>,
    printed: &str,
    has_includes: bool,
) -> Result<(), Finding> {
    let again = syntax::parse("printed.p4", printed, &NoIncludes, &Options::default());
    let again = check::check(again, &check_options());
    let codes = |diagnostics: &Diagnostics, only_errors: bool| {
        let mut codes: Vec<&str> = diagnostics
            .iter()
            .filter(|d| d.is_error() || !only_errors)
            .map(|d| d.code.id)
            // Lexer and preprocessor speak of what is not in the tree.
            .filter(|id| !id.starts_with("P00"))
            // A name that the text of a body mentions, be it in a comment, is not called unused.
            .filter(|id| *id != "P1901")
            .collect();
        codes.sort_unstable();
        codes
    };
    // Included files get no warnings, but printing moves their text into the program.
    let (a, b) = (codes(&checked.diagnostics, has_includes), codes(&again.diagnostics, has_includes));
    let differs = a
        .iter()
        .chain(&b)
        .find(|id| a.iter().filter(|x| x == id).count() != b.iter().filter(|x| x == id).count());
    let key = format!("a printed program is judged otherwise: {}", differs.unwrap_or(&""));
    require(a == b, &key, || {
        format!(
            "{a:?}\n{}\n{b:?}\n{}\n--- printed ---\n{printed}",
            first_errors(&checked.diagnostics, &checked.sources),
            first_errors(&again.diagnostics, &again.sources)
        )
    })?;
    let Some(p4info) = control_plane else { return Ok(()) };
    let built = p4info::build(&again.program, &again.sources, None);
    let mut differences = p4info::compare(p4info, &built.p4info);
    // Annotations keep the spelling of their strings, and a string has several spellings.
    differences.retain(|d| !d.path.contains("annotations"));
    require(differences.is_empty(), "a printed program has another P4Info", || {
        format!("{differences:?}\n--- printed ---\n{printed}")
    })
}

pub(crate) fn check_options() -> check::Options {
    check::Options {
        include_of: Some(arch::include_that_declares),
        table_properties: Some(|package| arch::Architecture::of_package(package)?.known_table_properties()),
        ..check::Options::default()
    }
}

/// P4Info of an accepted program can be made, written and read; `None` after errors.
fn control_plane(checked: &check::Checked, is_valid: bool) -> Result<Option<p4info::P4Info>, Finding> {
    let built = p4info::build(&checked.program, &checked.sources, None);
    can_be_shown(&built.diagnostics, &checked.sources)?;
    if built.diagnostics.has_errors() {
        return match is_valid {
            true => Err(not_accepted("a valid program has no P4Info", &built.diagnostics, &checked.sources)),
            false => Ok(None),
        };
    }
    for format in [Format::Text, Format::Json, Format::Binary] {
        let bytes = p4info::encode_p4info(&built.p4info, format);
        let is_same = p4info::decode_p4info(&bytes, format).is_ok_and(|again| again == built.p4info);
        require(is_same, &format!("P4Info as {format:?} is not read back"), || {
            String::from_utf8_lossy(&bytes).into_owned()
        })?;
        let bytes = p4info::encode_write_request(&built.entries, format);
        let is_same = p4info::decode_write_request(&bytes, format).is_ok_and(|again| again == built.entries);
        require(is_same, &format!("entries as {format:?} are not read back"), || {
            String::from_utf8_lossy(&bytes).into_owned()
        })?;
    }
    Ok(Some(built.p4info))
}

fn not_accepted(what: &str, diagnostics: &Diagnostics, sources: &SourceMap) -> Finding {
    let code = diagnostics.iter().find(|d| d.is_error()).map_or("", |d| d.code.id);
    Finding::new(format!("{what}: {code}"), first_errors(diagnostics, sources))
}

pub(crate) fn first_errors(diagnostics: &Diagnostics, sources: &SourceMap) -> String {
    let human = |d: &Diagnostic| render::human(d, sources, Style::default());
    diagnostics.iter().filter(|d| d.is_error()).take(3).map(human).collect::<Vec<_>>().join("\n")
}
