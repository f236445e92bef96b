//! Frames prepared ahead: a template for each size, a header for each flow.

use crate::pick::{FlowOrder, Picker};
use crate::range::{Mac, Ordinal, Range};
use crate::signature::{N_FLOWS_MAX, Payload, SIGNATURE_BYTES};
use crate::sizes::Sizes;
use crate::{FCS_BYTES, OptionsError, checksum, fill, layers};
use packet_io::PacketBuf;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const ETHERNET_BYTES: usize = 14;
const VLAN_BYTES: usize = 4;

/// The shortest Ethernet frame, with its check sequence.
const FRAME_BYTES_MIN: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    Udp,
    Tcp,
}

/// A VLAN tag (IEEE 802.1Q).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vlan {
    /// 0 to 4095.
    pub id: u16,
    /// 0 to 7.
    pub priority: u8,
}

/// Headers of the packets of a stream. Flows are numbered: consecutive flows take consecutive values of `dst_ip`, then of
/// `src_port`, `src_ip`, `dst_port`, `dst_mac` and `src_mac`, as digits of a number.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowOptions {
    /// At most [`N_FLOWS_MAX`], and at most the number of combinations that the ranges have.
    pub n_flows: u32,
    pub order: FlowOrder,
    /// Seed of random orders.
    pub seed: u64,
    pub src_mac: Range<Mac>,
    pub dst_mac: Range<Mac>,
    /// `dst_mac` is that of the flow's number and not a digit: each station has addresses of its own.
    pub has_stations: bool,
    pub vlan: Option<Vlan>,
    /// Both of one IP version.
    pub src_ip: Range<IpAddr>,
    pub dst_ip: Range<IpAddr>,
    pub protocol: Protocol,
    pub src_port: Range<u16>,
    pub dst_port: Range<u16>,
}

impl FlowOptions {
    /// One flow of UDP over IPv4 between addresses reserved for benchmarks (RFC 2544, appendix C.2.2) to the discard port.
    /// There is room for a million flows.
    pub fn ipv4() -> FlowOptions {
        let address = |c, d| IpAddr::V4(Ipv4Addr::new(198, c, 0, d));
        FlowOptions::between(address(18, 1), address(19, 1))
    }

    /// The like over IPv6, between addresses of RFC 5180.
    pub fn ipv6() -> FlowOptions {
        let address = |network| IpAddr::V6(Ipv6Addr::new(0x2001, 2, 0, network, 0, 0, 0, 1));
        FlowOptions::between(address(0), address(1))
    }

    fn between(src_ip: IpAddr, dst_ip: IpAddr) -> FlowOptions {
        let range = |first: IpAddr, n: u64| Range::new(first, first.plus(n - 1));
        FlowOptions {
            n_flows: 1,
            order: FlowOrder::RoundRobin,
            seed: 0,
            src_mac: Range::single(Mac([2, 0, 0, 0, 0, 1])),
            dst_mac: Range::single(Mac([2, 0, 0, 0, 0, 2])),
            has_stations: false,
            vlan: None,
            src_ip: range(src_ip, 64).unwrap_or(Range::single(src_ip)),
            dst_ip: Range::single(dst_ip),
            protocol: Protocol::Udp,
            src_port: Range::new(49_152, u16::MAX).unwrap_or(Range::single(49_152)),
            dst_port: Range::single(9),
        }
    }

    fn is_ipv6(&self) -> bool {
        self.src_ip.first().is_ipv6()
    }

    /// Number of different headers that the ranges allow.
    fn n_combinations(&self) -> u64 {
        let digits = [
            self.dst_ip.n(),
            self.src_port.n(),
            self.src_ip.n(),
            self.dst_port.n(),
            if self.has_stations { 1 } else { self.dst_mac.n() },
            self.src_mac.n(),
        ];
        digits.into_iter().fold(1, u64::saturating_mul)
    }

    /// Bytes of all headers.
    fn header_bytes(&self) -> usize {
        let l4 = match self.protocol {
            Protocol::Udp => 8,
            Protocol::Tcp => 20,
        };
        let vlan = if self.vlan.is_some() { VLAN_BYTES } else { 0 };
        ETHERNET_BYTES + vlan + if self.is_ipv6() { 40 } else { 20 } + l4
    }

    /// The shortest frame with these headers and a signature, with its check sequence.
    pub fn frame_bytes_min(&self) -> usize {
        (self.header_bytes() + SIGNATURE_BYTES + FCS_BYTES).max(FRAME_BYTES_MIN)
    }

