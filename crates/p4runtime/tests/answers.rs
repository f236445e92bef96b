//! Sizes of answers.

use control::{Fault, Problem};
use p4info::proto::p4::v1 as pb;
use p4runtime::{RESPONSE_BYTES_MAX, Responses, STATUS_BYTES_MAX, shortened, status};
use prost::Message;

fn entity(n_bytes: usize) -> pb::Entity {
    let entry = pb::TableEntry { metadata: vec![7; n_bytes], ..pb::TableEntry::default() };
    pb::Entity { entity: Some(pb::entity::Entity::TableEntry(entry)) }
}

fn responses(entities: &[pb::Entity]) -> Vec<pb::ReadResponse> {
    let mut responses = Responses::default();
    let mut made: Vec<_> = entities.iter().filter_map(|entity| responses.add(entity)).collect();
    made.extend(responses.take());
    assert!(responses.take().is_none());
    made.iter().map(|response| pb::ReadResponse::decode(&**response).unwrap()).collect()
}

#[test]
fn e2_responses_are_as_long_as_clients_accept() {
    let entities: Vec<_> = (0..300).map(|i| entity(i * 37 % 60_000)).collect();
    let made = responses(&entities);
    assert!(made.len() > 1);
    for pair in made.windows(2) {
        assert!(pair[0].encoded_len() <= RESPONSE_BYTES_MAX);
        // No response ends before it has to.
        let mut longer = pair[0].clone();
        longer.entities.push(pair[1].entities[0].clone());
        assert!(longer.encoded_len() > RESPONSE_BYTES_MAX);
    }
    let together: Vec<_> = made.into_iter().flat_map(|response| response.entities).collect();
    assert_eq!(together, entities);
    assert_eq!(responses(&[]).len(), 0);
    // An entity that is longer than that goes alone.
    let of_long = responses(&[entity(1), entity(2 << 20), entity(1)]);
    let lengths: Vec<_> = of_long.iter().map(|response| response.entities.len()).collect();
    assert_eq!(lengths, [1, 1, 1]);
}

/// A response is ready as soon as the next entity has no room.
#[test]
fn e2_responses_are_made_while_they_are_sent() {
    let mut responses = Responses::default();
    let third = entity(RESPONSE_BYTES_MAX / 3);
    assert_eq!((responses.add(&third), responses.add(&third)), (None, None));
    let two = responses.add(&third).unwrap();
    assert_eq!(pb::ReadResponse::decode(&*two).unwrap().entities.len(), 2);
    // Responses that are made already go along.
    let few = pb::ReadResponse { entities: vec![entity(1), entity(2)] }.encode_to_vec();
    assert_eq!(responses.add_response(&few), None);
    assert_eq!(responses.add_response(&two).unwrap().len(), responses_len(&[third, entity(1), entity(2)]));
    assert_eq!(responses.take(), Some(two));
}

fn responses_len(entities: &[pb::Entity]) -> usize {
    pb::ReadResponse { entities: entities.to_vec() }.encoded_len()
}

fn errors(status: &p4info::proto::google::rpc::Status) -> Vec<pb::Error> {
    status.details.iter().map(|detail| pb::Error::decode(&*detail.value).unwrap()).collect()
}

#[test]
fn d2_long_statuses_are_shortened_and_keep_their_codes() {
    let fault = |n: usize| -> Result<(), Fault> {
        Err(Problem::DoesNotExist { what: format!("the entry {}", "é".repeat(n)) }.into())
    };
    let few = status(&[Ok(()), fault(3), Ok(())]).unwrap();
    assert_eq!(shortened(few.clone(), STATUS_BYTES_MAX), few);

    let results: Vec<_> = (0..60).map(|n| if n % 3 == 0 { Ok(()) } else { fault(n * 7) }).collect();
    let whole = status(&results).unwrap();
    assert!(whole.encoded_len() > STATUS_BYTES_MAX);
    let short = shortened(whole.clone(), STATUS_BYTES_MAX);
    assert!(short.encoded_len() <= STATUS_BYTES_MAX, "{}", short.encoded_len());
    assert!(short.encoded_len() > STATUS_BYTES_MAX * 3 / 4, "{}", short.encoded_len());
    let (errors_before, errors_after) = (errors(&whole), errors(&short));
    let codes = |errors: &[pb::Error]| errors.iter().map(|error| error.canonical_code).collect::<Vec<_>>();
    assert_eq!(codes(&errors_after), codes(&errors_before));
    // Short texts are whole; long ones end in an ellipsis.
    assert_eq!(errors_after[1], errors_before[1]);
    let last = &errors_after[59].message;
    assert!(last.starts_with("the entry é") && last.ends_with('…'), "{last}");
    assert!(errors_before[59].message.starts_with(last.trim_end_matches('…')));

    // Codes stay even when there is no room for them.
    let many = vec![fault(1); 1000];
    let short = shortened(status(&many).unwrap(), STATUS_BYTES_MAX);
    assert!(errors(&short).iter().all(|error| error.canonical_code == 5 && error.message.is_empty()));
    assert_eq!(short.details.len(), 1000);
}
