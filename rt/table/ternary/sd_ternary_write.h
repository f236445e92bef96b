/*
 * Adding rules to a ternary table and taking them out, while readers look them up.
 *
 * Owns: the inner layout of a table's keys; records, and the lists that they are in; when a new plan is made.
 *
 * An insertion allocates before it changes anything, and a removal needs no memory. A record that was
 * taken out keeps its `next`, so that a reader who stands on it goes on, and is used again when all readers have
 * passed a boundary. A new plan has copies of all rules: readers have the old one or the new one.
 *
 * Slots are small numbers: the writer's memory grows with the largest.
 */
#ifndef SD_TERNARY_WRITE_H
#define SD_TERNARY_WRITE_H

#include "table/ternary/sd_ternary_plan.h"

/* --- Layout --- */

/* Lays out the elements; false when memory is short. */
SD_LOCAL bool sd_ternary_layout_init(struct sd_ternary_layout *l, const struct sd_key_type *keys,
                                             uint32_t n_keys, uint32_t key_bytes)
{
    memset(l, 0, sizeof *l);
    l->key_bytes = key_bytes;
    l->ranges = calloc(n_keys + 1, sizeof *l->ranges);
    l->runs = calloc(n_keys + 1, sizeof *l->runs);
    if (!l->ranges || !l->runs)
        return false;
    uint64_t inner_bytes = 0;
    bool is_identity = true;
    for (uint32_t i = 0; i < n_keys; i++) {
        uint32_t n = keys[i].value.size_bytes;
        bool in_lane = keys[i].match_kind == SD_MATCH_RANGE && n <= 2;
        inner_bytes += in_lane ? inner_bytes & 1 : 0;
        l->runs[i] = (struct sd_ternary_run){keys[i].value.offset, (uint32_t)inner_bytes, n};
        is_identity &= keys[i].value.offset == inner_bytes;
        inner_bytes += in_lane ? 2 : n;
    }
    l->n_runs = n_keys;
    l->is_wide = inner_bytes > 16 * SD_TERNARY_CHUNKS || key_bytes > 16 * SD_TERNARY_CHUNKS;
    l->is_identity = is_identity || l->is_wide;
    uint64_t longer = l->is_wide || inner_bytes < key_bytes ? key_bytes : inner_bytes;
    l->n_chunks = (uint32_t)((longer + 15) / 16);
    l->n_chunks += l->n_chunks == 0;
    l->inner_bytes = 16 * l->n_chunks;
    size_t record_bytes = sizeof(struct sd_ternary_record) + (size_t)2 * l->inner_bytes;
    if (record_bytes > UINT32_MAX / 2)
        return false;
    l->record_bytes = (uint32_t)sd_round_up(record_bytes, SD_LINE_BYTES);
    l->ternary_bits = calloc(2, l->inner_bytes);
    if (!l->ternary_bits)
        return false;
    l->range_bits = l->ternary_bits + l->inner_bytes;
    for (uint32_t i = 0; i < 16; i++)
        l->shuffle[i] = 0x80;
    /* Ranges that come late first. */
    for (int is_late = 1; is_late >= 0; is_late--) {
        for (uint32_t i = 0; i < n_keys; i++) {
            struct sd_ternary_run *run = &l->runs[i];
            bool is_range = keys[i].match_kind == SD_MATCH_RANGE;
            bool in_lane = is_range && run->n_bytes <= 2 && !l->is_wide;
            if ((is_range && !in_lane) != is_late)
                continue;
            uint32_t to = l->is_wide ? run->from : run->to;
            run->to = to;
            if (is_range) {
                l->ranges[l->n_ranges++] = (struct sd_ternary_range){to, in_lane ? 2 : run->n_bytes};
                l->n_late += is_late;
                memset(l->range_bits + to, in_lane ? 0xff : 0, in_lane ? 2 : run->n_bytes);
            } else {
                memset(l->ternary_bits + to, 0xff, run->n_bytes);
            }
            for (uint32_t j = 0; j < run->n_bytes && l->n_chunks == 1 && run->from + j < 16; j++)
                l->shuffle[to + j] = (uint8_t)(run->from + j);
        }
    }
    return true;
}

SD_LOCAL void sd_ternary_layout_free(struct sd_ternary_layout *l)
{
    free(l->ranges);
    free(l->runs);
    free(l->ternary_bits);
}

