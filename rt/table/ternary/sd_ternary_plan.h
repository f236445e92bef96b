/*
 * Where the rules of a ternary table are looked for: the masks of its groups.
 *
 * Owns: which bits of a key a rule says, and the choice of masks for the rules that there are.
 *
 * Each group costs every lookup a probe, and each rule in a list that a key leads to a comparison. Masks are
 * chosen one after the other so that what a lookup pays for a group, shared by the rules that the group takes, is
 * least (the greedy method for weighted set cover). What a lookup pays is seen from keys that rules match. A mask
 * begins as the bits that some rule says, and loses those that others do not say, or a piece, as long as that helps.
 */
#ifndef SD_TERNARY_PLAN_H
#define SD_TERNARY_PLAN_H

#include "table/ternary/sd_ternary.h"

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

/* The parts of a plan: groups, and positions of bit vectors. */
struct sd_ternary_masks {
    uint32_t n_groups;
    struct sd_ternary_mask *groups;
    uint32_t n_positions;
    uint32_t n_bytes;
    uint32_t bytes[16 * SD_TERNARY_CHUNKS];
};

SD_LOCAL uint64_t sd_ternary_random(struct sd_ternary *t)
{
    return sd_mix64(t->random += UINT64_C(0x9e3779b97f4a7c15));
}

SD_LOCAL struct sd_ternary_term sd_ternary_make_term(struct sd_ternary *t, uint32_t word, uint32_t mask)
{
    uint64_t factors = sd_ternary_random(t);
    return (struct sd_ternary_term){word, mask & 0xffff, mask >> 16, (uint32_t)factors, (uint32_t)(factors >> 32)};
}

/* The bits that a rule says: those of its mask, and of ranges those in front in which both ends agree. */
SD_LOCAL void sd_ternary_said(const struct sd_ternary_layout *l, const uint8_t *value, const uint8_t *mask,
                                      uint8_t *said)
{
    for (uint32_t i = 0; i < l->inner_bytes; i++)
        said[i] = mask[i] & l->ternary_bits[i];
    for (uint32_t i = 0; i < l->n_ranges; i++) {
        uint32_t at = l->ranges[i].at;
        for (uint32_t j = l->ranges[i].n_bytes; j-- > 0;) {
            uint8_t differs = value[at + j] ^ mask[at + j];
            /* Ones above the highest bit that differs. */
            said[at + j] = differs ? (uint8_t)~(0xffu >> (__builtin_clz(differs) - 24)) : 0xff;
            if (differs)
                break;
        }
    }
}

/*
 * The bytes that a range leaves at one of its places: exact where all bytes in front agree and none behind counts,
 * else more than that.
 */
SD_LOCAL void sd_ternary_range_byte(const struct sd_ternary_layout *l, const uint8_t *value,
                                            const uint8_t *mask, uint32_t at, uint32_t *low, uint32_t *high)
{
    *low = 0;
    *high = 255;
    for (uint32_t i = 0; i < l->n_ranges; i++) {
        uint32_t first = l->ranges[i].at, end = first + l->ranges[i].n_bytes;
        if (at < first || at >= end)
            continue;
        for (uint32_t j = end - 1; j > at; j--)
            if (value[j] != mask[j])
                return;
        *low = value[at];
        *high = mask[at];
    }
}

/* A rule that tests these bits can be in the group. */
SD_LOCAL bool sd_ternary_says(const struct sd_ternary_group *g, const uint8_t *said, uint32_t n_bytes)
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
SD_LOCAL uint32_t *sd_ternary_sorted(const struct sd_ternary *t)
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

SD_LOCAL void sd_ternary_masks_free(struct sd_ternary_masks *masks)
{
    free(masks->groups);
}

/* --- Choosing masks --- */

/* Cost of a group; comparing one rule costs 4. */
#define SD_TERNARY_PROBE_COST 2.0
#define SD_TERNARY_RULE_COST 4.0
/* Rules and keys that a mask is tried on, and masks that are tried. */
#define SD_TERNARY_SAMPLE 2048u
#define SD_TERNARY_SAMPLE_KEYS 256u
#define SD_TERNARY_TRIES 2000u
#define SD_TERNARY_COUNT_BITS 13u

