//! Mirrors of the structs in `rt/sd_abi.h` and `rt/worker/sd_trace.h`, which document every field.
//! A test compares [`LAYOUTS`] with the layouts of C compilers.

use std::ffi::{c_char, c_void};
use std::mem::offset_of;
use std::ptr;

/// Twin of `SD_ABI_VERSION`.
pub const VERSION: u32 = 19;

/// The symbol that a shared object exports.
pub const SYMBOL: &[u8] = b"sd_pipeline\0";

/// The symbol that traced code exports in addition.
pub const TRACE_SYMBOL: &[u8] = b"sd_trace\0";

/// `SD_REQUEST_*`
pub mod request {
    pub const CLONE: u32 = 1;
    pub const RESUBMIT: u32 = 2;
    pub const RECIRCULATE: u32 = 4;
    pub const TRUNCATE: u32 = 8;
    pub const DROP: u32 = 16;
    pub const PASS: u32 = 32;
    pub const DIGEST: u32 = 64;
}

/// `SD_END_*`
pub mod end {
    pub const DONE: u32 = 0;
    pub const STEP_BUDGET: u32 = 1;
    pub const ASSERTION_FAILED: u32 = 2;
    pub const ASSUMPTION_FAILED: u32 = 3;
    pub const EXTERN_NOT_SUPPLIED: u32 = 4;
    pub const STOPPED_BY_EXTERN: u32 = 5;
    pub const TOO_LONG: u32 = 6;
    pub const ASYNC_FULL: u32 = 7;
    /// And above: error codes.
    pub const REJECTED: u32 = 16;
}

/// `SD_VERDICT_*`
pub mod verdict {
    pub const SEND: u32 = 0;
    pub const DROP: u32 = 1;
    pub const AFTER_INGRESS: u32 = 2;
    pub const AFTER_EGRESS: u32 = 3;
    pub const NO_HEADROOM: u32 = 4;
    pub const SUSPENDED: u32 = 5;
    pub const AT_STEP: u32 = 6;
}

/// `SD_TRACE_*`
pub mod trace {
    pub const NODE: u32 = 0;
    pub const STATEMENT: u32 = 1;
    pub const TERMINATOR: u32 = 2;
    pub const LOOKUP: u32 = 3;
    pub const CALL: u32 = 4;
    /// Marks a slot that is part of the state.
    pub const IN_STATE: u32 = u32::MAX;
}

/// `SD_MATCH_*`
pub mod match_kind {
    pub const EXACT: u32 = 0;
    pub const LPM: u32 = 1;
    pub const TERNARY: u32 = 2;
    pub const RANGE: u32 = 3;
    pub const OPTIONAL: u32 = 4;
}

/// `SD_OBJECT_*`
pub mod object {
    pub const OTHER: u32 = 0;
    pub const COUNTER: u32 = 1;
    pub const METER: u32 = 2;
    pub const REGISTER: u32 = 3;
    pub const ACTION_PROFILE: u32 = 4;
    pub const ACTION_SELECTOR: u32 = 5;
}

/// `SD_OK` and what else `enum sd_status` has.
pub mod status {
    pub const OK: u32 = 0;
    pub const EXISTS: u32 = 1;
    pub const NOT_FOUND: u32 = 2;
    pub const FULL: u32 = 3;
    pub const NO_MEMORY: u32 = 4;
    pub const IN_USE: u32 = 5;
    pub const OUT_OF_RANGE: u32 = 6;
    pub const CONST: u32 = 7;
}

/// `SD_RECORD_*`
pub mod record_op {
    pub const INSERT: u32 = 0;
    pub const MODIFY: u32 = 1;
    pub const REMOVE: u32 = 2;
}

/// `SD_STRUCTURE_FLOW`
pub const STRUCTURE_FLOW: u32 = 6;

/// `SD_CONCURRENT_*`
pub mod concurrent_op {
    pub const READ: u32 = 1;
    pub const INSERT: u32 = 2;
    pub const MODIFY: u32 = 4;
    pub const REMOVE: u32 = 8;
    pub const EXPIRE: u32 = 16;
}

/// `SD_ENTRY_*`
pub mod entry {
    pub const ACTION: u32 = 0;
    pub const MEMBER: u32 = 1;
    pub const GROUP: u32 = 2;
    pub const ONE_SHOT: u32 = 3;
}

