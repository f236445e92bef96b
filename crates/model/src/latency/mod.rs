//! Latency of packets through a worker that polls: a bound by network calculus, a mean by queueing theory, percentiles by
//! simulation. Times are nanoseconds, rates are packets a nanosecond.
//!
//! A worker polls a ring, takes at most a burst of the packets that wait there, and finishes them together. Its [`Worker`]
//! says what a burst costs at most. Traffic has an [`Envelope`]: no window of `t` nanoseconds has more than `sigma + rho t`
//! packets. From both follow the longest delay and the largest backlog ([`bound()`]); without an envelope, as with Poisson
//! arrivals, there is no bound, but a mean ([`mean_wait`]) and percentiles ([`estimate`]).
//!
//! There are two bounds: that of the program, whose worker is never interrupted, and that of the machine, with its
//! [`Stalls`]: interrupts, other processes, a host that takes the core away.
//!
//! Sources: Le Boudec, Thiran: "Network Calculus" (2001), for rate-latency servers in series; Mohammadpour, Stai, Le Boudec:
//! "Improved Delay Bound for a Service Curve Element with Known Transmission Rate" (2019); Fuhrmann, Cooper: "Stochastic
//! Decompositions in the M/G/1 Queue with Generalized Vacations" (1985).

mod arrivals;
mod bound;
mod mean;
mod quantiles;
mod simulate;
mod stalls;

pub use arrivals::{Arrival, Envelope, Pattern, Sizes, Traffic, TrafficError, excess, sigma};
pub use bound::{Bound, Limit, Method, NoBound, Offload, Port, Worker, bound, worker_of};
pub use mean::mean_wait;
pub use quantiles::Quantiles;
pub use simulate::{Delays, Estimate, Measured, Scene, Service, estimate, simulate};
pub use stalls::Stalls;
