//! The STF language: packets in, packets out, and what the control plane does in between.
//!
//! Key types: [`parse`] makes a [`Script`] of [`script::Command`]s from text, [`parse_short`] from what people type; [`resolve()`] makes a [`Plan`] of
//! updates and checks from it for one program; [`expect::compare`] holds the packets that were sent against the
//! expected ones, and [`expect::Fault::diagnostic`] shows a difference.
//!
//! Invariants: nothing here fails or panics, whatever the text. A line that cannot be understood is reported with
//! its place and left out; the lines after it are read all the same. Everything in a [`Plan`] has been validated.
//!
//! [`run()`] does the steps of a plan on a [`Dut`], a switch under test, and compares at the end; [`run_in_bursts`] lets
//! packets arrive together. Crate `testkit` makes a switch under test of each backend.
//!
//! Start reading at [`script`] for what there is to say, at [`mod@resolve`] for what it means.
//!
//! # The language
//!
//! The page `docs/reference/stf.md`, included here.
#![doc = include_str!("../../../docs/reference/stf.md")]

pub mod codes;
mod dut;
pub mod expect;
mod fate;
pub mod keywords;
pub mod limits;
mod parse;
pub mod resolve;
mod run;
pub mod script;

pub use dut::{Arriving, ControlOnly, Dut};
pub use fate::Fate;
pub use parse::{Parsed, is_bmv2_command, parse, parse_bmv2, parse_file, parse_short, parse_value};
pub use resolve::{ExactKeys, Plan, Step, StepKind, check_ports, resolve, resolve_with};
pub use run::{Report, run, run_in_bursts};
pub use script::{CommandKind, Form, Script};
