//! The generator: frames at a rate, each with its signature.

use crate::capture::CapturedFrames;
use crate::clock;
use crate::frames::{FlowOptions, Frames, Written};
use crate::rate::{LINE_OVERHEAD_BYTES, Pacer, Rate};
use crate::signature::{N_STREAMS_MAX, Signature};
use crate::sizes::{FRAME_BYTES_MAX, Sizes};
use crate::{FCS_BYTES, OptionsError};
use packet_io::limits::BURST_MAX;
use packet_io::{BufPool, PacketBuf, Port, PortError};
use serde::Serialize;
use std::time::Duration;

/// Frames that a generator sends.
#[derive(Clone, Debug)]
pub enum Content {
    /// Frames of these sizes, in these flows.
    Flows { flows: FlowOptions, sizes: Sizes },
    /// The frames of a capture, over and over.
    Capture(CapturedFrames),
}

#[derive(Clone, Debug)]
pub struct GeneratorOptions {
    pub content: Content,
    pub rate: Rate,
    /// Number of packets, unless the duration ends first [default: no limit].
    pub n_packets: Option<u64>,
    /// Time to send for [default: no limit].
    pub duration: Option<Duration>,
    /// Number of the stream, below [`N_STREAMS_MAX`]: a sink tells streams apart.
    pub stream: u8,
    /// Packets per call of the port, at most, 1 to [`BURST_MAX`].
    pub burst_max: usize,
}

impl GeneratorOptions {
    /// One flow of short frames for as long as nobody stops it, as fast as the port takes them.
    pub fn flood() -> GeneratorOptions {
        GeneratorOptions {
            content: Content::Flows { flows: FlowOptions::ipv4(), sizes: Sizes::fixed(64) },
            rate: Rate::Unlimited,
            n_packets: None,
            duration: None,
            stream: 0,
            burst_max: 32,
        }
    }
}

/// Sends packets; the thread of a port calls it again and again.
#[derive(Debug)]
pub struct Generator {
    frames: Frames,
    options: GeneratorOptions,
    pacer: Pacer,
    start_ns: u64,
    end_ns: u64,
    /// Time of day at time 0 of the clock, for captures.
    epoch_ns: u64,
    /// Sequence number of the next packet.
    seq: u64,
    flow_seqs: Vec<u16>,
    /// Packets that the port has not taken yet, and their marks.
    burst: Vec<PacketBuf>,
    marks: Vec<(Signature, usize)>,
    counts: Counts,
}

/// Running counts of a generator.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) n_sent: u64,
    pub(crate) n_refused: u64,
    /// Frames with their check sequence.
    pub(crate) n_bytes: u64,
    n_calls: u64,
    n_calls_blocked: u64,
    last_ns: u64,
}

/// Packets that a generator or a replay sent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GeneratorResult {
    pub stream: u8,
    /// The rate that was asked for.
    pub rate: Rate,
    /// Packets that the port took.
    pub n_sent: u64,
    /// Packets that the port dropped instead of sending them; they have sequence numbers, too.
    pub n_refused: u64,
    /// Frames that were sent, with their check sequences.
    pub n_bytes: u64,
    /// From the first packet to the last.
    pub duration_ns: u64,
    pub packets_per_s: f64,
    /// Bits on a line, with [`LINE_OVERHEAD_BYTES`] for each packet.
    pub line_bits_per_s: f64,
    /// Mean number of packets that the port took per call.
    pub packets_per_call: f64,
    /// Calls in which the port took no packet at all.
    pub n_calls_blocked: u64,
    /// Time in which the generator was too late to keep the rate, and left packets out.
    pub left_out_ns: u64,
    /// The longest time that a packet was sent later than the rate, or the capture, wants.
    pub late_max_ns: u64,
}

impl GeneratorResult {
    pub(crate) fn new(stream: u8, rate: Rate, start_ns: u64, counts: &Counts) -> GeneratorResult {
        let duration_ns = counts.last_ns.saturating_sub(start_ns);
        // The first packet is sent at the start: so many gaps lie between packets.
        let per_s = |n: f64| if duration_ns == 0 { 0.0 } else { n * 1e9 / duration_ns as f64 };
        let n_line_bytes = counts.n_bytes + counts.n_sent * LINE_OVERHEAD_BYTES as u64;
        let n_calls = counts.n_calls - counts.n_calls_blocked;
        GeneratorResult {
            stream,
            rate,
            n_sent: counts.n_sent,
            n_refused: counts.n_refused,
            n_bytes: counts.n_bytes,
            duration_ns,
            packets_per_s: per_s(counts.n_sent as f64),
            line_bits_per_s: per_s(8.0 * n_line_bytes as f64),
            packets_per_call: if n_calls == 0 { 0.0 } else { counts.n_sent as f64 / n_calls as f64 },
            n_calls_blocked: counts.n_calls_blocked,
            left_out_ns: 0,
            late_max_ns: 0,
        }
    }
}

impl Counts {
    /// Counts a call of a port, to which a burst with these frame sizes was handed. The port sent `n_sent`, and finished as
    /// many packets as there are sizes.
    pub(crate) fn called(&mut self, n_sent: usize, sizes: impl ExactSizeIterator<Item = usize>, now_ns: u64) {
        let n_done = sizes.len();
        self.n_calls += 1;
        if n_done == 0 {
            self.n_calls_blocked += 1;
            return;
        }
        let n_bytes: usize = sizes.sum();
        self.n_sent += n_sent as u64;
        self.n_refused += (n_done - n_sent.min(n_done)) as u64;
        self.n_bytes += match n_sent == n_done {
            true => n_bytes as u64,
            // The port does not say which of the packets it dropped.
            false => (n_bytes * n_sent / n_done) as u64,
        };
        self.last_ns = now_ns;
    }
}

