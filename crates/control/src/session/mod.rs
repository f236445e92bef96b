//! Sessions of controllers: arbitration between them, and what a role may do (P4Runtime 1.5, "Client Arbitration and Controller
//! Replication").
//!
//! - [`Sessions`]: streams of controllers, election ids, the primary of each role;
//! - [`RoleConfig`]: the entities that a role may write and read.
//!
//! A state machine: calls change it, and give [`Effect`]s that the server carries out in their order. Streams are numbers that the
//! server chooses.

mod election;
mod fault;
mod name;
mod role;

pub use election::{
    Arbitration, Effect, N_ROLES_MAX, N_STREAMS_MAX, Notice, Sessions, StreamId, WriteTicket, WriterClaim,
};
pub use fault::SessionFault;
pub use name::RoleName;
pub use role::{AnnotatedRoles, ConfigMessage, MetadataFilter, Role, RoleConfig};
