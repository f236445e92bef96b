/*
 * Entries that workers add: against a model with one writer and a clock, in all orders of the steps of two writers, a reader and a
 * deleter, and with these on threads of their own. After each test: entries = added - ended - removed.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>

/* Hashes of a test that wants collisions keep few bits. */
static uint64_t hash_mask = UINT64_MAX;
#define SD_EXACT_TEST_HASH(hash) ((hash) & hash_mask)

/* Steps of threads whose orders are chosen. */
static void test_step(const uint8_t *bucket);
#define SD_FLOW_TEST_STEP(bucket) test_step(bucket)

#include "check.h"
#include "table/flow/sd_flow_write.h"

enum { KEY_BYTES = 12, DATA_BYTES = 16 };

static const struct sd_flow_shape shape = {KEY_BYTES, DATA_BYTES, 0};
static const uint64_t second_ns = UINT64_C(1000000000);

struct key {
    uint32_t number, more[2];
};

static struct key key_of(uint32_t number)
{
    return (struct key){number, {number * 7, ~number}};
}

/* Both halves are equal in a whole entry. */
struct data {
    uint64_t one, other;
};

static struct sd_flow_entry *find(const struct sd_flow *t, uint32_t number, uint64_t now_ns)
{
    struct key key = key_of(number);
    return sd_flow_find(t, shape, &key, sd_flow_hash(t, shape, &key), now_ns);
}

static enum sd_flow_status add(struct sd_flow *t, struct sd_flow_writer *w, uint32_t number, uint8_t profile, uint64_t value,
                               uint64_t now_ns, struct sd_flow_entry **added)
{
    struct key key = key_of(number);
    struct data data = {value, value};
    struct sd_flow_entry head = {.action = (uint16_t)number, .profile = profile};
    return sd_flow_add(t, w, shape, &key, sd_flow_hash(t, shape, &key), head, 0, &data, sizeof data, now_ns, added);
}

static bool take_away(struct sd_flow *t, struct sd_flow_writer *w, uint32_t number)
{
    struct key key = key_of(number);
    return sd_flow_remove(t, w, &key, sd_flow_hash(t, shape, &key), SD_FLOW_DELETE, 0);
}

static struct data data_of(struct sd_flow_entry *e)
{
    struct data data;
    memcpy(&data, sd_flow_data(shape, e), sizeof data);
    return data;
}

/* Entries in all slots, ended ones among them, each with its tag and within the reach of its home. */
static uint64_t count(const struct sd_flow *t)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < t->n_buckets; i++) {
        uint8_t *bucket = sd_flow_bucket(t, shape, i);
        CHECK(!(sd_flow_word(bucket) & SD_FLOW_LOCK));
        for (uint32_t lanes = sd_exact_used(bucket); lanes; n++) {
            uint32_t lane = sd_exact_lane(lanes);
            lanes = sd_exact_without(lanes, lane);
            uint64_t hash = sd_flow_hash(t, shape, sd_flow_key(sd_flow_entry(shape, bucket, lane)));
            CHECK(sd_exact_tag(bucket, lane) == (uint16_t)hash);
            uint32_t home = sd_flow_home(t, hash), distance = (i + t->n_buckets - home) % t->n_buckets;
            CHECK(distance <= SD_FLOW_REACH(sd_flow_word(sd_flow_bucket(t, shape, home))));
        }
    }
    return n;
}

/* --- One writer --- */

enum { N_KEYS = 400, N_PROFILES = 4 };

struct model {
    bool is_there;
    uint8_t profile;
    uint64_t value, last_hit_ns;
};

static bool has_ended(const struct sd_flow *t, const struct model *m, uint64_t now_ns)
{
    return (int64_t)(now_ns - m->last_hit_ns) >= t->timeouts_ns[m->profile];
}

