//! Parts that programs for PSA and PNA share: types of their include files, externs, decisions about packets.

use super::types::{Shape, Ty};
use super::{Dialect, Edition, Gen, Place};

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
    pub(super) fn upper_prefix(&self) -> &'static str {
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

    /// Emits a header from anywhere.
    pub(super) fn other_emits(&mut self) {
        let headers = self.places(|e| self.is_header(&e.ty));
        if let Some(header) = self.choices.pick(&headers).cloned()
            && self.choices.one_in(3)
        {
            self.line(&format!("packet.emit({});", header.path));
        }
    }

    /// The length of a packet as an argument, or nothing.
    pub(super) fn length_of_call(&mut self) -> String {
        let has_length = self.edition == Edition::Dpdk || self.dialect == Dialect::Pna;
        if has_length && self.choices.one_in(2) {
            format!("32w{}", self.choices.below(2000))
        } else {
            String::new()
        }
    }

    /// The call of a meter, which gives a colour.
    pub(super) fn execution(&mut self, meter: &str, index: Option<String>) -> String {
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
                    let (index, length) = (self.cell_of(&name, n), self.length_of_call());
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
                let index = self.cell_of(&name, n);
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
                        // The type of base and bound is another one than that of the result.
                        let w = [width, 16, 64][self.choices.below(3)];
                        let bound = if w > 4 { self.choices.below(12) } else { 1 };
                        let base = if w > 4 { self.choices.below(5) } else { 0 };
                        format!("{name}.get_hash({w}w{base}, {data}, {w}w{bound})")
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
                    let (slot, session) = (self.choices.below(8), session.max(1));
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
