/*
 * Entries in memory: struct sd_table, struct sd_entry and where the parts of an entry are.
 *
 * Owns: the layout of an entry, its shards, and the chunks in which entries are allocated.
 *
 * An entry stays at its address until it is removed or replaced; its slot (chunk and position) is reused after all workers
 * have passed a quiescent state (sd_epoch.h). Handles are never reused. Tables with inline entries
 * (type->entries_are_inline) have no struct sd_entry: the exact structure stores key, action, handle and data together, see
 * exact/sd_inline.h.
 */
#ifndef SD_ENTRY_H
#define SD_ENTRY_H

#include "object/sd_counter.h"
#include "object/sd_meter.h"
#include "object/sd_profile.h"
#include "table/exact/sd_exact.h"
#include "table/flow/sd_flow_write.h"
#include "table/lpm/sd_lpm.h"
#include "table/prefix_hash/sd_prefix_hash.h"
#include "table/sd_structure.h"
#include "table/sd_table_order.h"
#include "table/ternary/sd_ternary.h"

#define SD_NEVER UINT64_MAX

/* Longest key that is copied to the stack for a lookup that is not inlined. */
#define SD_KEY_BYTES_MAX 64u

/* Value, data, times, mask and meter follow, at the offsets that struct sd_table has. */
struct sd_entry {
    uint64_t handle;
    /* Member, group or one-shot; NULL for an entry with an action. */
    void *target;
    /* Action index, member id or group id. */
    uint32_t what;
    /* Position in the chunks. */
    uint32_t slot;
    union {
        int32_t priority;
        /* Lookups read no priority, so this is written as soon as the entry is removed or replaced. */
        uint32_t next_removed;
    };
    /* Sum of the LPM keys' prefix lengths. */
    uint32_t prefix_bits : 28;
    /* enum sd_entry_kind */
    uint32_t kind : 3;
    uint32_t is_const : 1;
};

_Static_assert(sizeof(struct sd_entry) == 32, "with a short key and little data an entry takes one line");

/* Times of an entry that may expire. */
struct sd_entry_times {
    uint64_t last_hit_ns;
    /* When the expiry was reported after the last hit, or SD_NEVER. */
    uint64_t reported_ns;
    uint64_t idle_timeout_ns;
};

#define SD_CHUNK_BITS 8
#define SD_CHUNK_SLOTS (1u << SD_CHUNK_BITS)

struct sd_chunk {
    uint8_t *entries;
    /* For each worker SD_CHUNK_SLOTS cells of the direct counter; behind those of all workers, as many counts of the colours of
       the direct meter, then as many shards (struct sd_shard). NULL: the table has none of them. */
    struct sd_count *counts;
};

/*
 * The control plane's part of the cells of a chunk; exists as soon as an entry of the chunk was replaced or a cell of it was
 * written. Nothing here is a worker's.
 */
struct sd_carried {
    /* 1 + the slot that this one has replaced, whose workers may still count there, and 1 + the slot that has replaced this
       one; 0: none. */
    uint32_t before[SD_CHUNK_SLOTS], after[SD_CHUNK_SLOTS];
    /* Added to the cells of the workers. */
    struct sd_count counts[SD_CHUNK_SLOTS];
    /* SD_CHUNK_SLOTS of them in tables with a direct meter. */
    struct sd_colour_counts colours[];
};

/* Packets that a worker has counted for the default entry. */
struct sd_default_cells {
    struct sd_count count;
    struct sd_colour_counts colours;
};

_Static_assert(sizeof(struct sd_default_cells) == SD_LINE_BYTES, "the cells of two workers share no line");

/*
 * A worker's part of the sums in an entry: what it has added to those data that its action only adds to (sd_shard.h). As many
 * bytes as the data of the action follow, in the same places.
 */
struct sd_shard {
    /* Odd while the worker changes the shard. */
    uint32_t sequence;
    /* The entry that it belongs to, of those that the slot has had; for others it counts as zeros. */
    uint32_t n_uses;
};

_Static_assert(sizeof(struct sd_shard) == 8, "data of shards are aligned as those of entries");

struct sd_entry_ops;

/* Entries that are read together, of tables whose actions change the data of entries. */
#define SD_N_DATA_COPIES 128u

/*
 * Fields that lookups read stand first. Those that the control plane writes with each entry are on lines of their own: workers
 * would wait for a line that another core writes.
 */
