//! Two ports as one: a thread that sends on one and receives on the other.

use super::Place;
use crate::args::MediumArg;
use dataplane::{PortKind, PortSpec};
use packet_io::{BufPool, LinkState, PacketBuf, Port, PortError, PortId, PortStats};
use std::os::fd::RawFd;
use std::time::{Duration, Instant};

/// Time that a switch has to make the sockets of virtual machines.
const PATIENCE: Duration = Duration::from_secs(60);

/// Sends on one port and receives on the other, so that generator and sink need one core only. With several queues, bursts use
/// them in turn.
#[derive(Debug)]
pub struct Pair {
    tx: Vec<Box<dyn Port>>,
    rx: Vec<Box<dyn Port>>,
    tx_queue: usize,
    rx_queue: usize,
    /// Copies of the frames that arrive, if somebody wants them.
    pub recorded: Option<Vec<Vec<u8>>>,
}

impl Pair {
    /// Opens ports `tx` and `rx` of the place, with so many queues each. Those of virtual machines need a switch that has made its sockets; `check` says
    /// whether it still runs.
    pub fn open(
        place: &Place,
        [tx, rx]: [usize; 2],
        n_queues: usize,
        check: &mut dyn FnMut() -> Result<(), String>,
    ) -> Result<Pair, String> {
        let begin = Instant::now();
        let mut open = |i: usize| {
            let spec = PortSpec { number: i as u32, kind: PortKind::parse(&place.far(i))? };
            loop {
                check()?;
                match spec.open_queues(n_queues, None) {
                    Ok(queues) if queues.is_empty() => return Err(format!("{} has no queue", spec.kind)),
                    Ok(queues) => return Ok(queues),
                    Err(error) if place.medium != MediumArg::Vhost || begin.elapsed() > PATIENCE => {
                        return Err(error.to_string());
                    }
                    Err(_) => std::thread::sleep(Duration::from_millis(100)),
                }
            }
        };
        Ok(Pair { tx: open(tx)?, rx: open(rx)?, tx_queue: 0, rx_queue: 0, recorded: None })
    }
}

impl Port for Pair {
    fn id(&self) -> PortId {
        self.tx[0].id()
    }

    fn rx_burst(
        &mut self,
        pool: &mut BufPool,
        burst: &mut Vec<PacketBuf>,
        n_max: usize,
    ) -> Result<usize, PortError> {
        let mut n = 0;
        for _ in 0..self.rx.len() {
            self.rx_queue = (self.rx_queue + 1) % self.rx.len();
            n = self.rx[self.rx_queue].rx_burst(pool, burst, n_max)?;
            if n > 0 {
                break;
            }
        }
        if let Some(recorded) = &mut self.recorded {
            recorded.extend(burst[burst.len() - n..].iter().map(|buf| buf.data().to_vec()));
        }
        Ok(n)
    }

    fn tx_burst(&mut self, pool: &mut BufPool, burst: &mut Vec<PacketBuf>) -> Result<usize, PortError> {
        self.tx_queue = (self.tx_queue + 1) % self.tx.len();
        self.tx[self.tx_queue].tx_burst(pool, burst)
    }

    fn set_back_pressure(&mut self, is_wanted: bool) {
        self.tx.iter_mut().for_each(|queue| queue.set_back_pressure(is_wanted));
    }

    fn idle(&mut self) -> Result<(), PortError> {
        self.tx.iter_mut().chain(&mut self.rx).try_for_each(|queue| queue.idle())
    }

    fn link_state(&self) -> LinkState {
        match (self.tx[0].link_state(), self.rx[0].link_state()) {
            (LinkState::Up, other) | (other, _) => other,
        }
    }

    fn frame_bytes_max(&self) -> Option<usize> {
        self.tx[0].frame_bytes_max()
    }

    fn fd(&self) -> Option<RawFd> {
        self.rx[0].fd()
    }

    fn stats(&mut self) -> PortStats {
        let sum = |queues: &mut [Box<dyn Port>]| {
            queues.iter_mut().fold(PortStats::default(), |mut sum, queue| {
                sum.add(&queue.stats());
                sum
            })
        };
        let (tx, rx) = (sum(&mut self.tx), sum(&mut self.rx));
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

    fn flush(&mut self) -> Result<(), PortError> {
        self.tx.iter_mut().try_for_each(|queue| queue.flush())
    }
}
