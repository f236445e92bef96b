//! Sends the traffic through one of the two, packet by packet, and writes down what becomes of each packet.

use super::lab::{self, Lab};
use super::packet::{self, Body, End, Oddity, Seen};
use super::traffic::{self, Act, Case, Flow, NOBODY};
use super::{AppArg, Side, failed};
use console::output::Exit;
use packet_io::{AfPacketPort, BufPool, BufPoolOptions, LinkState, PacketBuf, Port, wait_for_input};
use std::time::{Duration, Instant};

/// After this a packet that has to pass has not.
const PATIENCE: Duration = Duration::from_secs(10);
/// Begin of the payload of a marker.
const MAGIC: [u8; 4] = *b"mark";
/// A public port that no flow has.
const UNUSED_PORT: u16 = 1000;

/// The fate of the packet of each step, by case; `None` where a step sends none.
pub type Verdicts = Vec<Vec<Option<String>>>;

/// The configuration of what is under test, while traffic goes through it.
pub trait Balanced {
    /// Gives new connections to these servers only.
    fn set_servers(&mut self, servers: &[u32]) -> Result<(), Exit>;

    /// Answers of servers come through it. Else they go past it to the client.
    fn sees_answers(&self) -> bool;
}

/// The ends of both cables.
pub struct Ends {
    ports: [AfPacketPort; 2],
    pool: BufPool,
    burst: Vec<PacketBuf>,
}

impl Ends {
    pub fn open(lab: &Lab) -> Result<Ends, Exit> {
        let mut ports = [lab.open(Side::Inside)?, lab.open(Side::Outside)?];
        let begin = Instant::now();
        for port in &mut ports {
            // The kernel takes a moment to see that a link is up.
            while port.link_state() != LinkState::Up {
                if begin.elapsed() > PATIENCE {
                    return Err(failed("a cable between two namespaces did not come up within ten seconds"));
                }
                std::thread::sleep(Duration::from_millis(1));
                port.idle().map_err(|error| failed(&error.to_string()))?;
            }
        }
        let pool =
            BufPool::new(BufPoolOptions { n_max: 4096, packet_bytes_max: 2048, ..BufPoolOptions::JUMBO });
        Ok(Ends { ports, pool, burst: Vec::new() })
    }

    pub fn send<'f>(&mut self, from: Side, frames: impl Iterator<Item = &'f [u8]>) -> Result<usize, Exit> {
        for frame in frames {
            let Some(mut buf) = self.pool.take() else { break };
            match buf.set_data(frame) {
                true => self.burst.push(buf),
                false => self.pool.give_back(buf),
            }
        }
        let sent = self.ports[from.index()].tx_burst(&mut self.pool, &mut self.burst);
        sent.map_err(|error| failed(&format!("cannot send: {error}")))
    }

    /// Takes what has arrived at a side; returns how much.
    pub fn receive(&mut self, at: Side, mut take: impl FnMut(&[u8])) -> Result<usize, Exit> {
        let received = self.ports[at.index()].rx_burst(&mut self.pool, &mut self.burst, 64);
        let n = received.map_err(|error| failed(&format!("cannot receive: {error}")))?;
        for buf in self.burst.drain(..) {
            take(buf.data());
            self.pool.give_back(buf);
        }
        Ok(n)
    }

    pub fn wait(&self, at: Side) {
        let _ = wait_for_input(self.ports[at.index()].fd(), Duration::from_millis(5));
    }
}

/// Sends traffic and markers. A marker follows each packet on the same way, and always passes: what has not come out before
/// it does not come.
pub struct Prober<'d> {
    app: AppArg,
    ends: Ends,
    balanced: &'d mut dyn Balanced,
    n_markers: u32,
    /// Public end of the flow of markers.
    marker_end: Option<End>,
    /// Public ends of the flows of a case, or the addresses of their servers.
    given: Vec<Option<End>>,
    /// Numbers of the servers of the flows of a case.
    servers: Vec<Option<u32>>,
    drained: Option<u32>,
}

