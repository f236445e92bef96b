/*
 * Ternary, range, optional, LPM and exact keys with priorities: from a key to the slot of its best rule.
 *
 * Owns: how rules lie in memory, and how readers find the best one that matches. sd_ternary_write.h changes rules,
 * sd_ternary_plan.h decides where they are looked for.
 *
 * Rules are spread over groups. A group has a mask; its rules say all bits of the mask, so that a hash of what the
 * mask leaves of a key leads to the only list where a rule of the group can match (tuple space search: Srinivasan,
 * Suri, Varghese, "Packet classification using tuple space search", 1999; here with few masks, each of which serves
 * many tuples, as in TupleMerge by Daly et al., 2019). Rules that share no bits are in lists without a mask.
 *
 * A bucket's head has 32 bits that say which hashes are in its list, so that most keys of other groups cost one load.
 * Lookups take many keys at a time, and go in rounds: all keys through all groups give a list of rules to compare;
 * each round compares one rule for every key that is left. Neither has branches that depend on a single key.
 *
 * Precedence: the larger rank, then the rule that was inserted first. Lists are in that order.
 *
 * Invariants: readers see rules through `plan`, then a head, then `next`, each published by a release store. A rule
 * in a list is not changed but for `next`. What is taken out goes to the limbo. One writer.
 *
 * Rules and keys are compared in an inner layout: elements one after the other, ranges of up to 16 bits in lanes of
 * 16 bits, which are compared together with the rest. Wide keys stay as they are, and their ranges, as all ranges
 * over 16 bits, are compared after the rest.
 */
#ifndef SD_TERNARY_H
#define SD_TERNARY_H

#ifdef __SSSE3__
#include <tmmintrin.h>
#endif

#include "sd_epoch.h"
#include "sd_match.h"

/* Keys that go through the groups together. */
#define SD_TERNARY_BURST 32u
/* Inner layouts up to this many 16-byte chunks are copied, and looked up in bursts. */
#define SD_TERNARY_CHUNKS 4u
#define SD_TERNARY_GROUPS_MAX 256u

#ifdef __AVX512F__
#define SD_TERNARY_LANES 16u
#else
#define SD_TERNARY_LANES 8u
#endif

typedef uint32_t sd_ternary_lanes __attribute__((vector_size(4 * SD_TERNARY_LANES), may_alias));
typedef uint8_t sd_u8x16 __attribute__((vector_size(16), may_alias));
typedef uint16_t sd_u16x8 __attribute__((vector_size(16), may_alias));
typedef uint64_t sd_u64x2 __attribute__((vector_size(16), may_alias));

/* Bytes of a key that lie together in both layouts. */
struct sd_ternary_run {
    uint32_t from, to, n_bytes;
};

/* In the inner layout. */
struct sd_ternary_range {
    uint32_t at, n_bytes;
};

struct sd_ternary_layout {
    uint32_t key_bytes;
    /* Of the inner layout, a multiple of 16; of wide keys rounded up. */
    uint32_t inner_bytes;
    uint32_t n_chunks;
    uint32_t record_bytes;
    /* Neither copied nor rearranged. */
    bool is_wide;
    bool is_identity;
    bool has_lanes;
    /* Ranges that are compared after the rest come first. */
    uint32_t n_late, n_ranges;
    struct sd_ternary_range *ranges;
    uint32_t n_runs;
    struct sd_ternary_run *runs;
    /* Of one chunk: where each byte comes from. */
    sd_u8x16 shuffle;
    /* Ones where value and mask are meant, and where low and high end are, in lanes. */
    uint8_t *ternary_bits, *range_bits;
};

/* A rule: then value, and mask, in the inner layout; of ranges the low and the high end. */
struct sd_ternary_record {
    /* rank << 32, and what falls with each insertion: larger precedes. Never 0. */
    uint64_t order;
    uint32_t slot;
    /* The next of the list, or 0. */
    uint32_t next;
    /* The writer's: where it is, and when it was taken out and the next such one, or the next free one. */
    uint32_t group;
    uint32_t link;
    uint64_t stamp;
};

/* What a group's mask leaves of 32 bits of a key, and the factors of its halves. */
struct sd_ternary_term {
    uint32_t word;
    uint32_t low_mask, high_mask;
    uint32_t low_factor, high_factor;
};

struct sd_ternary_group {
    /* Which hashes there are << 32, and the first of the list, or 0. */
    uint64_t *heads;
    uint32_t shift;
    uint32_t start;
    uint32_t n_terms;
    uint32_t n_rules;
    struct sd_ternary_term *terms;
};

/* What readers see. */
struct sd_ternary_plan {
    /* Number 0 is nothing. */
    uint8_t *records;
    uint32_t n_groups;
    /* The writer's: records that were ever used, and room for these; all other memory of the plan. */
    uint32_t n_records, capacity;
    void *memory;
    size_t n_bytes;
    struct sd_ternary_group groups[];
};

