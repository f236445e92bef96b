//! Limits that keep hostile input from exhausting time and memory. Each is reported when hit.

/// Tokens of a program after preprocessing.
pub const TOKENS_MAX: usize = 4_000_000;
/// Nesting of `#include`.
pub const INCLUDE_DEPTH_MAX: usize = 64;
/// Files included in all.
pub const INCLUDES_MAX: usize = 4096;
/// Tokens that macro expansion may produce in all.
pub const EXPANSION_TOKENS_MAX: usize = 4_000_000;
/// Bytes of one file.
pub const FILE_BYTES_MAX: usize = 256 << 20;
/// Digits of an integer literal.
pub const INT_DIGITS_MAX: usize = 10_000;
/// Syntax errors reported before parsing gives up.
pub const SYNTAX_ERRORS_MAX: usize = 100;
/// Errors, and likewise warnings, that the preprocessor reports.
pub const PREPROCESSOR_MESSAGES_MAX: usize = 1000;
