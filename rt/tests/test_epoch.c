/*
 * Epochs: nothing is freed while a reader may have it, everything is when readers have passed, and large mappings.
 * Readers on threads of their own, for ThreadSanitizer and AddressSanitizer to watch.
 */
#include <pthread.h>

#include "check.h"
#include "worker/sd_epoch.h"

enum { N_READERS = 3, N_SWAPS = 20000 };

static uint64_t n_freed;

static void count_free(void *pointer, void *context)
{
    uint64_t *order = context;
    CHECK((uintptr_t)pointer == ++*order);
    n_freed++;
}

/* What is retired is freed in order, when the last reader that might have it has passed. */
static void test_order(void)
{
    struct sd_epochs epochs;
    struct sd_limbo limbo = {NULL, 0, 0, 0};
    uint64_t order = 0, n_retired = 0;
    CHECK(sd_epochs_init(&epochs, N_READERS));
    CHECK(((uintptr_t)epochs.readers & (SD_LINE_BYTES - 1)) == 0 && sizeof *epochs.readers == SD_LINE_BYTES);
    /* Without active readers at once. */
    CHECK(sd_retire(&limbo, &epochs, (void *)(uintptr_t)++n_retired, count_free, &order));
    sd_collect(&limbo, &epochs);
    CHECK(n_freed == 1 && limbo.n == 0);
    /* Readers at random boundaries; the model keeps for each thing who may have it. */
    enum { N = 2000 };
    static uint8_t may_have[N + 2];
    bool is_idle[N_READERS] = {true, true, true};
    uint64_t state = 5, first = 2;
    for (int step = 0; step < 50000 && n_retired < N; step++) {
        uint32_t reader = (uint32_t)(check_random(&state) % N_READERS);
        switch (check_random(&state) % 5) {
        case 0:
            CHECK(sd_limbo_reserve(&limbo, 1));
            CHECK(sd_retire(&limbo, &epochs, (void *)(uintptr_t)++n_retired, count_free, &order));
            for (uint32_t i = 0; i < N_READERS; i++)
                may_have[n_retired] |= (uint8_t)(!is_idle[i] << i);
            break;
        case 1:
            sd_epoch_idle(&epochs, reader);
            is_idle[reader] = true;
            for (uint64_t i = first; i <= n_retired; i++)
                may_have[i] &= (uint8_t)~(1u << reader);
            break;
        case 2:
            sd_collect(&limbo, &epochs);
            while (first <= n_freed)
                CHECK(may_have[first++] == 0);
            break;
        default:
            /* The writer has to begin an epoch before passing helps: sd_collect does. */
            sd_collect(&limbo, &epochs);
            while (first <= n_freed)
                CHECK(may_have[first++] == 0);
            sd_epoch_quiesce(&epochs, reader);
            is_idle[reader] = false;
            for (uint64_t i = first; i <= n_retired; i++)
                may_have[i] &= (uint8_t)~(1u << reader);
            sd_collect(&limbo, &epochs);
            /* Nothing waits longer than it has to. */
            CHECK(n_freed == n_retired || may_have[n_freed + 1] != 0);
            while (first <= n_freed)
                CHECK(may_have[first++] == 0);
        }
    }
    CHECK(n_retired == N && n_freed > N / 2);
    sd_limbo_free(&limbo);
    CHECK(n_freed == N);
    sd_epochs_free(&epochs);
}

/* --- With threads --- */

struct shared {
    struct sd_epochs epochs;
    uint64_t *current;
    bool stop;
};

struct reader {
    pthread_t thread;
    struct shared *shared;
    uint32_t index;
    uint64_t n_reads;
};

static void *read_current(void *context)
{
    struct reader *r = context;
    uint64_t last = 0, state = r->index;
    while (!__atomic_load_n(&r->shared->stop, __ATOMIC_RELAXED)) {
        sd_epoch_quiesce(&r->shared->epochs, r->index);
        const uint64_t *held[8];
        for (int i = 0; i < 8; i++)
            held[i] = __atomic_load_n(&r->shared->current, __ATOMIC_ACQUIRE);
        for (int i = 0; i < 8; i++) {
            CHECK(held[i][0] == ~held[i][1] && held[i][0] >= last);
            last = held[i][0];
            r->n_reads++;
        }
        if (check_random(&state) % 16 == 0)
            sd_epoch_idle(&r->shared->epochs, r->index);
    }
    sd_epoch_idle(&r->shared->epochs, r->index);
    return NULL;
}

static void free_poisoned(void *pointer, void *context)
{
    (void)context;
    memset(pointer, 0x55, 2 * sizeof(uint64_t));
    free(pointer);
}

static void test_threads(void)
{
    struct shared shared = {.stop = false};
    struct sd_limbo limbo = {NULL, 0, 0, 0};
    struct reader readers[N_READERS];
    CHECK(sd_epochs_init(&shared.epochs, N_READERS));
    uint64_t longest = 0;
    for (uint64_t i = 0; i < N_SWAPS; i++) {
        uint64_t *made = malloc(2 * sizeof *made), *old = shared.current;
        CHECK(made);
        made[0] = i;
        made[1] = ~i;
        __atomic_store_n(&shared.current, made, __ATOMIC_RELEASE);
        if (i == 0)
            for (uint32_t r = 0; r < N_READERS; r++) {
                readers[r] = (struct reader){.shared = &shared, .index = r};
                CHECK(pthread_create(&readers[r].thread, NULL, read_current, &readers[r]) == 0);
            }
        else
            CHECK(sd_retire(&limbo, &shared.epochs, old, free_poisoned, NULL));
        if (limbo.n > longest)
            longest = limbo.n;
        if (i % 4 == 0)
            sd_collect(&limbo, &shared.epochs);
    }
    __atomic_store_n(&shared.stop, true, __ATOMIC_RELAXED);
    for (uint32_t r = 0; r < N_READERS; r++)
        pthread_join(readers[r].thread, NULL);
    CHECK(limbo.n <= longest);
    sd_collect(&limbo, &shared.epochs);
    CHECK(limbo.n == 0);
    free(shared.current);
    sd_limbo_free(&limbo);
    sd_epochs_free(&shared.epochs);
}

static void test_large_maps(void)
{
    static const size_t sizes[] = {0, 1, 4096, 5000, SD_HUGE_BYTES - 1, SD_HUGE_BYTES, SD_HUGE_BYTES + 1,
                                   7 * SD_HUGE_BYTES + 12345};
    for (size_t i = 0; i < SD_ARRAY_LEN(sizes); i++) {
        uint8_t *memory = sd_map_large(sizes[i]);
        CHECK(memory);
        CHECK(sizes[i] < SD_HUGE_BYTES || ((uintptr_t)memory & (SD_HUGE_BYTES - 1)) == 0);
        for (size_t at = 0; at < sizes[i]; at += 1000) {
            CHECK(memory[at] == 0);
            memory[at] = 1;
        }
        if (sizes[i])
            memory[sizes[i] - 1] = 1;
        sd_unmap_large(memory, sizes[i]);
    }
    CHECK(!sd_map_large(SIZE_MAX) && !sd_map_large((size_t)1 << 62));
    sd_unmap_large(NULL, 5);
}

int main(void)
{
    test_order();
    test_threads();
    test_large_maps();
    return 0;
}
