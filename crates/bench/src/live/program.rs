//! Programs of the switch: entries for each subject, flows that use them, and the headers that must come out.

use crate::args::LiveProgramArg;
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr};
use traffic::{FlowOptions, FlowOrder, Mac, Ordinal, Range};

const L2: &str = include_str!("../../peers/l2.p4");
const ROUTER: &str = include_str!("../../programs/live_router.p4");
const ACL: &str = include_str!("../../programs/live_acl.p4");
const NAT: &str = include_str!("../../programs/live_nat.p4");

pub(super) const SENDER: Mac = Mac([2, 0, 0, 0, 0, 1]);
/// Destination of the first flow of the layer-2 switch, and of all flows of the others.
const FIRST_STATION: Mac = Mac([2, 0, 1, 0, 0, 0]);
/// The router's own address where packets leave, and its neighbours behind prefixes of 30 and of 8 bits.
const ROUTER_MAC: Mac = Mac([2, 0, 0, 0, 0, 0xfe]);
const FIRST_NEIGHBOUR: Mac = Mac([2, 0, 2, 0, 0, 0]);
const OTHER_NEIGHBOUR: Mac = Mac([2, 0, 3, 0, 0, 0]);
const N_NEIGHBOURS: u32 = 256;
/// Addresses of a route.
const ROUTE_ADDRESSES: u32 = 4;

const CLIENT: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
const ROUTED: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 0);
const PERMITTED: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 0);
const DENIED: Ipv4Addr = Ipv4Addr::new(10, 4, 0, 0);
const PUBLIC: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 1);
const CLIENT_PORT: u16 = 0xc000;
const SERVER_PORT: u16 = 9;
/// Source ports of one client, and ports of one public address.
const CLIENT_PORTS: u32 = 1000;
const PUBLIC_PORTS: u32 = 50_000;
const FIRST_PUBLIC_PORT: u16 = 1024;
/// Time to live of the generator's packets.
const TTL: u8 = 64;

/// Headers of a UDP packet over IPv4, as far as programs change them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Headers {
    pub(super) destination: Mac,
    pub(super) source: Mac,
    pub(super) ttl: u8,
    pub(super) source_ip: Ipv4Addr,
    pub(super) destination_ip: Ipv4Addr,
    pub(super) source_port: u16,
    pub(super) destination_port: u16,
}

impl Headers {
    /// Reads a frame without VLAN tag and IPv4 options.
    pub(super) fn of(frame: &[u8]) -> Option<Headers> {
        let mac = |at: usize| Some(Mac(frame.get(at..at + 6)?.try_into().ok()?));
        let word = |at: usize| Some(u16::from_be_bytes(frame.get(at..at + 2)?.try_into().ok()?));
        let ip = |at: usize| {
            let bytes: [u8; 4] = frame.get(at..at + 4)?.try_into().ok()?;
            Some(Ipv4Addr::from(bytes))
        };
        if word(12)? != 0x0800 || *frame.get(14)? != 0x45 || *frame.get(23)? != 17 {
            return None;
        }
        Some(Headers {
            destination: mac(0)?,
            source: mac(6)?,
            ttl: *frame.get(22)?,
            source_ip: ip(26)?,
            destination_ip: ip(30)?,
            source_port: word(34)?,
            destination_port: word(36)?,
        })
    }
}

pub(super) fn hex(mac: Mac) -> String {
    mac.0.iter().fold("0x".to_owned(), |text, byte| format!("{text}{byte:02x}"))
}

fn hex_ip(ip: Ipv4Addr) -> String {
    format!("{:#010x}", ip.to_bits())
}

fn after(ip: Ipv4Addr, n: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(ip.to_bits() + n)
}

fn addresses(first: Ipv4Addr, n: u32) -> Result<Range<IpAddr>, String> {
    Range::new(IpAddr::V4(first), IpAddr::V4(after(first, n.max(1) - 1)))
}

/// Rules that let packets pass; the others, one fewer if the number is odd, deny them.
fn n_permitted(n_entries: u32) -> u32 {
    n_entries.div_ceil(2)
}

/// Three kinds of rules take turns, each with a mask of its own.
const N_RULE_KINDS: u32 = 3;

