/*
 * Entries of tables that packets write, for the control plane: struct sd_entry_ops of struct sd_flow.
 *
 * Owns: the control plane's writer, and copies of entries that it reads: workers remove entries meanwhile, so it reads them as
 * one of the readers of sd_epoch.h and hands out copies. Entries have the order of their slots, not that of their insertion.
 */
#ifndef SD_FLOW_ENTRIES_H
#define SD_FLOW_ENTRIES_H

#include <time.h>

#include "table/sd_entry_ops.h"

/* Buckets that the control plane looks through between two boundaries. */
#define SD_FLOW_N_SWEPT 64u
/* How often the control plane waits 100 us for a worker that holds removed entries. */
#define SD_FLOW_N_WAITS 10000

/* --- Reading --- */

/* Entries that are there; workers may be adding some. */
SD_LOCAL uint64_t sd_flow_n_entries(const struct sd_table *t)
{
    int64_t n = (int64_t)t->type->size - __atomic_load_n(&t->flow.n_left, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i <= t->n_workers; i++)
        n -= __atomic_load_n(&t->flow_writers[i].n_in_hand, __ATOMIC_RELAXED);
    return n > 0 ? (uint64_t)n : 0;
}

SD_INLINE int64_t *sd_flow_own_timeout(const struct sd_table *t, struct sd_flow_entry *e)
{
    return (int64_t *)(void *)sd_flow_extra(t->flow.shape, e);
}

/* When the control plane was told that the timeout has passed; with SD_FLOW_REPORTED. */
SD_INLINE uint64_t *sd_flow_reported_ns(const struct sd_table *t, struct sd_flow_entry *e)
{
    return (uint64_t *)(void *)sd_flow_extra(t->flow.shape, e) + 1;
}

/* Copies an entry, of which the view then is. The control plane reads (sd_epoch_begin_control). */
SD_LOCAL void sd_flow_show(const struct sd_table *t, struct sd_flow_entry *e, uint32_t copy, struct sd_entry_view *view)
{
    uint32_t n_bytes = sd_flow_entry_bytes(t->flow.shape);
    uint64_t handle = sd_flow_handle(&t->flow, e);
    uint8_t flags = __atomic_load_n(&e->flags, __ATOMIC_RELAXED);
    uint8_t profile = __atomic_load_n(&e->profile, __ATOMIC_RELAXED);
    uint64_t last_hit_ns = __atomic_load_n(&e->last_hit_ns, __ATOMIC_RELAXED);
    uint32_t action = e->action;
    int64_t own_ns = flags & SD_FLOW_OWN_TIMEOUT ? __atomic_load_n(sd_flow_own_timeout(t, e), __ATOMIC_RELAXED) : 0;
    struct sd_flow_entry *to = (struct sd_flow_entry *)(void *)(t->flow_copies + (size_t)copy * n_bytes);
    memcpy(sd_flow_key(to), sd_flow_key(e), t->type->key_bytes);
    sd_data_copy(t, sd_flow_data(t->flow.shape, to), sd_flow_data(t->flow.shape, e), t->type->data_bytes);
    for (uint32_t i = 0; t->flow_shards && i < t->n_workers; i++)
        sd_shard_add(t, action, sd_flow_shard(t, t->type, t->flow.shape, e, i), e->n_uses, sd_flow_data(t->flow.shape, to));
    *view = (struct sd_entry_view){
        .handle = handle,
        .value = sd_flow_key(to),
        .mask = t->ones,
        .kind = SD_ENTRY_ACTION,
        .what = action,
        .is_const = (flags & SD_FLOW_CONST) != 0,
        .data = sd_flow_data(t->flow.shape, to),
        .idle_timeout_ns = own_ns == SD_FLOW_NO_TIMEOUT ? 0 : (uint64_t)own_ns,
        .last_hit_ns = last_hit_ns,
        .is_of_packet = !(flags & SD_FLOW_BY_CONTROLLER),
        .profile = t->type->has_idle_timeout && !(flags & SD_FLOW_OWN_TIMEOUT) ? profile : UINT32_MAX,
    };
}

