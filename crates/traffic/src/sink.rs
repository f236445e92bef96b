//! The sink: accounts for received packets by their signatures.

use crate::FCS_BYTES;
use crate::fill::Checker;
use crate::latency::{Latencies, Latency};
use crate::layers::Layers;
use crate::sequence::{Arrival, SequenceTracker};
use crate::signature::{Found, N_STREAMS_MAX, Payload, SIGNATURE_BYTES, Signature};
use packet_io::PacketBuf;
use serde::Serialize;

/// Gaps in the sequence numbers of a stream that the sink remembers to tell reordered packets from duplicates.
const STREAM_GAPS_MAX: usize = 16_384;

/// Gaps in the sequence numbers of a flow that the sink remembers.
const FLOW_GAPS_MAX: usize = 64;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChecksumCheck {
    #[default]
    Off,
    /// Check IPv4, UDP and TCP checksums of packets with a signature.
    On,
}

/// Receives packets; the thread of a port hands them over.
#[derive(Debug)]
pub struct Sink {
    checksum_check: ChecksumCheck,
    streams: Vec<Option<Box<Stream>>>,
    checker: Checker,
    n_packets: u64,
    n_bytes: u64,
    n_foreign: u64,
    n_corrupted: u64,
    n_wrong_checksums: u64,
    first_ns: u64,
    last_ns: u64,
}

/// Packets of one stream.
#[derive(Debug)]
struct Stream {
    tracker: SequenceTracker,
    flows: Vec<SequenceTracker>,
    latencies: Latencies,
    n_bytes: u64,
    /// Time of sending of the packet with the highest sequence number.
    newest_time_ns: u64,
    n_restarts: u64,
    /// Counts of generators that have been restarted since.
    before: StreamCounts,
}

impl Stream {
    fn new() -> Stream {
        Stream {
            tracker: SequenceTracker::default(),
            flows: Vec::new(),
            latencies: Latencies::new(),
            n_bytes: 0,
            newest_time_ns: 0,
            n_restarts: 0,
            before: StreamCounts::default(),
        }
    }

    fn arrive(&mut self, signature: &Signature, now_ns: u64, frame_bytes: usize) {
        let seen = self.tracker.next() > 0;
        let mut seq = if seen { self.extended(signature.seq) } else { u64::from(signature.seq) };
        if seen && seq < self.tracker.next() && signature.is_sent_after(self.newest_time_ns) {
            // Sent later, but with a lower number: another run of the generator.
            self.before = self.counts();
            self.n_restarts += 1;
            self.tracker = SequenceTracker::default();
            self.flows.clear();
            seq = u64::from(signature.seq);
        }
        let arrival = self.tracker.arrive(seq, STREAM_GAPS_MAX);
        if arrival == Arrival::Duplicate {
            return;
        }
        let flow = signature.flow as usize;
        if self.flows.len() <= flow {
            self.flows.resize_with(flow + 1, SequenceTracker::default);
        }
        let tracker = &mut self.flows[flow];
        let flow_seq = match (tracker.next(), arrival) {
            (0, _) => u64::from(signature.flow_seq),
            // The newest of the stream is the newest of its flow, too.
            (next, Arrival::InOrder) => next + u64::from(signature.flow_seq.wrapping_sub(next as u16)),
            (next, _) => {
                let behind = signature.flow_seq.wrapping_sub(next as u16) as i16;
                next.saturating_add_signed(i64::from(behind))
            }
        };
        tracker.arrive(flow_seq, FLOW_GAPS_MAX);
        if arrival == Arrival::InOrder {
            self.newest_time_ns = signature.time_ns;
        }
        self.latencies.record(signature.age_ns(now_ns));
        self.n_bytes += frame_bytes as u64;
    }

    /// The sequence number with its upper bits, which is next to the newest one.
    fn extended(&self, seq: u32) -> u64 {
        let newest = self.tracker.next().saturating_sub(1);
        let ahead = seq.wrapping_sub(newest as u32) as i32;
        newest.saturating_add_signed(i64::from(ahead))
    }

