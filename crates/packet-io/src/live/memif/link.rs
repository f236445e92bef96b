//! The link of a port: how both ends agree on memory and rings, and notice that the other one has gone.
//!
//! Nobody waits: whoever polls a queue of the port [tends](Shared::tend) the link now and then. A link that breaks is taken away from
//! the queues by a new [generation](Shared::generation); its memory stays mapped until the last of them has let go.

use super::MemifOptions;
use super::channel::{Address, Broken, Channel, ListeningSocket};
use super::protocol::{LOG2_RING_SIZE_MAX, Message, N_REGIONS_MAX, N_RINGS_MAX, RingMessage, VERSION};
use super::ring::{Layout, Region, Ring};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use std::collections::VecDeque;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

/// A server that has had no client yet.
const WAITING: &str = "waits for a client";
/// A client tries again after this time.
const RETRY: Duration = Duration::from_millis(100);
/// A connection that has not asked for a port by then is closed, and one that has asked and has no link by then.
const HANDSHAKE_TIME: Duration = Duration::from_secs(2);
/// How long a peer may take for the last packets before their ring is taken away.
const PEER_TIME: Duration = Duration::from_millis(200);
/// Connections that have not asked for a port yet.
const N_PENDING_MAX: usize = 16;

/// A ring with the descriptor by which its receiver is woken.
#[derive(Debug)]
pub(super) struct LinkRing {
    pub ring: Ring,
    pub event: OwnedFd,
}

/// Memory and rings that both ends have agreed on.
#[derive(Debug)]
pub(super) struct Link {
    pub regions: Vec<Region>,
    /// This end receives from them; one for each queue, in so far as the peer has so many.
    pub rx: Vec<LinkRing>,
    pub tx: Vec<LinkRing>,
}

/// How far a connection is.
#[derive(Debug)]
enum Stage {
    /// The client waits for the server's limits.
    Hello,
    /// The client waits for acknowledgements, and has these messages to send.
    Offering {
        link: Link,
        left: VecDeque<Offer>,
    },
    /// The server collects what the client describes.
    Collecting {
        regions: Vec<Region>,
        to_server: Vec<LinkRing>,
        to_client: Vec<LinkRing>,
    },
    Linked,
}

/// A message of the client, and the descriptor that goes with it.
#[derive(Debug)]
struct Offer {
    message: Message,
    file: Option<OwnedFd>,
}

#[derive(Debug)]
struct Connection {
    channel: Channel,
    stage: Stage,
    since: Instant,
}

#[derive(Debug, Default)]
struct State {
    connection: Option<Connection>,
    link: Option<Arc<Link>>,
    /// A client does not try before.
    retry_at: Option<Instant>,
    /// Why the last connection ended.
    problem: Option<String>,
}

/// Shared by the queues of a port.
#[derive(Debug)]
pub(super) struct Shared {
    pub options: MemifOptions,
    n_queues: u16,
    listener: Option<Arc<Listener>>,
    state: Mutex<State>,
    generation: AtomicU64,
    /// The end of the time in which the peer can take the last packets, once a queue is being closed.
    closing: OnceLock<Instant>,
    /// Never ready: for ports that have nothing else to wait for.
    never: OwnedFd,
}

/// Why a step of the handshake failed; the text goes to the peer too.
enum Refusal {
    Channel(Broken),
    Reason(String),
}

impl From<Broken> for Refusal {
    fn from(broken: Broken) -> Refusal {
        Refusal::Channel(broken)
    }
}

