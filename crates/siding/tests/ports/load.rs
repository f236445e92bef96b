//! Load on ports 1 and 2, which are the ends of a wire, and the counts of everything that has become of it.

use crate::bench::Bench;
use crate::far::Far;
use crate::kinds::FarEnd;
use crate::patience::PATIENCE;
use crate::switch::{n, sum};
use serde_json::Value;
use std::process::Command;
use std::time::Instant;

pub const PROGRAM: &str = "crates/siding/tests/ports/ports.p4";

/// Types of frames: they go to the other port, come back, or are dropped.
pub const CROSS: u16 = 0x88b5;
pub const ANSWER: u16 = 0x88b6;
pub const DROP: u16 = 0x88b7;

/// Entries of the program for these types.
pub const ENTRIES: &str =
    "add types headers.ethernet.type:0x88b6 answer()\nadd types headers.ethernet.type:0x88b7 drop()\n";

const STATIONS: [u8; 12] = [2, 0, 0, 0, 0, 0xaa, 2, 0, 0, 0, 0, 0xbb];
/// Place of the number of a packet.
const NUMBER: usize = 14;
const BYTES: usize = 60;

pub fn packet(of_type: u16, number: u64) -> Vec<u8> {
    let mut bytes = STATIONS.to_vec();
    bytes.extend(of_type.to_be_bytes());
    bytes.extend(number.to_be_bytes());
    bytes.resize(BYTES, 0x5a);
    bytes
}

/// The type and the number of a packet, whose other bytes are as they were sent, or with addresses swapped.
#[track_caller]
pub fn read(bytes: &[u8]) -> (u16, u64) {
    let of_type = u16::from_be_bytes([bytes[12], bytes[13]]);
    let number = u64::from_be_bytes(bytes[NUMBER..NUMBER + 8].try_into().unwrap());
    let mut expected = packet(of_type, number);
    if of_type == ANSWER {
        expected[..12].rotate_left(6);
    }
    assert!(bytes == expected, "{bytes:02x?}");
    (of_type, number)
}

/// Numbered packets from one far end to another, or back to where they come from.
#[derive(Debug)]
pub struct Stream {
    pub from: u32,
    pub to: u32,
    of_type: u16,
    pub n_sent: u64,
    pub n_arrived: u64,
    next: u64,
    /// Packets may be missing.
    is_lossy: bool,
}

impl Stream {
    pub fn new(from: u32, to: u32, is_lossy: bool) -> Stream {
        let of_type = if from == to { ANSWER } else { CROSS };
        Stream { from, to, of_type, n_sent: 0, n_arrived: 0, next: 0, is_lossy }
    }

    pub fn send(&mut self, bench: &mut Bench, n: u64) {
        let packets: Vec<_> = (self.n_sent..self.n_sent + n).map(|i| packet(self.of_type, i)).collect();
        self.n_sent += n;
        bench.far(self.from).send(&packets);
    }

    /// Takes note of a packet that has come. Packets stay in order; without loss none is missing.
    #[track_caller]
    fn arrive(&mut self, number: u64) {
        let is_next = if self.is_lossy { number >= self.next } else { number == self.next };
        assert!(is_next && number < self.n_sent, "packet {number} after {}, {self:?}", self.next);
        self.next = number + 1;
        self.n_arrived += 1;
    }
}

/// Lets packets arrive at the far ends of streams.
#[track_caller]
pub fn poll(bench: &mut Bench, streams: &mut [Stream]) {
    for (number, far) in &mut bench.fars {
        far.poll(|bytes| {
            let (of_type, i) = read(bytes);
            let stream = streams.iter_mut().find(|s| s.to == *number && s.of_type == of_type);
            stream.unwrap_or_else(|| panic!("at port {number}: {bytes:02x?}")).arrive(i);
        });
    }
}

/// Sends more packets of each stream with a few under way at a time, all of which arrive.
#[track_caller]
pub fn exchange(bench: &mut Bench, streams: &mut [Stream], n_packets: u64) {
    const N_UNDER_WAY: u64 = 128;
    const N_AT_ONCE: u64 = 32;
    let ends: Vec<u64> = streams.iter().map(|stream| stream.n_sent + n_packets).collect();
    let begin = Instant::now();
    loop {
        let mut is_over = true;
        for (stream, end) in streams.iter_mut().zip(&ends) {
            let room = N_UNDER_WAY - (stream.n_sent - stream.n_arrived);
            let n = (end - stream.n_sent).min(N_AT_ONCE);
            if n > 0 && room >= n {
                stream.send(bench, n);
            }
            is_over &= stream.n_arrived == *end;
        }
        poll(bench, streams);
        if is_over {
            return;
        }
        assert!(begin.elapsed() < PATIENCE, "{:?}: {streams:?}\n{}", bench.kind, bench.switch().totals());
    }
}

