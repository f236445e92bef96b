//! What DPDK does to the process that hosts it.

mod common;

use common::{has_dpdk, packet, pool, port, receive, send};
use std::fs;

/// All threads, by name and cores they may run on.
fn affinities() -> Vec<(String, String)> {
    let tasks = fs::read_dir("/proc/self/task").unwrap().flatten();
    let line = |status: &str, name: &str| {
        status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().trim().to_owned()
    };
    let status = tasks.filter_map(|task| fs::read_to_string(task.path().join("status")).ok());
    status.map(|status| (line(&status, "Name:"), line(&status, "Cpus_allowed_list:"))).collect()
}

fn signals() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    status.lines().filter(|line| line.starts_with("SigCgt") || line.starts_with("SigIgn")).collect()
}

fn n_descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

/// One test, because others in this process would change what it counts.
#[test]
fn the_process_is_left_as_it_was() {
    if !has_dpdk() {
        return;
    }
    let mine = || affinities().into_iter().find(|(name, _)| name.starts_with("the_process")).unwrap().1;
    let (cores, before) = (mine(), signals());
    drop(port("net_ring_process"));
    assert_eq!(mine(), cores);
    for (name, allowed) in affinities() {
        assert_eq!(allowed, cores, "{name}");
    }
    assert_eq!(signals(), before);

    let dir = tempfile::tempdir().unwrap();
    let mut pool = pool();
    let mut cycle = |number: usize| {
        let socket = dir.path().join("memif.sock");
        let memif = format!("net_memif_process,role=server,socket={},socket-abstract=no", socket.display());
        let vhost = format!("net_vhost_process,iface={}", dir.path().join("vhost.sock").display());
        let devices = [memif, vhost, "net_null_process".to_owned(), "net_ring_process".to_owned()];
        let mut ports: Vec<_> = devices.iter().map(|device| port(device)).collect();
        // Packets that are left in the device are freed with it.
        for _ in 0..8 {
            let packets: Vec<_> = (0..64).map(|i| packet(60, i + number)).collect();
            send(&mut ports[3], &mut pool, &packets);
        }
        receive(&mut ports[3], &mut pool, 64);
    };
    // Libraries open some descriptors once.
    cycle(0);
    let n = n_descriptors();
    (1..=40).for_each(&mut cycle);
    let fds: Vec<_> = fs::read_dir("/proc/self/fd").unwrap().flatten().filter_map(|e| fs::read_link(e.path()).ok()).collect();
    assert_eq!(n_descriptors(), n, "{fds:?}");
    // More packets than all mbufs have passed, so that none is lost with a device.
    (41..=80).for_each(&mut cycle);
    assert_eq!(signals(), before);
}
