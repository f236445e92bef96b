/*
 * Changes of struct sd_flow by any worker, and by the control plane.
 *
 * Owns: struct sd_flow_writer, of which each writer has one, and the slots that wait until no reader has them.
 *
 * Invariants: what fails has changed nothing that lookups see. Entries that the table may have (`size`) = entries that are there
 * + `n_left` + what writers have in hand; with one writer the last is 0 when `n_left` is.
 */
#ifndef SD_FLOW_WRITE_H
#define SD_FLOW_WRITE_H

#include "base/sd_clock.h"
#include "table/flow/sd_flow.h"

/* The most entries that a writer takes in hand at a time: the common number is changed that seldom. */
#define SD_FLOW_IN_HAND_MAX 64
/* Writers together take one of so many entries of the table in hand, and keep twice as many at most. */
#define SD_FLOW_IN_HAND_SHARE 16
/* Slots of a writer that wait. With more than this the writer removes nothing: some reader hangs. */
#define SD_FLOW_N_WAITING 4096u
/* Tables up to this size have their pages from the beginning: a huge page takes 100 us and more to zero, and a packet would wait
   for it. */
#define SD_FLOW_POPULATED_BYTES_MAX ((size_t)2 << 30)
/* Further slots: those that a burst empties wait until its end. */
#define SD_FLOW_N_SPARE 128u
/* Removals of which one stamp tells when all readers have passed. */
#define SD_FLOW_N_OF_STAMP 16u

enum sd_flow_status {
    SD_FLOW_ADDED,
    SD_FLOW_EXISTS,
    /* The table has all entries that it may have, or no slot is in reach of the key. */
    SD_FLOW_FULL,
    SD_FLOW_N_STATUSES
};

struct sd_flow_waiting {
    uint64_t stamp;
    uint32_t bucket;
    uint32_t lane;
};

struct sd_flow_writer {
    /* Entries that this writer may add before it asks the table. */
    int64_t n_in_hand;
    /* Entries that it takes in hand at a time; 1: none stays in hand. */
    int64_t n_at_once;
    /* A ring: slots whose tags are cleared; the last `n_unstamped` have no stamp yet. */
    struct sd_flow_waiting *waiting;
    uint32_t first_waiting, n_waiting, n_unstamped;
    /* Calls of sd_flow_add, by their results. */
    uint64_t n_added[SD_FLOW_N_STATUSES];
    /* Entries of packets, and of the control plane, that this writer has removed after their time, and before. */
    uint64_t n_expired[2], n_removed[2];
    /* Entries of packets that have made room, and that come from another program. */
    uint64_t n_evicted, n_carried;
    /* Additions whose key had an entry that another writer had added since the lookup; entries that were reported. */
    uint64_t n_race_lost, n_reported;
    /* The last lookup: its entry, and if there was none its hash and a copy of its key. */
    struct sd_flow_entry *found;
    /* It has added one since. */
    bool has_added;
    uint64_t hash;
    uint8_t *key;
} __attribute__((aligned(SD_LINE_BYTES)));

/* --- Making and freeing --- */

/* For `size` entries; all of profile 0 without end. False when memory is short; sd_flow_free has to be called then, too. */
SD_LOCAL bool sd_flow_init(struct sd_flow *t, struct sd_flow_shape shape, uint64_t seed, uint32_t size,
                           struct sd_epochs *epochs)
{
    *t = (struct sd_flow){.shape = shape, .epochs = epochs, .n_left = size, .deletes = true};
    for (uint32_t i = 0; i < SD_FLOW_N_PROFILES; i++)
        t->timeouts_ns[i] = SD_FLOW_NO_TIMEOUT;
    uint64_t n_slots = (uint64_t)size * 100 / SD_FLOW_LOAD + SD_FLOW_N_SPARE;
    uint64_t n_buckets = n_slots / SD_FLOW_SLOTS + 1;
    /* Keys of one home have several buckets, also in a small table. */
    t->n_buckets = (uint32_t)(n_buckets < SD_FLOW_REACH_MAX + 1 ? SD_FLOW_REACH_MAX + 1 : n_buckets);
    size_t n_secrets = SD_EXACT_N_SECRETS(shape.key_bytes);
    t->secrets = sd_alloc_lines(n_secrets, sizeof *t->secrets);
    t->buckets = sd_map_large((size_t)t->n_buckets * sd_flow_bucket_bytes(shape));
    if (!t->secrets || !t->buckets)
        return false;
    size_t n_bytes = (size_t)t->n_buckets * sd_flow_bucket_bytes(shape);
    if (n_bytes <= SD_FLOW_POPULATED_BYTES_MAX)
        sd_populate(t->buckets, n_bytes);
    sd_secrets_init(t->secrets, n_secrets, seed);
    return true;
}

