//! The message of a request without a copy, and an answer without fields.

use http_body::Frame;
use http_body_util::{BodyExt, BodyStream, StreamBody};
use prost::bytes::{BufMut, Bytes, BytesMut};
use tokio_stream::StreamExt;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::http::{HeaderMap, HeaderName, HeaderValue, Response, header};

/// A message begins with a flag, 1 if it is compressed, and its length (gRPC over HTTP/2, "Length-Prefixed-Message").
const HEAD_BYTES: usize = 5;
pub(crate) const CONTENT_TYPE: HeaderValue = HeaderValue::from_static("application/grpc");
const STATUS: HeaderName = HeaderName::from_static("grpc-status");

/// The body of a request.
pub(crate) enum UnaryBody {
    /// The only message, which has arrived in one frame.
    Message(Bytes),
    /// A body that has yet to be looked at.
    Other(Body),
}

impl UnaryBody {
    /// Waits for the end of a body, and returns its message if it came in one frame, as those of clients do that send frames as
    /// large as the server takes. tonic reads everything else, and says what is wrong with it.
    pub(crate) async fn of(mut body: Body, bytes_max: usize) -> UnaryBody {
        let first = match body.frame().await {
            Some(Ok(frame)) => frame,
            other => return UnaryBody::other(Vec::from_iter(other), body),
        };
        let Some(message) = first.data_ref().and_then(|frame| whole(frame, bytes_max)) else {
            return UnaryBody::other(vec![Ok(first)], body);
        };
        match before_end(&mut body).await {
            None => UnaryBody::Message(message),
            Some(second) => UnaryBody::other(vec![Ok(first), second], body),
        }
    }

    fn other(frames: Vec<Result<Frame<Bytes>, Status>>, rest: Body) -> UnaryBody {
        let frames = tokio_stream::iter(frames).chain(BodyStream::new(rest));
        UnaryBody::Other(Body::new(StreamBody::new(frames)))
    }
}

/// The message in a frame, if the frame has all of it and nothing else, and it is not compressed.
fn whole(frame: &Bytes, bytes_max: usize) -> Option<Bytes> {
    let ([flag, length @ ..], message) = frame.split_first_chunk::<HEAD_BYTES>()?;
    let is_whole = *flag == 0 && u32::from_be_bytes(*length) as usize == message.len();
    (is_whole && message.len() <= bytes_max).then(|| frame.slice(HEAD_BYTES..))
}

/// Waits for the end of a body, and returns what comes before it.
async fn before_end(body: &mut Body) -> Option<Result<Frame<Bytes>, Status>> {
    loop {
        match body.frame().await {
            // The end of a stream comes in an empty frame.
            Some(Ok(frame)) if frame.data_ref().is_some_and(Bytes::is_empty) => {}
            other => return other,
        }
    }
}

/// A message with its head, not compressed.
pub(crate) fn framed(message: &[u8]) -> Bytes {
    let mut frame = BytesMut::with_capacity(HEAD_BYTES + message.len());
    frame.put_u8(0);
    frame.put_u32(message.len() as u32);
    frame.put(message);
    frame.freeze()
}

/// An answer to a request.
pub(crate) enum Answer {
    /// To a request that went well, with a message without fields.
    Empty,
    Full(Response<Body>),
}

/// [`Answer::Empty`]: headers, message, trailers.
pub(crate) fn empty_answer() -> (Response<()>, Bytes, HeaderMap) {
    let mut head = Response::new(());
    head.headers_mut().insert(header::CONTENT_TYPE, CONTENT_TYPE);
    let trailers = HeaderMap::from_iter([(STATUS, HeaderValue::from_static("0"))]);
    (head, Bytes::from_static(&[0; HEAD_BYTES]), trailers)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES_MAX: usize = 8;

    fn body(frames: &[&'static [u8]]) -> Body {
        let frames: Vec<_> = frames.iter().map(|bytes| Frame::data(Bytes::from_static(bytes))).collect();
        Body::new(StreamBody::new(tokio_stream::iter(frames.into_iter().map(Ok::<_, Status>))))
    }

    fn looked_at(body: Body) -> UnaryBody {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(UnaryBody::of(body, BYTES_MAX))
    }

    fn collected(body: Body) -> Vec<u8> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(body.collect()).unwrap().to_bytes().to_vec()
    }

    #[test]
    fn a_message_in_one_frame_is_taken() {
        for (frames, expected) in [
            (&[&[0, 0, 0, 0, 3, 7, 8, 9][..]][..], &[7, 8, 9][..]),
            (&[&[0, 0, 0, 0, 3, 7, 8, 9], &[], &[]], &[7, 8, 9]),
            (&[&[0, 0, 0, 0, 0], &[]], &[]),
        ] {
            let UnaryBody::Message(message) = looked_at(body(frames)) else { panic!("{frames:?}") };
            assert_eq!(message, expected);
        }
    }

    #[test]
    fn every_other_body_is_left_as_it_is() {
        for frames in [
            &[][..],
            &[&[][..]],
            &[&[0, 0, 0, 0]],
            // In two frames; of two messages; of a message and a half.
            &[&[0, 0, 0, 0, 3, 7], &[8, 9]],
            &[&[0, 0, 0, 0, 1, 7, 0, 0, 0, 0, 1, 7]],
            &[&[0, 0, 0, 0, 1, 7], &[0, 0, 0, 0, 1, 7]],
            &[&[0, 0, 0, 0, 1, 7, 0]],
            // Compressed; cut; too long.
            &[&[1, 0, 0, 0, 1, 7]],
            &[&[0, 0, 0, 0, 3, 7]],
            &[&[0, 0, 0, 0, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9]],
            &[&[0, 255, 255, 255, 255, 1]],
        ] {
            let UnaryBody::Other(other) = looked_at(body(frames)) else { panic!("{frames:?}") };
            assert_eq!(collected(other), frames.concat(), "{frames:?}");
        }
    }

    #[test]
    fn trailers_of_a_request_are_kept() {
        let trailers = HeaderMap::from_iter([(HeaderName::from_static("x"), HeaderValue::from_static("y"))]);
        let message = Bytes::from_static(&[0, 0, 0, 0, 1, 7]);
        let frames = [Ok::<_, Status>(Frame::data(message.clone())), Ok(Frame::trailers(trailers.clone()))];
        let body = Body::new(StreamBody::new(tokio_stream::iter(frames)));
        let UnaryBody::Other(other) = looked_at(body) else { panic!("trailers are lost") };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let collected = runtime.block_on(other.collect()).unwrap();
        assert_eq!(collected.trailers(), Some(&trailers));
        assert_eq!(collected.to_bytes(), message);
    }
}
