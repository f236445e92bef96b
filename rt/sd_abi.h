/*
 * What a compiled program exports, and what it is given: the contract between generated C and its host.
 *
 * A shared object exports one symbol, `sd_pipeline`, a `const struct sd_pipeline`. The host checks
 * `abi_version` and `abi_size`, calls `create`, and then `process` (whole bursts, straight through), or
 * `run_block` (one block of one packet, where the host does what lies between blocks).
 *
 * Structs here have mirrors in Rust (crate `native`, module `abi`); sizes and offsets are asserted there.
 * Whoever changes one raises SD_ABI_VERSION.
 */
#ifndef SD_ABI_H
#define SD_ABI_H

#include "base/sd_base.h"

#define SD_ABI_VERSION 7u
#define SD_PIPELINE_SYMBOL "sd_pipeline"

/* Numbers that both sides know by name. Never renumber. */

enum sd_block_role {
    SD_BLOCK_PARSER,
    SD_BLOCK_VERIFY_CHECKSUM,
    SD_BLOCK_INGRESS,
    SD_BLOCK_EGRESS,
    SD_BLOCK_COMPUTE_CHECKSUM,
    SD_BLOCK_DEPARSER,
    SD_N_BLOCK_ROLES
};

/* How a block ends. A parser that rejects gives SD_END_REJECTED + its error code. */
enum sd_end {
    SD_END_DONE = 0,
    SD_END_STEP_BUDGET = 1,
    SD_END_ASSERTION_FAILED = 2,
    SD_END_ASSUMPTION_FAILED = 3,
    SD_END_EXTERN_NOT_SUPPLIED = 4,
    /* A user's extern said so; the host knows the reason. */
    SD_END_STOPPED_BY_EXTERN = 5,
    /* What it emits, hashes or sends as a digest found no room: see sd_buffer.h. */
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
    SD_N_STRUCTURES
};

/* How packets go through the program: see sd_burst.h. */
enum sd_path {
    /* Bursts from segment to segment as soon as tables are larger than a cache near the core. */
    SD_PATH_AUTO,
    /* One packet after the other. */
    SD_PATH_STRAIGHT,
    SD_PATH_BURSTS,
    /* So that packets of large programs wait for every second table only: for tests. */
    SD_PATH_MIXED
};

/* What counters and meters count. */
enum sd_unit { SD_UNIT_PACKETS, SD_UNIT_BYTES, SD_UNIT_BOTH, SD_UNIT_NONE };

enum sd_object_kind {
    /* Without state of its own, or known through its tables: digests, direct counters and meters. */
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
    SD_OUT_OF_RANGE
};

/* --- Types: constants of the program, in the order of ir::Program's arenas. --- */

/* A value in shared memory: `size_bytes` from `offset` on, of which `width_bits` count. */
struct sd_value_type {
    uint32_t offset;
    /* Of a varbit: 4 bytes for its length in bits, then its bytes as in a packet, then zeros. */
    uint32_t size_bytes;
    /* Of a varbit 0. */
    uint32_t width_bits;
    uint32_t is_varbit;
};

/* A key element that is matched on. */
struct sd_key_type {
    const char *name;
    struct sd_value_type value;
    uint32_t match_kind;
    /* A signed element that is matched by range: kept with the sign bit flipped, so that order is unsigned. */
    uint32_t is_biased;
};

struct sd_action_type {
    const char *name;
    uint32_t n_params;
    /* Leaves of the action data, offsets from its beginning. */
    const struct sd_value_type *params;
    uint32_t data_bytes;
};

struct sd_table_type {
    const char *name;
    uint32_t n_keys;
    const struct sd_key_type *keys;
    uint32_t key_bytes;
    uint32_t n_actions;
    const struct sd_action_type *actions;
    /* Of the largest action. */
    uint32_t data_bytes;
    /* Entries at most. */
    uint64_t size;
    /* Index of the object, or UINT32_MAX. */
    uint32_t profile;
    uint32_t has_direct_counter;
    uint32_t direct_counter_unit;
    uint32_t has_direct_meter;
    uint32_t direct_meter_unit;
    /* Entries may expire. */
    uint32_t has_idle_timeout;
    /* The compiler's decisions; the runtime asserts that they fit the rest of the descriptor (sd_structures.h). */
    /* enum sd_lookup_structure */
    uint32_t structure;
    /* Key, action and data lie in the structure itself, without a struct sd_entry. */
    uint32_t entries_are_inline;
    /* Lookups are staged when the table exceeds the cache. */
    uint32_t is_staged;
    /* enum sd_concurrent_op: what the control plane may do while workers run. */
    uint32_t concurrent_ops;
};

