//! Entries in columns (`siding.bulk.v1`): sets to records and back.
//!
//! The rules are those of records: a set that is well-formed is written, and each of its entries has a code of its own.

mod build;
mod columns;
mod file;
mod parse;

pub use build::build_set;
pub use file::{FileError, FileReader, FileWriter};
pub use parse::CheckedSet;

use control::records::{RecordOp, RecordPlan};
use control::{Code, Entity, Fault, Problem, Schema};

/// The op of a set, or of the entities of a chunk.
pub fn op(op: i32) -> Result<RecordOp, Fault> {
    parse::op(op)
}

/// The fault of a record that was refused with this code.
pub fn fault_of(schema: &Schema, plan: &RecordPlan, op: RecordOp, record: &[u8], code: Code) -> Fault {
    if let Some(fault) = plan.fault(schema, op, record).filter(|fault| fault.code() == code) {
        return fault;
    }
    let what = || schema.describe(&Entity::TableEntry(plan.entry(RecordOp::Delete, record)));
    match code {
        Code::AlreadyExists => Problem::AlreadyExists { what: what() }.into(),
        Code::NotFound => Problem::DoesNotExist { what: what() }.into(),
        Code::PermissionDenied => Problem::ConstEntry { what: what() }.into(),
        Code::ResourceExhausted => {
            let size = schema.tables.get(plan.table).map_or(0, |table| table.size);
            Problem::Full { what: what(), size }.into()
        }
        Code::Aborted => Problem::ProgramReplaced.into(),
        code => Problem::Refused { what: what(), why: code.name().to_owned() }.into(),
    }
}
