/*
 * How exact tables grow: memory of segments, and what replaces a segment that is full.
 *
 * Owns: allocation of segments, what waits for readers, and sd_exact_rebuild. Where to start: there.
 *
 * Segments that are not full-grown, which only the first ones are, have memory of their own. Full-grown ones are cut
 * from chunks, and used again when readers have left them: for each of a class that is split two are wanted and
 * one comes back. So are those that sd_exact_reserve.h has made, which are of one size whatever their class: they are
 * used again for segments that are not larger.
 */
#ifndef SD_EXACT_GROW_H
#define SD_EXACT_GROW_H

#include "table/exact/sd_exact.h"

/* --- Memory of segments --- */

/* Size of a full-grown segment, which is copied at once. */
#ifndef SD_EXACT_BASE_BYTES
#define SD_EXACT_BASE_BYTES ((size_t)96 << 10)
#endif
#define SD_EXACT_BASE_BUCKETS_MAX 256u
#define SD_EXACT_N_BUCKETS_MAX (2 * SD_EXACT_BASE_BUCKETS_MAX)

SD_INLINE size_t sd_exact_segment_bytes(const struct sd_exact *t, uint32_t n_buckets)
{
    return sizeof(struct sd_exact_segment) + sd_round_up((size_t)n_buckets * t->bucket_bytes, SD_LINE_BYTES);
}

/* Segments whose keys begin with these bits: the class of how large they get. */
SD_INLINE uint32_t sd_exact_class_of(uint64_t prefix)
{
    return (uint32_t)(prefix >> (64 - SD_EXACT_CLASS_BITS));
}

#define SD_EXACT_CHUNK_BYTES_MIN ((size_t)512 << 10)
#define SD_EXACT_CHUNK_BYTES_MAX ((size_t)64 << 20)

/* Makes the last chunk one of so many bytes, or a few more; what was left of the one before is lost. */
SD_LOCAL struct sd_exact_chunk *sd_exact_chunk_new(struct sd_exact *t, size_t n_bytes)
{
    struct sd_exact_chunk *chunks = sd_reserve(t->chunks, &t->chunks_capacity, t->n_chunks + 1, sizeof *chunks);
    if (!chunks)
        return NULL;
    t->chunks = chunks;
    /* In huge pages as soon as that is not wasteful. */
    if (t->n_chunks_bytes >= SD_HUGE_BYTES / 2 || n_bytes >= 4 * SD_HUGE_BYTES)
        n_bytes = sd_round_up(n_bytes, SD_HUGE_BYTES);
    uint8_t *bytes = sd_map_large(n_bytes);
    if (!bytes)
        return NULL;
    chunks += t->n_chunks++;
    *chunks = (struct sd_exact_chunk){bytes, n_bytes};
    t->n_chunks_bytes += n_bytes;
    t->chunk_at = 0;
    return chunks;
}

/* Unused bytes of the last chunk. */
SD_INLINE size_t sd_exact_chunk_left(const struct sd_exact *t)
{
    return t->n_chunks ? t->chunks[t->n_chunks - 1].n_bytes - t->chunk_at : 0;
}

/* Memory that is part of a chunk; zeros, if nothing was there before. */
SD_LOCAL void *sd_exact_chunk_take(struct sd_exact *t, size_t n_bytes)
{
    if (sd_exact_chunk_left(t) < n_bytes) {
        /* In proportion to the table. */
        size_t wanted = t->n_chunks_bytes / 8;
        if (wanted > SD_EXACT_CHUNK_BYTES_MAX)
            wanted = SD_EXACT_CHUNK_BYTES_MAX;
        if (wanted < SD_EXACT_CHUNK_BYTES_MIN)
            wanted = SD_EXACT_CHUNK_BYTES_MIN;
        if (!sd_exact_chunk_new(t, wanted < n_bytes ? n_bytes : wanted))
            return NULL;
    }
    void *taken = t->chunks[t->n_chunks - 1].bytes + t->chunk_at;
    t->chunk_at += n_bytes;
    return taken;
}

