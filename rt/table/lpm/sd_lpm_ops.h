/* Tables with one LPM element, for the control plane: struct sd_structure_ops of sd_lpm.h. */
#ifndef SD_LPM_OPS_H
#define SD_LPM_OPS_H

#include "table/lpm/sd_lpm_lookup.h"
#include "table/lpm/sd_lpm_update.h"

SD_LOCAL bool sd_lpm_table_supports(const struct sd_table_type *type)
{
    bool has_varbit = false;
    for (uint32_t i = 0; i < type->n_keys; i++)
        has_varbit |= type->keys[i].value.is_varbit;
    uint32_t n_bits = sd_key_width_bits(type);
    return sd_keys_are_lpm(type) && !has_varbit && n_bits > 0 && n_bits <= SD_LPM_LIMBS_MAX * 64;
}

SD_LOCAL bool sd_lpm_table_init(struct sd_table *t, uint64_t seed)
{
    (void)seed;
    return sd_lpm_init(&t->lpm, sd_key_width_bits(t->type), t->epochs);
}

SD_LOCAL void sd_lpm_table_free(struct sd_table *t)
{
    sd_lpm_free(&t->lpm);
}

/* Entries of such tables have no priority. A program may declare one; it does not distinguish entries. */
SD_LOCAL struct sd_entry *sd_lpm_table_find(const struct sd_table *t, const struct sd_entry_view *view)
{
    uint32_t length = sd_lpm_exact_bits(t->type) + sd_prefix_bits(t->type, view->mask);
    if (length > sd_key_width_bits(t->type))
        return NULL;
    uint64_t limbs[SD_LPM_LIMBS_MAX] = {0};
    sd_lpm_limbs(t->type, view->value, t->type->key_bytes, limbs);
    uint32_t slot = sd_lpm_find(&t->lpm, limbs, length);
    return slot == SD_LPM_NONE ? NULL : sd_entry_at(t, slot);
}

/* The words of the root; then the nodes and buckets they lead to, of which most updates read two lines. */
SD_LOCAL void sd_lpm_table_find_prefetch(const struct sd_table *t, const struct sd_entry_view *views, uint32_t n,
                                         bool will_change)
{
    (void)will_change;
    const struct sd_lpm_root *top = t->lpm.top;
    const uint32_t *words[SD_WRITE_BATCH];
    for (uint32_t i = 0; i < n; i++) {
        uint64_t limbs[SD_LPM_LIMBS_MAX] = {0};
        sd_lpm_limbs(t->type, views[i].value, t->type->key_bytes, limbs);
        words[i] = sd_lpm_root_word(top, limbs);
        __builtin_prefetch(words[i], 1);
        if (t->lpm.root != top)
            __builtin_prefetch(sd_lpm_root_word(t->lpm.root, limbs), 1);
    }
    for (uint32_t i = 0; i < n; i++) {
        if (!(*words[i] & SD_LPM_NODE))
            continue;
        const uint8_t *block = sd_lpm_block(top, *words[i]);
        __builtin_prefetch(block, 1);
        if (!(*words[i] & SD_LPM_IS_BUCKET))
            __builtin_prefetch(block + SD_LINE_BYTES, 1);
    }
}

SD_LOCAL void sd_lpm_table_insert_prefetch(const struct sd_table *t, const struct sd_entry_view *views, uint32_t n)
{
    sd_lpm_table_find_prefetch(t, views, n, true);
}

SD_LOCAL uint32_t sd_lpm_table_reserve_one(struct sd_table *t, uint32_t prefix_bits)
{
    return sd_lpm_exact_bits(t->type) + prefix_bits > sd_key_width_bits(t->type) ? SD_OUT_OF_RANGE : SD_OK;
}

SD_LOCAL uint32_t sd_lpm_table_insert(struct sd_table *t, struct sd_entry *e)
{
    uint64_t limbs[SD_LPM_LIMBS_MAX] = {0};
    sd_lpm_limbs(t->type, sd_entry_value(t, e), t->type->key_bytes, limbs);
    return sd_lpm_add(&t->lpm, limbs, sd_lpm_exact_bits(t->type) + e->prefix_bits, e->slot);
}

SD_LOCAL uint32_t sd_lpm_table_remove(struct sd_table *t, const struct sd_entry *e)
{
    uint64_t limbs[SD_LPM_LIMBS_MAX] = {0};
    sd_lpm_limbs(t->type, sd_entry_value(t, e), t->type->key_bytes, limbs);
    return sd_lpm_remove(&t->lpm, limbs, sd_lpm_exact_bits(t->type) + e->prefix_bits);
}

SD_LOCAL uint32_t sd_lpm_table_replace(struct sd_table *t, const struct sd_entry *old, const struct sd_entry *e)
{
    uint64_t limbs[SD_LPM_LIMBS_MAX] = {0};
    sd_lpm_limbs(t->type, sd_entry_value(t, old), t->type->key_bytes, limbs);
    return sd_lpm_change(&t->lpm, limbs, sd_lpm_exact_bits(t->type) + old->prefix_bits, e->slot);
}

static const SD_UNUSED struct sd_structure_ops sd_lpm_ops = {
    .has_masks = true,
    .can_stage = true,
    .concurrent_ops = SD_CONCURRENT_INSERT | SD_CONCURRENT_REMOVE,
    .supports = sd_lpm_table_supports,
    .init = sd_lpm_table_init,
    .free = sd_lpm_table_free,
    .find = sd_lpm_table_find,
    .reserve_one = sd_lpm_table_reserve_one,
    .insert_prefetch = sd_lpm_table_insert_prefetch,
    .find_prefetch = sd_lpm_table_find_prefetch,
    .insert = sd_lpm_table_insert,
    .remove = sd_lpm_table_remove,
    .replace = sd_lpm_table_replace,
};

#endif
