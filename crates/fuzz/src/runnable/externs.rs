//! Externs of v1model: objects, hashes, digests, copies of packets.

use super::types::{Shape, Ty};
use super::{Dialect, Gen, Place};

const ALGORITHMS: &[&str] = &["crc32", "crc16", "csum16", "xor16", "identity"];

impl Gen<'_, '_> {
    /// The instances of a control.
    pub(super) fn instances(&mut self) {
        if self.dialect != Dialect::V1model {
            return self.portable_instances();
        }
        let n_registers = if self.keeps_nothing { 0 } else { self.choices.below(3) };
        for _ in 0..n_registers {
            let name = self.fresh("register_");
            let size = 1 + self.choices.below(16) as u32;
            let structs = self.types_with(|shape| match shape {
                Shape::Struct(fields) => fields.iter().all(|(_, t)| matches!(t, Ty::Bit(_) | Ty::Int(_))),
                _ => false,
            });
            let ty = match self.choices.pick(&structs).copied() {
                Some(i) if self.choices.one_in(2) && self.types[i].name == "Inner" => Ty::Named(i),
                _ if self.choices.one_in(5) => Ty::Int(self.width().max(2)),
                _ => self.bit(),
            };
            let text = self.text(&ty);
            self.line(&format!("register<{text}>({size}) {name};"));
            self.objects.registers.push((name, ty, size));
        }
        if self.choices.one_in(2) {
            let name = self.fresh("counter_");
            let size = 1 + self.choices.below(16) as u32;
            let kind = self.one_of(&["packets", "bytes", "packets_and_bytes"]);
            self.line(&format!("counter({size}, CounterType.{kind}) {name};"));
            self.objects.counters.push((name, size));
        }
        if !self.keeps_nothing && self.choices.one_in(2) {
            let name = self.fresh("meter_");
            let size = 1 + self.choices.below(8) as u32;
            let kind = self.one_of(&["packets", "bytes"]);
            self.line(&format!("meter({size}, MeterType.{kind}) {name};"));
            self.objects.meters.push((name, size));
        }
    }

    /// A `bit<32>`, mostly below `n`.
    pub(super) fn cell(&mut self, n: u32) -> String {
        match self.choices.below(4) {
            0 => format!("32w{}", self.choices.below(n as usize + 1)),
            1 => self.expr(&Ty::Bit(32)),
            _ => {
                let places = self.places(|e| matches!(e.ty, Ty::Bit(_)));
                match self.choices.pick(&places) {
                    Some(e) => format!("((bit<32>){} & 32w{})", e.path, n.next_power_of_two() - 1),
                    None => "32w0".to_string(),
                }
            }
        }
    }

    /// An index of the type that an object wants.
    pub(super) fn cell_of(&mut self, object: &str, n: u32) -> String {
        let index = self.cell(n);
        match self.objects.index_widths.get(object) {
            Some(32) | None => index,
            Some(width) => format!("(bit<{width}>)({index})"),
        }
    }

