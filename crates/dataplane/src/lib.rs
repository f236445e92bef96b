//! A compiled program on live traffic: workers, ports, replacement, ageing, statistics.
//!
//! - [`Switch`]: what runs; ports come and go, the program is replaced, entities are written and read;
//! - [`Compiled`]: a program as the compiler leaves it, ready to be run;
//! - [`Options`]: how many workers there are and what is bounded by what;
//! - [`PortSpec`]: which interface, device or file a port is;
//! - [`Report`]: what became of everything, with the ports' own counts.
//!
//! A worker is a thread with ports of its own. It takes bursts from them, runs them through the program, sends what
//! leaves, and sleeps when there is nothing to do. A port with several queues is a port of several workers: each has a
//! queue, and sends to the port through it. Everything else that happens to a worker (another program, one
//! more port, a question about its counts) is a task, done between two bursts.
//!
//! Invariants: every packet that arrives, and every copy, is sent, dropped for a reason that has a name, given to
//! the controller, or waits: [`Report::is_balanced`]. What is sent is what the ports say. Rings and lists are bounded,
//! and what finds no room is counted. No worker waits for the control plane or for another worker.
//!
//! Non-goals: compiling; protobuf; the meaning of programs.
//!
//! Start reading at [`Switch`], then `worker`.

mod ageing;
mod clock;
mod controller_queues;
mod mailbox;
mod memory;
mod metrics;
mod metrics_server;
mod migration;
mod offload_threads;
mod options;
mod order;
mod plane;
mod ports;
mod report;
mod sleeper;
mod start_fault;
mod switch;
mod trace;
mod warning;
mod worker;
mod worker_loop;

pub use controller_queues::PacketIn;
pub use memory::keep_freed_memory;
pub use metrics::Counter;
pub use metrics_server::MetricsServer;
pub use options::{Compiled, Options, Queues, SHUTDOWN_TIMEOUT_DEFAULT, Wait};
pub use ports::{PortKind, PortSpec};
pub use report::{AsyncReport, PortReport, QueueReport, Report, WorkerReport, reason};
pub use switch::{Prepared, ShutdownError, StartError, Switch, SwitchError};
pub use trace::{Followed, TraceError, TraceLimits, Traced};
pub use warning::Warning;
