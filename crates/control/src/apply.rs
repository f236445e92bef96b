//! Batches: the trait for entity storage, and error handling when one update of a batch fails.

use crate::entity::{DirectMeterEntry, Entity, MeterEntry, TableEntry};
use crate::fault::{Code, Fault, Problem};
use crate::ids::TableId;
use crate::key::EntityKey;
use crate::query::{EntryQuery, Extras, Query};
use crate::reading::Reading;
use crate::records::{Changes, FollowerId, RecordBlock, RecordCodes, RecordOp, RecordParts, RecordPlan};
use crate::schema::Schema;
use crate::update::{Atomicity, Batch, Update, UpdateKind};
use crate::validate::validate;
use std::collections::BTreeMap;
use std::sync::Arc;

/// One result per update of a batch, in order.
pub type Results = Vec<Result<(), Fault>>;

/// Number of updates at most in a batch that packets see at once: the data plane stands still while it is applied.
pub const N_ATOMIC_UPDATES_MAX: usize = 16_384;

/// Settings and counts of tables that packets write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PacketState {
    /// Numbers of flows that packets have taken.
    pub n_flow_ids: u64,
    /// Timeouts of the profiles of each table, in nanoseconds.
    pub timeouts_ns: BTreeMap<TableId, Vec<u64>>,
}

/// Storage for entities: a switch as its control plane sees it.
pub trait Target {
    /// Makes one change. The update has passed [`validate()`](crate::validate()); the target only checks that
    /// the entity exists, that there is room, and that the entity is not in use. A write without an index
    /// applies to all cells. An error leaves everything unchanged.
    fn write(&mut self, update: &Update) -> Result<(), Fault>;

    /// Makes changes in order, each like [`write`](Self::write), and continues after a failure. Returns one
    /// result per update. Targets that are faster with many updates at once override this; the results must
    /// be equal.
    fn write_many(&mut self, updates: &[&Update]) -> Vec<Result<(), Fault>> {
        updates.iter().map(|update| self.write(update)).collect()
    }

    /// Answers a query, which has passed [`validate_query()`](crate::validate_query()); entities come in any
    /// order. A query for one entity that does not exist gives an empty answer, except for direct resources,
    /// whose entry must exist.
    fn read(&self, query: &Query) -> Result<Vec<Entity>, Fault>;

    /// Begins a read that is answered in steps. Its answer is that of [`read`](Self::read) at this moment, whatever is written
    /// before the last step. Targets that can read large tables piece by piece override the three methods.
    fn begin_read(&mut self, query: &Query) -> Result<Reading, Fault> {
        self.read(query).map(Reading::of)
    }

    /// Begins a read of all entries of a table, for [`read_records`](Self::read_records), that sees each entry once that is there
    /// throughout; others may be missing, and an entry is as it is when it is read. Begins after the entry at which an earlier
    /// read of the same program has arrived ([`RecordBlock::last`]).
    fn begin_scan(&mut self, table: TableId, _after: Option<u64>) -> Result<Reading, Fault> {
        self.begin_read(&Query::TableEntries(EntryQuery { table: Some(table), ..EntryQuery::default() }))
    }

    /// The next entities of a read, about `n_max` of them; none at its end.
    fn read_on(&mut self, reading: &mut Reading, n_max: usize) -> Result<Vec<Entity>, Fault> {
        Ok(reading.take_ready(n_max))
    }

    /// Ends a read, at its end or before.
    fn end_read(&mut self, _: Reading) {}

    /// The plan for records of a table, for [`write_records`](Self::write_records) and
    /// [`read_records`](Self::read_records). Records have the timeouts and rates that the table has, whether or not `parts` says so;
    /// a modification without counts leaves them. `None`: the table has no counts, or its entries are written and read one by
    /// one.
    fn record_plan(&mut self, _table: TableId, _parts: RecordParts) -> Option<Arc<RecordPlan>> {
        None
    }

