//! Programs of many parts, drawn at random: what a component costs beside others, as in programs that people write.

use super::micro::Micro;
use crate::scenes::{self, Random, Scene};
use std::fmt::Write;

const N_PACKETS: u32 = 4096;
/// First number of the destinations; all lie in one network.
const NETWORK: u32 = 0x0a00_0000;

/// `n` programs, the same ones each time.
pub(super) fn all(n: usize) -> Vec<Micro> {
    (0..n).map(|i| Draft { is_large: i % 8 == 7, ..Draft::new(i as u64) }.micro(i)).collect()
}

/// Numbers of flows and of entries, as powers of 2.
const SIZES: [u32; 4] = [4, 8, 10, 13];

/// A program under construction.
struct Draft {
    random: Random,
    /// Packets are of 2 to the power of this many flows.
    flow_bits: u32,
    has_udp: bool,
    n_words: u32,
    /// So large that not all functions are inlined, and state does not stay in registers.
    is_large: bool,
    declarations: String,
    apply: String,
    egress_declarations: String,
    egress: String,
    verify: String,
    compute: String,
    emits_first: String,
    entries: String,
    n_tables: u32,
}

/// Keys of exact tables. Flows differ in the first field.
const KEYS: [&[&str]; 6] = [
    &["h.ethernet.destination"],
    &["h.ipv4.source"],
    &["h.ipv4.destination", "h.ipv4.protocol"],
    &["h.ethernet.source", "h.ethernet.ether_type"],
    &["h.ipv4.source", "h.ipv4.identification", "h.ipv4.protocol"],
    &["m.address"],
];

impl Draft {
    fn new(seed: u64) -> Draft {
        let mut random = Random::new(seed.wrapping_mul(7919).wrapping_add(11));
        let (has_udp, n_words) = (random.below(3) > 0, random.below(4));
        let flow_bits = SIZES[random.below(SIZES.len() as u32) as usize];
        Draft {
            random,
            flow_bits,
            has_udp,
            n_words: if has_udp { n_words } else { 0 },
            is_large: false,
            declarations: String::new(),
            apply: String::new(),
            egress_declarations: String::new(),
            egress: String::new(),
            verify: String::new(),
            compute: String::new(),
            emits_first: String::new(),
            entries: String::new(),
            n_tables: 0,
        }
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.random.below(100) < percent
    }

    fn micro(mut self, i: usize) -> Micro {
        self.checksums();
        let n_tables = if self.is_large { 8 + self.random.below(8) } else { self.random.below(4) };
        for _ in 0..n_tables {
            self.table(true);
        }
        if self.chance(50) {
            self.routes(i.is_multiple_of(3));
        }
        if self.chance(35) {
            self.rules();
        }
        self.state();
        self.headers();
        let n_operations = if self.is_large { 8 + self.random.below(10) } else { self.random.below(3) };
        for _ in 0..n_operations {
            self.operations();
        }
        if self.chance(40) {
            self.table(false);
        }
        Micro { name: format!("mixed {i}"), text: self.text(), scene: self.scene() }
    }

    fn checksums(&mut self) {
        const FIELDS: &str = "{ h.ipv4.version, h.ipv4.ihl, h.ipv4.service, h.ipv4.length, h.ipv4.identification, \
            h.ipv4.fragment, h.ipv4.ttl, h.ipv4.protocol, h.ipv4.source, h.ipv4.destination }";
        let call = |name: &str| {
            format!("{name}_checksum(h.ipv4.isValid(), {FIELDS}, h.ipv4.checksum, HashAlgorithm.csum16);")
        };
        if self.chance(35) {
            self.verify = call("verify");
        }
        if self.chance(60) {
            self.compute = call("update");
            self.apply +=
                "if (h.ipv4.ttl > 1) { h.ipv4.ttl = h.ipv4.ttl - 1; } else { mark_to_drop(s); return; }\n";
        }
    }

