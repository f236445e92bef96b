//! Control-plane reads and writes: maps entities of crate `control` to tables and objects, and back.
//!
//! - [`Entities`]: which id of P4Info is what in the program, and what exists for the control plane only:
//!   how digests are sent, metadata of entries, one-shots as they were written;
//! - [`State`]: the store and the PRE of a program, borrowed for one write.
//!
//! Invariant: a write that fails changes nothing. Updates are valid in the sense of [`control::validate()`].

mod at;
mod cells;
mod follow;
mod keep_data;
mod many;
mod names;
mod profiles;
mod reading;
mod records;
mod replication;
mod snapshots;
mod tables;
mod values;

pub use names::Names;

pub use at::EntitiesAt;

use crate::store::shape::{TableShape, TableShapes};
use crate::store::{EntryHandle, Store, TableError};
use crate::traffic::SharedPre;
use control::*;
use follow::Logs;
use ir::{ObjectId, Program};
use rustc_hash::FxHashMap;
use snapshots::Snapshots;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The control plane's view of a program.
#[derive(Debug)]
pub struct Entities {
    pub schema: Arc<Schema>,
    program: Arc<Program>,
    /// The store's.
    shapes: TableShapes,
    names: Names,
    digests: BTreeMap<DigestId, DigestConfig>,
    /// Controller data of entries; an entry without any is absent.
    controller_data: FxHashMap<(ir::TableId, EntryHandle), ControllerData>,
    /// Default entries that the controller has written; one that is as the program has it is absent.
    defaults: FxHashMap<TableId, DefaultEntry>,
    programming: Programming,
    /// Maximum sizes of groups, as written; 0 if the controller set none.
    max_sizes: FxHashMap<(ObjectId, u32), u32>,
    snapshots: Snapshots,
    logs: Logs,
    /// Plans that were asked for, see [`control::Target::record_plan`].
    record_plans: FxHashMap<(TableId, RecordParts), Option<Arc<RecordPlan>>>,
}

/// Data of an entry that only the controller reads.
#[derive(Clone, Debug, Default, PartialEq)]
struct ControllerData {
    metadata: Vec<u8>,
    controller_metadata: u64,
    /// The one-shot action set as written; reads return it unchanged.
    one_shot: Option<OneShot>,
}

/// The default entry of a table, as the controller has written it.
#[derive(Clone, Debug, Default, PartialEq)]
struct DefaultEntry {
    /// The action is the controller's, not that of the program.
    has_action: bool,
    metadata: Vec<u8>,
    controller_metadata: u64,
}

/// Mutable access to the state of a program.
pub struct State<'a> {
    pub store: &'a mut dyn Store,
    /// Updates are visible to switches at once.
    pub pre: &'a SharedPre,
    pub now_ns: u64,
}

impl State<'_> {
    fn view(&self) -> View<'_> {
        View { store: &*self.store, pre: self.pre, now_ns: self.now_ns }
    }
}

/// Read access to the state of a program.
#[derive(Clone, Copy)]
pub struct View<'a> {
    pub store: &'a dyn Store,
    pub pre: &'a SharedPre,
    pub now_ns: u64,
}

impl Entities {
    /// `shapes` are those of the store that is written to.
    pub fn new(program: Arc<Program>, schema: impl Into<Arc<Schema>>, shapes: TableShapes) -> Entities {
        let schema = schema.into();
        Entities {
            names: Names::new(&program, &schema),
            shapes,
            program,
            schema,
            digests: BTreeMap::new(),
            controller_data: FxHashMap::default(),
            defaults: FxHashMap::default(),
            programming: Programming::default(),
            max_sizes: FxHashMap::default(),
            snapshots: Snapshots::default(),
            logs: Logs::default(),
            record_plans: FxHashMap::default(),
        }
    }

    fn shape(&self, table: ir::TableId) -> Option<&TableShape> {
        self.shapes.get(ir::lookup::index(table)).map(|shape| &**shape)
    }

    pub fn names(&self) -> &Names {
        &self.names
    }

    /// How digests of a kind are sent; `None` when they are not.
    pub fn digest(&self, id: DigestId) -> Option<DigestConfig> {
        self.digests.get(&id).copied()
    }