/* The entry in a slot, or NULL. */
SD_LOCAL struct sd_flow_entry *sd_flow_at(const struct sd_table *t, uint64_t slot)
{
    const struct sd_flow *flow = &t->flow;
    if (slot / SD_FLOW_SLOTS >= flow->n_buckets)
        return NULL;
    uint8_t *bucket = sd_flow_bucket(flow, flow->shape, (uint32_t)(slot / SD_FLOW_SLOTS));
    uint32_t lane = (uint32_t)(slot % SD_FLOW_SLOTS);
    for (uint32_t lanes = sd_exact_used(bucket); lanes; lanes = sd_exact_without(lanes, sd_exact_lane(lanes)))
        if (sd_exact_lane(lanes) == lane)
            return sd_flow_entry(flow->shape, bucket, lane);
    return NULL;
}

SD_LOCAL struct sd_flow_entry *sd_flow_named(const struct sd_table *t, uint64_t handle)
{
    struct sd_flow_entry *e = sd_flow_at(t, handle >> 32);
    return e && e->n_uses == (uint32_t)handle ? e : NULL;
}

SD_LOCAL uint32_t sd_flow_get(const struct sd_table *t, uint64_t handle, struct sd_entry_view *found)
{
    sd_epoch_begin_control(t->epochs);
    struct sd_flow_entry *e = sd_flow_named(t, handle);
    if (e)
        sd_flow_show(t, e, 0, found);
    sd_epoch_end_control(t->epochs);
    return e ? SD_OK : SD_NOT_FOUND;
}

/* Up to `n` entries with names above `*after`, which begins as UINT64_MAX; at most SD_FLOW_N_COPIES. */
SD_LOCAL uint32_t sd_flow_next(const struct sd_table *t, uint64_t *after, struct sd_entry_view *views, uint32_t n)
{
    uint64_t first = *after + 1, slot = first >> 32, n_read = 0;
    n = n < SD_FLOW_N_COPIES ? n : SD_FLOW_N_COPIES;
    sd_epoch_begin_control(t->epochs);
    for (; n_read < n && slot / SD_FLOW_SLOTS < t->flow.n_buckets; slot++) {
        struct sd_flow_entry *e = sd_flow_at(t, slot);
        if (!e || sd_flow_handle(&t->flow, e) < first)
            continue;
        sd_flow_show(t, e, (uint32_t)n_read, &views[n_read]);
        *after = views[n_read++].handle;
    }
    sd_epoch_end_control(t->epochs);
    return (uint32_t)n_read;
}

SD_LOCAL uint32_t sd_flow_find_view(const struct sd_table *t, const struct sd_entry_view *key, struct sd_entry_view *found)
{
    sd_epoch_begin_control(t->epochs);
    uint64_t hash = sd_flow_hash(&t->flow, t->flow.shape, key->value);
    struct sd_flow_entry *e = sd_flow_find_any(&t->flow, t->flow.shape, key->value, hash);
    if (e)
        sd_flow_show(t, e, 0, found);
    sd_epoch_end_control(t->epochs);
    return e ? SD_OK : SD_NOT_FOUND;
}

/* Entries of the insertion order; these have none. */
SD_LOCAL uint32_t sd_flow_read(const struct sd_table *t, uint64_t handle, uint64_t ordered, struct sd_entry_view *found)
{
    (void)ordered;
    return sd_flow_get(t, handle, found);
}

/* --- Writing --- */

/* Waits until slots that this writer has emptied are free, if there are too many; false if some worker hangs. */
SD_LOCAL bool sd_flow_wait(struct sd_table *t)
{
    struct sd_flow_writer *w = sd_flow_control_writer(t);
    for (uint32_t i = 0; !sd_flow_may_remove(&t->flow, w); i++) {
        if (i == SD_FLOW_N_WAITS)
            return false;
        const struct timespec pause = {.tv_nsec = 100000};
        nanosleep(&pause, NULL);
    }
    return true;
}

