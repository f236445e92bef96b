/*
 * How prefixes come into a table of longest prefix match, and go again. For the one writer.
 *
 * Owns: the memory of nodes and buckets, growth of the root, adding, removing and finding prefixes.
 *
 * There is no second copy of the prefixes: those of a node's next six bits are bits of its tail (cf. Eatherton,
 * Varghese, Dittia, "Tree bitmap" 2004), those that are no longer than the root's bits are in an array, and a bucket
 * has its own. A prefix and the one above it are thus found in what an update touches anyway.
 *
 * Adding a prefix replaces, in all it covers, the number of the next shorter one by its own; removing it does the
 * reverse. Numbers tell prefixes apart, so the words to replace are those that are equal to that number: all
 * others belong to longer prefixes.
 *
 * Invariant: whatever is needed for a change is there before the first word is changed; a change of which something
 * is lacking is given up.
 */
#ifndef SD_LPM_UPDATE_H
#define SD_LPM_UPDATE_H

#include "sd_lpm.h"

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

/* Where memory is short, a block that nothing may lead to: see sd_lpm_blocks_end. */
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

/* Whether all blocks of an update were there; if not, nothing may lead to those that were, and they go back. */
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

/* What a writer knows of a node, behind its words. */
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
    /* Where the bits say that there is one. */
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

/* Of the inner prefixes the longest that covers what is at 1 << bits | value and is shorter; 0: none. */
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

/* Where two or three nodes are left there are no buckets: nodes are smaller. */
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

/* What stands for such keys: a bucket, or a node; at most one item more than a bucket has room for. */
SD_LOCAL uint32_t sd_lpm_make(struct sd_lpm *t, const struct sd_lpm_item *items, uint32_t n, uint32_t at,
                                      uint32_t outside)
{
    if (n <= SD_LPM_BUCKET_ROOM && sd_lpm_has_buckets(t, at))
        return sd_lpm_bucket_new(t, items, n, outside);
    struct sd_lpm_open o;
    sd_lpm_make_open(t, items, n, at, outside, &o);
    return sd_lpm_close(t, &o);
}

/* --- The root --- */

SD_LOCAL struct sd_lpm_root *sd_lpm_root_new(const struct sd_lpm *t, uint32_t n_bits)
{
    struct sd_lpm_root *root = calloc(1, sizeof *root);
    uint32_t *words = sd_map_large(((size_t)1 << n_bits) * sizeof *words);
    if (!root || !words) {
        free(root);
        sd_unmap_large(words, ((size_t)1 << n_bits) * sizeof *words);
        return NULL;
    }
    *root = (struct sd_lpm_root){words, t->blocks.bytes, n_bits, 64 - n_bits};
    return root;
}

SD_LOCAL void sd_lpm_root_free(void *pointer, void *context)
{
    struct sd_lpm_root *root = pointer;
    (void)context;
    sd_unmap_large(root->words, ((size_t)1 << root->n_bits) * sizeof *root->words);
    free(root);
}

/* There is room in the limbo. */
SD_LOCAL void sd_lpm_root_retire(struct sd_lpm *t, struct sd_lpm_root *root)
{
    if (!t->epochs)
        sd_lpm_root_free(root, NULL);
    else
        (void)sd_retire(&t->limbo, t->epochs, root, sd_lpm_root_free, NULL);
}

/* Words, and their bits. */
SD_LOCAL size_t sd_lpm_shorts_bytes(uint32_t n_bits)
{
    return ((size_t)2 << n_bits) * sizeof(uint32_t) + sd_round_up(((size_t)2 << n_bits) / 8, 8);
}

SD_LOCAL void sd_lpm_shorts_use(struct sd_lpm *t, uint32_t *shorts, uint32_t n_bits)
{
    t->shorts = shorts;
    t->is_short = (uint64_t *)(void *)(shorts + ((size_t)2 << n_bits));
}

SD_LOCAL void sd_lpm_short_set(struct sd_lpm *t, uint64_t at, uint32_t word)
{
    t->shorts[at] = word;
    t->is_short[at / 64] &= ~(UINT64_C(1) << at % 64);
    t->is_short[at / 64] |= (uint64_t)(word != 0) << at % 64;
}

/* Of the root with `n_bits` the next one; the word stands for the root's index `at`. */
SD_LOCAL void sd_lpm_root_grow_word(struct sd_lpm *t, uint32_t n_bits, uint64_t at, uint32_t word,
                                            uint32_t *words)
{
    struct sd_lpm_open o;
    if (!(word & SD_LPM_NODE)) {
        for (uint32_t i = 0; word && i < SD_LPM_SLOTS; i++)
            words[i] = word;
        return;
    }
    if (word & SD_LPM_IS_BUCKET) {
        const struct sd_lpm_bucket *bucket = sd_lpm_at(t, word);
        uint64_t bits[SD_LPM_BUCKET_ROOM][SD_LPM_LIMBS_MAX];
        struct sd_lpm_item items[SD_LPM_BUCKET_ROOM];
        uint32_t n = sd_lpm_bucket_items(t, bucket, items, bits);
        sd_lpm_make_open(t, items, n, n_bits, bucket->words[SD_LPM_BUCKET_ROOM], &o);
    } else {
        sd_lpm_open(t, word, &o);
    }
    memcpy(words, o.words, sizeof o.words);
    /* A prefix with `value` in the node's bits: at 1 << length | index << bits | value. */
    for (uint64_t rest = o.inner; rest; rest &= rest - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(rest);
        uint32_t n_more = 31 - (uint32_t)__builtin_clz(i);
        uint64_t above = (UINT64_C(1) << n_bits | at) << n_more;
        sd_lpm_short_set(t, above | (i & ((1u << n_more) - 1)), o.of_inner[i]);
    }
    for (uint64_t rest = o.full; rest; rest &= rest - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(rest);
        sd_lpm_short_set(t, (UINT64_C(1) << n_bits | at) << SD_LPM_STRIDE | i, o.of_full[i]);
    }
}

