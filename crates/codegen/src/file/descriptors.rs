//! Descriptors for the host: types of tables, objects and calls, offsets of values, functions.
//!
//! The text is initialisers of the structs of `rt/sd_abi.h`, in the order of their members.

use crate::facts::keys::matched;
use crate::facts::storage::Owner;
use crate::file::offload;
use crate::file::trace;
use crate::function::access::Part;
use crate::function::cx::Cx;
use crate::function::externs::{acts_on_call, cell_leaves};
use crate::function::func::Func;
use crate::function::host_call::HostArg;
use crate::function::metadata::{field_at, first_block};
use crate::function::tables::{self, is_biased, key_layout, kind_name};
use crate::text::arrays::{Array, array, designated, row, string, value_type};
use crate::text::code::Code;
use crate::text::types::{packed, size_bytes};
use arch::{ExternRole, FieldRole, ParamRole, Unit};
use ir::lookup::{get, index};
use ir::{Constant, Program, Timeout, Type, WhenFull};

/// All descriptors, and the symbol that the host loads.
pub(crate) fn write(cx: &Cx<'_>, has_fast_path: bool, out: &mut Code) {
    out.own("/* --- Descriptors for the host --- */");
    out.blank();
    let (tables, objects) = (tables(cx, out), objects(cx, out));
    let (value_sets, fields) = (value_sets(cx, out), fields(cx, out));
    let (field_lists, calls) = (field_lists(cx, out), calls(cx, out));
    let metadata = metadata(cx, out);
    offload::types(cx, out);
    let accept = cx.program.shared_variable(ParamRole::Accept).map_or("0".to_string(), |var| {
        value_type(&format!("offsetof(struct p4x_state, {})", cx.facts.storage.name(var)), &Type::Bool)
    });
    out.blank();
    crate::file::run_block::run_block(cx, out);
    if cx.options.trace {
        trace::write(cx, out);
    }
    out.own("__attribute__((visibility(\"default\"))) extern const struct sd_pipeline sd_pipeline;");
    out.blank();
    out.function("static struct sd_instance *p4x_create(const struct sd_config *config)");
    out.line(if tables::has_initial(cx) {
        "return sd_instance_create_filled(&sd_pipeline, config, p4x_fill);"
    } else {
        "return sd_instance_create(&sd_pipeline, config);"
    });
    out.close("");
    out.blank();
    let is_set = |is_set: bool, value: &str| if is_set { value } else { "0" }.to_string();
    let text = str::to_string;
    // One line for each subject.
    let mut lines: Vec<Vec<(&str, String)>> = vec![
        vec![("abi_version", text("SD_ABI_VERSION")), ("abi_size", text("sizeof(struct sd_pipeline)"))],
        vec![("program_name", string(&cx.options.program_name))],
        vec![
            ("state_bytes", text("sizeof(struct p4x_state)")),
            ("state_align", text("_Alignof(struct p4x_state)")),
            ("burst_bytes", is_set(cx.plan.is_some(), "sizeof(struct p4x_burst)")),
        ],
    ];
    for (count, name, array) in [
        ("n_tables", "tables", tables),
        ("n_objects", "objects", objects),
        ("n_value_sets", "value_sets", value_sets),
        ("n_fields", "fields", fields),
        ("n_field_lists", "field_lists", field_lists),
        ("n_calls", "calls", calls),
        ("n_metadata", "metadata", metadata),
    ] {
        lines.push(vec![(count, array.n.to_string()), (name, array.to_string())]);
    }
    lines.push(vec![("has_trace", is_set(cx.options.trace, "SD_HAS_TRACE"))]);
    lines.push(vec![("control", text("&sd_control_ops"))]);
    lines.push(vec![("accept", accept)]);
    lines.push(vec![
        ("create", text("p4x_create")),
        ("destroy", text("sd_instance_destroy")),
        ("worker", text("sd_instance_worker")),
    ]);
    lines.push(vec![("run_block", text("p4x_run_block")), ("process", is_set(has_fast_path, "p4x_process"))]);
    if let Some(plan) = cx.offload.filter(|_| has_fast_path) {
        lines.push(vec![("n_async", plan.blocks.len().to_string()), ("asyncs", text("p4x_asyncs"))]);
        lines.push(vec![
            ("channel_create", text("sd_channel_create")),
            ("channel_destroy", text("sd_channel_destroy")),
        ]);
        lines.push(vec![("resume", text("p4x_resume")), ("serve", text("p4x_serve"))]);
    }
    out.line(format!("const struct sd_pipeline sd_pipeline = {};", designated("", &lines)));
}

