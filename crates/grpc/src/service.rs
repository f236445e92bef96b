//! The requests of controllers.

use crate::answers::Answers;
use crate::device::{ConfigFault, Device};
use crate::followers::Peer;
use crate::p4_v1::p4_runtime_server::P4Runtime;
use crate::pipeline::{New, Pipelines};
use crate::shared::{Shared, lock};
use crate::steps::Steps;
use crate::turn::{Length, Turn};
use crate::{bounded, encoded, failure, stream};
use control::session::{Role, RoleName, SessionFault, WriteTicket, WriterClaim};
use control::sync::{Migration, migrate};
use control::translate::Translated;
use control::{Entity, Fault, Results, Schema, TableEntry, TableId, Target, Update};
use p4info::proto::p4::v1 as pb;
use p4runtime::wire::{Rights, WireRequest, encode_records, is_of_digest};
use p4runtime::{Found, Responses};
use pb::get_forwarding_pipeline_config_request::ResponseType;
use pb::set_forwarding_pipeline_config_request::Action;
use pb::write_request::Atomicity;
use prost::Message;
use prost::bytes::Bytes;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio_stream::StreamExt;
use tonic::codegen::BoxStream;
use tonic::{Request, Response, Status, Streaming};

/// Bytes of a request that is answered where it arrives.
const AT_ONCE_BYTES_MAX: usize = 1 << 20;
/// Entities without a place that a message names.
const N_NAMED: usize = 10;

/// Meaning of a request.
pub(crate) struct Meaning<'s, D: Device> {
    pub(crate) role: Role,
    /// A program is saved and does not run yet: requests mean it.
    is_saved: bool,
    pub(crate) steps: Steps<'s, D>,
}

impl<D: Device> Shared<D> {
    pub(crate) fn check_device(&self, device_id: u64) -> Result<(), Status> {
        lock(&self.controllers).sessions.check_device(device_id).map_err(|fault| failure::session(&fault))
    }

