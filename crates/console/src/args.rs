//! Options that several commands have.

use clap::Args;
use std::path::PathBuf;

/// How C is compiled; shared by all commands that do.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Compiling C")]
pub struct CcArgs {
    /// Optimise: 0 compiles fastest, 3 runs fastest
    #[arg(short = 'O', value_name = "LEVEL", value_parser = clap::value_parser!(u8).range(0..=3), default_value_t = 3)]
    pub optimise: u8,
    /// The C compiler [default: the variable CC, else cc, gcc or clang]
    #[arg(long, value_name = "PATH")]
    pub cc: Option<PathBuf>,
    /// More flags for the C compiler, separated by blanks (repeatable)
    #[arg(long, value_name = "FLAGS", allow_hyphen_values = true)]
    pub cflags: Vec<String>,
    /// For any machine of this kind, not with all instructions that this one has
    #[arg(long)]
    pub portable: bool,
    /// Compile anew, whatever was compiled before
    #[arg(long)]
    pub no_cache: bool,
}

impl CcArgs {
    /// The options of a command line that says nothing about C.
    pub fn usual() -> CcArgs {
        CcArgs { optimise: 3, cc: None, cflags: Vec::new(), portable: false, no_cache: false }
    }
}

/// Libraries of extern functions and methods that no architecture has.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Externs")]
pub struct ExternArgs {
    /// A library of extern functions and methods (repeatable); docs/how-to/externs.md says how to write one
    #[arg(long = "extern", value_name = "FILE.so")]
    pub libraries: Vec<PathBuf>,
    /// Text with which an extern is opened, such as the file of its model (repeatable)
    #[arg(long = "extern-option", value_name = "NAME=TEXT", value_parser = parse_option)]
    pub options: Vec<(String, String)>,
}

/// `name=text`
fn parse_option(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write NAME=TEXT, with the name of an extern".to_string()),
    }
}

/// The name of a picture to write: SVG is the only format.
pub fn svg_file(name: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(name);
    match path.extension().map(|suffix| suffix.to_string_lossy().to_lowercase()).as_deref() {
        Some("png" | "pdf" | "jpg" | "jpeg" | "eps") => {
            let svg = path.with_extension("svg");
            Err(format!("pictures are SVG; write {}, which `rsvg-convert` converts", svg.display()))
        }
        _ => Ok(path),
    }
}
