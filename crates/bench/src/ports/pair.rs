//! Two ports as one: a thread that sends on one and receives on the other.

use packet_io::{BufPool, LinkState, PacketBuf, Port, PortError, PortId, PortStats};
use std::os::fd::RawFd;

/// Sends on one port and receives on the other, so that generator and sink need one core only.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) tx: Box<dyn Port>,
    pub(super) rx: Box<dyn Port>,
}

impl Port for Pair {
    fn id(&self) -> PortId {
        self.tx.id()
    }

    fn rx_burst(
        &mut self,
        pool: &mut BufPool,
        burst: &mut Vec<PacketBuf>,
        n_max: usize,
    ) -> Result<usize, PortError> {
        self.rx.rx_burst(pool, burst, n_max)
    }

    fn tx_burst(&mut self, pool: &mut BufPool, burst: &mut Vec<PacketBuf>) -> Result<usize, PortError> {
        self.tx.tx_burst(pool, burst)
    }

    fn set_back_pressure(&mut self, is_wanted: bool) {
        self.tx.set_back_pressure(is_wanted);
    }

    fn idle(&mut self) -> Result<(), PortError> {
        self.tx.idle()?;
        self.rx.idle()
    }

    fn link_state(&self) -> LinkState {
        match (self.tx.link_state(), self.rx.link_state()) {
            (LinkState::Up, other) | (other, _) => other,
        }
    }

    fn frame_bytes_max(&self) -> Option<usize> {
        self.tx.frame_bytes_max()
    }

    fn fd(&self) -> Option<RawFd> {
        self.rx.fd()
    }

    fn stats(&mut self) -> PortStats {
        let (tx, rx) = (self.tx.stats(), self.rx.stats());
        PortStats {
            tx_packets: tx.tx_packets,
            tx_bytes: tx.tx_bytes,
            tx_dropped_full: tx.tx_dropped_full,
            tx_dropped_down: tx.tx_dropped_down,
            tx_too_long: tx.tx_too_long,
            tx_errors: tx.tx_errors,
            ..rx
        }
    }
}
