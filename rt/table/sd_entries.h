/*
 * Tables and their entries in memory: making and freeing tables, and allocating, filling and freeing entries.
 *
 * Owns: slots of entries, their reuse after quiescent states, cells of entries that replace each other, and what entries
 * lead to (members, groups, one-shots).
 *
 * Memory for a new entry is allocated before anything is changed, so a shortage of memory leaves a table as it was.
 * Callers guarantee that values have zeros where masks do, that masks of LPM elements are prefixes, and that data is as
 * long as the action says.
 */
#ifndef SD_ENTRIES_H
#define SD_ENTRIES_H

#include "table/sd_structures.h"
#include "table/sd_table.h"

/* Bytes of memory that a hit touches, about. */
SD_INLINE uint32_t sd_touched_bytes(const struct sd_table *t)
{
    return t->structure && t->structure->touched_bytes ? t->structure->touched_bytes(t) : t->entry_bytes;
}

/* Bytes of entries that workers need not know of. */
#define SD_NEW_BYTES_MAX ((int64_t)SD_CACHED_BYTES / 64)

/* Workers read without synchronisation whether the table exceeds the cache. */
SD_INLINE void sd_table_add_entries(struct sd_table *t, uint64_t n)
{
    __atomic_store_n(&t->n_entries, t->n_entries + n, __ATOMIC_RELAXED);
    bool exceeds_cache = t->n_entries > t->n_entries_cached_max;
    if (SD_UNLIKELY(exceeds_cache != t->exceeds_cache))
        __atomic_store_n(&t->exceeds_cache, exceeds_cache, __ATOMIC_RELAXED);
}

/* Tells the instance of the bytes of new and removed entries, if they are many: all workers read what it knows. */
SD_INLINE void sd_table_tell_bytes(struct sd_instance *instance, struct sd_table *t)
{
    int64_t n_bytes = (int64_t)(t->n_entries - t->n_entries_told) * sd_touched_bytes(t);
    if (n_bytes >= -SD_NEW_BYTES_MAX && n_bytes <= SD_NEW_BYTES_MAX)
        return;
    sd_instance_add_bytes(instance, (uint64_t)n_bytes);
    t->n_entries_told = t->n_entries;
}

/*
 * --- Cells ---
 *
 * The new entry of a modification begins with cells of zeros, because workers count in those of the old one until their next
 * quiescent state. Until the old slot is free, a sum includes its cells; then its counts are added to what the control plane
 * has for the new one. So no packet is lost, and none is counted twice.
 */

/* The counts that the control plane has for the cells of a slot; NULL: it has none. */
SD_INLINE struct sd_carried *sd_carried_of(const struct sd_table *t, uint32_t slot)
{
    uint64_t chunk = slot >> SD_CHUNK_BITS;
    return chunk < t->carried_capacity ? t->carried[chunk] : NULL;
}

/* Makes them if there are none; NULL when memory is short. */
SD_LOCAL struct sd_carried *sd_carried_make(struct sd_table *t, uint32_t slot)
{
    uint64_t n = t->carried_capacity, chunk = slot >> SD_CHUNK_BITS;
    struct sd_carried **all = sd_reserve(t->carried, &t->carried_capacity, chunk + 1, sizeof(struct sd_carried *));
    if (!all)
        return NULL;
    memset(all + n, 0, (t->carried_capacity - n) * sizeof *all);
    t->carried = all;
    size_t n_colours = t->type->has_direct_meter ? SD_CHUNK_SLOTS : 0;
    if (!all[chunk])
        all[chunk] = calloc(1, sizeof **all + n_colours * sizeof(struct sd_colour_counts));
    return all[chunk];
}

/* Packets that were counted for the entry in this slot, and for those that it has replaced. Workers may be counting. */
SD_LOCAL struct sd_count sd_slot_count_sum(const struct sd_table *t, uint32_t slot)
{
    struct sd_count sum = {0, 0};
    for (uint32_t next = slot + 1; next;) {
        uint32_t at = next - 1, i = at & (SD_CHUNK_SLOTS - 1);
        const struct sd_carried *carried = sd_carried_of(t, at);
        for (uint32_t worker = 0; worker < t->n_workers; worker++)
            sd_count_sum(&sum, sd_slot_count(t, at, worker));
        if (carried)
            sd_count_sum(&sum, &carried->counts[i]);
        next = carried ? carried->before[i] : 0;
    }
    return sum;
}

