//! The control plane's side of the program that runs.

use crate::offload_threads::{self, OffloadThreads, Wanted};
use crate::options::{Compiled, Options};
use crate::start_fault::StartFault;
use control::Schema;
use native::{Control, Instance, InstanceOptions, Native, NativeError};
use std::collections::BTreeSet;
use std::sync::Arc;
use target::entities::{Entities, EntitiesAt};
use target::traffic::SharedPre;
use target::{Config, PortState};

/// A program with everything that its workers share.
pub(crate) struct RunningProgram {
    pub(crate) compiled: Compiled,
    pub(crate) control: Control,
    /// Read by the switches of all workers.
    pub(crate) pre: Arc<SharedPre>,
    pub(crate) entities: Entities,
    pub(crate) config: Config,
    instance: Arc<Instance>,
    pub(crate) offload_workers: OffloadThreads,
}

impl RunningProgram {
    /// With the entries that the program declares, and ports that are down.
    pub(crate) fn new(
        compiled: Compiled,
        options: &Options,
        ports_down: &BTreeSet<u32>,
    ) -> Result<RunningProgram, StartFault> {
        let config = Config {
            seed: options.seed,
            cpu_port: options.cpu_port,
            host_ports: options.host_ports.clone(),
            digests_max: options.n_waiting_max,
            ..Config::default()
        };
        let asyncs = compiled.pipeline.layout().asyncs.iter();
        let blocks: Vec<Wanted> = asyncs.map(|block| Wanted::parse(&block.settings)).collect();
        let n_offload_workers = offload_threads::n_wanted(&blocks, options);
        let instance = Instance::new(
            Arc::clone(&compiled.pipeline),
            Arc::clone(&compiled.program),
            InstanceOptions {
                n_workers: u32::try_from(options.n_workers + n_offload_workers).unwrap_or(u32::MAX),
                seed: options.seed,
                path: options.burst_path,
                table_size: config.load.table_size,
            },
        )?;
        let control = Control::new(Arc::clone(&instance));
        ports_down.iter().for_each(|port| control.set_port(*port, PortState::Down));
        let entities = {
            let shapes = Arc::clone(instance.table_shapes());
            Entities::new(Arc::clone(&compiled.program), Arc::clone(&compiled.schema), shapes)
        };
        let offload_workers = OffloadThreads::new(&instance, blocks, options, config.load.step_budget)?;
        Ok(RunningProgram {
            compiled,
            control,
            pre: Arc::default(),
            entities,
            config,
            instance,
            offload_workers,
        })
    }

    /// A worker's part of it.
    pub(crate) fn worker_share(
        &mut self,
        ports_down: &BTreeSet<u32>,
    ) -> Result<target::Switch<Native>, StartFault> {
        let mut native = Native::new(&self.instance, self.config.load.step_budget)?;
        self.offload_workers.connect(&mut native)?;
        let mut switch = target::Switch::new(native, self.config.clone()).map_err(NativeError::from)?;
        switch.share_pre(Arc::clone(&self.pre));
        ports_down.iter().for_each(|port| switch.set_port(*port, PortState::Down));
        Ok(switch)
    }

    pub(crate) fn schema(&self) -> &Arc<Schema> {
        &self.compiled.schema
    }

    /// The control plane's view of the program at a moment.
    pub(crate) fn at(&mut self, now_ns: u64) -> EntitiesAt<'_, Control> {
        self.entities.at(&mut self.control, &self.pre, now_ns)
    }
}
