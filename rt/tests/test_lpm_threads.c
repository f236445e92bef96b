/* Longest prefix match while prefixes come and go: readers never see what is not true of their key. */
#include <pthread.h>

#include "table/lpm/sd_lpm_update.h"

#include "check.h"

#define N_READERS 2
#define N_ROUTES 1500
#define N_LIMBS_MAX 2
#define N_KEYS 32

struct route {
    uint64_t bits[N_LIMBS_MAX];
    uint32_t length;
    bool is_in;
    /* Its number is its index, or that and N_ROUTES. */
    bool is_changed;
};

static struct sd_epochs epochs;
static struct sd_lpm table;
/* By number; those of the first quarter stay in. */
static struct route routes[N_ROUTES];
static uint32_t width, n_limbs;
static bool is_done;

static bool covers(const struct route *r, const uint64_t *key)
{
    for (uint32_t i = 0; i < r->length; i++)
        if ((r->bits[i / 64] ^ key[i / 64]) >> (63 - i % 64) & 1)
            return false;
    return true;
}

static void *read_all(void *argument)
{
    uint32_t reader = *(const uint32_t *)argument;
    uint64_t state = reader + 1, n_hits = 0;
    while (!__atomic_load_n(&is_done, __ATOMIC_RELAXED)) {
        sd_epoch_quiesce(&epochs, reader);
        uint64_t keys[N_KEYS * N_LIMBS_MAX];
        uint32_t numbers[N_KEYS], stays[N_KEYS];
        for (uint32_t i = 0; i < N_KEYS; i++) {
            /* Under a route that stays, most often. */
            stays[i] = (uint32_t)(check_random(&state) % (N_ROUTES / 3));
            const struct route *r = &routes[stays[i]];
            for (uint32_t limb = 0; limb < n_limbs; limb++) {
                uint32_t kept = r->length > limb * 64 ? r->length - limb * 64 : 0;
                uint64_t mask = kept >= 64 ? UINT64_MAX : ~(UINT64_MAX >> kept);
                keys[i * n_limbs + limb] = r->bits[limb] | (check_random(&state) & ~mask);
            }
            if (width == 32)
                keys[i] &= ~(uint64_t)UINT32_MAX;
        }
        if (n_limbs == 1)
            sd_lpm_lookup_bulk(&table, keys, 1, N_KEYS, numbers);
        else
            sd_lpm_lookup_bulk(&table, keys, 2, N_KEYS, numbers);
        for (uint32_t i = 0; i < N_KEYS; i++) {
            const uint64_t *key = keys + i * n_limbs;
            if (i % 4 == 0) {
                numbers[i] = n_limbs == 1 ? sd_lpm_lookup(&table, key, 1) : sd_lpm_lookup(&table, key, 2);
            } else if (i % 4 == 1) {
                struct sd_lpm_pending pending = sd_lpm_begin(&table, key);
                numbers[i] = sd_lpm_finish(pending, key, n_limbs);
            }
            CHECK(numbers[i] < 2 * N_ROUTES || numbers[i] == SD_LPM_NONE);
            numbers[i] = numbers[i] == SD_LPM_NONE ? SD_LPM_NONE : numbers[i] % N_ROUTES;
            CHECK(numbers[i] == SD_LPM_NONE || covers(&routes[numbers[i]], key));
            if (stays[i] < N_ROUTES / 4)
                CHECK(numbers[i] != SD_LPM_NONE && routes[numbers[i]].length >= routes[stays[i]].length);
            n_hits++;
        }
        if (check_random(&state) % 64 == 0)
            sd_epoch_idle(&epochs, reader);
    }
    sd_epoch_idle(&epochs, reader);
    CHECK(n_hits > 0);
    return NULL;
}

/* The writer: any route that is in gets its other number. */
static void change_one(uint64_t *state)
{
    uint32_t i = (uint32_t)(check_random(state) % N_ROUTES);
    struct route *r = &routes[i];
    if (i >= N_ROUTES / 4 && !r->is_in) {
        CHECK(sd_lpm_change(&table, r->bits, r->length, i) == SD_NOT_FOUND);
        return;
    }
    r->is_changed = !r->is_changed;
    CHECK(sd_lpm_change(&table, r->bits, r->length, i + (r->is_changed ? N_ROUTES : 0)) == SD_OK);
}

