//! The method Write, whose requests are not decoded before they are answered.

use crate::device::Device;
use crate::raw::RawCodec;
use crate::shared::Shared;
use prost::bytes::Bytes;
use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Service, http};
use tonic::server::{Grpc, NamedService, UnaryService};
use tonic::{Request, Response, Status};

/// The path of the method.
pub(crate) const PATH: &str = "/p4.v1.P4Runtime/Write";

/// Answers Write, and passes on all other requests of the service.
pub(crate) struct WriteService<D: Device, S> {
    pub(crate) shared: Arc<Shared<D>>,
    /// The service of all other methods.
    pub(crate) others: S,
    pub(crate) message_bytes_max: usize,
}

impl<D: Device, S: Clone> Clone for WriteService<D, S> {
    fn clone(&self) -> WriteService<D, S> {
        WriteService { shared: Arc::clone(&self.shared), others: self.others.clone(), ..*self }
    }
}

impl<D: Device, S: NamedService> NamedService for WriteService<D, S> {
    const NAME: &'static str = S::NAME;
}

impl<D, S> Service<http::Request<Body>> for WriteService<D, S>
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
        if request.uri().path() != PATH {
            return self.others.call(request);
        }
        let method = Write(Arc::clone(&self.shared));
        let bytes_max = self.message_bytes_max;
        Box::pin(async move {
            let mut grpc = Grpc::new(RawCodec).apply_max_message_size_config(Some(bytes_max), None);
            Ok(grpc.unary(method, request).await)
        })
    }
}

struct Write<D: Device>(Arc<Shared<D>>);

impl<D: Device> UnaryService<Bytes> for Write<D> {
    type Response = Bytes;
    type Future = BoxFuture<Response<Bytes>, Status>;

    fn call(&mut self, request: Request<Bytes>) -> Self::Future {
        let shared = Arc::clone(&self.0);
        Box::pin(async move {
            let request = request.into_inner();
            if let Some(done) = shared.try_write_bytes(&request) {
                return done.map(|()| Response::new(Bytes::new()));
            }
            let done = tokio::task::spawn_blocking(move || shared.write_bytes(&request)).await;
            // The response has no fields.
            done.unwrap_or_else(|_| Err(Status::internal("internal bug: the request has failed")))
                .map(|()| Response::new(Bytes::new()))
        })
    }
}
