//! A million entries are dumped, reconciled and moved to another program while packets pass. None is lost.

use super::net::{self, Lab, PATIENCE};
use super::{Running, entry};
use p4info::proto::p4::v1 as pb;
use pb::entity::Entity;
use pb::set_forwarding_pipeline_config_request::Action;
use pb::update::Type;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

const N_ENTRIES: u64 = 1_000_000;
const N_IN_REQUEST: usize = 10_000;
/// Time between two packets.
const PACE: Duration = Duration::from_millis(1);

const PROGRAM: &str = r#"
#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> ether_type;
}

struct headers_t {
    ethernet_t ethernet;
}

struct meta_t {}

parser Read(packet_in packet, out headers_t headers, inout meta_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(headers.ethernet);
        transition accept;
    }
}

control Check(inout headers_t headers, inout meta_t meta) {
    apply {}
}

control Forward(inout headers_t headers, inout meta_t meta, inout standard_metadata_t standard) {
    action drop() {
        mark_to_drop(standard);
    }
    action forward(bit<9> port) {
        standard.egress_spec = port;
    }
    @name("stations")
    table stations {
        key = {
            headers.ethernet.destination: exact @name("destination");
        }
        actions = {
            forward;
            drop;
        }
        default_action = drop();
        size = 1100000;
    }
    apply {
        stations.apply();
    }
}

control Leave(inout headers_t headers, inout meta_t meta, inout standard_metadata_t standard) {
    apply {}
}

control Sum(inout headers_t headers, inout meta_t meta) {
    apply {}
}

control Write(packet_out packet, in headers_t headers) {
    apply {
        packet.emit(headers.ethernet);
    }
}

V1Switch(Read(), Check(), Forward(), Leave(), Sum(), Write()) main;
"#;

/// Packets with numbers from host 1 to host 2.
struct Traffic {
    is_over: Arc<AtomicBool>,
    n_received: Arc<AtomicU64>,
    sender: JoinHandle<u64>,
    receiver: JoinHandle<()>,
}

impl Traffic {
    fn start(lab: &Lab) -> Traffic {
        let (is_over, n_received) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let counted = Arc::clone(&n_received);
        let (ready, is_ready) = std::sync::mpsc::channel();
        let receiver = Lab::inside(&lab.host(2), move || {
            let socket = UdpSocket::bind("10.0.0.2:5001").unwrap();
            socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
            ready.send(()).unwrap();
            let mut next = 0;
            let mut bytes = [0; 8];
            // Silence is the end.
            while let Ok(8) = socket.recv(&mut bytes) {
                assert_eq!(u64::from_be_bytes(bytes), next, "a packet is missing before this one");
                next += 1;
                counted.store(next, Ordering::Release);
            }
        });
        is_ready.recv_timeout(PATIENCE).unwrap();
        let over = Arc::clone(&is_over);
        let sender = Lab::inside(&lab.host(1), move || {
            let socket = UdpSocket::bind("10.0.0.1:5000").unwrap();
            socket.connect("10.0.0.2:5001").unwrap();
            let mut n_sent: u64 = 0;
            while !over.load(Ordering::Acquire) {
                socket.send(&n_sent.to_be_bytes()).unwrap();
                n_sent += 1;
                std::thread::sleep(PACE);
            }
            n_sent
        });
        Traffic { is_over, n_received, sender, receiver }
    }

    /// Packets have passed since `n_before` of them had; returns how many have now.
    fn passes(&self, n_before: u64) -> u64 {
        let n = self.n_received.load(Ordering::Acquire);
        assert!(n > n_before, "no packet passed");
        n
    }

    fn end(self) -> u64 {
        self.is_over.store(true, Ordering::Release);
        let n_sent = self.sender.join().unwrap();
        self.receiver.join().unwrap();
        assert_eq!(self.n_received.load(Ordering::Acquire), n_sent, "packets are lost");
        n_sent
    }
}

/// A station as the entries of this test have it, and the port behind which it is.
fn station(number: u64) -> ([u8; 6], u16) {
    let bytes = (0x0a00_0000_0000 | number).to_be_bytes();
    ([bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7]], 3 + (number % 100) as u16)
}

struct Controller {
    switch: Running,
    p4info: p4info::P4Info,
}

