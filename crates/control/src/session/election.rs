//! Streams of controllers, and the election of a primary for each role.

use super::fault::SessionFault;
use super::name::RoleName;
use super::role::{AnnotatedRoles, Role, RoleConfig};
use crate::fault::Code;
use smol_str::format_smolstr;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Streams for one role of a device, at most.
pub const N_STREAMS_MAX: usize = 64;

/// Roles of a device at most. A role is kept after its last stream, because its highest election id counts on.
pub const N_ROLES_MAX: usize = 1024;

/// Bytes of the name of a role at most.
const ROLE_NAME_BYTES_MAX: usize = 256;

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
    /// The highest election id that has won the role; `None` if there never was a primary.
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
    /// Another stream than before is primary: it hears all digests anew.
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
    roles: BTreeMap<RoleName, Election>,
    /// Objects that the config of a role reserves for it.
    exclusive: Arc<BTreeMap<u32, RoleName>>,
    needs_no_arbitration: bool,
}

/// A stream that has arbitrated.
#[derive(Debug)]
struct Stream {
    role: RoleName,
    election_id: Option<u128>,
    config: Option<Arc<RoleConfig>>,
}

/// The election of one role.
#[derive(Debug, Default)]
struct Election {
    /// The highest election id that has won, that of a successor included: others have been told of it.
    highest: Option<u128>,
    primary: Option<StreamId>,
    /// Becomes primary as soon as no write is under way.
    successor: Option<StreamId>,
    /// The primary whose digests are remembered; it may bid again without hearing them anew.
    last_primary: Option<StreamId>,
    n_writes: usize,
    config: Option<Arc<RoleConfig>>,
}

impl Election {
    fn leader(&self) -> Option<StreamId> {
        self.primary.or(self.successor)
    }

    /// Nobody takes the place of a leader that goes.
    fn depose(&mut self) {
        (self.primary, self.successor, self.last_primary) = (None, None, None);
    }
}

impl Sessions {
    /// A device that nobody controls yet.
    pub fn new(device_id: u64) -> Sessions {
        Sessions {
            device_id,
            streams: BTreeMap::new(),
            roles: BTreeMap::new(),
            exclusive: Arc::default(),
            needs_no_arbitration: false,
        }
    }

    /// Takes writes of the default role without an election id from anybody, while the role has no stream.
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

