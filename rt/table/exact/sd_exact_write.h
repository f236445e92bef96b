/*
 * The writer of an exact table: making it, adding, removing and replacing entries.
 *
 * Invariant: what fails has changed nothing that lookups see.
 */
#ifndef SD_EXACT_WRITE_H
#define SD_EXACT_WRITE_H

#include "table/exact/sd_exact_grow.h"

/* --- What the writer does --- */

SD_LOCAL void sd_exact_free(struct sd_exact *t)
{
    sd_limbo_free(&t->limbo);
    uint64_t *cells = sd_exact_cells(t);
    for (uint64_t i = 0; cells && i < (uint64_t)1 << sd_exact_depth(t);) {
        struct sd_exact_segment *segment = sd_exact_segment_of(cells[i]);
        i += (uint64_t)1 << (sd_exact_depth(t) - segment->depth);
        if (segment->size_class == SD_EXACT_OWN)
            free(segment);
    }
    for (uint64_t i = 0; i < t->n_chunks; i++)
        sd_unmap_large(t->chunks[i].bytes, t->chunks[i].n_bytes);
    free(cells);
    free(t->secrets);
    free(t->removed);
    free(t->chunks);
    memset(t, 0, sizeof *t);
}

/* `epochs` are those of its readers, NULL when the writer alone reads. False when memory is short. */
SD_LOCAL bool sd_exact_init(struct sd_exact *t, struct sd_exact_shape shape, uint64_t seed,
                                    uint64_t n_entries_max, struct sd_epochs *epochs)
{
    memset(t, 0, sizeof *t);
    t->epochs = epochs;
    t->n_entries_max = n_entries_max;
    t->bucket_bytes = sd_exact_bucket_bytes(shape);
    t->shape = shape;
    size_t base = SD_EXACT_BASE_BYTES / t->bucket_bytes;
    base = base > SD_EXACT_BASE_BUCKETS_MAX ? SD_EXACT_BASE_BUCKETS_MAX : base < 8 ? 8 : base;
    /* Powers of the eighth root of two. */
    static const uint16_t thousandths[SD_EXACT_N_CLASSES] = {1000, 1091, 1189, 1297, 1414, 1542, 1682, 1834};
    for (uint32_t i = 0; i < SD_EXACT_N_CLASSES; i++)
        t->n_buckets_max[i] = (uint32_t)(base * thousandths[i] / 1000);
    size_t n_secrets = SD_EXACT_N_SECRETS(shape.key_bytes);
    t->secrets = sd_alloc_lines(n_secrets, sizeof *t->secrets);
    uint64_t *cells = sd_alloc_lines(2, sizeof *cells);
    struct sd_exact_segment *segment = sd_exact_segment_new(t, 0, 0, 1);
    if (!t->secrets || !cells || !segment) {
        free(t->secrets);
        free(cells);
        free(segment);
        memset(t, 0, sizeof *t);
        return false;
    }
    sd_secrets_init(t->secrets, n_secrets, seed);
    t->directory = (uint64_t)(uintptr_t)cells | 63;
    sd_exact_lead_to(t, 0, segment);
    return true;
}

/* A slot that was found for a key. */
struct sd_exact_room {
    /* Segment of the slot; NULL if the slot was found in the home bucket without a search. */
    struct sd_exact_segment *segment;
    struct sd_exact_place place;
    uint32_t distance;
};

SD_ALWAYS_INLINE bool sd_exact_room_in(const struct sd_exact *t, uint64_t hash, struct sd_exact_room *room)
{
    uint64_t cell = sd_exact_cell(t, hash);
    room->segment = sd_exact_segment_of(cell);
    uint32_t n_buckets = sd_exact_n_buckets(cell);
    return sd_exact_slot(sd_exact_buckets(cell), n_buckets, t->bucket_bytes, sd_exact_home_index(hash, n_buckets),
                         &room->place, &room->distance);
}

/* A slot away from home may be used; false if the segment has so many that it is replaced. */
SD_ALWAYS_INLINE bool sd_exact_may_use(const struct sd_exact_room *room)
{
    return room->distance == 0 || room->segment->n_displaced < sd_exact_displaced_max(room->segment->n_buckets);
}

