//! Graphs, statements and terminators to code.

use super::*;
use ir::{
    Arg, Expr, Graph, Keyset, NodeId, Pattern, Place, Stmt, StmtKind, StructKind, SwitchCase, Terminator,
    TerminatorKind,
};
use rustc_hash::FxHashMap;

/// State of one run over a program.
pub(super) struct Compiler<'e> {
    pub(super) exe: &'e mut Executable,
    span: Span,
    constants: FxHashMap<Bits, Slot>,
    /// Temporaries that are free, by length.
    free: FxHashMap<u32, Vec<Slot>>,
    /// Temporaries of the statement that is compiled, with their lengths.
    in_use: Vec<(Slot, u32)>,
    /// The error of the parser whose graph is compiled.
    error: Option<Slot>,
}

/// Compiles all blocks and procedures.
pub(super) fn compile(exe: &mut Executable) -> Result<(), LoadError> {
    let program = Arc::clone(&exe.program);
    let mut c = Compiler {
        exe,
        span: Span::NONE,
        constants: FxHashMap::default(),
        free: FxHashMap::default(),
        in_use: Vec::new(),
        error: None,
    };
    let error_of = |exe: &Executable, block: BlockId| {
        if index_of(block) >= program.blocks.len() {
            return Err(LoadError::Malformed("an unknown block"));
        }
        Ok(program.blocks[block].error.map(|var| exe.variable(var).first))
    };
    for (id, block) in program.blocks.iter() {
        c.error = error_of(c.exe, id)?;
        let entry = c.graph(&block.graph)?;
        c.exe.blocks.push(entry);
    }
    for (_, procedure) in program.procedures.iter() {
        c.error = error_of(c.exe, procedure.block)?;
        let entry = c.graph(&procedure.graph)?;
        let mut params = Vec::new();
        for var in &procedure.params {
            let range = c.exe.variable(*var);
            params.extend(c.exe.value_slots(range.first, &program.variables[*var].ty));
        }
        c.exe.procedures.push(ProcedureCode { entry, params: params.into() });
    }
    for (_, table) in program.tables.iter() {
        let mut actions = Vec::with_capacity(table.actions.len());
        for action in &table.actions {
            let Some(code) = c.exe.procedures.get(index_of(action.procedure)) else {
                return Err(LoadError::Malformed("an unknown procedure"));
            };
            actions.push(ActionCode { procedure: action.procedure, params: code.params.clone() });
        }
        c.exe.actions.push(actions.into());
    }
    Ok(())
}

impl Executable {
    /// The leaves of a value that lies at `first`, without validity bits and indices.
    pub(crate) fn value_slots(&self, first: Slot, ty: &Type) -> Vec<Slot> {
        let mut slots = Vec::new();
        let mut slot = first;
        self.layout.for_each_leaf(&self.program, ty, &mut |leaf| {
            if matches!(leaf, Leaf::Value(_)) {
                slots.push(slot);
            }
            slot += 1;
        });
        slots
    }
}

/// Number of a node while its place in the code is not known.
fn label(node: NodeId) -> Pc {
    index_of(node) as Pc
}

