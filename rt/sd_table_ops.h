/*
 * What the control plane does with tables: struct sd_control_ops says what each of these does.
 *
 * Owns: checks of what the caller names. What depends on the program's text (constant entries, actions for the
 * default only, widths) is checked by the host.
 */
#ifndef SD_TABLE_OPS_H
#define SD_TABLE_OPS_H

#include "sd_entries.h"

SD_INLINE struct sd_table *sd_table_of(struct sd_instance *instance, uint32_t table)
{
    return table < instance->pipeline->n_tables ? &instance->tables[table] : NULL;
}

SD_LOCAL void sd_entry_show(const struct sd_table *t, const struct sd_entry *e,
                                    struct sd_entry_view *view)
{
    *view = (struct sd_entry_view){
        .handle = e->handle,
        .value = sd_entry_value(t, e),
        .mask = sd_entry_mask(t, e),
        .priority = e->priority,
        .kind = e->kind,
        .what = e->what,
        .is_const = e->is_const,
        .idle_timeout_ns = e->idle_timeout_ns,
        .last_hit_ns = e->last_hit_ns,
    };
    if (e->kind == SD_ENTRY_ACTION) {
        view->data = sd_entry_data(t, e);
    } else if (e->kind == SD_ENTRY_ONE_SHOT) {
        const struct sd_one_shot *one_shot = e->target;
        view->n_weighted = one_shot->choices.n;
        view->weighted = one_shot->choices.weighted;
    }
}

SD_LOCAL uint32_t sd_table_insert(struct sd_instance *instance, uint32_t table,
                                          const struct sd_entry_view *view, uint64_t now_ns, uint64_t *handle)
{
    struct sd_table *t = sd_table_of(instance, table);
    if (!t)
        return SD_NOT_FOUND;
    if (t->engine == SD_ENGINE_NONE)
        return SD_OUT_OF_RANGE;
    if (sd_entry_find(t, view))
        return SD_EXISTS;
    if (t->n_entries >= t->type->size)
        return SD_FULL;
    return sd_table_add(instance, t, view, false, now_ns, handle);
}

/* Of the program: not counted against the size; of two with one key and priority the first stays. */
SD_LOCAL uint32_t sd_table_put_initial(struct sd_instance *instance, uint32_t table,
                                               const struct sd_entry_view *view)
{
    struct sd_table *t = sd_table_of(instance, table);
    if (!t)
        return SD_NOT_FOUND;
    if (t->engine == SD_ENGINE_NONE)
        return SD_OUT_OF_RANGE;
    uint64_t handle;
    return sd_entry_find(t, view) ? SD_OK : sd_table_add(instance, t, view, view->is_const, 0, &handle);
}

SD_LOCAL uint32_t sd_table_modify(struct sd_instance *instance, uint32_t table,
                                          const struct sd_entry_view *view, uint64_t now_ns, uint64_t *handle)
{
    struct sd_table *t = sd_table_of(instance, table);
    struct sd_entry *e = t ? sd_entry_find(t, view) : NULL;
    if (!e)
        return SD_NOT_FOUND;
    void *target;
    uint32_t status = sd_target_make(instance, t, view, &target);
    if (status != SD_OK)
        return status;
    sd_target_drop(e);
    sd_target_set(t, e, view, target);
    t->n_timed -= e->idle_timeout_ns > 0;
    t->n_timed += view->idle_timeout_ns > 0;
    e->idle_timeout_ns = view->idle_timeout_ns;
    e->last_hit_ns = now_ns;
    e->reported_ns = SD_NEVER;
    *handle = e->handle;
    return sd_engine_update(t, e);
}

SD_LOCAL uint32_t sd_table_remove(struct sd_instance *instance, uint32_t table,
                                          const struct sd_entry_view *view)
{
    struct sd_table *t = sd_table_of(instance, table);
    struct sd_entry *e = t ? sd_entry_find(t, view) : NULL;
    if (!e)
        return SD_NOT_FOUND;
    sd_engine_remove(t, e);
    sd_ordered_remove(t, e->handle);
    sd_target_drop(e);
    t->n_timed -= e->idle_timeout_ns > 0;
    t->n_entries--;
    instance->entries_bytes -= sd_touched_bytes(t);
    uint32_t slot = e->slot;
    e->slot = t->free_slot;
    t->free_slot = slot;
    return SD_OK;
}

SD_LOCAL uint32_t sd_table_find(struct sd_instance *instance, uint32_t table,
                                        const struct sd_entry_view *key, struct sd_entry_view *found)
{
    struct sd_table *t = sd_table_of(instance, table);
    const struct sd_entry *e = t ? sd_entry_find(t, key) : NULL;
    if (!e)
        return SD_NOT_FOUND;
    sd_entry_show(t, e, found);
    return SD_OK;
}

SD_LOCAL uint32_t sd_table_get(struct sd_instance *instance, uint32_t table, uint64_t handle,
                                       struct sd_entry_view *found)
{
    struct sd_table *t = sd_table_of(instance, table);
    const struct sd_entry *e = t ? sd_entry_get(t, handle) : NULL;
    if (!e)
        return SD_NOT_FOUND;
    sd_entry_show(t, e, found);
    return SD_OK;
}