/* A root of SD_LPM_STRIDE bits more. Without memory everything stays as it is, and works. */
SD_LOCAL void sd_lpm_root_grow(struct sd_lpm *t)
{
    struct sd_lpm_root *old = t->top;
    uint32_t n_bits = old->n_bits + SD_LPM_STRIDE;
    size_t n_old = (size_t)1 << old->n_bits, n_nodes = 0, n_buckets = 0;
    for (size_t i = 0; i < n_old; i++) {
        n_nodes += old->words[i] >> 31;
        n_buckets += (old->words[i] & SD_LPM_IS_BUCKET) != 0 && old->words[i] & SD_LPM_NODE;
    }
    size_t n_lines = n_buckets * SD_LPM_BUCKET_ROOM * t->n_lines_needed;
    if (!sd_lpm_blocks_reserve(&t->blocks, n_lines) || (t->epochs && !sd_limbo_reserve(&t->limbo, n_nodes + 2)))
        return;
    struct sd_lpm_root *root = sd_lpm_root_new(t, n_bits);
    uint32_t *shorts = sd_map_large(sd_lpm_shorts_bytes(n_bits));
    if (!root || !shorts) {
        if (root)
            sd_lpm_root_free(root, NULL);
        sd_unmap_large(shorts, sd_lpm_shorts_bytes(n_bits));
        return;
    }
    uint32_t *old_shorts = t->shorts;
    sd_lpm_shorts_use(t, shorts, n_bits);
    for (size_t i = 1; i < (size_t)2 << old->n_bits; i++)
        if (old_shorts[i])
            sd_lpm_short_set(t, i, old_shorts[i]);
    sd_unmap_large(old_shorts, sd_lpm_shorts_bytes(old->n_bits));
    for (size_t i = 0; i < n_old; i++)
        sd_lpm_root_grow_word(t, old->n_bits, i, old->words[i], root->words + (i << SD_LPM_STRIDE));
    struct sd_lpm_root *view = t->root;
    t->top = root;
    __atomic_store_n(&t->root, root, __ATOMIC_RELEASE);
    for (size_t i = 0; i < n_old; i++)
        if (old->words[i] & SD_LPM_NODE)
            sd_lpm_retire(t, old->words[i]);
    sd_lpm_root_retire(t, old);
    if (view != old)
        sd_lpm_root_retire(t, view);
}

/* --- The view --- */

/* What the slots from `slot` on of the top's word `at` are, where it can be that they have changed. */
SD_LOCAL void sd_lpm_view_refresh(const struct sd_lpm *t, const struct sd_lpm_root *view, size_t at,
                                          uint32_t slot, uint32_t n)
{
    uint32_t word = t->top->words[at], *to = view->words + (at << SD_LPM_STRIDE);
    /* A bucket knows whole prefixes, and can be found at any bit. */
    bool is_node = (word & (SD_LPM_NODE | SD_LPM_IS_BUCKET)) == SD_LPM_NODE;
    const struct sd_lpm_node *node = is_node ? sd_lpm_at(t, word) : NULL;
    for (uint32_t i = slot; i < slot + n; i++) {
        uint32_t wanted = is_node ? node->words[sd_lpm_run(node->runs, i)] : word;
        if (to[i] != wanted)
            sd_lpm_store(&to[i], wanted);
    }
}

/* After a change of a prefix that is longer than the top's bits; `old` was the top's word. */
SD_LOCAL void sd_lpm_view_update(const struct sd_lpm *t, const uint64_t *prefix, uint32_t length,
                                         uint32_t old)
{
    uint32_t n_bits = t->top->n_bits;
    size_t at = prefix[0] >> t->top->shift;
    uint32_t word = t->top->words[at];
    if (!(old & word & SD_LPM_NODE) || (old | word) & SD_LPM_IS_BUCKET) {
        sd_lpm_view_refresh(t, t->root, at, 0, SD_LPM_SLOTS);
        return;
    }
    /* A node changes only what the prefix covers. */
    uint32_t n = length < n_bits + SD_LPM_STRIDE ? SD_LPM_SLOTS >> (length - n_bits) : 1;
    sd_lpm_view_refresh(t, t->root, at, sd_lpm_slot(prefix, t->n_limbs, n_bits), n);
}

