/*
 * Longest prefix match: prefixes of keys of one width, each with a number. This file: what lookups read.
 *
 * A key is an array of 64-bit limbs, the most significant first, its first bit the highest of the first limb; bits
 * beyond the width are zero. A prefix is such a key with zeros beyond its length. Numbers tell prefixes apart: no
 * two of one table have the same.
 *
 * A root is indexed by the first bits of a key; each further level looks at SD_LPM_STRIDE bits. What stands for all
 * keys with the same bits so far is a word:
 *
 *   0                  no prefix matches
 *   number + 1         the answer
 *   SD_LPM_NODE | at   a node: 64 words for the next bits, of which those that are equal to the one in front of
 *                      them are left out (one bit for each says so); cf. Asai, Ohara, "Poptrie" (2015)
 *   the same with SD_LPM_IS_BUCKET: up to four prefixes, the longest first, and a word for the rest; where there
 *                      are few, a bucket takes the place of many levels
 *
 * A node of up to 14 words is read in one cache line, and so is a bucket of prefixes of up to 64 bits. In these
 * words all answers are ready: no lookup goes back to a shorter prefix.
 *
 * Invariants: nodes and buckets are not changed while readers can find them, but for single words, which are
 * replaced atomically; what is taken out is used again when all readers have passed a boundary (sd_epoch.h). A reader
 * gets an answer that was right at some moment of its lookup.
 *
 * Start with sd_lpm_lookup; how prefixes come and go is in sd_lpm_update.h.
 */
#ifndef SD_LPM_H
#define SD_LPM_H

#include "worker/sd_epoch.h"
#include "base/sd_vector.h"

#if defined(__SANITIZE_THREAD__)
#define SD_LPM_FEW_ADDRESSES
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SD_LPM_FEW_ADDRESSES
#endif
#endif

#define SD_LPM_NONE UINT32_MAX
/* Numbers are less than this. */
#define SD_LPM_N_NUMBERS 0x7fffffffu
#define SD_LPM_LIMBS_MAX 32u
#define SD_LPM_STRIDE 6u

#define SD_LPM_NODE 0x80000000u
#define SD_LPM_IS_BUCKET 0x40000000u
#define SD_LPM_AT 0x3fffffffu

/* The words' writer's part follows: struct sd_lpm_tail. */
struct sd_lpm_node {
    /* One bit for each of 64 words: the word differs from the one before. The first bit is set. */
    uint64_t runs;
    uint32_t words[];
};

#define SD_LPM_BUCKET_ROOM 4u

struct sd_lpm_bucket {
    uint64_t high[SD_LPM_BUCKET_ROOM];
    /* Unlike prefixes of nodes none is as short as what the bucket stands for. */
    uint16_t lengths[SD_LPM_BUCKET_ROOM];
    /* The last one: of keys that have none of the prefixes. */
    uint32_t words[SD_LPM_BUCKET_ROOM + 1];
    uint16_t n;
    /* Limbs of each prefix beyond the first that are here. */
    uint16_t n_more;
    uint64_t more[][SD_LPM_BUCKET_ROOM];
};

_Static_assert(sizeof(struct sd_lpm_bucket) == SD_LINE_BYTES, "a bucket is a cache line");

/* Published as a whole: a table that grows gets another one. A view has the words of the top's nodes, all 64 of each
   side by side. */
struct sd_lpm_root {
    uint32_t *words;
    /* Nodes and buckets: SD_LINE_BYTES for each number. */
    const uint8_t *blocks;
    uint32_t n_bits;
    /* 64 minus that. */
    uint32_t shift;
};

/* The root of a table that never had a prefix. */
static uint32_t sd_lpm_no_words[2] SD_UNUSED;
static struct sd_lpm_root sd_lpm_no_root SD_UNUSED = {sd_lpm_no_words, NULL, 1, 63};

#define SD_LPM_LINES_MAX 17u
/* A chain of nodes over all bits; and where it ends, in three levels, what a bucket and one more prefix need. */
#define SD_LPM_MADE_MAX (SD_LPM_LIMBS_MAX * 64 / SD_LPM_STRIDE + 24)

