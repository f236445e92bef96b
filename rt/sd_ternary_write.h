/*
 * Adding rules to a ternary table and taking them out, while readers look them up.
 *
 * Owns: the inner layout of a table's keys; records, and the lists that they are in; when a new plan is made.
 *
 * What an insertion needs is allocated before anything is changed, and a removal needs nothing. A record that was
 * taken out keeps its `next`, so that a reader who stands on it goes on, and is used again when all readers have
 * passed a boundary. A new plan has copies of all rules: readers have the old one or the new one.
 *
 * Slots are small numbers: the writer's memory grows with the largest.
 */
#ifndef SD_TERNARY_WRITE_H
#define SD_TERNARY_WRITE_H

#include "sd_ternary_plan.h"

/* --- Layout --- */

/* Where the elements come to lie; false when memory is short. */
static SD_UNUSED bool sd_ternary_layout_init(struct sd_ternary_layout *l, const struct sd_key_type *keys,
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

static SD_UNUSED void sd_ternary_layout_free(struct sd_ternary_layout *l)
{
    free(l->ranges);
    free(l->runs);
    free(l->ternary_bits);
}

/* Any key, value or mask into the inner layout, with zeros behind. */
static SD_UNUSED void sd_ternary_inner(const struct sd_ternary_layout *l, const uint8_t *from, uint8_t *to)
{
    memset(to, 0, l->inner_bytes);
    if (l->is_identity)
        memcpy(to, from, l->key_bytes);
    for (uint32_t i = 0; i < l->n_runs && !l->is_identity; i++)
        memcpy(to + l->runs[i].to, from + l->runs[i].from, l->runs[i].n_bytes);
}

/* --- Records --- */

static SD_UNUSED struct sd_ternary_record *sd_ternary_record(const struct sd_ternary *t, uint32_t i)
{
    return sd_ternary_record_at(t->plan->records, t->layout.record_bytes, i);
}

/* Those that no reader has any more can be used again. */
static SD_UNUSED void sd_ternary_collect(struct sd_ternary *t)
{
    if (!t->first_waiting && t->limbo.n == 0)
        return;
    uint64_t safe = sd_epoch_safe(t->epochs);
    sd_collect_until(&t->limbo, safe);
    while (t->first_waiting) {
        struct sd_ternary_record *r = sd_ternary_record(t, t->first_waiting);
        if (r->stamp > safe)
            break;
        uint32_t link = r->link;
        r->link = t->free_record;
        t->free_record = t->first_waiting;
        t->first_waiting = link;
    }
}

/* 0 when there is none. */
static SD_UNUSED uint32_t sd_ternary_take_record(struct sd_ternary *t)
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
    g->n_rules++;
}

