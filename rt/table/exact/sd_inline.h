/*
 * Inline entries: key, action, handle and data lie in the exact structure, and there is no struct sd_entry.
 *
 * Owns: struct sd_entry_ops of such entries. The insertion order stores the hash of each key; with it an entry is found
 * by handle, because the structure moves entries as it grows.
 *
 * Non-goal: priorities, idle timeouts, direct cells, members and groups. Tables with any of these have records.
 */
#ifndef SD_INLINE_H
#define SD_INLINE_H

#include "table/sd_entry_ops.h"
#include "table/sd_record_view.h"

/* Not inlined: a compiler that knows the size of the caller's key but not key_bytes warns of reads behind the key. */
static SD_UNUSED __attribute__((noinline)) uint64_t sd_inline_hash(const struct sd_table *t, const uint8_t *key)
{
    return sd_exact_hash(t->exact.secrets, key, t->type->key_bytes);
}

SD_INLINE uint64_t sd_inline_word(const struct sd_table *t, const uint8_t *entry)
{
    struct sd_inline_value value;
    memcpy(&value, entry + sd_exact_value_at(sd_exact_table_shape(t)), sizeof value);
    return value.word;
}

/* The entry of this key, or NULL. */
SD_LOCAL const uint8_t *sd_inline_find(const struct sd_table *t, const uint8_t *key)
{
    return sd_exact_find_hashed(&t->exact, sd_exact_table_shape(t), key, sd_inline_hash(t, key));
}

/* The entry with this handle, or NULL; `hash` comes from the insertion order. */
SD_LOCAL const uint8_t *sd_inline_at(const struct sd_table *t, uint64_t handle, uint64_t hash)
{
    return sd_exact_find_word(&t->exact, sd_exact_table_shape(t), hash, handle << SD_INLINE_HANDLE_SHIFT,
                              UINT64_MAX << SD_INLINE_HANDLE_SHIFT);
}

/* SD_OK, or SD_NOT_FOUND without an entry. */
SD_LOCAL uint32_t sd_inline_show(const struct sd_table *t, const uint8_t *entry, struct sd_entry_view *view)
{
    if (!entry)
        return SD_NOT_FOUND;
    uint64_t word = sd_inline_word(t, entry);
    *view = (struct sd_entry_view){
        .handle = word >> SD_INLINE_HANDLE_SHIFT,
        .value = entry,
        .mask = t->ones,
        .kind = SD_ENTRY_ACTION,
        .what = sd_inline_action(word),
        .is_const = (word & SD_INLINE_IS_CONST) != 0,
        .data = entry + sd_exact_value_at(sd_exact_table_shape(t)) + sizeof(struct sd_inline_value),
    };
    return SD_OK;
}

SD_LOCAL uint32_t sd_inline_check(const struct sd_table *t, const struct sd_entry_view *view)
{
    if (view->kind != SD_ENTRY_ACTION)
        return SD_NOT_FOUND;
    return view->what < t->type->n_actions ? SD_OK : SD_OUT_OF_RANGE;
}

SD_INLINE void sd_inline_put_view(const struct sd_table *t, uint8_t *to, const struct sd_entry_view *view,
                                uint64_t handle, bool is_const)
{
    uint64_t word = view->what | (is_const ? SD_INLINE_IS_CONST : 0) | handle << SD_INLINE_HANDLE_SHIFT;
    uint32_t n_bytes = view->data ? t->type->actions[view->what].data_bytes : 0;
    sd_exact_put_value(to, word, view->data, n_bytes, t->type->data_bytes);
}

/* The entries of a batch: views, or records that have key, action and data only. By value, so that it stays in registers. */
struct sd_inline_batch {
    const struct sd_entry_view *views;
    const uint8_t *records;
    struct sd_record_layout layout;
};

SD_ALWAYS_INLINE const uint8_t *sd_inline_key(const struct sd_inline_batch *batch, uint64_t i)
{
    return batch->views ? batch->views[i].value : batch->records + i * batch->layout.record_bytes;
}

/* The view of an entry; that of a record is made in `room`, which begins as sd_record_empty_view. */
SD_ALWAYS_INLINE const struct sd_entry_view *sd_inline_view(const struct sd_inline_batch *batch, uint64_t i,
                                                            struct sd_entry_view *room)
{
    if (batch->views)
        return &batch->views[i];
    sd_record_plain_view(&batch->layout, sd_inline_key(batch, i), room);
    return room;
}

