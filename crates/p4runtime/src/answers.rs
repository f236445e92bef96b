//! Sizes of answers: responses that clients accept, and statuses that fit into a trailer.

use p4info::proto::google::rpc::Status;
use p4info::proto::p4::v1 as pb;
use prost::Message;

/// Length in bytes of a `ReadResponse` at most, unless one entity alone is longer. Clients refuse 4 MiB by default.
pub const RESPONSE_BYTES_MAX: usize = 1 << 20;

/// Length in bytes of a status at most by default. In the trailer it takes 4/3 of that, and clients accept 8 KiB there.
pub const STATUS_BYTES_MAX: usize = 6 * 1024;

/// Puts entities into responses of at most [`RESPONSE_BYTES_MAX`] bytes, in their order. A response is made when it is asked
/// for.
pub fn read_responses(
    entities: impl IntoIterator<Item = pb::Entity>,
) -> impl Iterator<Item = pb::ReadResponse> {
    let mut entities = entities.into_iter().peekable();
    std::iter::from_fn(move || {
        let first = entities.next()?;
        let mut n_bytes = field_len(&first);
        let mut response = pb::ReadResponse { entities: vec![first] };
        while let Some(next) = entities.next_if(|next| n_bytes + field_len(next) <= RESPONSE_BYTES_MAX) {
            n_bytes += field_len(&next);
            response.entities.push(next);
        }
        Some(response)
    })
}

/// Returns the length of a message as a field with a small number.
fn field_len(message: &impl Message) -> usize {
    let n_bytes = message.encoded_len();
    1 + prost::length_delimiter_len(n_bytes) + n_bytes
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
