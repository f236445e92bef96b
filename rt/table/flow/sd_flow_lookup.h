/*
 * Tables whose entries packets add: how packets look keys up, add entries and restart timers.
 *
 * Owns: the steps of a lookup (sd_table.h) in struct sd_flow. The entry is looked for in the last step, whatever the steps before
 * have prefetched: of two packets of a new flow in one burst the first adds the entry, and the second hits it.
 */
#ifndef SD_FLOW_LOOKUP_H
#define SD_FLOW_LOOKUP_H

#include "table/flow/sd_flow_write.h"
#include "table/sd_lookup.h"

/* Entries have cells of workers, whose number is not known to the compiler. */
SD_ALWAYS_INLINE bool sd_flow_type_has_cells(const struct sd_table_type *type)
{
    return type->has_direct_counter || type->has_direct_meter;
}

/* The shape of a table's entries: constants on the lookup path, unless they have cells. */
SD_ALWAYS_INLINE struct sd_flow_shape sd_flow_table_shape(const struct sd_table *t, const struct sd_table_type *type,
                                                          uint32_t key_bytes)
{
    if (sd_flow_type_has_cells(type))
        return t->flow.shape;
    /* The entry's own timeout, and when its expiry was reported. */
    return (struct sd_flow_shape){key_bytes, type->data_bytes, type->has_idle_timeout ? 2 * sizeof(uint64_t) : 0};
}

SD_ALWAYS_INLINE void sd_flow_lookup_hash(const struct sd_table *t, const struct sd_table_type *type, const void *key,
                                          uint32_t key_bytes, enum sd_lookup_mode mode, struct sd_lookup_state *state)
{
    struct sd_flow_shape shape = sd_flow_table_shape(t, type, key_bytes);
    state->at = NULL;
    state->hash = sd_flow_hash(&t->flow, shape, key);
    if (mode == SD_LOOKUP_STAGED)
        sd_flow_prefetch_home(&t->flow, shape, state->hash);
}

SD_ALWAYS_INLINE void sd_flow_lookup_prefetch_entry(const struct sd_table *t, const struct sd_table_type *type,
                                                    uint32_t key_bytes, struct sd_lookup_state *state)
{
    sd_flow_prefetch_entry(&t->flow, sd_flow_table_shape(t, type, key_bytes), state->hash);
}

/* The number of an entry's slot: its bucket's entries come one after the other. */
SD_ALWAYS_INLINE uint64_t sd_flow_slot(const struct sd_flow *t, struct sd_flow_shape shape, const struct sd_flow_entry *e)
{
    uint32_t bucket_bytes = sd_flow_bucket_bytes(shape);
    size_t at = (size_t)((const uint8_t *)e - t->buckets);
    return at / bucket_bytes * SD_FLOW_SLOTS + (at % bucket_bytes - SD_EXACT_TAGS_BYTES) / sd_flow_entry_bytes(shape);
}

/* A worker's shard of an entry, in tables with shards. */
SD_ALWAYS_INLINE struct sd_shard *sd_flow_shard(const struct sd_table *t, const struct sd_table_type *type,
                                                struct sd_flow_shape shape, const struct sd_flow_entry *e, uint32_t worker)
{
    uint8_t *shards = t->flow_shards + worker * t->flow_shards_bytes;
    return (struct sd_shard *)(void *)(shards + sd_flow_slot(&t->flow, shape, e) * sd_shard_bytes(type));
}

/* Prefetches the shard of the entry that the tags at home lead to. */
SD_ALWAYS_INLINE void sd_flow_lookup_prefetch_record(const struct sd_worker *w, const struct sd_table *t,
                                                     const struct sd_table_type *type, const void *key,
                                                     uint32_t key_bytes, struct sd_lookup_state *state)
{
    (void)key;
    if (!sd_table_has_shards(t, type))
        return;
    struct sd_flow_shape shape = sd_flow_table_shape(t, type, key_bytes);
    uint8_t *bucket = sd_flow_bucket(&t->flow, shape, sd_flow_home(&t->flow, state->hash));
    uint32_t lanes = sd_exact_match(bucket, (uint16_t)state->hash);
    if (!lanes)
        return;
    const struct sd_flow_entry *e = sd_flow_entry(shape, bucket, sd_exact_lane(lanes));
    __builtin_prefetch(sd_flow_shard(t, type, shape, e, w->index), 1);
}

