//! Packets that wait for offload workers: the one place that owns their buffers.

use crate::abi;
use packet_io::PacketStorage;

/// A slab of buffers. The index of a slot is the token that generated C carries with a packet ([`abi::Packet::token`]).
///
/// A slot is free, reserved for a packet of the burst under way, or holds the buffer of a suspended packet. A buffer in a slot is
/// shared with an offload worker: nothing but its address is used until [`take`](Self::take).
#[derive(Debug)]
pub(crate) struct SuspendedPackets<B: PacketStorage> {
    slots: Vec<Option<B>>,
    free: Vec<u32>,
    n_suspended: usize,
}

impl<B: PacketStorage> Default for SuspendedPackets<B> {
    fn default() -> SuspendedPackets<B> {
        SuspendedPackets { slots: Vec::new(), free: Vec::new(), n_suspended: 0 }
    }
}

/// An offload worker may still write to the buffers that it has not given back, so their memory is never freed.
impl<B: PacketStorage> Drop for SuspendedPackets<B> {
    fn drop(&mut self) {
        self.slots.drain(..).flatten().for_each(std::mem::forget);
    }
}

impl<B: PacketStorage> SuspendedPackets<B> {
    /// Packets that are suspended.
    pub(crate) fn len(&self) -> usize {
        self.n_suspended
    }

    /// A slot for a packet that may be suspended. It is [released](Self::release) or [filled](Self::suspend) afterwards.
    pub(crate) fn reserve(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() as u32 - 1
        })
    }

    /// The packet of a reserved slot was not suspended.
    pub(crate) fn release(&mut self, slot: u32) {
        debug_assert!(matches!(self.slots.get(slot as usize), Some(None)), "slot {slot} is not reserved");
        self.free.push(slot);
    }

    /// The packet of a reserved slot was suspended.
    pub(crate) fn suspend(&mut self, slot: u32, buffer: B) {
        match self.slots.get_mut(slot as usize) {
            Some(place @ None) => {
                *place = Some(buffer);
                self.n_suspended += 1;
            }
            Some(Some(_)) | None => {
                debug_assert!(false, "slot {slot} is not reserved");
                // Its packet is at an offload worker all the same.
                std::mem::forget(buffer);
            }
        }
    }

    /// The buffer of a packet that an offload worker has given back, whose bytes begin at `data`. `None` where the packet was not
    /// suspended here: then the buffer belongs to somebody else.
    pub(crate) fn take(&mut self, token: u64, data: *const u8) -> Option<B> {
        let slot = u32::try_from(token).ok()?;
        let place = self.slots.get_mut(slot as usize)?;
        let bytes = place.as_mut()?.raw_storage();
        let start = data.addr().checked_sub(bytes.cast::<u8>().addr())?;
        let buffer = place.take_if(|_| start <= bytes.len())?;
        self.free.push(slot);
        self.n_suspended -= 1;
        Some(buffer)
    }

    /// Gives up the packets that wait at asynchronous block `block`, with their buffers: an offload worker may still write to
    /// them. Gives their tokens.
    pub(crate) fn abandon(&mut self, block: usize) -> Vec<u32> {
        let mut tokens = Vec::new();
        for (slot, place) in (0..).zip(&mut self.slots) {
            if let Some(buffer) = place.take_if(|buffer| block_of(buffer) == Some(block)) {
                std::mem::forget(buffer);
                tokens.push(slot);
            }
        }
        self.free.extend(&tokens);
        self.n_suspended -= tokens.len();
        tokens
    }
}

/// The block at which a suspended packet waits; `None` for a buffer without room for a saved context.
fn block_of<B: PacketStorage>(buffer: &mut B) -> Option<usize> {
    let bytes = buffer.raw_storage();
    let first = bytes.cast::<u8>();
    let offset = first.align_offset(abi::SUSPENDED_ALIGN).checked_add(abi::SUSPENDED_POINT_AT)?;
    if offset.checked_add(size_of::<u32>())? > bytes.len() {
        return None;
    }
    // SAFETY: the bytes are inside of the buffer, which stays where it is (`PacketStorage`), and aligned as `struct sd_suspended`
    // is (rt/worker/sd_async.h), which is at the first aligned address of the buffer. The worker alone writes this member, before
    // it sends the packet; the offload worker only reads it.
    #[expect(unsafe_code, reason = "a member of a struct that generated C has written")]
    let point = unsafe { first.wrapping_add(offset).cast::<u32>().read() };
    Some(point as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn data(buffer: &mut Vec<u8>) -> *const u8 {
        buffer.raw_storage().cast::<u8>().cast_const()
    }

    #[test]
    fn a_slot_is_not_reused_while_its_packet_is_out() {
        let mut suspended = SuspendedPackets::default();
        let slots: BTreeSet<u32> = (0..4).map(|_| suspended.reserve()).collect();
        assert_eq!(slots, (0..4).collect());
        let mut at = Vec::new();
        for slot in [1, 3] {
            let mut buffer = vec![slot as u8; 64];
            at.push((slot, data(&mut buffer)));
            suspended.suspend(slot, buffer);
        }
        [0, 2].into_iter().for_each(|slot| suspended.release(slot));
        for _ in 0..3 {
            let again: Vec<u32> = (0..6).map(|_| suspended.reserve()).collect();
            assert!(again.iter().all(|slot| ![1, 3].contains(slot)), "{again:?}");
            assert_eq!(again.iter().collect::<BTreeSet<_>>().len(), 6);
            again.into_iter().for_each(|slot| suspended.release(slot));
        }
        assert_eq!(suspended.len(), 2);
        for (slot, data) in at {
            let buffer = suspended.take(u64::from(slot), data).unwrap();
            assert_eq!(buffer, vec![slot as u8; 64]);
            assert!(suspended.take(u64::from(slot), data).is_none());
        }
        assert_eq!((suspended.len(), suspended.free.len(), suspended.slots.len()), (0, 8, 8));
    }

    #[test]
    fn a_packet_of_another_owner_is_not_taken() {
        let mut suspended = SuspendedPackets::default();
        let slot = suspended.reserve();
        let (mut mine, mut other) = (vec![1u8; 64], vec![2u8; 64]);
        let (mine_at, other_at) = (data(&mut mine), data(&mut other));
        suspended.suspend(slot, mine);
        assert!(suspended.take(u64::from(slot), other_at).is_none());
        assert!(suspended.take(u64::from(slot) + 1, mine_at).is_none());
        assert!(suspended.take(u64::from(slot) + (1 << 32), mine_at).is_none());
        assert_eq!(suspended.len(), 1);
        assert_eq!(suspended.take(u64::from(slot), mine_at), Some(vec![1; 64]));
    }
}
