/*
 * How tables are made, and how entries get into them and out again.
 *
 * Owns: the choice of an engine, finding entries by identity and by handle, adding and removing them.
 *
 * Whatever is allocated for a new entry is allocated before anything is changed, so that a shortage of
 * memory leaves a table as it was. Callers make sure that values have zeros where masks do, that masks of
 * LPM keys are prefixes, and that data is as long as the action says.
 */
#ifndef SD_ENTRIES_H
#define SD_ENTRIES_H

#include "table/sd_table.h"

/* How many entries there are: workers may want to know, roughly. */
SD_INLINE void sd_table_add_entries(struct sd_table *t, uint64_t n)
{
    __atomic_store_n(&t->n_entries, t->n_entries + n, __ATOMIC_RELAXED);
}

/* --- Slots --- */

/* A slot that nobody has; sd_table_reserve_slot has made room. */
SD_LOCAL struct sd_entry *sd_slot_take(struct sd_table *t)
{
    uint32_t slot = t->free_slot;
    if (slot == SD_NO_SLOT)
        slot = t->n_slots++;
    else
        t->free_slot = sd_entry_at(t, slot)->slot;
    struct sd_entry *e = sd_entry_at(t, slot);
    memset(e, 0, t->entry_bytes);
    e->slot = slot;
    return e;
}

/* Of an entry that no engine has led to. */
SD_LOCAL void sd_slot_give_back(struct sd_table *t, struct sd_entry *e)
{
    uint32_t slot = e->slot;
    e->slot = t->free_slot;
    t->free_slot = slot;
}

/* Those of a list, which ends: no worker has their entries any more. */
SD_LOCAL void sd_slots_free(struct sd_table *t, uint32_t *first)
{
    while (*first != SD_NO_SLOT) {
        struct sd_entry *e = sd_entry_at(t, *first);
        *first = e->next_removed;
        if (e->kind == SD_ENTRY_ONE_SHOT)
            free(e->target);
        sd_slot_give_back(t, e);
    }
}

/* What no worker has any more can be used again. Those that are removed meanwhile wait for a later epoch. */
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

/* Of an entry that its engine leads to no longer: workers may still have it. */
SD_LOCAL void sd_slot_remove(struct sd_table *t, struct sd_entry *e)
{
    e->next_removed = t->removed_slot;
    t->removed_slot = e->slot;
    if (++t->n_removed_slots >= SD_REMOVED_SLOTS_MANY)
        sd_slots_collect(t);
}

SD_LOCAL void sd_chunks_free(void *pointer, void *context)
{
    (void)context;
    free(pointer);
}

/* Room for one more chunk in the array of chunks; false when memory is short. */
SD_LOCAL bool sd_chunks_reserve(struct sd_table *t)
{
    if (t->n_chunks < t->chunks_capacity)
        return true;
    uint64_t capacity = t->chunks_capacity ? t->chunks_capacity * 2 : 8;
    if (!sd_limbo_reserve(&t->limbo, 1))
        return false;
    struct sd_chunk *old = t->chunks, *chunks = calloc(capacity, sizeof *chunks);
    if (!chunks)
        return false;
    if (old)
        memcpy(chunks, old, t->n_chunks * sizeof *chunks);
    __atomic_store_n(&t->chunks, chunks, __ATOMIC_RELEASE);
    t->chunks_capacity = capacity;
    /* There is room in limbo. */
    if (old)
        (void)sd_retire(&t->limbo, t->epochs, old, sd_chunks_free, NULL);
    return true;
}

/* --- Making and freeing tables --- */

/* Sets the `n` highest of the bits of a value. */
SD_LOCAL void sd_prefix_mask(uint8_t *value, uint32_t width_bits, uint32_t n)
{
    for (uint32_t i = width_bits - n; i < width_bits; i++)
        value[i / 8] |= (uint8_t)(1u << i % 8);
}

