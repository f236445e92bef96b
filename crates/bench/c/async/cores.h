/*
 * A worker on one core and an offload worker on the other.
 */
#ifndef CORES_H
#define CORES_H

#include "stations.h"

/* Packets that wait for a worker which is busy, as in the ring of a network interface. */
#define N_ARRIVED_MAX 1024
/* Steps of a search for the highest rate without loss: to a part in 128. */
#define N_SEARCH 10

static volatile bool stop_serving;

static void pin(size_t core)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    /* Elsewhere it works, too. */
    (void)pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

static void *serve(void *argument)
{
    (void)argument;
    struct sd_channel *const channels[1] = {channel};
    pin(1);
    while (!stop_serving)
        if (sd_pipeline.serve(offload_worker, channels, 1) == 0)
            sd_relax();
    return NULL;
}

enum way { WAY_NONE, WAY_INLINE, WAY_WAIT, WAY_SUSPEND, WAY_AUTO, WAY_DROP, N_WAYS };

static const char *const way_names[N_WAYS] = {"none", "inline", "wait", "suspend", "auto", "drop"};

static void choose(enum way which)
{
    static const uint32_t modes[N_WAYS] = {[WAY_WAIT] = SD_ASYNC_WAIT,
                                           [WAY_SUSPEND] = SD_ASYNC_SUSPEND,
                                           [WAY_DROP] = SD_ASYNC_SUSPEND};
    struct sd_offload_policy *way = &worker->async_ways[0];
    set_way(modes[which], CAPACITY);
    memset(&way->choice, 0, sizeof way->choice);
    way->choice.is_on = which == WAY_AUTO;
    worker->trial_phase = SD_TRIAL_NONE;
    if (which == WAY_DROP)
        way->full = SD_ASYNC_FULL_DROP;
}

struct outcome {
    /* Of packets that have left, or been taken. */
    double cycles;
    /* Shares of the packets that came to the block, and of all. */
    double dropped;
    double lost;
};

/*
 * For so many cycles. `gap` is the time between two packets that arrive, 0 for as many as the worker takes: then it takes
 * no more than may wait, unless what is too much stays with it or is dropped.
 */
static struct outcome run_for(struct source *s, enum way which, double gap, uint64_t cycles)
{
    struct sd_packet packets[BURST];
    struct sd_offload_policy *way = &worker->async_ways[0];
    uint32_t n_back;
    uint64_t n_taken = 0, n_lost = 0, n_dropped = way->n_dropped;
    uint64_t n_blocks = sd_choice_blocks(way) + way->n_dropped;
    choose(which);
    uint64_t begin = peer_tsc(), end = begin;
    do {
        uint32_t n_burst = BURST, room = CAPACITY - way->n_in_flight;
        if (which == WAY_SUSPEND && room < n_burst)
            n_burst = room;
        if (gap > 0) {
            uint64_t n_arrived = (uint64_t)((double)(end - begin) / gap) - n_taken - n_lost;
            if (n_arrived > N_ARRIVED_MAX) {
                n_lost += n_arrived - N_ARRIVED_MAX;
                n_arrived = N_ARRIVED_MAX;
            }
            n_burst = n_arrived < n_burst ? (uint32_t)n_arrived : n_burst;
        }
        if (n_burst > 0) {
            source_fill(s, packets, n_burst);
            sd_pipeline.process(worker, packets, n_burst);
            sink(s, packets, n_burst);
            n_taken += n_burst;
        }
        while ((n_back = sd_pipeline.resume(worker, packets, BURST)) > 0)
            sink(s, packets, n_back);
        end = peer_tsc();
    } while (end - begin < cycles);
    struct outcome outcome = {.cycles = (double)(end - begin) / (double)(which == WAY_DROP ? n_taken : s->n_sent)};
    n_dropped = way->n_dropped - n_dropped;
    n_blocks = sd_choice_blocks(way) + way->n_dropped - n_blocks;
    outcome.dropped = n_blocks ? (double)n_dropped / (double)n_blocks : 0;
    outcome.lost = (double)(n_lost + n_dropped) / (double)(n_taken + n_lost);
    /* What is still there comes back before the next way begins. */
    while (way->n_in_flight > 0)
        if ((n_back = sd_pipeline.resume(worker, packets, BURST)) > 0)
            sink(s, packets, n_back);
    return outcome;
}