/* Finds a slot for a key whose home is full: one that readers have left, one away from home, or one in a larger segment. */
static SD_UNUSED __attribute__((noinline)) uint32_t sd_exact_make_room(struct sd_exact *t, uint64_t hash,
                                                                       struct sd_exact_room *room)
{
    sd_exact_collect(t);
    for (;;) {
        bool has_room = sd_exact_room_in(t, hash, room);
        if (has_room && sd_exact_may_use(room))
            return SD_OK;
        uint32_t status = sd_exact_rebuild(t, hash, SD_EXACT_FOR_A_KEY);
        if (status != SD_OK)
            return has_room ? SD_OK : status;
        if (has_room && sd_exact_room_in(t, hash, room))
            return SD_OK;
    }
}

SD_ALWAYS_INLINE uint32_t sd_exact_room(struct sd_exact *t, uint64_t hash, struct sd_exact_room *room)
{
    bool has_room = sd_exact_room_in(t, hash, room);
    if (SD_LIKELY(has_room && (room->distance == 0 || (t->n_removed == 0 && sd_exact_may_use(room)))))
        return SD_OK;
    return sd_exact_make_room(t, hash, room);
}

/* sd_exact_seek for a key that may be away from home. */
static SD_UNUSED __attribute__((noinline)) uint32_t sd_exact_seek_away(struct sd_exact *t, const void *key,
                                                                       uint64_t hash, struct sd_exact_room *room)
{
    struct sd_exact_place place;
    return sd_exact_search(t, t->shape, key, hash, &place) ? SD_EXISTS : sd_exact_room(t, hash, room);
}

/* A slot for a key that is not there, in one look at its home: SD_OK, SD_EXISTS, SD_FULL or SD_NO_MEMORY. */
SD_ALWAYS_INLINE uint32_t sd_exact_seek(struct sd_exact *t, struct sd_exact_shape shape, const void *key, uint64_t hash,
                                        struct sd_exact_room *room)
{
    uint8_t *home = sd_exact_home_of(t, shape, hash);
    if (SD_UNLIKELY(sd_exact_find_in(shape, home, key, hash) != NULL))
        return SD_EXISTS;
    uint32_t empty = sd_exact_match(home, SD_EXACT_EMPTY);
    if (SD_UNLIKELY(empty == 0 || SD_EXACT_HOME_REACH(sd_exact_home(home)) > 0))
        return sd_exact_seek_away(t, key, hash, room);
    *room = (struct sd_exact_room){NULL, {home, home, sd_exact_lane(empty)}, 0};
    return SD_OK;
}

SD_ALWAYS_INLINE void sd_exact_put(struct sd_exact_shape shape, const struct sd_exact_room *room, const void *key,
                                   const void *value, uint64_t hash)
{
    uint8_t *entry = sd_exact_entry(shape, room->place.bucket, room->place.lane);
    memcpy(entry, key, shape.key_bytes);
    memcpy(entry + sd_exact_value_at(shape), value, shape.value_bytes);
    sd_exact_publish(room->segment, &room->place, room->distance, hash);
}

/* The writer's own lookup: nothing moves meanwhile. The entry, or NULL. */
SD_ALWAYS_INLINE uint8_t *sd_exact_find_hashed(const struct sd_exact *t, struct sd_exact_shape shape, const void *key,
                                               uint64_t hash)
{
    uint8_t *home = sd_exact_home_of(t, shape, hash);
    uint8_t *entry = sd_exact_find_in(shape, home, key, hash);
    struct sd_exact_place place;
    if (SD_LIKELY(entry != NULL || SD_EXACT_HOME_REACH(sd_exact_home(home)) == 0))
        return entry;
    return sd_exact_search(t, shape, key, hash, &place);
}

SD_ALWAYS_INLINE uint32_t sd_exact_insert_hashed(struct sd_exact *t, struct sd_exact_shape shape, const void *key,
                                                 const void *value, uint64_t hash)
{
    if (SD_UNLIKELY(t->n_entries >= t->n_entries_max))
        return sd_exact_find_hashed(t, shape, key, hash) ? SD_EXISTS : SD_FULL;
    struct sd_exact_room room;
    uint32_t status = sd_exact_seek(t, shape, key, hash, &room);
    if (SD_UNLIKELY(status != SD_OK))
        return status;
    sd_exact_put(shape, &room, key, value, hash);
    sd_exact_add_entries(t, 1);
    return SD_OK;
}

