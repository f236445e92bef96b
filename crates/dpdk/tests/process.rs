//! Effects of DPDK on the process that hosts it.

mod common;

use common::{has_dpdk, packet, pool, port, receive, send};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::{env, fs};

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

fn variables() -> BTreeSet<OsString> {
    env::vars_os().map(|(name, _)| name).collect()
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
    let (cores, before, named) = (mine(), signals(), variables());
    drop(port("net_ring_process"));
    // One more, and processes that another thread starts meanwhile can fail.
    let expected = ["MLX4_DEVICE_FATAL_CLEANUP", "MLX5_DEVICE_FATAL_CLEANUP", "RDMAV_HUGEPAGES_SAFE"];
    assert!(variables().difference(&named).eq(expected.iter()), "{:?}", variables());
    assert_eq!(mine(), cores);
    for (name, allowed) in affinities() {
        assert_eq!(allowed, cores, "{name}");
    }
    assert_eq!(signals(), before);

    let dir = tempfile::tempdir().unwrap();
    let mut pool = pool();
    let mut cycle = |number: usize| {
        let path = |name: &str| dir.path().join(name).display().to_string();
        let devices = [
            "net_ring_process".to_owned(),
            "net_null_process".to_owned(),
            format!("net_memif_process,role=client,socket={}", path("memif")),
            format!("net_vhost_process,iface={}", path("vhost")),
        ];
        let mut ports: Vec<_> = devices.iter().map(|device| port(device)).collect();
        // Packets that are left in the device are freed with it.
        for _ in 0..8 {
            let packets: Vec<_> = (0..64).map(|i| packet(60, i + number)).collect();
            send(&mut ports[0], &mut pool, &packets);
        }
        receive(&mut ports[0], &mut pool, 64);
    };
    // Libraries open some descriptors once.
    cycle(0);
    let n = n_descriptors();
    (1..=20).for_each(&mut cycle);
    assert_eq!(n_descriptors(), n);
    // More packets than all mbufs have passed, so that none is lost with a device.
    (21..=60).for_each(&mut cycle);
    assert_eq!(signals(), before);

    // The memif driver keeps a descriptor of each server; the address is free all the same, abstract as it is.
    for _ in 0..3 {
        drop(port(&format!("net_memif_again,role=server,socket={}", dir.path().join("again").display())));
    }
    assert!(n_descriptors() <= n + 3);
}