    fn counts(&self) -> StreamCounts {
        let flows = &self.flows;
        let seen = || flows.iter().filter(|flow| flow.n_unique() > 0);
        let lost = SequenceTracker::n_missing;
        let b = &self.before;
        StreamCounts {
            n_received: b.n_received + self.tracker.n_unique(),
            n_duplicates: b.n_duplicates + self.tracker.n_duplicates(),
            n_reordered: b.n_reordered + self.tracker.n_reordered(),
            n_too_late: b.n_too_late + self.tracker.n_too_late(),
            n_missing: b.n_missing + self.tracker.n_missing(),
            n_missing_before_first: b.n_missing_before_first + self.tracker.n_missing_before_first(),
            extent_max: b.extent_max.max(self.tracker.extent_max()),
            extent_sum: b.extent_sum + self.tracker.extent_sum(),
            flows: FlowCounts {
                n_flows: b.flows.n_flows.max(seen().count() as u64),
                n_flows_with_gaps: b.flows.n_flows_with_gaps + seen().filter(|f| lost(f) > 0).count() as u64,
                n_missing_max: b.flows.n_missing_max.max(seen().map(lost).max().unwrap_or(0)),
                n_reordered: b.flows.n_reordered + seen().map(SequenceTracker::n_reordered).sum::<u64>(),
                n_flows_reordered: b.flows.n_flows_reordered
                    + seen().filter(|flow| flow.n_reordered() > 0).count() as u64,
                extent_max: b
                    .flows
                    .extent_max
                    .max(seen().map(SequenceTracker::extent_max).max().unwrap_or(0)),
            },
        }
    }
}

/// Packets of one stream. All but `n_duplicates` count each packet once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StreamCounts {
    pub n_received: u64,
    pub n_duplicates: u64,
    /// Packets that arrived after one that was sent later (RFC 4737).
    pub n_reordered: u64,
    /// Packets too old to be told from duplicates; they count as received.
    pub n_too_late: u64,
    /// Sequence numbers that are missing between the first packet that arrived and the newest.
    pub n_missing: u64,
    /// Sequence numbers before the first packet that arrived: lost, or sent before the sink listened.
    pub n_missing_before_first: u64,
    /// The largest reordering extent in packets.
    pub extent_max: u64,
    /// The sum of all reordering extents.
    pub extent_sum: u64,
    pub flows: FlowCounts,
}

/// The flows of a stream by their own sequence numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FlowCounts {
    pub n_flows: u64,
    /// Flows in which packets are missing between the first one and the newest.
    pub n_flows_with_gaps: u64,
    /// Packets missing in the flow that lost most.
    pub n_missing_max: u64,
    /// Packets that arrived after one of their own flow that was sent later.
    pub n_reordered: u64,
    pub n_flows_reordered: u64,
    /// The largest reordering extent in packets of the flow.
    pub extent_max: u64,
}

/// Packets of one stream that a sink received.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StreamResult {
    pub stream: u8,
    #[serde(flatten)]
    pub counts: StreamCounts,
    /// Frames with their check sequences.
    pub n_bytes: u64,
    /// Runs of the generator after the first one: its sequence numbers began again.
    pub n_restarts: u64,
    pub latency: Option<Latency>,
}

/// Packets that a sink received.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SinkResult {
    /// All packets.
    pub n_packets: u64,
    /// Frames of all packets with their check sequences.
    pub n_bytes: u64,
    /// Packets without a signature.
    pub n_foreign: u64,
    /// Packets with a damaged signature, which count as lost, or a damaged payload.
    pub n_corrupted: u64,
    /// Packets with a wrong checksum of IPv4, UDP or TCP, if checksums are checked.
    pub n_wrong_checksums: u64,
    /// From the first packet to the last.
    pub duration_ns: u64,
    pub packets_per_s: f64,
    pub streams: Vec<StreamResult>,
}

impl Sink {
    pub fn new(checksum_check: ChecksumCheck) -> Sink {
        Sink {
            checksum_check,
            streams: (0..N_STREAMS_MAX).map(|_| None).collect(),
            checker: Checker::default(),
            n_packets: 0,
            n_bytes: 0,
            n_foreign: 0,
            n_corrupted: 0,
            n_wrong_checksums: 0,
            first_ns: 0,
            last_ns: 0,
        }
    }

