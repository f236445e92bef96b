//! The messages that wait for one stream.
//!
//! Their length is bounded by [`control::Outbox`]. A stream that takes no message for too long is abandoned: its session ends, and
//! the client reads the reason afterwards.

use control::MessageKind;
use p4info::proto::p4::v1::StreamMessageResponse;
use prost::Message;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio_stream::Stream;
use tonic::Status;

/// Bounds of what waits for one stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Length of all messages in bytes.
    pub(crate) n_bytes_max: usize,
    /// A client that takes no message for so long is abandoned.
    pub(crate) stuck: Duration,
}

/// The sending end.
#[derive(Clone, Debug)]
pub(crate) struct Outbox(Arc<Shared>);

/// The receiving end of a stream. The stream ends when it is dropped.
#[derive(Debug)]
pub struct Inbox(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    queue: Mutex<Queue>,
    /// The first message waits, or the receiving end is gone.
    changed: Notify,
    begin: Instant,
    stuck: Duration,
}

#[derive(Debug)]
struct Queue {
    waiting: control::Outbox<StreamMessageResponse>,
    /// Sent after the messages that wait.
    end: Option<Status>,
    /// No more messages come.
    is_closed: bool,
    is_received: bool,
    waker: Option<Waker>,
}

impl Queue {
    fn n_left_out(&self) -> u64 {
        MessageKind::ALL.into_iter().map(|kind| self.waiting.n_left_out(kind)).sum()
    }
}

pub(crate) fn pair(bounds: Bounds) -> (Outbox, Inbox) {
    let queue = Queue {
        waiting: control::Outbox::new(bounds.n_bytes_max),
        end: None,
        is_closed: false,
        is_received: true,
        waker: None,
    };
    let shared = Arc::new(Shared {
        queue: Mutex::new(queue),
        changed: Notify::new(),
        begin: Instant::now(),
        stuck: bounds.stuck,
    });
    (Outbox(Arc::clone(&shared)), Inbox(shared))
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now_ns(&self) -> u64 {
        u64::try_from(self.begin.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// The time that is left until the stream is abandoned; `None` if nothing waits.
    fn time_left(&self) -> Option<Duration> {
        let since = Duration::from_nanos(self.queue().waiting.waits_since_ns()?);
        Some((since + self.stuck).saturating_sub(self.begin.elapsed()))
    }
}

impl Outbox {
    /// Adds a message, unless too many wait. Returns how many were left out: this one, or older ones that matter less.
    pub(crate) fn send(&self, kind: MessageKind, message: StreamMessageResponse) -> u64 {
        let n_bytes = message.encoded_len();
        let now_ns = self.0.now_ns();
        let mut queue = self.0.queue();
        if !queue.is_received || queue.is_closed {
            return 1;
        }
        let (n_before, was_empty) = (queue.n_left_out(), queue.waiting.is_empty());
        queue.waiting.push(kind, message, n_bytes, now_ns);
        if was_empty {
            self.0.changed.notify_one();
        }
        if let Some(waker) = queue.waker.take() {
            waker.wake();
        }
        queue.n_left_out() - n_before
    }

    /// Ends the stream with an error.
    pub(crate) fn end(&self, status: Status) {
        let mut queue = self.0.queue();
        queue.end.get_or_insert(status);
        queue.is_closed = true;
        if let Some(waker) = queue.waker.take() {
            waker.wake();
        }
    }

    /// Ends the stream.
    pub(crate) fn close(&self) {
        let mut queue = self.0.queue();
        queue.is_closed = true;
        if let Some(waker) = queue.waker.take() {
            waker.wake();
        }
    }

    /// Ends the stream with an error, without the messages that wait.
    pub(crate) fn abandon(&self, status: Status) {
        self.0.queue().waiting.clear();
        self.end(status);
    }

    /// Ends when nobody listens any more: `Ok` for a client that is gone, an error for one that takes no messages.
    pub(crate) async fn closed(&self) -> Result<(), Status> {
        loop {
            if !self.0.queue().is_received {
                return Ok(());
            }
            let Some(left) = self.0.time_left() else {
                self.0.changed.notified().await;
                continue;
            };
            if left.is_zero() {
                let seconds = self.0.stuck.as_secs_f64();
                let message = format!("the controller has taken no message for {seconds} s");
                return Err(Status::resource_exhausted(message));
            }
            tokio::select! {
                () = tokio::time::sleep(left) => {}
                () = self.0.changed.notified() => {}
            }
        }
    }
}

impl Stream for Inbox {
    type Item = Result<StreamMessageResponse, Status>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let now_ns = self.0.now_ns();
        let mut queue = self.0.queue();
        if let Some(message) = queue.waiting.pop(now_ns) {
            return Poll::Ready(Some(Ok(message)));
        }
        if let Some(status) = queue.end.take() {
            return Poll::Ready(Some(Err(status)));
        }
        if queue.is_closed {
            return Poll::Ready(None);
        }
        queue.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        let mut queue = self.0.queue();
        queue.is_received = false;
        queue.waiting.clear();
        self.0.changed.notify_one();
    }
}
