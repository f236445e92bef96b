//! Work of a program per packet: counts of what costs cycles, from executions of its nodes.

use super::decisions::Decisions;
use super::executions::Executions;
use arch::ExternOp;
use diagnostics::Span;
use ir::lookup::{get, index};
use ir::{Arg, Expr, ExprKind, Graph, Place, Program, Stmt, StmtKind, TerminatorKind, Type};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::ops::{Index, IndexMut};

macro_rules! components {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// A kind of work that a packet causes, beside lookups.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Component {
            $($(#[$doc])* $variant,)*
        }

        impl Component {
            pub const ALL: &[Component] = &[$(Component::$variant,)*];

            /// Name in reports and profiles.
            pub fn name(self) -> &'static str {
                match self {
                    $(Component::$variant => $name,)*
                }
            }
        }
    };
}

components! {
    /// The packet itself: its way from the burst to its verdict.
    Packet = "packet",
    /// Cache lines of packets that come from far away, as those of a long queue do.
    PacketLine = "packet line from far",
    /// Headers that are read from the packet.
    Header = "header",
    /// Branches, cases of `switch` and `select`.
    Decision = "decision",
    /// Decisions that a predictor gets wrong if it knows shares only.
    Surprise = "surprise",
    /// Lookups whose action is not the most frequent one.
    ActionSurprise = "action surprise",
    /// Operators and assignments of at most 64 bits.
    Operation = "operation",
    /// Words of 64 bits in operators and assignments of more.
    WideWord = "wide_word",
    /// Headers that are written to the packet.
    Emitted = "emitted",
    /// Packets whose headers do not stay where they came in.
    Rebuilt = "rebuilt packet",
    /// Bytes of headers that leave at another place than they came.
    MovedByte = "moved_byte",
    /// Words of 16 bits in checksums.
    ChecksumWord = "checksum_word",
    Counter = "counter",
    Meter = "meter",
    Register = "register",
    Hash = "hash",
    /// Bytes that hash functions take.
    HashByte = "hash_byte",
    /// Other extern calls.
    Extern = "extern",
    LookupExact = "exact lookup",
    /// Exact lookups with keys of more than eight bytes.
    LookupWide = "exact lookup, wide key",
    LookupDirect = "direct lookup",
    LookupLpm = "lpm lookup",
    LookupTernary = "ternary lookup",
    LookupFlow = "flow lookup",
    /// Bytes of keys that are hashed or compared.
    KeyByte = "key_byte",
    /// Masks that entries of a ternary table have, for each lookup.
    Mask = "mask",
    /// Nodes and buckets below the root of a tree of prefixes.
    Level = "level of prefixes",
    /// Lookups that end with a read of an entry outside of the structure.
    Entry = "separate entry",
    /// Bytes of parameters of the actions that lookups end with.
    DataByte = "data_byte",
    /// Lookups for which packets of a burst are put aside.
    Suspension = "suspension",
    /// Variables that are saved and restored where packets are put aside.
    Saved = "saved variable",
    /// Decisions and lookups of a program so large that its state does not stay in registers.
    MemoryStep = "step with state in memory",
    /// Lookups that write to their entry: counters, meters, times of hits.
    Record = "record",
    /// Cycles that memory takes to deliver the lines of tables, beyond those of the first level of the cache, if packets wait for
    /// one line after the other. Its cost is the share that they do wait for.
    Wait = "wait for memory",
    /// Such cycles for the lines of entries outside of the structure.
    EntryWait = "wait for separate entries",
    /// Such cycles where all packets of a burst wait at once.
    BatchWait = "wait for memory, by bursts",
}

impl Component {
    /// Lookups by structure.
    pub const LOOKUPS: [Component; 6] = [
        Component::LookupExact,
        Component::LookupWide,
        Component::LookupDirect,
        Component::LookupLpm,
        Component::LookupTernary,
        Component::LookupFlow,
    ];
}

const N: usize = Component::ALL.len();

/// Counts of all components. Files have those that are not zero, by name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counts([f64; N]);

impl Default for Counts {
    fn default() -> Counts {
        Counts([0.0; N])
    }
}

impl Serialize for Counts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let some = Component::ALL.iter().filter(|component| self[**component] > 0.0);
        serializer.collect_map(some.map(|component| (component, self[*component])))
    }
}

impl<'de> Deserialize<'de> for Counts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Counts, D::Error> {
        let all = BTreeMap::<Component, f64>::deserialize(deserializer)?;
        Ok(all.into_iter().collect())
    }
}

impl Index<Component> for Counts {
    type Output = f64;

    fn index(&self, component: Component) -> &f64 {
        &self.0[component as usize]
    }
}

impl IndexMut<Component> for Counts {
    fn index_mut(&mut self, component: Component) -> &mut f64 {
        &mut self.0[component as usize]
    }
}

impl Counts {
    pub fn add_scaled(&mut self, other: &Counts, scale: f64) {
        self.0.iter_mut().zip(&other.0).for_each(|(n, more)| *n += more * scale);
    }
}

