//! The control plane's side of the program that runs.

use crate::options::{Compiled, Options};
use control::{Entity, Fault, Query, Schema, Target, Update};
use device::entities::{Entities, State, View};
use device::traffic::Pre;
use device::{Config, PortState};
use pipeline::{BurstPath, Control, Instance, InstanceOptions, Native, NativeError};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A program with everything that its workers share.
pub(crate) struct Generation {
    pub(crate) compiled: Compiled,
    pub(crate) control: Control,
    pub(crate) pre: Pre,
    pub(crate) entities: Entities,
    pub(crate) config: Config,
    instance: Arc<Instance>,
}

impl Generation {
    /// With the entries that the program declares, and ports that are down.
    pub(crate) fn new(
        compiled: Compiled,
        options: &Options,
        ports_down: &BTreeSet<u32>,
    ) -> Result<Generation, NativeError> {
        let config = Config { seed: options.seed, cpu_port: options.cpu_port, ..Config::default() };
        let instance = Instance::new(
            Arc::clone(&compiled.pipeline),
            Arc::clone(&compiled.program),
            InstanceOptions {
                n_workers: u32::try_from(options.n_workers).unwrap_or(u32::MAX),
                seed: options.seed,
                path: BurstPath::from_environment(),
                table_size: config.load.table_size,
            },
        )?;
        let control = Control::new(Arc::clone(&instance));
        ports_down.iter().for_each(|port| control.set_port(*port, PortState::Down));
        let entities = Entities::new(Arc::clone(&compiled.program), Arc::clone(&compiled.schema));
        Ok(Generation { compiled, control, pre: Pre::default(), entities, config, instance })
    }

    /// A worker's part of it.
    pub(crate) fn part(&self, ports_down: &BTreeSet<u32>) -> Result<device::Switch<Native>, NativeError> {
        let native = Native::new(&self.instance, self.config.load.step_budget)?;
        let mut switch = device::Switch::new(native, self.config.clone())?;
        switch.pre = self.pre.clone();
        ports_down.iter().for_each(|port| switch.set_port(*port, PortState::Down));
        Ok(switch)
    }

    pub(crate) fn schema(&self) -> &Arc<Schema> {
        &self.compiled.schema
    }

    /// The same as a target, at a time.
    pub(crate) fn at(&mut self, now_ns: u64) -> Timed<'_> {
        Timed { generation: self, now_ns, is_pre_changed: false }
    }
}

/// What can be written and read now.
pub(crate) struct Timed<'a> {
    generation: &'a mut Generation,
    now_ns: u64,
    /// Workers have copies of groups and sessions.
    pub(crate) is_pre_changed: bool,
}

impl Target for Timed<'_> {
    fn write(&mut self, update: &Update) -> Result<(), Fault> {
        self.is_pre_changed |= matches!(&update.entity, Entity::MulticastGroup(_) | Entity::CloneSession(_));
        let Generation { control, pre, entities, .. } = &mut *self.generation;
        entities.write(State { store: control, pre, now_ns: self.now_ns }, update)
    }

    fn read(&self, query: &Query) -> Result<Vec<Entity>, Fault> {
        let Generation { control, pre, entities, .. } = &*self.generation;
        entities.read(View { store: control, pre, now_ns: self.now_ns }, query)
    }
}