/* Any key, value or mask into the inner layout, with zeros behind. */
SD_LOCAL void sd_ternary_inner(const struct sd_ternary_layout *l, const uint8_t *from, uint8_t *to)
{
    memset(to, 0, l->inner_bytes);
    if (l->is_identity)
        memcpy(to, from, l->key_bytes);
    for (uint32_t i = 0; i < l->n_runs && !l->is_identity; i++)
        memcpy(to + l->runs[i].to, from + l->runs[i].from, l->runs[i].n_bytes);
}

/* --- Records --- */

SD_LOCAL struct sd_ternary_record *sd_ternary_record(const struct sd_ternary *t, uint32_t i)
{
    return sd_ternary_record_at(t->plan->records, t->layout.record_bytes, i);
}

/* The group of a rule that is in the bit vectors. */
#define SD_TERNARY_IN_BITS UINT32_MAX
#define SD_TERNARY_IN_REST (UINT32_MAX - 1)

/* Frees records that no reader can hold any more. */
SD_LOCAL void sd_ternary_collect(struct sd_ternary *t)
{
    if (!t->first_waiting && t->limbo.n == 0)
        return;
    uint64_t safe = t->epochs ? sd_epoch_safe(t->epochs) : UINT64_MAX;
    sd_collect_until(&t->limbo, safe);
    while (t->first_waiting) {
        struct sd_ternary_record *r = sd_ternary_record(t, t->first_waiting);
        if (r->stamp > safe)
            break;
        uint32_t link = r->link;
        /* Sorted ones stay empty: what came there would not be in order. */
        if (r->group == SD_TERNARY_IN_BITS && r->next >= t->plan->bits.n_sorted)
            t->plan->free_positions[t->plan->n_free++] = r->next;
        r->link = t->free_record;
        t->free_record = t->first_waiting;
        t->first_waiting = link;
    }
}

/* 0 when there is none. */
SD_LOCAL uint32_t sd_ternary_take_record(struct sd_ternary *t)
{
    if (!t->free_record && t->plan->n_records == t->plan->capacity)
        sd_ternary_collect(t);
    uint32_t i = t->free_record;
    if (i)
        t->free_record = sd_ternary_record(t, i)->link;
    else if (t->plan->n_records < t->plan->capacity)
        i = ++t->plan->n_records;
    return i;
}

/* --- Plans --- */

static void sd_ternary_free_plan(void *pointer, void *context)
{
    struct sd_ternary_plan *plan = pointer;
    (void)context;
    if (plan)
        sd_unmap_large(plan->memory, plan->n_bytes);
    free(plan);
}

/* Puts a record at the head of its list: none in it precedes. */
SD_INLINE void sd_ternary_link_first(struct sd_ternary_group *g, struct sd_ternary_record *r, uint32_t i,
                                     uint32_t hash)
{
    uint64_t *head = &g->heads[hash >> g->shift];
    r->next = (uint32_t)*head;
    uint64_t bits = *head >> 32 | sd_ternary_bit(hash, g->shift);
    __atomic_store_n(head, bits << 32 | i, __ATOMIC_RELEASE);
}

