//! Streams of controllers, and the election of a primary for each role.

use super::fault::SessionFault;
use super::name::RoleName;
use super::role::RoleConfig;
use crate::fault::Code;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Streams for one role of a device, at most.
pub const N_STREAMS_MAX: usize = 64;

/// A stream, by a number that the server chooses and never uses again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u64);

/// The request of a controller to take part in the election of a role.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arbitration {
    pub device_id: u64,
    pub role: RoleName,
    /// `None` never becomes primary.
    pub election_id: Option<u128>,
    /// The scheme that the controller wants for the role; counts if it is primary.
    pub config: Option<Arc<RoleConfig>>,
}

/// The identity of a controller that wants to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriterClaim {
    pub device_id: u64,
    pub role: RoleName,
    pub election_id: Option<u128>,
}

/// The state of a role as one controller is told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    pub device_id: u64,
    pub role: RoleName,
    /// The config that a primary has given last.
    pub config: Option<Arc<RoleConfig>>,
    /// The highest election id of the role; `None` if there never was a primary.
    pub election_id: Option<u128>,
    /// `None` (OK) for the primary, [`Code::AlreadyExists`] for others while there is one, [`Code::NotFound`] if there is none.
    pub status: Option<Code>,
}

/// An order to the server. Orders are carried out one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    Notify {
        stream: StreamId,
        notice: Notice,
    },
    /// Another controller is primary: it hears all digests anew.
    NewPrimary {
        role: RoleName,
    },
}

/// A write under way. Give it back with [`Sessions::end_write`].
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a new primary waits until it is given back"]
pub struct WriteTicket {
    role: RoleName,
}

impl WriteTicket {
    pub fn role(&self) -> &RoleName {
        &self.role
    }
}

/// The sessions of one device.
#[derive(Debug)]
pub struct Sessions {
    device_id: u64,
    streams: BTreeMap<StreamId, Stream>,
    roles: BTreeMap<RoleName, Role>,
    needs_no_arbitration: bool,
}

/// A stream that has arbitrated.
#[derive(Debug)]
struct Stream {
    role: RoleName,
    election_id: Option<u128>,
    config: Option<Arc<RoleConfig>>,
}

#[derive(Debug, Default)]
struct Role {
    /// The highest election id of any primary.
    highest: Option<u128>,
    primary: Option<StreamId>,
    /// Becomes primary as soon as no write is under way.
    successor: Option<StreamId>,
    n_writes: usize,
    config: Option<Arc<RoleConfig>>,
}

impl Sessions {
    /// A device that nobody controls yet.
    pub fn new(device_id: u64) -> Sessions {
        Sessions { device_id, streams: BTreeMap::new(), roles: BTreeMap::new(), needs_no_arbitration: false }
    }

    /// Takes writes without an election id from anybody, as long as nobody has arbitrated for the role.
    pub fn without_arbitration(mut self) -> Sessions {
        self.needs_no_arbitration = true;
        self
    }

    pub fn device_id(&self) -> u64 {
        self.device_id
    }

    /// Fails for another device.
    pub fn check_device(&self, device_id: u64) -> Result<(), SessionFault> {
        match device_id == self.device_id {
            true => Ok(()),
            false => Err(SessionFault::UnknownDevice { device_id, known: self.device_id }),
        }
    }

    /// The streams that have arbitrated.
    pub fn streams(&self) -> impl Iterator<Item = (StreamId, &RoleName)> {
        self.streams.iter().map(|(id, stream)| (*id, &stream.role))
    }

    /// The primary of a role.
    pub fn primary(&self, role: &RoleName) -> Option<StreamId> {
        self.roles.get(role)?.primary
    }

    /// The primaries of all roles, with the config of their role.
    pub fn primaries(&self) -> impl Iterator<Item = (StreamId, &RoleName, Option<&Arc<RoleConfig>>)> {
        self.roles.iter().filter_map(|(name, role)| Some((role.primary?, name, role.config.as_ref())))
    }

    /// The role of a stream, with its config; `None` before it arbitrates.
    pub fn role_of(&self, stream: StreamId) -> Option<&RoleName> {
        self.streams.get(&stream).map(|stream| &stream.role)
    }

    /// The config of a role, as a primary has given it last.
    pub fn config(&self, role: &RoleName) -> Option<Arc<RoleConfig>> {
        self.roles.get(role)?.config.clone()
    }

