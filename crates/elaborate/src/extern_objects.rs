//! Methods of extern objects that are written with other operations: hashes, checksums, random numbers, meters, digests.
//!
//! Checksums over data in pieces (PSA 1.2, "Checksums") keep their state in a variable of the block, so that passes, liveness and
//! packets that wait treat it as any other. The state of an internet checksum is the ones' complement sum of its words; that of
//! another one is the hash of the data so far.

use crate::body::Body;
use crate::cells::Loaded;
use crate::codes;
use crate::elaborator::Elaborator;
use arch::ExternOp;
use check::program::{Call, Expr as Checked, NodeId, NodeKind};
use diagnostics::{Diagnostic, Span};
use ir::types::INDEX_BITS;
use ir::{
    Arg, BinaryOp, Bits, Constant, Expr, ExprKind, ObjectId, Place, Scope, StmtKind, Type, UnaryOp, VarId,
    Variable,
};
use smol_str::SmolStr;

/// Width of sums of words.
const SUM_BITS: u32 = 32;
/// Width of a word, and of the state of an internet checksum.
const WORD_BITS: u32 = 16;
/// Width of hashes.
const HASH_BITS: u32 = 64;
/// The runtime's numbers of colours.
const COLOURS: [&str; 3] = ["GREEN", "YELLOW", "RED"];
const COLOUR_BITS: u32 = 2;

/// The algorithm of a checksum.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sum {
    /// Ones' complement sum of words of 16 bits.
    Internet,
    /// Any hash that can be continued.
    Hash,
}

impl Elaborator<'_> {
    /// The algorithm that an object is constructed with: `InternetChecksum` has none.
    fn algorithm(&self, object: ObjectId) -> Option<SmolStr> {
        self.out.objects[object].args.iter().find_map(|(_, value)| match value {
            Constant::Member(name) => Some(name.clone()),
            _ => None,
        })
    }

    fn sum_of(&self, object: ObjectId) -> Sum {
        match self.algorithm(object).as_deref() {
            None | Some("ONES_COMPLEMENT16" | "csum16") => Sum::Internet,
            Some(_) => Sum::Hash,
        }
    }

    /// The variable with the state of a checksum, zero when its block begins.
    fn checksum_state(&mut self, node: NodeId, sum: Sum) -> Place {
        if let Some(var) = self.checksums.get(&node) {
            return Place::var(*var);
        }
        let def = &self.p.nodes[node];
        let width = if sum == Sum::Internet { WORD_BITS } else { HASH_BITS };
        let var: VarId = self.out.variables.alloc(Variable {
            name: format!("${}", def.name).into(),
            ty: Type::Bit(width),
            scope: Scope::Block(self.block),
            span: def.span,
        });
        self.checksums.insert(node, var);
        Place::var(var)
    }
}

impl Body<'_, '_> {
    /// The checksums that an object declares begin anew with each of its runs.
    pub(crate) fn reset_checksums(&mut self, object: NodeId) {
        let p = self.e.p;
        for child in &p.nodes[object].children {
            let NodeKind::Extern(id) = p.nodes[*child].kind else { continue };
            if self.e.out.architecture.has_operation(&p.externs[id].name, ExternOp::ChecksumAdd) {
                let object = self.e.extern_object(*child);
                let sum = self.e.sum_of(object);
                let state = self.e.checksum_state(*child, sum);
                let width = if sum == Sum::Internet { WORD_BITS } else { HASH_BITS };
                self.assign(state, Expr::bit(width, 0), p.nodes[*child].span);
            }
        }
    }

