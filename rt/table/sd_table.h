/*
 * Tables: how packets look keys up.
 *
 * Owns: the one switch from a table's lookup structure to its lookup functions, and the bounds above which a table
 * exceeds the cache.
 *
 * The compiler chooses the lookup structure of each table (crate `codegen`, facts/table_kind.rs) and writes it into the
 * table's descriptor, struct sd_table_type:
 *
 *   exact        exact keys: a hash table, sd_exact.h. Action and data lie beside the key, so a packet reads the entry
 *                only if the table meters, expires or has a profile. Tables that do none of that and do not count have
 *                inline entries: key, action and data in the hash table are the entry, and there is no other.
 *   direct       exact keys of few bits: an array indexed by the key.
 *   lpm          one LPM element, with any exact ones: a compressed trie, sd_lpm.h.
 *   prefix_hash  the same for keys that are too wide for a trie.
 *   ternary      anything else: sd_ternary.h. The largest priority wins; without ternary, range and optional elements the
 *                largest sum of prefix lengths; then the entry that was inserted first.
 *   flow         exact keys that packets add, and whose entries end: sd_flow.h.
 *   none         no key: no entries.
 *
 * Workers look keys up while the control plane inserts, modifies and removes entries (type->concurrent_ops): an entry is
 * complete before the structure leads to it, and what lookups read of it is not changed afterwards, except for the time of
 * the last hit, the direct counter (a cell for each worker) and the direct meter (locked). Modified entries are others, of
 * which lookups find the old or the new one.
 */
#ifndef SD_TABLE_H
#define SD_TABLE_H

#include "table/direct/sd_direct_lookup.h"
#include "table/exact/sd_exact_lookup.h"
#include "table/flow/sd_flow_lookup.h"
#include "table/lpm/sd_lpm_lookup.h"
#include "table/prefix_hash/sd_prefix_hash_lookup.h"
#include "table/ternary/sd_ternary_lookup.h"

/*
 * Returns sd_<structure>_lookup_<step>(...) of the table's structure. `type` is a constant in generated code, so one case
 * is left after optimisation.
 */
#define SD_RETURN_LOOKUP(type, step, ...)                                        \
    switch ((enum sd_lookup_structure)(type)->structure) {                       \
    case SD_STRUCTURE_EXACT: return sd_exact_lookup_##step(__VA_ARGS__);         \
    case SD_STRUCTURE_DIRECT: return sd_direct_lookup_##step(__VA_ARGS__);       \
    case SD_STRUCTURE_LPM: return sd_lpm_lookup_##step(__VA_ARGS__);             \
    case SD_STRUCTURE_PREFIX_HASH: return sd_prefix_hash_lookup_##step(__VA_ARGS__); \
    case SD_STRUCTURE_TERNARY: return sd_ternary_lookup_##step(__VA_ARGS__);     \
    case SD_STRUCTURE_FLOW: return sd_flow_lookup_##step(__VA_ARGS__);           \
    case SD_STRUCTURE_NONE:                                                      \
    case SD_N_STRUCTURES: break;                                                 \
    }                                                                            \
    return sd_none_lookup_##step(__VA_ARGS__)

/* Bytes of entries that stay in a near cache, for each table; above that a packet waits longer than a switch to another
   packet takes. */
#define SD_CACHED_BYTES (UINT64_C(256) << 10)
/* Bound for one table of a program with many tables, whose packets take long enough to hide part of the latency. */
#define SD_CACHED_BYTES_LARGE (UINT64_C(1) << 20)

/* True if packets should suspend at this table; for programs with many tables. */
SD_ALWAYS_INLINE bool sd_table_exceeds_cache(const struct sd_worker *w, uint32_t table)
{
    const struct sd_instance *instance = w->instance;
    const struct sd_table *t = &instance->tables[table];
    if (SD_UNLIKELY(instance->path != SD_PATH_AUTO))
        return instance->path == SD_PATH_BURSTS || (instance->path == SD_PATH_MIXED && table % 2 == 1);
    return __atomic_load_n(&t->exceeds_cache, __ATOMIC_RELAXED);
}

/*
 * A lookup in up to four steps, between which other packets run while prefetched memory arrives. `type` is the table's
 * descriptor and `key_bytes` the size in it; both are constants in generated code.
 *
 * Step 1: hashes the key; with SD_LOOKUP_STAGED it prefetches what step 2 reads, otherwise step 4 follows at once.
 */
SD_ALWAYS_INLINE void sd_table_lookup_hash(const struct sd_worker *w, uint32_t table, const struct sd_table_type *type,
                                           const void *key, uint32_t key_bytes, enum sd_lookup_mode mode,
                                           struct sd_lookup_state *state)
{
    const struct sd_table *t = &w->instance->tables[table];
    SD_RETURN_LOOKUP(type, hash, t, type, key, key_bytes, mode, state);
}

/* Step 2: reads what step 1 prefetched, and prefetches what that leads to. */
SD_ALWAYS_INLINE void sd_table_prefetch_entry(const struct sd_worker *w, uint32_t table, const struct sd_table_type *type,
                                              uint32_t key_bytes, struct sd_lookup_state *state)
{
    const struct sd_table *t = &w->instance->tables[table];
    SD_RETURN_LOOKUP(type, prefetch_entry, t, type, key_bytes, state);
}

