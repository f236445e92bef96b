//! Places of readers that follow tables. A switch has few, so no client may take all of them, and the primary of the default role
//! always finds one.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tonic::{Request, Status};

/// Readers of one client that follow at a time.
const N_OF_CLIENT_MAX: usize = 4;
/// Readers that follow at a time, of all that are not on the connection of the primary of the default role. The switch has 16
/// places.
const N_OF_OTHERS_MAX: usize = 12;

/// The other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    Tcp(SocketAddr),
    /// A process and its user.
    Unix {
        pid: Option<i32>,
        uid: u32,
    },
}

/// Connections that count as one client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Client {
    Host(IpAddr),
    Process { pid: Option<i32>, uid: u32 },
}

impl Peer {
    /// The sender of a request; `None` if the transport does not say it.
    pub(crate) fn of<T>(request: &Request<T>) -> Option<Peer> {
        request.extensions().get().copied()
    }

    fn client(self) -> Client {
        match self {
            Peer::Tcp(address) => Client::Host(address.ip().to_canonical()),
            Peer::Unix { pid, uid } => Client::Process { pid, uid },
        }
    }
}

/// The readers that follow.
#[derive(Debug, Default)]
pub(crate) struct Followers {
    /// Their clients, but for those on the connection of the primary.
    others: Mutex<Vec<Option<Client>>>,
}

/// A place, until it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    followers: Arc<Followers>,
    client: Option<Client>,
}

impl Followers {
    fn lock(&self) -> MutexGuard<'_, Vec<Option<Client>>> {
        self.others.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place for a reader that is not on the connection of the primary. Fails if its client has too many, or all clients
    /// together have.
    pub(crate) fn take(self: &Arc<Followers>, peer: Option<Peer>) -> Result<Place, Status> {
        let client = peer.map(Peer::client);
        let mut others = self.lock();
        if others.len() >= N_OF_OTHERS_MAX {
            return Err(Status::resource_exhausted(
                "too many readers follow tables: end one of them, or follow on the connection of the primary controller",
            ));
        }
        if others.iter().filter(|other| **other == client).count() >= N_OF_CLIENT_MAX {
            return Err(Status::resource_exhausted(format!(
                "a client follows tables with {N_OF_CLIENT_MAX} readers at most: end one of them"
            )));
        }
        others.push(client);
        Ok(Place { followers: Arc::clone(self), client })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut others = self.followers.lock();
        if let Some(at) = others.iter().position(|other| *other == self.client) {
            others.swap_remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_client_takes_all_places() {
        let tcp = |ip: &str, port| Some(Peer::Tcp(SocketAddr::new(ip.parse().unwrap(), port)));
        let followers = Arc::new(Followers::default());
        // Other ports of a host are the same client.
        let mut places: Vec<Place> =
            (2..6).map(|port| followers.take(tcp("10.0.0.1", port)).unwrap()).collect();
        let refused = |peer| followers.take(peer).unwrap_err().message().to_owned();
        assert!(refused(tcp("10.0.0.1", 9)).contains("4 readers at most"));
        places.extend((0..4).map(|_| followers.take(None).unwrap()));
        places.extend((0..4).map(|pid| followers.take(Some(Peer::Unix { pid: Some(pid), uid: 0 })).unwrap()));
        assert!(refused(tcp("10.0.0.2", 1)).contains("too many readers"));
        places.pop();
        assert!(followers.take(tcp("10.0.0.2", 1)).is_ok());
    }
}
