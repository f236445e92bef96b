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

SD_LOCAL struct sd_entry *sd_exact_table_find(const struct sd_table *t, const struct sd_entry_view *view)
{
    struct sd_exact_value value;
    const uint8_t *at = sd_exact_find(&t->exact, sd_exact_table_shape(t), view->value);
    if (!at)
        return NULL;
    memcpy(&value, at, sizeof value);
    return sd_entry_at(t, value.slot);
}

SD_LOCAL uint32_t sd_exact_table_reserve(struct sd_table *t, uint64_t n)
{
    return sd_exact_reserve(&t->exact, n);
}

SD_LOCAL void sd_exact_table_insert_prefetch(const struct sd_table *t, const struct sd_entry_view *views, uint32_t n)
{
    struct sd_exact_shape shape = sd_exact_table_shape(t);
    uint64_t hashes[SD_WRITE_BATCH];
    for (uint32_t i = 0; i < n; i++)
        hashes[i] = sd_exact_start_insert(&t->exact, shape, views[i].value);
    for (uint32_t i = 0; i < n; i++)
        sd_exact_prefetch_insert(&t->exact, shape, hashes[i]);
}

SD_LOCAL void sd_exact_table_find_prefetch(const struct sd_table *t, const struct sd_entry_view *views, uint32_t n)
{
    struct sd_exact_shape shape = sd_exact_table_shape(t);
    uint64_t hashes[SD_WRITE_BATCH];
    for (uint32_t i = 0; i < n; i++)
        hashes[i] = sd_exact_start_change(&t->exact, shape, views[i].value);
    for (uint32_t i = 0; i < n; i++)
        sd_exact_prefetch_change(&t->exact, shape, hashes[i]);
}

/* The value to store for an entry, in the table's scratch memory. */
SD_LOCAL const uint8_t *sd_exact_table_value(const struct sd_table *t, const struct sd_entry *e)
{
    struct sd_exact_value value = {e->slot, e->what};
    memcpy(t->exact_value, &value, sizeof value);
    if (t->type->data_bytes > 0)
        memcpy(t->exact_value + sizeof value, sd_entry_data(t, e), t->type->data_bytes);
    return t->exact_value;
}

SD_LOCAL uint32_t sd_exact_table_insert(struct sd_table *t, struct sd_entry *e)
{
    return sd_exact_insert(&t->exact, sd_exact_table_shape(t), sd_entry_value(t, e), sd_exact_table_value(t, e));
}

SD_LOCAL uint32_t sd_exact_table_remove(struct sd_table *t, const struct sd_entry *e)
{
    return sd_exact_remove(&t->exact, sd_exact_table_shape(t), sd_entry_value(t, e));
}

SD_LOCAL uint32_t sd_exact_table_replace(struct sd_table *t, const struct sd_entry *old, const struct sd_entry *e)
{
    (void)old;
    return sd_exact_replace(&t->exact, sd_exact_table_shape(t), sd_entry_value(t, e), sd_exact_table_value(t, e));
}

SD_LOCAL uint32_t sd_exact_table_exchange(struct sd_table *t, const struct sd_entry *e, const struct sd_entry_view *view)
{
    struct sd_exact_value value = {e->slot, view->what};
    memcpy(t->exact_value, &value, sizeof value);
    sd_data_assign(t->exact_value + sizeof value, t->type->data_bytes, view->data,
                   t->type->actions[view->what].data_bytes);
    return sd_exact_replace(&t->exact, sd_exact_table_shape(t), sd_entry_value(t, e), t->exact_value);
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