SD_LOCAL void sd_table_choose_structure(struct sd_table *t)
{
    const struct sd_table_type *type = t->type;
    uint32_t n_lpm = 0;
    bool is_exact = true;
    for (uint32_t i = 0; i < type->n_keys; i++) {
        switch ((enum sd_match_kind)type->keys[i].match_kind) {
        case SD_MATCH_EXACT:
            break;
        case SD_MATCH_LPM:
            n_lpm++;
            is_exact = false;
            t->lpm_key = &type->keys[i];
            break;
        case SD_MATCH_TERNARY:
        case SD_MATCH_RANGE:
        case SD_MATCH_OPTIONAL:
            is_exact = false;
            t->has_priority = true;
            break;
        }
    }
    t->has_range = sd_has_range(type->keys, type->n_keys);
    if (type->n_keys == 0)
        t->engine = SD_STRUCTURE_NONE;
    else if (!t->has_priority && n_lpm <= 1 && !type->has_wildcards)
        t->engine = n_lpm ? SD_STRUCTURE_LPM : sd_direct_bits(type) ? SD_STRUCTURE_DIRECT : SD_STRUCTURE_EXACT;
    else
        t->engine = SD_STRUCTURE_TERNARY;
    /* Laid out with what every packet reads first. */
    bool has_masks = !is_exact || type->has_wildcards;
    size_t at = sizeof(struct sd_entry);
    t->value_at = (uint32_t)at;
    t->data_at = sd_data_at(type);
    at = t->data_at;
    at = sd_round_up(at + t->data_bytes, sizeof(uint64_t));
    t->times_at = type->has_idle_timeout ? (uint32_t)at : 0;
    at += type->has_idle_timeout ? sizeof(struct sd_entry_times) : 0;
    t->mask_at = has_masks ? (uint32_t)at : 0;
    at = sd_round_up(at + (has_masks ? type->key_bytes : 0), _Alignof(struct sd_meter));
    t->meter_at = type->has_direct_meter ? (uint32_t)at : 0;
    at += type->has_direct_meter ? sizeof(struct sd_meter) : 0;
    t->entry_bytes = (uint32_t)sd_round_up(at, SD_DATA_ALIGN);
}

/* Bytes of an entry that packets touch, about. */
SD_INLINE uint32_t sd_touched_bytes(const struct sd_table *t)
{
    if (t->engine != SD_STRUCTURE_EXACT)
        return t->entry_bytes;
    uint32_t beside = sd_exact_entry_bytes(sd_table_shape(t->type, t->type->key_bytes));
    return beside + (sd_table_uses_entries(t->type) ? t->entry_bytes : 0);
}

