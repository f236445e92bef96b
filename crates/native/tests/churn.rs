//! C6: entries that come and go at full rate take no memory beyond that of the beginning. Alone in its process, whose memory it
//! measures.

mod common;
#[path = "common/programs.rs"]
mod programs;

use native::{BurstPacket, BurstPath, Bursts, Control, Fate, Instance, InstanceOptions, Native, Path};
use programs::compiled;
use std::sync::Arc;
use target::traffic::{Destination, Ports};
use target::{Config, Store, Switch};

const N_WORKERS: u32 = 2;
const N_BURST: u32 = 64;
/// Slots of a writer that may wait, see `SD_FLOW_N_WAITING`; the control plane is one more writer.
const N_WAITING_MAX: u64 = 4096 * (N_WORKERS as u64 + 1);

const PROGRAM: &str = r#"
#include <core.p4>
#include <v1model.p4>
#include <siding_state.p4>
header Request { bit<32> key; bit<8> found; }
struct Headers { Request request; }
struct Metadata {}
parser P(packet_in packet, out Headers h, inout Metadata m, inout standard_metadata_t s) {
    state start { packet.extract(h.request); transition accept; }
}
control V(inout Headers h, inout Metadata m) { apply {} }
control I(inout Headers h, inout Metadata m, inout standard_metadata_t s) {
    action known(@__ref bit<32> n) { n = n + 1; h.request.found = 1; }
    action learn() { h.request.found = add_entry("known", 32w0, 0) ? 8w2 : 8w3; }
    @siding_full("oldest")
    table flows {
        key = { h.request.key: exact; }
        actions = { known; @defaultonly learn; }
        const default_action = learn();
        add_on_miss = true;
        idle_timeout_with_auto_delete = true;
        size = 2048;
    }
    apply { flows.apply(); s.egress_spec = 1; }
}
control E(inout Headers h, inout Metadata m, inout standard_metadata_t s) { apply {} }
control C(inout Headers h, inout Metadata m) { apply {} }
control D(packet_out packet, in Headers h) { apply { packet.emit(h.request); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
"#;

/// Sends bursts of new flows, and returns the number of entries that they have added.
fn churn(switch: &mut Switch<Native>, first_key: u32, n_bursts: u32) -> u64 {
    let mut bursts = Bursts::default();
    let mut storages = vec![vec![0_u8; 5 + 2]; N_BURST as usize];
    let (mut key, mut n_added) = (first_key, 0);
    for _ in 0..n_bursts {
        for storage in &mut storages {
            storage[..4].copy_from_slice(&key.to_be_bytes());
            key += 1;
        }
        let mut burst: Vec<_> =
            storages.iter_mut().map(|storage| BurstPacket::new(storage, 0, 5, 0)).collect();
        bursts.process(switch, 0, &mut burst, Path::Straight, &mut (), &mut Vec::new());
        for packet in &burst {
            assert_eq!(packet.fate(), Fate::Sent(Destination::Port(1)));
            n_added += u64::from(packet.bytes()[4] == 2);
        }
    }
    n_added
}

/// The memory of this process that is in use, in bytes.
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

#[test]
fn c06_churn_takes_no_memory() {
    // A million flows after the first hundred thousand, in a table for two thousand.
    const N_BURSTS: [u32; 2] = [800, 8_000];
    const GROWTH_MAX: u64 = 4 << 20;
    let source = driver::Source { name: "churn.p4".to_string(), text: PROGRAM.into() };
    let (runnable, pipeline) = compiled(&source);
    let options =
        InstanceOptions { n_workers: N_WORKERS, seed: 0, path: BurstPath::Segments, table_size: 1024 };
    let instance = Instance::new(pipeline, Arc::new(runnable.program), options).unwrap();
    let control = Control::new(Arc::clone(&instance));
    let config = || Config { ports: Ports::Listed((0..8).collect()), ..Default::default() };
    let mut workers: Vec<Switch<Native>> = (0..N_WORKERS)
        .map(|_| Switch::new(Native::new(&instance, 1000).unwrap(), config()).unwrap())
        .collect();
    let mut next_key = 0;
    let (mut n_added, mut n_sent) = (0, 0);
    let mut resident = Vec::new();
    for n_bursts in N_BURSTS {
        let added: Vec<u64> = std::thread::scope(|scope| {
            let threads: Vec<_> = (workers.iter_mut().zip(0..))
                .map(|(worker, i)| {
                    scope.spawn(move || churn(worker, next_key + i * n_bursts * N_BURST, n_bursts))
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        next_key += N_WORKERS * n_bursts * N_BURST;
        n_sent += u64::from(N_WORKERS * n_bursts * N_BURST);
        n_added += added.iter().sum::<u64>();
        let uses = control.table_uses()[0];
        assert!(uses.packets.is_balanced() && uses.n_entries <= 2048, "{uses:?}");
        assert_eq!((uses.packets.n_added, uses.packets.n_full), (n_added, n_sent - n_added), "{uses:?}");
        assert!(uses.packets.n_waiting <= N_WAITING_MAX, "{uses:?}");
        resident.push(resident_bytes());
    }
    let packets = control.table_uses()[0].packets;
    assert!(packets.n_evicted > n_sent / 2, "{packets:?}");
    let growth = resident[1].saturating_sub(resident[0]);
    assert!(growth <= GROWTH_MAX, "{growth} bytes more after {n_sent} flows");
}