impl Compiler<'_> {
    pub(super) fn push(&mut self, instr: Instr) {
        self.exe.code.push(instr);
        self.exe.spans.push(self.span);
    }

    fn new_slots(&mut self, values: impl Iterator<Item = Bits>) -> Result<Slot, LoadError> {
        let first = self.exe.initial.len();
        self.exe.initial.extend(values);
        // Constants and temporaries are not counted with the variables.
        let end = u32::try_from(self.exe.initial.len()).map_err(|_| LayoutError::TooLarge)?;
        if end > 4 * SLOTS_MAX {
            return Err(LayoutError::TooLarge.into());
        }
        Ok(first as Slot)
    }

    /// Slots that nothing else uses while this statement runs.
    pub(super) fn temporary(&mut self, len: u32) -> Result<Slot, LoadError> {
        let slot = match self.free.get_mut(&len).and_then(Vec::pop) {
            Some(slot) => slot,
            None => self.new_slots((0..len).map(|_| Bits::zero(0)))?,
        };
        self.in_use.push((slot, len));
        Ok(slot)
    }

    fn release(&mut self) {
        for (slot, len) in self.in_use.drain(..) {
            self.free.entry(len).or_default().push(slot);
        }
    }

    pub(super) fn constant(&mut self, value: &Bits) -> Result<Slot, LoadError> {
        if let Some(slot) = self.constants.get(value) {
            return Ok(*slot);
        }
        let slot = self.new_slots(std::iter::once(value.clone()))?;
        self.constants.insert(value.clone(), slot);
        Ok(slot)
    }

    /// Code of a graph: nodes in the order in which a walk meets them, so that many need no jump.
    fn graph(&mut self, graph: &Graph) -> Result<Pc, LoadError> {
        let n = graph.nodes.len();
        let start = [
            self.exe.code.len(),
            self.exe.switches.len(),
            self.exe.selects.len(),
            self.exe.extracts.len(),
            self.exe.lookaheads.len(),
        ];
        let mut places: Vec<Option<Pc>> = vec![None; n];
        let mut first_points = Vec::with_capacity(n);
        for (_, node) in graph.nodes.iter() {
            first_points.push(self.exe.points.len());
            let end = self.exe.points.len() + 2 + node.stmts.len();
            self.exe.points.resize(end, 0..0);
        }
        let mut todo = vec![graph.entry];
        while let Some(id) = todo.pop() {
            if index_of(id) >= n {
                return Err(LoadError::Malformed("an unknown node"));
            }
            if places[index_of(id)].is_some() {
                continue;
            }
            places[index_of(id)] = Some(self.exe.code.len() as Pc);
            let node = &graph.nodes[id];
            if let Some(state) = &node.state {
                self.span = node.stmts.first().map_or(node.terminator.span, |s| s.span);
                self.exe.states.push(state.clone());
                self.push(Instr::State(self.exe.states.len() as u32 - 1));
            }
            let mut point = first_points[index_of(id)];
            let mut begin = self.end_point(point, places[index_of(id)].unwrap_or(0));
            for stmt in &node.stmts {
                self.stmt(stmt)?;
                self.release();
                point += 1;
                begin = self.end_point(point, begin);
            }
            let successors = node.terminator.kind.successors();
            let next = match &node.terminator.kind {
                TerminatorKind::Goto(next) if places.get(index_of(*next)).is_some_and(Option::is_none) => {
                    Some(*next)
                }
                _ => None,
            };
            if next.is_none() {
                self.terminator(&node.terminator)?;
                self.release();
            }
            self.end_point(point + 1, begin);
            // The first successor comes next.
            todo.extend(successors.into_iter().rev());
        }
        let place = |pc: &mut Pc| {
            if let Some(Some(p)) = places.get(*pc as usize) {
                *pc = *p;
            }
        };
        let exe = &mut *self.exe;
        exe.code[start[0]..].iter_mut().for_each(|i| i.targets(&mut { place }));
        for switch in &mut exe.switches[start[1]..] {
            switch.cases.values_mut().for_each(|(_, pc)| place(pc));
            place(&mut switch.otherwise);
        }
        for select in &mut exe.selects[start[2]..] {
            select.cases.iter_mut().for_each(|(_, pc)| place(pc));
            place(&mut select.otherwise);
        }
        for extract in &mut exe.extracts[start[3]..] {
            place(&mut extract.then);
            place(&mut extract.fail);
        }
        for lookahead in &mut exe.lookaheads[start[4]..] {
            place(&mut lookahead.then);
            place(&mut lookahead.fail);
        }
        Ok(start[0] as Pc)
    }

    /// Assigns the instructions since `begin` to a point. Gives the begin of the next point.
    fn end_point(&mut self, point: usize, begin: Pc) -> Pc {
        let end = self.exe.code.len() as Pc;
        self.exe.points[point] = begin..end;
        end
    }

    fn stmt(&mut self, stmt: &Stmt) -> Result<(), LoadError> {
        self.span = stmt.span;
        match &stmt.kind {
            StmtKind::Assign { place, value } => self.assign(place, value),
            StmtKind::Emit(place) => {
                let target = self.target(place)?;
                self.header(&target.ty)?;
                self.exe.headers.push(HeaderCode { place: target.at, n_slots: target.len });
                self.push(Instr::Emit(self.exe.headers.len() as u32 - 1));
                Ok(())
            }
            StmtKind::ZeroIfInvalid(place) => {
                let target = self.target(place)?;
                self.header(&target.ty)?;
                self.exe.headers.push(HeaderCode { place: target.at, n_slots: target.len });
                self.push(Instr::ZeroIfInvalid(self.exe.headers.len() as u32 - 1));
                Ok(())
            }
            StmtKind::Extern { op, name, object, args, result } => {
                self.extern_call(*op, name, *object, args, result.as_ref(), stmt.span)
            }
        }
    }

    fn extern_call(
        &mut self,
        op: arch::ExternOp,
        name: &smol_str::SmolStr,
        object: Option<ir::ObjectId>,
        args: &[Arg],
        result: Option<&Place>,
        span: Span,
    ) -> Result<(), LoadError> {
        // The call may write to places that its arguments are read from.
        let writes = result.is_some() || args.iter().any(|a| matches!(a, Arg::Ref(_)));
        let mut stores = Vec::new();
        let mut codes = Vec::with_capacity(args.len());
        for arg in args {
            codes.push(match arg {
                Arg::In(e) if writes && e.as_const().is_none() => {
                    let copy = self.temporary(1)?;
                    ExternArg::In(self.expr(e, Some(copy))?)
                }
                Arg::In(e) => ExternArg::In(self.expr(e, None)?),
                Arg::Fields(fields) => {
                    let read_from =
                        fields.iter().map(|field| self.source(field)).collect::<Result<_, _>>()?;
                    ExternArg::Fields { range: self.row(fields)?, read_from }
                }
                Arg::Ref(place) => {
                    let (range, ty) = self.reference(place, &mut stores)?;
                    let values = self.exe.value_slots(range.first, &ty).into();
                    ExternArg::Ref { range, values, ty }
                }
                Arg::Str(text) => ExternArg::Str(text.clone()),
                Arg::Table { table, action } => ExternArg::Table { table: *table, action: *action },
                Arg::Absent => ExternArg::Absent,
            });
        }
        let result = match result {
            Some(place) => Some(self.reference(place, &mut stores)?.0),
            None => None,
        };
        self.exe.externs.push(ExternCall {
            op,
            name: name.clone(),
            object,
            args: codes.into(),
            result,
            span,
        });
        self.push(Instr::Extern(self.exe.externs.len() as u32 - 1));
        for (target, slot) in stores {
            self.store(&target, slot)?;
        }
        Ok(())
    }

    /// The slots of a place, or of a copy of it that has to be stored afterwards.
    fn reference(
        &mut self,
        place: &Place,
        stores: &mut Vec<(expr::Target, Slot)>,
    ) -> Result<(SlotRange, Type), LoadError> {
        let target = self.target(place)?;
        let ty = match &target.part {
            None => target.ty.clone(),
            Some(expr::Part::Slice { width, .. } | expr::Part::SliceAt { width, .. }) => Type::Bit(*width),
        };
        if let (PlaceRef::Static(first), None) = (target.at, &target.part) {
            return Ok((SlotRange { first, len: target.len }, ty));
        }
        let len = if target.part.is_some() { 1 } else { target.len };
        let copy = self.temporary(len)?;
        self.fetch(&target, copy)?;
        stores.push((target, copy));
        Ok((SlotRange { first: copy, len }, ty))
    }

    fn terminator(&mut self, terminator: &Terminator) -> Result<(), LoadError> {
        self.span = terminator.span;
        let no_error = LoadError::Malformed("a parser without a place for its error");
        match &terminator.kind {
            TerminatorKind::Goto(next) => self.push(Instr::Jump(label(*next))),
            TerminatorKind::Branch { condition, then, otherwise } => {
                let condition = self.expr(condition, None)?;
                self.push(Instr::Branch { condition, then: label(*then), otherwise: label(*otherwise) });
            }
            TerminatorKind::Switch { subject, cases, otherwise } => {
                self.switch(subject, cases, *otherwise)?;
            }
            TerminatorKind::Select { keys, cases, otherwise } => self.select(keys, cases, *otherwise)?,
            TerminatorKind::Extract { place, to_next, size_bits, then, fail } => {
                let error = self.error.ok_or(no_error)?;
                let target = self.target(place)?;
                let size_bits = match size_bits {
                    Some(e) => Some(self.expr(e, None)?),
                    None => None,
                };
                let (header, stack_size) = match (&target.ty, to_next) {
                    (Type::Stack { element, size }, true) => (Type::Struct(*element), Some(*size)),
                    (ty, false) => (ty.clone(), None),
                    (_, true) => return Err(LoadError::Malformed("the next element of what is no stack")),
                };
                let fields = self.header(&header)?;
                let mut fixed_bits = 0u64;
                let mut varbit_max = None;
                for field in &fields {
                    match field {
                        FieldWidth::Fixed(width) => fixed_bits += u64::from(*width),
                        FieldWidth::Varbit { max } => varbit_max = Some(*max),
                    }
                }
                self.exe.extracts.push(ExtractCode {
                    place: target.at,
                    fields: fields.into(),
                    fixed_bits,
                    varbit_max,
                    stack_size,
                    size_bits,
                    error,
                    then: label(*then),
                    fail: label(*fail),
                });
                self.push(Instr::Extract(self.exe.extracts.len() as u32 - 1));
            }
            TerminatorKind::Advance { bits, then, fail } => {
                let error = self.error.ok_or(no_error)?;
                let bits = self.expr(bits, None)?;
                self.push(Instr::Advance { bits, error, then: label(*then), fail: label(*fail) });
            }
            TerminatorKind::Lookahead { place, then, fail } => {
                let error = self.error.ok_or(no_error)?;
                let target = self.target(place)?;
                if target.part.is_some() {
                    return Err(LoadError::Malformed("lookahead into a part of a value"));
                }
                let leaves = self.lookahead_leaves(&target.ty)?;
                let n_bits = leaves.iter().map(|l| match l {
                    LookaheadLeaf::Valid | LookaheadLeaf::NextIndex => 0,
                    LookaheadLeaf::Bits(width) => u64::from(*width),
                });
                let n_bits = n_bits.sum();
                let (then, fail) = (label(*then), label(*fail));
                let place = target.at;
                let code = LookaheadCode { place, leaves: leaves.into(), n_bits, error, then, fail };
                self.exe.lookaheads.push(code);
                self.push(Instr::Lookahead(self.exe.lookaheads.len() as u32 - 1));
            }
            TerminatorKind::Apply { table, keys, hit, action, then, exit } => {
                let program = Arc::clone(&self.exe.program);
                if index_of(*table) >= program.tables.len() || program.tables[*table].keys.len() != keys.len()
                {
                    return Err(LoadError::Malformed("a table with other keys"));
                }
                let keys = self.row(keys)?;
                // Their indices were fixed when the statement was elaborated.
                let hit = hit.as_ref().map(|p| self.target(p)).transpose()?;
                let action = action.as_ref().map(|p| self.target(p)).transpose()?;
                let (hit_slot, action_slot) = (self.temporary(1)?, self.temporary(1)?);
                let decl = &program.tables[*table];
                let has_direct = decl.direct_counter.is_some() || decl.direct_meter.is_some();
                let code = LookupCode { table: *table, keys, hit: hit_slot, action: action_slot, has_direct };
                self.exe.lookups.push(code);
                self.push(Instr::Lookup(self.exe.lookups.len() as u32 - 1));
                if let Some(target) = hit {
                    self.store(&target, hit_slot)?;
                }
                if let Some(target) = action {
                    self.store(&target, action_slot)?;
                }
                let again = self.exe.code.len() as Pc;
                self.push(Instr::RunAction { again, then: label(*then), exit: label(*exit) });
            }
            TerminatorKind::Call { procedure, then, exit } => {
                if index_of(*procedure) >= self.exe.program.procedures.len() {
                    return Err(LoadError::Malformed("an unknown procedure"));
                }
                self.push(Instr::Call { procedure: *procedure, then: label(*then), exit: label(*exit) });
            }
            TerminatorKind::Return => self.push(Instr::Return),
            TerminatorKind::Exit => self.push(Instr::Exit),
            TerminatorKind::Accept => self.push(Instr::Accept),
            TerminatorKind::Reject => {
                let error = self.error.ok_or(no_error)?;
                self.push(Instr::Reject { error });
            }
        }
        Ok(())
    }

    fn switch(&mut self, subject: &Expr, cases: &[SwitchCase], otherwise: NodeId) -> Result<(), LoadError> {
        let subject = self.expr(subject, None)?;
        let mut by_value = FxHashMap::default();
        for (i, case) in (0u32..).zip(cases) {
            by_value.entry(case.value.clone()).or_insert((i, label(case.target)));
        }
        self.exe.switches.push(SwitchCode { subject, cases: by_value, otherwise: label(otherwise) });
        self.push(Instr::Switch(self.exe.switches.len() as u32 - 1));
        Ok(())
    }

    fn select(
        &mut self,
        keys: &[Expr],
        cases: &[ir::SelectCase],
        otherwise: NodeId,
    ) -> Result<(), LoadError> {
        let mut key_codes = Vec::with_capacity(keys.len());
        for key in keys {
            key_codes.push(SelectKey { slot: self.expr(key, None)?, signed: key.ty.is_signed() });
        }
        let mut case_codes = Vec::with_capacity(cases.len());
        for case in cases {
            let pattern = match &case.pattern {
                Pattern::ValueSet(set) => PatternCode::ValueSet(self.value_set(*set)?),
                Pattern::Keys(keysets) => {
                    if keysets.len() != keys.len() {
                        return Err(LoadError::Malformed("a pattern that does not fit its keys"));
                    }
                    let mut codes = Vec::with_capacity(keysets.len());
                    for keyset in keysets {
                        codes.push(self.keyset(keyset)?);
                    }
                    PatternCode::Keys(codes.into())
                }
            };
            case_codes.push((pattern, label(case.target)));
        }
        self.exe.selects.push(SelectCode {
            keys: key_codes.into(),
            cases: case_codes.into(),
            otherwise: label(otherwise),
        });
        self.push(Instr::Select(self.exe.selects.len() as u32 - 1));
        Ok(())
    }

    fn value_set(&self, id: ir::ValueSetId) -> Result<ir::ValueSetId, LoadError> {
        let is_known = index_of(id) < self.exe.program.value_sets.len();
        is_known.then_some(id).ok_or(LoadError::Malformed("an unknown value set"))
    }

    fn keyset(&mut self, keyset: &Keyset) -> Result<KeysetCode, LoadError> {
        Ok(match keyset {
            Keyset::Any => KeysetCode::Any,
            Keyset::Value(e) => KeysetCode::Value(self.expr(e, None)?),
            Keyset::Mask { value, mask } => {
                KeysetCode::Mask { value: self.expr(value, None)?, mask: self.expr(mask, None)? }
            }
            Keyset::Range { lo, hi } => {
                KeysetCode::Range { lo: self.expr(lo, None)?, hi: self.expr(hi, None)? }
            }
            Keyset::ValueSet(set) => KeysetCode::ValueSet(self.value_set(*set)?),
        })
    }

    /// The fields of a header, which must be one.
    fn header(&self, ty: &Type) -> Result<Vec<FieldWidth>, LoadError> {
        let program = &self.exe.program;
        let malformed = LoadError::Malformed("a header that is none");
        match ty {
            Type::Struct(id) if program.structs[*id].kind == StructKind::Header => {}
            _ => return Err(malformed),
        }
        let mut leaves = Vec::new();
        self.exe.layout.for_each_leaf(program, ty, &mut |leaf| leaves.push(leaf));
        let mut fields = Vec::with_capacity(leaves.len());
        for leaf in &leaves[1..] {
            match leaf {
                Leaf::Value(Type::Varbit(max)) => fields.push(FieldWidth::Varbit { max: *max }),
                Leaf::Value(ty) => {
                    fields.push(FieldWidth::Fixed(ty.width_bits().ok_or(malformed.clone())?));
                }
                Leaf::Valid | Leaf::NextIndex => return Err(malformed),
            }
        }
        let n_varbits = fields.iter().filter(|f| matches!(f, FieldWidth::Varbit { .. })).count();
        if n_varbits > 1 { Err(LoadError::Malformed("a header with two varbits")) } else { Ok(fields) }
    }

    fn lookahead_leaves(&self, ty: &Type) -> Result<Vec<LookaheadLeaf>, LoadError> {
        let mut leaves = Vec::new();
        self.exe.layout.for_each_leaf(&self.exe.program, ty, &mut |leaf| {
            leaves.push(match leaf {
                Leaf::Valid => Some(LookaheadLeaf::Valid),
                Leaf::Value(ty) => ty.width_bits().map(LookaheadLeaf::Bits),
                Leaf::NextIndex => Some(LookaheadLeaf::NextIndex),
            });
        });
        let leaves: Option<Vec<_>> = leaves.into_iter().collect();
        leaves.ok_or(LoadError::Malformed("lookahead of what has no fixed size"))
    }
}
