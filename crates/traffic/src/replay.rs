//! Sending the packets of a capture as they are, and recording what comes back.

use crate::capture::too_large;
use crate::generator::{Counts, GeneratorResult};
use crate::rate::{Pacer, Rate};
use crate::sizes::FRAME_BYTES_MAX;
use crate::{FCS_BYTES, OptionsError, TrafficError, clock};
use packet_io::limits::BURST_MAX;
use packet_io::{
    BufPool, CaptureWriter, Damage, LINK_TYPE_ETHERNET, PacketBuf, PacketReader, Port, PortError,
};
use serde::Serialize;
use std::path::Path;

/// Bytes of packets that are kept in memory, at most.
const CAPTURE_BYTES_MAX: usize = 1 << 30;

/// When packets of a capture are sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// At the times of the capture, divided by this factor.
    Capture { speed: f64 },
    /// At a rate of their own.
    Rate(Rate),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReplayOptions {
    pub pace: Pace,
    /// Number of times that the capture is sent; `None` is until somebody stops it.
    pub n_rounds: Option<u64>,
    /// Leave out packets of which the capture has only the beginning, also where the file ends inside one; else they are an
    /// error.
    pub is_cut_skipped: bool,
    /// Packets per call of the port, at most.
    pub burst_max: usize,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    offset: usize,
    len: usize,
    /// Since the first packet; never decreases.
    at_ns: u64,
}

/// Sends a capture.
#[derive(Debug)]
pub struct Replay {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    options: ReplayOptions,
    n_skipped: u64,
    pacer: Pacer,
    start_ns: u64,
    /// Time of day at time 0 of the clock, for captures.
    epoch_ns: u64,
    next: usize,
    round: u64,
    late_max_ns: u64,
    burst: Vec<PacketBuf>,
    /// Bytes of the frames in the burst.
    sizes: Vec<usize>,
    counts: Counts,
}

impl Replay {
    /// Reads a pcap or pcapng file of Ethernet. `frame_bytes_max` is the longest frame that the port takes without its check
    /// sequence, if known.
    pub fn read(
        path: &Path,
        options: ReplayOptions,
        frame_bytes_max: Option<usize>,
    ) -> Result<Replay, TrafficError> {
        let mut reader = PacketReader::open(path)?.ethernet_only();
        let refuse = |number: usize, what: String| {
            TrafficError::from(OptionsError(format!("{}: packet {number} {what}", path.display())))
        };
        let room = frame_bytes_max.unwrap_or(usize::MAX).min(FRAME_BYTES_MAX - FCS_BYTES);
        let (mut bytes, mut entries, mut n_skipped, mut number) = (Vec::new(), Vec::<Entry>::new(), 0, 0);
        let mut first_ns = None;
        while let Some(packet) = reader.lend() {
            number += 1;
            let packet = match packet {
                Err(error)
                    if options.is_cut_skipped
                        && number > 1
                        && matches!(error.damage, Damage::Truncated { .. }) =>
                {
                    n_skipped += 1;
                    break;
                }
                packet => packet?,
            };
            let len = packet.data.len();
            if (len as u64) < u64::from(packet.original_len_bytes) {
                if options.is_cut_skipped {
                    n_skipped += 1;
                    continue;
                }
                return Err(refuse(
                    number,
                    format!(
                        "was cut: the capture has {len} of its {} bytes; --skip-cut leaves out such packets, and \
                         `tcpdump -s 0` captures whole ones",
                        packet.original_len_bytes
                    ),
                ));
            }
            if len > room {
                return Err(refuse(
                    number,
                    format!(
                        "has {len} bytes, but the port takes {room} at most (an MTU of {})",
                        room.saturating_sub(14)
                    ),
                ));
            }
            let first_ns = *first_ns.get_or_insert(packet.timestamp_ns);
            let before_ns = entries.last().map_or(0, |entry| entry.at_ns);
            let at_ns = packet.timestamp_ns.saturating_sub(first_ns).max(before_ns);
            entries.push(Entry { offset: bytes.len(), len, at_ns });
            bytes.extend(packet.data);
            if bytes.len() > CAPTURE_BYTES_MAX {
                return Err(too_large(path).into());
            }
        }
        if entries.is_empty() {
            let why = if n_skipped > 0 { "all of its packets were cut" } else { "it has no packets" };
            return Err(OptionsError(format!("{}: {why}", path.display())).into());
        }
        Ok(Replay {
            bytes,
            entries,
            n_skipped,
            pacer: Pacer::new(Rate::Unlimited, 0),
            start_ns: 0,
            epoch_ns: clock::epoch_ns(),
            next: 0,
            round: 0,
            late_max_ns: 0,
            burst: Vec::with_capacity(options.burst_max),
            sizes: Vec::with_capacity(options.burst_max),
            counts: Counts::default(),
            options: ReplayOptions { burst_max: options.burst_max.clamp(1, BURST_MAX), ..options },
        })
    }

    /// Packets of one round.
    pub fn n_packets(&self) -> usize {
        self.entries.len()
    }

    /// Packets of the capture that are left out, since they were cut.
    pub fn n_skipped(&self) -> u64 {
        self.n_skipped
    }

