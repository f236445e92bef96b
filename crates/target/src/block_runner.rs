//! The interface through which a switch runs the blocks of its program.

use crate::{Preserve, Requests, StopReason, UserExtern};
use arch::{BlockIndex, FieldRole, PassKind};
use ir::{Bits, Program};
use std::sync::Arc;

/// Runs the blocks of one program, and keeps what they share between packets.
pub trait BlockRunner {
    /// The bytes of a packet and all that the program remembers of it.
    type Packet: Clone;
    /// Values that survive when a packet starts again.
    type Saved;
    /// Receives the events of packets.
    type Observer<'o>: ?Sized;

    fn program(&self) -> &Arc<Program>;

    /// A packet arrives: all variables are zero and invalid, nothing is parsed or emitted.
    fn arrive(&mut self, bytes: &[u8]) -> Self::Packet;

    /// The clock of the switch has advanced; no packet is under way.
    fn clock_advanced(&mut self, now_ns: u64);

    /// Resets the packet to its state on arrival; keeps its bytes and what is left of its step budget.
    fn restart(&mut self, packet: &mut Self::Packet);

    /// The bytes that arrived.
    fn bytes<'p>(&self, packet: &'p Self::Packet) -> &'p [u8];

    /// Consumes the packet and returns the bytes that arrived.
    fn take_bytes(&mut self, packet: Self::Packet) -> Vec<u8>;

    /// Replaces the packet's bytes; the caller calls [`restart`](Self::restart) next.
    fn set_bytes(&mut self, packet: &mut Self::Packet, bytes: Vec<u8>);

    /// Returns the bytes to send: the deparser's output followed by the payload, which the parser has not read.
    fn deparsed_bytes(&self, packet: &Self::Packet) -> Vec<u8>;

    /// The user's metadata and that of the architecture are as on arrival; headers stay.
    fn reset_metadata(&mut self, packet: &mut Self::Packet);

    /// A field of the architecture's metadata; `None` when the program has no such field.
    fn field(&self, packet: &Self::Packet, role: FieldRole) -> Option<u64>;

    /// Sets all fields with this meaning, each cut to its width; without effect when there is none.
    fn set_field(&self, packet: &mut Self::Packet, role: FieldRole, value: u64);

    /// Returns the `accept` result of a filter; `None` if the program is not a filter.
    fn accepted(&self, packet: &Self::Packet) -> Option<bool>;

    fn save(&self, packet: &Self::Packet, preserve: &Preserve) -> Self::Saved;

    fn restore(&self, packet: &mut Self::Packet, saved: &Self::Saved);

    /// A packet, or a copy of one, begins with a block: nothing is requested, no meter has marked it.
    fn begin_pass(&mut self);

    /// Runs a block of the architecture; a program without it does nothing there.
    fn run(
        &mut self,
        block: BlockIndex,
        packet: &mut Self::Packet,
        now_ns: u64,
        observer: &mut Self::Observer<'_>,
    ) -> BlockEnd;

    /// Takes the requests that blocks have made since [`begin_pass`](Self::begin_pass).
    fn take_requests(&mut self) -> Requests;

    /// Restores the requests that a packet had made before it waited.
    fn put_requests_back(&mut self, _requests: Requests) {}

    /// Sets whether packets wait at asynchronous blocks from now on, see [`BlockEnd::Waiting`]; without effect on block
    /// runners that never suspend a packet.
    fn let_packets_wait(&mut self, _may_wait: bool) {}

    /// Supplies the implementation of an extern function, by name.
    fn supply(&mut self, name: &str, function: UserExtern);

    /// Group members that watch a port are left out while it is down.
    fn set_port(&mut self, port: u32, state: PortState);

    fn tell(&self, observer: &mut Self::Observer<'_>, event: TrafficEvent<'_>);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PortState {
    Up,
    Down,
}

/// How a block ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockEnd {
    /// A block other than a parser has ended.
    Done,
    Accepted,
    /// With an error code, an index into [`ir::Program::errors`].
    Rejected(u32),
    /// The packet goes no further.
    Stopped(StopReason),
    /// It waits at an asynchronous block, or behind it: the same block, run once more, goes on from there.
    Waiting,
}

/// A step of the architecture with a packet.
#[derive(Clone, Debug)]
pub enum TrafficEvent<'a> {
    /// A packet enters the pipeline, for the first time or again.
    Pass {
        kind: PassKind,
        port: u32,
        bytes: &'a [u8],
    },
    Sent {
        port: u32,
        bytes: &'a [u8],
    },
    ToController {
        bytes: &'a [u8],
    },
    /// With a reason from a fixed set of names: `mark_to_drop`, `no_such_port`, ...
    Dropped {
        reason: &'a str,
    },
    /// Waits for egress.
    Queued {
        port: u32,
        instance: u32,
    },
    Multicast {
        group: u32,
        n_replicas: u32,
    },
    Cloned {
        session: u32,
        n_replicas: u32,
    },
    Resubmitted,
    Recirculated,
    Truncated {
        n_bytes: u32,
    },
    Digest {
        name: &'a str,
        values: &'a [Bits],
    },
}