impl LiveProgramArg {
    pub(super) fn name(self) -> &'static str {
        match self {
            LiveProgramArg::L2 => "l2",
            LiveProgramArg::Router => "router",
            LiveProgramArg::Acl => "acl",
            LiveProgramArg::Nat => "nat",
        }
    }

    /// P4 text.
    pub(super) fn text(self) -> &'static str {
        match self {
            LiveProgramArg::L2 => L2,
            LiveProgramArg::Router => ROUTER,
            LiveProgramArg::Acl => ACL,
            LiveProgramArg::Nat => NAT,
        }
    }

    /// Entries as a test script has them.
    pub(super) fn entries(self, n_entries: u32) -> String {
        let mut text = String::new();
        match self {
            LiveProgramArg::L2 => {
                let _ = writeln!(text, "add L2Ingress.smac hdr.ethernet.srcAddr:{} NoAction()", hex(SENDER));
                for n in 0..n_entries {
                    let station = hex(station(n));
                    let _ = writeln!(
                        text,
                        "add L2Ingress.dmac hdr.ethernet.dstAddr:{station} L2Ingress.forward(port:1)"
                    );
                }
            }
            LiveProgramArg::Router => {
                let mut add = |prefix: Ipv4Addr, bits: u32, neighbour: Mac| {
                    let (prefix, source, neighbour) = (hex_ip(prefix), hex(ROUTER_MAC), hex(neighbour));
                    let _ = writeln!(
                        text,
                        "add routes destination:{prefix}/{bits} forward(port:1, source:{source}, destination:{neighbour})"
                    );
                };
                add(ROUTED, 8, OTHER_NEIGHBOUR);
                for n in 0..n_entries {
                    add(after(ROUTED, n * ROUTE_ADDRESSES), 30, neighbour(n));
                }
            }
            LiveProgramArg::Acl => {
                let _ = writeln!(text, "add stations destination:{} forward(port:1)", hex(FIRST_STATION));
                let _ = writeln!(text, "add access_list 1 destination:{}/8 deny()", hex_ip(ROUTED));
                for n in 0..n_entries {
                    let (ip, action) = rule(n);
                    let ip = hex_ip(ip);
                    let _ = match n / 2 % N_RULE_KINDS {
                        0 => writeln!(
                            text,
                            "add access_list 10 destination:{ip} protocol:17 destination_port:{SERVER_PORT} {action}()"
                        ),
                        1 => writeln!(
                            text,
                            "add access_list 10 source:{}/16 destination:{ip} {action}()",
                            hex_ip(Ipv4Addr::new(198, 18, 0, 0))
                        ),
                        _ => writeln!(
                            text,
                            "add access_list 10 destination:{ip} protocol:17 source_port:0xc000&&&0xc000 {action}()"
                        ),
                    };
                }
            }
            LiveProgramArg::Nat => {
                for n in 0..n_entries {
                    let (before, then) = (client(n), public(n));
                    let _ = writeln!(
                        text,
                        "add flows source:{} source_port:{} translate(port:1, source:{}, source_port:{})",
                        hex_ip(before.0),
                        before.1,
                        hex_ip(then.0),
                        then.1
                    );
                }
            }
        }
        text
    }

    /// These entries as flows of OpenFlow, one a line.
    pub(super) fn openflow(self, n_entries: u32) -> String {
        let mut text = String::new();
        match self {
            LiveProgramArg::L2 => {
                for n in 0..n_entries {
                    let station = station(n);
                    let _ = writeln!(text, "priority=10,dl_dst={station},actions=output:2");
                }
            }
            LiveProgramArg::Router => {
                let mut add = |prefix: Ipv4Addr, bits: u32, neighbour: Mac| {
                    let _ = writeln!(
                        text,
                        "priority={bits},ip,nw_dst={prefix}/{bits},actions=mod_dl_src:{ROUTER_MAC},mod_dl_dst:{neighbour},dec_ttl,output:2"
                    );
                };
                add(ROUTED, 8, OTHER_NEIGHBOUR);
                for n in 0..n_entries {
                    add(after(ROUTED, n * ROUTE_ADDRESSES), 30, neighbour(n));
                }
            }
            LiveProgramArg::Acl => {
                let _ = writeln!(text, "priority=0,dl_dst={FIRST_STATION},actions=output:2");
                let _ = writeln!(text, "priority=1,ip,nw_dst={ROUTED}/8,actions=drop");
                for n in 0..n_entries {
                    let (ip, action) = rule(n);
                    let action = if action == "deny" { "drop" } else { "output:2" };
                    let station = format!("priority=10,dl_dst={FIRST_STATION}");
                    let _ = match n / 2 % N_RULE_KINDS {
                        0 => {
                            writeln!(text, "{station},udp,nw_dst={ip},tp_dst={SERVER_PORT},actions={action}")
                        }
                        1 => writeln!(text, "{station},ip,nw_src=198.18.0.0/16,nw_dst={ip},actions={action}"),
                        _ => {
                            writeln!(text, "{station},udp,nw_dst={ip},tp_src=0xc000/0xc000,actions={action}")
                        }
                    };
                }
            }
            LiveProgramArg::Nat => {
                for n in 0..n_entries {
                    let (before, then) = (client(n), public(n));
                    let _ = writeln!(
                        text,
                        "priority=10,udp,nw_src={},tp_src={},actions=mod_nw_src:{},mod_tp_src:{},output:2",
                        before.0, before.1, then.0, then.1
                    );
                }
            }
        }
        text
    }

    /// Flows that pass, each entry used by as many as any other.
    pub(super) fn flows(self, n_entries: u32) -> Result<FlowOptions, String> {
        let base = FlowOptions {
            n_flows: n_entries,
            order: FlowOrder::Uniform,
            src_mac: Range::single(SENDER),
            dst_mac: Range::single(FIRST_STATION),
            src_ip: Range::single(IpAddr::V4(CLIENT)),
            src_port: Range::single(CLIENT_PORT),
            dst_port: Range::single(SERVER_PORT),
            ..FlowOptions::ipv4()
        };
        Ok(match self {
            // Caches of Open vSwitch find flows by their addresses of layer 3: equal ones would be the worst case.
            LiveProgramArg::L2 => FlowOptions {
                dst_mac: Range::new(FIRST_STATION, station(n_entries - 1))?,
                dst_ip: addresses(ROUTED, n_entries)?,
                has_stations: true,
                ..base
            },
            LiveProgramArg::Router => {
                let n_flows = n_entries * ROUTE_ADDRESSES;
                FlowOptions { n_flows, dst_ip: addresses(ROUTED, n_flows)?, ..base }
            }
            LiveProgramArg::Acl => {
                let n_flows = n_permitted(n_entries);
                FlowOptions { n_flows, dst_ip: addresses(PERMITTED, n_flows)?, ..base }
            }
            LiveProgramArg::Nat => {
                let n_ports = n_entries.min(CLIENT_PORTS);
                FlowOptions {
                    src_ip: addresses(CLIENT, n_entries.div_ceil(n_ports))?,
                    src_port: Range::new(CLIENT_PORT, CLIENT_PORT + n_ports as u16 - 1)?,
                    ..base
                }
            }
        })
    }

    /// Flows that must not pass, if there are any.
    pub(super) fn denied_flows(self, n_entries: u32) -> Result<Option<FlowOptions>, String> {
        let n_flows = n_entries - n_permitted(n_entries);
        if self != LiveProgramArg::Acl || n_flows == 0 {
            return Ok(None);
        }
        Ok(Some(FlowOptions { n_flows, dst_ip: addresses(DENIED, n_flows)?, ..self.flows(n_entries)? }))
    }

    /// Headers of a flow that passes, when its packets leave.
    pub(super) fn expected(self, flow: u32) -> Headers {
        let sent = Headers {
            destination: FIRST_STATION,
            source: SENDER,
            ttl: TTL,
            source_ip: CLIENT,
            destination_ip: Ipv4Addr::new(198, 19, 0, 1),
            source_port: CLIENT_PORT,
            destination_port: SERVER_PORT,
        };
        match self {
            LiveProgramArg::L2 => {
                Headers { destination: station(flow), destination_ip: after(ROUTED, flow), ..sent }
            }
            LiveProgramArg::Router => Headers {
                destination: neighbour(flow / ROUTE_ADDRESSES),
                source: ROUTER_MAC,
                ttl: TTL - 1,
                destination_ip: after(ROUTED, flow),
                ..sent
            },
            LiveProgramArg::Acl => Headers { destination_ip: after(PERMITTED, flow), ..sent },
            LiveProgramArg::Nat => {
                let (source_ip, source_port) = public(flow);
                Headers { source_ip, source_port, ..sent }
            }
        }
    }
}

