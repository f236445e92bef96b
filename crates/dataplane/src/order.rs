//! Order within flows: packets of one flow leave in the order in which they came, though some of them wait for offload workers.
//!
//! A packet that has ended is held while one of its flow that came before it is at an offload worker. Copies of a
//! packet are not held.

use packet_io::PacketBuf;
use rustc_hash::{FxHashMap, FxHasher};
use std::collections::VecDeque;
use std::hash::Hasher;
use target::traffic::Destination;

/// Packets of one worker that are held, at most; then it takes no more from its ports.
const HELD_MAX: usize = 1024;

const ETHER_IPV4: u16 = 0x0800;
const ETHER_IPV6: u16 = 0x86dd;
/// 802.1Q and 802.1ad.
const ETHER_VLAN: [u16; 2] = [0x8100, 0x88a8];
/// TCP, UDP, DCCP, SCTP, UDP-Lite: ports are the first four bytes.
const WITH_PORTS: [u8; 5] = [6, 17, 33, 132, 136];
const VLAN_TAGS_MAX: usize = 2;

/// The flow that a packet belongs to when it arrives: addresses, protocol and ports where it is IP, all of its Ethernet
/// header otherwise. Fragments have no ports, also the first one, so that they stay together.
pub(crate) fn flow_of(port: u32, bytes: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write_u32(port);
    let mut at = 12;
    let word = |at: usize| bytes.get(at..at + 2).map(|b| u16::from_be_bytes([b[0], b[1]]));
    for _ in 0..VLAN_TAGS_MAX {
        if word(at).is_some_and(|kind| ETHER_VLAN.contains(&kind)) {
            at += 4;
        }
    }
    let header = bytes.get(at + 2..).unwrap_or_default();
    let ip = match word(at) {
        Some(ETHER_IPV4) => ipv4(header),
        Some(ETHER_IPV6) => ipv6(header),
        _ => None,
    };
    match ip {
        Some((addresses, protocol, ports)) => {
            hasher.write(addresses);
            hasher.write_u8(protocol);
            hasher.write(ports);
        }
        None => hasher.write(&bytes[..bytes.len().min(14)]),
    }
    hasher.finish()
}

type Ip<'a> = (&'a [u8], u8, &'a [u8]);

/// RFC 791, 3.1
fn ipv4(header: &[u8]) -> Option<Ip<'_>> {
    let length = usize::from(header.first()? & 0xf) * 4;
    let protocol = *header.get(9)?;
    let is_fragment = u16::from_be_bytes([*header.get(6)?, *header.get(7)?]) & 0x3fff != 0;
    let ports = if is_fragment { None } else { ports(protocol, header.get(length..)) };
    Some((header.get(12..20)?, protocol, ports.unwrap_or_default()))
}

/// RFC 8200, 3. Packets with extension headers have no ports here.
fn ipv6(header: &[u8]) -> Option<Ip<'_>> {
    let protocol = *header.get(6)?;
    Some((header.get(8..40)?, protocol, ports(protocol, header.get(40..)).unwrap_or_default()))
}

fn ports(protocol: u8, payload: Option<&[u8]>) -> Option<&[u8]> {
    WITH_PORTS.contains(&protocol).then_some(payload?.get(..4)?)
}

enum Held {
    /// By its token: it is suspended.
    Waiting(u32),
    Ended(Destination, PacketBuf),
}

/// Packets of flows some of whose packets wait.
#[derive(Default)]
pub(crate) struct Order {
    flows: FxHashMap<u64, VecDeque<Held>>,
    flow_of_token: FxHashMap<u32, u64>,
    /// Flows of the packets of the burst under way.
    burst: Vec<u64>,
    n_held: usize,
}

impl Order {
    /// A burst begins: notes the flow of each packet, since the program changes packets in place.
    pub(crate) fn begin_burst(&mut self, packets: &[PacketBuf]) {
        self.burst.clear();
        self.burst.extend(packets.iter().map(|buf| flow_of(buf.port.0, buf.data())));
    }

    /// Packet `i` of the burst is suspended.
    pub(crate) fn suspended(&mut self, i: usize, token: u32) {
        let flow = self.burst[i];
        self.flows.entry(flow).or_default().push_back(Held::Waiting(token));
        self.flow_of_token.insert(token, flow);
    }

    /// Packet `i` of the burst is to leave; gives it back if it may do so now.
    pub(crate) fn leaving(
        &mut self,
        i: usize,
        destination: Destination,
        buf: PacketBuf,
    ) -> Option<(Destination, PacketBuf)> {
        let flow = self.burst[i];
        let Some(held) = self.flows.get_mut(&flow) else { return Some((destination, buf)) };
        held.push_back(Held::Ended(destination, buf));
        self.n_held += 1;
        None
    }

