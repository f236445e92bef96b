//! Codes of the messages about test scripts. P2500 to P2509: the language. P2510 to P2519: packets and failed tests. P2520 to P2549: what a script says
//! about a program.

use diagnostics::{Code, CodeInfo, Severity};

pub static UNKNOWN_COMMAND: CodeInfo = CodeInfo {
    id: "P2500",
    name: "stf-unknown-command",
    default_severity: Severity::Error,
    summary: "a line of a test script that begins with no command",
};
pub static UNEXPECTED: CodeInfo = CodeInfo {
    id: "P2501",
    name: "stf-unexpected",
    default_severity: Severity::Error,
    summary: "something else than the command of a test script needs here",
};
pub static MALFORMED_NUMBER: CodeInfo = CodeInfo {
    id: "P2502",
    name: "stf-malformed-number",
    default_severity: Severity::Error,
    summary: "a number of a test script with wrong digits",
};
pub static PACKET_DATA: CodeInfo = CodeInfo {
    id: "P2503",
    name: "stf-packet-data",
    default_severity: Severity::Error,
    summary: "packet data of a test script with a character that is no hexadecimal digit",
};
pub static HALF_BYTE: CodeInfo = CodeInfo {
    id: "P2504",
    name: "stf-half-byte",
    default_severity: Severity::Error,
    summary: "a packet of a test script that ends in the middle of a byte",
};
pub static NUMBER_TOO_LARGE: CodeInfo = CodeInfo {
    id: "P2505",
    name: "stf-number-too-large",
    default_severity: Severity::Error,
    summary: "a number of a test script beyond what its place can hold",
};
pub static WILDCARD: CodeInfo = CodeInfo {
    id: "P2506",
    name: "stf-wildcard",
    default_severity: Severity::Error,
    summary: "a `*` in a number of a test script that has to be exact",
};
pub static UNTERMINATED_NAME: CodeInfo = CodeInfo {
    id: "P2507",
    name: "stf-unterminated-name",
    default_severity: Severity::Error,
    summary: "a quoted name of a test script without closing quote",
};
pub static REPEATED: CodeInfo = CodeInfo {
    id: "P2508",
    name: "stf-repeated",
    default_severity: Severity::Error,
    summary: "a key, an argument or a handle of a test script that is given twice",
};
pub static TOO_MUCH: CodeInfo = CodeInfo {
    id: "P2509",
    name: "stf-too-much",
    default_severity: Severity::Error,
    summary: "a test script that is too large or has too many faults",
};
pub static PACKET_MISSING: CodeInfo = CodeInfo {
    id: "P2510",
    name: "stf-packet-missing",
    default_severity: Severity::Error,
    summary: "a packet that a test script expects and that no port sent",
};
pub static PACKET_DIFFERS: CodeInfo = CodeInfo {
    id: "P2511",
    name: "stf-packet-differs",
    default_severity: Severity::Error,
    summary: "a packet that is not as a test script expects it",
};
pub static PACKET_UNEXPECTED: CodeInfo = CodeInfo {
    id: "P2512",
    name: "stf-packet-unexpected",
    default_severity: Severity::Error,
    summary: "a packet that a test script does not expect",
};
pub static CHECK_FAILED: CodeInfo = CodeInfo {
    id: "P2513",
    name: "stf-check-failed",
    default_severity: Severity::Error,
    summary: "a counter, register or digest that is not as a test script expects it",
};

pub static LAYERS: CodeInfo = CodeInfo {
    id: "P2514",
    name: "stf-layers",
    default_severity: Severity::Error,
    summary: "a packet of a test script whose layers or fields are wrong",
};

pub static NO_CHECK: CodeInfo = CodeInfo {
    id: "P2515",
    name: "stf-no-check",
    default_severity: Severity::Warning,
    summary: "a test script that expects nothing and compares nothing",
};

pub static UNKNOWN_NAME: CodeInfo = CodeInfo {
    id: "P2520",
    name: "stf-unknown-name",
    default_severity: Severity::Error,
    summary: "a name of a test script that the program does not have",
};
pub static AMBIGUOUS_NAME: CodeInfo = CodeInfo {
    id: "P2521",
    name: "stf-ambiguous-name",
    default_severity: Severity::Error,
    summary: "the end of a name in a test script that several names of the program have",
};
pub static MATCH_KIND: CodeInfo = CodeInfo {
    id: "P2522",
    name: "stf-match-kind",
    default_severity: Severity::Error,
    summary: "a value of a test script that a key of this match kind cannot have",
};
pub static TOO_WIDE: CodeInfo = CodeInfo {
    id: "P2523",
    name: "stf-too-wide",
    default_severity: Severity::Error,
    summary: "a value of a test script that does not fit into its place",
};
pub static ARGUMENTS: CodeInfo = CodeInfo {
    id: "P2524",
    name: "stf-arguments",
    default_severity: Severity::Error,
    summary: "an action of a test script without all of its arguments",
};
pub static UNKNOWN_HANDLE: CodeInfo = CodeInfo {
    id: "P2525",
    name: "stf-unknown-handle",
    default_severity: Severity::Error,
    summary: "a handle, node or group of a test script that was not made before",
};
pub static PRIORITY: CodeInfo = CodeInfo {
    id: "P2526",
    name: "stf-priority",
    default_severity: Severity::Error,
    summary: "an entry of a test script without a priority that it needs",
};
pub static SHORT_LITERAL: CodeInfo = CodeInfo {
    id: "P2527",
    name: "stf-short-literal",
    default_severity: Severity::Warning,
    summary: "digits of a test script that leave bits of a key open, or that lie outside of what is compared",
};
pub static UNSUPPORTED: CodeInfo = CodeInfo {
    id: "P2528",
    name: "stf-unsupported",
    default_severity: Severity::Error,
    summary: "a command of a test script that cannot be done with this object",
};
pub static REFUSED: CodeInfo = CodeInfo {
    id: "P2529",
    name: "stf-refused",
    default_severity: Severity::Error,
    summary: "an update of a test script that no control plane may make",
};
pub static NOT_AN_ENTRY: CodeInfo = CodeInfo {
    id: "P2530",
    name: "not-an-entry",
    default_severity: Severity::Warning,
    summary: "a line in a file of entries that makes none",
};
pub static PORT: CodeInfo = CodeInfo {
    id: "P2531",
    name: "stf-port",
    default_severity: Severity::Error,
    summary: "a packet of a test script that arrives at a port which no switch has",
};

pub static ALL: &[Code] = &[
    &UNKNOWN_COMMAND,
    &UNEXPECTED,
    &MALFORMED_NUMBER,
    &PACKET_DATA,
    &HALF_BYTE,
    &NUMBER_TOO_LARGE,
    &WILDCARD,
    &UNTERMINATED_NAME,
    &REPEATED,
    &TOO_MUCH,
    &PACKET_MISSING,
    &PACKET_DIFFERS,
    &PACKET_UNEXPECTED,
    &CHECK_FAILED,
    &LAYERS,
    &NO_CHECK,
    &UNKNOWN_NAME,
    &AMBIGUOUS_NAME,
    &MATCH_KIND,
    &TOO_WIDE,
    &ARGUMENTS,
    &UNKNOWN_HANDLE,
    &PRIORITY,
    &SHORT_LITERAL,
    &UNSUPPORTED,
    &REFUSED,
    &NOT_AN_ENTRY,
    &PORT,
];