    /// An exact table, of ingress or of egress.
    fn table(&mut self, is_ingress: bool) {
        let name = format!("t{}", self.n_tables);
        self.n_tables += 1;
        let key = KEYS[self.random.below(KEYS.len() as u32) as usize];
        // With many tables, some action before has changed the addresses of Ethernet.
        let key = if self.is_large && key[0].starts_with("h.ethernet") { KEYS[1] } else { key };
        let is_direct = self.chance(30);
        // Most tables have an entry for each flow.
        let n_bits = match (is_direct, self.chance(70)) {
            (true, _) => SIZES[self.random.below(2) as usize],
            (false, true) => self.flow_bits,
            (false, false) => SIZES[self.random.below(4) as usize],
        };
        let n_actions = 1 + self.random.below(3);
        let counter = if self.chance(30) { "direct_counter(CounterType.packets_and_bytes) " } else { "" };
        let mut declared = String::new();
        if !counter.is_empty() {
            let _ = writeln!(declared, "    {counter}{name}_counter;");
        }
        let mut actions = String::new();
        let mut kinds = Vec::new();
        for a in 0..n_actions {
            let kind = self.random.below(3);
            let (params, body) = match kind {
                0 => ("bit<9> port", "s.egress_spec = port;".to_owned()),
                1 => (
                    "bit<9> port, bit<48> from, bit<48> to",
                    "s.egress_spec = port; h.ethernet.source = from; h.ethernet.destination = to;".to_owned(),
                ),
                _ => ("bit<16> index", format!("m.index = index; m.x = m.x + {a};")),
            };
            // Egress has no say about the port.
            let body =
                if is_ingress { body } else { body.replace("s.egress_spec = port;", "m.x = (bit<32>)port;") };
            let _ = writeln!(declared, "    action {name}_{a}({params}) {{ {body} }}");
            actions += &format!("{name}_{a}; ");
            kinds.push(kind);
        }
        let fields: String = if is_direct {
            format!("h.ipv4.source[{}:0]: exact @name(\"k0\"); ", n_bits - 1)
        } else {
            let field = |(i, field): (usize, &&str)| format!("{field}: exact @name(\"k{i}\"); ");
            key.iter().enumerate().map(field).collect()
        };
        let more = if counter.is_empty() { String::new() } else { format!("counters = {name}_counter; ") };
        let _ = writeln!(
            declared,
            "    table {name} {{ key = {{ {fields}}} actions = {{ {actions}NoAction; }} {more}size = {}; default_action = NoAction(); }}",
            (1_u32 << n_bits).max(16)
        );
        let control = if is_ingress { "I" } else { "E" };
        for value in 0..1_u32 << n_bits {
            let action = Random::new(u64::from(value)).below(n_actions);
            let values: String = match is_direct {
                true => format!("k0:{value} "),
                false => {
                    let field = |(i, field): (usize, &&str)| format!("k{i}:{:#x} ", varying(field, value));
                    key.iter().enumerate().map(field).collect()
                }
            };
            let params = match kinds[action as usize] {
                0 => format!("port:{}", value % 8),
                1 => format!(
                    "port:{}, from:0x020000000001, to:{:#x}",
                    value % 8,
                    0x0200_0001_0000_u64 + u64::from(value)
                ),
                _ => format!("index:{}", value % 256),
            };
            let _ =
                writeln!(self.entries, "add {control}.{name} {values}{control}.{name}_{action}({params})");
        }
        let (declarations, apply) = match is_ingress {
            true => (&mut self.declarations, &mut self.apply),
            false => (&mut self.egress_declarations, &mut self.egress),
        };
        *declarations += &declared;
        *apply += &format!("{name}.apply();\n");
    }

    /// Routes by networks of destinations, or by hosts that are sources, which takes more levels.
    fn routes(&mut self, of_hosts: bool) {
        let n_bits = [1, 8, 10, 13][self.random.below(4) as usize];
        let field = if of_hosts { "h.ipv4.source" } else { "h.ipv4.destination" };
        let _ = writeln!(
            self.declarations,
            "    action via(bit<9> port, bit<16> index) {{ s.egress_spec = port; m.index = index; }}\n\
             \x20   action none() {{ mark_to_drop(s); }}\n\
             \x20   table routes {{ key = {{ {field}: lpm @name(\"k\"); }} actions = {{ via; none; }} size = 16384; default_action = none(); }}"
        );
        self.apply += "routes.apply();\n";
        for i in 0..1_u32 << n_bits {
            let (network, length) = match (of_hosts, n_bits) {
                (true, _) => (varying(field, i) as u32, 32),
                (false, 1) => (NETWORK + (i << 24), 8),
                (false, _) => (varying(field, i) as u32, 24),
            };
            let _ = writeln!(
                self.entries,
                "add I.routes k:{network:#x}/{length} I.via(port:{}, index:{})",
                i % 8,
                i % 256
            );
        }
        // For the others.
        let _ = writeln!(self.entries, "add I.routes k:0/0 I.via(port:7, index:9)");
    }

    fn rules(&mut self) {
        let n = [3, 60, 400][self.random.below(3) as usize];
        self.declarations += "    action deny() { mark_to_drop(s); }\n\
             \x20   table rules { key = { h.ipv4.source: ternary @name(\"k\"); h.ipv4.protocol: ternary @name(\"l\"); m.port: ternary @name(\"p\"); } actions = { deny; NoAction; } size = 1024; default_action = NoAction(); }\n";
        self.apply += "rules.apply();\n";
        for i in 0..n {
            let source = 0xac10_0000_u32 + (i << 8);
            let _ = writeln!(
                self.entries,
                "add I.rules {} k:{source:#x}&&&0xffffff00 l:6&&&0xff p:{}&&&0xffff I.deny()",
                i + 1,
                1000 + i
            );
        }
    }

