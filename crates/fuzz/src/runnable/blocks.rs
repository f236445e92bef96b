//! The blocks of a program and what they share.

use super::types::{Shape, Ty};
use super::{Callable, Checksum, Dialect, Direction, Gen, Param, Place};

impl Gen<'_, '_> {
    pub(super) fn program(&mut self) {
        self.line("#include <core.p4>");
        self.line("#include <v1model.p4>");
        self.line("#include <siding_state.p4>");
        let (headers, metadata, sub_parser, sub) = self.top_level();
        let of_headers = self.fields_of(&headers);
        let mark = self.scope.len();
        self.declare("hdr", &headers, true);
        self.declare("meta", &metadata, true);
        let without_standard = self.scope.len();
        self.standard(&[("ingress_port", Ty::Bit(9)), ("packet_length", Ty::Bit(32))]);
        self.line(
            "parser MyParser(packet_in packet, out Headers hdr, inout Metadata meta, inout standard_metadata_t std) {",
        );
        self.parser(&of_headers, sub_parser, &[]);
        self.line("}");
        self.scope.truncate(without_standard);

        self.checksums("MyVerify", "verify_checksum");
        self.control("MyIngress", Place::Ingress, sub.as_ref());
        self.control("MyEgress", Place::Egress, sub.as_ref());
        self.checksums("MyCompute", "update_checksum");
        self.scope.truncate(mark);
        self.deparser(&of_headers);
        self.line(
            "V1Switch(MyParser(), MyVerify(), MyIngress(), MyEgress(), MyCompute(), MyDeparser()) main;",
        );
    }

    /// Writes all that is outside of the blocks: types, constants, functions, an action. Gives the types of headers and metadata, a sub-parser
    /// and a sub-control.
    pub(super) fn top_level(&mut self) -> (Ty, Ty, Option<(String, Ty)>, Option<Callable>) {
        let (headers, metadata) = self.type_declarations();
        let seen = vec![("a".to_string(), self.bit()), ("b".to_string(), self.scalar_number())];
        self.define("Seen", Shape::Struct(seen));
        for _ in 0..self.choices.below(3) {
            let ty = self.scalar();
            let name = self.fresh("C");
            let (text, value) = (self.text(&ty), self.literal(&ty));
            self.line(&format!("const {text} {name} = {value};"));
            self.declare(&name, &ty, false);
        }
        for _ in 0..self.choices.below(4) {
            self.function();
        }
        if self.choices.one_in(3) {
            let action = self.action(&[Direction::InOut, Direction::In, Direction::Out], None);
            self.actions.push(action);
        }
        let sub_parser = if self.choices.one_in(3) { self.sub_parser() } else { None };
        let sub = if self.choices.one_in(2) { Some(self.sub_control()) } else { None };
        (Ty::Named(headers), Ty::Named(metadata), sub_parser, sub)
    }

    fn scalar_number(&mut self) -> Ty {
        if self.choices.one_in(3) { Ty::Int(self.width().max(2)) } else { self.bit() }
    }

    /// Fields of the standard metadata.
    fn standard(&mut self, fields: &[(&str, Ty)]) {
        for (field, ty) in fields {
            self.declare(&format!("std.{field}"), ty, false);
        }
    }

    fn function(&mut self) {
        let params = self.params(3, &[Direction::In, Direction::InOut, Direction::Out]);
        let result = if self.choices.one_in(5) { None } else { Some(self.value()) };
        let name = self.fresh("f");
        let head = result.as_ref().map_or("void".to_string(), |ty| self.text(ty));
        let text = self.params_text(&params);
        self.line(&format!("{head} {name}({text}) {{"));
        let mark = self.scope.len();
        self.declare_params(&params);
        let outer = std::mem::replace(&mut self.place, Place::Function);
        self.result = result.clone();
        self.indent += 1;
        self.statements(3, 1);
        if let Some(ty) = &result {
            let value = self.expr(ty);
            self.line(&format!("return {value};"));
        }
        self.indent -= 1;
        self.result = None;
        self.place = outer;
        self.scope.truncate(mark);
        self.line("}");
        self.functions.push(Callable { name, params, result });
    }

    /// With a constructor parameter and state of its own; gives how it is applied.
    fn sub_control(&mut self) -> Callable {
        let headers = self.types_with(|shape| matches!(shape, Shape::Header(_)));
        let header = headers.first().copied().unwrap_or(0);
        let param = |name: &str, ty: Ty, direction| Param { name: name.to_string(), ty, direction };
        let params = vec![
            param("head", Ty::Named(header), Direction::InOut),
            param("x", self.bit(), Direction::InOut),
            param("y", self.scalar(), Direction::In),
            param("z", Ty::Bool, Direction::Out),
        ];
        let text = self.params_text(&params);
        let from = self.out.len();
        self.line(&format!("control Sub({text})(bit<8> which) {{"));
        let mark = self.scope.len();
        self.declare_params(&params);
        self.declare("which", &Ty::Bit(8), false);
        let outer = (self.new_control(), std::mem::replace(&mut self.place, Place::SubControl));
        // Top-level actions and functions do not know the standard metadata, nor does this.
        self.indent += 1;
        if !self.keeps_nothing && self.choices.one_in(2) {
            let text = match self.dialect {
                Dialect::V1model => "register<bit<16>>(4) cells;",
                Dialect::Psa | Dialect::Pna => "Register<bit<16>, bit<32>>(4) cells;",
            };
            self.line(text);
            self.objects.registers.push(("cells".to_string(), Ty::Bit(16), 4));
        }
        if self.dialect != Dialect::V1model && self.choices.one_in(3) {
            self.line("InternetChecksum() sum;");
            let sum = Checksum { name: "sum".to_string(), is_internet: true, in_words: true };
            self.objects.checksums.push(sum);
        }
        self.actions_and_tables(1);
        self.line("apply {");
        self.block(4, 2);
        self.line("}");
        self.indent -= 1;
        self.place = outer.1;
        self.end_control(outer.0);
        self.scope.truncate(mark);
        self.line("}");
        self.note_exits("Sub", from);
        Callable { name: "Sub".to_string(), params, result: None }
    }