/* SD_OK, SD_EXISTS, SD_FULL or SD_NO_MEMORY; but for SD_OK the table is as it was. */
SD_ALWAYS_INLINE uint32_t sd_exact_insert(struct sd_exact *t, struct sd_exact_shape shape, const void *key,
                                          const void *value)
{
    return sd_exact_insert_hashed(t, shape, key, value, sd_exact_hash(t->secrets, key, shape.key_bytes));
}

/*
 * Inserts in steps, so that memory for later ones comes while earlier ones are made: the hash, and the tags at home are
 * asked for; up to two groups later the slot that they say; as many later the insert itself. Segments may have been
 * replaced in between, so that each step finds the home again. In groups, because waiting for the translation of one
 * address, as a request does that misses the TLB, then overlaps with that for the next ones.
 */
#define SD_EXACT_GROUP 8u
/* Hashes that are kept until then: a power of two that is at least five groups. */
#define SD_EXACT_N_UNDER_WAY 64u

/* The elements of the group that begins at `from`, of `n`: none if that is behind them, or before the first (and so a large number). */
#define SD_EXACT_EACH(i, from, n) for (uint64_t i = (from); i < (from) + SD_EXACT_GROUP && i < (n); i++)

SD_ALWAYS_INLINE uint32_t sd_exact_lead(uint32_t n)
{
    return n > SD_EXACT_GROUP ? 2 * SD_EXACT_GROUP : SD_EXACT_GROUP;
}

SD_ALWAYS_INLINE uint64_t sd_exact_start_insert(const struct sd_exact *t, struct sd_exact_shape shape, const void *key)
{
    uint64_t hash = sd_exact_hash(t->secrets, key, shape.key_bytes);
    __builtin_prefetch(sd_exact_home_of(t, shape, hash), 1);
    return hash;
}

SD_ALWAYS_INLINE void sd_exact_prefetch_insert(const struct sd_exact *t, struct sd_exact_shape shape, uint64_t hash)
{
    uint8_t *home = sd_exact_home_of(t, shape, hash);
    /* If all lanes are in use: the lane behind the last one, which is the next bucket's tags. */
    uint32_t lanes = sd_exact_match(home, SD_EXACT_EMPTY) | 1u << 2 * SD_EXACT_SLOTS;
    uint8_t *entry = sd_exact_entry(shape, home, sd_exact_lane(lanes));
    __builtin_prefetch(entry, 1);
    __builtin_prefetch(entry + (sd_exact_entry_bytes(shape) > 8 ? sd_exact_entry_bytes(shape) - 1 : 8), 1);
}

/* Inserts `n` entries as sd_exact_insert does; of two with one key the first. `statuses` (enum sd_status) may be NULL. Returns
   the number inserted. */
SD_ALWAYS_INLINE uint32_t sd_exact_insert_batch(struct sd_exact *t, struct sd_exact_shape shape, const void *keys,
                                                size_t key_stride, const void *values, size_t value_stride,
                                                uint32_t n, uint8_t *statuses)
{
    const uint8_t *key = keys, *value = values;
    uint64_t hashes[SD_EXACT_N_UNDER_WAY];
    uint32_t n_inserted = 0, lead = sd_exact_lead(n);
    for (uint64_t at = 0; at < (uint64_t)n + 2 * lead; at += SD_EXACT_GROUP) {
        uint64_t near = at - lead, now = near - lead;
        SD_EXACT_EACH(i, at, n)
            hashes[i % SD_EXACT_N_UNDER_WAY] = sd_exact_start_insert(t, shape, key + i * key_stride);
        SD_EXACT_EACH(i, near, n)
            sd_exact_prefetch_insert(t, shape, hashes[i % SD_EXACT_N_UNDER_WAY]);
        SD_EXACT_EACH(i, now, n) {
            uint64_t hash = hashes[i % SD_EXACT_N_UNDER_WAY];
            uint32_t status = sd_exact_insert_hashed(t, shape, key + i * key_stride, value + i * value_stride, hash);
            n_inserted += status == SD_OK;
            if (statuses)
                statuses[i] = (uint8_t)status;
        }
    }
    return n_inserted;
}

