//! memif: both ends in this process, hostile clients, and peers that go.

use crate::namespace::{DEADLINE, Driven};
use packet_io::Port;
use packet_io::{LinkState, MemifOptions, MemifPort, PortId, wait_for_input};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix,
    SocketType, connect, recv, sendmsg, socket,
};
use std::fs;
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A directory for sockets, which goes with the test.
struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Dir {
        let path = std::env::temp_dir().join(format!("siding-memif-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Dir(path)
    }

    fn socket(&self) -> String {
        self.0.join("socket").display().to_string()
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn open(options: MemifOptions) -> Driven<MemifPort> {
    Driven::new(MemifPort::open(PortId(7), options).unwrap())
}

/// Tends both until they have a link.
fn join(one: &mut Driven<MemifPort>, other: &mut Driven<MemifPort>) {
    let begin = Instant::now();
    while one.port.link_state() != LinkState::Up || other.port.link_state() != LinkState::Up {
        assert!(begin.elapsed() < DEADLINE, "{:?} {:?}", one.port.down_reason(), other.port.down_reason());
        one.port.idle().unwrap();
        other.port.idle().unwrap();
    }
}

fn pair(dir: &Dir, change: impl Fn(&mut MemifOptions)) -> [Driven<MemifPort>; 2] {
    let [mut server, mut client] = [MemifOptions::server(dir.socket()), MemifOptions::client(dir.socket())];
    change(&mut server);
    change(&mut client);
    let (mut server, mut client) = (open(server), open(client));
    join(&mut server, &mut client);
    [server, client]
}

fn packet(n: usize, n_bytes: usize) -> Vec<u8> {
    (0..n_bytes).map(|i| (i * 7 + n * 31 + n / 256) as u8).collect()
}

#[test]
fn packets_of_all_sizes_go_both_ways() {
    let dir = Dir::new("sizes");
    let mut ends = pair(&dir, |_| {});
    for (from, to) in [(0, 1), (1, 0)] {
        for (n, n_bytes) in
            [14, 60, 63, 64, 65, 1500, 2047, 2048, 2049, 4096, 9000, 9216].into_iter().enumerate()
        {
            let sent = packet(n, n_bytes);
            assert_eq!(ends[from].send([&sent]), 1);
            assert!(ends[to].receive_n(1, |_| true) == [sent], "{n_bytes} bytes");
        }
    }
    // Indices of 16 bits go round, in bursts of many sizes.
    let (mut n, mut n_bytes) = (0, 0);
    while n < 150_000 {
        let n_now = n % 200 + 1;
        let sent: Vec<Vec<u8>> = (n..n + n_now).map(|i| packet(i, 60 + i % 4)).collect();
        for (from, to) in [(0, 1), (1, 0)] {
            assert_eq!(ends[from].send(&sent), n_now);
            assert!(ends[to].receive_n(n_now, |_| true) == sent);
        }
        n_bytes += sent.iter().map(Vec::len).sum::<usize>();
        n += n_now;
    }
    for end in &mut ends {
        let stats = end.port.stats();
        assert_eq!((stats.tx_packets, stats.rx_packets), (n as u64 + 12, n as u64 + 12));
        let all = n_bytes as u64 + stats.rx_bytes - stats.tx_bytes;
        assert!(stats.tx_bytes > all && stats.tx_dropped() == 0 && stats.rx_dropped() == 0, "{stats:?}");
        end.assert_all_buffers_are_back();
    }
}

#[test]
fn a_full_ring_and_unfit_packets_are_counted() {
    let dir = Dir::new("full");
    let [mut server, mut client] = pair(&dir, |options| options.log2_ring_size = 3);
    {
        let (from, to) = (&mut server, &mut client);
        let sent: Vec<Vec<u8>> = (0..20).map(|n| packet(n, 100)).collect();
        assert_eq!(from.send(&sent), 8);
        // Eight, then room for more; the packet in five slots needs all of them.
        assert!(to.receive_n(8, |_| true) == sent[..8]);
        let long = packet(1, 9216);
        assert_eq!(from.send([&long, &long]), 1);
        assert!(to.receive_n(1, |_| true) == [long]);
        assert_eq!(from.send([vec![0; 13], vec![0; 14]]), 1);
        assert!(to.receive_n(1, |_| true) == [[0; 14]]);
        let stats = from.port.stats();
        assert_eq!((stats.tx_packets, stats.tx_dropped_full, stats.tx_errors), (10, 13, 1));
        from.assert_all_buffers_are_back();
    }
    let sent: Vec<Vec<u8>> = (0..9).map(|n| packet(n, 100)).collect();
    assert_eq!(client.send(&sent), 8);
    assert!(server.receive_n(8, |_| true) == sent[..8]);
}

#[test]
fn packets_that_no_ring_can_hold_are_too_long() {
    let dir = Dir::new("long");
    let mut ends = pair(&dir, |options| (options.log2_ring_size, options.buffer_bytes) = (1, 64));
    for (from, to) in [(0, 1), (1, 0)] {
        ends[from].port.set_back_pressure(true);
        let sent = [packet(0, 1500), packet(1, 129), packet(2, 128)];
        assert_eq!(ends[from].send(&sent), 1);
        assert!(ends[to].receive_n(1, |_| true) == sent[2..]);
        let stats = ends[from].port.stats();
        assert_eq!((stats.tx_packets, stats.tx_too_long, stats.tx_dropped()), (1, 2, 2));
        ends[from].assert_all_buffers_are_back();
    }
}

#[test]
fn both_ends_have_as_many_queues() {
    let dir = Dir::new("fewer");
    let open_two = |options| {
        let queues = MemifPort::open_queues(PortId(7), options, 2).unwrap();
        queues.into_iter().map(Driven::new).collect::<Vec<_>>()
    };
    let mut server = open(MemifOptions::server(dir.socket()));
    let mut clients = open_two(MemifOptions::client(dir.socket()));
    // With the limits of the server, DPDK's driver would go on with less than it has.
    wait_for_problem(
        &mut clients[0],
        &mut server,
        "the peer has disconnected: Invalid ring index 1: this end has 1 queues",
    );
    drop((server, clients));
    let mut servers = open_two(MemifOptions::server(dir.socket()));
    let mut client = open(MemifOptions::client(dir.socket()));
    wait_for_problem(
        &mut client,
        &mut servers[0],
        "the peer has disconnected: the client has 1 of 2 queues (--queues)",
    );
}

#[test]
fn queues_are_separate_and_wait_for_input() {
    let dir = Dir::new("queues");
    let open = |options| {
        let queues = MemifPort::open_queues(PortId(7), options, 3).unwrap();
        queues.into_iter().map(Driven::new).collect::<Vec<_>>()
    };
    let mut server = open(MemifOptions::server(dir.socket()));
    let mut client = open(MemifOptions::client(dir.socket()));
    for i in 0..3 {
        join(&mut server[i], &mut client[i]);
    }
    for i in 0..3 {
        {
            let (from, to) = (&mut server, &mut client);
            assert!(to[i].receive(|_| true).is_empty());
            let fd = to[i].port.fd().unwrap();
            wait_for_input(Some(fd), Duration::ZERO).unwrap();
            assert!(!is_ready(fd));
            from[i].send([packet(i, 60)]);
            assert!(is_ready(fd));
            assert!(to[i].receive_n(1, |_| true) == [packet(i, 60)]);
            assert!(!is_ready(fd));
            // A packet that came before the wish to be woken is seen as well.
            from[i].send([packet(i, 61)]);
            let fd = to[i].port.fd().unwrap();
            assert!(is_ready(fd));
            assert!(to[i].receive_n(1, |_| true) == [packet(i, 61)]);
        }
        client[i].send([packet(i, 62)]);
        assert!(server[i].receive_n(1, |_| true) == [packet(i, 62)]);
    }
}

fn is_ready(fd: i32) -> bool {
    let mut polled = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    // SAFETY: one structure, for one descriptor.
    unsafe { libc::poll(&raw mut polled, 1, 0) == 1 }
}

#[test]
fn a_socket_has_several_interfaces() {
    let dir = Dir::new("several");
    let with_id = |options: MemifOptions, id| MemifOptions { id, ..options };
    let mut servers = [3, 5].map(|id| open(with_id(MemifOptions::server(dir.socket()), id)));
    let mut clients = [3, 5].map(|id| open(with_id(MemifOptions::client(dir.socket()), id)));
    for i in 0..2 {
        join(&mut servers[i], &mut clients[i]);
        clients[i].send([packet(i, 60 + i)]);
        assert!(servers[i].receive_n(1, |_| true) == [packet(i, 60 + i)]);
    }
    let again = MemifPort::open(PortId(1), with_id(MemifOptions::server(dir.socket()), 5)).unwrap_err();
    assert_eq!(
        again.to_string(),
        format!(
            "memif socket {}: another port has interface 5 already; give this one another id=",
            dir.socket()
        )
    );
    let mut stranger = open(with_id(MemifOptions::client(dir.socket()), 4));
    wait_for_problem(&mut stranger, &mut servers[0], "the peer has disconnected: ID not found");
    let mut second = open(with_id(MemifOptions::client(dir.socket()), 3));
    wait_for_problem(&mut second, &mut servers[0], "the peer has disconnected: Already connected");
}

fn wait_for_problem(client: &mut Driven<MemifPort>, server: &mut Driven<MemifPort>, problem: &str) {
    let begin = Instant::now();
    while client.port.down_reason().as_deref() != Some(problem) {
        assert!(begin.elapsed() < DEADLINE, "{:?}", client.port.down_reason());
        client.port.idle().unwrap();
        server.port.idle().unwrap();
    }
    assert_eq!(client.port.link_state(), LinkState::Down);
}

#[test]
fn secrets_are_checked() {
    let dir = Dir::new("secret");
    let with = |options: MemifOptions, secret: &str| MemifOptions { secret: secret.to_owned(), ..options };
    let mut server = open(with(MemifOptions::server(dir.socket()), "abc"));
    let mut without = open(MemifOptions::client(dir.socket()));
    wait_for_problem(&mut without, &mut server, "the peer has disconnected: Secret required");
    let mut wrong = open(with(MemifOptions::client(dir.socket()), "abd"));
    wait_for_problem(&mut wrong, &mut server, "the peer has disconnected: Incorrect secret");
    drop((without, wrong));
    let mut right = open(with(MemifOptions::client(dir.socket()), "abc"));
    join(&mut server, &mut right);
}

#[test]
fn peers_go_and_come_back() {
    let dir = Dir::new("back");
    let mut server = open(MemifOptions::server(dir.socket()));
    for round in 0..3 {
        let mut client = open(MemifOptions::client(dir.socket()));
        join(&mut server, &mut client);
        server.send([packet(round, 64)]);
        assert!(client.receive_n(1, |_| true) == [packet(round, 64)]);
        // The last packets of a client that ends arrive.
        let sent: Vec<Vec<u8>> = (0..5).map(|n| packet(n, 70)).collect();
        client.send(&sent);
        drop(client);
        assert!(server.receive_n(5, |_| true) == sent);
        server.wait_for(LinkState::Down);
        server.send([packet(0, 60)]);
    }
    let stats = server.port.stats();
    assert_eq!((stats.rx_packets, stats.tx_packets, stats.tx_dropped_down), (15, 3, 3));
    let mut client = open(MemifOptions::client(dir.socket()));
    join(&mut server, &mut client);
    drop(server);
    client.wait_for(LinkState::Down);
    let mut server = open(MemifOptions::server(dir.socket()));
    join(&mut server, &mut client);
    client.send([packet(9, 64)]);
    assert!(server.receive_n(1, |_| true) == [packet(9, 64)]);
}

#[test]
fn sockets_that_cannot_be_are_refused() {
    let dir = Dir::new("refused");
    let why = |socket: &str| {
        let error = MemifPort::open(PortId(1), MemifOptions::server(socket)).unwrap_err().to_string();
        error.strip_prefix(&format!("memif socket {socket}: ")).unwrap().to_owned()
    };
    assert_eq!(why("/no/such/place"), "its directory is not there: make it, or take another path");
    let file = dir.0.join("file");
    fs::write(&file, "content").unwrap();
    assert_eq!(
        why(&file.display().to_string()),
        "something is there already: another server, or a file. End it, or take another path"
    );
    assert_eq!(fs::read(&file).unwrap(), b"content");
    assert_eq!(why(&format!("/{}", "x".repeat(200))), "the path is longer than 107 bytes");
    // One that was left behind is taken over, and goes with the port.
    let left = std::os::unix::net::UnixListener::bind(dir.socket()).unwrap();
    drop(left);
    drop(open(MemifOptions::server(dir.socket())));
    assert!(!Path::new(&dir.socket()).exists());
}

/// A client that says what a test wants.
struct Hostile {
    socket: OwnedFd,
}

impl Hostile {
    fn connect(path: &str, server: &mut Driven<MemifPort>) -> Hostile {
        let socket = socket(AddressFamily::UNIX, SocketType::SEQPACKET, None).unwrap();
        connect(&socket, &SocketAddrUnix::new(path).unwrap()).unwrap();
        let mut hostile = Hostile { socket };
        let hello = hostile.answer(server);
        assert_eq!(u16::from_ne_bytes([hello[0], hello[1]]), 2);
        hostile
    }

    fn say(&self, number: u16, parts: &[&[u8]], file: Option<BorrowedFd<'_>>) {
        let mut bytes = [number.to_ne_bytes().as_slice(), &parts.concat()].concat();
        bytes.resize(128, 0);
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let files: Vec<BorrowedFd<'_>> = file.into_iter().collect();
        control.push(SendAncillaryMessage::ScmRights(&files));
        sendmsg(&self.socket, &[IoSlice::new(&bytes)], &mut control, SendFlags::NOSIGNAL).unwrap();
    }

    /// The server's next message; empty if it has closed the connection.
    fn answer(&mut self, server: &mut Driven<MemifPort>) -> Vec<u8> {
        let begin = Instant::now();
        loop {
            server.port.idle().unwrap();
            let mut bytes = vec![0; 128];
            match recv(&self.socket, &mut bytes[..], RecvFlags::DONTWAIT) {
                Ok((_, n)) => {
                    bytes.truncate(n);
                    return bytes;
                }
                Err(_) => assert!(begin.elapsed() < DEADLINE),
            }
        }
    }

    fn init(&mut self, server: &mut Driven<MemifPort>) {
        self.say(3, &[&(2u16 << 8).to_ne_bytes(), &0u32.to_ne_bytes(), &[0; 1 + 24 + 32]], None);
        assert_eq!(self.answer(server)[0], 1);
    }

    fn add_region(&self, index: u16, n_bytes: u64, file: Option<&OwnedFd>) {
        self.say(4, &[&index.to_ne_bytes(), &n_bytes.to_ne_bytes()], file.map(AsFd::as_fd));
    }

    fn add_ring(
        &self,
        (flags, index, region, offset, size): (u16, u16, u16, u32, u8),
        file: Option<&OwnedFd>,
    ) {
        let words = [flags, index, region].map(u16::to_ne_bytes).concat();
        self.say(5, &[&words, &offset.to_ne_bytes(), &[size, 0, 0]], file.map(AsFd::as_fd));
    }

    fn is_refused(&mut self, server: &mut Driven<MemifPort>, why: &str) {
        let message = self.answer(server);
        assert_eq!(message[..2], 8u16.to_ne_bytes());
        let text = String::from_utf8_lossy(&message[6..]);
        assert_eq!(text.trim_end_matches('\0'), why);
        assert!(self.answer(server).is_empty());
        assert_eq!(server.port.link_state(), LinkState::Down);
    }
}

fn memory(n_bytes: u64, seals: SealFlags) -> OwnedFd {
    let file = memfd_create("hostile", MemfdFlags::ALLOW_SEALING).unwrap();
    ftruncate(&file, n_bytes).unwrap();
    fcntl_add_seals(&file, seals).unwrap();
    file
}

fn event() -> OwnedFd {
    rustix::event::eventfd(0, rustix::event::EventfdFlags::empty()).unwrap()
}

#[test]
fn hostile_handshakes_are_refused() {
    let dir = Dir::new("handshake");
    let mut server = open(MemifOptions::server(dir.socket()));
    let (sealed, open_file) = (memory(1 << 20, SealFlags::SHRINK), memory(1 << 20, SealFlags::empty()));
    let pipe = OwnedFd::from(std::io::pipe().unwrap().0);
    type Step<'s> = (&'s dyn Fn(&mut Hostile), &'s str);
    let steps: [Step<'_>; 11] = [
        (&|client| client.add_region(0, 1 << 20, None), "Missing region fd"),
        (&|client| client.add_region(1, 1 << 20, Some(&sealed)), "Invalid region index"),
        (
            &|client| client.add_region(0, 1 << 20, Some(&open_file)),
            "a region that is not sealed against shrinking (with DPDK: leave out zero-copy=yes)",
        ),
        (
            &|client| client.add_region(0, 2 << 20, Some(&sealed)),
            "a region of 2097152 bytes in a file of 1048576",
        ),
        (&|client| client.add_region(0, 0, Some(&sealed)), "a region of 0 bytes in a file of 1048576"),
        (&|client| client.add_ring((1, 0, 0, 0, 10), None), "Missing interrupt fd"),
        (&|client| client.add_ring((1, 0, 0, 0, 10), Some(&event())), "Wrong ring"),
        (
            &|client| client.add_ring((1, 1, 0, 0, 10), Some(&event())),
            "Invalid ring index 1: this end has 1 queues",
        ),
        (&|client| client.add_ring((1, 0, 0, 0, 15), Some(&event())), "Invalid ring size"),
        (&|client| client.add_ring((1, 0, 0, 0, 10), Some(&pipe)), "The interrupt fd is no eventfd"),
        (&|client| client.say(7, &[], None), "Unexpected message Connected"),
    ];
    for (step, why) in steps {
        let mut client = Hostile::connect(&dir.socket(), &mut server);
        client.init(&mut server);
        step(&mut client);
        client.is_refused(&mut server, why);
    }
    // Rings outside of their region, and without a cookie.
    for (offset, size) in [(0, 10), (u32::MAX, 10), (1 << 20, 1), ((1 << 20) - 128, 1), (64, 2)] {
        let mut client = Hostile::connect(&dir.socket(), &mut server);
        client.init(&mut server);
        client.add_region(0, 1 << 20, Some(&sealed));
        assert_eq!(client.answer(&mut server)[0], 1);
        client.add_ring((1, 0, 0, offset, size), Some(&event()));
        client.is_refused(&mut server, "Wrong ring");
    }
    let mut early = Hostile::connect(&dir.socket(), &mut server);
    early.say(6, &[], None);
    early.is_refused(&mut server, "Unexpected message");
    let mut good = open(MemifOptions::client(dir.socket()));
    join(&mut server, &mut good);
}

/// A hostile client with rings at 0 and 4096 of a region, whose bytes it can write.
fn linked(dir: &Dir, server: &mut Driven<MemifPort>) -> (Hostile, fs::File) {
    let file = fs::File::from(memory(1 << 20, SealFlags::SHRINK));
    use std::os::unix::fs::FileExt;
    for offset in [0, 4096] {
        file.write_all_at(&0x3e3_1f20u32.to_ne_bytes(), offset).unwrap();
    }
    let owned = OwnedFd::from(file.try_clone().unwrap());
    let mut client = Hostile::connect(&dir.socket(), server);
    client.init(server);
    client.add_region(0, 1 << 20, Some(&owned));
    assert_eq!(client.answer(server)[0], 1);
    for (flags, offset) in [(1, 0), (0, 4096)] {
        client.add_ring((flags, 0, 0, offset, 4), Some(&event()));
        assert_eq!(client.answer(server)[0], 1);
    }
    client.say(6, &[], None);
    assert_eq!(client.answer(server)[0], 7);
    assert_eq!(server.port.link_state(), LinkState::Up);
    (client, file)
}

#[test]
fn garbage_in_rings_ends_the_link_and_nothing_else() {
    use std::os::unix::fs::FileExt;
    let dir = Dir::new("garbage");
    let mut server = open(MemifOptions::server(dir.socket()));
    let slot = |flags: u16, region: u16, length: u32, offset: u32| {
        [flags.to_ne_bytes(), region.to_ne_bytes()]
            .concat()
            .into_iter()
            .chain([length, offset, 0].into_iter().flat_map(u32::to_ne_bytes))
            .collect::<Vec<u8>>()
    };
    let mut n_errors = 0;
    // Each is written to the ring from the client: slots, then the head.
    for (slots, head) in [
        (vec![], 17u16),
        (vec![], 40_000),
        (vec![slot(0, 1, 60, 8192)], 1),
        (vec![slot(0, 0, 60, (1 << 20) - 59)], 1),
        (vec![slot(0, 0, u32::MAX, 8192)], 1),
        (vec![slot(0, 0, 60, u32::MAX)], 1),
        (vec![slot(1, 0, 60, 8192)], 1),
        (vec![slot(1, 0, 60, 8192), slot(0, 9, 60, 8192)], 2),
        (vec![slot(1, 0, 60, 8192); 16], 16),
    ] {
        let (mut client, memory) = linked(&dir, &mut server);
        memory.write_all_at(&slots.concat(), 128).unwrap();
        memory.write_all_at(&head.to_ne_bytes(), 6).unwrap();
        assert!(server.receive(|_| true).is_empty());
        n_errors += 1;
        assert_eq!(server.port.stats().rx_errors, n_errors);
        client.is_refused(&mut server, "garbage in shared memory");
        server.assert_all_buffers_are_back();
    }
    // Sending: a head that cannot be, buffers outside, and without room.
    for (slots, head) in
        [(vec![], 17u16), (vec![slot(0, 0, 2048, u32::MAX)], 1), (vec![slot(0, 0, 0, 8192)], 1)]
    {
        let (mut client, memory) = linked(&dir, &mut server);
        memory.write_all_at(&slots.concat(), 4096 + 128).unwrap();
        memory.write_all_at(&head.to_ne_bytes(), 4096 + 6).unwrap();
        assert_eq!(server.send([packet(0, 60)]), 0);
        client.is_refused(&mut server, "garbage in shared memory");
        server.assert_all_buffers_are_back();
    }
    // Packets before the garbage arrive, one that is too long is counted, and the header of nothing is a packet of no bytes.
    let (mut client, memory) = linked(&dir, &mut server);
    let slots = [slot(0, 0, 60, 8192), slot(0, 0, 500_000, 8192), slot(0, 0, 61, 8192), slot(0, 7, 60, 0)];
    memory.write_all_at(&slots.concat(), 128).unwrap();
    memory.write_all_at(&4u16.to_ne_bytes(), 6).unwrap();
    let lengths: Vec<usize> = server.receive(|_| true).iter().map(Vec::len).collect();
    assert_eq!((lengths, server.port.stats().rx_too_long), (vec![60, 61], 1));
    client.is_refused(&mut server, "garbage in shared memory");
    server.assert_all_buffers_are_back();
}

/// Numbers that look random (xorshift).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Often small, often at an edge.
    fn value(&mut self) -> u32 {
        match self.next() % 6 {
            0 => 0,
            1 => (self.next() % 100) as u32,
            2 => (1 << 20) - (self.next() % 100) as u32,
            3 => u32::MAX - (self.next() % 100) as u32,
            4 => 8192 + (self.next() % 4096) as u32,
            _ => self.next() as u32,
        }
    }
}

#[test]
fn any_memory_is_survived() {
    use std::os::unix::fs::FileExt;
    let dir = Dir::new("any");
    let mut server = open(MemifOptions::server(dir.socket()));
    let mut numbers = Numbers(0x1234_5678_9abc_def1);
    let (mut n_links, mut n_received, mut n_sent) = (0, 0, 0);
    let mut link = None;
    for _ in 0..20_000 {
        let (_, memory) = link.get_or_insert_with(|| {
            n_links += 1;
            linked(&dir, &mut server)
        });
        for ring in [0, 4096] {
            for n in 0..16 {
                let (flags, region) = (
                    u16::from(numbers.next().is_multiple_of(8)),
                    u16::from(numbers.next().is_multiple_of(16)),
                );
                let [length, offset] = match numbers.next() % 4 {
                    0 => [numbers.value(), numbers.value()],
                    _ => [60, 8192 + n as u32 * 64],
                };
                let words = [
                    [flags, region].map(u16::to_ne_bytes).concat(),
                    [length, offset].map(u32::to_ne_bytes).concat(),
                ];
                memory.write_all_at(&words.concat(), ring + 128 + 16 * n).unwrap();
            }
            let mut index = [0; 2];
            memory.read_exact_at(&mut index, ring + 64).unwrap();
            let head = u16::from_ne_bytes(index).wrapping_add((numbers.next() % 18) as u16);
            memory.write_all_at(&head.to_ne_bytes(), ring + 6).unwrap();
        }
        n_received += server.receive(|_| true).len();
        n_sent += server.send([packet(1, 60), packet(2, 1500)]);
        if server.port.link_state() != LinkState::Up {
            link = None;
        }
    }
    assert!(n_links > 100 && n_received > 10_000 && n_sent > 1000, "{n_links} {n_received} {n_sent}");
    let stats = server.port.stats();
    assert_eq!((stats.rx_packets, stats.tx_packets), (n_received as u64, n_sent as u64));
    server.assert_all_buffers_are_back();
}

#[test]
fn a_peer_that_has_gone_cannot_keep_the_port() {
    use std::os::unix::fs::FileExt;
    let dir = Dir::new("gone");
    let mut server = open(MemifOptions::server(dir.socket()));
    let (client, memory) = linked(&dir, &mut server);
    let slot = [0u32, 500_000, 8192, 0].map(u32::to_ne_bytes).concat();
    memory.write_all_at(&slot.repeat(16), 128).unwrap();
    drop(client);
    // It still has the memory, and fills the ring with packets that are too long.
    for n in 1..20u16 {
        memory.write_all_at(&(n * 16).to_ne_bytes(), 6).unwrap();
        server.port.idle().unwrap();
        std::thread::sleep(Duration::from_millis(11));
        server.port.idle().unwrap();
        assert!(server.receive(|_| true).is_empty());
        memory.write_all_at(&(n * 16 + 16).to_ne_bytes(), 6).unwrap();
    }
    linked(&dir, &mut server);
}

#[test]
fn a_server_that_acknowledges_for_ever_is_left() {
    use std::os::fd::AsRawFd;
    let dir = Dir::new("ack");
    let listener = socket(AddressFamily::UNIX, SocketType::SEQPACKET, None).unwrap();
    rustix::net::bind(&listener, &SocketAddrUnix::new(dir.socket()).unwrap()).unwrap();
    rustix::net::listen(&listener, 1).unwrap();
    let mut client = open(MemifOptions::client(dir.socket()));
    let hostile = Hostile { socket: rustix::net::accept(&listener).unwrap() };
    assert!(hostile.socket.as_raw_fd() >= 0);
    let words = [2u16 << 8, 2 << 8, 255, 255, 255].map(u16::to_ne_bytes).concat();
    hostile.say(2, &[&[0; 32], &words, &[14]], None);
    // Region, two rings, and the wish to connect; the last is answered otherwise.
    for _ in 0..5 {
        hostile.say(1, &[], None);
    }
    client.port.idle().unwrap();
    client.port.idle().unwrap();
    assert_eq!(client.port.down_reason().as_deref(), Some("Unexpected message Ack"));
}

#[test]
fn silent_connections_do_not_keep_the_worker_awake() {
    let dir = Dir::new("silent");
    let mut server = open(MemifOptions::server(dir.socket()));
    let connections: Vec<OwnedFd> = (0..20)
        .map(|_| {
            let socket = socket(AddressFamily::UNIX, SocketType::SEQPACKET, None).unwrap();
            connect(&socket, &SocketAddrUnix::new(dir.socket()).unwrap()).unwrap();
            server.port.idle().unwrap();
            socket
        })
        .collect();
    server.port.idle().unwrap();
    assert!(!is_ready(server.port.fd().unwrap()));
    drop(connections);
    let mut client = open(MemifOptions::client(dir.socket()));
    join(&mut server, &mut client);
}

#[test]
fn the_socket_of_another_server_stays() {
    let dir = Dir::new("stays");
    let server = open(MemifOptions::server(dir.socket()));
    fs::remove_file(dir.socket()).unwrap();
    let other = std::os::unix::net::UnixListener::bind(dir.socket()).unwrap();
    drop(server);
    assert!(Path::new(&dir.socket()).exists());
    drop(other);
}

#[test]
fn regions_keep_no_descriptors() {
    let dir = Dir::new("descriptors");
    let mut server = open(MemifOptions::server(dir.socket()));
    let mut client = Hostile::connect(&dir.socket(), &mut server);
    client.init(&mut server);
    let name = |path: &Path| fs::read_link(path).unwrap_or_default().to_string_lossy().into_owned();
    let file = memfd_create("siding-descriptors", MemfdFlags::ALLOW_SEALING).unwrap();
    ftruncate(&file, 4096).unwrap();
    fcntl_add_seals(&file, SealFlags::SHRINK).unwrap();
    for index in 0..256 {
        client.add_region(index, 4096, Some(&file));
        assert_eq!(client.answer(&mut server)[0], 1);
    }
    let open = fs::read_dir("/proc/self/fd").unwrap();
    let n = open.filter(|entry| name(&entry.as_ref().unwrap().path()).contains("siding-descriptors")).count();
    assert_eq!(n, 1);
}

#[test]
fn a_packet_longer_than_its_buffer_is_dropped() {
    use std::os::unix::fs::FileExt;
    let dir = Dir::new("longer");
    let [mut server, mut client] =
        pair(&dir, |options| (options.log2_ring_size, options.buffer_bytes) = (2, 300));
    // The client's memory, which no other test has as long.
    let n_bytes = 192 + 2 * (128 + 4 * 16 + 4 * (300 + 64));
    let of_client = |path: &Path| {
        let is_memory =
            fs::read_link(path).is_ok_and(|name| name.starts_with("/memfd:siding-memif (deleted)"));
        is_memory && fs::metadata(path).is_ok_and(|found| found.len() == n_bytes)
    };
    let paths = fs::read_dir("/proc/self/fd").unwrap().map(|entry| entry.unwrap().path());
    let memory = paths.into_iter().find(|path| of_client(path)).unwrap();
    let memory = fs::File::options().write(true).open(memory).unwrap();
    server.send([packet(0, 100), packet(1, 100), packet(2, 300)]);
    // The first slot of the ring to the client.
    memory.write_all_at(&301u32.to_ne_bytes(), 192 + (128 + 4 * 16) + 128 + 4).unwrap();
    assert!(client.receive_n(2, |_| true) == [packet(1, 100), packet(2, 300)]);
    assert_eq!(client.port.stats().rx_too_long, 1);
}

#[test]
fn a_handshake_that_stops_does_not_keep_the_port() {
    let dir = Dir::new("stops");
    let mut server = open(MemifOptions::server(dir.socket()));
    let mut stopped = Hostile::connect(&dir.socket(), &mut server);
    stopped.init(&mut server);
    let mut client = open(MemifOptions::client(dir.socket()));
    wait_for_problem(&mut client, &mut server, "the peer has disconnected: Already connected");
    join(&mut server, &mut client);
}