/* Allocates a plan with these masks and room for `capacity` records. NULL when memory is short. */
SD_LOCAL struct sd_ternary_plan *sd_ternary_new_plan(struct sd_ternary *t, const struct sd_ternary_masks *masks,
                                                             uint32_t capacity)
{
    size_t n_terms = 0, n_heads = 0, n = masks->n_groups;
    for (uint32_t i = 0; i < n; i++) {
        n_terms += masks->groups[i].n_terms;
        n_heads += (size_t)1 << masks->groups[i].n_bits;
    }
    size_t groups_bytes = sizeof(struct sd_ternary_plan) + n * sizeof(struct sd_ternary_group);
    struct sd_ternary_plan *plan = calloc(1, groups_bytes + n_terms * sizeof(struct sd_ternary_term));
    if (!plan)
        return NULL;
    size_t heads_bytes = sd_round_up(n_heads * sizeof(uint64_t), SD_LINE_BYTES), records_bytes;
    size_t n_words = sd_ternary_bits_words(masks->n_positions), n_positions = 64 * n_words;
    size_t rows_bytes = sd_round_up(masks->n_bytes * 256 * n_words * sizeof(uint64_t), SD_LINE_BYTES);
    /* Records and free positions. */
    size_t bits_bytes = rows_bytes + n_positions * 8;
    if (__builtin_mul_overflow((size_t)capacity + 1, t->layout.record_bytes, &records_bytes) ||
        __builtin_add_overflow(records_bytes, heads_bytes + bits_bytes, &plan->n_bytes))
        return free(plan), NULL;
    plan->memory = sd_map_large(plan->n_bytes);
    if (!plan->memory)
        return free(plan), NULL;
    plan->capacity = capacity;
    plan->n_groups = masks->n_groups;
    struct sd_ternary_bits *bits = &plan->bits;
    uint8_t *at = (uint8_t *)plan->memory + heads_bytes;
    bits->rows = (uint64_t *)(void *)at;
    bits->records = (uint32_t *)(void *)(at + rows_bytes);
    plan->free_positions = bits->records + n_positions;
    bits->n_words = (uint32_t)n_words;
    bits->n_bytes = masks->n_bytes;
    memcpy(bits->bytes, masks->bytes, sizeof bits->bytes);
    /* The first is used first. */
    for (uint32_t i = (uint32_t)n_positions; i-- > 0;)
        plan->free_positions[plan->n_free++] = i;
    plan->records = at + bits_bytes;
    struct sd_ternary_term *terms = (struct sd_ternary_term *)(void *)((uint8_t *)plan + groups_bytes);
    uint64_t *heads = plan->memory;
    for (uint32_t i = 0; i < n; i++) {
        const struct sd_ternary_mask *mask = &masks->groups[i];
        struct sd_ternary_group *g = &plan->groups[i];
        g->heads = heads;
        g->shift = 32 - mask->n_bits;
        g->start = (uint32_t)sd_ternary_random(t);
        g->n_terms = mask->n_terms;
        g->terms = terms;
        for (uint32_t j = 0; j < mask->n_terms; j++)
            terms[j] = sd_ternary_make_term(t, mask->words[j].word, mask->words[j].mask);
        terms += mask->n_terms;
        heads += (size_t)1 << mask->n_bits;
    }
    return plan;
}

/* The group where the rule finds the shortest list, and that is not long, or where else there is room for it. */
SD_LOCAL uint32_t sd_ternary_choose_group(const struct sd_ternary *t, const struct sd_ternary_plan *plan,
                                                  const uint8_t *value, const uint8_t *said, uint32_t n_free)
{
    uint32_t n_bytes = t->layout.inner_bytes, chosen = SD_TERNARY_IN_REST, length = UINT32_MAX;
    for (uint32_t i = 0; i < plan->n_groups && length > 0; i++) {
        const struct sd_ternary_group *g = &plan->groups[i];
        if (!sd_ternary_says(g, said, n_bytes))
            continue;
        uint32_t n = 0, at = (uint32_t)g->heads[sd_ternary_hash(g, value, n_bytes) >> g->shift];
        for (; at && n < SD_TERNARY_CROWD; n++)
            at = sd_ternary_record_at(plan->records, t->layout.record_bytes, at)->next;
        if (n < length) {
            length = n;
            chosen = i;
        }
    }
    return length >= SD_TERNARY_CROWD && n_free > 0 ? SD_TERNARY_IN_BITS : chosen;
}

/* Sets or clears the position where the bytes of the key leave it. */
SD_LOCAL void sd_ternary_mark(const struct sd_ternary *t, const struct sd_ternary_plan *plan,
                                      const struct sd_ternary_record *r, uint32_t position, bool is_set)
{
    const struct sd_ternary_layout *l = &t->layout;
    const struct sd_ternary_bits *bits = &plan->bits;
    const uint8_t *value = sd_ternary_value(r), *mask = sd_ternary_mask(l, r);
    uint64_t bit = UINT64_C(1) << position % 64;
    for (uint32_t i = 0; i < bits->n_bytes; i++) {
        uint32_t at = bits->bytes[i], low = 0, high = 255;
        uint8_t wanted = 0, counts = 0;
        if (l->ternary_bits[at]) {
            wanted = value[at];
            counts = mask[at];
        } else {
            sd_ternary_range_byte(l, value, mask, at, &low, &high);
        }
        for (uint32_t byte = low; byte <= high; byte++) {
            if ((byte ^ wanted) & counts)
                continue;
            uint64_t *word = &bits->rows[(size_t)(256 * i + byte) * bits->n_words + position / 64];
            __atomic_store_n(word, is_set ? *word | bit : *word & ~bit, __ATOMIC_RELEASE);
        }
    }
}

