//! The seam between programs and the extern functions that users supply.

use crate::StopReason;
use ir::Bits;

/// A function or method that the program declares and a user supplies.
pub type UserExtern = Box<dyn FnMut(&mut dyn ExternArgs) -> ExternEnd + Send>;

/// How an extern call ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExternEnd {
    Next,
    /// The packet goes no further.
    Stop(StopReason),
}

/// The arguments, result and packet of an extern call. Arguments are counted from 0. Reading an argument that does
/// not exist or is of another kind returns nothing, and assigning it has no effect.
pub trait ExternArgs {
    /// An `in` argument of a single value.
    fn value(&self, arg: usize) -> Option<Bits>;

    /// Returns an `in` argument as a number; larger values become [`u64::MAX`].
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

    /// Returns the current value of the result.
    fn result(&self) -> Bits;

    /// Sets the result; a value of another width is cut or extended by zeros.
    fn set_result(&mut self, value: &Bits);

    fn now_ns(&self) -> u64;

    /// Bytes of the packet as it arrived.
    fn packet_length(&self) -> u64;

    /// Returns the object's number if the call is to a method.
    fn object(&self) -> Option<u32> {
        None
    }

    /// The packet as it is; empty if the backend does not show it.
    fn packet(&self) -> PacketParts<'_> {
        PacketParts::default()
    }

    /// Other bytes instead of those that the parser has not read; without effect where the packet is not shown.
    fn set_payload(&mut self, payload: &[u8]) {
        let _ = payload;
    }
}

/// A packet that externs see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketParts<'a> {
    pub bytes: &'a [u8],
    /// Offset of the payload, the bytes that the parser has not read.
    pub payload_at: usize,
    pub ingress_port: u32,
}
