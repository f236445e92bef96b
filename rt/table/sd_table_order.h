/*
 * The insertion order of entries: from a handle to its entry, and from one entry to the next.
 *
 * Owns: struct sd_order. Handles ascend, so new elements are appended. A piece has up to SD_ORDER_PIECE elements with
 * consecutive handles: 8 bytes for each. When most elements have been removed, the rest moves to pieces that store the
 * handle of each element. Pieces are cut from blocks, whose size grows with the number of elements or is reserved; all
 * blocks are freed together.
 *
 * Invariants: pieces are sorted by handle, and none but the last is empty; the element of an entry is not 0, which stands
 * for a removed entry.
 */
#ifndef SD_TABLE_ORDER_H
#define SD_TABLE_ORDER_H

#include "worker/sd_store.h"

#define SD_ORDER_PIECE 256u
#define SD_ORDER_PIECE_BYTES (SD_ORDER_PIECE * sizeof(uint64_t))
/* Blocks of this size and above are mapped. */
#define SD_ORDER_MAPPED_BYTES ((size_t)64 << 10)

struct sd_order_piece {
    /* The handle of the first element. */
    uint64_t handle;
    uint64_t *entries;
    /* The handle of each element; NULL: handles are consecutive. */
    uint64_t *handles;
    uint32_t n;
};

struct sd_order_block {
    uint8_t *bytes;
    size_t n_bytes;
};

struct sd_order {
    struct sd_order_piece *pieces;
    uint64_t n_pieces, capacity;
    /* The last block is used up to `block_at`. */
    struct sd_order_block *blocks;
    uint64_t n_blocks, blocks_capacity;
    size_t block_at;
    size_t n_blocks_bytes;
    /* Number of elements, and of those the removed ones. */
    uint64_t n, n_removed;
};

SD_LOCAL void sd_order_free(struct sd_order *o)
{
    for (uint64_t i = 0; i < o->n_blocks; i++) {
        if (o->blocks[i].n_bytes < SD_ORDER_MAPPED_BYTES)
            free(o->blocks[i].bytes);
        else
            sd_unmap_large(o->blocks[i].bytes, o->blocks[i].n_bytes);
    }
    free(o->blocks);
    free(o->pieces);
    memset(o, 0, sizeof *o);
}

SD_INLINE uint64_t sd_order_bytes(const struct sd_order *o)
{
    return o->capacity * sizeof *o->pieces + o->blocks_capacity * sizeof *o->blocks + o->n_blocks_bytes;
}

SD_INLINE size_t sd_order_block_left(const struct sd_order *o)
{
    return o->n_blocks ? o->blocks[o->n_blocks - 1].n_bytes - o->block_at : 0;
}

/* Appends a block of `n_bytes`; the rest of the last one is not used any more. NULL when memory is short. */
SD_LOCAL struct sd_order_block *sd_order_block_new(struct sd_order *o, size_t n_bytes)
{
    struct sd_order_block *blocks = sd_reserve(o->blocks, &o->blocks_capacity, o->n_blocks + 1, sizeof *blocks);
    if (!blocks)
        return NULL;
    o->blocks = blocks;
    uint8_t *bytes = n_bytes < SD_ORDER_MAPPED_BYTES ? malloc(n_bytes) : sd_map_large(n_bytes);
    if (!bytes)
        return NULL;
    blocks += o->n_blocks++;
    *blocks = (struct sd_order_block){bytes, n_bytes};
    o->n_blocks_bytes += n_bytes;
    o->block_at = 0;
    return blocks;
}

/* Appends an empty piece; false when memory is short. */
SD_LOCAL bool sd_order_extend(struct sd_order *o, bool has_handles)
{
    size_t n_bytes = SD_ORDER_PIECE_BYTES * (has_handles ? 2 : 1);
    struct sd_order_piece *pieces = sd_reserve(o->pieces, &o->capacity, o->n_pieces + 1, sizeof *pieces);
    if (!pieces)
        return false;
    o->pieces = pieces;
    /* A sixteenth of what there is, in whole pieces. */
    size_t wanted = sd_round_up(o->n_blocks_bytes / 16, SD_ORDER_PIECE_BYTES);
    if (sd_order_block_left(o) < n_bytes && !sd_order_block_new(o, wanted < n_bytes ? n_bytes : wanted))
        return false;
    uint64_t *words = (uint64_t *)(void *)(o->blocks[o->n_blocks - 1].bytes + o->block_at);
    o->block_at += n_bytes;
    pieces[o->n_pieces++] = (struct sd_order_piece){0, words, has_handles ? words + SD_ORDER_PIECE : NULL, 0};
    return true;
}

