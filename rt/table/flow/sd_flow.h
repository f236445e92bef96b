/*
 * Entries that workers add: a hash table of fixed size with many writers.
 *
 * Owns: struct sd_flow and lookups in it; sd_flow_write.h adds and removes. Where to start: sd_flow_find.
 *
 * A bucket is that of sd_exact.h: 15 tags of 16 bits and a word about the keys at home here, then 15 entries. A key that finds
 * its home full lies up to SD_FLOW_REACH_MAX buckets behind it. There are no segments and there is no growth: all memory is there
 * from the beginning, so no packet waits for a copy, and a flood of new keys takes no more.
 *
 * A writer locks the home of a key, a bit of the word, for the time of one change. The holder alone changes the word and
 * decides about the keys at home. A free slot behind the home is taken under the lock of its bucket, which is tried, never
 * waited for: no two writers wait for each other. Tags are stored one by one, so a tag may be cleared without the lock of its
 * bucket.
 *
 * Readers take no locks. An entry is complete when its tag is published; a slot is used again when all workers have passed
 * a boundary since its tag was cleared (sd_epoch.h). What a reader found is good until its next boundary.
 *
 * An entry ends when it was not hit for the time of its profile: for lookups at once, whenever its slot is taken from it.
 *
 * Hashes are secret (sd_index.h), so an attacker who does not know the secrets cannot choose keys that collide.
 */
#ifndef SD_FLOW_H
#define SD_FLOW_H

#include "table/exact/sd_exact.h"

/* Tests that try all orders of steps have them end here; `bucket`: where its lock is free. */
#if !defined(SD_FLOW_TEST_STEP)
#define SD_FLOW_TEST_STEP(bucket) ((void)(bucket))
#endif

#define SD_FLOW_SLOTS SD_EXACT_SLOTS
#define SD_FLOW_REACH_MAX 7u
/* Profiles of timeouts of a table. */
#define SD_FLOW_N_PROFILES 256u
/* The timeout of entries that do not end. */
#define SD_FLOW_NO_TIMEOUT INT64_MAX
/* Hits are noted in whole units of this. */
#define SD_FLOW_TICK_NS UINT64_C(1000000)
/* Percent of the slots that entries may take: of 12 million keys none lacked a slot in reach, of as many at 66 percent 32. */
#define SD_FLOW_LOAD 60u

enum sd_flow_flag {
    /* The control plane has added it; otherwise a packet. */
    SD_FLOW_BY_CONTROLLER = 1,
    /* It is neither modified nor removed. */
    SD_FLOW_CONST = 2,
    /* The timeout is not that of a profile: it lies behind the data. */
    SD_FLOW_OWN_TIMEOUT = 4,
    /* The control plane knows that the timeout has passed since the last hit. */
    SD_FLOW_REPORTED = 8
};

/* The key follows, then the data at a multiple of 8, then the extra bytes at a multiple of 16. */
struct sd_flow_entry {
    /* Time of the last hit that restarted the timer, in whole ticks. */
    uint64_t last_hit_ns;
    /* Entries that the slot has had: with its number the name of the entry. */
    uint32_t n_uses;
    uint16_t action;
    uint8_t profile;
    /* enum sd_flow_flag */
    uint8_t flags;
};

_Static_assert(sizeof(struct sd_flow_entry) == 16, "a key of 16 bytes with its data takes little more than a line");

/* Sizes of keys and data: compile-time constants on the lookup path. */
struct sd_flow_shape {
    uint32_t key_bytes;
    uint32_t data_bytes;
    /* Behind the data: the timeout of the entry itself, if entries have timeouts, then what the table's owner has there. */
    uint32_t extra_bytes;
};

struct sd_flow {
    uint8_t *buckets;
    uint32_t n_buckets;
    struct sd_flow_shape shape;
    uint64_t *secrets;
    struct sd_epochs *epochs;
    /* Entries end. Otherwise their timeouts only say when the control plane hears of them. */
    bool deletes;
    /* By profile, at most SD_FLOW_NO_TIMEOUT; an entry with 0 ends at once. */
    int64_t timeouts_ns[SD_FLOW_N_PROFILES];
    /* Entries that writers may still add, but for those that they have in hand. */
    int64_t n_left __attribute__((aligned(SD_LINE_BYTES)));
    /* The bucket at which the next sweep begins, not reduced to their number. */
    uint64_t sweep_at __attribute__((aligned(SD_LINE_BYTES)));
};