SD_LOCAL bool sd_table_init(struct sd_table *t, const struct sd_table_type *type, struct sd_epochs *epochs,
                            uint64_t seed)
{
    t->type = type;
    t->epochs = epochs;
    t->n_workers = epochs->n_readers;
    t->free_slot = t->removed_slot = t->waiting_slot = SD_NO_SLOT;
    t->default_action = UINT32_MAX;
    t->data_bytes = type->data_bytes;
    for (uint32_t i = 0; i < type->n_actions; i++)
        if (type->actions[i].data_bytes > t->data_bytes)
            t->data_bytes = type->actions[i].data_bytes;
    sd_table_choose_structure(t);
    t->n_entries_cached_max = SD_CACHED_BYTES_LARGE / sd_touched_bytes(t);
    /* Masks have secrets of their own. */
    size_t n_secrets = 2 * SD_N_SECRETS(type->key_bytes);
    t->secrets = calloc(n_secrets, sizeof *t->secrets);
    t->ones = calloc(1, type->key_bytes ? type->key_bytes : 1);
    t->default_data = sd_alloc_lines(1, t->data_bytes);
    if (!t->secrets || !t->ones || !t->default_data)
        return false;
    sd_secrets_init(t->secrets, n_secrets, seed);
    for (uint32_t i = 0; i < type->n_keys; i++) {
        const struct sd_value_type *value = &type->keys[i].value;
        if (value->is_varbit)
            memset(t->ones + value->offset, 0xff, value->size_bytes);
        else
            sd_prefix_mask(t->ones + value->offset, value->width_bits, value->width_bits);
    }
    if (t->engine == SD_STRUCTURE_EXACT) {
        struct sd_exact_shape shape = sd_table_shape(type, type->key_bytes);
        t->entries_are_inline = sd_table_can_be_inline(type);
        t->exact_value = calloc(1, sd_round_up(shape.value_bytes, sizeof(uint64_t)));
        return t->data_bytes == type->data_bytes && t->exact_value &&
               sd_exact_init(&t->exact, shape, seed, UINT64_MAX, epochs);
    }
    if (t->engine == SD_STRUCTURE_DIRECT) {
        t->direct = calloc((size_t)1 << sd_direct_bits(type), sizeof(struct sd_entry *));
        return t->direct;
    }
    if (t->engine == SD_STRUCTURE_TERNARY)
        return sd_ternary_init(&t->ternary, type->keys, type->n_keys, type->key_bytes, epochs, seed);
    if (t->engine != SD_STRUCTURE_LPM)
        return true;
    if (sd_lpm_is_joined(type))
        return sd_lpm_init(&t->lpm, sd_lpm_exact_bits(type) + t->lpm_key->value.width_bits, epochs);
    size_t n_lengths = (size_t)t->lpm_key->value.width_bits + 1;
    t->by_length = calloc(n_lengths, sizeof *t->by_length);
    t->prefixes = calloc(n_lengths, sizeof *t->prefixes);
    return t->by_length && t->prefixes;
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
    for (uint64_t i = 0; i < t->n_chunks; i++) {
        free(t->chunks[i].entries);
        free(t->chunks[i].counts);
    }
    if (t->engine == SD_STRUCTURE_EXACT)
        sd_exact_free(&t->exact);
    sd_lpm_free(&t->lpm);
    if (t->engine == SD_STRUCTURE_TERNARY)
        sd_ternary_free(&t->ternary);
    free(t->exact_value);
    free(t->direct);
    size_t n_lengths = t->lpm_key ? (size_t)t->lpm_key->value.width_bits + 1 : 1;
    for (size_t i = 0; t->by_length && i < n_lengths; i++) {
        if (!t->by_length[i])
            continue;
        free(t->by_length[i]->index.cells);
        free(t->by_length[i]->mask);
        free(t->by_length[i]);
    }
    free(t->by_length);
    free(t->prefixes);
    free(t->chunks);
    sd_order_free(&t->order);
    free(t->secrets);
    free(t->ones);
    free(t->identities.cells);
    free(t->default_data);
}

/* --- Finding entries by identity and by handle --- */

SD_LOCAL uint32_t sd_count_ones(const uint8_t *bytes, uint32_t n_bytes)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < n_bytes; i++)
        n += (uint32_t)__builtin_popcount(bytes[i]);
    return n;
}

/* Sum of the prefix lengths that a mask says. */
SD_LOCAL uint32_t sd_prefix_bits(const struct sd_table *t, const uint8_t *mask)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->type->n_keys; i++) {
        const struct sd_key_type *key = &t->type->keys[i];
        if (key->match_kind == SD_MATCH_LPM)
            n += sd_count_ones(mask + key->value.offset, key->value.size_bytes);
    }
    return n;
}

/* Of ranked tables. */
SD_LOCAL uint64_t sd_identity_hash(const struct sd_table *t, const uint8_t *value, const uint8_t *mask,
                                           int32_t priority)
{
    uint32_t n = t->type->key_bytes;
    uint64_t of_value = sd_key_hash(t->secrets, value, NULL, n);
    uint64_t of_mask = sd_key_hash(t->secrets + SD_N_SECRETS(n), mask, NULL, n);
    return sd_mix64(of_value + 3 * of_mask + (uint64_t)(uint32_t)priority);
}

SD_LOCAL uint64_t sd_prefix_hash(const struct sd_table *t, const struct sd_prefix *prefix,
                                         const uint8_t *value)
{
    return sd_key_hash(t->secrets, value, prefix->mask, t->type->key_bytes);
}

