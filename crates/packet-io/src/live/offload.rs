//! Undoing offloads: completing checksums, inserting VLAN tags.

use crate::PacketBuf;

/// `struct virtio_net_hdr` in linux/virtio_net.h: precedes each packet of a socket with PACKET_VNET_HDR.
/// Numbers are in native byte order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(super) struct VirtioNetHdr {
    pub(super) flags: u8,
    pub(super) gso_type: u8,
    /// Length of the headers, not reliable.
    pub(super) hdr_len: u16,
    /// Payload bytes of each segment.
    pub(super) gso_size: u16,
    /// Offset of the first byte of the checksum's range.
    pub(super) csum_start: u16,
    /// Offset of the checksum field, relative to `csum_start`.
    pub(super) csum_offset: u16,
}

pub(super) const VNET_HDR_BYTES: usize = 10;
const _: () = assert!(size_of::<VirtioNetHdr>() == VNET_HDR_BYTES);

/// The checksum field holds only the sum of the pseudo header.
pub(super) const NEEDS_CSUM: u8 = 1;
pub(super) const GSO_NONE: u8 = 0;
pub(super) const GSO_TCPV4: u8 = 1;
pub(super) const GSO_TCPV6: u8 = 4;
pub(super) const GSO_UDP_L4: u8 = 5;
/// Flag in addition to a type: only the first segment has the CWR flag.
pub(super) const GSO_ECN: u8 = 0x80;

/// Offset of SCTP's checksum, which is a CRC.
const SCTP_CSUM_OFFSET: usize = 8;

/// Computes the checksum that the sender left to the hardware. Returns false if the header's offsets exceed
/// the packet.
#[must_use]
pub(super) fn complete_checksum(packet: &mut [u8], header: &VirtioNetHdr) -> bool {
    let (start, offset) = (usize::from(header.csum_start), usize::from(header.csum_offset));
    let Some(covered) = packet.get_mut(start..) else { return false };
    if offset == SCTP_CSUM_OFFSET {
        let Some(field) = covered.get_mut(offset..offset + 4) else { return false };
        field.fill(0);
        let crc = crc32c(covered);
        covered[offset..offset + 4].copy_from_slice(&crc.to_le_bytes());
        return true;
    }
    if covered.len() < offset + 2 {
        return false;
    }
    let sum = finish(sum(covered, 0));
    covered[offset..offset + 2].copy_from_slice(&sum.to_be_bytes());
    true
}

/// Completes the checksum of a TCP or UDP packet that has only the sum of the pseudo header in its place, as senders leave it to
/// hardware. Leaves all other packets alone, among them those whose checksum is right.
pub(super) fn complete_partial_checksum(packet: &mut [u8]) {
    if let Some(header) = partial_checksum(packet) {
        let is_complete = complete_checksum(packet, &header);
        debug_assert!(is_complete);
    }
}

/// Returns where the checksum goes, if it is not complete.
fn partial_checksum(packet: &[u8]) -> Option<VirtioNetHdr> {
    const TCP: u8 = 6;
    const UDP: u8 = 17;
    let mut l3 = 14;
    while matches!(packet.get(l3 - 2..l3)?, [0x81, 0x00] | [0x88, 0xa8]) {
        l3 += 4;
    }
    let ip = packet.get(l3..)?;
    let (protocol, addresses, header_bytes, end) = match packet.get(l3 - 2..l3)? {
        [0x08, 0x00] => {
            // Fragments have no checksum of their own.
            let is_whole = u16::from_be_bytes([*ip.get(6)?, *ip.get(7)?]) & 0x3fff == 0;
            let n_bytes = usize::from(u16::from_be_bytes([ip[2], ip[3]]));
            is_whole.then_some((*ip.get(9)?, ip.get(12..20)?, usize::from(ip[0] & 0xf) * 4, n_bytes))?
        }
        [0x86, 0xdd] => {
            let n_bytes = 40 + usize::from(u16::from_be_bytes([*ip.get(4)?, *ip.get(5)?]));
            (*ip.get(6)?, ip.get(8..40)?, 40, n_bytes)
        }
        _ => return None,
    };
    let csum_offset = match protocol {
        TCP => 16,
        UDP => 6,
        _ => return None,
    };
    // Padding behind the packet does not count.
    let covered = ip.get(header_bytes..end)?;
    let field = covered.get(csum_offset..csum_offset + 2)?;
    let pseudo = sum(addresses, covered.len() as u64 + u64::from(protocol));
    let is_partial = u16::from_be_bytes([field[0], field[1]]) == !fold(pseudo) && packet.len() == l3 + end;
    // A complete checksum can have that value by chance.
    (is_partial && fold(sum(covered, pseudo)) != 0).then_some(VirtioNetHdr {
        flags: NEEDS_CSUM,
        csum_start: (l3 + header_bytes) as u16,
        csum_offset: csum_offset as u16,
        ..VirtioNetHdr::default()
    })
}

/// Adds up 16-bit words (RFC 1071); an odd last byte counts as the upper half of a word.
pub(super) fn sum(bytes: &[u8], start: u64) -> u64 {
    let mut words = bytes.chunks_exact(4);
    let mut sum = start;
    for word in &mut words {
        // 2^16 is 1 modulo 2^16 - 1, so words of 32 bits add up to the same.
        sum += u64::from(u32::from_be_bytes([word[0], word[1], word[2], word[3]]));
    }
    let mut last = [0; 4];
    last[..words.remainder().len()].copy_from_slice(words.remainder());
    sum + u64::from(u32::from_be_bytes(last))
}

