//! Packets that have to leave a port, from captures.

use super::problem::{Problem, damaged, open_capture};
use crate::output::{self, Exit};
use packet_io::{PacketReader, ReadError};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Differences of a port that are shown.
const N_SHOWN_MAX: u64 = 5;

/// The packets that each port has to send, in order.
pub struct Wanted {
    ports: BTreeMap<u32, Port>,
}

struct Port {
    path: PathBuf,
    reader: PacketReader<File>,
    /// Packets of the capture that were compared.
    n_compared: u64,
    n_different: u64,
    /// Packets that were sent after all that were expected.
    n_more: u64,
}

impl Wanted {
    pub fn open(captures: &[(u32, PathBuf)], any_link_type: bool) -> Result<Wanted, Problem> {
        let mut ports = BTreeMap::new();
        for (port, path) in captures {
            let reader = open_capture(path, any_link_type)?;
            let path = path.clone();
            let found = Port { path, reader, n_compared: 0, n_different: 0, n_more: 0 };
            if ports.insert(*port, found).is_some() {
                return Err((format!("--expect names port {port} twice"), Exit::Usage));
            }
        }
        Ok(Wanted { ports })
    }

    /// Compares a packet that has left a port with the next one of its capture.
    pub fn compare(&mut self, port: u32, sent: &[u8]) -> Result<(), ReadError> {
        let Some(wanted) = self.ports.get_mut(&port) else { return Ok(()) };
        let Some(next) = wanted.reader.next().transpose()? else {
            wanted.n_more += 1;
            return Ok(());
        };
        wanted.n_compared += 1;
        if let Some(difference) = difference(&next.data, sent) {
            wanted.n_different += 1;
            if wanted.n_different <= N_SHOWN_MAX {
                output::error_line(&told(port, &wanted.path, wanted.n_compared, &difference));
            }
        }
        Ok(())
    }

    /// Fails if a port has sent other packets than its capture has.
    pub fn verdict(self) -> Result<(), Problem> {
        let (mut is_met, mut n_packets) = (true, 0);
        for (port, mut wanted) in self.ports {
            let path = wanted.path.display().to_string();
            let mut n_missing = 0;
            while wanted.reader.next().transpose().map_err(damaged)?.is_some() {
                n_missing += 1;
            }
            n_packets += wanted.n_compared;
            is_met &= wanted.n_different == 0 && n_missing == 0 && wanted.n_more == 0;
            let say = |what: String| output::error_line(&format!("port {port}, {path}: {what}"));
            if wanted.n_different > N_SHOWN_MAX {
                say(format!("{} packets differ, the first {N_SHOWN_MAX} are shown", wanted.n_different));
            }
            if n_missing > 0 {
                say(format!("{n_missing} expected packets did not leave this port"));
            }
            if wanted.n_more > 0 {
                say(format!("{} packets left this port that are not expected", wanted.n_more));
            }
        }
        if !is_met {
            return Err(("the packets are not those that are expected".to_owned(), Exit::Failed));
        }
        if n_packets > 0 {
            output::err(&format!("all {n_packets} expected packets left as they should\n"));
        }
        Ok(())
    }
}

fn told(port: u32, path: &Path, number: u64, difference: &str) -> String {
    format!("port {port}, {}: packet {number} {difference}", path.display())
}

/// How a packet differs from what is expected; `None` if it does not.
fn difference(expected: &[u8], sent: &[u8]) -> Option<String> {
    if expected == sent {
        return None;
    }
    let at = expected.iter().zip(sent).position(|(wanted, found)| wanted != found);
    let Some(at) = at else {
        return Some(format!("has {} bytes; expected {}", sent.len(), expected.len()));
    };
    let shown =
        |bytes: &[u8]| -> String { bytes[at..].iter().take(8).map(|byte| format!("{byte:02x}")).collect() };
    Some(format!("differs at byte {at}: expected {}, found {}", shown(expected), shown(sent)))
}

#[cfg(test)]
mod tests {
    use super::difference;

    #[test]
    fn a_difference_is_shown_where_it_begins() {
        assert_eq!(difference(&[1, 2, 3], &[1, 2, 3]), None);
        assert_eq!(
            difference(&[1, 2, 3], &[1, 9, 3]).as_deref(),
            Some("differs at byte 1: expected 0203, found 0903")
        );
        assert_eq!(difference(&[1, 2, 3], &[1, 2]).as_deref(), Some("has 2 bytes; expected 3"));
        assert_eq!(difference(&[], &[7]).as_deref(), Some("has 1 bytes; expected 0"));
    }
}