    /// Accounts for packets that were received at `now_ns`.
    pub fn take(&mut self, burst: &[PacketBuf], now_ns: u64) {
        if burst.is_empty() {
            return;
        }
        if self.n_packets == 0 {
            self.first_ns = now_ns;
        }
        self.last_ns = now_ns;
        burst.iter().for_each(|buf| self.take_one(buf.data(), now_ns));
    }

    fn take_one(&mut self, frame: &[u8], now_ns: u64) {
        self.n_packets += 1;
        self.n_bytes += (frame.len() + FCS_BYTES) as u64;
        let mut found = Signature::find(frame);
        let mut end = frame.len();
        let layers = Layers::find(frame);
        if found == Found::Nothing
            && let Some(layers) = layers
        {
            // A device has padded a frame that it has made shorter.
            end = layers.end;
            found = Signature::find(&frame[..end]);
        }
        let signature = match found {
            Found::Valid(signature) => signature,
            Found::Corrupted => {
                self.n_corrupted += 1;
                return;
            }
            Found::Nothing => {
                self.n_foreign += 1;
                return;
            }
        };
        if let Some(layers) = layers {
            let fill = frame.get(layers.payload_at..end.saturating_sub(SIGNATURE_BYTES)).unwrap_or(&[]);
            if signature.payload == Payload::Filled && !self.checker.is_pattern(fill) {
                self.n_corrupted += 1;
            }
            if self.checksum_check == ChecksumCheck::On && !layers.has_right_checksums(frame) {
                self.n_wrong_checksums += 1;
            }
        }
        if let Some(stream) = self.streams.get_mut(usize::from(signature.stream)) {
            stream.get_or_insert_with(|| Box::new(Stream::new())).arrive(
                &signature,
                now_ns,
                frame.len() + FCS_BYTES,
            );
        }
    }

    /// All packets so far.
    pub fn n_packets(&self) -> u64 {
        self.n_packets
    }

    pub(crate) fn n_bytes(&self) -> u64 {
        self.n_bytes
    }

    /// Packets of a stream so far, each counted once.
    pub fn n_received(&self, stream: u8) -> u64 {
        let stream = self.streams.get(usize::from(stream)).and_then(Option::as_ref);
        stream.map_or(0, |stream| stream.before.n_received + stream.tracker.n_unique())
    }

    /// Packets of all streams so far, each counted once.
    pub(crate) fn n_received_all(&self) -> u64 {
        (0..N_STREAMS_MAX).map(|stream| self.n_received(stream as u8)).sum()
    }

    /// Sequence numbers that are missing so far in all streams.
    pub(crate) fn n_missing(&self) -> u64 {
        let missing = |stream: &Stream| stream.before.n_missing + stream.tracker.n_missing();
        self.streams.iter().flatten().map(|stream| missing(stream)).sum()
    }

    /// Latencies of all streams.
    pub(crate) fn latencies(&self) -> Latencies {
        let mut all = Latencies::new();
        self.streams.iter().flatten().for_each(|stream| all.add(&stream.latencies));
        all
    }

    pub fn result(&self) -> SinkResult {
        let duration_ns = self.last_ns - self.first_ns;
        let per_s = |n: u64| if duration_ns == 0 { 0.0 } else { n as f64 * 1e9 / duration_ns as f64 };
        SinkResult {
            n_packets: self.n_packets,
            n_bytes: self.n_bytes,
            n_foreign: self.n_foreign,
            n_corrupted: self.n_corrupted,
            n_wrong_checksums: self.n_wrong_checksums,
            duration_ns,
            packets_per_s: per_s(self.n_packets),
            streams: (0u8..)
                .zip(&self.streams)
                .filter_map(|(stream, state)| state.as_ref().map(|state| (stream, state)))
                .map(|(stream, state)| StreamResult {
                    stream,
                    counts: state.counts(),
                    n_bytes: state.n_bytes,
                    n_restarts: state.n_restarts,
                    latency: state.latencies.summary(),
                })
                .collect(),
        }
    }
}