struct grid {
    const uint64_t *shares, *costs;
    size_t n_shares, n_costs, n_runs;
    uint64_t cycles;
};

static void print_point(const struct grid *grid, size_t i, size_t k, const char *path, double *values, const char *more)
{
    char extra[240], work[40];
    snprintf(extra, sizeof extra, "\"unit\":\"packet\",\"path\":\"%s\",\"share\":%llu,\"capacity\":%u%s", path,
             (unsigned long long)grid->shares[i], CAPACITY, more);
    snprintf(work, sizeof work, "%llu percent", (unsigned long long)grid->shares[i]);
    peer_print("siding", "0", work, grid->costs[k], values, grid->n_runs, extra);
}

static bool fill_point(const struct grid *grid, size_t i, size_t k)
{
    return fill((uint32_t)(grid->shares[i] * N_FLOWS / 100), (uint32_t)grid->costs[k]);
}

/* Every way at every point; ways take turns. */
static bool rates(const struct grid *grid)
{
    static struct source s;
    for (size_t i = 0; i < grid->n_shares; i++)
        for (size_t k = 0; k < grid->n_costs; k++) {
            double runs[WAY_AUTO + 1][RUNS_MAX];
            for (size_t r = 0; r < grid->n_runs; r++)
                for (enum way w = WAY_NONE; w <= WAY_AUTO; w++) {
                    if (!(w == WAY_NONE ? fill(0, 0) : fill_point(grid, i, k)))
                        return false;
                    source_reset(&s);
                    runs[w][r] = run_for(&s, w, 0, grid->cycles).cycles;
                }
            for (enum way w = WAY_NONE; w <= WAY_AUTO; w++)
                print_point(grid, i, k, way_names[w], runs[w], "");
        }
    return true;
}

/* What is dropped when the worker takes all that it can, and what should be: what the offload worker has no time for. */
static bool drops(const struct grid *grid)
{
    static struct source s;
    struct sd_offload_policy *way = &offload_worker->async_ways[0];
    for (size_t i = 0; i < grid->n_shares; i++)
        for (size_t k = 0; k < grid->n_costs; k++) {
            double runs[RUNS_MAX], dropped[RUNS_MAX], expected[RUNS_MAX];
            for (size_t r = 0; r < grid->n_runs; r++) {
                if (!fill_point(grid, i, k))
                    return false;
                source_reset(&s);
                uint64_t n_served = way->n_served, served_cycles = way->served_cycles;
                struct outcome outcome = run_for(&s, WAY_DROP, 0, grid->cycles);
                double block = (double)(way->served_cycles - served_cycles) / (double)(way->n_served - n_served);
                double offered = outcome.cycles * 100 / (double)grid->shares[i];
                runs[r] = outcome.cycles;
                dropped[r] = outcome.dropped;
                expected[r] = block > offered ? 1 - offered / block : 0;
            }
            char more[120];
            snprintf(more, sizeof more, ",\"dropped\":%.4f,\"expected\":%.4f", peer_median(dropped, grid->n_runs),
                     peer_median(expected, grid->n_runs));
            print_point(grid, i, k, way_names[WAY_DROP], runs, more);
        }
    return true;
}

/* The shortest time between two packets at which none is lost. */
static double lossless(struct source *s, enum way which, uint64_t cycles)
{
    source_reset(s);
    double fastest, slowest = run_for(s, which, 0, cycles).cycles;
    size_t n_doubled = 0;
    do {
        fastest = slowest;
        slowest *= 2;
        source_reset(s);
    } while (run_for(s, which, slowest, cycles).lost > 0 && ++n_doubled < N_SEARCH);
    for (size_t i = 0; i < N_SEARCH; i++) {
        double gap = (fastest + slowest) / 2;
        source_reset(s);
        if (run_for(s, which, gap, cycles).lost > 0)
            fastest = gap;
        else
            slowest = gap;
    }
    return slowest;
}

