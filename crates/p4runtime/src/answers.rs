//! Sizes of answers: responses that clients accept, and statuses that fit into a trailer.

use p4info::proto::google::rpc::Status;
use p4info::proto::p4::v1 as pb;
use prost::Message;
use prost::bytes::Bytes;
use prost::encoding::message::{encode, encoded_len};

/// Length in bytes of a `ReadResponse` at most, unless one entity alone is longer. Clients refuse 4 MiB by default.
pub const RESPONSE_BYTES_MAX: usize = 1 << 20;

/// Number of the field of a `ReadResponse`.
const ENTITIES: u32 = 1;

/// Length in bytes of a status at most by default. In the trailer it takes 4/3 of that, and clients accept 8 KiB there.
pub const STATUS_BYTES_MAX: usize = 6 * 1024;

/// Entities, in their order, as encoded `ReadResponse`s of at most [`RESPONSE_BYTES_MAX`] bytes.
#[derive(Debug, Default)]
pub struct Responses {
    /// The response that is being filled.
    bytes: Vec<u8>,
}

impl Responses {
    /// Adds an entity. Returns the response that has no room for it.
    pub fn add(&mut self, entity: &pb::Entity) -> Option<Bytes> {
        let full = self.make_room(encoded_len(ENTITIES, entity));
        encode(ENTITIES, entity, &mut self.bytes);
        full
    }

    /// Adds the entities of a response. Returns the response that has no room for them.
    pub fn add_response(&mut self, response: &[u8]) -> Option<Bytes> {
        let full = self.make_room(response.len());
        self.bytes.extend_from_slice(response);
        full
    }

    fn make_room(&mut self, n_bytes: usize) -> Option<Bytes> {
        if self.bytes.len() + n_bytes > RESPONSE_BYTES_MAX { self.take() } else { None }
    }

    /// Takes the response that is being filled; `None` if it is empty.
    pub fn take(&mut self) -> Option<Bytes> {
        (!self.bytes.is_empty()).then(|| std::mem::take(&mut self.bytes).into())
    }
}

/// Shortens the texts of a status, evenly, until it has at most `n_bytes_max` bytes. Codes stay, also when it is then still
/// too long: a controller needs all of them.
pub fn shortened(status: Status, n_bytes_max: usize) -> Status {
    if status.encoded_len() <= n_bytes_max {
        return status;
    }
    // A detail that is no error keeps its bytes.
    let errors: Vec<Option<pb::Error>> =
        status.details.iter().map(|detail| pb::Error::decode(&*detail.value).ok()).collect();
    let with_texts_of = |n_chars_max: usize| {
        let mut shorter = status.clone();
        for (detail, error) in shorter.details.iter_mut().zip(&errors) {
            let Some(error) = error else { continue };
            if error.message.chars().nth(n_chars_max).is_none() {
                continue;
            }
            let message = cut(&error.message, n_chars_max);
            detail.value = pb::Error { message, ..error.clone() }.encode_to_vec();
        }
        shorter
    };
    let longest = errors.iter().flatten().map(|error| error.message.chars().count()).max().unwrap_or(0);
    // The longest texts that fit, between none and all.
    let (mut fits, mut too_long) = (0, longest);
    while too_long - fits > 1 {
        let middle = fits + (too_long - fits) / 2;
        if with_texts_of(middle).encoded_len() <= n_bytes_max {
            fits = middle;
        } else {
            too_long = middle;
        }
    }
    with_texts_of(fits)
}

/// Returns the first characters of a longer text, the last of them an ellipsis.
fn cut(text: &str, n_chars_max: usize) -> String {
    let mut short: String = text.chars().take(n_chars_max.saturating_sub(1)).collect();
    if n_chars_max > 0 {
        short.push('…');
    }
    short
}