/// Folds a sum to an IPv4 checksum.
pub(super) fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Folds a sum to a transport checksum: never 0, which means "none" in UDP and equals 0xffff elsewhere.
pub(super) fn finish(sum: u64) -> u16 {
    match fold(sum) {
        0 => 0xffff,
        sum => sum,
    }
}

/// CRC-32C, reflected (RFC 9260, appendix A). Computed bit by bit, because SCTP is rare.
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0x82f6_3b78 & (crc & 1).wrapping_neg()))
    })
}

/// A tag that the kernel or the hardware removed from the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct VlanTag {
    pub(super) tpid: u16,
    pub(super) tci: u16,
}

const MAC_ADDRESSES_BYTES: usize = 12;

/// Inserts a tag behind the addresses. Returns false if the addresses are missing or the headroom is too
/// small.
#[must_use]
pub(super) fn insert_vlan(buf: &mut PacketBuf, tag: VlanTag) -> bool {
    if buf.len() < MAC_ADDRESSES_BYTES || buf.prepend(4).is_none() {
        return false;
    }
    let data = buf.data_mut();
    data.copy_within(4..4 + MAC_ADDRESSES_BYTES, 0);
    data[12..14].copy_from_slice(&tag.tpid.to_be_bytes());
    data[14..16].copy_from_slice(&tag.tci.to_be_bytes());
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_the_rfc() {
        // RFC 1071, section 3.
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(finish(sum(&bytes, 0)), !0xddf2);
        assert_eq!(finish(sum(&bytes[..7], 0)), !0xdcfb);
        assert_eq!(finish(sum(&[0xff, 0xff], 0)), 0xffff);
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }

    /// A UDP datagram over IPv4 behind a VLAN tag, with this checksum.
    fn datagram(checksum: u16, payload: &[u8]) -> Vec<u8> {
        let n_bytes = 28 + payload.len() as u16;
        let mut packet = vec![2; 12];
        packet.extend([0x81, 0, 0, 7, 0x08, 0, 0x45, 0]);
        packet.extend(n_bytes.to_be_bytes());
        packet.extend([0, 1, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 1, 0, 2]);
        packet.extend((n_bytes - 20).to_be_bytes());
        packet.extend(checksum.to_be_bytes());
        packet.extend(payload);
        packet
    }

    #[test]
    fn only_partial_checksums_are_completed() {
        let payload = [1, 2, 3, 4, 5];
        let pseudo = !fold(sum(&[10, 0, 0, 1, 10, 0, 0, 2], 17 + 13));
        let mut partial = datagram(pseudo, &payload);
        complete_partial_checksum(&mut partial);
        let complete = u16::from_be_bytes([partial[44], partial[45]]);
        assert_eq!(partial, datagram(complete, &payload));
        assert_eq!(fold(sum(&partial[38..], sum(&partial[30..38], 17 + 13))), 0);
        // A packet stays if its checksum is complete, missing or wrong, or if it is a fragment.
        let mut fragment = datagram(pseudo, &payload);
        fragment[24] = 0x20;
        let mut padded = datagram(pseudo, &payload);
        padded.push(0);
        for before in [partial, datagram(0, &payload), datagram(pseudo ^ 1, &payload), fragment, padded] {
            let mut after = before.clone();
            complete_partial_checksum(&mut after);
            assert_eq!(after, before);
        }
        // Wherever a packet ends.
        let whole = datagram(pseudo, &payload);
        for n_bytes in 0..whole.len() {
            let mut cut = whole[..n_bytes].to_vec();
            complete_partial_checksum(&mut cut);
            assert_eq!(cut, whole[..n_bytes]);
        }
    }

    #[test]
    fn checksums_are_completed_in_their_place() {
        let header = VirtioNetHdr { flags: NEEDS_CSUM, csum_start: 3, csum_offset: 6, ..Default::default() };
        // A UDP datagram: ports 1 and 2, length 9, the sum of a pseudo header, one byte.
        let mut packet = [9, 9, 9, 0, 1, 0, 2, 0, 9, 0x12, 0x34, 0xab];
        assert!(complete_checksum(&mut packet, &header));
        let sum = !(1 + 2 + 9 + 0x1234 + 0xab00u16);
        assert_eq!(packet, [9, 9, 9, 0, 1, 0, 2, 0, 9, (sum >> 8) as u8, sum as u8, 0xab]);
        for (csum_start, csum_offset) in [(5, 6), (13, 0), (0, 11), (u16::MAX, u16::MAX), (2, 8)] {
            let before = packet;
            let header = VirtioNetHdr { csum_start, csum_offset, ..header };
            assert!(!complete_checksum(&mut packet, &header), "{header:?}");
            assert_eq!(packet, before);
        }
    }

    #[test]
    fn tags_go_behind_the_addresses() {
        let mut buf = PacketBuf::new(64, 4);
        assert!(buf.set_data(&[1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 8, 0, 5]));
        let tag = VlanTag { tpid: 0x88a8, tci: 0x2064 };
        assert!(insert_vlan(&mut buf, tag));
        assert_eq!(buf.data(), [1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 0x88, 0xa8, 0x20, 0x64, 8, 0, 5]);
        assert!(!insert_vlan(&mut buf, tag), "no headroom is left");
    }
}
