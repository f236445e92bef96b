//! `siding build`.

mod layout;

use crate::cli::{BuildArgs, EmitArg};
use crate::commands::check::{write_file, write_p4runtime_files};
use crate::commands::compiling::{Compiling, Prepared, stem};
use crate::commands::tools;
use crate::output::{self, Exit};
use crate::program::load;
use clap::ArgMatches;
use console::Loaded;
use control::records::RecordParts;
use control::{Schema, Target};
use driver::archive::{self, member};
use native::{Pipeline, Trace, native_device};
use p4info::Format;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use target::Config;

pub fn run(args: &BuildArgs, matches: &ArgMatches) -> Exit {
    let files = [&args.p4runtime_files, &args.p4runtime_entries_files].into_iter().flatten();
    if let Some(error) = files.into_iter().find_map(|f| Format::from_path(f).err()) {
        output::error_line(&error.to_string());
        return Exit::Usage;
    }
    let emit = match emit(args, matches) {
        Ok(emit) => emit,
        Err(message) => {
            output::error_line(&message);
            return Exit::Usage;
        }
    };
    match build(args, emit, matches) {
        Ok(()) => Exit::Ok,
        Err(exit) => exit,
    }
}

/// The product that `--emit` names, or else the suffix of the output.
fn emit(args: &BuildArgs, matches: &ArgMatches) -> Result<EmitArg, String> {
    let is_named = matches.value_source("emit") != Some(clap::parser::ValueSource::DefaultValue);
    let Some(path) = args.output.as_deref().filter(|path| !is_named && path.extension().is_some()) else {
        return Ok(args.emit);
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let shown = path.display();
    match name.rsplit_once('.').map_or("", |(_, suffix)| suffix) {
        "sdp" => Ok(EmitArg::Sdp),
        "c" => Ok(EmitArg::C),
        "so" => Ok(EmitArg::So),
        "txtpb" if name.contains("p4info") => Ok(EmitArg::P4info),
        "txtpb" if name.contains("entries") => Ok(EmitArg::Entries),
        "json" => Err(format!(
            "{shown}: siding writes no BMv2 JSON; -o {} writes a compiled program, which `siding switch` and \
             `siding run` take, and so they take the P4 program itself",
            path.with_extension("sdp").display()
        )),
        _ => Err(format!(
            "{shown}: the suffix does not say what to make: .sdp, .c or .so, or name it with --emit"
        )),
    }
}

fn build(args: &BuildArgs, emit: EmitArg, matches: &ArgMatches) -> Result<(), Exit> {
    let start = Instant::now();
    let loaded = load(&args.program, &args.front_end, matches)?;
    let control_plane = &loaded.runnable.control_plane;
    match write_p4runtime_files(&args.p4runtime_files, &args.p4runtime_entries_files, control_plane) {
        Exit::Ok => {}
        exit => return Err(exit),
    }
    let mut build = Build { args, emit, loaded, c_lines: 0 };
    let bytes = build.product()?;
    let path = args.output.clone().unwrap_or_else(|| default_output(args));
    write_file(&path, &bytes).map_err(|error| {
        output::error_line(&error);
        Exit::Environment
    })?;
    let ms = start.elapsed().as_secs_f64() * 1e3;
    if args.json {
        let summary = build.summary(&path, bytes.len(), ms);
        output::out(&format!("{summary}\n"));
    } else if args.front_end.verbose > 0 {
        output::err(&format!("{}: {} bytes, {ms:.0} ms\n", path.display(), bytes.len()));
    }
    Ok(())
}

/// In the directory where the command is run, as compilers do.
fn default_output(args: &BuildArgs) -> PathBuf {
    let suffix = match args.emit {
        EmitArg::Sdp => "sdp",
        EmitArg::C => "c",
        EmitArg::So => "so",
        EmitArg::P4info => "p4info.txtpb",
        EmitArg::Entries => "entries.txtpb",
        EmitArg::Layout => "layout.json",
        EmitArg::Plan => "plan.txt",
        EmitArg::ShmHeader => "shm.h",
    };
    // Not text: the name need not be UTF-8.
    let mut name = match args.program.file_stem().filter(|_| args.program != Path::new("-")) {
        Some(stem) => stem.to_os_string(),
        None => "program".into(),
    };
    name.push(format!(".{suffix}"));
    PathBuf::from(name)
}

struct Build<'a> {
    args: &'a BuildArgs,
    emit: EmitArg,
    loaded: Loaded,
    c_lines: usize,
}

