//! Compiles programs for `siding switch`: the one that it starts with, and those that `siding ctl replace` names.

use super::compiling::{Compiling, Prepared, stem};
use crate::cli::LiveArgs;
use crate::output::{self, Exit};
use crate::program::FrontEnd;
use clap::ArgMatches;
use control::Schema;
use ctl::{Refusal, RefusalKind};
use dataplane::Compiled;
use diagnostics::SourceMap;
use driver::archive::Texts;
use driver::{Architecture, BuiltInLoader, Checked, FileLoader, Runnable, Source};
use externs::ExternSet;
use p4info::P4Info;
use siding::{Options, WarningPolicy};
use std::path::Path;
use std::sync::Arc;

/// How the command line says that programs are to be compiled.
pub struct Compiler {
    loader: FileLoader,
    options: Options,
    policy: WarningPolicy,
    architecture: Option<Architecture>,
    compiling: Compiling,
    externs: ExternSet,
}

impl Compiler {
    pub fn new(args: &LiveArgs, matches: &ArgMatches) -> Result<Compiler, Exit> {
        let FrontEnd { loader, options, policy, .. } = FrontEnd::new(&args.front_end, matches);
        let compiling = Compiling::new(&args.cc)?;
        let externs = super::externs::load(&args.externs)?;
        Ok(Compiler { loader, options, policy, architecture: args.front_end.arch, compiling, externs })
    }

    /// From a program that was elaborated.
    pub fn finish(
        &self,
        runnable: &Runnable,
        sources: &Arc<SourceMap>,
        path: &Path,
    ) -> Result<Compiled, Exit> {
        self.finish_with(runnable, sources, path, &runnable.control_plane.p4info)
    }

    /// Does the work of [`finish`](Self::finish), with the P4Info of a controller.
    pub fn finish_with(
        &self,
        runnable: &Runnable,
        sources: &Arc<SourceMap>,
        path: &Path,
        p4info: &P4Info,
    ) -> Result<Compiled, Exit> {
        let bug = |message: String| {
            output::error_line(&message);
            Exit::Bug
        };
        super::externs::warn_of_missing(&runnable.program, &self.externs);
        let mut program = runnable.program.clone();
        ir::passes::run(&mut program, ir::passes::DEFAULT)
            .map_err(|error| bug(format!("internal bug: {error}")))?;
        let prepared = Prepared {
            program: Arc::new(program),
            sources: Arc::clone(sources),
            name: stem(path),
            externs: self.externs.clone(),
        };
        let schema = Schema::new(p4info)
            .map_err(|error| bug(format!("the program's P4Info makes no sense: {error}")))?
            .with_values(&runnable.control_plane.values)
            .with_program(&runnable.program)
            .with_headers(&runnable.control_plane.controller_headers);
        let pipeline = prepared.pipeline(&self.compiling)?;
        Ok(Compiled {
            name: path.display().to_string(),
            pipeline,
            program: prepared.program,
            schema: Arc::new(schema),
            sources: Some(prepared.sources),
        })
    }

    /// Reads and checks a program; messages are what the client gets.
    fn load(&self, path: &Path) -> Result<(Runnable, Arc<SourceMap>), Refusal> {
        let environment = |error: String| Refusal::new(RefusalKind::Environment, error);
        let is_archive = path.extension().is_some_and(|suffix| suffix == "sdp");
        if is_archive {
            return self.load_archive(&Texts::read(path).map_err(environment)?);
        }
        let source = siding::read_source(path).map_err(|error| environment(error.to_string()))?;
        self.checked(driver::check(&source, &self.loader, &self.options))
    }

    /// Checks the texts of an archive.
    pub fn load_archive(&self, texts: &Texts) -> Result<(Runnable, Arc<SourceMap>), Refusal> {
        let main = texts.main().map_err(|error| Refusal::new(RefusalKind::Environment, error))?;
        let mut options = self.options.clone();
        options.syntax.macros = texts.macros();
        self.checked(driver::check(&main, texts, &options))
    }

    /// Checks a program that comes from elsewhere: it includes the compiler's own files only.
    pub fn load_text(&self, source: &Source) -> Result<(Runnable, Arc<SourceMap>), Refusal> {
        self.checked(driver::check(source, &BuiltInLoader, &self.options))
    }

    fn checked(&self, mut checked: Checked) -> Result<(Runnable, Arc<SourceMap>), Refusal> {
        let runnable = driver::runnable(&mut checked, self.architecture);
        self.policy.apply(&mut checked.diagnostics, &checked.sources);
        let has_errors = checked.diagnostics.has_errors();
        let sources = Arc::new(checked.sources);
        match runnable.filter(|_| !has_errors) {
            Some(runnable) => Ok((runnable, sources)),
            None => {
                let errors = checked.diagnostics.into_vec();
                Err(Refusal::diagnosed(RefusalKind::Program, &errors, &sources))
            }
        }
    }
}

impl ctl::Compiler for Compiler {
    fn compile(&self, path: &Path) -> Result<Compiled, Refusal> {
        let (runnable, sources) = self.load(path)?;
        // The messages of the C compiler are on the switch's own console.
        self.finish(&runnable, &sources, path).map_err(|exit| {
            let kind =
                if exit == Exit::Environment { RefusalKind::Environment } else { RefusalKind::Program };
            Refusal::new(kind, "the program cannot be compiled; the switch's console says why")
        })
    }
}
