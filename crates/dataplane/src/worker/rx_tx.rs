//! Packets from ports through the program, and out to ports.

use super::{Place, Worker, WorkerPort};
use crate::controller_queues::PacketIn;
use crate::report::reason;
use arrayvec::ArrayVec;
use native::{BurstPacket, Fate, Path, Processed};
use packet_io::limits::BURST_MAX;
use packet_io::{BufPool, LinkState, PacketBuf, PortError};
use std::os::fd::RawFd;
use std::time::Duration;
use target::traffic::{Destination, Output};

/// Packets of other workers that are sent in one poll, at most, so that ports are not kept waiting.
const N_RING_POLL: usize = 8 * BURST_MAX;
/// Packets that wait for a congested link outside of the switch.
const N_LEFT_MAX: usize = 4 * BURST_MAX;
/// Packets that a congested link gets at once: few, so that most wait in the switch, where programs see them.
const N_CREDIT: u32 = 4;
/// While packets wait for their time.
const SHORT_SLEEP: Duration = Duration::from_millis(1);
/// While packets are suspended: ports are polled, and other threads may have the core.
const NO_SLEEP: Duration = Duration::ZERO;
/// Ports look now and then whether their interface is back.
const LONG_SLEEP: Duration = Duration::from_millis(50);

impl Worker {
    pub(super) fn receive(&mut self, i: usize, now_ns: u64) -> usize {
        if self.has_backlog() {
            return 0;
        }
        let WorkerPort { port, error, is_broken, is_enabled, number, .. } = &mut self.ports[i];
        if *is_broken || self.is_paused {
            return 0;
        }
        let room = self.running.as_mut().map_or(BURST_MAX, |running| running.room().min(BURST_MAX));
        if room == 0 {
            return 0;
        }
        let n = match port.rx_burst(&mut self.pool, &mut self.burst, room) {
            Ok(n) => n,
            Err(failed) => {
                *error = Some(failed.to_string());
                *is_broken = true;
                self.burst.len()
            }
        };
        if n == 0 {
            return 0;
        }
        self.worker.n_bursts += 1;
        self.worker.n_packets += n as u64;
        if !*is_enabled {
            self.drop_burst(reason::INGRESS_PORT_DOWN);
            return n;
        }
        for (_, tap) in &mut self.mirrors {
            self.burst.iter().for_each(|buf| tap(*number, buf.data()));
        }
        self.process(now_ns);
        n
    }

    /// None of these gets as far as the program.
    pub(super) fn drop_burst(&mut self, reason: &str) {
        for buf in self.burst.drain(..) {
            self.past.n_received += 1;
            self.past.drop_for(reason);
            self.pool.give_back(buf);
        }
    }

