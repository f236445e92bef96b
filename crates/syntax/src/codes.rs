//! Codes of the messages of this crate. P0001 to P0099: characters, tokens, preprocessor, formatter.
//! P0100 to P0199: grammar.

use diagnostics::{Code, CodeInfo, Severity};

pub static UNKNOWN_CHARACTER: CodeInfo = CodeInfo {
    id: "P0001",
    name: "unknown-character",
    default_severity: Severity::Error,
    summary: "a character that begins no token",
};
pub static UNTERMINATED_COMMENT: CodeInfo = CodeInfo {
    id: "P0002",
    name: "unterminated-comment",
    default_severity: Severity::Error,
    summary: "a `/*` without `*/`",
};
pub static UNTERMINATED_STRING: CodeInfo = CodeInfo {
    id: "P0003",
    name: "unterminated-string",
    default_severity: Severity::Error,
    summary: "a string without closing quote",
};
pub static MALFORMED_INTEGER: CodeInfo = CodeInfo {
    id: "P0004",
    name: "malformed-integer",
    default_severity: Severity::Error,
    summary: "an integer literal with wrong digits",
};
pub static SOURCE_TOO_LARGE: CodeInfo = CodeInfo {
    id: "P0005",
    name: "source-too-large",
    default_severity: Severity::Error,
    summary: "more source text than can be handled",
};
pub static TOO_MANY_TOKENS: CodeInfo = CodeInfo {
    id: "P0006",
    name: "too-many-tokens",
    default_severity: Severity::Error,
    summary: "a program of too many tokens",
};
pub static INCLUDE_NOT_FOUND: CodeInfo = CodeInfo {
    id: "P0010",
    name: "include-not-found",
    default_severity: Severity::Error,
    summary: "an included file that does not exist",
};
pub static INCLUDE_SYNTAX: CodeInfo = CodeInfo {
    id: "P0011",
    name: "include-syntax",
    default_severity: Severity::Error,
    summary: "`#include` without a file name",
};
pub static INCLUDE_DEPTH: CodeInfo = CodeInfo {
    id: "P0012",
    name: "include-depth",
    default_severity: Severity::Error,
    summary: "files that include each other without end",
};
pub static TOO_MANY_INCLUDES: CodeInfo = CodeInfo {
    id: "P0013",
    name: "too-many-includes",
    default_severity: Severity::Error,
    summary: "too many files included",
};
pub static INCLUDE_UNREADABLE: CodeInfo = CodeInfo {
    id: "P0014",
    name: "include-unreadable",
    default_severity: Severity::Error,
    summary: "an included file that cannot be read",
};
pub static MACRO_SYNTAX: CodeInfo = CodeInfo {
    id: "P0020",
    name: "macro-syntax",
    default_severity: Severity::Error,
    summary: "a macro definition that is not well-formed",
};
pub static MACRO_REDEFINED: CodeInfo = CodeInfo {
    id: "P0021",
    name: "macro-redefined",
    default_severity: Severity::Warning,
    summary: "a macro defined again with another meaning",
};
pub static MACRO_ARGUMENTS: CodeInfo = CodeInfo {
    id: "P0022",
    name: "macro-arguments",
    default_severity: Severity::Error,
    summary: "wrong number of arguments to a macro",
};
pub static MACRO_UNTERMINATED: CodeInfo = CodeInfo {
    id: "P0023",
    name: "macro-unterminated",
    default_severity: Severity::Error,
    summary: "a use of a macro without closing parenthesis",
};
pub static MACRO_PASTE: CodeInfo = CodeInfo {
    id: "P0024",
    name: "macro-paste",
    default_severity: Severity::Error,
    summary: "`##` of things that do not make one token",
};
pub static MACRO_LIMIT: CodeInfo = CodeInfo {
    id: "P0025",
    name: "macro-limit",
    default_severity: Severity::Error,
    summary: "macros that expand to too many tokens",
};
pub static CONDITION_SYNTAX: CodeInfo = CodeInfo {
    id: "P0030",
    name: "condition-syntax",
    default_severity: Severity::Error,
    summary: "a condition of `#if` that cannot be evaluated",
};
pub static CONDITION_UNBALANCED: CodeInfo = CodeInfo {
    id: "P0031",
    name: "condition-unbalanced",
    default_severity: Severity::Error,
    summary: "`#else`, `#elif` or `#endif` without `#if`",
};
pub static CONDITION_UNTERMINATED: CodeInfo = CodeInfo {
    id: "P0032",
    name: "condition-unterminated",
    default_severity: Severity::Error,
    summary: "`#if` without `#endif`",
};
pub static USER_ERROR: CodeInfo = CodeInfo {
    id: "P0040",
    name: "user-error",
    default_severity: Severity::Error,
    summary: "an `#error` directive",
};
pub static USER_WARNING: CodeInfo = CodeInfo {
    id: "P0041",
    name: "user-warning",
    default_severity: Severity::Warning,
    summary: "a `#warning` directive",
};
pub static UNKNOWN_DIRECTIVE: CodeInfo = CodeInfo {
    id: "P0042",
    name: "unknown-directive",
    default_severity: Severity::Warning,
    summary: "a line that begins with `#` but is no directive",
};
pub static DIRECTIVE_EXTRA: CodeInfo = CodeInfo {
    id: "P0043",
    name: "directive-extra",
    default_severity: Severity::Warning,
    summary: "text after the end of a directive",
};
pub static LINE_SYNTAX: CodeInfo = CodeInfo {
    id: "P0044",
    name: "line-syntax",
    default_severity: Severity::Error,
    summary: "`#line` without a line number",
};
pub static FORMAT_INTERNAL: CodeInfo = CodeInfo {
    id: "P0090",
    name: "format-internal",
    default_severity: Severity::Error,
    summary: "a fault of the formatter itself; the text is left as it was",
};
pub static UNEXPECTED_TOKEN: CodeInfo = CodeInfo {
    id: "P0100",
    name: "unexpected-token",
    default_severity: Severity::Error,
    summary: "a token where the grammar wants another one",
};
pub static MISSING_SEMICOLON: CodeInfo = CodeInfo {
    id: "P0101",
    name: "missing-semicolon",
    default_severity: Severity::Error,
    summary: "a statement or declaration without its `;`",
};
pub static UNCLOSED: CodeInfo = CodeInfo {
    id: "P0102",
    name: "unclosed-bracket",
    default_severity: Severity::Error,
    summary: "a bracket or brace that is not closed",
};
pub static UNMATCHED_BRACE: CodeInfo = CodeInfo {
    id: "P0103",
    name: "unmatched-brace",
    default_severity: Severity::Error,
    summary: "a `}` that closes nothing",
};
pub static EXPECTED_EXPRESSION: CodeInfo = CodeInfo {
    id: "P0104",
    name: "expected-expression",
    default_severity: Severity::Error,
    summary: "no expression where one must stand",
};
pub static EXPECTED_DECLARATION: CodeInfo = CodeInfo {
    id: "P0105",
    name: "expected-declaration",
    default_severity: Severity::Error,
    summary: "something that begins no declaration",
};
pub static EXPECTED_TYPE: CodeInfo = CodeInfo {
    id: "P0106",
    name: "expected-type",
    default_severity: Severity::Error,
    summary: "no type where one must stand",
};
pub static NOT_A_NAME: CodeInfo = CodeInfo {
    id: "P0107",
    name: "not-a-name",
    default_severity: Severity::Error,
    summary: "a keyword or `_` as a name",
};
pub static MISSPELT_KEYWORD: CodeInfo = CodeInfo {
    id: "P0108",
    name: "misspelt-keyword",
    default_severity: Severity::Error,
    summary: "an unknown word in the place of a keyword",
};
pub static FOREIGN_SYNTAX: CodeInfo = CodeInfo {
    id: "P0109",
    name: "foreign-syntax",
    default_severity: Severity::Error,
    summary: "syntax of another language",
};
pub static MISPLACED: CodeInfo = CodeInfo {
    id: "P0110",
    name: "misplaced",
    default_severity: Severity::Error,
    summary: "a declaration or statement where it cannot stand",
};
pub static MISPLACED_WILDCARD: CodeInfo = CodeInfo {
    id: "P0111",
    name: "misplaced-wildcard",
    default_severity: Severity::Error,
    summary: "`_` or `default` as a value",
};
pub static NO_EFFECT: CodeInfo = CodeInfo {
    id: "P0112",
    name: "expression-statement",
    default_severity: Severity::Error,
    summary: "an expression in the place of a statement",
};
pub static NOT_AN_LVALUE: CodeInfo = CodeInfo {
    id: "P0113",
    name: "not-an-lvalue",
    default_severity: Severity::Error,
    summary: "something that cannot be assigned to or called",
};
pub static EMPTY_LIST: CodeInfo = CodeInfo {
    id: "P0114",
    name: "empty-list",
    default_severity: Severity::Error,
    summary: "a list that needs at least one element",
};
pub static TRAILING_COMMA: CodeInfo = CodeInfo {
    id: "P0115",
    name: "trailing-comma",
    default_severity: Severity::Error,
    summary: "a comma after the last element where the grammar takes none",
};
pub static MIXED_ANNOTATION: CodeInfo = CodeInfo {
    id: "P0116",
    name: "mixed-annotation",
    default_severity: Severity::Error,
    summary: "an annotation with both values and pairs",
};
pub static ORDER: CodeInfo = CodeInfo {
    id: "P0117",
    name: "wrong-order",
    default_severity: Severity::Error,
    summary: "parts of a parser, state or control in the wrong order",
};
pub static MISSING_PART: CodeInfo = CodeInfo {
    id: "P0118",
    name: "missing-part",
    default_severity: Severity::Error,
    summary: "a control without `apply` or a parser without state",
};
pub static TYPE_AS_VALUE: CodeInfo = CodeInfo {
    id: "P0119",
    name: "type-as-value",
    default_severity: Severity::Error,
    summary: "a type in the place of a value",
};
pub static NOT_A_VALUE_TYPE: CodeInfo = CodeInfo {
    id: "P0120",
    name: "not-a-value-type",
    default_severity: Severity::Error,
    summary: "`void` or `_` as the type of a value",
};
pub static METHOD_HEAD: CodeInfo = CodeInfo {
    id: "P0121",
    name: "method-head",
    default_severity: Severity::Error,
    summary: "a method without return type, or a constructor with one",
};
pub static BAD_WIDTH: CodeInfo = CodeInfo {
    id: "P0122",
    name: "bad-literal-width",
    default_severity: Severity::Error,
    summary: "an integer literal of a width beyond all bounds",
};
pub static TOO_DEEP: CodeInfo = CodeInfo {
    id: "P0190",
    name: "nesting-too-deep",
    default_severity: Severity::Error,
    summary: "a program nested beyond the limit",
};
pub static TOO_MANY_ERRORS: CodeInfo = CodeInfo {
    id: "P0191",
    name: "too-many-syntax-errors",
    default_severity: Severity::Error,
    summary: "reading stopped after too many syntax errors",
};

