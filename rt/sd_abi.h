/*
 * The contract between generated C and its host.
 *
 * A shared object exports one symbol, `sd_pipeline`, a `const struct sd_pipeline`. The host checks
 * `abi_version` and `abi_size`, calls `create`, and then `process` (whole bursts, straight through), or
 * `run_block` (one block of one packet, where the host does what lies between blocks).
 *
 * Structs here have mirrors in Rust (crate `native`, module `abi`), whose sizes and offsets are asserted there.
 * Every change raises SD_ABI_VERSION.
 */
#ifndef SD_ABI_H
#define SD_ABI_H

#include "base/sd_base.h"

#define SD_ABI_VERSION 19u
#define SD_PIPELINE_SYMBOL "sd_pipeline"

/* Numbers that both sides know by name. Never renumber. */

/* How a block ends. A parser that rejects gives SD_END_REJECTED + its error code. */
enum sd_end {
    SD_END_DONE = 0,
    SD_END_STEP_BUDGET = 1,
    SD_END_ASSERTION_FAILED = 2,
    SD_END_ASSUMPTION_FAILED = 3,
    SD_END_EXTERN_NOT_SUPPLIED = 4,
    /* A user's extern stopped the packet; the host knows the reason. */
    SD_END_STOPPED_BY_EXTERN = 5,
    /* No memory for emitted bytes, a hash or a digest, or more than their bound: see sd_buffer.h. */
    SD_END_TOO_LONG = 6,
    SD_END_ASYNC_FULL = 7,
    SD_END_REJECTED = 16
};

enum sd_match_kind {
    SD_MATCH_EXACT,
    SD_MATCH_LPM,
    SD_MATCH_TERNARY,
    SD_MATCH_RANGE,
    SD_MATCH_OPTIONAL
};

/* How entries of a table are found: the compiler chooses, see sd_table.h. */
enum sd_lookup_structure {
    SD_STRUCTURE_NONE,
    SD_STRUCTURE_EXACT,
    SD_STRUCTURE_DIRECT,
    SD_STRUCTURE_LPM,
    SD_STRUCTURE_PREFIX_HASH,
    SD_STRUCTURE_TERNARY,
    SD_STRUCTURE_FLOW,
    SD_N_STRUCTURES
};

/* How packets go through the program: see sd_burst.h. */
enum sd_path {
    /* Staged bursts as soon as tables exceed the cache. */
    SD_PATH_AUTO,
    /* One packet after the other, without suspension. */
    SD_PATH_STRAIGHT,
    SD_PATH_BURSTS,
    /* For tests: packets of large programs are suspended at every second table only. */
    SD_PATH_MIXED
};

/* The unit of a counter or meter. */
enum sd_unit { SD_UNIT_PACKETS, SD_UNIT_BYTES, SD_UNIT_BOTH, SD_UNIT_NONE };

enum sd_object_kind {
    /* No state of its own, or state in its table: digests, direct counters and meters. */
    SD_OBJECT_OTHER,
    SD_OBJECT_COUNTER,
    SD_OBJECT_METER,
    SD_OBJECT_REGISTER,
    SD_OBJECT_ACTION_PROFILE,
    SD_OBJECT_ACTION_SELECTOR
};

enum sd_status {
    SD_OK = 0,
    SD_EXISTS,
    SD_NOT_FOUND,
    SD_FULL,
    SD_NO_MEMORY,
    SD_IN_USE,
    SD_OUT_OF_RANGE,
    /* The program declares the entry constant. */
    SD_CONST
};

/* --- Types: constants of the program, in the order of ir::Program's arenas. --- */

/* A value in shared memory: `size_bytes` at `offset`; bits above `width_bits` are zero. */
struct sd_value_type {
    uint32_t offset;
    /* A varbit has 4 bytes for its length in bits, then its bytes as in a packet, then zeros. */
    uint32_t size_bytes;
    /* 0 for a varbit. */
    uint32_t width_bits;
    uint32_t is_varbit;
};

/* A key element that is matched on. */
struct sd_key_type {
    const char *name;
    struct sd_value_type value;
    uint32_t match_kind;
    /* A signed element matched by range: stored with the sign bit flipped, so that it is compared as unsigned. */
    uint32_t is_biased;
};

struct sd_action_type {
    const char *name;
    uint32_t n_params;
    /* Leaves of the action data; offsets count from its beginning. */
    const struct sd_value_type *params;
    uint32_t data_bytes;
    /* The leaves that each worker changes in a cell of its own (sd_shard.h). */
    uint32_t n_sharded;
    const struct sd_value_type *sharded;
};