    pub(crate) fn begin_write(
        &self,
        claim: Result<WriterClaim, SessionFault>,
    ) -> Result<Writing<'_, D>, Status> {
        let begun = claim.and_then(|claim| lock(&self.controllers).sessions.begin_write(&claim));
        let ticket = begun.map_err(|fault| failure::session(&fault))?;
        Ok(Writing { shared: self, ticket: Some(ticket) })
    }

    fn write(&self, request: &pb::WriteRequest) -> Result<(), Status> {
        let results = self.write_updates(request)?;
        failure::parts(&results).map_or(Ok(()), Err)
    }

    /// The role that a request is from, and the program that it means.
    pub(crate) fn meaning(&self, role: &RoleName) -> Result<Meaning<'_, D>, Status> {
        let mut pipelines = lock(&self.pipelines);
        let role = self.role(&pipelines, role);
        Ok(Meaning { role, is_saved: pipelines.saved().is_some(), steps: Steps::new(self, &mut pipelines)? })
    }

    /// Answers a request: one result for each update.
    pub(crate) fn write_updates(&self, request: &pb::WriteRequest) -> Result<Results, Status> {
        self.n_updates_full.fetch_add(request.updates.len() as u64, Ordering::Relaxed);
        self.check_device(request.device_id)?;
        let _writing = self.begin_write(p4runtime::write_claim(request))?;
        let turn = self.turns.take(Length::of(request.updates.len()));
        let Meaning { role, is_saved, mut steps } = self.meaning(&RoleName(request.role.as_str().into()))?;
        let schema = Arc::clone(&steps.schema);
        let check = |update: &Update| role.check_write(&schema, &update.entity);
        let results = match Atomicity::try_from(request.atomicity) {
            Ok(Atomicity::DataplaneAtomic) => {
                steps.step(|target| p4runtime::write_if(&schema, target, request, &check))?
            }
            Ok(Atomicity::ContinueOnError) => {
                p4runtime::write_if(&schema, &mut steps.pausing(&turn), request, &check)
            }
            // Nobody sees updates that are taken back.
            Ok(Atomicity::RollbackOnError) | Err(_) => {
                p4runtime::write_if(&schema, &mut steps, request, &check)
            }
        };
        // Digests are those of the program that runs.
        if !is_saved && request.updates.iter().any(is_of_digest) {
            self.configure_digests(&steps)?;
        }
        results.map_err(|fault| failure::request(&fault))
    }

    /// Answers an encoded `WriteRequest`.
    pub(crate) fn write_bytes(&self, request: &[u8]) -> Result<(), Status> {
        bounded::check::<pb::WriteRequest>(request)?;
        match self.is_quick.then(|| WireRequest::scan(request)).flatten() {
            Some(wire) => self.write_wire(&wire, None),
            None => {
                // Updates take memory: they are decoded for those who may write.
                let head = p4runtime::wire::head(request).map_err(damaged)?;
                self.check_device(head.device_id)?;
                drop(self.begin_write(p4runtime::write_claim(&head))?);
                self.write(&pb::WriteRequest::decode(request).map_err(damaged)?)
            }
        }
    }

    /// Looks through an encoded `WriteRequest` that may be answered where it arrives. `None`: it is large, or to be decoded as a
    /// whole.
    pub(crate) fn scan_for_now<'b>(&self, request: &'b [u8]) -> Option<WireRequest<'b>> {
        if !self.is_quick || request.len() > AT_ONCE_BYTES_MAX {
            return None;
        }
        bounded::check::<pb::WriteRequest>(request).ok()?;
        WireRequest::scan(request)
    }

    /// Answers a request if nobody else writes: without waiting, but for steps of reads.
    pub(crate) fn try_write_wire(&self, wire: &WireRequest<'_>) -> Option<Result<(), Status>> {
        let turn = self.turns.try_take(Length::of(wire.updates.len()))?;
        let is_free = self.pipelines.try_lock().is_ok() && !self.device.is_busy();
        is_free.then(|| self.write_wire(wire, Some(turn)))
    }

    /// Answers a request, whose turn it may be already.
    fn write_wire(&self, wire: &WireRequest<'_>, turn: Option<Turn<'_>>) -> Result<(), Status> {
        self.check_device(wire.claim.device_id)?;
        let _writing = self.begin_write(Ok(wire.claim.clone()))?;
        let decode = |meaning: &mut Meaning<'_, D>| {
            let rights = RoleRights { role: &meaning.role, schema: &meaning.steps.schema.clone() };
            // Without this a thread with a short request waits for as long as the decoding takes.
            let pause = || std::thread::yield_now();
            p4runtime::wire::decode(&mut meaning.steps, wire, &rights, &pause).map_err(damaged)
        };
        let length = Length::of(wire.updates.len());
        let early = match length {
            Length::Long if turn.is_none() => {
                let turn = self.turns.take(Length::Short);
                let Meaning { role, is_saved, steps } = self.meaning(&wire.claim.role)?;
                drop(turn);
                let mut meaning = Meaning { role, is_saved, steps: steps.single() };
                let decoded = decode(&mut meaning)?;
                Some((meaning.steps.schema, decoded))
            }
            Length::Short | Length::Long => None,
        };
        let turn = turn.unwrap_or_else(|| self.turns.take(length));
        let mut meaning = self.meaning(&wire.claim.role)?;
        let decoded = match early {
            Some((schema, decoded)) if Arc::ptr_eq(&schema, &meaning.steps.schema) => decoded,
            Some(_) | None => decode(&mut meaning)?,
        };
        let Meaning { role, is_saved, steps } = meaning;
        let schema = Arc::clone(&steps.schema);
        let rights = RoleRights { role: &role, schema: &schema };
        let mut steps = steps.pausing(&turn);
        let written = p4runtime::wire::apply(&schema, &mut steps, wire, decoded, &rights);
        let n_short = written.n.saturating_sub(written.n_full);
        self.n_updates_short.fetch_add(n_short as u64, Ordering::Relaxed);
        self.n_updates_full.fetch_add(written.n_full as u64, Ordering::Relaxed);
        if !is_saved && written.has_digests {
            self.configure_digests(&steps)?;
        }
        if written.failed.is_empty() {
            return Ok(());
        }
        failure::parts(&written.results()).map_or(Ok(()), Err)
    }

    /// Takes over how the digests of the running program are sent.
    fn configure_digests(&self, steps: &Steps<'_, D>) -> Result<(), Status> {
        let digests = steps.step(|target| configs(target))?;
        lock(&self.lists).configure(&digests);
        // Lists may be due earlier.
        self.device.wake();
        Ok(())
    }

    /// Answers a read in several encoded `ReadResponse`s, which are made while they are sent.
    pub(crate) fn read(
        &self,
        request: &pb::ReadRequest,
        send: &mut dyn FnMut(Result<Bytes, Status>) -> bool,
    ) {
        if let Err(status) = self.try_read(request, &mut |response| send(Ok(response))) {
            send(Err(status));
        }
    }

    fn try_read(&self, request: &pb::ReadRequest, send: &mut dyn FnMut(Bytes) -> bool) -> Result<(), Status> {
        self.check_device(request.device_id)?;
        let turn = self.turns.take(Length::Short);
        let Meaning { role, mut steps, .. } = self.meaning(&RoleName(request.role.as_str().into()))?;
        let schema = Arc::clone(&steps.schema);
        let mut answers = Answers::begin(&mut steps, request)?;
        drop(turn);
        let mut responses = Responses::default();
        while let Some(found) = answers.step() {
            let entities = match found {
                Found::Entities(entities) => entities,
                Found::Records { plan, has_rates, block } => {
                    if !role.sees_object(plan.table.0) {
                        continue;
                    }
                    for response in encode_records(&plan, has_rates, &block) {
                        if responses.add_response(&response).is_some_and(|full| !send(full)) {
                            return Ok(());
                        }
                    }
                    block.others.into_iter().map(Entity::TableEntry).collect()
                }
            };
            for entity in entities.into_iter().filter(|entity| role.sees(entity)) {
                let entity = p4runtime::encode_answer(&schema, entity);
                if responses.add(&entity).is_some_and(|full| !send(full)) {
                    return Ok(());
                }
            }
        }
        if responses.take().is_some_and(|rest| !send(rest)) {
            return Ok(());
        }
        failure::parts(&answers.results()).map_or(Ok(()), Err)
    }

    fn set_pipeline(&self, request: pb::SetForwardingPipelineConfigRequest) -> Result<(), Status> {
        self.check_device(request.device_id)?;
        let _writing = self.begin_write(p4runtime::pipeline_claim(&request))?;
        let role = self.role(&lock(&self.pipelines), &RoleName(request.role.as_str().into()));
        role.check_pipeline().map_err(|fault| failure::session(&fault))?;
        let _setting = lock(&self.setting);
        let refused = |fault: ConfigFault| failure::config(&fault);
        let config = request.config.filter(|config| *config != pb::ForwardingPipelineConfig::default());
        let prepared = |config: Option<pb::ForwardingPipelineConfig>| {
            let config = config.ok_or_else(|| Status::invalid_argument("`config` is missing"))?;
            let program = self.device.prepare(&config).map_err(refused)?;
            Ok::<_, Status>((config, program))
        };
        match Action::try_from(request.action) {
            Ok(Action::Verify) => {
                let (config, program) = prepared(config)?;
                lock(&self.pipelines).adopt(&self.device, config, program).map_err(refused)?;
            }
            Ok(Action::VerifyAndSave) => {
                let (config, program) = prepared(config)?;
                let _turn = self.turns.take(Length::Long);
                let mut pipelines = lock(&self.pipelines);
                let new = pipelines.adopt(&self.device, config, program).map_err(refused)?;
                pipelines.save(new);
            }
            Ok(Action::VerifyAndCommit) => {
                let (config, program) = prepared(config)?;
                let _turn = self.turns.take(Length::Long);
                let mut pipelines = lock(&self.pipelines);
                let new = pipelines.adopt(&self.device, config, program).map_err(refused)?;
                self.commit(&mut pipelines, Some(new)).map_err(refused)?;
            }
            Ok(Action::ReconcileAndCommit) => {
                let (config, program) = prepared(config)?;
                let _turn = self.turns.take(Length::Long);
                let mut pipelines = lock(&self.pipelines);
                let mut new = pipelines.adopt(&self.device, config, program).map_err(refused)?;
                self.keep_entities(&mut pipelines, &mut new).map_err(refused)?;
                self.commit(&mut pipelines, Some(new)).map_err(refused)?;
            }
            Ok(Action::Commit) => {
                if config.is_some() {
                    return Err(Status::invalid_argument("`config` must not be set with COMMIT"));
                }
                let _turn = self.turns.take(Length::Long);
                self.commit(&mut lock(&self.pipelines), None).map_err(refused)?;
            }
            Ok(Action::Unspecified) => return Err(Status::invalid_argument("`action` is not set")),
            Err(_) => {
                let message = format!("{} is no action that is known", request.action);
                return Err(Status::invalid_argument(message));
            }
        }
        Ok(())
    }

    /// Copies what controllers have written for the running program, in their values: those of the two programs may differ.
    fn keep_entities(
        &self,
        pipelines: &mut Pipelines<D::Program>,
        new: &mut New<D::Program>,
    ) -> Result<(), ConfigFault> {
        let (mut before, mut migration) = (pipelines.translator().clone(), Migration::default());
        let New { program, translator, .. } = new;
        self.device.copy_entities(program, &mut |from, schema, target| {
            let mut read = Translated { schema: from.schema, translator: &mut before, target: from.target };
            let mut written = Translated { schema, translator: &mut *translator, target };
            migration = migrate(from.schema, &mut read, schema, &mut written);
        });
        if migration.n_refused == 0 {
            return Ok(());
        }
        let named = &migration.faults[..migration.faults.len().min(N_NAMED)];
        Err(ConfigFault::invalid(format!(
            "{} entities have no place in the new program: {}",
            migration.n_refused,
            named.join("; ")
        )))
    }

    fn commit(
        &self,
        pipelines: &mut Pipelines<D::Program>,
        new: Option<New<D::Program>>,
    ) -> Result<(), ConfigFault> {
        pipelines.commit(&self.device, new)?;
        self.configure_lists();
        Ok(())
    }

    /// Digests that the running program has configs for.
    fn configure_lists(&self) {
        let mut found = Vec::new();
        self.device.with_running(&mut |_, target| found = configs(target));
        lock(&self.lists).configure(&found);
    }

    fn get_pipeline(
        &self,
        request: &pb::GetForwardingPipelineConfigRequest,
    ) -> Result<pb::GetForwardingPipelineConfigResponse, Status> {
        self.check_device(request.device_id)?;
        let response = ResponseType::try_from(request.response_type)
            .map_err(|_| Status::invalid_argument("`response_type` has a value that is not known"))?;
        let mut pipelines = lock(&self.pipelines);
        self.notice(&mut pipelines).map_err(|error| Status::failed_precondition(error.to_string()))?;
        Ok(pb::GetForwardingPipelineConfigResponse { config: pipelines.get(response) })
    }
}

