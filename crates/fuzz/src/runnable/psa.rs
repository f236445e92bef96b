//! Programs for PSA: two sides, each with types of its own, and what packets carry from one block to another.

use super::portable::Fields;
use super::types::{Shape, Ty};
use super::{Callable, Edition, Gen, Place};

const INGRESS_PARSER_INPUT: Fields = &[("ingress_port", "PortId_t"), ("packet_path", "PSA_PacketPath_t")];
const INGRESS_INPUT: Fields = &[
    ("ingress_port", "PortId_t"),
    ("packet_path", "PSA_PacketPath_t"),
    ("ingress_timestamp", "Timestamp_t"),
    ("parser_error", "error"),
];
/// Those that may have any value. The others decide how often a packet goes round.
const INGRESS_OUTPUT: Fields = &[
    ("class_of_service", "ClassOfService_t"),
    ("clone_session_id", "CloneSessionId_t"),
    ("drop", "bool"),
    ("multicast_group", "MulticastGroup_t"),
    ("egress_port", "PortId_t"),
];
const EGRESS_PARSER_INPUT: Fields = &[("egress_port", "PortId_t"), ("packet_path", "PSA_PacketPath_t")];
const EGRESS_INPUT: Fields = &[
    ("class_of_service", "ClassOfService_t"),
    ("egress_port", "PortId_t"),
    ("packet_path", "PSA_PacketPath_t"),
    ("instance", "EgressInstance_t"),
    ("egress_timestamp", "Timestamp_t"),
    ("parser_error", "error"),
];
const EGRESS_OUTPUT: Fields = &[("clone_session_id", "CloneSessionId_t"), ("drop", "bool")];

const PATHS: &[&str] =
    &["NORMAL", "NORMAL_UNICAST", "NORMAL_MULTICAST", "CLONE_I2E", "CLONE_E2E", "RESUBMIT", "RECIRCULATE"];

/// The types of one side of the switch.
struct Side {
    headers: Ty,
    metadata: Ty,
}

/// A value that packets carry.
struct Carried {
    name: &'static str,
    ty: Ty,
    /// True in the deparser if the packet will carry it.
    is_carried: &'static str,
    /// The path of packets that bring it.
    path: &'static str,
}