/* The head of an entry that a view describes, and its own timeout. */
SD_INLINE struct sd_flow_entry sd_flow_head(const struct sd_table *t, const struct sd_entry_view *view,
                                            enum sd_entry_writer writer, int64_t *own_timeout_ns)
{
    struct sd_flow_entry head = {.action = (uint16_t)view->what, .flags = view->is_of_packet ? 0 : SD_FLOW_BY_CONTROLLER};
    if (writer == SD_BY_PROGRAM && view->is_const)
        head.flags |= SD_FLOW_CONST;
    *own_timeout_ns = SD_FLOW_NO_TIMEOUT;
    if (!t->type->has_idle_timeout)
        return head;
    if (writer != SD_BY_PROGRAM && view->profile < SD_FLOW_N_PROFILES) {
        head.profile = (uint8_t)view->profile;
        return head;
    }
    head.flags |= SD_FLOW_OWN_TIMEOUT;
    if (view->idle_timeout_ns > 0 && view->idle_timeout_ns < (uint64_t)SD_FLOW_NO_TIMEOUT)
        *own_timeout_ns = (int64_t)view->idle_timeout_ns;
    return head;
}

/* The sum of all workers' counts and the control plane's. */
SD_LOCAL struct sd_count sd_flow_count_sum(const struct sd_table *t, struct sd_flow_entry *e)
{
    struct sd_count sum = {0, 0};
    for (uint32_t i = 0; i <= t->n_workers; i++)
        sd_count_sum(&sum, sd_flow_count(t, e, i));
    return sum;
}

SD_LOCAL struct sd_colour_counts sd_flow_colours_sum(const struct sd_table *t, struct sd_flow_entry *e)
{
    struct sd_colour_counts sum = {0};
    for (uint32_t i = 0; i <= t->n_workers; i++)
        sd_colours_sum(&sum, sd_flow_colours(t, e, i));
    return sum;
}

/* Sets the count of an entry, beside workers: those that count meanwhile count after it. */
SD_LOCAL void sd_flow_set_count(const struct sd_table *t, struct sd_flow_entry *e, struct sd_count count)
{
    sd_count_correct(sd_flow_count(t, e, t->n_workers), count, sd_flow_count_sum(t, e));
}

SD_LOCAL void sd_flow_set_colours(const struct sd_table *t, struct sd_flow_entry *e, const struct sd_colour_counts *colours)
{
    struct sd_colour_counts sum = sd_flow_colours_sum(t, e), *own = sd_flow_colours(t, e, t->n_workers);
    for (uint32_t i = 0; i < SD_N_COLOURS; i++)
        sd_count_correct(&own->counts[i], colours->counts[i], sum.counts[i]);
}

/* Sets the cells that a view gives. */
SD_LOCAL void sd_flow_set_cells(const struct sd_table *t, struct sd_flow_entry *e, const struct sd_entry_view *view,
                                uint64_t now_ns)
{
    if (t->type->has_direct_counter && view->count)
        sd_flow_set_count(t, e, *view->count);
    if (t->type->has_direct_meter && view->colours)
        sd_flow_set_colours(t, e, view->colours);
    if (t->type->has_direct_meter && view->rates)
        sd_meter_change(sd_flow_meter(t, e), view->rates, now_ns);
}

SD_INLINE uint32_t sd_flow_check(const struct sd_table *t, const struct sd_entry_view *view)
{
    if (view->kind != SD_ENTRY_ACTION)
        return SD_NOT_FOUND;
    return view->what < t->type->n_actions ? SD_OK : SD_OUT_OF_RANGE;
}

/* Hashes the keys of a batch, and prefetches what a change of their entries reads and writes. */
SD_INLINE void sd_flow_prefetch_batch(const struct sd_table *t, const struct sd_entry_view *views, uint32_t n, uint64_t *hashes)
{
    const struct sd_flow *flow = &t->flow;
    for (uint32_t i = 0; i < n; i++) {
        hashes[i] = sd_flow_hash(flow, flow->shape, views[i].value);
        sd_flow_prefetch_home(flow, flow->shape, hashes[i]);
    }
    for (uint32_t i = 0; i < n && n > 1; i++)
        sd_flow_prefetch_entry(flow, flow->shape, hashes[i]);
}

SD_LOCAL uint32_t sd_flow_remove_ended(struct sd_table *t, uint64_t now_ns);

