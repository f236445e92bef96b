/*
 * The operations on tables of struct sd_control_ops.
 *
 * Owns: checks that the table, the entry and the action exist, and that the table has room. The host checks what the
 * program's text decides: constant entries, actions for the default only, widths.
 */
#ifndef SD_TABLE_OPS_H
#define SD_TABLE_OPS_H

#include "table/exact/sd_inline.h"
#include "table/flow/sd_flow_entries.h"
#include "table/sd_records.h"

SD_INLINE struct sd_table *sd_table_of(struct sd_instance *instance, uint32_t table)
{
    return table < instance->pipeline->n_tables ? &instance->tables[table] : NULL;
}

/* The table of this number, if packets may add entries to it or its entries end. */
SD_INLINE struct sd_table *sd_flow_table_of(struct sd_instance *instance, uint32_t table)
{
    struct sd_table *t = sd_table_of(instance, table);
    return t && t->type->structure == SD_STRUCTURE_FLOW ? t : NULL;
}

SD_LOCAL bool sd_table_init(struct sd_table *t, const struct sd_table_type *type, struct sd_epochs *epochs, uint64_t seed)
{
    bool is_flow = type->structure == SD_STRUCTURE_FLOW;
    t->entry_ops = is_flow ? &sd_flow_entry_ops : type->entries_are_inline ? &sd_inline_ops : &sd_record_ops;
    return sd_table_begin(t, type, epochs, seed);
}

/* SD_OUT_OF_RANGE: a table without keys has no entries. */
SD_INLINE uint32_t sd_table_check(const struct sd_table *t)
{
    return !t ? SD_NOT_FOUND : !t->structure ? SD_OUT_OF_RANGE : SD_OK;
}

SD_LOCAL uint32_t sd_table_insert_batch(struct sd_instance *instance, uint32_t table, const struct sd_entry_view *views,
                                        uint32_t n, uint64_t now_ns, uint64_t *handles, uint8_t *statuses)
{
    struct sd_table *t = sd_table_of(instance, table);
    uint32_t status = sd_table_check(t);
    if (status != SD_OK) {
        memset(statuses, (int)status, n);
        return 0;
    }
    return t->entry_ops->insert(instance, t, SD_BY_CONTROLLER, views, n, now_ns, handles, statuses);
}

SD_LOCAL uint32_t sd_table_insert(struct sd_instance *instance, uint32_t table, const struct sd_entry_view *view,
                                  uint64_t now_ns, uint64_t *handle)
{
    uint8_t status;
    sd_table_insert_batch(instance, table, view, 1, now_ns, handle, &status);
    return status;
}

/* Reserves memory of the structure, of records and of the insertion order. */
SD_LOCAL uint32_t sd_table_reserve(struct sd_instance *instance, uint32_t table, uint64_t n)
{
    struct sd_table *t = sd_table_of(instance, table);
    uint32_t status = sd_table_check(t);
    if (status != SD_OK)
        return status;
    if (n > t->type->size)
        return SD_FULL;
    if (t->entry_ops->next)
        return SD_OK;
    if (n <= t->n_entries)
        return SD_OK;
    uint64_t n_more = n - t->n_entries;
    status = t->structure->reserve ? t->structure->reserve(t, n) : SD_OK;
    if (status != SD_OK)
        return status;
    bool has_room = t->type->entries_are_inline || sd_table_reserve_slots(t, n_more);
    return has_room && sd_order_reserve_many(&t->order, n_more) ? SD_OK : SD_NO_MEMORY;
}

/* An entry that the program declares: it does not count against the size, and of two with one identity the first stays. */
SD_LOCAL uint32_t sd_table_put_initial(struct sd_instance *instance, uint32_t table, const struct sd_entry_view *view)
{
    struct sd_table *t = sd_table_of(instance, table);
    uint32_t status = sd_table_check(t);
    if (status != SD_OK)
        return status;
    uint64_t handle;
    uint8_t inserted;
    t->entry_ops->insert(instance, t, SD_BY_PROGRAM, view, 1, 0, &handle, &inserted);
    return inserted == SD_EXISTS ? SD_OK : inserted;
}