impl Controller {
    fn entry(&self, number: u64) -> Entity {
        let (address, port) = station(number);
        let port = [port as u8];
        Entity::TableEntry(entry(&self.p4info, "stations", &address, "forward", &[&port]))
    }

    fn write(&self, kind: Type, numbers: impl Iterator<Item = u64>) {
        let numbers: Vec<u64> = numbers.collect();
        for some in numbers.chunks(N_IN_REQUEST) {
            self.switch.write_as(kind, some.iter().map(|number| self.entry(*number)).collect());
        }
    }

    /// The hosts of the lab.
    fn write_hosts(&self) {
        let host = |n: u8| entry(&self.p4info, "stations", &[2, 0, 0, 0, 0, n], "forward", &[&[n]]);
        self.switch.write([1, 2].map(|n| Entity::TableEntry(host(n))).into());
    }

    /// Reads all entries; they are those of the hosts and of the stations with these numbers.
    fn has(&self, is_wanted: impl Fn(u64) -> bool) {
        let mut found = vec![false; N_ENTRIES as usize * 2];
        let mut n_hosts = 0;
        self.switch.read_each(Entity::TableEntry(pb::TableEntry::default()), |entity| {
            let Some(Entity::TableEntry(entry)) = entity.entity else { panic!("an entry was expected") };
            let Some(pb::field_match::FieldMatchType::Exact(key)) = &entry.r#match[0].field_match_type else {
                panic!("{entry:?}")
            };
            let address = key.value.iter().fold(0, |address, byte| address << 8 | u64::from(*byte));
            if address >> 40 == 2 {
                n_hosts += 1;
                return;
            }
            let number = address & 0xffff_ffff;
            assert!(!std::mem::replace(&mut found[number as usize], true), "twice: {number}");
            assert_eq!(Entity::TableEntry(entry), self.entry(number));
        });
        assert_eq!(n_hosts, 2);
        let other = (0..).zip(&found).find(|(number, found)| is_wanted(*number) != **found);
        assert!(other.is_none(), "{other:?}");
    }
}

#[test]
fn c05_a_million_entries_are_reconciled_under_traffic() {
    if !net::is_possible() {
        return;
    }
    let lab = Lab::new(2);
    for (n, other) in [(1, 2), (2, 1)] {
        lab.address(n, &format!("10.0.0.{n}/24"));
        net::run(&format!(
            "-n {} neigh add 10.0.0.{other} lladdr 02:00:00:00:00:0{other} dev eth0",
            lab.host(n)
        ));
    }
    let switch = lab.switch();
    let work = move || under_traffic(&lab);
    // The switch and its controller are in the namespace of the ports.
    Lab::inside(&switch, work).join().unwrap();
}

fn under_traffic(lab: &Lab) {
    let dir = tempfile::tempdir().unwrap();
    let switch = Running::start(dir.path(), &["-i", "1@port1", "-i", "2@port2"]);
    switch.set(Action::VerifyAndCommit, PROGRAM);
    let controller = Controller { p4info: switch.p4info(), switch };
    controller.write_hosts();
    let traffic = Traffic::start(lab);

    controller.write(Type::Insert, 0..N_ENTRIES);
    let n = traffic.passes(0);
    controller.has(|number| number < N_ENTRIES);
    let n = traffic.passes(n);

    // The controller wants others: it writes the differences.
    controller.write(Type::Delete, 0..1000);
    controller.write(Type::Insert, N_ENTRIES..N_ENTRIES + 1000);
    let is_wanted = |number| (1000..N_ENTRIES + 1000).contains(&number);
    controller.has(is_wanted);
    let n = traffic.passes(n);

    // Another program keeps them.
    let other = PROGRAM.replace("size = 1100000;", "size = 1200000;");
    controller.switch.set(Action::ReconcileAndCommit, &other);
    let n = traffic.passes(n);
    controller.has(is_wanted);
    let n = traffic.passes(n);

    // A program that begins with what it was given before it ran.
    controller.switch.set(Action::VerifyAndSave, PROGRAM);
    controller.write_hosts();
    controller.switch.commit();
    controller.has(|_| false);
    traffic.passes(n);
    assert!(traffic.end() > 1000);
    assert_eq!(controller.switch.read(Entity::TableEntry(pb::TableEntry::default())).len(), 2);
}
