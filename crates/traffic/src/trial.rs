//! A trial: generators and sinks on ports, each port on a thread of its own.

use crate::TrafficError;
use crate::generator::{Generator, GeneratorOptions};
use crate::latency::{Latencies, Latency};
use crate::sink::{ChecksumCheck, Sink};
use crate::stalls::Stalls;
use crate::station::{self, Control, Ending, IdleMode, Receiver, Sender, Station, StationResult};
use packet_io::Port;
use serde::Serialize;
use std::sync::Barrier;
use std::time::Duration;

/// Time to wait for packets after the last one was sent, unless all have arrived (RFC 2544, section 23, has 2 s).
pub const DRAIN_DEFAULT: Duration = Duration::from_secs(2);

/// Stations that run together.
#[derive(Debug)]
pub struct Trial<'p> {
    pub stations: Vec<Station<'p>>,
    /// Time to wait for packets after the last sender has ended. All packets arrived: no wait.
    pub drain: Duration,
    /// Without senders: time to receive for.
    pub duration: Option<Duration>,
    /// Without senders: number of packets to wait for.
    pub n_packets: Option<u64>,
}

/// Packets that all stations sent and received together.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Totals {
    /// Packets that the sending ports took.
    pub n_sent: u64,
    /// Packets with a signature, each counted once; in a replay all packets.
    pub n_received: u64,
    /// Sent and not received. Without senders, what is missing between the first packet and the newest.
    pub n_lost: u64,
    /// `n_lost` of `n_sent`, 0 to 1.
    pub loss_ratio: f64,
    pub n_duplicates: u64,
    pub n_reordered: u64,
    pub n_corrupted: u64,
    pub n_wrong_checksums: u64,
    /// Packets without a signature.
    pub n_foreign: u64,
    /// Packets that sinks dropped, since they were too slow. They count as lost, too.
    pub n_dropped_by_sinks: u64,
    pub sent_packets_per_s: f64,
    pub received_packets_per_s: f64,
    pub sent_line_bits_per_s: f64,
    pub latency: Option<Latency>,
    pub stalls: Stalls,
}

#[derive(Clone, Debug, Serialize)]
pub struct TrialResult {
    pub totals: Totals,
    /// In the order of the stations.
    pub stations: Vec<StationResult>,
}

impl<'p> Trial<'p> {
    /// Sends from one port and receives at the other.
    pub fn one_way(
        tx: &'p mut dyn Port,
        rx: &'p mut dyn Port,
        generator: GeneratorOptions,
    ) -> Result<Trial<'p>, TrafficError> {
        let generator = Generator::new(generator, tx.frame_bytes_max())?;
        let sink = Sink::new(ChecksumCheck::Off);
        Ok(Trial::new(vec![
            Station {
                port: tx,
                sender: Some(Sender::Generator(Box::new(generator))),
                receiver: None,
                core: None,
                idle: IdleMode::Spin,
            },
            Station {
                port: rx,
                sender: None,
                receiver: Some(Receiver::Sink(Box::new(sink))),
                core: None,
                idle: IdleMode::Spin,
            },
        ]))
    }

    pub fn new(stations: Vec<Station<'p>>) -> Trial<'p> {
        Trial { stations, drain: DRAIN_DEFAULT, duration: None, n_packets: None }
    }

    /// Runs until all generators are done and their packets have arrived or are late, or until somebody stops it. `control` is
    /// new, and has as many ports as there are stations.
    pub fn run(self, control: &Control) -> Result<TrialResult, TrafficError> {
        let n_senders = self.stations.iter().filter(|station| station.sender.is_some()).count();
        let n_recordings = self
            .stations
            .iter()
            .filter(|station| matches!(station.receiver, Some(Receiver::Recording(_))))
            .count();
        control.set_n_senders(n_senders);
        let ns = |duration: Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let ending = Ending {
            drain_ns: ns(self.drain),
            duration_ns: self.duration.map(ns),
            n_packets: self.n_packets,
            has_senders: n_senders > 0,
            is_closed: n_recordings == 0,
        };
        let ready = Barrier::new(self.stations.len());
        let results: Vec<Result<StationResult, TrafficError>> = std::thread::scope(|scope| {
            let threads: Vec<_> = self
                .stations
                .into_iter()
                .enumerate()
                .map(|(number, station)| {
                    let ready = &ready;
                    scope.spawn(move || station::run(station, number, control, ending, ready))
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap_or(Err(TrafficError::Thread))).collect()
        });
        let stations = results.into_iter().collect::<Result<Vec<_>, _>>()?;
        Ok(TrialResult { totals: totals(&stations), stations })
    }
}

fn totals(stations: &[StationResult]) -> Totals {
    let mut totals = Totals::default();
    let mut latencies = Latencies::new();
    let (mut n_missing, mut has_senders, mut has_receivers) = (0, false, false);
    for station in stations {
        totals.stalls.add(&station.stalls);
        if let Some(sent) = &station.sent {
            has_senders = true;
            totals.n_sent += sent.n_sent;
            totals.sent_packets_per_s += sent.packets_per_s;
            totals.sent_line_bits_per_s += sent.line_bits_per_s;
        }
        if let Some(received) = &station.received {
            has_receivers = true;
            totals.received_packets_per_s += received.packets_per_s;
            totals.n_corrupted += received.n_corrupted;
            totals.n_wrong_checksums += received.n_wrong_checksums;
            totals.n_foreign += received.n_foreign;
            totals.n_dropped_by_sinks += station.rx_dropped.iter().map(|(_, n)| n).sum::<u64>();
            for stream in &received.streams {
                totals.n_received += stream.counts.n_received;
                totals.n_duplicates += stream.counts.n_duplicates;
                totals.n_reordered += stream.counts.n_reordered;
                n_missing += stream.counts.n_missing;
            }
        }
        if let Some(recorded) = &station.recorded {
            totals.n_received += recorded.n_packets;
        }
        station.latencies.iter().for_each(|other| latencies.add(other));
    }
    let n_expected = match (has_senders, has_receivers) {
        (true, true) => {
            totals.n_lost = totals.n_sent.saturating_sub(totals.n_received);
            totals.n_sent
        }
        (false, true) => {
            totals.n_lost = n_missing;
            totals.n_received + n_missing
        }
        (_, false) => 0,
    };
    totals.loss_ratio = if n_expected == 0 { 0.0 } else { totals.n_lost as f64 / n_expected as f64 };
    totals.latency = latencies.summary();
    totals
}