    fn rate(&self) -> Rate {
        match self.options.pace {
            Pace::Capture { .. } => Rate::Unlimited,
            Pace::Rate(rate) => rate,
        }
    }

    pub(crate) fn start(&mut self, now_ns: u64) {
        self.start_ns = now_ns;
        self.pacer = Pacer::new(self.rate(), now_ns);
    }

    fn has_more(&self) -> bool {
        self.options.n_rounds.is_none_or(|n| self.round < n)
    }

    pub(crate) fn is_done(&self) -> bool {
        !self.has_more() && self.burst.is_empty()
    }

    /// Time at which the next packet is due. Between rounds is a mean gap of the capture.
    pub(crate) fn due_ns(&self) -> u64 {
        let Pace::Capture { speed } = self.options.pace else { return self.pacer.due_ns() };
        let n = self.entries.len() as u64;
        let length_ns = self.entries.last().map_or(0, |entry| entry.at_ns);
        let round_ns = length_ns + length_ns / (n - 1).max(1);
        let at_ns = self.entries.get(self.next).map_or(0, |entry| entry.at_ns);
        let after_ns = (self.round as f64 * round_ns as f64 + at_ns as f64) / speed;
        self.start_ns.saturating_add(after_ns as u64)
    }

    pub(crate) fn counts(&self) -> &Counts {
        &self.counts
    }

    pub(crate) fn poll(
        &mut self,
        port: &mut dyn Port,
        pool: &mut BufPool,
        now_ns: u64,
    ) -> Result<usize, PortError> {
        self.pacer.refill(now_ns);
        while self.burst.len() < self.options.burst_max && self.has_more() {
            let is_due = match self.options.pace {
                Pace::Capture { .. } => self.due_ns() <= now_ns,
                Pace::Rate(_) => self.pacer.is_due(),
            };
            if !is_due {
                break;
            }
            if let Pace::Capture { .. } = self.options.pace {
                self.late_max_ns = self.late_max_ns.max(now_ns - self.due_ns());
            }
            let Entry { offset, len, .. } = self.entries[self.next];
            let Some(mut buf) = pool.take() else { break };
            if !buf.set_data(&self.bytes[offset..offset + len]) {
                // A short buffer, which came from elsewhere, makes room for one of the pool's own.
                pool.forget();
                continue;
            }
            buf.timestamp_ns = now_ns + self.epoch_ns;
            self.burst.push(buf);
            self.pacer.spend(len + FCS_BYTES);
            self.next += 1;
            if self.next == self.entries.len() {
                (self.next, self.round) = (0, self.round + 1);
            }
        }
        if self.burst.is_empty() {
            return Ok(0);
        }
        self.sizes.clear();
        self.sizes.extend(self.burst.iter().map(|buf| buf.len() + FCS_BYTES));
        let sent = port.tx_burst(pool, &mut self.burst);
        let n_done = self.sizes.len() - self.burst.len();
        let n_sent = *sent.as_ref().unwrap_or(&0);
        self.counts.called(n_sent, self.sizes.drain(..n_done), now_ns);
        sent.map(|_| n_done)
    }

    pub(crate) fn finish(mut self, pool: &mut BufPool) -> GeneratorResult {
        self.burst.drain(..).for_each(|buf| pool.give_back(buf));
        GeneratorResult {
            left_out_ns: self.pacer.forgiven_ns(),
            late_max_ns: self.late_max_ns.max(self.pacer.late_max_ns()),
            ..GeneratorResult::new(0, self.rate(), self.start_ns, &self.counts)
        }
    }
}

/// Counts packets, and writes them to a capture if there is one.
#[derive(Debug, Default)]
pub struct Recording {
    writer: Option<CaptureWriter>,
    n_packets: u64,
    n_bytes: u64,
}

/// Packets that a recording received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RecordingResult {
    pub n_packets: u64,
    /// Frames with their check sequences.
    pub n_bytes: u64,
}

impl Recording {
    /// Creates the file, as pcap or pcapng by its extension.
    pub fn new(file: Option<&Path>, interface: &str) -> Result<Recording, TrafficError> {
        let create = |path| CaptureWriter::create(path, interface, LINK_TYPE_ETHERNET);
        Ok(Recording { writer: file.map(create).transpose()?, n_packets: 0, n_bytes: 0 })
    }

    pub(crate) fn take(&mut self, burst: &[PacketBuf]) -> Result<(), TrafficError> {
        for buf in burst {
            self.n_packets += 1;
            self.n_bytes += (buf.len() + FCS_BYTES) as u64;
            if let Some(writer) = &mut self.writer {
                writer.write_data(buf.data(), buf.timestamp_ns)?;
            }
        }
        Ok(())
    }

    pub(crate) fn n_packets(&self) -> u64 {
        self.n_packets
    }

    pub(crate) fn n_bytes(&self) -> u64 {
        self.n_bytes
    }

    /// Flushes the file.
    pub(crate) fn finish(mut self) -> Result<RecordingResult, TrafficError> {
        if let Some(writer) = &mut self.writer {
            writer.flush()?;
        }
        Ok(RecordingResult { n_packets: self.n_packets, n_bytes: self.n_bytes })
    }
}
