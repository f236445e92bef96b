//! Mirrors of `rt/siding_extern.h`, where the meaning of every field is written.

use std::ffi::{c_char, c_void};
use std::mem::offset_of;

/// Twin of `SIDING_EXTERN_ABI_VERSION`.
pub const VERSION: u32 = 1;

/// Name of the symbol that a library exports.
pub const SYMBOL: &[u8] = b"siding_extern_library\0";

/// `SIDING_IN` and the other directions.
pub mod direction {
    pub const IN: u32 = 0;
    pub const INOUT: u32 = 1;
    pub const TEXT: u32 = 2;
    pub const ABSENT: u32 = 3;
}

/// `enum siding_status`
pub mod status {
    pub const OK: u32 = 0;
    pub const DROP: u32 = 1;
}

/// `enum siding_packet_use`
pub mod packet_use {
    pub const UNUSED: u32 = 0;
    pub const READ: u32 = 1;
    pub const CHANGED: u32 = 2;
}

pub const NO_OBJECT: u32 = u32::MAX;

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Value {
    pub offset: u32,
    pub size_bytes: u32,
    pub width_bits: u32,
    pub is_varbit: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Arg {
    pub direction: u32,
    pub n_values: u32,
    pub values: *const Value,
    pub text: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Signature {
    pub name: *const c_char,
    pub object: u32,
    pub n_args: u32,
    pub args: *const Arg,
    pub args_bytes: u32,
    pub result: Value,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    pub data: *mut u8,
    pub length_bytes: u32,
    pub headroom_bytes: u32,
    pub tailroom_bytes: u32,
    pub payload_at: u32,
    pub ingress_port: u32,
    pub reserved: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Call {
    pub state: *mut c_void,
    pub args: *mut u8,
    pub result: *mut u8,
    pub packet: *mut Packet,
    pub signature: *const Signature,
    pub now_ns: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Opening {
    pub signature: *const Signature,
    pub option: *const c_char,
    pub message: *mut c_char,
    pub message_bytes: u32,
    pub thread: u32,
}

pub type Open = unsafe extern "C" fn(*const Opening) -> *mut c_void;
pub type Close = unsafe extern "C" fn(*mut c_void);
pub type Run = unsafe extern "C" fn(*mut Call) -> u32;
pub type RunBatch = unsafe extern "C" fn(*mut Call, *mut u32, u32);

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Extern {
    pub name: *const c_char,
    pub declaration: *const c_char,
    pub packet: u32,
    pub reserved: u32,
    pub open: Option<Open>,
    pub close: Option<Close>,
    pub run: Option<Run>,
    pub run_batch: Option<RunBatch>,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ExternLibrary {
    pub abi_version: u32,
    pub n_externs: u32,
    pub externs: *const Extern,
}

macro_rules! layouts {
    ($($c:literal $name:ident { $($field:ident),* })*) => {
        /// Layout of each mirror: its name in C, its size, and the offsets of its fields.
        pub const LAYOUTS: &[(&str, usize, &[(&str, usize)])] = &[
            $(($c, size_of::<$name>(), &[$((stringify!($field), offset_of!($name, $field))),*]),)*
        ];
    };
}

layouts! {
    "siding_value" Value { offset, size_bytes, width_bits, is_varbit }
    "siding_arg" Arg { direction, n_values, values, text }
    "siding_signature" Signature { name, object, n_args, args, args_bytes, result }
    "siding_packet" Packet { data, length_bytes, headroom_bytes, tailroom_bytes, payload_at, ingress_port, reserved }
    "siding_call" Call { state, args, result, packet, signature, now_ns }
    "siding_opening" Opening { signature, option, message, message_bytes, thread }
    "siding_extern" Extern { name, declaration, packet, reserved, open, close, run, run_batch }
    "siding_extern_library" ExternLibrary { abi_version, n_externs, externs }
}

const _: () = assert!(size_of::<Value>() == 16 && size_of::<Arg>() == 24 && size_of::<Signature>() == 48);
const _: () = assert!(size_of::<Packet>() == 32 && size_of::<Call>() == 48 && size_of::<Opening>() == 32);
const _: () = assert!(size_of::<Extern>() == 56 && size_of::<ExternLibrary>() == 16);
