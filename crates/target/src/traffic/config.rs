//! Configuration of a switch.

use super::QueueConfig;
use std::collections::BTreeSet;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Seed of the random numbers.
    pub seed: u64,
    pub ports: Ports,
    /// Packets to this port go to the controller; packets on it come from there. Architectures may have one of their own.
    pub cpu_port: Option<u32>,
    /// The ports at the host's side of a network card; all others are at the side of the network.
    pub host_ports: BTreeSet<u32>,
    pub queue: QueueConfig,
    /// How often one packet may be resubmitted or recirculated.
    pub rounds_max: u32,
    /// Copies that one packet may have, those of copies included.
    pub copies_max: u32,
    /// Digests that wait to be taken; later ones are dropped.
    pub digests_max: usize,
    pub load: LoadConfig,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            seed: 0,
            ports: Ports::Any,
            cpu_port: None,
            host_ports: BTreeSet::new(),
            queue: QueueConfig::default(),
            rounds_max: 64,
            copies_max: 4096,
            digests_max: 1 << 16,
            load: LoadConfig::default(),
        }
    }
}

/// The ports that exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ports {
    /// Every port number exists.
    Any,
    Listed(BTreeSet<u32>),
}

impl Ports {
    pub fn contains(&self, port: u32) -> bool {
        match self {
            Ports::Any => true,
            Ports::Listed(ports) => ports.contains(&port),
        }
    }
}

/// Limits and defaults applied when a program is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadConfig {
    /// Transfers of control that one packet may make; then it ends.
    pub step_budget: u32,
    /// Size of tables that do not say theirs.
    pub table_size: u64,
}

impl Default for LoadConfig {
    fn default() -> LoadConfig {
        LoadConfig { step_budget: 1 << 20, table_size: 1024 }
    }
}