impl Gen<'_, '_> {
    pub(super) fn psa(&mut self) {
        self.line("#include <core.p4>");
        if self.choices.one_in(6) {
            self.edition = Edition::Dpdk;
        }
        self.line(if self.edition == Edition::Dpdk { "#include <dpdk/psa.p4>" } else { "#include <psa.p4>" });
        self.line("#include <siding_state.p4>");
        self.new_types(&[
            ("PortId_t", 32),
            ("MulticastGroup_t", 32),
            ("CloneSessionId_t", 16),
            ("ClassOfService_t", 8),
            ("EgressInstance_t", 16),
            ("Timestamp_t", 64),
        ]);
        self.known_type("PSA_PacketPath_t", Shape::Enum(PATHS.iter().map(ToString::to_string).collect()));
        self.colours("PSA_MeterColor_t");
        let (headers, metadata, sub_parser, sub) = self.top_level();
        let ingress = Side { headers, metadata };
        let egress = self.other_side(&ingress);
        let mut carried = |name, path, is_carried| {
            let ty = self.carried_type(&ingress, &egress);
            Carried { name, ty, is_carried, path }
        };
        let cloned = carried("cloned", "CLONE_I2E", "psa_clone_i2e(istd)");
        let resubmitted = carried("resubmitted", "RESUBMIT", "psa_resubmit(istd)");
        let normal = carried("normal", "NORMAL_UNICAST", "psa_normal(istd)");
        let cloned_again = carried("cloned_again", "CLONE_E2E", "psa_clone_e2e(istd)");
        let recirculated = carried("recirculated", "RECIRCULATE", "psa_recirculate(istd, edstd)");

        let mark = self.scope.len();
        let (h, m) = (self.text(&ingress.headers), self.text(&ingress.metadata));
        let values = self.parameters("in", &[&resubmitted, &recirculated]);
        let head = format!(
            "parser IngressParserImpl(packet_in packet, out {h} hdr, inout {m} meta, \
             in psa_ingress_parser_input_metadata_t istd, {values}) {{"
        );
        self.declare_side(&ingress);
        self.fields_in("istd", INGRESS_PARSER_INPUT, false);
        self.psa_parser(&head, &ingress, sub_parser.clone(), &[&resubmitted, &recirculated]);
        self.line(&format!(
            "control IngressImpl(inout {h} hdr, inout {m} meta, in psa_ingress_input_metadata_t istd, \
             inout psa_ingress_output_metadata_t ostd) {{"
        ));
        self.scope.truncate(mark);
        self.declare_side(&ingress);
        self.fields_in("istd", INGRESS_INPUT, false);
        self.fields_in("ostd", INGRESS_OUTPUT, true);
        self.fields_in("ostd", &[("clone", "bool"), ("resubmit", "bool")], false);
        self.psa_control(Place::Ingress, sub.as_ref(), "send_to_port(ostd, (PortId_t)32w1);");
        self.scope.truncate(mark);
        let values = self.parameters("out", &[&cloned, &resubmitted, &normal]);
        self.fields_in("istd", INGRESS_OUTPUT, false);
        self.psa_deparser(
            &format!(
                "control IngressDeparserImpl(packet_out packet, {values}, inout {h} hdr, in {m} meta, \
                 in psa_ingress_output_metadata_t istd) {{"
            ),
            &ingress,
            &[&cloned, &resubmitted, &normal],
        );
        self.scope.truncate(mark);

        let (h, m) = (self.text(&egress.headers), self.text(&egress.metadata));
        let values = self.parameters("in", &[&normal, &cloned, &cloned_again]);
        let head = format!(
            "parser EgressParserImpl(packet_in packet, out {h} hdr, inout {m} meta, \
             in psa_egress_parser_input_metadata_t istd, {values}) {{"
        );
        self.declare_side(&egress);
        self.fields_in("istd", EGRESS_PARSER_INPUT, false);
        self.psa_parser(&head, &egress, sub_parser, &[&normal, &cloned, &cloned_again]);
        self.line(&format!(
            "control EgressImpl(inout {h} hdr, inout {m} meta, in psa_egress_input_metadata_t istd, \
             inout psa_egress_output_metadata_t ostd) {{"
        ));
        self.scope.truncate(mark);
        self.declare_side(&egress);
        self.fields_in("istd", EGRESS_INPUT, false);
        self.fields_in("ostd", EGRESS_OUTPUT, true);
        self.fields_in("ostd", &[("clone", "bool")], false);
        self.psa_control(Place::Egress, sub.as_ref(), "");
        self.scope.truncate(mark);
        let values = self.parameters("out", &[&cloned_again, &recirculated]);
        self.fields_in("istd", EGRESS_OUTPUT, false);
        self.fields_in("edstd", &[("egress_port", "PortId_t")], false);
        self.psa_deparser(
            &format!(
                "control EgressDeparserImpl(packet_out packet, {values}, inout {h} hdr, in {m} meta, \
                 in psa_egress_output_metadata_t istd, in psa_egress_deparser_input_metadata_t edstd) {{"
            ),
            &egress,
            &[&cloned_again, &recirculated],
        );
        self.scope.truncate(mark);
        self.line("IngressPipeline(IngressParserImpl(), IngressImpl(), IngressDeparserImpl()) ingress;");
        self.line("EgressPipeline(EgressParserImpl(), EgressImpl(), EgressDeparserImpl()) egress;");
        self.line("PSA_Switch(ingress, PacketReplicationEngine(), egress, BufferingQueueingEngine()) main;");
    }

    /// The types of egress: those of ingress, or others.
    fn other_side(&mut self, ingress: &Side) -> Side {
        let mut headers = ingress.headers.clone();
        if self.choices.one_in(2) {
            let mut fields = self.fields_of(&headers);
            let n = fields.len();
            fields.rotate_left(self.choices.below(n));
            if n > 2 && self.choices.one_in(2) {
                fields.remove(self.choices.below(n));
            }
            for (_, ty) in &mut fields {
                if let Ty::Stack(_, n) = ty
                    && self.choices.one_in(2)
                {
                    *n = 2 + self.choices.below(4) as u32;
                }
            }
            headers = Ty::Named(self.define("EgressHeaders", Shape::Struct(fields)));
        }
        let has_own = self.choices.one_in(2);
        let metadata =
            if has_own { Ty::Named(self.metadata("EgressMetadata")) } else { ingress.metadata.clone() };
        Side { headers, metadata }
    }

    /// The type of a value that packets carry.
    fn carried_type(&mut self, ingress: &Side, egress: &Side) -> Ty {
        match self.choices.below(8) {
            0 | 1 => ingress.metadata.clone(),
            2 => egress.metadata.clone(),
            3 => ingress.headers.clone(),
            4 => egress.headers.clone(),
            _ => {
                let of_headers = self.fields_of(&egress.headers);
                let fields = (0..self.choices.below(5)).map(|i| {
                    let ty = match self.choices.below(4) {
                        0 | 1 => self.scalar(),
                        2 => self.choices.pick(&of_headers).map_or(Ty::Bool, |(_, ty)| ty.clone()),
                        _ => self.value(),
                    };
                    (format!("c{i}"), ty)
                });
                let fields: Vec<(String, Ty)> = fields.collect();
                let name = self.fresh("Carried");
                Ty::Named(self.define(&name, Shape::Struct(fields)))
            }
        }
    }