    /// These headers in words, for messages.
    fn words(&self) -> String {
        let protocol = match self.protocol {
            Protocol::Udp => "UDP",
            Protocol::Tcp => "TCP",
        };
        let version = if self.is_ipv6() { "IPv6" } else { "IPv4" };
        let vlan = if self.vlan.is_some() { " with a VLAN tag" } else { "" };
        format!("{protocol} over {version}{vlan}")
    }

    fn check(&self, sizes: &Sizes) -> Result<(), OptionsError> {
        if self.src_ip.first().is_ipv4() != self.dst_ip.first().is_ipv4() {
            return Err(OptionsError("source and destination are of different IP versions".to_owned()));
        }
        let n_max = self.n_combinations().min(u64::from(N_FLOWS_MAX));
        if self.n_flows == 0 || u64::from(self.n_flows) > n_max {
            let why = match n_max < u64::from(N_FLOWS_MAX) {
                true => "the ranges of addresses and ports have no more combinations",
                false => "a signature has room for no more",
            };
            return Err(OptionsError(format!("{} flows: there can be 1 to {n_max}; {why}", self.n_flows)));
        }
        if self.vlan.is_some_and(|vlan| vlan.id > 0xfff || vlan.priority > 7) {
            return Err(OptionsError("a VLAN has a number up to 4095 and a priority up to 7".to_owned()));
        }
        let min = self.frame_bytes_min();
        match sizes.distinct().find(|size| *size < min) {
            Some(size) => Err(OptionsError(format!(
                "frames of {size} bytes are too short: {} with sequence number and time needs {min} bytes, with the \
                 4 bytes of the check sequence",
                self.words()
            ))),
            None => Ok(()),
        }
    }

    fn header(&self, flow: u32) -> FlowHeader {
        let mut rest = u64::from(flow);
        let mut digit = |n: u64| {
            let digit = rest % n;
            rest /= n;
            digit
        };
        let dst_ip = self.dst_ip.at(digit(self.dst_ip.n()));
        let src_port = self.src_port.at(digit(self.src_port.n()));
        let src_ip = self.src_ip.at(digit(self.src_ip.n()));
        let dst_port = self.dst_port.at(digit(self.dst_port.n()));
        let dst_mac = match self.has_stations {
            true => u64::from(flow) % self.dst_mac.n(),
            false => digit(self.dst_mac.n()),
        };
        let dst_mac = self.dst_mac.at(dst_mac);
        let src_mac = self.src_mac.at(digit(self.src_mac.n()));
        let mut header = FlowHeader::default();
        header.macs[..6].copy_from_slice(&dst_mac.0);
        header.macs[6..].copy_from_slice(&src_mac.0);
        let mut tuple = Vec::with_capacity(TUPLE_BYTES_MAX);
        for ip in [src_ip, dst_ip] {
            match ip {
                IpAddr::V4(ip) => tuple.extend(ip.octets()),
                IpAddr::V6(ip) => tuple.extend(ip.octets()),
            }
        }
        header.addresses_sum = checksum::fold(checksum::add(0, &tuple));
        for port in [src_port, dst_port] {
            tuple.extend(port.to_be_bytes());
        }
        header.tuple_sum = checksum::fold(checksum::add(0, &tuple));
        header.tuple[..tuple.len()].copy_from_slice(&tuple);
        header
    }
}

const TUPLE_BYTES_MAX: usize = 36;

/// Header fields of one flow: addresses and ports are contiguous in the frame.
#[derive(Clone, Debug)]
struct FlowHeader {
    macs: [u8; 12],
    tuple: [u8; TUPLE_BYTES_MAX],
    addresses_sum: u16,
    tuple_sum: u16,
}

impl Default for FlowHeader {
    fn default() -> FlowHeader {
        FlowHeader { macs: [0; 12], tuple: [0; TUPLE_BYTES_MAX], addresses_sum: 0, tuple_sum: 0 }
    }
}

/// A frame of one size without addresses and ports, and the sums of its bytes.
#[derive(Clone, Debug)]
struct Template {
    bytes: Vec<u8>,
    frame_bytes: usize,
    /// Place of the IPv4 header checksum, and the sum of the other words except for the addresses.
    ip_checksum: Option<(usize, u64)>,
    /// Place and sum of the UDP or TCP checksum, except for addresses and ports.
    l4_checksum_at: usize,
    l4_sum: u64,
}

fn put(bytes: &mut [u8], at: usize, word: u16) {
    bytes[at..at + 2].copy_from_slice(&word.to_be_bytes());
}