/// Rights of a role.
fn damaged(error: prost::DecodeError) -> Status {
    Status::invalid_argument(format!("no `WriteRequest`: {error}"))
}

struct RoleRights<'r> {
    role: &'r Role,
    schema: &'r Schema,
}

impl Rights for RoleRights<'_> {
    fn may_write_table(&self, table: TableId) -> bool {
        let entry = Entity::TableEntry(TableEntry::new(table, Vec::new(), 0));
        self.role.check_write(self.schema, &entry).is_ok()
    }

    fn check(&self, update: &Update) -> Result<(), Fault> {
        self.role.check_write(self.schema, &update.entity)
    }
}

/// How the controller wants digests to be sent.
fn configs(target: &mut dyn Target) -> Vec<(control::DigestId, control::DigestConfig)> {
    let found = target.read(&control::Query::Digests(None)).unwrap_or_default();
    let config = |entity: Entity| match entity {
        Entity::Digest(of) => Some((of.digest, of.config?)),
        _ => None,
    };
    found.into_iter().filter_map(config).collect()
}

/// A write under way, which ends with it.
pub(crate) struct Writing<'s, D: Device> {
    shared: &'s Shared<D>,
    ticket: Option<WriteTicket>,
}

impl<D: Device> Drop for Writing<'_, D> {
    fn drop(&mut self) {
        let Some(ticket) = self.ticket.take() else { return };
        let mut controllers = lock(&self.shared.controllers);
        let effects = controllers.sessions.end_write(ticket);
        self.shared.carry_out(&controllers, effects);
        drop(controllers);
        *lock(&self.shared.n_writes) += 1;
        self.shared.written.notify_all();
    }
}

