//! Packets that a program's parser accepts: a walk through its graph lays out bits as it extracts them, and sets them
//! to values that match a random case of each `select`.

use super::values::{Pool, random};
use crate::Choices;
use arch::BlockRole;
use ir::layout::leaves;
use ir::lookup::get;
use ir::{
    BinaryOp, Bits, Expr, ExprKind, Graph, Keyset, NodeId, Pattern, Place, Program, SelectCase, Step, Stmt,
    StmtKind, TerminatorKind, Type, eval,
};

/// Nodes that one walk visits.
const N_NODES_MAX: usize = 200;
/// Lengths that packets reach.
const BYTES_MAX: usize = 1600;
const BITS_MAX: usize = BYTES_MAX * 8;

/// A packet: mostly one that is parsed deep, now and then cut short or noise.
pub(super) fn packet(choices: &mut Choices, program: &Program, pool: &Pool) -> Vec<u8> {
    let mut walk = Walk { program, pool, bits: Vec::new(), at: 0, known: Vec::new(), next: Vec::new() };
    if !choices.one_in(16) {
        walk.parser(choices);
    }
    let mut bytes = walk.into_bytes();
    let n_payload = match choices.below(12) {
        0..=3 => 0,
        4..=7 => choices.below(16),
        8..=10 => choices.below(80),
        _ => choices.below(BYTES_MAX),
    };
    // Drawn from one number, so that long payloads do not use up the choices.
    let seed = u64::from(choices.byte()) << 8 | u64::from(choices.byte());
    let mut noise = fastrand::Rng::with_seed(seed);
    bytes.extend((0..n_payload).map(|_| noise.u8(..)));
    if choices.one_in(10) {
        bytes.truncate(choices.below(bytes.len() + 1));
    }
    bytes.truncate(BYTES_MAX);
    bytes
}

/// The source of a place's bits.
#[derive(Clone, Debug)]
enum Source {
    /// From this bit of the packet on.
    Packet {
        at: usize,
        width: u32,
    },
    Value(Bits),
}

struct Walk<'p> {
    program: &'p Program,
    pool: &'p Pool,
    bits: Vec<bool>,
    /// The parser's position in the packet, in bits.
    at: usize,
    /// Known contents of places; later entries override earlier ones.
    known: Vec<(Place, Source)>,
    /// The index of the next element of each stack.
    next: Vec<(Place, u32)>,
}

