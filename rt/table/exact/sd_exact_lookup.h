/*
 * Lookups in tables with exact keys.
 *
 * The structure stores beside each key either a struct sd_exact_value (slot and action) or, in tables with inline entries,
 * a struct sd_inline_value (action and handle in a word); action data follow both. So a packet reads the entry only if
 * the table meters, expires or has a profile; a counter's cell is found by the slot.
 */
#ifndef SD_EXACT_LOOKUP_H
#define SD_EXACT_LOOKUP_H

#include "table/sd_lookup.h"

/* Stored beside the key of an entry; action data follow. */
struct sd_exact_value {
    uint32_t slot;
    /* Action index, member id or group id. */
    uint32_t what;
};

/* Stored beside the key of an inline entry: action, whether the entry is constant, and handle. */
struct sd_inline_value {
    uint64_t word;
};

_Static_assert(sizeof(struct sd_inline_value) == sizeof(struct sd_exact_value), "action data follow both at the same offset");

#define SD_INLINE_ACTION_BITS 12u
#define SD_INLINE_IS_CONST (UINT64_C(1) << SD_INLINE_ACTION_BITS)
#define SD_INLINE_HANDLE_SHIFT (SD_INLINE_ACTION_BITS + 1)
#define SD_INLINE_HANDLE_MAX (UINT64_MAX >> SD_INLINE_HANDLE_SHIFT)

SD_ALWAYS_INLINE uint32_t sd_inline_action(uint64_t word)
{
    return (uint32_t)word & ((1u << SD_INLINE_ACTION_BITS) - 1);
}

/* Hits write to the entry, or need more of it than the action. */
SD_ALWAYS_INLINE bool sd_table_uses_entries(const struct sd_table_type *type)
{
    return type->has_idle_timeout || type->has_direct_counter || type->has_direct_meter ||
           type->profile != UINT32_MAX;
}

/* Lookups read action and data beside the key, not in the entry, which the control plane may change meanwhile. */
SD_ALWAYS_INLINE bool sd_exact_stores_actions(const struct sd_table_type *type)
{
    return type->profile == UINT32_MAX;
}

SD_ALWAYS_INLINE struct sd_exact_shape sd_table_shape(const struct sd_table_type *type, uint32_t key_bytes)
{
    struct sd_exact_shape shape = {key_bytes, (uint32_t)sizeof(struct sd_exact_value) + type->data_bytes, false};
    return shape;
}

/* The first entry in the home bucket whose tag agrees, or NULL. */
SD_ALWAYS_INLINE uint8_t *sd_exact_candidate(struct sd_exact_shape shape, uint8_t *bucket, uint64_t hash)
{
    uint32_t lanes = sd_exact_agree(bucket, (uint16_t)hash);
    if (SD_UNLIKELY(!lanes))
        return NULL;
    /* Two bits stand for each lane. */
    return bucket + SD_EXACT_TAGS_BYTES + (size_t)__builtin_ctz(lanes) * (sd_exact_entry_bytes(shape) / 2);
}

SD_ALWAYS_INLINE void sd_exact_lookup_hash(const struct sd_table *t, const struct sd_table_type *type, const void *key,
                                           uint32_t key_bytes, enum sd_lookup_mode mode, struct sd_lookup_state *state)
{
    struct sd_exact_shape shape = sd_table_shape(type, key_bytes);
    uint64_t hash = sd_exact_hash(t->exact.secrets, key, key_bytes);
    uint8_t *bucket = sd_exact_home_of(&t->exact, shape, hash);
    if (mode == SD_LOOKUP_INLINE) {
        state->at = sd_exact_candidate(shape, bucket, hash);
    } else {
        __builtin_prefetch(bucket);
        state->at = bucket;
        state->hash = hash;
    }
}

SD_ALWAYS_INLINE void sd_exact_lookup_prefetch_entry(const struct sd_table *t, const struct sd_table_type *type,
                                                     uint32_t key_bytes, struct sd_lookup_state *state)
{
    (void)t;
    struct sd_exact_shape shape = sd_table_shape(type, key_bytes);
    uint8_t *bucket = state->at, *entry = sd_exact_candidate(shape, bucket, state->hash);
    state->at = entry;
    if (!entry)
        entry = bucket;
    __builtin_prefetch(entry);
    /* Buckets and tags are multiples of 32 bytes, so an entry whose size divides that lies in one line. */
    if (SD_EXACT_TAGS_BYTES % sd_exact_entry_bytes(shape) != 0)
        __builtin_prefetch(entry + sd_exact_entry_bytes(shape) - 1);
}

