//! Table entries of the measured programs, and the packets that hit them: equal on every run.

/// Entries and packets for the measurement of a program.
pub struct Scene {
    /// Entries, as a script of STF.
    pub entries: String,
    /// Ports and packets; in this order, again and again, all of them are sent.
    pub packets: Vec<(u32, Vec<u8>)>,
}

/// Packets that are there at once: they stay in the caches near the core.
const PACKETS: u32 = 2048;

/// Pseudo-random numbers: a step of SplitMix64 (Steele, Lea, Flood 2014), of which the upper half counts.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub fn below(&mut self, limit: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((((z ^ (z >> 31)) >> 32) * u64::from(limit)) >> 32) as u32
    }
}

/// RFC 1071.
pub fn checksum(bytes: &[u8]) -> u16 {
    let words =
        bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |b| u32::from(*b)));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

pub fn ethernet(ether_type: u16, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0x99];
    packet.extend(ether_type.to_be_bytes());
    packet.extend(payload);
    packet.resize(packet.len().max(64), 0);
    packet
}

pub fn ipv4(source: u32, destination: u32, protocol: u8, dscp: u8, payload: &[u8]) -> Vec<u8> {
    let mut header = vec![0x45, dscp << 2];
    header.extend((20 + payload.len() as u16).to_be_bytes());
    header.extend([0, 0, 0, 0, 64, protocol, 0, 0]);
    header.extend(source.to_be_bytes());
    header.extend(destination.to_be_bytes());
    let sum = checksum(&header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    header.extend(payload);
    header
}

pub fn udp(source: u16, destination: u16, payload: &[u8]) -> Vec<u8> {
    let mut datagram = [source, destination, 8 + payload.len() as u16, 0].map(u16::to_be_bytes).concat();
    datagram.extend(payload);
    datagram
}

fn ipv6(source: u128, destination: u128, next_header: u8, payload: &[u8]) -> Vec<u8> {
    let mut header = vec![0x60, 0, 0, 0];
    header.extend((payload.len() as u16).to_be_bytes());
    header.extend([next_header, 64]);
    header.extend(source.to_be_bytes());
    header.extend(destination.to_be_bytes());
    header.extend(payload);
    header
}

const UDP: u8 = 17;
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;

/// Stations of a switch; packets go from one to another at random, of so many that they come to most entries.
pub fn l2(n_stations: u32) -> Scene {
    let address = |i: u32| 0x0200_0000_0000_u64 + u64::from(i);
    let mut entries = String::new();
    for i in 0..n_stations {
        entries += &format!("add L2Ingress.smac hdr.ethernet.srcAddr:{:#x} NoAction()\n", address(i));
        entries += &format!(
            "add L2Ingress.dmac hdr.ethernet.dstAddr:{:#x} L2Ingress.forward(port:{})\n",
            address(i),
            i % 8
        );
    }
    let mut random = Random(1);
    let packets = (0..PACKETS.max(n_stations.min(1 << 16))).map(|_| {
        let mut packet = Vec::new();
        for _ in 0..2 {
            packet.extend(&address(random.below(n_stations)).to_be_bytes()[2..]);
        }
        packet.extend(IPV4.to_be_bytes());
        packet.resize(64, 0);
        (random.below(8), packet)
    });
    Scene { packets: packets.collect(), entries }
}

/// Ten thousand routes, a thousand next hops, five hundred rules that say no to others.
pub fn l3_router() -> Scene {
    const ROUTES: u32 = 10_000;
    let mut entries = String::new();
    for i in 0..1000 {
        entries += &format!(
            "add next_hops next_hop:{i} forward(port:{}, source:0x020000000001, destination:{:#x})\n",
            i % 32,
            0x0200_0001_0000_u64 + i
        );
    }
    for i in 0..ROUTES {
        let network = 0x0a00_0000 + (i << 8);
        entries += &format!("add routes destination:{network:#x}/24 to_next_hop(next_hop:{})\n", i % 1000);
    }
    entries += &denied("access_list", "port");
    let mut random = Random(1);
    let packets = (0..PACKETS).map(|_| {
        let destination = 0x0a00_0000 + (random.below(ROUTES) << 8) + random.below(256);
        let payload = udp(random.below(65536) as u16, 53, &[0; 22]);
        (
            random.below(32),
            ethernet(IPV4, &ipv4(0xc0a8_0000 + random.below(65536), destination, UDP, 0, &payload)),
        )
    });
    Scene { packets: packets.collect(), entries }
}

/// Five hundred rules about networks from which nothing comes.
fn denied(table: &str, port: &str) -> String {
    let rule = |i: u32| {
        let (source, mask) = (0xac10_0000 + (i << 8), "0xffffff00");
        format!("add {table} {} source:{source:#x}&&&{mask} protocol:6 {port}:{} deny()\n", i + 1, 1000 + i)
    };
    (0..500).map(rule).collect()
}

/// A thousand segments of each kind; packets by turns at End, and at End.DX4.
pub fn srv6() -> Scene {
    const SEGMENTS: u32 = 1000;
    let segment = |block: u128, i: u32| 0xfc00_u128 << 112 | block << 96 | u128::from(i) << 64 | 1;
    let mut entries = String::new();
    for i in 0..SEGMENTS {
        let (end, dx4, route) = (segment(1, i), segment(2, i), segment(3, i) - 1);
        let neighbour =
            format!("port:{}, source:0x020000000001, destination:{:#x}", i % 32, 0x0200_0001_0000_u64);
        entries += &format!("add local_segments destination:{end:#x} end()\n");
        entries += &format!("add local_segments destination:{dx4:#x} end_dx4({neighbour})\n");
        entries += &format!("add routes destination:{route:#x}/64 forward({neighbour})\n");
    }
    let mut random = Random(2);
    let packets = (0..PACKETS).map(|i| {
        let (at, next) = (random.below(SEGMENTS), random.below(SEGMENTS));
        let inner = ipv4(0x0a00_0001, 0x0a00_0002, UDP, 0, &udp(1, 2, &[0; 22]));
        let (segments, left) = match i % 2 {
            0 => ([segment(3, next), segment(1, at)], 1),
            _ => ([segment(2, at), segment(1, next)], 0),
        };
        let destination = if left == 1 { segment(1, at) } else { segment(2, at) };
        let mut routing = vec![4, 4, 4, left, 1, 0, 0, 0];
        routing.extend(segments.iter().flat_map(|s| s.to_be_bytes()));
        routing.extend(inner);
        (random.below(32), ethernet(IPV6, &ipv6(segment(9, 9), destination, 43, &routing)))
    });
    Scene { packets: packets.collect(), entries }
}

/// Ten thousand phones, packets to and from them by turns.
pub fn gtpu() -> Scene {
    const PHONES: u32 = 10_000;
    const GATEWAY: u32 = 0xc000_0201;
    const STATIONS: u32 = 0xc612_0000;
    let mut entries = String::new();
    for i in 0..PHONES {
        let (phone, station) = (0x0a2d_0000 + i, STATIONS + i % 256);
        entries +=
            &format!("add uplink teid:{} gateway:{GATEWAY:#x} decapsulate(session:{i})\n", 0x1_0000 + i);
        entries += &format!(
            "add downlink phone:{phone:#x} \
             encapsulate(session:{i}, teid:{i}, gateway:{GATEWAY:#x}, station:{station:#x})\n"
        );
    }
    let neighbour = "source:0x020000000001, destination:0x0200000000aa";
    entries += &format!("add routes towards:{STATIONS:#x}/16 forward(port:1, {neighbour})\n");
    entries += &format!("add routes towards:0x08000000/8 forward(port:2, {neighbour})\n");
    let mut random = Random(3);
    let packets = (0..PACKETS).map(|i| {
        let n = random.below(PHONES);
        let (phone, server) = (0x0a2d_0000 + n, 0x0808_0808);
        if i % 2 == 0 {
            return (2, ethernet(IPV4, &ipv4(server, phone, UDP, 0, &udp(53, 5000, &[0; 22]))));
        }
        let inner = ipv4(phone, server, UDP, 0, &udp(5000, 53, &[0; 22]));
        let mut tunnel = vec![0x30, 255];
        tunnel.extend((inner.len() as u16).to_be_bytes());
        tunnel.extend((0x1_0000 + n).to_be_bytes());
        tunnel.extend(inner);
        (1, ethernet(IPV4, &ipv4(STATIONS + n % 256, GATEWAY, UDP, 0, &udp(2152, 2152, &tunnel))))
    });
    Scene { packets: packets.collect(), entries }
}

/// Packets by turns out, and back in as answers.
pub fn firewall() -> Scene {
    let neighbour = "source:0x020000000001, destination:0x0200000000aa";
    let entries = format!(
        "add sides port:1 from_inside()\nadd routes destination:0x0a000000/8 forward(port:1, {neighbour})\n\
         add routes destination:0x00000000/0 forward(port:2, {neighbour})\n"
    );
    let mut random = Random(4);
    let packets = (0..PACKETS / 2).flat_map(|_| {
        let (inside, outside) = (0x0a00_0000 + random.below(65536), 0xc633_6400 + random.below(256));
        let port = 1024 + random.below(60_000) as u16;
        let asked = ipv4(inside, outside, UDP, 0, &udp(port, 443, &[0; 22]));
        let answered = ipv4(outside, inside, UDP, 0, &udp(443, port, &[0; 22]));
        [(1, ethernet(IPV4, &asked)), (2, ethernet(IPV4, &answered))]
    });
    Scene { packets: packets.collect(), entries }
}

/// 32 ports, four virtual routers, ten thousand routes, of which a quarter go over groups, five hundred rules.
pub fn sai() -> Scene {
    const PORTS: u32 = 32;
    const ROUTES: u32 = 10_000;
    const NEXT_HOPS: u32 = 1024;
    let mut entries = String::new();
    for port in 0..PORTS {
        let (vlan, vrf) = (100 + port, 1 + port % 4);
        entries += &format!("add ports port:{port} set_port(port_class:{port}, vlan:{vlan})\n");
        entries += &format!("add vlans vlan:{vlan} NoAction()\n");
        entries += &format!("add vlan_members port:{port} vlan:{vlan} NoAction()\n");
        entries += &format!("add spanning_tree port:{port} vlan:{vlan} NoAction()\n");
        entries += &format!(
            "add interfaces port:{port} vlan:{vlan} set_interface(interface:{port}, interface_class:1)\n"
        );
        entries += &format!("add interface_vrf interface:{port} set_vrf(vrf:{vrf})\n");
        entries += &format!("add egress_ports port:{port} set_egress_class(port_class:{port})\n");
        entries += &format!("add vlan_tags port:{port} vlan:{vlan} untag()\n");
        entries += &format!(
            "add egress_interfaces interface:{port} \
             set_egress_interface(port:{port}, source:0x020000000001, vlan:{vlan}, mtu:9000)\n"
        );
    }
    entries += "add my_stations 1 destination_mac:0x020000000001 admit()\n";
    for vrf in 1..=4 {
        entries += &format!("add virtual_routers vrf:{vrf} NoAction()\n");
    }
    for dscp in 0..64 {
        entries += &format!("add dscp_classes dscp:{dscp} set_class(traffic_class:{}, colour:0)\n", dscp / 8);
    }
    for class in 0..8 {
        entries += &format!("add queues traffic_class:{class} set_queue(queue:{class})\n");
        entries += &format!("add remarks traffic_class:{class} colour:0 set_dscp(dscp:{})\n", class * 8);
    }
    for i in 0..NEXT_HOPS {
        let port = i % PORTS;
        entries += &format!("add next_hops next_hop:{i} set_next_hop(interface:{port}, neighbour:{i})\n");
        let address = 0x0200_0001_0000_u64 + u64::from(i);
        entries += &format!(
            "add neighbours interface:{port} neighbour:{i} set_neighbour(destination:{address:#x})\n"
        );
    }
    // Neither a member nor a group has the number 0.
    for i in 1..=64 {
        entries += &format!("member_add members {i} to_next_hop(next_hop:{})\n", i * 7);
    }
    for group in 1..=16 {
        let members: Vec<String> = (0..4).map(|m| (group * 4 - m).to_string()).collect();
        entries += &format!("group_add members {group} {}\n", members.join(" "));
        entries += &format!("add groups group:{group} group {group}\n");
    }
    // A quarter of the networks in each of the virtual routers.
    for i in 0..ROUTES {
        let (vrf, network) = (1 + i % 4, 0x0a00_0000 + ((i / 4) << 8));
        let action = match i / 4 % 4 {
            0 => format!("route_to_group(group:{})", 1 + i % 16),
            _ => format!("route_to_next_hop(next_hop:{})", i % NEXT_HOPS),
        };
        entries += &format!("add ipv4_routes vrf:{vrf} destination:{network:#x}/24 {action}\n");
    }
    entries += &denied("acl_ingress", "destination_port");
    for i in 0..100 {
        let source = 0xac20_0000_u32 + (i << 8);
        entries += &format!("add acl_egress {} source:{source:#x}&&&0xffffff00 deny()\n", i + 1);
    }
    for (i, ether_type) in [0x0806, 0x88cc, 0x8809].into_iter().enumerate() {
        entries += &format!("add traps {} ether_type:{ether_type:#x} trap()\n", i + 1);
    }
    let mut random = Random(5);
    let packets = (0..PACKETS).map(|_| {
        let destination = 0x0a00_0000 + (random.below(ROUTES / 4) << 8) + random.below(256);
        let payload = udp(random.below(65536) as u16, 53, &[0; 22]);
        let (source, dscp) = (0xc0a8_0000 + random.below(65536), random.below(64) as u8);
        (random.below(PORTS), ethernet(IPV4, &ipv4(source, destination, UDP, dscp, &payload)))
    });
    Scene { packets: packets.collect(), entries }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_right() {
        // RFC 1071, section 3.
        assert_eq!(checksum(&[0, 1, 0xf2, 3, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
        assert_eq!(checksum(&ipv4(1, 2, 3, 4, &[])), 0);
    }

    #[test]
    fn scenes_are_the_same_each_time() {
        for scene in [l3_router, srv6, gtpu, firewall, sai] {
            let (a, b) = (scene(), scene());
            assert_eq!(a.packets, b.packets);
            assert_eq!(a.entries, b.entries);
            assert_eq!(a.packets.len(), PACKETS as usize);
            assert!(a.packets.iter().all(|(_, packet)| (64..=160).contains(&packet.len())));
        }
    }
}
