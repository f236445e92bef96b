/*
 * The engine of exact tables against a list of entries: random operations on tables of many shapes, walks while it
 * grows, hashes that are bad on purpose, memory that is short; and readers on threads of their own.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

/* Allocations until all fail; 0: none does. */
static uint64_t n_until;

static bool is_refused(void)
{
    return n_until > 0 && --n_until == 0 && (n_until = 1);
}

#include "refuse.h"

/* Bits that all hashes have: with many of them hashes meet. */
static uint64_t hash_ones;
#define SD_EXACT_TEST_HASH(hash) ((hash) | hash_ones)
/* Small segments, so that small tables have many. */
#define SD_EXACT_BASE_BYTES ((size_t)4096)

#include "check.h"
#include "table/exact/sd_exact_scan.h"
#include "table/exact/sd_exact_reserve.h"

enum { KEY_MAX = 48, VALUE_MAX = 40, N_LISTED = 4000, N_READERS = 3 };

static uint64_t state;

static uint64_t below(uint64_t n)
{
    return check_random(&state) % n;
}

/* --- The list --- */

struct listed {
    uint8_t key[KEY_MAX];
    uint8_t value[VALUE_MAX];
    bool is_live;
    uint32_t n_seen;
};

static struct listed list[N_LISTED];

/* The key of a number, as the shape's size allows: small ones do not have many keys. */
static void key_of(uint8_t *key, uint32_t key_bytes, uint64_t number)
{
    memset(key, 0, KEY_MAX);
    /* Some keys differ at the beginning only, some at the end. */
    uint32_t at = key_bytes >= 16 && number % 2 ? key_bytes - 8 : 0;
    memcpy(key + at, &number, key_bytes < 8 ? key_bytes : 8);
}

/* --- One table, one thread: readers are epochs only --- */

struct held {
    const uint8_t *value;
    uint8_t copy[VALUE_MAX];
    uint32_t reader;
};

static void check_all(const struct sd_exact *t, struct sd_exact_shape shape, uint32_t n_keys, uint64_t n_live)
{
    static uint8_t keys[N_LISTED][KEY_MAX];
    static uint8_t *values[N_LISTED];
    CHECK(sd_exact_n_entries(t) == n_live);
    for (uint32_t i = 0; i < n_keys; i++)
        memcpy(keys[i], list[i].key, KEY_MAX);
    CHECK(sd_exact_find_bulk(t, shape, keys, KEY_MAX, n_keys, values) == n_live);
    for (uint32_t i = 0; i < n_keys; i++) {
        CHECK((values[i] != NULL) == list[i].is_live && values[i] == sd_exact_find(t, shape, keys[i]));
        CHECK(!values[i] || memcmp(values[i], list[i].value, shape.value_bytes) == 0);
        list[i].n_seen = 0;
    }
    struct sd_exact_cursor cursor = {0};
    struct sd_exact_seen seen[SD_EXACT_SCAN_MIN + 7];
    uint32_t n;
    uint64_t n_seen = 0;
    while ((n = sd_exact_scan(t, shape, &cursor, seen, SD_ARRAY_LEN(seen))) > 0) {
        n_seen += n;
        for (uint32_t i = 0; i < n; i++)
            CHECK(seen[i].value == sd_exact_find(t, shape, seen[i].key));
    }
    CHECK(n_seen == n_live);
    /* What segments count is so. */
    uint64_t n_cells = (uint64_t)1 << sd_exact_depth(t), n_entries = 0;
    for (uint64_t i = 0; i < n_cells;) {
        const struct sd_exact_segment *segment = sd_exact_segment_of(sd_exact_cells(t)[i]);
        uint64_t in_segment, n_removed, n_away = 0;
        sd_exact_count(t, segment, UINT64_MAX, &in_segment, &n_removed);
        n_entries += in_segment;
        const uint8_t *bucket = (const uint8_t *)(segment + 1);
        for (uint32_t b = 0; b < segment->n_buckets; b++, bucket += t->bucket_bytes) {
            uint32_t home = sd_exact_home(bucket);
            n_away += SD_EXACT_HOME_N_AWAY(home);
            CHECK((SD_EXACT_HOME_N_AWAY(home) == 0) == (SD_EXACT_HOME_REACH(home) == 0));
        }
        CHECK(n_away == segment->n_displaced);
        i += (uint64_t)1 << (sd_exact_depth(t) - segment->depth);
    }
    CHECK(n_entries == n_live);
}