/* Readers want to know, roughly. */
SD_INLINE void sd_exact_add_bytes(struct sd_exact *t, size_t n)
{
    __atomic_store_n(&t->n_segments_bytes, t->n_segments_bytes + n, __ATOMIC_RELAXED);
}

/* Readers return at once if there are none. */
SD_INLINE void sd_exact_add_entries(struct sd_exact *t, uint64_t n)
{
    __atomic_store_n(&t->n_entries, t->n_entries + n, __ATOMIC_RELAXED);
}

/* A segment that was used before and has room for so many buckets, without keys; or NULL. */
SD_LOCAL struct sd_exact_segment *sd_exact_segment_again(struct sd_exact *t, uint32_t size_class, uint32_t n_buckets)
{
    struct sd_exact_segment **list = size_class < SD_EXACT_N_CLASSES ? &t->free_segments[size_class] : NULL;
    /* Cut segments mostly have one size, so the first one is tried only. */
    if (!list || !*list)
        list = t->free_cut && t->free_cut->n_buckets_room >= n_buckets ? &t->free_cut : NULL;
    struct sd_exact_segment *segment = list ? *list : NULL;
    if (!segment)
        return NULL;
    *list = segment->next_free;
    uint8_t *bucket = (uint8_t *)(segment + 1);
    for (uint32_t i = 0; i < n_buckets; i++, bucket += t->bucket_bytes)
        memset(bucket, 0, SD_EXACT_TAGS_BYTES);
    return segment;
}

/* Without keys; NULL when memory is short. */
SD_LOCAL struct sd_exact_segment *sd_exact_segment_new(struct sd_exact *t, uint64_t prefix,
                                                               uint32_t depth, uint32_t n_buckets)
{
    uint32_t size_class = sd_exact_class_of(prefix), max = t->n_buckets_max[size_class], n_room = n_buckets;
    struct sd_exact_segment *segment = NULL;
    if (n_buckets != max)
        size_class = depth == 0 && n_buckets < max ? SD_EXACT_OWN : SD_EXACT_CUT;
    if (size_class == SD_EXACT_OWN) {
        segment = sd_alloc_lines(1, sd_exact_segment_bytes(t, n_buckets));
    } else if ((segment = sd_exact_segment_again(t, size_class, n_buckets)) != NULL) {
        size_class = segment->size_class;
        n_room = segment->n_buckets_room;
    } else {
        segment = sd_exact_chunk_take(t, sd_exact_segment_bytes(t, n_buckets));
    }
    if (!segment)
        return NULL;
    *segment = (struct sd_exact_segment){.n_buckets = n_buckets,
                                         .depth = depth,
                                         .size_class = size_class,
                                         .n_buckets_room = n_room};
    sd_exact_add_bytes(t, sd_exact_segment_bytes(t, n_room));
    return segment;
}

SD_LOCAL void sd_exact_segment_free(void *pointer, void *context)
{
    struct sd_exact_segment *segment = pointer;
    struct sd_exact *t = context;
    if (segment->size_class == SD_EXACT_OWN) {
        free(segment);
        return;
    }
    struct sd_exact_segment **list =
        segment->size_class == SD_EXACT_CUT ? &t->free_cut : &t->free_segments[segment->size_class];
    segment->next_free = *list;
    *list = segment;
}

/* Frees a segment, which is not reachable any more, after a grace period; limbo has room for it. */
SD_LOCAL void sd_exact_segment_retire(struct sd_exact *t, struct sd_exact_segment *segment)
{
    sd_exact_add_bytes(t, -sd_exact_segment_bytes(t, segment->n_buckets_room));
    if (t->epochs)
        sd_retire(&t->limbo, t->epochs, segment, sd_exact_segment_free, t);
    else
        sd_exact_segment_free(segment, t);
}

/* Frees a segment that was never reachable. */
SD_LOCAL void sd_exact_segment_drop(struct sd_exact *t, struct sd_exact_segment *segment)
{
    sd_exact_add_bytes(t, -sd_exact_segment_bytes(t, segment->n_buckets_room));
    sd_exact_segment_free(segment, t);
}

SD_LOCAL void sd_exact_directory_free(void *pointer, void *context)
{
    (void)context;
    free(pointer);
}

