//! Limits of scripts.

/// Digits of a number; `bit<W>` is far from that wide.
pub const DIGITS_MAX: usize = 4096;

/// Faults of one script. Nobody reads on after so many, and what is no script at all would give millions.
pub const N_FAULTS_MAX: usize = 500;