/* Colours of the direct meter, summed as by sd_slot_count_sum. */
SD_LOCAL struct sd_colour_counts sd_slot_colours_sum(const struct sd_table *t, uint32_t slot)
{
    struct sd_colour_counts sum = {0};
    for (uint32_t next = slot + 1; next;) {
        uint32_t at = next - 1, i = at & (SD_CHUNK_SLOTS - 1);
        const struct sd_carried *carried = sd_carried_of(t, at);
        for (uint32_t worker = 0; worker < t->n_workers; worker++)
            sd_colours_sum(&sum, sd_slot_colours(t, t->type, at, worker));
        if (carried)
            sd_colours_sum(&sum, &carried->colours[i]);
        next = carried ? carried->before[i] : 0;
    }
    return sum;
}

/* No worker counts in the slot any more: the slot that has replaced it takes its counts over. */
SD_LOCAL void sd_slot_hand_over(struct sd_table *t, uint32_t slot)
{
    struct sd_carried *from = sd_carried_of(t, slot);
    uint32_t i = slot & (SD_CHUNK_SLOTS - 1), after = from ? from->after[i] : 0;
    if (!after)
        return;
    struct sd_carried *to = sd_carried_of(t, after - 1);
    uint32_t j = (after - 1) & (SD_CHUNK_SLOTS - 1);
    /* Slots are freed in the order in which they were removed, so the slot that this one has replaced is free. */
    if (t->type->has_direct_counter) {
        struct sd_count count = sd_slot_count_sum(t, slot);
        sd_count_sum(&to->counts[j], &count);
    }
    if (t->type->has_direct_meter) {
        struct sd_colour_counts colours = sd_slot_colours_sum(t, slot);
        sd_colours_sum(&to->colours[j], &colours);
    }
    to->before[j] = 0;
    from->after[i] = 0;
}

/* --- Slots --- */

/* The slot that sd_slot_take takes. */
SD_INLINE uint32_t sd_slot_next(const struct sd_table *t)
{
    return t->n_free_slots > 0 ? t->free_slots[t->n_free_slots - 1] : t->n_slots;
}

/* Prefetches the entries, and the cells, of slots that were used before and that are taken next, up to `n`. */
SD_LOCAL void sd_slots_prefetch(const struct sd_table *t, uint32_t n)
{
    for (uint64_t i = t->n_free_slots; n > 0 && i > 0; i--, n--) {
        uint32_t slot = t->free_slots[i - 1];
        for (uint32_t at = 0; at < t->entry_bytes; at += SD_LINE_BYTES)
            __builtin_prefetch((uint8_t *)sd_entry_at(t, slot) + at, 1);
        for (uint32_t worker = 0; t->type->has_direct_counter && worker < t->n_workers; worker++)
            __builtin_prefetch(sd_slot_count(t, slot, worker), 1);
        for (uint32_t worker = 0; sd_table_has_shards(t, t->type) && worker < t->n_workers; worker++)
            __builtin_prefetch(sd_slot_shard(t, t->type, slot, worker), 1);
    }
}

/* Takes a free slot; sd_table_reserve_slot has made room. */
SD_LOCAL struct sd_entry *sd_slot_take(struct sd_table *t)
{
    uint32_t slot = sd_slot_next(t);
    if (t->n_free_slots > 0)
        t->n_free_slots--;
    else
        t->n_slots++;
    struct sd_entry *e = sd_entry_at(t, slot);
    memset(e, 0, t->entry_bytes);
    e->slot = slot;
    struct sd_carried *carried = sd_carried_of(t, slot);
    if (carried) {
        uint32_t i = slot & (SD_CHUNK_SLOTS - 1);
        carried->before[i] = carried->after[i] = 0;
        carried->counts[i] = (struct sd_count){0, 0};
        if (t->type->has_direct_meter)
            carried->colours[i] = (struct sd_colour_counts){0};
    }
    return e;
}

/* Frees the slot of an entry that no worker can hold. The slot is lost when memory is too short to remember it. */
SD_LOCAL void sd_slot_give_back(struct sd_table *t, uint32_t slot)
{
    uint32_t *slots = sd_reserve(t->free_slots, &t->free_slots_capacity, t->n_free_slots + 1, sizeof *slots);
    if (!slots)
        return;
    t->free_slots = slots;
    slots[t->n_free_slots++] = slot;
}