static bool lossless_rates(const struct grid *grid)
{
    static struct source s;
    static const enum way ways[] = {WAY_INLINE, WAY_WAIT, WAY_DROP, WAY_SUSPEND, WAY_AUTO};
    for (size_t i = 0; i < grid->n_shares; i++)
        for (size_t k = 0; k < grid->n_costs; k++) {
            double runs[SD_ARRAY_LEN(ways)][RUNS_MAX];
            for (size_t r = 0; r < grid->n_runs; r++)
                for (size_t w = 0; w < SD_ARRAY_LEN(ways); w++) {
                    if (!fill_point(grid, i, k))
                        return false;
                    runs[w][r] = lossless(&s, ways[w], grid->cycles);
                }
            for (size_t w = 0; w < SD_ARRAY_LEN(ways); w++)
                print_point(grid, i, k, way_names[ways[w]], runs[w], "");
        }
    return true;
}

/* Time until the way is what the block's cost lets expect, or both have been tried since it changed, in cycles; 0 when
   neither happens. */
static double follow(struct source *s, uint32_t cost, uint32_t wanted, uint64_t cycles)
{
    struct sd_packet packets[BURST];
    struct sd_offload_policy *way = &worker->async_ways[0];
    uint32_t n_back;
    if (!fill(N_FLOWS / 2, cost))
        return 0;
    uint64_t n_trials = way->choice.n_trials;
    uint64_t begin = peer_tsc(), end;
    do {
        source_fill(s, packets, BURST);
        sd_pipeline.process(worker, packets, BURST);
        sink(s, packets, BURST);
        while ((n_back = sd_pipeline.resume(worker, packets, BURST)) > 0)
            sink(s, packets, n_back);
        end = peer_tsc();
        /* While both are tried neither is chosen. */
        bool is_chosen = way->mode == wanted || way->choice.n_trials > n_trials;
        if (is_chosen && worker->trial_phase == SD_TRIAL_NONE)
            return (double)(end - begin);
    } while (end - begin < cycles);
    return 0;
}

/* The block becomes dearer, and cheaper again, half of the packets coming to it. */
static bool steps(const struct grid *grid)
{
    static struct source s;
    struct sd_packet packets[BURST];
    struct sd_offload_policy *way = &worker->async_ways[0];
    double up[RUNS_MAX], down[RUNS_MAX];
    uint64_t n_lost = 0;
    for (size_t r = 0; r < grid->n_runs; r++) {
        source_reset(&s);
        choose(WAY_AUTO);
        double begins = follow(&s, 20, SD_ASYNC_INLINE, grid->cycles);
        up[r] = begins > 0 ? follow(&s, 5000, SD_ASYNC_SUSPEND, grid->cycles) : 0;
        down[r] = up[r] > 0 ? follow(&s, 20, SD_ASYNC_INLINE, grid->cycles) : 0;
        if (down[r] == 0)
            return false;
        for (uint32_t n_back; way->n_in_flight > 0;)
            if ((n_back = sd_pipeline.resume(worker, packets, BURST)) > 0)
                sink(&s, packets, n_back);
        n_lost += N_BUFFERS - s.n_free;
    }
    char extra[120];
    snprintf(extra, sizeof extra, "\"unit\":\"step\",\"path\":\"auto\",\"lost\":%llu", (unsigned long long)n_lost);
    peer_print("siding", "0", "step", 5000, up, grid->n_runs, extra);
    peer_print("siding", "0", "step", 20, down, grid->n_runs, extra);
    return true;
}

static bool on_two_cores(bool (*measure)(const struct grid *), const struct grid *grid)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, serve, NULL) != 0)
        return false;
    pin(0);
    bool done = measure(grid);
    stop_serving = true;
    pthread_join(thread, NULL);
    return done;
}

#endif