SD_ALWAYS_INLINE void sd_exact_lookup_prefetch_record(const struct sd_worker *w, const struct sd_table *t,
                                                      const struct sd_table_type *type, const void *key,
                                                      uint32_t key_bytes, struct sd_lookup_state *state)
{
    (void)key;
    if (type->entries_are_inline || !state->at)
        return;
    struct sd_exact_value value;
    memcpy(&value, state->at + sd_exact_value_at(sd_table_shape(type, key_bytes)), sizeof value);
    if (!sd_exact_stores_actions(type)) {
        sd_entry_prefetch(w, t, type, value.slot);
        return;
    }
    const struct sd_chunk *chunk = sd_chunk_at(t, value.slot);
    /* The times follow the data. */
    if (type->has_idle_timeout)
        __builtin_prefetch((uint8_t *)sd_chunk_entry(t, chunk, value.slot) + sd_data_at(type) + type->data_bytes);
    if (type->has_direct_meter)
        __builtin_prefetch(sd_entry_meter(t, sd_chunk_entry(t, chunk, value.slot)), 1);
    if (type->has_direct_counter)
        __builtin_prefetch(sd_chunk_count(chunk, value.slot, w->index), 1);
}

/* The full lookup, for keys that are not the candidate: the value, or NULL. Pure, so that callers keep in registers what
   they have read. */
static SD_UNUSED __attribute__((noinline, pure)) const uint8_t *sd_exact_look(const struct sd_exact *exact,
                                                                              uint32_t key_bytes,
                                                                              uint32_t value_bytes,
                                                                              const uint8_t *key)
{
    struct sd_exact_shape shape = {key_bytes, value_bytes, false};
    uint64_t hash = sd_exact_hash(exact->secrets, key, key_bytes);
    return sd_exact_find_from(exact, shape, key, hash, sd_exact_home_of(exact, shape, hash));
}

SD_ALWAYS_INLINE struct sd_found sd_exact_lookup_finish(struct sd_worker *w, struct sd_packet *packet, uint32_t table,
                                                 const struct sd_table_type *type, const void *key,
                                                 uint32_t key_bytes, const struct sd_lookup_state *state,
                                                 uint64_t selector_hash)
{
    struct sd_table *t = &w->instance->tables[table];
    struct sd_exact_shape shape = sd_table_shape(type, key_bytes);
    const uint8_t *at;
    if (SD_LIKELY(state->at && sd_key_equal(key, state->at, NULL, key_bytes))) {
        at = state->at + sd_exact_value_at(shape);
    } else {
        if (__atomic_load_n(&t->exact.n_entries, __ATOMIC_RELAXED) == 0)
            return sd_table_miss(w, packet, table, type);
        /* A copy, so that the key itself can stay in registers. */
        uint8_t copy[SD_KEY_BYTES_MAX];
        const uint8_t *here = key;
        copy[0] = 0;
        if (key_bytes <= sizeof copy)
            here = memcpy(copy, key, key_bytes);
        at = sd_exact_look(&t->exact, key_bytes, shape.value_bytes, here);
        if (!at)
            return sd_table_miss(w, packet, table, type);
    }
    if (!type->entries_are_inline) {
        struct sd_exact_value value;
        memcpy(&value, at, sizeof value);
        if (!sd_exact_stores_actions(type))
            return sd_table_hit_slot(w, packet, table, type, value.slot, selector_hash);
        const struct sd_chunk *chunk = sd_chunk_at(t, value.slot);
        struct sd_entry *e = sd_chunk_entry(t, chunk, value.slot);
        struct sd_count *count = type->has_direct_counter ? sd_chunk_count(chunk, value.slot, w->index) : NULL;
        sd_entry_hit(w, packet, t, table, type, e, count);
        struct sd_found stored = {at + sizeof value, value.what, UINT32_MAX, 0, NULL, true};
#ifdef SD_WANTS_HANDLES
        stored.handle = e->handle;
#endif
        return stored;
    }
    struct sd_inline_value value;
    memcpy(&value, at, sizeof value);
    struct sd_found found = {at + sizeof value, sd_inline_action(value.word), UINT32_MAX, 0, NULL, true};
#ifdef SD_WANTS_HANDLES
    found.handle = value.word >> SD_INLINE_HANDLE_SHIFT;
#endif
    return found;
}

#endif
