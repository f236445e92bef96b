//! The nodes of a block and the edges between them.

use super::effects::{
    Effects, Item, Leaves, Transfer, actions_of_statements, in_order, levels, steps, steps_of_condition,
};
use super::inputs;
use super::{Circle, CircleKind, Described, DesignError, Making, NodeKind, TableFacts};
use crate::asic::demand::{MatchWay, TableDemand};
use crate::asic::packing::{Lookup, pack, ternary_bytes};
use crate::asic::placement::{Edge, EdgeKind, Node};
use crate::asic::resource::Resource;
use diagnostics::Span;
use ir::leaf_set::LeafSet;
use ir::lookup::{get, index};
use ir::passes::{inline_procedures, propagate_copies, remove_dead, simplify_cfg};
use ir::{
    BlockId, Expr, ExprKind, Graph, NodeId, Place, Program, Scope, Step, StmtKind, TableId, TerminatorKind,
};
use std::collections::{BTreeMap, BTreeSet};

/// A node while the edges are looked for.
struct Unit {
    node: Node,
    kind: NodeKind,
    table: Option<TableFacts>,
    /// Leaves that must be there before it begins: keys and conditions.
    keys: LeafSet,
    effects: Effects,
    /// Units of tables whose result it reads.
    results: BTreeSet<usize>,
    /// The places where it runs: the node of the graph and the position there.
    places: Vec<(usize, usize)>,
    /// Leaves that each of its actions writes.
    actions: Vec<LeafSet>,
    /// Action data of its members, if it has a profile.
    profile: Option<(ir::ObjectId, u64)>,
}

/// Larger graphs are not analysed: the paths between their nodes would take too much memory.
const N_NODES_MAX: usize = 1 << 14;
/// Limit on pairs of units times leaves.
const N_BITS_MAX: u64 = 1 << 36;

pub(super) fn add(making: &mut Making, position: usize, block: BlockId) -> Result<(), DesignError> {
    let mut program = making.program.clone();
    let actions = actions_of_statements(&program);
    inline_procedures(&mut program, &|program, id| {
        get(&program.procedures, id).is_some_and(|p| p.block == block)
    });
    if program.blocks[block].graph.nodes.len() > N_NODES_MAX {
        return Err(DesignError::TooLarge);
    }
    simplify_cfg(&mut program);
    inputs::read_at_their_origin(&mut program, block);
    propagate_copies(&mut program);
    remove_dead(&mut program);
    simplify_cfg(&mut program);
    let graph = &program.blocks[block].graph;
    let mut flow = Flow {
        leaves: Leaves::new(&program),
        actions,
        graph,
        position,
        units: Vec::new(),
        of_table: BTreeMap::new(),
        results: BTreeMap::new(),
        deciders: Vec::new(),
        bytes: BTreeMap::new(),
    };
    flow.find_results();
    for id in in_order(graph) {
        flow.node(making, id)?;
    }
    flow.finish(making)
}

struct Flow<'p> {
    leaves: Leaves<'p>,
    /// The actions that statements come from, by their places in the source.
    actions: BTreeMap<Span, usize>,
    graph: &'p Graph,
    /// The block's position in the design.
    position: usize,
    units: Vec<Unit>,
    of_table: BTreeMap<usize, usize>,
    /// Leaves that hold the result of a table.
    results: BTreeMap<usize, TableId>,
    /// Nodes of the graph that branch, with the units that decide.
    deciders: Vec<(usize, Vec<usize>)>,
    /// Numbers of bytes of keys: by leaf and byte.
    bytes: BTreeMap<(usize, u64), u32>,
}

