//! Warnings for the operator of a switch that runs on.

use packet_io::LinkState;
use std::collections::BTreeMap;
use std::fmt;

/// Something that the operator has to know, though the switch runs on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// The packets of a port are no longer captured.
    CaptureEnded { port: u32, error: String },
    /// A port has lost its link, or has one again.
    LinkChanged {
        port: u32,
        name: String,
        link: LinkState,
        /// Why there is none, if the port knows.
        reason: Option<String>,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::CaptureEnded { port, error } => {
                write!(f, "packets of port {port} are no longer captured: {error}")
            }
            Warning::LinkChanged { port, name, link, reason } => {
                let what = match link {
                    LinkState::Up => "has a link",
                    LinkState::Down => "has no link",
                    LinkState::Gone => "is gone; its packets are dropped until it comes back",
                };
                write!(f, "port {port} ({name}) {what}")?;
                reason.iter().try_for_each(|reason| write!(f, ": {reason}"))
            }
        }
    }
}

/// Links of ports as they were last seen.
#[derive(Debug, Default)]
pub(crate) struct Links(BTreeMap<u32, LinkState>);

impl Links {
    /// Takes note of the links of all queues. Returns ports whose link is another one than before; new ports are expected to have
    /// a link.
    pub(crate) fn see(
        &mut self,
        queues: impl IntoIterator<Item = (u32, LinkState)>,
    ) -> Vec<(u32, LinkState)> {
        let mut now = BTreeMap::new();
        for (port, link) in queues {
            let seen = now.entry(port).or_insert(link);
            // The queues look after the interface one after the other.
            if *seen == LinkState::Up {
                *seen = link;
            }
        }
        let before = |port: &u32| self.0.get(port).copied().unwrap_or(LinkState::Up);
        let changed = now.iter().filter(|(port, link)| before(port) != **link);
        let changed = changed.map(|(port, link)| (*port, *link)).collect();
        self.0 = now;
        changed
    }
}

/// Adds a warning. Of the changes of a link only the last one is kept, so that their number is bounded.
pub(crate) fn add(warnings: &mut Vec<Warning>, warning: Warning) {
    if let Warning::LinkChanged { port: new, .. } = &warning {
        warnings.retain(|known| !matches!(known, Warning::LinkChanged { port, .. } if port == new));
    }
    warnings.push(warning);
}

#[cfg(test)]
mod tests {
    use super::*;
    use LinkState::{Down, Gone, Up};

    #[test]
    fn changes_of_links_are_told_once() {
        let mut links = Links::default();
        assert_eq!(links.see([(1, Up), (2, Down), (2, Up)]), [(2, Down)]);
        assert_eq!(links.see([(1, Up), (2, Down), (2, Down)]), []);
        assert_eq!(links.see([(1, Gone), (2, Up), (2, Up)]), [(1, Gone), (2, Up)]);
        // A port that was removed is new when it is added again.
        assert_eq!(links.see([(2, Up)]), []);
        assert_eq!(links.see([(1, Up), (2, Up)]), []);
    }

    #[test]
    fn the_last_change_of_a_link_is_kept() {
        let change = |port, link| Warning::LinkChanged { port, name: "veth0".to_owned(), link, reason: None };
        let mut warnings = Vec::new();
        for link in [Down, Up, Gone] {
            add(&mut warnings, change(1, link));
            add(&mut warnings, change(2, Down));
        }
        assert_eq!(warnings, [change(1, Gone), change(2, Down)]);
        let texts: Vec<String> = [Down, Up].map(|link| change(1, link).to_string()).into();
        assert_eq!(texts, ["port 1 (veth0) has no link", "port 1 (veth0) has a link"]);
    }
}
