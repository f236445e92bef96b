/*
 * What the control plane does with tables: struct sd_control_ops says what each of these does.
 *
 * Owns: checks of what the caller names. What depends on the program's text (constant entries, actions for the
 * default only, widths) is checked by the host.
 */
#ifndef SD_TABLE_OPS_H
#define SD_TABLE_OPS_H

#include "table/sd_table_inline.h"

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
    };
    if (t->times_at) {
        view->idle_timeout_ns = sd_entry_times(t, e)->idle_timeout_ns;
        view->last_hit_ns = __atomic_load_n(&sd_entry_times(t, e)->last_hit_ns, __ATOMIC_RELAXED);
    }
    if (e->kind == SD_ENTRY_ACTION) {
        view->data = sd_entry_data(t, e);
    } else if (e->kind == SD_ENTRY_ONE_SHOT) {
        const struct sd_one_shot *one_shot = e->target;
        view->n_weighted = one_shot->choices.n;
        view->weighted = one_shot->choices.weighted;
    }
}

/* Whether the table can have entries at all. */
SD_INLINE uint32_t sd_table_check(const struct sd_table *t)
{
    return !t ? SD_NOT_FOUND : t->engine == SD_STRUCTURE_NONE ? SD_OUT_OF_RANGE : SD_OK;
}

/* The one place that decides what workers need not stand still for. */
SD_LOCAL uint32_t sd_table_concurrent_ops(struct sd_instance *instance, uint32_t table)
{
    const struct sd_table *t = sd_table_of(instance, table);
    if (!t)
        return 0;
    /* Times are read and written as words. */
    uint32_t beside = SD_CONCURRENT_EXPIRE;
    /* Workers write cells of counters and meters as if nobody else did. */
    if (!t->type->has_direct_counter && !t->type->has_direct_meter)
        beside |= SD_CONCURRENT_READ;
    /* Where there is an index for each length, workers would see indices and their list change. */
    if (t->engine != SD_STRUCTURE_LPM || sd_lpm_is_joined(t->type))
        beside |= SD_CONCURRENT_INSERT | SD_CONCURRENT_REMOVE;
    if (t->entries_are_inline || sd_table_swaps(t))
        beside |= SD_CONCURRENT_MODIFY;
    return beside;
}

/* Of a table that can have entries. */
SD_LOCAL uint32_t sd_table_insert_one(struct sd_instance *instance, struct sd_table *t,
                                      const struct sd_entry_view *view, uint64_t now_ns, uint64_t *handle)
{
    if (sd_entry_find(t, view))
        return SD_EXISTS;
    if (t->n_entries >= t->type->size)
        return SD_FULL;
    return sd_table_add(instance, t, view, false, now_ns, handle);
}

SD_LOCAL uint32_t sd_table_insert(struct sd_instance *instance, uint32_t table,
                                          const struct sd_entry_view *view, uint64_t now_ns, uint64_t *handle)
{
    struct sd_table *t = sd_table_of(instance, table);
    uint32_t status = sd_table_check(t);
    if (status != SD_OK)
        return status;
    if (t->entries_are_inline) {
        uint8_t of_one;
        sd_inline_insert(instance, t, SD_INLINE_BY_CONTROLLER, view, 1, handle, &of_one);
        return of_one;
    }
    return sd_table_insert_one(instance, t, view, now_ns, handle);
}

