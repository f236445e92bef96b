//! What the stack of a neighbour leaves to the hardware, which here is nobody but the port.

use crate::namespace::{Driven, Neighbour, in_namespace, ip, open, veth_pair};
use packet_io::{AfPacketOptions, AfPacketPort, Port, PortId, XdpOptions, XdpPort};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::thread;
use std::time::{Duration, Instant};

/// The sum of 16-bit words and the pseudo header is all ones: the checksum of the transport is right.
fn has_right_checksum(packet: &[u8]) -> bool {
    let l4 = 14 + usize::from(packet[14] & 15) * 4;
    let end = 14 + usize::from(u16::from_be_bytes([packet[16], packet[17]]));
    let mut words =
        [&packet[26..34], &[0, packet[23]], &((end - l4) as u16).to_be_bytes(), &packet[l4..end]].concat();
    words.resize(words.len().next_multiple_of(2), 0);
    let sum: u64 = words.chunks(2).map(|w| u64::from(u16::from_be_bytes([w[0], w[1]]))).sum();
    sum > 0 && sum.is_multiple_of(0xffff)
}

#[test]
fn checksums_are_complete() {
    in_namespace(|| {
        veth_pair("va", "vb", 1500);
        ip("addr add 10.0.0.1/24 dev vb");
        ip("neigh add 10.0.0.2 lladdr 02:00:00:00:00:02 dev vb");
        complete_at(open(1, "va"));
        complete_at(Driven::new(XdpPort::open(PortId(1), "va", XdpOptions::JUMBO).unwrap()));
    });
}

fn complete_at<P: Port>(mut a: Driven<P>) {
    let socket = UdpSocket::bind("10.0.0.1:5000").unwrap();
    for n_bytes in [0, 1, 2, 3, 100, 1401, 1472] {
        socket.send_to(&vec![0xa5; n_bytes], "10.0.0.2:6000").unwrap();
        let is_udp = |p: &[u8]| p.len() >= 42 && p[12..14] == [8, 0] && p[23] == 17;
        let packet = a.receive_n(1, is_udp).remove(0);
        assert_eq!(packet.len(), 42 + n_bytes);
        assert_ne!(packet[40..42], [0, 0]);
        assert!(has_right_checksum(&packet), "{packet:02x?}");
    }
}

#[test]
fn merged_datagrams_are_cut() {
    in_namespace(|| {
        veth_pair("va", "vb", 1500);
        let mut a = open(1, "va");
        ip("addr add 10.0.0.1/24 dev vb");
        ip("neigh add 10.0.0.2 lladdr 02:00:00:00:00:02 dev vb");
        let socket = UdpSocket::bind("10.0.0.1:5000").unwrap();
        const UDP_SEGMENT: libc::c_int = 103;
        let n_bytes: libc::c_int = 1000;
        // SAFETY: the value is readable for the length that is named.
        let result = unsafe {
            let len_bytes = size_of_val(&n_bytes) as libc::socklen_t;
            let value = (&raw const n_bytes).cast();
            libc::setsockopt(socket.as_raw_fd(), libc::IPPROTO_UDP, UDP_SEGMENT, value, len_bytes)
        };
        assert_eq!(result, 0);
        let payload: Vec<u8> = (0..40_500).map(|i| (i % 251) as u8).collect();
        socket.send_to(&payload, "10.0.0.2:6000").unwrap();
        let packets = a.receive_n(41, |p| p.len() >= 42 && p[12..14] == [8, 0] && p[23] == 17);
        for packet in &packets {
            assert_eq!(usize::from(u16::from_be_bytes([packet[38], packet[39]])), packet.len() - 34);
            assert!(has_right_checksum(packet), "{packet:02x?}");
        }
        let found: Vec<u8> = packets.iter().flat_map(|p| &p[42..]).copied().collect();
        assert!(found == payload);
        assert_eq!((packets[0].len(), packets[40].len()), (1042, 542));
        assert_eq!((a.port.stats().rx_segmented, a.port.stats().rx_dropped()), (1, 0));
        a.assert_all_buffers_are_back();
    });
}

/// Asks or tells an interface by `struct ethtool_value`.
fn ethtool(interface: &str, command: u32, data: u32) -> u32 {
    let mut value = [command, data];
    // SAFETY: numbers, arrays of them, and pointers that may be null.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = value.as_mut_ptr().cast();
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    // SAFETY: SIOCETHTOOL takes an `ifreq` that points to the value; both outlive the call.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), 0x8946, &raw mut request) };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
    value[1]
}