/// Actions and tables.
fn tables(cx: &Cx<'_>, out: &mut Code) -> Array {
    let program = cx.program;
    let mut tables = Vec::new();
    for (id, table) in program.tables.iter() {
        let (n, name) = (index(id), cx.table_name(id));
        let keys = matched(&table.keys);
        let (offsets, key_bytes) = key_layout(&keys);
        let key_items: Vec<String> = keys
            .iter()
            .zip(&offsets)
            .map(|((_, key), at)| {
                let biased = u32::from(is_biased(&key.ty, key.match_kind));
                row(&[
                    ("name", string(&key.name)),
                    ("value", value_type(&at.to_string(), &key.ty)),
                    ("match_kind", kind_name(key.match_kind).to_string()),
                    ("is_biased", biased.to_string()),
                ])
            })
            .collect();
        let key_types = array("struct sd_key_type", &format!("{name}__keys"), &key_items, out);
        let mut actions = Vec::new();
        let (mut data_max, mut sharded_max) = (0, 0);
        for (i, (action, update)) in table.actions.iter().zip(&cx.facts.updates[n]).enumerate() {
            let leaves = tables::data_leaves(cx, action.procedure);
            let (_, bytes) = packed(&leaves);
            data_max = data_max.max(bytes);
            let params = values_array(&format!("{name}__data_{i}"), &leaves, out);
            let items: Vec<String> = (value_items(&leaves).into_iter().enumerate())
                .filter(|(number, _)| update.sharded.contains(number))
                .map(|(_, item)| item)
                .collect();
            let sharded = array("struct sd_value_type", &format!("{name}__sharded_{i}"), &items, out);
            if !items.is_empty() {
                sharded_max = sharded_max.max(bytes);
            }
            actions.push(row(&[
                ("name", string(&action.name)),
                ("n_params", leaves.len().to_string()),
                ("params", params),
                ("data_bytes", bytes.to_string()),
                ("n_sharded", items.len().to_string()),
                ("sharded", sharded.to_string()),
            ]));
        }
        let action_types = array("struct sd_action_type", &format!("{name}__actions"), &actions, out);
        let object = |id: Option<ir::ObjectId>| id.and_then(|id| get(&program.objects, id));
        let counter =
            object(table.direct_counter).map_or("SD_UNIT_NONE", |o| unit_of(program, o, "SD_UNIT_BOTH"));
        let meter =
            object(table.direct_meter).map_or("SD_UNIT_NONE", |o| unit_of(program, o, "SD_UNIT_PACKETS"));
        let profile = table
            .implementation
            .map_or("UINT32_MAX".to_string(), |id| cx.names.object_number(id).to_string());
        let kind = &cx.facts.tables[n];
        let size = table.size.filter(|s| *s > 0).unwrap_or(cx.options.table_size);
        let flag = |is_set: bool| u32::from(is_set).to_string();
        // One line for each subject.
        let lines = [
            vec![("name", string(&table.name)), ("size", size.to_string()), ("profile", profile)],
            vec![
                ("n_keys", keys.len().to_string()),
                ("keys", key_types.to_string()),
                ("key_bytes", key_bytes.to_string()),
            ],
            vec![
                ("n_actions", table.actions.len().to_string()),
                ("actions", action_types.to_string()),
                ("data_bytes", data_max.to_string()),
                (
                    "default_action",
                    tables::plain_default(cx, id).map_or("0".to_string(), |number| format!("1 + {number}")),
                ),
            ],
            vec![
                ("has_direct_counter", flag(table.direct_counter.is_some())),
                ("direct_counter_unit", counter.to_string()),
                ("direct_on_call", flag(acts_on_call(program))),
                ("has_direct_meter", flag(table.direct_meter.is_some())),
                ("direct_meter_unit", meter.to_string()),
            ],
            vec![
                ("has_idle_timeout", flag(table.timeout != Timeout::Never)),
                ("deletes", flag(table.timeout == Timeout::Delete)),
                ("evicts", flag(table.add_on_miss.is_some_and(|add| add.when_full == WhenFull::Oldest))),
                ("updates_data", flag(table.updates_data)),
                ("sharded_bytes", sharded_max.to_string()),
                ("restarts_on_hit", flag(table.timeout != Timeout::Never && table.restarts_on_hit)),
            ],
            vec![
                ("structure", kind.structure.c_name().to_string()),
                ("entries_are_inline", flag(kind.entries_are_inline)),
                ("is_staged", flag(kind.is_staged)),
            ],
            vec![("concurrent_ops", kind.concurrent_ops().to_string())],
        ];
        tables.push(designated(&format!("[{}] = ", cx.names.table_number(id)), &lines));
    }
    array("struct sd_table_type", "p4x_tables", &tables, out)
}

