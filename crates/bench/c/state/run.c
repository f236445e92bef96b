/*
 * Times a generated program whose packets add entries to a table (crates/bench/programs/state.p4).
 *
 *     run [--size N] [--runs N] [--burst N] [--workers N]
 *
 * `siding bench state` puts program.c (generated) and workload.h (crates/bench/peers) beside this file. Packets lie in memory,
 * each in a buffer of its own; the source writes a key into each. Keys are different from each other in an order that looks
 * random. Works, each in cycles per packet:
 *
 *   learn   all packets have new keys, from an empty table to N entries
 *   hit     packets have keys of the table at random
 *   mixed   the same, and every hundredth packet has a new key
 *
 * With --workers W the line of "learn" has the rate of W threads together, each with new keys of its own, by the wall clock.
 * After each run the table's entries are counted, and each value that a hit returned was compared.
 */
#include <pthread.h>

#include "program.c"

#include "workload.h"

#define BURST_MAX 64
#define HEADROOM 64
#define PACKET_BYTES 84
#define STRIDE 256
#define KEY_AT 14
#define SLICE_BURSTS 64
#define RUNS_MAX 101
#define WORKERS_MAX 16
#define MIXED_NEW 100

struct source {
    uint8_t *memory;
    struct sd_worker *worker;
    uint32_t n_burst;
    /* Keys of this source: those of numbers that are `first` plus a multiple of `step`. */
    uint64_t first, step;
    /* Keys that are in the table. */
    uint64_t n_known;
    uint64_t random;
    /* Answers that were wrong, and packets that were not sent. */
    uint64_t n_wrong;
};

enum work { LEARN, HIT, MIXED };

static uint32_t (*volatile program_process)(struct sd_worker *, struct sd_packet *, uint32_t);

/* Different for each number below 2^32. */
static uint32_t key_of(const struct source *s, uint64_t number)
{
    return (uint32_t)(s->first + number * s->step) * 2654435761u;
}

static void fill(struct source *s, struct sd_packet *packets, enum work work, uint32_t *keys)
{
    for (uint32_t i = 0; i < s->n_burst; i++) {
        bool is_new = work == LEARN || (work == MIXED && peer_random_below(&s->random, MIXED_NEW) == 0);
        uint64_t number = is_new ? s->n_known++ : peer_random_below(&s->random, (uint32_t)s->n_known);
        keys[i] = key_of(s, number);
        uint8_t *data = s->memory + (size_t)i * STRIDE + HEADROOM;
        /* A new key brings the value that the others are to get. */
        uint32_t value = is_new ? ~keys[i] : 0;
        sd_store_be(data + KEY_AT, 4, keys[i]);
        sd_store_be(data + KEY_AT + 4, 4, value);
        packets[i].data = data;
        packets[i].length_bytes = PACKET_BYTES;
        packets[i].headroom_bytes = HEADROOM;
        packets[i].tailroom_bytes = STRIDE - HEADROOM - PACKET_BYTES;
        packets[i].ingress_port = 1;
    }
}

/* Runs one burst. Returns false if the program did not take it as a whole. */
static bool run_burst(struct source *s, struct sd_packet *packets, enum work work)
{
    uint32_t keys[BURST_MAX];
    fill(s, packets, work, keys);
    s->worker->now_ns += 1000;
    s->worker->steps_left = 10000;
    if (program_process(s->worker, packets, s->n_burst) != s->n_burst)
        return false;
    for (uint32_t i = 0; i < s->n_burst; i++) {
        uint32_t value = (uint32_t)sd_load_be(packets[i].data + KEY_AT + 4, 4);
        s->n_wrong += packets[i].verdict != SD_VERDICT_SEND || value != ~keys[i];
    }
    return true;
}