/* Inserts one entry with all checks; `hash` is the hash of its key. */
SD_ALWAYS_INLINE uint32_t sd_inline_insert_hashed(struct sd_exact_shape shape, struct sd_table *t,
                                                enum sd_entry_writer writer, const struct sd_entry_view *view,
                                                uint64_t hash, uint64_t *handle)
{
    uint32_t refusal = sd_inline_check(t, view);
    bool is_full = writer == SD_BY_CONTROLLER && t->n_entries >= t->type->size;
    if (SD_UNLIKELY(is_full || t->next_handle > SD_INLINE_HANDLE_MAX))
        refusal = SD_FULL;
    else if (SD_UNLIKELY(!sd_order_reserve(&t->order, t->next_handle)))
        refusal = SD_NO_MEMORY;
    if (SD_UNLIKELY(refusal != SD_OK))
        return sd_exact_find_hashed(&t->exact, t->exact.shape, view->value, hash) ? SD_EXISTS : refusal;
    struct sd_exact_room room;
    uint32_t status = sd_exact_seek(&t->exact, shape, view->value, hash, &room);
    if (SD_UNLIKELY(status != SD_OK))
        return status;
    uint8_t *entry = sd_exact_entry(shape, room.place.bucket, room.place.lane);
    memcpy(entry, view->value, shape.key_bytes);
    sd_inline_put_view(t, entry + sd_exact_value_at(shape), view, t->next_handle,
                     writer == SD_BY_PROGRAM && view->is_const);
    sd_exact_publish(room.segment, &room.place, room.distance, hash);
    sd_exact_add_entries(&t->exact, 1);
    sd_table_add_entries(t, 1);
    sd_order_add(&t->order, t->next_handle, hash);
    *handle = t->next_handle++;
    return SD_OK;
}

/* State shared by all inserts of a run. Kept in locals: compilers reload it from memory after each byte store otherwise. */
struct sd_inline_run {
    const struct sd_action_type *actions;
    uint32_t n_actions, data_bytes;
    /* Room for the run in the insertion order. */
    uint64_t *ordered;
    uint64_t handle;
    uint32_t n_inserted;
};

/* Begins a run of `n` inserts; false if they need checks one by one (size, range of handles, block of the order). */
SD_ALWAYS_INLINE bool sd_inline_begin(const struct sd_table *t, enum sd_entry_writer writer, uint32_t n,
                                    struct sd_inline_run *run)
{
    const struct sd_order *o = &t->order;
    const struct sd_order_piece *last = o->n_pieces ? &o->pieces[o->n_pieces - 1] : NULL;
    bool is_wide = t->type->size >= n && t->n_entries <= t->type->size - n && t->next_handle <= SD_INLINE_HANDLE_MAX - n;
    if (writer != SD_BY_CONTROLLER || !is_wide || !last || last->n == 0 || last->handles ||
        last->n > SD_ORDER_PIECE - n || last->handle + last->n != t->next_handle)
        return false;
    *run = (struct sd_inline_run){t->type->actions, t->type->n_actions,       t->type->data_bytes,
                                  &last->entries[last->n], t->next_handle, 0};
    return true;
}

/* Adds the inserts of the run to the counters of the table. */
SD_ALWAYS_INLINE void sd_inline_end(struct sd_table *t, struct sd_inline_run *run)
{
    uint32_t n = run->n_inserted;
    sd_exact_add_entries(&t->exact, n);
    sd_table_add_entries(t, n);
    t->order.pieces[t->order.n_pieces - 1].n += n;
    t->order.n += n;
    t->next_handle += n;
    run->n_inserted = 0;
}