impl Walk<'_> {
    fn into_bytes(self) -> Vec<u8> {
        let byte =
            |bits: &[bool]| bits.iter().enumerate().fold(0, |b, (i, bit)| b | u8::from(*bit) << (7 - i));
        self.bits.chunks(8).map(byte).collect()
    }

    fn parser(&mut self, choices: &mut Choices) {
        let Some(block) = self.program.block(BlockRole::Parser) else { return };
        let Some(block) = get(&self.program.blocks, block) else { return };
        let mut graph: &Graph = &block.graph;
        let mut node = graph.entry;
        let mut callers: Vec<(&Graph, NodeId)> = Vec::new();
        for _ in 0..N_NODES_MAX {
            if self.at > BITS_MAX {
                return;
            }
            let Some(found) = get(&graph.nodes, node) else { return };
            found.stmts.iter().for_each(|stmt| self.statement(stmt));
            node = match &found.terminator.kind {
                TerminatorKind::Goto(next) => *next,
                TerminatorKind::Branch { condition, then, otherwise } => {
                    let wanted = !choices.one_in(5);
                    if self.make(choices, condition, wanted) { *then } else { *otherwise }
                }
                TerminatorKind::Switch { cases, otherwise, subject } => match choices.pick(cases) {
                    Some(case) if !choices.one_in(4) => {
                        self.set(subject, &case.value);
                        case.target
                    }
                    _ => *otherwise,
                },
                TerminatorKind::Select { keys, cases, otherwise } => {
                    // Sometimes match no case.
                    match choices.pick(cases) {
                        Some(case) if !choices.one_in(8) => self.select(choices, keys, case),
                        _ => *otherwise,
                    }
                }
                TerminatorKind::Extract { place, to_next, size_bits, then, .. } => {
                    let n_varbit = size_bits.as_ref().and_then(|e| self.value(e)).map_or(0, |b| b.low_u64());
                    let place = if *to_next { self.next_element(place) } else { self.fixed(place) };
                    self.extract(choices, &place, (n_varbit as usize).min(BITS_MAX), true);
                    *then
                }
                TerminatorKind::Advance { bits, then, .. } => {
                    let n = self.value(bits).map_or(0, |b| b.low_u64()) as usize;
                    self.at += n.min(BITS_MAX);
                    self.fill(choices, self.at.min(BITS_MAX));
                    *then
                }
                TerminatorKind::Lookahead { place, then, .. } => {
                    let place = self.fixed(place);
                    self.extract(choices, &place, 0, false);
                    *then
                }
                TerminatorKind::Call { procedure, then, .. } => {
                    let Some(called) = get(&self.program.procedures, *procedure) else { return };
                    callers.push((graph, *then));
                    graph = &called.graph;
                    graph.entry
                }
                TerminatorKind::Return => {
                    let Some((caller, then)) = callers.pop() else { return };
                    graph = caller;
                    then
                }
                TerminatorKind::Apply { then, .. } => *then,
                TerminatorKind::Exit | TerminatorKind::Accept | TerminatorKind::Reject => return,
            };
        }
    }

    fn statement(&mut self, stmt: &Stmt) {
        let StmtKind::Assign { place, value } = &stmt.kind else { return };
        let place = self.fixed(place);
        if let (Some(Step::NextIndex), Some(index)) = (place.path.last(), self.value(value)) {
            let mut stack = place.clone();
            stack.path.pop();
            self.next.push((stack, index.low_u64() as u32));
            return;
        }
        // Copy the known contents of an aggregate's parts.
        if let ExprKind::Read(from) = &value.kind {
            let from = self.fixed(from);
            let parts: Vec<(Place, Source)> = self
                .known
                .iter()
                .filter(|(p, _)| p.var == from.var && p.path.starts_with(&from.path))
                .map(|(p, source)| {
                    let mut part = place.clone();
                    part.path.extend_from_slice(&p.path[from.path.len()..]);
                    (part, source.clone())
                })
                .collect();
            // In a loop that assigns something to itself there would be twice as much each time.
            self.known.retain(|(p, _)| p.var != place.var || !p.path.starts_with(&place.path));
            self.known.extend(parts);
            return;
        }
        match (self.bits_of(value), self.value(value)) {
            (Some((at, width)), _) => self.known.push((place, Source::Packet { at, width })),
            (None, Some(bits)) => self.known.push((place, Source::Value(bits))),
            (None, None) => {}
        }
    }

    /// The place with its indices computed, as far as they are known.
    fn fixed(&self, place: &Place) -> Place {
        let step = |step: &Step| match step {
            Step::Index(e) => self.value(e).map_or(step.clone(), |i| Step::Element(i.low_u64() as u32)),
            other => other.clone(),
        };
        Place { var: place.var, path: place.path.iter().map(step).collect() }
    }

    fn next_of(&self, stack: &Place) -> u32 {
        self.next.iter().rev().find(|(p, _)| p == stack).map_or(0, |(_, next)| *next)
    }

    fn next_element(&mut self, stack: &Place) -> Place {
        let stack = self.fixed(stack);
        let next = self.next_of(&stack);
        self.next.push((stack.clone(), next + 1));
        stack.element(next)
    }

    fn fill(&mut self, choices: &mut Choices, n_bits: usize) {
        while self.bits.len() < n_bits {
            let byte = choices.byte();
            self.bits.extend((0..8).map(|i| byte >> i & 1 == 1));
        }
    }

    /// Lays out all leaves of a place, one after the other.
    fn extract(&mut self, choices: &mut Choices, place: &Place, n_varbit: usize, moves: bool) {
        let Some(ty) = self.program.place_type(place) else { return };
        let mut at = self.at;
        for leaf in leaves(self.program, &ty).iter().filter(|leaf| !leaf.is_implicit()) {
            let mut part = place.clone();
            part.path.extend_from_slice(&leaf.path);
            let width = match &leaf.ty {
                Type::Varbit(_) => n_varbit as u32,
                ty => ty.width_bits().unwrap_or(0),
            };
            if at + width as usize > BITS_MAX + 4096 {
                return;
            }
            if at >= self.bits.len() {
                let value = if width > 64 { random(choices, width) } else { self.pool.value(choices, width) };
                self.bits.resize(at, false);
                self.bits.extend((0..width).rev().map(|i| value.bit(i)));
            }
            self.bits.resize(self.bits.len().max(at + width as usize), false);
            self.known.push((part, Source::Packet { at, width }));
            at += width as usize;
        }
        if moves {
            self.at = at;
        }
    }

    fn source(&self, place: &Place) -> Option<&Source> {
        let place = self.fixed(place);
        self.known.iter().rev().find(|(p, _)| *p == place).map(|(_, source)| source)
    }

    /// The bits of the packet that an expression is.
    fn bits_of(&self, e: &Expr) -> Option<(usize, u32)> {
        match &e.kind {
            ExprKind::Read(place) => {
                if let Some(Step::Slice { lo, width }) = place.path.last() {
                    let mut whole = place.clone();
                    whole.path.pop();
                    let Some(Source::Packet { at, width: of }) = self.source(&whole) else { return None };
                    let skipped = of.checked_sub(lo.checked_add(*width)?)?;
                    return Some((at + skipped as usize, *width));
                }
                match self.source(place)? {
                    Source::Packet { at, width } => Some((*at, *width)),
                    Source::Value(_) => None,
                }
            }
            ExprKind::Slice { value, lo } => {
                let (at, of) = self.bits_of(value)?;
                let width = e.ty.width_bits()?;
                Some((at + of.checked_sub(lo.checked_add(width)?)? as usize, width))
            }
            ExprKind::Cast(value) => {
                let (at, of) = self.bits_of(value)?;
                let width = e.ty.width_bits()?.min(of);
                Some((at + (of - width) as usize, width))
            }
            _ => None,
        }
    }

    /// Returns the current value of an expression, if it is known.
    fn value(&self, e: &Expr) -> Option<Bits> {
        match &e.kind {
            ExprKind::Const(bits) => Some(bits.clone()),
            ExprKind::Read(place) => {
                if let Some(Step::NextIndex) = place.path.last() {
                    let mut stack = self.fixed(place);
                    stack.path.pop();
                    return Some(Bits::new(32, u128::from(self.next_of(&stack))));
                }
                match self.source(place) {
                    Some(Source::Value(bits)) => Some(bits.clone()),
                    Some(Source::Packet { at, width }) => Some(self.read(*at, *width)),
                    None => self.bits_of(e).map(|(at, width)| self.read(at, width)),
                }
            }
            ExprKind::Unary(op, value) => Some(eval::unary(*op, &self.value(value)?)),
            ExprKind::Binary(op, a, b) => {
                Some(eval::binary(*op, &self.value(a)?, &self.value(b)?, a.ty.is_signed()))
            }
            ExprKind::Mux(c, a, b) => self.value(if self.value(c)?.is_true() { a } else { b }),
            ExprKind::Cast(value) => Some(eval::cast(&self.value(value)?, &value.ty, e.ty.width_bits()?)),
            ExprKind::Slice { value, lo } => Some(self.value(value)?.slice(*lo, e.ty.width_bits()?)),
            ExprKind::SliceAt { .. } | ExprKind::PacketLength => None,
        }
    }

    fn read(&self, at: usize, width: u32) -> Bits {
        let mut bytes = vec![0u8; (width as usize).div_ceil(8)];
        for i in 0..width as usize {
            let bit = self.bits.get(at + width as usize - 1 - i).copied().unwrap_or(false);
            let n = bytes.len();
            bytes[n - 1 - i / 8] |= u8::from(bit) << (i % 8);
        }
        Bits::from_bytes_be(width, &bytes)
    }

    /// Writes a value to the bits that an expression is, if it is any.
    fn set(&mut self, e: &Expr, value: &Bits) {
        let Some((at, width)) = self.bits_of(e) else { return };
        for i in 0..width {
            if let Some(bit) = self.bits.get_mut(at + (width - 1 - i) as usize) {
                *bit = value.bit(i);
            }
        }
    }

    /// Tries to make a condition true or false; returns its value then, or the wanted one if the value is unknown.
    fn make(&mut self, choices: &mut Choices, condition: &Expr, wanted: bool) -> bool {
        if let ExprKind::Binary(op, a, b) = &condition.kind
            && let Some(b) = self.value(b)
        {
            match (op, wanted) {
                (BinaryOp::Eq | BinaryOp::Le | BinaryOp::Ge, true)
                | (BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Gt, false) => self.set(a, &b),
                _ => {
                    let other = self.pool.value(choices, b.width());
                    self.set(a, &other);
                }
            }
        }
        self.value(condition).map_or(wanted, |value| value.is_true())
    }

    fn select(&mut self, choices: &mut Choices, keys: &[Expr], case: &SelectCase) -> NodeId {
        let Pattern::Keys(sets) = &case.pattern else { return case.target };
        for (key, set) in keys.iter().zip(sets) {
            match set {
                Keyset::Any | Keyset::ValueSet(_) => {}
                Keyset::Value(value) => {
                    if let Some(value) = self.value(value) {
                        self.set(key, &value);
                    }
                }
                Keyset::Mask { value, mask } => {
                    if let (Some(value), Some(mask)) = (self.value(value), self.value(mask)) {
                        let rest = random(choices, mask.width()).and(&mask.not());
                        self.set(key, &value.and(&mask).or(&rest));
                    }
                }
                Keyset::Range { lo, hi } => {
                    if let (Some(lo), Some(hi)) = (self.value(lo), self.value(hi)) {
                        let between = lo.add(&hi.sub(&lo).shr(1));
                        let value = [&lo, &hi, &between][choices.below(3)];
                        self.set(key, value);
                    }
                }
            }
        }
        case.target
    }
}
