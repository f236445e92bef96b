//! Errors as gRPC carries them.

use crate::device::ConfigFault;
use control::session::SessionFault;
use control::{Code, Fault};
use prost::Message;
use tonic::Status;

pub(crate) fn code(code: Code) -> tonic::Code {
    tonic::Code::from_i32(code.number())
}

pub(crate) fn session(fault: &SessionFault) -> Status {
    Status::new(code(fault.code()), fault.to_string())
}

pub(crate) fn config(fault: &ConfigFault) -> Status {
    Status::new(code(fault.code), fault.message.clone())
}

/// A request as a whole that is refused: no details.
pub(crate) fn request(fault: &Fault) -> Status {
    Status::new(code(fault.code()), fault.to_string())
}

/// The status of a request of several parts: `None` if all went well, else `UNKNOWN` with one `p4.v1.Error` for each.
pub(crate) fn parts<T>(results: &[Result<T, Fault>]) -> Option<Status> {
    let status = p4runtime::shortened(p4runtime::status(results)?, p4runtime::STATUS_BYTES_MAX);
    Some(Status::with_details(tonic::Code::Unknown, status.message.clone(), status.encode_to_vec().into()))
}
