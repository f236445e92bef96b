/* Lookups by masked hashes, the longest prefix first: see sd_prefix_hash.h. */
#ifndef SD_PREFIX_HASH_LOOKUP_H
#define SD_PREFIX_HASH_LOOKUP_H

#include "table/sd_lookup.h"

SD_LOOKUP_IN_ONE_STEP(prefix_hash)

SD_ALWAYS_INLINE struct sd_found sd_prefix_hash_lookup_finish(struct sd_worker *w, struct sd_packet *packet,
                                                              uint32_t table, const struct sd_table_type *type,
                                                              const void *key, uint32_t key_bytes,
                                                              const struct sd_lookup_state *state,
                                                              uint64_t selector_hash)
{
    (void)state;
    const struct sd_table *t = &w->instance->tables[table];
    for (uint32_t i = 0; i < t->prefix_hash.n_in_use; i++) {
        const struct sd_prefix_length *length = t->prefix_hash.in_use[i];
        uint64_t hash = sd_key_hash(t->secrets, key, length->mask, key_bytes);
        struct sd_entry *e = sd_index_find(t, &length->index, hash, key, length->mask, key_bytes);
        if (e)
            return sd_table_hit_entry(w, packet, table, type, e, selector_hash);
    }
    return sd_table_miss(w, packet, table, type);
}

#endif
