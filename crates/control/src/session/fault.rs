//! Errors of sessions.

use super::name::RoleName;
use crate::fault::Code;
use smol_str::SmolStr;

/// Why a controller may not do something, or why its stream ends.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionFault {
    #[error("there is no device {device_id}: this one is {known}")]
    UnknownDevice { device_id: u64, known: u64 },
    #[error("role ids are deprecated: name the role")]
    RoleById,
    #[error("the role config has the type `{type_url}`, which is not known; known is `{known}`")]
    UnknownRoleConfig { type_url: SmolStr, known: SmolStr },
    #[error("the role config cannot be read: {why}")]
    BadRoleConfig { why: SmolStr },
    #[error("election id {election_id} is already used by another controller of the role")]
    ElectionIdUsed { election_id: u128 },
    #[error("{role} has {limit} streams, which are as many as there may be")]
    TooManyStreams { role: RoleName, limit: usize },
    #[error("the stream is for device {device_id} and {role}: open another one for others")]
    OtherSession { device_id: u64, role: RoleName },
    #[error("no controller has arbitrated for {0}")]
    UnknownRole(RoleName),
    #[error(
        "only the primary of {0} may do this: send a MasterArbitrationUpdate with the highest election id first"
    )]
    NotPrimary(RoleName),
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
            | SessionFault::UnknownRoleConfig { .. }
            | SessionFault::BadRoleConfig { .. }
            | SessionFault::ElectionIdUsed { .. } => Code::InvalidArgument,
            SessionFault::TooManyStreams { .. } => Code::ResourceExhausted,
            SessionFault::OtherSession { .. } | SessionFault::NoPipeline => Code::FailedPrecondition,
            SessionFault::NotPrimary(_) | SessionFault::NotAllowed { .. } => Code::PermissionDenied,
        }
    }
}