    /// A call of one of these methods; `None` for others. The inner option holds the result, if the method has one.
    pub(crate) fn object_call(
        &mut self,
        op: ExternOp,
        node: NodeId,
        e: &Checked,
        call: &Call,
    ) -> Option<Option<Expr>> {
        let span = e.span;
        let args: Vec<&Checked> = call.args.iter().flatten().collect();
        let object = self.e.extern_object(node);
        match op {
            ExternOp::HashOfObject => Some(Some(self.hash_of_object(object, &args, e))),
            ExternOp::RandomOfObject => {
                let ty = self.ty(e.ty);
                let bound = |this: &Body<'_, '_>, i: usize| match this.e.out.objects[object].args.get(i) {
                    Some((_, Constant::Bits(bits))) => bits.clone(),
                    _ => Bits::zero(HASH_BITS),
                };
                let bounds = [bound(self, 0), bound(self, 1)];
                let place = self.temporary(ty.clone(), span);
                let mut list = vec![Arg::Ref(place.clone())];
                list.extend(bounds.map(|bits| Arg::In(constant(bits))));
                self.extern_stmt(ExternOp::Random, "random", None, list, None, span);
                Some(Some(Expr::read(place, ty)))
            }
            ExternOp::ChecksumClear
            | ExternOp::ChecksumAdd
            | ExternOp::ChecksumSubtract
            | ExternOp::ChecksumGet
            | ExternOp::ChecksumGetState
            | ExternOp::ChecksumSetState => Some(self.checksum_call(op, node, object, &args, e)),
            ExternOp::MeterColour | ExternOp::DirectMeterColour => {
                Some(Some(self.meter_colour(op, object, &args, e)))
            }
            ExternOp::DigestOfObject => {
                let name = self.e.out.objects[object].name.clone();
                let data = self.extern_value(args.first()?, false);
                let receiver = Arg::In(Expr::bit(INDEX_BITS, 0));
                self.extern_stmt(ExternOp::Digest, &name, None, vec![receiver, data], None, span);
                Some(None)
            }
            // A value of several parts comes back through an argument.
            ExternOp::RegisterGet => {
                let ty = self.ty(e.ty);
                if ty.width_bits().is_some() {
                    return None;
                }
                let index = self.expr(args.first()?);
                let place = self.temporary(ty.clone(), span);
                let cell_type = self.e.cell_type(&ty);
                let cell = if cell_type == ty { place.clone() } else { self.temporary(cell_type, span) };
                let list = vec![Arg::Ref(cell.clone()), Arg::In(index)];
                self.extern_stmt(ExternOp::RegisterRead, "Register.read", Some(object), list, None, span);
                if cell != place {
                    self.load_cells(&[Loaded { to: place.clone(), ty: ty.clone(), cell }], span);
                }
                Some(Some(Expr::read(place, ty)))
            }
            _ => None,
        }
    }

    fn extern_stmt(
        &mut self,
        op: ExternOp,
        name: &str,
        object: Option<ObjectId>,
        args: Vec<Arg>,
        result: Option<Place>,
        span: Span,
    ) {
        self.stmt(StmtKind::Extern { op, name: name.into(), object, args, result }, span);
    }

    /// Refuses algorithms that nothing computes.
    fn check_algorithm(&mut self, object: ObjectId, span: Span) {
        const KNOWN: [&str; 8] = [
            "crc32",
            "crc32_custom",
            "crc16",
            "crc16_custom",
            "identity",
            "ones_complement16",
            "toeplitz",
            "target_default",
        ];
        let name = self.e.algorithm(object).unwrap_or_default();
        if !KNOWN.contains(&name.to_ascii_lowercase().as_str()) {
            let message = format!("the algorithm `{name}` cannot be executed");
            self.e.faults.push(
                Diagnostic::new(&codes::NO_PIPELINE, span, message)
                    .label("not known how to compute")
                    .note(format!("known are {}", KNOWN.join(", "))),
            );
        }
    }

