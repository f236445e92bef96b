/*
 * Tables with ternary, range or optional elements, or several LPM elements, for the control plane: struct
 * sd_structure_ops of sd_ternary.h.
 *
 * An index beside the rules finds an entry by value, mask and priority.
 */
#ifndef SD_TERNARY_OPS_H
#define SD_TERNARY_OPS_H

#include "table/ternary/sd_ternary_lookup.h"
#include "table/ternary/sd_ternary_write.h"

SD_LOCAL bool sd_ternary_table_supports(const struct sd_table_type *type)
{
    return type->n_keys > 0;
}

SD_LOCAL bool sd_ternary_table_init(struct sd_table *t, uint64_t seed)
{
    const struct sd_table_type *type = t->type;
    uint32_t n_without_priority = sd_count_keys(type, SD_MATCH_EXACT) + sd_count_keys(type, SD_MATCH_LPM);
    t->has_priority = n_without_priority < type->n_keys;
    return sd_ternary_init(&t->ternary, type->keys, type->n_keys, type->key_bytes, t->epochs, seed);
}

SD_LOCAL void sd_ternary_table_free(struct sd_table *t)
{
    sd_ternary_free(&t->ternary);
    free(t->identities.cells);
}

SD_LOCAL uint64_t sd_identity_hash(const struct sd_table *t, const uint8_t *value, const uint8_t *mask, int32_t priority)
{
    uint32_t n = t->type->key_bytes;
    uint64_t of_value = sd_key_hash(t->secrets, value, NULL, n);
    uint64_t of_mask = sd_key_hash(t->secrets + SD_N_SECRETS(n), mask, NULL, n);
    return sd_mix64(of_value + 3 * of_mask + (uint64_t)(uint32_t)priority);
}

SD_LOCAL struct sd_entry *sd_ternary_table_find(const struct sd_table *t, const struct sd_entry_view *view)
{
    uint32_t n = t->type->key_bytes, slot;
    uint64_t hash = sd_identity_hash(t, view->value, view->mask, view->priority);
    uint32_t at = (uint32_t)hash;
    while ((slot = sd_index_next(&t->identities, hash, &at)) != SD_NO_SLOT) {
        struct sd_entry *e = sd_entry_at(t, slot);
        if (e->priority == view->priority && memcmp(view->value, sd_entry_value(t, e), n) == 0 &&
            memcmp(view->mask, sd_entry_mask(t, e), n) == 0)
            return e;
    }
    return NULL;
}

SD_LOCAL uint32_t sd_ternary_table_reserve_one(struct sd_table *t, uint32_t prefix_bits)
{
    (void)prefix_bits;
    return sd_index_reserve(&t->identities) ? SD_OK : SD_NO_MEMORY;
}

/* The rank that decides between entries that match; of equal ranks the entry inserted first wins. */
SD_LOCAL uint32_t sd_entry_rank(const struct sd_table *t, const struct sd_entry *e)
{
    if (t->has_priority)
        return (uint32_t)e->priority ^ UINT32_C(0x80000000);
    /* The control plane inserts with priority 0 here; programs may declare small priorities. */
    int32_t priority = e->priority < INT16_MIN ? INT16_MIN : e->priority > INT16_MAX ? INT16_MAX : e->priority;
    uint32_t prefix_bits = e->prefix_bits < UINT16_MAX ? e->prefix_bits : UINT16_MAX;
    return (uint32_t)(priority - INT16_MIN) << 16 | prefix_bits;
}

SD_LOCAL uint32_t sd_ternary_table_insert(struct sd_table *t, struct sd_entry *e)
{
    const uint8_t *value = sd_entry_value(t, e), *mask = sd_entry_mask(t, e);
    uint32_t status = sd_ternary_insert(&t->ternary, value, mask, sd_entry_rank(t, e), e->slot);
    if (status == SD_OK)
        sd_index_add(&t->identities, sd_identity_hash(t, value, mask, e->priority), e->slot);
    return status;
}

SD_LOCAL uint32_t sd_ternary_table_remove(struct sd_table *t, const struct sd_entry *e)
{
    uint64_t hash = sd_identity_hash(t, sd_entry_value(t, e), sd_entry_mask(t, e), e->priority);
    sd_index_remove(&t->identities, hash, e->slot);
    return sd_ternary_remove(&t->ternary, e->slot);
}

SD_LOCAL uint32_t sd_ternary_table_replace(struct sd_table *t, const struct sd_entry *old, const struct sd_entry *e)
{
    uint32_t status = sd_ternary_change(&t->ternary, old->slot, e->slot);
    if (status != SD_OK)
        return status;
    uint64_t hash = sd_identity_hash(t, sd_entry_value(t, old), sd_entry_mask(t, old), old->priority);
    sd_index_change(&t->identities, hash, old->slot, e->slot);
    return SD_OK;
}

static const SD_UNUSED struct sd_structure_ops sd_ternary_ops = {
    .has_masks = true,
    .concurrent_ops = SD_CONCURRENT_INSERT | SD_CONCURRENT_REMOVE,
    .supports = sd_ternary_table_supports,
    .init = sd_ternary_table_init,
    .free = sd_ternary_table_free,
    .find = sd_ternary_table_find,
    .reserve_one = sd_ternary_table_reserve_one,
    .insert = sd_ternary_table_insert,
    .remove = sd_ternary_table_remove,
    .replace = sd_ternary_table_replace,
};

#endif
