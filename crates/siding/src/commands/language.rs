//! What a running switch cannot understand by itself: programs, scripts, protobuf.

use super::compiling::{Compiling, Prepared, stem};
use crate::cli::LiveArgs;
use crate::output::{self, Exit};
use crate::program::FrontEnd;
use clap::ArgMatches;
use control::{Data, DigestId, Entity, Fault, Query, Schema, Target, Update};
use dataplane::ctl::{Language, Refusal, RefusalKind, entity_to_json};
use dataplane::{Compiled, Switch};
use diagnostics::render::{self, Style};
use diagnostics::{Diagnostic, SourceMap};
use driver::archive::Texts;
use driver::{Architecture, FileLoader, Runnable};
use externs::ExternSet;
use serde_json::{Value as Json, json};
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
        let bug = |message: String| {
            output::error_line(&message);
            Exit::Bug
        };
        let mut program = runnable.program.clone();
        ir::passes::run(&mut program, ir::passes::DEFAULT)
            .map_err(|error| bug(format!("internal bug: {error}")))?;
        let prepared = Prepared {
            program: Arc::new(program),
            sources: Arc::clone(sources),
            name: stem(path),
            externs: self.externs.clone(),
        };
        let schema = Schema::new(&runnable.control_plane.p4info)
            .map_err(|error| bug(format!("the program's P4Info makes no sense: {error}")))?;
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
        let mut checked = if is_archive {
            let texts = Texts::read(path).map_err(environment)?;
            let mut options = self.options.clone();
            options.syntax.macros = texts.macros();
            driver::check(&texts.main().map_err(environment)?, &texts, &options)
        } else {
            let source = siding::read_source(path).map_err(|error| environment(error.to_string()))?;
            driver::check(&source, &self.loader, &self.options)
        };
        let runnable = driver::runnable(&mut checked, self.architecture);
        self.policy.apply(&mut checked.diagnostics, &checked.sources);
        let has_errors = checked.diagnostics.has_errors();
        let sources = Arc::new(checked.sources);
        match runnable.filter(|_| !has_errors) {
            Some(runnable) => Ok((runnable, sources)),
            None => {
                let errors = checked.diagnostics.into_vec();
                Err(Refusal::new(RefusalKind::Program, in_words(errors.iter(), &sources)))
            }
        }
    }
}

/// The errors among these.
fn in_words<'d>(diagnostics: impl Iterator<Item = &'d Diagnostic>, sources: &SourceMap) -> String {
    let errors = diagnostics.filter(|d| d.is_error());
    errors.map(|d| render::human(d, sources, Style::default())).collect::<Vec<_>>().join("\n")
}

impl Language for Compiler {
    fn compile(&self, path: &Path) -> Result<Compiled, Refusal> {
        let (runnable, sources) = self.load(path)?;
        // What the C compiler says is on the switch's own console.
        self.finish(&runnable, &sources, path).map_err(|exit| {
            let kind =
                if exit == Exit::Environment { RefusalKind::Environment } else { RefusalKind::Program };
            Refusal::new(kind, "the program cannot be compiled; the switch's console says why")
        })
    }

    fn commands(&self, switch: &Switch, text: &str) -> Result<Json, Refusal> {
        let schema = switch.schema().ok_or_else(|| {
            Refusal::new(RefusalKind::Refused, dataplane::SwitchError::NoProgram.to_string())
        })?;
        let full = text.lines().map(|line| super::shorthand::expand(&schema, line));
        let full = full.collect::<Result<Vec<_>, _>>().map_err(Refusal::usage)?.join("\n");
        let parsed = stf::parse("command", &full);
        let refusal = |diagnostics: &[&Diagnostic]| {
            Refusal::usage(in_words(diagnostics.iter().copied(), &parsed.sources))
        };
        let faults: Vec<&Diagnostic> = parsed.diagnostics.iter().filter(|d| d.is_error()).collect();
        if !faults.is_empty() {
            return Err(refusal(&faults));
        }
        let (plan, faults) = stf::resolve(&parsed.script, &schema);
        let faults: Vec<&Diagnostic> = faults.iter().filter(|d| d.is_error()).collect();
        if !faults.is_empty() {
            return Err(refusal(&faults));
        }
        let report = switch.with_target(|schema, target| {
            let mut device = OnlyEntities(target);
            stf::run(&parsed.script, &plan, &parsed.sources, schema, &mut device, &|_, _| None)
        })?;
        if !report.is_success() {
            let faults = in_words(report.faults.iter(), &parsed.sources);
            return Err(Refusal::new(RefusalKind::Refused, faults));
        }
        let shown = report.shown.iter().flat_map(|(_, entities)| entities);
        Ok(json!({ "shown": shown.map(|entity| entity_to_json(&schema, entity)).collect::<Vec<_>>() }))
    }

    fn write(&self, switch: &Switch, text: &str) -> Result<u64, Refusal> {
        let request = p4info::decode_write_request(text.as_bytes(), p4info::Format::Text)
            .map_err(|error| Refusal::usage(error.to_string()))?;
        let results = switch.with_target(|schema, target| {
            p4runtime::write(schema, target, &request, control::Writer::Controller)
        })?;
        let n_updates = results.len() as u64;
        let faults: Vec<String> =
            results.into_iter().filter_map(Result::err).map(|fault| fault.to_string()).collect();
        if faults.is_empty() {
            Ok(n_updates)
        } else {
            Err(Refusal::new(RefusalKind::Refused, faults.join("\n")))
        }
    }
}

/// A switch for commands that write and read; packets are for its ports.
struct OnlyEntities<'a>(&'a mut dyn Target);

impl Target for OnlyEntities<'_> {
    fn write(&mut self, update: &Update) -> Result<(), Fault> {
        self.0.write(update)
    }

    fn write_many(&mut self, updates: &[&Update]) -> Vec<Result<(), Fault>> {
        self.0.write_many(updates)
    }

    fn read(&self, query: &Query) -> Result<Vec<Entity>, Fault> {
        self.0.read(query)
    }
}

impl stf::Device for OnlyEntities<'_> {
    fn receive(&mut self, _burst: &[stf::Arriving<'_>], _sent: &mut dyn FnMut(usize, u32, &[u8])) {}

    fn advance_clock(&mut self, _duration_ns: u64, _sent: &mut dyn FnMut(u32, &[u8])) {}

    fn take_digests(&mut self) -> Vec<(DigestId, Data)> {
        Vec::new()
    }
}
