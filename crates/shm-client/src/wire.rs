//! Positions and formats. All numbers are little-endian; the twin in C is `clients/c/siding_shm.c`.

use std::time::Duration;

pub const MAGIC: u64 = u64::from_le_bytes(*b"SIDINGSM");
pub const VERSION: u32 = 1;

/// Time that a consumer spins before it sleeps.
pub const SPIN: Duration = Duration::from_micros(20);

/// Cursors and flags of S.
pub const REQUEST_HEAD: usize = 64;
pub const COMPLETION_TAIL: usize = 128;
pub const ANSWER_TAIL: usize = 192;
pub const SERVER_SLEEPS: usize = 256;
/// Not 0 when the session has ended: its code, plus 1.
pub const ENDED: usize = 320;

/// Cursors and flags of C.
pub const REQUEST_TAIL: usize = 0;
pub const COMPLETION_HEAD: usize = 64;
pub const ANSWER_HEAD: usize = 128;
pub const CLIENT_SLEEPS: usize = 192;

const PAGE: usize = 4096;
/// Bytes of a request and of a completion.
pub const ENTRY_BYTES: usize = 64;

pub const N_REQUESTS: usize = 64;
pub const ANSWER_BYTES: usize = 1 << 20;
pub const N_SLOTS_DEFAULT: usize = 8;
pub const SLOT_BYTES_DEFAULT: usize = 512 << 10;
pub const N_SLOTS_MAX: usize = 64;
pub const SLOT_BYTES_MAX: usize = 1 << 30;

/// Sizes of a session, from which all positions follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    pub n_slots: usize,
    /// A multiple of 4096.
    pub slot_bytes: usize,
}

impl Default for Sizes {
    fn default() -> Sizes {
        Sizes { n_slots: N_SLOTS_DEFAULT, slot_bytes: SLOT_BYTES_DEFAULT }
    }
}

impl Sizes {
    pub fn is_valid(self) -> bool {
        (1..=N_SLOTS_MAX).contains(&self.n_slots)
            && (PAGE..=SLOT_BYTES_MAX).contains(&self.slot_bytes)
            && self.slot_bytes.is_multiple_of(PAGE)
    }

    /// Bytes of all slots together.
    pub fn slots_bytes(self) -> usize {
        self.n_slots * self.slot_bytes
    }

    /// Codes of the entries of one slot; no record is smaller than 8 bytes.
    pub fn codes_bytes(self) -> usize {
        self.slot_bytes / 8
    }

    // C
    pub fn requests_at(self) -> usize {
        PAGE
    }

    pub fn slots_at(self) -> usize {
        PAGE + N_REQUESTS * ENTRY_BYTES
    }

    pub fn c_bytes(self) -> usize {
        self.slots_at() + self.slots_bytes()
    }

    // S
    pub fn completions_at(self) -> usize {
        PAGE
    }

    pub fn answers_at(self) -> usize {
        PAGE + N_REQUESTS * ENTRY_BYTES
    }

    pub fn codes_at(self) -> usize {
        self.answers_at() + ANSWER_BYTES
    }

    pub fn s_bytes(self) -> usize {
        (self.codes_at() + self.n_slots * self.codes_bytes()).next_multiple_of(PAGE)
    }
}

/// Kinds of requests.
pub mod kind {
    /// Entries of one table as records.
    pub const RECORDS: u32 = 1;
    /// An encoded `p4.v1.WriteRequest`.
    pub const WRITE: u32 = 2;
    /// An encoded `p4.v1.ReadRequest`.
    pub const READ: u32 = 3;
    /// An encoded `p4.v1.StreamMessageRequest`.
    pub const STREAM: u32 = 4;
    /// Asks for the layout of one table, or of all.
    pub const LAYOUT: u32 = 5;
    /// Announces that entries are about to be inserted.
    pub const RESERVE: u32 = 6;
}

/// Kinds of answers.
pub mod answer {
    /// An encoded `google.rpc.Status` about a request that failed; number 0: about the session.
    pub const STATUS: u16 = 1;
    /// An encoded `p4.v1.ReadResponse`.
    pub const READ: u16 = 2;
    /// An encoded `p4.v1.StreamMessageResponse`.
    pub const STREAM: u16 = 3;
    /// Layouts of tables.
    pub const LAYOUT: u16 = 4;
    /// Set in the flags of a piece that is not the last of its message.
    pub const MORE: u16 = 1;
    pub const HEAD_BYTES: usize = 16;
}

