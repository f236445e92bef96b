//! AF_XDP ports, at both ends of a cable or opposite to AF_PACKET ports.

use crate::namespace::{DEADLINE, Driven, in_namespace, ip, is_ours, open, packet, veth_pair};
use packet_io::{
    AfPacketOptions, AfPacketPort, BufPool, BufPoolOptions, InterfaceCause, LinkState, PacketBuf, Port,
    PortId, XdpCopy, XdpForwarder, XdpOptions, XdpPort, wait_for_input,
};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

fn open_xdp_with(id: u32, interface: &str, options: XdpOptions) -> Driven<XdpPort> {
    let mut opened = Driven::new(XdpPort::open(PortId(id), interface, options).unwrap());
    opened.wait_for(LinkState::Up);
    opened
}

fn open_xdp(id: u32, interface: &str) -> Driven<XdpPort> {
    open_xdp_with(id, interface, XdpOptions::JUMBO)
}

/// Sends packets both ways, and looks at the counts.
fn cross<A: Port, B: Port>(a: &mut Driven<A>, b: &mut Driven<B>) {
    let lengths =
        (14..200).chain([1499, 1500, 1514, 2047, 2048, 3498, 3499, 3840, 3841, 4095, 4096, 9000, 9014]);
    let packets: Vec<_> = lengths.enumerate().map(|(n, n_bytes)| packet(n_bytes, n)).collect();
    for burst in packets.chunks(50) {
        assert_eq!(a.send(burst), burst.len());
        assert!(b.receive_n(burst.len(), is_ours) == burst);
        assert_eq!(b.send(burst), burst.len());
        assert!(a.receive_n(burst.len(), is_ours) == burst);
    }
    assert!(a.receive(is_ours).is_empty() && b.receive(is_ours).is_empty());
    let n_bytes: usize = packets.iter().map(Vec::len).sum();
    for (stats, name) in [(a.port.stats(), "a"), (b.port.stats(), "b")] {
        assert_eq!((stats.tx_packets, stats.tx_bytes), (packets.len() as u64, n_bytes as u64), "{name}");
        assert!(stats.rx_packets >= packets.len() as u64);
        assert_eq!((stats.rx_dropped(), stats.tx_dropped()), (0, 0), "{name}: {stats:?}");
    }
    a.assert_all_buffers_are_back();
    b.assert_all_buffers_are_back();
}

#[test]
fn bursts_cross_a_cable_byte_for_byte() {
    in_namespace(|| {
        veth_pair("va", "vb", 9000);
        cross(&mut open_xdp(1, "va"), &mut open_xdp(2, "vb"));
        cross(&mut open_xdp(1, "va"), &mut open(2, "vb"));
        cross(&mut open(1, "va"), &mut open_xdp(2, "vb"));
        for options in [
            XdpOptions { copy: XdpCopy::Copy, ..XdpOptions::JUMBO },
            XdpOptions { is_busy_polling: true, ..XdpOptions::JUMBO },
        ] {
            cross(&mut open_xdp_with(1, "va", options), &mut open_xdp_with(2, "vb", options));
        }
    });
}

#[test]
fn the_kernel_forwards_between_two_interfaces() {
    in_namespace(|| {
        veth_pair("va", "vb", 1500);
        veth_pair("vc", "vd", 1500);
        let (mut a, mut d) = (open_xdp(1, "va"), open_xdp(2, "vd"));
        let forwarder = XdpForwarder::between(["vb", "vc"]).unwrap();
        for n_bytes in [60, 61, 1000, 1514] {
            a.send([packet(n_bytes, 1)]);
            assert_eq!(d.receive_n(1, is_ours), [packet(n_bytes, 1)]);
            d.send([packet(n_bytes, 2)]);
            assert_eq!(a.receive_n(1, is_ours), [packet(n_bytes, 2)]);
        }
        let taken = XdpForwarder::between(["vb", "vc"]).unwrap_err();
        assert!(matches!(taken.cause, InterfaceCause::OtherXdpProgram), "{taken}");
        drop(forwarder);
        a.send([packet(60, 3)]);
        assert!(d.receive(is_ours).is_empty());
        let absent = XdpForwarder::between(["vb", "nowhere"]).unwrap_err();
        assert!(matches!(absent.cause, InterfaceCause::NotFound { .. }), "{absent}");
    });
}

