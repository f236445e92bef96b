//! Programs that are measured to find the cycles of components: each has more of some of them than others.

use crate::scenes::{Random, Scene};
use std::fmt::Write;

/// A program with entries and packets.
pub(super) struct Micro {
    pub(super) name: String,
    pub(super) text: String,
    pub(super) scene: Scene,
}

/// Packets of a program whose tables lie in the caches near the core.
const N_HOT: u32 = 2048;
/// Packets that spread over large tables.
const N_COLD: u32 = 1 << 16;
const PACKET_BYTES: usize = 128;
/// Bytes behind the Ethernet header: a word for each header of the chain.
const WORD_BYTES: usize = 16;
const N_WORDS: usize = 6;

/// Parts of a program; all have an Ethernet header and forward by what they are told.
#[derive(Clone, Default)]
struct Parts {
    /// Headers of the chain that are parsed, at most [`N_WORDS`].
    n_words: usize,
    /// Declarations, tables and actions of ingress.
    declarations: String,
    apply: String,
    /// The update of a checksum.
    compute: String,
    entries: String,
    /// Headers that ingress adds are emitted first.
    emits_first: String,
    n_packets: Option<u32>,
}

impl Parts {
    fn micro(&self, name: impl Into<String>) -> Micro {
        Micro { name: name.into(), text: self.text(), scene: self.scene() }
    }

    fn text(&self) -> String {
        let mut states = String::new();
        for i in 0..self.n_words {
            let next = if i + 1 < self.n_words { format!("word{}", i + 1) } else { "accept".to_string() };
            let _ = writeln!(
                states,
                "    state word{i} {{ packet.extract(h.word[{i}]); transition select(h.word[{i}].next) {{ {i}: {next}; default: accept; }} }}"
            );
        }
        let first = if self.n_words > 0 { "word0" } else { "accept" };
        let emits: String = (0..self.n_words).map(|i| format!(" packet.emit(h.word[{i}]);")).collect();
        format!(
            "#include <core.p4>\n#include <v1model.p4>\n\
             header Ethernet {{ bit<48> destination; bit<48> source; bit<16> ether_type; }}\n\
             header Word {{ bit<16> next; bit<16> a; bit<32> b; bit<32> c; bit<32> d; }}\n\
             header Tag {{ bit<64> x; }}\n\
             header Label {{ bit<32> x; }}\n\
             header Ip {{ bit<4> version; bit<4> ihl; bit<8> tos; bit<16> len; bit<16> id; bit<16> frag; bit<8> ttl; bit<8> protocol; bit<16> checksum; bit<32> source; bit<32> destination; }}\n\
             struct Headers {{ Tag tag; Label label; Ethernet ethernet; Word[{N_WORDS}] word; Ip ip; }}\n\
             struct Metadata {{ bit<32> x; bit<32> y; bit<16> z; bit<128> wide; }}\n\
             parser P(packet_in packet, out Headers h, inout Metadata m, inout standard_metadata_t s) {{\n\
             \x20   state start {{ packet.extract(h.ethernet); transition select(h.ethernet.ether_type) {{ 0x88b5: {first}; default: accept; }} }}\n\
             {states}}}\n\
             control V(inout Headers h, inout Metadata m) {{ apply {{ }} }}\n\
             control I(inout Headers h, inout Metadata m, inout standard_metadata_t s) {{\n{}    apply {{ s.egress_spec = 1; {} }}\n}}\n\
             control E(inout Headers h, inout Metadata m, inout standard_metadata_t s) {{ apply {{ }} }}\n\
             control C(inout Headers h, inout Metadata m) {{ apply {{ {} }} }}\n\
             control D(packet_out packet, in Headers h) {{ apply {{ {} packet.emit(h.ethernet);{emits} }} }}\n\
             V1Switch(P(), V(), I(), E(), C(), D()) main;\n",
            self.declarations, self.apply, self.compute, self.emits_first
        )
    }

