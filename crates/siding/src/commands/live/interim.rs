//! The interpreter serves the ports until compiled code is there.
//!
//! Ports are opened once: the interpreter has them first, and then the workers. Entries, counters and registers go over by
//! [`control::sync::mirror`]; packets that wait in the interpreter's queues are sent before.

use control::{Schema, Target};
use dataplane::PortSpec;
use packet_io::{BufPool, BufPoolOptions, PacketBuf, Port, PortError};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use target::traffic::{Destination, Output, Totals, reason};
use testkit::{Arriving, Dut};
use trace::Silent;

/// Packets of a port at a time.
const BURST: usize = 32;
/// Longest sleep of an idle interpreter before it looks for compiled code.
const SLEEP: Duration = Duration::from_millis(5);

/// The reason of drops for packets to a controller that cannot ask for them yet.
const NO_CONTROLLER: &str = "packet_in_full";

/// A port by its queues, and what it is.
pub type OpenPort = (PortSpec, Vec<Box<dyn Port>>);

/// An interpreted program on open ports.
pub struct Interim {
    dut: Box<dyn Dut>,
    ports: Vec<OpenPort>,
    pool: BufPool,
    begin: Instant,
    /// Time that the interpreter has been told of, in nanoseconds.
    told_ns: u64,
    /// Packets that found no port or no buffer.
    n_unsent: BTreeMap<&'static str, u64>,
}

impl Interim {
    pub fn new(dut: Box<dyn Dut>, ports: Vec<OpenPort>) -> Interim {
        Interim {
            dut,
            ports,
            pool: BufPool::new(BufPoolOptions::JUMBO),
            begin: Instant::now(),
            told_ns: 0,
            n_unsent: BTreeMap::new(),
        }
    }

    /// Packets by their end; those that were sent, ports count.
    pub fn totals(&self) -> Totals {
        let mut totals = self.dut.totals();
        // No controller can take packets yet.
        let n_lost = std::mem::take(&mut totals.n_to_controller);
        let unsent = self.n_unsent.iter().map(|(reason, n)| (*reason, *n));
        for (reason, n) in unsent.chain([(NO_CONTROLLER, n_lost)]).filter(|(_, n)| *n > 0) {
            totals.drop_many(reason, n);
        }
        totals.n_sent -= self.n_unsent.values().sum::<u64>();
        totals
    }

    /// Serves until `is_over`, and then sends what waits in queues.
    pub fn serve(&mut self, is_over: &dyn Fn() -> bool) -> Result<(), PortError> {
        while !is_over() {
            self.advance_clock()?;
            if self.one_round()? == 0 {
                self.sleep();
            }
        }
        // Rates of ports hold packets back for a while, not for ever.
        let begin = Instant::now();
        while self.dut.n_queued() > 0 && begin.elapsed() < Duration::from_secs(1) {
            self.advance_clock()?;
        }
        Ok(())
    }

    /// Writes the state of the interpreter into another target of the same program.
    pub fn hand_over(&mut self, schema: &Schema, to: &mut dyn Target) -> Result<(), control::Fault> {
        control::sync::mirror(schema, self.dut.target(), to)
    }

    pub fn into_ports(self) -> Vec<OpenPort> {
        self.ports
    }

    fn advance_clock(&mut self) -> Result<(), PortError> {
        let now_ns = u64::try_from(self.begin.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let late = self.dut.advance_clock(now_ns.saturating_sub(self.told_ns), &mut Silent);
        self.told_ns = now_ns;
        self.send(late)
    }

    /// Receives from all queues of all ports once. Returns the number of packets.
    fn one_round(&mut self) -> Result<usize, PortError> {
        let (mut n_received, mut sent) = (0, Vec::new());
        let queues = self.ports.iter_mut().flat_map(|(spec, queues)| {
            let number = spec.number;
            queues.iter_mut().map(move |queue| (number, queue))
        });
        for (number, port) in queues {
            let mut burst: Vec<PacketBuf> = Vec::new();
            let n = port.rx_burst(&mut self.pool, &mut burst, BURST)?;
            if n == 0 {
                port.idle()?;
                continue;
            }
            n_received += n;
            let arriving: Vec<Arriving<'_>> =
                burst.iter().map(|packet| Arriving { port: number, bytes: packet.data() }).collect();
            sent.extend(self.dut.receive(&arriving, &mut Silent).into_iter().flatten());
            burst.into_iter().for_each(|packet| self.pool.give_back(packet));
        }
        self.send(sent)?;
        Ok(n_received)
    }

    fn send(&mut self, outputs: Vec<Output>) -> Result<(), PortError> {
        let mut bursts: BTreeMap<u32, Vec<PacketBuf>> = BTreeMap::new();
        for output in outputs {
            let Destination::Port(port) = output.destination else { continue };
            let is_there = self.ports.iter().any(|(spec, _)| spec.number == port);
            let mut packet = if is_there { self.pool.take() } else { None };
            let has_room = packet.as_mut().is_some_and(|packet| packet.set_data(&output.bytes));
            match packet {
                Some(packet) if has_room => bursts.entry(port).or_default().push(packet),
                packet => {
                    let reason = if is_there { reason::QUEUE_FULL } else { reason::NO_SUCH_PORT };
                    *self.n_unsent.entry(reason).or_default() += 1;
                    packet.into_iter().for_each(|packet| self.pool.give_back(packet));
                }
            }
        }
        for (number, mut burst) in bursts {
            let port = self.ports.iter_mut().find(|(spec, _)| spec.number == number);
            // Any queue sends.
            if let Some(port) = port.and_then(|(_, queues)| queues.first_mut()) {
                port.tx_burst(&mut self.pool, &mut burst)?;
                port.flush()?;
            }
            burst.into_iter().for_each(|packet| self.pool.give_back(packet));
        }
        Ok(())
    }

    /// Sleeps until a packet comes, or for a moment.
    fn sleep(&self) {
        let fds = self.ports.iter().flat_map(|(_, queues)| queues).filter_map(|queue| queue.fd());
        if packet_io::wait_for_input(fds, SLEEP).is_err() {
            std::thread::sleep(SLEEP);
        }
    }
}
