//! The methods Write and Read: requests to write are not decoded before they are answered, and answers are made as bytes.

use crate::bounded;
use crate::device::Device;
use crate::raw::RawCodec;
use crate::shared::Shared;
use crate::turn::Length;
use crate::unary::{Answer, UnaryBody};
use p4info::proto::p4::v1 as pb;
use prost::Message;
use prost::bytes::Bytes;
use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Service, http};
use tonic::server::{Grpc, NamedService, ServerStreamingService, UnaryService};
use tonic::{Request, Response, Status};

/// Paths of the methods.
pub(crate) const WRITE: &str = "/p4.v1.P4Runtime/Write";
pub(crate) const READ: &str = "/p4.v1.P4Runtime/Read";
/// Names the compression of a request.
const ENCODING: &str = "grpc-encoding";
/// How long a request is tried again where it has arrived.
const WAIT_TIME: Duration = Duration::from_micros(200);
/// Answers to a read that wait to be sent.
const N_ANSWERS_MAX: usize = 4;

/// Answers the method Read, and passes on all other requests of the service.
pub(crate) struct EncodedService<D: Device, S> {
    pub(crate) shared: Arc<Shared<D>>,
    /// The service of all other methods.
    pub(crate) others: S,
    pub(crate) message_bytes_max: usize,
}

impl<D: Device, S: Clone> Clone for EncodedService<D, S> {
    fn clone(&self) -> EncodedService<D, S> {
        EncodedService { shared: Arc::clone(&self.shared), others: self.others.clone(), ..*self }
    }
}

impl<D: Device, S: NamedService> NamedService for EncodedService<D, S> {
    const NAME: &'static str = S::NAME;
}

impl<D, S> Service<http::Request<Body>> for EncodedService<D, S>
where
    D: Device,
    S: Service<
            http::Request<Body>,
            Response = http::Response<Body>,
            Error = Infallible,
            Future = BoxFuture<http::Response<Body>, Infallible>,
        >,
{
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<http::Response<Body>, Infallible>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.others.poll_ready(context)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let shared = Arc::clone(&self.shared);
        let bytes_max = self.message_bytes_max;
        match request.uri().path() {
            READ => {
                Box::pin(async move { Ok(grpc(bytes_max).server_streaming(Read(shared), request).await) })
            }
            _ => self.others.call(request),
        }
    }
}

/// Answers a request to write.
pub(crate) async fn write<D: Device>(
    shared: &Arc<Shared<D>>,
    request: http::Request<Body>,
    bytes_max: usize,
) -> Answer {
    let (head, body) = request.into_parts();
    let body = match head.headers.contains_key(ENCODING) {
        true => body,
        false => match UnaryBody::of(body, bytes_max).await {
            UnaryBody::Message(request) => {
                let answered = answer(Arc::clone(shared), request).await;
                return answered.map_or_else(|status| Answer::Full(status.into_http()), |()| Answer::Empty);
            }
            UnaryBody::Other(body) => body,
        },
    };
    let service = Write(Arc::clone(shared));
    Answer::Full(grpc(bytes_max).unary(service, http::Request::from_parts(head, body)).await)
}

fn grpc(bytes_max: usize) -> Grpc<RawCodec> {
    Grpc::new(RawCodec).apply_max_message_size_config(Some(bytes_max), None)
}

struct Write<D: Device>(Arc<Shared<D>>);

impl<D: Device> UnaryService<Bytes> for Write<D> {
    type Response = Bytes;
    type Future = BoxFuture<Response<Bytes>, Status>;

    fn call(&mut self, request: Request<Bytes>) -> Self::Future {
        let answered = answer(Arc::clone(&self.0), request.into_inner());
        // The response has no fields.
        Box::pin(async { answered.await.map(|()| Response::new(Bytes::new())) })
    }
}

async fn answer<D: Device>(shared: Arc<Shared<D>>, request: Bytes) -> Result<(), Status> {
    if let Some(done) = write_now(&shared, &request).await {
        return done;
    }
    let done = tokio::task::spawn_blocking(move || shared.write_bytes(&request)).await;
    done.unwrap_or_else(|_| Err(Status::internal("internal bug: the request has failed")))
}

/// Answers a request where it has arrived, unless it would have to wait for long. Others have the turn, or the switch, for a
/// moment only as a rule, and handing over a request and its answer takes two changes of threads.
async fn write_now<D: Device>(shared: &Shared<D>, request: &[u8]) -> Option<Result<(), Status>> {
    let wire = shared.scan_for_now(request)?;
    let begin = Instant::now();
    loop {
        let done = shared.try_write_wire(&wire);
        // Those that wait properly have their turn between the steps of long requests.
        if done.is_some() || Length::of(wire.updates.len()) == Length::Short || begin.elapsed() > WAIT_TIME {
            return done;
        }
        tokio::task::yield_now().await;
    }
}

struct Read<D: Device>(Arc<Shared<D>>);

impl<D: Device> ServerStreamingService<Bytes> for Read<D> {
    type Response = Bytes;
    type ResponseStream = ReceiverStream<Result<Bytes, Status>>;
    type Future = BoxFuture<Response<Self::ResponseStream>, Status>;

    fn call(&mut self, request: Request<Bytes>) -> Self::Future {
        let shared = Arc::clone(&self.0);
        Box::pin(async move {
            let bytes = request.into_inner();
            bounded::check::<pb::ReadRequest>(&bytes)?;
            let decoded = pb::ReadRequest::decode(bytes);
            let request =
                decoded.map_err(|error| Status::invalid_argument(format!("no `ReadRequest`: {error}")))?;
            Ok(Response::new(read(&shared, request)))
        })
    }
}

/// Answers a read in encoded `ReadResponse`s.
pub(crate) fn read<D: Device>(
    shared: &Arc<Shared<D>>,
    request: pb::ReadRequest,
) -> ReceiverStream<Result<Bytes, Status>> {
    let (sender, receiver) = mpsc::channel(N_ANSWERS_MAX);
    let reader = Arc::clone(shared);
    tokio::spawn(Arc::clone(&shared.readers).read(move |readers| {
        reader.read(&request, &mut |answer| readers.send(&sender, answer));
    }));
    ReceiverStream::new(receiver)
}
