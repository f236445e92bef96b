/*
 * Times bench/programs/async.p4: packets of which some wait for an extern that takes so many cycles.
 *
 *     run --breakdown [--runs N]
 *     run --figure [--shares N,...] [--costs N,...] [--runs N] [--ms N]
 *
 * `siding bench async` puts program.c (generated) and workload.h (bench/peers) beside this file. The extern burns
 * cycles of the time stamp counter; the same function runs at the worker and at the executor.
 *
 * --breakdown: one thread is both, with an extern that takes nothing, so that what is left is the way there and back:
 * `suspend` is the program's own, `ucontext` the published method (Laki et al.: a context of the C library with a stack
 * of its own for each packet, made when the packet comes), `inline` goes nowhere. `size` is how many packets are under
 * way; cycles are those of `inline` taken off.
 *
 * --figure: a worker on one core, an executor on the other. `size` is the extern's cost. Ways: `none` calls no extern,
 * `inline` has the worker run it, `wait` sends it and waits, `suspend` sends it and goes on, taking no more packets
 * than may wait. Sources and sinks are memory. A run is so many milliseconds; ways take turns.
 */
#define _GNU_SOURCE
#include "program.c"

#include "workload.h"

#include <pthread.h>
#include <sched.h>
#include <ucontext.h>

#define BURST 32
#define N_BUFFERS 4096
#define BUFFER_BYTES 512
#define HEADROOM 256
#define LENGTH 64
#define N_FLOWS 10
#define CAPACITY 1000
#define RUNS_MAX 101
#define LIST_MAX 32
#define STACK_BYTES (16 << 10)
#define TURN_PACKETS (1 << 16)

static struct sd_instance *instance;
static struct sd_worker *worker, *executor;
static struct sd_channel *channel;
static uint8_t *memory;
static uint32_t cost_now;

/* --- The extern --- */

static uint32_t burn(void *context, struct sd_worker *w, struct sd_packet *p, uint32_t call, uint8_t *args,
                     uint8_t *result)
{
    (void)context;
    (void)w;
    (void)p;
    (void)call;
    (void)result;
    uint32_t cycles;
    memcpy(&cycles, args, sizeof cycles);
    if (cycles == 0)
        return SD_END_DONE;
    uint64_t begin = sd_cycles();
    while (sd_cycles() - begin < cycles)
        ;
    return SD_END_DONE;
}

static const struct sd_host plain_host = {.call = burn};

/* --- Stations --- */

static uint64_t address_of(uint64_t i)
{
    return UINT64_C(0x020000000000) + i;
}

/* Of the flows the first `n_slow` cost something. */
static bool fill(uint32_t n_slow, uint32_t cost)
{
    cost_now = cost;
    for (uint64_t i = 0; i < N_FLOWS; i++) {
        uint64_t key = address_of(i), ones = (UINT64_C(1) << 48) - 1, handle;
        uint8_t data[64] = {0};
        struct sd_entry_view view = {.kind = SD_ENTRY_ACTION, .value = (uint8_t *)&key, .mask = (uint8_t *)&ones};
        view.data = data;
        view.what = 1;
        uint32_t status = sd_pipeline.control->table_insert(instance, 0, &view, 0, &handle);
        if (status != SD_OK && status != SD_EXISTS)
            return false;
        const struct sd_table_type *type = &sd_pipeline.tables[1];
        view.what = 0;
        while (view.what < type->n_actions &&
               strcmp(type->actions[view.what].name, i < n_slow ? "AsyncIngress.work" : "AsyncIngress.forward") != 0)
            view.what++;
        if (view.what == type->n_actions)
            return false;
        const struct sd_action_type *action = &type->actions[view.what];
        uint16_t port = (uint16_t)(i % 8);
        memcpy(data + action->params[0].offset, &port, sizeof port);
        if (action->n_params > 1)
            memcpy(data + action->params[1].offset, &cost, sizeof cost);
        sd_pipeline.control->table_remove(instance, 1, &view);
        if (sd_pipeline.control->table_insert(instance, 1, &view, 0, &handle) != SD_OK)
            return false;
    }
    return true;
}

/* --- Source and sink --- */

struct source {
    uint32_t free[N_BUFFERS];
    uint32_t n_free;
    uint64_t state;
    uint64_t n_sent;
};

static void source_reset(struct source *s)
{
    s->n_free = N_BUFFERS;
    for (uint32_t i = 0; i < N_BUFFERS; i++)
        s->free[i] = N_BUFFERS - 1 - i;
    s->state = 11;
    s->n_sent = 0;
}

static void source_fill(struct source *s, struct sd_packet *packets, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t buffer = s->free[--s->n_free];
        uint64_t flow = peer_random_below(&s->state, N_FLOWS);
        uint8_t *data = memory + (size_t)buffer * BUFFER_BYTES + HEADROOM;
        sd_store_be(data, 6, address_of(flow));
        sd_store_be(data + 6, 6, address_of(flow));
        struct sd_packet packet = {.data = data, .length_bytes = LENGTH, .headroom_bytes = HEADROOM, .token = buffer};
        packet.tailroom_bytes = BUFFER_BYTES - HEADROOM - LENGTH;
        packet.ingress_port = 1;
        packets[i] = packet;
    }
}