impl Flow<'_> {
    fn program(&self) -> &Program {
        self.leaves.program
    }

    /// Finds where results of tables are stored, and temporaries that they are copied to.
    fn find_results(&mut self) {
        for (_, node) in self.graph.nodes.iter() {
            if let TerminatorKind::Apply { table, hit, action, .. } = &node.terminator.kind {
                for place in [hit, action].into_iter().flatten() {
                    self.leaves.extent(place).for_each(|leaf| {
                        self.results.insert(leaf, *table);
                    });
                }
            }
        }
        loop {
            let mut more = Vec::new();
            for stmt in self.graph.nodes.iter().flat_map(|(_, node)| &node.stmts) {
                if let Some((place, table)) = self.copied_result(&stmt.kind) {
                    more.extend(self.leaves.extent(place).map(|leaf| (leaf, table)));
                }
            }
            let n = self.results.len();
            self.results.extend(more);
            if self.results.len() == n {
                break;
            }
        }
    }

    /// The temporary that an assignment copies the result of a table to.
    fn copied_result<'s>(&self, kind: &'s StmtKind) -> Option<(&'s Place, TableId)> {
        let StmtKind::Assign { place, value } = kind else { return None };
        let read = result_read(value)?;
        let table = self.leaves.extent(read).find_map(|leaf| self.results.get(&leaf))?;
        self.program().is_temporary(place.var).then_some((place, *table))
    }

    fn name(&self, making: &Making, word: &str, span: Span) -> String {
        match (making.line)(span) {
            Some(line) => format!("{word} at line {line}"),
            None => format!("{word} {}", self.units.len()),
        }
    }

    fn unit(&mut self, name: String, kind: NodeKind, place: (usize, usize)) -> usize {
        self.units.push(Unit {
            node: Node::new(name),
            kind,
            table: None,
            keys: self.leaves.none(),
            effects: Effects::none(self.leaves.layout.n_leaves()),
            results: BTreeSet::new(),
            places: vec![place],
            actions: Vec::new(),
            profile: None,
        });
        self.units.len() - 1
    }

    fn node(&mut self, making: &mut Making, id: NodeId) -> Result<(), DesignError> {
        let node = &self.graph.nodes[id];
        let mut items = Vec::new();
        let mut origins = Vec::new();
        for stmt in node.stmts.iter().filter(|stmt| !self.leaves.is_free(stmt)) {
            if self.copied_result(&stmt.kind).is_none() {
                items.push(Item::Stmt {
                    effects: self.leaves.stmt(stmt),
                    transfer: self.leaves.transfer(stmt),
                });
                origins.push((self.actions.get(&stmt.span).copied(), stmt.span));
            }
        }
        // Statements of one level are one action, but those of actions that the program calls.
        let mut of_level: BTreeMap<(u32, Option<usize>), usize> = BTreeMap::new();
        for ((item, (action, span)), (level, n)) in items.iter().zip(origins).zip(levels(&items)) {
            let Item::Stmt { effects, transfer } = item else { continue };
            if *transfer == Transfer::Copy {
                // Later code reads the origin: the copy lends its reads to nobody.
                continue;
            }
            let unit = match of_level.get(&(level, action)) {
                Some(unit) => *unit,
                None => {
                    let name = self.name(making, "statements", span);
                    let unit = self.unit(name, NodeKind::Statements, (index(id), level as usize));
                    of_level.insert((level, action), unit);
                    unit
                }
            };
            let own = Effects { depth: n.max(1), ..effects.clone() };
            let n_hashes = self.units[unit].effects.n_hashes + own.n_hashes;
            let hash_bits = self.units[unit].effects.hash_bits + own.hash_bits;
            self.units[unit].effects.join(&own);
            self.units[unit].effects.n_hashes = n_hashes;
            self.units[unit].effects.hash_bits = hash_bits;
        }
        for unit in of_level.into_values() {
            let results = self.tables_read(&self.units[unit].effects.reads.clone());
            self.units[unit].results.extend(results);
            self.price_statements(unit);
        }
        self.terminator(making, id)
    }

    /// Units of the tables whose results are among some leaves.
    fn tables_read(&self, leaves: &LeafSet) -> Vec<usize> {
        let tables = leaves.iter().filter_map(|leaf| self.results.get(&leaf));
        tables.filter_map(|table| self.of_table.get(&index(*table)).copied()).collect()
    }

    fn without_results(&self, leaves: &LeafSet) -> LeafSet {
        let mut rest = leaves.clone();
        self.results.keys().for_each(|leaf| rest.remove(*leaf..*leaf + 1));
        rest
    }

    fn price_statements(&mut self, unit: usize) {
        let Unit { node, effects, .. } = &mut self.units[unit];
        node.depth = effects.depth;
        node.part[Resource::LogicalTables as usize] = 1;
        node.part[Resource::HashDistribution as usize] = effects.n_hashes;
        node.part[Resource::HashBits as usize] = effects.hash_bits;
        // Without a match there is no entry to bring what a hash unit computes; a gateway stands for one.
        node.part[Resource::Gateways as usize] = u64::from(effects.n_hashes > 0);
    }

    fn terminator(&mut self, making: &mut Making, id: NodeId) -> Result<(), DesignError> {
        const LAST: usize = usize::MAX;
        let node = &self.graph.nodes[id];
        match &node.terminator.kind {
            TerminatorKind::Apply { table, keys, then, exit, .. } => {
                let unit = self.apply(making, id, *table, keys)?;
                if then != exit && may_exit(self.program(), *table) {
                    self.deciders.push((index(id), vec![unit]));
                }
            }
            TerminatorKind::Branch { condition: e, .. } | TerminatorKind::Switch { subject: e, .. } => {
                let reads = self.leaves.reads(e);
                let data = self.without_results(&reads);
                let tables = self.tables_read(&reads);
                if data.is_empty() {
                    self.deciders.push((index(id), tables));
                    return Ok(());
                }
                let name = self.name(making, "condition", node.terminator.span);
                let n_steps = steps_of_condition(e);
                let unit = self.unit(name.clone(), NodeKind::Condition, (index(id), LAST));
                if n_steps > 0 {
                    let before =
                        self.unit(format!("operands of {name}"), NodeKind::Statements, (index(id), LAST - 1));
                    self.units[before].effects.reads = data.clone();
                    self.units[before].effects.depth = n_steps;
                    self.price_statements(before);
                    self.units[unit].results.insert(before);
                }
                let rows = self.leaves.field_bits(e).div_ceil(making.chip.gateways.condition_bits).max(1);
                let part = &mut self.units[unit].node.part;
                part[Resource::Gateways as usize] = rows;
                // A longer condition is a table of its own.
                part[Resource::LogicalTables as usize] = u64::from(rows > 1);
                self.units[unit].keys = data;
                self.units[unit].results.extend(tables);
                self.deciders.push((index(id), vec![unit]));
            }
            _ => {}
        }
        Ok(())
    }

    fn apply(
        &mut self,
        making: &mut Making,
        id: NodeId,
        table: TableId,
        keys: &[Expr],
    ) -> Result<usize, DesignError> {
        let place = (index(id), usize::MAX);
        if let Some(unit) = self.of_table.get(&index(table)) {
            let unit = *unit;
            self.units[unit].places.push(place);
            for key in keys {
                let reads = self.leaves.reads(key);
                let (tables, data) = (self.tables_read(&reads), self.without_results(&reads));
                self.units[unit].keys.union(&data);
                self.units[unit].results.extend(tables);
            }
            return Ok(unit);
        }
        let name = making.table_name(table);
        let unit = self.unit(name.clone(), NodeKind::Table, place);
        self.of_table.insert(index(table), unit);
        let offsets: Vec<u64> = keys.iter().map(slice_offset).collect();
        let (demand, facts) = making.demand(table, self.n_next(table), &offsets)?;
        let mut n_steps = 0;
        for key in keys {
            let reads = self.leaves.reads(key);
            let (tables, data) = (self.tables_read(&reads), self.without_results(&reads));
            n_steps = n_steps.max(steps(key));
            self.units[unit].keys.union(&data);
            self.units[unit].results.extend(tables);
        }
        if n_steps > 0 {
            let before =
                self.unit(format!("key of {name}"), NodeKind::Statements, (index(id), usize::MAX - 1));
            self.units[before].effects.reads = self.units[unit].keys.clone();
            self.units[before].effects.depth = n_steps;
            self.price_statements(before);
            self.units[unit].results.insert(before);
        }
        for action in self.program().tables[table].actions.clone() {
            let effects = self.leaves.action(action.procedure);
            self.units[unit].effects.join(&effects);
            self.units[unit].actions.push(effects.writes);
        }
        let implementation = self.program().tables[table].implementation;
        self.units[unit].profile = implementation.map(|object| (object, demand.data_bits));
        self.price_table(making, table, unit, &demand, keys);
        self.units[unit].table = Some(facts);
        Ok(unit)
    }

    /// Places that the actions of a table lead to.
    fn n_next(&self, table: TableId) -> u64 {
        let is_of = |e: &Expr| {
            result_read(e).is_some_and(|place| {
                self.leaves.extent(place).any(|leaf| self.results.get(&leaf) == Some(&table))
            })
        };
        let targets = self.graph.nodes.iter().filter_map(|(_, node)| match &node.terminator.kind {
            TerminatorKind::Switch { subject, .. } if is_of(subject) => {
                Some(node.terminator.kind.successors().into_iter().map(index).collect::<BTreeSet<_>>().len()
                    as u64)
            }
            _ => None,
        });
        targets.max().unwrap_or(1)
    }

    fn price_table(
        &mut self,
        making: &mut Making,
        table: TableId,
        unit: usize,
        demand: &TableDemand,
        keys: &[Expr],
    ) {
        let chip = making.chip;
        let packed = match pack(chip, demand, making.options.pack) {
            Ok(packed) => packed,
            Err(error) => {
                making.design.impossible.push((demand.name.clone(), demand.n_entries, error));
                return;
            }
        };
        let is_exact = demand.is_exact();
        let mut fields = demand.keys.iter();
        let mut bytes = BTreeSet::new();
        let matched: Vec<Expr> = keys
            .iter()
            .zip(&self.program().tables[table].keys)
            .filter(|(_, key)| key.match_kind != ir::MatchKind::Selector)
            .map(|(e, _)| e.clone())
            .collect();
        for key in &matched {
            let Some(field) = fields.next() else { break };
            let copies = if is_exact || field.way != MatchWay::Range {
                1
            } else {
                ternary_bytes(chip, field) / field.n_bytes().max(1)
            };
            let offset = slice_offset(key);
            for byte in offset / 8..(offset + field.bits).div_ceil(8).max(offset / 8) {
                for copy in 0..copies {
                    bytes.insert(self.byte(key, byte, copy));
                }
            }
        }
        let Unit { node, effects, .. } = &mut self.units[unit];
        let mut add = |resource: Resource, amount: u64| node.part[resource as usize] += amount;
        add(Resource::LogicalTables, 1);
        add(Resource::ActionBytes, demand.data_bits.div_ceil(8).min(chip.actions.data_bytes));
        add(Resource::HashDistribution, effects.n_hashes);
        let per_stage = chip.sram.blocks / packed.n_words.max(1);
        add(
            Resource::HashBits,
            effects.hash_bits + packed.hash_bits(chip, packed.n_units.min(per_stage.max(1))),
        );
        for direct in &demand.direct {
            use crate::asic::demand::Direct;
            match direct {
                Direct::Counter(_) => add(Resource::CounterUnits, 1),
                Direct::Meter => add(Resource::RegisterUnits, 1),
                Direct::IdleTime { .. } => {}
            }
        }
        node.depth = effects.depth;
        match packed.lookup {
            // A hash unit's value comes with an entry, for which a gateway stands.
            Lookup::None => node.part[Resource::Gateways as usize] += u64::from(effects.n_hashes > 0),
            Lookup::Gateway => node.part[Resource::Gateways as usize] += 1,
            Lookup::Ternary => {
                node.part[Resource::TernaryTables as usize] = 1;
                node.ternary_bytes = bytes;
            }
            Lookup::Index | Lookup::Hash => node.exact_bytes = bytes,
        }
        if packed.lookup != Lookup::None {
            node.packed = Some(packed);
        }
    }

    /// The number of a byte of a key: the same for the same byte of the same field.
    fn byte(&mut self, key: &Expr, byte: u64, copy: u64) -> u32 {
        let leaf = match field_read(key) {
            Some(place) => self.leaves.extent(place).start,
            // A computed value has bytes of its own.
            None => self.leaves.layout.n_leaves() + self.units.len(),
        };
        let n = self.bytes.len() as u32;
        *self.bytes.entry((leaf, byte + copy * (1 << 32))).or_insert(n)
    }

    fn finish(mut self, making: &mut Making) -> Result<(), DesignError> {
        let n = self.units.len() as u64;
        if n.saturating_mul(n).saturating_mul(self.leaves.layout.n_leaves() as u64 + 64) > N_BITS_MAX {
            return Err(DesignError::TooLarge);
        }
        let paths = Paths::new(self.graph);
        self.repeated(making, &paths);
        self.instructions(&paths);
        let first = making.design.problem.nodes.len();
        // Bytes of another block are other bytes.
        let shift = making
            .design
            .problem
            .nodes
            .iter()
            .flat_map(|n| n.exact_bytes.iter().chain(&n.ternary_bytes))
            .max();
        let shift = shift.map_or(0, |byte| byte + 1);
        for unit in &mut self.units {
            let node = &mut unit.node;
            node.exact_bytes = node.exact_bytes.iter().map(|byte| byte + shift).collect();
            node.ternary_bytes = node.ternary_bytes.iter().map(|byte| byte + shift).collect();
            making.design.problem.nodes.push(node.clone());
            let (kind, table) = (unit.kind, unit.table.clone());
            making.design.nodes.push(Described { kind, block: self.position, table });
        }
        let mut edges = self.edges(&paths);
        self.memories(making, first, &mut edges)?;
        making.design.problem.edges.extend(edges);
        Ok(())
    }

    /// Counts the instructions: one for each action that writes something which is read afterwards, or leaves the block.
    fn instructions(&mut self, paths: &Paths) {
        let mut outputs = self.leaves.none();
        for (id, variable) in self.program().variables.iter() {
            if matches!(variable.scope, Scope::Pipeline(_)) {
                outputs.insert(self.leaves.layout.variable(id));
            }
        }
        let counts: Vec<u64> = (self.units.iter().enumerate())
            .map(|(i, unit)| {
                let mut read = outputs.clone();
                for (j, later) in self.units.iter().enumerate() {
                    if i == j || paths.is_before(unit, later) {
                        read.union(&later.effects.reads);
                        read.union(&later.keys);
                    }
                }
                let writes = match unit.kind {
                    NodeKind::Statements => std::slice::from_ref(&unit.effects.writes),
                    NodeKind::Table | NodeKind::Condition | NodeKind::Memory => &unit.actions,
                };
                // Operands of a key or a condition have no leaf of their own.
                let is_operand = unit.kind == NodeKind::Statements
                    && unit.effects.writes.iter().next().is_none()
                    && unit.effects.objects.is_empty();
                writes.iter().filter(|writes| is_operand || writes.meets(&read)).count() as u64
            })
            .collect();
        // Blocks of a package that Siding does not know have no role; ingress comes before egress.
        let memory = if self.position.is_multiple_of(2) {
            Resource::Instructions
        } else {
            Resource::EgressInstructions
        };
        for (unit, n) in self.units.iter_mut().zip(counts) {
            unit.node.part[memory as usize] = n;
        }
    }

    /// Notes loops, and tables that are applied again.
    fn repeated(&self, making: &mut Making, paths: &Paths) {
        let is_in_loop = |unit: &&Unit| unit.places.iter().any(|(n, _)| paths.reaches(*n, *n));
        let names: Vec<String> =
            self.units.iter().filter(is_in_loop).map(|unit| unit.node.name.clone()).collect();
        if !names.is_empty() {
            making.design.circles.push(Circle { names, kind: CircleKind::Loop });
        }
        for unit in self.units.iter().filter(|unit| !is_in_loop(unit)) {
            let again = |(n, _): &(usize, usize)| unit.places.iter().any(|(m, _)| paths.reaches(*n, *m));
            if unit.places.iter().any(again) {
                let names = vec![unit.node.name.clone()];
                making.design.circles.push(Circle { names, kind: CircleKind::Twice });
            }
        }
    }

    /// Edges between the units, with the positions of their nodes if the first has position 0.
    fn edges(&self, paths: &Paths) -> Vec<Edge> {
        let mut edges = Vec::new();
        for (from, a) in self.units.iter().enumerate() {
            for (to, b) in self.units.iter().enumerate() {
                if from == to || !paths.is_before(a, b) {
                    continue;
                }
                let kinds = [
                    (EdgeKind::Match, a.effects.writes.meets(&b.keys)),
                    (
                        EdgeKind::Action,
                        a.effects.writes.meets(&b.effects.reads) || a.effects.writes.meets(&b.effects.writes),
                    ),
                    (EdgeKind::Successor, b.results.contains(&from) && a.kind == NodeKind::Table),
                    // Computed operands and keys.
                    (EdgeKind::Match, b.results.contains(&from) && a.kind != NodeKind::Table),
                    (
                        EdgeKind::Reverse,
                        a.keys.meets(&b.effects.writes) || a.effects.reads.meets(&b.effects.writes),
                    ),
                ];
                edges.extend(kinds.into_iter().filter(|(_, holds)| *holds).map(|(kind, _)| Edge {
                    from,
                    to,
                    kind,
                }));
            }
        }
        for (to, unit) in self.units.iter().enumerate() {
            let around = paths.around(unit);
            for (at, units) in &self.deciders {
                let decides =
                    around.get(*at) == Some(&true) && unit.places.iter().any(|(b, _)| paths.reaches(*at, *b));
                let sources = units.iter().filter(|from| decides && **from != to);
                edges.extend(sources.map(|from| Edge { from: *from, to, kind: EdgeKind::Successor }));
            }
        }
        edges.sort_unstable();
        edges.dedup();
        edges
    }

    /// Adds memories behind those that use them, and before those that need what they give.
    fn memories(&self, making: &mut Making, first: usize, edges: &mut Vec<Edge>) -> Result<(), DesignError> {
        edges.iter_mut().for_each(|edge| {
            edge.from += first;
            edge.to += first;
        });
        let mut users: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for (i, unit) in self.units.iter().enumerate() {
            let objects = unit.effects.objects.iter().map(|object| (*object, 0)).chain(unit.profile);
            for (object, data_bits) in objects {
                let node = making.memory(self.position, object, data_bits)?;
                users.entry(node).or_default().insert(i + first);
            }
        }
        for (node, users) in users {
            let gives = making.design.problem.nodes[node].part[Resource::CounterUnits as usize] == 0;
            let behind: Vec<Edge> = edges.iter().filter(|edge| users.contains(&edge.from)).copied().collect();
            edges.extend(users.iter().map(|user| Edge { from: *user, to: node, kind: EdgeKind::Successor }));
            for edge in behind {
                if gives && !edge.kind.is_weak() && !users.contains(&edge.to) {
                    edges.push(Edge { from: node, ..edge });
                }
            }
        }
        Ok(())
    }
}

