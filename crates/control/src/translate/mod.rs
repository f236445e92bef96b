//! Translation between the values of controllers and those of the program (P4Runtime, "Translation of
//! Port Numbers" and "User-defined types").
//!
//! A type with `@p4runtime_translation` has other values outside than inside: numbers of another width, or strings.
//! The schema names the translation by its URI, or by the name of the type if the URI is empty.
//!
//! - [`Translator`]: one map per translation, for all programs that run one after the other;
//! - [`Rules`]: pairs of values and rules for others, from a text in TOML;
//! - [`Translated`]: a [`Target`](crate::Target) as controllers see it, around one with the program's values.
//!
//! Each map is one to one, so whatever was written comes back. Values are never forgotten: a name means the same as
//! long as the switch runs, also for its next program.
//!
//! The numbers of the program may differ from one program to the next. So [`migrate`](crate::sync::migrate) copies between two
//! [`Translated`] targets, the first of which has a clone of the translator.
//!
//! Translated are match values, action parameters, ports of replication and of groups, indices, registers, digests,
//! value sets and the metadata of packets. Not translated: entries of externs that the specification does not define.

mod inward;
mod map;
mod metadata;
mod outward;
mod places;
mod rules;
mod target;
mod translator;

pub use crate::schema::Widths;
pub use map::Others;
pub use rules::{Rule, Rules, RulesError};
pub use target::Translated;
pub use translator::{Options, TranslationError, Translator, port_translation};
