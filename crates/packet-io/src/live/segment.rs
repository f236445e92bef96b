//! Segmentation of packets that the sender left to the hardware (TSO, USO), or that a receiver merged (GRO).

use super::offload::{self, GSO_ECN, GSO_TCPV4, GSO_TCPV6, GSO_UDP_L4, NEEDS_CSUM, VirtioNetHdr};

const ETHERNET_BYTES: usize = 14;
const IPV6_BYTES: usize = 40;
const TCP: u8 = 6;
const UDP: u8 = 17;

const FIN_AND_PSH: u8 = 0x09;
const CWR: u8 = 0x80;

/// The segments of a packet, in order.
#[derive(Debug)]
pub(super) struct Segments<'a> {
    headers: &'a [u8],
    payload: &'a [u8],
    /// Offset of the network layer's header.
    l3: usize,
    /// Offset of the transport layer's header.
    l4: usize,
    version: Version,
    transport: u8,
    payload_bytes_max: usize,
    /// Payload bytes of the segments written so far.
    n_done: usize,
    n_segments: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    Ipv4,
    Ipv6,
}

impl<'a> Segments<'a> {
    /// Returns `None` for packets other than TCP or UDP directly over IP over Ethernet, with or without VLAN
    /// tags: tunnels are not supported.
    pub(super) fn new(packet: &'a [u8], header: &VirtioNetHdr) -> Option<Segments<'a>> {
        if header.flags & NEEDS_CSUM == 0 || header.gso_size == 0 {
            return None;
        }
        let mut l3 = ETHERNET_BYTES;
        let version = loop {
            match u16_at(packet, l3 - 2)? {
                0x0800 => break Version::Ipv4,
                0x86dd => break Version::Ipv6,
                0x8100 | 0x88a8 => l3 += 4,
                _ => return None,
            }
        };
        let (l4, transport) = match version {
            Version::Ipv4 => {
                let header_bytes = usize::from(packet.get(l3)? & 0xf) * 4;
                (header_bytes >= 20).then_some((l3 + header_bytes, *packet.get(l3 + 9)?))?
            }
            Version::Ipv6 => ipv6_transport(packet, l3)?,
        };
        let expected = match header.gso_type & !GSO_ECN {
            GSO_TCPV4 => (Version::Ipv4, TCP),
            GSO_TCPV6 => (Version::Ipv6, TCP),
            GSO_UDP_L4 => (version, UDP),
            _ => return None,
        };
        let header_bytes = match transport {
            TCP => usize::from(packet.get(l4 + 12)? >> 4) * 4,
            _ => 8,
        };
        let is_whole = transport != TCP || header_bytes >= 20;
        let is_direct = l4 == usize::from(header.csum_start) && (version, transport) == expected;
        if !is_direct || !is_whole || packet.len() < l4 + header_bytes {
            return None;
        }
        let (headers, payload) = packet.split_at(l4 + header_bytes);
        let payload_bytes_max = usize::from(header.gso_size);
        if headers.len() - l3 + payload_bytes_max.min(payload.len()) > usize::from(u16::MAX) {
            return None;
        }
        let (n_done, n_segments) = (0, 0);
        Some(Segments { headers, payload, l3, l4, version, transport, payload_bytes_max, n_done, n_segments })
    }

    /// Returns the length of the next segment; `None` behind the last.
    pub(super) fn next_len(&self) -> Option<usize> {
        // A packet without payload is one segment.
        let is_done = self.n_segments > 0 && self.n_done >= self.payload.len();
        let rest = self.payload.len() - self.n_done;
        (!is_done).then(|| self.headers.len() + rest.min(self.payload_bytes_max))
    }

    /// Writes the next segment. The length of `out` must be [`Segments::next_len`].
    pub(super) fn write(&mut self, out: &mut [u8]) {
        let (headers, payload) = out.split_at_mut(self.headers.len());
        headers.copy_from_slice(self.headers);
        payload.copy_from_slice(&self.payload[self.n_done..][..payload.len()]);
        let is_first = self.n_segments == 0;
        let is_last = self.n_done + payload.len() >= self.payload.len();
        let l3_bytes = (out.len() - self.l3) as u16;
        let l4_bytes = out.len() - self.l4;

        let ip = &mut out[self.l3..];
        let addresses = match self.version {
            Version::Ipv4 => {
                put(ip, 2, l3_bytes);
                let id = u16::from_be_bytes([ip[4], ip[5]]).wrapping_add(self.n_segments);
                put(ip, 4, id);
                put(ip, 10, 0);
                let sum = offload::fold(offload::sum(&ip[..self.l4 - self.l3], 0));
                put(ip, 10, sum);
                12..20
            }
            Version::Ipv6 => {
                put(ip, 4, l3_bytes - IPV6_BYTES as u16);
                8..IPV6_BYTES
            }
        };
        // The pseudo header of RFC 9293, section 3.1, and RFC 8200, section 8.1.
        let pseudo = offload::sum(&ip[addresses], l4_bytes as u64 + u64::from(self.transport));
        let l4 = &mut out[self.l4..];
        let checksum_at = if self.transport == TCP {
            let sequence = u32::from_be_bytes([l4[4], l4[5], l4[6], l4[7]]).wrapping_add(self.n_done as u32);
            l4[4..8].copy_from_slice(&sequence.to_be_bytes());
            // Only the last segment ends or pushes the stream, only the first answers to congestion.
            l4[13] &= !(if is_last { 0 } else { FIN_AND_PSH } | if is_first { 0 } else { CWR });
            16
        } else {
            put(l4, 4, l4_bytes as u16);
            6
        };
        put(l4, checksum_at, 0);
        let sum = offload::finish(offload::sum(l4, pseudo));
        put(l4, checksum_at, sum);
        self.n_done += out.len() - self.headers.len();
        self.n_segments = self.n_segments.wrapping_add(1).max(1);
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
}

fn put(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// Returns offset and protocol of the transport header, behind any extension headers (RFC 8200, section 4).
fn ipv6_transport(packet: &[u8], l3: usize) -> Option<(usize, u8)> {
    let (mut next, mut at) = (*packet.get(l3 + 6)?, l3 + IPV6_BYTES);
    loop {
        match next {
            // Hop-by-hop options, routing, destination options.
            0 | 43 | 60 => {
                let len_bytes = (usize::from(*packet.get(at + 1)?) + 1) * 8;
                next = *packet.get(at)?;
                at += len_bytes;
            }
            transport => return Some((at, transport)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use proptest::prelude::*;

    proptest! {
        /// For any input, the segments carry the complete payload, or there are none.
        #[test]
        fn nothing_is_lost_or_invented(
            mut packet in prop::collection::vec(any::<u8>(), 0..300),
            is_ipv6: bool,
            header_bytes in 0u8..16,
            transport in prop::sample::select(&[TCP, UDP, 0, 43, 60, 99][..]),
            gso_type in prop::sample::select(&[GSO_TCPV4, GSO_TCPV6, GSO_UDP_L4, 3][..]),
            gso_size in 0..200u16,
            csum_start in prop::sample::select(&[34u16, 38, 54, 58, 62, 0, 299][..]),
        ) {
            let patches = [(12, [0x08, 0x86][usize::from(is_ipv6)]), (13, [0, 0xdd][usize::from(is_ipv6)])];
            let network = if is_ipv6 { [(14, 0x60), (20, transport)] } else { [(14, 0x40 | header_bytes), (23, transport)] };
            for (at, byte) in patches.into_iter().chain(network) {
                packet.get_mut(at).into_iter().for_each(|place| *place = byte);
            }
            let header = header(gso_type, gso_size, csum_start);
            if let Some(segments) = Segments::new(&packet, &header) {
                let (n_headers, payload) = (segments.headers.len(), segments.payload.to_vec());
                let cut = cut(&packet, &header);
                let longest = n_headers + usize::from(gso_size);
                prop_assert!(cut.iter().all(|s| s.len() <= longest));
                prop_assert_eq!(cut.iter().flat_map(|s| s[n_headers..].to_vec()).collect::<Vec<_>>(), payload);
            }
        }
    }

    const MACS: [u8; 12] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];

    fn payload(n_bytes: usize) -> Vec<u8> {
        (0..n_bytes).map(|i| (i * 11) as u8).collect()
    }

    fn ipv4(protocol: u8, l4: &[u8]) -> Vec<u8> {
        // With an option of 4 bytes; length and checksum are the segmenter's.
        let header =
            [0x46, 0, 0, 0, 0xff, 0xff, 0x40, 0, 64, protocol, 9, 9, 10, 0, 0, 1, 10, 0, 0, 2, 1, 1, 1, 0];
        [&MACS[..], &[8, 0], &header, l4].concat()
    }

    fn ipv6(next: u8, extensions: &[u8], l4: &[u8]) -> Vec<u8> {
        let mut header = vec![0x60, 0, 0, 0, 9, 9, next, 64];
        header.extend((0..32).map(|i| i * 3));
        // Inside a VLAN.
        [&MACS[..], &[0x81, 0, 0, 7, 0x86, 0xdd], &header, extensions, l4].concat()
    }

    fn tcp(flags: u8, payload: &[u8]) -> Vec<u8> {
        let header =
            [0, 80, 1, 0, 0xff, 0xff, 0xff, 0xf0, 1, 2, 3, 4, 0x60, flags, 5, 6, 9, 9, 0, 0, 1, 1, 1, 0];
        [&header[..], payload].concat()
    }

    fn header(gso_type: u8, gso_size: u16, csum_start: u16) -> VirtioNetHdr {
        VirtioNetHdr { flags: NEEDS_CSUM, gso_type, gso_size, csum_start, ..VirtioNetHdr::default() }
    }

    fn cut(packet: &[u8], header: &VirtioNetHdr) -> Vec<Vec<u8>> {
        let mut segments = Segments::new(packet, header).unwrap();
        let mut all = Vec::new();
        while let Some(len) = segments.next_len() {
            let mut out = vec![0xee; len];
            segments.write(&mut out);
            all.push(out);
        }
        all
    }

    /// Returns whether the checksum in `l4` is correct: the sum is then zero.
    fn is_right(l4: &[u8], addresses: &[u8], protocol: u8) -> bool {
        let sum = offload::sum(addresses, u64::from(protocol) + l4.len() as u64);
        offload::fold(offload::sum(l4, sum)) == 0
    }

    #[test]
    fn tcp_over_ipv4() {
        let data = payload(2500);
        let packet = ipv4(TCP, &tcp(FIN_AND_PSH | CWR | 0x10, &data));
        let segments = cut(&packet, &header(GSO_TCPV4 | GSO_ECN, 1000, 38));
        assert_eq!(segments.iter().map(Vec::len).collect::<Vec<_>>(), [1062, 1062, 562]);
        for (i, segment) in segments.iter().enumerate() {
            assert_eq!(segment[..14], packet[..14]);
            assert_eq!(usize::from(u16::from_be_bytes([segment[16], segment[17]])), segment.len() - 14);
            assert_eq!(u16::from_be_bytes([segment[18], segment[19]]), 0xffffu16.wrapping_add(i as u16));
            assert_eq!(offload::fold(offload::sum(&segment[14..38], 0)), 0);
            assert!(is_right(&segment[38..], &segment[26..34], TCP));
            let sequence = u32::from_be_bytes(segment[42..46].try_into().unwrap());
            assert_eq!(sequence, 0xffff_fff0u32.wrapping_add(1000 * i as u32));
            assert_eq!(segment[51], [CWR | 0x10, 0x10, FIN_AND_PSH | 0x10][i]);
            assert_eq!(segment[62..], data[1000 * i..][..segment.len() - 62]);
        }
    }

    #[test]
    fn tcp_over_ipv6_behind_options() {
        let data = payload(300);
        let options = [60, 0, 1, 4, 0, 0, 0, 0, TCP, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let packet = ipv6(0, &options, &tcp(0x10, &data));
        let segments = cut(&packet, &header(GSO_TCPV6, 100, 82));
        assert_eq!(segments.len(), 3);
        for (i, segment) in segments.iter().enumerate() {
            assert_eq!(usize::from(u16::from_be_bytes([segment[22], segment[23]])), segment.len() - 58);
            assert!(is_right(&segment[82..], &segment[26..58], TCP));
            assert_eq!(segment[58..82], options);
            assert_eq!(segment[106..], data[100 * i..][..100]);
        }
    }

    #[test]
    fn udp() {
        let data = payload(101);
        let udp = [&[0, 53, 1, 0, 9, 9, 9, 9][..], &data].concat();
        let segments = cut(&ipv4(UDP, &udp), &header(GSO_UDP_L4, 50, 38));
        assert_eq!(
            segments.iter().map(|s| s[42..44].to_vec()).collect::<Vec<_>>(),
            [[0, 58], [0, 58], [0, 9]]
        );
        assert!(segments.iter().all(|s| is_right(&s[38..], &s[26..34], UDP)));
        // Short enough already, and without any payload.
        assert_eq!(cut(&ipv4(UDP, &udp), &header(GSO_UDP_L4, 200, 38)).len(), 1);
        assert_eq!(cut(&ipv4(UDP, &udp[..8]), &header(GSO_UDP_L4, 200, 38)).len(), 1);
    }

    #[test]
    fn what_cannot_be_cut_is_refused_wherever_it_ends() {
        let packet = ipv4(TCP, &tcp(0x10, &payload(100)));
        let good = header(GSO_TCPV4, 10, 38);
        let refused = [
            VirtioNetHdr { flags: 0, ..good },
            VirtioNetHdr { gso_size: 0, ..good },
            VirtioNetHdr { gso_type: GSO_TCPV6, ..good },
            VirtioNetHdr { gso_type: GSO_UDP_L4, ..good },
            // UDP fragmentation, which the kernel no longer offers.
            VirtioNetHdr { gso_type: 3, ..good },
            // The transport of a tunnel.
            VirtioNetHdr { csum_start: 58, ..good },
        ];
        for header in refused {
            assert!(Segments::new(&packet, &header).is_none(), "{header:?}");
        }
        assert!(Segments::new(&packet, &good).is_some());
        let options = [TCP, 0, 1, 4, 0, 0, 0, 0];
        let long = ipv6(0, &options, &tcp(0x10, &payload(100)));
        for (packet, header) in
            [(packet, good), (long, VirtioNetHdr { gso_type: GSO_TCPV6, csum_start: 66, ..good })]
        {
            for n in 0..packet.len() {
                let headers = usize::from(header.csum_start) + 24;
                assert_eq!(Segments::new(&packet[..n], &header).is_some(), n >= headers, "{n}");
            }
        }
        // A segment that no length field could express.
        let huge = ipv4(TCP, &tcp(0x10, &payload(70_000)));
        assert!(Segments::new(&huge, &header(GSO_TCPV4, 65_500, 38)).is_none());
    }
}