/* The entry with this value, mask and priority. */
SD_LOCAL struct sd_entry *sd_entry_find(const struct sd_table *t, const struct sd_entry_view *view)
{
    uint32_t n = t->type->key_bytes, slot;
    if (t->engine == SD_STRUCTURE_DIRECT)
        return t->direct[sd_direct_index(t->type, view->value, n)];
    if (t->engine == SD_STRUCTURE_EXACT) {
        struct sd_exact_value value;
        const uint8_t *at = sd_exact_find(&t->exact, sd_table_shape(t->type, n), view->value);
        if (!at)
            return NULL;
        memcpy(&value, at, sizeof value);
        return sd_entry_at(t, value.slot);
    }
    if (t->engine == SD_STRUCTURE_LPM) {
        uint32_t length = sd_prefix_bits(t, view->mask);
        if (length > t->lpm_key->value.width_bits)
            return NULL;
        if (sd_lpm_is_joined(t->type)) {
            uint64_t limbs[SD_LPM_LIMBS_MAX] = {0};
            sd_lpm_limbs(t->type, view->value, n, limbs);
            slot = sd_lpm_find(&t->lpm, limbs, sd_lpm_exact_bits(t->type) + length);
            /* Such entries have no priority; if a program says one, it tells no entries apart. */
            return slot == SD_LPM_NONE ? NULL : sd_entry_at(t, slot);
        }
        const struct sd_prefix *prefix = t->by_length[length];
        if (!prefix)
            return NULL;
        uint64_t hash = sd_prefix_hash(t, prefix, view->value);
        uint32_t at = (uint32_t)hash;
        while ((slot = sd_index_next(&prefix->index, hash, &at)) != SD_NO_SLOT) {
            struct sd_entry *e = sd_entry_at(t, slot);
            if (e->priority == view->priority &&
                sd_key_equal(view->value, sd_entry_value(t, e), prefix->mask, n))
                return e;
        }
    } else if (t->engine == SD_STRUCTURE_TERNARY) {
        uint64_t hash = sd_identity_hash(t, view->value, view->mask, view->priority);
        uint32_t at = (uint32_t)hash;
        while ((slot = sd_index_next(&t->identities, hash, &at)) != SD_NO_SLOT) {
            struct sd_entry *e = sd_entry_at(t, slot);
            if (e->priority == view->priority && memcmp(view->value, sd_entry_value(t, e), n) == 0 &&
                memcmp(view->mask, sd_entry_mask(t, e), n) == 0)
                return e;
        }
    }
    return NULL;
}

SD_LOCAL struct sd_entry *sd_entry_get(const struct sd_table *t, uint64_t handle)
{
    uint64_t entry = sd_order_get(&t->order, handle);
    return entry ? sd_entry_ordered(t, entry) : NULL;
}

/* --- What entries lead to --- */

/* What a view leads to: the member, group or a new one-shot. */
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
        *target = sd_one_shot_new(view->weighted, view->n_weighted, t->type->actions, t->data_bytes,
                                  &instance->ports_down);
        return *target ? SD_OK : SD_NO_MEMORY;
    default:
        return SD_OUT_OF_RANGE;
    }
}

/* The entry uses its member or group no longer. Workers that still have the entry are waited for before one of these
   goes: the control plane removes them while no worker runs packets. */
SD_LOCAL void sd_target_unuse(struct sd_entry *e)
{
    if (e->kind == SD_ENTRY_MEMBER)
        ((struct sd_member *)e->target)->n_uses--;
    else if (e->kind == SD_ENTRY_GROUP)
        ((struct sd_group *)e->target)->n_uses--;
}

/* Gives up what the entry led to; no worker has the entry. */
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

/* --- Adding and removing --- */

/* Makes room for one more in all that knows entries; what fails leaves nothing but room. */
SD_LOCAL bool sd_table_reserve_slot(struct sd_table *t)
{
    if (t->free_slot == SD_NO_SLOT)
        sd_slots_collect(t);
    if (t->free_slot == SD_NO_SLOT && t->n_slots == t->n_chunks << SD_CHUNK_BITS) {
        if (t->n_slots > UINT32_MAX - 1 - SD_CHUNK_SLOTS || !sd_chunks_reserve(t))
            return false;
        struct sd_chunk chunk = {sd_alloc_lines(SD_CHUNK_SLOTS, t->entry_bytes), NULL};
        if (t->type->has_direct_counter)
            chunk.counts = sd_alloc_lines((size_t)t->n_workers * SD_CHUNK_SLOTS, sizeof *chunk.counts);
        if (!chunk.entries || (t->type->has_direct_counter && !chunk.counts)) {
            free(chunk.entries);
            free(chunk.counts);
            return false;
        }
        t->chunks[t->n_chunks++] = chunk;
    }
    return sd_order_reserve(&t->order, t->next_handle);
}

