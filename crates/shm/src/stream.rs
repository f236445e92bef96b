//! The stream of a session's controller.

use crate::link::Bell;
use grpc::{Inbox, Local};
use p4info::proto::p4::v1 as pb;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use tokio::sync::mpsc;
use tokio_stream::Stream;
use tonic::Status;

/// Messages to the service that wait.
const N_WAITING: usize = 64;

#[derive(Debug)]
pub(crate) struct Controller {
    requests: mpsc::Sender<Result<pb::StreamMessageRequest, Status>>,
    inbox: Inbox,
    waker: Waker,
}

/// The receiving end as a stream.
struct Requests(mpsc::Receiver<Result<pb::StreamMessageRequest, Status>>);

impl Stream for Requests {
    type Item = Result<pb::StreamMessageRequest, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context)
    }
}

impl Controller {
    /// Opens a stream, whose messages ring the bell.
    pub(crate) fn open(local: &dyn Local, bell: &Arc<Bell>) -> Controller {
        let (requests, receiver) = mpsc::channel(N_WAITING);
        let inbox = local.stream(Box::pin(Requests(receiver)));
        Controller { requests, inbox, waker: Waker::from(Arc::clone(bell)) }
    }

    /// Hands a message to the service; waits while it has too many.
    pub(crate) fn send(&self, message: pb::StreamMessageRequest) -> Result<(), Status> {
        self.requests.blocking_send(Ok(message)).map_err(|_| Status::unavailable("the stream has ended"))
    }

    /// The next message, if there is one; then the bell rings when there is another.
    pub(crate) fn next(&mut self) -> Poll<Option<Result<pb::StreamMessageResponse, Status>>> {
        Pin::new(&mut self.inbox).poll_next(&mut Context::from_waker(&self.waker))
    }
}