/* In a full table entries that have ended make room, once for all entries of a call. */
SD_LOCAL uint32_t sd_flow_insert_one(struct sd_table *t, enum sd_entry_writer writer, const struct sd_entry_view *view,
                                     uint64_t hash, uint64_t now_ns, bool *is_swept, uint64_t *handle)
{
    uint32_t status = sd_flow_check(t, view);
    if (status != SD_OK)
        return status;
    int64_t own_timeout_ns;
    struct sd_flow_entry head = sd_flow_head(t, view, writer, &own_timeout_ns), *added;
    uint32_t n_bytes = view->data ? t->type->actions[view->what].data_bytes : 0;
    struct sd_flow_writer *w = sd_flow_control_writer(t);
    const uint8_t *data = n_bytes ? view->data : view->value;
    enum sd_flow_status added_as =
        sd_flow_add(&t->flow, w, t->flow.shape, view->value, hash, head, own_timeout_ns, data, n_bytes, now_ns, &added);
    if (added_as == SD_FLOW_FULL && !*is_swept) {
        *is_swept = true;
        if (sd_flow_remove_ended(t, now_ns) > 0) {
            sd_flow_collect(&t->flow, w);
            added_as = sd_flow_add(&t->flow, w, t->flow.shape, view->value, hash, head, own_timeout_ns, data, n_bytes,
                                   now_ns, &added);
        }
    }
    switch (added_as) {
    case SD_FLOW_EXISTS: return SD_EXISTS;
    case SD_FLOW_ADDED: break;
    case SD_FLOW_FULL:
    case SD_FLOW_N_STATUSES: return SD_FULL;
    }
    sd_flow_set_cells(t, added, view, now_ns);
    w->n_carried += view->is_of_packet != 0;
    *handle = sd_flow_handle(&t->flow, added);
    return SD_OK;
}

SD_LOCAL uint32_t sd_flow_insert(struct sd_instance *instance, struct sd_table *t, enum sd_entry_writer writer,
                                 const struct sd_entry_view *views, uint32_t n, uint64_t now_ns, uint64_t *handles,
                                 uint8_t *statuses)
{
    (void)instance;
    uint32_t n_inserted = 0;
    bool is_swept = false;
    for (uint32_t from = 0; from < n; from += SD_WRITE_BATCH) {
        uint64_t hashes[SD_WRITE_BATCH];
        uint32_t n_batch = n - from < SD_WRITE_BATCH ? n - from : SD_WRITE_BATCH;
        sd_flow_prefetch_batch(t, views + from, n_batch, hashes);
        for (uint32_t i = 0; i < n_batch; i++) {
            uint32_t status = sd_flow_insert_one(t, writer, &views[from + i], hashes[i], now_ns, &is_swept, &handles[from + i]);
            statuses[from + i] = (uint8_t)status;
            n_inserted += status == SD_OK;
        }
    }
    return n_inserted;
}

/* The new entry begins with the counts of the old one. What workers count in the old one meanwhile is lost. */
SD_LOCAL void sd_flow_carry_cells(const struct sd_table *t, struct sd_flow_entry *from, struct sd_flow_entry *to, uint64_t now_ns)
{
    if (t->type->has_direct_counter)
        sd_flow_set_count(t, to, sd_flow_count_sum(t, from));
    if (t->type->has_direct_meter) {
        struct sd_colour_counts colours = sd_flow_colours_sum(t, from);
        sd_flow_set_colours(t, to, &colours);
    }
    if (t->type->has_direct_meter)
        sd_meter_change(sd_flow_meter(t, to), &sd_flow_meter(t, from)->rates, now_ns);
}