    fn scene(&self) -> Scene {
        let mut random = Random::new(7);
        let packets = (0..self.n_packets.unwrap_or(N_HOT)).map(|_| {
            let mut packet = vec![0; PACKET_BYTES];
            // Addresses and fields are random: tables have keys of few bits of them.
            packet.iter_mut().for_each(|byte| *byte = random.below(256) as u8);
            packet[12..14].copy_from_slice(&[0x88, 0xb5]);
            for i in 0..N_WORDS {
                let at = 14 + i * WORD_BYTES;
                packet[at..at + 2].copy_from_slice(&(i as u16).to_be_bytes());
            }
            (random.below(8), packet)
        });
        Scene { packets: packets.collect(), entries: self.entries.clone() }
    }
}

/// Kinds of keys, with their fields in the packet.
const EXACT_KEYS: [(&str, &str); 3] = [
    ("4", "h.word[0].b"),
    ("8", "h.word[0].b ++ h.word[0].c"),
    ("16", "h.word[0].b ++ h.word[0].c ++ h.word[0].d ++ h.word[1].b"),
];

/// Bytes of action data of the curve.
pub(super) const CURVE_DATA_BYTES: u32 = 64;
pub(super) const CURVE_KEY_BYTES: u32 = 16;

/// One exact table with keys and data as published, over its number of entries; all packets hit.
pub(super) fn curve(is_quick: bool) -> Vec<(u32, Micro)> {
    let last = if is_quick { 16 } else { 20 };
    (6..=last).map(|n_bits| 1_u32 << n_bits).map(|n| (n, curve_point(n))).collect()
}

fn curve_point(n: u32) -> Micro {
    let n_bits = n.trailing_zeros();
    let declarations = format!(
        "    action use(bit<512> data) {{ m.x = data[31:0]; s.egress_spec = data[40:32]; }}\n\
         \x20   bit<128> key = 0;\n\
         \x20   table t {{ key = {{ key: exact @name(\"k\"); }} actions = {{ use; }} size = {}; }}\n",
        n.max(1024)
    );
    let entries: String = (0..n).map(|i| format!("add I.t k:{i} I.use(data:{})\n", i % 7)).collect();
    let apply = format!("key = 96w0 ++ (h.word[0].b & {}); t.apply(); h.word[1].d = m.x;", n - 1);
    let base = Parts { n_words: 2, n_packets: Some(n.clamp(N_HOT, N_COLD)), ..Parts::default() };
    Parts { declarations, apply, entries, ..base }.micro(format!("curve, 2^{n_bits} entries"))
}

/// All programs; `is_quick` leaves out sizes in between and the largest tables.
pub(super) fn all(is_quick: bool) -> Vec<Micro> {
    let mut all = vec![Parts::default().micro("nothing")];
    for n_words in [1, 2, 4, 6] {
        all.push(Parts { n_words, ..Parts::default() }.micro(format!("parse {n_words}")));
    }
    let with_word = Parts { n_words: 2, ..Parts::default() };
    for n in [4, 12, 32] {
        all.push(operations(&with_word, n, false));
        all.push(operations(&with_word, n, true));
    }
    for n in [4, 12] {
        all.push(wide(&with_word, n));
        all.push(branches(&with_word, n, true));
        all.push(branches(&with_word, n, false));
        all.push(stores(&with_word, n));
    }
    all.extend(headers(&with_word));
    for n in [2, 6] {
        all.push(checksum(&with_word, n));
    }
    for n in [1, 2, 4] {
        all.push(direct(&with_word, n));
        all.push(registers(&with_word, n));
        all.push(counters(&with_word, n));
    }
    all.push(meter(&with_word));
    all.extend([4, 8].map(|n| hashes(&with_word, n)));
    for n_tables in [1, 2, 4] {
        all.push(exact(&with_word, 0, n_tables, 256, N_HOT, 1));
    }
    for key in 0..EXACT_KEYS.len() {
        all.push(exact(&with_word, key, 2, 256, N_HOT, 1));
    }
    all.push(exact(&with_word, 0, 2, 256, N_HOT, 4));
    all.push(exact(&with_word, 0, 4, 256, N_HOT, 4));
    let sizes: &[u32] =
        if is_quick { &[4096, 65_536] } else { &[1024, 4096, 16_384, 65_536, 262_144, 1 << 20] };
    for size in sizes {
        all.push(exact(&with_word, 0, 1, *size, N_COLD, 1));
        all.push(exact(&with_word, 1, 2, *size, N_COLD, 1));
    }
    for (n_tables, size, n_packets) in [(1, 64, N_HOT), (2, 64, N_HOT), (1, 4096, N_HOT), (1, 16_384, N_COLD)]
    {
        all.push(prefixes(&with_word, n_tables, size, n_packets));
    }
    for (size, key_bits) in [(64, 32), (1024, 32), (64, 128), (1024, 128)] {
        all.push(deep_prefixes(&with_word, size, key_bits));
    }
    for (n_masks, size) in [(1, 64), (4, 64), (8, 256), (2, 512)] {
        all.push(masks(&with_word, n_masks, size));
    }
    all
}

