//! A program with everything it keeps: what a control plane writes to and packets run through.

use crate::entities::{Entities, State, View};
use crate::exec::Machine;
use crate::externs::Externs;
use crate::load::{Config, Executable, LoadError};
use crate::table::Tables;
use control::{Entity, Fault, Query, Schema, Target, Update};
use ir::Program;
use std::sync::Arc;

/// A loaded program.
pub struct Interpreter {
    pub exe: Arc<Executable>,
    pub tables: Tables,
    pub externs: Externs,
    pub entities: Entities,
    /// Since any fixed time; whoever drives the interpreter sets it.
    pub now_ns: u64,
}

impl Interpreter {
    /// With the entries that the program declares. `seed` is that of random numbers.
    pub fn new(
        program: impl Into<Arc<Program>>,
        schema: impl Into<Arc<Schema>>,
        config: Config,
        seed: u64,
    ) -> Result<Interpreter, LoadError> {
        let exe = Executable::new(program, config)?;
        let mut tables = Tables::new(&exe, config)?;
        tables.selector_hash = crate::externs::selector_hash;
        Ok(Interpreter {
            tables,
            externs: Externs::new(&exe, seed),
            entities: Entities::new(&exe, schema),
            exe: Arc::new(exe),
            now_ns: 0,
        })
    }

    pub fn machine(&mut self) -> Machine<'_, Externs> {
        Machine { exe: &self.exe, tables: &mut self.tables, externs: &mut self.externs, now_ns: self.now_ns }
    }
}

impl Target for Interpreter {
    fn write(&mut self, update: &Update) -> Result<(), Fault> {
        let state = State {
            exe: &self.exe,
            tables: &mut self.tables,
            externs: &mut self.externs,
            now_ns: self.now_ns,
        };
        self.entities.write(state, update)
    }

    fn read(&self, query: &Query) -> Result<Vec<Entity>, Fault> {
        let view = View { exe: &self.exe, tables: &self.tables, externs: &self.externs, now_ns: self.now_ns };
        self.entities.read(view, query)
    }

    /// No packet runs while a batch is applied: both need the interpreter for themselves.
    fn is_batch_atomic(&self) -> bool {
        true
    }
}