struct sd_table_type {
    const char *name;
    uint32_t n_keys;
    const struct sd_key_type *keys;
    uint32_t key_bytes;
    uint32_t n_actions;
    const struct sd_action_type *actions;
    /* Bytes of the largest action data. */
    uint32_t data_bytes;
    /* Maximum number of entries. */
    uint64_t size;
    /* Index of the object, or UINT32_MAX. */
    uint32_t profile;
    uint32_t has_direct_counter;
    uint32_t direct_counter_unit;
    /* Direct counters and meters act where actions call them, and not with every hit. */
    uint32_t direct_on_call;
    uint32_t has_direct_meter;
    uint32_t direct_meter_unit;
    /* Entries may expire. */
    uint32_t has_idle_timeout;
    /* Those that have expired are removed; otherwise the control plane is told. */
    uint32_t deletes;
    /* A packet that finds the table full may take the place of another packet's entry. */
    uint32_t evicts;
    /* Actions change the data of their entries. */
    uint32_t updates_data;
    /* Bytes of the largest data of the actions that have sharded leaves; 0: there are none. */
    uint32_t sharded_bytes;
    /* A hit restarts the timeout of its entry; otherwise only actions do. */
    uint32_t restarts_on_hit;
    /* The compiler's decisions; the runtime asserts that they fit the rest of the descriptor (sd_structures.h). */
    /* enum sd_lookup_structure */
    uint32_t structure;
    /* Key, action and data lie in the structure itself, without a struct sd_entry. */
    uint32_t entries_are_inline;
    /* Lookups are staged when the table exceeds the cache. */
    uint32_t is_staged;
    /* enum sd_concurrent_op: what the control plane may do while workers run. */
    uint32_t concurrent_ops;
    /* 1 + the action that runs on a miss in a new instance, if it has no data; 0: the program sets it in `create`. */
    uint32_t default_action;
};

struct sd_object_type {
    const char *name;
    uint32_t kind;
    uint32_t unit;
    /* Arrays: number of cells. Profiles: maximum number of members (0: no maximum). */
    uint64_t size;
    /* Registers: bytes of a cell, and its leaves. */
    uint32_t cell_bytes;
    uint32_t n_leaves;
    const struct sd_value_type *leaves;
    /* Profiles: bytes of the largest action data of the tables that use the profile. */
    uint32_t data_bytes;
};

struct sd_value_set_type {
    const char *name;
    uint32_t n_fields;
    const struct sd_key_type *fields;
    uint32_t key_bytes;
    uint64_t size;
};

/* Roles of fields of the architecture's metadata, in the order of arch::FieldRole. */
enum sd_field_role {
    SD_FIELD_INGRESS_PORT,
    SD_FIELD_EGRESS_SPEC,
    SD_FIELD_EGRESS_PORT,
    SD_FIELD_INSTANCE_TYPE,
    SD_FIELD_PACKET_LENGTH,
    SD_FIELD_ENQUEUE_TIMESTAMP,
    SD_FIELD_ENQUEUE_DEPTH,
    SD_FIELD_DEQUEUE_TIME_DELTA,
    SD_FIELD_DEQUEUE_DEPTH,
    SD_FIELD_INGRESS_TIMESTAMP,
    SD_FIELD_EGRESS_TIMESTAMP,
    SD_FIELD_MULTICAST_GROUP,
    SD_FIELD_EGRESS_INSTANCE,
    SD_FIELD_CHECKSUM_ERROR,
    SD_FIELD_PARSER_ERROR,
    SD_FIELD_PRIORITY,
    SD_FIELD_OUTPUT_ACTION,
    SD_FIELD_OUTPUT_PORT
};

/* The position in the state of a field of the architecture's metadata; `role` is of enum sd_field_role. */
struct sd_field_type {
    uint32_t role;
    struct sd_value_type value;
};

struct sd_bytes_range {
    uint32_t offset;
    uint32_t size;
};

/* The parts of the state that resubmit, recirculate and clone preserve. */
struct sd_field_list_type {
    uint32_t index;
    uint32_t n_ranges;
    const struct sd_bytes_range *ranges;
};

/* A call that the host executes: digest, log_msg, a user's extern. */
struct sd_call_type {
    /* The function, or `type.method`. */
    const char *name;
    /* Index of the object, or UINT32_MAX. */
    uint32_t object;
    uint32_t n_args;
    const struct sd_arg_type *args;
    /* Size 0: no result. */
    struct sd_value_type result;
    /* Bytes of all arguments. */
    uint32_t args_bytes;
};

enum sd_arg_kind { SD_ARG_IN, SD_ARG_FIELDS, SD_ARG_REF, SD_ARG_STRING, SD_ARG_ABSENT };

struct sd_arg_type {
    uint32_t kind;
    uint32_t n_leaves;
    /* Offsets in the arguments' bytes. */
    const struct sd_value_type *leaves;
    const char *string;
};

/* --- Packets and workers --- */