impl Template {
    fn new(flows: &FlowOptions, frame_bytes: usize) -> Template {
        let n_bytes = frame_bytes - FCS_BYTES;
        let mut bytes = vec![0; n_bytes];
        let mut at = 12;
        if let Some(vlan) = flows.vlan {
            put(&mut bytes, at, 0x8100);
            put(&mut bytes, at + 2, u16::from(vlan.priority) << 13 | vlan.id);
            at += VLAN_BYTES;
        }
        let ip_at = at + 2;
        let protocol = match flows.protocol {
            Protocol::Udp => layers::UDP,
            Protocol::Tcp => layers::TCP,
        };
        let l4_at = ip_at + if flows.is_ipv6() { 40 } else { 20 };
        let l4_bytes = n_bytes - l4_at;
        let ip_checksum = match flows.is_ipv6() {
            true => {
                put(&mut bytes, at, 0x86dd);
                bytes[ip_at] = 0x60;
                put(&mut bytes, ip_at + 4, l4_bytes as u16);
                (bytes[ip_at + 6], bytes[ip_at + 7]) = (protocol, 64);
                None
            }
            false => {
                put(&mut bytes, at, 0x0800);
                bytes[ip_at] = 0x45;
                put(&mut bytes, ip_at + 2, (n_bytes - ip_at) as u16);
                // Don't fragment.
                bytes[ip_at + 6] = 0x40;
                (bytes[ip_at + 8], bytes[ip_at + 9]) = (64, protocol);
                Some((ip_at + 10, checksum::add(0, &bytes[ip_at..l4_at])))
            }
        };
        let (payload_at, l4_checksum_at) = match flows.protocol {
            Protocol::Udp => {
                put(&mut bytes, l4_at + 4, l4_bytes as u16);
                (l4_at + 8, l4_at + 6)
            }
            Protocol::Tcp => {
                // A header of 20 bytes; ACK and PSH; the largest window.
                bytes[l4_at + 12..l4_at + 16].copy_from_slice(&[0x50, 0x18, 0xff, 0xff]);
                (l4_at + 20, l4_at + 16)
            }
        };
        let signature_at = n_bytes - SIGNATURE_BYTES;
        bytes[payload_at..signature_at].copy_from_slice(&fill::pattern(signature_at - payload_at));
        // Signatures add nothing to a sum.
        let l4_sum = checksum::add(u64::from(protocol) + l4_bytes as u64, &bytes[l4_at..signature_at]);
        Template { bytes, frame_bytes, ip_checksum, l4_checksum_at, l4_sum }
    }
}

/// All frames of a stream except for their signatures.
#[derive(Clone, Debug)]
pub(crate) struct Frames {
    content: Content,
    order: SizeOrder,
    n_flows: u32,
}

#[derive(Clone, Debug)]
enum Content {
    Templates {
        templates: Vec<Template>,
        /// Place of MAC addresses is 0.
        tuple_at: usize,
        tuple_bytes: usize,
        is_udp: bool,
        headers: Vec<FlowHeader>,
        picker: Picker,
    },
    Captured(Vec<CapturedFrame>),
}

/// A frame of a capture, with room for a signature at its end, and its flow.
#[derive(Clone, Debug)]
pub(crate) struct CapturedFrame {
    pub(crate) bytes: Vec<u8>,
    pub(crate) flow: u32,
}

/// Runs through the order of sizes, shifted by one after so many packets that the same flow would get the same size again.
#[derive(Clone, Debug)]
struct SizeOrder {
    order: Vec<usize>,
    at: usize,
    n_until_shift: u64,
    period: u64,
}

impl SizeOrder {
    fn new(order: Vec<usize>, n_flows: u32) -> SizeOrder {
        let (n, n_flows) = (order.len() as u64, u64::from(n_flows));
        let period = n / gcd(n, n_flows) * n_flows;
        SizeOrder { order, at: 0, n_until_shift: period, period }
    }