/* Without memory for it lookups go on to begin at the top. */
SD_LOCAL void sd_lpm_view_begin(struct sd_lpm *t)
{
    struct sd_lpm_root *view = sd_lpm_root_new(t, t->top->n_bits + SD_LPM_STRIDE);
    if (!view)
        return;
    for (size_t at = 0; at < (size_t)1 << t->top->n_bits; at++)
        sd_lpm_view_refresh(t, view, at, 0, SD_LPM_SLOTS);
    __atomic_store_n(&t->root, view, __ATOMIC_RELEASE);
}

/* Bits of the top, and of the view, for so many prefixes, in memory that is in proportion. */
SD_INLINE uint32_t sd_lpm_top_bits_wanted(uint64_t n_prefixes)
{
    return n_prefixes < 32 ? 6 : n_prefixes < 512 ? 12 : 18;
}

#define SD_LPM_VIEW_PREFIXES (1u << 18)

/* --- Making and freeing --- */

/* False for widths that are none, or too many. */
SD_LOCAL bool sd_lpm_init(struct sd_lpm *t, uint32_t width_bits, struct sd_epochs *epochs)
{
    *t = (struct sd_lpm){
        .root = &sd_lpm_no_root,
        .top = &sd_lpm_no_root,
        .width_bits = width_bits,
        .n_limbs = (width_bits + 63) / 64,
        .n_view_prefixes = SD_LPM_VIEW_PREFIXES,
        .n_blocks_bytes_max = SD_LPM_BLOCKS_BYTES,
        .epochs = epochs,
    };
    /* A chain of nodes of at most two lines, which branches in the last three levels only; a bucket at each of its
       ends, and the node that is replaced. */
    uint32_t n_buckets_lines = (SD_LPM_BUCKET_ROOM + 1) * sd_lpm_bucket_lines(t->n_limbs);
    t->n_lines_needed = 2 * (width_bits / SD_LPM_STRIDE + 1) + 2 * 3 * SD_LPM_BUCKET_ROOM + n_buckets_lines + 16;
    return width_bits > 0 && t->n_limbs <= SD_LPM_LIMBS_MAX;
}

/* Nobody reads any more. */
SD_LOCAL void sd_lpm_free(struct sd_lpm *t)
{
    sd_limbo_free(&t->limbo);
    if (t->shorts) {
        sd_unmap_large(t->shorts, sd_lpm_shorts_bytes(t->top->n_bits));
        if (t->root != t->top)
            sd_lpm_root_free(t->root, NULL);
        sd_lpm_root_free(t->top, NULL);
    }
    if (t->blocks.bytes)
        munmap(t->blocks.bytes, t->blocks.n_reserved);
    t->shorts = NULL;
    t->root = t->top = NULL;
    t->blocks.bytes = NULL;
}

/* The first memory of a table. */
SD_LOCAL bool sd_lpm_begin_memory(struct sd_lpm *t)
{
    if (t->shorts)
        return true;
    if (!t->blocks.bytes && !sd_lpm_blocks_init(&t->blocks, t->n_blocks_bytes_max))
        return false;
    uint32_t n_bits = t->width_bits < SD_LPM_STRIDE ? t->width_bits : SD_LPM_STRIDE;
    struct sd_lpm_root *root = sd_lpm_root_new(t, n_bits);
    uint32_t *shorts = sd_map_large(sd_lpm_shorts_bytes(n_bits));
    if (!root || !shorts) {
        if (root)
            sd_lpm_root_free(root, NULL);
        sd_unmap_large(shorts, sd_lpm_shorts_bytes(n_bits));
        return false;
    }
    sd_lpm_shorts_use(t, shorts, n_bits);
    t->top = root;
    __atomic_store_n(&t->root, root, __ATOMIC_RELEASE);
    return true;
}

/* Bytes that are in use, without what waits to be used again. */
SD_LOCAL size_t sd_lpm_n_bytes(const struct sd_lpm *t)
{
    if (!t->shorts)
        return sizeof *t;
    size_t of_root = ((size_t)1 << t->top->n_bits) * sizeof(uint32_t);
    if (t->root != t->top)
        of_root += of_root << SD_LPM_STRIDE;
    return sizeof *t + of_root + sd_lpm_shorts_bytes(t->top->n_bits) + t->blocks.n_used - t->blocks.n_free;
}

/* --- Finding prefixes --- */

SD_INLINE bool sd_lpm_prefix_equal(const uint64_t *a, const uint64_t *b, uint32_t n_limbs)
{
    uint64_t differs = 0;
    for (uint32_t i = 0; i < n_limbs; i++)
        differs |= a[i] ^ b[i];
    return differs == 0;
}

/* Where a prefix is in a bucket; `n` where it is not. */
SD_LOCAL uint32_t sd_lpm_bucket_find(const struct sd_lpm *t, const struct sd_lpm_bucket *bucket,
                                             const uint64_t *prefix, uint32_t length)
{
    for (uint32_t i = 0; i < bucket->n; i++) {
        bool is_equal = bucket->lengths[i] == length && bucket->high[i] == prefix[0];
        for (uint32_t limb = 1; is_equal && limb < t->n_limbs; limb++)
            is_equal = prefix[limb] == (limb <= bucket->n_more ? bucket->more[limb - 1][i] : 0);
        if (is_equal)
            return i;
    }
    return bucket->n;
}

