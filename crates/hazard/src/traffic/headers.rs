//! Flow fields in a packet's headers.

/// The fields that keys are made of; 0 where the packet has no such header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowFields {
    pub source: u128,
    pub destination: u128,
    /// 32 or 128; 0 when the packet is not IP.
    pub address_bits: u32,
    pub protocol: u8,
    /// Ports of TCP, UDP and SCTP. Only the first fragment of a packet has them.
    pub source_port: u16,
    pub destination_port: u16,
    pub ethernet_source: u64,
    pub ethernet_destination: u64,
    /// Behind VLAN tags.
    pub ether_type: u16,
    /// VLAN identifier of the outer tag.
    pub vlan: u16,
    pub differentiated_services: u8,
    /// Length of the IP packet by its header; 0 when the packet is not IP, or its header does not say.
    pub ip_len_bytes: u32,
}

const VLAN_TAGS_MAX: usize = 4;
const IPV6_EXTENSIONS_MAX: usize = 8;

/// Reads a frame as far as it goes: what was not captured counts as absent.
///
/// `link_type` is the capture's link type: 1 is Ethernet; 101, 228 and 229 are raw IP. Others have no fields.
#[inline]
pub fn flow_fields(frame: &[u8], link_type: u16) -> FlowFields {
    let mut fields = FlowFields::default();
    let _ = match link_type {
        1 => ethernet(frame, &mut fields),
        101 | 228 | 229 => match frame.first().map(|byte| byte >> 4) {
            Some(4) => ipv4(frame, &mut fields),
            Some(6) => ipv6(frame, &mut fields),
            _ => None,
        },
        _ => None,
    };
    fields
}

/// Big-endian bytes, if they are there.
#[inline]
fn bytes<const N: usize>(packet: &[u8], at: usize) -> Option<[u8; N]> {
    packet.get(at..)?.first_chunk::<N>().copied()
}

#[inline]
fn u16_at(packet: &[u8], at: usize) -> Option<u16> {
    bytes(packet, at).map(u16::from_be_bytes)
}

#[inline]
fn u32_at(packet: &[u8], at: usize) -> Option<u32> {
    bytes(packet, at).map(u32::from_be_bytes)
}

#[inline]
fn u48_at(packet: &[u8], at: usize) -> Option<u64> {
    Some(u64::from(u16_at(packet, at)?) << 32 | u64::from(u32_at(packet, at + 2)?))
}

#[inline]
fn ethernet(frame: &[u8], fields: &mut FlowFields) -> Option<()> {
    fields.ethernet_destination = u48_at(frame, 0)?;
    fields.ethernet_source = u48_at(frame, 6)?;
    let mut at = 12;
    let mut ether_type = u16_at(frame, at)?;
    for tag in 0..VLAN_TAGS_MAX {
        // IEEE 802.1Q: customer and service tags.
        if !matches!(ether_type, 0x8100 | 0x88a8) {
            break;
        }
        let vlan = u16_at(frame, at + 2)? & 0xfff;
        if tag == 0 {
            fields.vlan = vlan;
        }
        at += 4;
        ether_type = u16_at(frame, at)?;
    }
    fields.ether_type = ether_type;
    let packet = frame.get(at + 2..)?;
    match ether_type {
        0x0800 => ipv4(packet, fields),
        0x86dd => ipv6(packet, fields),
        _ => None,
    }
}

/// RFC 791.
#[inline]
fn ipv4(packet: &[u8], fields: &mut FlowFields) -> Option<()> {
    let Some(header) = packet.first_chunk::<20>() else {
        fields.differentiated_services = *packet.get(1)?;
        fields.source = u32_at(packet, 12)?.into();
        return None;
    };
    let word = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    fields.differentiated_services = header[1];
    fields.ip_len_bytes = word(0) & 0xffff;
    fields.protocol = header[9];
    fields.source = word(12).into();
    fields.destination = word(16).into();
    fields.address_bits = 32;
    let header_bytes = usize::from(header[0] & 0xf) * 4;
    let fragment_offset = word(4) & 0x1fff;
    if fragment_offset == 0 && header_bytes >= 20 {
        ports(packet.get(header_bytes..)?, fields)?;
    }
    Some(())
}

