//! Messages of gRPC whose lists are counted before they are decoded.

use p4info::proto::p4::v1 as p4;
use p4info::proto::siding::bulk::v1 as bulk;
use p4runtime::Bounded;
use prost::Message;
use prost::bytes::Buf;
use std::marker::PhantomData;
use tonic::Status;
use tonic::codec::{Codec, DecodeBuf, Decoder};
use tonic_prost::ProstCodec;

/// The codec of all messages: encodes `T`, decodes `U`.
#[derive(Clone, Debug)]
pub struct BoundedCodec<T, U>(PhantomData<(T, U)>);

impl<T, U> Default for BoundedCodec<T, U> {
    fn default() -> BoundedCodec<T, U> {
        BoundedCodec(PhantomData)
    }
}

/// A message that this codec decodes.
pub trait Decoded: Message + Default + Send + 'static {
    /// Fails if a message takes too much memory when it is decoded.
    fn check(_bytes: &[u8]) -> Result<(), Status> {
        Ok(())
    }
}

/// Fails if the lists of a message have too many elements.
pub(crate) fn check<M: Bounded>(bytes: &[u8]) -> Result<(), Status> {
    p4runtime::check_bounds::<M>(bytes).map_err(|error| Status::invalid_argument(error.to_string()))
}

macro_rules! bounded {
    ($($message:ty),*) => { $(impl Decoded for $message {
        fn check(bytes: &[u8]) -> Result<(), Status> {
            check::<$message>(bytes)
        }
    })* };
}

/// Answers, and messages without lists of messages.
macro_rules! unbounded {
    ($($message:ty),*) => { $(impl Decoded for $message {})* };
}

bounded!(
    p4::WriteRequest,
    p4::ReadRequest,
    p4::SetForwardingPipelineConfigRequest,
    p4::StreamMessageRequest,
    bulk::Chunk
);
unbounded!(
    p4::GetForwardingPipelineConfigRequest,
    p4::CapabilitiesRequest,
    p4::WriteResponse,
    p4::ReadResponse,
    p4::SetForwardingPipelineConfigResponse,
    p4::GetForwardingPipelineConfigResponse,
    p4::StreamMessageResponse,
    p4::CapabilitiesResponse,
    bulk::LayoutRequest,
    bulk::LayoutResponse,
    bulk::ReadRequest,
    bulk::Done
);

impl<T: Message + Send + 'static, U: Decoded> Codec for BoundedCodec<T, U> {
    type Encode = T;
    type Decode = U;
    type Encoder = <ProstCodec<T, U> as Codec>::Encoder;
    type Decoder = BoundedDecoder<U>;

    fn encoder(&mut self) -> Self::Encoder {
        ProstCodec::<T, U>::default().encoder()
    }

    fn decoder(&mut self) -> BoundedDecoder<U> {
        BoundedDecoder(PhantomData)
    }
}

#[derive(Clone, Debug)]
pub struct BoundedDecoder<U>(PhantomData<U>);

impl<U: Decoded> Decoder for BoundedDecoder<U> {
    type Item = U;
    type Error = Status;

    fn decode(&mut self, bytes: &mut DecodeBuf<'_>) -> Result<Option<U>, Status> {
        // A message lies in one piece.
        debug_assert_eq!(bytes.chunk().len(), bytes.remaining());
        U::check(bytes.chunk())?;
        U::decode(bytes).map(Some).map_err(|error| Status::internal(error.to_string()))
    }
}