static void test_model(uint32_t size, uint64_t mask, uint64_t seed)
{
    hash_mask = mask;
    struct sd_epochs epochs;
    struct sd_flow t;
    struct sd_flow_writer w;
    CHECK(sd_epochs_init(&epochs, 1) && sd_flow_init(&t, shape, seed, size, &epochs) && sd_flow_writer_init(&w, 1, KEY_BYTES));
    for (uint32_t i = 0; i < 3; i++)
        t.timeouts_ns[i] = (int64_t)(i * 10 * second_ns);
    static struct model models[N_KEYS];
    memset(models, 0, sizeof models);
    uint64_t state = seed, now_ns = 5 * second_ns, n_there = 0, n_removed = 0;
    for (uint32_t step = 0; step < 60000; step++) {
        /* Often the same keys, so that entries have ended when they are asked for, and others have not. */
        uint32_t number = (uint32_t)(check_random(&state) % (step % 2 ? N_KEYS : 20));
        struct model *m = &models[number];
        bool is_live = m->is_there && !has_ended(&t, m, now_ns);
        struct sd_flow_entry *e = find(&t, number, now_ns), *added;
        CHECK((e != NULL) == is_live);
        CHECK(!e || (data_of(e).one == m->value && data_of(e).other == m->value && e->action == number));
        uint64_t value = check_random(&state);
        uint8_t profile = (uint8_t)(value % N_PROFILES);
        switch (check_random(&state) % 8) {
        case 0:
        case 1:
        case 2: {
            enum sd_flow_status status = add(&t, &w, number, profile, value, now_ns, &added);
            CHECK((status == SD_FLOW_EXISTS) == is_live);
            CHECK(status != SD_FLOW_FULL || n_there >= size || mask != UINT64_MAX);
            CHECK(status == SD_FLOW_FULL ? !added : added && data_of(added).one == (is_live ? m->value : value));
            if (!is_live && m->is_there)
                n_there -= 1;
            if (!is_live)
                *m = (struct model){status == SD_FLOW_ADDED, profile, value, now_ns - now_ns % SD_FLOW_TICK_NS};
            n_there += status == SD_FLOW_ADDED;
            break;
        }
        case 3:
            /* Ended entries may be removed, too. */
            CHECK(take_away(&t, &w, number) == m->is_there);
            n_there -= m->is_there;
            n_removed += m->is_there;
            m->is_there = false;
            break;
        case 4: {
            struct key key = key_of(number);
            struct data data = {value, value};
            struct sd_flow_entry head = {.action = (uint16_t)number, .profile = profile};
            bool is_replaced = sd_flow_replace(&t, &w, &key, sd_flow_hash(&t, shape, &key), head, 0, &data, sizeof data, now_ns);
            CHECK(!is_replaced || is_live);
            CHECK(is_replaced || !is_live || mask != UINT64_MAX);
            if (is_replaced)
                *m = (struct model){true, profile, value, now_ns - now_ns % SD_FLOW_TICK_NS};
            break;
        }
        case 5:
            if (e) {
                sd_flow_restart(e, now_ns);
                m->last_hit_ns = now_ns - now_ns % SD_FLOW_TICK_NS;
            }
            break;
        case 6: {
            /* A round over all buckets leaves nothing that has ended. */
            uint32_t n_wanted = 0;
            for (uint32_t i = 0; i < N_KEYS; i++)
                if (models[i].is_there && has_ended(&t, &models[i], now_ns)) {
                    n_wanted++;
                    models[i].is_there = false;
                }
            CHECK(sd_flow_sweep(&t, &w, t.n_buckets, now_ns) == n_wanted);
            n_there -= n_wanted;
            break;
        }
        default:
            now_ns += check_random(&state) % (2 * second_ns);
            sd_epoch_quiesce(&epochs, 0);
        }
        if (step % 512 == 0) {
            uint64_t n_ended = w.n_expired[0];
            CHECK(count(&t) == n_there && t.n_left == (int64_t)(size - n_there));
            CHECK(n_there == w.n_added[SD_FLOW_ADDED] - n_ended - n_removed);
        }
    }
    CHECK(w.n_added[SD_FLOW_ADDED] > 50 && w.n_expired[0] > 10 && w.n_added[SD_FLOW_EXISTS] > 10);
    sd_flow_writer_free(&w);
    sd_flow_free(&t);
    sd_epochs_free(&epochs);
}