/* Memory of nodes and buckets, in lines. */
struct sd_lpm_blocks {
    /* Reserved address space: its beginning is committed, and the beginning of that is in use. */
    uint8_t *bytes;
    size_t n_reserved, n_committed, n_used;
    /* By number of lines; 0: there is none. */
    uint32_t first_free[SD_LPM_LINES_MAX + 1];
    size_t n_free;
    /* Blocks of the update under way, and whether one of them is lacking. */
    struct sd_lpm_made {
        uint32_t at;
        uint32_t n_lines;
    } made[SD_LPM_MADE_MAX];
    uint32_t n_made;
    bool is_lacking;
};

struct sd_lpm {
    /* The root of lookups: the writer's, or a view of it in large tables. */
    struct sd_lpm_root *root;
    uint32_t width_bits;
    uint32_t n_limbs;
    /* All below is the writer's, on lines of its own. */
    struct sd_lpm_root *top __attribute__((aligned(SD_LINE_BYTES)));
    uint64_t n_prefixes;
    /* Words of the prefixes that are no longer than the top's bits: at 1 << length | bits; 0: there is none.
       NULL before the first prefix. */
    uint32_t *shorts;
    /* A bit for each of these. */
    uint64_t *is_short;
    struct sd_lpm_blocks blocks;
    /* Maximum bytes of blocks, and number of prefixes from which on there is a view. May be changed before the first prefix
       is added. */
    size_t n_blocks_bytes_max;
    uint64_t n_view_prefixes;
    /* Lines that adding one prefix takes at most. */
    uint32_t n_lines_needed;
    /* NULL: there are no readers during updates. */
    struct sd_epochs *epochs;
    struct sd_limbo limbo;
};

SD_ALWAYS_INLINE const void *sd_lpm_block(const struct sd_lpm_root *root, uint32_t word)
{
    return root->blocks + (size_t)(word & SD_LPM_AT) * SD_LINE_BYTES;
}

/* The 64 bits from `at` on, zeros beyond the key. */
SD_ALWAYS_INLINE uint64_t sd_lpm_bits(const uint64_t *key, uint32_t n_limbs, uint32_t at)
{
    if (n_limbs == 1)
        return at < 64 ? key[0] << at : 0;
    uint32_t limb = at / 64, skip = at % 64;
    uint64_t bits = key[limb] << skip;
    if (skip && limb + 1 < n_limbs)
        bits |= key[limb + 1] >> (64 - skip);
    return bits;
}

/* Which of the 64 words of a node the key has. */
SD_ALWAYS_INLINE uint32_t sd_lpm_slot(const uint64_t *key, uint32_t n_limbs, uint32_t at)
{
    return (uint32_t)(sd_lpm_bits(key, n_limbs, at) >> (64 - SD_LPM_STRIDE));
}

/* The index of a slot's word among the stored ones. */
SD_ALWAYS_INLINE uint32_t sd_lpm_run(uint64_t runs, uint32_t slot)
{
    return (uint32_t)__builtin_popcountll(runs << (63 - slot)) - 1;
}

/* Compares the limbs beyond the first. */
SD_ALWAYS_INLINE bool sd_lpm_more_equal(const struct sd_lpm_bucket *bucket, uint32_t i, const uint64_t *key)
{
    uint32_t length = bucket->lengths[i] - 64u;
    uint32_t limb = 0;
    for (; length > 64; length -= 64, limb++)
        if (bucket->more[limb][i] != key[1 + limb])
            return false;
    return (bucket->more[limb][i] ^ key[1 + limb]) >> (64 - length) == 0;
}

