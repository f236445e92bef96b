/*
 * Tables that are written while workers look things up: what is found was written for that key as a whole, it stays as it
 * is until the worker's next boundary, and an entry that is not changed is always found. No count is lost or doubled by
 * modifications.
 */
#include <pthread.h>
#include <sched.h>

#include "fixture.h"

static const struct sd_control_ops *const ops = &sd_control_ops;

enum { N_READERS = 2, N_STAY = 300, N_CHANGE = 100, N_COME = 3600, N_BURST = 32, N_BATCH = 20, MUCH = 2 };

enum base { EXACT, ONE_SHOTS, DIRECT, LPM, RANKED };

struct mix {
    const char *name;
    enum base base;
    /* Counted entries of exact tables expire, too. */
    bool is_counted, is_metered;
};

static const struct mix mixes[] = {
    {"lean", EXACT, false, false},
    {"counted", EXACT, true, false},
    {"metered", EXACT, true, true},
    {"one-shots", ONE_SHOTS, false, false},
    {"counted one-shots", ONE_SHOTS, true, false},
    {"direct", DIRECT, false, false},
    {"metered direct", DIRECT, true, true},
    {"lpm", LPM, false, false},
    {"counted lpm", LPM, true, false},
    {"ranked", RANKED, false, false},
    {"metered ranked", RANKED, false, true},
};

/* What an entry leads to. */
struct written {
    uint32_t value, mask;
    uint64_t generation, check;
};

_Static_assert(sizeof(struct written) == DATA_BYTES_MAX, "the data of an action");

static struct fixture fixture;
static const struct mix *mix;
static bool is_done;

/* --- Entries, by number: first those that stay, then those that are changed, then those that come and go --- */

/* Those that come lie below those that are always there. */
static bool is_below(void)
{
    return mix->base == LPM || mix->base == RANKED;
}

static uint32_t mask_of(uint32_t i)
{
    bool stays = i < N_STAY + N_CHANGE;
    return !is_below() ? UINT32_MAX : stays ? 0xfffff000 : mix->base == LPM ? 0xffffff00 : 0xfffff0ff;
}

static uint32_t value_of(uint32_t i)
{
    if (!is_below())
        return mix->base == DIRECT ? i : i * UINT32_C(2654435761);
    if (i < N_STAY + N_CHANGE)
        return i << 12;
    i -= N_STAY + N_CHANGE;
    uint32_t below = 1 + i / (N_STAY + N_CHANGE);
    return i % (N_STAY + N_CHANGE) << 12 | (mix->base == LPM ? below << 8 : below);
}