/* A flood of new keys takes no more memory and no more entries than there may be. */
static void test_flood(uint32_t size)
{
    hash_mask = UINT64_MAX;
    struct sd_epochs epochs;
    struct sd_flow t;
    struct sd_flow_writer w;
    CHECK(sd_epochs_init(&epochs, 1) && sd_flow_init(&t, shape, 3, size, &epochs) && sd_flow_writer_init(&w, 1, KEY_BYTES));
    struct sd_flow_entry *added;
    uint32_t n = 4 * size + 1000;
    for (uint32_t i = 0; i < n; i++)
        add(&t, &w, i, 0, i, i, &added);
    CHECK(count(&t) == size && w.n_added[SD_FLOW_ADDED] == size && w.n_added[SD_FLOW_FULL] == n - size);
    /* A reader that hangs holds slots: when too many wait, nothing is removed. */
    sd_epoch_quiesce(&epochs, 0);
    for (uint32_t i = 0; i < size; i++)
        CHECK(find(&t, i, n) && take_away(&t, &w, i) == (i < SD_FLOW_N_WAITING));
    CHECK(count(&t) == (size > SD_FLOW_N_WAITING ? size - SD_FLOW_N_WAITING : 0));
    /* It goes on, and they come back. */
    sd_epoch_idle(&epochs, 0);
    for (uint32_t i = SD_FLOW_N_WAITING; i < size; i++)
        CHECK(take_away(&t, &w, i));
    sd_flow_collect(&t, &w);
    CHECK(count(&t) == 0 && w.n_waiting == 0 && t.n_left == size);
    sd_flow_writer_free(&w);
    sd_flow_free(&t);
    sd_epochs_free(&epochs);
}

/* A flood of new keys, of which each that finds the table full evicts an entry: all come in, and what is there is new. */
static void test_evictions(uint32_t size, uint32_t burst)
{
    hash_mask = UINT64_MAX;
    struct sd_epochs epochs;
    struct sd_flow t;
    struct sd_flow_writer w;
    CHECK(sd_epochs_init(&epochs, 1) && sd_flow_init(&t, shape, 3, size, &epochs) && sd_flow_writer_init(&w, 1, KEY_BYTES));
    struct sd_flow_entry *added;
    uint32_t n = 200 * size + 20000;
    for (uint32_t i = 0; i < n; i++) {
        if (i % burst == 0)
            sd_epoch_quiesce(&epochs, 0);
        uint64_t now_ns = i * SD_FLOW_TICK_NS;
        struct key key = key_of(i);
        if (add(&t, &w, i, 0, i, now_ns, &added) == SD_FLOW_FULL)
            CHECK(sd_flow_evict(&t, &w, sd_flow_hash(&t, shape, &key)) &&
                  add(&t, &w, i, 0, i, now_ns, &added) == SD_FLOW_ADDED);
    }
    CHECK(count(&t) == size && w.n_evicted == n - size);
    /* Entries stay for long only where few keys have their home: none has seen a hundred times as many keys as there is room for. */
    for (uint32_t i = 0; i + 100 * size + 10000 < n; i++)
        CHECK(!find(&t, i, n * SD_FLOW_TICK_NS));
    sd_flow_writer_free(&w);
    sd_flow_free(&t);
    sd_epochs_free(&epochs);
}

/*
 * Slots that the control plane has emptied wait for a worker that is between two boundaries; when it has passed one, and the control
 * plane looks after the table, there is room again.
 */
