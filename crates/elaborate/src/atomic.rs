//! Blocks marked `@atomic`: to all other packets their code is one step (P4-16, "Concurrency model").
//!
//! Programs for analysis have two markers around each block. Programs for backends have none, because the
//! backend itself decides which packets run at the same time.

use crate::body::Body;
use crate::elaborator::Purpose;
use arch::ExternOp;
use check::program::{Annotation, Annotations, annotation};
use diagnostics::Span;
use smol_str::{SmolStr, format_smolstr};

/// A block under construction.
#[derive(Clone, Debug)]
pub struct AtomicBlock {
    name: SmolStr,
    /// The number of loops around the block.
    n_loops: usize,
}

impl Body<'_, '_> {
    /// Writes what these annotations belong to. Within a block, another one says nothing new.
    pub fn atomic(&mut self, annotations: &Annotations, inside: impl FnOnce(&mut Self)) {
        let mark = annotation(annotations, "atomic");
        let (Some(mark), None, Purpose::Analysis) = (mark, &self.atomic, self.e.purpose) else {
            return inside(self);
        };
        let path = self.names.object.map_or("", |id| self.e.p.nodes[id].control_plane_name.as_str());
        let given = annotation(annotations, "name").and_then(Annotation::string);
        let own = given.map(SmolStr::from).unwrap_or_else(|| {
            self.e.n_atomic += 1;
            format_smolstr!("atomic{}", self.e.n_atomic)
        });
        let name = if path.is_empty() { own } else { format_smolstr!("{path}.{own}") };
        self.marker(ExternOp::AtomicBegin, name.clone(), Vec::new(), mark.span);
        self.atomic = Some(AtomicBlock { name, n_loops: self.loops.len() });
        inside(self);
        self.leave_atomic(0, mark.span);
        self.atomic = None;
    }

    /// Ends the block that a jump out of this many loops leaves; what follows the jump may still belong to it.
    pub fn leave_atomic(&mut self, n_loops: usize, span: Span) {
        if let Some(block) = self.atomic.as_ref().filter(|block| block.n_loops >= n_loops) {
            self.marker(ExternOp::AtomicEnd, block.name.clone(), Vec::new(), span);
        }
    }
}