    fn hash_of_object(&mut self, object: ObjectId, args: &[&Checked], e: &Checked) -> Expr {
        self.check_algorithm(object, e.span);
        let ty = self.ty(e.ty);
        let algorithm = Arg::Str(self.e.algorithm(object).unwrap_or_default());
        let place = self.temporary(ty.clone(), e.span);
        let out = Arg::Ref(place.clone());
        let (op, list) = match args {
            [base, data, max] => {
                let base = self.extern_value(base, true);
                let data = whole_bytes(self.extern_value(data, true));
                (ExternOp::Hash, vec![out, algorithm, base, data, self.extern_value(max, false)])
            }
            [data, ..] => {
                (ExternOp::HashRaw, vec![out, algorithm, whole_bytes(self.extern_value(data, false))])
            }
            [] => (ExternOp::HashRaw, vec![out, algorithm, Arg::Fields(Vec::new())]),
        };
        self.extern_stmt(op, "Hash.get_hash", None, list, None, e.span);
        Expr::read(place, ty)
    }

    fn checksum_call(
        &mut self,
        op: ExternOp,
        node: NodeId,
        object: ObjectId,
        args: &[&Checked],
        e: &Checked,
    ) -> Option<Expr> {
        let span = e.span;
        let sum = self.e.sum_of(object);
        let state = self.e.checksum_state(node, sum);
        let width = if sum == Sum::Internet { WORD_BITS } else { HASH_BITS };
        let read = Expr::read(state.clone(), Type::Bit(width));
        match (op, sum) {
            (ExternOp::ChecksumClear, _) => self.assign(state, Expr::bit(width, 0), span),
            (ExternOp::ChecksumAdd | ExternOp::ChecksumSubtract, Sum::Internet) => {
                let data = args.first()?;
                self.check_words(data);
                let data = self.extern_value(data, false);
                let checksum = self.temporary(Type::Bit(WORD_BITS), span);
                let list = vec![data];
                self.extern_stmt(
                    ExternOp::Checksum16Get,
                    "checksum",
                    None,
                    list,
                    Some(checksum.clone()),
                    span,
                );
                let checksum = Expr::read(checksum, Type::Bit(WORD_BITS));
                // The checksum of the data is the complement of their sum, and so minus their sum.
                let term = match op {
                    ExternOp::ChecksumAdd => Expr::unary(UnaryOp::Complement, checksum),
                    _ => checksum,
                };
                let wide = |value: Expr| value.cast(Type::Bit(SUM_BITS));
                let total = Expr::binary(BinaryOp::Add, wide(read), wide(term), Type::Bit(SUM_BITS));
                let total = self.save(total, span);
                let carry =
                    Expr::binary(BinaryOp::Shr, total.clone(), Expr::bit(SUM_BITS, 16), Type::Bit(SUM_BITS));
                let folded = Expr::binary(BinaryOp::Add, total, carry, Type::Bit(SUM_BITS));
                self.assign(state, folded.cast(Type::Bit(WORD_BITS)), span);
            }
            (ExternOp::ChecksumAdd, Sum::Hash) => {
                self.check_algorithm(object, span);
                let data = whole_bytes(self.extern_value(args.first()?, false));
                let algorithm = Arg::Str(self.e.algorithm(object).unwrap_or_default());
                let list = vec![Arg::Ref(state), algorithm, Arg::In(read), data];
                self.extern_stmt(ExternOp::HashContinue, "Checksum.update", None, list, None, span);
            }
            (ExternOp::ChecksumGet, Sum::Internet) => {
                let ty = self.ty(e.ty);
                return Some(Expr::unary(UnaryOp::Complement, read).cast(ty));
            }
            (ExternOp::ChecksumGet, Sum::Hash) => {
                let ty = self.ty(e.ty);
                return Some(read.cast(ty));
            }
            (ExternOp::ChecksumGetState, _) => return Some(read),
            (ExternOp::ChecksumSetState, _) => {
                let value = self.expr(args.first()?);
                self.assign(state, value.cast(Type::Bit(width)), span);
            }
            _ => {}
        }
        None
    }

    /// Data of internet checksums are whole words.
    fn check_words(&mut self, data: &Checked) {
        let ty = self.ty(data.ty);
        let bits = self.e.size_bits(&ty, true);
        if bits == self.e.size_bits(&ty, false) && !bits.is_multiple_of(u64::from(WORD_BITS)) {
            let message = format!("{bits} bits are no multiple of {WORD_BITS}");
            self.e.faults.push(
                Diagnostic::new(&codes::CHECKSUM_WORDS, data.span, message)
                    .label("an internet checksum adds words of 16 bits")
                    .help("add fields together that make whole words, as in `{ ip.ttl, ip.protocol }`"),
            );
        }
    }

