//! Counters of a port.

/// Counters of a port since it was opened.
///
/// Every packet handed to [`Port::tx_burst`](crate::Port::tx_burst) is in `tx_packets` or in one of the
/// counters that [`PortStats::tx_dropped`] adds up. Every packet that the kernel delivered to the port is in
/// `rx_packets` (a merged packet as its segments) or in one of the counters of [`PortStats::rx_dropped`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortStats {
    pub rx_packets: u64,
    pub rx_bytes: u64,
    /// Packets dropped because the port's queue in the kernel was full.
    pub rx_dropped_kernel: u64,
    /// Packets longer than the port's limit or a buffer of the pool.
    pub rx_too_long: u64,
    /// Merged packets that this crate cannot segment.
    pub rx_dropped_gso: u64,
    /// Merged packets that were segmented. Not a loss: the segments are in `rx_packets`.
    pub rx_segmented: u64,
    /// Segments dropped because the pool had no buffer.
    pub rx_dropped_no_buffer: u64,
    /// Packets that the kernel refused to deliver.
    pub rx_errors: u64,
    pub tx_packets: u64,
    pub tx_bytes: u64,
    /// Packets dropped because an output queue was full.
    pub tx_dropped_full: u64,
    /// Packets dropped because the interface was down or missing.
    pub tx_dropped_down: u64,
    /// Packets longer than the interface accepts.
    pub tx_too_long: u64,
    /// Packets that the kernel refused, for example those shorter than an Ethernet header.
    pub tx_errors: u64,
    /// Packets that passed, but are missing in a capture file after a write error. Not a loss of packets.
    pub capture_missed: u64,
}

impl PortStats {
    /// Number of packets that arrived, but were not delivered.
    pub fn rx_dropped(&self) -> u64 {
        self.rx_dropped_kernel
            + self.rx_too_long
            + self.rx_dropped_gso
            + self.rx_dropped_no_buffer
            + self.rx_errors
    }

    /// Number of packets handed over, but not sent.
    pub fn tx_dropped(&self) -> u64 {
        self.tx_dropped_full + self.tx_dropped_down + self.tx_too_long + self.tx_errors
    }

    /// Counters by name, for metrics: `rx_packets` and so on.
    pub fn named(&self) -> [(&'static str, u64); 15] {
        let PortStats {
            rx_packets,
            rx_bytes,
            rx_dropped_kernel,
            rx_too_long,
            rx_dropped_gso,
            rx_segmented,
            rx_dropped_no_buffer,
            rx_errors,
            tx_packets,
            tx_bytes,
            tx_dropped_full,
            tx_dropped_down,
            tx_too_long,
            tx_errors,
            capture_missed,
        } = *self;
        [
            ("rx_packets", rx_packets),
            ("rx_bytes", rx_bytes),
            ("rx_dropped_kernel", rx_dropped_kernel),
            ("rx_too_long", rx_too_long),
            ("rx_dropped_gso", rx_dropped_gso),
            ("rx_segmented", rx_segmented),
            ("rx_dropped_no_buffer", rx_dropped_no_buffer),
            ("rx_errors", rx_errors),
            ("tx_packets", tx_packets),
            ("tx_bytes", tx_bytes),
            ("tx_dropped_full", tx_dropped_full),
            ("tx_dropped_down", tx_dropped_down),
            ("tx_too_long", tx_too_long),
            ("tx_errors", tx_errors),
            ("capture_missed", capture_missed),
        ]
    }

    /// Adds the counters of another port, or of another queue of this one.
    pub fn add(&mut self, more: &PortStats) {
        self.rx_packets += more.rx_packets;
        self.rx_bytes += more.rx_bytes;
        self.rx_dropped_kernel += more.rx_dropped_kernel;
        self.rx_too_long += more.rx_too_long;
        self.rx_dropped_gso += more.rx_dropped_gso;
        self.rx_segmented += more.rx_segmented;
        self.rx_dropped_no_buffer += more.rx_dropped_no_buffer;
        self.rx_errors += more.rx_errors;
        self.tx_packets += more.tx_packets;
        self.tx_bytes += more.tx_bytes;
        self.tx_dropped_full += more.tx_dropped_full;
        self.tx_dropped_down += more.tx_dropped_down;
        self.tx_too_long += more.tx_too_long;
        self.tx_errors += more.tx_errors;
        self.capture_missed += more.capture_missed;
    }

    /// Non-zero receive losses, by name.
    pub fn rx_losses(&self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
        let losses = [
            ("rx_dropped_kernel", self.rx_dropped_kernel),
            ("rx_too_long", self.rx_too_long),
            ("rx_dropped_gso", self.rx_dropped_gso),
            ("rx_dropped_no_buffer", self.rx_dropped_no_buffer),
            ("rx_errors", self.rx_errors),
        ];
        losses.into_iter().filter(|(_, n)| *n > 0)
    }

    /// Non-zero send losses, by name.
    pub fn tx_losses(&self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
        let losses = [
            ("tx_dropped_full", self.tx_dropped_full),
            ("tx_dropped_down", self.tx_dropped_down),
            ("tx_too_long", self.tx_too_long),
            ("tx_errors", self.tx_errors),
        ];
        losses.into_iter().filter(|(_, n)| *n > 0)
    }

    pub(crate) fn received(&mut self, n_bytes: usize) {
        self.rx_packets += 1;
        self.rx_bytes += n_bytes as u64;
    }

    pub(crate) fn sent(&mut self, n_bytes: usize) {
        self.tx_packets += 1;
        self.tx_bytes += n_bytes as u64;
    }
}