/* --- Layout --- */

SD_ALWAYS_INLINE uint32_t sd_flow_data_at(struct sd_flow_shape shape)
{
    return (uint32_t)sd_round_up(sizeof(struct sd_flow_entry) + shape.key_bytes, 8);
}

SD_ALWAYS_INLINE uint32_t sd_flow_extra_at(struct sd_flow_shape shape)
{
    return (uint32_t)sd_round_up(sd_flow_data_at(shape) + shape.data_bytes, shape.extra_bytes ? 16 : 8);
}

SD_ALWAYS_INLINE uint32_t sd_flow_entry_bytes(struct sd_flow_shape shape)
{
    return (uint32_t)sd_round_up(sd_flow_extra_at(shape) + shape.extra_bytes, shape.extra_bytes ? 16 : 8);
}

/* A multiple of the tags' size, so that tags are in one cache line. */
SD_ALWAYS_INLINE uint32_t sd_flow_bucket_bytes(struct sd_flow_shape shape)
{
    return (uint32_t)sd_round_up(SD_EXACT_TAGS_BYTES + SD_FLOW_SLOTS * sd_flow_entry_bytes(shape), SD_EXACT_TAGS_BYTES);
}

SD_ALWAYS_INLINE struct sd_flow_entry *sd_flow_entry(struct sd_flow_shape shape, uint8_t *bucket, uint32_t lane)
{
    return (struct sd_flow_entry *)(void *)(bucket + SD_EXACT_TAGS_BYTES + lane * sd_flow_entry_bytes(shape));
}

SD_ALWAYS_INLINE uint8_t *sd_flow_key(struct sd_flow_entry *e)
{
    return (uint8_t *)(e + 1);
}

SD_ALWAYS_INLINE uint8_t *sd_flow_data(struct sd_flow_shape shape, struct sd_flow_entry *e)
{
    return (uint8_t *)e + sd_flow_data_at(shape);
}

SD_ALWAYS_INLINE uint8_t *sd_flow_extra(struct sd_flow_shape shape, struct sd_flow_entry *e)
{
    return (uint8_t *)e + sd_flow_extra_at(shape);
}

SD_ALWAYS_INLINE uint8_t *sd_flow_bucket(const struct sd_flow *t, struct sd_flow_shape shape, uint32_t index)
{
    return t->buckets + (size_t)index * sd_flow_bucket_bytes(shape);
}

/* The bucket `distance` behind another one. */
SD_ALWAYS_INLINE uint32_t sd_flow_behind(const struct sd_flow *t, uint32_t index, uint32_t distance)
{
    uint32_t at = index + distance;
    return at < t->n_buckets ? at : at - t->n_buckets;
}

SD_ALWAYS_INLINE uint64_t sd_flow_hash(const struct sd_flow *t, struct sd_flow_shape shape, const void *key)
{
    return sd_exact_hash(t->secrets, key, shape.key_bytes);
}

SD_ALWAYS_INLINE uint32_t sd_flow_home(const struct sd_flow *t, uint64_t hash)
{
    return sd_exact_home_index(hash, t->n_buckets);
}

/* --- Tags and the word about the keys at home --- */

