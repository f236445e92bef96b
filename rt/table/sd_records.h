/*
 * Entries with a record (struct sd_entry), for the control plane.
 *
 * Owns: struct sd_entry_ops of such entries. The lookup structure leads from a key to the record.
 */
#ifndef SD_RECORDS_H
#define SD_RECORDS_H

#include "table/sd_entry_ops.h"

/* Inserts an entry whose key is new. */
SD_LOCAL uint32_t sd_record_add(struct sd_instance *instance, struct sd_table *t, const struct sd_entry_view *view,
                                bool is_const, uint64_t now_ns, uint64_t *handle)
{
    uint32_t prefix_bits = sd_prefix_bits(t->type, view->mask), status = SD_OK;
    if (!sd_table_reserve_slot(t))
        return SD_NO_MEMORY;
    if (t->structure->reserve_one)
        status = t->structure->reserve_one(t, prefix_bits);
    if (status != SD_OK)
        return status;
    void *target;
    status = sd_target_make(instance, t, view, &target);
    if (status != SD_OK)
        return status;
    struct sd_entry *e = sd_slot_take(t);
    e->handle = t->next_handle++;
    e->priority = view->priority;
    e->prefix_bits = prefix_bits;
    e->is_const = is_const;
    sd_entry_set_times(t, e, view, now_ns);
    memcpy(sd_entry_value(t, e), view->value, t->type->key_bytes);
    if (t->mask_at)
        memcpy((uint8_t *)e + t->mask_at, view->mask, t->type->key_bytes);
    sd_entry_begin_cells(t, e, view, now_ns);
    sd_target_set(t, e, view, target);
    status = t->structure->insert(t, e);
    if (status != SD_OK) {
        sd_target_drop(e);
        sd_slot_give_back(t, e->slot);
        t->next_handle--;
        return status;
    }
    t->n_timed += sd_entry_is_timed(t, e);
    sd_order_add(&t->order, e->handle, (uint64_t)e->slot + 1);
    sd_table_add_entries(t, 1);
    *handle = e->handle;
    return SD_OK;
}

SD_LOCAL uint32_t sd_record_insert_one(struct sd_instance *instance, struct sd_table *t, enum sd_entry_writer writer,
                                       const struct sd_entry_view *view, uint64_t now_ns, uint64_t *handle)
{
    if (t->structure->find(t, view))
        return SD_EXISTS;
    if (writer == SD_BY_CONTROLLER && t->n_entries >= t->type->size)
        return SD_FULL;
    bool is_const = writer == SD_BY_PROGRAM && view->is_const;
    return sd_record_add(instance, t, view, is_const, now_ns, handle);
}

SD_LOCAL uint32_t sd_record_insert(struct sd_instance *instance, struct sd_table *t, enum sd_entry_writer writer,
                                   const struct sd_entry_view *views, uint32_t n, uint64_t now_ns, uint64_t *handles,
                                   uint8_t *statuses)
{
    uint32_t n_inserted = 0;
    for (uint32_t from = 0; from < n; from += SD_WRITE_BATCH) {
        uint32_t n_batch = n - from < SD_WRITE_BATCH ? n - from : SD_WRITE_BATCH;
        if (n > 1 && t->structure->insert_prefetch)
            t->structure->insert_prefetch(t, views + from, n_batch);
        if (n > 1)
            sd_slots_prefetch(t, n_batch);
        for (uint32_t i = from; i < from + n_batch; i++) {
            uint32_t status = sd_record_insert_one(instance, t, writer, &views[i], now_ns, &handles[i]);
            statuses[i] = (uint8_t)status;
            n_inserted += status == SD_OK;
        }
    }
    sd_table_tell_bytes(instance, t);
    return n_inserted;
}