/// Destination of a flow of the layer-2 switch.
pub(super) fn station(n: u32) -> Mac {
    FIRST_STATION.plus(n.into())
}

fn neighbour(route: u32) -> Mac {
    FIRST_NEIGHBOUR.plus(u64::from(route % N_NEIGHBOURS))
}

/// Destination and action of a rule.
fn rule(n: u32) -> (Ipv4Addr, &'static str) {
    match n % 2 {
        0 => (after(PERMITTED, n / 2), "permit"),
        _ => (after(DENIED, n / 2), "deny"),
    }
}

/// Source of a flow before its translation.
fn client(flow: u32) -> (Ipv4Addr, u16) {
    (after(CLIENT, flow / CLIENT_PORTS), CLIENT_PORT + (flow % CLIENT_PORTS) as u16)
}

/// Source of a flow behind its translation.
fn public(flow: u32) -> (Ipv4Addr, u16) {
    (after(PUBLIC, flow / PUBLIC_PORTS), FIRST_PUBLIC_PORT + (flow % PUBLIC_PORTS) as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAMS: [LiveProgramArg; 4] =
        [LiveProgramArg::L2, LiveProgramArg::Router, LiveProgramArg::Acl, LiveProgramArg::Nat];

    #[test]
    fn flows_use_all_entries() {
        for program in PROGRAMS {
            for n_entries in [1, 2, 7, 1000, 1001, 100_000] {
                let flows = program.flows(n_entries).unwrap();
                let n_entries_of_flows = match program {
                    LiveProgramArg::L2 | LiveProgramArg::Nat => flows.n_flows,
                    LiveProgramArg::Router => flows.n_flows / ROUTE_ADDRESSES,
                    LiveProgramArg::Acl => {
                        flows.n_flows + program.denied_flows(n_entries).unwrap().map_or(0, |d| d.n_flows)
                    }
                };
                assert_eq!(n_entries_of_flows, n_entries, "{}", program.name());
                // The generator takes the ranges.
                let options = traffic::GeneratorOptions {
                    content: traffic::Content::Flows { flows, sizes: traffic::Sizes::fixed(64) },
                    ..traffic::GeneratorOptions::flood()
                };
                assert!(traffic::Generator::new(options, None).is_ok(), "{} {n_entries}", program.name());
            }
        }
    }

    #[test]
    fn subjects_get_the_same_number_of_entries() {
        for program in PROGRAMS {
            let n = |text: String| text.lines().count();
            let n_more = usize::from(program == LiveProgramArg::L2);
            assert_eq!(n(program.entries(10)), n(program.openflow(10)) + n_more, "{}", program.name());
        }
    }

    #[test]
    fn headers_are_read() {
        let frame = [
            &[2, 0, 1, 0, 0, 5, 2, 0, 0, 0, 0, 1, 8, 0][..],
            &[0x45, 0, 0, 46, 0, 0, 0x40, 0, 63, 17, 0, 0, 198, 18, 0, 1, 10, 0, 0, 7],
            &[0xc0, 0, 0, 9, 0, 26, 0, 0],
        ]
        .concat();
        let headers = Headers::of(&frame).unwrap();
        assert_eq!(headers.destination, Mac([2, 0, 1, 0, 0, 5]));
        assert_eq!((headers.ttl, headers.source_port, headers.destination_port), (63, 0xc000, 9));
        assert_eq!((headers.source_ip, headers.destination_ip), (CLIENT, after(ROUTED, 7)));
        assert_eq!(Headers::of(&frame[..37]), None);
    }
}
