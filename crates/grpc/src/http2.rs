//! A connection of HTTP/2: its requests to the services, and the answers back.
//!
//! On `h2` alone, because what a server of any kind of service does for a request beside takes as long as an update.

use crate::device::Device;
use crate::encoded::{self, WRITE};
use crate::followers::Peer;
use crate::shared::Shared;
use crate::unary::{self, Answer};
use h2::server::SendResponse;
use h2::{Ping, PingPong, Reason, RecvStream, SendStream};
use http_body::Frame;
use http_body_util::BodyExt;
use prost::bytes::Bytes;
use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_rustls::TlsAcceptor;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::Service;
use tonic::codegen::http::{HeaderName, Request, Response};
use tonic::service::Routes;

/// Flow control windows: with small ones a sender waits for each round trip.
const STREAM_WINDOW_BYTES: u32 = 8 << 20;
const CONNECTION_WINDOW_BYTES: u32 = 32 << 20;
const FRAME_BYTES: u32 = 1 << 20;
/// The length of the headers of a request, at most.
const HEADER_BYTES_MAX: u32 = 16 << 10;
/// The time that a request has (gRPC over HTTP/2, "Timeout").
const TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");

/// Serves connections.
pub(crate) struct Http2<D: Device> {
    pub(crate) shared: Arc<Shared<D>>,
    /// The services of all methods but Write.
    pub(crate) routes: Routes,
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) message_bytes_max: usize,
    /// Requests of a connection at a time.
    pub(crate) n_requests_max: u32,
    /// A client is asked whether it is there after so long, and has so long to answer.
    pub(crate) keepalive: (Duration, Duration),
}

/// The client of a connection, and when something was last read from it.
pub(crate) struct Sender {
    pub(crate) peer: Option<Peer>,
    pub(crate) last_read: Arc<LastRead>,
}

/// The time of the last read of a connection.
pub(crate) struct LastRead {
    begin: Instant,
    /// Microseconds since then.
    at: AtomicU64,
}

impl LastRead {
    pub(crate) fn new() -> LastRead {
        LastRead { begin: Instant::now(), at: AtomicU64::new(0) }
    }

    pub(crate) fn note(&self) {
        self.at.store(self.begin.elapsed().as_micros() as u64, Ordering::Relaxed);
    }

    fn get(&self) -> Instant {
        self.begin + Duration::from_micros(self.at.load(Ordering::Relaxed))
    }
}

impl<D: Device> Http2<D> {
    /// Serves a connection until it ends.
    pub(crate) async fn serve<S>(self: Arc<Http2<D>>, stream: S, sender: Sender)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let Some(tls) = self.tls.clone() else { return self.serve_plain(stream, sender).await };
        if let Ok(Ok(stream)) = timeout(self.handshake_time(), tls.accept(stream)).await {
            self.serve_plain(stream, sender).await;
        }
    }

    /// The time that a client has for each part of the beginning.
    fn handshake_time(&self) -> Duration {
        self.keepalive.0 + self.keepalive.1
    }

    async fn serve_plain<S>(self: Arc<Http2<D>>, stream: S, sender: Sender)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let handshake = h2::server::Builder::new()
            .initial_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
            .max_frame_size(FRAME_BYTES)
            .max_header_list_size(HEADER_BYTES_MAX)
            .max_concurrent_streams(self.n_requests_max)
            .handshake::<_, Bytes>(stream);
        let Ok(Ok(mut connection)) = timeout(self.handshake_time(), handshake).await else { return };
        let Some(pings) = connection.ping_pong() else { return };
        let gone = until_gone(pings, &sender.last_read, self.keepalive);
        let requests = async {
            while let Some(Ok((request, to))) = connection.accept().await {
                tokio::spawn(Arc::clone(&self).answer(request, sender.peer, to));
            }
        };
        tokio::select! {
            () = requests => {}
            () = gone => {}
        }
    }

    /// Answers a request, unless the client cancels it.
    async fn answer(
        self: Arc<Http2<D>>,
        request: Request<RecvStream>,
        peer: Option<Peer>,
        mut to: SendResponse<Bytes>,
    ) {
        let answer = self.within_time(request, peer);
        let answer = tokio::select! {
            biased;
            answer = answer => answer,
            _ = poll_fn(|context| to.poll_reset(context)) => return,
        };
        // A client that is gone gets no answer.
        let _ = match answer {
            Answer::Empty => send_empty(&mut to),
            Answer::Full(response) => send(response, &mut to).await,
        };
    }

    /// The answer, or its beginning, within the time that the client has set.
    async fn within_time(&self, request: Request<RecvStream>, peer: Option<Peer>) -> Answer {
        match request.headers().get(TIMEOUT).and_then(|value| time_of(value.as_bytes())) {
            None => self.call(request, peer).await,
            Some(time) => timeout(time, self.call(request, peer)).await.unwrap_or_else(|_| {
                Answer::Full(Status::deadline_exceeded("the time of the request is over").into_http())
            }),
        }
    }

    async fn call(&self, request: Request<RecvStream>, peer: Option<Peer>) -> Answer {
        let mut request = request.map(|stream| Body::new(Received { stream, may_have_data: true }));
        if request.uri().path() == WRITE {
            return encoded::write(&self.shared, request, self.message_bytes_max).await;
        }
        if let Some(peer) = peer {
            request.extensions_mut().insert(peer);
        }
        let mut routes = self.routes.clone();
        let called: Result<_, Infallible> = Box::pin(routes.call(request)).await;
        match called {
            Ok(response) => Answer::Full(response),
        }
    }
}

