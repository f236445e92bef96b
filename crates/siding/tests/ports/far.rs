//! Far ends of ports, which the tester drives.

use crate::kinds::FarEnd;
use crate::net::Lab;
use dataplane::{PortKind, PortSpec};
use packet_io::{AfPacketOptions, AfPacketPort, BufPool, BufPoolOptions, LinkState, PacketBuf, Port, PortId};

const BURST: usize = 32;

pub struct Far {
    port: Box<dyn Port>,
    pool: BufPool,
    burst: Vec<PacketBuf>,
}

impl Far {
    /// Opens a far end; `namespace` is that of the interface, if it is one.
    pub fn open(end: &FarEnd, namespace: &str) -> Far {
        let interface = |name: String| -> Box<dyn Port> {
            let open = move || AfPacketPort::open(PortId(0), &name, AfPacketOptions::JUMBO).unwrap();
            Box::new(Lab::inside(namespace, open).join().unwrap())
        };
        let port = match end {
            FarEnd::Cable => interface("eth0".to_owned()),
            FarEnd::Interface(name) => interface(name.clone()),
            FarEnd::Device(device) => {
                let spec = PortSpec { number: 0, kind: PortKind::parse(device).unwrap() };
                spec.open(None).unwrap_or_else(|error| panic!("{error}"))
            }
        };
        Far { port, pool: BufPool::new(BufPoolOptions::JUMBO), burst: Vec::new() }
    }

    pub fn is_up(&mut self) -> bool {
        self.port.idle().unwrap();
        self.port.link_state() == LinkState::Up
    }

    /// Sends packets as far as the link takes them; the others are counted as not sent.
    pub fn send(&mut self, packets: &[Vec<u8>]) {
        for packets in packets.chunks(BURST) {
            let mut burst = Vec::new();
            for bytes in packets {
                let mut buf = self.pool.take().unwrap();
                assert!(buf.set_data(bytes));
                burst.push(buf);
            }
            self.port.tx_burst(&mut self.pool, &mut burst).unwrap();
        }
    }

    /// Gives what has arrived to `each`.
    pub fn poll(&mut self, mut each: impl FnMut(&[u8])) {
        while self.port.rx_burst(&mut self.pool, &mut self.burst, BURST).unwrap() > 0 {
            for buf in self.burst.drain(..) {
                each(buf.data());
                self.pool.give_back(buf);
            }
        }
    }

    pub fn n_sent(&mut self) -> u64 {
        self.port.stats().tx_packets
    }

    /// Packets that the link has not taken.
    pub fn n_refused(&mut self) -> u64 {
        self.port.stats().tx_dropped()
    }

    pub fn n_received(&mut self) -> u64 {
        self.port.stats().rx_packets
    }

    /// Packets that have come as far as this end, but were too many for it.
    pub fn n_missed(&mut self) -> u64 {
        self.port.stats().rx_dropped()
    }
}