/* --- What waits for the readers --- */

/* Slots that no reader looks at any more are empty; segments and directories that no reader is in are free. */
SD_LOCAL void sd_exact_collect(struct sd_exact *t)
{
    if (t->n_removed == 0 && t->limbo.n == 0)
        return;
    uint64_t safe = t->epochs ? sd_epoch_safe(t->epochs) : UINT64_MAX;
    /* First, because the segments in which they are have later stamps. */
    while (t->n_removed > 0 && t->removed[t->removed_first].stamp <= safe) {
        const struct sd_exact_removed *removed = &t->removed[t->removed_first];
        sd_exact_set_tag(removed->bucket, removed->lane, SD_EXACT_EMPTY);
        t->removed_first = (t->removed_first + 1) & (t->removed_capacity - 1);
        t->n_removed--;
    }
    sd_collect_until(&t->limbo, safe);
}

SD_LOCAL bool sd_exact_reserve_removed(struct sd_exact *t)
{
    if (t->n_removed < t->removed_capacity)
        return true;
    sd_exact_collect(t);
    if (t->n_removed < t->removed_capacity)
        return true;
    uint64_t capacity = t->removed_capacity ? t->removed_capacity * 2 : 64;
    struct sd_exact_removed *removed = calloc(capacity, sizeof *removed);
    if (!removed)
        return false;
    for (uint64_t i = 0; i < t->n_removed; i++)
        removed[i] = t->removed[(t->removed_first + i) & (t->removed_capacity - 1)];
    free(t->removed);
    t->removed = removed;
    t->removed_first = 0;
    t->removed_capacity = capacity;
    return true;
}

/* Takes an entry out. Its slot is lost until the segment is replaced when memory is too short to remember it. */
SD_LOCAL void sd_exact_take_out(struct sd_exact *t, const struct sd_exact_place *place)
{
    if (!t->epochs) {
        sd_exact_set_tag(place->bucket, place->lane, SD_EXACT_EMPTY);
        return;
    }
    sd_exact_set_tag(place->bucket, place->lane, SD_EXACT_REMOVED);
    if (!sd_exact_reserve_removed(t))
        return;
    uint64_t at = (t->removed_first + t->n_removed++) & (t->removed_capacity - 1);
    t->removed[at] = (struct sd_exact_removed){sd_epoch_stamp(t->epochs), place->bucket, place->lane};
}

/* --- Putting entries into buckets --- */

/* So many keys away from home are too many: about 3 % of what there is room for. */
SD_INLINE uint32_t sd_exact_displaced_max(uint32_t n_buckets)
{
    return n_buckets * SD_EXACT_SLOTS / 32;
}

/* An empty slot for a key that is at home in bucket `index`; false when there is none in reach. */
SD_ALWAYS_INLINE bool sd_exact_slot(uint8_t *buckets, uint32_t n_buckets, uint32_t bucket_bytes, uint32_t index,
                                    struct sd_exact_place *place, uint32_t *distance)
{
    place->home = buckets + (size_t)index * bucket_bytes;
    for (uint32_t i = 0; i <= SD_EXACT_REACH_MAX && i < n_buckets; i++) {
        uint32_t at = index + i < n_buckets ? index + i : index + i - n_buckets;
        place->bucket = buckets + (size_t)at * bucket_bytes;
        uint32_t lanes = sd_exact_match(place->bucket, SD_EXACT_EMPTY);
        if (SD_LIKELY(lanes != 0)) {
            place->lane = sd_exact_lane(lanes);
            *distance = i;
            return true;
        }
        if (i == 0 && SD_EXACT_HOME_N_AWAY(sd_exact_home(place->home)) == SD_EXACT_N_AWAY_MAX)
            return false;
    }
    return false;
}

/* One more key is so far from its home. */
SD_INLINE void sd_exact_count_away(struct sd_exact_segment *segment, uint8_t *home_bucket, uint32_t distance)
{
    uint32_t home = sd_exact_home(home_bucket) + SD_EXACT_HOME_AWAY;
    if (SD_EXACT_HOME_REACH(home) < distance)
        home = home - SD_EXACT_HOME_REACH(home) + distance;
    sd_exact_set_home(home_bucket, home);
    segment->n_displaced++;
}