/* Frees all slots of a list whose entries no worker can hold, and empties the list. */
SD_LOCAL void sd_slots_free(struct sd_table *t, uint32_t *first)
{
    while (*first != SD_NO_SLOT) {
        struct sd_entry *e = sd_entry_at(t, *first);
        *first = e->next_removed;
        sd_slot_hand_over(t, e->slot);
        if (e->kind == SD_ENTRY_ONE_SHOT)
            free(e->target);
        sd_slot_give_back(t, e->slot);
    }
}

/* Frees the removed entries that no worker can hold any more. Entries removed since then wait for a later epoch. */
SD_LOCAL void sd_slots_collect(struct sd_table *t)
{
    if (t->waiting_slot == SD_NO_SLOT && t->removed_slot == SD_NO_SLOT && t->limbo.n == 0)
        return;
    if (t->waiting_slot == SD_NO_SLOT) {
        t->waiting_slot = t->removed_slot;
        t->waiting_stamp = sd_epoch_stamp(t->epochs);
        t->removed_slot = SD_NO_SLOT;
        t->n_removed_slots = 0;
    }
    uint64_t safe = sd_epoch_safe(t->epochs);
    if (t->waiting_stamp <= safe)
        sd_slots_free(t, &t->waiting_slot);
    sd_collect_until(&t->limbo, safe);
}

#define SD_REMOVED_SLOTS_MANY 64u

/* The structure no longer leads to the entry, but workers may still hold it. */
SD_LOCAL void sd_slot_remove(struct sd_table *t, struct sd_entry *e)
{
    e->next_removed = SD_NO_SLOT;
    if (t->removed_slot == SD_NO_SLOT)
        t->removed_slot = e->slot;
    else
        sd_entry_at(t, t->last_removed_slot)->next_removed = e->slot;
    t->last_removed_slot = e->slot;
    if (++t->n_removed_slots >= SD_REMOVED_SLOTS_MANY)
        sd_slots_collect(t);
}

SD_LOCAL void sd_chunks_free(void *pointer, void *context)
{
    (void)context;
    free(pointer);
}

/* Makes room for so many chunks in the array of chunks; false when memory is short. */
SD_LOCAL bool sd_chunks_reserve(struct sd_table *t, uint64_t n)
{
    if (n <= t->chunks_capacity)
        return true;
    uint64_t capacity = t->chunks_capacity ? t->chunks_capacity * 2 : 8;
    capacity = capacity < n ? n : capacity;
    if (!sd_limbo_reserve(&t->limbo, 1))
        return false;
    struct sd_chunk *old = t->chunks, *chunks = calloc(capacity, sizeof *chunks);
    if (!chunks)
        return false;
    if (old)
        memcpy(chunks, old, t->n_chunks * sizeof *chunks);
    __atomic_store_n(&t->chunks, chunks, __ATOMIC_RELEASE);
    t->chunks_capacity = capacity;
    /* sd_limbo_reserve has made room. */
    if (old)
        (void)sd_retire(&t->limbo, t->epochs, old, sd_chunks_free, NULL);
    return true;
}

/* --- Making and freeing tables --- */

/* Offsets of the parts of an entry, of which those that every packet reads come first, and of the cells of a chunk. */
SD_LOCAL void sd_table_lay_out(struct sd_table *t)
{
    const struct sd_table_type *type = t->type;
    bool has_masks = t->structure && t->structure->has_masks;
    t->value_at = sizeof(struct sd_entry);
    t->data_at = sd_data_at(type);
    size_t at = sd_round_up(t->data_at + t->data_bytes, sizeof(uint64_t));
    t->times_at = type->has_idle_timeout ? (uint32_t)at : 0;
    at += type->has_idle_timeout ? sizeof(struct sd_entry_times) : 0;
    t->mask_at = has_masks ? (uint32_t)at : 0;
    at = sd_round_up(at + (has_masks ? type->key_bytes : 0), _Alignof(struct sd_meter));
    t->meter_at = type->has_direct_meter ? (uint32_t)at : 0;
    at += type->has_direct_meter ? sizeof(struct sd_meter) : 0;
    t->entry_bytes = (uint32_t)sd_round_up(at, SD_DATA_ALIGN);
    size_t n_counts = sd_chunk_counts(t, type);
    n_counts += type->has_direct_meter ? (size_t)t->n_workers * SD_CHUNK_SLOTS * SD_N_COLOURS : 0;
    t->chunk_shards_at = n_counts * sizeof(struct sd_count);
}