SD_LOCAL void sd_flow_free(struct sd_flow *t)
{
    if (t->buckets)
        sd_unmap_large(t->buckets, (size_t)t->n_buckets * sd_flow_bucket_bytes(t->shape));
    free(t->secrets);
    memset(t, 0, sizeof *t);
}

/* Entries that each of some writers takes in hand at a time, in a table for `size` entries. */
SD_INLINE int64_t sd_flow_n_at_once(uint64_t size, uint32_t n_writers)
{
    uint64_t n = n_writers > 1 ? size / (SD_FLOW_IN_HAND_SHARE * n_writers) : 1;
    return n < 1 ? 1 : n > SD_FLOW_IN_HAND_MAX ? SD_FLOW_IN_HAND_MAX : (int64_t)n;
}

/* False when memory is short; sd_flow_writer_free has to be called then, too. */
SD_LOCAL bool sd_flow_writer_init(struct sd_flow_writer *w, int64_t n_at_once, uint32_t key_bytes)
{
    *w = (struct sd_flow_writer){.n_at_once = n_at_once};
    w->waiting = calloc(SD_FLOW_N_WAITING, sizeof *w->waiting);
    w->key = calloc(1, sd_round_up(key_bytes, 8));
    return w->waiting && w->key;
}

SD_LOCAL void sd_flow_writer_free(struct sd_flow_writer *w)
{
    free(w->waiting);
    free(w->key);
    w->waiting = NULL;
    w->key = NULL;
}

/* --- Slots that wait --- */

/*
 * Gives back the slots that no reader can have any more. The stamp is the epoch that begins here: a reader that saw it, or a
 * later one, saw that the tags were cleared.
 */
SD_LOCAL void sd_flow_collect(struct sd_flow *t, struct sd_flow_writer *w)
{
    if (w->n_waiting == 0)
        return;
    uint64_t safe = __atomic_add_fetch(&t->epochs->now, 1, __ATOMIC_SEQ_CST);
    for (; w->n_unstamped > 0; w->n_unstamped--)
        w->waiting[(w->first_waiting + w->n_waiting - w->n_unstamped) % SD_FLOW_N_WAITING].stamp = safe;
    for (uint32_t i = 0; i < t->epochs->n_readers; i++) {
        uint64_t seen = __atomic_load_n(&t->epochs->readers[i].seen, __ATOMIC_SEQ_CST);
        safe = seen < safe ? seen : safe;
    }
    uint64_t seen = __atomic_load_n(&t->epochs->control.seen, __ATOMIC_SEQ_CST);
    safe = seen < safe ? seen : safe;
    for (; w->n_waiting > 0; w->n_waiting--) {
        const struct sd_flow_waiting *slot = &w->waiting[w->first_waiting];
        if (slot->stamp > safe)
            return;
        sd_flow_set_tag(sd_flow_bucket(t, t->shape, slot->bucket), slot->lane, SD_EXACT_EMPTY);
        w->first_waiting = (w->first_waiting + 1) % SD_FLOW_N_WAITING;
    }
}

/* --- The lock of a home --- */

SD_ALWAYS_INLINE bool sd_flow_try_lock(uint8_t *bucket)
{
    return !(__atomic_fetch_or(sd_flow_word_at(bucket), SD_FLOW_LOCK, __ATOMIC_ACQUIRE) & SD_FLOW_LOCK);
}

/* Returns the word, without the lock. */
SD_ALWAYS_INLINE uint32_t sd_flow_lock(uint8_t *bucket)
{
    SD_FLOW_TEST_STEP(bucket);
    while (SD_UNLIKELY(!sd_flow_try_lock(bucket)))
        while (sd_flow_word(bucket) & SD_FLOW_LOCK)
            sd_relax();
    return sd_flow_word(bucket) & ~SD_FLOW_LOCK;
}

