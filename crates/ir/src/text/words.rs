//! The words of the text form for what other crates enumerate.

use crate::{BinaryOp, MatchKind, ProcedureKind, StructKind};
use arch::{BlockRole, FieldRole, ParamRole};

/// Values that have a word.
pub(super) trait Word: Copy + 'static {
    const ALL: &'static [(Self, &'static str)];
    /// The noun for the words in messages.
    const WHAT: &'static str;
}

macro_rules! words {
    ($type:ident, $what:literal: $($variant:ident = $word:literal,)*) => {
        impl Word for $type {
            const ALL: &'static [($type, &'static str)] = &[$(($type::$variant, $word),)*];
            const WHAT: &'static str = $what;
        }

        impl Spelled for $type {
            fn word(self) -> &'static str {
                match self {
                    $($type::$variant => $word,)*
                }
            }
        }
    };
}

/// The word; a match without a rest, so that a new variant is noticed.
pub(super) trait Spelled {
    fn word(self) -> &'static str;
}

words! { BlockRole, "a role of a block":
    Parser = "Parser",
    VerifyChecksum = "VerifyChecksum",
    Ingress = "Ingress",
    Egress = "Egress",
    ComputeChecksum = "ComputeChecksum",
    Deparser = "Deparser",
}

words! { ParamRole, "a role of a parameter":
    Packet = "Packet",
    Headers = "Headers",
    Metadata = "Metadata",
    StandardMetadata = "StandardMetadata",
    OutputMetadata = "OutputMetadata",
    Accept = "Accept",
    RunningLength = "RunningLength",
    ParserInput = "ParserInput",
    PreHeaders = "PreHeaders",
    PreMetadata = "PreMetadata",
    PreInput = "PreInput",
    PreOutput = "PreOutput",
    Own = "Own",
}

words! { FieldRole, "a role of a field":
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
    T::ALL.iter().find(|(_, w)| *w == word).map(|(value, _)| *value)
}
