//! Adapter for backends that call externs by value.

use crate::calls::calls_of;
use crate::packet::{PACKET_BYTES_MAX, PacketView};
use crate::session::{Ended, OpenError, Session};
use crate::set::{BindError, ExternSet};
use crate::signature::{Arg, Signature, Value};
use crate::values::{decode, encode};
use ir::{Bits, Program};
use smol_str::SmolStr;
use std::sync::{Arc, Mutex, PoisonError};
use target::{ExternArgs, ExternEnd, StopReason, UserExtern};

/// Headroom before packets, equal to that of the other backends.
const HEADROOM_BYTES: usize = 256;

/// Errors of [`supply`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SupplyError {
    #[error(transparent)]
    Bind(#[from] BindError),
    #[error(transparent)]
    Open(#[from] OpenError),
}

/// State that the functions of a program share.
struct Shared {
    session: Session,
    /// Signatures, indexed by the number of the call in the session.
    calls: Vec<Signature>,
    /// Arguments of the present call.
    args: Vec<u8>,
    result: Vec<u8>,
    packet: Vec<u8>,
}

/// Passes the externs of the program to `to`, by name.
pub fn supply(
    set: &ExternSet,
    program: &Program,
    to: &mut dyn FnMut(SmolStr, UserExtern),
) -> Result<(), SupplyError> {
    let calls = calls_of(program);
    set.check_complete(&calls)?;
    let bound = Arc::new(set.bind(&calls)?);
    let mut names: Vec<SmolStr> = Vec::new();
    for (number, call) in calls.iter().enumerate() {
        if bound.has(number) && !names.contains(&call.name) {
            names.push(call.name.clone());
        }
    }
    let session = Session::open(bound, 0)?;
    let shared = Shared { session, calls, args: Vec::new(), result: Vec::new(), packet: Vec::new() };
    let shared = Arc::new(Mutex::new(shared));
    for name in names {
        let (shared, its) = (Arc::clone(&shared), name.clone());
        let function = move |args: &mut dyn ExternArgs| {
            shared.lock().unwrap_or_else(PoisonError::into_inner).call(&its, args)
        };
        to(name, Box::new(function));
    }
    Ok(())
}

impl Shared {
    fn call(&mut self, name: &str, access: &mut dyn ExternArgs) -> ExternEnd {
        let fits = |call: &Signature| call.name == name && is_of(call, access);
        let Some((number, call)) = self.calls.iter().enumerate().find(|(_, call)| fits(call)) else {
            return ExternEnd::Stop(StopReason::Extern("extern_not_supplied".into()));
        };
        self.args.clear();
        self.args.resize(call.args_bytes as usize, 0);
        for (i, arg) in call.args.iter().enumerate() {
            for (value, content) in arg.values().iter().zip(access.values(i)) {
                encode(&value.into(), &content, &mut self.args);
            }
        }
        self.result.clear();
        self.result.resize(call.result.map_or(0, |value| value.size_bytes as usize), 0);
        if let Some(result) = &call.result {
            encode(&result.into(), &access.result(), &mut self.result);
        }
        let parts = access.packet();
        let (length, payload_at, ingress_port) = (parts.bytes.len(), parts.payload_at, parts.ingress_port);
        self.packet.clear();
        self.packet.resize(HEADROOM_BYTES, 0);
        self.packet.extend_from_slice(parts.bytes);
        self.packet.resize(HEADROOM_BYTES + length.max(PACKET_BYTES_MAX), 0);
        let mut view =
            PacketView { storage: &mut self.packet, start: HEADROOM_BYTES, length, payload_at, ingress_port };
        let now_ns = access.now_ns();
        let ended = self.session.call(number, &mut self.args, &mut self.result, &mut view, now_ns);
        access.set_payload(view.bytes().get(view.payload_at..).unwrap_or_default());
        for (i, arg) in call.args.iter().enumerate() {
            if let Arg::InOut(values) = arg {
                let values: Vec<Bits> =
                    values.iter().map(|value| decode(&value.into(), &self.args)).collect();
                access.set(i, &values);
            }
        }
        if let Some(result) = &call.result {
            access.set_result(&decode(&result.into(), &self.result));
        }
        match ended {
            Ended::Next => ExternEnd::Next,
            Ended::Stop(name) => ExternEnd::Stop(StopReason::Extern(name)),
            Ended::NotBound => ExternEnd::Stop(StopReason::Extern("extern_not_supplied".into())),
        }
    }
}

/// Returns whether the present call has this signature.
fn is_of(call: &Signature, access: &dyn ExternArgs) -> bool {
    let fits = |value: &Value, content: &Bits| match value.is_varbit {
        true => content.width() <= value.width_bits,
        false => content.width() == value.width_bits,
    };
    let is_arg = |(i, arg): (usize, &Arg)| match arg {
        Arg::Text(text) => access.text(i) == Some(text),
        Arg::Absent => access.is_absent(i),
        Arg::In(values) | Arg::InOut(values) => {
            let contents = access.values(i);
            contents.len() == values.len() && values.iter().zip(&contents).all(|(v, c)| fits(v, c))
        }
    };
    call.object == access.object() && call.args.iter().enumerate().all(is_arg)
}
