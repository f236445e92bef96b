//! Streams of controllers: arbitration, packets out, acknowledgements.

use crate::device::Device;
use crate::failure;
use crate::followers::Peer;
use crate::outbox::{self, Inbox, Outbox};
use crate::shared::{Shared, lock};
use control::MessageKind;
use control::packets::ControllerPacket;
use control::session::{RoleName, SessionFault, StreamId};
use control::stream::{DigestAck, StreamError, StreamErrorCause};
use p4info::proto::p4::v1 as pb;
use p4runtime::StreamRequest;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio_stream::{Stream, StreamExt};
use tonic::Status;

/// Messages of a controller on its stream.
pub type Requests = Pin<Box<dyn Stream<Item = Result<pb::StreamMessageRequest, Status>> + Send>>;

/// Opens a stream. A task serves it until one of the ends closes.
pub(crate) fn open<D: Device>(shared: &Arc<Shared<D>>, requests: Requests, peer: Option<Peer>) -> Inbox {
    let id = StreamId(shared.n_streams.fetch_add(1, Ordering::Relaxed));
    let (outbox, inbox) = outbox::pair(shared.bounds);
    let mut controllers = lock(&shared.controllers);
    controllers.outboxes.insert(id, outbox.clone());
    if let Some(peer) = peer {
        controllers.peers.insert(id, peer);
    }
    drop(controllers);
    let closing = Closing { shared: Arc::clone(shared), id };
    tokio::spawn(serve(closing, outbox, requests));
    inbox
}

/// Closes a stream when it goes, also when its task is cancelled.
struct Closing<D: Device> {
    shared: Arc<Shared<D>>,
    id: StreamId,
}

impl<D: Device> Drop for Closing<D> {
    fn drop(&mut self) {
        let mut controllers = lock(&self.shared.controllers);
        if let Some(outbox) = controllers.outboxes.remove(&self.id) {
            outbox.close();
        }
        controllers.peers.remove(&self.id);
        let effects = controllers.sessions.close(self.id);
        self.shared.carry_out(&controllers, effects);
    }
}

async fn serve<D: Device>(closing: Closing<D>, outbox: Outbox, mut requests: Requests) {
    loop {
        let message = tokio::select! {
            message = requests.next() => message.transpose(),
            // The client takes no more messages: it is gone, whatever its half of the stream says.
            closed = outbox.closed() => {
                if let Err(status) = closed {
                    outbox.abandon(status);
                }
                return;
            }
        };
        let message = match message {
            Ok(Some(message)) => message,
            // A client that ends its half is gone.
            Ok(None) => return,
            // So is one that breaks the protocol, or sends too much. It is told if it still listens.
            Err(status) => {
                outbox.end(status);
                return;
            }
        };
        let (shared, id, to) = (Arc::clone(&closing.shared), closing.id, outbox.clone());
        // One after the other, so that packets keep their order.
        let handled = tokio::task::spawn_blocking(move || handle(&shared, id, &to, message)).await;
        match handled {
            Ok(Ok(())) => {}
            Ok(Err(status)) => {
                outbox.end(status);
                return;
            }
            Err(_) => {
                outbox.end(Status::internal("internal bug: the message has failed"));
                return;
            }
        }
    }
}

/// An error ends the stream.
fn handle<D: Device>(
    shared: &Shared<D>,
    id: StreamId,
    outbox: &Outbox,
    message: pb::StreamMessageRequest,
) -> Result<(), Status> {
    let device_id = match &message.update {
        Some(pb::stream_message_request::Update::Arbitration(request)) => Some(request.device_id),
        _ => None,
    };
    let failed = match p4runtime::decode_stream_request(message) {
        Ok(StreamRequest::Arbitration(request)) => {
            let mut controllers = lock(&shared.controllers);
            // A request for another device says nothing to this one, so this comes before what is wrong with its role.
            let device = device_id.map_or(Ok(()), |device| controllers.sessions.check_stream(id, device));
            let arbitrated = device.and(request);
            let arbitrated = arbitrated.and_then(|request| controllers.sessions.arbitrate(id, request));
            let effects = arbitrated.map_err(|fault| failure::session(&fault))?;
            shared.carry_out(&controllers, effects);
            return Ok(());
        }
        Ok(StreamRequest::PacketOut(packet)) => send_packet(shared, id, packet),
        Ok(StreamRequest::DigestAck(ack)) => acknowledge(shared, id, ack),
        Err(error) => Err(error),
    };
    if let Err(error) = failed {
        let n_lost = outbox.send(MessageKind::Error, p4runtime::encode_stream_error(error));
        shared.n_lost.fetch_add(n_lost, Ordering::Relaxed);
    }
    Ok(())
}

/// The role for which a stream is primary.
fn primary_role<D: Device>(
    shared: &Shared<D>,
    id: StreamId,
    cause: impl FnOnce() -> StreamErrorCause,
) -> Result<RoleName, StreamError> {
    let controllers = lock(&shared.controllers);
    let Some(role) = controllers.sessions.role_of(id) else {
        return Err(StreamError::before_arbitration(cause()));
    };
    match controllers.sessions.primary(role) == Some(id) {
        true => Ok(role.clone()),
        false => Err(refused(&controllers.sessions.not_primary(role), cause())),
    }
}

fn refused(fault: &SessionFault, cause: StreamErrorCause) -> StreamError {
    StreamError { code: fault.code(), message: fault.to_string(), cause }
}

fn send_packet<D: Device>(
    shared: &Shared<D>,
    id: StreamId,
    mut packet: ControllerPacket,
) -> Result<(), StreamError> {
    let cause = |packet: &ControllerPacket| StreamErrorCause::PacketOut(packet.clone());
    let name = primary_role(shared, id, || cause(&packet))?;
    let mut pipelines = lock(&shared.pipelines);
    shared.role(&pipelines, &name).check_packet_out().map_err(|fault| refused(&fault, cause(&packet)))?;
    if !shared.device.has_cpu_port() {
        return Err(StreamError::no_cpu_port(packet));
    }
    let given = packet.metadata.clone();
    let io = pipelines.packets();
    let bytes = shared.with_running(&mut pipelines, |target| {
        target.translator.packet_out(target.schema, &mut packet)?;
        io?.packet_out(&packet)
    });
    drop(pipelines);
    packet.metadata = given;
    let bytes = match bytes {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(fault)) => return Err(StreamError::bad_packet(&fault, packet)),
        Err(_) => return Err(refused(&SessionFault::NoPipeline, cause(&packet))),
    };
    let sent = shared.device.packet_out(bytes);
    sent.map_err(|fault| StreamError { code: fault.code, message: fault.message, cause: cause(&packet) })
}

fn acknowledge<D: Device>(shared: &Shared<D>, id: StreamId, ack: DigestAck) -> Result<(), StreamError> {
    primary_role(shared, id, || StreamErrorCause::DigestAck(ack))?;
    let mut pipelines = lock(&shared.pipelines);
    let acknowledged =
        shared.with_running(&mut pipelines, |target| lock(&shared.lists).acknowledge(target.schema, ack));
    acknowledged.unwrap_or_else(|_| Err(StreamError::unknown_digest(ack)))
}
