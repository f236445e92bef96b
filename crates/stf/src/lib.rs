//! The STF language.