    /// Runs the program on the burst, and on what waits in its queues.
    pub(super) fn process(&mut self, now_ns: u64) {
        let Some(running) = &mut self.running else {
            self.drop_burst(reason::NO_PIPELINE);
            return;
        };
        let mut burst = std::mem::take(&mut self.burst);
        let (n_all, n) = (burst.len(), burst.len().min(BURST_MAX));
        if let Some(order) = &mut running.order {
            order.begin_burst(&burst[..n]);
        }
        let mut packets: ArrayVec<BurstPacket<'_, PacketBuf>, BURST_MAX> = (burst[..n].iter_mut())
            .map(|buf| {
                let (start, len, port) = (buf.headroom(), buf.len(), buf.port.0);
                BurstPacket::new(buf, start, len, port)
            })
            .collect();
        let outputs = &mut self.outputs;
        let Processed { n_taken, common_port } = running.bursts.process(
            &mut running.switch,
            now_ns,
            &mut packets,
            Path::Straight,
            &mut (),
            outputs,
        );
        // All before the first buffer is moved: one that has just been changed in part is slow to move.
        for packet in &mut packets[..n_taken] {
            let (start, len) = (packet.start(), packet.bytes().len());
            // `BurstPacket` keeps packets inside of their buffers, whose lengths fit.
            let is_inside = packet.buffer().set_bounds(start as u32, len as u32);
            debug_assert!(is_inside);
        }
        let common_port = if n_taken == n_all { common_port } else { None };
        if let Some(port) = common_port.and_then(|port| self.idle_port(port)) {
            drop(packets);
            // The port takes the list as it is, and leaves its own empty one.
            std::mem::swap(&mut self.ports[port].tx, &mut burst);
            self.burst = burst;
            self.send_outputs();
            return;
        }
        for (i, packet) in packets[..n_taken].iter_mut().enumerate() {
            let fate = packet.fate();
            if fate == Fate::Suspended {
                // `Bursts` has its buffer.
                let order = self.running.as_mut().and_then(|running| running.order.as_mut());
                order.into_iter().for_each(|order| order.suspended(i, packet.token()));
                continue;
            }
            let buf = packet.take_buffer();
            match fate {
                Fate::Sent(destination) => {
                    let order = self.running.as_mut().and_then(|running| running.order.as_mut());
                    let leaving = match order {
                        Some(order) => order.leaving(i, destination, buf),
                        None => Some((destination, buf)),
                    };
                    leaving.into_iter().for_each(|(destination, buf)| self.leave(destination, buf));
                }
                Fate::Dropped | Fate::Elsewhere | Fate::Suspended => self.pool.give_back(buf),
            }
        }
        drop(packets);
        // These are empty: their buffers were sent, suspended or given back.
        burst.drain(..n_taken);
        self.burst = burst;
        self.send_outputs();
    }

    /// The place of a port to which nothing is on its way, if packets for it may be sent without more ado.
    fn idle_port(&self, port: u32) -> Option<usize> {
        let Some(Place::Here(i)) = self.places.get(&port) else { return None };
        let of_port = &self.ports[*i];
        let is_ordered = self.running.as_ref().is_some_and(|running| running.order.is_some());
        let is_idle = of_port.is_enabled && of_port.tx.is_empty();
        (is_idle && !is_ordered && self.drop_port != Some(port)).then_some(*i)
    }

    pub(super) fn send_outputs(&mut self) {
        let mut outputs = std::mem::take(&mut self.outputs);
        for Output { destination, bytes, .. } in outputs.drain(..) {
            let Some(mut buf) = self.pool.take() else {
                self.drop_sent(destination, reason::NO_BUFFER);
                continue;
            };
            if buf.set_data(&bytes) {
                self.leave(destination, buf);
            } else {
                self.pool.give_back(buf);
                self.drop_sent(destination, reason::TX_TOO_LONG);
            }
        }
        self.outputs = outputs;
    }

    /// Counts a packet that the program has sent, but that goes nowhere.
    pub(super) fn drop_sent(&mut self, destination: Destination, why: &'static str) {
        let why = match destination {
            Destination::Port(_) => why,
            // Drops of packets to the controller have one reason.
            Destination::Controller => reason::PACKET_IN_FULL,
        };
        *self.drops.entry(why).or_default() += 1;
    }

    pub(super) fn drop_leaving(&mut self, buf: PacketBuf, why: &'static str) {
        self.pool.give_back(buf);
        *self.drops.entry(why).or_default() += 1;
    }

    #[inline]
    pub(super) fn leave(&mut self, destination: Destination, buf: PacketBuf) {
        match destination {
            Destination::Port(port) => self.send(port, buf),
            Destination::Controller => {
                let packet = PacketIn { bytes: buf.data().to_vec(), at_ns: self.clock.now_ns() };
                if !self.queues.push_packet(packet) {
                    self.drop_sent(destination, reason::PACKET_IN_FULL);
                }
                self.pool.give_back(buf);
            }
        }
    }