SD_LOCAL uint32_t sd_table_modify(struct sd_instance *instance, uint32_t table, const struct sd_entry_view *view,
                                  uint64_t now_ns, uint64_t *handle)
{
    struct sd_table *t = sd_table_of(instance, table);
    uint8_t status = SD_NOT_FOUND;
    if (sd_table_check(t) == SD_OK)
        t->entry_ops->modify(instance, t, view, 1, now_ns, handle, &status);
    return status;
}

SD_LOCAL uint32_t sd_table_remove(struct sd_instance *instance, uint32_t table, const struct sd_entry_view *view)
{
    struct sd_table *t = sd_table_of(instance, table);
    uint64_t handle;
    uint8_t status = SD_NOT_FOUND;
    if (sd_table_check(t) == SD_OK)
        t->entry_ops->remove(instance, t, view, 1, &handle, &status);
    return status;
}

SD_LOCAL uint32_t sd_table_find(struct sd_instance *instance, uint32_t table, const struct sd_entry_view *key,
                                struct sd_entry_view *found)
{
    const struct sd_table *t = sd_table_of(instance, table);
    uint32_t status = sd_table_check(t) == SD_OK ? t->entry_ops->find(t, key, found) : SD_NOT_FOUND;
    if (status == SD_OK)
        sd_data_show(t, 0, found);
    return status;
}

SD_LOCAL uint32_t sd_table_get(struct sd_instance *instance, uint32_t table, uint64_t handle, struct sd_entry_view *found)
{
    const struct sd_table *t = sd_table_of(instance, table);
    if (t && t->structure && t->entry_ops->next)
        return t->entry_ops->read(t, handle, 0, found);
    uint64_t ordered = t ? sd_order_get(&t->order, handle) : 0;
    uint32_t status = ordered ? t->entry_ops->read(t, handle, ordered, found) : SD_NOT_FOUND;
    if (status == SD_OK)
        sd_data_show(t, 0, found);
    return status;
}

SD_LOCAL uint32_t sd_table_next(struct sd_instance *instance, uint32_t table, uint64_t *after, struct sd_entry_view *found)
{
    const struct sd_table *t = sd_table_of(instance, table);
    if (!t)
        return SD_NOT_FOUND;
    if (t->structure && t->entry_ops->next)
        return t->entry_ops->next(t, after, found, 1) ? SD_OK : SD_NOT_FOUND;
    struct sd_order_at at = sd_order_from(&t->order, *after + 1);
    if (!at.entry)
        return SD_NOT_FOUND;
    *after = at.handle;
    uint32_t status = t->entry_ops->read(t, at.handle, at.entry, found);
    if (status == SD_OK)
        sd_data_show(t, 0, found);
    return status;
}

/* Workers have added and removed entries. */
SD_LOCAL void sd_flow_tell(struct sd_instance *instance, struct sd_table *t)
{
    sd_table_add_entries(t, sd_flow_n_entries(t) - t->n_entries);
    sd_table_tell_bytes(instance, t);
}

SD_LOCAL uint64_t sd_table_n_entries(struct sd_instance *instance, uint32_t table)
{
    struct sd_table *t = sd_table_of(instance, table);
    if (t && t->type->structure == SD_STRUCTURE_FLOW)
        sd_flow_tell(instance, t);
    return t ? t->n_entries : 0;
}

SD_LOCAL uint64_t sd_table_n_timed(struct sd_instance *instance, uint32_t table)
{
    const struct sd_table *t = sd_table_of(instance, table);
    if (t && t->type->structure == SD_STRUCTURE_FLOW)
        return t->type->has_idle_timeout ? sd_flow_n_entries(t) : 0;
    return t ? t->n_timed : 0;
}

