//! Queues of real interfaces, between hosts in namespaces of their own.

use crate::common::{compile, configure, settled, until};
use crate::net::{self, Lab, PATIENCE};
use crate::{L2_SWITCH, options};
use dataplane::{Options, PortKind, PortSpec, Switch};
use packet_io::LinkState;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

const N_FLOWS: u16 = 32;
/// Ports of the flows' sources begin here.
const FIRST_PORT: u16 = 6000;

/// Two hosts that know each other, and a switch whose ports have two queues, for two workers that stay on their cores.
fn two_hosts() -> (Lab, Arc<Switch>) {
    let options = Options { cores: cores(), ..options(2) };
    let lab = Lab::with_queues(2, 2);
    (1..=2).for_each(|n| lab.address(n, &format!("10.0.0.{n}/24")));
    introduce(&lab);
    let compiled = compile(L2_SWITCH);
    let start = move || {
        let switch = Switch::start(options).unwrap();
        switch.replace(compiled).unwrap();
        for number in 1..=2 {
            switch.add_port(&spec(number), None).unwrap();
        }
        switch
    };
    let switch = Lab::inside(&lab.switch(), start).join().unwrap();
    let script = "add dmac destination:0x020000000001 forward(port:1)
                  add dmac destination:0x020000000002 forward(port:2)";
    configure(&switch, script);
    until("links everywhere", || link(&switch, 1) == LinkState::Up && link(&switch, 2) == LinkState::Up);
    (lab, switch)
}

fn spec(number: u32) -> PortSpec {
    PortSpec { number, kind: PortKind::Interface(format!("port{number}")) }
}

fn link(switch: &Switch, number: u32) -> LinkState {
    let report = switch.report().unwrap();
    report.ports.iter().find(|port| port.number == number).map_or(LinkState::Gone, |port| port.link)
}

fn introduce(lab: &Lab) {
    for (n, other) in [(1, 2), (2, 1)] {
        let neighbour = format!("neigh replace 10.0.0.{other} lladdr 02:00:00:00:00:0{other} dev eth0");
        net::run(&format!("-n {} {neighbour}", lab.host(n)));
    }
}

/// Packets received by each queue of port 1.
fn received(switch: &Switch) -> Vec<u64> {
    switch.report().unwrap().ports[0].queues.iter().map(|queue| queue.stats.rx_packets).collect()
}

/// Numbered packets of many flows from host 1 to host 2.
struct Flows {
    stop: Arc<AtomicBool>,
    sender: std::thread::JoinHandle<u64>,
    receiver: std::thread::JoinHandle<Vec<Vec<u64>>>,
}

impl Flows {
    fn start(lab: &Lab) -> Flows {
        let stop = Arc::new(AtomicBool::new(false));
        let is_over = Arc::new(AtomicBool::new(false));
        let (ready, is_ready) = channel();
        let over = Arc::clone(&is_over);
        let receiver = Lab::inside(&lab.host(2), move || {
            let socket = UdpSocket::bind(("10.0.0.2", 5003)).unwrap();
            socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
            ready.send(()).unwrap();
            let (mut numbers, mut bytes) = (vec![Vec::new(); usize::from(N_FLOWS)], [0; 8]);
            loop {
                match socket.recv_from(&mut bytes) {
                    Ok((8, from)) => {
                        let flow = usize::from(from.port() - FIRST_PORT);
                        numbers[flow].push(u64::from_be_bytes(bytes));
                    }
                    Ok((n, from)) => panic!("{n} bytes from {from}"),
                    Err(_) if over.load(Ordering::SeqCst) => return numbers,
                    Err(_) => {}
                }
            }
        });
        is_ready.recv_timeout(PATIENCE).unwrap();
        let stopped = Arc::clone(&stop);
        let sender = Lab::inside(&lab.host(1), move || {
            pin();
            let socket = |flow| {
                UdpSocket::bind(SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), FIRST_PORT + flow)).unwrap()
            };
            let sockets: Vec<UdpSocket> = (0..N_FLOWS).map(socket).collect();
            let mut n = 0_u64;
            while !stopped.load(Ordering::SeqCst) {
                for socket in &sockets {
                    // While the interface is gone it is refused, and lost.
                    let _ = socket.send_to(&n.to_be_bytes(), ("10.0.0.2", 5003));
                }
                n += 1;
                std::thread::sleep(Duration::from_millis(1));
            }
            is_over.store(true, Ordering::SeqCst);
            n
        });
        Flows { stop, sender, receiver }
    }

    /// Ends the flows, whose packets came in order. Gives how many were sent in each flow, and how many came in all.
    fn finish(self) -> (u64, u64) {
        self.stop.store(true, Ordering::SeqCst);
        let (n_sent, numbers) = (self.sender.join().unwrap(), self.receiver.join().unwrap());
        for (flow, numbers) in numbers.iter().enumerate() {
            assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "flow {flow} is in order");
            assert!(!numbers.is_empty(), "flow {flow}");
        }
        (n_sent, numbers.iter().map(|numbers| numbers.len() as u64).sum())
    }
}