SD_ALWAYS_INLINE uint32_t sd_lpm_bucket_word(const struct sd_lpm_bucket *bucket, const uint64_t *key,
                                             uint32_t n_limbs)
{
    /* One bit for each prefix that the key has, as far as the first limb says. */
    uint32_t matches = 0;
#if SD_AVX2
    sd_u64x4 differs = *(const sd_u64x4 *)(const void *)bucket->high ^ key[0];
    sd_u64x4 lengths = __builtin_convertvector(*(const sd_u16x4 *)(const void *)bucket->lengths, sd_u64x4);
    sd_u64x4 beyond = (64 - lengths) & (sd_u64x4)(lengths <= 64);
    matches = sd_u64x4_mask((sd_u64x4)(sd_u64x4_shift_right(differs, beyond) == 0));
#else
    for (uint32_t i = 0; i < SD_LPM_BUCKET_ROOM; i++) {
        uint32_t beyond = bucket->lengths[i] < 64 ? 64u - bucket->lengths[i] : 0;
        matches |= (uint32_t)((bucket->high[i] ^ key[0]) >> (beyond & 63) == 0) << i;
    }
#endif
    matches &= (1u << bucket->n) - 1;
    if (n_limbs > 1 && bucket->n_more) {
        while (matches) {
            uint32_t i = (uint32_t)__builtin_ctz(matches);
            if (bucket->lengths[i] <= 64 || sd_lpm_more_equal(bucket, i, key))
                break;
            matches &= matches - 1;
        }
    }
    uint32_t i = (uint32_t)__builtin_ctz(matches | 1u << SD_LPM_BUCKET_ROOM);
    return __atomic_load_n(&bucket->words[i], __ATOMIC_ACQUIRE);
}

/* From a word that stands for the key's first `at` bits to its answer. */
SD_ALWAYS_INLINE uint32_t sd_lpm_finish_at(const struct sd_lpm_root *root, const uint64_t *key, uint32_t n_limbs,
                                           uint32_t word, uint32_t at)
{
    while (word & SD_LPM_NODE) {
        if (word & SD_LPM_IS_BUCKET) {
            word = sd_lpm_bucket_word(sd_lpm_block(root, word), key, n_limbs);
            break;
        }
        const struct sd_lpm_node *node = sd_lpm_block(root, word);
        uint32_t run = sd_lpm_run(node->runs, sd_lpm_slot(key, n_limbs, at));
        word = __atomic_load_n(&node->words[run], __ATOMIC_ACQUIRE);
        at += SD_LPM_STRIDE;
    }
    return word - 1;
}

/* The node to read where there is none. */
static const uint64_t sd_lpm_no_node[2] SD_UNUSED = {1, 0};

/* Finishes a lookup from the root's word. Short prefixes have their answer in the word, but branches on that are hard to
   predict: so the first node is read in any case. */
SD_ALWAYS_INLINE uint32_t sd_lpm_finish_root(const struct sd_lpm_root *root, const uint64_t *key,
                                             uint32_t n_limbs, uint32_t word)
{
    bool is_node = (word & (SD_LPM_NODE | SD_LPM_IS_BUCKET)) == SD_LPM_NODE;
    const void *block = is_node ? sd_lpm_block(root, word) : sd_lpm_no_node;
    const struct sd_lpm_node *node = block;
    uint32_t run = sd_lpm_run(node->runs, sd_lpm_slot(key, n_limbs, root->n_bits));
    uint32_t next = __atomic_load_n(&node->words[run], __ATOMIC_ACQUIRE);
    word = is_node ? next : word;
    if (SD_LIKELY(!(word & SD_LPM_NODE)))
        return word - 1;
    return sd_lpm_finish_at(root, key, n_limbs, word, root->n_bits + (is_node ? SD_LPM_STRIDE : 0));
}

SD_ALWAYS_INLINE const struct sd_lpm_root *sd_lpm_root_of(const struct sd_lpm *t)
{
    return __atomic_load_n(&t->root, __ATOMIC_ACQUIRE);
}

SD_ALWAYS_INLINE const uint32_t *sd_lpm_root_word(const struct sd_lpm_root *root, const uint64_t *key)
{
    return &root->words[key[0] >> root->shift];
}

/* `n_limbs` of the table: say it as a constant, for it is what lookups are specialised by. */
SD_ALWAYS_INLINE uint32_t sd_lpm_lookup(const struct sd_lpm *t, const uint64_t *key, uint32_t n_limbs)
{
    const struct sd_lpm_root *root = sd_lpm_root_of(t);
    uint32_t word = __atomic_load_n(sd_lpm_root_word(root, key), __ATOMIC_ACQUIRE);
    return sd_lpm_finish_root(root, key, n_limbs, word);
}