/// All codes of this crate.
pub static ALL: &[Code] = &[
    &UNKNOWN_CHARACTER,
    &UNTERMINATED_COMMENT,
    &UNTERMINATED_STRING,
    &MALFORMED_INTEGER,
    &SOURCE_TOO_LARGE,
    &TOO_MANY_TOKENS,
    &INCLUDE_NOT_FOUND,
    &INCLUDE_SYNTAX,
    &INCLUDE_DEPTH,
    &TOO_MANY_INCLUDES,
    &INCLUDE_UNREADABLE,
    &MACRO_SYNTAX,
    &MACRO_REDEFINED,
    &MACRO_ARGUMENTS,
    &MACRO_UNTERMINATED,
    &MACRO_PASTE,
    &MACRO_LIMIT,
    &CONDITION_SYNTAX,
    &CONDITION_UNBALANCED,
    &CONDITION_UNTERMINATED,
    &USER_ERROR,
    &USER_WARNING,
    &UNKNOWN_DIRECTIVE,
    &DIRECTIVE_EXTRA,
    &LINE_SYNTAX,
    &FORMAT_INTERNAL,
    &UNEXPECTED_TOKEN,
    &MISSING_SEMICOLON,
    &UNCLOSED,
    &UNMATCHED_BRACE,
    &EXPECTED_EXPRESSION,
    &EXPECTED_DECLARATION,
    &EXPECTED_TYPE,
    &NOT_A_NAME,
    &MISSPELT_KEYWORD,
    &FOREIGN_SYNTAX,
    &MISPLACED,
    &MISPLACED_WILDCARD,
    &NO_EFFECT,
    &NOT_AN_LVALUE,
    &EMPTY_LIST,
    &TRAILING_COMMA,
    &MIXED_ANNOTATION,
    &ORDER,
    &MISSING_PART,
    &TYPE_AS_VALUE,
    &NOT_A_VALUE_TYPE,
    &METHOD_HEAD,
    &BAD_WIDTH,
    &TOO_DEEP,
    &TOO_MANY_ERRORS,
];