/* Memory for `n` more entries, so that adding them waits for none; false when it is short. */
SD_LOCAL bool sd_order_reserve_many(struct sd_order *o, uint64_t n)
{
    uint64_t n_pieces = n / SD_ORDER_PIECE + 1;
    size_t n_bytes;
    if (__builtin_mul_overflow(n_pieces, SD_ORDER_PIECE_BYTES, &n_bytes))
        return false;
    struct sd_order_piece *pieces = sd_reserve(o->pieces, &o->capacity, o->n_pieces + n_pieces, sizeof *pieces);
    if (!pieces)
        return false;
    o->pieces = pieces;
    if (sd_order_block_left(o) >= n_bytes)
        return true;
    const struct sd_order_block *block = sd_order_block_new(o, n_bytes);
    if (block && n_bytes >= SD_ORDER_MAPPED_BYTES)
        sd_populate(block->bytes, n_bytes);
    return block != NULL;
}

/* Room for an entry of this handle; false when memory is short. */
SD_INLINE bool sd_order_reserve(struct sd_order *o, uint64_t handle)
{
    if (o->n_pieces > 0) {
        const struct sd_order_piece *last = &o->pieces[o->n_pieces - 1];
        bool follows = last->n == 0 || last->handle + last->n == handle;
        if (SD_LIKELY(last->n < SD_ORDER_PIECE && !last->handles && follows))
            return true;
    }
    return sd_order_extend(o, false);
}

/* Appends an element; sd_order_reserve has made room for the handle. */
SD_INLINE void sd_order_add(struct sd_order *o, uint64_t handle, uint64_t entry)
{
    struct sd_order_piece *last = &o->pieces[o->n_pieces - 1];
    if (last->n == 0)
        last->handle = handle;
    last->entries[last->n++] = entry;
    o->n++;
}

struct sd_order_at {
    uint64_t handle;
    /* 0: behind the last element. */
    uint64_t entry;
    uint64_t piece;
    uint32_t i;
};

SD_INLINE uint64_t sd_order_handle(const struct sd_order_piece *piece, uint32_t i)
{
    return piece->handles ? piece->handles[i] : piece->handle + i;
}

/* Moves to the first element at or behind this position that is not removed. */
SD_INLINE void sd_order_settle(const struct sd_order *o, struct sd_order_at *at)
{
    at->entry = 0;
    for (; at->piece < o->n_pieces; at->piece++, at->i = 0)
        for (const struct sd_order_piece *piece = &o->pieces[at->piece]; at->i < piece->n; at->i++)
            if (piece->entries[at->i]) {
                at->entry = piece->entries[at->i];
                at->handle = sd_order_handle(piece, at->i);
                return;
            }
}

SD_INLINE void sd_order_next(const struct sd_order *o, struct sd_order_at *at)
{
    at->i++;
    sd_order_settle(o, at);
}

/* The piece begins behind the handle, or is empty. */
SD_INLINE bool sd_order_is_behind(const struct sd_order *o, uint64_t piece, uint64_t handle)
{
    return o->pieces[piece].n == 0 || o->pieces[piece].handle > handle;
}