/* Fast path of an insert: the key is new, and its home bucket has a free slot. False: nothing has changed. */
SD_ALWAYS_INLINE bool sd_inline_insert_quick(struct sd_exact_shape shape, const struct sd_exact *exact,
                                           struct sd_inline_run *run, const struct sd_entry_view *view, uint64_t hash)
{
    if (SD_UNLIKELY(view->kind != SD_ENTRY_ACTION || view->what >= run->n_actions))
        return false;
    uint32_t n_bytes = view->data ? run->actions[view->what].data_bytes : 0;
    uint8_t *home = sd_exact_home_of(exact, shape, hash);
    uint32_t empty = sd_exact_match(home, SD_EXACT_EMPTY);
    if (SD_UNLIKELY(empty == 0 || SD_EXACT_HOME_REACH(sd_exact_home(home)) > 0 ||
                    sd_exact_find_in(shape, home, view->value, hash) != NULL))
        return false;
    uint32_t lane = sd_exact_lane(empty);
    uint8_t *entry = sd_exact_entry(shape, home, lane);
    memcpy(entry, view->value, shape.key_bytes);
    uint64_t word = view->what | (run->handle + run->n_inserted) << SD_INLINE_HANDLE_SHIFT;
    sd_exact_put_value(entry + sd_exact_value_at(shape), word, view->data, n_bytes, run->data_bytes);
    sd_exact_set_tag(home, lane, (uint16_t)hash);
    run->ordered[run->n_inserted++] = hash;
    return true;
}

SD_ALWAYS_INLINE uint32_t sd_inline_insert_shaped(struct sd_exact_shape shape, struct sd_table *t,
                                                enum sd_entry_writer writer, struct sd_inline_batch batch,
                                                uint32_t n, uint64_t *handles, uint8_t *statuses)
{
    uint64_t hashes[SD_EXACT_N_UNDER_WAY];
    struct sd_entry_view room = sd_record_empty_view(t);
    uint32_t n_inserted = 0, lead = sd_exact_lead(n);
    for (uint64_t at = 0; at < (uint64_t)n + 2 * lead; at += SD_EXACT_GROUP) {
        /* Three steps are interleaved, see sd_exact_insert_batch. */
        uint64_t near = at - lead, now = near - lead;
        SD_EXACT_EACH(i, at, n)
            hashes[i % SD_EXACT_N_UNDER_WAY] = sd_exact_start_insert(&t->exact, shape, sd_inline_key(&batch, i));
        SD_EXACT_EACH(i, near, n)
            sd_exact_prefetch_insert(&t->exact, shape, hashes[i % SD_EXACT_N_UNDER_WAY]);
        for (uint64_t i = now, end = now + SD_EXACT_GROUP < n ? now + SD_EXACT_GROUP : n; now < n && i < end; i++) {
            struct sd_inline_run run;
            if (SD_LIKELY(sd_inline_begin(t, writer, (uint32_t)(end - i), &run))) {
                for (; i < end; i++) {
                    uint64_t hash = hashes[i % SD_EXACT_N_UNDER_WAY];
                    if (SD_UNLIKELY(!sd_inline_insert_quick(shape, &t->exact, &run, sd_inline_view(&batch, i, &room),
                                                             hash)))
                        break;
                    handles[i] = run.handle + run.n_inserted - 1;
                    statuses[i] = SD_OK;
                }
                n_inserted += run.n_inserted;
                sd_inline_end(t, &run);
                if (i == end)
                    break;
            }
            uint64_t hash = hashes[i % SD_EXACT_N_UNDER_WAY];
            uint32_t status = sd_inline_insert_hashed(shape, t, writer, sd_inline_view(&batch, i, &room), hash, &handles[i]);
            statuses[i] = (uint8_t)status;
            n_inserted += status == SD_OK;
        }
    }
    return n_inserted;
}

SD_LOCAL uint32_t sd_inline_insert(struct sd_instance *instance, struct sd_table *t, enum sd_entry_writer writer,
                                   const struct sd_entry_view *views, uint32_t n, uint64_t now_ns, uint64_t *handles,
                                   uint8_t *statuses)
{
    (void)now_ns;
    struct sd_inline_batch batch = {.views = views};
    uint32_t n_inserted = sd_inline_insert_shaped(t->exact.shape, t, writer, batch, n, handles, statuses);
    sd_table_tell_bytes(instance, t);
    return n_inserted;
}

/* Modifies an entry that may be away from home, or that finds no place beside itself. */
static SD_UNUSED __attribute__((noinline)) uint32_t sd_inline_modify_away(struct sd_table *t,
                                                                          const struct sd_entry_view *view, uint64_t hash,
                                                                          uint64_t *handle)
{
    struct sd_exact_shape shape = sd_exact_table_shape(t);
    const uint8_t *entry = sd_exact_find_hashed(&t->exact, shape, view->value, hash);
    if (!entry)
        return SD_NOT_FOUND;
    uint64_t word = sd_inline_word(t, entry);
    uint32_t status = word & SD_INLINE_IS_CONST ? SD_CONST : sd_inline_check(t, view);
    if (status != SD_OK)
        return status;
    *handle = word >> SD_INLINE_HANDLE_SHIFT;
    sd_inline_put_view(t, t->exact_value, view, *handle, false);
    return sd_exact_replace_hashed(&t->exact, shape, view->value, t->exact_value, hash);
}

