//! The syntax tree of a script: one command per line.

use crate::expect::Expectation;
use diagnostics::Span;
use num_bigint::BigUint;
use num_traits::{ToPrimitive, Zero};
use target::store::TableUse;

/// How commands may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A test script: keys and arguments have names.
    Script,
    /// Typed by people: keys and arguments may be without names, in the order of the program; an action without
    /// arguments needs no parentheses; `delete` is `remove`.
    Short,
}

/// The commands of a file, in order.
#[derive(Clone, Debug, Default)]
pub struct Script {
    pub commands: Vec<Command>,
}

#[derive(Clone, Debug)]
pub struct Command {
    /// The line without blanks and comment.
    pub span: Span,
    pub kind: CommandKind,
}

/// One variant per command; [`crate::keywords`] says how each is written.
#[derive(Clone, Debug)]
pub enum CommandKind {
    Packet {
        port: Port,
        data: Vec<u8>,
        data_span: Span,
    },
    Expect(Expectation),
    NoPacket {
        port: Option<Port>,
    },
    Wait,
    Clock {
        duration_ns: u64,
    },
    /// The side of a network card at which a port is.
    Port {
        port: Port,
        is_host: bool,
    },

    /// Compares a number of entries of a table.
    CheckTable {
        table: Name,
        count: TableCount,
        comparison: Comparison,
        value: Number,
    },
    /// The timeout that a profile of a table stands for.
    TimeoutWrite {
        table: Name,
        profile: Number,
        timeout_ns: u64,
    },

    Add {
        table: Name,
        key: Key,
        target: Target,
        handle: Option<Name>,
    },
    Modify {
        table: Name,
        entry: EntryRef,
        target: Target,
        /// The call leaves out the parameters that actions change, and the entry keeps its values of them.
        keeps_state: bool,
    },
    Remove {
        table: Name,
        entry: EntryRef,
    },
    RemoveAll,
    SetDefault {
        table: Name,
        target: Target,
    },
    ResetDefault {
        table: Name,
    },

    MemberAdd {
        profile: Name,
        member: Number,
        action: ActionCall,
    },
    MemberModify {
        profile: Name,
        member: Number,
        action: ActionCall,
    },
    MemberRemove {
        profile: Name,
        member: Number,
    },
    GroupAdd {
        profile: Name,
        group: Number,
        members: Vec<Weighted<Number>>,
    },
    GroupModify {
        profile: Name,
        group: Number,
        members: Vec<Weighted<Number>>,
    },
    GroupRemove {
        profile: Name,
        group: Number,
    },

    ValueSetAdd {
        value_set: Name,
        matches: Vec<Match>,
    },
    ValueSetRemove {
        value_set: Name,
        matches: Vec<Match>,
    },
    ValueSetClear {
        value_set: Name,
    },

    CheckCounter {
        counter: Name,
        cell: Cell,
        check: Option<CounterCheck>,
    },
    CheckMeter {
        meter: Name,
        cell: Cell,
        check: Option<(Colour, CounterCheck)>,
    },
    CounterRead {
        counter: Name,
        cell: Cell,
        check: Option<CounterCheck>,
    },
    CounterWrite {
        counter: Name,
        index: Number,
        n_packets: Number,
        n_bytes: Number,
    },
    RegisterRead {
        register: Name,
        index: Number,
        check: Option<(Comparison, Number)>,
    },
    RegisterWrite {
        register: Name,
        index: Number,
        value: Number,
    },
    RegisterReset {
        register: Name,
    },
    MeterGetRates {
        meter: Name,
        index: Number,
    },
    MeterSetRates {
        meter: Name,
        index: Number,
        rates: Vec<Rate>,
    },
    MeterArraySetRates {
        meter: Name,
        rates: Vec<Rate>,
    },

