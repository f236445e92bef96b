//! Extern functions and methods by their operation, independent of their names in an architecture.

macro_rules! operations {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// The operation of an extern function or method. Arguments keep the order of the declaration.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum ExternOp {
            $($(#[$doc])* $variant,)*
        }

        impl ExternOp {
            pub const ALL: &[ExternOp] = &[$(ExternOp::$variant,)*];

            /// Returns the operation's name in the text form of the IR.
            pub fn name(self) -> &'static str {
                match self {
                    $(ExternOp::$variant => $name,)*
                }
            }
        }
    };
}

operations! {
    /// `(index, length)`; the length may be missing.
    CounterCount = "counter_count",
    /// Adds its second argument to an element.
    CounterAdd = "counter_add",
    DirectCounterCount = "direct_counter_count",
    /// `(index, out colour, colour before, length)`; the last two may be missing.
    MeterExecute = "meter_execute",
    DirectMeterRead = "direct_meter_read",
    /// `(out value, index)`
    RegisterRead = "register_read",
    /// Gives the value as its result: `(index)`.
    RegisterGet = "register_get",
    /// `(index, value)`
    RegisterWrite = "register_write",
    /// `(out result, lo, hi)`
    Random = "random",
    /// `(out result, algorithm, base, data, max)`
    Hash = "hash",
    /// `(out result, algorithm, data)`
    HashRaw = "hash_raw",
    /// `(condition, data, checksum, algorithm)`
    VerifyChecksum = "verify_checksum",
    UpdateChecksum = "update_checksum",
    VerifyChecksumWithPayload = "verify_checksum_with_payload",
    UpdateChecksumWithPayload = "update_checksum_with_payload",
    /// The internet checksum of `data` as result: `(data)`.
    Checksum16Get = "checksum16_get",
    MarkToDrop = "mark_to_drop",
    MarkToPass = "mark_to_pass",
    /// `(type, session)`
    Clone = "clone",
    /// `(type, session, index)`
    ClonePreservingFieldList = "clone_preserving_field_list",
    /// `(type, session, data)`
    CloneWithData = "clone3",
    /// `(index)`
    ResubmitPreservingFieldList = "resubmit_preserving_field_list",
    /// `(data)`
    ResubmitWithData = "resubmit",
    RecirculatePreservingFieldList = "recirculate_preserving_field_list",
    RecirculateWithData = "recirculate",
    Truncate = "truncate",
    /// `(receiver, data)`
    Digest = "digest",
    Assert = "assert",
    Assume = "assume",
    LogMessage = "log_msg",
    /// Nanoseconds since start, as result.
    TimeNanoseconds = "time_ns",
    /// `(checksum, old, new)`: RFC 1624, as result.
    ChecksumReplace2 = "csum_replace2",
    ChecksumReplace4 = "csum_replace4",
    /// The header checksum of the IPv4 fields given, as result.
    Ipv4Checksum = "ipv4_checksum",
    /// Hands the packet to a user-space reader; a result.
    PerfEventOutput = "perf_event_output",
    /// `(action of a table, data, profile of the timeout, condition)`: adds an entry with the key that the table has missed, if
    /// the condition is true. The result is the number of an `ir::Added`. In the program: `(name, data, profile)`; the profile may be
    /// missing.
    AddEntry = "add_entry",
    /// `(condition, name, data, profile)`. Elaboration makes it an `add_entry`, as the others of tables with state below make
    /// what they stand for.
    AddEntryIf = "add_entry_if",
    /// `()`: the timeout of the entry that was hit begins again.
    RestartTimer = "restart_timer",
    /// `(table, restart, set, profile)`: the timeout of the entry that was hit begins again if `restart` is true, with another
    /// profile if `set` is true as well. In the program: `(profile)`.
    SetTimer = "set_timer",
    /// `(condition, profile)`
    SetTimerIf = "set_timer_if",
    /// `(restart, set, profile)`
    UpdateTimer = "update_timer",
    /// `(action of a table, leaf of its data, value)`: changes a value in the entry that was hit, or in the default entry.
    StoreData = "store_data",
    /// `(action of a table, leaf of its data, operation, operand)`: changes a value there in one step; the new value, as result.
    UpdateData = "update_data",
    /// The value of a register in the entry whose action runs, as result. Elaboration keeps it in a variable.
    DirectRegisterRead = "direct_register_read",
    /// `(value)`: changes it.
    DirectRegisterWrite = "direct_register_write",
    /// A number that was not given before, as result; 0: there are no more.
    AllocateFlowId = "allocate_flow_id",
    /// `(direction, from the network, from the host)`, as result.
    SelectByDirection = "select_by_direction",
    /// The hash of an object with an algorithm of its own: `(data)` or `(base, data, max)`, as result. Elaboration makes it
    /// a `hash_raw` or a `hash`.
    HashOfObject = "hash_of_object",
    /// A number of an object with bounds of its own, as result. Elaboration makes it a `random`.
    RandomOfObject = "random_of_object",
    /// Methods of checksums over data in pieces. Elaboration keeps their state in variables.
    ChecksumClear = "checksum_clear",
    /// `(data)`
    ChecksumAdd = "checksum_add",
    /// `(data)`
    ChecksumSubtract = "checksum_subtract",
    /// The checksum, as result.
    ChecksumGet = "checksum_get",
    /// The state of an internet checksum, as result.
    ChecksumGetState = "checksum_get_state",
    /// `(state)`
    ChecksumSetState = "checksum_set_state",
    /// `(out hash, algorithm, hash of the data before, data)`
    HashContinue = "hash_continue",
    /// Meters of a cell with the program's own colours: `(index, colour, length)` or fewer, as result. Elaboration makes it a
    /// `meter_execute`.
    MeterColour = "meter_colour",
    /// Meters with the cell of the entry whose action runs: `(colour, length)` or fewer. Elaboration makes it a `direct_meter_execute`.
    DirectMeterColour = "direct_meter_colour",
    /// `(out colour, colour before, length)`
    DirectMeterExecute = "direct_meter_execute",
    /// Sends a message of an object: `(data)`. Elaboration makes it a `digest`.
    DigestOfObject = "digest_of_object",
    /// True for a port at the side of the network: `(port)`, as result.
    IsNetPort = "is_net_port",
    /// True for a port at the side of the host: `(port)`, as result.
    IsHostPort = "is_host_port",
    /// An extern that the architecture does not define; a library must supply it.
    User = "user",
    /// `(settings)`: begins a block that ends at the marker with the same name. Another core may run it, while this
    /// one goes on with other packets.
    AsyncBegin = "async_begin",
    AsyncEnd = "async_end",
    /// Begins a block that is one step to all other packets (P4-16, concurrency model). Only programs elaborated for
    /// analysis have it.
    AtomicBegin = "atomic_begin",
    AtomicEnd = "atomic_end",
    /// Begins a new list of emitted headers.
    EmitBegin = "emit_begin",
    /// Puts the emitted headers in front of the bytes that the parser has not read.
    Rebuild = "rebuild",
    /// The parser begins again at the packet's first byte.
    Rewind = "rewind",
}

impl ExternOp {
    pub fn from_name(name: &str) -> Option<ExternOp> {
        ExternOp::ALL.iter().copied().find(|op| op.name() == name)
    }
}

impl<'de> serde::Deserialize<'de> for ExternOp {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<ExternOp, D::Error> {
        let name = String::deserialize(from)?;
        ExternOp::from_name(&name)
            .ok_or_else(|| serde::de::Error::custom(format!("`{name}` is no operation of an extern")))
    }
}

#[cfg(test)]
mod tests {
    use super::ExternOp;

    #[test]
    fn names_are_distinct() {
        for op in ExternOp::ALL {
            assert_eq!(ExternOp::from_name(op.name()), Some(*op));
        }
    }
}