/* The number of the last piece that does not begin behind the handle; 0 if all do. There are pieces. */
SD_LOCAL uint64_t sd_order_piece_of(const struct sd_order *o, uint64_t handle)
{
    uint64_t n = o->n_pieces - (o->n_pieces > 1 && o->pieces[o->n_pieces - 1].n == 0);
    uint64_t first = o->pieces[0].handle, last = o->pieces[n - 1].handle;
    if (n == 1 || handle <= first)
        return 0;
    if (handle >= last)
        return n - 1;
    /* In proportion: right as long as nothing was packed, and near after that. */
    uint64_t low = (uint64_t)((double)(handle - first) * (double)(n - 1) / (double)(last - first)), high, step = 1;
    low = low < n - 1 ? low : n - 1;
    if (sd_order_is_behind(o, low, handle)) {
        for (high = low; sd_order_is_behind(o, low, handle); step *= 2) {
            high = low;
            low = low > step ? low - step : 0;
        }
    } else {
        for (high = low + 1; high < n && !sd_order_is_behind(o, high, handle); step *= 2) {
            low = high;
            high = n - high > step ? high + step : n;
        }
    }
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (sd_order_is_behind(o, middle, handle))
            high = middle;
        else
            low = middle;
    }
    return low;
}

/* The index of the first element of a piece whose handle is not below this one, which is not below the piece's. */
SD_INLINE uint32_t sd_order_index(const struct sd_order_piece *piece, uint64_t handle)
{
    if (!piece->handles)
        return handle - piece->handle < piece->n ? (uint32_t)(handle - piece->handle) : piece->n;
    uint32_t i = 0, end = piece->n;
    while (i < end) {
        uint32_t middle = i + (end - i) / 2;
        if (piece->handles[middle] < handle)
            i = middle + 1;
        else
            end = middle;
    }
    return i;
}

/* Prefetches the element of a handle, for a change of it. */
SD_LOCAL void sd_order_prefetch(const struct sd_order *o, uint64_t handle)
{
    const struct sd_order_piece *piece = &o->pieces[sd_order_piece_of(o, handle)];
    uint64_t i = piece->handles ? SD_ORDER_PIECE / 2 : (handle - piece->handle) % SD_ORDER_PIECE;
    __builtin_prefetch(&piece->entries[i], 1);
    if (piece->handles)
        __builtin_prefetch(&piece->handles[i]);
}

/* The element with the smallest handle that is not below this one. */
SD_LOCAL struct sd_order_at sd_order_from(const struct sd_order *o, uint64_t handle)
{
    uint64_t low = o->n_pieces > 0 ? sd_order_piece_of(o, handle) : 0;
    struct sd_order_at at = {0, 0, low, 0};
    if (o->n_pieces > 0 && o->pieces[low].handle < handle) {
        at.i = sd_order_index(&o->pieces[low], handle);
    }
    sd_order_settle(o, &at);
    return at;
}

/* The element of this handle, or 0. */
SD_LOCAL uint64_t sd_order_get(const struct sd_order *o, uint64_t handle)
{
    struct sd_order_at at = sd_order_from(o, handle);
    return at.entry && at.handle == handle ? at.entry : 0;
}

/* The element of a handle, which exists. */
SD_INLINE uint64_t *sd_order_element(const struct sd_order *o, uint64_t handle)
{
    const struct sd_order_piece *piece = &o->pieces[sd_order_piece_of(o, handle)];
    return &piece->entries[sd_order_index(piece, handle)];
}

/* Replaces the element of a handle, which exists. */
SD_LOCAL void sd_order_change(struct sd_order *o, uint64_t handle, uint64_t entry)
{
    *sd_order_element(o, handle) = entry;
}

/* Drops removed elements; does nothing when memory is short. */
SD_LOCAL void sd_order_compact(struct sd_order *o)
{
    struct sd_order packed = {0};
    for (struct sd_order_at at = sd_order_from(o, 0); at.entry; sd_order_next(o, &at)) {
        bool is_full = packed.n % SD_ORDER_PIECE == 0;
        if (is_full && !sd_order_extend(&packed, true)) {
            sd_order_free(&packed);
            return;
        }
        struct sd_order_piece *last = &packed.pieces[packed.n_pieces - 1];
        if (last->n == 0)
            last->handle = at.handle;
        last->handles[last->n] = at.handle;
        last->entries[last->n++] = at.entry;
        packed.n++;
    }
    sd_order_free(o);
    *o = packed;
}

/* Removes the element of a handle, which exists. */
SD_LOCAL void sd_order_remove(struct sd_order *o, uint64_t handle)
{
    *sd_order_element(o, handle) = 0;
    o->n_removed++;
    if (o->n_removed > o->n - o->n_removed + SD_ORDER_PIECE)
        sd_order_compact(o);
}

#endif
