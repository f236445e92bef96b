/*
 * Sums that each worker keeps for itself: in each structure that has them the control plane reads the value with which the entry
 * began and all that workers have added since, all of a run of the action or nothing of it, whatever the slot had before.
 */
#include <pthread.h>
#include <sched.h>

#include "fixture.h"

static const struct sd_control_ops *const ops = &sd_control_ops;

enum { N_WORKERS = 3, N_KEYS = 8, N_STAY = 4, N_THREADS = 2, N_ROUNDS = 300, N_PACKETS_MIN = 20000 };

/* The action adds to all values but the port. */
struct data {
    uint16_t port;
    uint32_t narrow;
    uint64_t one, other;
    uint64_t wide[2];
};

_Static_assert(sizeof(struct data) == 40, "there are no holes behind the values");

static const struct sd_value_type params[] = {
    {offsetof(struct data, port), 2, 9, 0},   {offsetof(struct data, narrow), 4, 24, 0}, {offsetof(struct data, one), 8, 64, 0},
    {offsetof(struct data, other), 8, 64, 0}, {offsetof(struct data, wide), 16, 100, 0},
};

static const struct sd_action_type actions[] = {
    {.name = "none"},
    {.name = "add",
     .n_params = SD_ARRAY_LEN(params),
     .params = params,
     .data_bytes = sizeof(struct data),
     .n_sharded = SD_ARRAY_LEN(params) - 1,
     .sharded = params + 1},
};

struct mix {
    const char *name;
    uint32_t structure, match_kind;
    /* Entries have cells of a direct counter, too. */
    bool is_counted;
};

static const struct mix mixes[] = {
    {"flow", SD_STRUCTURE_FLOW, SD_MATCH_EXACT, false},
    {"counted flow", SD_STRUCTURE_FLOW, SD_MATCH_EXACT, true},
    {"lpm", SD_STRUCTURE_LPM, SD_MATCH_LPM, false},
    {"counted lpm", SD_STRUCTURE_LPM, SD_MATCH_LPM, true},
    {"prefix_hash", SD_STRUCTURE_PREFIX_HASH, SD_MATCH_LPM, false},
    {"ternary", SD_STRUCTURE_TERNARY, SD_MATCH_TERNARY, false},
    {"counted ternary", SD_STRUCTURE_TERNARY, SD_MATCH_TERNARY, true},
};

static struct fixture fixture;
static const struct sd_table_type *type;

static void begin(const struct mix *mix, uint32_t n_workers)
{
    fixture_begin(&fixture);
    struct sd_table_type *t = fixture_table(&fixture, 64);
    fixture_key(t, fixture.keys[0], mix->match_kind, 32, 4, 0);
    t->structure = mix->structure;
    t->has_idle_timeout = 0;
    t->has_direct_counter = mix->is_counted;
    t->direct_counter_unit = SD_UNIT_PACKETS;
    t->n_actions = SD_ARRAY_LEN(actions);
    t->actions = actions;
    t->data_bytes = t->sharded_bytes = sizeof(struct data);
    t->updates_data = 1;
    type = t;
    fixture_create(&fixture, n_workers);
}

static struct data initial(uint64_t n)
{
    return (struct data){.port = 5, .narrow = 0xfffffe, .one = n, .other = n, .wide = {n, 0}};
}

static const uint32_t all_ones = UINT32_MAX;

static struct sd_entry_view view_of(const uint32_t *key, const struct data *data)
{
    return (struct sd_entry_view){
        .value = (const uint8_t *)key,
        .mask = (const uint8_t *)&all_ones,
        .kind = SD_ENTRY_ACTION,
        .what = 1,
        .data = (const uint8_t *)data,
        .profile = UINT32_MAX,
    };
}

static void put(uint32_t key, uint64_t n)
{
    struct data data = initial(n);
    struct sd_entry_view view = view_of(&key, &data);
    uint64_t handle;
    uint32_t status;
    /* Slots in reach may wait for a worker that does not run. */
    while ((status = ops->table_insert(fixture.instance, 0, &view, 0, &handle)) == SD_FULL)
        sched_yield();
    CHECK(status == SD_OK);
}

static void change(uint32_t key, uint64_t n)
{
    struct data data = initial(n);
    struct sd_entry_view view = view_of(&key, &data);
    uint64_t handle;
    uint32_t status;
    while ((status = ops->table_modify(fixture.instance, 0, &view, 0, &handle)) == SD_FULL)
        sched_yield();
    CHECK(status == SD_OK);
}

static void take_away(uint32_t key)
{
    struct data none = {0};
    struct sd_entry_view view = view_of(&key, &none);
    CHECK(ops->table_remove(fixture.instance, 0, &view) == SD_OK);
}

/* --- Packets --- */

static struct sd_found look_up(struct sd_worker *w, uint32_t key)
{
    /* Compilers that do not know `key_bytes` warn of reads behind the key. */
    uint32_t padded[KEY_BYTES_MAX / 4] = {key};
    return sd_table_lookup(w, &fixture.packet, 0, type, padded, type->key_bytes, 0);
}

