/*
 * How prefixes come into a table of longest prefix match, and go again. For the one writer.
 *
 * Owns: finding, adding, changing and removing prefixes. Nodes are made in sd_lpm_nodes.h, tables in sd_lpm_root.h.
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

#include "table/lpm/sd_lpm_root.h"
/* --- Finding prefixes --- */

SD_INLINE bool sd_lpm_prefix_equal(const uint64_t *a, const uint64_t *b, uint32_t n_limbs)
{
    uint64_t differs = 0;
    for (uint32_t i = 0; i < n_limbs; i++)
        differs |= a[i] ^ b[i];
    return differs == 0;
}

/* The position of a prefix in a bucket; `n`: it is not there. */
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

/* The longest prefix in the top's array that covers this one and has at most `length` bits. */
SD_INLINE uint32_t sd_lpm_short_above(const struct sd_lpm *t, const uint64_t *prefix, uint32_t length)
{
    uint64_t at = sd_lpm_short_at(prefix, length);
    /* Bits: those of 18 levels are in the first cache. */
    for (; at > 0; at >>= 1)
        if (t->is_short[at / 64] >> at % 64 & 1)
            return t->shorts[at];
    return 0;
}

/* The place of a full prefix's word in a node, if the slot has another word. */
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

/* The path to where a prefix is, or would be. */
struct sd_lpm_path {
    /* Words that lead to nodes, from the root's on; the last one's is where the path ends. */
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
                                struct sd_lpm_path *path)
{
    uint32_t at = t->top->n_bits;
    uint32_t *link = &t->top->words[prefix[0] >> t->top->shift];
    path->n_links = 0;
    path->above = 0;
    for (;;) {
        path->links[path->n_links++] = link;
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
            path->above = *sd_lpm_full_word(node, slot);
        else if ((inner = sd_lpm_inner_above(tail->inner, SD_LPM_SLOTS | slot)) != 0)
            path->above = *sd_lpm_inner_word(tail, inner);
        at += SD_LPM_STRIDE;
    }
    path->at = at;
}

