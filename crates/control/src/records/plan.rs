//! The plan of a table: meaning of its records in terms of P4Info.

use super::layout::{RecordField, RecordLayout, RecordMatch};
use crate::ids::{ActionId, FieldId, ParamId, TableId};
use crate::schema::{ActionScope, MatchKind, MeterType, Schema, Table, ValueForm};

/// Records of one table: their layout, the ids of P4Info, and the rules that [`check`](RecordPlan::check) enforces.
#[derive(Clone, Debug)]
pub struct RecordPlan {
    pub table: TableId,
    pub layout: RecordLayout,
    /// Ids of the key elements, in the order of `layout.keys`.
    pub fields: Vec<FieldId>,
    /// Actions of P4Info, by their index in records; `None`: P4Info does not have the action.
    pub actions: Vec<Option<PlannedAction>>,
    /// Entries may name groups.
    pub(super) has_groups: bool,
    /// How the direct meter marks packets.
    pub(super) meter_type: MeterType,
    /// Bits of the key that must be zero, as long as a record.
    pub(super) forbidden_key: Vec<u8>,
    /// Bits of exact key elements in masks, as long as a record; empty if records have no masks.
    pub(super) exact_masks: Vec<u8>,
    /// Key elements that need a look of their own, by their position.
    pub(super) special: Vec<usize>,
    /// Records have key, action and data only.
    pub(super) is_exact: bool,
}

/// An action in records.
#[derive(Clone, Debug)]
pub struct PlannedAction {
    pub id: ActionId,
    /// Parameters with their places, in the order of the program.
    pub params: Vec<(ParamId, RecordField)>,
    pub scope: ActionScope,
    /// Entries with the action may have counts, and rates.
    pub may_count: bool,
    pub may_meter: bool,
    /// Bits of the data that must be zero, as long as a record.
    pub(super) forbidden: Vec<u8>,
    /// These bits, and those of the key.
    pub(super) forbidden_all: Vec<u8>,
}

impl PlannedAction {
    /// Returns whether entries may have the action, besides the default entry or a group.
    #[inline]
    pub(super) fn is_for_entries(&self) -> bool {
        match self.scope {
            ActionScope::TableAndDefault | ActionScope::TableOnly => true,
            ActionScope::DefaultOnly | ActionScope::GroupAction => false,
        }
    }
}

impl RecordPlan {
    /// A plan for a table whose entries have this layout in the switch; `action_index` gives the index of an action of
    /// P4Info. `None` if entries of the table cannot be written as records: they are constant, there is no key, a value is
    /// translated or has no fixed width, or P4Info and the program differ.
    pub fn new(
        schema: &Schema,
        table: TableId,
        layout: RecordLayout,
        action_index: impl Fn(ActionId) -> Option<u32>,
    ) -> Option<RecordPlan> {
        let known = schema.tables.get(table)?;
        let has_profile = known.implementation.is_some();
        let is_alike = known.keys.len() == layout.keys.len() && layout.kind_at.is_some() == has_profile;
        if known.is_const || known.keys.is_empty() || !is_alike {
            return None;
        }
        for (key, of) in known.keys.iter().zip(&layout.keys) {
            let kind = match key.match_kind {
                MatchKind::Exact => RecordMatch::Exact,
                MatchKind::Lpm => RecordMatch::Lpm,
                MatchKind::Ternary => RecordMatch::Ternary,
                MatchKind::Range => RecordMatch::Range,
                MatchKind::Optional => RecordMatch::Optional,
                MatchKind::Other(_) => return None,
            };
            let is_plain = key.value.form == ValueForm::Bits { width_bits: of.value.width_bits };
            if kind != of.kind || !is_plain || key.value.translation.is_some() {
                return None;
            }
        }
        let mut actions: Vec<Option<PlannedAction>> = layout.actions.iter().map(|_| None).collect();
        for action in known.actions.iter().filter(|_| !has_profile) {
            let (of, index) = (schema.actions.get(action.id)?, action_index(action.id)? as usize);
            let places = layout.actions.get(index)?;
            let are_plain = of.params.iter().zip(places).all(|(param, place)| {
                param.value.form == ValueForm::Bits { width_bits: place.width_bits }
                    && param.value.translation.is_none()
            });
            if of.params.len() != places.len() || !are_plain {
                return None;
            }
            *actions.get_mut(index)? = Some(PlannedAction {
                id: action.id,
                params: of.params.iter().map(|param| param.id).zip(places.iter().copied()).collect(),
                scope: action.scope,
                may_count: schema.direct_uses.may_count(table, action.id),
                may_meter: schema.direct_uses.may_meter(table, action.id),
                forbidden: Vec::new(),
                forbidden_all: Vec::new(),
            });
        }
        let mut plan = RecordPlan {
            table,
            fields: known.keys.iter().map(|key| key.id).collect(),
            actions,
            has_groups: known
                .implementation
                .and_then(|id| schema.profiles.get(id))
                .is_some_and(|profile| profile.selector.is_some()),
            meter_type: meter_type(schema, known),
            forbidden_key: Vec::new(),
            exact_masks: Vec::new(),
            special: Vec::new(),
            is_exact: false,
            layout,
        };
        plan.prepare();
        Some(plan)
    }