    pub(super) fn extern_call(&mut self) {
        if self.dialect != Dialect::V1model {
            return self.portable_call();
        }
        if self.place == Place::ParserState {
            return self.message();
        }
        let is_ingress = self.place == Place::Ingress;
        let is_egress = self.place == Place::Egress;
        match self.choices.below(20) {
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
                if let Some(to) = self.choices.pick(&places).map(|e| e.path.clone()) {
                    let index = self.cell(n);
                    self.line(&format!("{name}.execute_meter({index}, {to});"));
                }
            }
            5..=7 => self.hash(),
            8 if !self.keeps_nothing => self.random(),
            9 => self.message(),
            10 if (is_ingress || is_egress) && !self.keeps_nothing => self.digest(),
            11 | 12 if is_ingress || is_egress => self.again(is_ingress),
            13 if is_ingress => {
                let group = self.choices.below(5);
                self.line(&format!("std.mcast_grp = 16w{group};"));
            }
            14 if is_ingress || is_egress => self.line("mark_to_drop(std);"),
            15 if is_egress || is_ingress => {
                let length = if self.choices.one_in(2) {
                    self.choices.below(60).to_string()
                } else {
                    self.expr(&Ty::Bit(32))
                };
                self.line(&format!("truncate((bit<32>){length});"));
            }
            16 => self.assertion(),
            17 | 18 if is_ingress => {
                let port = if self.choices.one_in(2) {
                    format!("9w{}", self.choices.below(6))
                } else {
                    self.expr(&Ty::Bit(9))
                };
                self.line(&format!("std.egress_spec = {port};"));
            }
            _ => self.register(),
        }
    }

    /// Read, compute, write back.
    pub(super) fn register(&mut self) {
        let registers = self.objects.registers.clone();
        let Some((name, ty, n)) = self.choices.pick(&registers).cloned() else { return };
        let index = self.cell_of(&name, n);
        let text = self.text(&ty);
        let value = self.fresh("v");
        self.line(&format!("{text} {value};"));
        match self.dialect {
            Dialect::V1model => self.line(&format!("{name}.read({value}, {index});")),
            Dialect::Psa | Dialect::Pna => self.line(&format!("{value} = {name}.read({index});")),
        }
        self.declare(&value, &ty, true);
        if !self.choices.one_in(4) {
            let new = self.expr(&ty);
            self.line(&format!("{name}.write({index}, {new});"));
        }
    }

    fn hash(&mut self) {
        let places = self.places(|e| e.is_writable && matches!(e.ty, Ty::Bit(1..=64)));
        let Some(to) = self.choices.pick(&places).cloned() else { return };
        let algorithm = self.one_of(ALGORITHMS);
        let Ty::Bit(w) = to.ty else { return };
        let base = self.choices.below(2);
        let data = self.list(4);
        let max = match self.choices.below(3) {
            0 => format!("{w}w{}", if w > 4 { 10 } else { 1 }),
            1 => "32w0x10000".to_string(),
            _ => "64w0x100000000".to_string(),
        };
        self.line(&format!("hash({}, HashAlgorithm.{algorithm}, {w}w{base}, {data}, {max});", to.path));
    }

    /// Values of any widths in braces.
    pub(super) fn list(&mut self, n_max: usize) -> String {
        let n = 1 + self.choices.below(n_max);
        let items: Vec<String> = (0..n)
            .map(|_| {
                let is_portable = self.dialect != Dialect::V1model;
                let found = self.places(|e| match e.ty {
                    Ty::Named(_) => is_portable && self.has_bits(&e.ty),
                    Ty::Bit(_) | Ty::Int(_) | Ty::Bool => true,
                    _ => false,
                });
                match self.choices.pick(&found).cloned() {
                    Some(e) if self.choices.one_in(2) => e.path,
                    Some(e) => self.expr(&e.ty),
                    None => self.expr(&Ty::Bit(16)),
                }
            })
            .collect();
        format!("{{ {} }}", items.join(", "))
    }

    fn random(&mut self) {
        let places = self.places(|e| e.is_writable && matches!(e.ty, Ty::Bit(1..=64)));
        let Some(to) = self.choices.pick(&places).cloned() else { return };
        let Ty::Bit(w) = to.ty else { return };
        let (lo, hi) = match self.choices.below(3) {
            0 => (format!("{w}w0"), format!("{w}w1")),
            1 => (format!("{w}w0"), self.number_of_ones(w)),
            _ => (self.expr(&to.ty), self.expr(&to.ty)),
        };
        self.line(&format!("random({}, {lo}, {hi});", to.path));
    }

    fn number_of_ones(&mut self, w: u32) -> String {
        format!("{w}w{}", if w >= 128 { u128::MAX } else { (1u128 << w) - 1 })
    }

    fn message(&mut self) {
        if self.choices.one_in(2) {
            let value = self.expr(&Ty::Bit(16));
            self.line(&format!("log_msg(\"seen {{}}\", {{ {value} }});"));
        } else {
            self.line("log_msg(\"seen\");");
        }
    }

    pub(super) fn assertion(&mut self) {
        let name = self.one_of(&["assert", "assume"]);
        // Mostly true.
        let condition = self.expr(&Ty::Bool);
        let other = self.expr(&Ty::Bool);
        let knows_length = self.scope.iter().any(|e| e.path == "std.packet_length");
        let mostly = if knows_length { "std.packet_length < 32w500" } else { "true" };
        self.line(&format!("{name}({condition} || {other} || {mostly});"));
    }

    fn digest(&mut self) {
        let structs = self.types_with(|shape| matches!(shape, Shape::Struct(_)));
        let Some(i) = structs.iter().find(|i| self.types[**i].name == "Seen").copied() else { return };
        let fields = self.fields_of(&Ty::Named(i));
        let values: Vec<String> = fields.iter().map(|(_, t)| self.expr(t)).collect();
        self.line(&format!("digest<Seen>(1, {{ {} }});", values.join(", ")));
    }

    /// Clone, resubmit, recirculate: copies make no more copies, and packets go round a few times only.
    fn again(&mut self, is_ingress: bool) {
        let list = 1 + self.choices.below(2);
        let session = 1 + self.choices.below(4);
        let kind = if is_ingress { "CloneType.I2E" } else { "CloneType.E2E" };
        let what = match self.choices.below(5) {
            0 => format!("clone({kind}, 32w{session});"),
            1 | 2 => format!("clone_preserving_field_list({kind}, 32w{session}, {list});"),
            _ if is_ingress => format!("resubmit_preserving_field_list({list});"),
            _ => format!("recirculate_preserving_field_list({list});"),
        };
        let condition =
            if self.choices.one_in(2) { String::new() } else { format!(" && {}", self.expr(&Ty::Bool)) };
        if what.starts_with("recirculate") {
            // Egress of a packet that goes round sees it as any other.
            self.line(&format!(
                "if (meta.rounds < 8w2{condition}) {{ meta.rounds = meta.rounds + 1; {what} }}"
            ));
        } else {
            self.line(&format!("if (std.instance_type == 32w0{condition}) {{ {what} }}"));
        }
    }

    /// Values whose widths add up to a multiple of 32, for checksums.
    pub(super) fn words(&mut self, n_max: usize) -> String {
        let n = 1 + self.choices.below(n_max);
        let items: Vec<String> = (0..n)
            .flat_map(|_| {
                let found = self.places(|e| matches!(e.ty, Ty::Bit(_)));
                let e = self.choices.pick(&found).cloned();
                match e {
                    Some(super::Entry { path, ty: Ty::Bit(w), .. }) if w.is_multiple_of(32) => vec![path],
                    Some(super::Entry { path, ty: Ty::Bit(w), .. }) if w < 32 => {
                        vec![path, format!("{}w0", 32 - w)]
                    }
                    Some(e) => vec![format!("(bit<32>){}", e.path)],
                    None => vec!["32w7".to_string()],
                }
            })
            .collect();
        format!("{{ {} }}", items.join(", "))
    }
}
