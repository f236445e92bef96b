/*
 * What every peer harness shares: the pseudo-random workload, the clock, and the line it prints.
 *
 * All workloads come from SplitMix64 with fixed seeds, so that the switch can be given the same
 * keys, routes and rules as the peer. Cycles are TSC cycles. Two clocks are used (the machine may
 * be shared):
 *
 *   lookups  the loop is cut into slices of well under a scheduler's time slice, and a run's figure
 * is the median of its slices: a slice in which the thread was preempted does not count; inserts  a
 * run's figure is the thread's processor time, turned into TSC cycles: inserts differ in cost, so
 * that a median would hide the dear ones.
 */
#ifndef PEERS_WORKLOAD_H
#define PEERS_WORKLOAD_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <x86intrin.h>

#define PEER_RUNS 7
#define PEER_BURST 32

/* One step of SplitMix64 (Steele, Lea, Flood 2014): 64 pseudo-random bits from a counter. */
static inline uint64_t peer_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* A pseudo-random number below `limit`, which must not be 0 (multiply-shift; the bias is below
 * limit / 2^32). */
static inline uint32_t peer_random_below(uint64_t *state, uint32_t limit)
{
    return (uint32_t)(((peer_random(state) >> 32) * limit) >> 32);
}

/* Entry `i` of the workload of exact tables. */
struct peer_key {
    uint64_t words[2];
};

static inline struct peer_key peer_key_at(uint64_t i)
{
    uint64_t state = 0x51d1 + i * 2;
    struct peer_key k;
    k.words[0] = peer_random(&state);
    k.words[1] = peer_random(&state);
    return k;
}

static inline uint64_t peer_tsc(void)
{
    unsigned int cpu;
    return __rdtscp(&cpu);
}

static inline double peer_clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* TSC cycles per nanosecond, measured against the monotonic clock over 100 ms. */
static inline double peer_tsc_ghz(void)
{
    static double ghz;
    if (ghz == 0) {
        double ns_begin = peer_clock_ns(CLOCK_MONOTONIC_RAW);
        uint64_t tsc_begin = peer_tsc();
        double ns;
        do
            ns = peer_clock_ns(CLOCK_MONOTONIC_RAW) - ns_begin;
        while (ns < 100e6);
        ghz = (double)(peer_tsc() - tsc_begin) / ns;
    }
    return ghz;
}

/* Processor time of this thread, in TSC cycles. */
static inline double peer_thread_cycles(void)
{
    return peer_clock_ns(CLOCK_THREAD_CPUTIME_ID) * peer_tsc_ghz();
}

static inline int peer_compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts `values` and returns their median; `n` must not be 0. */
static inline double peer_median(double *values, size_t n)
{
    qsort(values, n, sizeof(*values), peer_compare_doubles);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* The slices of one run: cycles per operation of each. */
struct peer_slices {
    double values[8192];
    size_t n;
};

static inline void peer_slice_add(struct peer_slices *s, uint64_t tsc_begin, uint64_t tsc_end,
                                  size_t n_ops)
{
    if (s->n < sizeof(s->values) / sizeof(s->values[0]))
        s->values[s->n++] = (double)(tsc_end - tsc_begin) / (double)n_ops;
}

/*
 * Prints one result: the median over the runs, with the least and the greatest beside it. `extra`
 * is further JSON members (`"unit":"lookup","burst":32`), without a comma at either end, never
 * empty. Sorts `runs`.
 */
static inline void peer_print(const char *peer, const char *version, const char *work,
                              uint64_t size, double *runs, size_t n_runs, const char *extra)
{
    double cycles = peer_median(runs, n_runs);
    printf("{\"peer\":\"%s\",\"version\":\"%s\",\"work\":\"%s\",\"size\":%llu,\"cycles\":%.1f,"
           "\"cycles_min\":%.1f,"
           "\"cycles_max\":%.1f,\"mpps\":%.3f,\"runs\":%zu,\"tsc_ghz\":%.3f,%s}\n",
           peer, version, work, (unsigned long long)size, cycles, runs[0], runs[n_runs - 1],
           cycles > 0 ? peer_tsc_ghz() * 1e3 / cycles : 0.0, n_runs, peer_tsc_ghz(), extra);
    fflush(stdout);
}

/* Whether `flag` is among the arguments. */
static inline int peer_flag(int argc, char **argv, const char *flag)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], flag) == 0)
            return 1;
    return 0;
}

/* The value after `--name`, or `otherwise`. */
static inline const char *peer_option(int argc, char **argv, const char *name,
                                      const char *otherwise)
{
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return argv[i + 1];
    return otherwise;
}

#endif