/// The order in which a graph's nodes can run.
struct Paths {
    /// For each node those that may run after it.
    after: Vec<Vec<u64>>,
    successors: Vec<Vec<usize>>,
    order: Vec<usize>,
}

impl Paths {
    fn new(graph: &Graph) -> Paths {
        let n = graph.nodes.len();
        let order: Vec<usize> = in_order(graph).into_iter().map(index).collect();
        let mut successors = vec![Vec::new(); n];
        for (id, node) in graph.nodes.iter() {
            successors[index(id)] = node.terminator.kind.successors().into_iter().map(index).collect();
        }
        let mut after = vec![vec![0u64; n.div_ceil(64)]; n];
        // Once, and again as long as there are loops.
        loop {
            let mut is_changed = false;
            for node in order.iter().rev() {
                let mut set = after[*node].clone();
                for to in &successors[*node] {
                    set.iter_mut().zip(&after[*to]).for_each(|(a, b)| *a |= b);
                    set[to / 64] |= 1 << (to % 64);
                }
                is_changed |= set != after[*node];
                after[*node] = set;
            }
            if !is_changed {
                break;
            }
        }
        Paths { after, successors, order }
    }

    fn reaches(&self, from: usize, to: usize) -> bool {
        self.after[from][to / 64] >> (to % 64) & 1 == 1
    }