fn refusal(reason: impl Into<String>) -> Refusal {
    Refusal::Reason(reason.into())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub(super) fn open(options: MemifOptions, n_queues: u16) -> Result<Arc<Shared>, OpenFailure> {
        let never =
            eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(OpenFailure::System)?;
        let address = Address::parse(&options.socket);
        let listener = if options.is_server { Some(Listener::at(&address)?) } else { None };
        let problem = listener.as_ref().map(|_| WAITING.to_owned());
        let shared = Arc::new(Shared {
            options,
            n_queues,
            listener,
            state: Mutex::new(State { problem, ..State::default() }),
            generation: AtomicU64::new(0),
            closing: OnceLock::new(),
            never,
        });
        if let Some(listener) = &shared.listener {
            let mut ports = lock(&listener.ports);
            let id = shared.options.id;
            if ports.iter().filter_map(Weak::upgrade).any(|port| port.options.id == id) {
                return Err(OpenFailure::SameId);
            }
            ports.retain(|port| port.strong_count() > 0);
            ports.push(Arc::downgrade(&shared));
        }
        Ok(shared)
    }

    /// Until when the peer can take the last packets. All queues that are closed together have the same time.
    pub(super) fn closing_until(&self) -> Instant {
        *self.closing.get_or_init(|| Instant::now() + PEER_TIME)
    }

    /// Changes when the link comes or goes.
    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// The link with its generation, which changes under the same lock: with another's, a queue would take up the same link twice.
    pub(super) fn link(&self) -> (u64, Option<Arc<Link>>) {
        let state = lock(&self.state);
        (self.generation(), state.link.clone())
    }

    /// A descriptor that is ready when there is something to tend; of a linked port none is.
    pub(super) fn waiting_fd(&self) -> RawFd {
        let state = lock(&self.state);
        match (&state.connection, &self.listener) {
            (Some(connection), _) => connection.channel.raw_fd(),
            // Nobody accepts as long as too many connections say nothing, so it would stay ready.
            (None, Some(listener)) if !listener.is_full() => listener.socket.raw_fd(),
            (None, _) => self.never.as_raw_fd(),
        }
    }

    /// Why there is no link, in words.
    pub(super) fn problem(&self) -> Option<String> {
        lock(&self.state).problem.clone()
    }

    /// Goes on with the handshake, as far as the peer has come, and looks whether it is still there. Returns at once if another
    /// thread is at it.
    pub(super) fn tend(self: &Arc<Self>) {
        if let Some(listener) = &self.listener {
            listener.tend();
        }
        let Ok(mut state) = self.state.try_lock() else { return };
        let state = &mut *state;
        if self.listener.is_none() && state.connection.is_none() {
            let now = Instant::now();
            if state.retry_at.is_some_and(|at| now < at) {
                return;
            }
            state.retry_at = Some(now + RETRY);
            match Channel::connect(&Address::parse(&self.options.socket)) {
                Ok(channel) => {
                    state.connection = Some(Connection { channel, stage: Stage::Hello, since: now });
                }
                Err(error) => state.problem = Some(format!("connecting: {error}")),
            }
        }
        let Some(mut connection) = state.connection.take() else { return };
        let ended = loop {
            let received = match connection.channel.receive() {
                Ok(Some(received)) => received,
                // A client can wait for its server; a server is there for others too.
                Ok(None)
                    if matches!(connection.stage, Stage::Collecting { .. })
                        && connection.since.elapsed() >= HANDSHAKE_TIME =>
                {
                    break Some(refusal("The handshake takes too long"));
                }
                Ok(None) => break None,
                Err(broken) => break Some(Refusal::Channel(broken)),
            };
            match self.advance(connection, received) {
                Ok((next, link)) => {
                    connection = next;
                    if let Some(link) = link {
                        state.link = Some(Arc::new(link));
                        state.problem = None;
                        self.generation.fetch_add(1, Ordering::Release);
                    }
                }
                Err((before, refusal)) => {
                    connection = before;
                    break Some(refusal);
                }
            }
        };
        let Some(refusal) = ended else {
            state.connection = Some(connection);
            return;
        };
        state.problem = Some(match refusal {
            Refusal::Channel(broken) => broken.to_string(),
            Refusal::Reason(reason) => {
                let disconnect = Message::Disconnect { reason: reason.clone() };
                let _ = connection.channel.send(&disconnect, "", None);
                reason
            }
        });
        if state.link.take().is_some() {
            self.generation.fetch_add(1, Ordering::Release);
        }
    }

    /// Abandons the link because its memory holds garbage.
    pub(super) fn abandon(&self, link: &Arc<Link>, why: &str) {
        let mut state = lock(&self.state);
        if !state.link.as_ref().is_some_and(|own| Arc::ptr_eq(own, link)) {
            return;
        }
        if let Some(connection) = state.connection.take() {
            let disconnect = Message::Disconnect { reason: why.to_owned() };
            let _ = connection.channel.send(&disconnect, "", None);
        }
        state.link = None;
        state.problem = Some(why.to_owned());
        self.generation.fetch_add(1, Ordering::Release);
    }

    fn name(&self) -> String {
        format!("memif{}", self.options.id)
    }

    /// One message of the peer. Returns the connection as it goes on, and the link if it is complete.
    #[expect(clippy::result_large_err, reason = "the connection comes back either way")]
    fn advance(
        &self,
        connection: Connection,
        (message, file): (Message, Option<OwnedFd>),
    ) -> Result<(Connection, Option<Link>), (Connection, Refusal)> {
        let Connection { channel, stage, since } = connection;
        let result = match (stage, message) {
            (_, Message::Disconnect { reason }) => Err(Refusal::Channel(Broken::Refused(reason))),
            (
                Stage::Hello,
                Message::Hello { min_version, max_version, max_to_client, max_to_server, max_log2_ring_size },
            ) => {
                let limits = Limits { max_to_client, max_to_server, max_log2_ring_size };
                match (min_version..=max_version).contains(&VERSION) {
                    true => self.offer(&channel, limits).map(|stage| (stage, None)),
                    false => Err(refusal("Incompatible memif version")),
                }
            }
            (Stage::Offering { link, mut left }, Message::Ack) => match left.pop_front() {
                Some(Offer { message, file }) => channel
                    .send(&message, &self.name(), file.as_ref().map(AsFd::as_fd))
                    .map(|()| (Stage::Offering { link, left }, None))
                    .map_err(Refusal::from),
                // The last message is answered otherwise; a server could go on like this for ever.
                None => Err(refusal("Unexpected message Ack")),
            },
            (Stage::Offering { link, left }, Message::Connected) if left.is_empty() => {
                Ok((Stage::Linked, Some(link)))
            }
            (Stage::Collecting { regions, to_server, to_client }, message) => {
                self.collect(&channel, (regions, to_server, to_client), message, file)
            }
            (_, message) => Err(refusal(format!("Unexpected message {}", message.name()))),
        };
        match result {
            Ok((stage, link)) => Ok((Connection { channel, stage, since }, link)),
            Err(refusal) => Err((Connection { channel, stage: Stage::Hello, since }, refusal)),
        }
    }

    /// The client makes memory, and describes it.
    fn offer(&self, channel: &Channel, limits: Limits) -> Result<Stage, Refusal> {
        let MemifOptions { log2_ring_size, buffer_bytes, id, secret, .. } = &self.options;
        let rings =
            [limits.max_to_server, limits.max_to_client].map(|max| self.n_queues.min(max.saturating_add(1)));
        if let Some(n) = rings.into_iter().find(|n| *n < self.n_queues) {
            return Err(self.too_few_queues("server", usize::from(n)));
        }
        let log2_size = (*log2_ring_size).min(limits.max_log2_ring_size);
        let failed = |error: Errno| refusal(format!("Making memory for rings: {error}"));
        let layout = Layout::create(rings, log2_size, *buffer_bytes).map_err(failed)?;
        let mut left = VecDeque::new();
        let n_bytes = layout.region.n_bytes() as u64;
        let file = layout.region.file().map(duplicate).transpose().map_err(failed)?;
        left.push_back(Offer { message: Message::AddRegion { index: 0, n_bytes }, file });
        let mut with_event = |(message, ring): (RingMessage, Ring)| -> Result<LinkRing, Refusal> {
            let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(failed)?;
            let file = duplicate(event.as_fd()).map_err(failed)?;
            left.push_back(Offer { message: Message::AddRing(message), file: Some(file) });
            Ok(LinkRing { ring, event })
        };
        let tx = layout.to_server.into_iter().map(&mut with_event).collect::<Result<_, _>>()?;
        let rx = layout.to_client.into_iter().map(&mut with_event).collect::<Result<_, _>>()?;
        left.push_back(Offer { message: Message::Connect, file: None });
        let init = Message::Init { version: VERSION, id: *id, is_ethernet: true, secret: secret.clone() };
        channel.send(&init, &self.name(), None)?;
        Ok(Stage::Offering { link: Link { regions: vec![layout.region], rx, tx }, left })
    }

    fn too_few_queues(&self, peer: &str, n: usize) -> Refusal {
        refusal(format!("the {peer} has {n} of {} queues (--queues)", self.n_queues))
    }

    /// The server takes over what the client describes.
    fn collect(
        &self,
        channel: &Channel,
        (mut regions, mut to_server, mut to_client): (Vec<Region>, Vec<LinkRing>, Vec<LinkRing>),
        message: Message,
        file: Option<OwnedFd>,
    ) -> Result<(Stage, Option<Link>), Refusal> {
        match message {
            Message::AddRegion { index, n_bytes } => {
                let file = file.ok_or_else(|| refusal("Missing region fd"))?;
                if usize::from(index) != regions.len() || regions.len() >= N_REGIONS_MAX {
                    return Err(refusal("Invalid region index"));
                }
                regions.push(Region::open(file, n_bytes).map_err(Refusal::Reason)?);
            }
            Message::AddRing(ring) => {
                let event = file.ok_or_else(|| refusal("Missing interrupt fd"))?;
                let rings = if ring.to_server { &mut to_server } else { &mut to_client };
                if usize::from(ring.index) != rings.len() || ring.index >= self.n_queues {
                    let n = self.n_queues;
                    return Err(refusal(format!(
                        "Invalid ring index {}: this end has {n} queues",
                        ring.index
                    )));
                }
                if !(1..=LOG2_RING_SIZE_MAX).contains(&ring.log2_size) {
                    return Err(refusal("Invalid ring size"));
                }
                if !is_eventfd(&event) {
                    return Err(refusal("The interrupt fd is no eventfd"));
                }
                let ring = Ring::open(&regions, &ring).ok_or_else(|| refusal("Wrong ring"))?;
                rings.push(LinkRing { ring, event });
            }
            // Each worker sends on a ring of its own.
            Message::Connect if to_client.len() < usize::from(self.n_queues) => {
                return Err(self.too_few_queues("client", to_client.len()));
            }
            Message::Connect => {
                channel.send(&Message::Connected, &self.name(), None)?;
                return Ok((Stage::Linked, Some(Link { regions, rx: to_server, tx: to_client })));
            }
            message => return Err(refusal(format!("Unexpected message {}", message.name()))),
        }
        channel.send(&Message::Ack, &self.name(), None)?;
        Ok((Stage::Collecting { regions, to_server, to_client }, None))
    }

    /// The server's side of a client that asks for this port.
    fn adopt(&self, channel: Channel, secret: &str, is_ethernet: bool) {
        let mut state = lock(&self.state);
        let why = if state.connection.is_some() {
            Some("Already connected")
        } else if !is_ethernet {
            Some("Only ethernet mode supported")
        } else if !self.options.secret.is_empty() && secret.is_empty() {
            Some("Secret required")
        } else if !self.options.secret.is_empty() && secret != self.options.secret {
            Some("Incorrect secret")
        } else {
            None
        };
        if let Some(why) = why {
            refuse(&channel, why);
            if state.connection.is_none() {
                state.problem = Some(format!("a client was refused: {why}"));
            }
            return;
        }
        if channel.send(&Message::Ack, &self.name(), None).is_ok() {
            let stage =
                Stage::Collecting { regions: Vec::new(), to_server: Vec::new(), to_client: Vec::new() };
            state.connection = Some(Connection { channel, stage, since: Instant::now() });
        }
    }
}