impl FromIterator<(Component, f64)> for Counts {
    fn from_iter<I: IntoIterator<Item = (Component, f64)>>(items: I) -> Counts {
        let mut counts = Counts::default();
        items.into_iter().for_each(|(component, n)| counts[component] += n);
        counts
    }
}

/// Work of one packet on average.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Work {
    pub total: Counts,
    /// Its parts by place in the program, for the rows of reports.
    pub places: BTreeMap<Span, Counts>,
    /// Lookups of each table, in the order of the program's tables.
    pub lookups: Vec<f64>,
}

impl Work {
    /// `moves` says that headers do not stay where they came in.
    pub fn new(program: &Program, decisions: &Decisions, moves: bool) -> Work {
        let executions = Executions::new(program, decisions);
        let mut work = Work { lookups: vec![0.0; program.tables.len()], ..Work::default() };
        work.add(Span::NONE, 1.0, &one(Component::Packet, 1.0));
        work.add(Span::NONE, 1.0, &one(Component::Rebuilt, f64::from(u8::from(moves))));
        for (graph, visits) in executions.graphs(program) {
            work.add_graph(program, decisions, graph, visits, moves);
        }
        work
    }

    fn add(&mut self, span: Span, executions: f64, counts: &Counts) {
        if executions > 0.0 {
            self.total.add_scaled(counts, executions);
            self.places.entry(span).or_default().add_scaled(counts, executions);
        }
    }

    fn add_graph(
        &mut self,
        program: &Program,
        decisions: &Decisions,
        graph: &Graph,
        visits: &[f64],
        moves: bool,
    ) {
        for ((_, node), n) in graph.nodes.iter().zip(visits) {
            for stmt in &node.stmts {
                self.add(stmt.span, *n, &of_stmt(program, stmt));
                if let StmtKind::Emit(place) = &stmt.kind {
                    self.add_emit(program, decisions, place, stmt.span, *n, moves);
                }
            }
            let terminator = &node.terminator;
            self.add(terminator.span, *n, &of_terminator(&terminator.kind));
            if let TerminatorKind::Apply { table, .. } = &terminator.kind {
                self.lookups[index(*table)] += n;
            }
            self.add(terminator.span, *n, &surprises(program, decisions, terminator));
        }
    }

    fn add_emit(
        &mut self,
        program: &Program,
        decisions: &Decisions,
        place: &Place,
        span: Span,
        executions: f64,
        moves: bool,
    ) {
        let n_bits = match decisions.emitted_bits(span) {
            Some(n_bits) => n_bits,
            // Nothing observed: half of the headers are there.
            None => {
                0.5 * executions * program.place_type(place).map_or(0.0, |ty| f64::from(bits(program, &ty)))
            }
        };
        let width = program.place_type(place).map_or(0, |ty| bits(program, &ty)).max(1);
        self.add(span, 1.0, &one(Component::Emitted, n_bits / f64::from(width)));
        if moves {
            self.add(span, 1.0, &one(Component::MovedByte, n_bits / 8.0));
        }
    }
}

fn one(component: Component, n: f64) -> Counts {
    let mut counts = Counts::default();
    counts[component] = n;
    counts
}

/// Bits of a value without validity bits and indices; a `varbit` counts in full.
fn bits(program: &Program, ty: &Type) -> u32 {
    match ty {
        Type::Varbit(width) => *width,
        Type::Struct(id) => get(&program.structs, *id)
            .map_or(0, |fields| fields.fields.iter().map(|field| bits(program, &field.ty)).sum()),
        Type::Stack { element, size } => size * bits(program, &Type::Struct(*element)),
        Type::Array { element, size } => size * bits(program, element),
        single => single.width_bits().unwrap_or(0),
    }
}

/// Work with values of some width.
fn of_width(width: u32) -> Counts {
    match width {
        0..=64 => one(Component::Operation, 1.0),
        _ => one(Component::WideWord, f64::from(width.div_ceil(64))),
    }
}

fn of_stmt(program: &Program, stmt: &Stmt) -> Counts {
    let mut counts = Counts::default();
    match &stmt.kind {
        StmtKind::Assign { place, value } => {
            let width = program.place_type(place).map_or(0, |ty| bits(program, &ty));
            counts.add_scaled(&of_width(width), 1.0);
            add_expr(&mut counts, value);
        }
        StmtKind::Emit(_) => {}
        StmtKind::ZeroIfInvalid(place) => {
            let width = program.place_type(place).map_or(0, |ty| bits(program, &ty));
            counts[Component::WideWord] += f64::from(width.div_ceil(64));
        }
        StmtKind::Extern { op, args, .. } => add_extern(&mut counts, *op, args),
    }
    counts
}