/// Extern objects.
fn objects(cx: &Cx<'_>, out: &mut Code) -> Array {
    let program = cx.program;
    let mut objects = Vec::new();
    for (id, object) in program.objects.iter() {
        let n = index(id);
        let model = program.architecture.control_plane_extern(&object.type_name);
        let kind = match model.map(|m| m.role) {
            Some(ExternRole::Counter) => "SD_OBJECT_COUNTER",
            Some(ExternRole::Meter) => "SD_OBJECT_METER",
            Some(ExternRole::Register) => "SD_OBJECT_REGISTER",
            Some(ExternRole::ActionProfile) => "SD_OBJECT_ACTION_PROFILE",
            Some(ExternRole::ActionSelector) => "SD_OBJECT_ACTION_SELECTOR",
            Some(ExternRole::DirectCounter | ExternRole::DirectMeter | ExternRole::Digest) | None => {
                "SD_OBJECT_OTHER"
            }
        };
        let size = model.and_then(|m| m.size.as_ref()).and_then(|name| argument(object, name));
        let size = match size.or_else(|| argument(object, "size")) {
            Some(Constant::Bits(bits)) => bits.to_u64().unwrap_or(0),
            _ => 0,
        };
        let unit = if model.is_some() { unit_of(program, object, "SD_UNIT_PACKETS") } else { "SD_UNIT_NONE" };
        let leaves = cell_leaves(program, id);
        let (_, cell_bytes) = packed(&leaves);
        let leaf_types = values_array(&format!("p4x_object_{n}__leaves"), &leaves, out);
        let data_bytes = program
            .tables
            .iter()
            .filter(|(_, t)| t.implementation == Some(id))
            .flat_map(|(_, t)| &t.actions)
            .map(|a| packed(&tables::data_leaves(cx, a.procedure)).1)
            .max()
            .unwrap_or(0);
        objects.push(row(&[
            ("name", string(&object.name)),
            ("kind", kind.to_string()),
            ("unit", unit.to_string()),
            ("size", format!("UINT64_C({size})")),
            ("cell_bytes", cell_bytes.to_string()),
            ("n_leaves", leaves.len().to_string()),
            ("leaves", leaf_types),
            ("data_bytes", data_bytes.to_string()),
        ]));
    }
    array("struct sd_object_type", "p4x_objects", &objects, out)
}

/// Value sets of parsers.
fn value_sets(cx: &Cx<'_>, out: &mut Code) -> Array {
    let program = cx.program;
    let mut sets = Vec::new();
    for (id, set) in program.value_sets.iter() {
        let types: Vec<Type> = set.fields.iter().map(|f| f.ty.clone()).collect();
        let (offsets, bytes) = packed(&types);
        let fields: Vec<String> = set
            .fields
            .iter()
            .zip(&offsets)
            .map(|(f, at)| {
                let biased = u32::from(is_biased(&f.ty, f.match_kind));
                let value = value_type(&at.to_string(), &f.ty);
                row(&[
                    ("name", string(&f.name)),
                    ("value", value),
                    ("match_kind", kind_name(f.match_kind).to_string()),
                    ("is_biased", biased.to_string()),
                ])
            })
            .collect();
        let field_types =
            array("struct sd_key_type", &format!("p4x_value_set_{}__fields", index(id)), &fields, out);
        sets.push(row(&[
            ("name", string(&set.name)),
            ("n_fields", fields.len().to_string()),
            ("fields", field_types.to_string()),
            ("key_bytes", bytes.to_string()),
            ("size", format!("UINT64_C({})", set.size)),
        ]));
    }
    array("struct sd_value_set_type", "p4x_value_sets", &sets, out)
}

/// Fields of the architecture's metadata.
fn fields(cx: &Cx<'_>, out: &mut Code) -> Array {
    let program = cx.program;
    let mut fields = Vec::new();
    for (role, place) in &program.fields {
        if let Some((lvalue, ty)) = field_at(cx, place)
            && ty.width_bits().is_some()
        {
            let member = lvalue.trim_start_matches("s->");
            let value = value_type(&format!("offsetof(struct p4x_state, {member})"), &ty);
            fields.push(row(&[("role", field_role(*role)), ("value", value)]));
        }
    }
    array("struct sd_field_type", "p4x_fields", &fields, out)
}

/// Field lists: the metadata that copies of a packet preserve.
fn field_lists(cx: &Cx<'_>, out: &mut Code) -> Array {
    let program = cx.program;
    let mut lists = Vec::new();
    for list in &program.field_lists {
        let mut ranges = Vec::new();
        for place in &list.places {
            let Some(first) = first_block(program) else { continue };
            let mut func = Func::new(cx, Owner::Block(first));
            let access = func.place(place);
            // Parts of values are left out.
            if access.guard.is_some() || access.part != Part::Whole {
                continue;
            }
            let member = access.lvalue.trim_start_matches("s->").to_string();
            ranges.push(range_of(&member));
        }
        let range_types =
            array("struct sd_bytes_range", &format!("p4x_field_list_{}", list.index), &ranges, out);
        lists.push(row(&[
            ("index", list.index.to_string()),
            ("n_ranges", ranges.len().to_string()),
            ("ranges", range_types.to_string()),
        ]));
    }
    array("struct sd_field_list_type", "p4x_field_lists", &lists, out)
}