/* What a plan is made of: room for `capacity` records, and the masks. NULL when memory is short. */
static SD_UNUSED struct sd_ternary_plan *sd_ternary_new_plan(struct sd_ternary *t, const struct sd_ternary_masks *masks,
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
    if (__builtin_mul_overflow((size_t)capacity + 1, t->layout.record_bytes, &records_bytes) ||
        __builtin_add_overflow(records_bytes, heads_bytes, &plan->n_bytes))
        return free(plan), NULL;
    plan->memory = sd_map_large(plan->n_bytes);
    if (!plan->memory)
        return free(plan), NULL;
    plan->capacity = capacity;
    plan->n_groups = masks->n_groups;
    plan->records = (uint8_t *)plan->memory + heads_bytes;
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

/* The group where the rule finds the shortest list; `*length` is that, counted to SD_TERNARY_CROWD at most. */
static SD_UNUSED uint32_t sd_ternary_choose_group(const struct sd_ternary *t, const struct sd_ternary_plan *plan,
                                                  const uint8_t *value, const uint8_t *said, uint32_t *length)
{
    uint32_t n_bytes = t->layout.inner_bytes, chosen = plan->n_groups - 1;
    *length = UINT32_MAX;
    for (uint32_t i = 0; i < plan->n_groups && *length > 0; i++) {
        const struct sd_ternary_group *g = &plan->groups[i];
        if (!sd_ternary_says(g, said, n_bytes))
            continue;
        uint32_t n = 0, at = (uint32_t)g->heads[sd_ternary_hash(g, value, n_bytes) >> g->shift];
        for (; at && n < SD_TERNARY_CROWD; n++)
            at = sd_ternary_record_at(plan->records, t->layout.record_bytes, at)->next;
        if (n < *length) {
            *length = n;
            chosen = i;
        }
    }
    return chosen;
}

/* Copies all rules into a new plan with these masks, and publishes it. */
static SD_UNUSED bool sd_ternary_rebuild(struct sd_ternary *t, const struct sd_ternary_masks *masks,
                                         uint32_t capacity)
{
    const struct sd_ternary_layout *l = &t->layout;
    struct sd_ternary_plan *old = t->plan;
    uint32_t *sorted = sd_ternary_sorted(t);
    uint8_t *said = malloc(l->inner_bytes);
    struct sd_ternary_plan *plan = sorted && said ? sd_ternary_new_plan(t, masks, capacity) : NULL;
    if (!plan || !sd_limbo_reserve(&t->limbo, 1)) {
        sd_ternary_free_plan(plan, NULL);
        free(sorted);
        free(said);
        return false;
    }
    /* Those that precede come later, so that each goes to the head of its list. */
    for (uint32_t i = t->n_rules; i-- > 0;) {
        const struct sd_ternary_record *from = sd_ternary_record(t, sorted[i]);
        uint32_t at = ++plan->n_records, length;
        struct sd_ternary_record *r = sd_ternary_record_at(plan->records, l->record_bytes, at);
        memcpy(r, from, l->record_bytes);
        r->order = r->order >> 32 << 32 | (UINT32_MAX - i);
        sd_ternary_said(l, sd_ternary_value(r), sd_ternary_mask(l, r), said);
        r->group = sd_ternary_choose_group(t, plan, sd_ternary_value(r), said, &length);
        struct sd_ternary_group *g = &plan->groups[r->group];
        sd_ternary_link_first(g, r, at, sd_ternary_hash(g, sd_ternary_value(r), l->inner_bytes));
        t->places[r->slot] = at;
    }
    free(sorted);
    free(said);
    t->age = UINT32_MAX - t->n_rules;
    t->free_record = t->first_waiting = t->last_waiting = 0;
    t->n_planned = t->n_rules;
    t->n_changes = t->n_crowded = 0;
    __atomic_store_n(&t->plan, plan, __ATOMIC_RELEASE);
    if (old)
        sd_retire(&t->limbo, t->epochs, old, sd_ternary_free_plan, NULL);
    sd_ternary_collect(t);
    return true;
}

/* New masks for the rules that there are. */
static SD_UNUSED bool sd_ternary_replan(struct sd_ternary *t)
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
static SD_UNUSED void sd_ternary_free(struct sd_ternary *t)
{
    sd_limbo_free(&t->limbo);
    sd_ternary_free_plan(t->plan, NULL);
    sd_ternary_layout_free(&t->layout);
    free(t->places);
    memset(t, 0, sizeof *t);
}

/* False when memory is short, and then there is nothing to free. The epochs outlive the table. */
static SD_UNUSED bool sd_ternary_init(struct sd_ternary *t, const struct sd_key_type *keys, uint32_t n_keys,
                                      uint32_t key_bytes, struct sd_epochs *epochs, uint64_t seed)
{
    memset(t, 0, sizeof *t);
    t->epochs = epochs;
    sd_secrets_init(&t->random, 1, seed);
    if (!sd_ternary_layout_init(&t->layout, keys, n_keys, key_bytes) || !sd_ternary_replan(t)) {
        sd_ternary_free(t);
        return false;
    }
    return true;
}

/*
 * A rule with this value and mask, as sd_entry_view has them, under a slot that has none. Of ranks the larger
 * precedes, then the rule that was inserted first. SD_NO_MEMORY leaves the table as it was.
 */
static SD_UNUSED uint32_t sd_ternary_insert(struct sd_ternary *t, const uint8_t *value, const uint8_t *mask,
                                            uint32_t rank, uint32_t slot)
{
    const struct sd_ternary_layout *l = &t->layout;
    uint64_t n_places = t->places_capacity;
    uint32_t *places = sd_reserve(t->places, &t->places_capacity, (uint64_t)slot + 1, sizeof *places);
    if (!places)
        return SD_NO_MEMORY;
    memset(places + n_places, 0, (t->places_capacity - n_places) * sizeof *places);
    t->places = places;
    if (sd_ternary_wants_plan(t))
        sd_ternary_replan(t);
    uint32_t i = t->age > 0 ? sd_ternary_take_record(t) : 0;
    if (!i) {
        if (!sd_ternary_replan(t))
            return SD_NO_MEMORY;
        i = sd_ternary_take_record(t);
    }
    struct sd_ternary_record *r = sd_ternary_record(t, i);
    /* Record 0 is nobody's: there is room for what the rule says. */
    uint8_t *inner = sd_ternary_value(r), *said = sd_ternary_value(sd_ternary_record(t, 0));
    sd_ternary_inner(l, value, inner);
    sd_ternary_inner(l, mask, sd_ternary_mask(l, r));
    sd_ternary_said(l, inner, sd_ternary_mask(l, r), said);
    uint32_t length;
    r->order = (uint64_t)rank << 32 | t->age--;
    r->slot = slot;
    r->group = sd_ternary_choose_group(t, t->plan, inner, said, &length);
    struct sd_ternary_group *g = &t->plan->groups[r->group];
    uint32_t hash = sd_ternary_hash(g, inner, l->inner_bytes);
    uint64_t *head = &g->heads[hash >> g->shift];
    struct sd_ternary_record *before = NULL;
    for (uint32_t at = (uint32_t)*head; at;) {
        struct sd_ternary_record *other = sd_ternary_record(t, at);
        if (other->order < r->order)
            break;
        before = other;
        at = other->next;
    }
    if (before) {
        r->next = before->next;
        __atomic_store_n(&before->next, i, __ATOMIC_RELEASE);
        uint64_t bits = *head | (uint64_t)sd_ternary_bit(hash, g->shift) << 32;
        __atomic_store_n(head, bits, __ATOMIC_RELEASE);
        g->n_rules++;
    } else {
        sd_ternary_link_first(g, r, i, hash);
    }
    t->places[slot] = i;
    t->n_rules++;
    t->n_changes++;
    t->n_crowded += length >= SD_TERNARY_CROWD;
    return SD_OK;
}

/* Of the rule in this slot, if there is one. */
static SD_UNUSED uint32_t sd_ternary_remove(struct sd_ternary *t, uint32_t slot)
{
    const struct sd_ternary_layout *l = &t->layout;
    uint32_t i = slot < t->places_capacity ? t->places[slot] : 0;
    if (!i)
        return SD_NOT_FOUND;
    struct sd_ternary_record *r = sd_ternary_record(t, i), *before = NULL;
    struct sd_ternary_group *g = &t->plan->groups[r->group];
    uint64_t *head = &g->heads[sd_ternary_hash(g, sd_ternary_value(r), l->inner_bytes) >> g->shift];
    uint64_t bits = 0;
    for (uint32_t at = (uint32_t)*head; at;) {
        struct sd_ternary_record *other = sd_ternary_record(t, at);
        if (at != i)
            bits |= sd_ternary_bit(sd_ternary_hash(g, sd_ternary_value(other), l->inner_bytes), g->shift);
        if (other->next == i)
            before = other;
        at = other->next;
    }
    if (before)
        __atomic_store_n(&before->next, r->next, __ATOMIC_RELEASE);
    uint32_t first = before ? (uint32_t)*head : r->next;
    __atomic_store_n(head, bits << 32 | first, __ATOMIC_RELEASE);
    g->n_rules--;
    r->link = 0;
    r->stamp = sd_epoch_stamp(t->epochs);
    if (t->first_waiting)
        sd_ternary_record(t, t->last_waiting)->link = i;
    else
        t->first_waiting = i;
    t->last_waiting = i;
    t->places[slot] = 0;
    t->n_rules--;
    t->n_changes++;
    return SD_OK;
}

#endif