    /// `execute`, with the colours of the program's enum instead of the runtime's numbers.
    fn meter_colour(&mut self, op: ExternOp, object: ObjectId, args: &[&Checked], e: &Checked) -> Expr {
        let span = e.span;
        let ty = self.ty(e.ty);
        let colour_type = e.ty;
        let number = Type::Bit(COLOUR_BITS);
        let (index, rest) = match (op, args) {
            (ExternOp::MeterColour, [index, rest @ ..]) => {
                let index = self.expr(index);
                (Some(self.save(index, span)), rest)
            }
            _ => (None, args),
        };
        let (mut before, mut length) = (Arg::Absent, Arg::Absent);
        for arg in rest {
            let is_colour =
                self.e.instantiate(arg.ty, &self.names) == self.e.instantiate(colour_type, &self.names);
            let value = self.expr(arg);
            match is_colour {
                true => before = Arg::In(self.colour_number(value)),
                false => length = Arg::In(value),
            }
        }
        let out = self.temporary(number.clone(), span);
        let (op, list) = match index {
            Some(index) => {
                (ExternOp::MeterExecute, vec![Arg::In(index), Arg::Ref(out.clone()), before, length])
            }
            None => (ExternOp::DirectMeterExecute, vec![Arg::Ref(out.clone()), before, length]),
        };
        self.extern_stmt(op, "Meter.execute", Some(object), list, None, span);
        let found = Expr::read(out, number);
        let mut value = self.colour_member(&ty, 0);
        for colour in 1..COLOURS.len() {
            let is_it = found.clone().equals(Expr::bit(COLOUR_BITS, colour as u128));
            let member = self.colour_member(&ty, colour);
            value = Expr::new(ExprKind::Mux(Box::new(is_it), Box::new(member), Box::new(value)), ty.clone());
        }
        value
    }

    /// The member of the program's enum for a colour of the runtime.
    fn colour_member(&self, ty: &Type, colour: usize) -> Expr {
        let members = match ty {
            Type::Enum(id) => self.e.out.enums[*id].members.as_slice(),
            _ => &[],
        };
        let i = members.iter().position(|(name, _)| *name == COLOURS[colour]).unwrap_or(colour);
        Expr::new(ExprKind::Const(Bits::new(INDEX_BITS, i as u128)), ty.clone())
    }

    /// The runtime's number of a colour of the program's enum.
    fn colour_number(&mut self, value: Expr) -> Expr {
        let (ty, number) = (value.ty.clone(), Type::Bit(COLOUR_BITS));
        let mut result = Expr::bit(COLOUR_BITS, 0);
        for colour in 1..COLOURS.len() {
            let is_it = value.clone().equals(self.colour_member(&ty, colour));
            let this = Expr::bit(COLOUR_BITS, colour as u128);
            result =
                Expr::new(ExprKind::Mux(Box::new(is_it), Box::new(this), Box::new(result)), number.clone());
        }
        result
    }
}

/// A single value as a number of whole bytes, with zeros in front. Several values are packed without gaps.
fn whole_bytes(data: Arg) -> Arg {
    let widen = |value: Expr| match value.ty {
        Type::Bit(width) if !width.is_multiple_of(8) => value.cast(Type::Bit(width.next_multiple_of(8))),
        _ => value,
    };
    match data {
        Arg::In(value) => Arg::In(widen(value)),
        Arg::Fields(values) if values.len() == 1 => Arg::Fields(values.into_iter().map(widen).collect()),
        other => other,
    }
}

fn constant(bits: Bits) -> Expr {
    let ty = Type::Bit(bits.width());
    Expr::new(ExprKind::Const(bits), ty)
}