/// The service of one device.
pub(crate) struct Service<D: Device>(pub(crate) Arc<Shared<D>>);

impl<D: Device> Service<D> {
    /// Runs what may block on a thread for that. A client that goes meanwhile does not interrupt it.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Shared<D>) -> Result<T, Status> + Send + 'static,
    ) -> Result<Response<T>, Status> {
        let shared = Arc::clone(&self.0);
        let done = tokio::task::spawn_blocking(move || work(&shared)).await;
        done.unwrap_or_else(|_| Err(Status::internal("internal bug: the request has failed")))
            .map(Response::new)
    }
}

#[tonic::async_trait]
impl<D: Device> P4Runtime for Service<D> {
    /// Not reached by connections, whose requests `EncodedService` answers from their bytes.
    async fn write(&self, request: Request<pb::WriteRequest>) -> Result<Response<pb::WriteResponse>, Status> {
        let request = request.into_inner();
        self.blocking(move |shared| shared.write(&request).map(|()| pb::WriteResponse {})).await
    }

    type ReadStream = BoxStream<pb::ReadResponse>;

    /// Not reached by connections, either.
    async fn read(&self, request: Request<pb::ReadRequest>) -> Result<Response<Self::ReadStream>, Status> {
        let decoded = |response: Result<Bytes, Status>| {
            pb::ReadResponse::decode(response?).map_err(|error| Status::internal(error.to_string()))
        };
        Ok(Response::new(Box::pin(encoded::read(&self.0, request.into_inner()).map(decoded))))
    }

