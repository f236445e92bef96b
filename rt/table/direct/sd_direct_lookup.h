/*
 * Tables with exact keys of few bits: an array of entries, indexed by the key.
 */
#ifndef SD_DIRECT_LOOKUP_H
#define SD_DIRECT_LOOKUP_H

#include "table/sd_lookup.h"

/* Below 1 << sd_key_width_bits() for any bytes. */
SD_ALWAYS_INLINE uint32_t sd_direct_index(const struct sd_table_type *type, const void *key, uint32_t key_bytes)
{
    uint32_t at = 0, n_bits = 0;
#pragma GCC unroll 8
    for (uint32_t i = 0; i < type->n_keys; i++) {
        const struct sd_value_type *value = &type->keys[i].value;
        uint32_t width = value->width_bits, n_bytes = (width + 7) / 8;
        /* Unreachable; compilers that do not know the type warn of the copy below. */
        if (n_bytes > 2 || value->offset >= key_bytes || n_bytes > key_bytes - value->offset)
            return 0;
        uint16_t part = 0;
        memcpy(&part, (const uint8_t *)key + value->offset, n_bytes);
        at = at << width | part;
        n_bits += width;
    }
    return at & ((UINT32_C(1) << n_bits) - 1);
}

SD_ALWAYS_INLINE void sd_direct_lookup_hash(const struct sd_table *t, const struct sd_table_type *type, const void *key,
                                            uint32_t key_bytes, enum sd_lookup_mode mode, struct sd_lookup_state *state)
{
    (void)mode;
    struct sd_entry **at = &t->direct[sd_direct_index(type, key, key_bytes)];
    state->at = (uint8_t *)__atomic_load_n(at, __ATOMIC_ACQUIRE);
}

SD_LOOKUP_WITHOUT_PREFETCH(direct)

SD_ALWAYS_INLINE struct sd_found sd_direct_lookup_finish(struct sd_worker *w, struct sd_packet *packet, uint32_t table,
                                                         const struct sd_table_type *type, const void *key,
                                                         uint32_t key_bytes, const struct sd_lookup_state *state,
                                                         uint64_t selector_hash)
{
    (void)key, (void)key_bytes;
    struct sd_entry *e = (struct sd_entry *)(void *)state->at;
    return e ? sd_table_hit_entry(w, packet, table, type, e, selector_hash) : sd_table_miss(w, packet, table, type);
}

#endif
