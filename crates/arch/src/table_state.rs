//! Tables with state: the functions and properties that programs of every architecture may use (PNA 0.7, "Tables with
//! add-on-miss" and "Table entry timeout notification").
//!
//! They belong to tables and not to one architecture. PNA declares the functions itself; other programs include
//! `siding_state.p4`.

use crate::ExternOp;

/// The table adds entries for keys that it misses.
pub const ADD_ON_MISS: &str = "add_on_miss";
/// Entries whose time is over are removed.
pub const AUTO_DELETE: &str = "idle_timeout_with_auto_delete";
/// The profile of the timeout of entries for which `add_entry` names none.
pub const DEFAULT_PROFILE: &str = "default_idle_timeout_for_data_plane_added_entries";
/// The member of an enumeration of timeouts that says the same as [`AUTO_DELETE`].
pub const AUTO_DELETE_MEMBER: &str = "AUTO_DELETE";

/// Entries of a table with [`ADD_ON_MISS`] that does not say how many it may have, or says 0.
pub const SIZE_DEFAULT: u64 = 1 << 16;

/// The annotation of a table that says what happens when a packet adds an entry and the table is full.
pub const WHEN_FULL: &str = "siding_full";

/// The annotation of an action that says how workers keep its changes of an entry apart.
pub const SYNC: &str = "siding_sync";

/// The registers of which each entry of the table has a cell.
pub const REGISTERS: &str = "registers";

/// The type of these registers.
pub const DIRECT_REGISTER: &str = "DirectRegister";

/// The properties of tables with state.
pub const PROPERTIES: [&str; 4] = [ADD_ON_MISS, AUTO_DELETE, DEFAULT_PROFILE, REGISTERS];

/// The operation of a function of tables with state.
pub fn function(name: &str) -> Option<ExternOp> {
    Some(match name {
        "add_entry" => ExternOp::AddEntry,
        "add_entry_if" => ExternOp::AddEntryIf,
        "restart_expire_timer" => ExternOp::RestartTimer,
        "set_entry_expire_time" => ExternOp::SetTimer,
        "set_entry_expire_time_if" => ExternOp::SetTimerIf,
        "update_expire_info" => ExternOp::UpdateTimer,
        "allocate_flow_id" => ExternOp::AllocateFlowId,
        _ => return None,
    })
}

/// The operation of a method of an extern type of tables with state.
pub fn method(object: &str, method: &str) -> Option<ExternOp> {
    match (object, method) {
        (DIRECT_REGISTER, "read") => Some(ExternOp::DirectRegisterRead),
        (DIRECT_REGISTER, "write") => Some(ExternOp::DirectRegisterWrite),
        _ => None,
    }
}
