//! Programs for PSA and PNA: their blocks, the values that packets carry, their externs.

use super::types::Ty;
use super::{Callable, Dialect, Gen, Place};

/// Heads of the blocks of PSA.
const INGRESS_PARSER: &str = "parser IngressParserImpl(packet_in packet, out Headers hdr, inout Metadata meta, \
     in psa_ingress_parser_input_metadata_t istd, in Metadata resubmitted, in Metadata recirculated) {";
const INGRESS: &str = "control IngressImpl(inout Headers hdr, inout Metadata meta, \
     in psa_ingress_input_metadata_t istd, inout psa_ingress_output_metadata_t ostd) {";
const INGRESS_DEPARSER: &str = "control IngressDeparserImpl(packet_out packet, out Metadata cloned, \
     out Metadata resubmitted, out Metadata normal, inout Headers hdr, in Metadata meta, \
     in psa_ingress_output_metadata_t istd) {";
const EGRESS_PARSER: &str = "parser EgressParserImpl(packet_in packet, out Headers hdr, inout Metadata meta, \
     in psa_egress_parser_input_metadata_t istd, in Metadata normal, in Metadata cloned, in Metadata cloned_again) {";
const EGRESS: &str = "control EgressImpl(inout Headers hdr, inout Metadata meta, \
     in psa_egress_input_metadata_t istd, inout psa_egress_output_metadata_t ostd) {";
const EGRESS_DEPARSER: &str = "control EgressDeparserImpl(packet_out packet, out Metadata cloned_again, \
     out Metadata recirculated, inout Headers hdr, in Metadata meta, in psa_egress_output_metadata_t istd, \
     in psa_egress_deparser_input_metadata_t edstd) {";