/// Calls that the host sees.
fn calls(cx: &Cx<'_>, out: &mut Code) -> Array {
    let mut calls = Vec::new();
    for (i, call) in cx.calls.borrow().iter().enumerate() {
        let mut args = Vec::new();
        let mut at = 0u32;
        for (j, arg) in call.args.iter().enumerate() {
            let mut values = Vec::new();
            for ty in arg.leaves() {
                values.push(value_type(&at.to_string(), ty));
                at += size_bytes(ty).max(1);
            }
            let leaves = array("struct sd_value_type", &format!("p4x_call_{i}__arg_{j}"), &values, out);
            let (kind, text) = match arg {
                HostArg::In(_) => ("SD_ARG_IN", "NULL".to_string()),
                HostArg::Fields(_) => ("SD_ARG_FIELDS", "NULL".to_string()),
                HostArg::Ref(_) => ("SD_ARG_REF", "NULL".to_string()),
                HostArg::Str(text) => ("SD_ARG_STRING", string(text)),
                HostArg::Absent => ("SD_ARG_ABSENT", "NULL".to_string()),
            };
            args.push(row(&[
                ("kind", kind.to_string()),
                ("n_leaves", values.len().to_string()),
                ("leaves", leaves.to_string()),
                ("string", text),
            ]));
        }
        let arg_types = array("struct sd_arg_type", &format!("p4x_call_{i}__args"), &args, out);
        let object = call.object.map_or("UINT32_MAX".to_string(), |o| o.to_string());
        let result = call.result.as_ref().map_or("0".to_string(), |ty| value_type("0", ty));
        calls.push(row(&[
            ("name", string(&call.name)),
            ("object", object),
            ("n_args", args.len().to_string()),
            ("args", arg_types.to_string()),
            ("result", result),
            ("args_bytes", at.max(1).to_string()),
        ]));
    }
    array("struct sd_call_type", "p4x_calls", &calls, out)
}

/// Parts of the state that are the architecture's and the user's metadata.
fn metadata(cx: &Cx<'_>, out: &mut Code) -> Array {
    let program = cx.program;
    let mut metadata = Vec::new();
    for role in [ParamRole::Metadata, ParamRole::StandardMetadata, ParamRole::OutputMetadata] {
        if let Some(var) = program.shared_variable(role) {
            let name = cx.facts.storage.name(var);
            metadata.push(range_of(name));
        }
    }
    array("struct sd_bytes_range", "p4x_metadata", &metadata, out)
}

/// The enumerator of `enum sd_field_role`: `SD_FIELD_INGRESS_PORT`. Meanings of descriptions have numbers alone.
fn field_role(role: FieldRole) -> String {
    if let FieldRole::Named(_) = role {
        return role.number().to_string();
    }
    let mut name = "SD_FIELD".to_string();
    for c in format!("{role:?}").chars() {
        if c.is_ascii_uppercase() {
            name.push('_');
        }
        name.push(c.to_ascii_uppercase());
    }
    name
}

/// A part of the state as a `struct sd_bytes_range`.
fn range_of(member: &str) -> String {
    row(&[
        ("offset", format!("offsetof(struct p4x_state, {member})")),
        ("size", format!("sizeof(((struct p4x_state *)0)->{member})")),
    ])
}

fn values_array(name: &str, leaves: &[Type], out: &mut Code) -> String {
    if leaves.is_empty() {
        return "NULL".to_string();
    }
    array("struct sd_value_type", name, &value_items(leaves), out).to_string()
}

/// Values that lie one after the other.
fn value_items(leaves: &[Type]) -> Vec<String> {
    let (offsets, _) = packed(leaves);
    offsets.iter().zip(leaves).map(|(at, ty)| value_type(&at.to_string(), ty)).collect()
}

fn unit_of(program: &Program, object: &ir::Object, default: &'static str) -> &'static str {
    let model = program.architecture.control_plane_extern(&object.type_name);
    let unit =
        model.and_then(|m| m.unit.as_ref()).and_then(|name| argument(object, name)).and_then(|value| {
            match value {
                Constant::Member(name) => Unit::of_member(name),
                _ => None,
            }
        });
    match unit {
        Some(Unit::Packets) => "SD_UNIT_PACKETS",
        Some(Unit::Bytes) => "SD_UNIT_BYTES",
        Some(Unit::PacketsAndBytes) => "SD_UNIT_BOTH",
        None => default,
    }
}

fn argument<'o>(object: &'o ir::Object, name: &str) -> Option<&'o Constant> {
    object.args.iter().find(|(n, _)| n == name).map(|(_, value)| value)
}