/* A new record takes the place of `old` in one step; `target` is what the view refers to. Counts and tokens go on. */
SD_LOCAL uint32_t sd_record_replace(struct sd_table *t, struct sd_entry *old, const struct sd_entry_view *view,
                                    void *target, uint64_t now_ns)
{
    static const struct sd_entry_view no_cells;
    bool has_cells = t->type->has_direct_counter || t->type->has_direct_meter;
    if (!sd_table_reserve_slot(t))
        return SD_NO_MEMORY;
    if (has_cells && (!sd_carried_make(t, old->slot) || !sd_carried_make(t, sd_slot_next(t))))
        return SD_NO_MEMORY;
    struct sd_entry *e = sd_slot_take(t);
    e->handle = old->handle;
    e->priority = old->priority;
    e->prefix_bits = old->prefix_bits;
    e->is_const = old->is_const;
    sd_entry_set_times(t, e, view, now_ns);
    memcpy(sd_entry_value(t, e), sd_entry_value(t, old), t->type->key_bytes);
    if (t->mask_at)
        memcpy((uint8_t *)e + t->mask_at, sd_entry_mask(t, old), t->type->key_bytes);
    sd_entry_begin_cells(t, e, &no_cells, now_ns);
    if (t->type->has_direct_meter && view->rates)
        sd_meter_set(sd_entry_meter(t, e), view->rates, now_ns);
    else if (t->type->has_direct_meter)
        sd_meter_copy(sd_entry_meter(t, e), sd_entry_meter(t, old));
    sd_target_set(t, e, view, target);
    uint32_t status = t->structure->replace(t, old, e);
    if (status != SD_OK) {
        sd_target_unuse(e);
        sd_slot_give_back(t, e->slot);
        return status;
    }
    if (has_cells) {
        sd_carried_of(t, e->slot)->before[e->slot & (SD_CHUNK_SLOTS - 1)] = old->slot + 1;
        sd_carried_of(t, old->slot)->after[old->slot & (SD_CHUNK_SLOTS - 1)] = e->slot + 1;
        sd_entry_set_counts(t, e, view);
    }
    t->n_timed = t->n_timed + sd_entry_is_timed(t, e) - sd_entry_is_timed(t, old);
    sd_order_change(&t->order, e->handle, (uint64_t)e->slot + 1);
    sd_target_unuse(old);
    sd_slot_remove(t, old);
    return SD_OK;
}

/* The record stays, with its cells: lookups read action and data from the structure. */
SD_LOCAL uint32_t sd_record_exchange(struct sd_table *t, struct sd_entry *e, const struct sd_entry_view *view,
                                     uint64_t now_ns)
{
    if (t->type->has_direct_counter && view->count && !sd_carried_make(t, e->slot))
        return SD_NO_MEMORY;
    uint32_t status = t->structure->exchange(t, e, view);
    if (status != SD_OK)
        return status;
    sd_target_set(t, e, view, NULL);
    t->n_timed -= sd_entry_is_timed(t, e);
    sd_entry_set_times(t, e, view, now_ns);
    t->n_timed += sd_entry_is_timed(t, e);
    sd_entry_set_counts(t, e, view);
    return SD_OK;
}

/* Modified entries keep their record. Rates change with the action in one step, for which the entry needs another meter. */
SD_INLINE bool sd_record_stays(const struct sd_table *t)
{
    return t->structure->stores_actions && t->structure->stores_actions(t->type) && !t->type->has_direct_meter;
}

SD_LOCAL uint32_t sd_record_modify_one(struct sd_instance *instance, struct sd_table *t, const struct sd_entry_view *view,
                                       uint64_t now_ns, uint64_t *handle)
{
    struct sd_entry *e = t->structure->find(t, view);
    if (!e)
        return SD_NOT_FOUND;
    if (e->is_const)
        return SD_CONST;
    void *target;
    uint32_t status = sd_target_make(instance, t, view, &target);
    if (status != SD_OK)
        return status;
    *handle = e->handle;
    if (sd_record_stays(t))
        return sd_record_exchange(t, e, view, now_ns);
    status = sd_record_replace(t, e, view, target, now_ns);
    if (status != SD_OK && view->kind == SD_ENTRY_ONE_SHOT)
        free(target);
    return status;
}

enum sd_record_change { SD_CHANGE_MODIFY, SD_CHANGE_REMOVE };