/// An archive with the texts of a program and what controllers know of it, but without code.
pub fn archive_of_texts(loaded: &Loaded, name: &str) -> std::io::Result<Vec<u8>> {
    let manifest = json!({
        "format": "siding-program",
        "version": archive::VERSION,
        "siding": env!("CARGO_PKG_VERSION"),
        "program": name,
        "architecture": loaded.runnable.program.architecture.name,
        "texts": described_texts(loaded),
    });
    let mut files = vec![(member::MANIFEST.to_owned(), pretty(&manifest))];
    files.extend(controlled(&loaded.runnable.control_plane));
    files.extend(texts(&loaded.sources));
    archive::pack(&files)
}

fn described_texts(loaded: &Loaded) -> Value {
    let Loaded { sources, includes, macros, .. } = loaded;
    let mut texts = archive::describe_texts(sources, includes, macros);
    texts["description"] = loaded.runnable.program.architecture.added_text().into();
    texts
}

/// The members about what controllers know of the program.
fn controlled(control_plane: &driver::ControlPlane) -> [(String, Vec<u8>); 4] {
    let (p4info, entries) = (&control_plane.p4info, &control_plane.entries);
    [
        (member::P4INFO, p4info::encode_p4info(p4info, Format::Text)),
        (member::P4INFO_BINARY, p4info::encode_p4info(p4info, Format::Binary)),
        (member::ENTRIES, p4info::encode_write_request(entries, Format::Text)),
        (member::ENTRIES_BINARY, p4info::encode_write_request(entries, Format::Binary)),
    ]
    .map(|(name, bytes)| (name.to_owned(), bytes))
}

/// The members with the P4 texts.
fn texts(sources: &diagnostics::SourceMap) -> impl Iterator<Item = (String, Vec<u8>)> {
    sources.files().enumerate().map(|(i, (_, file))| (archive::text_member(i), file.text.as_bytes().to_vec()))
}

struct Built {
    object: Vec<u8>,
    layout: Value,
}

