//! Generators and sinks on real interfaces, in network namespaces of the tests' own.
#![cfg(target_os = "linux")]
#![expect(unsafe_code, reason = "network namespaces of threads")]

#[path = "../../packet-io/tests/live/namespace.rs"]
#[allow(dead_code, reason = "the tests of packet-io use the rest")]
mod namespace;

use namespace::{in_namespace, ip, open, veth_pair};
use packet_io::{AfPacketPort, LINK_TYPE_ETHERNET, Packet, PacketReader, PcapWriter};
use std::fs::File;
use std::path::Path;
use std::time::Duration;
use traffic::{
    CapturedFrames, ChecksumCheck, Content, Control, FlowOptions, Generator, GeneratorOptions, IdleMode,
    Pace, Rate, Receiver, Recording, Replay, ReplayOptions, SearchOptions, Sender, Sink, Sizes, Station,
    Trial,
};

/// Few enough for the queue of a socket, however late the sink.
const N: u64 = 3000;

fn options() -> GeneratorOptions {
    let flows = FlowOptions { n_flows: 100, ..FlowOptions::ipv4() };
    GeneratorOptions {
        content: Content::Flows { flows, sizes: Sizes::imix() },
        rate: Rate::PacketsPerS(100_000),
        n_packets: Some(N),
        ..GeneratorOptions::flood()
    }
}

fn station<'p>(
    port: &'p mut AfPacketPort,
    sender: Option<Sender>,
    receiver: Option<Receiver>,
) -> Station<'p> {
    Station { port, sender, receiver, core: None, idle: IdleMode::Wait }
}

fn sink() -> Option<Receiver> {
    Some(Receiver::Sink(Box::new(Sink::new(ChecksumCheck::On))))
}

/// Two connected ports.
fn ports() -> [AfPacketPort; 2] {
    veth_pair("v0", "v1", 1500);
    [*open(0, "v0").port, *open(1, "v1").port]
}

#[test]
fn packets_go_from_one_interface_to_the_other() {
    in_namespace(|| {
        let [mut tx, mut rx] = ports();
        for flows in [FlowOptions::ipv4(), FlowOptions::ipv6()] {
            let content = Content::Flows { flows, sizes: "84,700,1518".parse().unwrap() };
            let generator = GeneratorOptions { content, ..options() };
            let mut trial = Trial::one_way(&mut tx, &mut rx, generator).unwrap();
            trial.stations[1].receiver = sink();
            let result = trial.run(&Control::new(2)).unwrap();
            let totals = &result.totals;
            assert_eq!((totals.n_sent, totals.n_received, totals.n_lost), (N, N, 0), "{result:?}");
            assert_eq!((totals.n_reordered, totals.n_corrupted, totals.n_wrong_checksums), (0, 0, 0));
            assert_eq!(totals.latency.unwrap().n, N);
        }
    });
}

#[test]
fn both_directions_and_a_vlan() {
    in_namespace(|| {
        let [mut a, mut b] = ports();
        let generator = |stream| {
            let vlan = Some(traffic::Vlan { id: 100, priority: 5 });
            let flows = FlowOptions { vlan, ..FlowOptions::ipv4() };
            let content = Content::Flows { flows, sizes: "68,1522".parse().unwrap() };
            let generator = Generator::new(GeneratorOptions { content, stream, ..options() }, Some(1514));
            Some(Sender::Generator(Box::new(generator.unwrap())))
        };
        let trial =
            Trial::new(vec![station(&mut a, generator(0), sink()), station(&mut b, generator(1), sink())]);
        let result = trial.run(&Control::new(2)).unwrap();
        assert_eq!((result.totals.n_received, result.totals.n_lost), (2 * N, 0), "{result:?}");
    });
}

#[test]
fn a_port_knows_its_mtu() {
    in_namespace(|| {
        let [mut tx, mut rx] = ports();
        ip("link set v0 mtu 1400");
        let refused = Trial::one_way(&mut tx, &mut rx, options()).unwrap_err().to_string();
        assert!(
            refused.contains("1518 bytes are too long") && refused.contains("an MTU of 1400"),
            "{refused}"
        );
    });
}

fn write_capture(path: &Path, packets: &[Packet]) {
    let mut writer = PcapWriter::new("test", File::create(path).unwrap(), LINK_TYPE_ETHERNET).unwrap();
    packets.iter().for_each(|packet| writer.write(packet).unwrap());
    writer.finish().unwrap();
}

fn packets_of(path: &Path) -> Vec<Vec<u8>> {
    PacketReader::open(path).unwrap().map(|packet| packet.unwrap().data).collect()
}