SD_INLINE uint64_t sd_lpm_short_at(const uint64_t *prefix, uint32_t length)
{
    return UINT64_C(1) << length | (length ? prefix[0] >> (64 - length) : 0);
}

/* Of the prefixes in the top's array the longest that covers this one and has at most `length` bits. */
SD_INLINE uint32_t sd_lpm_short_above(const struct sd_lpm *t, const uint64_t *prefix, uint32_t length)
{
    uint64_t at = sd_lpm_short_at(prefix, length);
    /* Bits: those of 18 levels are in the first cache. */
    for (; at > 0; at >>= 1)
        if (t->is_short[at / 64] >> at % 64 & 1)
            return t->shorts[at];
    return 0;
}

/* Where a node has the word of a full prefix that is not the slot's own. */
SD_LOCAL uint32_t *sd_lpm_full_word(struct sd_lpm_node *node, uint32_t slot)
{
    struct sd_lpm_tail *tail = sd_lpm_tail(node);
    uint32_t i = (uint32_t)__builtin_popcountll(tail->inner);
    for (uint64_t rest = tail->full & SD_MASK64(slot + 1) >> 1; rest; rest &= rest - 1)
        i += node->words[sd_lpm_run(node->runs, (uint32_t)__builtin_ctzll(rest))] >> 31;
    return &tail->words[i];
}

SD_INLINE uint32_t *sd_lpm_inner_word(struct sd_lpm_tail *tail, uint32_t at)
{
    return &tail->words[__builtin_popcountll(tail->inner & ((UINT64_C(1) << at) - 1))];
}

/* The way to where a prefix is, or would be. */
struct sd_lpm_way {
    /* Words that lead to nodes, from the root's on; the last one's is where the way ends. */
    uint32_t *links[SD_LPM_LIMBS_MAX * 64 / SD_LPM_STRIDE + 2];
    uint32_t n_links;
    /* Bits in front of what the last link stands for. */
    uint32_t at;
    /* The word of the longest prefix in a node that covers this one and that is not in what the last link leads to;
       0: there is none in a node. */
    uint32_t above;
};

/* For prefixes that are longer than the root's bits. */
SD_LOCAL void sd_lpm_go(const struct sd_lpm *t, const uint64_t *prefix, uint32_t length,
                                struct sd_lpm_way *way)
{
    uint32_t at = t->top->n_bits;
    uint32_t *link = &t->top->words[prefix[0] >> t->top->shift];
    way->n_links = 0;
    way->above = 0;
    for (;;) {
        way->links[way->n_links++] = link;
        uint32_t word = *link;
        if (!(word & SD_LPM_NODE) || word & SD_LPM_IS_BUCKET || length <= at + SD_LPM_STRIDE)
            break;
        struct sd_lpm_node *node = sd_lpm_at(t, word);
        struct sd_lpm_tail *tail = sd_lpm_tail(node);
        uint32_t slot = sd_lpm_slot(prefix, t->n_limbs, at);
        link = &node->words[sd_lpm_run(node->runs, slot)];
        /* The word of a slot that leads nowhere is what is above it. */
        if (!(*link & SD_LPM_NODE))
            break;
        uint32_t inner;
        if (tail->full >> slot & 1)
            way->above = *sd_lpm_full_word(node, slot);
        else if ((inner = sd_lpm_inner_above(tail->inner, SD_LPM_SLOTS | slot)) != 0)
            way->above = *sd_lpm_inner_word(tail, inner);
        at += SD_LPM_STRIDE;
    }
    way->at = at;
}

/* The word of the longest prefix that covers this one and that is not in what the way ends at. */
SD_INLINE uint32_t sd_lpm_way_above(const struct sd_lpm *t, const struct sd_lpm_way *way, const uint64_t *prefix)
{
    return way->above ? way->above : sd_lpm_short_above(t, prefix, t->top->n_bits);
}

/* The number of exactly this prefix. */
SD_LOCAL uint32_t sd_lpm_find(const struct sd_lpm *t, const uint64_t *prefix, uint32_t length)
{
    if (length > t->width_bits || !t->shorts)
        return SD_LPM_NONE;
    if (length <= t->top->n_bits)
        return t->shorts[sd_lpm_short_at(prefix, length)] - 1;
    uint32_t at = t->top->n_bits, word = t->top->words[prefix[0] >> t->top->shift];
    while (word & SD_LPM_NODE) {
        if (word & SD_LPM_IS_BUCKET) {
            const struct sd_lpm_bucket *bucket = sd_lpm_at(t, word);
            uint32_t i = sd_lpm_bucket_find(t, bucket, prefix, length);
            return i < bucket->n ? bucket->words[i] - 1 : SD_LPM_NONE;
        }
        struct sd_lpm_node *node = sd_lpm_at(t, word);
        struct sd_lpm_tail *tail = sd_lpm_tail(node);
        uint32_t slot = sd_lpm_slot(prefix, t->n_limbs, at);
        word = node->words[sd_lpm_run(node->runs, slot)];
        if (length < at + SD_LPM_STRIDE) {
            uint32_t inner = (SD_LPM_SLOTS | slot) >> (at + SD_LPM_STRIDE - length);
            return tail->inner >> inner & 1 ? *sd_lpm_inner_word(tail, inner) - 1 : SD_LPM_NONE;
        }
        if (length == at + SD_LPM_STRIDE) {
            if (!(tail->full >> slot & 1))
                return SD_LPM_NONE;
            return (word & SD_LPM_NODE ? *sd_lpm_full_word(node, slot) : word) - 1;
        }
        at += SD_LPM_STRIDE;
    }
    return SD_LPM_NONE;
}