    /// Checks records and makes changes, one after the other, as [`apply()`] does for updates that continue on error. `metadata`
    /// is empty or has that of each entry. Completes the records, see [`RecordPlan::check`].
    fn write_records(
        &mut self,
        plan: &RecordPlan,
        _op: RecordOp,
        records: &mut [u8],
        _metadata: &[&[u8]],
    ) -> RecordCodes {
        let n = records.len() / plan.layout.record_bytes;
        RecordCodes { codes: vec![Code::Unimplemented; n], n_failed: n }
    }

    /// The plan with which [`read_records`](Self::read_records) gives the next entries of a read. `None`: only
    /// [`read_on`](Self::read_on) gives them.
    fn plan_of_read(&mut self, _: &Reading) -> Option<Arc<RecordPlan>> {
        None
    }

    /// The next entries of a read that has come to all entries of the plan's table. False at the end of the table.
    fn read_records(
        &mut self,
        _reading: &mut Reading,
        _plan: &RecordPlan,
        _n_max: usize,
        _block: &mut RecordBlock,
    ) -> Result<bool, Fault> {
        Ok(false)
    }

    /// Begins to log the changes of tables, for [`changes`](Self::changes), until [`unfollow`](Self::unfollow). Default entries
    /// are not followed. `None`: the target cannot, or has too many followers.
    fn follow(&mut self, _tables: &[TableId]) -> Option<FollowerId> {
        None
    }

    /// The next changes, about `n_max` of them; `parts` says what their records have. Fails if there were more than are kept.
    fn changes(
        &mut self,
        _follower: FollowerId,
        _parts: RecordParts,
        _n_max: usize,
    ) -> Result<Vec<Changes>, Fault> {
        Ok(Vec::new())
    }

    fn unfollow(&mut self, _: FollowerId) {}

    /// Announces that so many more entries are about to be inserted. Changes nothing that can be seen.
    fn reserve(&mut self, _: TableId, _n_more: u64) {}

    /// Returns whether packets see either none or all of the changes between the calls that make up one
    /// batch. A switch that processes no packet while a batch is applied returns true.
    fn is_batch_atomic(&self) -> bool {
        false
    }

    /// Puts back an entity as [`read`](Self::read) gave it before a batch that failed: with `Insert` if the batch has
    /// deleted it, with `Modify` if it has changed it. Targets that can restore what no update can write (the time
    /// since the last hit, the counters of colours) override this.
    fn restore(&mut self, kind: UpdateKind, entity: Entity) -> Result<(), Fault> {
        self.write(&Update { kind, entity: writable(entity) })
    }

    /// Returns whether the default action of a table is that of the program: no update has set another one.
    fn has_default_of_program(&self, _: TableId) -> bool {
        false
    }

    /// Settings and counts of tables that packets write, which no entity has.
    fn packet_state(&self) -> PacketState {
        PacketState::default()
    }

    /// Takes over what another target has, for tables that are here, too.
    fn restore_packet_state(&mut self, _: &PacketState) {}

    /// Gives the default action of the program the data that packets have given it elsewhere. It stays that of the program.
    fn restore_default_data(&mut self, _: &TableEntry) -> Result<(), Fault> {
        Ok(())
    }

    /// Entries that the program declares and that an update has deleted, by their keys alone.
    fn deleted_entries_of_program(&self) -> Vec<TableEntry> {
        Vec::new()
    }
}

/// Leaves out of an entity what an update cannot write.
pub fn writable(entity: Entity) -> Entity {
    match entity {
        Entity::TableEntry(entry) => {
            // A const entry keeps its action: only its direct resources were changed.
            let action = entry.action.filter(|_| !entry.is_const);
            Entity::TableEntry(TableEntry {
                action,
                is_const: false,
                is_of_packet: false,
                profile: None,
                time_since_last_hit_ns: None,
                meter_counter_data: None,
                ..entry
            })
        }
        Entity::Meter(meter) => Entity::Meter(MeterEntry { counter_data: None, ..meter }),
        Entity::DirectMeter(meter) => Entity::DirectMeter(DirectMeterEntry { counter_data: None, ..meter }),
        other => other,
    }
}

