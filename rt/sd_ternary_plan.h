/*
 * Where the rules of a ternary table are looked for: the masks of its groups.
 *
 * Owns: which bits of a key a rule says, and the choice of masks for the rules that there are.
 */
#ifndef SD_TERNARY_PLAN_H
#define SD_TERNARY_PLAN_H

#include "sd_ternary.h"

/* A list of this many rules is long. */
#define SD_TERNARY_CROWD 6u
/* Words of a mask that are not zero. */
#define SD_TERNARY_TERMS_MAX 16u

struct sd_ternary_mask {
    uint32_t n_terms;
    /* log2 of the number of lists, at least 1 and at most 24 */
    uint32_t n_bits;
    struct {
        uint32_t word, mask;
    } words[SD_TERNARY_TERMS_MAX];
};

struct sd_ternary_masks {
    uint32_t n_groups;
    struct sd_ternary_mask *groups;
};

static SD_UNUSED uint64_t sd_ternary_random(struct sd_ternary *t)
{
    return sd_mix64(t->random += UINT64_C(0x9e3779b97f4a7c15));
}

static SD_UNUSED struct sd_ternary_term sd_ternary_make_term(struct sd_ternary *t, uint32_t word, uint32_t mask)
{
    uint64_t factors = sd_ternary_random(t);
    return (struct sd_ternary_term){word, mask & 0xffff, mask >> 16, (uint32_t)factors, (uint32_t)(factors >> 32)};
}

/* The bits that a rule says: those of its mask, and of ranges those in front in which both ends agree. */
static SD_UNUSED void sd_ternary_said(const struct sd_ternary_layout *l, const uint8_t *value, const uint8_t *mask,
                                      uint8_t *said)
{
    for (uint32_t i = 0; i < l->inner_bytes; i++)
        said[i] = mask[i] & l->ternary_bits[i];
    for (uint32_t i = 0; i < l->n_ranges; i++) {
        uint32_t at = l->ranges[i].at;
        for (uint32_t j = l->ranges[i].n_bytes; j-- > 0;) {
            uint8_t differs = value[at + j] ^ mask[at + j];
            /* Ones above the highest that differs. */
            said[at + j] = differs ? (uint8_t)~(0xffu >> (__builtin_clz(differs) - 24)) : 0xff;
            if (differs)
                break;
        }
    }
}

/* Whether a rule that says this can be in the group. */
static SD_UNUSED bool sd_ternary_says(const struct sd_ternary_group *g, const uint8_t *said, uint32_t n_bytes)
{
    uint32_t lacks = 0;
    for (uint32_t i = 0; i < g->n_terms; i++) {
        const struct sd_ternary_term *term = &g->terms[i];
        lacks |= (term->low_mask | term->high_mask << 16) & ~sd_ternary_word(said, n_bytes, term->word);
    }
    return lacks == 0;
}

struct sd_ternary_sort {
    uint64_t order;
    uint32_t record;
};

static int sd_ternary_compare_orders(const void *a, const void *b)
{
    uint64_t x = ((const struct sd_ternary_sort *)a)->order, y = ((const struct sd_ternary_sort *)b)->order;
    return (x < y) - (x > y);
}

/* The records of all rules, those that precede first; NULL when memory is short. */
static SD_UNUSED uint32_t *sd_ternary_sorted(const struct sd_ternary *t)
{
    uint32_t *sorted = calloc((size_t)t->n_rules + 1, sizeof *sorted);
    struct sd_ternary_sort *items = calloc((size_t)t->n_rules + 1, sizeof *items);
    uint32_t n = 0;
    for (uint64_t slot = 0; sorted && items && slot < t->places_capacity; slot++) {
        uint32_t i = t->places[slot];
        if (i)
            items[n++] = (struct sd_ternary_sort){
                sd_ternary_record_at(t->plan->records, t->layout.record_bytes, i)->order, i};
    }
    if (!sorted || !items) {
        free(sorted);
        free(items);
        return NULL;
    }
    qsort(items, n, sizeof *items, sd_ternary_compare_orders);
    for (uint32_t i = 0; i < n; i++)
        sorted[i] = items[i].record;
    free(items);
    return sorted;
}

static SD_UNUSED void sd_ternary_masks_free(struct sd_ternary_masks *masks)
{
    free(masks->groups);
}

/* Whether it is time for a new plan. */
static SD_UNUSED bool sd_ternary_wants_plan(const struct sd_ternary *t)
{
    return t->n_rules > 2 * t->n_planned + 16;
}

/* False when memory is short. */
static SD_UNUSED bool sd_ternary_choose_masks(const struct sd_ternary *t, struct sd_ternary_masks *masks)
{
    (void)t;
    masks->n_groups = 1;
    masks->groups = calloc(1, sizeof *masks->groups);
    if (masks->groups)
        masks->groups[0].n_bits = 1;
    return masks->groups;
}

#endif
