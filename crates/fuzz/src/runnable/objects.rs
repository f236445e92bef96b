//! Objects of PSA and PNA: registers, counters, meters, hashes, checksums, digests.

use super::types::{Shape, Ty};
use super::{Callable, Checksum, Dialect, Direction, Edition, Gen};

impl Gen<'_, '_> {
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
            let w = self.index_width(&name, size);
            self.line(&format!("Register<{text}, bit<{w}>>({size}{initial}) {name};"));
            self.objects.registers.push((name, ty, size));
        }
        if self.choices.one_in(2) {
            let name = self.fresh("counter_");
            let size = 1 + self.choices.below(16) as u32;
            let kind = self.one_of(&["PACKETS", "BYTES", "PACKETS_AND_BYTES"]);
            let (of, w) = (self.counter_width(), self.index_width(&name, size));
            self.line(&format!(
                "Counter<bit<{of}>, bit<{w}>>({size}, {prefix}_CounterType_t.{kind}) {name};"
            ));
            self.objects.counters.push((name, size));
        }
        if self.choices.one_in(2) {
            let name = self.fresh("meter_");
            let size = 1 + self.choices.below(8) as u32;
            let kind = self.one_of(&["PACKETS", "BYTES"]);
            let w = self.index_width(&name, size);
            self.line(&format!("Meter<bit<{w}>>({size}, {prefix}_MeterType_t.{kind}) {name};"));
            self.objects.meters.push((name, size));
        }
        self.hashes();
        if self.choices.one_in(3) {
            let name = self.fresh("random_");
            let w = [16, 16, 8, 32, 64][self.choices.below(5)];
            let (low, high) = match self.choices.below(3) {
                0 => {
                    let (one, other) = (self.natural(w), self.natural(w));
                    (format!("{w}w{}", one.min(other)), format!("{w}w{}", one.max(other)))
                }
                _ => {
                    (format!("{w}w{}", self.choices.below(3)), format!("{w}w{}", 2 + self.choices.below(254)))
                }
            };
            self.line(&format!("Random<bit<{w}>>({low}, {high}) {name};"));
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

    /// Draws the width of an index into `n` cells, and remembers it.
    fn index_width(&mut self, name: &str, n: u32) -> u32 {
        let least = n.next_power_of_two().trailing_zeros().max(1);
        let width = [32, 32, 8, least][self.choices.below(4)];
        self.objects.index_widths.insert(name.to_string(), width);
        width
    }

    fn counter_width(&mut self) -> u32 {
        [64, 32, 8, 16][self.choices.below(4)]
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
            let width = [16, 32, 8, 64, 16, 32, 1, 48, 128][self.choices.below(9)];
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
            let of = self.counter_width();
            self.line(&format!("DirectCounter<bit<{of}>>({prefix}_CounterType_t.{kind}) {counter};"));
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
}
