//! Packet sockets that share the packets of one interface: PACKET_FANOUT of packet(7).

use super::socket::PacketSocket;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The sockets of all queues of one port. The kernel hands each packet to one of them, by a hash of its flow that is
/// the same in both directions.
///
/// A group of the kernel belongs to one interface. When the interface is deleted and made again, the first queue that
/// finds it makes a new group, and the others join that one. The kernel distributes flows anew with each socket that
/// joins, which would let their packets overtake each other; so nothing is received before all queues are there.
#[derive(Debug)]
pub(super) struct FanoutGroup {
    n_queues: usize,
    current: Mutex<Option<Current>>,
}

/// The kernel's group of the present interface.
#[derive(Debug)]
struct Current {
    ifindex: i32,
    id: u16,
    members: Vec<Arc<PacketSocket>>,
}

/// The place of one socket in a group, until the socket is closed.
#[derive(Debug)]
pub(super) struct Membership {
    group: Arc<FanoutGroup>,
    ifindex: i32,
    socket: Arc<PacketSocket>,
}

impl FanoutGroup {
    pub(super) fn new(n_queues: usize) -> FanoutGroup {
        FanoutGroup { n_queues, current: Mutex::default() }
    }

    /// Lets a socket that is closed to packets and bound to the interface with that index join. The kernel chooses the
    /// number of a new group, so that it is no other program's. The last socket that joins opens all of them.
    pub(super) fn join(self: &Arc<Self>, socket: &Arc<PacketSocket>, ifindex: i32) -> io::Result<Membership> {
        let mut current = self.lock();
        let group = match &mut *current {
            Some(group) if group.ifindex == ifindex => {
                socket.join_fanout(group.id)?;
                group
            }
            other => other.insert(Current { ifindex, id: socket.make_fanout()?, members: Vec::new() }),
        };
        group.members.push(Arc::clone(socket));
        let membership = Membership { group: Arc::clone(self), ifindex, socket: Arc::clone(socket) };
        if group.members.len() < self.n_queues {
            return Ok(membership);
        }
        let opened = group.members.iter().try_for_each(|member| member.open_to_packets());
        // Leaving the group needs its lock.
        drop(current);
        opened.map(|()| membership)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Current>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        let mut current = self.group.lock();
        if let Some(group) = current.as_mut().filter(|group| group.ifindex == self.ifindex) {
            group.members.retain(|member| !Arc::ptr_eq(member, &self.socket));
            if group.members.is_empty() {
                // The kernel ends the group with its last socket; somebody else may get its number.
                *current = None;
            }
        }
    }
}