#define STORE(at, value) __atomic_store_n(&(at), value, __ATOMIC_RELAXED)

/* The action, as compiled programs have it: it reads what it adds to, and writes it at its end. */
static void add(struct sd_worker *w, const struct sd_found *found)
{
    const struct data *own = (const void *)sd_table_begin_sharded(w, 0, type, found);
    struct data *to = (void *)w->direct[0].data;
    CHECK(to == own && ((uintptr_t)to & 7) == 0);
    STORE(to->narrow, (own->narrow + 1) & 0xffffff);
    STORE(to->one, own->one + 1);
    STORE(to->other, own->other + 1);
    uint64_t low = own->wide[0] - 1, borrow = own->wide[0] == 0;
    STORE(to->wide[1], (own->wide[1] - borrow) & ((UINT64_C(1) << 36) - 1));
    STORE(to->wide[0], low);
    sd_data_end_update(w, 0);
}

static void run(uint32_t worker, uint32_t key, uint32_t n)
{
    struct sd_worker *w = sd_instance_worker(fixture.instance, worker);
    for (uint32_t i = 0; i < n; i++) {
        struct sd_found found = look_up(w, key);
        CHECK(found.action == 1);
        add(w, &found);
    }
}

/* --- What the control plane sees --- */

/* An entry that began with `initial(from)`; returns how often its action has run. */
static uint64_t runs_of(const uint8_t *bytes, uint64_t from)
{
    struct data data;
    memcpy(&data, bytes, sizeof data);
    uint64_t n = data.one - from;
    CHECK(data.port == 5 && data.other == data.one && data.narrow == ((0xfffffe + n) & 0xffffff));
    CHECK(data.wide[0] == from - n && data.wide[1] == (n > from ? (UINT64_C(1) << 36) - 1 : 0));
    return n;
}

static uint64_t runs_of_entry(uint32_t key, uint64_t from)
{
    struct data none = {0};
    struct sd_entry_view view = view_of(&key, &none), found, next;
    CHECK(ops->table_find(fixture.instance, 0, &view, &found) == SD_OK);
    uint64_t n = runs_of(found.data, from), handle = found.handle, after = handle - 1;
    CHECK(ops->table_get(fixture.instance, 0, handle, &found) == SD_OK && runs_of(found.data, from) >= n);
    CHECK(ops->table_next(fixture.instance, 0, &after, &next) == SD_OK && next.handle == handle);
    CHECK(runs_of(next.data, from) >= n);
    struct sd_record_layout layout = {.record_bytes = 4 + 4 + 1 + sizeof(struct data), .mask_at = SD_NO_PART, .kind_at = SD_NO_PART,
                                      .action_at = 4, .action_bytes = 4, .priority_at = SD_NO_PART, .data_at = 9,
                                      .idle_timeout_at = SD_NO_PART, .count_at = SD_NO_PART, .rates_at = SD_NO_PART};
    uint8_t record[4 + 4 + 1 + sizeof(struct data)];
    after = handle - 1;
    CHECK(ops->table_read_records(fixture.instance, 0, &layout, &after, record, &handle, 1) == 1);
    CHECK(runs_of(record + 9, from) >= n);
    return n;
}

static uint64_t runs_of_default(uint64_t from)
{
    const uint8_t *data;
    CHECK(ops->table_default(fixture.instance, 0, &data) == 1);
    return runs_of(data, from);
}

static void set_default(uint64_t n)
{
    struct data data = initial(n);
    CHECK(ops->table_set_default(fixture.instance, 0, 1, (const uint8_t *)&data) == SD_OK);
}

/* --- Tests --- */

static void test_sums(const struct mix *mix, uint32_t n_workers)
{
    begin(mix, n_workers);
    const struct sd_table *t = &fixture.instance->tables[0];
    CHECK((t->default_shards != NULL) == (n_workers > 1));
    CHECK(mix->structure != SD_STRUCTURE_FLOW || (t->flow_shards != NULL) == (n_workers > 1));
    set_default(100);
    put(1, 7);
    put(2, 0);
    uint64_t n_runs = 0;
    for (uint32_t i = 0; i < n_workers; i++) {
        run(i, 1, i + 3);
        run(i, 2, 2);
        run(i, 99, 10 + i);
        n_runs += i + 3;
        CHECK(runs_of_entry(1, 7) == n_runs && runs_of_entry(2, 0) == 2 * (i + 1));
    }
    CHECK(runs_of_default(100) == n_runs + 7 * n_workers);
    /* A Modify, a new entry and a new default action begin anew. */
    change(1, 50);
    CHECK(runs_of_entry(1, 50) == 0 && runs_of_entry(2, 0) == 2 * n_workers);
    run(n_workers - 1, 1, 4);
    CHECK(runs_of_entry(1, 50) == 4);
    take_away(2);
    put(2, 9);
    CHECK(runs_of_entry(2, 9) == 0);
    set_default(1);
    CHECK(runs_of_default(1) == 0);
    run(0, 99, 1);
    CHECK(runs_of_default(1) == 1);
    fixture_end(&fixture);
}