static void run(struct sd_exact_shape shape, bool has_readers, uint32_t n_steps, uint64_t n_max)
{
    struct sd_epochs epochs;
    struct sd_exact t;
    CHECK(sd_epochs_init(&epochs, N_READERS));
    CHECK(sd_exact_init(&t, shape, 1, n_max, has_readers ? &epochs : NULL));
    uint32_t n_keys = shape.key_bytes == 1 ? 250 : N_LISTED;
    for (uint32_t i = 0; i < n_keys; i++) {
        key_of(list[i].key, shape.key_bytes, i);
        list[i].is_live = false;
    }
    static struct held held[512];
    uint32_t n_held = 0;
    uint64_t n_live = 0;
    for (uint32_t step = 0; step < n_steps; step++) {
        /* It fills and empties again. */
        uint64_t choice = below(100), n_inserts = step / 6000 % 2 == 0 ? 55 : 10;
        struct listed *e = &list[below(n_keys)];
        uint8_t value[VALUE_MAX];
        for (uint32_t i = 0; i < VALUE_MAX; i += 8) {
            uint64_t word = check_random(&state);
            memcpy(value + i, &word, 8);
        }
        if (choice < n_inserts) {
            uint32_t status = sd_exact_insert(&t, shape, e->key, value);
            CHECK(status == (e->is_live ? SD_EXISTS : n_live >= n_max ? SD_FULL : SD_OK));
            if (status == SD_OK) {
                memcpy(e->value, value, VALUE_MAX);
                e->is_live = true;
                n_live++;
            }
        } else if (choice < 70) {
            CHECK(sd_exact_remove(&t, shape, e->key) == (e->is_live ? SD_OK : SD_NOT_FOUND));
            n_live -= e->is_live;
            e->is_live = false;
        } else if (choice < 85) {
            CHECK(sd_exact_replace(&t, shape, e->key, value) == (e->is_live ? SD_OK : SD_NOT_FOUND));
            if (e->is_live)
                memcpy(e->value, value, VALUE_MAX);
        } else if (choice < 95) {
            uint32_t reader = (uint32_t)below(N_READERS);
            struct sd_exact_probe probe = sd_exact_start(&t, shape, e->key);
            sd_exact_prefetch_entry(shape, &probe);
            const uint8_t *found = sd_exact_finish(&t, shape, e->key, &probe);
            CHECK((found != NULL) == e->is_live);
            CHECK(!found || memcmp(found, e->value, shape.value_bytes) == 0);
            /* An active reader may hold what it found. */
            if (found && has_readers && !shape.is_word && n_held < SD_ARRAY_LEN(held) &&
                epochs.readers[reader].seen != SD_EPOCH_IDLE) {
                held[n_held] = (struct held){.value = found, .reader = reader};
                memcpy(held[n_held++].copy, found, shape.value_bytes);
            }
        } else {
            uint32_t reader = (uint32_t)below(N_READERS), n = 0;
            for (uint32_t i = 0; i < n_held; i++) {
                CHECK(memcmp(held[i].value, held[i].copy, shape.value_bytes) == 0);
                if (held[i].reader != reader)
                    held[n++] = held[i];
            }
            n_held = n;
            if (choice == 99)
                sd_epoch_idle(&epochs, reader);
            else
                sd_epoch_quiesce(&epochs, reader);
        }
        if (step % 3000 == 2999)
            check_all(&t, shape, n_keys, n_live);
    }
    check_all(&t, shape, n_keys, n_live);
    /* Nothing waits when there is no reader. */
    for (uint32_t i = 0; i < N_READERS; i++)
        sd_epoch_idle(&epochs, i);
    sd_exact_collect(&t);
    CHECK(t.n_removed == 0 && t.limbo.n == 0);
    CHECK(sd_exact_bytes(&t) >= t.n_segments_bytes);
    sd_exact_free(&t);
    sd_epochs_free(&epochs);
}

/* --- Batches, and what they tell of each --- */

