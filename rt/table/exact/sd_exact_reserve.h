/*
 * Room for entries that are to come, so that inserting them copies nothing and waits for no memory.
 *
 * Where to start: sd_exact_reserve. A table with few entries for what it is to have gets all of its segments at once, of
 * one size that fits, and a directory of their depth; one store lets readers go there. Others are brought there a
 * segment at a time, as inserts do it.
 *
 * Invariant: what fails has changed nothing that lookups see.
 */
#ifndef SD_EXACT_RESERVE_H
#define SD_EXACT_RESERVE_H

#include "table/exact/sd_exact_write.h"

/* Buckets for so many keys, of which 0.7 of the slots will be in use: chance seldom makes that too many. */
SD_INLINE uint64_t sd_exact_buckets_for(uint64_t n)
{
    return n / 21 * 2 + 2;
}

/* A segment's share of the entries is at most three quarters of what there is room for. */
SD_INLINE bool sd_exact_has_room_for(const struct sd_exact_segment *segment, uint64_t n)
{
    return (n >> segment->depth) <= (uint64_t)segment->n_buckets * SD_EXACT_SLOTS / 4 * 3;
}

/* Number of cells of a directory that point at the segment. */
SD_INLINE uint64_t sd_exact_n_cells(const struct sd_exact_segment *segment, uint32_t directory_depth)
{
    return (uint64_t)1 << (directory_depth - segment->depth);
}

/* The first prefix behind that of the segment; after the last 0. */
SD_INLINE uint64_t sd_exact_prefix_behind(uint64_t prefix, const struct sd_exact_segment *segment)
{
    return segment->depth ? prefix + (UINT64_C(1) << (64 - segment->depth)) : 0;
}

/* New segments and a new directory for a reserved number of entries. */
struct sd_exact_plan {
    uint64_t *cells;
    /* Depth of the segments, and of the directory, which is at least 1. */
    uint32_t depth, directory_depth;
    uint32_t n_buckets;
};

/* Memory of all segments in one chunk, unless what was made before has room enough; and of some more, for those few that
   chance makes too full. It is there from now on, so that inserts do not wait for it. */
SD_LOCAL bool sd_exact_chunk_ahead(struct sd_exact *t, const struct sd_exact_plan *plan)
{
    size_t n_bytes = sd_exact_segment_bytes(t, plan->n_buckets);
    uint64_t n_segments = (uint64_t)1 << plan->depth;
    if (__builtin_mul_overflow(n_bytes, n_segments + n_segments / 64, &n_bytes))
        return false;
    if (sd_exact_chunk_left(t) >= n_bytes)
        return true;
    const struct sd_exact_chunk *chunk = sd_exact_chunk_new(t, n_bytes);
    if (chunk)
        sd_populate(chunk->bytes, chunk->n_bytes);
    return chunk != NULL;
}

/* Segments without keys; false when memory is short. */
SD_LOCAL bool sd_exact_plan_make(struct sd_exact *t, struct sd_exact_plan *plan)
{
    bool is_small = plan->depth == 0 && plan->n_buckets < t->n_buckets_max[0];
    if (!is_small && !sd_exact_chunk_ahead(t, plan))
        return false;
    for (uint64_t i = 0; i < (uint64_t)1 << plan->depth; i++) {
        uint64_t prefix = plan->depth ? i << (64 - plan->depth) : 0;
        struct sd_exact_segment *segment = sd_exact_segment_new(t, prefix, plan->depth, plan->n_buckets);
        if (!segment)
            return false;
        plan->cells[i] = sd_exact_cell_to(segment + 1, plan->n_buckets);
    }
    if (plan->depth == 0)
        plan->cells[1] = plan->cells[0];
    return true;
}

/* Frees a plan that was not published. */
SD_LOCAL void sd_exact_plan_drop(struct sd_exact *t, struct sd_exact_plan *plan)
{
    for (uint64_t i = 0; i < (uint64_t)1 << plan->depth && plan->cells[i]; i++)
        sd_exact_segment_drop(t, sd_exact_segment_of(plan->cells[i]));
    free(plan->cells);
}

