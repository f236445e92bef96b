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
 * Rules that no group takes without cost are in bit vectors instead (Lakshman, Stiliadis, "High-speed policy-based
 * packet forwarding", 1998): each has a position, each byte of the key leads to the positions that it leaves, and
 * what all bytes leave is compared. Small tables have nothing else.
 *
 * A list's head has 32 bits that say which hashes are in its list, so that most keys of other groups cost one load.
 * Lookups take many keys at a time, and go in rounds: all keys through all groups give a list of rules to compare;
 * each round compares one rule for every key that is left. Neither has branches that depend on a single key.
 *
 * Precedence: the larger rank, then the rule that was inserted first. Lists are in that order.
 *
 * Invariants: readers see rules through `plan`, then a head, then `next`, each published by a release store. A rule
 * in a list is not changed but for `next` and `slot`. What is taken out goes to the limbo. One writer.
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

#include "worker/sd_epoch.h"
#include "table/sd_match.h"

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
    /* Bytes of the inner layout, a multiple of 16; rounded up for wide keys. */
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
    /* For one chunk: the source of each byte. */
    sd_u8x16 shuffle;
    /* Masks of the elements with value and mask, and of those with a range. */
    uint8_t *ternary_bits, *range_bits;
};

/* A rule: then value, and mask, in the inner layout; of ranges the low and the high end. */
struct sd_ternary_record {
    /* rank << 32, and what falls with each insertion: larger precedes. Never 0. */
    uint64_t order;
    uint32_t slot;
    /* The next of the list, or 0; in bit vectors the position. */
    uint32_t next;
    /* The writer's: where it is, and when it was taken out and the next such one, or the next free one. */
    uint32_t group;
    uint32_t link;
    uint64_t stamp;
};

/* The slot changes when its entry is modified; the new entry is complete by then. */
SD_ALWAYS_INLINE uint32_t sd_ternary_slot(const struct sd_ternary_record *r)
{
    return __atomic_load_n(&r->slot, __ATOMIC_ACQUIRE);
}

/* A group's mask for 32 bits of a key, and the hash factors of its halves. */
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
    struct sd_ternary_term *terms;
};

#ifdef __AVX512F__
#define SD_TERNARY_BLOCK 8u
#else
#define SD_TERNARY_BLOCK 4u
#endif

typedef uint64_t sd_ternary_block __attribute__((vector_size(8 * SD_TERNARY_BLOCK), may_alias));

/* Rules by position. The first `n_sorted` are those of the plan in order of precedence; the others came later. */
struct sd_ternary_bits {
    /* 256 rows of `n_words` for each byte that is tested. `n_words` is 1, 2 or whole blocks; 0: no positions. */
    uint64_t *rows;
    uint32_t n_words;
    uint32_t n_bytes;
    /* Offsets in the inner layout of the bytes that are tested. */
    uint32_t bytes[16 * SD_TERNARY_CHUNKS];
    /* By position the record, or 0. */
    uint32_t *records;
    uint32_t n_sorted;
    /* A rule was inserted after the positions were sorted. */
    uint32_t has_unsorted;
};

/* The part of the table that readers use. */
struct sd_ternary_plan {
    /* The writer's: records that were ever used, and room for these; positions that can be used; all other memory of the plan. */
    uint32_t n_records, capacity;
    uint32_t *free_positions;
    uint32_t n_free;
    void *memory;
    size_t n_bytes;
    /* All below is on other cache lines. */
    uint8_t apart[SD_LINE_BYTES];
    /* Number 0 is nothing. */
    uint8_t *records;
    uint32_t n_groups;
    struct sd_ternary_bits bits;
    /* The only list without a mask, where all else is full, or 0. */
    uint32_t rest;
    struct sd_ternary_group groups[];
};

