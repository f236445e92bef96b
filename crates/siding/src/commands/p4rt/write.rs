//! `siding p4rt write` and `delete-all`.

use super::read::{is_const, written};
use super::session::Session;
use super::{Connected, usage};
use crate::cli::{AtomicityArg, WriteArgs, WriteKindArg};
use crate::output::{self, Exit};
use crate::program::{read_entries_with, tell};
use control::{Atomicity, Code, Entity, Schema, TableEntry, Update, UpdateKind};
use entries::{Entries, ExactKeys, Refusal};
use grpc::Failure;
use p4info::proto::p4::v1 as pb;

/// Updates in one request of `delete-all`.
const N_DELETED_AT_ONCE: usize = 10_000;

/// The result of an update.
type Outcome = Result<(), (Code, String)>;

impl Connected<'_> {
    pub fn write(&self, args: &WriteArgs) -> Result<Exit, Exit> {
        let schema = self.schema()?;
        let is_atomic = |atomicity: Option<AtomicityArg>| {
            matches!(atomicity, Some(AtomicityArg::Rollback | AtomicityArg::Dataplane))
        };
        if args.kind == WriteKindArg::Upsert && is_atomic(args.atomicity) {
            return Err(usage("--as upsert takes two requests, which no --atomicity makes one"));
        }
        let format = args.format.map(|format| format.format());
        let mut files = Vec::new();
        for path in &args.files {
            let mut entries = read_entries_with(&schema, path, format, ExactKeys::Required)?;
            change(&mut entries, args.kind);
            if let Some(atomicity) = args.atomicity {
                entries.batch.atomicity = match atomicity {
                    AtomicityArg::Continue => Atomicity::ContinueOnError,
                    AtomicityArg::Rollback => Atomicity::RollbackOnError,
                    AtomicityArg::Dataplane => Atomicity::DataplaneAtomic,
                };
            }
            files.push(entries);
        }
        let session = self.primary()?;
        let mut exit = Exit::Ok;
        for entries in &files {
            let atomicity = entries.batch.atomicity;
            let n_batch = match atomicity {
                Atomicity::ContinueOnError => args.batch as usize,
                Atomicity::RollbackOnError | Atomicity::DataplaneAtomic => usize::MAX,
            };
            let updates = &entries.batch.updates;
            let mut outcomes = self.write_updates(&schema, &session, updates, atomicity, n_batch)?;
            if args.kind == WriteKindArg::Upsert {
                self.modify_existing(&schema, &session, updates, &mut outcomes, n_batch)?;
            }
            let refused = outcomes.into_iter().enumerate().filter_map(|(i, outcome)| {
                let (code, message) = outcome.err()?;
                Some((i, refusal(code, &message)))
            });
            let refused: Vec<(usize, Refusal)> = refused.collect();
            if !refused.is_empty() {
                tell(&entries::refusals(entries, refused));
                exit = Exit::Failed;
            }
        }
        Ok(exit)
    }

    /// Writes updates in requests of so many at most.
    fn write_updates(
        &self,
        schema: &Schema,
        session: &Session<'_>,
        updates: &[Update],
        atomicity: Atomicity,
        n_batch: usize,
    ) -> Result<Vec<Outcome>, Exit> {
        let mut outcomes = Vec::with_capacity(updates.len());
        for updates in updates.chunks(n_batch.max(1)) {
            let request = pb::WriteRequest {
                device_id: self.args.device_id,
                role: self.args.role.clone(),
                election_id: session.election_id,
                updates: updates.iter().map(|update| encoded(schema, update)).collect(),
                atomicity: match atomicity {
                    Atomicity::ContinueOnError => pb::write_request::Atomicity::ContinueOnError,
                    Atomicity::RollbackOnError => pb::write_request::Atomicity::RollbackOnError,
                    Atomicity::DataplaneAtomic => pb::write_request::Atomicity::DataplaneAtomic,
                }
                .into(),
                ..pb::WriteRequest::default()
            };
            match self.client.write(request) {
                Ok(()) => outcomes.extend(updates.iter().map(|_| Ok(()))),
                Err(Failure { parts, .. }) if parts.len() == updates.len() => {
                    outcomes.extend(parts.into_iter().map(|part| {
                        match Code::of_number(part.canonical_code) {
                            Code::Ok => Ok(()),
                            code => Err((code, part.message)),
                        }
                    }));
                }
                Err(failure) => return Err(self.failed(&failure)),
            }
        }
        Ok(outcomes)
    }

    /// Modifies what could not be inserted because it exists.
    fn modify_existing(
        &self,
        schema: &Schema,
        session: &Session<'_>,
        updates: &[Update],
        outcomes: &mut [Outcome],
        n_batch: usize,
    ) -> Result<(), Exit> {
        let exists = |outcome: &Outcome| matches!(outcome, Err((Code::AlreadyExists, _)));
        let places: Vec<usize> = (0..updates.len()).filter(|i| exists(&outcomes[*i])).collect();
        let modified: Vec<Update> = places
            .iter()
            .map(|i| Update { kind: UpdateKind::Modify, entity: updates[*i].entity.clone() })
            .collect();
        let again = self.write_updates(schema, session, &modified, Atomicity::ContinueOnError, n_batch)?;
        for (i, outcome) in places.into_iter().zip(again) {
            outcomes[i] = outcome;
        }
        Ok(())
    }

    pub fn delete_all(&self) -> Result<Exit, Exit> {
        let schema = self.schema()?;
        let session = self.primary()?;
        let mut found = Vec::new();
        self.entities(&schema, written(&schema), |updates| found.extend(updates))?;
        found.retain(|update| !is_const(update));
        let mut deleted: Vec<Update> =
            found.into_iter().filter_map(|update| deletion(update.entity)).collect();
        let resettable = schema
            .tables
            .iter()
            .filter(|table| table.const_default_action.is_none() && table.implementation.is_none());
        deleted.extend(resettable.map(|table| Update {
            kind: UpdateKind::Modify,
            entity: Entity::TableEntry(TableEntry::default_entry(table.id, None)),
        }));
        deleted.sort_by_key(|update| rank(&update.entity));
        let outcomes =
            self.write_updates(&schema, &session, &deleted, Atomicity::ContinueOnError, N_DELETED_AT_ONCE)?;
        let mut exit = Exit::Ok;
        for (update, outcome) in deleted.iter().zip(&outcomes) {
            if let Err((code, message)) = outcome {
                let what = schema.describe(&update.entity);
                output::error_line(&format!("{what}: {}: {message}", code.name()));
                exit = Exit::Failed;
            }
        }
        let n_done = deleted
            .iter()
            .zip(&outcomes)
            .filter(|(update, outcome)| update.kind == UpdateKind::Delete && outcome.is_ok());
        output::out(&format!("{} deleted\n", n_done.count()));
        Ok(exit)
    }
}