/* The word of the longest prefix that covers this one and that is not in what the path ends at. */
SD_INLINE uint32_t sd_lpm_path_above(const struct sd_lpm *t, const struct sd_lpm_path *path, const uint64_t *prefix)
{
    return path->above ? path->above : sd_lpm_short_above(t, prefix, t->top->n_bits);
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
    /* The view points at the same nodes. */
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

/* Into the bucket that the path ends at. */
SD_LOCAL uint32_t sd_lpm_add_to_bucket(struct sd_lpm *t, const struct sd_lpm_path *path,
                                               const struct sd_lpm_item *item)
{
    uint32_t *link = path->links[path->n_links - 1], old = *link;
    const struct sd_lpm_bucket *bucket = sd_lpm_at(t, old);
    if (sd_lpm_bucket_find(t, bucket, item->bits, item->length) < bucket->n)
        return SD_EXISTS;
    uint64_t bits[SD_LPM_BUCKET_ROOM][SD_LPM_LIMBS_MAX];
    struct sd_lpm_item items[SD_LPM_BUCKET_ROOM + 1];
    uint32_t n = sd_lpm_bucket_items(t, bucket, items, bits);
    sd_lpm_item_insert(items, n, *item);
    uint32_t made = sd_lpm_make(t, items, n + 1, path->at, bucket->words[SD_LPM_BUCKET_ROOM]);
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
        /* A word that begins no run is overwritten by the next one. */
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

/* Into the node that the path ends at: as one of its own prefixes, or in a slot that leads nowhere yet. */
SD_LOCAL uint32_t sd_lpm_add_to_node(struct sd_lpm *t, const struct sd_lpm_path *path,
                                             const struct sd_lpm_item *item)
{
    uint32_t *link = path->links[path->n_links - 1], old = *link, at = path->at, made;
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
            above = inner ? *sd_lpm_inner_word(tail, inner) : sd_lpm_path_above(t, path, item->bits);
            word_at = sd_lpm_full_word(node, slot);
        }
        made = sd_lpm_node_like(t, old, slot, 1, above, item->word, word_at, item->word);
        sd_lpm_tail(sd_lpm_at(t, made))->full |= UINT64_C(1) << slot;
    } else {
        uint32_t n_rest = at + SD_LPM_STRIDE - item->length, bit = (SD_LPM_SLOTS | slot) >> n_rest;
        if (tail->inner >> bit & 1)
            return SD_EXISTS;
        uint32_t inner = sd_lpm_inner_above(tail->inner, bit);
        uint32_t above = inner ? *sd_lpm_inner_word(tail, inner) : sd_lpm_path_above(t, path, item->bits);
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
        struct sd_lpm_path path;
        sd_lpm_go(t, prefix, length, &path);
        uint32_t *link = path.links[path.n_links - 1], word = *link;
        if (word & SD_LPM_IS_BUCKET && word & SD_LPM_NODE) {
            status = sd_lpm_add_to_bucket(t, &path, &item);
        } else if (word & SD_LPM_NODE) {
            status = sd_lpm_add_to_node(t, &path, &item);
        } else {
            uint32_t made = sd_lpm_make(t, &item, 1, path.at, word);
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

/* --- Changing --- */

/* In place, as sd_lpm_remove_from_node: what readers see are single words. */
SD_LOCAL uint32_t sd_lpm_change_in_node(const struct sd_lpm *t, const struct sd_lpm_path *path, const uint64_t *prefix,
                                        uint32_t length, uint32_t word)
{
    struct sd_lpm_node *node = sd_lpm_at(t, *path->links[path->n_links - 1]);
    struct sd_lpm_tail *tail = sd_lpm_tail(node);
    uint32_t slot = sd_lpm_slot(prefix, t->n_limbs, path->at), n_bits = length - path->at;
    uint32_t at = (SD_LPM_SLOTS | slot) >> (SD_LPM_STRIDE - n_bits), first = sd_lpm_run(node->runs, slot), old;
    if (n_bits == SD_LPM_STRIDE) {
        if (!(tail->full >> slot & 1))
            return SD_NOT_FOUND;
        old = node->words[first];
        if (old & SD_LPM_NODE) {
            uint32_t *of_prefix = sd_lpm_full_word(node, slot);
            old = *of_prefix;
            *of_prefix = word;
        }
        sd_lpm_replace_all(t, node->words + first, 1, old, word);
        return SD_OK;
    }
    if (!(tail->inner >> at & 1))
        return SD_NOT_FOUND;
    old = *sd_lpm_inner_word(tail, at);
    *sd_lpm_inner_word(tail, at) = word;
    uint32_t first_slot = slot & ~((SD_LPM_SLOTS >> n_bits) - 1);
    uint32_t last_slot = first_slot + (SD_LPM_SLOTS >> n_bits) - 1;
    first = sd_lpm_run(node->runs, first_slot);
    sd_lpm_replace_all(t, node->words + first, sd_lpm_run(node->runs, last_slot) - first + 1, old, word);
    return SD_OK;
}

/* Another number for a prefix that is there: each lookup finds the old one or the new one. Needs no memory. */
SD_LOCAL uint32_t sd_lpm_change(struct sd_lpm *t, const uint64_t *prefix, uint32_t length, uint32_t number)
{
    if (number >= SD_LPM_N_NUMBERS)
        return SD_OUT_OF_RANGE;
    if (length > t->width_bits || !t->shorts)
        return SD_NOT_FOUND;
    uint32_t word = number + 1, of_top = t->top->words[prefix[0] >> t->top->shift];
    if (length <= t->top->n_bits) {
        uint64_t at = sd_lpm_short_at(prefix, length);
        uint32_t old = t->shorts[at];
        if (!old)
            return SD_NOT_FOUND;
        sd_lpm_short_set(t, at, word);
        sd_lpm_replace_short(t, prefix, length, old, word);
        return SD_OK;
    }
    struct sd_lpm_path path;
    sd_lpm_go(t, prefix, length, &path);
    uint32_t end = *path.links[path.n_links - 1];
    if (!(end & SD_LPM_NODE) || (!(end & SD_LPM_IS_BUCKET) && length > path.at + SD_LPM_STRIDE))
        return SD_NOT_FOUND;
    if (end & SD_LPM_IS_BUCKET) {
        struct sd_lpm_bucket *bucket = sd_lpm_at(t, end);
        uint32_t i = sd_lpm_bucket_find(t, bucket, prefix, length);
        if (i == bucket->n)
            return SD_NOT_FOUND;
        sd_lpm_store(&bucket->words[i], word);
        return SD_OK;
    }
    uint32_t status = sd_lpm_change_in_node(t, &path, prefix, length, word);
    if (status == SD_OK && t->root != t->top)
        sd_lpm_view_update(t, prefix, length, of_top);
    return status;
}

/* --- Removing --- */

/* The slots of a node that point at a node or a bucket, as bits. */
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

/* Frees nodes that are no longer needed, from the end of a path up; the bucket at its end if `is_empty`. */
SD_LOCAL void sd_lpm_prune(struct sd_lpm *t, const uint64_t *prefix, struct sd_lpm_path *path,
                                   bool is_empty)
{
    uint32_t at = path->at;
    for (uint32_t i = path->n_links; i-- > 0; at -= SD_LPM_STRIDE) {
        uint32_t old = *path->links[i], word;
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
            struct sd_lpm_node *parent = sd_lpm_at(t, *path->links[i - 1]);
            uint32_t slot = sd_lpm_slot(prefix, t->n_limbs, at - SD_LPM_STRIDE);
            /* The word of a full prefix is now the slot's own. */
            if (sd_lpm_tail(parent)->full >> slot & 1)
                sd_lpm_tail_remove(sd_lpm_tail(parent), sd_lpm_full_word(parent, slot));
        }
        sd_lpm_store(path->links[i], word);
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
SD_LOCAL uint32_t sd_lpm_remove_from_bucket(struct sd_lpm *t, const struct sd_lpm_path *path,
                                                    const uint64_t *prefix, uint32_t length, bool *is_empty)
{
    uint32_t *link = path->links[path->n_links - 1], old = *link;
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
        /* There are no concurrent readers: the bucket can be changed in place. */
        sd_lpm_bucket_cut(sd_lpm_at(t, old), i);
        return SD_OK;
    }
    sd_lpm_store(link, made);
    sd_lpm_retire(t, old);
    return SD_OK;
}

/* In place: what readers see are single words. */
SD_LOCAL uint32_t sd_lpm_remove_from_node(struct sd_lpm *t, const struct sd_lpm_path *path,
                                                  const uint64_t *prefix, uint32_t length)
{
    struct sd_lpm_node *node = sd_lpm_at(t, *path->links[path->n_links - 1]);
    struct sd_lpm_tail *tail = sd_lpm_tail(node);
    uint32_t slot = sd_lpm_slot(prefix, t->n_limbs, path->at), n_bits = length - path->at;
    uint32_t at = (SD_LPM_SLOTS | slot) >> (SD_LPM_STRIDE - n_bits);
    uint32_t inner = sd_lpm_inner_above(tail->inner, at);
    uint32_t above = inner ? *sd_lpm_inner_word(tail, inner) : sd_lpm_path_above(t, path, prefix);
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
        struct sd_lpm_path path;
        bool is_empty = false;
        sd_lpm_go(t, prefix, length, &path);
        uint32_t word = *path.links[path.n_links - 1];
        if (!(word & SD_LPM_NODE) || (!(word & SD_LPM_IS_BUCKET) && length > path.at + SD_LPM_STRIDE))
            return SD_NOT_FOUND;
        if (word & SD_LPM_IS_BUCKET)
            status = sd_lpm_remove_from_bucket(t, &path, prefix, length, &is_empty);
        else
            status = sd_lpm_remove_from_node(t, &path, prefix, length);
        if (status == SD_OK)
            sd_lpm_prune(t, prefix, &path, is_empty);
    }
    if (status != SD_OK)
        return status;
    if (t->root != t->top && length > t->top->n_bits)
        sd_lpm_view_update(t, prefix, length, of_top);
    t->n_prefixes--;
    return SD_OK;
}

#endif
