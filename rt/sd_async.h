/*
 * Asynchronous blocks: a packet waits for another core, this one goes on with other packets.
 *
 * A block that the program marks `@async` is a point, see sd_burst.h, whose packets wait for an executor: another
 * worker of the same instance, on a core of its own. What the program reads again is stored at the beginning of the
 * packet's own buffer, in the headroom: struct sd_suspended, and behind it a struct of generated code. Its address goes
 * through a ring to the executor, which runs the block on packet and context, and back through another ring. No
 * stack is kept, nothing is allocated, no byte of the packet is copied.
 *
 *     worker     p4_process: up to the block; sd_async_send ... p4_resume: sd_async_receive, and on from behind the block
 *     executor   p4_serve: the blocks of the packets that have come
 *
 * A worker has a channel, two rings, to an executor for each point, and decides (struct sd_async_way) whether packets go
 * there, wait for it or stay, and how many may be under way.
 *
 * Owns: channels, ways, the context's head. Invariant: a packet is in one place at a time: at its worker, in a ring,
 * or at its executor, and only that one touches its buffer.
 */
#ifndef SD_ASYNC_H
#define SD_ASYNC_H

#include <sched.h>
#include <time.h>

#include "sd_burst.h"
#include "sd_ring.h"

/* Packets that are sent, served or received at once. */
#define SD_ASYNC_BURST 32u

/* How often a worker that waits looks before it lets another thread have its core. */
#define SD_ASYNC_SPINS 2048u

/* Contexts begin at a multiple of this. */
#define SD_ASYNC_ALIGN SD_SUSPENDED_ALIGN

/* A worker that has waited for so long goes on with other packets: the executor may hang. */
#define SD_ASYNC_PATIENCE_NS UINT64_C(100000000)

/* At the beginning of the buffer of a packet that waits; what the program keeps follows. */
struct sd_suspended {
    struct sd_packet packet;
    /* Of the time stamp counter, or what the machine has. */
    uint64_t since;
    uint32_t point;
    /* How the block has ended. */
    uint32_t end;
    struct sd_kept kept;
    uint32_t steps_left;
    /* Bytes of the headroom that are the context's. */
    uint32_t n_taken;
} __attribute__((aligned(SD_ASYNC_ALIGN)));

_Static_assert(offsetof(struct sd_suspended, point) == SD_SUSPENDED_POINT_AT, "the host looks there");

struct sd_channel {
    struct sd_ring requests;
    struct sd_ring completions;
};

#if defined(__x86_64__)
SD_INLINE uint64_t sd_cycles(void)
{
    return __builtin_ia32_rdtsc();
}

SD_INLINE void sd_relax(void)
{
    __builtin_ia32_pause();
}
#elif defined(__aarch64__)
SD_INLINE uint64_t sd_cycles(void)
{
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}

