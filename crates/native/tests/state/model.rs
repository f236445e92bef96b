//! Tables that packets write, as a map with deadlines and counts (N21). Shares no code with either backend.

use crate::random;
use std::collections::BTreeMap;

pub const MS: u64 = 1_000_000;
pub const N_TABLES: usize = 2;
/// Hits restart the timers of the first table.
pub const FLOWS: usize = 0;
/// Answers to packets.
pub const HIT: u8 = 1;
pub const ADDED: u8 = 2;
pub const NOT_ADDED: u8 = 3;
pub const SKIPPED: u8 = 9;
/// Bits of a packet's command.
const RESTARTS: u8 = 1;
const SETS: u8 = 2;
const ADDS_IF_FALSE: u8 = 4;

/// A packet before or after the switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    pub table: u8,
    pub key: u16,
    pub value: u32,
    pub profile: u8,
    pub command: u8,
    pub found: u8,
    pub n: u32,
}

impl Packet {
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![self.table];
        bytes.extend(self.key.to_be_bytes());
        bytes.extend(self.value.to_be_bytes());
        bytes.extend([self.profile, self.command, self.found]);
        bytes.extend(self.n.to_be_bytes());
        bytes
    }

    pub fn read(bytes: &[u8]) -> Packet {
        let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
        let key = u16::from_be_bytes([bytes[1], bytes[2]]);
        Packet {
            table: bytes[0],
            key,
            value: number(3),
            profile: bytes[7],
            command: bytes[8],
            found: bytes[9],
            n: number(10),
        }
    }
}

/// How long an entry may stay without a hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stay {
    Profile(u8),
    /// A time of its own, or forever.
    Own(Option<u64>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub value: u32,
    pub n: u32,
    pub stay: Stay,
    pub last_hit_ns: u64,
    pub is_of_packet: bool,
    pub n_packets: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub n_added: u64,
    pub n_exists: u64,
    pub n_full: u64,
    pub n_expired: u64,
    pub n_deleted: u64,
    pub n_expired_control: u64,
    pub n_lookups: u64,
    pub n_hits: u64,
}

/// The result of a write of the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    Done,
    Exists,
    NotFound,
    Full,
}

pub struct Table {
    pub size: usize,
    pub entries: BTreeMap<u16, Entry>,
    pub timeouts_ns: [u64; 256],
    pub adds: bool,
    pub counts: Counts,
    /// Packets that ran the default action.
    pub n_missed: u64,
    restarts_on_hit: bool,
}

impl Table {
    pub fn new(size: usize, index: usize) -> Table {
        let mut timeouts_ns = [120_000 * MS; 256];
        for (timeout, seconds) in timeouts_ns.iter_mut().zip([10, 30, 60, 120, 300, 43200]) {
            *timeout = seconds * 1000 * MS;
        }
        Table {
            size,
            entries: BTreeMap::new(),
            timeouts_ns,
            adds: true,
            counts: Counts::default(),
            n_missed: 0,
            restarts_on_hit: index == FLOWS,
        }
    }

    fn has_ended(&self, entry: &Entry, now_ns: u64) -> bool {
        let timeout_ns = match entry.stay {
            Stay::Profile(profile) => Some(self.timeouts_ns[usize::from(profile)]),
            Stay::Own(timeout_ns) => timeout_ns,
        };
        timeout_ns.is_some_and(|timeout_ns| now_ns >= entry.last_hit_ns.saturating_add(timeout_ns))
    }

    /// Entries whose deadline has come are gone, whoever asks.
    pub fn end(&mut self, now_ns: u64) {
        let ended: Vec<u16> = self
            .entries
            .iter()
            .filter(|(_, entry)| self.has_ended(entry, now_ns))
            .map(|(key, _)| *key)
            .collect();
        for key in ended {
            let entry = self.entries.remove(&key).unwrap();
            self.counts.n_expired += u64::from(entry.is_of_packet);
            self.counts.n_expired_control += u64::from(!entry.is_of_packet);
        }
    }

    pub fn packet(&mut self, packet: Packet, now_ns: u64) -> Packet {
        self.end(now_ns);
        self.counts.n_lookups += 1;
        let hit_ns = now_ns / MS * MS;
        if let Some(entry) = self.entries.get_mut(&packet.key) {
            self.counts.n_hits += 1;
            entry.n = entry.n.wrapping_add(1);
            entry.n_packets += 1;
            let restarts = self.restarts_on_hit || packet.command & RESTARTS != 0;
            if restarts {
                entry.last_hit_ns = hit_ns;
            }
            if !self.restarts_on_hit && restarts && packet.command & SETS != 0 {
                entry.stay = Stay::Profile(packet.profile);
            }
            return Packet { found: HIT, value: entry.value, n: entry.n, ..packet };
        }
        self.n_missed += 1;
        if !self.adds {
            return Packet { found: SKIPPED, ..packet };
        }
        if packet.command & ADDS_IF_FALSE != 0 {
            return Packet { found: NOT_ADDED, ..packet };
        }
        if self.entries.len() >= self.size {
            self.counts.n_full += 1;
            return Packet { found: NOT_ADDED, ..packet };
        }
        self.counts.n_added += 1;
        let stay = Stay::Profile(packet.profile);
        let entry =
            Entry { value: packet.value, n: 0, stay, last_hit_ns: hit_ns, is_of_packet: true, n_packets: 0 };
        self.entries.insert(packet.key, entry);
        Packet { found: ADDED, ..packet }
    }

