/*
 * Times actions that count in their entry, by how workers keep such changes apart (crates/bench/programs/state_sync.p4).
 *
 *     run [--size N] [--runs N] [--burst N] [--workers N]
 *
 * `siding bench state` puts program.c (generated), hits.h and workload.h (crates/bench/peers) beside this file. A table for each
 * way has the same N keys. N threads, each a worker on a core of its own, send packets of these keys at random, all to the same table, which changes
 * from slice to slice. Works, each in TSC cycles of a worker per packet: "read", "count, none" and the other ways, each with the number of workers. After each run the
 * counters are added up: each packet was counted once, but for "none" with several workers, which is left out there.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>

#include "hits.h"

#define SLICE_BURSTS 64
#define N_SLICES 256
#define RUNS_MAX 101
#define WORKERS_MAX 16
#define LINE __attribute__((aligned(64)))

/* The numbers of their tables. */
enum work { READ, NONE, ATOMIC, SEQUENCE, SHARDED, N_WORKS };

static const char *const names[] = {"read", "count, none", "count, atomic", "count, sequence", "count, sharded"};

/* All threads begin each slice together. */
struct start {
    uint32_t n_threads;
    uint64_t n_arrived LINE;
};

struct counter {
    pthread_t thread;
    struct start *start;
    struct sd_worker *worker;
    uint32_t number, n_burst;
    uint64_t size;
    struct peer_slices slices[N_WORKS];
    struct hits hits;
    bool is_done;
};

static void wait_for_others(struct start *start, uint64_t slice)
{
    __atomic_add_fetch(&start->n_arrived, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(&start->n_arrived, __ATOMIC_ACQUIRE) < (slice + 1) * start->n_threads)
        __builtin_ia32_pause();
}

static bool is_measured(enum work work, uint32_t n_workers)
{
    return work != NONE || n_workers == 1;
}

static void pin(uint32_t number)
{
    cpu_set_t allowed, own;
    CPU_ZERO(&own);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return;
    for (int core = 0; core < CPU_SETSIZE; core++)
        if (CPU_ISSET((size_t)core, &allowed) && number-- == 0) {
            CPU_SET((size_t)core, &own);
            (void)pthread_setaffinity_np(pthread_self(), sizeof own, &own);
            return;
        }
}

static void *count(void *argument)
{
    struct counter *c = argument;
    static _Thread_local uint32_t keys[SLICE_BURSTS * BURST_MAX];
    uint64_t random = 11 + c->number, n_slice = (uint64_t)SLICE_BURSTS * c->n_burst;
    pin(c->number);
    c->is_done = true;
    for (uint32_t slice = 0; slice < N_SLICES * N_WORKS; slice++) {
        enum work work = slice % N_WORKS;
        for (uint64_t i = 0; i < n_slice; i++)
            keys[i] = key_of(peer_random_below(&random, (uint32_t)c->size));
        wait_for_others(c->start, slice);
        if (!is_measured(work, c->start->n_threads))
            continue;
        uint64_t begin = peer_tsc();
        for (uint32_t b = 0; b < SLICE_BURSTS; b++)
            c->is_done &= burst(c->worker, &c->hits, work, keys + (size_t)b * c->n_burst, c->n_burst) != UINT64_MAX;
        peer_slice_add(&c->slices[work], begin, peer_tsc(), n_slice);
    }
    return NULL;
}

/* The sum of the counters of a table. */
static uint64_t counted(struct sd_instance *instance, uint32_t table)
{
    uint64_t sum = 0, after = UINT64_MAX;
    struct sd_entry_view found;
    while (sd_pipeline.control->table_next(instance, table, &after, &found) == SD_OK) {
        uint32_t n;
        memcpy(&n, found.data, sizeof n);
        sum += n;
        after = found.handle;
    }
    return sum;
}

