//! The words of the text form for what other crates enumerate.

use crate::{BinaryOp, MatchKind, ProcedureKind, StructKind};
use arch::{BlockRole, FieldRole, ParamRole};
use std::borrow::Cow;

/// Values that have a word.
pub(super) trait Word: Copy + 'static {
    const ALL: &'static [(Self, &'static str)];
    /// The noun for the words in messages.
    const WHAT: &'static str;
    /// The values that a description declares, which are `Named` and their number.
    const NAMED: Option<fn(u8) -> Self>;
}

macro_rules! words {
    (@named) => { None };
    (@named $type:ident $named:ident) => { Some($type::$named) };
    ($type:ident $(/ $named:ident)?, $what:literal: $($variant:ident = $word:literal,)*) => {
        impl Word for $type {
            const ALL: &'static [($type, &'static str)] = &[$(($type::$variant, $word),)*];
            const WHAT: &'static str = $what;
            const NAMED: Option<fn(u8) -> $type> = words!(@named $($type $named)?);
        }

        impl Spelled for $type {
            fn word(self) -> Cow<'static, str> {
                match self {
                    $($type::$variant => Cow::Borrowed($word),)*
                    $($type::$named(number) => Cow::Owned(format!("{NAMED}{number}")),)?
                }
            }
        }
    };
}

const NAMED: &str = "Named";

/// The word; a match without a rest, so that a new variant is noticed.
pub(super) trait Spelled {
    fn word(self) -> Cow<'static, str>;
}

words! { BlockRole, "a role of a block":
    Parser = "Parser",
    VerifyChecksum = "VerifyChecksum",
    Ingress = "Ingress",
    Egress = "Egress",
    ComputeChecksum = "ComputeChecksum",
    Deparser = "Deparser",
    Accelerator = "Accelerator",
}

words! { ParamRole / Named, "a role of a parameter":
    Packet = "Packet",
    Headers = "Headers",
    Metadata = "Metadata",
    StandardMetadata = "StandardMetadata",
    OutputMetadata = "OutputMetadata",
    Accept = "Accept",
    RunningLength = "RunningLength",
    ParserInput = "ParserInput",
    Decisions = "Decisions",
    Own = "Own",
}

words! { FieldRole / Named, "a role of a field":
    IngressPort = "IngressPort",
    EgressSpec = "EgressSpec",
    EgressPort = "EgressPort",
    InstanceType = "InstanceType",
    PacketLength = "PacketLength",
    EnqueueTimestamp = "EnqueueTimestamp",
    EnqueueDepth = "EnqueueDepth",
    DequeueTimeDelta = "DequeueTimeDelta",
    DequeueDepth = "DequeueDepth",
    IngressTimestamp = "IngressTimestamp",
    EgressTimestamp = "EgressTimestamp",
    MulticastGroup = "MulticastGroup",
    EgressInstance = "EgressInstance",
    ChecksumError = "ChecksumError",
    ParserError = "ParserError",
    Priority = "Priority",
    OutputAction = "OutputAction",
    OutputPort = "OutputPort",
}

words! { MatchKind, "a match kind":
    Exact = "exact",
    Lpm = "lpm",
    Ternary = "ternary",
    Range = "range",
    Optional = "optional",
    Selector = "selector",
}

words! { StructKind, "a kind of struct":
    Struct = "struct",
    Header = "header",
    Union = "union",
}

words! { ProcedureKind, "a kind of procedure":
    Action = "action",
    Function = "function",
    Control = "control",
    Parser = "parser",
}

// Longer ones first: the parser takes the first that fits.
words! { BinaryOp, "an operator":
    SatAdd = "|+|",
    SatSub = "|-|",
    Concat = "++",
    Shl = "<<",
    Shr = ">>",
    Eq = "==",
    Ne = "!=",
    Le = "<=",
    Ge = ">=",
    And = "&&",
    Or = "||",
    Add = "+",
    Sub = "-",
    Mul = "*",
    Div = "/",
    Mod = "%",
    BitAnd = "&",
    BitOr = "|",
    BitXor = "^",
    Lt = "<",
    Gt = ">",
}

pub(super) fn from_word<T: Word>(word: &str) -> Option<T> {
    let known = T::ALL.iter().find(|(_, w)| *w == word).map(|(value, _)| *value);
    known.or_else(|| Some(T::NAMED?(word.strip_prefix(NAMED)?.parse().ok()?)))
}