/// Applies the updates of a control plane. Fails if the batch as a whole cannot be applied; nothing has then changed.
pub fn apply(schema: &Schema, target: &mut dyn Target, batch: &Batch) -> Result<Results, Fault> {
    check_atomicity(target, batch.atomicity, batch.updates.len())?;
    Ok(match batch.atomicity {
        Atomicity::ContinueOnError => each(schema, target, &batch.updates),
        Atomicity::RollbackOnError | Atomicity::DataplaneAtomic => {
            all_or_none(schema, target, &batch.updates)
        }
    })
}

/// Checks that the target can apply `n_updates` in this way.
pub fn check_atomicity(target: &dyn Target, atomicity: Atomicity, n_updates: usize) -> Result<(), Fault> {
    match atomicity {
        Atomicity::ContinueOnError | Atomicity::RollbackOnError => Ok(()),
        Atomicity::DataplaneAtomic if !target.is_batch_atomic() => Err(Problem::AtomicUnsupported.into()),
        Atomicity::DataplaneAtomic if n_updates > N_ATOMIC_UPDATES_MAX => {
            Err(Problem::AtomicTooLarge { n_updates, limit: N_ATOMIC_UPDATES_MAX }.into())
        }
        Atomicity::DataplaneAtomic => Ok(()),
    }
}

fn each(schema: &Schema, target: &mut dyn Target, updates: &[Update]) -> Results {
    // Validity does not depend on the contents of the target.
    let mut results: Vec<_> = updates.iter().map(|update| validate(schema, update)).collect();
    let valid: Vec<&Update> =
        updates.iter().zip(&results).filter(|(_, result)| result.is_ok()).map(|(update, _)| update).collect();
    let written = target.write_many(&valid);
    debug_assert_eq!(written.len(), valid.len());
    results.iter_mut().filter(|result| result.is_ok()).zip(written).for_each(|(result, of)| *result = of);
    results
}

/// An update that was made, with the entities that it replaced, for rollback.
struct Done<'b> {
    update: &'b Update,
    before: Vec<Entity>,
}

fn all_or_none(schema: &Schema, target: &mut dyn Target, updates: &[Update]) -> Results {
    // A batch with an invalid update fails before its first write.
    let invalid = |update| validate(schema, update).err();
    if let Some((failed, fault)) =
        updates.iter().enumerate().find_map(|(i, update)| Some((i, invalid(update)?)))
    {
        return aborted(updates.len(), failed, fault);
    }
    let mut done: Vec<Done> = Vec::new();
    let mut at = 0;
    while at < updates.len() {
        // Insertions replace nothing, so consecutive ones can be made in one call.
        let n_inserts = updates[at..].iter().take_while(|update| update.kind == UpdateKind::Insert).count();
        let these: Vec<&Update> = updates[at..at + n_inserts.max(1)].iter().collect();
        let step = match before(schema, target, these[0]) {
            Ok(before) => {
                let written = target.write_many(&these).into_iter().enumerate();
                let mut before = Some(before);
                let mut first_fault = None;
                for (i, result) in written {
                    match result {
                        Ok(()) => {
                            done.push(Done { update: these[i], before: before.take().unwrap_or_default() });
                        }
                        Err(fault) if first_fault.is_none() => first_fault = Some((at + i, fault)),
                        Err(_) => {}
                    }
                }
                first_fault.map_or(Ok(()), Err)
            }
            Err(fault) => Err((at, fault)),
        };
        at += these.len();
        match step {
            Ok(()) => {}
            Err((failed, fault)) => {
                let mut results = aborted(updates.len(), failed, fault);
                for step in done.into_iter().rev() {
                    if let Err(why) = undo(target, step) {
                        let why = why.to_string();
                        return results
                            .drain(..)
                            .map(|_| Err(Problem::RollbackFailed { why: why.clone() }.into()))
                            .collect();
                    }
                }
                return results;
            }
        }
    }
    updates.iter().map(|_| Ok(())).collect()
}

