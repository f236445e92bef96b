//! A small program's P4Info.

use control::Schema;
use p4info::{Format, P4Info, decode_p4info};

pub const PROGRAM: &str = r#"
tables {
  preamble { id: 0x02000001 name: "I.acl" alias: "acl" }
  match_fields { id: 1 name: "hdr.eth.type" bitwidth: 16 match_type: EXACT }
  match_fields { id: 2 name: "hdr.ipv4.src" bitwidth: 32 match_type: TERNARY }
  action_refs { id: 0x01000001 }
  action_refs { id: 0x01000002 }
  size: 4
  idle_timeout_behavior: NOTIFY_CONTROL
}
tables {
  preamble { id: 0x02000002 name: "I.sub.l2" alias: "I.sub.l2" }
  match_fields { id: 1 name: "hdr.eth.dst" bitwidth: 48 match_type: EXACT }
  match_fields { id: 2 name: "meta.dst" bitwidth: 8 match_type: EXACT }
  action_refs { id: 0x01000001 }
}
tables {
  preamble { id: 0x02000003 name: "E.sub.l2" alias: "E.sub.l2" }
  match_fields { id: 1 name: "port" bitwidth: 9 match_type: EXACT }
  action_refs { id: 0x01000001 }
  is_const_table: true
}
actions {
  preamble { id: 0x01000001 name: "I.forward" alias: "forward" }
  params { id: 1 name: "port" bitwidth: 9 }
}
actions { preamble { id: 0x01000002 name: "NoAction" alias: "NoAction" } }
counters { preamble { id: 0x12000001 name: "I.hits" alias: "hits" } spec { unit: BOTH } size: 4 }
meters { preamble { id: 0x14000001 name: "I.rates" alias: "rates" } spec { unit: BYTES } size: 4 }
registers { preamble { id: 0x16000001 name: "I.cells" alias: "cells" } type_spec { bitstring { bit { bitwidth: 8 } } } size: 2 }
"#;

pub fn p4info(text: &str) -> P4Info {
    decode_p4info(text.as_bytes(), Format::Text).unwrap()
}

pub fn schema() -> Schema {
    Schema::new(&p4info(PROGRAM)).unwrap()
}
