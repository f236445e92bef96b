/*
 * Times crates/bench/programs/async.p4: packets of which some wait for an extern that takes so many cycles.
 *
 *     run --breakdown [--runs N]
 *     run --rates|--drops|--lossless|--steps [--shares N,...] [--costs N,...] [--runs N] [--ms N]
 *
 * `siding bench async` puts program.c (generated) and workload.h (crates/bench/peers) beside these files. The extern burns
 * cycles of the time stamp counter; the same function runs at the worker and at the offload worker.
 *
 * --breakdown: one thread is both, with an extern that takes nothing, so that what is left is the way there and back:
 * `suspend` is the program's own, `ucontext` the published method (Laki et al.: a context of the C library with a stack
 * of its own for each packet, made when the packet comes), `inline` goes nowhere. `size` is how many packets are under
 * way; cycles are those of `inline` taken off. `send`, `serve` and `resume` are the pieces of `suspend` without source and
 * sink: the program up to the block, with context and ring; the block between two rings; the rest of the program. `ring`
 * is a pointer put into a ring and taken out.
 *
 * The others: a worker on one core, an offload worker on the other; `size` is the extern's cost, sources and sinks are memory, a
 * run takes so many milliseconds. --rates: `none` calls no extern, `inline` has the worker run it, `wait` sends it and
 * waits, `suspend` sends it and goes on, taking no more packets than may wait, `auto` chooses between these. --drops: what
 * is too much is dropped; `dropped` and `expected` are shares of the packets that come to the block. --lossless: the
 * shortest time between two packets at which none is lost, found by halving. --steps: the time until `auto` has changed its
 * way after the extern has become dearer (size 5000) and cheaper again (20).
 */
#define _GNU_SOURCE
#include "program.c"

#include "breakdown.h"
#include "cores.h"

#define LIST_MAX 32

/* Numbers separated by commas; gives how many. */
static size_t list(const char *text, uint64_t *values)
{
    size_t n = 0;
    char *end = (char *)(uintptr_t)text;
    while (n < LIST_MAX && *end) {
        values[n++] = strtoull(end, &end, 10);
        if (*end)
            end++;
    }
    return n;
}

static const char *option(int argc, char **argv, const char *name, const char *otherwise)
{
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return argv[i + 1];
    return otherwise;
}

int main(int argc, char **argv)
{
    uint64_t shares[LIST_MAX], costs[LIST_MAX];
    size_t n_runs = strtoull(option(argc, argv, "--runs", "5"), NULL, 10);
    n_runs = n_runs < 1 ? 1 : n_runs < RUNS_MAX ? n_runs : RUNS_MAX;
    size_t n_shares = list(option(argc, argv, "--shares", "10,50,100"), shares);
    size_t n_costs = list(option(argc, argv, "--costs", "50,100,250,500,1000,2000,5000,10000"), costs);
    uint64_t ms = strtoull(option(argc, argv, "--ms", "50"), NULL, 10);
    struct sd_config config = {.n_workers = 2, .seed = 1};
    instance = sd_pipeline.create(&config);
    memory = sd_map_large((size_t)N_BUFFERS * BUFFER_BYTES);
    channel = sd_pipeline.channel_create ? sd_pipeline.channel_create(CAPACITY) : NULL;
    if (!instance || !memory || !channel) {
        fprintf(stderr, "run: there is not enough memory, or nothing asynchronous\n");
        return 1;
    }
    worker = sd_pipeline.worker(instance, 0);
    offload_worker = sd_pipeline.worker(instance, 1);
    worker->host = offload_worker->host = &plain_host;
    worker->steps_left = offload_worker->steps_left = 10000;
    worker->async_ways[0].channel = channel;
    const struct grid grid = {shares, costs, n_shares, n_costs, n_runs, (uint64_t)(peer_tsc_ghz() * 1e6 * (double)ms)};
    bool done;
    if (peer_flag(argc, argv, "--breakdown"))
        done = breakdown(n_runs);
    else if (peer_flag(argc, argv, "--drops"))
        done = on_two_cores(drops, &grid);
    else if (peer_flag(argc, argv, "--lossless"))
        done = on_two_cores(lossless_rates, &grid);
    else if (peer_flag(argc, argv, "--steps"))
        done = on_two_cores(steps, &grid);
    else
        done = on_two_cores(rates, &grid);
    if (!done)
        fprintf(stderr, "run: the tables cannot be filled, or there is no thread\n");
    return done ? 0 : 1;
}