/* One run of slices by turns; the figures are medians, and means of the threads. */
static bool turns(uint32_t n_workers, uint64_t size, uint32_t n_burst, double figures[N_WORKS])
{
    static struct counter counters[WORKERS_MAX];
    struct start start = {.n_threads = n_workers};
    /* With one worker alone every way would be "none". */
    struct sd_config config = {n_workers > 1 ? n_workers : 2, SD_PATH_BURSTS, 1};
    struct sd_instance *instance = sd_pipeline.create(&config);
    uint64_t n_counted = (uint64_t)N_SLICES * SLICE_BURSTS * n_burst * n_workers;
    bool is_done = instance && learn(instance, &counters[0].hits, N_WORKS, size, n_burst);
    for (uint32_t i = 0; is_done && i < n_workers; i++) {
        struct counter *c = &counters[i];
        c->start = &start;
        c->worker = sd_pipeline.worker(instance, i);
        c->number = i;
        c->n_burst = n_burst;
        c->size = size;
        for (enum work work = READ; work < N_WORKS; work++)
            c->slices[work].n = 0;
        if (pthread_create(&c->thread, NULL, count, c) != 0)
            exit(1);
    }
    for (uint32_t i = 0; is_done && i < n_workers; i++)
        pthread_join(counters[i].thread, NULL);
    for (enum work work = READ; is_done && work < N_WORKS; work++) {
        figures[work] = 0;
        if (!is_measured(work, n_workers))
            continue;
        for (uint32_t i = 0; i < n_workers; i++) {
            figures[work] += peer_median(counters[i].slices[work].values, counters[i].slices[work].n) / n_workers;
            is_done &= counters[i].is_done;
        }
        is_done &= counted(instance, work) == (work == READ ? 0 : n_counted);
    }
    if (instance)
        sd_pipeline.destroy(instance);
    return is_done;
}

int main(int argc, char **argv)
{
    static double runs[N_WORKS][RUNS_MAX], extra_cycles[N_WORKS][RUNS_MAX];
    uint64_t size = strtoull(peer_option(argc, argv, "--size", "1000000"), NULL, 10);
    uint64_t n_runs = strtoull(peer_option(argc, argv, "--runs", "5"), NULL, 10);
    uint64_t n_burst = strtoull(peer_option(argc, argv, "--burst", "32"), NULL, 10);
    uint64_t n_workers = strtoull(peer_option(argc, argv, "--workers", "1"), NULL, 10);
    if (size < 1 || size > 2000000 || n_runs < 1 || n_runs > RUNS_MAX || n_burst < 1 || n_burst > BURST_MAX || n_workers < 1 ||
        n_workers > WORKERS_MAX) {
        fprintf(stderr, "run: a number is out of range\n");
        return 2;
    }
    program_process = sd_pipeline.process;
    for (size_t run = 0; run < n_runs; run++) {
        double figures[N_WORKS];
        if (!turns((uint32_t)n_workers, size, (uint32_t)n_burst, figures)) {
            fprintf(stderr, "run: a packet was not counted, or an entry is missing\n");
            return 1;
        }
        for (enum work work = READ; work < N_WORKS; work++) {
            runs[work][run] = figures[work];
            extra_cycles[work][run] = figures[work] - figures[READ];
        }
    }
    for (enum work work = READ; work < N_WORKS; work++) {
        char extra[120], name[60];
        if (!is_measured(work, (uint32_t)n_workers))
            continue;
        snprintf(extra, sizeof extra, "\"unit\":\"packet\",\"burst\":%llu,\"workers\":%llu,\"extra_cycles\":%.1f",
                 (unsigned long long)n_burst, (unsigned long long)n_workers, peer_median(extra_cycles[work], n_runs));
        snprintf(name, sizeof name, "%s, %llu worker%s", names[work], (unsigned long long)n_workers, n_workers == 1 ? "" : "s");
        peer_print("siding", "0", name, size, runs[work], n_runs, extra);
    }
    return 0;
}
