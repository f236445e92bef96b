//! Facts about ports by number, in the form in which compiled code reads them.

use super::{Config, Ports};

/// The port exists.
pub const EXISTS: u8 = 1;
/// The port is at the side of the host.
pub const AT_HOST: u8 = 2;
/// Packets to the port go to the controller.
pub const OF_CONTROLLER: u8 = 4;

/// Ports with larger numbers are not in the table.
const N_PORTS_MAX: u32 = 4096;

/// Ports that the table has where every number exists.
const N_PORTS_ANY: u32 = 512;

/// The flags of the ports with small numbers. Packets of other ports are left to the switch.
#[derive(Clone, Debug, Default)]
pub(super) struct PortTable(Vec<u8>);

impl PortTable {
    /// `cpu_port` is that of the switch, which may have one without the configuration.
    pub(super) fn new(config: &Config, cpu_port: Option<u32>) -> PortTable {
        let largest = match &config.ports {
            Ports::Any => Some(N_PORTS_ANY - 1),
            Ports::Listed(ports) => ports.range(..N_PORTS_MAX).next_back().copied(),
        };
        let largest = largest.into_iter().chain(cpu_port.filter(|port| *port < N_PORTS_MAX)).max();
        let flags = |port: u32| {
            let is_cpu = cpu_port == Some(port);
            let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
            flag(is_cpu || config.ports.contains(port), EXISTS)
                | flag(config.host_ports.contains(&port), AT_HOST)
                | flag(is_cpu, OF_CONTROLLER)
        };
        PortTable((0..largest.map_or(0, |port| port + 1)).map(flags).collect())
    }

    /// By port number.
    pub(super) fn flags(&self) -> &[u8] {
        &self.0
    }

    pub(super) fn set_side(&mut self, port: u32, is_host_port: bool) {
        if let Some(flags) = self.0.get_mut(port as usize) {
            *flags = if is_host_port { *flags | AT_HOST } else { *flags & !AT_HOST };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_numbers_are_left_out() {
        let ports = Ports::Listed([1, 3, 70_000].into());
        let config = Config { ports, host_ports: [3].into(), ..Config::default() };
        let mut table = PortTable::new(&config, Some(5));
        assert_eq!(table.flags(), [0, EXISTS, 0, EXISTS | AT_HOST, 0, EXISTS | OF_CONTROLLER]);
        table.set_side(3, false);
        table.set_side(70_000, true);
        assert_eq!(table.flags(), [0, EXISTS, 0, EXISTS, 0, EXISTS | OF_CONTROLLER]);
        assert_eq!(PortTable::new(&Config::default(), Some(u32::MAX)).flags().len(), 512);
    }
}
