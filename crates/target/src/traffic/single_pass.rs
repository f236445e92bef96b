//! Architectures without queues: a filter that accepts a packet or does not, and pipelines that name a verdict.

use super::copy::PacketCopy;
use super::verdict::Verdict;
use super::{Switch, reason};
use crate::{BlockEnd, BlockRunner};
use arch::{BlockRole, FieldRole, ParamRole};
use std::sync::Arc;

impl<E: BlockRunner> Switch<E> {
    pub(super) fn single_pass(&mut self, mut copy: PacketCopy<E::Packet>, observer: &mut E::Observer<'_>) {
        let program = Arc::clone(self.runner.program());
        // Where a program need not say anything, packets pass: also those that its parser rejects, as they came.
        let passes_by_default = program.shared_variable(ParamRole::Accept).is_none()
            && program.shared_variable(ParamRole::OutputMetadata).is_none();
        if passes_by_default && let Some(pass) = self.verdicts.value_of(Verdict::Pass) {
            self.set(&mut copy, FieldRole::OutputAction, pass);
        }
        self.tell_pass(observer, &copy, copy.ingress_port);
        self.runner.begin_pass();
        for role in [BlockRole::Parser, BlockRole::Ingress] {
            match self.run(role, &mut copy, observer) {
                // There are no asynchronous blocks here.
                BlockEnd::Done | BlockEnd::Accepted | BlockEnd::Waiting => {}
                BlockEnd::Rejected(_) if passes_by_default => {
                    let bytes = self.runner.take_bytes(copy.packet);
                    return self.send(copy.ingress_port, bytes, observer);
                }
                BlockEnd::Rejected(_) => return self.drop_packet(reason::PARSER_REJECTED, observer),
                BlockEnd::Stopped(why) => return self.drop_packet(why.name(), observer),
            }
        }
        let requests = self.runner.take_requests();
        copy.truncate_bytes = requests.truncate_bytes;
        self.store_digests(requests.digests, observer);
        if self.runner.accepted(&copy.packet) == Some(false) || requests.drop == Some(true) {
            return self.drop_packet(reason::INGRESS_DROP, observer);
        }
        let verdict = self.field(&copy, FieldRole::OutputAction).map(|value| self.verdicts.get(value));
        let port = match verdict.flatten().unwrap_or(Verdict::Pass) {
            Verdict::Abort => return self.drop_packet(reason::ABORTED, observer),
            Verdict::Drop => return self.drop_packet(reason::INGRESS_DROP, observer),
            Verdict::Pass | Verdict::Reflect => copy.ingress_port,
            Verdict::Redirect => self.field(&copy, FieldRole::OutputPort).unwrap_or(0) as u32,
        };
        let bytes = if program.block(BlockRole::Deparser).is_some() {
            if let BlockEnd::Stopped(why) = self.run(BlockRole::Deparser, &mut copy, observer) {
                return self.drop_packet(why.name(), observer);
            }
            self.egress_bytes(&copy, observer)
        } else {
            // A filter leaves the packet as it is.
            self.runner.take_bytes(copy.packet)
        };
        self.send(port, bytes, observer);
    }
}
