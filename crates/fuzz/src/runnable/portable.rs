//! Parts that programs for PSA and PNA share: types of their include files, externs, decisions about packets.

use super::types::{Shape, Ty};
use super::{Callable, Checksum, Dialect, Direction, Edition, Gen, Place};

/// Fields of the architecture's structs, with the names of their types.
pub(super) type Fields = &'static [(&'static str, &'static str)];

impl Gen<'_, '_> {
    /// The prefix of properties; `None` for v1model.
    pub(super) fn prefix(&self) -> Option<&'static str> {
        match self.dialect {
            Dialect::V1model => None,
            Dialect::Psa => Some("psa"),
            Dialect::Pna => Some("pna"),
        }
    }

    /// The prefix of names; nobody wants that of v1model.
    fn upper_prefix(&self) -> &'static str {
        if self.dialect == Dialect::Psa { "PSA" } else { "PNA" }
    }

    /// New types of the include file, with their widths.
    pub(super) fn new_types(&mut self, types: &[(&str, u32)]) {
        for (name, width) in types {
            self.known_type(name, Shape::New(Ty::Bit(*width)));
        }
    }

    /// The enum of the colours of meters.
    pub(super) fn colours(&mut self, name: &str) {
        self.known_type(name, Shape::Enum(["RED", "GREEN", "YELLOW"].map(String::from).to_vec()));
    }

    /// Declares fields of a struct of the architecture.
    pub(super) fn fields_in(&mut self, name: &str, fields: Fields, is_writable: bool) {
        for (field, ty) in fields {
            let ty = self.named(ty);
            self.declare(&format!("{name}.{field}"), &ty, is_writable);
        }
    }

    pub(super) fn portable_instances(&mut self) {
        let prefix = self.upper_prefix();
        for _ in 0..self.choices.below(3) {
            let name = self.fresh("register_");
            let size = 1 + self.choices.below(16) as u32;
            let cells = self.types_with(|shape| matches!(shape, Shape::Struct(_)));
            let cells: Vec<usize> = cells.into_iter().filter(|i| self.has_bits(&Ty::Named(*i))).collect();
            let ty = match self.choices.pick(&cells) {
                Some(i) if matches!(self.types[*i].name.as_str(), "Inner" | "Seen") => Ty::Named(*i),
                _ if self.choices.one_in(5) => Ty::Int(self.width().max(2)),
                _ => self.bit(),
            };
            let text = self.text(&ty);
            let initial =
                if self.choices.one_in(3) { format!(", {}", self.literal(&ty)) } else { String::new() };
            self.line(&format!("Register<{text}, bit<32>>({size}{initial}) {name};"));
            self.objects.registers.push((name, ty, size));
        }
        if self.choices.one_in(2) {
            let name = self.fresh("counter_");
            let size = 1 + self.choices.below(16) as u32;
            let kind = self.one_of(&["PACKETS", "BYTES", "PACKETS_AND_BYTES"]);
            self.line(&format!("Counter<bit<64>, bit<32>>({size}, {prefix}_CounterType_t.{kind}) {name};"));
            self.objects.counters.push((name, size));
        }
        if self.choices.one_in(2) {
            let name = self.fresh("meter_");
            let size = 1 + self.choices.below(8) as u32;
            let kind = self.one_of(&["PACKETS", "BYTES"]);
            self.line(&format!("Meter<bit<32>>({size}, {prefix}_MeterType_t.{kind}) {name};"));
            self.objects.meters.push((name, size));
        }
        self.hashes();
        if self.choices.one_in(3) {
            let name = self.fresh("random_");
            let (low, high) = (self.choices.below(3), self.choices.below(300));
            self.line(&format!("Random<bit<16>>(16w{low}, 16w{high}) {name};"));
            self.objects.randoms.push(name);
        }
    }

    /// The objects of a parser.
    pub(super) fn portable_parser_objects(&mut self) {
        if self.prefix().is_some() && self.choices.one_in(2) {
            self.hashes();
        }
    }

    pub(super) fn portable_deparser_objects(&mut self) {
        if self.choices.one_in(2) {
            self.hashes();
        }
        if self.choices.one_in(2) {
            let name = self.fresh("digest_");
            let structs = self.types_with(|shape| matches!(shape, Shape::Struct(_) | Shape::Header(_)));
            let structs: Vec<usize> = structs.into_iter().filter(|i| self.has_bits(&Ty::Named(*i))).collect();
            let wanted = self.choices.pick(&structs).copied();
            let ty = wanted.filter(|_| self.choices.one_in(2)).map_or(self.named("Seen"), Ty::Named);
            let text = self.text(&ty);
            self.line(&format!("Digest<{text}>() {name};"));
            self.objects.digests.push((name, ty));
        }
    }

    /// Objects that hash, and that add up checksums.
    fn hashes(&mut self) {
        let prefix = self.upper_prefix();
        for _ in 0..self.choices.below(4) {
            let mut algorithms = vec!["TARGET_DEFAULT"];
            if self.dialect == Dialect::Psa || self.edition != Edition::Usual {
                algorithms.extend(["CRC32", "CRC16", "IDENTITY", "ONES_COMPLEMENT16"]);
            }
            if self.dialect == Dialect::Pna && self.edition == Edition::Dpdk {
                algorithms.push("TOEPLITZ");
            }
            let algorithm = self.one_of(&algorithms);
            let width = [16, 32, 8, 64][self.choices.below(4)];
            match self.choices.below(3) {
                0 => {
                    let name = self.fresh("hash_");
                    self.line(&format!("Hash<bit<{width}>>({prefix}_HashAlgorithm_t.{algorithm}) {name};"));
                    self.objects.hashes.push((name, width));
                }
                1 => {
                    let (name, in_words) = (self.fresh("checksum_"), algorithm == "ONES_COMPLEMENT16");
                    let text =
                        format!("Checksum<bit<{width}>>({prefix}_HashAlgorithm_t.{algorithm}) {name};");
                    self.line(&text);
                    self.objects.checksums.push(Checksum { name, is_internet: false, in_words });
                }
                _ => {
                    let name = self.fresh("sum_");
                    self.line(&format!("InternetChecksum() {name};"));
                    self.objects.checksums.push(Checksum { name, is_internet: true, in_words: true });
                }
            }
        }
    }

    /// Declares a direct counter and a direct meter of a table, with the actions that call them.
    pub(super) fn portable_direct_objects(&mut self, own: &mut Vec<Callable>, properties: &mut Vec<String>) {
        let (prefix, property) = (self.upper_prefix(), self.prefix().unwrap_or(""));
        if self.choices.one_in(4) {
            let counter = self.fresh("direct_counter_");
            let kind = self.one_of(&["PACKETS", "BYTES", "PACKETS_AND_BYTES"]);
            self.line(&format!("DirectCounter<bit<64>>({prefix}_CounterType_t.{kind}) {counter};"));
            properties.push(format!("{property}_direct_counter = {counter};"));
            let length = self.length_of_call();
            own.push(self.action(&[Direction::Data], Some(format!("{counter}.count({length});"))));
        }
        let targets = self.places(|e| e.is_writable && matches!(e.ty, Ty::Bit(2..=64)));
        if let Some(to) = self.choices.pick(&targets).cloned()
            && self.choices.one_in(4)
        {
            let Ty::Bit(w) = to.ty else { return };
            let meter = self.fresh("direct_meter_");
            let kind = self.one_of(&["PACKETS", "BYTES"]);
            self.line(&format!("DirectMeter({prefix}_MeterType_t.{kind}) {meter};"));
            properties.push(format!("{property}_direct_meter = {meter};"));
            let call = self.execution(&meter, None);
            let colour = self.one_of(&["RED", "YELLOW", "GREEN"]);
            let first = format!("{} = {call} == {prefix}_MeterColor_t.{colour} ? {w}w1 : {w}w2;", to.path);
            own.push(self.action(&[Direction::Data], Some(first)));
        }
    }

    /// The length of a packet as an argument, or nothing.
    fn length_of_call(&mut self) -> String {
        let has_length = self.edition == Edition::Dpdk || self.dialect == Dialect::Pna;
        if has_length && self.choices.one_in(2) {
            format!("32w{}", self.choices.below(2000))
        } else {
            String::new()
        }
    }

    /// The call of a meter, which gives a colour.
    fn execution(&mut self, meter: &str, index: Option<String>) -> String {
        let prefix = self.upper_prefix();
        // Without a package of DPDK the methods of direct meters are told apart by the names of arguments alone.
        let has_names = index.is_none() && self.dialect == Dialect::Pna && self.edition != Edition::Dpdk;
        let mut arguments: Vec<String> = index.into_iter().collect();
        let before = self.one_of(&["", "RED", "YELLOW", "GREEN", ""]);
        if !before.is_empty() {
            let name = if has_names { "color = " } else { "" };
            arguments.push(format!("{name}{prefix}_MeterColor_t.{before}"));
        }
        let has_length = has_names || self.edition == Edition::Dpdk;
        let length = if has_length { self.length_of_call() } else { String::new() };
        let is_dpdk = !length.is_empty() && !has_names;
        let method = if is_dpdk { "dpdk_execute" } else { "execute" };
        if !length.is_empty() {
            arguments.push(if has_names { format!("pkt_len = {length}") } else { length });
        }
        format!("{meter}.{method}({})", arguments.join(", "))
    }

    /// A call of an extern that the place allows.
    pub(super) fn portable_call(&mut self) {
        let prefix = self.upper_prefix();
        let is_main = matches!(self.place, Place::Ingress | Place::Egress);
        match self.choices.below(18) {
            0..=2 => self.register(),
            3 => {
                let counters = self.objects.counters.clone();
                if let Some((name, n)) = self.choices.pick(&counters).cloned() {
                    let (index, length) = (self.cell(n), self.length_of_call());
                    let length = if length.is_empty() { length } else { format!(", {length}") };
                    self.line(&format!("{name}.count({index}{length});"));
                }
            }
            4 => {
                let meters = self.objects.meters.clone();
                let Some((name, n)) = self.choices.pick(&meters).cloned() else { return };
                let places = self.places(|e| e.is_writable && matches!(e.ty, Ty::Bit(2..=64)));
                let Some(to) = self.choices.pick(&places).cloned() else { return };
                let Ty::Bit(w) = to.ty else { return };
                let index = self.cell(n);
                let call = self.execution(&name, Some(index));
                let colour = self.one_of(&["RED", "YELLOW", "GREEN"]);
                self.line(&format!(
                    "{} = {call} == {prefix}_MeterColor_t.{colour} ? {w}w1 : {w}w2;",
                    to.path
                ));
            }
            5 | 6 => {
                let hashes = self.objects.hashes.clone();
                let places = self.places(|e| e.is_writable && matches!(e.ty, Ty::Bit(1..=64)));
                let (Some((name, width)), Some(to)) =
                    (self.choices.pick(&hashes).cloned(), self.choices.pick(&places).cloned())
                else {
                    return;
                };
                let data = self.data();
                let text = self.text(&to.ty);
                let call = match self.choices.below(3) {
                    0 => {
                        let max = self.choices.below(12);
                        format!("{name}.get_hash({width}w{}, {data}, {width}w{max})", self.choices.below(5))
                    }
                    _ => format!("{name}.get_hash({data})"),
                };
                self.line(&format!("{} = ({text}){call};", to.path));
            }
            7 => {
                let randoms = self.objects.randoms.clone();
                let places = self.places(|e| e.is_writable && matches!(e.ty, Ty::Bit(1..=64)));
                if let (Some(name), Some(to)) =
                    (self.choices.pick(&randoms).cloned(), self.choices.pick(&places).cloned())
                {
                    let text = self.text(&to.ty);
                    self.line(&format!("{} = ({text}){name}.read();", to.path));
                }
            }
            8 if self.dialect == Dialect::Psa && self.place != Place::ParserState => self.assertion(),
            9..=11 => self.checksum(),
            12 => self.digest_object(),
            _ if is_main => self.portable_decision(),
            // Deparsers have nothing else.
            13 | 14 if self.place == Place::Deparser => self.digest_object(),
            _ if matches!(self.place, Place::Deparser | Place::ParserState) => self.checksum(),
            _ => self.register(),
        }
    }

    /// Data that is hashed: a list, or a place that has bits.
    fn data(&mut self) -> String {
        let found = self.places(|e| self.has_bits(&e.ty));
        match self.choices.pick(&found).cloned() {
            Some(place) if self.choices.one_in(3) => place.path,
            _ => self.list(4),
        }
    }

    /// Data whose bits are a multiple of 16, as the checksum of the internet wants them.
    fn data_in_words(&mut self) -> String {
        let found = self.places(|e| self.bits_of(&e.ty).is_some_and(|n| n > 0 && n.is_multiple_of(16)));
        match self.choices.pick(&found).cloned() {
            Some(place) if self.choices.one_in(2) => place.path,
            _ => self.words(3),
        }
    }

    /// Changes a checksum a few times; mostly keeps what it has become.
    fn checksum(&mut self) {
        let checksums = self.objects.checksums.clone();
        let Some(checksum) = self.choices.pick(&checksums).cloned() else { return self.assignment() };
        let name = &checksum.name;
        for _ in 0..1 + self.choices.below(3) {
            let data = if checksum.in_words { self.data_in_words() } else { self.data() };
            let line = match (self.choices.below(6), checksum.is_internet) {
                (0, _) => format!("{name}.clear();"),
                (1, true) => format!("{name}.subtract({data});"),
                (2, true) => format!("{name}.set_state({});", self.expr(&Ty::Bit(16))),
                (_, true) => format!("{name}.add({data});"),
                (_, false) => format!("{name}.update({data});"),
            };
            self.line(&line);
        }
        let places = self.places(|e| e.is_writable && matches!(e.ty, Ty::Bit(1..=64)));
        if let Some(to) = self.choices.pick(&places).cloned() {
            let method = if checksum.is_internet && self.choices.one_in(4) { "get_state" } else { "get" };
            let text = self.text(&to.ty);
            self.line(&format!("{} = ({text}){name}.{method}();", to.path));
        }
    }

    fn digest_object(&mut self) {
        let digests = self.objects.digests.clone();
        if let Some((name, ty)) = self.choices.pick(&digests).cloned() {
            let value = self.expr(&ty);
            self.line(&format!("{name}.pack({value});"));
        }
    }

    /// A value that depends on the side of the packet's port.
    fn side_dependent(&mut self) {
        let places = self.places(|e| e.is_writable && matches!(e.ty, Ty::Bit(_)));
        let Some(to) = self.choices.pick(&places).cloned() else { return };
        let side = match (self.edition, self.place) {
            (_, Place::Action | Place::SubControl | Place::Function) => return,
            (Edition::Bmv2, _) => {
                let function = self.one_of(&["is_net_port", "is_host_port"]);
                let port = if self.choices.one_in(2) {
                    "istd.input_port".to_string()
                } else {
                    format!("(PortId_t){}", self.expr(&Ty::Bit(32)))
                };
                format!("{function}({port})")
            }
            _ => "istd.direction".to_string(),
        };
        let (a, b) = (self.expr(&to.ty), self.expr(&to.ty));
        self.line(&format!("{} = SelectByDirection({side}, {a}, {b});", to.path));
    }

    /// Says what happens to the packet. Packets mostly go round a few times only, and copies make no more copies.
    pub(super) fn portable_decision(&mut self) {
        let session = self.choices.below(5);
        let condition = if self.choices.one_in(2) { "true".to_string() } else { self.expr(&Ty::Bool) };
        let port = match self.choices.below(3) {
            // The parameter of PNA's function wants a constant.
            0 if self.dialect == Dialect::Psa => self.expr(&Ty::Bit(32)),
            _ => format!("32w{}", self.choices.below(6)),
        };
        let line = match (self.dialect, self.place) {
            (Dialect::Pna, _) => match self.choices.below(8) {
                0 => format!("send_to_port((PortId_t)({port}));"),
                1 => "drop_packet();".to_string(),
                2 if self.edition != Edition::Bmv2 => {
                    let rounds = 1 + self.choices.below(3);
                    format!("if ((bit<3>)istd.pass < 3w{rounds} && {condition}) {{ recirculate(); }}")
                }
                6 | 7 => return self.side_dependent(),
                3 => format!("ostd.class_of_service = (ClassOfService_t)8w{};", self.choices.below(12)),
                _ => {
                    let slot = self.choices.below(9);
                    format!("mirror_packet((MirrorSlotId_t)8w{slot}, (MirrorSessionId_t)16w{session});")
                }
            },
            (_, Place::Ingress) => match self.choices.below(8) {
                0 => format!("send_to_port(ostd, (PortId_t)({port}));"),
                1 => format!("multicast(ostd, (MulticastGroup_t)32w{});", self.choices.below(5)),
                2 => "ingress_drop(ostd);".to_string(),
                3 => format!(
                    "ostd.clone = {condition}; ostd.clone_session_id = (CloneSessionId_t)16w{session};"
                ),
                // Now and then until the switch has enough of it.
                4 if self.choices.one_in(4) => format!("ostd.resubmit = {condition};"),
                4 => format!("ostd.resubmit = istd.packet_path != PSA_PacketPath_t.RESUBMIT && {condition};"),
                5 if self.choices.one_in(4) => "send_to_port(ostd, PSA_PORT_RECIRCULATE);".to_string(),
                5 => "if (istd.packet_path == PSA_PacketPath_t.NORMAL) { send_to_port(ostd, PSA_PORT_RECIRCULATE); }"
                    .to_string(),
                6 => format!("ostd.class_of_service = (ClassOfService_t)8w{};", self.choices.below(12)),
                _ => format!("ostd.drop = {condition};"),
            },
            _ => match self.choices.below(3) {
                0 => format!("ostd.drop = {condition};"),
                1 => "egress_drop(ostd);".to_string(),
                _ if self.choices.one_in(8) => {
                    format!("ostd.clone = true; ostd.clone_session_id = (CloneSessionId_t)16w{session};")
                }
                _ => format!(
                    "if (istd.packet_path != PSA_PacketPath_t.CLONE_E2E) {{ ostd.clone = {condition}; \
                     ostd.clone_session_id = (CloneSessionId_t)16w{session}; }}"
                ),
            },
        };
        self.line(&line);
    }
}
