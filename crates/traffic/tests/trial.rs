//! Generators, links in memory that do things to packets, and sinks.

use packet_io::{BufPool, PacketBuf, Port, PortError, PortId, PortStats};
use std::time::Duration;
use traffic::{
    ChecksumCheck, Content, Control, FlowOptions, FlowOrder, Generator, GeneratorOptions, IdleMode, LinkPort,
    NullPort, Protocol, Rate, Receiver, Sender, Sink, Sizes, Station, Trial, TrialResult, link,
};

/// Something that happens to the packet with this number, counted from 0.
type Fate = fn(u64, &mut PacketBuf) -> Action;

enum Action {
    Send,
    Lose,
    Twice,
    /// After the next packet.
    Later,
}

/// The sending end of a link with a bad cable.
#[derive(Debug)]
struct BadPort {
    inner: LinkPort,
    n: u64,
    fate: Fate,
    later: Vec<PacketBuf>,
}

impl Port for BadPort {
    fn id(&self) -> PortId {
        self.inner.id()
    }

    fn rx_burst(
        &mut self,
        pool: &mut BufPool,
        burst: &mut Vec<PacketBuf>,
        n_max: usize,
    ) -> Result<usize, PortError> {
        self.inner.rx_burst(pool, burst, n_max)
    }

    fn tx_burst(&mut self, pool: &mut BufPool, burst: &mut Vec<PacketBuf>) -> Result<usize, PortError> {
        let n = burst.len();
        let mut out = Vec::new();
        for mut buf in burst.drain(..) {
            let late = self.later.pop();
            match (self.fate)(self.n, &mut buf) {
                Action::Send => out.push(buf),
                Action::Lose => pool.give_back(buf),
                Action::Twice => {
                    let mut copy = PacketBuf::new(buf.capacity(), buf.headroom());
                    assert!(copy.set_data(buf.data()));
                    out.extend([buf, copy]);
                }
                Action::Later => self.later.push(buf),
            }
            out.extend(late);
            self.n += 1;
        }
        while !out.is_empty() {
            self.inner.tx_burst(pool, &mut out)?;
        }
        Ok(n)
    }

    fn set_back_pressure(&mut self, is_wanted: bool) {
        self.inner.set_back_pressure(is_wanted);
    }

    fn stats(&mut self) -> PortStats {
        self.inner.stats()
    }
}

fn options(n_packets: u64) -> GeneratorOptions {
    GeneratorOptions { n_packets: Some(n_packets), ..GeneratorOptions::flood() }
}

fn flows(options: GeneratorOptions, flows: FlowOptions, sizes: &str) -> GeneratorOptions {
    GeneratorOptions { content: Content::Flows { flows, sizes: sizes.parse().unwrap() }, ..options }
}

fn run(options: GeneratorOptions, fate: Fate) -> TrialResult {
    let [tx, mut rx] = link([PortId(0), PortId(1)], 4096);
    let mut tx = BadPort { inner: tx, n: 0, fate, later: Vec::new() };
    let mut trial = Trial::one_way(&mut tx, &mut rx, options).unwrap();
    trial.drain = Duration::from_millis(300);
    trial.stations[1].receiver = Some(Receiver::Sink(Box::new(Sink::new(ChecksumCheck::On))));
    let control = Control::new(2);
    trial.run(&control).unwrap()
}

#[test]
fn a_good_link_loses_nothing() {
    for (protocol, sizes) in [(Protocol::Udp, "64"), (Protocol::Tcp, "imix"), (Protocol::Udp, "65,1001,9000")]
    {
        let flow_options = FlowOptions {
            n_flows: 300,
            order: FlowOrder::Zipf { exponent: 1.0 },
            protocol,
            ..FlowOptions::ipv4()
        };
        let sizes = if protocol == Protocol::Tcp { "76,594,1518" } else { sizes };
        let result = run(flows(options(20_000), flow_options, sizes), |_, _| Action::Send);
        let totals = &result.totals;
        assert_eq!((totals.n_sent, totals.n_received, totals.n_lost), (20_000, 20_000, 0));
        assert_eq!((totals.n_foreign, totals.n_corrupted, totals.n_wrong_checksums), (0, 0, 0));
        assert_eq!(totals.latency.unwrap().n, 20_000);
        let stream = &result.stations[1].received.as_ref().unwrap().streams[0];
        assert!(stream.counts.flows.n_flows > 200 && stream.counts.flows.n_flows_with_gaps == 0);
        assert_eq!(stream.n_bytes, result.stations[0].sent.as_ref().unwrap().n_bytes);
    }
}