/* Publishes the entry that was written to this place, `distance` buckets from home. */
SD_ALWAYS_INLINE void sd_exact_publish(struct sd_exact_segment *segment, const struct sd_exact_place *place,
                                       uint32_t distance, uint64_t hash)
{
    if (SD_UNLIKELY(distance > 0))
        sd_exact_count_away(segment, place->home, distance);
    sd_exact_set_tag(place->bucket, place->lane, (uint16_t)hash);
}

/* --- Growth --- */

/* An unpublished segment, with the number of entries in each bucket. */
struct sd_exact_filling {
    uint8_t *buckets;
    uint64_t n_buckets;
    struct sd_exact_segment *segment;
    uint8_t n_in[SD_EXACT_N_BUCKETS_MAX];
};

/* The size is often not a constant here: two pieces that overlap, rather than loops over what is left. */
SD_ALWAYS_INLINE void sd_exact_copy_entry(uint8_t *to, const uint8_t *from, uint32_t n)
{
    if (SD_LIKELY(n >= 16)) {
        for (uint32_t i = 0; i < n - 16; i += 16)
            memcpy(to + i, from + i, 16);
        memcpy(to + n - 16, from + n - 16, 16);
    } else if (n >= 8) {
        memcpy(to, from, 8);
        memcpy(to + n - 8, from + n - 8, 8);
    } else {
        memcpy(to, from, 4);
    }
}

/* The first bucket behind `index`, where keys with this home find none, that has room; UINT32_MAX: none in reach. */
static SD_UNUSED __attribute__((noinline)) uint32_t sd_exact_fill_away(const struct sd_exact *t,
                                                                       const struct sd_exact_filling *filling,
                                                                       uint32_t index)
{
    uint32_t n_buckets = (uint32_t)filling->n_buckets, at = index;
    uint8_t *home_bucket = filling->buckets + (size_t)index * t->bucket_bytes;
    for (uint32_t distance = 1; distance <= SD_EXACT_REACH_MAX && distance < n_buckets; distance++) {
        at = at + 1 < n_buckets ? at + 1 : 0;
        if (filling->n_in[at] == SD_EXACT_SLOTS)
            continue;
        if (SD_EXACT_HOME_N_AWAY(sd_exact_home(home_bucket)) == SD_EXACT_N_AWAY_MAX)
            break;
        sd_exact_count_away(filling->segment, home_bucket, distance);
        return at;
    }
    return UINT32_MAX;
}

/* Copies all entries of a segment to one unpublished segment or, by bit 64 - `depth` of the hash, to two. Returns false if
   they do not fit. */
SD_ALWAYS_INLINE bool sd_exact_copy_shaped(struct sd_exact_shape shape, const struct sd_exact *t,
                                           const struct sd_exact_segment *from, struct sd_exact_filling *to,
                                           uint32_t depth)
{
    const uint64_t *secrets = t->secrets;
    const uint32_t bucket_bytes = t->bucket_bytes, entry_bytes = sd_exact_entry_bytes(shape);
    const uint32_t n_buckets = from->n_buckets;
    uint8_t *bucket = (uint8_t *)(uintptr_t)(from + 1);
    for (uint32_t i = 0; i < n_buckets; i++, bucket += bucket_bytes) {
        /* Segments are often in no near cache. */
        for (uint32_t at = 0; at < bucket_bytes; at += SD_LINE_BYTES)
            __builtin_prefetch(bucket + 2 * (size_t)bucket_bytes + at);
        for (uint32_t lanes = sd_exact_used(bucket); lanes; lanes &= lanes - 1) {
            const uint8_t *entry = bucket + SD_EXACT_TAGS_BYTES + sd_exact_lane(lanes) * entry_bytes;
            uint64_t hash = sd_exact_hash(secrets, entry, shape.key_bytes);
            struct sd_exact_filling *filling = depth && (hash >> (64 - depth) & 1) ? to + 1 : to;
            uint32_t index = sd_exact_home_index(hash, filling->n_buckets);
            uint32_t lane = filling->n_in[index];
            if (SD_UNLIKELY(lane == SD_EXACT_SLOTS)) {
                index = sd_exact_fill_away(t, filling, index);
                if (index == UINT32_MAX)
                    return false;
                lane = filling->n_in[index];
            }
            filling->n_in[index] = (uint8_t)(lane + 1);
            uint8_t *target = filling->buckets + (size_t)index * bucket_bytes;
            sd_exact_copy_entry(target + SD_EXACT_TAGS_BYTES + lane * entry_bytes, entry, entry_bytes);
            ((uint16_t *)(void *)target)[lane] = (uint16_t)hash;
        }
    }
    return true;
}