/// Everything that has become of the packets that far ends have sent since the switch began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accounts {
    pub n_offered: u64,
    pub n_lost_before: u64,
    pub n_received: u64,
    pub n_copied: u64,
    pub n_to_controller: u64,
    pub n_dropped: u64,
    pub n_queued: u64,
    pub n_sent: u64,
    pub n_arrived: u64,
    pub n_lost_behind: u64,
}

impl Accounts {
    /// The switch's counts with those of the far ends beside them. `past` are counts of far ends that are closed.
    pub fn new(totals: &Value, bench: &mut Bench, past: &Accounts) -> Accounts {
        let mut all = Accounts {
            n_received: n(&totals["received"]),
            n_lost_before: sum(&totals["rx_lost"]),
            n_copied: n(&totals["copied"]),
            n_to_controller: n(&totals["to_controller"]),
            n_dropped: sum(&totals["dropped"]),
            n_queued: n(&totals["queued"]),
            n_sent: n(&totals["sent"]),
            ..past.clone()
        };
        let numbers: Vec<u32> = bench.fars.keys().copied().collect();
        for number in numbers {
            let far = bench.far(number);
            all.add_far(far);
            let (to_switch, from_switch) = lost_in_interface(bench, number);
            all.n_lost_before += to_switch;
            all.n_lost_behind += from_switch;
        }
        all
    }

    pub fn add_far(&mut self, far: &mut Far) {
        self.n_offered += far.n_sent();
        self.n_arrived += far.n_received();
        self.n_lost_behind += far.n_missed();
    }

    pub fn is_even(&self) -> bool {
        self.n_offered == self.n_received + self.n_lost_before && self.is_even_inside() && self.n_queued == 0
    }

    /// Sent is what was received without what was dropped, and has arrived or is counted as lost.
    pub fn is_even_inside(&self) -> bool {
        self.n_received + self.n_copied == self.n_sent + self.n_to_controller + self.n_dropped + self.n_queued
            && self.n_sent == self.n_arrived + self.n_lost_behind
    }
}

/// Packets that the kernel has dropped on their way to and from a port, by the counts of its interfaces.
fn lost_in_interface(bench: &Bench, number: u32) -> (u64, u64) {
    let place = bench.place(number);
    match bench.far_end(number) {
        FarEnd::Device(_) => (0, 0),
        FarEnd::Cable => {
            let n = |namespace: String, name: &str| dropped(&namespace, name, "tx");
            (n(bench.lab.host(place), "eth0"), n(bench.lab.switch(), &format!("port{place}")))
        }
        FarEnd::Interface(name) => (dropped(&bench.lab.switch(), &name, "tx"), 0),
    }
}

fn dropped(namespace: &str, interface: &str, direction: &str) -> u64 {
    let shown =
        Command::new("ip").args(["-n", namespace, "-j", "-s", "link", "show", interface]).output().unwrap();
    let links: Value = serde_json::from_slice(&shown.stdout).unwrap_or_default();
    links[0]["stats64"][direction]["dropped"].as_u64().unwrap_or(0)
}

/// Waits until each packet that was sent is accounted for, and returns the counts.
#[track_caller]
pub fn settle(bench: &mut Bench, streams: &mut [Stream], past: &Accounts) -> Accounts {
    let begin = Instant::now();
    let (mut before, mut n_equal) = (None, 0);
    loop {
        poll(bench, streams);
        let totals = bench.switch().totals();
        let accounts = Accounts::new(&totals, bench, past);
        n_equal = if before.as_ref() == Some(&accounts) { n_equal + 1 } else { 0 };
        // They stay even: nothing is counted twice.
        let is_even = match bench.kind.leaves_losses_uncounted() {
            None => accounts.is_even() && n_equal > 0,
            // Everything has come when nothing has come for some time.
            Some(_) => accounts.is_even_inside() && accounts.n_queued == 0 && n_equal > 20,
        };
        if is_even {
            let is_exact = bench.kind.hears_others().is_none();
            let n_in = accounts.n_received + accounts.n_lost_before;
            assert!(!is_exact || accounts.n_offered >= n_in, "{accounts:?}");
            return accounts;
        }
        if begin.elapsed() > PATIENCE {
            let ports = bench.switch().ask(&ctl::Request::Show { what: ctl::What::Ports, name: None });
            panic!("{:?}: {accounts:#?}\n{totals:#}\n{ports:#}", bench.kind);
        }
        before = Some(accounts);
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}