struct sd_object_type {
    const char *name;
    uint32_t kind;
    uint32_t unit;
    /* Cells of arrays, members of profiles (0: any number). */
    uint64_t size;
    /* Of registers: bytes of a cell, and the leaves in it. */
    uint32_t cell_bytes;
    uint32_t n_leaves;
    const struct sd_value_type *leaves;
    /* Of profiles: the largest action data of the tables that use it. */
    uint32_t data_bytes;
};

struct sd_value_set_type {
    const char *name;
    uint32_t n_fields;
    const struct sd_key_type *fields;
    uint32_t key_bytes;
    uint64_t size;
};

/* Where a field of the architecture's metadata lies in the state; `role` is the position in arch::FieldRole. */
struct sd_field_type {
    uint32_t role;
    struct sd_value_type value;
};

struct sd_bytes_range {
    uint32_t offset;
    uint32_t size;
};

/* What resubmit, recirculate and clone preserve: parts of the state. */
struct sd_field_list_type {
    uint32_t index;
    uint32_t n_ranges;
    const struct sd_bytes_range *ranges;
};

/* A call whose values the host sees: digest, log_msg, a user's extern. */
struct sd_call_type {
    /* Of the function, or `type.method`. */
    const char *name;
    /* Index of the object, or UINT32_MAX. */
    uint32_t object;
    uint32_t n_args;
    const struct sd_arg_type *args;
    /* Size 0: no result. */
    struct sd_value_type result;
    /* Bytes that the arguments take together. */
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

/* What a program asks the architecture to do with its packet; of several requests of a kind the last counts. */
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
    /* 0 of the packet as it came in, 1 of the packet as it leaves. */
    uint32_t clone_kind;
    uint32_t clone_session;
    uint32_t clone_list;
    uint32_t resubmit_list;
    uint32_t recirculate_list;
    uint32_t truncate_bytes;
};

/* What became of a packet that went straight through. */
enum sd_verdict {
    SD_VERDICT_SEND,
    SD_VERDICT_DROP,
    /* Goes on at the host, with the state and the requests that the worker holds: after its parser has rejected
       or ingress has run, or after egress has run. */
    SD_VERDICT_AFTER_INGRESS,
    SD_VERDICT_AFTER_EGRESS,
    /* Deparsed, but what was emitted does not fit in front of the payload: it is in the worker's buffer. */
    SD_VERDICT_NO_HEADROOM,
    /* Waits for an executor: its buffer is not the host's until `resume` gives it back. */
    SD_VERDICT_SUSPENDED
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
    /* Too many packets are at an asynchronous block. */
    SD_DROP_ASYNC_FULL,
    SD_N_DROPS
};

struct sd_packet {
    /* The first byte. In front of it `headroom_bytes` may be overwritten, and behind the last one `tailroom_bytes`. */
    uint8_t *data;
    uint32_t length_bytes;
    uint32_t headroom_bytes;
    uint32_t tailroom_bytes;
    uint32_t ingress_port;
    /* How far the parser has read. */
    uint64_t cursor_bits;
    /* Results of `process`. */
    uint32_t egress_port;
    uint32_t verdict;
    uint32_t drop;
    uint64_t arrived_ns;
    /* The host's: which of its packets this is. */
    uint64_t token;
};

struct sd_worker;
struct sd_instance;

struct sd_trace_event;

/* One of several calls of the same kind, each for a packet of its own. */
struct sd_host_call {
    struct sd_packet *packet;
    uint8_t *args;
    uint8_t *result;
    /* Set by the host: as `call` of struct sd_host gives it. */
    uint32_t end;
    uint32_t reserved;
};