/* Assigns a position to a record. What readers read of it is written before the bits. */
SD_LOCAL void sd_ternary_place(const struct sd_ternary *t, struct sd_ternary_plan *plan,
                                       struct sd_ternary_record *r, uint32_t i, uint32_t position)
{
    struct sd_ternary_bits *bits = &plan->bits;
    r->group = SD_TERNARY_IN_BITS;
    r->next = position;
    __atomic_store_n(&bits->records[position], i, __ATOMIC_RELAXED);
    if (position >= bits->n_sorted && !bits->has_unsorted)
        __atomic_store_n(&bits->has_unsorted, 1, __ATOMIC_RELEASE);
    sd_ternary_mark(t, plan, r, position, true);
}

/* Copies all rules into a new plan with these masks, and publishes it. */
SD_LOCAL bool sd_ternary_rebuild(struct sd_ternary *t, const struct sd_ternary_masks *masks,
                                         uint32_t capacity)
{
    const struct sd_ternary_layout *l = &t->layout;
    struct sd_ternary_plan *old = t->plan;
    uint32_t *sorted = sd_ternary_sorted(t);
    struct sd_ternary_plan *plan = sorted ? sd_ternary_new_plan(t, masks, capacity) : NULL;
    if (!plan || !sd_limbo_reserve(&t->limbo, 1)) {
        sd_ternary_free_plan(plan, NULL);
        free(sorted);
        return false;
    }
    /* In reverse order of precedence, so that each rule goes to the head of its list. */
    uint32_t n_free = plan->n_free, n_in_bits = 0;
    for (uint32_t i = t->n_rules; i-- > 0;) {
        const struct sd_ternary_record *from = sd_ternary_record(t, sorted[i]);
        uint32_t at = ++plan->n_records;
        struct sd_ternary_record *r = sd_ternary_record_at(plan->records, l->record_bytes, at);
        memcpy(r, from, l->record_bytes);
        r->order = r->order >> 32 << 32 | (UINT32_MAX - i);
        sd_ternary_said(l, sd_ternary_value(r), sd_ternary_mask(l, r), t->said);
        r->group = sd_ternary_choose_group(t, plan, sd_ternary_value(r), t->said, n_free - n_in_bits);
        t->places[r->slot] = at;
        if (r->group == SD_TERNARY_IN_BITS) {
            /* Their positions are the other way round. */
            sorted[t->n_rules - 1 - n_in_bits++] = at;
        } else if (r->group == SD_TERNARY_IN_REST) {
            r->next = plan->rest;
            plan->rest = at;
        } else {
            struct sd_ternary_group *g = &plan->groups[r->group];
            sd_ternary_link_first(g, r, at, sd_ternary_hash(g, sd_ternary_value(r), l->inner_bytes));
        }
    }
    plan->bits.n_sorted = n_in_bits;
    for (uint32_t i = 0; i < n_in_bits; i++) {
        uint32_t at = sorted[t->n_rules - n_in_bits + i];
        struct sd_ternary_record *r = sd_ternary_record_at(plan->records, l->record_bytes, at);
        sd_ternary_place(t, plan, r, at, plan->free_positions[--plan->n_free]);
    }
    free(sorted);
    t->age = UINT32_MAX - t->n_rules;
    t->free_record = t->first_waiting = t->last_waiting = 0;
    t->n_planned = t->n_rules;
    t->n_changes = t->n_crowded = 0;
    __atomic_store_n(&t->plan, plan, __ATOMIC_RELEASE);
    if (t->epochs && old)
        sd_retire(&t->limbo, t->epochs, old, sd_ternary_free_plan, NULL);
    else
        sd_ternary_free_plan(old, NULL);
    sd_ternary_collect(t);
    return true;
}

/* New masks for the rules that there are. */
SD_LOCAL bool sd_ternary_replan(struct sd_ternary *t)
{
    struct sd_ternary_masks masks;
    uint64_t capacity = (uint64_t)t->n_rules * 2 + 64;
    if (capacity > UINT32_MAX / 2)
        return false;
    bool is_done = sd_ternary_choose_masks(t, &masks) && sd_ternary_rebuild(t, &masks, (uint32_t)capacity);
    sd_ternary_masks_free(&masks);
    return is_done;
}