static void sink(struct source *s, const struct sd_packet *packets, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (packets[i].verdict == SD_VERDICT_SUSPENDED)
            continue;
        s->n_sent += packets[i].verdict == SD_VERDICT_SEND;
        s->free[s->n_free++] = (uint32_t)packets[i].token;
    }
}

static void set_way(uint32_t mode, uint32_t capacity)
{
    worker->async_ways[0].mode = mode;
    worker->async_ways[0].full = SD_ASYNC_FULL_INLINE;
    worker->async_ways[0].capacity = capacity;
}

/* --- The way there and back, on one thread --- */

static double alone_inline(struct source *s)
{
    static struct peer_slices slices;
    struct sd_packet packets[BURST];
    slices.n = 0;
    set_way(SD_ASYNC_INLINE, CAPACITY);
    for (uint32_t n = 0; n < TURN_PACKETS;) {
        uint64_t begin = peer_tsc();
        for (uint32_t b = 0; b < 32; b++, n += BURST) {
            source_fill(s, packets, BURST);
            sd_pipeline.process(worker, packets, BURST);
            sink(s, packets, BURST);
        }
        peer_slice_add(&slices, begin, peer_tsc(), 32 * BURST);
    }
    return peer_median(slices.values, slices.n);
}

/* Fills up to `n_flight`, serves all, takes all back. */
static double alone_suspend(struct source *s, uint32_t n_flight)
{
    static struct peer_slices slices;
    struct sd_packet packets[BURST];
    struct sd_channel *const channels[1] = {channel};
    slices.n = 0;
    set_way(SD_ASYNC_SUSPEND, n_flight);
    for (uint32_t n = 0; n < TURN_PACKETS;) {
        uint64_t begin = peer_tsc();
        uint32_t n_sent = 0, n_back;
        while (n_sent < n_flight) {
            uint32_t n_burst = n_flight - n_sent < BURST ? n_flight - n_sent : BURST;
            source_fill(s, packets, n_burst);
            sd_pipeline.process(worker, packets, n_burst);
            sink(s, packets, n_burst);
            n_sent += n_burst;
        }
        while (sd_pipeline.serve(executor, channels, 1) > 0)
            ;
        while ((n_back = sd_pipeline.resume(worker, packets, BURST)) > 0)
            sink(s, packets, n_back);
        peer_slice_add(&slices, begin, peer_tsc(), n_sent);
        n += n_sent;
    }
    return peer_median(slices.values, slices.n);
}

/* A packet with a stack of its own. */
struct stacked {
    ucontext_t context;
    struct sd_packet packet;
    uint8_t *stack;
};

static ucontext_t scheduler;
static struct stacked *stacked_now;

static uint32_t leave_stack(void *context, struct sd_worker *w, struct sd_packet *p, uint32_t call, uint8_t *args,
                            uint8_t *result)
{
    struct stacked *self = stacked_now;
    swapcontext(&self->context, &scheduler);
    return burn(context, w, p, call, args, result);
}

static const struct sd_host stacked_host = {.call = leave_stack};

static void run_stacked(void)
{
    struct stacked *self = stacked_now;
    sd_pipeline.process(worker, &self->packet, 1);
}

static double alone_ucontext(struct source *s, uint32_t n_flight)
{
    static struct peer_slices slices;
    static struct stacked *all;
    /* Stays the same across contexts. */
    volatile uint32_t n = 0;
    if (!all) {
        all = calloc(CAPACITY, sizeof *all);
        for (uint32_t i = 0; all && i < CAPACITY; i++)
            all[i].stack = malloc(STACK_BYTES);
    }
    if (!all)
        return -1;
    slices.n = 0;
    set_way(SD_ASYNC_INLINE, CAPACITY);
    worker->host = &stacked_host;
    for (; n < TURN_PACKETS / 4; n += n_flight) {
        uint64_t begin = peer_tsc();
        for (uint32_t i = 0; i < n_flight; i++) {
            struct stacked *one = &all[i];
            source_fill(s, &one->packet, 1);
            getcontext(&one->context);
            one->context.uc_stack.ss_sp = one->stack;
            one->context.uc_stack.ss_size = STACK_BYTES;
            one->context.uc_link = &scheduler;
            makecontext(&one->context, run_stacked, 0);
            stacked_now = one;
            swapcontext(&scheduler, &one->context);
        }
        for (uint32_t i = 0; i < n_flight; i++) {
            stacked_now = &all[i];
            swapcontext(&scheduler, &all[i].context);
            sink(s, &all[i].packet, 1);
        }
        peer_slice_add(&slices, begin, peer_tsc(), n_flight);
    }
    worker->host = &plain_host;
    return peer_median(slices.values, slices.n);
}

