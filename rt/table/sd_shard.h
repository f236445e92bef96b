/*
 * Sums that each worker keeps for itself: data of entries that their action only adds to (`sharded`).
 *
 * Owns: how a worker adds to its shard of an entry, and how the control plane reads the sum of the entry and of all shards.
 *
 * A worker writes its own shards only, and those of one worker lie together: workers share no line. The entry keeps the value with
 * which it began. A shard counts for one use of its slot (`n_uses`): a new entry begins without the shards of the old one, and a
 * worker that still has the old entry adds where nobody looks any more. Slots of records have no such number; the control plane
 * clears their shards before it publishes the entry. A slot is used again when no worker has its entry.
 */
#ifndef SD_SHARD_H
#define SD_SHARD_H

#include "table/sd_data.h"

/* --- Workers --- */

/* The worker's own shard of an entry: sd_data_end_update ends the change. Returns the data of the shard. */
SD_ALWAYS_INLINE const uint8_t *sd_shard_begin(struct sd_worker *w, uint32_t table, const struct sd_table_type *type,
                                               struct sd_shard *shard, uint32_t n_uses)
{
    uint8_t *data = sd_shard_data(shard);
    w->direct[table].data = data;
    w->direct[table].sequence = &shard->sequence;
    /* It is odd already if the worker's last change has not ended: code that crashed. */
    __atomic_store_n(&shard->sequence, __atomic_load_n(&shard->sequence, __ATOMIC_RELAXED) | 1, __ATOMIC_RELAXED);
    sd_data_fence(__ATOMIC_RELEASE);
    if (SD_UNLIKELY(__atomic_load_n(&shard->n_uses, __ATOMIC_RELAXED) != n_uses)) {
        for (uint32_t i = 0; i < type->sharded_bytes; i += sizeof(uint64_t))
            __atomic_store_n((uint64_t *)(void *)(data + i), 0, __ATOMIC_RELAXED);
        __atomic_store_n(&shard->n_uses, n_uses, __ATOMIC_RELAXED);
    }
    return data;
}

/* --- The control plane --- */

/* A shard that no worker has. */
SD_LOCAL void sd_shard_clear(const struct sd_table_type *type, struct sd_shard *shard)
{
    memset(shard, 0, sd_shard_bytes(type));
}

/* Adds a value to another one modulo its width, byte by byte from the lowest. */
SD_LOCAL void sd_shard_add_value(const struct sd_value_type *type, uint8_t *sum, const uint8_t *value)
{
    uint32_t carry = 0;
    for (uint32_t i = 0; i < type->size_bytes; i++) {
        uint32_t n_bits = type->width_bits > 8 * i ? type->width_bits - 8 * i : 0;
        carry += (uint32_t)sum[type->offset + i] + value[type->offset + i];
        sum[type->offset + i] = (uint8_t)(n_bits < 8 ? carry & ((1u << n_bits) - 1) : carry);
        carry >>= 8;
    }
}

/* Adds to a copy of an entry's data what a worker has added: all of each run of the action, or nothing of it. */
SD_LOCAL void sd_shard_add(const struct sd_table *t, uint32_t action, const struct sd_shard *shard, uint32_t n_uses,
                           uint8_t *data)
{
    const struct sd_action_type *type = &t->type->actions[action];
    if (type->n_sharded == 0)
        return;
    struct sd_shard *copy = sd_default_shard(t, t->type, t->n_workers);
    sd_data_copy_guarded(&shard->sequence, (uint8_t *)copy, (const uint8_t *)shard, (uint32_t)sd_shard_bytes(t->type));
    for (uint32_t i = 0; copy->n_uses == n_uses && i < type->n_sharded; i++)
        sd_shard_add_value(&type->sharded[i], data, sd_shard_data(copy));
}

SD_LOCAL void sd_default_add_shards(const struct sd_table *t, uint8_t *data)
{
    for (uint32_t i = 0; t->default_shards && i < t->n_workers && t->default_action < t->type->n_actions; i++)
        sd_shard_add(t, t->default_action, sd_default_shard(t, t->type, i), 0, data);
}

/* The data of the view of a record, copied to the place `i` of the table's copies if actions may be changing them. */
SD_LOCAL void sd_data_show(const struct sd_table *t, uint32_t i, struct sd_entry_view *view)
{
    if (!t->data_copies || view->kind != SD_ENTRY_ACTION || t->type->structure == SD_STRUCTURE_FLOW)
        return;
    uint8_t *to = t->data_copies + (size_t)i * sd_round_up(t->data_bytes, 8);
    const void *entry = view->data - t->data_at;
    const struct sd_entry *e = entry;
    sd_data_copy(t, to, view->data, t->data_bytes);
    for (uint32_t worker = 0; t->default_shards && worker < t->n_workers; worker++)
        sd_shard_add(t, view->what, sd_slot_shard(t, t->type, e->slot, worker), 0, to);
    view->data = to;
}

#endif