/* Without entry_ops: see sd_table_init. False when memory is short; sd_table_free has to be called then, too. */
SD_LOCAL bool sd_table_begin(struct sd_table *t, const struct sd_table_type *type, struct sd_epochs *epochs, uint64_t seed)
{
    sd_table_type_assert(type);
    t->type = type;
    t->structure = sd_structure_of(type);
    t->epochs = epochs;
    t->n_workers = epochs->n_readers;
    t->removed_slot = t->waiting_slot = SD_NO_SLOT;
    t->default_action = UINT32_MAX;
    t->data_bytes = type->data_bytes;
    for (uint32_t i = 0; i < type->n_actions; i++)
        if (type->actions[i].data_bytes > t->data_bytes)
            t->data_bytes = type->actions[i].data_bytes;
    sd_table_lay_out(t);
    t->n_entries_cached_max = SD_CACHED_BYTES_LARGE / sd_touched_bytes(t);
    size_t n_secrets = 2 * SD_N_SECRETS(type->key_bytes);
    t->secrets = calloc(n_secrets, sizeof *t->secrets);
    t->ones = calloc(1, type->key_bytes ? type->key_bytes : 1);
    t->default_data = sd_alloc_lines(1, t->data_bytes);
    if (type->updates_data)
        t->data_copies = sd_alloc_lines(SD_N_DATA_COPIES + 1, sd_round_up(t->data_bytes, 8));
    bool has_cells = type->has_direct_counter || type->has_direct_meter;
    if (has_cells)
        t->default_cells = sd_alloc_lines(t->n_workers, sizeof *t->default_cells);
    bool has_shards = sd_table_has_shards(t, type);
    if (has_shards)
        t->default_shards = sd_alloc_lines(t->n_workers + 1, sd_round_up(sd_shard_bytes(type), SD_LINE_BYTES));
    if (!t->secrets || !t->ones || !t->default_data || (has_cells && !t->default_cells) ||
        (type->updates_data && !t->data_copies) || (has_shards && !t->default_shards))
        return false;
    sd_secrets_init(t->secrets, n_secrets, seed);
    for (uint32_t i = 0; i < type->n_keys; i++) {
        const struct sd_value_type *value = &type->keys[i].value;
        if (value->is_varbit)
            memset(t->ones + value->offset, 0xff, value->size_bytes);
        else
            sd_prefix_mask(t->ones + value->offset, value->width_bits, value->width_bits);
    }
    return !t->structure || t->structure->init(t, seed);
}

SD_LOCAL void sd_table_free(struct sd_table *t)
{
    if (!t->type)
        return;
    sd_slots_free(t, &t->waiting_slot);
    sd_slots_free(t, &t->removed_slot);
    sd_limbo_free(&t->limbo);
    bool has_targets = t->type->profile != UINT32_MAX;
    for (struct sd_order_at at = sd_order_from(&t->order, 0); has_targets && at.entry; sd_order_next(&t->order, &at)) {
        struct sd_entry *e = sd_entry_ordered(t, at.entry);
        if (e->kind == SD_ENTRY_ONE_SHOT)
            free(e->target);
    }
    sd_blocks_free(&t->blocks);
    for (uint64_t i = 0; i < t->carried_capacity; i++)
        free(t->carried[i]);
    if (t->structure)
        t->structure->free(t);
    free(t->carried);
    free(t->free_slots);
    free(t->chunks);
    sd_order_free(&t->order);
    free(t->secrets);
    free(t->ones);
    free(t->default_data);
    free(t->data_copies);
    free(t->default_cells);
    free(t->default_shards);
}

/* --- Finding entries by handle --- */

SD_LOCAL struct sd_entry *sd_entry_get(const struct sd_table *t, uint64_t handle)
{
    uint64_t entry = sd_order_get(&t->order, handle);
    return entry ? sd_entry_ordered(t, entry) : NULL;
}

/* --- Members, groups and one-shots of entries --- */

