/*
 * Times hits that read a parameter of their entry, and hits that change it (crates/bench/programs/state_update.p4).
 *
 *     run [--size N] [--runs N] [--burst N]
 *
 * `siding bench state` puts program.c (generated), hits.h and workload.h (crates/bench/peers) beside this file. Two tables of one program
 * have the same N keys; packets of them at random take turns: a slice reads, the next one counts. Works, each in TSC cycles per
 * packet: "hit, read" and "hit, count". After each run the counters are added up: each packet was counted once.
 */
#include "hits.h"

#define SLICE_BURSTS 64
#define N_SLICES 512
#define RUNS_MAX 101

/* The numbers of their tables. */
enum work { READ, COUNT };

static struct hits hits;

/* The sum of the counters, each told by a packet that counts once more. */
static uint64_t counted(struct sd_worker *worker, uint64_t size)
{
    uint64_t sum = 0;
    for (uint64_t number = 0; number < size; number++) {
        uint32_t key = key_of(number);
        uint64_t value = burst(worker, &hits, COUNT, &key, 1);
        if (value == UINT64_MAX)
            return value;
        sum += value - 1;
    }
    return sum;
}

/* One run of slices by turns; the figures are medians. */
static bool turns(struct sd_instance *instance, uint64_t size, uint32_t n_burst, double figures[2])
{
    static struct peer_slices slices[2];
    static uint32_t keys[SLICE_BURSTS * BURST_MAX];
    struct sd_worker *worker = sd_pipeline.worker(instance, 0);
    uint64_t random = 11, n_counted = 0, n_slice = (uint64_t)SLICE_BURSTS * n_burst;
    slices[READ].n = slices[COUNT].n = 0;
    if (!learn(instance, &hits, 2, size, n_burst))
        return false;
    for (uint32_t slice = 0; slice < 2 * N_SLICES; slice++) {
        enum work work = slice % 2 ? COUNT : READ;
        for (uint64_t i = 0; i < n_slice; i++)
            keys[i] = key_of(peer_random_below(&random, (uint32_t)size));
        uint64_t begin = peer_tsc();
        for (uint32_t b = 0; b < SLICE_BURSTS; b++)
            if (burst(worker, &hits, work, keys + (size_t)b * n_burst, n_burst) == UINT64_MAX)
                return false;
        peer_slice_add(&slices[work], begin, peer_tsc(), n_slice);
        n_counted += work == COUNT ? n_slice : 0;
    }
    for (enum work work = READ; work <= COUNT; work++)
        figures[work] = peer_median(slices[work].values, slices[work].n);
    return counted(worker, size) == n_counted;
}

int main(int argc, char **argv)
{
    static double runs[2][RUNS_MAX], extra_cycles[RUNS_MAX];
    uint64_t size = strtoull(peer_option(argc, argv, "--size", "1000000"), NULL, 10);
    uint64_t n_runs = strtoull(peer_option(argc, argv, "--runs", "5"), NULL, 10);
    uint64_t n_burst = strtoull(peer_option(argc, argv, "--burst", "32"), NULL, 10);
    char extra[120];
    if (size < 1 || size > 2000000 || n_runs < 1 || n_runs > RUNS_MAX || n_burst < 1 || n_burst > BURST_MAX) {
        fprintf(stderr, "run: a number is out of range\n");
        return 2;
    }
    program_process = sd_pipeline.process;
    for (size_t run = 0; run < n_runs; run++) {
        struct sd_config config = {1, SD_PATH_AUTO, 1};
        struct sd_instance *instance = sd_pipeline.create(&config);
        double figures[2];
        if (!instance || !turns(instance, size, (uint32_t)n_burst, figures)) {
            fprintf(stderr, "run: a packet was not counted, or an entry is missing\n");
            return 1;
        }
        sd_pipeline.destroy(instance);
        runs[READ][run] = figures[READ];
        runs[COUNT][run] = figures[COUNT];
        extra_cycles[run] = figures[COUNT] - figures[READ];
    }
    /* One figure for each run, as machines change their pace from run to run. */
    snprintf(extra, sizeof extra, "\"unit\":\"packet\",\"burst\":%llu,\"extra_cycles\":%.1f", (unsigned long long)n_burst,
             peer_median(extra_cycles, n_runs));
    peer_print("siding", "0", "hit, read", size, runs[READ], n_runs, extra);
    peer_print("siding", "0", "hit, count", size, runs[COUNT], n_runs, extra);
    return 0;
}