SD_LOCAL uint32_t sd_table_set_default(struct sd_instance *instance, uint32_t table, uint32_t action,
                                               const uint8_t *data)
{
    struct sd_table *t = sd_table_of(instance, table);
    if (!t)
        return SD_NOT_FOUND;
    if (action >= t->type->n_actions)
        return SD_OUT_OF_RANGE;
    t->default_action = action;
    sd_data_assign(t->default_data, t->data_bytes, data, t->type->actions[action].data_bytes);
    for (uint32_t i = 0; t->default_shards && i < t->n_workers; i++)
        sd_shard_clear(t->type, sd_default_shard(t, t->type, i));
    return SD_OK;
}

SD_LOCAL uint32_t sd_table_default(struct sd_instance *instance, uint32_t table, const uint8_t **data)
{
    const struct sd_table *t = sd_table_of(instance, table);
    if (!t)
        return UINT32_MAX;
    *data = t->default_data;
    if (t->data_copies) {
        uint8_t *copy = t->data_copies + SD_N_DATA_COPIES * sd_round_up(t->data_bytes, 8);
        sd_data_copy(t, copy, t->default_data, t->data_bytes);
        sd_default_add_shards(t, copy);
        *data = copy;
    }
    return t->default_action;
}

/* Finds the entry with direct cells, or NULL for the default entry, which has cells of its own. */
SD_LOCAL uint32_t sd_direct_entry(struct sd_instance *instance, uint32_t table, uint64_t handle,
                                          struct sd_table **t, struct sd_entry **e)
{
    *t = sd_table_of(instance, table);
    *e = NULL;
    if (!*t)
        return SD_NOT_FOUND;
    if (handle == SD_DEFAULT_ENTRY)
        return SD_OK;
    /* Inline entries have no cells, and those that packets add have others. */
    bool has_record = (*t)->entry_ops == &sd_record_ops;
    *e = has_record ? sd_entry_get(*t, handle) : NULL;
    return *e ? SD_OK : SD_NOT_FOUND;
}

/* The entry with direct cells of a table that packets write; NULL for others, and for the default entry. */
SD_LOCAL struct sd_flow_entry *sd_flow_direct(struct sd_instance *instance, uint32_t table, uint64_t handle)
{
    const struct sd_table *t = sd_flow_table_of(instance, table);
    bool has_cells = t && handle != SD_DEFAULT_ENTRY && sd_flow_type_has_cells(t->type);
    return has_cells ? sd_flow_named(t, handle) : NULL;
}

SD_LOCAL uint32_t sd_direct_count(struct sd_instance *instance, uint32_t table, uint64_t handle,
                                          struct sd_count *count)
{
    struct sd_table *t;
    struct sd_entry *e;
    struct sd_flow_entry *flow = sd_flow_direct(instance, table, handle);
    if (flow && instance->tables[table].type->has_direct_counter) {
        *count = sd_flow_count_sum(&instance->tables[table], flow);
        return SD_OK;
    }
    if (sd_direct_entry(instance, table, handle, &t, &e) != SD_OK || !t->type->has_direct_counter)
        return SD_NOT_FOUND;
    *count = e ? sd_slot_count_sum(t, e->slot) : (struct sd_count){0, 0};
    for (uint32_t i = 0; !e && i < t->n_workers; i++)
        sd_count_sum(count, &t->default_cells[i].count);
    return SD_OK;
}

SD_LOCAL uint32_t sd_set_direct_count(struct sd_instance *instance, uint32_t table, uint64_t handle,
                                              struct sd_count count)
{
    struct sd_table *t;
    struct sd_entry *e;
    struct sd_flow_entry *flow = sd_flow_direct(instance, table, handle);
    if (flow && instance->tables[table].type->has_direct_counter) {
        sd_flow_set_count(&instance->tables[table], flow, count);
        return SD_OK;
    }
    if (sd_direct_entry(instance, table, handle, &t, &e) != SD_OK || !t->type->has_direct_counter)
        return SD_NOT_FOUND;
    if (e)
        return sd_entry_set_count(t, e, count) ? SD_OK : SD_NO_MEMORY;
    for (uint32_t i = 0; i < t->n_workers; i++)
        t->default_cells[i].count = i == 0 ? count : (struct sd_count){0, 0};
    return SD_OK;
}