fn operations(base: &Parts, n: usize, depends: bool) -> Micro {
    let ops = ["+", "^", "&", "|", "-"];
    let apply = (0..n).map(|i| {
        let op = ops[i % ops.len()];
        match (depends, i % 3) {
            (true, _) => format!("m.x = (m.x {op} h.word[{}].b) + {i}; ", i % 2),
            (false, 0) => format!("h.word[0].b = h.word[0].b {op} {}; ", i + 3),
            (false, 1) => format!("h.word[1].c = h.word[1].c {op} {}; ", i + 3),
            (false, _) => format!("h.word[1].a = h.word[1].a {op} {}; ", i + 3),
        }
    });
    let last = if depends { "h.word[0].b = m.x;" } else { "" };
    let apply = apply.collect::<String>() + last;
    Parts { apply, ..base.clone() }
        .micro(format!("{n} {} operations", if depends { "dependent" } else { "free" }))
}

fn wide(base: &Parts, n: usize) -> Micro {
    let apply: String = (0..n)
        .map(|i| {
            format!(
                "m.wide = (m.wide ^ (h.word[0].b ++ h.word[0].c ++ h.word[{}].d ++ h.word[1].b)) + {i}; ",
                i % 2
            )
        })
        .collect();
    let apply = apply + "h.word[0].c = m.wide[95:64];";
    Parts { apply, ..base.clone() }.micro(format!("{n} wide operations"))
}

/// Branches on random bits, or on what is always the same.
fn branches(base: &Parts, n: usize, is_random: bool) -> Micro {
    let apply: String = (0..n)
        .map(|i| match is_random {
            true => {
                format!("if (h.word[0].b[{i}:{i}] == 1) {{ m.x = m.x + {}; h.word[1].a = {i}; }} ", i + 1)
            }
            false => format!("if (h.word[0].next == {i}) {{ m.x = m.x + {}; h.word[1].a = {i}; }} ", i + 1),
        })
        .collect();
    let apply = apply + "h.word[1].c = m.x;";
    Parts { apply, ..base.clone() }
        .micro(format!("{n} {} branches", if is_random { "random" } else { "certain" }))
}

fn stores(base: &Parts, n: usize) -> Micro {
    let fields = ["a", "b", "c", "d"];
    let apply: String = (0..n)
        .map(|i| format!("h.word[{}].{} = {}; ", i / 4 % 2, fields[i % 4], 100 + i))
        .collect::<String>()
        + "h.ethernet.source = h.ethernet.destination;";
    Parts { apply, ..base.clone() }.micro(format!("{n} stores"))
}

fn headers(base: &Parts) -> Vec<Micro> {
    let of = |name: &str, apply: &str, emits_first: &str| {
        Parts { apply: apply.into(), emits_first: emits_first.into(), ..base.clone() }.micro(name)
    };
    let tag = "h.tag.setValid(); h.tag.x = 5;";
    let label = "h.label.setValid(); h.label.x = 7;";
    vec![
        of("add a header", tag, "packet.emit(h.tag);"),
        of("add two headers", &format!("{tag} {label}"), "packet.emit(h.tag); packet.emit(h.label);"),
        of("remove a header", "h.word[0].setInvalid();", ""),
        of("remove two headers", "h.word[0].setInvalid(); h.word[1].setInvalid();", ""),
    ]
}