/* What generated code asks of its host; every function may be NULL. */
struct sd_host {
    void *context;
    /* A call of a user's extern or of log_msg; values lie in `args` as sd_call_type says, references are
       written back. Gives SD_END_DONE or how the block ends. */
    uint32_t (*call)(void *context, struct sd_worker *worker, struct sd_packet *packet, uint32_t call,
                     uint8_t *args, uint8_t *result);
    /* The same for `n` calls with this number, whose values the extern may be given together; what comes of each is as if
       they had been called one after the other. There wherever the host sets `batch` of struct sd_offload_policy. */
    void (*call_batch)(void *context, struct sd_worker *worker, uint32_t call, struct sd_host_call *calls, uint32_t n);
    /* Of code that was compiled with -DSD_TRACE: see sd_trace.h. */
    void (*trace)(void *context, struct sd_worker *worker, struct sd_packet *packet, void *state,
                  const struct sd_trace_event *event);
};

/* Bytes that grow. */
struct sd_buffer {
    uint8_t *bytes;
    uint32_t length;
    uint32_t capacity;
};

struct sd_table_count {
    uint64_t n_lookups;
    uint64_t n_misses;
};

/* What one thread holds; nothing in it is shared while packets run. */
struct sd_worker {
    const struct sd_host *host;
    struct sd_instance *instance;
    uint32_t index;
    /* Set by the host before each burst or block. */
    uint32_t steps_left;
    uint64_t now_ns;
    /* Of the packet on the straight path. */
    void *state;
    struct sd_requests requests;
    /* What the deparser wrote; bits used of its last byte, 0 when it is full. */
    struct sd_buffer emitted;
    uint32_t emitted_tail_bits;
    /* Colour that the direct meter of the table gave this packet: 1 + colour, 0 for none. */
    uint8_t *direct_colours;
    /* Digests: for each uint32_t call, uint32_t length of what follows, then its arguments' bytes. */
    struct sd_buffer digests;
    /* Bytes to pack for hashes; bits used of its last byte, 0 when it is full. */
    struct sd_buffer scratch;
    uint32_t scratch_tail_bits;
    /* Of SD_FAILED_*: which buffers lack something, for want of memory or at their bound; see sd_buffer.h. */
    uint32_t failed;
    /* xoshiro256++ */
    uint64_t random[4];
    /* Of each table. */
    struct sd_table_count *table_counts;
    /* What packets of a burst keep while they wait: struct p4_burst of generated code; NULL where none waits. */
    void *burst;
    /* Digests of packets that wait; emptied when a burst begins. */
    struct sd_buffer kept;
    /* Of the burst whose packets have all run: those that go on at the host, the next one that `process` is to
       be called with, and how many are left. A host that does not go on with a burst sets the last to 0. */
    uint64_t leaving;
    uint32_t burst_at;
    uint32_t n_burst_left;
    /* Of each asynchronous block. */
    struct sd_offload_policy *async_ways;
    /* Whether packets may wait for executors: only those that go straight through. */
    uint32_t may_suspend;
    /* The packet that is about to wait. */
    struct sd_suspended *suspended;
    /* Of the time stamp counter: when the burst came, and when a block began whose cost is to be known, or 0. */
    uint64_t burst_since;
    uint64_t block_since;
    /* Of choices: bursts until the next look, and what is tried. */
    uint32_t n_bursts_until_look;
    uint32_t trial_point;
    uint32_t trial_phase;
    uint32_t n_trial_bursts;
    uint64_t trial_since;
    /* With the block here, and there. */
    uint64_t trial_cycles[2];
    uint64_t n_trial_packets[2];
    uint64_t n_trial_blocks;
    /*
     * What tells the control plane whether this worker may have something that was taken out of a table: see sd_epoch.h,
     * whose words these are. The host exchanges `*seen` for `*epoch` before it calls compiled code, reads `*epoch` once
     * more (all of that in the one order of sequentially consistent operations), and stores UINT64_MAX when the call is
     * over (release). As long as it is UINT64_MAX the worker runs nothing.
     */
    uint64_t *seen;
    const uint64_t *epoch;
};

/* --- Asynchronous blocks: see sd_async.h. --- */

enum sd_async_mode {
    /* The worker runs the block itself. */
    SD_ASYNC_INLINE,
    /* An executor runs it while the worker waits. */
    SD_ASYNC_WAIT,
    /* An executor runs it while the worker goes on with other packets. */
    SD_ASYNC_SUSPEND
};

