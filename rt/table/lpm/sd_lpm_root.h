/*
 * The root of a table of longest prefix match and the view of large tables; making and freeing a table.
 *
 * Owns: growth of the root with the number of prefixes, the words of short prefixes, and what the view shows of them.
 */
#ifndef SD_LPM_ROOT_H
#define SD_LPM_ROOT_H

#include "table/lpm/sd_lpm_nodes.h"

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

/* Writes into a larger root the words that replace the word at index `at` of the root with `n_bits`. */
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

/* Updates the view of the slots from `slot` on of the top's word `at`, which may have changed. */
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

/* Frees the structure; there must be no readers any more. */
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

#endif