static void test_batches(uint32_t n_reserved)
{
    struct sd_exact_shape shape = {12, 12, false};
    struct sd_exact t;
    CHECK(sd_exact_init(&t, shape, 2, 3000, NULL));
    CHECK(sd_exact_reserve(&t, n_reserved) == SD_OK);
    uint64_t n_bytes = t.n_segments_bytes;
    static uint8_t keys[N_LISTED][12], values[N_LISTED][16], statuses[N_LISTED];
    bool is_live[2500] = {false};
    uint32_t n_live = 0;
    for (uint32_t round = 0; round < 40; round++) {
        uint32_t n = (uint32_t)below(200), n_inserted = 0;
        uint32_t numbers[200];
        for (uint32_t i = 0; i < n; i++) {
            /* Some twice in a batch. */
            numbers[i] = i > 0 && below(5) == 0 ? numbers[below(i)] : (uint32_t)below(2500);
            uint8_t key[KEY_MAX];
            key_of(key, 12, numbers[i]);
            memcpy(keys[i], key, 12);
            memset(values[i], (int)round, 16);
            memcpy(values[i], &numbers[i], 4);
        }
        uint32_t n_now = sd_exact_insert_batch(&t, shape, keys, 12, values, 16, n, round % 3 ? statuses : NULL);
        for (uint32_t i = 0; i < n; i++) {
            CHECK(round % 3 == 0 || statuses[i] == (is_live[numbers[i]] ? SD_EXISTS : SD_OK));
            n_inserted += !is_live[numbers[i]];
            is_live[numbers[i]] = true;
            const uint8_t *found = sd_exact_find(&t, shape, keys[i]);
            CHECK(found && memcmp(found, &numbers[i], 4) == 0 && found[4] <= round);
        }
        CHECK(n_now == n_inserted);
        n_live += n_inserted;
        CHECK(sd_exact_n_entries(&t) == n_live);
    }
    /* Small segments are not all filled alike: a few have become two. */
    CHECK(n_live > 1500 && (n_reserved == 0) == (t.n_segments_bytes > 2 * n_bytes));
    /* Full. */
    for (uint32_t i = 0; i < N_LISTED; i++) {
        uint8_t key[KEY_MAX];
        key_of(key, 12, 10000 + i);
        memcpy(keys[i], key, 12);
    }
    CHECK(sd_exact_insert_batch(&t, shape, keys, 12, values, 16, N_LISTED, statuses) == 3000 - n_live);
    for (uint32_t i = 0; i < N_LISTED; i++)
        CHECK(statuses[i] == (i < 3000 - n_live ? SD_OK : SD_FULL));
    CHECK(sd_exact_insert(&t, shape, keys[0], values[0]) == SD_EXISTS);
    sd_exact_free(&t);
}

/* Room for many, and then the many. */
static void test_reserve(void)
{
    struct sd_exact_shape shape = {8, 8, true};
    struct sd_exact t;
    CHECK(sd_exact_init(&t, shape, 8, UINT64_MAX, NULL));
    CHECK(sd_exact_reserve(&t, 500000) == SD_OK);
    uint64_t n_bytes = t.n_segments_bytes;
    for (uint64_t i = 0; i < 500000; i++)
        CHECK(sd_exact_insert(&t, shape, &i, &i) == SD_OK);
    for (uint64_t i = 0; i < 500000; i++)
        CHECK(sd_exact_find(&t, shape, &i) && !sd_exact_find(&t, shape, &(uint64_t){i + 500000}));
    CHECK(t.n_segments_bytes < n_bytes * 3 / 2 && n_bytes < 500000 * 16 * 3);
    sd_exact_free(&t);
}

/* Segments of room that was made ahead have other sizes than they would grow to: one that is too full for chance becomes
   much larger, for in one that is hardly larger what found no place may find none, either. */