    fn state(&mut self) {
        for i in 0..self.random.below(3) {
            let _ = writeln!(self.declarations, "    counter(256, CounterType.packets_and_bytes) c{i};");
            let _ = writeln!(self.apply, "c{i}.count((bit<32>)h.ipv4.source[7:0]);");
        }
        let n_registers = self.random.below(3);
        let hashes = self.chance(35);
        if hashes {
            let algorithm = ["crc32", "crc16"][self.random.below(2) as usize];
            let ports = if self.has_udp { ", h.udp.source, h.udp.destination" } else { "" };
            let _ = writeln!(
                self.apply,
                "hash(m.y, HashAlgorithm.{algorithm}, 32w0, {{ h.ipv4.source, h.ipv4.destination, h.ipv4.protocol{ports} }}, 32w4096);"
            );
        }
        for i in 0..n_registers {
            let index = if hashes { "m.y" } else { "(bit<32>)h.ipv4.source[11:0]" };
            let _ = writeln!(self.declarations, "    register<bit<32>>(4096) r{i};");
            let _ = writeln!(self.apply, "r{i}.read(m.x, {index}); r{i}.write({index}, m.x + {});", i + 1);
        }
    }

    /// Headers that go and come, for all packets or for half of them.
    fn headers(&mut self) {
        let condition = if self.chance(40) { "if (h.ipv4.source[0:0] == 1) " } else { "" };
        if self.n_words > 0 && self.chance(30) {
            let _ = writeln!(
                self.apply,
                "{condition}{{ h.word[0].setInvalid(); h.ipv4.length = h.ipv4.length - 16; }}"
            );
        }
        if self.chance(30) {
            self.emits_first = "packet.emit(h.outer); packet.emit(h.label); ".to_owned();
            let _ = writeln!(
                self.apply,
                "{condition}{{ h.outer.setValid(); h.outer.source = h.ethernet.source; h.outer.destination = h.ethernet.destination; h.outer.ether_type = 0x8847; h.label.setValid(); h.label.x = m.x; }}"
            );
        }
    }

    fn operations(&mut self) {
        let words = ["h.ipv4.source", "h.ipv4.destination", "m.x", "m.y"];
        for i in 0..1 + self.random.below(8) {
            let (to, from) = (words[self.random.below(4) as usize], words[self.random.below(4) as usize]);
            let op = ["+", "^", "&", "|"][self.random.below(4) as usize];
            // Fields that are keys of later tables are not changed.
            let to = if to.starts_with('h') { "m.y" } else { to };
            let _ = match self.random.below(4) {
                0 => writeln!(
                    self.apply,
                    "if ({from}[{}:{}] == 1) {{ m.x = m.x + {i}; h.ipv4.service = {i}; }}",
                    i % 8,
                    i % 8
                ),
                1 => writeln!(self.apply, "m.index = m.index + {from}[15:0]; h.ipv4.fragment = m.index;"),
                _ => writeln!(self.apply, "{to} = ({to} {op} {from}) + {i};"),
            };
        }
        self.apply += "h.ipv4.service = m.x[7:0] ^ m.y[7:0];\n";
    }

