//! A report of the values that survive each wait.

use super::{Point, PointKind, SegmentEntry, Segments};
use crate::layout::n_leaves;
use crate::leaf_set::LeafSet;
use crate::lookup::get;
use crate::text::Printer;
use crate::{Place, Program, Step, StructKind, Type};

/// A line of the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PointReport {
    /// `table MyIngress.routes`, `extern f`, `queue`, ...
    pub construct: String,
    pub block: String,
    /// The values that must survive. A struct stands for its fields when all of them must.
    pub live: Vec<String>,
    pub live_bits: u64,
    /// The key or the arguments.
    pub request: Vec<String>,
    pub request_bits: u64,
}

impl PointReport {
    /// The size of the packet's context area in bytes. Each value takes its width in bits.
    pub fn size_bytes(&self) -> u64 {
        (self.live_bits + self.request_bits).div_ceil(8)
    }
}

impl Segments {
    /// The report for each point.
    pub fn report(&self) -> Vec<PointReport> {
        let printer = Printer::new(&self.program);
        self.points.iter().map(|point| self.report_point(&printer, point)).collect()
    }

    fn report_point(&self, printer: &Printer, point: &Point) -> PointReport {
        let construct = match &point.kind {
            PointKind::Table(id) => format!("table {}", printer.table(*id)),
            PointKind::Extern { name, object: Some(object) } => {
                format!("extern {name} of {}", printer.object(*object))
            }
            PointKind::Extern { name, object: None } => format!("extern {name}"),
            PointKind::Queue => "queue".to_string(),
            PointKind::Copy { name, field_list: Some(list) } => format!("{name}, field list {list}"),
            PointKind::Copy { name, field_list: None } => format!("{name}, any field list"),
        };
        let mut names =
            Names { program: &self.program, printer, live: &point.live, out: Vec::new(), bits: 0 };
        let mut first = 0;
        for (id, variable) in self.program.variables.iter() {
            // Layouts number the leaves of variables in this order.
            first = self.layout.variable(id).start.max(first);
            names.value(&Place::var(id), &variable.ty, &mut first);
        }
        let request_bits = point.request.iter().map(|(_, ty)| size_bits(&self.program, ty)).sum();
        PointReport {
            construct,
            block: printer.block(point.block),
            live: names.out,
            live_bits: names.bits,
            request: point.request.iter().map(|(name, _)| name.clone()).collect(),
            request_bits,
        }
    }
}

/// The size of all leaves of a type in bits. A `varbit` includes its length.
fn size_bits(program: &Program, ty: &Type) -> u64 {
    crate::layout::leaves(program, ty).iter().map(|leaf| leaf_bits(&leaf.ty)).sum()
}

fn leaf_bits(ty: &Type) -> u64 {
    match ty {
        Type::Varbit(width) => u64::from(*width) + 32,
        ty => u64::from(ty.width_bits().unwrap_or(0)),
    }
}

/// Names of what is live.
struct Names<'a, 'p> {
    program: &'a Program,
    printer: &'a Printer<'p>,
    live: &'a LeafSet,
    out: Vec<String>,
    bits: u64,
}

impl Names<'_, '_> {
    /// `next` is the number of the value's first leaf, and then of the leaf after it.
    fn value(&mut self, place: &Place, ty: &Type, next: &mut usize) {
        let n = usize::try_from(n_leaves(self.program, ty)).unwrap_or(0);
        let leaves = *next..*next + n;
        let n_live = leaves.clone().filter(|leaf| self.live.contains(*leaf)).count();
        if n_live == 0 || n_live == n {
            *next = leaves.end;
            if n_live > 0 {
                self.out.push(self.printer.place(place));
                self.bits += size_bits(self.program, ty);
            }
            return;
        }
        let mut parts: Vec<(Step, Type)> = Vec::new();
        match ty {
            Type::Struct(id) => {
                let Some(s) = get(&self.program.structs, *id) else { return };
                if s.kind == StructKind::Header {
                    parts.push((Step::Valid, Type::Bool));
                }
                parts.extend(s.fields.iter().enumerate().map(|(i, f)| (Step::Field(i as u32), f.ty.clone())));
            }
            Type::Stack { element, size } => {
                parts.push((Step::NextIndex, Type::Bit(32)));
                parts.extend((0..*size).map(|i| (Step::Element(i), Type::Struct(*element))));
            }
            Type::Array { element, size } => {
                parts.extend((0..*size).map(|i| (Step::Element(i), (**element).clone())));
            }
            // A leaf is live as a whole or not at all.
            Type::Bool | Type::Bit(_) | Type::Int(_) | Type::Varbit(_) | Type::Error | Type::Enum(_) => {}
        }
        for (step, ty) in parts {
            stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.value(&place.then(step), &ty, next));
        }
    }
}

impl std::fmt::Display for Segments {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let printer = Printer::new(&self.program);
        for (i, segment) in self.segments.iter().enumerate() {
            let entry = match segment.entry {
                SegmentEntry::Start => "starts".to_string(),
                SegmentEntry::Resume(point) => format!("resumes at point {point}"),
            };
            let n = segment.nodes.len();
            writeln!(f, "segment {i}: {} {entry}, {n} nodes", printer.block(segment.block))?;
        }
        let header = ["point", "construct", "block", "bytes", "bits", "what survives"].map(str::to_string);
        let mut rows = vec![header];
        for (i, point) in self.report().into_iter().enumerate() {
            let mut survives: Vec<String> =
                point.request.iter().map(|name| format!("{name} (sent)")).collect();
            survives.extend(point.live.iter().cloned());
            let survives = if survives.is_empty() { "nothing".to_string() } else { survives.join(", ") };
            let (bytes, bits) = (point.size_bytes(), point.live_bits + point.request_bits);
            rows.push([
                i.to_string(),
                point.construct,
                point.block,
                bytes.to_string(),
                bits.to_string(),
                survives,
            ]);
        }
        if rows.len() == 1 {
            return writeln!(f, "no packet ever waits");
        }
        let widths: Vec<usize> =
            (0..5).map(|c| rows.iter().map(|row| row[c].chars().count()).max().unwrap_or(0)).collect();
        for row in rows {
            for (cell, width) in row.iter().zip(&widths) {
                write!(f, "{cell:width$}  ")?;
            }
            writeln!(f, "{}", row[5])?;
        }
        Ok(())
    }
}