struct sd_table {
    const struct sd_table_type *type;
    /* Operations of type->structure, and of entries as records or inline. */
    const struct sd_structure_ops *structure;
    const struct sd_entry_ops *entry_ops;
    /* Offsets in an entry; 0: entries have no such part. */
    uint32_t value_at, data_at, times_at, mask_at, meter_at, entry_bytes;
    uint32_t data_bytes;
    uint32_t n_workers;
    struct sd_chunk *chunks;
    /* Random multipliers of sd_key_hash: for keys, then for masks. */
    uint64_t *secrets;
    /* The mask of an entry whose key elements are all exact. */
    uint8_t *ones;
    uint32_t default_action;
    /* The entries exceed the cache: there are more than `n_entries_cached_max`. */
    bool exceeds_cache;
    uint8_t *default_data;
    /* The instance's, see sd_data.h; NULL: the table is no part of one. */
    uint32_t *data_sequences;
    /* For views: SD_N_DATA_COPIES of entries, then one of the default entry. NULL: no action changes them. */
    uint8_t *data_copies;
    /* For each worker; NULL without direct counters and meters. */
    struct sd_default_cells *default_cells;
    /* For each worker, on lines of its own, the shard of the default entry, then a copy for the control plane. NULL: the table
       has no shards. */
    uint8_t *default_shards;
    /* The distance of the shards of a chunk from its counts. */
    size_t chunk_shards_at;

    /* The lookup structure: type->structure says which. */
    union {
        struct {
            struct sd_exact exact;
            /* Scratch memory for one value of `exact`. */
            uint8_t *exact_value;
        };
        /* Indexed by key; NULL: no entry. */
        struct sd_entry **direct;
        struct sd_lpm lpm;
        struct {
            struct sd_flow flow;
            /* One for each worker, then the control plane's. */
            struct sd_flow_writer *flow_writers;
            /* Copies of entries for views. */
            uint8_t *flow_copies;
            /* Offsets of cells in an entry. */
            uint32_t flow_meter_at, flow_counts_at, flow_colours_at;
            /* The shards of each worker, one for each slot, and their bytes. */
            uint8_t *flow_shards;
            size_t flow_shards_bytes;
        };
        struct sd_prefix_hash prefix_hash;
        struct {
            struct sd_ternary ternary;
            /* From value, mask and priority to slots. */
            struct sd_index identities;
            /* Some key element is ternary, range or optional. */
            bool has_priority;
        };
    };

    /* Workers write it, too. */
    struct sd_meter default_meter __attribute__((aligned(SD_LINE_BYTES)));

    uint64_t n_chunks __attribute__((aligned(SD_LINE_BYTES)));
    uint64_t chunks_capacity;
    /* Memory of the chunks. */
    struct sd_blocks blocks;
    /* For each chunk; NULL: nothing is carried over. Chunks from `carried_capacity` on carry nothing. */
    struct sd_carried **carried;
    uint64_t carried_capacity;
    /* Number of slots ever used. */
    uint32_t n_slots;
    /* The free ones among them; the last one is taken first. */
    uint32_t *free_slots;
    uint64_t n_free_slots, free_slots_capacity;
    /* Two lists of removed entries, the first removed first: those removed since, and those that wait for
       `waiting_stamp`. */
    uint32_t removed_slot, last_removed_slot, waiting_slot, n_removed_slots;
    uint64_t waiting_stamp;
    /* The instance's. */
    struct sd_epochs *epochs;
    /* Outgrown arrays of chunks. */
    struct sd_limbo limbo;
    uint64_t n_entries, n_timed;
    /* SD_CACHED_BYTES_LARGE in entries. */
    uint64_t n_entries_cached_max;
    uint64_t next_handle;
    /* Entries when the instance was last told of their bytes. */
    uint64_t n_entries_told;
    /* Insertion order: slot + 1 of each entry; inline entries: the hash of the key. */
    struct sd_order order;
};

/*
 * The chunk of a slot that a lookup has found. The array of chunks has the chunk since the slot was first used, so the array
 * must be read after the slot, though no data dependency orders the two: x86 does, and compilers keep volatile accesses in
 * order.
 */
SD_ALWAYS_INLINE const struct sd_chunk *sd_chunk_at(const struct sd_table *t, uint32_t slot)
{
#if defined(SD_EXACT_SSE2) && !defined(SD_EXACT_ATOMIC_TAGS)
    __asm__ volatile("" : "+r"(slot));
    const struct sd_chunk *chunks = *(struct sd_chunk *const volatile *)&t->chunks;
#else
    const struct sd_chunk *chunks = __atomic_load_n(&t->chunks, __ATOMIC_ACQUIRE);
#endif
    return chunks + (slot >> SD_CHUNK_BITS);
}

SD_ALWAYS_INLINE struct sd_entry *sd_chunk_entry(const struct sd_table *t, const struct sd_chunk *chunk, uint32_t slot)
{
    return (struct sd_entry *)(void *)(chunk->entries + (size_t)(slot & (SD_CHUNK_SLOTS - 1)) * t->entry_bytes);
}

SD_ALWAYS_INLINE struct sd_count *sd_chunk_count(const struct sd_chunk *chunk, uint32_t slot, uint32_t worker)
{
    return chunk->counts + (size_t)worker * SD_CHUNK_SLOTS + (slot & (SD_CHUNK_SLOTS - 1));
}

SD_ALWAYS_INLINE size_t sd_chunk_counts(const struct sd_table *t, const struct sd_table_type *type)
{
    return type->has_direct_counter ? (size_t)t->n_workers * SD_CHUNK_SLOTS : 0;
}