struct Limits {
    max_to_client: u16,
    max_to_server: u16,
    max_log2_ring_size: u8,
}

fn duplicate(file: std::os::fd::BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    fcntl_dupfd_cloexec(file, 0)
}

/// Reading from and writing to other files can take as long as their makers like.
fn is_eventfd(file: &OwnedFd) -> bool {
    let name = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()));
    name.is_ok_and(|name| name.as_os_str() == "anon_inode:[eventfd]")
        && rustix::io::ioctl_fionbio(file, true).is_ok()
}

fn refuse(channel: &Channel, why: &str) {
    let _ = channel.send(&Message::Disconnect { reason: why.to_owned() }, "", None);
}

/// Why a port cannot be opened.
#[derive(Debug)]
pub(super) enum OpenFailure {
    System(Errno),
    /// Another port of this process is a server with the same socket and number.
    SameId,
}

/// A socket of the server, for all ports that share it.
#[derive(Debug)]
struct Listener {
    address: Address,
    socket: ListeningSocket,
    ports: Mutex<Vec<Weak<Shared>>>,
    pending: Mutex<Vec<(Channel, Instant)>>,
}

impl Listener {
    /// The listener of this process, which the first port opens.
    fn at(address: &Address) -> Result<Arc<Listener>, OpenFailure> {
        static LISTENERS: Mutex<Vec<Weak<Listener>>> = Mutex::new(Vec::new());
        let mut listeners = lock(&LISTENERS);
        if let Some(found) =
            listeners.iter().filter_map(Weak::upgrade).find(|found| found.address == *address)
        {
            return Ok(found);
        }
        let listener = Arc::new(Listener {
            address: address.clone(),
            socket: ListeningSocket::open(address).map_err(OpenFailure::System)?,
            ports: Mutex::default(),
            pending: Mutex::default(),
        });
        listeners.retain(|listener| listener.strong_count() > 0);
        listeners.push(Arc::downgrade(&listener));
        Ok(listener)
    }

