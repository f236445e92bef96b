//! Errors of sessions.

use super::name::RoleName;
use crate::fault::{Code, Fault, Problem};
use smol_str::SmolStr;

/// Why a controller may not do something, or why its stream ends.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionFault {
    #[error("there is no device {device_id}: this one is {known}")]
    UnknownDevice { device_id: u64, known: u64 },
    #[error("role ids are deprecated: name the role")]
    RoleById,
    #[error("the name of the role has {n_bytes} bytes; it may have {limit}")]
    LongRoleName { n_bytes: usize, limit: usize },
    #[error("the role config has the type `{type_url}`, which is not known; known is `{known}`")]
    UnknownRoleConfig { type_url: SmolStr, known: SmolStr },
    #[error("the role config cannot be read: {why}")]
    BadRoleConfig { why: SmolStr },
    #[error("election id {} is already used by another controller of the role; bid with another one", halves(*election_id))]
    ElectionIdUsed { election_id: u128 },
    #[error("{role} has {limit} streams, which are as many as there may be")]
    TooManyStreams { role: RoleName, limit: usize },
    #[error("there are {limit} roles, which are as many as there may be: use one of them")]
    TooManyRoles { limit: usize },
    #[error("the stream is for device {device_id} and {role}: open another one for others")]
    OtherSession { device_id: u64, role: RoleName },
    #[error("no controller has arbitrated for {0}: send a MasterArbitrationUpdate for it first")]
    UnknownRole(RoleName),
    #[error("only the primary of {role} may do this, and {}", primary_of(*elected, *highest))]
    NotPrimary {
        role: RoleName,
        /// The election id of the controller that is primary, or about to be; `None` if nobody is.
        elected: Option<u128>,
        /// The highest election id that has won.
        highest: Option<u128>,
    },
    #[error("no forwarding pipeline config has been set")]
    NoPipeline,
    #[error("{role} may not {what}")]
    NotAllowed { role: RoleName, what: SmolStr },
}

impl SessionFault {
    pub fn code(&self) -> Code {
        match self {
            SessionFault::UnknownDevice { .. } | SessionFault::UnknownRole(_) => Code::NotFound,
            SessionFault::RoleById
            | SessionFault::LongRoleName { .. }
            | SessionFault::UnknownRoleConfig { .. }
            | SessionFault::BadRoleConfig { .. }
            | SessionFault::ElectionIdUsed { .. } => Code::InvalidArgument,
            SessionFault::TooManyStreams { .. } | SessionFault::TooManyRoles { .. } => {
                Code::ResourceExhausted
            }
            SessionFault::OtherSession { .. } | SessionFault::NoPipeline => Code::FailedPrecondition,
            SessionFault::NotPrimary { .. } | SessionFault::NotAllowed { .. } => Code::PermissionDenied,
        }
    }
}

/// Says who is primary, and what becomes it.
fn primary_of(elected: Option<u128>, highest: Option<u128>) -> String {
    match (elected, highest) {
        (Some(elected), _) => {
            format!("that is the controller with election id {}", halves(elected))
        }
        (None, Some(highest)) => format!(
            "there is none: send a MasterArbitrationUpdate with election id {} or a higher one first",
            halves(highest)
        ),
        (None, None) => "there is none: send a MasterArbitrationUpdate with an election id first".to_owned(),
    }
}

/// Prints an election id as its number, or as the halves of P4Runtime's `Uint128` if the upper one is used.
fn halves(election_id: u128) -> String {
    match (election_id >> 64, election_id as u64) {
        (0, low) => low.to_string(),
        (high, low) => format!("{{high: {high}, low: {low}}}"),
    }
}

/// Denies one update of a request.
impl From<SessionFault> for Fault {
    fn from(fault: SessionFault) -> Fault {
        Problem::Session { code: fault.code(), message: fault.to_string() }.into()
    }
}