/* Requests of a program to the architecture for its packet; the last request of a kind wins. */
enum sd_request {
    SD_REQUEST_CLONE = 1,
    SD_REQUEST_RESUBMIT = 2,
    SD_REQUEST_RECIRCULATE = 4,
    SD_REQUEST_TRUNCATE = 8,
    SD_REQUEST_DROP = 16,
    SD_REQUEST_PASS = 32,
    /* There are digests in the worker's buffer. */
    SD_REQUEST_DIGEST = 64
};

#define SD_NO_FIELD_LIST UINT32_MAX

struct sd_requests {
    uint32_t flags;
    /* 0: clone of the received packet (I2E), 1: clone of the packet after egress (E2E). */
    uint32_t clone_kind;
    uint32_t clone_session;
    uint32_t clone_list;
    uint32_t resubmit_list;
    uint32_t recirculate_list;
    uint32_t truncate_bytes;
};

/* The result of a packet on the fast path. */
enum sd_verdict {
    SD_VERDICT_SEND,
    SD_VERDICT_DROP,
    /* Punted: the host continues with the worker's state and requests, after ingress (or after the parser rejected), or
       after egress. */
    SD_VERDICT_AFTER_INGRESS,
    SD_VERDICT_AFTER_EGRESS,
    /* Deparsed, but the headers do not fit into the headroom: they are in the worker's `emitted`. */
    SD_VERDICT_NO_HEADROOM,
    /* Suspended: the buffer belongs to the runtime until `resume` returns it. */
    SD_VERDICT_SUSPENDED,
    /* Punted at a step of the architecture's description: `drop` is SD_AT_STEP, and `emitted` has what the deparser of the
       section has written. At the first step of the first section no block has run. */
    SD_VERDICT_AT_STEP
};

/* A step of a section, each by its index. With `is_rejected` the parser has rejected the packet. */
#define SD_AT_STEP(section, step, is_rejected) ((uint32_t)(is_rejected) << 31 | (uint32_t)(section) << 16 | (uint32_t)(step))

/* Flags of ports. */
enum sd_port_flag {
    SD_PORT_EXISTS = 1,
    SD_PORT_AT_HOST = 2,
    SD_PORT_OF_CONTROLLER = 4
};

enum sd_drop {
    SD_DROP_INGRESS,
    SD_DROP_EGRESS,
    SD_DROP_PARSER_REJECTED,
    SD_DROP_ABORTED,
    SD_DROP_STEP_BUDGET,
    SD_DROP_ASSERTION_FAILED,
    SD_DROP_ASSUMPTION_FAILED,
    SD_DROP_EXTERN_NOT_SUPPLIED,
    SD_DROP_STOPPED_BY_EXTERN,
    SD_DROP_TOO_LONG,
    /* The capacity of an asynchronous block is exceeded. */
    SD_DROP_ASYNC_FULL,
    SD_DROP_PACKET_DROPPED,
    SD_DROP_NO_DESTINATION,
    SD_N_DROPS
};

struct sd_packet {
    /* The first byte. The runtime may write `headroom_bytes` before it and `tailroom_bytes` behind the last byte. */
    uint8_t *data;
    uint32_t length_bytes;
    uint32_t headroom_bytes;
    uint32_t tailroom_bytes;
    uint32_t ingress_port;
    /* Position of the parser. */
    uint64_t cursor_bits;
    /* Results of `process`. */
    uint32_t egress_port;
    uint32_t verdict;
    uint32_t drop;
    uint64_t arrived_ns;
    /* Identifies the packet to the host; the runtime does not interpret it. */
    uint64_t token;
};

struct sd_worker;
struct sd_instance;

struct sd_trace_event;

/* One call of a batch, for one packet. */
struct sd_host_call {
    struct sd_packet *packet;
    uint8_t *args;
    uint8_t *result;
    /* Set by the host: the result of `call` of struct sd_host. */
    uint32_t end;
    uint32_t reserved;
};

/* Callbacks from generated code to its host; every function may be NULL. */
struct sd_host {
    void *context;
    /* Executes a user's extern or log_msg. Values lie in `args` as sd_call_type says; references are written back. Returns
       SD_END_DONE, or how the block ends. */
    uint32_t (*call)(void *context, struct sd_worker *worker, struct sd_packet *packet, uint32_t call,
                     uint8_t *args, uint8_t *result);
    /* Executes `n` calls with this number; the extern may receive their values together. The results are those of calls one
       after the other. Not NULL if the host sets `batch` of struct sd_offload_policy. */
    void (*call_batch)(void *context, struct sd_worker *worker, uint32_t call, struct sd_host_call *calls, uint32_t n);
    /* Called by code compiled with -DSD_TRACE: see sd_trace.h. */
    void (*trace)(void *context, struct sd_worker *worker, struct sd_packet *packet, void *state,
                  const struct sd_trace_event *event);
};

/* A growing array of bytes. */
struct sd_buffer {
    uint8_t *bytes;
    uint32_t length;
    uint32_t capacity;
};

