/*
 * The way there and back on one thread that is worker and offload worker, beside the published method.
 */
#ifndef BREAKDOWN_H
#define BREAKDOWN_H

#include "stations.h"

#include <ucontext.h>

#define STACK_BYTES (16 << 10)
#define TURN_PACKETS (1 << 16)

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

/* The pieces of a packet's way there and back. */
enum piece { SEND, SERVE, RESUME, N_PIECES };

/* A clock that takes time itself, where it is wanted. */
static inline uint64_t now_if(bool is_wanted)
{
    return is_wanted ? peer_tsc() : 0;
}

/*
 * Fills up to `n_flight`, serves all, takes all back. With `pieces` (else NULL) these are timed, too, the first and the
 * last without source and sink: the program up to the block with the context and the ring, the block between two rings,
 * the rest of the program.
 */
static double alone_suspend(struct source *s, uint32_t n_flight, double *pieces)
{
    static struct peer_slices slices, of[N_PIECES];
    struct sd_packet packets[BURST];
    struct sd_channel *const channels[1] = {channel};
    slices.n = 0;
    for (uint32_t i = 0; i < N_PIECES; i++)
        of[i].n = 0;
    set_way(SD_ASYNC_SUSPEND, n_flight);
    for (uint32_t n = 0; n < TURN_PACKETS;) {
        uint64_t begin = peer_tsc(), took[N_PIECES] = {0};
        uint32_t n_sent = 0, n_back;
        while (n_sent < n_flight) {
            uint32_t n_burst = n_flight - n_sent < BURST ? n_flight - n_sent : BURST;
            source_fill(s, packets, n_burst);
            took[SEND] -= now_if(pieces);
            sd_pipeline.process(worker, packets, n_burst);
            took[SEND] += now_if(pieces);
            sink(s, packets, n_burst);
            n_sent += n_burst;
        }
        took[SERVE] -= now_if(pieces);
        while (sd_pipeline.serve(offload_worker, channels, 1) > 0)
            ;
        took[SERVE] += now_if(pieces);
        do {
            took[RESUME] -= now_if(pieces);
            n_back = sd_pipeline.resume(worker, packets, BURST);
            took[RESUME] += now_if(pieces);
            sink(s, packets, n_back);
        } while (n_back > 0);
        peer_slice_add(&slices, begin, peer_tsc(), n_sent);
        for (uint32_t i = 0; i < N_PIECES; i++)
            peer_slice_add(&of[i], 0, took[i], n_sent);
        n += n_sent;
    }
    for (uint32_t i = 0; pieces && i < N_PIECES; i++)
        pieces[i] = peer_median(of[i].values, of[i].n);
    return peer_median(slices.values, slices.n);
}

/* A pointer put into a ring and taken out again, `n_flight` of them in bursts. */
static double alone_ring(uint32_t n_flight)
{
    static struct peer_slices slices;
    struct sd_ring ring;
    void *items[BURST];
    slices.n = 0;
    for (uint32_t i = 0; i < BURST; i++)
        items[i] = &items[i];
    if (!sd_ring_init(&ring, n_flight))
        return -1;
    for (uint32_t n = 0; n < TURN_PACKETS; n += n_flight) {
        uint64_t begin = peer_tsc();
        for (uint32_t at = 0; at < n_flight; at += BURST)
            sd_ring_push(&ring, items, n_flight - at < BURST ? n_flight - at : BURST);
        while (sd_ring_pop(&ring, items, BURST) > 0)
            ;
        peer_slice_add(&slices, begin, peer_tsc(), n_flight);
    }
    sd_ring_free(&ring);
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
        static const char *const names[N_PIECES] = {"send", "serve", "resume"};
        static double suspend[RUNS_MAX], ucontext[RUNS_MAX], alone[RUNS_MAX], rings[RUNS_MAX], of[N_PIECES][RUNS_MAX];
        for (size_t r = 0; r <= n_runs; r++) {
            /* The first run is for caches and branch predictors. */
            size_t at = r ? r - 1 : 0;
            source_reset(&s);
            double here = alone_inline(&s);
            source_reset(&s);
            double pieces[N_PIECES];
            suspend[at] = alone_suspend(&s, flights[f], NULL) - here;
            source_reset(&s);
            alone_suspend(&s, flights[f], pieces);
            for (uint32_t i = 0; i < N_PIECES; i++)
                of[i][at] = pieces[i];
            rings[at] = alone_ring(flights[f]);
            source_reset(&s);
            ucontext[at] = alone_ucontext(&s, flights[f]) - here;
            alone[at] = here;
        }
        char sizes[100], extra[200];
        snprintf(sizes, sizeof sizes, "\"unit\":\"packet\",\"context_bytes\":%u,\"head_bytes\":%u",
                 sd_pipeline.asyncs[0].context_bytes, sd_pipeline.asyncs[0].head_bytes);
        snprintf(extra, sizeof extra, "%s,\"difference\":true", sizes);
        peer_print("siding", "0", "suspend", flights[f], suspend, n_runs, extra);
        peer_print("ucontext", "0", "suspend", flights[f], ucontext, n_runs, extra);
        peer_print("siding", "0", "inline", flights[f], alone, n_runs, sizes);
        for (uint32_t i = 0; i < N_PIECES; i++)
            peer_print("siding", "0", names[i], flights[f], of[i], n_runs, sizes);
        peer_print("siding", "0", "ring", flights[f], rings, n_runs, sizes);
    }
    return true;
}

#endif