/// RFC 8200.
fn ipv6(packet: &[u8], fields: &mut FlowFields) -> Option<()> {
    fields.differentiated_services = (u16_at(packet, 0)? >> 4) as u8;
    fields.source = bytes(packet, 8).map(u128::from_be_bytes)?;
    fields.destination = bytes(packet, 24).map(u128::from_be_bytes)?;
    fields.address_bits = 128;
    // A payload of 0 is that of a jumbogram, whose length is in an option (RFC 2675).
    let payload_bytes = u16_at(packet, 4)?;
    fields.ip_len_bytes = if payload_bytes == 0 { 0 } else { 40 + u32::from(payload_bytes) };
    let mut next_header = *packet.get(6)?;
    let mut at = 40;
    for _ in 0..IPV6_EXTENSIONS_MAX {
        match next_header {
            // Hop-by-hop options, routing, destination options.
            0 | 43 | 60 => {
                next_header = *packet.get(at)?;
                at += (usize::from(*packet.get(at + 1)?) + 1) * 8;
            }
            // Fragment.
            44 => {
                next_header = *packet.get(at)?;
                if u16_at(packet, at + 2)? >> 3 != 0 {
                    fields.protocol = next_header;
                    return Some(());
                }
                at += 8;
            }
            _ => break,
        }
        fields.protocol = next_header;
    }
    fields.protocol = next_header;
    ports(packet.get(at..)?, fields)
}

#[inline]
fn ports(segment: &[u8], fields: &mut FlowFields) -> Option<()> {
    if matches!(fields.protocol, 6 | 17 | 132) {
        let both = u32_at(segment, 0)?;
        (fields.source_port, fields.destination_port) = ((both >> 16) as u16, both as u16);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(hex: &str) -> Vec<u8> {
        let digits: Vec<u32> = hex.chars().filter_map(|c| c.to_digit(16)).collect();
        digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect()
    }

    const ETHERNET: &str = "020000000002 020000000001";
    const IPV4_UDP: &str = "45b8 001c 0000 0000 40 11 0000 0a000001 c0a80102 1234 0035 0008 0000";

    #[test]
    fn ipv4_and_udp_behind_a_tag() {
        let fields = flow_fields(&frame(&format!("{ETHERNET} 8100 0064 0800 {IPV4_UDP}")), 1);
        assert_eq!((fields.source, fields.destination, fields.address_bits), (0x0a000001, 0xc0a80102, 32));
        assert_eq!((fields.protocol, fields.source_port, fields.destination_port), (17, 0x1234, 53));
        assert_eq!((fields.vlan, fields.ether_type, fields.differentiated_services), (100, 0x800, 0xb8));
        assert_eq!((fields.ethernet_source, fields.ip_len_bytes), (0x020000000001, 28));
        // The packet without its Ethernet header.
        let raw = flow_fields(&frame(IPV4_UDP), 101);
        assert_eq!((raw.source, raw.source_port, raw.ethernet_source), (0x0a000001, 0x1234, 0));
    }

    #[test]
    fn later_fragments_have_no_ports() {
        let fragment = "4500 001c 0000 0010 40 11 0000 0a000001 c0a80102 1234 0035 0008 0000";
        let fields = flow_fields(&frame(fragment), 101);
        assert_eq!((fields.protocol, fields.source_port), (17, 0));
    }

    #[test]
    fn ipv6_behind_options() {
        let packet = format!(
            "6ab00000 0014 00 40 {:032x} {:032x} 0600 0000 0000 0000 01bb c000 0000 0000 0000 0000",
            0x2001_0db8_0000_0001u128, 7
        );
        let fields = flow_fields(&frame(&packet), 229);
        assert_eq!((fields.source, fields.destination, fields.address_bits), (0x2001_0db8_0000_0001, 7, 128));
        assert_eq!((fields.protocol, fields.source_port, fields.destination_port), (6, 443, 0xc000));
        assert_eq!((fields.differentiated_services, fields.ip_len_bytes), (0xab, 60));
    }

    #[test]
    fn frames_that_end_early_do_no_harm() {
        let whole = frame(&format!("{ETHERNET} 8100 0064 0800 {IPV4_UDP}"));
        for n in 0..whole.len() {
            let fields = flow_fields(&whole[..n], 1);
            assert!(fields.source_port == 0 || n >= 42, "{n}");
        }
        assert_eq!(flow_fields(&whole, 147), FlowFields::default());
    }
}