struct sd_table_count {
    uint64_t n_lookups;
    uint64_t n_misses;
};

/* The data of one worker thread; no other thread uses it while packets run. */
struct sd_worker {
    const struct sd_host *host;
    struct sd_instance *instance;
    uint32_t index;
    /* Set by the host before each burst or block. */
    uint32_t steps_left;
    uint64_t now_ns;
    /* The state of the packet being processed. */
    void *state;
    struct sd_requests requests;
    /* Bytes that the deparser wrote, and used bits of the last one (0: all). */
    struct sd_buffer emitted;
    uint32_t emitted_tail_bits;
    /* For each table 1 + the colour that its direct meter gave the packet; 0: none. */
    uint8_t *direct_colours;
    /* One for each table with `direct_on_call`: the cells of the entry whose action runs. */
    struct sd_direct *direct;
    /* Digests: for each a uint32_t call, a uint32_t length, then the bytes of the arguments. */
    struct sd_buffer digests;
    /* Values packed for a hash, and used bits of the last byte (0: all). */
    struct sd_buffer scratch;
    uint32_t scratch_tail_bits;
    /* SD_FAILED_*: the buffers that could not grow; see sd_buffer.h. */
    uint32_t failed;
    /* xoshiro256++ */
    uint64_t random[4];
    /* For each table. */
    struct sd_table_count *table_counts;
    /* Contexts of suspended packets of a burst: struct p4x_burst of generated code; NULL: no packet is ever suspended. */
    void *burst;
    /* Saved digests and emitted bytes of suspended packets; emptied when a burst begins. */
    struct sd_buffer kept;
    /* A burst whose packets have all run: the set of punted packets, the packet that the next call of `process` begins with,
       and the number of packets left. A host that abandons the burst sets the last to 0. */
    uint64_t leaving;
    uint32_t burst_at;
    uint32_t n_burst_left;
    /* For each asynchronous block. */
    struct sd_offload_policy *async_ways;
    /* Packets may be suspended for an offload worker: only on the fast path. */
    uint32_t may_suspend;
    /* The packet that is being suspended. */
    struct sd_suspended *suspended;
    /* Time stamp counter when the burst arrived, and when the block being measured began (0: none). */
    uint64_t burst_since;
    uint64_t block_since;
    /* State of the automatic choice (sd_async_choice.h): bursts until the next decision, and the current trial. */
    uint32_t n_bursts_until_look;
    uint32_t trial_point;
    uint32_t trial_phase;
    uint32_t n_trial_bursts;
    uint64_t trial_since;
    /* Index 0: the worker runs the block; 1: an offload worker runs it. */
    uint64_t trial_cycles[2];
    uint64_t n_trial_packets[2];
    uint64_t n_trial_blocks;
    /*
     * The worker's words of sd_epoch.h, by which the control plane knows what the worker can still hold. Before it calls
     * compiled code, the host exchanges `*seen` for `*epoch` and reads `*epoch` once more (both sequentially consistent);
     * after the call it stores UINT64_MAX (release), which means that the worker is quiescent.
     */
    uint64_t *seen;
    const uint64_t *epoch;
    /* SD_PORT_*, by port number, set by the host before each burst. Packets of larger numbers are punted. */
    const uint8_t *port_flags;
    uint32_t n_port_flags;
};

/* --- Asynchronous blocks: see sd_async.h. --- */

enum sd_async_mode {
    /* The worker runs the block itself. */
    SD_ASYNC_INLINE,
    /* An offload worker runs it while this worker waits. */
    SD_ASYNC_WAIT,
    /* An offload worker runs it while this worker processes other packets. */
    SD_ASYNC_SUSPEND
};

/* Policy for a packet when as many are in flight as the capacity allows. */
enum sd_async_full {
    SD_ASYNC_FULL_DROP,
    SD_ASYNC_FULL_INLINE,
    /* The host receives no more packets than fit; those that come nevertheless run inline. */
    SD_ASYNC_FULL_BACKPRESSURE
};

#define SD_ASYNC_BUCKETS 40u

/* struct sd_suspended lies at the beginning of a suspended packet's buffer: its alignment, and the offset of `point`. */
#define SD_SUSPENDED_ALIGN 16u
#define SD_SUSPENDED_POINT_AT (sizeof(struct sd_packet) + 8u)

struct sd_channel;

/* The automatic choice of a mode, and its measurements: see sd_async_choice.h. Cycles are of the time stamp counter. */
struct sd_async_choice {
    /* The host turns the choice on. */
    uint32_t is_on;
    /* Average cost of the block on this worker and on offload workers; 0: not measured yet. */
    uint32_t here_cycles;
    uint32_t there_cycles;
    /* Cost for this worker to suspend and resume a packet. */
    uint32_t suspend_cycles;
    /* Cost of the block at the last trial of both modes, and decisions since then. */
    uint32_t tried_cycles;
    uint32_t n_looks;
    /* Packets whose block this worker still runs to measure it, though others are offloaded; the lowest cost of those
       before. */
    uint32_t n_probes_left;
    uint32_t probe_cycles;
    uint32_t n_changes;
    uint64_t n_trials;
};