/// Waits until a client has sent nothing for the first time, and nothing for the second one after it was asked.
async fn until_gone(
    mut pings: PingPong,
    last_read: &LastRead,
    (interval, answer_time): (Duration, Duration),
) {
    loop {
        let seen = last_read.get();
        sleep_until(seen + interval).await;
        if last_read.get() != seen {
            continue;
        }
        // Fails while an answer is still awaited, which is then the one that comes.
        let _ = pings.send_ping(Ping::opaque());
        let _ = timeout(answer_time, poll_fn(|context| pings.poll_pong(context))).await;
        if last_read.get() == seen {
            return;
        }
    }
}

/// The time that a request has: up to eight digits and a unit.
fn time_of(value: &[u8]) -> Option<Duration> {
    let (unit, digits) = value.split_last()?;
    if digits.is_empty() || digits.len() > 8 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let n: u64 = str::from_utf8(digits).ok()?.parse().ok()?;
    match unit {
        b'H' => Some(Duration::from_secs(n * 60 * 60)),
        b'M' => Some(Duration::from_secs(n * 60)),
        b'S' => Some(Duration::from_secs(n)),
        b'm' => Some(Duration::from_millis(n)),
        b'u' => Some(Duration::from_micros(n)),
        b'n' => Some(Duration::from_nanos(n)),
        _ => None,
    }
}

/// The body of a request that arrives. What was taken may be sent again.
struct Received {
    stream: RecvStream,
    may_have_data: bool,
}

impl http_body::Body for Received {
    type Data = Bytes;
    type Error = h2::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, h2::Error>>> {
        if self.may_have_data {
            match ready!(self.stream.poll_data(context)) {
                Some(Ok(bytes)) => {
                    // Fails if the stream has ended, and then nothing is sent any more.
                    let _ = self.stream.flow_control().release_capacity(bytes.len());
                    return Poll::Ready(Some(Ok(Frame::data(bytes))));
                }
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => self.may_have_data = false,
            }
        }
        let trailers = ready!(self.stream.poll_trailers(context));
        Poll::Ready(trailers.map(|trailers| trailers.map(Frame::trailers)).transpose())
    }

    fn is_end_stream(&self) -> bool {
        self.stream.is_end_stream()
    }
}

fn send_empty(to: &mut SendResponse<Bytes>) -> Result<(), h2::Error> {
    let (head, message, trailers) = unary::empty_answer();
    let mut stream = to.send_response(head, false)?;
    stream.send_data(message, false)?;
    stream.send_trailers(trailers)
}

/// Sends an answer as fast as the client takes it.
async fn send(answer: Response<Body>, to: &mut SendResponse<Bytes>) -> Result<(), h2::Error> {
    let (head, mut body) = answer.into_parts();
    let has_no_body = http_body::Body::is_end_stream(&body);
    let mut stream = to.send_response(Response::from_parts(head, ()), has_no_body)?;
    if has_no_body {
        return Ok(());
    }
    loop {
        let frame = tokio::select! {
            biased;
            frame = body.frame() => frame,
            _ = poll_fn(|context| stream.poll_reset(context)) => return Ok(()),
        };
        let frame = match frame {
            None => return stream.send_data(Bytes::new(), true),
            Some(Ok(frame)) => frame,
            Some(Err(_)) => {
                stream.send_reset(Reason::INTERNAL_ERROR);
                return Ok(());
            }
        };
        let data = match frame.into_data() {
            Ok(data) if data.is_empty() => continue,
            Ok(data) => data,
            Err(frame) => match frame.into_trailers() {
                Ok(trailers) => return stream.send_trailers(trailers),
                Err(_) => continue,
            },
        };
        stream.reserve_capacity(data.len());
        if !has_room(&mut stream).await? {
            return Ok(());
        }
        stream.send_data(data, false)?;
    }
}

/// Waits until a part of what was reserved may be sent. False: the stream has ended.
async fn has_room(stream: &mut SendStream<Bytes>) -> Result<bool, h2::Error> {
    while stream.capacity() == 0 {
        match poll_fn(|context| stream.poll_capacity(context)).await {
            Some(more) => drop(more?),
            None => return Ok(false),
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_requests() {
        for (text, expected) in [
            ("2H", Some(Duration::from_secs(7200))),
            ("99999999M", Some(Duration::from_secs(99_999_999 * 60))),
            ("0S", Some(Duration::ZERO)),
            ("15m", Some(Duration::from_millis(15))),
            ("7u", Some(Duration::from_micros(7))),
            ("12345678n", Some(Duration::from_nanos(12_345_678))),
            ("", None),
            ("S", None),
            ("5", None),
            ("123456789S", None),
            ("+5S", None),
            ("5s", None),
        ] {
            assert_eq!(time_of(text.as_bytes()), expected, "{text}");
        }
    }
}