impl<'d> Prober<'d> {
    pub fn new(app: AppArg, lab: &Lab, balanced: &'d mut dyn Balanced) -> Result<Prober<'d>, Exit> {
        let ends = Ends::open(lab)?;
        Ok(Prober {
            app,
            ends,
            balanced,
            n_markers: 0,
            marker_end: None,
            given: Vec::new(),
            servers: Vec::new(),
            drained: None,
        })
    }

    pub fn run(&mut self, cases: &[Case]) -> Result<Verdicts, Exit> {
        // The first marker opens the flow of all of them.
        self.mark(Side::Inside)?;
        cases.iter().map(|case| self.case(case)).collect()
    }

    fn case(&mut self, case: &Case) -> Result<Vec<Option<String>>, Exit> {
        self.given = vec![None; case.flows.len()];
        self.servers = vec![None; case.flows.len()];
        self.drained = None;
        case.steps.iter().map(|step| self.act(&step.act, &case.flows)).collect()
    }

    fn act(&mut self, act: &Act, flows: &[Flow]) -> Result<Option<String>, Exit> {
        match act {
            Act::Drain { server } => {
                let others: Vec<u32> = (1..=3).filter(|other| other != server).collect();
                self.drained = Some(*server);
                self.balanced.set_servers(&others).map(|()| None)
            }
            Act::Restore => {
                self.drained = None;
                self.balanced.set_servers(&[1, 2, 3]).map(|()| None)
            }
            Act::Packet { from: Side::Outside, .. } if !self.balanced.sees_answers() => Ok(None),
            Act::Packet { from, flow, body, oddity } => {
                let (source, destination) = self.ends_of(*from, *flow, flows);
                let bytes = packet::ipv4(source, destination, body, *oddity);
                self.send(*from, *flow, &flows[*flow], &bytes).map(Some)
            }
            Act::Unreachable { flow } => {
                let remote = flows[*flow].outside;
                let (_, own) = self.ends_of(Side::Outside, *flow, flows);
                let about = Body::Udp { data: vec![1; 8], has_checksum: true };
                let about = packet::ipv4(own, remote, &about, Oddity::default());
                let bytes = packet::ipv4(remote, own, &Body::Unreachable { about }, Oddity::default());
                self.send(Side::Outside, *flow, &flows[*flow], &bytes).map(Some)
            }
        }
    }

    /// Source and destination of a packet of a flow.
    fn ends_of(&self, from: Side, flow: usize, flows: &[Flow]) -> (End, End) {
        let Flow { inside, outside, maps_as } = flows[flow];
        let given = if maps_as == NOBODY { None } else { self.given.get(maps_as).copied().flatten() };
        match (self.app, from) {
            (_, Side::Inside) => (inside, outside),
            (AppArg::Firewall, Side::Outside) => (outside, inside),
            (AppArg::Nat, Side::Outside) => (outside, given.unwrap_or((traffic::PUBLIC, UNUSED_PORT))),
            (AppArg::Lb, Side::Outside) => (given.unwrap_or(outside), inside),
        }
    }

    /// Sends a packet and a marker after it; says what became of the packet.
    fn send(&mut self, from: Side, flow: usize, ends: &Flow, bytes: &[u8]) -> Result<String, Exit> {
        let frame = packet::frame(Lab::gateway(from), host(from), bytes);
        self.ends.send(from, std::iter::once(&frame[..]))?;
        let outputs = self.mark(from)?;
        let sent = Seen::read(&frame);
        let verdicts: Vec<String> = outputs
            .iter()
            .map(|(at, output)| self.judge(from, flow, ends, sent.as_ref(), *at, output))
            .collect();
        Ok(if verdicts.is_empty() { "dropped".to_owned() } else { verdicts.join(", ") })
    }

    /// Sends a marker and returns what came out before it, and where.
    fn mark(&mut self, from: Side) -> Result<Vec<(Side, Vec<u8>)>, Exit> {
        // Answers that go past it need no marker of their own: they are not sent.
        self.n_markers += 1;
        let number = self.n_markers;
        let data = [&MAGIC[..], &number.to_be_bytes()].concat();
        let (client, remote) = match self.app {
            AppArg::Lb => ((traffic::REMOTE + 100, 9), (traffic::BALANCED, traffic::UDP_SERVICE)),
            AppArg::Nat | AppArg::Firewall => ((traffic::INSIDE_HOST + 100, 9), (traffic::REMOTE + 100, 9)),
        };
        let (source, destination) = match (from, self.marker_end) {
            (Side::Inside, _) => (client, remote),
            (Side::Outside, Some(end)) if self.app == AppArg::Lb => (end, client),
            (Side::Outside, end) => (remote, end.unwrap_or(client)),
        };
        let body = Body::Udp { data, has_checksum: true };
        let frame = packet::frame(
            Lab::gateway(from),
            host(from),
            &packet::ipv4(source, destination, &body, Oddity::default()),
        );
        self.ends.send(from, std::iter::once(&frame[..]))?;
        let (begin, mut outputs, mut has_come) = (Instant::now(), Vec::new(), false);
        while !has_come {
            for at in [from.other(), from] {
                self.receive(at, number, &mut outputs, &mut has_come)?;
            }
            if begin.elapsed() > PATIENCE {
                return Err(failed("a packet that has to pass did not come out within ten seconds"));
            }
            if !has_come {
                self.ends.wait(from.other());
            }
        }
        // Answers of the middle itself.
        self.receive(from, number, &mut outputs, &mut has_come)?;
        Ok(outputs)
    }

    fn receive(
        &mut self,
        at: Side,
        number: u32,
        outputs: &mut Vec<(Side, Vec<u8>)>,
        has_come: &mut bool,
    ) -> Result<(), Exit> {
        let (app, marker_end) = (self.app, &mut self.marker_end);
        self.ends.receive(at, |frame| {
            let Some(seen) = Seen::read(frame) else { return };
            let payload = frame.get(42..50).unwrap_or_default();
            if seen.protocol == packet::UDP && payload.starts_with(&MAGIC) {
                *has_come |= payload[4..] == number.to_be_bytes();
                if at == Side::Outside {
                    *marker_end = Some(if app == AppArg::Lb { seen.destination } else { seen.source });
                }
                return;
            }
            outputs.push((at, frame.to_vec()));
        })?;
        Ok(())
    }

    /// The verdict about a packet that came out, in words that do not depend on which port or server was given.
    fn judge(
        &mut self,
        from: Side,
        flow: usize,
        ends: &Flow,
        sent: Option<&Seen>,
        at: Side,
        frame: &[u8],
    ) -> String {
        let (Some(seen), Some(sent)) = (Seen::read(frame), sent) else {
            return "passed as no packet".to_owned();
        };
        if at == from {
            return format!("answered with {}", seen.what());
        }
        let mut verdict = match self.addresses(from, flow, ends, sent, &seen) {
            Ok(words) => words,
            Err(words) => format!("passed with {words}"),
        };
        if seen.rest != sent.rest && seen.protocol != packet::ICMP {
            verdict += ", changed";
        }
        if sent.are_checksums_right != seen.are_checksums_right {
            verdict += ", its checksum is wrong now";
        }
        verdict
    }

    /// Compares the addresses with those that the packet should have; remembers those that are given to a flow.
    fn addresses(
        &mut self,
        from: Side,
        flow: usize,
        ends: &Flow,
        sent: &Seen,
        seen: &Seen,
    ) -> Result<String, String> {
        let passed = Ok("passed".to_owned());
        let are_kept = seen.source == sent.source && seen.destination == sent.destination;
        match (self.app, from) {
            (AppArg::Firewall, _) if are_kept => passed,
            (AppArg::Firewall, _) => Err("other addresses".to_owned()),
            (AppArg::Nat, Side::Inside) => {
                if seen.source.0 != traffic::PUBLIC {
                    return Err("the address that it had".to_owned());
                }
                if seen.destination != sent.destination {
                    return Err("another destination".to_owned());
                }
                if self.given.iter().enumerate().any(|(i, given)| i != flow && *given == Some(seen.source)) {
                    return Err("the port of another flow".to_owned());
                }
                match self.given[flow].replace(seen.source) {
                    Some(before) if before != seen.source => Err("another public port".to_owned()),
                    _ => passed,
                }
            }
            (AppArg::Nat, Side::Outside) if sent.protocol == packet::ICMP && sent.rest[0] == 3 => {
                if seen.destination.0 == ends.inside.0 {
                    passed
                } else {
                    Err("another destination".to_owned())
                }
            }
            (AppArg::Nat, Side::Outside) => {
                match seen.destination == ends.inside && seen.source == sent.source {
                    true => passed,
                    false => Err("another destination".to_owned()),
                }
            }
            (AppArg::Lb, Side::Inside) => {
                let server = u32::from(seen.station[5]);
                if seen.source != sent.source
                    || !(1..=3).contains(&server)
                    || seen.station[..5] != lab::SERVER[..5]
                {
                    return Err("other addresses".to_owned());
                }
                // The address that the server answers from.
                self.given[flow] = Some(seen.destination);
                match self.servers[flow].replace(server) {
                    None if self.drained == Some(server) => Err("a drained server".to_owned()),
                    Some(before) if before != server => Err("another server".to_owned()),
                    _ => passed,
                }
            }
            (AppArg::Lb, Side::Outside) => {
                match (seen.source, seen.destination) == (ends.outside, sent.destination) {
                    true => passed,
                    false => Err("other addresses".to_owned()),
                }
            }
        }
    }
}

fn host(side: Side) -> [u8; 6] {
    match side {
        Side::Inside => lab::CLIENT,
        Side::Outside => lab::SERVER,
    }
}
