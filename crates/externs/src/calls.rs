//! Calls of externs in a program, with the memory layout that compiled programs use.

use crate::signature::{Arg, Signature, Value};
use arch::ExternOp;
use ir::layout::field_leaves;
use ir::lookup::index;
use ir::{Place, Program, StmtKind, Type};
use smol_str::SmolStr;

/// Returns the calls of user externs, each signature once.
pub fn calls_of(program: &Program) -> Vec<Signature> {
    let mut calls: Vec<Signature> = Vec::new();
    for stmt in program.graphs().flat_map(|graph| graph.nodes.iter()).flat_map(|(_, node)| &node.stmts) {
        let StmtKind::Extern { op: ExternOp::User, name, object, args, result } = &stmt.kind else {
            continue;
        };
        let call = signature(program, name, object.map(|id| index(id) as u32), args, result.as_ref());
        if !calls.contains(&call) {
            calls.push(call);
        }
    }
    calls
}

fn signature(
    program: &Program,
    name: &SmolStr,
    object: Option<u32>,
    args: &[ir::Arg],
    result: Option<&Place>,
) -> Signature {
    let mut at = 0;
    let mut place = |types: Vec<Type>| -> Vec<Value> {
        let next = types.iter().map(|ty| {
            let value = value(ty, at);
            at += value.size_bytes.max(1);
            value
        });
        next.collect()
    };
    let args = args.iter().map(|arg| match arg {
        ir::Arg::In(e) => Arg::In(place(vec![e.ty.clone()])),
        ir::Arg::Fields(fields) => Arg::In(place(fields.iter().map(|e| e.ty.clone()).collect())),
        ir::Arg::Ref(of) => Arg::InOut(place(leaf_types(program, of))),
        ir::Arg::Str(text) => Arg::Text(text.to_string()),
        // Only operations of tables name one.
        ir::Arg::Table { .. } | ir::Arg::Absent => Arg::Absent,
    });
    let args = args.collect();
    let result = result.and_then(|of| leaf_types(program, of).first().map(|ty| value(ty, 0)));
    Signature { name: name.clone(), object, args, args_bytes: at, result }
}

fn leaf_types(program: &Program, place: &Place) -> Vec<Type> {
    let ty = program.place_type(place).unwrap_or(Type::Bool);
    if ty.width_bits().is_some() || matches!(ty, Type::Varbit(_)) {
        return vec![ty];
    }
    field_leaves(program, &ty).into_iter().map(|leaf| leaf.ty).collect()
}

/// Layout of a value in memory, as `rt/base/sd_base.h` defines it.
fn value(ty: &Type, offset: u32) -> Value {
    if let Type::Varbit(max) = ty {
        let n_bytes = max.div_ceil(8).next_multiple_of(4).max(4);
        return Value { offset, size_bytes: 4 + n_bytes, width_bits: n_bytes * 8, is_varbit: true };
    }
    let width_bits = ty.width_bits().unwrap_or(0);
    let size_bytes = match width_bits {
        0..=8 => 1,
        9..=16 => 2,
        17..=32 => 4,
        33..=64 => 8,
        65..=128 => 16,
        _ => width_bits.div_ceil(64) * 8,
    };
    Value { offset, size_bytes, width_bits, is_varbit: false }
}