/* Changes the word of a home whose lock one holds, and gives the lock back unless the new word has it. */
SD_ALWAYS_INLINE void sd_flow_set_word(uint8_t *bucket, uint32_t word)
{
    SD_FLOW_TEST_STEP(NULL);
    __atomic_store_n(sd_flow_word_at(bucket), (uint16_t)word, __ATOMIC_RELEASE);
}

/* --- Changes under the lock of the home --- */

/* The position of an entry: its bucket, how far from home that is, and its lane. */
struct sd_flow_place {
    uint32_t bucket, distance, lane;
};

SD_ALWAYS_INLINE struct sd_flow_entry *sd_flow_find_place(const struct sd_flow *t, struct sd_flow_shape shape,
                                                          const void *key, uint64_t hash, uint32_t word,
                                                          struct sd_flow_place *place)
{
    uint32_t home = sd_flow_home(t, hash);
    for (uint32_t i = 0; i <= SD_FLOW_REACH(word); i++) {
        *place = (struct sd_flow_place){.bucket = sd_flow_behind(t, home, i), .distance = i};
        struct sd_flow_entry *e =
            sd_flow_find_in(shape, sd_flow_bucket(t, shape, place->bucket), key, hash, &place->lane);
        if (e)
            return e;
    }
    return NULL;
}

/* A free slot for a key; false if there is none in reach. The bucket of one away from home is locked for the caller. */
SD_ALWAYS_INLINE bool sd_flow_room(struct sd_flow *t, struct sd_flow_shape shape, uint32_t home, uint32_t word,
                                   struct sd_flow_place *place)
{
    uint32_t empty = sd_exact_match(sd_flow_bucket(t, shape, home), SD_EXACT_EMPTY);
    if (SD_LIKELY(empty)) {
        *place = (struct sd_flow_place){home, 0, sd_exact_lane(empty)};
        return true;
    }
    if (SD_FLOW_N_AWAY(word) == SD_FLOW_N_AWAY_MAX)
        return false;
    for (uint32_t i = 1; i <= SD_FLOW_REACH_MAX; i++) {
        uint32_t index = sd_flow_behind(t, home, i);
        uint8_t *bucket = sd_flow_bucket(t, shape, index);
        if (!sd_exact_match(bucket, SD_EXACT_EMPTY) || !sd_flow_try_lock(bucket))
            continue;
        empty = sd_exact_match(bucket, SD_EXACT_EMPTY);
        if (empty) {
            *place = (struct sd_flow_place){index, i, sd_exact_lane(empty)};
            return true;
        }
        sd_flow_set_word(bucket, sd_flow_word(bucket) & ~SD_FLOW_LOCK);
    }
    return false;
}

/* A free slot, after those of this writer have been given back that no reader can have any more. */
static SD_UNUSED __attribute__((noinline)) bool sd_flow_room_again(struct sd_flow *t, struct sd_flow_writer *w, uint32_t home,
                                                                   uint32_t word, struct sd_flow_place *place)
{
    if (w->n_waiting == 0)
        return false;
    sd_flow_collect(t, w);
    return sd_flow_room(t, t->shape, home, word, place);
}