#[test]
fn each_kind_of_fault_is_counted() {
    let one_flow = || options(10_000);
    let lost = run(one_flow(), |n, _| if n % 100 == 7 { Action::Lose } else { Action::Send });
    assert_eq!((lost.totals.n_received, lost.totals.n_lost), (9900, 100));
    assert!((lost.totals.loss_ratio - 0.01).abs() < 1e-9);

    let twice = run(one_flow(), |n, _| if n % 50 == 0 { Action::Twice } else { Action::Send });
    assert_eq!((twice.totals.n_lost, twice.totals.n_duplicates, twice.totals.n_reordered), (0, 200, 0));

    let later = run(one_flow(), |n, _| if n % 10 == 3 { Action::Later } else { Action::Send });
    assert_eq!((later.totals.n_lost, later.totals.n_reordered), (0, 1000));
    let counts = &later.stations[1].received.as_ref().unwrap().streams[0].counts;
    assert_eq!((counts.extent_max, counts.extent_sum, counts.flows.n_reordered), (1, 1000, 1000));

    // Two flows in turn: packets of one flow stay in order.
    let two = FlowOptions { n_flows: 2, ..FlowOptions::ipv4() };
    let later =
        run(flows(options(10_000), two, "64"), |n, _| if n % 10 == 3 { Action::Later } else { Action::Send });
    let counts = &later.stations[1].received.as_ref().unwrap().streams[0].counts;
    assert_eq!((counts.n_reordered, counts.flows.n_reordered, counts.flows.n_flows), (1000, 0, 2));

    let damaged = run(flows(options(1000), FlowOptions::ipv4(), "100"), |n, buf| {
        match n {
            // The payload, the signature, the magic of the signature, the IPv4 header.
            1 => buf.data_mut()[50] ^= 1,
            2 => buf.data_mut()[95] ^= 0x10,
            3 => buf.data_mut()[78] ^= 0x80,
            4 => buf.data_mut()[22] ^= 1,
            _ => {}
        }
        Action::Send
    });
    let totals = &damaged.totals;
    assert_eq!((totals.n_corrupted, totals.n_foreign, totals.n_lost), (2, 1, 2));
    // The damaged payload and the damaged header.
    assert_eq!(totals.n_wrong_checksums, 2);
}

#[test]
fn packets_that_a_device_shortened_and_padded_are_found() {
    let options = flows(
        options(100),
        FlowOptions { vlan: Some(traffic::Vlan { id: 7, priority: 0 }), ..FlowOptions::ipv4() },
        "68",
    );
    let result = run(options, |_, buf| {
        // Takes the VLAN tag off.
        let data = buf.data().to_vec();
        let untagged = [&data[..12], &data[16..], &[0; 4]].concat();
        assert!(buf.set_data(&untagged));
        Action::Send
    });
    assert_eq!((result.totals.n_received, result.totals.n_foreign), (100, 0));
}

#[test]
fn both_directions_at_once() {
    let [mut a, mut b] = link([PortId(0), PortId(1)], 4096);
    let generator = |stream| {
        let options = GeneratorOptions { stream, ..options(5000) };
        Some(Sender::Generator(Box::new(Generator::new(options, None).unwrap())))
    };
    let sink = || Some(Receiver::Sink(Box::new(Sink::new(ChecksumCheck::Off))));
    let trial = Trial::new(vec![
        Station { port: &mut a, sender: generator(0), receiver: sink(), core: None, idle: IdleMode::Wait },
        Station { port: &mut b, sender: generator(1), receiver: sink(), core: None, idle: IdleMode::Spin },
    ]);
    let result = trial.run(&Control::new(2)).unwrap();
    assert_eq!((result.totals.n_sent, result.totals.n_received, result.totals.n_lost), (10_000, 10_000, 0));
    for (station, stream) in result.stations.iter().zip([1, 0]) {
        let received = station.received.as_ref().unwrap();
        assert_eq!((received.streams.len(), received.streams[0].stream), (1, stream));
        assert_eq!(received.streams[0].counts.n_received, 5000);
    }
}