/* Cycles per packet of so many packets, the median of slices; negative if a packet does not get through. */
static double turn(struct sd_instance *instance, struct source *s, enum work work, uint64_t n_packets)
{
    static struct peer_slices slices;
    struct sd_packet packets[BURST_MAX];
    memset(packets, 0, sizeof packets);
    slices.n = 0;
    for (uint64_t n = 0; n < n_packets; n += (uint64_t)SLICE_BURSTS * s->n_burst) {
        /* A switch looks for entries that have ended, which tells workers how large the table is. */
        sd_pipeline.control->table_n_entries(instance, 0);
        uint64_t begin = peer_tsc();
        for (uint32_t b = 0; b < SLICE_BURSTS; b++)
            if (!run_burst(s, packets, work))
                return -1;
        peer_slice_add(&slices, begin, peer_tsc(), (uint64_t)SLICE_BURSTS * s->n_burst);
    }
    return s->n_wrong ? -1 : peer_median(slices.values, slices.n);
}

/* Cycles of source and sink alone. */
static double overhead(struct source *s)
{
    static struct peer_slices slices;
    struct sd_packet packets[BURST_MAX];
    struct source copy = *s;
    uint32_t keys[BURST_MAX];
    slices.n = 0;
    copy.n_known = 1 << 16;
    for (uint32_t n = 0; n < 256; n++) {
        uint64_t begin = peer_tsc();
        for (uint32_t b = 0; b < SLICE_BURSTS; b++)
            fill(&copy, packets, HIT, keys);
        peer_slice_add(&slices, begin, peer_tsc(), (uint64_t)SLICE_BURSTS * s->n_burst);
    }
    return peer_median(slices.values, slices.n);
}

static bool source_make(struct source *s, uint32_t n_burst, uint64_t first, uint64_t step)
{
    *s = (struct source){.n_burst = n_burst, .first = first, .step = step, .random = 17 + first};
    s->memory = calloc(BURST_MAX, STRIDE);
    return s->memory != NULL;
}

struct learner {
    struct source source;
    uint64_t n_packets;
    pthread_barrier_t *barrier;
    bool is_done;
};

static void *learn(void *argument)
{
    struct learner *l = argument;
    struct sd_packet packets[BURST_MAX];
    memset(packets, 0, sizeof packets);
    l->is_done = true;
    pthread_barrier_wait(l->barrier);
    for (uint64_t n = 0; n < l->n_packets && l->is_done; n += l->source.n_burst)
        l->is_done = run_burst(&l->source, packets, LEARN);
    pthread_barrier_wait(l->barrier);
    return NULL;
}

/* TSC cycles by the wall clock that `n_workers` threads take for one of `size` new flows; negative after a failure. */
static double learn_together(uint32_t n_workers, uint64_t size, uint32_t n_burst)
{
    static struct learner learners[WORKERS_MAX];
    struct sd_config config = {n_workers, SD_PATH_BURSTS, 1};
    struct sd_instance *instance = sd_pipeline.create(&config);
    pthread_t threads[WORKERS_MAX];
    pthread_barrier_t barrier;
    uint64_t n_each = size / n_workers / n_burst * n_burst;
    if (!instance)
        return -1;
    pthread_barrier_init(&barrier, NULL, n_workers + 1);
    for (uint32_t i = 0; i < n_workers; i++) {
        learners[i] = (struct learner){.n_packets = n_each, .barrier = &barrier};
        if (!source_make(&learners[i].source, n_burst, i, n_workers))
            return -1;
        learners[i].source.worker = sd_pipeline.worker(instance, i);
        pthread_create(&threads[i], NULL, learn, &learners[i]);
    }
    pthread_barrier_wait(&barrier);
    uint64_t begin = peer_tsc();
    pthread_barrier_wait(&barrier);
    double cycles = (double)(peer_tsc() - begin) / (double)(n_each * n_workers);
    for (uint32_t i = 0; i < n_workers; i++) {
        pthread_join(threads[i], NULL);
        free(learners[i].source.memory);
        if (!learners[i].is_done || learners[i].source.n_wrong)
            cycles = -1;
    }
    if (sd_pipeline.control->table_n_entries(instance, 0) != n_each * n_workers)
        cycles = -1;
    pthread_barrier_destroy(&barrier);
    sd_pipeline.destroy(instance);
    return cycles;
}