SD_LOCAL bool sd_table_reserve_one(struct sd_table *t, uint32_t prefix_bits)
{
    if (!sd_table_reserve_slot(t))
        return false;
    if (t->engine == SD_STRUCTURE_TERNARY)
        return sd_index_reserve(&t->identities);
    /* They have room, or make it when they insert. */
    if (t->engine == SD_STRUCTURE_DIRECT || t->engine == SD_STRUCTURE_EXACT || sd_lpm_is_joined(t->type))
        return true;
    struct sd_prefix *prefix = t->by_length[prefix_bits];
    if (!prefix) {
        prefix = calloc(1, sizeof *prefix);
        if (!prefix)
            return false;
        prefix->prefix_bits = prefix_bits;
        if (t->lpm_key) {
            const struct sd_value_type *lpm = &t->lpm_key->value;
            prefix->mask = malloc(t->type->key_bytes);
            if (!prefix->mask) {
                free(prefix);
                return false;
            }
            memset(prefix->mask, 0xff, t->type->key_bytes);
            memset(prefix->mask + lpm->offset, 0, lpm->size_bytes);
            sd_prefix_mask(prefix->mask + lpm->offset, lpm->width_bits, prefix_bits);
        }
        t->by_length[prefix_bits] = prefix;
    }
    return sd_index_reserve(&prefix->index);
}

/* What decides between ranked entries that match: of two that are alike the one that was there first wins. */
SD_LOCAL uint32_t sd_entry_rank(const struct sd_table *t, const struct sd_entry *e)
{
    if (t->has_priority)
        return (uint32_t)e->priority ^ UINT32_C(0x80000000);
    /* Entries of such tables have the priority 0; those of programs may say small ones. */
    int32_t priority = e->priority < INT16_MIN ? INT16_MIN : e->priority > INT16_MAX ? INT16_MAX : e->priority;
    uint32_t prefix_bits = e->prefix_bits < UINT16_MAX ? e->prefix_bits : UINT16_MAX;
    return (uint32_t)(priority - INT16_MIN) << 16 | prefix_bits;
}

/* What the exact engine keeps of an entry. */
SD_LOCAL const uint8_t *sd_exact_value_of(const struct sd_table *t, const struct sd_entry *e)
{
    struct sd_exact_value value = {e->slot, e->what};
    memcpy(t->exact_value, &value, sizeof value);
    if (t->type->data_bytes > 0)
        memcpy(t->exact_value + sizeof value, sd_entry_data(t, e), t->type->data_bytes);
    return t->exact_value;
}

/* The entry leads somewhere else; no worker runs packets. */
SD_LOCAL uint32_t sd_structure_update(struct sd_table *t, const struct sd_entry *e)
{
    if (t->engine != SD_STRUCTURE_EXACT)
        return SD_OK;
    struct sd_exact_shape shape = sd_table_shape(t->type, t->type->key_bytes);
    return sd_exact_overwrite(&t->exact, shape, sd_entry_value(t, e), sd_exact_value_of(t, e));
}

