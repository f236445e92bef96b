/* Lookups in tables with ternary, range or optional key elements: see sd_ternary.h. */
#ifndef SD_TERNARY_LOOKUP_H
#define SD_TERNARY_LOOKUP_H

#include "table/sd_lookup.h"

SD_LOOKUP_IN_ONE_STEP(ternary)

SD_ALWAYS_INLINE struct sd_found sd_ternary_lookup_finish(struct sd_worker *w, struct sd_packet *packet,
                                                          uint32_t table, const struct sd_table_type *type,
                                                          const void *key, uint32_t key_bytes,
                                                          const struct sd_lookup_state *state, uint64_t selector_hash)
{
    (void)state;
    const struct sd_table *t = &w->instance->tables[table];
    uint32_t slot = sd_ternary_lookup(&t->ternary, key, key_bytes);
    if (slot == SD_NO_SLOT)
        return sd_table_miss(w, packet, table, type);
    return sd_table_hit_slot(w, packet, table, type, slot, selector_hash);
}

#endif