fn checksum(base: &Parts, n: usize) -> Micro {
    let fields: Vec<String> =
        (0..n).map(|i| format!("h.word[{}].{}", i / 3 % 2, ["b", "c", "d"][i % 3])).collect();
    let compute =
        format!("update_checksum(true, {{ {} }}, h.word[0].a, HashAlgorithm.csum16);", fields.join(", "));
    Parts { compute, ..base.clone() }.micro(format!("checksum of {} words", 2 * n))
}

const FORWARD: &str = "    action forward(bit<9> port) { s.egress_spec = port; }\n";

fn direct(base: &Parts, n: usize) -> Micro {
    let (mut declarations, mut apply, mut entries) = (FORWARD.to_string(), String::new(), String::new());
    for i in 0..n {
        let key = format!("h.word[{}].a", i % 2);
        let _ = writeln!(
            declarations,
            "    table t{i} {{ key = {{ ({key})[{}:{}]: exact @name(\"k\"); }} actions = {{ forward; }} size = 256; default_action = forward(2); }}",
            7 + i,
            i
        );
        apply += &format!("t{i}.apply(); ");
        for key in 0..256 {
            let _ = writeln!(entries, "add I.t{i} k:{key} I.forward(port:{})", key % 7);
        }
    }
    Parts { declarations, apply, entries, ..base.clone() }.micro(format!("{n} direct tables"))
}

fn exact(base: &Parts, key: usize, n_tables: usize, size: u32, n_packets: u32, n_actions: usize) -> Micro {
    let (bytes, fields) = EXACT_KEYS[key];
    let n_bits = size.trailing_zeros();
    let (mut declarations, mut apply, mut entries) = (String::new(), String::new(), String::new());
    for i in 0..n_actions {
        let _ = writeln!(
            declarations,
            "    action go{i}(bit<9> port) {{ s.egress_spec = port; m.x = m.x + {i}; }}"
        );
    }
    // Keys have few random bits, so that all packets hit.
    let masked = match key {
        0 => format!("{fields} & {}", size - 1),
        1 => format!("({fields}) & 64w{}", size - 1),
        _ => format!("({fields}) & 128w{}", size - 1),
    };
    let width = [32, 64, 128][key];
    for i in 0..n_tables {
        let actions: String = (0..n_actions).map(|a| format!("go{a}; ")).collect();
        let _ = writeln!(
            declarations,
            "    bit<{width}> key{i} = 0;\n    table t{i} {{ key = {{ key{i}: exact @name(\"k\"); }} actions = {{ {actions} }} size = {}; default_action = go0(2); }}",
            size.max(1024)
        );
        let _ = write!(
            apply,
            "key{i} = {}; t{i}.apply(); ",
            masked.replace("word[0]", &format!("word[{}]", i % 2))
        );
        for value in 0..size {
            let action = Random::new(u64::from(value)).below(n_actions as u32);
            let _ = writeln!(entries, "add I.t{i} k:{value} I.go{action}(port:{})", value % 7);
        }
    }
    let apply = apply + "h.word[1].d = m.x;";
    let parts = Parts { declarations, apply, entries, n_packets: Some(n_packets), ..base.clone() };
    parts.micro(format!(
        "{n_tables} exact tables, keys of {bytes} bytes, 2^{n_bits} entries, {n_actions} actions"
    ))
}

fn prefixes(base: &Parts, n_tables: usize, size: u32, n_packets: u32) -> Micro {
    let (mut declarations, mut apply, mut entries) = (FORWARD.to_string(), String::new(), String::new());
    for i in 0..n_tables {
        let _ = writeln!(
            declarations,
            "    table t{i} {{ key = {{ h.word[{}].c: lpm @name(\"k\"); }} actions = {{ forward; }} size = 65536; default_action = forward(2); }}",
            i % 2
        );
        let _ = write!(apply, "t{i}.apply(); ");
        // Each packet finds one: the prefixes cover everything.
        let n_bits = size.trailing_zeros();
        for value in 0..size {
            let prefix = value << (32 - n_bits);
            let _ = writeln!(entries, "add I.t{i} k:{prefix:#x}/{n_bits} I.forward(port:{})", value % 7);
        }
    }
    let parts = Parts { declarations, apply, entries, n_packets: Some(n_packets), ..base.clone() };
    parts.micro(format!("{n_tables} prefix tables, {size} entries"))
}