/* --- Adding --- */

/* In all that is under a prefix of the top's array. */
SD_LOCAL void sd_lpm_replace_short(const struct sd_lpm *t, const uint64_t *prefix, uint32_t length,
                                           uint32_t old, uint32_t new_word)
{
    size_t n = (size_t)1 << (t->top->n_bits - length);
    sd_lpm_replace_all(t, &t->top->words[prefix[0] >> t->top->shift], n, old, new_word);
    if (t->root == t->top)
        return;
    /* What the view leads to are the same nodes. */
    uint32_t *words = &t->root->words[prefix[0] >> t->root->shift];
    for (size_t i = 0; i < n << SD_LPM_STRIDE; i++)
        if (words[i] == old)
            sd_lpm_store(&words[i], new_word);
}

SD_LOCAL uint32_t sd_lpm_add_short(struct sd_lpm *t, const uint64_t *prefix, uint32_t length,
                                           uint32_t word)
{
    uint64_t at = sd_lpm_short_at(prefix, length);
    if (t->shorts[at])
        return SD_EXISTS;
    uint32_t above = length ? sd_lpm_short_above(t, prefix, length - 1) : 0;
    sd_lpm_short_set(t, at, word);
    sd_lpm_replace_short(t, prefix, length, above, word);
    return SD_OK;
}

/* Into the bucket that the way ends at. */
SD_LOCAL uint32_t sd_lpm_add_to_bucket(struct sd_lpm *t, const struct sd_lpm_way *way,
                                               const struct sd_lpm_item *item)
{
    uint32_t *link = way->links[way->n_links - 1], old = *link;
    const struct sd_lpm_bucket *bucket = sd_lpm_at(t, old);
    if (sd_lpm_bucket_find(t, bucket, item->bits, item->length) < bucket->n)
        return SD_EXISTS;
    uint64_t bits[SD_LPM_BUCKET_ROOM][SD_LPM_LIMBS_MAX];
    struct sd_lpm_item items[SD_LPM_BUCKET_ROOM + 1];
    uint32_t n = sd_lpm_bucket_items(t, bucket, items, bits);
    sd_lpm_item_insert(items, n, *item);
    uint32_t made = sd_lpm_make(t, items, n + 1, way->at, bucket->words[SD_LPM_BUCKET_ROOM]);
    if (!sd_lpm_blocks_end(t))
        return SD_NO_MEMORY;
    sd_lpm_store(link, made);
    sd_lpm_retire(t, old);
    return SD_OK;
}

/*
 * A node like `old_word`'s where in `n` slots from `slot` on the words that are `old` are `new_word`; what these slots
 * lead to is changed too. Of the tail `word` is put in front of `word_at`, unless that is NULL.
 */
SD_LOCAL uint32_t sd_lpm_node_like(struct sd_lpm *t, uint32_t old_word, uint32_t slot, uint32_t n,
                                           uint32_t old, uint32_t new_word, const uint32_t *word_at, uint32_t word)
{
    struct sd_lpm_node *node = sd_lpm_at(t, old_word);
    const struct sd_lpm_tail *tail = sd_lpm_tail(node);
    uint64_t cuts = node->runs | UINT64_C(1) << slot;
    if (slot + n < SD_LPM_SLOTS)
        cuts |= UINT64_C(1) << (slot + n);
    uint32_t words[SD_LPM_SLOTS + 1], n_words = 0, last = 0;
    uint64_t runs = 0;
    bool is_leading = false;
    for (uint64_t rest = cuts; rest; rest &= rest - 1) {
        uint32_t at = (uint32_t)__builtin_ctzll(rest);
        uint32_t here = node->words[sd_lpm_run(node->runs, at)];
        bool is_covered = at - slot < n;
        is_leading |= is_covered && here & SD_LPM_NODE;
        here = is_covered && here == old ? new_word : here;
        bool is_run = here != last || at == 0;
        last = here;
        words[n_words] = here;
        n_words += is_run;
        /* Where it was no run it is overwritten by the next one. */
        runs |= (uint64_t)is_run << at;
    }
    uint32_t n_tail = tail->n_words + (word_at != NULL);
    size_t tail_at = sd_lpm_tail_offset(n_words);
    size_t bytes = tail_at + offsetof(struct sd_lpm_tail, words) + n_tail * sizeof(uint32_t);
    uint32_t n_lines = (uint32_t)((bytes + SD_LINE_BYTES - 1) / SD_LINE_BYTES);
    uint32_t at = sd_lpm_block_new(t, n_lines);
    if (SD_UNLIKELY(is_leading && !t->blocks.is_lacking))
        for (uint32_t i = slot; i < slot + n; i++)
            if (node->words[sd_lpm_run(node->runs, i)] & SD_LPM_NODE)
                sd_lpm_replace(t, node->words[sd_lpm_run(node->runs, i)], old, new_word);
    struct sd_lpm_node *made = sd_lpm_at(t, at);
    made->runs = runs;
    for (uint32_t i = 0; i < n_words; i++)
        made->words[i] = words[i];
    struct sd_lpm_tail *made_tail = (struct sd_lpm_tail *)(void *)((uint8_t *)made + tail_at);
    made_tail->full = tail->full;
    made_tail->inner = tail->inner;
    made_tail->n_lines = (uint16_t)n_lines;
    made_tail->n_words = (uint16_t)n_tail;
    uint32_t n_before = word_at ? (uint32_t)(word_at - tail->words) : tail->n_words;
    for (uint32_t i = 0; i < n_before; i++)
        made_tail->words[i] = tail->words[i];
    if (word_at)
        made_tail->words[n_before] = word;
    for (uint32_t i = n_before; i < tail->n_words; i++)
        made_tail->words[i + 1] = tail->words[i];
    return SD_LPM_NODE | at;
}