/// Parts that records of a table may have besides key, action and parameters.
pub mod part {
    pub const IDLE_TIMEOUT: u32 = 1;
    pub const COUNT: u32 = 2;
    pub const RATES: u32 = 4;
    pub const ALL: u32 = 7;
}

/// Operations; the first three have the numbers of `p4.v1.Update.Type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    Insert = 1,
    Modify = 2,
    Delete = 3,
    /// Insert, or modify if the entry exists.
    Upsert = 4,
}

impl Op {
    pub fn of_number(number: u32) -> Option<Op> {
        [Op::Insert, Op::Modify, Op::Delete, Op::Upsert].into_iter().find(|op| *op as u32 == number)
    }
}

/// Set in `report`: the codes of all entries are written.
pub const REPORT_CODES: u32 = 1;
/// Set in `report`: the first entry that failed is described in a status.
pub const REPORT_TEXT: u32 = 2;

/// A request of a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Chosen by the client; the completion has it, too.
    pub number: u64,
    /// The program for which records were made.
    pub program: u64,
    /// The hash of the table's layout.
    pub hash: u64,
    /// Entries, or bytes of the message.
    pub n: u64,
    pub kind: u32,
    pub op: u32,
    pub table: u32,
    pub parts: u32,
    pub slot: u32,
    pub record_bytes: u32,
    pub report: u32,
}

fn halves(word: u64) -> (u32, u32) {
    (word as u32, (word >> 32) as u32)
}

fn both(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

impl Request {
    pub fn to_words(self) -> [u64; 8] {
        [
            self.number,
            self.program,
            self.hash,
            self.n,
            both(self.kind, self.op),
            both(self.table, self.parts),
            both(self.slot, self.record_bytes),
            both(self.report, 0),
        ]
    }

    pub fn of_words(words: [u64; 8]) -> Request {
        let [number, program, hash, n, kind_op, table_parts, slot_bytes, report] = words;
        let (kind, op) = halves(kind_op);
        let (table, parts) = halves(table_parts);
        let (slot, record_bytes) = halves(slot_bytes);
        let (report, _) = halves(report);
        Request { number, program, hash, n, kind, op, table, parts, slot, record_bytes, report }
    }
}

/// The outcome of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    pub number: u64,
    /// A canonical code. UNKNOWN: some entries have failed, as in P4Runtime.
    pub code: u32,
    /// A status about it is among the answers.
    pub has_status: bool,
    /// Entries that were looked at; 0 if the request failed as a whole.
    pub n: u64,
    pub n_failed: u64,
}

impl Completion {
    pub fn to_words(self) -> [u64; 8] {
        [self.number, both(self.code, self.has_status.into()), self.n, self.n_failed, 0, 0, 0, 0]
    }

    pub fn of_words(words: [u64; 8]) -> Completion {
        let (code, has_status) = halves(words[1]);
        Completion { number: words[0], code, has_status: has_status != 0, n: words[2], n_failed: words[3] }
    }
}

/// The first piece of a message of the answer ring: length, kind, flags and number of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    pub n_bytes: u32,
    pub kind: u16,
    pub flags: u16,
    pub number: u64,
}

impl Piece {
    pub fn to_words(self) -> [u64; 2] {
        let kind = u64::from(self.kind) << 32 | u64::from(self.flags) << 48;
        [u64::from(self.n_bytes) | kind, self.number]
    }

    pub fn of_words(words: [u64; 2]) -> Piece {
        let (n_bytes, kind) = halves(words[0]);
        Piece { n_bytes, kind: kind as u16, flags: (kind >> 16) as u16, number: words[1] }
    }

    /// Bytes that the piece takes in the ring.
    pub fn ring_bytes(self) -> usize {
        answer::HEAD_BYTES + (self.n_bytes as usize).next_multiple_of(8)
    }
}

/// The greeting of a client, followed by the name of its role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    pub version: u32,
    pub device_id: u64,
    pub election_id: Option<u128>,
    /// 0: as the switch likes.
    pub n_slots: u32,
    pub slot_bytes: u32,
    pub role_bytes: u32,
}

pub const HELLO_BYTES: usize = 64;
pub const ROLE_BYTES_MAX: usize = 1024;

impl Hello {
    pub fn to_bytes(self) -> [u8; HELLO_BYTES] {
        let id = self.election_id.unwrap_or_default();
        let words = [
            MAGIC,
            both(self.version, self.role_bytes),
            self.device_id,
            (id >> 64) as u64,
            id as u64,
            both(self.election_id.is_some().into(), 0),
            both(self.n_slots, self.slot_bytes),
            0,
        ];
        to_bytes(words)
    }