/* How one worker runs one asynchronous block, with its counters. The host sets `channel` and `capacity` while no packet is in
   flight; `full`, and `mode` unless the choice is on, between bursts. */
struct sd_offload_policy {
    struct sd_channel *channel;
    uint32_t mode;
    uint32_t full;
    uint32_t capacity;
    uint32_t n_in_flight;
    /* Packets to send when the burst ends, or when there are SD_ASYNC_BURST. */
    uint32_t n_waiting;
    /* On offload workers, for blocks with a `batched_call`: maximum number of calls in a batch; 0 and 1: one by one. The host
       sets it before the offload worker begins. */
    uint32_t batch;
    /* The block calls externs that read packets, whose bytes are in another core's cache: prefetch them. Set by the host. */
    uint32_t fetches_packets;
    uint32_t reserved;
    void *waiting[32];
    /* Blocks run by this worker: by the mode, for lack of headroom, because the capacity was reached. */
    uint64_t n_here;
    uint64_t n_no_room;
    uint64_t n_full;
    uint64_t n_sent;
    /* Sent blocks that the worker waited for. */
    uint64_t n_waited;
    uint64_t n_done;
    /* Packets dropped because the capacity was reached. */
    uint64_t n_dropped;
    uint64_t waited_cycles;
    /* Histogram of cycles, by powers of two. */
    uint64_t waited[SD_ASYNC_BUCKETS];
    /* On offload workers: blocks run, and their cycles. */
    uint64_t n_served;
    uint64_t served_cycles;
    uint64_t served[SD_ASYNC_BUCKETS];
    /* Batches of calls, and calls in them. */
    uint64_t n_batches;
    uint64_t n_batched;
    struct sd_async_choice choice;
};

struct sd_async_type {
    /* The name of the block. */
    const char *name;
    /* The text in the program: `mode=wait capacity=100`. */
    const char *settings;
    /* Saved state of a packet before or after the block: the larger one. */
    uint32_t context_bytes;
    /* Bytes of the buffer in front of the saved state. */
    uint32_t head_bytes;
    /* The call that offload workers can batch; UINT32_MAX: none. */
    uint32_t batched_call;
    uint32_t reserved;
};

/* --- Tables: see sd_table.h. --- */

/* Kind of object that an entry refers to. */
enum sd_entry_kind { SD_ENTRY_ACTION, SD_ENTRY_MEMBER, SD_ENTRY_GROUP, SD_ENTRY_ONE_SHOT };

struct sd_weighted {
    /* Groups: a member. One-shots: an action, with `data`. */
    uint32_t member_or_action;
    uint32_t weight;
    /* Skipped while this port is down; UINT32_MAX: no port. */
    uint32_t watch_port;
    const uint8_t *data;
};

/* An entry as the control plane writes and reads it. Pointers in a result are valid until the next write. */
struct sd_entry_view {
    /* Ascending with every insertion, never reused. */
    uint64_t handle;
    /* `key_bytes` each. Exact: the value, and ones. LPM, ternary and optional: the masked value, and the mask. Range: the low
       and the high end. An element that matches everything has a mask of zeros (range: 0 to ones). */
    const uint8_t *value;
    const uint8_t *mask;
    /* The largest priority wins; of equal ones the entry inserted first. */
    int32_t priority;
    uint32_t kind;
    /* Action index, member id or group id. */
    uint32_t what;
    uint32_t is_const;
    const uint8_t *data;
    uint32_t n_weighted;
    /* One-shots: each packet draws its choice; 0: a hash of the packet makes it. */
    uint32_t is_random;
    const struct sd_weighted *weighted;
    /* One-shots: the action that runs before the chosen one; NULL: none. */
    const struct sd_weighted *group_action;
    /* In tables with idle timeouts only. */
    uint64_t idle_timeout_ns;
    uint64_t last_hit_ns;
    /* A packet has added the entry; the profile of its timeout, UINT32_MAX for none. In entries to insert: 0 and UINT32_MAX, unless
       the entry comes from another program. */
    uint32_t is_of_packet;
    uint32_t profile;
    /* Values for the direct counter, and for the direct meter, whose buckets begin full, and its counts of colours. NULL: zeros in a new entry, and no
       change of an old one. NULL in results. */
    const struct sd_count *count;
    const struct sd_meter_rates *rates;
    const struct sd_colour_counts *colours;
};

struct sd_count {
    uint64_t n_packets;
    uint64_t n_bytes;
};

/* Packets that a meter has marked: green, yellow, red (enum sd_colour). */
struct sd_colour_counts {
    struct sd_count counts[3];
};