/// `enum sd_meter_type`
pub mod meter_type {
    pub const TWO_RATE_THREE_COLOUR: u32 = 0;
    pub const SINGLE_RATE_THREE_COLOUR: u32 = 1;
    pub const SINGLE_RATE_TWO_COLOUR: u32 = 2;
}

/// `SD_ARG_*`
pub mod arg {
    pub const IN: u32 = 0;
    pub const FIELDS: u32 = 1;
    pub const REF: u32 = 2;
    pub const STRING: u32 = 3;
    pub const ABSENT: u32 = 4;
}

/// `SD_DROP_*`: names as in statistics, by number.
pub const DROP_REASONS: [&str; 13] = [
    "ingress_drop",
    "egress_drop",
    "parser_rejected",
    "aborted",
    "step_budget",
    "assertion_failed",
    "assumption_failed",
    "extern_not_supplied",
    "stopped_by_extern",
    "too_long",
    "async_full",
    "packet_dropped",
    "no_destination",
];

/// `SD_DROP_STOPPED_BY_EXTERN`
pub const DROP_STOPPED_BY_EXTERN: u32 = 8;

pub const NO_FIELD_LIST: u32 = u32::MAX;
pub const NO_OBJECT: u32 = u32::MAX;
pub const NO_PORT: u32 = u32::MAX;
pub const DEFAULT_ENTRY: u64 = u64::MAX;

/// `SD_EXPIRED_ENTRY`
pub const EXPIRED_ENTRY: u64 = u64::MAX - 1;

/// Twin of `SD_NO_PART`.
pub const NO_PART: u32 = u32::MAX;
/// Writes all cells of an array.
pub const ALL_CELLS: u64 = u64::MAX;

/// An instance, known to C only.
#[repr(C)]
pub struct Instance {
    opaque: [u8; 0],
}

/// A channel between a worker and an offload worker; opaque, defined in C.
#[repr(C)]
pub struct Channel {
    opaque: [u8; 0],
}

/// `SD_ASYNC_BUCKETS`
pub const ASYNC_BUCKETS: usize = 40;

/// `enum sd_async_mode`
pub mod async_mode {
    pub const INLINE: u32 = 0;
    pub const WAIT: u32 = 1;
    pub const SUSPEND: u32 = 2;
}

/// Where `struct sd_suspended` begins, and the offset of its `point`.
pub const SUSPENDED_ALIGN: usize = 16;
pub const SUSPENDED_POINT_AT: usize = size_of::<Packet>() + 8;

/// `enum sd_async_full`
pub mod async_full {
    pub const DROP: u32 = 0;
    pub const INLINE: u32 = 1;
    pub const BACKPRESSURE: u32 = 2;
}

/// A struct's size and the offsets of its fields, under their names in C.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    pub c_name: &'static str,
    pub size: usize,
    pub align: usize,
    pub fields: &'static [(&'static str, usize)],
}