/* Finds the member or group of a view, or makes a new one-shot. */
SD_LOCAL uint32_t sd_target_make(struct sd_instance *instance, const struct sd_table *t,
                                         const struct sd_entry_view *view, void **target)
{
    *target = NULL;
    if (view->kind == SD_ENTRY_ACTION)
        return view->what < t->type->n_actions ? SD_OK : SD_OUT_OF_RANGE;
    struct sd_profile *profile = sd_profile_of(instance, t->type->profile);
    if (!profile)
        return SD_NOT_FOUND;
    switch (view->kind) {
    case SD_ENTRY_MEMBER:
        *target = sd_by_id_get(&profile->members, view->what);
        return *target ? SD_OK : SD_NOT_FOUND;
    case SD_ENTRY_GROUP:
        *target = sd_by_id_get(&profile->groups, view->what);
        return *target ? SD_OK : SD_NOT_FOUND;
    case SD_ENTRY_ONE_SHOT:
        for (uint32_t i = 0; i < view->n_weighted; i++)
            if (view->weighted[i].member_or_action >= t->type->n_actions)
                return SD_OUT_OF_RANGE;
        if (view->group_action && view->group_action->member_or_action >= t->type->n_actions)
            return SD_OUT_OF_RANGE;
        *target = sd_one_shot_new(view, t->type->actions, t->data_bytes, &instance->ports_down);
        return *target ? SD_OK : SD_NO_MEMORY;
    default:
        return SD_OUT_OF_RANGE;
    }
}

/* The entry no longer refers to its member or group. Both outlive the entry: the control plane removes them while no
   worker runs packets. */
SD_LOCAL void sd_target_unuse(struct sd_entry *e)
{
    if (e->kind == SD_ENTRY_MEMBER)
        ((struct sd_member *)e->target)->n_uses--;
    else if (e->kind == SD_ENTRY_GROUP)
        ((struct sd_group *)e->target)->n_uses--;
}

/* Releases what the entry refers to; no worker holds the entry. */
SD_LOCAL void sd_target_drop(struct sd_entry *e)
{
    sd_target_unuse(e);
    if (e->kind == SD_ENTRY_ONE_SHOT)
        free(e->target);
}

SD_LOCAL void sd_target_set(const struct sd_table *t, struct sd_entry *e,
                                    const struct sd_entry_view *view, void *target)
{
    e->kind = view->kind;
    e->what = view->kind == SD_ENTRY_ONE_SHOT ? 0 : view->what;
    e->target = target;
    if (view->kind == SD_ENTRY_MEMBER)
        ((struct sd_member *)target)->n_uses++;
    else if (view->kind == SD_ENTRY_GROUP)
        ((struct sd_group *)target)->n_uses++;
    else if (view->kind == SD_ENTRY_ACTION)
        sd_data_assign(sd_entry_data(t, e), t->data_bytes, view->data,
                       t->type->actions[view->what].data_bytes);
}

/* --- Filling entries --- */

/* Bytes of the entries of a chunk, and of the workers' cells behind them. */
SD_INLINE size_t sd_chunk_entries_bytes(const struct sd_table *t)
{
    return sd_round_up((size_t)SD_CHUNK_SLOTS * t->entry_bytes, SD_LINE_BYTES);
}

SD_INLINE size_t sd_chunk_cells_bytes(const struct sd_table *t)
{
    size_t n_shards = sd_table_has_shards(t, t->type) ? (size_t)t->n_workers * SD_CHUNK_SLOTS : 0;
    return t->chunk_shards_at + n_shards * sd_shard_bytes(t->type);
}

/* A hint: memory for `n` more entries that have not been there before. False when it is short. */
SD_LOCAL bool sd_table_reserve_slots(struct sd_table *t, uint64_t n)
{
    uint64_t n_chunks = (t->n_slots + n) / SD_CHUNK_SLOTS + 1;
    size_t n_bytes;
    if (n_chunks <= t->n_chunks)
        return true;
    if (n > UINT32_MAX ||
        __builtin_mul_overflow(n_chunks - t->n_chunks, sd_chunk_entries_bytes(t) + sd_chunk_cells_bytes(t), &n_bytes))
        return false;
    return sd_chunks_reserve(t, n_chunks) && sd_blocks_reserve(&t->blocks, n_bytes);
}