/* How a meter marks packets. */
enum sd_meter_type {
    /* RFC 2698 */
    SD_METER_TWO_RATE_THREE_COLOUR,
    /* RFC 2697 */
    SD_METER_SINGLE_RATE_THREE_COLOUR,
    /* One bucket: RFC 2697 with an excess burst of 0, and never yellow. */
    SD_METER_SINGLE_RATE_TWO_COLOUR
};

/* Rates are per second, in the meter's unit; bursts are in that unit. */
struct sd_meter_rates {
    uint64_t committed_rate;
    uint64_t committed_burst;
    /* Used by two-rate meters only. */
    uint64_t peak_rate;
    uint64_t peak_burst;
    /* Used by single-rate three-colour meters only. */
    uint64_t excess_burst;
    uint32_t is_set;
    /* enum sd_meter_type */
    uint32_t meter_type;
};

/* Entries that packets have added to a table, and what became of them. */
struct sd_packet_writes {
    uint64_t n_added;
    /* Not added: the packet had added one before; another writer had, since the packet missed; the table was full. */
    uint64_t n_exists;
    uint64_t n_race_lost;
    uint64_t n_full;
    /* Entries of packets that the control plane has carried over from another program. */
    uint64_t n_carried;
    /* Entries of packets that have expired, that have made room for others, and that the control plane has removed. */
    uint64_t n_expired;
    uint64_t n_evicted;
    uint64_t n_deleted;
    /* Entries of the control plane that have expired. */
    uint64_t n_expired_control;
    /* Entries of packets that are there. */
    uint64_t n_entries;
    /* Entries of whose timeout the control plane was told. */
    uint64_t n_notified;
    /* Slots of removed entries that some worker may still read. */
    uint64_t n_waiting;
};

#define SD_DEFAULT_ENTRY UINT64_MAX
/* In a trace, of a lookup that has missed: the key had an entry whose time is over. */
#define SD_EXPIRED_ENTRY (UINT64_MAX - 1)

/* --- Records: entries as byte strings of one size, see sd_table_records.h. --- */

/* Records lack the part. */
#define SD_NO_PART UINT32_MAX

/* Positions in a record, in bytes. A record begins with the key. */
struct sd_record_layout {
    /* With key, action and data only: a multiple of 8. */
    uint32_t record_bytes;
    uint32_t mask_at;
    /* enum sd_entry_kind, 1 byte; without it each entry has an action. */
    uint32_t kind_at;
    /* Index of the action, or the id of a member or group: 1 byte or 4. */
    uint32_t action_at;
    uint32_t action_bytes;
    uint32_t priority_at;
    uint32_t data_at;
    /* A uint64_t, a struct sd_count, a struct sd_meter_rates. */
    uint32_t idle_timeout_at;
    uint32_t count_at;
    uint32_t rates_at;
    /* Reads leave out entries that packets have added. */
    uint32_t of_controllers;
};

enum sd_record_op { SD_RECORD_INSERT, SD_RECORD_MODIFY, SD_RECORD_REMOVE };

/* Operations on a table that may run while workers run packets. */
enum sd_concurrent_op {
    /* direct_count, direct_rates, direct_colours; find, get and next run beside workers in every table */
    SD_CONCURRENT_READ = 1,
    /* insert, insert_batch, reserve */
    SD_CONCURRENT_INSERT = 2,
    SD_CONCURRENT_MODIFY = 4,
    SD_CONCURRENT_REMOVE = 8,
    SD_CONCURRENT_EXPIRE = 16
};

/*
 * Operations of the control plane on an instance. They have one caller at a time. No worker may be within a burst or a
 * block, except for table_find, table_get and table_next, and for operations that the table's descriptor lists in
 * `concurrent_ops`, which see one moment of the call.
 */