    fn ports(&self) -> Vec<Arc<Shared>> {
        lock(&self.ports).iter().filter_map(Weak::upgrade).collect()
    }

    /// Tells ports that have no client.
    fn note(&self, problem: &str) {
        for port in self.ports() {
            let mut state = lock(&port.state);
            if state.connection.is_none() {
                state.problem = Some(problem.to_owned());
            }
        }
    }

    fn is_full(&self) -> bool {
        self.pending.try_lock().is_ok_and(|pending| pending.len() >= N_PENDING_MAX)
    }

    fn tend(&self) {
        let Ok(mut pending) = self.pending.try_lock() else { return };
        while pending.len() < N_PENDING_MAX
            && let Some(channel) = self.socket.accept()
        {
            // Not the queues of this end, though a client with more will be refused: DPDK's driver would go on with fewer rings, and
            // take the beginning of its memory for the rings that it does not have.
            let hello = Message::Hello {
                min_version: VERSION,
                max_version: VERSION,
                max_to_client: N_RINGS_MAX - 1,
                max_to_server: N_RINGS_MAX - 1,
                max_log2_ring_size: LOG2_RING_SIZE_MAX,
            };
            if channel.send(&hello, "", None).is_ok() {
                pending.push((channel, Instant::now()));
            }
        }
        let mut i = 0;
        while i < pending.len() {
            let (channel, since) = &pending[i];
            match channel.receive() {
                Ok(None) if since.elapsed() < HANDSHAKE_TIME => i += 1,
                Ok(Some((Message::Init { version: VERSION, id, is_ethernet, secret }, _))) => {
                    let (channel, _) = pending.swap_remove(i);
                    match self.ports().into_iter().find(|port| port.options.id == id) {
                        Some(port) => port.adopt(channel, &secret, is_ethernet),
                        None => {
                            refuse(&channel, "ID not found");
                            self.note(&format!("a client was refused: it asked for id={id}"));
                        }
                    }
                }
                other => {
                    match other {
                        Ok(Some((Message::Init { .. }, _))) => refuse(channel, "Incompatible memif version"),
                        Ok(Some(_)) => refuse(channel, "Unexpected message"),
                        Ok(None) | Err(_) => {}
                    }
                    pending.swap_remove(i);
                }
            }
        }
    }
}