/// The cores that this process may run on.
fn cores() -> Vec<usize> {
    // SAFETY: a set of cores is plain bits, of which the kernel writes no more than its size; the numbers are within it.
    #[expect(unsafe_code, reason = "system calls")]
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        assert_eq!(libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set), 0);
        (0..libc::CPU_SETSIZE as usize).filter(|core| libc::CPU_ISSET(*core, &set)).collect()
    }
}

/// Keeps the calling thread on one core: packets that a thread sends from different cores may overtake each other in the
/// kernel.
fn pin() {
    let core = cores()[0];
    // SAFETY: a set of cores is plain bits, and the core is within it.
    #[expect(unsafe_code, reason = "system calls")]
    let result = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set)
    };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
}

#[test]
fn flows_keep_their_order_over_two_queues() {
    if !net::is_possible() {
        return;
    }
    let (lab, switch) = two_hosts();
    let flows = Flows::start(&lab);
    until("packets of both queues", || received(&switch).iter().all(|n| *n > 1000));
    let (n_sent, n_received) = flows.finish();
    let report = settled(&switch);
    assert!(n_received > n_sent, "{n_received} packets of {N_FLOWS} flows with {n_sent}");
    let n_packets: Vec<u64> = report.workers.iter().map(|worker| worker.n_packets).collect();
    assert!(n_packets.iter().all(|n| *n > 1000), "{n_packets:?}");
    // Each worker has sent through its own queue what it has received.
    let [from, to] = [0, 1].map(|port: usize| &report.ports[port].queues);
    for (from, to) in from.iter().zip(to) {
        assert_eq!((from.worker, from.stats.rx_packets), (to.worker, to.stats.tx_packets), "{report:#?}");
    }
    assert_eq!(
        report.ports[1].stats.tx_packets,
        from.iter().map(|queue| queue.stats.rx_packets).sum::<u64>()
    );
    assert!(switch.shut_down().unwrap().is_balanced());
}

#[test]
fn all_queues_are_there_again_when_the_interface_is() {
    if !net::is_possible() {
        return;
    }
    let (lab, switch) = two_hosts();
    let flows = Flows::start(&lab);
    until("packets of both queues", || received(&switch).iter().all(|n| *n > 100));
    lab.unplug(1);
    until("the loss of the interface", || link(&switch, 1) == LinkState::Gone);
    lab.plug(1);
    lab.address(1, "10.0.0.1/24");
    introduce(&lab);
    until("the return of the interface", || link(&switch, 1) == LinkState::Up);
    let before = received(&switch);
    until("packets of both queues", || {
        received(&switch).iter().zip(&before).all(|(now, before)| *now > before + 100)
    });
    flows.finish();
    settled(&switch);
    assert!(switch.shut_down().unwrap().is_balanced());
}

#[test]
fn ports_with_queues_are_removed_under_load() {
    if !net::is_possible() {
        return;
    }
    let (lab, switch) = two_hosts();
    let flows = Flows::start(&lab);
    for number in [2, 1, 2, 1] {
        until("packets of both queues", || {
            received(&switch).iter().all(|n| *n > 20) && link(&switch, 2) == LinkState::Up
        });
        switch.remove_port(number).unwrap();
        let again = Arc::clone(&switch);
        let add = move || again.add_port(&spec(number), None).unwrap();
        Lab::inside(&lab.switch(), add).join().unwrap();
        until("the link", || link(&switch, number) == LinkState::Up);
    }
    let before = switch.report().unwrap().n_sent;
    until("more packets", || switch.report().unwrap().n_sent > before + 200);
    flows.finish();
    settled(&switch);
    assert!(switch.shut_down().unwrap().is_balanced());
}
