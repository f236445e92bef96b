//! Forwarding between two interfaces by an XDP program in the kernel: what AF_XDP sockets are measured against.

use super::super::interface::InterfaceControl;
use super::program::{Link, link, load, to_interface};
use crate::interface_error::{InterfaceCause, InterfaceError};

/// Two interfaces, each of which sends unchanged what the other receives. The programs come off with the value.
#[derive(Debug)]
pub struct XdpForwarder {
    _links: [Link; 2],
}

impl XdpForwarder {
    /// Attaches a program to both interfaces of the calling thread's network namespace.
    pub fn between(names: [&str; 2]) -> Result<XdpForwarder, InterfaceError> {
        let open = |name| {
            let control = InterfaceControl::new(name)?;
            let index = control.index()?.ok_or_else(|| control.not_found())?;
            Ok((control, index))
        };
        let (first, second) = (open(names[0])?, open(names[1])?);
        let attach = |(from, index): &(InterfaceControl, i32), to: i32| {
            load(&to_interface(to)).and_then(|program| link(&program, *index, false)).map_err(|error| {
                match error.raw_os_error() {
                    Some(libc::EBUSY | libc::EEXIST) => from.error(InterfaceCause::OtherXdpProgram),
                    _ => from.failed("attach the XDP program", "cap_net_admin,cap_bpf", error),
                }
            })
        };
        Ok(XdpForwarder { _links: [attach(&first, second.1)?, attach(&second, first.1)?] })
    }
}