/* In tables with a direct meter. */
SD_ALWAYS_INLINE struct sd_colour_counts *sd_slot_colours(const struct sd_table *t, const struct sd_table_type *type,
                                                          uint32_t slot, uint32_t worker)
{
    struct sd_count *counts = sd_chunk_at(t, slot)->counts + sd_chunk_counts(t, type);
    return (struct sd_colour_counts *)(void *)counts + (size_t)worker * SD_CHUNK_SLOTS + (slot & (SD_CHUNK_SLOTS - 1));
}

/* Actions of the table have shards: several workers may change an entry. */
SD_ALWAYS_INLINE bool sd_table_has_shards(const struct sd_table *t, const struct sd_table_type *type)
{
    return type->sharded_bytes > 0 && t->n_workers > 1;
}

/* Bytes of a shard with its data. */
SD_ALWAYS_INLINE size_t sd_shard_bytes(const struct sd_table_type *type)
{
    return sizeof(struct sd_shard) + sd_round_up(type->sharded_bytes, sizeof(uint64_t));
}

SD_ALWAYS_INLINE uint8_t *sd_shard_data(struct sd_shard *shard)
{
    return (uint8_t *)(shard + 1);
}

/* In tables with shards and records. */
SD_ALWAYS_INLINE struct sd_shard *sd_slot_shard(const struct sd_table *t, const struct sd_table_type *type, uint32_t slot,
                                                uint32_t worker)
{
    uint8_t *shards = (uint8_t *)sd_chunk_at(t, slot)->counts + t->chunk_shards_at;
    size_t i = (size_t)worker * SD_CHUNK_SLOTS + (slot & (SD_CHUNK_SLOTS - 1));
    return (struct sd_shard *)(void *)(shards + i * sd_shard_bytes(type));
}

SD_ALWAYS_INLINE struct sd_shard *sd_default_shard(const struct sd_table *t, const struct sd_table_type *type, uint32_t worker)
{
    size_t n_bytes = sd_round_up(sd_shard_bytes(type), SD_LINE_BYTES);
    return (struct sd_shard *)(void *)(t->default_shards + worker * n_bytes);
}

SD_ALWAYS_INLINE struct sd_entry *sd_entry_at(const struct sd_table *t, uint32_t slot)
{
    return sd_chunk_entry(t, sd_chunk_at(t, slot), slot);
}

/* The entry of an element of the insertion order, in tables with records. */
SD_INLINE struct sd_entry *sd_entry_ordered(const struct sd_table *t, uint64_t ordered)
{
    return sd_entry_at(t, (uint32_t)(ordered - 1));
}

SD_ALWAYS_INLINE uint8_t *sd_entry_value(const struct sd_table *t, const struct sd_entry *e)
{
    return (uint8_t *)(uintptr_t)e + t->value_at;
}

/* The offset of the data in an entry: a constant if the type is one. */
SD_ALWAYS_INLINE uint32_t sd_data_at(const struct sd_table_type *type)
{
    return (uint32_t)sd_round_up(sizeof(struct sd_entry) + type->key_bytes, SD_DATA_ALIGN);
}

SD_ALWAYS_INLINE uint8_t *sd_entry_data(const struct sd_table *t, const struct sd_entry *e)
{
    return (uint8_t *)(uintptr_t)e + t->data_at;
}

/* In tables with idle timeouts. */
SD_ALWAYS_INLINE struct sd_entry_times *sd_entry_times(const struct sd_table *t, const struct sd_entry *e)
{
    return (struct sd_entry_times *)(void *)((uint8_t *)(uintptr_t)e + t->times_at);
}

SD_ALWAYS_INLINE const uint8_t *sd_entry_mask(const struct sd_table *t, const struct sd_entry *e)
{
    return t->mask_at ? (const uint8_t *)e + t->mask_at : t->ones;
}

SD_INLINE struct sd_meter *sd_entry_meter(const struct sd_table *t, const struct sd_entry *e)
{
    return (struct sd_meter *)(void *)((uint8_t *)(uintptr_t)e + t->meter_at);
}

SD_ALWAYS_INLINE struct sd_count *sd_slot_count(const struct sd_table *t, uint32_t slot, uint32_t worker)
{
    return sd_chunk_count(sd_chunk_at(t, slot), slot, worker);
}

SD_INLINE struct sd_count *sd_entry_count(const struct sd_table *t, const struct sd_entry *e, uint32_t worker)
{
    return sd_slot_count(t, e->slot, worker);
}

/* The first entry in `index` whose key agrees with `key` where `mask` has ones. */
SD_ALWAYS_INLINE struct sd_entry *sd_index_find(const struct sd_table *t, const struct sd_index *index,
                                                uint64_t hash, const uint8_t *key, const uint8_t *mask,
                                                uint32_t key_bytes)
{
    uint32_t at = (uint32_t)hash, slot;
    while ((slot = sd_index_next(index, hash, &at)) != SD_NO_SLOT) {
        struct sd_entry *e = sd_entry_at(t, slot);
        if (SD_LIKELY(sd_key_equal(key, sd_entry_value(t, e), mask, key_bytes)))
            return e;
    }
    return NULL;
}

#endif
