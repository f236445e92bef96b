//! The two sides of a network card: ports of the network and ports of the host (PNA 0.7, "Packet paths").

use crate::{ExternEnd, UserExtern};
use ir::Bits;
use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError, RwLock};

/// The ports at the side of the host, shared by a switch and the externs of its program.
#[derive(Clone, Debug, Default)]
pub(super) struct Sides(Arc<RwLock<BTreeSet<u32>>>);

impl Sides {
    pub(super) fn new(host_ports: &BTreeSet<u32>) -> Sides {
        Sides(Arc::new(RwLock::new(host_ports.clone())))
    }

    pub(super) fn is_host_port(&self, port: u32) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).contains(&port)
    }

    pub(super) fn set(&self, port: u32, is_host_port: bool) {
        let mut ports = self.0.write().unwrap_or_else(PoisonError::into_inner);
        match is_host_port {
            true => ports.insert(port),
            false => ports.remove(&port),
        };
    }

    /// An extern function that is true for the ports of one side.
    pub(super) fn function(&self, wants_host: bool) -> UserExtern {
        let sides = self.clone();
        Box::new(move |args| {
            let port = args.number(0).and_then(|port| u32::try_from(port).ok());
            let is_host = port.is_some_and(|port| sides.is_host_port(port));
            args.set_result(&Bits::new(1, u128::from(is_host == wants_host)));
            ExternEnd::Next
        })
    }
}