#[test]
fn programs_can_run_behind_the_driver() {
    in_namespace(|| {
        veth_pair("va", "vb", 1500);
        let options = XdpOptions { is_generic: true, ..XdpOptions::JUMBO };
        let (mut a, mut b) = (open_xdp_with(1, "va", options), open(2, "vb"));
        for n_bytes in [60, 61, 1000, 1514] {
            b.send([packet(n_bytes, 1)]);
            assert_eq!(a.receive_n(1, is_ours), [packet(n_bytes, 1)]);
            a.send([packet(n_bytes, 2)]);
            assert_eq!(b.receive_n(1, is_ours), [packet(n_bytes, 2)]);
        }
    });
}

/// Forwards what arrives at one port through the other one.
fn forward<A: Port, B: Port>(
    from: &mut A,
    to: &mut B,
    pool: &mut BufPool,
    look: impl Fn(&PacketBuf),
) -> usize {
    let mut burst = Vec::new();
    from.rx_burst(pool, &mut burst, 64).unwrap();
    burst.iter().filter(|buf| is_ours(buf.data())).for_each(look);
    to.tx_burst(pool, &mut burst).unwrap()
}

#[test]
fn packets_pass_between_ports_without_a_copy() {
    in_namespace(|| {
        veth_pair("va", "vb", 1500);
        veth_pair("vc", "vd", 1500);
        let (mut a, mut b) = (open(1, "va"), open_xdp(2, "vb"));
        let (mut c, mut d) = (open_xdp(3, "vc"), open(4, "vd"));
        let mut pool = BufPool::new(BufPoolOptions::JUMBO);
        let (begin, mut back) = (Instant::now(), 0);
        for round in 0.. {
            if back >= 20_000 {
                break;
            }
            assert!(begin.elapsed() < DEADLINE, "{back} came back");
            a.send((0..10).map(|n| packet(60 + n, n)));
            let is_frame = |buf: &PacketBuf| assert!(buf.is_frame() && buf.headroom() >= 256, "{round}");
            forward(&mut *b.port, &mut *c.port, &mut pool, is_frame);
            back += d.receive(is_ours).len();
        }
        // Frames only: nothing was copied into a buffer of the pool.
        assert_eq!(pool.n_made(), 0);
    });
}

#[test]
fn every_packet_is_counted_also_in_a_flood() {
    in_namespace(|| {
        veth_pair("va", "vb", 1500);
        let (mut a, mut b) = (open_xdp(1, "va"), open_xdp(2, "vb"));
        // Nobody receives for a while: the frames of the receiver run out.
        for round in 0..400 {
            a.send((0..32).map(|n| packet(60, n)));
            if round % 100 == 99 {
                b.receive(is_ours);
            }
        }
        let begin = Instant::now();
        loop {
            b.receive(|_| true);
            let (sent, received) = (a.port.stats(), b.port.stats());
            if received.rx_packets + received.rx_dropped() >= sent.tx_packets {
                assert_eq!(sent.tx_packets + sent.tx_dropped(), 400 * 32, "{sent:?}");
                assert!(received.rx_packets > 0 && received.rx_dropped_kernel > 0, "{received:?}");
                break;
            }
            assert!(begin.elapsed() < DEADLINE, "{sent:?} {received:?}");
        }
        a.assert_all_buffers_are_back();
    });
}

