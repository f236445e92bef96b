//! Everything that requests and streams share.

use crate::device::{ConfigFault, Device};
use crate::failure;
use crate::followers::{Followers, Peer};
use crate::lists::Lists;
use crate::outbox::{Bounds, Outbox};
use crate::pipeline::{New, Pipelines};
use crate::programs::Programs;
use crate::readers::Readers;
use crate::turn::Turns;
use control::session::{Effect, Role, RoleName, SessionFault, Sessions, StreamId};
use control::translate::{Options, Translated, TranslationError};
use control::{Code, MessageKind};
use rustc_hash::FxHashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use tonic::Status;

/// Everything that requests share. Locks are taken in the order of the fields.
pub(crate) struct Shared<D: Device> {
    pub(crate) device: D,
    /// Programs are set one after the other.
    pub(crate) setting: Mutex<()>,
    /// For writes, and for beginning to read.
    pub(crate) turns: Turns,
    pub(crate) readers: Arc<Readers>,
    pub(crate) followers: Arc<Followers>,
    pub(crate) pipelines: Mutex<Pipelines<D::Program>>,
    pub(crate) controllers: Mutex<Controllers>,
    /// Controllers may have a primary again.
    pub(crate) primary_came: Condvar,
    pub(crate) lists: Mutex<Lists>,
    pub(crate) programs: Programs,
    /// Writes that have ended, for those that follow tables.
    pub(crate) n_writes: Mutex<u64>,
    pub(crate) written: Condvar,
    /// Requests are decoded by the short way where it leads.
    pub(crate) is_quick: bool,
    /// Updates of `WriteRequest`s, see [`UpdateCounts`](crate::UpdateCounts).
    pub(crate) n_updates_short: AtomicU64,
    pub(crate) n_updates_full: AtomicU64,
    /// Entries in columns and in shared memory.
    pub(crate) n_columns: AtomicU64,
    pub(crate) n_records: AtomicU64,
    pub(crate) n_streams: AtomicU64,
    /// Bounds of each stream.
    pub(crate) bounds: Bounds,
    /// Messages for controllers that were lost: nobody listened, or too slowly.
    pub(crate) n_lost: AtomicU64,
}

/// Sessions, with the streams on which their controllers listen.
pub(crate) struct Controllers {
    pub(crate) sessions: Sessions,
    pub(crate) outboxes: FxHashMap<StreamId, Outbox>,
    /// Connections of streams; those of shared memory have none.
    pub(crate) peers: FxHashMap<StreamId, Peer>,
}

impl Controllers {
    /// Returns whether the primary of the default role has its stream on this connection. Anybody may become primary of another
    /// role that nobody has taken.
    pub(crate) fn is_primary(&self, peer: Option<Peer>) -> bool {
        let primary = self.sessions.primary(&RoleName::default());
        peer.is_some() && primary.is_some_and(|stream| self.peers.get(&stream).copied() == peer)
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every change is made in one step.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<D: Device> Shared<D> {
    pub(crate) fn new(device: D, sessions: Sessions, translation: Options, bounds: Bounds) -> Shared<D> {
        Shared {
            device,
            setting: Mutex::default(),
            turns: Turns::new(),
            readers: Arc::new(Readers::new()),
            followers: Arc::default(),
            pipelines: Mutex::new(Pipelines::new(translation)),
            controllers: Mutex::new(Controllers {
                sessions,
                outboxes: FxHashMap::default(),
                peers: FxHashMap::default(),
            }),
            primary_came: Condvar::new(),
            lists: Mutex::default(),
            programs: Programs::default(),
            n_writes: Mutex::default(),
            written: Condvar::new(),
            is_quick: true,
            n_updates_short: AtomicU64::new(0),
            n_updates_full: AtomicU64::new(0),
            n_columns: AtomicU64::new(0),
            n_records: AtomicU64::new(0),
            n_streams: AtomicU64::new(0),
            bounds,
            n_lost: AtomicU64::new(0),
        }
    }

    /// Carries out what sessions say.
    pub(crate) fn carry_out(&self, controllers: &Controllers, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Notify { stream, notice } => {
                    if let Some(outbox) = controllers.outboxes.get(&stream) {
                        outbox.send(MessageKind::Arbitration, p4runtime::encode_notice(&notice));
                    }
                }
                Effect::NewPrimary { .. } => {
                    lock(&self.lists).forget_sent();
                    self.primary_came.notify_all();
                }
            }
        }
    }

    /// Looks at the program that runs. False if there is none.
    pub(crate) fn notice(&self, pipelines: &mut Pipelines<D::Program>) -> Result<bool, TranslationError> {
        let mut noticed = Ok(());
        let runs = self.device.with_running(&mut |schema, _| noticed = pipelines.notice(schema));
        noticed.map(|()| runs)
    }

    /// Works on the entities of the program that requests mean, in the values of controllers.
    pub(crate) fn with_target<T>(
        &self,
        pipelines: &mut Pipelines<D::Program>,
        work: impl FnOnce(&mut Translated<'_>) -> T,
    ) -> Result<T, Status> {
        let Some(New { program, translator, .. }) = pipelines.saved() else {
            return self.with_running(pipelines, work);
        };
        let (mut work, mut result) = (Some(work), None);
        self.device.with_prepared(program, &mut |schema, target| {
            result = work.take().map(|work| work(&mut Translated { schema, translator, target }));
        });
        result.ok_or_else(|| failure::session(&SessionFault::NoPipeline))
    }

    /// Works on the entities of the program that runs, in the values of controllers.
    pub(crate) fn with_running<T>(
        &self,
        pipelines: &mut Pipelines<D::Program>,
        work: impl FnOnce(&mut Translated<'_>) -> T,
    ) -> Result<T, Status> {
        let (mut work, mut result) = (Some(work), None);
        self.device.with_running(&mut |schema, target| {
            let Some(work) = work.take() else { return };
            result = Some(pipelines.notice(schema).map(|()| {
                let translator = pipelines.translator();
                work(&mut Translated { schema, translator, target })
            }));
        });
        match result {
            Some(Ok(result)) => Ok(result),
            Some(Err(error)) => {
                let fault = ConfigFault::new(Code::FailedPrecondition, error.to_string());
                Err(failure::config(&fault))
            }
            None => Err(failure::session(&SessionFault::NoPipeline)),
        }
    }

    /// The role of a request, with what it may do.
    pub(crate) fn role(&self, pipelines: &Pipelines<D::Program>, name: &RoleName) -> Role {
        lock(&self.controllers).sessions.role(name, pipelines.annotated_roles())
    }
}
