//! Where everything lies in a compiled program's memory, as JSON.

use arch::PipelineModel;
use ir::MatchKind;
use native::layout::{
    ActionLayout, ArgLayout, AsyncLayout, CallLayout, KeyLayout, Layout, ObjectKind, ObjectLayout,
    TableLayout, ValueLayout, ValueSetLayout,
};
use serde_json::{Value, json};

/// Raised with every change that is not an addition.
const VERSION: u32 = 1;

pub fn json(layout: &Layout, model: Option<&PipelineModel>) -> Value {
    let fields = layout
        .fields
        .iter()
        .enumerate()
        .flat_map(|(role, fields)| fields.iter().map(move |field| (role, field)));
    let fields: Vec<Value> =
        fields.map(|(role, field)| with(value(field), "name", field_name(role, model).into())).collect();
    json!({
        "version": VERSION,
        "abi_version": native::abi::VERSION,
        "program": layout.program_name,
        "state_bytes": layout.state_bytes,
        "state_align": layout.state_align,
        "has_straight_path": layout.has_straight_path,
        "has_trace": layout.trace.is_some(),
        "tables": layout.tables.iter().map(table).collect::<Vec<_>>(),
        "objects": layout.objects.iter().map(object).collect::<Vec<_>>(),
        "value_sets": layout.value_sets.iter().map(value_set).collect::<Vec<_>>(),
        "fields": fields,
        "field_lists": layout.field_lists.iter().map(|list| json!({
            "index": list.index,
            "ranges": list.ranges.iter().map(range).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "metadata": layout.metadata.iter().map(range).collect::<Vec<_>>(),
        "accept": layout.accept.as_ref().map(value),
        "calls": layout.calls.iter().map(call).collect::<Vec<_>>(),
        "asyncs": layout.asyncs.iter().map(asynchronous).collect::<Vec<_>>(),
    })
}

fn with(mut object: Value, key: &str, value: Value) -> Value {
    object[key] = value;
    object
}

/// Returns the name of a field in the architecture's declaration; the role's number if there is none.
fn field_name(role: usize, model: Option<&PipelineModel>) -> String {
    let mut fields = model.into_iter().flat_map(|model| &model.fields);
    let of_number = fields.find(|(_, _, r)| r.number() == role);
    of_number.map_or_else(|| role.to_string(), |(_, name, _)| name.clone())
}

fn range(range: &std::ops::Range<usize>) -> Value {
    json!({ "offset": range.start, "size": range.len() })
}

fn value(layout: &ValueLayout) -> Value {
    json!({ "offset": layout.offset, "size": layout.size, "width_bits": layout.width })
}

fn key(layout: &KeyLayout) -> Value {
    let kind = match layout.kind {
        MatchKind::Exact => "exact",
        MatchKind::Lpm => "lpm",
        MatchKind::Ternary => "ternary",
        MatchKind::Range => "range",
        MatchKind::Optional => "optional",
        // No key of a compiled table: the selector is part of the action.
        MatchKind::Selector => "selector",
    };
    let named = with(value(&layout.value), "name", layout.name.as_str().into());
    with(with(named, "match_kind", kind.into()), "is_biased", layout.is_biased.into())
}

fn action(layout: &ActionLayout) -> Value {
    json!({
        "name": layout.name.as_str(),
        "params": layout.params.iter().map(value).collect::<Vec<_>>(),
    })
}

fn table(layout: &TableLayout) -> Value {
    json!({
        "name": layout.name.as_str(),
        "size": layout.size,
        "key_bytes": layout.key_bytes,
        "keys": layout.keys.iter().map(key).collect::<Vec<_>>(),
        "data_bytes": layout.data_bytes,
        "actions": layout.actions.iter().map(action).collect::<Vec<_>>(),
        "profile": layout.profile,
        "has_direct_counter": layout.has_direct_counter,
        "has_direct_meter": layout.has_direct_meter,
    })
}

fn object(layout: &ObjectLayout) -> Value {
    let kind = match layout.kind {
        ObjectKind::Other => "other",
        ObjectKind::Counter => "counter",
        ObjectKind::Meter => "meter",
        ObjectKind::Register => "register",
        ObjectKind::ActionProfile => "action_profile",
        ObjectKind::ActionSelector => "action_selector",
    };
    json!({
        "name": layout.name.as_str(),
        "kind": kind,
        "size": layout.size,
        "cell_bytes": layout.cell_bytes,
        "leaves": layout.leaves.iter().map(value).collect::<Vec<_>>(),
        "data_bytes": layout.data_bytes,
    })
}

/// `batched_call` is the index in `calls` of the call that offload workers can batch.
fn asynchronous(layout: &AsyncLayout) -> Value {
    json!({
        "name": layout.name.as_str(),
        "settings": layout.settings,
        "context_bytes": layout.context_bytes,
        "head_bytes": layout.head_bytes,
        "batched_call": layout.batched_call,
    })
}

fn value_set(layout: &ValueSetLayout) -> Value {
    json!({
        "name": layout.name.as_str(),
        "size": layout.size,
        "key_bytes": layout.key_bytes,
        "fields": layout.fields.iter().map(key).collect::<Vec<_>>(),
    })
}

fn call(layout: &CallLayout) -> Value {
    json!({
        "name": layout.name.as_str(),
        "args_bytes": layout.args_bytes,
        "args": layout.args.iter().map(arg).collect::<Vec<_>>(),
        "result": layout.result.as_ref().map(value),
    })
}

fn arg(layout: &ArgLayout) -> Value {
    let values = |values: &[ValueLayout]| values.iter().map(value).collect::<Vec<_>>();
    match layout {
        ArgLayout::In(one) => json!({ "kind": "in", "values": [value(one)] }),
        ArgLayout::Fields(all) => json!({ "kind": "fields", "values": values(all) }),
        ArgLayout::Ref(all) => json!({ "kind": "ref", "values": values(all) }),
        ArgLayout::Str(text) => json!({ "kind": "string", "text": text }),
        ArgLayout::Absent => json!({ "kind": "absent" }),
    }
}