struct sd_ternary {
    struct sd_ternary_plan *plan;
    struct sd_ternary_layout layout;
    /* All below is the writer's. */
    struct sd_epochs *epochs;
    /* Old plans. */
    struct sd_limbo limbo;
    /* By slot the record, or 0. */
    uint32_t *places;
    uint64_t places_capacity;
    /* Records that can be used again, and those that wait for readers, the oldest first. */
    uint32_t free_record, first_waiting, last_waiting;
    uint32_t n_rules;
    /* Falls with each insertion. */
    uint32_t age;
    /* Since the plan was made: changes, and rules that went where many were. */
    uint32_t n_changes, n_crowded;
    /* Rules when the plan was made. */
    uint32_t n_planned;
    uint64_t random;
};

/* --- Keys --- */

/* 32 bits of a key, zeros beyond its end. */
SD_ALWAYS_INLINE uint32_t sd_ternary_word(const uint8_t *key, uint32_t n_bytes, uint32_t word)
{
    uint32_t at = 4 * word, value = 0;
    if (SD_LIKELY(n_bytes - at >= 4))
        memcpy(&value, key + at, 4);
    else
        for (uint32_t i = at; i < n_bytes; i++)
            value |= (uint32_t)key[i] << 8 * (i - at);
    return value;
}

/* Into the inner layout of a key that is not wide; `to` is as long as that. */
SD_ALWAYS_INLINE void sd_ternary_arrange(const struct sd_ternary_layout *l, const uint8_t *key,
                                         uint32_t key_bytes, uint8_t *to)
{
    if (key_bytes <= 16 && l->n_chunks == 1) {
        sd_u64x2 words = {sd_key_word(key, key_bytes, 0), key_bytes > 8 ? sd_key_word(key, key_bytes, 8) : 0};
        if (!l->is_identity) {
#ifdef __SSSE3__
            words = (sd_u64x2)_mm_shuffle_epi8((__m128i)words, (__m128i)l->shuffle);
#else
            sd_u8x16 from = (sd_u8x16)words, shuffled = {0};
            for (uint32_t i = 0; i < 16; i++)
                shuffled[i] = l->shuffle[i] < 16 ? from[l->shuffle[i]] : 0;
            words = (sd_u64x2)shuffled;
#endif
        }
        memcpy(to, &words, sizeof words);
        return;
    }
    memset(to, 0, l->inner_bytes);
    if (l->is_identity) {
        memcpy(to, key, key_bytes);
        return;
    }
    for (uint32_t i = 0; i < l->n_runs; i++)
        memcpy(to + l->runs[i].to, key + l->runs[i].from, l->runs[i].n_bytes);
}

/* --- Rules --- */

SD_ALWAYS_INLINE struct sd_ternary_record *sd_ternary_record_at(const uint8_t *records, uint32_t record_bytes,
                                                                uint32_t i)
{
    return (struct sd_ternary_record *)(void *)(uintptr_t)(records + (size_t)i * record_bytes);
}

SD_ALWAYS_INLINE uint8_t *sd_ternary_value(const struct sd_ternary_record *r)
{
    return (uint8_t *)(uintptr_t)(r + 1);
}

SD_ALWAYS_INLINE uint8_t *sd_ternary_mask(const struct sd_ternary_layout *l, const struct sd_ternary_record *r)
{
    return sd_ternary_value(r) + l->inner_bytes;
}

/* Ranges that are compared after the rest. */
static SD_UNUSED __attribute__((noinline)) bool
sd_ternary_late_match(const struct sd_ternary_layout *l, const uint8_t *key, const uint8_t *value,
                      const uint8_t *mask)
{
    for (uint32_t i = 0; i < l->n_late; i++) {
        uint32_t at = l->ranges[i].at, n = l->ranges[i].n_bytes;
        if (sd_le_compare(key + at, value + at, n) < 0 || sd_le_compare(key + at, mask + at, n) > 0)
            return false;
    }
    return true;
}

/* A key in the inner layout, which is not wide: zero where the rule matches but for its late ranges. */
SD_ALWAYS_INLINE uint64_t sd_ternary_differs(const struct sd_ternary_layout *l, const uint8_t *key,
                                             const struct sd_ternary_record *r, uint32_t n_chunks, bool has_ranges)
{
    const uint8_t *value = sd_ternary_value(r), *mask = value + 16 * n_chunks;
    sd_u64x2 differs = {0, 0};
    for (uint32_t i = 0; i < n_chunks; i++) {
        sd_u64x2 k, v, m;
        memcpy(&k, key + 16 * i, 16);
        memcpy(&v, value + 16 * i, 16);
        memcpy(&m, mask + 16 * i, 16);
        sd_u64x2 d = (k ^ v) & m;
        if (has_ranges) {
            sd_u64x2 ternary_bits, range_bits;
            memcpy(&ternary_bits, l->ternary_bits + 16 * i, 16);
            memcpy(&range_bits, l->range_bits + 16 * i, 16);
            sd_u64x2 below = (sd_u64x2)((sd_u16x8)k < (sd_u16x8)v);
            sd_u64x2 above = (sd_u64x2)((sd_u16x8)k > (sd_u16x8)m);
            d = (d & ternary_bits) | ((below | above) & range_bits);
        }
        differs |= d;
    }
    return differs[0] | differs[1];
}