/* Makes room for one more entry in the chunks and in the insertion order; false when memory is short. */
SD_LOCAL bool sd_table_reserve_slot(struct sd_table *t)
{
    if (t->n_free_slots == 0)
        sd_slots_collect(t);
    if (t->n_free_slots == 0 && t->n_slots == t->n_chunks << SD_CHUNK_BITS) {
        if (t->n_slots > UINT32_MAX - 1 - SD_CHUNK_SLOTS || !sd_chunks_reserve(t, t->n_chunks + 1))
            return false;
        size_t entries_bytes = sd_chunk_entries_bytes(t), cells_bytes = sd_chunk_cells_bytes(t);
        uint8_t *memory = sd_blocks_take(&t->blocks, entries_bytes + cells_bytes);
        if (!memory)
            return false;
        struct sd_count *counts = cells_bytes ? (struct sd_count *)(void *)(memory + entries_bytes) : NULL;
        t->chunks[t->n_chunks++] = (struct sd_chunk){memory, counts};
    }
    return sd_order_reserve(&t->order, t->next_handle);
}

SD_INLINE bool sd_entry_is_timed(const struct sd_table *t, const struct sd_entry *e)
{
    return t->times_at && sd_entry_times(t, e)->idle_timeout_ns > 0;
}

/* Workers may hit the entry meanwhile. */
SD_INLINE void sd_entry_set_times(const struct sd_table *t, const struct sd_entry *e,
                                  const struct sd_entry_view *view, uint64_t now_ns)
{
    if (!t->times_at)
        return;
    struct sd_entry_times *times = sd_entry_times(t, e);
    __atomic_store_n(&times->last_hit_ns, now_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&times->reported_ns, SD_NEVER, __ATOMIC_RELAXED);
    times->idle_timeout_ns = view->idle_timeout_ns;
}

/* Sets the cells of a new entry, of which no worker knows, to what the view gives; the others to zeros. */
SD_INLINE void sd_entry_begin_cells(const struct sd_table *t, const struct sd_entry *e, const struct sd_entry_view *view,
                                    uint64_t now_ns)
{
    for (uint32_t i = 0; sd_table_has_shards(t, t->type) && i < t->n_workers; i++)
        sd_shard_clear(t->type, sd_slot_shard(t, t->type, e->slot, i));
    for (uint32_t i = 0; t->type->has_direct_counter && i < t->n_workers; i++)
        *sd_entry_count(t, e, i) = i == 0 && view->count ? *view->count : (struct sd_count){0, 0};
    if (!t->type->has_direct_meter)
        return;
    for (uint32_t i = 0; i < t->n_workers; i++)
        *sd_slot_colours(t, t->type, e->slot, i) =
            i == 0 && view->colours ? *view->colours : (struct sd_colour_counts){0};
    if (view->rates)
        sd_meter_set(sd_entry_meter(t, e), view->rates, now_ns);
}

/* Sets the count of an entry, beside workers: those that count meanwhile count after it. False when memory is short. */
SD_LOCAL bool sd_entry_set_count(struct sd_table *t, const struct sd_entry *e, struct sd_count count)
{
    struct sd_carried *carried = sd_carried_make(t, e->slot);
    if (carried)
        sd_count_correct(&carried->counts[e->slot & (SD_CHUNK_SLOTS - 1)], count, sd_slot_count_sum(t, e->slot));
    return carried != NULL;
}

/* Sets the colours of the direct meter, as sd_entry_set_count does the count. */
SD_LOCAL bool sd_entry_set_colours(struct sd_table *t, const struct sd_entry *e, const struct sd_colour_counts *colours)
{
    struct sd_carried *carried = sd_carried_make(t, e->slot);
    struct sd_colour_counts sum = sd_slot_colours_sum(t, e->slot);
    struct sd_colour_counts *own = carried ? &carried->colours[e->slot & (SD_CHUNK_SLOTS - 1)] : NULL;
    for (uint32_t i = 0; own && i < SD_N_COLOURS; i++)
        sd_count_correct(&own->counts[i], colours->counts[i], sum.counts[i]);
    return carried != NULL;
}

/* Sets the counts that a view gives, beside workers; sd_carried_make has made room. */
SD_LOCAL void sd_entry_set_counts(struct sd_table *t, const struct sd_entry *e, const struct sd_entry_view *view)
{
    if (t->type->has_direct_counter && view->count)
        (void)sd_entry_set_count(t, e, *view->count);
    if (t->type->has_direct_meter && view->colours)
        (void)sd_entry_set_colours(t, e, view->colours);
}

#endif