    MirroringAdd {
        session: Number,
        port: Number,
    },
    MirroringAddMc {
        session: Number,
        group: Number,
    },
    MirroringDelete {
        session: Number,
    },
    MirroringGet {
        session: Number,
    },
    McMgrpCreate {
        group: Number,
    },
    McNodeCreate {
        instance: Number,
        ports: Vec<Number>,
    },
    McNodeUpdate {
        node: Number,
        ports: Vec<Number>,
    },
    McNodeAssociate {
        group: Number,
        node: Number,
    },
    McNodeDissociate {
        group: Number,
        node: Number,
    },
    McNodeDestroy {
        node: Number,
    },
    McMgrpDestroy {
        group: Number,
    },

    ExpectDigest {
        digest: Name,
        values: Vec<Match>,
    },
}

/// A port of the switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    pub number: u32,
    pub span: Span,
}

/// The name of something, without quotes, parts joined by dots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    pub text: String,
    pub span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Radix {
    Binary,
    Decimal,
    Hexadecimal,
}

/// A number as it is written, which matters: `0x0a**` is not `0x0a00`, and some places count digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Number {
    pub span: Span,
    pub radix: Radix,
    /// Zero where there is a `*`.
    pub value: BigUint,
    /// Zero where there is a `*`, one for all other bits of the digits that are written.
    pub mask: BigUint,
    /// With stars, without prefix.
    pub n_digits: u32,
    pub n_stars: u32,
    /// All stars stand at the end.
    pub stars_trail: bool,
}

impl Number {
    /// How many bits the digits have; `None` for decimal numbers, whose digits have none.
    pub fn written_bits(&self) -> Option<u32> {
        match self.radix {
            Radix::Binary => Some(self.n_digits),
            Radix::Decimal => None,
            Radix::Hexadecimal => Some(self.n_digits * 4),
        }
    }

    /// A number that is written in no digits.
    pub fn plain(value: BigUint, span: Span) -> Number {
        Number {
            span,
            radix: Radix::Decimal,
            value,
            mask: BigUint::ZERO,
            n_digits: 1,
            n_stars: 0,
            stars_trail: true,
        }
    }

    pub fn has_wildcards(&self) -> bool {
        self.n_stars > 0
    }

    /// The value when it fits and is exact.
    pub fn to_u64(&self) -> Option<u64> {
        self.value.to_u64().filter(|_| !self.has_wildcards())
    }

    pub fn is_zero(&self) -> bool {
        self.value.is_zero() && !self.has_wildcards()
    }
}

/// The value that one element of a key must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    pub name: Name,
    pub value: MatchValue,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MatchValue {
    Number(Number),
    /// `value/length`
    Prefix {
        value: Number,
        prefix_len: Number,
    },
    /// `value&&&mask`
    Mask {
        value: Number,
        mask: Number,
    },
    /// `low..high`
    Range {
        low: Number,
        high: Number,
    },
    /// `"text"`, for types that the control plane sees as strings.
    Text(Name),
    /// A constant of the program, or a member of an enum: `EtherType.Ipv4`.
    Constant(Name),
    /// `_`: anything.
    Any(Span),
}

impl MatchValue {
    pub fn span(&self) -> Span {
        match self {
            MatchValue::Number(number) => number.span,
            MatchValue::Prefix { value, prefix_len: end }
            | MatchValue::Mask { value, mask: end }
            | MatchValue::Range { low: value, high: end } => value.span.to(end.span),
            MatchValue::Text(name) | MatchValue::Constant(name) => name.span,
            MatchValue::Any(span) => *span,
        }
    }
}

/// Which entry: everything that makes it that one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    pub priority: Option<Number>,
    pub matches: Vec<Match>,
    /// Values without a name, for the keys of the table in their order; the first one is the priority if the table
    /// needs one. Only [`Form::Short`](crate::Form) has them.
    pub in_order: Vec<MatchValue>,
}

/// An entry that exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryRef {
    /// `$A`, after `add ... = A`; the name is without `$`.
    Handle(Name),
    Key(Key),
}