SD_ALWAYS_INLINE uint32_t sd_inline_modify_one(struct sd_exact_shape shape, struct sd_table *t,
                                               const struct sd_entry_view *view, uint64_t hash, uint64_t *handle)
{
    uint8_t *home = sd_exact_home_of(&t->exact, shape, hash);
    uint32_t lane = sd_exact_lane_at_home(shape, home, view->value, hash);
    uint32_t to = sd_exact_free_lane(&t->exact, shape, home);
    if (SD_UNLIKELY(lane == SD_EXACT_SLOTS || to == SD_EXACT_SLOTS))
        return sd_inline_modify_away(t, view, hash, handle);
    uint64_t word = sd_inline_word(t, sd_exact_entry(shape, home, lane));
    uint32_t status = word & SD_INLINE_IS_CONST ? SD_CONST : sd_inline_check(t, view);
    if (SD_UNLIKELY(status != SD_OK))
        return status;
    uint8_t *entry = sd_exact_entry(shape, home, to);
    *handle = word >> SD_INLINE_HANDLE_SHIFT;
    memcpy(entry, view->value, shape.key_bytes);
    sd_inline_put_view(t, entry + sd_exact_value_at(shape), view, *handle, false);
    sd_exact_replace_at_home(&t->exact, home, lane, to, hash);
    return SD_OK;
}

SD_ALWAYS_INLINE uint32_t sd_inline_modify_shaped(struct sd_exact_shape shape, struct sd_table *t,
                                                  struct sd_inline_batch batch, uint32_t n, uint64_t *handles,
                                                  uint8_t *statuses)
{
    uint64_t hashes[SD_EXACT_N_UNDER_WAY];
    struct sd_entry_view room = sd_record_empty_view(t);
    uint32_t n_modified = 0, lead = sd_exact_lead(n);
    for (uint64_t at = 0; at < (uint64_t)n + 2 * lead; at += SD_EXACT_GROUP) {
        /* Three steps are interleaved, see sd_exact_insert_batch. */
        uint64_t near = at - lead, now = near - lead;
        SD_EXACT_EACH(i, at, n)
            hashes[i % SD_EXACT_N_UNDER_WAY] = sd_exact_start_change(&t->exact, shape, sd_inline_key(&batch, i));
        SD_EXACT_EACH(i, near, n) {
            sd_exact_prefetch_change(&t->exact, shape, hashes[i % SD_EXACT_N_UNDER_WAY]);
            sd_exact_prefetch_insert(&t->exact, shape, hashes[i % SD_EXACT_N_UNDER_WAY]);
        }
        SD_EXACT_EACH(i, now, n) {
            uint64_t hash = hashes[i % SD_EXACT_N_UNDER_WAY];
            uint32_t status = sd_inline_modify_one(shape, t, sd_inline_view(&batch, i, &room), hash, &handles[i]);
            statuses[i] = (uint8_t)status;
            n_modified += status == SD_OK;
        }
    }
    return n_modified;
}

SD_LOCAL uint32_t sd_inline_modify(struct sd_instance *instance, struct sd_table *t, const struct sd_entry_view *views,
                                   uint32_t n, uint64_t now_ns, uint64_t *handles, uint8_t *statuses)
{
    (void)instance, (void)now_ns;
    struct sd_inline_batch batch = {.views = views};
    return sd_inline_modify_shaped(t->exact.shape, t, batch, n, handles, statuses);
}