    #[inline]
    fn next(&mut self) -> usize {
        if self.order.len() == 1 {
            return self.order[0];
        }
        if self.n_until_shift == 0 {
            self.n_until_shift = self.period;
            self.at += 1;
        }
        self.n_until_shift -= 1;
        self.at = if self.at >= self.order.len() { self.at - self.order.len() } else { self.at };
        let i = self.order[self.at];
        self.at += 1;
        i
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// A frame that was written, except for its signature.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    pub(crate) flow: u32,
    /// With the check sequence.
    pub(crate) frame_bytes: usize,
    pub(crate) payload: Payload,
}

impl Frames {
    pub(crate) fn new(flows: &FlowOptions, sizes: &Sizes) -> Result<Frames, OptionsError> {
        flows.check(sizes)?;
        let vlan_bytes = if flows.vlan.is_some() { VLAN_BYTES } else { 0 };
        let (addresses_at, address_bytes) = if flows.is_ipv6() { (8, 32) } else { (12, 8) };
        Ok(Frames {
            content: Content::Templates {
                templates: sizes.distinct().map(|size| Template::new(flows, size)).collect(),
                tuple_at: ETHERNET_BYTES + vlan_bytes + addresses_at,
                tuple_bytes: address_bytes + 4,
                is_udp: flows.protocol == Protocol::Udp,
                headers: (0..flows.n_flows).map(|flow| flows.header(flow)).collect(),
                picker: Picker::new(flows.order, flows.n_flows, flows.seed),
            },
            order: SizeOrder::new(sizes.order(), flows.n_flows),
            n_flows: flows.n_flows,
        })
    }

    /// Sends the frames of a capture one after the other. There is at least one.
    pub(crate) fn captured(frames: Vec<CapturedFrame>, n_flows: u32) -> Frames {
        let order = SizeOrder::new((0..frames.len()).collect(), 1);
        Frames { content: Content::Captured(frames), order, n_flows }
    }

    pub(crate) fn n_flows(&self) -> u32 {
        self.n_flows
    }

    /// Length of the longest frame without its check sequence.
    pub(crate) fn data_bytes_max(&self) -> usize {
        let lengths: Vec<usize> = match &self.content {
            Content::Templates { templates, .. } => templates.iter().map(|t| t.bytes.len()).collect(),
            Content::Captured(frames) => frames.iter().map(|frame| frame.bytes.len()).collect(),
        };
        lengths.into_iter().max().unwrap_or(0)
    }