    /// A stream takes part in the election of its role, for the first time or again. After a fault the stream has to end, with
    /// [`close`](Self::close).
    pub fn arbitrate(&mut self, stream: StreamId, request: Arbitration) -> Result<Vec<Effect>, SessionFault> {
        let Arbitration { device_id, role, election_id, config } = request;
        if let Some(known) = self.streams.get(&stream) {
            if device_id != self.device_id || role != known.role {
                let role = known.role.clone();
                return Err(SessionFault::OtherSession { device_id: self.device_id, role });
            }
        } else {
            self.check_device(device_id)?;
        }
        let others = self.streams.iter().filter(|(id, other)| **id != stream && other.role == role);
        let (mut n_others, mut is_used) = (0, false);
        for (_, other) in others {
            n_others += 1;
            is_used |= election_id.is_some() && other.election_id == election_id;
        }
        if is_used {
            return Err(SessionFault::ElectionIdUsed { election_id: election_id.unwrap_or(0) });
        }
        if n_others >= N_STREAMS_MAX {
            return Err(SessionFault::TooManyStreams { role, limit: N_STREAMS_MAX });
        }
        let of_stream = Stream { role: role.clone(), election_id, config };
        self.streams.insert(stream, of_stream);
        let state = self.roles.entry(role.clone()).or_default();
        // A controller on its way to be primary counts as if it were.
        let successor_id = state.successor.and_then(|id| self.streams.get(&id)?.election_id);
        let bar = state.highest.max(successor_id.filter(|_| state.successor != Some(stream)));
        let wins = election_id.is_some() && election_id >= bar;
        let leads = state.primary == Some(stream) || state.successor == Some(stream);
        Ok(match (wins, leads) {
            (true, true) if state.primary == Some(stream) => {
                state.highest = election_id;
                state.config = self.streams.get(&stream).and_then(|stream| stream.config.clone());
                self.tell_all(&role)
            }
            (true, _) => {
                state.primary = None;
                state.successor = Some(stream);
                let mut effects = self.tell_others(&role, stream);
                effects.extend(self.accept_successor(&role));
                effects
            }
            // It has stepped down: nobody takes its place by itself.
            (false, true) => {
                state.primary = state.primary.filter(|id| *id != stream);
                state.successor = state.successor.filter(|id| *id != stream);
                self.tell_all(&role)
            }
            (false, false) => vec![self.tell(stream, &role)],
        })
    }

    /// A stream has ended, whatever the reason.
    pub fn close(&mut self, stream: StreamId) -> Vec<Effect> {
        let Some(Stream { role, .. }) = self.streams.remove(&stream) else { return Vec::new() };
        let Some(state) = self.roles.get_mut(&role) else { return Vec::new() };
        if state.primary != Some(stream) && state.successor != Some(stream) {
            return Vec::new();
        }
        state.primary = state.primary.filter(|id| *id != stream);
        state.successor = state.successor.filter(|id| *id != stream);
        self.tell_all(&role)
    }

    /// Fails unless somebody has arbitrated for the role, and the claim is that of its primary. A new primary is accepted when
    /// the writes under way have ended.
    pub fn begin_write(&mut self, claim: &WriterClaim) -> Result<WriteTicket, SessionFault> {
        self.check_device(claim.device_id)?;
        let role = &claim.role;
        if self.needs_no_arbitration && claim.election_id.is_none() && !self.has_streams(role) {
            self.roles.entry(role.clone()).or_default().n_writes += 1;
            return Ok(WriteTicket { role: role.clone() });
        }
        let Some(state) = self.roles.get_mut(role) else {
            return Err(match role.is_default() {
                true => SessionFault::NotPrimary(role.clone()),
                false => SessionFault::UnknownRole(role.clone()),
            });
        };
        let elected =
            state.primary.and_then(|id| self.streams.get(&id)).and_then(|stream| stream.election_id);
        if elected.is_none() || claim.election_id != elected {
            return Err(SessionFault::NotPrimary(role.clone()));
        }
        state.n_writes += 1;
        Ok(WriteTicket { role: role.clone() })
    }

    /// A write has ended.
    pub fn end_write(&mut self, ticket: WriteTicket) -> Vec<Effect> {
        if let Some(state) = self.roles.get_mut(&ticket.role) {
            state.n_writes = state.n_writes.saturating_sub(1);
        }
        self.accept_successor(&ticket.role)
    }

    fn has_streams(&self, role: &RoleName) -> bool {
        self.streams.values().any(|stream| stream.role == *role)
    }

    /// The successor becomes primary unless writes of the old one are under way.
    fn accept_successor(&mut self, role: &RoleName) -> Vec<Effect> {
        let Some(state) = self.roles.get_mut(role).filter(|state| state.n_writes == 0) else {
            return Vec::new();
        };
        let Some(stream) = state.successor.take() else { return Vec::new() };
        let Some(of_stream) = self.streams.get(&stream) else { return Vec::new() };
        state.primary = Some(stream);
        state.highest = of_stream.election_id;
        state.config = of_stream.config.clone();
        vec![Effect::NewPrimary { role: role.clone() }, self.tell(stream, role)]
    }

    fn tell_all(&self, role: &RoleName) -> Vec<Effect> {
        let all = self.streams.iter().filter(|(_, stream)| stream.role == *role);
        all.map(|(id, _)| self.tell(*id, role)).collect()
    }

    fn tell_others(&self, role: &RoleName, but: StreamId) -> Vec<Effect> {
        let others = self.streams.iter().filter(|(id, stream)| **id != but && stream.role == *role);
        others.map(|(id, _)| self.tell(*id, role)).collect()
    }

    fn tell(&self, stream: StreamId, role: &RoleName) -> Effect {
        let state = self.roles.get(role);
        let successor = state.and_then(|state| state.successor).and_then(|id| self.streams.get(&id));
        let leads = |state: &Role| state.primary.or(state.successor);
        let (election_id, config) = match (state, successor) {
            (_, Some(successor)) => (successor.election_id, successor.config.clone()),
            (Some(state), None) => (state.highest, state.config.clone()),
            (None, None) => (None, None),
        };
        let status = match state.and_then(leads) {
            Some(primary) if primary == stream => None,
            Some(_) => Some(Code::AlreadyExists),
            None => Some(Code::NotFound),
        };
        let notice = Notice { device_id: self.device_id, role: role.clone(), config, election_id, status };
        Effect::Notify { stream, notice }
    }
}