struct sd_ternary_choice {
    const struct sd_ternary_layout *layout;
    uint32_t n_bytes, n_words;
    /* Values and tested bits of each rule; rules that no group has taken come first in `open`. */
    const uint8_t **values;
    uint8_t *said;
    uint32_t *open;
    uint32_t n_rules, n_open, n_sample, n_keys;
    uint8_t *keys;
    /* By hash the rules that a mask leads there. */
    uint16_t *counts;
    /* The longest list that is taken. */
    uint32_t longest;
    uint32_t n_tries_left;
    uint64_t random;
};

SD_LOCAL uint32_t sd_ternary_below(struct sd_ternary_choice *c, uint32_t n)
{
    c->random += UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)((sd_mix64(c->random) >> 32) * n >> 32);
}

/* The words of `from` that are not zero, as many as a mask may have. */
SD_LOCAL void sd_ternary_mask_of(struct sd_ternary_mask *mask, const uint8_t *from, uint32_t n_words)
{
    mask->n_terms = 0;
    for (uint32_t i = 0; i < n_words && mask->n_terms < SD_TERNARY_TERMS_MAX; i++) {
        uint32_t word = sd_ternary_word(from, 4 * n_words, i);
        if (word == 0)
            continue;
        mask->words[mask->n_terms].word = i;
        mask->words[mask->n_terms++].mask = word;
    }
}

/* The hash of what the mask leaves of a key, good enough to count; false where `said` lacks bits. */
SD_INLINE bool sd_ternary_try_hash(const struct sd_ternary_mask *mask, const uint8_t *key, const uint8_t *said,
                                   uint32_t n_bytes, uint32_t *hash)
{
    uint64_t sum = 0;
    uint32_t lacks = 0;
    for (uint32_t i = 0; i < mask->n_terms; i++) {
        uint32_t word = mask->words[i].word;
        if (said)
            lacks |= mask->words[i].mask & ~sd_ternary_word(said, n_bytes, word);
        sum = (sum ^ (sd_ternary_word(key, n_bytes, word) & mask->words[i].mask)) * UINT64_C(0x9fb21c651e98df25);
        sum ^= sum >> 32;
    }
    *hash = (uint32_t)(sum * UINT64_C(0x9e3779b97f4a7c15) >> 32);
    return lacks == 0;
}

/* Cost of a mask for a lookup, divided by the rules it takes; infinity: the mask is of no use. */
SD_LOCAL double sd_ternary_try_mask(struct sd_ternary_choice *c, const struct sd_ternary_mask *mask)
{
    uint32_t hash, n_taken = 0;
    double scale = (double)c->n_open / c->n_sample, visits = 0;
    uint32_t most = (uint32_t)(c->longest / scale);
    most = most < 2 ? 2 : most;
    memset(c->counts, 0, sizeof *c->counts << SD_TERNARY_COUNT_BITS);
    for (uint32_t i = 0; i < c->n_sample; i++) {
        uint32_t rule = c->open[i];
        if (sd_ternary_try_hash(mask, c->values[rule], c->said + (size_t)rule * c->n_bytes, c->n_bytes, &hash)) {
            uint32_t n = ++c->counts[hash >> (32 - SD_TERNARY_COUNT_BITS)];
            n_taken += n <= most ? 1 : n == most + 1 ? -most : 0;
        }
    }
    for (uint32_t i = 0; i < c->n_keys; i++) {
        sd_ternary_try_hash(mask, c->keys + (size_t)i * c->n_bytes, NULL, c->n_bytes, &hash);
        uint32_t n = c->counts[hash >> (32 - SD_TERNARY_COUNT_BITS)];
        visits += n <= most ? n : 0;
    }
    c->n_tries_left -= c->n_tries_left > 0;
    if (n_taken == 0)
        return 1e30;
    double cost = SD_TERNARY_PROBE_COST + 0.1 * mask->n_terms;
    return (cost + SD_TERNARY_RULE_COST * visits * scale / c->n_keys) / (n_taken * scale);
}

