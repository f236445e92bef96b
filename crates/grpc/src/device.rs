//! The switch as the server needs it.

use control::{Code, Entity, Schema, Target};
use ir::Bits;
use p4info::proto::p4::v1::ForwardingPipelineConfig;
use smol_str::SmolStr;
use std::sync::Arc;
use std::time::Duration;

/// Why a forwarding pipeline config cannot be used, or a packet cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ConfigFault {
    pub code: Code,
    /// For people; with the messages of the compiler.
    pub message: String,
}

impl ConfigFault {
    pub fn new(code: Code, message: impl Into<String>) -> ConfigFault {
        ConfigFault { code, message: message.into() }
    }

    pub fn invalid(message: impl Into<String>) -> ConfigFault {
        ConfigFault::new(Code::InvalidArgument, message)
    }
}

/// A packet for the controller, with its header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    pub bytes: Vec<u8>,
}

/// Messages of the switch for controllers, since they were taken last.
#[derive(Clone, Debug, Default)]
pub struct Messages {
    pub packets: Vec<Packet>,
    /// Digests by the name of their extern or object, with the leaves of the data.
    pub digests: Vec<(SmolStr, Vec<Bits>)>,
    /// Entries that no packet has hit for as long as they say.
    pub idle: Vec<Entity>,
}

impl Messages {
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty() && self.digests.is_empty() && self.idle.is_empty()
    }
}

/// Work on the entities of a program.
pub type Work<'w> = &'w mut dyn FnMut(&Arc<Schema>, &mut dyn Target);

/// The running program, while its entities are copied to another one.
pub struct Before<'b> {
    pub schema: &'b Arc<Schema>,
    pub target: &'b mut dyn Target,
}

/// Copies the entities of the running program into another one.
pub type Copy<'c> = &'c mut dyn FnMut(Before<'_>, &Arc<Schema>, &mut dyn Target);

/// A switch. All calls may block.
pub trait Device: Send + Sync + 'static {
    /// A program that could run: it takes entries, and no packets.
    type Program: Send + 'static;

    /// Makes a program of a config, which is not empty.
    fn prepare(&self, config: &ForwardingPipelineConfig) -> Result<Self::Program, ConfigFault>;

    /// Works on the entities of a program that does not run yet.
    fn with_prepared(&self, program: &mut Self::Program, work: Work<'_>);

    /// Lets entities of the running program be copied into one that does not run yet, with nobody else writing meanwhile. False
    /// if none runs.
    fn copy_entities(&self, program: &mut Self::Program, copy: Copy<'_>) -> bool;

    /// Runs a program in the place of another one, without losing a packet.
    fn run(&self, program: Self::Program) -> Result<(), ConfigFault>;

    /// Works on the entities of the running program, with nobody else doing so. False if there is none.
    fn with_running(&self, work: Work<'_>) -> bool;

    /// Returns whether [`with_running`](Self::with_running) would have to wait now.
    fn is_busy(&self) -> bool;

    /// Sends a packet of a controller, whose header is in front of it.
    fn packet_out(&self, packet: Vec<u8>) -> Result<(), ConfigFault>;

    /// Sleeps until there may be messages for controllers, until [`wake`](Self::wake), or for as long as `timeout` says. May
    /// return early. One thread calls it.
    fn wait_for_messages(&self, timeout: Option<Duration>);

    /// Ends [`wait_for_messages`](Self::wait_for_messages): the call under way, or the next one.
    fn wake(&self);

    /// Takes the messages for controllers.
    fn take_messages(&self) -> Messages;

    /// Returns whether packets can be exchanged with controllers.
    fn has_cpu_port(&self) -> bool;
}