SD_ALWAYS_INLINE uint32_t sd_inline_remove_one(struct sd_exact_shape shape, struct sd_table *t,
                                               const uint8_t *key, uint64_t hash, uint64_t *handle)
{
    uint8_t *home = sd_exact_home_of(&t->exact, shape, hash);
    uint32_t lane = sd_exact_lane_at_home(shape, home, key, hash);
    const uint8_t *entry = sd_exact_entry(shape, home, lane);
    if (SD_UNLIKELY(lane == SD_EXACT_SLOTS))
        entry = sd_exact_find_hashed(&t->exact, sd_exact_table_shape(t), key, hash);
    if (!entry)
        return SD_NOT_FOUND;
    uint64_t word = sd_inline_word(t, entry);
    if (word & SD_INLINE_IS_CONST)
        return SD_CONST;
    *handle = word >> SD_INLINE_HANDLE_SHIFT;
    if (SD_LIKELY(lane != SD_EXACT_SLOTS))
        sd_exact_remove_at_home(&t->exact, home, lane);
    else
        sd_exact_remove_hashed(&t->exact, sd_exact_table_shape(t), key, hash);
    sd_order_remove(&t->order, *handle);
    sd_table_add_entries(t, -UINT64_C(1));
    return SD_OK;
}

SD_ALWAYS_INLINE uint32_t sd_inline_remove_shaped(struct sd_exact_shape shape, struct sd_table *t,
                                                  struct sd_inline_batch batch, uint32_t n, uint64_t *handles,
                                                  uint8_t *statuses)
{
    uint64_t hashes[SD_EXACT_N_UNDER_WAY];
    const uint8_t *entries[SD_EXACT_N_UNDER_WAY];
    uint32_t n_removed = 0;
    const uint32_t lead = SD_EXACT_GROUP;
    for (uint64_t at = 0; at < (uint64_t)n + 3 * lead; at += SD_EXACT_GROUP) {
        /* Four steps are interleaved, see sd_exact_insert_batch: the entry says which element of the order goes. */
        uint64_t near = at - lead, ordered = near - lead, now = ordered - lead;
        SD_EXACT_EACH(i, at, n)
            hashes[i % SD_EXACT_N_UNDER_WAY] = sd_exact_start_change(&t->exact, shape, sd_inline_key(&batch, i));
        SD_EXACT_EACH(i, near, n)
            entries[i % SD_EXACT_N_UNDER_WAY] =
                sd_exact_prefetch_change(&t->exact, shape, hashes[i % SD_EXACT_N_UNDER_WAY]);
        SD_EXACT_EACH(i, ordered, n) {
            const uint8_t *entry = entries[i % SD_EXACT_N_UNDER_WAY];
            if (entry && n > 1)
                sd_order_prefetch(&t->order, sd_inline_word(t, entry) >> SD_INLINE_HANDLE_SHIFT);
        }
        SD_EXACT_EACH(i, now, n) {
            uint64_t hash = hashes[i % SD_EXACT_N_UNDER_WAY];
            uint32_t status = sd_inline_remove_one(shape, t, sd_inline_key(&batch, i), hash, &handles[i]);
            statuses[i] = (uint8_t)status;
            n_removed += status == SD_OK;
        }
    }
    return n_removed;
}

SD_LOCAL uint32_t sd_inline_remove(struct sd_instance *instance, struct sd_table *t, const struct sd_entry_view *views,
                                   uint32_t n, uint64_t *handles, uint8_t *statuses)
{
    struct sd_inline_batch batch = {.views = views};
    uint32_t n_removed = sd_inline_remove_shaped(t->exact.shape, t, batch, n, handles, statuses);
    sd_table_tell_bytes(instance, t);
    return n_removed;
}

/* Large numbers of entries come in this way, so only it is compiled for each common size of keys. */
SD_LOCAL uint32_t sd_inline_write_records(struct sd_instance *instance, struct sd_table *t, uint32_t op,
                                       const struct sd_record_layout *layout, const uint8_t *records, uint32_t n,
                                       uint64_t *handles, uint8_t *statuses)
{
    struct sd_inline_batch batch = {.records = records, .layout = *layout};
    struct sd_exact_shape shape = t->exact.shape;
    uint32_t n_done = 0;
    switch ((enum sd_record_op)op) {
    case SD_RECORD_INSERT:
        n_done = SD_EXACT_SHAPED(shape, sd_inline_insert_shaped, t, SD_BY_CONTROLLER, batch, n, handles, statuses);
        break;
    case SD_RECORD_MODIFY:
        return SD_EXACT_SHAPED(shape, sd_inline_modify_shaped, t, batch, n, handles, statuses);
    case SD_RECORD_REMOVE:
        n_done = SD_EXACT_SHAPED(shape, sd_inline_remove_shaped, t, batch, n, handles, statuses);
        break;
    }
    sd_table_tell_bytes(instance, t);
    return n_done;
}