static bool breakdown(size_t n_runs)
{
    static const uint32_t flights[] = {64, CAPACITY};
    static struct source s;
    if (!fill(N_FLOWS, 0))
        return false;
    for (size_t f = 0; f < SD_ARRAY_LEN(flights); f++) {
        double suspend[RUNS_MAX], ucontext[RUNS_MAX], alone[RUNS_MAX];
        for (size_t r = 0; r <= n_runs; r++) {
            /* The first run is for caches and branch predictors. */
            size_t at = r ? r - 1 : 0;
            source_reset(&s);
            double here = alone_inline(&s);
            source_reset(&s);
            suspend[at] = alone_suspend(&s, flights[f]) - here;
            source_reset(&s);
            ucontext[at] = alone_ucontext(&s, flights[f]) - here;
            alone[at] = here;
        }
        char extra[200];
        snprintf(extra, sizeof extra, "\"unit\":\"packet\",\"context_bytes\":%u,\"head_bytes\":%u",
                 sd_pipeline.asyncs[0].context_bytes, sd_pipeline.asyncs[0].head_bytes);
        peer_print("siding", "0", "suspend", flights[f], suspend, n_runs, extra);
        peer_print("ucontext", "0", "suspend", flights[f], ucontext, n_runs, extra);
        peer_print("siding", "0", "inline", flights[f], alone, n_runs, extra);
    }
    return true;
}

/* --- Two cores --- */

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
        if (sd_pipeline.serve(executor, channels, 1) == 0)
            sd_relax();
    return NULL;
}

/* Cycles per packet of a worker that gets as many packets as it takes. */
static double run_for(struct source *s, uint32_t mode, uint64_t cycles)
{
    struct sd_packet packets[BURST];
    uint64_t n = 0, begin = peer_tsc(), end;
    uint32_t n_back;
    set_way(mode, CAPACITY);
    do {
        uint32_t room = CAPACITY - worker->async_ways[0].n_in_flight;
        uint32_t n_burst = mode == SD_ASYNC_SUSPEND && room < BURST ? room : BURST;
        source_fill(s, packets, n_burst);
        sd_pipeline.process(worker, packets, n_burst);
        sink(s, packets, n_burst);
        while ((n_back = sd_pipeline.resume(worker, packets, BURST)) > 0)
            sink(s, packets, n_back);
        end = peer_tsc();
    } while (end - begin < cycles);
    n = s->n_sent;
    /* What is still there comes back before the next way begins. */
    while (worker->async_ways[0].n_in_flight > 0)
        if ((n_back = sd_pipeline.resume(worker, packets, BURST)) > 0)
            sink(s, packets, n_back);
    return (double)(end - begin) / (double)n;
}

static bool figure(const uint64_t *shares, size_t n_shares, const uint64_t *costs, size_t n_costs, size_t n_runs,
                   uint64_t ms)
{
    static const struct {
        const char *name;
        uint32_t mode;
    } ways[] = {{"inline", SD_ASYNC_INLINE}, {"wait", SD_ASYNC_WAIT}, {"suspend", SD_ASYNC_SUSPEND}};
    static struct source s;
    pthread_t thread;
    uint64_t cycles = (uint64_t)(peer_tsc_ghz() * 1e6 * (double)ms);
    if (pthread_create(&thread, NULL, serve, NULL) != 0)
        return false;
    pin(0);
    for (size_t i = 0; i < n_shares; i++)
        for (size_t k = 0; k < n_costs; k++) {
            double runs[SD_ARRAY_LEN(ways) + 1][RUNS_MAX];
            char extra[200];
            for (size_t r = 0; r < n_runs; r++) {
                if (!fill(0, 0))
                    return false;
                source_reset(&s);
                runs[SD_ARRAY_LEN(ways)][r] = run_for(&s, SD_ASYNC_INLINE, cycles);
                if (!fill((uint32_t)(shares[i] * N_FLOWS / 100), (uint32_t)costs[k]))
                    return false;
                for (size_t w = 0; w < SD_ARRAY_LEN(ways); w++) {
                    source_reset(&s);
                    runs[w][r] = run_for(&s, ways[w].mode, cycles);
                }
            }
            for (size_t w = 0; w <= SD_ARRAY_LEN(ways); w++) {
                const char *name = w < SD_ARRAY_LEN(ways) ? ways[w].name : "none";
                snprintf(extra, sizeof extra, "\"unit\":\"packet\",\"path\":\"%s\",\"share\":%llu,\"capacity\":%u", name,
                         (unsigned long long)shares[i], CAPACITY);
                char work[40];
                snprintf(work, sizeof work, "%llu percent", (unsigned long long)shares[i]);
                peer_print("siding", "0", work, costs[k], runs[w], n_runs, extra);
            }
        }
    stop_serving = true;
    pthread_join(thread, NULL);
    return true;
}

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
    executor = sd_pipeline.worker(instance, 1);
    worker->host = executor->host = &plain_host;
    worker->steps_left = executor->steps_left = 10000;
    worker->async_ways[0].channel = channel;
    bool done = peer_flag(argc, argv, "--breakdown") ? breakdown(n_runs)
                                                     : figure(shares, n_shares, costs, n_costs, n_runs, ms);
    if (!done)
        fprintf(stderr, "run: the tables cannot be filled, or there is no thread\n");
    return done ? 0 : 1;
}
