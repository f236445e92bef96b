//! K. Digests and idle notices.

use crate::bench::*;

#[test]
fn k01_digests_reach_the_primary_and_are_acknowledged() {
    let (bench, p4info) = Bench::running();
    let (mut primary, mut backup) = (bench.controller(), bench.controller());
    primary.elect("", 1);
    backup.arbitrate("", Some(0));
    backup.notice();
    let digest_id = p4info.digests[0].preamble.as_ref().unwrap().id;
    let packet = |source: u8| [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, source, 8, 0];
    bench.device.receive(1, &packet(1));
    assert!(primary.hears_nothing(), "nobody has asked for them");
    let config =
        pb::digest_entry::Config { max_timeout_ns: 0, max_list_size: 1, ack_timeout_ns: 10_000_000_000 };
    let entry = pb::DigestEntry { digest_id, config: Some(config) };
    bench.write(vec![update(Type::Insert, Entity::DigestEntry(entry))]).unwrap();
    bench.device.receive(1, &packet(2));
    let Some(Update::Digest(list)) = primary.next().unwrap() else { panic!("a digest was expected") };
    assert_eq!((list.digest_id, list.list_id, list.data.len()), (digest_id, 1, 1));
    assert!(list.timestamp > 1_000_000_000_000_000_000, "nanoseconds since 1970");
    // Equal data is not sent again before it is acknowledged.
    bench.device.receive(1, &packet(2));
    assert!(primary.hears_nothing());
    let ack = |digest_id, list_id| Some(Request::DigestAck(pb::DigestListAck { digest_id, list_id }));
    primary.send(ack(digest_id, list.list_id));
    primary.send(ack(1, 1));
    assert_eq!(primary.stream_error().canonical_code, Code::InvalidArgument.number());
    bench.device.receive(1, &packet(2));
    let Some(Update::Digest(again)) = primary.next().unwrap() else { panic!("a digest was expected") };
    assert_eq!((again.list_id, again.data), (2, list.data));
    assert!(backup.hears_nothing());
}