/* Writes an entry into a record, whose size is a multiple of words. */
SD_ALWAYS_INLINE void sd_inline_put_record(struct sd_exact_shape shape, const struct sd_table *t,
                                           const struct sd_record_layout *layout, const uint8_t *entry, uint64_t word,
                                           uint8_t *record)
{
    uint32_t what = sd_inline_action(word);
    for (uint32_t at = 0; at < layout->record_bytes; at += sizeof(uint64_t))
        memset(record + at, 0, sizeof(uint64_t));
    memcpy(record, entry, shape.key_bytes);
    if (layout->action_bytes == 1)
        record[layout->action_at] = (uint8_t)what;
    else
        memcpy(record + layout->action_at, &what, sizeof what);
    const uint8_t *data = entry + sd_exact_value_at(shape) + sizeof(struct sd_inline_value);
    memcpy(record + layout->data_at, data, t->type->actions[what].data_bytes);
}

/* Reads entries as sd_table_read_records does. */
SD_ALWAYS_INLINE uint32_t sd_inline_read_shaped(struct sd_exact_shape shape, const struct sd_table *t,
                                                struct sd_record_layout layout, uint64_t *after, uint8_t *records,
                                                uint64_t *handles, uint32_t n_max)
{
    struct sd_order_at under_way[SD_EXACT_N_UNDER_WAY];
    struct sd_order_at next = sd_order_from(&t->order, *after + 1);
    uint32_t n = 0, lead = sd_exact_lead(n_max);
    /* Constant entries are left out, so one pass may be too few. */
    while (n < n_max && next.entry) {
        uint64_t n_looked_at = n_max - n;
        for (uint64_t at = 0; at < n_looked_at + 2 * lead; at += SD_EXACT_GROUP) {
            /* Three steps are interleaved, see sd_exact_insert_batch; the order has the hashes. */
            uint64_t near = at - lead, now = near - lead;
            SD_EXACT_EACH(i, at, n_looked_at) {
                if (!next.entry) {
                    n_looked_at = i;
                    break;
                }
                under_way[i % SD_EXACT_N_UNDER_WAY] = next;
                __builtin_prefetch(sd_exact_home_of(&t->exact, shape, next.entry));
                *after = next.handle;
                sd_order_next(&t->order, &next);
            }
            SD_EXACT_EACH(i, near, n_looked_at)
                sd_exact_prefetch_change(&t->exact, shape, under_way[i % SD_EXACT_N_UNDER_WAY].entry);
            SD_EXACT_EACH(i, now, n_looked_at) {
                const struct sd_order_at *of = &under_way[i % SD_EXACT_N_UNDER_WAY];
                const uint8_t *entry = sd_inline_at(t, of->handle, of->entry);
                uint64_t word = entry ? sd_inline_word(t, entry) : SD_INLINE_IS_CONST;
                if (word & SD_INLINE_IS_CONST)
                    continue;
                sd_inline_put_record(shape, t, &layout, entry, word, records + (size_t)n * layout.record_bytes);
                handles[n++] = of->handle;
            }
        }
    }
    return n;
}

SD_LOCAL uint32_t sd_inline_read_records(const struct sd_table *t, const struct sd_record_layout *layout, uint64_t *after,
                                      uint8_t *records, uint64_t *handles, uint32_t n_max)
{
    return SD_EXACT_SHAPED(t->exact.shape, sd_inline_read_shaped, t, *layout, after, records, handles, n_max);
}

SD_LOCAL uint32_t sd_inline_find_view(const struct sd_table *t, const struct sd_entry_view *key,
                                      struct sd_entry_view *found)
{
    return sd_inline_show(t, sd_inline_find(t, key->value), found);
}

SD_LOCAL uint32_t sd_inline_read(const struct sd_table *t, uint64_t handle, uint64_t ordered, struct sd_entry_view *found)
{
    return sd_inline_show(t, sd_inline_at(t, handle, ordered), found);
}

static const SD_UNUSED struct sd_entry_ops sd_inline_ops = {
    .insert = sd_inline_insert,
    .modify = sd_inline_modify,
    .remove = sd_inline_remove,
    .write_records = sd_inline_write_records,
    .find = sd_inline_find_view,
    .read = sd_inline_read,
    .read_records = sd_inline_read_records,
};

#endif