/* What becomes of a packet when as many are under way as may be. */
enum sd_async_full {
    SD_ASYNC_FULL_DROP,
    SD_ASYNC_FULL_INLINE,
    /* The same for those that come nevertheless: the host takes no more packets than may wait. */
    SD_ASYNC_FULL_BACKPRESSURE
};

#define SD_ASYNC_BUCKETS 40u

/* Of struct sd_suspended, at the beginning of the buffer of a packet that waits: its alignment, and where its `point` is. */
#define SD_SUSPENDED_ALIGN 16u
#define SD_SUSPENDED_POINT_AT (sizeof(struct sd_packet) + 8u)

struct sd_channel;

/* A way that is chosen while the worker runs, and from what: see sd_async_choice.h. Cycles of the time stamp counter. */
struct sd_async_choice {
    /* Whether it is: the host's. */
    uint32_t is_on;
    /* What the block costs at this worker and, as executors say, there: averages; 0 where nobody has seen one. */
    uint32_t here_cycles;
    uint32_t there_cycles;
    /* What sending a packet and taking it back costs this worker. */
    uint32_t suspend_cycles;
    /* The block's when the two ways were last tried one after the other; looks since then. */
    uint32_t tried_cycles;
    uint32_t n_looks;
    /* Packets that the worker still runs the block of to see what it costs, though others go to the executor; the least
       of those before. */
    uint32_t n_probes_left;
    uint32_t probe_cycles;
    uint32_t n_changes;
    uint64_t n_trials;
};

/* How one worker treats one asynchronous block, and what it has counted. The host sets `channel` and `capacity` while
   nothing is under way, `full`, and `mode` unless it is chosen, between bursts. */
struct sd_offload_policy {
    struct sd_channel *channel;
    uint32_t mode;
    uint32_t full;
    uint32_t capacity;
    uint32_t n_in_flight;
    /* Sent when a burst ends, or when there are SD_ASYNC_BURST. */
    uint32_t n_waiting;
    /* At executors, of blocks with a `batched_call`: how many packets' calls are handed over at once; 0 and 1: one by one.
       The host's, set before the executor begins. */
    uint32_t batch;
    /* Blocks call externs that look at packets: another core's caches have their bytes, so they are asked for ahead. The
       host's, too. */
    uint32_t fetches_packets;
    uint32_t reserved;
    void *waiting[32];
    /* Blocks run by the worker: as it was told, for want of headroom, because too many were under way. */
    uint64_t n_here;
    uint64_t n_no_room;
    uint64_t n_full;
    uint64_t n_sent;
    /* Of those: the worker waited for them. */
    uint64_t n_waited;
    uint64_t n_done;
    /* Because too many were under way. */
    uint64_t n_dropped;
    uint64_t waited_cycles;
    /* By the power of two above the cycles. */
    uint64_t waited[SD_ASYNC_BUCKETS];
    /* At executors: blocks run, and cycles for them. */
    uint64_t n_served;
    uint64_t served_cycles;
    uint64_t served[SD_ASYNC_BUCKETS];
    /* Of those: how often several calls were handed over at once, and how many they were. */
    uint64_t n_batches;
    uint64_t n_batched;
    struct sd_async_choice choice;
};

struct sd_async_type {
    /* Of the block. */
    const char *name;
    /* As the program has written them: `mode=wait capacity=100`. */
    const char *settings;
    /* What a packet keeps before the block runs and after it: the larger of the two. */
    uint32_t context_bytes;
    /* Of the buffer's head in front of that. */
    uint32_t head_bytes;
    /* The call that executors can hand over for several packets at once; UINT32_MAX: none. */
    uint32_t batched_call;
    uint32_t reserved;
};

/* --- Tables: see sd_table.h for what they do. --- */

/* How an entry says what to do. */
enum sd_entry_kind { SD_ENTRY_ACTION, SD_ENTRY_MEMBER, SD_ENTRY_GROUP, SD_ENTRY_ONE_SHOT };