/* Makes an entry in a slot that sd_flow_room has found, for all to see. Returns the home's new word, which is not stored. */
SD_ALWAYS_INLINE uint32_t sd_flow_fill(struct sd_flow *t, struct sd_flow_shape shape, uint32_t word,
                                       const struct sd_flow_place *place, const void *key, uint64_t hash,
                                       struct sd_flow_entry head, int64_t own_timeout_ns, const void *data, uint32_t data_bytes,
                                       uint64_t now_ns)
{
    uint8_t *bucket = sd_flow_bucket(t, shape, place->bucket);
    struct sd_flow_entry *e = sd_flow_entry(shape, bucket, place->lane);
    head.last_hit_ns = now_ns - now_ns % SD_FLOW_TICK_NS;
    head.n_uses = e->n_uses + 1;
    *e = head;
    memcpy(sd_flow_key(e), key, shape.key_bytes);
    memcpy(sd_flow_data(shape, e), data, data_bytes);
    if (shape.extra_bytes)
        memset(sd_flow_extra(shape, e), 0, shape.extra_bytes);
    if (SD_UNLIKELY(head.flags & SD_FLOW_OWN_TIMEOUT))
        memcpy(sd_flow_extra(shape, e), &own_timeout_ns, sizeof own_timeout_ns);
    if (SD_UNLIKELY(place->distance > 0)) {
        /* Lookups that find the tag know how far they have to look. */
        word += SD_FLOW_AWAY;
        if (place->distance > SD_FLOW_REACH(word))
            word += place->distance - SD_FLOW_REACH(word);
        uint8_t *home_bucket = sd_flow_bucket(t, shape, sd_flow_home(t, hash));
        sd_flow_set_word(home_bucket, word | SD_FLOW_LOCK);
    }
    SD_FLOW_TEST_STEP(NULL);
    sd_flow_set_tag(bucket, place->lane, (uint16_t)hash);
    if (SD_UNLIKELY(place->distance > 0))
        sd_flow_set_word(bucket, sd_flow_word(bucket) & ~SD_FLOW_LOCK);
    return word;
}

/* Takes an entry out of its slot, which waits. Returns the home's new word. */
SD_ALWAYS_INLINE uint32_t sd_flow_take_out(struct sd_flow *t, struct sd_flow_writer *w, uint32_t word,
                                           const struct sd_flow_place *place)
{
    sd_flow_set_tag(sd_flow_bucket(t, t->shape, place->bucket), place->lane, SD_EXACT_REMOVED);
    uint32_t at = (w->first_waiting + w->n_waiting++) % SD_FLOW_N_WAITING;
    w->waiting[at] = (struct sd_flow_waiting){UINT64_MAX, place->bucket, place->lane};
    w->n_unstamped++;
    if (place->distance == 0)
        return word;
    word -= SD_FLOW_AWAY;
    return SD_FLOW_N_AWAY(word) == 0 ? word - SD_FLOW_REACH(word) : word;
}

/* Room in the ring for one more slot; false while a reader holds all of them. */
SD_ALWAYS_INLINE bool sd_flow_may_remove(struct sd_flow *t, struct sd_flow_writer *w)
{
    if (SD_UNLIKELY(w->n_unstamped >= SD_FLOW_N_OF_STAMP || w->n_waiting == SD_FLOW_N_WAITING))
        sd_flow_collect(t, w);
    return w->n_waiting < SD_FLOW_N_WAITING;
}

/* --- Operations --- */

