//! One packet that goes from block to block.

use crate::abi;
use crate::instance::state::State;

/// In front of the bytes, for headers that are added.
const HEADROOM_BYTES: usize = 256;

/// The bytes of a packet, and what the program remembers of it.
#[derive(Clone, Debug)]
pub struct Packet {
    /// Room, the bytes, and room again.
    buffer: Vec<u8>,
    /// Offset of the packet's bytes in the buffer.
    start: usize,
    length: usize,
    /// For as many bytes from `start` on.
    room: usize,
    pub(crate) state: State,
    /// The port that externs see.
    pub(crate) ingress_port: u32,
    /// How far the parser has read.
    pub(crate) cursor_bits: u64,
    /// Bytes that the deparser wrote.
    pub(crate) emitted: Vec<u8>,
    /// Steps left of the budget.
    pub(crate) steps_left: u32,
}

impl Packet {
    /// `room` bytes can be from its beginning on, where that is more than there are.
    pub(crate) fn new(bytes: &[u8], room: usize, state: State, steps_left: u32) -> Packet {
        let mut packet = Packet {
            buffer: Vec::new(),
            start: 0,
            length: 0,
            room,
            state,
            ingress_port: 0,
            cursor_bits: 0,
            emitted: Vec::new(),
            steps_left,
        };
        packet.set_bytes(bytes);
        packet
    }

    /// The packet behind a deparser that has written `emitted`.
    pub(crate) fn with_emitted(self, emitted: Vec<u8>) -> Packet {
        Packet { emitted, ..self }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.buffer.get(self.start..self.start + self.length).unwrap_or_default()
    }

    pub(crate) fn set_bytes(&mut self, bytes: &[u8]) {
        self.buffer.clear();
        self.buffer.resize(HEADROOM_BYTES, 0);
        self.buffer.extend_from_slice(bytes);
        (self.start, self.length) = (HEADROOM_BYTES, bytes.len());
        self.buffer.resize(HEADROOM_BYTES + bytes.len().max(self.room), 0);
    }

    /// Takes over where the compiled program has put the bytes.
    pub(crate) fn move_to(&mut self, view: &abi::Packet) {
        let start = (view.data as usize).wrapping_sub(self.buffer.as_ptr() as usize);
        let length = view.length_bytes as usize;
        let fits = start.checked_add(length).is_some_and(|end| end <= self.buffer.len());
        debug_assert!(fits, "the program has put a packet outside of its buffer");
        if fits {
            (self.start, self.length) = (start, length);
        }
    }

    pub(crate) fn restart(&mut self) {
        self.state.clear();
        self.cursor_bits = 0;
        self.emitted.clear();
    }

    /// Returns the bytes that the parser has not read, from the next whole byte on.
    pub(crate) fn payload(&self) -> &[u8] {
        let from = usize::try_from(self.cursor_bits.div_ceil(8)).unwrap_or(usize::MAX);
        self.bytes().get(from..).unwrap_or_default()
    }

    /// For a call of the compiled program; points into the packet.
    pub(crate) fn view(&mut self) -> abi::Packet {
        let room = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        abi::Packet {
            // The pointer comes from the whole buffer: the program may write around the bytes.
            data: self.buffer.as_mut_ptr().wrapping_add(self.start),
            length_bytes: room(self.length),
            headroom_bytes: room(self.start),
            tailroom_bytes: room(self.buffer.len() - self.start - self.length),
            ingress_port: self.ingress_port,
            cursor_bits: self.cursor_bits,
            egress_port: abi::NO_PORT,
            verdict: abi::verdict::SEND,
            drop: 0,
            arrived_ns: 0,
            token: 0,
        }
    }
}