/// Structs that are laid out as in C, of the sizes that 64-bit machines give them.
macro_rules! mirrors {
    ($(
        $(#[$meta:meta])*
        struct $name:ident = $c_name:literal, $size:literal bytes {
            $( $(#[$field_meta:meta])* $field:ident: $ty:ty, )*
        }
    )*) => {
        $(
            $(#[$meta])*
            #[repr(C)]
            #[derive(Clone, Copy, Debug)]
            pub struct $name {
                $( $(#[$field_meta])* pub $field: $ty, )*
            }

            const _: () = assert!(size_of::<$name>() == $size);
        )*

        /// Layouts of all mirrors.
        pub const LAYOUTS: &[Layout] = &[
            $( Layout {
                c_name: $c_name,
                size: size_of::<$name>(),
                align: align_of::<$name>(),
                fields: &[ $( (stringify!($field), offset_of!($name, $field)), )* ],
            }, )*
        ];
    };
}

type TableGet = unsafe extern "C" fn(*mut Instance, u32, *const EntryView, *mut EntryView) -> u32;
type TableWrite = unsafe extern "C" fn(*mut Instance, u32, *const EntryView, u64, *mut u64) -> u32;
type MemberWrite = unsafe extern "C" fn(*mut Instance, u32, u32, u32, *const u8) -> u32;
type NextId = unsafe extern "C" fn(*mut Instance, u32, *mut u32) -> u32;

mirrors! {
    #[derive(PartialEq, Eq, Default)]
    struct ValueType = "sd_value_type", 16 bytes {
        offset: u32,
        size_bytes: u32,
        width_bits: u32,
        is_varbit: u32,
    }

    struct KeyType = "sd_key_type", 32 bytes {
        name: *const c_char,
        value: ValueType,
        match_kind: u32,
        is_biased: u32,
    }

    struct ActionType = "sd_action_type", 40 bytes {
        name: *const c_char,
        n_params: u32,
        params: *const ValueType,
        data_bytes: u32,
        n_sharded: u32,
        sharded: *const ValueType,
    }

    struct TableType = "sd_table_type", 128 bytes {
        name: *const c_char,
        n_keys: u32,
        keys: *const KeyType,
        key_bytes: u32,
        n_actions: u32,
        actions: *const ActionType,
        data_bytes: u32,
        size: u64,
        profile: u32,
        has_direct_counter: u32,
        direct_counter_unit: u32,
        direct_on_call: u32,
        has_direct_meter: u32,
        direct_meter_unit: u32,
        has_idle_timeout: u32,
        deletes: u32,
        evicts: u32,
        updates_data: u32,
        sharded_bytes: u32,
        restarts_on_hit: u32,
        structure: u32,
        entries_are_inline: u32,
        is_staged: u32,
        concurrent_ops: u32,
        default_action: u32,
    }

    struct ObjectType = "sd_object_type", 48 bytes {
        name: *const c_char,
        kind: u32,
        unit: u32,
        size: u64,
        cell_bytes: u32,
        n_leaves: u32,
        leaves: *const ValueType,
        data_bytes: u32,
    }

    struct ValueSetType = "sd_value_set_type", 40 bytes {
        name: *const c_char,
        n_fields: u32,
        fields: *const KeyType,
        key_bytes: u32,
        size: u64,
    }

    struct FieldType = "sd_field_type", 20 bytes {
        role: u32,
        value: ValueType,
    }

    struct BytesRange = "sd_bytes_range", 8 bytes {
        offset: u32,
        size: u32,
    }

    struct FieldListType = "sd_field_list_type", 16 bytes {
        index: u32,
        n_ranges: u32,
        ranges: *const BytesRange,
    }

    struct CallType = "sd_call_type", 48 bytes {
        name: *const c_char,
        object: u32,
        n_args: u32,
        args: *const ArgType,
        result: ValueType,
        args_bytes: u32,
    }

    struct ArgType = "sd_arg_type", 24 bytes {
        kind: u32,
        n_leaves: u32,
        leaves: *const ValueType,
        string: *const c_char,
    }

    #[derive(PartialEq, Eq, Default)]
    struct Requests = "sd_requests", 28 bytes {
        flags: u32,
        clone_kind: u32,
        clone_session: u32,
        clone_list: u32,
        resubmit_list: u32,
        recirculate_list: u32,
        truncate_bytes: u32,
    }

    struct Packet = "sd_packet", 64 bytes {
        data: *mut u8,
        length_bytes: u32,
        headroom_bytes: u32,
        tailroom_bytes: u32,
        ingress_port: u32,
        cursor_bits: u64,
        egress_port: u32,
        verdict: u32,
        drop: u32,
        arrived_ns: u64,
        token: u64,
    }

    struct HostCall = "sd_host_call", 32 bytes {
        packet: *mut Packet,
        args: *mut u8,
        result: *mut u8,
        end: u32,
        reserved: u32,
    }

    struct Host = "sd_host", 32 bytes {
        context: *mut c_void,
        call: Option<
            unsafe extern "C" fn(*mut c_void, *mut PipelineWorker, *mut Packet, u32, *mut u8, *mut u8) -> u32,
        >,
        call_batch: Option<unsafe extern "C" fn(*mut c_void, *mut PipelineWorker, u32, *mut HostCall, u32)>,
        trace: Option<
            unsafe extern "C" fn(*mut c_void, *mut PipelineWorker, *mut Packet, *mut c_void, *const TraceEvent),
        >,
    }

    struct Buffer = "sd_buffer", 16 bytes {
        bytes: *mut u8,
        length: u32,
        capacity: u32,
    }

    #[derive(PartialEq, Eq, Default)]
    struct TableCount = "sd_table_count", 16 bytes {
        n_lookups: u64,
        n_misses: u64,
    }

    struct PipelineWorker = "sd_worker", 368 bytes {
        host: *const Host,
        instance: *mut Instance,
        index: u32,
        steps_left: u32,
        now_ns: u64,
        state: *mut c_void,
        requests: Requests,
        emitted: Buffer,
        emitted_tail_bits: u32,
        direct_colours: *mut u8,
        direct: *mut c_void,
        digests: Buffer,
        scratch: Buffer,
        scratch_tail_bits: u32,
        failed: u32,
        random: [u64; 4],
        table_counts: *mut TableCount,
        burst: *mut c_void,
        kept: Buffer,
        leaving: u64,
        burst_at: u32,
        n_burst_left: u32,
        async_ways: *mut OffloadPolicy,
        may_suspend: u32,
        suspended: *mut c_void,
        burst_since: u64,
        block_since: u64,
        n_bursts_until_look: u32,
        trial_point: u32,
        trial_phase: u32,
        n_trial_bursts: u32,
        trial_since: u64,
        trial_cycles: [u64; 2],
        n_trial_packets: [u64; 2],
        n_trial_blocks: u64,
        seen: *mut u64,
        epoch: *const u64,
        port_flags: *const u8,
        n_port_flags: u32,
    }

    struct OffloadPolicy = "sd_offload_policy", 1080 bytes {
        channel: *mut Channel,
        mode: u32,
        full: u32,
        capacity: u32,
        n_in_flight: u32,
        n_waiting: u32,
        batch: u32,
        fetches_packets: u32,
        reserved: u32,
        waiting: [*mut c_void; 32],
        n_here: u64,
        n_no_room: u64,
        n_full: u64,
        n_sent: u64,
        n_waited: u64,
        n_done: u64,
        n_dropped: u64,
        waited_cycles: u64,
        waited: [u64; ASYNC_BUCKETS],
        n_served: u64,
        served_cycles: u64,
        served: [u64; ASYNC_BUCKETS],
        n_batches: u64,
        n_batched: u64,
        choice: AsyncChoice,
    }

    #[derive(PartialEq, Eq, Default)]
    struct AsyncChoice = "sd_async_choice", 48 bytes {
        is_on: u32,
        here_cycles: u32,
        there_cycles: u32,
        suspend_cycles: u32,
        tried_cycles: u32,
        n_looks: u32,
        n_probes_left: u32,
        probe_cycles: u32,
        n_changes: u32,
        n_trials: u64,
    }

    struct AsyncType = "sd_async_type", 32 bytes {
        name: *const c_char,
        settings: *const c_char,
        context_bytes: u32,
        head_bytes: u32,
        batched_call: u32,
        reserved: u32,
    }

    struct Weighted = "sd_weighted", 24 bytes {
        member_or_action: u32,
        weight: u32,
        watch_port: u32,
        data: *const u8,
    }

    struct EntryView = "sd_entry_view", 120 bytes {
        handle: u64,
        value: *const u8,
        mask: *const u8,
        priority: i32,
        kind: u32,
        what: u32,
        is_const: u32,
        data: *const u8,
        n_weighted: u32,
        is_random: u32,
        weighted: *const Weighted,
        group_action: *const Weighted,
        idle_timeout_ns: u64,
        last_hit_ns: u64,
        is_of_packet: u32,
        profile: u32,
        count: *const Count,
        rates: *const MeterRates,
        colours: *const ColourCounts,
    }

    #[derive(PartialEq, Eq, Default)]
    struct PacketWrites = "sd_packet_writes", 96 bytes {
        n_added: u64,
        n_exists: u64,
        n_race_lost: u64,
        n_full: u64,
        n_carried: u64,
        n_expired: u64,
        n_evicted: u64,
        n_deleted: u64,
        n_expired_control: u64,
        n_entries: u64,
        n_notified: u64,
        n_waiting: u64,
    }

    #[derive(PartialEq, Eq, Default)]
    struct Count = "sd_count", 16 bytes {
        n_packets: u64,
        n_bytes: u64,
    }

    #[derive(PartialEq, Eq, Default)]
    struct ColourCounts = "sd_colour_counts", 48 bytes {
        counts: [Count; 3],
    }

    #[derive(PartialEq, Eq, Default)]
    struct MeterRates = "sd_meter_rates", 48 bytes {
        committed_rate: u64,
        committed_burst: u64,
        peak_rate: u64,
        peak_burst: u64,
        excess_burst: u64,
        is_set: u32,
        meter_type: u32,
    }

    struct RecordLayout = "sd_record_layout", 44 bytes {
        record_bytes: u32,
        mask_at: u32,
        kind_at: u32,
        action_at: u32,
        action_bytes: u32,
        priority_at: u32,
        data_at: u32,
        idle_timeout_at: u32,
        count_at: u32,
        rates_at: u32,
        of_controllers: u32,
    }

    struct ControlOps = "sd_control_ops", 360 bytes {
        table_insert: TableWrite,
        table_insert_batch:
            unsafe extern "C" fn(*mut Instance, u32, *const EntryView, u32, u64, *mut u64, *mut u8) -> u32,
        table_reserve: unsafe extern "C" fn(*mut Instance, u32, u64) -> u32,
        table_modify: TableWrite,
        table_remove: unsafe extern "C" fn(*mut Instance, u32, *const EntryView) -> u32,
        table_find: TableGet,
        table_get: unsafe extern "C" fn(*mut Instance, u32, u64, *mut EntryView) -> u32,
        table_next: unsafe extern "C" fn(*mut Instance, u32, *mut u64, *mut EntryView) -> u32,
        table_write_records: unsafe extern "C" fn(
            *mut Instance,
            u32,
            u32,
            *const RecordLayout,
            *const u8,
            u32,
            u64,
            *mut u64,
            *mut u8,
        ) -> u32,
        table_read_records: unsafe extern "C" fn(
            *mut Instance,
            u32,
            *const RecordLayout,
            *mut u64,
            *mut u8,
            *mut u64,
            u32,
        ) -> u32,
        table_n_entries: unsafe extern "C" fn(*mut Instance, u32) -> u64,
        table_n_timed: unsafe extern "C" fn(*mut Instance, u32) -> u64,
        table_set_default: unsafe extern "C" fn(*mut Instance, u32, u32, *const u8) -> u32,
        table_default: unsafe extern "C" fn(*mut Instance, u32, *mut *const u8) -> u32,
        direct_count: unsafe extern "C" fn(*mut Instance, u32, u64, *mut Count) -> u32,
        set_direct_count: unsafe extern "C" fn(*mut Instance, u32, u64, Count) -> u32,
        direct_rates: unsafe extern "C" fn(*mut Instance, u32, u64, *mut MeterRates) -> u32,
        set_direct_rates: unsafe extern "C" fn(*mut Instance, u32, u64, *const MeterRates, u64) -> u32,
        direct_colours: unsafe extern "C" fn(*mut Instance, u32, u64, *mut ColourCounts) -> u32,
        set_direct_colours: unsafe extern "C" fn(*mut Instance, u32, u64, *const ColourCounts) -> u32,
        table_take_expired: unsafe extern "C" fn(*mut Instance, u32, u64, *mut u64, u32) -> u32,
        table_remove_ended: unsafe extern "C" fn(*mut Instance, u32, u64) -> u32,
        table_set_profile: unsafe extern "C" fn(*mut Instance, u32, u32, u64) -> u32,
        table_packet_writes: unsafe extern "C" fn(*mut Instance, u32, *mut PacketWrites) -> u32,
        flow_ids: unsafe extern "C" fn(*mut Instance, u64) -> u64,
        member_insert: MemberWrite,
        member_modify: MemberWrite,
        member_remove: unsafe extern "C" fn(*mut Instance, u32, u32) -> u32,
        member_get: unsafe extern "C" fn(*mut Instance, u32, u32, *mut u32, *mut *const u8) -> u32,
        member_next: NextId,
        group_set: unsafe extern "C" fn(*mut Instance, u32, u32, u32, *const Weighted, u32) -> u32,
        group_remove: unsafe extern "C" fn(*mut Instance, u32, u32) -> u32,
        group_get: unsafe extern "C" fn(
            *mut Instance,
            u32,
            u32,
            *mut u32,
            *mut *const Weighted,
            *mut u32,
        ) -> u32,
        group_next: NextId,
        set_ports_down: unsafe extern "C" fn(*mut Instance, *const u32, u32) -> u32,
        value_set_write: unsafe extern "C" fn(*mut Instance, u32, *const u8, *const u8, u32) -> u32,
        value_set_read: unsafe extern "C" fn(*mut Instance, u32, *mut *const u8, *mut *const u8) -> u32,
        counter_read: unsafe extern "C" fn(*mut Instance, u32, u64, *mut Count) -> u32,
        counter_write: unsafe extern "C" fn(*mut Instance, u32, u64, Count) -> u32,
        meter_read: unsafe extern "C" fn(*mut Instance, u32, u64, *mut MeterRates) -> u32,
        meter_write: unsafe extern "C" fn(*mut Instance, u32, u64, *const MeterRates, u64) -> u32,
        meter_read_colours: unsafe extern "C" fn(*mut Instance, u32, u64, *mut ColourCounts) -> u32,
        meter_write_colours: unsafe extern "C" fn(*mut Instance, u32, u64, *const ColourCounts) -> u32,
        register_read: unsafe extern "C" fn(*mut Instance, u32, u64, *mut u8) -> u32,
        register_write: unsafe extern "C" fn(*mut Instance, u32, u64, *const u8) -> u32,
    }

    struct Config = "sd_config", 16 bytes {
        n_workers: u32,
        path: u32,
        seed: u64,
    }

    struct Pipeline = "sd_pipeline", 232 bytes {
        abi_version: u32,
        abi_size: u32,
        program_name: *const c_char,
        state_bytes: u32,
        state_align: u32,
        burst_bytes: u64,
        n_tables: u32,
        n_objects: u32,
        n_value_sets: u32,
        n_fields: u32,
        n_field_lists: u32,
        n_calls: u32,
        tables: *const TableType,
        objects: *const ObjectType,
        value_sets: *const ValueSetType,
        fields: *const FieldType,
        field_lists: *const FieldListType,
        calls: *const CallType,
        control: *const ControlOps,
        n_metadata: u32,
        has_trace: u32,
        metadata: *const BytesRange,
        accept: ValueType,
        create: Option<unsafe extern "C" fn(*const Config) -> *mut Instance>,
        destroy: Option<unsafe extern "C" fn(*mut Instance)>,
        worker: Option<unsafe extern "C" fn(*mut Instance, u32) -> *mut PipelineWorker>,
        run_block: Option<unsafe extern "C" fn(u32, *mut PipelineWorker, *mut Packet, *mut c_void) -> u32>,
        process: Option<unsafe extern "C" fn(*mut PipelineWorker, *mut Packet, u32) -> u32>,
        n_async: u32,
        asyncs: *const AsyncType,
        channel_create: Option<unsafe extern "C" fn(u32) -> *mut Channel>,
        channel_destroy: Option<unsafe extern "C" fn(*mut Channel)>,
        resume: Option<unsafe extern "C" fn(*mut PipelineWorker, *mut Packet, u32) -> u32>,
        serve: Option<unsafe extern "C" fn(*mut PipelineWorker, *const *mut Channel, u32) -> u32>,
    }

    struct TraceEvent = "sd_trace_event", 56 bytes {
        kind: u32,
        point: u32,
        value: u64,
        locals: *const c_void,
        key: *const c_void,
        handle: u64,
        hit: u32,
        action: u32,
        member: u32,
        reserved: u32,
    }

    struct TraceSlot = "sd_trace_slot", 20 bytes {
        block: u32,
        value: ValueType,
    }

    struct TraceType = "sd_trace_type", 32 bytes {
        n_points: u32,
        n_slots: u32,
        slots: *const TraceSlot,
        n_blocks: u32,
        reserved: u32,
        locals_bytes: *const u32,
    }
}

impl EntryView {
    /// An entry that names nothing yet.
    pub const EMPTY: EntryView = EntryView {
        handle: 0,
        value: ptr::null(),
        mask: ptr::null(),
        priority: 0,
        kind: entry::ACTION,
        what: 0,
        is_const: 0,
        data: ptr::null(),
        n_weighted: 0,
        is_random: 0,
        weighted: ptr::null(),
        group_action: ptr::null(),
        idle_timeout_ns: 0,
        last_hit_ns: 0,
        is_of_packet: 0,
        profile: u32::MAX,
        count: ptr::null(),
        rates: ptr::null(),
        colours: ptr::null(),
    };
}
