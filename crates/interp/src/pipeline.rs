//! A program with everything it keeps: what a control plane writes to and packets run through.

use crate::entities::{Entities, State, View};
use crate::load::LoadError;
use crate::traffic::{Config, Switch};
use control::{Entity, Fault, Query, Schema, Target, Update};
use ir::Program;
use std::sync::Arc;

/// A switch and its control plane's view of it.
pub struct Interpreter {
    /// Packets go in and come out here.
    pub switch: Switch,
    pub entities: Entities,
}

impl Interpreter {
    /// With the entries that the program declares; they need not be written again.
    pub fn new(
        program: impl Into<Arc<Program>>,
        schema: impl Into<Arc<Schema>>,
        config: Config,
    ) -> Result<Interpreter, LoadError> {
        let switch = Switch::new(program, config)?;
        let entities = Entities::new(switch.executable(), schema);
        Ok(Interpreter { switch, entities })
    }
}

impl Target for Interpreter {
    fn write(&mut self, update: &Update) -> Result<(), Fault> {
        let now_ns = self.switch.now_ns();
        let Switch { exe, tables, externs, pre, .. } = &mut self.switch;
        self.entities.write(State { exe, tables, externs, pre, now_ns }, update)
    }

    fn read(&self, query: &Query) -> Result<Vec<Entity>, Fault> {
        let now_ns = self.switch.now_ns();
        let Switch { exe, tables, externs, pre, .. } = &self.switch;
        self.entities.read(View { exe, tables, externs, pre, now_ns }, query)
    }

    /// No packet runs while a batch is applied: both need the switch for themselves.
    fn is_batch_atomic(&self) -> bool {
        true
    }
}