SD_LOCAL uint32_t sd_flow_modify_one(struct sd_table *t, const struct sd_entry_view *view, uint64_t hash, uint64_t now_ns,
                                     uint64_t *handle)
{
    uint32_t status = sd_flow_check(t, view);
    if (status != SD_OK)
        return status;
    int64_t own_timeout_ns;
    struct sd_flow_entry head = sd_flow_head(t, view, SD_BY_CONTROLLER, &own_timeout_ns);
    head.flags &= (uint8_t)~SD_FLOW_BY_CONTROLLER;
    uint32_t n_bytes = view->data ? t->type->actions[view->what].data_bytes : 0;
    const uint8_t *data = n_bytes ? view->data : view->value;
    struct sd_flow *flow = &t->flow;
    if (!sd_flow_wait(t))
        return SD_NO_MEMORY;
    sd_epoch_begin_control(t->epochs);
    struct sd_flow_entry *old = sd_flow_find(flow, flow->shape, view->value, hash, now_ns), *e = NULL;
    if (old && (old->flags & SD_FLOW_CONST)) {
        status = SD_CONST;
    } else if (old && view->idle_timeout_ns == 0 && !(old->flags & SD_FLOW_OWN_TIMEOUT)) {
        /* It keeps the profile of its timeout. */
        head.flags &= (uint8_t)~SD_FLOW_OWN_TIMEOUT;
        head.profile = old->profile;
    }
    if (status == SD_OK) {
        bool is_replaced = sd_flow_replace(flow, sd_flow_control_writer(t), view->value, hash, head, own_timeout_ns, data,
                                           n_bytes, now_ns);
        e = is_replaced ? sd_flow_find_any(flow, flow->shape, view->value, hash) : NULL;
        status = e ? SD_OK : old ? SD_FULL : SD_NOT_FOUND;
    }
    if (e && sd_flow_type_has_cells(t->type)) {
        sd_flow_carry_cells(t, old, e, now_ns);
        sd_flow_set_cells(t, e, view, now_ns);
    }
    if (e)
        *handle = sd_flow_handle(flow, e);
    sd_epoch_end_control(t->epochs);
    return status;
}

SD_LOCAL uint32_t sd_flow_modify(struct sd_instance *instance, struct sd_table *t, const struct sd_entry_view *views,
                                 uint32_t n, uint64_t now_ns, uint64_t *handles, uint8_t *statuses)
{
    (void)instance;
    uint32_t n_modified = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t hash = sd_flow_hash(&t->flow, t->flow.shape, views[i].value);
        uint32_t status = sd_flow_modify_one(t, &views[i], hash, now_ns, &handles[i]);
        statuses[i] = (uint8_t)status;
        n_modified += status == SD_OK;
    }
    return n_modified;
}

SD_LOCAL uint32_t sd_flow_remove_one(struct sd_table *t, const struct sd_entry_view *view, uint64_t hash, uint64_t *handle)
{
    struct sd_flow *flow = &t->flow;
    sd_epoch_begin_control(t->epochs);
    struct sd_flow_entry *e = sd_flow_find_any(flow, flow->shape, view->value, hash);
    uint32_t status = !e ? SD_NOT_FOUND : e->flags & SD_FLOW_CONST ? SD_CONST : SD_OK;
    if (e)
        *handle = sd_flow_handle(flow, e);
    sd_epoch_end_control(t->epochs);
    if (status != SD_OK)
        return status;
    if (!sd_flow_wait(t))
        return SD_NO_MEMORY;
    bool is_removed = sd_flow_remove(flow, sd_flow_control_writer(t), view->value, hash, SD_FLOW_DELETE, 0);
    return is_removed ? SD_OK : SD_NOT_FOUND;
}

SD_LOCAL uint32_t sd_flow_remove_views(struct sd_instance *instance, struct sd_table *t, const struct sd_entry_view *views,
                                       uint32_t n, uint64_t *handles, uint8_t *statuses)
{
    (void)instance;
    uint32_t n_removed = 0;
    for (uint32_t from = 0; from < n; from += SD_WRITE_BATCH) {
        uint64_t hashes[SD_WRITE_BATCH];
        uint32_t n_batch = n - from < SD_WRITE_BATCH ? n - from : SD_WRITE_BATCH;
        sd_flow_prefetch_batch(t, views + from, n_batch, hashes);
        for (uint32_t i = 0; i < n_batch; i++) {
            uint32_t status = sd_flow_remove_one(t, &views[from + i], hashes[i], &handles[from + i]);
            statuses[from + i] = (uint8_t)status;
            n_removed += status == SD_OK;
        }
    }
    return n_removed;
}

static const SD_UNUSED struct sd_entry_ops sd_flow_entry_ops = {
    .insert = sd_flow_insert,
    .modify = sd_flow_modify,
    .remove = sd_flow_remove_views,
    .find = sd_flow_find_view,
    .read = sd_flow_read,
    .next = sd_flow_next,
};

