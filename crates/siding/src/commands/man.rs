//! `siding man`: manual pages.

use super::output::{self, Exit};
use crate::cli::{self, EXIT_CODES, ManArgs};
use clap::Command;
use clap_mangen::Man;
use std::fmt::Write as _;
use std::path::Path;

pub fn run(args: &ManArgs) -> Exit {
    let failed = |message: String| {
        output::error_line(&message);
        Exit::Environment
    };
    if let Some(dir) = &args.dir {
        return match write_all(dir) {
            Ok(()) => Exit::Ok,
            Err(message) => failed(message),
        };
    }
    let wanted = args.words.join(" ");
    let pages = match pages() {
        Ok(pages) => pages,
        Err(message) => return failed(message),
    };
    match pages.iter().find(|page| page.path == wanted) {
        Some(page) => {
            output::out(&page.text);
            Exit::Ok
        }
        None => {
            let names = pages.iter().map(|page| page.path.as_str());
            let nearest = diagnostics::suggest::closest(&wanted, names)
                .map_or("siding --help lists the commands".to_owned(), |name| {
                    format!("did you mean `{name}`?")
                });
            output::error_line(&format!("there is no command `siding {wanted}`; {nearest}"));
            Exit::Usage
        }
    }
}

fn write_all(dir: &Path) -> Result<(), String> {
    std::fs::create_dir_all(dir).map_err(|error| format!("cannot make {}: {error}", dir.display()))?;
    for page in pages()? {
        let path = dir.join(page.file_name());
        output::replace_file(&path, page.text.as_bytes())
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    Ok(())
}

/// The manual page of one command.
struct Page {
    /// The command's words, without `siding`.
    path: String,
    text: String,
}

impl Page {
    /// `siding-ctl-show`, as other pages refer to it.
    fn name(&self) -> String {
        match self.path.is_empty() {
            true => "siding".to_owned(),
            false => format!("siding-{}", self.path.replace(' ', "-")),
        }
    }

    fn file_name(&self) -> String {
        format!("{}.1", self.name())
    }
}

/// The pages of all commands that people see.
fn pages() -> Result<Vec<Page>, String> {
    let mut command = cli::command();
    command.build();
    let mut pages = Vec::new();
    add_pages(&command, "", &mut pages).map_err(|error| error.to_string())?;
    Ok(pages)
}

fn add_pages(command: &Command, path: &str, pages: &mut Vec<Page>) -> std::io::Result<()> {
    pages.push(Page { path: path.to_owned(), text: page(command, path)? });
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        let below = if path.is_empty() { String::new() } else { format!("{path} ") };
        add_pages(sub, &format!("{below}{}", sub.get_name()), pages)?;
    }
    Ok(())
}

fn page(command: &Command, path: &str) -> std::io::Result<String> {
    let version = env!("CARGO_PKG_VERSION");
    let man = Man::new(command.clone()).source(format!("siding {version}")).manual("Siding");
    let mut bytes = Vec::new();
    man.render_title(&mut bytes)?;
    man.render_name_section(&mut bytes)?;
    man.render_synopsis_section(&mut bytes)?;
    man.render_description_section(&mut bytes)?;
    man.render_options_section(&mut bytes)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut bytes)?;
    }
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    let _ = writeln!(text, ".SH EXAMPLES");
    for (line, what) in cli::examples_of(path) {
        let colon = if what.is_empty() { "" } else { ":" };
        let _ = writeln!(text, ".PP\n{}{colon}\n.PP\n.nf\n.RS\n{}\n.RE\n.fi", roff(what), roff(line));
    }
    let (_, codes) = EXIT_CODES.split_once(": ").unwrap_or_default();
    let _ = writeln!(text, ".SH EXIT STATUS\n{}", roff(codes));
    if let Some((above, _)) = path.rsplit_once(' ').or((!path.is_empty()).then_some(("", ""))) {
        let above = Page { path: above.to_owned(), text: String::new() };
        let _ = writeln!(text, ".SH SEE ALSO\n{}(1)", roff(&above.name()));
    }
    Ok(text)
}

/// Text in which roff finds no requests.
fn roff(text: &str) -> String {
    let escaped = text.replace('\\', r"\e").replace('-', r"\-").replace('\'', r"\(aq");
    if escaped.starts_with('.') { format!("\\&{escaped}") } else { escaped }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// The pages that a text refers to: words before `(1)`.
    fn references(text: &str) -> BTreeSet<String> {
        let text = text.replace(r"\-", "-");
        let ends = text.match_indices("(1)").map(|(i, _)| i);
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-';
        ends.map(|end| {
            let start = text[..end].rfind(|c| !is_name(c)).map_or(0, |i| i + 1);
            text[start..end].to_owned()
        })
        .filter(|name: &String| name.starts_with("siding"))
        .collect()
    }

    #[test]
    fn every_reference_leads_to_a_page() {
        let pages = pages().unwrap();
        let names: BTreeSet<String> = pages.iter().map(Page::name).collect();
        assert!(names.contains("siding-check") && names.contains("siding-ctl-port-add"), "{names:?}");
        let mut n_references = 0;
        for page in &pages {
            for reference in references(&page.text) {
                assert!(names.contains(&reference), "{}: {reference}(1)", page.name());
                n_references += 1;
            }
        }
        assert!(n_references > names.len(), "{n_references} references");
    }

    #[test]
    fn pages_have_what_readers_look_for() {
        for page in pages().unwrap() {
            for section in ["NAME", "SYNOPSIS", "OPTIONS", "EXAMPLES", "EXIT STATUS"] {
                assert!(page.text.contains(section), "{}: {section}", page.name());
            }
            let name = page.name().replace('-', r"\-");
            assert!(page.text.contains(&format!(".SH NAME\n{name} \\- ")), "{}", page.text);
        }
    }

    #[test]
    fn text_is_no_request() {
        assert_eq!(roff(".x -a 'b' \\"), r"\&.x \-a \(aqb\(aq \e");
    }
}