/// The action of an entry, or the member or group that it refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    Action(ActionCall),
    /// `member 3`
    Member(Number),
    /// `group 3`
    Group(Number),
    /// `oneshot a(x:1) b():2`
    OneShot(Vec<Weighted<ActionCall>>),
    /// The line ends before it; reported when the table is known.
    Missing(Span),
}

/// `action(name:value, ...)`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionCall {
    pub name: Name,
    pub arguments: Vec<Argument>,
    /// Values without a name, for the parameters in their order. Only [`Form::Short`](crate::Form) has them.
    pub in_order: Vec<ArgumentValue>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    pub name: Name,
    pub value: ArgumentValue,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArgumentValue {
    Number(Number),
    /// For types that the control plane sees as strings.
    Text(Name),
    /// A constant of the program, or a member of an enum.
    Constant(Name),
}

impl ArgumentValue {
    pub fn span(&self) -> Span {
        match self {
            ArgumentValue::Number(number) => number.span,
            ArgumentValue::Text(name) | ArgumentValue::Constant(name) => name.span,
        }
    }
}

/// `item:weight`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weighted<T> {
    pub item: T,
    /// 1 unless given.
    pub weight: Option<Number>,
}

/// Which counter or meter of several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    Index(Number),
    /// That of a table entry: `$A`, after `add ... = A`; the name is without `$`.
    Entry(Name),
    /// That of the default entry: `default`.
    Default(Span),
}

/// A colour that a meter gives packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    Green,
    Yellow,
    Red,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterUnit {
    Bytes,
    Packets,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterCheck {
    pub unit: CounterUnit,
    pub comparison: Comparison,
    pub value: Number,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// Numbers of entries of a table: those that are there, those that packets have added, and what became of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableCount {
    Entries,
    FromPackets,
    Added,
    Exists,
    RaceLost,
    Full,
    Carried,
    Expired,
    Evicted,
    Deleted,
    Notified,
}

impl TableCount {
    pub const ALL: [(&str, TableCount); 11] = [
        ("entries", TableCount::Entries),
        ("from_packets", TableCount::FromPackets),
        ("added", TableCount::Added),
        ("exists", TableCount::Exists),
        ("race_lost", TableCount::RaceLost),
        ("full", TableCount::Full),
        ("carried", TableCount::Carried),
        ("expired", TableCount::Expired),
        ("evicted", TableCount::Evicted),
        ("deleted", TableCount::Deleted),
        ("notified", TableCount::Notified),
    ];

    pub fn of(self, found: &TableUse) -> u64 {
        let packets = &found.packets;
        match self {
            TableCount::Entries => found.n_entries,
            TableCount::FromPackets => packets.n_entries,
            TableCount::Added => packets.n_added,
            TableCount::Exists => packets.n_exists + packets.n_race_lost,
            TableCount::RaceLost => packets.n_race_lost,
            TableCount::Full => packets.n_full,
            TableCount::Carried => packets.n_carried,
            TableCount::Expired => packets.n_expired,
            TableCount::Evicted => packets.n_evicted,
            TableCount::Deleted => packets.n_deleted,
            TableCount::Notified => packets.n_notified,
        }
    }
}

impl Comparison {
    pub fn holds<T: PartialOrd>(self, left: &T, right: &T) -> bool {
        match self {
            Comparison::Equal => left == right,
            Comparison::NotEqual => left != right,
            Comparison::Less => left < right,
            Comparison::LessOrEqual => left <= right,
            Comparison::Greater => left > right,
            Comparison::GreaterOrEqual => left >= right,
        }
    }

    pub fn symbol(self) -> &'static str {
        match self {
            Comparison::Equal => "==",
            Comparison::NotEqual => "!=",
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
            Comparison::Greater => ">",
            Comparison::GreaterOrEqual => ">=",
        }
    }
}

/// `rate:burst` of a meter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Units per second, rounded down. Scripts give units per microsecond, as in BMv2.
    pub per_second: u64,
    pub burst: u64,
    pub span: Span,
}