/* One more entry may be added; false if there are as many as there may be. */
SD_INLINE bool sd_flow_take_one(struct sd_flow *t, struct sd_flow_writer *w)
{
    if (SD_LIKELY(w->n_in_hand > 0)) {
        w->n_in_hand--;
        return true;
    }
    int64_t wanted = w->n_at_once;
    int64_t left = __atomic_load_n(&t->n_left, __ATOMIC_RELAXED);
    do {
        if (left <= 0)
            return false;
        wanted = left < wanted ? left : wanted;
    } while (!__atomic_compare_exchange_n(&t->n_left, &left, left - wanted, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    w->n_in_hand = wanted - 1;
    return true;
}

SD_INLINE void sd_flow_give_one(struct sd_flow *t, struct sd_flow_writer *w)
{
    if (w->n_at_once > 1 && ++w->n_in_hand <= 2 * w->n_at_once)
        return;
    w->n_in_hand -= w->n_at_once > 1 ? w->n_at_once : 0;
    __atomic_fetch_add(&t->n_left, w->n_at_once, __ATOMIC_RELAXED);
}

/*
 * Adds an entry, unless the key has one that has not ended. `hash` is that of the key; `own_timeout_ns` is for entries with
 * SD_FLOW_OWN_TIMEOUT. `added` is the entry, or the one that
 * is there, until the caller's next boundary; NULL if the table is full.
 */
SD_ALWAYS_INLINE enum sd_flow_status sd_flow_add(struct sd_flow *t, struct sd_flow_writer *w, struct sd_flow_shape shape,
                                                 const void *key, uint64_t hash, struct sd_flow_entry head,
                                                 int64_t own_timeout_ns, const void *data, uint32_t data_bytes,
                                                 uint64_t now_ns, struct sd_flow_entry **added)
{
    enum sd_flow_status status = SD_FLOW_FULL;
    *added = NULL;
    bool may_remove = sd_flow_may_remove(t, w);
    uint32_t home = sd_flow_home(t, hash);
    uint8_t *home_bucket = sd_flow_bucket(t, shape, home);
    uint32_t word = sd_flow_lock(home_bucket);
    struct sd_flow_place place;
    struct sd_flow_entry *old = sd_flow_find_place(t, shape, key, hash, word, &place);
    if (SD_UNLIKELY(old != NULL)) {
        if (!sd_flow_has_ended(t, old, now_ns)) {
            *added = old;
            status = SD_FLOW_EXISTS;
            goto out;
        }
        if (!may_remove)
            goto out;
        word = sd_flow_take_out(t, w, word, &place);
        w->n_expired[old->flags & SD_FLOW_BY_CONTROLLER]++;
        sd_flow_give_one(t, w);
    }
    if (SD_UNLIKELY(!sd_flow_take_one(t, w)))
        goto out;
    if (SD_UNLIKELY(!sd_flow_room(t, shape, home, word, &place)) && !sd_flow_room_again(t, w, home, word, &place)) {
        sd_flow_give_one(t, w);
        goto out;
    }
    word = sd_flow_fill(t, shape, word, &place, key, hash, head, own_timeout_ns, data, data_bytes, now_ns);
    *added = sd_flow_entry(shape, sd_flow_bucket(t, shape, place.bucket), place.lane);
    status = SD_FLOW_ADDED;
out:
    sd_flow_set_word(home_bucket, word);
    w->n_added[status]++;
    return status;
}

/*
 * Gives the entry of a key another action and other data: a new one takes its place, whose timer begins, and which keeps its
 * origin. Lookups find the one or the other. False: there is none that has not ended, or there is no room.
 */
SD_LOCAL bool sd_flow_replace(struct sd_flow *t, struct sd_flow_writer *w, const void *key, uint64_t hash,
                              struct sd_flow_entry head, int64_t own_timeout_ns, const void *data, uint32_t data_bytes,
                              uint64_t now_ns)
{
    bool may_remove = sd_flow_may_remove(t, w), is_replaced = false;
    uint32_t home = sd_flow_home(t, hash);
    uint8_t *home_bucket = sd_flow_bucket(t, t->shape, home);
    uint32_t word = sd_flow_lock(home_bucket);
    struct sd_flow_place old_place, place;
    const struct sd_flow_entry *old = sd_flow_find_place(t, t->shape, key, hash, word, &old_place);
    if (may_remove && old && !sd_flow_has_ended(t, old, now_ns) &&
        (sd_flow_room(t, t->shape, home, word, &place) || sd_flow_room_again(t, w, home, word, &place))) {
        head.flags |= old->flags & SD_FLOW_BY_CONTROLLER;
        word = sd_flow_fill(t, t->shape, word, &place, key, hash, head, own_timeout_ns, data, data_bytes, now_ns);
        word = (word & ~(127u << 8)) | ((word + SD_FLOW_MOVE) & 127u << 8);
        sd_flow_set_word(home_bucket, word | SD_FLOW_LOCK);
        word = sd_flow_take_out(t, w, word, &old_place);
        is_replaced = true;
    }
    sd_flow_set_word(home_bucket, word);
    return is_replaced;
}

/* Why an entry is removed. */
enum sd_flow_removal {
    /* The control plane says so. */
    SD_FLOW_DELETE,
    /* If it has ended. */
    SD_FLOW_EXPIRE,
    /* If a packet has added it: it makes room for another one. */
    SD_FLOW_EVICT
};

/* Removes the entry of a key. False: it is not there, there is no reason to remove it, or slots wait. */
SD_LOCAL bool sd_flow_remove(struct sd_flow *t, struct sd_flow_writer *w, const void *key, uint64_t hash,
                             enum sd_flow_removal why, uint64_t now_ns)
{
    if (!sd_flow_may_remove(t, w))
        return false;
    uint8_t *home_bucket = sd_flow_bucket(t, t->shape, sd_flow_home(t, hash));
    uint32_t word = sd_flow_lock(home_bucket);
    struct sd_flow_place place;
    const struct sd_flow_entry *e = sd_flow_find_place(t, t->shape, key, hash, word, &place);
    uint32_t by_controller = e ? __atomic_load_n(&e->flags, __ATOMIC_RELAXED) & SD_FLOW_BY_CONTROLLER : 0;
    bool is_removed = e && (why == SD_FLOW_DELETE || (why == SD_FLOW_EXPIRE && sd_flow_has_ended(t, e, now_ns)) ||
                            (why == SD_FLOW_EVICT && !by_controller));
    if (is_removed) {
        word = sd_flow_take_out(t, w, word, &place);
        if (why == SD_FLOW_DELETE)
            w->n_removed[by_controller]++;
        else if (why == SD_FLOW_EXPIRE)
            w->n_expired[by_controller]++;
        else
            w->n_evicted++;
        sd_flow_give_one(t, w);
    }
    sd_flow_set_word(home_bucket, word);
    return is_removed;
}

/* Buckets that are looked through for room: as many as are in reach of a key, in a small table all. */
SD_INLINE uint32_t sd_flow_n_looked_at(const struct sd_flow *t)
{
    return t->n_buckets <= 2 * (SD_FLOW_REACH_MAX + 1) ? t->n_buckets : SD_FLOW_REACH_MAX + 1;
}

/*
 * Makes room for a key: removes the entry of a packet that was hit longest ago, of those in the home bucket of the key, wherever
 * they are at home, else of those in the buckets behind it: within reach, in a small table all. False: there is none.
 */
static SD_UNUSED __attribute__((noinline)) bool sd_flow_evict(struct sd_flow *t, struct sd_flow_writer *w, uint64_t hash)
{
    for (uint32_t i = 0, n = sd_flow_n_looked_at(t); i < n; i++) {
        uint8_t *bucket = sd_flow_bucket(t, t->shape, sd_flow_behind(t, sd_flow_home(t, hash), i));
        uint64_t oldest_ns = UINT64_MAX;
        struct sd_flow_entry *oldest = NULL;
        for (uint32_t lanes = sd_exact_used(bucket), lane; lanes; lanes = sd_exact_without(lanes, lane)) {
            lane = sd_exact_lane(lanes);
            struct sd_flow_entry *e = sd_flow_entry(t->shape, bucket, lane);
            uint64_t last_hit_ns = __atomic_load_n(&e->last_hit_ns, __ATOMIC_RELAXED);
            if (last_hit_ns >= oldest_ns || (__atomic_load_n(&e->flags, __ATOMIC_RELAXED) & SD_FLOW_BY_CONTROLLER))
                continue;
            oldest_ns = last_hit_ns;
            oldest = e;
        }
        if (!oldest)
            continue;
        /* The slot is not used again before the next boundary, so its key says where its home is. */
        const uint8_t *key = sd_flow_key(oldest);
        if (sd_flow_remove(t, w, key, sd_flow_hash(t, t->shape, key), SD_FLOW_EVICT, 0))
            return true;
    }
    return false;
}

/* Removes what has ended in the next `n` buckets of the table's round. Returns the number. The caller is between boundaries. */
SD_LOCAL uint32_t sd_flow_sweep(struct sd_flow *t, struct sd_flow_writer *w, uint32_t n, uint64_t now_ns)
{
    uint32_t n_removed = 0;
    uint64_t at = __atomic_fetch_add(&t->sweep_at, n, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < n; i++) {
        uint8_t *bucket = sd_flow_bucket(t, t->shape, (uint32_t)((at + i) % t->n_buckets));
        for (uint32_t lanes = sd_exact_used(bucket); lanes;) {
            uint32_t lane = sd_exact_lane(lanes);
            lanes = sd_exact_without(lanes, lane);
            struct sd_flow_entry *e = sd_flow_entry(t->shape, bucket, lane);
            if (!sd_flow_has_ended(t, e, now_ns))
                continue;
            /* The entry stays as it is until the next boundary, so its key says where its home is. */
            const uint8_t *key = sd_flow_key(e);
            n_removed += sd_flow_remove(t, w, key, sd_flow_hash(t, t->shape, key), SD_FLOW_EXPIRE, now_ns);
        }
    }
    return n_removed;
}

#endif