/* Prefetches what a change of the entries with the keys of a batch reads and writes. */
SD_LOCAL void sd_record_prefetch(const struct sd_table *t, const struct sd_entry_view *views, uint32_t n,
                                 enum sd_record_change change)
{
    if (n <= 1 || !t->structure->find_prefetch)
        return;
    const struct sd_entry *found[SD_WRITE_BATCH];
    t->structure->find_prefetch(t, views, n, change == SD_CHANGE_MODIFY);
    for (uint32_t i = 0; i < n; i++) {
        found[i] = t->structure->find(t, &views[i]);
        if (found[i])
            __builtin_prefetch(found[i], 1);
    }
    if (change == SD_CHANGE_MODIFY && sd_record_stays(t))
        return;
    if (change == SD_CHANGE_MODIFY)
        sd_slots_prefetch(t, n);
    for (uint32_t i = 0; i < n; i++)
        if (found[i])
            sd_order_prefetch(&t->order, found[i]->handle);
}

SD_LOCAL uint32_t sd_record_modify(struct sd_instance *instance, struct sd_table *t, const struct sd_entry_view *views,
                                   uint32_t n, uint64_t now_ns, uint64_t *handles, uint8_t *statuses)
{
    uint32_t n_modified = 0;
    for (uint32_t from = 0; from < n; from += SD_WRITE_BATCH) {
        uint32_t n_batch = n - from < SD_WRITE_BATCH ? n - from : SD_WRITE_BATCH;
        sd_record_prefetch(t, views + from, n_batch, SD_CHANGE_MODIFY);
        for (uint32_t i = from; i < from + n_batch; i++) {
            uint32_t status = sd_record_modify_one(instance, t, &views[i], now_ns, &handles[i]);
            statuses[i] = (uint8_t)status;
            n_modified += status == SD_OK;
        }
    }
    return n_modified;
}

SD_LOCAL uint32_t sd_record_remove_one(struct sd_table *t, const struct sd_entry_view *view, uint64_t *handle)
{
    struct sd_entry *e = t->structure->find(t, view);
    if (!e)
        return SD_NOT_FOUND;
    if (e->is_const)
        return SD_CONST;
    uint32_t status = t->structure->remove(t, e);
    if (status != SD_OK)
        return status;
    *handle = e->handle;
    sd_order_remove(&t->order, e->handle);
    sd_target_unuse(e);
    t->n_timed -= sd_entry_is_timed(t, e);
    sd_table_add_entries(t, -UINT64_C(1));
    sd_slot_remove(t, e);
    return SD_OK;
}

SD_LOCAL uint32_t sd_record_remove(struct sd_instance *instance, struct sd_table *t, const struct sd_entry_view *views,
                                   uint32_t n, uint64_t *handles, uint8_t *statuses)
{
    uint32_t n_removed = 0;
    for (uint32_t from = 0; from < n; from += SD_WRITE_BATCH) {
        uint32_t n_batch = n - from < SD_WRITE_BATCH ? n - from : SD_WRITE_BATCH;
        sd_record_prefetch(t, views + from, n_batch, SD_CHANGE_REMOVE);
        for (uint32_t i = from; i < from + n_batch; i++) {
            uint32_t status = sd_record_remove_one(t, &views[i], &handles[i]);
            statuses[i] = (uint8_t)status;
            n_removed += status == SD_OK;
        }
    }
    sd_table_tell_bytes(instance, t);
    return n_removed;
}

SD_LOCAL void sd_record_show(const struct sd_table *t, const struct sd_entry *e, struct sd_entry_view *view)
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
        view->is_random = one_shot->is_random;
        view->weighted = one_shot->choices.weighted;
        view->group_action = one_shot->has_group_action ? &one_shot->group_action : NULL;
    }
}

SD_LOCAL uint32_t sd_record_find(const struct sd_table *t, const struct sd_entry_view *key, struct sd_entry_view *found)
{
    const struct sd_entry *e = t->structure->find(t, key);
    if (!e)
        return SD_NOT_FOUND;
    sd_record_show(t, e, found);
    return SD_OK;
}

SD_LOCAL uint32_t sd_record_read(const struct sd_table *t, uint64_t handle, uint64_t ordered, struct sd_entry_view *found)
{
    (void)handle;
    sd_record_show(t, sd_entry_ordered(t, ordered), found);
    return SD_OK;
}

static const SD_UNUSED struct sd_entry_ops sd_record_ops = {
    .insert = sd_record_insert,
    .modify = sd_record_modify,
    .remove = sd_record_remove,
    .find = sd_record_find,
    .read = sd_record_read,
};

#endif