fn aborted(n_updates: usize, failed: usize, fault: Fault) -> Results {
    let mut results: Vec<_> = (0..n_updates).map(|_| Err(Problem::BatchAborted { failed }.into())).collect();
    results[failed] = Err(fault);
    results
}

/// Reads the entities that the update is about to replace: none for an insertion.
fn before(schema: &Schema, target: &dyn Target, update: &Update) -> Result<Vec<Entity>, Fault> {
    if update.kind == UpdateKind::Insert {
        return Ok(Vec::new());
    }
    let mut found = target.read(&Query::exactly(schema, &update.entity))?;
    // A key that matches anything asks for all entries; an array without an index means all of its cells.
    if let (Some(key), Entity::TableEntry(_) | Entity::DirectMeter(_) | Entity::DirectCounter(_)) =
        (EntityKey::new(schema, &update.entity), &update.entity)
    {
        found.retain(|entity| EntityKey::new(schema, entity).as_ref() == Some(&key));
    }
    // To write the action of the program would make it one that the controller has set.
    for entity in &mut found {
        if let Entity::TableEntry(entry) = entity
            && entry.is_default_action
            && target.has_default_of_program(entry.table)
        {
            entry.action = None;
        }
    }
    Ok(found)
}

fn undo(target: &mut dyn Target, step: Done<'_>) -> Result<(), Fault> {
    let kind = match step.update.kind {
        UpdateKind::Insert => {
            let entity = step.update.entity.clone();
            return target.write(&Update { kind: UpdateKind::Delete, entity });
        }
        UpdateKind::Modify => UpdateKind::Modify,
        UpdateKind::Delete => UpdateKind::Insert,
    };
    step.before.into_iter().try_for_each(|entity| target.restore(kind, entity))
}

impl Query {
    /// A query that answers with the present state of this entity, including everything that a write can change.
    /// An entry without matches cannot be queried alone, so compare [`EntityKey`]s.
    pub fn exactly(schema: &Schema, entity: &Entity) -> Query {
        match entity {
            Entity::TableEntry(of) => {
                let table = schema.tables.get(of.table);
                Query::TableEntries(EntryQuery {
                    table: Some(of.table),
                    matches: of.matches.clone(),
                    priority: of.priority,
                    is_default_action: of.is_default_action,
                    extras: Extras {
                        meter_config: table.is_some_and(|table| table.direct_meter.is_some()),
                        counter_data: table.is_some_and(|table| table.direct_counter.is_some()),
                        meter_counter_data: table.is_some_and(|table| table.direct_meter.is_some()),
                        time_since_last_hit: table
                            .is_some_and(|table| table.has_idle_timeout && !of.is_default_action),
                    },
                    ..EntryQuery::default()
                })
            }
            Entity::ActionProfileMember(of) => {
                Query::Members { profile: Some(of.profile), member: Some(of.member) }
            }
            Entity::ActionProfileGroup(of) => {
                Query::Groups { profile: Some(of.profile), group: Some(of.group) }
            }
            Entity::Meter(of) => {
                Query::Meters { meter: Some(of.meter), index: of.index, with_counter_data: true }
            }
            Entity::DirectMeter(of) => {
                Query::DirectMeters { entry: Some(of.entry.clone()), with_counter_data: true }
            }
            Entity::Counter(of) => Query::Counters { counter: Some(of.counter), index: of.index },
            Entity::DirectCounter(of) => Query::DirectCounters { entry: Some(of.entry.clone()) },
            Entity::Register(of) => Query::Registers { register: Some(of.register), index: of.index },
            Entity::MulticastGroup(of) => Query::MulticastGroups(Some(of.group)),
            Entity::CloneSession(of) => Query::CloneSessions(Some(of.session)),
            Entity::ValueSet(of) => Query::ValueSets(Some(of.value_set)),
            Entity::Digest(of) => Query::Digests(Some(of.digest)),
            Entity::Extern(of) => {
                Query::Externs { extern_type: Some(of.extern_type), instance: Some(of.instance) }
            }
        }
    }
}