/* Into the node that the way ends at: as one of its own prefixes, or in a slot that leads nowhere yet. */
SD_LOCAL uint32_t sd_lpm_add_to_node(struct sd_lpm *t, const struct sd_lpm_way *way,
                                             const struct sd_lpm_item *item)
{
    uint32_t *link = way->links[way->n_links - 1], old = *link, at = way->at, made;
    uint32_t slot = sd_lpm_slot(item->bits, t->n_limbs, at);
    struct sd_lpm_node *node = sd_lpm_at(t, old);
    struct sd_lpm_tail *tail = sd_lpm_tail(node);
    uint32_t of_slot = node->words[sd_lpm_run(node->runs, slot)];
    bool is_full = tail->full >> slot & 1;
    if (item->length > at + SD_LPM_STRIDE) {
        /* The word of a full prefix of the slot was the slot's own. */
        uint32_t *word_at = is_full ? sd_lpm_full_word(node, slot) : NULL;
        uint32_t below = sd_lpm_make(t, item, 1, at + SD_LPM_STRIDE, of_slot);
        made = sd_lpm_node_like(t, old, slot, 1, of_slot, below, word_at, of_slot);
    } else if (item->length == at + SD_LPM_STRIDE) {
        if (is_full)
            return SD_EXISTS;
        uint32_t *word_at = NULL, above = of_slot;
        if (of_slot & SD_LPM_NODE) {
            uint32_t inner = sd_lpm_inner_above(tail->inner, SD_LPM_SLOTS | slot);
            above = inner ? *sd_lpm_inner_word(tail, inner) : sd_lpm_way_above(t, way, item->bits);
            word_at = sd_lpm_full_word(node, slot);
        }
        made = sd_lpm_node_like(t, old, slot, 1, above, item->word, word_at, item->word);
        sd_lpm_tail(sd_lpm_at(t, made))->full |= UINT64_C(1) << slot;
    } else {
        uint32_t n_rest = at + SD_LPM_STRIDE - item->length, bit = (SD_LPM_SLOTS | slot) >> n_rest;
        if (tail->inner >> bit & 1)
            return SD_EXISTS;
        uint32_t inner = sd_lpm_inner_above(tail->inner, bit);
        uint32_t above = inner ? *sd_lpm_inner_word(tail, inner) : sd_lpm_way_above(t, way, item->bits);
        made = sd_lpm_node_like(t, old, slot, 1u << n_rest, above, item->word, sd_lpm_inner_word(tail, bit),
                                item->word);
        sd_lpm_tail(sd_lpm_at(t, made))->inner |= UINT64_C(1) << bit;
    }
    if (!sd_lpm_blocks_end(t))
        return SD_NO_MEMORY;
    sd_lpm_store(link, made);
    sd_lpm_retire(t, old);
    return SD_OK;
}

/* SD_EXISTS where the prefix is there, whatever its number. */
SD_LOCAL uint32_t sd_lpm_add(struct sd_lpm *t, const uint64_t *prefix, uint32_t length, uint32_t number)
{
    if (length > t->width_bits || number >= SD_LPM_N_NUMBERS)
        return SD_OUT_OF_RANGE;
    if (t->limbo.n >= 64)
        sd_collect(&t->limbo, t->epochs);
    if (!sd_lpm_begin_memory(t) || (t->epochs && !sd_limbo_reserve(&t->limbo, 1)))
        return SD_NO_MEMORY;
    /* Without more of it there may be enough that was used before. */
    (void)sd_lpm_blocks_reserve(&t->blocks, t->n_lines_needed);
    sd_lpm_blocks_begin(t);
    struct sd_lpm_item item = {prefix, length, number + 1};
    uint32_t status, of_top = t->top->words[prefix[0] >> t->top->shift];
    if (length <= t->top->n_bits) {
        status = sd_lpm_add_short(t, prefix, length, item.word);
    } else {
        struct sd_lpm_way way;
        sd_lpm_go(t, prefix, length, &way);
        uint32_t *link = way.links[way.n_links - 1], word = *link;
        if (word & SD_LPM_IS_BUCKET && word & SD_LPM_NODE) {
            status = sd_lpm_add_to_bucket(t, &way, &item);
        } else if (word & SD_LPM_NODE) {
            status = sd_lpm_add_to_node(t, &way, &item);
        } else {
            uint32_t made = sd_lpm_make(t, &item, 1, way.at, word);
            status = sd_lpm_blocks_end(t) ? SD_OK : SD_NO_MEMORY;
            if (status == SD_OK)
                sd_lpm_store(link, made);
        }
    }
    if (status != SD_OK)
        return status;
    if (t->root != t->top && length > t->top->n_bits)
        sd_lpm_view_update(t, prefix, length, of_top);
    t->n_prefixes++;
    uint32_t n_bits = t->top->n_bits;
    if (SD_UNLIKELY(n_bits < sd_lpm_top_bits_wanted(t->n_prefixes)) && n_bits + SD_LPM_STRIDE <= t->width_bits)
        sd_lpm_root_grow(t);
    else if (SD_UNLIKELY(t->n_prefixes >= t->n_view_prefixes) && t->root == t->top &&
             n_bits + SD_LPM_STRIDE <= t->width_bits)
        sd_lpm_view_begin(t);
    return SD_OK;
}

