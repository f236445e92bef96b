//! Reports the changes of an instruction to an observer.

use super::Frame;
use crate::load::{Executable, ExternArg, ExternCall, Instr, Slot, SlotRange};
use diagnostics::Span;
use ir::Bits;
use trace::{Event, Observer};

/// The values of some slots before an instruction.
pub(super) struct Watch {
    ranges: Vec<(SlotRange, Vec<Bits>)>,
}

impl Watch {
    /// Remembers the values of the slots that an instruction is going to write. Temporaries of the code are left out.
    pub(super) fn before(exe: &Executable, frame: &Frame, instr: &Instr) -> Option<Watch> {
        let one = |first| Some(SlotRange { first, len: 1 });
        let range = match instr {
            Instr::Copy { dst, .. }
            | Instr::Unary { dst, .. }
            | Instr::Binary { dst, .. }
            | Instr::Cast { dst, .. }
            | Instr::Slice { dst, .. }
            | Instr::SliceAt { dst, .. }
            | Instr::PacketLength { dst }
            | Instr::Insert { dst, .. }
            | Instr::InsertAt { dst, .. } => one(*dst),
            Instr::CopyRange { dst, len, .. } | Instr::Mux { dst, len, .. } => {
                Some(SlotRange { first: *dst, len: *len })
            }
            Instr::Load { dst, element } => {
                Some(SlotRange { first: *dst, len: exe.elements[*element as usize].len })
            }
            Instr::Store { element, .. } => {
                let element = &exe.elements[*element as usize];
                frame.element(element).map(|first| SlotRange { first, len: element.len })
            }
            Instr::Extern(i) => return Some(Watch::before_call(exe, frame, &exe.externs[*i as usize])),
            Instr::Lookahead(i) => {
                let code = &exe.lookaheads[*i as usize];
                let len = code.leaves.len() as u32;
                frame.find(exe, code.place).map(|first| SlotRange { first, len })
            }
            Instr::ZeroIfInvalid(i) => {
                let header = exe.headers[*i as usize];
                frame.find(exe, header.place).map(|first| SlotRange { first, len: header.n_slots })
            }
            Instr::Emit(_)
            | Instr::State(_)
            | Instr::Jump(_)
            | Instr::Branch { .. }
            | Instr::Switch(_)
            | Instr::Select(_)
            | Instr::Extract(_)
            | Instr::Advance { .. }
            | Instr::Lookup(_)
            | Instr::RunAction { .. }
            | Instr::Call { .. }
            | Instr::Return
            | Instr::Exit
            | Instr::Accept
            | Instr::Reject { .. } => None,
        }?;
        let is_variable = range.first < exe.n_variable_slots();
        is_variable.then(|| Watch { ranges: vec![(range, frame.range(range).to_vec())] })
    }

    /// The slots that are watched.
    pub(super) fn slots(&self) -> impl Iterator<Item = Slot> {
        self.ranges.iter().flat_map(|(range, _)| range.first..range.first + range.len)
    }

    fn before_call(exe: &Executable, frame: &Frame, call: &ExternCall) -> Watch {
        let refs = call.args.iter().filter_map(|arg| match arg {
            ExternArg::Ref { range, .. } => Some(*range),
            ExternArg::In(_)
            | ExternArg::Fields { .. }
            | ExternArg::Str(_)
            | ExternArg::Table { .. }
            | ExternArg::Absent => None,
        });
        // An extern may change the architecture's metadata.
        let metadata = [arch::ParamRole::StandardMetadata, arch::ParamRole::OutputMetadata];
        let metadata = metadata.into_iter().filter_map(|role| exe.shared(role));
        let mut ranges: Vec<SlotRange> = Vec::new();
        for range in refs.chain(call.result).chain(metadata) {
            let is_new = !ranges.iter().any(|r| r.contains(range.first));
            if is_new && range.first < exe.n_variable_slots() {
                ranges.push(range);
            }
        }
        Watch { ranges: ranges.into_iter().map(|r| (r, frame.range(r).to_vec())).collect() }
    }

    /// Reports the slots that have changed.
    pub(super) fn report<O: Observer + ?Sized>(
        self,
        exe: &Executable,
        frame: &Frame,
        span: Span,
        observer: &mut O,
    ) {
        for (range, olds) in self.ranges {
            for (slot, old) in (range.first..).zip(&olds) {
                let new = frame.get(slot);
                if new != old {
                    observer.event(exe, span, Event::Changed { slot, old, new });
                }
            }
        }
    }
}