/* --- In steps, for bursts: what a step reads the one before it has prefetched --- */

struct sd_lpm_pending {
    const struct sd_lpm_root *root;
    uint32_t word;
};

SD_ALWAYS_INLINE void sd_lpm_prefetch(const struct sd_lpm *t, const uint64_t *key)
{
    __builtin_prefetch(sd_lpm_root_word(sd_lpm_root_of(t), key));
}

SD_ALWAYS_INLINE struct sd_lpm_pending sd_lpm_begin(const struct sd_lpm *t, const uint64_t *key)
{
    const struct sd_lpm_root *root = sd_lpm_root_of(t);
    uint32_t word = __atomic_load_n(sd_lpm_root_word(root, key), __ATOMIC_ACQUIRE);
    if (word & SD_LPM_NODE)
        __builtin_prefetch(sd_lpm_block(root, word));
    return (struct sd_lpm_pending){root, word};
}

SD_ALWAYS_INLINE uint32_t sd_lpm_finish(struct sd_lpm_pending pending, const uint64_t *key, uint32_t n_limbs)
{
    return sd_lpm_finish_root(pending.root, key, n_limbs, pending.word);
}

#define SD_LPM_BURST 32u

/* Looks up `n` keys that lie one after the other. */
SD_ALWAYS_INLINE void sd_lpm_lookup_bulk(const struct sd_lpm *t, const uint64_t *keys, uint32_t n_limbs,
                                         uint32_t n, uint32_t *numbers)
{
    const struct sd_lpm_root *root = sd_lpm_root_of(t);
    const uint32_t *root_words = root->words;
    uint32_t shift = root->shift;
    for (uint32_t from = 0; from < n; from += SD_LPM_BURST) {
        uint32_t n_here = n - from < SD_LPM_BURST ? n - from : SD_LPM_BURST;
        const uint64_t *here = keys + (size_t)from * n_limbs;
        uint32_t words[SD_LPM_BURST], *found = numbers + from;
        uint32_t any = 0;
        for (uint32_t i = 0; i < n_here; i++)
            __builtin_prefetch(&root_words[here[(size_t)i * n_limbs] >> shift]);
        for (uint32_t i = 0; i < n_here; i++) {
            uint32_t word = __atomic_load_n(&root_words[here[(size_t)i * n_limbs] >> shift], __ATOMIC_ACQUIRE);
            found[i] = word - 1;
            any |= word;
        }
        /* In most cases all are ready: so many loads at once, and nothing else. */
        if (!(any & SD_LPM_NODE))
            continue;
        /* Compaction without a branch: each pass writes the key, and advances if it is still pending. */
        uint8_t pending[SD_LPM_BURST];
        uint32_t n_pending = 0, at = root->n_bits;
        for (uint32_t i = 0; i < n_here; i++) {
            words[i] = found[i] + 1;
            pending[n_pending] = (uint8_t)i;
            n_pending += words[i] >> 31;
        }
        for (uint32_t i = 0; i < n_pending; i++)
            __builtin_prefetch(sd_lpm_block(root, words[pending[i]]));
        /* A level of all, and then the next one. */
        for (; n_pending > 0; at += SD_LPM_STRIDE) {
            uint32_t n_left = 0;
            for (uint32_t j = 0; j < n_pending; j++) {
                uint32_t i = pending[j], word = words[i];
                const uint64_t *key = here + (size_t)i * n_limbs;
                if (word & SD_LPM_IS_BUCKET) {
                    found[i] = sd_lpm_bucket_word(sd_lpm_block(root, word), key, n_limbs) - 1;
                    continue;
                }
                const struct sd_lpm_node *node = sd_lpm_block(root, word);
                uint32_t run = sd_lpm_run(node->runs, sd_lpm_slot(key, n_limbs, at));
                word = __atomic_load_n(&node->words[run], __ATOMIC_ACQUIRE);
                words[i] = word;
                found[i] = word - 1;
                pending[n_left] = (uint8_t)i;
                n_left += word >> 31;
                if (word & SD_LPM_NODE)
                    __builtin_prefetch(sd_lpm_block(root, word));
            }
            n_pending = n_left;
        }
    }
}

#endif