impl Generator {
    /// Prepares the frames. `frame_bytes_max` is the longest frame that the port takes without its check sequence, if known.
    pub fn new(options: GeneratorOptions, frame_bytes_max: Option<usize>) -> Result<Generator, OptionsError> {
        let frames = match &options.content {
            Content::Flows { flows, sizes } => Frames::new(flows, sizes)?,
            Content::Capture(captured) => captured.frames(),
        };
        let (longest, room) = (frames.data_bytes_max(), FRAME_BYTES_MAX - FCS_BYTES);
        let tag_bytes = match &options.content {
            Content::Flows { flows: FlowOptions { vlan: Some(_), .. }, .. } => 4,
            Content::Flows { .. } | Content::Capture(_) => 0,
        };
        let room = frame_bytes_max.map_or(room, |max| max + tag_bytes).min(room);
        if longest > room {
            return Err(OptionsError(format!(
                "frames of {} bytes are too long: the port takes frames of {} bytes at most, with the 4 bytes of the \
                 check sequence (an MTU of {})",
                longest + FCS_BYTES,
                room + FCS_BYTES,
                room.saturating_sub(14 + tag_bytes)
            )));
        }
        if usize::from(options.stream) >= N_STREAMS_MAX {
            return Err(OptionsError(format!(
                "stream {}: there are 0 to {}",
                options.stream,
                N_STREAMS_MAX - 1
            )));
        }
        if !(1..=BURST_MAX).contains(&options.burst_max) {
            return Err(OptionsError(format!(
                "bursts of {}: there can be 1 to {BURST_MAX}",
                options.burst_max
            )));
        }
        Ok(Generator {
            flow_seqs: vec![0; frames.n_flows() as usize],
            frames,
            pacer: Pacer::new(options.rate, 0),
            start_ns: 0,
            end_ns: u64::MAX,
            epoch_ns: clock::epoch_ns(),
            seq: 0,
            burst: Vec::with_capacity(options.burst_max),
            marks: Vec::with_capacity(options.burst_max),
            counts: Counts::default(),
            options,
        })
    }

    pub fn stream(&self) -> u8 {
        self.options.stream
    }

    /// Begins now.
    pub(crate) fn start(&mut self, now_ns: u64) {
        self.start_ns = now_ns;
        self.pacer = Pacer::new(self.options.rate, now_ns);
        let duration_ns = self.options.duration.map(|d| u64::try_from(d.as_nanos()).unwrap_or(u64::MAX));
        self.end_ns = now_ns.saturating_add(duration_ns.unwrap_or(u64::MAX));
    }

    /// Returns true when all packets have been sent, or the time is over.
    pub(crate) fn is_done(&self, now_ns: u64) -> bool {
        let is_last = self.options.n_packets.is_some_and(|n| self.seq >= n) && self.burst.is_empty();
        is_last || now_ns >= self.end_ns
    }

    /// Time at which the next packet is due.
    pub(crate) fn due_ns(&self) -> u64 {
        self.pacer.due_ns().min(self.end_ns)
    }

    pub(crate) fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Sends what is due. Returns the number of packets that the port took or dropped.
    pub(crate) fn poll(
        &mut self,
        port: &mut dyn Port,
        pool: &mut BufPool,
        now_ns: u64,
    ) -> Result<usize, PortError> {
        self.pacer.refill(now_ns);
        let n_left = self.options.n_packets.map_or(u64::MAX, |n| n - self.seq);
        let n_more =
            (self.options.burst_max - self.burst.len()).min(usize::try_from(n_left).unwrap_or(usize::MAX));
        for _ in 0..n_more {
            if !self.pacer.is_due() {
                break;
            }
            let Some(mut buf) = pool.take() else { break };
            let Some(Written { flow, frame_bytes, payload }) = self.frames.write_next(&mut buf) else {
                // A short buffer, which came from elsewhere, makes room for one of the pool's own.
                pool.forget();
                continue;
            };
            let flow_seq = &mut self.flow_seqs[flow as usize];
            let (seq, stream) = (self.seq as u32, self.options.stream);
            let signature = Signature { payload, time_ns: 0, seq, stream, flow, flow_seq: *flow_seq };
            *flow_seq = flow_seq.wrapping_add(1);
            self.seq += 1;
            self.pacer.spend(frame_bytes);
            self.burst.push(buf);
            self.marks.push((signature, frame_bytes));
        }
        if self.burst.is_empty() {
            return Ok(0);
        }
        // All packets of a burst leave now, also those that the port did not take before.
        let time_ns = clock::now_ns();
        for (buf, (signature, _)) in self.burst.iter_mut().zip(&self.marks) {
            buf.timestamp_ns = time_ns + self.epoch_ns;
            if let Some(place) = buf.data_mut().last_chunk_mut() {
                Signature { time_ns, ..*signature }.write(place);
            }
        }
        let n_before = self.burst.len();
        let sent = port.tx_burst(pool, &mut self.burst);
        let n_done = n_before - self.burst.len();
        let n_sent = *sent.as_ref().unwrap_or(&0);
        self.counts.called(n_sent, self.marks.drain(..n_done).map(|(_, frame_bytes)| frame_bytes), time_ns);
        sent.map(|_| n_done)
    }

    /// Gives back what was not sent.
    pub(crate) fn finish(mut self, pool: &mut BufPool) -> GeneratorResult {
        self.burst.drain(..).for_each(|buf| pool.give_back(buf));
        let GeneratorOptions { stream, rate, .. } = self.options;
        GeneratorResult {
            left_out_ns: self.pacer.forgiven_ns(),
            late_max_ns: self.pacer.late_max_ns(),
            ..GeneratorResult::new(stream, rate, self.start_ns, &self.counts)
        }
    }
}