impl Build<'_> {
    /// Makes the product that the arguments ask for.
    fn product(&mut self) -> Result<Vec<u8>, Exit> {
        let control_plane = &self.loaded.runnable.control_plane;
        match self.emit {
            EmitArg::Sdp => self.archive(),
            EmitArg::C => Ok(self.c_text()?.into_bytes()),
            EmitArg::So => {
                let text = self.c_text()?;
                Ok(self.compile(&text)?.object)
            }
            EmitArg::P4info => Ok(p4info::encode_p4info(&control_plane.p4info, Format::Text)),
            EmitArg::Entries => Ok(p4info::encode_write_request(&control_plane.entries, Format::Text)),
            EmitArg::Plan => Ok(self.plan()?.into_bytes()),
            EmitArg::ShmHeader => Ok(self.shm_header()?.into_bytes()),
            EmitArg::Layout => {
                let text = self.c_text()?;
                Ok(pretty(&self.compile(&text)?.layout))
            }
        }
    }

    fn name(&self) -> String {
        self.args.program.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    }

    fn plan(&self) -> Result<String, Exit> {
        let prepared = Prepared::new(&self.loaded, &self.name())?;
        let options = codegen::Options { trace: self.args.trace, ..codegen::Options::default() };
        Ok(codegen::plan(&prepared.program, &options).to_string())
    }

    fn c_text(&mut self) -> Result<String, Exit> {
        let prepared = Prepared::new(&self.loaded, &self.name())?;
        let text = prepared.c_text(codegen::Options {
            file_name: format!("{}.c", stem(&self.args.program)),
            line_directives: !self.args.no_line,
            trace: self.args.trace,
            ..codegen::Options::default()
        });
        self.c_lines = text.lines().count();
        Ok(text)
    }

    fn compile(&mut self, text: &str) -> Result<Built, Exit> {
        let mut compiling = Compiling::new(&self.args.cc)?;
        if self.args.trace {
            compiling.options.trace = Trace::On;
        }
        // An object that checks itself cannot be loaded here; its plain twin has the same layout.
        let plain = compiling.pipeline(text)?;
        compiling.options.sanitizers.clone_from(&self.args.sanitize);
        let cached = compiling.compile(text)?;
        let object = std::fs::read(&cached.object).map_err(|error| {
            output::error_line(&format!("cannot read {}: {error}", cached.object.display()));
            Exit::Environment
        })?;
        Ok(Built { object, layout: self.layout(&plain) })
    }

    fn shm_header(&mut self) -> Result<String, Exit> {
        let text = self.c_text()?;
        let pipeline = Compiling::new(&self.args.cc)?.pipeline(&text)?;
        let bug = |error: &dyn std::fmt::Display| {
            output::error_line(&format!("internal bug: {error}"));
            Exit::Bug
        };
        let runnable = &self.loaded.runnable;
        let schema = Schema::new(&runnable.control_plane.p4info).map_err(|error| bug(&error))?;
        let schema = Arc::new(schema.with_program(&runnable.program));
        let program = Arc::new(runnable.program.clone());
        let device = native_device(pipeline, program, Arc::clone(&schema), Config::default());
        let mut device = device.map_err(|error| bug(&error))?;
        let tables = schema.tables.iter().map(|table| {
            let plan = device.record_plan(table.id, RecordParts::default());
            shm::describe(&schema, table, 0, plan.as_deref())
        });
        let tables: Vec<shm_client::TableLayout> = tables.collect();
        Ok(shm::c_header(&stem(&self.args.program), &tables))
    }

    fn layout(&self, pipeline: &Pipeline) -> Value {
        layout::json(pipeline.layout(), self.loaded.runnable.program.architecture.pipeline())
    }

    fn archive(&mut self) -> Result<Vec<u8>, Exit> {
        let text = self.c_text()?;
        let built = self.compile(&text)?;
        let mut files = vec![(member::MANIFEST.to_owned(), pretty(&self.manifest()))];
        files.extend(controlled(&self.loaded.runnable.control_plane));
        files.push((member::LAYOUT.to_owned(), pretty(&built.layout)));
        files.push((member::C_TEXT.to_owned(), text.into_bytes()));
        files.push((member::OBJECT.to_owned(), built.object));
        for (name, text) in native::compile::RUNTIME {
            files.push((format!("{}/{name}", member::RUNTIME), text.as_bytes().to_vec()));
        }
        files.extend(texts(&self.loaded.sources));
        archive::pack(&files).map_err(|error| {
            output::error_line(&format!("cannot make the archive: {error}"));
            Exit::Environment
        })
    }

    fn manifest(&self) -> Value {
        let CcFacts { path, version } = self.compiler();
        let architecture = self.loaded.runnable.program.architecture;
        json!({
            "format": "siding-program",
            "version": archive::VERSION,
            "siding": env!("CARGO_PKG_VERSION"),
            "abi_version": native::abi::VERSION,
            "program": self.name(),
            "architecture": architecture.name,
            "compiler": { "path": path, "version": version },
            "optimise": self.args.cc.optimise,
            "flags": self.args.cc.cflags,
            "portable": self.args.cc.portable,
            "sanitize": self.args.sanitize,
            "trace": self.args.trace,
            "texts": described_texts(&self.loaded),
        })
    }

    fn compiler(&self) -> CcFacts {
        let found = tools::compiler(self.args.cc.cc.as_deref());
        let path = found.as_ref().map(|path| path.display().to_string());
        CcFacts { path, version: found.and_then(|path| tools::version(&path)) }
    }

    fn summary(&self, path: &std::path::Path, n_bytes: usize, ms: f64) -> Value {
        json!({
            "version": 1,
            "output": path.display().to_string(),
            "bytes": n_bytes,
            "c_lines": self.c_lines,
            "cc_peak_bytes": tools::children_usage().map(|usage| usage.peak_bytes),
            "ms": ms,
        })
    }
}

struct CcFacts {
    path: Option<String>,
    version: Option<String>,
}

fn pretty(value: &Value) -> Vec<u8> {
    format!("{value:#}\n").into_bytes()
}
