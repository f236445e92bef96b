//! The ports of a command, and what they do in a trial.

use super::refuse;
use super::signals::Signals;
use crate::cli::{TrafficPort, TrafficPortArgs};
use crate::output::{self, Exit};
use dataplane::{PortKind, PortSpec};
use packet_io::{LinkState, Port, PortId};
use std::time::{Duration, Instant};
use traffic::{
    ChecksumCheck, Content, Generator, GeneratorOptions, IdleMode, N_STREAMS_MAX, NullPort, Receiver, Sender,
    Sink, Station, TrafficError, Trial,
};

/// How long ports may take until they have a link: clients of memif try once a second, network cards negotiate.
const LINK_PATIENCE: Duration = Duration::from_secs(4);

/// Time that a new link has before packets are sent.
const LINK_SETTLE: Duration = Duration::from_millis(300);

/// Time between two looks at links.
const LINK_LOOK: Duration = Duration::from_millis(20);

/// One or two ports.
pub struct Ports {
    /// Sends, unless it is absent; receives, too, if it is also the port of --rx.
    tx: Option<Box<dyn Port>>,
    rx: Option<Box<dyn Port>>,
    is_one: bool,
    names: Vec<String>,
    /// Names of ports that had no link when everything else was ready.
    without_link: Vec<String>,
}

/// Tasks of the ports.
#[derive(Clone, Debug)]
pub struct Roles {
    pub generator: Option<GeneratorOptions>,
    pub is_bidirectional: bool,
    pub checksum_check: ChecksumCheck,
    pub cores: Vec<usize>,
    pub idle: IdleMode,
}

/// The name of a port in messages.
fn name(port: &TrafficPort) -> String {
    port.kind.as_ref().map_or("null:".to_owned(), PortKind::to_string)
}

fn open(port: &TrafficPort, number: u32) -> Result<Box<dyn Port>, Exit> {
    let number = port.number.unwrap_or(number);
    match &port.kind {
        None => Ok(Box::new(NullPort::new(PortId(number)))),
        Some(kind) => PortSpec { number, kind: kind.clone() }.open(None).map_err(|error| {
            output::error_line(&error.to_string());
            Exit::Environment
        }),
    }
}

impl Ports {
    /// Opens the ports and waits for their links. A port that stays without one is used all the same, with a warning.
    pub fn open(args: &TrafficPortArgs, signals: &Signals) -> Result<Ports, Exit> {
        packet_io::check_cores(&args.cores).map_err(|error| refuse(&error.into()))?;
        let is_one = match (&args.tx, &args.rx) {
            (None, None) => {
                output::error_line(
                    "name a port: --tx INTERFACE sends, --rx INTERFACE receives, and both together measure",
                );
                return Err(Exit::Usage);
            }
            (Some(tx), Some(rx)) => match (&tx.kind, &rx.kind) {
                (Some(tx), Some(rx)) => tx.is_same_device(rx),
                (None, None) => true,
                _ => false,
            },
            _ => false,
        };
        let tx = args.tx.as_ref().map(|port| open(port, 0)).transpose()?;
        let rx = args.rx.as_ref().filter(|_| !is_one).map(|port| open(port, 1)).transpose()?;
        let named = |port: &Option<TrafficPort>| port.as_ref().map(name);
        let names = named(&args.tx).into_iter().chain(named(&args.rx).filter(|_| !is_one)).collect();
        let mut ports = Ports { tx, rx, is_one, names, without_link: Vec::new() };
        ports.wait_for_links(signals);
        Ok(ports)
    }

    fn wait_for_links(&mut self, signals: &Signals) {
        let begin = Instant::now();
        let has_waited = !self.not_up().is_empty();
        while !self.not_up().is_empty() && begin.elapsed() < LINK_PATIENCE && !signals.is_end_wanted() {
            std::thread::sleep(LINK_LOOK);
            // An error comes back when the port is used.
            self.tx.iter_mut().chain(&mut self.rx).for_each(|port| drop(port.idle()));
        }
        if has_waited && self.not_up().is_empty() {
            // A switch at the other end learns of the link, and takes the port into its groups.
            std::thread::sleep(LINK_SETTLE);
        }
        let not_up = self.not_up();
        link_hints(&not_up).iter().for_each(|hint| output::warning_line(hint));
        self.without_link = not_up.into_iter().map(|port| port.name.to_owned()).collect();
    }

