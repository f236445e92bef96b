/*
 * Nodes and buckets of longest prefix match: their memory, and how the writer makes them.
 *
 * Owns: blocks of memory, nodes in a form that is easy to change, and making nodes and buckets of a few prefixes.
 *
 * Invariant: readers find nodes and buckets only when they are complete; what is replaced is retired.
 */
#ifndef SD_LPM_NODES_H
#define SD_LPM_NODES_H

#include "table/lpm/sd_lpm.h"

/* --- Memory of nodes and buckets --- */

#define SD_LPM_SLOTS (1u << SD_LPM_STRIDE)
/* Addresses, not memory; tables that could use more have to say so. ThreadSanitizer takes memory for them. */
#ifdef SD_LPM_FEW_ADDRESSES
#define SD_LPM_BLOCKS_BYTES ((size_t)256 << 20)
#else
#define SD_LPM_BLOCKS_BYTES ((size_t)16 << 30)
#endif
#define SD_LPM_COMMIT_BYTES ((size_t)64 << 10)

SD_LOCAL bool sd_lpm_blocks_init(struct sd_lpm_blocks *b, size_t n_bytes_max)
{
    size_t n = n_bytes_max & ~(SD_HUGE_BYTES - 1);
    if (n < SD_HUGE_BYTES)
        n = SD_HUGE_BYTES;
    /* Nothing is promised to what cannot be accessed, so that there is no limit but that of addresses. */
    void *bytes = MAP_FAILED;
    for (; n >= SD_HUGE_BYTES; n /= 2) {
        bytes = mmap(NULL, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (bytes != MAP_FAILED)
            break;
    }
    if (bytes == MAP_FAILED)
        return false;
    b->bytes = bytes;
    b->n_reserved = n;
    /* Zero is no block, and what lacks a block is written to the first one. */
    b->n_used = (1 + SD_LPM_LINES_MAX) * SD_LINE_BYTES;
    return true;
}

/* Makes sure of blocks of so many lines together. */
SD_LOCAL bool sd_lpm_blocks_reserve(struct sd_lpm_blocks *b, size_t n_lines)
{
    size_t wanted = b->n_used + n_lines * SD_LINE_BYTES;
    if (SD_LIKELY(wanted <= b->n_committed))
        return true;
    if (wanted > b->n_reserved)
        return false;
    /* An eighth more each time; in whole huge pages where it is many. */
    size_t n = wanted + wanted / 8;
    n = sd_round_up(n, n < SD_HUGE_BYTES ? SD_LPM_COMMIT_BYTES : SD_HUGE_BYTES);
    if (n > b->n_reserved)
        n = b->n_reserved;
    if (mprotect(b->bytes + b->n_committed, n - b->n_committed, PROT_READ | PROT_WRITE) != 0)
        return false;
    if (n >= SD_HUGE_BYTES)
        madvise(b->bytes + b->n_committed, n - b->n_committed, MADV_HUGEPAGE);
    b->n_committed = n;
    return true;
}

SD_INLINE void *sd_lpm_at(const struct sd_lpm *t, uint32_t word)
{
    return t->blocks.bytes + (size_t)(word & SD_LPM_AT) * SD_LINE_BYTES;
}

SD_INLINE void sd_lpm_block_give(struct sd_lpm *t, uint32_t at, uint32_t n_lines)
{
    memcpy(sd_lpm_at(t, at), &t->blocks.first_free[n_lines], sizeof at);
    t->blocks.first_free[n_lines] = at;
    t->blocks.n_free += n_lines * SD_LINE_BYTES;
}

SD_INLINE uint32_t sd_lpm_block_take(struct sd_lpm *t, uint32_t n_lines)
{
    uint32_t at = t->blocks.first_free[n_lines];
    memcpy(&t->blocks.first_free[n_lines], sd_lpm_at(t, at), sizeof at);
    t->blocks.n_free -= n_lines * SD_LINE_BYTES;
    return at;
}

/* Allocates a block. When memory is short, the block must not be linked: see sd_lpm_blocks_end. */
SD_LOCAL uint32_t sd_lpm_block_new(struct sd_lpm *t, uint32_t n_lines)
{
    struct sd_lpm_blocks *b = &t->blocks;
    uint32_t at = 1, n_found = n_lines;
    if (SD_LIKELY(b->first_free[n_lines] != 0)) {
        at = sd_lpm_block_take(t, n_lines);
    } else if (b->n_committed - b->n_used >= n_lines * SD_LINE_BYTES) {
        at = (uint32_t)(b->n_used / SD_LINE_BYTES);
        b->n_used += n_lines * SD_LINE_BYTES;
    } else {
        while (n_found <= SD_LPM_LINES_MAX && b->first_free[n_found] == 0)
            n_found++;
        if (n_found > SD_LPM_LINES_MAX) {
            b->is_lacking = true;
            return at;
        }
        at = sd_lpm_block_take(t, n_found);
        sd_lpm_block_give(t, at + n_lines, n_found - n_lines);
    }
    if (SD_LIKELY(b->n_made < SD_LPM_MADE_MAX))
        b->made[b->n_made++] = (struct sd_lpm_made){at, n_lines};
    return at;
}

SD_INLINE void sd_lpm_blocks_begin(struct sd_lpm *t)
{
    t->blocks.n_made = 0;
    t->blocks.is_lacking = false;
}

/* Ends the allocations of an update. False when memory was short: all its blocks are freed, and none may be linked. */
SD_LOCAL bool sd_lpm_blocks_end(struct sd_lpm *t)
{
    if (SD_LIKELY(!t->blocks.is_lacking))
        return true;
    while (t->blocks.n_made > 0) {
        struct sd_lpm_made made = t->blocks.made[--t->blocks.n_made];
        sd_lpm_block_give(t, made.at, made.n_lines);
    }
    return false;
}

/* Data for the writer, behind the words of a node. */
struct sd_lpm_tail {
    /* Prefixes that end with the node's six bits, by these bits. */
    uint64_t full;
    /* Prefixes that end before: at 1 << bits | value. */
    uint64_t inner;
    uint16_t n_lines;
    /* Words of the inner ones, then of the full ones whose slot has a node or a bucket. Of the others it is the
       slot's own word. */
    uint16_t n_words;
    uint32_t words[];
};

SD_INLINE uint32_t sd_lpm_n_runs(const struct sd_lpm_node *node)
{
    return (uint32_t)__builtin_popcountll(node->runs);
}

SD_INLINE size_t sd_lpm_tail_offset(uint32_t n_runs)
{
    return sd_round_up(sizeof(struct sd_lpm_node) + n_runs * sizeof(uint32_t), 8);
}

SD_INLINE struct sd_lpm_tail *sd_lpm_tail(struct sd_lpm_node *node)
{
    return (struct sd_lpm_tail *)(void *)((uint8_t *)node + sd_lpm_tail_offset(sd_lpm_n_runs(node)));
}

SD_INLINE uint32_t sd_lpm_bucket_lines(uint32_t n_more)
{
    size_t bytes = sizeof(struct sd_lpm_bucket) + n_more * SD_LPM_BUCKET_ROOM * sizeof(uint64_t);
    return (uint32_t)(sd_round_up(bytes, SD_LINE_BYTES) / SD_LINE_BYTES);
}

SD_INLINE uint32_t sd_lpm_n_lines(const struct sd_lpm *t, uint32_t word)
{
    if (word & SD_LPM_IS_BUCKET)
        return sd_lpm_bucket_lines(((const struct sd_lpm_bucket *)sd_lpm_at(t, word))->n_more);
    return sd_lpm_tail(sd_lpm_at(t, word))->n_lines;
}

SD_LOCAL void sd_lpm_block_free(void *block, void *context)
{
    struct sd_lpm *t = context;
    /* The kind is what is left of an address of a line. */
    uintptr_t address = (uintptr_t)block;
    uint32_t at = (uint32_t)((address - (uintptr_t)t->blocks.bytes) / SD_LINE_BYTES);
    uint32_t n_lines = sd_lpm_n_lines(t, at | (address & 1 ? SD_LPM_IS_BUCKET : 0));
    sd_lpm_block_give(t, at, n_lines);
}

/* Readers cannot find it any more; there is room in the limbo. What it leads to stays. */
SD_LOCAL void sd_lpm_retire(struct sd_lpm *t, uint32_t word)
{
    uint8_t *block = (uint8_t *)sd_lpm_at(t, word) + (word & SD_LPM_IS_BUCKET ? 1 : 0);
    if (!t->epochs)
        sd_lpm_block_free(block, t);
    else
        (void)sd_retire(&t->limbo, t->epochs, block, sd_lpm_block_free, t);
}

SD_INLINE void sd_lpm_store(uint32_t *to, uint32_t word)
{
    __atomic_store_n(to, word, __ATOMIC_RELEASE);
}

/* --- Replacing numbers --- */

/* In all that a word leads to. */
SD_LOCAL void sd_lpm_replace(const struct sd_lpm *t, uint32_t word, uint32_t old, uint32_t new_word)
{
    if (word & SD_LPM_IS_BUCKET) {
        struct sd_lpm_bucket *bucket = sd_lpm_at(t, word);
        if (bucket->words[SD_LPM_BUCKET_ROOM] == old)
            sd_lpm_store(&bucket->words[SD_LPM_BUCKET_ROOM], new_word);
        return;
    }
    struct sd_lpm_node *node = sd_lpm_at(t, word);
    uint32_t n = sd_lpm_n_runs(node);
    for (uint32_t i = 0; i < n; i++) {
        if (node->words[i] == old)
            sd_lpm_store(&node->words[i], new_word);
        else if (node->words[i] & SD_LPM_NODE)
            sd_lpm_replace(t, node->words[i], old, new_word);
    }
}

/* In `n` words and all they lead to. */
SD_LOCAL void sd_lpm_replace_all(const struct sd_lpm *t, uint32_t *words, size_t n, uint32_t old,
                                         uint32_t new_word)
{
    const size_t ahead = 16;
    for (size_t i = 0; i < n; i++) {
        if (i + ahead < n && words[i + ahead] & SD_LPM_NODE)
            __builtin_prefetch(sd_lpm_at(t, words[i + ahead]), 1);
        if (words[i] == old)
            sd_lpm_store(&words[i], new_word);
        else if (words[i] & SD_LPM_NODE)
            sd_lpm_replace(t, words[i], old, new_word);
    }
}

/* --- Nodes as they are easy to change --- */

struct sd_lpm_open {
    uint32_t words[SD_LPM_SLOTS] __attribute__((aligned(32)));
    uint64_t full, inner;
    /* Valid where the bits say so. */
    uint32_t of_full[SD_LPM_SLOTS];
    uint32_t of_inner[SD_LPM_SLOTS];
};

SD_LOCAL void sd_lpm_open_words(const struct sd_lpm_node *node, uint32_t *words)
{
    const uint32_t *next = node->words;
    uint32_t slot = 0;
    /* Each run ends where the next one begins. */
    for (uint64_t rest = node->runs & (node->runs - 1);; rest &= rest - 1) {
        uint32_t end = rest ? (uint32_t)__builtin_ctzll(rest) : SD_LPM_SLOTS;
        for (; slot < end; slot++)
            words[slot] = *next;
        next++;
        if (!rest)
            return;
    }
}

SD_LOCAL void sd_lpm_open(const struct sd_lpm *t, uint32_t word, struct sd_lpm_open *o)
{
    struct sd_lpm_node *node = sd_lpm_at(t, word);
    const struct sd_lpm_tail *tail = sd_lpm_tail(node);
    sd_lpm_open_words(node, o->words);
    o->full = tail->full;
    o->inner = tail->inner;
    const uint32_t *next = tail->words;
    for (uint64_t rest = o->inner; rest; rest &= rest - 1)
        o->of_inner[__builtin_ctzll(rest)] = *next++;
    for (uint64_t rest = o->full; rest; rest &= rest - 1) {
        uint32_t slot = (uint32_t)__builtin_ctzll(rest);
        o->of_full[slot] = o->words[slot] & SD_LPM_NODE ? *next++ : o->words[slot];
    }
}

/* Slots whose word is not that of the slot before. */
SD_INLINE uint64_t sd_lpm_runs_of(const uint32_t *words)
{
    uint64_t runs = 1;
#if SD_AVX2
    uint64_t equal = 0;
    for (uint32_t i = 1; i < SD_LPM_SLOTS - 7; i += 8) {
        sd_u32x8 before, here;
        memcpy(&before, words + i - 1, sizeof before);
        memcpy(&here, words + i, sizeof here);
        equal |= (uint64_t)sd_u32x8_mask((sd_u32x8)(before == here)) << i;
    }
    runs |= ~equal & (SD_MASK64(SD_LPM_SLOTS - 8) << 1);
    for (uint32_t i = SD_LPM_SLOTS - 7; i < SD_LPM_SLOTS; i++)
        runs |= (uint64_t)(words[i] != words[i - 1]) << i;
#else
    for (uint32_t i = 1; i < SD_LPM_SLOTS; i++)
        runs |= (uint64_t)(words[i] != words[i - 1]) << i;
#endif
    return runs;
}

/* A new node. */
SD_LOCAL uint32_t sd_lpm_close(struct sd_lpm *t, const struct sd_lpm_open *o)
{
    uint64_t runs = sd_lpm_runs_of(o->words);
    uint32_t n_words = (uint32_t)__builtin_popcountll(o->inner);
    for (uint64_t rest = o->full; rest; rest &= rest - 1)
        n_words += o->words[__builtin_ctzll(rest)] >> 31;
    size_t tail_at = sd_lpm_tail_offset((uint32_t)__builtin_popcountll(runs));
    size_t bytes = tail_at + offsetof(struct sd_lpm_tail, words) + n_words * sizeof(uint32_t);
    uint32_t n_lines = (uint32_t)((bytes + SD_LINE_BYTES - 1) / SD_LINE_BYTES);
    uint32_t at = sd_lpm_block_new(t, n_lines);
    struct sd_lpm_node *node = sd_lpm_at(t, at);
    node->runs = runs;
    uint32_t *next = node->words;
    for (uint64_t rest = runs; rest; rest &= rest - 1)
        *next++ = o->words[__builtin_ctzll(rest)];
    struct sd_lpm_tail *tail = (struct sd_lpm_tail *)(void *)((uint8_t *)node + tail_at);
    tail->full = o->full;
    tail->inner = o->inner;
    tail->n_lines = (uint16_t)n_lines;
    tail->n_words = (uint16_t)n_words;
    next = tail->words;
    for (uint64_t rest = o->inner; rest; rest &= rest - 1)
        *next++ = o->of_inner[__builtin_ctzll(rest)];
    for (uint64_t rest = o->full; rest; rest &= rest - 1) {
        uint32_t slot = (uint32_t)__builtin_ctzll(rest);
        if (o->words[slot] & SD_LPM_NODE)
            *next++ = o->of_full[slot];
    }
    return SD_LPM_NODE | at;
}

/* The longest inner prefix that covers the one at 1 << bits | value and is shorter; 0: none. */
SD_INLINE uint32_t sd_lpm_inner_above(uint64_t inner, uint32_t at)
{
    while (at >>= 1)
        if (inner >> at & 1)
            return at;
    return 0;
}

/* Notes a prefix of `n_bits` (1 to 6) with this value; its words are the caller's affair. */
SD_INLINE void sd_lpm_open_note(struct sd_lpm_open *o, uint32_t n_bits, uint32_t value, uint32_t word)
{
    if (n_bits == SD_LPM_STRIDE) {
        o->full |= UINT64_C(1) << value;
        o->of_full[value] = word;
    } else {
        o->inner |= UINT64_C(1) << (1u << n_bits | value);
        o->of_inner[1u << n_bits | value] = word;
    }
}

/* --- Buckets, and what is made of a few prefixes --- */

struct sd_lpm_item {
    const uint64_t *bits;
    uint32_t length;
    uint32_t word;
};

/* The items of a bucket, the longest first; `bits` is room for their limbs. */
SD_LOCAL uint32_t sd_lpm_bucket_items(const struct sd_lpm *t, const struct sd_lpm_bucket *bucket,
                                              struct sd_lpm_item *items,
                                              uint64_t (*bits)[SD_LPM_LIMBS_MAX])
{
    for (uint32_t i = 0; i < bucket->n; i++) {
        bits[i][0] = bucket->high[i];
        for (uint32_t limb = 1; limb < t->n_limbs; limb++)
            bits[i][limb] = limb <= bucket->n_more ? bucket->more[limb - 1][i] : 0;
        items[i] = (struct sd_lpm_item){bits[i], bucket->lengths[i], bucket->words[i]};
    }
    return bucket->n;
}

/* Puts an item where its length belongs. */
SD_INLINE void sd_lpm_item_insert(struct sd_lpm_item *items, uint32_t n, struct sd_lpm_item item)
{
    for (; n > 0 && items[n - 1].length < item.length; n--)
        items[n] = items[n - 1];
    items[n] = item;
}

/* At most as many as there is room for, the longest first. */
SD_LOCAL uint32_t sd_lpm_bucket_new(struct sd_lpm *t, const struct sd_lpm_item *items, uint32_t n,
                                            uint32_t outside)
{
    uint32_t n_more = items[0].length > 64 ? (items[0].length - 1) / 64 : 0;
    uint32_t at = sd_lpm_block_new(t, sd_lpm_bucket_lines(n_more));
    struct sd_lpm_bucket *bucket = sd_lpm_at(t, at);
    for (uint32_t i = 0; i < SD_LPM_BUCKET_ROOM; i++) {
        bucket->high[i] = i < n ? items[i].bits[0] : 0;
        bucket->lengths[i] = i < n ? (uint16_t)items[i].length : 0;
        bucket->words[i] = i < n ? items[i].word : 0;
        for (uint32_t limb = 0; limb < n_more; limb++)
            bucket->more[limb][i] = i < n ? items[i].bits[1 + limb] : 0;
    }
    bucket->words[SD_LPM_BUCKET_ROOM] = outside;
    bucket->n = (uint16_t)n;
    bucket->n_more = (uint16_t)n_more;
    return SD_LPM_NODE | SD_LPM_IS_BUCKET | at;
}

/* Buckets are used while more than three levels are left; below that nodes are smaller. */
SD_INLINE bool sd_lpm_has_buckets(const struct sd_lpm *t, uint32_t at)
{
    return t->width_bits > at + 14;
}

SD_LOCAL uint32_t sd_lpm_make(struct sd_lpm *t, const struct sd_lpm_item *items, uint32_t n, uint32_t at,
                                      uint32_t outside);

/* A node for keys whose first `at` bits are those of all the items, the longest first. */
SD_LOCAL void sd_lpm_make_open(struct sd_lpm *t, const struct sd_lpm_item *items, uint32_t n, uint32_t at,
                                       uint32_t outside, struct sd_lpm_open *o)
{
    for (uint32_t i = 0; i < SD_LPM_SLOTS; i++)
        o->words[i] = outside;
    o->full = o->inner = 0;
    while (n > 0 && items[n - 1].length <= at + SD_LPM_STRIDE) {
        const struct sd_lpm_item *item = &items[--n];
        uint32_t n_bits = item->length - at, slot = sd_lpm_slot(item->bits, t->n_limbs, at);
        sd_lpm_open_note(o, n_bits, slot >> (SD_LPM_STRIDE - n_bits), item->word);
        uint32_t end = slot + (SD_LPM_SLOTS >> n_bits);
        while (slot < end)
            o->words[slot++] = item->word;
    }
    struct sd_lpm_item rest[SD_LPM_BUCKET_ROOM + 1], same[SD_LPM_BUCKET_ROOM + 1];
    memcpy(rest, items, n * sizeof *rest);
    while (n > 0) {
        uint32_t slot = sd_lpm_slot(rest[0].bits, t->n_limbs, at), n_same = 0, n_rest = 0;
        for (uint32_t i = 0; i < n; i++) {
            if (sd_lpm_slot(rest[i].bits, t->n_limbs, at) == slot)
                same[n_same++] = rest[i];
            else
                rest[n_rest++] = rest[i];
        }
        o->words[slot] = sd_lpm_make(t, same, n_same, at + SD_LPM_STRIDE, o->words[slot]);
        n = n_rest;
    }
}

/* Makes a bucket or a node of these items: at most one more than a bucket holds. */
SD_LOCAL uint32_t sd_lpm_make(struct sd_lpm *t, const struct sd_lpm_item *items, uint32_t n, uint32_t at,
                                      uint32_t outside)
{
    if (n <= SD_LPM_BUCKET_ROOM && sd_lpm_has_buckets(t, at))
        return sd_lpm_bucket_new(t, items, n, outside);
    struct sd_lpm_open o;
    sd_lpm_make_open(t, items, n, at, outside, &o);
    return sd_lpm_close(t, &o);
}

#endif
