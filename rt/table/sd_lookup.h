/*
 * Parts shared by lookups in all structures: the result, the state between the steps of a staged lookup, hits and misses.
 *
 * Owns: struct sd_found, struct sd_lookup_state, and what a hit does to an entry: last hit, direct counter, direct meter.
 */
#ifndef SD_LOOKUP_H
#define SD_LOOKUP_H

#include "base/sd_random.h"
#include "table/sd_shard.h"

#ifdef SD_TRACE
#define SD_WANTS_HANDLES
#endif

struct sd_found {
    /* Action data. */
    const uint8_t *data;
    /* UINT32_MAX: no action (an empty group). */
    uint32_t action;
    /* UINT32_MAX: no profile. */
    uint32_t member;
    /* SD_DEFAULT_ENTRY on a miss. With SD_WANTS_HANDLES only: inline entries have it in a word of its own. */
    uint64_t handle;
    /* The action of a one-shot that runs first; NULL: none. */
    const struct sd_weighted *group_action;
    bool hit;
};

/* Bits of all elements of the key. */
SD_ALWAYS_INLINE uint32_t sd_key_width_bits(const struct sd_table_type *type)
{
    uint32_t n_bits = 0;
    for (uint32_t i = 0; i < type->n_keys; i++)
        n_bits += type->keys[i].value.width_bits;
    return n_bits;
}

/* Whether a lookup is done at once, or in steps that prefetch memory for each other. */
enum sd_lookup_mode { SD_LOOKUP_INLINE, SD_LOOKUP_STAGED };

/* State of a staged lookup between two stages. */
struct sd_lookup_state {
    /*
     * Exact: the home bucket of the key, then the entry that sd_exact_candidate gives. Direct: the entry. LPM: a word of the
     * root, then the entry or SD_LOOKUP_MISS. NULL: nothing is known yet.
     */
    uint8_t *at;
    /* Staged lookups: the hash; LPM: the first limb of the key. */
    uint64_t hash;
};

#define SD_LOOKUP_MISS ((uint8_t *)(uintptr_t)1)

/* For structures that look a key up in one step, at the end: nothing is hashed or prefetched before. */
#define SD_LOOKUP_IN_ONE_STEP(structure)                                                                               \
    SD_ALWAYS_INLINE void sd_##structure##_lookup_hash(const struct sd_table *t, const struct sd_table_type *type,     \
                                                       const void *key, uint32_t key_bytes, enum sd_lookup_mode mode,  \
                                                       struct sd_lookup_state *state)                                  \
    {                                                                                                                  \
        (void)t, (void)type, (void)key, (void)key_bytes, (void)mode, (void)state;                                      \
    }                                                                                                                  \
    SD_LOOKUP_WITHOUT_PREFETCH(structure)

/* For structures whose first step finds the entry. */
#define SD_LOOKUP_WITHOUT_PREFETCH(structure)                                                                          \
    SD_ALWAYS_INLINE void sd_##structure##_lookup_prefetch_entry(const struct sd_table *t,                             \
                                                                 const struct sd_table_type *type, uint32_t key_bytes, \
                                                                 struct sd_lookup_state *state)                        \
    {                                                                                                                  \
        (void)t, (void)type, (void)key_bytes, (void)state;                                                             \
    }                                                                                                                  \
    SD_ALWAYS_INLINE void sd_##structure##_lookup_prefetch_record(                                                     \
        const struct sd_worker *w, const struct sd_table *t, const struct sd_table_type *type, const void *key,        \
        uint32_t key_bytes, struct sd_lookup_state *state)                                                             \
    {                                                                                                                  \
        (void)w, (void)t, (void)type, (void)key, (void)key_bytes, (void)state;                                         \
    }

/* Called before a lookup of a table with `direct_on_call`: the cells are those of the default action until an entry is hit. */
SD_INLINE void sd_direct_default(struct sd_worker *w, uint32_t table)
{
    struct sd_table *t = &w->instance->tables[table];
    struct sd_default_cells *cells = &t->default_cells[w->index];
    w->direct[table] = (struct sd_direct){&cells->count, &t->default_meter, &cells->colours, NULL, NULL};
}

