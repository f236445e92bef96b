//! No thread allocates memory while packets suspend and resume, neither in Rust nor in C.
//!
//! The test has the allocator's functions, in front of those of the C library, so that every call comes here.
#![cfg(target_env = "gnu")]

mod common;

use common::compile;
use dataplane::{Options, Switch};
use native::AsyncMode;
use packet_io::{BufPool, PacketBuf, Port, PortError, PortId, PortStats};
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Of workers and offload workers.
static N_ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

#[expect(unsafe_code, reason = "standard library functions for names may ask for memory")]
fn count() {
    let mut name = [0u8; 16];
    // SAFETY: it writes 16 bytes at most.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    if name.starts_with(b"worker") || name.starts_with(b"offload") {
        N_ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    }
}

#[expect(unsafe_code, reason = "the allocator's own functions")]
mod allocator {
    use super::{c_void, count};

    unsafe extern "C" {
        fn __libc_malloc(n: usize) -> *mut c_void;
        fn __libc_calloc(n: usize, size: usize) -> *mut c_void;
        fn __libc_realloc(p: *mut c_void, n: usize) -> *mut c_void;
        fn __libc_memalign(align: usize, n: usize) -> *mut c_void;
    }

    /// # Safety
    /// As `malloc`.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn malloc(n: usize) -> *mut c_void {
        count();
        // SAFETY: the caller's promise.
        unsafe { __libc_malloc(n) }
    }

    /// # Safety
    /// As `calloc`.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn calloc(n: usize, size: usize) -> *mut c_void {
        count();
        // SAFETY: the caller's promise.
        unsafe { __libc_calloc(n, size) }
    }

    /// # Safety
    /// As `realloc`.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn realloc(p: *mut c_void, n: usize) -> *mut c_void {
        count();
        // SAFETY: the caller's promise.
        unsafe { __libc_realloc(p, n) }
    }

    /// # Safety
    /// As `aligned_alloc`.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn aligned_alloc(align: usize, n: usize) -> *mut c_void {
        count();
        // SAFETY: the caller's promise.
        unsafe { __libc_memalign(align, n) }
    }

    /// # Safety
    /// As `posix_memalign`.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn posix_memalign(to: *mut *mut c_void, align: usize, n: usize) -> i32 {
        count();
        // SAFETY: the caller's promise.
        let p = unsafe { __libc_memalign(align, n) };
        if p.is_null() {
            return libc::ENOMEM;
        }
        // SAFETY: the caller's promise.
        unsafe { to.write(p) };
        0
    }
}

/// Gives as many packets as the switch takes, and takes what it gives.
#[derive(Debug)]
struct Endless {
    id: PortId,
    packet: Vec<u8>,
    n_sent: Arc<AtomicU64>,
    stats: PortStats,
}

impl Port for Endless {
    fn id(&self) -> PortId {
        self.id
    }

    fn rx_burst(
        &mut self,
        pool: &mut BufPool,
        burst: &mut Vec<PacketBuf>,
        n_max: usize,
    ) -> Result<usize, PortError> {
        let mut n = 0;
        while n < n_max
            && !self.packet.is_empty()
            && let Some(mut buf) = pool.take()
        {
            buf.port = self.id;
            assert!(buf.set_data(&self.packet));
            burst.push(buf);
            n += 1;
        }
        Ok(n)
    }

    fn tx_burst(&mut self, pool: &mut BufPool, burst: &mut Vec<PacketBuf>) -> Result<usize, PortError> {
        self.n_sent.fetch_add(burst.len() as u64, Ordering::Relaxed);
        burst.drain(..).for_each(|buf| pool.give_back(buf));
        Ok(self.n_sent.load(Ordering::Relaxed) as usize)
    }

    fn stats(&mut self) -> PortStats {
        self.stats
    }
}

fn wait_for(n_sent: &AtomicU64, n: u64) {
    let begin = Instant::now();
    while n_sent.load(Ordering::Relaxed) < n {
        assert!(begin.elapsed() < Duration::from_secs(300), "no packets");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn packets_that_wait_need_no_memory() {
    let program = compile("crates/bench/programs/async_gcm.p4");
    // On a busy machine a worker and an offload worker that wait for each other take a slice of time for each packet.
    for (mode, n_window) in
        [(AsyncMode::Suspend, 20_000), (AsyncMode::Wait, 300), (AsyncMode::Inline, 20_000)]
    {
        let options = Options { async_mode: Some(mode), ..Options::default() };
        let switch = Switch::start(options).unwrap();
        switch.replace(program.clone()).unwrap();
        let n_sent = Arc::new(AtomicU64::new(0));
        for (number, packet) in [(1, Vec::new()), (0, vec![0x5a; 64])] {
            let (n_sent, stats) = (Arc::clone(&n_sent), PortStats::default());
            let port = Endless { id: PortId(number), packet, n_sent, stats };
            switch.add_open_port(number, format!("memory {number}"), Box::new(port)).unwrap();
        }
        // Buffers are made when more are under way than ever before: some more now and then, but of these not many.
        let mut per_window = Vec::new();
        while per_window.last() != Some(&0) {
            assert!(per_window.len() < 50, "{mode:?}: {per_window:?} for each {n_window} packets");
            let (n_before, before) = (n_sent.load(Ordering::Relaxed), N_ALLOCATIONS.load(Ordering::Relaxed));
            assert!(before > 0, "nothing is counted");
            wait_for(&n_sent, n_before + n_window);
            per_window.push(N_ALLOCATIONS.load(Ordering::Relaxed) - before);
        }
        let report = switch.shut_down().unwrap();
        let n_there: u64 = report.asyncs.iter().map(|block| block.n_sent).sum();
        assert_eq!(n_there > 0, mode != AsyncMode::Inline);
    }
}
