/* Ternary tables against a list of rules that is asked in order of precedence, bit by bit. */
#include <pthread.h>

#include "check.h"
#include "table/ternary/sd_ternary_write.h"
#include "slow_match.h"

enum { FIELDS_MAX = 100, BYTES_MAX = 400, N_LISTED = 6000 };

struct listed {
    bool is_live;
    uint8_t value[BYTES_MAX], mask[BYTES_MAX];
    uint32_t rank;
};

/* By slot; a slot is never used again here, so that smaller ones are older. */
static struct listed list[N_LISTED];
static uint32_t n_listed, n_live;
static struct sd_key_type keys[FIELDS_MAX];
static uint32_t n_keys, key_bytes;
static uint64_t state;

static uint64_t below(uint64_t n)
{
    return check_random(&state) % n;
}

/* --- The list --- */

static uint32_t listed_lookup(const uint8_t *key)
{
    uint32_t best = SD_NO_SLOT;
    for (uint32_t i = 0; i < n_listed; i++)
        if (list[i].is_live && (best == SD_NO_SLOT || list[i].rank > list[best].rank) &&
            slow_match(keys, n_keys, list[i].value, list[i].mask, key))
            best = i;
    return best;
}

/* --- Random tables and keys --- */

/* How masks look: all kinds; prefixes of few lengths; any bits; nearly everything the same or left out. */
enum style { MIXED, PREFIXES, SCATTERED, SAME, N_STYLES };

static void random_keys(uint32_t n, uint32_t field_bytes_max)
{
    memset(keys, 0, sizeof keys);
    n_keys = n;
    key_bytes = (uint32_t)below(2);
    for (uint32_t i = 0; i < n; i++) {
        static const uint8_t usual[] = {1, 1, 2, 2, 4, 4, 6, 16};
        uint32_t size = usual[below(8)];
        if (size > field_bytes_max || below(6) == 0)
            size = 1 + (uint32_t)below(field_bytes_max);
        uint32_t width = 8 * size - (uint32_t)below(8);
        keys[i].value = (struct sd_value_type){.offset = key_bytes, .size_bytes = size, .width_bits = width};
        keys[i].match_kind = (uint32_t)below(5);
        if (size <= 2 && below(2))
            keys[i].match_kind = SD_MATCH_RANGE;
        key_bytes += size + (below(4) == 0);
    }
    CHECK(key_bytes <= BYTES_MAX);
}

/* Few values, so that keys meet. */
static void random_value(uint8_t *to, uint32_t width, uint32_t n_values)
{
    slow_value(to, width, below(n_values));
}

static void random_key(uint8_t *key, uint32_t n_values)
{
    memset(key, 0, BYTES_MAX);
    for (uint32_t i = 0; i < n_keys; i++)
        random_value(key + keys[i].value.offset, keys[i].value.width_bits, n_values);
}

static void set_prefix(uint8_t *mask, uint32_t width, uint32_t n)
{
    for (uint32_t i = width - n; i < width; i++)
        mask[i / 8] |= (uint8_t)(1u << i % 8);
}

static void random_rule(struct listed *e, enum style style, uint32_t n_values)
{
    random_key(e->value, n_values);
    memset(e->mask, 0, sizeof e->mask);
    for (uint32_t i = 0; i < n_keys; i++) {
        const struct sd_value_type *v = &keys[i].value;
        uint8_t *value = e->value + v->offset, *mask = e->mask + v->offset;
        uint32_t width = v->width_bits;
        bool is_any = below(4) == 0;
        if (keys[i].match_kind == SD_MATCH_RANGE) {
            random_value(mask, width, n_values);
            if (is_any) {
                memset(value, 0, v->size_bytes);
                set_prefix(mask, width, width);
            } else if (compare_bits(value, mask, width) > 0 && below(20) > 0) {
                uint8_t low[BYTES_MAX];
                memcpy(low, mask, v->size_bytes);
                memcpy(mask, value, v->size_bytes);
                memcpy(value, low, v->size_bytes);
            } else if (below(3) == 0) {
                memcpy(mask, value, v->size_bytes);
            }
            continue;
        }
        if (keys[i].match_kind == SD_MATCH_EXACT)
            set_prefix(mask, width, width);
        else if (!is_any && (style == PREFIXES || keys[i].match_kind == SD_MATCH_LPM))
            set_prefix(mask, width, below(2) ? width : (uint32_t)below(width + 1));
        else if (!is_any && (style == SAME || keys[i].match_kind == SD_MATCH_OPTIONAL))
            set_prefix(mask, width, width);
        else
            for (uint32_t j = 0; j < width && !is_any; j++)
                if (below(8) > (style == SCATTERED ? 3 : 0))
                    mask[j / 8] |= (uint8_t)(1u << j % 8);
        for (uint32_t j = 0; j < v->size_bytes; j++)
            value[j] &= mask[j];
    }
    static const uint32_t ranks[] = {0, 1, 2, 7, UINT32_MAX - 1, UINT32_MAX};
    e->rank = ranks[below(6)];
}

