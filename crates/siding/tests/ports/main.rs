//! Every kind of port passes the same checks: programs, counts, changes under load, interfaces and processes that go and come back.
//!
//! `kinds` says what a kind is, `bench` puts a switch with such ports on its place, and the other modules are the checks.

#![cfg(target_os = "linux")]

mod bench;
mod counts;
mod far;
mod kinds;
mod load;
#[path = "../../../dataplane/tests/common/net.rs"]
mod net;
mod patience;
mod returns;
mod scripts;
mod switch;
mod tcp;

use kinds::Kind;

fn check(kind: Kind, check: fn(Kind)) {
    if is_possible(kind) {
        check(kind);
    }
}

/// Returns true if there can be such ports here, otherwise prints the reason; with SIDING_REQUIRE_NET=1 that is a failure.
fn is_possible(kind: Kind) -> bool {
    if !net::is_possible() {
        return false;
    }
    if kind.needs_dpdk()
        && let Err(why) = dpdk::Installation::find()
    {
        assert!(std::env::var_os("SIDING_REQUIRE_NET").is_none_or(|v| v != "1"), "{why}");
        println!("skipped: {why}");
        return false;
    }
    true
}

/// Each check is a test of its own for each kind.
macro_rules! matrix {
    ($($name:ident: $kind:ident),* $(,)?) => {
        $(
            mod $name {
                use crate::{check, kinds::Kind};

                #[test]
                fn runs_the_program_suite() {
                    check(Kind::$kind, crate::scripts::run);
                }

                #[test]
                fn every_packet_is_accounted_for() {
                    check(Kind::$kind, crate::counts::run);
                }

                #[test]
                fn what_goes_comes_back() {
                    check(Kind::$kind, crate::returns::run);
                }

                #[test]
                fn hosts_talk_tcp() {
                    check(Kind::$kind, crate::tcp::run);
                }
            }
        )*
    };
}

// Captures, `net_pcap`, `net_null` and `net_ring` have no far end that could send in its turn. The tests of crate `dpdk` and
// `a_switch_between_captures` are theirs.
matrix! {
    af_packet: AfPacket,
    af_xdp: AfXdp,
    tap: Tap,
    memif: Memif,
    memif_server: MemifServer,
    memif_client: MemifClient,
    net_memif: NetMemif,
    vhost_user: VhostUser,
    virtio_user: VirtioUser,
    net_tap: NetTap,
    net_af_packet: NetAfPacket,
    net_af_xdp: NetAfXdp,
}