static void test_slots_come_back(void)
{
    hash_mask = UINT64_MAX;
    struct sd_epochs epochs;
    struct sd_flow t;
    struct sd_flow_writer worker, controller;
    CHECK(sd_epochs_init(&epochs, 2) && sd_flow_init(&t, shape, 5, 1, &epochs));
    CHECK(sd_flow_writer_init(&worker, 1, KEY_BYTES) && sd_flow_writer_init(&controller, 1, KEY_BYTES));
    struct sd_flow_entry *added;
    uint32_t n = 0;
    sd_epoch_quiesce(&epochs, 0);
    while (add(&t, &controller, 0, 0, n, 0, &added) == SD_FLOW_ADDED && n < 10000) {
        CHECK(take_away(&t, &controller, 0));
        n++;
    }
    /* All slots in reach wait. */
    CHECK(n > SD_FLOW_SLOTS && n < 10000 && controller.n_waiting == n && count(&t) == 0);
    CHECK(add(&t, &worker, 0, 0, 0, 0, &added) == SD_FLOW_FULL && t.n_left == 1);
    sd_epoch_quiesce(&epochs, 0);
    /* The writer itself finds room where slots of its own wait. */
    for (uint32_t i = 0; i < 2; i++) {
        CHECK(add(&t, &controller, 0, 0, i, 0, &added) == SD_FLOW_ADDED && take_away(&t, &controller, 0));
        sd_epoch_quiesce(&epochs, 0);
    }
    for (uint32_t i = 0; i < 2; i++) {
        sd_flow_collect(&t, &controller);
        sd_epoch_quiesce(&epochs, 0);
    }
    CHECK(controller.n_waiting == 0 && add(&t, &worker, 0, 0, 0, 0, &added) == SD_FLOW_ADDED);
    sd_flow_writer_free(&worker);
    sd_flow_writer_free(&controller);
    sd_flow_free(&t);
    sd_epochs_free(&epochs);
}

/* Keys that collide where hashes are known lie in buckets of their own here: each table has secrets. */
static void test_chosen_keys(void)
{
    enum { N_CHOSEN = 600, N_TABLES = 4 };
    hash_mask = UINT64_MAX;
    static uint32_t chosen[N_CHOSEN];
    for (uint64_t seed = 1; seed <= N_TABLES; seed++) {
        struct sd_epochs epochs;
        struct sd_flow t, known;
        struct sd_flow_writer w, of_known;
        CHECK(sd_epochs_init(&epochs, 1) && sd_flow_init(&t, shape, seed, 1000, &epochs));
        CHECK(sd_flow_init(&known, shape, 0, 1000, &epochs));
        CHECK(sd_flow_writer_init(&w, 1, KEY_BYTES) && sd_flow_writer_init(&of_known, 1, KEY_BYTES));
        /* An attacker who knows the secrets finds keys of one home in the other table, which has no room for all. */
        uint32_t n_chosen = 0, n_added = 0;
        for (uint32_t number = 0; n_chosen < N_CHOSEN; number++) {
            struct key key = key_of(number);
            if (sd_flow_home(&known, sd_flow_hash(&known, shape, &key)) == 7)
                chosen[n_chosen++] = number;
        }
        struct sd_flow_entry *added;
        for (uint32_t i = 0; i < N_CHOSEN; i++)
            n_added += add(&known, &of_known, chosen[i], 0, i, 0, &added) == SD_FLOW_ADDED;
        CHECK(n_added < 8 * SD_FLOW_SLOTS + 1);
        for (uint32_t i = 0; i < N_CHOSEN; i++)
            CHECK(add(&t, &w, chosen[i], 0, i, 0, &added) == SD_FLOW_ADDED);
        CHECK(count(&t) == N_CHOSEN);
        /* So do keys that differ in a few bits only, or that CRCs and sums take for one. */
        for (uint32_t shift = 0; shift < 20; shift += 4) {
            for (uint32_t i = 0; i < N_CHOSEN; i++)
                CHECK(take_away(&t, &w, chosen[i]));
            sd_flow_collect(&t, &w);
            for (uint32_t i = 0; i < N_CHOSEN; i++) {
                chosen[i] = i << shift;
                CHECK(add(&t, &w, chosen[i], 0, i, 0, &added) == SD_FLOW_ADDED);
            }
            CHECK(count(&t) == N_CHOSEN);
        }
        sd_flow_writer_free(&w);
        sd_flow_writer_free(&of_known);
        sd_flow_free(&t);
        sd_flow_free(&known);
        sd_epochs_free(&epochs);
    }
}

