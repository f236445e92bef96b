//! A port in memory.

use crate::{BufPool, Packet, PacketBuf, Port, PortError, PortId, PortStats};
use std::collections::VecDeque;

/// A port for tests: the test fills `rx` and reads `tx`.
#[derive(Clone, Debug, Default)]
pub struct MemoryPort {
    pub id: PortId,
    /// Packets to receive, oldest first.
    pub rx: VecDeque<Packet>,
    /// Sent packets, oldest first.
    pub tx: Vec<Packet>,
    stats: PortStats,
}

impl MemoryPort {
    pub fn new(id: PortId, rx: impl IntoIterator<Item = Packet>) -> MemoryPort {
        MemoryPort { id, rx: rx.into_iter().collect(), tx: Vec::new(), stats: PortStats::default() }
    }
}

impl Port for MemoryPort {
    fn id(&self) -> PortId {
        self.id
    }

    fn rx_burst(
        &mut self,
        pool: &mut BufPool,
        burst: &mut Vec<PacketBuf>,
        n_max: usize,
    ) -> Result<usize, PortError> {
        let mut n = 0;
        while n < n_max && !self.rx.is_empty() {
            let Some(mut buf) = pool.take() else { break };
            let Some(packet) = self.rx.pop_front() else { break };
            if !fill(&mut buf, &packet, self.id) {
                self.stats.rx_too_long += 1;
                pool.give_back(buf);
                continue;
            }
            self.stats.received(buf.len());
            burst.push(buf);
            n += 1;
        }
        Ok(n)
    }

    fn tx_burst(&mut self, pool: &mut BufPool, burst: &mut Vec<PacketBuf>) -> Result<usize, PortError> {
        let n = burst.len();
        for buf in burst.drain(..) {
            self.stats.sent(buf.len());
            self.tx.push(Packet::new(buf.data()).at(buf.timestamp_ns));
            pool.give_back(buf);
        }
        Ok(n)
    }

    fn stats(&mut self) -> PortStats {
        self.stats
    }

    fn is_exhausted(&self) -> bool {
        self.rx.is_empty()
    }
}

/// Copies the packet into a buffer. Returns false if the buffer is too short.
pub(crate) fn fill(buf: &mut PacketBuf, packet: &Packet, port: PortId) -> bool {
    (buf.port, buf.timestamp_ns) = (port, packet.timestamp_ns);
    buf.set_data(&packet.data)
}