SD_LOCAL uint32_t sd_table_insert_batch(struct sd_instance *instance, uint32_t table,
                                        const struct sd_entry_view *views, uint32_t n, uint64_t now_ns,
                                        uint64_t *handles, uint8_t *statuses)
{
    struct sd_table *t = sd_table_of(instance, table);
    uint32_t n_inserted = 0, status = sd_table_check(t);
    if (status != SD_OK) {
        memset(statuses, (int)status, n);
        return 0;
    }
    if (t->entries_are_inline)
        return sd_inline_insert(instance, t, SD_INLINE_BY_CONTROLLER, views, n, handles, statuses);
    struct sd_exact_shape shape = sd_table_shape(t->type, t->type->key_bytes);
    for (uint32_t from = 0; from < n; from += SD_EXACT_BURST) {
        uint64_t hashes[SD_EXACT_BURST];
        const struct sd_entry_view *view = views + from;
        uint32_t n_burst = n - from < SD_EXACT_BURST ? n - from : SD_EXACT_BURST;
        if (t->engine == SD_STRUCTURE_EXACT) {
            for (uint32_t i = 0; i < n_burst; i++)
                hashes[i] = sd_exact_start_insert(&t->exact, shape, view[i].value);
            for (uint32_t i = 0; i < n_burst; i++)
                sd_exact_prefetch_insert(&t->exact, shape, hashes[i]);
        }
        for (uint32_t i = 0; i < n_burst; i++) {
            status = sd_table_insert_one(instance, t, &view[i], now_ns, &handles[from + i]);
            statuses[from + i] = (uint8_t)status;
            n_inserted += status == SD_OK;
        }
    }
    return n_inserted;
}

/* What it makes ahead are segments and the order of entries; entries that are kept apart get their chunks one by one. */
SD_LOCAL uint32_t sd_table_reserve(struct sd_instance *instance, uint32_t table, uint64_t n)
{
    struct sd_table *t = sd_table_of(instance, table);
    uint32_t status = sd_table_check(t);
    if (status != SD_OK)
        return status;
    if (n > t->type->size)
        return SD_FULL;
    if (t->engine != SD_STRUCTURE_EXACT || n <= t->n_entries)
        return SD_OK;
    status = sd_exact_reserve(&t->exact, n);
    if (status == SD_OK && !sd_order_reserve_many(&t->order, n - t->n_entries))
        status = SD_NO_MEMORY;
    return status;
}

/* Of the program: not counted against the size; of two with one key and priority the first stays. */
SD_LOCAL uint32_t sd_table_put_initial(struct sd_instance *instance, uint32_t table,
                                               const struct sd_entry_view *view)
{
    struct sd_table *t = sd_table_of(instance, table);
    uint32_t status = sd_table_check(t);
    if (status != SD_OK)
        return status;
    uint64_t handle;
    if (t->entries_are_inline) {
        uint8_t of_one;
        sd_inline_insert(instance, t, SD_INLINE_BY_PROGRAM, view, 1, &handle, &of_one);
        return of_one == SD_EXISTS ? SD_OK : of_one;
    }
    return sd_entry_find(t, view) ? SD_OK : sd_table_add(instance, t, view, view->is_const, 0, &handle);
}

SD_LOCAL uint32_t sd_table_modify(struct sd_instance *instance, uint32_t table,
                                          const struct sd_entry_view *view, uint64_t now_ns, uint64_t *handle)
{
    struct sd_table *t = sd_table_of(instance, table);
    if (t && t->entries_are_inline)
        return sd_inline_modify(t, view, handle);
    struct sd_entry *e = t ? sd_entry_find(t, view) : NULL;
    if (!e)
        return SD_NOT_FOUND;
    void *target;
    uint32_t status = sd_target_make(instance, t, view, &target);
    if (status != SD_OK)
        return status;
    *handle = e->handle;
    if (sd_table_swaps(t)) {
        status = sd_entry_swap(t, e, view, target, now_ns);
        if (status != SD_OK && view->kind == SD_ENTRY_ONE_SHOT)
            free(target);
        return status;
    }
    sd_target_drop(e);
    sd_target_set(t, e, view, target);
    t->n_timed -= sd_entry_is_timed(t, e);
    sd_entry_set_times(t, e, view, now_ns);
    t->n_timed += sd_entry_is_timed(t, e);
    return sd_structure_update(t, e);
}

