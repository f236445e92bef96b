//! Errors of updates and queries.
//!
//! A [`Fault`] is a [`Problem`], which has a canonical [`Code`] and a message, and a path to the faulty part
//! of the entity. Paths use the field names of P4Runtime's messages, independent of the transport.

use std::fmt;

use smol_str::SmolStr;

use crate::schema::{ObjectKind, Part};

/// Canonical gRPC status codes, with their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Code {
    Ok = 0,
    Cancelled = 1,
    Unknown = 2,
    InvalidArgument = 3,
    DeadlineExceeded = 4,
    NotFound = 5,
    AlreadyExists = 6,
    PermissionDenied = 7,
    ResourceExhausted = 8,
    FailedPrecondition = 9,
    Aborted = 10,
    OutOfRange = 11,
    Unimplemented = 12,
    Internal = 13,
    Unavailable = 14,
    DataLoss = 15,
    Unauthenticated = 16,
}

impl Code {
    /// Returns the name in gRPC's spelling: `INVALID_ARGUMENT`.
    pub fn name(self) -> &'static str {
        match self {
            Code::Ok => "OK",
            Code::Cancelled => "CANCELLED",
            Code::Unknown => "UNKNOWN",
            Code::InvalidArgument => "INVALID_ARGUMENT",
            Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
            Code::NotFound => "NOT_FOUND",
            Code::AlreadyExists => "ALREADY_EXISTS",
            Code::PermissionDenied => "PERMISSION_DENIED",
            Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
            Code::FailedPrecondition => "FAILED_PRECONDITION",
            Code::Aborted => "ABORTED",
            Code::OutOfRange => "OUT_OF_RANGE",
            Code::Unimplemented => "UNIMPLEMENTED",
            Code::Internal => "INTERNAL",
            Code::Unavailable => "UNAVAILABLE",
            Code::DataLoss => "DATA_LOSS",
            Code::Unauthenticated => "UNAUTHENTICATED",
        }
    }

    /// All codes, in the order of their numbers.
    pub const ALL: [Code; 17] = [
        Code::Ok,
        Code::Cancelled,
        Code::Unknown,
        Code::InvalidArgument,
        Code::DeadlineExceeded,
        Code::NotFound,
        Code::AlreadyExists,
        Code::PermissionDenied,
        Code::ResourceExhausted,
        Code::FailedPrecondition,
        Code::Aborted,
        Code::OutOfRange,
        Code::Unimplemented,
        Code::Internal,
        Code::Unavailable,
        Code::DataLoss,
        Code::Unauthenticated,
    ];

    /// Returns the code with this number; [`Code::Unknown`] for a number that none has, as gRPC demands.
    pub fn of_number(number: i32) -> Code {
        Code::ALL.into_iter().find(|code| code.number() == number).unwrap_or(Code::Unknown)
    }

    /// Returns the number in `google.rpc.Status` and `p4.v1.Error`.
    pub fn number(self) -> i32 {
        self as i32
    }
}

/// One error. Boxed because most results are `Ok`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault(Box<Inner>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    problem: Problem,
    path: String,
}

impl Fault {
    pub fn code(&self) -> Code {
        self.problem().code()
    }

    pub fn problem(&self) -> &Problem {
        &self.0.problem
    }

    /// Path to the faulty part: `match[0].ternary.mask`; empty for the entity as a whole.
    pub fn path(&self) -> &str {
        &self.0.path
    }

    /// Puts `step` in front of the path: the faulty part is inside of that field.
    pub fn inside(mut self, step: impl fmt::Display) -> Fault {
        let dot = if self.0.path.is_empty() { "" } else { "." };
        self.0.path = format!("{step}{dot}{}", self.0.path);
        self
    }
}

impl From<Problem> for Fault {
    fn from(problem: Problem) -> Fault {
        Fault(Box::new(Inner { problem, path: String::new() }))
    }
}

/// Prints the problem, then the path: `table `t` is const: ... (in match[0])`.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problem().fmt(f)?;
        if !self.path().is_empty() {
            write!(f, " (in {})", self.path())?;
        }
        Ok(())
    }
}