struct sd_weighted {
    /* Of groups the member; of one-shots the action and its data. */
    uint32_t member_or_action;
    uint32_t weight;
    /* Left out while this port is down; UINT32_MAX: never. */
    uint32_t watch_port;
    const uint8_t *data;
};

/* An entry as the control plane writes and reads it. Pointers given back are good until the next write. */
struct sd_entry_view {
    /* Grows with every insertion, never used again. */
    uint64_t handle;
    /* `key_bytes` each. Exact: the value, and ones; LPM, ternary and optional: what counts of the value, and a
       mask; range: the low and the high end. What matches everything has a mask of zeros (range: 0 to ones). */
    const uint8_t *value;
    const uint8_t *mask;
    /* Larger wins; then the one that came first. */
    int32_t priority;
    uint32_t kind;
    /* Action index, member id or group id. */
    uint32_t what;
    uint32_t is_const;
    const uint8_t *data;
    uint32_t n_weighted;
    const struct sd_weighted *weighted;
    /* Of tables whose entries may expire; elsewhere not kept. */
    uint64_t idle_timeout_ns;
    uint64_t last_hit_ns;
};

struct sd_count {
    uint64_t n_packets;
    uint64_t n_bytes;
};

/* Rates are per second, in the meter's unit. */
struct sd_meter_rates {
    uint64_t committed_rate;
    uint64_t committed_burst;
    uint64_t peak_rate;
    uint64_t peak_burst;
    uint32_t is_set;
    uint32_t reserved;
};

#define SD_DEFAULT_ENTRY UINT64_MAX

/* What can be done with a table while workers run packets. */
enum sd_concurrent_op {
    /* find, get, next */
    SD_CONCURRENT_READ = 1,
    /* insert, insert_batch, reserve */
    SD_CONCURRENT_INSERT = 2,
    SD_CONCURRENT_MODIFY = 4,
    SD_CONCURRENT_REMOVE = 8,
    SD_CONCURRENT_EXPIRE = 16
};

/*
 * What the control plane does with an instance. One caller at a time, and no worker within a burst or a block, except for
 * operations that the table's descriptor lists in `concurrent_ops`. What these find was true at one moment of the call.
 */
struct sd_control_ops {
    uint32_t (*table_insert)(struct sd_instance *, uint32_t table, const struct sd_entry_view *,
                             uint64_t now_ns, uint64_t *handle);
    /* As table_insert for each of `n`, one after the other: gives how many there are more, of each the status (of enum
       sd_status) and, where that is SD_OK, the handle. */
    uint32_t (*table_insert_batch)(struct sd_instance *, uint32_t table, const struct sd_entry_view *, uint32_t n,
                                   uint64_t now_ns, uint64_t *handles, uint8_t *statuses);
    /* Room for `n` entries in all, so that inserting them is quick; SD_FULL where so many can never be. Advice: inserts do
       without, and tables that have nothing to make ahead say SD_OK. */
    uint32_t (*table_reserve)(struct sd_instance *, uint32_t table, uint64_t n);
    /* Of the entry with this key and priority the action and the idle timeout. */
    uint32_t (*table_modify)(struct sd_instance *, uint32_t table, const struct sd_entry_view *,
                             uint64_t now_ns, uint64_t *handle);
    uint32_t (*table_remove)(struct sd_instance *, uint32_t table, const struct sd_entry_view *);
    uint32_t (*table_find)(struct sd_instance *, uint32_t table, const struct sd_entry_view *key,
                           struct sd_entry_view *found);
    uint32_t (*table_get)(struct sd_instance *, uint32_t table, uint64_t handle, struct sd_entry_view *found);
    /* The entry with the smallest handle above `*after` (begin with 0 minus 1 by passing UINT64_MAX). */
    uint32_t (*table_next)(struct sd_instance *, uint32_t table, uint64_t *after, struct sd_entry_view *found);
    uint64_t (*table_n_entries)(struct sd_instance *, uint32_t table);
    uint32_t (*table_set_default)(struct sd_instance *, uint32_t table, uint32_t action, const uint8_t *data);
    /* Gives the action's index, UINT32_MAX where none was ever set. */
    uint32_t (*table_default)(struct sd_instance *, uint32_t table, const uint8_t **data);
    /* Direct cells; the handle may be SD_DEFAULT_ENTRY. */
    uint32_t (*direct_count)(struct sd_instance *, uint32_t table, uint64_t handle, struct sd_count *);
    uint32_t (*set_direct_count)(struct sd_instance *, uint32_t table, uint64_t handle, struct sd_count);
    uint32_t (*direct_rates)(struct sd_instance *, uint32_t table, uint64_t handle, struct sd_meter_rates *);
    uint32_t (*set_direct_rates)(struct sd_instance *, uint32_t table, uint64_t handle,
                                 const struct sd_meter_rates *, uint64_t now_ns);
    /* Entries that were not hit for as long as they say, each once per such time: handles in order, at most
       `n_max`; gives their number. */
    uint32_t (*table_take_expired)(struct sd_instance *, uint32_t table, uint64_t now_ns, uint64_t *handles,
                                   uint32_t n_max);

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
    /* All ports that are down: those of an earlier call are up again. */
    uint32_t (*set_ports_down)(struct sd_instance *, const uint32_t *ports, uint32_t n_ports);