/* The writer: each route that is in has its number, and keys below it lead to the longest one. */
static void check_numbers(uint64_t *state)
{
    for (uint32_t i = 0; i < N_ROUTES; i++) {
        const struct route *r = &routes[i];
        bool is_in = i < N_ROUTES / 4 || r->is_in;
        uint32_t number = i + (r->is_changed ? N_ROUTES : 0), best = i;
        CHECK(sd_lpm_find(&table, r->bits, r->length) == (is_in ? number : SD_LPM_NONE));
        if (!is_in || check_random(state) % 8)
            continue;
        for (uint32_t j = 0; j < N_ROUTES; j++) {
            bool is_longer = (j < N_ROUTES / 4 || routes[j].is_in) && routes[j].length > routes[best].length;
            best = is_longer && covers(&routes[j], r->bits) ? j : best;
        }
        number = best + (routes[best].is_changed ? N_ROUTES : 0);
        CHECK((n_limbs == 1 ? sd_lpm_lookup(&table, r->bits, 1) : sd_lpm_lookup(&table, r->bits, 2)) == number);
    }
}

static void run(uint32_t n_steps)
{
    uint64_t state = width;
    n_limbs = (width + 63) / 64;
    CHECK(sd_epochs_init(&epochs, N_READERS) && sd_lpm_init(&table, width, &epochs));
    table.n_view_prefixes = 600;
    table.n_blocks_bytes_max = (size_t)32 << 20;
    uint32_t n_distinct = 0;
    struct sd_lpm seen;
    CHECK(sd_lpm_init(&seen, width, NULL));
    while (n_distinct < N_ROUTES) {
        struct route *r = &routes[n_distinct];
        *r = (struct route){.length = 8 + (uint32_t)(check_random(&state) % (width - 7))};
        if (check_random(&state) % 2)
            r->length = 15 + (uint32_t)(check_random(&state) % 12);
        const struct route *near = &routes[n_distinct ? check_random(&state) % n_distinct : 0];
        for (uint32_t limb = 0; limb < n_limbs; limb++) {
            uint32_t kept = r->length > limb * 64 ? r->length - limb * 64 : 0;
            uint64_t mask = kept >= 64 ? UINT64_MAX : ~(UINT64_MAX >> kept);
            uint64_t others = check_random(&state) & check_random(&state) & check_random(&state);
            r->bits[limb] = (near->bits[limb] ^ (check_random(&state) % 4 ? others : check_random(&state))) & mask;
        }
        n_distinct += sd_lpm_add(&seen, r->bits, r->length, n_distinct) == SD_OK;
    }
    sd_lpm_free(&seen);
    for (uint32_t i = 0; i < N_ROUTES / 4; i++)
        CHECK(sd_lpm_add(&table, routes[i].bits, routes[i].length, i) == SD_OK);
    __atomic_store_n(&is_done, false, __ATOMIC_RELAXED);
    pthread_t threads[N_READERS];
    uint32_t readers[N_READERS];
    for (uint32_t i = 0; i < N_READERS; i++) {
        readers[i] = i;
        CHECK(pthread_create(&threads[i], NULL, read_all, &readers[i]) == 0);
    }
    for (uint32_t step = 0; step < n_steps; step++) {
        uint32_t i = N_ROUTES / 4 + (uint32_t)(check_random(&state) % (N_ROUTES - N_ROUTES / 4));
        struct route *r = &routes[i];
        /* They grow beyond where the root grows and the view begins, and go again. */
        bool is_filling = step < n_steps / 2;
        if (r->is_in && (!is_filling || check_random(&state) % 4 == 0)) {
            CHECK(sd_lpm_remove(&table, r->bits, r->length) == SD_OK);
            r->is_in = r->is_changed = false;
        } else if (!r->is_in && is_filling) {
            CHECK(sd_lpm_add(&table, r->bits, r->length, i) == SD_OK);
            r->is_in = true;
        }
        change_one(&state);
        if (step % (n_steps / 8) == 0)
            check_numbers(&state);
    }
    check_numbers(&state);
    CHECK(table.root->n_bits == 24);
    __atomic_store_n(&is_done, true, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < N_READERS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    /* All that was taken out can be used again. */
    sd_collect(&table.limbo, &epochs);
    CHECK(table.limbo.n == 0);
    sd_lpm_free(&table);
    sd_epochs_free(&epochs);
}

int main(void)
{
    width = 32;
    run(4000);
    width = 128;
    run(4000);
    return 0;
}
