/* Tables with exact keys of few bits, for the control plane: struct sd_structure_ops of an array of entries. */
#ifndef SD_DIRECT_OPS_H
#define SD_DIRECT_OPS_H

#include "table/direct/sd_direct_lookup.h"

/* sd_direct_index reads two bytes of an element, and its result has less than 32 bits. */
SD_LOCAL bool sd_direct_table_supports(const struct sd_table_type *type)
{
    bool is_narrow = sd_key_width_bits(type) > 0 && sd_key_width_bits(type) < 32;
    for (uint32_t i = 0; i < type->n_keys; i++)
        is_narrow &= !type->keys[i].value.is_varbit && type->keys[i].value.width_bits <= 16;
    return sd_keys_are_exact(type) && is_narrow;
}

SD_LOCAL bool sd_direct_table_init(struct sd_table *t, uint64_t seed)
{
    (void)seed;
    t->direct = calloc((size_t)1 << sd_key_width_bits(t->type), sizeof *t->direct);
    return t->direct;
}

SD_LOCAL void sd_direct_table_free(struct sd_table *t)
{
    free(t->direct);
}

SD_LOCAL struct sd_entry **sd_direct_table_at(const struct sd_table *t, const uint8_t *key)
{
    return &t->direct[sd_direct_index(t->type, key, t->type->key_bytes)];
}

SD_LOCAL struct sd_entry *sd_direct_table_find(const struct sd_table *t, const struct sd_entry_view *view)
{
    return *sd_direct_table_at(t, view->value);
}

SD_LOCAL uint32_t sd_direct_table_insert(struct sd_table *t, struct sd_entry *e)
{
    __atomic_store_n(sd_direct_table_at(t, sd_entry_value(t, e)), e, __ATOMIC_RELEASE);
    return SD_OK;
}

SD_LOCAL uint32_t sd_direct_table_replace(struct sd_table *t, const struct sd_entry *old, const struct sd_entry *e)
{
    struct sd_entry *new_entry = sd_entry_at(t, e->slot);
    __atomic_store_n(sd_direct_table_at(t, sd_entry_value(t, old)), new_entry, __ATOMIC_RELEASE);
    return SD_OK;
}

SD_LOCAL uint32_t sd_direct_table_remove(struct sd_table *t, const struct sd_entry *e)
{
    __atomic_store_n(sd_direct_table_at(t, sd_entry_value(t, e)), NULL, __ATOMIC_RELEASE);
    return SD_OK;
}

static const SD_UNUSED struct sd_structure_ops sd_direct_ops = {
    .concurrent_ops = SD_CONCURRENT_INSERT | SD_CONCURRENT_REMOVE,
    .supports = sd_direct_table_supports,
    .init = sd_direct_table_init,
    .free = sd_direct_table_free,
    .find = sd_direct_table_find,
    .insert = sd_direct_table_insert,
    .remove = sd_direct_table_remove,
    .replace = sd_direct_table_replace,
};

#endif