static void test_reserve_crowded(void)
{
    struct sd_exact_shape shape = {8, 8, false};
    for (uint64_t n = 3000; n < 6000; n += 100) {
        struct sd_exact t;
        CHECK(sd_exact_init(&t, shape, n, UINT64_MAX, NULL));
        CHECK(sd_exact_reserve(&t, n) == SD_OK);
        uint64_t cell = sd_exact_cells(&t)[n / 100 % ((uint64_t)1 << sd_exact_depth(&t))];
        /* More than 78, which one home has room for. */
        uint64_t keys[90], n_keys = 0;
        for (uint64_t key = 0; n_keys < SD_ARRAY_LEN(keys); key++) {
            uint64_t hash = sd_exact_hash(t.secrets, (const uint8_t *)&key, 8);
            if (sd_exact_cell(&t, hash) == cell && sd_exact_home_index(hash, sd_exact_n_buckets(cell)) == 3)
                keys[n_keys++] = key;
        }
        size_t segment_bytes = sd_exact_segment_bytes(&t, sd_exact_n_buckets(cell));
        for (uint32_t i = 0; i < n_keys; i++) {
            uint64_t before = t.n_segments_bytes;
            CHECK(sd_exact_insert(&t, shape, &keys[i], &keys[i]) == SD_OK);
            CHECK(t.n_segments_bytes == before || t.n_segments_bytes - before > segment_bytes / 4);
        }
        for (uint32_t i = 0; i < n_keys; i++)
            CHECK(sd_exact_find(&t, shape, &keys[i]));
        sd_exact_free(&t);
    }
}

/* At once and a segment at a time, with none, few and many entries there; then more than there is room for. */
static void test_reserve_sizes(void)
{
    struct sd_exact_shape shape = {8, 12, false};
    for (uint64_t n = 1; n < 60000; n = n * 5 / 2 + 1) {
        for (uint64_t n_before = 0; n_before <= n; n_before = n_before * 3 + 5) {
            struct sd_epochs epochs;
            struct sd_exact t;
            bool has_readers = (n + n_before) % 2;
            CHECK(sd_epochs_init(&epochs, 1));
            CHECK(sd_exact_init(&t, shape, n, UINT64_MAX, has_readers ? &epochs : NULL));
            sd_epoch_quiesce(&epochs, 0);
            uint8_t value[16] = {0};
            uint64_t n_bytes = 0;
            for (uint64_t i = 0; i < 2 * n; i++) {
                if (i == n_before) {
                    CHECK(sd_exact_reserve(&t, n) == SD_OK && sd_exact_n_entries(&t) == i);
                    n_bytes = t.n_segments_bytes;
                    CHECK(sd_exact_reserve(&t, n) == SD_OK && t.n_segments_bytes == n_bytes);
                }
                memcpy(value, &i, 8);
                CHECK(sd_exact_insert(&t, shape, &i, value) == SD_OK);
                if (i % 5 == 3) {
                    CHECK(sd_exact_remove(&t, shape, &i) == SD_OK && sd_exact_insert(&t, shape, &i, value) == SD_OK);
                    if (i % 3 == 0)
                        sd_epoch_quiesce(&epochs, 0);
                }
                /* Chance makes some of the small segments too full. */
                CHECK(i != n - 1 || n_before == n || t.n_segments_bytes <= n_bytes * 2);
            }
            for (uint64_t i = 0; i < 2 * n; i++) {
                const uint8_t *found = sd_exact_find(&t, shape, &i);
                CHECK(found && memcmp(found, &i, 8) == 0 && !sd_exact_find(&t, shape, &(uint64_t){i + 2 * n}));
            }
            sd_epoch_idle(&epochs, 0);
            sd_exact_collect(&t);
            CHECK(t.n_removed == 0 && t.limbo.n == 0);
            sd_exact_free(&t);
            sd_epochs_free(&epochs);
        }
    }
}

/* --- Walks while the table grows --- */

static void test_scan(uint32_t n_between, bool is_exactly_once, uint32_t n_until_reserved)
{
    struct sd_exact_shape shape = {8, 8, true};
    struct sd_exact t;
    CHECK(sd_exact_init(&t, shape, 3, UINT64_MAX, NULL));
    static uint32_t n_times[N_LISTED];
    memset(n_times, 0, sizeof n_times);
    for (uint64_t i = 0; i < N_LISTED; i++)
        CHECK(sd_exact_insert(&t, shape, &i, &i) == SD_OK);
    struct sd_exact_cursor cursor = {0};
    struct sd_exact_seen seen[100];
    uint64_t next = N_LISTED;
    uint32_t n;
    while ((n = sd_exact_scan(&t, shape, &cursor, seen, SD_ARRAY_LEN(seen))) > 0) {
        for (uint32_t i = 0; i < n; i++) {
            uint64_t key;
            memcpy(&key, seen[i].key, 8);
            CHECK(memcmp(seen[i].value, &key, 8) == 0);
            if (key < N_LISTED)
                n_times[key]++;
        }
        for (uint32_t i = 0; i < n_between && next < 40 * N_LISTED; i++, next++)
            CHECK(sd_exact_insert(&t, shape, &next, &next) == SD_OK);
        if (n_until_reserved > 0 && --n_until_reserved == 0)
            CHECK(sd_exact_reserve(&t, 40 * N_LISTED) == SD_OK);
    }
    CHECK(cursor.is_done && (n_between == 0 || next > N_LISTED + N_LISTED / 4));
    for (uint32_t i = 0; i < N_LISTED; i++)
        CHECK(n_times[i] >= 1 && (!is_exactly_once || n_times[i] == 1));
    sd_exact_free(&t);
}

