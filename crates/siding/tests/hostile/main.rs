//! Hostile input: whatever a file holds, the commands end soon, in little memory, with an exit code that is
//! meant for programs. `SIDING_HOSTILE=1` prints what each input cost.

mod bulk;
mod nesting;
mod numbers;
mod preprocessing;
mod run;
mod truncation;
mod types;
