//! Reads that are sent while they are made. Each has a thread, so there are bounds: those who read slowly keep nobody from
//! writing, arbitration or a program.

use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::Sender;
use tonic::Status;

/// Reads that are answered at a time; others wait. Half of the threads for requests that block.
const N_READS: usize = 32;
/// A client that takes nothing for so long is gone.
const STUCK_TIME: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(crate) struct Readers {
    places: Semaphore,
    stuck_time: Duration,
}

impl Readers {
    pub(crate) fn new() -> Readers {
        Readers { places: Semaphore::new(N_READS), stuck_time: STUCK_TIME }
    }

    /// Answers a read as soon as there is a place, on a thread that may block.
    pub(crate) async fn read(self: Arc<Readers>, answer: impl FnOnce(&Readers) + Send + 'static) {
        // Nobody closes the semaphore.
        let Ok(_place) = self.places.acquire().await else { return };
        let readers = Arc::clone(&self);
        let _ = tokio::task::spawn_blocking(move || answer(&readers)).await;
    }

    /// Sends an answer; false if the client is gone, or takes nothing for too long.
    pub(crate) fn send<T>(&self, to: &Sender<Result<T, Status>>, answer: Result<T, Status>) -> bool {
        let Err(error) = to.try_send(answer) else { return true };
        let answer = error.into_inner();
        Handle::current()
            .block_on(tokio::time::timeout(self.stuck_time, to.send(answer)))
            .is_ok_and(|sent| sent.is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[tokio::test]
    async fn a_client_that_takes_nothing_is_given_up() {
        let readers = Arc::new(Readers { places: Semaphore::new(1), stuck_time: Duration::from_millis(20) });
        let (sender, mut receiver) = tokio::sync::mpsc::channel(1);
        let n_sent = Arc::new(AtomicUsize::new(0));
        let n = Arc::clone(&n_sent);
        Arc::clone(&readers)
            .read(move |readers| {
                while readers.send(&sender, Ok(())) {
                    n.fetch_add(1, Ordering::Relaxed);
                }
            })
            .await;
        assert_eq!(n_sent.load(Ordering::Relaxed), 1, "the channel has room for one");
        assert!(receiver.recv().await.is_some() && receiver.recv().await.is_none());
        // Its place is free again.
        readers.read(|_| ()).await;
    }
}
