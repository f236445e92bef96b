//! Architectures without queues.

use super::{inject, switch};
use interp::traffic::reason;

#[test]
fn a_filter_accepts_packets_as_they_are() {
    let mut switch = switch("filter_ebpf.p4");
    assert_eq!(inject(&mut switch, 2, &[1, 2, 3]), [(2, vec![1, 2, 3])]);
    assert!(inject(&mut switch, 2, &[0, 2, 3]).is_empty());
    assert!(inject(&mut switch, 2, &[1]).is_empty());
    assert_eq!(switch.totals().n_dropped_for(reason::INGRESS_DROP), 1);
    assert_eq!(switch.totals().n_dropped_for(reason::PARSER_REJECTED), 1);
    let counter = switch.program().objects.iter().find(|(_, o)| o.type_name == "CounterArray");
    let id = counter.unwrap().0;
    let counts: Vec<u64> =
        (0..3).map(|i| switch.runner.externs.counters(id).unwrap().get(i).unwrap().n_packets).collect();
    assert_eq!(counts, [1, 1, 5]);
}

#[test]
fn a_user_space_filter_names_what_becomes_of_packets() {
    let mut switch = switch("pass_ubpf.p4");
    // Whatever happens, the packet gets a byte less.
    assert_eq!(inject(&mut switch, 2, &[0, 9, 1, 2]), [(2, vec![9, 1, 2])]);
    assert!(inject(&mut switch, 2, &[1, 9, 1, 2]).is_empty());
    assert_eq!(inject(&mut switch, 2, &[2, 9, 1, 2]), [(2, vec![9, 1, 2])]);
    assert_eq!(inject(&mut switch, 2, &[3, 9, 1, 2]), [(9, vec![9, 1, 2])]);
    assert!(inject(&mut switch, 2, &[4, 9, 1, 2]).is_empty());
    assert!(inject(&mut switch, 2, &[5, 9, 1, 2]).is_empty());
    let long: Vec<u8> = [6].into_iter().chain(0..40).collect();
    assert_eq!(inject(&mut switch, 2, &long), [(2, (0..14).collect())]);
    assert_eq!(switch.totals().n_dropped_for(reason::INGRESS_DROP), 2);
    assert_eq!(switch.totals().n_dropped_for(reason::ABORTED), 1);
    // What the parser rejects passes as it came.
    assert_eq!(inject(&mut switch, 2, &[7]), [(2, vec![7])]);
}

#[test]
fn an_xdp_program_names_what_becomes_of_packets() {
    let mut switch = switch("switch_xdp.p4");
    assert!(inject(&mut switch, 2, &[0, 7]).is_empty());
    assert!(inject(&mut switch, 2, &[1, 7]).is_empty());
    assert_eq!(inject(&mut switch, 2, &[2, 7, 8]), [(2, vec![2, 2, 8])]);
    assert_eq!(inject(&mut switch, 2, &[3, 7, 8]), [(2, vec![3, 2, 8])]);
    assert_eq!(inject(&mut switch, 2, &[4, 7, 8]), [(7, vec![4, 2, 8])]);
    assert!(inject(&mut switch, 2, &[4]).is_empty());
    assert_eq!(switch.totals().n_dropped_for(reason::ABORTED), 1);
    assert_eq!(switch.totals().n_dropped_for(reason::INGRESS_DROP), 1);
    assert_eq!(switch.totals().n_dropped_for(reason::PARSER_REJECTED), 1);
}