/// Prefixes with their first bits in common, so that lookups go through levels below the root.
fn deep_prefixes(base: &Parts, size: u32, key_bits: u32) -> Micro {
    let (common, length) = match key_bits {
        32 => (0xc0a8_0000_u128, 32),
        _ => (0xfc00_0003_u128 << 96 | 1, 96),
    };
    let shift = key_bits - length;
    let declarations = format!(
        "{FORWARD}    bit<{key_bits}> key = 0;\n\
         \x20   table t {{ key = {{ key: lpm @name(\"k\"); }} actions = {{ forward; }} size = 65536; default_action = forward(2); }}\n"
    );
    let apply =
        format!("key = (bit<{key_bits}>)(h.word[0].c & {}) << {shift} | {common}; t.apply(); ", size - 1);
    let entries: String = (0..size)
        .map(|value| {
            let prefix = common >> shift << shift | u128::from(value) << shift;
            format!("add I.t k:{prefix:#x}/{length} I.forward(port:{})\n", value % 7)
        })
        .collect();
    let parts = Parts { declarations, apply, entries, ..base.clone() };
    parts.micro(format!("prefix table, keys of {key_bits} bits, {size} entries below the root"))
}

fn masks(base: &Parts, n_masks: u32, size: u32) -> Micro {
    let declarations = format!(
        "{FORWARD}    table t {{ key = {{ h.word[0].b: ternary @name(\"k\"); h.word[0].c: ternary @name(\"l\"); }} actions = {{ forward; }} size = 4096; default_action = forward(2); }}\n"
    );
    let mut entries = String::new();
    for i in 0..size {
        // Hardly a packet finds one; all masks are tried.
        let mask = 0xffff_ff00_u32 << (i % n_masks);
        let value = (0xac10_0000_u32 + (i << 12)) & mask;
        let _ = writeln!(
            entries,
            "add I.t {} k:{value:#x}&&&{mask:#x} l:0x11&&&0xff I.forward(port:{})",
            i + 1,
            i % 7
        );
    }
    Parts { declarations, apply: "t.apply();".into(), entries, ..base.clone() }
        .micro(format!("ternary table, {n_masks} masks, {size} entries"))
}

fn counters(base: &Parts, n: usize) -> Micro {
    let declarations: String =
        (0..n).map(|i| format!("    counter(256, CounterType.packets_and_bytes) c{i};\n")).collect();
    let apply: String = (0..n).map(|i| format!("c{i}.count((bit<32>)h.word[{}].a[7:0]); ", i % 2)).collect();
    Parts { declarations, apply, ..base.clone() }.micro(format!("{n} counters"))
}

fn meter(base: &Parts) -> Micro {
    let declarations = "    meter(256, MeterType.bytes) meter0;\n".to_string();
    let apply = "meter0.execute_meter((bit<32>)h.word[0].a[7:0], m.z); h.word[1].a = m.z;".to_string();
    Parts { declarations, apply, ..base.clone() }.micro("a meter")
}

fn registers(base: &Parts, n: usize) -> Micro {
    let declarations: String = (0..n).map(|i| format!("    register<bit<32>>(256) r{i};\n")).collect();
    let apply: String = (0..n)
        .map(|i| format!("r{i}.read(m.x, (bit<32>)h.word[{}].a[7:0]); r{i}.write((bit<32>)h.word[{}].a[7:0], m.x + 1); ", i % 2, i % 2))
        .collect();
    Parts { declarations, apply, ..base.clone() }.micro(format!("{n} registers"))
}

fn hashes(base: &Parts, n_fields: usize) -> Micro {
    let fields: Vec<String> =
        (0..n_fields).map(|i| format!("h.word[{}].{}", i / 4 % 2, ["b", "c", "d", "a"][i % 4])).collect();
    let apply = format!(
        "hash(m.x, HashAlgorithm.crc32, 32w0, {{ {} }}, 32w1024); h.word[1].c = m.x;",
        fields.join(", ")
    );
    Parts { apply, ..base.clone() }.micro(format!("hash of {n_fields} fields"))
}