/* The name of an entry: its slot and how many entries the slot has had. */
SD_INLINE uint64_t sd_flow_handle(const struct sd_flow *t, const struct sd_flow_entry *e)
{
    return sd_flow_slot(t, t->shape, e) << 32 | e->n_uses;
}

/* A worker's cell of the direct counter; that behind the last worker is the control plane's. */
SD_ALWAYS_INLINE struct sd_count *sd_flow_count(const struct sd_table *t, struct sd_flow_entry *e, uint32_t worker)
{
    return (struct sd_count *)(void *)((uint8_t *)e + t->flow_counts_at) + worker;
}

/* Likewise the counts of colours of the direct meter. */
SD_ALWAYS_INLINE struct sd_colour_counts *sd_flow_colours(const struct sd_table *t, struct sd_flow_entry *e, uint32_t worker)
{
    return (struct sd_colour_counts *)(void *)((uint8_t *)e + t->flow_colours_at) + worker;
}

SD_ALWAYS_INLINE struct sd_meter *sd_flow_meter(const struct sd_table *t, struct sd_flow_entry *e)
{
    return (struct sd_meter *)(void *)((uint8_t *)e + t->flow_meter_at);
}

/* A hit counts and meters, or offers the cells to the action. */
SD_ALWAYS_INLINE void sd_flow_hit_cells(struct sd_worker *w, const struct sd_packet *packet, struct sd_table *t,
                                        uint32_t table, const struct sd_table_type *type, struct sd_flow_entry *e)
{
    if (type->direct_on_call) {
        w->direct[table].count = type->has_direct_counter ? sd_flow_count(t, e, w->index) : NULL;
        w->direct[table].meter = type->has_direct_meter ? sd_flow_meter(t, e) : NULL;
        w->direct[table].colours = type->has_direct_meter ? sd_flow_colours(t, e, w->index) : NULL;
        return;
    }
    if (type->has_direct_counter)
        sd_count_add(sd_flow_count(t, e, w->index), type->direct_counter_unit, 1, packet->length_bytes);
    if (type->has_direct_meter)
        sd_direct_mark(w, packet, table, type, sd_flow_meter(t, e), sd_flow_colours(t, e, w->index));
}

SD_ALWAYS_INLINE struct sd_found sd_flow_lookup_finish(struct sd_worker *w, struct sd_packet *packet, uint32_t table,
                                                       const struct sd_table_type *type, const void *key,
                                                       uint32_t key_bytes, const struct sd_lookup_state *state,
                                                       uint64_t selector_hash)
{
    (void)selector_hash;
    struct sd_table *t = &w->instance->tables[table];
    struct sd_flow_writer *writer = &t->flow_writers[w->index];
    struct sd_flow_shape shape = sd_flow_table_shape(t, type, key_bytes);
    struct sd_flow_entry *e = sd_flow_find_any(&t->flow, shape, key, state->hash);
    bool has_ended = e && type->deletes && SD_UNLIKELY(sd_flow_has_ended(&t->flow, e, w->now_ns));
    e = has_ended ? NULL : e;
    writer->found = e;
    if (!e) {
        writer->has_added = false;
        writer->hash = state->hash;
        memcpy(writer->key, key, key_bytes);
        struct sd_found missed = sd_table_miss(w, packet, table, type);
#ifdef SD_WANTS_HANDLES
        missed.handle = has_ended ? SD_EXPIRED_ENTRY : missed.handle;
#endif
        return missed;
    }
    if (type->has_idle_timeout && type->restarts_on_hit)
        sd_flow_restart(e, w->now_ns);
    if (sd_flow_type_has_cells(type))
        sd_flow_hit_cells(w, packet, t, table, type, e);
    struct sd_found found = {sd_flow_data(shape, e), e->action, UINT32_MAX, 0, NULL, true};
#ifdef SD_WANTS_HANDLES
    found.handle = sd_flow_handle(&t->flow, e);
#endif
    return found;
}