/* --- Tables --- */

/* No reader has the table any more. */
SD_LOCAL void sd_ternary_free(struct sd_ternary *t)
{
    sd_limbo_free(&t->limbo);
    sd_ternary_free_plan(t->plan, NULL);
    sd_ternary_layout_free(&t->layout);
    free(t->places);
    free(t->said);
    memset(t, 0, sizeof *t);
}

/*
 * False when memory is short, and then there is nothing to free. The epochs outlive the table; without them (NULL)
 * no reader looks anything up while rules change.
 */
SD_LOCAL bool sd_ternary_init(struct sd_ternary *t, const struct sd_key_type *keys, uint32_t n_keys,
                                      uint32_t key_bytes, struct sd_epochs *epochs, uint64_t seed)
{
    memset(t, 0, sizeof *t);
    t->epochs = epochs;
    sd_secrets_init(&t->random, 1, seed);
    bool is_laid_out = sd_ternary_layout_init(&t->layout, keys, n_keys, key_bytes);
    t->said = is_laid_out ? calloc(1, t->layout.inner_bytes) : NULL;
    if (!t->said || !sd_ternary_replan(t)) {
        sd_ternary_free(t);
        return false;
    }
    return true;
}

/* Puts a record into the list of its group, or that of the rest. */
SD_LOCAL void sd_ternary_link(struct sd_ternary *t, struct sd_ternary_record *r, uint32_t i)
{
    struct sd_ternary_group *g = r->group == SD_TERNARY_IN_REST ? NULL : &t->plan->groups[r->group];
    uint32_t hash = g ? sd_ternary_hash(g, sd_ternary_value(r), t->layout.inner_bytes) : 0;
    uint64_t *head = g ? &g->heads[hash >> g->shift] : NULL;
    struct sd_ternary_record *before = NULL;
    uint32_t at = g ? (uint32_t)*head : t->plan->rest;
    while (at && sd_ternary_record(t, at)->order > r->order) {
        before = sd_ternary_record(t, at);
        at = before->next;
    }
    if (!before && g) {
        sd_ternary_link_first(g, r, i, hash);
        return;
    }
    r->next = at;
    if (!before) {
        __atomic_store_n(&t->plan->rest, i, __ATOMIC_RELEASE);
        return;
    }
    __atomic_store_n(&before->next, i, __ATOMIC_RELEASE);
    if (g)
        __atomic_store_n(head, *head | (uint64_t)sd_ternary_bit(hash, g->shift) << 32, __ATOMIC_RELEASE);
}

/* Makes room for the place of a slot; false when memory is short. */
SD_LOCAL bool sd_ternary_reserve_place(struct sd_ternary *t, uint32_t slot)
{
    uint64_t n_places = t->places_capacity;
    uint32_t *places = sd_reserve(t->places, &t->places_capacity, (uint64_t)slot + 1, sizeof *places);
    if (!places)
        return false;
    memset(places + n_places, 0, (t->places_capacity - n_places) * sizeof *places);
    t->places = places;
    return true;
}

/*
 * A rule with this value and mask, as sd_entry_view has them, under a slot that has none. Of ranks the larger
 * precedes, then the rule that was inserted first. SD_NO_MEMORY leaves the table as it was.
 */