    #[inline]
    pub(super) fn send(&mut self, port: u32, buf: PacketBuf) {
        if self.drop_port == Some(port) {
            return self.drop_leaving(buf, reason::DROP_PORT);
        }
        match self.places.get(&port) {
            None => self.drop_leaving(buf, reason::NO_SUCH_PORT),
            Some(Place::Here(i)) => self.send_here(*i, buf),
            Some(Place::There(mailbox)) => {
                let is_frame = buf.is_frame();
                match mailbox.ring.push((port, buf)) {
                    Ok(()) => {
                        if !is_frame {
                            // The buffer stays with the other worker.
                            self.pool.forget();
                        }
                        mailbox.wake();
                    }
                    Err((_, buf)) => self.drop_leaving(buf, reason::TX_RING_FULL),
                }
            }
        }
    }

    #[inline]
    pub(super) fn send_here(&mut self, i: usize, buf: PacketBuf) {
        let port = &mut self.ports[i];
        if !port.is_enabled {
            return self.drop_leaving(buf, reason::PORT_DOWN);
        }
        if port.tx.len() >= BURST_MAX {
            port.flush(&mut self.pool);
        }
        // A congested link leaves packets; while the switch does not know it yet, more may come.
        if port.tx.len() >= N_LEFT_MAX {
            return self.drop_leaving(buf, reason::TX_RING_FULL);
        }
        port.tx.push(buf);
    }

    pub(super) fn take_from_ring(&mut self) -> usize {
        let mut n = 0;
        while n < N_RING_POLL
            && let Some((port, buf)) = self.mailbox.ring.pop()
        {
            n += 1;
            match self.places.get(&port) {
                Some(Place::Here(i)) => self.send_here(*i, buf),
                // Removed, or moved, since the other worker looked.
                Some(Place::There(_)) | None => self.drop_leaving(buf, reason::NO_SUCH_PORT),
            }
        }
        n
    }

    pub(super) fn flush(&mut self) {
        self.ports.iter_mut().for_each(|port| port.flush(&mut self.pool));
    }

    /// Lets packets wait in the switch for links that do not take all of them, and gives these links more when they have taken
    /// what they had.
    pub(super) fn pace(&mut self) {
        let Some(running) = &mut self.running else { return };
        for port in self.ports.iter_mut().filter(|port| port.is_congested || !port.tx.is_empty()) {
            let credit = match (port.tx.is_empty(), running.switch.n_waiting_for(port.number)) {
                (false, _) => Some(0),
                (true, 0) => None,
                (true, _) => Some(N_CREDIT),
            };
            port.is_congested = credit.is_some();
            running.switch.set_port_credit(port.number, credit);
        }
    }

    /// Packets wait for congested links if the program reads how many wait, or how long; otherwise they are lost there.
    pub(super) fn has_back_pressure(&self) -> bool {
        self.running.as_ref().is_some_and(|running| running.switch.reads_queues())
    }

    pub(crate) fn idle(&mut self) {
        for port in &mut self.ports {
            if let Err(failed) = port.port.idle() {
                port.error = Some(failed.to_string());
            }
        }
    }

    /// Adds the files to wait for to `fds`; returns how long to wait, which is at most `nap` if there is a port without a file.
    pub(crate) fn before_sleep(&mut self, fds: &mut Vec<RawFd>, nap: Duration) -> Duration {
        self.worker.n_sleeps += 1;
        fds.clear();
        fds.push(self.mailbox.fd());
        let usable = self.ports.iter().filter(|port| !port.is_broken && !self.is_paused);
        let is_congested = self.ports.iter().any(|port| port.is_congested);
        let mut timeout = match (self.n_suspended(), self.n_queued()) {
            (0, 0) if !is_congested => LONG_SLEEP,
            (0, _) => SHORT_SLEEP,
            _ => NO_SLEEP,
        };
        for port in usable {
            match port.port.fd() {
                Some(fd) => fds.push(fd),
                None if port.port.is_exhausted() || port.port.link_state() == LinkState::Gone => {}
                None => timeout = timeout.min(nap),
            }
        }
        timeout
    }
}

impl WorkerPort {
    pub(super) fn flush(&mut self, pool: &mut BufPool) {
        if self.tx.is_empty() {
            return;
        }
        let result: Result<usize, PortError> = self.port.tx_burst(pool, &mut self.tx);
        if let Err(failed) = result {
            self.error = Some(failed.to_string());
        }
    }
}