/// Rank of an entity in the order of deletion: users come before the entities that they use.
fn rank(entity: &Entity) -> u8 {
    match entity {
        Entity::TableEntry(_) => 0,
        Entity::ActionProfileGroup(_) => 1,
        Entity::ActionProfileMember(_) => 2,
        Entity::Meter(_)
        | Entity::DirectMeter(_)
        | Entity::Counter(_)
        | Entity::DirectCounter(_)
        | Entity::Register(_)
        | Entity::MulticastGroup(_)
        | Entity::CloneSession(_)
        | Entity::ValueSet(_)
        | Entity::Digest(_)
        | Entity::Extern(_) => 3,
    }
}

/// The update that undoes an entity; `None` if there is none.
fn deletion(entity: Entity) -> Option<Update> {
    Some(match entity {
        Entity::TableEntry(entry) if entry.is_default_action => Update {
            kind: UpdateKind::Modify,
            entity: Entity::TableEntry(TableEntry::default_entry(entry.table, None)),
        },
        Entity::ValueSet(mut of) => {
            of.members.clear();
            Update { kind: UpdateKind::Modify, entity: Entity::ValueSet(of) }
        }
        Entity::TableEntry(_)
        | Entity::ActionProfileMember(_)
        | Entity::ActionProfileGroup(_)
        | Entity::MulticastGroup(_)
        | Entity::CloneSession(_)
        | Entity::Digest(_) => Update { kind: UpdateKind::Delete, entity },
        Entity::Meter(_)
        | Entity::DirectMeter(_)
        | Entity::Counter(_)
        | Entity::DirectCounter(_)
        | Entity::Register(_)
        | Entity::Extern(_) => return None,
    })
}

fn change(entries: &mut Entries, kind: WriteKindArg) {
    let can_be_inserted = |update: &Update| {
        deletion(update.entity.clone()).is_some_and(|deletion| deletion.kind == UpdateKind::Delete)
    };
    let updates = &mut entries.batch.updates;
    match kind {
        WriteKindArg::File => {}
        WriteKindArg::Insert | WriteKindArg::Upsert => {
            updates.iter_mut().filter(|of| can_be_inserted(of)).for_each(|of| of.kind = UpdateKind::Insert);
        }
        WriteKindArg::Modify => updates.iter_mut().for_each(|of| of.kind = UpdateKind::Modify),
        WriteKindArg::Delete => {
            let places = std::mem::take(&mut entries.places);
            let all = std::mem::take(updates).into_iter().zip(places).rev();
            for (update, place) in all {
                if let Some(deletion) = deletion(update.entity) {
                    updates.push(deletion);
                    entries.places.push(place);
                }
            }
        }
    }
}

fn encoded(schema: &Schema, update: &Update) -> pb::Update {
    let kind = match update.kind {
        UpdateKind::Insert => pb::update::Type::Insert,
        UpdateKind::Modify => pb::update::Type::Modify,
        UpdateKind::Delete => pb::update::Type::Delete,
    };
    pb::Update { r#type: kind.into(), entity: Some(p4runtime::encode_entity(schema, &update.entity)) }
}

/// A message of the server. Its path begins with the update's place in the request, which is not that in the file.
fn refusal(code: Code, message: &str) -> Refusal {
    let (text, path) =
        match message.strip_suffix(')').and_then(|message| message.rsplit_once(" (in updates[")) {
            Some((text, path)) => (text, path.split_once("].").map_or("", |(_, path)| path)),
            None => (message, ""),
        };
    let problem = match text.is_empty() {
        true => code.name().to_owned(),
        false => format!("{}: {text}", code.name()),
    };
    Refusal { path: path.to_owned(), problem }
}