    fn parameters(&mut self, direction: &str, values: &[&Carried]) -> String {
        let one = |value: &&Carried| format!("{direction} {} {}", self.text(&value.ty), value.name);
        values.iter().map(one).collect::<Vec<_>>().join(", ")
    }

    fn declare_side(&mut self, side: &Side) {
        self.declare("hdr", &side.headers, true);
        self.declare("meta", &side.metadata, true);
    }

    /// A parser that begins with what the packet carries.
    fn psa_parser(&mut self, head: &str, side: &Side, sub: Option<(String, Ty)>, values: &[&Carried]) {
        self.line(head);
        let mut first = Vec::new();
        for value in values {
            self.declare(value.name, &value.ty, false);
            if self.choices.one_in(4) {
                continue;
            }
            let mut lines = Vec::new();
            for _ in 0..1 + self.choices.below(3) {
                let is_part = |e: &super::Entry| is_part_of(&e.path, value.name);
                let parts = self.places(is_part);
                let Some(part) = self.choices.pick(&parts).cloned() else { continue };
                let target = self.places(|e| e.is_writable && e.ty == part.ty);
                if let Some(to) = self.choices.pick(&target) {
                    lines.push(format!("{} = {};", to.path, part.path));
                }
            }
            let condition = format!("istd.packet_path == PSA_PacketPath_t.{}", value.path);
            if !lines.is_empty() && self.choices.one_in(2) {
                lines = vec![format!("if ({condition}) {{ {} }}", lines.join(" "))];
            }
            first.extend(lines);
        }
        let of_headers = self.fields_of(&side.headers);
        let outer = self.new_control();
        self.parser(&of_headers, sub, &first);
        self.end_control(outer);
        self.line("}");
    }

    fn psa_control(&mut self, place: Place, sub: Option<&Callable>, first: &str) {
        self.control_body(place, sub, first);
        self.line("}");
    }

    fn psa_deparser(&mut self, head: &str, side: &Side, values: &[&Carried]) {
        self.line(head);
        self.declare("hdr", &side.headers, true);
        self.declare("meta", &side.metadata, false);
        values.iter().for_each(|value| self.declare(value.name, &value.ty, true));
        let outer = self.new_control();
        self.indent += 1;
        self.portable_deparser_objects();
        self.open("apply {");
        let place = std::mem::replace(&mut self.place, Place::Deparser);
        self.statements(3, 1);
        for value in values {
            match self.choices.below(5) {
                0 => {}
                1 => self.assignments_to(value.name),
                _ => {
                    self.open(&format!("if ({}) {{", value.is_carried));
                    self.assignments_to(value.name);
                    self.close("}");
                }
            }
        }
        self.statements(2, 1);
        self.place = place;
        let of_headers = self.fields_of(&side.headers);
        self.emits(&of_headers);
        self.other_emits();
        self.close("}");
        self.indent -= 1;
        self.end_control(outer);
        self.line("}");
    }

    /// Writes some parts of a value, mostly from places of their types.
    fn assignments_to(&mut self, name: &str) {
        for _ in 0..1 + self.choices.below(4) {
            let parts = self.places(|e| e.is_writable && is_part_of(&e.path, name));
            let Some(part) = self.choices.pick(&parts).cloned() else { return };
            let others = self.places(|e| e.ty == part.ty && !is_part_of(&e.path, name));
            match self.choices.pick(&others).cloned() {
                Some(other) if self.is_special(&part.ty) || !self.choices.one_in(4) => {
                    self.line(&format!("{} = {};", part.path, other.path));
                }
                _ if self.is_special(&part.ty) => {}
                _ if self.is_header(&part.ty) && self.choices.one_in(2) => {
                    self.line(&format!("{}.setValid();", part.path));
                }
                _ => {
                    let value = self.expr(&part.ty);
                    self.line(&format!("{} = {value};", part.path));
                }
            }
        }
    }
}

/// True for the place `name` and for its fields and elements.
fn is_part_of(path: &str, name: &str) -> bool {
    path.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

#[cfg(test)]
mod tests {
    use super::is_part_of;

    #[test]
    fn parts_are_told_from_other_names() {
        assert!(is_part_of("cloned", "cloned") && is_part_of("cloned.c0[1].f1", "cloned"));
        assert!(!is_part_of("cloned_again.c0", "cloned") && !is_part_of("hdr", "h"));
    }
}