/* Slots have many entries one after the other; a worker may still have the old one. */
static void test_slots(const struct mix *mix)
{
    begin(mix, N_WORKERS);
    struct sd_table *t = &fixture.instance->tables[0];
    for (uint32_t round = 0; round < 200; round++) {
        uint32_t key = round % 3, worker = round % N_WORKERS;
        struct sd_worker *w = sd_instance_worker(fixture.instance, worker);
        put(key, round);
        CHECK(runs_of_entry(key, round) == 0);
        sd_epoch_quiesce(fixture.instance->epochs, worker);
        run(worker, key, 5);
        run((worker + 1) % N_WORKERS, key, 2);
        CHECK(runs_of_entry(key, round) == 7);
        struct sd_found old = look_up(w, key);
        if (round % 2) {
            change(key, round + 1);
            add(w, &old);
            CHECK(runs_of_entry(key, round + 1) == 0);
            run(worker, key, 1);
            CHECK(runs_of_entry(key, round + 1) == 1);
        }
        take_away(key);
        add(w, &old);
        if (round % 4 == 0) {
            /* The slot of the old one is not free yet. */
            put(key, 3);
            add(w, &old);
            CHECK(runs_of_entry(key, 3) == 0);
            take_away(key);
        }
        sd_epoch_idle(fixture.instance->epochs, worker);
    }
    /* Few slots were used. */
    CHECK(mix->structure == SD_STRUCTURE_FLOW || t->n_slots <= 2 * SD_CHUNK_SLOTS);
    fixture_end(&fixture);
}

static uint64_t n_runs[N_THREADS][N_KEYS + 1];
static bool is_over;

/* Keys up to N_STAY stay; those behind come and go, and the last one is never there. */
static void *work(void *argument)
{
    uint32_t number = *(const uint32_t *)argument;
    struct sd_worker *w = sd_instance_worker(fixture.instance, number);
    struct sd_epochs *epochs = fixture.instance->epochs;
    while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
        sd_epoch_quiesce(epochs, number);
        for (uint32_t key = 0; key <= N_KEYS; key++) {
            struct sd_found found = look_up(w, key);
            if (found.action != 1)
                continue;
            add(w, &found);
            if (found.hit == (key < N_KEYS))
                STORE(n_runs[number][key], n_runs[number][key] + 1);
        }
        sd_epoch_idle(epochs, number);
    }
    return NULL;
}

static uint64_t all_runs(uint32_t key)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < N_THREADS; i++)
        n += __atomic_load_n(&n_runs[i][key], __ATOMIC_RELAXED);
    return n;
}

static void test_threads(const struct mix *mix)
{
    begin(mix, N_THREADS);
    set_default(0);
    bool is_there[N_KEYS];
    for (uint32_t key = 0; key < N_KEYS; key++) {
        put(key, key);
        is_there[key] = true;
    }
    memset(n_runs, 0, sizeof n_runs);
    STORE(is_over, false);
    pthread_t threads[N_THREADS];
    uint32_t numbers[N_THREADS];
    for (uint32_t i = 0; i < N_THREADS; i++) {
        numbers[i] = i;
        CHECK(pthread_create(&threads[i], NULL, work, &numbers[i]) == 0);
    }
    uint64_t before[N_STAY] = {0}, state = 1;
    for (uint32_t round = 0; round < N_ROUNDS || all_runs(0) < N_PACKETS_MIN; round++) {
        for (uint32_t key = 0; key < N_STAY; key++) {
            uint64_t n = runs_of_entry(key, key);
            CHECK(n >= before[key]);
            before[key] = n;
        }
        runs_of_default(0);
        uint32_t key = N_STAY + (uint32_t)below(&state, N_KEYS - N_STAY);
        if (!is_there[key]) {
            put(key, key);
            is_there[key] = true;
        } else if (below(&state, 2)) {
            take_away(key);
            is_there[key] = false;
        } else {
            change(key, key);
        }
        if (is_there[key])
            runs_of_entry(key, key);
        sched_yield();
    }
    STORE(is_over, true);
    for (uint32_t i = 0; i < N_THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    /* Nothing is lost. */
    for (uint32_t key = 0; key < N_STAY; key++)
        CHECK(runs_of_entry(key, key) == all_runs(key) && all_runs(key) > 0);
    CHECK(runs_of_default(0) >= all_runs(N_KEYS));
    fixture_end(&fixture);
}

int main(void)
{
    for (uint32_t i = 0; i < SD_ARRAY_LEN(mixes); i++) {
        test_sums(&mixes[i], 1);
        test_sums(&mixes[i], 2);
        test_sums(&mixes[i], N_WORKERS);
        test_slots(&mixes[i]);
        /* Entries of the others are not written beside workers. */
        if (mixes[i].structure != SD_STRUCTURE_PREFIX_HASH)
            test_threads(&mixes[i]);
    }
    return 0;
}