#[test]
fn a_restarted_generator_is_another_run() {
    let mut sink = Sink::new(ChecksumCheck::Off);
    for round in 0..3 {
        let [mut tx, mut rx] = link([PortId(0), PortId(1)], 10_000);
        Trial::new(vec![Station {
            port: &mut tx,
            sender: Some(Sender::Generator(Box::new(Generator::new(options(1000 + round), None).unwrap()))),
            receiver: None,
            core: None,
            idle: IdleMode::Spin,
        }])
        .run(&Control::new(1))
        .unwrap();
        let (mut pool, mut burst) = (BufPool::new(packet_io::BufPoolOptions::JUMBO), Vec::new());
        rx.rx_burst(&mut pool, &mut burst, 10_000).unwrap();
        // Of the second run one packet is lost.
        if round == 1 {
            burst.remove(500);
        }
        sink.take(&burst, traffic::now_ns());
    }
    let stream = &sink.result().streams[0];
    assert_eq!((stream.n_restarts, stream.counts.n_received), (2, 1000 + 1000 + 1002));
    assert_eq!((stream.counts.n_missing, stream.counts.n_duplicates, stream.counts.n_reordered), (1, 0, 0));
    assert_eq!(stream.counts.flows.n_flows_with_gaps, 1);
}

#[test]
fn a_sink_that_comes_late_does_not_count_what_was_before() {
    let [mut tx, mut rx] = link([PortId(0), PortId(1)], 10_000);
    let generator = Generator::new(options(1000), None).unwrap();
    Trial::new(vec![Station {
        port: &mut tx,
        sender: Some(Sender::Generator(Box::new(generator))),
        receiver: None,
        core: None,
        idle: IdleMode::Spin,
    }])
    .run(&Control::new(1))
    .unwrap();
    let (mut pool, mut burst) = (BufPool::new(packet_io::BufPoolOptions::JUMBO), Vec::new());
    rx.rx_burst(&mut pool, &mut burst, 10_000).unwrap();
    burst.drain(..100);
    burst.drain(300..303);
    let mut sink = Sink::new(ChecksumCheck::Off);
    sink.take(&burst, traffic::now_ns());
    let counts = &sink.result().streams[0].counts;
    assert_eq!((counts.n_missing, counts.n_missing_before_first, counts.n_received), (3, 100, 897));
}

#[test]
fn a_full_link_delays_packets_and_loses_none() {
    let [mut tx, mut rx] = link([PortId(0), PortId(1)], 16);
    let mut trial = Trial::one_way(&mut tx, &mut rx, options(5000)).unwrap();
    trial.drain = Duration::from_secs(20);
    let result = trial.run(&Control::new(2)).unwrap();
    assert_eq!((result.totals.n_received, result.totals.n_lost, result.totals.n_reordered), (5000, 0, 0));
}

#[test]
fn a_stopped_trial_has_results() {
    let mut port = NullPort::new(PortId(4));
    let generator = Generator::new(GeneratorOptions::flood(), None).unwrap();
    let trial = Trial::new(vec![Station {
        port: &mut port,
        sender: Some(Sender::Generator(Box::new(generator))),
        receiver: None,
        core: None,
        idle: IdleMode::Spin,
    }]);
    let control = Control::new(1);
    let result = std::thread::scope(|scope| {
        let running = scope.spawn(|| trial.run(&control));
        while control.ports[0].n_sent.load(std::sync::atomic::Ordering::Relaxed) == 0 {
            std::thread::yield_now();
        }
        control.stop();
        running.join().unwrap()
    });
    let result = result.unwrap();
    assert!(result.totals.n_sent > 0 && result.totals.n_lost == 0);
    assert_eq!(result.stations[0].port, 4);
}

#[test]
fn options_that_cannot_be_met_are_refused() {
    let refused =
        |options, frame_bytes_max| Generator::new(options, frame_bytes_max).unwrap_err().to_string();
    let long = flows(options(1), FlowOptions::ipv4(), "64,1519");
    let said = refused(long.clone(), Some(1514));
    assert!(said.contains("1519 bytes are too long") && said.contains("1518 bytes at most"), "{said}");
    assert!(said.contains("an MTU of 1500"), "{said}");
    assert!(Generator::new(long, Some(1515)).is_ok());
    let tagged = FlowOptions { vlan: Some(traffic::Vlan { id: 7, priority: 0 }), ..FlowOptions::ipv4() };
    assert!(Generator::new(flows(options(1), tagged, "1522"), Some(1514)).is_ok());
    assert!(refused(GeneratorOptions { stream: 16, ..options(1) }, None).contains("0 to 15"));
    assert!(refused(GeneratorOptions { burst_max: 0, ..options(1) }, None).contains("1 to 64"));
    assert_eq!(Sizes::RFC2544.len(), 7);
    assert_eq!(Rate::Unlimited.to_string(), "as fast as the port takes");
}
