//! Programs for PNA: its three include files, the pre control, and the blocks of the only pipeline.

use super::portable::Fields;
use super::types::{Shape, Ty};
use super::{Callable, Edition, Gen, Place};

const PARSER_INPUT: Fields = &[
    ("direction", "PNA_Direction_t"),
    ("pass", "PassNumber_t"),
    ("loopedback", "bool"),
    ("input_port", "PortId_t"),
];
const PRE_INPUT: Fields = &[
    ("input_port", "PortId_t"),
    ("parser_error", "error"),
    ("direction", "PNA_Direction_t"),
    ("pass", "PassNumber_t"),
];
const MAIN_INPUT: Fields = &[
    ("direction", "PNA_Direction_t"),
    ("pass", "PassNumber_t"),
    ("timestamp", "Timestamp_t"),
    ("parser_error", "error"),
    ("class_of_service", "ClassOfService_t"),
    ("input_port", "PortId_t"),
];
const BMV2_PARSER_INPUT: Fields = &[("recirculated", "bool"), ("input_port", "PortId_t")];
const BMV2_MAIN_INPUT: Fields = &[
    ("recirculated", "bool"),
    ("timestamp", "Timestamp_t"),
    ("parser_error", "error"),
    ("class_of_service", "ClassOfService_t"),
    ("input_port", "PortId_t"),
];

impl Gen<'_, '_> {
    pub(super) fn pna(&mut self) {
        self.line("#include <core.p4>");
        let (edition, include) = match self.choices.below(6) {
            0..=2 => (Edition::Usual, "pna.p4"),
            3 | 4 => (Edition::Dpdk, "dpdk/pna.p4"),
            _ => (Edition::Bmv2, "bmv2/pna.p4"),
        };
        self.edition = edition;
        self.line(&format!("#include <{include}>"));
        self.line("#include <siding_state.p4>");
        self.new_types(&[
            ("PortId_t", 32),
            ("MirrorSessionId_t", 16),
            ("MirrorSlotId_t", 8),
            ("ClassOfService_t", 8),
            ("PassNumber_t", 3),
            ("Timestamp_t", 64),
        ]);
        let has_pre = edition != Edition::Bmv2;
        if has_pre {
            let directions = ["NET_TO_HOST", "HOST_TO_NET"].map(String::from).to_vec();
            self.known_type("PNA_Direction_t", Shape::Enum(directions));
        }
        self.colours("PNA_MeterColor_t");
        let (headers, metadata, sub_parser, sub) = self.top_level();
        let mark = self.scope.len();
        let declare = |g: &mut Self, inputs: Fields| {
            g.declare("hdr", &headers, true);
            g.declare("meta", &metadata, true);
            g.fields_in("istd", inputs, false);
        };
        declare(self, if has_pre { PARSER_INPUT } else { BMV2_PARSER_INPUT });
        self.line(
            "parser ParserImpl(packet_in packet, out Headers hdr, inout Metadata meta, \
             in pna_main_parser_input_metadata_t istd) {",
        );
        let of_headers = self.fields_of(&headers);
        let outer = self.new_control();
        self.parser(&of_headers, sub_parser, &[]);
        self.end_control(outer);
        self.line("}");
        self.scope.truncate(mark);
        if has_pre {
            self.pre_control(&headers, &metadata, sub.as_ref());
            self.scope.truncate(mark);
        }
        declare(self, if has_pre { MAIN_INPUT } else { BMV2_MAIN_INPUT });
        self.fields_in("ostd", &[("class_of_service", "ClassOfService_t")], true);
        self.line(
            "control MainImpl(inout Headers hdr, inout Metadata meta, in pna_main_input_metadata_t istd, \
             inout pna_main_output_metadata_t ostd) {",
        );
        self.control_body(Place::Ingress, sub.as_ref(), "send_to_port((PortId_t)32w1);");
        self.line("}");
        self.scope.truncate(mark);
        self.pna_deparser(&headers, &metadata);
        self.scope.truncate(mark);
        let pre = if has_pre { "PreImpl(), " } else { "" };
        self.line(&format!("PNA_NIC(ParserImpl(), {pre}MainImpl(), DeparserImpl()) main;"));
    }

    /// The control in front of an accelerator, with the types of the parser or its own.
    fn pre_control(&mut self, headers: &Ty, metadata: &Ty, sub: Option<&Callable>) {
        let metadata =
            if self.choices.one_in(3) { Ty::Named(self.metadata("PreMetadata")) } else { metadata.clone() };
        let text = self.text(&metadata);
        self.line(&format!(
            "control PreImpl(in Headers hdr, inout {text} meta, in pna_pre_input_metadata_t istd, \
             inout pna_pre_output_metadata_t ostd) {{"
        ));
        self.declare("hdr", headers, false);
        self.declare("meta", &metadata, true);
        self.fields_in("istd", PRE_INPUT, false);
        let decrypts = self.choices.one_in(6);
        let condition = if decrypts { self.pure_expr(&Ty::Bool) } else { "false".to_string() };
        if self.choices.one_in(2) {
            let condition = format!("ostd.decrypt = {condition};");
            self.control_body(Place::SubControl, sub, &condition);
        } else {
            self.line(&format!("    apply {{ ostd.decrypt = {condition}; }}"));
        }
        self.line("}");
    }

    fn pna_deparser(&mut self, headers: &Ty, metadata: &Ty) {
        let is_writable = self.edition == Edition::Bmv2;
        let direction = if is_writable { "inout" } else { "in" };
        self.line(&format!(
            "control DeparserImpl(packet_out packet, {direction} Headers hdr, in Metadata meta, \
             in pna_main_output_metadata_t ostd) {{"
        ));
        self.declare("hdr", headers, is_writable);
        self.declare("meta", metadata, false);
        self.fields_in("ostd", &[("class_of_service", "ClassOfService_t")], false);
        let outer = self.new_control();
        self.indent += 1;
        self.portable_deparser_objects();
        self.open("apply {");
        let place = std::mem::replace(&mut self.place, Place::Deparser);
        self.statements(4, 1);
        self.place = place;
        let of_headers = self.fields_of(headers);
        self.emits(&of_headers);
        self.other_emits();
        self.close("}");
        self.indent -= 1;
        self.end_control(outer);
        self.line("}");
    }
}
