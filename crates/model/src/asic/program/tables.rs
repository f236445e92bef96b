//! The demand of a table: its keys, entries, data and memories.

use super::{DesignError, Making, N_ENTRIES_ASSUMED, SizeSource, TableFacts};
use crate::asic::demand::{CounterCell, Direct, KeyField, MatchWay, TableDemand};
use crate::asic::packing::ceil_log2;
use diagnostics::suggest;
use ir::lookup::{get, index};
use ir::{BlockId, Constant, MatchKind, Object, Program, Table, TableId, Timeout, Type};
use std::collections::BTreeMap;

/// Sizes from options, by position of the table.
pub fn named(
    program: &Program,
    blocks: &[BlockId],
    entries: &BTreeMap<String, u64>,
) -> Result<BTreeMap<usize, u64>, DesignError> {
    let placed = || program.tables.iter().filter(|(_, table)| blocks.contains(&table.block));
    let mut found = BTreeMap::new();
    for (name, n_entries) in entries {
        let is_end = |full: &str| full == name || full.ends_with(&format!(".{name}"));
        let whole = placed().find(|(_, table)| table.name == *name);
        let ends: Vec<(TableId, &Table)> = placed().filter(|(_, table)| is_end(&table.name)).collect();
        let id = match (whole, ends.as_slice()) {
            (Some((id, _)), _) => id,
            (None, [(id, _)]) => *id,
            (None, []) => {
                let names: Vec<&str> = placed().map(|(_, table)| table.name.as_str()).collect();
                let last = |full: &str| full.rsplit('.').next().unwrap_or(full).to_string();
                let short: Vec<String> = names.iter().map(|name| last(name)).collect();
                let all = names.iter().copied().chain(short.iter().map(String::as_str));
                let closest = suggest::closest(name, all).map(str::to_string);
                let tables = names.iter().map(|name| name.to_string()).collect();
                return Err(DesignError::NoTable { name: name.clone(), closest, tables });
            }
            (None, several) => {
                let tables = several.iter().map(|(_, table)| table.name.to_string()).collect();
                return Err(DesignError::Ambiguous { name: name.clone(), tables });
            }
        };
        if *n_entries == 0 {
            return Err(DesignError::ZeroEntries { table: program.tables[id].name.to_string() });
        }
        found.insert(index(id), *n_entries);
    }
    Ok(found)
}

impl Making<'_> {
    /// The demand of a table whose actions lead to `n_next` places. `offsets` are the positions of its keys in their fields.
    pub fn demand(
        &mut self,
        id: TableId,
        n_next: u64,
        offsets: &[u64],
    ) -> Result<(TableDemand, TableFacts), DesignError> {
        let table = &self.program.tables[id];
        let keys: Vec<KeyField> = table
            .keys
            .iter()
            .zip(offsets)
            .filter_map(|(key, offset)| {
                let way = match key.match_kind {
                    MatchKind::Exact => MatchWay::Exact,
                    MatchKind::Lpm | MatchKind::Ternary | MatchKind::Optional => MatchWay::Ternary,
                    MatchKind::Range => MatchWay::Range,
                    MatchKind::Selector => return None,
                };
                Some(KeyField { bits: bits(self.program, &key.ty), offset: *offset, way })
            })
            .collect();
        let (n_entries, source) = match (self.entries.get(&index(id)), table.size) {
            (Some(n), _) => (*n, SizeSource::Option),
            (None, Some(n)) => (n, SizeSource::Program),
            (None, None) if table.has_const_entries => (table.entries.len() as u64, SizeSource::Entries),
            (None, None) => (N_ENTRIES_ASSUMED, SizeSource::Assumed),
        };
        if n_entries == 0 && !keys.is_empty() {
            return Err(DesignError::ZeroEntries { table: table.name.to_string() });
        }
        let data = |procedure| {
            let params =
                get(&self.program.procedures, procedure).map(|p| p.params.as_slice()).unwrap_or_default();
            let widths = params.iter().filter_map(|param| get(&self.program.variables, *param));
            widths.fold(0u64, |sum, variable| sum.saturating_add(bits(self.program, &variable.ty)))
        };
        let of_entries = || table.actions.iter().filter(|action| !action.is_default_only);
        let data_bits = of_entries().map(|action| data(action.procedure)).max().unwrap_or(0);
        let n_hit_actions = of_entries().filter(|action| !action.is_group_action).count() as u64;
        let direct = direct(self.program, table);
        let default = table.default_action.index as usize;
        let may_be_default = |i: usize, is_table_only: bool| match table.has_const_default_action {
            true => i == default,
            false => !is_table_only,
        };
        let is_default_in_memory = !direct.is_empty()
            || table
                .actions
                .iter()
                .enumerate()
                .any(|(i, action)| may_be_default(i, action.is_table_only) && data(action.procedure) > 0);
        let n_members = match table.implementation {
            Some(object) => Some(size(&self.program.objects[object])?),
            None => None,
        };
        let next_bits = match (n_hit_actions, n_next) {
            (0..=8, _) => 0,
            (_, n @ 0..=8) => ceil_log2(n),
            _ => 8,
        };
        let demand = TableDemand {
            name: table.name.to_string(),
            n_entries,
            data_bits,
            n_hit_actions,
            n_const_entries: (table.has_const_entries && source != SizeSource::Option)
                .then_some(table.entries.len() as u64),
            next_bits,
            is_versioned: true,
            is_default_in_memory,
            n_members,
            direct,
            keys,
        };
        let facts = TableFacts {
            n_entries,
            source,
            key_bits: demand.key_bits(),
            data_bits,
            n_actions: table.actions.len() as u64,
        };
        self.notes_of(id);
        Ok((demand, facts))
    }

    fn notes_of(&mut self, id: TableId) {
        let table = &self.program.tables[id];
        let name = self.table_name(id);
        if table.add_on_miss.is_some() || table.updates_data {
            self.note(format!(
                "`{name}`: packets change its entries; here it is a table that the control plane fills"
            ));
        }
        if table.keys.iter().any(|key| key.match_kind == MatchKind::Lpm) {
            self.note(format!("`{name}`: longest prefixes are matched in TCAM, not by algorithms in SRAM"));
        }
    }
}

