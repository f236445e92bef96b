/*
 * Lookups in tables with one LPM key element: exact elements and the LPM element together are one prefix for sd_lpm.h.
 */
#ifndef SD_LPM_LOOKUP_H
#define SD_LPM_LOOKUP_H

#include "table/sd_lookup.h"

/* Bits of the exact elements, which come before the LPM element. */
SD_ALWAYS_INLINE uint32_t sd_lpm_exact_bits(const struct sd_table_type *type)
{
    uint32_t n_bits = 0;
    for (uint32_t i = 0; i < type->n_keys; i++)
        n_bits += type->keys[i].match_kind == SD_MATCH_LPM ? 0 : type->keys[i].value.width_bits;
    return n_bits;
}

/* Appends an element of the key, the most significant bit first. */
SD_ALWAYS_INLINE void sd_lpm_append(uint64_t *limbs, uint32_t *n_bits, const uint8_t *key, uint32_t key_bytes,
                                    const struct sd_value_type *value)
{
    uint32_t width_bits = value->width_bits, n_words = (width_bits + 63) / 64;
    for (uint32_t i = n_words; i-- > 0;) {
        uint32_t width = i + 1 < n_words ? 64 : width_bits - 64 * (n_words - 1);
        uint32_t at = value->offset + 8 * i, n_bytes = (width + 7) / 8;
        /* Unreachable; compilers that do not know the type warn of the copy below. */
        if (at >= key_bytes || n_bytes > key_bytes - at)
            return;
        uint64_t word = 0;
        memcpy(&word, key + at, n_bytes);
        word <<= 64 - width;
        uint32_t skip = *n_bits % 64;
        limbs[*n_bits / 64] |= word >> skip;
        if (skip + width > 64)
            limbs[*n_bits / 64 + 1] |= word << (64 - skip);
        *n_bits += width;
    }
}

/* Writes the key as a prefix for sd_lpm.h into `limbs`, which are zero before; returns their number. */
SD_ALWAYS_INLINE uint32_t sd_lpm_limbs(const struct sd_table_type *type, const uint8_t *key, uint32_t key_bytes,
                                       uint64_t *limbs)
{
    uint32_t n_bits = 0;
    const struct sd_value_type *lpm = NULL;
#pragma GCC unroll 8
    for (uint32_t i = 0; i < type->n_keys; i++) {
        const struct sd_value_type *value = &type->keys[i].value;
        if (type->keys[i].match_kind == SD_MATCH_LPM)
            lpm = value;
        else
            sd_lpm_append(limbs, &n_bits, key, key_bytes, value);
    }
    if (lpm)
        sd_lpm_append(limbs, &n_bits, key, key_bytes, lpm);
    return (n_bits + 63) / 64;
}

_Static_assert(SD_LPM_NONE == SD_NO_SLOT, "a lookup without a prefix finds no slot");

SD_ALWAYS_INLINE void sd_lpm_lookup_hash(const struct sd_table *t, const struct sd_table_type *type, const void *key,
                                         uint32_t key_bytes, enum sd_lookup_mode mode, struct sd_lookup_state *state)
{
    state->at = NULL;
    if (mode == SD_LOOKUP_INLINE)
        return;
    uint64_t limbs[SD_LPM_LIMBS_MAX] = {0};
    sd_lpm_limbs(type, key, key_bytes, limbs);
    state->at = (uint8_t *)(uintptr_t)sd_lpm_root_word(sd_lpm_root_of(&t->lpm), limbs);
    state->hash = limbs[0];
    __builtin_prefetch(state->at);
}

SD_ALWAYS_INLINE void sd_lpm_lookup_prefetch_entry(const struct sd_table *t, const struct sd_table_type *type,
                                                   uint32_t key_bytes, struct sd_lookup_state *state)
{
    (void)type, (void)key_bytes;
    uint32_t word = __atomic_load_n((const uint32_t *)(const void *)state->at, __ATOMIC_ACQUIRE);
    if (word & SD_LPM_NODE)
        __builtin_prefetch(sd_lpm_block(sd_lpm_root_of(&t->lpm), word));
}

/* Prefixes of more than one limb need the key; without it (NULL) sd_lpm_lookup_finish looks it up. */
SD_ALWAYS_INLINE void sd_lpm_lookup_prefetch_record(const struct sd_worker *w, const struct sd_table *t,
                                                    const struct sd_table_type *type, const void *key,
                                                    uint32_t key_bytes, struct sd_lookup_state *state)
{
    uint64_t limbs[SD_LPM_LIMBS_MAX] = {state->hash};
    uint32_t n_limbs = (sd_key_width_bits(type) + 63) / 64;
    state->at = NULL;
    if (n_limbs > 1) {
        if (!key)
            return;
        limbs[0] = 0;
        sd_lpm_limbs(type, key, key_bytes, limbs);
    }
    uint32_t slot = sd_lpm_lookup(&t->lpm, limbs, n_limbs);
    state->at = SD_LOOKUP_MISS;
    if (slot == SD_NO_SLOT)
        return;
    state->at = (uint8_t *)sd_entry_at(t, slot);
    sd_entry_prefetch(w, t, type, slot);
}

SD_ALWAYS_INLINE struct sd_found sd_lpm_lookup_finish(struct sd_worker *w, struct sd_packet *packet, uint32_t table,
                                                      const struct sd_table_type *type, const void *key,
                                                      uint32_t key_bytes, const struct sd_lookup_state *state,
                                                      uint64_t selector_hash)
{
    const struct sd_table *t = &w->instance->tables[table];
    if (state->at) {
        if (state->at == SD_LOOKUP_MISS)
            return sd_table_miss(w, packet, table, type);
        struct sd_entry *e = (struct sd_entry *)(void *)state->at;
        return sd_table_hit_entry(w, packet, table, type, e, selector_hash);
    }
    uint64_t limbs[SD_LPM_LIMBS_MAX] = {0};
    uint32_t n_limbs = sd_lpm_limbs(type, key, key_bytes, limbs);
    uint32_t slot = sd_lpm_lookup(&t->lpm, limbs, n_limbs);
    if (slot == SD_NO_SLOT)
        return sd_table_miss(w, packet, table, type);
    return sd_table_hit_slot(w, packet, table, type, slot, selector_hash);
}

#endif