    /// Advice on ports that have lost their links since they were opened.
    pub fn link_hints(&self) -> Vec<String> {
        let has_lost = |port: &NotUp<'_>| !self.without_link.iter().any(|told| told == port.name);
        link_hints(&self.not_up().into_iter().filter(has_lost).collect::<Vec<_>>())
    }

    pub fn has_tx(&self) -> bool {
        self.tx.is_some()
    }

    /// The names of the ports, in the order of the stations.
    pub fn names(&self) -> Vec<String> {
        self.names.clone()
    }

    /// Ports that are down or gone, by name.
    fn not_up(&self) -> Vec<NotUp<'_>> {
        let ports = self.names.iter().zip(self.tx.iter().chain(&self.rx));
        let not_up =
            ports.map(|(name, port)| NotUp { name, state: port.link_state(), reason: port.down_reason() });
        not_up.filter(|port| port.state != LinkState::Up).collect()
    }

    /// The port that sends, and the one that receives if it is another.
    pub fn both(&mut self) -> (Option<&mut dyn Port>, Option<&mut dyn Port>) {
        (self.tx.as_mut().map(|port| &mut **port as _), self.rx.as_mut().map(|port| &mut **port as _))
    }

    pub fn is_one(&self) -> bool {
        self.is_one
    }

    /// Prepares a trial.
    pub fn trial(&mut self, roles: &Roles) -> Result<Trial<'_>, TrafficError> {
        let is_one = self.is_one;
        let sink = || Some(Receiver::Sink(Box::new(Sink::new(roles.checksum_check))));
        let mut cores = roles.cores.iter().copied();
        let mut stations = Vec::new();
        let (tx, rx) = self.both();
        let is_both_ways = roles.is_bidirectional && rx.is_some();
        if let (Some(port), Some(options)) = (tx, &roles.generator) {
            let generator = Generator::new(options.clone(), port.frame_bytes_max())?;
            stations.push(Station {
                port,
                sender: Some(Sender::Generator(Box::new(generator))),
                receiver: if is_one || is_both_ways { sink() } else { None },
                core: cores.next(),
                idle: roles.idle,
            });
        }
        if let Some(port) = rx {
            let sender = match &roles.generator {
                Some(options) if is_both_ways => {
                    let generator = Generator::new(reversed(options), port.frame_bytes_max())?;
                    Some(Sender::Generator(Box::new(generator)))
                }
                Some(_) | None => None,
            };
            stations.push(Station { port, sender, receiver: sink(), core: cores.next(), idle: roles.idle });
        }
        Ok(Trial::new(stations))
    }
}

/// A port without a link.
struct NotUp<'p> {
    name: &'p str,
    state: LinkState,
    reason: Option<String>,
}

fn link_hints(ports: &[NotUp<'_>]) -> Vec<String> {
    let hint = |NotUp { name, state, reason }: &NotUp<'_>| match state {
        LinkState::Gone => format!("there is no interface {name} any more"),
        LinkState::Up | LinkState::Down if name.starts_with("dpdk:") => {
            format!(
                "{name} has no link: does the program at its other end run, with the same socket (and the same socket-abstract)?"
            )
        }
        LinkState::Up | LinkState::Down if name.starts_with("memif:") => {
            let reason = reason.as_ref().map_or(String::new(), |reason| format!(" ({reason})"));
            format!(
                "{name} has no link{reason}: does the program at its other end run, with the same socket and id?"
            )
        }
        LinkState::Up | LinkState::Down => {
            let interface = name.rsplit(':').next().unwrap_or(name);
            format!(
                "{name} is down, or has no link; type: sudo ip link set {interface} up, and see to its other end"
            )
        }
    };
    ports.iter().map(hint).collect()
}

/// The opposite direction: sources and destinations are exchanged, and the stream is the next one.
fn reversed(options: &GeneratorOptions) -> GeneratorOptions {
    let mut reversed = options.clone();
    reversed.stream = (options.stream + 1) % N_STREAMS_MAX as u8;
    if let Content::Flows { flows, .. } = &mut reversed.content {
        std::mem::swap(&mut flows.src_mac, &mut flows.dst_mac);
        std::mem::swap(&mut flows.src_ip, &mut flows.dst_ip);
        std::mem::swap(&mut flows.src_port, &mut flows.dst_port);
    }
    reversed
}