#[test]
fn interfaces_go_and_come_back() {
    in_namespace(|| {
        veth_pair("va", "vb", 1500);
        let mut a = open_xdp(1, "va");
        for round in 0..12 {
            let mut b = open_xdp(2, "vb");
            a.wait_for(LinkState::Up);
            a.send([packet(60, round)]);
            assert_eq!(b.receive_n(1, is_ours), [packet(60, round)]);
            b.send([packet(61, round)]);
            assert_eq!(a.receive_n(1, is_ours), [packet(61, round)]);
            ip("link set dev va down");
            a.wait_for(LinkState::Down);
            assert_eq!(a.send([packet(60, 1)]), 0);
            ip("link set dev va up");
            a.wait_for(LinkState::Up);
            b.wait_for(LinkState::Up);
            a.send([packet(62, round)]);
            assert_eq!(b.receive_n(1, is_ours), [packet(62, round)]);
            ip("link del dev va");
            a.wait_for(LinkState::Gone);
            b.wait_for(LinkState::Gone);
            assert_eq!(a.port.fd(), None);
            assert_eq!(a.send([packet(60, 9), packet(60, 9)]), 0);
            veth_pair("va", "vb", 1500);
        }
        let stats = a.port.stats();
        assert_eq!((stats.tx_packets, stats.tx_dropped_down), (24, 36), "{stats:?}");
        a.assert_all_buffers_are_back();
    });
}

#[test]
fn a_worker_can_sleep_until_something_happens() {
    in_namespace(|| {
        veth_pair("va", "vb", 1500);
        let (mut a, mut b) = (open_xdp(1, "va"), open_xdp(2, "vb"));
        while !b.receive(|_| true).is_empty() {}
        assert!(!wait_for_input(b.port.fd(), Duration::ZERO).unwrap());
        a.send([packet(60, 1)]);
        assert!(wait_for_input(b.port.fd(), DEADLINE).unwrap());
        assert_eq!(b.receive_n(1, is_ours), [packet(60, 1)]);
    });
}

#[test]
fn too_long_packets_are_counted() {
    in_namespace(|| {
        veth_pair("va", "vb", 6000);
        ip("link set dev va mtu 1500");
        let options = XdpOptions { packet_bytes_max: 1000, ..XdpOptions::JUMBO };
        let (mut a, mut b) = (open_xdp_with(1, "va", options), open(2, "vb"));
        let tagged = [&packet(1514, 9)[..12], &[0x81, 0, 0, 9], &packet(1514, 9)[12..]].concat();
        assert_eq!(a.send([packet(1514, 0), packet(1515, 1), vec![2; 13], tagged, packet(60, 3)]), 3);
        let stats = a.port.stats();
        assert_eq!((stats.tx_packets, stats.tx_too_long, stats.tx_errors), (3, 1, 1), "{stats:?}");
        b.receive_n(3, is_ours);
        ip("link set dev va mtu 6000");
        b.send([packet(1000, 0), packet(1001, 1), packet(5000, 2), packet(999, 3)]);
        assert_eq!(a.receive_n(2, is_ours), [packet(1000, 0), packet(999, 3)]);
        assert_eq!(a.port.stats().rx_too_long, 2);
        a.assert_all_buffers_are_back();
    });
}