/* --- Hashes that meet, and memory that is short --- */

static void test_flood(uint64_t ones, bool is_refused_in_the_end)
{
    struct sd_exact_shape shape = {8, 8, true};
    struct sd_exact t;
    hash_ones = ones;
    CHECK(sd_exact_init(&t, shape, 4, UINT64_MAX, NULL));
    uint64_t n_live = 0, n_refused = 0;
    for (uint64_t i = 0; i < N_LISTED; i++) {
        uint32_t status = sd_exact_insert(&t, shape, &i, &i);
        CHECK(status == SD_OK || status == SD_FULL);
        list[i].is_live = status == SD_OK;
        n_live += status == SD_OK;
        n_refused += status != SD_OK;
    }
    for (uint64_t i = 0; i < N_LISTED; i++)
        CHECK((sd_exact_find(&t, shape, &i) != NULL) == list[i].is_live);
    /* It is refused, not searched for without end. */
    CHECK(n_live >= 60 && (n_refused > 0) == is_refused_in_the_end && sd_exact_n_entries(&t) == n_live);
    CHECK(sd_exact_bytes(&t) < n_live * 500 + ((uint64_t)1 << 20));
    for (uint64_t i = 0; i < N_LISTED; i++)
        CHECK(sd_exact_remove(&t, shape, &i) == (list[i].is_live ? SD_OK : SD_NOT_FOUND));
    sd_exact_free(&t);
    hash_ones = 0;
}

static void test_no_memory(void)
{
    struct sd_exact_shape shape = {6, 20, false};
    uint64_t n_refused = 0;
    for (uint64_t until = 1; until < 400; until += 1 + until / 8) {
        struct sd_epochs epochs;
        struct sd_exact t;
        CHECK(sd_epochs_init(&epochs, 1));
        n_until = until;
        bool is_made = sd_exact_init(&t, shape, 5, UINT64_MAX, &epochs);
        CHECK(is_made || until <= 3);
        if (!is_made) {
            n_until = 0;
            sd_epochs_free(&epochs);
            continue;
        }
        sd_epoch_quiesce(&epochs, 0);
        uint64_t n_live = 0;
        static bool is_live[N_LISTED];
        uint8_t key[KEY_MAX], value[VALUE_MAX] = {0};
        for (uint32_t i = 0; i < N_LISTED; i++) {
            key_of(key, 6, i);
            memcpy(value, &i, sizeof i);
            uint32_t status = sd_exact_insert(&t, shape, key, value);
            CHECK(status == SD_OK || status == SD_NO_MEMORY);
            is_live[i] = status == SD_OK;
            n_live += status == SD_OK;
            n_refused += status != SD_OK;
            if (i % 3 == 0 && is_live[i / 2]) {
                key_of(key, 6, i / 2);
                if (i % 2) {
                    CHECK(sd_exact_remove(&t, shape, key) == SD_OK);
                    is_live[i / 2] = false;
                    n_live--;
                } else {
                    uint32_t half = i / 2;
                    memcpy(value, &half, sizeof half);
                    uint32_t replaced = sd_exact_replace(&t, shape, key, value);
                    CHECK(replaced == SD_OK || replaced == SD_NO_MEMORY);
                }
            }
        }
        /* Everything anew, or a segment at a time. */
        uint64_t n_bytes = t.n_segments_bytes;
        if (sd_exact_reserve(&t, (until % 2 ? 3 : 20) * N_LISTED) == SD_OK)
            CHECK(t.n_segments_bytes > n_bytes);
        for (uint32_t i = 0; i < N_LISTED; i++) {
            key_of(key, 6, i);
            const uint8_t *found = sd_exact_find(&t, shape, key);
            CHECK((found != NULL) == is_live[i] && (!found || memcmp(found, &i, sizeof i) == 0));
        }
        /* And goes on when there is some again. */
        n_until = 0;
        for (uint32_t i = 0; i < N_LISTED; i++) {
            key_of(key, 6, i);
            CHECK(sd_exact_insert(&t, shape, key, value) == (is_live[i] ? SD_EXISTS : SD_OK));
        }
        CHECK(sd_exact_n_entries(&t) == N_LISTED);
        sd_exact_free(&t);
        sd_epochs_free(&epochs);
    }
    CHECK(n_refused > 1000);
}