/* Tries `mask` without the bits that are not in `keep`; it becomes `best` if it is better. */
SD_LOCAL void sd_ternary_try_less(struct sd_ternary_choice *c, const struct sd_ternary_mask *mask,
                                          const uint8_t *keep, uint32_t drop_word, uint32_t drop_bits,
                                          struct sd_ternary_mask *best, double *best_cost)
{
    struct sd_ternary_mask less = {0, 0, {{0, 0}}};
    bool is_less = false;
    for (uint32_t i = 0; i < mask->n_terms; i++) {
        uint32_t word = mask->words[i].word, bits = mask->words[i].mask;
        if (keep)
            bits &= sd_ternary_word(keep, c->n_bytes, word);
        if (word == drop_word)
            bits &= ~drop_bits;
        is_less |= bits != mask->words[i].mask;
        if (bits == 0)
            continue;
        less.words[less.n_terms].word = word;
        less.words[less.n_terms++].mask = bits;
    }
    if (!is_less)
        return;
    double cost = sd_ternary_try_mask(c, &less);
    if (cost < *best_cost) {
        *best = less;
        *best_cost = cost;
    }
}

/* From what a rule says to a mask for many. */
SD_LOCAL double sd_ternary_grow_mask(struct sd_ternary_choice *c, uint32_t rule, struct sd_ternary_mask *mask)
{
    sd_ternary_mask_of(mask, c->said + (size_t)rule * c->n_bytes, c->n_words);
    double cost = sd_ternary_try_mask(c, mask);
    for (;;) {
        struct sd_ternary_mask best = *mask;
        double best_cost = cost;
        for (uint32_t i = 0; i < 8; i++) {
            uint32_t other = c->open[sd_ternary_below(c, c->n_sample)];
            sd_ternary_try_less(c, mask, c->said + (size_t)other * c->n_bytes, UINT32_MAX, 0, &best, &best_cost);
        }
        for (uint32_t i = 0; i < mask->n_terms; i++) {
            uint32_t word = mask->words[i].word;
            sd_ternary_try_less(c, mask, NULL, word, UINT32_C(0xffff), &best, &best_cost);
            sd_ternary_try_less(c, mask, NULL, word, UINT32_C(0xffff0000), &best, &best_cost);
            /* The lower half of what there is: prefixes get shorter. */
            uint32_t bits = mask->words[i].mask, low = bits;
            for (int n = __builtin_popcount(bits) / 2; n > 0; n--)
                bits &= bits - 1;
            sd_ternary_try_less(c, mask, NULL, word, low & ~bits, &best, &best_cost);
        }
        if (best_cost >= cost)
            return cost;
        *mask = best;
        cost = best_cost;
        if (c->n_tries_left == 0)
            return cost;
    }
}

/* Takes the rules whose list under the mask is short; returns their number. */
SD_LOCAL uint32_t sd_ternary_take(struct sd_ternary_choice *c, const struct sd_ternary_mask *mask,
                                          uint32_t *lists, uint32_t n_list_bits)
{
    uint32_t n = 0, hash;
    memset(lists, 0, sizeof *lists << n_list_bits);
    for (int pass = 0; pass < 2; pass++) {
        n = 0;
        for (uint32_t i = 0; i < c->n_open; i++) {
            uint32_t rule = c->open[i];
            bool fits = sd_ternary_try_hash(mask, c->values[rule], c->said + (size_t)rule * c->n_bytes, c->n_bytes,
                                            &hash);
            uint32_t *list = &lists[hash >> (32 - n_list_bits)];
            if (pass == 0)
                *list += fits;
            else if (!fits || *list > c->longest)
                c->open[n++] = rule;
        }
    }
    uint32_t n_taken = c->n_open - n;
    c->n_open = n;
    return n_taken;
}

SD_LOCAL void sd_ternary_choice_free(struct sd_ternary_choice *c)
{
    free(c->values);
    free(c->said);
    free(c->open);
    free(c->keys);
    free(c->counts);
}