SD_INLINE void sd_relax(void)
{
    __asm__ volatile("yield");
}
#else
SD_INLINE uint64_t sd_cycles(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

SD_INLINE void sd_relax(void)
{
}
#endif

/* Of a length of time its power of two: bounds of a histogram. */
SD_INLINE uint32_t sd_log2_bucket(uint64_t cycles)
{
    uint32_t bucket = cycles ? 64 - (uint32_t)__builtin_clzll(cycles) : 0;
    return bucket < SD_ASYNC_BUCKETS ? bucket : SD_ASYNC_BUCKETS - 1;
}

/* --- At the worker --- */

enum { SD_HERE, SD_THERE, SD_NOWHERE };

/* Where the block of this packet is to run. */
SD_INLINE uint32_t sd_async_where(struct sd_worker *w, const struct sd_packet *p, uint32_t point, uint32_t context_bytes)
{
    struct sd_async_way *way = &w->async_ways[point];
    if (!w->may_suspend || way->mode == SD_ASYNC_INLINE) {
        way->n_here++;
        return SD_HERE;
    }
    uint64_t room = p->headroom_bytes;
    /* Digests are in a buffer that the next burst empties. */
    bool fits = room >= sizeof(struct sd_suspended) + context_bytes + SD_ASYNC_ALIGN - 1 &&
                !(w->requests.flags & SD_REQUEST_DIGEST);
    if (SD_UNLIKELY(!fits)) {
        way->n_no_room++;
        return SD_HERE;
    }
    if (SD_UNLIKELY(way->n_in_flight >= way->capacity)) {
        if (way->full == SD_ASYNC_FULL_DROP) {
            way->n_dropped++;
            return SD_NOWHERE;
        }
        way->n_full++;
        return SD_HERE;
    }
    return SD_THERE;
}

/* The packet is about to wait: takes its context out of the headroom. */
SD_INLINE void *sd_async_suspend(struct sd_worker *w, struct sd_packet *p, uint32_t point)
{
    uint8_t *buffer = p->data - p->headroom_bytes;
    uint32_t skipped = (uint32_t)(-(uintptr_t)buffer & (SD_ASYNC_ALIGN - 1));
    struct sd_suspended *s = (struct sd_suspended *)(void *)(buffer + skipped);
    s->point = point;
    s->end = SD_END_DONE;
    s->steps_left = w->steps_left;
    s->n_taken = skipped;
    w->suspended = s;
    return s + 1;
}

/* The same when the context is written: `context_bytes` are behind it. */
SD_INLINE uint32_t sd_async_suspended(struct sd_worker *w, struct sd_packet *p, uint32_t context_bytes)
{
    struct sd_suspended *s = w->suspended;
    sd_keep(w, &s->kept);
    s->n_taken += (uint32_t)sizeof *s + context_bytes;
    p->headroom_bytes -= s->n_taken;
    s->packet = *p;
    p->verdict = SD_VERDICT_SUSPENDED;
    return SD_END_WAITS + s->point;
}

SD_LOCAL void sd_async_flush(struct sd_worker *w)
{
    for (uint32_t point = 0; point < w->instance->pipeline->n_async; point++) {
        struct sd_async_way *way = &w->async_ways[point];
        uint32_t at = 0;
        if (way->n_waiting == 0)
            continue;
        /* Reading the counter takes as long as the rest: once for all. */
        uint64_t now = sd_cycles();
        for (uint32_t i = 0; i < way->n_waiting; i++)
            ((struct sd_suspended *)way->waiting[i])->since = now;
        /* The rings have room for all that may be under way. */
        while (at < way->n_waiting)
            at += sd_ring_push(&way->channel->requests, way->waiting + at, way->n_waiting - at);
        way->n_waiting = 0;
    }
}

SD_COLD uint64_t sd_monotonic_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/* The executor does it, and this worker waits. False when that takes too long: then the packet is under way. */
SD_LOCAL bool sd_async_wait(struct sd_async_way *way, struct sd_suspended *s)
{
    void *item = s;
    uint64_t begin_ns = 0;
    s->since = sd_cycles();
    while (!sd_ring_push(&way->channel->requests, &item, 1))
        sd_relax();
    /* Nothing else is under way there. */
    for (uint32_t n = 1; !sd_ring_pop(&way->channel->completions, &item, 1); n++) {
        sd_relax();
        /* The executor may want this very core. */
        if (n % SD_ASYNC_SPINS == 0) {
            sched_yield();
            uint64_t now_ns = sd_monotonic_ns();
            if (begin_ns == 0)
                begin_ns = now_ns;
            if (now_ns - begin_ns > SD_ASYNC_PATIENCE_NS)
                return false;
        }
    }
    way->n_waited++;
    return true;
}

/*
 * A packet that waits is sent to its executor. True when it is back already, since this worker was to wait: then it goes
 * on at once.
 */
SD_INLINE bool sd_async_send(struct sd_worker *w)
{
    struct sd_suspended *s = w->suspended;
    struct sd_async_way *way = &w->async_ways[s->point];
    way->n_sent++;
    /* A worker that has just been told to wait does so when those that it sent before are back. */
    if (way->mode == SD_ASYNC_WAIT && way->n_in_flight == 0) {
        if (sd_async_wait(way, s))
            return true;
        way->n_in_flight++;
        return false;
    }
    way->n_in_flight++;
    way->waiting[way->n_waiting++] = s;
    if (way->n_waiting == SD_ASYNC_BURST)
        sd_async_flush(w);
    return false;
}

/* The packet is back: gives its context. */
SD_INLINE void *sd_async_back(struct sd_worker *w, struct sd_packet *p, struct sd_suspended *s)
{
    *p = s->packet;
    p->headroom_bytes += s->n_taken;
    sd_take_back(w, &s->kept);
    w->steps_left = s->steps_left;
    return s + 1;
}

SD_INLINE void sd_async_note(struct sd_worker *w, const struct sd_suspended *s, uint64_t now)
{
    struct sd_async_way *way = &w->async_ways[s->point];
    uint64_t waited = now - s->since;
    way->n_in_flight--;
    way->n_done++;
    way->waited_cycles += waited;
    way->waited[sd_log2_bucket(waited)]++;
}

/* Packets that are back, up to `n`; gives how many. */
SD_LOCAL uint32_t sd_async_receive(struct sd_worker *w, void **done, uint32_t n)
{
    uint32_t n_back = 0;
    for (uint32_t point = 0; point < w->instance->pipeline->n_async && n_back < n; point++) {
        struct sd_async_way *way = &w->async_ways[point];
        if (way->n_in_flight > 0)
            n_back += sd_ring_pop(&way->channel->completions, done + n_back, n - n_back);
    }
    if (n_back == 0)
        return 0;
    /* Their buffers come from another core. */
    for (uint32_t i = 0; i < n_back; i++)
        __builtin_prefetch(&((struct sd_suspended *)done[i])->since);
    uint64_t now = sd_cycles();
    for (uint32_t i = 0; i < n_back; i++)
        sd_async_note(w, done[i], now);
    return n_back;
}

/* --- At the executor --- */

/* Runs the block of one packet on its context, `body` of generated code. */
typedef uint32_t (*sd_async_body)(struct sd_worker *, struct sd_packet *, void *context);

SD_INLINE void sd_async_serve_one(struct sd_worker *w, sd_async_body body, struct sd_suspended *s)
{
    w->steps_left = s->steps_left;
    sd_take_back(w, &s->kept);
    s->end = body(w, &s->packet, s + 1);
    sd_keep(w, &s->kept);
    s->steps_left = w->steps_left;
}

SD_LOCAL uint32_t sd_async_serve(struct sd_worker *w, const sd_async_body *bodies, struct sd_channel *const *channels,
                                 uint32_t n_channels)
{
    uint32_t n_served = 0;
    for (uint32_t c = 0; c < n_channels; c++) {
        void *burst[SD_ASYNC_BURST];
        uint32_t n = sd_ring_pop(&channels[c]->requests, burst, SD_ASYNC_BURST);
        if (n == 0)
            continue;
        uint64_t begin = sd_cycles();
        uint32_t point = ((struct sd_suspended *)burst[0])->point;
        for (uint32_t i = 0; i < n; i++)
            sd_async_serve_one(w, bodies[point], burst[i]);
        uint64_t cycles = sd_cycles() - begin;
        struct sd_async_way *way = &w->async_ways[point];
        way->n_served += n;
        way->served_cycles += cycles;
        way->served[sd_log2_bucket(cycles / n)] += n;
        uint32_t at = 0;
        while (at < n)
            at += sd_ring_push(&channels[c]->completions, burst + at, n - at);
        n_served += n;
    }
    return n_served;
}

SD_LOCAL void sd_channel_destroy(struct sd_channel *channel)
{
    if (!channel)
        return;
    sd_ring_free(&channel->requests);
    sd_ring_free(&channel->completions);
    free(channel);
}

/* For at most so many packets under way; NULL when memory is short. */
SD_LOCAL struct sd_channel *sd_channel_create(uint32_t capacity)
{
    struct sd_channel *channel = sd_alloc_lines(1, sizeof *channel);
    if (!channel)
        return NULL;
    if (!sd_ring_init(&channel->requests, capacity) || !sd_ring_init(&channel->completions, capacity)) {
        sd_channel_destroy(channel);
        return NULL;
    }
    return channel;
}

#endif