/* Copies the entries of a segment to the plan's segments, which are not published yet. Returns false if they do not fit. */
SD_LOCAL bool sd_exact_pour(const struct sd_exact *t, struct sd_exact_segment *from, const struct sd_exact_plan *plan)
{
    const uint32_t entry_bytes = sd_exact_entry_bytes(t->shape);
    uint8_t *bucket = (uint8_t *)(from + 1);
    for (uint32_t i = 0; i < from->n_buckets; i++, bucket += t->bucket_bytes) {
        for (uint32_t lanes = sd_exact_used(bucket); lanes; lanes &= lanes - 1) {
            const uint8_t *entry = bucket + SD_EXACT_TAGS_BYTES + sd_exact_lane(lanes) * entry_bytes;
            uint64_t hash = sd_exact_hash(t->secrets, entry, t->shape.key_bytes);
            uint64_t cell = plan->cells[hash >> (64 - plan->directory_depth)];
            struct sd_exact_place place;
            uint32_t n_buckets = sd_exact_n_buckets(cell), distance;
            if (!sd_exact_slot(sd_exact_buckets(cell), n_buckets, t->bucket_bytes,
                               sd_exact_home_index(hash, n_buckets), &place, &distance))
                return false;
            sd_exact_copy_entry(sd_exact_entry(t->shape, place.bucket, place.lane), entry, entry_bytes);
            sd_exact_publish(sd_exact_segment_of(cell), &place, distance, hash);
        }
    }
    return true;
}

/* All segments anew: SD_OK, SD_NO_MEMORY, or SD_FULL where too many keys meet, or there would be too many segments. */
SD_LOCAL uint32_t sd_exact_reserve_anew(struct sd_exact *t, uint64_t n)
{
    struct sd_exact_plan plan = {NULL, 0, 1, 0};
    while (sd_exact_buckets_for(n >> plan.depth) > t->n_buckets_max[SD_EXACT_N_CLASSES - 1])
        plan.depth++;
    if (plan.depth > SD_EXACT_DEPTH_MAX)
        return SD_FULL;
    plan.n_buckets = (uint32_t)sd_exact_buckets_for(n >> plan.depth);
    plan.directory_depth = plan.depth ? plan.depth : 1;
    plan.cells = sd_alloc_lines((size_t)1 << plan.directory_depth, sizeof *plan.cells);
    if (!plan.cells)
        return SD_NO_MEMORY;
    uint64_t *old = sd_exact_cells(t), n_old = (uint64_t)1 << sd_exact_depth(t);
    uint32_t old_depth = sd_exact_depth(t), status = SD_OK;
    if ((t->epochs && !sd_limbo_reserve(&t->limbo, n_old + 1)) || !sd_exact_plan_make(t, &plan))
        status = SD_NO_MEMORY;
    for (uint64_t i = 0; status == SD_OK && i < n_old; i += sd_exact_n_cells(sd_exact_segment_of(old[i]), old_depth))
        status = sd_exact_pour(t, sd_exact_segment_of(old[i]), &plan) ? SD_OK : SD_FULL;
    if (status != SD_OK) {
        sd_exact_plan_drop(t, &plan);
        return status;
    }
    sd_exact_use_directory(t, plan.cells, plan.directory_depth);
    for (uint64_t i = 0; i < n_old;) {
        struct sd_exact_segment *segment = sd_exact_segment_of(old[i]);
        i += sd_exact_n_cells(segment, old_depth);
        sd_exact_segment_retire(t, segment);
    }
    sd_exact_directory_retire(t, old);
    return SD_OK;
}

/* So many times the entries that there are make it worth while to copy them all at once. */
#define SD_EXACT_ANEW_TIMES 8u

/* Allocates memory for `n` entries in all, so that inserts copy few entries. SD_OK, SD_NO_MEMORY or SD_FULL. */
SD_LOCAL uint32_t sd_exact_reserve(struct sd_exact *t, uint64_t n)
{
    uint64_t prefix = 0;
    while (n > t->n_entries) {
        struct sd_exact_segment *segment = sd_exact_segment_of(sd_exact_cell(t, prefix));
        if (sd_exact_has_room_for(segment, n)) {
            prefix = sd_exact_prefix_behind(prefix, segment);
            if (prefix == 0)
                return SD_OK;
            continue;
        }
        uint32_t status = SD_FULL;
        if (n / SD_EXACT_ANEW_TIMES >= t->n_entries)
            status = sd_exact_reserve_anew(t, n);
        /* A segment at a time also where too many keys meet for what chance lets expect. */
        if (status == SD_FULL)
            status = sd_exact_rebuild(t, prefix, SD_EXACT_AHEAD);
        if (status != SD_OK)
            return status;
        /* Memory of the segments on the way is used again. */
        sd_exact_collect(t);
    }
    return SD_OK;
}

#endif