    /// Fills the tables that `check` uses.
    fn prepare(&mut self) {
        let layout = &self.layout;
        let mut forbidden = vec![0; layout.record_bytes];
        for key in &layout.keys {
            forbid_above(&key.value, &mut forbidden);
            layout.mask(key).iter().for_each(|mask| forbid_above(mask, &mut forbidden));
        }
        if layout.mask_at.is_some() {
            self.exact_masks = vec![0; layout.record_bytes];
            for key in layout.keys.iter().filter(|key| key.kind == RecordMatch::Exact) {
                layout.mask(key).iter().for_each(|mask| fill_below(mask, &mut self.exact_masks));
            }
        }
        let is_special = |(i, key): (usize, &super::RecordKey)| (key.kind != RecordMatch::Exact).then_some(i);
        self.special = layout.keys.iter().enumerate().filter_map(is_special).collect();
        for action in self.actions.iter_mut().flatten() {
            action.forbidden = vec![0; layout.record_bytes];
            action.params.iter().for_each(|(_, place)| forbid_above(place, &mut action.forbidden));
            action.forbidden_all =
                action.forbidden.iter().zip(&forbidden).map(|(of, key)| of | key).collect();
        }
        let parts = [layout.mask_at, layout.kind_at, layout.priority_at, layout.idle_timeout_at];
        let cells = [layout.count_at, layout.rates_at];
        self.is_exact = parts.into_iter().chain(cells).all(|at| at.is_none());
        self.forbidden_key = forbidden;
    }

    /// The position of a key element among `layout.keys`.
    pub fn key_of(&self, field: FieldId) -> Option<usize> {
        self.fields.iter().position(|id| *id == field)
    }

    /// The index of an action of P4Info, which is that of the program.
    pub fn action_of(&self, id: ActionId) -> Option<(u32, &PlannedAction)> {
        let mut actions = (0u32..).zip(&self.actions);
        actions.find_map(|(i, action)| {
            action.as_ref().filter(|action| action.id == id).map(|action| (i, action))
        })
    }
}

fn meter_type(schema: &Schema, table: &Table) -> MeterType {
    let meter = table.direct_meter.and_then(|id| schema.direct_meters.get(id));
    meter.map_or(MeterType::default(), |meter| meter.meter_type)
}

/// Sets the bits of a field that are above its width.
fn forbid_above(field: &RecordField, bytes: &mut [u8]) {
    each_byte(field, bytes, |n_bits| !low(n_bits));
}

/// Sets the bits of a field that are below its width.
fn fill_below(field: &RecordField, bytes: &mut [u8]) {
    each_byte(field, bytes, low);
}

/// Sets the bits of each byte of a field that `bits` gives for the number of bits of the value that are in it.
fn each_byte(field: &RecordField, bytes: &mut [u8], bits: impl Fn(u32) -> u8) {
    for (i, byte) in (0u32..).zip(&mut bytes[field.offset..field.end()]) {
        *byte |= bits(field.width_bits.saturating_sub(8 * i).min(8));
    }
}

fn low(n_bits: u32) -> u8 {
    if n_bits >= 8 { u8::MAX } else { (1 << n_bits) - 1 }
}
