//! Why a write is refused.

use control::Code;
use smol_str::SmolStr;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    #[error("there is no such table")]
    UnknownTable,
    #[error("the table has {expected} keys to match on, the entry {found}")]
    WrongNumberOfKeys { expected: usize, found: usize },
    #[error("key `{key}`: the match has another kind or width than the key")]
    WrongMatch { key: SmolStr },
    #[error("key `{key}` has to be given")]
    MissingMatch { key: SmolStr },
    #[error("key `{key}`: the low end of the range is above its high end")]
    EmptyRange { key: SmolStr },
    #[error("a table without keys has no entries")]
    NoKeys,
    #[error("a table without ternary, range or optional keys has no priorities")]
    NoPriorities,
    #[error("the table has no such action")]
    UnknownAction,
    #[error("the action data does not fit the parameters of `{action}`")]
    WrongData { action: SmolStr },
    #[error("action `{action}` is for the default entry only")]
    DefaultOnly { action: SmolStr },
    #[error("action `{action}` is not for the default entry")]
    TableOnly { action: SmolStr },
    #[error("action `{action}` is for groups only")]
    GroupActionOnly { action: SmolStr },
    #[error("action `{action}` is not for groups")]
    NoGroupAction { action: SmolStr },
    #[error("the table has an entry with this key")]
    Exists,
    #[error("there is no such entry")]
    NotFound,
    #[error("the table is full: it has {size} entries")]
    Full { size: u64 },
    #[error("the entry is constant")]
    ConstEntry,
    #[error("the entries of the table are constant")]
    ConstTable,
    #[error("the default action of the table is constant")]
    ConstDefault,
    #[error("the table has an action profile: entries name members or groups")]
    WantsMember,
    #[error("the table has no action profile")]
    NoProfile,
    #[error("the table's action profile has no groups")]
    NoSelector,
    #[error("there is no such action profile")]
    UnknownProfile,
    #[error("there is no member {0}")]
    UnknownMember(u32),
    #[error("there is no group {0}")]
    UnknownGroup(u32),
    #[error("member {0} exists")]
    MemberExists(u32),
    #[error("group {0} exists")]
    GroupExists(u32),
    #[error("an entry or a group uses it")]
    InUse,
    #[error("the action profile is full: it has {size} members")]
    ProfileFull { size: u64 },
    #[error("there is no such value set")]
    UnknownValueSet,
    #[error("the value set has room for {size} members")]
    ValueSetFull { size: u64 },
    #[error("the member does not fit the fields of the value set")]
    WrongValueSetMember,
}

impl TableError {
    /// The canonical code of the fault that the error becomes.
    pub fn code(&self) -> Code {
        match self {
            TableError::Exists | TableError::MemberExists(_) | TableError::GroupExists(_) => {
                Code::AlreadyExists
            }
            TableError::NotFound | TableError::UnknownMember(_) | TableError::UnknownGroup(_) => {
                Code::NotFound
            }
            TableError::Full { .. } | TableError::ProfileFull { .. } | TableError::ValueSetFull { .. } => {
                Code::ResourceExhausted
            }
            TableError::InUse => Code::FailedPrecondition,
            TableError::ConstEntry | TableError::ConstTable | TableError::ConstDefault => {
                Code::PermissionDenied
            }
            TableError::UnknownTable | TableError::UnknownProfile | TableError::UnknownValueSet => {
                Code::Unimplemented
            }
            TableError::WrongNumberOfKeys { .. }
            | TableError::WrongMatch { .. }
            | TableError::MissingMatch { .. }
            | TableError::EmptyRange { .. }
            | TableError::NoKeys
            | TableError::NoPriorities
            | TableError::UnknownAction
            | TableError::WrongData { .. }
            | TableError::DefaultOnly { .. }
            | TableError::TableOnly { .. }
            | TableError::GroupActionOnly { .. }
            | TableError::NoGroupAction { .. }
            | TableError::WantsMember
            | TableError::NoProfile
            | TableError::NoSelector
            | TableError::WrongValueSetMember => Code::InvalidArgument,
        }
    }
}
