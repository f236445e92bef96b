//! The programs of `examples` that benchmarks run; they come with the binary.

use console::Loaded;
use console::output::{self, Exit};
use driver::{FileLoader, Options, Source};
use externs::ExternSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use syntax::{IncludeKind, LoadedFile, Loader};

/// A program and what it is called.
#[derive(Clone, Copy, Debug)]
pub struct Example<'t> {
    pub name: &'static str,
    pub text: &'t str,
}

pub const L2_SWITCH: Example<'static> =
    Example { name: "l2_switch.p4", text: include_str!("../../../examples/02-l2-switch/l2_switch.p4") };
pub const ROUTER: Example<'static> =
    Example { name: "router.p4", text: include_str!("../../../examples/01-router/router.p4") };

const HEADERS: &str = "../include/headers.p4";
const HEADERS_TEXT: &str = include_str!("../../../examples/include/headers.p4");

impl Example<'_> {
    pub fn source(&self) -> Source {
        Source { name: self.name.to_string(), text: self.text.into() }
    }

    pub fn load(&self) -> Result<Loaded, Exit> {
        let mut checked = driver::check(&self.source(), &Included, &Options::default());
        let runnable = driver::runnable(&mut checked, None).ok_or_else(|| {
            output::error_line(&format!("internal bug: {} cannot be compiled", self.name));
            Exit::Bug
        })?;
        Ok(Loaded {
            runnable,
            sources: Arc::new(checked.sources),
            includes: Vec::new(),
            macros: Vec::new(),
            externs: ExternSet::new(),
        })
    }

    /// Writes the program and what it includes below `dir`; returns the path of the program.
    pub fn write_to(&self, dir: &Path) -> io::Result<PathBuf> {
        let program_dir = dir.join("program");
        std::fs::create_dir_all(&program_dir)?;
        std::fs::create_dir_all(dir.join("include"))?;
        std::fs::write(program_dir.join(HEADERS), HEADERS_TEXT)?;
        let path = program_dir.join(self.name);
        std::fs::write(&path, self.text)?;
        Ok(path)
    }
}

/// Finds what the examples include.
pub struct Included;

impl Loader for Included {
    fn load(&self, name: &str, kind: IncludeKind, from: &str) -> Option<LoadedFile> {
        if name == HEADERS {
            return Some(LoadedFile { name: name.to_string(), text: HEADERS_TEXT.into(), is_system: false });
        }
        FileLoader::default().load(name, kind, from)
    }
}