    pub fn insert(&mut self, key: u16, value: u32, n: u32, timeout_ns: Option<u64>, now_ns: u64) -> Written {
        self.end(now_ns);
        if self.entries.contains_key(&key) {
            return Written::Exists;
        }
        if self.entries.len() >= self.size {
            return Written::Full;
        }
        let (last_hit_ns, stay) = (now_ns / MS * MS, Stay::Own(timeout_ns));
        self.entries.insert(key, Entry { value, n, stay, last_hit_ns, is_of_packet: false, n_packets: 0 });
        Written::Done
    }

    /// A time of its own takes the place of the profile; without one the entry keeps its profile.
    pub fn modify(&mut self, key: u16, value: u32, n: u32, timeout_ns: Option<u64>, now_ns: u64) -> Written {
        self.end(now_ns);
        let Some(entry) = self.entries.get_mut(&key) else { return Written::NotFound };
        (entry.value, entry.n, entry.last_hit_ns) = (value, n, now_ns / MS * MS);
        if timeout_ns.is_some() || matches!(entry.stay, Stay::Own(_)) {
            entry.stay = Stay::Own(timeout_ns);
        }
        Written::Done
    }

    pub fn delete(&mut self, key: u16, now_ns: u64) -> Written {
        self.end(now_ns);
        let Some(entry) = self.entries.remove(&key) else { return Written::NotFound };
        self.counts.n_deleted += u64::from(entry.is_of_packet);
        Written::Done
    }
}

/// One step of a random run.
#[derive(Clone, Debug)]
pub enum Step {
    Packets(Vec<Packet>),
    Clock(u64),
    Insert { table: usize, key: u16, value: u32, n: u32, timeout_ns: Option<u64> },
    Modify { table: usize, key: u16, value: u32, n: u32, timeout_ns: Option<u64> },
    Delete { table: usize, key: u16 },
    Default { table: usize, adds: bool },
    Timeout { table: usize, profile: u8, timeout_ns: u64 },
}

/// A random step; bursts have at most `n_burst` packets.
pub fn step(state: &mut u64, n_keys: u32, n_burst: u32) -> Step {
    let table = random(state, N_TABLES as u32) as usize;
    let key = random(state, n_keys) as u16;
    let (value, n) = (random(state, 1 << 30), random(state, 100));
    let timeout_ns = match random(state, 3) {
        0 => None,
        1 => Some(u64::from(1 + random(state, 40_000)) * MS),
        // Years.
        _ => Some(100 * 365 * 86_400 * 1000 * MS),
    };
    match random(state, 20) {
        0..=9 => {
            let n_packets = 1 + random(state, n_burst);
            let packet = |_| Packet {
                table: random(state, N_TABLES as u32) as u8,
                key: random(state, n_keys) as u16,
                value: random(state, 1 << 30),
                profile: [0, 1, 2, 7, 9, 255][random(state, 6) as usize],
                // Mostly adds, mostly restarts nothing.
                command: [0, 0, 0, 1, 2, 3, 4, 0][random(state, 8) as usize],
                found: 0,
                n: 0,
            };
            Step::Packets((0..n_packets).map(packet).collect())
        }
        10..=12 => Step::Clock(match random(state, 4) {
            0 => u64::from(random(state, 2_000_000)),
            1 => u64::from(random(state, 20)) * MS,
            2 => u64::from(random(state, 12_000)) * MS,
            _ => 10_000 * MS,
        }),
        13 | 14 => Step::Insert { table, key, value, n, timeout_ns },
        15 | 16 => Step::Modify { table, key, value, n, timeout_ns },
        17 => Step::Delete { table, key },
        18 => Step::Default { table, adds: random(state, 4) != 0 },
        _ => {
            let profile = [0, 1, 2, 7, 9, 255][random(state, 6) as usize];
            let timeout_ns = match random(state, 4) {
                0 => 0,
                1 => u64::from(1 + random(state, 1000)) * MS,
                2 => u64::from(1 + random(state, 60_000)) * MS,
                _ => 200 * 365 * 86_400 * 1000 * MS,
            };
            Step::Timeout { table, profile, timeout_ns }
        }
    }
}
