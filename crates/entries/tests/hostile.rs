//! Damaged files: read or refused, and never a panic.

use control::Schema;
use entries::Format;
use proptest::prelude::*;
use std::path::Path;
use std::sync::LazyLock;

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../stf/tests/resolve/program.p4info.txtpb");
    let text = std::fs::read(path).unwrap();
    Schema::new(&p4info::decode_p4info(&text, p4info::Format::Text).unwrap()).unwrap()
});

const SCRIPT: &str = "\
add ingress.mac hdr.eth.dst:0a:0b:0c:0d:0e:0f hdr.vlan.$valid$:1 hdr.stack[0].tag:5 forward(port:1, dst:1)
add route dst:10.1.0.0/16 forward(port:1, dst:0)
add ingress.acl 11 src:10.0.0.1&&&0xff0000ff port:80..90 vrf:5 drop()
setdefault mac forward(dst:1, port:2)
member_add selector 1 forward(port:1, dst:1)
group_add selector 1 1
add next_hop nh:1 group 1
register_write state 1 7
mc_mgrp_create 1
mc_node_create 5 1 2
mc_node_associate 1 0
mirroring_add 7 3
";

/// Files of all formats, with names and with ids.
static FILES: LazyLock<Vec<(Format, Vec<u8>)>> = LazyLock::new(|| {
    let updates = entries::read(Format::Script, "seed", SCRIPT.as_bytes(), &SCHEMA).unwrap().batch.updates;
    let write = |format, names| (format, entries::write(format, &updates, &SCHEMA, names).bytes);
    Format::ALL.into_iter().flat_map(|format| [write(format, false), write(format, true)]).collect()
});

/// One change of a text.
#[derive(Clone, Debug)]
enum Damage {
    Remove { at: usize, len: usize },
    Insert { at: usize, bytes: Vec<u8> },
    Replace { at: usize, byte: u8 },
    Copy { from: usize, len: usize, to: usize },
}

fn damage() -> impl Strategy<Value = Damage> {
    let place = 0usize..4000;
    let words: Vec<&str> = vec![
        "{",
        "}",
        "\"",
        ":",
        "=>",
        "->",
        "&&&",
        "/",
        "..",
        "*",
        "-1",
        "0x",
        "99999999999999999999",
        "\\",
        "\n",
        "::",
        ".",
        "[",
        "]",
        "table_add",
        "add",
        "null",
        "_",
        "\u{feff}",
        "\u{0}",
        "0x**",
        "true",
    ];
    prop_oneof![
        (place.clone(), 1usize..40).prop_map(|(at, len)| Damage::Remove { at, len }),
        (place.clone(), prop::sample::select(words))
            .prop_map(|(at, word)| Damage::Insert { at, bytes: word.as_bytes().to_vec() }),
        (place.clone(), prop::collection::vec(any::<u8>(), 1..8))
            .prop_map(|(at, bytes)| Damage::Insert { at, bytes }),
        (place.clone(), any::<u8>()).prop_map(|(at, byte)| Damage::Replace { at, byte }),
        (place.clone(), 1usize..80, place).prop_map(|(from, len, to)| Damage::Copy { from, len, to }),
    ]
}

fn damaged(mut bytes: Vec<u8>, damages: &[Damage]) -> Vec<u8> {
    for damage in damages {
        let n = bytes.len().max(1);
        match damage {
            Damage::Remove { at, len } => {
                let at = at % n;
                bytes.drain(at.min(bytes.len())..(at + len).min(bytes.len()));
            }
            Damage::Insert { at, bytes: new } => {
                let at = (at % n).min(bytes.len());
                bytes.splice(at..at, new.iter().copied());
            }
            Damage::Replace { at, byte } => {
                if let Some(found) = bytes.get_mut(at % n) {
                    *found = *byte;
                }
            }
            Damage::Copy { from, len, to } => {
                let from = (from % n).min(bytes.len());
                let part = bytes[from..(from + len).min(bytes.len())].to_vec();
                let to = (to % n).min(bytes.len());
                bytes.splice(to..to, part);
            }
        }
    }
    bytes
}

/// Reads a file; one that is understood is written and read again in every format.
fn judge(format: Format, bytes: &[u8]) {
    let style = diagnostics::render::Style::default();
    match entries::read(format, "file", bytes, &SCHEMA) {
        Ok(read) => {
            let _ = read.messages.render(style);
            for to in Format::ALL {
                let written = entries::write(to, &read.batch.updates, &SCHEMA, true);
                let again = entries::read(to, "again", &written.bytes, &SCHEMA);
                // Where nothing is left out, what is written is right.
                if let (Err(messages), true) = (again, written.left_out.is_empty()) {
                    let text = String::from_utf8_lossy(&written.bytes).into_owned();
                    panic!(
                        "{to:?}: {}\n{text}\nof\n{}",
                        messages.render(style),
                        String::from_utf8_lossy(bytes)
                    );
                }
            }
        }
        Err(messages) => {
            assert!(messages.has_errors());
            assert!(!messages.render(style).is_empty());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_files_are_read_or_refused(
        file in 0usize..12,
        damages in prop::collection::vec(damage(), 1..6),
        other in 0usize..6,
    ) {
        let (format, bytes) = &FILES[file % FILES.len()];
        let bytes = damaged(bytes.clone(), &damages);
        judge(*format, &bytes);
        // In the format of another file, too.
        judge(Format::ALL[other], &bytes);
        if let Ok(format) = entries::detect("file", &bytes) {
            judge(format, &bytes);
        }
    }
}