static bool measure(uint64_t size, size_t n_runs, uint32_t n_burst)
{
    static double runs[3][RUNS_MAX];
    static const char *const works[] = {"learn", "hit", "mixed"};
    struct source s;
    char extra[200];
    if (!source_make(&s, n_burst, 0, 1))
        return false;
    double before = overhead(&s);
    for (size_t run = 0; run < n_runs; run++) {
        struct sd_config config = {1, SD_PATH_AUTO, 1};
        struct sd_instance *instance = sd_pipeline.create(&config);
        struct sd_worker *worker = instance ? sd_pipeline.worker(instance, 0) : NULL;
        if (!worker)
            return false;
        s.worker = worker;
        s.n_known = 0;
        uint64_t n_slice = (uint64_t)SLICE_BURSTS * n_burst, n_hits = size < 1 << 20 ? 1 << 20 : 4 << 20;
        runs[LEARN][run] = turn(instance, &s, LEARN, size);
        uint64_t n_learned = (size + n_slice - 1) / n_slice * n_slice;
        bool is_right = sd_pipeline.control->table_n_entries(instance, 0) == n_learned;
        runs[HIT][run] = turn(instance, &s, HIT, n_hits);
        runs[MIXED][run] = turn(instance, &s, MIXED, n_hits / 4);
        is_right &= sd_pipeline.control->table_n_entries(instance, 0) == s.n_known;
        sd_pipeline.destroy(instance);
        for (size_t work = 0; work < 3; work++)
            if (runs[work][run] < 0 || !is_right) {
                fprintf(stderr, "run: a packet did not get the value of its flow, or an entry is missing\n");
                return false;
            }
    }
    snprintf(extra, sizeof extra, "\"unit\":\"packet\",\"burst\":%u,\"harness_cycles\":%.1f", n_burst, before);
    for (size_t work = 0; work < 3; work++)
        peer_print("siding", "0", works[work], size, runs[work], n_runs, extra);
    free(s.memory);
    return true;
}

static bool measure_together(uint32_t n_workers, uint64_t size, size_t n_runs, uint32_t n_burst)
{
    static double runs[RUNS_MAX];
    char extra[200];
    for (size_t run = 0; run < n_runs; run++)
        if ((runs[run] = learn_together(n_workers, size, n_burst)) < 0) {
            fprintf(stderr, "run: %u workers do not learn all flows\n", n_workers);
            return false;
        }
    snprintf(extra, sizeof extra, "\"unit\":\"packet\",\"burst\":%u,\"workers\":%u", n_burst, n_workers);
    peer_print("siding", "0", n_workers == 1 ? "learn, 1 worker" : "learn, 2 workers", size, runs, n_runs, extra);
    return true;
}

int main(int argc, char **argv)
{
    uint64_t size = strtoull(peer_option(argc, argv, "--size", "1000000"), NULL, 10);
    uint64_t n_runs = strtoull(peer_option(argc, argv, "--runs", "5"), NULL, 10);
    uint64_t n_burst = strtoull(peer_option(argc, argv, "--burst", "32"), NULL, 10);
    uint64_t n_workers = strtoull(peer_option(argc, argv, "--workers", "0"), NULL, 10);
    if (size < 1 || size > 12000000 || n_runs < 1 || n_runs > RUNS_MAX || n_burst < 1 || n_burst > BURST_MAX ||
        n_workers > WORKERS_MAX) {
        fprintf(stderr, "run: a number is out of range\n");
        return 2;
    }
    program_process = sd_pipeline.process;
    bool is_done = n_workers ? measure_together((uint32_t)n_workers, size, n_runs, (uint32_t)n_burst)
                             : measure(size, n_runs, (uint32_t)n_burst);
    return is_done ? 0 : 1;
}