/* A key that a rule of the list nearly matches, or any. */
static void random_packet(uint8_t *key, uint32_t n_values)
{
    random_key(key, n_values);
    if (n_listed == 0 || below(4) == 0)
        return;
    const struct listed *e = &list[below(n_listed)];
    for (uint32_t i = 0; i < n_keys; i++) {
        const struct sd_value_type *v = &keys[i].value;
        uint32_t at = v->offset;
        if (keys[i].match_kind == SD_MATCH_RANGE) {
            if (below(2))
                memcpy(key + at, (below(2) ? e->value : e->mask) + at, v->size_bytes);
            continue;
        }
        for (uint32_t j = at; j < at + v->size_bytes; j++)
            key[j] = (uint8_t)((key[j] & ~e->mask[j]) | e->value[j]);
    }
    if (below(4) == 0) {
        const struct sd_value_type *v = &keys[below(n_keys)].value;
        uint64_t bit = below(v->width_bits);
        key[v->offset + bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

static uint64_t n_lookups, n_hits;

/* One by one and together. */
static void check_lookups(const struct sd_ternary *t, uint32_t n, uint32_t n_values)
{
    enum { N_MAX = 45 };
    static uint8_t packets[N_MAX][BYTES_MAX];
    uint32_t expected[N_MAX], slots[N_MAX];
    CHECK(n <= N_MAX);
    for (uint32_t i = 0; i < n; i++) {
        random_packet(packets[i], n_values);
        expected[i] = listed_lookup(packets[i]);
        CHECK(sd_ternary_lookup(t, packets[i], key_bytes) == expected[i]);
        n_lookups++;
        n_hits += expected[i] != SD_NO_SLOT;
    }
    sd_ternary_lookup_burst(t, packets, BYTES_MAX, key_bytes, n, slots);
    CHECK(memcmp(slots, expected, n * sizeof *slots) == 0);
    /* One after the other, the last one first. */
    static struct sd_ternary_burst burst;
    uint32_t n_gathered = n < SD_TERNARY_BURST ? n : SD_TERNARY_BURST;
    for (uint32_t i = 0; i < n_gathered; i++)
        sd_ternary_gather(t, &burst, i, packets[n - 1 - i], key_bytes);
    sd_ternary_find_gathered(t, &burst, n_gathered);
    for (uint32_t i = 0; i < n_gathered; i++)
        CHECK(burst.slots[i] == expected[n - 1 - i]);
}

static void run(enum style style, uint32_t n_steps, uint32_t n_values)
{
    struct sd_epochs epochs;
    struct sd_ternary t;
    CHECK(sd_epochs_init(&epochs, 1));
    CHECK(sd_ternary_init(&t, keys, n_keys, key_bytes, &epochs, 1));
    sd_epoch_quiesce(&epochs, 0);
    n_listed = n_live = 0;
    for (uint32_t step = 0; step < n_steps; step++) {
        CHECK(n_listed < N_LISTED);
        if (below(4) == 0)
            sd_epoch_quiesce(&epochs, 0);
        /* Tables fill and empty again. */
        uint32_t n_inserts = step * 3 / n_steps == 1 ? 20 : 75;
        if (below(100) < n_inserts) {
            struct listed *e = &list[n_listed];
            random_rule(e, style, n_values);
            if (n_listed > 0 && below(8) == 0) {
                uint32_t rank = e->rank;
                *e = list[below(n_listed)];
                e->rank = rank;
            }
            e->is_live = true;
            CHECK(sd_ternary_insert(&t, e->value, e->mask, e->rank, n_listed) == SD_OK);
            n_listed++;
            n_live++;
        } else if (n_live > 0) {
            uint32_t slot = (uint32_t)below(n_listed);
            CHECK(sd_ternary_remove(&t, slot) == (list[slot].is_live ? SD_OK : SD_NOT_FOUND));
            n_live -= list[slot].is_live;
            list[slot].is_live = false;
        }
        if (step % 4 == 0)
            check_lookups(&t, 1, n_values);
        if (step % 256 == 255)
            check_lookups(&t, 45, n_values);
        CHECK(t.n_rules == n_live);
    }
    sd_ternary_free(&t);
    sd_epochs_free(&epochs);
}

static void test_random(void)
{
    for (enum style style = MIXED; style < N_STYLES; style++) {
        for (uint32_t n = 1; n <= 14; n++) {
            state = style * 1000 + n;
            random_keys(n, n > 8 ? 6 : 20);
            run(style, n % 4 == 0 ? 3000 : 800, 2 + (uint32_t)below(40));
        }
        state = style;
        random_keys(100, 3);
        run(style, 300, 2);
        random_keys(1, 300);
        run(style, 300, 4);
    }
    /* Neither all nor nothing, or little was tested. */
    CHECK(n_hits * 20 > n_lookups && n_hits * 20 < n_lookups * 19);
}

/* The usual one: addresses, protocol, ports, one after the other. */
static void five_tuple(void)
{
    static const uint32_t sizes[] = {4, 4, 1, 2, 2};
    memset(keys, 0, sizeof keys);
    n_keys = 5;
    key_bytes = 0;
    for (uint32_t i = 0; i < 5; i++) {
        keys[i].value =
            (struct sd_value_type){.offset = key_bytes, .size_bytes = sizes[i], .width_bits = 8 * sizes[i]};
        keys[i].match_kind = i < 3 ? SD_MATCH_TERNARY : SD_MATCH_RANGE;
        key_bytes += sizes[i];
    }
}

static void test_five_tuple(void)
{
    five_tuple();
    for (enum style style = MIXED; style < N_STYLES; style++) {
        state = 77 + style;
        run(style, 4000, 40);
    }
}

/* The usual key is known when lookups are compiled. */
static void check_constant(const struct sd_ternary *t)
{
    uint8_t packets[37][13];
    uint32_t slots[37];
    for (uint32_t i = 0; i < 37; i++) {
        uint8_t key[BYTES_MAX];
        random_packet(key, 40);
        memcpy(packets[i], key, 13);
    }
    sd_ternary_lookup_burst(t, packets, 13, 13, 37, slots);
    for (uint32_t i = 0; i < 37; i++) {
        uint8_t key[BYTES_MAX] = {0};
        memcpy(key, packets[i], 13);
        CHECK(slots[i] == listed_lookup(key) && sd_ternary_lookup(t, packets[i], 13) == slots[i]);
    }
}

/* --- Sets that nothing is made for --- */

enum hostile { SCATTERED_BITS, ONE_KEY, NESTED, ANYTHING, PORT_RANGES, N_HOSTILE };

static void hostile_rule(struct listed *e, enum hostile what, uint32_t i)
{
    memset(e, 0, sizeof *e);
    memset(e->mask + 9, 0xff, 4);
    e->rank = what == NESTED ? i : (uint32_t)below(3);
    switch (what) {
    case SCATTERED_BITS:
        for (uint32_t j = 0; j < 9; j++) {
            e->mask[j] = (uint8_t)check_random(&state);
            e->value[j] = (uint8_t)check_random(&state) & e->mask[j];
        }
        break;
    case ONE_KEY:
        memset(e->mask, 0xff, 9);
        memset(e->value, 7, 9);
        e->rank = (uint32_t)check_random(&state);
        break;
    case NESTED:
        set_prefix(e->mask, 72, i % 73);
        memcpy(e->value, e->mask, 9);
        break;
    case ANYTHING:
        e->rank = i % 2 ? i : UINT32_MAX - i;
        break;
    default:
        memset(e->mask, 0xff, 9);
        e->value[9] = (uint8_t)check_random(&state);
        e->value[10] = (uint8_t)below(128);
        e->mask[9] = (uint8_t)check_random(&state);
        e->mask[10] = (uint8_t)(128 + below(128));
    }
    e->is_live = true;
}

static void test_hostile(void)
{
    five_tuple();
    for (enum hostile what = SCATTERED_BITS; what < N_HOSTILE; what++) {
        struct sd_epochs epochs;
        struct sd_ternary t;
        CHECK(sd_epochs_init(&epochs, 1) && sd_ternary_init(&t, keys, n_keys, key_bytes, &epochs, 1));
        state = what;
        for (n_listed = 0; n_listed < 3000; n_listed++) {
            struct listed *e = &list[n_listed];
            hostile_rule(e, what, n_listed);
            CHECK(sd_ternary_insert(&t, e->value, e->mask, e->rank, n_listed) == SD_OK);
        }
        for (uint32_t left = n_listed; left > 0; left -= left < 1000 ? left : 1000) {
            check_lookups(&t, 40, 40);
            check_constant(&t);
            for (uint32_t i = left; i > 0 && i + 1000 > left; i--) {
                CHECK(sd_ternary_remove(&t, i - 1) == SD_OK);
                list[i - 1].is_live = false;
            }
        }
        CHECK(t.n_rules == 0);
        check_constant(&t);
        sd_ternary_free(&t);
        sd_epochs_free(&epochs);
    }
}

/* --- Readers that read on --- */

enum { N_READERS = 2, N_FIXED = 300, N_ROUNDS = 4000 };

static struct sd_epochs shared_epochs;
static struct sd_ternary shared;
static uint32_t is_stopping;

/*
 * Rules with even slots stay, all keys match one of them, and the others precede those: a lookup gives the one that
 * stays, or the one above it.
 */
static void shared_rule(struct listed *e, uint32_t slot)
{
    uint32_t i = slot / 2;
    memset(e, 0, sizeof *e);
    memset(e->mask + 9, 0xff, 4);
    e->value[0] = (uint8_t)i;
    e->value[4] = (uint8_t)(i >> 8);
    e->mask[0] = 0xff;
    e->mask[4] = 0xff;
    if (i % 3 == 0)
        e->mask[8] = e->value[8] = (uint8_t)(slot % 2 ? 6 : 0);
    if (i % 5 == 0)
        memset(e->mask + 11, 0xff, 2);
    e->rank = slot % 2 ? 10 + i : 5;
}

static void *read_on(void *argument)
{
    uint32_t reader = (uint32_t)(uintptr_t)argument;
    uint64_t random = reader;
    for (uint64_t n = 0; !__atomic_load_n(&is_stopping, __ATOMIC_ACQUIRE) || n < 10; n++) {
        sd_epoch_quiesce(&shared_epochs, reader);
        uint8_t packets[40][13];
        uint32_t slots[40], i;
        memset(packets, 0, sizeof packets);
        for (uint32_t j = 0; j < 40; j++) {
            i = (uint32_t)(check_random(&random) % N_FIXED);
            packets[j][0] = (uint8_t)i;
            packets[j][4] = (uint8_t)(i >> 8);
            packets[j][8] = 6;
        }
        sd_ternary_lookup_burst(&shared, packets, 13, 13, 40, slots);
        for (uint32_t j = 0; j < 40; j++) {
            i = packets[j][0] | (uint32_t)packets[j][4] << 8;
            CHECK(slots[j] / 2 == i);
            CHECK(j % 8 || sd_ternary_lookup(&shared, packets[j], 13) / 2 == i);
        }
    }
    sd_epoch_idle(&shared_epochs, reader);
    return NULL;
}

static void test_readers(void)
{
    five_tuple();
    pthread_t readers[N_READERS];
    bool is_there[N_FIXED] = {false};
    struct listed e;
    CHECK(sd_epochs_init(&shared_epochs, N_READERS));
    CHECK(sd_ternary_init(&shared, keys, n_keys, key_bytes, &shared_epochs, 1));
    for (uint32_t i = 0; i < N_FIXED; i++) {
        shared_rule(&e, 2 * i);
        CHECK(sd_ternary_insert(&shared, e.value, e.mask, e.rank, 2 * i) == SD_OK);
    }
    for (uintptr_t i = 0; i < N_READERS; i++)
        CHECK(pthread_create(&readers[i], NULL, read_on, (void *)i) == 0);
    state = 5;
    for (uint32_t round = 0; round < N_ROUNDS; round++) {
        uint32_t i = (uint32_t)below(N_FIXED);
        shared_rule(&e, 2 * i + 1);
        if (is_there[i])
            CHECK(sd_ternary_remove(&shared, 2 * i + 1) == SD_OK);
        else
            CHECK(sd_ternary_insert(&shared, e.value, e.mask, e.rank, 2 * i + 1) == SD_OK);
        is_there[i] = !is_there[i];
        if (round % 500 == 499)
            CHECK(sd_ternary_replan(&shared));
    }
    __atomic_store_n(&is_stopping, 1, __ATOMIC_RELEASE);
    for (uint32_t i = 0; i < N_READERS; i++)
        CHECK(pthread_join(readers[i], NULL) == 0);
    sd_ternary_free(&shared);
    sd_epochs_free(&shared_epochs);
}

int main(void)
{
#ifdef SD_TERNARY_TSAN
    bool has_threads_only = true;
#else
    bool has_threads_only = false;
#endif
    if (!has_threads_only) {
        test_random();
        test_five_tuple();
        test_hostile();
    }
    test_readers();
    return 0;
}
