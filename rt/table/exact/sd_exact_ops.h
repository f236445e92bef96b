/* Tables with exact keys, for the control plane: struct sd_structure_ops of sd_exact.h. */
#ifndef SD_EXACT_OPS_H
#define SD_EXACT_OPS_H

#include "table/exact/sd_exact_lookup.h"
#include "table/exact/sd_exact_reserve.h"

SD_LOCAL bool sd_exact_table_supports(const struct sd_table_type *type)
{
    bool is_inline_possible = !sd_table_uses_entries(type) && type->n_actions <= 1u << SD_INLINE_ACTION_BITS;
    return sd_keys_are_exact(type) && (!type->entries_are_inline || is_inline_possible);
}

/* The shape of what `exact` stores. */
SD_INLINE struct sd_exact_shape sd_exact_table_shape(const struct sd_table *t)
{
    return sd_table_shape(t->type, t->type->key_bytes);
}

SD_LOCAL bool sd_exact_table_init(struct sd_table *t, uint64_t seed)
{
    struct sd_exact_shape shape = sd_exact_table_shape(t);
    t->exact_value = calloc(1, sd_round_up(shape.value_bytes, sizeof(uint64_t)));
    return t->data_bytes == t->type->data_bytes && t->exact_value &&
           sd_exact_init(&t->exact, shape, seed, UINT64_MAX, t->epochs);
}

SD_LOCAL void sd_exact_table_free(struct sd_table *t)
{
    sd_exact_free(&t->exact);
    free(t->exact_value);
}

/* The entry of a key, or NULL. */
SD_ALWAYS_INLINE uint8_t *sd_exact_find_shaped(struct sd_exact_shape shape, const struct sd_exact *t, const void *key)
{
    return sd_exact_find_hashed(t, shape, key, sd_exact_hash(t->secrets, key, shape.key_bytes));
}

/*
 * Writes the word (struct sd_exact_value or sd_inline_value) and the data that lie beside a key, in whole words: the sizes
 * are not constants, and a copy through other memory would wait until what was written there has left the store buffer.
 * `to` and `data` do not overlap.
 */
SD_ALWAYS_INLINE void sd_exact_put_value(uint8_t *to, uint64_t word, const uint8_t *data, uint32_t n_bytes,
                                         uint32_t data_bytes)
{
    memcpy(to, &word, sizeof word);
    to += sizeof word;
    if (SD_LIKELY(n_bytes == data_bytes && n_bytes % sizeof(uint64_t) == 0)) {
        for (uint32_t at = 0; at < n_bytes; at += sizeof(uint64_t))
            memcpy(to + at, data + at, sizeof(uint64_t));
        return;
    }
    for (uint32_t at = 0; at < data_bytes; at += sizeof(uint64_t)) {
        uint64_t part = at < n_bytes ? sd_key_word(data, n_bytes, at) : 0;
        memcpy(to + at, &part, sizeof part);
    }
}

/* The value beside the key of an entry with a record. */
struct sd_exact_stored {
    uint32_t slot;
    uint32_t what;
    const uint8_t *data;
    uint32_t n_bytes;
};

SD_ALWAYS_INLINE void sd_exact_put_stored(const struct sd_table *t, uint8_t *to, const struct sd_exact_stored *stored)
{
    struct sd_exact_value value = {stored->slot, stored->what};
    uint64_t word;
    memcpy(&word, &value, sizeof word);
    sd_exact_put_value(to, word, stored->data, stored->n_bytes, t->type->data_bytes);
}

SD_INLINE struct sd_exact_stored sd_exact_stored_of(const struct sd_table *t, const struct sd_entry *e)
{
    return (struct sd_exact_stored){e->slot, e->what, sd_entry_data(t, e), t->type->data_bytes};
}

SD_ALWAYS_INLINE uint32_t sd_exact_insert_shaped(struct sd_exact_shape shape, struct sd_table *t, const uint8_t *key,
                                                 const struct sd_exact_stored *stored)
{
    uint64_t hash = sd_exact_hash(t->exact.secrets, key, shape.key_bytes);
    struct sd_exact_room room;
    uint32_t status = sd_exact_seek(&t->exact, shape, key, hash, &room);
    if (SD_UNLIKELY(status != SD_OK))
        return status;
    uint8_t *entry = sd_exact_entry(shape, room.place.bucket, room.place.lane);
    memcpy(entry, key, shape.key_bytes);
    sd_exact_put_stored(t, entry + sd_exact_value_at(shape), stored);
    sd_exact_publish(room.segment, &room.place, room.distance, hash);
    sd_exact_add_entries(&t->exact, 1);
    return SD_OK;
}

/* Replaces the value of a key: beside the old one if there is room. */
SD_ALWAYS_INLINE uint32_t sd_exact_replace_shaped(struct sd_exact_shape shape, struct sd_table *t, const uint8_t *key,
                                                  const struct sd_exact_stored *stored)
{
    uint64_t hash = sd_exact_hash(t->exact.secrets, key, shape.key_bytes);
    uint8_t *home = sd_exact_home_of(&t->exact, shape, hash);
    uint32_t lane = sd_exact_lane_at_home(shape, home, key, hash), to = sd_exact_free_lane(&t->exact, shape, home);
    if (SD_UNLIKELY(lane == SD_EXACT_SLOTS || to == SD_EXACT_SLOTS)) {
        sd_exact_put_stored(t, t->exact_value, stored);
        return sd_exact_replace_hashed(&t->exact, t->exact.shape, key, t->exact_value, hash);
    }
    uint8_t *entry = sd_exact_entry(shape, home, to);
    memcpy(entry, key, shape.key_bytes);
    sd_exact_put_stored(t, entry + sd_exact_value_at(shape), stored);
    sd_exact_replace_at_home(&t->exact, home, lane, to, hash);
    return SD_OK;
}