#[test]
fn merging_is_off_while_the_port_is_open() {
    in_namespace(|| {
        const GET_GRO: u32 = 0x2b;
        const SET_GRO: u32 = 0x2c;
        veth_pair("va", "vb", 1500);
        ethtool("va", SET_GRO, 1);
        ethtool("vb", SET_GRO, 0);
        let (a, b) = (open(1, "va"), open(2, "vb"));
        assert_eq!([ethtool("va", GET_GRO, 0), ethtool("vb", GET_GRO, 0)], [0, 0]);
        drop((a, b));
        assert_eq!([ethtool("va", GET_GRO, 0), ethtool("vb", GET_GRO, 0)], [1, 0]);
    });
}

/// How the ports are opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Packet,
    Xdp,
}

/// A host with one interface of a pair, whose other end is here.
fn host(
    name: &str,
    address: &'static str,
    kind: Kind,
    run: impl FnOnce() -> usize + Send + 'static,
) -> (Neighbour<usize>, Driven<dyn Port>) {
    let (here, there) = (format!("sw-{name}"), format!("{name}-eth"));
    let inside = there.clone();
    let host = Neighbour::start(move || {
        ip(&format!("link set dev {inside} addrgenmode none"));
        ip(&format!("addr add {address} dev {inside} nodad"));
        ip(&format!("link set dev {inside} up"));
        run()
    });
    ip(&format!("link add name {here} type veth peer name {there}"));
    ip(&format!("link set dev {there} netns {}", host.thread_id));
    ip(&format!("link set dev {here} addrgenmode none"));
    ip(&format!("link set dev {here} up"));
    let port: Box<dyn Port> = match kind {
        Kind::Packet => Box::new(AfPacketPort::open(PortId(1), &here, AfPacketOptions::JUMBO).unwrap()),
        Kind::Xdp => Box::new(XdpPort::open(PortId(1), &here, XdpOptions::JUMBO).unwrap()),
    };
    (host, Driven::boxed(port))
}

/// Sends 2 MB over TCP between two hosts through something that only hands on packets. With the offloads that
/// interfaces have unless told otherwise, segments of up to 64 KiB and without checksums arrive at the port.
fn tcp_passes(kind: Kind, addresses: [&'static str; 2], server: &'static str) {
    const N_BYTES: usize = 2_000_000;
    const TIMEOUT: Option<Duration> = Some(Duration::from_secs(120));
    let (server_host, mut a) = host("server", addresses[0], kind, move || {
        let (mut stream, _) = TcpListener::bind(server).unwrap().accept().unwrap();
        stream.set_read_timeout(TIMEOUT).unwrap();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        all.iter().enumerate().filter(|(i, b)| **b == (i % 251) as u8).count()
    });
    let (client_host, mut b) = host("client", addresses[1], kind, move || {
        let data: Vec<u8> = (0..N_BYTES).map(|i| (i % 251) as u8).collect();
        let begin = Instant::now();
        // The server may not listen yet.
        let mut stream = loop {
            match TcpStream::connect(server) {
                Ok(stream) => break stream,
                Err(e) => assert!(begin.elapsed() < Duration::from_secs(120), "{e}"),
            }
            thread::sleep(Duration::from_millis(10));
        };
        stream.set_write_timeout(TIMEOUT).unwrap();
        stream.write_all(&data).unwrap();
        data.len()
    });
    server_host.go();
    client_host.go();
    let mut n_longest = 0;
    while !(server_host.is_finished() && client_host.is_finished()) {
        let to_a = b.receive(|_| true);
        n_longest = to_a.iter().map(Vec::len).fold(n_longest, usize::max);
        a.send(to_a);
        b.send(a.receive(|_| true));
    }
    assert_eq!(client_host.join(), N_BYTES);
    assert_eq!(server_host.join(), N_BYTES);
    assert!(n_longest <= 1514, "{n_longest}");
    // Else this test would not have tested what it is for.
    if kind == Kind::Packet {
        assert!(b.port.stats().rx_segmented > 0, "{:?}", b.port.stats());
    }
    for port in [&mut a, &mut b] {
        let stats = port.port.stats();
        assert_eq!((stats.rx_too_long, stats.rx_dropped_gso, stats.rx_errors), (0, 0, 0), "{stats:?}");
        port.assert_all_buffers_are_back();
    }
}

#[test]
fn tcp_over_ipv4_passes() {
    in_namespace(|| tcp_passes(Kind::Packet, ["10.0.0.1/24", "10.0.0.2/24"], "10.0.0.1:5000"));
}

#[test]
fn tcp_over_ipv6_passes() {
    in_namespace(|| tcp_passes(Kind::Packet, ["fd00::1/64", "fd00::2/64"], "[fd00::1]:5000"));
}

#[test]
fn tcp_passes_af_xdp_ports() {
    in_namespace(|| tcp_passes(Kind::Xdp, ["10.0.0.1/24", "10.0.0.2/24"], "10.0.0.1:5000"));
    in_namespace(|| tcp_passes(Kind::Xdp, ["fd00::1/64", "fd00::2/64"], "[fd00::1]:5000"));
}
