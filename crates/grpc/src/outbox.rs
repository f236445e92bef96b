//! The messages that wait for one stream.

use p4info::proto::p4::v1::StreamMessageResponse;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_stream::Stream;
use tonic::Status;

type Item = Result<StreamMessageResponse, Status>;

/// The sending end. Packets, digests and idle notices are bounded; answers to the controller itself are not, because there are at
/// most as many as it has sent messages.
#[derive(Clone, Debug)]
pub(crate) struct Outbox {
    sender: UnboundedSender<Item>,
    n_waiting: Arc<AtomicUsize>,
    n_waiting_max: usize,
}

/// The receiving end, which ends with the stream.
#[derive(Debug)]
pub(crate) struct Inbox {
    receiver: UnboundedReceiver<Item>,
    n_waiting: Arc<AtomicUsize>,
}

pub(crate) fn pair(n_waiting_max: usize) -> (Outbox, Inbox) {
    let (sender, receiver) = unbounded_channel();
    let n_waiting = Arc::new(AtomicUsize::new(0));
    let outbox = Outbox { sender, n_waiting: Arc::clone(&n_waiting), n_waiting_max };
    (outbox, Inbox { receiver, n_waiting })
}

impl Outbox {
    /// A message that must not be lost.
    pub(crate) fn send(&self, message: StreamMessageResponse) {
        self.put(Ok(message));
    }

    /// A message that is lost if too many wait. Returns whether it was taken.
    pub(crate) fn offer(&self, message: StreamMessageResponse) -> bool {
        let has_room = self.n_waiting.load(Ordering::Relaxed) < self.n_waiting_max;
        if has_room {
            self.put(Ok(message));
        }
        has_room
    }

    /// Ends the stream with an error.
    pub(crate) fn end(&self, status: Status) {
        self.put(Err(status));
    }

    /// Ends when nobody listens any more.
    pub(crate) async fn closed(&self) {
        self.sender.closed().await;
    }

    fn put(&self, item: Item) {
        self.n_waiting.fetch_add(1, Ordering::Relaxed);
        // A stream that has ended needs no message.
        let _ = self.sender.send(item);
    }
}

impl Stream for Inbox {
    type Item = Item;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Item>> {
        let polled = self.receiver.poll_recv(context);
        if let Poll::Ready(Some(_)) = &polled {
            self.n_waiting.fetch_sub(1, Ordering::Relaxed);
        }
        polled
    }
}