#[test]
fn a_capture_is_replayed_and_recorded() {
    in_namespace(|| {
        let [mut tx, mut rx] = ports();
        let dir = tempfile::tempdir().unwrap();
        let (input, output) = (dir.path().join("in.pcap"), dir.path().join("out.pcapng"));
        let packets: Vec<Packet> = (0..50)
            .map(|n| Packet::new(namespace::packet(60 + 10 * n, n)).at(1_000_000 * n as u64))
            .collect();
        write_capture(&input, &packets);
        let replay_options = ReplayOptions {
            pace: Pace::Capture { speed: 10.0 },
            n_rounds: Some(3),
            is_cut_skipped: false,
            burst_max: 32,
        };
        let replay = Replay::read(&input, replay_options, Some(1514)).unwrap();
        assert_eq!((replay.n_packets(), replay.n_skipped()), (50, 0));
        let recording = Recording::new(Some(&output), "v1").unwrap();
        let mut trial = Trial::new(vec![
            station(&mut tx, Some(Sender::Replay(Box::new(replay))), None),
            station(&mut rx, None, Some(Receiver::Recording(Box::new(recording)))),
        ]);
        trial.drain = Duration::from_millis(500);
        let result = trial.run(&Control::new(2)).unwrap();
        assert_eq!((result.totals.n_sent, result.totals.n_received), (150, 150));
        let found = packets_of(&output);
        let expected: Vec<Vec<u8>> = packets.into_iter().map(|packet| packet.data).collect();
        assert_eq!(found, [expected.clone(), expected.clone(), expected].concat());
        let too_long = Replay::read(&input, replay_options, Some(500)).unwrap_err().to_string();
        assert!(too_long.contains("packet 46 has 510 bytes, but the port takes 500"), "{too_long}");
    });
}

#[test]
fn packets_of_a_capture_carry_signatures() {
    in_namespace(|| {
        let [mut tx, mut rx] = ports();
        let dir = tempfile::tempdir().unwrap();
        let (record, input) = (dir.path().join("recorded.pcap"), dir.path().join("in.pcap"));
        let generator = Generator::new(GeneratorOptions { n_packets: Some(200), ..options() }, None).unwrap();
        let recording = Recording::new(Some(&record), "v1").unwrap();
        let mut trial = Trial::new(vec![
            station(&mut tx, Some(Sender::Generator(Box::new(generator))), None),
            station(&mut rx, None, Some(Receiver::Recording(Box::new(recording)))),
        ]);
        trial.drain = Duration::from_millis(500);
        trial.run(&Control::new(2)).unwrap();
        // What was sent, an ARP packet, and one that was cut.
        let mut packets: Vec<Packet> = packets_of(&record).into_iter().map(Packet::new).collect();
        let mut cut = packets[1].clone();
        cut.data.truncate(50);
        packets.extend([cut, Packet::new(namespace::packet(60, 1))]);
        write_capture(&input, &packets);
        let frames = CapturedFrames::read(&input).unwrap();
        assert_eq!(frames.n_left_out(), 2);
        let generator = GeneratorOptions { content: Content::Capture(frames), ..options() };
        let mut trial = Trial::one_way(&mut tx, &mut rx, generator).unwrap();
        trial.stations[1].receiver = sink();
        let result = trial.run(&Control::new(2)).unwrap();
        let totals = &result.totals;
        assert_eq!((totals.n_sent, totals.n_received, totals.n_wrong_checksums), (N, N, 0), "{result:?}");
        assert_eq!(result.stations[1].received.as_ref().unwrap().streams[0].counts.flows.n_flows, 100);
    });
}

#[test]
fn a_search_over_a_cable_ends() {
    in_namespace(|| {
        let [mut tx, mut rx] = ports();
        let search = SearchOptions {
            flows: FlowOptions::ipv4(),
            trial: Duration::from_millis(30),
            loss_max: 0.5,
            resolution: 0.2,
            rate_max: Rate::PacketsPerS(20_000),
            burst_max: 32,
        };
        let (mut n_run, mut n_told) = (0, 0);
        let mut run = |generator| {
            n_run += 1;
            Trial::one_way(&mut tx, &mut rx, generator)?.run(&Control::new(2)).map(Some)
        };
        let point =
            traffic::search(&search, &Sizes::fixed(128), &mut run, &mut |_| n_told += 1).unwrap().unwrap();
        assert_eq!((point.sizes.as_str(), n_run), ("128", n_told));
        assert_eq!(point.trials.len() + usize::from(point.half.is_some()), n_run);
        assert!(point.trials.iter().all(|trial| trial.totals.n_sent > 0));
    });
}