struct sd_control_ops {
    uint32_t (*table_insert)(struct sd_instance *, uint32_t table, const struct sd_entry_view *,
                             uint64_t now_ns, uint64_t *handle);
    /* Inserts `n` entries, one after the other. Returns how many were inserted; for each the status (enum sd_status) and, if
       that is SD_OK, the handle. */
    uint32_t (*table_insert_batch)(struct sd_instance *, uint32_t table, const struct sd_entry_view *, uint32_t n,
                                   uint64_t now_ns, uint64_t *handles, uint8_t *statuses);
    /* A hint: allocates memory for `n` entries in all, so that inserts are fast. SD_FULL if the table can never have so many.
       Tables that allocate nothing ahead return SD_OK. */
    uint32_t (*table_reserve)(struct sd_instance *, uint32_t table, uint64_t n);
    /* Sets action and idle timeout of the entry with this key and priority. */
    uint32_t (*table_modify)(struct sd_instance *, uint32_t table, const struct sd_entry_view *,
                             uint64_t now_ns, uint64_t *handle);
    uint32_t (*table_remove)(struct sd_instance *, uint32_t table, const struct sd_entry_view *);
    uint32_t (*table_find)(struct sd_instance *, uint32_t table, const struct sd_entry_view *key,
                           struct sd_entry_view *found);
    uint32_t (*table_get)(struct sd_instance *, uint32_t table, uint64_t handle, struct sd_entry_view *found);
    /* The entry with the smallest handle above `*after` (begin with 0 minus 1 by passing UINT64_MAX). */
    uint32_t (*table_next)(struct sd_instance *, uint32_t table, uint64_t *after, struct sd_entry_view *found);
    /* Inserts, modifies or removes (enum sd_record_op) the entries of `n` records, one after the other. Returns how many were
       written; for each the status and, if that is SD_OK, the handle. No record names a one-shot. */
    uint32_t (*table_write_records)(struct sd_instance *, uint32_t table, uint32_t op, const struct sd_record_layout *,
                                    const uint8_t *records, uint32_t n, uint64_t now_ns, uint64_t *handles,
                                    uint8_t *statuses);
    /* Reads up to `n_max` entries in the order of their handles, those above `*after` (as table_next does), and sets `*after` to
       the last one. Constant entries are left out; of a one-shot the record has no action. Returns their number; fewer than
       `n_max` were the last ones. */
    uint32_t (*table_read_records)(struct sd_instance *, uint32_t table, const struct sd_record_layout *, uint64_t *after,
                                   uint8_t *records, uint64_t *handles, uint32_t n_max);
    uint64_t (*table_n_entries)(struct sd_instance *, uint32_t table);
    /* Entries with an idle timeout. */
    uint64_t (*table_n_timed)(struct sd_instance *, uint32_t table);
    uint32_t (*table_set_default)(struct sd_instance *, uint32_t table, uint32_t action, const uint8_t *data);
    /* Returns the index of the action; UINT32_MAX: none was set. */
    uint32_t (*table_default)(struct sd_instance *, uint32_t table, const uint8_t **data);
    /* Direct cells; the handle may be SD_DEFAULT_ENTRY. */
    uint32_t (*direct_count)(struct sd_instance *, uint32_t table, uint64_t handle, struct sd_count *);
    uint32_t (*set_direct_count)(struct sd_instance *, uint32_t table, uint64_t handle, struct sd_count);
    uint32_t (*direct_rates)(struct sd_instance *, uint32_t table, uint64_t handle, struct sd_meter_rates *);
    uint32_t (*set_direct_rates)(struct sd_instance *, uint32_t table, uint64_t handle,
                                 const struct sd_meter_rates *, uint64_t now_ns);
    uint32_t (*direct_colours)(struct sd_instance *, uint32_t table, uint64_t handle, struct sd_colour_counts *);
    uint32_t (*set_direct_colours)(struct sd_instance *, uint32_t table, uint64_t handle,
                                   const struct sd_colour_counts *);
    /* Reports entries whose idle timeout has passed since the last hit or report: at most `n_max` handles, ascending.
       Returns their number. */
    uint32_t (*table_take_expired)(struct sd_instance *, uint32_t table, uint64_t now_ns, uint64_t *handles,
                                   uint32_t n_max);
    /* Removes all entries of a table of SD_STRUCTURE_FLOW that have expired, if it removes any. Returns their number. */
    uint32_t (*table_remove_ended)(struct sd_instance *, uint32_t table, uint64_t now_ns);
    /* Sets the timeout of a profile (0 to 255) of a table of SD_STRUCTURE_FLOW; 0: its entries expire at once. */
    uint32_t (*table_set_profile)(struct sd_instance *, uint32_t table, uint32_t profile, uint64_t timeout_ns);
    uint32_t (*table_packet_writes)(struct sd_instance *, uint32_t table, struct sd_packet_writes *);
    /* Numbers of flows that packets have taken, or of which none is to be taken again: raises them to `at_least`. */
    uint64_t (*flow_ids)(struct sd_instance *, uint64_t at_least);

    uint32_t (*member_insert)(struct sd_instance *, uint32_t object, uint32_t member, uint32_t action,
                              const uint8_t *data);
    uint32_t (*member_modify)(struct sd_instance *, uint32_t object, uint32_t member, uint32_t action,
                              const uint8_t *data);
    /* SD_IN_USE while an entry or a group names it. */
    uint32_t (*member_remove)(struct sd_instance *, uint32_t object, uint32_t member);
    uint32_t (*member_get)(struct sd_instance *, uint32_t object, uint32_t member, uint32_t *action,
                           const uint8_t **data);
    /* Ids in ascending order: the smallest that is at least `*member`. */
    uint32_t (*member_next)(struct sd_instance *, uint32_t object, uint32_t *member);
    uint32_t (*group_set)(struct sd_instance *, uint32_t object, uint32_t group, uint32_t max_size,
                          const struct sd_weighted *, uint32_t n_weighted);
    uint32_t (*group_remove)(struct sd_instance *, uint32_t object, uint32_t group);
    uint32_t (*group_get)(struct sd_instance *, uint32_t object, uint32_t group, uint32_t *max_size,
                          const struct sd_weighted **, uint32_t *n_weighted);
    uint32_t (*group_next)(struct sd_instance *, uint32_t object, uint32_t *group);
    /* Sets all ports that are down; all others are up. */
    uint32_t (*set_ports_down)(struct sd_instance *, const uint32_t *ports, uint32_t n_ports);

