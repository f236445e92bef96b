//! What tests of the crate share.
#![allow(dead_code, reason = "each test uses a part")]

use dataplane::{Compiled, Report, Switch};
use externs::ExternSet;
use native::{BuildOptions, CompileOptions, Machine, Optimise, build};
use packet_io::{BufPool, Packet, PacketBuf, Port, PortError, PortId, PortStats};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Compiles a program of the repository; fast, into the cache of all tests.
pub fn compile(path: &str) -> Compiled {
    compile_with(path, ExternSet::new())
}

/// The same for one that calls externs of users.
pub fn compile_with(path: &str, externs: ExternSet) -> Compiled {
    let source = driver::read_source(&root().join(path)).unwrap();
    let mut checked = driver::check(&source, &driver::FileLoader::default(), &driver::Options::default());
    let runnable =
        driver::runnable(&mut checked, None).unwrap_or_else(|| panic!("{:?}", checked.diagnostics));
    let compile =
        CompileOptions { optimise: Optimise::Nothing, machine: Machine::Any, ..CompileOptions::default() };
    let options = BuildOptions { compile, externs, ..BuildOptions::default() };
    let pipeline = build(&runnable.program, &checked.sources, &options).unwrap();
    let schema = control::Schema::new(&runnable.control_plane.p4info).unwrap();
    Compiled {
        name: path.to_owned(),
        pipeline,
        program: Arc::new(runnable.program),
        schema: Arc::new(schema),
        sources: Some(Arc::new(checked.sources)),
    }
}

/// Does the control-plane commands of a test script.
pub fn configure(switch: &Switch, script: &str) {
    let parsed = stf::parse("commands", script);
    assert!(!parsed.diagnostics.has_errors(), "{:?}", parsed.diagnostics);
    let schema = switch.schema().unwrap();
    let (plan, faults) = stf::resolve(&parsed.script, &schema);
    assert!(!faults.has_errors(), "{faults:?}");
    for step in plan.steps {
        let stf::StepKind::Write(updates) = step.kind else { panic!("{:?}", step.kind) };
        for update in updates {
            switch.with_target(|_, target| target.write(&update)).unwrap().unwrap();
        }
    }
}

/// The other end of a [`WirePort`].
#[derive(Clone, Debug, Default)]
pub struct Wire {
    to_switch: Arc<Mutex<VecDeque<Vec<u8>>>>,
    from_switch: Arc<Mutex<Vec<Vec<u8>>>>,
    is_stuck: Arc<AtomicBool>,
    /// Packets that the link takes, if it is not as many as there are.
    room: Arc<Mutex<Option<usize>>>,
}

impl Wire {
    pub fn send(&self, packet: &[u8]) {
        self.to_switch.lock().unwrap().push_back(packet.to_vec());
    }

    /// Packets that the switch has not taken yet.
    pub fn n_offered(&self) -> usize {
        self.to_switch.lock().unwrap().len()
    }

    pub fn n_received(&self) -> usize {
        self.from_switch.lock().unwrap().len()
    }

    /// Everything that has come.
    pub fn take(&self) -> Vec<Vec<u8>> {
        std::mem::take(&mut *self.from_switch.lock().unwrap())
    }

    /// Nothing more is sent.
    pub fn block(&self) {
        self.is_stuck.store(true, Ordering::SeqCst);
    }

    /// The link takes so many packets from now on.
    pub fn set_room(&self, n_packets: usize) {
        *self.room.lock().unwrap() = Some(n_packets);
    }

    /// Takes room for a packet; false if the link has none.
    fn takes_packet(&self) -> bool {
        match &mut *self.room.lock().unwrap() {
            None => true,
            Some(0) => false,
            Some(room) => {
                *room -= 1;
                true
            }
        }
    }

    pub fn port(&self, number: u32) -> Box<dyn Port> {
        Box::new(WirePort {
            id: PortId(number),
            wire: self.clone(),
            has_back_pressure: false,
            stats: PortStats::default(),
        })
    }
}

/// A port that leads to the test.
#[derive(Debug)]
pub struct WirePort {
    id: PortId,
    wire: Wire,
    has_back_pressure: bool,
    stats: PortStats,
}

impl Port for WirePort {
    fn id(&self) -> PortId {
        self.id
    }

    fn rx_burst(
        &mut self,
        pool: &mut BufPool,
        burst: &mut Vec<PacketBuf>,
        n_max: usize,
    ) -> Result<usize, PortError> {
        let mut waiting = self.wire.to_switch.lock().unwrap();
        let mut n = 0;
        while n < n_max && !waiting.is_empty() {
            let Some(mut buf) = pool.take() else { break };
            let bytes = waiting.pop_front().unwrap();
            buf.port = self.id;
            assert!(buf.set_data(&bytes));
            self.stats.rx_packets += 1;
            self.stats.rx_bytes += bytes.len() as u64;
            burst.push(buf);
            n += 1;
        }
        Ok(n)
    }

    fn tx_burst(&mut self, pool: &mut BufPool, burst: &mut Vec<PacketBuf>) -> Result<usize, PortError> {
        let mut n = 0;
        while !burst.is_empty() {
            let has_room = self.wire.takes_packet();
            if !has_room && self.has_back_pressure {
                break;
            }
            let buf = burst.remove(0);
            if !has_room || self.wire.is_stuck.load(Ordering::SeqCst) {
                self.stats.tx_dropped_full += 1;
            } else {
                self.wire.from_switch.lock().unwrap().push(Packet::new(buf.data()).data);
                self.stats.tx_packets += 1;
                self.stats.tx_bytes += buf.len() as u64;
                n += 1;
            }
            pool.give_back(buf);
        }
        Ok(n)
    }

    fn set_back_pressure(&mut self, is_wanted: bool) {
        self.has_back_pressure = is_wanted;
    }

    fn stats(&mut self) -> PortStats {
        self.stats
    }
}

/// Waits for something to become true.
pub fn until(what: &str, mut is_true: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_true() {
        assert!(begin.elapsed() < Duration::from_secs(20), "{what} does not happen");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The counts when nothing is under way any more, which have to add up.
pub fn settled(switch: &Switch) -> Report {
    let mut last = switch.report().unwrap();
    loop {
        std::thread::sleep(Duration::from_millis(50));
        let now = switch.report().unwrap();
        if now.n_received == last.n_received && now.n_sent == last.n_sent {
            assert!(now.is_balanced(), "{now:#?}");
            let n_in: u64 = now.ports.iter().map(|port| port.stats.rx_packets).sum();
            assert!(now.n_received >= n_in, "{now:#?}");
            return now;
        }
        last = now;
    }
}