SD_LOCAL bool sd_ternary_choice_init(struct sd_ternary_choice *c, struct sd_ternary *t)
{
    const struct sd_ternary_layout *l = &t->layout;
    uint32_t n = t->n_rules;
    memset(c, 0, sizeof *c);
    c->layout = l;
    c->n_bytes = l->inner_bytes;
    c->n_words = l->inner_bytes / 4;
    c->random = sd_ternary_random(t);
    c->n_keys = n < SD_TERNARY_SAMPLE_KEYS ? n : SD_TERNARY_SAMPLE_KEYS;
    c->values = calloc((size_t)n + 1, sizeof *c->values);
    c->said = calloc((size_t)n + 1, c->n_bytes);
    c->open = calloc((size_t)n + 1, sizeof *c->open);
    c->keys = calloc((size_t)c->n_keys + 1, c->n_bytes);
    c->counts = calloc((size_t)1 << SD_TERNARY_COUNT_BITS, sizeof *c->counts);
    if (!c->values || !c->said || !c->open || !c->keys || !c->counts)
        return false;
    for (uint64_t slot = 0; slot < t->places_capacity; slot++) {
        if (!t->places[slot])
            continue;
        const struct sd_ternary_record *r = sd_ternary_record_at(t->plan->records, l->record_bytes, t->places[slot]);
        uint32_t i = c->n_rules++;
        c->values[i] = sd_ternary_value(r);
        sd_ternary_said(l, sd_ternary_value(r), sd_ternary_mask(l, r), c->said + (size_t)i * c->n_bytes);
        c->open[i] = i;
    }
    c->n_open = c->n_rules;
    for (uint32_t i = n; i > 1; i--) {
        uint32_t j = sd_ternary_below(c, i), rule = c->open[j];
        c->open[j] = c->open[i - 1];
        c->open[i - 1] = rule;
    }
    for (uint32_t i = 0; i < c->n_keys; i++) {
        const uint8_t *said = c->said + (size_t)c->open[i] * c->n_bytes;
        for (uint32_t j = 0; j < c->n_bytes; j++) {
            uint8_t any = (uint8_t)sd_ternary_below(c, 256);
            c->keys[(size_t)i * c->n_bytes + j] = (uint8_t)((c->values[c->open[i]][j] & said[j]) | (any & ~said[j]));
        }
    }
    uint64_t n_tries = 32 + (uint64_t)n;
    c->n_tries_left = n_tries < SD_TERNARY_TRIES ? (uint32_t)n_tries : SD_TERNARY_TRIES;
    return true;
}

SD_INLINE void sd_ternary_masks_add(struct sd_ternary_masks *masks, const struct sd_ternary_mask *mask, uint32_t n)
{
    masks->groups[masks->n_groups] = *mask;
    uint32_t n_bits = 3;
    while (n_bits < 24 && UINT64_C(2) << n_bits < UINT64_C(3) * n)
        n_bits++;
    masks->groups[masks->n_groups++].n_bits = n_bits;
}

/* Positions of bit vectors, and bytes that they take. */
#define SD_TERNARY_POSITIONS_MAX 16384u
#define SD_TERNARY_ROWS_BYTES_MAX ((size_t)16 << 20)

SD_INLINE uint32_t sd_ternary_bits_words(uint32_t n_positions)
{
    uint32_t n = (n_positions + 63) / 64;
    return n <= 2 ? n : (n + SD_TERNARY_BLOCK - 1) / SD_TERNARY_BLOCK * SD_TERNARY_BLOCK;
}

/* So many that they can be doubled. */
SD_INLINE uint32_t sd_ternary_positions_for(uint32_t n_rules)
{
    return n_rules + n_rules / 4 + 8;
}

SD_LOCAL bool sd_ternary_bits_fit(const struct sd_ternary_layout *l, uint32_t n_rules)
{
    uint32_t n = sd_ternary_positions_for(n_rules);
    return !l->is_wide && n <= SD_TERNARY_POSITIONS_MAX &&
           (size_t)sd_ternary_bits_words(n) * 8 * 256 * l->inner_bytes <= SD_TERNARY_ROWS_BYTES_MAX;
}

/* Cost for a lookup of bit vectors with `n_rules`. */
SD_LOCAL double sd_ternary_bits_cost(const struct sd_ternary_layout *l, uint32_t n_rules)
{
    if (n_rules == 0)
        return 0;
    if (!sd_ternary_bits_fit(l, n_rules))
        return SD_TERNARY_RULE_COST * n_rules;
    uint32_t n_words = sd_ternary_bits_words(sd_ternary_positions_for(n_rules));
    return 8 + l->key_bytes * (0.5 + 0.2 * n_words);
}

/* The bytes that tell something of the rules that no group has taken; without rules all. */
SD_LOCAL void sd_ternary_choose_bytes(const struct sd_ternary_choice *c, struct sd_ternary_masks *masks)
{
    const struct sd_ternary_layout *l = c->layout;
    for (uint32_t i = 0; i < c->n_bytes; i++) {
        bool tells = c->n_open == 0;
        for (uint32_t j = 0; j < c->n_open && !tells; j++) {
            const uint8_t *value = c->values[c->open[j]], *mask = value + l->inner_bytes;
            uint32_t low, high;
            sd_ternary_range_byte(l, value, mask, i, &low, &high);
            tells = (mask[i] & l->ternary_bits[i]) || low > 0 || high < 255;
        }
        if (tells)
            masks->bytes[masks->n_bytes++] = i;
    }
}