    fn control(&mut self, name: &str, place: Place, sub: Option<&Callable>) {
        self.line(&format!(
            "control {name}(inout Headers hdr, inout Metadata meta, inout standard_metadata_t std) {{"
        ));
        let mark = self.scope.len();
        self.standard(&[
            ("ingress_port", Ty::Bit(9)),
            ("packet_length", Ty::Bit(32)),
            ("instance_type", Ty::Bit(32)),
            ("parser_error", Ty::Error),
            ("checksum_error", Ty::Bit(1)),
            ("ingress_global_timestamp", Ty::Bit(48)),
        ]);
        if place == Place::Egress {
            self.standard(&[("egress_port", Ty::Bit(9)), ("egress_rid", Ty::Bit(16))]);
        }
        self.declare("std.priority", &Ty::Bit(3), true);
        if place == Place::Ingress {
            self.declare("std.egress_spec", &Ty::Bit(9), false);
        }
        let first = if place == Place::Ingress { "std.egress_spec = 9w1;" } else { "" };
        self.control_body(place, sub, first);
        self.scope.truncate(mark);
        self.line("}");
    }

    /// The body of a control, whose head and names are there. It begins with the statement `first`.
    pub(super) fn control_body(&mut self, place: Place, sub: Option<&Callable>, first: &str) {
        let outer = (self.new_control(), std::mem::replace(&mut self.place, place));
        self.indent += 1;
        self.instances();
        if let Some(sub) = sub {
            for i in 1..=1 + self.choices.below(2) {
                let instance = format!("sub{i}");
                let from = self.out.len();
                self.line(&format!("Sub({i}) {instance};"));
                self.note_exits(&instance, from);
                self.objects.subs.push(Callable { name: instance, ..sub.clone() });
            }
        }
        for _ in 0..self.choices.below(2) {
            self.variable();
        }
        self.actions_and_tables(3);
        self.line("apply {");
        self.indent += 1;
        if !first.is_empty() {
            self.line(first);
        }
        if self.dialect != Dialect::V1model && matches!(place, Place::Ingress | Place::Egress) {
            for _ in 0..self.choices.below(4) {
                self.portable_decision();
            }
        }
        // Use the declared objects.
        for _ in 0..self.objects.tables.len() + self.objects.subs.len() {
            self.statements(2, 2);
            self.apply(2);
        }
        self.statements(5, 3);
        self.indent -= 1;
        self.line("}");
        self.indent -= 1;
        self.place = outer.1;
        self.end_control(outer.0);
    }

    fn checksums(&mut self, name: &str, function: &str) {
        self.line(&format!("control {name}(inout Headers hdr, inout Metadata meta) {{"));
        self.open("    apply {");
        for _ in 0..self.choices.below(3) {
            let payload = ["", "", "_with_payload"][self.choices.below(3)];
            let (algorithms, width): (&[&str], u32) = match self.choices.below(3) {
                0 => (&["crc32"], 32),
                _ => (&["csum16", "crc16", "xor16", "csum16"], 16),
            };
            let found = self.places(|e| e.is_writable && e.ty == Ty::Bit(width));
            let Some(to) = self.choices.pick(&found).map(|e| e.path.clone()) else { continue };
            let algorithm = algorithms[self.choices.below(algorithms.len())];
            let condition = self.pure_expr(&Ty::Bool);
            let data = self.words(4);
            self.line(&format!("{function}{payload}({condition}, {data}, {to}, HashAlgorithm.{algorithm});"));
        }
        self.close("    }");
        self.line("}");
    }

    fn deparser(&mut self, headers: &[(String, Ty)]) {
        self.line("control MyDeparser(packet_out packet, in Headers hdr) {");
        self.open("    apply {");
        self.emits(headers);
        self.close("    }");
        self.line("}");
    }

    /// Emits all headers together, one by one, or some.
    pub(super) fn emits(&mut self, headers: &[(String, Ty)]) {
        match self.choices.below(4) {
            0 => self.line("packet.emit(hdr);"),
            n => {
                for (name, ty) in headers {
                    if n == 1 && self.is_header(ty) && self.choices.one_in(3) {
                        let condition = match self.fields_of(ty).first() {
                            Some((field, Ty::Bit(w))) => format!("hdr.{name}.{field} != {w}w3"),
                            _ => "true".to_string(),
                        };
                        self.line(&format!("if ({condition}) {{ packet.emit(hdr.{name}); }}"));
                    } else if n == 2 && self.choices.one_in(6) {
                        continue;
                    } else {
                        self.line(&format!("packet.emit(hdr.{name});"));
                    }
                }
            }
        }
    }
}