/* No action of the table runs. */
SD_INLINE void sd_direct_none(struct sd_worker *w, uint32_t table)
{
    w->direct[table] = (struct sd_direct){NULL, NULL, NULL, NULL, NULL};
}

/* Meters a packet for an entry, or for the default entry, and counts its colour. */
SD_ALWAYS_INLINE void sd_direct_mark(struct sd_worker *w, const struct sd_packet *packet, uint32_t table,
                                     const struct sd_table_type *type, struct sd_meter *meter,
                                     struct sd_colour_counts *colours)
{
    uint64_t n = type->direct_meter_unit == SD_UNIT_BYTES ? packet->length_bytes : 1;
    uint32_t colour = sd_meter_mark(meter, SD_GREEN, n, w->now_ns);
    sd_colours_add(colours, colour, packet->length_bytes);
    w->direct_colours[table] = (uint8_t)(1 + colour);
}

/* Updates the last hit, the direct counter `count` and the direct meter. The caller passes the counter, because its address
   is known before the entry is in the cache. */
SD_ALWAYS_INLINE void sd_entry_hit(struct sd_worker *w, const struct sd_packet *packet, struct sd_table *t,
                                   uint32_t table, const struct sd_table_type *type, struct sd_entry *e,
                                   struct sd_count *count)
{
    if (type->has_idle_timeout) {
        /* Most workers find the time already written; a line that is only read stays shared between their caches. */
        struct sd_entry_times *times = sd_entry_times(t, e);
        if (__atomic_load_n(&times->last_hit_ns, __ATOMIC_RELAXED) != w->now_ns)
            __atomic_store_n(&times->last_hit_ns, w->now_ns, __ATOMIC_RELAXED);
        if (SD_UNLIKELY(__atomic_load_n(&times->reported_ns, __ATOMIC_RELAXED) != SD_NEVER))
            __atomic_store_n(&times->reported_ns, SD_NEVER, __ATOMIC_RELAXED);
    }
    if (type->direct_on_call) {
        w->direct[table].count = count;
        w->direct[table].meter = type->has_direct_meter ? sd_entry_meter(t, e) : NULL;
        w->direct[table].colours = type->has_direct_meter ? sd_slot_colours(t, type, e->slot, w->index) : NULL;
        return;
    }
    if (type->has_direct_counter)
        sd_count_add(count, type->direct_counter_unit, 1, packet->length_bytes);
    if (type->has_direct_meter)
        sd_direct_mark(w, packet, table, type, sd_entry_meter(t, e), sd_slot_colours(t, type, e->slot, w->index));
}

/* The action that the member, group or one-shot of an entry selects. */
SD_LOCAL struct sd_found sd_entry_target(struct sd_worker *w, const struct sd_entry *e, uint64_t selector_hash)
{
    struct sd_found found = {NULL, UINT32_MAX, UINT32_MAX, e->handle, NULL, true};
    const struct sd_member *member = NULL;
    if (e->kind == SD_ENTRY_ONE_SHOT) {
        const struct sd_one_shot *one_shot = e->target;
        const struct sd_choices *choices = &one_shot->choices;
        uint32_t i = sd_choose(choices, one_shot->is_random ? sd_random_next(w) : selector_hash);
        if (one_shot->has_group_action)
            found.group_action = &one_shot->group_action;
        if (i != UINT32_MAX) {
            found.data = choices->weighted[i].data;
            found.action = choices->weighted[i].member_or_action;
        }
    } else if (e->kind == SD_ENTRY_GROUP) {
        const struct sd_group *group = e->target;
        uint32_t i = sd_choose(&group->choices, selector_hash);
        if (i != UINT32_MAX)
            member = group->members[i];
    } else {
        member = e->target;
    }
    if (member) {
        found.data = member->data;
        found.action = member->action;
        found.member = member->name.id;
    }
    return found;
}