/* --- Readers on threads: keys that stay, keys whose values are replaced, keys that come and go --- */

enum { N_STAY = 300, N_REPLACED = 50, N_COME = 4000, THREAD_BURST = 40 };

struct shared {
    struct sd_exact t;
    struct sd_epochs epochs;
    struct sd_exact_shape shape;
    bool stop;
};

struct reader {
    pthread_t thread;
    struct shared *shared;
    uint32_t index;
    uint64_t n_hits, n_misses, n_walks;
};

/* The key, a version, and what tells a mix. */
struct stamped {
    uint64_t key, version, check;
};

static struct stamped stamped(uint64_t key, uint64_t version)
{
    return (struct stamped){key, version, (key + 1) * (version + 3)};
}

static void *read_all(void *context)
{
    struct reader *r = context;
    struct shared *s = r->shared;
    uint64_t random = r->index + 77;
    uint64_t last_version[N_REPLACED] = {0};
    struct sd_exact_cursor cursor = {0};
    uint32_t n_stay_seen = 0;
    while (!__atomic_load_n(&s->stop, __ATOMIC_RELAXED)) {
        sd_epoch_quiesce(&s->epochs, r->index);
        uint64_t keys[THREAD_BURST];
        uint8_t *values[THREAD_BURST];
        for (uint32_t i = 0; i < THREAD_BURST; i++)
            keys[i] = check_random(&random) % (i % 2 ? N_STAY + N_REPLACED : N_STAY + N_REPLACED + N_COME);
        sd_exact_find_bulk(&s->t, s->shape, keys, 8, THREAD_BURST, values);
        for (uint32_t i = 0; i < THREAD_BURST; i++) {
            if (!values[i]) {
                CHECK(keys[i] >= N_STAY + N_REPLACED);
                r->n_misses++;
                continue;
            }
            r->n_hits++;
            if (s->shape.is_word) {
                uint64_t word = __atomic_load_n((uint64_t *)(void *)values[i], __ATOMIC_RELAXED);
                CHECK(word % 65536 == keys[i]);
                continue;
            }
            struct stamped found;
            memcpy(&found, values[i], sizeof found);
            CHECK(found.key == keys[i] && found.check == (found.key + 1) * (found.version + 3));
            if (keys[i] < N_STAY) {
                CHECK(found.version == 0);
            } else if (keys[i] < N_STAY + N_REPLACED) {
                CHECK(found.version >= last_version[keys[i] - N_STAY]);
                last_version[keys[i] - N_STAY] = found.version;
            }
        }
        /* A walk of several bursts. */
        struct sd_exact_seen seen[SD_EXACT_SCAN_MIN * 2];
        uint32_t n = sd_exact_scan(&s->t, s->shape, &cursor, seen, SD_ARRAY_LEN(seen));
        for (uint32_t i = 0; i < n; i++) {
            uint64_t key;
            memcpy(&key, seen[i].key, 8);
            CHECK(key < N_STAY + N_REPLACED + N_COME);
            n_stay_seen += key < N_STAY;
        }
        if (n == 0) {
            CHECK(n_stay_seen >= N_STAY);
            n_stay_seen = 0;
            memset(&cursor, 0, sizeof cursor);
            r->n_walks++;
        }
        if (check_random(&random) % 64 == 0)
            sd_epoch_idle(&s->epochs, r->index);
    }
    sd_epoch_idle(&s->epochs, r->index);
    return NULL;
}

static void write_value(struct shared *s, uint64_t key, uint64_t version, bool is_new)
{
    uint64_t padded[2] = {key, 0}, word = key + version * 65536;
    struct stamped record = stamped(key, version);
    const void *value = s->shape.is_word ? (const void *)&word : &record;
    uint32_t status = is_new ? sd_exact_insert(&s->t, s->shape, padded, value)
                             : sd_exact_replace(&s->t, s->shape, padded, value);
    CHECK(status == SD_OK);
}

