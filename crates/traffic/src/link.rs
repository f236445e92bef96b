//! Ports in memory: one that leads nowhere, and two that lead to each other.

use packet_io::{BufPool, PacketBuf, Port, PortError, PortId, PortStats};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Takes all packets and never receives any: what a generator can do at most.
#[derive(Debug, Default)]
pub struct NullPort {
    id: PortId,
    stats: PortStats,
}

impl NullPort {
    pub fn new(id: PortId) -> NullPort {
        NullPort { id, stats: PortStats::default() }
    }
}

impl Port for NullPort {
    fn id(&self) -> PortId {
        self.id
    }

    fn rx_burst(&mut self, _: &mut BufPool, _: &mut Vec<PacketBuf>, _: usize) -> Result<usize, PortError> {
        Ok(0)
    }

    fn tx_burst(&mut self, pool: &mut BufPool, burst: &mut Vec<PacketBuf>) -> Result<usize, PortError> {
        let n = burst.len();
        for buf in burst.drain(..) {
            self.stats.tx_packets += 1;
            self.stats.tx_bytes += buf.len() as u64;
            pool.give_back(buf);
        }
        Ok(n)
    }

    fn stats(&mut self) -> PortStats {
        self.stats
    }
}

/// One direction of a link. Buffers are exchanged, so that both pools keep their number.
#[derive(Debug, Default)]
struct Wire {
    packets: VecDeque<PacketBuf>,
    empty: Vec<PacketBuf>,
}

/// An end of a [`link`].
#[derive(Debug)]
pub struct LinkPort {
    id: PortId,
    outgoing: Arc<Mutex<Wire>>,
    incoming: Arc<Mutex<Wire>>,
    n_packets_max: usize,
    has_back_pressure: bool,
    stats: PortStats,
}

/// Makes two ports that lead to each other. Each direction holds up to `n_packets_max` packets; without back pressure further
/// ones are dropped and counted.
pub fn link(ids: [PortId; 2], n_packets_max: usize) -> [LinkPort; 2] {
    let wires: [Arc<Mutex<Wire>>; 2] = Default::default();
    [0, 1].map(|i| LinkPort {
        id: ids[i],
        outgoing: Arc::clone(&wires[i]),
        incoming: Arc::clone(&wires[1 - i]),
        n_packets_max,
        has_back_pressure: false,
        stats: PortStats::default(),
    })
}

impl Port for LinkPort {
    fn id(&self) -> PortId {
        self.id
    }

    fn rx_burst(
        &mut self,
        pool: &mut BufPool,
        burst: &mut Vec<PacketBuf>,
        n_max: usize,
    ) -> Result<usize, PortError> {
        let mut wire = self.incoming.lock().unwrap_or_else(PoisonError::into_inner);
        let n = wire.packets.len().min(n_max);
        for mut buf in wire.packets.drain(..n).collect::<Vec<_>>() {
            buf.port = self.id;
            self.stats.rx_packets += 1;
            self.stats.rx_bytes += buf.len() as u64;
            burst.push(buf);
            // Without one, the pool only grows by the packet that comes back to it.
            wire.empty.extend(pool.take());
        }
        Ok(n)
    }

    fn tx_burst(&mut self, pool: &mut BufPool, burst: &mut Vec<PacketBuf>) -> Result<usize, PortError> {
        let mut wire = self.outgoing.lock().unwrap_or_else(PoisonError::into_inner);
        let n = burst.len().min(self.n_packets_max - wire.packets.len());
        for buf in burst.drain(..n) {
            self.stats.tx_packets += 1;
            self.stats.tx_bytes += buf.len() as u64;
            wire.packets.push_back(buf);
            match wire.empty.pop() {
                Some(empty) => pool.give_back(empty),
                None => pool.forget(),
            }
        }
        drop(wire);
        if !self.has_back_pressure {
            self.stats.tx_dropped_full += burst.len() as u64;
            burst.drain(..).for_each(|buf| pool.give_back(buf));
        }
        Ok(n)
    }

    fn set_back_pressure(&mut self, is_wanted: bool) {
        self.has_back_pressure = is_wanted;
    }

    fn stats(&mut self) -> PortStats {
        self.stats
    }
}