    /// Fails if a stream arbitrates for another device: at first there is none, later the stream cannot change it.
    pub fn check_stream(&self, stream: StreamId, device_id: u64) -> Result<(), SessionFault> {
        match self.streams.get(&stream) {
            Some(known) if device_id != self.device_id => {
                let role = known.role.clone();
                Err(SessionFault::OtherSession { device_id: self.device_id, role })
            }
            Some(_) => Ok(()),
            None => self.check_device(device_id),
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

    /// The role as it stands, for the checks of one request.
    pub fn role(&self, name: &RoleName, annotated: Arc<AnnotatedRoles>) -> Role {
        let config = self.config(name);
        Role { name: name.clone(), config, annotated, exclusive: self.exclusive.clone() }
    }

    /// A stream takes part in the election of its role, for the first time or again. After a fault the stream has to end, with
    /// [`close`](Self::close).
    pub fn arbitrate(&mut self, stream: StreamId, request: Arbitration) -> Result<Vec<Effect>, SessionFault> {
        self.check_arbitration(stream, &request)?;
        let Arbitration { device_id: _, role, election_id, config } = request;
        let of_stream = Stream { role: role.clone(), election_id, config: config.clone() };
        let before = self.streams.insert(stream, of_stream);
        let state = self.roles.entry(role.clone()).or_default();
        if election_id.is_none() || election_id < state.highest {
            if state.leader() != Some(stream) {
                return Ok(vec![self.tell(stream, &role)]);
            }
            // It has stepped down.
            state.depose();
            return Ok(self.tell_all(&role));
        }
        state.highest = election_id;
        let is_unchanged = before.is_some_and(|before| before.election_id == election_id);
        if state.primary == Some(stream) && is_unchanged {
            state.config = config;
            self.reserve();
            let mut effects = self.tell_others(&role, stream);
            effects.push(self.tell(stream, &role));
            return Ok(effects);
        }
        (state.primary, state.successor) = (None, Some(stream));
        let mut effects = self.tell_others(&role, stream);
        effects.extend(self.accept_successor(&role));
        Ok(effects)
    }

    fn check_arbitration(&self, stream: StreamId, request: &Arbitration) -> Result<(), SessionFault> {
        let Arbitration { device_id, role, election_id, config } = request;
        self.check_stream(stream, *device_id)?;
        if let Some(known) = self.streams.get(&stream).filter(|known| known.role != *role) {
            let role = known.role.clone();
            return Err(SessionFault::OtherSession { device_id: self.device_id, role });
        }
        let (n_bytes, limit) = (role.0.len(), ROLE_NAME_BYTES_MAX);
        if n_bytes > limit {
            return Err(SessionFault::LongRoleName { n_bytes, limit });
        }
        let others = self.streams.iter().filter(|(id, other)| **id != stream && other.role == *role);
        let (mut n_others, mut used) = (0, None);
        for (_, other) in others {
            n_others += 1;
            used = used.or(other.election_id.filter(|id| Some(*id) == *election_id));
        }
        if let Some(election_id) = used {
            return Err(SessionFault::ElectionIdUsed { election_id });
        }
        if let Some(config) = config {
            self.check_config(role, config)?;
        }
        if n_others >= N_STREAMS_MAX {
            return Err(SessionFault::TooManyStreams { role: role.clone(), limit: N_STREAMS_MAX });
        }
        if self.roles.len() >= N_ROLES_MAX && !self.roles.contains_key(role) && !role.is_default() {
            return Err(SessionFault::TooManyRoles { limit: N_ROLES_MAX });
        }
        Ok(())
    }

    /// Fails if the config contradicts itself or that of another role.
    fn check_config(&self, role: &RoleName, config: &RoleConfig) -> Result<(), SessionFault> {
        config.check(role)?;
        let successor = |state: &Election| self.streams.get(&state.successor?)?.config.clone();
        for (other, state) in self.roles.iter().filter(|(other, _)| *other != role) {
            for theirs in state.config.iter().cloned().chain(successor(state)) {
                let clash = config.exclusive_ids.iter().find(|id| theirs.names(**id));
                if let Some(id) = clash.or(theirs.exclusive_ids.iter().find(|id| config.names(**id))) {
                    let why =
                        format_smolstr!("the config of {other} names {id:#010x} too, and one is exclusive");
                    return Err(SessionFault::BadRoleConfig { why });
                }
            }
        }
        Ok(())
    }

    /// A stream has ended, whatever the reason.
    pub fn close(&mut self, stream: StreamId) -> Vec<Effect> {
        let Some(Stream { role, .. }) = self.streams.remove(&stream) else { return Vec::new() };
        match self.roles.get_mut(&role) {
            Some(state) if state.leader() == Some(stream) => state.depose(),
            Some(_) | None => return Vec::new(),
        }
        self.tell_all(&role)
    }

    /// Fails unless somebody has arbitrated for the role, and the claim is that of its primary. A new primary is accepted when
    /// the writes under way have ended.
    pub fn begin_write(&mut self, claim: &WriterClaim) -> Result<WriteTicket, SessionFault> {
        self.check_device(claim.device_id)?;
        let role = &claim.role;
        let needs_none = self.needs_no_arbitration && role.is_default() && claim.election_id.is_none();
        if needs_none && !self.has_streams(role) {
            self.roles.entry(role.clone()).or_default().n_writes += 1;
            return Ok(WriteTicket { role: role.clone() });
        }
        let Some(state) = self.roles.get(role) else {
            return Err(match role.is_default() {
                true => self.not_primary(role),
                false => SessionFault::UnknownRole(role.clone()),
            });
        };
        let elected =
            state.primary.and_then(|id| self.streams.get(&id)).and_then(|stream| stream.election_id);
        if elected.is_none() || claim.election_id != elected {
            return Err(self.not_primary(role));
        }
        self.roles.entry(role.clone()).or_default().n_writes += 1;
        Ok(WriteTicket { role: role.clone() })
    }

    /// The fault of a controller that is not the primary of a role.
    pub fn not_primary(&self, role: &RoleName) -> SessionFault {
        let state = self.roles.get(role);
        let leader = state.and_then(|state| self.streams.get(&state.leader()?));
        SessionFault::NotPrimary {
            role: role.clone(),
            elected: leader.and_then(|leader| leader.election_id),
            highest: state.and_then(|state| state.highest),
        }
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
        state.config = of_stream.config.clone();
        let is_new = state.last_primary.replace(stream) != Some(stream);
        self.reserve();
        let new = is_new.then(|| Effect::NewPrimary { role: role.clone() });
        new.into_iter().chain([self.tell(stream, role)]).collect()
    }

    /// Lists anew what the configs of roles reserve for them.
    fn reserve(&mut self) {
        let configs = self.roles.iter().filter_map(|(name, state)| Some((name, state.config.as_ref()?)));
        let ids =
            configs.flat_map(|(name, config)| config.exclusive_ids.iter().map(|id| (*id, name.clone())));
        self.exclusive = Arc::new(ids.collect());
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
        let successor = state.and_then(|state| self.streams.get(&state.successor?));
        let config = match successor {
            Some(successor) => successor.config.clone(),
            None => state.and_then(|state| state.config.clone()),
        };
        let election_id = state.and_then(|state| state.highest);
        let status = match state.and_then(Election::leader) {
            Some(primary) if primary == stream => None,
            Some(_) => Some(Code::AlreadyExists),
            None => Some(Code::NotFound),
        };
        let notice = Notice { device_id: self.device_id, role: role.clone(), config, election_id, status };
        Effect::Notify { stream, notice }
    }
}
