//! Who runs a program: the interpreter, compiled code, or both.

use super::compiling::{Compiling, Prepared};
use crate::cli::{BackendArg, CcArgs, SwitchArgs};
use crate::output::{self, Exit};
use crate::program::{Simulation, write_entries};
use console::Loaded;
use control::Schema;
use diagnostics::SourceMap;
use interp::{Follower, InterpretedDevice};
use ir::Program;
use native::{BurstPath, Layout, Native, Pipeline, Trace, native_device_on};
use std::fmt::Display;
use std::sync::Arc;
use target::{Config, Device};

/// How packets go through compiled code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Straight,
    BlockByBlock,
    /// The same, with every step told.
    Told,
}

impl Way {
    pub fn text(self) -> &'static str {
        match self {
            Way::Straight => "the straight path of compiled code",
            Way::BlockByBlock => "compiled code, block by block",
            Way::Told => "compiled code that tells every step",
        }
    }
}

/// A program, and what it was compiled to.
#[derive(Clone)]
pub struct Compiled {
    program: Arc<Program>,
    pipeline: Arc<Pipeline>,
    /// Traced: the interpreter makes events of what the code passes.
    is_followed: bool,
}

impl Compiled {
    pub fn new(loaded: &Loaded, name: &str, args: &CcArgs) -> Result<Compiled, Exit> {
        let prepared = Prepared::new(loaded, name)?;
        let pipeline = prepared.pipeline(&Compiling::new(args)?)?;
        Ok(Compiled { program: prepared.program, pipeline, is_followed: false })
    }

    /// Code that tells every step: of the program as it was written, without passes.
    fn telling(loaded: &Loaded, name: &str, args: &CcArgs) -> Result<Compiled, Exit> {
        let prepared = Prepared::as_written(loaded, name);
        let mut compiling = Compiling::new(args)?;
        compiling.options.trace = Trace::On;
        let text = prepared.c_text(codegen::Options { trace: true, ..Default::default() });
        let pipeline = prepared.pipeline_of(&text, &compiling)?;
        Ok(Compiled { program: prepared.program, pipeline, is_followed: true })
    }

    /// A switch of its own, fresh.
    pub fn device(&self, schema: &Arc<Schema>, config: &Config) -> Result<Device<Native>, Exit> {
        let (pipeline, program) = (Arc::clone(&self.pipeline), Arc::clone(&self.program));
        let mut device = native_device_on(
            pipeline,
            program,
            Arc::clone(schema),
            config.clone(),
            BurstPath::from_environment(),
        )
        .map_err(cannot_run)?;
        if self.is_followed {
            let follower =
                Follower::of_program(Arc::clone(&self.program), config.load).map_err(cannot_run)?;
            device.switch.runner.follow(Box::new(follower)).map_err(cannot_run)?;
        }
        Ok(device)
    }

    /// The same, with bursts that go like this.
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

/// A program ready to run, and compiled if need be. Backends are made of it, each time fresh.
#[derive(Clone)]
pub struct Ready {
    pub loaded: Loaded,
    compiled: Option<Compiled>,
    backend: BackendArg,
    /// Of the executors that are compiled code.
    ways: &'static [Way],
    /// Compiled code runs in bursts of every size, too.
    in_bursts: bool,
}

impl Ready {
    pub fn new(loaded: Loaded, name: &str, backend: BackendArg, args: &CcArgs) -> Result<Ready, Exit> {
        let (compiled, ways): (_, &[Way]) = match backend {
            BackendArg::Interp => (None, &[]),
            BackendArg::Native => (Some(Compiled::new(&loaded, name, args)?), &[Way::Straight]),
            BackendArg::Both => {
                (Some(Compiled::new(&loaded, name, args)?), &[Way::Straight, Way::BlockByBlock])
            }
        };
        Ok(Ready { loaded, compiled, backend, ways, in_bursts: false })
    }

    pub fn in_bursts(self, in_bursts: bool) -> Ready {
        Ready { in_bursts, ..self }
    }

    /// With compiled code that tells every step, and nothing else.
    pub fn telling(loaded: Loaded, name: &str, args: &CcArgs) -> Result<Ready, Exit> {
        let compiled = Some(Compiled::telling(&loaded, name, args)?);
        Ok(Ready { loaded, compiled, backend: BackendArg::Native, ways: &[Way::Told], in_bursts: false })
    }
}

/// Executors of one program, each with a switch of its own in the same state.
pub struct Backends {
    pub interpreter: Option<Box<InterpretedDevice>>,
    pub native: Vec<(Way, Box<Device<Native>>)>,
    /// For fresh switches that take bursts, without entries of files.
    pub in_bursts: Option<Compiled>,
    pub schema: Arc<Schema>,
    pub sources: Arc<SourceMap>,
    pub config: Config,
}

impl Backends {
    pub fn new(ready: &Ready, args: &SwitchArgs) -> Result<Backends, Exit> {
        let Simulation { interpreter, schema, sources, config } = Simulation::of(ready.loaded.clone(), args)?;
        let mut native = Vec::new();
        for (way, compiled) in ready.ways.iter().zip(ready.compiled.iter().cycle()) {
            native.push((*way, Box::new(compiled.device(&schema, &config)?)));
        }
        let interpreter = (ready.backend != BackendArg::Native).then(|| Box::new(interpreter));
        let in_bursts = ready.compiled.clone().filter(|_| ready.in_bursts);
        let mut backends = Backends { interpreter, native, in_bursts, schema, sources, config };
        for path in &args.entries {
            backends.write_entries(path)?;
        }
        Ok(backends)
    }

    fn write_entries(&mut self, path: &std::path::Path) -> Result<(), Exit> {
        if let Some(interpreter) = &mut self.interpreter {
            write_entries(&self.schema, &mut **interpreter, path)?;
        }
        for (_, device) in &mut self.native {
            write_entries(&self.schema, &mut **device, path)?;
        }
        Ok(())
    }
}