impl std::error::Error for Fault {}

/// Adds a step to the path of a fault that is returned to the caller. Steps are printed for faults only: write those with
/// an index as `format_args!`.
pub(crate) trait Inside {
    fn inside(self, step: impl fmt::Display) -> Self;
}

impl<T> Inside for Result<T, Fault> {
    fn inside(self, step: impl fmt::Display) -> Self {
        self.map_err(|fault| fault.inside(step))
    }
}

fn did_you_mean(suggestion: &Option<SmolStr>) -> String {
    suggestion.as_ref().map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}

fn of_owner(owner: &str) -> String {
    if owner.is_empty() { String::new() } else { format!(" in {owner}") }
}

fn unknown_id(kind: ObjectKind, id: u32, actual: &Option<(ObjectKind, SmolStr)>) -> String {
    match actual {
        _ if id == 0 => format!("no {kind} is named: its id is 0"),
        Some((actual, name)) => {
            let article = if kind.to_string().starts_with(['a', 'e']) { "an" } else { "a" };
            format!("{id:#010x} is the {actual} `{name}`, not {article} {kind}")
        }
        None => format!("the program has no {kind} with id {id:#010x}"),
    }
}

fn list(names: &[SmolStr]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

/// Kinds of faults. Names are P4's; `what` is a description of the entity, see
/// [`Schema::describe`](crate::Schema::describe).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    // ---- names and ids
    #[error("there is no {part} `{name}`{}{}", of_owner(owner), did_you_mean(suggestion))]
    UnknownName {
        part: Part,
        name: SmolStr,
        owner: SmolStr,
        suggestion: Option<SmolStr>,
        /// The first names that there are.
        known: Vec<SmolStr>,
    },
    #[error("`{name}` may be any {part} of {}; write more of its name", list(candidates))]
    AmbiguousName { part: Part, name: SmolStr, candidates: Vec<SmolStr> },
    #[error("{}", unknown_id(*kind, *id, actual))]
    UnknownId { kind: ObjectKind, id: u32, actual: Option<(ObjectKind, SmolStr)> },
    #[error("{owner} has no {part} with id {id}; it has {}", if known.is_empty() { "none".into() } else { list(known) })]
    UnknownPart { part: Part, id: u32, owner: SmolStr, known: Vec<SmolStr> },
    #[error("{part} `{before}` of {owner} is called `{now}` in the other program")]
    Renamed { part: Part, before: SmolStr, now: SmolStr, owner: SmolStr },
    #[error("{part} `{name}` of {owner} is given twice")]
    Duplicate { part: Part, name: SmolStr, owner: SmolStr },
    #[error("{part} `{name}` of {owner} is missing")]
    Missing { part: Part, name: SmolStr, owner: SmolStr },
    #[error("extern type {id:#x} is not in the program")]
    UnknownExternType { id: u32 },
    #[error("extern `{name}` is of type {actual:#x}, not {expected:#x}")]
    ExternTypeMismatch { name: SmolStr, actual: u32, expected: u32 },

    // ---- roles
    #[error("{role} may not write {what}")]
    NotOfRole { role: String, what: String },
    // ---- values
    #[error("{value} does not fit into the {width_bits} bits of `{name}`")]
    TooWide { name: SmolStr, value: String, width_bits: u32 },
    #[error("the value of `{name}` has {found} bits instead of {width_bits}")]
    WrongWidth { name: SmolStr, found: u32, width_bits: u32 },
    #[error("the value of `{name}` is empty; zero is one byte, \\x00")]
    EmptyValue { name: SmolStr },
    #[error("`{name}` is a string of the controller, not a number (translated by {uri})")]
    NotText { name: SmolStr, uri: SmolStr },
    #[error("`{name}` is a number of {width_bits} bits, not a string")]
    NotBits { name: SmolStr, width_bits: u32 },
    #[error("`{name}` cannot be written: P4Runtime has no form for values of its type")]
    NoForm { name: SmolStr },
    #[error("the string for `{name}` is not UTF-8")]
    NotUtf8 { name: SmolStr },
    #[error("expected a value of type {expected}, found {found}")]
    DataType { expected: String, found: &'static str },
    #[error("number of parts of {of}: expected {expected}, found {found}")]
    DataLength { of: String, expected: usize, found: usize },
    #[error("{of} has no member `{name}`{}", did_you_mean(suggestion))]
    UnknownMember { of: String, name: SmolStr, suggestion: Option<SmolStr> },

    // ---- matches
    #[error("the match kind of `{name}` is {expected}, not {found}")]
    MatchKind { name: SmolStr, expected: SmolStr, found: &'static str },
    #[error("the match kind {kind} of `{name}` is not supported")]
    OtherMatchKind { name: SmolStr, kind: SmolStr },
    #[error("prefix of {prefix_len} bits, but `{name}` has {width_bits}")]
    PrefixTooLong { name: SmolStr, prefix_len: u32, width_bits: u32 },
    #[error("`{name}` may be anything here; leave it out instead of {how}")]
    NotOmitted { name: SmolStr, how: &'static str },
    #[error("{value} has bits outside the prefix of {prefix_len} bits of `{name}`; write {canonical}")]
    BitsBeyondPrefix { name: SmolStr, value: String, prefix_len: u32, canonical: String },
    #[error("{value} has bits outside the mask {mask} of `{name}`; write {canonical}")]
    BitsBeyondMask { name: SmolStr, value: String, mask: String, canonical: String },
    #[error("the range of `{name}` is empty: {low} is above {high}")]
    EmptyRange { name: SmolStr, low: String, high: String },

    // ---- table entries
    #[error("table `{table}` has no key: only its default action can be set")]
    Keyless { table: SmolStr },
    #[error(
        "priority {priority}: entries of table `{table}` need a priority of at least 1, because `{key}` is {kind}; the larger wins"
    )]
    PriorityMissing { table: SmolStr, priority: i32, key: SmolStr, kind: SmolStr },
    #[error(
        "priority {priority}: entries of table `{table}` have no priority, because its key has only exact and lpm elements; use 0"
    )]
    PriorityNotAllowed { table: SmolStr, priority: i32 },
    #[error("table `{table}` has const entries: {why}")]
    ConstTable { table: SmolStr, why: &'static str },
    #[error("`is_const` cannot be written: only the program makes entries const")]
    ConstEntryWritten,
    #[error("{what} is const: it cannot be changed")]
    ConstEntry { what: String },
    #[error("the default action of table `{table}` is const, `{action}`: it cannot be changed")]
    ConstDefaultAction { table: SmolStr, action: SmolStr },
    #[error(
        "table `{table}` gets its actions from the action profile `{profile}`: its default action cannot be changed"
    )]
    DefaultOfIndirectTable { table: SmolStr, profile: SmolStr },
    #[error("{kind} of the default entry of table `{table}`: it always exists and can only be modified")]
    DefaultEntryKind { table: SmolStr, kind: &'static str },
    #[error("the default entry of table `{table}` has no {what}")]
    DefaultEntryHas { table: SmolStr, what: &'static str },
    #[error("an action is missing: what is a hit in table `{table}` to do?")]
    ActionMissing { table: SmolStr },
    #[error("table `{table}` has no action profile: name an action, not {found}")]
    NotIndirect { table: SmolStr, found: &'static str },
    #[error(
        "table `{table}` gets its actions from the action profile `{profile}`: name {expected}, not {found}"
    )]
    NotDirect { table: SmolStr, profile: SmolStr, expected: &'static str, found: &'static str },
    #[error("action `{action}` is not in the list of {owner}, which has {}", if known.is_empty() { "none".into() } else { list(known) })]
    ActionNotInTable { action: SmolStr, owner: SmolStr, known: Vec<SmolStr> },
    #[error("action `{action}` of {owner} cannot be {used_as}: it is {annotation}")]
    ActionScope { action: SmolStr, owner: SmolStr, used_as: &'static str, annotation: &'static str },
    #[error(
        "{what} does not run `{action}`, so it has no values of {kept} to keep; modify it without keeping its state"
    )]
    OtherAction { what: String, action: SmolStr, kept: String },
    #[error("table `{table}` has no idle timeout; `{field}` must not be set")]
    NoIdleTimeout { table: SmolStr, field: &'static str },
    #[error("`{field}` is set by the switch, not by the controller")]
    AnswerOnly { field: &'static str },
    #[error("table `{table}` has no direct {resource}")]
    NoDirectResource { table: SmolStr, resource: &'static str },
    #[error("action `{action}` does not use the direct {resource} of table `{table}`: leave it out")]
    UnusedDirectResource { table: SmolStr, action: SmolStr, resource: &'static str },

    // ---- records
    #[error("entries of table `{table}` have no columns: write them as entities")]
    NoColumns { table: SmolStr },
    #[error("{why}")]
    BadColumn { why: String },
    #[error("table `{table}` has no action with index {index}")]
    UnknownActionIndex { table: SmolStr, index: u32 },
    #[error("an entry of table `{table}` names a member (1) or a group (2), not {kind}")]
    UnknownRecordKind { table: SmolStr, kind: u8 },
    #[error("the mask {mask} of `{name}` is no prefix: ones come first")]
    MaskNotPrefix { name: SmolStr, mask: String },
    #[error(
        "the mask {mask} of `{name}` has some bits: an optional element is matched as a whole or not at all"
    )]
    MaskNotWhole { name: SmolStr, mask: String },

    // ---- profiles, members, groups
    #[error("{what} 0 is reserved; start at 1")]
    ReservedId { what: &'static str },
    #[error("the action of member {member} of `{profile}` is missing")]
    MemberActionMissing { profile: SmolStr, member: u32 },
    #[error("`{profile}` is an action profile without a selector: it has no groups")]
    NoSelector { profile: SmolStr },
    #[error("weight {weight}: members of `{profile}` have no weights; leave it 0")]
    WeightNotAllowed { profile: SmolStr, weight: i32 },
    #[error("weight {weight}: a member of `{profile}` needs a weight of at least 1")]
    WeightMissing { profile: SmolStr, weight: i32 },
    #[error("weight {weight}: a member of `{profile}` may weigh {max} at most")]
    WeightTooLarge { profile: SmolStr, weight: i32, max: u32 },
    #[error("member {member} is in the group twice; raise its weight instead")]
    MemberTwice { member: u32 },
    #[error("max_size {max_size}: groups of `{profile}` have a max_size from {min} to {max}")]
    MaxSize { profile: SmolStr, max_size: i32, min: u32, max: u32 },
    #[error("the {counted} of the group is {size}, more than {limit} ({why})")]
    GroupTooLarge { counted: &'static str, size: u64, limit: u64, why: &'static str },
    #[error("the {counted} of the group is {size}, but there is room for {limit} in selector `{profile}`")]
    BeyondSelector { profile: SmolStr, counted: &'static str, size: u64, limit: u64 },
    #[error("max_size of group {group} of `{profile}` is {old} and cannot become {new}")]
    MaxSizeChanged { profile: SmolStr, group: u32, old: i32, new: i32 },
    #[error("`{profile}` is programmed with {used}; the two ways cannot be mixed")]
    MixedProgramming { profile: SmolStr, used: &'static str },

    // ---- arrays, meters, counters, digests, value sets
    #[error("{kind} of {what}: it always exists and can only be modified")]
    AlwaysExists { kind: &'static str, what: String },
    #[error("index {index} is negative")]
    NegativeIndex { index: i64 },
    #[error("index {index} is beyond the last cell of `{name}`, {}", size.saturating_sub(1))]
    IndexOutOfRange { name: SmolStr, index: i64, size: u64 },
    #[error("`{field}` is {value}: it must not be negative")]
    Negative { field: &'static str, value: i64 },
    #[error("meter `{meter}` is {meter_type}: {rule}")]
    MeterConfig { meter: SmolStr, meter_type: &'static str, rule: &'static str },
    #[error("counters of colours can be reset to 0, not set to another value")]
    MeterCounterNotZero,
    #[error("the value for register `{register}` is missing")]
    RegisterDataMissing { register: SmolStr },
    #[error("value set `{value_set}` has room for {size} members, not for {n_members}")]
    ValueSetFull { value_set: SmolStr, size: u64, n_members: usize },
    #[error("a member of value set `{value_set}` is given twice; the first is members[{first}]")]
    ValueSetMemberTwice { value_set: SmolStr, first: usize },

    // ---- packet replication
    #[error("a port is missing")]
    PortMissing,
    #[error("port {port} with instance {instance} is in the group twice")]
    ReplicaTwice { port: String, instance: u32 },
    #[error("port {port} cannot be the backup of itself")]
    BackupOfItself { port: String },
    #[error("{value} does not fit into the {width_bits} bits that the program has for it")]
    FieldTooNarrow { field: &'static str, value: u32, width_bits: u32 },
    #[error("a group may have {limit} replicas at most, not {n_replicas}")]
    TooManyReplicas { n_replicas: usize, limit: u32 },

    // ---- queries
    #[error("`{field}` needs a {kind}: a query for all of them takes no other condition")]
    ConditionWithoutId { kind: ObjectKind, field: &'static str },
    #[error("an action as a condition is for tables without an action profile; `{table}` has `{profile}`")]
    ActionCondition { table: SmolStr, profile: SmolStr },

    // ---- errors that depend on the contents of a target
    #[error("{what} exists already")]
    AlreadyExists { what: String },
    #[error("{what} does not exist")]
    DoesNotExist { what: String },
    #[error("{what} does not fit: there is room for {size}")]
    Full { what: String, size: u64 },
    #[error("{what} is used by {by}")]
    InUse { what: String, by: String },
    #[error("{what}: this is not supported by this target")]
    Unsupported { what: String },
    #[error("{what} is not as the target needs it: {why}")]
    Refused { what: String, why: String },
    #[error("not done, because update {failed} of the batch failed")]
    BatchAborted { failed: usize },
    #[error("a batch that is atomic for the data plane is not supported by this target")]
    AtomicUnsupported,
    #[error(
        "a batch that is atomic for the data plane may have {limit} updates, not {n_updates}; send it in parts"
    )]
    AtomicTooLarge { n_updates: usize, limit: usize },
    #[error("undoing the batch failed: {why}")]
    RollbackFailed { why: String },

    #[error("the program was replaced meanwhile: send the request again")]
    ProgramReplaced,
    #[error("more than {limit} entries were changed before they were read: read again, faster or in parts")]
    ReadOvertaken { limit: usize },

    // ---- programs
    #[error("COMMIT takes the config that was saved: leave `config` out, or use VERIFY_AND_COMMIT")]
    ConfigWithCommit,

    // ---- shape of messages, for transports
    #[error("`{field}` is not set")]
    FieldNotSet { field: &'static str },
    #[error("`{field}` has the unknown value {value}")]
    UnknownEnumValue { field: &'static str, value: i32 },

    // ---- translation between the values of controllers and those of the program; `by` names the translation
    #[error("{value} of `{name}` is not in the translation {by}")]
    NotTranslated { name: SmolStr, value: String, by: SmolStr },
    #[error("there is no port {port}: {why}")]
    NoPort { port: String, why: String },
    #[error("all {n_values} values of the translation {by} are taken")]
    TranslationFull { by: SmolStr, n_values: u64 },
    #[error("`{name}` is translated by {by}: match one whole value or leave it out")]
    PartlyTranslated { name: SmolStr, by: SmolStr },
    #[error("the translation {by} has no value of the controller for {value} of the program")]
    NoName { value: String, by: SmolStr },

    // ---- rights
    /// A [`SessionFault`](crate::session::SessionFault): the controller may not do this.
    #[error("{message}")]
    Session { code: Code, message: String },
}

impl Problem {
    pub fn code(&self) -> Code {
        use Problem::*;
        match self {
            Session { code, .. } => *code,
            NotTranslated { .. } => Code::NotFound,
            NoPort { .. } => Code::InvalidArgument,
            TranslationFull { .. } => Code::ResourceExhausted,
            PartlyTranslated { .. } => Code::Unimplemented,
            NoName { .. } => Code::Internal,
            UnknownId { id: 0, .. } | UnknownId { actual: Some(_), .. } => Code::InvalidArgument,
            UnknownName { .. } | UnknownId { .. } | UnknownExternType { .. } | DoesNotExist { .. } => {
                Code::NotFound
            }
            // P4Runtime, "Bytestrings".
            TooWide { .. } | EmptyValue { .. } | IndexOutOfRange { .. } => Code::OutOfRange,
            ConstTable { .. }
            | ConstEntry { .. }
            | ConstDefaultAction { .. }
            | DefaultOfIndirectTable { .. }
            | ActionScope { .. }
            | NotOfRole { .. } => Code::PermissionDenied,
            OtherMatchKind { .. }
            | NoForm { .. }
            | NoColumns { .. }
            | Unsupported { .. }
            | AtomicUnsupported
            | AtomicTooLarge { .. } => Code::Unimplemented,
            ValueSetFull { .. } | TooManyReplicas { .. } | Full { .. } | BeyondSelector { .. } => {
                Code::ResourceExhausted
            }
            AlreadyExists { .. } | ValueSetMemberTwice { .. } => Code::AlreadyExists,
            InUse { .. } | Renamed { .. } | OtherAction { .. } => Code::FailedPrecondition,
            BatchAborted { .. } | ProgramReplaced | ReadOvertaken { .. } => Code::Aborted,
            RollbackFailed { .. } => Code::Internal,
            AmbiguousName { .. }
            | UnknownPart { .. }
            | ExternTypeMismatch { .. }
            | Duplicate { .. }
            | Missing { .. }
            | WrongWidth { .. }
            | NotText { .. }
            | NotBits { .. }
            | NotUtf8 { .. }
            | DataType { .. }
            | DataLength { .. }
            | UnknownMember { .. }
            | MatchKind { .. }
            | PrefixTooLong { .. }
            | NotOmitted { .. }
            | BitsBeyondPrefix { .. }
            | BitsBeyondMask { .. }
            | EmptyRange { .. }
            | Keyless { .. }
            | PriorityMissing { .. }
            | PriorityNotAllowed { .. }
            | ConstEntryWritten
            | DefaultEntryKind { .. }
            | DefaultEntryHas { .. }
            | ActionMissing { .. }
            | NotIndirect { .. }
            | NotDirect { .. }
            | ActionNotInTable { .. }
            | NoIdleTimeout { .. }
            | AnswerOnly { .. }
            | NoDirectResource { .. }
            | UnusedDirectResource { .. }
            | BadColumn { .. }
            | UnknownActionIndex { .. }
            | UnknownRecordKind { .. }
            | MaskNotPrefix { .. }
            | MaskNotWhole { .. }
            | ReservedId { .. }
            | MemberActionMissing { .. }
            | NoSelector { .. }
            | WeightNotAllowed { .. }
            | WeightMissing { .. }
            | WeightTooLarge { .. }
            | MemberTwice { .. }
            | MaxSize { .. }
            | GroupTooLarge { .. }
            | MaxSizeChanged { .. }
            | MixedProgramming { .. }
            | AlwaysExists { .. }
            | NegativeIndex { .. }
            | Negative { .. }
            | MeterConfig { .. }
            | MeterCounterNotZero
            | RegisterDataMissing { .. }
            | PortMissing
            | ReplicaTwice { .. }
            | BackupOfItself { .. }
            | FieldTooNarrow { .. }
            | ConditionWithoutId { .. }
            | ActionCondition { .. }
            | Refused { .. }
            | ConfigWithCommit
            | FieldNotSet { .. }
            | UnknownEnumValue { .. } => Code::InvalidArgument,
        }
    }
}
