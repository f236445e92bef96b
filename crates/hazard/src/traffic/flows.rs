//! Distribution of packets over flows.

use super::headers::FlowFields;
use super::{Alias, mixed};

/// Flows of generated traffic.
pub const FLOWS_MAX: u32 = 1 << 22;

/// Prefixes of 16 bits that made-up addresses have.
const NETWORKS: f64 = 700.0;
/// The number of a host's network is `NETWORKS u^NETWORK_SKEW`, with `u` uniform from 0 to 1. Fitted to the published
/// hazards within dst/16 (see `docs/how-to/stateful-actions.md`).
const NETWORK_SKEW: f64 = 3.3;

/// Flows whose popularity falls with their rank, and which come in trains.
#[derive(Clone, Debug)]
pub struct Flows {
    alias: Alias,
    n_flows: u32,
    /// Packets of 2^32 that belong to the same flow as the one before.
    train: u32,
}

impl Flows {
    /// Zipf distribution: the frequency of the flow of rank `i`, from 1, is proportional to `i^-exponent`; an exponent
    /// of 0 makes all flows equally frequent. `train` is the probability that a packet belongs to the flow of the
    /// packet before. Returns `None` without flows, with too many flows or with numbers out of range.
    pub fn zipf(n_flows: u32, exponent: f64, train: f64) -> Option<Flows> {
        let is_good = (1..=FLOWS_MAX).contains(&n_flows)
            && (0.0..=10.0).contains(&exponent)
            && (0.0..1.0).contains(&train);
        if !is_good {
            return None;
        }
        let weights: Vec<f64> = (1..=n_flows).map(|rank| f64::from(rank).powf(-exponent)).collect();
        Some(Flows { alias: Alias::new(&weights)?, n_flows, train: (train * 2f64.powi(32)) as u32 })
    }

    pub fn n_flows(&self) -> u32 {
        self.n_flows
    }

    #[inline]
    pub(crate) fn draw(&self, random: u64, before: u32) -> u32 {
        // The upper bits select a flow, the lower ones decide on trains.
        let drawn = self.alias.draw(random) as u32;
        if (random as u32) < self.train { before } else { drawn }
    }

    /// Addresses of a flow: hosts of one kind talk to a smaller number of the other kind, in some hundreds of
    /// networks, of which the first have most of the hosts.
    pub fn fields(&self, flow: u32, seed: u64) -> FlowFields {
        let draw = |salt: u64| mixed(u64::from(flow) ^ mixed(seed ^ salt));
        let n_hosts = u64::from(self.n_flows / 4).max(1);
        let host = |id: u64, salt: u64| {
            let uniform = (mixed(id ^ salt) >> 11) as f64 / 2f64.powi(53);
            let network = (NETWORKS * uniform.powf(NETWORK_SKEW)) as u64;
            0x1000_0000 + ((network << 16) | (mixed(id.wrapping_add(salt)) & 0xffff)) as u32
        };
        let source = host(draw(1) % n_hosts, 0xa);
        let destination = host(draw(2) % n_hosts, 0xb);
        let ports = draw(3);
        FlowFields {
            source: u128::from(source),
            destination: u128::from(destination),
            address_bits: 32,
            protocol: if ports.is_multiple_of(8) { 17 } else { 6 },
            source_port: 1024 + (ports >> 16) as u16 % 60_000,
            destination_port: if (ports >> 40).is_multiple_of(4) { 80 } else { 443 },
            ethernet_source: 0x0200_0000_0000 | u64::from(source),
            ethernet_destination: 0x0200_0000_0000 | u64::from(destination),
            ether_type: 0x0800,
            vlan: 0,
            differentiated_services: 0,
            ip_len_bytes: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Chance;
    use super::*;

    #[test]
    fn popular_flows_come_more_often() {
        let flows = Flows::zipf(100, 1.0, 0.0).unwrap();
        let mut chance = Chance::new(3);
        let mut counts = [0u32; 100];
        (0..200_000).for_each(|_| counts[flows.draw(chance.next(), 0) as usize] += 1);
        // The harmonic number of 100 is 5.187.
        for (rank, wanted) in [(1.0, 38_550.0), (2.0, 19_275.0), (10.0, 3855.0)] {
            let found = f64::from(counts[rank as usize - 1]);
            assert!((found / wanted - 1.0).abs() < 0.06, "{rank}: {found}");
        }
    }

    #[test]
    fn trains_repeat_the_flow_before() {
        let flows = Flows::zipf(1 << 16, 0.0, 0.25).unwrap();
        let mut chance = Chance::new(3);
        let (mut before, mut n_same) = (0, 0);
        for _ in 0..100_000 {
            let flow = flows.draw(chance.next(), before);
            n_same += u32::from(flow == before);
            before = flow;
        }
        assert!((24_000..26_000).contains(&n_same), "{n_same}");
    }

    #[test]
    fn the_first_networks_have_most_hosts() {
        let flows = Flows::zipf(1 << 16, 0.0, 0.0).unwrap();
        let of_first = (0..1 << 16).filter(|flow| flows.fields(*flow, 1).destination >> 16 == 0x1000).count();
        // (1 / 700)^(1 / 3.3)
        assert!((of_first as f64 / 65_536.0 - 0.137).abs() < 0.02, "{of_first}");
    }

    #[test]
    fn nonsense_is_refused() {
        for (n, exponent, train) in [(0, 1.0, 0.0), (9, -1.0, 0.0), (9, f64::NAN, 0.0), (9, 1.0, 1.0)] {
            assert!(Flows::zipf(n, exponent, train).is_none(), "{n} {exponent} {train}");
        }
    }
}