SD_LOCAL uint32_t sd_direct_rates(struct sd_instance *instance, uint32_t table, uint64_t handle,
                                          struct sd_meter_rates *rates)
{
    struct sd_table *t;
    struct sd_entry *e;
    struct sd_flow_entry *flow = sd_flow_direct(instance, table, handle);
    if (flow && instance->tables[table].type->has_direct_meter) {
        *rates = sd_flow_meter(&instance->tables[table], flow)->rates;
        return SD_OK;
    }
    if (sd_direct_entry(instance, table, handle, &t, &e) != SD_OK || !t->type->has_direct_meter)
        return SD_NOT_FOUND;
    *rates = e ? sd_entry_meter(t, e)->rates : t->default_meter.rates;
    return SD_OK;
}

SD_LOCAL uint32_t sd_set_direct_rates(struct sd_instance *instance, uint32_t table, uint64_t handle,
                                              const struct sd_meter_rates *rates, uint64_t now_ns)
{
    struct sd_table *t;
    struct sd_entry *e;
    struct sd_flow_entry *flow = sd_flow_direct(instance, table, handle);
    if (flow && instance->tables[table].type->has_direct_meter) {
        sd_meter_change(sd_flow_meter(&instance->tables[table], flow), rates, now_ns);
        return SD_OK;
    }
    if (sd_direct_entry(instance, table, handle, &t, &e) != SD_OK || !t->type->has_direct_meter)
        return SD_NOT_FOUND;
    sd_meter_change(e ? sd_entry_meter(t, e) : &t->default_meter, rates, now_ns);
    return SD_OK;
}

SD_LOCAL uint32_t sd_direct_colours(struct sd_instance *instance, uint32_t table, uint64_t handle,
                                    struct sd_colour_counts *colours)
{
    struct sd_table *t;
    struct sd_entry *e;
    struct sd_flow_entry *flow = sd_flow_direct(instance, table, handle);
    if (flow && instance->tables[table].type->has_direct_meter) {
        *colours = sd_flow_colours_sum(&instance->tables[table], flow);
        return SD_OK;
    }
    if (sd_direct_entry(instance, table, handle, &t, &e) != SD_OK || !t->type->has_direct_meter)
        return SD_NOT_FOUND;
    *colours = e ? sd_slot_colours_sum(t, e->slot) : (struct sd_colour_counts){0};
    for (uint32_t i = 0; !e && i < t->n_workers; i++)
        sd_colours_sum(colours, &t->default_cells[i].colours);
    return SD_OK;
}

SD_LOCAL uint32_t sd_set_direct_colours(struct sd_instance *instance, uint32_t table, uint64_t handle,
                                        const struct sd_colour_counts *colours)
{
    struct sd_table *t;
    struct sd_entry *e;
    struct sd_flow_entry *flow = sd_flow_direct(instance, table, handle);
    if (flow && instance->tables[table].type->has_direct_meter) {
        sd_flow_set_colours(&instance->tables[table], flow, colours);
        return SD_OK;
    }
    if (sd_direct_entry(instance, table, handle, &t, &e) != SD_OK || !t->type->has_direct_meter)
        return SD_NOT_FOUND;
    if (e)
        return sd_entry_set_colours(t, e, colours) ? SD_OK : SD_NO_MEMORY;
    for (uint32_t i = 0; i < t->n_workers; i++)
        t->default_cells[i].colours = i == 0 ? *colours : (struct sd_colour_counts){0};
    return SD_OK;
}