/* --- All orders of the steps of two that add, one that looks up, and one that deletes or modifies --- */

enum { N_TURNS = 4, N_STEPS_MAX = 64, ADDER = 0, OTHER_ADDER = 1, READER = 2, CHANGER = 3, N_SERIAL_MAX = 64 };

/* What everybody has seen, and what is there in the end: values, 0 for none. */
struct outcome {
    uint32_t first, second, deleted, last;
    uint8_t added[2];
};

static struct {
    struct sd_epochs epochs;
    struct sd_flow t;
    struct sd_flow_writer writers[N_TURNS];
    struct outcome outcome;
    bool modifies, is_over;
    /* A second one adds; the reader looks up twice. */
    bool has_other, reads_twice;
    /* Of the thread that runs, and of the one that says which that is. */
    sem_t turns[N_TURNS], scheduler;
    bool is_done[N_TURNS];
    const uint8_t *waits_for[N_TURNS];
} play;

/* The thread's number among those whose steps are chosen, or N_TURNS. */
static __thread uint32_t turn = N_TURNS;

static void test_step(const uint8_t *bucket)
{
    if (turn == N_TURNS)
        return;
    play.waits_for[turn] = bucket;
    sem_post(&play.scheduler);
    while (sem_wait(&play.turns[turn]) != 0)
        continue;
    play.waits_for[turn] = NULL;
}

static uint32_t value_found(void)
{
    struct sd_flow_entry *e = find(&play.t, 0, 0);
    CHECK(!e || (data_of(e).one == data_of(e).other && data_of(e).one != 0));
    return e ? (uint32_t)data_of(e).one : 0;
}

/* One operation; the reader has two. */
static void act(uint32_t who, bool is_second)
{
    struct sd_flow_entry *added;
    struct key key = key_of(0);
    struct data data = {9, 9};
    switch (who) {
    case ADDER:
    case OTHER_ADDER:
        play.outcome.added[who] = (uint8_t)(1 + add(&play.t, &play.writers[who], 0, 0, who + 1, 0, &added));
        break;
    case READER:
        *(is_second ? &play.outcome.second : &play.outcome.first) = value_found();
        break;
    default:
        play.outcome.deleted =
            play.modifies ? sd_flow_replace(&play.t, &play.writers[who], &key, sd_flow_hash(&play.t, shape, &key),
                                            (struct sd_flow_entry){0}, 0, &data, sizeof data, 0)
                          : take_away(&play.t, &play.writers[who], 0);
    }
}

static void *perform(void *argument)
{
    uint32_t who = *(const uint32_t *)argument;
    for (;;) {
        while (sem_wait(&play.turns[who]) != 0)
            continue;
        if (play.is_over)
            return NULL;
        turn = who;
        act(who, false);
        if (who == READER && play.reads_twice)
            act(who, true);
        turn = N_TURNS;
        play.is_done[who] = true;
        sem_post(&play.scheduler);
    }
}

/* A table in which the key is at home, or has to lie behind its home. */
static void begin_play(uint32_t n_before, bool is_there)
{
    CHECK(sd_epochs_init(&play.epochs, N_TURNS) && sd_flow_init(&play.t, shape, 4, 100, &play.epochs));
    for (uint32_t i = 0; i < N_TURNS; i++) {
        CHECK(sd_flow_writer_init(&play.writers[i], 1, KEY_BYTES));
        sd_epoch_quiesce(&play.epochs, i);
        play.is_done[i] = i == OTHER_ADDER && !play.has_other;
    }
    struct sd_flow_entry *added;
    for (uint32_t i = 1; i <= n_before; i++)
        CHECK(add(&play.t, &play.writers[0], i, 0, i, 0, &added) == SD_FLOW_ADDED);
    if (is_there)
        CHECK(add(&play.t, &play.writers[0], 0, 0, 8, 0, &added) == SD_FLOW_ADDED);
    play.outcome = (struct outcome){0};
}