/* Makes the entry known to its engine; what sd_table_reserve_one has made room for does not fail. */
SD_LOCAL uint32_t sd_structure_add(struct sd_table *t, struct sd_entry *e)
{
    const uint8_t *value = sd_entry_value(t, e);
    if (t->engine == SD_STRUCTURE_DIRECT) {
        struct sd_entry **at = &t->direct[sd_direct_index(t->type, value, t->type->key_bytes)];
        __atomic_store_n(at, e, __ATOMIC_RELEASE);
        return SD_OK;
    }
    if (t->engine == SD_STRUCTURE_EXACT) {
        struct sd_exact_shape shape = sd_table_shape(t->type, t->type->key_bytes);
        return sd_exact_insert(&t->exact, shape, value, sd_exact_value_of(t, e));
    }
    if (t->engine == SD_STRUCTURE_TERNARY) {
        const uint8_t *mask = sd_entry_mask(t, e);
        uint32_t status = sd_ternary_insert(&t->ternary, value, mask, sd_entry_rank(t, e), e->slot);
        if (status != SD_OK)
            return status;
        sd_index_add(&t->identities, sd_identity_hash(t, value, mask, e->priority), e->slot);
        return SD_OK;
    }
    if (sd_lpm_is_joined(t->type)) {
        uint64_t limbs[SD_LPM_LIMBS_MAX] = {0};
        sd_lpm_limbs(t->type, value, t->type->key_bytes, limbs);
        return sd_lpm_add(&t->lpm, limbs, sd_lpm_exact_bits(t->type) + e->prefix_bits, e->slot);
    }
    struct sd_prefix *prefix = t->by_length[e->prefix_bits];
    sd_index_add(&prefix->index, sd_prefix_hash(t, prefix, value), e->slot);
    if (prefix->index.n > 1)
        return SD_OK;
    uint32_t at = t->n_prefixes++;
    for (; at > 0 && t->prefixes[at - 1]->prefix_bits < prefix->prefix_bits; at--)
        t->prefixes[at] = t->prefixes[at - 1];
    t->prefixes[at] = prefix;
    return SD_OK;
}

/* SD_OK, or SD_NO_MEMORY where the engine takes memory to give some back: then nothing has changed. */
SD_LOCAL uint32_t sd_structure_remove(struct sd_table *t, const struct sd_entry *e)
{
    const uint8_t *value = sd_entry_value(t, e);
    if (t->engine == SD_STRUCTURE_DIRECT) {
        struct sd_entry **at = &t->direct[sd_direct_index(t->type, value, t->type->key_bytes)];
        __atomic_store_n(at, NULL, __ATOMIC_RELEASE);
        return SD_OK;
    }
    if (t->engine == SD_STRUCTURE_EXACT)
        return sd_exact_remove(&t->exact, sd_table_shape(t->type, t->type->key_bytes), value);
    if (t->engine == SD_STRUCTURE_TERNARY) {
        sd_index_remove(&t->identities, sd_identity_hash(t, value, sd_entry_mask(t, e), e->priority), e->slot);
        return sd_ternary_remove(&t->ternary, e->slot);
    }
    if (sd_lpm_is_joined(t->type)) {
        uint64_t limbs[SD_LPM_LIMBS_MAX] = {0};
        sd_lpm_limbs(t->type, value, t->type->key_bytes, limbs);
        return sd_lpm_remove(&t->lpm, limbs, sd_lpm_exact_bits(t->type) + e->prefix_bits);
    }
    struct sd_prefix *prefix = t->by_length[e->prefix_bits];
    sd_index_remove(&prefix->index, sd_prefix_hash(t, prefix, value), e->slot);
    if (prefix->index.n > 0)
        return SD_OK;
    uint32_t at = 0;
    while (t->prefixes[at] != prefix)
        at++;
    t->n_prefixes--;
    memmove(t->prefixes + at, t->prefixes + at + 1, (t->n_prefixes - at) * sizeof *t->prefixes);
    return SD_OK;
}

SD_INLINE bool sd_entry_is_timed(const struct sd_table *t, const struct sd_entry *e)
{
    return t->times_at && sd_entry_times(t, e)->idle_timeout_ns > 0;
}

SD_INLINE void sd_entry_set_times(const struct sd_table *t, const struct sd_entry *e,
                                  const struct sd_entry_view *view, uint64_t now_ns)
{
    if (t->times_at)
        *sd_entry_times(t, e) = (struct sd_entry_times){now_ns, SD_NEVER, view->idle_timeout_ns};
}

/* What a table with exact keys takes, all of it. */
SD_LOCAL uint64_t sd_exact_table_bytes(const struct sd_table *t)
{
    uint64_t chunk_bytes = (uint64_t)SD_CHUNK_SLOTS * t->entry_bytes;
    if (t->type->has_direct_counter)
        chunk_bytes += (uint64_t)SD_CHUNK_SLOTS * t->n_workers * sizeof(struct sd_count);
    uint64_t n = t->n_chunks * chunk_bytes + t->chunks_capacity * sizeof *t->chunks;
    return n + sd_exact_bytes(&t->exact) + sd_order_bytes(&t->order) + sizeof *t;
}