/* --- Operations of actions; the table was looked up last before them --- */

/* The table is full: entries that have ended make room, and then, if the table may evict, one that was not hit for long. */
static SD_UNUSED __attribute__((noinline)) enum sd_flow_status
sd_flow_add_when_full(struct sd_flow *flow, struct sd_flow_writer *writer, bool evicts, struct sd_flow_entry head,
                      const void *data, uint32_t data_bytes, uint64_t now_ns, bool *is_evicted)
{
    struct sd_flow_entry *added;
    bool has_room = flow->deletes && sd_flow_sweep(flow, writer, sd_flow_n_looked_at(flow), now_ns) > 0;
    *is_evicted = !has_room && evicts && sd_flow_evict(flow, writer, writer->hash);
    if (!has_room && !*is_evicted)
        return SD_FLOW_FULL;
    writer->n_added[SD_FLOW_FULL]--;
    return sd_flow_add(flow, writer, flow->shape, writer->key, writer->hash, head, 0, data, data_bytes, now_ns, &added);
}

/* The end of sd_table_add_entry: the numbers of ir::Added. */
enum sd_added { SD_ADDED_DONE, SD_ADDED_EVICTED, SD_ADDED_EXISTS, SD_ADDED_FULL, SD_ADDED_NOT_ASKED };

/* Adds an entry for the key that the worker has missed. Returns an enum sd_added. */
SD_ALWAYS_INLINE uint8_t sd_table_add_entry(struct sd_worker *w, uint32_t table, const struct sd_table_type *type,
                                            uint32_t action, const void *data, uint32_t data_bytes, uint8_t profile)
{
    struct sd_table *t = &w->instance->tables[table];
    struct sd_flow_writer *writer = &t->flow_writers[w->index];
    struct sd_flow_shape shape = sd_flow_table_shape(t, type, type->key_bytes);
    struct sd_flow_entry head = {.action = (uint16_t)action, .profile = profile}, *added;
    bool is_evicted = false;
    if (SD_UNLIKELY(writer->found != NULL))
        return SD_ADDED_EXISTS;
    enum sd_flow_status status = sd_flow_add(&t->flow, writer, shape, writer->key, writer->hash, head, 0, data, data_bytes,
                                             w->now_ns, &added);
    if (SD_UNLIKELY(status == SD_FLOW_FULL) && (type->deletes || type->evicts))
        status = sd_flow_add_when_full(&t->flow, writer, type->evicts, head, data, data_bytes, w->now_ns, &is_evicted);
    if (SD_UNLIKELY(status == SD_FLOW_EXISTS))
        writer->n_race_lost += !writer->has_added;
    writer->has_added = writer->has_added || status == SD_FLOW_ADDED;
    if (SD_LIKELY(status == SD_FLOW_ADDED))
        return is_evicted ? SD_ADDED_EVICTED : SD_ADDED_DONE;
    return status == SD_FLOW_EXISTS ? SD_ADDED_EXISTS : SD_ADDED_FULL;
}

/* A number that no packet has taken, from 1 on; 0: none is left. */
SD_INLINE uint32_t sd_allocate_flow_id(struct sd_worker *w)
{
    uint64_t n = __atomic_fetch_add(&w->instance->n_flow_ids, 1, __ATOMIC_RELAXED);
    return n < UINT32_MAX ? (uint32_t)n + 1 : 0;
}

/* The timer of the entry that was hit begins again if `restarts` is true, with another profile if `sets` is, too. */
SD_ALWAYS_INLINE void sd_table_set_timer(struct sd_worker *w, uint32_t table, bool restarts, bool sets, uint8_t profile)
{
    struct sd_flow_entry *e = w->instance->tables[table].flow_writers[w->index].found;
    if (!e || !restarts)
        return;
    if (sets)
        sd_flow_set_profile(e, profile, w->now_ns);
    else
        sd_flow_restart(e, w->now_ns);
}

#endif