    /* Replaces all members: `n` values and masks, one after the other. */
    uint32_t (*value_set_write)(struct sd_instance *, uint32_t value_set, const uint8_t *values,
                                const uint8_t *masks, uint32_t n);
    /* Gives the number of members. */
    uint32_t (*value_set_read)(struct sd_instance *, uint32_t value_set, const uint8_t **values,
                               const uint8_t **masks);

    /* Cells of arrays; an index of UINT64_MAX writes all. */
    uint32_t (*counter_read)(struct sd_instance *, uint32_t object, uint64_t index, struct sd_count *);
    uint32_t (*counter_write)(struct sd_instance *, uint32_t object, uint64_t index, struct sd_count);
    uint32_t (*meter_read)(struct sd_instance *, uint32_t object, uint64_t index, struct sd_meter_rates *);
    uint32_t (*meter_write)(struct sd_instance *, uint32_t object, uint64_t index,
                            const struct sd_meter_rates *, uint64_t now_ns);
    uint32_t (*register_read)(struct sd_instance *, uint32_t object, uint64_t index, uint8_t *cell);
    uint32_t (*register_write)(struct sd_instance *, uint32_t object, uint64_t index, const uint8_t *cell);
};

/* What an instance is made with. */
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
    /* What a worker needs for packets that wait; 0: none ever does. */
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
    /* Parts of the state that are the architecture's and the user's metadata: zeroed for clones. */
    uint32_t n_metadata;
    uint32_t has_trace;
    const struct sd_bytes_range *metadata;
    /* The filter's verdict; size 0 where there is none. */
    struct sd_value_type accept;

    /* With the entries that the program declares; NULL when memory is short. */
    struct sd_instance *(*create)(const struct sd_config *);
    void (*destroy)(struct sd_instance *);
    struct sd_worker *(*worker)(struct sd_instance *, uint32_t index);
    /* A block of a role that the program lacks ends at once. */
    uint32_t (*run_block)(uint32_t role, struct sd_worker *, struct sd_packet *, void *state);
    /*
     * Packets straight through, from arrival to their verdicts. Stops after a packet that has to go on at the
     * host, whose state is in `worker->state`; gives the number of packets that have a verdict, that one
     * included. The next call goes on with the packets after it, at the same addresses: some of these may have
     * run already. NULL where the architecture has no straight path.
     */
    uint32_t (*process)(struct sd_worker *, struct sd_packet *packets, uint32_t n);

    /* Asynchronous blocks; without any, what follows is 0. */
    uint32_t n_async;
    const struct sd_async_type *asyncs;
    struct sd_channel *(*channel_create)(uint32_t capacity);
    void (*channel_destroy)(struct sd_channel *);
    /*
     * Goes on with packets that are back, up to `n`: gives them with their verdicts, as `process` does. Stops after one
     * that has to go on at the host, which is the last one then. Packets that wait again are not among them.
     */
    uint32_t (*resume)(struct sd_worker *, struct sd_packet *packets, uint32_t n);
    /* Runs the blocks of packets that have come through these channels, on a worker that is an executor; gives how
       many. */
    uint32_t (*serve)(struct sd_worker *executor, struct sd_channel *const *channels, uint32_t n_channels);
};

#endif