/* --- Timeouts and counts --- */

/* Removes all entries that have ended, and gives slots back that the control plane has emptied. Returns the number of entries. */
SD_LOCAL uint32_t sd_flow_remove_ended(struct sd_table *t, uint64_t now_ns)
{
    uint32_t n_removed = 0;
    sd_flow_collect(&t->flow, sd_flow_control_writer(t));
    for (uint32_t at = 0; t->flow.deletes && at < t->flow.n_buckets; at += SD_FLOW_N_SWEPT) {
        uint32_t n = t->flow.n_buckets - at < SD_FLOW_N_SWEPT ? t->flow.n_buckets - at : SD_FLOW_N_SWEPT;
        if (!sd_flow_wait(t))
            break;
        sd_epoch_begin_control(t->epochs);
        n_removed += sd_flow_sweep(&t->flow, sd_flow_control_writer(t), n, now_ns);
        sd_epoch_end_control(t->epochs);
    }
    return n_removed;
}

/* Names of entries whose timeout has passed since the last hit or report. */
SD_LOCAL uint32_t sd_flow_take_expired(struct sd_table *t, uint64_t now_ns, uint64_t *handles, uint32_t n_max)
{
    uint32_t n = 0;
    if (t->flow.deletes)
        return 0;
    sd_epoch_begin_control(t->epochs);
    for (uint64_t slot = 0; n < n_max && slot / SD_FLOW_SLOTS < t->flow.n_buckets; slot++) {
        struct sd_flow_entry *e = sd_flow_at(t, slot);
        if (!e)
            continue;
        uint64_t since = __atomic_load_n(&e->last_hit_ns, __ATOMIC_RELAXED);
        if (__atomic_load_n(&e->flags, __ATOMIC_RELAXED) & SD_FLOW_REPORTED)
            since = *sd_flow_reported_ns(t, e);
        if ((int64_t)(now_ns - since) < sd_flow_timeout_ns(&t->flow, e))
            continue;
        *sd_flow_reported_ns(t, e) = now_ns;
        __atomic_fetch_or(&e->flags, SD_FLOW_REPORTED, __ATOMIC_RELAXED);
        handles[n++] = sd_flow_handle(&t->flow, e);
        sd_flow_control_writer(t)->n_reported++;
    }
    sd_epoch_end_control(t->epochs);
    return n;
}

SD_LOCAL void sd_flow_counts(const struct sd_table *t, struct sd_packet_writes *counts)
{
    *counts = (struct sd_packet_writes){0};
    for (uint32_t i = 0; i <= t->n_workers; i++) {
        const struct sd_flow_writer *w = &t->flow_writers[i];
        if (i < t->n_workers) {
            counts->n_added += __atomic_load_n(&w->n_added[SD_FLOW_ADDED], __ATOMIC_RELAXED);
            uint64_t n_race_lost = __atomic_load_n(&w->n_race_lost, __ATOMIC_RELAXED);
            counts->n_exists += __atomic_load_n(&w->n_added[SD_FLOW_EXISTS], __ATOMIC_RELAXED) - n_race_lost;
            counts->n_race_lost += n_race_lost;
            counts->n_full += __atomic_load_n(&w->n_added[SD_FLOW_FULL], __ATOMIC_RELAXED);
        }
        counts->n_waiting += __atomic_load_n(&w->n_waiting, __ATOMIC_RELAXED);
        counts->n_notified += __atomic_load_n(&w->n_reported, __ATOMIC_RELAXED);
        counts->n_carried += __atomic_load_n(&w->n_carried, __ATOMIC_RELAXED);
        counts->n_expired += __atomic_load_n(&w->n_expired[0], __ATOMIC_RELAXED);
        counts->n_evicted += __atomic_load_n(&w->n_evicted, __ATOMIC_RELAXED);
        counts->n_expired_control += __atomic_load_n(&w->n_expired[1], __ATOMIC_RELAXED);
        counts->n_deleted += __atomic_load_n(&w->n_removed[0], __ATOMIC_RELAXED);
    }
    counts->n_entries = counts->n_added + counts->n_carried - counts->n_expired - counts->n_evicted - counts->n_deleted;
}

#endif