    /// A packet that waited is to leave, or not; all that may leave now is added to `leaving`.
    pub(crate) fn ended(
        &mut self,
        token: u32,
        end: Option<(Destination, PacketBuf)>,
        leaving: &mut Vec<(Destination, PacketBuf)>,
    ) {
        let flow = self.flow_of_token.remove(&token);
        let Some((flow, held)) = flow.and_then(|flow| Some((flow, self.flows.get_mut(&flow)?))) else {
            leaving.extend(end);
            return;
        };
        let is_it = |one: &Held| matches!(one, Held::Waiting(other) if *other == token);
        if let Some(at) = held.iter().position(is_it) {
            match end {
                Some((destination, buf)) => {
                    held[at] = Held::Ended(destination, buf);
                    self.n_held += 1;
                }
                None => {
                    held.remove(at);
                }
            }
        }
        while let Some(Held::Ended(..)) = held.front() {
            if let Some(Held::Ended(destination, buf)) = held.pop_front() {
                leaving.push((destination, buf));
                self.n_held -= 1;
            }
        }
        if held.is_empty() {
            self.flows.remove(&flow);
        }
    }

    pub(crate) fn n_held(&self) -> usize {
        self.n_held
    }

    /// Packets that may be taken from ports.
    pub(crate) fn room(&self) -> usize {
        HELD_MAX.saturating_sub(self.n_held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use packet_io::{BufPool, BufPoolOptions};

    fn buf(pool: &mut BufPool, byte: u8) -> PacketBuf {
        let mut buf = pool.take().unwrap();
        assert!(buf.set_data(&[byte; 14]));
        buf
    }

    fn bytes(leaving: &[(Destination, PacketBuf)]) -> Vec<u8> {
        leaving.iter().map(|(_, buf)| buf.data()[0]).collect()
    }

    #[test]
    fn packets_leave_as_they_came() {
        let mut pool = BufPool::new(BufPoolOptions::JUMBO);
        let mut order = Order { burst: vec![7, 7, 7, 7, 8], ..Order::default() };
        let to = Destination::Port(1);
        // 1 and 3 of flow 7 are suspended, 2 and 4 are not; 5 is of another flow.
        order.suspended(0, 1);
        let two = buf(&mut pool, 2);
        assert!(order.leaving(1, to, two).is_none());
        order.suspended(2, 3);
        let four = buf(&mut pool, 4);
        assert!(order.leaving(3, to, four).is_none());
        let five = buf(&mut pool, 5);
        assert!(order.leaving(4, to, five).is_some());
        assert_eq!((order.n_held(), order.room()), (2, HELD_MAX - 2));
        let mut leaving = Vec::new();
        let three = buf(&mut pool, 3);
        order.ended(3, Some((to, three)), &mut leaving);
        assert!(leaving.is_empty());
        assert_eq!(order.n_held(), 3);
        let one = buf(&mut pool, 1);
        order.ended(1, Some((to, one)), &mut leaving);
        assert_eq!(bytes(&leaving), [1, 2, 3, 4]);
        assert_eq!(order.n_held(), 0);
        assert!(order.flows.is_empty() && order.flow_of_token.is_empty());
    }

    #[test]
    fn who_is_dropped_holds_nobody_up() {
        let mut pool = BufPool::new(BufPoolOptions::JUMBO);
        let mut order = Order { burst: vec![7; 3], ..Order::default() };
        order.suspended(0, 1);
        order.suspended(1, 2);
        let three = buf(&mut pool, 3);
        assert!(order.leaving(2, Destination::Port(1), three).is_none());
        let mut leaving = Vec::new();
        order.ended(2, None, &mut leaving);
        assert!(leaving.is_empty());
        order.ended(1, None, &mut leaving);
        assert_eq!(bytes(&leaving), [3]);
        // Nobody knows this one.
        order.ended(99, None, &mut leaving);
        assert_eq!(leaving.len(), 1);
    }

    #[test]
    fn flows_are_those_of_addresses_and_ports() {
        let mut packet = vec![0u8; 14 + 20 + 8];
        packet[12..14].copy_from_slice(&[8, 0]);
        packet[14] = 0x45;
        packet[14 + 9] = 17;
        packet[14 + 12..14 + 20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        let flow = flow_of(1, &packet);
        let changed = |at: usize| {
            let mut other = packet.clone();
            other[at] ^= 1;
            flow_of(1, &other)
        };
        // Addresses of stations, TTL and payload do not matter; addresses, protocol and ports do.
        assert!([0, 14 + 8, 14 + 20 + 7].map(changed).iter().all(|other| *other == flow));
        assert!([14 + 9, 14 + 12, 14 + 19, 14 + 20, 14 + 23].map(changed).iter().all(|other| *other != flow));
        assert_ne!(flow_of(2, &packet), flow);
        // A tag changes nothing; fragments have no ports.
        let mut tagged = packet.clone();
        tagged.splice(12..12, [0x81, 0, 0, 5]);
        assert_eq!(flow_of(1, &tagged), flow);
        let mut fragment = packet.clone();
        fragment[14 + 6] = 0x20;
        let first = flow_of(1, &fragment);
        fragment[14 + 20] ^= 1;
        assert_eq!(flow_of(1, &fragment), first);
        // Any bytes have some flow.
        for n in 0..packet.len() {
            let _ = flow_of(1, &packet[..n]);
        }
    }
}