    /* Replaces all members: `n` values and masks, one after the other. */
    uint32_t (*value_set_write)(struct sd_instance *, uint32_t value_set, const uint8_t *values,
                                const uint8_t *masks, uint32_t n);
    /* Returns the number of members. */
    uint32_t (*value_set_read)(struct sd_instance *, uint32_t value_set, const uint8_t **values,
                               const uint8_t **masks);

    /* Cells of arrays; an index of UINT64_MAX writes all. */
    uint32_t (*counter_read)(struct sd_instance *, uint32_t object, uint64_t index, struct sd_count *);
    uint32_t (*counter_write)(struct sd_instance *, uint32_t object, uint64_t index, struct sd_count);
    uint32_t (*meter_read)(struct sd_instance *, uint32_t object, uint64_t index, struct sd_meter_rates *);
    uint32_t (*meter_write)(struct sd_instance *, uint32_t object, uint64_t index,
                            const struct sd_meter_rates *, uint64_t now_ns);
    uint32_t (*meter_read_colours)(struct sd_instance *, uint32_t object, uint64_t index, struct sd_colour_counts *);
    uint32_t (*meter_write_colours)(struct sd_instance *, uint32_t object, uint64_t index,
                                    const struct sd_colour_counts *);
    uint32_t (*register_read)(struct sd_instance *, uint32_t object, uint64_t index, uint8_t *cell);
    uint32_t (*register_write)(struct sd_instance *, uint32_t object, uint64_t index, const uint8_t *cell);
};

/* Options of an instance. */
struct sd_config {
    uint32_t n_workers;
    /* enum sd_path */
    uint32_t path;
    uint64_t seed;
};

struct sd_pipeline {
    uint32_t abi_version;
    /* sizeof(struct sd_pipeline) */
    uint32_t abi_size;
    const char *program_name;
    uint32_t state_bytes;
    uint32_t state_align;
    /* Bytes of a worker's `burst`; 0: no packet is ever suspended. */
    uint64_t burst_bytes;
    uint32_t n_tables;
    uint32_t n_objects;
    uint32_t n_value_sets;
    uint32_t n_fields;
    uint32_t n_field_lists;
    uint32_t n_calls;
    const struct sd_table_type *tables;
    const struct sd_object_type *objects;
    const struct sd_value_set_type *value_sets;
    const struct sd_field_type *fields;
    const struct sd_field_list_type *field_lists;
    const struct sd_call_type *calls;
    const struct sd_control_ops *control;
    /* Parts of the state that are standard and user metadata: zeroed for clones. */
    uint32_t n_metadata;
    uint32_t has_trace;
    const struct sd_bytes_range *metadata;
    /* The filter's verdict; size 0 where there is none. */
    struct sd_value_type accept;

    /* Makes an instance with the entries that the program declares; NULL when memory is short. */
    struct sd_instance *(*create)(const struct sd_config *);
    void (*destroy)(struct sd_instance *);
    struct sd_worker *(*worker)(struct sd_instance *, uint32_t index);
    /* Runs one block; a program without this role does nothing. */
    uint32_t (*run_block)(uint32_t block, struct sd_worker *, struct sd_packet *, void *state);
    /*
     * The fast path: runs packets from arrival to their verdicts. Stops after a punted packet, whose state is in
     * `worker->state`. Returns the number of packets with a verdict, that one included. The next call continues with the
     * packets after it, at the same addresses: some of these may have run already. NULL: the architecture has no fast path.
     */
    uint32_t (*process)(struct sd_worker *, struct sd_packet *packets, uint32_t n);

    /* Asynchronous blocks; all zero without any. */
    uint32_t n_async;
    const struct sd_async_type *asyncs;
    struct sd_channel *(*channel_create)(uint32_t capacity);
    void (*channel_destroy)(struct sd_channel *);
    /*
     * Resumes up to `n` packets whose blocks are done, and returns them with their verdicts, as `process` does. Stops after
     * a punted packet, which is the last one then. Packets that are suspended again are not returned.
     */
    uint32_t (*resume)(struct sd_worker *, struct sd_packet *packets, uint32_t n);
    /* Runs the blocks of the packets in these channels, on an offload worker. Returns their number. */
    uint32_t (*serve)(struct sd_worker *offload_worker, struct sd_channel *const *channels, uint32_t n_channels);
};

#endif
