//! Entities as a control target.

use super::{Entities, State, View};
use crate::store::Store;
use crate::traffic::SharedPre;
use control::{Entity, Fault, Query, Target, Update};

/// The entities of a program at a moment, made by [`Entities::at`].
pub struct EntitiesAt<'a, S> {
    entities: &'a mut Entities,
    store: &'a mut S,
    pre: &'a SharedPre,
    now_ns: u64,
}

impl Entities {
    /// A control target that writes to and reads from `store` and `pre`, with `now_ns` as the time.
    pub fn at<'a, S: Store>(
        &'a mut self,
        store: &'a mut S,
        pre: &'a SharedPre,
        now_ns: u64,
    ) -> EntitiesAt<'a, S> {
        EntitiesAt { entities: self, store, pre, now_ns }
    }
}

impl<S: Store> Target for EntitiesAt<'_, S> {
    fn write(&mut self, update: &Update) -> Result<(), Fault> {
        let state = State { store: self.store, pre: self.pre, now_ns: self.now_ns };
        self.entities.write(state, update)
    }

    fn write_many(&mut self, updates: &[&Update]) -> Vec<Result<(), Fault>> {
        let state = State { store: self.store, pre: self.pre, now_ns: self.now_ns };
        self.entities.write_many(state, updates)
    }

    fn read(&self, query: &Query) -> Result<Vec<Entity>, Fault> {
        self.entities.read(View { store: self.store, pre: self.pre, now_ns: self.now_ns }, query)
    }
}