#[test]
fn queues_are_shared_among_workers() {
    in_namespace(|| {
        ip("link add name va numtxqueues 4 numrxqueues 4 type veth peer name vb numtxqueues 4 numrxqueues 4");
        for name in ["va", "vb"] {
            ip(&format!("link set dev {name} addrgenmode none"));
            ip(&format!("link set dev {name} up"));
        }
        let n_queues = |n| XdpPort::open_queues(PortId(1), "va", XdpOptions::JUMBO, n);
        let mut four: Vec<_> = n_queues(4).unwrap().into_iter().map(Driven::new).collect();
        let mut senders: Vec<_> = XdpPort::open_queues(PortId(2), "vb", XdpOptions::JUMBO, 4)
            .unwrap()
            .into_iter()
            .map(Driven::new)
            .collect();
        for port in four.iter_mut().chain(&mut senders) {
            port.wait_for(LinkState::Up);
        }
        // A queue at one end of a veth pair leads to the queue of the same number at the other.
        for (i, sender) in senders.iter_mut().enumerate() {
            assert_eq!(sender.send([packet(60, i)]), 1);
            assert_eq!(four[i].receive_n(1, is_ours), [packet(60, i)]);
        }
        drop(four);
        // One port with all queues.
        let mut one = Driven::new(n_queues(1).unwrap().pop().unwrap());
        one.wait_for(LinkState::Up);
        for (i, sender) in senders.iter_mut().enumerate() {
            assert_eq!(sender.send([packet(60, i)]), 1);
            assert!(wait_for_input(one.port.fd(), DEADLINE).unwrap());
            assert_eq!(one.receive_n(1, is_ours), [packet(60, i)]);
        }
        drop(one);
        let error = n_queues(5).unwrap_err().to_string();
        assert!(error.contains("receives in 4 queues, and 5 are wanted"), "{error}");
    });
}

#[test]
fn other_programs_are_left_alone() {
    in_namespace(|| {
        veth_pair("va", "vb", 1500);
        let message = |opened: Result<XdpPort, _>| match opened {
            Err(packet_io::PortError::Interface(error)) => error.to_string(),
            other => panic!("{other:?}"),
        };
        let first = open_xdp(1, "va");
        let error = message(XdpPort::open(PortId(2), "va", XdpOptions::JUMBO));
        assert!(error.starts_with("interface `va` has another XDP program, which is left alone."), "{error}");
        assert!(error.contains("ip link set dev va xdp off"), "{error}");
        drop(first);
        // The port takes its program with it.
        drop(open_xdp(1, "va"));

        let zero_copy = XdpOptions { copy: XdpCopy::ZeroCopy, ..XdpOptions::JUMBO };
        let error = message(XdpPort::open(PortId(2), "va", zero_copy));
        assert!(error.contains("cannot receive without a copy"), "{error}");
        let error = message(XdpPort::open(PortId(2), "no", XdpOptions::JUMBO));
        assert!(error.starts_with("there is no interface `no`"), "{error}");
        // Nothing is left behind by a port that could not be opened.
        drop(open_xdp(1, "va"));
    });
}

/// The test whose child process runs it once more, with this variable: the child holds an interface until it is killed.
const HOLDER: [&str; 2] = ["af_xdp::a_killed_process_leaves_nothing_behind", "PACKET_IO_HOLDS_INTERFACE"];

/// Ends with the value.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_killed_process_leaves_nothing_behind() {
    let [name, variable] = HOLDER;
    if std::env::var_os(variable).is_some() {
        let _port = XdpPort::open(PortId(1), "va", XdpOptions::JUMBO).unwrap();
        println!("open");
        std::thread::sleep(DEADLINE);
        return;
    }
    in_namespace(move || {
        veth_pair("va", "vb", 1500);
        for _ in 0..3 {
            let holder = Command::new(std::env::current_exe().unwrap())
                .args([name, "--exact", "--nocapture"])
                .env(variable, "1")
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let mut holder = Killed(holder);
            let says = BufReader::new(holder.0.stdout.take().unwrap());
            assert!(says.lines().any(|line| line.unwrap().ends_with("open")));
            assert!(XdpPort::open(PortId(1), "va", XdpOptions::JUMBO).is_err());
            drop(holder);
            // The kernel takes the program off when the process is gone.
            let begin = Instant::now();
            while XdpPort::open(PortId(1), "va", XdpOptions::JUMBO).is_err() {
                assert!(begin.elapsed() < DEADLINE);
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        let (mut a, mut b) = (open_xdp(1, "va"), open(2, "vb"));
        b.send([packet(60, 1)]);
        assert_eq!(a.receive_n(1, is_ours), [packet(60, 1)]);
        // AF_PACKET ports are opened in the same place.
        let _other = AfPacketPort::open(PortId(3), "va", AfPacketOptions::JUMBO).unwrap();
    });
}