fn add_extern(counts: &mut Counts, op: ExternOp, args: &[Arg]) {
    let n_bits: u32 = args
        .iter()
        .flat_map(|arg| match arg {
            Arg::In(expr) => std::slice::from_ref(expr),
            Arg::Fields(fields) => fields.as_slice(),
            Arg::Ref(_) | Arg::Str(_) | Arg::Table { .. } | Arg::Absent => &[],
        })
        .filter_map(|expr| expr.ty.width_bits())
        .sum();
    match op {
        ExternOp::CounterCount | ExternOp::CounterAdd | ExternOp::DirectCounterCount => {
            counts[Component::Counter] += 1.0;
        }
        ExternOp::MeterExecute
        | ExternOp::MeterColour
        | ExternOp::DirectMeterRead
        | ExternOp::DirectMeterColour
        | ExternOp::DirectMeterExecute => counts[Component::Meter] += 1.0,
        ExternOp::RegisterRead | ExternOp::RegisterGet | ExternOp::RegisterWrite => {
            counts[Component::Register] += 1.0;
        }
        ExternOp::Hash | ExternOp::HashRaw | ExternOp::HashOfObject | ExternOp::HashContinue => {
            counts[Component::Hash] += 1.0;
            counts[Component::HashByte] += f64::from(n_bits) / 8.0;
        }
        ExternOp::VerifyChecksum
        | ExternOp::UpdateChecksum
        | ExternOp::ChecksumAdd
        | ExternOp::ChecksumSubtract => counts[Component::ChecksumWord] += f64::from(n_bits) / 16.0,
        // They store a value of the metadata.
        ExternOp::MarkToDrop | ExternOp::MarkToPass | ExternOp::IsNetPort | ExternOp::IsHostPort => {
            counts[Component::Operation] += 1.0;
        }
        _ => counts[Component::Extern] += 1.0,
    }
}

fn add_expr(counts: &mut Counts, expr: &Expr) {
    let mut node = |expr: &Expr| counts.add_scaled(&of_width(expr.ty.width_bits().unwrap_or(0)), 1.0);
    match &expr.kind {
        ExprKind::Const(_) | ExprKind::PacketLength => {}
        // The place that is read costs when it is assigned, or not at all.
        ExprKind::Read(_) => {}
        ExprKind::Unary(_, inner) | ExprKind::Slice { value: inner, .. } => {
            node(expr);
            add_expr(counts, inner);
        }
        // Most casts are free.
        ExprKind::Cast(inner) => add_expr(counts, inner),
        ExprKind::Binary(_, left, right) | ExprKind::SliceAt { value: left, lo: right } => {
            node(expr);
            add_expr(counts, left);
            add_expr(counts, right);
        }
        ExprKind::Mux(condition, then, otherwise) => {
            node(expr);
            add_expr(counts, condition);
            add_expr(counts, then);
            add_expr(counts, otherwise);
        }
    }
}

fn of_terminator(terminator: &TerminatorKind) -> Counts {
    let mut counts = Counts::default();
    match terminator {
        TerminatorKind::Branch { condition, .. } => {
            counts[Component::Decision] += 1.0;
            add_expr(&mut counts, condition);
        }
        TerminatorKind::Switch { subject, .. } => {
            counts[Component::Decision] += 1.0;
            add_expr(&mut counts, subject);
        }
        TerminatorKind::Select { keys, .. } => {
            counts[Component::Decision] += 1.0;
            keys.iter().for_each(|key| add_expr(&mut counts, key));
        }
        TerminatorKind::Extract { .. } => counts[Component::Header] += 1.0,
        TerminatorKind::Advance { .. } | TerminatorKind::Lookahead { .. } => {
            counts[Component::Operation] += 1.0;
        }
        TerminatorKind::Apply { keys, .. } => keys.iter().for_each(|key| add_expr(&mut counts, key)),
        TerminatorKind::Goto(_)
        | TerminatorKind::Call { .. }
        | TerminatorKind::Return
        | TerminatorKind::Exit
        | TerminatorKind::Accept
        | TerminatorKind::Reject => {}
    }
    counts
}

/// The share of a decision that is not its most frequent way.
fn surprises(program: &Program, decisions: &Decisions, terminator: &ir::Terminator) -> Counts {
    use super::decisions::Decision;
    if let TerminatorKind::Apply { table, .. } = &terminator.kind {
        let n_actions = program.tables[*table].actions.len();
        let shares = (0..n_actions).map(|action| decisions.action_share(*table, action, n_actions));
        return one(Component::ActionSurprise, (1.0 - shares.fold(0.0, f64::max)).clamp(0.0, 1.0));
    }
    let (decision, n_ways) = match &terminator.kind {
        TerminatorKind::Branch { .. } => (Decision::Branch, 2),
        TerminatorKind::Switch { cases, .. } => (Decision::Switch, cases.len() + 1),
        TerminatorKind::Select { cases, .. } => (Decision::Select, cases.len() + 1),
        _ => return Counts::default(),
    };
    let cases = (0..n_ways - 1).map(Some).chain([None]);
    let most = cases.map(|case| decisions.share(terminator.span, decision, case, n_ways)).fold(0.0, f64::max);
    one(Component::Surprise, (1.0 - most).max(0.0))
}