/* Step 3, for structures that do not store the entry themselves: prefetches the entry and its counter. `key` may be NULL;
   then some structures leave their lookup to step 4. */
SD_ALWAYS_INLINE void sd_table_prefetch_record(const struct sd_worker *w, uint32_t table,
                                               const struct sd_table_type *type, const void *key, uint32_t key_bytes,
                                               struct sd_lookup_state *state)
{
    const struct sd_table *t = &w->instance->tables[table];
    SD_RETURN_LOOKUP(type, prefetch_record, w, t, type, key, key_bytes, state);
}

/* Step 4: the result. `state` comes from sd_table_lookup_hash with the same key. The caller counts the lookup. */
SD_ALWAYS_INLINE struct sd_found sd_table_lookup_finish(struct sd_worker *w, struct sd_packet *packet, uint32_t table,
                                                        const struct sd_table_type *type, const void *key,
                                                        uint32_t key_bytes, const struct sd_lookup_state *state,
                                                        uint64_t selector_hash)
{
    SD_RETURN_LOOKUP(type, finish, w, packet, table, type, key, key_bytes, state, selector_hash);
}

/* All steps at once. The caller counts the lookup. */
SD_ALWAYS_INLINE struct sd_found sd_table_lookup_uncounted(struct sd_worker *w, struct sd_packet *packet, uint32_t table,
                                                           const struct sd_table_type *type, const void *key,
                                                           uint32_t key_bytes, uint64_t selector_hash)
{
    struct sd_lookup_state state = {NULL, 0};
    sd_table_lookup_hash(w, table, type, key, key_bytes, SD_LOOKUP_INLINE, &state);
    return sd_table_lookup_finish(w, packet, table, type, key, key_bytes, &state, selector_hash);
}

SD_ALWAYS_INLINE struct sd_found sd_table_lookup(struct sd_worker *w, struct sd_packet *packet, uint32_t table,
                                                 const struct sd_table_type *type, const void *key,
                                                 uint32_t key_bytes, uint64_t selector_hash)
{
    w->table_counts[table].n_lookups++;
    return sd_table_lookup_uncounted(w, packet, table, type, key, key_bytes, selector_hash);
}

/*
 * An action that only adds to data of the entry that was found begins; sd_data_end_update ends it. Returns what it adds to: the
 * worker's shard, or the data of the entry where the switch has one worker.
 */
SD_ALWAYS_INLINE const uint8_t *sd_table_begin_sharded(struct sd_worker *w, uint32_t table, const struct sd_table_type *type,
                                                       const struct sd_found *found)
{
    const struct sd_table *t = &w->instance->tables[table];
    if (!sd_table_has_shards(t, type)) {
        sd_data_begin_update(w, table, found->data);
        return found->data;
    }
    if (!found->hit)
        return sd_shard_begin(w, table, type, sd_default_shard(t, type, w->index), 0);
    if (type->structure == SD_STRUCTURE_FLOW) {
        struct sd_flow_shape shape = sd_flow_table_shape(t, type, type->key_bytes);
        const void *entry = found->data - sd_flow_data_at(shape);
        const struct sd_flow_entry *e = entry;
        return sd_shard_begin(w, table, type, sd_flow_shard(t, type, shape, e, w->index), e->n_uses);
    }
    const void *entry = found->data - sd_data_at(type);
    const struct sd_entry *e = entry;
    return sd_shard_begin(w, table, type, sd_slot_shard(t, type, e->slot, w->index), 0);
}

/* The colour of the packet being processed: green if it hit no entry. */
SD_INLINE uint32_t sd_direct_meter_colour(const struct sd_worker *w, uint32_t table)
{
    return w->direct_colours[table] ? w->direct_colours[table] - 1u : SD_GREEN;
}

/* Counts a packet for the entry of the table whose action runs. */
SD_INLINE void sd_direct_counter_count(struct sd_worker *w, uint32_t table, uint64_t n_bytes)
{
    const struct sd_direct *direct = &w->direct[table];
    if (direct->count)
        sd_count_add(direct->count, w->instance->tables[table].type->direct_counter_unit, 1, n_bytes);
}

/* Meters a packet of the colour `before` for the entry of the table whose action runs, and returns its new colour. */
SD_INLINE uint32_t sd_direct_meter_execute(struct sd_worker *w, uint32_t table, uint64_t before, uint64_t n_bytes)
{
    const struct sd_direct *direct = &w->direct[table];
    if (!direct->meter)
        return SD_GREEN;
    uint64_t n = w->instance->tables[table].type->direct_meter_unit == SD_UNIT_BYTES ? n_bytes : 1;
    uint32_t colour = sd_meter_mark(direct->meter, (uint32_t)before, n, w->now_ns);
    sd_colours_add(direct->colours, colour, n_bytes);
    return colour;
}

/* Called when a packet begins a block. */
SD_INLINE void sd_direct_colours_reset(struct sd_worker *w)
{
    memset(w->direct_colours, 0, w->instance->pipeline->n_tables);
}

#endif
