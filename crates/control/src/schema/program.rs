//! Facts about a program that P4Info does not have.

use super::{DirectUses, ReplicationWidths, Schema, Widths};
use p4info::ControllerHeaderFields;

impl Schema {
    /// Adds what P4Info does not have: the widths of the program's fields for replication and of its translated values, and
    /// which actions use the direct counter and meter of their entry.
    pub fn with_program(self, program: &ir::Program) -> Schema {
        let direct_uses = DirectUses::of_program(&self, program);
        let widths = Widths::of_program(&self, program);
        Schema { direct_uses, widths, ..self.with_replication(ReplicationWidths::of_program(program)) }
    }

    /// Adds the controller headers as packets have them. Call it after [`with_program`](Self::with_program).
    pub fn with_headers(mut self, headers: &[ControllerHeaderFields]) -> Schema {
        let mut widths = std::mem::take(&mut self.widths);
        widths.add_headers(&self, headers);
        Schema { widths, header_fields: headers.to_vec(), ..self }
    }
}