SD_LOCAL bool sd_exact_copy(const struct sd_exact *t, const struct sd_exact_segment *from,
                            struct sd_exact_segment *const to[2], uint32_t depth)
{
    struct sd_exact_filling filling[2];
    for (uint32_t i = 0; i < 2 && to[i]; i++) {
        filling[i].segment = to[i];
        filling[i].buckets = (uint8_t *)(to[i] + 1);
        filling[i].n_buckets = to[i]->n_buckets;
        memset(filling[i].n_in, 0, to[i]->n_buckets);
    }
    return SD_EXACT_SHAPED(t->shape, sd_exact_copy_shaped, t, from, filling, depth);
}

SD_INLINE uint32_t sd_exact_depth(const struct sd_exact *t)
{
    return 64 - (uint32_t)(t->directory & 63);
}

SD_INLINE uint64_t *sd_exact_cells(const struct sd_exact *t)
{
    return (uint64_t *)(uintptr_t)(t->directory & ~UINT64_C(63));
}

/* Why a segment is replaced: a key finds no place, or keys will come. */
enum sd_exact_need { SD_EXACT_FOR_A_KEY, SD_EXACT_AHEAD };

/* Lets readers go through these cells. */
SD_INLINE void sd_exact_use_directory(struct sd_exact *t, uint64_t *cells, uint32_t depth)
{
    __atomic_store_n(&t->directory, (uint64_t)(uintptr_t)cells | (64 - depth), __ATOMIC_RELEASE);
}

/* Frees a directory, which is not reachable any more, after a grace period; limbo has room for it. */
SD_LOCAL void sd_exact_directory_retire(struct sd_exact *t, uint64_t *cells)
{
    if (t->epochs)
        sd_retire(&t->limbo, t->epochs, cells, sd_exact_directory_free, NULL);
    else
        sd_exact_directory_free(cells, NULL);
}

/* Makes the directory one bit deeper; there is room in limbo for the old one. */
SD_LOCAL uint32_t sd_exact_deepen(struct sd_exact *t, enum sd_exact_need need)
{
    uint32_t depth = sd_exact_depth(t);
    /* Hashes that share many bits would lead to a directory that is larger than what it leads to. */
    uint64_t n_bytes = (uint64_t)2 * sizeof(uint64_t) << depth;
    bool is_too_large = n_bytes > t->n_segments_bytes / 8 + SD_EXACT_CHUNK_BYTES_MIN / 8;
    if (depth >= SD_EXACT_DEPTH_MAX || (is_too_large && need == SD_EXACT_FOR_A_KEY))
        return SD_FULL;
    uint64_t *old = sd_exact_cells(t), *cells = sd_alloc_lines((size_t)2 << depth, sizeof *cells);
    if (!cells)
        return SD_NO_MEMORY;
    for (uint64_t i = 0; i < (uint64_t)2 << depth; i++)
        cells[i] = old[i / 2];
    sd_exact_use_directory(t, cells, depth + 1);
    sd_exact_directory_retire(t, old);
    return SD_OK;
}

