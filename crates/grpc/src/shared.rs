//! Everything that requests and streams share.

use crate::device::Device;
use crate::failure;
use crate::lists::Lists;
use crate::outbox::Outbox;
use crate::pipeline::Pipelines;
use control::session::{Effect, Role, RoleName, SessionFault, Sessions, StreamId};
use control::{Schema, Target};
use rustc_hash::FxHashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tonic::Status;

/// Everything that requests share. Locks are taken in the order of the fields.
pub(crate) struct Shared<D: Device> {
    pub(crate) device: D,
    /// Programs are set one after the other.
    pub(crate) setting: Mutex<()>,
    pub(crate) pipelines: Mutex<Pipelines<D::Program>>,
    pub(crate) controllers: Mutex<Controllers>,
    pub(crate) lists: Mutex<Lists>,
    pub(crate) n_streams: AtomicU64,
    pub(crate) n_waiting_max: usize,
    /// Messages for controllers that were lost: nobody listened, or too slowly.
    pub(crate) n_lost: AtomicU64,
}

/// Sessions, with the streams on which their controllers listen.
pub(crate) struct Controllers {
    pub(crate) sessions: Sessions,
    pub(crate) outboxes: FxHashMap<StreamId, Outbox>,
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every change is made in one step.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Controllers {
    /// Carries out what sessions say. Returns whether there is a new primary.
    pub(crate) fn carry_out(&self, effects: Vec<Effect>) -> bool {
        let mut is_new = false;
        for effect in effects {
            match effect {
                Effect::Notify { stream, notice } => {
                    if let Some(outbox) = self.outboxes.get(&stream) {
                        outbox.send(p4runtime::encode_notice(&notice));
                    }
                }
                Effect::NewPrimary { .. } => is_new = true,
            }
        }
        is_new
    }
}

impl<D: Device> Shared<D> {
    pub(crate) fn new(device: D, sessions: Sessions, n_waiting_max: usize) -> Shared<D> {
        let pipelines = Pipelines::new(device.initial_config());
        Shared {
            device,
            setting: Mutex::default(),
            pipelines: Mutex::new(pipelines),
            controllers: Mutex::new(Controllers { sessions, outboxes: FxHashMap::default() }),
            lists: Mutex::default(),
            n_streams: AtomicU64::new(0),
            n_waiting_max,
            n_lost: AtomicU64::new(0),
        }
    }

    /// Works on the entities of the program that requests mean.
    pub(crate) fn with_target<T>(
        &self,
        pipelines: &mut Pipelines<D::Program>,
        work: impl FnOnce(&Schema, &mut dyn Target) -> T,
    ) -> Result<T, Status> {
        let (mut work, mut result) = (Some(work), None);
        let mut once = |schema: &Schema, target: &mut dyn Target| {
            result = work.take().map(|work| work(schema, target));
        };
        match pipelines.saved_program() {
            Some(program) => self.device.with_prepared(program, &mut once),
            None => {
                self.device.with_running(&mut once);
            }
        }
        result.ok_or_else(|| failure::session(&SessionFault::NoPipeline))
    }

    /// The role of a request, with what it may do.
    pub(crate) fn role(&self, pipelines: &Pipelines<D::Program>, name: &RoleName) -> Role {
        lock(&self.controllers).sessions.role(name, pipelines.annotated_roles())
    }
}
