/*
 * Tables with one LPM element and keys too wide for a trie, for the control plane: struct sd_structure_ops of
 * sd_prefix_hash.h.
 *
 * Indexes and the list of lengths change in place, so no entry is inserted or removed while workers run. A modified entry
 * takes the cell of the old one.
 */
#ifndef SD_PREFIX_HASH_OPS_H
#define SD_PREFIX_HASH_OPS_H

#include "table/prefix_hash/sd_prefix_hash_lookup.h"

SD_LOCAL bool sd_prefix_hash_table_init(struct sd_table *t, uint64_t seed)
{
    (void)seed;
    struct sd_prefix_hash *h = &t->prefix_hash;
    const struct sd_key_type *key = t->type->keys;
    while (key->match_kind != SD_MATCH_LPM)
        key++;
    h->lpm_key = key;
    size_t n_lengths = (size_t)key->value.width_bits + 1;
    h->by_length = calloc(n_lengths, sizeof *h->by_length);
    h->in_use = calloc(n_lengths, sizeof *h->in_use);
    return h->by_length && h->in_use;
}

SD_LOCAL void sd_prefix_hash_table_free(struct sd_table *t)
{
    struct sd_prefix_hash *h = &t->prefix_hash;
    size_t n_lengths = h->lpm_key ? (size_t)h->lpm_key->value.width_bits + 1 : 0;
    for (size_t i = 0; h->by_length && i < n_lengths; i++) {
        if (!h->by_length[i])
            continue;
        free(h->by_length[i]->index.cells);
        free(h->by_length[i]->mask);
        free(h->by_length[i]);
    }
    free(h->by_length);
    free(h->in_use);
}

SD_LOCAL uint64_t sd_prefix_hash_of(const struct sd_table *t, const struct sd_prefix_length *length, const uint8_t *value)
{
    return sd_key_hash(t->secrets, value, length->mask, t->type->key_bytes);
}

SD_LOCAL struct sd_entry *sd_prefix_hash_table_find(const struct sd_table *t, const struct sd_entry_view *view)
{
    uint32_t prefix_bits = sd_prefix_bits(t->type, view->mask), slot;
    if (prefix_bits > t->prefix_hash.lpm_key->value.width_bits)
        return NULL;
    const struct sd_prefix_length *length = t->prefix_hash.by_length[prefix_bits];
    if (!length)
        return NULL;
    uint64_t hash = sd_prefix_hash_of(t, length, view->value);
    uint32_t at = (uint32_t)hash;
    while ((slot = sd_index_next(&length->index, hash, &at)) != SD_NO_SLOT) {
        struct sd_entry *e = sd_entry_at(t, slot);
        if (e->priority == view->priority &&
            sd_key_equal(view->value, sd_entry_value(t, e), length->mask, t->type->key_bytes))
            return e;
    }
    return NULL;
}

/* NULL when memory is short. */
SD_LOCAL struct sd_prefix_length *sd_prefix_length_new(const struct sd_table *t, uint32_t prefix_bits)
{
    const struct sd_value_type *lpm = &t->prefix_hash.lpm_key->value;
    struct sd_prefix_length *length = calloc(1, sizeof *length);
    uint8_t *mask = malloc(t->type->key_bytes);
    if (!length || !mask) {
        free(length);
        free(mask);
        return NULL;
    }
    memset(mask, 0xff, t->type->key_bytes);
    memset(mask + lpm->offset, 0, lpm->size_bytes);
    sd_prefix_mask(mask + lpm->offset, lpm->width_bits, prefix_bits);
    length->prefix_bits = prefix_bits;
    length->mask = mask;
    return length;
}

SD_LOCAL uint32_t sd_prefix_hash_table_reserve_one(struct sd_table *t, uint32_t prefix_bits)
{
    struct sd_prefix_hash *h = &t->prefix_hash;
    if (prefix_bits > h->lpm_key->value.width_bits)
        return SD_OUT_OF_RANGE;
    if (!h->by_length[prefix_bits])
        h->by_length[prefix_bits] = sd_prefix_length_new(t, prefix_bits);
    struct sd_prefix_length *length = h->by_length[prefix_bits];
    return length && sd_index_reserve(&length->index) ? SD_OK : SD_NO_MEMORY;
}

SD_LOCAL uint32_t sd_prefix_hash_table_insert(struct sd_table *t, struct sd_entry *e)
{
    struct sd_prefix_hash *h = &t->prefix_hash;
    struct sd_prefix_length *length = h->by_length[e->prefix_bits];
    sd_index_add(&length->index, sd_prefix_hash_of(t, length, sd_entry_value(t, e)), e->slot);
    if (length->index.n > 1)
        return SD_OK;
    uint32_t at = h->n_in_use++;
    for (; at > 0 && h->in_use[at - 1]->prefix_bits < length->prefix_bits; at--)
        h->in_use[at] = h->in_use[at - 1];
    h->in_use[at] = length;
    return SD_OK;
}

SD_LOCAL uint32_t sd_prefix_hash_table_remove(struct sd_table *t, const struct sd_entry *e)
{
    struct sd_prefix_hash *h = &t->prefix_hash;
    struct sd_prefix_length *length = h->by_length[e->prefix_bits];
    sd_index_remove(&length->index, sd_prefix_hash_of(t, length, sd_entry_value(t, e)), e->slot);
    if (length->index.n > 0)
        return SD_OK;
    uint32_t at = 0;
    while (h->in_use[at] != length)
        at++;
    h->n_in_use--;
    memmove(h->in_use + at, h->in_use + at + 1, (h->n_in_use - at) * sizeof *h->in_use);
    return SD_OK;
}

SD_LOCAL uint32_t sd_prefix_hash_table_replace(struct sd_table *t, const struct sd_entry *old, const struct sd_entry *e)
{
    struct sd_prefix_length *length = t->prefix_hash.by_length[old->prefix_bits];
    sd_index_change(&length->index, sd_prefix_hash_of(t, length, sd_entry_value(t, old)), old->slot, e->slot);
    return SD_OK;
}

static const SD_UNUSED struct sd_structure_ops sd_prefix_hash_ops = {
    .has_masks = true,
    .supports = sd_keys_are_lpm,
    .init = sd_prefix_hash_table_init,
    .free = sd_prefix_hash_table_free,
    .find = sd_prefix_hash_table_find,
    .reserve_one = sd_prefix_hash_table_reserve_one,
    .insert = sd_prefix_hash_table_insert,
    .remove = sd_prefix_hash_table_remove,
    .replace = sd_prefix_hash_table_replace,
};

#endif
