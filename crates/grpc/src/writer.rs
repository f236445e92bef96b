//! A client that only writes, and whose requests are encoded already. It adds as little as it can to the time of a request, for
//! measurements.

use crate::client::{ConnectError, Failure, ServerAddress, TRAILER_BYTES_MAX, WINDOW_BYTES};
use crate::connections::LOOK_TIME_MAX;
use crate::encoded::WRITE;
use crate::unary;
use control::Code;
use h2::client::SendRequest;
use prost::bytes::Bytes;
use std::error::Error;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tonic::Status;
use tonic::codegen::http::{HeaderMap, Request};

/// A connection without encryption. Its calls block.
#[derive(Debug)]
pub struct Writer {
    runtime: Runtime,
    sender: SendRequest<Bytes>,
    uri: String,
}

impl Writer {
    pub fn connect(address: &ServerAddress) -> Result<Writer, ConnectError> {
        let thread = |error: io::Error| ConnectError::Thread(error.to_string());
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(thread)?;
        let refused = |error: io::Error| ConnectError::of(address, Some(error.kind()), error.to_string());
        let (sender, authority) = runtime.block_on(async {
            match address {
                ServerAddress::Tcp { host, port } => {
                    let stream = TcpStream::connect((host.as_str(), *port)).await.map_err(refused)?;
                    // Small requests do not wait for acknowledgements.
                    stream.set_nodelay(true).map_err(refused)?;
                    Ok((begin(stream, address).await?, address.to_string()))
                }
                ServerAddress::Unix(path) => {
                    let stream = UnixStream::connect(path).await.map_err(refused)?;
                    Ok((begin(stream, address).await?, "localhost".to_owned()))
                }
            }
        })?;
        Ok(Writer { runtime, sender, uri: format!("http://{authority}{WRITE}") })
    }

    /// Sends encoded `WriteRequest`s, so many at a time: the server may then answer them in another order. Ends with the first
    /// failure.
    pub fn write(&self, requests: Vec<Bytes>, n_at_a_time: usize) -> Result<(), Failure> {
        if n_at_a_time <= 1 {
            return self.time(requests).map(drop);
        }
        let (sender, uri) = (self.sender.clone(), self.uri.clone());
        self.on_own_thread(async move {
            let mut sent = JoinSet::new();
            for request in requests {
                if sent.len() >= n_at_a_time
                    && let Some(done) = looking(sent.join_next()).await
                {
                    ended(done)?;
                }
                sent.spawn(write_one(sender.clone(), uri.clone(), request));
            }
            while let Some(done) = sent.join_next().await {
                ended(done)?;
            }
            Ok(())
        })
    }

    /// Sends encoded `WriteRequest`s one after the other, and returns how long each has taken. Ends with the first failure.
    pub fn time(&self, requests: Vec<Bytes>) -> Result<Vec<Duration>, Failure> {
        let (sender, uri) = (self.sender.clone(), self.uri.clone());
        self.on_own_thread(async move {
            let mut times = Vec::with_capacity(requests.len());
            for request in requests {
                let begin = Instant::now();
                looking(write_one(sender.clone(), uri.clone(), request)).await?;
                times.push(begin.elapsed());
            }
            Ok(times)
        })
    }

    /// Runs a task where messages arrive, so that none of its steps wakes another thread.
    fn on_own_thread<T: Send + 'static>(
        &self,
        task: impl Future<Output = Result<T, Failure>> + Send + 'static,
    ) -> Result<T, Failure> {
        ended(self.runtime.block_on(self.runtime.spawn(task)))
    }
}

/// Begins HTTP/2, whose connection then has a task of its own.
async fn begin<S>(stream: S, address: &ServerAddress) -> Result<SendRequest<Bytes>, ConnectError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let begun = h2::client::Builder::new()
        .initial_window_size(WINDOW_BYTES)
        .initial_connection_window_size(WINDOW_BYTES)
        .max_header_list_size(TRAILER_BYTES_MAX)
        .handshake(stream)
        .await;
    let (sender, connection) = begun.map_err(|error| ConnectError::of(address, None, error.to_string()))?;
    tokio::spawn(connection);
    Ok(sender)
}

/// The outcome of a task.
fn ended<T>(done: Result<Result<T, Failure>, tokio::task::JoinError>) -> Result<T, Failure> {
    done.unwrap_or_else(|error| Err(Status::internal(error.to_string()).into()))
}

/// Sends an encoded `WriteRequest` and waits for the answer. Headers and message go out together.
async fn write_one(sender: SendRequest<Bytes>, uri: String, message: Bytes) -> Result<(), Failure> {
    let request = Request::post(uri).header("te", "trailers").header("content-type", unary::CONTENT_TYPE);
    let request = request.body(()).map_err(lost)?;
    let mut sender = sender.ready().await.map_err(lost)?;
    let (answer, mut body) = sender.send_request(request, false).map_err(lost)?;
    body.send_data(unary::framed(&message), true).map_err(lost)?;
    let (head, mut body) = answer.await.map_err(lost)?.into_parts();
    // The response has no fields.
    while let Some(data) = body.data().await {
        let n = data.map_err(lost)?.len();
        body.flow_control().release_capacity(n).map_err(lost)?;
    }
    let trailers: Option<HeaderMap> = body.trailers().await.map_err(lost)?;
    match Status::from_header_map(trailers.as_ref().unwrap_or(&head.headers)) {
        Some(status) if status.code() == tonic::Code::Ok => Ok(()),
        Some(status) => Err(status.into()),
        None => Err(Status::unknown(format!("the answer has no status of gRPC, but {}", head.status)).into()),
    }
}

fn lost(error: impl Error) -> Failure {
    let message = format!("the connection has failed: {error}");
    Failure { code: Code::Unavailable, message, parts: Vec::new() }
}

/// Waits for a future, for a short time without sleeping: waking takes longer than many an answer. Other tasks run meanwhile.
async fn looking<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let begin = Instant::now();
    while begin.elapsed() < LOOK_TIME_MAX {
        let polled = poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await;
        if let Poll::Ready(done) = polled {
            return done;
        }
        tokio::task::yield_now().await;
    }
    future.await
}