/// Bits of a value.
pub fn bits(program: &Program, ty: &Type) -> u64 {
    let n_values = |n: usize| ceil_log2(n as u64).max(1);
    match ty {
        Type::Enum(id) => get(&program.enums, *id).map_or(32, |e| n_values(e.members.len())),
        Type::Error => n_values(program.errors.len()),
        Type::Varbit(width) => u64::from(*width),
        Type::Bool => 1,
        Type::Bit(_) | Type::Int(_) => ty.width_bits().map_or(0, u64::from),
        Type::Struct(_) | Type::Stack { .. } | Type::Array { .. } => {
            let leaves = ir::layout::field_leaves(program, ty);
            leaves.iter().fold(0u64, |sum, leaf| sum.saturating_add(bits(program, &leaf.ty)))
        }
    }
}

fn direct(program: &Program, table: &Table) -> Vec<Direct> {
    let mut all = Vec::new();
    if let Some(object) = table.direct_counter.and_then(|id| get(&program.objects, id)) {
        all.push(Direct::Counter(counter_cell(object)));
    }
    if table.direct_meter.is_some() {
        all.push(Direct::Meter);
    }
    if table.timeout != Timeout::Never {
        all.push(Direct::IdleTime { bits: 3 });
    }
    all
}

/// Externs of v1model have names in small letters and counters without a width: they get 64 bits.
pub fn counter_cell(object: &Object) -> CounterCell {
    let has_width = object.type_name.starts_with(|c: char| c.is_ascii_uppercase());
    let width = object.type_args.first().filter(|_| has_width).and_then(Type::width_bits);
    let bits = width.map_or(64, u64::from);
    let kind = object.args.iter().find_map(|(_, arg)| match arg {
        Constant::Member(name) => Some(name.to_lowercase()),
        _ => None,
    });
    match kind.as_deref() {
        Some("packets" | "bytes") => CounterCell::One { bits },
        _ => CounterCell::Both { bits },
    }
}

/// The argument that says how many cells or members an object has.
pub fn size(object: &Object) -> Result<u64, DesignError> {
    let number = |constant: &Constant| match constant {
        Constant::Bits(bits) => bits.to_u64(),
        _ => None,
    };
    let named = object.args.iter().find(|(name, _)| name == "size").and_then(|(_, arg)| number(arg));
    let size =
        named.or_else(|| object.args.iter().find_map(|(_, arg)| number(arg))).unwrap_or(N_ENTRIES_ASSUMED);
    if size == 0 {
        return Err(DesignError::ZeroSize { object: object.name.to_string() });
    }
    Ok(size)
}
