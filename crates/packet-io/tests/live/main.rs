//! Ports on real interfaces. Each test makes a network namespace for itself, which needs root (CAP_SYS_ADMIN,
//! CAP_NET_ADMIN and CAP_NET_RAW) and `ip` of iproute2. Without those a test says so and passes, unless
//! SIDING_REQUIRE_NET is 1.
#![cfg(target_os = "linux")]
#![expect(unsafe_code, reason = "network namespaces of threads")]

mod af_packet;
mod af_xdp;
mod errors;
mod memif;
mod namespace;
mod offloads;
mod queues;
mod tap;