static void end_play(uint32_t n_before)
{
    play.outcome.last = value_found();
    CHECK(count(&play.t) == n_before + (play.outcome.last != 0) && play.t.n_left == (int64_t)(100 - count(&play.t)));
    for (uint32_t i = 0; i < N_TURNS; i++)
        sd_flow_writer_free(&play.writers[i]);
    sd_flow_free(&play.t);
    sd_epochs_free(&play.epochs);
}

static bool is_free(const uint8_t *bucket)
{
    return !bucket || !(sd_flow_word((uint8_t *)(uintptr_t)bucket) & SD_FLOW_LOCK);
}

/* One order: the choices so far, then the first of those that may go on, of which there are `n_choices`. Returns its length. */
static uint32_t play_order(const uint8_t *choices, uint32_t n_chosen, uint8_t *chosen, uint8_t *n_choices)
{
    for (uint32_t n = 0;; n++) {
        uint32_t may_go[N_TURNS], n_may_go = 0;
        bool is_done = true;
        for (uint32_t i = 0; i < N_TURNS; i++) {
            is_done = is_done && play.is_done[i];
            if (!play.is_done[i] && is_free(play.waits_for[i]))
                may_go[n_may_go++] = i;
        }
        if (is_done)
            return n;
        CHECK(n_may_go > 0 && n < N_STEPS_MAX);
        chosen[n] = n < n_chosen ? choices[n] : 0;
        n_choices[n] = (uint8_t)n_may_go;
        sem_post(&play.turns[may_go[chosen[n]]]);
        while (sem_wait(&play.scheduler) != 0)
            continue;
    }
}

/* Outcomes of all orders of whole operations. */
static uint32_t serial_outcomes(uint32_t n_before, bool is_there, struct outcome *outcomes)
{
    enum { N_ACTS = 5 };
    static const uint32_t who[N_ACTS] = {ADDER, OTHER_ADDER, READER, READER, CHANGER};
    uint32_t n = 0;
    for (uint32_t code = 0; code < N_ACTS * N_ACTS * N_ACTS * N_ACTS * N_ACTS; code++) {
        uint32_t seen = 0, order[N_ACTS];
        for (uint32_t i = 0, left = code; i < N_ACTS; i++, left /= N_ACTS)
            seen |= 1u << (order[i] = left % N_ACTS);
        if (seen != (1u << N_ACTS) - 1)
            continue;
        begin_play(n_before, is_there);
        bool has_read = false;
        for (uint32_t i = 0; i < N_ACTS; i++) {
            if (who[order[i]] == READER ? !has_read || play.reads_twice : who[order[i]] != OTHER_ADDER || play.has_other)
                act(who[order[i]], has_read);
            has_read = has_read || who[order[i]] == READER;
        }
        end_play(n_before);
        bool is_known = false;
        for (uint32_t i = 0; i < n; i++)
            is_known = is_known || memcmp(&outcomes[i], &play.outcome, sizeof *outcomes) == 0;
        CHECK(n < N_SERIAL_MAX);
        if (!is_known)
            outcomes[n++] = play.outcome;
    }
    return n;
}

