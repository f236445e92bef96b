/* Tables whose entries packets add, for the control plane: struct sd_structure_ops of sd_flow.h. */
#ifndef SD_FLOW_OPS_H
#define SD_FLOW_OPS_H

#include "table/flow/sd_flow_lookup.h"

/* Entries that are read together. */
#define SD_FLOW_N_COPIES 128u

SD_LOCAL bool sd_flow_table_supports(const struct sd_table_type *type)
{
    return sd_keys_are_exact(type) && type->profile == UINT32_MAX && !type->entries_are_inline &&
           type->size < UINT32_MAX / 2;
}

/* Workers' writers come first; the last one is the control plane's. */
SD_INLINE struct sd_flow_writer *sd_flow_control_writer(const struct sd_table *t)
{
    return &t->flow_writers[t->n_workers];
}

/* The shape of the entries of a table, with the cells that hits write. */
SD_LOCAL struct sd_flow_shape sd_flow_full_shape(const struct sd_table *t)
{
    const struct sd_table_type *type = t->type;
    struct sd_flow_shape shape = {type->key_bytes, type->data_bytes, type->has_idle_timeout ? 2 * sizeof(uint64_t) : 0};
    if (!sd_flow_type_has_cells(type))
        return shape;
    /* The control plane's cells are those behind the workers'. */
    size_t n = t->n_workers + 1, extra_bytes = 2 * sizeof(uint64_t);
    extra_bytes += type->has_direct_meter ? sizeof(struct sd_meter) : 0;
    extra_bytes += type->has_direct_counter ? n * sizeof(struct sd_count) : 0;
    extra_bytes += type->has_direct_meter ? n * sizeof(struct sd_colour_counts) : 0;
    shape.extra_bytes = (uint32_t)extra_bytes;
    return shape;
}

/* Memory for the shards of all slots, as that of the entries is made. False when it is short. */
SD_LOCAL bool sd_flow_shards_init(struct sd_table *t)
{
    if (!sd_table_has_shards(t, t->type))
        return true;
    uint64_t n_slots = (uint64_t)t->flow.n_buckets * SD_FLOW_SLOTS;
    t->flow_shards_bytes = sd_round_up(n_slots * sd_shard_bytes(t->type), SD_LINE_BYTES);
    t->flow_shards = sd_map_large(t->n_workers * t->flow_shards_bytes);
    if (t->flow_shards && t->n_workers * t->flow_shards_bytes <= SD_FLOW_POPULATED_BYTES_MAX)
        sd_populate(t->flow_shards, t->n_workers * t->flow_shards_bytes);
    return t->flow_shards != NULL;
}

SD_LOCAL bool sd_flow_table_init(struct sd_table *t, uint64_t seed)
{
    const struct sd_table_type *type = t->type;
    struct sd_flow_shape shape = sd_flow_full_shape(t);
    t->flow_meter_at = sd_flow_extra_at(shape) + 2 * (uint32_t)sizeof(uint64_t);
    t->flow_counts_at = t->flow_meter_at + (type->has_direct_meter ? (uint32_t)sizeof(struct sd_meter) : 0);
    uint32_t n_counts = type->has_direct_counter ? t->n_workers + 1 : 0;
    t->flow_colours_at = t->flow_counts_at + n_counts * (uint32_t)sizeof(struct sd_count);
    t->flow_writers = sd_alloc_lines(t->n_workers + 1, sizeof *t->flow_writers);
    t->flow_copies = calloc(SD_FLOW_N_COPIES, sd_flow_entry_bytes(shape));
    bool is_made = t->flow_writers && t->flow_copies && sd_flow_init(&t->flow, shape, seed, (uint32_t)type->size, t->epochs);
    is_made = is_made && sd_flow_shards_init(t);
    int64_t n_at_once = sd_flow_n_at_once(type->size, t->n_workers);
    for (uint32_t i = 0; is_made && i <= t->n_workers; i++)
        is_made = sd_flow_writer_init(&t->flow_writers[i], i < t->n_workers ? n_at_once : 1, type->key_bytes);
    t->flow.deletes = type->deletes != 0;
    return is_made;
}

SD_LOCAL void sd_flow_table_free(struct sd_table *t)
{
    for (uint32_t i = 0; t->flow_writers && i <= t->n_workers; i++)
        sd_flow_writer_free(&t->flow_writers[i]);
    free(t->flow_writers);
    free(t->flow_copies);
    sd_unmap_large(t->flow_shards, t->n_workers * t->flow_shards_bytes);
    sd_flow_free(&t->flow);
}

SD_LOCAL uint32_t sd_flow_touched_bytes(const struct sd_table *t)
{
    uint32_t shard_bytes = sd_table_has_shards(t, t->type) ? (uint32_t)sd_shard_bytes(t->type) : 0;
    return sd_flow_entry_bytes(sd_flow_full_shape(t)) + SD_EXACT_TAGS_BYTES + shard_bytes;
}

static const SD_UNUSED struct sd_structure_ops sd_flow_structure_ops = {
    .can_stage = true,
    .concurrent_ops = SD_CONCURRENT_INSERT | SD_CONCURRENT_REMOVE,
    .supports = sd_flow_table_supports,
    .init = sd_flow_table_init,
    .free = sd_flow_table_free,
    .touched_bytes = sd_flow_touched_bytes,
};

#endif