SD_LOCAL uint32_t sd_table_next(struct sd_instance *instance, uint32_t table, uint64_t *after,
                                        struct sd_entry_view *found)
{
    struct sd_table *t = sd_table_of(instance, table);
    if (!t)
        return SD_NOT_FOUND;
    for (uint64_t at = sd_ordered_position(t, *after + 1); at < t->n_ordered; at++) {
        if (t->ordered[at].slot == SD_NO_SLOT)
            continue;
        *after = t->ordered[at].handle;
        sd_entry_show(t, sd_entry_at(t, t->ordered[at].slot), found);
        return SD_OK;
    }
    return SD_NOT_FOUND;
}

SD_LOCAL uint64_t sd_table_n_entries(struct sd_instance *instance, uint32_t table)
{
    const struct sd_table *t = sd_table_of(instance, table);
    return t ? t->n_entries : 0;
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
    return SD_OK;
}

SD_LOCAL uint32_t sd_table_default(struct sd_instance *instance, uint32_t table, const uint8_t **data)
{
    const struct sd_table *t = sd_table_of(instance, table);
    if (!t)
        return UINT32_MAX;
    *data = t->default_data;
    return t->default_action;
}

/* Where direct cells are; a miss counts nowhere, but the default entry has cells that can be written and read. */
SD_LOCAL uint32_t sd_direct_entry(struct sd_instance *instance, uint32_t table, uint64_t handle,
                                          struct sd_table **t, struct sd_entry **e)
{
    *t = sd_table_of(instance, table);
    *e = NULL;
    if (!*t)
        return SD_NOT_FOUND;
    if (handle == SD_DEFAULT_ENTRY)
        return SD_OK;
    *e = sd_entry_get(*t, handle);
    return *e ? SD_OK : SD_NOT_FOUND;
}

SD_LOCAL uint32_t sd_direct_count(struct sd_instance *instance, uint32_t table, uint64_t handle,
                                          struct sd_count *count)
{
    struct sd_table *t;
    struct sd_entry *e;
    if (sd_direct_entry(instance, table, handle, &t, &e) != SD_OK || !t->type->has_direct_counter)
        return SD_NOT_FOUND;
    *count = e ? (struct sd_count){0, 0} : t->default_count;
    for (uint32_t i = 0; e && i < t->n_workers; i++) {
        count->n_packets += sd_entry_count(t, e, i)->n_packets;
        count->n_bytes += sd_entry_count(t, e, i)->n_bytes;
    }
    return SD_OK;
}

SD_LOCAL uint32_t sd_set_direct_count(struct sd_instance *instance, uint32_t table, uint64_t handle,
                                              struct sd_count count)
{
    struct sd_table *t;
    struct sd_entry *e;
    if (sd_direct_entry(instance, table, handle, &t, &e) != SD_OK || !t->type->has_direct_counter)
        return SD_NOT_FOUND;
    if (!e)
        t->default_count = count;
    for (uint32_t i = 0; e && i < t->n_workers; i++)
        *sd_entry_count(t, e, i) = i == 0 ? count : (struct sd_count){0, 0};
    return SD_OK;
}

SD_LOCAL uint32_t sd_direct_rates(struct sd_instance *instance, uint32_t table, uint64_t handle,
                                          struct sd_meter_rates *rates)
{
    struct sd_table *t;
    struct sd_entry *e;
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
    if (sd_direct_entry(instance, table, handle, &t, &e) != SD_OK || !t->type->has_direct_meter)
        return SD_NOT_FOUND;
    sd_meter_set(e ? sd_entry_meter(t, e) : &t->default_meter, rates, now_ns);
    return SD_OK;
}

SD_LOCAL uint32_t sd_table_take_expired(struct sd_instance *instance, uint32_t table, uint64_t now_ns,
                                                uint64_t *handles, uint32_t n_max)
{
    struct sd_table *t = sd_table_of(instance, table);
    uint32_t n = 0;
    if (!t || t->n_timed == 0)
        return 0;
    for (uint64_t i = 0; i < t->n_ordered && n < n_max; i++) {
        if (t->ordered[i].slot == SD_NO_SLOT)
            continue;
        struct sd_entry *e = sd_entry_at(t, t->ordered[i].slot);
        uint64_t since = e->reported_ns != SD_NEVER ? e->reported_ns : e->last_hit_ns;
        uint64_t idle_ns = now_ns > since ? now_ns - since : 0;
        if (e->idle_timeout_ns == 0 || idle_ns < e->idle_timeout_ns)
            continue;
        e->reported_ns = now_ns;
        handles[n++] = e->handle;
    }
    return n;
}

/* Ports went down or came up: what one-shots choose from. */
SD_LOCAL void sd_table_update_ports(struct sd_table *t, const struct sd_ports *ports_down)
{
    for (uint64_t i = 0; t->type->profile != UINT32_MAX && i < t->n_ordered; i++) {
        if (t->ordered[i].slot == SD_NO_SLOT)
            continue;
        struct sd_entry *e = sd_entry_at(t, t->ordered[i].slot);
        if (e->kind == SD_ENTRY_ONE_SHOT && ((struct sd_one_shot *)e->target)->choices.is_watching)
            sd_choices_update(&((struct sd_one_shot *)e->target)->choices, ports_down);
    }
}

#endif