/* --- Removing --- */

/* Of the slots of a node those that lead to a node or a bucket. */
SD_LOCAL uint64_t sd_lpm_leading(const struct sd_lpm_node *node)
{
    uint64_t leading = 0;
    const uint32_t *word = node->words;
    for (uint64_t rest = node->runs; rest; rest &= rest - 1)
        leading |= (uint64_t)(*word++ >> 31) << __builtin_ctzll(rest);
    return leading;
}

/* Takes one of the words from a tail. */
SD_LOCAL void sd_lpm_tail_remove(struct sd_lpm_tail *tail, uint32_t *word)
{
    uint32_t *end = tail->words + --tail->n_words;
    memmove(word, word + 1, (size_t)(end - word) * sizeof *word);
}

/* What is no longer needed goes, from the end of a way on; a bucket there if it is `is_empty` of other prefixes. */
SD_LOCAL void sd_lpm_prune(struct sd_lpm *t, const uint64_t *prefix, struct sd_lpm_way *way,
                                   bool is_empty)
{
    uint32_t at = way->at;
    for (uint32_t i = way->n_links; i-- > 0; at -= SD_LPM_STRIDE) {
        uint32_t old = *way->links[i], word;
        if (t->epochs && !sd_limbo_reserve(&t->limbo, 1))
            return;
        if (!(old & SD_LPM_NODE))
            continue;
        if (old & SD_LPM_IS_BUCKET) {
            const struct sd_lpm_bucket *bucket = sd_lpm_at(t, old);
            if (!is_empty)
                continue;
            word = bucket->words[SD_LPM_BUCKET_ROOM];
        } else {
            struct sd_lpm_node *node = sd_lpm_at(t, old);
            const struct sd_lpm_tail *tail = sd_lpm_tail(node);
            if (tail->full | tail->inner)
                return;
            uint64_t leading = sd_lpm_leading(node);
            if (leading & (leading - 1))
                return;
            /* With one bucket the bucket takes its place: it knows whole prefixes. */
            word = leading ? node->words[sd_lpm_run(node->runs, (uint32_t)__builtin_ctzll(leading))] : node->words[0];
            if (leading && !(word & SD_LPM_IS_BUCKET))
                return;
        }
        if (!(word & SD_LPM_NODE) && i > 0) {
            struct sd_lpm_node *parent = sd_lpm_at(t, *way->links[i - 1]);
            uint32_t slot = sd_lpm_slot(prefix, t->n_limbs, at - SD_LPM_STRIDE);
            /* The word of a full prefix is now the slot's own. */
            if (sd_lpm_tail(parent)->full >> slot & 1)
                sd_lpm_tail_remove(sd_lpm_tail(parent), sd_lpm_full_word(parent, slot));
        }
        sd_lpm_store(way->links[i], word);
        sd_lpm_retire(t, old);
    }
}

SD_LOCAL uint32_t sd_lpm_remove_short(struct sd_lpm *t, const uint64_t *prefix, uint32_t length)
{
    uint64_t at = sd_lpm_short_at(prefix, length);
    uint32_t old = t->shorts[at];
    if (!old)
        return SD_NOT_FOUND;
    uint32_t above = length ? sd_lpm_short_above(t, prefix, length - 1) : 0;
    sd_lpm_short_set(t, at, 0);
    sd_lpm_replace_short(t, prefix, length, old, above);
    return SD_OK;
}

SD_LOCAL void sd_lpm_bucket_cut(struct sd_lpm_bucket *bucket, uint32_t i)
{
    bucket->n--;
    for (; i < bucket->n; i++) {
        bucket->high[i] = bucket->high[i + 1];
        bucket->lengths[i] = bucket->lengths[i + 1];
        bucket->words[i] = bucket->words[i + 1];
        for (uint32_t limb = 0; limb < bucket->n_more; limb++)
            bucket->more[limb][i] = bucket->more[limb][i + 1];
    }
}

