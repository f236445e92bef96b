//! The control plane's model of a switch, independent of the protocol: entities, the schema of a program,
//! validation of updates, and batches.
//!
//! - [`Schema`]: an indexed view of P4Info: tables, actions, profiles, counters and so on, by id and by name;
//! - [`Entity`], [`Update`], [`Batch`], [`Query`]: the messages between control plane and target;
//! - [`validate()`]: every rule of the P4Runtime specification that can be decided without the contents of the
//!   switch; the others (exists, full, in use) belong to the [`Target`];
//! - [`EntryKey`]: identity of table entries;
//! - [`Target`] and [`apply()`]: storage of entities, and error handling when one update of a batch fails;
//! - [`Reading`]: a read that is answered in steps;
//! - [`records`]: table entries as byte strings, for transports of many entries;
//! - [`session`]: arbitration between controllers, and their roles;
//! - [`Programming`]: what a target needs to keep the two ways to program a selector apart;
//! - [`PacketIo`], [`stream`]: packets from and to controllers, and the other messages of their streams;
//! - [`Digests`]: lists of digests, their times and acknowledgements;
//! - [`Outbox`]: messages that wait for a controller which reads slowly;
//! - [`PipelineConfig`]: programs as controllers set and read them;
//! - [`sync`]: copies of all entities to another target, of the same program or of its successor;
//! - [`translate`]: other values outside than inside, for types with `@p4runtime_translation`;
//! - [`Fault`]: an error with a path, and the canonical code that gRPC and P4Runtime use.
//!
//! Invariants: an [`Update`] that [`validate()`] accepts has values of exactly the widths that the schema
//! says, so that a target needs no checks of its own. No input makes this crate panic.
//!
//! Not here: protobuf (see `p4runtime`), contents of tables (see the targets).
//!
//! Start reading at [`Entity`] and [`validate()`].

pub mod apply;
pub mod data;
mod describe;
pub mod digests;
pub mod entity;
pub mod fault;
pub mod ids;
pub mod key;
pub mod outbox;
pub mod packets;
pub mod pipeline_config;
mod programming;
pub mod query;
pub mod reading;
pub mod records;
pub mod schema;
pub mod session;
pub mod stream;
pub mod sync;
pub mod translate;
pub mod update;
pub mod validate;

pub use apply::{N_ATOMIC_UPDATES_MAX, PacketState, Results, Target, apply, check_atomicity, writable};
pub use data::Data;
pub use digests::Digests;
pub use entity::*;
pub use fault::{Code, Fault, Problem};
pub use ids::*;
pub use key::{EntityKey, EntryKey};
pub use outbox::{MessageKind, Outbox};
pub use packets::{ControllerPacket, PacketIo, PacketMetadata};
pub use pipeline_config::{ConfigParts, PipelineAction, PipelineChange, PipelineConfig};
pub use programming::Programming;
pub use query::{EntryQuery, Extras, Query};
pub use reading::{Reading, SnapshotId};
pub use records::{RecordBlock, RecordCodes, RecordLayout, RecordOp, RecordParts, RecordPlan};
pub use schema::{MatchKind, Schema, SchemaError};
pub use stream::{DigestAck, DigestList, IdleNotice, OtherMessage, StreamError, StreamErrorCause};
pub use update::{Atomicity, Batch, Update, UpdateKind};
pub use validate::{validate, validate_query};