static struct written written(uint32_t value, uint32_t mask, uint64_t generation)
{
    uint64_t check = (value + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ (mask + generation * 3) * UINT64_C(0xff51afd7ed558ccd);
    return (struct written){value, mask, generation, check};
}

/* Packets are red in odd generations of an entry, and green in even ones. */
static const struct sd_meter_rates *rates_of(uint64_t generation)
{
    static const struct sd_meter_rates all[] = {{.is_set = 0}, {.is_set = 1}};
    return &all[generation % 2];
}

/* The entry with this number as a view; what that points to is static. */
static struct sd_entry_view view_of(uint32_t i, uint64_t generation)
{
    static struct written all[N_BATCH];
    static uint32_t at;
    static struct sd_weighted choices[N_BATCH][2];
    /* A worker counts in these cells as soon as it finds the entry. */
    static const struct sd_count count = {0, 7};
    struct written *data = &all[at % N_BATCH];
    struct sd_weighted *weighted = choices[at++ % N_BATCH];
    *data = written(value_of(i), mask_of(i), generation);
    weighted[0] = weighted[1] = (struct sd_weighted){MUCH, 1, UINT32_MAX, (const uint8_t *)data};
    return (struct sd_entry_view){
        .value = (const uint8_t *)&data->value,
        .mask = (const uint8_t *)&data->mask,
        .priority = mix->base == RANKED ? 1 + (int32_t)(i % 7) * (i >= N_STAY + N_CHANGE) : 0,
        .kind = mix->base == ONE_SHOTS ? SD_ENTRY_ONE_SHOT : SD_ENTRY_ACTION,
        .what = mix->base == ONE_SHOTS ? 0 : MUCH,
        .data = (const uint8_t *)data,
        .n_weighted = mix->base == ONE_SHOTS ? 2 : 0,
        .weighted = weighted,
        .count = mix->is_counted ? &count : NULL,
        .rates = mix->is_metered ? rates_of(generation) : NULL,
    };
}

/* --- Readers --- */

struct reader {
    pthread_t thread;
    struct sd_worker *worker;
    uint64_t n_hits, n_misses, n_stay_hits, n_change_hits;
    /* Bursts that it has ended; read by the writer. */
    uint64_t n_bursts;
    /* It has found entries, found nothing where that is possible, and found entries that stay; read by the writer. */
    bool has_seen_all;
};

static void check_found(struct sd_found found, uint32_t key, struct written *seen)
{
    CHECK(found.action == MUCH);
    memcpy(seen, found.data, sizeof *seen);
    CHECK((key & seen->mask) == seen->value);
    CHECK(seen->check == written(seen->value, seen->mask, seen->generation).check);
}

static void *read_on(void *context)
{
    struct reader *r = context;
    struct sd_worker *w = r->worker;
    const struct sd_table_type *type = &fixture.tables[0];
    struct sd_packet packet = fixture.packet;
    uint64_t random = w->index + 1, last_generation[N_CHANGE] = {0};
    while (!__atomic_load_n(&is_done, __ATOMIC_RELAXED)) {
        sd_epoch_quiesce(w->instance->epochs, w->index);
        uint32_t numbers[N_BURST], keys[N_BURST];
        struct sd_lookup_state asked[N_BURST];
        struct sd_found found[N_BURST];
        struct written seen[N_BURST];
        for (uint32_t i = 0; i < N_BURST; i++) {
            numbers[i] = (uint32_t)below(&random, i % 2 ? N_STAY + N_CHANGE : N_STAY + N_CHANGE + N_COME);
            keys[i] = value_of(numbers[i]) | ((uint32_t)check_random(&random) & ~mask_of(numbers[i]));
            asked[i] = (struct sd_lookup_state){NULL, 0};
            if (i % 4 < 2)
                sd_table_lookup_hash(w, 0, type, &keys[i], type->key_bytes, SD_LOOKUP_STAGED, &asked[i]);
        }
        for (uint32_t i = 0; i < N_BURST; i++)
            if (i % 4 < 2)
                sd_table_prefetch_entry(w, 0, type, type->key_bytes, &asked[i]);
        for (uint32_t i = 0; i < N_BURST; i++)
            if (i % 4 < 2)
                sd_table_prefetch_record(w, 0, type, &keys[i], type->key_bytes, &asked[i]);
        for (uint32_t i = 0; i < N_BURST; i++) {
            if (i % 4 < 2)
                found[i] = sd_table_lookup_finish(w, &packet, 0, type, &keys[i], type->key_bytes, &asked[i], random);
            else
                found[i] = sd_table_lookup(w, &packet, 0, type, &keys[i], type->key_bytes, random);
            if (!found[i].hit) {
                CHECK(numbers[i] >= N_STAY + N_CHANGE && !is_below());
                r->n_misses++;
                continue;
            }
            r->n_hits++;
            check_found(found[i], keys[i], &seen[i]);
            if (mix->is_metered)
                CHECK(sd_direct_meter_colour(w, 0) == (seen[i].generation % 2 ? SD_RED : SD_GREEN));
            uint32_t number = numbers[i];
            if (is_below())
                number = seen[i].mask == mask_of(0) ? seen[i].value >> 12 : UINT32_MAX;
            r->n_stay_hits += number < N_STAY;
            if (number < N_STAY) {
                CHECK(seen[i].generation == 0);
            } else if (number < N_STAY + N_CHANGE) {
                r->n_change_hits++;
                uint64_t *last = &last_generation[number - N_STAY];
                /* A staged lookup may find the state of its first step; and several words lead to a prefix, one of which is
                   changed after the other. */
                CHECK(seen[i].generation + (mix->base == LPM) >= *last || i % 4 < 2);
                if (seen[i].generation > *last)
                    *last = seen[i].generation;
            }
        }
        /* It is still as it was. */
        for (uint32_t i = 0; i < N_BURST; i++)
            CHECK(!found[i].hit || memcmp(&seen[i], found[i].data, sizeof seen[i]) == 0);
        if (below(&random, 64) == 0)
            sd_epoch_idle(w->instance->epochs, w->index);
        bool has_seen_all = r->n_hits && (r->n_misses || is_below()) && r->n_stay_hits;
        __atomic_store_n(&r->has_seen_all, has_seen_all, __ATOMIC_RELAXED);
        __atomic_store_n(&r->n_bursts, r->n_bursts + 1, __ATOMIC_RELAXED);
    }
    sd_epoch_idle(w->instance->epochs, w->index);
    return NULL;
}

/* --- The writer --- */

/* The handles of the entries that stay and that are changed, and the counts that were read last. */
static uint64_t all_handles[N_STAY + N_CHANGE];
static struct sd_count last_counts[N_STAY + N_CHANGE];

/* Counts never fall while entries are modified. Returns the sum of all packets from `from` on. */
static uint64_t read_counts(uint32_t from, uint32_t end)
{
    uint64_t n_packets = 0;
    for (uint32_t i = from; i < end; i++) {
        struct sd_count count = {0, 7}, *last = &last_counts[i];
        struct sd_colour_counts colours = {0};
        if (mix->is_counted)
            CHECK(ops->direct_count(fixture.instance, 0, all_handles[i], &count) == SD_OK);
        CHECK(count.n_bytes == 7);
        if (mix->is_metered)
            CHECK(ops->direct_colours(fixture.instance, 0, all_handles[i], &colours) == SD_OK);
        if (!mix->is_counted)
            for (uint32_t j = 0; j < SD_N_COLOURS; j++)
                count.n_packets += colours.counts[j].n_packets;
        CHECK(count.n_packets >= last->n_packets);
        *last = count;
        n_packets += count.n_packets;
    }
    return n_packets;
}

static void write_on(uint32_t n_rounds)
{
    static bool is_there[N_COME];
    uint64_t state = (uint64_t)(mix - mixes) + 1, handle;
    memset(is_there, 0, sizeof is_there);
    for (uint32_t round = 1; round <= n_rounds; round++) {
        for (uint32_t i = 0; i < N_CHANGE; i++) {
            struct sd_entry_view view = view_of(N_STAY + i, round);
            view.count = NULL;
            CHECK(ops->table_modify(fixture.instance, 0, &view, round, &handle) == SD_OK);
            CHECK(handle == all_handles[N_STAY + i]);
            if (i % 8 == 0)
                read_counts(N_STAY + i, N_STAY + i + 1);
        }
        read_counts(0, N_STAY + N_CHANGE);
        for (uint32_t i = 0; i < 200; i++) {
            uint32_t at = (uint32_t)below(&state, N_COME);
            struct sd_entry_view view = view_of(N_STAY + N_CHANGE + at, round);
            if (is_there[at])
                CHECK(ops->table_remove(fixture.instance, 0, &view) == SD_OK);
            else
                CHECK(ops->table_insert(fixture.instance, 0, &view, round, &handle) == SD_OK);
            is_there[at] = !is_there[at];
        }
        struct sd_entry_view views[N_BATCH];
        uint64_t handles[N_BATCH];
        uint8_t statuses[N_BATCH];
        uint32_t from = (uint32_t)below(&state, N_COME - N_BATCH), n = 0;
        for (uint32_t i = 0; i < N_BATCH; i++) {
            views[i] = view_of(N_STAY + N_CHANGE + from + i, round);
            n += !is_there[from + i];
            is_there[from + i] = true;
        }
        CHECK(ops->table_insert_batch(fixture.instance, 0, views, N_BATCH, round, handles, statuses) == n);
        /* Room beside readers: at once, and a segment at a time. */
        if (round % 10 == 1)
            CHECK(ops->table_reserve(fixture.instance, 0, UINT64_C(1000) << (round < 80 ? round / 10 : 8)) == SD_OK);
        uint64_t expired[4];
        ops->table_take_expired(fixture.instance, 0, round, expired, SD_ARRAY_LEN(expired));
    }
}

static void describe(void)
{
    fixture_begin(&fixture);
    struct sd_table_type *type = fixture_table(&fixture, 1 << 20);
    static const uint32_t kinds[] = {[LPM] = SD_MATCH_LPM, [RANKED] = SD_MATCH_TERNARY};
    bool is_direct = mix->base == DIRECT;
    fixture_key(type, fixture.keys[0], kinds[mix->base], is_direct ? 12 : 32, is_direct ? 2 : 4, 0);
    type->has_idle_timeout = mix->base == EXACT && mix->is_counted;
    type->has_direct_counter = mix->is_counted;
    type->direct_counter_unit = SD_UNIT_PACKETS;
    type->has_direct_meter = mix->is_metered;
    if (mix->base == ONE_SHOTS) {
        fixture.pipeline.n_objects = 1;
        fixture.objects[0] = (struct sd_object_type){.kind = SD_OBJECT_ACTION_SELECTOR, .data_bytes = DATA_BYTES_MAX};
        type->profile = 0;
    }
}

static void run(uint32_t n_rounds)
{
    describe();
    fixture_create(&fixture, N_READERS);
    struct sd_instance *instance = fixture.instance;
    uint64_t handle;
    uint32_t wanted = SD_CONCURRENT_READ | SD_CONCURRENT_INSERT | SD_CONCURRENT_MODIFY | SD_CONCURRENT_REMOVE;
    CHECK(fixture.tables[0].concurrent_ops == (wanted | SD_CONCURRENT_EXPIRE));
    memset(last_counts, 0, sizeof last_counts);
    for (uint32_t i = 0; i < N_STAY + N_CHANGE; i++) {
        struct sd_entry_view view = view_of(i, 0);
        CHECK(ops->table_insert(instance, 0, &view, 0, &handle) == SD_OK);
        all_handles[i] = handle;
    }
    __atomic_store_n(&is_done, false, __ATOMIC_RELAXED);
    struct reader readers[N_READERS];
    for (uint32_t i = 0; i < N_READERS; i++) {
        readers[i] = (struct reader){.worker = sd_instance_worker(instance, i)};
        CHECK(pthread_create(&readers[i].thread, NULL, read_on, &readers[i]) == 0);
    }
    /* Readers run while the writer writes, however busy the machine is. */
    for (uint32_t i = 0; i < N_READERS; i++)
        while (__atomic_load_n(&readers[i].n_bursts, __ATOMIC_RELAXED) == 0)
            sched_yield();
    write_on(n_rounds);
    for (uint32_t i = 0; i < N_READERS; i++)
        while (!__atomic_load_n(&readers[i].has_seen_all, __ATOMIC_RELAXED))
            sched_yield();
    __atomic_store_n(&is_done, true, __ATOMIC_RELAXED);
    uint64_t n_hits = 0, n_misses = 0, n_stay_hits = 0, n_change_hits = 0;
    for (uint32_t i = 0; i < N_READERS; i++) {
        CHECK(pthread_join(readers[i].thread, NULL) == 0);
        n_hits += readers[i].n_hits;
        n_misses += readers[i].n_misses;
        n_stay_hits += readers[i].n_stay_hits;
        n_change_hits += readers[i].n_change_hits;
    }
    if (n_hits == 0 || (n_misses == 0) != is_below() || n_stay_hits == 0) {
        fprintf(stderr, "%s: nobody has looked\n", mix->name);
        abort();
    }
    if (mix->is_counted || mix->is_metered) {
        CHECK(read_counts(0, N_STAY) == n_stay_hits);
        CHECK(read_counts(N_STAY, N_STAY + N_CHANGE) == n_change_hits);
    }
    /* Removed memory can be reclaimed as soon as no worker runs packets. */
    struct sd_table *t = &instance->tables[0];
    sd_slots_collect(t);
    sd_slots_collect(t);
    CHECK(t->removed_slot == SD_NO_SLOT && t->waiting_slot == SD_NO_SLOT && t->limbo.n == 0);
    if (mix->is_counted || mix->is_metered)
        CHECK(read_counts(N_STAY, N_STAY + N_CHANGE) == n_change_hits);
    fixture_end(&fixture);
}

int main(void)
{
#if defined(__OPTIMIZE__) && !defined(SD_EXACT_ATOMIC_TAGS)
    uint32_t n_rounds = 150;
#else
    uint32_t n_rounds = 30;
#endif
    for (uint32_t i = 0; i < SD_ARRAY_LEN(mixes); i++) {
        mix = &mixes[i];
        run(n_rounds);
    }
    return 0;
}