/* Masks for the rules that there are; false when memory is short. */
SD_LOCAL bool sd_ternary_choose_masks(struct sd_ternary *t, struct sd_ternary_masks *masks)
{
    struct sd_ternary_choice c;
    memset(masks, 0, sizeof *masks);
    masks->groups = calloc(SD_TERNARY_GROUPS_MAX, sizeof *masks->groups);
    uint32_t n_list_bits = 6;
    while (n_list_bits < 26 && UINT32_C(1) << n_list_bits < 4 * (uint64_t)t->n_rules)
        n_list_bits++;
    uint32_t *lists = calloc((size_t)1 << n_list_bits, sizeof *lists);
    uint32_t *all_open = calloc((size_t)t->n_rules + 1, sizeof *all_open);
    bool is_done = sd_ternary_choice_init(&c, t) && masks->groups && lists && all_open;
    c.longest = SD_TERNARY_CROWD;
    /* The cheapest number of groups, with bit vectors for the rest. */
    uint32_t n_groups = 0, n_open = c.n_open;
    double cost = 0, least = sd_ternary_bits_cost(&t->layout, c.n_open);
    if (is_done)
        memcpy(all_open, c.open, c.n_open * sizeof *all_open);
    while (is_done && c.n_open > 0 && masks->n_groups < SD_TERNARY_GROUPS_MAX && cost < least) {
        struct sd_ternary_mask mask, best;
        double best_cost = 1e30;
        c.n_sample = c.n_open < SD_TERNARY_SAMPLE ? c.n_open : SD_TERNARY_SAMPLE;
        for (uint32_t i = 0; i < 5; i++) {
            double found = sd_ternary_grow_mask(&c, c.open[sd_ternary_below(&c, c.n_sample)], &mask);
            if (found < best_cost) {
                best_cost = found;
                best = mask;
            }
            if (c.n_tries_left == 0)
                break;
        }
        uint32_t n_taken = 0;
        if (best_cost < SD_TERNARY_RULE_COST && best.n_terms > 0)
            n_taken = sd_ternary_take(&c, &best, lists, n_list_bits);
        if (n_taken > 0) {
            sd_ternary_masks_add(masks, &best, n_taken);
            cost += best_cost * n_taken;
            double rest = sd_ternary_bits_cost(&t->layout, c.n_open);
            if (cost + rest < least) {
                least = cost + rest;
                n_groups = masks->n_groups;
                n_open = c.n_open;
                memcpy(all_open, c.open, c.n_open * sizeof *all_open);
            }
        } else if (c.longest >= c.n_open) {
            break;
        } else {
            /* Many that say the same. */
            c.longest *= 4;
        }
    }
    if (is_done) {
        masks->n_groups = n_groups;
        c.n_open = n_open;
        memcpy(c.open, all_open, n_open * sizeof *all_open);
        if (sd_ternary_bits_fit(&t->layout, n_open))
            masks->n_positions = sd_ternary_positions_for(n_open);
        else if (!t->layout.is_wide)
            for (uint32_t n = SD_TERNARY_POSITIONS_MAX; n >= 64 && !masks->n_positions; n /= 2)
                masks->n_positions = sd_ternary_bits_fit(&t->layout, n / 2) ? n / 2 : 0;
        if (masks->n_positions)
            sd_ternary_choose_bytes(&c, masks);
    }
    sd_ternary_choice_free(&c);
    free(lists);
    free(all_open);
    return is_done;
}

#define SD_TERNARY_MANY_IN_BITS 1000u

/*
 * A new plan is due when rules inserted since the last one slow lookups down. If the last plan found no groups for most
 * rules, the next one probably will not either, so it is made less often.
 */
static SD_UNUSED bool sd_ternary_wants_plan(const struct sd_ternary *t)
{
    uint32_t n = t->n_planned, n_in_bits = t->plan->bits.n_sorted;
    uint32_t n_crowded_max = n / 16 + 8 + (n_in_bits > SD_TERNARY_MANY_IN_BITS ? n_in_bits / 2 : 0);
    return t->n_rules > n + n / 2 || t->n_crowded > n_crowded_max || t->n_changes / 4 > n + 64;
}

#endif