impl Gen<'_, '_> {
    /// The prefix of properties; `None` for v1model.
    pub(super) fn prefix(&self) -> Option<&'static str> {
        match self.dialect {
            Dialect::V1model => None,
            Dialect::Psa => Some("psa"),
            Dialect::Pna => Some("pna"),
        }
    }

    pub(super) fn psa(&mut self) {
        self.line("#include <core.p4>");
        self.line("#include <psa.p4>");
        let (headers, metadata, sub_parser, sub) = self.top_level();
        let mark = self.scope.len();
        let sides = [
            (Place::Ingress, [INGRESS_PARSER, INGRESS, INGRESS_DEPARSER]),
            (Place::Egress, [EGRESS_PARSER, EGRESS, EGRESS_DEPARSER]),
        ];
        for (place, [parser, control, deparser]) in sides {
            self.declare("hdr", &headers, true);
            self.declare("meta", &metadata, true);
            self.portable_parser(parser, &headers, sub_parser.clone(), place);
            self.line(control);
            let first = if place == Place::Ingress { "send_to_port(ostd, (PortId_t)32w1);" } else { "" };
            self.portable_control(place, sub.as_ref(), first);
            self.scope.truncate(mark);
            self.psa_deparser(deparser, &headers, place);
        }
        self.line("IngressPipeline(IngressParserImpl(), IngressImpl(), IngressDeparserImpl()) ingress;");
        self.line("EgressPipeline(EgressParserImpl(), EgressImpl(), EgressDeparserImpl()) egress;");
        self.line("PSA_Switch(ingress, PacketReplicationEngine(), egress, BufferingQueueingEngine()) main;");
    }

    pub(super) fn pna(&mut self) {
        self.line("#include <core.p4>");
        self.line("#include <pna.p4>");
        let (headers, metadata, sub_parser, sub) = self.top_level();
        let mark = self.scope.len();
        self.declare("hdr", &headers, true);
        self.declare("meta", &metadata, true);
        let head = "parser ParserImpl(packet_in packet, out Headers hdr, inout Metadata meta, \
                    in pna_main_parser_input_metadata_t istd) {";
        self.portable_parser(head, &headers, sub_parser, Place::ParserState);
        self.line(
            "control PreImpl(in Headers hdr, inout Metadata meta, in pna_pre_input_metadata_t istd, \
             inout pna_pre_output_metadata_t ostd) {",
        );
        let decrypts = self.choices.one_in(6);
        self.line(if decrypts {
            "    apply { ostd.decrypt = istd.pass == (PassNumber_t)3w1; }"
        } else {
            "    apply {}"
        });
        self.line("}");
        self.line(
            "control MainImpl(inout Headers hdr, inout Metadata meta, in pna_main_input_metadata_t istd, \
             inout pna_main_output_metadata_t ostd) {",
        );
        self.portable_control(Place::Ingress, sub.as_ref(), "send_to_port((PortId_t)32w1);");
        self.scope.truncate(mark);
        self.line(
            "control DeparserImpl(packet_out packet, in Headers hdr, in Metadata meta, \
             in pna_main_output_metadata_t ostd) {",
        );
        let of_headers = self.fields_of(&headers);
        self.open("    apply {");
        self.emits(&of_headers);
        self.close("    }");
        self.line("}");
        self.line("PNA_NIC(ParserImpl(), PreImpl(), MainImpl(), DeparserImpl()) main;");
    }

    /// A parser that begins with the values that the packet carries.
    fn portable_parser(&mut self, head: &str, headers: &Ty, sub: Option<(String, Ty)>, place: Place) {
        self.line(head);
        let from = self.out.len();
        let of_headers = self.fields_of(headers);
        self.parser(&of_headers, sub);
        self.line("}");
        let carried = match place {
            Place::Ingress => ["resubmitted", "recirculated", ""].as_slice(),
            Place::Egress => ["normal", "cloned", "cloned_again"].as_slice(),
            _ => &[],
        };
        let name = self.choices.pick(carried).copied().unwrap_or("");
        if let Some(at) = self.out[from..].find("state start {\n").filter(|_| !name.is_empty()) {
            let at = from + at + "state start {\n".len();
            self.out.insert_str(at, &format!("        meta = {name};\n"));
        }
    }

    fn portable_control(&mut self, place: Place, sub: Option<&Callable>, first: &str) {
        let mark = self.scope.len();
        self.declare("istd.parser_error", &Ty::Error, false);
        self.control_body(place, sub, first);
        self.scope.truncate(mark);
        self.line("}");
    }

    fn psa_deparser(&mut self, head: &str, headers: &Ty, place: Place) {
        self.line(head);
        self.open("    apply {");
        let carried: &[(&str, &str)] = match place {
            Place::Ingress => &[
                ("cloned", "psa_clone_i2e(istd)"),
                ("resubmitted", "psa_resubmit(istd)"),
                ("normal", "psa_normal(istd)"),
            ],
            _ => &[("cloned_again", "psa_clone_e2e(istd)"), ("recirculated", "psa_recirculate(istd, edstd)")],
        };
        for (name, condition) in carried {
            match self.choices.below(4) {
                0 => {}
                1 => self.line(&format!("{name} = meta;")),
                _ => self.line(&format!("if ({condition}) {{ {name} = meta; }}")),
            }
        }
        let of_headers = self.fields_of(headers);
        self.emits(&of_headers);
        self.close("    }");
        self.line("}");
    }

    pub(super) fn portable_instances(&mut self) {
        let Some(prefix) = self.prefix().map(str::to_uppercase) else { return };
        for _ in 0..self.choices.below(3) {
            let name = self.fresh("register_");
            let size = 1 + self.choices.below(16) as u32;
            let ty = self.bit();
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
        if self.choices.one_in(2) {
            let name = self.fresh("hash_");
            let algorithm = match self.dialect {
                Dialect::Pna => "TARGET_DEFAULT",
                _ => self.one_of(&["CRC32", "CRC16", "IDENTITY", "ONES_COMPLEMENT16", "TARGET_DEFAULT"]),
            };
            let width = [16, 32, 8][self.choices.below(3)];
            self.line(&format!("Hash<bit<{width}>>({prefix}_HashAlgorithm_t.{algorithm}) {name};"));
            self.objects.hashes.push((name, width));
        }
        if self.choices.one_in(3) {
            let name = self.fresh("random_");
            let high = self.choices.below(300);
            self.line(&format!("Random<bit<16>>(16w0, 16w{high}) {name};"));
            self.objects.randoms.push(name);
        }
    }

    /// A call of an extern that the place allows.
    pub(super) fn portable_call(&mut self) {
        let Some(prefix) = self.prefix().map(str::to_uppercase) else { return };
        let is_main = matches!(self.place, Place::Ingress | Place::Egress);
        match self.choices.below(14) {
            0..=2 => self.register(),
            3 => {
                let counters = self.objects.counters.clone();
                if let Some((name, n)) = self.choices.pick(&counters).cloned() {
                    let index = self.cell(n);
                    self.line(&format!("{name}.count({index});"));
                }
            }
            4 => {
                let meters = self.objects.meters.clone();
                let Some((name, n)) = self.choices.pick(&meters).cloned() else { return };
                let places = self.places(|e| e.is_writable && matches!(e.ty, Ty::Bit(2..=64)));
                let Some(to) = self.choices.pick(&places).cloned() else { return };
                let Ty::Bit(w) = to.ty else { return };
                let index = self.cell(n);
                let before = self.one_of(&["", "RED", "YELLOW", "GREEN", ""]);
                let before = match before {
                    "" => String::new(),
                    colour => format!(", {prefix}_MeterColor_t.{colour}"),
                };
                let colour = self.one_of(&["RED", "YELLOW", "GREEN"]);
                self.line(&format!(
                    "{} = {name}.execute({index}{before}) == {prefix}_MeterColor_t.{colour} ? {w}w1 : {w}w2;",
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
                let data = self.list(4);
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
            _ if is_main => self.portable_decision(),
            _ => self.register(),
        }
    }

    /// Says what happens to the packet. Packets go round a few times only, and copies make no more copies.
    fn portable_decision(&mut self) {
        let session = self.choices.below(5);
        let condition = if self.choices.one_in(2) { "true".to_string() } else { self.expr(&Ty::Bool) };
        let port = match self.choices.below(3) {
            // The parameter of PNA's function wants a constant.
            0 if self.dialect == Dialect::Psa => self.expr(&Ty::Bit(32)),
            _ => format!("32w{}", self.choices.below(6)),
        };
        let line = match (self.dialect, self.place) {
            (Dialect::Pna, _) => match self.choices.below(6) {
                0 => format!("send_to_port((PortId_t)({port}));"),
                1 => "drop_packet();".to_string(),
                2 => format!("if (istd.pass == (PassNumber_t)3w0 && {condition}) {{ recirculate(); }}"),
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
                4 => format!("ostd.resubmit = istd.packet_path != PSA_PacketPath_t.RESUBMIT && {condition};"),
                5 => "if (istd.packet_path == PSA_PacketPath_t.NORMAL) { send_to_port(ostd, PSA_PORT_RECIRCULATE); }"
                    .to_string(),
                6 => format!("ostd.class_of_service = (ClassOfService_t)8w{};", self.choices.below(12)),
                _ => format!("ostd.drop = {condition};"),
            },
            _ => match self.choices.below(3) {
                0 => format!("ostd.drop = {condition};"),
                1 => "egress_drop(ostd);".to_string(),
                _ => format!(
                    "if (istd.packet_path != PSA_PacketPath_t.CLONE_E2E) {{ ostd.clone = {condition}; \
                     ostd.clone_session_id = (CloneSessionId_t)16w{session}; }}"
                ),
            },
        };
        self.line(&line);
    }
}