struct sd_ternary {
    struct sd_ternary_plan *plan;
    struct sd_ternary_layout layout;
    bool has_rules;
    /* All below is the writer's, on lines of its own. */
    uint32_t n_rules __attribute__((aligned(SD_LINE_BYTES)));
    struct sd_epochs *epochs;
    /* Old plans. */
    struct sd_limbo limbo;
    /* By slot the record, or 0. */
    uint32_t *places;
    uint64_t places_capacity;
    /* Records that can be used again, and those that wait for readers, the oldest first. */
    uint32_t free_record, first_waiting, last_waiting;
    /* Falls with each insertion. */
    uint32_t age;
    /* Since the plan was made: changes, and rules that no group took. */
    uint32_t n_changes, n_crowded;
    /* Rules when the plan was made. */
    uint32_t n_planned;
    /* The bits that the rule being inserted tests. */
    uint8_t *said;
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
SD_ALWAYS_INLINE bool sd_ternary_rule_matches(const struct sd_ternary_layout *l, const uint8_t *key,
                                              const struct sd_ternary_record *r)
{
    if (SD_LIKELY(l->n_chunks == 1)) {
        if (sd_ternary_differs(l, key, r, 1, true) != 0)
            return false;
    } else if (!l->is_wide) {
        if (sd_ternary_differs(l, key, r, l->n_chunks, true) != 0)
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
 * value with the chance of random ones, for secret factors.
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

/* The bit of a hash in the 32-bit filter of a list; `shift` is at least 5. */
SD_ALWAYS_INLINE uint32_t sd_ternary_bit(uint32_t hash, uint32_t shift)
{
    return UINT32_C(1) << (hash >> (shift - 5) & 31);
}

/* --- Bit vectors --- */

#if defined(__SANITIZE_THREAD__)
#define SD_TERNARY_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SD_TERNARY_TSAN 1
#endif
#endif

/* Words are written whole, each for itself, while they are read: no tool can know that vectors are read so. */
SD_ALWAYS_INLINE void sd_ternary_and_words(uint64_t *words, const uint64_t *row, uint32_t n)
{
#ifdef SD_TERNARY_TSAN
    for (uint32_t i = 0; i < n; i++)
        words[i] &= __atomic_load_n(&row[i], __ATOMIC_ACQUIRE);
#else
    if (n == SD_TERNARY_BLOCK)
        *(sd_ternary_block *)(void *)words &= *(const sd_ternary_block *)(const void *)row;
    else
        for (uint32_t i = 0; i < n; i++)
            words[i] &= row[i];
#endif
}

/* Intersects the rows of the bytes of the key, for `n` words. */
SD_ALWAYS_INLINE void sd_ternary_positions(const struct sd_ternary_bits *bits, const uint8_t *key, uint32_t at,
                                           uint32_t n, uint64_t *words)
{
    for (uint32_t i = 0; i < n; i++)
        words[i] = UINT64_MAX;
    const uint64_t *rows = bits->rows + at;
    uint32_t n_words = n <= 2 ? n : bits->n_words;
    for (uint32_t i = 0; i < bits->n_bytes; i++) {
        sd_ternary_and_words(words, rows + (size_t)key[bits->bytes[i]] * n_words, n);
        rows += (size_t)256 * n_words;
    }
#ifndef SD_TERNARY_TSAN
    /* A record is written before its bit is set. */
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
#endif
}

SD_ALWAYS_INLINE const struct sd_ternary_record *
sd_ternary_at_position(const struct sd_ternary_layout *l, const struct sd_ternary_plan *plan, uint32_t position)
{
    uint32_t record = __atomic_load_n(&plan->bits.records[position], __ATOMIC_RELAXED);
    return sd_ternary_record_at(plan->records, l->record_bytes, record);
}

/* The best of the rules that came later. */
static SD_UNUSED __attribute__((noinline)) void
sd_ternary_find_unsorted(const struct sd_ternary_layout *l, const struct sd_ternary_plan *plan, const uint8_t *key,
                         uint64_t *best, uint32_t *slot)
{
    const struct sd_ternary_bits *bits = &plan->bits;
    uint32_t n = bits->n_words < SD_TERNARY_BLOCK ? bits->n_words : SD_TERNARY_BLOCK;
    for (uint32_t at = bits->n_sorted / 64 / n * n; at < bits->n_words; at += n) {
        uint64_t words[SD_TERNARY_BLOCK] __attribute__((aligned(8 * SD_TERNARY_BLOCK)));
        if (n == 1)
            sd_ternary_positions(bits, key, at, 1, words);
        else if (n == 2)
            sd_ternary_positions(bits, key, at, 2, words);
        else
            sd_ternary_positions(bits, key, at, SD_TERNARY_BLOCK, words);
        for (uint32_t i = 0; i < n; i++) {
            for (uint64_t left = words[i]; left; left &= left - 1) {
                uint32_t position = 64 * (at + i) + (uint32_t)__builtin_ctzll(left);
                const struct sd_ternary_record *r = sd_ternary_at_position(l, plan, position);
                if (position < bits->n_sorted || r->order <= *best || !sd_ternary_rule_matches(l, key, r))
                    continue;
                *best = r->order;
                *slot = sd_ternary_slot(r);
            }
        }
    }
}

/*
 * Finds the best of the rules whose positions are set in `n` words. True if one of them was at a sorted position: no rule at
 * a later position precedes it.
 */
SD_ALWAYS_INLINE bool sd_ternary_find_sorted(const struct sd_ternary_layout *l, const struct sd_ternary_plan *plan,
                                             const uint8_t *key, uint32_t at, uint32_t n, uint64_t *best,
                                             uint32_t *slot)
{
    uint64_t words[SD_TERNARY_BLOCK] __attribute__((aligned(8 * SD_TERNARY_BLOCK)));
    sd_ternary_positions(&plan->bits, key, at, n, words);
    for (;;) {
        /* Without branches: which word it is differs from key to key. */
        uint32_t first = 0;
        uint64_t left = words[0];
        for (uint32_t i = 1; i < n; i++) {
            first = left ? first : i;
            left = left ? left : words[i];
        }
        if (left == 0)
            return false;
        uint32_t position = 64 * (at + first) + (uint32_t)__builtin_ctzll(left);
        if (position >= plan->bits.n_sorted)
            return true;
        const struct sd_ternary_record *r = sd_ternary_at_position(l, plan, position);
        uint64_t order = r->order;
        if (SD_LIKELY(sd_ternary_rule_matches(l, key, r) && order)) {
            uint32_t here = sd_ternary_slot(r);
            *slot = order > *best ? here : *slot;
            *best = order > *best ? order : *best;
            return true;
        }
        words[first] = left & (left - 1);
    }
}

/* The best rule where one or two words say all; those that came later are looked at with the others. */
SD_ALWAYS_INLINE void sd_ternary_find_few(const struct sd_ternary_layout *l, const struct sd_ternary_plan *plan,
                                          const uint8_t *key, uint32_t n, uint64_t *best, uint32_t *slot)
{
    uint64_t words[2];
    uint32_t n_sorted = plan->bits.n_sorted;
    bool is_decided = false;
    sd_ternary_positions(&plan->bits, key, 0, n, words);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t left = words[i];
        while (left) {
            uint32_t position = 64 * i + (uint32_t)__builtin_ctzll(left);
            left &= left - 1;
            bool is_sorted = position < n_sorted;
            /* No later one there precedes it. */
            if (is_sorted & is_decided)
                continue;
            const struct sd_ternary_record *r = sd_ternary_at_position(l, plan, position);
            uint64_t order = r->order;
            if (order == 0 || !sd_ternary_rule_matches(l, key, r))
                continue;
            is_decided |= is_sorted;
            uint32_t here = sd_ternary_slot(r);
            *slot = order > *best ? here : *slot;
            *best = order > *best ? order : *best;
        }
    }
}

/* `key` in the inner layout, not wide. */
SD_ALWAYS_INLINE void sd_ternary_find_bits(const struct sd_ternary_layout *l, const struct sd_ternary_plan *plan,
                                           const uint8_t *key, uint64_t *best, uint32_t *slot)
{
    const struct sd_ternary_bits *bits = &plan->bits;
    uint32_t n_sorted = bits->n_sorted;
    if (n_sorted == 0 && !__atomic_load_n(&bits->has_unsorted, __ATOMIC_ACQUIRE))
        return;
    if (bits->n_words == 1)
        return sd_ternary_find_few(l, plan, key, 1, best, slot);
    if (bits->n_words == 2)
        return sd_ternary_find_few(l, plan, key, 2, best, slot);
    for (uint32_t at = 0; 64 * at < n_sorted; at += SD_TERNARY_BLOCK)
        if (sd_ternary_find_sorted(l, plan, key, at, SD_TERNARY_BLOCK, best, slot))
            break;
    if (SD_UNLIKELY(__atomic_load_n(&bits->has_unsorted, __ATOMIC_ACQUIRE)))
        sd_ternary_find_unsorted(l, plan, key, best, slot);
}

/* --- One key --- */

SD_ALWAYS_INLINE void sd_ternary_find_list(const struct sd_ternary_layout *l, const struct sd_ternary_plan *plan,
                                           const uint8_t *key, uint32_t first, uint64_t *best, uint32_t *slot)
{
    while (first) {
        const struct sd_ternary_record *r = sd_ternary_record_at(plan->records, l->record_bytes, first);
        if (r->order <= *best)
            break;
        if (sd_ternary_rule_matches(l, key, r)) {
            *best = r->order;
            *slot = sd_ternary_slot(r);
            break;
        }
        first = __atomic_load_n(&r->next, __ATOMIC_ACQUIRE);
    }
}

/*
 * `key` in its layout. The same for all tables of all programs, and long: programs that are compiled without the
 * control plane (see sd_instance.h) find it there.
 */
#ifdef SD_CONTROL_ELSEWHERE
__attribute__((visibility("hidden"))) uint32_t sd_ternary_find(const struct sd_ternary *t, const uint8_t *key,
                                                               uint32_t n_bytes);
#else
#ifdef SD_CONTROL_ALONE
#define SD_TERNARY_FIND __attribute__((visibility("hidden")))
SD_TERNARY_FIND uint32_t sd_ternary_find(const struct sd_ternary *t, const uint8_t *key, uint32_t n_bytes);
#else
#define SD_TERNARY_FIND static SD_UNUSED __attribute__((noinline))
#endif

SD_TERNARY_FIND uint32_t sd_ternary_find(const struct sd_ternary *t, const uint8_t *key, uint32_t n_bytes)
{
    const struct sd_ternary_plan *plan = __atomic_load_n(&t->plan, __ATOMIC_ACQUIRE);
    const struct sd_ternary_layout *l = &t->layout;
    uint32_t slot = SD_NO_SLOT, n_lists = 0;
    uint64_t best = 0;
    /* Which groups have a list is not for a branch to guess: first all of them, then their lists. */
    uint32_t lists[SD_TERNARY_GROUPS_MAX + 1];
    for (uint32_t i = 0; i < plan->n_groups; i++) {
        const struct sd_ternary_group *g = &plan->groups[i];
        uint32_t hash = sd_ternary_hash(g, key, n_bytes);
        uint64_t head = __atomic_load_n(&g->heads[hash >> g->shift], __ATOMIC_ACQUIRE);
        __builtin_prefetch(sd_ternary_record_at(plan->records, l->record_bytes, (uint32_t)head));
        lists[n_lists] = (uint32_t)head;
        n_lists += ((uint32_t)(head >> 32) & sd_ternary_bit(hash, g->shift)) != 0;
    }
    lists[n_lists] = __atomic_load_n(&plan->rest, __ATOMIC_ACQUIRE);
    n_lists += lists[n_lists] != 0;
    for (uint32_t i = 0; i < n_lists; i++)
        sd_ternary_find_list(l, plan, key, lists[i], &best, &slot);
    sd_ternary_find_bits(l, plan, key, &best, &slot);
    return slot;
}
#endif

/* The slot of the best rule, or SD_NO_SLOT. `key_bytes` is that of the table's type. */
SD_ALWAYS_INLINE uint32_t sd_ternary_lookup(const struct sd_ternary *t, const void *key, uint32_t key_bytes)
{
    if (!__atomic_load_n(&t->has_rules, __ATOMIC_RELAXED))
        return SD_NO_SLOT;
    if (t->layout.is_wide)
        return sd_ternary_find(t, key, key_bytes);
    uint8_t inner[16 * SD_TERNARY_CHUNKS] __attribute__((aligned(16)));
    sd_ternary_arrange(&t->layout, key, key_bytes, inner);
    return sd_ternary_find(t, inner, t->layout.inner_bytes);
}

/* --- Bursts --- */

/* Positions of keys in the low byte, rules above: room for one round of a few groups. */
#define SD_TERNARY_CANDIDATES 1024u

struct sd_ternary_burst {
    /* Transposed: the same 32 bits of all keys lie one after the other. */
    uint32_t words[4 * SD_TERNARY_CHUNKS][SD_TERNARY_BURST] __attribute__((aligned(64)));
    uint8_t keys[SD_TERNARY_BURST * 16 * SD_TERNARY_CHUNKS] __attribute__((aligned(64)));
    uint32_t hashes[SD_TERNARY_BURST] __attribute__((aligned(64)));
    uint32_t bits[SD_TERNARY_BURST] __attribute__((aligned(64)));
    uint64_t best[SD_TERNARY_BURST];
    uint32_t slots[SD_TERNARY_BURST];
    uint64_t candidates[SD_TERNARY_CANDIDATES];
};

/* Lists of the group where rules may match become candidates. */
SD_ALWAYS_INLINE uint32_t sd_ternary_probe(struct sd_ternary_burst *b, const struct sd_ternary_plan *plan,
                                           const struct sd_ternary_group *g, uint32_t record_bytes, uint32_t n,
                                           uint32_t n_candidates)
{
    for (uint32_t i = 0; i < SD_TERNARY_BURST; i += SD_TERNARY_LANES) {
        sd_ternary_lanes hash = (sd_ternary_lanes){0} + g->start;
        for (uint32_t j = 0; j < g->n_terms; j++) {
            const struct sd_ternary_term *term = &g->terms[j];
            const sd_ternary_lanes *word = (const sd_ternary_lanes *)(const void *)&b->words[term->word][i];
            hash += (*word & term->low_mask) * term->low_factor;
            hash += (*word >> 16 & term->high_mask) * term->high_factor;
        }
        *(sd_ternary_lanes *)(void *)&b->hashes[i] = hash >> g->shift;
        *(sd_ternary_lanes *)(void *)&b->bits[i] = ((sd_ternary_lanes){0} + 1) << (hash >> (g->shift - 5) & 31);
    }
    for (uint32_t i = 0; i < n; i++) {
        uint64_t head = __atomic_load_n(&g->heads[b->hashes[i]], __ATOMIC_ACQUIRE);
        uint64_t first = head & UINT32_MAX;
        __builtin_prefetch(plan->records + first * record_bytes);
        b->candidates[n_candidates] = first << 8 | i;
        n_candidates += ((uint32_t)(head >> 32) & b->bits[i]) != 0;
    }
    return n_candidates;
}

/* Compares rules with keys, and the next ones where they differ, until none is left. */
SD_ALWAYS_INLINE void sd_ternary_rounds(struct sd_ternary_burst *b, const struct sd_ternary_layout *l,
                                        const struct sd_ternary_plan *plan, uint32_t n_candidates,
                                        uint32_t record_bytes, uint32_t n_chunks, bool has_ranges, bool has_late)
{
    while (n_candidates > 0) {
        uint32_t n_left = 0;
        for (uint32_t i = 0; i < n_candidates; i++) {
            uint64_t candidate = b->candidates[i];
            uint32_t key = candidate & 0xff;
            const uint8_t *inner = b->keys + 16 * n_chunks * key;
            const struct sd_ternary_record *r =
                sd_ternary_record_at(plan->records, record_bytes, (uint32_t)(candidate >> 8));
            bool is_match = sd_ternary_differs(l, inner, r, n_chunks, has_ranges) == 0;
            if (has_late && is_match)
                is_match = sd_ternary_late_match(l, inner, sd_ternary_value(r), sd_ternary_value(r) + 16 * n_chunks);
            uint64_t next = __atomic_load_n(&r->next, __ATOMIC_ACQUIRE);
            bool is_better = is_match & (r->order > b->best[key]);
            b->best[key] = is_better ? r->order : b->best[key];
            uint32_t here = sd_ternary_slot(r);
            b->slots[key] = is_better ? here : b->slots[key];
            __builtin_prefetch(plan->records + next * record_bytes);
            b->candidates[n_left] = next << 8 | key;
            n_left += !is_match & (next != 0) & (r->order > b->best[key]);
        }
        n_candidates = n_left;
    }
}

SD_ALWAYS_INLINE void sd_ternary_find_burst(struct sd_ternary_burst *b, const struct sd_ternary *t, uint32_t n,
                                            uint32_t record_bytes, uint32_t n_chunks, bool has_ranges, bool has_late)
{
    const struct sd_ternary_plan *plan = __atomic_load_n(&t->plan, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < SD_TERNARY_BURST; i++) {
        b->best[i] = 0;
        b->slots[i] = SD_NO_SLOT;
    }
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < 4 * n_chunks; j++)
            memcpy(&b->words[j][i], b->keys + 16 * n_chunks * i + 4 * j, 4);
    uint32_t n_candidates = 0;
    for (uint32_t i = 0; i < plan->n_groups; i++) {
        n_candidates = sd_ternary_probe(b, plan, &plan->groups[i], record_bytes, n, n_candidates);
        if (n_candidates + SD_TERNARY_BURST < SD_TERNARY_CANDIDATES && i + 1 < plan->n_groups)
            continue;
        sd_ternary_rounds(b, &t->layout, plan, n_candidates, record_bytes, n_chunks, has_ranges, has_late);
        n_candidates = 0;
    }
    uint32_t rest = __atomic_load_n(&plan->rest, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *key = b->keys + 16 * n_chunks * i;
        sd_ternary_find_bits(&t->layout, plan, key, &b->best[i], &b->slots[i]);
        if (rest)
            sd_ternary_find_list(&t->layout, plan, key, rest, &b->best[i], &b->slots[i]);
    }
}

/* The usual shapes on their own. */
static SD_UNUSED __attribute__((noinline)) void sd_ternary_find_16(struct sd_ternary_burst *b,
                                                                   const struct sd_ternary *t, uint32_t n)
{
    sd_ternary_find_burst(b, t, n, 64, 1, false, false);
}

static SD_UNUSED __attribute__((noinline)) void sd_ternary_find_16_ranges(struct sd_ternary_burst *b,
                                                                          const struct sd_ternary *t, uint32_t n)
{
    sd_ternary_find_burst(b, t, n, 64, 1, true, false);
}

static SD_UNUSED __attribute__((noinline)) void sd_ternary_find_any(struct sd_ternary_burst *b,
                                                                    const struct sd_ternary *t, uint32_t n)
{
    sd_ternary_find_burst(b, t, n, t->layout.record_bytes, t->layout.n_chunks, true, t->layout.n_late > 0);
}

_Static_assert(sizeof(struct sd_ternary_record) + 32 <= 64, "a rule with a short key takes one line");

/*
 * Keys that come one by one, and are looked up together: each is given to a burst at a position below
 * SD_TERNARY_BURST, then all of them are found at once. Between the two steps the caller may do other work, but the
 * table is to be the same: what is found are rules of when they are found.
 */
SD_ALWAYS_INLINE void sd_ternary_gather(const struct sd_ternary *t, struct sd_ternary_burst *burst, uint32_t i,
                                        const void *key, uint32_t key_bytes)
{
    const struct sd_ternary_layout *l = &t->layout;
    if (l->is_wide)
        /* Not copied, so there is no later. */
        burst->slots[i] = sd_ternary_find(t, key, key_bytes);
    else
        sd_ternary_arrange(l, key, key_bytes, burst->keys + (size_t)i * l->inner_bytes);
}

/* Writes the slots of the best rules for the first `n` keys, or SD_NO_SLOT, to `burst->slots`. */
SD_INLINE void sd_ternary_find_gathered(const struct sd_ternary *t, struct sd_ternary_burst *burst, uint32_t n)
{
    const struct sd_ternary_layout *l = &t->layout;
    if (l->is_wide)
        return;
    if (l->n_chunks > 1 || l->n_late > 0)
        sd_ternary_find_any(burst, t, n);
    else if (l->n_ranges > 0)
        sd_ternary_find_16_ranges(burst, t, n);
    else
        sd_ternary_find_16(burst, t, n);
}

/* Finds the slots of the best rules for `n` keys, `stride` bytes apart; SD_NO_SLOT: none. */
SD_ALWAYS_INLINE void sd_ternary_lookup_burst(const struct sd_ternary *t, const void *keys, size_t stride,
                                              uint32_t key_bytes, uint32_t n, uint32_t *slots)
{
    const uint8_t *key = keys;
    struct sd_ternary_burst burst;
    while (n > 0) {
        uint32_t n_now = n < SD_TERNARY_BURST ? n : SD_TERNARY_BURST;
        for (uint32_t i = 0; i < n_now; i++)
            sd_ternary_gather(t, &burst, i, key + i * stride, key_bytes);
        sd_ternary_find_gathered(t, &burst, n_now);
        memcpy(slots, burst.slots, n_now * sizeof *slots);
        slots += n_now;
        key += n_now * stride;
        n -= n_now;
    }
}

#endif