SD_LOCAL uint32_t sd_table_take_expired(struct sd_instance *instance, uint32_t table, uint64_t now_ns,
                                                uint64_t *handles, uint32_t n_max)
{
    struct sd_table *t = sd_table_of(instance, table);
    uint32_t n = 0;
    if (t && t->type->structure == SD_STRUCTURE_FLOW)
        return sd_flow_take_expired(t, now_ns, handles, n_max);
    if (!t || t->n_timed == 0)
        return 0;
    for (struct sd_order_at at = sd_order_from(&t->order, 0); at.entry && n < n_max; sd_order_next(&t->order, &at)) {
        struct sd_entry *e = sd_entry_ordered(t, at.entry);
        struct sd_entry_times *times = sd_entry_times(t, e);
        uint64_t reported_ns = __atomic_load_n(&times->reported_ns, __ATOMIC_RELAXED);
        uint64_t last_hit_ns = __atomic_load_n(&times->last_hit_ns, __ATOMIC_RELAXED);
        uint64_t since = reported_ns != SD_NEVER ? reported_ns : last_hit_ns;
        uint64_t idle_ns = now_ns > since ? now_ns - since : 0;
        if (times->idle_timeout_ns == 0 || idle_ns < times->idle_timeout_ns)
            continue;
        /* A packet that hits the entry now makes this one report too many; the next comes after a full timeout. */
        __atomic_store_n(&times->reported_ns, now_ns, __ATOMIC_RELAXED);
        handles[n++] = e->handle;
    }
    return n;
}

SD_LOCAL uint32_t sd_table_remove_ended(struct sd_instance *instance, uint32_t table, uint64_t now_ns)
{
    struct sd_table *t = sd_flow_table_of(instance, table);
    if (!t)
        return 0;
    uint32_t n = sd_flow_remove_ended(t, now_ns);
    sd_flow_tell(instance, t);
    return n;
}

SD_LOCAL uint32_t sd_table_set_profile(struct sd_instance *instance, uint32_t table, uint32_t profile, uint64_t timeout_ns)
{
    struct sd_table *t = sd_flow_table_of(instance, table);
    if (!t || profile >= SD_FLOW_N_PROFILES)
        return SD_NOT_FOUND;
    int64_t ns = timeout_ns < (uint64_t)SD_FLOW_NO_TIMEOUT ? (int64_t)timeout_ns : SD_FLOW_NO_TIMEOUT;
    __atomic_store_n(&t->flow.timeouts_ns[profile], ns, __ATOMIC_RELAXED);
    return SD_OK;
}

SD_LOCAL uint32_t sd_table_packet_writes(struct sd_instance *instance, uint32_t table, struct sd_packet_writes *counts)
{
    const struct sd_table *t = sd_flow_table_of(instance, table);
    if (!t)
        return SD_NOT_FOUND;
    sd_flow_counts(t, counts);
    return SD_OK;
}

SD_LOCAL uint64_t sd_flow_ids(struct sd_instance *instance, uint64_t at_least)
{
    uint64_t n = __atomic_load_n(&instance->n_flow_ids, __ATOMIC_RELAXED);
    while (n < at_least && !__atomic_compare_exchange_n(&instance->n_flow_ids, &n, at_least, true, __ATOMIC_RELAXED,
                                                        __ATOMIC_RELAXED))
        ;
    return n < at_least ? at_least : n;
}

/* Ports went down or came up: updates the choices of one-shots. */
SD_LOCAL void sd_table_update_ports(struct sd_table *t, const struct sd_ports *ports_down)
{
    if (t->type->profile == UINT32_MAX)
        return;
    for (struct sd_order_at at = sd_order_from(&t->order, 0); at.entry; sd_order_next(&t->order, &at)) {
        struct sd_entry *e = sd_entry_ordered(t, at.entry);
        if (e->kind == SD_ENTRY_ONE_SHOT && ((struct sd_one_shot *)e->target)->choices.is_watching)
            sd_choices_update(&((struct sd_one_shot *)e->target)->choices, ports_down);
    }
}

#endif
