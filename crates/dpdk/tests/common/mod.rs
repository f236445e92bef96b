//! Parts shared by the tests of the crate.
#![allow(dead_code, reason = "each test uses a part")]

use dpdk::{DpdkPort, Installation, open};
use packet_io::{BufPool, BufPoolOptions, LinkState, PacketBuf, Port, PortId};
use std::time::{Duration, Instant};

/// Returns whether there is a DPDK. Prints the reason when not; with SIDING_REQUIRE_NET=1 that is a failure.
pub fn has_dpdk() -> bool {
    match Installation::find() {
        Ok(_) => true,
        Err(why) => {
            assert!(std::env::var_os("SIDING_REQUIRE_NET").is_none_or(|v| v != "1"), "{why}");
            eprintln!("skipped: {why}");
            false
        }
    }
}

pub fn pool() -> BufPool {
    BufPool::new(BufPoolOptions::JUMBO)
}

pub fn port(device: &str) -> DpdkPort {
    open(PortId(1), device).unwrap_or_else(|error| panic!("{error}"))
}

/// A packet whose bytes depend on its length and number.
pub fn packet(n_bytes: usize, number: usize) -> Vec<u8> {
    (0..n_bytes).map(|i| (i * 7 + n_bytes + number * 31) as u8).collect()
}

/// In a buffer of the pool.
pub fn buffer(pool: &mut BufPool, bytes: &[u8]) -> PacketBuf {
    let mut buf = pool.take().unwrap();
    assert!(buf.set_data(bytes));
    buf
}

/// Waits for a condition for up to 20 s.
pub fn until(what: &str, mut is_done: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !is_done() {
        assert!(Instant::now() < deadline, "still no {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

pub fn until_up(port: &DpdkPort) {
    until("link", || port.link_state() == LinkState::Up);
}

/// Receives `n` packets, waiting for them.
pub fn receive(port: &mut DpdkPort, pool: &mut BufPool, n: usize) -> Vec<PacketBuf> {
    let mut burst = Vec::new();
    until("packets", || {
        while burst.len() < n && port.rx_burst(pool, &mut burst, n).unwrap() > 0 {}
        burst.len() >= n
    });
    burst
}

/// Sends packets and returns how many were taken.
pub fn send(port: &mut DpdkPort, pool: &mut BufPool, packets: &[Vec<u8>]) -> usize {
    let mut burst: Vec<_> = packets.iter().map(|bytes| buffer(pool, bytes)).collect();
    port.tx_burst(pool, &mut burst).unwrap()
}