static void test_orders_of(bool modifies, bool has_other, bool reads_twice, uint32_t n_before, bool is_there)
{
    static struct outcome outcomes[N_SERIAL_MAX];
    play.modifies = modifies;
    play.has_other = has_other;
    play.reads_twice = reads_twice;
    uint32_t n_serial = serial_outcomes(n_before, is_there, outcomes), n_orders = 0;
    bool has_happened[N_SERIAL_MAX] = {false};
    uint8_t choices[N_STEPS_MAX], n_choices[N_STEPS_MAX];
    for (uint32_t n_chosen = 0;;) {
        begin_play(n_before, is_there);
        uint32_t n_steps = play_order(choices, n_chosen, choices, n_choices), outcome = 0;
        end_play(n_before);
        while (outcome < n_serial && memcmp(&outcomes[outcome], &play.outcome, sizeof *outcomes) != 0)
            outcome++;
        CHECK(outcome < n_serial);
        has_happened[outcome] = true;
        n_orders++;
        /* The next order: the last choice that can be another one. */
        for (n_chosen = n_steps; n_chosen > 0 && choices[n_chosen - 1] + 1 == n_choices[n_chosen - 1];)
            n_chosen--;
        if (n_chosen == 0)
            break;
        choices[n_chosen - 1]++;
    }
    CHECK(n_orders > 50);
    for (uint32_t i = 0; i < n_serial; i++)
        CHECK(has_happened[i]);
}

static void test_orders(void)
{
    pthread_t threads[N_TURNS];
    uint32_t numbers[N_TURNS];
    sem_init(&play.scheduler, 0, 0);
    play.is_over = false;
    for (uint32_t i = 0; i < N_TURNS; i++) {
        numbers[i] = i;
        sem_init(&play.turns[i], 0, 0);
        CHECK(pthread_create(&threads[i], NULL, perform, &numbers[i]) == 0);
    }
    hash_mask = UINT64_MAX;
    test_orders_of(false, true, false, 0, false);
    test_orders_of(false, false, true, 0, false);
    test_orders_of(false, false, true, 0, true);
    test_orders_of(true, false, true, 0, true);
    /* All keys have one home, whose bucket is full: there are more steps than can be tried for all four. */
    hash_mask = UINT64_C(0xffffffff0000ffff);
    test_orders_of(false, false, false, SD_FLOW_SLOTS, false);
    play.is_over = true;
    for (uint32_t i = 0; i < N_TURNS; i++) {
        sem_post(&play.turns[i]);
        CHECK(pthread_join(threads[i], NULL) == 0);
        sem_destroy(&play.turns[i]);
    }
    sem_destroy(&play.scheduler);
}

/* --- Threads --- */

enum { N_WORKERS = 2, N_ROUNDS = 2000, N_CONTROL = 20000, BURST = 32, N_SHARED = 3000, SIZE = 2048 };

static struct sd_epochs shared_epochs;
static struct sd_flow shared;
static struct sd_flow_writer writers[N_WORKERS + 1];
static uint64_t n_taken;
/* The control plane has done its work: until then workers go on. */
static bool is_over;

/* Looks up, adds on a miss, restarts on a hit, and sweeps after each burst. */
static void *work(void *argument)
{
    uint32_t worker = *(const uint32_t *)argument;
    uint64_t state = 17 + worker;
    for (uint32_t round = 0; round < N_ROUNDS || !__atomic_load_n(&is_over, __ATOMIC_ACQUIRE); round++) {
        sd_epoch_quiesce(&shared_epochs, worker);
        uint64_t now_ns = second_ns + round * SD_FLOW_TICK_NS;
        for (uint32_t i = 0; i < BURST; i++) {
            uint32_t number = (uint32_t)(check_random(&state) % N_SHARED);
            struct key key = key_of(number);
            uint64_t hash = sd_flow_hash(&shared, shape, &key);
            sd_flow_prefetch_home(&shared, shape, hash);
            sd_flow_prefetch_entry(&shared, shape, hash);
            struct sd_flow_entry *e = find(&shared, number, now_ns), *added = NULL;
            if (e)
                sd_flow_restart(e, now_ns);
            else if (add(&shared, &writers[worker], number, (uint8_t)(number % 2), check_random(&state), now_ns, &added) !=
                     SD_FLOW_FULL)
                e = added;
            if (e) {
                struct data data = data_of(e);
                CHECK(data.one == data.other && e->action == (uint16_t)number);
            }
        }
        sd_flow_sweep(&shared, &writers[worker], 4, now_ns);
    }
    sd_epoch_idle(&shared_epochs, worker);
    return NULL;
}