SD_LOCAL uint32_t sd_ternary_insert(struct sd_ternary *t, const uint8_t *value, const uint8_t *mask,
                                            uint32_t rank, uint32_t slot)
{
    const struct sd_ternary_layout *l = &t->layout;
    if (!sd_ternary_reserve_place(t, slot))
        return SD_NO_MEMORY;
    if (sd_ternary_wants_plan(t))
        sd_ternary_replan(t);
    uint32_t i = t->age > 0 ? sd_ternary_take_record(t) : 0;
    if (!i) {
        if (!sd_ternary_replan(t))
            return SD_NO_MEMORY;
        i = sd_ternary_take_record(t);
    }
    struct sd_ternary_record *r = sd_ternary_record(t, i);
    uint8_t *inner = sd_ternary_value(r);
    sd_ternary_inner(l, value, inner);
    sd_ternary_inner(l, mask, sd_ternary_mask(l, r));
    sd_ternary_said(l, inner, sd_ternary_mask(l, r), t->said);
    r->order = (uint64_t)rank << 32 | t->age--;
    r->slot = slot;
    struct sd_ternary_plan *plan = t->plan;
    if (plan->n_free == 0)
        sd_ternary_collect(t);
    r->group = sd_ternary_choose_group(t, plan, inner, t->said, plan->n_free);
    t->n_crowded += r->group == SD_TERNARY_IN_BITS ? 1 : r->group == SD_TERNARY_IN_REST ? 4 : 0;
    if (r->group == SD_TERNARY_IN_BITS)
        sd_ternary_place(t, plan, r, i, plan->free_positions[--plan->n_free]);
    else
        sd_ternary_link(t, r, i);
    t->places[slot] = i;
    t->n_rules++;
    if (!t->has_rules)
        __atomic_store_n(&t->has_rules, true, __ATOMIC_RELAXED);
    t->n_changes++;
    return SD_OK;
}

/* The rule in a slot is now that of another one, beside readers: they find one of the two. SD_NO_MEMORY, or SD_NOT_FOUND if
   there is no such rule. */
SD_LOCAL uint32_t sd_ternary_change(struct sd_ternary *t, uint32_t slot, uint32_t new_slot)
{
    uint32_t i = slot < t->places_capacity ? t->places[slot] : 0;
    if (!i)
        return SD_NOT_FOUND;
    if (!sd_ternary_reserve_place(t, new_slot))
        return SD_NO_MEMORY;
    __atomic_store_n(&sd_ternary_record(t, i)->slot, new_slot, __ATOMIC_RELEASE);
    t->places[slot] = 0;
    t->places[new_slot] = i;
    return SD_OK;
}

/* Takes a record out of its list. */
SD_LOCAL void sd_ternary_unlink(struct sd_ternary *t, const struct sd_ternary_record *r, uint32_t i)
{
    struct sd_ternary_group *g = r->group == SD_TERNARY_IN_REST ? NULL : &t->plan->groups[r->group];
    uint32_t n_bytes = t->layout.inner_bytes, first = t->plan->rest;
    uint64_t *head = NULL, bits = 0;
    if (g) {
        head = &g->heads[sd_ternary_hash(g, sd_ternary_value(r), n_bytes) >> g->shift];
        first = (uint32_t)*head;
    }
    struct sd_ternary_record *before = NULL;
    for (uint32_t at = first; at;) {
        struct sd_ternary_record *other = sd_ternary_record(t, at);
        if (g && at != i)
            bits |= sd_ternary_bit(sd_ternary_hash(g, sd_ternary_value(other), n_bytes), g->shift);
        if (other->next == i)
            before = other;
        at = other->next;
    }
    if (before)
        __atomic_store_n(&before->next, r->next, __ATOMIC_RELEASE);
    else
        first = r->next;
    if (!g) {
        __atomic_store_n(&t->plan->rest, first, __ATOMIC_RELEASE);
        return;
    }
    __atomic_store_n(head, bits << 32 | first, __ATOMIC_RELEASE);
}

/* Removes the rule in this slot; SD_NOT_FOUND if there is none. */
SD_LOCAL uint32_t sd_ternary_remove(struct sd_ternary *t, uint32_t slot)
{
    uint32_t i = slot < t->places_capacity ? t->places[slot] : 0;
    if (!i)
        return SD_NOT_FOUND;
    struct sd_ternary_record *r = sd_ternary_record(t, i);
    if (r->group == SD_TERNARY_IN_BITS) {
        __atomic_store_n(&t->plan->bits.records[r->next], 0, __ATOMIC_RELAXED);
        sd_ternary_mark(t, t->plan, r, r->next, false);
    } else {
        sd_ternary_unlink(t, r, i);
    }
    r->link = 0;
    r->stamp = t->epochs ? sd_epoch_stamp(t->epochs) : 0;
    if (t->first_waiting)
        sd_ternary_record(t, t->last_waiting)->link = i;
    else
        t->first_waiting = i;
    t->last_waiting = i;
    t->places[slot] = 0;
    if (--t->n_rules == 0)
        __atomic_store_n(&t->has_rules, false, __ATOMIC_RELAXED);
    t->n_changes++;
    return SD_OK;
}

#endif
