//! A network for a test, and ports that are driven by it.

use packet_io::{
    AfPacketOptions, AfPacketPort, BufPool, BufPoolOptions, LinkState, PacketBuf, Port, PortId,
    wait_for_input,
};
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// After this something is broken, however slow the machine.
pub const DEADLINE: Duration = Duration::from_secs(120);

/// Runs a test in a thread with a network namespace of its own. What it opens and which programs it starts are
/// in there. The namespace ends with it.
pub fn in_namespace(test: impl FnOnce() + Send + 'static) {
    if let Err(why) = probe() {
        let message = format!("needs a network namespace: {why}");
        assert!(std::env::var_os("SIDING_REQUIRE_NET").is_none_or(|v| v != "1"), "{message}");
        eprintln!("skipped: {message}");
        return;
    }
    let thread = thread::spawn(|| {
        enter_new_namespace().unwrap();
        ip("link set lo up");
        test();
    });
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

fn probe() -> Result<(), String> {
    if Command::new("ip").arg("-V").output().is_err() {
        return Err("there is no `ip`; install iproute2".to_string());
    }
    thread::spawn(enter_new_namespace).join().unwrap()
}

fn enter_new_namespace() -> Result<(), String> {
    // SAFETY: without pointers; it changes this thread only.
    let result = unsafe { libc::unshare(libc::CLONE_NEWNET) };
    if result == 0 { Ok(()) } else { Err(format!("unshare: {}", std::io::Error::last_os_error())) }
}

/// The thread as `ip link set ... netns` takes it.
fn thread_id() -> i32 {
    // SAFETY: without pointers.
    unsafe { libc::gettid() }
}

/// Runs `ip` with arguments that are separated by blanks.
pub fn ip(arguments: &str) {
    let output = Command::new("ip").args(arguments.split(' ')).output().unwrap();
    assert!(output.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Makes two interfaces that are connected to each other, without any traffic of their own, and switches them on.
pub fn veth_pair(a: &str, b: &str, mtu: u32) {
    ip(&format!("link add name {a} mtu {mtu} type veth peer name {b} mtu {mtu}"));
    for name in [a, b] {
        ip(&format!("link set dev {name} addrgenmode none"));
        ip(&format!("link set dev {name} up"));
    }
}

/// A port with a pool.
pub struct Driven<P: Port + ?Sized> {
    pub port: Box<P>,
    pub pool: BufPool,
}

impl<P: Port> Driven<P> {
    pub fn new(port: P) -> Driven<P> {
        Driven::boxed(Box::new(port))
    }
}

impl<P: Port + ?Sized> Driven<P> {
    pub fn boxed(port: Box<P>) -> Driven<P> {
        Driven { port, pool: BufPool::new(BufPoolOptions { n_max: 1024, ..BufPoolOptions::JUMBO }) }
    }

    pub fn send<D: AsRef<[u8]>>(&mut self, packets: impl IntoIterator<Item = D>) -> usize {
        let mut burst = Vec::new();
        for packet in packets {
            let mut buf = self.pool.take().unwrap();
            assert!(buf.set_data(packet.as_ref()));
            burst.push(buf);
        }
        let n = self.port.tx_burst(&mut self.pool, &mut burst).unwrap();
        assert!(burst.is_empty());
        // The kernel may take packets later; the port tries again when it is used, which a test might not do.
        self.port.flush().unwrap();
        n
    }

    /// What waits at the port and is wanted.
    pub fn receive(&mut self, mut is_wanted: impl FnMut(&[u8]) -> bool) -> Vec<Vec<u8>> {
        let mut burst: Vec<PacketBuf> = Vec::new();
        let n = self.port.rx_burst(&mut self.pool, &mut burst, 256).unwrap();
        assert_eq!(n, burst.len());
        let mut found = Vec::new();
        for buf in burst {
            assert_eq!(buf.port, self.port.id());
            assert!(buf.timestamp_ns > 1_600_000_000_000_000_000, "{}", buf.timestamp_ns);
            if is_wanted(buf.data()) {
                found.push(buf.data().to_vec());
            }
            self.pool.give_back(buf);
        }
        if n == 0 {
            self.port.idle().unwrap();
        }
        found
    }

    /// Waits until that many packets have come that are wanted.
    pub fn receive_n(&mut self, n: usize, mut is_wanted: impl FnMut(&[u8]) -> bool) -> Vec<Vec<u8>> {
        let (begin, mut found) = (Instant::now(), Vec::new());
        while found.len() < n {
            if begin.elapsed() >= DEADLINE {
                let (id, stats, n_found) = (self.port.id(), self.port.stats(), found.len());
                // The interfaces' own counts tell on which way packets are.
                let links = Command::new("ip").args(["-s", "-s", "link"]).output().unwrap();
                let links = String::from_utf8_lossy(&links.stdout);
                panic!("{n_found} of {n} packets came: {id:?} {stats:?}\n{links}");
            }
            let news = self.receive(&mut is_wanted);
            if news.is_empty() {
                wait_for_input(self.port.fd(), Duration::from_millis(20)).unwrap();
            }
            found.extend(news);
        }
        found
    }

    pub fn wait_for(&mut self, state: LinkState) {
        let begin = Instant::now();
        while self.port.link_state() != state {
            assert!(begin.elapsed() < DEADLINE, "waited for {state:?}: {:?}", self.port.link_state());
            self.port.idle().unwrap();
            wait_for_input(self.port.fd(), Duration::from_millis(20)).unwrap();
        }
    }

    /// No buffer was lost.
    pub fn assert_all_buffers_are_back(&self) {
        assert_eq!(self.pool.n_free(), self.pool.n_made());
    }
}

pub fn open(id: u32, interface: &str) -> Driven<AfPacketPort> {
    open_with(id, interface, AfPacketOptions::JUMBO)
}

/// Opens an interface that is switched on, and waits for its link, which takes the kernel a moment.
pub fn open_with(id: u32, interface: &str, options: AfPacketOptions) -> Driven<AfPacketPort> {
    let mut opened = Driven::new(AfPacketPort::open(PortId(id), interface, options).unwrap());
    opened.wait_for(LinkState::Up);
    opened
}

/// Where the packets of these tests come from, so that others can be told apart.
const SOURCE: [u8; 6] = [2, b'S', b'i', b'd', b'i', b'n'];

/// A packet of at least 14 bytes whose contents depend on `n`.
pub fn packet(n_bytes: usize, n: usize) -> Vec<u8> {
    let mut packet = [&[2, 0, 0, 0, 0, n as u8][..], &SOURCE, &[0x88, 0xb5]].concat();
    packet.extend((packet.len()..n_bytes).map(|i| (i * 7 + n) as u8));
    packet
}

pub fn is_ours(packet: &[u8]) -> bool {
    packet.get(6..12) == Some(&SOURCE)
}

/// A host of its own: a thread in another namespace, that waits to be told to go.
pub struct Neighbour<T> {
    pub thread_id: i32,
    go: mpsc::Sender<()>,
    thread: thread::JoinHandle<T>,
}

impl<T: Send + 'static> Neighbour<T> {
    pub fn start(run: impl FnOnce() -> T + Send + 'static) -> Neighbour<T> {
        let (id_tx, id_rx) = mpsc::channel();
        let (go, go_rx) = mpsc::channel();
        let thread = thread::spawn(move || {
            enter_new_namespace().unwrap();
            ip("link set lo up");
            id_tx.send(thread_id()).unwrap();
            go_rx.recv().unwrap();
            run()
        });
        Neighbour { thread_id: id_rx.recv().unwrap(), go, thread }
    }

    pub fn go(&self) {
        self.go.send(()).unwrap();
    }

    pub fn is_finished(&self) -> bool {
        self.thread.is_finished()
    }

    pub fn join(self) -> T {
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}
