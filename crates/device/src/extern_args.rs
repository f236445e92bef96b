//! The seam between programs and the extern functions that users supply.

use crate::StopReason;
use ir::Bits;

/// A function or method that the program declares and somebody else supplies.
pub type UserExtern = Box<dyn FnMut(&mut dyn ExternArgs) -> ExternEnd + Send>;

/// How an extern call ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExternEnd {
    Next,
    /// The packet goes no further.
    Stop(StopReason),
}

/// What a call can see and change. Arguments are counted from 0; of one that does not exist, or is of another
/// kind, there is nothing to see, and assigning it has no effect.
pub trait ExternArgs {
    /// An `in` argument of a single value.
    fn value(&self, arg: usize) -> Option<Bits>;

    /// The same as a number, as large as it can tell.
    fn number(&self, arg: usize) -> Option<u64> {
        self.value(arg).map(|v| v.to_u64().unwrap_or(u64::MAX))
    }

    /// The values of an argument: leaves of an aggregate without validity bits and indices, or a single value.
    fn values(&self, arg: usize) -> Vec<Bits>;

    fn text(&self, arg: usize) -> Option<&str>;

    /// An optional argument that was not given.
    fn is_absent(&self, arg: usize) -> bool;

    /// The width of a single value, or of the first of several; 0 when there is none.
    fn width(&self, arg: usize) -> u32;

    /// Assigns an `out` or `inout` argument: one value for each leaf, of any width (cut or extended by zeros).
    /// Validity bits and indices stay.
    fn set(&mut self, arg: usize, values: &[Bits]);

    /// The width of the result; 0 when there is none.
    fn result_width(&self) -> u32;

    /// Of any width: cut or extended by zeros.
    fn set_result(&mut self, value: &Bits);

    fn now_ns(&self) -> u64;

    /// Bytes of the packet as it arrived.
    fn packet_length(&self) -> u64;
}