/* The last prefix of a bucket stays in it, for the bucket goes as a whole. */
SD_LOCAL uint32_t sd_lpm_remove_from_bucket(struct sd_lpm *t, const struct sd_lpm_way *way,
                                                    const uint64_t *prefix, uint32_t length, bool *is_empty)
{
    uint32_t *link = way->links[way->n_links - 1], old = *link;
    const struct sd_lpm_bucket *bucket = sd_lpm_at(t, old);
    uint32_t i = sd_lpm_bucket_find(t, bucket, prefix, length);
    if (i == bucket->n)
        return SD_NOT_FOUND;
    if (t->epochs && !sd_limbo_reserve(&t->limbo, 1))
        return SD_NO_MEMORY;
    *is_empty = bucket->n == 1;
    if (*is_empty)
        return SD_OK;
    (void)sd_lpm_blocks_reserve(&t->blocks, t->n_lines_needed);
    sd_lpm_blocks_begin(t);
    uint64_t bits[SD_LPM_BUCKET_ROOM][SD_LPM_LIMBS_MAX];
    struct sd_lpm_item items[SD_LPM_BUCKET_ROOM];
    uint32_t n = sd_lpm_bucket_items(t, bucket, items, bits);
    memmove(items + i, items + i + 1, (n - i - 1) * sizeof *items);
    uint32_t made = sd_lpm_bucket_new(t, items, n - 1, bucket->words[SD_LPM_BUCKET_ROOM]);
    if (!sd_lpm_blocks_end(t)) {
        if (t->epochs)
            return SD_NO_MEMORY;
        /* Nobody reads: it can be changed where it is. */
        sd_lpm_bucket_cut(sd_lpm_at(t, old), i);
        return SD_OK;
    }
    sd_lpm_store(link, made);
    sd_lpm_retire(t, old);
    return SD_OK;
}

/* In place: what readers see are single words. */
SD_LOCAL uint32_t sd_lpm_remove_from_node(struct sd_lpm *t, const struct sd_lpm_way *way,
                                                  const uint64_t *prefix, uint32_t length)
{
    struct sd_lpm_node *node = sd_lpm_at(t, *way->links[way->n_links - 1]);
    struct sd_lpm_tail *tail = sd_lpm_tail(node);
    uint32_t slot = sd_lpm_slot(prefix, t->n_limbs, way->at), n_bits = length - way->at;
    uint32_t at = (SD_LPM_SLOTS | slot) >> (SD_LPM_STRIDE - n_bits);
    uint32_t inner = sd_lpm_inner_above(tail->inner, at);
    uint32_t above = inner ? *sd_lpm_inner_word(tail, inner) : sd_lpm_way_above(t, way, prefix);
    uint32_t first = sd_lpm_run(node->runs, slot), old;
    if (n_bits == SD_LPM_STRIDE) {
        if (!(tail->full >> slot & 1))
            return SD_NOT_FOUND;
        old = node->words[first];
        if (old & SD_LPM_NODE) {
            uint32_t *word = sd_lpm_full_word(node, slot);
            old = *word;
            sd_lpm_tail_remove(tail, word);
        }
        tail->full &= ~(UINT64_C(1) << slot);
        sd_lpm_replace_all(t, node->words + first, 1, old, above);
        return SD_OK;
    }
    if (!(tail->inner >> at & 1))
        return SD_NOT_FOUND;
    uint32_t *word = sd_lpm_inner_word(tail, at);
    old = *word;
    sd_lpm_tail_remove(tail, word);
    tail->inner &= ~(UINT64_C(1) << at);
    uint32_t first_slot = slot & ~((SD_LPM_SLOTS >> n_bits) - 1);
    uint32_t last_slot = first_slot + (SD_LPM_SLOTS >> n_bits) - 1;
    first = sd_lpm_run(node->runs, first_slot);
    uint32_t n = sd_lpm_run(node->runs, last_slot) - first + 1;
    sd_lpm_replace_all(t, node->words + first, n, old, above);
    return SD_OK;
}

/* SD_NO_MEMORY, which is only where there are readers: nothing is changed; later there may be memory again. */
SD_LOCAL uint32_t sd_lpm_remove(struct sd_lpm *t, const uint64_t *prefix, uint32_t length)
{
    if (length > t->width_bits || !t->shorts)
        return SD_NOT_FOUND;
    if (t->limbo.n >= 64)
        sd_collect(&t->limbo, t->epochs);
    uint32_t status, of_top = t->top->words[prefix[0] >> t->top->shift];
    if (length <= t->top->n_bits) {
        status = sd_lpm_remove_short(t, prefix, length);
    } else {
        struct sd_lpm_way way;
        bool is_empty = false;
        sd_lpm_go(t, prefix, length, &way);
        uint32_t word = *way.links[way.n_links - 1];
        if (!(word & SD_LPM_NODE) || (!(word & SD_LPM_IS_BUCKET) && length > way.at + SD_LPM_STRIDE))
            return SD_NOT_FOUND;
        if (word & SD_LPM_IS_BUCKET)
            status = sd_lpm_remove_from_bucket(t, &way, prefix, length, &is_empty);
        else
            status = sd_lpm_remove_from_node(t, &way, prefix, length);
        if (status == SD_OK)
            sd_lpm_prune(t, prefix, &way, is_empty);
    }
    if (status != SD_OK)
        return status;
    if (t->root != t->top && length > t->top->n_bits)
        sd_lpm_view_update(t, prefix, length, of_top);
    t->n_prefixes--;
    return SD_OK;
}

#endif