    /// Makes one change, which is valid.
    pub fn write(&mut self, state: State<'_>, update: &Update) -> Result<(), Fault> {
        self.programming.check(&self.schema, update)?;
        let what = |entities: &Entities| entities.schema.describe(&update.entity);
        match &update.entity {
            Entity::TableEntry(entry) => self.write_table_entry(state, update, entry),
            Entity::ActionProfileMember(member) => self.write_member(state, update, member),
            Entity::ActionProfileGroup(group) => self.write_group(state, update, group),
            Entity::Meter(meter) => self.write_meter(state, meter),
            Entity::DirectMeter(meter) => self.write_direct_meter(state, update, meter),
            Entity::Counter(counter) => self.write_counter(state, counter),
            Entity::DirectCounter(counter) => self.write_direct_counter(state, update, counter),
            Entity::Register(register) => self.write_register(state, update, register),
            Entity::ValueSet(value_set) => self.write_value_set(state, update, value_set),
            Entity::MulticastGroup(group) => self.write_multicast_group(state, update, group),
            Entity::CloneSession(session) => self.write_clone_session(state, update, session),
            Entity::Digest(digest) => {
                let what = what(self);
                let config = digest.config.unwrap_or_default();
                store(&mut self.digests, update.kind, digest.digest, config, what)
            }
            Entity::Extern(_) => Err(Problem::Unsupported { what: what(self) }.into()),
        }
    }

    /// The answer to a query, which is valid.
    pub fn read(&self, view: View<'_>, query: &Query) -> Result<Vec<Entity>, Fault> {
        match query {
            Query::TableEntries(query) => Ok(self.read_table_entries(view, query)),
            Query::Members { profile, member } => Ok(self.read_members(view, *profile, *member)),
            Query::Groups { profile, group } => Ok(self.read_groups(view, *profile, *group)),
            Query::Meters { meter, index, with_counter_data } => {
                Ok(self.read_meters(view, *meter, *index, *with_counter_data))
            }
            Query::DirectMeters { entry, with_counter_data } => {
                self.read_direct_meters(view, entry.as_ref(), *with_counter_data)
            }
            Query::Counters { counter, index } => Ok(self.read_counters(view, *counter, *index)),
            Query::DirectCounters { entry } => self.read_direct_counters(view, entry.as_ref()),
            Query::Registers { register, index } => Ok(self.read_registers(view, *register, *index)),
            Query::MulticastGroups(id) => Ok(self.read_multicast_groups(view, *id)),
            Query::CloneSessions(id) => Ok(self.read_clone_sessions(view, *id)),
            Query::ValueSets(id) => Ok(self.read_value_sets(view, *id)),
            Query::Digests(id) => {
                let entity = |(digest, config): (&DigestId, &DigestConfig)| {
                    Entity::Digest(DigestEntry { digest: *digest, config: Some(*config) })
                };
                Ok(select(&self.digests, *id).map(entity).collect())
            }
            Query::Externs { .. } => Ok(Vec::new()),
        }
    }

    /// The fault that a table's error is.
    fn fault(&self, error: &TableError, entity: &Entity) -> Fault {
        let what = self.schema.describe(entity);
        let problem = match (error.code(), error) {
            (_, TableError::UnknownMember(id)) if !matches!(entity, Entity::ActionProfileMember(_)) => {
                Problem::DoesNotExist { what: format!("member {id}") }
            }
            (_, TableError::UnknownGroup(id)) if !matches!(entity, Entity::ActionProfileGroup(_)) => {
                Problem::DoesNotExist { what: format!("group {id}") }
            }
            (
                _,
                TableError::Full { size }
                | TableError::ProfileFull { size }
                | TableError::ValueSetFull { size },
            ) => Problem::Full { what, size: *size },
            (Code::AlreadyExists, _) => Problem::AlreadyExists { what },
            (Code::NotFound, _) => Problem::DoesNotExist { what },
            (Code::FailedPrecondition, _) => Problem::InUse { what, by: "an entry or a group".to_string() },
            (Code::PermissionDenied, _) => Problem::ConstEntry { what },
            (Code::Unimplemented, _) => Problem::Unsupported { what },
            (_, _) => Problem::Refused { what, why: error.to_string() },
        };
        debug_assert_eq!(problem.code(), error.code());
        problem.into()
    }

    /// The program has nothing of this name, because nothing in it uses it.
    fn not_in_program(&self, entity: &Entity) -> Fault {
        Problem::Unsupported { what: self.schema.describe(entity) }.into()
    }
}

fn store<K: Ord, V>(
    map: &mut BTreeMap<K, V>,
    kind: UpdateKind,
    key: K,
    value: V,
    what: String,
) -> Result<(), Fault> {
    match (kind, map.contains_key(&key)) {
        (UpdateKind::Insert, true) => Err(Problem::AlreadyExists { what }.into()),
        (UpdateKind::Modify | UpdateKind::Delete, false) => Err(Problem::DoesNotExist { what }.into()),
        (UpdateKind::Insert, false) | (UpdateKind::Modify, true) => {
            map.insert(key, value);
            Ok(())
        }
        (UpdateKind::Delete, true) => {
            map.remove(&key);
            Ok(())
        }
    }
}

/// All, or one.
fn select<K: Ord, V>(map: &BTreeMap<K, V>, key: Option<K>) -> impl Iterator<Item = (&K, &V)> {
    map.iter().filter(move |(k, _)| key.as_ref().is_none_or(|key| *k == key))
}