/* An entry is away no longer. */
SD_LOCAL void sd_exact_came_home(const struct sd_exact *t, uint64_t hash, uint8_t *home_bucket)
{
    uint32_t home = sd_exact_home(home_bucket) - SD_EXACT_HOME_AWAY;
    if (SD_EXACT_HOME_N_AWAY(home) == 0)
        home -= SD_EXACT_HOME_REACH(home);
    sd_exact_set_home(home_bucket, home);
    sd_exact_segment_of(sd_exact_cell(t, hash))->n_displaced--;
}

/* Prefetches, for a change, the home of a key; then the entry there that the tags lead to. */
SD_ALWAYS_INLINE uint64_t sd_exact_start_change(const struct sd_exact *t, struct sd_exact_shape shape, const void *key)
{
    return sd_exact_start_insert(t, shape, key);
}

SD_ALWAYS_INLINE uint8_t *sd_exact_prefetch_change(const struct sd_exact *t, struct sd_exact_shape shape, uint64_t hash)
{
    uint8_t *home = sd_exact_home_of(t, shape, hash);
    uint32_t lanes = sd_exact_match(home, (uint16_t)hash);
    uint8_t *entry = lanes ? sd_exact_entry(shape, home, sd_exact_lane(lanes)) : NULL;
    /* If none agrees: the next bucket's tags. */
    uint8_t *at = entry ? entry : sd_exact_entry(shape, home, SD_EXACT_SLOTS);
    __builtin_prefetch(at, 1);
    __builtin_prefetch(at + (sd_exact_entry_bytes(shape) > 8 ? sd_exact_entry_bytes(shape) - 1 : 8), 1);
    return entry;
}

/* SD_OK or SD_NOT_FOUND. */
SD_LOCAL uint32_t sd_exact_remove_hashed(struct sd_exact *t, struct sd_exact_shape shape, const void *key, uint64_t hash)
{
    struct sd_exact_place place;
    if (!sd_exact_search(t, shape, key, hash, &place))
        return SD_NOT_FOUND;
    sd_exact_take_out(t, &place);
    if (place.bucket != place.home)
        sd_exact_came_home(t, hash, place.home);
    sd_exact_add_entries(t, -UINT64_C(1));
    return SD_OK;
}

SD_LOCAL uint32_t sd_exact_remove(struct sd_exact *t, struct sd_exact_shape shape, const void *key)
{
    return sd_exact_remove_hashed(t, shape, key, sd_exact_hash(t->secrets, key, shape.key_bytes));
}

/* SD_OK, SD_NOT_FOUND, SD_FULL or SD_NO_MEMORY; readers find the old value or the new one. */
SD_LOCAL uint32_t sd_exact_replace_hashed(struct sd_exact *t, struct sd_exact_shape shape, const void *key,
                                          const void *value, uint64_t hash)
{
    struct sd_exact_place place;
    uint8_t *entry = sd_exact_search(t, shape, key, hash, &place);
    if (!entry)
        return SD_NOT_FOUND;
    if (shape.is_word) {
        uint8_t *at = entry + sd_exact_value_at(shape);
        uint64_t word = 0;
        memcpy(&word, value, shape.value_bytes);
        if (shape.value_bytes > 4)
            __atomic_store_n((uint64_t *)(void *)at, word, __ATOMIC_RELEASE);
        else
            __atomic_store_n((uint32_t *)(void *)at, (uint32_t)word, __ATOMIC_RELEASE);
        return SD_OK;
    }
    if (!t->epochs) {
        memcpy(entry + sd_exact_value_at(shape), value, shape.value_bytes);
        return SD_OK;
    }
    struct sd_exact_room room;
    uint32_t status = sd_exact_room(t, hash, &room);
    if (status != SD_OK)
        return status;
    /* Making room may have moved it. */
    sd_exact_search(t, shape, key, hash, &place);
    sd_exact_put(shape, &room, key, value, hash);
    sd_exact_set_home(place.home, sd_exact_home(place.home) + SD_EXACT_HOME_MOVES);
    sd_exact_take_out(t, &place);
    if (place.bucket != place.home)
        sd_exact_came_home(t, hash, place.home);
    return SD_OK;
}