/* Any key in its layout. */
static SD_UNUSED bool sd_ternary_rule_matches(const struct sd_ternary_layout *l, const uint8_t *key,
                                              const struct sd_ternary_record *r)
{
    if (!l->is_wide) {
        if (sd_ternary_differs(l, key, r, l->n_chunks, l->n_ranges > 0) != 0)
            return false;
    } else {
        const uint8_t *value = sd_ternary_value(r), *mask = sd_ternary_mask(l, r);
        for (uint32_t at = 0; at < l->key_bytes; at += 8) {
            uint64_t m = sd_key_word(mask, l->key_bytes, at) & sd_key_word(l->ternary_bits, l->key_bytes, at);
            if ((sd_key_word(key, l->key_bytes, at) ^ sd_key_word(value, l->key_bytes, at)) & m)
                return false;
        }
    }
    return l->n_late == 0 || sd_ternary_late_match(l, key, sd_ternary_value(r), sd_ternary_mask(l, r));
}

/* --- Groups --- */

/*
 * Multilinear over 16-bit pieces into 32 bits (Dietzfelbinger 1996): of the high 17 bits any two keys share any
 * value with the chance of random ones, for factors that nobody knows.
 */
SD_ALWAYS_INLINE uint32_t sd_ternary_hash(const struct sd_ternary_group *g, const uint8_t *key, uint32_t n_bytes)
{
    uint32_t hash = g->start;
    for (uint32_t i = 0; i < g->n_terms; i++) {
        const struct sd_ternary_term *term = &g->terms[i];
        uint32_t word = sd_ternary_word(key, n_bytes, term->word);
        hash += (word & term->low_mask) * term->low_factor + (word >> 16 & term->high_mask) * term->high_factor;
    }
    return hash;
}

/* Of the 32 that say which hashes are in a list; `shift` is at least 5. */
SD_ALWAYS_INLINE uint32_t sd_ternary_bit(uint32_t hash, uint32_t shift)
{
    return UINT32_C(1) << (hash >> (shift - 5) & 31);
}

/* --- One key --- */

/* `key` in its layout. */
SD_ALWAYS_INLINE uint32_t sd_ternary_find(const struct sd_ternary *t, const struct sd_ternary_plan *plan,
                                          const uint8_t *key, uint32_t n_bytes)
{
    const struct sd_ternary_layout *l = &t->layout;
    uint32_t slot = SD_NO_SLOT;
    uint64_t best = 0;
    for (uint32_t i = 0; i < plan->n_groups; i++) {
        const struct sd_ternary_group *g = &plan->groups[i];
        uint32_t hash = sd_ternary_hash(g, key, n_bytes);
        uint64_t head = __atomic_load_n(&g->heads[hash >> g->shift], __ATOMIC_ACQUIRE);
        if (!((uint32_t)(head >> 32) & sd_ternary_bit(hash, g->shift)))
            continue;
        for (uint32_t at = (uint32_t)head; at;) {
            const struct sd_ternary_record *r = sd_ternary_record_at(plan->records, l->record_bytes, at);
            if (r->order <= best)
                break;
            if (sd_ternary_rule_matches(l, key, r)) {
                best = r->order;
                slot = r->slot;
                break;
            }
            at = __atomic_load_n(&r->next, __ATOMIC_ACQUIRE);
        }
    }
    return slot;
}

/* The slot of the best rule, or SD_NO_SLOT. `key_bytes` is that of the table's type. */
SD_ALWAYS_INLINE uint32_t sd_ternary_lookup(const struct sd_ternary *t, const void *key, uint32_t key_bytes)
{
    const struct sd_ternary_plan *plan = __atomic_load_n(&t->plan, __ATOMIC_ACQUIRE);
    if (t->layout.is_wide)
        return sd_ternary_find(t, plan, key, key_bytes);
    uint8_t inner[16 * SD_TERNARY_CHUNKS] __attribute__((aligned(16)));
    sd_ternary_arrange(&t->layout, key, key_bytes, inner);
    return sd_ternary_find(t, plan, inner, t->layout.inner_bytes);
}

/* --- Bursts --- */

/* A key's position in the burst in the low byte, a rule's number above. */
struct sd_ternary_candidates {
    uint64_t items[SD_TERNARY_BURST * (SD_TERNARY_GROUPS_MAX + 1)];
};

#endif