/* An entry with a key that the table does not have. */
SD_LOCAL uint32_t sd_table_add(struct sd_instance *instance, struct sd_table *t,
                                       const struct sd_entry_view *view, bool is_const, uint64_t now_ns,
                                       uint64_t *handle)
{
    uint32_t n = t->type->key_bytes;
    uint32_t prefix_bits = sd_prefix_bits(t, view->mask);
    if (t->engine == SD_STRUCTURE_LPM && prefix_bits > t->lpm_key->value.width_bits)
        return SD_OUT_OF_RANGE;
    if (!sd_table_reserve_one(t, prefix_bits))
        return SD_NO_MEMORY;
    void *target;
    uint32_t status = sd_target_make(instance, t, view, &target);
    if (status != SD_OK)
        return status;
    struct sd_entry *e = sd_slot_take(t);
    e->handle = t->next_handle++;
    e->priority = view->priority;
    e->prefix_bits = prefix_bits;
    e->is_const = is_const;
    sd_entry_set_times(t, e, view, now_ns);
    memcpy(sd_entry_value(t, e), view->value, n);
    if (t->mask_at)
        memcpy((uint8_t *)e + t->mask_at, view->mask, n);
    for (uint32_t i = 0; t->type->has_direct_counter && i < t->n_workers; i++)
        *sd_entry_count(t, e, i) = (struct sd_count){0, 0};
    sd_target_set(t, e, view, target);
    status = sd_structure_add(t, e);
    if (status != SD_OK) {
        sd_target_drop(e);
        sd_slot_give_back(t, e);
        t->next_handle--;
        return status;
    }
    t->n_timed += sd_entry_is_timed(t, e);
    sd_order_add(&t->order, e->handle, (uint64_t)e->slot + 1);
    sd_table_add_entries(t, 1);
    sd_instance_add_bytes(instance, sd_touched_bytes(t));
    *handle = e->handle;
    return SD_OK;
}

/*
 * Whether a modified entry takes the place of the old one at once, so that workers find the one or the other. Elsewhere
 * it is changed where it lies: where workers count in it, and where the engine cannot exchange what it leads to.
 */
SD_INLINE bool sd_table_swaps(const struct sd_table *t)
{
    return (t->engine == SD_STRUCTURE_EXACT || t->engine == SD_STRUCTURE_DIRECT) && !t->entries_are_inline &&
           !t->type->has_direct_counter && !t->type->has_direct_meter;
}

/* In such tables; `target` is what the view leads to. What fails has changed nothing. */
SD_LOCAL uint32_t sd_entry_swap(struct sd_table *t, struct sd_entry *old, const struct sd_entry_view *view,
                                void *target, uint64_t now_ns)
{
    if (!sd_table_reserve_slot(t))
        return SD_NO_MEMORY;
    struct sd_entry *e = sd_slot_take(t);
    e->handle = old->handle;
    e->priority = old->priority;
    e->is_const = old->is_const;
    sd_entry_set_times(t, e, view, now_ns);
    memcpy(sd_entry_value(t, e), sd_entry_value(t, old), t->type->key_bytes);
    if (t->mask_at)
        memcpy((uint8_t *)e + t->mask_at, sd_entry_mask(t, old), t->type->key_bytes);
    sd_target_set(t, e, view, target);
    uint32_t status = SD_OK;
    if (t->engine == SD_STRUCTURE_DIRECT)
        status = sd_structure_add(t, e);
    else
        status = sd_exact_replace(&t->exact, sd_table_shape(t->type, t->type->key_bytes), sd_entry_value(t, e),
                                  sd_exact_value_of(t, e));
    if (status != SD_OK) {
        sd_target_unuse(e);
        sd_slot_give_back(t, e);
        return status;
    }
    t->n_timed = t->n_timed + sd_entry_is_timed(t, e) - sd_entry_is_timed(t, old);
    sd_order_change(&t->order, e->handle, (uint64_t)e->slot + 1);
    sd_target_unuse(old);
    sd_slot_remove(t, old);
    return SD_OK;
}

#endif
