//! The threads that serve connections: one for each, up to a number that connections share then.
//!
//! A thread of its own keeps a connection's messages, requests and answers on one core, and lets the system divide the cores
//! between clients: one that sends millions of entries does not make another one wait for its messages.

use crate::device::Device;
use crate::followers::Peer;
use crate::http2::{Http2, LastRead, Sender};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::{Notify, mpsc, watch};

/// More connections share the threads.
const N_THREADS_MAX: usize = 16;
/// Requests of the connections of a thread may block on so many threads.
pub(crate) const N_BLOCKING_THREADS: usize = 64;
/// How long a thread looks for the next message before it sleeps.
const LOOK_TIME_MIN: Duration = Duration::from_micros(10);
pub(crate) const LOOK_TIME_MAX: Duration = Duration::from_micros(200);
/// Time until connections are accepted again after a failure.
const RETRY_TIME: Duration = Duration::from_millis(10);

/// A socket that gives connections.
pub(crate) trait Accept: Send + 'static {
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;
    /// A connection on its way from the thread that accepts to the one that serves.
    type Moved: Send + 'static;

    fn accept(&self) -> impl Future<Output = io::Result<Self::Moved>> + Send;
    /// The connection, for the runtime in which this is called, and its client, if the system knows it.
    fn arrive(moved: Self::Moved) -> io::Result<(Self::Stream, Option<Peer>)>;
}

impl Accept for TcpListener {
    type Stream = TcpStream;
    type Moved = std::net::TcpStream;

    async fn accept(&self) -> io::Result<std::net::TcpStream> {
        let (stream, _) = TcpListener::accept(self).await?;
        // Small answers do not wait for acknowledgements.
        let _ = stream.set_nodelay(true);
        stream.into_std()
    }

    fn arrive(moved: std::net::TcpStream) -> io::Result<(TcpStream, Option<Peer>)> {
        let peer = moved.peer_addr().ok().map(Peer::Tcp);
        Ok((TcpStream::from_std(moved)?, peer))
    }
}

impl Accept for UnixListener {
    type Stream = UnixStream;
    type Moved = std::os::unix::net::UnixStream;

    async fn accept(&self) -> io::Result<std::os::unix::net::UnixStream> {
        let (stream, _) = UnixListener::accept(self).await?;
        stream.into_std()
    }

    fn arrive(moved: std::os::unix::net::UnixStream) -> io::Result<(UnixStream, Option<Peer>)> {
        let stream = UnixStream::from_std(moved)?;
        let user = stream.peer_cred().ok();
        Ok((stream, user.map(|user| Peer::Unix { pid: user.pid(), uid: user.uid() })))
    }
}

/// Messages of the connections of a thread.
#[derive(Default)]
struct Traffic {
    n_reads: AtomicUsize,
    came: Notify,
}

/// Lets the thread look for messages for a short time after one has come, before it sleeps: waking takes longer than many a
/// request. The time grows while clients send again within [`LOOK_TIME_MAX`] and shrinks while they do not.
async fn look(traffic: Arc<Traffic>) {
    let mut look_time = Duration::ZERO;
    loop {
        let (mut last, mut n_reads) = (Instant::now(), traffic.n_reads.load(Ordering::Relaxed));
        while last.elapsed() < look_time {
            // Other tasks run, and sockets are looked at.
            tokio::task::yield_now().await;
            let n = traffic.n_reads.load(Ordering::Relaxed);
            if n != n_reads {
                (last, n_reads) = (Instant::now(), n);
            }
        }
        traffic.came.notified().await;
        look_time = match last.elapsed() < LOOK_TIME_MAX {
            true => (2 * look_time).clamp(LOOK_TIME_MIN, LOOK_TIME_MAX),
            false => look_time / 2,
        };
    }
}

/// A connection that its thread counts while it is open.
struct Counted<S> {
    stream: S,
    n_open: Arc<AtomicUsize>,
    traffic: Arc<Traffic>,
    last_read: Arc<LastRead>,
}

impl<S> Drop for Counted<S> {
    fn drop(&mut self) {
        self.n_open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Counted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let done = Pin::new(&mut self.stream).poll_read(context, to);
        if done.is_ready() {
            self.last_read.note();
            self.traffic.n_reads.fetch_add(1, Ordering::Relaxed);
            self.traffic.came.notify_one();
        }
        done
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Counted<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// A thread that serves connections.
struct Thread<M> {
    sender: mpsc::UnboundedSender<M>,
    n_open: Arc<AtomicUsize>,
    handle: JoinHandle<()>,
}

/// Accepts connections and hands them to threads, until the sender of `stopped` is gone. Then connections are closed, and what
/// requests do on other threads has the time `end_time`.
pub(crate) async fn serve<A: Accept, D: Device>(
    listener: A,
    http2: Arc<Http2<D>>,
    mut stopped: watch::Receiver<()>,
    end_time: Duration,
) {
    let mut threads: Vec<Thread<A::Moved>> = Vec::new();
    loop {
        let accepted = tokio::select! {
            _ = stopped.changed() => break,
            accepted = listener.accept() => accepted,
        };
        let Ok(moved) = accepted else {
            // Want of file descriptors, mostly, which time mends.
            tokio::time::sleep(RETRY_TIME).await;
            continue;
        };
        if threads.len() < N_THREADS_MAX && threads.iter().all(|thread| n_open(thread) > 0) {
            // Without a further thread, connections share those that are there.
            threads.extend(start::<A, D>(Arc::clone(&http2), stopped.clone(), end_time).ok());
        }
        // Without any thread the connection is closed.
        if let Some(thread) = threads.iter().min_by_key(|thread| n_open(thread)) {
            thread.n_open.fetch_add(1, Ordering::Relaxed);
            let _ = thread.sender.send(moved);
        }
    }
    threads.into_iter().for_each(|thread| drop(thread.handle.join()));
}

fn n_open<M>(thread: &Thread<M>) -> usize {
    thread.n_open.load(Ordering::Relaxed)
}

fn start<A: Accept, D: Device>(
    http2: Arc<Http2<D>>,
    mut stopped: watch::Receiver<()>,
    end_time: Duration,
) -> io::Result<Thread<A::Moved>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .max_blocking_threads(N_BLOCKING_THREADS)
        .thread_name("p4runtime work")
        .enable_all()
        .build()?;
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let n_open = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&n_open);
    let traffic = Arc::new(Traffic::default());
    let handle = std::thread::Builder::new().name("p4runtime".to_owned()).spawn(move || {
        runtime.block_on(async {
            let arriving = async {
                while let Some(moved) = receiver.recv().await {
                    let Ok((stream, peer)) = A::arrive(moved) else {
                        counted.fetch_sub(1, Ordering::Relaxed);
                        continue;
                    };
                    let (n_open, traffic) = (Arc::clone(&counted), Arc::clone(&traffic));
                    let last_read = Arc::new(LastRead::new());
                    let sender = Sender { peer, last_read: Arc::clone(&last_read) };
                    let stream = Counted { stream, n_open, traffic, last_read };
                    tokio::spawn(Arc::clone(&http2).serve(stream, sender));
                }
            };
            tokio::select! {
                _ = stopped.changed() => {}
                () = arriving => {}
                () = look(Arc::clone(&traffic)) => {}
            }
        });
        runtime.shutdown_timeout(end_time);
    })?;
    Ok(Thread { sender, n_open, handle })
}
