//! The backends that run a program: the interpreter, compiled code, or both.

use super::compiling::{Compiling, Prepared};
use crate::cli::{BackendArg, CcArgs, SwitchArgs};
use crate::output::{self, Exit};
use crate::program::{Simulation, read_entries, write_entries};
use arch::PipelineModel;
use console::Loaded;
use control::Schema;
use diagnostics::SourceMap;
use interp::Follower;
use ir::Program;
use native::{BurstPath, Layout, Native, Pipeline, Trace, native_device_on};
use std::fmt::Display;
use std::sync::Arc;
use target::{Config, Device};
use testkit::{Backend, BlockByBlock, Dut, FastPath};

/// A program and its compiled form.
#[derive(Clone)]
pub struct Compiled {
    program: Arc<Program>,
    pipeline: Arc<Pipeline>,
    /// True for traced code: the interpreter's follower makes events of its steps.
    is_followed: bool,
}

impl Compiled {
    pub fn new(loaded: &Loaded, name: &str, args: &CcArgs) -> Result<Compiled, Exit> {
        let prepared = Prepared::new(loaded, name)?;
        let pipeline = prepared.pipeline(&Compiling::new(args)?)?;
        Ok(Compiled { program: prepared.program, pipeline, is_followed: false })
    }

    /// Traced code, of the program as it was written, without passes.
    fn traced(loaded: &Loaded, name: &str, args: &CcArgs) -> Result<Compiled, Exit> {
        let prepared = Prepared::as_written(loaded, name);
        let mut compiling = Compiling::new(args)?;
        compiling.options.trace = Trace::On;
        let text = prepared.c_text(codegen::Options { trace: true, ..Default::default() });
        let pipeline = prepared.pipeline_of(&text, &compiling)?;
        Ok(Compiled { program: prepared.program, pipeline, is_followed: true })
    }

    /// A fresh device whose bursts take the path that the environment names.
    pub fn device(&self, schema: &Arc<Schema>, config: &Config) -> Result<Device<Native>, Exit> {
        let mut device = self.device_on(schema, config, BurstPath::from_environment())?;
        if self.is_followed {
            let follower =
                Follower::of_program(Arc::clone(&self.program), config.load).map_err(cannot_run)?;
            device.switch.runner.follow(Box::new(follower)).map_err(cannot_run)?;
        }
        Ok(device)
    }

    /// A fresh device whose bursts take this path.
    pub fn device_on(
        &self,
        schema: &Arc<Schema>,
        config: &Config,
        path: BurstPath,
    ) -> Result<Device<Native>, Exit> {
        let (pipeline, program) = (Arc::clone(&self.pipeline), Arc::clone(&self.program));
        native_device_on(pipeline, program, Arc::clone(schema), config.clone(), path).map_err(cannot_run)
    }

    pub fn layout(&self) -> &Layout {
        self.pipeline.layout()
    }
}

fn cannot_run(error: impl Display) -> Exit {
    output::error_line(&format!("the compiled program cannot be run: {error}"));
    Exit::Environment
}

/// A program ready to run, and compiled if need be. [`Backends`] are made of it, each time fresh.
#[derive(Clone)]
pub struct Ready {
    pub loaded: Loaded,
    compiled: Option<Compiled>,
    backends: &'static [Backend],
    /// Compiled code runs in bursts of every size, too.
    in_bursts: bool,
}

impl Ready {
    pub fn new(loaded: Loaded, name: &str, backend: BackendArg, args: &CcArgs) -> Result<Ready, Exit> {
        let backends: &[Backend] = match backend {
            BackendArg::Interp => &[Backend::Interpreter],
            BackendArg::Native => &[Backend::FastPath],
            BackendArg::Both => &[Backend::Interpreter, Backend::FastPath, Backend::BlockByBlock],
        };
        let compiled = match backends.iter().any(|backend| backend.is_native()) {
            true => Some(Compiled::new(&loaded, name, args)?),
            false => None,
        };
        Ok(Ready { loaded, compiled, backends, in_bursts: false })
    }

    pub fn in_bursts(self, in_bursts: bool) -> Ready {
        Ready { in_bursts, ..self }
    }

    /// With traced code and nothing else.
    pub fn traced(loaded: Loaded, name: &str, args: &CcArgs) -> Result<Ready, Exit> {
        let compiled = Some(Compiled::traced(&loaded, name, args)?);
        Ok(Ready { loaded, compiled, backends: &[Backend::Traced], in_bursts: false })
    }
}

/// Backends of one program, each with a switch of its own in the same state.
pub struct Backends {
    pub duts: Vec<(Backend, Box<dyn Dut>)>,
    /// For fresh switches that take bursts, without entries of files.
    pub in_bursts: Option<Compiled>,
    pub schema: Arc<Schema>,
    pub sources: Arc<SourceMap>,
    pub config: Config,
    /// The ports that packets may arrive at are its ports.
    pub pipeline: Option<&'static PipelineModel>,
}

impl Backends {
    pub fn new(ready: &Ready, args: &SwitchArgs) -> Result<Backends, Exit> {
        let Simulation { interpreter, schema, sources, config } = Simulation::of(ready.loaded.clone(), args)?;
        let mut interpreter = Some(interpreter);
        let mut duts: Vec<(Backend, Box<dyn Dut>)> = Vec::new();
        for backend in ready.backends {
            let compiled = |compiled: &Compiled| compiled.device(&schema, &config);
            let native = || ready.compiled.as_ref().map(compiled).transpose();
            let dut: Option<Box<dyn Dut>> = match backend {
                Backend::Interpreter => interpreter.take().map(|d| Box::new(BlockByBlock::new(d)) as _),
                Backend::FastPath => native()?.map(|d| Box::new(FastPath::new(d)) as _),
                Backend::BlockByBlock | Backend::Traced => {
                    native()?.map(|d| Box::new(BlockByBlock::new(d)) as _)
                }
            };
            duts.extend(dut.map(|dut| (*backend, dut)));
        }
        for path in &args.entries {
            let entries = read_entries(&schema, path, None)?;
            for (_, dut) in &mut duts {
                write_entries(&schema, dut.target(), &entries)?;
            }
        }
        let in_bursts = ready.compiled.clone().filter(|_| ready.in_bursts);
        let pipeline = ready.loaded.runnable.program.architecture.pipeline();
        Ok(Backends { duts, in_bursts, schema, sources, config, pipeline })
    }
}