SD_ALWAYS_INLINE uint32_t sd_exact_remove_shaped(struct sd_exact_shape shape, struct sd_exact *t, const void *key)
{
    uint64_t hash = sd_exact_hash(t->secrets, key, shape.key_bytes);
    uint8_t *home = sd_exact_home_of(t, shape, hash);
    uint32_t lane = sd_exact_lane_at_home(shape, home, key, hash);
    if (SD_UNLIKELY(lane == SD_EXACT_SLOTS))
        return sd_exact_remove_hashed(t, t->shape, key, hash);
    sd_exact_remove_at_home(t, home, lane);
    return SD_OK;
}

SD_LOCAL struct sd_entry *sd_exact_table_find(const struct sd_table *t, const struct sd_entry_view *view)
{
    struct sd_exact_value value;
    const uint8_t *at = SD_EXACT_SHAPED(t->exact.shape, sd_exact_find_shaped, &t->exact, view->value);
    if (!at)
        return NULL;
    memcpy(&value, at + sd_exact_value_at(t->exact.shape), sizeof value);
    return sd_entry_at(t, value.slot);
}

SD_LOCAL uint32_t sd_exact_table_reserve(struct sd_table *t, uint64_t n)
{
    return sd_exact_reserve(&t->exact, n);
}

SD_ALWAYS_INLINE void sd_exact_prefetch_shaped(struct sd_exact_shape shape, const struct sd_exact *t,
                                               const struct sd_entry_view *views, uint32_t n, bool finds, bool writes)
{
    uint64_t hashes[SD_WRITE_BATCH];
    for (uint32_t i = 0; i < n; i++)
        hashes[i] = sd_exact_start_insert(t, shape, views[i].value);
    for (uint32_t i = 0; i < n; i++) {
        if (finds)
            sd_exact_prefetch_change(t, shape, hashes[i]);
        if (writes)
            sd_exact_prefetch_insert(t, shape, hashes[i]);
    }
}

SD_LOCAL void sd_exact_table_insert_prefetch(const struct sd_table *t, const struct sd_entry_view *views, uint32_t n)
{
    SD_EXACT_SHAPED(t->exact.shape, sd_exact_prefetch_shaped, &t->exact, views, n, false, true);
}

SD_LOCAL void sd_exact_table_find_prefetch(const struct sd_table *t, const struct sd_entry_view *views, uint32_t n,
                                           bool will_change)
{
    SD_EXACT_SHAPED(t->exact.shape, sd_exact_prefetch_shaped, &t->exact, views, n, true, will_change);
}

SD_LOCAL uint32_t sd_exact_table_insert(struct sd_table *t, struct sd_entry *e)
{
    struct sd_exact_stored stored = sd_exact_stored_of(t, e);
    return SD_EXACT_SHAPED(t->exact.shape, sd_exact_insert_shaped, t, sd_entry_value(t, e), &stored);
}

SD_LOCAL uint32_t sd_exact_table_remove(struct sd_table *t, const struct sd_entry *e)
{
    return SD_EXACT_SHAPED(t->exact.shape, sd_exact_remove_shaped, &t->exact, sd_entry_value(t, e));
}

SD_LOCAL uint32_t sd_exact_table_replace(struct sd_table *t, const struct sd_entry *old, const struct sd_entry *e)
{
    (void)old;
    struct sd_exact_stored stored = sd_exact_stored_of(t, e);
    return SD_EXACT_SHAPED(t->exact.shape, sd_exact_replace_shaped, t, sd_entry_value(t, e), &stored);
}

SD_LOCAL uint32_t sd_exact_table_exchange(struct sd_table *t, const struct sd_entry *e, const struct sd_entry_view *view)
{
    uint32_t n_bytes = view->data ? t->type->actions[view->what].data_bytes : 0;
    struct sd_exact_stored stored = {e->slot, view->what, view->data, n_bytes};
    return SD_EXACT_SHAPED(t->exact.shape, sd_exact_replace_shaped, t, view->value, &stored);
}

SD_LOCAL uint32_t sd_exact_table_touched_bytes(const struct sd_table *t)
{
    uint32_t bytes = sd_exact_entry_bytes(sd_exact_table_shape(t));
    return bytes + (sd_table_uses_entries(t->type) ? t->entry_bytes : 0);
}

/* All memory of such a table. */
SD_LOCAL uint64_t sd_exact_table_bytes(const struct sd_table *t)
{
    uint64_t n = t->blocks.n_bytes + t->chunks_capacity * sizeof *t->chunks + t->carried_capacity * sizeof *t->carried;
    return n + sd_exact_bytes(&t->exact) + sd_order_bytes(&t->order) + sizeof *t;
}

static const SD_UNUSED struct sd_structure_ops sd_exact_ops = {
    .can_inline_entries = true,
    .can_stage = true,
    .concurrent_ops = SD_CONCURRENT_INSERT | SD_CONCURRENT_REMOVE,
    .supports = sd_exact_table_supports,
    .init = sd_exact_table_init,
    .free = sd_exact_table_free,
    .find = sd_exact_table_find,
    .reserve = sd_exact_table_reserve,
    .insert_prefetch = sd_exact_table_insert_prefetch,
    .find_prefetch = sd_exact_table_find_prefetch,
    .insert = sd_exact_table_insert,
    .remove = sd_exact_table_remove,
    .replace = sd_exact_table_replace,
    .stores_actions = sd_exact_stores_actions,
    .exchange = sd_exact_table_exchange,
    .touched_bytes = sd_exact_table_touched_bytes,
};

#endif
