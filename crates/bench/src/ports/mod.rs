//! Benchmarks through real ports: a switch in a process of its own between a generator and a sink.
//!
//! [`Place`] names the ports of both sides and makes interfaces; [`Pair`] is the side of generator and sink; [`Running`] holds
//! the processes of what is measured; [`OwnSwitch`] starts this program's switch.

mod own_switch;
mod pair;
mod place;
mod process;

pub use own_switch::OwnSwitch;
pub use pair::Pair;
pub use place::Place;
pub use process::{Running, write};