    fn text(&self) -> String {
        let (n_words, has_udp) = (self.n_words, self.has_udp);
        let mut states = String::new();
        let next = if has_udp { "17: udp;" } else { "" };
        let _ = writeln!(
            states,
            "    state ipv4 {{ packet.extract(h.ipv4); m.address = h.ipv4.source ++ 96w7; transition select(h.ipv4.protocol) {{ {next} default: accept; }} }}"
        );
        let first = if n_words > 0 { "word0" } else { "accept" };
        if has_udp {
            let _ = writeln!(
                states,
                "    state udp {{ packet.extract(h.udp); m.port = h.udp.destination; transition select(h.udp.destination) {{ 53: {first}; default: accept; }} }}"
            );
        }
        for i in 0..n_words {
            let next = if i + 1 < n_words { format!("word{}", i + 1) } else { "accept".to_owned() };
            let _ = writeln!(
                states,
                "    state word{i} {{ packet.extract(h.word[{i}]); transition select(h.word[{i}].next) {{ {i}: {next}; default: accept; }} }}"
            );
        }
        let udp = if has_udp { "packet.emit(h.udp); " } else { "" };
        let words: String = (0..n_words).map(|i| format!("packet.emit(h.word[{i}]); ")).collect();
        format!(
            "#include <core.p4>\n#include <v1model.p4>\n\
             header Ethernet {{ bit<48> destination; bit<48> source; bit<16> ether_type; }}\n\
             header Label {{ bit<32> x; }}\n\
             header Ipv4 {{ bit<4> version; bit<4> ihl; bit<8> service; bit<16> length; bit<16> identification; bit<16> fragment; \
             bit<8> ttl; bit<8> protocol; bit<16> checksum; bit<32> source; bit<32> destination; }}\n\
             header Udp {{ bit<16> source; bit<16> destination; bit<16> length; bit<16> checksum; }}\n\
             header Word {{ bit<16> next; bit<16> a; bit<32> b; bit<32> c; bit<32> d; }}\n\
             struct Headers {{ Ethernet outer; Label label; Ethernet ethernet; Ipv4 ipv4; Udp udp; Word[4] word; }}\n\
             struct Metadata {{ bit<32> x; bit<32> y; bit<16> index; bit<16> port; bit<128> address; }}\n\
             parser P(packet_in packet, out Headers h, inout Metadata m, inout standard_metadata_t s) {{\n\
             \x20   state start {{ packet.extract(h.ethernet); transition select(h.ethernet.ether_type) {{ 0x0800: ipv4; default: accept; }} }}\n\
             {states}}}\n\
             control V(inout Headers h, inout Metadata m) {{ apply {{ {} }} }}\n\
             control I(inout Headers h, inout Metadata m, inout standard_metadata_t s) {{\n{}    apply {{ s.egress_spec = 1;\n{} }}\n}}\n\
             control E(inout Headers h, inout Metadata m, inout standard_metadata_t s) {{\n{}    apply {{ {} }}\n}}\n\
             control C(inout Headers h, inout Metadata m) {{ apply {{ {} }} }}\n\
             control D(packet_out packet, in Headers h) {{ apply {{ {}packet.emit(h.ethernet); packet.emit(h.ipv4); {udp}{words}}} }}\n\
             V1Switch(P(), V(), I(), E(), C(), D()) main;\n",
            self.verify,
            self.declarations,
            self.apply,
            self.egress_declarations,
            self.egress,
            self.compute,
            self.emits_first
        )
    }

    fn scene(&self) -> Scene {
        let mut random = Random::new(5);
        let packets = (0..N_PACKETS).map(|_| {
            let value = random.below(1 << self.flow_bits);
            let mut payload = Vec::new();
            for i in 0..4_u16 {
                payload.extend(i.to_be_bytes());
                payload.extend((0..14).map(|_| random.below(256) as u8));
            }
            let udp = scenes::udp(random.below(65536) as u16, 53, &payload);
            let ip = scenes::ipv4(
                varying("h.ipv4.source", value) as u32,
                varying("h.ipv4.destination", value) as u32,
                17,
                0,
                &udp,
            );
            let mut packet = scenes::ethernet(0x0800, &ip);
            packet[..6].copy_from_slice(&varying("h.ethernet.destination", value).to_be_bytes()[10..]);
            packet[6..12].copy_from_slice(&varying("h.ethernet.source", value).to_be_bytes()[10..]);
            (random.below(8), packet)
        });
        Scene { packets: packets.collect(), entries: self.entries.clone() }
    }
}

/// Value of a field in packets of a flow, and in its entries.
fn varying(field: &str, flow: u32) -> u128 {
    match field {
        "h.ethernet.destination" => 0x0200_0000_0000 + u128::from(flow),
        "h.ethernet.source" => 0x0200_0001_0000 + u128::from(flow),
        "h.ethernet.ether_type" => 0x0800,
        "h.ipv4.source" => 0xc0a8_0000 + u128::from(flow),
        "h.ipv4.destination" => u128::from(NETWORK + (flow << 8)),
        "h.ipv4.protocol" => 17,
        "m.address" => (0xc0a8_0000 + u128::from(flow)) << 96 | 7,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::subject::Subject;
    use model::cpu::tables::Structure;

    #[test]
    fn programs_are_the_same_each_time() {
        let (one, other) = (all(3), all(3));
        assert!(one.iter().zip(&other).all(|(a, b)| a.text == b.text && a.scene.entries == b.scene.entries));
    }

    #[test]
    fn most_lookups_hit() {
        for (i, micro) in all(12).into_iter().enumerate() {
            let subject = Subject::new(&format!("mixed{i}"), micro).map_err(|_| i).expect("it compiles");
            let counted = subject.count().map_err(|_| i).expect("it runs");
            let looked_up = counted.tables.iter().filter(|table| table.lookups > 0.0);
            // Rules match nothing.
            let touched = looked_up
                .filter(|table| table.structure != Structure::Ternary)
                .all(|table| table.n_touched > 0);
            assert!(touched, "program {i}: {:?}", counted.tables);
        }
    }
}