    /// Writes the next frame into an empty buffer. Returns `None` if it does not fit.
    #[inline]
    pub(crate) fn write_next(&mut self, buf: &mut PacketBuf) -> Option<Written> {
        let i = self.order.next();
        match &mut self.content {
            Content::Templates { templates, tuple_at, tuple_bytes, is_udp, headers, picker } => {
                let (flow, template) = (picker.next(), &templates[i]);
                let header = &headers[flow as usize];
                let bytes = buf.append(template.bytes.len())?;
                bytes.copy_from_slice(&template.bytes);
                bytes[..12].copy_from_slice(&header.macs);
                bytes[*tuple_at..][..*tuple_bytes].copy_from_slice(&header.tuple[..*tuple_bytes]);
                if let Some((at, sum)) = template.ip_checksum {
                    put(bytes, at, !checksum::fold(sum + u64::from(header.addresses_sum)));
                }
                let sum = !checksum::fold(template.l4_sum + u64::from(header.tuple_sum));
                // In UDP, 0 means that there is no checksum.
                put(bytes, template.l4_checksum_at, if sum == 0 && *is_udp { 0xffff } else { sum });
                Some(Written { flow, frame_bytes: template.frame_bytes, payload: Payload::Filled })
            }
            Content::Captured(frames) => {
                let frame = &frames[i];
                buf.append(frame.bytes.len())?.copy_from_slice(&frame.bytes);
                let frame_bytes = frame.bytes.len() + FCS_BYTES;
                Some(Written { flow: frame.flow, frame_bytes, payload: Payload::Other })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::Layers;
    use crate::signature::{Found, Signature};
    use std::collections::HashSet;

    fn frame(frames: &mut Frames) -> (Vec<u8>, Written) {
        let mut buf = PacketBuf::new(10_000, 0);
        let written = frames.write_next(&mut buf).unwrap();
        let signature = Signature {
            payload: written.payload,
            time_ns: 0x12_3456_789a,
            seq: 7,
            stream: 3,
            flow: written.flow,
            flow_seq: 1,
        };
        if let Some(place) = buf.data_mut().last_chunk_mut() {
            signature.write(place);
        }
        (buf.data().to_vec(), written)
    }

    #[test]
    fn frames_of_all_kinds_are_right() {
        let kinds = [FlowOptions::ipv4(), FlowOptions::ipv6()];
        for (kind, protocol, vlan) in kinds.iter().flat_map(|kind| {
            [Protocol::Udp, Protocol::Tcp].into_iter().flat_map(move |protocol| {
                [None, Some(Vlan { id: 5, priority: 3 })].into_iter().map(move |vlan| (kind, protocol, vlan))
            })
        }) {
            let flows = FlowOptions { n_flows: 100, protocol, vlan, ..kind.clone() };
            let min = flows.frame_bytes_min();
            let sizes: Sizes = format!("{min},{},1001,1518,9000", min + 1).parse().unwrap();
            let mut frames = Frames::new(&flows, &sizes).unwrap();
            assert_eq!(frames.data_bytes_max(), 8996);
            let mut tuples = HashSet::new();
            for _ in 0..500 {
                let (bytes, written) = frame(&mut frames);
                assert_eq!(bytes.len() + 4, written.frame_bytes);
                let layers = Layers::find(&bytes).unwrap();
                assert_eq!((layers.end, layers.is_ipv6), (bytes.len(), flows.is_ipv6()));
                assert!(layers.has_right_checksums(&bytes), "{flows:?}: {bytes:02x?}");
                assert!(fill::Checker::default().is_pattern(&bytes[layers.payload_at..bytes.len() - 18]));
                assert!(matches!(Signature::find(&bytes), Found::Valid(s) if s.flow == written.flow));
                tuples.insert(layers.tuple(&bytes));
            }
            assert_eq!(tuples.len(), 100);
        }
    }

    #[test]
    fn a_short_frame_byte_by_byte() {
        let mut frames = Frames::new(&FlowOptions::ipv4(), &Sizes::fixed(64)).unwrap();
        let (bytes, _) = frame(&mut frames);
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let expected = [
            "020000000002",
            "020000000001",
            "0800",                                     // Ethernet
            "4500002e000040004011ae97c6120001c6130001", // IPv4
            "c0000009001ab388",                         // UDP
            "5d16123456789a000000073000000001990b",     // signature
        ];
        assert_eq!(digits, expected.concat());
    }

    #[test]
    fn flows_count_through_the_ranges() {
        let flows = FlowOptions {
            n_flows: 12,
            dst_ip: "10.0.0.1-10.0.0.3".parse().unwrap(),
            src_port: "100-101".parse().unwrap(),
            src_ip: "10.1.0.1".parse().unwrap(),
            dst_mac: "02:00:00:00:00:10-02:00:00:00:00:11".parse().unwrap(),
            ..FlowOptions::ipv4()
        };
        let mut frames = Frames::new(&flows, &Sizes::fixed(64)).unwrap();
        let seen: Vec<(u8, u8, u8)> = (0..12)
            .map(|_| {
                let (bytes, _) = frame(&mut frames);
                (bytes[33], bytes[35], bytes[5])
            })
            .collect();
        assert_eq!(seen[..4], [(1, 100, 16), (2, 100, 16), (3, 100, 16), (1, 101, 16)]);
        assert_eq!(seen[6..8], [(1, 100, 17), (2, 100, 17)]);
        let stations = FlowOptions { n_flows: 6, has_stations: true, ..flows.clone() };
        let mut frames = Frames::new(&stations, &Sizes::fixed(64)).unwrap();
        let macs: Vec<u8> = (0..4).map(|_| frame(&mut frames).0[5]).collect();
        assert_eq!(macs, [16, 17, 16, 17]);
        let refused = |flows: FlowOptions, sizes: Sizes| Frames::new(&flows, &sizes).unwrap_err().to_string();
        let too_many = refused(FlowOptions { n_flows: 13, ..flows.clone() }, Sizes::fixed(64));
        assert!(too_many.contains("1 to 12; the ranges"), "{too_many}");
        let none = refused(FlowOptions { n_flows: 0, ..flows.clone() }, Sizes::fixed(64));
        assert!(none.contains("1 to 12"), "{none}");
        let short = refused(FlowOptions::ipv6(), Sizes::fixed(64));
        assert!(short.contains("UDP over IPv6") && short.contains("needs 84 bytes"), "{short}");
        let mixed = FlowOptions { dst_ip: "2001:2::1".parse().unwrap(), ..flows };
        assert!(refused(mixed, Sizes::fixed(100)).contains("different IP versions"));
    }

    #[test]
    fn each_flow_gets_each_size() {
        let flows = FlowOptions { n_flows: 12, ..FlowOptions::ipv4() };
        let mut frames = Frames::new(&flows, &Sizes::imix()).unwrap();
        let mut seen = HashSet::new();
        for _ in 0..12 {
            let lengths: Vec<usize> = (0..12)
                .map(|_| {
                    let (bytes, written) = frame(&mut frames);
                    seen.insert((written.flow, bytes.len()));
                    bytes.len()
                })
                .collect();
            let n = |len| lengths.iter().filter(|l| **l == len).count();
            assert_eq!((n(60), n(590), n(1514)), (7, 4, 1));
        }
        assert_eq!(seen.len(), 36);
    }
}
