//! The mark at the end of each generated packet: who sent it, in which order, and when.
//!
//! Layout, 18 bytes in network byte order, the last bytes of the frame before its check sequence:
//!
//! | bytes | field |
//! |---|---|
//! | 0..2 | magic; it says, too, if the payload before the signature is [the fill pattern](crate::fill) |
//! | 2..7 | time of sending: the lower 40 bits of nanoseconds of CLOCK_MONOTONIC, 18 minutes |
//! | 7..11 | sequence number in the stream, lower 32 bits |
//! | 11..14 | stream (4 bits), flow (20 bits) |
//! | 14..16 | sequence number in the flow, lower 16 bits |
//! | 16..18 | Internet checksum of the above |
//!
//! 18 bytes are the payload of a UDP packet over IPv4 in the shortest Ethernet frame. The checksum makes all signatures add
//! nothing to a UDP or TCP checksum, so that sequence numbers and times change without touching the headers.

use crate::checksum;

/// Length of a signature, which is the shortest payload.
pub const SIGNATURE_BYTES: usize = 18;

/// Number of streams.
pub const N_STREAMS_MAX: usize = 16;

/// Number of flows of a stream.
pub const N_FLOWS_MAX: u32 = 1 << 20;

const MAGIC_FILLED: [u8; 2] = [0x5d, 0x16];
const MAGIC_OTHER: [u8; 2] = [0x5d, 0x17];

/// Bits of the time of sending.
const TIME_BITS: u32 = 40;

/// The payload before a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    /// The fill pattern.
    Filled,
    /// Bytes of a capture.
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    pub payload: Payload,
    /// Nanoseconds of CLOCK_MONOTONIC, lower 40 bits.
    pub time_ns: u64,
    /// Sequence number in the stream, lower 32 bits.
    pub seq: u32,
    pub stream: u8,
    pub flow: u32,
    /// Sequence number in the flow, lower 16 bits.
    pub flow_seq: u16,
}

/// Result of looking for a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    Valid(Signature),
    /// The magic is there, but the checksum is wrong.
    Corrupted,
    Nothing,
}

impl Signature {
    /// Higher bits of times, flows and streams are cut off.
    pub fn write(&self, place: &mut [u8; SIGNATURE_BYTES]) {
        let magic = match self.payload {
            Payload::Filled => MAGIC_FILLED,
            Payload::Other => MAGIC_OTHER,
        };
        let origin = u32::from(self.stream) << 20 | self.flow & (N_FLOWS_MAX - 1);
        place[0..2].copy_from_slice(&magic);
        place[2..7].copy_from_slice(&self.time_ns.to_be_bytes()[3..]);
        place[7..11].copy_from_slice(&self.seq.to_be_bytes());
        place[11..14].copy_from_slice(&origin.to_be_bytes()[1..]);
        place[14..16].copy_from_slice(&self.flow_seq.to_be_bytes());
        let sum = checksum::fold(checksum::add(0, &place[..16]));
        place[16..18].copy_from_slice(&(!sum).to_be_bytes());
    }

    /// Looks for a signature at the end of the bytes.
    pub fn find(bytes: &[u8]) -> Found {
        let Some(place) = bytes.last_chunk::<SIGNATURE_BYTES>() else { return Found::Nothing };
        let payload = match [place[0], place[1]] {
            MAGIC_FILLED => Payload::Filled,
            MAGIC_OTHER => Payload::Other,
            _ => return Found::Nothing,
        };
        if checksum::fold(checksum::add(0, place)) != 0xffff {
            return Found::Corrupted;
        }
        let number = |at: std::ops::Range<usize>| place[at].iter().fold(0u64, |n, b| n << 8 | u64::from(*b));
        let origin = number(11..14) as u32;
        Found::Valid(Signature {
            payload,
            time_ns: number(2..7),
            seq: number(7..11) as u32,
            stream: (origin >> 20) as u8,
            flow: origin & (N_FLOWS_MAX - 1),
            flow_seq: number(14..16) as u16,
        })
    }

    /// Nanoseconds from sending until `now_ns`, 0 if the clock says that it is yet to be sent.
    pub fn age_ns(&self, now_ns: u64) -> u64 {
        let age = now_ns.wrapping_sub(self.time_ns) & ((1 << TIME_BITS) - 1);
        if age < 1 << (TIME_BITS - 1) { age } else { 0 }
    }

    /// Returns true if this was sent after a packet with the given time.
    pub(crate) fn is_sent_after(&self, time_ns: u64) -> bool {
        let later = self.time_ns.wrapping_sub(time_ns) & ((1 << TIME_BITS) - 1);
        later != 0 && later < 1 << (TIME_BITS - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn signature() -> impl Strategy<Value = Signature> {
        (any::<bool>(), 0..1u64 << 40, any::<u32>(), 0..16u8, 0..N_FLOWS_MAX, any::<u16>()).prop_map(
            |(is_filled, time_ns, seq, stream, flow, flow_seq)| {
                let payload = if is_filled { Payload::Filled } else { Payload::Other };
                Signature { payload, time_ns, seq, stream, flow, flow_seq }
            },
        )
    }

    proptest! {
        #[test]
        fn signatures_are_read_back_and_add_nothing_to_checksums(
            signature in signature(),
            before in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let mut place = [0; SIGNATURE_BYTES];
            signature.write(&mut place);
            let packet = [before.as_slice(), &place].concat();
            prop_assert_eq!(Signature::find(&packet), Found::Valid(signature));
            let sum = checksum::fold(checksum::add(0, &packet));
            let without = checksum::fold(checksum::add(0, &before));
            // 0 and 0xffff are the same number.
            prop_assert_eq!(sum % 0xffff, without % 0xffff);
        }

        #[test]
        fn a_changed_bit_is_found(signature in signature(), bit in 16..SIGNATURE_BYTES * 8) {
            let mut place = [0; SIGNATURE_BYTES];
            signature.write(&mut place);
            place[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(Signature::find(&place), Found::Corrupted);
        }
    }

    #[test]
    fn ages_survive_the_wrap_of_the_time() {
        let sent = |time_ns| Signature {
            payload: Payload::Filled,
            time_ns,
            seq: 0,
            stream: 0,
            flow: 0,
            flow_seq: 0,
        };
        assert_eq!(sent(5).age_ns(7), 2);
        assert_eq!(sent((1 << 40) - 1).age_ns((3 << 40) + 1), 2);
        assert_eq!(sent(7).age_ns(5), 0);
        assert!(
            sent(0).is_sent_after((1 << 40) - 1) && !sent(3).is_sent_after(3) && !sent(2).is_sent_after(3)
        );
        assert_eq!(Signature::find(&[0; 60]), Found::Nothing);
        assert_eq!(Signature::find(&[0x5d]), Found::Nothing);
    }
}