static void test_threads(bool is_word, uint32_t n_rounds)
{
    static struct shared shared;
    memset(&shared, 0, sizeof shared);
    shared.shape = is_word ? (struct sd_exact_shape){8, 8, true}
                           : (struct sd_exact_shape){8, sizeof(struct stamped), false};
    CHECK(sd_epochs_init(&shared.epochs, N_READERS));
    CHECK(sd_exact_init(&shared.t, shared.shape, 6, UINT64_MAX, &shared.epochs));
    for (uint64_t key = 0; key < N_STAY + N_REPLACED; key++)
        write_value(&shared, key, 0, true);
    struct reader readers[N_READERS];
    for (uint32_t i = 0; i < N_READERS; i++) {
        readers[i] = (struct reader){.shared = &shared, .index = i};
        CHECK(pthread_create(&readers[i].thread, NULL, read_all, &readers[i]) == 0);
    }
    static bool is_there[N_COME];
    memset(is_there, 0, sizeof is_there);
    uint64_t version = 0;
    for (uint32_t round = 0; round < n_rounds; round++) {
        for (uint64_t i = 0; i < N_REPLACED; i++)
            write_value(&shared, N_STAY + i, round + 1, false);
        if (round % 16 == 7)
            CHECK(sd_exact_reserve(&shared.t, (uint64_t)N_COME << round / 16 % 8) == SD_OK);
        for (uint32_t i = 0; i < 400; i++) {
            uint64_t at = below(N_COME), key = N_STAY + N_REPLACED + at;
            if (is_there[at])
                CHECK(sd_exact_remove(&shared.t, shared.shape, &key) == SD_OK);
            else
                write_value(&shared, key, version++, true);
            is_there[at] = !is_there[at];
        }
    }
    __atomic_store_n(&shared.stop, true, __ATOMIC_RELAXED);
    uint64_t n_hits = 0, n_misses = 0;
    for (uint32_t i = 0; i < N_READERS; i++) {
        pthread_join(readers[i].thread, NULL);
        n_hits += readers[i].n_hits;
        n_misses += readers[i].n_misses;
    }
    CHECK(n_hits > 0 && n_misses > 0);
    sd_exact_collect(&shared.t);
    CHECK(shared.t.n_removed == 0 && shared.t.limbo.n == 0);
    sd_exact_free(&shared.t);
    sd_epochs_free(&shared.epochs);
}

int main(void)
{
#ifdef SD_EXACT_ATOMIC_TAGS
    /* ThreadSanitizer has nothing to see where there is one thread. */
    test_threads(false, 100);
    test_threads(true, 100);
    return 0;
#endif
    for (uint32_t key_bytes = 1; key_bytes <= KEY_MAX; key_bytes += key_bytes < 18 ? 1 : 5) {
        state = key_bytes;
        for (int kind = 0; kind < 3; kind++) {
            uint32_t value_bytes = kind == 1 ? 8 : (uint32_t)below(VALUE_MAX + 1);
            struct sd_exact_shape shape = {key_bytes, kind == 2 ? 4 : value_bytes, kind > 0};
            run(shape, true, kind == 0 ? 30000 : 12000, UINT64_MAX);
            run(shape, false, 6000, 1000);
        }
    }
    test_batches(0);
    test_batches(3000);
    test_reserve();
    test_reserve_sizes();
    test_reserve_crowded();
    for (uint32_t n_between = 0; n_between < 300; n_between = n_between * 3 + 20)
        test_scan(n_between, n_between < 60, 0);
    for (uint32_t n_until = 1; n_until < 100; n_until += 9)
        test_scan(0, true, n_until);
    /* All the same; the same home; the same directory and home; all but the tag; the same directory and tag. */
    test_flood(UINT64_MAX, true);
    test_flood(UINT64_C(0xffffffff00), false);
    test_flood(UINT64_C(0xfffffffffffff000), true);
    test_flood(UINT64_C(0xffffffffffff0000), true);
    test_flood(UINT64_C(0xffffff000000ffff), true);
    test_no_memory();
    test_threads(false, 400);
    test_threads(true, 400);
    return 0;
}