    /// `None` if it is no greeting.
    pub fn of_bytes(bytes: &[u8; HELLO_BYTES]) -> Option<Hello> {
        let words: [u64; 8] = of_bytes(bytes);
        let (version, role_bytes) = halves(words[1]);
        let (n_slots, slot_bytes) = halves(words[6]);
        let id = u128::from(words[3]) << 64 | u128::from(words[4]);
        (words[0] == MAGIC).then_some(Hello {
            version,
            device_id: words[2],
            election_id: (words[5] as u32 != 0).then_some(id),
            n_slots,
            slot_bytes,
            role_bytes,
        })
    }
}

/// The answer to a greeting, followed by a text; the descriptors of S and C come with it unless it refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Welcome {
    pub version: u32,
    /// Not 0: the client is refused.
    pub code: u32,
    /// The code of the arbitration: 0 for the primary.
    pub arbitration: u32,
    pub text_bytes: u32,
    pub sizes: Sizes,
}

pub const WELCOME_BYTES: usize = 128;

impl Welcome {
    pub fn to_bytes(self) -> [u8; WELCOME_BYTES] {
        let Sizes { n_slots, slot_bytes } = self.sizes;
        let of = |bytes: usize| bytes as u64;
        let words = [
            MAGIC,
            both(self.version, self.code),
            both(self.arbitration, self.text_bytes),
            both(n_slots as u32, slot_bytes as u32),
            both(N_REQUESTS as u32, ANSWER_BYTES as u32),
            of(self.sizes.s_bytes()),
            of(self.sizes.c_bytes()),
            of(self.sizes.requests_at()),
            of(self.sizes.slots_at()),
            of(self.sizes.completions_at()),
            of(self.sizes.answers_at()),
            of(self.sizes.codes_at()),
            of(self.sizes.codes_bytes()),
            0,
            0,
            0,
        ];
        to_bytes(words)
    }

    /// `None` if it is none, or has sizes or positions of another version.
    pub fn of_bytes(bytes: &[u8; WELCOME_BYTES]) -> Option<Welcome> {
        let words: [u64; 16] = of_bytes(bytes);
        let (version, code) = halves(words[1]);
        let (arbitration, text_bytes) = halves(words[2]);
        let (n_slots, slot_bytes) = halves(words[3]);
        let sizes = Sizes { n_slots: n_slots as usize, slot_bytes: slot_bytes as usize };
        let welcome = Welcome { version, code, arbitration, text_bytes, sizes };
        let is_good = words[0] == MAGIC && (code != 0 || sizes.is_valid() && welcome.to_bytes() == *bytes);
        is_good.then_some(welcome)
    }
}

fn to_bytes<const N: usize, const BYTES: usize>(words: [u64; N]) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    for (to, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
        *to = word.to_le_bytes();
    }
    bytes
}

fn of_bytes<const N: usize, const BYTES: usize>(bytes: &[u8; BYTES]) -> [u64; N] {
    let mut words = [0; N];
    for (word, from) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
        *word = u64::from_le_bytes(*from);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_read_as_they_are_written() {
        let request = Request {
            number: 1,
            program: 2,
            hash: 3,
            n: 4,
            kind: 5,
            op: 6,
            table: 7,
            parts: 8,
            slot: 9,
            record_bytes: 10,
            report: 11,
        };
        assert_eq!(Request::of_words(request.to_words()), request);
        let completion = Completion { number: 1, code: 2, has_status: true, n: 3, n_failed: 4 };
        assert_eq!(Completion::of_words(completion.to_words()), completion);
        let piece = Piece { n_bytes: 5, kind: 6, flags: 7, number: 8 };
        assert_eq!(Piece::of_words(piece.to_words()), piece);
        let hello = Hello {
            version: 1,
            device_id: 2,
            election_id: Some(3 << 64 | 4),
            n_slots: 5,
            slot_bytes: 6,
            role_bytes: 7,
        };
        assert_eq!(Hello::of_bytes(&hello.to_bytes()), Some(hello));
        let sizes = Sizes::default();
        let welcome = Welcome { version: 1, code: 0, arbitration: 3, text_bytes: 4, sizes };
        assert_eq!(Welcome::of_bytes(&welcome.to_bytes()), Some(welcome));
        assert_eq!(Welcome::of_bytes(&[0; WELCOME_BYTES]), None);
    }
}