    fn is_before(&self, a: &Unit, b: &Unit) -> bool {
        let pairs = a.places.iter().flat_map(|a| b.places.iter().map(move |b| (a, b)));
        pairs.into_iter().any(|((n, i), (m, j))| if n == m { i < j } else { self.reaches(*n, *m) })
    }

    /// For each node: the end can be reached from it without running the unit.
    fn around(&self, unit: &Unit) -> Vec<bool> {
        let mut around = vec![false; self.successors.len()];
        let runs = |node: usize| unit.places.iter().any(|(n, _)| *n == node);
        for node in self.order.iter().rev() {
            let successors = &self.successors[*node];
            let leaves = |to: &usize| !runs(*to) && around[*to];
            around[*node] = successors.is_empty() || successors.iter().any(leaves);
        }
        around
    }
}

/// The place that an expression reads, perhaps negated or cast.
fn result_read(e: &Expr) -> Option<&Place> {
    match &e.kind {
        ExprKind::Read(place) => Some(place),
        ExprKind::Unary(ir::UnaryOp::Not, operand) | ExprKind::Cast(operand) => result_read(operand),
        _ => None,
    }
}

/// The field that a key is a part of, if it is one.
fn field_read(e: &Expr) -> Option<&Place> {
    match &e.kind {
        ExprKind::Read(place) => Some(place),
        ExprKind::Cast(value) | ExprKind::Slice { value, .. } => field_read(value),
        _ => None,
    }
}

/// Position of a key's lowest bit in its field.
fn slice_offset(e: &Expr) -> u64 {
    match &e.kind {
        ExprKind::Read(place) => match place.path.last() {
            Some(Step::Slice { lo, .. }) => u64::from(*lo),
            _ => 0,
        },
        ExprKind::Cast(value) => slice_offset(value),
        ExprKind::Slice { value, lo } => u64::from(*lo) + slice_offset(value),
        _ => 0,
    }
}

/// True when an action of the table may exit. Calls are inlined.
fn may_exit(program: &Program, table: TableId) -> bool {
    let procedures =
        program.tables[table].actions.iter().filter_map(|a| get(&program.procedures, a.procedure));
    procedures
        .into_iter()
        .any(|p| p.graph.nodes.iter().any(|(_, node)| node.terminator.kind == TerminatorKind::Exit))
}
