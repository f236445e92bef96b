//! Architectures without queues: a filter that accepts a packet or does not, and pipelines that name a verdict.

use super::copy::PacketCopy;
use super::verdict::Verdict;
use super::{Switch, reason};
use crate::exec::BlockEnd;
use crate::story::Observer;
use arch::{BlockRole, FieldRole, ParamRole};
use std::sync::Arc;

impl Switch {
    pub(super) fn single_pass(&mut self, mut copy: PacketCopy, observer: &mut dyn Observer) {
        let exe = Arc::clone(&self.exe);
        // Where a program need not say anything, packets pass: also those that its parser rejects, as they came.
        let passes_by_default =
            exe.shared(ParamRole::Accept).is_none() && exe.shared(ParamRole::OutputMetadata).is_none();
        if passes_by_default && let Some(pass) = self.verdicts.value_of(Verdict::Pass) {
            copy.set(&exe, FieldRole::OutputAction, pass);
        }
        self.tell_pass(observer, &copy, copy.ingress_port);
        self.externs.begin_packet();
        for role in [BlockRole::Parser, BlockRole::Ingress] {
            match self.run(role, &mut copy, observer) {
                BlockEnd::Done | BlockEnd::Accepted => {}
                BlockEnd::Rejected(_) if passes_by_default => {
                    let bytes = std::mem::take(&mut copy.packet.bytes);
                    return self.send(copy.ingress_port, bytes, observer);
                }
                BlockEnd::Rejected(_) => return self.drop_packet(reason::PARSER_REJECTED, observer),
                BlockEnd::Stopped(why) => return self.drop_packet(why.name(), observer),
            }
        }
        let requests = std::mem::take(&mut self.externs.requests);
        copy.truncate_bytes = requests.truncate_bytes;
        self.store_digests(requests.digests, observer);
        let accept = exe.shared(ParamRole::Accept).filter(|range| range.len > 0);
        if accept.is_some_and(|range| !copy.packet.frame.get(range.first).is_true())
            || requests.drop == Some(true)
        {
            return self.drop_packet(reason::INGRESS_DROP, observer);
        }
        let verdict = copy.field(&exe, FieldRole::OutputAction).map(|value| self.verdicts.get(value));
        let port = match verdict.flatten().unwrap_or(Verdict::Pass) {
            Verdict::Abort => return self.drop_packet(reason::ABORTED, observer),
            Verdict::Drop => return self.drop_packet(reason::INGRESS_DROP, observer),
            Verdict::Pass | Verdict::Reflect => copy.ingress_port,
            Verdict::Redirect => copy.field(&exe, FieldRole::OutputPort).unwrap_or(0) as u32,
        };
        let bytes = if exe.program.block(BlockRole::Deparser).is_some() {
            if let BlockEnd::Stopped(why) = self.run(BlockRole::Deparser, &mut copy, observer) {
                return self.drop_packet(why.name(), observer);
            }
            self.departing(&copy, observer)
        } else {
            // A filter leaves the packet as it is.
            std::mem::take(&mut copy.packet.bytes)
        };
        self.send(port, bytes, observer);
    }
}
