//! Finding the payload of UDP and TCP packets.

use crate::checksum;

pub(crate) const UDP: u8 = 17;
pub(crate) const TCP: u8 = 6;

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
const ETHERTYPES_VLAN: [u16; 2] = [0x8100, 0x88a8];

/// Places in a frame whose packet is UDP or TCP over IPv4 or IPv6, whole and not a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layers {
    pub(crate) is_ipv6: bool,
    /// The IP header.
    pub(crate) ip_at: usize,
    /// The IP addresses, which stand before the ports except for options.
    pub(crate) addresses_at: usize,
    pub(crate) protocol: u8,
    /// The UDP or TCP header.
    pub(crate) l4_at: usize,
    pub(crate) l4_checksum_at: usize,
    pub(crate) payload_at: usize,
    /// The end of the IP packet; padding may follow.
    pub(crate) end: usize,
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

impl Layers {
    pub(crate) fn find(frame: &[u8]) -> Option<Layers> {
        let mut type_at = 12;
        while ETHERTYPES_VLAN.contains(&word(frame, type_at)?) {
            type_at += 4;
        }
        let ip_at = type_at + 2;
        let (protocol, l4_at, end, is_ipv6) = match word(frame, type_at)? {
            ETHERTYPE_IPV4 => {
                let header_bytes = usize::from(frame.get(ip_at)? & 0xf) * 4;
                let is_fragment = word(frame, ip_at + 6)? & 0x3fff != 0;
                if frame[ip_at] >> 4 != 4 || header_bytes < 20 || is_fragment {
                    return None;
                }
                let end = ip_at + usize::from(word(frame, ip_at + 2)?);
                (*frame.get(ip_at + 9)?, ip_at + header_bytes, end, false)
            }
            ETHERTYPE_IPV6 => {
                let end = ip_at + 40 + usize::from(word(frame, ip_at + 4)?);
                (*frame.get(ip_at + 6)?, ip_at + 40, end, true)
            }
            _ => return None,
        };
        let (payload_at, l4_checksum_at) = match protocol {
            UDP => (l4_at + 8, l4_at + 6),
            TCP => (l4_at + usize::from(frame.get(l4_at + 12)? >> 4) * 4, l4_at + 16),
            _ => return None,
        };
        let header_end = l4_at + if protocol == UDP { 8 } else { 20 };
        let addresses_at = ip_at + if is_ipv6 { 8 } else { 12 };
        let is_whole = header_end <= payload_at && payload_at <= end && end <= frame.len();
        is_whole.then_some(Layers {
            is_ipv6,
            ip_at,
            addresses_at,
            protocol,
            l4_at,
            l4_checksum_at,
            payload_at,
            end,
        })
    }

    fn addresses<'a>(&self, frame: &'a [u8]) -> &'a [u8] {
        &frame[self.addresses_at..][..if self.is_ipv6 { 32 } else { 8 }]
    }

    /// Bytes that tell flows apart: addresses and ports.
    pub(crate) fn tuple(&self, frame: &[u8]) -> Vec<u8> {
        [self.addresses(frame), &frame[self.l4_at..][..4], &[self.protocol]].concat()
    }

    /// The sum of the pseudo header and the bytes that a UDP or TCP checksum covers, with the checksum.
    fn l4_sum(&self, frame: &[u8]) -> u64 {
        let pseudo = u64::from(self.protocol) + (self.end - self.l4_at) as u64;
        checksum::add(checksum::add(pseudo, self.addresses(frame)), &frame[self.l4_at..self.end])
    }

    /// Returns true if the checksums of IPv4 and of UDP or TCP are right, or UDP has none over IPv4.
    pub(crate) fn has_right_checksums(&self, frame: &[u8]) -> bool {
        let is_ip_right =
            self.is_ipv6 || checksum::fold(checksum::add(0, &frame[self.ip_at..self.l4_at])) == 0xffff;
        let has_none = self.protocol == UDP && !self.is_ipv6 && word(frame, self.l4_checksum_at) == Some(0);
        is_ip_right && (has_none || checksum::fold(self.l4_sum(frame)) == 0xffff)
    }

    /// Sets the checksum of UDP or TCP.
    pub(crate) fn set_l4_checksum(&self, frame: &mut [u8]) {
        frame[self.l4_checksum_at..][..2].fill(0);
        let sum = !checksum::fold(self.l4_sum(frame));
        let sum = if sum == 0 && self.protocol == UDP { 0xffff } else { sum };
        frame[self.l4_checksum_at..][..2].copy_from_slice(&sum.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_can_be_looked_at(
            mut bytes in prop::collection::vec(any::<u8>(), 0..120),
            ethertype in prop::sample::select(vec![0x0800u16, 0x86dd, 0x8100, 0x88a8, 0x0806]),
            protocol in prop::sample::select(vec![UDP, TCP, 1]),
        ) {
            if bytes.len() > 40 {
                bytes[12..14].copy_from_slice(&ethertype.to_be_bytes());
                bytes[14] = if ethertype == 0x86dd { 0x60 } else { 0x45 };
                let len = (bytes.len() - 14) as u16;
                bytes[16..18].copy_from_slice(&len.to_be_bytes());
                bytes[20..22].fill(0);
                bytes[if ethertype == 0x86dd { 20 } else { 23 }] = protocol;
            }
            if let Some(layers) = Layers::find(&bytes) {
                layers.has_right_checksums(&bytes);
                layers.tuple(&bytes);
                layers.set_l4_checksum(&mut bytes);
                prop_assert!(layers.payload_at <= layers.end && layers.end <= bytes.len());
                prop_assert_eq!(checksum::fold(layers.l4_sum(&bytes)), 0xffff);
            }
        }
    }
}