/* Lets a segment's cells of the directory lead to what takes its place: one segment, or two. */
SD_LOCAL void sd_exact_lead_to(struct sd_exact *t, uint64_t prefix, const struct sd_exact_segment *segment)
{
    uint64_t *cells = sd_exact_cells(t);
    uint64_t cell = sd_exact_cell_to(segment + 1, segment->n_buckets);
    uint64_t first = prefix >> (64 - sd_exact_depth(t));
    for (uint64_t i = 0; i < (uint64_t)1 << (sd_exact_depth(t) - segment->depth); i++)
        __atomic_store_n(&cells[first + i], cell, __ATOMIC_RELEASE);
}

/* Entries of a segment, and slots that are lost or wait for readers; up to `enough` entries. */
SD_LOCAL void sd_exact_count(const struct sd_exact *t, const struct sd_exact_segment *segment, uint64_t enough,
                             uint64_t *n_entries, uint64_t *n_removed)
{
    const uint8_t *bucket = (const uint8_t *)(segment + 1);
    *n_entries = *n_removed = 0;
    for (uint32_t i = 0; i < segment->n_buckets && *n_entries < enough; i++, bucket += t->bucket_bytes) {
        *n_entries += (uint32_t)__builtin_popcount(sd_exact_used(bucket));
        *n_removed += (uint32_t)__builtin_popcount(sd_exact_match(bucket, SD_EXACT_REMOVED) & SD_EXACT_LANES_ONCE);
    }
}

/*
 * Replaces the segment of this hash by a larger one, or by two, or by one of the same size without lost slots.
 * SD_FULL where that would not help: more keys meet than chance lets. But for SD_OK nothing has changed that
 * lookups see.
 */
static SD_UNUSED __attribute__((noinline)) uint32_t sd_exact_rebuild(struct sd_exact *t, uint64_t hash,
                                                                     enum sd_exact_need need)
{
    struct sd_exact_segment *old = sd_exact_segment_of(sd_exact_cell(t, hash));
    uint32_t depth = old->depth, n = old->n_buckets;
    uint64_t prefix = depth ? hash & ~(UINT64_MAX >> depth) : 0;
    uint32_t max = t->n_buckets_max[sd_exact_class_of(prefix)];
    uint64_t n_slots = (uint64_t)n * SD_EXACT_SLOTS, n_entries, n_removed;
    /* More decide nothing below. */
    sd_exact_count(t, old, n_slots / (t->n_removed > 0 ? 2 : 8) + 1, &n_entries, &n_removed);
    if (t->epochs && !sd_limbo_reserve(&t->limbo, 2))
        return SD_NO_MEMORY;
    struct sd_exact_segment *to[2] = {NULL, NULL};
    bool has_split = false;
    if (n_removed > 0 && n_entries * 2 < n_slots) {
        to[0] = sd_exact_segment_new(t, prefix, depth, n);
    } else if ((uint64_t)n * 4 <= (uint64_t)max * 3) {
        /* Larger by a third at least: what found no place finds it there. */
        to[0] = sd_exact_segment_new(t, prefix, depth, (uint64_t)n * 3 <= max ? n * 2 : max);
    } else if (n_entries * 8 < n_slots && need == SD_EXACT_FOR_A_KEY) {
        return SD_FULL;
    } else {
        uint32_t status = depth == sd_exact_depth(t) ? sd_exact_deepen(t, need) : SD_OK;
        if (status != SD_OK)
            return status;
        has_split = true;
        depth++;
        for (uint32_t i = 0; i < 2; i++) {
            uint64_t child = prefix | (uint64_t)i << (64 - depth);
            to[i] = sd_exact_segment_new(t, child, depth, t->n_buckets_max[sd_exact_class_of(child)]);
        }
    }
    if (!to[0] || (has_split && !to[1]) || !sd_exact_copy(t, old, to, has_split ? depth : 0)) {
        uint32_t status = !to[0] || (has_split && !to[1]) ? SD_NO_MEMORY : SD_FULL;
        for (uint32_t i = 0; i < 2; i++)
            if (to[i])
                sd_exact_segment_drop(t, to[i]);
        return status;
    }
    sd_exact_lead_to(t, prefix, to[0]);
    if (has_split)
        sd_exact_lead_to(t, prefix | (uint64_t)1 << (64 - depth), to[1]);
    sd_exact_segment_retire(t, old);
    return SD_OK;
}

#endif
