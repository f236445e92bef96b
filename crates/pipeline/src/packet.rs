//! One packet that goes from block to block.

use crate::abi;
use crate::state::State;

/// In front of the bytes, for headers that are added.
const HEADROOM_BYTES: usize = 256;

/// The bytes of a packet, and what the program remembers of it.
#[derive(Clone, Debug)]
pub struct Packet {
    /// Headroom and the bytes that arrived.
    buffer: Vec<u8>,
    pub(crate) state: State,
    /// How far the parser has read.
    pub(crate) cursor_bits: u64,
    /// What the deparser wrote.
    pub(crate) emitted: Vec<u8>,
    /// What is left of the budget.
    pub(crate) steps_left: u32,
}

impl Packet {
    pub(crate) fn new(bytes: &[u8], state: State, steps_left: u32) -> Packet {
        let mut packet =
            Packet { buffer: Vec::new(), state, cursor_bits: 0, emitted: Vec::new(), steps_left };
        packet.set_bytes(bytes);
        packet
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.buffer.get(HEADROOM_BYTES..).unwrap_or_default()
    }

    pub(crate) fn set_bytes(&mut self, bytes: &[u8]) {
        self.buffer.clear();
        self.buffer.resize(HEADROOM_BYTES, 0);
        self.buffer.extend_from_slice(bytes);
    }

    pub(crate) fn restart(&mut self) {
        self.state.clear();
        self.cursor_bits = 0;
        self.emitted.clear();
    }

    /// What the parser has not read, from the next whole byte on.
    pub(crate) fn payload(&self) -> &[u8] {
        let from = usize::try_from(self.cursor_bits.div_ceil(8)).unwrap_or(usize::MAX);
        self.bytes().get(from..).unwrap_or_default()
    }

    /// For a call of the compiled program; points into the packet.
    pub(crate) fn view(&mut self) -> abi::Packet {
        let length = self.bytes().len();
        abi::Packet {
            // Of the whole buffer: the program may write in front of the bytes.
            data: self.buffer.as_mut_ptr().wrapping_add(HEADROOM_BYTES),
            length_bytes: u32::try_from(length).unwrap_or(u32::MAX),
            headroom_bytes: HEADROOM_BYTES as u32,
            cursor_bits: self.cursor_bits,
            ingress_port: 0,
            egress_port: abi::NO_PORT,
            verdict: abi::verdict::SEND,
            drop: 0,
            arrived_ns: 0,
        }
    }
}