/* The control plane: it has no boundaries, so it looks at nothing outside of locks. */
static void *control(void *argument)
{
    (void)argument;
    uint64_t state = 99;
    struct sd_flow_writer *w = &writers[N_WORKERS];
    /* Workers may begin late. */
    for (uint32_t i = 0; i < N_CONTROL || n_taken < 10; i++) {
        uint32_t number = (uint32_t)(check_random(&state) % N_SHARED);
        struct key key = key_of(number);
        uint64_t hash = sd_flow_hash(&shared, shape, &key), value = check_random(&state);
        struct data data = {value, value};
        struct sd_flow_entry head = {.action = (uint16_t)number, .profile = (uint8_t)(number % 2)};
        if (value % 2)
            n_taken += sd_flow_remove(&shared, w, &key, hash, SD_FLOW_DELETE, 0);
        else
            sd_flow_replace(&shared, w, &key, hash, head, 0, &data, sizeof data, second_ns);
    }
    __atomic_store_n(&is_over, true, __ATOMIC_RELEASE);
    return NULL;
}

static void test_threads(uint64_t mask)
{
    hash_mask = mask;
    is_over = false;
    n_taken = 0;
    CHECK(sd_epochs_init(&shared_epochs, N_WORKERS) && sd_flow_init(&shared, shape, 8, SIZE, &shared_epochs));
    shared.timeouts_ns[1] = (int64_t)(20 * SD_FLOW_TICK_NS);
    pthread_t threads[N_WORKERS + 1];
    uint32_t numbers[N_WORKERS];
    for (uint32_t i = 0; i <= N_WORKERS; i++)
        CHECK(sd_flow_writer_init(&writers[i], sd_flow_n_at_once(SIZE, N_WORKERS), KEY_BYTES));
    for (uint32_t i = 0; i < N_WORKERS; i++) {
        numbers[i] = i;
        CHECK(pthread_create(&threads[i], NULL, work, &numbers[i]) == 0);
    }
    CHECK(pthread_create(&threads[N_WORKERS], NULL, control, NULL) == 0);
    for (uint32_t i = 0; i <= N_WORKERS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    uint64_t n_added = 0, n_ended = 0, n_there = count(&shared);
    int64_t n_in_hand = 0;
    for (uint32_t i = 0; i <= N_WORKERS; i++) {
        n_added += writers[i].n_added[SD_FLOW_ADDED];
        n_ended += writers[i].n_expired[0];
        n_in_hand += writers[i].n_in_hand;
        sd_flow_collect(&shared, &writers[i]);
        CHECK(writers[i].n_waiting == 0);
        sd_flow_writer_free(&writers[i]);
    }
    CHECK(n_there == n_added - n_ended - n_taken);
    CHECK((int64_t)n_there + n_in_hand + shared.n_left == SIZE);
    CHECK(n_added > 100 && n_ended > 10 && n_taken > 0);
    sd_flow_free(&shared);
    sd_epochs_free(&shared_epochs);
}

int main(void)
{
    static const uint32_t sizes[] = {1, 2, 63, 64, 65, 300, 1000};
    for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        test_model(sizes[i], UINT64_MAX, i + 1);
    /* Four homes: keys lie behind them, and some have no room. */
    test_model(300, UINT64_C(0xffffffff0000ffff) | UINT64_C(3) << 30, 9);
    test_flood(1);
    test_flood(64);
    test_flood(10000);
    for (uint32_t burst = 1; burst <= 64; burst += 63) {
        test_evictions(1, burst);
        test_evictions(65, burst);
        test_evictions(1000, burst);
    }
    test_slots_come_back();
    test_chosen_keys();
    test_orders();
    test_threads(UINT64_MAX);
    test_threads(UINT64_C(0xffffffff0000ffff) | UINT64_C(3) << 30);
    return 0;
}