/* Prefetches the parts of an entry that a hit reads and writes. */
SD_ALWAYS_INLINE void sd_entry_prefetch(const struct sd_worker *w, const struct sd_table *t,
                                        const struct sd_table_type *type, uint32_t slot)
{
    const uint8_t *entry = (const uint8_t *)sd_entry_at(t, slot);
    __builtin_prefetch(entry);
    if (type->data_bytes > 0)
        __builtin_prefetch(entry + sd_data_at(type) + type->data_bytes - 1);
    if (type->has_direct_counter)
        __builtin_prefetch(sd_slot_count(t, slot, w->index), 1);
    if (sd_table_has_shards(t, type))
        __builtin_prefetch(sd_slot_shard(t, type, slot, w->index), 1);
}

/* The default action runs: its entry counts and meters like those that are hit. */
SD_ALWAYS_INLINE struct sd_found sd_table_miss(struct sd_worker *w, const struct sd_packet *packet, uint32_t table,
                                               const struct sd_table_type *type)
{
    struct sd_table *t = &w->instance->tables[table];
    w->table_counts[table].n_misses++;
    if (!type->direct_on_call && type->has_direct_counter)
        sd_count_add(&t->default_cells[w->index].count, type->direct_counter_unit, 1, packet->length_bytes);
    if (!type->direct_on_call && type->has_direct_meter)
        sd_direct_mark(w, packet, table, type, &t->default_meter, &t->default_cells[w->index].colours);
    return (struct sd_found){t->default_data, t->default_action, UINT32_MAX, SD_DEFAULT_ENTRY, NULL, false};
}

SD_ALWAYS_INLINE struct sd_found sd_table_hit(struct sd_worker *w, struct sd_packet *packet, uint32_t table,
                                              const struct sd_table_type *type, struct sd_entry *e,
                                              struct sd_count *count, uint64_t selector_hash)
{
    struct sd_table *t = &w->instance->tables[table];
    sd_entry_hit(w, packet, t, table, type, e, count);
    if (type->profile == UINT32_MAX || SD_LIKELY(e->kind == SD_ENTRY_ACTION))
        return (struct sd_found){(uint8_t *)e + sd_data_at(type), e->what, UINT32_MAX, e->handle, NULL, true};
    return sd_entry_target(w, e, selector_hash);
}

/* A hit of an entry whose address is known. */
SD_ALWAYS_INLINE struct sd_found sd_table_hit_entry(struct sd_worker *w, struct sd_packet *packet, uint32_t table,
                                                    const struct sd_table_type *type, struct sd_entry *e,
                                                    uint64_t selector_hash)
{
    const struct sd_table *t = &w->instance->tables[table];
    struct sd_count *count = type->has_direct_counter ? sd_slot_count(t, e->slot, w->index) : NULL;
    return sd_table_hit(w, packet, table, type, e, count, selector_hash);
}

SD_ALWAYS_INLINE struct sd_found sd_table_hit_slot(struct sd_worker *w, struct sd_packet *packet, uint32_t table,
                                                   const struct sd_table_type *type, uint32_t slot,
                                                   uint64_t selector_hash)
{
    const struct sd_table *t = &w->instance->tables[table];
    const struct sd_chunk *chunk = sd_chunk_at(t, slot);
    struct sd_count *count = type->has_direct_counter ? sd_chunk_count(chunk, slot, w->index) : NULL;
    return sd_table_hit(w, packet, table, type, sd_chunk_entry(t, chunk, slot), count, selector_hash);
}

/* Tables without keys have no entries. */
SD_LOOKUP_IN_ONE_STEP(none)

SD_ALWAYS_INLINE struct sd_found sd_none_lookup_finish(struct sd_worker *w, struct sd_packet *packet, uint32_t table,
                                                       const struct sd_table_type *type, const void *key,
                                                       uint32_t key_bytes, const struct sd_lookup_state *state,
                                                       uint64_t selector_hash)
{
    (void)key, (void)key_bytes, (void)state, (void)selector_hash;
    return sd_table_miss(w, packet, table, type);
}

#endif
