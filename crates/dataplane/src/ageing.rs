//! Entries that no packet has hit for as long as they say.
//!
//! They stay: what becomes of them is the controller's matter (P4Runtime, "Idle-timeout").

use crate::plane::RunningProgram;
use control::{Entity, Extras};
use target::Store;

/// Entries whose time is over since this was asked last. Costs nothing for programs without idle timeouts, and little
/// while none is over.
pub(crate) fn take_expired(generation: &mut RunningProgram, now_ns: u64) -> Vec<Entity> {
    if !generation.schema().tables.iter().any(|table| table.has_idle_timeout) {
        return Vec::new();
    }
    let expired = generation.control.take_expired(now_ns);
    if expired.is_empty() {
        return Vec::new();
    }
    let extras = Extras { time_since_last_hit: true, ..Extras::default() };
    let tables = generation.entities.names().tables.clone();
    let target = generation.at(now_ns);
    let entry = |(in_ir, handle)| {
        let (table, _) = tables.iter().find(|(_, id)| **id == in_ir)?;
        // One that was deleted meanwhile is nobody's matter any more. Those of packets have the time of a profile.
        let entry = target.entry(*table, handle, extras)?;
        (entry.idle_timeout_ns > 0 || entry.is_of_packet).then_some(entry)
    };
    expired.into_iter().filter_map(entry).map(Entity::TableEntry).collect()
}