SD_LOCAL uint32_t sd_exact_replace(struct sd_exact *t, struct sd_exact_shape shape, const void *key, const void *value)
{
    return sd_exact_replace_hashed(t, shape, key, value, sd_exact_hash(t->secrets, key, shape.key_bytes));
}

/* --- Changes at home: of most keys, in code that knows the shape --- */

/* The lane of the key in its home bucket; SD_EXACT_SLOTS: it is not there, but may be elsewhere. */
SD_ALWAYS_INLINE uint32_t sd_exact_lane_at_home(struct sd_exact_shape shape, uint8_t *home, const void *key, uint64_t hash)
{
    for (uint32_t lanes = sd_exact_match(home, (uint16_t)hash); lanes;) {
        uint32_t lane = sd_exact_lane(lanes);
        if (SD_LIKELY(sd_key_equal(key, sd_exact_entry(shape, home, lane), NULL, shape.key_bytes)))
            return lane;
        lanes = sd_exact_without(lanes, lane);
    }
    return SD_EXACT_SLOTS;
}

/* Removes an entry that lies at home. */
SD_ALWAYS_INLINE void sd_exact_remove_at_home(struct sd_exact *t, uint8_t *home, uint32_t lane)
{
    sd_exact_take_out(t, &(struct sd_exact_place){home, home, lane});
    sd_exact_add_entries(t, -UINT64_C(1));
}

/* A free lane at home for the new value of an entry there; SD_EXACT_SLOTS: none, or the value is written in place. */
SD_ALWAYS_INLINE uint32_t sd_exact_free_lane(const struct sd_exact *t, struct sd_exact_shape shape, const uint8_t *home)
{
    uint32_t empty = sd_exact_match(home, SD_EXACT_EMPTY);
    return empty && t->epochs && !shape.is_word ? sd_exact_lane(empty) : SD_EXACT_SLOTS;
}

/* Lets the entry that was written to a free lane at home take the place of the one in `lane`. */
SD_ALWAYS_INLINE void sd_exact_replace_at_home(struct sd_exact *t, uint8_t *home, uint32_t lane, uint32_t free_lane,
                                               uint64_t hash)
{
    sd_exact_set_tag(home, free_lane, (uint16_t)hash);
    sd_exact_set_home(home, sd_exact_home(home) + SD_EXACT_HOME_MOVES);
    sd_exact_take_out(t, &(struct sd_exact_place){home, home, lane});
}

SD_INLINE uint64_t sd_exact_n_entries(const struct sd_exact *t)
{
    return t->n_entries;
}

/* All memory of the table, with retired and reserved segments. */
SD_LOCAL uint64_t sd_exact_bytes(const struct sd_exact *t)
{
    uint64_t n = t->n_segments_bytes + ((uint64_t)sizeof(uint64_t) << sd_exact_depth(t));
    for (uint32_t i = 0; i <= SD_EXACT_N_CLASSES; i++) {
        const struct sd_exact_segment *unused = i < SD_EXACT_N_CLASSES ? t->free_segments[i] : t->free_cut;
        for (; unused; unused = unused->next_free)
            n += sd_exact_segment_bytes(t, unused->n_buckets_room);
    }
    for (uint64_t i = 0; i < t->limbo.n; i++) {
        const struct sd_retired *retired = &t->limbo.retired[(t->limbo.first + i) & (t->limbo.capacity - 1)];
        if (retired->free_function == sd_exact_segment_free)
            n += sd_exact_segment_bytes(t, ((const struct sd_exact_segment *)retired->pointer)->n_buckets_room);
    }
    n += sd_exact_chunk_left(t);
    return n + t->removed_capacity * sizeof *t->removed + t->limbo.capacity * sizeof *t->limbo.retired;
}

#endif