    async fn set_forwarding_pipeline_config(
        &self,
        request: Request<pb::SetForwardingPipelineConfigRequest>,
    ) -> Result<Response<pb::SetForwardingPipelineConfigResponse>, Status> {
        let request = request.into_inner();
        let done = |()| pb::SetForwardingPipelineConfigResponse {};
        self.blocking(move |shared| shared.set_pipeline(request).map(done)).await
    }

    async fn get_forwarding_pipeline_config(
        &self,
        request: Request<pb::GetForwardingPipelineConfigRequest>,
    ) -> Result<Response<pb::GetForwardingPipelineConfigResponse>, Status> {
        let request = request.into_inner();
        self.blocking(move |shared| shared.get_pipeline(&request)).await
    }

    type StreamChannelStream = crate::outbox::Inbox;

    async fn stream_channel(
        &self,
        request: Request<Streaming<pb::StreamMessageRequest>>,
    ) -> Result<Response<Self::StreamChannelStream>, Status> {
        let peer = Peer::of(&request);
        Ok(Response::new(stream::open(&self.0, Box::pin(request.into_inner()), peer)))
    }

    async fn capabilities(
        &self,
        request: Request<pb::CapabilitiesRequest>,
    ) -> Result<Response<pb::CapabilitiesResponse>, Status> {
        let device_id = request.into_inner().device_id;
        // Clients of earlier versions of the message do not say which device.
        if device_id != 0 {
            self.0.check_device(device_id)?;
        }
        Ok(Response::new(p4runtime::capabilities(&[])))
    }
}
