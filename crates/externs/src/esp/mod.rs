//! `ipsec_esp(association, ip_header)`: encrypts and decrypts whole packets with ESP (RFC 4303) and AES-GCM (RFC 4106), in
//! tunnel and in transport mode, by security associations from a file.
//!
//! Threads share the associations, because a nonce must never be used twice with a key: sequence numbers are
//! atomic, and windows against replay have a lock each.

mod associations;
mod database;
mod packet;
mod window;

use crate::call::{CallView, State, c_function, close, open};
use crate::library::{BuiltIn, PacketUse};
use crate::packet::PACKET_BYTES_MAX;
use database::{Database, Reader};
use std::sync::Arc;

pub(crate) const EXTERNS: &[BuiltIn] = &[BuiltIn {
    name: "ipsec_esp",
    declaration: "bool ipsec_esp(in bit<32> association, in bit<16> ip_header)",
    packet: PacketUse::Changed,
    open: Some(open::<Esp>),
    close: Some(close::<Esp>),
    run: run_one,
    run_batch: None,
}];

/// The state of one thread.
struct Esp {
    associations: Reader,
    /// Copy of a packet before its decryption.
    before: Vec<u8>,
}

impl State for Esp {
    /// Without a file there are no associations, so that programs with an accelerator run before there are any.
    fn open(option: Option<&str>) -> Result<Esp, String> {
        let database = match option {
            Some(path) => Database::of_file(path)?,
            None => Arc::new(Database::empty()),
        };
        Ok(Esp { associations: Reader::new(database), before: Vec::with_capacity(PACKET_BYTES_MAX) })
    }
}

c_function!(run_one, Esp, run);

fn run(esp: &mut Esp, call: &mut CallView<'_>) {
    let Ok(index) = u32::try_from(call.number(0)) else { return call.set_result(0) };
    let ip_header = call.number(1) as usize;
    let Esp { associations, before } = esp;
    let association = associations.find(index);
    let length = association.and_then(|association| {
        let payload = call.payload()?;
        packet::apply(association, payload.room, payload.length, ip_header, before)
    });
    if let Some(length) = length {
        call.set_payload_length(length);
    }
    call.set_result(u64::from(length.is_some()));
}