/* Other tags of the bucket may change meanwhile. All that was written before is there when readers see the tag. */
SD_ALWAYS_INLINE void sd_flow_set_tag(uint8_t *bucket, uint32_t lane, uint16_t tag)
{
#if defined(SD_EXACT_ATOMIC_TAGS)
    /* The whole word, as readers load it: ThreadSanitizer then sees that the two belong together. */
    uint64_t *word = (uint64_t *)(void *)bucket + lane / 4, tags = __atomic_load_n(word, __ATOMIC_RELAXED), changed;
    unsigned shift = lane % 4 * 16;
    do
        changed = (tags & ~(UINT64_C(0xffff) << shift)) | (uint64_t)tag << shift;
    while (!__atomic_compare_exchange_n(word, &tags, changed, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
#else
    __atomic_store_n((uint16_t *)(void *)bucket + lane, tag, __ATOMIC_RELEASE);
#endif
}

/*
 * How many buckets further some keys lie (3 bits), how many lie elsewhere (5), how often one has moved (7), and the lock.
 * Moves cannot come round while a reader looks: each leaves a slot that waits for it, of at most 120.
 */
#define SD_FLOW_REACH(word) ((word) & 7u)
#define SD_FLOW_AWAY (1u << 3)
#define SD_FLOW_N_AWAY(word) ((word) >> 3 & 31u)
#define SD_FLOW_N_AWAY_MAX 31u
#define SD_FLOW_MOVE (1u << 8)
#define SD_FLOW_MOVES(word) ((word) >> 8 & 127u)
#define SD_FLOW_LOCK (1u << 15)

SD_ALWAYS_INLINE uint16_t *sd_flow_word_at(uint8_t *bucket)
{
    return (uint16_t *)(void *)bucket + SD_FLOW_SLOTS;
}

SD_ALWAYS_INLINE uint32_t sd_flow_word(uint8_t *bucket)
{
    return __atomic_load_n(sd_flow_word_at(bucket), __ATOMIC_ACQUIRE);
}

/* --- Lookup --- */

/* The timeout of an entry. */
SD_ALWAYS_INLINE int64_t sd_flow_timeout_ns(const struct sd_flow *t, const struct sd_flow_entry *e)
{
    if (SD_UNLIKELY(__atomic_load_n(&e->flags, __ATOMIC_RELAXED) & SD_FLOW_OWN_TIMEOUT)) {
        const int64_t *own = (const int64_t *)(const void *)((const uint8_t *)e + sd_flow_extra_at(t->shape));
        return __atomic_load_n(own, __ATOMIC_RELAXED);
    }
    return __atomic_load_n(&t->timeouts_ns[__atomic_load_n(&e->profile, __ATOMIC_RELAXED)], __ATOMIC_RELAXED);
}

/* Returns whether the timeout of an entry has passed. Clocks of workers differ a little, so it may have been hit later. */
SD_ALWAYS_INLINE bool sd_flow_is_over(const struct sd_flow *t, const struct sd_flow_entry *e, uint64_t now_ns)
{
    uint64_t last_hit_ns = __atomic_load_n(&e->last_hit_ns, __ATOMIC_RELAXED);
    return (int64_t)(now_ns - last_hit_ns) >= sd_flow_timeout_ns(t, e);
}

/* Returns whether an entry has ended at a time. */
SD_ALWAYS_INLINE bool sd_flow_has_ended(const struct sd_flow *t, const struct sd_flow_entry *e, uint64_t now_ns)
{
    return t->deletes && sd_flow_is_over(t, e, now_ns);
}

SD_ALWAYS_INLINE struct sd_flow_entry *sd_flow_find_in(struct sd_flow_shape shape, uint8_t *bucket, const void *key,
                                                       uint64_t hash, uint32_t *lane)
{
    for (uint32_t lanes = sd_exact_match(bucket, (uint16_t)hash); lanes; lanes = sd_exact_without(lanes, *lane)) {
        *lane = sd_exact_lane(lanes);
        struct sd_flow_entry *e = sd_flow_entry(shape, bucket, *lane);
        if (SD_LIKELY(sd_key_equal(key, sd_flow_key(e), NULL, shape.key_bytes)))
            return e;
    }
    return NULL;
}

/* Two steps ahead of a lookup, between which other packets run: the tags at home; then the entry that they lead to, or if there is
   none the slot of a new one. For writing: hits restart timers, and misses add. */
SD_ALWAYS_INLINE void sd_flow_prefetch_home(const struct sd_flow *t, struct sd_flow_shape shape, uint64_t hash)
{
    __builtin_prefetch(sd_flow_bucket(t, shape, sd_flow_home(t, hash)), 1);
}

SD_ALWAYS_INLINE void sd_flow_prefetch_entry(const struct sd_flow *t, struct sd_flow_shape shape, uint64_t hash)
{
    uint8_t *bucket = sd_flow_bucket(t, shape, sd_flow_home(t, hash));
    uint32_t lanes = sd_exact_match(bucket, (uint16_t)hash);
    /* If no lane is free either: the one behind the last, which is the next bucket's tags. */
    lanes = lanes ? lanes : sd_exact_match(bucket, SD_EXACT_EMPTY) | 1u << 2 * SD_FLOW_SLOTS;
    const uint8_t *entry = (const uint8_t *)sd_flow_entry(shape, bucket, sd_exact_lane(lanes));
    __builtin_prefetch(entry, 1);
    __builtin_prefetch(entry + sd_flow_entry_bytes(shape) - 1, 1);
}

/* Behind the home, and at home again if keys have moved meanwhile. */
static SD_UNUSED __attribute__((noinline)) struct sd_flow_entry *sd_flow_search(const struct sd_flow *t, const void *key,
                                                                                uint64_t hash)
{
    struct sd_flow_shape shape = t->shape;
    uint32_t home = sd_flow_home(t, hash), lane;
    uint8_t *home_bucket = sd_flow_bucket(t, shape, home);
    for (uint32_t word = sd_flow_word(home_bucket), before;;) {
        for (uint32_t i = 0; i <= SD_FLOW_REACH(word); i++) {
            uint8_t *bucket = sd_flow_bucket(t, shape, sd_flow_behind(t, home, i));
            SD_FLOW_TEST_STEP(NULL);
            struct sd_flow_entry *e = sd_flow_find_in(shape, bucket, key, hash, &lane);
            if (e)
                return e;
        }
        before = word;
        word = sd_flow_word(home_bucket);
        if (SD_FLOW_MOVES(word) == SD_FLOW_MOVES(before) && SD_FLOW_REACH(word) <= SD_FLOW_REACH(before))
            return NULL;
    }
}

/* The entry of a key, or NULL; it may have ended. */
SD_ALWAYS_INLINE struct sd_flow_entry *sd_flow_find_any(const struct sd_flow *t, struct sd_flow_shape shape,
                                                        const void *key, uint64_t hash)
{
    uint32_t lane;
    uint8_t *bucket = sd_flow_bucket(t, shape, sd_flow_home(t, hash));
    uint32_t before = sd_flow_word(bucket);
    SD_FLOW_TEST_STEP(NULL);
    struct sd_flow_entry *e = sd_flow_find_in(shape, bucket, key, hash, &lane);
    if (SD_UNLIKELY(!e)) {
        SD_FLOW_TEST_STEP(NULL);
        uint32_t word = sd_flow_word(bucket);
        if (SD_LIKELY(SD_FLOW_REACH(before | word) == 0 && SD_FLOW_MOVES(word) == SD_FLOW_MOVES(before)))
            return NULL;
        return sd_flow_search(t, key, hash);
    }
    return e;
}

/* The entry of a key, or NULL: there is none, or it has ended. Restarts no timer. */
SD_ALWAYS_INLINE struct sd_flow_entry *sd_flow_find(const struct sd_flow *t, struct sd_flow_shape shape, const void *key,
                                                    uint64_t hash, uint64_t now_ns)
{
    struct sd_flow_entry *e = sd_flow_find_any(t, shape, key, hash);
    return e && SD_UNLIKELY(sd_flow_has_ended(t, e, now_ns)) ? NULL : e;
}

/* The timer of an entry that was found begins again. Two workers of one flow write its line once in a tick each. */
SD_ALWAYS_INLINE void sd_flow_restart(struct sd_flow_entry *e, uint64_t now_ns)
{
    uint64_t tick_ns = now_ns - now_ns % SD_FLOW_TICK_NS;
    if (SD_UNLIKELY(__atomic_load_n(&e->last_hit_ns, __ATOMIC_RELAXED) != tick_ns))
        __atomic_store_n(&e->last_hit_ns, tick_ns, __ATOMIC_RELAXED);
    if (SD_UNLIKELY(__atomic_load_n(&e->flags, __ATOMIC_RELAXED) & SD_FLOW_REPORTED))
        __atomic_fetch_and(&e->flags, (uint8_t)~SD_FLOW_REPORTED, __ATOMIC_RELAXED);
}

/* The timer begins again with the timeout of another profile. */
SD_ALWAYS_INLINE void sd_flow_set_profile(struct sd_flow_entry *e, uint8_t profile, uint64_t now_ns)
{
    if (__atomic_load_n(&e->profile, __ATOMIC_RELAXED) != profile)
        __atomic_store_n(&e->profile, profile, __ATOMIC_RELAXED);
    if (SD_UNLIKELY(__atomic_load_n(&e->flags, __ATOMIC_RELAXED) & SD_FLOW_OWN_TIMEOUT))
        __atomic_fetch_and(&e->flags, (uint8_t)~SD_FLOW_OWN_TIMEOUT, __ATOMIC_RELAXED);
    sd_flow_restart(e, now_ns);
}

#endif