SD_LOCAL uint32_t sd_table_remove(struct sd_instance *instance, uint32_t table,
                                          const struct sd_entry_view *view)
{
    struct sd_table *t = sd_table_of(instance, table);
    if (t && t->entries_are_inline)
        return sd_inline_remove(instance, t, view);
    struct sd_entry *e = t ? sd_entry_find(t, view) : NULL;
    if (!e)
        return SD_NOT_FOUND;
    uint32_t status = sd_structure_remove(t, e);
    if (status != SD_OK)
        return status;
    sd_order_remove(&t->order, e->handle);
    sd_target_unuse(e);
    t->n_timed -= sd_entry_is_timed(t, e);
    sd_table_add_entries(t, -UINT64_C(1));
    sd_instance_add_bytes(instance, -(uint64_t)sd_touched_bytes(t));
    sd_slot_remove(t, e);
    return SD_OK;
}

SD_LOCAL uint32_t sd_table_find(struct sd_instance *instance, uint32_t table,
                                        const struct sd_entry_view *key, struct sd_entry_view *found)
{
    struct sd_table *t = sd_table_of(instance, table);
    if (t && t->entries_are_inline)
        return sd_inline_show(t, sd_inline_find(t, key->value), found);
    const struct sd_entry *e = t ? sd_entry_find(t, key) : NULL;
    if (!e)
        return SD_NOT_FOUND;
    sd_entry_show(t, e, found);
    return SD_OK;
}

/* What the order of entries has under a handle; 0: nothing. */
SD_LOCAL uint32_t sd_ordered_show(const struct sd_table *t, uint64_t handle, uint64_t ordered,
                                  struct sd_entry_view *found)
{
    if (!ordered)
        return SD_NOT_FOUND;
    if (t->entries_are_inline)
        return sd_inline_show(t, sd_inline_at(t, handle, ordered), found);
    sd_entry_show(t, sd_entry_ordered(t, ordered), found);
    return SD_OK;
}

SD_LOCAL uint32_t sd_table_get(struct sd_instance *instance, uint32_t table, uint64_t handle,
                                       struct sd_entry_view *found)
{
    struct sd_table *t = sd_table_of(instance, table);
    return t ? sd_ordered_show(t, handle, sd_order_get(&t->order, handle), found) : SD_NOT_FOUND;
}

SD_LOCAL uint32_t sd_table_next(struct sd_instance *instance, uint32_t table, uint64_t *after,
                                        struct sd_entry_view *found)
{
    struct sd_table *t = sd_table_of(instance, table);
    if (!t)
        return SD_NOT_FOUND;
    struct sd_order_at at = sd_order_from(&t->order, *after + 1);
    if (at.entry)
        *after = at.handle;
    return sd_ordered_show(t, at.handle, at.entry, found);
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
    /* Lean tables have no such cells. */
    *e = (*t)->entries_are_inline ? NULL : sd_entry_get(*t, handle);
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
    for (struct sd_order_at at = sd_order_from(&t->order, 0); at.entry && n < n_max; sd_order_next(&t->order, &at)) {
        struct sd_entry *e = sd_entry_ordered(t, at.entry);
        struct sd_entry_times *times = sd_entry_times(t, e);
        uint64_t reported_ns = __atomic_load_n(&times->reported_ns, __ATOMIC_RELAXED);
        uint64_t last_hit_ns = __atomic_load_n(&times->last_hit_ns, __ATOMIC_RELAXED);
        uint64_t since = reported_ns != SD_NEVER ? reported_ns : last_hit_ns;
        uint64_t idle_ns = now_ns > since ? now_ns - since : 0;
        if (times->idle_timeout_ns == 0 || idle_ns < times->idle_timeout_ns)
            continue;
        /* If a packet hits it right now it is reported once too often, and not again before its time. */
        __atomic_store_n(&times->reported_ns, now_ns, __ATOMIC_RELAXED);
        handles[n++] = e->handle;
    }
    return n;
}

/* Ports went down or came up: what one-shots choose from. */
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
